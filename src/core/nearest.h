/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_CORE_NEAREST_H
#define GROAT_CORE_NEAREST_H

#include "base/str.h"
#include "core/core.h"

/* The kernel whose identity differs from a wanted one in the fewest lines.
 * Start from groat__nearest_start(). */
typedef struct groat__nearest {
    const char *wanted;  /* an identity */
    size_t distance;     /* lines that differ; SIZE_MAX: no kernel of the
                          * family; 0: the wanted kernel itself */
    groat__str label;    /* a name of the nearest kernel for messages */
    groat__str field;    /* its first line that differs, in words */
    groat__str identity; /* its identity */
    bool no_memory;      /* an entry or a line was left out */
} groat__nearest;

void groat__nearest_start(groat__nearest *nearest, const char *wanted);
void groat__nearest_free(groat__nearest *nearest);
/* Whether memory ran out: nothing in it may be used then. */
bool groat__nearest_failed(const groat__nearest *nearest);

/* Compares the kernels in memory. */
void groat__nearest_memory(groat_context *context, groat__nearest *nearest);
/* Looks for the wanted entry in the store and, if it is absent and all is set,
 * compares every entry. */
void groat__nearest_store(groat_context *context, groat__nearest *nearest,
                          bool all);

/* Calls fn for each line that differs: its field, the wanted value and that of
 * the nearest kernel; a missing value is "absent". */
void groat__nearest_each(groat__nearest *nearest, groat_difference_fn *fn,
                         void *user);

#endif
