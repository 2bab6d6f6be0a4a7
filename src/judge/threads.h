/* SPDX-License-Identifier: Apache-2.0
 *
 * threads.h - how a finding names threads that are alike.
 */
#ifndef GROAT_JUDGE_THREADS_H
#define GROAT_JUDGE_THREADS_H

#include "base/str.h"
#include "judge/model.h"

/* Whether two threads, by fiber, are named together. */
typedef bool groat__judge_alike_fn(const groat__judge *j, size_t a, size_t b);

/* Appends "thread 0-127, 160", all of the block that are like this one, or
 * the first of them and "..."; returns how many they are. */
size_t groat__judge_add_threads(const groat__judge *j, size_t like,
                                groat__judge_alike_fn *alike, groat__str *out);

/* Whether a fiber of a lower number is like this one. */
bool groat__judge_told_before(const groat__judge *j, size_t fiber,
                              groat__judge_alike_fn *alike);

#endif
