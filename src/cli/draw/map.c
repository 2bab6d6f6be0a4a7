/* SPDX-License-Identifier: Apache-2.0
 *
 * map.c - finds which instruction filled each cell of shared memory, and from
 * where.
 *
 * Owns two tables made from a record: cells of shared memory by offset, and
 * vectors of the inputs by buffer and offset.  The first instruction that wrote
 * a cell is shown, so that a ring of slots shows its first round.
 * A fill is a store with a byte that a copy overwrites before any read.  Its
 * data is never used, so it counts as not written.
 * Invariant: cells cover all of the block's shared memory.
 */
#include "cli/draw/draw.h"

#include <stdlib.h>
#include <string.h>

enum { CELL = GROAT__DRAW_CELL };

static bool reads(const groat__step *step)
{
    return step->access == GROAT_ACCESS_READ ||
           step->access == GROAT_ACCESS_TRANSPOSE;
}

/* Returns the end of a lane's access, clamped to shared memory; the judge ends
 * a launch that goes beyond. */
static uint32_t end_of(const groat__step *step, unsigned lane, size_t bytes)
{
    uint64_t end = (uint64_t)step->shared[lane] + step->bytes;

    return end > bytes ? (uint32_t)bytes : (uint32_t)end;
}

/* store[b] is the index + 1 of a store to byte b not read yet, or 0. */
static void mark_fills(groat__record *record, uint32_t *store, size_t bytes)
{
    for (size_t i = 0; i < record->count; i++) {
        groat__step *step = &record->steps[i];

        for (unsigned l = 0; l < record->lanes; l++) {
            uint32_t end = end_of(step, l, bytes);

            if (!groat__step_has(step, l))
                continue;
            for (uint32_t b = step->shared[l]; b < end; b++) {
                if (step->access == GROAT_ACCESS_COPY && store[b])
                    record->steps[store[b] - 1].fill = true;
                store[b] =
                    step->access == GROAT_ACCESS_WRITE ? (uint32_t)i + 1 : 0;
            }
        }
    }
}

/* Adds to a cell the bytes, a mask, that a lane of step `index` writes. */
static void put(groat__map *map, groat__cell *cell, size_t index, unsigned lane,
                uint16_t bytes, bool zero, uint64_t source)
{
    if (!cell->step) {
        cell->step = index + 1;
        cell->first = cell->last = (uint8_t)lane;
        cell->zero = zero;
        cell->source = source;
    } else if (cell->step == index + 1) {
        cell->last = (uint8_t)lane;
        cell->zero = cell->zero && zero;
    } else if ((bytes & ~cell->written) != 0) {
        cell->more = true;
    } else {
        map->rewritten = true;
    }
    cell->written |= bytes;
}

static void put_lane(groat__map *map, const groat__step *step, size_t index,
                     unsigned lane, size_t bytes)
{
    uint32_t end = end_of(step, lane, bytes);
    bool zero = step->zeros >> lane & 1;

    for (uint32_t at = step->shared[lane]; at < end;) {
        uint32_t cell = at / CELL;
        uint32_t stop = (cell + 1) * CELL < end ? (cell + 1) * CELL : end;
        uint32_t mask = (1u << (stop - cell * CELL)) - (1u << at % CELL);
        uint64_t source = step->asked[lane];

        if (source)
            source += (uint64_t)cell * CELL - step->shared[lane];
        put(map, &map->cells[cell], index, lane, (uint16_t)mask, zero, source);
        at = stop;
    }
}

static bool make_cells(groat__map *map, groat__record *record, size_t bytes)
{
    uint32_t *store = calloc(bytes + 1, sizeof(*store));

    map->cell_count = (bytes + CELL - 1) / CELL;
    map->cells = calloc(map->cell_count + 1, sizeof(*map->cells));
    if (!store || !map->cells) {
        free(store);
        return false;
    }
    mark_fills(record, store, bytes);
    free(store);
    for (size_t i = 0; i < record->count; i++) {
        const groat__step *step = &record->steps[i];

        map->fills = map->fills || step->fill;
        if (reads(step) || step->fill)
            continue;
        for (unsigned l = 0; l < record->lanes; l++)
            if (groat__step_has(step, l))
                put_lane(map, step, i, l, bytes);
    }
    if (bytes % CELL)
        map->cells[map->cell_count - 1].written |=
            (uint16_t)(GROAT__CELL_WHOLE << bytes % CELL);
    return true;
}

/* ---- the inputs -------------------------------------------------------- */

size_t groat__subject_buffer(const groat__subject *subject, uint64_t address,
                             uint64_t *offset)
{
    for (size_t i = 0; i < subject->buffer_count; i++) {
        *offset = address - subject->buffers[i].address;
        if (*offset < subject->buffers[i].bytes)
            return i;
    }
    return SIZE_MAX;
}

size_t groat__subject_input(const groat__subject *subject, uint64_t address,
                            uint64_t *offset)
{
    size_t i = groat__subject_buffer(subject, address, offset);

    return i != SIZE_MAX && subject->buffers[i].input ? i : SIZE_MAX;
}

/* Returns the buffer that a copy reads: that of its first lane in range or, if
 * there is none, `before`, as a lane out of range may point anywhere. */
