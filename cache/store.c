/* SPDX-License-Identifier: Apache-2.0
 *
 * store.c owns open, close, put and evict of a store.  connection.c has the
 * file and its faults, get.c the look-up, row.c rows, stamps.c times of last
 * use, gc.c the byte bound.
 *
 * Invariant: an entry that a get returns has the identity that was asked for
 * and the checksum it was put with; any other is dropped and is a miss.  A hit
 * writes nothing.
 * Locking: each call locks the store once; see connection.c.
 */
#include "cache/internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

/* ---- open and close ---------------------------------------------------- */

static void store_free(groat__store *store)
{
    groat__str_free(&store->pending);
    free(store->dir);
    free(store->path);
    free(store->claims.path);
    free(store);
}

/* WAL needs memory that all users of a file share, which hosts do not have:
 * moves the store to a folder of this host if that can be used.  Returns the
 * folder that it left, which the caller frees; NULL: it stays, with the reason
 * in why, if there is more to say. */
static char *leave_network(groat__store *store, const char *local,
                           groat_error *why)
{
    const char *network = NULL;
    groat__place_share mine = {.on = false};
    char *left = store->dir;
    char *dir = NULL;

    if (local == NULL ||
        groat__place_prepare(local, &mine, &dir, &network, why) != GROAT_OK)
        return NULL;
    if (network != NULL) {
        free(dir);
        return NULL;
    }
    store->dir = dir;
    store->share = mine;
    return left;
}

static void say_network(groat__store *store, const char *network,
                        const char *left, const char *why)
{
    if (left != NULL)
        groat__store_say(store, GROAT__NOTE_ALWAYS,
                         "the store is of this host alone, instead of %s on "
                         "the network file system %s, which hosts cannot share "
                         "safely",
                         left, network);
    else
        groat__store_say(store, GROAT__NOTE_ALWAYS,
                         "the store is on the network file system %s, where "
                         "hosts cannot share it safely; set GROAT_CACHE_DIR "
                         "to a folder of a local disk%s%s",
                         network, *why == '\0' ? "" : "; ", why);
}

