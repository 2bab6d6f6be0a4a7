/* SPDX-License-Identifier: Apache-2.0
 *
 * machine.c opens compilers and devices at first need and remembers the result:
 * the disk is searched only once for a library that is absent.  A failure for
 * lack of memory or file descriptors says nothing about the machine and is
 * tried again.  Each backend has a lock of its own, so that a slow cuInit does
 * not hold up a cpu target.
 */
#include "core/core.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/fs.h"

groat_status groat__machine_init(groat__machine *machine, groat_error *error)
{
    if (pthread_mutex_init(&machine->lock, NULL) != 0)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a lock");
    machine->compiler.failure = (groat_error)GROAT_ERROR_INIT;
    machine->device.failure = (groat_error)GROAT_ERROR_INIT;
    return GROAT_OK;
}

void groat__machine_close(groat__machine *machine, groat__backend_id id)
{
    const groat__backend *backend = groat__backend_get(id);

    if (machine->device.state != NULL)
        backend->device->part.close(machine->device.state);
    if (machine->compiler.state != NULL)
        backend->compiler->part.close(machine->compiler.state);
    groat_error_clear(&machine->device.failure);
    groat_error_clear(&machine->compiler.failure);
    for (size_t i = 0; i < GROAT__ARCHS; i++) {
        free(machine->compiler_text[i]);
        free(machine->predicted[i]);
    }
    (void)pthread_mutex_destroy(&machine->lock);
}

/* With the machine's lock held. */
static groat_status open_part(const groat__env *env, groat__opened *opened,
                              const groat__part *part, void **state,
                              groat_error *error)
{
    groat_status status = opened->failure.status;

    if (opened->state == NULL && status == GROAT_OK) {
        status = groat__part_open(part, env, &opened->state, &opened->failure);
        if (status != GROAT_OK && groat__fs_no_descriptors())
            status = groat__fail(&opened->failure, GROAT_NO_MEMORY,
                                 "no file descriptor is free to open the "
                                 "target's compiler or device");
    }
    if (status == GROAT_OK) {
        *state = opened->state;
        return GROAT_OK;
    }
    groat__error_copy(error, &opened->failure);
    if (status == GROAT_NO_MEMORY)
        groat_error_clear(&opened->failure);
    return status;
}

/* Log lines of an open are reported after the unlock. */
static void lock(groat_context *context, groat__machine *machine,
                 groat__callback_scope *quiet)
{
    groat__quiet_begin(&context->callbacks, quiet);
    (void)pthread_mutex_lock(&machine->lock);
}

static void unlock(groat_context *context, groat__machine *machine,
                   groat__callback_scope *quiet)
{
    (void)pthread_mutex_unlock(&machine->lock);
    groat__quiet_end(&context->callbacks, quiet);
}

static groat_status open_locked(groat_context *context, groat__machine *machine,
                                groat__opened *opened, const groat__part *part,
                                void **state, groat_error *error)
{
    groat__callback_scope quiet;
    groat_status status;

    lock(context, machine, &quiet);
    status = open_part(&context->env, opened, part, state, error);
    unlock(context, machine, &quiet);
    return status;
}

groat_status groat__machine_compiler(groat_context *context,
                                     groat__backend_id id, void **state,
                                     groat_error *error)
{
    groat__machine *machine = &context->machines[id];

    return open_locked(context, machine, &machine->compiler,
                       &groat__backend_get(id)->compiler->part, state, error);
}

groat_status groat__machine_device(groat_context *context, groat__backend_id id,
                                   void **state, groat_error *error)
{
    groat__machine *machine = &context->machines[id];

    return open_locked(context, machine, &machine->device,
                       &groat__backend_get(id)->device->part, state, error);
}

void groat__machine_compiled(groat__machine *machine, double ms)
{
    unsigned longest = atomic_load(&machine->longest_ms);

    while (ms > longest &&
           !atomic_compare_exchange_weak(&machine->longest_ms, &longest,
                                         (unsigned)ms + 1))
        continue;
}

