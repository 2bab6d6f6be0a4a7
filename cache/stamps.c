/* SPDX-License-Identifier: Apache-2.0
 *
 * stamps.c owns the times and counts of uses: the clock, and the stamps that
 * are buffered in memory until a call of store.c or gc.c that writes anyway
 * writes them, too.
 *
 * Invariant: a hit writes nothing, however many there are.  A row's stamp has
 * a few possible slots; if all are taken, it replaces the oldest stamp, so that
 * a store keeps the newest stamps in a table that never grows.  Stamps are
 * hints: a lost one makes a row look older and less used than it is.
 * Locking: the calls of internal.h are made with the store locked.
 */
#include "cache/internal.h"

#include <string.h>
#include <time.h>

int64_t groat__stamp_now(groat__store *store)
{
    struct timespec now = {0, 0};
    int64_t us;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    /* The order of uses must not depend on the clock's resolution. */
    if (us <= store->last_us)
        us = store->last_us + 1;
    store->last_us = us;
    return us;
}

/* Returns the slot of a row's stamp, else the slot it would take: a free one or
 * the oldest. */
static groat__stamp *place_of(groat__store *store, int64_t id)
{
    const size_t sets = GROAT__STORE_SLOTS / GROAT__STORE_WAYS;
    groat__stamp *set = &store->stamps[(uint64_t)id % sets * GROAT__STORE_WAYS];
    groat__stamp *place = set;

    for (size_t i = 0; i < GROAT__STORE_WAYS; i++) {
        if (set[i].used != 0 && set[i].id == id)
            return &set[i];
        if (set[i].used < place->used)
            place = &set[i];
    }
    return place;
}

static groat__stamp *use(groat__store *store, int64_t id)
{
    groat__stamp *place = place_of(store, id);

    if (place->used == 0 || place->id != id)
        *place = (groat__stamp){.id = id, .first_us = -1};
    place->used = groat__stamp_now(store);
    place->uses++;
    store->stamped = true;
    return place;
}

void groat__stamp_use(groat__store *store, int64_t id)
{
    (void)use(store, id);
}

void groat__store_first(groat__store *store, const groat__digest *key,
                        double ms)
{
    double us = ms * 1000;
    groat__stamp *place;

    groat__store_enter(store);
    place = use(store, groat__row_id(key));
    if (place->first_us < 0 && us >= 0 && us < 1e15)
        place->first_us = (int64_t)us;
    groat__store_leave(store);
}

int64_t groat__stamp_of(groat__store *store, int64_t id)
{
    const groat__stamp *place = place_of(store, id);

    return place->id == id ? place->used : 0;
}

int groat__uses_of(groat__store *store, int64_t id, uint64_t *uses,
                   double *first_ms)
{
    sqlite3_stmt *select;
    const groat__stamp *place = place_of(store, id);
    int64_t written = 0;
    int64_t first = -1;
    int rc = groat__connection_statement(store, GROAT__SQL_USES, &select);

    if (rc == SQLITE_OK) {
        (void)sqlite3_bind_int64(select, 1, id);
        rc = sqlite3_step(select);
    } else if (store->read_only) {
        rc = SQLITE_DONE; /* an older schema, without uses */
    }
    if (rc == SQLITE_ROW) {
        written = sqlite3_column_int64(select, 0);
        first = sqlite3_column_int64(select, 1);
    }
    (void)sqlite3_reset(select);
    if (place->used != 0 && place->id == id) {
        written = written < 0 ? 0 : written;
        written += written < INT64_MAX / 2 ? place->uses : 0;
        first = first < 0 ? place->first_us : first;
    }
    *uses = written < 0 ? 0 : (uint64_t)written;
    *first_ms = first < 0 ? -1 : (double)first / 1000;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int write_one(groat__store *store, const groat__stamp *at)
{
    sqlite3_stmt *stamp;
    sqlite3_stmt *count;
    int rc = groat__connection_statement(store, GROAT__SQL_STAMP, &stamp);

    if (rc == SQLITE_OK)
        rc = groat__connection_statement(store, GROAT__SQL_COUNT, &count);
    if (rc != SQLITE_OK)
        return rc;
    (void)sqlite3_bind_int64(stamp, 1, at->id);
    (void)sqlite3_bind_int64(stamp, 2, at->used);
    rc = groat__handle_run(stamp);
    (void)sqlite3_bind_int64(count, 1, at->id);
    (void)sqlite3_bind_int64(count, 2, at->uses);
    (void)sqlite3_bind_int64(count, 3, at->first_us);
    return rc == SQLITE_OK ? groat__handle_run(count) : rc;
}

int groat__stamps_write(groat__store *store)
{
    int rc = SQLITE_OK;

    if (!store->stamped)
        return SQLITE_OK;
    for (size_t i = 0; i < GROAT__STORE_SLOTS && rc == SQLITE_OK; i++) {
        const groat__stamp *at = &store->stamps[i];

        if (at->used != 0)
            rc = write_one(store, at);
    }
    /* Also on failure, so that a bad stamp does not fail the next try, too. */
    groat__stamps_forget(store);
    return rc;
}

void groat__stamps_forget(groat__store *store)
{
    memset(store->stamps, 0, sizeof(store->stamps));
    store->stamped = false;
}
