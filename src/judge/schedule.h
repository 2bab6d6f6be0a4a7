/* SPDX-License-Identifier: Apache-2.0
 *
 * schedule.h - the scheduler of a cluster's threads.
 */
#ifndef GROAT_JUDGE_SCHEDULE_H
#define GROAT_JUDGE_SCHEDULE_H

#include "judge/model.h"

/* Runs the threads of the cluster to their ends, or to the first finding.
 * `order` is scratch space, one entry per wave. */
void groat__judge_run_cluster(groat__judge *j, uint32_t *order);

#endif
