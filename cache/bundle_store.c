/* SPDX-License-Identifier: Apache-2.0
 *
 * bundle_store.c owns export and import between a store and a bundle, and the
 * walks over the entries of both.
 *
 * Invariant: an exported entry has the checksum that it was put with; a good
 * entry of the store is never replaced by that of a bundle.
 *
 * Locking: the store is locked per row, so that gets and puts of other threads
 * go on: a row that comes or goes meanwhile may or may not be in the bundle.
 */
#include "cache/bundle.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* ---- export ------------------------------------------------------------ */

typedef struct export
{
    groat__store *store;
    const char *const *lines;
    size_t count;
}
export;

static bool has_line(const char *text, const char *line)
{
    size_t len = strlen(line);

    for (const char *at = text; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, line, len) == 0 && (at[len] == '\n' || at[len] == '\0'))
            return true;
    }
    return false;
}

static bool is_wanted(const char *const *lines, size_t count,
                      const groat__row *row)
{
    for (size_t i = 0; i < count; i++)
        if (has_line(row->identity, lines[i]))
            return true;
    return count == 0;
}

static groat_status fail_damaged(const groat__store *store, groat_error *error)
{
    return groat__fail(error, GROAT_IO,
                       "an entry of %s is damaged; groat cache verify drops it",
                       store->path);
}

/* A groat__rows_fn whose source is a groat__store, and that gives damaged rows,
 * too. */
static groat_status read_next(void *source, int64_t from, groat__held *out,
                              groat_error *error)
{
    groat__store *store = source;
    groat_status status = groat__store_begin(store, error);
    sqlite3_stmt *next = NULL;
    groat__row row = {0};
    int read = SQLITE_OK;
    int rc;

    memset(out, 0, sizeof(*out));
    if (status != GROAT_OK)
        return status;
    rc = groat__connection_prepare(store, GROAT__ROW_NEXT, &next);
    if (rc == SQLITE_OK) {
        (void)sqlite3_bind_int64(next, 1, from);
        rc = sqlite3_step(next);
    }
    if (rc == SQLITE_ROW)
        read = groat__row_read(next, &row);
    if (read == SQLITE_NOMEM)
        rc = read;
    else if (rc == SQLITE_ROW && (read != SQLITE_OK || row.id < from))
        status = fail_damaged(store, error);
    else if (rc == SQLITE_ROW && !groat__held_take(out, &row))
        rc = SQLITE_NOMEM;
    else if (rc == SQLITE_ROW)
        out->damaged = !groat__row_is_good(&row);
    (void)sqlite3_finalize(next);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        status = groat__connection_fail(store, rc, "export", NULL, error);
    groat__store_leave(store);
    return status;
}

/* A groat__rows_fn that gives only the wanted rows, which must be good. */
static groat_status next_wanted(void *source, int64_t from, groat__held *out,
                                groat_error *error)
{
    export *x = source;
    groat_status status;

    memset(out, 0, sizeof(*out));
    for (bool more = true; more; more = groat__held_step(out, &from)) {
        groat__held_drop(out);
        status = read_next(x->store, from, out, error);
        if (status != GROAT_OK || out->memory == NULL)
            return status;
        if (is_wanted(x->lines, x->count, &out->row))
            return out->damaged ? fail_damaged(x->store, error) : GROAT_OK;
    }
    groat__held_drop(out);
    return GROAT_OK;
}

/* ---- walks ------------------------------------------------------------- */

static groat_status walk(const groat__rows *rows, const char *const *lines,
                         size_t count, groat__entry_fn *fn, void *user,
                         groat_error *error)
{
    groat_status status = GROAT_OK;
    groat__held held = {.memory = NULL};
    int64_t from = INT64_MIN;

    do {
        groat__held_drop(&held);
        status = rows->next(rows->source, from, &held, error);
        if (status == GROAT_OK && held.memory != NULL &&
            is_wanted(lines, count, &held.row)) {
            const groat__row *row = &held.row;
            groat__entry entry = {row->key,   row->identity,
                                  row->log,   held.damaged ? NULL : row->data,
                                  row->bytes, row->facts};

            status = fn(user, &entry, error);
        }
    } while (status == GROAT_OK && groat__held_step(&held, &from));
    groat__held_drop(&held);
    return status;
}