static size_t buffer_of(const groat__subject *subject, const groat__step *step,
                        unsigned lanes, size_t before)
{
    uint64_t offset;

    for (unsigned l = 0; l < lanes; l++)
        if (groat__step_has(step, l) && !(step->zeros >> l & 1))
            return groat__subject_input(subject, step->asked[l], &offset);
    return before;
}

static int compare_vectors(const void *left, const void *right)
{
    const groat__vector *a = left;
    const groat__vector *b = right;

    if (a->buffer != b->buffer)
        return a->buffer < b->buffer ? -1 : 1;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

/* Adds the vectors of one lane's part of a copy: one, or two if it begins
 * amid a vector of the buffer. */
static void add_vectors(groat__map *map, const groat__step *step, size_t index,
                        unsigned lane, size_t buffer, uint64_t base)
{
    int64_t offset = (int64_t)(step->asked[lane] - base);
    int64_t in = (offset % CELL + CELL) % CELL;
    uint32_t mask = ((1u << step->bytes) - 1) << in;
    groat__vector vector = {.buffer = buffer,
                            .at = offset - in,
                            .step = index,
                            .shared = step->shared[lane] - (uint32_t)in,
                            .first = (uint8_t)lane,
                            .last = (uint8_t)lane,
                            .zero = step->zeros >> lane & 1};

    for (; mask != 0; mask >>= CELL) {
        vector.bytes = (uint16_t)mask;
        map->vectors[map->vector_count++] = vector;
        vector.at += CELL;
        vector.shared += CELL;
    }
}

/* Merges the parts of each vector. */
static void merge_vectors(groat__map *map)
{
    size_t kept = 0;

    for (size_t i = 0; i < map->vector_count; i++) {
        const groat__vector *part = &map->vectors[i];
        groat__vector *whole = kept ? &map->vectors[kept - 1] : NULL;

        if (!whole || whole->buffer != part->buffer || whole->at != part->at) {
            map->vectors[kept++] = *part;
            continue;
        }
        if (whole->step == part->step) {
            whole->last = part->last;
            whole->zero = whole->zero && part->zero;
        } else if ((part->bytes & ~whole->bytes) != 0) {
            whole->more = true;
        }
        whole->bytes |= part->bytes;
    }
    map->vector_count = kept;
}

static size_t count_copies(const groat__record *record)
{
    size_t lanes = 0;

    for (size_t i = 0; i < record->count; i++)
        if (record->steps[i].access == GROAT_ACCESS_COPY)
            lanes += record->lanes;
    return lanes < GROAT__DRAW_COPIES ? lanes : GROAT__DRAW_COPIES;
}

static bool make_vectors(groat__map *map, const groat__record *record,
                         const groat__subject *subject)
{
    size_t before[GROAT__DRAW_WAVES] = {0};
    size_t cap = 2 * count_copies(record);

    while (before[0] < subject->buffer_count &&
           !subject->buffers[before[0]].input)
        before[0]++;
    for (size_t w = 1; w < GROAT__DRAW_WAVES; w++)
        before[w] = before[0];
    map->vectors = malloc((cap + 1) * sizeof(*map->vectors));
    if (!map->vectors)
        return false;
    for (size_t i = 0; i < record->count; i++) {
        const groat__step *step = &record->steps[i];
        size_t buffer;

        if (step->access != GROAT_ACCESS_COPY)
            continue;
        buffer = buffer_of(subject, step, record->lanes, before[step->wave]);
        if (buffer >= subject->buffer_count)
            continue;
        before[step->wave] = buffer;
        for (unsigned l = 0; l < record->lanes; l++)
            if (groat__step_has(step, l) && map->vector_count + 2 <= cap)
                add_vectors(map, step, i, l, buffer,
                            subject->buffers[buffer].address);
    }
    qsort(map->vectors, map->vector_count, sizeof(*map->vectors),
          compare_vectors);
    merge_vectors(map);
    return true;
}

/* Guesses the bytes from row to row: the distance between the starts of runs
 * of vectors with most consecutive repeats.  0 if there is only one run. */
static uint64_t pitch_of(const groat__map *map, size_t buffer)
{
    uint64_t best = 0;
    size_t best_count = 0;
    uint64_t now = 0;
    size_t count = 0;
    int64_t start = -1;

    for (size_t i = 0; i < map->vector_count; i++) {
        const groat__vector *v = &map->vectors[i];

        if (v->buffer != buffer ||
            (start >= 0 && i && v->at == v[-1].at + CELL))
            continue;
        if (start >= 0) {
            uint64_t step = (uint64_t)(v->at - start);

            count = step == now ? count + 1 : 1;
            now = step;
            if (count > best_count) {
                best_count = count;
                best = now;
            }
        }
        start = v->at;
    }
    return best;
}

bool groat__map_make(groat__map *map, groat__record *record,
                     const groat__subject *subject)
{
    memset(map, 0, sizeof(*map));
    if (!make_cells(map, record, subject->shared_bytes) ||
        !make_vectors(map, record, subject))
        return false;
    for (size_t i = 0; i < subject->buffer_count; i++)
        map->pitch[i] = subject->pitch ? subject->pitch : pitch_of(map, i);
    return true;
}

void groat__map_free(groat__map *map)
{
    free(map->cells);
    free(map->vectors);
    memset(map, 0, sizeof(*map));
}
