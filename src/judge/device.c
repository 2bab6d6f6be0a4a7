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
    PAGES_MAX = 4096,   /* the first ones that a cluster touches */
    CELLS_MAX = 1 << 20 /* of lines that are split, about */
};

/* ---- cells --------------------------------------------------------------- */

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
    if (!groat__index_add(&d->index, key, (uint32_t)d->count + 1))
        groat__judge_starve(j);
    memset(d->pages[d->count], 0, sizeof(groat__device_page));
    d->pages[d->count]->key = key;
    return d->pages[d->count++];
}

/* Returns NULL for one more than are recorded. */
static groat__device_page *page_of(groat__judge *j, uint64_t key)
{
    groat__device *d = &j->device;
    uint32_t number;

    if (d->last != NULL && d->last->key == key)
        return d->last;
    number = groat__index_find(&d->index, key);
    d->last = number == 0 ? add_page(j, key) : d->pages[number - 1];
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

    for (uint32_t i = 0; i < count; i++) {
        uint32_t bits = ((1u << unit) - 1) << i * unit;
        groat__device_cell *cell = &cells[first + i];

        *cell = line->unit == LINE ? line->whole
                                   : cells[line->first + i * unit / line->unit];
        if ((line->changed & bits) == 0)
            cell->state &= ~(uint32_t)GROAT__DEVICE_CHANGED;
        if ((line->last & bits) == 0)
            cell->state &= ~(uint32_t)GROAT__DEVICE_LAST_CHANGED;
    }
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
    groat__device_line *line;
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
    uint32_t unit = from % WORD != 0 || size % WORD != 0 ? 1
                    : size < LINE                        ? WORD
                                                         : LINE;
    groat__device_page *page = page_of(j, address / PAGE);
    part p = {.address = address, .bytes = size, .unit = 1};
    groat__device_line *line;

    if (page == NULL)
        return p;
    line = &page->lines[address / LINE % LINES];
    if (line->unit == 0)
        line->unit = LINE;
    if (line->unit > unit && j->device.cell_count > CELLS_MAX)
        return p;
    if (line->unit > unit)
        split(j, line, unit);
    p.unit = line->unit;
    p.line = line;
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
    return (cell->state & GROAT__DEVICE_PLAIN) != 0 &&
           cell->last_store.meets == j->device.meets &&
           !groat__judge_knows(j, cell->last_store.fiber, cell->clock);
}

/* Whether another thread has stored there without an atomic operation, and
 * nothing came since but such operations on the same cell. */
static bool is_uninitialized(const groat__judge *j,
                             const groat__device_cell *cell)
{
    return (cell->state & GROAT__DEVICE_PLAIN) != 0 &&
           j->device.meets - cell->last_store.meets == cell->atomics &&
           !groat__judge_knows(j, cell->last_store.fiber, cell->clock);
}

/* Returns a reader of another thread with nothing in between, or 0. */
static uint32_t raced_reader(const groat__judge *j,
                             const groat__device_cell *cell)
{
    uint32_t list =
        cell->last_load.meets == j->device.meets ? cell->readers : 0;

    while (list != 0 && groat__judge_knows(j, j->readers.items[list].agent,
                                           j->readers.items[list].clock))
        list = j->readers.items[list].before;
    return list;
}

static void check_load(groat__judge *j, const groat__device_cell *cell,
                       uint64_t address, uint32_t unit)
{
    char said[GROAT__JUDGE_SAID];

    if (!is_raced(j, cell) || (cell->state & GROAT__DEVICE_LAST_CHANGED) == 0)
        return;
    groat__judge_add_place(j, cell->last_store.site, "the write");
    groat__judge_report(
        j,
        "reads %u bytes %s, which thread %zu wrote%s: a "
        "barrier is missing",
        unit, groat__judge_device_name(j->launch, address, said),
        groat__judge_thread_of(j, cell->last_store.fiber), since(j));
}

static void check_store(groat__judge *j, const groat__device_cell *cell,
                        uint64_t address, uint32_t unit)
{
    uint32_t reader = raced_reader(j, cell);
    char said[GROAT__JUDGE_SAID];

    if (!is_raced(j, cell) && reader == 0)
        return;
    groat__judge_device_name(j->launch, address, said);
    if (is_raced(j, cell)) {
        groat__judge_add_place(j, cell->last_store.site, "the other write");
        groat__judge_report(
            j,
            "writes %u bytes %s, which thread %zu wrote%s: a barrier is "
            "missing, or two threads use one place",
            unit, said, groat__judge_thread_of(j, cell->last_store.fiber),
            since(j));
    }
    groat__judge_add_place(j, j->readers.items[reader].site, "the read");
    groat__judge_report(
        j, "writes %u bytes %s, which thread %zu read%s: a barrier is missing",
        unit, said, groat__judge_thread_of(j, j->readers.items[reader].agent),
        j->clocks_on ? " and has not released" : " since the last barrier");
}

