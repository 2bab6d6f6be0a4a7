/* SPDX-License-Identifier: Apache-2.0
 *
 * sealed.c answers gets of a sealed context that memory cannot: it compiles,
 * loads and reads nothing from disk.
 */
#include "core/sealed.h"

#include <string.h>

groat_status groat__sealed_get_values(groat_context *context,
                                      const groat__params *params,
                                      groat_kernel **out, groat_origin *origin,
                                      groat_error *error)
{
    groat__name_owner whose;
    groat__kernel_name name = groat__lookup_name(params, &whose);

    if (groat__seal_note(&context->seal,
                         groat__seal_mark(&context->seal, &name)))
        groat__sealed_log(context, params, groat__kernel_name_hash(&name));
    return groat__seal_refuse(context, params->family->name,
                              strlen(params->family->name), params->target.text,
                              out, origin, error);
}

/* The text may be another spelling of a kernel in memory, which counts as an
 * untimed hit.  A text that was refused before is not parsed again. */
groat_status groat__sealed_get_text(groat_context *context, groat__hit untimed,
                                    const char *spec, const char *target,
                                    groat_kernel **out, groat_origin *origin,
                                    groat_error *error)
{
    groat__kernel_name name = groat__lookup_name_of_text(spec, target);
    uint64_t mark = groat__seal_mark(&context->seal, &name);
    groat__target where;
    groat__params params;
    groat_kernel *kernel;
    groat_status status;

    if (groat__seal_has(&context->seal, mark))
        return groat__seal_refuse(context, spec, strlen(spec), target, out,
                                  origin, error);
    status = groat__context_target(context, target, &where, error);
    if (status == GROAT_OK)
        status = groat__spec_params(context, spec, &where, &params, error);
    if (status != GROAT_OK)
        return status;
    kernel = groat__lookup_values(context, &params);
    if (groat__hit_give(context, untimed, kernel, out, origin)) {
        groat__lookup_add_text(context, &name, kernel);
        return GROAT_OK;
    }
    status = groat__sealed_get_values(context, &params, out, origin, error);
    (void)groat__seal_note(&context->seal, mark);
    return status;
}
