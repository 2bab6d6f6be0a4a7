/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_JSON_H
#define GROAT_BASE_JSON_H

#include "base/str.h"

/* A JSON text (RFC 8259) that is read from its start to its end, at most 64
 * values deep.  The first thing that is wrong stays in why, at the place where
 * it was seen; every call after it is false. */
typedef struct groat__json_in {
    const char *start; /* ends with NUL */
    const char *at;
    const char *why; /* NULL: nothing is wrong so far */
} groat__json_in;

void groat__json_in_start(groat__json_in *in, const char *text);

/* The first character of the next value; NUL at the end of the text. */
char groat__json_in_peek(groat__json_in *in);
/* Goes past an opening '{' or '['. */
bool groat__json_in_open(groat__json_in *in, char open);
/* Whether another member comes before the closing '}' or ']', which is gone
 * past.  first is true before the first one, and this makes it false. */
bool groat__json_in_more(groat__json_in *in, char close, bool *first);
/* A string, which *out becomes (NULL: nothing does). */
bool groat__json_in_string(groat__json_in *in, groat__str *out);
/* The name of a member and the colon behind it. */
bool groat__json_in_name(groat__json_in *in, groat__str *out);
/* Any value. */
bool groat__json_in_skip(groat__json_in *in);
/* Whether all was good and nothing follows. */
bool groat__json_in_end(groat__json_in *in);
/* Where at is, in bytes from 1. */
size_t groat__json_in_column(const groat__json_in *in);

#endif
