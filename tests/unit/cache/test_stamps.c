/* SPDX-License-Identifier: Apache-2.0
 *
 * test_stamps.c: hits never write, however many there are, and the order of
 * uses is known all the same.
 */
#include "fixture.h"

static fixture fix;

static void setup(void)
{
    fixture_make(&fix);
}

static void teardown(void)
{
    fixture_drop(&fix);
}

/* ---- hits never write -------------------------------------------------- */

/* Everything that a write would change. */
typedef struct trace {
    int64_t version; /* as another connection sees it */
    int changes;
    struct stat file;
    struct stat wal;
} trace;

static trace trace_of(groat__store *store, sqlite3 *outside)
{
    trace t = {outside_number(outside, "PRAGMA data_version"),
               sqlite3_total_changes(store->db),
               {0},
               {0}};
    char wal[320];

    (void)snprintf(wal, sizeof(wal), "%s-wal", fix.path);
    ck_assert_int_eq(lstat(fix.path, &t.file), 0);
    ck_assert_int_eq(lstat(wal, &t.wal), 0);
    return t;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool same_trace(const trace *a, const trace *b)
{
    return a->version == b->version && a->changes == b->changes &&
           same_file(&a->file, &b->file) && same_file(&a->wal, &b->wal);
}

/* With any number of hits and entries. */
START_TEST(test_hits_never_write)
{
    const unsigned count = 2 * GROAT__STORE_SLOTS;
    groat__store *store = fixture_open(&fix, 64 * MIB);
    sqlite3 *db = NULL;
    trace before;
    trace after;

    for (unsigned n = 0; n < count; n++)
        kernel_put(store, n, 10);
    db = outside_open(fix.path);
    before = trace_of(store, db);
    for (unsigned i = 0; i < 3 * count; i++)
        ck_hit(store, i % count);
    after = trace_of(store, db);
    ck_assert(same_trace(&before, &after));
    kernel_put(store, count, 10);
    after = trace_of(store, db);
    ck_assert_int_ne(after.version, before.version);
    ck_assert_int_gt(after.changes, before.changes);
    ck_assert(!same_file(&after.wal, &before.wal));
    (void)sqlite3_close(db);
    groat__store_close(store);
}
END_TEST

/* ---- pending stamps and which calls write them --------------------------- */

/* Counts the kernels used since `used` of all was set to 1. */
static int64_t count_used(sqlite3 *db)
{
    return outside_number(db, "SELECT count(*) FROM entry WHERE used > 1");
}

/* More entries are hit than stamps fit: the newest are kept, in order. */
START_TEST(test_more_hits_than_stamps)
{
    const unsigned count = 2 * GROAT__STORE_SLOTS;
    groat__store *store = fixture_open(&fix, 64 * MIB);
    sqlite3_stmt *order = NULL;
    sqlite3 *db;

    for (unsigned n = 0; n < count; n++)
        kernel_put(store, n, 10);
    db = outside_open(fix.path);
    outside_exec(db, "UPDATE entry SET used = 1");
    for (unsigned n = 0; n < count; n++)
        ck_hit(store, n);
    ck_assert_int_eq(count_used(db), 0);
    groat__store_close(store);
    ck_assert_int_ge(count_used(db), GROAT__STORE_SLOTS * 9 / 10);
    ck_assert_int_le(count_used(db), GROAT__STORE_SLOTS);
    ck_assert_int_eq(sqlite3_prepare_v2(db,
                                        "SELECT key FROM entry "
                                        "ORDER BY used DESC LIMIT 100",
                                        -1, &order, NULL),
                     SQLITE_OK);
    for (unsigned n = count - 1; sqlite3_step(order) == SQLITE_ROW; n--) {
        groat__digest key = kernel_key(n);

        ck_assert_int_eq(sqlite3_column_bytes(order, 0), sizeof(key.bytes));
        ck_assert_mem_eq(sqlite3_column_blob(order, 0), key.bytes,
                         sizeof(key.bytes));
    }
    (void)sqlite3_finalize(order);
    (void)sqlite3_close(db);
}
END_TEST

/* A put, a gc and a close write the pending stamps; other calls do not. */
START_TEST(test_who_writes_stamps)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);
    sqlite3 *db;

    for (unsigned n = 0; n < 5; n++)
        kernel_put(store, n, 10);
    db = outside_open(fix.path);
    outside_exec(db, "UPDATE entry SET used = 1");
    ck_hit(store, 1);
    ck_miss(store, 100);
    (void)kernel_stat(store);
    ck_assert_int_eq(groat__store_verify(store, NULL, NULL, NULL), GROAT_OK);
    kernel_evict(store, 0, 10);
    ck_assert_int_eq(count_used(db), 0);
    kernel_put(store, 5, 10);
    ck_assert_int_eq(count_used(db), 2);
    ck_hit(store, 2);
    ck_assert_int_eq(count_used(db), 2);
    ck_assert_int_eq(groat__store_gc(store, 0, NULL, NULL), GROAT_OK);
    ck_assert_int_eq(count_used(db), 3);
    ck_hit(store, 3);
    ck_assert_int_eq(count_used(db), 3);
    groat__store_close(store);
    ck_assert_int_eq(count_used(db), 4);
    (void)sqlite3_close(db);
}
END_TEST

