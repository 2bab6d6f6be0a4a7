/* SPDX-License-Identifier: Apache-2.0
 *
 * test_folder.c: objects as files of a folder, and what fails there.
 */
#include <sys/resource.h>
#include <sys/stat.h>

#include "../suite.h"

#include "fleet/folder.h"

static char dir[200];

static void setup(void)
{
    make_folder(dir, sizeof(dir));
}

static void teardown(void)
{
    remove_folder(dir);
}

/* Runs one exchange, and asserts its outcome and words of its reason. */
static void ck_exchange(groat__verb verb, const char *name, const char *body,
                        groat__outcome outcome, const char *why)
{
    groat__exchange x = {
        .verb = verb, .body = body, .bytes = body != NULL ? strlen(body) : 0};
    const groat__batch batch = {.list = &x, .count = 1};

    (void)snprintf(x.name, sizeof(x.name), "%s", name);
    groat__folder_run(dir, &batch);
    ck_assert_msg(x.outcome == outcome, "%s: %d, '%s'", name, (int)x.outcome,
                  x.why);
    ck_assert_msg(strstr(x.why, why) != NULL, "%s: '%s'", name, x.why);
    groat__exchange_free(&x);
}

static int count_one(void *user, const groat__listed *listed)
{
    (void)listed;
    ++*(int *)user;
    return 0;
}

static int count_files(void)
{
    int count = 0;

    ck_assert_int_eq(groat__folder_list(dir, count_one, &count, NULL),
                     GROAT_OK);
    return count;
}

START_TEST(all_verbs)
{
    ck_exchange(GROAT__OBJECT_HEAD, "v1/a/b", NULL, GROAT__OBJECT_ABSENT, "");
    ck_exchange(GROAT__OBJECT_GET, "v1/a/b", NULL, GROAT__OBJECT_ABSENT, "");
    ck_exchange(GROAT__OBJECT_PUT, "v1/a/b", "one", GROAT__OBJECT_DONE, "");
    ck_exchange(GROAT__OBJECT_PUT, "v1/a/b", "two", GROAT__OBJECT_THERE, "");
    ck_exchange(GROAT__OBJECT_HEAD, "v1/a/b", NULL, GROAT__OBJECT_DONE, "");
    ck_exchange(GROAT__OBJECT_GET, "v1/a/b", NULL, GROAT__OBJECT_DONE, "");
    ck_assert_int_eq(count_files(), 1);
    ck_exchange(GROAT__OBJECT_DELETE, "v1/a/b", NULL, GROAT__OBJECT_DONE, "");
    ck_exchange(GROAT__OBJECT_DELETE, "v1/a/b", NULL, GROAT__OBJECT_ABSENT, "");
    ck_assert_int_eq(count_files(), 0);
}
END_TEST

/* A file is whole or not there. */
START_TEST(no_room)
{
    static char body[1 << 20];
    struct rlimit usual;
    struct rlimit half;

    memset(body, 'x', sizeof(body) - 1);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &usual), 0);
    half = usual;
    half.rlim_cur = sizeof(body) / 2; /* Check writes a file, too */
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &half), 0);
    ck_exchange(GROAT__OBJECT_PUT, "v1/a/b", body, GROAT__OBJECT_FAILED,
                "File too large");
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &usual), 0);
    ck_assert_int_eq(count_files(), 0);
    ck_exchange(GROAT__OBJECT_PUT, "v1/a/b", body, GROAT__OBJECT_DONE, "");
}
END_TEST

/* One that is not mounted, say: it is not made. */
START_TEST(no_folder)
{
    remove_folder(dir);
    ck_exchange(GROAT__OBJECT_GET, "v1/a/b", NULL, GROAT__OBJECT_ABSENT, "");
    ck_exchange(GROAT__OBJECT_PUT, "v1/a/b", "one", GROAT__OBJECT_FAILED,
                "the remote's folder does not exist");
    ck_assert_int_ne(access(dir, F_OK), 0);
}
END_TEST

/* A file where a folder should be, and a folder where a file should be. */
START_TEST(wrong_kinds)
{
    char path[sizeof(dir) + 8];

    ck_exchange(GROAT__OBJECT_PUT, "a", "one", GROAT__OBJECT_DONE, "");
    ck_exchange(GROAT__OBJECT_PUT, "a/b", "two", GROAT__OBJECT_FAILED,
                "Not a directory");
    ck_exchange(GROAT__OBJECT_GET, "a/b", NULL, GROAT__OBJECT_ABSENT, "");
    (void)snprintf(path, sizeof(path), "%s/c", dir);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_exchange(GROAT__OBJECT_GET, "c", NULL, GROAT__OBJECT_FAILED,
                "not a regular file");
    ck_exchange(GROAT__OBJECT_DELETE, "c", NULL, GROAT__OBJECT_FAILED, "Is a");
    ck_exchange(GROAT__OBJECT_DELETE, "a/b", NULL, GROAT__OBJECT_FAILED,
                "Not a directory");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("folder");
    TCase *tests = tcase_create("folder");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, all_verbs);
    tcase_add_test(tests, no_room);
    tcase_add_test(tests, no_folder);
    tcase_add_test(tests, wrong_kinds);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
