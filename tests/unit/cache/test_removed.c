/* SPDX-License-Identifier: Apache-2.0
 *
 * test_removed.c: store files that others remove, truncate or hold in place
 * while a process has the store open and is idle.  A process that opens it
 * afterwards gets a store that accepts puts, and so does the idle one once it
 * wakes.
 */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>

static fixture fix;
static bool no_rename;

/* Stands in front of libc's. */
int rename(const char *from, const char *to)
{
    if (no_rename) {
        errno = EBUSY;
        return -1;
    }
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

static void setup(void)
{
    fixture_make(&fix);
}

static void teardown(void)
{
    fixture_drop(&fix);
}

/* Files of a store that are removed: its file, -wal, -shm; cut: the file is
 * truncated instead. */
typedef struct loss {
    bool file, wal, shm, cut;
} loss;

static const loss losses[] = {
    {.file = true},
    {.file = true, .cut = true},
    {.wal = true},
    {.shm = true},
    {.wal = true, .shm = true},
    {.file = true, .wal = true, .shm = true},
};

static void remove_beside(const char *suffix)
{
    char path[320];

    (void)snprintf(path, sizeof(path), "%s%s", fix.path, suffix);
    ck_assert_int_eq(unlink(path), 0);
}

static void lose(const loss *what)
{
    if (what->cut)
        ck_assert_int_eq(truncate(fix.path, 0), 0);
    else if (what->file)
        remove_beside("");
    if (what->wal)
        remove_beside("-wal");
    if (what->shm)
        remove_beside("-shm");
}

/* Puts kernel 0, waits until it is woken, puts kernel 2. */
static int be_idle(int woken, int told)
{
    groat__store *store = NULL;
    int wrong = 0;

    if (fixture_try(&fix, 64 * MIB, &store) != GROAT_OK)
        return 1;
    kernel_put(store, 0, 1000);
    wrong += kernel_get(store, 0) != ANSWER_RIGHT;
    say(told);
    hear(woken);
    kernel_put(store, 2, 1000);
    wrong += kernel_get(store, 2) != ANSWER_RIGHT;
    say(told);
    hear(woken);
    groat__store_close(store);
    return wrong == 0 ? 0 : 2;
}

/* A new process: puts one kernel, then gets it and another one. */
static int come(unsigned put, unsigned want)
{
    groat__store *store = NULL;
    int wrong = 0;
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid != 0)
        return child_status(pid);
    if (fixture_try(&fix, 64 * MIB, &store) != GROAT_OK)
        _exit(1);
    kernel_put(store, put, 1000);
    wrong += kernel_get(store, put) == ANSWER_RIGHT ? 0 : 10;
    wrong += kernel_get(store, want) == ANSWER_RIGHT ? 0 : 20;
    groat__store_close(store);
    _exit(wrong);
}

START_TEST(under_an_idle_process)
{
    const loss *what = &losses[_i];
    groat__store *store;
    sqlite3 *db;
    int wake[2];
    int tell[2];
    pid_t idle;

    ck_assert_int_eq(pipe(wake), 0);
    ck_assert_int_eq(pipe(tell), 0);
    idle = fork();
    ck_assert_int_ge(idle, 0);
    if (idle == 0)
        _exit(be_idle(wake[0], tell[1]));
    hear(tell[0]);
    lose(what);
    ck_assert_int_eq(come(1, 1), 0);
    ck_assert_int_eq(come(3, 1), 0);
    say(wake[1]);
    hear(tell[0]);
    ck_assert_int_eq(come(4, 2), 0);
    say(wake[1]);
    ck_assert_int_eq(child_status(idle), 0);
    store = fixture_open(&fix, 64 * MIB);
    for (unsigned n = 1; n < 5; n++)
        ck_assert_int_eq(kernel_get(store, n), ANSWER_RIGHT);
    groat__store_close(store);
    db = outside_open(fix.path);
    ck_assert_int_eq(outside_number(db, "SELECT count(*) FROM "
                                        "pragma_integrity_check "
                                        "WHERE integrity_check = 'ok'"),
                     1);
    (void)sqlite3_close(db);
}
END_TEST

/* A damaged store that stays where it is: nothing is told as done. */
START_TEST(one_that_cannot_be_renamed)
{
    groat__store *store = NULL;

    groat__store_close(fixture_open(&fix, 4 * MIB));
    file_write(fix.path, "no database at all, but long enough", 35);
    no_rename = true;
    ck_assert_int_eq(fixture_try(&fix, 4 * MIB, &store), GROAT_IO);
    no_rename = false;
    ck_assert_ptr_null(store);
    ck_assert_ptr_nonnull(strstr(fix.error.text, "cannot set the damaged"));
    ck_assert_int_eq(fixture_said(&fix, "set aside as"), 0);
    groat_error_clear(&fix.error);
    store = fixture_open(&fix, 4 * MIB);
    ck_assert_int_eq(fixture_said(&fix, "set aside as"), 1);
    kernel_put(store, 1, 100);
    ck_hit(store, 1);
    groat__store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("removed");
    TCase *tests = tcase_create("removed");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, under_an_idle_process, 0,
                        sizeof(losses) / sizeof(losses[0]));
    tcase_add_test(tests, one_that_cannot_be_renamed);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
