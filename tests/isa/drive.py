# SPDX-License-Identifier: Apache-2.0
"""Compiles specs and runs their launches on the machine."""
import random

import numpy as np

from codeobject import CodeObject
from machine import Fault, Machine, Memory
from objects import ARCHS, constants_of, make, source_of


class Wrong(Exception):
    """The outputs are not what they must be."""


class Built:
    """One spec compiled for one arch by one compiler."""

    def __init__(self, tools, compiler, family, spec, arch):
        self.family = family
        self.spec = spec.text(family.name)
        self.arch = arch
        source = source_of(tools, self.spec, arch)
        self.constants = constants_of(source)
        self.path = make(tools, compiler, self.spec, arch, source)
        self.object = CodeObject(self.path, tools,
                                 self.constants['entry_name'])
        # What depends on the compiler's order of instructions may ask for it.
        self.constants['llvm'] = self.object.llvm
        if self.object.arch != arch:
            raise Wrong(f'{self.path} is of {self.object.arch}, not {arch}')
        self.name = f'{compiler.name} {arch} {self.spec}'


def selection(compiler, family, wanted):
    """(spec, arch) pairs of a family that a compiler can make, of the specs
    that wanted(spec) takes."""
    return [(spec, arch) for spec in family.specs() if wanted(spec)
            for arch in spec.archs or ARCHS if arch in compiler.archs()]


def first_difference(got, want):
    at = next(i for i in range(len(want)) if got[i] != want[i])
    wrong = sum(a != b for a, b in zip(got, want))
    return (f'byte {at} is {got[at]:#04x}, expected {want[at]:#04x}; {wrong} '
            f'of {len(want)} bytes differ')


def _compare(name, got, want, allowed):
    """Raises Wrong unless every float is where it may be; a NaN never is."""
    bad = np.argwhere(~(np.abs(got - want) <= allowed))
    if len(bad):
        at = tuple(bad[0])
        raise Wrong(f'{name}: number {at} is {got[at]}, expected {want[at]} '
                    f'within {allowed[at]}; {len(bad)} are wrong')


def run_case(built, case, mode, seed, code=None, check_counts=True):
    """Runs one launch; raises Fault or Wrong.  Returns the machine."""
    rng = random.Random(f'{seed} {mode} {case.name}')
    memory = Memory()
    addresses = {name: memory.add(name, data) for name, data in case.buffers}
    machine = Machine(built.object, memory, code, early=mode == 'early',
                      allow_uninitialised=built.family.allow_uninitialised)
    machine.launch(case.grid, built.constants['block_threads'],
                   case.pack(*addresses.values()), rng)
    for name, want in case.expected.items():
        got = memory.bytes_of(addresses[name])
        if got != want:
            raise Wrong(f'{name}: {first_difference(got, want)}')
    for name, (want, allowed) in case.near.items():
        got = np.frombuffer(memory.bytes_of(addresses[name]), np.float32)
        _compare(name, got.reshape(want.shape).astype(np.float64), want,
                 allowed)
    if check_counts:
        for event, allowed in case.counts.items():
            seen = machine.counts.get(event, {0})
            if not seen <= allowed:
                raise Wrong(f'{event} per wave: {sorted(seen)}, allowed '
                            f'{sorted(allowed)}')
    return machine


def run_all(built, seeds):
    """All cases in all modes; lines of what went wrong."""
    bad, runs = [], 0
    for case in built.family.cases(built.constants, built.arch):
        for mode, some in seeds.items():
            for seed in some:
                runs += 1
                try:
                    run_case(built, case, mode, seed)
                except (Fault, Wrong) as why:
                    bad.append(f'{built.name}, {case.name}, {mode} seed '
                               f'{seed}: {type(why).__name__}: {why}')
    return runs, bad
