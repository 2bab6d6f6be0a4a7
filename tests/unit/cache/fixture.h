/* SPDX-License-Identifier: Apache-2.0
 *
 * fixture.h - shared by the tests of the store: a folder of their own, the
 * lines that were logged, and numbered kernels with known bytes.
 */
#ifndef GROAT_TEST_STORE_FIXTURE_H
#define GROAT_TEST_STORE_FIXTURE_H

#include "../suite.h"

#include <grp.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/fs.h"
#include "base/str.h"
#include "cache/internal.h"

#define MIB          ((uint64_t)1 << 20)
#define TEST_BUSY    20    /* milliseconds */
#define TEST_PATIENT 60000 /* milliseconds: more than other processes take */
#define TEST_NOBODY  65534

typedef struct fixture {
    char root[200]; /* made by the test, removed after it */
    char dir[256];  /* root/store                         */
    char path[300]; /* root/store/groat.sqlite            */
    pthread_mutex_t mutex;
    groat__str lines;
    groat_error error;
} fixture;

typedef enum answer { ANSWER_MISS, ANSWER_RIGHT, ANSWER_WRONG } answer;

static inline void fixture_log(void *user, int level, const char *line)
{
    fixture *fix = user;

    (void)level;
    (void)pthread_mutex_lock(&fix->mutex);
    groat__str_addf(&fix->lines, "%s\n", line);
    (void)pthread_mutex_unlock(&fix->mutex);
}

static inline void fixture_make(fixture *fix)
{
    const groat_error none = GROAT_ERROR_INIT;

    memset(fix, 0, sizeof(*fix));
    fix->error = none;
    (void)pthread_mutex_init(&fix->mutex, NULL);
    make_folder(fix->root, sizeof(fix->root));
    (void)snprintf(fix->dir, sizeof(fix->dir), "%s/store", fix->root);
    (void)snprintf(fix->path, sizeof(fix->path), "%s/groat.sqlite", fix->dir);
}

static inline void fixture_drop(fixture *fix)
{
    (void)chmod(fix->dir, 0700);
    remove_folder(fix->root);
    groat__str_free(&fix->lines);
    groat_error_clear(&fix->error);
    (void)pthread_mutex_destroy(&fix->mutex);
}

/* Returns the number of logged lines that contain words. */
static inline int fixture_said(fixture *fix, const char *words)
{
    const char *at = fix->lines.data;
    int count = 0;

    while (at != NULL && (at = strstr(at, words)) != NULL) {
        count++;
        at = strchr(at, '\n');
    }
    return count;
}

static inline groat_status fixture_try_for(fixture *fix, int busy_ms,
                                           uint64_t max_bytes,
                                           groat__store **out)
{
    const groat__store_options options = {
        fix->dir, max_bytes, {fixture_log, fix}, NULL, false};

    return groat__store_open_patient(&options, busy_ms, out, &fix->error);
}

static inline groat_status fixture_try(fixture *fix, uint64_t max_bytes,
                                       groat__store **out)
{
    return fixture_try_for(fix, TEST_BUSY, max_bytes, out);
}

static inline groat__store *fixture_open_for(fixture *fix, int busy_ms,
                                             uint64_t max_bytes)
{
    groat__store *store = NULL;
    groat_status status = fixture_try_for(fix, busy_ms, max_bytes, &store);

    ck_assert_msg(status == GROAT_OK, "open: %s", fix->error.text);
    groat__store_enter(store); /* test_glance.c begins with a view */
    if (store->glancing)
        (void)groat__connection_ready(store, NULL);
    groat__store_leave(store);
    return store;
}

static inline groat__store *fixture_open(fixture *fix, uint64_t max_bytes)
{
    return fixture_open_for(fix, TEST_BUSY, max_bytes);
}

/* ---- numbered kernels -------------------------------------------------- */

static inline groat__digest kernel_key(unsigned n)
{
    return groat__hash128(&n, sizeof(n));
}

static inline void kernel_identity(unsigned n, char *text, size_t size)
{
    (void)snprintf(text, size, "groat-identity 1\nfamily test\nparam n %u\n",
                   n);
}

static inline void kernel_log(unsigned n, char *text, size_t size)
{
    (void)snprintf(text, size, "note: kernel %u uses %u registers\n", n, n);
}

static inline groat_facts kernel_facts(unsigned n)
{
    const groat_facts facts = {n, n + 1, n + 2, n + 3, n + 4, n + 5};

    return facts;
}

static inline uint8_t kernel_byte(unsigned n, size_t i)
{
    return (uint8_t)(n * 31 + i * 7 + (i >> 8));
}

static inline uint8_t *kernel_bytes(unsigned n, size_t bytes)
{
    uint8_t *data = malloc(bytes + 1);

    if (data == NULL)
        abort();
    for (size_t i = 0; i < bytes; i++)
        data[i] = kernel_byte(n, i);
    return data;
}

static inline void kernel_put(groat__store *store, unsigned n, size_t bytes)
{
    groat_facts facts = kernel_facts(n);
    groat__digest key = kernel_key(n);
    uint8_t *data = kernel_bytes(n, bytes);
    char identity[128];
    char log[128];

    kernel_identity(n, identity, sizeof(identity));
    kernel_log(n, log, sizeof(log));
    groat__store_put(store, &key, identity, data, bytes, log, &facts);
    free(data);
}

