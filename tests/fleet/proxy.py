#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""proxy.py UPSTREAM MODE-FILE PORT-FILE

Stands between groat and a server of objects, UPSTREAM (HOST:PORT), and makes
the faults that MODE-FILE names at the time of a request:

    pass            nothing
    latency MS      answers later
    status CODE     answers with CODE
    garbage         answers 200 and random bytes
    half            sends half a body and ends
    endless         sends a body without end
    drip            sends a byte a second
    hang            takes the request and never answers
    other NAME      answers a GET with the object of that name
    replay FILE     answers a GET with the content of a file
    redirect URL    answers 302
    lie             answers a GET with twice the length that comes
    blind           answers a HEAD with 404, and with 412 a PUT that asks for it
                    of an object that is there

Writes its port to PORT-FILE.  Takes requests of clients that know it as their
proxy, too: whatever host they name, UPSTREAM is asked.
"""
import http.client
import http.server
import os
import random
import socketserver
import sys
import time

upstream, mode_file, port_file = sys.argv[1:4]


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 256


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def ask(self, path):
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length) if length else None
        link = http.client.HTTPConnection(upstream, timeout=30)
        headers = {k: v for k, v in self.headers.items()
                   if k.lower() not in ("connection", "expect")}
        link.request(self.command, path, body, headers)
        answer = link.getresponse()
        return answer.status, answer.read()

    def answer(self, status, body, length=None):
        self.send_response(status)
        self.send_header("Content-Length",
                         str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def is_refused(self, path):
        """A PUT that may not overwrite, of an object that is there."""
        if self.command != "PUT" or self.headers.get("If-None-Match") != "*":
            return False
        self.rfile.read(int(self.headers["Content-Length"]))
        link = http.client.HTTPConnection(upstream, timeout=30)
        link.request("HEAD", path)
        return link.getresponse().status == 200

    def fault(self, kind, word):
        """True: the answer was given."""
        if kind == "latency":
            time.sleep(float(word) / 1000)
        elif kind == "status":
            self.answer(int(word), b"")
            return True
        elif kind == "garbage":
            self.answer(200, random.Random(7).randbytes(20000))
            return True
        elif kind == "hang":
            time.sleep(3600)
        elif kind == "redirect":
            self.send_response(302)
            self.send_header("Location", word)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return True
        elif kind in ("endless", "drip"):
            self.send_response(200)
            self.send_header("Connection", "close")
            self.end_headers()
            while True:
                self.wfile.write(b"x" * (1 if kind == "drip" else 1 << 20))
                self.wfile.flush()
                time.sleep(1 if kind == "drip" else 0)
        return False

    def serve(self):
        with open(mode_file, encoding="utf-8") as f:
            kind, _, word = f.read().strip().partition(" ")
        forwards = kind in ("pass", "half", "lie", "other", "replay", "latency",
                            "blind")
        if not forwards and self.headers.get("Content-Length"):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.headers.replace_header("Content-Length", "0")
        if self.fault(kind, word):
            return
        path = self.path
        if path.startswith("http://"):
            path = path[path.index("/", len("http://")):]
        if kind == "blind" and (self.command == "HEAD" or
                                self.is_refused(path)):
            self.answer(404 if self.command == "HEAD" else 412, b"")
            return
        if kind == "other" and self.command == "GET":
            path = path[:path.index("/v1/") + 1] + word
        status, body = self.ask(path)
        if kind == "replay" and self.command == "GET":
            with open(word, "rb") as f:
                body = f.read()
        if kind in ("half", "lie") and self.command == "GET":
            part = body[:len(body) // 2] if kind == "half" else body
            self.answer(status, part, len(part) * 2)
            self.close_connection = True
            return
        self.answer(status, body)

    do_GET = do_HEAD = do_PUT = do_DELETE = serve

    def handle(self):
        try:
            super().handle()
        except OSError:
            self.close_connection = True


server = Server(("localhost", 0), Proxy)
with open(port_file + ".new", "w", encoding="utf-8") as f:
    f.write(str(server.server_address[1]))
os.replace(port_file + ".new", port_file)
server.serve_forever()
