/* SPDX-License-Identifier: Apache-2.0
 *
 * test_damage.c: whatever happens to the file, a get gives the right bytes or
 * none, nothing crashes, and the store accepts puts again as soon as it can.
 */
#include "fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

enum {
    SMALL = 12 /* kernels of the store that is damaged */
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

/* Kernels of 1 to 36301 bytes. */
static size_t small_bytes(unsigned n)
{
    return 1 + n * n * 300;
}

static void fill_small(groat__store *store)
{
    for (unsigned n = 0; n < SMALL; n++)
        kernel_put(store, n, small_bytes(n));
}

static void make_small(void)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);

    fill_small(store);
    groat__store_close(store);
}

static int count_hits(groat__store *store)
{
    int hits = 0;

    for (unsigned n = 0; n < SMALL; n++) {
        answer got = kernel_get(store, n);

        ck_assert_int_ne(got, ANSWER_WRONG);
        hits += got == ANSWER_RIGHT;
    }
    return hits;
}

/* Asserts that a damaged store gives no wrong bytes and accepts puts again. */
static void ck_recovers(groat__store *store)
{
    (void)count_hits(store);
    ck_assert_int_eq(groat__store_verify(store, NULL, NULL, NULL), GROAT_OK);
    (void)count_hits(store);
    fill_small(store);
    ck_assert_int_eq(count_hits(store), SMALL);
    ck_assert_int_eq(groat__store_verify(store, NULL, NULL, NULL), GROAT_OK);
    ck_assert_int_eq(count_hits(store), SMALL);
}

/* Counts the files set aside in the folder, without their -wal and -shm. */
static int count_aside(char *name, size_t size)
{
    DIR *dir = opendir(fix.dir);
    struct dirent *item;
    int count = 0;

    ck_assert_ptr_nonnull(dir);
    while ((item = readdir(dir)) != NULL) {
        size_t len = strlen(item->d_name);

        if (strncmp(item->d_name, "groat.sqlite.damaged-", 21) != 0 ||
            strcmp(item->d_name + len - 4, "-wal") == 0 ||
            strcmp(item->d_name + len - 4, "-shm") == 0)
            continue;
        if (name != NULL)
            (void)snprintf(name, size, "%s/%s", fix.dir, item->d_name);
        count++;
    }
    (void)closedir(dir);
    return count;
}

/* ---- entries ----------------------------------------------------------- */

/* The checksum or the identity covers every part of an entry. */
START_TEST(test_changed_entry)
{
    static const char *const changes[] = {
        "UPDATE entry SET binary = zeroblob(length(binary))",
        "UPDATE entry SET binary = zeroblob(length(binary) + 1)",
        "UPDATE entry SET binary = CAST(binary AS TEXT)",
        "UPDATE entry SET binary = 5",
        "UPDATE entry SET bytes = bytes + 1",
        "UPDATE entry SET bytes = -1",
        "UPDATE entry SET bytes = 1 << 40",
        "UPDATE entry SET log = 'x' || log",
        "UPDATE entry SET log = CAST(log AS BLOB)",
        "UPDATE entry SET log = log || char(0) || 'x'",
        "UPDATE entry SET registers = registers + 1",
        "UPDATE entry SET max_threads = 'many'",
        "UPDATE entry SET code_bytes = 1 << 40",
        "UPDATE entry SET identity = identity || ' '",
        "UPDATE entry SET identity = CAST(identity AS BLOB)",
        "UPDATE entry SET seal = zeroblob(16)",
        "UPDATE entry SET seal = zeroblob(15)",
        "UPDATE entry SET seal = ''",
    };
    groat__store *store = fixture_open(&fix, MIB);
    groat_cache_stat stat;

    ck_assert_int_lt(_i, sizeof(changes) / sizeof(changes[0]));
    kernel_put(store, 1, 5000);
    outside_once(fix.path, changes[_i]);
    ck_miss(store, 1);
    stat = kernel_stat(store);
    ck_assert_uint_eq(stat.entries, 0);
    ck_assert_uint_eq(stat.evictions, 1);
    ck_assert_uint_eq(stat.faults, 1);
    ck_assert_int_eq(fixture_said(&fix, "; dropped"), 1);
    kernel_put(store, 1, 5000);
    ck_hit(store, 1);
    /* The second fault is counted but not logged. */
    outside_once(fix.path, changes[_i]);
    ck_miss(store, 1);
    ck_assert_uint_eq(kernel_stat(store).faults, 2);
    ck_assert_int_eq(fixture_said(&fix, "; dropped"), 1);
    /* A verify finds it as well. */
    kernel_put(store, 1, 5000);
    kernel_put(store, 2, 5000);
    outside_once(fix.path, changes[_i]);
    ck_assert_int_eq(groat__store_verify(store, &stat.hits, &stat.misses, NULL),
                     GROAT_OK);
    ck_assert_uint_eq(stat.hits, 2);
    ck_assert_uint_eq(stat.misses, 2);
    groat__store_close(store);
}
END_TEST

