/* SPDX-License-Identifier: Apache-2.0
 *
 * device.h - the order of a cluster's accesses to device memory.
 */
#ifndef GROAT_JUDGE_DEVICE_H
#define GROAT_JUDGE_DEVICE_H

#include "judge/model.h"

/* Check an access of the current fiber against those of other threads of the
 * cluster and record it: a load; a store, of which `before` and `after` are
 * what is there before and after it; an atomic operation or a volatile store.
 * The memory belongs to a buffer, or is a variable of the kernel. */
void groat__judge_device_load(groat__judge *j, uint64_t address,
                              uint64_t bytes);
void groat__judge_device_store(groat__judge *j, uint64_t address,
                               uint64_t bytes, const void *before,
                               const void *after);
void groat__judge_device_atomic(groat__judge *j, uint64_t address,
                                uint64_t bytes);
/* Comes before each store: what is there can be put back if clusters run again,
 * one after the other. */
void groat__judge_device_keep(groat__judge *j, uint64_t address,
                              uint64_t bytes);
/* Records an atomic or volatile access to shared memory, or a volatile load of
 * device memory: `global`. */
void groat__judge_device_meet(groat__judge *j, bool global);
/* Writes "at device address 0x1234", or what else the address is; returns
 * `said`. */
const char *groat__judge_device_name(const groat__judge_launch *launch,
                                     uint64_t address,
                                     char said[GROAT__JUDGE_SAID]);
/* Forgets all accesses; a cluster starts. */
void groat__judge_device_forget(groat__judge *j);
/* Adds what a cluster did, which has ended, to j->spans.  False: no memory. */
bool groat__judge_device_hand_over(groat__judge *j);
void groat__judge_device_drop(groat__judge *j);

#endif
