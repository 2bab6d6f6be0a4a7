/* SPDX-License-Identifier: Apache-2.0
 *
 * background.c writes entries to a remote in the background, and tries a place
 * whose breaker is open.
 *
 * Invariant: the thread runs while entries wait or a breaker is open; it takes
 * no signal.  Closing waits for GROAT__REMOTE_WRITE_MS four times at most: for
 * the write in progress, for the queue, for the last write that began in that
 * time, and for giving back leases.
 * Locking: remote->lock around the list; it is not held during an exchange.
 */
#include "fleet/remote.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"

/* A copy of an entry. */
struct groat__waiting {
    groat__waiting *next;
    groat__entry entry;
    size_t wanted;
    size_t bytes;
    bool leased; /* give back the key's lease afterwards */
    char memory[];
};

static groat__waiting *copy_entry(const groat__entry *entry, size_t wanted)
{
    size_t identity = strlen(entry->identity) + 1;
    size_t log = strlen(entry->log) + 1;
    size_t bytes = identity + log + entry->bytes;
    groat__waiting *w = malloc(sizeof(*w) + bytes);

    if (w == NULL)
        return NULL;
    *w = (groat__waiting){.entry = *entry, .wanted = wanted, .bytes = bytes};
    memcpy(w->memory, entry->identity, identity);
    memcpy(w->memory + identity, entry->log, log);
    if (entry->bytes > 0)
        memcpy(w->memory + identity + log, entry->data, entry->bytes);
    w->entry.identity = w->memory;
    w->entry.log = w->memory + identity;
    w->entry.data = w->memory + identity + log;
    return w;
}

/* ---- the thread -------------------------------------------------------- */

/* Locked. */
static groat__waiting *take_first(groat__remote *remote)
{
    groat__waiting *w = remote->first;

    if (w == NULL)
        return NULL;
    remote->first = w->next;
    if (remote->first == NULL)
        remote->last = NULL;
    remote->waiting--;
    remote->waiting_bytes -= w->bytes;
    return w;
}

static void count_sent(void *user, const char *name, groat__outcome outcome,
                       const char *why)
{
    groat__remote *remote = user;

    (void)name;
    (void)why;
    if (outcome == GROAT__OBJECT_DONE)
        (void)atomic_fetch_add(&remote->puts, 1);
    else if (outcome != GROAT__OBJECT_THERE)
        (void)atomic_fetch_add(&remote->put_failures, 1);
}

static void write_one(groat__remote *remote, const groat__waiting *w)
{
    groat__sender sender = {.remote = remote,
                            .budget_ms = GROAT__REMOTE_WRITE_MS,
                            .fn = count_sent,
                            .user = remote};

    if (groat__sender_add(&sender, &w->entry, w->wanted, NULL) != GROAT_OK)
        (void)atomic_fetch_add(&remote->put_failures, 1);
    (void)groat__sender_end(&sender, NULL);
    if (w->leased)
        groat__lease_give(remote->lease, &w->entry.key);
}

/* Probes with a name that is never written: any answer will do. */
static void try_place(groat__remote *remote)
{
    groat__exchange x = {.verb = GROAT__OBJECT_HEAD, .name = "v1/probe"};

    if (!groat__breaker_may_try(remote->breaker, GROAT__BREAKER_TRY_MS))
        return;
    groat__remote_ask(remote, &x, GROAT__REMOTE_BUDGET_MS);
    if (x.outcome == GROAT__OBJECT_LATE || x.outcome == GROAT__OBJECT_FAILED ||
        x.outcome == GROAT__OBJECT_UNTRIED) {
        (void)groat__remote_judge(remote, &x, GROAT__REMOTE_BUDGET_MS);
        groat__breaker_extend(remote->breaker);
    } else {
        groat__breaker_close(remote->breaker);
        groat__log_line(&remote->log, GROAT_LOG_INFO, "remote %s is used again",
                        remote->place.shown);
    }
    groat__exchange_free(&x);
}

/* The next task of the thread. */
typedef enum task { NOTHING, WRITE, TRY_PLACE, TRY_LEASES, SLEEP } task;

