// SPDX-License-Identifier: Apache-2.0
// Functions of floats, by the device's own instructions where it has them.  The
// names are in namespace groat and alike for all vendors; doc/functions.md has a
// table of how far each is from the exact value.
//
//   sqrt rsqrt rcp
//   exp2 log2        of base 2; log2 of a number above 0
//   sin cos          of radians, for |x| <= 100
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

// By exp2: 1 - 2 / (e^2x + 1), and x itself where that loses its digits.
GROAT_DEVICE float tanh(float x)
{
    float size = x < 0 ? -x : x;
    float y = 1.0f - 2.0f * rcp(exp2(size * 2.885390082f) + 1.0f);

    // The series where the difference would lose digits.
    if (size < 0.125f) {
        float s = size * size;

        y = size * fma(s, fma(s, fma(s, -0.0539682540f, 0.1333333333f),
                                  -0.3333333333f),
                         1.0f);
    }
    return x < 0 ? -y : y;
}

} // namespace groat
