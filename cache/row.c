/* SPDX-License-Identifier: Apache-2.0
 *
 * row.c owns the rows of table entry, in a store and in a bundle: it reads,
 * checksums, judges, copies and binds them.  Its callers handle files, locks
 * and faults.
 *
 * Invariant: a row that was judged good has the key and identity that were
 * asked for, and the checksum that it was put with.
 * Locking: none; a row borrows from its statement until that moves on.
 */
#include "cache/internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { IDENTITY = 12 }; /* its place in GROAT__ROW_COLUMNS */

int64_t groat__row_id(const groat__digest *key)
{
    uint64_t id = 0;
    int64_t result;

    for (int i = 0; i < 8; i++)
        id = id << 8 | key->bytes[i];
    /* With the top bit flipped, signed order is that of the bytes. */
    id ^= (uint64_t)1 << 63;
    memcpy(&result, &id, sizeof(result));
    return result;
}

groat__row groat__row_of(const groat__entry *entry)
{
    groat__row row = {.key = entry->key, .facts = entry->facts};

    row.id = groat__row_id(&entry->key);
    row.identity = entry->identity;
    row.identity_len = strlen(entry->identity);
    row.log = entry->log;
    row.log_len = strlen(entry->log);
    row.data = entry->data;
    row.bytes = entry->bytes;
    return row;
}

static bool read_text(sqlite3_stmt *statement, int column, const char **text,
                      size_t *len)
{
    if (sqlite3_column_type(statement, column) != SQLITE_TEXT)
        return false;
    *text = (const char *)sqlite3_column_text(statement, column);
    *len = (size_t)sqlite3_column_bytes(statement, column);
    return *text != NULL && memchr(*text, '\0', *len) == NULL;
}

static bool read_digest(sqlite3_stmt *statement, int column,
                        groat__digest *digest)
{
    const void *blob;

    if (sqlite3_column_type(statement, column) != SQLITE_BLOB)
        return false;
    blob = sqlite3_column_blob(statement, column);
    if (blob == NULL ||
        sqlite3_column_bytes(statement, column) != (int)sizeof(digest->bytes))
        return false;
    memcpy(digest->bytes, blob, sizeof(digest->bytes));
    return true;
}

static bool read_columns(sqlite3_stmt *statement, groat__row *row)
{
    int64_t facts[GROAT__FACTS];
    const int binary = 14;
    int64_t bytes = sqlite3_column_int64(statement, 4);

    memset(row, 0, sizeof(*row));
    row->id = sqlite3_column_int64(statement, 0);
    row->used = sqlite3_column_int64(statement, 2);
    row->created = sqlite3_column_int64(statement, 3);
    for (int i = 0; i < GROAT__FACTS; i++)
        facts[i] = sqlite3_column_int64(statement, 6 + i);
    memcpy(&row->facts, facts, sizeof(facts));
    if (bytes < 0 || bytes > INT_MAX || !read_digest(statement, 1, &row->key) ||
        !read_digest(statement, 5, &row->checksum) ||
        !read_text(statement, IDENTITY, &row->identity, &row->identity_len) ||
        !read_text(statement, 13, &row->log, &row->log_len))
        return false;
    row->bytes = (size_t)bytes;
    if (sqlite3_column_count(statement) <= binary)
        return true;
    row->data = sqlite3_column_blob(statement, binary);
    return sqlite3_column_type(statement, binary) == SQLITE_BLOB &&
           sqlite3_column_bytes(statement, binary) == (int)bytes &&
           (row->data != NULL || bytes == 0);
}

groat__digest groat__row_checksum(const groat__row *row)
{
    int64_t facts[GROAT__FACTS];
    const groat__digest parts[4] = {
        row->key,
        groat__hash128(row->identity, row->identity_len),
        groat__hash128(row->log, row->log_len),
        groat__hash128(row->bytes == 0 ? "" : row->data, row->bytes),
    };
    uint8_t text[sizeof(parts) + sizeof(facts)];

    memcpy(facts, &row->facts, sizeof(facts));
    memcpy(text, parts, sizeof(parts));
    for (size_t i = 0; i < sizeof(facts); i++)
        text[sizeof(parts) + i] =
            (uint8_t)((uint64_t)facts[i / 8] >> (8 * (i % 8)));
    return groat__hash128(text, sizeof(text));
}

