# SPDX-License-Identifier: Apache-2.0
"""Faults put into the instruction list of a code object: each wait removed and
loosened by one, each barrier removed.  Every one must be caught by the machine
(wrong bytes, an early read, a race), but those that a family lists as
equivalent with a reason, and those that are idle in every run:

* a barrier behind which no wave touches shared memory or loads anything;
* a wait of the compiler's at which nothing is outstanding, or only registers: a
  use of those that came too early would be noticed;
* a wait for LDS with another one or no barrier behind it, or a barrier such as
  above: the wave's own accesses keep their order.

Waits for LDS and scalar loads are all taken to be the compiler's, those for
vector memory only where the family says that it may add some.  What no run
comes to is not proved, and so not caught."""
import re

from drive import Wrong, run_case
from machine import Fault


class Mutant:
    """name, code, and what is changed: the place, and the counter of a wait,
    both as Seen has them."""

    def __init__(self, name, code, at, counter=None):
        self.name = name
        self.code = code
        self.at = at
        self.counter = counter
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
        last = at + 1 < len(code) and code[at + 1].op == 's_barrier'
        name = (f'{counter} wait {number} for {found[1]}'
                f'{" at a barrier" if last else ""}')
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


class Seen:
    """What all runs of the right code did at its waits and barriers."""

    def __init__(self, built, cases, seeds):
        self.executed, self.waited, self.ordered = set(), set(), set()
        expect = built.family.expect(built.constants, built.arch)
        self.compilers = {'lgkmcnt'} | ({'vmcnt'} if expect.ordinary
                                        else set())
        self.places = []    # of each case
        self.seeds = seeds
        for case in cases:
            places = set()
            for mode, some in seeds.items():
                for seed in some:
                    machine = run_case(built, case, mode, seed)
                    places |= machine.executed
                    self.waited |= machine.waited
                    self.ordered |= machine.ordered
            self.places.append((case, places))
            self.executed |= places

    def runs(self, mutant, equivalent):
        """(cases, seeds) that may notice the mutant: those that come to its
        place.  A register that is used too early is found in every mode, and
        of what changes nothing a run of each mode is enough."""
        cases = [case for case, places in self.places if mutant.at in places]
        seeds = self.seeds
        if equivalent:
            seeds = {mode: some[:1] for mode, some in seeds.items()}
        elif mutant.counter and mutant.wait not in self.waited:
            mode, some = next(iter(seeds.items()))
            seeds = {mode: some[:1]}
        return cases, seeds

    def idle(self, mutant):
        """Why it changes nothing, or None."""
        if mutant.at not in self.executed:
            return None
        if mutant.counter is None:
            return (None if mutant.wait in self.ordered else
                    'in no run is shared memory touched or anything loaded '
                    'behind it')
        if mutant.counter not in self.compilers:
            return None
        if mutant.wait not in self.waited:
            return ('in no run is anything outstanding there that is not '
                    'waited for again')
        if mutant.counter == 'lgkmcnt' and mutant.wait not in self.ordered:
            return ('in no run does the next barrier order anything, or is '
                    'this the last wait in front of it')
        return None


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
    seen = Seen(built, cases, seeds)
    shown, bad, used = [], [], set()
    for mutant in mutants(code):
        reason = _reason(mutant, equivalents, used)
        caught = caught_by(built, mutant, *seen.runs(mutant, reason))
        if caught and reason:
            bad.append(f'{built.name}: "{mutant.name}" is listed as '
                       f'equivalent and was caught: {caught}')
        elif caught:
            shown.append(f'caught: {mutant.name}: {caught[:160]}')
        elif reason:
            shown.append(f'equivalent: {mutant.name}: {reason}')
        elif seen.idle(mutant):
            shown.append(f'idle: {mutant.name}: {seen.idle(mutant)}')
        else:
            where = ('' if mutant.at in seen.executed else
                     ', where no run comes')
            bad.append(f'{built.name}: "{mutant.name}" was not caught '
                       f'({code[mutant.at]}{where})')
    for name in equivalents.keys() - used:
        bad.append(f'{built.name}: there is no mutant "{name}" to be '
                   'equivalent')
    return shown, bad
