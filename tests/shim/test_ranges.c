/* SPDX-License-Identifier: Apache-2.0
 *
 * test_ranges.c: the ranges that a profiler gets on the way to a kernel, by
 * callbacks and by NVTX 3.
 */
#include <dlfcn.h>
#include <pthread.h>

#include "tests/pipe/rig.h"
#include "tests/shim/shim_ranges.h"

static rig fix;
static shim_ranges_control *shim;
static const char target[] = "cpu:gfx950";

static void setup(void)
{
    const char *path = getenv("GROAT_TEST_RANGES_SHIM");
    shim_ranges_fn *get = NULL;
    void *handle = path == NULL ? NULL : dlopen(path, RTLD_NOW);

    ck_assert_msg(handle != NULL, "%s", path == NULL ? "no shim" : dlerror());
    *(void **)&get = dlsym(handle, "shim_ranges");
    ck_assert(get != NULL);
    shim = get();
    shim->text[0] = '\0';
    shim->below = 0;
    ck_assert_int_eq(unsetenv("GROAT_RANGES"), 0);
    ck_assert_int_eq(setenv("NVTX_INJECTION64_PATH", path, 1), 0);
    rig_make(&fix);
    rig_write_adder(&fix);
}

static void teardown(void)
{
    rig_drop(&fix);
}

static groat_options with_callbacks(void)
{
    groat_options options = rig_options(&fix);

    options.range_push = shim->push;
    options.range_pop = shim->pop;
    options.range_user = shim;
    return options;
}

static groat_context *open_called(void)
{
    groat_options options = with_callbacks();

    return rig_open_with(&fix, &options);
}

static groat_context *open_named(const char *name)
{
    groat_options options = rig_options(&fix);

    options.ranges = name;
    return rig_open_with(&fix, &options);
}

/* Checks that these are the ranges so far. */
static void told(const char *const *lines, size_t count)
{
    groat__str all = {0};

    for (size_t i = 0; i < count; i++)
        groat__str_addf(&all, "%s\n", lines[i]);
    ck_assert_str_eq(shim->text, all.data);
    ck_assert_int_eq(shim->below, 0);
    groat__str_free(&all);
    shim->text[0] = '\0';
}

static const char *const compiled[] = {
    "push groat: miss adder",
    "  push groat: read adder",
    "  pop",
    "  push groat: compile adder",
    "  pop",
    "  push groat: put adder",
    "  pop",
    "  push groat: load adder",
    "  pop",
    "pop",
};
static const char *const from_disk[] = {
    "push groat: miss adder",
    "  push groat: read adder",
    "    push groat: verify",
    "    pop",
    "  pop",
    "  push groat: load adder",
    "  pop",
    "pop",
};
static const char *const from_bundle[] = {
    "push groat: miss adder",
    "  push groat: read adder",
    "    push groat: verify",
    "    pop",
    "    push groat: verify signature",
    "    pop",
    "  pop",
    "  push groat: load adder",
    "  pop",
    "pop",
};

/* Compiles, then hits memory, which makes no range, then reads the store. */
static void walk(const char *name)
{
    groat_context *context = name == NULL ? open_called() : open_named(name);

    ck_assert_str_eq(shim->text, "");
    (void)rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_COMPILER);
    told(compiled, COUNT(compiled));
    for (int i = 0; i < 100; i++)
        (void)rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_MEMORY);
    ck_assert_str_eq(shim->text, "");
    groat_close(context);
    context = name == NULL ? open_called() : open_named(name);
    (void)rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_DISK);
    told(from_disk, COUNT(from_disk));
    groat_close(context);
    ck_assert_int_eq(fix.warnings, 0);
}

START_TEST(callbacks)
{
    /* Callbacks take precedence over the variable. */
    ck_assert_int_eq(setenv("GROAT_RANGES", "off", 1), 0);
    walk(NULL);
}
END_TEST

START_TEST(nvtx)
{
#ifdef HAVE_NVTX_H
    walk("nvtx");
    ck_assert_int_eq(shim->attach, 1);
    ck_assert_int_eq(setenv("GROAT_RANGES", "nvtx", 1), 0);
    groat_close(open_named(NULL));
    ck_assert_int_eq(fix.warnings, 0);
#else
    groat_close(open_named("nvtx"));
    ck_assert_int_eq(fix.warnings, 1);
    ck_assert_int_eq(rig_said(&fix, "built without nvtx3/nvToolsExt.h"), 1);
    puts("SKIP: nvtx3/nvToolsExt.h is not installed");
#endif
}
END_TEST

START_TEST(nobody)
{
    groat_context *context = open_named("off");

    (void)rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_COMPILER);
    groat_close(context);
    context = open_named(NULL);
    (void)rig_get(&fix, context, "adder:step=4", target, GROAT_FROM_COMPILER);
    groat_close(context);
    ck_assert_str_eq(shim->text, "");
    ck_assert_int_eq(fix.warnings, 0);
}
END_TEST