/* Flips one bit of a binary, in the file.  Pages may contain stale copies of a
 * row, so every place that looks like the binary is changed. */
START_TEST(test_flipped_bit)
{
    groat__store *store;
    uint64_t checked = 0;
    uint64_t dropped = 0;
    char *data = NULL;
    size_t bytes = 0;

    make_small();
    ck_assert_int_eq(groat__fs_read(fix.path, MIB, &data, &bytes, NULL),
                     GROAT_OK);
    for (size_t at = 0; at + 64 < bytes; at++) {
        bool found = true;

        for (size_t i = 0; i < 64 && found; i++)
            found = (uint8_t)data[at + i] == kernel_byte(11, 8000 + i);
        if (found)
            data[at] ^= 4;
    }
    file_write(fix.path, data, bytes);
    free(data);
    store = fixture_open(&fix, 4 * MIB);
    ck_assert_int_eq(groat__store_verify(store, &checked, &dropped, NULL),
                     GROAT_OK);
    ck_assert_uint_eq(checked, SMALL);
    ck_assert_uint_ge(dropped, 1);
    ck_miss(store, 11);
    ck_assert_int_eq(count_hits(store), SMALL - (int)dropped);
    ck_assert_int_eq(count_aside(NULL, 0), 0);
    groat__store_close(store);
}
END_TEST

/* ---- files ------------------------------------------------------------- */

static void set_header(char *data, size_t bytes)
{
    memset(data, 0x5a, bytes < 100 ? bytes : 100);
}

START_TEST(test_corrupt_header)
{
    groat__store *store;
    char name[600] = "";
    char *data = NULL;
    size_t bytes = 0;

    make_small();
    ck_assert_int_eq(groat__fs_read(fix.path, MIB, &data, &bytes, NULL),
                     GROAT_OK);
    set_header(data, bytes);
    file_write(fix.path, data, bytes);
    free(data);
    store = fixture_open(&fix, 4 * MIB);
    ck_assert_int_eq(count_aside(name, sizeof(name)), 1);
    ck_assert_int_eq(fixture_said(&fix, name), 1);
    ck_assert_uint_eq(file_size(name), bytes);
    ck_assert_int_eq(count_hits(store), 0);
    ck_recovers(store);
    groat__store_close(store);
    /* Only the newest file set aside is kept. */
    file_write(fix.path, "no database at all, but long enough", 35);
    store = fixture_open(&fix, 4 * MIB);
    ck_assert_int_eq(count_aside(name, sizeof(name)), 1);
    ck_assert_uint_eq(file_size(name), 35);
    groat__store_close(store);
}
END_TEST

/* A path with a line break is logged as one line. */
START_TEST(test_path_of_two_lines)
{
    groat__store *store;
    int lines = 0;

    (void)snprintf(fix.dir, sizeof(fix.dir), "%s/two\nlines", fix.root);
    (void)snprintf(fix.path, sizeof(fix.path), "%s/groat.sqlite", fix.dir);
    make_small();
    file_write(fix.path, "no database at all, but long enough", 35);
    store = fixture_open(&fix, 4 * MIB);
    groat__store_close(store);
    ck_assert_int_eq(fixture_said(&fix, "two lines"), 1);
    for (const char *at = fix.lines.data; *at != '\0'; at++)
        lines += *at == '\n';
    ck_assert_int_eq(lines, 1);
}
END_TEST

