/* SPDX-License-Identifier: Apache-2.0
 *
 * test_backend.c: what the backends share: the table, files without a name,
 * and the lines of the doctor.
 */
#include "../suite.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "backend/backend.h"

START_TEST(the_table)
{
    static const char *const names[][2] = {
        {"nvrtc", "cuda"}, {"hiprtc", "hip"}, {"c++", "cpu"}};

    for (int id = 0; id < GROAT__BACKENDS; id++) {
        const groat__backend *backend =
            groat__backend_get((groat__backend_id)id);

        ck_assert_int_eq(backend->id, id);
        ck_assert_str_eq(backend->compiler->name, names[id][0]);
        ck_assert_str_eq(backend->device->name, names[id][1]);
    }
}
END_TEST

START_TEST(memory_files)
{
    static const char text[] = "some bytes\0and more";
    char got[sizeof(text) + 1] = "";
    int kept[3];
    int fd = groat__memory_file("groat-test", text, sizeof(text));
    int other;

    ck_assert_int_ge(fd, 3);
    ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
    /* It is read from its start, to its end. */
    ck_assert_int_eq(read(fd, got, sizeof(got)), sizeof(text));
    ck_assert_mem_eq(got, text, sizeof(text));
    (void)close(fd);
    fd = groat__memory_file("groat-test", NULL, 0);
    ck_assert_int_eq(read(fd, got, 1), 0);
    (void)close(fd);
    /* The descriptors of a child's streams are not taken, if they are free. */
    for (int i = 0; i < 3; i++) {
        kept[i] = fcntl(i, F_DUPFD_CLOEXEC, 3);
        (void)close(i);
    }
    fd = groat__memory_file("groat-test", text, sizeof(text));
    other = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < 3; i++)
        if (kept[i] >= 0)
            (void)dup2(kept[i], i);
    ck_assert_int_ge(fd, 3);
    ck_assert_int_eq(other, 0);
    ck_assert_int_eq(read(fd, got, sizeof(got)), sizeof(text));
    ck_assert_mem_eq(got, text, sizeof(text));
    (void)close(fd);
}
END_TEST

START_TEST(memory_files_that_are_none)
{
    struct rlimit limit;
    struct rlimit none;
    int fd;
    int reason;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    fd = groat__memory_file("groat-test", "x", 1);
    reason = errno;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_int_eq(fd, -1);
    ck_assert_int_eq(reason, EMFILE);
}
END_TEST

START_TEST(findings_are_lines)
{
    groat__str out = {0};

    groat__finding(&out, "libx", false, "%s", "one\ntwo\tthree\033\n\n");
    groat__finding(&out, "liby", true, "%s", "");
    ck_assert_str_eq(out.data, "libx\t0\tone; two three \nliby\t1\t\n");
    groat__str_free(&out);
}
END_TEST

/* Every place that was tried, unless the error has it all or is another. */
START_TEST(problems_of_a_library)
{
    char one[] = "/x.so: cannot open\n";
    char two[] = "a.so: none\n/b/a.so: none\n";
    groat_error error = GROAT_ERROR_INIT;
    groat__dl dl = {0};

    (void)snprintf(error.text, sizeof(error.text), "the error");
    ck_assert_str_eq(groat__library_problem(&dl, &error), "the error");
    dl.story.data = one;
    ck_assert_str_eq(groat__library_problem(&dl, &error), "the error");
    dl.story.data = two;
    ck_assert_str_eq(groat__library_problem(&dl, &error), two);
    dl.handle = &dl;
    ck_assert_str_eq(groat__library_problem(&dl, &error), "the error");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("backend");
    TCase *tests = tcase_create("backend");

    tcase_add_test(tests, the_table);
    tcase_add_test(tests, memory_files);
    tcase_add_test(tests, memory_files_that_are_none);
    tcase_add_test(tests, findings_are_lines);
    tcase_add_test(tests, problems_of_a_library);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
