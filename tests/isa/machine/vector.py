# SPDX-License-Identifier: Apache-2.0
"""Vector arithmetic.  Integers are exact.  Float operations round once to
nearest even, fused ones included, except that v_exp, v_log, v_rcp, v_rsq,
v_sqrt, v_sin and v_cos are the host's, rounded; real hardware approximates.
Denormals are kept."""
import numpy as np

from .decode import define, pattern
from .faults import Fault
from .formats import (bf16_to_f32, eight_bit, f16_to_f32, f32_to_bf16,
                      f32_to_f16, to_eight_bit)
from .operands import (M32, bare, float32, from_mask, scalar32, to_mask,
                       to_scalar32, to_vector32, to_vector64, vector,
                       vector32, vector64)
from .sub_dword import laned, result

U = np.uint32
U6 = np.uint64
LANES = np.arange(64, dtype=np.uint32)


def shown(x):
    """Bits of float32 lanes."""
    return np.ascontiguousarray(x, np.float32).view(U)


def as_signed(x):
    return x.view(np.int32)


def u64(x):
    return x.astype(U6)


def low(x):
    return (x & U6(M32)).astype(U)


# ---- moves and lanes

@define('v_mov_b32', 'v_accvgpr_read_b32', 'v_accvgpr_write_b32',
        'v_accvgpr_mov_b32')
def move(d):
    get, put = laned(d, 1), result(d)
    return lambda w: put(w, get(w)[0])


@define('v_mov_b64')
def move64(d):
    get, put = vector64(d.args[1]), to_vector64(d.args[0])
    return lambda w: put(w, get(w))


@define('v_swap_b32')
def swap(d):
    a, b = vector32(d.args[0]), vector32(d.args[1])
    put_a, put_b = to_vector32(d.args[0]), to_vector32(d.args[1])

    def run(w):
        x, y = a(w).copy(), b(w).copy()
        put_a(w, y)
        put_b(w, x)
    return run


def first_lane(w):
    return (w.exec & -w.exec).bit_length() - 1 if w.exec else 0


@define('v_readfirstlane_b32')
def read_first(d):
    get, put = vector32(d.args[1]), to_scalar32(d.args[0])
    return lambda w: put(w, int(get(w)[first_lane(w)]))


@define('v_readlane_b32')
def read_lane(d):
    get, lane = vector32(d.args[1]), scalar32(d.args[2])
    put = to_scalar32(d.args[0])
    return lambda w: put(w, int(get(w)[lane(w) & 63]))


@define('v_writelane_b32')
def write_lane(d):
    n, _ = vector(d.args[0])
    get, lane = scalar32(d.args[1]), scalar32(d.args[2])

    def run(w):
        w.v[n][lane(w) & 63] = get(w)
    return run


