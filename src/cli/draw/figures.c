/* SPDX-License-Identifier: Apache-2.0
 *
 * figures.c - figures of single accesses: which lane touches which bytes of
 * shared memory, and its bank conflicts.
 *
 * Owns the figures: at the top, the lines of shared memory that the access
 * touches, with a box per location and the lanes that access it, outlined if a
 * lane served at once accesses another dword of the same bank; below, for the
 * groups of lanes with conflicts, the number of distinct dwords per bank.
 * Invariant: a box is outlined exactly when it takes part in a conflict of the
 * bank model.
 */
#include "cli/draw/draw.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BANK = 4, ROOM = 64, STRIPS = 4, BANKS_SIDE_BY_SIDE = 64 };

#define BOX_HEIGHT  9.0
#define TEXT_BASE   6.7
#define MARK        34.0
#define BANK_BYTES  4.0
#define NARROW      12.0 /* narrower boxes get a thin outline */
#define COLUMN_GAP  12.0
#define HEAD_HEIGHT 34.0 /* most height of a kind's heading */

/* A location of whole dwords, and the lanes that access it. */
typedef struct spot {
    uint32_t at;
    uint32_t bytes;
    uint64_t lanes;
    bool hot;
} spot;

/* A figure while it is drawn. */
typedef struct plot {
    groat__sheet *sheet;
    const groat__record *record;
    const groat__step *step;
    spot spots[GROAT__DRAW_LANES];
    size_t spot_count;
    uint32_t rows[2 * GROAT__DRAW_LANES]; /* line numbers, ascending */
    size_t row_count;
    size_t columns;          /* columns of lines */
    size_t deep;             /* lines per column */
    double step_x;           /* distance of columns */
    double bank;             /* width of a bank, in points */
    unsigned strips[STRIPS]; /* first lanes of groups with conflicts */
    size_t strip_count, all_strips;
} plot;

static int compare_spots(const void *left, const void *right)
{
    const spot *a = left;
    const spot *b = right;

    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return 0;
}

/* Inserts a line number in order: a spot across two lines may add the second
 * line before later spots of the first. */
static void add_row(plot *p, uint32_t row)
{
    size_t at = p->row_count;

    while (at && p->rows[at - 1] > row)
        at--;
    if (at && p->rows[at - 1] == row)
        return;
    memmove(&p->rows[at + 1], &p->rows[at],
            (p->row_count - at) * sizeof(p->rows[0]));
    p->rows[at] = row;
    p->row_count++;
}

static void find_spots(plot *p)
{
    const groat__step *step = p->step;
    uint64_t conflicts = groat__step_conflicts(step, p->record);
    uint32_t wide = p->record->banks * BANK;
    size_t kept = 0;

    for (unsigned l = 0; l < p->record->lanes; l++) {
        uint32_t at = step->shared[l] & ~3u;
        uint32_t end = (step->shared[l] + step->bytes + 3) & ~3u;

        if (groat__step_has(step, l))
            p->spots[p->spot_count++] =
                (spot){at, end - at, (uint64_t)1 << l, conflicts >> l & 1};
    }
    qsort(p->spots, p->spot_count, sizeof(p->spots[0]), compare_spots);
    for (size_t i = 0; i < p->spot_count; i++) {
        spot *last = kept ? &p->spots[kept - 1] : NULL;

        if (last && last->at == p->spots[i].at) {
            last->lanes |= p->spots[i].lanes;
            last->hot = last->hot || p->spots[i].hot;
        } else
            p->spots[kept++] = p->spots[i];
    }
    p->spot_count = kept;
    for (size_t i = 0; i < kept; i++) {
        add_row(p, p->spots[i].at / wide);
        add_row(p, (p->spots[i].at + p->spots[i].bytes - 1) / wide);
    }
}

static unsigned count_lanes(uint64_t lanes)
{
    unsigned count = 0;

    for (; lanes; lanes &= lanes - 1)
        count++;
    return count;
}

