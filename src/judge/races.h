/* SPDX-License-Identifier: Apache-2.0
 *
 * races.h - races of clusters on device memory, as findings.
 */
#ifndef GROAT_JUDGE_RACES_H
#define GROAT_JUDGE_RACES_H

#include "judge/grid.h"

/* Makes a race of clusters, which have all ended, the launch's finding, unless
 * it has one.  Returns whether the order in which they ran matters. */
bool groat__judge_find_race(groat__judge_grid *grid);

#endif
