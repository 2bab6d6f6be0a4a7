/* SPDX-License-Identifier: Apache-2.0
 *
 * test_claim.c: which process may compile a key, for which one the others wait
 * and how long, and what is left behind.  Two stores act as two processes,
 * because a lock belongs to an open file, not to a process.
 * tests/pipe/test_processes.c tests real processes that are killed and stopped.
 */
#include "fixture.h"

#include "../threads.h"

#include <sched.h>

enum {
    AGES = 1000000, /* ms: longer than any test takes */
    SOON = 40       /* ms: short enough to wait for in full */
};

static fixture fix;

static void setup(void)
{
    fixture_make(&fix);
}

static void teardown(void)
{
    fixture_drop(&fix);
}

/* Opens a store with a test's own limit for waits. */
static groat__store *open_waiting(int wait_ms)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);

    store->claims.wait_ms = wait_ms;
    return store;
}

/* ---- one store --------------------------------------------------------- */

START_TEST(test_held_until_released)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);
    groat__store *second = open_waiting(0);
    int threads = first_threads();

    for (unsigned n = 0; n < 3; n++)
        ck_claim(store, n, GROAT__CLAIM_HELD);
    ck_threads(threads);
    kernel_put(store, 0, 100);
    for (unsigned n = 0; n < 3; n++)
        release(store, n);
    ck_claim(store, 0, GROAT__CLAIM_FOUND);
    for (unsigned n = 1; n < 3; n++) {
        ck_claim(second, n, GROAT__CLAIM_HELD);
        release(second, n);
    }
    ck_assert_uint_eq(kernel_stat(store).waits, 0);
    ck_assert_uint_eq(kernel_stat(store).faults, 0);
    ck_assert_uint_eq(kernel_stat(second).waits, 0);
    ck_assert_int_eq(fixture_said(&fix, ""), 0);
    groat__store_close(second);
    groat__store_close(store);
}
END_TEST

/* Another store puts the entry between the miss and the claim. */
START_TEST(test_entry_that_came_meanwhile)
{
    groat__store *one = fixture_open(&fix, 4 * MIB);
    groat__store *two = fixture_open(&fix, 4 * MIB);
    int64_t changes;

    ck_miss(one, 1);
    kernel_put(two, 1, 5000);
    changes = sqlite3_total_changes(one->db);
    ck_claim(one, 1, GROAT__CLAIM_FOUND);
    ck_assert_uint_eq(kernel_stat(one).hits, 1);
    ck_assert_int_eq(sqlite3_total_changes(one->db), changes);
    /* A damaged entry is not found. */
    outside_once(fix.path, "UPDATE entry SET log = 'x' || log");
    ck_claim(one, 1, GROAT__CLAIM_HELD);
    release(one, 1);
    ck_assert_uint_eq(kernel_stat(one).evictions, 1);
    groat__store_close(one);
    groat__store_close(two);
}
END_TEST

/* ---- two stores that act as two processes -------------------------------- */

typedef struct other {
    pthread_t thread;
    groat__store *store;
    unsigned n;
    groat__claim claim;
    answer got;
} other;

static void *claim_it(void *user)
{
    other *self = user;
    groat__store_blob blob = {0};

    self->claim = claim_of(self->store, self->n, &blob);
    self->got = ANSWER_MISS;
    if (self->claim == GROAT__CLAIM_FOUND)
        self->got = kernel_judge(&blob, self->n);
    return NULL;
}

static void start_claim(other *self, groat__store *store, unsigned n)
{
    *self = (other){.store = store, .n = n};
    ck_assert_int_eq(pthread_create(&self->thread, NULL, claim_it, self), 0);
}

static groat__claim end_claim(other *self)
{
    ck_assert_int_eq(pthread_join(self->thread, NULL), 0);
    return self->claim;
}

/* Returns when this many claims of a store wait, or have waited. */
static void await_waits(groat__store *store, uint64_t count)
{
    while (kernel_stat(store).waits < count)
        (void)sched_yield();
}

