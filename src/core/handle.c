/* SPDX-License-Identifier: Apache-2.0
 *
 * handle.c tells a program about a kernel: the vendor's function, its facts,
 * and where it came from.
 * Locking: none; nothing here changes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/core.h"

const char *groat_origin_name(groat_origin origin)
{
    static const char *const names[] = {"compiled", "disk",   "memory",
                                        "fallback", "bundle", "remote"};

    return (unsigned)origin < sizeof(names) / sizeof(names[0]) ? names[origin]
                                                               : "unknown";
}

const char *groat_reason_name(groat_reason reason)
{
    static const char *const names[] = {"absent", "no store", "refused",
                                        "alone"};

    return (unsigned)reason < 4 ? names[reason] : "unknown";
}

void groat__kernel_free(groat_kernel *kernel)
{
    if (kernel->module != NULL)
        kernel->device->unload(kernel->device_state, kernel->module);
    free(kernel->spec);
    free(kernel->target);
    free(kernel->entry);
    free(kernel->log);
    free(kernel->identity);
    free(kernel->maker);
    free(kernel);
}

void *groat_kernel_native(const groat_kernel *kernel)
{
    if (!groat__is_usable(groat__kernel_context(kernel)))
        return NULL;
    return groat__resident_is_loaded(kernel)
               ? kernel->device->native(kernel->module)
               : NULL;
}

void groat_kernel_interrupt(const groat_kernel *kernel, const void *context,
                            const char *why)
{
    if (groat__is_usable(groat__kernel_context(kernel)) && context != NULL &&
        kernel->device != NULL && kernel->device->interrupt != NULL &&
        groat__resident_is_loaded(kernel))
        kernel->device->interrupt(kernel->module, context, why);
}

void groat__info_fill(groat_kernel_info *info, const groat__shape *shape,
                      const groat__digest *key)
{
    memcpy(info->block, shape->block, sizeof(info->block));
    memcpy(info->cluster, shape->cluster, sizeof(info->cluster));
    info->shared_bytes = shape->shared_bytes;
    info->args_bytes = shape->args_bytes;
    groat__hex(info->key, key->bytes, sizeof(key->bytes));
}

groat_status groat_kernel_info_get(const groat_kernel *kernel,
                                   groat_kernel_info *info, groat_error *error)
{
    groat_status status = groat__check_size(error, "info", "groat_kernel_info",
                                            info, sizeof(*info));

    if (kernel == NULL)
        return groat__fail_unusable("kernel", kernel, error);
    if (status != GROAT_OK)
        return status;
    info->maker = kernel->maker;
    info->spec = kernel->spec;
    info->target = kernel->target;
    info->name = kernel->entry;
    info->log = kernel->log;
    info->origin = kernel->origin;
    info->compile_ms = kernel->compile_ms;
    info->load_ms = kernel->load_ms;
    info->facts = kernel->facts;
    groat__info_fill(info, &kernel->shape, &kernel->key);
    return GROAT_OK;
}