static unsigned nth_lane(uint64_t lanes, unsigned n)
{
    unsigned lane = 0;

    for (; n; n--)
        lanes &= lanes - 1;
    while (!(lanes >> lane & 1))
        lane++;
    return lane;
}

/* Writes "3", "0-3", "0,32" or, where that is too wide, "0+" or "0". */
static void name_lanes(char out[ROOM], double width, uint64_t lanes)
{
    unsigned count = count_lanes(lanes);
    unsigned first = nth_lane(lanes, 0);
    unsigned last = nth_lane(lanes, count - 1);

    if (count == 1) {
        (void)snprintf(out, ROOM, "%u", first);
        return;
    }
    if (last - first + 1 == count)
        (void)snprintf(out, ROOM, "%u-%u", first, last);
    else if (count == 2)
        (void)snprintf(out, ROOM, "%u,%u", first, last);
    else
        (void)snprintf(out, ROOM, "%u,%u..", first, nth_lane(lanes, 1));
    if (groat__label_width(out) > width)
        (void)snprintf(out, ROOM, "%u+", first);
    if (groat__label_width(out) > width)
        (void)snprintf(out, ROOM, "%u", first);
}

/* Returns the position of a line: down one column, then down the next. */
static void place_row(const plot *p, uint32_t row, double *x, double *y)
{
    size_t at = 0;

    while (at + 1 < p->row_count && p->rows[at] != row)
        at++;
    *x = GROAT__PAGE_LEFT + MARK + (double)(at / p->deep) * p->step_x;
    *y = p->sheet->y + BOX_HEIGHT + (double)(at % p->deep) * BOX_HEIGHT;
}

/* Draws the part of a spot in one line. */
static void draw_part(const plot *p, const spot *s, uint32_t from, uint32_t to)
{
    uint32_t wide = p->record->banks * BANK;
    double x, y;
    double width = p->bank * (to - from) / BANK_BYTES;
    bool narrow = width < NARROW;
    char label[ROOM];

    place_row(p, from / wide, &x, &y);
    x += p->bank * (from % wide) / BANK_BYTES;
    /* One colour per group of four banks; a spot may span several. */
    for (uint32_t at = from; at < to;) {
        uint32_t stop = at / 16 * 16 + 16 < to ? at / 16 * 16 + 16 : to;

        groat__sheet_group(p->sheet, x + p->bank * (at - from) / BANK_BYTES, y,
                           p->bank * (stop - at) / BANK_BYTES, BOX_HEIGHT,
                           at % wide / 16);
        at = stop;
    }
    if (s->hot && narrow)
        groat__sheet_box(p->sheet, x + .4, y + .4, width - .8, BOX_HEIGHT - .8,
                         "warm");
    else if (s->hot)
        groat__sheet_box(p->sheet, x + .75, y + .75, width - 1.5,
                         BOX_HEIGHT - 1.5, "hot");
    name_lanes(label, width, s->lanes);
    groat__sheet_text(p->sheet, x + width / 2, y + TEXT_BASE,
                      s->hot && !narrow ? "loud" : "cell", "%s", label);
}

static void draw_spot(const plot *p, const spot *s)
{
    uint32_t wide = p->record->banks * BANK;
    uint32_t end = s->at + s->bytes;
    uint32_t stop = (s->at / wide + 1) * wide;
    char lanes[ROOM];

    name_lanes(lanes, 1000, s->lanes);
    groat__sheet_begin(p->sheet, s->hot ? "spot conflict" : "spot", NULL,
                       "lane %s, shared memory %u-%u%s", lanes, s->at, end - 1,
                       s->hot ? ": in conflict" : "");
    draw_part(p, s, s->at, end < stop ? end : stop);
    if (end > stop)
        draw_part(p, s, stop, end);
    groat__sheet_end(p->sheet);
}

