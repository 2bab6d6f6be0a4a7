// SPDX-License-Identifier: Apache-2.0
// common/math.h for the host's C++ compiler, by the C library.
#pragma once

namespace groat
{

GROAT_DEVICE float sqrt(float x)
{
    return __builtin_sqrtf(x);
}

GROAT_DEVICE float rsqrt(float x)
{
    return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(x)));
}

GROAT_DEVICE float rcp(float x)
{
    return 1.0f / x;
}

GROAT_DEVICE float exp2(float x)
{
    return __builtin_exp2f(x);
}

GROAT_DEVICE float log2(float x)
{
    return __builtin_log2f(x);
}

GROAT_DEVICE float sin(float x)
{
    return __builtin_sinf(x);
}

GROAT_DEVICE float cos(float x)
{
    return __builtin_cosf(x);
}

GROAT_DEVICE float fma(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}

// libc's give a NaN for a signalling one.
GROAT_DEVICE float fmin(float a, float b)
{
    return a != a ? b : b != b ? a : __builtin_fminf(a, b);
}

GROAT_DEVICE float fmax(float a, float b)
{
    return a != a ? b : b != b ? a : __builtin_fmaxf(a, b);
}

} // namespace groat
