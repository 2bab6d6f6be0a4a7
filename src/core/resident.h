/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_CORE_RESIDENT_H
#define GROAT_CORE_RESIDENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "groat.h"

/* The binaries of a context that are loaded. */
typedef struct groat__resident {
    uint64_t max_bytes; /* 0: no bound; fixed once the context is open */
    atomic_uint_fast64_t bytes;
    atomic_uint_fast64_t loads;
    atomic_uint_fast64_t unloads;
    atomic_uint_fast64_t deferred;
    uint64_t sweeps; /* the lock guards these */
    bool sweeping;
} groat__resident;

/* Before `bytes` are loaded: counts them, and unloads what was not used for
 * longest until the bound holds or nothing more may go.  What is not loaded
 * then is given back. */
void groat__resident_reserve(groat_context *context, uint64_t bytes);
void groat__resident_give_back(groat_context *context, uint64_t bytes);

/* The module of a kernel, of reserved bytes. */
void groat__resident_add(groat_kernel *kernel, groat__module *module,
                         uint64_t bytes);

/* Unloads what may go, if the bound is passed.  Takes the context's lock for
 * moments, and asks the driver. */
void groat__resident_sweep(groat_context *context);

/* Whether users are counted: without a bound nothing is unloaded, and threads
 * that get one kernel at once need not all write to one place. */
bool groat__resident_counts(const groat_kernel *kernel);
bool groat__resident_is_loaded(const groat_kernel *kernel);
/* A kernel that may be NULL, if it is loaded; no count is taken. */
groat_kernel *groat__resident_look(groat_kernel *kernel);
/* Counts a user of a kernel that is loaded; false, and no count, where it is
 * not.  Takes no lock but while the kernel is being unloaded. */
bool groat__resident_hold(groat_kernel *kernel);
/* groat_kernel_release() without a sweep. */
void groat__resident_drop(groat_kernel *kernel);

#endif