/* Draws letters above the columns, and the first byte of each line. */
static void draw_frame(const plot *p)
{
    uint32_t wide = p->record->banks * BANK;

    for (size_t c = 0; c < p->columns; c++)
        for (unsigned group = 0; group < p->record->banks / 4; group++)
            groat__sheet_text(p->sheet,
                              GROAT__PAGE_LEFT + MARK + (double)c * p->step_x +
                                  (group + .5) * 4 * p->bank,
                              p->sheet->y + TEXT_BASE, "top", "%c %u-%u",
                              (char)('A' + group), 4 * group, 4 * group + 3);
    for (size_t i = 0; i < p->row_count; i++) {
        double x, y;

        place_row(p, p->rows[i], &x, &y);
        groat__sheet_box(p->sheet, x, y, p->bank * p->record->banks, BOX_HEIGHT,
                         "free");
        groat__sheet_text(p->sheet, x - 2, y + TEXT_BASE, "mark", "%u",
                          p->rows[i] * wide);
    }
}

/* Draws the distinct dwords per bank for lanes [first, first + together). */
static void draw_strip(const plot *p, unsigned first)
{
    groat__sheet *sheet = p->sheet;

    groat__sheet_text(sheet, GROAT__PAGE_LEFT + MARK - 2, sheet->y + TEXT_BASE,
                      "mark", "%u-%u", first, first + p->step->together - 1);
    for (unsigned bank = 0; bank < p->record->banks; bank++) {
        unsigned load =
            groat__step_load(p->step, p->record->banks, first, bank);
        double x = GROAT__PAGE_LEFT + MARK + bank * p->bank;

        groat__sheet_box(sheet, x, sheet->y, p->bank, BOX_HEIGHT,
                         load > 1 ? "busy" : "free");
        if (load)
            groat__sheet_text(sheet, x + p->bank / 2, sheet->y + TEXT_BASE,
                              load > 1 ? "loud" : "cell", "%u", load);
    }
    sheet->y += BOX_HEIGHT;
}

/* Finds the first lanes of groups with conflicts: STRIPS at most, of *all. */
static size_t find_strips(const plot *p, unsigned found[STRIPS], size_t *all)
{
    size_t count = 0;

    *all = 0;
    for (unsigned first = 0; first < p->record->lanes;
         first += p->step->together)
        for (unsigned bank = 0; bank < p->record->banks; bank++) {
            if (groat__step_load(p->step, p->record->banks, first, bank) < 2)
                continue;
            if (count < STRIPS)
                found[count++] = first;
            ++*all;
            break;
        }
    return count;
}

static void draw_title(const plot *p, const groat__figure *figure)
{
    const groat__step *step = p->step;
    char others[ROOM] = "";
    int len = 0;

    for (size_t i = 0; i < figure->alike && i < 3; i++)
        len += snprintf(others + len, sizeof(others) - (size_t)len, "%s%u",
                        i ? ", " : "", figure->nearest[i]);
    p->sheet->y += 9;
    groat__sheet_text(
        p->sheet, GROAT__PAGE_LEFT, p->sheet->y, "note",
        "Wave %u, its %s %u: %u-way, %u passes where %u would do%s", step->wave,
        groat__access_name(step->access), step->nth, step->reuse, step->passes,
        step->passes_min, step->reuse > 1 ? "" : ": free of conflicts");
    if (figure->alike) {
        p->sheet->y += 8;
        groat__sheet_text(p->sheet, GROAT__PAGE_LEFT, p->sheet->y, "note",
                          "%zu more like it, with the first lane at byte "
                          "%s%s",
                          figure->alike, others,
                          figure->alike > 3 ? " and so on" : "");
    }
    p->sheet->y += 4;
}

