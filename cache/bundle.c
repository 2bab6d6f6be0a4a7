/* SPDX-License-Identifier: Apache-2.0
 *
 * bundle.c owns bundles that are read: it opens and judges a file or an image,
 * and looks entries up.  bundle_write.c writes bundles, sign.c checks
 * signatures, and the caller decides which keys to trust.
 *
 * Invariant: nothing is written and no file lock is taken; an entry that a get
 * returns has the identity asked for, the right checksum and, in a signed
 * bundle, the mark that was signed, even if the file changes meanwhile.
 * Locking: one mutex per bundle around its connection; lines are logged after
 * it is released.
 */
#include "cache/bundle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

static const char schema[] =
#include "cache/bundle.inc"
    ;

/* As for a store, no memory mapping, in case another process cuts the file
 * short.  A row is read once, and its kernel is in memory then: a small page
 * cache that is reused costs less than fresh memory does. */
static const char settings[] = "PRAGMA mmap_size = 0;"
                               "PRAGMA cache_size = -256;"
                               "PRAGMA cell_size_check = ON;"
                               "PRAGMA temp_store = MEMORY;"
                               "PRAGMA query_only = ON;";

void groat__bundle_schema(groat__str *out)
{
    groat__schema_entry(out);
    groat__str_add(out, schema);
}

/* ---- open -------------------------------------------------------------- */

static groat_status fail_sqlite(const groat__bundle *bundle, int rc,
                                groat_error *error)
{
    if (groat__handle_no_memory(rc))
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for bundle %s",
                           bundle->path);
    return groat__fail_vendor(error, GROAT_IO, "sqlite3_step", rc,
                              "cannot read bundle %s: %s (SQLite %d)",
                              bundle->path, groat__handle_words(bundle->db, rc),
                              rc);
}

/* Checks the header and the schema. */
static groat_status judge_file(const groat__bundle *bundle, groat_error *error)
{
    groat__str steps = {0};
    int64_t id = 0;
    int64_t version = 0;
    bool same = false;
    int rc = groat__handle_number(bundle->db, "PRAGMA application_id", &id);

    if (rc == SQLITE_OK)
        rc = groat__handle_number(bundle->db, "PRAGMA user_version", &version);
    if (rc == SQLITE_OK && id == GROAT__STORE_ID)
        return groat__fail(error, GROAT_IO,
                           "%s is a store, not a bundle; groat cache export "
                           "makes one of it",
                           bundle->path);
    if (rc == SQLITE_OK && id != GROAT__BUNDLE_ID)
        return groat__fail(error, GROAT_IO, "%s is no bundle of groat",
                           bundle->path);
    if (rc == SQLITE_OK && version > GROAT__BUNDLE_FORMAT && version < 1000)
        return groat__fail(error, GROAT_IO,
                           "bundle %s was written by a newer groat (format "
                           "%lld, this one reads %d)",
                           bundle->path, (long long)version,
                           GROAT__BUNDLE_FORMAT);
    groat__bundle_schema(&steps);
    if (rc == SQLITE_OK && steps.failed)
        rc = SQLITE_NOMEM;
    if (rc == SQLITE_OK)
        rc = groat__handle_same_schema(bundle->db, steps.data,
                                       GROAT__BUNDLE_MARK, &same);
    groat__str_free(&steps);
    if (rc == SQLITE_OK && (!same || version != GROAT__BUNDLE_FORMAT))
        return groat__fail(error, GROAT_IO,
                           "bundle %s has another schema than groat makes",
                           bundle->path);
    return rc == SQLITE_OK ? GROAT_OK : fail_sqlite(bundle, rc, error);
}

static bool ascends(const uint8_t *marks, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (memcmp(marks + (i - 1) * GROAT__MARK_BYTES,
                   marks + i * GROAT__MARK_BYTES, 8) >= 0)
            return false;
    return true;
}

/* Returns a blob of so many bytes (0: any multiple of a mark), or NULL. */
static const void *blob_of(sqlite3_stmt *row, int column, size_t bytes)
{
    size_t have = (size_t)sqlite3_column_bytes(row, column);

    if (sqlite3_column_type(row, column) != SQLITE_BLOB ||
        (bytes != 0 ? have != bytes : have % GROAT__MARK_BYTES != 0))
        return NULL;
    return have == 0 ? "" : sqlite3_column_blob(row, column);
}