@define('v_permlane32_swap_b32', 'v_permlane16_swap_b32')
def lane_swap(d):
    """Odd groups of the first register change places with the even groups of
    the second."""
    n, m = vector(d.args[0])[0], vector(d.args[1])[0]
    group = 32 if '32_swap' in d.op else 16
    odd = LANES[(LANES // group) % 2 == 1]
    even = odd - group

    def run(w):
        if not w.full:
            raise Fault(f'{w.who(d.source)}: needs all lanes active')
        x, y = w.v[n][odd].copy(), w.v[m][even].copy()
        w.v[n][odd] = y
        w.v[m][even] = x
    return run


@define('v_mbcnt_lo_u32_b32', 'v_mbcnt_hi_u32_b32')
def count_below(d):
    bits, add = vector32(d.args[1]), vector32(d.args[2])
    put = result(d)
    shift = 0 if '_lo_' in d.op else 32
    below = [(1 << max(0, min(32, lane - shift))) - 1 for lane in range(64)]

    def run(w):
        b = bits(w)
        count = np.array([bin(int(b[i]) & below[i]).count('1')
                          for i in range(64)], U)
        put(w, count + add(w))
    return run


# ---- one operand

def _ubyte(n):
    return lambda x: shown(((x >> U(8 * n)) & U(255)).astype(np.float32))


def _bits(function):
    def lanes(x):
        return np.array([function(v) for v in x.tolist()], np.uint64).astype(U)
    return lanes


def _reverse(v):
    return int(f'{v:032b}'[::-1], 2)


def _to_int(x, least, most):
    x = np.nan_to_num(np.trunc(x.view(np.float32).astype(np.float64)),
                      nan=0.0, posinf=most, neginf=least)
    return np.clip(x, least, most).astype(np.int64)


ONE_INTEGER = {
    'v_not_b32': lambda x: ~x,
    'v_bfrev_b32': _bits(_reverse),
    'v_ffbh_u32': _bits(lambda v: 32 - v.bit_length() if v else M32),
    'v_ffbl_b32': _bits(lambda v: (v & -v).bit_length() - 1 if v else M32),
    'v_cvt_f32_u32': lambda x: shown(x.astype(np.float32)),
    'v_cvt_f32_i32': lambda x: shown(as_signed(x).astype(np.float32)),
    'v_cvt_u32_f32': lambda x: _to_int(x, 0, M32).astype(U),
    'v_cvt_i32_f32': lambda x: _to_int(x, -1 << 31, (1 << 31) - 1).astype(
        np.int32).view(U),
    'v_cvt_f32_ubyte0': _ubyte(0),
    'v_cvt_f32_ubyte1': _ubyte(1),
    'v_cvt_f32_ubyte2': _ubyte(2),
    'v_cvt_f32_ubyte3': _ubyte(3),
    'v_cvt_f32_f16': lambda x: shown(f16_to_f32(x & U(0xffff))),
    'v_cvt_f32_bf16': lambda x: shown(bf16_to_f32(x & U(0xffff))),
    'v_sat_pk_u8_i16': lambda x: (
        np.clip((x & U(0xffff)).astype(np.uint16).view(np.int16), 0,
                255).astype(U) |
        np.clip((x >> U(16)).astype(np.uint16).view(np.int16), 0,
                255).astype(U) << U(8)),
}


@define(*ONE_INTEGER)
def one_integer(d):
    function = ONE_INTEGER[d.op]
    get, put = laned(d, 1), result(d)
    return lambda w: put(w, function(get(w)[0]))


def _quiet(function):
    def lanes(*x):
        with np.errstate(all='ignore'):
            return function(*x)
    return lanes


def _host(function):
    """The host's float64 function, rounded once."""
    return _quiet(lambda x: function(x.astype(np.float64)).astype(np.float32))


ONE_FLOAT = {
    'v_exp_f32': _host(np.exp2),
    'v_log_f32': _host(np.log2),
    'v_rcp_f32': _host(lambda x: 1.0 / x),
    'v_rcp_iflag_f32': _host(lambda x: 1.0 / x),
    'v_rsq_f32': _host(lambda x: 1.0 / np.sqrt(x)),
    'v_sqrt_f32': _host(np.sqrt),
    'v_sin_f32': _host(lambda x: np.sin(2 * np.pi * x)),
    'v_cos_f32': _host(lambda x: np.cos(2 * np.pi * x)),
    'v_trunc_f32': np.trunc,
    'v_floor_f32': np.floor,
    'v_ceil_f32': np.ceil,
    'v_rndne_f32': np.rint,
    'v_fract_f32': lambda x: x - np.floor(x),
    'v_frexp_mant_f32': lambda x: np.frexp(x)[0],
}


@define(*ONE_FLOAT)
def one_float(d):
    function = ONE_FLOAT[d.op]
    get, put = laned(d, 1, 'f32'), finish(d)
    return lambda w: put(w, function(get(w)[0]))


def finish(d):
    """Writes float32 lanes, after omod and clamp."""
    put = result(d)
    factor = float(d.mods.get('mul', 1)) / float(d.mods.get('div', 1))
    clamp = 'clamp' in d.mods
    if factor == 1 and not clamp:
        return lambda w, x: put(w, shown(x))

    def write(w, x):
        x = np.asarray(x, np.float32) * np.float32(factor)
        if clamp:
            x = np.where(np.isnan(x), np.float32(0), np.clip(x, 0, 1))
        put(w, shown(x))
    return write


@define('v_cvt_f16_f32', 'v_cvt_pkrtz_f16_f32', 'v_cvt_pk_bf16_f32',
        'v_cvt_pk_f16_f32')
def to_sixteen(d):
    put = result(d)
    count = 2 if '_pk' in d.op else 1
    get = laned(d, count, 'f32')
    convert = f32_to_bf16 if 'bf16' in d.op else f32_to_f16
    if 'pkrtz' in d.op:
        convert = _toward_zero

    def run(w):
        x = get(w)
        out = convert(x[0])
        if count == 2:
            out = out | convert(x[1]) << U(16)
        put(w, out)
    return run


def _toward_zero(x):
    out = f32_to_f16(x)
    above = np.abs(f16_to_f32(out)) > np.abs(x)
    return np.where(above & np.isfinite(x), out - U(1), out)


@define('v_cvt_pk_fp8_f32', 'v_cvt_pk_bf8_f32')
def to_fp8(d):
    n, _ = vector(d.args[0])
    x, y = float32(d.args[1]), float32(d.args[2])
    put = to_vector32(d.args[0])
    high = d.mods.get('op_sel', [0])[-1]
    name = 'fp8' if '_fp8_' in d.op else 'bf8'

    def run(w):
        pair = (to_eight_bit(x(w), d.arch, name) |
                to_eight_bit(y(w), d.arch, name) << U(8))
        old = w.v[n]
        put(w, old & U(0xffff) | pair << U(16) if high else
            old & U(0xffff0000) | pair)
    return run


@define('v_cvt_f32_fp8', 'v_cvt_f32_bf8')
def from_fp8(d):
    # VOP3 selects the byte by op_sel, from the low bit on.
    select = d.mods.pop('op_sel', [0, 0])
    byte = select[0] | (select[1] << 1 if len(select) > 1 else 0)
    byte = d.mods.pop('byte_sel', byte)
    get, put = laned(d, 1), result(d)
    table = eight_bit(d.arch)['fp8' if d.op.endswith('fp8') else 'bf8']

    def run(w):
        put(w, shown(table[(get(w)[0] >> U(8 * byte)) & U(255)]))
    return run


@define('v_cvt_pk_f32_fp8', 'v_cvt_pk_f32_bf8')
def pair_from_fp8(d):
    high = d.mods.pop('op_sel', [0])[0]
    get, (n, _) = laned(d, 1), vector(d.args[0])
    table = eight_bit(d.arch)['fp8' if d.op.endswith('fp8') else 'bf8']

    def run(w):
        x = get(w)[0] >> U(16) if high else get(w)[0]
        for i in range(2):
            bits = shown(table[(x >> U(8 * i)) & U(255)])
            np.copyto(w.v[n + i], bits, where=w.mask)
    return run


# ---- two operands

def _mul24(x):
    return x & U(0xffffff)


def _sext24(x):
    return (as_signed(x << U(8)) >> 8).astype(np.int64)


def _low16(function):
    return lambda a, b: function(a & U(0xffff), b & U(0xffff)) & U(0xffff)


def _s16(x):
    return (x & U(0xffff)).astype(np.uint16).view(np.int16)


def _u16(x):
    return x.astype(np.int16).view(np.uint16).astype(U)


TWO_INTEGERS = {
    'v_add_u32': lambda a, b: a + b,
    'v_sub_u32': lambda a, b: a - b,
    'v_subrev_u32': lambda a, b: b - a,
    'v_add_i32': lambda a, b: a + b,
    'v_sub_i32': lambda a, b: a - b,
    'v_and_b32': lambda a, b: a & b,
    'v_or_b32': lambda a, b: a | b,
    'v_xor_b32': lambda a, b: a ^ b,
    'v_xnor_b32': lambda a, b: ~(a ^ b),
    'v_lshlrev_b32': lambda a, b: b << (a & U(31)),
    'v_lshrrev_b32': lambda a, b: b >> (a & U(31)),
    'v_ashrrev_i32': lambda a, b: (as_signed(b) >>
                                   as_signed(a & U(31))).view(U),
    'v_lshl_b32': lambda a, b: a << (b & U(31)),
    'v_mul_lo_u32': lambda a, b: a * b,
    'v_mul_hi_u32': lambda a, b: (u64(a) * u64(b) >> U6(32)).astype(U),
    'v_mul_hi_i32': lambda a, b: ((as_signed(a).astype(np.int64) *
                                   as_signed(b)) >> 32).astype(
                                       np.int32).view(U),
    'v_mul_u32_u24': lambda a, b: _mul24(a) * _mul24(b),
    'v_mul_hi_u32_u24': lambda a, b: (u64(_mul24(a)) * u64(_mul24(b)) >>
                                      U6(32)).astype(U),
    'v_mul_i32_i24': lambda a, b: low((_sext24(a) * _sext24(b)).view(U6)),
    'v_min_u32': np.minimum,
    'v_max_u32': np.maximum,
    'v_min_i32': lambda a, b: np.minimum(as_signed(a), as_signed(b)).view(U),
    'v_max_i32': lambda a, b: np.maximum(as_signed(a), as_signed(b)).view(U),
    'v_bfm_b32': lambda a, b: ((U(1) << (a & U(31))) - U(1)) << (b & U(31)),
    'v_bcnt_u32_b32': lambda a, b: np.array(
        [bin(v).count('1') for v in a.tolist()], U) + b,
    'v_cvt_pk_u16_u32': lambda a, b: np.minimum(a, U(0xffff)) |
    np.minimum(b, U(0xffff)) << U(16),
    'v_pack_b32_f16': lambda a, b: a & U(0xffff) | b << U(16),
    'v_add_u16': _low16(lambda a, b: a + b),
    'v_sub_u16': _low16(lambda a, b: a - b),
    'v_subrev_u16': _low16(lambda a, b: b - a),
    'v_mul_lo_u16': _low16(lambda a, b: a * b),
    'v_lshlrev_b16': _low16(lambda a, b: b << (a & U(15))),
    'v_lshrrev_b16': _low16(lambda a, b: b >> (a & U(15))),
    'v_ashrrev_i16': lambda a, b: _u16(_s16(b) >> (a & U(15)).astype(
        np.int16)),
    'v_min_u16': _low16(np.minimum),
    'v_max_u16': _low16(np.maximum),
    'v_min_i16': lambda a, b: _u16(np.minimum(_s16(a), _s16(b))),
    'v_max_i16': lambda a, b: _u16(np.maximum(_s16(a), _s16(b))),
}


def _saturated(x):
    return np.clip(x, -1 << 31, (1 << 31) - 1).astype(np.int32).view(U)


def _wide(x):
    return as_signed(x).astype(np.int64)


CLAMPED = {
    'v_add_u32': lambda a, b: np.where(a + b < a, U(M32), a + b),
    'v_sub_u32': lambda a, b: np.where(a < b, U(0), a - b),
    'v_subrev_u32': lambda a, b: np.where(b < a, U(0), b - a),
    'v_add_i32': lambda a, b: _saturated(_wide(a) + _wide(b)),
    'v_sub_i32': lambda a, b: _saturated(_wide(a) - _wide(b)),
}


@define(*TWO_INTEGERS)
def two_integers(d):
    function = TWO_INTEGERS[d.op]
    if 'clamp' in d.mods:
        if d.op not in CLAMPED:
            raise d.bad('integer clamp')
        function = CLAMPED[d.op]
    get, put = laned(d, 2), result(d)
    return lambda w: put(w, function(*get(w)))


TWO_FLOATS = {
    'v_add_f32': lambda a, b: a + b,
    'v_sub_f32': lambda a, b: a - b,
    'v_subrev_f32': lambda a, b: b - a,
    'v_mul_f32': lambda a, b: a * b,
    'v_mul_legacy_f32': lambda a, b: np.where((a == 0) | (b == 0),
                                              np.float32(0), a * b),
    'v_max_f32': np.fmax,
    'v_min_f32': np.fmin,
}


@define(*TWO_FLOATS)
def two_floats(d):
    function = _quiet(TWO_FLOATS[d.op])
    get, put = laned(d, 2, 'f32'), finish(d)
    return lambda w: put(w, function(*get(w)))


@define('v_ldexp_f32')
def load_exponent(d):
    x, y, put = float32(d.args[1]), vector32(d.args[2]), finish(d)
    return lambda w: put(w, _quiet(np.ldexp)(x(w), as_signed(y(w))))


@define('v_frexp_exp_i32_f32')
def exponent(d):
    x, put = float32(d.args[1]), result(d)
    return lambda w: put(w, np.frexp(x(w))[1].astype(np.int32).view(U))


# ---- three operands

def _perm(a, b, sel):
    both = u64(a) << U6(32) | u64(b)
    out = np.zeros(64, U)
    for i in range(4):
        k = (sel >> U(8 * i)) & U(255)
        byte = ((both >> u64((k & U(7)) * U(8))) & U6(255)).astype(U)
        sign_of = np.where(k == 8, (b >> U(15)) & U(1),
                           np.where(k == 9, (b >> U(31)),
                                    np.where(k == 10, (a >> U(15)) & U(1),
                                             a >> U(31))))
        filled = np.where(k >= 13, U(255), np.where(k == 12, U(0),
                                                    sign_of * U(255)))
        out |= np.where(k < 8, byte, filled).astype(U) << U(8 * i)
    return out


def _bfe_u(a, b, c):
    return (a >> (b & U(31))) & ((U(1) << (c & U(31))) - U(1))


def _bfe_i(a, b, c):
    width = c & U(31)
    x = _bfe_u(a, b, c)
    sign = np.where(width > 0, (x >> ((width - U(1)) & U(31))) & U(1), U(0))
    fill = np.where(sign == 1, ~((U(1) << width) - U(1)), U(0))
    return (x | fill).astype(U)


def _align(unit):
    def function(a, b, c):
        both = u64(a) << U6(32) | u64(b)
        return low(both >> u64((c & U(31 if unit == 1 else 3)) * U(unit)))
    return function


def _median(a, b, c):
    return np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))


