/* SPDX-License-Identifier: Apache-2.0
 *
 * test_fs.c: what a read refuses, that a write is visible completely or not at
 * all, and the modes of what is created, whatever the umask.
 */
#include "../suite.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/fs.h"

enum { PATH_BYTES = 400, BLOCK = 1 << 16 };

typedef struct fixture {
    char dir[200];
    char path[PATH_BYTES]; /* dir/file, which does not exist yet */
    groat_error error;
} fixture;

static fixture fix;

static void setup(void)
{
    const groat_error none = GROAT_ERROR_INIT;

    make_folder(fix.dir, sizeof(fix.dir));
    (void)snprintf(fix.path, sizeof(fix.path), "%s/file", fix.dir);
    fix.error = none;
}

static void teardown(void)
{
    remove_folder(fix.dir);
    groat_error_clear(&fix.error);
}

static void put(const char *path, const void *data, size_t bytes)
{
    groat_status status = groat__fs_write(path, data, bytes, 0600, &fix.error);

    ck_assert_msg(status == GROAT_OK, "%s", fix.error.text);
}

static void ck_holds(const char *path, const void *data, size_t bytes)
{
    char *got = NULL;
    size_t got_bytes = 77;

    ck_assert_int_eq(groat__fs_read(path, BLOCK, &got, &got_bytes, &fix.error),
                     GROAT_OK);
    ck_assert_uint_eq(got_bytes, bytes);
    if (bytes > 0)
        ck_assert_mem_eq(got, data, bytes);
    ck_assert_int_eq(got[bytes], '\0');
    free(got);
}

/* Asserts that a read fails with this status, names path and sets no result. */
static void ck_unread(const char *path, size_t max, groat_status status,
                      const char *words)
{
    char mark = 'm';
    char *data = &mark;
    size_t bytes = 77;

    ck_assert_int_eq(groat__fs_read(path, max, &data, &bytes, &fix.error),
                     status);
    ck_assert_ptr_eq(data, &mark);
    ck_assert_uint_eq(bytes, 77);
    ck_says(&fix.error, path);
    ck_says(&fix.error, words);
    ck_assert_int_eq(groat__fs_read(path, max, &data, &bytes, NULL), status);
}

static unsigned mode_of(const char *path)
{
    struct stat st;

    ck_assert_int_eq(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

/* Removes what a test created and returns the number of removed names. */
static int empty_out(const char *dir)
{
    struct stat st;
    int count = 0;
    char path[PATH_BYTES];
    static const char *const known[] = {"file", "folder", "pipe", "link"};

    ck_assert_int_eq(stat(dir, &st), 0);
    for (size_t i = 0; i < COUNT(known); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", dir, known[i]);
        count += lstat(path, &st) == 0 && remove(path) == 0;
    }
    /* Only an empty folder can be removed. */
    ck_assert_msg(rmdir(dir) == 0, "something was left in %s", dir);
    ck_assert_int_eq(mkdir(dir, 0700), 0);
    return count;
}

/* ---- reading ----------------------------------------------------------- */

START_TEST(test_read)
{
    static const char bytes[] = {'a', '\0', (char)0xff, '\r', '\n', '\0'};

    put(fix.path, bytes, sizeof(bytes));
    ck_holds(fix.path, bytes, sizeof(bytes));
    put(fix.path, "", 0);
    ck_holds(fix.path, "", 0);
}
END_TEST

START_TEST(test_read_limit)
{
    char *data = NULL;
    size_t bytes = 0;

    put(fix.path, "12345678", 8);
    ck_assert_int_eq(groat__fs_read(fix.path, 8, &data, &bytes, NULL),
                     GROAT_OK);
    free(data);
    ck_unread(fix.path, 7, GROAT_INVALID, "8 bytes; at most 7 bytes");
    ck_unread(fix.path, 0, GROAT_INVALID, "8 bytes; at most 0 bytes");
    put(fix.path, "", 0);
    ck_assert_int_eq(groat__fs_read(fix.path, 0, &data, &bytes, NULL),
                     GROAT_OK);
    ck_assert_str_eq(data, "");
    free(data);
}
END_TEST

START_TEST(test_read_of_no_file)
{
    char path[PATH_BYTES + 8];

    ck_unread(fix.path, BLOCK, GROAT_IO, "No such file");
    ck_unread(fix.dir, BLOCK, GROAT_IO, "not a regular file");
    ck_unread("/dev/zero", BLOCK, GROAT_IO, "not a regular file");
    put(fix.path, "x", 1);
    (void)snprintf(path, sizeof(path), "%s/below", fix.path);
    ck_unread(path, BLOCK, GROAT_IO, "Not a directory");
}
END_TEST

/* The pipe has no writer: a read that blocks ends in the test's timeout. */
START_TEST(test_read_of_a_pipe)
{
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof(path), "%s/pipe", fix.dir);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_unread(path, BLOCK, GROAT_IO, "not a regular file");
}
END_TEST

/* Files of /proc report 0 bytes and hold more, like a file that grows. */
START_TEST(test_read_of_a_changing_file)
{
    ck_unread("/proc/self/status", BLOCK, GROAT_IO,
              "changed while it was read");
}
END_TEST

START_TEST(test_read_through_a_link)
{
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof(path), "%s/link", fix.dir);
    put(fix.path, "there", 5);
    ck_assert_int_eq(symlink("file", path), 0);
    ck_holds(path, "there", 5);
    ck_assert_int_eq(remove(fix.path), 0);
    ck_unread(path, BLOCK, GROAT_IO, "No such file");
}
END_TEST

