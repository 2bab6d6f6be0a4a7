/* SPDX-License-Identifier: Apache-2.0
 *
 * attempts.h - plain loads that begin a loop of compare-and-swaps.
 */
#ifndef GROAT_JUDGE_ATTEMPTS_H
#define GROAT_JUDGE_ATTEMPTS_H

#include "judge/model.h"

/* Notes a load through a pointer of shared memory, by the running hook. */
void groat__judge_attempt(groat__judge *j, uint32_t address);
/* Notes an atomic operation there: if that load was the thread's last access,
 * loads of its line are attempts. */
void groat__judge_attempt_ends(groat__judge *j, uint32_t address);
/* Whether a load at this place is an attempt. */
bool groat__judge_is_attempt(const groat__judge *j, int32_t site);

#endif
