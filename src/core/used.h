/* SPDX-License-Identifier: Apache-2.0
 *
 * used.h - the manifest of the kernels that a context was asked for.
 */
#ifndef GROAT_CORE_USED_H
#define GROAT_CORE_USED_H

#include "base/log.h"

/* Opens the file for appending; path NULL or "": none.  If the file cannot be
 * opened, logs a warning, and nothing is recorded.  Returns its descriptor, or
 * -1; the caller closes it. */
int groat__used_open(const char *path, const groat__log *log);

/* Appends the line of a kernel in one write, safe against other writers.  fd
 * -1: does nothing.  Any thread.  Logs a warning if the write fails. */
void groat__used_add(int fd, const char *spec, const char *target,
                     const groat__log *log);

#endif
