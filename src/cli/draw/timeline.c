/* SPDX-License-Identifier: Apache-2.0
 *
 * timeline.c - the order of accesses and waits: moments in columns, a row for
 * each wave, each slot of shared memory and each mbarrier.
 *
 * Owns the layout: strips of columns, one below the other.  A column is a
 * moment of one wave and has no duration; the time in which a wave waits is
 * hatched, a slot is in flight from its first copy until the last of them has
 * landed, and a phase spans from its first arrival or copy to the first wave
 * that resumes after it.
 */
#include "cli/draw/draw.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 58, STRIPS = 16, MBARRIERS = 64 };

#define NAME_WIDTH  50.0
#define STEP        9.0
#define ROW         9.0
#define STRIP_GAP   8.0
#define LABEL_BASE  6.8
#define SAMPLE_STEP 111.0

static const char letters[] = {
    [GROAT_ACCESS_READ] = 'R',   [GROAT_ACCESS_WRITE] = 'W',
    [GROAT_ACCESS_COPY] = 'C',   [GROAT_ACCESS_TRANSPOSE] = 'T',
    [GROAT_ACCESS_ARRIVE] = 'A', [GROAT_ACCESS_WAIT] = 'w',
    [GROAT_ACCESS_RESUME] = 'g', [GROAT_ACCESS_LAND] = 'L',
    [GROAT_ACCESS_LOAD] = 'D',   [GROAT_ACCESS_STORE] = 'S'};

/* Offsets of mbarriers in shared memory, ascending. */
typedef struct mbarriers {
    unsigned at[MBARRIERS];
    size_t count;
} mbarriers;

static void list_mbarriers(mbarriers *list, const groat__record *record)
{
    list->count = 0;
    for (size_t i = 0; i < record->moment_count; i++) {
        unsigned at = record->moments[i].mbarrier;
        size_t k = 0;

        while (k < list->count && list->at[k] < at)
            k++;
        if (at == ~0u || list->count == MBARRIERS ||
            (k < list->count && list->at[k] == at))
            continue;
        memmove(&list->at[k + 1], &list->at[k],
                (list->count - k) * sizeof(list->at[0]));
        list->at[k] = at;
        list->count++;
    }
}

/* What a timeline has rows of, beside waves. */
typedef struct rows {
    mbarriers mbarriers;
    groat__slots slots;
    size_t end;                /* moments drawn */
    groat__slot_state *states; /* [slots.count][end] */
} rows;

/* A strip while it is drawn. */
typedef struct strip {
    groat__sheet *sheet;
    const groat__record *record;
    size_t first, end; /* moments */
} strip;

static double column(const strip *s, size_t moment)
{
    return GROAT__PAGE_LEFT + NAME_WIDTH + (double)(moment - s->first) * STEP;
}

/* Draws a box over the moments [from, to) that are in the strip. */
static void draw_span(const strip *s, size_t from, size_t to, double y,
                      const char *class)
{
    from = from < s->first ? s->first : from;
    to = to > s->end ? s->end : to;
    if (from < to)
        groat__sheet_box(s->sheet, column(s, from), y,
                         (double)(to - from) * STEP, ROW - 1, class);
}

/* Returns the next moment of the same wave after `from`. */
static size_t end_of_wait(const groat__record *record, size_t from)
{
    unsigned wave = record->moments[from].wave;

    for (size_t i = from + 1; i < record->moment_count; i++)
        if (record->moments[i].wave == wave)
            return i;
    return record->moment_count;
}

/* Draws the box of one step; there are eight colours on NVIDIA, one of which no
 * wait uses. */
static void draw_step(groat__sheet *sheet, double x, double y,
                      groat_access access)
{
    if (access == GROAT_ACCESS_STORE)
        groat__sheet_box(sheet, x, y, STEP, ROW - 1, "free");
    else
        groat__sheet_group(sheet, x, y, STEP, ROW - 1,
                           access == GROAT_ACCESS_LOAD ? GROAT_ACCESS_WAIT
                                                       : (unsigned)access);
}

/* Draws a wait until the wave goes on; its title says what it waits for. */
static void draw_wait(const strip *s, size_t at, double y)
{
    const groat__moment *m = &s->record->moments[at];

    if (m->mbarrier == ~0u)
        groat__sheet_begin(s->sheet, "held", NULL, "wave %u waits at a barrier",
                           m->wave);
    else
        groat__sheet_begin(s->sheet, "held", NULL,
                           "wave %u waits for phase %u of the mbarrier at byte "
                           "%u",
                           m->wave, m->phase, m->mbarrier);
    draw_span(s, at, end_of_wait(s->record, at), y, "wait");
    if (at >= s->first)
        groat__sheet_text(s->sheet, column(s, at) + STEP / 2, y + LABEL_BASE,
                          "cell", "%c", letters[GROAT_ACCESS_WAIT]);
    groat__sheet_end(s->sheet);
}