def _ints(function):
    return lambda *x: function(*[as_signed(v) for v in x]).view(U)


THREE_INTEGERS = {
    'v_lshl_add_u32': lambda a, b, c: (a << (b & U(31))) + c,
    'v_add_lshl_u32': lambda a, b, c: (a + b) << (c & U(31)),
    'v_lshl_or_b32': lambda a, b, c: (a << (b & U(31))) | c,
    'v_and_or_b32': lambda a, b, c: (a & b) | c,
    'v_or3_b32': lambda a, b, c: a | b | c,
    'v_xad_u32': lambda a, b, c: (a ^ b) + c,
    'v_add3_u32': lambda a, b, c: a + b + c,
    'v_bfi_b32': lambda a, b, c: (a & b) | (~a & c),
    'v_bfe_u32': _bfe_u,
    'v_bfe_i32': _bfe_i,
    'v_alignbit_b32': _align(1),
    'v_alignbyte_b32': _align(8),
    'v_perm_b32': _perm,
    'v_mad_u32_u24': lambda a, b, c: _mul24(a) * _mul24(b) + c,
    'v_mad_i32_i24': lambda a, b, c: low((_sext24(a) * _sext24(b)).view(
        U6)) + c,
    'v_min3_u32': lambda a, b, c: np.minimum(np.minimum(a, b), c),
    'v_max3_u32': lambda a, b, c: np.maximum(np.maximum(a, b), c),
    'v_med3_u32': _median,
    'v_min3_i32': _ints(lambda a, b, c: np.minimum(np.minimum(a, b), c)),
    'v_max3_i32': _ints(lambda a, b, c: np.maximum(np.maximum(a, b), c)),
    'v_med3_i32': _ints(_median),
    'v_mad_u16': lambda a, b, c: (a * b + c) & U(0xffff),
    'v_sad_u32': lambda a, b, c: np.where(a > b, a - b, b - a) + c,
    'v_mad_legacy_u16': lambda a, b, c: (a * b + c) & U(0xffff),
}


