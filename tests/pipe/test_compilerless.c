/* SPDX-License-Identifier: Apache-2.0
 *
 * test_compilerless.c: a host without a compiler serves binaries made
 * elsewhere: the newest entry of its store, else of a trusted bundle, with the
 * family, parameters and target of the spec.  The maker is reported.
 */
#include "rig.h"
#include "groat_serve.h"

#include <sqlite3.h>

static const char *const target = "cpu:gfx950";
static rig fix;

static void setup(void)
{
    rig_make(&fix);
    rig_write_adder(&fix);
    (void)unsetenv("GROAT_CXX");
}

static void teardown(void)
{
    (void)unsetenv("GROAT_CXX");
    rig_drop(&fix);
}

static void take_compiler_away(void)
{
    ck_assert_int_eq(setenv("GROAT_CXX", "/dev/null/none", 1), 0);
}

/* Uses the compiler under another name. */
static void use_compiler(const char *name, const char *more)
{
    char path[300];
    char text[400];

    (void)snprintf(path, sizeof(path), "%s/%s", fix.root, name);
    (void)snprintf(text, sizeof(text),
                   "#!/bin/sh\n"
                   "[ \"$1\" = --version ] && exec echo %s\n"
                   "exec c++ \"$@\" %s\n",
                   name, more);
    rig_write(path, text, 0700);
    ck_assert_int_eq(setenv("GROAT_CXX", path, 1), 0);
}

static void make(const char *spec)
{
    groat_context *context = rig_open(&fix);

    (void)rig_get(&fix, context, spec, target, GROAT_FROM_COMPILER);
    groat_close(context);
}

/* Checks a kernel that adds step, and the first word of its maker. */
static void ck_kernel(groat_context *context, unsigned step,
                      groat_origin origin, const char *maker)
{
    groat_kernel_info info = {.size = sizeof(info)};
    groat_kernel *kernel;
    char spec[32];

    (void)snprintf(spec, sizeof(spec), "adder:step=%u", step);
    kernel = rig_get(&fix, context, spec, target, origin);
    ck_assert(rig_adds(context, target, kernel, step));
    ck_assert_int_eq(groat_kernel_info_get(kernel, &info, NULL), GROAT_OK);
    ck_assert_msg(strstr(info.maker, maker) != NULL, "%s", info.maker);
    groat_kernel_release(kernel);
}

static void ck_absent(groat_context *context, const char *spec)
{
    groat_kernel *kernel = NULL;

    ck_fails(groat_kernel_get(context, spec, target, &kernel, NULL, &fix.error),
             GROAT_NO_DEVICE, &fix.error, "GROAT_CXX=/dev/null/none");
}

START_TEST(a_store)
{
    groat_context *context;
    groat_spec *spec;
    groat_explanation found = {.size = sizeof(found)};
    char *text = NULL;

    use_compiler("one", "");
    make("adder:step=3");
    take_compiler_away();
    context = rig_open(&fix);
    ck_kernel(context, 3, GROAT_FROM_DISK, "c++ one");
    ck_kernel(context, 3, GROAT_FROM_MEMORY, "c++ one");
    ck_absent(context, "adder:step=4");
    spec = rig_parse(&fix, context, "adder:step=3", target);
    ck_assert_int_eq(rig_origin(&fix, spec), GROAT_FROM_MEMORY);
    ck_assert_int_eq(groat_explain(spec, &found, NULL, NULL, NULL), GROAT_OK);
    ck_assert_ptr_nonnull(strstr(found.text, "made by c++ one"));
    groat_spec_free(spec);
    ck_assert_int_eq(
        groat_metrics(context, GROAT_METRICS_PROMETHEUS, &text, NULL),
        GROAT_OK);
    ck_assert_ptr_nonnull(strstr(text, "groat_compilerless_total 1\n"));
    groat_free(text);
    groat_close(context);
    ck_assert_int_eq(fix.warnings, 0);
}
END_TEST

/* Of several makers' entries the newest; sanitized ones only on request. */
START_TEST(the_newest)
{
    groat_context *context;
    groat_options options = rig_options(&fix);

    use_compiler("two", "");
    make("adder:step=5");
    use_compiler("one", "");
    make("adder:step=5");
    use_compiler("three", "");
    options.flags = GROAT_OPEN_SANITIZE;
    context = rig_open_with(&fix, &options);
    for (unsigned step = 5; step <= 6; step++) {
        groat_spec *spec;
        char text[32];

        (void)snprintf(text, sizeof(text), "adder:step=%u", step);
        spec = rig_parse(&fix, context, text, target);
        ck_assert_int_eq(groat_build(spec, NULL, NULL, NULL, &fix.error),
                         GROAT_OK);
        groat_spec_free(spec);
    }
    groat_close(context);
    take_compiler_away();
    context = rig_open(&fix);
    ck_kernel(context, 5, GROAT_FROM_DISK, "c++ one");
    ck_absent(context, "adder:step=6");
    groat_close(context);
    context = rig_open_with(&fix, &options);
    ck_absent(context, "adder:step=5");
    groat_close(context);
}
END_TEST

