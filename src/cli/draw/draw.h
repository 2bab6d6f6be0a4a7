/* SPDX-License-Identifier: Apache-2.0
 *
 * draw.h - types and functions of `groat draw`.
 *
 * record.c records the accesses of block 0 during a launch; map.c finds which
 * instruction filled each cell of shared memory, and from where; slots.c finds
 * what becomes readable together; reads.c picks the accesses worth a figure;
 * page.c writes SVG; panels.c, timeline.c and figures.c draw.
 * All of it works for any family: it only knows addresses and lanes.
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
    GROAT__DRAW_CELL = 16,        /* bytes per box */
    GROAT__CELL_WHOLE = 0xffff,   /* a bit for each of these bytes */
    GROAT__DRAW_BYTES = 32 << 10, /* drawn of shared memory, and of inputs */
    GROAT__DRAW_FIGURES = 12,     /* figures of single accesses, in all */
    GROAT__DRAW_KIND_FIGURES = 4, /* figures of one kind */
    GROAT__DRAW_STEPS = 32768,    /* most instructions or waits recorded */
    GROAT__DRAW_COPIES = 1 << 20, /* most lanes of copies recorded */
    GROAT__DRAW_GROUPS = 16       /* most groups of four banks */
};

/* ---- record.c ------------------------------------------------------------ */

/* One instruction of one wave of block 0. */
typedef struct groat__step {
    groat_access access;
    unsigned wave;
    unsigned nth; /* index among the wave's instructions of this access */
    unsigned bytes, together, passes, passes_min, reuse;
    bool fill; /* a store that a copy overwrote before any read */
    uint64_t active;
    uint64_t zeros; /* lanes of a copy that were out of range */
    uint32_t shared[GROAT__DRAW_LANES];
    uint64_t asked[GROAT__DRAW_LANES];
} groat__step;

/* One LOAD or STORE of one wave of block 0. */
typedef struct groat__touch {
    unsigned bytes; /* per lane */
    uint64_t active;
    uint64_t at[GROAT__DRAW_LANES]; /* device addresses */
} groat__touch;

/* Consecutive events of one wave with the same access: instructions, or the
 * lanes that reach one wait. */
typedef struct groat__moment {
    groat_access access;
    unsigned wave;
    unsigned mbarrier, phase; /* as in groat_trace */
    unsigned bytes;           /* per lane; 0: no access */
    unsigned lanes;           /* that came, of all these events */
    size_t step, touch; /* the first ones; they end at the next moment's */
} groat__moment;

/* Start from {0}; free with groat__record_free. */
typedef struct groat__record {
    groat__moment *moments; /* in the order of the steps */
    size_t moment_count, moment_cap;
    groat__step *steps; /* in a possible order of execution */
    size_t count, cap;
    groat__touch *touches; /* likewise */
    size_t touch_count, touch_cap;
    uint64_t left_out; /* instructions and waits that are not recorded */
    bool failed;       /* out of memory */
    unsigned waves;    /* the highest wave seen, plus 1 */
    unsigned lanes, banks;
    unsigned nth[GROAT__DRAW_WAVES][GROAT__ACCESSES];
    groat__banks sums; /* over all instructions of the block */
} groat__record;

/* Records an event of block 0; ignores other blocks. */
void groat__record_add(groat__record *record, const groat_trace *event);
void groat__record_free(groat__record *record);
bool groat__step_has(const groat__step *step, unsigned lane);
/* Returns the end of a moment's steps. */
size_t groat__record_end(const groat__record *record, size_t moment);

/* Facts about the run. */
typedef struct groat__subject {
    const char *spec;
    const char *target;
    const char *note; /* on the result of the run, or NULL */
    char swizzle[96]; /* in words; "" if the spec has no such parameter */
    unsigned threads;
    unsigned shared_bytes;
    unsigned grid[3];
    uint64_t pitch; /* bytes from row to row of the inputs; 0: unknown */
    size_t buffer_count;
    struct {
        const char *name;
        bool input;
        uint64_t address;
        size_t bytes;
    } buffers[GROAT_PLAN_BUFFERS];
} groat__subject;

/* Finds the buffer that an address is in, and its offset there; SIZE_MAX: it is
 * in none.  In map.c. */
size_t groat__subject_buffer(const groat__subject *subject, uint64_t address,
                             uint64_t *offset);
/* The same of inputs alone. */
size_t groat__subject_input(const groat__subject *subject, uint64_t address,
                            uint64_t *offset);

/* ---- map.c --------------------------------------------------------------- */

