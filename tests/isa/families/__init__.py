# SPDX-License-Identifier: Apache-2.0
"""The families that the tests know: every other file of this folder.  Such a
file defines FAMILY, an instance of a subclass of Family."""
import importlib
import os


class Case:
    """One launch: grid, buffers (name, bytes) in the order in which pack()
    takes their addresses, and what must be in the outputs afterwards.

    expected: {buffer name: bytes}.  near: {buffer name: (values, allowed)},
    float64 arrays of what its floats must be and how far from that each may
    lie.  counts: {event: set of numbers that one wave may do it}, events being
    dma, barrier, mfma, tr_read."""

    def __init__(self, name, grid, buffers, pack, expected, counts=None,
                 near=None):
        self.name = name
        self.grid = grid
        self.buffers = buffers
        self.pack = pack
        self.expected = expected
        self.near = near or {}
        self.counts = counts or {}


class Expect:
    """What the instructions of a code object must be.

    dma: number of copy instructions in the listing, or a set of allowed ones.
    dma_bytes: bytes per lane of each (4 or 16).
    waits: the vmcnt numbers of the s_waitcnt, a list or a list of allowed
        ones; None: not checked, loads of registers have the compiler's.
    added: numbers that the compiler's own waits may have besides, for loads
        of registers; each as often as it stands here.
    steady: None, or (dma, waits[, added]) of the loop that holds barriers.
    least: no wait of that loop leaves fewer operations in flight.
    barriers: number in the listing, or a set.
    mfma, tr_reads: numbers in the listing, or None for not checked.
    ops: {regular expression of whole mnemonics: number, or a set}.
    waves: occupancy wanted, waves per SIMD; default: one block fits."""

    def __init__(self, dma, dma_bytes, waits, barriers, steady=None, mfma=0,
                 tr_reads=0, ops=None, waves=None, added=(),
                 least=0):
        self.dma = dma
        self.dma_bytes = dma_bytes
        self.waits = waits
        self.barriers = barriers
        self.added = list(added)
        # Are there waits of the compiler's own?
        self.ordinary = waits is None or len(self.added) > 0
        self.steady = steady
        self.least = least
        self.mfma = mfma
        self.tr_reads = tr_reads
        self.ops = ops or {}
        self.waves = waves


class Spec:
    """Parameters to compile, and which tests take them.  quick: also compiled
    by hipRTC, and mutated.  listed: a row of the table in kernels-src.  archs:
    all three, or those named."""

    def __init__(self, parameters, quick=False, listed=False, archs=None):
        self.parameters = parameters
        self.quick = quick
        self.listed = listed
        self.archs = archs

    def text(self, family):
        return f'{family}:{self.parameters}' if self.parameters else family


class Family:
    name = ''
    # May shared memory be read that was never written?
    allow_uninitialised = False
    # Seeds of each mode ('late', 'early') for each case.
    seeds = {'late': (1,), 'early': (2,)}

    def specs(self):
        """A list of Spec."""
        raise NotImplementedError

    def expect(self, k, arch):
        """Expect for the constants `k` of a source; k['llvm'] is the major
        version of who compiled it."""
        raise NotImplementedError

    def cases(self, k, arch):
        """The launches, a list of Case."""
        raise NotImplementedError

    def mutant_cases(self, k, arch):
        """Those that mutants run, by default all."""
        return self.cases(k, arch)

    def equivalents(self, k, arch):
        """Mutants that change nothing: {name: reason}.  A name is that of
        mutants.py, such as "barrier 1 removed", or a regular expression of
        several: listings of several compilers differ in their order."""
        return {}


def load():
    """{name: family}, in the order of the names."""
    found = {}
    for file in sorted(os.listdir(os.path.dirname(__file__))):
        if file.endswith('.py') and file != '__init__.py':
            module = importlib.import_module(f'families.{file[:-3]}')
            found[module.FAMILY.name] = module.FAMILY
    return found
