/* SPDX-License-Identifier: Apache-2.0
 *
 * grid.h - the clusters of a launch, which host threads take in order, and the
 * finding of the launch: that of the lowest-numbered cluster with one, no
 * matter which host thread found one first.
 *
 * Threads: every function but the first two may be called from any of them.
 */
#ifndef GROAT_JUDGE_GRID_H
#define GROAT_JUDGE_GRID_H

#include <pthread.h>
#include <stdbool.h>

#include "base/str.h"
#include "judge/judge.h"
#include "judge/snapshot.h"
#include "judge/spans.h"

/* The finding of a cluster. */
typedef struct groat__judge_finding {
    groat_status status; /* OK: nothing */
    char text[GROAT_ERROR_TEXT];
    groat__judge_places places;
} groat__judge_finding;

typedef struct groat__judge_grid {
    pthread_mutex_t lock;
    pthread_cond_t ended; /* a cluster has ended */
    const groat__judge_launch *launch;
    uint64_t clusters;
    uint64_t next;   /* first cluster not yet taken */
    uint64_t failed; /* first cluster with a finding, or `clusters` */
    uint64_t *taken; /* by thread: its cluster, or `clusters` */
    size_t threads;
    groat__judge_finding finding; /* of cluster `failed` */
    groat__spans spans;           /* of host threads that have ended */
    groat__snapshot before;       /* what was stored to; of several threads */
    groat__str *printed; /* receives what clusters print; NULL: stderr does */
} groat__judge_grid;

/* threads  host threads that will take clusters, at least 1.
 * False without memory. */
bool groat__judge_grid_open(groat__judge_grid *grid,
                            const groat__judge_launch *launch, size_t threads);
void groat__judge_grid_close(groat__judge_grid *grid);

/* Ends the cluster that the thread took before and takes the next one; false
 * when there is none left, or when an earlier cluster has a finding. */
bool groat__judge_grid_take(groat__judge_grid *grid, size_t thread,
                            uint64_t *number);
/* Whether no cluster is left to take, when all threads have ended. */
bool groat__judge_grid_is_done(const groat__judge_grid *grid);
/* Writes the coordinates of a cluster's first block. */
void groat__judge_grid_corner(const groat__judge_grid *grid, uint64_t number,
                              unsigned corner[3]);
/* Keeps the finding of a cluster unless an earlier cluster has one. */
void groat__judge_grid_find(groat__judge_grid *grid, uint64_t number,
                            const groat__judge_finding *finding);
/* Takes what the clusters of a host thread did to device memory.  False: no
 * memory. */
bool groat__judge_grid_add(groat__judge_grid *grid, groat__spans *spans);
/* Waits until every cluster before this one has ended; false when one of them
 * has a finding. */
bool groat__judge_grid_await(groat__judge_grid *grid, uint64_t number);
/* Keeps a line of device memory as it is before a store, or, of NULL, tells
 * that one cannot be kept. */
void groat__judge_grid_keep(groat__judge_grid *grid,
                            const groat__snapshot_line *line);
/* Prints what a cluster prints whose turn it is. */
void groat__judge_grid_print(groat__judge_grid *grid, const char *text,
                             size_t bytes);
/* Whether a cluster before this one has a finding. */
bool groat__judge_grid_failed(groat__judge_grid *grid, uint64_t number);

#endif