/* Makes a store without a connection. */
static groat_status store_new(const groat__store_options *options, int busy_ms,
                              groat__store **out, groat_error *error)
{
    groat__store *store = calloc(1, sizeof(*store));
    groat_error why = GROAT_ERROR_INIT;
    const char *network = NULL;
    char *left = NULL;
    groat__str path = {0};
    groat_status status;

    if (store == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for the store");
    store->log = options->log;
    store->max_bytes =
        options->max_bytes == 0 ? (uint64_t)1 << 30 : options->max_bytes;
    store->busy_ms = busy_ms;
    store->claims.wait_ms = GROAT__CLAIM_WAIT_MS;
    store->claims.fd = -1;
    store->share.on = options->share_group;
    status = groat__place_prepare(options->dir, &store->share, &store->dir,
                                  &network, error);
    if (status != GROAT_OK)
        goto free_store;
    if (network != NULL)
        left = leave_network(store, options->local, &why);
    groat__str_addf(&path, "%s/" GROAT__STORE_FILE, store->dir);
    store->path = groat__str_take(&path);
    groat__str_addf(&path, "%s/" GROAT__CLAIM_FILE, store->dir);
    store->claims.path = groat__str_take(&path);
    if (store->path == NULL || store->claims.path == NULL) {
        status = groat__fail(error, GROAT_NO_MEMORY, "no memory for the store");
        goto free_store;
    }
    if (network != NULL)
        say_network(store, network, left, why.text);
    *out = store;
    store = NULL;
free_store:
    if (store != NULL)
        store_free(store);
    groat_error_clear(&why);
    free(left);
    return status;
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
    status = store_new(options, busy_ms, &store, error);
    if (status != GROAT_OK)
        return status;
    if (pthread_mutex_init(&store->mutex, NULL) != 0) {
        store_free(store);
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a lock");
    }
    status = groat__sqlite_begin(error);
    if (status == GROAT_OK) {
        status = groat__store_may_open(store->path, error);
        if (status == GROAT_OK) {
            groat__store_enter(store);
            status = groat__connection_first(store, error);
            groat__store_leave(store);
        }
        groat__sqlite_leave();
    }
    if (status != GROAT_OK) {
        (void)pthread_mutex_destroy(&store->mutex);
        store_free(store);
        return status;
    }
    groat__store_enlist(store);
    *out = store;
    return GROAT_OK;
}

groat_status groat__store_open(const groat__store_options *options,
                               groat__store **out, groat_error *error)
{
    return groat__store_open_patient(options, GROAT__STORE_BUSY_MS, out, error);
}

/* Other processes may exit at the same time: not worth a long wait. */
static void write_last_stamps(groat__store *store)
{
    int rc;

    if (!store->stamped || store->read_only || store->glancing)
        return;
    groat__connection_hurry(store, true);
    rc = groat__connection_run(store, GROAT__SQL_BEGIN);
    if (rc == SQLITE_OK)
        rc = groat__stamps_write(store);
    if (rc == SQLITE_OK)
        (void)groat__connection_run(store, GROAT__SQL_COMMIT);
}

/* Opens a file of which only a view was needed so far: not where it has been
 * removed, without a long wait, and without a word. */
static void open_for_stamps(groat__store *store)
{
    if (groat__place_moved(store->path, store->device, store->inode))
        return;
    store->busy_ms /= 16;
    store->said = ~0U;
    (void)groat__connection_ready(store, NULL);
}

void groat__store_close(groat__store *store)
{
    if (store == NULL)
        return;
    groat__store_enter(store);
    if (store->glancing && store->stamped)
        open_for_stamps(store);
    if (store->db != NULL) {
        write_last_stamps(store);
        groat__connection_close(store);
    }
    groat__claims_close(store);
    groat__store_leave(store);
    groat__store_delist(store);
    (void)pthread_mutex_destroy(&store->mutex);
    store_free(store);
}

const char *groat__store_path(const groat__store *store)
{
    return store->path;
}

bool groat__store_is_new(const char *dir)
{
    groat__str path = {0};
    bool is_new;

    groat__str_addf(&path, "%s/%s", dir, GROAT__STORE_FILE);
    is_new = !path.failed && access(path.data, F_OK) != 0 && errno == ENOENT;
    groat__str_free(&path);
    return is_new;
}

void groat__store_show(groat__store *store, const groat__ranges *ranges)
{
    store->ranges = ranges;
}

/* ---- put and evict ----------------------------------------------------- */

/* Locked: writes a row, in place of one of its key. */
static int write_row(groat__store *store, const groat__row *row)
{
    sqlite3_stmt *put;
    int rc = groat__connection_statement(store, GROAT__SQL_PUT, &put);

    return rc == SQLITE_OK
               ? groat__row_insert(put, row, groat__stamp_now(store))
               : rc;
}

/* One transaction: writes stamps, which eviction needs, and rows; evicts. */
static int write_rows(groat__store *store, const groat__row *rows, size_t count)
{
    uint64_t max = store->max_bytes;
    uint64_t dropped = 0;
    int rc = groat__connection_run(store, GROAT__SQL_BEGIN);

    if (rc == SQLITE_OK)
        rc = groat__stamps_write(store);
    for (size_t i = 0; i < count && rc == SQLITE_OK; i++)
        rc = write_row(store, &rows[i]);
    if (rc == SQLITE_OK)
        rc = groat__gc_trim(store, max, max / 10 * 9, &rows[count - 1].id,
                            &dropped);
    if (rc == SQLITE_OK)
        rc = groat__connection_run(store, GROAT__SQL_COMMIT);
    if (rc != SQLITE_OK)
        return rc;
    groat__store_evicted(store, "bound", dropped);
    store->doubted = false;
    groat__connection_hurry(store, false);
    return dropped > 0 ? groat__gc_shrink(store) : SQLITE_OK;
}

static bool is_oversize(int rc)
{
    return (rc & 0xff) == SQLITE_TOOBIG;
}

/* A process that keeps the lock for ever costs a wait each time: after some in
 * a row, no put is tried for a while.  Gets go on: they do not wait. */
static void count_busy(groat__store *store, int rc)
{
    if ((rc & 0xff) != SQLITE_BUSY)
        store->busy_puts = 0;
    else if (++store->busy_puts >= GROAT__STORE_BUSY_PUTS)
        store->puts_after = groat__store_now() + GROAT__STORE_REST_MS;
}

/* Locked: puts a row, in place of one of its key.  False: a failure, which is
 * counted and logged. */
static bool put_row(groat__store *store, const groat__row *row)
{
    uint64_t size = groat__row_room(row);
    bool fits = size <= store->max_bytes && size <= INT_MAX / 2;
    int rc = SQLITE_TOOBIG;

    if (groat__connection_ready(store, NULL) != GROAT_OK)
        return false;
    if (store->read_only) {
        groat_error why = GROAT_ERROR_INIT;

        (void)groat__connection_read_only(store, &why);
        groat__store_say(store, GROAT__NOTE_READ_ONLY,
                         "read-only: new kernels are kept in memory only; %s",
                         why.text);
        groat_error_clear(&why);
        return false;
    }
    if (groat__store_now() < store->puts_after) {
        groat__store_faulted(store, "put");
        return false;
    }
    for (int i = 0; i < GROAT__STORE_TRIES && fits && rc != SQLITE_OK; i++) {
        rc = write_rows(store, row, 1);
        if (is_oversize(rc))
            break;
        if (rc != SQLITE_OK && !groat__connection_fault(store, rc, "put")) {
            count_busy(store, rc);
            return false;
        }
    }
    store->busy_puts = 0;
    if (is_oversize(rc)) {
        groat__connection_roll_back(store);
        groat__store_say(store, GROAT__NOTE_OVERSIZE,
                         "a kernel of %llu bytes does not fit the bound of "
                         "%llu bytes and is kept in memory only; raise "
                         "GROAT_CACHE_MAX_BYTES; reported once",
                         (unsigned long long)size,
                         (unsigned long long)store->max_bytes);
    }
    return rc == SQLITE_OK;
}

static bool put_alone(groat__store *store, const groat__row *row)
{
    bool stored;

    groat__store_enter(store);
    stored = put_row(store, row);
    groat__store_leave(store);
    return stored;
}

static groat__row checked_row(const groat__entry *entry)
{
    groat__row row = groat__row_of(entry);

    row.checksum = groat__row_checksum(&row);
    return row;
}

void groat__store_put(groat__store *store, const groat__digest *key,
                      const char *identity, const void *data, size_t bytes,
                      const char *log, const groat_facts *facts)
{
    static const groat_facts unknown = {-1, -1, -1, -1, -1, -1};
    const groat__entry entry = {
        *key, identity, log == NULL ? "" : log,
        data, bytes,    facts == NULL ? unknown : *facts};
    const groat__row row = checked_row(&entry);

    (void)put_alone(store, &row);
}

/* Locked.  False: the rows must be put one by one, which reports what is
 * wrong. */
static bool put_at_once(groat__store *store, const groat__row *rows,
                        size_t count)
{
    bool many = count == GROAT__PUT_MOST; /* more will follow */
    uint64_t room = 0;
    int rc;

    for (size_t i = 0; i < count; i++)
        room += groat__row_room(&rows[i]);
    if (room > store->max_bytes / 2 ||
        groat__connection_ready(store, NULL) != GROAT_OK || store->read_only ||
        groat__store_now() < store->puts_after)
        return false;
    if (many)
        groat__connection_keep_less(store, true);
    rc = write_rows(store, rows, count);
    groat__connection_roll_back(store);
    if (many)
        groat__connection_keep_less(store, false);
    return rc == SQLITE_OK;
}

/* Puts rows and says which are stored. */
static void put_batch(groat__store *store, const groat__row *rows, size_t count,
                      bool *stored)
{
    bool at_once;

    groat__store_enter(store);
    at_once = count > 1 && put_at_once(store, rows, count);
    groat__store_leave(store);
    for (size_t i = 0; i < count; i++)
        stored[i] = at_once || put_alone(store, &rows[i]);
}

static size_t find_key(const groat__row *rows, size_t count,
                       const groat__digest *key)
{
    size_t at = 0;

    while (at < count && memcmp(&rows[at].key, key, sizeof(*key)) != 0)
        at++;
    return at;
}

/* Looks before it asks for the lock to write, which another process may have:
 * what is there is not waited for. */
static void add_batch(groat__store *store, const groat__entry *entries,
                      size_t count, groat__addition *out)
{
    groat__sought sought[GROAT__PUT_MOST];
    bool held[GROAT__PUT_MOST];
    groat__row rows[GROAT__PUT_MOST];
    size_t row_of[GROAT__PUT_MOST];
    bool stored[GROAT__PUT_MOST];
    size_t absent = 0;

    for (size_t i = 0; i < count; i++)
        sought[i] = (groat__sought){entries[i].key, entries[i].identity};
    groat__store_held(store, sought, count, held);
    for (size_t i = 0; i < count; i++) {
        row_of[i] =
            held[i] ? GROAT__PUT_MOST : find_key(rows, absent, &entries[i].key);
        out[i] = row_of[i] == absent ? GROAT__ADDED : GROAT__ADD_HELD;
        if (out[i] == GROAT__ADDED)
            rows[absent++] = checked_row(&entries[i]);
    }
    if (absent > 0)
        put_batch(store, rows, absent, stored);
    for (size_t i = 0; i < count; i++)
        if (row_of[i] < absent && !stored[row_of[i]])
            out[i] = GROAT__ADD_FAILED;
}

void groat__store_add(groat__store *store, const groat__entry *entries,
                      size_t count, groat__addition *out)
{
    while (count > 0) {
        size_t some = count < GROAT__PUT_MOST ? count : GROAT__PUT_MOST;

        add_batch(store, entries, some, out);
        entries += some;
        out += some;
        count -= some;
    }
}

static int evict(groat__store *store, int64_t id, const void *data,
                 size_t bytes)
{
    sqlite3_stmt *drop;
    int rc = groat__connection_statement(store, GROAT__SQL_EVICT, &drop);

    if (rc != SQLITE_OK)
        return rc;
    (void)sqlite3_bind_int64(drop, 1, id);
    rc = sqlite3_bind_blob64(drop, 2, bytes == 0 ? "" : data, bytes,
                             SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = groat__handle_run(drop);
    (void)sqlite3_clear_bindings(drop);
    if (rc == SQLITE_OK)
        groat__store_evicted(store, "driver",
                             (uint64_t)sqlite3_changes(store->db));
    return rc;
}

void groat__store_evict(groat__store *store, const groat__digest *key,
                        const void *data, size_t bytes)
{
    int rc;

    groat__store_enter(store);
    if (groat__connection_ready(store, NULL) == GROAT_OK && !store->read_only) {
        rc = evict(store, groat__row_id(key), data, bytes);
        if (rc != SQLITE_OK)
            (void)groat__connection_fault(store, rc, "evict");
    }
    groat__store_leave(store);
}
