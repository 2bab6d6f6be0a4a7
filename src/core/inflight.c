/* SPDX-License-Identifier: Apache-2.0
 *
 * inflight.c lets threads that want the same kernel, loaded or only built,
 * share one compile and its result, good or bad, while different kernels never
 * wait for each other.  A waiter gets a copy of the binary, so it need not read
 * the store.  Locking: context->lock for the list of in-flight builds and of
 * kernels; it is never held while anything is compiled, loaded or copied.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/core.h"

groat_kernel *groat__kernel_known(const groat_context *context,
                                  const groat__digest *key)
{
    for (groat_kernel *k = context->kernels; k != NULL; k = k->next)
        if (memcmp(k->key.bytes, key->bytes, sizeof(key->bytes)) == 0)
            return k;
    return NULL;
}

static groat__inflight *find_inflight(groat_context *context,
                                      const groat__digest *key)
{
    for (groat__inflight *f = context->inflight; f != NULL; f = f->next)
        if (memcmp(f->key.bytes, key->bytes, sizeof(key->bytes)) == 0)
            return f;
    return NULL;
}

/* With the lock held.  Drops one user's share; the last user frees it. */
static void leave(groat__inflight *inflight)
{
    if (--inflight->users > 0)
        return;
    if (inflight->kernel != NULL)
        groat__resident_drop(inflight->kernel);
    groat_error_clear(&inflight->error);
    groat__binary_free(&inflight->made.binary);
    free(inflight);
}

static void copy_made(groat__made *to, const groat__made *from)
{
    groat__binary_free(&to->binary);
    if (from->binary.data == NULL ||
        !groat__binary_copy(&to->binary, &from->binary))
        return;
    to->origin = GROAT_FROM_MEMORY;
    to->fresh = from->fresh;
    to->compile_ms = from->compile_ms;
}

/* With the lock held; releases it while it waits and copies.  *kernel stays
 * NULL after a build; kernel NULL: only the binary is wanted. */
static groat_status wait_for(groat_context *context, groat__inflight *inflight,
                             groat_kernel **kernel, groat__made *made,
                             groat_error *error)
{
    groat_status status;

    inflight->users++;
    while (!inflight->done)
        (void)pthread_cond_wait(&context->landed, &context->lock);
    status = inflight->status;
    if (status != GROAT_OK)
        groat__error_copy(error, &inflight->error);
    else if (kernel != NULL && inflight->kernel != NULL)
        *kernel = groat_kernel_retain(inflight->kernel);
    /* It is done: no thread changes it, and our user count keeps it alive. */
    (void)pthread_mutex_unlock(&context->lock);
    if (status == GROAT_OK && (kernel == NULL || *kernel == NULL))
        copy_made(made, &inflight->made);
    (void)pthread_mutex_lock(&context->lock);
    leave(inflight);
    return status;
}

/* If the seal refused the leader but does not bind this caller, returns OK
 * without a kernel, and the caller goes on by itself. */
static groat_status wait_unless_sealed(groat_context *context,
                                       groat__inflight *inflight, bool sealed,
                                       groat_kernel **kernel, groat__made *made,
                                       groat_error *error)
{
    groat_error own = GROAT_ERROR_INIT;
    groat_status status = wait_for(context, inflight, kernel, made, &own);

    if (status == GROAT_SEALED && !sealed)
        status = GROAT_OK;
    if (status != GROAT_OK)
        groat__error_copy(error, &own);
    groat_error_clear(&own);
    return status;
}

static groat_status start(groat_context *context, const groat__digest *key,
                          groat__inflight **out, groat_error *error)
{
    groat__inflight *inflight = calloc(1, sizeof(*inflight));

    if (inflight == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a compile");
    inflight->key = *key;
    inflight->users = 1;
    inflight->error = (groat_error)GROAT_ERROR_INIT;
    inflight->next = context->inflight;
    context->inflight = inflight;
    *out = inflight;
    return GROAT_OK;
}

groat_status groat__inflight_enter(groat_context *context,
                                   const groat__digest *key, bool sealed,
                                   groat__inflight **inflight,
                                   groat_kernel **kernel, groat__made *made,
                                   groat_error *error)
{
    groat_status status = GROAT_OK;

    *inflight = NULL;
    *kernel = NULL;
    (void)pthread_mutex_lock(&context->lock);
    /* After a build there is a binary to load but no thread that loads it:
     * loop. */
    while (status == GROAT_OK && *inflight == NULL && *kernel == NULL) {
        groat_kernel *known = groat__kernel_known(context, key);
        groat__inflight *running = find_inflight(context, key);

        if (known != NULL && known->leaving)
            (void)pthread_cond_wait(&context->landed, &context->lock);
        else if (known != NULL && groat__resident_is_loaded(known))
            *kernel = groat_kernel_retain(known);
        else if (running != NULL)
            status = wait_unless_sealed(context, running, sealed, kernel, made,
                                        error);
        else if ((status = start(context, key, inflight, error)) == GROAT_OK)
            (*inflight)->again = known;
    }
    (void)pthread_mutex_unlock(&context->lock);
    return status;
}

groat_status groat__inflight_enter_build(groat_context *context,
                                         const groat__digest *key,
                                         groat__inflight **inflight,
                                         groat__made *made, groat_error *error)
{
    groat_status status = GROAT_OK;
    groat__inflight *running;

    *inflight = NULL;
    (void)pthread_mutex_lock(&context->lock);
    running = find_inflight(context, key);
    if (running == NULL)
        status = start(context, key, inflight, error);
    else if (wait_for(context, running, NULL, made, error) ==
             GROAT_COMPILE_FAILED)
        status = GROAT_COMPILE_FAILED;
    (void)pthread_mutex_unlock(&context->lock);
    return status;
}

/* With the lock held; releases it while it copies.  The build stays in the list
 * meanwhile: a thread that came after its removal would find nothing. */
static void leave_made(groat_context *context, groat__inflight *inflight,
                       const groat__made *made)
{
    groat__made copy = {0};

    if (inflight->users == 1)
        return;
    (void)pthread_mutex_unlock(&context->lock);
    copy_made(&copy, made);
    (void)pthread_mutex_lock(&context->lock);
    inflight->made = copy;
}

void groat__inflight_end(groat_context *context, groat__inflight *inflight,
                         groat_status status, const groat_error *error,
                         groat_kernel *kernel, const groat__made *made)
{
    groat__inflight **at = &context->inflight;

    (void)pthread_mutex_lock(&context->lock);
    if (status == GROAT_OK)
        leave_made(context, inflight, made);
    while (*at != inflight)
        at = &(*at)->next;
    *at = inflight->next;
    inflight->status = status;
    inflight->kernel = kernel;
    inflight->done = true;
    if (status != GROAT_OK) {
        groat__error_copy(&inflight->error, error);
    } else if (kernel != NULL) {
        (void)groat_kernel_retain(kernel); /* until the last waiter has it */
        if (!kernel->listed) {
            kernel->next = context->kernels;
            context->kernels = kernel;
            kernel->listed = true;
        }
    }
    (void)pthread_cond_broadcast(&context->landed);
    leave(inflight);
    (void)pthread_mutex_unlock(&context->lock);
}