@define(*THREE_INTEGERS)
def three_integers(d):
    function = THREE_INTEGERS[d.op]
    get, put = laned(d, 3), result(d)
    return lambda w: put(w, function(*get(w)))


def exact_sum(product, c):
    """Sum of float64s whose rounding to a narrower float is that of the exact
    sum: what does not fit makes the last bit odd."""
    total = product + c
    back = total - product
    lost = (product - (total - back)) + (c - back)
    bits = total.view(np.int64)
    inexact = (lost != 0) & np.isfinite(total) & (bits & 1 == 0) & (total != 0)
    away = (lost > 0) == (total > 0)
    return np.where(inexact, np.where(away, bits + 1, bits - 1),
                    bits).view(np.float64)


def fused(a, b, c):
    product = a.astype(np.float64) * b.astype(np.float64)
    return exact_sum(product, c.astype(np.float64)).astype(np.float32)


THREE_FLOATS = {
    'v_fma_f32': fused,
    'v_mad_f32': lambda a, b, c: a * b + c,
    'v_max3_f32': lambda a, b, c: np.fmax(np.fmax(a, b), c),
    'v_min3_f32': lambda a, b, c: np.fmin(np.fmin(a, b), c),
    'v_med3_f32': lambda a, b, c: np.fmax(np.fmin(a, b),
                                          np.fmin(np.fmax(a, b), c)),
    'v_maximum3_f32': lambda a, b, c: np.maximum(np.maximum(a, b), c),
    'v_minimum3_f32': lambda a, b, c: np.minimum(np.minimum(a, b), c),
}