int groat__row_read(sqlite3_stmt *statement, groat__row *row)
{
    if (read_columns(statement, row))
        return SQLITE_OK;
    return groat__handle_starved(statement) ? SQLITE_NOMEM : SQLITE_CORRUPT;
}

bool groat__row_is_good(const groat__row *row)
{
    groat__digest checksum = groat__row_checksum(row);

    return memcmp(&checksum, &row->checksum, sizeof(checksum)) == 0 &&
           row->id == groat__row_id(&row->key);
}

int groat__row_read_good(sqlite3_stmt *statement, groat__row *row)
{
    int rc = groat__row_read(statement, row);

    return rc == SQLITE_OK && !groat__row_is_good(row) ? SQLITE_CORRUPT : rc;
}

static groat__finding judge(const groat__row *row, const groat__digest *key,
                            const char *identity)
{
    if (memcmp(&row->key, key, sizeof(*key)) != 0)
        return GROAT__ROW_DAMAGED;
    if (identity != NULL &&
        (row->identity_len != strlen(identity) ||
         memcmp(row->identity, identity, row->identity_len) != 0))
        return GROAT__ROW_MISTAKEN;
    return groat__row_is_good(row) ? GROAT__ROW_GOOD : GROAT__ROW_DAMAGED;
}

groat__finding groat__row_judge(sqlite3_stmt *get, const groat__digest *key,
                                const char *identity,
                                const groat__ranges *ranges, groat__row *row)
{
    groat__finding found;
    uint64_t start;
    /* SQLite reads a column's pages here; that is not part of the time. */
    int rc = groat__row_read(get, row);

    if (rc != SQLITE_OK)
        return rc == SQLITE_NOMEM ? GROAT__ROW_UNREAD : GROAT__ROW_DAMAGED;
    start = groat__now_ns();
    groat__range_begin(ranges, "verify", NULL);
    found = judge(row, key, identity);
    groat__range_end(ranges);
    row->judged_ns = groat__now_ns() - start;
    return found;
}

uint64_t groat__row_room(const groat__row *row)
{
    return row->bytes + row->identity_len + row->log_len;
}

int groat__row_copy(const groat__row *row, groat__store_blob *out)
{
    out->data = malloc(row->bytes == 0 ? 1 : row->bytes);
    out->log = malloc(row->log_len + 1);
    if (out->data == NULL || out->log == NULL) {
        groat__store_blob_free(out);
        return SQLITE_NOMEM;
    }
    if (row->bytes > 0)
        memcpy(out->data, row->data, row->bytes);
    memcpy(out->log, row->log, row->log_len);
    out->log[row->log_len] = '\0';
    out->bytes = row->bytes;
    out->facts = row->facts;
    out->verify_ns = row->judged_ns;
    return SQLITE_OK;
}

