/* SPDX-License-Identifier: Apache-2.0
 *
 * wave.h - wave-wide operations.
 * Hooks are documented in cpu_hooks.h.
 */
#ifndef GROAT_JUDGE_WAVE_H
#define GROAT_JUDGE_WAVE_H

#include "judge/model.h"

/* Begins an operation of the whole wave, of a kind that must be equal in all
 * lanes.  Returns the place for this lane's operands. */
groat__brought *groat__judge_bring(groat__judge *j, uint32_t kind);
/* Waits for all lanes, in either vendor's way. */
void groat__judge_come_together(groat__judge *j);
/* A lane's operands, valid until that lane begins its next but one operation.
 */
const groat__brought *groat__judge_brought(const groat__judge *j, size_t lane);
void groat__judge_transpose_load(struct groat_cpu_env *env, unsigned address,
                                 void *to, unsigned width);
unsigned groat__judge_shuffle(struct groat_cpu_env *env, unsigned value,
                              unsigned lane);
unsigned long long groat__judge_ballot(struct groat_cpu_env *env,
                                       unsigned predicate);
void groat__judge_mfma(struct groat_cpu_env *env, unsigned number, unsigned m,
                       unsigned k, const void *a, const void *b, float *acc);

#endif
