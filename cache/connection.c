/* SPDX-License-Identifier: Apache-2.0
 *
 * connection.c owns the one SQLite connection of a store: it opens and judges
 * the file, caches statements, and decides what a failed call means.  place.c
 * has modes and names of files, row.c has rows, glance.c has views.
 *
 * Invariant: db is NULL, a view, or belongs to the file (device, inode), whose
 * schema is schema.sql to the byte; no transaction is open when the store is
 * unlocked.  A file counts as damaged, and is set aside, when two connections
 * in turn find it so: SQLite says so, or the schema is foreign.  Any other
 * failure leaves it where it is.
 * Locking: one mutex per store around everything; lines are logged after it
 * is released.
 */
#include "cache/bundle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

/* The result of checking a file. */
typedef enum verdict {
    VERDICT_GOOD,
    VERDICT_DAMAGED,
    VERDICT_UNUSABLE, /* locked, unreadable, of a newer groat */
    VERDICT_UNREAD    /* there was no memory to read it */
} verdict;

/* How often a file must look damaged before it is set aside.  A single failed
 * read, or failed open for writing, looks the same as damage. */
enum { LOOKS = 2 };

static const char *const statements[GROAT__SQLS] = {
    [GROAT__SQL_BEGIN] = "BEGIN IMMEDIATE",
    [GROAT__SQL_BEGIN_READING] = "BEGIN",
    [GROAT__SQL_COMMIT] = "COMMIT",
    [GROAT__SQL_GET] = GROAT__ROW_GET,
    [GROAT__SQL_PUT] = "INSERT OR REPLACE " GROAT__ROW_INTO,
    [GROAT__SQL_DROP] = "DELETE FROM entry WHERE id = ?1",
    [GROAT__SQL_EVICT] = "DELETE FROM entry WHERE id = ?1 AND binary = ?2",
    [GROAT__SQL_STAMP] =
        "UPDATE entry SET used = ?2 WHERE id = ?1 AND used < ?2",
    [GROAT__SQL_SETTLE] = "UPDATE entry SET used = ?2 WHERE used > ?1",
    [GROAT__SQL_OLDEST] =
        "SELECT id FROM entry WHERE id IS NOT ?1 ORDER BY used LIMIT 1",
    [GROAT__SQL_PAGES] = "PRAGMA page_count",
    [GROAT__SQL_FREE_PAGES] = "PRAGMA freelist_count",
    [GROAT__SQL_VACUUM] = "PRAGMA incremental_vacuum",
    [GROAT__SQL_COUNT] =
        "INSERT INTO usage (id, uses, first) VALUES (?1, ?2, ?3) "
        "ON CONFLICT (id) DO UPDATE SET uses = uses + ?2, "
        "first = CASE WHEN first < 0 THEN ?3 ELSE first END",
    [GROAT__SQL_FORGET_USES] = "DELETE FROM usage WHERE id = ?1",
    [GROAT__SQL_USES] = "SELECT uses, first FROM usage WHERE id = ?1",
};

/* The page cache in KiB: for look-ups, the interior pages of some 10^5 entries;
 * while many rows are put less, since nobody reads their pages again. */
#define PAGES_TO_READ  "PRAGMA cache_size = -8192;"
#define PAGES_TO_WRITE "PRAGMA cache_size = -2048;"
#define SYNCHRONOUS    "PRAGMA synchronous = NORMAL;"

/* What the process that makes a file puts into it in this time, in ms, waits
 * for no disk: little is lost with it. */
enum { NEW_MS = 60000 };

/* No memory mapping: with it, a file that another process cuts short raises
 * SIGBUS here instead of an error.  secure_delete is on in some distributions
 * and would write every page that an eviction frees. */