@define(*THREE_FLOATS)
def three_floats(d):
    function = _quiet(THREE_FLOATS[d.op])
    get, put = laned(d, 3, 'f32'), finish(d)
    return lambda w: put(w, function(*get(w)))


@define('v_fmac_f32', 'v_mac_f32')
def accumulate(d):
    get, put = laned(d, 2, 'f32'), finish(d)
    old = float32(d.args[0])
    return lambda w: put(w, _quiet(fused)(*get(w), old(w)))


@define('v_fmaak_f32', 'v_fmamk_f32', 'v_madak_f32', 'v_madmk_f32')
def with_constant(d):
    # a * K + b and a * b + K alike: the operands stand in that order.
    x, y, z = (float32(t) for t in d.args[1:4])
    put = finish(d)
    return lambda w: put(w, _quiet(fused)(x(w), y(w), z(w)))


@define('v_bitop3_b32', 'v_bitop3_b16')
def truth_table(d):
    get, put = laned(d, 3), result(d)
    table = d.mods.get('bitop3', 0)
    kept = U(0xffff if d.op.endswith('b16') else 0xffffffff)

    def run(w):
        x, y, z = get(w)
        out = np.zeros(64, U)
        for i in range(8):
            if table >> i & 1:
                out |= ((x if i & 4 else ~x) & (y if i & 2 else ~y) &
                        (z if i & 1 else ~z))
        put(w, out & kept)
    return run