START_TEST(test_clear_forgets_stamps)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);

    kernel_put(store, 1, 10);
    ck_hit(store, 1);
    ck_assert(store->stamped);
    ck_assert_int_eq(groat__store_clear(store, NULL, NULL), GROAT_OK);
    ck_assert(!store->stamped);
    groat__store_close(store);
}
END_TEST

/* ---- counts of uses ------------------------------------------------------ */

typedef struct counts {
    uint64_t uses[3];
    double first_ms[3];
} counts;

static int see_counts(void *user, const groat_cache_entry *entry)
{
    counts *c = user;
    unsigned n = (unsigned)entry->facts.registers;

    ck_assert_uint_lt(n, 3);
    c->uses[n] = entry->uses;
    c->first_ms[n] = entry->first_ms;
    return 0;
}

static void ck_counts(groat__store *store, unsigned n, uint64_t uses,
                      double first_ms)
{
    counts c = {{0}, {0}};

    ck_assert_int_eq(groat__store_each(store, NULL, see_counts, &c, NULL),
                     GROAT_OK);
    ck_assert_uint_eq(c.uses[n], uses);
    ck_assert_double_eq(c.first_ms[n], first_ms);
}

static void put_first(groat__store *store, unsigned n, double ms)
{
    groat__digest key = kernel_key(n);

    groat__store_first(store, &key, ms);
    kernel_put(store, n, 10);
}

START_TEST(test_uses_are_counted)
{
    groat__store *one = fixture_open(&fix, 4 * MIB);
    groat__store *two = fixture_open(&fix, 4 * MIB);
    sqlite3 *db;

    put_first(one, 1, 12.5);
    kernel_put(one, 2, 10);
    ck_counts(one, 1, 1, 12.5);
    ck_counts(one, 2, 0, -1);
    for (int i = 0; i < 3; i++)
        ck_hit(two, 1);
    ck_hit(two, 2);
    /* Pending counts are visible in the store where they are pending. */
    ck_counts(two, 1, 4, 12.5);
    ck_counts(two, 2, 1, -1);
    ck_counts(one, 1, 1, 12.5);
    groat__store_close(two);
    ck_counts(one, 1, 4, 12.5);
    ck_hit(one, 1);
    /* Compiled again: the first time stays. */
    put_first(one, 1, 99);
    ck_counts(one, 1, 6, 12.5);
    put_first(one, 2, 7);
    ck_counts(one, 2, 2, 7);

    /* Evicting an entry removes its count; a gc removes stale counts. */
    db = outside_open(fix.path);
    kernel_evict(one, 2, 10);
    ck_assert_int_eq(outside_number(db, "SELECT count(*) FROM usage"), 2);
    ck_assert_int_eq(groat__store_gc(one, 0, NULL, NULL), GROAT_OK);
    ck_assert_int_eq(outside_number(db, "SELECT count(*) FROM usage"), 1);
    ck_assert_int_eq(groat__store_gc(one, 1, NULL, NULL), GROAT_OK);
    ck_assert_int_eq(outside_number(db, "SELECT count(*) FROM usage"), 0);
    put_first(one, 0, 1);
    ck_assert_int_eq(groat__store_clear(one, NULL, NULL), GROAT_OK);
    ck_assert_int_eq(outside_number(db, "SELECT count(*) FROM usage"), 0);
    (void)sqlite3_close(db);
    groat__store_close(one);
}
END_TEST