/* 16 bytes of shared memory and their first writer; fills do not count. */
typedef struct groat__cell {
    size_t step;         /* index + 1 of the first writer; 0: none */
    uint16_t written;    /* bit per byte written by any step */
    uint8_t first, last; /* lanes of step */
    bool more;           /* other instructions wrote other bytes of it */
    bool zero;           /* step wrote only zeros, out of range */
    uint64_t source;     /* device address of its first byte; 0: none */
} groat__cell;

/* 16 bytes of an input, and the first copy that asks for them. */
typedef struct groat__vector {
    size_t buffer;
    int64_t at; /* byte in the buffer; may lie past its end */
    size_t step;
    uint32_t shared; /* destination in shared memory */
    uint16_t bytes;  /* bit per byte that copies ask for */
    uint8_t first, last;
    bool more, zero;
} groat__vector;

typedef struct groat__map {
    groat__cell *cells;
    size_t cell_count;      /* covers all of shared memory */
    bool rewritten;         /* some cell was written again later */
    bool fills;             /* some store was a fill */
    groat__vector *vectors; /* sorted by buffer and offset */
    size_t vector_count;
    uint64_t pitch[GROAT_PLAN_BUFFERS]; /* 0: unknown */
} groat__map;

/* Makes the map, and marks the fills in record.  False: out of memory. */
bool groat__map_make(groat__map *map, groat__record *record,
                     const groat__subject *subject);
void groat__map_free(groat__map *map);

/* ---- reads.c ------------------------------------------------------------- */

/* One access of one wave, shown for all accesses with the same pattern. */
typedef struct groat__figure {
    size_t step;
    size_t alike;         /* further accesses that differ only in their base */
    uint32_t nearest[3];  /* bases of the first three of these */
    size_t boxes, hot;    /* boxes drawn, and those in conflict */
    uint64_t conflicting; /* lanes in conflict */
} groat__figure;

/* The figures of one kind: an access and its bytes per lane. */
typedef struct groat__kind {
    groat_access access;
    unsigned bytes;
    unsigned wave;       /* the wave shown: that of the worst conflict */
    unsigned waves;      /* number of waves with such accesses */
    size_t instructions; /* of the wave shown */
    size_t patterns;     /* distinct ones of the wave shown */
    unsigned worst;      /* highest reuse of all waves */
    groat__figure figures[GROAT__DRAW_KIND_FIGURES];
    size_t figure_count; /* in descending order of reuse */
} groat__kind;

enum { GROAT__DRAW_KINDS = 8 };

typedef struct groat__reads {
    groat__kind kinds[GROAT__DRAW_KINDS];
    size_t kind_count;
    size_t left_out; /* instructions of further kinds */
} groat__reads;

void groat__reads_make(groat__reads *reads, const groat__record *record);
/* Counts the distinct dwords of a bank for lanes [first, first + together). */
unsigned groat__step_load(const groat__step *step, unsigned banks,
                          unsigned first, unsigned bank);
/* Returns the lanes that conflict with lanes served at once with them. */
uint64_t groat__step_conflicts(const groat__step *step,
                               const groat__record *record);

/* ---- page.c -------------------------------------------------------------- */

/* A4 in points, and its margins. */
#define GROAT__PAGE_WIDTH  595.28
#define GROAT__PAGE_HEIGHT 841.89
#define GROAT__PAGE_LEFT   20.0
#define GROAT__PAGE_RIGHT  575.0
#define GROAT__PAGE_TOP    28.0
#define GROAT__PAGE_BOTTOM 810.0

/* Pages, one below the other.  Start from {0} and groat__sheet_page. */
typedef struct groat__sheet {
    groat__str body;
    unsigned pages;
    double y; /* next free position on the last page */
} groat__sheet;

void groat__sheet_page(groat__sheet *sheet);
/* Starts a new page unless there is room for `height` below y. */
void groat__sheet_room(groat__sheet *sheet, double height);
/* Adds text at x, y of the last page.  Classes: "big", "head", "note", "row";
 * in 6 pt "mark" (ends at x) and, centred on x, "cell", and "top" and "loud",
 * which are bold. */
void groat__sheet_text(groat__sheet *sheet, double x, double y,
                       const char *class, const char *format, ...)
    GROAT_PRINTF(5, 6);
/* Adds a paragraph of class "note" at y, wrapped at blanks or commas. */
void groat__sheet_note(groat__sheet *sheet, const char *format, ...)
    GROAT_PRINTF(2, 3);
void groat__sheet_box(groat__sheet *sheet, double x, double y, double width,
                      double height, const char *class);
