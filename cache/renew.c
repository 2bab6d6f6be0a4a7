/* SPDX-License-Identifier: Apache-2.0
 *
 * renew.c owns the thread that renews a store's leases: a compiler that runs in
 * the calling thread cannot be interrupted to do so.  The thread is there only
 * while the store holds a lease, and is joined by the call that gives the last
 * one back, so that none outlives the compile it stands for.
 *
 * Invariant: the thread takes no signal, calls nobody back and logs nothing
 * (what it has to say is logged by the next call of the store).  If it cannot
 * be started, or the file is locked, leases grow stale and others take them
 * over: a compile more, nothing else.
 * Locking: the store's mutex; its bell wakes the thread to end.
 */
#include "cache/internal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

/* SQLite needs some 20 KiB of it, a sanitizer more. */
enum { STACK_BYTES = 512 << 10 };

struct groat__renewer {
    groat__store *store;
    pthread_t thread;
    bool stop;
};

static struct timespec after_ms(int ms)
{
    struct timespec t = {0, 0};
    int64_t ns;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    ns = t.tv_nsec + (int64_t)ms * 1000000;
    t.tv_sec += (time_t)(ns / 1000000000);
    t.tv_nsec = (long)(ns % 1000000000);
    return t;
}

/* Locked.  A file that others keep locked is tried again at the next beat. */
static void renew_all(groat__store *store)
{
    sqlite3_stmt *renew = store->statements[GROAT__SQL_RENEW];
    bool impatient = store->impatient;
    int rc;

    if (store->db == NULL || renew == NULL)
        return;
    groat__connection_hurry(store, true);
    (void)sqlite3_bind_int64(renew, 1, store->lease.owner);
    (void)sqlite3_bind_int64(renew, 2, groat__lease_now());
    rc = groat__handle_run(renew);
    groat__connection_hurry(store, impatient);
    if (rc != SQLITE_OK && (rc & 0xff) != SQLITE_BUSY)
        (void)groat__connection_fault(store, rc, "renewing a lease");
}

static void *work(void *user)
{
    groat__renewer *self = user;
    groat__store *store = self->store;
    struct timespec next = after_ms(store->lease.beat_ms);

    (void)pthread_mutex_lock(&store->mutex);
    while (!self->stop) {
        int rc =
            pthread_cond_timedwait(&store->lease.bell, &store->mutex, &next);

        if (self->stop || rc != ETIMEDOUT)
            continue;
        renew_all(store);
        next = after_ms(store->lease.beat_ms);
    }
    (void)pthread_mutex_unlock(&store->mutex);
    return NULL;
}

/* As pthread_create, but the thread is small and takes no signal. */
static int start_quietly(groat__renewer *renewer)
{
    pthread_attr_t attributes;
    sigset_t before;
    sigset_t all;
    int rc = pthread_attr_init(&attributes);

    if (rc != 0)
        return rc;
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&renewer->thread, &attributes, work, renewer);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return rc;
}

void groat__renewer_start(groat__store *store)
{
    groat__renewer *renewer;

    if (store->lease.renewer != NULL)
        return;
    renewer = calloc(1, sizeof(*renewer));
    if (renewer == NULL)
        return;
    renewer->store = store;
    if (start_quietly(renewer) == 0)
        store->lease.renewer = renewer;
    else
        free(renewer);
}

groat__renewer *groat__renewer_stop(groat__store *store)
{
    groat__renewer *renewer = store->lease.renewer;

    if (renewer == NULL)
        return NULL;
    store->lease.renewer = NULL;
    renewer->stop = true;
    (void)pthread_cond_broadcast(&store->lease.bell);
    return renewer;
}

void groat__renewer_join(groat__renewer *renewer)
{
    if (renewer == NULL)
        return;
    (void)pthread_join(renewer->thread, NULL);
    free(renewer);
}

bool groat__renewer_bell(pthread_cond_t *bell)
{
    pthread_condattr_t attributes;
    int rc = pthread_condattr_init(&attributes);

    if (rc != 0)
        return false;
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    rc = pthread_cond_init(bell, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return rc == 0;
}
