/* SPDX-License-Identifier: Apache-2.0
 *
 * device.c knows what this machine can run on: it lists devices, chooses the
 * default target and asks every backend for the doctor's report.  The default
 * target is found once; afterwards it is read without a lock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/core.h"

static const char fallback[] = "cpu:gfx950";

/* The target of the backend's device that the context was opened for. */
static bool device_target(groat_context *context, groat__backend_id id,
                          char out[48])
{
    const groat__backend *backend = groat__backend_get(id);
    groat_device_info info = {.size = sizeof(info)};
    groat_error error = GROAT_ERROR_INIT;
    size_t ordinal = (size_t)context->env.device;
    groat__target target;
    void *state = NULL;
    groat_status status = groat__machine_device(context, id, &state, &error);

    /* That is no answer, and a default target is looked for once. */
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

const char *groat_default_target(groat_context *context)
{
    const char *ready =
        atomic_load_explicit(&context->default_ready, memory_order_acquire);
    char found[48];

    if (ready != NULL)
        return ready;
    if (groat__is_inherited(context))
        return fallback;
    if (!device_target(context, GROAT__CUDA, found) &&
        !device_target(context, GROAT__HIP, found))
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

size_t groat_device_count(groat_context *context)
{
    size_t count = 0;

    if (groat__is_inherited(context))
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

    if (groat__is_inherited(context))
        return groat__fail_inherited(error);
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

/* Cuts "subject\tusable\ttext\n" lines and hands them on. */
static void report(groat__str *lines, groat_doctor_fn *fn, void *user)
{
    char *save = NULL;

    if (lines->failed || lines->data == NULL)
        return;
    for (char *line = strtok_r(lines->data, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        char *usable = strchr(line, '\t');
        char *text = usable == NULL ? NULL : strchr(usable + 1, '\t');

        if (text == NULL)
            continue;
        *usable = '\0';
        fn(user, line, usable[1] == '1', text + 1);
    }
}

/* On one line, whatever its folder is called. */
static void tell_store(const groat_context *context, groat_doctor_fn *fn,
                       void *user)
{
    groat__str path = {0};

    groat__str_add(&path, groat__store_path(context->store));
    if (!path.failed) {
        groat__one_line(path.data);
        fn(user, "store", 1, path.data);
    }
    groat__str_free(&path);
}

static void tell_remote(const groat_context *context, groat_doctor_fn *fn,
                        void *user)
{
    groat__str text = {0};
    bool answers;

    if (context->remote == NULL) {
        fn(user, "remote", 0,
           context->remote_problem != NULL ? context->remote_problem
                                           : "none; GROAT_REMOTE names one");
        return;
    }
    answers = groat__remote_answers(context->remote, &text);
    if (!text.failed)
        fn(user, "remote", answers, text.data);
    groat__str_free(&text);
}

void groat_doctor(groat_context *context, groat_doctor_fn *fn, void *user)
{
    groat__present self;

    if (groat__is_inherited(context))
        return;
    groat__callback_begin(&context->callbacks, &self);
    for (int i = 0; i < GROAT__BACKENDS; i++) {
        groat__backend_id id = (groat__backend_id)i;
        const groat__backend *backend = groat__backend_get(id);
        groat__str lines = {0};
        void *state = NULL;

        (void)groat__machine_compiler(context, id, &state, NULL);
        backend->compiler->doctor(state, &context->env, &lines);
        state = NULL;
        (void)groat__machine_device(context, id, &state, NULL);
        backend->device->doctor(state, &context->env, &lines);
        report(&lines, fn, user);
        groat__str_free(&lines);
    }
    if (context->store != NULL)
        tell_store(context, fn, user);
    else
        fn(user, "store", 0,
           context->store_problem != NULL ? context->store_problem : "none");
    tell_remote(context, fn, user);
    if (context->ranges.push != NULL)
        fn(user, "ranges", 1, context->ranges.kind);
    else
        fn(user, "ranges", 0,
           "nobody takes them; GROAT_RANGES=nvtx or callbacks of the program "
           "do");
    fn(user, "default target", 1, groat_default_target(context));
    groat__callback_end(&context->callbacks, &self);
}