START_TEST(bundles_are_verified)
{
    char bundle[300], key[300], trust[300], public_key[65];
    const char *const paths[] = {bundle};
    groat_options options = with_callbacks();
    groat_context *context = rig_open(&fix);

    (void)snprintf(bundle, sizeof(bundle), "%s/b", fix.root);
    (void)snprintf(key, sizeof(key), "%s/key", fix.root);
    (void)snprintf(trust, sizeof(trust), "%s/trust", fix.root);
    ck_assert_int_eq(groat_bundle_keygen(key, public_key, NULL), GROAT_OK);
    rig_write(trust, public_key, 0600);
    (void)rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_COMPILER);
    ck_assert_int_eq(
        groat_bundle_export(context, bundle, NULL, 0, key, NULL, &fix.error),
        GROAT_OK);
    ck_assert_int_eq(groat_cache_clear(context, NULL, NULL), GROAT_OK);
    groat_close(context);
    options.bundles = paths;
    options.bundle_count = 1;
    options.trust = trust;
    context = rig_open_with(&fix, &options);
    (void)rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_BUNDLE);
    told(from_bundle, COUNT(from_bundle));
    groat_close(context);
}
END_TEST

/* Ranges end where something fails, too. */
START_TEST(failures_are_balanced)
{
    static const char *const failed[] = {
        "push groat: miss adder",
        "  push groat: read adder",
        "  pop",
        "  push groat: compile adder",
        "  pop",
        "pop",
    };
    groat_context *context;
    groat_kernel *kernel = NULL;

    rig_write_source(&fix, "adder", "adder.h",
                     "#include \"params.h\"\nslip;\n");
    context = open_called();
    ck_fails(
        groat_kernel_get(context, "adder", target, &kernel, NULL, &fix.error),
        GROAT_COMPILE_FAILED, &fix.error, "refused the source");
    told(failed, COUNT(failed));
    groat_close(context);
}
END_TEST

/* Each thread's ranges are nested in its own ranges only. */
typedef struct getter {
    groat_context *context;
    const char *spec;
    groat_status status;
    pthread_t thread;
} getter;

static void *get_one(void *user)
{
    getter *g = user;
    groat_kernel *kernel = NULL;

    g->status =
        groat_kernel_get(g->context, g->spec, target, &kernel, NULL, NULL);
    return NULL;
}

START_TEST(threads_have_their_own)
{
    groat_context *context = open_called();
    getter getters[] = {{.context = context, .spec = "adder:step=1"},
                        {.context = context, .spec = "adder:step=2"}};
    unsigned pushes = 0, pops = 0;

    (void)rig_get(&fix, context, "adder:step=100", target, GROAT_FROM_COMPILER);
    told(compiled, COUNT(compiled));
    for (size_t i = 0; i < COUNT(getters); i++)
        ck_assert_int_eq(
            pthread_create(&getters[i].thread, NULL, get_one, &getters[i]), 0);
    for (size_t i = 0; i < COUNT(getters); i++) {
        ck_assert_int_eq(pthread_join(getters[i].thread, NULL), 0);
        ck_assert_int_eq(getters[i].status, GROAT_OK);
    }
    for (const char *at = shim->text; *at != '\0'; at = strchr(at, '\n') + 1) {
        const char *word = strchr(at, 'p');

        ck_assert_int_eq(strncmp(at, "thread ", 7), 0);
        pushes += strncmp(word, "push groat: ", 12) == 0;
        pops += strncmp(word, "pop\n", 4) == 0;
    }
    ck_assert_uint_eq(pushes, 2 * 5);
    ck_assert_uint_eq(pops, pushes);
    ck_assert_int_eq(shim->below, 0);
    groat_close(context);
}
END_TEST

START_TEST(what_is_refused)
{
    groat_options options = rig_options(&fix);
    groat_context *context = NULL;

    options.ranges = "ranges";
    ck_fails(groat_open(&options, &context, &fix.error), GROAT_INVALID,
             &fix.error, "ranges is 'ranges'; allowed: off, nvtx");
    options = with_callbacks();
    options.range_pop = NULL;
    ck_fails(groat_open(&options, &context, &fix.error), GROAT_INVALID,
             &fix.error, "both given or both NULL");
    ck_assert_int_eq(setenv("GROAT_RANGES", "on", 1), 0);
    groat_close(open_named(NULL));
    ck_assert_int_eq(fix.warnings, 1);
    ck_assert_int_eq(
        rig_said(&fix, "no profiler receives ranges: ranges is 'on'"), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ranges");
    TCase *tests = tcase_create("ranges");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, callbacks);
    tcase_add_test(tests, nvtx);
    tcase_add_test(tests, nobody);
    tcase_add_test(tests, what_is_refused);
    tcase_add_test(tests, bundles_are_verified);
    tcase_add_test(tests, failures_are_balanced);
    tcase_add_test(tests, threads_have_their_own);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
