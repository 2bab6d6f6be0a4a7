/* SPDX-License-Identifier: Apache-2.0
 *
 * test_starved.c: each of SQLite's allocations fails in turn, once, during an
 * operation on a store or a bundle.  It succeeds or says that there was no
 * memory; no entry is taken for a damaged one, and none is lost.
 */
#include "fixture.h"

enum { ENTRIES = 12, BYTES = 3000, DETAIL = 4000, STEPS_MAX = 100000 };

static fixture fix;
static sqlite3_mem_methods usual;
static atomic_long allocations; /* since the count began */
static atomic_long failing;     /* the one that fails; 0: none */
static atomic_bool failed;

static bool fails(void)
{
    long count = atomic_fetch_add(&allocations, 1) + 1;

    if (count != atomic_load(&failing))
        return false;
    atomic_store(&failed, true);
    return true;
}

static void *allocate(int bytes)
{
    return fails() ? NULL : usual.xMalloc(bytes);
}

static void *grow(void *at, int bytes)
{
    return fails() ? NULL : usual.xRealloc(at, bytes);
}

static void setup(void)
{
    static char detail[DETAIL];
    groat__store *store;

    fixture_make(&fix);
    store = fixture_open(&fix, MIB);
    memset(detail, 'd', sizeof(detail) - 1);
    for (unsigned n = 0; n < ENTRIES; n++) {
        groat_facts facts = kernel_facts(n);
        groat__digest key = kernel_key(n);
        uint8_t *data = kernel_bytes(n, BYTES);
        groat__str identity = {0};

        groat__str_addf(&identity, "groat-identity 1\nparam n %u\n%s\n", n,
                        detail);
        groat__store_put(store, &key, identity.data, data, BYTES, detail,
                         &facts);
        groat__str_free(&identity);
        free(data);
    }
    groat__store_close(store);
}

static void teardown(void)
{
    fixture_drop(&fix);
}

static uint64_t count_entries(void)
{
    sqlite3 *db = outside_open(fix.path);
    int64_t count = outside_number(db, "SELECT count(*) FROM entry");

    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    return (uint64_t)count;
}

static int count_one(void *user, const groat_cache_entry *entry)
{
    (void)entry;
    ++*(unsigned *)user;
    return 0;
}

/* ---- operations, each of which checks what it answers ----------------------
 */

static groat_status verify(groat__store *store)
{
    uint64_t checked = 0;
    uint64_t dropped = 0;
    groat_status status =
        groat__store_verify(store, &checked, &dropped, &fix.error);

    if (status == GROAT_OK) {
        ck_assert_uint_eq(checked, ENTRIES);
        ck_assert_uint_eq(dropped, 0);
    }
    return status;
}

static groat_status list(groat__store *store)
{
    unsigned count = 0;
    groat_status status =
        groat__store_each(store, NULL, count_one, &count, &fix.error);

    if (status == GROAT_OK)
        ck_assert_uint_eq(count, ENTRIES);
    return status;
}

/* A get that has no memory is a miss. */
static groat_status get(groat__store *store)
{
    groat__digest key = kernel_key(3);
    groat__store_blob blob = {0};
    uint8_t *expected = kernel_bytes(3, BYTES);

    if (groat__store_get(store, &key, NULL, &blob))
        ck_assert_int_eq(memcmp(blob.data, expected, BYTES), 0);
    groat__store_blob_free(&blob);
    free(expected);
    return GROAT_OK;
}

static groat_status open_again(groat__store *store)
{
    groat__store *other = NULL;
    groat_status status = fixture_try(&fix, MIB, &other);

    (void)store;
    groat__store_close(other);
    return status;
}

static groat_status export_it(groat__store *store)
{
    char path[400];
    uint64_t written = 0;
    groat_status status;

    (void)snprintf(path, sizeof(path), "%s/all.bundle", fix.root);
    status =
        groat__store_export(store, NULL, 0, NULL, path, &written, &fix.error);
    if (status == GROAT_OK)
        ck_assert_uint_eq(written, ENTRIES);
    return status;
}

static const struct {
    const char *name;
    groat_status (*run)(groat__store *store);
} operations[] = {{"verify", verify},
                  {"list", list},
                  {"get", get},
                  {"open", open_again},
                  {"export", export_it}};

START_TEST(no_entry_is_lost)
{
    long at = 0;

    do {
        groat__store *store = fixture_open(&fix, MIB);
        groat_status status;

        atomic_store(&failed, false);
        atomic_store(&allocations, 0);
        atomic_store(&failing, ++at);
        status = operations[_i].run(store);
        atomic_store(&failing, 0);
        ck_assert_msg(status == GROAT_OK || status == GROAT_NO_MEMORY,
                      "%s, allocation %ld: %s", operations[_i].name, at,
                      fix.error.text);
        groat_error_clear(&fix.error);
        groat__store_close(store);
        ck_assert_msg(count_entries() == ENTRIES, "%s, allocation %ld",
                      operations[_i].name, at);
    } while (atomic_load(&failed) && at < STEPS_MAX);
    ck_assert_int_gt(at, 3);
    ck_assert_int_eq(fixture_said(&fix, "damaged"), 0);
}
END_TEST

int main(void)
{
    sqlite3_mem_methods methods;
    Suite *suite = suite_create("starved");
    TCase *tests = tcase_create("starved");

    /* Small blocks would come from a connection's own slots. */
    if (sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) != SQLITE_OK ||
        sqlite3_config(SQLITE_CONFIG_GETMALLOC, &usual) != SQLITE_OK)
        abort();
    methods = usual;
    methods.xMalloc = allocate;
    methods.xRealloc = grow;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK)
        abort();
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, no_entry_is_lost, 0,
                        sizeof(operations) / sizeof(operations[0]));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
