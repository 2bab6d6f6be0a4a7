/* SPDX-License-Identifier: Apache-2.0
 *
 * races.h - races of clusters on device memory, as findings.
 */
#ifndef GROAT_JUDGE_RACES_H
#define GROAT_JUDGE_RACES_H

#include "judge/grid.h"

/* Makes a race the finding of a launch whose clusters have all ended without
 * one. */
void groat__judge_find_race(groat__judge_grid *grid);

#endif
