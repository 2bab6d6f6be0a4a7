/* SPDX-License-Identifier: Apache-2.0
 *
 * test_schema.c: files of an older groat are upgraded once, and read as they
 * are where they cannot be written.
 */
#include "fixture.h"

#include "cache/bundle.h"

static fixture fix;

static void setup(void)
{
    fixture_make(&fix);
}

static void teardown(void)
{
    fixture_drop(&fix);
}

/* Writes a file with four entries that groat 0.1.0 created. */
static void write_schema_1(void)
{
    const char *source = getenv("top_srcdir");
    char path[400];
    char *data = NULL;
    size_t bytes = 0;

    (void)snprintf(path, sizeof(path),
                   "%s/tests/fuzz/corpus/store/entries_4.sqlite",
                   source == NULL ? "." : source);
    ck_assert_int_eq(groat__fs_read(path, MIB, &data, &bytes, &fix.error),
                     GROAT_OK);
    ck_assert_int_eq(mkdir(fix.dir, 0700), 0);
    file_write(fix.path, data, bytes);
    free(data);
}

static int count_seeds(groat__store *store)
{
    int count = 0;

    for (int n = 0; n < 4; n++) {
        groat__store_blob blob = {0};
        groat__digest key;

        memset(key.bytes, n, sizeof(key.bytes));
        if (!groat__store_get(store, &key, "seed", &blob))
            continue;
        count += blob.bytes == (size_t)(10 + 900 * n);
        groat__store_blob_free(&blob);
    }
    return count;
}

static void ck_mark(const char *steps, const char *usual)
{
    sqlite3 *db = NULL;
    char mark[33] = "";

    ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, steps, NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(groat__handle_schema(db, mark), SQLITE_OK);
    ck_assert_str_eq(mark, usual);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

/* The marks that let an open skip the comparison of schemas. */
START_TEST(test_usual_marks)
{
    groat__str steps = {0};

    groat__schema_steps(&steps, GROAT__STORE_SCHEMA);
    ck_mark(steps.data, GROAT__STORE_MARK);
    groat__str_clear(&steps);
    groat__bundle_schema(&steps);
    ck_mark(steps.data, GROAT__BUNDLE_MARK);
    groat__str_free(&steps);
}
END_TEST

START_TEST(test_schema_1_is_brought_up)
{
    groat__store *stores[2];
    sqlite3 *db;

    write_schema_1();
    for (int i = 0; i < 2; i++) {
        stores[i] = fixture_open(&fix, 4 * MIB);
        ck_assert_int_eq(count_seeds(stores[i]), 4);
        ck_claim(stores[i], (unsigned)i, GROAT__CLAIM_HELD);
    }
    db = outside_open(fix.path);
    ck_assert_int_eq(outside_number(db, "PRAGMA user_version"),
                     GROAT__STORE_SCHEMA);
    (void)sqlite3_close(db);
    for (int i = 0; i < 2; i++) {
        release(stores[i], (unsigned)i);
        groat__store_close(stores[i]);
    }
    ck_assert_int_eq(fixture_said(&fix, ""), 0);
}
END_TEST

/* Several processes open the file at once: one upgrades it. */
START_TEST(test_schema_1_is_brought_up_once)
{
    enum { PROCESSES = 6 };
    pid_t pids[PROCESSES];
    int gate[2];

    write_schema_1();
    ck_assert_int_eq(pipe(gate), 0);
    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        ck_assert_int_ge(pids[i], 0);
        if (pids[i] == 0) {
            const groat__store_options options = {
                fix.dir, 4 * MIB, {fixture_log, &fix}, NULL, false};
            groat__store *store = NULL;
            char byte;

            (void)close(gate[1]);
            if (read(gate[0], &byte, 1) != 0 ||
                groat__store_open(&options, &store, NULL) != GROAT_OK)
                _exit(100);
            _exit(count_seeds(store) != 4 || fixture_said(&fix, "") != 0);
        }
    }
    (void)close(gate[0]);
    (void)close(gate[1]);
    for (int i = 0; i < PROCESSES; i++)
        ck_assert_int_eq(child_status(pids[i]), 0);
}
END_TEST

/* A file that cannot be written is read as it is. */
static int work_with_read_only_schema_1(void)
{
    groat__store *store = NULL;
    groat__store_blob blob = {0};
    int wrong;

    if (fixture_try(&fix, 4 * MIB, &store) != GROAT_OK || !store->read_only)
        return 100;
    wrong = count_seeds(store) != 4;
    wrong += claim_of(store, 1, &blob) != GROAT__CLAIM_NONE;
    kernel_put(store, 1, 100);
    wrong += kernel_get(store, 1) != ANSWER_MISS;
    wrong += groat__store_verify(store, NULL, NULL, NULL) != GROAT_OK;
    groat__store_close(store);
    return wrong;
}

