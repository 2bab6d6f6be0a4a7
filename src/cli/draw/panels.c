/* SPDX-License-Identifier: Apache-2.0
 *
 * panels.c - the panels of cells: the inputs and shared memory.
 *
 * Owns their layout: lines of cells in as many columns as fit the page.  A cell
 * is 16 bytes; its colour and letter are its banks in shared memory, its label
 * is the instruction and lane that moved it, the same in both panels.
 * Invariant: every cell drawn has one box and, if it was written, one label; a
 * label never exceeds its box.
 */
#include "cli/draw/draw.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = GROAT__DRAW_CELL, LINE_CELLS = 16, ROOM = 64 };

#define CELL_HEIGHT   15.0
#define CELL_LEAST    28.0
#define CELL_MOST     40.0
#define COLUMN_GAP    10.0
#define MARK_ROW      24.0
#define MARK_BOTH     42.0
#define HEAD_HEIGHT   11.0
#define UPPER_BASE    6.4 /* a label's base line below the top of its box */
#define LOWER_BASE    13.0
#define MIDDLE_BASE   9.7
#define LINES_AT_ONCE 3 /* least lines on a page */

typedef struct line {
    size_t first; /* index of the first vector */
    size_t count;
    int64_t row;
    int64_t col; /* byte offset in the row */
} line;

/* A panel while it is drawn. */
typedef struct grid {
    groat__sheet *sheet;
    const groat__record *record;
    const groat__subject *subject;
    const groat__map *map;
    const line *lines; /* of the source; NULL: shared memory */
    size_t buffer;
    size_t line_count;
    size_t per_line;
    double mark;   /* width of the mark in front of a line, in points */
    bool same_col; /* all lines of the source start at the same col */
    void (*draw_head)(const struct grid *grid, size_t at, double x, double y);
    void (*draw_mark)(const struct grid *grid, size_t at, double x, double y);
    void (*draw_line)(const struct grid *grid, size_t at, double x, double y,
                      double width);
} grid;

/* Returns how many rows of lines go onto this page; leaves at least
 * LINES_AT_ONCE for the next page, if any. */
static size_t rows_here(const grid *g, size_t columns, size_t lines)
{
    size_t rows = (lines + columns - 1) / columns;
    size_t fit;

    groat__sheet_room(g->sheet, HEAD_HEIGHT + LINES_AT_ONCE * CELL_HEIGHT);
    fit = (size_t)((GROAT__PAGE_BOTTOM - g->sheet->y - HEAD_HEIGHT) /
                   CELL_HEIGHT);
    if (rows <= fit)
        return rows;
    if (rows - fit < LINES_AT_ONCE && fit > 2 * LINES_AT_ONCE)
        return rows - LINES_AT_ONCE;
    return fit;
}

/* Draws columns of lines side by side, page after page. */
static void draw_grid(const grid *g)
{
    const double wide = GROAT__PAGE_RIGHT - GROAT__PAGE_LEFT;
    groat__sheet *sheet = g->sheet;
    double least = g->mark + (double)g->per_line * CELL_LEAST + COLUMN_GAP;
    size_t columns = (size_t)((wide + COLUMN_GAP) / least);
    double step, width;

    columns = columns > g->line_count ? g->line_count : columns;
    columns = columns ? columns : 1;
    step = (wide + COLUMN_GAP) / (double)columns;
    width = (step - COLUMN_GAP - g->mark) / (double)g->per_line;
    if (width > CELL_MOST) {
        width = CELL_MOST;
        step = g->mark + width * (double)g->per_line + COLUMN_GAP;
    }
    for (size_t at = 0; at < g->line_count;) {
        size_t rows = rows_here(g, columns, g->line_count - at);

        for (size_t c = 0; c < columns && at < g->line_count; c++) {
            double x = GROAT__PAGE_LEFT + (double)c * step + g->mark;
            double y = sheet->y + HEAD_HEIGHT;

            for (size_t i = 0; i < g->per_line; i++)
                g->draw_head(g, i, x + ((double)i + .5) * width, y - 3);
            for (size_t r = 0; r < rows && at < g->line_count; r++, at++) {
                g->draw_mark(g, at, x - 2, y + MIDDLE_BASE);
                g->draw_line(g, at, x, y, width);
                y += CELL_HEIGHT;
            }
        }
        sheet->y += HEAD_HEIGHT + (double)rows * CELL_HEIGHT + 3;
    }
}

