/* SPDX-License-Identifier: Apache-2.0
 *
 * bundle_store.c owns what goes between a store and a bundle: export, import.
 *
 * Invariant: what is exported has the seal that it was put with; what the store
 * has is never replaced by what a bundle has.
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

static bool is_wanted(const export *x, const groat__row *row)
{
    for (size_t i = 0; i < x->count; i++)
        if (has_line(row->identity, x->lines[i]))
            return true;
    return x->count == 0;
}

/* The first row of the store from an id on. */
static groat_status read_next(groat__store *store, int64_t from,
                              groat__held *out, groat_error *error)
{
    groat_status status = groat__store_begin(store, error);
    sqlite3_stmt *next = NULL;
    groat__row row = {0};
    int rc;

    if (status != GROAT_OK)
        return status;
    rc = groat__connection_prepare(store, GROAT__ROW_NEXT, &next);
    if (rc == SQLITE_OK) {
        (void)sqlite3_bind_int64(next, 1, from);
        rc = sqlite3_step(next);
    }
    if (rc == SQLITE_ROW && (!groat__row_read(next, &row) || row.id < from ||
                             !groat__row_good(&row)))
        status = groat__fail(error, GROAT_IO,
                             "an entry of %s is damaged; groat cache verify "
                             "drops such",
                             store->path);
    else if (rc == SQLITE_ROW && !groat__held_take(out, &row))
        rc = SQLITE_NOMEM;
    (void)sqlite3_finalize(next);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        status = groat__connection_fail(store, rc, "export", NULL, error);
    groat__store_leave(store);
    return status;
}

/* A groat__rows_fn: those that are wanted. */
static groat_status next_wanted(void *source, int64_t from, groat__held *out,
                                groat_error *error)
{
    export *x = source;
    groat_status status;

    memset(out, 0, sizeof(*out));
    for (bool more = true; more; more = groat__held_step(out, &from)) {
        groat__held_drop(out);
        status = read_next(x->store, from, out, error);
        if (status != GROAT_OK || out->memory == NULL ||
            is_wanted(x, &out->row))
            return status;
    }
    groat__held_drop(out);
    return GROAT_OK;
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

/* Puts a row unless there is one of its key and identity; *new is whether there
 * is one now and was none. */
static void import_row(groat__store *store, const groat__row *row, bool *new)
{
    groat__store_blob blob = {0};

    *new = false;
    if (!groat__store_get(store, &row->key, row->identity, &blob)) {
        groat__store_put(store, &row->key, row->identity, row->data, row->bytes,
                         row->log, &row->facts);
        *new = groat__store_get(store, &row->key, row->identity, &blob);
    }
    groat__store_blob_free(&blob);
}

groat_status groat__store_import(groat__store *store, groat__bundle *bundle,
                                 uint64_t *imported, groat_error *error)
{
    groat_status status = groat__store_begin_writing(store, error);
    groat__held held = {.memory = NULL};
    int64_t from = INT64_MIN;
    uint64_t count = 0;
    bool new = false;

    if (status != GROAT_OK)
        return status;
    groat__store_leave(store);
    do {
        groat__held_drop(&held);
        status = groat__bundle_next(bundle, from, &held, error);
        if (held.memory != NULL)
            import_row(store, &held.row, &new);
        count += held.memory != NULL && new;
    } while (status == GROAT_OK && groat__held_step(&held, &from));
    groat__held_drop(&held);
    if (status == GROAT_OK && imported != NULL)
        *imported = count;
    return status;
}
