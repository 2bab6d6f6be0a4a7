// SPDX-License-Identifier: Apache-2.0
// Rounds floats to 16-bit and 8-bit numbers, to nearest even, and converts them
// back, with integer arithmetic alone: every compiler gives the same bits.  A
// NaN stays a NaN and is made quiet.  A value out of range becomes infinity in
// 16 bits, and the largest number in 8 bits.
#pragma once

#include "vendor.h"

namespace groat {

// Returns the 16 bits of the bf16 number nearest to the float with these bits.
GROAT_DEVICE constexpr u32 bf16_of(u32 bits)
{
    return (bits & 0x7fffffffu) > 0x7f800000u
               ? bits >> 16 | 0x40u
               : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

// x / 2^shift, rounded to nearest even; shift is 1 .. 31.
GROAT_DEVICE constexpr u32 shift_rounded(u32 x, u32 shift)
{
    return (x + ((1u << (shift - 1)) - 1u) + (x >> shift & 1u)) >> shift;
}

// The magnitude of the f16 number nearest to a float of this magnitude.
GROAT_DEVICE constexpr u32 f16_magnitude(u32 bits)
{
    return bits > 0x7f800000u ? 0x7e00u // NaN
           : bits >= 0x47800000u
               ? 0x7c00u // 2^16 and more
           : bits >= 0x38800000u
               ? shift_rounded(bits - (112u << 23), 13) // 2^-14 and more
           : bits >= 0x33000000u                        // 2^-25 and more
               ? shift_rounded((bits & 0x7fffffu) | 0x800000u,
                               126u - (bits >> 23))
               : 0u;
}

GROAT_DEVICE constexpr u32 f16_of(u32 bits)
{
    return (bits >> 16 & 0x8000u) | f16_magnitude(bits & 0x7fffffffu);
}

template <mma_number type> GROAT_DEVICE u32 round16(float x)
{
    return type == mma_f16 ? f16_of(float_bits(x)) : bf16_of(float_bits(x));
}

// Packs two floats, the first in the low half.
template <mma_number type> GROAT_DEVICE u32 pack16(float low, float high)
{
    return round16<type>(low) | round16<type>(high) << 16;
}

// ---- 8-bit numbers: e4m3 and e5m2 as OCP defines them.  The fnuz types have a
// larger bias (by 1), no infinity and no -0; 0x80 is their NaN.

enum float8 { e4m3, e5m2, e4m3fnuz, e5m2fnuz };

GROAT_DEVICE constexpr bool is_fnuz(float8 type)
{
    return type == e4m3fnuz || type == e5m2fnuz;
}

GROAT_DEVICE constexpr u32 mantissa_bits(float8 type)
{
    return type == e4m3 || type == e4m3fnuz ? 3 : 2;
}

GROAT_DEVICE constexpr u32 bias_of(float8 type)
{
    return type == e4m3       ? 7
           : type == e4m3fnuz ? 8
           : type == e5m2     ? 15
                              : 16;
}

// The code of the largest number.
GROAT_DEVICE constexpr u32 largest(float8 type)
{
    return type == e4m3 ? 0x7eu : type == e5m2 ? 0x7bu : 0x7fu;
}

// The 8 bits of the number nearest to the float with these bits.
template <float8 type> GROAT_DEVICE constexpr u32 float8_of(u32 bits)
{
    const u32 size = bits & 0x7fffffffu;
    const u32 sign = bits >> 24 & 0x80u;
    const u32 rebias = 127 - bias_of(type);
    const u32 exponent = size >> 23;
    const u32 cut = 23 - mantissa_bits(type);
    u32 code = 0;

    if (size > 0x7f800000u)
        return is_fnuz(type) ? 0x80u : sign | 0x7fu;
    if (exponent > rebias)
        code = shift_rounded(size - (rebias << 23), cut);
    else if (exponent + 31 > rebias + cut)
        code = shift_rounded((size & 0x7fffffu) | 0x800000u,
                             cut + 1 + rebias - exponent);
    if (code > largest(type))
        code = largest(type);
    return is_fnuz(type) && code == 0 ? 0 : sign | code;
}

// Packs four floats, the first in the lowest byte; a NaN's sign may differ.
template <float8 type>
GROAT_DEVICE u32 pack8(float a, float b, float c, float d)
{
    if constexpr (type == e4m3 && converts_e4m3)
        return e4m3_pair(a, b) | e4m3_pair(c, d) << 16;
    else
        return float8_of<type>(float_bits(a)) |
               float8_of<type>(float_bits(b)) << 8 |
               float8_of<type>(float_bits(c)) << 16 |
               float8_of<type>(float_bits(d)) << 24;
}

// Returns the exact value of an 8-bit code.
template <float8 type> GROAT_DEVICE float float8_value(u32 code)
{
    const u32 mantissa = mantissa_bits(type);
    const u32 size = code & 0x7fu;
    const u32 sign = (code & 0x80u) << 24;
    const bool nan = is_fnuz(type) ? code == 0x80u
                     : type == e4m3 ? size == 0x7fu
                                    : size > 0x7cu;

    if (nan)
        return bits_float(sign | 0x7fc00000u);
    if (type == e5m2 && size == 0x7cu)
        return bits_float(sign | 0x7f800000u);
    if (size >> mantissa == 0)
        return bits_float(sign | float_bits(static_cast<float>(size) *
                                            bits_float((128 - bias_of(type) -
                                                        mantissa)
                                                       << 23)));
    return bits_float(sign | ((size << (23 - mantissa)) +
                              ((127 - bias_of(type)) << 23)));
}

// Likewise for 16-bit codes.
GROAT_DEVICE float bf16_value(u32 code)
{
    return bits_float(code << 16);
}

GROAT_DEVICE float f16_value(u32 code)
{
    const u32 sign = (code & 0x8000u) << 16;
    const u32 size = code & 0x7fffu;

    if (size >= 0x7c00u)
        return bits_float(sign | 0x7f800000u | size << 13);
    if (size < 0x400u)
        return bits_float(sign | float_bits(static_cast<float>(size) *
                                            bits_float(103u << 23)));
    return bits_float(sign | ((size << 13) + (112u << 23)));
}

} // namespace groat
