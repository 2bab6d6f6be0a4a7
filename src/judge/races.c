/* SPDX-License-Identifier: Apache-2.0
 *
 * races.c reports clusters that race on device memory.
 */
#include "judge/races.h"

#include <stdio.h>

#include "judge/device.h"

/* Writes the coordinates of an access's block; returns its thread in it. */
static unsigned find_thread(const groat__judge_grid *grid,
                            const groat__span *span, const groat__span_use *use,
                            unsigned block[3])
{
    const groat__judge_launch *launch = grid->launch;
    unsigned threads = launch->block[0] * launch->block[1] * launch->block[2];
    unsigned rank = use->fiber / threads;

    groat__judge_grid_corner(grid, span->cluster, block);
    for (int i = 0; i < 3; i++) {
        block[i] += rank % launch->cluster[i];
        rank /= launch->cluster[i];
    }
    return use->fiber % threads;
}

static void add_place(groat__judge_grid *grid, const groat__span_use *use,
                      const char *what)
{
    groat__judge_places *places = &grid->finding.places;
    struct groat__judge_place *place = &places->at[places->count++];

    place->address =
        (uintptr_t)grid->launch->entry + (uintptr_t)(intptr_t)use->site;
    (void)snprintf(place->what, sizeof(place->what), "%s", what);
}

static const char *verb_of(const groat__span *span)
{
    if (span->load)
        return "reads";
    return span->plain ? "writes" : "changes by an atomic operation";
}

static void report(groat__judge_grid *grid, const groat__spans_found *found)
{
    const groat__judge_launch *launch = grid->launch;
    unsigned lanes = (unsigned)launch->arch->wave_lanes;
    unsigned before[3];
    unsigned block[3];
    unsigned thread = find_thread(grid, &found->later, &found->after, block);
    unsigned other = find_thread(grid, &found->earlier, &found->before, before);
    char said[GROAT__JUDGE_SAID];

    grid->finding = (groat__judge_finding){.status = GROAT_JUDGED};
    (void)snprintf(
        grid->finding.text, sizeof(grid->finding.text),
        "%s on %s: block %u,%u,%u thread %u (wave %u lane %u) %s %u bytes %s, "
        "which thread %u of block %u,%u,%u %s: blocks run in any order, and no "
        "atomic operation orders these",
        launch->kernel, launch->arch->name, block[0], block[1], block[2],
        thread, thread / lanes, thread % lanes, verb_of(&found->later),
        found->later.unit,
        groat__judge_device_name(launch, found->address, said), other,
        before[0], before[1], before[2], verb_of(&found->earlier));
    add_place(grid, &found->after, "here");
    add_place(grid, &found->before,
              found->earlier.load    ? "the read"
              : found->earlier.plain ? "the other write"
                                     : "the other access");
}

bool groat__judge_find_race(groat__judge_grid *grid)
{
    groat__spans_found found;

    groat__spans_compare(&grid->spans, &found);
    if (found.race && grid->finding.status == GROAT_OK)
        report(grid, &found);
    return found.order;
}