/* Each header byte that SQLite or the store reads is set to three values. */
START_TEST(test_header_bytes)
{
    static const uint8_t values[] = {0, 0x7f, 0xff};
    groat__store *store = NULL;
    char *data = NULL;
    size_t bytes = 0;

    make_small();
    ck_assert_int_eq(groat__fs_read(fix.path, MIB, &data, &bytes, NULL),
                     GROAT_OK);
    for (size_t at = 0; at < 108; at++) {
        char before = data[at];

        data[at] = (char)values[_i];
        file_write(fix.path, data, bytes);
        data[at] = before;
        store = fixture_open(&fix, 4 * MIB);
        ck_recovers(store);
        groat__store_close(store);
    }
    free(data);
}
END_TEST

START_TEST(test_truncated_file)
{
    groat__store *store;
    char *data = NULL;
    size_t bytes = 0;

    make_small();
    ck_assert_int_eq(groat__fs_read(fix.path, MIB, &data, &bytes, NULL),
                     GROAT_OK);
    for (size_t keep = 0; keep < bytes; keep += 3000 * test_step()) {
        file_write(fix.path, data, keep);
        store = fixture_open(&fix, 4 * MIB);
        ck_recovers(store);
        groat__store_close(store);
    }
    free(data);
}
END_TEST

START_TEST(test_garbage_file)
{
    uint64_t random = 1;
    uint8_t data[20000];
    groat__store *store;

    make_small();
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)next_random(&random);
    file_write(fix.path, data, sizeof(data));
    store = fixture_open(&fix, 4 * MIB);
    ck_recovers(store);
    groat__store_close(store);
    /* The same bytes as a -wal do no harm. */
    (void)snprintf(fix.path, sizeof(fix.path), "%s/groat.sqlite-wal", fix.dir);
    file_write(fix.path, data, sizeof(data));
    store = fixture_open(&fix, 4 * MIB);
    ck_assert_int_eq(count_hits(store), SMALL);
    groat__store_close(store);
}
END_TEST

/* Writes 64 random bytes to each page in turn; _i is the seed. */
START_TEST(test_each_page_corrupted)
{
    uint64_t random = (uint64_t)_i * 7919;
    groat__store *store;
    char *data = NULL;
    size_t bytes = 0;

    make_small();
    ck_assert_int_eq(groat__fs_read(fix.path, MIB, &data, &bytes, NULL),
                     GROAT_OK);
    ck_assert_uint_gt(bytes, 20 * 4096);
    for (size_t page = 0; page < bytes; page += 4096 * test_step()) {
        /* In half of the pages, hit the page header and its pointers. */
        size_t at = next_random(&random) % (page % 8192 == 0 ? 64 : 4032);
        char *copy = malloc(bytes);

        ck_assert_ptr_nonnull(copy);
        memcpy(copy, data, bytes);
        for (size_t i = 0; i < 64; i++)
            copy[page + at + i] = (char)next_random(&random);
        file_write(fix.path, copy, bytes);
        free(copy);
        store = fixture_open(&fix, 4 * MIB);
        ck_recovers(store);
        groat__store_close(store);
    }
    free(data);
}
END_TEST

/* The same without a verify, and under an open store. */
START_TEST(test_each_page_corrupted_while_open)
{
    uint64_t random = 4711 + (uint64_t)_i;
    groat__store *store;
    uint64_t pages;
    uint8_t noise[64];

    make_small();
    pages = file_size(fix.path) / 4096;
    for (uint64_t page = 0; page < pages; page += test_step()) {
        int fd;

        for (size_t i = 0; i < sizeof(noise); i++)
            noise[i] = (uint8_t)next_random(&random);
        store = fixture_open(&fix, 4 * MIB);
        /* Closing a descriptor of it here would drop SQLite's locks. */
        if (fork() == 0) {
            fd = open(fix.path, O_WRONLY | O_CLOEXEC);
            _exit(pwrite(fd, noise, 64,
                         (off_t)(page * 4096 + next_random(&random) % 4032)) !=
                  64);
        }
        ck_assert_int_ne(wait(NULL), -1);
        for (int round = 0; round < 3; round++) {
            (void)count_hits(store);
            fill_small(store);
        }
        (void)count_hits(store);
        ck_recovers(store);
        groat__store_close(store);
    }
}
END_TEST

