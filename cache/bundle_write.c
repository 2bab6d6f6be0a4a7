/* SPDX-License-Identifier: Apache-2.0
 *
 * bundle_write.c owns the writing of bundles: the walk over many sources in the
 * order of ids, the file that is written, and the diff of two bundles.
 *
 * Invariant: the bytes of a file depend only on its rows and its key: rows are
 * inserted by ascending id, in one transaction, and header fields that describe
 * SQLite itself are set to fixed values.  A file gets its name only when it is
 * whole and on disk.
 * Locking: none of its own; sources lock themselves row by row.
 */
#include "cache/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

/* ---- the walk ---------------------------------------------------------- */

/* Visits the rows of the least id that any source has: held[i] is empty if
 * source i has none. */
typedef groat_status visit_fn(void *user, const groat__held *held, size_t count,
                              groat_error *error);

/* For every source, its first row that was not visited yet. */
typedef struct walk {
    const groat__rows *rows;
    size_t count;
    groat__held *next;  /* empty: the source is at its end    */
    groat__held *visit; /* rows of next with the least id; borrowed */
} walk;

static groat_status advance(walk *w, size_t i, int64_t from, groat_error *error)
{
    groat__held_drop(&w->next[i]);
    return w->rows[i].next(w->rows[i].source, from, &w->next[i], error);
}

/* Fills visit; false where all sources are at their end. */
static bool gather(walk *w)
{
    int64_t least = INT64_MAX;
    bool some = false;

    for (size_t i = 0; i < w->count; i++) {
        if (w->next[i].memory == NULL)
            continue;
        some = true;
        if (w->next[i].row.id < least)
            least = w->next[i].row.id;
    }
    memset(w->visit, 0, w->count * sizeof(w->visit[0]));
    for (size_t i = 0; i < w->count; i++)
        if (w->next[i].memory != NULL && w->next[i].row.id == least)
            w->visit[i] = w->next[i];
    return some;
}

/* Advances the sources whose rows were visited. */
static groat_status pass(walk *w, groat_error *error)
{
    groat_status status = GROAT_OK;
    int64_t from = 0;

    for (size_t i = 0; i < w->count && status == GROAT_OK; i++) {
        if (w->visit[i].memory == NULL)
            continue;
        if (groat__held_step(&w->next[i], &from))
            status = advance(w, i, from, error);
        else
            groat__held_drop(&w->next[i]);
    }
    return status;
}

static groat_status walk_rows(const groat__rows *rows, size_t count,
                              visit_fn *visit, void *user, groat_error *error)
{
    groat_status status = GROAT_OK;
    walk w = {rows, count, NULL, NULL};

    w.next = calloc(count, sizeof(w.next[0]));
    w.visit = calloc(count, sizeof(w.visit[0]));
    if (count > 0 && (w.next == NULL || w.visit == NULL)) {
        free(w.next);
        free(w.visit);
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a walk");
    }
    for (size_t i = 0; i < count && status == GROAT_OK; i++)
        status = advance(&w, i, INT64_MIN, error);
    while (status == GROAT_OK && gather(&w)) {
        status = visit(user, w.visit, count, error);
        if (status == GROAT_OK)
            status = pass(&w, error);
    }
    for (size_t i = 0; i < count; i++)
        groat__held_drop(&w.next[i]);
    free(w.next);
    free(w.visit);
    return status;
}

/* ---- the file ---------------------------------------------------------- */

typedef struct writer {
    const char *path;
    groat__str temp; /* the file's name until it is whole */
    sqlite3 *db;
    sqlite3_stmt *put;
    const groat__secret *secret; /* NULL: not signed     */
    groat__str marks;            /* of the rows so far   */
    uint64_t written;
} writer;

/* Nobody else uses the file, and a partial one is never used: no journal, and
 * one sync, at the end. */
static const char shape[] = "PRAGMA page_size = 8192;"
                            "PRAGMA auto_vacuum = NONE;"
                            "PRAGMA encoding = 'UTF-8';"
                            "PRAGMA journal_mode = OFF;"
                            "PRAGMA synchronous = OFF;"
                            "PRAGMA secure_delete = ON;"
                            "PRAGMA mmap_size = 0;"
                            "BEGIN IMMEDIATE;";

