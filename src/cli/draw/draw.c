/* SPDX-License-Identifier: Apache-2.0
 *
 * draw.c - the picture as a whole: facts, legend, and panels.
 *
 * Owns the text of the first page: spec, facts, bank sums of block 0, legend.
 */
#include "cli/draw/draw.h"

#include <inttypes.h>
#include <string.h>

#define LINE_HEIGHT   9.0
#define SAMPLE_WIDTH  34.0
#define SAMPLE_HEIGHT 15.0

static void draw_facts(groat__sheet *sheet, const groat__record *record,
                       const groat__subject *subject)
{
    sheet->y += 8;
    groat__sheet_text(sheet, GROAT__PAGE_LEFT, sheet->y, "big", "%.*s on %s",
                      (int)strcspn(subject->spec, ":"), subject->spec,
                      subject->target);
    sheet->y += 3;
    groat__sheet_note(sheet, "%s", subject->spec);
    sheet->y += 2;
    groat__sheet_note(
        sheet,
        "%s: %u banks of 4 bytes, waves of %u lanes. Block 0 of a grid of "
        "%u x %u x %u: %u threads, %u bytes of shared memory%s%s.",
        subject->target, record->banks, record->lanes, subject->grid[0],
        subject->grid[1], subject->grid[2], subject->threads,
        subject->shared_bytes, subject->swizzle[0] ? "; " : "",
        subject->swizzle);
    if (subject->note)
        groat__sheet_note(sheet, "%s", subject->note);
    if (record->left_out)
        groat__sheet_note(sheet,
                          "At least %" PRIu64 " instructions or waits are not "
                          "drawn: there are too many.",
                          record->left_out);
}

/* ---- the bank sums ----------------------------------------------------- */

enum { COLUMNS = 7 };

static const double column_x[COLUMNS] = {0, 130, 205, 275, 325, 415, 460};

static void draw_sum(groat__sheet *sheet, const char *name,
                     const groat__bank_sum *sum)
{
    const uint64_t numbers[] = {sum->instructions, sum->together, sum->passes,
                                sum->passes_min};

    sheet->y += LINE_HEIGHT;
    groat__sheet_text(sheet, GROAT__PAGE_LEFT, sheet->y, "note", "%s", name);
    for (size_t i = 0; i < 4; i++)
        if (numbers[i])
            groat__sheet_text(sheet, GROAT__PAGE_LEFT + column_x[i + 1],
                              sheet->y, "note", "%" PRIu64, numbers[i]);
    groat__sheet_text(sheet, GROAT__PAGE_LEFT + column_x[5], sheet->y, "note",
                      "%u-way", sum->reuse);
    groat__sheet_text(sheet, GROAT__PAGE_LEFT + column_x[6], sheet->y, "note",
                      "%.2f", groat__bank_mean(sum));
}

static void draw_sums(groat__sheet *sheet, const groat__banks *banks)
{
    static const char *const heads[COLUMNS] = {
        "Block 0 in all",    "instructions", "lanes at once", "passes",
        "without conflicts", "worst",        "mean"};
    groat__bank_sum total = groat__banks_total(banks);
    char name[48];

    sheet->y += 14;
    for (size_t i = 0; i < COLUMNS; i++)
        groat__sheet_text(sheet, GROAT__PAGE_LEFT + column_x[i], sheet->y,
                          i ? "note" : "head", "%s", heads[i]);
    for (size_t at = 0; at < GROAT__ACCESSES; at++)
        for (unsigned bytes = 0; bytes < GROAT__ACCESS_BYTES; bytes++) {
            groat_access access = groat__access_at(at);

            if (!banks->sum[access][bytes].instructions)
                continue;
            (void)snprintf(name, sizeof(name), "%s of %u B per lane",
                           groat__access_name(access), bytes);
            draw_sum(sheet, name, &banks->sum[access][bytes]);
        }
    draw_sum(sheet, "all", &total);
}

/* ---- the legend -------------------------------------------------------- */

/* Draws a sample box with its meaning. */
static void draw_sample(groat__sheet *sheet, double x, const char *class,
                        const char *upper, const char *lower,
                        const char *meaning)
{
    const double middle = x + SAMPLE_WIDTH / 2;
    const bool gap = strcmp(class, "gap") == 0;

    groat__sheet_box(sheet, x, sheet->y, SAMPLE_WIDTH, SAMPLE_HEIGHT,
                     gap ? class : "g2");
    if (strcmp(class, "zero") == 0)
        groat__sheet_box(sheet, x, sheet->y, SAMPLE_WIDTH, SAMPLE_HEIGHT,
                         class);
    if (strcmp(class, "hot") == 0)
        groat__sheet_box(sheet, x + .75, sheet->y + .75, SAMPLE_WIDTH - 1.5,
                         SAMPLE_HEIGHT - 1.5, class);
    groat__sheet_text(sheet, middle, sheet->y + (lower[0] ? 6.4 : 9.7),
                      lower[0] ? "cell" : "loud", "%s", upper);
    groat__sheet_text(sheet, middle, sheet->y + 13, "cell", "%s", lower);
    groat__sheet_text(sheet, x + SAMPLE_WIDTH + 5, sheet->y + 10, "row", "%s",
                      meaning);
}