/* ---- labels ------------------------------------------------------------ */

/* Forms of the upper label, from the longest to the shortest: the instruction
 * as wave/number, the lane or lanes, "=0" for zeros; "+" means that more lanes
 * or instructions are involved. */
enum { FULL, NO_ZERO, ONE_LANE, BARE, NO_LANE, FORMS };

static void form_label(char label[ROOM], int form, const groat__step *step,
                       const groat__cell *cell)
{
    bool one = cell->first == cell->last;
    bool range = !one && form < ONE_LANE;
    const char *zero =
        cell->zero && (form == FULL || form == ONE_LANE) ? "=0" : "";
    const char *more = cell->more || (!one && !range) ? "+" : "";
    char lanes[ROOM / 2] = "";

    if (range)
        (void)snprintf(lanes, sizeof(lanes), ".%u-%u", cell->first, cell->last);
    else if (form != NO_LANE)
        (void)snprintf(lanes, sizeof(lanes), ".%u", cell->first);
    else
        more = "+";
    (void)snprintf(label, ROOM, "%u/%u%s%s%s", step->wave, step->nth, lanes,
                   more, zero);
}

/* Writes the longest form that fits. */
static void make_label(char label[ROOM], double width, const groat__step *step,
                       const groat__cell *cell)
{
    for (int form = FULL; form < FORMS; form++) {
        form_label(label, form, step, cell);
        if (groat__label_width(label) <= width - 1)
            return;
    }
}

/* Writes two lines into a box: the instruction and lane, and the other end. */
static void label_box(const grid *g, double x, double y, double width,
                      const groat__step *step, const groat__cell *cell,
                      const char *end)
{
    char label[ROOM];

    make_label(label, width, step, cell);
    groat__sheet_text(g->sheet, x + width / 2, y + UPPER_BASE, "cell", "%s",
                      label);
    if (groat__label_width(end) <= width)
        groat__sheet_text(g->sheet, x + width / 2, y + LOWER_BASE, "cell", "%s",
                          end);
}

static const char *verb_of(const groat__step *step)
{
    return step->access == GROAT_ACCESS_COPY ? "copy" : "write";
}

/* Writes "wave 0, copy 1, lane 5" or "..., lanes 4-7". */
static void say_who(char out[ROOM], const groat__step *step,
                    const groat__cell *cell)
{
    int len = snprintf(out, ROOM, "wave %u, %s %u, lane%s %u", step->wave,
                       verb_of(step), step->nth,
                       cell->first == cell->last ? "" : "s", cell->first);

    if (cell->first != cell->last && len > 0 && len < ROOM)
        (void)snprintf(out + len, (size_t)(ROOM - len), "-%u", cell->last);
}

static void say_where(char out[2 * ROOM], const grid *g, size_t buffer,
                      int64_t at)
{
    int64_t pitch = (int64_t)g->map->pitch[buffer];
    const char *name = g->subject->buffers[buffer].name;

    if (pitch)
        (void)snprintf(out, 2 * ROOM,
                       "row %" PRId64 ", byte %" PRId64 " of %.40s", at / pitch,
                       at % pitch, name);
    else
        (void)snprintf(out, 2 * ROOM, "byte %" PRId64 " of %.40s", at, name);
}

/* ---- the inputs -------------------------------------------------------- */

static void head_source(const grid *g, size_t at, double x, double y)
{
    if (g->same_col)
        groat__sheet_text(g->sheet, x, y, "top", "+%" PRId64,
                          g->lines[0].col + (int64_t)at * CELL);
}

