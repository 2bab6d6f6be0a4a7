/* SPDX-License-Identifier: Apache-2.0
 *
 * handle.c owns what every SQLite handle of the store and of bundles has in
 * common: the hardening against hostile files, the comparison of schemas, and
 * small statements.  Its callers choose the file.
 *
 * Invariant: texts of statements are fixed; only groat__handle_run writes.
 * Locking: none; the caller holds the lock of the handle's owner.
 */
#include "cache/internal.h"

#include <stdio.h>
#include <string.h>

static const char schema[] =
#include "cache/schema.inc"
    ;

void groat__handle_harden(sqlite3 *db)
{
    (void)sqlite3_extended_result_codes(db, 1);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, 0, NULL);
    (void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
}

int groat__handle_open_immutable(const char *path, sqlite3 **out)
{
    groat__str uri = {0};
    int rc = SQLITE_NOMEM;

    groat__handle_uri(&uri, path, "immutable=1");
    if (!uri.failed)
        rc = sqlite3_open_v2(uri.data, out,
                             SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX |
                                 SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_URI |
                                 SQLITE_OPEN_NOFOLLOW,
                             NULL);
    groat__str_free(&uri);
    return rc;
}

void groat__handle_keep_wal(sqlite3 *db, bool keep)
{
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, (int)keep,
                            NULL);
}

/* Some codes are the caller's own: then SQLite's last message is not used. */
const char *groat__handle_words(sqlite3 *db, int rc)
{
    if (db != NULL && (sqlite3_errcode(db) & 0xff) == (rc & 0xff))
        return sqlite3_errmsg(db);
    return sqlite3_errstr(rc);
}

const char *groat__handle_cause(sqlite3 *db, int rc)
{
    int primary = rc & 0xff;
    int code = db != NULL ? sqlite3_system_errno(db) : 0;

    return code != 0 && (primary == SQLITE_IOERR ||
                         primary == SQLITE_CANTOPEN || primary == SQLITE_FULL)
               ? strerror(code)
               : "";
}

int groat__handle_run(sqlite3_stmt *statement)
{
    int rc = sqlite3_step(statement);
    int end = sqlite3_reset(statement);

    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : end;
}

int groat__handle_step_number(sqlite3_stmt *statement, int64_t *out)
{
    int rc = sqlite3_step(statement);

    if (rc == SQLITE_ROW)
        *out = sqlite3_column_int64(statement, 0);
    (void)sqlite3_reset(statement);
    if (rc == SQLITE_ROW)
        return SQLITE_OK;
    return rc == SQLITE_DONE ? SQLITE_CORRUPT : rc;
}

int groat__handle_number(sqlite3 *db, const char *sql, int64_t *out)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

    if (rc == SQLITE_OK)
        rc = groat__handle_step_number(statement, out);
    (void)sqlite3_finalize(statement);
    return rc;
}

bool groat__handle_starved(sqlite3_stmt *statement)
{
    return groat__handle_no_memory(
        sqlite3_errcode(sqlite3_db_handle(statement)));
}

int groat__handle_check(sqlite3 *db)
{
    sqlite3_stmt *check = NULL;
    int rc =
        sqlite3_prepare_v2(db, "PRAGMA integrity_check(1)", -1, &check, NULL);

    if (rc != SQLITE_OK)
        return rc;
    rc = sqlite3_step(check);
    if (rc == SQLITE_ROW) {
        const char *word = (const char *)sqlite3_column_text(check, 0);

        if (word == NULL && groat__handle_starved(check))
            rc = SQLITE_NOMEM;
        else
            rc = word != NULL && strcmp(word, "ok") == 0 ? SQLITE_OK
                                                         : SQLITE_CORRUPT;
    }
    (void)sqlite3_finalize(check);
    return rc == SQLITE_DONE ? SQLITE_CORRUPT : rc;
}

int groat__handle_schema(sqlite3 *db, char mark[33])
{
    sqlite3_stmt *statement = NULL;
    groat__str all = {0};
    int rc = sqlite3_prepare_v2(
        db, "SELECT type, name, tbl_name, sql FROM sqlite_master", -1,
        &statement, NULL);

    while (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < 4; i++) {
            const unsigned char *text = sqlite3_column_text(statement, i);

            if (text == NULL && groat__handle_starved(statement))
                all.failed = true;
            groat__str_add(&all, text == NULL ? "-" : (const char *)text);
            groat__str_add(&all, "\n");
        }
        rc = all.failed ? SQLITE_NOMEM : SQLITE_OK;
    }
    (void)sqlite3_finalize(statement);
    groat__hex(mark, groat__hash128(all.data, all.len).bytes, 16);
    groat__str_free(&all);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Computes the mark of a fresh database after steps. */
static int make_mark(const char *steps, char mark[33])
{
    sqlite3 *fresh = NULL;
    int rc = sqlite3_open_v2(":memory:", &fresh,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_exec(fresh, steps, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = groat__handle_schema(fresh, mark);
    (void)sqlite3_close(fresh);
    return rc;
}

int groat__handle_same_schema(sqlite3 *db, const char *steps, const char *usual,
                              bool *same)
{
    char want[33] = "";
    char have[33] = "";
    int rc = groat__handle_schema(db, have);

    *same = rc == SQLITE_OK && strcmp(have, usual) == 0;
    if (rc != SQLITE_OK || *same)
        return rc;
    rc = make_mark(steps, want);
    *same = rc == SQLITE_OK && strcmp(have, want) == 0;
    return rc;
}

const char *groat__schema_after(int64_t version)
{
    char last[40];
    const char *at;

    if (version == 0)
        return schema;
    (void)snprintf(last, sizeof(last), "PRAGMA user_version = %lld;\n",
                   (long long)version);
    at = strstr(schema, last);
    return at == NULL ? schema + sizeof(schema) - 1 : at + strlen(last);
}

void groat__schema_steps(groat__str *out, int64_t version)
{
    groat__str_addn(out, schema,
                    (size_t)(groat__schema_after(version) - schema));
}

void groat__schema_entry(groat__str *out)
{
    static const char begin[] = "CREATE TABLE entry (";
    static const char end[] = ");\n";
    const char *from = strstr(schema, begin);

    if (from != NULL)
        groat__str_addn(out, from,
                        (size_t)(strstr(from, end) - from) + strlen(end));
}

void groat__handle_uri(groat__str *uri, const char *path, const char *query)
{
    /* After two slashes a host is expected, which may be empty. */
    groat__str_add(uri, *path == '/' ? "file://" : "file:");
    for (const char *at = path; *at != '\0'; at++) {
        if (strchr("%?#", *at) != NULL)
            groat__str_addf(uri, "%%%02x", (unsigned)(unsigned char)*at);
        else
            groat__str_addn(uri, at, 1);
    }
    groat__str_addf(uri, "?%s", query);
}