static void check_atomic(groat__judge *j, const groat__device_cell *cell,
                         uint64_t address, uint32_t unit)
{
    char said[GROAT__JUDGE_SAID];

    if (!is_uninitialized(j, cell))
        return;
    groat__judge_add_place(j, cell->last_store.site, "the write");
    groat__judge_report(
        j,
        "changes %u bytes %s by an atomic operation, and "
        "thread %zu wrote them without one%s: a barrier is "
        "missing",
        unit, groat__judge_device_name(j->launch, address, said),
        groat__judge_thread_of(j, cell->last_store.fiber), since(j));
}

/* ---- records ------------------------------------------------------------- */

static groat__device_use this_use(const groat__judge *j)
{
    return (groat__device_use){(uint32_t)j->current,
                               groat__judge_fiber(j)->site, j->device.meets,
                               j->device.global};
}

static void load_cell(groat__judge *j, groat__device_cell *cell,
                      uint64_t address, uint32_t unit)
{
    uint32_t agent = groat__judge_agent(j, j->current);

    check_load(j, cell, address, unit);
    if (cell->last_load.meets != j->device.meets)
        cell->readers = 0;
    cell->last_load = this_use(j);
    cell->readers = groat__judge_add_reader(j, cell->readers, agent,
                                            groat__judge_now(j, j->current),
                                            cell->last_load.site);
    if ((cell->state & GROAT__DEVICE_READ) == 0)
        cell->first_load = cell->last_load;
    cell->state |= GROAT__DEVICE_READ;
}

/* Returns whether the store counts as one: it is the first, or changes memory.
 */
static bool note_store(groat__judge *j, groat__device_cell *cell, bool changed)
{
    bool plain = (cell->state & GROAT__DEVICE_PLAIN) != 0;

    if (plain && !changed)
        return false;
    cell->last_store = this_use(j);
    cell->clock = groat__judge_now(j, j->current);
    cell->atomics = 0;
    cell->state &= ~(uint32_t)GROAT__DEVICE_LAST_CHANGED;
    if (!plain)
        cell->first_store = cell->last_store;
    cell->state |= GROAT__DEVICE_PLAIN;
    if (changed) {
        cell->readers = 0;
        cell->state |= GROAT__DEVICE_CHANGED | GROAT__DEVICE_LAST_CHANGED;
    }
    return true;
}

static void atomic_cell(groat__judge *j, groat__device_cell *cell,
                        uint64_t address, uint32_t unit)
{
    check_atomic(j, cell, address, unit);
    if ((cell->state & GROAT__DEVICE_PLAIN) == 0)
        cell->last_store = this_use(j);
    if ((cell->state & (GROAT__DEVICE_PLAIN | GROAT__DEVICE_ATOMIC)) == 0)
        cell->first_store = cell->last_store;
    cell->atomics++;
    cell->readers = 0;
    cell->state |= GROAT__DEVICE_ATOMIC;
    if (j->device.global == 0)
        cell->state |= GROAT__DEVICE_ATOMIC_FIRST;
}

/* Judges and records an access of each of its cells. */
static void visit(groat__judge *j, uint64_t address, uint64_t bytes,
                  void (*cell)(groat__judge *j, groat__device_cell *cell,
                               uint64_t address, uint32_t unit))
{
    part p;

    for (; bytes > 0; address += p.bytes, bytes -= p.bytes) {
        p = part_of(j, address, bytes);
        for (uint32_t i = 0; i < p.count; i++)
            cell(j, &p.cells[i], address + i * p.unit, p.unit);
    }
}

void groat__judge_device_load(groat__judge *j, uint64_t address, uint64_t bytes)
{
    visit(j, address, bytes, load_cell);
}

static void note_values(groat__device_line *line, uint32_t from, uint32_t bytes,
                        const uint8_t *before, const uint8_t *after)
{
    for (uint32_t i = 0; i < bytes; i++) {
        uint32_t bit = 1u << (from + i);
        uint32_t changed = before[i] != after[i] ? bit : 0;

        line->values[from + i] = after[i];
        line->changed = (uint16_t)(line->changed | changed);
        line->last = (uint16_t)((line->last & ~bit) | changed);
    }
}

