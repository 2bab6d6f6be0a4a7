# SPDX-License-Identifier: Apache-2.0
"""ab.py: rounds of load by ab, ApacheBench, and what they come to."""
import collections
import csv
import re
import subprocess

from procs import Broken

Round = collections.namedtuple(
    'Round', 'url concurrency seconds complete failed refused p50 p90 p99 most')

MANY = 500000  # requests of a round at most: ab keeps a record of each


def number(text, name, otherwise=None):
    found = re.search(rf'^{re.escape(name)}:?\s+([0-9.]+)', text, re.M)
    if found is None and otherwise is None:
        raise Broken(f'ab says nothing of "{name}": {text[-300:]}')
    return float(found[1]) if found else otherwise


def percentiles(path, count, most):
    """Times by percent, in ms; to the microsecond, unlike ab's own table.  It
    rounds the place of a percentile, and of few takes one behind the last."""
    with open(path, encoding='ascii') as file:
        rows = list(csv.reader(file))[1:]
    at = {int(percent): float(ms) for percent, ms in rows}
    return at if count > 50 else {n: at[n] or most for n in at}


def run(url, concurrency, work, seconds=60, requests=MANY):
    """One round: as many connections as `concurrency`, kept alive."""
    table = f'{work}/ab.csv'
    words = ['ab', '-k', '-q', '-c', str(concurrency), '-t', str(seconds),
             '-n', str(requests), '-e', table, url]
    done = subprocess.run(words, capture_output=True, text=True,
                          timeout=seconds + 120, check=False)
    if done.returncode != 0:
        raise Broken(f'ab -c {concurrency} {url}: exit {done.returncode}: '
                     f'{done.stderr.strip()[-300:]}')
    complete = int(number(done.stdout, 'Complete requests'))
    if complete == 0:  # in so short a time, on so busy a machine
        return Round(url, concurrency, seconds, 0, 0, 0, 0, 0, 0, 0)
    most = number(done.stdout, ' 100%')
    at = percentiles(table, complete, most)
    return Round(url, concurrency, number(done.stdout, 'Time taken for tests'),
                 complete,
                 int(number(done.stdout, 'Failed requests')),
                 int(number(done.stdout, 'Non-2xx responses', 0)),
                 at[50], at[90], at[99], most)


def middle(values):
    return sorted(values)[len(values) // 2]


def summary(rounds):
    """Of each concurrency: medians over its rounds, and the longest of all."""
    levels = []
    for level in sorted({r.concurrency for r in rounds}):
        of = [r for r in rounds if r.concurrency == level and r.complete]
        if not of:
            continue
        levels.append({
            'concurrency': level,
            'rounds': len(of),
            'requests': sum(r.complete for r in of),
            'per_second': round(sum(r.complete for r in of) /
                                sum(r.seconds for r in of), 1),
            'p50_ms': round(middle([r.p50 for r in of]), 3),
            'p90_ms': round(middle([r.p90 for r in of]), 3),
            'p99_ms': round(middle([r.p99 for r in of]), 3),
            'p99_worst_ms': round(max(r.p99 for r in of), 3),
            'longest_ms': max(r.most for r in of)})
    return levels
