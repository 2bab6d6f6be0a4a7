# SPDX-License-Identifier: Apache-2.0
"""Matrix instructions.  Lane l of a 32x32 (16x16) one holds row l % 32 (l % 16)
of A, that column of B, and the depth elements F * (l / 32) ... of both (F per
lane).  Register p of D is row 8 (p / 4) + 4 (l / 32) + p % 4 (4 (l / 16) + p).
EXEC is ignored.  Sums are formed in double precision and rounded once; real
hardware rounds in an order of its own, so exact tests take small integers."""
import numpy as np

from .decode import pattern
from .formats import SMALL, bf16_to_f32, eight_bit, f16_to_f32
from .operands import base, literal, vector, vector32

# What cbsz and blgp say of the operands of f8f6f4.
CODES = {0: 'fp8', 1: 'bf8', 2: 'fp6', 3: 'bf6', 4: 'fp4'}
BITS = {'bf16': 16, 'f16': 16, 'fp8': 8, 'bf8': 8, 'i8': 8, 'f32': 32,
        'fp6': 6, 'bf6': 6, 'fp4': 4}
# Which arch has what, from the shape and type.
GFX942 = ('gfx940', 'gfx941', 'gfx942', 'gfx950')


def elements(w, first, count, kind, arch):
    """float64 (64 lanes, elements per lane) of a register range."""
    words = np.ascontiguousarray(w.v[first:first + count].T)
    if kind == 'f32':
        return words.view(np.float32).astype(np.float64)
    if kind == 'bf16':
        return bf16_to_f32(words.view(np.uint16)).astype(np.float64)
    if kind == 'f16':
        return f16_to_f32(words.view(np.uint16)).astype(np.float64)
    if kind == 'i8':
        return words.view(np.int8).astype(np.float64)
    if kind in ('fp8', 'bf8'):
        return eight_bit(arch)[kind][words.view(np.uint8)]
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder='little')
    width = BITS[kind]
    per = bits.shape[1] // width
    codes = (bits[:, :per * width].reshape(64, per, width) <<
             np.arange(width)).sum(axis=2)
    return SMALL[kind][codes]


def matrix(x, rows):
    """(rows, depth) from (64 lanes, F)."""
    groups = 64 // rows
    return x.reshape(groups, rows, -1).transpose(1, 0, 2).reshape(rows, -1)


def spread(product, rows):
    """Registers (count, 64) from a (rows, rows) result."""
    groups = 64 // rows
    parts = rows // (4 * groups)
    return (product.reshape(parts, groups, 4, rows).transpose(0, 2, 1, 3)
            .reshape(parts * 4, 64))


def gather(registers, rows):
    """The (rows, rows) matrix of registers (count, 64)."""
    groups = 64 // rows
    parts = rows // (4 * groups)
    return (registers.reshape(parts, 4, groups, rows).transpose(0, 2, 1, 3)
            .reshape(rows, rows))


def multiply(d, rows, depth, kinds, integer=False, scales=None):
    to, count = vector(d.args[0])
    operands = [vector(t) for t in d.args[1:3]]
    token = d.args[3]
    at = base(token)
    if count != rows * rows // 64:
        raise d.bad(f'{count} result registers')
    for (_, registers), kind in zip(operands, kinds):
        if registers * 32 // BITS[kind] * 64 != rows * depth:
            raise d.bad(f'{registers} registers for {rows}x{depth} {kind}')
    view = np.int32 if integer else np.float32
    constant = None
    if at is None:
        constant = np.uint32(literal(token, 'i32' if integer else 'f32') &
                             0xffffffff).view(view)
    elif at[1] != count:
        raise d.bad(f'{at[1]} registers to add to')

    def run(w):
        a, b = (elements(w, first, n, kind, d.arch)
                for (first, n), kind in zip(operands, kinds))
        if scales:
            a, b = scales(w, a, b)
        with np.errstate(all='ignore'):
            product = matrix(a, rows) @ matrix(b, rows).T
        if constant is None:
            product = product + gather(
                w.v[at[0]:at[0] + count].view(view), rows)
        else:
            product = product + constant
        out = spread(product, rows)
        w.v[to:to + count] = (
            out.astype(np.int64).astype(np.int32) if integer else
            out.astype(np.float32)).view(np.uint32)
        w.counts['mfma'] = w.counts.get('mfma', 0) + 1
    return run


