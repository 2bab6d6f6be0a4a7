// SPDX-License-Identifier: Apache-2.0
// functions computes one function of common/math.h, one number per thread.
#include "params.h"

#include "../common/math.h"
#include "args.h"

namespace groat
{
namespace functions
{

using namespace params;

GROAT_DEVICE float compute(float x)
{
    const float centred = x - 50;

    if constexpr (function == function_sqrt)
        return sqrt(x);
    else if constexpr (function == function_rsqrt)
        return rsqrt(x);
    else if constexpr (function == function_rcp)
        return rcp(x);
    else if constexpr (function == function_exp2)
        return exp2(centred);
    else if constexpr (function == function_log2)
        return log2(x);
    else if constexpr (function == function_sin)
        return sin(centred);
    else if constexpr (function == function_cos)
        return cos(centred);
    else if constexpr (function == function_tanh)
        return tanh(centred * 0.125f);
    else if constexpr (function == function_fma)
        return fma(x, x, centred);
    else if constexpr (function == function_fmin)
        return fmin(x, 2 * centred);
    else
        return fmax(x, 2 * centred);
}

GROAT_DEVICE void run(const functions_args &args)
{
    const u64 i = block_index() * 256 + thread_index();

    if (i < args.count)
        global_store4(
            args.y + i * 4,
            float_bits(compute(bits_float(global_load4(args.x + i * 4)))));
}

} // namespace functions
} // namespace groat

GROAT_KERNEL(functions_args)
{
    groat::functions::run(args);
}