/* Takes over the one row of table signature: IO if it does not verify. */
static groat_status take_signature(groat__bundle *bundle, sqlite3_stmt *row)
{
    const void *signer = blob_of(row, 0, GROAT__SIGNER_BYTES);
    const void *signature = blob_of(row, 1, GROAT__SIGNATURE_BYTES);
    const void *marks = blob_of(row, 2, 0);
    size_t bytes = (size_t)sqlite3_column_bytes(row, 2);
    groat_status status;

    if (signer == NULL || signature == NULL || marks == NULL)
        return GROAT_IO;
    status = groat__sign_check(signer, signature, marks, bytes);
    if (status != GROAT_OK)
        return status;
    if (!ascends(marks, bytes / GROAT__MARK_BYTES))
        return GROAT_IO;
    bundle->marks = malloc(bytes + 1);
    if (bundle->marks == NULL)
        return GROAT_NO_MEMORY;
    memcpy(bundle->marks, marks, bytes);
    memcpy(bundle->signer, signer, sizeof(bundle->signer));
    bundle->mark_count = bytes / GROAT__MARK_BYTES;
    bundle->is_signed = true;
    return GROAT_OK;
}

static groat_status read_signature(groat__bundle *bundle, groat_error *error)
{
    groat_status status = GROAT_OK;
    sqlite3_stmt *row = NULL;
    int rc = sqlite3_prepare_v2(
        bundle->db, "SELECT signer, signature, marks FROM signature", -1, &row,
        NULL);

    if (rc == SQLITE_OK && (rc = sqlite3_step(row)) == SQLITE_ROW) {
        status = take_signature(bundle, row);
        rc = sqlite3_step(row);
        if (rc == SQLITE_ROW && status == GROAT_OK)
            status = GROAT_IO; /* there must be only one */
    }
    (void)sqlite3_finalize(row);
    if (status == GROAT_NO_MEMORY)
        return fail_sqlite(bundle, SQLITE_NOMEM, error);
    if (status != GROAT_OK)
        return groat__fail(error, GROAT_IO,
                           "the signature of bundle %s does not match its "
                           "entries: it is damaged or forged",
                           bundle->path);
    return rc == SQLITE_DONE ? GROAT_OK : fail_sqlite(bundle, rc, error);
}