START_TEST(test_foreign_schema)
{
    static const char *const changes[] = {
        "CREATE TRIGGER t AFTER INSERT ON entry BEGIN DELETE FROM entry; END",
        "CREATE INDEX i ON entry (abs(used))",
        "CREATE TABLE more (x)",
        "DROP INDEX entry_used",
        "ALTER TABLE entry ADD COLUMN more AS (hex(zeroblob(1000000000)))",
        "PRAGMA application_id = 1",
        "PRAGMA user_version = 0",
        "PRAGMA user_version = 123456789",
        "PRAGMA user_version = 7", /* one bit differs; the tables are ours */
    };
    groat__store *store;

    ck_assert_int_lt(_i, sizeof(changes) / sizeof(changes[0]));
    make_small();
    outside_once(fix.path, changes[_i]);
    store = fixture_open(&fix, 4 * MIB);
    ck_assert_int_eq(count_aside(NULL, 0), 1);
    ck_assert_int_eq(fixture_said(&fix, "set aside"), 1);
    ck_assert_int_eq(count_hits(store), 0);
    ck_recovers(store);
    groat__store_close(store);
}
END_TEST

START_TEST(test_newer_schema)
{
    groat__store *store = NULL;
    groat__digest before;
    groat__digest after;
    char *data = NULL;
    size_t bytes = 0;

    make_small();
    outside_once(fix.path, "PRAGMA user_version = 5; CREATE TABLE more (x)");
    ck_assert_int_eq(groat__fs_read(fix.path, MIB, &data, &bytes, NULL),
                     GROAT_OK);
    before = groat__hash128(data, bytes);
    free(data);
    ck_assert_int_eq(fixture_try(&fix, 4 * MIB, &store), GROAT_IO);
    ck_assert_ptr_null(store);
    ck_assert_ptr_nonnull(strstr(fix.error.text, "newer groat (schema 5, this "
                                                 "one reads 4)"));
    ck_assert_int_eq(groat__fs_read(fix.path, MIB, &data, &bytes, NULL),
                     GROAT_OK);
    after = groat__hash128(data, bytes);
    free(data);
    ck_assert_mem_eq(&before, &after, sizeof(after));
    ck_assert_int_eq(count_aside(NULL, 0), 0);
    outside_once(fix.path, "PRAGMA user_version = 4; DROP TABLE more");
    store = fixture_open(&fix, 4 * MIB);
    ck_assert_int_eq(count_hits(store), SMALL);
    groat__store_close(store);
}
END_TEST

/* ---- files that change under an open store ----------------------------- */

START_TEST(test_deleted_under_an_open_store)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);

    fill_small(store);
    ck_assert_int_eq(unlink(fix.path), 0);
    (void)count_hits(store);
    ck_recovers(store);
    ck_assert_uint_gt(file_size(fix.path), 0);
    remove_folder(fix.dir);
    (void)count_hits(store);
    ck_recovers(store);
    ck_assert_uint_eq(file_mode(fix.dir), 0700);
    groat__store_close(store);
    store = fixture_open(&fix, 4 * MIB);
    ck_assert_int_eq(count_hits(store), SMALL);
    groat__store_close(store);
}
END_TEST

START_TEST(test_replaced_under_an_open_store)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);
    uint8_t noise[9000];
    uint64_t random = 3;

    fill_small(store);
    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (uint8_t)next_random(&random);
    /* Empties the -wal, which has every page and would repair the file. */
    ck_assert_int_eq(groat__store_gc(store, 0, NULL, NULL), GROAT_OK);
    file_write(fix.path, noise, sizeof(noise));
    ck_recovers(store);
    ck_assert_int_eq(fixture_said(&fix, "set aside"), 1);
    groat__store_close(store);
}
END_TEST

