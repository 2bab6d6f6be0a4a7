/* SPDX-License-Identifier: Apache-2.0
 *
 * test_lease.c: who may compile a key, whom the others wait for and how long,
 * and what is left behind.  Holders that are dead, stopped, of another boot or
 * of another pid namespace are rows written from outside; real processes that
 * are killed and stopped are the business of tests/pipe/test_processes.c.
 */
#include "fixture.h"

#include "../threads.h"

#include <sched.h>

enum {
    AGES = 1000000, /* ms: longer than any test takes */
    SOON = 40       /* ms: waited for in full by some */
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

/* A store that waits as long as a test wants. */
static groat__store *open_waiting(int stale_ms, int wait_ms)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);

    store->lease.stale_ms = stale_ms;
    store->lease.wait_ms = wait_ms;
    return store;
}

static int64_t count_leases(void)
{
    sqlite3 *db = outside_open(fix.path);
    int64_t count = outside_number(db, "SELECT count(*) FROM lease");

    (void)sqlite3_close(db);
    return count;
}

/* ---- one store --------------------------------------------------------- */

START_TEST(test_held_until_released)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);
    int threads = first_threads();

    for (unsigned n = 0; n < 3; n++) {
        ck_claim(store, n, GROAT__CLAIM_HELD);
        ck_assert_int_eq(count_leases(), n + 1);
        /* One renews them all. */
        ck_threads(threads + 1);
    }
    kernel_put(store, 0, 100);
    ck_assert_int_eq(count_leases(), 2);
    release(store, 0);
    release(store, 1);
    ck_assert_int_eq(count_leases(), 1);
    ck_threads(threads + 1);
    release(store, 2);
    ck_assert_int_eq(count_leases(), 0);
    ck_threads(threads);
    ck_claim(store, 0, GROAT__CLAIM_FOUND);
    ck_claim(store, 1, GROAT__CLAIM_HELD);
    release(store, 1);
    ck_assert_uint_eq(kernel_stat(store).waits, 0);
    ck_assert_uint_eq(kernel_stat(store).faults, 0);
    ck_assert_int_eq(fixture_said(&fix, ""), 0);
    groat__store_close(store);
}
END_TEST

/* A put from elsewhere between a miss and the claim. */
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
    /* A bad one is nothing to find. */
    outside_once(fix.path, "UPDATE entry SET log = 'x' || log");
    ck_claim(one, 1, GROAT__CLAIM_HELD);
    release(one, 1);
    ck_assert_uint_eq(kernel_stat(one).evictions, 1);
    groat__store_close(one);
    groat__store_close(two);
}
END_TEST

static int64_t beat_of(sqlite3 *db)
{
    return outside_number(db, "SELECT beat FROM lease");
}

START_TEST(test_lease_is_renewed)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);
    sqlite3 *db = outside_open(fix.path);
    int64_t seen;

    store->lease.beat_ms = 1;
    ck_claim(store, 1, GROAT__CLAIM_HELD);
    for (int i = 0; i < 5; i++) {
        seen = beat_of(db);
        while (beat_of(db) == seen)
            (void)sched_yield();
    }
    ck_assert_int_le(beat_of(db), groat__lease_now());
    release(store, 1);
    (void)sqlite3_close(db);
    groat__store_close(store);
}
END_TEST

/* ---- two stores, which stand for two processes -------------------------- */

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

/* Until this many claims of a store wait, or have waited. */
static void await_waits(groat__store *store, uint64_t count)
{
    while (kernel_stat(store).waits < count)
        (void)sched_yield();
}

