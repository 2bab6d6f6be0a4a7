# SPDX-License-Identifier: Apache-2.0
"""Operands as llvm-objdump prints them.  Registers are numbered: vector ones
0..255, accumulation ones 256..511, scalar ones from SCALAR on (vcc, m0 at their
hardware numbers).  The makers return functions of a wave."""
import re
import struct

import numpy as np

from .faults import Unknown

M32 = 0xffffffff
M64 = 0xffffffffffffffff
SCALAR = 1024
VCC, M0 = 106, 124
NAMED = {'flat_scratch_lo': 102, 'flat_scratch_hi': 103, 'xnack_mask_lo': 104,
         'xnack_mask_hi': 105, 'vcc_lo': 106, 'vcc_hi': 107, 'm0': 124}
NAMED_PAIRS = {'vcc': 106, 'flat_scratch': 102, 'xnack_mask': 104}
ONE = re.compile(r'^([vas])(\d+)$')
RANGE = re.compile(r'^([vas])\[(\d+):(\d+)\]$')


def _split(text, separators):
    parts, depth, start = [], 0, 0
    for at, c in enumerate(text):
        if c in '[(':
            depth += 1
        elif c in '])':
            depth -= 1
        elif c in separators and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return [p.strip() for p in parts if p.strip()]


def _modifier(word):
    name, colon, value = word.partition(':')
    if not colon:
        return name, True
    if value.startswith('['):
        return name, [int(x, 0) for x in value[1:-1].split(',')]
    try:
        return name, int(value, 0)
    except ValueError:
        return name, value


def parse(text):
    """(operands, modifiers) of an instruction's text."""
    text = re.sub(r'\s*<[^>]*>$', '', text)
    parts = _split(text, ',')
    if not parts:
        return [], {}
    words = _split(parts[-1], ' ')
    return parts[:-1] + words[:1], dict(_modifier(w) for w in words[1:])


def base(token):
    """(first register number, count) or None for what is no register."""
    m = ONE.match(token)
    if m:
        return {'v': 0, 'a': 256, 's': SCALAR}[m[1]] + int(m[2]), 1
    m = RANGE.match(token)
    if m:
        first = {'v': 0, 'a': 256, 's': SCALAR}[m[1]] + int(m[2])
        return first, int(m[3]) - int(m[2]) + 1
    if token in NAMED:
        return SCALAR + NAMED[token], 1
    if token in NAMED_PAIRS:
        return SCALAR + NAMED_PAIRS[token], 2
    return None


def bare(token):
    """The operand without sign, |...|, abs(), neg() or sext()."""
    if re.match(r'^-[a-z|]', token):
        token = token[1:]
    m = re.match(r'^(?:\||neg\(|abs\(|sext\()(.*)[|)]$', token)
    return bare(m[1]) if m else token


def registers(tokens):
    """Numbers of all registers in the operands."""
    found = set()
    for token in tokens:
        at = base(bare(token))
        if at:
            found.update(range(at[0], at[0] + at[1]))
    return found


def vector(token):
    """First row of a vector register operand and its count."""
    at = base(token)
    if not at or at[0] >= SCALAR:
        raise Unknown(f'{token} is no vector register')
    return at


def literal(token, kind='i32'):
    """Bits of a constant operand; a float constant has the type's bits."""
    if re.match(r'^-?(0x[0-9a-fA-F]+|\d+)$', token):
        return int(token, 0)
    try:
        value = float(token)
    except ValueError:
        raise Unknown(f'operand {token}') from None
    if kind == 'f16':
        return struct.unpack('<H', struct.pack('<e', value))[0]
    if kind == 'f64':
        return struct.unpack('<Q', struct.pack('<d', value))[0]
    return struct.unpack('<I', struct.pack('<f', value))[0]


def scalar32(token, kind='i32'):
    at = base(token)
    if at and at[0] >= SCALAR:
        n = at[0] - SCALAR
        return lambda w: w.s[n]
    if at:
        raise Unknown(f'{token} where a scalar is wanted')
    if token == 'exec_lo':
        return lambda w: w.exec & M32
    if token == 'exec_hi':
        return lambda w: w.exec >> 32
    if token in ('scc', 'src_scc'):
        return lambda w: w.scc
    if token in ('vccz', 'src_vccz'):
        return lambda w: int(w.s[VCC] == 0 and w.s[VCC + 1] == 0)
    if token in ('execz', 'src_execz'):
        return lambda w: int(w.exec == 0)
    value = literal(token, kind) & M32
    return lambda w: value