/* Damaged counts do no harm. */
START_TEST(test_counts_that_are_damaged)
{
    static const char *const changes[] = {
        "UPDATE usage SET uses = -5, first = -7",
        "UPDATE usage SET uses = 'many', first = 'long'",
        "UPDATE usage SET uses = 9223372036854775807",
        "UPDATE usage SET uses = x'00', first = 1e300",
    };
    groat__store *store = fixture_open(&fix, 4 * MIB);
    counts c = {{0}, {0}};

    put_first(store, 1, 3);
    outside_once(fix.path, changes[_i]);
    for (int i = 0; i < 2; i++) {
        ck_hit(store, 1);
        ck_assert_int_eq(groat__store_each(store, NULL, see_counts, &c, NULL),
                         GROAT_OK);
        kernel_put(store, 2, 10); /* writes the stamps */
    }
    ck_assert_uint_le(c.uses[1], (uint64_t)INT64_MAX);
    ck_assert_int_eq(fixture_said(&fix, ""), 0);
    groat__store_close(store);
}
END_TEST

/* ---- the order of eviction --------------------------------------------- */

/* An entry of 20000 bytes takes five pages. */
START_TEST(test_gc_sees_what_waits)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);
    uint64_t evicted = 0;

    for (unsigned n = 0; n < 10; n++)
        kernel_put(store, n, 20000);
    ck_hit(store, 1);
    ck_hit(store, 0);
    ck_assert_int_eq(groat__store_gc(store, 118000, &evicted, NULL), GROAT_OK);
    ck_assert_uint_ge(evicted, 5);
    ck_assert_uint_lt(evicted, 8);
    ck_assert_uint_eq(kernel_stat(store).evictions, evicted);
    ck_hit(store, 0);
    ck_hit(store, 1);
    ck_hit(store, 9);
    for (unsigned n = 2; n < 7; n++)
        ck_miss(store, n);
    groat__store_close(store);
}
END_TEST

START_TEST(test_close_writes)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);

    for (unsigned n = 0; n < 10; n++)
        kernel_put(store, n, 20000);
    groat__store_close(store);
    store = fixture_open(&fix, 4 * MIB);
    ck_hit(store, 0);
    groat__store_close(store);
    store = fixture_open(&fix, 4 * MIB);
    ck_assert_int_eq(groat__store_gc(store, 68000, NULL, NULL), GROAT_OK);
    ck_hit(store, 0);
    ck_miss(store, 1);
    groat__store_close(store);
}
END_TEST

/* The clock was ahead for a time: entries used then must not count as newer
 * than those used now. */
START_TEST(test_clock_that_was_ahead)
{
    enum { BYTES = 20000, OLD = 5, NOW = 3, ROUNDS = 3 };
    groat__store *store = fixture_open(&fix, 150000);
    int misses = 0;

    for (unsigned n = 0; n < OLD; n++)
        kernel_put(store, n, BYTES);
    groat__store_close(store);
    outside_once(fix.path, "UPDATE entry SET used = used + 31536000000000");
    store = fixture_open(&fix, 150000);
    for (unsigned i = 0; i < ROUNDS * NOW; i++) {
        unsigned n = 100 + i % NOW;

        if (kernel_get(store, n) != ANSWER_MISS)
            continue;
        kernel_put(store, n, BYTES);
        misses++;
    }
    ck_assert_int_eq(misses, NOW);
    groat__store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stamps");
    TCase *tcase = tcase_create("stamps");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, test_hits_never_write);
    tcase_add_test(tcase, test_more_hits_than_stamps);
    tcase_add_test(tcase, test_who_writes_stamps);
    tcase_add_test(tcase, test_clear_forgets_stamps);
    tcase_add_test(tcase, test_uses_are_counted);
    tcase_add_loop_test(tcase, test_counts_that_are_damaged, 0, 4);
    tcase_add_test(tcase, test_gc_sees_what_waits);
    tcase_add_test(tcase, test_close_writes);
    tcase_add_test(tcase, test_clock_that_was_ahead);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
