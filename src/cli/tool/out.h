/* SPDX-License-Identifier: Apache-2.0
 *
 * out.h - output of the tool: JSON, and tables.
 *
 * stdout carries the answer; messages on stderr are in cmd.h.
 */
#ifndef GROAT_CLI_OUT_H
#define GROAT_CLI_OUT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/str.h"
#include "groat.h"

/* Writes bytes to file with control characters other than newline and tab as
 * \xNN, so that no input can control a terminal. */
void groat__print_plain(FILE *file, const char *bytes, size_t len);

enum { GROAT__JSON_DEPTH = 16 };

/* A JSON value under construction, by Jansson.  Start from {0}.  Its functions
 * take name NULL inside arrays and for the outermost value. */
typedef struct groat__json {
    struct json_t *root;
    struct json_t *open[GROAT__JSON_DEPTH];
    unsigned depth;
    bool failed; /* no memory, or nested too deeply */
} groat__json;

void groat__json_object(groat__json *json, const char *name);
void groat__json_array(groat__json *json, const char *name);
/* Ends the innermost object or array. */
void groat__json_end(groat__json *json);
/* Writes NULL as null; invalid UTF-8 and DEL as U+FFFD. */
void groat__json_string(groat__json *json, const char *name, const char *value);
void groat__json_int(groat__json *json, const char *name, int64_t value);
/* Writes a value above INT64_MAX, which Jansson does not hold, as a string. */
void groat__json_uint(groat__json *json, const char *name, uint64_t value);
/* Writes nine significant digits; NaN and infinities become null. */
void groat__json_real(groat__json *json, const char *name, double value);
void groat__json_bool(groat__json *json, const char *name, bool value);
void groat__json_null(groat__json *json, const char *name);
/* Returns the text, malloc'd, and empties `json`.  Levels may still be open.
 * NULL: there is no value, or it failed. */
char *groat__json_take(groat__json *json);

/* Rows of cells, printed with aligned columns, at most 32.  Start from
 * {.columns = n}. */
typedef struct groat__table {
    size_t columns;
    size_t cells;
    size_t cap;
    char **cell;
    uint32_t right; /* bit c: column c is right-aligned */
    bool fold;      /* wrap cells where a row exceeds 80 columns */
    bool failed;
} groat__table;

/* Adds one cell; the row is full after `columns` of them. */
void groat__table_add(groat__table *table, const char *format, ...)
    GROAT_PRINTF(2, 3);
/* Prints a text to stdout, wrapped at blanks to 80 columns, with `indent` in
 * front of each line. */
void groat__print_folded(const char *indent, const char *text);
/* Prints the rows to stdout, two spaces between columns; empties the table. */
void groat__table_print(groat__table *table);

#endif