/* Adds a box in the colour of a group of four banks. */
void groat__sheet_group(groat__sheet *sheet, double x, double y, double width,
                        double height, unsigned group);
/* Opens an SVG group with a tooltip; id may be NULL.  Close it with
 * groat__sheet_end. */
void groat__sheet_begin(groat__sheet *sheet, const char *class, const char *id,
                        const char *format, ...) GROAT_PRINTF(4, 5);
void groat__sheet_end(groat__sheet *sheet);
/* Writes the complete SVG; frees sheet. */
void groat__sheet_finish(groat__sheet *sheet, const char *title, unsigned banks,
                         groat__str *svg);
/* Appends text escaped for SVG and HTML; non-ASCII bytes become '?'. */
void groat__escape(groat__str *out, const char *text);
/* Returns the most points that a label of class "cell" is wide. */
double groat__label_width(const char *label);

/* ---- slots.c ------------------------------------------------------------- */

enum { GROAT__DRAW_SLOTS = 24 };

/* Bytes [from, to) of shared memory that become readable together. */
typedef struct groat__slot {
    unsigned from, to;
} groat__slot;

typedef struct groat__slots {
    groat__slot at[GROAT__DRAW_SLOTS]; /* ascending */
    size_t count;
    size_t left_out; /* further slots */
    /* Per step that fills shared memory, the moment at which its bytes are
     * there; the number of moments: never. */
    size_t *landed;
} groat__slots;

/* Says whether a step puts bytes into shared memory that are not a fill. */
bool groat__step_fills(const groat__step *step);
/* Finds the slots; free with groat__slots_free in any case.  False: out of
 * memory. */
bool groat__slots_make(groat__slots *slots, const groat__record *record,
                       unsigned shared_bytes);
void groat__slots_free(groat__slots *slots);

typedef enum groat__slot_state {
    GROAT__SLOT_EMPTY,
    GROAT__SLOT_FLIGHT, /* copies to it are under way */
    GROAT__SLOT_THERE
} groat__slot_state;

/* Sets states[i], for each moment i before `end`, to a slot's state in it. */
void groat__slot_follow(const groat__slots *slots, size_t slot,
                        const groat__record *record, size_t end,
                        groat__slot_state *states);
/* Says whether a moment accesses bytes of a slot. */
bool groat__slot_has(const groat__slot *slot, const groat__record *record,
                     size_t moment);

/* ---- timeline.c ---------------------------------------------------------- */

/* Draws moments in columns, waves, slots and mbarriers in rows.  False: out of
 * memory. */
bool groat__draw_timeline(groat__sheet *sheet, const groat__record *record,
                          unsigned shared_bytes);

/* ---- panels.c, figures.c ------------------------------------------------- */

/* Counts of what was drawn, for the command's answer. */
typedef struct groat__drawn {
    unsigned pages;
    size_t cells, gaps, zero_cells; /* of shared memory */
    size_t vectors, zero_vectors;   /* of the inputs */
    groat__reads reads;
} groat__drawn;

/* Appends "groat draw: FAMILY on TARGET". */
void groat__draw_title(const groat__subject *subject, groat__str *out);
/* Draws the whole picture.  False: out of memory. */
bool groat__draw(groat__record *record, const groat__subject *subject,
                 groat__str *svg, groat__drawn *drawn);
void groat__draw_sources(groat__sheet *sheet, const groat__record *record,
                         const groat__subject *subject, const groat__map *map,
                         groat__drawn *drawn);
void groat__draw_shared(groat__sheet *sheet, const groat__record *record,
                        const groat__subject *subject, const groat__map *map,
                        groat__drawn *drawn);
/* Draws the figures in panels from `number` on; sets boxes and hot in reads. */
void groat__draw_figures(groat__sheet *sheet, const groat__record *record,
                         groat__reads *reads, unsigned number);

/* ---- steps.c ------------------------------------------------------------- */

/* The text of steps.html, embedded by the build; NUL-terminated. */
extern const unsigned char groat__steps_html[];

/* Appends an HTML page with a slider that steps through the moments, and the
 * whole picture below.  False: out of memory. */
bool groat__draw_steps(const groat__record *record,
                       const groat__subject *subject, const groat__str *svg,
                       groat__str *html);

/* The command. */
int groat__cmd_draw(groat__cli *cli);

/* Replaces an SVG by a PNG with two pixels per unit.  Errors: IO (there is no
 * rsvg-convert, or it fails), TIMED_OUT, NO_MEMORY. */
groat_status groat__draw_png(groat__str *picture, groat_error *error);

#endif
