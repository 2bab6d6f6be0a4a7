/* SPDX-License-Identifier: Apache-2.0
 *
 * test_layers.c: the path of a get through memory, store, bundles and images,
 * and that a failure of any of them cannot make the get fail.
 */
#include "rig.h"

static rig fix;
static char bundle_path[300];
static char trust_path[300];
static char key_path[300];

static void in_root(char out[300], const char *name)
{
    (void)snprintf(out, 300, "%s/%s", fix.root, name);
}

/* Makes a signed bundle with the adder of step 3, then empties the store. */
static void make_bundle(const char *path, const char *key)
{
    groat_context *context = rig_open(&fix);
    uint64_t written = 0;

    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    ck_assert_msg(groat_bundle_export(context, path, NULL, 0, key, &written,
                                      &fix.error) == GROAT_OK,
                  "%s", fix.error.text);
    ck_assert_uint_eq(written, 1);
    ck_assert_int_eq(groat_cache_clear(context, NULL, NULL), GROAT_OK);
    groat_close(context);
}

static void setup(void)
{
    char public_key[65];

    rig_make(&fix);
    rig_write_adder(&fix);
    in_root(bundle_path, "b");
    in_root(trust_path, "trust");
    in_root(key_path, "key");
    ck_assert_int_eq(groat_bundle_keygen(key_path, public_key, &fix.error),
                     GROAT_OK);
    rig_write(trust_path, public_key, 0600);
    make_bundle(bundle_path, key_path);
}

static void teardown(void)
{
    rig_drop(&fix);
}

/* Options that use one bundle. */
static groat_options with_bundle(const char *const *path)
{
    groat_options options = rig_options(&fix);

    options.bundles = path;
    options.bundle_count = 1;
    options.trust = trust_path;
    return options;
}

static groat_bundle_info info_of(groat_context *context, size_t index)
{
    groat_bundle_info info = {.size = sizeof(info)};

    ck_assert_msg(groat_bundle_at(context, index, &info, &fix.error) ==
                      GROAT_OK,
                  "%s", fix.error.text);
    return info;
}

/* Memory, store, bundle, compiler: each is asked only for kernels that the
 * layers before it lack, and kernels of a bundle are not copied. */
START_TEST(the_order_of_layers)
{
    const char *const paths[] = {bundle_path};
    groat_options options = with_bundle(paths);
    groat_context *context = rig_open_with(&fix, &options);
    groat_cache_stat stat;
    groat_bundle_info info;

    rig_kernel(&fix, context, 3, GROAT_FROM_BUNDLE);
    rig_kernel(&fix, context, 3, GROAT_FROM_MEMORY);
    rig_kernel(&fix, context, 4, GROAT_FROM_COMPILER);
    stat = rig_stat(context);
    ck_assert_uint_eq(stat.memory_hits, 1);
    ck_assert_uint_eq(stat.hits, 0);
    ck_assert_uint_eq(stat.bundle_hits, 1);
    ck_assert_uint_eq(stat.bundle_misses, 1);
    ck_assert_uint_eq(stat.bundle_faults, 0);
    ck_assert_uint_eq(stat.compiles, 1);
    ck_assert_uint_eq(stat.entries, 1);
    info = info_of(context, 0);
    ck_assert_str_eq(info.path, bundle_path);
    ck_assert_ptr_null(info.problem);
    ck_assert_int_eq(info.trusted, 1);
    ck_assert_uint_eq(info.entries, 1);
    ck_assert_uint_eq(info.hits, 1);
    ck_assert_uint_eq(info.misses, 1);
    ck_fails(groat_bundle_at(context, 1, &info, &fix.error), GROAT_INVALID,
             &fix.error, "the context has 1");
    groat_close(context);
    context = rig_open_with(&fix, &options);
    rig_kernel(&fix, context, 4, GROAT_FROM_DISK);
    ck_assert_uint_eq(rig_stat(context).bundle_misses, 0);
    groat_close(context);
    ck_assert_int_eq(fix.warnings, 0);
}
END_TEST

