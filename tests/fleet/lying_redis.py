#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lying_redis.py MODE PORT-FILE: a lease server that answers everything with

    drip     a byte of a reply each tenth of a second
    garbage  bytes that are no reply
    huge     a text that is said to be two gigabytes, and sent as fast as it goes
    nested   lists in lists
    yes, one, nil, error    OK, 1, nothing, an error
    close    nothing: it hangs up
    echo     an error that repeats the command, as of AUTH when it is renamed
"""
import os
import socket
import sys
import threading
import time

REPLIES = {"yes": b"+OK\r\n", "one": b":1\r\n", "nil": b"$-1\r\n",
           "error": b"-ERR no\r\n", "garbage": bytes(range(256)) * 100,
           "nested": b"*1\r\n" * 100000}


def serve(link):
    try:
        while data := link.recv(65536):
            if sys.argv[1] == "echo":
                words = data.decode("latin-1").split("\r\n")[2::2]
                link.sendall(b"-ERR unknown command, with args: " +
                             " ".join(words).encode("latin-1") + b"\r\n")
            elif sys.argv[1] in REPLIES:
                link.sendall(REPLIES[sys.argv[1]])
            elif sys.argv[1] == "close":
                link.close()
                return
            elif sys.argv[1] == "drip":
                while True:
                    link.sendall(b"+")
                    time.sleep(0.1)
            else:
                link.sendall(b"$2000000000\r\n")
                while True:
                    link.sendall(b"x" * (1 << 20))
    except OSError:
        pass


server = socket.socket()
server.bind(("localhost", 0))
server.listen(64)
with open(sys.argv[2] + ".new", "w", encoding="utf-8") as f:
    f.write(str(server.getsockname()[1]))
os.replace(sys.argv[2] + ".new", sys.argv[2])
while True:
    threading.Thread(target=serve, args=(server.accept()[0],),
                     daemon=True).start()
