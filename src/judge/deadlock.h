/* SPDX-License-Identifier: Apache-2.0
 *
 * deadlock.h - who waits for what.
 */
#ifndef GROAT_JUDGE_DEADLOCK_H
#define GROAT_JUDGE_DEADLOCK_H

#include "judge/model.h"

/* Nobody can go on; says who waits for what. */
void groat__judge_blame_deadlock(groat__judge *j);

#endif