static void draw_banks(groat__sheet *sheet, const groat__record *record)
{
    double width = (GROAT__PAGE_RIGHT - GROAT__PAGE_LEFT) / 16;

    for (unsigned group = 0; group < record->banks / 4; group++) {
        double x = GROAT__PAGE_LEFT + group * width;

        groat__sheet_group(sheet, x, sheet->y, width, LINE_HEIGHT, group);
        groat__sheet_text(sheet, x + width / 2, sheet->y + 6.7, "cell",
                          "%c %u-%u", (char)('A' + group), 4 * group,
                          4 * group + 3);
    }
    sheet->y += LINE_HEIGHT + 4;
}

static void draw_legend(groat__sheet *sheet, const groat__record *record)
{
    const double left = GROAT__PAGE_LEFT;
    const double right = (GROAT__PAGE_LEFT + GROAT__PAGE_RIGHT) / 2;

    sheet->y += 14;
    groat__sheet_text(sheet, left, sheet->y, "head", "How to read it");
    sheet->y += 3;
    groat__sheet_note(sheet, "A box is 16 bytes, in the figures of reads and "
                             "writes what a lane touches. Colour and letter "
                             "are the banks of shared memory that it lies "
                             "on:");
    sheet->y += 4;
    draw_banks(sheet, record);
    draw_sample(sheet, left, "", "3/1.17", "C 544",
                "source: read by wave 3, its copy 1, lane 17, and put at byte "
                "544 of shared memory, banks C");
    sheet->y += SAMPLE_HEIGHT + 3;
    draw_sample(sheet, left, "", "3/1.17", "136+128",
                "shared memory: the same copy and lane put there what lies in "
                "row 136 at byte 128 of it");
    sheet->y += SAMPLE_HEIGHT + 3;
    draw_sample(sheet, left, "", "3/1.4-7", "stored",
                "shared memory: lanes 4 to 7 of wave 3's write 1 (4+: there "
                "is more to it)");
    sheet->y += SAMPLE_HEIGHT + 3;
    draw_sample(sheet, left, "zero", "3/1.17=0", "zeros",
                "out of range: nothing is read, zeros are written");
    draw_sample(sheet, right, "gap", "", "", "never written");
    draw_sample(sheet, right + 110, "hot", "7,23", "",
                "read by lanes 7 and 23, in conflict");
    sheet->y += SAMPLE_HEIGHT;
}

/* ---- the panels -------------------------------------------------------- */

static void draw_head(groat__sheet *sheet, unsigned number, const char *words)
{
    groat__sheet_room(sheet, 70);
    sheet->y += 14;
    groat__sheet_text(sheet, GROAT__PAGE_LEFT, sheet->y, "head", "%u  %s",
                      number, words);
}

static void draw_memory(groat__sheet *sheet, const groat__record *record,
                        const groat__subject *subject, const groat__map *map,
                        groat__drawn *drawn, unsigned *number)
{
    if (map->vector_count) {
        draw_head(sheet, (*number)++,
                  "The source: which copy and lane reads each 16 bytes, and "
                  "the banks where they go");
        groat__draw_sources(sheet, record, subject, map, drawn);
    }
    draw_head(sheet, (*number)++,
              "Shared memory: which copy or write and lane puts each 16 bytes "
              "there");
    groat__sheet_note(
        sheet, "The byte at the left is that of a line's first box.%s%s",
        map->fills ? " Stores that copies overwrite unread are a fill and not "
                     "shown."
                   : "",
        map->rewritten ? " Filled more than once: the first time is shown."
                       : "");
    groat__draw_shared(sheet, record, subject, map, drawn);
}

/* False: out of memory. */
static bool draw_panels(groat__sheet *sheet, const groat__record *record,
                        const groat__subject *subject, const groat__map *map,
                        groat__drawn *drawn)
{
    unsigned number = 1;
    bool whole = true;

    if (record->count > 0)
        draw_memory(sheet, record, subject, map, drawn, &number);
    if (record->waves > 1 || record->count == 0) {
        draw_head(sheet, number++, "Waves, slots and mbarriers, step by step");
        whole = groat__draw_timeline(sheet, record, subject->shared_bytes);
    }
    groat__draw_figures(sheet, record, &drawn->reads, number);
    return whole;
}

void groat__draw_title(const groat__subject *subject, groat__str *out)
{
    groat__str_addf(out, "groat draw: %.*s on %s",
                    (int)strcspn(subject->spec, ":"), subject->spec,
                    subject->target);
}

bool groat__draw(groat__record *record, const groat__subject *subject,
                 groat__str *svg, groat__drawn *drawn)
{
    groat__sheet sheet = {.body = {0}};
    groat__map map;
    groat__str title = {0};
    bool whole;

    memset(drawn, 0, sizeof(*drawn));
    if (!groat__map_make(&map, record, subject)) {
        groat__map_free(&map);
        return false;
    }
    groat__reads_make(&drawn->reads, record);
    groat__sheet_page(&sheet);
    draw_facts(&sheet, record, subject);
    if (record->count > 0) {
        draw_sums(&sheet, &record->sums);
        draw_legend(&sheet, record);
    }
    whole = draw_panels(&sheet, record, subject, &map, drawn);
    drawn->pages = sheet.pages;
    groat__draw_title(subject, &title);
    groat__sheet_finish(&sheet, title.failed ? "" : title.data, record->banks,
                        svg);
    svg->failed |= title.failed;
    groat__str_free(&title);
    groat__map_free(&map);
    return whole && !svg->failed;
}
