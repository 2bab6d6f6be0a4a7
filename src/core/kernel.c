/* SPDX-License-Identifier: Apache-2.0
 *
 * kernel.c gets kernels: from memory (lookup.c), as a sealed context answers
 * (sealed.c), or by making them (miss.c, job.c, load.c).
 *
 * Invariant: a kernel in the context's list is immutable except for its
 * references and the fields with which resident.c unloads it; the list keeps it
 * until groat_close, so a pointer from groat_kernel_lookup stays valid.
 */
#include <string.h>

#include "base/error.h"
#include "core/miss.h"
#include "core/sealed.h"

groat_status groat_kernel_get(groat_context *context, const char *spec,
                              const char *target, groat_kernel **out,
                              groat_origin *origin, groat_error *error)
{
    groat__kernel_name name;
    groat_kernel *kernel;
    groat_spec *parsed = NULL;
    groat__hit h;
    groat_status status;

    if (!groat__is_usable(context))
        return groat__fail_unusable("context", context, error);
    h = groat__hit_begin(context);
    if (target == NULL)
        target = groat_default_target(context);
    kernel = spec == NULL ? NULL : groat__lookup_text(context, spec, target);
    if (groat__hit_give(context, h, kernel, out, origin))
        return GROAT_OK;
    if (spec != NULL && groat__seal_is_on(&context->seal))
        return groat__sealed_get_text(context, (groat__hit){h.count, 0}, spec,
                                      target, out, origin, error);
    status = groat_spec_parse(context, spec, target, &parsed, error);
    if (status == GROAT_OK)
        status = groat__kernel_make(context, &parsed->params, true, &kernel,
                                    origin, error);
    groat_spec_free(parsed);
    if (status != GROAT_OK)
        return status;
    name = groat__lookup_name_of_text(spec, target);
    groat__lookup_add_text(context, &name, kernel);
    *out = kernel;
    return GROAT_OK;
}

/* Slow path: the name is not in the look-up table. */
static groat_status get_missed(groat_context *context,
                               const groat__params *params, bool sealed,
                               groat_kernel **out, groat_origin *origin,
                               groat_error *error)
{
    if (sealed && groat__seal_is_on(&context->seal))
        return groat__sealed_get_values(context, params, out, origin, error);
    return groat__kernel_make(context, params, sealed, out, origin, error);
}

groat_status groat__kernel_get(groat_context *context,
                               const groat__params *params, bool sealed,
                               groat_kernel **out, groat_origin *origin,
                               groat_error *error)
{
    return groat__hit_give(context, groat__hit_begin(context),
                           groat__lookup_values(context, params), out, origin)
               ? GROAT_OK
               : get_missed(context, params, sealed, out, origin, error);
}

static groat_status check_options(const groat_get_options *options,
                                  groat_error *error)
{
    groat_status status = groat__check_size(
        error, "options", "groat_get_options", options, sizeof(*options));

    if (status == GROAT_OK && (options->flags & ~GROAT_GET_ON_STREAM) != 0)
        return groat__fail(error, GROAT_INVALID,
                           "options.flags is 0x%x; known: 0x%x", options->flags,
                           (unsigned)GROAT_GET_ON_STREAM);
    return status;
}

/* Fails if a graph is being captured from the stream.  A sealed context loads
 * nothing, so there is nothing to check. */
static groat_status check_stream(const groat_spec *spec, void *stream,
                                 groat_error *error)
{
    groat__backend_id id = spec->params.target.backend;
    void *state = NULL;
    groat_status status;

    if (groat__seal_is_on(&spec->context->seal))
        return GROAT_OK;
    status = groat__machine_device(spec->context, id, &state, error);
    return status == GROAT_OK
               ? groat__backend_get(id)->device->may_load(state, stream, error)
               : status;
}

groat_status groat_kernel_get_spec(groat_spec *spec,
                                   const groat_get_options *options,
                                   groat_kernel **out, groat_origin *origin,
                                   groat_error *error)
{
    groat_context *context;
    groat_status status = GROAT_OK;

    if (!groat__is_usable(groat__spec_context(spec)))
        return groat__fail_unusable("spec", spec, error);
    context = spec->context;
    if (options != NULL)
        status = check_options(options, error);
    if (status != GROAT_OK)
        return status;
    if (groat__hit_give(context, groat__hit_begin(context),
                        groat__lookup_values(context, &spec->params), out,
                        origin))
        return GROAT_OK;
    if (options != NULL && (options->flags & GROAT_GET_ON_STREAM) != 0)
        status = check_stream(spec, options->stream, error);
    return status == GROAT_OK
               ? get_missed(context, &spec->params, true, out, origin, error)
               : status;
}
