# SPDX-License-Identifier: Apache-2.0
"""An outstanding memory access of a wave."""


class Operation:
    """One outstanding memory access.  land() has the effect, settle() is what
    the program may rely on from then on; tokens: the queues it stands in."""
    __slots__ = ('kind', 'registers', 'land', 'settle', 'landed', 'tokens',
                 'number', 'reads', 'instruction', 'writes_lds')

    def __init__(self, kind, instruction, land, settle=None, registers=(),
                 tokens=1, reads=None, writes_lds=False):
        self.kind = kind
        self.instruction = instruction
        self.land = land
        self.settle = settle
        self.registers = registers
        self.landed = False
        self.tokens = tokens
        self.reads = reads
        self.writes_lds = writes_lds
        self.number = 0
