/* SPDX-License-Identifier: Apache-2.0
 *
 * fiber.h - the fibers that run a cluster's threads, and how they report.
 */
#ifndef GROAT_JUDGE_FIBER_H
#define GROAT_JUDGE_FIBER_H

#include "judge/model.h"

bool groat__judge_make_fibers(groat__judge *j);
void groat__judge_drop_fibers(groat__judge *j);
void groat__judge_start(groat__judge *j, size_t fiber);
/* Whether a stack pointer is in the current fiber's stack, or has just left it
 * into the guard below. */
bool groat__judge_is_on_stack(const groat__judge *j, uintptr_t stack);
/* Runs a fiber until it stops. */
void groat__judge_resume(groat__judge *j, size_t fiber);
/* Stops the current fiber in a state; returns when it is resumed. */
void groat__judge_stop(groat__judge *j, groat__fiber_state state);
/* Adds a place, such as "the write", to the finding that is reported next. */
void groat__judge_add_place(groat__judge *j, int32_t site, const char *format,
                            ...) GROAT_PRINTF(3, 4);
/* Reports a finding about the current fiber and leaves it for good. */
_Noreturn void groat__judge_report(groat__judge *j, const char *format, ...)
    GROAT_PRINTF(2, 3);
_Noreturn void groat__judge_starve(groat__judge *j); /* no host memory */
/* Returns the array with room for more than `count` items; it may move, and
 * *cap may grow.  Leaves the fiber if there is no host memory. */
void *groat__judge_grow(groat__judge *j, void *items, size_t count, size_t *cap,
                        size_t bytes);
/* What the kernel's author calls a function of groat: in CUDA C++ it is PTX. */
const char *groat__judge_call(const groat__judge *j, const char *function);
/* Records a finding about any fiber and returns; only the first one counts. */
void groat__judge_blame(groat__judge *j, size_t fiber, const char *format, ...)
    GROAT_PRINTF(3, 4);
/* Leaves the current fiber for good; a finding has been recorded. */
_Noreturn void groat__judge_leave(groat__judge *j);
/* Leaves the fiber for good because an earlier cluster has a finding. */
_Noreturn void groat__judge_abandon(groat__judge *j);
uint64_t groat__judge_random(groat__judge *j);

#endif