static const char settings[] =
    "PRAGMA mmap_size = 0;" PAGES_TO_READ "PRAGMA cell_size_check = ON;"
    "PRAGMA secure_delete = OFF;"
    "PRAGMA temp_store = MEMORY;" SYNCHRONOUS "PRAGMA wal_autocheckpoint = 512;"
    "PRAGMA journal_size_limit = 4194304;";

/* Begins the transaction of an empty file's schema: on any other, the settings
 * would write to it.  BEGIN IMMEDIATE would make the first page without
 * auto_vacuum, which itself writes and takes the lock.  A typical binary with
 * its identity fits one page of 8 KiB: one read from the file. */
static const char begin_new[] = "PRAGMA page_size = 8192;"
                                "BEGIN;"
                                "PRAGMA auto_vacuum = INCREMENTAL;";
static const char begin_older[] = "BEGIN IMMEDIATE";

int64_t groat__store_now(void)
{
    return (int64_t)(groat__now_ns() / 1000000);
}

void groat__store_enter(groat__store *store)
{
    groat__sqlite_enter();
    (void)pthread_mutex_lock(&store->mutex);
    groat__fs_limit_begin(&store->limit);
}

void groat__store_leave(groat__store *store)
{
    groat__str lines = store->pending;
    groat__fs_limit limit = store->limit;

    memset(&store->pending, 0, sizeof(store->pending));
    groat__fs_limit_end(&limit);
    (void)pthread_mutex_unlock(&store->mutex);
    groat__sqlite_leave();
    for (char *line = lines.data; line != NULL && *line != '\0';) {
        char *end = strchr(line, '\n');

        if (end != NULL)
            *end = '\0';
        groat__log_line(&store->log, GROAT_LOG_WARNING, "%s", line);
        line = end == NULL ? NULL : end + 1;
    }
    groat__str_free(&lines);
}

void groat__store_say(groat__store *store, groat__note note, const char *format,
                      ...)
{
    unsigned bit = 1u << note;
    size_t start = store->pending.len;
    va_list args;

    if (note != GROAT__NOTE_ALWAYS && (store->said & bit) != 0)
        return;
    store->said |= bit;
    groat__str_addf(&store->pending, "store %s: ", store->path);
    va_start(args, format);
    groat__str_addv(&store->pending, format, args);
    va_end(args);
    if (store->pending.data != NULL) /* one line, whatever the path is */
        groat__one_line(store->pending.data + start);
    groat__str_add(&store->pending, "\n");
}

int groat__connection_prepare(groat__store *store, const char *sql,
                              sqlite3_stmt **out)
{
    return sqlite3_prepare_v2(store->db, sql, -1, out, NULL);
}

int groat__connection_statement(groat__store *store, groat__sql which,
                                sqlite3_stmt **out)
{
    sqlite3_stmt **kept = &store->statements[which];
    int rc = store->db != NULL ? SQLITE_OK : SQLITE_MISUSE;

    if (rc == SQLITE_OK && *kept == NULL)
        rc = sqlite3_prepare_v3(store->db, statements[which], -1,
                                SQLITE_PREPARE_PERSISTENT, kept, NULL);
    *out = *kept;
    return rc;
}

int groat__connection_run(groat__store *store, groat__sql which)
{
    sqlite3_stmt *statement;
    int rc = groat__connection_statement(store, which, &statement);

    return rc == SQLITE_OK ? groat__handle_run(statement) : rc;
}

void groat__connection_roll_back(const groat__store *store)
{
    if (sqlite3_get_autocommit(store->db) == 0)
        (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
}

/* Errors that mean a damaged file.  ERROR is one of them: the texts of the
 * statements are fixed, so they fail only on another schema. */
static bool is_damage(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
    case SQLITE_ERROR:
    case SQLITE_SCHEMA:
    case SQLITE_MISMATCH:
    case SQLITE_CONSTRAINT:
        return true;
    default:
        return false;
    }
}

static bool is_busy(int rc)
{
    rc &= 0xff;
    return rc == SQLITE_BUSY || rc == SQLITE_LOCKED || rc == SQLITE_PROTOCOL;
}

