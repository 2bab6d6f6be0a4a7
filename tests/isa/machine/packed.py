# SPDX-License-Identifier: Apache-2.0
"""Packed and half precision arithmetic: v_pk_*, v_*_f16, mixed precision and
dot products.  op_sel picks the half that makes the low result, op_sel_hi that
of the high one, neg_lo and neg_hi flip signs."""
import numpy as np

from .decode import define, pattern
from .formats import bf16_to_f32, f16_to_f32, f32_to_f16
from .operands import SCALAR, bare, base, float32, vector, vector32
from .sub_dword import laned, result
from .vector import exact_sum, fused

U = np.uint32


def _flags(d, name, count, default):
    return (d.mods.get(name) or [default] * count)[:count]


# ---- pairs of 32 bits in register pairs

def _pair(token, kind):
    """Function (w, half) -> uint32 lanes of a 64-bit operand."""
    at = base(token)
    if at and at[0] < SCALAR:
        n = at[0]
        return lambda w, half: w.v[n + half]
    if at and at[1] == 2:
        n = at[0] - SCALAR
        return lambda w, half: np.full(64, w.s[n + half], U)
    get = vector32(token, kind)
    return lambda w, half: get(w)


def _put_pair(d):
    n, _ = vector(d.args[0])

    def put(w, low, high):
        np.copyto(w.v[n], low, where=w.mask)
        np.copyto(w.v[n + 1], high, where=w.mask)
    return put


PAIRS = {
    'v_pk_add_f32': lambda a, b: a + b,
    'v_pk_mul_f32': lambda a, b: a * b,
    'v_pk_fma_f32': fused,
}


@define(*PAIRS)
def pair(d):
    function = PAIRS[d.op]
    tokens = d.args[1:]
    count = len(tokens)
    gets = [_pair(t, 'f32') for t in tokens]
    low_sel, high_sel = (_flags(d, 'op_sel', count, 0),
                         _flags(d, 'op_sel_hi', count, 1))
    low_neg, high_neg = (_flags(d, 'neg_lo', count, 0),
                         _flags(d, 'neg_hi', count, 0))
    put = _put_pair(d)

    def operand(w, get, half, negative):
        x = get(w, half)
        if negative:
            x = x ^ U(0x80000000)
        return x.view(np.float32)

    def run(w):
        with np.errstate(all='ignore'):
            low = function(*[operand(w, g, s, n) for g, s, n in
                             zip(gets, low_sel, low_neg)])
            high = function(*[operand(w, g, s, n) for g, s, n in
                              zip(gets, high_sel, high_neg)])
        put(w, low.view(U), high.view(U))
    return run


@define('v_pk_mov_b32')
def pair_move(d):
    x, y = (_pair(t, 'f32') for t in d.args[1:3])
    select = _flags(d, 'op_sel', 2, 0)
    put = _put_pair(d)
    return lambda w: put(w, x(w, select[0]).copy(), y(w, select[1]).copy())


# ---- pairs of 16 bits in one register

def _short(x):
    return x.astype(np.uint16).view(np.int16)


def _unsigned(function):
    return lambda *x: function(*x) & U(0xffff)


def _signed(function):
    return lambda *x: function(*[_short(v) for v in x]).view(
        np.uint16).astype(U)


def _half(function):
    def run(*x):
        with np.errstate(all='ignore'):
            return f32_to_f16(function(*[f16_to_f32(v) for v in x]))
    return run


def _fused(a, b, c):
    return exact_sum(a.astype(np.float64) * b.astype(np.float64),
                     c.astype(np.float64))


SHORTS = {
    'add_u16': _unsigned(lambda a, b: a + b),
    'sub_u16': _unsigned(lambda a, b: a - b),
    'add_i16': _unsigned(lambda a, b: a + b),
    'sub_i16': _unsigned(lambda a, b: a - b),
    'mul_lo_u16': _unsigned(lambda a, b: a * b),
    'mad_u16': _unsigned(lambda a, b, c: a * b + c),
    'mad_i16': _unsigned(lambda a, b, c: a * b + c),
    'lshlrev_b16': _unsigned(lambda a, b: b << (a & U(15))),
    'lshrrev_b16': _unsigned(lambda a, b: b >> (a & U(15))),
    'ashrrev_i16': _signed(lambda a, b: b >> (a & np.int16(15))),
    'min_u16': np.minimum,
    'max_u16': np.maximum,
    'min_i16': _signed(np.minimum),
    'max_i16': _signed(np.maximum),
    'add_f16': _half(lambda a, b: a + b),
    'sub_f16': _half(lambda a, b: a - b),
    'subrev_f16': _half(lambda a, b: b - a),
    'mul_f16': _half(lambda a, b: a * b),
    'min_f16': _half(np.fmin),
    'max_f16': _half(np.fmax),
    'fma_f16': _half(_fused),
}


