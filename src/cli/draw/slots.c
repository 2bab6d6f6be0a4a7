/* SPDX-License-Identifier: Apache-2.0
 *
 * slots.c - finds the slots of shared memory, and when their copies are in
 * flight.
 *
 * A slot is a range of bytes that become readable together, each time: copies
 * to all of them are counted by the same phases of mbarriers, or, as are
 * stores, they are done between the same waits.  So the slots of a ring are
 * found without a word from its family.
 * Invariant: a step's landing is never before its moment.
 */
#include "cli/draw/draw.h"

#include <stdlib.h>
#include <string.h>

enum { CELL = GROAT__DRAW_CELL };

#define MIX 0x9e3779b97f4a7c15u

/* A copy that has not landed. */
typedef struct flight {
    size_t step;
    unsigned wave, mbarrier, phase;
} flight;

/* The replay of a record. */
typedef struct replay {
    const groat__record *record;
    size_t *landed;  /* per step, the moment at which its bytes are there */
    uint64_t *group; /* per step, the number of what makes them readable */
    flight *open;
    size_t open_count;
    unsigned waits[GROAT__DRAW_WAVES]; /* passed by each wave */
} replay;

/* Lands open copies that the moment waits for: with an mbarrier those that its
 * phase counts, else the wave's first ones. */
static void land(replay *r, size_t moment)
{
    const groat__moment *m = &r->record->moments[moment];
    unsigned most = m->mbarrier == ~0u ? m->phase : ~0u;
    size_t kept = 0;

    for (size_t i = 0; i < r->open_count; i++) {
        const flight *f = &r->open[i];
        bool mine = f->mbarrier == m->mbarrier &&
                    (m->mbarrier == ~0u ? f->wave == m->wave && most > 0
                                        : f->phase <= m->phase);

        if (!mine) {
            r->open[kept++] = *f;
            continue;
        }
        most--;
        r->landed[f->step] = moment;
        if (m->mbarrier == ~0u)
            r->group[f->step] = r->waits[m->wave];
    }
    r->open_count = kept;
}

static void start(replay *r, size_t moment)
{
    const groat__moment *m = &r->record->moments[moment];

    for (size_t s = m->step; s < groat__record_end(r->record, moment); s++) {
        r->landed[s] = moment;
        r->group[s] = r->waits[m->wave];
        if (m->access != GROAT_ACCESS_COPY)
            continue;
        r->landed[s] = r->record->moment_count;
        r->group[s] = m->mbarrier == ~0u
                          ? ~(uint64_t)0
                          : (uint64_t)(m->mbarrier + 1) << 32 | m->phase;
        r->open[r->open_count++] = (flight){s, m->wave, m->mbarrier, m->phase};
    }
}

static void run(replay *r)
{
    for (size_t i = 0; i < r->record->moment_count; i++) {
        const groat__moment *m = &r->record->moments[i];

        if (m->access == GROAT_ACCESS_COPY || m->access == GROAT_ACCESS_WRITE)
            start(r, i);
        else if (m->access == GROAT_ACCESS_LAND ||
                 (m->access == GROAT_ACCESS_RESUME && m->mbarrier != ~0u))
            land(r, i);
        if (m->access == GROAT_ACCESS_LAND || m->access == GROAT_ACCESS_RESUME)
            r->waits[m->wave]++;
    }
}

bool groat__step_fills(const groat__step *step)
{
    return step->access == GROAT_ACCESS_COPY ||
           (step->access == GROAT_ACCESS_WRITE && !step->fill);
}

/* A cell's groups so far, mixed, and the last of them. */
typedef struct cell {
    uint64_t mixed, last;
} cell;

static void mix_step(cell *cells, size_t count, const groat__step *step,
                     unsigned lanes, uint64_t group)
{
    for (unsigned l = 0; l < lanes; l++) {
        size_t first = step->shared[l] / CELL;
        size_t end = (step->shared[l] + step->bytes + CELL - 1) / CELL;

        for (size_t c = first; groat__step_has(step, l) && c < end && c < count;
             c++) {
            if (cells[c].mixed != 0 && cells[c].last == group)
                continue;
            cells[c].mixed = (cells[c].mixed ^ (group + 1)) * MIX | 1;
            cells[c].last = group;
        }
    }
}

/* Makes a slot of each run of cells with the same groups; cells that nobody
 * fills, as those between padded rows, end none. */
static void list_slots(groat__slots *slots, const cell *cells, size_t count)
{
    groat__slot *slot = NULL;
    uint64_t current = 0;

    for (size_t c = 0; c < count; c++) {
        if (cells[c].mixed == 0)
            continue;
        if (cells[c].mixed != current) {
            current = cells[c].mixed;
            slot = slots->count < GROAT__DRAW_SLOTS ? &slots->at[slots->count++]
                                                    : NULL;
            slots->left_out += slot == NULL;
            if (slot)
                slot->from = (unsigned)(c * CELL);
        }
        if (slot)
            slot->to = (unsigned)((c + 1) * CELL);
    }
}

bool groat__slots_make(groat__slots *slots, const groat__record *record,
                       unsigned shared_bytes)
{
    size_t count = (shared_bytes + CELL - 1) / CELL;
    replay r = {.record = record};
    cell *cells = calloc(count + 1, sizeof(*cells));
    bool whole;

    memset(slots, 0, sizeof(*slots));
    slots->landed = r.landed = calloc(record->count + 1, sizeof(*r.landed));
    r.group = calloc(record->count + 1, sizeof(*r.group));
    r.open = calloc(record->count + 1, sizeof(*r.open));
    whole = cells && r.landed && r.group && r.open;
    if (whole) {
        run(&r);
        for (size_t s = 0; s < record->count; s++)
            if (groat__step_fills(&record->steps[s]))
                mix_step(cells, count, &record->steps[s], record->lanes,
                         r.group[s]);
        list_slots(slots, cells, count);
    }
    free(cells);
    free(r.group);
    free(r.open);
    return whole;
}

void groat__slots_free(groat__slots *slots)
{
    free(slots->landed);
    *slots = (groat__slots){0};
}

static bool touches(const groat__slot *slot, const groat__step *step,
                    unsigned lanes)
{
    for (unsigned l = 0; l < lanes; l++)
        if (groat__step_has(step, l) && step->shared[l] < slot->to &&
            step->shared[l] + step->bytes > slot->from)
            return true;
    return false;
}

bool groat__slot_has(const groat__slot *slot, const groat__record *record,
                     size_t moment)
{
    size_t end = groat__record_end(record, moment);

    for (size_t s = record->moments[moment].step; s < end; s++)
        if (!record->steps[s].fill &&
            touches(slot, &record->steps[s], record->lanes))
            return true;
    return false;
}

void groat__slot_follow(const groat__slots *slots, size_t slot,
                        const groat__record *record, size_t end,
                        groat__slot_state *states)
{
    groat__slot_state after = GROAT__SLOT_EMPTY;

    memset(states, 0, end * sizeof(*states));
    for (size_t i = 0; i < end; i++) {
        size_t stop = groat__record_end(record, i);

        for (size_t s = record->moments[i].step; s < stop; s++) {
            const groat__step *step = &record->steps[s];

            if (!groat__step_fills(step) ||
                !touches(&slots->at[slot], step, record->lanes))
                continue;
            for (size_t k = i; k < end && k < slots->landed[s]; k++)
                states[k] = GROAT__SLOT_FLIGHT;
            after = GROAT__SLOT_THERE;
        }
        if (states[i] == GROAT__SLOT_EMPTY)
            states[i] = after;
    }
}