/* Compares the file's schema with that of its version. */
static int compare_schema(sqlite3 *db, bool *same)
{
    groat__str steps = {0};
    int64_t version = 0;
    int rc = groat__handle_number(db, "PRAGMA user_version", &version);

    groat__schema_steps(&steps, version);
    if (rc == SQLITE_OK && steps.failed)
        rc = SQLITE_NOMEM;
    if (rc == SQLITE_OK)
        rc = groat__handle_same_schema(db, steps.data, GROAT__STORE_MARK, same);
    groat__str_free(&steps);
    return rc;
}

/* Neither the file nor its folder can be written, as on a read-only mount:
 * SQLite cannot create its shared memory there, and needs none, since nobody
 * writes. */
static bool is_frozen(const groat__store *store)
{
    return !groat__place_writable(store->path) &&
           !groat__place_writable(store->dir);
}

static int open_handle(const groat__store *store, sqlite3 **out)
{
    int rc = is_frozen(store)
                 ? groat__handle_open_immutable(store->path, out)
                 : sqlite3_open_v2(store->path, out,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                                       SQLITE_OPEN_PRIVATECACHE |
                                       SQLITE_OPEN_NOFOLLOW,
                                   NULL);

    if (rc != SQLITE_OK)
        return rc;
    groat__handle_harden(*out);
    groat__handle_keep_wal(*out, true); /* until the file is known to be good */
    (void)sqlite3_busy_timeout(*out, store->busy_ms);
    return sqlite3_exec(*out, settings, NULL, NULL, NULL);
}

/* Runs the schema steps that the file lacks, unless another process does so
 * first. */
