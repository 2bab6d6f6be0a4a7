/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_RANGES_H
#define GROAT_BASE_RANGES_H

#include <stddef.h>

#include "groat.h"

/* Spans of time, nested per thread, for a profiler's timeline.  Zeros: off. */
typedef struct groat__ranges {
    groat_range_push_fn *push; /* NULL: off */
    groat_range_pop_fn *pop;
    void *user;
    const char *kind; /* "nvtx", "callbacks"; NULL: off */
} groat__ranges;

/* Fills *out with the ranges of a name: "off" (or NULL), or "nvtx", NVIDIA's
 * client in a build that has found its header.  Errors: INVALID (another name),
 * NO_DEVICE (a build without the header); *out is off then. */
groat_status groat__ranges_named(const char *name, groat__ranges *out,
                                 groat_error *error);

/* Begins the range "groat: WHAT NAME", or "groat: WHAT" if name is NULL. */
void groat__ranges_push(const groat__ranges *ranges, const char *what,
                        const char *name);

/* Begin and end a range: one branch if ranges are off.  ranges may be NULL.  A
 * range must end on the thread that began it. */
static inline void groat__range_begin(const groat__ranges *ranges,
                                      const char *what, const char *name)
{
    if (ranges != NULL && ranges->push != NULL)
        groat__ranges_push(ranges, what, name);
}

static inline void groat__range_end(const groat__ranges *ranges)
{
    if (ranges != NULL && ranges->push != NULL)
        ranges->pop(ranges->user);
}

#endif
