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
/* Describe a copy between a box, or bytes of device memory, and the block's
 * shared memory; report what it may not be. */
groat__engine_copy groat__judge_box(groat__judge *j, const void *map,
                                    uint32_t shared, const int *at,
                                    uint32_t rank);
groat__engine_copy groat__judge_bulk(groat__judge *j, uint32_t shared,
                                     uint64_t device, uint32_t bytes);
/* Whether the current thread knows that a byte which a thread stored is fenced
 * for the engine. */
bool groat__judge_is_fenced(const groat__judge *j, const groat__shadow *s);
/* Lets the bytes of one copy arrive; false when no copy is outstanding. */
bool groat__judge_engine_step(groat__judge *j);
/* Reports if the block's last thread ends with copies into it in flight. */
void groat__judge_engine_check_end(groat__judge *j);

#endif
