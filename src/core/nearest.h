/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_CORE_NEAREST_H
#define GROAT_CORE_NEAREST_H

#include "base/str.h"
#include "core/core.h"

/* The kernel whose identity has the fewest lines that are other than those of
 * one that is wanted.  Start from groat__nearest_start. */
typedef struct groat__nearest {
    const char *wanted;  /* an identity */
    size_t distance;     /* lines that are other; SIZE_MAX: none was found,
                          * of its family; 0: it is there itself */
    groat__str label;    /* what the nearest is called */
    groat__str field;    /* its first line that is another, in words */
    groat__str identity; /* all of them */
} groat__nearest;

void groat__nearest_start(groat__nearest *nearest, const char *wanted);
void groat__nearest_free(groat__nearest *nearest);
/* Whether memory ran out: nothing in it is to be used then. */
bool groat__nearest_failed(const groat__nearest *nearest);

/* Looks among the kernels in memory. */
void groat__nearest_memory(groat_context *context, groat__nearest *nearest);
/* Looks for the very entry in the store, and, if that is not there and all is
 * set, at every one. */
void groat__nearest_store(groat_context *context, groat__nearest *nearest,
                          bool all);

/* Calls fn for each line that is other: which field, its value in the wanted
 * identity, and in the nearest; a value that is not there is "absent". */
void groat__nearest_each(const groat__nearest *nearest, groat_difference_fn *fn,
                         void *user);

#endif
