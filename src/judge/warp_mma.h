/* SPDX-License-Identifier: Apache-2.0
 *
 * warp_mma.h - ldmatrix and mma.sync.  Hooks are documented in cpu_hooks.h.
 */
#ifndef GROAT_JUDGE_WARP_MMA_H
#define GROAT_JUDGE_WARP_MMA_H

#include "judge/model.h"

void groat__judge_matrix_load(struct groat_cpu_env *env, unsigned address,
                              void *to, unsigned transposed);
void groat__judge_mma_16x8(struct groat_cpu_env *env, unsigned number,
                           const void *a, const void *b, float *acc);

#endif