START_TEST(test_truncated_under_an_open_store)
{
    static const off_t sizes[] = {0, 100, 4096, 20000};
    groat__store *store = fixture_open(&fix, 4 * MIB);

    fill_small(store);
    ck_assert_int_eq(groat__store_gc(store, 0, NULL, NULL), GROAT_OK);
    ck_assert_int_eq(truncate(fix.path, sizes[_i]), 0);
    ck_recovers(store);
    groat__store_close(store);
}
END_TEST

/* Reports damage as a failed call does; the store may then try again, on the
 * same file or on a new one. */
static void find_damage(groat__store *store)
{
    groat__store_enter(store);
    ck_assert(groat__connection_fault(store, SQLITE_CORRUPT, "a test"));
    groat__store_leave(store);
}

/* A single failed read looks like damage: it costs a check, not the file. */
START_TEST(test_damage_that_is_none)
{
    groat__store *store;

    make_small();
    store = fixture_open(&fix, 4 * MIB);
    for (int round = 0; round < 3; round++) {
        find_damage(store);
        ck_assert_int_eq(count_hits(store), SMALL);
        find_damage(store);
        kernel_put(store, 100, 1000);
    }
    ck_assert_int_eq(count_aside(NULL, 0), 0);
    ck_assert_int_eq(fixture_said(&fix, "a test failed"), 1);
    ck_assert_uint_eq(kernel_stat(store).faults, 6);
    groat__store_close(store);
}
END_TEST

/* Two stores find the same damage: the second must not remove the file that the
 * first one created. */
START_TEST(test_two_stores_set_one_file_aside)
{
    groat__store *one;
    groat__store *two;

    make_small();
    one = fixture_open(&fix, 4 * MIB);
    two = fixture_open(&fix, 4 * MIB);
    find_damage(one);
    ck_assert_int_eq(fixture_said(&fix, "set aside"), 0);
    find_damage(one);
    fill_small(one);
    find_damage(two);
    find_damage(two);
    ck_assert_int_eq(fixture_said(&fix, "set aside"), 1);
    ck_assert_int_eq(count_hits(one), SMALL);
    ck_assert_int_eq(count_hits(two), SMALL);
    groat__store_close(one);
    groat__store_close(two);
}
END_TEST

/* ---- locks and limits ---------------------------------------------------- */

START_TEST(test_locked_by_another)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);
    sqlite3 *db = outside_open(fix.path);
    uint64_t dropped = 7;

    kernel_put(store, 1, 100);
    outside_exec(db, "BEGIN EXCLUSIVE");
    kernel_put(store, 2, 100);
    kernel_put(store, 3, 100);
    ck_assert_uint_eq(kernel_stat(store).faults, 2);
    ck_assert_int_eq(fixture_said(&fix, "put failed"), 1);
    ck_assert_int_eq(fixture_said(&fix, "locked"), 1);
    ck_hit(store, 1);
    ck_miss(store, 2);
    ck_assert_int_eq(groat__store_clear(store, &dropped, &fix.error), GROAT_IO);
    ck_assert_uint_eq(dropped, 7);
    ck_assert_ptr_nonnull(strstr(fix.error.text, fix.path));
    outside_exec(db, "ROLLBACK");
    (void)sqlite3_close(db);
    kernel_put(store, 2, 100);
    ck_hit(store, 2);
    groat__store_close(store);
}
END_TEST

/* SQLite takes ten seconds to report this: not every call tries again. */
START_TEST(test_no_locks_to_be_had)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);
    groat_cache_stat stat;

    fill_small(store);
    groat__store_enter(store);
    ck_assert(!groat__connection_fault(store, SQLITE_PROTOCOL, "a test"));
    groat__store_leave(store);
    ck_assert_ptr_null(store->db);
    kernel_put(store, 100, 1000);
    ck_miss(store, 1);
    ck_claim(store, 101, GROAT__CLAIM_NONE);
    ck_assert_int_eq(groat__store_stat(store, &stat, &fix.error), GROAT_IO);
    ck_assert_ptr_nonnull(strstr(fix.error.text, "cannot be locked"));
    groat_error_clear(&fix.error);
    ck_assert_uint_eq(store->faults, 4);
    ck_assert_int_eq(fixture_said(&fix, "a test failed"), 1);
    store->rest_until = groat__store_now();
    kernel_put(store, 100, 1000);
    ck_assert_int_eq(count_hits(store), SMALL);
    ck_hit(store, 100);
    groat__store_close(store);
}
END_TEST

