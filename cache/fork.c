/* SPDX-License-Identifier: Apache-2.0
 *
 * fork.c closes the connections that a child of fork() has inherited, before it
 * opens one of its own.  The child never uses its parent's stores: their
 * contexts refuse each call (groat__is_usable(), base/process.c).
 *
 * SQLite keeps in memory which locks its process has on a file.  In a child
 * that is wrong: fork() copies the memory, not the locks.  A connection opened
 * beside an inherited one would rely on those locks and take none of its own.
 * Closing the inherited one is safe here:
 *
 *   locks    POSIX locks belong to a process: an unlock or close in the child
 *            ends only locks of the child, which has none
 *   writing  a close writes, and removes the -wal, only with a checkpoint,
 *            which is switched off
 *   memory   no call of the parent was in SQLite, which guard.c tells
 *
 * and test_fork.c asks the system for each lock.  If a thread of the parent was
 * in SQLite at the fork, SQLite's memory may hold half of a change, and one of
 * its mutexes may be held for ever: such a child, and its children, do without
 * SQLite.  A child also does without a file that the program has open by other
 * means.
 *
 * Locking: the list has a mutex, which a child initializes anew.
 */
#include "cache/internal.h"

#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"

/* The stores of this process, and inherited ones that could not be closed. */
static struct {
    pthread_mutex_t lock;
    atomic_int owner; /* of lock and stores, by its process number; less than
                       * 0 while it takes them over; 0: nobody yet */
    groat__store *first;
    atomic_bool broken; /* SQLite was in use when this process was forked */
} store_list = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Closes inherited stores; this process has opened none yet. */
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

/* Makes sure that lock and stores belong to this process. */
static void settle(void)
{
    int self = groat__process_number();
    int seen = atomic_load(&store_list.owner);

    while (seen != self) {
        if (seen == -self) {
            (void)sched_yield(); /* another thread does this */
            seen = atomic_load(&store_list.owner);
        } else if (atomic_compare_exchange_weak(&store_list.owner, &seen,
                                                -self)) {
            /* A thread of the parent may have held the lock. */
            (void)pthread_mutex_init(&store_list.lock, NULL);
            if (seen != 0)
                close_all();
            atomic_store(&store_list.owner, self);
            seen = self;
        }
    }
}

groat_status groat__sqlite_begin(groat_error *error)
{
    if (sqlite3_threadsafe() == 0)
        return groat__fail(error, GROAT_IO,
                           "this SQLite (%s) is built without threads",
                           sqlite3_libversion());
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
