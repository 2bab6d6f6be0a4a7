/* SPDX-License-Identifier: Apache-2.0
 *
 * lease.c sees to it that of all processes that miss a key one compiles it and
 * the others wait for its binary.  Whether a holder lives is holder.c's, that
 * its rows are renewed meanwhile renew.c's.
 *
 * A lease is a row of its own: it says who compiles, and when it was last
 * renewed.  A put takes the row away in the transaction that brings the entry,
 * so a waiter that finds neither knows that nothing came of it.  A holder that
 * is gone, or has not renewed its row for stale_ms, loses it to the first that
 * asks: the row must still be the one that was judged, within a transaction.
 *
 * Invariant: a lease only saves work.  No wait is longer than wait_ms, whoever
 * holds what; and where leases cannot be kept at all, each compiles its own.
 * Time is that of a clock nobody can set.  A waiter goes by how long a row has
 * looked the same to itself; the time in it only makes that shorter, and only
 * within one boot, so that a wrong one costs a compile at worst.
 * Locking: the store is locked for each look and unlocked for each nap.
 */
#include "cache/internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

typedef struct lease {
    int64_t owner;
    int64_t beat;
    groat__holder holder;
} lease;

/* One caller that wants a key. */
typedef struct wish {
    const groat__digest *key;
    const char *identity;
    groat__store_blob *out;
    int64_t id;
    int64_t start;
    lease seen;      /* the lease that it waits for, */
    int64_t seen_at; /* and since when that has looked the same */
    bool waited;
    unsigned finds; /* entries that were there, and bad */
} wish;

enum { FINDS_MAX = 3, NAP_MAX_MS = 20 };

int64_t groat__lease_now(void)
{
    return (int64_t)(groat__now_ns() / 1000000);
}

/* Locked.  Who this store is to others; found out when first needed. */
static void introduce(groat__store *store)
{
    if (store->lease.owner != 0)
        return;
    groat__holder_self(&store->lease.self);
    if (getrandom(&store->lease.owner, sizeof(store->lease.owner),
                  GRND_NONBLOCK) != (ssize_t)sizeof(store->lease.owner))
        store->lease.owner = groat__lease_now() << 24 ^ store->lease.self.pid ^
                             (int64_t)(uintptr_t)store;
    store->lease.owner |= 1;
}

