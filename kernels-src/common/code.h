// SPDX-License-Identifier: Apache-2.0
// The arithmetic behind a spec's expressions (parameters of type code).  Ints
// wrap around and a division by 0 gives 0; the float functions map to those of
// math.h, which have other names.
#pragma once

#include "math.h"

namespace groat {

GROAT_DEVICE int code_add(int a, int b)
{
    return static_cast<int>(static_cast<u32>(a) + static_cast<u32>(b));
}

GROAT_DEVICE int code_sub(int a, int b)
{
    return static_cast<int>(static_cast<u32>(a) - static_cast<u32>(b));
}

GROAT_DEVICE int code_mul(int a, int b)
{
    return static_cast<int>(static_cast<u32>(a) * static_cast<u32>(b));
}

GROAT_DEVICE int code_div(int a, int b)
{
    return b == 0 ? 0 : b == -1 ? code_sub(0, a) : a / b;
}

GROAT_DEVICE int code_mod(int a, int b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

GROAT_DEVICE int code_min(int a, int b)
{
    return a < b ? a : b;
}

GROAT_DEVICE float code_min(float a, float b)
{
    return fmin(a, b);
}

GROAT_DEVICE int code_max(int a, int b)
{
    return a < b ? b : a;
}

GROAT_DEVICE float code_max(float a, float b)
{
    return fmax(a, b);
}

GROAT_DEVICE int code_abs(int a)
{
    return a < 0 ? code_sub(0, a) : a;
}

GROAT_DEVICE float code_abs(float a)
{
    return bits_float(float_bits(a) & 0x7fffffffu); // of -0, too
}

// Truncates towards 0 and saturates to the range of int; a NaN gives 0.
GROAT_DEVICE int code_int(float a)
{
    if (!(a == a))
        return 0;
    return a >= 2147483648.0f    ? 2147483647
           : a <= -2147483648.0f ? -2147483647 - 1
                                 : static_cast<int>(a);
}

GROAT_DEVICE float code_exp(float a)
{
    return exp2(a * 1.4426950408889634f);
}

GROAT_DEVICE float code_log(float a)
{
    return log2(a) * 0.6931471805599453f;
}

} // namespace groat
