/* SPDX-License-Identifier: Apache-2.0
 *
 * stamps.c owns the times of last use: the clock, and those that wait in
 * memory until a call that writes anyway takes them along.  When that is, is
 * the business of store.c and gc.c.
 *
 * Invariant: a hit writes nothing, however many there are.  A row's stamp
 * lies in one of a few places; where they are all taken the oldest makes room,
 * so that a store keeps the newest stamps in a table that never grows.  Stamps
 * are hints: what is lost makes a row look older than it is, no more.
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
    /* The order of uses must not depend on the clock's grain. */
    if (us <= store->last_us)
        us = store->last_us + 1;
    store->last_us = us;
    return us;
}

/* Where the stamp of a row is, else the place it would take: a free one or
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

void groat__stamp_use(groat__store *store, int64_t id)
{
    groat__stamp *place = place_of(store, id);

    place->id = id;
    place->used = groat__stamp_now(store);
    store->stamped = true;
}

int64_t groat__stamp_of(groat__store *store, int64_t id)
{
    const groat__stamp *place = place_of(store, id);

    return place->id == id ? place->used : 0;
}

int groat__stamps_write(groat__store *store)
{
    sqlite3_stmt *stamp = store->statements[GROAT__SQL_STAMP];
    int rc = SQLITE_OK;

    if (!store->stamped)
        return SQLITE_OK;
    for (size_t i = 0; i < GROAT__STORE_SLOTS && rc == SQLITE_OK; i++) {
        const groat__stamp *at = &store->stamps[i];

        if (at->used == 0)
            continue;
        (void)sqlite3_bind_int64(stamp, 1, at->id);
        (void)sqlite3_bind_int64(stamp, 2, at->used);
        rc = groat__handle_run(stamp);
    }
    /* Also what could not be written: the next try shall not fail of it. */
    groat__stamps_forget(store);
    return rc;
}

void groat__stamps_forget(groat__store *store)
{
    memset(store->stamps, 0, sizeof(store->stamps));
    store->stamped = false;
}
