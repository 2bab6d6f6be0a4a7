/* SPDX-License-Identifier: Apache-2.0
 *
 * test_families.c tests the list of a context's families: which folders it is
 * read from, in which order, and what happens to one that cannot be read.
 */
#include "rig.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

static rig fix;

static void setup(void)
{
    rig_make(&fix);
    rig_write_adder(&fix);
}

static void teardown(void)
{
    rig_drop(&fix);
}

START_TEST(family_paths)
{
    groat_options options = rig_options(&fix);
    groat_context *context = NULL;
    groat_spec *spec = NULL;
    char path[800];

    /* A family's own folder is accepted, and empty items are ignored. */
    (void)snprintf(path, sizeof(path), ":%s/adder/:", fix.families);
    options.family_path = path;
    context = rig_open_with(&fix, &options);
    ck_assert_ptr_nonnull(groat_family_find(context, "adder"));
    ck_assert_ptr_nonnull(groat_family_find(context, "tile_loader_lds"));
    groat_close(context);
    context = NULL;
    (void)snprintf(path, sizeof(path), "%s:%s/adder", fix.families,
                   fix.families);
    context = rig_open_with(&fix, &options); /* one folder, named twice */
    ck_assert_ptr_null(
        groat_family_problem(groat_family_find(context, "adder")));
    groat_close(context);
    context = NULL;
    /* A folder that cannot be read, or has none, leaves the others. */
    (void)snprintf(path, sizeof(path), "/dev/null/none/families:%s:%s",
                   fix.root, fix.families);
    context = rig_open_with(&fix, &options);
    ck_assert_ptr_nonnull(groat_family_find(context, "adder"));
    ck_fails(
        groat_spec_parse(context, "subber", "cpu:gfx950", &spec, &fix.error),
        GROAT_INVALID, &fix.error,
        "; family path: folder /dev/null/none/families cannot be read: "
        "Not a directory; family path: ");
    ck_assert_int_eq(rig_said(&fix, "/none/families cannot be read"), 1);
    ck_assert_int_eq(rig_said(&fix, " holds no params.def"), 1);
    groat_close(context);
    context = NULL;
    /* "." is the family's folder by another name. */
    (void)snprintf(path, sizeof(path), "%s/adder", fix.families);
    ck_assert_int_eq(chdir(path), 0);
    options.family_path = "./";
    context = rig_open_with(&fix, &options);
    ck_assert_ptr_nonnull(groat_family_find(context, "adder"));
    groat_close(context);
    ck_assert_int_eq(chdir("/"), 0);
    context = NULL;
    /* Without the caller's path, that of the environment is used. */
    options.family_path = NULL;
    ck_assert_int_eq(setenv("GROAT_FAMILY_PATH", fix.families, 1), 0);
    context = rig_open_with(&fix, &options);
    ck_assert_ptr_nonnull(groat_family_find(context, "adder"));
    groat_close(context);
}
END_TEST

/* Folders that are named relative to an earlier working directory. */
START_TEST(families_of_another_folder)
{
    groat_options options = rig_options(&fix);
    groat_context *context;
    const groat_family *family;

    ck_assert_int_eq(chdir(fix.root), 0);
    options.family_path = "families";
    context = rig_open_with(&fix, &options);
    ck_assert_int_eq(chdir("/"), 0);
    family = groat_family_find(context, "adder");
    ck_assert_ptr_nonnull(family);
    ck_assert_ptr_null(groat_family_problem(family));
    ck_assert_uint_gt(groat_family_param_count(family), 0);
    groat_close(context);
}
END_TEST

/* In the order of their names, whatever order the file system has. */
START_TEST(families_in_order)
{
    static const char *const names[] = {"zebra", "Adder", "bee", "ant", "cow"};
    static const char *const sorted[] = {"Adder", "adder", "ant",
                                         "bee",   "cow",   "zebra"};
    groat_context *context = rig_open(&fix);
    size_t own = groat_family_count(context) - 1; /* all but the adder */
    char text[400];
    char file[16];

    groat_close(context);
    for (size_t i = 0; i < COUNT(names); i++) {
        (void)snprintf(text, sizeof(text), "family %s %s", names[i],
                       strchr(adder_params, '"'));
        rig_write_source(&fix, names[i], "params.def", text);
        rig_write_source(&fix, names[i], "args.h", adder_header);
        (void)snprintf(file, sizeof(file), "%s.h", names[i]);
        rig_write_source(&fix, names[i], file, adder_kernel);
    }
    context = rig_open(&fix);
    ck_assert_uint_eq(groat_family_count(context), own + COUNT(sorted));
    for (size_t i = 0; i < COUNT(sorted); i++)
        ck_assert_str_eq(groat_family_name(groat_family_at(context, own + i)),
                         sorted[i]);
    groat_close(context);
}
END_TEST

/* The problem names the file and the system's reason; other families still
 * work. */
