/* SPDX-License-Identifier: Apache-2.0
 *
 * device.c lists the devices of this machine, backend by backend.
 */
#include <string.h>

#include "base/error.h"
#include "core/core.h"

bool groat__device_target(groat_context *context, groat__backend_id id,
                          char out[48])
{
    const groat__backend *backend = groat__backend_get(id);
    groat_device_info info = {.size = sizeof(info)};
    groat_error error = GROAT_ERROR_INIT;
    size_t ordinal = (size_t)context->env.device;
    groat__target target;
    void *state = NULL;
    groat_status status = groat__machine_device(context, id, &state, &error);

    /* A passing failure, but the default target is chosen only once: warn. */
    if (status == GROAT_NO_MEMORY)
        groat__log_line(&context->env.log, GROAT_LOG_WARNING,
                        "%s devices are skipped for the default target: %s",
                        backend->device->name, error.text);
    groat_error_clear(&error);
    if (status != GROAT_OK || backend->device->count(state) <= ordinal ||
        backend->device->facts(state, ordinal, &info, NULL) != GROAT_OK)
        return false;
    if (groat__target_parse(info.target, &target, NULL) != GROAT_OK ||
        groat__machine_compiler(context, id, &state, NULL) != GROAT_OK) {
        groat__log_line(&context->env.log, GROAT_LOG_WARNING,
                        "device %s (%s) is not used: groat does not know its "
                        "arch or finds no compiler for it; see groat doctor",
                        info.name, info.target);
        return false;
    }
    memcpy(out, target.text, sizeof(target.text));
    return true;
}

size_t groat_device_count(groat_context *context)
{
    size_t count = 0;

    if (!groat__is_usable(context))
        return 0;
    for (int id = 0; id < GROAT__BACKENDS; id++) {
        void *state = NULL;

        if (groat__machine_device(context, (groat__backend_id)id, &state,
                                  NULL) == GROAT_OK)
            count +=
                groat__backend_get((groat__backend_id)id)->device->count(state);
    }
    return count;
}

groat_status groat_device_at(groat_context *context, size_t index,
                             groat_device_info *info, groat_error *error)
{
    groat_status status;
    size_t at = index;

    if (!groat__is_usable(context))
        return groat__fail_unusable("context", context, error);
    status = groat__check_size(error, "info", "groat_device_info", info,
                               sizeof(*info));
    if (status != GROAT_OK)
        return status;
    for (int id = 0; id < GROAT__BACKENDS; id++) {
        const groat__backend *backend =
            groat__backend_get((groat__backend_id)id);
        void *state = NULL;
        size_t count;

        if (groat__machine_device(context, (groat__backend_id)id, &state,
                                  NULL) != GROAT_OK)
            continue;
        count = backend->device->count(state);
        if (at < count)
            return backend->device->facts(state, at, info, error);
        at -= count;
    }
    return groat__fail(error, GROAT_INVALID,
                       "there is no device %zu; there are %zu, counted from 0",
                       index, index - at);
}

groat_status groat__context_device(groat_context *context,
                                   const groat__target *target,
                                   groat_device_info *info, groat_error *error)
{
    void *state = NULL;
    groat_status status =
        groat__machine_device(context, target->backend, &state, error);

    return status == GROAT_OK
               ? groat__backend_get(target->backend)
                     ->device->facts(state, (size_t)context->env.device, info,
                                     error)
               : status;
}
