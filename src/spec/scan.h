/* SPDX-License-Identifier: Apache-2.0
 *
 * scan.h - a place in the text of an expression, for those who read one by
 * recursive descent: expr.c and code.c.
 */
#ifndef GROAT_SPEC_SCAN_H
#define GROAT_SPEC_SCAN_H

#include <stdbool.h>
#include <stddef.h>

enum { GROAT__SCAN_NESTING = 64 /* of calls of a parser */ };

typedef struct groat__scan {
    const char *text;
    size_t len;
    const char *blanks; /* what may stand between tokens */
    size_t at;
    int nesting;
    const char *failure; /* the first one; NULL: none */
} groat__scan;

/* Notes a failure at this place, unless there is one. */
void groat__scan_fail(groat__scan *scan, const char *why);
/* The next byte; NUL at the end. */
char groat__scan_next(const groat__scan *scan);
/* Passes blanks. */
void groat__scan_blanks(groat__scan *scan);
/* Passes blanks, and the token if it stands there: then true. */
bool groat__scan_take(groat__scan *scan, const char *token);
/* One level deeper; false where a failure or the limit ends the way. */
bool groat__scan_descend(groat__scan *scan);

#endif
