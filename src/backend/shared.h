/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BACKEND_SHARED_H
#define GROAT_BACKEND_SHARED_H

#include <stdbool.h>
#include <stddef.h>

#include "backend/backend.h"
#include "base/dl.h"
#include "base/str.h"
#include "groat.h"

/* Returns the descriptor of an unnamed file with these bytes, to be read from
 * its start; close-on-exec and none of 0, 1 and 2.  -1 with errno on failure.
 */
int groat__memory_file(const char *name, const void *data, size_t bytes);

/* The path by which this process and its children open it. */
void groat__memory_name(int fd, char path[32]);

/* Appends a path to a glob(3) pattern, with special characters escaped: the
 * environment gives paths, not patterns. */
void groat__add_quoted(groat__str *pattern, const char *path);

/* The predict slot of compilers that must be opened to identify them. */
bool groat__predict_nothing(const groat__env *env, const groat__arch *arch,
                            groat__made_by_fn *made, void *user,
                            groat__str *who);

/* Appends one line of a part's report: control characters of the text become
 * blanks, and a line's end within it "; ". */
void groat__finding(groat__str *out, const char *subject, bool usable,
                    const char *format, ...) GROAT_PRINTF(4, 5);

/* What a report says about an unusable library: all places that were tried
 * if it was not found, else the error.  dl may be NULL.  Borrowed from dl or
 * error. */
const char *groat__library_problem(const groat__dl *dl,
                                   const groat_error *error);

/* Fails with CAPTURING: a graph is captured from the kernel's stream. */
groat_status groat__capturing(groat_error *error);
/* Fails with LAUNCH_FAILED: such a capture failed and has not been ended. */
groat_status groat__capture_failed(groat_error *error);

/* Removes lines with compile times from a log, so that two compiles of one
 * source give equal bytes. */
void groat__drop_times(char *log);

#endif
