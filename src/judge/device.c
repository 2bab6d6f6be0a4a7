/* SPDX-License-Identifier: Apache-2.0
 *
 * device.c keeps the order of a cluster's accesses to device memory.  It owns a
 * record, a cell, of each 16 bytes that were touched, or of each 4 or 1 where
 * an access was smaller.
 *
 * Two accesses race if one is a plain store that changes memory and no barrier
 * comes between.  Atomic and volatile accesses order the others in ways that
 * are not followed: those before one do not race with those after it, whoever
 * made them, so a race beside them may be missed and none is made up.
 *
 * Loads by the copy engine are not recorded.
 */
#include "judge/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/fiber.h"
#include "judge/order.h"

enum {
    LINE = 16, /* bytes */
    WORD = 4,
    LINES = 64, /* of a page */
    PAGE = LINES * LINE,
    PAGES_MAX = 4096, /* the first ones that a cluster touches */
    BUCKETS_FIRST = 256
};

/* ---- cells --------------------------------------------------------------- */

static size_t bucket_of(const groat__device *d, uint64_t key)
{
    return (size_t)(key * 0x9E3779B97F4A7C15u >> 32) & (d->bucket_count - 1);
}

static void enter(groat__device *d, size_t page)
{
    size_t at = bucket_of(d, d->pages[page]->key);

    while (d->buckets[at] != 0)
        at = (at + 1) & (d->bucket_count - 1);
    d->buckets[at] = (uint32_t)page + 1;
}

/* The table of pages stays at most half full. */
static void make_room(groat__judge *j)
{
    groat__device *d = &j->device;
    size_t count = d->bucket_count == 0 ? BUCKETS_FIRST : 2 * d->bucket_count;
    uint32_t *buckets;

    if (2 * d->count < d->bucket_count)
        return;
    buckets = calloc(count, sizeof(*buckets));
    if (buckets == NULL)
        groat__judge_starve(j);
    free(d->buckets);
    d->buckets = buckets;
    d->bucket_count = count;
    for (size_t i = 0; i < d->count; i++)
        enter(d, i);
}

static groat__device_page *add_page(groat__judge *j, uint64_t key)
{
    groat__device *d = &j->device;

    if (d->count == PAGES_MAX)
        return NULL;
    if (d->count == d->made) {
        d->pages = groat__judge_grow(j, d->pages, d->made, &d->cap,
                                     sizeof(groat__device_page *));
        d->pages[d->made] = malloc(sizeof(groat__device_page));
        if (d->pages[d->made] == NULL)
            groat__judge_starve(j);
        d->made++;
    }
    memset(d->pages[d->count], 0, sizeof(groat__device_page));
    d->pages[d->count]->key = key;
    return d->pages[d->count++];
}

/* Returns NULL for one more than are recorded. */
static groat__device_page *page_of(groat__judge *j, uint64_t key)
{
    groat__device *d = &j->device;
    size_t at;

    if (d->last != NULL && d->last->key == key)
        return d->last;
    make_room(j);
    for (at = bucket_of(d, key); d->buckets[at] != 0;
         at = (at + 1) & (d->bucket_count - 1)) {
        d->last = d->pages[d->buckets[at] - 1];
        if (d->last->key == key)
            return d->last;
    }
    d->last = add_page(j, key);
    if (d->last != NULL)
        d->buckets[at] = (uint32_t)d->count;
    return d->last;
}

/* Returns the number of the first of `count` new cells. */
static uint32_t add_cells(groat__judge *j, size_t count)
{
    groat__device *d = &j->device;
    uint32_t first = (uint32_t)d->cell_count;

    for (size_t i = 0; i < count; i++) {
        d->cells = groat__judge_grow(j, d->cells, d->cell_count, &d->cell_cap,
                                     sizeof(*d->cells));
        d->cells[d->cell_count++] = (groat__device_cell){0};
    }
    return first;
}

/* Gives each `unit` bytes of a line a cell. */
static void split(groat__judge *j, groat__device_line *line, uint32_t unit)
{
    uint32_t count = LINE / unit;
    uint32_t first = add_cells(j, count);
    groat__device_cell *cells = j->device.cells;

    for (uint32_t i = 0; i < count; i++)
        cells[first + i] = line->unit == LINE
                               ? line->whole
                               : cells[line->first + i * unit / line->unit];
    line->first = first;
    line->unit = unit;
}