START_TEST(test_loser_takes_the_winners_bytes)
{
    groat__store *one = open_waiting(AGES);
    groat__store *two = open_waiting(AGES);
    groat_cache_stat stat;
    other o;

    ck_claim(one, 1, GROAT__CLAIM_HELD);
    start_claim(&o, two, 1);
    await_waits(two, 1);
    /* A claim of another key does not wait. */
    ck_claim(two, 2, GROAT__CLAIM_HELD);
    kernel_put(two, 2, 100);
    release(two, 2);
    kernel_put(one, 1, 5000);
    release(one, 1);
    ck_assert_int_eq(end_claim(&o), GROAT__CLAIM_FOUND);
    ck_assert_int_eq(o.got, ANSWER_RIGHT);
    stat = kernel_stat(two);
    ck_assert_uint_eq(stat.waits, 1);
    ck_assert_uint_eq(stat.hits, 1);
    ck_assert_uint_eq(stat.takeovers, 0);
    ck_assert_uint_eq(stat.timeouts, 0);
    stat = kernel_stat(one);
    ck_assert_uint_eq(stat.waits, 0);
    /* The winner did not read the entry. */
    ck_assert_uint_eq(stat.hits + stat.misses, 0);
    groat__store_close(one);
    groat__store_close(two);
}
END_TEST

/* The holder puts nothing: the waiting claims do not queue up again. */
START_TEST(test_winner_gives_up)
{
    groat__store *one = open_waiting(AGES);
    groat__store *stores[3];
    other others[3];

    ck_claim(one, 1, GROAT__CLAIM_HELD);
    for (int i = 0; i < 3; i++) {
        stores[i] = open_waiting(AGES);
        start_claim(&others[i], stores[i], 1);
        await_waits(stores[i], 1);
    }
    release(one, 1);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(end_claim(&others[i]), GROAT__CLAIM_NONE);
    for (int i = 0; i < 3; i++) {
        ck_claim(stores[i], 1, GROAT__CLAIM_HELD);
        groat__store_close(stores[i]);
    }
    groat__store_close(one);
}
END_TEST

/* The holder is stopped or slow: waiting claims go on after a while, but one at
 * a time as long as the next holder is not slow, too. */
START_TEST(test_wait_is_bounded)
{
    groat__store *one = open_waiting(AGES);
    groat__store *two = open_waiting(SOON);
    groat__store *three = open_waiting(SOON);
    other o;

    ck_claim(one, 1, GROAT__CLAIM_HELD);
    ck_claim(two, 1, GROAT__CLAIM_HELD);
    ck_assert_uint_eq(kernel_stat(two).waits, 1);
    ck_assert_uint_eq(kernel_stat(two).timeouts, 1);
    ck_assert_uint_eq(kernel_stat(two).takeovers, 0);
    ck_assert_int_eq(
        fixture_said(&fix, "this process compiles the kernel, too"), 1);
    /* The third waits for the first, and then for the second. */
    three->claims.wait_ms = SOON;
    start_claim(&o, three, 1);
    while (kernel_stat(three).timeouts < 1)
        (void)sched_yield();
    kernel_put(two, 1, 5000);
    release(two, 1);
    ck_assert_int_ne(end_claim(&o), GROAT__CLAIM_NONE);
    if (o.claim == GROAT__CLAIM_HELD) /* on an even slower machine */
        release(three, 1);
    /* The stopped holder resumes. */
    kernel_put(one, 1, 5000);
    release(one, 1);
    ck_claim(one, 1, GROAT__CLAIM_FOUND);
    ck_claim(three, 1, GROAT__CLAIM_FOUND);
    groat__store_close(one);
    groat__store_close(two);
    groat__store_close(three);
}
END_TEST

