# SPDX-License-Identifier: Apache-2.0
"""What stands between a register and a vector operation: sub-dword selects
(SDWA), lane permutations (DPP) and the half selects of VOP3 (op_sel)."""
import numpy as np

from .operands import bare, to_vector32, vector, vector32

U = np.uint32
LANES = np.arange(64)
DPP = ('quad_perm', 'row_shl', 'row_shr', 'row_ror', 'row_mirror',
       'row_half_mirror', 'row_bcast', 'row_newbcast', 'wave_shl', 'wave_shr',
       'wave_rol', 'wave_ror')
SELECT = {'BYTE_0': (0, 8), 'BYTE_1': (8, 8), 'BYTE_2': (16, 8),
          'BYTE_3': (24, 8), 'WORD_0': (0, 16), 'WORD_1': (16, 16),
          'DWORD': (0, 32)}


def _pick(get, name, signed):
    """The selected part of each lane, moved down."""
    shift, bits = SELECT[name]
    if bits == 32:
        return get
    keep = U((1 << bits) - 1)

    def part(w):
        x = (get(w) >> U(shift)) & keep
        if signed:
            top = U(1 << (bits - 1))
            x = (x ^ top) - top
        return x
    return part


def _lanes(d):
    """(source lane of each lane, which of them exist) of a DPP operation, or
    None."""
    at = next((n for n in DPP if n in d.mods), None)
    if at is None:
        return None
    n = d.mods[at]
    row, place = LANES & ~15, LANES & 15
    good = np.ones(64, bool)
    if at == 'quad_perm':
        source = (LANES & ~3) + np.array(n)[LANES & 3]
    elif at == 'row_shl':
        source, good = LANES + n, place + n < 16
    elif at == 'row_shr':
        source, good = LANES - n, place - n >= 0
    elif at == 'row_ror':
        source = row + (place - n) % 16
    elif at == 'row_mirror':
        source = row + 15 - place
    elif at == 'row_half_mirror':
        source = (LANES & ~7) + 7 - (LANES & 7)
    elif at == 'row_newbcast':
        source = row + n
    elif at == 'row_bcast':
        source = (LANES & ~n) - 1 if n == 15 else np.full(64, 31)
        good = (LANES >= 16) if n == 15 else LANES >= 32
    elif at.startswith('wave_ro'):
        source = (LANES + (1 if at == 'wave_rol' else -1)) % 64
    else:
        source = LANES + (1 if at == 'wave_shl' else -1)
        good = (source >= 0) & (source < 64)
    return np.clip(source, 0, 63), good


def _permuted(get, d):
    found = _lanes(d)
    if not found:
        return get
    source, good = found

    def run(w):
        # A lane that is off gives what an absent one does.
        there = good & w.mask[source]
        return np.where(there, get(w)[source], U(0))
    return run


def _halves(gets, d):
    select = d.mods.get('op_sel')
    if not select:
        return gets
    return [(lambda w, g=g: g(w) >> U(16)) if on else g
            for g, on in zip(gets, select)]


def laned(d, count, kind='i32'):
    """Function of a wave that gives the first `count` sources (args 1...) as a
    tuple of uint32 lanes, or float32 ones for kind 'f32'."""
    gets = []
    for i in range(count):
        token = d.args[1 + i]
        inner = bare(token)
        get = vector32(inner, kind)
        get = _pick(get, d.mods.get(f'src{i}_sel', 'DWORD'),
                    token.startswith('sext('))
        if i == 0:
            get = _permuted(get, d)
        gets.append(get)
    gets = _halves(gets, d)
    if kind == 'f32':
        gets = [_signed(get, token) for get, token in zip(gets, d.args[1:])]
        return _tuple([lambda w, g=g: g(w).view(np.float32) for g in gets])
    if kind == 'i32' and any(bare(t) != t and not t.startswith('sext(')
                             for t in d.args[1:1 + count]):
        gets = [_signed(get, token) for get, token in zip(gets, d.args[1:])]
    return _tuple(gets)


def _signed(get, token):
    """Sign and absolute value of a float operand, on its bits."""
    inner = bare(token)
    if inner == token or token.startswith('sext('):
        return get
    flip = U(0x80000000 if token[0] in '-n' else 0)
    keep = U(0x7fffffff if '|' in token or 'abs(' in token else 0xffffffff)
    return lambda w: (get(w) & keep) ^ flip


def _tuple(gets):
    if len(gets) == 1:
        get, = gets
        return lambda w: (get(w),)
    if len(gets) == 2:
        a, b = gets
        return lambda w: (a(w), b(w))
    return lambda w: tuple(g(w) for g in gets)


def result(d):
    """Writer of uint32 lanes to the destination (args 0)."""
    n, _ = vector(d.args[0])
    put = to_vector32(d.args[0])
    select = d.mods.get('dst_sel', 'DWORD')
    if select != 'DWORD':
        return _part_writer(d, n, put, *SELECT[select])
    halves = d.mods.get('op_sel', [])
    if len(halves) > 1 and len(halves) == len(d.args) and halves[-1]:
        return lambda w, x: put(w, w.v[n] & U(0xffff) | x << U(16))
    found = _lanes(d)
    if found:
        return _masked_writer(d, n, *found)
    return put


def _part_writer(d, n, put, shift, bits):
    keep = U(((1 << bits) - 1) << shift)
    unused = d.mods.get('dst_unused', 'UNUSED_PAD')

    def write(w, x):
        x = (x << U(shift)) & keep
        if unused == 'UNUSED_PRESERVE':
            x = x | (w.v[n] & ~keep)
        elif unused == 'UNUSED_SEXT':
            raise d.bad('dst_unused:UNUSED_SEXT')
        put(w, x)
    return write


def _masked_writer(d, n, source, good):
    rows, banks = d.mods.get('row_mask', 15), d.mods.get('bank_mask', 15)
    on = ((rows >> (LANES // 16)) & 1 == 1) & (
        (banks >> (LANES // 4 % 4)) & 1 == 1)
    zero = 'bound_ctrl' in d.mods

    def write(w, x):
        lanes = w.mask & on
        if not zero:
            lanes = lanes & good & w.mask[source]
        np.copyto(w.v[n], x, where=lanes)
    return write