START_TEST(test_loser_takes_the_winners_bytes)
{
    groat__store *one = open_waiting(AGES, AGES);
    groat__store *two = open_waiting(AGES, AGES);
    groat_cache_stat stat;
    other o;

    ck_claim(one, 1, GROAT__CLAIM_HELD);
    start_claim(&o, two, 1);
    await_waits(two, 1);
    /* Another key is not held up. */
    ck_claim(two, 2, GROAT__CLAIM_HELD);
    kernel_put(two, 2, 100);
    release(two, 2);
    kernel_put(one, 1, 5000);
    ck_assert_int_eq(end_claim(&o), GROAT__CLAIM_FOUND);
    ck_assert_int_eq(o.got, ANSWER_RIGHT);
    release(one, 1);
    stat = kernel_stat(two);
    ck_assert_uint_eq(stat.waits, 1);
    ck_assert_uint_eq(stat.hits, 1);
    ck_assert_uint_eq(stat.takeovers, 0);
    ck_assert_uint_eq(stat.timeouts, 0);
    stat = kernel_stat(one);
    ck_assert_uint_eq(stat.waits, 0);
    /* The winner has read nothing. */
    ck_assert_uint_eq(stat.hits + stat.misses, 0);
    groat__store_close(one);
    groat__store_close(two);
}
END_TEST

/* Nothing comes of it: those who wait do not stand in line for the next. */
START_TEST(test_winner_gives_up)
{
    groat__store *one = open_waiting(AGES, AGES);
    groat__store *two = open_waiting(AGES, AGES);
    other others[3];

    ck_claim(one, 1, GROAT__CLAIM_HELD);
    for (int i = 0; i < 3; i++)
        start_claim(&others[i], two, 1);
    await_waits(two, 3);
    release(one, 1);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(end_claim(&others[i]), GROAT__CLAIM_NONE);
    ck_claim(two, 1, GROAT__CLAIM_HELD);
    release(two, 1);
    groat__store_close(one);
    groat__store_close(two);
}
END_TEST

/* The holder renews its lease, for ever. */
START_TEST(test_wait_is_bounded)
{
    groat__store *one = open_waiting(AGES, AGES);
    groat__store *two = open_waiting(AGES, SOON);

    one->lease.beat_ms = 1;
    ck_claim(one, 1, GROAT__CLAIM_HELD);
    for (unsigned i = 1; i <= 2; i++) {
        ck_claim(two, 1, GROAT__CLAIM_NONE);
        ck_assert_uint_eq(kernel_stat(two).waits, i);
        ck_assert_uint_eq(kernel_stat(two).timeouts, i);
        ck_assert_int_eq(fixture_said(&fix, "it is compiled here, too"), 1);
    }
    /* Who has given up puts what it has; the holder does as well. */
    kernel_put(two, 1, 5000);
    ck_assert_int_eq(count_leases(), 0);
    ck_claim(two, 1, GROAT__CLAIM_FOUND);
    kernel_put(one, 1, 5000);
    release(one, 1);
    ck_claim(one, 1, GROAT__CLAIM_FOUND);
    groat__store_close(one);
    groat__store_close(two);
}
END_TEST

/* A holder that is stopped renews nothing; when it goes on, all is well. */
START_TEST(test_stopped_holder_loses)
{
    groat__store *one = open_waiting(AGES, AGES);
    groat__store *two = open_waiting(SOON, AGES);

    one->lease.beat_ms = AGES;
    ck_claim(one, 1, GROAT__CLAIM_HELD);
    ck_claim(two, 1, GROAT__CLAIM_HELD);
    ck_assert_uint_eq(kernel_stat(two).takeovers, 1);
    ck_assert_int_eq(fixture_said(&fix, "is gone or stopped"), 1);
    ck_assert_int_eq(count_leases(), 1);
    /* What is not its any more stays as it is. */
    release(one, 1);
    ck_assert_int_eq(count_leases(), 1);
    kernel_put(one, 1, 5000);
    kernel_put(two, 1, 5000);
    release(two, 1);
    ck_claim(one, 1, GROAT__CLAIM_FOUND);
    groat__store_close(one);
    groat__store_close(two);
}
END_TEST

/* ---- holders of all kinds ------------------------------------------------ */

/* A process that has ended; *zombie: nobody has waited for it. */
static pid_t ended_process(bool zombie)
{
    siginfo_t info;
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        _exit(0);
    ck_assert_int_eq(
        waitid(P_PID, (id_t)pid, &info, WEXITED | (zombie ? WNOWAIT : 0)), 0);
    return pid;
}