/* ---- writing ----------------------------------------------------------- */

START_TEST(test_write_modes)
{
    static const unsigned modes[] = {0600, 0644, 0700, 0400};
    mode_t before = umask(0);

    ck_assert_int_eq(groat__fs_write(fix.path, "x", 1, modes[_i], &fix.error),
                     GROAT_OK);
    ck_assert_uint_eq(mode_of(fix.path), modes[_i]);
    ck_holds(fix.path, "x", 1);
    (void)umask(before);
    ck_assert_int_eq(empty_out(fix.dir), 1);
}
END_TEST

/* A reader that has the old file open keeps reading the old content. */
START_TEST(test_write_replaces)
{
    char buffer[16] = "";
    int fd;

    put(fix.path, "old and long", 12);
    fd = open(fix.path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    put(fix.path, "new", 3);
    ck_assert_int_eq(read(fd, buffer, sizeof(buffer)), 12);
    ck_assert_str_eq(buffer, "old and long");
    ck_assert_int_eq(close(fd), 0);
    ck_holds(fix.path, "new", 3);
    ck_assert_int_eq(empty_out(fix.dir), 1);
}
END_TEST

typedef struct writer {
    atomic_int stop;
    int failures;
} writer;

static void *write_blocks(void *user)
{
    static char block[BLOCK];
    writer *w = user;

    for (unsigned n = 0; !atomic_load(&w->stop); n++) {
        memset(block, (int)('a' + n % 26), sizeof(block));
        w->failures +=
            groat__fs_write(fix.path, block, sizeof(block) - n % 1000, 0600,
                            NULL) != GROAT_OK;
    }
    return NULL;
}

START_TEST(test_a_reader_sees_one_write)
{
    writer w = {0};
    pthread_t thread;

    put(fix.path, "a", 1);
    ck_assert_int_eq(pthread_create(&thread, NULL, write_blocks, &w), 0);
    for (int i = 0; i < 400; i++) {
        char *data = NULL;
        size_t bytes = 0;

        ck_assert_int_eq(groat__fs_read(fix.path, BLOCK, &data, &bytes, NULL),
                         GROAT_OK);
        ck_assert_uint_gt(bytes, 0);
        for (size_t k = 1; k < bytes; k++)
            if (data[k] != data[0])
                ck_abort_msg("byte %zu is of another write", k);
        free(data);
    }
    atomic_store(&w.stop, 1);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(w.failures, 0);
    ck_assert_int_eq(empty_out(fix.dir), 1);
}
END_TEST

START_TEST(test_write_fails_clean)
{
    char path[PATH_BYTES + 8];

    (void)snprintf(path, sizeof(path), "%s/none/file", fix.dir);
    ck_assert_int_eq(groat__fs_write(path, "x", 1, 0600, &fix.error), GROAT_IO);
    ck_says(&fix.error, path);
    ck_says(&fix.error, "No such file");
    (void)snprintf(path, sizeof(path), "%s/folder", fix.dir);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(groat__fs_write(path, "x", 1, 0600, &fix.error), GROAT_IO);
    ck_says(&fix.error, path);
    ck_assert_int_eq(groat__fs_write(path, "x", 1, 0600, NULL), GROAT_IO);
    ck_assert_int_eq(empty_out(fix.dir), 1);
}
END_TEST

/* The disk fills up half way: the old file stays, and nothing else is left. */
START_TEST(test_write_to_a_full_disk)
{
    static char block[BLOCK];
    struct rlimit before;
    struct rlimit few;
    groat_status status;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);

    put(fix.path, "old", 3);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    few = before;
    few.rlim_cur = BLOCK / 2;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &few), 0);
    status = groat__fs_write(fix.path, block, sizeof(block), 0600, &fix.error);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    ck_assert_int_eq(status, GROAT_IO);
    ck_says(&fix.error, fix.path);
    ck_says(&fix.error, "File too large");
    ck_holds(fix.path, "old", 3);
    ck_assert_int_eq(empty_out(fix.dir), 1);
}
END_TEST