static groat_status prepare(groat__bundle *bundle, groat_error *error)
{
    groat_status status;
    int rc;

    groat__handle_harden(bundle->db);
    rc = sqlite3_exec(bundle->db, settings, NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        return fail_sqlite(bundle, rc, error);
    status = judge_file(bundle, error);
    if (status == GROAT_OK)
        status = read_signature(bundle, error);
    if (status != GROAT_OK)
        return status;
    rc = sqlite3_prepare_v3(bundle->db, GROAT__ROW_GET, -1,
                            SQLITE_PREPARE_PERSISTENT, &bundle->get, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v3(bundle->db, GROAT__ROW_NEXT, -1,
                                SQLITE_PREPARE_PERSISTENT, &bundle->next, NULL);
    return rc == SQLITE_OK ? GROAT_OK : fail_sqlite(bundle, rc, error);
}

/* Takes path (malloc'd) over, also on failure.  Enters SQLite on success. */
static groat_status bundle_new(char *path, const groat__log *log,
                               groat__bundle **out, groat_error *error)
{
    groat__bundle *bundle = path == NULL ? NULL : calloc(1, sizeof(*bundle));
    groat_status status;

    if (bundle == NULL || pthread_mutex_init(&bundle->mutex, NULL) != 0) {
        free(bundle);
        free(path);
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a bundle");
    }
    bundle->path = path;
    bundle->log = *log;
    status = groat__sqlite_begin(error);
    if (status != GROAT_OK) {
        groat__bundle_close(bundle);
        return status;
    }
    *out = bundle;
    return GROAT_OK;
}

/* Ends an open that bundle_new began; closes the bundle on failure. */
static groat_status open_end(groat__bundle *bundle, int rc, groat__bundle **out,
                             groat_error *error)
{
    groat_status status = rc == SQLITE_OK ? prepare(bundle, error)
                                          : fail_sqlite(bundle, rc, error);

    if (status == GROAT_OK)
        *out = bundle;
    else
        groat__bundle_close(bundle);
    groat__sqlite_leave();
    return status;
}

groat_status groat__bundle_open(const char *path, const groat__log *log,
                                groat__bundle **out, groat_error *error)
{
    groat__bundle *bundle = NULL;
    groat_status status;
    struct stat st;
    char *real;
    int rc = SQLITE_NOMEM;

    if (path == NULL)
        return groat__fail(error, GROAT_INVALID,
                           "the path of a bundle is NULL");
    /* Opening a pipe would wait for a writer. */
    if (stat(path, &st) != 0)
        return groat__fail(error, GROAT_IO, "cannot open bundle %s: %s", path,
                           strerror(errno));
    if (!S_ISREG(st.st_mode))
        return groat__fail(error, GROAT_IO, "bundle %s is not a regular file",
                           path);
    real = realpath(path, NULL);
    if (real == NULL)
        return groat__fail(error, GROAT_IO, "cannot resolve bundle %s: %s",
                           path, strerror(errno));
    status = bundle_new(real, log, &bundle, error);
    if (status != GROAT_OK)
        return status;
    bundle->file_bytes = (uint64_t)st.st_size;
    rc = groat__handle_open_immutable(bundle->path, &bundle->db);
    return open_end(bundle, rc, out, error);
}

groat_status groat__bundle_open_image(const void *image, size_t bytes,
                                      const char *name, const groat__log *log,
                                      groat__bundle **out, groat_error *error)
{
    /* SQLite's parameter lacks const, but READONLY data is not written. */
    unsigned char *data = (unsigned char *)(uintptr_t)image;
    groat__bundle *bundle = NULL;
    groat_status status = bundle_new(strdup(name), log, &bundle, error);
    int rc;

    if (status != GROAT_OK)
        return status;
    bundle->file_bytes = bytes;
    rc = sqlite3_open_v2(":memory:", &bundle->db,
                         SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                             SQLITE_OPEN_PRIVATECACHE,
                         NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_deserialize(bundle->db, "main", data, (sqlite3_int64)bytes,
                                 (sqlite3_int64)bytes,
                                 SQLITE_DESERIALIZE_READONLY);
    return open_end(bundle, rc, out, error);
}

void groat__bundle_close(groat__bundle *bundle)
{
    if (bundle == NULL)
        return;
    groat__sqlite_enter();
    (void)sqlite3_finalize(bundle->get);
    (void)sqlite3_finalize(bundle->next);
    (void)sqlite3_close(bundle->db);
    groat__sqlite_leave();
    (void)pthread_mutex_destroy(&bundle->mutex);
    free(bundle->marks);
    free(bundle->path);
    free(bundle);
}

void groat__bundle_show(groat__bundle *bundle, const groat__ranges *ranges)
{
    if (bundle != NULL)
        bundle->ranges = ranges;
}

/* ---- get --------------------------------------------------------------- */

static void enter(groat__bundle *bundle)
{
    groat__sqlite_enter();
    (void)pthread_mutex_lock(&bundle->mutex);
}

static void leave(groat__bundle *bundle)
{
    (void)pthread_mutex_unlock(&bundle->mutex);
    groat__sqlite_leave();
}

static int compare_keys(const void *key, const void *mark)
{
    return memcmp(key, mark, sizeof(groat__digest));
}

/* Returns the signed mark of a key; NULL: none. */
static const uint8_t *signed_mark(const groat__bundle *bundle,
                                  const groat__digest *key)
{
    return bsearch(key->bytes, bundle->marks, bundle->mark_count,
                   GROAT__MARK_BYTES, compare_keys);
}

/* Returns whether the signature, if there is one, covers this row. */
static bool is_vouched(const groat__bundle *bundle, const groat__row *row)
{
    const uint8_t *want;
    uint8_t mark[GROAT__MARK_BYTES];

    if (!bundle->is_signed)
        return true;
    want = signed_mark(bundle, &row->key);
    return want != NULL && groat__sign_mark(row, mark) &&
           memcmp(mark, want, sizeof(mark)) == 0;
}

/* Locked: looks an entry up and copies it unless out is NULL; *rc is OK on a
 * hit.  Gives its fault, or NULL. */
static const char *look(groat__bundle *bundle, const groat__digest *key,
                        const char *identity, groat__store_blob *out, int *rc)
{
    groat__finding found = GROAT__ROW_NONE;
    const char *wrong = NULL;
    groat__row row = {0};
    uint64_t start;

    *rc = SQLITE_DONE;
    if (bundle->is_signed && signed_mark(bundle, key) == NULL)
        return NULL;
    (void)sqlite3_bind_int64(bundle->get, 1, groat__row_id(key));
    *rc = sqlite3_step(bundle->get);
    if (*rc == SQLITE_ROW) {
        found =
            groat__row_judge(bundle->get, key, identity, bundle->ranges, &row);
        start = groat__now_ns();
        groat__range_begin(bundle->ranges, "verify", "signature");
        if (found == GROAT__ROW_GOOD && !is_vouched(bundle, &row))
            wrong = "is not what was signed";
        groat__range_end(bundle->ranges);
        row.judged_ns += groat__now_ns() - start;
        if (found == GROAT__ROW_UNREAD)
            *rc = SQLITE_NOMEM;
        else if (found != GROAT__ROW_GOOD || wrong != NULL)
            *rc = SQLITE_DONE;
        else
            *rc = out != NULL ? groat__row_copy(&row, out) : SQLITE_OK;
    } else if (*rc == SQLITE_DONE && bundle->is_signed) {
        wrong = "was signed and is not there";
    }
    (void)sqlite3_reset(bundle->get);
    if (found == GROAT__ROW_MISTAKEN)
        wrong = "has another identity than the one asked for";
    else if (found == GROAT__ROW_DAMAGED)
        wrong = "is damaged";
    else if (*rc != SQLITE_OK && *rc != SQLITE_DONE)
        wrong = groat__handle_words(bundle->db, *rc);
    return wrong;
}

/* Locked: counts a fault; the first time, gives the line to log. */
static void tell(groat__bundle *bundle, const groat__digest *key,
                 const char *wrong, groat__str *line)
{
    char hex[33];

    GROAT__PROBE2(fault, bundle->path, wrong);
    bundle->counts.faults++;
    if (bundle->said)
        return;
    bundle->said = true;
    groat__hex(hex, key->bytes, sizeof(key->bytes));
    groat__str_addf(line, "bundle %s: entry %s: %s; not used; reported once",
                    bundle->path, hex, wrong);
}

bool groat__bundle_newest(groat__bundle *bundle, const char *begin,
                          groat__str *out)
{
    bool good = false;
    int rc = SQLITE_ROW;

    for (unsigned i = 0; i < GROAT__NEWEST_TRIES && !good && rc == SQLITE_ROW;
         i++) {
        groat__digest key;

        groat__str_clear(out);
        enter(bundle);
        rc = groat__row_newest(bundle->db, begin, i, out);
        leave(bundle);
        if (rc != SQLITE_ROW)
            break;
        key = groat__hash128(out->data, out->len);
        good = groat__bundle_has(bundle, &key, out->data);
    }
    if (!good)
        groat__str_clear(out);
    return good;
}

bool groat__bundle_recent(groat__bundle *bundle, const char *one,
                          const char *other, groat__str *out)
{
    int rc;

    enter(bundle);
    rc = groat__row_recent(bundle->db, one, other, out);
    leave(bundle);
    return rc == SQLITE_ROW;
}

bool groat__bundle_has(groat__bundle *bundle, const groat__digest *key,
                       const char *identity)
{
    int rc;

    enter(bundle);
    (void)look(bundle, key, identity, NULL, &rc);
    leave(bundle);
    return rc == SQLITE_OK;
}

bool groat__bundle_get(groat__bundle *bundle, const groat__digest *key,
                       const char *identity, groat__store_blob *out)
{
    groat__store_blob blob = {0};
    const char *wrong = NULL;
    groat__str line = {0};
    int rc;

    enter(bundle);
    wrong = look(bundle, key, identity, &blob, &rc);
    if (wrong != NULL)
        tell(bundle, key, wrong, &line);
    if (rc == SQLITE_OK)
        bundle->counts.hits++;
    else
        bundle->counts.misses++;
    leave(bundle);
    if (line.data != NULL)
        groat__log_line(&bundle->log, GROAT_LOG_WARNING, "%s", line.data);
    groat__str_free(&line);
    if (rc == SQLITE_OK)
        *out = blob;
    return rc == SQLITE_OK;
}

/* ---- copies of rows ---------------------------------------------------- */

bool groat__held_take(groat__held *held, const groat__row *row)
{
    size_t texts = row->identity_len + row->log_len + 2;
    char *memory = malloc(texts + row->bytes);
    char *log;

    if (memory == NULL)
        return false;
    log = memory + row->identity_len + 1;
    memcpy(memory, row->identity, row->identity_len);
    memory[row->identity_len] = '\0';
    memcpy(log, row->log, row->log_len);
    log[row->log_len] = '\0';
    if (row->bytes > 0)
        memcpy(memory + texts, row->data, row->bytes);
    held->row = *row;
    held->row.identity = memory;
    held->row.log = log;
    held->row.data = memory + texts;
    held->memory = memory;
    return true;
}

void groat__held_drop(groat__held *held)
{
    free(held->memory);
    memset(held, 0, sizeof(*held));
}

bool groat__held_step(const groat__held *held, int64_t *from)
{
    if (held->memory == NULL || held->row.id == INT64_MAX)
        return false;
    *from = held->row.id + 1;
    return true;
}

/* ---- all entries ------------------------------------------------------- */

groat_status groat__bundle_next(void *source, int64_t from, groat__held *out,
                                groat_error *error)
{
    groat__bundle *bundle = source;
    groat_status status = GROAT_OK;
    groat__row row = {0};
    int read = SQLITE_OK;
    int rc;

    memset(out, 0, sizeof(*out));
    enter(bundle);
    (void)sqlite3_bind_int64(bundle->next, 1, from);
    rc = sqlite3_step(bundle->next);
    if (rc == SQLITE_ROW)
        read = groat__row_read_good(bundle->next, &row);
    if (read == SQLITE_NOMEM) {
        status = fail_sqlite(bundle, read, error);
    } else if (rc == SQLITE_ROW && (read != SQLITE_OK || row.id < from ||
                                    !is_vouched(bundle, &row))) {
        char hex[33];

        groat__hex(hex, row.key.bytes, sizeof(row.key.bytes));
        status = groat__fail(error, GROAT_IO,
                             "bundle %s: entry %s is damaged or not what was "
                             "signed",
                             bundle->path, hex);
    } else if (rc == SQLITE_ROW && !groat__held_take(out, &row)) {
        status = fail_sqlite(bundle, SQLITE_NOMEM, error);
    } else if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
        status = fail_sqlite(bundle, rc, error);
    }
    (void)sqlite3_reset(bundle->next);
    leave(bundle);
    return status;
}

void groat__bundle_refused(groat__bundle *bundle)
{
    enter(bundle);
    bundle->counts.faults++;
    leave(bundle);
}

void groat__bundle_count(groat__bundle *bundle, groat__bundle_counts *out)
{
    *out = (groat__bundle_counts){0, 0, 0};
    if (bundle == NULL)
        return;
    enter(bundle);
    *out = bundle->counts;
    leave(bundle);
}

groat_status groat__bundle_describe(groat__bundle *bundle,
                                    groat_bundle_info *info, groat_error *error)
{
    int64_t entries = 0;
    int64_t payload = 0;
    int rc;

    enter(bundle);
    rc = groat__handle_number(bundle->db, "SELECT count(*) FROM entry",
                              &entries);
    /* A damaged length may be anything. */
    if (rc == SQLITE_OK)
        rc = groat__handle_number(
            bundle->db, "SELECT CAST(total(bytes) AS INTEGER) FROM entry",
            &payload);
    info->path = bundle->path;
    info->entries = (uint64_t)entries;
    info->payload_bytes = (uint64_t)payload;
    info->file_bytes = bundle->file_bytes;
    info->signer[0] = '\0';
    if (bundle->is_signed)
        groat__hex(info->signer, bundle->signer, sizeof(bundle->signer));
    info->hits = bundle->counts.hits;
    info->misses = bundle->counts.misses;
    info->faults = bundle->counts.faults;
    leave(bundle);
    return rc == SQLITE_OK ? GROAT_OK : fail_sqlite(bundle, rc, error);
}

groat_status groat__bundle_verify(groat__bundle *bundle, uint64_t *checked,
                                  groat_error *error)
{
    groat_status status = GROAT_OK;
    groat__held held = {.memory = NULL};
    int64_t from = INT64_MIN;
    uint64_t seen = 0;
    int rc;

    do {
        groat__held_drop(&held);
        status = groat__bundle_next(bundle, from, &held, error);
        seen += held.memory != NULL;
    } while (status == GROAT_OK && groat__held_step(&held, &from));
    groat__held_drop(&held);
    if (status != GROAT_OK)
        return status;
    if (bundle->is_signed && seen != bundle->mark_count)
        return groat__fail(
            error, GROAT_IO, "bundle %s has %llu entries; %zu were signed",
            bundle->path, (unsigned long long)seen, bundle->mark_count);
    enter(bundle);
    rc = groat__handle_check(bundle->db);
    leave(bundle);
    if (rc != SQLITE_OK)
        return fail_sqlite(bundle, rc, error);
    if (checked != NULL)
        *checked = seen;
    return GROAT_OK;
}
