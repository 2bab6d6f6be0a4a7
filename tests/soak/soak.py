# SPDX-License-Identifier: Apache-2.0
"""soak.py: examples/server under load by ab for a while, with four kinds of
processes at its store.  Says what it saw on stderr, a line "ok" or "FAIL" for
each thing that must be, and prints one JSON object.

Exit: 0 when all was as it must be, else 1."""
import argparse
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.parse

import ab
import actors
import procs
from procs import Broken

BOUND = 4 << 20         # of the store: some hundred kernels
# Beyond it: what lies in the -wal (4 MiB, doc/store.md) twice, since a
# reader or a stopped process puts the checkpoint off, and the -shm.
SLACK = 9 << 20
GROWTH_MIB = 5          # of a process over the whole run
LEVELS = (1, 2, 4)      # connections of ab
DEPTHS = (16, 32, 64)   # of the kernels that the server has
MISSING = 'paged_sum:depth=256'
ROUND_S = 20            # of ab, at most


class Server:
    """examples/server as a child, with its kernels in the store before."""

    def __init__(self, site, binary):
        self.site = site
        self.specs = [f'paged_sum:depth={depth}' for depth in DEPTHS]
        manifest = f'{site.work}/served.jsonl'
        with open(manifest, 'w', encoding='ascii') as file:
            for spec in self.specs:
                file.write(json.dumps({'spec': spec}) + '\n')
        code, answer, talk = site.answer(
            'prewarm', manifest, '--target', actors.TARGET, '--family-path',
            site.families)
        if code != 0 or answer['compiled'] != len(self.specs):
            raise Broken(f'the prewarm of the server: {talk[-300:]}')
        self.talk = f'{site.work}/server.talk'
        with open(self.talk, 'w', encoding='ascii') as talk:
            self.process = subprocess.Popen(
                [binary, site.families, manifest, '0', actors.TARGET],
                env=site.environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=talk, text=True)
        line = self.process.stdout.readline()
        if not line.startswith('port '):
            raise Broken(f'the server has no port: {self.said()}')
        self.port = int(line.split()[1])
        self.wait_ready()

    def said(self):
        with open(self.talk, encoding='utf-8', errors='replace') as talk:
            return talk.read()[-300:]

    def wait_ready(self):
        deadline = time.monotonic() + actors.PATIENCE
        while self.get('/healthz')[0] != 200:
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise Broken(f'the server is not ready: {self.said()}')
            time.sleep(0.01)

    def get(self, path):
        asked = http.client.HTTPConnection('localhost', self.port, timeout=60)
        asked.request('GET', path)
        answer = asked.getresponse()
        body = answer.read().decode()
        asked.close()
        return answer.status, body

    def path_of(self, spec):
        return '/sum?spec=' + urllib.parse.quote(spec)

    def url(self, spec):
        return f'localhost:{self.port}{self.path_of(spec)}'

    def metric(self, name):
        found = re.search(rf'^{re.escape(name)} ([0-9.]+)$',
                          self.get('/metrics')[1], re.M)
        if found is None:
            raise Broken(f'/metrics has no {name}')
        return int(float(found[1]))

    def counters(self):
        return {name: self.metric(full) for name, full in (
            ('compiles', 'groat_compiles_total'),
            ('memory_hits', 'groat_memory_hits_total'),
            ('sealed_misses', 'groat_sealed_misses_total'),
            ('ok', 'server_answers_total{status="2xx"}'),
            ('refused', 'server_answers_total{status="4xx"}'),
            ('errors', 'server_answers_total{status="5xx"}'))}

    def size(self, seconds, files=0):
        """As soon as no more than so many files are open, or after so many
        seconds: connections that ab has dropped are closed one by one."""
        deadline = time.monotonic() + seconds
        while ((now := procs.size_of(self.process.pid))[2] > files and
               time.monotonic() < deadline):
            time.sleep(0.02)
        return now

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Soak:
    def __init__(self, site, server):
        self.site = site
        self.server = server
        self.rounds = []
        self.samples = 0
        self.wrong = []  # samples that were
        self.misses = 0
        self.actors = [kind(site) for kind in actors.ALL]
        # Bodies are the same as long as the server lives.
        self.bodies = {spec: server.get(server.path_of(spec))
                       for spec in server.specs}
        self.most_mib = 0.0

    def actor(self, kind):
        return next(a for a in self.actors if isinstance(a, kind))

    def sample(self):
        """Single requests, all bytes compared; and one that must fail."""
        for spec, body in self.bodies.items():
            self.samples += 1
            got = self.server.get(self.server.path_of(spec))
            if got != body:
                self.wrong.append(f'{spec}: {got}')
        got = self.server.get(self.server.path_of(MISSING))
        self.misses += 1
        if got[0] != 404 or 'sealed' not in got[1]:
            self.wrong.append(f'{MISSING}: {got}')
        if self.server.get('/healthz') != (200, 'ok\n'):
            self.wrong.append('/healthz')

    def round(self, number, **how):
        """Pairs of a kernel and a number of connections take turns."""
        specs = self.server.specs
        spec = specs[number % len(specs)]
        level = LEVELS[(number + number // len(specs)) % len(LEVELS)]
        return ab.run(self.server.url(spec), level, self.site.work, **how)

    def settle(self):
        """Every pair once: memory for it is taken then."""
        for number in range(len(LEVELS) * len(self.server.specs)):
            self.round(number, requests=12)
        self.begin = min((self.server.size(0.02) for _ in range(50)),
                         key=lambda size: size[2])
        self.counters = self.server.counters()

    def load(self):
        start = time.monotonic()
        length = max(1, min(ROUND_S, self.site.seconds // len(LEVELS) // 3))
        number = 0
        while ((spent := time.monotonic() - start) < self.site.seconds or
               (spent < 60 and not any(r.complete for r in self.rounds))):
            self.rounds.append(self.round(number, seconds=length))
            self.sample()
            self.most_mib = max(self.most_mib,
                                procs.size_of(self.server.process.pid)[0])
            number += 1
            self.progress(spent + length)
            for actor in self.actors:
                if actor.faults:
                    return

    def progress(self, spent):
        if not sys.stderr.isatty():
            return
        kernels = self.actor(actors.Prewarmer).counts['kernels']
        kills = self.actor(actors.Killer).counts
        stops = self.actor(actors.Stopper).counts['stops']
        sys.stderr.write(
            f'\r[{spent:.0f}/{self.site.seconds} s] '
            f'{sum(r.complete for r in self.rounds)} requests, '
            f'{sum(r.failed + r.refused for r in self.rounds)} failed, '
            f'p99 {self.rounds[-1].p99:.1f} ms; {kernels} kernels, '
            f'{kills["killed"] + kills["workers_killed"]} kills, '
            f'{stops} stops\033[K')
        sys.stderr.flush()

    def run(self):
        self.settle()
        for actor in self.actors:
            actor.start()
        try:
            self.load()
        finally:
            self.site.over.set()
            for actor in self.actors:
                actor.join()
            if sys.stderr.isatty():
                sys.stderr.write('\n')
        self.end = self.server.size(10, self.begin[2])
        self.after = self.server.counters()


class Verdict:
    """What must be, one line each."""

    def __init__(self):
        self.bad = 0
        self.count = 0

    def must(self, good, name, seen=''):
        self.count += 1
        self.bad += not good
        print(f'{"ok" if good else "FAIL"} {name}{": " if seen else ""}{seen}',
              file=sys.stderr)


def judge_answers(soak, verdict):
    failed = sum(r.failed for r in soak.rounds)
    refused = sum(r.refused for r in soak.rounds)
    complete = sum(r.complete for r in soak.rounds)
    since = {name: soak.after[name] - soak.counters[name]
             for name in soak.after}
    verdict.must(complete > 0 and failed == 0, 'no request of ab failed',
                 f'{failed} of {complete}')
    verdict.must(refused == 0, 'each answer to ab was 200',
                 f'{refused} were not')
    verdict.must(soak.samples > 0 and not soak.wrong,
                 'each sampled body had every byte',
                 '; '.join(soak.wrong[:3]) or f'{soak.samples} of them')
    verdict.must(since['errors'] == 0, 'the server had no error',
                 str(since['errors']))
    verdict.must(since['ok'] >= complete + soak.samples,
                 'the server counts what ab counts',
                 f'{since["ok"]} for {complete} and {soak.samples}')
    verdict.must(since['refused'] == soak.misses and
                 since['sealed_misses'] == soak.misses,
                 'a kernel it has not is refused each time, and counted',
                 f'{since["refused"]} for {soak.misses}')
    verdict.must(soak.after['compiles'] == 0,
                 'the server has compiled nothing',
                 str(soak.after['compiles']))


def skip_growth(whose, seen):
    print(f'SKIP: growth of {whose}: a sanitizer keeps what is freed: {seen}',
          file=sys.stderr)


def judge_server(soak, verdict, sanitized):
    growth = soak.end[0] - soak.begin[0]
    seen = (f'{soak.begin[0]:.1f} MiB at the begin, {soak.end[0]:.1f} at the '
            f'end, {soak.most_mib:.1f} at most')
    if sanitized:
        skip_growth('the server', seen)
    else:
        verdict.must(growth <= GROWTH_MIB,
                     f'the server grew by {GROWTH_MIB} MiB at most', seen)
    verdict.must(soak.end[1] == soak.begin[1], 'its threads are as many',
                 f'{soak.begin[1]} and {soak.end[1]}')
    verdict.must(soak.end[2] == soak.begin[2], 'its open files are as many',
                 f'{soak.begin[2]} and {soak.end[2]}')
    code = soak.server.end()
    verdict.must(code == 0, 'it ends when it is told to',
                 str(code) if code == 0 else f'{code}: {soak.server.said()}')


def judge_actors(soak, verdict, sanitized):
    for actor in soak.actors:
        seen = ', '.join(f'{count} {name}'
                         for name, count in sorted(actor.counts.items()))
        # In a short run one may have had no time for anything.
        worked = seen or soak.site.seconds < 60
        verdict.must(worked and not actor.faults,
                     f'{actor.name} worked, and saw nothing wrong',
                     '; '.join(actor.faults) or seen)
    cycles = getattr(soak.actor(actors.Cycler), 'figures', None)
    if cycles is None:
        return cycles
    seen = (f'{cycles["begin_mib"]} to {cycles["end_mib"]} MiB over '
            f'{cycles["cycles"]} of them')
    if sanitized:
        skip_growth('compiles and evictions', seen)
    else:
        verdict.must(
            cycles['growth_mib'] <= GROWTH_MIB,
            f'compiles and evictions grow by {GROWTH_MIB} MiB at most', seen)
    return cycles


def judge_store(soak, verdict):
    site = soak.site
    keeper = soak.actor(actors.Keeper)
    left = procs.none_left(site.environment['GROAT_SOAK'].encode(), 60)
    verdict.must(not left, 'no process is left', str(left[:3]) if left else '')
    verdict.must(0 < keeper.most_bytes <= BOUND + SLACK,
                 'the store was within its bound and slack',
                 f'{keeper.most_bytes / 2**20:.1f} MiB at most; {BOUND >> 20} '
                 f'and {SLACK >> 20} are allowed')
    code, answer, talk = site.answer('cache', 'gc')
    verdict.must(code == 0, 'gc at the end', talk[-300:])
    size = os.stat(f'{site.store}/groat.sqlite').st_size
    verdict.must(size <= BOUND, 'the file is within its bound then',
                 f'{size / 2**20:.2f} of {BOUND >> 20} MiB')
    code, answer, talk = site.answer('cache', 'verify')
    good = code == 0 and answer['dropped'] == 0 and answer['checked'] > 0
    verdict.must(good, 'verify finds no bad entry',
                 f'{answer["checked"]} checked' if good else talk[-300:])
    files = sorted(os.listdir(site.store))
    verdict.must(keeper.most_files <= 4 and len(files) <= 4,
                 '4 files at most in the store',
                 f'{keeper.most_files} at most, {len(files)} at the end')
    return {'most_bytes': keeper.most_bytes, 'end_bytes': size,
            'bound_bytes': BOUND, 'checked': answer and answer.get('checked'),
            'most_files': keeper.most_files, 'files': files}


def say_latencies(levels):
    for of in levels:
        print(f'     {of["concurrency"]} connections: {of["requests"]} '
              f'requests, {of["per_second"]} a second; p50 {of["p50_ms"]} ms, '
              f'p90 {of["p90_ms"]} ms, p99 {of["p99_ms"]} ms (worst round '
              f'{of["p99_worst_ms"]} ms), longest {of["longest_ms"]:.0f} ms',
              file=sys.stderr)


def report(soak, store, cycles, levels, verdict, seconds):
    answer = {
        'format': 1,
        'target': actors.TARGET,
        'seconds': round(seconds, 1),
        'good': verdict.bad == 0,
        'checks': verdict.count,
        'failed_checks': verdict.bad,
        'requests': sum(r.complete for r in soak.rounds),
        'failed_requests': sum(r.failed for r in soak.rounds),
        'non_2xx': sum(r.refused for r in soak.rounds),
        'sampled': soak.samples,
        'levels': levels,
        'server': {'compiles': soak.after['compiles'],
                   'sealed_misses': soak.after['sealed_misses'],
                   'begin_mib': round(soak.begin[0], 2),
                   'end_mib': round(soak.end[0], 2),
                   'most_mib': round(soak.most_mib, 2),
                   'threads': soak.end[1], 'open_files': soak.end[2]},
        'actors': {a.name: dict(a.counts) for a in soak.actors},
        'cycles': cycles,
        'store': store}
    print(json.dumps(answer, indent=2))


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.split('.')[0])
    parser.add_argument('--seconds', type=int, default=1800)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--sanitized', action='store_true',
                        help='a sanitizer is in: growth is not judged')
    for name in ('groat', 'server', 'cycles', 'families', 'work'):
        parser.add_argument(f'--{name}', required=True)
    return parser.parse_args()


def main():
    options = read_options()
    store = f'{options.work}/store'
    environment = dict(os.environ, GROAT_CACHE_DIR=store,
                       GROAT_CACHE_MAX_BYTES=str(BOUND),
                       GROAT_SOAK=f'soak-{os.getpid()}-{time.time_ns()}')
    site = actors.Site(options, store, options.work, environment)
    verdict = Verdict()
    start = time.monotonic()
    server = Server(site, options.server)
    try:
        soak = Soak(site, server)
        soak.run()
        levels = ab.summary(soak.rounds)
        say_latencies(levels)
        judge_answers(soak, verdict)
        judge_server(soak, verdict, options.sanitized)
        cycles = judge_actors(soak, verdict, options.sanitized)
        report(soak, judge_store(soak, verdict), cycles, levels, verdict,
               time.monotonic() - start)
    finally:
        if server.process.poll() is None:
            server.end()
    return 0 if verdict.bad == 0 else 1


if __name__ == '__main__':
    try:
        sys.exit(main())
    except Broken as why:
        print(f'FAIL {why}', file=sys.stderr)
        sys.exit(1)