/* Fills p for a figure, and returns its height in points. */
static double plan_figure(plot *p, groat__sheet *sheet,
                          const groat__record *record,
                          const groat__figure *figure)
{
    const double wide = GROAT__PAGE_RIGHT - GROAT__PAGE_LEFT;

    memset(p, 0, sizeof(*p));
    p->sheet = sheet;
    p->record = record;
    p->step = &record->steps[figure->step];
    find_spots(p);
    p->strip_count = find_strips(p, p->strips, &p->all_strips);
    p->columns = record->banks < BANKS_SIDE_BY_SIDE && p->step->bytes > BANK &&
                         p->row_count > 1
                     ? 2
                     : 1;
    p->step_x = (wide + COLUMN_GAP) / (double)p->columns;
    p->bank = (p->step_x - COLUMN_GAP - MARK) / record->banks;
    p->deep = (p->row_count + p->columns - 1) / p->columns;
    return 34 + BOX_HEIGHT * (double)(p->deep + p->strip_count + 2);
}

static void draw_figure(plot *p, groat__figure *figure)
{
    groat__sheet *sheet = p->sheet;

    draw_title(p, figure);
    draw_frame(p);
    for (size_t i = 0; i < p->spot_count; i++) {
        draw_spot(p, &p->spots[i]);
        figure->hot += p->spots[i].hot;
    }
    figure->boxes = p->spot_count;
    sheet->y += BOX_HEIGHT * (double)(p->deep + 1) + 2;
    if (p->strip_count) {
        groat__sheet_text(
            sheet, GROAT__PAGE_LEFT, sheet->y + TEXT_BASE, "note",
            "Different dwords that lanes served at once want of "
            "each bank (1: no conflict)%s:",
            p->all_strips > p->strip_count ? ", of the first that meet" : "");
        sheet->y += BOX_HEIGHT + 1;
    }
    for (size_t i = 0; i < p->strip_count; i++)
        draw_strip(p, p->strips[i]);
    sheet->y += 6;
}

static void draw_kind_head(groat__sheet *sheet, const groat__record *record,
                           const groat__kind *kind, unsigned number)
{
    const char *name = groat__access_name(kind->access);
    unsigned together = record->steps[kind->figures[0].step].together;

    sheet->y += 14;
    groat__sheet_text(sheet, GROAT__PAGE_LEFT, sheet->y, "head",
                      "%u  %c%s of %u byte%s per lane: %s", number,
                      (char)(name[0] - 'a' + 'A'), name + 1, kind->bytes,
                      kind->bytes == 1 ? "" : "s",
                      kind->worst > 1 ? "CONFLICTS" : "no conflict");
    groat__sheet_note(
        sheet,
        "Shown is wave %u%s of %u; %u lanes are served at once; %zu "
        "instruction%s of %zu pattern%s%s.",
        kind->wave, kind->worst > 1 ? ", the worst" : "", kind->waves, together,
        kind->instructions, kind->instructions == 1 ? "" : "s", kind->patterns,
        kind->patterns == 1 ? "" : "s",
        kind->figure_count < kind->patterns ? ", the worst of them shown" : "");
}

static void draw_kind(groat__sheet *sheet, const groat__record *record,
                      groat__kind *kind, unsigned number)
{
    plot p;

    for (size_t i = 0; i < kind->figure_count; i++) {
        double height = plan_figure(&p, sheet, record, &kind->figures[i]);

        groat__sheet_room(sheet, height + (i ? 0 : HEAD_HEIGHT));
        if (!i)
            draw_kind_head(sheet, record, kind, number);
        draw_figure(&p, &kind->figures[i]);
    }
}

void groat__draw_figures(groat__sheet *sheet, const groat__record *record,
                         groat__reads *reads, unsigned number)
{
    for (size_t k = 0; k < reads->kind_count; k++)
        draw_kind(sheet, record, &reads->kinds[k], number++);
    if (reads->left_out)
        groat__sheet_note(sheet,
                          "%zu more instructions are of kinds that found no "
                          "room here.",
                          reads->left_out);
}