static void mark_source(const grid *g, size_t at, double x, double y)
{
    const line *l = &g->lines[at];

    if (!g->map->pitch[g->buffer] || g->same_col)
        groat__sheet_text(g->sheet, x, y, "mark", "%" PRId64,
                          g->map->pitch[g->buffer] ? l->row : l->col);
    else
        groat__sheet_text(g->sheet, x, y, "mark", "%" PRId64 "+%" PRId64,
                          l->row, l->col);
}

static groat__cell cell_of(const groat__vector *v)
{
    return (groat__cell){
        .first = v->first, .last = v->last, .more = v->more, .zero = v->zero};
}

static void draw_vector(const grid *g, const groat__vector *v, double x,
                        double y, double width)
{
    const groat__step *step = &g->record->steps[v->step];
    unsigned banks = g->record->banks;
    unsigned bank = v->shared / 4 % banks;
    const groat__cell as_cell = cell_of(v);
    char who[ROOM], where[2 * ROOM], id[ROOM];

    say_who(who, step, &as_cell);
    say_where(where, g, v->buffer, v->at);
    (void)snprintf(id, sizeof(id), "in%zu-%" PRId64, v->buffer, v->at);
    groat__sheet_begin(g->sheet, "source", id,
                       "%s: %s, to shared memory %u, banks %u-%u%s", where, who,
                       v->shared, bank, (bank + 3) % banks,
                       v->zero ? "; out of range: zeros" : "");
    groat__sheet_group(g->sheet, x, y, width, CELL_HEIGHT, bank / 4);
    if (v->zero)
        groat__sheet_box(g->sheet, x, y, width, CELL_HEIGHT, "zero");
    (void)snprintf(where, sizeof(where), "%c %u", (char)('A' + bank / 4),
                   v->shared);
    label_box(g, x, y, width, step, &as_cell, where);
    groat__sheet_end(g->sheet);
}

static void draw_source_line(const grid *g, size_t at, double x, double y,
                             double width)
{
    const line *l = &g->lines[at];

    for (size_t i = 0; i < l->count; i++)
        draw_vector(g, &g->map->vectors[l->first + i], x + (double)i * width, y,
                    width);
}

/* Splits vectors [first, end) of one buffer into lines: a new line starts at
 * each row, after each gap, and after LINE_CELLS cells. */
static size_t cut_lines(const grid *g, size_t first, size_t end, line *lines)
{
    int64_t pitch = (int64_t)g->map->pitch[g->buffer];
    size_t count = 0;

    for (size_t i = first; i < end; i++) {
        int64_t at = g->map->vectors[i].at;
        int64_t row = pitch ? at / pitch : 0;

        if (i == first || row != lines[count - 1].row ||
            at != g->map->vectors[i - 1].at + CELL ||
            lines[count - 1].count == LINE_CELLS) {
            lines[count++] = (line){i, 0, row, pitch ? at % pitch : at};
        }
        lines[count - 1].count++;
    }
    return count;
}

static void say_input(const grid *g, size_t drawn, size_t all)
{
    const char *name = g->subject->buffers[g->buffer].name;

    if (g->map->pitch[g->buffer])
        groat__sheet_note(
            g->sheet, "Input '%s', rows of %" PRIu64 " bytes: %s.", name,
            g->map->pitch[g->buffer],
            g->same_col ? "the row at the left, the byte of it at the top"
                        : "the row and the byte of it at the left");
    else
        groat__sheet_note(g->sheet, "Input '%s': the byte at the left.", name);
    if (drawn < all)
        groat__sheet_note(g->sheet,
                          "Drawn are the first %zu of the %zu bytes that "
                          "block 0 copies from it.",
                          drawn * CELL, all * CELL);
}

