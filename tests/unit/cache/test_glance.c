/* SPDX-License-Identifier: Apache-2.0
 *
 * The first look-ups of a process (cache/glance.c): what they leave beside the
 * file, when the file is opened in full, and files that others write, damage or
 * replace meanwhile.
 */
#include <fcntl.h>
#include <sys/wait.h>

#include "tests/unit/cache/fixture.h"

enum { KERNELS = 12, BYTES = 3000 };

static fixture fix;

static void set_up(void)
{
    fixture_make(&fix);
}

static void tear_down(void)
{
    fixture_drop(&fix);
}

/* Makes a store of KERNELS and closes it. */
static void make_store(void)
{
    groat__store *store = fixture_open(&fix, 4 * MIB);

    for (unsigned n = 0; n < KERNELS; n++)
        kernel_put(store, n, BYTES);
    groat__store_close(store);
}

/* Gives the file a time that a write cannot have. */
static void set_time(void)
{
    const struct timespec then[2] = {{1000, 0}, {1000, 0}};

    ck_assert_int_eq(utimensat(AT_FDCWD, fix.path, then, 0), 0);
}

static groat__store *open_glancing(void)
{
    groat__store *store = NULL;

    set_time();
    ck_assert_int_eq(fixture_try(&fix, 4 * MIB, &store), GROAT_OK);
    ck_assert(store->glancing);
    return store;
}

/* Runs in another process, so that its connection is not this one's. */
static void elsewhere(void (*change)(groat__store *store))
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        groat__store *store = fixture_open(&fix, 4 * MIB);

        change(store);
        groat__store_close(store);
        _exit(0);
    }
    ck_assert_int_eq(child_status(pid), 0);
}

static bool has_companion(const char *suffix)
{
    ino_t inode = 0;

    return groat__place_companion(fix.path, suffix, &inode) && inode != 0;
}

static unsigned hits(groat__store *store)
{
    unsigned count = 0;

    for (unsigned n = 0; n < KERNELS; n++) {
        answer got = kernel_get(store, n);

        ck_assert_int_ne(got, ANSWER_WRONG);
        count += got == ANSWER_RIGHT;
    }
    return count;
}

START_TEST(test_hits_leave_nothing_beside_the_file)
{
    groat__store *store;
    sqlite3 *db;

    make_store();
    store = open_glancing();
    ck_assert_uint_eq(hits(store), KERNELS);
    ck_assert(store->glancing);
    ck_assert(!has_companion("-wal"));
    ck_assert(!has_companion("-shm"));
    ck_assert_uint_eq(store->hits, KERNELS);
    groat__store_close(store);
    /* The uses are written when it is closed. */
    db = outside_open(fix.path);
    ck_assert_int_eq(outside_number(db, "SELECT sum(uses) FROM usage"),
                     KERNELS);
    (void)sqlite3_close(db);
}
END_TEST

START_TEST(test_what_is_not_found_is_looked_for_again)
{
    groat__store *store;

    make_store();
    store = open_glancing();
    ck_hit(store, 1);
    ck_miss(store, KERNELS);
    ck_assert(!store->glancing);
    ck_assert_ptr_nonnull(store->db);
    kernel_put(store, KERNELS, BYTES);
    ck_hit(store, KERNELS);
    ck_assert_uint_eq(hits(store), KERNELS);
    ck_assert_uint_eq(store->misses, 1);
    groat__store_close(store);
}
END_TEST

static void put_more(groat__store *store)
{
    kernel_put(store, KERNELS, BYTES);
}

static void clear(groat__store *store)
{
    ck_assert_int_eq(groat__store_clear(store, NULL, NULL), GROAT_OK);
}

static void evict_one(groat__store *store)
{
    kernel_evict(store, 3, BYTES);
}

/* The file keeps its size. */
START_TEST(test_another_process_drops_a_row)
{
    groat__store *store;
    uint64_t bytes;

    make_store();
    bytes = file_size(fix.path);
    store = open_glancing();
    ck_assert_uint_eq(hits(store), KERNELS);
    elsewhere(evict_one);
    ck_assert_uint_eq(file_size(fix.path), bytes);
    ck_miss(store, 3);
    ck_assert_uint_eq(hits(store), KERNELS - 1);
    groat__store_close(store);
}
END_TEST