int groat__row_insert(sqlite3_stmt *put, const groat__row *row, int64_t stamp)
{
    int64_t facts[GROAT__FACTS];
    int rc = sqlite3_bind_blob(put, 1, row->key.bytes, sizeof(row->key.bytes),
                               SQLITE_STATIC);

    memcpy(facts, &row->facts, sizeof(facts));
    (void)sqlite3_bind_int64(put, 14, row->id);
    (void)sqlite3_bind_int64(put, 2, stamp);
    (void)sqlite3_bind_int64(put, 3, (int64_t)row->bytes);
    (void)sqlite3_bind_blob(put, 4, row->checksum.bytes,
                            sizeof(row->checksum.bytes), SQLITE_STATIC);
    for (int i = 0; i < GROAT__FACTS; i++)
        (void)sqlite3_bind_int64(put, 5 + i, facts[i]);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text64(put, 11, row->identity, row->identity_len,
                                 SQLITE_STATIC, SQLITE_UTF8);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text64(put, 12, row->log, row->log_len, SQLITE_STATIC,
                                 SQLITE_UTF8);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_blob64(put, 13, row->bytes == 0 ? "" : row->data,
                                 row->bytes, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = groat__handle_run(put);
    (void)sqlite3_clear_bindings(put);
    return rc;
}

void groat__store_blob_free(groat__store_blob *blob)
{
    if (blob == NULL)
        return;
    free(blob->data);
    free(blob->log);
    memset(blob, 0, sizeof(*blob));
}

int groat__row_seek(groat__store *store, const groat__digest *key,
                    sqlite3_stmt **out)
{
    int rc = groat__connection_statement(store, GROAT__SQL_GET, out);

    if (rc != SQLITE_OK)
        return rc;
    (void)sqlite3_bind_int64(*out, 1, groat__row_id(key));
    return sqlite3_step(*out);
}

static int run_with_id(groat__store *store, groat__sql which, int64_t id)
{
    sqlite3_stmt *statement;
    int rc = groat__connection_statement(store, which, &statement);

    if (rc != SQLITE_OK)
        return rc;
    (void)sqlite3_bind_int64(statement, 1, id);
    return groat__handle_run(statement);
}

int groat__row_drop(groat__store *store, int64_t id, uint64_t *dropped)
{
    int rc = run_with_id(store, GROAT__SQL_DROP, id);

    if (rc != SQLITE_OK)
        return rc;
    *dropped += (uint64_t)sqlite3_changes(store->db);
    return run_with_id(store, GROAT__SQL_FORGET_USES, id);
}

/* Steps a query for one identity and appends that. */
static int take_identity(sqlite3_stmt *statement, groat__str *out)
{
    int rc = sqlite3_step(statement);

    if (rc == SQLITE_ROW) {
        const unsigned char *text = sqlite3_column_text(statement, 0);
        bool starved = text == NULL && groat__handle_starved(statement);

        groat__str_add(out, text == NULL ? "" : (const char *)text);
        if (out->failed || starved)
            rc = SQLITE_NOMEM;
    }
    return rc;
}

int groat__row_newest(sqlite3 *db, const char *begin, unsigned skip,
                      groat__str *out)
{
    static const char select[] =
        "SELECT identity FROM entry "
        "WHERE substr(CAST(identity AS BLOB), 1, ?2) = ?1 "
        "AND instr(identity, 'option -fsanitize=address') = 0 "
        "ORDER BY created DESC, identity DESC LIMIT 1 OFFSET ?3";
    sqlite3_stmt *statement = NULL;
    size_t len = strlen(begin);
    int rc = sqlite3_prepare_v2(db, select, -1, &statement, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_bind_blob64(statement, 1, begin, len, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(statement, 2, (sqlite3_int64)len);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(statement, 3, skip);
    if (rc == SQLITE_OK)
        rc = take_identity(statement, out);
    (void)sqlite3_finalize(statement);
    return rc;
}

static bool has_both(const groat__str *text, const char *one, const char *other)
{
    return text->len > 0 && strstr(text->data, one) != NULL &&
           strstr(text->data, other) != NULL;
}

int groat__row_recent(sqlite3 *db, const char *one, const char *other,
                      groat__str *out)
{
    static const char select[] =
        "SELECT identity FROM entry ORDER BY used DESC LIMIT 64";
    groat__str found = {0};
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, select, -1, &statement, NULL);

    if (rc == SQLITE_OK)
        rc = take_identity(statement, &found);
    while (rc == SQLITE_ROW && !has_both(&found, one, other)) {
        groat__str_clear(&found);
        rc = take_identity(statement, &found);
    }
    if (rc == SQLITE_ROW)
        groat__str_add(out, found.data);
    (void)sqlite3_finalize(statement);
    groat__str_free(&found);
    return rc;
}

int groat__row_longest(sqlite3 *db, const char *text, double *ms)
{
    static const char select[] =
        "SELECT max(first) FROM usage JOIN entry USING (id) "
        "WHERE first >= 0 AND instr(identity, ?1) > 0";
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, select, -1, &statement, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(statement, 1, text, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW && sqlite3_column_type(statement, 0) == SQLITE_INTEGER)
        *ms = (double)sqlite3_column_int64(statement, 0) / 1000;
    (void)sqlite3_finalize(statement);
    return rc;
}

int groat__row_has(groat__store *store, const groat__digest *key,
                   const char *identity)
{
    sqlite3_stmt *get;
    int rc = groat__row_seek(store, key, &get);

    if (rc == SQLITE_ROW) {
        const char *own = (const char *)sqlite3_column_text(get, IDENTITY);

        if (own == NULL && groat__handle_starved(get))
            rc = SQLITE_NOMEM;
        else if (own == NULL || strcmp(own, identity) != 0)
            rc = SQLITE_DONE;
    }
    (void)sqlite3_reset(get);
    return rc;
}
