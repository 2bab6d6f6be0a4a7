#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fleet_simulation.py [HOSTS [KERNELS [SECONDS]]]: a cold start of a fleet.

HOSTS start within SECONDS; each wants the same KERNELS, one after the other, as
a server does that warms a list.  A discrete-event simulation of what
src/fleet does: GET, SET NX, GET after naps, GET again, compile, PUT.
Latencies are those measured on loopback plus a network's; --compile and --rtt
change them.  Prints JSON: requests and bytes per second over time on the object
store and on the lease server, with and without hosts that shuffle their list
and start apart.
"""
import argparse
import heapq
import json
import random

parser = argparse.ArgumentParser()
parser.add_argument("hosts", nargs="?", type=int, default=10000)
parser.add_argument("kernels", nargs="?", type=int, default=40)
parser.add_argument("seconds", nargs="?", type=float, default=10.0)
parser.add_argument("--compile", type=float, default=0.6, help="s, one kernel")
parser.add_argument("--rtt", type=float, default=0.004, help="s, object store")
parser.add_argument("--lease-rtt", type=float, default=0.0006, help="s")
parser.add_argument("--bytes", type=int, default=60000, help="of an object")
given = parser.parse_args()


def nap(i, waited):  # src/fleet/waits.c; the first kernel tells the time
    if i == 0:
        return min(max(waited / 5, 0.02), 0.25)
    return min(max(abs(given.compile - waited) / 2, given.compile / 20, 0.01),
               0.25)


def simulate(shuffle, jitter, leases):
    rng = random.Random(7)
    events, serial = [], 0
    there, holder = {}, {}
    objects, commands, received, compiles = {}, {}, {}, 0
    ends = []

    def at(when, step, *what):
        nonlocal serial
        serial += 1
        heapq.heappush(events, (when, serial, step, what))

    def count(table, when, n=1):
        table[int(when)] = table.get(int(when), 0) + n

    def start(when, host):
        order = list(range(given.kernels))
        if shuffle:
            rng.shuffle(order)
        get(when, host, order, 0)

    def get(when, host, order, i):
        """The first question; the answer comes a round trip later."""
        if i == len(order):
            ends.append(when)
            return
        count(objects, when)
        at(when + given.rtt * rng.uniform(0.7, 1.5), got, host, order, i)

    def got(when, host, order, i):
        if there.get(order[i], 1e9) <= when:
            count(received, when, given.bytes)
            get(when, host, order, i + 1)
        elif leases:
            count(commands, when)
            at(when + given.lease_rtt, take, host, order, i, when)
        else:
            at(when + given.compile * rng.uniform(0.8, 1.3), made, host, order,
               i)

    def take(when, host, order, i, since):
        key = order[i]
        if key not in holder and there.get(key, 1e9) > when:
            holder[key] = host
            count(objects, when)  # it looks once more
            at(when + given.rtt + given.compile * rng.uniform(0.8, 1.3), made,
               host, order, i)
        elif key not in holder:
            get(when, host, order, i)
        else:
            at(when + nap(i, when - since), look, host, order, i, since)

    def look(when, host, order, i, since):
        count(commands, when)
        if order[i] in holder:
            at(when + given.lease_rtt + nap(i, when - since), look, host, order,
               i, since)
        else:
            count(commands, when)  # takes the lease, looks, gives it back
            count(objects, when)
            count(received, when, given.bytes)
            count(commands, when)
            get(when + given.lease_rtt * 2 + given.rtt, host, order, i + 1)

    def made(when, host, order, i):
        nonlocal compiles
        compiles += 1
        count(objects, when, 4)  # two HEAD, two PUT
        there[order[i]] = min(there.get(order[i], 1e9), when + given.rtt * 2)
        at(when + given.rtt * 2, give, order[i])
        get(when, host, order, i + 1)

    def give(when, key):
        if holder.pop(key, None) is not None:
            count(commands, when)

    for host in range(given.hosts):
        at(rng.uniform(0, given.seconds) if jitter else 0.0, start, host)
    while events:
        when, _, step, what = heapq.heappop(events)
        step(when, *what)

    def over_time(table):
        return [table.get(t, 0) for t in range(int(max(ends)) + 1)]

    return {
        "compiles": compiles,
        "all_served_s": round(max(ends), 2),
        "objects_per_s": over_time(objects),
        "lease_commands_per_s": over_time(commands),
        "received_bytes_per_s": over_time(received),
        "objects_per_s_most": max(objects.values()),
        "lease_commands_per_s_most": max(commands.values(), default=0),
        "lease_commands": sum(commands.values()),
        "objects": sum(objects.values()),
        "received_bytes_per_s_most": max(received.values(), default=0),
        "received_bytes": sum(received.values()),
    }


print(json.dumps({
    "hosts": given.hosts, "kernels": given.kernels, "seconds": given.seconds,
    "compile_s": given.compile, "rtt_s": given.rtt, "object_bytes": given.bytes,
    "apart_shuffled": simulate(True, True, True),
    "apart_same_order": simulate(False, True, True),
    "at_once_same_order": simulate(False, False, True),
    "apart_without_leases": simulate(True, True, False),
}, indent=1))