void groat__judge_device_store(groat__judge *j, uint64_t address,
                               uint64_t bytes, const void *before,
                               const void *after)
{
    const uint8_t *old = before;
    const uint8_t *new = after;
    part p;

    for (; bytes > 0; address += p.bytes, bytes -= p.bytes) {
        p = part_of(j, address, bytes);
        for (uint32_t i = 0; i < p.count; i++) {
            uint32_t at = i * p.unit;
            bool changed = memcmp(old + at, new + at, p.unit) != 0;

            if (changed)
                check_store(j, &p.cells[i], address + at, p.unit);
            if (note_store(j, &p.cells[i], changed))
                note_values(p.line, (uint32_t)(address % LINE) + at, p.unit,
                            old + at, new + at);
        }
        old += p.bytes;
        new += p.bytes;
    }
}

/* Returns the line of an address, of whose bytes other memory may have some. */
static groat__snapshot_line line_at(const groat__judge *j, uint64_t address)
{
    uint64_t start = address / LINE * LINE;
    groat__snapshot_line line = {.address = start, .to = LINE};

    for (size_t i = 0; i < j->launch->range_count; i++) {
        const groat__judge_range *r = &j->launch->ranges[i];

        if (address - r->address >= r->bytes)
            continue;
        if (r->address > start)
            line.from = (uint8_t)(r->address - start);
        if (r->address + r->bytes < start + LINE)
            line.to = (uint8_t)(r->address + r->bytes - start);
    }
    return line;
}

void groat__judge_device_keep(groat__judge *j, uint64_t address, uint64_t bytes)
{
    part p;

    if (j->grid->threads == 1)
        return;
    for (; bytes > 0; address += p.bytes, bytes -= p.bytes) {
        p = part_of(j, address, bytes);
        if (p.count == 0)
            groat__judge_grid_keep(j->grid, NULL);
        else if (!p.line->kept) {
            groat__snapshot_line line = line_at(j, address);

            groat__judge_grid_keep(j->grid, &line);
            p.line->kept = true;
        }
    }
}

void groat__judge_device_meet(groat__judge *j, bool global)
{
    j->device.meets++;
    j->device.global += global;
}

void groat__judge_device_atomic(groat__judge *j, uint64_t address,
                                uint64_t bytes)
{
    visit(j, address, bytes, atomic_cell);
    groat__judge_device_meet(j, true);
}

/* ---- clusters ------------------------------------------------------------ */

void groat__judge_device_forget(groat__judge *j)
{
    groat__device *d = &j->device;

    groat__index_clear(&d->index);
    d->count = 0;
    d->cell_count = 0;
    d->last = NULL;
    d->meets = 0;
    d->global = 0;
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
    const groat__device_use *first =
        load ? &cell->first_load : &cell->first_store;
    const groat__device_use *last = load ? &cell->last_load : &cell->last_store;
    groat__span span = {.start = address,
                        .end = address + unit,
                        .unit = unit,
                        .cluster = j->number,
                        .load = load,
                        .first = {first->fiber, 0, first->site},
                        .last = {last->fiber, 0, last->site}};

    span.plain = !load && (cell->state & GROAT__DEVICE_PLAIN) != 0;
    span.atomic = !load && (cell->state & GROAT__DEVICE_ATOMIC) != 0;
    span.changed = !load && (cell->state & GROAT__DEVICE_CHANGED) != 0;
    span.atomic_first = !load && (cell->state & GROAT__DEVICE_ATOMIC_FIRST);
    span.early = (load || span.plain) && first->global == 0;
    span.late = (load || span.plain) && last->global == j->device.global;
    return span;
}

/* A store of 16 bytes may have changed some of them alone. */
static bool hand_over_words(groat__judge *j, const groat__device_line *line,
                            groat__span span)
{
    for (uint32_t at = 0; at < LINE; at += WORD) {
        span.start = span.end - LINE + at;
        span.changed = (line->changed >> at & 15) != 0;
        span.unit = WORD;
        span.end = span.start + WORD;
        if (!groat__spans_add(&j->spans, &span, line->values + at))
            return false;
        span.end = span.start - at + LINE;
    }
    return true;
}

static bool hand_over_line(groat__judge *j, groat__device_line *line,
                           uint64_t address, bool load)
{
    const groat__device_cell *cells = cells_of(j, line);
    unsigned needed =
        load ? GROAT__DEVICE_READ : GROAT__DEVICE_PLAIN | GROAT__DEVICE_ATOMIC;

    for (uint32_t at = 0; line->unit != 0 && at < LINE; at += line->unit) {
        const groat__device_cell *cell = &cells[at / line->unit];
        groat__span span;
        bool added;

        if ((cell->state & needed) == 0)
            continue;
        span = span_of(j, cell, load, address + at, line->unit);
        added = !load && line->unit == LINE && line->changed != UINT16_MAX
                    ? hand_over_words(j, line, span)
                    : groat__spans_add(&j->spans, &span, line->values + at);
        if (!added)
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
    groat__index_drop(&j->device.index);
}