/* The shorter of two waits, where -1 is none. */
static double sooner(double a, double b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* Locked. */
static task next_task(groat__remote *remote, double *end_ms, double *sleep)
{
    double place = groat__breaker_wait_ms(remote->breaker);
    double leases =
        remote->lease == NULL ? -1 : groat__lease_wait_ms(remote->lease);
    bool writes = remote->first != NULL && place < 0;

    if (remote->closing && *end_ms == 0)
        *end_ms = groat__now_ms() + GROAT__REMOTE_WRITE_MS;
    if (remote->closing)
        return writes && groat__now_ms() < *end_ms ? WRITE : NOTHING;
    if (writes)
        return WRITE;
    *sleep = sooner(place, leases);
    return *sleep < 0   ? NOTHING
           : *sleep > 0 ? SLEEP
           : place == 0 ? TRY_PLACE
                        : TRY_LEASES;
}

static void do_unlocked(groat__remote *remote, task what)
{
    groat__waiting *w = what == WRITE ? take_first(remote) : NULL;

    remote->writing = w != NULL;
    (void)pthread_mutex_unlock(&remote->lock);
    if (what == WRITE)
        write_one(remote, w);
    else if (what == TRY_PLACE)
        try_place(remote);
    else
        groat__lease_try(remote->lease);
    free(w);
    (void)pthread_mutex_lock(&remote->lock);
    remote->writing = 0;
}

static void *work(void *user)
{
    groat__remote *remote = user;
    double end_ms = 0;
    double ms = 0;
    const char *why;
    task what;

    /* Opens libcurl before another thread has to wait for it. */
    if (remote->place.kind != GROAT__PLACE_FOLDER)
        (void)groat__remote_http(remote, &why);
    (void)pthread_mutex_lock(&remote->lock);
    while ((what = next_task(remote, &end_ms, &ms)) != NOTHING)
        if (what == SLEEP)
            groat__remote_sleep(remote, ms);
        else
            do_unlocked(remote, what);
    remote->runs = false;
    (void)pthread_mutex_unlock(&remote->lock);
    return NULL;
}

/* Locked.  Starts the thread, or wakes it: it may be asleep until a breaker of
 * the place or of the leases lets it try again. */
static void rouse_thread(groat__remote *remote)
{
    (void)pthread_cond_broadcast(&remote->changed);
    if (remote->runs || remote->closing)
        return;
    if (remote->joinable)
        (void)pthread_join(remote->thread, NULL);
    remote->runs = groat__thread_start(&remote->thread, work, remote);
    remote->joinable = remote->runs;
}

void groat__background_wake(groat__remote *remote)
{
    (void)pthread_mutex_lock(&remote->lock);
    rouse_thread(remote);
    (void)pthread_mutex_unlock(&remote->lock);
}

void groat__background_stop(groat__remote *remote)
{
    double end_ms;
    groat__waiting *w;
    bool joinable;

    (void)pthread_mutex_lock(&remote->lock);
    remote->closing = true;
    joinable = remote->joinable;
    remote->joinable = false;
    (void)pthread_cond_broadcast(&remote->changed);
    (void)pthread_mutex_unlock(&remote->lock);
    if (joinable)
        (void)pthread_join(remote->thread, NULL);
    end_ms = groat__now_ms() + GROAT__REMOTE_WRITE_MS;
    while ((w = take_first(remote)) != NULL) {
        if (w->leased && groat__now_ms() < end_ms) /* else it expires */
            groat__lease_give(remote->lease, &w->entry.key);
        (void)atomic_fetch_add(&remote->put_drops, 1);
        free(w);
    }
}

/* ---- offers ------------------------------------------------------------ */

/* Locked.  Returns false if there is no room. */
static bool enqueue(groat__remote *remote, groat__waiting *w)
{
    rouse_thread(remote);
    if (!remote->runs || remote->waiting >= GROAT__REMOTE_QUEUE ||
        remote->waiting_bytes + w->bytes > GROAT__REMOTE_QUEUE_BYTES)
        return false;
    if (remote->last == NULL)
        remote->first = w;
    else
        remote->last->next = w;
    remote->last = w;
    remote->waiting++;
    remote->waiting_bytes += w->bytes;
    return true;
}

void groat__remote_offer(groat__remote *remote, const groat__entry *entry,
                         size_t wanted, bool leased)
{
    groat__waiting *w = NULL;
    bool fits = false;

    if (remote->writes && groat__breaker_is_closed(remote->breaker))
        w = copy_entry(entry, wanted);
    if (w != NULL) {
        w->leased = leased;
        groat__absent_forget(&remote->absent, &entry->key);
        (void)pthread_mutex_lock(&remote->lock);
        fits = enqueue(remote, w);
        (void)pthread_mutex_unlock(&remote->lock);
    }
    if (fits)
        return;
    if (remote->writes)
        (void)atomic_fetch_add(&remote->put_drops, 1);
    if (leased)
        groat__lease_give(remote->lease, &entry->key);
    free(w);
}
