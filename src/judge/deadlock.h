/* SPDX-License-Identifier: Apache-2.0
 *
 * deadlock.h - the report of a deadlock.
 */
#ifndef GROAT_JUDGE_DEADLOCK_H
#define GROAT_JUDGE_DEADLOCK_H

#include "judge/model.h"

/* No thread can continue: reports which threads wait for what. */
void groat__judge_blame_deadlock(groat__judge *j);

#endif