# ---- 64 bits and carries

@define('v_lshlrev_b64', 'v_lshrrev_b64', 'v_ashrrev_i64')
def shift64(d):
    count, get = vector32(d.args[1]), vector64(d.args[2])
    put = to_vector64(d.args[0])

    def run(w):
        x, n = get(w), u64(count(w) & U(63))
        if d.op == 'v_lshlrev_b64':
            put(w, x << n)
        elif d.op == 'v_lshrrev_b64':
            put(w, x >> n)
        else:
            put(w, (x.view(np.int64) >> n.view(np.int64)).view(U6))
    return run


@define('v_lshl_add_u64')
def shift_add64(d):
    x, n, y = vector64(d.args[1]), vector32(d.args[2]), vector64(d.args[3])
    put = to_vector64(d.args[0])
    return lambda w: put(w, (x(w) << u64(n(w) & U(7))) + y(w))


@define('v_add_u64', 'v_sub_u64')
def add64(d):
    x, y, put = (vector64(d.args[1]), vector64(d.args[2]),
                 to_vector64(d.args[0]))
    if d.op == 'v_add_u64':
        return lambda w: put(w, x(w) + y(w))
    return lambda w: put(w, x(w) - y(w))


@define('v_mad_u64_u32', 'v_mad_i64_i32')
def multiply_add64(d):
    x, y, z = vector32(d.args[2]), vector32(d.args[3]), vector64(d.args[4])
    put, carry = to_vector64(d.args[0]), to_mask(d.args[1])
    if d.op == 'v_mad_i64_i32':
        def run(w):
            product = (as_signed(x(w)).astype(np.int64) *
                       as_signed(y(w)).astype(np.int64)).view(U6)
            put(w, product + z(w))
    else:
        def run(w):
            product, add = u64(x(w)) * u64(y(w)), z(w)
            total = product + add
            put(w, total)
            carry(w, total < add)
    return run


@pattern(r'v_(add|sub|subrev)(c|b|rev)?_co_u32|v_(addc|subb|subbrev)_co_u32')
def carried(d, match):
    name = match[1] or match[3]
    x, y = vector32(d.args[2]), vector32(d.args[3])
    carry_in = from_mask(d.args[4]) if len(d.args) > 4 else None
    put, carry = result(d), to_mask(d.args[1])

    def run(w):
        a, b = u64(x(w)), u64(y(w))
        if name.endswith('rev'):
            a, b = b, a
        c = carry_in(w).astype(U6) if carry_in else U6(0)
        if name.startswith('add'):
            total = a + b + c
            out = total >> U6(32) != 0
        else:
            total = a - b - c
            out = a < b + c
        put(w, low(total))
        carry(w, out)
    return run


# ---- select and compare

@define('v_cndmask_b32')
def select(d):
    both = laned(d, 2, 'f32')
    choice = from_mask(d.args[3] if len(d.args) > 3 else 'vcc')
    put = result(d)

    def run(w):
        x, y = both(w)
        put(w, shown(np.where(choice(w), y, x)))
    return run


