/* SPDX-License-Identifier: Apache-2.0
 *
 * tma.h - NVIDIA's copy engine.
 * Hooks are documented in cpu_hooks.h.
 */
#ifndef GROAT_JUDGE_TMA_H
#define GROAT_JUDGE_TMA_H

#include "judge/model.h"

void groat__judge_tma_load(struct groat_cpu_env *env, const void *map,
                           unsigned to, unsigned bar, const int *at,
                           unsigned rank, unsigned reach, unsigned ctas);
void groat__judge_tma_prefetch(struct groat_cpu_env *env, const void *map);
void groat__judge_bulk_load(struct groat_cpu_env *env, unsigned to,
                            unsigned long long from, unsigned bytes,
                            unsigned bar);
/* Lets the bytes of one copy arrive; false when no copy is outstanding. */
bool groat__judge_engine_step(groat__judge *j);
/* Reports if the block's last thread ends with copies into it in flight. */
void groat__judge_engine_check_end(groat__judge *j);

#endif
