/* SPDX-License-Identifier: Apache-2.0
 *
 * fork.c makes a store of a child process' own out of the copy that fork() left
 * it: the connection is closed without a look at the file and another is
 * opened, by the first call that the child makes.
 *
 * SQLite keeps in memory which locks its process has on a file.  In a child
 * that is wrong: fork() copies the memory, not the locks.  A second connection
 * beside the inherited one would believe in them, so that one goes first, and
 * without a checkpoint, which is all that closing would lock or write for.
 *
 * Invariant: pid is the process whose connection this is; -pid while it is made
 * so, or for good where that cannot be.  It cannot where a thread of the parent
 * was in a call of the store at the time: what is in memory is then half of a
 * change.  Kernels are kept in memory only; the next fork may have more luck.
 * Locking: the mutex; who changes pid to -pid alone decides.
 */
#include "cache/internal.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

/* Locked.  What the parent's threads, claims and uses are is the parent's. */
static void take_over(groat__store *store)
{
    if (store->db != NULL)
        groat__handle_keep_wal(store->db, true);
    groat__connection_close(store);
    groat__stamps_forget(store);
    store->lease.owner = 0;
    store->lease.held = 0;
    free(store->lease.renewer); /* its thread is not here */
    store->lease.renewer = NULL;
    /* Not destroyed: who waits at it is in the parent. */
    memset(&store->lease.bell, 0, sizeof(store->lease.bell));
    (void)groat__renewer_bell(&store->lease.bell);
    (void)groat__connection_ready(store, NULL);
}

static void say_lost(groat__store *store)
{
    if (!atomic_exchange(&store->fork_said, true))
        groat__log_line(&store->log, GROAT_LOG_WARNING,
                        "store %s: another thread used it during fork(), so "
                        "this child keeps kernels in memory only",
                        store->path);
}

bool groat__store_adopt(groat__store *store)
{
    int self = (int)getpid();
    int seen = atomic_load(&store->pid);

    while (seen != -self &&
           !atomic_compare_exchange_weak(&store->pid, &seen, -self))
        ;
    if (seen != -self && pthread_mutex_trylock(&store->mutex) == 0) {
        take_over(store);
        atomic_store(&store->pid, self);
        return true;
    }
    if (seen != -self) {
        atomic_store(&store->lost, self);
    } else {
        /* Another thread is at it. */
        while ((seen = atomic_load(&store->pid)) == -self &&
               atomic_load(&store->lost) != self)
            (void)sched_yield();
        if (seen == self) {
            (void)pthread_mutex_lock(&store->mutex);
            return true;
        }
    }
    say_lost(store);
    return false;
}
