/* SPDX-License-Identifier: Apache-2.0
 *
 * job.h - a build job: the way of one spec to its binary.
 */
#ifndef GROAT_CORE_JOB_H
#define GROAT_CORE_JOB_H

#include "core/core.h"

/* The build job of one spec. */
typedef struct groat__job {
    groat_context *context;
    const groat__params *params;
    const groat__backend *backend;
    groat__str identity;
    groat__digest key;
    groat__maker maker; /* that the identity is from */
    groat__str entry;
    groat__shape shape;
    groat__made made;
    groat__bundle *bundle; /* that the binary is from, or NULL */
    groat_reason reason;   /* to compile */
    bool leased;           /* other hosts wait for it */
    bool sealed;           /* it began under a seal that binds its caller */
} groat__job;

/* Computes identity, key, launch shape and entry of params, which must outlive
 * the job.  Errors: INVALID (a block that the arch cannot run), NO_DEVICE,
 * NO_MEMORY.  Call groat__job_close() also after an error. */
groat_status groat__job_open(groat__job *job, groat_context *context,
                             const groat__params *params, groat_error *error);
void groat__job_close(groat__job *job);

/* Gets the binary into job->made: from store or bundles, else compiled. Errors:
 * as of groat__job_make_binary(). */
groat_status groat__job_get_binary(groat__job *job, groat_error *error);
/* Compiles a binary that store and bundles lack, or takes the one that another
 * process has compiled meanwhile.  Errors: SEALED, NO_DEVICE, COMPILE_FAILED,
 * NO_MEMORY. */
groat_status groat__job_make_binary(groat__job *job, groat_error *error);
/* Compiles the binary without a claim, and stores it.  Errors: NO_DEVICE,
 * COMPILE_FAILED, NO_MEMORY. */
groat_status groat__job_compile(groat__job *job, groat_error *error);

/* elsewhere.c: asks the remote for the binary, and, where it has none, whether
 * another host is making it.  True: *out has it. */
bool groat__job_ask_remote(groat__job *job, groat__store_blob *out);
/* Sends what was compiled to the remote, later, and gives the lease back then.
 */
void groat__job_offer(groat__job *job);
/* Gives the lease back of what could not be compiled. */
void groat__job_give_lease(groat__job *job);

/* Whether the binary came from store, bundles or remote. */
bool groat__job_is_stored(const groat__job *job);
/* Drops a binary that the driver refused from store or bundle. */
void groat__job_drop_binary(groat__job *job);
/* The compiler line of the identity's second half; malloc'd. */
char *groat__job_maker(const groat__job *job);

#endif