static groat_status fail_write(const writer *w, int rc, groat_error *error)
{
    if (groat__handle_no_memory(rc))
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for bundle %s",
                           w->path);
    return groat__fail_vendor(error, GROAT_IO, "sqlite3_step", rc,
                              "cannot write bundle %s: %s (SQLite %d)", w->path,
                              groat__handle_words(w->db, rc), rc);
}

static groat_status fail_file(const writer *w, groat_error *error)
{
    return groat__fail(error, errno == ENOMEM ? GROAT_NO_MEMORY : GROAT_IO,
                       "cannot write bundle %s: %s", w->path, strerror(errno));
}

/* Whether a file begins as a database with this application_id. */
static bool is_database(const char *path, const char *id)
{
    enum { HEADER = 100, ID_AT = 68 };
    unsigned char header[HEADER] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool is = fd >= 0 && pread(fd, header, HEADER, 0) == HEADER &&
              memcmp(header + ID_AT, id, 4) == 0;

    if (fd >= 0)
        (void)close(fd);
    return is;
}

/* Whether a name is that of a store, or of a file beside one. */
static bool is_of_store(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;

    return strncmp(name, GROAT__STORE_FILE, strlen(GROAT__STORE_FILE)) == 0 ||
           strcmp(name, GROAT__CLAIM_FILE) == 0;
}

groat_status groat__bundle_check_place(const char *path, groat_error *error)
{
    groat_status status;
    struct stat st;

    if (lstat(path, &st) != 0)
        return GROAT_OK;
    if (!S_ISREG(st.st_mode))
        return groat__fail(error, GROAT_IO,
                           "%s exists and is no regular file; name another "
                           "file for the bundle",
                           path);
    status = groat__store_is_not(path, error);
    if (status != GROAT_OK)
        return status;
    if (is_database(path, "grot") || is_of_store(path))
        return groat__fail(error, GROAT_IO,
                           "%s is a store, or a file of one; name another file "
                           "for the bundle",
                           path);
    if (st.st_size > 0 && !is_database(path, "grob"))
        return groat__fail(error, GROAT_IO,
                           "%s exists and is no bundle; name another file, or "
                           "remove it",
                           path);
    return GROAT_OK;
}