static groat__device_cell *cells_of(groat__judge *j, groat__device_line *line)
{
    return line->unit == LINE ? &line->whole : &j->device.cells[line->first];
}

/* Cells of a part of one line, at `address`; none of a line that is not
 * recorded. */
typedef struct part {
    groat__device_cell *cells;
    uint8_t *values;
    uint64_t address;
    uint32_t count;
    uint32_t unit;
    uint32_t bytes;
} part;

/* Returns the part of [address, address + bytes) in the first line. */
static part part_of(groat__judge *j, uint64_t address, uint64_t bytes)
{
    uint32_t from = (uint32_t)(address % LINE);
    uint32_t size = bytes < LINE - from ? (uint32_t)bytes : LINE - from;
    groat__device_page *page = page_of(j, address / PAGE);
    part p = {.address = address, .bytes = size, .unit = 1};
    groat__device_line *line;

    if (page == NULL)
        return p;
    line = &page->lines[address / LINE % LINES];
    if (line->unit == 0)
        line->unit = LINE;
    if (from % WORD != 0 || size % WORD != 0) {
        if (line->unit != 1)
            split(j, line, 1);
    } else if (size < LINE && line->unit == LINE)
        split(j, line, WORD);
    p.unit = line->unit;
    p.values = line->values + from;
    p.count = size / p.unit;
    p.cells = cells_of(j, line) + from / p.unit;
    return p;
}

/* ---- checks -------------------------------------------------------------- */

const char *groat__judge_device_name(const groat__judge_launch *launch,
                                     uint64_t address,
                                     char said[GROAT__JUDGE_SAID])
{
    if (groat__judge_is_in_image(launch, address))
        (void)snprintf(said, GROAT__JUDGE_SAID, "of a variable of the kernel");
    else
        (void)snprintf(said, GROAT__JUDGE_SAID, "at device address 0x%llx",
                       (unsigned long long)address);
    return said;
}

static const char *since(const groat__judge *j)
{
    return j->clocks_on ? " and nothing made visible here"
                        : " since the last barrier";
}

/* Whether another thread stored there, and nothing comes between. */
static bool is_raced(const groat__judge *j, const groat__device_cell *cell)
{
    return (cell->state & GROAT__DEVICE_WRITTEN) != 0 &&
           cell->write_time == j->device.time &&
           !groat__judge_knows(j, cell->writer, cell->write_clock);
}

/* Whether another thread has stored there without an atomic operation, and
 * nothing came since but such operations on the same cell. */
static bool is_uninitialized(const groat__judge *j,
                             const groat__device_cell *cell)
{
    return (cell->state & GROAT__DEVICE_PLAIN) != 0 &&
           j->device.time - cell->plain_time == cell->atomics &&
           !groat__judge_knows(j, cell->plain, cell->plain_clock);
}

/* Returns a reader of another thread with nothing in between, or 0. */
static uint32_t raced_reader(const groat__judge *j,
                             const groat__device_cell *cell)
{
    uint32_t list = cell->read_time == j->device.time ? cell->readers : 0;

    while (list != 0 && groat__judge_knows(j, j->readers.items[list].agent,
                                           j->readers.items[list].clock))
        list = j->readers.items[list].before;
    return list;
}

static void check_load(groat__judge *j, const groat__device_cell *cell,
                       uint64_t address, uint32_t unit)
{
    char said[GROAT__JUDGE_SAID];

    if (!is_raced(j, cell) || (cell->state & GROAT__DEVICE_CHANGED) == 0)
        return;
    groat__judge_add_place(j, cell->write_site, "the write");
    groat__judge_report(j,
                        "reads %u bytes %s, which thread %zu wrote%s: a "
                        "barrier is missing",
                        unit,
                        groat__judge_device_name(j->launch, address, said),
                        groat__judge_thread_of(j, cell->writer), since(j));
}

/* Makes the finding of a store, unless it has one or does not race. */
static void blame_store(groat__judge *j, const groat__device_cell *cell,
                        uint64_t address, uint32_t unit)
{
    uint32_t reader = raced_reader(j, cell);
    char said[GROAT__JUDGE_SAID];

    if (!is_raced(j, cell) && reader == 0)
        return;
    groat__judge_device_name(j->launch, address, said);
    if (is_raced(j, cell)) {
        groat__judge_add_place(j, cell->write_site, "the other write");
        groat__judge_blame(
            j, j->current,
            "writes %u bytes %s, which thread %zu wrote%s: a barrier is "
            "missing, or two threads use one place",
            unit, said, groat__judge_thread_of(j, cell->writer), since(j));
    } else {
        groat__judge_add_place(j, j->readers.items[reader].site, "the read");
        groat__judge_blame(
            j, j->current,
            "writes %u bytes %s, which thread %zu read%s: a barrier is missing",
            unit, said,
            groat__judge_thread_of(j, j->readers.items[reader].agent),
            j->clocks_on ? " and has not released" : " since the last barrier");
    }
}

