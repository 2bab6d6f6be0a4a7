/* SPDX-License-Identifier: Apache-2.0
 *
 * fiber.h - the threads of a cluster as fibers, and how one is reported.
 */
#ifndef GROAT_JUDGE_FIBER_H
#define GROAT_JUDGE_FIBER_H

#include "judge/model.h"

bool groat__judge_make_fibers(groat__judge *j);
void groat__judge_drop_fibers(groat__judge *j);
void groat__judge_start(groat__judge *j, size_t fiber);
/* Runs a fiber until it stops. */
void groat__judge_resume(groat__judge *j, size_t fiber);
/* Stops this fiber in a state; returns when it is resumed. */
void groat__judge_stop(groat__judge *j, groat__fiber_state state);
/* Adds a place to the finding that is reported next: "the write". */
void groat__judge_add_place(groat__judge *j, int32_t site, const char *format,
                            ...) GROAT_PRINTF(3, 4);
/* Leaves the fiber for good, the launch with a finding. */
_Noreturn void groat__judge_report(groat__judge *j, const char *format, ...)
    GROAT_PRINTF(2, 3);
_Noreturn void groat__judge_starve(groat__judge *j); /* of host memory */
/* An array with room for one more than `count` items, of *cap; it may move.
 * Does not return where there is no host memory. */
void *groat__judge_grow(groat__judge *j, void *items, size_t count, size_t *cap,
                        size_t bytes);
/* A finding about any fiber, which goes on; the first one stays. */
void groat__judge_blame(groat__judge *j, size_t fiber, const char *format, ...)
    GROAT_PRINTF(3, 4);
/* After groat__judge_blame(), from a fiber. */
_Noreturn void groat__judge_leave(groat__judge *j);
/* Leaves the fiber for good because a cluster before this one has a finding. */
_Noreturn void groat__judge_abandon(groat__judge *j);
uint64_t groat__judge_random(groat__judge *j);

#endif