groat_status groat__store_walk(groat__store *store, const char *const *lines,
                               size_t count, groat__entry_fn *fn, void *user,
                               groat_error *error)
{
    const groat__rows rows = {read_next, store};

    return walk(&rows, lines, count, fn, user, error);
}

groat_status groat__bundle_walk(groat__bundle *bundle, const char *const *lines,
                                size_t count, groat__entry_fn *fn, void *user,
                                groat_error *error)
{
    const groat__rows rows = {groat__bundle_next, bundle};

    return walk(&rows, lines, count, fn, user, error);
}

groat_status groat__store_export(groat__store *store, const char *const *lines,
                                 size_t count, const groat__secret *secret,
                                 const char *path, uint64_t *written,
                                 groat_error *error)
{
    export x = {store, lines, count};
    const groat__rows rows = {next_wanted, &x};

    return groat__bundle_compose(&rows, 1, secret, path, written, error);
}

/* ---- import ------------------------------------------------------------ */

/* The ids of the rows that an import has put into the store. */
typedef struct brought {
    groat__store *store;
    int64_t *ids;
    size_t count;
    size_t room;
} brought;

static bool add_id(brought *rows, int64_t id)
{
    if (rows->count == rows->room) {
        size_t room = rows->room == 0 ? 64 : 2 * rows->room;
        int64_t *grown = realloc(rows->ids, room * sizeof(*grown));

        if (grown == NULL)
            return false;
        rows->ids = grown;
        rows->room = room;
    }
    rows->ids[rows->count++] = id;
    return true;
}

/* Bytes for a store's own pages, and for the unused ends of a row's. */
enum { STORE_ROOM = 128 << 10 };

/* Puts an entry unless the store has a good one of its key and identity; counts
 * no use.  An entry that is too large for the bound is left out. */
static groat_status import_entry(void *user, const groat__entry *entry,
                                 groat_error *error)
{
    brought *rows = user;
    groat__store *store = rows->store;
    uint64_t room = entry->bytes + strlen(entry->identity) + strlen(entry->log);
    groat__addition added;

    groat__store_add(store, entry, 1, &added);
    if (added == GROAT__ADD_HELD)
        return GROAT_OK;
    if (added == GROAT__ADD_FAILED)
        return room + STORE_ROOM > store->max_bytes
                   ? GROAT_OK
                   : groat__fail(error, GROAT_IO,
                                 "%s did not accept an imported entry: it is "
                                 "full, locked or cannot be written",
                                 store->path);
    return add_id(rows, groat__row_id(&entry->key))
               ? GROAT_OK
               : groat__fail(error, GROAT_NO_MEMORY, "no memory for an import");
}

/* Counts the imported rows that are left: the bound may have evicted some for
 * others.  A row that cannot be looked up counts as left. */
static uint64_t count_left(const brought *rows)
{
    groat__store *store = rows->store;
    sqlite3_stmt *find = NULL;
    uint64_t left = rows->count;
    int64_t found = 0;

    groat__store_enter(store);
    if (groat__connection_ready(store, NULL) == GROAT_OK &&
        groat__connection_prepare(store,
                                  "SELECT count(*) FROM entry WHERE id = ?1",
                                  &find) == SQLITE_OK)
        for (size_t i = 0; i < rows->count; i++)
            left -= sqlite3_bind_int64(find, 1, rows->ids[i]) == SQLITE_OK &&
                    groat__handle_step_number(find, &found) == SQLITE_OK &&
                    found == 0;
    (void)sqlite3_finalize(find);
    if (left < rows->count)
        groat__store_say(
            store, GROAT__NOTE_ALWAYS,
            "an import of %zu entries was more than the bound of %llu bytes "
            "allows: only %llu entries are still stored",
            rows->count, (unsigned long long)store->max_bytes,
            (unsigned long long)left);
    groat__store_leave(store);
    return left;
}

groat_status groat__store_import(groat__store *store, groat__bundle *bundle,
                                 uint64_t *imported, groat_error *error)
{
    groat_status status = groat__store_begin_writing(store, error);
    brought rows = {store, NULL, 0, 0};
    uint64_t left;

    if (status != GROAT_OK)
        return status;
    groat__store_leave(store);
    status = groat__bundle_walk(bundle, NULL, 0, import_entry, &rows, error);
    left = count_left(&rows);
    free(rows.ids);
    if (status == GROAT_OK && imported != NULL)
        *imported = left;
    return status;
}