static void skip(void *user, const char *field, const char *wanted,
                 const char *found)
{
    (void)user;
    (void)field;
    (void)wanted;
    (void)found;
}

/* groat_explain() uses nothing and counts nothing. */
START_TEST(asking_counts_nothing)
{
    const char *const paths[] = {bundle_path};
    groat_options options = with_bundle(paths);
    groat_context *context = rig_open_with(&fix, &options);
    groat_spec *spec = rig_parse(&fix, context, "adder:step=3", rig_targets[0]);
    groat_explanation why = {.size = sizeof(why)};
    groat_origin origin = GROAT_FROM_FALLBACK;
    groat_kernel *kernel = NULL;
    groat_cache_stat stat;
    groat_bundle_info info;

    for (int missing = 0; missing < 2; missing++) {
        groat_origin expected =
            missing ? GROAT_FROM_COMPILER : GROAT_FROM_BUNDLE;

        ck_assert_int_eq(groat_explain(spec, &why, skip, NULL, &fix.error),
                         GROAT_OK);
        ck_assert_int_eq(why.origin, expected);
        ck_assert_int_eq(rig_origin(&fix, spec), expected);
        ck_assert_int_eq(groat_spec_set(spec, "step", 4, &fix.error), GROAT_OK);
    }
    stat = rig_stat(context);
    ck_assert_uint_eq(stat.misses + stat.hits, 0);
    ck_assert_uint_eq(stat.bundle_hits + stat.bundle_misses, 0);
    info = info_of(context, 0);
    ck_assert_uint_eq(info.hits + info.misses, 0);
    ck_assert_int_eq(groat_build(spec, NULL, NULL, NULL, &fix.error), GROAT_OK);
    ck_assert_int_eq(rig_origin(&fix, spec), GROAT_FROM_DISK);
    ck_assert_int_eq(
        groat_kernel_get_spec(spec, NULL, &kernel, &origin, &fix.error),
        GROAT_OK);
    ck_assert_int_eq(origin, GROAT_FROM_DISK);
    ck_assert_int_eq(rig_origin(&fix, spec), GROAT_FROM_MEMORY);
    groat_spec_free(spec);
    groat_close(context);
}
END_TEST

/* A bundle also works without a store. */
START_TEST(a_bundle_without_a_store)
{
    const char *const paths[] = {bundle_path};
    groat_options options = with_bundle(paths);
    groat_context *context;

    options.flags = GROAT_OPEN_NO_DISK;
    context = rig_open_with(&fix, &options);
    rig_kernel(&fix, context, 3, GROAT_FROM_BUNDLE);
    groat_close(context);
}
END_TEST

/* Each problem is logged once, stays in the list, and fails nothing. */
START_TEST(what_is_refused)
{
    char plain[300], none[300], text[300];
    const char *const paths[] = {none, text, plain, fix.store, bundle_path};
    static const char *const problems[] = {"No such file", "cannot read",
                                           "is not signed", "is a store"};
    groat_options options = with_bundle(paths);
    groat_context *context;

    in_root(plain, "plain");
    in_root(none, "none");
    in_root(text, "text");
    rig_write(text, "plain text", 0600);
    make_bundle(plain, NULL);
    options.bundle_count = COUNT(paths);
    context = rig_open_with(&fix, &options);
    for (size_t i = 0; i < COUNT(problems); i++) {
        groat_bundle_info info = info_of(context, i);

        ck_assert_str_eq(info.path, paths[i]);
        ck_assert_ptr_nonnull(info.problem);
        ck_assert_msg(strstr(info.problem, problems[i]) != NULL, "%s",
                      info.problem);
        ck_assert_int_eq(info.trusted, 0);
        ck_assert_int_eq(rig_said(&fix, info.problem), 1);
    }
    ck_assert_int_eq(fix.warnings, COUNT(problems));
    rig_kernel(&fix, context, 3, GROAT_FROM_BUNDLE);
    groat_close(context);
    options.bundle_count = 3;
    context = rig_open_with(&fix, &options);
    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    ck_assert_int_eq(groat_cache_clear(context, NULL, NULL), GROAT_OK);
    groat_close(context);
    options.allow_unsigned = 1;
    context = rig_open_with(&fix, &options);
    rig_kernel(&fix, context, 3, GROAT_FROM_BUNDLE);
    ck_assert_int_eq(info_of(context, 2).trusted, 0);
    groat_close(context);
}
END_TEST

