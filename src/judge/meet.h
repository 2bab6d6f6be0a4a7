/* SPDX-License-Identifier: Apache-2.0
 *
 * meet.h - where threads wait for each other.
 * Hooks are documented in cpu_hooks.h.
 */
#ifndef GROAT_JUDGE_MEET_H
#define GROAT_JUDGE_MEET_H

#include "judge/model.h"

/* AMD: yields to the other lanes and returns when the whole wave has arrived.
 * NVIDIA: returns at once. */
void groat__judge_meet(groat__judge *j, groat__fiber_state where);
/* NVIDIA: waits until all lanes of the wave (or warpgroup) have arrived.
 * Returns true in the last lane to arrive, at once, and false in the others,
 * later.  `detail` must be equal in all lanes. */
bool groat__judge_join(groat__judge *j, groat__joint joint,
                       const uint64_t detail[4]);
/* The meeting that a JOINED fiber waits in. */
const groat__meeting *groat__judge_meeting_of(const groat__judge *j,
                                              size_t fiber);
void groat__judge_take_lanes(struct groat_cpu_env *env,
                             unsigned long long mask);
unsigned groat__judge_active_lanes(struct groat_cpu_env *env);
/* Lets a lane that waits at a shuffle, vote or warp barrier complete it, if all
 * lanes that it lacks are absent.  Returns whether one can go on. */
bool groat__judge_go_without(groat__judge *j);
/* Lets lanes that are GATHERING at one place of a warp go on, of each warp; to
 * be called when no thread can.  False if there are none. */
bool groat__judge_gather(groat__judge *j);
void groat__judge_block_barrier(struct groat_cpu_env *env, unsigned line);
unsigned groat__judge_block_vote(struct groat_cpu_env *env, unsigned predicate,
                                 unsigned line);
void groat__judge_shared_fence(struct groat_cpu_env *env);
void groat__judge_cluster_barrier(struct groat_cpu_env *env);
unsigned groat__judge_elect(struct groat_cpu_env *env);
void groat__judge_warp_barrier(struct groat_cpu_env *env);
const char *groat__judge_joint_name(const groat__judge *j, groat__joint joint);

#endif
