/* SPDX-License-Identifier: Apache-2.0
 *
 * mbarrier.h - NVIDIA's mbarriers.
 * Hooks are documented in cpu_hooks.h.
 */
#ifndef GROAT_JUDGE_MBARRIER_H
#define GROAT_JUDGE_MBARRIER_H

#include "judge/model.h"

void groat__judge_mbarrier_init(struct groat_cpu_env *env, unsigned bar,
                                unsigned count);
void groat__judge_mbarrier_init_fence(struct groat_cpu_env *env);
void groat__judge_mbarrier_arrive(struct groat_cpu_env *env, unsigned bar,
                                  unsigned rank);
void groat__judge_mbarrier_expect(struct groat_cpu_env *env, unsigned bar,
                                  unsigned bytes);
void groat__judge_mbarrier_wait(struct groat_cpu_env *env, unsigned bar,
                                unsigned parity);
void groat__judge_async_proxy_fence(struct groat_cpu_env *env);
/* Finds the mbarrier at an address of a block; `engine`: the copy engine will
 * use it, so it must be fenced.  Reports if it is missing or not visible. */
groat__mbarrier *groat__judge_mbarrier_at(groat__judge *j, uint32_t bar,
                                          size_t rank, bool engine,
                                          const char *verb);
/* Counts the bytes of a copy as arrived; may complete the phase. */
void groat__judge_mbarrier_count(groat__judge *j, groat__engine_copy *copy);
/* Reports if the block's last thread ends without knowing of an arrival that
 * another block made on one of its mbarriers. */
void groat__judge_mbarrier_check_end(groat__judge *j);
void groat__judge_drop_barriers(groat__judge *j);

#endif