/* ---- private folders --------------------------------------------------- */

START_TEST(test_private_dir)
{
    static const mode_t masks[] = {0, 022, 077, 0777};
    static const char *const made[] = {"a", "a/b", "a/b/c"};
    mode_t before = umask(masks[_i]);
    char path[PATH_BYTES];
    groat_status status;

    (void)snprintf(path, sizeof(path), "%s/a/b/c", fix.dir);
    status = groat__fs_make_private_dir(path, &fix.error);
    (void)umask(before);
    ck_assert_msg(status == GROAT_OK, "%s", fix.error.text);
    for (size_t i = 0; i < COUNT(made); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", fix.dir, made[i]);
        ck_assert_uint_eq(mode_of(path), 0700);
    }
}
END_TEST

/* An existing folder keeps its mode, and any spelling of a path works. */
START_TEST(test_private_dir_that_is_there)
{
    static const char *const spellings[] = {"%s/a/b", "%s/a/b/", "%s//a///b",
                                            "%s/./a/../a/b"};
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof(path), "%s/a", fix.dir);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    ck_assert_int_eq(chmod(path, 0755), 0);
    for (size_t i = 0; i < COUNT(spellings); i++) {
        (void)snprintf(path, sizeof(path), spellings[i], fix.dir);
        ck_assert_int_eq(groat__fs_make_private_dir(path, &fix.error),
                         GROAT_OK);
    }
    (void)snprintf(path, sizeof(path), "%s/a", fix.dir);
    ck_assert_uint_eq(mode_of(path), 0755);
    (void)snprintf(path, sizeof(path), "%s/a/b", fix.dir);
    ck_assert_uint_eq(mode_of(path), 0700);
    ck_assert_int_eq(groat__fs_make_private_dir("/", &fix.error), GROAT_OK);
}
END_TEST

START_TEST(test_private_dir_by_a_relative_path)
{
    struct stat st;

    ck_assert_int_eq(chdir(fix.dir), 0);
    ck_assert_int_eq(groat__fs_make_private_dir("x", &fix.error), GROAT_OK);
    ck_assert_int_eq(groat__fs_make_private_dir("y/z", &fix.error), GROAT_OK);
    ck_assert_int_eq(groat__fs_make_private_dir(".", &fix.error), GROAT_OK);
    ck_assert_int_eq(stat("x", &st), 0);
    ck_assert_int_eq(stat("y/z", &st), 0);
    ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

START_TEST(test_no_private_dir)
{
    char path[PATH_BYTES + 8];

    put(fix.path, "x", 1);
    ck_assert_int_eq(groat__fs_make_private_dir(fix.path, &fix.error),
                     GROAT_IO);
    ck_says(&fix.error, fix.path);
    ck_says(&fix.error, "not a folder");
    (void)snprintf(path, sizeof(path), "%s/below", fix.path);
    ck_assert_int_eq(groat__fs_make_private_dir(path, &fix.error), GROAT_IO);
    ck_says(&fix.error, fix.path);
    ck_assert_int_eq(groat__fs_make_private_dir("", &fix.error), GROAT_IO);
    ck_assert_int_eq(groat__fs_make_private_dir("/proc/none/x", NULL),
                     GROAT_IO);
    ck_holds(fix.path, "x", 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fs");
    TCase *tcase = tcase_create("fs");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, test_read);
    tcase_add_test(tcase, test_read_limit);
    tcase_add_test(tcase, test_read_of_no_file);
    tcase_add_test(tcase, test_read_of_a_pipe);
    tcase_add_test(tcase, test_read_of_a_changing_file);
    tcase_add_test(tcase, test_read_through_a_link);
    tcase_add_loop_test(tcase, test_write_modes, 0, 4);
    tcase_add_test(tcase, test_write_replaces);
    tcase_add_test(tcase, test_a_reader_sees_one_write);
    tcase_add_test(tcase, test_write_fails_clean);
    tcase_add_test(tcase, test_write_to_a_full_disk);
    tcase_add_loop_test(tcase, test_private_dir, 0, 4);
    tcase_add_test(tcase, test_private_dir_that_is_there);
    tcase_add_test(tcase, test_private_dir_by_a_relative_path);
    tcase_add_test(tcase, test_no_private_dir);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