/* Without keys, or with a list that cannot be read, no signer is trusted. */
START_TEST(whom_to_trust)
{
    const char *const paths[] = {bundle_path};
    groat_options options = with_bundle(paths);
    groat_context *context;
    uint64_t imported = 0;

    options.trust = NULL;
    context = rig_open_with(&fix, &options);
    ck_assert_ptr_nonnull(
        strstr(info_of(context, 0).problem, "no key is trusted"));
    ck_fails(groat_bundle_import(context, bundle_path, &imported, &fix.error),
             GROAT_IO, &fix.error, "and no key is trusted");
    groat_close(context);
    rig_write(trust_path, "not a key", 0600);
    options.trust = trust_path;
    context = rig_open_with(&fix, &options);
    ck_assert_int_eq(rig_said(&fix, "no bundle is trusted: "), 1);
    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    groat_close(context);
}
END_TEST

/* A user who may write the list could add a key to it. */
START_TEST(whose_list)
{
    const char *const paths[] = {bundle_path};
    groat_options options = with_bundle(paths);
    groat_context *context;

    ck_assert_int_eq(chmod(trust_path, 0664), 0);
    context = rig_open_with(&fix, &options);
    ck_assert_int_eq(rig_said(&fix, "has mode 0664: others may write it"), 1);
    ck_assert_int_eq(info_of(context, 0).trusted, 0);
    groat_close(context);
    if (geteuid() != 0)
        return;
    ck_assert_int_eq(chmod(trust_path, 0600), 0);
    ck_assert_int_eq(chown(trust_path, 65534, 65534), 0);
    context = rig_open_with(&fix, &options);
    ck_assert_int_eq(rig_said(&fix, "belongs to user 65534"), 1);
    groat_close(context);
}
END_TEST

START_TEST(lists_with_nothing_in_them)
{
    const char *const paths[] = {bundle_path, NULL};
    groat_options options = with_bundle(paths);
    const groat_bundle_image nothing = {"nothing", NULL, 10};
    groat_context *context = NULL;

    options.bundle_count = 2;
    ck_fails(groat_open(&options, &context, &fix.error), GROAT_INVALID,
             &fix.error, "options.bundles[1] is NULL");
    options = rig_options(&fix);
    options.image_count = 1;
    ck_fails(groat_open(&options, &context, &fix.error), GROAT_INVALID,
             &fix.error, "options.images is NULL");
    options.images = &nothing;
    ck_fails(groat_open(&options, &context, &fix.error), GROAT_INVALID,
             &fix.error, "options.images[0].data is NULL");
    ck_fails(groat_bundle_verify(NULL, NULL, NULL, &fix.error), GROAT_INVALID,
             &fix.error, "the path of a bundle is NULL");
}
END_TEST

START_TEST(the_environment)
{
    groat_options options = rig_options(&fix);
    groat_context *context;
    char names[700];

    (void)snprintf(names, sizeof(names), ":%s/none::%s:", fix.root,
                   bundle_path);
    ck_assert_int_eq(setenv("GROAT_BUNDLES", names, 1), 0);
    ck_assert_int_eq(setenv("GROAT_TRUST", trust_path, 1), 0);
    context = rig_open_with(&fix, &options);
    ck_assert_int_eq(fix.warnings, 1);
    rig_kernel(&fix, context, 3, GROAT_FROM_BUNDLE);
    groat_close(context);
    options.flags = GROAT_OPEN_NO_DISK;
    context = rig_open_with(&fix, &options);
    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    groat_close(context);
    (void)unsetenv("GROAT_BUNDLES");
    (void)unsetenv("GROAT_TRUST");
}
END_TEST