/* When four holders are slow, the fifth process compiles without a claim. */
START_TEST(test_the_last_level)
{
    enum { LEVELS = 4 };
    groat__store *stores[LEVELS + 1];

    for (unsigned i = 0; i <= LEVELS; i++)
        stores[i] = open_waiting(0);
    for (unsigned i = 0; i < LEVELS; i++)
        ck_claim(stores[i], 1, GROAT__CLAIM_HELD);
    ck_claim(stores[LEVELS], 1, GROAT__CLAIM_NONE);
    ck_assert_uint_eq(kernel_stat(stores[LEVELS]).timeouts, LEVELS);
    /* A release frees only the level that was held. */
    release(stores[2], 1);
    ck_claim(stores[LEVELS], 1, GROAT__CLAIM_HELD);
    for (unsigned i = 0; i <= LEVELS; i++)
        groat__store_close(stores[i]);
}
END_TEST

/* A holder that dies loses its lock without a message. */
START_TEST(test_holder_dies)
{
    groat__store *one = open_waiting(AGES);
    groat__store *two = open_waiting(AGES);
    groat__store *three = open_waiting(AGES);
    other others[2];

    ck_claim(one, 1, GROAT__CLAIM_HELD);
    start_claim(&others[0], two, 1);
    start_claim(&others[1], three, 1);
    await_waits(two, 1);
    await_waits(three, 1);
    groat__store_close(one);
    /* One claim takes over, the other keeps waiting. */
    while (kernel_stat(two).takeovers + kernel_stat(three).takeovers < 1)
        (void)sched_yield();
    one = kernel_stat(two).takeovers == 1 ? two : three;
    kernel_put(one, 1, 5000);
    release(one, 1);
    ck_assert_int_eq(end_claim(&others[0]),
                     one == two ? GROAT__CLAIM_HELD : GROAT__CLAIM_FOUND);
    ck_assert_int_eq(end_claim(&others[1]),
                     one == three ? GROAT__CLAIM_HELD : GROAT__CLAIM_FOUND);
    ck_assert_int_eq(fixture_said(&fix, "has ended without storing it"), 1);
    groat__store_close(two);
    groat__store_close(three);
}
END_TEST

/* ---- threads ------------------------------------------------------------- */

/* Every store claims every key and puts what it holds. */
enum { STORES = 12, KEYS = 12 };

typedef struct crowd {
    pthread_t thread;
    groat__store *store;
    unsigned index;
    unsigned held;
    unsigned wrong;
} crowd;

static void *claim_all(void *user)
{
    crowd *self = user;

    for (unsigned i = 0; i < KEYS; i++) {
        unsigned n = (self->index * 5 + i * 7) % KEYS;
        groat__store_blob blob = {0};

        switch (claim_of(self->store, n, &blob)) {
        case GROAT__CLAIM_FOUND:
            self->wrong += kernel_judge(&blob, n) != ANSWER_RIGHT;
            break;
        case GROAT__CLAIM_HELD:
            self->held++;
            kernel_put(self->store, n, 100 * n);
            release(self->store, n);
            break;
        default:
            self->wrong++;
            break;
        }
    }
    return NULL;
}

START_TEST(test_each_key_is_claimed_once)
{
    static crowd crowds[STORES];
    int threads = first_threads();
    unsigned held = 0;

    for (unsigned i = 0; i < STORES; i++) {
        crowds[i] = (crowd){.store = open_waiting(AGES), .index = i};
        crowds[i].store->busy_ms = AGES;
        groat__connection_hurry(crowds[i].store, false);
    }
    for (unsigned i = 0; i < STORES; i++)
        ck_assert_int_eq(
            pthread_create(&crowds[i].thread, NULL, claim_all, &crowds[i]), 0);
    for (unsigned i = 0; i < STORES; i++) {
        ck_assert_int_eq(pthread_join(crowds[i].thread, NULL), 0);
        ck_assert_uint_eq(crowds[i].wrong, 0);
        held += crowds[i].held;
    }
    ck_assert_uint_eq(held, KEYS);
    ck_threads(threads);
    for (unsigned i = 0; i < STORES; i++) {
        ck_assert_uint_eq(kernel_stat(crowds[i].store).faults, 0);
        groat__store_close(crowds[i].store);
    }
}
END_TEST

/* ---- missing and unusable files ------------------------------------------ */

