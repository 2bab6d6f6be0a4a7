/* SPDX-License-Identifier: Apache-2.0
 *
 * build.c implements groat_build(), which makes a binary and does not load it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/job.h"

static void fill_build_info(groat_spec *spec, groat__job *job,
                            groat_kernel_info *info)
{
    groat__str_free(&spec->entry);
    spec->entry = job->entry;
    memset(&job->entry, 0, sizeof(job->entry));
    free(spec->log);
    spec->log = job->made.binary.log;
    job->made.binary.log = NULL;
    free(spec->maker);
    spec->maker = groat__job_maker(job);
    info->maker = spec->maker != NULL ? spec->maker : "";
    info->spec = groat_spec_text(spec);
    info->target = spec->params.target.text;
    info->name = spec->entry.data;
    info->log = spec->log != NULL ? spec->log : "";
    info->origin = job->made.origin;
    info->compile_ms = job->made.compile_ms;
    info->load_ms = 0;
    info->facts = job->made.binary.facts;
    groat__info_fill(info, &job->shape, &job->key);
}

static groat_status build(groat__job *job, groat_error *error)
{
    groat_error own = GROAT_ERROR_INIT;
    groat__inflight *inflight = NULL;
    groat__callback_scope quiet;
    groat_status status = groat__inflight_enter_build(
        job->context, &job->key, &inflight, &job->made, &own);

    groat__quiet_begin(&job->context->callbacks, &quiet);
    if (status == GROAT_OK)
        status = groat__job_get_binary(job, &own);
    if (inflight != NULL)
        groat__inflight_end(job->context, inflight, status, &own, NULL,
                            &job->made);
    groat__quiet_end(&job->context->callbacks, &quiet);
    if (status != GROAT_OK)
        groat__error_copy(error, &own);
    groat_error_clear(&own);
    return status;
}

groat_status groat_build(groat_spec *spec, void **binary, size_t *bytes,
                         groat_kernel_info *info, groat_error *error)
{
    groat__job job;
    groat_status status;

    if (!groat__is_usable(groat__spec_context(spec)))
        return groat__fail_unusable("spec", spec, error);
    if (info != NULL && groat__check_size(error, "info", "groat_kernel_info",
                                          info, sizeof(*info)) != GROAT_OK)
        return GROAT_INVALID;
    if ((binary == NULL) != (bytes == NULL))
        return groat__fail(error, GROAT_INVALID,
                           "binary and bytes must both be given or both be "
                           "NULL");
    status = groat__job_open(&job, spec->context, &spec->params, error);
    if (status == GROAT_OK)
        status = build(&job, error);
    if (status == GROAT_OK) {
        if (info != NULL)
            fill_build_info(spec, &job, info);
        if (binary != NULL) {
            *binary = job.made.binary.data;
            *bytes = job.made.binary.bytes;
            job.made.binary.data = NULL;
        }
    }
    groat__job_close(&job);
    return status;
}
