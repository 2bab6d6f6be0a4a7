// SPDX-License-Identifier: Apache-2.0
// common/math.h for NVRTC and nvcc, by PTX's approximate instructions.
#pragma once

namespace groat {

GROAT_DEVICE float sqrt(float x)
{
    return __fsqrt_rn(x);
}

GROAT_DEVICE float rsqrt(float x)
{
    float y;

    asm("rsqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

GROAT_DEVICE float rcp(float x)
{
    return __frcp_rn(x);
}

GROAT_DEVICE float exp2(float x)
{
    float y;

    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

GROAT_DEVICE float log2(float x)
{
    float y;

    asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

GROAT_DEVICE float sin(float x)
{
    return ::sinf(x);
}

GROAT_DEVICE float cos(float x)
{
    return ::cosf(x);
}

GROAT_DEVICE float fma(float a, float b, float c)
{
    return __fmaf_rn(a, b, c);
}

GROAT_DEVICE float fmin(float a, float b)
{
    return ::fminf(a, b);
}

GROAT_DEVICE float fmax(float a, float b)
{
    return ::fmaxf(a, b);
}

} // namespace groat
