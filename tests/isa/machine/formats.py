# SPDX-License-Identifier: Apache-2.0
"""Number formats: bf16, the 8-bit floats in both of AMD's encodings, and the
small ones of the f8f6f4 instructions.  gfx942 has the FNUZ encodings (no
negative zero, which is the NaN; bias one higher), gfx950 those of OCP."""
import numpy as np


def _table(bits, exponent, mantissa, bias, specials):
    """Values of all codes of a format; specials(sign, e, m) may answer."""
    values = np.zeros(1 << bits)
    for code in range(1 << bits):
        sign = -1.0 if code >> (bits - 1) else 1.0
        e = code >> mantissa & ((1 << exponent) - 1)
        m = code & ((1 << mantissa) - 1)
        special = specials(sign, e, m)
        if special is not None:
            values[code] = special
        elif e == 0:
            values[code] = sign * m * 2.0 ** (1 - bias - mantissa)
        else:
            values[code] = sign * (1 + m / (1 << mantissa)) * 2.0 ** (e - bias)
    return values


def _none(sign, e, m):
    return None


def _fnuz(sign, e, m):
    return np.nan if sign < 0 and e == 0 and m == 0 else None


def _e4m3(sign, e, m):
    return np.nan if e == 15 and m == 7 else None


def _e5m2(sign, e, m):
    if e != 31:
        return None
    return sign * np.inf if m == 0 else np.nan


OCP = {'fp8': _table(8, 4, 3, 7, _e4m3), 'bf8': _table(8, 5, 2, 15, _e5m2)}
FNUZ = {'fp8': _table(8, 4, 3, 8, _fnuz), 'bf8': _table(8, 5, 2, 16, _fnuz)}
SMALL = {'fp6': _table(6, 2, 3, 1, _none), 'bf6': _table(6, 3, 2, 3, _none),
         'fp4': _table(4, 2, 1, 1, _none)}


def eight_bit(arch):
    """The fp8 and bf8 of an arch."""
    return FNUZ if arch in ('gfx940', 'gfx941', 'gfx942') else OCP


def _encode_table(arch, name):
    """Finite values in rising order, and their codes, of the positive half.
    """
    values = eight_bit(arch)[name][:128]
    codes = np.arange(128)[np.isfinite(values)]
    return values[codes], codes


def to_eight_bit(x, arch, name):
    """float32 lanes to codes (uint32): to nearest, ties to even; beyond the
    largest value to NaN, or to infinity where the format has one."""
    values, codes = _encode_table(arch, name)
    fnuz = eight_bit(arch) is FNUZ
    nan = 0x80 if fnuz else 0x7f
    a = np.abs(x.astype(np.float64))
    at = np.clip(np.searchsorted(values, a), 1, len(values) - 1)
    low, high = values[at - 1], values[at]
    up = (a - low > high - a) | ((a - low == high - a) & (codes[at] % 2 == 0))
    out = np.where(up, codes[at], codes[at - 1]).astype(np.uint32)
    # Half a step beyond the largest rounds out of the format.
    step = values[-1] - values[-2]
    over = a >= values[-1] + step / 2
    beyond = 0x7c if name == 'bf8' and not fnuz else nan
    out = np.where(over, beyond, out)
    sign = np.signbit(x).astype(np.uint32) << np.uint32(7)
    out = np.where((out == 0) & fnuz, 0, out | sign)
    return np.where(np.isnan(x), nan, out).astype(np.uint32)


def bf16_to_f32(bits):
    """uint16 or uint32 codes to float32."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def f32_to_bf16(x):
    """To nearest, ties to even; codes as uint32."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded = (bits.astype(np.uint64) + np.uint64(0x7fff) +
               ((bits >> np.uint32(16)) & np.uint32(1)).astype(np.uint64))
    out = (rounded >> np.uint64(16)).astype(np.uint32)
    quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
    return np.where(np.isnan(x), quiet, out).astype(np.uint32)


def f16_to_f32(bits):
    return bits.astype(np.uint16).view(np.float16).astype(np.float32)


def f32_to_f16(x):
    with np.errstate(all='ignore'):
        return np.asarray(x).astype(np.float16).view(np.uint16).astype(
            np.uint32)