static size_t arch_index(const groat__arch *arch)
{
    size_t index = 0;

    while (groat__arch_at(index) != arch)
        index++;
    return index;
}

const char *groat__machine_known(groat_context *context,
                                 const groat__target *target)
{
    groat__machine *machine = &context->machines[target->backend];
    const char *text;

    (void)pthread_mutex_lock(&machine->lock);
    text = machine->compiler_text[arch_index(target->arch)];
    (void)pthread_mutex_unlock(&machine->lock);
    return text;
}

/* The query of find_made_by(). */
typedef struct made_for {
    groat_context *context;
    const char *target;
    const char *wanted; /* what the remote is asked for; NULL: it is not */
} made_for;

/* A groat__made_by_fn: searches the store, the bundles and the remote. */
static bool find_made_by(void *user, const char *build_id, groat__str *lines)
{
    const made_for *asked = user;
    groat_context *context = asked->context;
    groat__str target = {0};
    groat__str build = {0};
    groat__str identity = {0};
    bool found;

    groat__str_addf(&target, "\ntarget %s\n", asked->target);
    groat__str_addf(&build, " build %s\n", build_id);
    found =
        !target.failed && !build.failed &&
        ((context->store != NULL &&
          groat__store_recent(context->store, target.data, build.data,
                              &identity)) ||
         groat__layers_recent(context, target.data, build.data, &identity) ||
         (asked->wanted != NULL &&
          groat__context_made_elsewhere(context, asked->wanted, &identity)));
    found = found && !identity.failed;
    if (found)
        groat__str_add(lines, groat__key_second_half(identity.data));
    groat__str_free(&identity);
    groat__str_free(&build);
    groat__str_free(&target);
    return found;
}

/* Predicts outside the lock: a thread that waits for the device does not wait
 * for the store. */
const char *groat__machine_predict(groat_context *context,
                                   const groat__target *target,
                                   const char *wanted)
{
    groat__machine *machine = &context->machines[target->backend];
    char **slot = &machine->predicted[arch_index(target->arch)];
    made_for asked = {context, target->text, wanted};
    groat__str who = {0};
    const char *text;
    bool closed;

    (void)pthread_mutex_lock(&machine->lock);
    text = *slot;
    closed = machine->compiler.state == NULL &&
             machine->compiler.failure.status == GROAT_OK;
    (void)pthread_mutex_unlock(&machine->lock);
    if (text != NULL || !closed)
        return closed ? text : NULL;
    if (groat__backend_get(target->backend)
            ->compiler->predict(&context->env, target->arch, find_made_by,
                                &asked, &who)) {
        (void)pthread_mutex_lock(&machine->lock);
        if (*slot == NULL)
            *slot = groat__str_take(&who);
        text = *slot;
        (void)pthread_mutex_unlock(&machine->lock);
    }
    groat__str_free(&who);
    return text;
}

groat_status groat__machine_identity(groat_context *context,
                                     const groat__target *target,
                                     const char **text, groat_error *error)
{
    groat__machine *machine = &context->machines[target->backend];
    char **slot = &machine->compiler_text[arch_index(target->arch)];
    groat__str who = {0};
    groat_status status = GROAT_OK;
    groat__callback_scope quiet;
    void *state = NULL;

    lock(context, machine, &quiet);
    if (*slot != NULL)
        goto unlock;
    status = open_part(&context->env, &machine->compiler,
                       &groat__backend_get(target->backend)->compiler->part,
                       &state, error);
    if (status == GROAT_OK)
        status = groat__backend_get(target->backend)
                     ->compiler->identify(state, target->arch, &who, error);
    if (status == GROAT_OK && (*slot = groat__str_take(&who)) == NULL)
        status = groat__fail(error, GROAT_NO_MEMORY, "no memory for a key");
unlock:
    if (status == GROAT_OK)
        *text = *slot;
    unlock(context, machine, &quiet);
    groat__str_free(&who);
    return status;
}
