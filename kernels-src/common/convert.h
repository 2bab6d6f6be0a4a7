// SPDX-License-Identifier: Apache-2.0
// Floats rounded to 16-bit numbers, to the nearest and ties to even, by integer
// arithmetic alone: the same bits from every compiler.  A NaN stays one and is
// made quiet; what is too large becomes infinite.
#pragma once

#include "vendor.h"

namespace groat {

// The 16 bits of the bf16 number nearest to the float with these bits.
GROAT_DEVICE constexpr u32 bf16_of(u32 bits)
{
    return (bits & 0x7fffffffu) > 0x7f800000u
               ? bits >> 16 | 0x40u
               : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

// x / 2^shift, to the nearest and ties to even; shift is 1 .. 31.
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

// Two floats, the first in the low half.
template <mma_number type> GROAT_DEVICE u32 pack16(float low, float high)
{
    return round16<type>(low) | round16<type>(high) << 16;
}

} // namespace groat
