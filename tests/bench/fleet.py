#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fleet.py GROAT [PART...]: what a remote costs and saves, as JSON.

    crowd    cold processes of several hosts that want the same kernels
    killed   the same, while the lease server is killed and started again
    dead     kernels of a process whose remote is dead, silent or slow
    slow     many kernels of one whose remote is slow
    pull     100 kernels into an empty store, against curl --parallel
    hit      launches from memory with a remote and without

Starts nginx and redis-server; needs neither a GPU nor a compiler but c++.
"""
import json
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

groat = os.path.abspath(sys.argv[1])
parts = sys.argv[2:] or ["crowd", "killed", "dead", "slow", "pull", "hit"]
work = tempfile.mkdtemp(prefix="groat-fleet-")
TARGET = os.environ.get("GROAT_BENCH_TARGET", "cpu:gfx950")
started = []


def port():
    with socket.socket() as s:
        s.bind(("localhost", 0))
        return s.getsockname()[1]


def specs(count):
    """Kernels that take a compiler long (cuda) or briefly."""
    if TARGET.startswith("cuda"):
        return ["paged_attention_decode:group=%d,dtype=%s" % (1 + i % 50, dtype)
                for i, dtype in enumerate(["bf16"] * 50 + ["f16"] * 50)][:count]
    return ["tile_loader_lds:ld=%d" % (1024 + 64 * i) for i in range(count)]


def environment(host, **more):
    out = {k: v for k, v in os.environ.items()
           if not k.startswith(("GROAT_", "AWS_")) or k == "GROAT_NVRTC"}
    out.update(GROAT_CACHE_DIR="%s/%s" % (work, host),
               GROAT_TRUST=work + "/trust", **more)
    return out


def run(words, env, check=True):
    done = subprocess.run([groat] + words, env=env, capture_output=True,
                          text=True, check=False)
    if check and done.returncode != 0:
        raise RuntimeError("%s: %s" % (words, done.stderr[:500]))
    return done


def nginx():
    where = port()
    os.makedirs(work + "/dav")
    with open(work + "/conf", "w", encoding="utf-8") as f:
        f.write("%sdaemon off; worker_processes 2; pid %s/pid;"
                "error_log %s/errors; events { worker_connections 1024; }"
                "http { access_log off; %s server { listen localhost:%d;"
                "client_max_body_size 100m; location / { root %s/dav;"
                "dav_methods PUT DELETE; create_full_put_path on; } } }"
                % ("user root; " if os.getuid() == 0 else "", work, work,
                   " ".join("%s_temp_path %s/%s;" % (n, work, n) for n in
                            ("client_body", "proxy", "fastcgi", "uwsgi",
                             "scgi")), where, work))
    started.append(subprocess.Popen(
        ["nginx", "-e", work + "/errors", "-c", work + "/conf"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    for _ in range(100):
        try:
            socket.create_connection(("localhost", where)).close()
            break
        except OSError:
            time.sleep(0.05)
    return "http://localhost:%d" % where


def redis(where):
    server = subprocess.Popen(
        ["redis-server", "--port", "0", "--unixsocket", where, "--save", ""],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    started.append(server)
    while not os.path.exists(where):
        time.sleep(0.01)
    return server


def crowd_run(name, hosts, processes, wanted, env, shuffle=True, verb="build"):
    """Starts hosts x processes; gives origins, seconds, failures, and what
    they print."""
    origins = {}
    all_of_them = []
    rng = random.Random(name)
    start = time.monotonic()
    for host in range(hosts):
        for _ in range(processes):
            order = list(wanted)
            if shuffle:
                rng.shuffle(order)
            all_of_them.append(subprocess.Popen(
                [groat, verb, "--json", "--target", TARGET] + order,
                env=environment("%s-%d" % (name, host), **env),
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    texts = [p.communicate()[0] for p in all_of_them]
    seconds = time.monotonic() - start
    failed = sum(p.returncode != 0 for p in all_of_them)
    for text in texts:
        for origin in re.findall(r'"origin": "(\w+)"', text):
            origins[origin] = origins.get(origin, 0) + 1
    return origins, seconds, failed, texts


def longest(texts):
    """ms of the longest compile; what a get that compiles takes beside it
    (median); the longest wait for another host, all of a get but its own
    compile; and for another process of the same host, which may have waited,
    too, before it compiled."""
    out = {"compile": 0.0, "wait": 0.0, "wait_on_host": 0.0}
    beside = []
    for text in texts:
        for origin, compiled, got in re.findall(
                r'"origin": "(\w+)",\s+"compile_ms": ([0-9.]+),'
                r'\s+"load_ms": [0-9.]+,\s+"get_ms": ([0-9.]+)', text):
            own = float(compiled) if origin == "compiled" else 0.0
            if origin == "compiled":
                beside.append(float(got) - own)
            kind = "wait_on_host" if origin == "disk" else "wait"
            out["compile"] = max(out["compile"], own)
            out[kind] = max(out[kind], float(got) - own)
    return {"beside_compile_ms": statistics.median(beside or [0.0]),
            **{"longest_%s_ms" % kind: ms for kind, ms in out.items()}}


def crowd():
    url, sock = nginx_url, work + "/crowd.sock"
    redis(sock)
    wanted = specs(40)
    out = {"processes": 64, "hosts": 8, "kernels": 40, "target": TARGET}
    one = []
    for n in range(3):
        start = time.monotonic()
        with open(work + "/list", "w", encoding="utf-8") as f:
            for spec in wanted:
                f.write(json.dumps({"spec": spec, "target": TARGET}) + "\n")
        run(["prewarm", work + "/list"], environment("one%d" % n))
        one.append(time.monotonic() - start)
    out["one_process_s"] = statistics.median(one)
    for how, shuffle in (("shuffled", True), ("same_order", False)):
        rounds = []
        for n in range(3):
            name = "%s%d" % (how, n)
            origins, seconds, failed, _ = crowd_run(
                name, 8, 8, wanted,
                {"GROAT_REMOTE": url + "/" + name, "GROAT_LEASES":
                 "unix://" + sock, "GROAT_REMOTE_KEY": work + "/key"}, shuffle)
            rounds.append({"origins": origins, "s": seconds, "failed": failed})
        out[how] = rounds
        out[how + "_ratio"] = statistics.median(
            r["s"] for r in rounds) / out["one_process_s"]
    return out


def killed():
    url, sock = nginx_url, work + "/killed.sock"
    rounds = []
    for n in range(20):
        server = [redis(sock)]
        kills = [0]
        over = threading.Event()
        rng = random.Random(n)

        def strike():
            while not over.wait(rng.uniform(0.05, 0.6)):
                server[0].kill()
                server[0].wait()
                kills[0] += 1
                if os.path.exists(sock):
                    os.unlink(sock)
                if over.wait(rng.uniform(0, 0.2)):
                    return
                server[0] = redis(sock)

        thread = threading.Thread(target=strike)
        thread.start()
        name = "killed%d" % n
        origins, seconds, failed, texts = crowd_run(
            name, 4, 4, specs(10),
            {"GROAT_REMOTE": url + "/" + name, "GROAT_LEASES": "unix://" + sock,
             "GROAT_REMOTE_KEY": work + "/key"}, verb="run")
        over.set()
        thread.join()
        server[0].kill()
        server[0].wait()
        if os.path.exists(sock):
            os.unlink(sock)
        rounds.append({"kills": kills[0], "compiled": origins.get("compiled", 0),
                       "failed": failed, "s": seconds, **longest(texts)})
    return {"kernels": 10, "hosts": 4, "processes": 16, "rounds": rounds,
            "failed": sum(r["failed"] for r in rounds),
            "kills": sum(r["kills"] for r in rounds),
            "extra_compiles": sum(r["compiled"] - 10 for r in rounds)}


def blackhole():
    """A port that takes no connection and refuses none."""
    s = socket.socket()
    s.bind(("localhost", 0))
    s.listen(0)
    where = s.getsockname()
    fill = []
    for _ in range(4):
        c = socket.socket()
        c.setblocking(False)
        try:
            c.connect(where)
        except OSError:
            pass
        fill.append(c)
    started.append(s)
    started.append(fill)
    return "http://localhost:%d" % where[1]


def dripping():
    s = socket.socket()
    s.bind(("localhost", 0))
    s.listen(64)
    started.append(s)

    def serve(c):
        try:
            c.recv(65536)
            c.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                c.sendall(b"x")
                time.sleep(1)
        except OSError:
            pass

    def accept():
        while True:
            c, _ = s.accept()
            threading.Thread(target=serve, args=(c,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return "http://localhost:%d" % s.getsockname()[1]


def dead():
    places = {"none": None, "refused": "http://localhost:%d" % port(),
              "blackhole": blackhole(), "drip": dripping()}
    out = {}
    times = {name: [] for name in places}
    for n in range(9):
        for name, url in places.items():
            env = environment("dead-%s-%d" % (name, n))
            if url:
                env.update(GROAT_REMOTE=url, GROAT_REMOTE_KEY=work + "/key")
            text = run(["run", "--json", "--target", "cpu:gfx950"] + specs(6),
                       env).stdout
            times[name].append([float(x) for x in
                                re.findall(r'"get_ms": ([0-9.]+)', text)])
    for name, rows in times.items():
        first = statistics.median(r[0] for r in rows)
        later = statistics.median(statistics.median(r[1:]) for r in rows)
        out[name] = {"first_get_ms": first, "later_get_ms": later}
    for name in places:
        if name != "none":
            out[name]["first_more_ms"] = (out[name]["first_get_ms"] -
                                          out["none"]["first_get_ms"])
            out[name]["later_ratio"] = (out[name]["later_get_ms"] /
                                        out["none"]["later_get_ms"])
    return out


def slow():
    """What 60 kernels of one process lose to a remote that answers each try
    at once and each get too slowly."""
    times = {}
    for name, url in (("none", None), ("drip", dripping())):
        env = environment("slow-" + name)
        if url:
            env.update(GROAT_REMOTE=url, GROAT_REMOTE_KEY=work + "/key")
        text = run(["run", "--json", "--target", "cpu:gfx950"] + specs(60),
                   env).stdout
        times[name] = [float(got) - float(compiled) for compiled, got in
                       re.findall(r'"compile_ms": ([0-9.]+),\s+"load_ms":'
                                  r' [0-9.]+,\s+"get_ms": ([0-9.]+)', text)]
    return {"kernels": len(times["drip"]),
            "lost_ms": sum(times["drip"]) - sum(times["none"]),
            "gets_over_50_ms": sum(t > 50 for t in times["drip"])}


def pull():
    url = nginx_url + "/pull"
    wanted = specs(100)
    with open(work + "/hundred", "w", encoding="utf-8") as f:
        for spec in wanted:
            f.write(json.dumps({"spec": spec, "target": TARGET}) + "\n")
    env = environment("pull", GROAT_REMOTE=url,
                      GROAT_REMOTE_KEY=work + "/key")
    run(["prewarm", work + "/hundred"], env)
    run(["fleet", "push"], env)
    found = run(["fleet", "pull", work + "/hundred", "--json"],
                environment("found", GROAT_REMOTE=url)).stdout
    names = re.findall(r'"name": "([^"]*)"', found)
    with open(work + "/list.curl", "w", encoding="utf-8") as f:
        for n, name in enumerate(names):
            f.write("url=%s/%s\noutput=%s/got/%d\n" % (url, name, work, n))
    os.makedirs(work + "/got")
    ours, curls = [], []
    for n in range(30):
        os.sync()  # what the side before has left to be written
        start = time.monotonic()
        subprocess.run(["curl", "--parallel", "--no-progress-meter", "-K",
                        work + "/list.curl"], check=True)
        curls.append(time.monotonic() - start)
        env = environment("new%d" % n, GROAT_REMOTE=url)
        os.sync()
        start = time.monotonic()
        text = run(["fleet", "pull", work + "/hundred"], env).stdout
        ours.append(time.monotonic() - start)
        assert text.startswith("100 of "), text
    return {"objects": len(names), "groat_s": statistics.median(ours),
            "curl_s": statistics.median(curls),
            "ratio": statistics.median(ours) / statistics.median(curls)}


def hit():
    figures = {"with": [], "without": []}
    for n in range(9):
        for how in ("with", "without"):
            env = environment("hit%d" % n)
            if how == "with":
                env.update(GROAT_REMOTE=nginx_url + "/hit",
                           GROAT_REMOTE_KEY=work + "/key")
            text = run(["bench", "hit", "--target", "cpu:gfx950", "--json"],
                       env).stdout
            figures[how].append(json.loads(text)["figures"][0]["groat"])
    return {"lookup_ns_with": statistics.median(figures["with"]),
            "lookup_ns_without": statistics.median(figures["without"])}


try:
    subprocess.run([groat, "cache", "keygen", work + "/key"], check=True,
                   stdout=open(work + "/trust", "w", encoding="utf-8"))
    nginx_url = nginx()
    print(json.dumps({part: globals()[part]() for part in parts}, indent=1))
finally:
    for one in started:
        if hasattr(one, "kill"):
            one.kill()
    subprocess.run(["rm", "-rf", work], check=False)
