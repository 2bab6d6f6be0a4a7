/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "run.h"

static double compute(float x)
{
    float centred = x - 50;

    switch (function) {
    case function_sqrt:
        return sqrt((double)x);
    case function_rsqrt:
        return 1 / sqrt((double)x);
    case function_rcp:
        return 1 / (double)x;
    case function_exp2:
        return exp2((double)centred);
    case function_log2:
        return log2((double)x);
    case function_sin:
        return sin((double)centred);
    case function_cos:
        return cos((double)centred);
    case function_tanh:
        return tanh((double)(centred * 0.125f));
    case function_fma:
        return (double)x * x + (double)centred;
    case function_fmin:
        return fminf(x, 2 * centred);
    default:
        return fmaxf(x, 2 * centred);
    }
}

void reference(const struct run *run)
{
    for (long long i = 0; i < run->count; i++)
        run->y[i] = (float)compute(run->x[i]);
}
