/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BACKEND_LINES_H
#define GROAT_BACKEND_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "groat.h"

/* A place in a kernel's code that a finding names. */
typedef struct groat__line {
    const char *what; /* "here", "the write of thread 3" */
    uint64_t offset;  /* address of the call there, relative to the file */
} groat__line;

/* Appends the source lines of a finding's places to *error: the first few to
 * its text, all with their inlined call stacks to its log.  Runs addr2line of
 * the folders of `path`, a PATH; does nothing if there is none or it fails, if
 * the code has no line table, or after ten seconds for a place and tool. `code`
 * names the code's file for another process. */
void groat__lines_tell(const char *path, char *const *environment,
                       const char *code, const groat__line *lines, size_t count,
                       groat_error *error);

#endif
