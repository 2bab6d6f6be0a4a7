/* SPDX-License-Identifier: Apache-2.0
 *
 * wave.h - what a wave does as one.
 * Hooks are documented in cpu_hooks.h.
 */
#ifndef GROAT_JUDGE_WAVE_H
#define GROAT_JUDGE_WAVE_H

#include "judge/model.h"

void groat__judge_transpose_load(struct groat_cpu_env *env, unsigned address,
                                 void *to, unsigned width);
unsigned groat__judge_shuffle(struct groat_cpu_env *env, unsigned value,
                              unsigned lane);
unsigned long long groat__judge_ballot(struct groat_cpu_env *env,
                                       unsigned predicate);
void groat__judge_mfma(struct groat_cpu_env *env, unsigned number, unsigned m,
                       unsigned k, const void *a, const void *b, float *acc);

#endif
