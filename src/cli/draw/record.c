/* SPDX-License-Identifier: Apache-2.0
 *
 * record.c - records the events of block 0 during a launch.
 *
 * Owns copies of the events, whose arrays are valid during the call only.
 * map.c and reads.c interpret them.
 * Invariant: the n-th step of an access of a wave has nth == n, and dropped
 * steps are counted.
 * Locking: none; events come on the thread that launches.
 */
#include "cli/draw/draw.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

bool groat__step_has(const groat__step *step, unsigned lane)
{
    return step->active >> lane & 1;
}

size_t groat__record_end(const groat__record *record, size_t moment)
{
    return moment + 1 == record->moment_count
               ? record->count
               : record->moments[moment + 1].step;
}

/* Adds an item of zeros to the array that *items points to; on failure sets
 * record->failed and returns NULL. */
static void *add_item(groat__record *record, void *items, size_t *count,
                      size_t *cap, size_t bytes)
{
    unsigned char *array;

    if (!groat__grow(items, *count + 1, cap, bytes)) {
        record->failed = true;
        return NULL;
    }
    memcpy(&array, items, sizeof(array));
    return memset(array + (*count)++ * bytes, 0, bytes);
}

static bool is_access(groat_access access)
{
    return (unsigned)access < GROAT__ACCESSES;
}

static bool is_device(groat_access access)
{
    return access == GROAT_ACCESS_LOAD || access == GROAT_ACCESS_STORE;
}

static bool goes_on(const groat__record *record, const groat_trace *event)
{
    const groat__moment *last = record->moment_count
                                    ? &record->moments[record->moment_count - 1]
                                    : NULL;

    return last && last->access == event->access && last->wave == event->wave &&
           last->mbarrier == event->mbarrier && last->phase == event->phase &&
           last->bytes == event->bytes;
}

static void add_moment(groat__record *record, const groat_trace *event)
{
    unsigned lanes = (unsigned)__builtin_popcountll(event->active);
    groat__moment *moment;

    if (goes_on(record, event)) {
        record->moments[record->moment_count - 1].lanes += lanes;
        return;
    }
    moment = add_item(record, &record->moments, &record->moment_count,
                      &record->moment_cap, sizeof(*moment));
    if (moment)
        *moment = (groat__moment){.access = event->access,
                                  .wave = event->wave,
                                  .mbarrier = event->mbarrier,
                                  .phase = event->phase,
                                  .bytes = event->bytes,
                                  .lanes = lanes,
                                  .step = record->count,
                                  .touch = record->touch_count};
}

static void add_step(groat__record *record, const groat_trace *event)
{
    groat__step *step = add_item(record, &record->steps, &record->count,
                                 &record->cap, sizeof(*step));

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

static void add_touch(groat__record *record, const groat_trace *event)
{
    groat__touch *touch =
        add_item(record, &record->touches, &record->touch_count,
                 &record->touch_cap, sizeof(*touch));

    if (!touch)
        return;
    touch->bytes = event->bytes;
    touch->active = event->active;
    memcpy(touch->at, event->source, event->lanes * sizeof(touch->at[0]));
}

static bool is_full(const groat__record *record)
{
    return record->count == GROAT__DRAW_STEPS ||
           record->touch_count == GROAT__DRAW_STEPS ||
           record->moment_count == GROAT__DRAW_STEPS;
}

void groat__record_add(groat__record *record, const groat_trace *event)
{
    if (event->block[0] || event->block[1] || event->block[2])
        return;
    if (event->wave >= GROAT__DRAW_WAVES || event->lanes > GROAT__DRAW_LANES)
        return;
    if (event->wave >= record->waves)
        record->waves = event->wave + 1;
    record->lanes = event->lanes;
    record->banks = event->banks;
    if (is_access(event->access))
        groat__banks_add(&record->sums, event);
    record->left_out += event->left_out + is_full(record);
    if (is_full(record))
        return;
    add_moment(record, event);
    if (is_access(event->access))
        add_step(record, event);
    else if (is_device(event->access))
        add_touch(record, event);
}

void groat__record_free(groat__record *record)
{
    free(record->steps);
    free(record->touches);
    free(record->moments);
    *record = (groat__record){0};
}