/* Draws vectors [first, shown); those up to `end` are only counted. */
static void draw_input(grid *g, size_t first, size_t shown, size_t end,
                       line *lines)
{
    g->line_count = cut_lines(g, first, shown, lines);
    g->lines = lines;
    g->per_line = 1;
    g->same_col = g->map->pitch[g->buffer] != 0;
    for (size_t i = 0; i < g->line_count; i++) {
        if (lines[i].count > g->per_line)
            g->per_line = lines[i].count;
        g->same_col = g->same_col && lines[i].col == lines[0].col;
    }
    g->mark = g->same_col ? MARK_ROW : MARK_BOTH;
    say_input(g, shown - first, end - first);
    draw_grid(g);
}

/* Returns how many inputs the copies read. */
static size_t count_inputs(const groat__map *map)
{
    size_t count = 0;

    for (size_t i = 0; i < map->vector_count; i++)
        count += i == 0 || map->vectors[i].buffer != map->vectors[i - 1].buffer;
    return count;
}

void groat__draw_sources(groat__sheet *sheet, const groat__record *record,
                         const groat__subject *subject, const groat__map *map,
                         groat__drawn *drawn)
{
    grid g = {.sheet = sheet,
              .record = record,
              .subject = subject,
              .map = map,
              .draw_head = head_source,
              .draw_mark = mark_source,
              .draw_line = draw_source_line};
    size_t inputs = count_inputs(map);
    size_t share = inputs ? GROAT__DRAW_BYTES / CELL / inputs : 0;
    line *lines = malloc((share + 1) * sizeof(*lines));

    if (!lines)
        sheet->body.failed = true;
    for (size_t first = 0; lines && first < map->vector_count;) {
        size_t end = first;
        size_t shown;

        while (end < map->vector_count &&
               map->vectors[end].buffer == map->vectors[first].buffer)
            end++;
        shown = end - first < share ? end - first : share;
        g.buffer = map->vectors[first].buffer;
        draw_input(&g, first, first + shown, end, lines);
        drawn->vectors += shown;
        for (size_t i = first; i < first + shown; i++)
            drawn->zero_vectors += map->vectors[i].zero;
        first = end;
    }
    free(lines);
}

/* ---- shared memory ----------------------------------------------------- */

static void head_shared(const grid *g, size_t at, double x, double y)
{
    (void)g;
    groat__sheet_text(g->sheet, x, y, "top", "%c %zu-%zu", (char)('A' + at),
                      4 * at, 4 * at + 3);
}

static void mark_shared(const grid *g, size_t at, double x, double y)
{
    groat__sheet_text(g->sheet, x, y, "mark", "%zu", at * g->per_line * CELL);
}

/* Returns the input that a cell's first byte came from, and its offset there in
 * *at, or SIZE_MAX. */
static size_t origin_of(const grid *g, const groat__cell *cell, int64_t *at)
{
    uint64_t offset = 0;
    size_t buffer = SIZE_MAX;

    if (cell->source)
        buffer = groat__subject_input(g->subject, cell->source, &offset);
    *at = (int64_t)offset;
    return buffer;
}

/* Writes the lower label: the contents of the cell. */
static void say_content(const grid *g, const groat__cell *cell, double width,
                        char out[ROOM])
{
    int64_t at;
    size_t buffer = origin_of(g, cell, &at);
    int64_t pitch = buffer == SIZE_MAX ? 0 : (int64_t)g->map->pitch[buffer];

    if (cell->zero)
        (void)snprintf(out, ROOM, "zeros");
    else if (buffer == SIZE_MAX)
        (void)snprintf(out, ROOM, "%s", cell->source ? "" : "stored");
    else if (!pitch)
        (void)snprintf(out, ROOM, "%" PRId64, at);
    else
        (void)snprintf(out, ROOM, "%" PRId64 "+%" PRId64, at / pitch,
                       at % pitch);
    if (pitch && groat__label_width(out) > width)
        (void)snprintf(out, ROOM, "%" PRId64 "+", at / pitch);
}