static inline void kernel_evict(groat__store *store, unsigned n, size_t bytes)
{
    groat__digest key = kernel_key(n);
    uint8_t *data = kernel_bytes(n, bytes);

    groat__store_evict(store, &key, data, bytes);
    free(data);
}

/* Checks that the blob is kernel n, of any length, and frees it. */
static inline answer kernel_judge(groat__store_blob *blob, unsigned n)
{
    groat_facts facts = kernel_facts(n);
    answer result = ANSWER_RIGHT;
    char log[128];

    kernel_log(n, log, sizeof(log));
    if (strcmp(blob->log, log) != 0 ||
        memcmp(&blob->facts, &facts, sizeof(facts)) != 0)
        result = ANSWER_WRONG;
    for (size_t i = 0; i < blob->bytes; i++)
        if (((const uint8_t *)blob->data)[i] != kernel_byte(n, i))
            result = ANSWER_WRONG;
    groat__store_blob_free(blob);
    return result;
}

/* Gets kernel n and checks it. */
static inline answer kernel_get(groat__store *store, unsigned n)
{
    groat__digest key = kernel_key(n);
    groat__store_blob blob = {0};
    char identity[128];

    kernel_identity(n, identity, sizeof(identity));
    if (!groat__store_get(store, &key, identity, &blob))
        return ANSWER_MISS;
    return kernel_judge(&blob, n);
}

#define ck_hit(store, n)  ck_assert_int_eq(kernel_get(store, n), ANSWER_RIGHT)
#define ck_miss(store, n) ck_assert_int_eq(kernel_get(store, n), ANSWER_MISS)

static inline groat_cache_stat kernel_stat(groat__store *store)
{
    groat_cache_stat stat;

    memset(&stat, 0, sizeof(stat));
    stat.size = sizeof(stat);
    ck_assert_int_eq(groat__store_stat(store, &stat, NULL), GROAT_OK);
    return stat;
}

/* ---- claims ------------------------------------------------------------ */

static inline groat__claim claim_of(groat__store *store, unsigned n,
                                    groat__store_blob *out)
{
    groat__digest key = kernel_key(n);
    char identity[128];

    kernel_identity(n, identity, sizeof(identity));
    return groat__store_claim(store, &key, identity, out);
}

static inline void ck_claim(groat__store *store, unsigned n,
                            groat__claim expected)
{
    groat__store_blob blob = {0};

    ck_assert_int_eq(claim_of(store, n, &blob), expected);
    if (expected == GROAT__CLAIM_FOUND)
        ck_assert_int_eq(kernel_judge(&blob, n), ANSWER_RIGHT);
    ck_assert_ptr_null(blob.data);
}

static inline void release(groat__store *store, unsigned n)
{
    groat__digest key = kernel_key(n);

    groat__store_release(store, &key);
}

/* ---- access from outside of the store ------------------------------------ */

static inline uint64_t file_size(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static inline unsigned file_mode(const char *path)
{
    struct stat st;

    ck_assert_int_eq(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static inline void file_write(const char *path, const void *data, size_t bytes)
{
    ck_assert_int_eq(groat__fs_write(path, data, bytes, 0600, NULL), GROAT_OK);
}

/* Opens a connection as another program would. */
static inline sqlite3 *outside_open(const char *path)
{
    sqlite3 *db = NULL;

    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    return db;
}

static inline void outside_exec(sqlite3 *db, const char *sql)
{
    ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK,
                  "%s: %s", sql, sqlite3_errmsg(db));
}

static inline void outside_once(const char *path, const char *sql)
{
    sqlite3 *db = outside_open(path);

    outside_exec(db, sql);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

static inline int64_t outside_number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t value;

    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &statement, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
    value = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    return value;
}

/* Processes wait for each other by a byte through a pipe. */
static inline void say(int fd)
{
    if (write(fd, "x", 1) != 1)
        abort();
}

static inline void hear(int fd)
{
    char byte;

    if (read(fd, &byte, 1) != 1)
        abort();
}

/* Waits for a child and returns its exit status; -1 if it was killed. */
static inline int child_status(pid_t pid)
{
    int status = 0;

    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Runs as a user to whom modes apply, even when the tests run as root. */
static inline int fixture_as_nobody(const fixture *fix, int (*work)(void))
{
    pid_t pid;

    if (geteuid() == 0) {
        ck_assert_int_eq(chown(fix->root, TEST_NOBODY, TEST_NOBODY), 0);
        ck_assert_int_eq(chown(fix->dir, TEST_NOBODY, TEST_NOBODY), 0);
        ck_assert_int_eq(chown(fix->path, TEST_NOBODY, TEST_NOBODY), 0);
    }
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        if (geteuid() == 0 &&
            (setgroups(0, NULL) != 0 || setgid(TEST_NOBODY) != 0 ||
             setuid(TEST_NOBODY) != 0))
            _exit(100);
        _exit(work());
    }
    return child_status(pid);
}

#endif
