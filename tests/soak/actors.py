# SPDX-License-Identifier: Apache-2.0
"""actors.py: the processes that work on the server's store meanwhile, each in
a thread that starts them, ends them and notes what must not be."""
import collections
import itertools
import json
import os
import random
import signal
import subprocess
import threading
import time

import procs
from procs import Broken

TARGET = 'cpu:sm_90a'
PATIENCE = 300  # seconds for what takes some, on a busy machine


class Site:
    """What the actors share: the tool, the store and the next new kernel."""

    def __init__(self, options, store, work, environment):
        self.groat = options.groat
        self.cycles = options.cycles
        self.families = options.families
        self.seconds = options.seconds
        self.seed = options.seed
        self.store = store
        self.work = work
        self.environment = environment
        self.over = threading.Event()
        self.stops = 0         # of a process, begun
        self.stopped = False   # one is, now
        self.numbers = itertools.count()

    def spec(self):
        """One that nobody has asked for; of 60000 before they repeat."""
        n = next(self.numbers)
        return (f'tile_loader_lds:ld={1024 + 16 * (n % 4000)},'
                f'tile_rows={16 * (1 + n // 4000 % 16)}')

    def start(self, words, **how):
        return subprocess.Popen([self.groat, *words], env=self.environment,
                                stdin=subprocess.DEVNULL, **how)

    def answer(self, *words):
        """(exit code, JSON answer or None, talk) of a command."""
        done = subprocess.run([self.groat, *words, '--json'],
                              env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        try:
            return done.returncode, json.loads(done.stdout), done.stderr
        except ValueError:
            return done.returncode, None, done.stderr


class Actor(threading.Thread):
    def __init__(self, site):
        super().__init__(name=type(self).__name__.lower())
        self.site = site
        self.random = random.Random(f'{site.seed} {self.name}')
        self.counts = collections.Counter()
        self.faults = []
        self.last = time.monotonic()

    def run(self):
        try:
            while not self.site.over.is_set():
                self.turn()
                self.last = time.monotonic()
        except (Broken, OSError, subprocess.SubprocessError) as why:
            self.faults.append(f'{self.name}: {why}')

    def nap(self, least, most):
        return self.site.over.wait(self.random.uniform(least, most))

    def manifest(self, count, name='manifest'):
        path = f'{self.site.work}/{self.name}-{name}.jsonl'
        with open(path, 'w', encoding='ascii') as file:
            for _ in range(count):
                file.write(json.dumps({'spec': self.site.spec(),
                                       'target': TARGET}) + '\n')
        return path

    def prewarm(self, manifest, jobs):
        with open(f'{manifest}.talk', 'w', encoding='ascii') as talk:
            return self.site.start(['prewarm', manifest, '-j', str(jobs)],
                                   stdout=subprocess.DEVNULL, stderr=talk)

    def must_end_well(self, process, what, manifest):
        try:
            code = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise Broken(f'{what} took over {PATIENCE} s') from None
        if code != 0:
            with open(f'{manifest}.talk', encoding='utf-8',
                      errors='replace') as talk:
                raise Broken(f'{what} ended with {code}: {talk.read()[-300:]}')


class Prewarmer(Actor):
    """New kernels all the time: the bound of the store is passed."""

    def turn(self):
        path = self.manifest(4)
        self.must_end_well(self.prewarm(path, 1), 'a prewarm', path)
        self.counts['kernels'] += 4


class Killer(Actor):
    """A prewarm that is killed wherever it is, or one of its processes is."""

    path = None

    def turn(self):
        # The same again: what the killed one has claimed is taken over.
        if self.path is None or self.random.random() < 0.5:
            self.path = self.manifest(6)
        process = self.prewarm(self.path, 2)
        self.nap(0.01, 0.4)
        workers = procs.children(process.pid)
        if process.poll() is not None:
            self.counts['came_late'] += 1
        elif workers and self.random.random() < 0.3:
            self.kill_worker(process, self.random.choice(workers))
        else:
            process.kill()
            self.counts['killed'] += 1
        process.wait()

    def kill_worker(self, process, worker):
        try:
            os.killpg(worker, signal.SIGKILL)
        except ProcessLookupError:
            return  # it has ended; no harm done
        self.counts['workers_killed'] += 1
        self.must_end_well(process, 'a prewarm with a killed worker',
                           self.path)


class Stopper(Actor):
    """Of two prewarms of one manifest one is stopped in the middle of a
    compile, or of a transaction; the other goes on all the same."""

    def turn(self):
        # Both have the same lines, and each writes its talk.
        paths = [self.manifest(2), f'{self.site.work}/stopper-other.jsonl']
        with open(paths[0], 'rb') as one, open(paths[1], 'wb') as other:
            other.write(one.read())
        held = self.prewarm(paths[0], 1)
        self.nap(0.03, 0.4)
        group = self.stop(held)
        try:
            other = self.prewarm(paths[1], 1)
            self.nap(0.3, min(5.0, self.site.seconds / 4))
            if group is None or self.random.random() < 0.5:
                self.must_end_well(other, 'a prewarm beside a stopped one',
                                   paths[1])
        finally:
            self.resume(group)
        self.must_end_well(other, 'a prewarm beside one that was stopped',
                           paths[1])
        self.must_end_well(held, 'a prewarm that was stopped', paths[0])
        self.nap(0.1, 2.0)

    def stop(self, prewarm):
        """The group that was stopped; None where it came late."""
        workers = procs.children(prewarm.pid)
        if not workers:
            return None
        try:
            os.killpg(workers[0], signal.SIGSTOP)
        except ProcessLookupError:
            return None
        self.site.stops += 1
        self.site.stopped = True
        self.counts['stops'] += 1
        return workers[0]

    def resume(self, group):
        if group is None:
            return
        try:
            os.killpg(group, signal.SIGCONT)
        except ProcessLookupError:
            pass  # somebody else has killed it
        self.site.stopped = False


class Cycler(Actor):
    """One process that compiles and evicts until the end; its growth."""

    def turn(self):
        site = self.site
        with subprocess.Popen(
                [site.cycles, '-n', '1000000000', '-d', site.store, '-b',
                 site.environment['GROAT_CACHE_MAX_BYTES'], '-w', '20'],
                env=site.environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True) as process:
            while not site.over.wait(0.1):
                if process.poll() is not None:
                    raise Broken(f'cycles ended with {process.returncode}: '
                                 f'{process.stderr.read()[-300:]}')
            process.terminate()
            out, talk = process.communicate(timeout=PATIENCE)
        if process.returncode != 0:
            raise Broken(f'cycles ended with {process.returncode}: '
                         f'{talk[-300:]}')
        self.figures = json.loads(out)
        self.counts['cycles'] = self.figures['cycles']


class Keeper(Actor):
    """Verify, gc and a look at the files, now and then."""

    most_bytes = 0
    most_files = 0

    def turn(self):
        self.look()
        for command in ('verify', 'gc', 'stat'):
            self.ask(command)
        self.nap(0.3, min(10.0, self.site.seconds / 4))

    def look(self):
        sizes = {}
        for name in os.listdir(self.site.store):
            try:
                sizes[name] = os.stat(f'{self.site.store}/{name}').st_size
            except FileNotFoundError:
                continue
        self.most_bytes = max(self.most_bytes, sum(sizes.values()))
        self.most_files = max(self.most_files, len(sizes))
        if not set(sizes) <= {'groat.sqlite', 'groat.sqlite-wal',
                              'groat.sqlite-shm', 'groat.lock'}:
            raise Broken(f'files in the store: {sorted(sizes)}')

    def ask(self, command):
        stops, stopped = self.site.stops, self.site.stopped
        code, answer, talk = self.site.answer('cache', command)
        stopped = stopped or self.site.stopped or stops != self.site.stops
        if command == 'verify' and answer and answer.get('dropped'):
            raise Broken(f'verify dropped {answer["dropped"]} entries')
        if code == 0:
            self.counts[command] += 1
        elif stopped and 'locked' in talk:
            # Who is stopped in a transaction holds the lock of the file.
            self.counts[f'{command}_locked_by_a_stopped'] += 1
        elif 'locked' in talk and self.counts['locked'] < 1 + sum(
                self.counts.values()) // 100:
            # Or who does not come to run: a matter of seconds, and rare.
            self.counts['locked'] += 1
        else:
            raise Broken(f'cache {command}: exit {code}: {talk[-300:]}')


ALL = (Prewarmer, Killer, Stopper, Cycler, Keeper)
