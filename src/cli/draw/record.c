/* SPDX-License-Identifier: Apache-2.0
 *
 * record.c - listens to a launch and keeps what block 0 did.
 *
 * Owns the copies of the events, whose arrays are lent for the call only.
 * Leaves to map.c and reads.c what they mean.
 * Invariant: the n-th step of an access of a wave has nth == n, and what is
 * not kept is counted.
 * Locking: none; events come on the thread that launches.
 */
#include "cli/draw/draw.h"

#include <stdlib.h>
#include <string.h>

bool groat__step_has(const groat__step *step, unsigned lane)
{
    return step->active >> lane & 1;
}

static groat__step *next_step(groat__record *record)
{
    if (record->count == record->cap) {
        size_t cap = record->cap ? 2 * record->cap : 256;
        groat__step *steps = realloc(record->steps, cap * sizeof(*steps));

        if (!steps) {
            record->failed = true;
            return NULL;
        }
        record->steps = steps;
        record->cap = cap;
    }
    memset(&record->steps[record->count], 0, sizeof(record->steps[0]));
    return &record->steps[record->count++];
}

void groat__record_add(groat__record *record, const groat_trace *event)
{
    groat__step *step;

    if (event->block[0] || event->block[1] || event->block[2])
        return;
    if (event->wave >= GROAT__DRAW_WAVES || event->lanes > GROAT__DRAW_LANES ||
        (unsigned)event->access >= GROAT__ACCESSES)
        return;
    record->lanes = event->lanes;
    record->banks = event->banks;
    groat__banks_add(&record->sums, event);
    if (record->count == GROAT__DRAW_STEPS) {
        record->left_out++;
        return;
    }
    step = next_step(record);
    if (!step)
        return;
    step->access = event->access;
    step->wave = event->wave;
    step->nth = record->nth[event->wave][event->access]++;
    step->bytes = event->bytes;
    step->together = event->together;
    step->passes = event->passes;
    step->passes_min = event->passes_min;
    step->reuse = event->reuse;
    step->active = event->active;
    for (unsigned l = 0; l < event->lanes; l++) {
        if (!groat__step_has(step, l))
            continue;
        step->shared[l] = event->shared[l];
        if (event->access != GROAT_ACCESS_COPY)
            continue;
        step->asked[l] = event->asked[l];
        if (event->source[l] == 0)
            step->zeros |= (uint64_t)1 << l;
    }
}

void groat__record_free(groat__record *record)
{
    free(record->steps);
    *record = (groat__record){0};
}
