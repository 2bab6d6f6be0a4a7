/* SPDX-License-Identifier: Apache-2.0
 *
 * target.c chooses the default target of a context: it is found once, and read
 * without a lock from then on.
 */
#include <string.h>

#include "core/core.h"

static const char fallback[] = "cpu:gfx950";

const char *groat_default_target(groat_context *context)
{
    const char *ready;
    char found[48];

    if (context == NULL)
        return fallback;
    ready = atomic_load_explicit(&context->default_ready, memory_order_acquire);
    if (ready != NULL)
        return ready;
    if (!groat__is_usable(context))
        return fallback;
    if (!groat__device_target(context, GROAT__CUDA, found) &&
        !groat__device_target(context, GROAT__HIP, found))
        memcpy(found, fallback, sizeof(fallback));
    (void)pthread_mutex_lock(&context->lock);
    if (atomic_load(&context->default_ready) == NULL) {
        memcpy(context->default_target, found, sizeof(found));
        atomic_store_explicit(&context->default_ready, context->default_target,
                              memory_order_release);
    }
    (void)pthread_mutex_unlock(&context->lock);
    return context->default_target;
}

groat_status groat__context_target(groat_context *context, const char *text,
                                   groat__target *out, groat_error *error)
{
    return groat__target_parse(
        text != NULL ? text : groat_default_target(context), out, error);
}