static groat_status writer_open(writer *w, groat_error *error)
{
    int fd = groat__fs_beside(w->path, &w->temp);
    groat__str steps = {0};
    groat__str uri = {0};
    int rc = SQLITE_NOMEM;

    if (fd < 0)
        return fail_file(w, error);
    (void)close(fd);
    /* Some network file systems have no locks; nobody else uses the file. */
    groat__handle_uri(&uri, w->temp.data, "nolock=1");
    groat__bundle_schema(&steps);
    if (!uri.failed && !steps.failed)
        rc = sqlite3_open_v2(uri.data, &w->db,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                                 SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_URI,
                             NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(w->db, shape, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(w->db, steps.data, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(w->db, "INSERT " GROAT__ROW_INTO, -1, &w->put,
                                NULL);
    groat__str_free(&steps);
    groat__str_free(&uri);
    return rc == SQLITE_OK ? GROAT_OK : fail_write(w, rc, error);
}

static groat_status writer_add(writer *w, const groat__row *row,
                               groat_error *error)
{
    int rc = groat__row_insert(w->put, row, 0);
    uint8_t mark[GROAT__MARK_BYTES];

    if (rc != SQLITE_OK)
        return fail_write(w, rc, error);
    w->written++;
    if (w->secret == NULL)
        return GROAT_OK;
    if (!groat__sign_mark(row, mark))
        return groat__fail(error, GROAT_IO,
                           "libsodium could not be initialized");
    groat__str_addn(&w->marks, (const char *)mark, sizeof(mark));
    return w->marks.failed ? fail_write(w, SQLITE_NOMEM, error) : GROAT_OK;
}

static groat_status sign(writer *w, groat_error *error)
{
    static const char insert[] = "INSERT INTO signature (id, signer, "
                                 "signature, marks) VALUES (1, ?1, ?2, ?3)";
    const uint8_t *marks = (const uint8_t *)w->marks.data;
    uint8_t signature[GROAT__SIGNATURE_BYTES];
    uint8_t signer[GROAT__SIGNER_BYTES];
    sqlite3_stmt *put = NULL;
    groat_status status = groat__sign_make(w->secret, marks, w->marks.len,
                                           signer, signature, error);
    int rc;

    if (status != GROAT_OK)
        return status;
    rc = sqlite3_prepare_v2(w->db, insert, -1, &put, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_blob(put, 1, signer, sizeof(signer), SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_blob(put, 2, signature, sizeof(signature),
                               SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_blob64(put, 3, w->marks.len == 0 ? "" : w->marks.data,
                                 w->marks.len, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = groat__handle_run(put);
    (void)sqlite3_finalize(put);
    return rc == SQLITE_OK ? GROAT_OK : fail_write(w, rc, error);
}

/* Sets the change counter, the version-valid-for number and the number of the
 * SQLite version that wrote the file: the first two must be equal, the last is
 * the oldest version that reads bundles. */
static bool fix_header(int fd)
{
    static const uint8_t one[4] = {0, 0, 0, 1};
    static const uint8_t least[4] = {0, 0x2e, 0x53, 0x60}; /* 3.36.0 */

    return pwrite(fd, one, 4, 24) == 4 && pwrite(fd, one, 4, 92) == 4 &&
           pwrite(fd, least, 4, 96) == 4;
}

/* Syncs the file, makes it readable by all, and gives it its name. */
static groat_status settle(writer *w, groat_error *error)
{
    int fd = open(w->temp.data, O_WRONLY | O_CLOEXEC);
    bool good;

    if (fd < 0)
        return fail_file(w, error);
    good = fix_header(fd) && fchmod(fd, 0644) == 0 && fsync(fd) == 0;
    if (close(fd) != 0 || !good || rename(w->temp.data, w->path) != 0)
        return fail_file(w, error);
    groat__str_clear(&w->temp);
    return GROAT_OK;
}

static void close_file(writer *w)
{
    (void)sqlite3_finalize(w->put);
    (void)sqlite3_close(w->db);
    w->put = NULL;
    w->db = NULL;
}

static groat_status writer_end(writer *w, groat_error *error)
{
    groat_status status = w->secret == NULL ? GROAT_OK : sign(w, error);
    int rc;

    if (status != GROAT_OK)
        return status;
    rc = sqlite3_exec(w->db, "COMMIT", NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        return fail_write(w, rc, error);
    close_file(w);
    return settle(w, error);
}

static void writer_free(writer *w)
{
    close_file(w);
    if (w->temp.len > 0)
        (void)unlink(w->temp.data);
    groat__str_free(&w->temp);
    groat__str_free(&w->marks);
}

/* ---- merge ------------------------------------------------------------- */

/* Orders rows of one id, independently of their sources. */
static int compare_rows(const groat__row *a, const groat__row *b)
{
    int keys = memcmp(&a->key, &b->key, sizeof(a->key));

    return keys != 0 ? keys
                     : memcmp(&a->checksum, &b->checksum, sizeof(a->checksum));
}

static groat_status add_least(void *user, const groat__held *held, size_t count,
                              groat_error *error)
{
    const groat__row *least = NULL;

    for (size_t i = 0; i < count; i++)
        if (held[i].memory != NULL &&
            (least == NULL || compare_rows(&held[i].row, least) < 0))
            least = &held[i].row;
    return writer_add(user, least, error);
}

groat_status groat__bundle_compose(const groat__rows *rows, size_t count,
                                   const groat__secret *secret,
                                   const char *path, uint64_t *written,
                                   groat_error *error)
{
    writer w = {.path = path, .secret = secret};
    groat_status status = groat__bundle_check_place(path, error);
    groat__fs_limit limit;

    if (status == GROAT_OK)
        status = groat__sqlite_begin(error);
    if (status != GROAT_OK)
        return status;
    groat__fs_limit_begin(&limit);
    status = writer_open(&w, error);
    if (status == GROAT_OK)
        status = walk_rows(rows, count, add_least, &w, error);
    if (status == GROAT_OK)
        status = writer_end(&w, error);
    writer_free(&w);
    groat__fs_limit_end(&limit);
    groat__sqlite_leave();
    if (status == GROAT_OK && written != NULL)
        *written = w.written;
    return status;
}

groat_status groat__bundle_merge(groat__bundle *const *bundles, size_t count,
                                 const groat__secret *secret, const char *path,
                                 uint64_t *written, groat_error *error)
{
    groat__rows *rows = calloc(count + 1, sizeof(*rows));
    groat_status status;

    if (rows == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a merge");
    for (size_t i = 0; i < count; i++)
        rows[i] = (groat__rows){groat__bundle_next, bundles[i]};
    status = groat__bundle_compose(rows, count, secret, path, written, error);
    free(rows);
    return status;
}

/* ---- diff -------------------------------------------------------------- */

typedef struct diff {
    groat_bundle_diff_fn *fn;
    void *user;
    bool stop;
} diff;

static bool same_bytes(const void *a, size_t a_bytes, const void *b,
                       size_t b_bytes)
{
    return a_bytes == b_bytes && memcmp(a, b, a_bytes) == 0;
}

/* Appends the names of the columns in which two rows of one key differ. */
static void add_columns(const groat__row *a, const groat__row *b,
                        groat__str *out)
{
    const struct {
        const char *name;
        bool same;
    } columns[] = {
        {"identity", same_bytes(a->identity, a->identity_len, b->identity,
                                b->identity_len)},
        {"log", same_bytes(a->log, a->log_len, b->log, b->log_len)},
        {"facts", memcmp(&a->facts, &b->facts, sizeof(a->facts)) == 0},
        {"binary", same_bytes(a->data, a->bytes, b->data, b->bytes)},
    };

    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        if (!columns[i].same)
            groat__str_addf(out, "%s%s", out->len == 0 ? "" : " ",
                            columns[i].name);
}

static void tell(diff *d, groat_bundle_side side, const groat__row *row,
                 const char *differs)
{
    groat_cache_entry entry = {.size = sizeof(entry), .differs = differs};

    if (d->stop)
        return;
    groat__hex(entry.key, row->key.bytes, sizeof(row->key.bytes));
    entry.identity = row->identity;
    entry.log = row->log;
    entry.bytes = row->bytes;
    entry.facts = row->facts;
    d->stop = d->fn(d->user, side, &entry) != 0;
}

static groat_status compare_pair(void *user, const groat__held *held,
                                 size_t count, groat_error *error)
{
    const groat__row *a = held[0].memory == NULL ? NULL : &held[0].row;
    const groat__row *b = held[1].memory == NULL ? NULL : &held[1].row;
    groat__str differs = {0};

    (void)count;
    (void)error;
    if (a != NULL && b != NULL &&
        memcmp(&a->key, &b->key, sizeof(a->key)) == 0) {
        if (compare_rows(a, b) != 0) {
            add_columns(a, b, &differs);
            tell(user, GROAT_BUNDLE_BOTH, a,
                 differs.data != NULL ? differs.data : "");
            groat__str_free(&differs);
        }
        return GROAT_OK;
    }
    if (a != NULL)
        tell(user, GROAT_BUNDLE_FIRST, a, "");
    if (b != NULL)
        tell(user, GROAT_BUNDLE_SECOND, b, "");
    return GROAT_OK;
}

groat_status groat__bundle_diff(groat__bundle *a, groat__bundle *b,
                                groat_bundle_diff_fn *fn, void *user,
                                groat_error *error)
{
    const groat__rows rows[] = {{groat__bundle_next, a},
                                {groat__bundle_next, b}};
    diff d = {fn, user, false};

    return walk_rows(rows, 2, compare_pair, &d, error);
}
