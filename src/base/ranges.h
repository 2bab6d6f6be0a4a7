/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_RANGES_H
#define GROAT_BASE_RANGES_H

#include "base/dl.h"

/* Spans of time, nested per thread, in the pictures of a vendor's profiler.
 * Starts as zeros: nobody looks. */
typedef struct groat__ranges {
    int (*push)(const char *name); /* NULL: nobody looks */
    int (*pop)(void);
    const char *kind; /* "nvtx", "roctx" or "off" */
    groat__dl dl;     /* who takes them */
} groat__ranges;

/* Where to look; NULL: nowhere in particular. */
typedef struct groat__ranges_search {
    const char *kind;      /* NULL, "off", "nvtx", "roctx" or "auto" */
    const char *injection; /* a tool of NVTX 3: $NVTX_INJECTION64_PATH */
    const char *nvtx;      /* the library of NVTX 2, of $GROAT_NVTX alone */
    const char *roctx;     /* that of roctx, of $GROAT_ROCTX alone */
    const char *cuda_home;
    const char *rocm_path;
} groat__ranges_search;

/* Opens what takes ranges of a kind: "nvtx", a tool that is to be injected,
 * else the library of NVTX 2; "roctx", the library of rocprofiler-sdk, else of
 * roctracer; "auto", the first of these that is there, or none.  Errors:
 * INVALID (kind), NO_DEVICE; *out is as nobody looks then.  Close it. */
groat_status groat__ranges_open(const groat__ranges_search *search,
                                groat__ranges *out, groat_error *error);
void groat__ranges_close(groat__ranges *ranges);

/* Begins "groat: WHAT NAME"; without a name "groat: WHAT". */
void groat__ranges_push(const groat__ranges *ranges, const char *what,
                        const char *name);

/* One branch where nobody looks.  ranges may be NULL.  Each begin is ended on
 * its thread. */
static inline void groat__range_begin(const groat__ranges *ranges,
                                      const char *what, const char *name)
{
    if (ranges != NULL && ranges->push != NULL)
        groat__ranges_push(ranges, what, name);
}

static inline void groat__range_end(const groat__ranges *ranges)
{
    if (ranges != NULL && ranges->push != NULL)
        (void)ranges->pop();
}

#endif
