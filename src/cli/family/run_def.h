/* SPDX-License-Identifier: Apache-2.0
 *
 * run_def.h - run.def: the arguments, buffers and grid of a family's kernel.
 *
 * run.def is UTF-8, read line by line; '#' starts a comment line.  A line is
 * one of (blanks separate fields, meanings are in double quotes):
 *
 *   arg    NAME int LOW..HIGH DEFAULT UNIT "meaning"
 *   arg    NAME float - DEFAULT UNIT "meaning"
 *   buffer NAME [EXPRESSION, ...] DTYPE in    FILL           "meaning"
 *   buffer NAME [EXPRESSION, ...] DTYPE out        TOLERANCE "meaning"
 *   buffer NAME [EXPRESSION, ...] DTYPE inout FILL TOLERANCE "meaning"
 *   bind   FIELD = BUFFER or ARGUMENT or EXPRESSION
 *   map    FIELD = BUFFER [EXPRESSION, ...] SPAN
 *   grid   EXPRESSION, EXPRESSION, EXPRESSION
 *   moved  EXPRESSION
 *   driver FAMILY
 *
 * A driver stands alone: the host code of that family of the library makes
 * arguments, buffers and grid.  DEFAULT is a number or, for an int, an
 * expression in parentheses.  DTYPE is one of element.h, or {PARAMETER}: the
 * value of an enum parameter in the spec, where fp8 means e4m3, or e4m3fnuz on
 * gfx942.  FILL is random(LOW,HIGH) of numbers or expressions, ramp, zeros,
 * poison or file(PATH), a path in the family's folder.  A map is a tensor map
 * of a buffer: the box of one copy, in the order of the buffer's shape, and the
 * swizzle's span in bytes, an expression: 0, 32, 64 or 128.  TOLERANCE is
 * exact, ulp(N), relative(X) or none.  Expressions are those of params.def,
 * over its names and the int arguments.
 */
#ifndef GROAT_CLI_FAMILY_RUN_DEF_H
#define GROAT_CLI_FAMILY_RUN_DEF_H

#include "groat.h"
#include "kernels-src/driver/driver.h"

enum { GROAT__RUN_BINDS = 64, GROAT__RUN_MAPS = 8 };

typedef enum groat__fill {
    GROAT__FILL_RANDOM,
    GROAT__FILL_RAMP,
    GROAT__FILL_ZEROS,
    GROAT__FILL_POISON,
    GROAT__FILL_FILE
} groat__fill;

/* All strings point into the text that was read. */
typedef struct groat__run_buffer {
    const char *name;
    const char *dtype;
    const char *shape[GROAT_RANK]; /* expressions */
    size_t rank;
    bool input;
    bool output;
    groat__fill fill;
    const char *range[2]; /* of random: numbers or expressions */
    const char *path;     /* of file */
    const char *expected; /* the file of an output's content; NULL: none */
    groat_tolerance tolerance;
    double allowed;
    const char *meaning;
    int line;
} groat__run_buffer;

typedef struct groat__run_bind {
    const char *field;
    const char *value;
    int line;
} groat__run_bind;

typedef struct groat__run_map {
    const char *field;
    const char *buffer;
    const char *box[GROAT_RANK]; /* expressions */
    size_t rank;
    const char *span; /* an expression */
    int line;
} groat__run_map;

/* What a line was made from, such as an option: the text of "#from TEXT" in the
 * line before it. */
typedef struct groat__run_from {
    int line;
    const char *text;
} groat__run_from;

typedef struct groat__run_def {
    const char *family;
    groat__run_from from[GROAT_PLAN_BUFFERS];
    size_t from_count;
    groat_driver_arg args[GROAT_DRIVER_ARGS + 1]; /* ended by a NULL name     */
    const char *deflt[GROAT_DRIVER_ARGS]; /* an expression, or NULL           */
    int arg_line[GROAT_DRIVER_ARGS];
    size_t arg_count;
    groat__run_buffer buffers[GROAT_PLAN_BUFFERS];
    size_t buffer_count;
    groat__run_bind binds[GROAT__RUN_BINDS];
    size_t bind_count;
    groat__run_map maps[GROAT__RUN_MAPS];
    size_t map_count;
    const char *grid[3]; /* expressions; NULL: 1 */
    int grid_line;       /* 0: there is none     */
    const char *moved;   /* or NULL              */
    int moved_line;
    const char *driver; /* a family of the library, or NULL */
    int driver_line;
} groat__run_def;

/* Removes the first item of *list, an enum's allowed values "bf16=2|fp8=1", and
 * stores its name and value, `index` if it has none.  False at the end. */
bool groat__enumerator_next(const char **list, size_t index, const char **name,
                            size_t *len, int64_t *value);

/* Parses a finite decimal number; *end is behind it.  False: there is none. */
bool groat__run_def_real(const char *text, char **end, double *out);

/* Parses text in place; it must outlive *out.  Errors: INVALID,
 * "FAMILY/run.def:N: what was expected, at '...'". */
groat_status groat__run_def_read(const char *family, char *text,
                                 groat__run_def *out, groat_error *error);

/* Fails with a status: "FAMILY/run.def:N: what", or with what the line was
 * made from in front. */
groat_status groat__run_def_fail(const groat__run_def *def, int line,
                                 groat_status status, const char *what,
                                 groat_error *error);

/* The same with INVALID and a format. */
GROAT_PRINTF(4, 5)
groat_status groat__run_def_refuse(const groat__run_def *def, int line,
                                   groat_error *error, const char *format, ...);

/* Returns the index of the buffer of that name, or buffer_count. */
size_t groat__run_def_buffer(const groat__run_def *def, const char *name);

/* Returns the line of the buffer or argument of that name, or 0. */
int groat__run_def_line(const groat__run_def *def, const char *name);

#endif