START_TEST(test_another_process_writes)
{
    groat__store *store;

    make_store();
    store = open_glancing();
    if (_i == 1)
        ck_assert_uint_eq(hits(store), KERNELS); /* the view has all pages */
    elsewhere(put_more);
    ck_hit(store, KERNELS);
    ck_assert_uint_eq(hits(store), KERNELS);
    groat__store_close(store);
    store = open_glancing();
    if (_i == 1)
        ck_assert_uint_eq(hits(store), KERNELS);
    elsewhere(clear);
    ck_assert_uint_eq(hits(store), 0);
    groat__store_close(store);
}
END_TEST

/* Starts a process that changes the store and keeps it open: the change is in
 * the -wal. */
static pid_t start_writer(void (*change)(groat__store *store))
{
    int told[2];
    pid_t pid;

    ck_assert_int_eq(pipe(told), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        change(fixture_open(&fix, 4 * MIB));
        say(told[1]);
        for (;;)
            (void)pause();
    }
    hear(told[0]);
    (void)close(told[0]);
    (void)close(told[1]);
    return pid;
}

static void end_writer(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    (void)child_status(pid);
}

START_TEST(test_rows_in_the_journal)
{
    groat__store *store = NULL;
    pid_t pid;

    make_store();
    pid = start_writer(put_more);
    ck_assert_int_eq(fixture_try(&fix, 4 * MIB, &store), GROAT_OK);
    ck_assert(!store->glancing);
    ck_hit(store, KERNELS);
    groat__store_close(store);
    end_writer(pid);
    /* It left its -wal and -shm. */
    ck_assert(has_companion("-wal"));
    ck_assert_int_eq(fixture_try(&fix, 4 * MIB, &store), GROAT_OK);
    ck_hit(store, KERNELS);
    groat__store_close(store);
}
END_TEST

/* The file itself is as it was. */
START_TEST(test_a_writer_that_goes_on)
{
    groat__store *store;
    pid_t pid;

    make_store();
    store = open_glancing();
    ck_assert_uint_eq(hits(store), KERNELS);
    pid = start_writer(evict_one);
    ck_miss(store, 3);
    ck_assert_uint_eq(hits(store), KERNELS - 1);
    groat__store_close(store);
    end_writer(pid);
}
END_TEST

static void rename_other(void)
{
    char other[400];

    (void)snprintf(other, sizeof(other), "%s.other", fix.path);
    ck_assert_int_eq(rename(other, fix.path), 0);
}

/* Another store of the same size and time. */
START_TEST(test_another_file_of_that_size)
{
    groat__store *store;
    char other[400];
    char *data = NULL;
    size_t bytes = 0;

    make_store();
    (void)snprintf(other, sizeof(other), "%s.other", fix.path);
    elsewhere(evict_one);
    ck_assert_int_eq(groat__fs_read(fix.path, MIB, &data, &bytes, NULL),
                     GROAT_OK);
    file_write(other, data, bytes);
    free(data);
    store = fixture_open(&fix, 4 * MIB);
    kernel_put(store, 3, BYTES);
    groat__store_close(store);
    store = open_glancing();
    ck_hit(store, 3);
    rename_other();
    set_time();
    ck_miss(store, 3);
    groat__store_close(store);
}
END_TEST

START_TEST(test_the_schema_is_compared)
{
    groat__store *store;

    make_store();
    outside_once(fix.path, "CREATE TABLE more (x)");
    store = open_glancing();
    ck_assert_uint_eq(hits(store), 0);
    ck_assert_int_eq(fixture_said(&fix, "set aside"), 1);
    kernel_put(store, 1, BYTES);
    ck_hit(store, 1);
    groat__store_close(store);
}
END_TEST

