/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_SPEC_MANIFEST_H
#define GROAT_SPEC_MANIFEST_H

#include "base/str.h"

/* The content of a manifest line.  Start from {0}; it may be reused for further
 * lines; free it with groat__manifest_line_free(). */
typedef struct groat__manifest_line {
    groat__str spec;
    groat__str targets; /* each ends with NUL */
    size_t target_count;
    groat__str device; /* these of "tuned"; empty: it is not there */
    groat__str decode;
    groat__str score;
} groat__manifest_line;

/* Parses a line: a JSON object with "spec"; "target", or "targets", a list of
 * one or more, or neither; "tuned", an object of the texts "device", "decode"
 * and optionally "score"; and "note", any value whose numbers fit a double.  No
 * object in it has a member twice.  The spec itself is not parsed.  Errors:
 * INVALID, without the line's place; NO_MEMORY. */
groat_status groat__manifest_parse(const char *text, groat__manifest_line *out,
                                   groat_error *error);
void groat__manifest_line_free(groat__manifest_line *line);

#endif