static void draw_wave(const strip *s, unsigned wave, double y)
{
    const groat__record *record = s->record;

    groat__sheet_text(s->sheet, GROAT__PAGE_LEFT, y + LABEL_BASE, "row",
                      "wave %u", wave);
    for (size_t i = 0; i < s->end; i++) {
        const groat__moment *m = &record->moments[i];

        if (m->wave != wave)
            continue;
        if (m->access == GROAT_ACCESS_WAIT && end_of_wait(record, i) > s->first)
            draw_wait(s, i, y);
        if (i < s->first || m->access == GROAT_ACCESS_WAIT)
            continue;
        draw_step(s->sheet, column(s, i), y, m->access);
        groat__sheet_text(s->sheet, column(s, i) + STEP / 2, y + LABEL_BASE,
                          "cell", "%c", letters[m->access]);
    }
}

static const char *const slot_classes[] = {
    [GROAT__SLOT_FLIGHT] = "flight", [GROAT__SLOT_THERE] = "there"};

/* Marks the moments that access a slot's bytes with their letters. */
static void mark_accesses(const strip *s, const groat__slot *slot, double y)
{
    for (size_t i = s->first; i < s->end; i++)
        if (groat__slot_has(slot, s->record, i))
            groat__sheet_text(s->sheet, column(s, i) + STEP / 2, y + LABEL_BASE,
                              "cell", "%c",
                              letters[s->record->moments[i].access]);
}

static void draw_slot(const strip *s, const rows *all, size_t index, double y)
{
    const groat__slot *slot = &all->slots.at[index];
    const groat__slot_state *states = &all->states[index * all->end];
    size_t to;

    groat__sheet_text(s->sheet, GROAT__PAGE_LEFT, y + LABEL_BASE, "row",
                      "slot %u", slot->from);
    for (size_t from = s->first; from < s->end; from = to) {
        for (to = from; to < s->end && states[to] == states[from];)
            to++;
        if (states[from] == GROAT__SLOT_EMPTY)
            continue;
        groat__sheet_begin(s->sheet, "slot", NULL, "bytes %u to %u: %s",
                           slot->from, slot->to - 1,
                           states[from] == GROAT__SLOT_FLIGHT
                               ? "copies in flight"
                               : "filled, none in flight");
        draw_span(s, from, to, y, slot_classes[states[from]]);
        groat__sheet_end(s->sheet);
    }
    mark_accesses(s, slot, y);
}

/* Draws a phase, from its first arrival or copy to the first resuming wave. */
static void draw_phase(const strip *s, size_t from, double y)
{
    const groat__moment *begin = &s->record->moments[from];
    size_t to = from + 1;
    size_t shown = from < s->first ? s->first : from;

    while (to < s->record->moment_count &&
           !(s->record->moments[to].access == GROAT_ACCESS_RESUME &&
             s->record->moments[to].mbarrier == begin->mbarrier &&
             s->record->moments[to].phase >= begin->phase))
        to++;
    if (to <= s->first)
        return;
    draw_span(s, from, to, y, "free");
    groat__sheet_text(s->sheet, column(s, shown) + STEP / 2, y + LABEL_BASE,
                      "cell", "%u", begin->phase);
}

static void draw_mbarrier(const strip *s, unsigned at, double y)
{
    unsigned next = 0; /* the next phase to draw */

    groat__sheet_text(s->sheet, GROAT__PAGE_LEFT, y + LABEL_BASE, "row",
                      "byte %u", at);
    for (size_t i = 0; i < s->end; i++) {
        const groat__moment *m = &s->record->moments[i];

        if (m->mbarrier != at || m->phase < next ||
            (m->access != GROAT_ACCESS_ARRIVE &&
             m->access != GROAT_ACCESS_COPY))
            continue;
        draw_phase(s, i, y);
        next = m->phase + 1;
    }
}

static void draw_slot_legend(groat__sheet *sheet)
{
    static const char *const words[] = {
        [GROAT__SLOT_FLIGHT] = "slot: copies in flight",
        [GROAT__SLOT_THERE] = "slot: filled, none in flight"};

    for (unsigned i = GROAT__SLOT_FLIGHT; i <= GROAT__SLOT_THERE; i++) {
        double x = GROAT__PAGE_LEFT + (i - GROAT__SLOT_FLIGHT) * SAMPLE_STEP;

        groat__sheet_box(sheet, x, sheet->y, STEP, ROW - 1, slot_classes[i]);
        groat__sheet_text(sheet, x + STEP + 3, sheet->y + LABEL_BASE, "row",
                          "%s", words[i]);
    }
    sheet->y += ROW;
}

