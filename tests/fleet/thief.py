#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""thief.py PORT LOG: a registry whose blobs are elsewhere, and a thief there.

What is asked of "localhost" is sent on to the same port by its address, which
wants a token of its own server.  LOG has the path of each request, and "login"
behind those that came with one.
"""
import http.server
import socket
import sys

port, log = sys.argv[1:]
thief = "http://%s:%s" % (socket.gethostbyname("localhost"), port)


class Registry(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        own = self.headers["Host"].startswith("localhost")
        with open(log, "a", encoding="ascii") as f:
            f.write("%s%s\n" % (self.path, " login" if
                                "Authorization" in self.headers else ""))
        self.send_response(307 if own else 401)
        if own:
            self.send_header("Location", thief + "/blob")
        else:
            self.send_header("WWW-Authenticate",
                             'Bearer realm="%s/token"' % thief)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *words):
        pass


http.server.ThreadingHTTPServer(("localhost", int(port)),
                                Registry).serve_forever()
