/* SPDX-License-Identifier: Apache-2.0
 *
 * device.h - the order of a cluster's accesses to device memory.
 */
#ifndef GROAT_JUDGE_DEVICE_H
#define GROAT_JUDGE_DEVICE_H

#include "judge/model.h"

/* Check an access of the current fiber against those of other threads of the
 * cluster and record it: a load; a store, before it happens, of the bytes at
 * `from`; a store of bytes that are not known yet, which leaves the finding, if
 * any, to the caller; an atomic or volatile store; a volatile load.  The memory
 * belongs to a buffer. */
void groat__judge_device_load(groat__judge *j, uint64_t address,
                              uint64_t bytes);
void groat__judge_device_store(groat__judge *j, uint64_t address,
                               uint64_t bytes, const void *from);
void groat__judge_device_write(groat__judge *j, uint64_t address,
                               uint64_t bytes);
void groat__judge_device_atomic(groat__judge *j, uint64_t address,
                                uint64_t bytes);
void groat__judge_device_sync(groat__judge *j);
/* Records the value of a store that has happened.  NULL: it is not known. */
void groat__judge_device_stored(groat__judge *j, uint64_t address,
                                uint64_t bytes, const void *value,
                                bool changed);
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