static int read_lease(groat__store *store, int64_t id, lease *out, bool *found)
{
    sqlite3_stmt *select = store->statements[GROAT__SQL_LEASE];
    const unsigned char *boot;
    int rc;

    memset(out, 0, sizeof(*out));
    (void)sqlite3_bind_int64(select, 1, id);
    rc = sqlite3_step(select);
    *found = rc == SQLITE_ROW;
    if (*found) {
        boot = sqlite3_column_text(select, 1);
        (void)snprintf(out->holder.boot, sizeof(out->holder.boot), "%s",
                       boot == NULL ? "" : (const char *)boot);
        out->owner = sqlite3_column_int64(select, 0);
        out->holder.space = sqlite3_column_int64(select, 2);
        out->holder.pid = sqlite3_column_int64(select, 3);
        out->holder.started = sqlite3_column_int64(select, 4);
        out->beat = sqlite3_column_int64(select, 5);
    }
    (void)sqlite3_reset(select);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static bool same_lease(const lease *a, const lease *b)
{
    return a->owner == b->owner && a->beat == b->beat;
}

/* Whether the holder of this lease has lost it. */
static bool is_lost(const groat__store *store, wish *w, const lease *row)
{
    const groat__holder *self = &store->lease.self;
    int64_t stale = store->lease.stale_ms;
    int64_t now = groat__lease_now();

    if (!same_lease(&w->seen, row)) {
        w->seen = *row;
        w->seen_at = now;
    }
    if (now - w->seen_at >= stale)
        return true;
    if (strcmp(row->holder.boot, self->boot) == 0 && row->beat >= 0 &&
        row->beat <= now && now - row->beat >= stale)
        return true;
    return groat__holder_life(self, &row->holder) == GROAT__LIFE_GONE;
}

static int write_claim(groat__store *store, int64_t id)
{
    sqlite3_stmt *forget = store->statements[GROAT__SQL_FORGET];
    sqlite3_stmt *claim = store->statements[GROAT__SQL_CLAIM];
    const groat__holder *self = &store->lease.self;
    int64_t now = groat__lease_now();
    int rc;

    (void)sqlite3_bind_text(forget, 1, self->boot, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(forget, 2, now - store->lease.wait_ms);
    rc = groat__handle_run(forget);
    (void)sqlite3_bind_int64(claim, 1, id);
    (void)sqlite3_bind_int64(claim, 2, store->lease.owner);
    (void)sqlite3_bind_text(claim, 3, self->boot, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(claim, 4, self->space);
    (void)sqlite3_bind_int64(claim, 5, self->pid);
    (void)sqlite3_bind_int64(claim, 6, self->started);
    (void)sqlite3_bind_int64(claim, 7, now);
    return rc == SQLITE_OK ? groat__handle_run(claim) : rc;
}

/* What one look gives. */
typedef enum step {
    STEP_NAP,   /* another holds the key */
    STEP_AGAIN, /* something has changed meanwhile */
    STEP_HELD,
    STEP_FOUND,
    STEP_ALONE /* nobody to wait for, no lease to be had */
} step;

/* Within a transaction, and only here, it is sure that neither an entry nor
 * another lease than the lost one (NULL: none) is there. */
static int take(groat__store *store, wish *w, const lease *lost, bool *entry,
                step *out)
{
    sqlite3_stmt *get = store->statements[GROAT__SQL_GET];
    bool found = false;
    lease row;
    int rc = groat__handle_run(store->statements[GROAT__SQL_BEGIN]);

    if (rc != SQLITE_OK)
        return rc;
    (void)sqlite3_bind_int64(get, 1, w->id);
    rc = sqlite3_step(get);
    *entry = rc == SQLITE_ROW;
    rc = sqlite3_reset(get);
    if (rc == SQLITE_OK)
        rc = read_lease(store, w->id, &row, &found);
    *out = STEP_AGAIN;
    if (rc == SQLITE_OK && !*entry &&
        (!found || (lost != NULL && same_lease(lost, &row)))) {
        *out = STEP_HELD;
        rc = write_claim(store, w->id);
    }
    if (rc == SQLITE_OK)
        rc = groat__handle_run(store->statements[GROAT__SQL_COMMIT]);
    return rc;
}

/* Locked: the winner's binary, if it is there. */
static step find(groat__store *store, wish *w)
{
    if (groat__store_find(store, w->key, w->identity, w->out))
        return STEP_FOUND;
    /* A bad one, which is dropped now. */
    return ++w->finds < FINDS_MAX && !w->waited ? STEP_AGAIN : STEP_ALONE;
}

static step nap_or_give_up(groat__store *store, wish *w)
{
    long long pid = (long long)w->seen.holder.pid;

    if (!w->waited) {
        GROAT__PROBE2(lease__wait, store->path, pid);
        store->lease.waits++;
    }
    w->waited = true;
    if (groat__lease_now() - w->start < store->lease.wait_ms)
        return STEP_NAP;
    store->lease.timeouts++;
    groat__store_say(store, GROAT__NOTE_LATE,
                     "process %lld compiles a kernel for more than %d ms; it "
                     "is compiled here, too; said once",
                     pid, store->lease.wait_ms);
    return STEP_ALONE;
}

static void note_takeover(groat__store *store, const lease *lost)
{
    store->lease.takeovers++;
    groat__store_say(store, GROAT__NOTE_LOST,
                     "process %lld began to compile a kernel and is gone or "
                     "stopped; it is compiled here; said once",
                     (long long)lost->holder.pid);
}

/* Locked. */
static step look(groat__store *store, wish *w)
{
    step result = STEP_ALONE;
    bool entry = false;
    bool found = false;
    lease row;
    int rc = read_lease(store, w->id, &row, &found);

    if (rc == SQLITE_OK && found && !is_lost(store, w, &row))
        return nap_or_give_up(store, w);
    /* It is gone: with an entry in its place, or nothing came of it. */
    if (rc == SQLITE_OK && !found && w->waited)
        return find(store, w);
    if (rc == SQLITE_OK)
        rc = take(store, w, found ? &row : NULL, &entry, &result);
    if (rc != SQLITE_OK) {
        (void)groat__connection_fault(store, rc, "claiming a key");
        return STEP_ALONE;
    }
    if (entry)
        return find(store, w);
    if (result == STEP_HELD) {
        if (found)
            note_takeover(store, &row);
        store->lease.held++;
        groat__renewer_start(store);
    }
    return result;
}

/* Longer and longer, but never much of what the wait has taken already. */
static void nap(const wish *w)
{
    int64_t ms = (groat__lease_now() - w->start) / 16;
    struct timespec t = {0, 1000000};

    if (ms > 1)
        t.tv_nsec *= ms > NAP_MAX_MS ? NAP_MAX_MS : (long)ms;
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

groat__claim groat__store_claim(groat__store *store, const groat__digest *key,
                                const char *identity, groat__store_blob *out)
{
    groat__store_blob blob = {0};
    wish w = {key, identity, &blob, groat__row_id(key), groat__lease_now(), {0},
              0,   false,    0};
    step at = STEP_AGAIN;

    while (at == STEP_NAP || at == STEP_AGAIN) {
        if (at == STEP_NAP)
            nap(&w);
        if (!groat__store_enter(store))
            return GROAT__CLAIM_NONE;
        introduce(store);
        if (groat__connection_ready(store, NULL) != GROAT_OK ||
            store->read_only)
            at = STEP_ALONE;
        else
            at = look(store, &w);
        groat__store_leave(store);
    }
    if (at == STEP_FOUND)
        *out = blob;
    return at == STEP_FOUND  ? GROAT__CLAIM_FOUND
           : at == STEP_HELD ? GROAT__CLAIM_HELD
                             : GROAT__CLAIM_NONE;
}

/* Locked: what a put has not taken away. */
static void give_back(groat__store *store, int64_t id)
{
    bool found = false;
    lease row;
    int rc;

    if (store->db == NULL || store->read_only)
        return;
    rc = read_lease(store, id, &row, &found);
    if (rc == SQLITE_OK && found && row.owner == store->lease.owner)
        rc = groat__lease_drop(store, id, &store->lease.owner);
    if (rc != SQLITE_OK)
        (void)groat__connection_fault(store, rc, "giving a lease back");
}

void groat__store_release(groat__store *store, const groat__digest *key)
{
    groat__renewer *idle = NULL;

    if (!groat__store_enter(store))
        return;
    give_back(store, groat__row_id(key));
    if (--store->lease.held == 0)
        idle = groat__renewer_stop(store);
    groat__store_leave(store);
    groat__renewer_join(idle);
}

int groat__lease_drop(groat__store *store, int64_t id, const int64_t *owner)
{
    sqlite3_stmt *drop = store->statements[GROAT__SQL_RELEASE];

    (void)sqlite3_clear_bindings(drop);
    (void)sqlite3_bind_int64(drop, 1, id);
    if (owner != NULL)
        (void)sqlite3_bind_int64(drop, 2, *owner);
    return groat__handle_run(drop);
}