/* A verify that cannot drop damaged entries says why. */
START_TEST(test_verify_while_locked)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);
    sqlite3 *db = outside_open(fix.path);
    uint64_t dropped = 7;

    kernel_put(store, 1, 100);
    outside_exec(db, "UPDATE entry SET bytes = 99");
    outside_exec(db, "BEGIN IMMEDIATE");
    ck_assert_int_eq(groat__store_verify(store, NULL, &dropped, &fix.error),
                     GROAT_IO);
    ck_assert_uint_eq(dropped, 7);
    ck_assert_ptr_nonnull(strstr(fix.error.text, fix.path));
    ck_assert_ptr_nonnull(strstr(fix.error.text, "locked"));
    ck_assert_int_eq(fix.error.vendor_code & 0xff, SQLITE_BUSY);
    groat_error_clear(&fix.error);
    outside_exec(db, "ROLLBACK");
    (void)sqlite3_close(db);
    ck_assert_int_eq(groat__store_verify(store, NULL, &dropped, &fix.error),
                     GROAT_OK);
    ck_assert_uint_eq(dropped, 1);
    ck_assert_int_eq(fix.error.status, GROAT_OK);
    groat__store_close(store);
}
END_TEST

/* The store works without its file, and uses it as soon as it can. */
START_TEST(test_locked_at_open)
{
    groat__store *store;
    sqlite3 *db;

    make_small();
    db = outside_open(fix.path);
    outside_exec(db, "PRAGMA locking_mode = EXCLUSIVE");
    outside_exec(db, "BEGIN EXCLUSIVE");
    store = fixture_open(&fix, 4 * MIB);
    ck_assert_ptr_null(store->db);
    ck_assert_int_eq(fixture_said(&fix, "in memory only"), 1);
    ck_assert_int_eq(fixture_said(&fix, "locked"), 1);
    kernel_put(store, 100, 1000);
    ck_assert_int_eq(count_hits(store), 0);
    ck_assert_int_eq(groat__store_verify(store, NULL, NULL, &fix.error),
                     GROAT_IO);
    ck_assert_ptr_nonnull(strstr(fix.error.text, "locked"));
    groat_error_clear(&fix.error);
    ck_assert_uint_eq(store->faults, 3);
    ck_assert_int_eq(count_aside(NULL, 0), 0);
    outside_exec(db, "ROLLBACK");
    (void)sqlite3_close(db);
    store->rest_until = groat__store_now();
    kernel_put(store, 100, 1000);
    ck_hit(store, 100);
    ck_assert_int_eq(count_hits(store), SMALL);
    groat__store_close(store);
}
END_TEST

START_TEST(test_full_database)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);
    groat_cache_stat stat;

    fill_small(store);
    ck_assert_int_eq(
        sqlite3_exec(store->db, "PRAGMA max_page_count = 1", NULL, NULL, NULL),
        SQLITE_OK);
    kernel_put(store, 100, 50000);
    kernel_put(store, 101, 50000);
    stat = kernel_stat(store);
    ck_assert_uint_eq(stat.faults, 2);
    ck_assert_uint_eq(stat.entries, SMALL);
    ck_assert_int_eq(fixture_said(&fix, "full"), 1);
    ck_assert_int_eq(count_hits(store), SMALL);
    ck_miss(store, 100);
    ck_assert_int_eq(count_aside(NULL, 0), 0);
    groat__store_close(store);
}
END_TEST