/* Hatches the bytes that were never written. */
static void draw_gaps(const grid *g, const groat__cell *cell, double x,
                      double y, double width)
{
    const double part = width / (double)CELL;

    for (unsigned b = 0; b < CELL;) {
        unsigned end = b;

        while (end < CELL && !(cell->written >> end & 1))
            end++;
        if (end > b)
            groat__sheet_box(g->sheet, x + part * b, y, part * (end - b),
                             CELL_HEIGHT, "gap");
        b = end > b ? end : b + 1;
    }
}

static void say_cell(const grid *g, size_t at, char out[4 * ROOM])
{
    const groat__cell *cell = &g->map->cells[at];
    char who[ROOM], where[2 * ROOM] = "";
    const char *from = "";
    int64_t offset;
    size_t buffer;

    if (!cell->step) {
        (void)snprintf(out, 4 * ROOM, "never written%s",
                       g->map->fills ? ", but by a fill" : "");
        return;
    }
    say_who(who, &g->record->steps[cell->step - 1], cell);
    buffer = cell->zero ? SIZE_MAX : origin_of(g, cell, &offset);
    if (buffer != SIZE_MAX) {
        say_where(where, g, buffer, offset);
        from = ", from ";
    }
    (void)snprintf(out, 4 * ROOM, "%s%s%s%s%s%s", who, from, where,
                   cell->zero ? "; out of range: zeros" : "",
                   cell->more ? "; other instructions wrote the rest" : "",
                   cell->written != GROAT__CELL_WHOLE ? "; not written in part"
                                                      : "");
}

static void draw_cell(const grid *g, size_t at, double x, double y,
                      double width)
{
    const groat__cell *cell = &g->map->cells[at];
    unsigned group = (unsigned)(at % g->per_line);
    char label[ROOM], id[ROOM], words[4 * ROOM];

    say_cell(g, at, words);
    (void)snprintf(id, sizeof(id), "lds-%zu", at * CELL);
    groat__sheet_begin(g->sheet, "shared", id,
                       "shared memory %zu-%zu, banks %u-%u: %s", at * CELL,
                       at * CELL + CELL - 1, 4 * group, 4 * group + 3, words);
    if (cell->step)
        groat__sheet_group(g->sheet, x, y, width, CELL_HEIGHT, group);
    draw_gaps(g, cell, x, y, width);
    if (cell->step) {
        if (cell->zero)
            groat__sheet_box(g->sheet, x, y, width, CELL_HEIGHT, "zero");
        say_content(g, cell, width, label);
        label_box(g, x, y, width, &g->record->steps[cell->step - 1], cell,
                  label);
    }
    groat__sheet_end(g->sheet);
}

static void draw_shared_line(const grid *g, size_t at, double x, double y,
                             double width)
{
    for (size_t i = 0; i < g->per_line; i++) {
        size_t cell = at * g->per_line + i;

        if (cell < g->map->cell_count && cell < GROAT__DRAW_BYTES / CELL)
            draw_cell(g, cell, x + (double)i * width, y, width);
    }
}

void groat__draw_shared(groat__sheet *sheet, const groat__record *record,
                        const groat__subject *subject, const groat__map *map,
                        groat__drawn *drawn)
{
    const size_t most = GROAT__DRAW_BYTES / CELL;
    grid g = {.sheet = sheet,
              .record = record,
              .subject = subject,
              .map = map,
              .per_line = record->banks / 4,
              .mark = MARK_ROW,
              .draw_head = head_shared,
              .draw_mark = mark_shared,
              .draw_line = draw_shared_line};
    size_t shown = map->cell_count < most ? map->cell_count : most;

    if (shown < map->cell_count)
        groat__sheet_note(sheet,
                          "Drawn are the first %zu of the block's %zu bytes.",
                          shown * CELL, map->cell_count * CELL);
    g.line_count = (shown + g.per_line - 1) / g.per_line;
    draw_grid(&g);
    drawn->cells = shown;
    for (size_t i = 0; i < shown; i++) {
        drawn->gaps += map->cells[i].written != GROAT__CELL_WHOLE;
        drawn->zero_cells += map->cells[i].step && map->cells[i].zero;
    }
}