START_TEST(test_schema_1_that_is_read_only)
{
    write_schema_1();
    ck_assert_int_eq(chmod(fix.path, 0400), 0);
    ck_assert_int_eq(fixture_as_nobody(&fix, work_with_read_only_schema_1), 0);
}
END_TEST

/* An older version number does not hide a schema that is not ours. */
START_TEST(test_foreign_schema_1)
{
    static const char *const changes[] = {
        "CREATE TRIGGER t AFTER INSERT ON entry BEGIN DELETE FROM entry; END",
        "CREATE TABLE lease (id)",
        "CREATE TABLE usage (id)",
        "DROP INDEX entry_used",
        "PRAGMA application_id = 1",
        "PRAGMA user_version = 2",
    };
    groat__store *store;

    ck_assert_int_lt(_i, (int)COUNT(changes));
    write_schema_1();
    outside_once(fix.path, changes[_i]);
    store = fixture_open(&fix, 4 * MIB);
    ck_assert_int_eq(fixture_said(&fix, "set aside"), 1);
    ck_assert_int_eq(count_seeds(store), 0);
    ck_claim(store, 1, GROAT__CLAIM_HELD);
    kernel_put(store, 1, 100);
    release(store, 1);
    ck_hit(store, 1);
    groat__store_close(store);
}
END_TEST

/* Turns the file into one of schema 2, which had leases and no counts. */
static void step_back_to_2(void)
{
    groat__str steps = {0};
    groat__str first = {0};

    groat__schema_steps(&first, 1);
    groat__schema_steps(&steps, 2);
    outside_once(fix.path, "DROP TABLE usage");
    outside_once(fix.path, steps.data + first.len);
    groat__str_free(&first);
    groat__str_free(&steps);
}

/* The same for schema 2. */
START_TEST(test_schema_2_is_brought_up)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);
    sqlite3 *db;

    kernel_put(store, 1, 100);
    groat__store_close(store);
    step_back_to_2();
    store = fixture_open(&fix, 4 * MIB);
    ck_hit(store, 1);
    ck_claim(store, 2, GROAT__CLAIM_HELD);
    kernel_put(store, 2, 100);
    release(store, 2);
    db = outside_open(fix.path);
    ck_assert_int_eq(outside_number(db, "PRAGMA user_version"),
                     GROAT__STORE_SCHEMA);
    ck_assert_int_eq(outside_number(db, "SELECT sum(uses) FROM usage"), 1);
    (void)sqlite3_close(db);
    groat__store_close(store);
    ck_assert_int_eq(fixture_said(&fix, ""), 0);
}
END_TEST

static int list_nothing(void *user, const groat_cache_entry *entry)
{
    *(uint64_t *)user += entry->uses + (entry->first_ms >= 0);
    return 0;
}

static int work_with_read_only_schema_2(void)
{
    groat__store *store = NULL;
    uint64_t uses = 0;
    int wrong;

    if (fixture_try(&fix, 4 * MIB, &store) != GROAT_OK || !store->read_only)
        return 100;
    wrong =
        groat__store_each(store, NULL, list_nothing, &uses, NULL) != GROAT_OK ||
        uses != 0;
    wrong += kernel_get(store, 1) != ANSWER_RIGHT;
    groat__store_close(store);
    return wrong;
}

START_TEST(test_schema_2_that_is_read_only)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);

    kernel_put(store, 1, 100);
    groat__store_close(store);
    step_back_to_2();
    outside_once(fix.path, "PRAGMA journal_mode = DELETE");
    ck_assert_int_eq(chmod(fix.path, 0400), 0);
    ck_assert_int_eq(fixture_as_nobody(&fix, work_with_read_only_schema_2), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schemas");

    TCase *tcase = tcase_create("schemas");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, test_usual_marks);
    tcase_add_test(tcase, test_schema_1_is_brought_up);
    tcase_add_test(tcase, test_schema_1_is_brought_up_once);
    tcase_add_test(tcase, test_schema_1_that_is_read_only);
    tcase_add_loop_test(tcase, test_foreign_schema_1, 0, 6);
    tcase_add_test(tcase, test_schema_2_is_brought_up);
    tcase_add_test(tcase, test_schema_2_that_is_read_only);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