static void check_problem(const char *words)
{
    groat_context *context = rig_open(&fix);
    const groat_family *family = groat_family_find(context, "adder");
    groat_spec *spec = NULL;

    ck_assert_str_eq(groat_family_name(family), "adder");
    ck_assert_uint_eq(groat_family_param_count(family), 0);
    ck_assert_uint_eq(groat_family_rule_count(family), 0);
    ck_assert_ptr_nonnull(strstr(groat_family_problem(family), words));
    for (int i = 0; i < 2; i++)
        ck_fails(
            groat_spec_parse(context, "adder", "cpu:gfx942", &spec, &fix.error),
            GROAT_INVALID, &fix.error, words);
    ck_assert_ptr_null(
        groat_family_problem(groat_family_find(context, "tile_loader_lds")));
    groat_close(context);
}

/* Another folder of the same name is an error of that family alone. */
START_TEST(a_name_that_occurs_twice)
{
    groat_options options = rig_options(&fix);
    groat_context *context;
    groat_spec *spec = NULL;
    char path[1200];
    char copy[600];

    (void)snprintf(path, sizeof(path), "%s/more", fix.families);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    (void)snprintf(copy, sizeof(copy), "%s/more/adder", fix.families);
    ck_assert_int_eq(mkdir(copy, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/adder/params.def", fix.families);
    (void)snprintf(copy, sizeof(copy), "%s/more/adder/params.def",
                   fix.families);
    ck_assert_int_eq(link(path, copy), 0);
    (void)snprintf(path, sizeof(path), "%s:%s/more", fix.families,
                   fix.families);
    options.family_path = path;
    context = rig_open_with(&fix, &options);
    ck_fails(
        groat_spec_parse(context, "adder", "cpu:gfx942", &spec, &fix.error),
        GROAT_INVALID, &fix.error, "/more/adder: rename one");
    ck_assert_ptr_null(
        groat_family_problem(groat_family_find(context, "tile_loader_lds")));
    groat_close(context);
    /* Nor does a library's family come in place of the user's. */
    (void)snprintf(path, sizeof(path), "%s/more/adder", fix.families);
    (void)snprintf(copy, sizeof(copy), "%s/more/plain_read", fix.families);
    ck_assert_int_eq(rename(path, copy), 0);
    (void)snprintf(path, sizeof(path), "%s/more", fix.families);
    context = rig_open_with(&fix, &options);
    ck_fails(groat_spec_parse(context, "plain_read", "cpu:gfx942", &spec,
                              &fix.error),
             GROAT_INVALID, &fix.error,
             "family 'plain_read' exists twice, in the library and in ");
    groat_close(context);
}
END_TEST

START_TEST(families_that_cannot_be_read)
{
    char path[600];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/adder/args.h", fix.families);
    ck_assert_int_eq(unlink(path), 0);
    check_problem("adder/args.h: No such file or directory");
    ck_assert_int_eq(symlink("args.h", path), 0);
    check_problem("adder/args.h: Too many levels of symbolic links");
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    check_problem("adder/args.h is not a regular file");
    ck_assert_int_eq(rmdir(path), 0);
    fd = open(path, O_RDWR | O_CREAT, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, (4 << 20) + 1), 0);
    check_problem("adder/args.h is 4194305 bytes; at most 4194304");
    ck_assert_int_eq(ftruncate(fd, 5), 0);
    check_problem("adder/args.h has a NUL at byte 0");
    (void)close(fd);
}
END_TEST

/* The first thread that asks reads it; all get the same. */
static void *find_the_adder(void *user)
{
    return (void *)(uintptr_t)groat_family_find(user, "adder");
}

START_TEST(families_at_first_use)
{
    enum { THREADS = 8 };
    groat_context *context = rig_open(&fix);
    pthread_t threads[THREADS];
    void *found[THREADS];

    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, find_the_adder, context), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], &found[i]), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_ptr_eq(found[i], found[0]);
    ck_assert_uint_gt(groat_family_param_count(found[0]), 0);
    groat_close(context);
}
END_TEST

/* ---- a lack of descriptors that passes ----------------------------------- */

static atomic_bool over;

static void *squeeze(void *unused)
{
    struct rlimit limit;
    rlim_t all;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    all = limit.rlim_cur;
    while (!atomic_load(&over)) {
        limit.rlim_cur = limit.rlim_cur == 0 ? all : 0;
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    }
    limit.rlim_cur = all;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    return unused;
}

/* A family that could not be read for lack of a descriptor is not broken. */
START_TEST(want_that_passes)
{
    for (int round = 0; round < 200; round++) {
        groat_context *context = rig_open(&fix);
        pthread_t thread;

        atomic_store(&over, false);
        ck_assert_int_eq(pthread_create(&thread, NULL, squeeze, NULL), 0);
        for (int i = 0; i < 20; i++)
            (void)groat_family_find(context, "adder");
        atomic_store(&over, true);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        ck_assert_uint_gt(
            groat_family_param_count(groat_family_find(context, "adder")), 0);
        groat_close(context);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("families");
    TCase *tests = tcase_create("families");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, family_paths);
    tcase_add_test(tests, families_of_another_folder);
    tcase_add_test(tests, families_in_order);
    tcase_add_test(tests, families_that_cannot_be_read);
    tcase_add_test(tests, a_name_that_occurs_twice);
    tcase_add_test(tests, families_at_first_use);
    tcase_add_test(tests, want_that_passes);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
