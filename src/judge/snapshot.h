/* SPDX-License-Identifier: Apache-2.0
 *
 * snapshot.h - what device memory holds before a launch.
 */
#ifndef GROAT_JUDGE_SNAPSHOT_H
#define GROAT_JUDGE_SNAPSHOT_H

#include "judge/judge.h"

typedef struct groat__snapshot groat__snapshot;

/* Copies the launch's buffers and the kernel's variables.  NULL if they are
 * larger than 256 MiB, or there is no memory. */
groat__snapshot *groat__snapshot_take(const groat__judge_launch *launch);
void groat__snapshot_restore(const groat__snapshot *snapshot,
                             const groat__judge_launch *launch);
void groat__snapshot_free(groat__snapshot *snapshot);

#endif