START_TEST(test_full_disk)
{
    groat__store *store = fixture_open(&fix, 16 * MIB);
    struct rlimit before;
    struct rlimit small;
    void (*handler)(int);

    fill_small(store);
    handler = signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 400 * 1024;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (unsigned n = 100; n < 140; n++) {
        kernel_put(store, n, 50000);
        ck_assert_int_ne(kernel_get(store, n), ANSWER_WRONG);
    }
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    ck_assert_uint_gt(kernel_stat(store).faults, 0);
    ck_assert_int_ge(fixture_said(&fix, "failed"), 1);
    ck_assert_int_eq(count_hits(store), SMALL);
    ck_recovers(store);
    groat__store_close(store);
}
END_TEST

/* The folder is gone and its path taken: the store stays usable and empty. */
START_TEST(test_no_folder_any_more)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);
    groat_cache_stat stat;

    fill_small(store);
    remove_folder(fix.dir);
    file_write(fix.dir, "a file in its place", 19);
    kernel_put(store, 100, 1000);
    kernel_put(store, 101, 1000);
    ck_miss(store, 100);
    ck_miss(store, 1);
    ck_assert_int_eq(groat__store_stat(store, &stat, &fix.error), GROAT_IO);
    ck_assert_ptr_nonnull(strstr(fix.error.text, "not a folder"));
    groat_error_clear(&fix.error);
    ck_assert_int_eq(groat__store_gc(store, 0, NULL, &fix.error), GROAT_IO);
    ck_assert_ptr_nonnull(strstr(fix.error.text, "not a folder"));
    ck_assert_int_eq(fixture_said(&fix, "in memory only"), 1);
    ck_assert_int_eq(unlink(fix.dir), 0);
    ck_recovers(store);
    groat__store_close(store);
}
END_TEST

static int work_in_read_only_folder(void)
{
    groat__store *store = NULL;

    if (fixture_try(&fix, 4 * MIB, &store) != GROAT_IO || store != NULL)
        return 1;
    return strstr(fix.error.text, fix.path) == NULL ? 2 : 0;
}

START_TEST(test_read_only_folder)
{
    make_small();
    ck_assert_int_eq(chmod(fix.dir, 0500), 0);
    ck_assert_int_eq(fixture_as_nobody(&fix, work_in_read_only_folder), 0);
    ck_assert_int_eq(chmod(fix.dir, 0700), 0);
    ck_assert_int_eq(count_aside(NULL, 0), 0);
}
END_TEST

static int work_where_nothing_can_be_written(void)
{
    groat__store *store = NULL;
    int wrong;

    if (fixture_try(&fix, 4 * MIB, &store) != GROAT_OK || !store->read_only)
        return 100;
    wrong = count_hits(store) != SMALL;
    kernel_put(store, 100, 100);
    wrong += 2 * (kernel_get(store, 100) != ANSWER_MISS);
    wrong += 4 * (fixture_said(&fix, "read-only: new kernels") != 1);
    groat__store_close(store);
    return wrong;
}

static int find_rows_in_the_journal(void)
{
    groat__store *store = NULL;

    if (fixture_try(&fix, 4 * MIB, &store) != GROAT_IO)
        return 1;
    return strstr(fix.error.text, "still has rows") == NULL ? 2 : 0;
}

/* As on a file system that is mounted read-only. */
START_TEST(test_frozen)
{
    char journal[320];

    make_small();
    ck_assert_int_eq(chmod(fix.path, 0400), 0);
    ck_assert_int_eq(chmod(fix.dir, 0500), 0);
    ck_assert_int_eq(fixture_as_nobody(&fix, work_where_nothing_can_be_written),
                     0);
    ck_assert_int_eq(chmod(fix.dir, 0700), 0);
    (void)snprintf(journal, sizeof(journal), "%s-wal", fix.path);
    file_write(journal, "rows", 4);
    ck_assert_int_eq(chmod(fix.dir, 0500), 0);
    ck_assert_int_eq(fixture_as_nobody(&fix, find_rows_in_the_journal), 0);
    ck_assert_int_eq(chmod(fix.dir, 0700), 0);
    ck_assert_int_eq(count_aside(NULL, 0), 0);
}
END_TEST