SHAPES = {
    # kind -> {(rows, depth): archs}
    'bf16_1k': {(32, 8): None, (16, 16): None},
    'bf16': {(32, 16): ('gfx950',), (16, 32): ('gfx950',), (32, 8): GFX942,
             (16, 16): GFX942},
    'f16': {(32, 8): None, (16, 16): None, (32, 16): ('gfx950',),
            (16, 32): ('gfx950',)},
    'f32': {(32, 2): None, (16, 4): None},
    'fp8': {(32, 16): GFX942, (16, 32): GFX942},
    'i8': {(32, 16): GFX942, (16, 32): GFX942, (32, 32): ('gfx950',),
           (16, 64): ('gfx950',)},
}


def _shape(d, kind, rows, depth):
    shapes = SHAPES[kind]
    if (rows, depth) not in shapes:
        raise d.bad(f'{d.op} is not modelled')
    archs = shapes[rows, depth]
    if archs and d.arch not in archs:
        raise d.bad(f'{d.arch} has no {d.op}')
    if d.mods.keys() - {'cbsz', 'blgp'} or any(d.mods.values()):
        raise d.bad('modifiers of a matrix instruction')


@pattern(r'v_mfma_f32_(\d+)x\1x(\d+)_?(bf16_1k|bf16|f16|f32)')
def mfma(d, match):
    rows, depth, kind = int(match[1]), int(match[2]), match[3]
    _shape(d, kind, rows, depth)
    plain = kind.split('_')[0]
    return multiply(d, rows, depth, (plain, plain))


@pattern(r'v_mfma_f32_(\d+)x\1x(\d+)_(fp8|bf8)_(fp8|bf8)')
def mfma_eight(d, match):
    rows, depth = int(match[1]), int(match[2])
    _shape(d, 'fp8', rows, depth)
    return multiply(d, rows, depth, (match[3], match[4]))


@pattern(r'v_mfma_i32_(\d+)x\1x(\d+)_?i8')
def mfma_integer(d, match):
    rows, depth = int(match[1]), int(match[2])
    _shape(d, 'i8', rows, depth)
    return multiply(d, rows, depth, ('i8', 'i8'), integer=True)


@pattern(r'v_mfma_(scale_)?f32_(\d+)x\2x(\d+)_f8f6f4')
def mfma_small(d, match):
    """The scale of a lane is a power of two, byte 2 op_sel_hi + op_sel of the
    register given for its operand, for the lane's row and depth block."""
    rows, depth = int(match[2]), int(match[3])
    if d.arch != 'gfx950' or (rows, depth) not in ((32, 64), (16, 128)):
        raise d.bad(f'{d.arch} has no {d.op}')
    kinds = (CODES[d.mods.get('cbsz', 0)], CODES[d.mods.get('blgp', 0)])
    if not match[1]:
        return multiply(d, rows, depth, kinds)
    low = d.mods.get('op_sel', [0, 0])
    high = d.mods.get('op_sel_hi', [0, 0])
    gets = [vector32(t) for t in d.args[4:6]]

    def scales(w, *operands):
        scaled = []
        for i, x in enumerate(operands):
            byte = 8 * (low[i] + 2 * high[i])
            e = ((gets[i](w) >> np.uint32(byte)) & np.uint32(255)).astype(
                np.float64)
            factor = np.where(e == 255, np.nan, 2.0 ** (e - 127))
            scaled.append(x * factor[:, None])
        return scaled
    return multiply(d, rows, depth, kinds, scales=scales)
