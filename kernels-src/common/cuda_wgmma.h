// SPDX-License-Identifier: Apache-2.0
// Inline PTX of sm_90a, as common/cuda_ptx.h has the rest: products of a warpgroup,
// of B in shared memory and A there or in registers, in floats.  (PTX ISA,
// wgmma.mma_async.)
#pragma once

#include "cuda_async.h"
#include "cuda_mma.h"
#include "mma.h"

namespace groat_ptx {

enum { GIVEN_MAX = 10 };

struct group_product {
    float *sums;
    unsigned count;                     // of sums
    unsigned long long given[GIVEN_MAX]; // what follows them
    unsigned more;
};

GROAT_LANES void take(group_product &p, float &sum)
{
    if (p.count == 0)
        p.sums = &sum;
    if (&sum != p.sums + p.count)
        refuse("adds a wgmma to variables that are no array of floats, which is "
               "not judged");
    p.count++;
}

template <class T> GROAT_LANES void take(group_product &p, const T &x)
{
    if (p.more < GIVEN_MAX)
        p.given[p.more++] = (unsigned long long)x;
}

// Behind the sums are A, as a descriptor or as four words, the descriptor of B,
// whether the sums count, the signs of A and B, and of numbers of 16 bits which
// of the two that are in shared memory are transposed.
GROAT_LANES void multiply_group(const group_product &p, unsigned number,
                                unsigned n, bool narrow)
{
    const unsigned descriptors = narrow ? 5 : 7, words = narrow ? 8 : 9;
    const bool in_words = p.more == words;
    const unsigned long long *at = p.given + (in_words ? 4 : 1);
    const unsigned long long *turned = at + 4;
    const unsigned a[4] = {(unsigned)p.given[0], (unsigned)p.given[1],
                           (unsigned)p.given[2], (unsigned)p.given[3]};

    if (p.count != n / 2 || (p.more != descriptors && !in_words))
        refuse("adds other numbers than floats, or has other operands than PTX "
               "says (wgmma), which is not judged");
    if (at[2] != 1 || at[3] != 1)
        refuse("multiplies by -1 (wgmma), which is not judged");
    cpu_env->ops->wgmma(cpu_env, number, n, !narrow && !in_words && turned[0] != 0,
                        !narrow && turned[in_words ? 0 : 1] != 0,
                        in_words ? 0 : p.given[0], in_words ? a : nullptr, at[0],
                        at[1] != 0, p.sums);
}

#define GROAT_PTX_GROUP(n, depth, types, number, narrow) \
    template <class... X> \
    GROAT_LANES void \
        wgmma_mma_async_sync_aligned_m64n##n##depth##_f32##types(X &&...x) \
    { \
        group_product p = {}; \
        (take(p, x), ...); \
        multiply_group(p, number, n, narrow); \
    }

#define GROAT_PTX_GROUPS(n) \
    GROAT_PTX_GROUP(n, k16, _bf16_bf16, mma_bf16, false) \
    GROAT_PTX_GROUP(n, k16, _f16_f16, mma_f16, false) \
    GROAT_PTX_GROUP(n, k32, _e4m3_e4m3, mma_fp8, true) \
    GROAT_PTX_GROUP(n, k32, _e5m2_e5m2, mma_bf8, true)

GROAT_PTX_GROUPS(8)
GROAT_PTX_GROUPS(16)
GROAT_PTX_GROUPS(24)
GROAT_PTX_GROUPS(32)
GROAT_PTX_GROUPS(40)
GROAT_PTX_GROUPS(48)
GROAT_PTX_GROUPS(56)
GROAT_PTX_GROUPS(64)
GROAT_PTX_GROUPS(72)
GROAT_PTX_GROUPS(80)
GROAT_PTX_GROUPS(88)
GROAT_PTX_GROUPS(96)
GROAT_PTX_GROUPS(104)
GROAT_PTX_GROUPS(112)
GROAT_PTX_GROUPS(120)
GROAT_PTX_GROUPS(128)
GROAT_PTX_GROUPS(136)
GROAT_PTX_GROUPS(144)
GROAT_PTX_GROUPS(152)
GROAT_PTX_GROUPS(160)
GROAT_PTX_GROUPS(168)
GROAT_PTX_GROUPS(176)
GROAT_PTX_GROUPS(184)
GROAT_PTX_GROUPS(192)
GROAT_PTX_GROUPS(200)
GROAT_PTX_GROUPS(208)
GROAT_PTX_GROUPS(216)
GROAT_PTX_GROUPS(224)
GROAT_PTX_GROUPS(232)
GROAT_PTX_GROUPS(240)
GROAT_PTX_GROUPS(248)
GROAT_PTX_GROUPS(256)

GROAT_LANES void wgmma_fence_sync_aligned()
{
    cpu_env->ops->wgmma_fence(cpu_env);
}

GROAT_LANES void wgmma_commit_group_sync_aligned()
{
    cpu_env->ops->wgmma_commit(cpu_env);
}

GROAT_LANES void wgmma_wait_group_sync_aligned(unsigned groups)
{
    cpu_env->ops->wgmma_wait(cpu_env, groups);
}

} // namespace groat_ptx
