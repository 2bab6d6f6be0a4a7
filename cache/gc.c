/* SPDX-License-Identifier: Apache-2.0
 *
 * gc.c owns the size of the file: what is evicted beyond the bound, and
 * how free pages go back to the file system.
 *
 * Invariant: after a put or a gc that succeeded, the pages in use are within
 * the bound.  Order of eviction: last use, oldest first.  SQLite keeps freed
 * pages for itself, and a checkpoint only copies, so a file shrinks in two
 * steps: incremental vacuum moves pages to the front and drops the tail, the
 * truncating checkpoint applies that to the file and empties the -wal.
 * Locking: the calls of internal.h are made with the store locked.
 */
#include "base/error.h"
#include "cache/internal.h"

static int read_number(groat__store *store, groat__sql which, int64_t *out)
{
    sqlite3_stmt *statement;
    int rc = groat__connection_statement(store, which, &statement);

    return rc == SQLITE_OK ? groat__handle_step_number(statement, out) : rc;
}

/* Bytes of pages in use, as the open transaction sees them. */
static int bytes_in_use(groat__store *store, uint64_t *out)
{
    int64_t pages = 0;
    int64_t unused = 0;
    int rc = read_number(store, GROAT__SQL_PAGES, &pages);

    if (rc == SQLITE_OK)
        rc = read_number(store, GROAT__SQL_FREE_PAGES, &unused);
    if (rc == SQLITE_OK && (unused < 0 || unused > pages))
        rc = SQLITE_CORRUPT;
    *out = (uint64_t)(pages - unused) * (uint64_t)store->page_bytes;
    return rc;
}

/* Entries stamped while the clock was ahead would never be evicted, and current
 * ones at once: future stamps are set back to an hour ago. */
static int settle_future(groat__store *store)
{
    const int64_t ago_us = (int64_t)3600 * 1000000;
    int64_t now = groat__stamp_now(store);
    sqlite3_stmt *settle;
    int rc = groat__connection_statement(store, GROAT__SQL_SETTLE, &settle);

    if (rc != SQLITE_OK)
        return rc;
    (void)sqlite3_bind_int64(settle, 1, now);
    (void)sqlite3_bind_int64(settle, 2, now - ago_us);
    return groat__handle_run(settle);
}

int groat__gc_trim(groat__store *store, uint64_t high, uint64_t low,
                   const int64_t *keep, uint64_t *dropped)
{
    sqlite3_stmt *oldest;
    uint64_t used = 0;
    uint64_t gone = 0;
    int64_t id = 0;
    int rc = bytes_in_use(store, &used);

    if (rc != SQLITE_OK || used <= high)
        return rc;
    rc = settle_future(store);
    if (rc == SQLITE_OK)
        rc = groat__connection_statement(store, GROAT__SQL_OLDEST, &oldest);
    if (rc != SQLITE_OK)
        return rc;
    (void)sqlite3_clear_bindings(oldest);
    if (keep != NULL)
        (void)sqlite3_bind_int64(oldest, 1, *keep);
    while (used > low) {
        rc = sqlite3_step(oldest);
        if (rc == SQLITE_ROW)
            id = sqlite3_column_int64(oldest, 0);
        (void)sqlite3_reset(oldest);
        if (rc != SQLITE_ROW)
            break;
        gone = 0;
        rc = groat__row_drop(store, id, &gone);
        /* An index that lists a row the table lacks would loop for ever. */
        if (rc == SQLITE_OK && gone == 0)
            rc = SQLITE_CORRUPT;
        *dropped += gone;
        if (rc == SQLITE_OK)
            rc = bytes_in_use(store, &used);
        if (rc != SQLITE_OK)
            return rc;
    }
    if (rc != SQLITE_OK && rc != SQLITE_DONE)
        return rc;
    return used > high && keep != NULL ? SQLITE_TOOBIG : SQLITE_OK;
}

