/* SPDX-License-Identifier: Apache-2.0
 *
 * reload.c loads unloaded kernels again, before a launch or to be a fallback,
 * by a get of their spec.
 */
#include "base/error.h"
#include "core/core.h"

/* A get of the kernel's spec gives the same handle, unless the compiler, and so
 * the key, has changed since. */
static groat_status load_again(groat_kernel *kernel, groat_error *error)
{
    groat_context *context = kernel->context;
    groat_kernel *found = NULL;
    groat__target target;
    groat__params params;
    groat_status status = groat__target_parse(kernel->target, &target, error);

    if (status == GROAT_OK)
        status =
            groat__spec_params(context, kernel->spec, &target, &params, error);
    if (status == GROAT_OK && !groat__seal_is_on(&context->seal))
        status = groat__kernel_get(context, &params, true, &found, NULL, error);
    if (status != GROAT_OK || found == kernel)
        return status;
    groat_kernel_release(found); /* another kernel, or a fallback */
    if (found != NULL && !groat__seal_is_on(&context->seal))
        return groat__fail(
            error, GROAT_LOAD_FAILED,
            "%s was unloaded, and its compiler has changed since; get it again",
            kernel->entry);
    return groat__fail(error, GROAT_SEALED,
                       "%s was unloaded before the context was sealed; keep a "
                       "reference to kernels that must stay loaded",
                       kernel->entry);
}

groat_status groat__reload(groat_kernel *kernel, void *stream,
                           groat_error *error)
{
    groat_status status;

    if (groat__resident_hold(kernel))
        return GROAT_OK;
    status = kernel->device->may_load(kernel->device_state, stream, error);
    return status == GROAT_OK ? load_again(kernel, error) : status;
}

groat_status groat_fallback_set(groat_context *context, groat_kernel *kernel,
                                groat_error *error)
{
    groat_kernel *before = NULL;
    groat_status status;

    if (!groat__is_usable(context))
        return groat__fail_unusable("context", context, error);
    if (!groat__is_usable(groat__kernel_context(kernel)))
        return groat__fail_unusable("kernel", kernel, error);
    if (kernel->context != context)
        return groat__fail(error, GROAT_INVALID,
                           "the kernel is of another context");
    status = groat__reload(kernel, NULL, error);
    if (status != GROAT_OK)
        return status;
    (void)pthread_mutex_lock(&context->lock);
    status = groat__seal_set_fallback(&context->seal, kernel, &before, error);
    (void)pthread_mutex_unlock(&context->lock);
    /* The reference keeps the fallback loaded. */
    groat_kernel_release(status == GROAT_OK ? before : kernel);
    return status;
}
