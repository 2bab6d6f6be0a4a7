# SPDX-License-Identifier: Apache-2.0
"""From the disassembler's text to functions of a wave, once per code object.
Each file of instructions adds its makers to TABLE (by mnemonic) or PATTERNS;
what none of them knows is an error that names the mnemonic."""
import re

from . import operands
from .faults import Unknown
from .operands import SCALAR, VCC

TABLE = {}
PATTERNS = []


def define(*names):
    """Decorator: maker(decoded) for these mnemonics."""
    def put(maker):
        for name in names:
            if name in TABLE:
                raise AssertionError(f'{name} is defined twice')
            TABLE[name] = maker
        return maker
    return put


def pattern(expression):
    """Decorator: maker(decoded, match) for mnemonics that match wholly."""
    def put(maker):
        PATTERNS.append((re.compile(expression), maker))
        return maker
    return put


class Decoded:
    """One instruction ready to run.
    registers: all it names.  merged: those of them that an outstanding
    operation of its own kind may still write, because both keep order.
    kind: 'scalar', 'lds', 'vm' for memory operations, '' else."""
    __slots__ = ('source', 'op', 'args', 'mods', 'registers', 'merged', 'kind',
                 'run', 'arch', 'program')

    def __init__(self, source, arch, program):
        self.source = source
        self.op = source.op
        self.arch = arch
        self.program = program
        self.args, self.mods = operands.parse(source.text)
        self.registers = operands.registers(self.args)
        self.merged = frozenset()
        self.kind = ''
        self.run = None

    def bad(self, why):
        return Unknown(f'{self.source}: {why}')


def _implicit(decoded):
    if decoded.op.startswith(('v_cndmask_b32', 's_cbranch_vcc',
                              'v_div_fmas')):
        decoded.registers |= {SCALAR + VCC, SCALAR + VCC + 1}


class Program:
    """The decoded instructions; pc is an index into them."""

    def __init__(self, object_, code):
        self.arch = object_.arch
        self.index = {i.address: at for at, i in enumerate(code)}
        self.entry = self.index[object_.entry]
        self.unknown = set()
        cache = getattr(object_, 'decoded', None)
        if cache is None:
            cache = object_.decoded = {}
        self.instructions = []
        for i in code:
            found = cache.get(i)
            if found is None:
                found = cache[i] = self._decode(i)
            self.instructions.append(found)

    def _decode(self, source):
        decoded = Decoded(source, self.arch, self)
        _implicit(decoded)
        try:
            decoded.run = self._maker(decoded)
        except Unknown as why:
            said = str(why)
            if source.op not in said:
                said = f'{source}: {said}'
            raise Unknown(said) from None
        return decoded

    def _maker(self, decoded):
        maker = TABLE.get(decoded.op)
        if maker:
            return maker(decoded)
        for expression, maker in PATTERNS:
            match = expression.fullmatch(decoded.op)
            if match:
                return maker(decoded, match)
        raise decoded.bad(f'{decoded.op} is not modelled')


# Each fills the tables; the order of patterns is theirs.
from . import scalar, vector, packed, access, shared, matrix  # noqa: E402,F401
