/* SPDX-License-Identifier: Apache-2.0
 *
 * test_shared.c: code that the backends share: the table of backend.c, unnamed
 * files, symbols, quoted paths and the lines of the doctor.
 */
#include "../suite.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/resource.h>

#include "backend/backend.h"
#include "backend/shared.h"

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
    /* It reads from the start to the end. */
    ck_assert_int_eq(read(fd, got, sizeof(got)), sizeof(text));
    ck_assert_mem_eq(got, text, sizeof(text));
    (void)close(fd);
    fd = groat__memory_file("groat-test", NULL, 0);
    ck_assert_int_eq(read(fd, got, 1), 0);
    (void)close(fd);
    /* Descriptors 0 to 2 are not used, even when they are free. */
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

START_TEST(symbols)
{
    static const char *const sonames[] = {"libc.so.6", NULL};
    const groat__dl_search search = {NULL, NULL, sonames, NULL};
    static const groat__symbol wanted[] = {
        {"getpid", true, 0},
        {"groat_no_such_symbol", false, sizeof(void *)},
        {"groat_not_this_one", true, 2 * sizeof(void *)}};
    groat_error error = GROAT_ERROR_INIT;
    void *calls[3] = {NULL, calls, calls};
    groat__dl dl;

    ck_assert_int_eq(groat__dl_open(&search, &dl, NULL), GROAT_OK);
    ck_assert_int_eq(groat__dl_bind(&dl, wanted, 2, calls, &error), GROAT_OK);
    ck_assert_ptr_nonnull(calls[0]);
    ck_assert_ptr_null(calls[1]);
    ck_assert_ptr_eq(calls[2], calls);
    ck_assert_int_eq(groat__dl_bind(&dl, wanted, 3, calls, &error),
                     GROAT_NO_DEVICE);
    ck_says(&error, "groat_not_this_one");
    ck_says(&error, dl.path);
    groat__dl_close(&dl);
    groat_error_clear(&error);
}
END_TEST

/* For a quoted path glob(3) finds exactly that path. */
START_TEST(quoted_paths)
{
    static const char *const names[] = {"plain", "a*b", "a?b",     "[ab]",
                                        "a\\b",  "{a}", "~",       "a~*[?]{}",
                                        "a b",   "ab",  "\303\244"};
    char folder[128];

    make_folder(folder, sizeof(folder));
    ck_assert_int_eq(chdir(folder), 0);
    for (size_t i = 0; i < COUNT(names); i++)
        ck_assert_int_ge(close(creat(names[i], 0600)), 0);
    for (size_t i = 0; i < COUNT(names); i++) {
        groat__str pattern = {0};
        glob_t found;

        groat__add_quoted(&pattern, names[i]);
        ck_assert_int_eq(
            glob(pattern.data, GLOB_TILDE | GLOB_BRACE, NULL, &found), 0);
        ck_assert_uint_eq(found.gl_pathc, 1);
        ck_assert_str_eq(found.gl_pathv[0], names[i]);
        globfree(&found);
        groat__str_free(&pattern);
    }
    ck_assert_int_eq(chdir("/"), 0);
    remove_folder(folder);
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

/* Lists every place that was tried, if there are several and none worked. */
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
    Suite *suite = suite_create("shared");
    TCase *tests = tcase_create("shared");

    tcase_add_test(tests, the_table);
    tcase_add_test(tests, memory_files);
    tcase_add_test(tests, memory_files_that_are_none);
    tcase_add_test(tests, symbols);
    tcase_add_test(tests, quoted_paths);
    tcase_add_test(tests, findings_are_lines);
    tcase_add_test(tests, problems_of_a_library);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
