/* SPDX-License-Identifier: Apache-2.0
 *
 * apart.c runs exchanges on a separate thread while the caller's thread checks
 * and stores the answers; when that falls behind, the separate thread checks.
 *
 * Locking: apart->lock around the ring; not held during an exchange, nor while
 * the caller's done() runs.
 */
#include "fleet/remote.h"

#include "base/thread.h"

enum { RING = 64 /* exchanges that are done but not yet reported */ };

/* An exchange that is done. */
typedef struct item {
    groat__exchange *exchange;
    bool checked;
} item;

typedef struct apart {
    groat__remote *remote;
    void (*check)(void *user, groat__exchange *x);
    const groat__batch *batch;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    item ring[RING];
    size_t first, count;
    bool over;
} apart;

static bool is_behind(apart *a)
{
    bool behind;

    (void)pthread_mutex_lock(&a->lock);
    behind = a->count > 0;
    (void)pthread_mutex_unlock(&a->lock);
    return behind;
}

/* Runs on the thread of the exchanges; waits while the ring is full. */
static void push(void *user, groat__exchange *x)
{
    apart *a = user;
    item done = {x, is_behind(a)};

    if (done.checked)
        a->check(a->batch->user, x);
    (void)pthread_mutex_lock(&a->lock);
    while (a->count == RING)
        (void)pthread_cond_wait(&a->changed, &a->lock);
    a->ring[(a->first + a->count++) % RING] = done;
    (void)pthread_cond_broadcast(&a->changed);
    (void)pthread_mutex_unlock(&a->lock);
}

/* Returns the next finished exchange, checked; NULL after the last one. */
static groat__exchange *pop(apart *a)
{
    item next = {NULL, true};

    if (a->batch->idle != NULL && !is_behind(a))
        a->batch->idle(a->batch->user);
    (void)pthread_mutex_lock(&a->lock);
    while (a->count == 0 && !a->over)
        (void)pthread_cond_wait(&a->changed, &a->lock);
    if (a->count > 0) {
        next = a->ring[a->first];
        a->first = (a->first + 1) % RING;
        a->count--;
        (void)pthread_cond_broadcast(&a->changed);
    }
    (void)pthread_mutex_unlock(&a->lock);
    if (!next.checked)
        a->check(a->batch->user, next.exchange);
    return next.exchange;
}

static void *run(void *user)
{
    apart *a = user;
    groat__batch batch = *a->batch;

    batch.done = push;
    batch.user = a;
    groat__remote_run(a->remote, &batch);
    (void)pthread_mutex_lock(&a->lock);
    a->over = true;
    (void)pthread_cond_broadcast(&a->changed);
    (void)pthread_mutex_unlock(&a->lock);
    return NULL;
}

void groat__remote_run_apart(groat__remote *remote, const groat__batch *batch,
                             void (*check)(void *user, groat__exchange *x))
{
    apart a = {.remote = remote,
               .check = check,
               .batch = batch,
               .lock = PTHREAD_MUTEX_INITIALIZER,
               .changed = PTHREAD_COND_INITIALIZER};
    groat__exchange *x;
    pthread_t thread;

    if (batch->count == 0)
        return;
    if (!groat__thread_start(&thread, run, &a)) {
        groat__batch_fail(batch, "no thread for exchanges");
        return;
    }
    while ((x = pop(&a)) != NULL)
        batch->done(batch->user, x);
    (void)pthread_join(thread, NULL);
}
