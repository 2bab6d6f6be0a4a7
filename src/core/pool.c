/* SPDX-License-Identifier: Apache-2.0
 *
 * pool.c makes kernels on other threads: requests, and the few threads that
 * serve them in order.  Until its kernel is ready, a request gives its
 * fallback.
 *
 * Invariant: a thread runs only while there are requests; it takes no signal,
 * and the next start or groat_close joins it.  A request belongs to its caller
 * and, until it is done, to the pool; the last owner frees it.  A request that
 * its caller has freed by the time its turn comes is skipped.
 * Locking: pool->lock for the queue and the threads, a lock in each request for
 * its result; neither is held while a kernel is made.
 */
#include "core/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cores.h"
#include "base/error.h"
#include "base/thread.h"
#include "core/core.h"

enum { STATE_NONE, STATE_RUNS, STATE_ENDED };

struct groat_request {
    _Atomic(groat_kernel *) now; /* first: launches read it */
    groat_context *context;
    groat_kernel *fallback; /* may be NULL */
    atomic_uint users;
    pthread_mutex_t lock;
    pthread_cond_t landed;
    bool done;
    groat_status status;
    groat_error error;
    groat_kernel *kernel;
    groat_origin origin;
    struct groat_request *next;
    groat__params params;
};

/* ---- requests ---------------------------------------------------------- */

static groat_request *new_request(const groat_spec *spec,
                                  groat_kernel *fallback)
{
    groat_request *request = calloc(1, sizeof(*request));

    if (request == NULL)
        return NULL;
    if (!groat__wait_init(&request->lock, &request->landed)) {
        free(request);
        return NULL;
    }
    atomic_init(&request->users, 1);
    atomic_init(&request->now, fallback);
    request->fallback = groat_kernel_retain(fallback);
    request->context = spec->context;
    request->error = (groat_error)GROAT_ERROR_INIT;
    request->params = spec->params;
    return request;
}

static void leave(groat_request *request)
{
    if (atomic_fetch_sub(&request->users, 1) > 1)
        return;
    groat_kernel_release(request->kernel);
    groat_kernel_release(request->fallback);
    groat_error_clear(&request->error);
    (void)pthread_cond_destroy(&request->landed);
    (void)pthread_mutex_destroy(&request->lock);
    free(request);
}

/* Takes over the caller's reference to kernel. */
static void finish(groat_request *request, groat_status status,
                   groat_kernel *kernel, groat_origin origin,
                   const groat_error *error)
{
    (void)pthread_mutex_lock(&request->lock);
    request->status = status;
    request->kernel = kernel;
    request->origin = origin;
    groat__error_copy(&request->error, error);
    request->done = true;
    if (status == GROAT_OK)
        atomic_store_explicit(&request->now, kernel, memory_order_release);
    (void)pthread_cond_broadcast(&request->landed);
    (void)pthread_mutex_unlock(&request->lock);
}

/* sealed: whether the seal binds the request; it does not bind requests that
 * began before.  A request with a fallback of its own refuses the context's. */
static void make(groat_request *request, bool sealed)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_kernel *kernel = NULL;
    groat_origin origin = GROAT_FROM_MEMORY;
    groat__callbacks *callbacks = &request->context->callbacks;
    groat__callback_scope quiet;
    groat_status status;

    /* Log lines and events about the kernel are reported once it is done. */
    groat__quiet_begin(callbacks, &quiet);
    status = groat__kernel_get(request->context, &request->params, sealed,
                               &kernel, &origin, &error);
    if (request->fallback != NULL && origin == GROAT_FROM_FALLBACK) {
        groat_kernel_release(kernel);
        kernel = NULL;
        status = groat__fail(&error, GROAT_SEALED,
                             "the context is sealed, and the request's kernel "
                             "of %.64s is not in memory",
                             request->params.family->name);
    }
    finish(request, status, kernel, origin, &error);
    groat_error_clear(&error);
    groat__quiet_end(callbacks, &quiet);
}

/* ---- threads ----------------------------------------------------------- */

bool groat__pool_init(groat__pool *pool)
{
    return pthread_mutex_init(&pool->lock, NULL) == 0;
}

