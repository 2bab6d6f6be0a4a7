/* SPDX-License-Identifier: Apache-2.0
 *
 * record.h - the manifest of what a context was asked for.
 */
#ifndef GROAT_CORE_RECORD_H
#define GROAT_CORE_RECORD_H

#include "base/log.h"

/* Opens the file that lines are added to; path NULL or "": none.  One that
 * cannot be opened is warned of, and nothing is recorded.  Returns its
 * descriptor, or -1; the caller closes it. */
int groat__record_open(const char *path, const groat__log *log);

/* Adds the line of a kernel, whole, whoever else writes.  -1: nothing is done.
 * Any thread.  One that cannot be written is warned of. */
void groat__record_add(int fd, const char *spec, const char *target,
                       const groat__log *log);

#endif
