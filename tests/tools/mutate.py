#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes one thing of the C sources or kernels at a time, and looks whether
the tests notice: what they do not is either the same program or a hole.

Works on a clone of its own in the folder WORK, where it builds; the tree is not
touched.  A mutant whose object files are those of the sound tree is the same
program and is not counted.  Killed is a mutant that a test fails for, or that
takes longer than --timeout in a stage.

Prints a line of JSON for each mutant, {"file", "line", "what", "result",
"by"}, and at the end one with the sums by folder.  Exit: 0 when at least
--share of those that are not the same program were killed, else 1.
"""
import argparse
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILES = re.compile(r'^(src/(base|spec|backend|core|cli)|cache)/[^/]+\.c$'
                   r'|^kernels-src/(common|[a-z0-9_]+)/[a-z0-9_]+\.h$')
OUT = re.compile(r'/(params|args|host)\.h$|_host\.h$|^src/spec/make_families\.c$')

# What is looked for, outside of comments, texts and directives, and what
# stands in its place.
CHANGES = [
    (re.compile(r'(?<![<>=!-])<(?![<=])(?= \S)'), '<='),
    (re.compile(r'<=(?!>)'), '<'),
    (re.compile(r'(?<![->])>(?![>=])(?= \S)'), '>='),
    (re.compile(r'(?<!>)>='), '>'),
    (re.compile(r'=='), '!='),
    (re.compile(r'!='), '=='),
    (re.compile(r'&&'), '||'),
    (re.compile(r'\|\|'), '&&'),
    (re.compile(r' \+ '), ' - '),
    (re.compile(r' - '), ' + '),
    (re.compile(r'(?<=[\s(])!(?=[\w(])'), ''),
    (re.compile(r'\breturn true;'), 'return false;'),
    (re.compile(r'\breturn false;'), 'return true;'),
    (re.compile(r'\breturn status;'), 'return 0;'),
    (re.compile(r'\bcontinue;'), 'break;'),
    (re.compile(r'(?<=[ (])0(?=[;,)])'), '1'),
    (re.compile(r'(?<=[ (])1(?=[;,)])'), '2'),
    # A call whose result nobody takes.
    (re.compile(r'^ +(\(void\))?[a-z_0-9]+(->[a-z_]+)?\(.*\);$', re.M), ';'),
]


def blank(text):
    """The text with as many blanks for comments, texts and directives."""
    parts = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"'
                       r"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:\\\n|[^\n])*",
                       re.S | re.M)
    return parts.sub(lambda m: re.sub(r'[^\n]', ' ', m.group(0)), text)


def find_sites(root, under):
    names = subprocess.run(['git', 'ls-files'], cwd=root, check=True, text=True,
                           stdout=subprocess.PIPE).stdout.split()
    sites = []
    for name in names:
        if not FILES.search(name) or OUT.search(name) or \
                not name.startswith(tuple(under)):
            continue
        with open(os.path.join(root, name), encoding='utf-8') as file:
            text = blank(file.read())
        for pattern, put in CHANGES:
            sites += [(name, m.start(), m.end(), put)
                      for m in pattern.finditer(text)]
    return sites


class Bench:
    """A clone, its build, and what the sound tree compiles to."""

    def __init__(self, work, jobs, timeout):
        self.root = os.path.join(work, 'source')
        self.build = os.path.join(work, 'build')
        self.jobs = jobs
        self.timeout = timeout
        self.log = open(os.path.join(work, 'mutate.log'), 'a', encoding='utf-8')
        if not os.path.isdir(self.root):
            self.run(['git', 'clone', '-q', TOP, self.root], '.')
            self.run(['autoreconf', '-fi'], self.root)
            os.makedirs(self.build)
            self.run([os.path.join(self.root, 'configure'), '--disable-static',
                      'CFLAGS=-g0 -O1', 'CXXFLAGS=-g0 -O1'], self.build)
        self.must_build()
        self.sound = self.objects()

    def run(self, words, folder):
        """0, the exit status, or None when it took too long."""
        try:
            return subprocess.run(words, cwd=folder, stdout=self.log,
                                  stderr=self.log, stdin=subprocess.DEVNULL,
                                  timeout=self.timeout, check=False,
                                  start_new_session=True).returncode
        except subprocess.TimeoutExpired:
            return None

    def make(self, *words):
        return self.run(['make', f'-j{self.jobs}', *words], self.build)

    def must_build(self):
        if self.make('all') != 0:
            sys.exit('mutate.py: the sound tree does not build; see mutate.log')

    def objects(self):
        """A digest of all that the library and the tool are made of."""
        digest = hashlib.sha256()
        for folder, _, names in sorted(os.walk(self.build)):
            for name in sorted(names):
                if name.endswith('.o') and '/tests' not in folder:
                    with open(os.path.join(folder, name), 'rb') as file:
                        digest.update(name.encode() + file.read())
        return digest.digest()

    def stages(self, name):
        """The nearest tests first: make's variables, and what they are."""
        folder = re.match(r'src/(\w+)/|(cache)/|(kernels)-src/', name)
        near = next(part for part in folder.groups() if part)
        tests = '$(groat_kernel_tests) $(groat_family_tests)' \
            if near == 'kernels' else \
            f'$(filter tests/unit/{near}/%,$(groat_unit_tests))'
        yield 'near', ['check_PROGRAMS=', f'TESTS={tests}']
        yield 'all', []

    def judge(self, name):
        """(result, stage)"""
        built = self.make('all')
        if built != 0:
            return ('no program' if built else 'killed', 'the compiler')
        if self.objects() == self.sound:
            return 'the same', None
        for stage, words in self.stages(name):
            code = self.make('check', *words)
            if code is None:
                return 'killed', f'{stage}: time'
            if code != 0:
                return 'killed', stage
        return 'alive', None

    def try_one(self, site):
        name, begin, end, put = site
        path = os.path.join(self.root, name)
        with open(path, encoding='utf-8') as file:
            text = file.read()
        line = text.count('\n', 0, begin) + 1
        what = f'{text[begin:end].strip()} -> {put.strip() or "nothing"}'
        try:
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text[:begin] + put + text[end:])
            result, by = self.judge(name)
        finally:
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text)
        return {'file': name, 'line': line, 'what': what, 'result': result,
                'by': by}