static groat_request *take(groat__pool *pool)
{
    groat_request *request = pool->first;

    if (request == NULL || pool->closing)
        return NULL;
    pool->first = request->next;
    if (pool->first == NULL)
        pool->last = NULL;
    return request;
}

/* Takes this request out of the queue; false if a thread has begun it. */
static bool take_back(groat__pool *pool, groat_request *request)
{
    groat_request *before = NULL;
    groat_request *at;

    (void)pthread_mutex_lock(&pool->lock);
    for (at = pool->first; at != NULL && at != request; at = at->next)
        before = at;
    if (at != NULL && before == NULL)
        pool->first = at->next;
    else if (at != NULL)
        before->next = at->next;
    if (at != NULL && pool->last == at)
        pool->last = before;
    (void)pthread_mutex_unlock(&pool->lock);
    return at != NULL;
}

typedef struct worker {
    groat__pool *pool;
    unsigned index;
} worker;

static void *work(void *user)
{
    worker self = *(worker *)user;
    groat__pool *pool = self.pool;
    groat_request *request;

    free(user);
    (void)pthread_mutex_lock(&pool->lock);
    while ((request = take(pool)) != NULL) {
        (void)pthread_mutex_unlock(&pool->lock);
        if (atomic_load(&request->users) > 1)
            make(request, false);
        leave(request);
        (void)pthread_mutex_lock(&pool->lock);
    }
    pool->states[self.index] = STATE_ENDED;
    (void)pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static bool start_thread(groat__pool *pool, unsigned index)
{
    worker *self = malloc(sizeof(*self));

    if (self == NULL)
        return false;
    *self = (worker){pool, index};
    if (!groat__thread_start(&pool->threads[index], work, self)) {
        free(self);
        return false;
    }
    pool->states[index] = STATE_RUNS;
    return true;
}

/* With the lock held.  A thread that has ended does not take the lock again, so
 * joining it cannot deadlock. */
static void join_ended(groat__pool *pool)
{
    for (unsigned i = 0; i < GROAT__POOL_THREADS; i++) {
        if (pool->states[i] != STATE_ENDED)
            continue;
        (void)pthread_join(pool->threads[i], NULL);
        pool->states[i] = STATE_NONE;
    }
}

/* With the lock held.  Starts one more thread if the limit allows; false if
 * none runs. */
static bool see_to_threads(groat__pool *pool)
{
    unsigned cores = groat__cores();
    unsigned most = cores > GROAT__POOL_THREADS ? GROAT__POOL_THREADS : cores;
    unsigned run = 0;

    join_ended(pool);
    for (unsigned i = 0; i < GROAT__POOL_THREADS; i++)
        run += pool->states[i] == STATE_RUNS;
    for (unsigned i = 0; i < most && run < most; i++)
        if (pool->states[i] == STATE_NONE)
            return start_thread(pool, i) || run > 0;
    return run > 0;
}

static groat_status enqueue(groat__pool *pool, groat_request *request,
                            groat_error *error)
{
    bool closing;
    bool served;

    (void)pthread_mutex_lock(&pool->lock);
    closing = pool->closing;
    served = !closing && see_to_threads(pool);
    if (served) {
        request->next = NULL;
        (void)atomic_fetch_add(&request->users, 1);
        if (pool->last == NULL)
            pool->first = request;
        else
            pool->last->next = request;
        pool->last = request;
    }
    (void)pthread_mutex_unlock(&pool->lock);
    if (closing)
        return groat__fail(
            error, GROAT_INVALID,
            "the context is being closed: no more kernels are made");
    return served ? GROAT_OK
                  : groat__fail(error, GROAT_NO_MEMORY,
                                "no thread could be started to make a kernel");
}

static void drop(groat_request *request)
{
    groat_error error = GROAT_ERROR_INIT;

    finish(request,
           groat__fail(&error, GROAT_INVALID,
                       "the context was closed before the kernel was begun"),
           NULL, GROAT_FROM_MEMORY, &error);
    groat_error_clear(&error);
    leave(request);
}

void groat__pool_stop(groat__pool *pool)
{
    groat_request *first;

    (void)pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    for (unsigned i = 0; i < GROAT__POOL_THREADS; i++) {
        if (pool->states[i] == STATE_NONE)
            continue;
        (void)pthread_mutex_unlock(&pool->lock);
        (void)pthread_join(pool->threads[i], NULL);
        (void)pthread_mutex_lock(&pool->lock);
        pool->states[i] = STATE_NONE;
    }
    first = pool->first;
    pool->first = pool->last = NULL;
    (void)pthread_mutex_unlock(&pool->lock);
    while (first != NULL) {
        groat_request *next = first->next;

        drop(first);
        first = next;
    }
}

void groat__pool_free(groat__pool *pool)
{
    groat__pool_stop(pool);
    (void)pthread_mutex_destroy(&pool->lock);
}

/* ---- the calls --------------------------------------------------------- */

/* If the kernel is in memory or the seal refuses it, the request is done at
 * once. */
static groat_status begin(groat_request *request, const groat_spec *spec,
                          groat_error *error)
{
    groat_context *context = spec->context;

    if (groat_kernel_lookup_spec(spec) == NULL &&
        !groat__seal_is_on(&context->seal))
        return enqueue(&context->pool, request, error);
    make(request, true);
    return GROAT_OK;
}

groat_status groat_kernel_start(groat_spec *spec, groat_kernel *fallback,
                                groat_request **out, groat_error *error)
{
    groat_request *request;
    groat_status status;

    if (!groat__is_usable(groat__spec_context(spec)))
        return groat__fail_unusable("spec", spec, error);
    if (fallback != NULL && fallback->context != spec->context)
        return groat__fail(error, GROAT_INVALID,
                           "the fallback is of another context");
    request = new_request(spec, fallback);
    if (request == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a request");
    status = begin(request, spec, error);
    if (status == GROAT_OK)
        *out = request;
    else
        leave(request);
    return status;
}

groat_kernel *groat_request_kernel(const groat_request *request)
{
    return request != NULL
               ? atomic_load_explicit(&request->now, memory_order_acquire)
               : NULL;
}

static const groat_context *context_of(const groat_request *request)
{
    return request != NULL ? request->context : NULL;
}

/* With the request's lock held: whether it is done within the timeout. */
static bool wait_until_done(groat_request *request, int timeout_ms)
{
    struct timespec end = groat__after_ms(timeout_ms < 0 ? 0 : timeout_ms);
    int rc = 0;

    while (!request->done && rc != ETIMEDOUT && timeout_ms != 0)
        rc = timeout_ms < 0
                 ? pthread_cond_wait(&request->landed, &request->lock)
                 : pthread_cond_timedwait(&request->landed, &request->lock,
                                          &end);
    return request->done;
}

/* A thread that waits inside a callback may be the one that the request waits
 * for, so it makes a queued request itself. */
static void help(groat_request *request)
{
    groat_context *context = request->context;

    if (!groat__callback_runs(&context->callbacks) ||
        !take_back(&context->pool, request))
        return;
    make(request, false);
    leave(request);
}

groat_status groat_request_wait(groat_request *request, int timeout_ms,
                                groat_kernel **out, groat_origin *origin,
                                groat_error *error)
{
    groat_status status;

    if (!groat__is_usable(context_of(request)))
        return groat__fail_unusable("request", request, error);
    if (timeout_ms != 0)
        help(request);
    (void)pthread_mutex_lock(&request->lock);
    if (!wait_until_done(request, timeout_ms)) {
        status = groat__fail(
            error, GROAT_TIMED_OUT,
            "the kernel is not ready after %d ms; it is still being made",
            timeout_ms);
    } else if ((status = request->status) != GROAT_OK) {
        groat__error_copy(error, &request->error);
    } else {
        if (origin != NULL)
            *origin = request->origin;
        if (out != NULL)
            *out = groat_kernel_retain(request->kernel);
    }
    (void)pthread_mutex_unlock(&request->lock);
    return status;
}

void groat_request_free(groat_request *request)
{
    if (groat__is_usable(context_of(request)))
        leave(request);
}