int groat__gc_shrink(groat__store *store)
{
    sqlite3_stmt *vacuum;
    bool impatient = store->impatient;
    int rc = groat__connection_statement(store, GROAT__SQL_VACUUM, &vacuum);

    if (rc != SQLITE_OK)
        return rc;
    do
        rc = sqlite3_step(vacuum);
    while (rc == SQLITE_ROW);
    rc = sqlite3_reset(vacuum);
    if (rc != SQLITE_OK)
        return rc;
    /* A reader in another process delays this; it is not worth a wait. */
    groat__connection_hurry(store, true);
    rc = sqlite3_wal_checkpoint_v2(store->db, "main",
                                   SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    groat__connection_hurry(store, impatient);
    return (rc & 0xff) == SQLITE_BUSY ? SQLITE_OK : rc;
}

/* Evicts down to `bound` in one transaction, then shrinks. */
static int collect(groat__store *store, uint64_t bound, uint64_t *dropped)
{
    int rc = groat__connection_run(store, GROAT__SQL_BEGIN);

    if (rc == SQLITE_OK)
        rc = groat__stamps_write(store);
    if (rc == SQLITE_OK) /* uses of entries that were never put */
        rc = sqlite3_exec(store->db,
                          "DELETE FROM usage "
                          "WHERE id NOT IN (SELECT id FROM entry)",
                          NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = groat__gc_trim(store, bound, bound, NULL, dropped);
    if (rc == SQLITE_OK)
        rc = groat__connection_run(store, GROAT__SQL_COMMIT);
    return rc == SQLITE_OK ? groat__gc_shrink(store) : rc;
}

groat_status groat__store_gc(groat__store *store, uint64_t max_bytes,
                             uint64_t *evicted, groat_error *error)
{
    uint64_t bound = max_bytes == 0 ? store->max_bytes : max_bytes;
    groat_status status = groat__store_begin_writing(store, error);
    uint64_t dropped = 0;
    int rc;

    if (status != GROAT_OK)
        return status;
    rc = collect(store, bound, &dropped);
    if (rc != SQLITE_OK) {
        status = groat__connection_fail(store, rc, "gc", NULL, error);
    } else {
        groat__store_evicted(store, "gc", dropped);
        if (evicted != NULL)
            *evicted = dropped;
    }
    groat__store_leave(store);
    return status;
}

static int drop_all(groat__store *store, uint64_t *dropped)
{
    int rc = groat__connection_run(store, GROAT__SQL_BEGIN);

    if (rc == SQLITE_OK)
        rc = sqlite3_exec(store->db, "DELETE FROM entry", NULL, NULL, NULL);
    *dropped = (uint64_t)sqlite3_changes(store->db);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(store->db, "DELETE FROM usage", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = groat__connection_run(store, GROAT__SQL_COMMIT);
    if (rc != SQLITE_OK)
        return rc;
    groat__stamps_forget(store);
    return groat__gc_shrink(store);
}

groat_status groat__store_clear(groat__store *store, uint64_t *dropped,
                                groat_error *error)
{
    groat_status status = groat__store_begin_writing(store, error);
    uint64_t gone = 0;
    int rc;

    if (status != GROAT_OK)
        return status;
    rc = drop_all(store, &gone);
    if ((rc & 0xff) == SQLITE_FULL) {
        groat__connection_roll_back(store);
        status = groat__fail(error, GROAT_IO,
                             "cannot clear %s: the disk is full, and a change "
                             "is first written beside the file; free some "
                             "space, or remove groat.sqlite, -wal and -shm "
                             "while no process has them open",
                             store->path);
    } else if (rc != SQLITE_OK) {
        status = groat__connection_fail(store, rc, "clear", NULL, error);
    } else {
        groat__place_sweep(store->dir);
        if (dropped != NULL)
            *dropped = gone;
    }
    groat__store_leave(store);
    return status;
}
