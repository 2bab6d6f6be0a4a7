#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# examples/server under requests from many threads, while other processes fill
# the same store and one of them is repeatedly killed: every answer is right,
# and no request waits for a compile.  Then make check-soak's work for some
# seconds.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/../soak/parts.sh"

why=$(server_lacks)
if [ -n "$why" ]; then
    echo "SKIP: $why"
    exit 77
fi
if ! command -v python3 >/dev/null 2>&1; then
    echo "SKIP: there is no python3 to ask the server"
    exit 77
fi

make_server
for depth in 16 64 128; do
    echo "{\"spec\": \"paged_sum:depth=$depth\"}"
done >"$work/served.jsonl"
for depth in 32 48 80 96 112 144 160 176; do
    echo "{\"spec\": \"paged_sum:depth=$depth\", \"target\": \"cpu:sm_90a\"}"
done >"$work/others.jsonl"

"$work/server" 2>"$err"
[ $? -eq 2 ] && pass 'without its words: usage' || fail 'without its words: usage'
echo '{"spec": "paged_sum:depth=17"}' >"$work/bad.jsonl"
"$work/server" "$work/families" "$work/bad.jsonl" 0 cpu:sm_90a \
    >"$out" 2>"$err"
[ $? -eq 1 ] && pass 'a bad manifest' || fail 'a bad manifest'
says 'a bad manifest: the value is named' 'depth=17'

"$work/server" "$work/families" "$work/served.jsonl" 0 cpu:sm_90a \
    >"$work/port" 2>"$work/talk" &
server=$!
trap 'kill -9 $server 2>/dev/null; chmod -R u+rwX "$work"; rm -rf "$work"' EXIT

# Two other processes use the store all the time; one is killed anywhere.
prewarm() {
    "$groat" prewarm "$work/others.jsonl" --family-path "$work/families" -j 1 \
        >/dev/null 2>&1
}
prewarm &
second=$!
(
    for i in 1 2 3 4 5; do
        "$groat" prewarm "$work/others.jsonl" -j 1 \
            --family-path "$work/families" >/dev/null 2>&1 &
        sleep 0.2
        kill -9 $! 2>/dev/null
        wait $! 2>/dev/null
    done
) 2>/dev/null &
third=$!

cat >"$work/ask.py" <<'END'
import http.client
import re
import sys
import threading
import time
import urllib.parse

THREADS, EACH = 6, 30


def get(path):
    server = http.client.HTTPConnection("localhost", int(port), timeout=60)
    server.request("GET", path)
    answer = server.getresponse()
    body = answer.read().decode()
    server.close()
    return answer.status, body


def total(name):
    figures = get("/metrics")[1]
    return int(re.search(r"^%s (\d+)$" % re.escape(name), figures, re.M)[1])


def load(index):
    for i in range(EACH):
        depth = (16, 64, 128)[(index + i) % 3]
        spec = urllib.parse.quote("paged_sum:depth=%d" % depth)
        answers.append(get("/sum?spec=" + spec))


port = ""
while not port:
    port = open(sys.argv[1]).read().replace("port ", "").strip()
    time.sleep(0.01)
while get("/healthz")[0] != 200:
    time.sleep(0.01)
before = total("groat_compiles_total")
answers = []
threads = [threading.Thread(target=load, args=(i,)) for i in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
right = sum(s == 200 and '"wrong": 0' in body and '"memory"' in body
            for s, body in answers)
print("right", right == THREADS * EACH, right)
for path, status, words in (("/sum?spec=paged_sum:depth=256", 404, "sealed"),
                            ("/sum?spec=%00%ff", 404, "invalid"),
                            ("/sum?spec=" + "x" * 20000, 404, "invalid"),
                            ("/sum", 404, "/healthz"), ("/", 404, "/sum")):
    got = get(path)
    good = got[0] == status and words in got[1]
    print("path", good, path[:40], got[0])
print("compiles", before == total("groat_compiles_total"), before)
print("hits", total("groat_memory_hits_total") == THREADS * EACH)
print("misses", total("groat_sealed_misses_total") == 1)
print("healthy", get("/healthz") == (200, "ok\n"))
kept = http.client.HTTPConnection("localhost", int(port), timeout=60)
kept.request("POST", "/sum", body="x" * 5000)
answer = kept.getresponse()
body = answer.read()
print("post", answer.status == 405 and answer.getheader("Allow") == "GET, HEAD")
socket = kept.sock
kept.request("HEAD", "/healthz")
answer = kept.getresponse()
print("head", answer.status == 200 and answer.read() == b"")
print("kept", socket is not None and kept.sock is socket)
END
timeout 300 python3 "$work/ask.py" "$work/port" >"$out" 2>&1
while read -r what good rest; do
    case $good in
    True) pass "$what $rest" ;;
    *) fail "$what" "$good $rest" ;;
    esac
