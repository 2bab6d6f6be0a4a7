/* SPDX-License-Identifier: Apache-2.0
 *
 * miss.c answers a get of a kernel that is not in memory: one thread makes the
 * kernel for all threads that want it.
 */
#include "core/miss.h"

#include "base/error.h"
#include "core/load.h"
#include "core/lookup.h"
#include "core/used.h"

static groat_status find_or_make(groat_context *context,
                                 const groat__params *params, bool sealed,
                                 groat_kernel **out, groat_origin *origin,
                                 groat_error *error)
{
    groat_error own = GROAT_ERROR_INIT;
    groat__inflight *inflight = NULL;
    groat_kernel *kernel = NULL;
    groat__callback_scope quiet;
    groat__job job;
    groat_status status = groat__job_open(&job, context, params, error);

    /* Delays log lines and events while other threads wait for this one: a
     * callback may ask for the same kernel. */
    groat__quiet_begin(&context->callbacks, &quiet);
    if (status != GROAT_OK)
        goto close_job;
    /* The context was sealed when the name was looked up, and still is. */
    job.sealed = job.sealed && sealed;
    status = groat__inflight_enter(context, &job.key, job.sealed, &inflight,
                                   &kernel, &job.made, error);
    if (status != GROAT_OK)
        goto close_job;
    if (inflight == NULL) {
        groat__tally_add(groat__tally_mine(&context->memory_hits));
        if (origin != NULL)
            *origin = GROAT_FROM_MEMORY;
    } else {
        status = groat__kernel_load(&job, inflight->again, &kernel, &own);
        if (status == GROAT_OK && inflight->again == NULL)
            groat__used_add(context->record, kernel->spec, kernel->target,
                            &context->env.log);
        groat__inflight_end(context, inflight, status, &own, kernel, &job.made);
        if (status != GROAT_OK)
            groat__error_copy(error, &own);
        else if (origin != NULL)
            *origin = job.made.origin;
    }
    if (status == GROAT_OK) {
        groat__lookup_add(context, params, kernel);
        /* This kernel may be one that was refused before. */
        groat__seal_renew(&context->seal);
        *out = kernel;
    }
close_job:
    groat_error_clear(&own);
    groat__job_close(&job);
    groat__quiet_end(&context->callbacks, &quiet);
    return status;
}

groat_status groat__kernel_make(groat_context *context,
                                const groat__params *params, bool sealed,
                                groat_kernel **out, groat_origin *origin,
                                groat_error *error)
{
    groat_status status;

    GROAT__PROBE2(miss, params->family->name, params->target.text);
    groat__range_begin(&context->ranges, "miss", params->family->name);
    status = find_or_make(context, params, sealed, out, origin, error);
    groat__range_end(&context->ranges);
    return status;
}
