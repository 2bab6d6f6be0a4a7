#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the circles of the sources: sets of files of one folder, and sets of
folders, that need each other by what they include and what they call.

Calls are found in the objects of a build, by nm: the file that defines a symbol
is needed by those that have it undefined.  Exit: 0 without circles, 1 with, 2
where there is no build.
"""
import argparse
import collections
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROOMS = ('src/', 'cache/', 'kernels-src/')


def is_made(path):
    """Whether a build has made the file, which lies here after one in place."""
    with open(path, encoding='utf-8') as file:
        return file.readline().startswith('/* Made by')


def sources():
    found = []
    for room in ROOMS:
        for folder, _, names in os.walk(os.path.join(TOP, room)):
            found += [os.path.relpath(os.path.join(folder, name), TOP)
                      for name in names if name.endswith(('.c', '.h'))
                      and not is_made(os.path.join(folder, name))]
    return sorted(found)


def includes(files):
    """(from, to, why)"""
    known = set(files)
    for name in files:
        with open(os.path.join(TOP, name), encoding='utf-8') as file:
            text = file.read()
        for wanted in re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', text,
                                 re.M):
            places = (os.path.normpath(os.path.join(os.path.dirname(name),
                                                    wanted)),
                      'src/' + wanted, wanted)
            for place in places:
                if place in known:
                    yield name, place, f'includes {wanted}'
                    break


def symbols(build, files):
    """(defined, needed): symbol -> files"""
    defined, needed = {}, collections.defaultdict(set)
    objects, missing = {}, []
    for name in files:
        if not name.endswith('.c'):
            continue
        folder, base = os.path.split(os.path.splitext(name)[0])
        places = [os.path.join(build, folder, p + base + '.o')
                  for p in ('.libs/', '', 'groat-', '.libs/libgroat_spec_la-',
                            '.libs/libgroat_internal_la-')]
        place = next((p for p in places if os.path.exists(p)), None)
        if place is None:
            missing.append(name)
        else:
            objects[place] = name
    out = subprocess.run(['nm', '-A', '-P', *objects], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    for line in out.splitlines():
        place, symbol = line.split(': ')
        symbol, kind = symbol.split()[:2]
        if kind == 'U':
            needed[symbol].add(objects[place])
        elif kind in 'TDBRV':
            defined[symbol] = objects[place]
    return defined, needed, missing


def circles(edges):
    """Sets of more than one that reach each other (Tarjan's)."""
    index, low, stack, on, found = {}, {}, [], set(), []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        on.add(node)
        for other in sorted(edges.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in on:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = set()
            while node not in group:
                group.add(stack.pop())
            on.difference_update(group)
            if len(group) > 1:
                found.append(group)

    sys.setrecursionlimit(10000)
    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found


def tell(what, group, edges, why):
    print(f'{what}: {len(group)} need each other')
    for one in sorted(group):
        for other in sorted(edges.get(one, set()) & group):
            reasons = sorted(why[one, other])
            more = f' and {len(reasons) - 3} more' if len(reasons) > 3 else ''
            print(f'    {one} -> {other}: {", ".join(reasons[:3])}{more}')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('build', nargs='?', default=os.path.join(TOP, 'build'))
    parser.add_argument('--count', action='store_true', help='sums only')
    given = parser.parse_args()
    files = sources()
    defined, needed, missing = symbols(given.build, files)
    if missing:
        print(f'{given.build} has no object of {", ".join(missing)}',
              file=sys.stderr)
        return 2
    edges, why = collections.defaultdict(set), collections.defaultdict(set)
    calls = ((one, defined[s], s) for s, units in needed.items()
             if s in defined for one in units)
    for one, other, reason in list(includes(files)) + list(calls):
        if one != other:
            edges[one].add(other)
            why[one, other].add(reason)
    bad = 0
    within = collections.defaultdict(lambda: collections.defaultdict(set))
    rooms, room_why = collections.defaultdict(set), collections.defaultdict(set)
    for one, others in edges.items():
        for other in others:
            a, b = os.path.dirname(one), os.path.dirname(other)
            if a == b:
                within[a][one].add(other)
            else:
                rooms[a].add(b)
                room_why[a, b].add(f'{os.path.basename(one)} -> '
                                   f'{os.path.basename(other)}')
    for folder in sorted(within):
        for group in circles(within[folder]):
            bad += 1
            if given.count:
                print(f'{folder}: {len(group)} files')
            else:
                tell(folder, group, within[folder], why)
    for group in circles(rooms):
        bad += 1
        if given.count:
            print(f'folders: {", ".join(sorted(group))}')
        else:
            tell('folders', group, rooms, room_why)
    print(f'{bad} circles')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
