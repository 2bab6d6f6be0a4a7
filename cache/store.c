/* SPDX-License-Identifier: Apache-2.0
 *
 * store.c owns the life of a store and its hot calls: get, put, evict.  The
 * file and its faults are connection.c's, times of last use stamps.c's, the
 * byte bound gc.c's.
 *
 * Invariant: what get hands out has the identity that was asked for and the
 * seal it was put with; anything else is dropped and is a miss.  A hit writes
 * nothing.
 * Locking: each call locks the store once; see connection.c.
 */
#include "cache/internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

/* ---- rows -------------------------------------------------------------- */

enum { FACTS = 6 };

int64_t groat__row_id(const groat__digest *key)
{
    uint64_t id = 0;
    int64_t result;

    for (int i = 0; i < 8; i++)
        id = id << 8 | key->bytes[i];
    /* Signed order is that of the bytes once the top bit is turned. */
    id ^= (uint64_t)1 << 63;
    memcpy(&result, &id, sizeof(result));
    return result;
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

bool groat__row_read(sqlite3_stmt *statement, groat__row *row)
{
    int64_t *const numbers[FACTS] = {
        &row->facts.registers,   &row->facts.sgprs,
        &row->facts.spill_bytes, &row->facts.shared_bytes,
        &row->facts.code_bytes,  &row->facts.max_threads,
    };
    const int binary = 14;
    int64_t bytes = sqlite3_column_int64(statement, 4);

    memset(row, 0, sizeof(*row));
    row->id = sqlite3_column_int64(statement, 0);
    row->used = sqlite3_column_int64(statement, 2);
    row->created = sqlite3_column_int64(statement, 3);
    for (int i = 0; i < FACTS; i++)
        *numbers[i] = sqlite3_column_int64(statement, 6 + i);
    if (bytes < 0 || bytes > INT_MAX || !read_digest(statement, 1, &row->key) ||
        !read_digest(statement, 5, &row->seal) ||
        !read_text(statement, 12, &row->identity, &row->identity_len) ||
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

/* In the order of their columns, which is that of the seal, too. */
static void list_facts(const groat_facts *facts, int64_t out[FACTS])
{
    out[0] = facts->registers;
    out[1] = facts->sgprs;
    out[2] = facts->spill_bytes;
    out[3] = facts->shared_bytes;
    out[4] = facts->code_bytes;
    out[5] = facts->max_threads;
}

groat__digest groat__row_seal(const groat__row *row)
{
    int64_t facts[FACTS];
    const groat__digest parts[4] = {
        row->key,
        groat__hash128(row->identity, row->identity_len),
        groat__hash128(row->log, row->log_len),
        groat__hash128(row->bytes == 0 ? "" : row->data, row->bytes),
    };
    uint8_t text[sizeof(parts) + sizeof(facts)];

    list_facts(&row->facts, facts);
    memcpy(text, parts, sizeof(parts));
    for (size_t i = 0; i < sizeof(facts); i++)
        text[sizeof(parts) + i] =
            (uint8_t)((uint64_t)facts[i / 8] >> (8 * (i % 8)));
    return groat__hash128(text, sizeof(text));
}

int groat__row_drop(groat__store *store, int64_t id, uint64_t *dropped)
{
    sqlite3_stmt *drop = store->statements[GROAT__SQL_DROP];
    sqlite3_stmt *uses = store->statements[GROAT__SQL_FORGET_USES];
    int rc;

    (void)sqlite3_bind_int64(drop, 1, id);
    rc = groat__connection_run(drop);
    if (rc != SQLITE_OK)
        return rc;
    *dropped += (uint64_t)sqlite3_changes(store->db);
    (void)sqlite3_bind_int64(uses, 1, id);
    return groat__connection_run(uses);
}

/* ---- open and close ---------------------------------------------------- */

static void store_free(groat__store *store)
{
    groat__str_free(&store->pending);
    free(store->dir);
    free(store->path);
    free(store);
}

/* Everything but the connection. */
static groat_status store_new(const groat__store_options *options, int busy_ms,
                              groat__store **out, groat_error *error)
{
    groat__store *store = calloc(1, sizeof(*store));
    const char *network = NULL;
    groat__str path = {0};
    groat_status status;

    if (store == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for the store");
    store->log = options->log;
    store->max_bytes =
        options->max_bytes == 0 ? (uint64_t)1 << 30 : options->max_bytes;
    store->busy_ms = busy_ms;
    store->lease.beat_ms = GROAT__LEASE_BEAT_MS;
    store->lease.stale_ms = GROAT__LEASE_STALE_MS;
    store->lease.wait_ms = GROAT__LEASE_WAIT_MS;
    atomic_init(&store->pid, (int)getpid());
    status = groat__place_prepare(options->dir, &store->dir, &network, error);
    if (status != GROAT_OK)
        goto free_store;
    groat__str_addf(&path, "%s/" GROAT__STORE_FILE, store->dir);
    store->path = groat__str_take(&path);
    if (store->path == NULL) {
        status = groat__fail(error, GROAT_NO_MEMORY, "no memory for the store");
        goto free_store;
    }
    if (network != NULL)
        groat__store_say(store, GROAT__NOTE_ALWAYS,
                         "on a network file system (%s), where hosts cannot "
                         "share it safely; set GROAT_CACHE_DIR to a folder of "
                         "a local disk",
                         network);
    *out = store;
    return GROAT_OK;
free_store:
    store_free(store);
    return status;
}

static bool init_locks(groat__store *store)
{
    if (pthread_mutex_init(&store->mutex, NULL) != 0)
        return false;
    if (groat__renewer_bell(&store->lease.bell))
        return true;
    (void)pthread_mutex_destroy(&store->mutex);
    return false;
}

static void destroy_locks(groat__store *store)
{
    (void)pthread_cond_destroy(&store->lease.bell);
    (void)pthread_mutex_destroy(&store->mutex);
}

groat_status groat__store_open_patient(const groat__store_options *options,
                                       int busy_ms, groat__store **out,
                                       groat_error *error)
{
    groat__store *store = NULL;
    groat_status status;

    if (options->dir == NULL || options->dir[0] == '\0')
        return groat__fail(error, GROAT_INVALID,
                           "the store needs a folder; none was given");
    if (sqlite3_threadsafe() == 0)
        return groat__fail(error, GROAT_IO,
                           "this SQLite (%s) is built without threads",
                           sqlite3_libversion());
    status = store_new(options, busy_ms, &store, error);
    if (status != GROAT_OK)
        return status;
    if (!init_locks(store)) {
        store_free(store);
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for locks");
    }
    (void)groat__store_enter(store);
    status = groat__connection_open(store, false, error);
    groat__store_leave(store);
    if (status != GROAT_OK) {
        destroy_locks(store);
        store_free(store);
        return status;
    }
    *out = store;
    return GROAT_OK;
}

groat_status groat__store_open(const groat__store_options *options,
                               groat__store **out, groat_error *error)
{
    return groat__store_open_patient(options, GROAT__STORE_BUSY_MS, out, error);
}

/* Other processes may end at the same time: not worth a long wait. */
static void write_last_stamps(groat__store *store)
{
    int rc;

    if (!store->stamped || store->read_only)
        return;
    groat__connection_hurry(store, true);
    rc = groat__connection_run(store->statements[GROAT__SQL_BEGIN]);
    if (rc == SQLITE_OK)
        rc = groat__stamps_write(store);
    if (rc == SQLITE_OK)
        (void)groat__connection_run(store->statements[GROAT__SQL_COMMIT]);
}

void groat__store_close(groat__store *store)
{
    /* In a child that could not take it over, the parent's SQLite memory stays
     * as it is; freeing what points to it would lose it. */
    if (store == NULL || !groat__store_enter(store))
        return;
    if (store->db != NULL) {
        write_last_stamps(store);
        groat__connection_close(store);
    }
    groat__store_leave(store);
    destroy_locks(store);
    store_free(store);
}

const char *groat__store_path(const groat__store *store)
{
    return store->path;
}

void groat__store_blob_free(groat__store_blob *blob)
{
    if (blob == NULL)
        return;
    free(blob->data);
    free(blob->log);
    memset(blob, 0, sizeof(*blob));
}

/* ---- get --------------------------------------------------------------- */

static int copy_out(const groat__row *row, groat__store_blob *out)
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
    return SQLITE_OK;
}

/* An entry that is not what it should be: dropped, counted, said once. */
static void drop_bad(groat__store *store, const groat__digest *key, int64_t id,
                     bool mistaken)
{
    char hex[33];
    int rc = SQLITE_OK;

    groat__hex(hex, key->bytes, sizeof(key->bytes));
    store->faults++;
    groat__store_say(store, mistaken ? GROAT__NOTE_IDENTITY : GROAT__NOTE_ENTRY,
                     "entry %s %s; dropped, the kernel is compiled again; said "
                     "once",
                     hex,
                     mistaken ? "has another identity than the one asked for"
                              : "is damaged");
    if (!store->read_only)
        rc = groat__row_drop(store, id, &store->evictions);
    if (rc != SQLITE_OK)
        (void)groat__connection_fault(store, rc, "dropping an entry");
}

typedef enum finding {
    FOUND_NONE,
    FOUND_GOOD,
    FOUND_DAMAGED,
    FOUND_MISTAKEN
} finding;

static finding judge_row(sqlite3_stmt *get, const groat__digest *key,
                         const char *identity, groat__row *row)
{
    groat__digest seal;

    if (!groat__row_read(get, row) || memcmp(&row->key, key, sizeof(*key)) != 0)
        return FOUND_DAMAGED;
    if (row->identity_len != strlen(identity) ||
        memcmp(row->identity, identity, row->identity_len) != 0)
        return FOUND_MISTAKEN;
    seal = groat__row_seal(row);
    return memcmp(&seal, &row->seal, sizeof(seal)) == 0 ? FOUND_GOOD
                                                        : FOUND_DAMAGED;
}

/* Looks a key up with the store locked. */
static bool lookup(groat__store *store, const groat__digest *key,
                   const char *identity, groat__store_blob *out)
{
    sqlite3_stmt *get = store->statements[GROAT__SQL_GET];
    finding found = FOUND_NONE;
    groat__row row = {0};
    int rc;

    (void)sqlite3_bind_int64(get, 1, groat__row_id(key));
    rc = sqlite3_step(get);
    if (rc == SQLITE_ROW) {
        found = judge_row(get, key, identity, &row);
        rc = found == FOUND_GOOD ? copy_out(&row, out) : SQLITE_DONE;
    }
    (void)sqlite3_reset(get);
    if (rc != SQLITE_OK && rc != SQLITE_DONE)
        (void)groat__connection_fault(store, rc, "get");
    else if (found == FOUND_DAMAGED || found == FOUND_MISTAKEN)
        drop_bad(store, key, row.id, found == FOUND_MISTAKEN);
    return rc == SQLITE_OK;
}

bool groat__store_find(groat__store *store, const groat__digest *key,
                       const char *identity, groat__store_blob *out)
{
    bool hit = store->db != NULL && lookup(store, key, identity, out);

    if (hit) {
        store->hits++;
        groat__stamp_use(store, groat__row_id(key));
    } else {
        store->misses++;
    }
    return hit;
}

bool groat__store_get(groat__store *store, const groat__digest *key,
                      const char *identity, groat__store_blob *out)
{
    groat__store_blob blob = {0};
    bool hit;

    if (!groat__store_enter(store))
        return false;
    hit = groat__store_find(store, key, identity, &blob);
    groat__store_leave(store);
    if (hit)
        *out = blob;
    return hit;
}

/* ---- put and evict ----------------------------------------------------- */

static int insert_row(groat__store *store, const groat__row *row)
{
    sqlite3_stmt *put = store->statements[GROAT__SQL_PUT];
    int64_t facts[FACTS];
    int rc = sqlite3_bind_blob(put, 1, row->key.bytes, sizeof(row->key.bytes),
                               SQLITE_STATIC);

    list_facts(&row->facts, facts);
    (void)sqlite3_bind_int64(put, 14, row->id);
    (void)sqlite3_bind_int64(put, 2, groat__stamp_now(store));
    (void)sqlite3_bind_int64(put, 3, (int64_t)row->bytes);
    (void)sqlite3_bind_blob(put, 4, row->seal.bytes, sizeof(row->seal.bytes),
                            SQLITE_STATIC);
    for (int i = 0; i < FACTS; i++)
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
        rc = groat__connection_run(put);
    (void)sqlite3_clear_bindings(put);
    return rc;
}

/* One transaction: stamps, so that eviction sees them; the row, in the place
 * of the lease on it; the bound. */
static int write_row(groat__store *store, const groat__row *row)
{
    uint64_t max = store->max_bytes;
    uint64_t dropped = 0;
    int rc = groat__connection_run(store->statements[GROAT__SQL_BEGIN]);

    if (rc == SQLITE_OK)
        rc = groat__stamps_write(store);
    if (rc == SQLITE_OK)
        rc = insert_row(store, row);
    if (rc == SQLITE_OK)
        rc = groat__lease_drop(store, row->id, NULL);
    if (rc == SQLITE_OK)
        rc = groat__gc_trim(store, max, max / 10 * 9, &row->id, &dropped);
    if (rc == SQLITE_OK)
        rc = groat__connection_run(store->statements[GROAT__SQL_COMMIT]);
    if (rc != SQLITE_OK)
        return rc;
    store->evictions += dropped;
    groat__connection_hurry(store, false);
    return dropped > 0 ? groat__gc_shrink(store) : SQLITE_OK;
}

static bool is_oversize(int rc)
{
    return (rc & 0xff) == SQLITE_TOOBIG;
}

static void put_row(groat__store *store, const groat__row *row)
{
    uint64_t size = row->bytes + row->identity_len + row->log_len;
    int rc = SQLITE_TOOBIG;

    if (groat__connection_ready(store, NULL) != GROAT_OK)
        return;
    if (store->read_only) {
        groat__store_say(store, GROAT__NOTE_READ_ONLY,
                         "read-only: new kernels are kept in memory only; "
                         "run: chmod 600 %s",
                         store->path);
        return;
    }
    if (size <= store->max_bytes && size <= INT_MAX / 2)
        rc = write_row(store, row);
    if (rc != SQLITE_OK && !is_oversize(rc)) {
        if (!groat__connection_fault(store, rc, "put"))
            return;
        rc = write_row(store, row);
    }
    if (is_oversize(rc)) {
        if (sqlite3_get_autocommit(store->db) == 0)
            (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
        groat__store_say(store, GROAT__NOTE_OVERSIZE,
                         "a kernel of %llu bytes does not fit the bound of "
                         "%llu bytes and is kept in memory only; raise "
                         "GROAT_CACHE_MAX_BYTES; said once",
                         (unsigned long long)size,
                         (unsigned long long)store->max_bytes);
    } else if (rc != SQLITE_OK) {
        (void)groat__connection_fault(store, rc, "put");
    }
}

void groat__store_put(groat__store *store, const groat__digest *key,
                      const char *identity, const void *data, size_t bytes,
                      const char *log, const groat_facts *facts)
{
    static const groat_facts unknown = {-1, -1, -1, -1, -1, -1};
    groat__row row = {0};

    row.id = groat__row_id(key);
    row.key = *key;
    row.facts = facts == NULL ? unknown : *facts;
    row.identity = identity;
    row.identity_len = strlen(identity);
    row.log = log == NULL ? "" : log;
    row.log_len = strlen(row.log);
    row.data = data;
    row.bytes = bytes;
    row.seal = groat__row_seal(&row);
    if (!groat__store_enter(store))
        return;
    put_row(store, &row);
    groat__store_leave(store);
}

static int evict(groat__store *store, int64_t id, const void *data,
                 size_t bytes)
{
    sqlite3_stmt *drop = store->statements[GROAT__SQL_EVICT];
    int rc;

    (void)sqlite3_bind_int64(drop, 1, id);
    rc = sqlite3_bind_blob64(drop, 2, bytes == 0 ? "" : data, bytes,
                             SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = groat__connection_run(drop);
    (void)sqlite3_clear_bindings(drop);
    if (rc == SQLITE_OK)
        store->evictions += (uint64_t)sqlite3_changes(store->db);
    return rc;
}

void groat__store_evict(groat__store *store, const groat__digest *key,
                        const void *data, size_t bytes)
{
    int rc;

    if (!groat__store_enter(store))
        return;
    if (store->db != NULL && !store->read_only) {
        rc = evict(store, groat__row_id(key), data, bytes);
        if (rc != SQLITE_OK)
            (void)groat__connection_fault(store, rc, "evict");
    }
    groat__store_leave(store);
}