/* The row of kernel 1, as somebody else might have left it. */
static void write_lease(const groat__holder *holder, int64_t beat)
{
    groat__digest key = kernel_key(1);
    sqlite3 *db = outside_open(fix.path);
    char *sql = sqlite3_mprintf(
        "INSERT OR REPLACE INTO lease VALUES (%lld, 7, %Q, %lld, %lld, %lld, "
        "%lld)",
        (long long)groat__row_id(&key), holder->boot, (long long)holder->space,
        (long long)holder->pid, (long long)holder->started, (long long)beat);

    outside_exec(db, sql);
    sqlite3_free(sql);
    (void)sqlite3_close(db);
}

/* What others look like, beginning with ourselves. */
static groat__holder holder_of(int kind, int64_t *beat)
{
    groat__holder holder;

    groat__holder_self(&holder);
    *beat = groat__lease_now();
    switch (kind) {
    case 0: /* gone, and the number is free */
        holder.pid = ended_process(false);
        holder.started = 1;
        break;
    case 1: /* gone, and the number is another's */
        holder.started++;
        break;
    case 2: /* killed, and its parent has not looked */
        holder.pid = ended_process(true);
        holder.started = 0;
        break;
    case 3: /* of another boot */
        holder.boot[0] = holder.boot[0] == '0' ? '1' : '0';
        break;
    case 4: /* in a container, and silent for long */
        holder.space++;
        *beat -= AGES;
        break;
    case 5: /* the same without /proc */
        holder.started = holder.space = 0;
        *beat -= AGES;
        break;
    case 6: /* of a kernel that does not tell its boot; by a clock ahead */
        holder.boot[0] = '\0';
        *beat += (int64_t)1 << 60;
        break;
    case 7: /* in a container with a clock of its own, ahead of ours */
        holder.space++;
        *beat += AGES;
        break;
    case 8: /* a clock before all time */
        holder.space++;
        *beat = INT64_MIN;
        break;
    default: /* at work */
        break;
    }
    return holder;
}

enum { KINDS_SURE = 6, KINDS = 9 };

static bool is_known(void)
{
    groat__holder self;

    groat__holder_self(&self);
    return self.boot[0] != '\0' && self.space != 0 && self.started != 0;
}

START_TEST(test_lost_leases_are_taken)
{
    /* The first are known to be lost, the others only by standing still. */
    bool sure = _i < KINDS_SURE;
    groat__store *store = open_waiting(sure ? AGES / 2 : SOON, AGES);
    groat__holder holder;
    int64_t beat;

    if (!is_known()) {
        puts("SKIP: /proc does not tell who we are");
        groat__store_close(store);
        return;
    }
    holder = holder_of(_i, &beat);
    write_lease(&holder, beat);
    ck_claim(store, 1, GROAT__CLAIM_HELD);
    ck_assert_int_eq(count_leases(), 1);
    ck_assert_uint_eq(kernel_stat(store).takeovers, 1);
    ck_assert_uint_eq(kernel_stat(store).waits, sure ? 0 : 1);
    ck_assert_int_eq(fixture_said(&fix, "is gone or stopped"), 1);
    kernel_put(store, 1, 100);
    release(store, 1);
    ck_hit(store, 1);
    groat__store_close(store);
}
END_TEST

/* The same row, but for what makes it lost, is waited for. */
START_TEST(test_live_leases_are_not)
{
    groat__store *store = open_waiting(AGES, SOON);
    groat__holder holder;
    int64_t beat;

    holder = holder_of(KINDS, &beat);
    if (_i == 1)
        holder.space++;
    if (_i == 2)
        holder.started = 0;
    if (_i == 3)
        holder.boot[0] = '\0';
    write_lease(&holder, beat);
    ck_claim(store, 1, GROAT__CLAIM_NONE);
    ck_assert_uint_eq(kernel_stat(store).takeovers, 0);
    ck_assert_uint_eq(kernel_stat(store).timeouts, 1);
    groat__store_close(store);
}
END_TEST

