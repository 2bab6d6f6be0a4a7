# SPDX-License-Identifier: Apache-2.0
"""run.py checks|execute|mutants|table [--family NAME] [--compiler NAME]
[--spec TEXT] [--verbose]

checks   what instructions and metadata of every code object must be
execute  every launch of every family, byte for byte
mutants  every wait and barrier taken away: each must be missed
table    the figures of the listed specs, as doc/code_objects.md has them

A quarter of the code objects, and mutants of one compiler's; all of them with
GROAT_TEST_ALL set.  Exit 0, 1, or 77 with a line "SKIP: reason"."""
import argparse
import multiprocessing
import os
import sys
import time

from objects import (Failed, Skip, Tools, compilers, family_names,
                     is_for_amd)

try:
    import drive
    import families
    import lint
    import mutants
    from codeobject import BadObject
    from machine import Unknown
except ModuleNotFoundError as why:
    print(f'SKIP: {why}')
    sys.exit(77)

MUTANT_SEEDS = {'late': (1, 3), 'early': (2,)}
# One in how many code objects is taken unless all are asked for; three archs
# take turns.
SHARES = {'checks': 4, 'execute': 4, 'mutants': 1}


def build(job):
    tools, compiler, family, spec, arch = job[1:6]
    return drive.Built(tools, compiler, families.load()[family], spec, arch)


def work(job):
    """One code object: (name, lines to show, lines of what is wrong)."""
    name = f'{job[2].name} {job[5]} {job[4].text(job[3])}'
    start = time.monotonic()
    try:
        built = build(job)
        if job[0] == 'checks':
            shown, bad = [], lint.lint(built)
        elif job[0] == 'execute':
            runs, bad = drive.run_all(built, built.family.seeds)
            shown = [f'{runs} runs']
        else:
            shown, bad = mutants.judge(built, MUTANT_SEEDS)
    except (Failed, BadObject, Unknown, drive.Wrong) as why:
        shown, bad = [], [f'{name}: {type(why).__name__}: {why}']
    shown.append(f'{time.monotonic() - start:.2f} s')
    return name, shown, bad


def wanted_of(command, compiler, text, family):
    if text:
        return lambda spec: spec.text(family) == text
    if command == 'mutants' or compiler.name != 'clang':
        return lambda spec: spec.quick
    return lambda spec: True


def judges_of(command, found):
    """Compilers whose code objects are taken: mutants are of the source, and
    one compiler's will do unless all are asked for."""
    if command != 'mutants' or os.environ.get('GROAT_TEST_ALL'):
        return found
    return found[:1]


def jobs_of(options, tools, found):
    jobs = []
    found = judges_of(options.command, found)
    for family in families.load().values():
        if options.family in (None, family.name):
            for compiler in found:
                wanted = wanted_of(options.command, compiler, options.spec,
                                   family.name)
                jobs += [(options.command, tools, compiler, family.name, spec,
                          arch) for spec, arch in
                         drive.selection(compiler, family, wanted)]
    if not options.spec and not os.environ.get('GROAT_TEST_ALL'):
        jobs = jobs[::SHARES[options.command]]
    if not jobs:
        raise Failed(f'nothing to do: no family {options.family} with spec '
                     f'{options.spec}')
    return jobs


def unproved(tools):
    """Families for AMD that have no file here."""
    known = families.load()
    return [name for name in family_names(tools) if name not in known and
            is_for_amd(tools, name)]


def run(options, tools, found):
    jobs = jobs_of(options, tools, found)
    count = int(os.environ.get('GROAT_ISA_JOBS') or
                min(4, os.cpu_count() or 1))
    failures = 0
    with multiprocessing.Pool(count) as pool:
        for name, shown, bad in pool.imap(work, jobs):
            failures += len(bad)
            print(f'{"ok" if not bad else "not ok"}: {name}: {shown[-1]}')
            for line in shown[:-1] if options.verbose else ():
                print(f'    {line}')
            for line in bad:
                print(f'FAIL: {line}')
    print(f'{len(jobs)} code objects, {failures} findings')
    return 1 if failures else 0


# ---- the table

COLUMNS = ('DMA', 'tr', 'MFMA', 'vmcnt', 'barriers', 'VGPR', 'AGPR', 'SGPR',
           'LDS', 'scratch', 'waves', 'code')


def table(options, tools, found):
    clang = next((c for c in found if c.name == 'clang'), None)
    if not clang:
        raise Skip('the table is made with clang, and there is none')
    print(f'{clang.identity}: instructions, registers per lane, bytes; waves '
          'per SIMD.')
    print()
    print('| spec | arch | ' + ' | '.join(COLUMNS) + ' |')
    print('|---|---|' + '--:|' * len(COLUMNS))
    for family in families.load().values():
        for spec, arch in drive.selection(clang, family,
                                          lambda spec: spec.listed):
            built = drive.Built(tools, clang, family, spec, arch)
            row = lint.summary(built.object)
            row['waves'] = lint.occupancy(built.object,
                                          built.constants['block_threads'])
            print(f'| `{built.spec}` | {arch} | ' + ' | '.join(
                str(row[c]) for c in COLUMNS) + ' |')
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('command', choices=('checks', 'execute', 'mutants',
                                            'table'))
    parser.add_argument('--family')
    parser.add_argument('--compiler', choices=('clang', 'hiprtc', 'hiprtc7'))
    parser.add_argument('--spec')
    parser.add_argument('--verbose', action='store_true')
    options = parser.parse_args()
    try:
        tools = Tools()
        names = ('clang', 'hiprtc', 'hiprtc7')
        found, missing = compilers(
            tools, (options.compiler,) if options.compiler else names)
        if not found:
            raise Skip('; '.join(missing))
        if options.command == 'table':
            return table(options, tools, found)
        if options.command == 'checks':
            for why in missing:
                print(f'skipped: {why}')
            for name in unproved(tools):
                print(f'skipped: {name}: no file in tests/isa/families')
        return run(options, tools, found)
    except Skip as why:
        print(f'SKIP: {why}')
        return 77
    except Failed as why:
        print(f'FAIL: {why}')
        return 1


if __name__ == '__main__':
    sys.exit(main())