/* ---- records ------------------------------------------------------------- */

static void note_load(groat__judge *j, groat__device_cell *cell)
{
    int32_t site = groat__judge_fiber(j)->site;
    uint32_t agent = groat__judge_agent(j, j->current);

    if (cell->readers == 0)
        cell->read_time = j->device.time;
    cell->readers = groat__judge_add_reader(
        j, cell->readers, agent, groat__judge_now(j, j->current), site);
    if ((cell->state & GROAT__DEVICE_READ) == 0) {
        cell->reader = (uint32_t)j->current;
        cell->read_site = site;
    }
    cell->state |= GROAT__DEVICE_READ;
    if (j->device.time == 0)
        cell->state |= GROAT__DEVICE_READ_EARLY;
    cell->last_read = j->device.time;
}

static void note_store(groat__judge *j, groat__device_cell *cell, bool plain)
{
    cell->writer = (uint32_t)j->current;
    cell->write_clock = groat__judge_now(j, j->current);
    cell->write_time = j->device.time;
    cell->write_site = groat__judge_fiber(j)->site;
    cell->readers = 0;
    cell->state |= GROAT__DEVICE_WRITTEN;
    if (plain) {
        cell->state |= GROAT__DEVICE_PLAIN;
        cell->plain = cell->writer;
        cell->plain_clock = cell->write_clock;
        cell->plain_time = cell->write_time;
        cell->plain_site = cell->write_site;
        cell->atomics = 0;
    } else
        cell->atomics++;
    if (j->device.time == 0)
        cell->state |=
            plain ? GROAT__DEVICE_WRITE_EARLY : GROAT__DEVICE_ATOMIC_EARLY;
}

void groat__judge_device_load(groat__judge *j, uint64_t address, uint64_t bytes)
{
    while (bytes > 0) {
        part p = part_of(j, address, bytes);

        for (uint32_t i = 0; i < p.count; i++) {
            check_load(j, &p.cells[i], address + i * p.unit, p.unit);
            note_load(j, &p.cells[i]);
        }
        address += p.bytes;
        bytes -= p.bytes;
    }
}

void groat__judge_device_write(groat__judge *j, uint64_t address,
                               uint64_t bytes)
{
    while (bytes > 0) {
        part p = part_of(j, address, bytes);

        for (uint32_t i = 0; i < p.count; i++) {
            blame_store(j, &p.cells[i], address + i * p.unit, p.unit);
            note_store(j, &p.cells[i], true);
        }
        address += p.bytes;
        bytes -= p.bytes;
    }
}

void groat__judge_device_store(groat__judge *j, uint64_t address,
                               uint64_t bytes, const void *from)
{
    bool changed = memcmp((const void *)(uintptr_t)address, from, bytes) != 0;

    groat__judge_device_write(j, address, bytes);
    if (j->failed && changed)
        groat__judge_leave(j);
    if (j->failed) {
        j->finding = (groat__judge_finding){0};
        j->failed = false;
    }
    groat__judge_device_stored(j, address, bytes, from, changed);
}

void groat__judge_device_stored(groat__judge *j, uint64_t address,
                                uint64_t bytes, const void *value, bool changed)
{
    const uint8_t *from = value;

    while (bytes > 0) {
        part p = part_of(j, address, bytes);

        for (uint32_t i = 0; i < p.count; i++) {
            groat__device_cell *cell = &p.cells[i];

            if (changed)
                cell->state |= GROAT__DEVICE_CHANGED;
            if (from == NULL)
                cell->state |= GROAT__DEVICE_UNKNOWN;
        }
        if (from != NULL && p.count > 0)
            memcpy(p.values, from, p.bytes);
        from = from == NULL ? NULL : from + p.bytes;
        address += p.bytes;
        bytes -= p.bytes;
    }
}

void groat__judge_device_sync(groat__judge *j)
{
    j->device.time++;
}