def sum_up(seen):
    folders = {}
    for one in seen:
        row = folders.setdefault(os.path.dirname(one['file']),
                                 {'killed': 0, 'alive': 0})
        row[one['result']] += 1
    killed = sum(row['killed'] for row in folders.values())
    return {'folders': folders, 'killed': killed, 'of': len(seen),
            'share': round(killed / len(seen), 3) if seen else None}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('work', help='folder for a clone and its build')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--count', type=int, default=20,
                        help='mutants that are not the same program')
    parser.add_argument('--under', action='append', default=[],
                        help='of files whose path begins so; any number')
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    parser.add_argument('--timeout', type=int, default=1800,
                        help='seconds that a stage may take')
    parser.add_argument('--share', type=float, default=0.92)
    given = parser.parse_args()
    os.makedirs(given.work, exist_ok=True)
    bench = Bench(os.path.abspath(given.work), given.jobs, given.timeout)
    sites = find_sites(bench.root, given.under or [''])
    random.Random(given.seed).shuffle(sites)
    seen = []
    for site in sites:
        if len(seen) == given.count:
            break
        start = time.monotonic()
        one = bench.try_one(site)
        one['seconds'] = round(time.monotonic() - start, 1)
        print(json.dumps(one), flush=True)
        if one['result'] in ('killed', 'alive'):
            seen.append(one)
    bench.must_build()
    all_of_it = sum_up(seen)
    print(json.dumps(all_of_it), flush=True)
    return 0 if seen and all_of_it['share'] >= given.share else 1


if __name__ == '__main__':
    sys.exit(main())
