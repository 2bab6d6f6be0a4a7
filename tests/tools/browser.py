#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""browser.py BROWSER PAGE FOLDER STEP[/SCHEME]...: opens the page at each step
in one Chromium without a window; the steps' documents become STEP.dom in the
folder, and pictures in a colour scheme, light or dark, STEP-SCHEME.png.  The
browser is driven by its DevTools protocol through a pipe."""

import base64
import json
import os
import subprocess
import sys

WIDTH, HEIGHT = 800, 600


class Browser:
    def __init__(self, program, folder):
        down, self.send = os.pipe()
        self.receive, up = os.pipe()
        # The browser reads from descriptor 3 and writes to 4.
        self.child = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{down} 4>&{up}', "sh", program,
             "--headless", "--no-sandbox", "--disable-gpu",
             "--remote-debugging-pipe", f"--user-data-dir={folder}/browser",
             f"--window-size={WIDTH},{HEIGHT}", "about:blank"],
            pass_fds=(down, up), stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(down)
        os.close(up)
        self.text = b""
        self.count = 0
        self.session = {}
        target = self.call("Target.createTarget", url="about:blank")
        self.session = {"sessionId": self.call(
            "Target.attachToTarget", targetId=target["targetId"],
            flatten=True)["sessionId"]}

    def read(self):
        while b"\0" not in self.text:
            more = os.read(self.receive, 1 << 16)
            if not more:
                sys.exit("the browser has ended")
            self.text += more
        message, self.text = self.text.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        os.write(self.send, json.dumps(message | self.session).encode() + b"\0")
        while (answer := self.read()).get("id") != self.count:
            pass
        return answer["result"]

    def open(self, url):
        self.call("Page.enable")
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)
        self.evaluate("new Promise(done => document.readyState === 'complete'"
                      " ? done() : addEventListener('load', done))")

    def evaluate(self, text):
        return self.call("Runtime.evaluate", expression=text,
                         awaitPromise=True)["result"].get("value")


def main():
    program, page, folder, *steps = sys.argv[1:]
    browser = Browser(program, folder)
    for at in steps:
        step, _, scheme = at.partition("/")
        if scheme:
            browser.call("Emulation.setEmulatedMedia", features=[
                {"name": "prefers-color-scheme", "value": scheme}])
        browser.open(f"file://{page}#step={step}")
        if scheme:
            data = browser.call("Page.captureScreenshot")["data"]
            with open(f"{folder}/{step}-{scheme}.png", "wb") as file:
                file.write(base64.b64decode(data))
            continue
        text = browser.evaluate("document.documentElement.outerHTML")
        with open(f"{folder}/{step}.dom", "w", encoding="utf-8") as file:
            file.write(text)
    browser.session = {}
    browser.call("Browser.close")
    browser.child.wait()


main()
