#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes one thing of the C sources or kernels at a time, and looks whether
the tests notice: what they do not is either the same program or a hole.

Works on a clone of its own in the folder WORK, where it builds; the tree is not
touched.  Each test is run once in a build that counts lines, so that a mutant
meets the tests that execute its line, the quickest first; one of a kernel meets
the tests of kernels.  A mutant whose object files are those of the sound tree
is the same program and is not counted.  Killed is a mutant that a test fails
for.

Prints a line of JSON for each mutant, {"file", "line", "what", "result",
"by"}, and at the end one with the sums by folder.  Exit: 0 when at least
--share of those that are not the same program were killed, else 1.
"""
import argparse
import glob
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILES = re.compile(r'^(src|cache)/.*\.c$'
                   r'|^kernels-src/(common|[a-z0-9_]+)/[a-z0-9_]+\.h$')
OUT = re.compile(r'/(params|args)\.h$|^kernels-src/driver/'
                 r'|^src/spec/make_families\.c$')

# Time limit that detects a mutant that never ends: LONG seconds, or LONGER
# times what the tests take on the unchanged tree.
LONG, LONGER = 60, 4
TOO_LONG = -1000

# Patterns to find, outside of comments, strings and directives, and their
# replacements.
CHANGES = [
    (re.compile(r'(?<= )<(?= \S)'), '<='),
    (re.compile(r'<=(?!>)'), '<'),
    (re.compile(r'(?<= )>(?= \S)'), '>='),
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
    # A call whose result is ignored.
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
    """A clone, its builds, and which test executes which line."""

    def __init__(self, work, jobs):
        self.work = work
        self.root = os.path.join(work, 'source')
        self.build = os.path.join(work, 'build')
        self.covered = os.path.join(work, 'covered')
        self.jobs = jobs
        # A mutant may do anything to the folder of temporary files.
        self.scratch = os.path.join(work, 'tmp')
        os.makedirs(self.scratch, exist_ok=True)
        self.log = open(os.path.join(work, 'mutate.log'), 'a', encoding='utf-8')
        self.lines = {}
        if not os.path.isdir(self.root):
            self.run(['git', 'clone', '-q', TOP, self.root], '.')
            self.run(['autoreconf', '-fi'], self.root)
        self.prepare(self.build, '-g0 -O1')
        self.prepare(self.covered, '-g0 -O0 --coverage -fprofile-update=atomic')
        self.tests = self.list_tests()
        self.seconds = self.time_tests()
        self.must_build()
        self.sound = self.objects()

    def prepare(self, folder, flags):
        if not os.path.isdir(folder):
            os.makedirs(folder)
            self.run([os.path.join(self.root, 'configure'), '--disable-static',
                      f'CFLAGS={flags}', f'CXXFLAGS={flags}'], folder)

    def run(self, words, folder, seconds=None, **more):
        """0, or the exit status; TOO_LONG after so many seconds."""
        with subprocess.Popen(words, cwd=folder, stdout=self.log,
                              stderr=self.log, stdin=subprocess.DEVNULL,
                              start_new_session=True,
                              env={**os.environ, 'CK_DEFAULT_TIMEOUT': '60',
                                   'TMPDIR': self.scratch, **more}) as child:
            try:
                return child.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                self.kill_left()
                return TOO_LONG

    def kill_left(self):
        """Tests start sessions of their own: what was built here and runs."""
        for exe in glob.glob('/proc/[0-9]*/exe'):
            try:
                if os.readlink(exe).startswith(f'{self.build}/'):
                    os.kill(int(exe.split('/')[2]), signal.SIGKILL)
            except OSError:
                pass

    def make(self, *words, folder=None, seconds=None, **more):
        return self.run(['make', f'-j{self.jobs}', *words],
                        folder or self.build, seconds, **more)

    def must_build(self):
        if self.make('all') != 0:
            sys.exit('mutate.py: the sound tree does not build; see mutate.log')

    def check(self, tests, folder=None, **more):
        """The exit status of make check of these tests and no others."""
        return self.make('check', f'TESTS={" ".join(tests)}', folder=folder,
                         **more)

    def list_tests(self):
        return subprocess.run(
            ['make', '--no-print-directory', '--eval', 'p: ; @echo $(TESTS)',
             'p'], cwd=self.build, check=True, text=True,
            stdout=subprocess.PIPE).stdout.split()

    def time_tests(self):
        """Seconds of each that passes; what it executes lies in lines/."""
        known = os.path.join(self.work, 'tests.json')
        if not os.path.isfile(known):
            self.make('check', 'TESTS_ENVIRONMENT=GCOV_PREFIX='
                      + self.counts_of('$(basename $@)'),
                      folder=self.covered, CK_DEFAULT_TIMEOUT='240')
            self.make('check', 'TESTS_ENVIRONMENT=touch $@.start;')
            if not all(os.path.exists(self.record_of(test, '.log.start'))
                       for test in self.tests):
                sys.exit('mutate.py: not all tests ran; see mutate.log')
            seconds = {test: self.seconds_of(test) for test in self.tests
                       if self.passed(test)}
            with open(known, 'w', encoding='utf-8') as file:
                json.dump(seconds, file, indent=1)
        with open(known, encoding='utf-8') as file:
            return json.load(file)

    def record_of(self, test, kind):
        return os.path.join(self.build, os.path.splitext(test)[0] + kind)

    def seconds_of(self, test):
        return round(os.path.getmtime(self.record_of(test, '.trs'))
                     - os.path.getmtime(self.record_of(test, '.log.start')), 1)

    def passed(self, test):
        try:
            with open(self.record_of(test, '.trs'), encoding='utf-8') as file:
                return not re.search('test-result: (FAIL|ERROR)', file.read())
        except OSError:
            return False

    def counts_of(self, test):
        return os.path.join(self.work, 'lines', os.path.splitext(test)[0])

    def executed(self, test, name):
        """(lines with code: number -> whether test ran it, functions: (first,
        last))."""
        top = self.counts_of(test) + self.covered
        folder, stem = os.path.split(os.path.splitext(name)[0])
        lines, functions = {}, set()
        # A library's objects are in .libs.
        for counts in glob.glob(f'{top}/{folder}/*{stem}.gcda') + \
                glob.glob(f'{top}/{folder}/.libs/*{stem}.gcda'):
            if not re.search(f'(^|-){stem}$', os.path.basename(counts)[:-5]):
                continue
            notes = counts[:-5] + '.gcno'
            if not os.path.exists(notes):
                os.symlink(notes[len(self.counts_of(test)):], notes)
            out = subprocess.run(['gcov', '--json-format', '--stdout', counts],
                                 cwd=self.work, check=False, text=True,
                                 stdout=subprocess.PIPE,
                                 stderr=self.log).stdout
            for file in json.loads(out or '{"files": []}')['files']:
                if not file['file'].endswith(name):
                    continue
                functions |= {(f['start_line'], f['end_line'])
                              for f in file['functions']}
                for line in file['lines']:
                    at = line['line_number']
                    lines[at] = lines.get(at, False) or line['count'] > 0
        return lines, functions

    def tests_of(self, name, line):
        """Those that execute the line, the quickest first; of a line outside of
        functions, as a table's, those that execute any line of the file.  Of a
        kernel, those of its family come first, and those of the tool last."""
        if name.startswith('kernels-src/'):
            near = [t for t in self.seconds
                    if '/kernels/' in t or '/isa/' in t
                    or '/cli/' in t and t.endswith('.sh')]
            family = 'judge' if '/cuda_' in name else name.split('/')[1]
            return sorted(near, key=lambda t: (family not in t, '/cli/' in t,
                                               self.seconds[t]))
        if name not in self.lines:
            self.lines[name] = {t: self.executed(t, name) for t in self.seconds}
        found = []
        for test, (lines, functions) in self.lines[name].items():
            inside = any(first <= line <= last for first, last in functions)
            before = [at for at in lines if at <= line]
            if any(lines.values()) if not inside else \
                    before and lines[max(before)]:
                found.append(test)
        return sorted(found, key=self.seconds.get)

    def objects(self):
        """A digest of all that the library and the tool are made of."""
        digest = hashlib.sha256()
        for folder, _, names in sorted(os.walk(self.build)):
            for name in sorted(names):
                if name.endswith('.o') and '/tests' not in folder:
                    with open(os.path.join(folder, name), 'rb') as file:
                        digest.update(name.encode() + file.read())
        return digest.digest()

    def judge(self, name, line):
        """(result, by what)"""
        if self.make('all') != 0:
            return 'no program', 'the compiler'
        if self.objects() == self.sound:
            return 'the same', None
        tests = self.tests_of(name, line)
        if not tests:
            return 'alive', 'no test executes it'
        batch = 0
        while tests:
            batch += 4
            now, tests = tests[:batch], tests[batch:]
            limit = LONG + LONGER * sum(self.seconds[t] for t in now)
            status = self.check(now, seconds=limit)
            if status == TOO_LONG:
                return 'killed', f'no end after {limit:.0f} s'
            if status != 0:
                return 'killed', self.failed(now)
        return 'alive', None

    def failed(self, tests):
        return next((test for test in tests if not self.passed(test)), 'make')

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
            result, by = self.judge(name, line)
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
    parser.add_argument('--from', type=int, default=0, dest='first',
                        help='sites of the seed that an earlier run has tried')
    parser.add_argument('--share', type=float, default=0.92)
    given = parser.parse_args()
    os.makedirs(given.work, exist_ok=True)
    bench = Bench(os.path.abspath(given.work), given.jobs)
    sites = find_sites(bench.root, given.under or [''])
    random.Random(given.seed).shuffle(sites)
    seen = []
    for site in sites[given.first:]:
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
