/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_CORE_SEAL_H
#define GROAT_CORE_SEAL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/table.h"

enum {
    GROAT__SEAL_NAMES = 1024, /* misses that are remembered    */
    GROAT__SEAL_WAYS = 8,     /* slots in which a name may lie */
    GROAT__SEAL_LINES = 32    /* misses that are logged        */
};

struct groat__fallback;

/* A context's seal, and the misses it has refused. */
typedef struct groat__seal {
    atomic_bool on;
    atomic_bool searched; /* the whole store, for a log line */
    atomic_uint lines;
    atomic_uint_fast64_t told[GROAT__SEAL_LINES]; /* logged, in any epoch */
    atomic_uint next;                             /* way to overwrite next */
    atomic_uint_fast64_t epoch;  /* of the names known to be absent */
    atomic_uint_fast64_t misses; /* with a fallback or without */
    atomic_uint_fast64_t fallbacks;
    atomic_uint_fast64_t known[GROAT__SEAL_NAMES];
    _Atomic(struct groat__fallback *) list;
} groat__seal;

static inline bool groat__seal_is_on(const groat__seal *seal)
{
    return atomic_load_explicit(&seal->on, memory_order_acquire);
}

/* The mark of a name in this epoch.  A kernel that is added after it was taken
 * voids it. */
uint64_t groat__seal_mark(const groat__seal *seal,
                          const groat__kernel_name *name);
/* Whether the name was refused before.  Any thread, no lock. */
bool groat__seal_has(const groat__seal *seal, uint64_t mark);
/* Remembers a refusal; true if it is new.  May overwrite an older one. */
bool groat__seal_note(groat__seal *seal, uint64_t mark);

/* Begins a new epoch, since an added kernel may have a refused name. */
void groat__seal_renew(groat__seal *seal);

/* Makes a loaded kernel the fallback of its family and target; *before is the
 * previous one, or NULL.  One thread at a time.  Errors: NO_MEMORY. */
groat_status groat__seal_set_fallback(groat__seal *seal, groat_kernel *kernel,
                                      groat_kernel **before,
                                      groat_error *error);

void groat__seal_free(groat__seal *seal);

#endif
