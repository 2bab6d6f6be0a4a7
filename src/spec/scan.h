/* SPDX-License-Identifier: Apache-2.0
 *
 * scan.h - a place in the text of an expression, for the recursive descent
 * parsers expr.c and code.c.
 */
#ifndef GROAT_SPEC_SCAN_H
#define GROAT_SPEC_SCAN_H

#include <stdbool.h>
#include <stddef.h>

enum { GROAT__SCAN_NESTING = 64 /* of calls of a parser */ };

typedef struct groat__scan {
    const char *text;
    size_t len;
    const char *blanks; /* the blanks between tokens */
    size_t at;
    int nesting;
    const char *failure; /* the first one; NULL: none */
} groat__scan;

/* Notes a failure at this place, unless there is one. */
void groat__scan_fail(groat__scan *scan, const char *why);
/* The next byte; NUL at the end. */
char groat__scan_next(const groat__scan *scan);
/* Skips blanks. */
void groat__scan_blanks(groat__scan *scan);
/* Skips blanks, and the token if it follows; returns whether it did. */
bool groat__scan_take(groat__scan *scan, const char *token);
/* Enters one level deeper; false after a failure or at the nesting limit. */
bool groat__scan_descend(groat__scan *scan);

#endif
