/* SPDX-License-Identifier: Apache-2.0
 *
 * test_disk.c: how often the store waits for the disk, and how many pages it
 * keeps in memory after a batch.
 */
#include "fixture.h"

#include <sys/syscall.h>

static fixture fix;

static void setup(void)
{
    fixture_make(&fix);
}

static void teardown(void)
{
    fixture_drop(&fix);
}

/* ---- calls, SQLite's too, in place of libc's ---------------------------- */

static atomic_uint waits; /* until the disk has written all */

GROAT_API int fdatasync(int fd);
GROAT_API int fsync(int fd);

static int wait_for(long call, int fd)
{
    (void)atomic_fetch_add(&waits, 1);
    return (int)syscall(call, fd);
}

int fdatasync(int fd)
{
    return wait_for(SYS_fdatasync, fd);
}

int fsync(int fd)
{
    return wait_for(SYS_fsync, fd);
}

/* ---- tests --------------------------------------------------------------- */

/* Nobody waits for a new file, nor for what it gets. */
START_TEST(test_new_file)
{
    groat__store *store = fixture_open(&fix, MIB);

    kernel_put(store, 1, 5000);
    groat__store_close(store); /* copies the WAL */
    ck_assert_uint_eq(atomic_load(&waits), 0);
}
END_TEST

/* A file that was there is waited for: first the WAL, then its copy. */
START_TEST(test_older_file)
{
    groat__store *store = fixture_open(&fix, MIB);

    groat__store_close(store);
    store = fixture_open(&fix, MIB);
    kernel_put(store, 1, 5000);
    groat__store_close(store);
    ck_assert_uint_ge(atomic_load(&waits), 2);
}
END_TEST

enum { MANY = 8 * GROAT__PUT_MOST };

static void put_many(groat__store *store)
{
    static char data[100000];
    char identity[MANY][16];
    groat__entry entries[MANY];
    groat__addition added[MANY];

    for (int i = 0; i < MANY; i++) {
        groat__digest key;

        (void)snprintf(identity[i], sizeof(identity[i]), "many %d", i);
        key = groat__hash128(identity[i], strlen(identity[i]));
        entries[i] = (groat__entry){
            key, identity[i], "", data, sizeof(data), {-1, -1, -1, -1, -1, -1}};
    }
    groat__store_add(store, entries, MANY, added);
    for (int i = 0; i < MANY; i++)
        ck_assert_int_eq(added[i], GROAT__ADDED);
}

/* ---- a file that was new a minute ago ------------------------------------ */

static void clear(groat__store *store)
{
    ck_assert_int_eq(groat__store_clear(store, NULL, NULL), GROAT_OK);
}

static void (*const copies_the_wal[])(groat__store *) = {put_many, clear,
                                                         groat__store_close};

START_TEST(test_file_no_longer_new)
{
    groat__store *store = fixture_open(&fix, 16 * MIB);

    kernel_put(store, 1, 5000);
    ck_assert_int_gt(store->synced_from, groat__store_now());
    ck_assert_int_le(store->synced_from, groat__store_now() + 60000);
    store->synced_from = groat__store_now();
    copies_the_wal[_i](store);
    ck_assert_uint_ge(atomic_load(&waits), 2);
    if (copies_the_wal[_i] != groat__store_close)
        groat__store_close(store);
}
END_TEST

/* A file is new to who has made it, and to nobody else. */
START_TEST(test_made_by_whom)
{
    groat__store *store = fixture_open(&fix, MIB);
    groat__store *other = fixture_open(&fix, MIB);

    ck_assert_int_ne(store->synced_from, 0);
    ck_assert_int_eq(other->synced_from, 0);
    groat__store_close(other);
    groat__store_close(store);
}
END_TEST

/* Nobody reads a batch's pages again; look-ups afterwards may keep theirs. */
START_TEST(test_pages_of_a_batch)
{
    groat__store *store = fixture_open(&fix, 16 * MIB);
    int64_t kib = 0;
    int used = 0;
    int most = 0;

    put_many(store);
    ck_assert_int_eq(groat__handle_number(store->db, "PRAGMA cache_size", &kib),
                     SQLITE_OK);
    ck_assert_int_eq(kib, -8192);
    ck_assert_int_eq(sqlite3_db_status(store->db, SQLITE_DBSTATUS_CACHE_USED,
                                       &used, &most, 0),
                     SQLITE_OK);
    ck_assert_int_lt(used, 4 * MIB); /* of 6.4 MB */
    groat__store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("disk");
    TCase *tcase = tcase_create("disk");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, test_new_file);
    tcase_add_test(tcase, test_older_file);
    tcase_add_loop_test(tcase, test_file_no_longer_new, 0,
                        sizeof(copies_the_wal) / sizeof(copies_the_wal[0]));
    tcase_add_test(tcase, test_made_by_whom);
    tcase_add_test(tcase, test_pages_of_a_batch);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
