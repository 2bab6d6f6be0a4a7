/* SPDX-License-Identifier: Apache-2.0
 *
 * job.h - a build job: obtains the binary of one spec.
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
    groat__maker maker; /* source of the identity's second half */
    groat__str entry;
    groat__shape shape;
    groat__made made;
    groat__bundle *bundle; /* the bundle it was read from, or NULL */
    groat_reason reason;   /* why it is compiled */
    bool leased;           /* we hold the lease that other hosts wait on */
    bool sealed;           /* it began under a seal that binds its caller */
} groat__job;

/* Computes identity, key, launch shape and entry of params, which must outlive
 * the job.  Errors: INVALID (a block that the arch cannot run), NO_DEVICE,
 * NO_MEMORY.  Call groat__job_close() also after an error. */
groat_status groat__job_open(groat__job *job, groat_context *context,
                             const groat__params *params, groat_error *error);
void groat__job_close(groat__job *job);

/* Gets the binary into job->made: from the store or a bundle, else as
 * groat__job_make_binary().  Errors: the same. */
groat_status groat__job_get_binary(groat__job *job, groat_error *error);
/* Obtains a binary that is neither in the store nor in a bundle: from another
 * process that has compiled it meanwhile, from the remote, or by compiling.
 * Errors: SEALED, NO_DEVICE, COMPILE_FAILED, NO_MEMORY. */
groat_status groat__job_make_binary(groat__job *job, groat_error *error);
/* Compiles the binary without a claim, and stores it.  Errors: NO_DEVICE,
 * COMPILE_FAILED, NO_MEMORY. */
groat_status groat__job_compile(groat__job *job, groat_error *error);

/* job_remote.c: asks the remote for the binary, and, if it has none, takes the
 * lease or waits for the host that holds it.  True: *out has the binary. */
bool groat__job_ask_remote(groat__job *job, groat__store_blob *out);
/* Queues the compiled binary for the remote; the lease is given back after the
 * upload. */
void groat__job_offer(groat__job *job);
/* Gives back the lease of a binary that could not be compiled. */
void groat__job_give_lease(groat__job *job);

/* Whether the binary came from store, bundles or remote. */
bool groat__job_is_stored(const groat__job *job);
/* Drops a refused binary from the store, or counts a fault of its bundle. */
void groat__job_drop_binary(groat__job *job);
/* The compiler line of the identity's second half; malloc'd. */
char *groat__job_maker(const groat__job *job);

#endif
