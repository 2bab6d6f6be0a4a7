/* SPDX-License-Identifier: Apache-2.0
 *
 * fork.c closes the connections that a child of fork() has inherited, before it
 * opens one of its own.  The child never uses its parent's stores: their
 * contexts refuse each call (core/context.c).
 *
 * SQLite keeps in memory which locks its process has on a file.  In a child
 * that is wrong: fork() copies the memory, not the locks.  A connection that
 * were opened beside an inherited one would believe in them and take none of
 * its own.  Closing the inherited one is safe for what that does here:
 *
 *   locks    are the process' (POSIX): what the child unlocks or closes ends
 *            locks of the child, which has none
 *   writing  there is none without a checkpoint, which is switched off; nor is
 *            the file taken for unused, which only a checkpoint would find
 *   memory   no call of the parent is half done in it: they hold the mutex
 *
 * and test_fork.c asks the system for each lock.  Where a thread of the parent
 * was in SQLite at the fork, what that has in memory is half of a change, and a
 * lock of it may be held for ever: such a child, and its children, do without
 * SQLite, which is what the count of guard.c is for.  They also do without a
 * file that the program has open by other means.
 *
 * Locking: the list's, which a child makes anew.
 */
#include "cache/internal.h"

#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

/* The stores of this process, and those inherited ones that stay. */
static struct {
    pthread_mutex_t lock;
    atomic_int pid; /* whose lock and stores these are; -pid while they are
                     * made so; 0: nobody's yet */
    groat__store *first;
    atomic_bool broken; /* one was, when this process was forked */
} store_list = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* No store is open in this process yet. */
static void close_all(void)
{
    groat__store **at = &store_list.first;
    bool broken = groat__sqlite_is_used();
    groat__store *s;

    atomic_store(&store_list.broken, broken);
    for (s = store_list.first; s != NULL; s = s->next) {
        s->inherited = true;
        groat__claims_close(s); /* or this copy would keep the claims alive */
        if (broken)
            continue;
        if (s->db != NULL)
            groat__handle_keep_wal(s->db, true);
        groat__connection_close(s);
    }
    while ((s = *at) != NULL) {
        if (broken || groat__place_is_open(s->device, s->inode))
            at = &s->next;
        else
            *at = s->next;
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
                close_all();
            atomic_store(&store_list.pid, self);
            seen = self;
        }
    }
}

groat_status groat__sqlite_begin(groat_error *error)
{
    settle();
    if (atomic_load(&store_list.broken))
        return groat__fail(error, GROAT_IO,
                           "a thread was inside SQLite during fork(); the "
                           "child keeps kernels in memory only");
    groat__sqlite_enter();
    return GROAT_OK;
}

groat_status groat__store_may_open(const char *path, groat_error *error)
{
    groat_status status = GROAT_OK;

    (void)pthread_mutex_lock(&store_list.lock);
    for (groat__store *s = store_list.first; s != NULL; s = s->next)
        if (s->inherited && strcmp(s->path, path) == 0)
            status = groat__fail(
                error, GROAT_IO,
                "%s was opened by other code of this process before fork()",
                path);
    (void)pthread_mutex_unlock(&store_list.lock);
    return status;
}

groat_status groat__store_is_not(const char *path, groat_error *error)
{
    bool found = false;
    struct stat st;

    if (stat(path, &st) != 0)
        return GROAT_OK;
    settle();
    (void)pthread_mutex_lock(&store_list.lock);
    for (groat__store *s = store_list.first; s != NULL && !found; s = s->next) {
        if (s->inherited)
            continue;
        (void)pthread_mutex_lock(&s->mutex);
        found = s->device == st.st_dev && s->inode == st.st_ino;
        (void)pthread_mutex_unlock(&s->mutex);
    }
    (void)pthread_mutex_unlock(&store_list.lock);
    return found ? groat__fail(error, GROAT_IO,
                               "%s is a store that is in use; name another "
                               "file",
                               path)
                 : GROAT_OK;
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
