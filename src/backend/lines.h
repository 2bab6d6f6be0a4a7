/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BACKEND_LINES_H
#define GROAT_BACKEND_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "groat.h"

/* A place in a kernel's code, of which a finding speaks. */
typedef struct groat__line {
    const char *what; /* "here", "the write of thread 3" */
    uint64_t offset;  /* of the call behind which it is, in the file */
} groat__line;

/* Appends the lines of places of a finding to *error: the first ones to its
 * text, all with the calls that led there to its log.  path is the file of the
 * code, as another process sees it.  Asks addr2line; does nothing where there
 * is none, or where the code has no line table. */
void groat__lines_tell(const char *path, const groat__line *lines, size_t count,
                       groat_error *error);

#endif
