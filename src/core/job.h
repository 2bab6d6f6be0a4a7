/* SPDX-License-Identifier: Apache-2.0
 *
 * job.h - a build job: the way of one spec to its binary.
 */
#ifndef GROAT_CORE_JOB_H
#define GROAT_CORE_JOB_H

#include "core/core.h"

/* One spec on its way to a binary. */
typedef struct groat__job {
    groat_context *context;
    const groat__params *params;
    const groat__backend *backend;
    groat__str identity;
    groat__digest key;
    groat__str entry;
    groat__shape shape;
    groat__made made;
    groat__bundle *bundle; /* that it is from; NULL: none */
    groat_reason reason;   /* to compile */
    bool sealed;           /* it began under a seal that binds its caller */
} groat__job;

/* Identity, key, launch shape and entry of params, which outlive the job.
 * Errors: INVALID (a block that no machine of the arch takes), NO_DEVICE,
 * NO_MEMORY.  Close it either way. */
groat_status groat__job_open(groat__job *job, groat_context *context,
                             const groat__params *params, groat_error *error);
void groat__job_close(groat__job *job);

/* The binary, into job->made: from store or bundles, else made.  Errors: of
 * groat__job_make_binary(). */
groat_status groat__job_get_binary(groat__job *job, groat_error *error);
/* What store and bundles have not: compiled here, or by another process
 * meanwhile.  Errors: SEALED, NO_DEVICE, COMPILE_FAILED, NO_MEMORY. */
groat_status groat__job_make_binary(groat__job *job, groat_error *error);
/* Compiled here, whoever else does, and stored.  Errors: NO_DEVICE,
 * COMPILE_FAILED, NO_MEMORY. */
groat_status groat__job_compile(groat__job *job, groat_error *error);

/* Whether the binary is from store or bundles. */
bool groat__job_is_stored(const groat__job *job);
/* What the driver refuses is nothing to keep. */
void groat__job_drop_binary(groat__job *job);
/* Who made the binary, of the second half of the identity; malloc'd. */
char *groat__job_maker(const groat__job *job);

#endif
