/* SPDX-License-Identifier: Apache-2.0
 *
 * verify.c owns the calls that look at a store as a whole: stat, listing, and
 * the check of every page and every checksum.
 *
 * Invariant: after a verify that returned OK, every entry has the right
 * checksum and SQLite finds no fault with the file, or the file was set aside
 * and a new one is empty. Locking: a listing collects the keys first and then
 * reads row by row, so that its callback runs unlocked; a verify is locked per
 * row, and once more for the pages.
 */
#include "cache/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Prepared anew for each call. */
static const char select_key[] =
    "SELECT " GROAT__ROW_COLUMNS " FROM entry WHERE id = ?1";

/* ---- stat -------------------------------------------------------------- */

static int read_sums(groat__store *store, uint64_t *entries, uint64_t *bytes)
{
    sqlite3_stmt *sums = NULL;
    int rc = groat__connection_prepare(
        store, "SELECT count(*), total(bytes) FROM entry", &sums);

    if (rc != SQLITE_OK)
        return rc;
    rc = sqlite3_step(sums);
    if (rc == SQLITE_ROW) {
        double total = sqlite3_column_double(sums, 1);

        *entries = (uint64_t)sqlite3_column_int64(sums, 0);
        /* A damaged length may be anything. */
        *bytes = total > 0 && total < 9e18 ? (uint64_t)total : 0;
        rc = SQLITE_OK;
    }
    (void)sqlite3_finalize(sums);
    return rc == SQLITE_DONE ? SQLITE_CORRUPT : rc;
}

groat_status groat__store_stat(groat__store *store, groat_cache_stat *stat,
                               groat_error *error)
{
    groat_status status = groat__store_begin(store, error);
    uint64_t entries = 0;
    uint64_t bytes = 0;
    int rc;

    if (status != GROAT_OK)
        return status;
    rc = read_sums(store, &entries, &bytes);
    if (rc != SQLITE_OK) {
        status = groat__connection_fail(store, rc, "stat", NULL, error);
    } else {
        stat->entries = entries;
        stat->payload_bytes = bytes;
        stat->file_bytes = groat__place_bytes(store->path);
        stat->max_bytes = store->max_bytes;
        stat->hits = store->hits;
        stat->misses = store->misses;
        stat->evictions = store->evictions;
        stat->faults = store->faults;
        stat->waits = store->claims.waits;
        stat->takeovers = store->claims.takeovers;
        stat->timeouts = store->claims.timeouts;
    }
    groat__store_leave(store);
    return status;
}

/* ---- listing ----------------------------------------------------------- */

typedef struct listed {
    groat__digest key;
    int64_t used;
} listed;

typedef struct key_list {
    listed *at;
    size_t count;
    size_t cap;
} key_list;

static bool list_add(key_list *list, const listed *item)
{
    if (list->count == list->cap) {
        size_t cap = list->cap == 0 ? 256 : list->cap * 2;
        listed *at = realloc(list->at, cap * sizeof(*at));

        if (at == NULL)
            return false;
        list->at = at;
        list->cap = cap;
    }
    list->at[list->count++] = *item;
    return true;
}

static int oldest_first(const void *a, const void *b)
{
    const listed *x = a;
    const listed *y = b;

    if (x->used != y->used)
        return x->used < y->used ? -1 : 1;
    return memcmp(&x->key, &y->key, sizeof(x->key));
}

/* Returns the last use, including one that is still in memory. */
static int64_t last_use(groat__store *store, const groat__digest *key,
                        int64_t written)
{
    int64_t waits = groat__stamp_of(store, groat__row_id(key));

    return waits > written ? waits : written;
}

/* The least and the greatest key that start with a prefix of hex digits. */
static groat_status prefix_range(const char *prefix, groat__digest *low,
                                 groat__digest *high, groat_error *error)
{
    size_t len = prefix == NULL ? 0 : strlen(prefix);
    char from[33];
    char to[33];

    memset(from, '0', 32);
    memset(to, 'f', 32);
    from[32] = to[32] = '\0';
    if (len > 0 && len <= 32) {
        memcpy(from, prefix, len);
        memcpy(to, prefix, len);
    }
    if (len > 32 || !groat__unhex(low->bytes, sizeof(low->bytes), from) ||
        !groat__unhex(high->bytes, sizeof(high->bytes), to))
        return groat__fail(error, GROAT_INVALID,
                           "key prefix \"%.64s\" is not up to 32 hex digits",
                           prefix);
    return GROAT_OK;
}

