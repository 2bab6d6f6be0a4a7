/* SPDX-License-Identifier: Apache-2.0
 *
 * lookup.h - finds kernels in memory by their names.
 */
#ifndef GROAT_CORE_LOOKUP_H
#define GROAT_CORE_LOOKUP_H

#include "core/core.h"

/* The second half of a name by values: the family and target of the values. */
typedef struct groat__name_owner {
    const groat_family *family;
    const groat__arch *arch;
    uint64_t backend;
} groat__name_owner;

/* A get that memory may answer: its counter, and its start in ns if it is
 * timed, else 0. */
typedef struct groat__hit {
    atomic_uint_fast64_t *count;
    uint64_t start;
} groat__hit;

/* The name by values; borrows from params and from *own, which is filled. */
groat__kernel_name groat__lookup_name(const groat__params *params,
                                      groat__name_owner *own);
groat__kernel_name groat__lookup_name_of_text(const char *spec,
                                              const char *target);
enum { GROAT__LOOKUP_NAMES = 1 << 16 };

/* Adds the name of a kernel by values: a sealed context has no other way to
 * it. */
void groat__lookup_add(groat_context *context, const groat__params *params,
                       groat_kernel *kernel);
/* Adds one by text, of which a kernel has any number: only while the context
 * has fewer than GROAT__LOOKUP_NAMES names of both kinds. */
void groat__lookup_add_text(groat_context *context,
                            const groat__kernel_name *name,
                            groat_kernel *kernel);

/* The kernel of a name, or NULL; it may be unloaded. */
groat_kernel *groat__lookup_values(const groat_context *context,
                                   const groat__params *params);
groat_kernel *groat__lookup_text(const groat_context *context, const char *spec,
                                 const char *target);

/* Begins a get that memory may answer; one in GROAT__SAMPLED is timed. */
groat__hit groat__hit_begin(groat_context *context);
/* Ends the get with a kernel (may be NULL) if it is loaded: counts the hit and
 * retains *out.  False: memory has no answer. */
bool groat__hit_give(groat_context *context, groat__hit h, groat_kernel *kernel,
                     groat_kernel **out, groat_origin *origin);

#endif
