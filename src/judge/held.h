/* SPDX-License-Identifier: Apache-2.0
 *
 * held.h - stores that the kernel makes itself, which are looked at once they
 * have happened: at the next hook.
 */
#ifndef GROAT_JUDGE_HELD_H
#define GROAT_JUDGE_HELD_H

#include "judge/model.h"

/* Holds a store of at most sizeof(before) bytes that is about to happen, and
 * the finding that has been recorded, if any. */
void groat__judge_hold(groat__judge *j, void *at, uint32_t bytes, bool device);

#endif
