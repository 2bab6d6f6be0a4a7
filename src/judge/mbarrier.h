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
void groat__judge_mbarrier_inval(struct groat_cpu_env *env, unsigned bar);
void groat__judge_mbarrier_init_fence(struct groat_cpu_env *env);
unsigned groat__judge_mbarrier_arrive(struct groat_cpu_env *env, unsigned bar,
                                      unsigned rank, unsigned count);
void groat__judge_mbarrier_expect(struct groat_cpu_env *env, unsigned bar,
                                  unsigned bytes);
void groat__judge_mbarrier_wait(struct groat_cpu_env *env, unsigned bar,
                                unsigned parity);
unsigned groat__judge_mbarrier_try(struct groat_cpu_env *env, unsigned bar,
                                   unsigned parity);
void groat__judge_async_proxy_fence(struct groat_cpu_env *env);
/* Finds the mbarrier at an address of a block; `engine`: the copy engine will
 * use it, so it must be fenced.  Reports if it is missing or not visible. */
groat__mbarrier *groat__judge_mbarrier_at(groat__judge *j, uint32_t bar,
                                          size_t rank, bool engine,
                                          const char *verb);
/* Makes a barrier of the current thread's block, of `count` arrivals; it is
 * there until the next one is made.  Leaves the fiber without memory. */
groat__mbarrier *groat__judge_new_barrier(groat__judge *j, unsigned count);
/* Counts arrivals of the current thread, of which that many are missing; may
 * complete the phase. */
void groat__judge_count_arrival(groat__judge *j, uint32_t number,
                                uint32_t count);
/* Waits until that phase is complete. */
void groat__judge_await_phase(groat__judge *j, uint32_t number, uint32_t phase);
/* Lets threads that poll a phase go on without it, to be called when no thread
 * can; false if none polls, or all have done so many times while nothing was
 * counted anywhere. */
bool groat__judge_give_up_polls(groat__judge *j);
/* Counts the bytes of a copy as arrived; may complete the phase. */
void groat__judge_mbarrier_count(groat__judge *j, groat__engine_copy *copy);
/* Reports if the block's last thread ends without knowing of an arrival that
 * another block made on one of its mbarriers. */
void groat__judge_mbarrier_check_end(groat__judge *j);
void groat__judge_drop_barriers(groat__judge *j);

#endif
