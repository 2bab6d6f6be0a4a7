/* SPDX-License-Identifier: Apache-2.0
 *
 * draw.h - what the files behind `groat draw` share.
 *
 * record.c listens to a launch and keeps what block 0 did; map.c makes out of
 * it who filled which cell of shared memory from where; reads.c picks the
 * accesses worth a figure; page.c has paper and pen; panels.c and figures.c
 * draw.  All of it works for any family: it knows addresses and lanes, nothing
 * else.
 */
#ifndef GROAT_CLI_DRAW_DRAW_H
#define GROAT_CLI_DRAW_DRAW_H

#include "cli/run/banks.h"
#include "cli/tool/cmd.h"
#include "kernels-src/driver/driver.h"
#include "cli/tool/out.h"
#include "groat_tools.h"

enum {
    GROAT__DRAW_LANES = 64,
    GROAT__DRAW_WAVES = 64,
    GROAT__DRAW_CELL = 16,        /* bytes of what is drawn as one box */
    GROAT__CELL_WHOLE = 0xffff,   /* a bit for each of them */
    GROAT__DRAW_BYTES = 32 << 10, /* drawn of shared memory, and per input */
    GROAT__DRAW_FIGURES = 12,     /* of single accesses, in all */
    GROAT__DRAW_KIND_FIGURES = 4, /* of one kind */
    GROAT__DRAW_STEPS = 32768,    /* instructions that are kept */
    GROAT__DRAW_COPIES = 1 << 20, /* lanes of copies that are kept */
    GROAT__DRAW_GROUPS = 16       /* most groups of four banks */
};

/* ---- record.c ------------------------------------------------------------ */

/* One instruction of one wave of block 0. */
typedef struct groat__step {
    groat_access access;
    unsigned wave;
    unsigned nth; /* of the wave's instructions of this access, from 0 */
    unsigned bytes, together, passes, passes_min, reuse;
    bool fill; /* stores that a copy overwrote before anybody read them */
    uint64_t active;
    uint64_t zeros; /* lanes of a copy that read nothing */
    uint32_t shared[GROAT__DRAW_LANES];
    uint64_t asked[GROAT__DRAW_LANES];
} groat__step;

/* What one wave did in one go: instructions of one access, or lanes that came
 * to one wait. */
typedef struct groat__moment {
    groat_access access;
    unsigned wave;
    unsigned mbarrier, phase; /* as in groat_trace */
    size_t step; /* its first; it ends where the next one's begin */
} groat__moment;

/* Start from {0}; free with groat__record_free. */
typedef struct groat__record {
    groat__moment *moments; /* in the order of the steps */
    size_t moment_count, moment_cap;
    size_t moment_end;  /* behind the last step of the last moment */
    groat__step *steps; /* in an order that the block could have had */
    size_t count, cap;
    uint64_t left_out; /* instructions behind the last that is kept */
    bool failed;       /* no memory */
    unsigned waves;    /* that did anything */
    unsigned lanes, banks;
    unsigned nth[GROAT__DRAW_WAVES][GROAT__ACCESSES];
    groat__banks sums; /* of all its instructions */
} groat__record;

/* Keeps an event of block 0, passes over all others. */
void groat__record_add(groat__record *record, const groat_trace *event);
void groat__record_free(groat__record *record);
bool groat__step_has(const groat__step *step, unsigned lane);

/* What the run was about. */
typedef struct groat__subject {
    const char *spec;
    const char *target;
    const char *note; /* on the result of the run; NULL: none */
    char swizzle[96]; /* in words; "": the spec names none */
    unsigned threads;
    unsigned shared_bytes;
    unsigned grid[3];
    uint64_t pitch; /* bytes from row to row of the inputs; 0: not known */
    size_t buffer_count;
    struct {
        const char *name; /* NULL: no input */
        uint64_t address;
        size_t bytes;
    } buffers[GROAT_PLAN_BUFFERS];
} groat__subject;

/* ---- map.c --------------------------------------------------------------- */

/* Who wrote 16 bytes of shared memory first; a fill does not count. */
typedef struct groat__cell {
    size_t step;         /* its index + 1; 0: nobody */
    uint16_t written;    /* bit per byte, by whomever */
    uint8_t first, last; /* lanes of step */
    bool more;           /* other instructions wrote the rest of it */
    bool zero;           /* all that step put there is zeros */
    uint64_t source;     /* device address of its first byte; 0: none */
} groat__cell;

/* 16 bytes of an input that a copy asked for, and the first that did. */
typedef struct groat__vector {
    size_t buffer;
    int64_t at; /* byte in the buffer; may lie past its end */
    size_t step;
    uint32_t shared; /* where they went */
    uint16_t bytes;  /* bit per byte: asked for */
    uint8_t first, last;
    bool more, zero;
} groat__vector;

typedef struct groat__map {
    groat__cell *cells;
    size_t cell_count;      /* of the whole of shared memory */
    bool rewritten;         /* some cell was filled again later */
    bool fills;             /* some store was a fill */
    groat__vector *vectors; /* by buffer and place */
    size_t vector_count;
    uint64_t pitch[GROAT_PLAN_BUFFERS]; /* 0: not known */
} groat__map;

/* Marks the fills of record, too.  False: no memory. */
bool groat__map_make(groat__map *map, groat__record *record,
                     const groat__subject *subject);
void groat__map_free(groat__map *map);

/* ---- reads.c ------------------------------------------------------------- */

/* One access of one wave that stands for all that look like it. */
typedef struct groat__figure {
    size_t step;
    size_t alike;         /* more of the wave that differ by their base only */
    uint32_t nearest[3];  /* bases of the first of them */
    size_t boxes, hot;    /* drawn, and of them in conflict */
    uint64_t conflicting; /* lanes that are */
} groat__figure;

