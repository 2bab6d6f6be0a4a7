/* SPDX-License-Identifier: Apache-2.0
 *
 * used.h - the manifest of what a context was asked for.
 */
#ifndef GROAT_CORE_USED_H
#define GROAT_CORE_USED_H

#include "base/log.h"

/* Opens the file that lines are added to; path NULL or "": none.  One that
 * cannot be opened is warned of, and nothing is recorded.  Returns its
 * descriptor, or -1; the caller closes it. */
int groat__used_open(const char *path, const groat__log *log);

/* Adds the line of a kernel, whole, whoever else writes.  -1: nothing is done.
 * Any thread.  One that cannot be written is warned of. */
void groat__used_add(int fd, const char *spec, const char *target,
                     const groat__log *log);

#endif
