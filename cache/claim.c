/* SPDX-License-Identifier: Apache-2.0
 *
 * claim.c owns the rule that one of all callers that miss a key compiles it and
 * the others wait for its binary.
 *
 * A claim is an open-file-description lock on a byte of groat.lock, beside the
 * store: the kernel releases it when its holder exits, in whatever container,
 * and a store never waits for itself.  A key has LEVELS bytes.  A caller that
 * has waited wait_ms for the first byte goes on to the second, and so on: one
 * of the callers that a stopped holder keeps waiting compiles, and the others
 * wait for that one.
 *
 * The contents of the file tell of failures: a byte for each group of keys,
 * which changes when a holder releases its claim without an entry.  After such
 * a failure the waiters do not queue but go on without a claim; if the byte is
 * unchanged, the holder died, and the first to get the lock takes its place.
 *
 * Invariant: a claim only saves work.  No wait is longer than LEVELS times
 * wait_ms; where locks are not available, every caller compiles.
 * Locking: the store is locked for each look and unlocked for each nap.
 */
#include "cache/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

enum {
    LEVELS = 4,
    SIGNS = 4096, /* bytes in the file */
    FINDS_MAX = 3,
    NAP_MAX_MS = 20
};

/* One caller that wants a key. */
typedef struct wish {
    const groat__digest *key;
    const char *identity;
    groat__store_blob *out;
    int64_t start;
    int level;
    int64_t level_start;
    unsigned char sign; /* as it was before the wait */
    bool waited;
    unsigned finds; /* bad entries found so far */
} wish;

/* The result of one look. */
typedef enum step {
    STEP_NAP,   /* another holds the key */
    STEP_AGAIN, /* something has changed meanwhile */
    STEP_HELD,
    STEP_FOUND,
    STEP_ALONE /* compile without a claim */
} step;

static uint64_t number_of(const groat__digest *key)
{
    uint64_t number;

    memcpy(&number, key->bytes, sizeof(number));
    return number;
}

static off_t place_of_sign(const groat__digest *key)
{
    return (off_t)(number_of(key) % SIGNS);
}

/* The locked bytes follow the signs, beyond the end of the file. */
static int set_lock(int fd, const groat__digest *key, int level, int count,
                    short type)
{
    struct flock lock;

    memset(&lock, 0, sizeof(lock));
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = SIGNS + (off_t)((number_of(key) >> 4) * LEVELS) + level;
    lock.l_len = count;
    return fcntl(fd, F_OFD_SETLK, &lock) == 0 ? 0 : errno;
}

static unsigned char read_sign(int fd, const groat__digest *key)
{
    unsigned char sign = 0;

    (void)pread(fd, &sign, 1, place_of_sign(key));
    return sign;
}

/* On a full disk the sign stays as it is: the waiters then queue. */
static void change_sign(int fd, const groat__digest *key)
{
    unsigned char sign = (unsigned char)(read_sign(fd, key) + 1);

    (void)pwrite(fd, &sign, 1, place_of_sign(key));
}

/* ---- the file ------------------------------------------------------------ */

void groat__claims_close(groat__store *store)
{
    if (store->claims.fd >= 0)
        (void)close(store->claims.fd);
    store->claims.fd = -1;
}

