# SPDX-License-Identifier: Apache-2.0
"""Faults put into the instruction list of a code object: each wait removed and
loosened by one, each barrier removed.  Every one must be caught by the machine
(wrong bytes, an early read, a race), but those that a family lists as
equivalent with a reason, barriers behind which no memory is read and none is
shared, and waits of the compiler at which no run has anything to wait for, or
only registers: a use of those that came too early would be noticed, so removing
such a wait changes nothing.  Waits for LDS and scalar loads are all taken to be
the compiler's, those for vector memory only where the family says that it may
add some."""
import re

from codeobject import successors
from drive import Wrong, run_case
from machine import Fault


class Mutant:
    """name, code, and the (place, counter) whose idleness excuses it."""

    def __init__(self, name, code, at, counter=None):
        self.name = name
        self.code = code
        self.at = at
        self.wait = (at, counter)


def _with(code, at, name, text):
    changed = list(code)
    changed[at] = code[at].replaced(name, text)
    return changed


def _waits(code, counter, most):
    number = 0
    for at, i in enumerate(code):
        found = re.search(rf'{counter}\((\d+)\)', i.text)
        if i.op != 's_waitcnt' or not found:
            continue
        left = i.text.replace(found[0], '').strip()
        name = f'{counter} wait {number} for {found[1]}'
        number += 1
        yield Mutant(f'{name} removed', _with(
            code, at, 's_waitcnt' if left else 's_nop', left or '0'), at,
            counter)
        count = int(found[1]) + 1
        if count <= most:
            yield Mutant(f'{name} loosened', _with(
                code, at, 's_waitcnt',
                i.text.replace(found[0], f'{counter}({count})')), at,
                counter)


def mutants(code):
    yield from _waits(code, 'vmcnt', 63)
    yield from _waits(code, 'lgkmcnt', 15)
    number = 0
    for at, i in enumerate(code):
        if i.op == 's_barrier':
            yield Mutant(f'barrier {number} removed',
                         _with(code, at, 's_nop', '0'), at)
            number += 1


def caught_by(built, mutant, cases, seeds):
    """What the first run that notices the mutant says, or None."""
    for case in cases:
        for mode, some in seeds.items():
            for seed in some:
                try:
                    run_case(built, case, mode, seed, mutant.code,
                             check_counts=False)
                except (Fault, Wrong) as why:
                    return f'{mode} {type(why).__name__}: {why}'
    return None


def _idle(built, cases, seeds):
    """Function of a mutant: does nobody wait there for anything but registers,
    and may that be so?  A register used too early is always noticed, so what
    was not is covered by another wait."""
    busy = set()
    for case in cases:
        for mode, some in seeds.items():
            for seed in some:
                busy |= run_case(built, case, mode, seed).waited
    expect = built.family.expect(built.constants, built.arch)
    excused = {'lgkmcnt'} | ({'vmcnt'} if expect.ordinary else set())
    return lambda m: m.wait[1] in excused and m.wait not in busy


def orders_nothing(code, at):
    """Is a barrier the last thing that a wave does but for storing what is in
    its registers?  Over every path no shared memory is touched behind it, no
    memory read, and there is no other barrier."""
    follow = successors(code)
    work, seen = list(follow[at]), set()
    while work:
        n = work.pop()
        if n in seen:
            continue
        seen.add(n)
        if code[n].op == 's_barrier' or code[n].op.startswith('ds_') or (
                'load' in code[n].op and not code[n].op.startswith('s_')):
            return False
        work += follow[n]
    return True


def _reason(mutant, equivalents, used):
    """Why the mutant changes nothing, or None; notes the entry in `used`."""
    for name, reason in equivalents.items():
        if re.fullmatch(name, mutant.name):
            used.add(name)
            return reason
    return None


def judge(built, seeds):
    """(lines to show, lines of what went wrong) for all mutants."""
    family, code = built.family, built.object.code
    cases = family.mutant_cases(built.constants, built.arch)
    equivalents = family.equivalents(built.constants, built.arch)
    idle = _idle(built, cases, seeds)
    shown, bad, used = [], [], set()
    for mutant in mutants(code):
        caught = caught_by(built, mutant, cases, seeds)
        reason = _reason(mutant, equivalents, used)
        if caught and reason:
            bad.append(f'{built.name}: "{mutant.name}" is listed as '
                       f'equivalent and was caught: {caught}')
        elif caught:
            shown.append(f'caught: {mutant.name}: {caught[:160]}')
        elif reason:
            shown.append(f'equivalent: {mutant.name}: {reason}')
        elif idle(mutant):
            shown.append(f'idle: {mutant.name}: in no run is anything '
                         'outstanding there that is not waited for again')
        elif mutant.wait[1] is None and orders_nothing(code, mutant.at):
            shown.append(f'idle: {mutant.name}: nothing behind it reads '
                         'memory or touches what is shared')
        else:
            bad.append(f'{built.name}: "{mutant.name}" was not caught '
                       f'({code[mutant.at]})')
    for name in equivalents.keys() - used:
        bad.append(f'{built.name}: there is no mutant "{name}" to be '
                   'equivalent')
    return shown, bad