static int list_keys(groat__store *store, const groat__digest *low,
                     const groat__digest *high, key_list *list)
{
    sqlite3_stmt *keys = NULL;
    int rc = groat__connection_prepare(
        store,
        "SELECT key, used FROM entry WHERE id BETWEEN ?3 AND ?4 "
        "AND key BETWEEN ?1 AND ?2",
        &keys);

    if (rc != SQLITE_OK)
        return rc;
    (void)sqlite3_bind_blob(keys, 1, low->bytes, sizeof(low->bytes),
                            SQLITE_STATIC);
    (void)sqlite3_bind_blob(keys, 2, high->bytes, sizeof(high->bytes),
                            SQLITE_STATIC);
    (void)sqlite3_bind_int64(keys, 3, groat__row_id(low));
    (void)sqlite3_bind_int64(keys, 4, groat__row_id(high));
    while ((rc = sqlite3_step(keys)) == SQLITE_ROW) {
        listed item;

        if (sqlite3_column_bytes(keys, 0) != (int)sizeof(item.key.bytes))
            continue;
        memcpy(item.key.bytes, sqlite3_column_blob(keys, 0),
               sizeof(item.key.bytes));
        item.used = last_use(store, &item.key, sqlite3_column_int64(keys, 1));
        if (!list_add(list, &item)) {
            rc = SQLITE_NOMEM;
            break;
        }
    }
    (void)sqlite3_finalize(keys);
    if (rc == SQLITE_DONE && list->count > 1)
        qsort(list->at, list->count, sizeof(list->at[0]), oldest_first);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Fills *entry with copies; *found is false if the entry is gone or damaged. */
static int read_entry(groat__store *store, const groat__digest *key,
                      groat_cache_entry *entry, bool *found)
{
    sqlite3_stmt *select = NULL;
    groat__row row = {0};
    int read = SQLITE_OK;
    int rc = groat__connection_prepare(store, select_key, &select);

    *found = false;
    if (rc != SQLITE_OK)
        return rc;
    (void)sqlite3_bind_int64(select, 1, groat__row_id(key));
    rc = sqlite3_step(select);
    if (rc == SQLITE_ROW)
        read = groat__row_read(select, &row);
    if (read == SQLITE_NOMEM) {
        rc = read;
    } else if (rc == SQLITE_ROW && read == SQLITE_OK &&
               memcmp(&row.key, key, sizeof(*key)) == 0) {
        groat__hex(entry->key, key->bytes, sizeof(key->bytes));
        entry->identity = strndup(row.identity, row.identity_len);
        entry->log = strndup(row.log, row.log_len);
        entry->bytes = row.bytes;
        entry->created_s = row.created / 1000000;
        entry->used_s = last_use(store, key, row.used) / 1000000;
        entry->facts = row.facts;
        rc = groat__uses_of(store, row.id, &entry->uses, &entry->first_ms);
        *found = entry->identity != NULL && entry->log != NULL;
        rc = *found ? rc : SQLITE_NOMEM;
    }
    (void)sqlite3_finalize(select);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

/* Lists one entry: reads it locked, calls fn unlocked. */
static groat_status tell_entry(groat__store *store, const groat__digest *key,
                               groat_cache_fn *fn, void *user, bool *stop,
                               groat_error *error)
{
    groat_cache_entry entry = {.size = sizeof(entry), .spec = "", .target = ""};
    groat_status status = groat__store_begin(store, error);
    bool found = false;
    int rc;

    if (status != GROAT_OK)
        return status;
    rc = read_entry(store, key, &entry, &found);
    if (rc != SQLITE_OK)
        status = groat__connection_fail(store, rc, "listing", NULL, error);
    groat__store_leave(store);
    if (status == GROAT_OK && found)
        *stop = fn(user, &entry) != 0;
    free((void *)(uintptr_t)entry.identity);
    free((void *)(uintptr_t)entry.log);
    return status;
}

groat_status groat__store_each(groat__store *store, const char *key_prefix,
                               groat_cache_fn *fn, void *user,
                               groat_error *error)
{
    key_list list = {NULL, 0, 0};
    groat__digest low;
    groat__digest high;
    bool stop = false;
    groat_status status = prefix_range(key_prefix, &low, &high, error);
    int rc;

    if (status == GROAT_OK)
        status = groat__store_begin(store, error);
    if (status != GROAT_OK)
        return status;
    rc = list_keys(store, &low, &high, &list);
    if (rc != SQLITE_OK)
        status = groat__connection_fail(store, rc, "listing", NULL, error);
    groat__store_leave(store);
    for (size_t i = 0; i < list.count && status == GROAT_OK && !stop; i++)
        status = tell_entry(store, &list.at[i].key, fn, user, &stop, error);
    free(list.at);
    return status;
}

/* ---- verify ------------------------------------------------------------ */

/* Checks the first row at or after *id and moves *id past it; *more is false
 * when there is none or none can follow. */
static int check_next(groat__store *store, int64_t *id, uint64_t *checked,
                      uint64_t *dropped, bool *more)
{
    sqlite3_stmt *next = NULL;
    uint64_t gone = 0;
    groat__row row = {0};
    int read = SQLITE_OK;
    int rc = groat__connection_prepare(store, GROAT__ROW_NEXT, &next);

    if (rc != SQLITE_OK)
        return rc;
    (void)sqlite3_bind_int64(next, 1, *id);
    rc = sqlite3_step(next);
    *more = rc == SQLITE_ROW;
    if (rc == SQLITE_ROW)
        read = groat__row_read_good(next, &row);
    (void)sqlite3_finalize(next);
    if (rc != SQLITE_ROW)
        return rc == SQLITE_DONE ? SQLITE_OK : rc;
    if (read == SQLITE_NOMEM)
        return read;
    /* Ids that do not ascend would loop for ever. */
    if (row.id < *id)
        return SQLITE_CORRUPT;
    *more = row.id < INT64_MAX;
    *id = row.id + (*more ? 1 : 0);
    *checked += 1;
    if (read == SQLITE_OK)
        return SQLITE_OK;
    if (store->read_only)
        return SQLITE_READONLY;
    rc = groat__row_drop(store, row.id, &gone);
    *dropped += gone;
    groat__store_evicted(store, "damage", gone);
    return rc;
}

groat_status groat__store_verify(groat__store *store, uint64_t *checked,
                                 uint64_t *dropped, groat_error *error)
{
    groat_status status = GROAT_OK;
    int64_t id = INT64_MIN;
    uint64_t seen = 0;
    uint64_t gone = 0;
    bool doubted = false;
    bool more = true;

    while (more && status == GROAT_OK) {
        bool again = false;
        int rc;

        status = groat__store_begin(store, error);
        if (status != GROAT_OK)
            return status;
        store->suspected = false;
        rc = check_next(store, &id, &seen, &gone, &more);
        if (rc == SQLITE_OK && !more)
            rc = groat__handle_check(store->db);
        if (rc != SQLITE_OK) {
            /* Even if other calls have succeeded since. */
            store->doubted = store->doubted || doubted;
            status = groat__connection_fail(store, rc, "verify", &again, error);
            doubted = store->doubted;
        }
        if (again) {
            groat_error_clear(error);
            status = GROAT_OK;
        }
        /* A file replaced by an empty one counts as all its entries dropped;
         * the check of a file that was only reopened goes on. */
        if (again && !doubted)
            gone = seen > gone ? seen : gone;
        more = again ? doubted : more;
        groat__store_leave(store);
    }
    if (status != GROAT_OK)
        return status;
    if (checked != NULL)
        *checked = seen;
    if (dropped != NULL)
        *dropped = gone;
    return GROAT_OK;
}
