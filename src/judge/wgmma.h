/* SPDX-License-Identifier: Apache-2.0
 *
 * wgmma.h - NVIDIA's matrix multiplication by a warpgroup.
 * Hooks are documented in cpu_hooks.h.
 */
#ifndef GROAT_JUDGE_WGMMA_H
#define GROAT_JUDGE_WGMMA_H

#include "judge/model.h"

void groat__judge_wgmma_fence(struct groat_cpu_env *env);
void groat__judge_wgmma_commit(struct groat_cpu_env *env);
void groat__judge_wgmma_wait(struct groat_cpu_env *env, unsigned groups);
void groat__judge_wgmma(struct groat_cpu_env *env, unsigned number, unsigned n,
                        unsigned a_mn_major, unsigned b_mn_major,
                        unsigned long long desc_a, const unsigned *a,
                        unsigned long long desc_b, unsigned accumulate,
                        float *acc);
/* Judges an access of the thread to its own memory, where sums may be. */
void groat__judge_wgmma_touch(groat__judge *j, uint64_t address, uint64_t bytes,
                              bool written);
void groat__judge_wgmma_check_end(groat__judge *j);
void groat__judge_drop_products(groat__fiber *fiber);

#endif