ORDER = {
    'f': lambda a, b: np.zeros(64, bool),
    't': lambda a, b: np.ones(64, bool),
    'eq': lambda a, b: a == b,
    'ne': lambda a, b: a != b,
    'lg': lambda a, b: (a < b) | (a > b),
    'gt': lambda a, b: a > b,
    'ge': lambda a, b: a >= b,
    'lt': lambda a, b: a < b,
    'le': lambda a, b: a <= b,
    'o': lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    'u': lambda a, b: np.isnan(a) | np.isnan(b),
    'neq': lambda a, b: ~(a == b),
    'nlg': lambda a, b: ~((a < b) | (a > b)),
    'ngt': lambda a, b: ~(a > b),
    'nge': lambda a, b: ~(a >= b),
    'nlt': lambda a, b: ~(a < b),
    'nle': lambda a, b: ~(a <= b),
    'tru': lambda a, b: np.ones(64, bool),
}


def _compared(d, kind):
    """The two operands as arrays of their type."""
    if kind == 'f32':
        return laned(d, 2, 'f32')
    if kind in ('u64', 'i64'):
        x, y = (vector64(t, kind == 'i64') for t in d.args[1:3])
        if kind == 'i64':
            return lambda w: (x(w).view(np.int64), y(w).view(np.int64))
        return lambda w: (x(w), y(w))
    get = laned(d, 2, 'f16' if kind == 'f16' else 'i32')
    change = {'u32': lambda x: x, 'i32': as_signed,
              'u16': lambda x: x & U(0xffff), 'i16': _s16,
              'f16': lambda x: f16_to_f32(x & U(0xffff))}[kind]
    return lambda w: tuple(change(x) for x in get(w))


@pattern(r'v_cmp(x?)_(f|t|eq|ne|lg|gt|ge|lt|le|o|u|neq|nlg|ngt|nge|nlt|nle|'
         r'tru)_([iuf](?:16|32|64))')
def compare(d, match):
    if match[3] == 'f64':
        raise d.bad(f'{d.op} is not modelled')
    function = ORDER[match[2]]
    get, put = _compared(d, match[3]), to_mask(d.args[0])

    def run(w):
        result = function(*get(w))
        put(w, result)
        if match[1]:
            bits = int.from_bytes(np.packbits(
                result, bitorder='little').tobytes(), 'little')
            w.set_exec(bits & w.exec)
    return run


@define('v_cmp_class_f32')
def classify(d):
    x, kinds = float32(d.args[1]), vector32(d.args[2])
    put = to_mask(d.args[0])

    def run(w):
        a = x(w)
        bits = shown(a)
        sign = bits >> U(31) == 1
        exponent_ = (bits >> U(23)) & U(255)
        fraction = bits & U(0x7fffff)
        nan = (exponent_ == 255) & (fraction != 0)
        quiet = fraction & U(0x400000) != 0
        inf = (exponent_ == 255) & (fraction == 0)
        zero = (exponent_ == 0) & (fraction == 0)
        denormal = (exponent_ == 0) & (fraction != 0)
        normal = ~(nan | inf | zero | denormal)
        classes = [nan & ~quiet, nan & quiet, sign & inf, sign & normal,
                   sign & denormal, sign & zero, ~sign & zero,
                   ~sign & denormal, ~sign & normal, ~sign & inf]
        want = kinds(w)
        out = np.zeros(64, bool)
        for n, lanes in enumerate(classes):
            out |= lanes & ((want >> U(n)) & U(1) == 1)
        put(w, out)
    return run


# ---- division: the fix-up computes the quotient, so the scale is never needed

@define('v_div_scale_f32')
def divide_scale(d):
    x, put = float32(d.args[2]), result(d)
    flag = to_mask(d.args[1])

    def run(w):
        put(w, shown(x(w)))
        flag(w, np.zeros(64, bool))
    return run


@define('v_div_fmas_f32')
def divide_fused(d):
    x, y, z = (float32(t) for t in d.args[1:4])
    put = finish(d)
    return lambda w: put(w, _quiet(fused)(x(w), y(w), z(w)))


@define('v_div_fixup_f32')
def divide_fix(d):
    x, y = float32(d.args[2]), float32(d.args[3])
    put = finish(d)
    return lambda w: put(w, _quiet(lambda a, b: b / a)(x(w), y(w)))

