/* SPDX-License-Identifier: Apache-2.0
 *
 * held.h - stores that the kernel makes itself, and loads that race with atomic
 * operations, which are looked at at the next hook.
 */
#ifndef GROAT_JUDGE_HELD_H
#define GROAT_JUDGE_HELD_H

#include "judge/model.h"

/* Holds a store that is about to happen: one to device memory, or one to shared
 * memory that races, whose finding has been recorded. */
void groat__judge_hold(groat__judge *j, void *at, size_t bytes, bool device);
/* Holds the finding of a load of shared memory that races with an atomic
 * operation, unless one by its thread comes next. */
void groat__judge_hold_load(groat__judge *j, void *at, size_t bytes);

#endif
