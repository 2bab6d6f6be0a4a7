#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hostile.py GROAT ANSWERS [SEED]: a remote that changes what it answers.

Serves the objects of 20 kernels; ANSWERS times in all it changes the bytes of
an answer, its head included: overwritten, cut, doubled, moved, or another
object's.  `groat fleet pull` asks; what it puts into a store must be, to the
byte, what was sent.  Exits with 1, and says so, where it is not, or where groat
ends in another way than it may.
"""
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading

groat, wanted = os.path.abspath(sys.argv[1]), int(sys.argv[2])
rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 251125)
work = tempfile.mkdtemp(prefix="groat-hostile-")
TARGET = "cpu:gfx950"
objects, lock = {}, threading.Lock()
changed = 0


def run(words, env):
    return subprocess.run([groat] + words, env=env, capture_output=True,
                          text=True, check=False)


def environment(**more):
    out = {k: v for k, v in os.environ.items() if not k.startswith("GROAT_")}
    out.update(GROAT_CACHE_DIR=work + "/store", GROAT_TRUST=work + "/trust",
               **more)
    return out


def change(answer, names):
    """Bytes of an answer that are others, as a rule."""
    data = bytearray(answer)
    for _ in range(rng.randint(1, 3)):
        head = data.find(b"\r\n\r\n") + 4
        # Half of the changes are in the lines before the body.
        at = rng.randrange(max(1, head if rng.random() < 0.5 else len(data)))
        kind = rng.randrange(6)
        if kind == 0:
            data[at:at + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            data[at:at + rng.randint(1, 64)] = rng.randbytes(rng.randint(0, 64))
        elif kind == 2:
            del data[at:]
        elif kind == 3:
            data[at:at] = data[at:at + rng.randint(1, 4096)]
        elif kind == 4:
            other = objects[rng.choice(names)]
            data[:] = (b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
                       % len(other)) + other
        else:
            line = rng.choice([
                b"Transfer-Encoding: chunked", b"Content-Encoding: gzip",
                b"Content-Length: 5", b"Content-Length: 99999999999999999999",
                b"Content-Length: -1", b"Connection: close", b"X: " + b"y" * 9999,
                b"Location: /elsewhere", b"Transfer-Encoding: gzip, chunked"])
            at = data.find(b"\r\n") + 2
            data[at:at] = line + b"\r\n"
        if not data:
            break
    return bytes(data)


def serve(link):
    global changed
    names = sorted(objects)
    try:
        while True:
            request = b""
            while b"\r\n\r\n" not in request:
                part = link.recv(65536)
                if not part:
                    return
                request += part
            name = request.split(b" ", 2)[1].decode().lstrip("/")
            body = objects.get(name, b"")
            answer = (b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n" %
                      (b"200 OK" if body else b"404 No", len(body))) + body
            with lock:
                touched = rng.random() < 0.95
                if touched:
                    sent = change(answer, names)
                    changed += 1
                else:
                    sent = answer
            link.sendall(sent)
            if touched:
                return
    except OSError:
        pass
    finally:
        link.close()


def accept(server):
    while True:
        link, _ = server.accept()
        link.settimeout(5)
        threading.Thread(target=serve, args=(link,), daemon=True).start()


try:
    with open(work + "/trust", "w", encoding="utf-8") as f:
        subprocess.run([groat, "cache", "keygen", work + "/key"], check=True,
                       stdout=f)
    with open(work + "/list", "w", encoding="utf-8") as f:
        for i in range(20):
            f.write('{"spec": "tile_loader_lds:ld=%d", "target": "%s"}\n'
                    % (1024 + 64 * i, TARGET))
    os.mkdir(work + "/objects")
    sent = run(["prewarm", work + "/list"], environment(
        GROAT_REMOTE="file://" + work + "/objects",
        GROAT_REMOTE_KEY=work + "/key"))
    run(["fleet", "push"], environment(
        GROAT_REMOTE="file://" + work + "/objects",
        GROAT_REMOTE_KEY=work + "/key"))
    for folder, _, files in os.walk(work + "/objects"):
        for file in files:
            path = os.path.join(folder, file)
            with open(path, "rb") as f:
                objects[os.path.relpath(path, work + "/objects")] = f.read()
    if len(objects) != 40:
        sys.exit("there are %d objects, not 40: %s" % (len(objects),
                                                       sent.stderr))
    server = socket.socket()
    server.bind(("localhost", 0))
    server.listen(256)
    threading.Thread(target=accept, args=(server,), daemon=True).start()
    there = work + "/sent.bundle"
    run(["cache", "export", "-o", there], environment())
    env = environment(
        GROAT_REMOTE="http://localhost:%d" % server.getsockname()[1])
    env["GROAT_CACHE_DIR"] = work + "/taken"
    rounds = kept = wrong = 0
    while changed < wanted:
        done = run(["fleet", "pull", work + "/list", "--json"], env)
        rounds += 1
        if done.returncode not in (0, 1):
            sys.exit("groat ended with %d: %s" % (done.returncode,
                                                  done.stderr[-500:]))
        kept += int(re.search(r'"kept": ([0-9]+)', done.stdout).group(1))
        if rounds % 20 and changed < wanted:
            continue
        taken = work + "/taken.bundle"
        run(["cache", "export", "-o", taken], env)
        told = run(["cache", "diff", taken, there, "--json"], env).stdout
        wrong += len(re.findall(r'"side": "(?:first|both)"', told))
        run(["cache", "clear"], env)
    print('{"answers_changed": %d, "rounds": %d, "kept": %d, "wrong": %d}'
          % (changed, rounds, kept, wrong))
    sys.exit(wrong != 0 or kept == 0)
finally:
    subprocess.run(["rm", "-rf", work], check=False)