/* Rows that no groat has written: a wait at most. */
START_TEST(test_foreign_rows)
{
    static const char *const changes[] = {
        "owner = 'x'",
        "owner = zeroblob(100000)",
        "boot = zeroblob(7)",
        "boot = 5",
        "boot = printf('%9999d', 1)",
        "pid = 0",
        "pid = -1",
        "pid = 1 << 40",
        "pid = 'many'",
        "started = -1",
        "started = 1 << 62",
        "space = 'none'",
        "beat = 'now'",
        "beat = zeroblob(9)",
        "beat = 1e300",
    };
    groat__store *store = open_waiting(SOON, 4 * SOON);
    groat__store_blob blob = {0};
    groat__holder holder;
    int64_t beat;
    char sql[200];

    ck_assert_int_lt(_i, (int)COUNT(changes));
    holder = holder_of(KINDS, &beat);
    write_lease(&holder, beat);
    (void)snprintf(sql, sizeof(sql), "UPDATE lease SET %s", changes[_i]);
    outside_once(fix.path, sql);
    ck_assert_int_eq(claim_of(store, 1, &blob), GROAT__CLAIM_HELD);
    release(store, 1);
    groat__store_close(store);
}
END_TEST

/* What is of no use to anybody goes with the next claim. */
START_TEST(test_old_leases_are_forgotten)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);

    outside_once(fix.path,
                 "INSERT INTO lease VALUES (1, 7, 'another boot', 1, 1, 1, "
                 "1 << 60), (2, 7, '', 1, 1, 1, -1)");
    ck_claim(store, 1, GROAT__CLAIM_HELD);
    ck_assert_int_eq(count_leases(), is_known() ? 1 : 2);
    release(store, 1);
    groat__store_close(store);
}
END_TEST

/* ---- threads ------------------------------------------------------------- */

/* All stores and threads want all keys; what is claimed is put. */
enum { STORES = 3, THREADS = 8, KEYS = 12 };

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
    static crowd crowds[STORES * THREADS];
    groat__store *stores[STORES];
    int threads = first_threads();
    unsigned held = 0;

    for (unsigned i = 0; i < STORES; i++) {
        stores[i] = open_waiting(AGES, AGES);
        stores[i]->busy_ms = AGES;
        groat__connection_hurry(stores[i], false);
    }
    for (unsigned i = 0; i < COUNT(crowds); i++) {
        crowds[i] = (crowd){.store = stores[i % STORES], .index = i};
        ck_assert_int_eq(
            pthread_create(&crowds[i].thread, NULL, claim_all, &crowds[i]), 0);
    }
    for (unsigned i = 0; i < COUNT(crowds); i++) {
        ck_assert_int_eq(pthread_join(crowds[i].thread, NULL), 0);
        ck_assert_uint_eq(crowds[i].wrong, 0);
        held += crowds[i].held;
    }
    ck_assert_uint_eq(held, KEYS);
    ck_assert_int_eq(count_leases(), 0);
    ck_threads(threads);
    for (unsigned i = 0; i < STORES; i++) {
        ck_assert_uint_eq(kernel_stat(stores[i]).faults, 0);
        groat__store_close(stores[i]);
    }
}
END_TEST

/* ---- stores that keep no leases ------------------------------------------ */

START_TEST(test_no_lease_from_a_locked_store)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);
    sqlite3 *db = outside_open(fix.path);

    outside_exec(db, "BEGIN IMMEDIATE");
    ck_claim(store, 1, GROAT__CLAIM_NONE);
    ck_assert_uint_eq(kernel_stat(store).faults, 1);
    ck_assert_int_eq(fixture_said(&fix, "claiming a key failed"), 1);
    outside_exec(db, "ROLLBACK");
    (void)sqlite3_close(db);
    ck_claim(store, 1, GROAT__CLAIM_HELD);
    release(store, 1);
    groat__store_close(store);
}
END_TEST

