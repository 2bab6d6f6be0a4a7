/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_CORE_RESIDENT_H
#define GROAT_CORE_RESIDENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "groat.h"

/* The loaded binaries of a context. */
typedef struct groat__resident {
    uint64_t max_bytes; /* 0: no bound; fixed once the context is open */
    atomic_uint_fast64_t bytes;
    atomic_uint_fast64_t loads;
    atomic_uint_fast64_t unloads;
    atomic_uint_fast64_t deferred;
    uint64_t sweeps; /* the lock guards these */
    bool sweeping;
} groat__resident;

/* Reserves bytes before a load: unloads the least recently used kernels until
 * the bound holds or no further kernel may be unloaded.  give_back undoes it if
 * the load fails. */
void groat__resident_reserve(groat_context *context, uint64_t bytes);
void groat__resident_give_back(groat_context *context, uint64_t bytes);

/* Sets the module of a kernel, whose bytes were reserved. */
void groat__resident_add(groat_kernel *kernel, groat__module *module,
                         uint64_t bytes);

/* Evicts kernels if the bound is exceeded.  Takes the context's lock briefly,
 * and asks the driver whether launches are pending. */
void groat__resident_sweep(groat_context *context);

/* Whether references are counted.  Without a bound nothing is unloaded, and
 * threads that get one kernel at once do not write to one cache line. */
bool groat__resident_counts(const groat_kernel *kernel);
bool groat__resident_is_loaded(const groat_kernel *kernel);
/* The kernel (may be NULL) if it is loaded, else NULL.  Not retained. */
groat_kernel *groat__resident_look(groat_kernel *kernel);
/* Retains a loaded kernel; false: it is not loaded.  Takes a lock only while
 * the kernel is being unloaded. */
bool groat__resident_hold(groat_kernel *kernel);
/* groat_kernel_release() without a sweep. */
void groat__resident_drop(groat_kernel *kernel);

#endif
