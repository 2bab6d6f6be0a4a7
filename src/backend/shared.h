/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BACKEND_SHARED_H
#define GROAT_BACKEND_SHARED_H

#include <stdbool.h>
#include <stddef.h>

#include "backend/backend.h"
#include "base/dl.h"
#include "base/str.h"
#include "groat.h"

/* A file without a name that holds these bytes and is read from its start: a
 * descriptor that is closed on exec and is none of 0, 1 and 2.  -1, and errno,
 * when there is none to be had. */
int groat__memory_file(const char *name, const void *data, size_t bytes);

/* Appends a path to a glob(3) pattern, where it stands for itself alone: the
 * environment gives paths, not patterns. */
void groat__add_quoted(groat__str *pattern, const char *path);

/* A foresee slot of compilers that nobody can tell beforehand. */
bool groat__foresee_nothing(const groat__env *env, const groat__arch *arch,
                            groat__made_by_fn *made, void *user,
                            groat__str *who);

/* Appends one line of a doctor slot: control characters of the text become
 * blanks, and a line's end within it "; ". */
void groat__finding(groat__str *out, const char *subject, bool usable,
                    const char *format, ...) GROAT_PRINTF(4, 5);

/* What a doctor says of a library that did not serve: every place that was
 * tried, when none had it, else the error.  Borrowed from the two. */
const char *groat__library_problem(const groat__dl *dl,
                                   const groat_error *error);

/* CAPTURING: a kernel's stream is captured from. */
groat_status groat__capturing(groat_error *error);
/* LAUNCH_FAILED: it was, and that has failed. */
groat_status groat__capture_failed(groat_error *error);

/* Takes lines that tell how long a compile took out of a log: of two compiles
 * of one source, both shall be kept as the same bytes. */
void groat__drop_times(char *log);

#endif
