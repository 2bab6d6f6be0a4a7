# SPDX-License-Identifier: Apache-2.0
"""Inputs for launches, and the encodings to say what must come out: shared by
the families' oracles, and nothing of it by the machine."""
import random

import numpy as np

# exponent bits, mantissa bits, bias; FNUZ (gfx942) biases are one higher.
FORMATS = {'bf16': (8, 7, 127), 'f16': (5, 10, 15), 'fp8': (4, 3, 7),
           'bf8': (5, 2, 15), 'fp4': (2, 1, 1)}
ELEMENT_BYTES = {'bf16': 2, 'f16': 2, 'fp8': 1, 'bf8': 1, 'f32': 4, 'i8': 1}


def random_bytes(size, seed):
    """None of them zero, so that a zero fill always shows."""
    values = np.frombuffer(random.Random(seed).randbytes(size), np.uint8)
    return np.maximum(values, 1)


def encode(values, dtype, arch):
    """Codes of small whole numbers that the format has exactly, as unsigned
    integers of the element's size."""
    values = np.asarray(values)
    if dtype == 'f32':
        return values.astype(np.float32).view(np.uint32)
    if dtype == 'i8':
        return values.astype(np.int8).view(np.uint8)
    exponent, mantissa, bias = FORMATS[dtype]
    if arch == 'gfx942' and dtype in ('fp8', 'bf8'):
        bias += 1
    table = {}
    for value in np.unique(values).tolist():
        code = 0
        if value:
            scale = abs(int(value)).bit_length() - 1
            fraction = abs(value) / 2 ** scale - 1
            if fraction * 2 ** mantissa % 1:
                raise ValueError(f'{dtype} has no {value}')
            code = ((scale + bias) << mantissa |
                    int(fraction * 2 ** mantissa) |
                    (value < 0) << (exponent + mantissa))
        table[value] = code
    out = np.vectorize(table.get, otypes=[np.uint32])(values)
    return out.astype(np.uint16 if exponent + mantissa > 7 else np.uint8)


def small_numbers(shape, seed, most=4):
    """Whole numbers of -most..most as float64: products of a few hundred sum
    up exactly in float32."""
    rng = np.random.default_rng(list(str(seed).encode()))
    return rng.integers(-most, most + 1, shape).astype(np.float64)


def real_numbers(shape, seed, dtype):
    """Codes of 16-bit numbers of many magnitudes, and their values."""
    rng = np.random.default_rng(list(str(seed).encode()))
    x = (rng.standard_normal(shape) *
         2.0 ** rng.integers(-8, 4, shape)).astype(np.float32)
    if dtype == 'f16':
        half = x.astype(np.float16)
        return half.view(np.uint16), half.astype(np.float64)
    bits = x.view(np.uint32) >> 16
    return (bits.astype(np.uint16),
            (bits << 16).view(np.float32).astype(np.float64))


def swizzled(k, x):
    """The XOR swizzle of a spec, of an index in its unit."""
    bits, low, shift = (k['swizzle_bits'], k['swizzle_base'],
                        k['swizzle_shift'])
    field = (1 << bits) - 1
    if shift >= 0:
        return x ^ (x >> (low + shift) & field) << low
    return x ^ (x >> low & field) << (low - shift)