void groat__judge_device_atomic(groat__judge *j, uint64_t address,
                                uint64_t bytes)
{
    char said[GROAT__JUDGE_SAID];
    part p;

    for (; bytes > 0; address += p.bytes, bytes -= p.bytes) {
        p = part_of(j, address, bytes);
        for (uint32_t i = 0; i < p.count; i++) {
            groat__device_cell *cell = &p.cells[i];

            if (is_uninitialized(j, cell)) {
                groat__judge_add_place(j, cell->plain_site, "the write");
                groat__judge_report(
                    j,
                    "changes %u bytes %s by an atomic "
                    "operation, and thread %zu wrote them without one%s: a "
                    "barrier is missing",
                    p.unit,
                    groat__judge_device_name(j->launch, address + i * p.unit,
                                             said),
                    groat__judge_thread_of(j, cell->plain), since(j));
            }
            note_store(j, cell, false);
        }
    }
    groat__judge_device_sync(j);
}

/* ---- clusters ------------------------------------------------------------ */

void groat__judge_device_forget(groat__judge *j)
{
    groat__device *d = &j->device;

    if (d->count > 0)
        memset(d->buckets, 0, d->bucket_count * sizeof(*d->buckets));
    d->count = 0;
    d->cell_count = 0;
    d->last = NULL;
    d->time = 0;
}

static int by_key(const void *a, const void *b)
{
    groat__device_page *const *x = a;
    groat__device_page *const *y = b;

    return (*x)->key < (*y)->key ? -1 : (*x)->key > (*y)->key;
}

/* The loads or the stores of a cell, with which other clusters may race. */
static groat__span span_of(const groat__judge *j,
                           const groat__device_cell *cell, bool load,
                           uint64_t address, uint32_t unit)
{
    groat__span span = {.start = address,
                        .end = address + unit,
                        .unit = unit,
                        .cluster = j->number,
                        .load = load};

    if (load) {
        span.fiber = cell->reader;
        span.site = cell->read_site;
        span.early = (cell->state & GROAT__DEVICE_READ_EARLY) != 0;
        span.late = cell->last_read == j->device.time;
        return span;
    }
    span.plain = (cell->state & GROAT__DEVICE_PLAIN) != 0;
    span.fiber = span.plain ? cell->plain : cell->writer;
    span.site = span.plain ? cell->plain_site : cell->write_site;
    span.early = (cell->state & GROAT__DEVICE_WRITE_EARLY) != 0;
    span.first = (cell->state & GROAT__DEVICE_ATOMIC_EARLY) != 0;
    span.late = cell->write_time == j->device.time;
    span.changed = (cell->state & GROAT__DEVICE_CHANGED) != 0;
    span.unknown = (cell->state & GROAT__DEVICE_UNKNOWN) != 0;
    return span;
}

static bool hand_over_line(groat__judge *j, groat__device_line *line,
                           uint64_t address, bool load)
{
    const groat__device_cell *cells = cells_of(j, line);
    unsigned needed = load ? GROAT__DEVICE_READ : GROAT__DEVICE_WRITTEN;

    for (uint32_t at = 0; line->unit != 0 && at < LINE; at += line->unit) {
        const groat__device_cell *cell = &cells[at / line->unit];
        groat__span span;

        if ((cell->state & needed) == 0)
            continue;
        span = span_of(j, cell, load, address + at, line->unit);
        if (!groat__spans_add(&j->spans, &span, line->values + at))
            return false;
    }
    return true;
}

bool groat__judge_device_hand_over(groat__judge *j)
{
    groat__device *d = &j->device;
    bool kept = true;

    if (d->count == 0 ||
        !groat__spans_start(&j->spans, j->number, j->grid->clusters))
        return true;
    qsort(d->pages, d->count, sizeof(groat__device_page *), by_key);
    for (int load = 0; load < 2; load++)
        for (size_t i = 0; kept && i < d->count * LINES; i++) {
            groat__device_page *page = d->pages[i / LINES];

            kept =
                hand_over_line(j, &page->lines[i % LINES],
                               page->key * PAGE + i % LINES * LINE, load != 0);
        }
    return kept;
}

void groat__judge_device_drop(groat__judge *j)
{
    for (size_t i = 0; i < j->device.made; i++)
        free(j->device.pages[i]);
    free(j->device.pages);
    free(j->device.cells);
    free(j->device.buckets);
}