done <"$out"
[ "$(grep -c True "$out")" -eq 13 ] && pass 'everything was asked' ||
    fail 'everything was asked' "$(tail -n 3 "$out")$(tail -n 3 "$work/talk")"

# Partial requests do not block other requests, and are ended.
cat >"$work/halves.py" <<'END'
import http.client
import resource
import socket
import sys
import time

port = int(open(sys.argv[1]).read().replace("port ", ""))
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
soft = 2000 if hard == resource.RLIM_INFINITY else min(hard, 2000)
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
halves = []
for _ in range(min(1200, soft - 100)):
    half = socket.create_connection(("localhost", port), timeout=60)
    half.sendall(b"GET /healthz HTTP/1.1\r\nHost: ")
    halves.append(half)
server = http.client.HTTPConnection("localhost", port, timeout=60)
start = time.monotonic()
server.request("GET", "/healthz")
print(server.getresponse().status == 200, len(halves), "halves,",
      "%.3f s" % (time.monotonic() - start))
print(all(half.recv(1) in (b"", b"H") for half in halves), "they are ended")
END
timeout 120 python3 "$work/halves.py" "$work/port" >"$out" 2>&1
[ "$(grep -c ^True "$out")" -eq 2 ] && pass "halves of requests: $(head -n 1 "$out")" ||
    fail 'halves of requests' "$(head -c 600 "$out")"

wait $second
[ $? -eq 0 ] && pass 'the second process fills the store' ||
    fail 'the second process fills the store'
wait $third
run prewarm "$work/others.jsonl" --family-path "$work/families" --check
[ "$code" -eq 0 ] && pass 'and all of it is there' ||
    fail 'and all of it is there' "$(head -c 300 "$out")"
expect 'the store is sound' 0 cache verify

# Requests that it has when it is told to end are answered.
cat >"$work/last.py" <<'END'
import os
import signal
import socket
import sys

port = int(open(sys.argv[1]).read().split()[1])
asked = []
for _ in range(8):
    one = socket.create_connection(("localhost", port), timeout=60)
    one.sendall(b"GET /sum?spec=paged_sum:depth=64 HTTP/1.1\r\nHost: x\r\n\r\n")
    asked.append(one)
os.kill(int(sys.argv[2]), signal.SIGTERM)
print([one.recv(15) for one in asked])
END
timeout 120 python3 "$work/last.py" "$work/port" $server >"$out" 2>&1
[ "$(grep -o 'HTTP/1.1 200 OK' "$out" | wc -l)" -eq 8 ] &&
    pass 'its last requests are answered' ||
    fail 'its last requests are answered' "$(head -c 600 "$out")"
kill -TERM $server 2>/dev/null && wait $server
[ $? -eq 0 ] && pass 'it ends when it is told to' ||
    fail 'it ends when it is told to' "$(tail -n 5 "$work/talk")"

why=$(soak_lacks)
if [ -n "$why" ]; then
    skip "a short soak: $why"
elif soak 3 "$work/server" >"$out" 2>"$err"; then
    pass "a short soak: $(grep -c '^ok ' "$err") checks"
    grep '^SKIP: ' "$err" # of it
else
    fail 'a short soak' "$(grep -v '^ok ' "$err" | head -c 2000)"
fi
finish