@pattern(r'v_pk_(\w+16)')
def shorts(d, match):
    if match[1] not in SHORTS:
        raise d.bad(f'{d.op} is not modelled')
    function = SHORTS[match[1]]
    tokens = d.args[1:]
    count = len(tokens)
    kind = 'f16' if match[1].endswith('f16') else 'i32'
    gets = [vector32(t, kind) for t in tokens]
    flags = [_flags(d, name, count, default) for name, default in (
        ('op_sel', 0), ('op_sel_hi', 1), ('neg_lo', 0), ('neg_hi', 0))]
    put = result_whole(d)

    def half(values, select, negative):
        out = []
        for x, high, flip in zip(values, select, negative):
            x = (x >> U(16) if high else x) & U(0xffff)
            out.append(x ^ U(0x8000) if flip else x)
        return function(*out)

    def run(w):
        values = [g(w) for g in gets]
        put(w, half(values, flags[0], flags[2]) |
            half(values, flags[1], flags[3]) << U(16))
    return run


def result_whole(d):
    """Writer of the whole register, whatever op_sel says."""
    n, _ = vector(d.args[0])

    def put(w, x):
        np.copyto(w.v[n], x, where=w.mask)
    return put


# ---- one half

@define('v_add_f16', 'v_sub_f16', 'v_subrev_f16', 'v_mul_f16', 'v_min_f16',
        'v_max_f16', 'v_fma_f16')
def one_half(d):
    function = SHORTS[d.op[2:]]
    count = len(d.args) - 1
    get, put = laned(d, count, 'f16'), result(d)
    signs = [_sign(t) for t in d.args[1:]]

    def run(w):
        put(w, function(*[((x & U(0xffff)) & k) ^ f for x, (k, f) in
                          zip(get(w), signs)]))
    return run


def _sign(token):
    """(mask, flip) of a half precision operand."""
    if bare(token) == token:
        return U(0xffff), U(0)
    return (U(0x7fff if '|' in token or 'abs(' in token else 0xffff),
            U(0x8000 if token[0] in '-n' else 0))


@define('v_fma_mix_f32', 'v_mad_mix_f32', 'v_fma_mixlo_f16',
        'v_fma_mixhi_f16')
def mixed(d):
    """Each source is a float32, or by op_sel_hi the f16 half of op_sel."""
    gets = [vector32(bare(t), 'f32') for t in d.args[1:4]]
    halves, is_half = (_flags(d, 'op_sel', 3, 0),
                       _flags(d, 'op_sel_hi', 3, 0))
    signs = [('|' in t, t[0] == '-') for t in d.args[1:4]]
    n, _ = vector(d.args[0])
    put = result_whole(d)

    def run(w):
        values = []
        for get, half, short, (absolute, flip) in zip(gets, halves, is_half,
                                                      signs):
            x = get(w)
            x = (f16_to_f32((x >> U(16 * half)) & U(0xffff)) if short
                 else x.view(np.float32))
            x = np.abs(x) if absolute else x
            values.append(-x if flip else x)
        out = _fused(*values).astype(np.float32)
        if d.op.endswith('f32'):
            put(w, out.view(U))
        elif 'mixlo' in d.op:
            put(w, w.v[n] & U(0xffff0000) | f32_to_f16(out))
        else:
            put(w, w.v[n] & U(0xffff) | f32_to_f16(out) << U(16))
    return run


@define('v_dot2_f32_f16', 'v_dot2_f32_bf16', 'v_dot2c_f32_f16',
        'v_dot2c_f32_bf16')
def dot(d):
    x, y = vector32(d.args[1]), vector32(d.args[2])
    z = float32(d.args[3] if len(d.args) > 3 else d.args[0])
    change = bf16_to_f32 if d.op.endswith('bf16') else f16_to_f32
    put = result_whole(d)
    if d.mods:
        raise d.bad('modifiers of a dot product')

    def run(w):
        total = z(w).astype(np.float64)
        for shift in (0, 16):
            total = total + (
                change((x(w) >> U(shift)) & U(0xffff)).astype(np.float64) *
                change((y(w) >> U(shift)) & U(0xffff)).astype(np.float64))
        put(w, total.astype(np.float32).view(U))
    return run

