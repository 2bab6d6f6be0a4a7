// SPDX-License-Identifier: Apache-2.0
// common/math.h for hipRTC and clang, by CDNA's instructions: v_sqrt_f32,
// v_rsq_f32, v_rcp_f32, v_sin_f32 and v_cos_f32 (in turns, reduced by
// v_fract_f32).  exp2 and log2 leave v_exp_f32 and v_log_f32 to the compiler,
// as their builtins are younger than the oldest hipRTC.
#pragma once

namespace groat {

GROAT_DEVICE float sqrt(float x)
{
    return __builtin_amdgcn_sqrtf(x);
}

GROAT_DEVICE float rsqrt(float x)
{
    return __builtin_amdgcn_rsqf(x);
}

GROAT_DEVICE float rcp(float x)
{
    return __builtin_amdgcn_rcpf(x);
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
    return __builtin_amdgcn_sinf(__builtin_amdgcn_fractf(x * 0.15915494f));
}

GROAT_DEVICE float cos(float x)
{
    return __builtin_amdgcn_cosf(__builtin_amdgcn_fractf(x * 0.15915494f));
}

GROAT_DEVICE float fma(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}

GROAT_DEVICE float fmin(float a, float b)
{
    return __builtin_fminf(a, b);
}

GROAT_DEVICE float fmax(float a, float b)
{
    return __builtin_fmaxf(a, b);
}

} // namespace groat