/* A process's first question is which compiler made its kernels. */
START_TEST(test_what_else_a_view_is_asked)
{
    groat__digest key = kernel_key(2);
    groat__str found = {0};
    groat__store *store;
    char identity[128];

    kernel_identity(2, identity, sizeof(identity));
    make_store();
    store = open_glancing();
    ck_assert(groat__store_recent(store, "family test", "param n 2\n", &found));
    ck_assert_str_eq(found.data, identity);
    ck_assert(groat__store_has(store, &key, identity));
    ck_assert(store->glancing);
    ck_assert(!groat__store_has(store, &key, "another"));
    ck_assert(!store->glancing);
    ck_assert(groat__store_has(store, &key, identity));
    ck_assert(!groat__store_recent(store, "family test", "none", &found));
    groat__str_free(&found);
    groat__store_close(store);
}
END_TEST

/* What was open is read; neither a get nor a close makes a folder anew, but a
 * put does. */
START_TEST(test_the_folder_is_removed)
{
    groat__store *store;
    char moved[300];

    make_store();
    (void)snprintf(moved, sizeof(moved), "%s.moved", fix.dir);
    store = open_glancing();
    ck_hit(store, 1);
    ck_assert_int_eq(rename(fix.dir, moved), 0);
    if (_i != 0) {
        ck_assert_uint_eq(hits(store), KERNELS);
        ck_miss(store, KERNELS);
    }
    if (_i == 2) {
        kernel_put(store, 1, BYTES);
        ck_hit(store, 1);
        ck_miss(store, 2);
    }
    groat__store_close(store);
    ck_assert_int_eq(access(fix.dir, F_OK) == 0, _i == 2);
}
END_TEST

/* A close writes what was used if nobody has the lock, else goes without. */
START_TEST(test_a_lock_at_close)
{
    groat__store *store;
    sqlite3 *db;

    make_store();
    store = open_glancing();
    ck_hit(store, 1);
    db = outside_open(fix.path);
    outside_exec(db, "PRAGMA locking_mode = EXCLUSIVE");
    outside_exec(db, "BEGIN EXCLUSIVE");
    groat__store_close(store);
    ck_assert_ptr_null(fix.lines.data);
    (void)sqlite3_close(db);
}
END_TEST

START_TEST(test_the_file_is_replaced)
{
    groat__store *store;

    make_store();
    store = open_glancing();
    ck_assert_uint_eq(hits(store), KERNELS);
    if (_i == 0)
        file_write(fix.path, "", 0);
    else
        ck_assert_int_eq(truncate(fix.path, 0), 0);
    ck_assert_uint_eq(hits(store), 0);
    ck_assert(!store->glancing);
    kernel_put(store, 1, BYTES);
    ck_hit(store, 1);
    groat__store_close(store);
}
END_TEST

/* Whether a process other than this one finds SQLite's locks on the file. */
static bool is_locked(void)
{
    /* Its bytes of locks are 1 GiB into the file. */
    struct flock lock = {.l_type = F_WRLCK,
                         .l_whence = SEEK_SET,
                         .l_start = 0x40000000,
                         .l_len = 512};
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        int fd = open(fix.path, O_RDWR | O_CLOEXEC);

        _exit(fd < 0 || fcntl(fd, F_GETLK, &lock) != 0 ||
              lock.l_type == F_UNLCK);
    }
    return child_status(pid) == 0;
}

/* A view takes no lock and ends none. */
START_TEST(test_two_stores_of_a_process)
{
    groat__store *one;
    groat__store *two;

    make_store();
    one = open_glancing();
    two = fixture_open(&fix, 4 * MIB);
    ck_hit(one, 1);
    ck_hit(two, 2);
    ck_assert(is_locked());
    groat__store_close(one);
    ck_assert(is_locked());
    ck_assert_uint_eq(hits(two), KERNELS);
    groat__store_close(two);
}
END_TEST

/* The program reads the store with SQLite, too. */
START_TEST(test_a_connection_of_the_program)
{
    groat__store *store;
    sqlite3 *db;

    make_store();
    db = outside_open(fix.path);
    ck_assert_int_eq(outside_number(db, "SELECT count(*) FROM entry"), KERNELS);
    ck_assert(is_locked());
    store = open_glancing();
    ck_hit(store, 1);
    ck_assert(is_locked());
    groat__store_close(store);
    ck_assert(is_locked());
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}
END_TEST