static int work_with_read_only_file(void)
{
    groat__store *store = NULL;
    uint64_t n = 0;
    int wrong = 0;

    if (fixture_try(&fix, 4 * MIB, &store) != GROAT_OK)
        return 1;
    if (!store->read_only)
        return 2;
    for (unsigned i = 0; i < SMALL; i++)
        wrong += kernel_get(store, i) != ANSWER_RIGHT;
    kernel_put(store, 100, 1000);
    kernel_put(store, 101, 1000);
    wrong += kernel_get(store, 100) != ANSWER_MISS;
    wrong += fixture_said(&fix, "read-only") != 1;
    wrong += groat__store_gc(store, 1, &n, &fix.error) != GROAT_IO;
    wrong += groat__store_clear(store, &n, &fix.error) != GROAT_IO;
    wrong += strstr(fix.error.text, "chmod 600") == NULL;
    wrong += groat__store_verify(store, &n, NULL, NULL) != GROAT_OK;
    wrong += n != SMALL;
    groat__store_close(store);
    return wrong == 0 ? 0 : 3;
}

/* A store that was read-only accepts puts once its file is writable. */
static int work_with_file_made_writable(void)
{
    groat__store *store = NULL;
    int wrong = 0;

    if (fixture_try(&fix, 4 * MIB, &store) != GROAT_OK || !store->read_only)
        return 1;
    kernel_put(store, 100, 1000);
    wrong += kernel_get(store, 100) != ANSWER_MISS;
    wrong += chmod(fix.path, 0600) != 0;
    kernel_put(store, 100, 1000);
    wrong += kernel_get(store, 100) != ANSWER_RIGHT;
    for (unsigned i = 0; i < SMALL; i++)
        wrong += kernel_get(store, i) != ANSWER_RIGHT;
    groat__store_close(store);
    return wrong == 0 ? 0 : 2;
}

START_TEST(test_file_made_writable)
{
    make_small();
    ck_assert_int_eq(chmod(fix.path, 0400), 0);
    ck_assert_int_eq(fixture_as_nobody(&fix, work_with_file_made_writable), 0);
}
END_TEST

START_TEST(test_read_only_file)
{
    make_small();
    ck_assert_int_eq(chmod(fix.path, 0400), 0);
    ck_assert_int_eq(fixture_as_nobody(&fix, work_with_read_only_file), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store damage");
    TCase *tcase = tcase_create("damage");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, test_changed_entry, 0, 18);
    tcase_add_test(tcase, test_flipped_bit);
    tcase_add_test(tcase, test_corrupt_header);
    tcase_add_test(tcase, test_path_of_two_lines);
    tcase_add_loop_test(tcase, test_header_bytes, 0, 3);
    tcase_add_test(tcase, test_truncated_file);
    tcase_add_test(tcase, test_garbage_file);
    tcase_add_loop_test(tcase, test_each_page_corrupted, 0, 4);
    tcase_add_loop_test(tcase, test_each_page_corrupted_while_open, 0, 2);
    tcase_add_loop_test(tcase, test_foreign_schema, 0, 9);
    tcase_add_test(tcase, test_newer_schema);
    tcase_add_test(tcase, test_deleted_under_an_open_store);
    tcase_add_test(tcase, test_replaced_under_an_open_store);
    tcase_add_loop_test(tcase, test_truncated_under_an_open_store, 0, 4);
    tcase_add_test(tcase, test_damage_that_is_none);
    tcase_add_test(tcase, test_two_stores_set_one_file_aside);
    tcase_add_test(tcase, test_locked_by_another);
    tcase_add_test(tcase, test_no_locks_to_be_had);
    tcase_add_test(tcase, test_verify_while_locked);
    tcase_add_test(tcase, test_locked_at_open);
    tcase_add_test(tcase, test_full_database);
    tcase_add_test(tcase, test_full_disk);
    tcase_add_test(tcase, test_no_folder_any_more);
    tcase_add_test(tcase, test_read_only_folder);
    tcase_add_test(tcase, test_frozen);
    tcase_add_test(tcase, test_file_made_writable);
    tcase_add_test(tcase, test_read_only_file);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
