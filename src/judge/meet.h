/* SPDX-License-Identifier: Apache-2.0
 *
 * meet.h - where threads come together.
 * Hooks are documented in cpu_hooks.h.
 */
#ifndef GROAT_JUDGE_MEET_H
#define GROAT_JUDGE_MEET_H

#include "judge/model.h"

/* Gives way to the other lanes; returns when the whole wave has come.  For AMD:
 * NVIDIA's lanes go on. */
void groat__judge_meet(groat__judge *j, groat__fiber_state where);
/* NVIDIA: returns true in the last lane of the wave (of the warpgroup) to come
 * to this instruction, at once; in the others, later, false.  All must bring
 * the same detail. */
bool groat__judge_join(groat__judge *j, groat__joint joint,
                       const uint64_t detail[4]);
/* What a fiber that is JOINED waits in. */
const groat__meeting *groat__judge_meeting_of(const groat__judge *j,
                                              size_t fiber);
void groat__judge_take_lanes(struct groat_cpu_env *env,
                             unsigned long long mask);
void groat__judge_block_barrier(struct groat_cpu_env *env);
unsigned groat__judge_block_vote(struct groat_cpu_env *env, unsigned predicate);
void groat__judge_shared_fence(struct groat_cpu_env *env);
void groat__judge_cluster_barrier(struct groat_cpu_env *env);
unsigned groat__judge_elect(struct groat_cpu_env *env);
void groat__judge_warp_barrier(struct groat_cpu_env *env);
const char *groat__judge_joint_name(groat__joint joint);

#endif