static int make_schema(sqlite3 *db, const char *begin)
{
    int64_t version = 0;
    int rc = sqlite3_exec(db, begin, NULL, NULL, NULL);

    if (rc == SQLITE_OK)
        rc = groat__handle_number(db, "PRAGMA user_version", &version);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, groat__schema_after(version), NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    if (rc != SQLITE_OK && sqlite3_get_autocommit(db) == 0)
        (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}

/* Locking fails although no process holds a lock.  SQLite finds that out by
 * trying for ten seconds. */
static bool is_lockless(int rc)
{
    return (rc & 0xff) == SQLITE_PROTOCOL;
}

/* SQLite does not always call its busy handler when it switches to WAL, and at
 * other times calls it in every try. */
static int switch_to_wal(sqlite3 *db, int busy_ms)
{
    int64_t end = groat__store_now() + busy_ms;
    int rc;

    for (;;) {
        rc = sqlite3_exec(db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
        if (!is_busy(rc) || is_lockless(rc) || groat__store_now() >= end)
            return rc;
        (void)sqlite3_sleep(5);
    }
}

static verdict judge(int rc)
{
    if (rc == SQLITE_OK)
        return VERDICT_GOOD;
    if (groat__handle_no_memory(rc))
        return VERDICT_UNREAD;
    return is_damage(rc) ? VERDICT_DAMAGED : VERDICT_UNUSABLE;
}

/* Tells whether a groat with more schema steps has written the file.  Every
 * step changes a table, so a higher number over tables that are ours to the
 * byte is a damaged number. */
static int judge_version(sqlite3 *db, int64_t version, bool *newer)
{
    bool same = false;
    int rc = SQLITE_OK;

    *newer = version > GROAT__STORE_SCHEMA && version < 1000;
    if (*newer)
        rc = compare_schema(db, &same);
    *newer = *newer && !same;
    return rc;
}

static void fail_use(const groat__store *store, sqlite3 *db, const char *call,
                     int rc, groat_error *error)
{
    const char *cause = groat__handle_cause(db, rc);

    if (groat__handle_no_memory(rc))
        (void)groat__fail(error, GROAT_NO_MEMORY, "no memory to open %s",
                          store->path);
    else
        (void)groat__fail_vendor(
            error, GROAT_IO, call, rc,
            "cannot use %s: %s (SQLite %d%s%s); if its folder "
            "cannot be written, set GROAT_CACHE_DIR",
            store->path, groat__handle_words(db, rc), rc,
            *cause != '\0' ? ": " : "", cause);
}

/* Judges the header; creates the schema in an empty file. */
static verdict judge_header(groat__store *store, sqlite3 *db, bool *older,
                            groat_error *error)
{
    int64_t id = 0;
    int64_t version = 0;
    int64_t items = 0;
    bool newer = false;
    bool empty;
    int rc = groat__handle_number(db, "PRAGMA application_id", &id);

    if (rc == SQLITE_OK)
        rc = groat__handle_number(db, "PRAGMA user_version", &version);
    if (rc == SQLITE_OK && id == GROAT__STORE_ID)
        rc = judge_version(db, version, &newer);
    if (rc == SQLITE_OK && newer) {
        (void)groat__fail(error, GROAT_IO,
                          "%s: written by a newer groat (schema %lld, this "
                          "one reads %d); set GROAT_CACHE_DIR to another "
                          "folder or remove the file",
                          store->path, (long long)version, GROAT__STORE_SCHEMA);
        groat__handle_keep_wal(db, false); /* the file could be read */
        return VERDICT_UNUSABLE;
    }
    if (rc == SQLITE_OK)
        rc = groat__handle_number(db, "SELECT count(*) FROM sqlite_master",
                                  &items);
    empty = id == 0 && version == 0 && items == 0;
    if (rc == SQLITE_OK && !empty &&
        (id != GROAT__STORE_ID || version < 1 || version > GROAT__STORE_SCHEMA))
        rc = SQLITE_NOTADB;
    if (rc == SQLITE_OK && empty) {
        store->synced_from = groat__store_now() + NEW_MS;
        rc = sqlite3_exec(db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    }
    if (rc == SQLITE_OK && empty)
        rc = make_schema(db, begin_new);
    *older = !empty && version < GROAT__STORE_SCHEMA;
    if (rc != SQLITE_OK)
        fail_use(store, db, "sqlite3_step", rc, error);
    return judge(rc);
}

/* Opens store->path and fills db. */
static verdict connect_file(groat__store *store, groat_error *error)
{
    sqlite3 *db = NULL;
    bool older = false;
    bool same = false;
    verdict result;
    int rc;

    store->synced_from = 0;
    if (is_frozen(store) && groat__place_has_journal(store->path)) {
        (void)groat__fail(
            error, GROAT_IO,
            "%s is read-only and its write-ahead log (the file -wal) still has "
            "rows; run groat cache stat once where the file can be written",
            store->path);
        return VERDICT_UNUSABLE;
    }
    rc = open_handle(store, &db);
    if (rc != SQLITE_OK)
        goto close_db;
    result = judge_header(store, db, &older, error);
    if (result != VERDICT_GOOD) {
        (void)sqlite3_close(db);
        return result;
    }
    store->read_only = sqlite3_db_readonly(db, "main") == 1;
    /* SQLite also opens a file read-only if its format number is damaged. */
    if (store->read_only && groat__place_writable(store->path))
        rc = SQLITE_NOTADB;
    else if (!store->read_only)
        rc = switch_to_wal(db, store->busy_ms);
    if (rc == SQLITE_OK && older && !store->read_only)
        rc = make_schema(db, begin_older);
    if (rc == SQLITE_OK)
        rc = groat__handle_number(db, "PRAGMA page_size", &store->page_bytes);
    if (rc == SQLITE_OK)
        rc = compare_schema(db, &same);
    if (rc == SQLITE_OK && !same)
        rc = SQLITE_CORRUPT;
    store->db = db;
    if (rc == SQLITE_OK) {
        groat__handle_keep_wal(db, false);
        (void)groat__place_companion(store->path, "-wal", &store->wal);
        (void)groat__place_companion(store->path, "-shm", &store->shm);
        return VERDICT_GOOD;
    }
close_db:
    fail_use(store, db, "sqlite3_open_v2", rc, error);
    store->db = db;
    groat__connection_close(store);
    return judge(rc);
}

/* Moves the file out of the way unless another process has done so. */
static groat_status set_aside(groat__store *store, groat_error *error)
{
    groat_status status;
    char *aside = NULL;

    if (groat__place_moved(store->path, store->device, store->inode))
        return GROAT_OK;
    status = groat__place_set_aside(store->dir, store->path, &aside, error);
    if (status != GROAT_OK)
        return status;
    groat__store_say(store, GROAT__NOTE_ALWAYS,
                     "the file is damaged or is not a store; it was set aside "
                     "as %s, and a new store is made",
                     aside == NULL ? "groat.sqlite.damaged-*" : aside);
    free(aside);
    return GROAT_OK;
}

/* An empty file was cut short, or its maker was killed: makers hold the lock of
 * the folder until the file is a store. */
static bool is_hollow(groat__store *store)
{
    struct stat st;

    if (lstat(store->path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size != 0)
        return false;
    store->device = st.st_dev;
    store->inode = st.st_ino;
    return true;
}

static bool has_index(const groat__store *store)
{
    ino_t shm;

    return groat__place_companion(store->path, "-shm", &shm) && shm != 0;
}

groat_status groat__connection_open(groat__store *store, bool damaged,
                                    groat_error *error)
{
    groat_status status = GROAT_OK;
    verdict result = VERDICT_DAMAGED;
    int lock = groat__place_lock(store->dir, store->busy_ms);
    bool hollow = is_hollow(store);
    /* Cut short while a process has it open: the -shm, which that process
     * shares with others, no longer describes the file. */
    bool stale = hollow && has_index(store);
    int bad = damaged || stale ? LOOKS : 0;
    bool aside = false;

    while (result == VERDICT_DAMAGED && (bad < LOOKS || !aside)) {
        if (bad >= LOOKS) {
            /* A fault that a call has found was counted there. */
            if (!damaged)
                groat__store_faulted(store, "damage");
            status = set_aside(store, error);
            aside = true;
            bad = 0;
        }
        if (status == GROAT_OK)
            status = groat__place_file(store->path, &store->share,
                                       &store->device, &store->inode, error);
        if (status != GROAT_OK)
            break;
        result = connect_file(store, error);
        bad++;
    }
    groat__place_unlock(lock);
    if (status == GROAT_OK && result != VERDICT_GOOD)
        status = result == VERDICT_UNREAD ? GROAT_NO_MEMORY : GROAT_IO;
    else if (status == GROAT_OK)
        groat_error_clear(error);
    if (status == GROAT_OK && hollow && !stale) {
        groat__store_faulted(store, "empty");
        groat__store_say(store, GROAT__NOTE_ALWAYS,
                         "the file was empty: cut short, or left so by a "
                         "process that was killed; a new store is made in it");
    }
    return status;
}

/* Returns whether a companion is not the one that the connection has; false if
 * that is unknown. */
static bool has_other(const groat__store *store, const char *suffix, ino_t own)
{
    ino_t now;

    return own != 0 && groat__place_companion(store->path, suffix, &now) &&
           now != own;
}

/* Returns whether the connection's files are no longer those at the path. */
static bool is_replaced(const groat__store *store)
{
    return groat__place_moved(store->path, store->device, store->inode) ||
           has_other(store, "-wal", store->wal) ||
           has_other(store, "-shm", store->shm);
}

/* Lets writes wait for the disk once the file is no longer new. */
static void settle(groat__store *store)
{
    if (store->db != NULL && store->synced_from != 0 &&
        groat__store_now() >= store->synced_from &&
        sqlite3_exec(store->db, SYNCHRONOUS, NULL, NULL, NULL) == SQLITE_OK)
        store->synced_from = 0;
}

void groat__connection_close(groat__store *store)
{
    if (!store->inherited) /* a child's close copies nothing */
        settle(store);
    /* Rows of a -wal that others do not see must not get into the file. */
    if (store->db != NULL && is_replaced(store))
        groat__handle_keep_wal(store->db, true);
    for (int i = 0; i < GROAT__SQLS; i++) {
        (void)sqlite3_finalize(store->statements[i]);
        store->statements[i] = NULL;
    }
    (void)sqlite3_close(store->db);
    store->db = NULL;
    store->glancing = store->checked = false;
    store->suspected = false;
    store->impatient = false;
}

/* Closes a connection that has failed, or whose file has gone. */
static void drop(groat__store *store)
{
    if (store->db != NULL)
        groat__handle_keep_wal(store->db, true);
    groat__connection_close(store);
}

static void rest(groat__store *store)
{
    store->rest_until = groat__store_now() + GROAT__STORE_REST_MS;
}

/* Goes on without a file.  If finding that out takes long, later calls do not
 * try again for a while. */
static void do_without(groat__store *store, const groat_error *why)
{
    if (is_busy(why->vendor_code))
        rest(store);
    groat__store_faulted(store, "opening");
    groat__store_say(store, GROAT__NOTE_IO,
                     "kernels are kept in memory only: %s", why->text);
}

groat_status groat__connection_first(groat__store *store, groat_error *error)
{
    groat_error own = GROAT_ERROR_INIT;
    groat_status status = groat__glance_begin(store)
                              ? GROAT_OK
                              : groat__connection_open(store, false, &own);
    int rc = own.vendor_code & 0xff;

    if (status != GROAT_OK &&
        (is_busy(rc) || rc == SQLITE_IOERR || rc == SQLITE_FULL)) {
        do_without(store, &own);
        status = GROAT_OK;
    }
    if (status != GROAT_OK)
        groat__error_copy(error, &own);
    groat_error_clear(&own);
    return status;
}

/* Closes the connection at hand and opens the file again. */
static groat_status reconnect(groat__store *store, bool damaged,
                              groat_error *error)
{
    groat_error own = GROAT_ERROR_INIT;
    const char *network = NULL;
    char *resolved = NULL;
    groat_status status;

    drop(store);
    /* The folder may have been removed under a store that is open. */
    status = groat__place_prepare(store->dir, &store->share, &resolved,
                                  &network, &own);
    free(resolved);
    if (status == GROAT_OK)
        status = groat__connection_open(store, damaged, &own);
    if (status != GROAT_OK) {
        do_without(store, &own);
        groat__error_copy(error, &own);
    }
    groat_error_clear(&own);
    return status;
}

groat_status groat__connection_ready(groat__store *store, groat_error *error)
{
    if (store->db == NULL && groat__store_now() < store->rest_until) {
        groat__store_faulted(store, "lock");
        return groat__fail(error, GROAT_IO,
                           "%s cannot be locked; it is tried again within %d "
                           "seconds",
                           store->path, GROAT__STORE_REST_MS / 1000);
    }
    settle(store);
    /* A read-only file may have become writable. */
    if (store->db != NULL && !store->glancing && !is_replaced(store) &&
        !(store->read_only && groat__place_writable(store->path)))
        return GROAT_OK;
    return reconnect(store, false, error);
}

groat_status groat__store_begin(groat__store *store, groat_error *error)
{
    groat_status status;

    groat__store_enter(store);
    status = groat__connection_ready(store, error);
    if (status != GROAT_OK)
        groat__store_leave(store);
    return status;
}

groat_status groat__connection_read_only(const groat__store *store,
                                         groat_error *error)
{
    if (groat__place_writable(store->path))
        return groat__fail(error, GROAT_IO,
                           "%s is read-only, as its folder cannot be written; "
                           "run: chmod u+w on the folder",
                           store->path);
    if (errno == EROFS)
        return groat__fail(error, GROAT_IO,
                           "%s is on a file system that is mounted read-only; "
                           "set GROAT_CACHE_DIR to a folder of another one",
                           store->path);
    return groat__fail(error, GROAT_IO, "%s is read-only; run: chmod 600 %s",
                       store->path, store->path);
}

groat_status groat__store_begin_writing(groat__store *store, groat_error *error)
{
    groat_status status = groat__store_begin(store, error);

    if (status != GROAT_OK || !store->read_only)
        return status;
    groat__store_leave(store);
    return groat__connection_read_only(store, error);
}

void groat__connection_hurry(groat__store *store, bool hurry)
{
    store->impatient = hurry;
    (void)sqlite3_busy_timeout(store->db,
                               hurry ? store->busy_ms / 16 : store->busy_ms);
}

void groat__connection_keep_less(groat__store *store, bool less)
{
    (void)sqlite3_exec(store->db, less ? PAGES_TO_WRITE : PAGES_TO_READ, NULL,
                       NULL, NULL);
}

static groat__note note_of(int rc)
{
    if (is_damage(rc))
        return GROAT__NOTE_DAMAGE;
    if (is_busy(rc))
        return GROAT__NOTE_BUSY;
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return GROAT__NOTE_FULL;
    case SQLITE_NOMEM:
        return GROAT__NOTE_MEMORY;
    case SQLITE_READONLY:
        return GROAT__NOTE_READ_ONLY;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_NOLFS:
        return GROAT__NOTE_IO;
    default:
        return GROAT__NOTE_OTHER;
    }
}

/* SQLite reports a page number beyond its limit as FULL, which damage may
 * cause.  The pages are checked once, if the disk has room. */
static bool hides_damage(groat__store *store, int rc)
{
    if ((rc & 0xff) != SQLITE_FULL || store->suspected ||
        !groat__place_has_room(store->dir))
        return false;
    store->suspected = true;
    return is_damage(groat__handle_check(store->db));
}

bool groat__connection_fault(groat__store *store, int rc, const char *doing)
{
    groat__store_faulted(store, doing);
    groat__store_say(store, note_of(rc),
                     "%s failed: %s (SQLite %d); the kernel is compiled or "
                     "kept in memory instead; reported once",
                     doing, groat__handle_words(store->db, rc), rc);
    groat__connection_roll_back(store);
    if (is_replaced(store)) {
        store->doubted = false;
        return reconnect(store, false, NULL) == GROAT_OK;
    }
    if (is_damage(rc) || hides_damage(store, rc)) {
        bool again = store->doubted;

        store->doubted = !again;
        return reconnect(store, again, NULL) == GROAT_OK;
    }
    if (is_lockless(rc)) {
        drop(store);
        rest(store);
        return false;
    }
    /* The holder of such a long lock may be stopped: the next calls wait less,
     * until one succeeds. */
    if (is_busy(rc))
        groat__connection_hurry(store, true);
    return false;
}

groat_status groat__connection_fail(groat__store *store, int rc,
                                    const char *doing, bool *again,
                                    groat_error *error)
{
    groat_status status;
    bool fit = false;

    if (groat__handle_no_memory(rc)) {
        status = groat__fail(error, GROAT_NO_MEMORY, "no memory for %s of %s",
                             doing, store->path);
        groat__connection_roll_back(store);
    } else {
        status = groat__fail_vendor(error, GROAT_IO, "sqlite3_step", rc,
                                    "%s of %s failed: %s (SQLite %d)", doing,
                                    store->path,
                                    groat__handle_words(store->db, rc), rc);
        fit = groat__connection_fault(store, rc, doing);
    }
    if (again != NULL)
        *again = fit;
    return status;
}