/* Held while the file is locked, removed, or full. */
START_TEST(test_lease_outlives_its_file)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);
    int threads = first_threads();
    sqlite3 *db = outside_open(fix.path);

    store->lease.beat_ms = 1;
    ck_claim(store, 1, GROAT__CLAIM_HELD);
    outside_exec(db, "BEGIN IMMEDIATE");
    kernel_put(store, 1, 100);
    release(store, 1);
    ck_threads(threads);
    outside_exec(db, "ROLLBACK");
    (void)sqlite3_close(db);
    /* Its row could not be removed; it is its own all the same. */
    store->lease.stale_ms = SOON;
    ck_claim(store, 1, GROAT__CLAIM_HELD);
    remove_folder(fix.dir);
    kernel_put(store, 1, 100);
    release(store, 1);
    ck_threads(threads);
    ck_hit(store, 1);
    ck_claim(store, 2, GROAT__CLAIM_HELD);
    remove_folder(fix.dir);
    file_write(fix.dir, "a file in its place", 19);
    release(store, 2);
    ck_claim(store, 2, GROAT__CLAIM_NONE);
    groat__store_close(store);
}
END_TEST

START_TEST(test_no_lease_from_a_full_store)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);

    outside_once(fix.path, "DROP INDEX entry_used");
    outside_once(fix.path, "CREATE INDEX entry_used ON entry (used, bytes)");
    ck_assert_int_eq(
        sqlite3_exec(store->db, "PRAGMA max_page_count = 1", NULL, NULL, NULL),
        SQLITE_OK);
    /* A row more fits the page that is there; the put does not. */
    ck_claim(store, 1, GROAT__CLAIM_HELD);
    kernel_put(store, 1, 50000);
    release(store, 1);
    ck_assert_uint_eq(kernel_stat(store).faults, 1);
    ck_assert_int_eq(count_leases(), 0);
    ck_miss(store, 1);
    groat__store_close(store);
}
END_TEST

/* The parent's claims are not the child's. */
START_TEST(test_leases_of_a_child)
{
    groat__store *store = open_waiting(AGES, SOON);
    pid_t pid;

    ck_claim(store, 1, GROAT__CLAIM_HELD);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        groat__store_blob blob = {0};
        int wrong = claim_of(store, 1, &blob) != GROAT__CLAIM_NONE;

        wrong += store->lease.timeouts != 1;
        store->lease.wait_ms = AGES; /* or the other is forgotten */
        wrong += claim_of(store, 2, &blob) != GROAT__CLAIM_HELD;
        release(store, 2);
        groat__store_close(store);
        _exit(wrong);
    }
    ck_assert_int_eq(child_status(pid), 0);
    ck_assert_int_eq(count_leases(), 1);
    release(store, 1);
    ck_assert_int_eq(count_leases(), 0);
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
    tcase_add_test(tcase, test_lease_is_renewed);
    tcase_add_test(tcase, test_loser_takes_the_winners_bytes);
    tcase_add_test(tcase, test_winner_gives_up);
    tcase_add_test(tcase, test_wait_is_bounded);
    tcase_add_test(tcase, test_stopped_holder_loses);
    tcase_add_loop_test(tcase, test_lost_leases_are_taken, 0, KINDS);
    tcase_add_loop_test(tcase, test_live_leases_are_not, 0, 4);
    tcase_add_loop_test(tcase, test_foreign_rows, 0, 15);
    tcase_add_test(tcase, test_old_leases_are_forgotten);
    tcase_add_test(tcase, test_each_key_is_claimed_once);
    tcase_add_test(tcase, test_no_lease_from_a_locked_store);
    tcase_add_test(tcase, test_lease_outlives_its_file);
    tcase_add_test(tcase, test_no_lease_from_a_full_store);
    /* The detector of races knows no threads of a child of several; the address
     * sanitizer starts none there if one was starting when the parent forked.
     */
    if (!is_tsan() && !sanitizes("address"))
        tcase_add_test(tcase, test_leases_of_a_child);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("leases");

    suite_add_tcase(suite, plain_tests());
    return run_suite(suite);
}