static void draw_legend(groat__sheet *sheet, size_t slots)
{
    static const char *const words[] = {
        [GROAT_ACCESS_READ] = "R read",
        [GROAT_ACCESS_WRITE] = "W write",
        [GROAT_ACCESS_COPY] = "C copy issued",
        [GROAT_ACCESS_TRANSPOSE] = "T transposing",
        [GROAT_ACCESS_ARRIVE] = "A arrival",
        [GROAT_ACCESS_WAIT] = "w waits",
        [GROAT_ACCESS_RESUME] = "g goes on",
        [GROAT_ACCESS_LAND] = "L copies landed",
        [GROAT_ACCESS_LOAD] = "D load of device memory",
        [GROAT_ACCESS_STORE] = "S store to device memory"};
    enum { IN_LINE = 5 };

    enum { WORDS = sizeof(words) / sizeof(words[0]) };
    double x = GROAT__PAGE_LEFT;
    double y;

    sheet->y += 4;
    for (unsigned i = 0; i < WORDS; i++) {
        x = GROAT__PAGE_LEFT + i % IN_LINE * SAMPLE_STEP;
        y = sheet->y + i / IN_LINE * ROW;
        if (i == GROAT_ACCESS_WAIT)
            groat__sheet_box(sheet, x, y, STEP, ROW - 1, "wait");
        else
            draw_step(sheet, x, y, (groat_access)i);
        groat__sheet_text(sheet, x + STEP + 3, y + LABEL_BASE, "row", "%s",
                          words[i]);
    }
    sheet->y += (WORDS + IN_LINE - 1) / IN_LINE * ROW;
    if (slots > 0)
        draw_slot_legend(sheet);
    sheet->y += 4;
}

/* Makes the rows.  False: out of memory. */
static bool make_rows(rows *all, const groat__record *record,
                      unsigned shared_bytes)
{
    bool whole = groat__slots_make(&all->slots, record, shared_bytes);

    list_mbarriers(&all->mbarriers, record);
    all->end = record->moment_count < STRIPS * COLUMNS ? record->moment_count
                                                       : STRIPS * COLUMNS;
    all->states = calloc(all->slots.count * all->end + 1, sizeof(*all->states));
    for (size_t i = 0; whole && all->states && i < all->slots.count; i++)
        groat__slot_follow(&all->slots, i, record, all->end,
                           &all->states[i * all->end]);
    return whole && all->states;
}

static void draw_notes(groat__sheet *sheet, const rows *all, size_t moments)
{
    groat__sheet_note(
        sheet,
        "A column is one wave's next step in the order in which the judge ran "
        "them, equal ones put together; it is no time. Rows of bytes are "
        "mbarriers: a phase, by its number, from its first arrival or copy to "
        "the first wave that goes on behind it.");
    if (all->slots.count > 0)
        groat__sheet_note(
            sheet,
            "A slot is the bytes from there on that become readable together: "
            "counted by the same phases, or filled between the same waits.");
    if (all->slots.left_out > 0)
        groat__sheet_note(sheet, "%zu more slots are not drawn.",
                          all->slots.left_out);
    if (all->end < moments)
        groat__sheet_note(sheet,
                          "The first %zu steps are drawn; %zu more are not.",
                          all->end, moments - all->end);
}

static void draw_strip(const strip *s, const rows *all)
{
    double y = s->sheet->y;

    groat__sheet_begin(s->sheet, "strip", NULL, "steps %zu to %zu", s->first,
                       s->end - 1);
    for (unsigned wave = 0; wave < s->record->waves; wave++, y += ROW)
        draw_wave(s, wave, y);
    for (size_t i = 0; i < all->slots.count; i++, y += ROW)
        draw_slot(s, all, i, y);
    for (size_t i = 0; i < all->mbarriers.count; i++, y += ROW)
        draw_mbarrier(s, all->mbarriers.at[i], y);
    groat__sheet_end(s->sheet);
    s->sheet->y = y + STRIP_GAP;
}

bool groat__draw_timeline(groat__sheet *sheet, const groat__record *record,
                          unsigned shared_bytes)
{
    rows all = {.states = NULL};
    bool whole = make_rows(&all, record, shared_bytes);
    size_t count = record->waves + all.slots.count + all.mbarriers.count;

    if (whole) {
        draw_notes(sheet, &all, record->moment_count);
        draw_legend(sheet, all.slots.count);
        for (size_t first = 0; first < all.end; first += COLUMNS) {
            strip s = {sheet, record, first,
                       first + COLUMNS < all.end ? first + COLUMNS : all.end};

            groat__sheet_room(sheet, (double)count * ROW + STRIP_GAP);
            draw_strip(&s, &all);
        }
    }
    free(all.states);
    groat__slots_free(&all.slots);
    return whole;
}