static void damage(const char *path, const char *maker, const char *change)
{
    sqlite3 *db = NULL;
    char sql[200];

    (void)snprintf(sql, sizeof(sql),
                   "UPDATE entry SET %s WHERE instr(identity, '%s') > 0",
                   change, maker);
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_changes(db), 1);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

static const char *const changes[] = {"binary = zeroblob(bytes)",
                                      "identity = identity || 'x'"};

/* The newest entry is damaged: another one is used at the first request, also
 * from a bundle, from which nothing is dropped. */
START_TEST(a_damaged_newest)
{
    groat_options options = rig_options(&fix);
    groat_context *context;
    char bundle[300];
    const char *paths[] = {bundle};
    uint64_t written = 0;

    (void)snprintf(bundle, sizeof(bundle), "%s/bundle", fix.root);
    use_compiler("two", "");
    make("adder:step=5");
    use_compiler("one", "");
    make("adder:step=5");
    context = rig_open(&fix);
    ck_assert_int_eq(groat_bundle_export(context, bundle, NULL, 0, NULL,
                                         &written, &fix.error),
                     GROAT_OK);
    ck_assert_uint_eq(written, 2);
    groat_close(context);
    damage(fix.store, "c++ one", changes[_i]);
    take_compiler_away();
    context = rig_open(&fix);
    ck_kernel(context, 5, GROAT_FROM_DISK, "c++ two");
    groat_close(context);
    /* In a bundle the last identity in text order counts as the newest. */
    damage(bundle, "c++ two", changes[_i]);
    remove_folder(fix.cache);
    options.bundles = paths;
    options.bundle_count = 1;
    options.allow_unsigned = true;
    context = rig_open_with(&fix, &options);
    ck_kernel(context, 5, GROAT_FROM_BUNDLE, "c++ one");
    groat_close(context);
}
END_TEST

/* With a compiler both halves of the identity must match. */
START_TEST(with_a_compiler)
{
    groat_context *context;

    use_compiler("one", "");
    make("adder:step=7");
    use_compiler("two", "");
    context = rig_open(&fix);
    ck_kernel(context, 7, GROAT_FROM_COMPILER, "c++ two");
    groat_close(context);
}
END_TEST

/* The sources or the parameters differ. */
START_TEST(another_kernel)
{
    groat_context *context;

    use_compiler("one", "");
    make("adder:step=8,doubled=1");
    rig_write_source(&fix, "adder", "args.h",
                     "#pragma once\nstruct adder_args { unsigned long long "
                     "input, output; unsigned count, reserved; }; // other\n");
    take_compiler_away();
    context = rig_open(&fix);
    ck_absent(context, "adder:step=8,doubled=1");
    groat_close(context);
    rig_write_adder(&fix);
    context = rig_open(&fix);
    ck_absent(context, "adder:step=8,doubled=2");
    (void)rig_get(&fix, context, "adder:step=8,doubled=1", target,
                  GROAT_FROM_DISK);
    groat_close(context);
}
END_TEST

/* Made and signed on one host, served on another that has the public key. */
START_TEST(a_bundle)
{
    const char *paths[1];
    groat_options options;
    groat_context *context;
    char public_key[65];
    char bundle[300];
    char secret[300];
    char trust[300];
    uint64_t written = 0;

    (void)snprintf(bundle, sizeof(bundle), "%s/bundle", fix.root);
    (void)snprintf(secret, sizeof(secret), "%s/secret", fix.root);
    (void)snprintf(trust, sizeof(trust), "%s/trust", fix.root);
    ck_assert_int_eq(groat_bundle_keygen(secret, public_key, NULL), GROAT_OK);
    rig_write(trust, public_key, 0600);
    use_compiler("one", "");
    make("adder:step=9");
    context = rig_open(&fix);
    ck_assert_int_eq(groat_bundle_export(context, bundle, NULL, 0, secret,
                                         &written, &fix.error),
                     GROAT_OK);
    ck_assert_uint_eq(written, 1);
    groat_close(context);
    remove_folder(fix.cache);
    take_compiler_away();
    options = rig_options(&fix);
    paths[0] = bundle;
    options.bundles = paths;
    options.bundle_count = 1;
    context = rig_open_with(&fix, &options); /* trusts nobody */
    ck_absent(context, "adder:step=9");
    groat_close(context);
    options.trust = trust;
    context = rig_open_with(&fix, &options);
    ck_kernel(context, 9, GROAT_FROM_BUNDLE, "c++ one");
    ck_absent(context, "adder:step=10");
    groat_close(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compilerless");
    TCase *tests = tcase_create("compilerless");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, a_store);
    tcase_add_test(tests, the_newest);
    tcase_add_loop_test(tests, a_damaged_newest, 0, COUNT(changes));
    tcase_add_test(tests, with_a_compiler);
    tcase_add_test(tests, another_kernel);
    tcase_add_test(tests, a_bundle);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