/* A bundle in the program's own memory is trusted without a key. */
START_TEST(an_image)
{
    groat_options options = rig_options(&fix);
    groat_bundle_image images[] = {{"mine", NULL, 0}, {NULL, "text", 4}};
    groat_context *context;
    char *data = NULL;

    ck_assert_int_eq(groat__fs_read(bundle_path, (size_t)1 << 24, &data,
                                    &images[0].bytes, &fix.error),
                     GROAT_OK);
    images[0].data = data;
    options.images = images;
    options.image_count = COUNT(images);
    context = rig_open_with(&fix, &options);
    rig_kernel(&fix, context, 3, GROAT_FROM_BUNDLE);
    ck_assert_str_eq(info_of(context, 0).path, "mine");
    ck_assert_uint_eq(info_of(context, 0).hits, 1);
    ck_assert_ptr_nonnull(info_of(context, 1).problem);
    ck_assert_int_eq(fix.warnings, 1);
    groat_close(context);
    free(data);
}
END_TEST

/* A binary that cannot be loaded is compiled again, into the store: the next
 * process finds that one first. */
START_TEST(a_binary_that_is_refused)
{
    const char *const paths[] = {bundle_path};
    groat_options options = with_bundle(paths);
    groat_context *context;

    rig_plant(&fix, "adder:step=3", "not a library at all", 20);
    context = rig_open(&fix);
    ck_assert_int_eq(groat_bundle_export(context, bundle_path, NULL, 0,
                                         key_path, NULL, &fix.error),
                     GROAT_OK);
    ck_assert_int_eq(groat_cache_clear(context, NULL, NULL), GROAT_OK);
    groat_close(context);
    context = rig_open_with(&fix, &options);
    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    ck_assert_uint_eq(rig_stat(context).bundle_hits, 1);
    ck_assert_uint_eq(rig_stat(context).bundle_faults, 1);
    ck_assert_int_eq(rig_said(&fix, "refused the stored binary"), 1);
    groat_close(context);
    context = rig_open_with(&fix, &options);
    rig_kernel(&fix, context, 3, GROAT_FROM_DISK);
    groat_close(context);
}
END_TEST

/* Threads of a context use one bundle at the same time. */
static void *get_and_add(void *user)
{
    groat_kernel *kernel = NULL;
    groat_spec *spec = NULL;
    groat_context *context = user;
    void *binary = NULL;
    size_t bytes = 0;
    bool right = groat_kernel_get(context, "adder:step=3", rig_targets[0],
                                  &kernel, NULL, NULL) == GROAT_OK &&
                 groat_spec_parse(context, "adder:step=3", rig_targets[0],
                                  &spec, NULL) == GROAT_OK &&
                 groat_build(spec, &binary, &bytes, NULL, NULL) == GROAT_OK;

    groat_free(binary);
    groat_spec_free(spec);
    return right ? user : NULL;
}

START_TEST(many_threads)
{
    enum { THREADS = 8 };
    const char *const paths[] = {bundle_path};
    groat_options options = with_bundle(paths);
    groat_context *context = rig_open_with(&fix, &options);
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, get_and_add, context), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;

        ck_assert_int_eq(pthread_join(threads[i], &result), 0);
        ck_assert_ptr_nonnull(result);
    }
    ck_assert_uint_eq(rig_stat(context).compiles, 0);
    ck_assert_uint_ge(rig_stat(context).bundle_hits, 1);
    groat_close(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("layers");
    TCase *tests = tcase_create("layers");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, the_order_of_layers);
    tcase_add_test(tests, asking_counts_nothing);
    tcase_add_test(tests, a_bundle_without_a_store);
    tcase_add_test(tests, what_is_refused);
    tcase_add_test(tests, whom_to_trust);
    tcase_add_test(tests, whose_list);
    tcase_add_test(tests, lists_with_nothing_in_them);
    tcase_add_test(tests, the_environment);
    tcase_add_test(tests, an_image);
    tcase_add_test(tests, a_binary_that_is_refused);
    tcase_add_test(tests, many_threads);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
