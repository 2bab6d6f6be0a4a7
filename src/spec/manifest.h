/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_SPEC_MANIFEST_H
#define GROAT_SPEC_MANIFEST_H

#include "base/str.h"

/* What a line of a manifest says.  Start from {0}; lines may follow each other
 * into one; free it. */
typedef struct groat__manifest_line {
    groat__str spec;
    groat__str targets; /* each ends with NUL */
    size_t target_count;
    groat__str device; /* these of "tuned"; empty: it is not there */
    groat__str decode;
    groat__str score;
} groat__manifest_line;

/* Reads a line: a JSON object with "spec"; "target", or "targets", a list of
 * one or more, or neither; "tuned", an object of texts, "device", "decode" and
 * maybe "score"; and "note", which is any value whose numbers are within a
 * double's range.  No object in it has a member twice.
 * What the spec says is not looked at.  Errors: INVALID, without the line's
 * place; NO_MEMORY. */
groat_status groat__manifest_parse(const char *text, groat__manifest_line *out,
                                   groat_error *error);
void groat__manifest_line_free(groat__manifest_line *line);

#endif