/* A claim needs no write to the store. */
START_TEST(test_a_locked_store)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);
    sqlite3 *db = outside_open(fix.path);

    outside_exec(db, "BEGIN IMMEDIATE");
    ck_claim(store, 1, GROAT__CLAIM_HELD);
    kernel_put(store, 1, 100);
    release(store, 1);
    ck_assert_uint_eq(kernel_stat(store).faults, 1);
    outside_exec(db, "ROLLBACK");
    (void)sqlite3_close(db);
    ck_claim(store, 1, GROAT__CLAIM_HELD);
    release(store, 1);
    groat__store_close(store);
}
END_TEST

/* Removing the folder ends no claim; the next claim locks the new file. */
START_TEST(test_a_folder_that_goes)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);
    groat__store *newer;

    ck_claim(store, 1, GROAT__CLAIM_HELD);
    remove_folder(fix.dir);
    kernel_put(store, 1, 100);
    release(store, 1);
    ck_hit(store, 1);
    ck_claim(store, 2, GROAT__CLAIM_HELD);
    newer = open_waiting(0);
    ck_claim(newer, 3, GROAT__CLAIM_HELD);
    store->claims.wait_ms = 0;
    ck_claim(store, 3, GROAT__CLAIM_HELD);
    ck_assert_uint_eq(kernel_stat(store).timeouts, 1);
    groat__store_close(newer);
    remove_folder(fix.dir);
    file_write(fix.dir, "a file in its place", 19);
    release(store, 2);
    ck_claim(store, 2, GROAT__CLAIM_NONE);
    groat__store_close(store);
}
END_TEST

/* If the lock file is not a file, nothing is locked; puts still work. */
START_TEST(test_no_file_to_lock)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);
    char path[320];

    (void)snprintf(path, sizeof(path), "%s/groat.lock", fix.dir);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_claim(store, 1, GROAT__CLAIM_NONE);
    ck_claim(store, 2, GROAT__CLAIM_NONE);
    ck_assert_uint_eq(kernel_stat(store).faults, 2);
    ck_assert_int_eq(fixture_said(&fix, "groat.lock is a folder"), 1);
    kernel_put(store, 1, 100);
    ck_hit(store, 1);
    ck_assert_int_eq(rmdir(path), 0);
    ck_claim(store, 2, GROAT__CLAIM_HELD);
    ck_assert_uint_eq(file_mode(path), 0600);
    release(store, 2);
    groat__store_close(store);
}
END_TEST

/* A full disk: no claim waits, least of all for the store's own. */
START_TEST(test_a_full_store)
{
    groat__store *store = open_waiting(AGES);

    ck_assert_int_eq(
        sqlite3_exec(store->db, "PRAGMA max_page_count = 1", NULL, NULL, NULL),
        SQLITE_OK);
    for (uint64_t i = 1; i <= 2; i++) {
        ck_claim(store, 1, GROAT__CLAIM_HELD);
        kernel_put(store, 1, 50000);
        release(store, 1);
        ck_assert_uint_eq(kernel_stat(store).faults, i);
    }
    ck_assert_uint_eq(kernel_stat(store).waits, 0);
    ck_miss(store, 1);
    groat__store_close(store);
}
END_TEST

static TCase *plain_tests(void)
{
    TCase *tcase = tcase_create("claims");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, test_held_until_released);
    tcase_add_test(tcase, test_entry_that_came_meanwhile);
    tcase_add_test(tcase, test_loser_takes_the_winners_bytes);
    tcase_add_test(tcase, test_winner_gives_up);
    tcase_add_test(tcase, test_wait_is_bounded);
    tcase_add_test(tcase, test_the_last_level);
    tcase_add_test(tcase, test_holder_dies);
    tcase_add_test(tcase, test_each_key_is_claimed_once);
    tcase_add_test(tcase, test_a_locked_store);
    tcase_add_test(tcase, test_a_folder_that_goes);
    tcase_add_test(tcase, test_no_file_to_lock);
    tcase_add_test(tcase, test_a_full_store);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("claims");

    suite_add_tcase(suite, plain_tests());
    return run_suite(suite);
}