/* The figures of one kind: an access and its bytes per lane. */
typedef struct groat__kind {
    groat_access access;
    unsigned bytes;
    unsigned wave;       /* whose accesses are shown: the worst's */
    unsigned waves;      /* that have any */
    size_t instructions; /* of that wave */
    size_t patterns;     /* of that wave, different ones */
    unsigned worst;      /* reuse, of all waves */
    groat__figure figures[GROAT__DRAW_KIND_FIGURES];
    size_t figure_count; /* shown; the worst come first */
} groat__kind;

enum { GROAT__DRAW_KINDS = 8 };

typedef struct groat__reads {
    groat__kind kinds[GROAT__DRAW_KINDS];
    size_t kind_count;
    size_t left_out; /* kinds that found no room */
} groat__reads;

void groat__reads_make(groat__reads *reads, const groat__record *record);
/* Different dwords that the lanes [first, first + together) want of a bank. */
unsigned groat__step_load(const groat__step *step, unsigned banks,
                          unsigned first, unsigned bank);
/* Lanes that share a bank with another dword of a lane served at once. */
uint64_t groat__step_conflicts(const groat__step *step,
                               const groat__record *record);

/* ---- page.c -------------------------------------------------------------- */

/* A4 in points; what is drawn lies between the margins. */
#define GROAT__PAGE_WIDTH  595.28
#define GROAT__PAGE_HEIGHT 841.89
#define GROAT__PAGE_LEFT   20.0
#define GROAT__PAGE_RIGHT  575.0
#define GROAT__PAGE_TOP    28.0
#define GROAT__PAGE_BOTTOM 810.0

/* Pages below each other; start from {0} and groat__sheet_page. */
typedef struct groat__sheet {
    groat__str body;
    unsigned pages;
    double y; /* on the last page, where the next thing goes */
} groat__sheet;

void groat__sheet_page(groat__sheet *sheet);
/* A new page unless there is room for `height` below y. */
void groat__sheet_room(groat__sheet *sheet, double height);
/* Text at x, y of the last page.  Classes: "big", "head", "note"; of 6 pt
 * "mark" (ends at x), and centred on x "cell", "top" and "loud" (both bold). */
void groat__sheet_text(groat__sheet *sheet, double x, double y,
                       const char *class, const char *format, ...)
    GROAT_PRINTF(5, 6);
/* A paragraph of class "note" from y on, broken at blanks or commas. */
void groat__sheet_note(groat__sheet *sheet, const char *format, ...)
    GROAT_PRINTF(2, 3);
void groat__sheet_box(groat__sheet *sheet, double x, double y, double width,
                      double height, const char *class);
/* A box of the colour of a group of four banks. */
void groat__sheet_group(groat__sheet *sheet, double x, double y, double width,
                        double height, unsigned group);
/* Opens what belongs together, with a line for who points at it; id may be
 * NULL.  Close with groat__sheet_end. */
void groat__sheet_begin(groat__sheet *sheet, const char *class, const char *id,
                        const char *format, ...) GROAT_PRINTF(4, 5);
void groat__sheet_end(groat__sheet *sheet);
/* The whole picture; frees sheet. */
void groat__sheet_finish(groat__sheet *sheet, const char *title, unsigned banks,
                         groat__str *svg);
/* Appends a text for SVG and HTML; what is no ASCII becomes a '?'. */
void groat__escape(groat__str *out, const char *text);
/* Points that a label takes at the size of class "cell", at most. */
double groat__label_width(const char *label);

/* ---- timeline.c ---------------------------------------------------------- */

/* The moments in columns, waves and mbarriers in rows. */
void groat__draw_timeline(groat__sheet *sheet, const groat__record *record);

/* ---- panels.c, figures.c ------------------------------------------------- */

/* What was drawn, for those who ask. */
typedef struct groat__drawn {
    unsigned pages;
    size_t cells, gaps, zero_cells; /* of shared memory */
    size_t vectors, zero_vectors;   /* of the inputs */
    groat__reads reads;
} groat__drawn;

/* "groat draw: FAMILY on TARGET" */
void groat__draw_title(const groat__subject *subject, groat__str *out);
/* Draws what record holds.  False: no memory. */
bool groat__draw(groat__record *record, const groat__subject *subject,
                 groat__str *svg, groat__drawn *drawn);
void groat__draw_sources(groat__sheet *sheet, const groat__record *record,
                         const groat__subject *subject, const groat__map *map,
                         groat__drawn *drawn);
void groat__draw_shared(groat__sheet *sheet, const groat__record *record,
                        const groat__subject *subject, const groat__map *map,
                        groat__drawn *drawn);
/* Panels from `number` on; counts in reads what it drew. */
void groat__draw_figures(groat__sheet *sheet, const groat__record *record,
                         groat__reads *reads, unsigned number);

/* ---- steps.c ------------------------------------------------------------- */

/* steps.html, which the build makes a text of; ends with 0. */
extern const unsigned char groat__steps_html[];

/* Appends a page in which a slider steps through the moments, with the whole
 * picture below.  False: no memory. */
bool groat__draw_steps(const groat__record *record,
                       const groat__subject *subject, const groat__str *svg,
                       groat__str *html);

/* The command. */
int groat__cmd_draw(groat__cli *cli);

/* Puts a PNG in the place of an SVG, two pixels to a unit.  Errors: IO (there
 * is no rsvg-convert, or it fails), TIMED_OUT, NO_MEMORY. */
groat_status groat__draw_png(groat__str *picture, groat_error *error);

#endif
