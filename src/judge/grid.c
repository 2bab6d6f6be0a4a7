/* SPDX-License-Identifier: Apache-2.0
 *
 * grid.c hands the clusters of a launch to host threads, in order.  Invariant:
 * a cluster below `next` has ended or is in `taken`, so the lowest one in
 * `taken` waits for no other.  The lock guards every field that changes after
 * groat__judge_grid_open().
 */
#include "judge/grid.h"

#include <stdio.h>
#include <stdlib.h>

bool groat__judge_grid_open(groat__judge_grid *grid,
                            const groat__judge_launch *launch, size_t threads)
{
    grid->launch = launch;
    grid->clusters = 1;
    for (int i = 0; i < 3; i++)
        grid->clusters *= launch->grid[i] / launch->cluster[i];
    grid->next = 0;
    grid->failed = grid->clusters;
    grid->finding.status = GROAT_OK;
    grid->threads = threads;
    grid->spans = (groat__spans){0};
    grid->before = (groat__snapshot){0};
    grid->printed = NULL;
    grid->taken = malloc(threads * sizeof(*grid->taken));
    if (grid->taken == NULL)
        return false;
    for (size_t i = 0; i < threads; i++)
        grid->taken[i] = grid->clusters;
    (void)pthread_mutex_init(&grid->lock, NULL);
    (void)pthread_cond_init(&grid->ended, NULL);
    return true;
}

void groat__judge_grid_close(groat__judge_grid *grid)
{
    (void)pthread_cond_destroy(&grid->ended);
    (void)pthread_mutex_destroy(&grid->lock);
    groat__spans_drop(&grid->spans);
    groat__snapshot_drop(&grid->before);
    free(grid->taken);
}

bool groat__judge_grid_take(groat__judge_grid *grid, size_t thread,
                            uint64_t *number)
{
    bool found;

    (void)pthread_mutex_lock(&grid->lock);
    found = grid->next < grid->failed;
    *number = found ? grid->next++ : grid->clusters;
    grid->taken[thread] = *number;
    (void)pthread_cond_broadcast(&grid->ended);
    (void)pthread_mutex_unlock(&grid->lock);
    return found;
}

bool groat__judge_grid_is_done(const groat__judge_grid *grid)
{
    return grid->next >= grid->failed;
}

void groat__judge_grid_corner(const groat__judge_grid *grid, uint64_t number,
                              unsigned corner[3])
{
    for (int i = 0; i < 3; i++) {
        uint64_t count = grid->launch->grid[i] / grid->launch->cluster[i];

        corner[i] = (unsigned)(number % count) * grid->launch->cluster[i];
        number /= count;
    }
}

void groat__judge_grid_find(groat__judge_grid *grid, uint64_t number,
                            const groat__judge_finding *finding)
{
    (void)pthread_mutex_lock(&grid->lock);
    if (number < grid->failed) {
        grid->failed = number;
        grid->finding = *finding;
    }
    (void)pthread_mutex_unlock(&grid->lock);
}

bool groat__judge_grid_add(groat__judge_grid *grid, groat__spans *spans)
{
    bool added;

    (void)pthread_mutex_lock(&grid->lock);
    added = groat__spans_join(&grid->spans, spans);
    (void)pthread_mutex_unlock(&grid->lock);
    return added;
}

/* With the lock held. */
static bool is_first(const groat__judge_grid *grid, uint64_t number)
{
    for (size_t i = 0; i < grid->threads; i++)
        if (grid->taken[i] < number)
            return false;
    return true;
}

bool groat__judge_grid_await(groat__judge_grid *grid, uint64_t number)
{
    bool sound;

    if (grid->threads == 1)
        return true;
    (void)pthread_mutex_lock(&grid->lock);
    while (grid->failed > number && !is_first(grid, number))
        (void)pthread_cond_wait(&grid->ended, &grid->lock);
    sound = grid->failed > number;
    (void)pthread_mutex_unlock(&grid->lock);
    return sound;
}

void groat__judge_grid_keep(groat__judge_grid *grid,
                            const groat__snapshot_line *line)
{
    (void)pthread_mutex_lock(&grid->lock);
    if (line != NULL)
        groat__snapshot_keep(&grid->before, line);
    else
        grid->before.lost = true;
    (void)pthread_mutex_unlock(&grid->lock);
}

void groat__judge_grid_print(groat__judge_grid *grid, const char *text,
                             size_t bytes)
{
    (void)pthread_mutex_lock(&grid->lock);
    if (grid->printed != NULL)
        groat__str_addn(grid->printed, text, bytes);
    else
        (void)fwrite(text, 1, bytes, stderr);
    (void)pthread_mutex_unlock(&grid->lock);
}

bool groat__judge_grid_failed(groat__judge_grid *grid, uint64_t number)
{
    bool failed;

    (void)pthread_mutex_lock(&grid->lock);
    failed = grid->failed < number;
    (void)pthread_mutex_unlock(&grid->lock);
    return failed;
}
