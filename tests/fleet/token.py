#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""token.py PORT KEY CERTIFICATE MODE: gives tokens of a registry to user:word.

KEY and CERTIFICATE are PEM files of an RSA key.  The file MODE says how it
answers: good, refuse, empty or garbage.
"""
import base64
import http.server
import json
import subprocess
import sys
import time
import urllib.parse

port, key, certificate, mode = sys.argv[1:]


def text64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(query):
    with open(certificate, encoding="ascii") as f:
        lines = [line for line in f.read().split("\n") if "-----" not in line]
    access = []
    for scope in query.get("scope", []):
        kind, name, actions = scope.rsplit(":", 2)
        access.append({"type": kind, "name": name,
                       "actions": actions.split(",")})
    now = int(time.time())
    claims = {"iss": "groat", "sub": "user", "aud": query["service"][0],
              "exp": now + 300, "nbf": now - 10, "iat": now, "jti": str(now),
              "access": access}
    head = {"typ": "JWT", "alg": "RS256", "x5c": ["".join(lines)]}
    signed = ".".join(text64(json.dumps(part).encode())
                      for part in (head, claims))
    signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", key],
                               input=signed.encode(), stdout=subprocess.PIPE,
                               check=True).stdout
    return signed + "." + text64(signature)


class Tokens(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with open(mode, encoding="ascii") as f:
            how = f.read().strip()
        login = "Basic " + base64.b64encode(b"user:word").decode()
        good = self.headers.get("Authorization") == login and how != "refuse"
        query = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)
        body = {"empty": "{}", "garbage": '{"token": "a b\\n"}'}.get(how)
        if good and body is None:
            body = json.dumps({"token": token(query)})
        body = (body if good else "no").encode()
        self.send_response(200 if good else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


http.server.ThreadingHTTPServer(("localhost", int(port)), Tokens).serve_forever()
