// SPDX-License-Identifier: Apache-2.0
// Float functions, which use the device's own instructions where it has them.
// All vendors have the same names, in namespace groat; doc/functions.md lists
// how far each is from the exact value.
//
//   sqrt rsqrt rcp
//   exp2 log2        base 2; log2 takes a number above 0
//   sin cos          radians, |x| <= 100
//   tanh
//   fma(a, b, c)     a * b + c, rounded once
//   fmin fmax        of two floats; the other one where one is a NaN
#pragma once

#include "vendor.h"

#if defined(__CUDACC_RTC__) || defined(__CUDACC__)
#include "math_cuda.h"
#elif defined(__HIPCC_RTC__) || defined(__HIP__)
#include "math_hip.h"
#else
#include "math_cpu.h"
#endif

namespace groat {

// Computes 1 - 2 / (e^2|x| + 1) with exp2, and a series where |x| is small.
GROAT_DEVICE float tanh(float x)
{
    float size = x < 0 ? -x : x;
    float y = 1.0f - 2.0f * rcp(exp2(size * 2.885390082f) + 1.0f);

    // For small |x| the difference would cancel, so use the Taylor series.
    if (size < 0.125f) {
        float s = size * size;

        y = size * fma(s, fma(s, fma(s, -0.0539682540f, 0.1333333333f),
                                  -0.3333333333f),
                         1.0f);
    }
    return x < 0 ? -y : y;
}

} // namespace groat
