/* SPDX-License-Identifier: Apache-2.0
 *
 * fork.c makes the stores of a child process its own out of the copies that
 * fork() left it: their connections are closed without a look at the file and
 * others are opened, all of them by the first call that the child makes.
 *
 * SQLite keeps in memory which locks its process has on a file.  In a child
 * that is wrong: fork() copies the memory, not the locks.  A connection that
 * were opened beside an inherited one would believe in them and take none of
 * its own, so leaving the inherited one alone, as SQLite advises, would mean to
 * do without the store: every child would compile for itself.  Closing it is
 * safe for what that does here:
 *
 *   locks    are the process' (POSIX): what the child unlocks or closes ends
 *            locks of the child, which has none
 *   writing  there is none without a checkpoint, which is switched off; nor is
 *            the file taken for unused, which only a checkpoint would find
 *   memory   no call of the parent is half done in it: they hold the mutex
 *
 * and test_fork.c asks the system for each lock.  SQLite's memory of a file
 * lasts as long as any connection to it, so all are closed before one is
 * opened: that is what the list of stores is for.  Where one stays, of the
 * program's own or of a store that cannot be closed, the file is given up.
 *
 * Invariant: pid is the process whose connection this is, or an ancestor where
 * this one cannot have its own.  It cannot where a thread of the parent was in
 * a call of the store at the time: what is in memory is then half of a change.
 * Kernels are kept in memory only; the next fork may have more luck.
 * Locking: the list's, which a child makes anew; then the store's.
 */
#include "cache/internal.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

/* The stores of this process. */
static struct {
    pthread_mutex_t lock;
    atomic_int pid; /* whose lock and stores these are; -pid while they are
                     * made so; 0: nobody's yet */
    groat__store *first;
} store_list = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Locked.  What the parent's threads, claims and uses are is the parent's. */
static void forget_parent(groat__store *store)
{
    groat__stamps_forget(store);
    store->lease.owner = 0;
    store->lease.held = 0;
    free(store->lease.renewer); /* its thread is not here */
    store->lease.renewer = NULL;
    /* Not destroyed: who waits at it is in the parent. */
    memset(&store->lease.bell, 0, sizeof(store->lease.bell));
    (void)groat__renewer_bell(&store->lease.bell);
}

/* The reason why it cannot be, or NULL, with the store locked. */
static const char *close_inherited(groat__store *store)
{
    if (pthread_mutex_trylock(&store->mutex) != 0)
        return "another thread used it";
    if (store->db != NULL)
        groat__handle_keep_wal(store->db, true);
    groat__connection_close(store);
    return NULL;
}

/* All stores; none is open in this process yet. */
static void adopt_all(int self)
{
    groat__store *s;

    for (s = store_list.first; s != NULL; s = s->next)
        s->lost_why = close_inherited(s);
    for (s = store_list.first; s != NULL; s = s->next) {
        if (s->lost_why != NULL || !groat__place_is_open(s->device, s->inode))
            continue;
        s->lost_why = "its file had another connection";
        (void)pthread_mutex_unlock(&s->mutex);
    }
    for (s = store_list.first; s != NULL; s = s->next) {
        if (s->lost_why != NULL)
            continue;
        forget_parent(s);
        (void)groat__connection_ready(s, NULL);
        atomic_store(&s->pid, self);
        /* What it has to say waits for the next call. */
        (void)pthread_mutex_unlock(&s->mutex);
    }
}

/* Sees to it that lock and stores are this process'. */
static void settle(void)
{
    int self = (int)getpid();
    int seen = atomic_load(&store_list.pid);

    while (seen != self) {
        if (seen == -self) {
            (void)sched_yield(); /* another thread is at it */
            seen = atomic_load(&store_list.pid);
        } else if (atomic_compare_exchange_weak(&store_list.pid, &seen,
                                                -self)) {
            /* A thread of the parent's may have held it. */
            memset(&store_list.lock, 0, sizeof(store_list.lock));
            (void)pthread_mutex_init(&store_list.lock, NULL);
            if (seen != 0)
                adopt_all(self);
            atomic_store(&store_list.pid, self);
            seen = self;
        }
    }
}

bool groat__store_may_open(const char *path)
{
    bool good = true;

    settle();
    (void)pthread_mutex_lock(&store_list.lock);
    for (groat__store *s = store_list.first; s != NULL; s = s->next)
        good = good && (atomic_load(&s->pid) == (int)getpid() ||
                        strcmp(s->path, path) != 0);
    (void)pthread_mutex_unlock(&store_list.lock);
    return good;
}

void groat__store_enlist(groat__store *store)
{
    (void)pthread_mutex_lock(&store_list.lock);
    store->next = store_list.first;
    store_list.first = store;
    (void)pthread_mutex_unlock(&store_list.lock);
}

void groat__store_delist(groat__store *store)
{
    groat__store **at = &store_list.first;

    (void)pthread_mutex_lock(&store_list.lock);
    while (*at != store)
        at = &(*at)->next;
    *at = store->next;
    (void)pthread_mutex_unlock(&store_list.lock);
}

static void say_lost(groat__store *store)
{
    if (!atomic_exchange(&store->fork_said, true))
        groat__log_line(&store->log, GROAT_LOG_WARNING,
                        "store %s: %s during fork(), so this child keeps "
                        "kernels in memory only",
                        store->path, store->lost_why);
}

bool groat__store_adopt(groat__store *store)
{
    settle();
    if (atomic_load(&store->pid) == (int)getpid()) {
        (void)pthread_mutex_lock(&store->mutex);
        return true;
    }
    say_lost(store);
    return false;
}