/* Locked: makes sure that fd is the file that is now in the folder. */
static groat_status open_file(groat__store *store, groat_error *error)
{
    groat__claims *claims = &store->claims;
    groat_status status;

    if (claims->fd >= 0 &&
        !groat__place_moved(claims->path, claims->device, claims->inode))
        return GROAT_OK;
    groat__claims_close(store);
    status = groat__place_file(claims->path, &store->share, &claims->device,
                               &claims->inode, error);
    if (status != GROAT_OK)
        return status;
    claims->fd = open(claims->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    return claims->fd >= 0 ? GROAT_OK
                           : groat__fail(error, GROAT_IO, "cannot open %s: %s",
                                         claims->path, strerror(errno));
}

/* ---- one look ------------------------------------------------------------ */

/* Looks for a row without checking it: ROW, DONE, or an error. */
static int look_for_row(groat__store *store, const groat__digest *key)
{
    sqlite3_stmt *get;
    int rc = groat__row_seek(store, key, &get);

    (void)sqlite3_reset(get);
    return rc;
}

/* Goes to the next level if the wait for this one was too long. */
static step nap_or_go_on(groat__store *store, wish *w)
{
    int64_t now = groat__store_now();

    if (!w->waited) {
        GROAT__PROBE2(claim__wait, store->path, store->claims.wait_ms);
        store->claims.waits++;
        w->sign = read_sign(store->claims.fd, w->key);
    }
    w->waited = true;
    if (now - w->level_start < store->claims.wait_ms)
        return STEP_NAP;
    store->claims.timeouts++;
    groat__store_say(
        store, GROAT__NOTE_LATE,
        "another process has compiled a kernel for more than %d ms, or is "
        "stopped; this process compiles the kernel, too; reported once",
        store->claims.wait_ms);
    w->level_start = now;
    return ++w->level < LEVELS ? STEP_AGAIN : STEP_ALONE;
}

/* With the lock held: finds an entry put meanwhile, or takes the key. */
static step take(groat__store *store, wish *w)
{
    int rc = look_for_row(store, w->key);

    if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
        (void)groat__connection_fault(store, rc, "claiming a key");
        return STEP_ALONE;
    }
    if (rc == SQLITE_ROW) {
        if (groat__store_find(store, w->key, w->identity, w->out))
            return STEP_FOUND;
        /* The entry was bad and has been dropped. */
        return ++w->finds < FINDS_MAX ? STEP_AGAIN : STEP_ALONE;
    }
    if (w->waited && w->sign != read_sign(store->claims.fd, w->key))
        return STEP_ALONE;
    if (!w->waited || w->level > 0)
        return STEP_HELD;
    store->claims.takeovers++;
    groat__store_say(
        store, GROAT__NOTE_LOST,
        "a process that compiled a kernel has ended without storing it; this "
        "process compiles the kernel; reported once");
    return STEP_HELD;
}

static step go_alone(groat__store *store, const char *why)
{
    groat__store_faulted(store, "claim");
    groat__store_say(store, GROAT__NOTE_CLAIM,
                     "claiming a key failed: %s; other processes may compile "
                     "the same kernels; reported once",
                     why);
    return STEP_ALONE;
}

/* Locked. */
static step look(groat__store *store, wish *w)
{
    groat_error why = GROAT_ERROR_INIT;
    step at = STEP_ALONE;
    int failed;

    if (open_file(store, &why) != GROAT_OK) {
        at = go_alone(store, why.text);
        groat_error_clear(&why);
        return at;
    }
    failed = set_lock(store->claims.fd, w->key, w->level, 1, F_WRLCK);
    if (failed == EAGAIN)
        return nap_or_go_on(store, w);
    if (failed != 0)
        return go_alone(store, strerror(failed));
    at = take(store, w);
    if (at != STEP_HELD)
        (void)set_lock(store->claims.fd, w->key, w->level, 1, F_UNLCK);
    return at;
}

/* Sleeps for a sixteenth of the wait so far, within 1 to NAP_MAX_MS. */
static void nap(const wish *w)
{
    int64_t ms = (groat__store_now() - w->start) / 16;
    struct timespec t = {0, 1000000};

    if (ms > 1)
        t.tv_nsec *= ms > NAP_MAX_MS ? NAP_MAX_MS : (long)ms;
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

groat__claim groat__store_claim(groat__store *store, const groat__digest *key,
                                const char *identity, groat__store_blob *out)
{
    groat__store_blob blob = {0};
    int64_t now = groat__store_now();
    wish w = {.key = key,
              .identity = identity,
              .out = &blob,
              .start = now,
              .level_start = now};
    step at = STEP_AGAIN;

    while (at == STEP_NAP || at == STEP_AGAIN) {
        if (at == STEP_NAP)
            nap(&w);
        groat__store_enter(store);
        if (groat__connection_ready(store, NULL) != GROAT_OK ||
            store->read_only)
            at = STEP_ALONE;
        else
            at = look(store, &w);
        groat__store_leave(store);
    }
    if (at == STEP_FOUND)
        *out = blob;
    return at == STEP_FOUND  ? GROAT__CLAIM_FOUND
           : at == STEP_HELD ? GROAT__CLAIM_HELD
                             : GROAT__CLAIM_NONE;
}

/* Locked: returns whether a claim has ended without an entry. */
static bool has_failed(groat__store *store, const groat__digest *key)
{
    int rc = store->db == NULL ? SQLITE_DONE : look_for_row(store, key);

    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        (void)groat__connection_fault(store, rc, "releasing a key");
    return rc != SQLITE_ROW;
}

void groat__store_release(groat__store *store, const groat__digest *key)
{
    groat__store_enter(store);
    if (store->claims.fd >= 0) {
        if (has_failed(store, key))
            change_sign(store->claims.fd, key);
        (void)set_lock(store->claims.fd, key, 0, LEVELS, F_UNLCK);
    }
    groat__store_leave(store);
}