def scalar64(token, signed=False):
    at = base(token)
    if at and at[0] >= SCALAR and at[1] == 2:
        n = at[0] - SCALAR
        return lambda w: w.s[n] | w.s[n + 1] << 32
    if token == 'exec':
        return lambda w: w.exec
    if at:
        raise Unknown(f'{token} where a scalar pair is wanted')
    value = literal(token, 'f64')
    if signed and value >= 1 << 31 and value <= M32:
        value -= 1 << 32
    value &= M64
    return lambda w: value


def to_scalar32(token):
    at = base(token)
    if at and at[0] >= SCALAR and at[1] == 1:
        n = at[0] - SCALAR

        def put(w, value):
            w.s[n] = value & M32
        return put
    if token == 'exec_lo':
        return lambda w, value: w.set_exec(w.exec >> 32 << 32 | value & M32)
    if token == 'exec_hi':
        return lambda w, value: w.set_exec(w.exec & M32 |
                                           (value & M32) << 32)
    raise Unknown(f'{token} as a scalar destination')


def to_scalar64(token):
    at = base(token)
    if at and at[0] >= SCALAR and at[1] == 2:
        n = at[0] - SCALAR

        def put(w, value):
            w.s[n] = value & M32
            w.s[n + 1] = value >> 32 & M32
        return put
    if token == 'exec':
        return lambda w, value: w.set_exec(value & M64)
    raise Unknown(f'{token} as a scalar pair destination')


def to_mask(token):
    """Writes a lane mask (bool array), cut to the active lanes."""
    put = to_scalar64(token)

    def write(w, lanes):
        bits = int.from_bytes(np.packbits(lanes, bitorder='little').tobytes(),
                              'little')
        put(w, bits & w.exec)
    return write


def mask_array(bits):
    """The 64 bits of an integer as bools."""
    return np.unpackbits(np.frombuffer(bits.to_bytes(8, 'little'), np.uint8),
                         bitorder='little').astype(bool)


def from_mask(token):
    get = scalar64(token)
    return lambda w: mask_array(get(w))


def vector32(token, kind='i32'):
    """Lane values, uint32."""
    at = base(token)
    if at and at[0] < SCALAR:
        n = at[0]
        return lambda w: w.v[n]
    if at or token in ('exec_lo', 'exec_hi', 'scc', 'src_scc', 'vccz',
                       'src_vccz', 'execz', 'src_execz'):
        get = scalar32(token)
        return lambda w: np.full(64, get(w), np.uint32)
    constant = np.full(64, literal(token, kind) & M32, np.uint32)
    return lambda w: constant


def vector64(token, signed=False):
    """Lane values, uint64."""
    at = base(token)
    if at and at[0] < SCALAR:
        n = at[0]
        if at[1] != 2:
            raise Unknown(f'{token} where a pair is wanted')
        return lambda w: (w.v[n].astype(np.uint64) |
                          w.v[n + 1].astype(np.uint64) << np.uint64(32))
    get = scalar64(token, signed)
    return lambda w: np.full(64, get(w), np.uint64)


def to_vector32(token):
    n, count = vector(token)
    if count != 1:
        raise Unknown(f'{token} where one register is wanted')

    def put(w, value):
        if w.full:
            w.v[n] = value
        else:
            np.copyto(w.v[n], value, where=w.mask)
    return put


def to_vector64(token):
    n, count = vector(token)
    if count != 2:
        raise Unknown(f'{token} where a pair is wanted')

    def put(w, value):
        low = (value & np.uint64(M32)).astype(np.uint32)
        high = (value >> np.uint64(32)).astype(np.uint32)
        if w.full:
            w.v[n] = low
            w.v[n + 1] = high
        else:
            np.copyto(w.v[n], low, where=w.mask)
            np.copyto(w.v[n + 1], high, where=w.mask)
    return put


def float32(token):
    """Lane values, float32, with sign and absolute value applied."""
    negative = re.match(r'^(-[a-z|]|neg\()', token) is not None
    inner = bare(token)
    absolute = '|' in token or 'abs(' in token
    get = vector32(inner, 'f32')
    if not negative and not absolute:
        return lambda w: get(w).view(np.float32)
    flip = np.uint32(0x80000000 if negative else 0)
    keep = np.uint32(0x7fffffff if absolute else M32)
    return lambda w: ((get(w) & keep) ^ flip).view(np.float32)