/* A file that was written a moment ago may be written again without a change of
 * its time. */
START_TEST(test_a_file_that_was_just_written)
{
    groat__store *store = NULL;

    make_store();
    ck_assert_int_eq(utimensat(AT_FDCWD, fix.path, NULL, 0), 0);
    ck_assert_int_eq(fixture_try(&fix, 4 * MIB, &store), GROAT_OK);
    ck_assert(!store->glancing);
    ck_assert_uint_eq(hits(store), KERNELS);
    groat__store_close(store);
}
END_TEST

/* A header that is not a store's of this version is judged when it is opened.
 */
START_TEST(test_headers)
{
    static const struct {
        long offset;
        uint8_t value;
    } bytes[] = {{0, 's'}, {18, 1}, {19, 1}, {63, 99}, {68, 0}};
    groat__store *store = NULL;
    int fd;

    ck_assert_int_lt(_i, sizeof(bytes) / sizeof(bytes[0]));
    make_store();
    fd = open(fix.path, O_WRONLY | O_CLOEXEC);
    ck_assert_int_eq(pwrite(fd, &bytes[_i].value, 1, bytes[_i].offset), 1);
    (void)close(fd);
    set_time();
    if (fixture_try(&fix, 4 * MIB, &store) == GROAT_OK) {
        ck_assert(!store->glancing);
        groat__store_close(store);
    }
    groat_error_clear(&fix.error);
}
END_TEST

/* Noise in each page, behind the header: no wrong byte is returned, and the
 * store recovers. */
START_TEST(test_noise)
{
    uint64_t random = 17 + (uint64_t)_i;
    off_t pages;

    make_store();
    pages = (off_t)file_size(fix.path) / 4096;
    for (off_t page = 0; page < pages; page++) {
        groat__store *store = NULL;
        uint8_t noise[64];
        int fd = open(fix.path, O_WRONLY | O_CLOEXEC);

        for (size_t i = 0; i < sizeof(noise); i++)
            noise[i] = (uint8_t)next_random(&random);
        ck_assert_int_eq(
            pwrite(fd, noise, sizeof(noise),
                   page * 4096 + 100 + (off_t)(next_random(&random) % 3900)),
            sizeof(noise));
        (void)close(fd);
        set_time();
        ck_assert_int_eq(fixture_try(&fix, 4 * MIB, &store), GROAT_OK);
        for (int round = 0; round < 3; round++) {
            (void)hits(store);
            for (unsigned n = 0; n < KERNELS; n++)
                kernel_put(store, n, BYTES);
        }
        ck_assert_uint_eq(hits(store), KERNELS);
        groat__store_close(store);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("glance");
    TCase *tcase = tcase_create("glance");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, test_hits_leave_nothing_beside_the_file);
    tcase_add_test(tcase, test_what_is_not_found_is_looked_for_again);
    tcase_add_test(tcase, test_another_process_drops_a_row);
    tcase_add_loop_test(tcase, test_another_process_writes, 0, 2);
    tcase_add_test(tcase, test_rows_in_the_journal);
    tcase_add_test(tcase, test_a_writer_that_goes_on);
    tcase_add_loop_test(tcase, test_the_file_is_replaced, 0, 2);
    tcase_add_test(tcase, test_another_file_of_that_size);
    tcase_add_test(tcase, test_the_schema_is_compared);
    tcase_add_test(tcase, test_what_else_a_view_is_asked);
    tcase_add_loop_test(tcase, test_the_folder_is_removed, 0, 3);
    tcase_add_test(tcase, test_a_lock_at_close);
    tcase_add_test(tcase, test_two_stores_of_a_process);
    tcase_add_test(tcase, test_a_connection_of_the_program);
    tcase_add_test(tcase, test_a_file_that_was_just_written);
    tcase_add_loop_test(tcase, test_headers, 0, 5);
    tcase_add_loop_test(tcase, test_noise, 0, 4);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
