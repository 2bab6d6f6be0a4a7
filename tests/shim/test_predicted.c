/* SPDX-License-Identifier: Apache-2.0
 *
 * test_predicted.c: binaries that NVRTC made before are found without opening
 * NVRTC, as long as the library that would be opened is of the build that made
 * them.  On stand-ins for NVRTC and the CUDA driver.
 */
#include "core/core.h"
#include "tests/shim/plain_rig.h"

#include <sqlite3.h>

#include "base/fs.h"
#include "base/loader.h"

static rig fix;
static const char target[] = "cuda:sm_90a";
static char *folder;

static void setup(void)
{
    rig_make(&fix);
    plain_write(&fix);
    (void)plain_shims();
    folder = shim_folder_make();
}

static void teardown(void)
{
    shim_folder_remove(folder);
    rig_drop(&fix);
}

static bool is_opened(const groat_context *context)
{
    return context->machines[GROAT__CUDA].compiler.state != NULL;
}

/* Gets a kernel, and checks whether the compiler was opened for it. */
static void ck_get(groat_context *context, unsigned step, groat_origin origin,
                   bool opened)
{
    char spec[32];

    (void)snprintf(spec, sizeof(spec), "plain:step=%u", step);
    groat_kernel_release(rig_get(&fix, context, spec, target, origin));
    ck_assert_int_eq(is_opened(context), opened);
}

static void make(unsigned step)
{
    groat_context *context = rig_open(&fix);

    ck_get(context, step, GROAT_FROM_COMPILER, true);
    groat_close(context);
}

/* Lets contexts that are opened from now on find a copy of the stand-in, of
 * another build if `other`. */
static void use_copy(bool other)
{
    char *path = shim_copy(shim_path("GROAT_TEST_NVRTC_SHIM"), folder,
                           other ? "other.so" : "same.so", NULL);
    char id[65];
    char *data = NULL;
    size_t bytes = 0;
    void *handle;

    ck_assert(groat__loader_build_id(path, id, sizeof(id)));
    ck_assert_int_eq(groat__fs_read(path, 16 << 20, &data, &bytes, &fix.error),
                     GROAT_OK);
    if (other) {
        unsigned char first = 0;
        char *note = memmem(data, bytes, "\3\0\0\0GNU", 8);

        ck_assert_ptr_nonnull(note);
        ck_assert_int_eq(sscanf(id, "%2hhx", &first), 1);
        ck_assert_int_eq((unsigned char)note[8], first);
        note[8] = (char)(first ^ 1);
    }
    ck_assert_int_eq(groat__fs_write(path, data, bytes, 0700, &fix.error),
                     GROAT_OK);
    free(data);
    plain_new_nvrtc(shim_control(path, "shim_nvrtc", &handle));
    ck_assert_int_eq(setenv("GROAT_NVRTC", path, 1), 0);
    free(path);
}

START_TEST(a_hit_opens_no_compiler)
{
    groat_context *context;
    groat_kernel_info info = {.size = sizeof(info)};
    groat_kernel *kernel;
    groat_spec *spec;
    char *text = NULL;
    char key[33];

    make(1);
    use_copy(false);
    context = rig_open(&fix);
    kernel = rig_get(&fix, context, "plain:step=1", target, GROAT_FROM_DISK);
    ck_assert(!is_opened(context));
    ck_assert_int_eq(groat_kernel_info_get(kernel, &info, NULL), GROAT_OK);
    ck_assert_int_eq(strncmp(info.maker, "nvrtc 13.0 build ", 17), 0);
    ck_assert_int_eq(
        groat_metrics(context, GROAT_METRICS_PROMETHEUS, &text, NULL),
        GROAT_OK);
    ck_assert_ptr_nonnull(strstr(text, "groat_compilerless_total 0\n"));
    groat_free(text);
    /* A miss opens it: the key is that of the library that was there. */
    ck_get(context, 2, GROAT_FROM_COMPILER, true);
    spec = rig_parse(&fix, context, "plain:step=1", target);
    ck_assert_int_eq(groat_spec_key(spec, key, NULL, NULL), GROAT_OK);
    ck_assert_str_eq(key, info.key);
    groat_spec_free(spec);
    groat_kernel_release(kernel);
    groat_close(context);
}
END_TEST

START_TEST(another_build_is_opened)
{
    groat_context *context;

    make(1);
    use_copy(true);
    context = rig_open(&fix);
    ck_get(context, 1, GROAT_FROM_COMPILER, true);
    groat_close(context);
    context = rig_open(&fix);
    ck_get(context, 1, GROAT_FROM_DISK, false);
    ck_assert_uint_eq(rig_stat(context).entries, 2);
    groat_close(context);
}
END_TEST

/* Options as another groat passes them. */
START_TEST(other_options_are_not_taken)
{
    groat_context *context;
    sqlite3 *db = NULL;

    make(1);
    ck_assert_int_eq(sqlite3_open(fix.store, &db), SQLITE_OK);
    ck_assert_int_eq(
        sqlite3_exec(db,
                     "UPDATE entry SET identity = "
                     "replace(identity, 'option --std', 'option --sdt')",
                     NULL, NULL, NULL),
        SQLITE_OK);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    context = rig_open(&fix);
    ck_get(context, 1, GROAT_FROM_COMPILER, true);
    groat_close(context);
}
END_TEST

/* An entry is damaged after it was found, and the compiler was replaced: the
 * first get reports that, the next one compiles. */
START_TEST(a_lost_entry_of_a_replaced_compiler)
{
    groat_context *context;
    groat_kernel *kernel = NULL;
    sqlite3 *db = NULL;

    make(1);
    make(2);
    context = rig_open(&fix);
    ck_get(context, 2, GROAT_FROM_DISK, false);
    ck_assert_int_eq(sqlite3_open(fix.store, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "UPDATE entry SET binary = zeroblob(64)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    use_copy(true);
    context->env.nvrtc = getenv("GROAT_NVRTC");
    ck_fails(groat_kernel_get(context, "plain:step=1", target, &kernel, NULL,
                              &fix.error),
             GROAT_COMPILE_FAILED, &fix.error, "made by another compiler");
    ck_get(context, 1, GROAT_FROM_COMPILER, true);
    groat_close(context);
}
END_TEST

/* Lets contexts that are opened from now on send to a folder, and take what it
 * has. */
static void use_remote(void)
{
    char text[300];
    char public_key[65];

    (void)snprintf(text, sizeof(text), "%s/key", fix.root);
    ck_assert_int_eq(groat_bundle_keygen(text, public_key, NULL), GROAT_OK);
    ck_assert_int_eq(setenv("GROAT_REMOTE_KEY", text, 1), 0);
    (void)snprintf(text, sizeof(text), "%s/trust", fix.root);
    rig_write(text, public_key, 0600);
    ck_assert_int_eq(setenv("GROAT_TRUST", text, 1), 0);
    (void)snprintf(text, sizeof(text), "%s/objects", fix.root);
    ck_assert_int_eq(mkdir(text, 0700), 0);
    (void)snprintf(text, sizeof(text), "file://%s/objects", fix.root);
    ck_assert_int_eq(setenv("GROAT_REMOTE", text, 1), 0);
}

static void name_of(groat_context *context, unsigned step, char out[128])
{
    groat_remote_names names = {.size = sizeof(names)};
    groat_spec *spec;
    char text[32];

    (void)snprintf(text, sizeof(text), "plain:step=%u", step);
    spec = rig_parse(&fix, context, text, target);
    ck_assert_int_eq(groat_remote_names_get(spec, &names, NULL), GROAT_OK);
    (void)snprintf(out, 128, "%s", names.name);
    groat_spec_free(spec);
}

/* A new host is warmed with what another host's compiler of the same build has
 * made: of the first kernel it learns what the compiler is called, and the
 * compiler stays closed. */
START_TEST(a_remote_tells_of_the_build)
{
    groat_warm_item items[3];
    char specs[3][32];
    groat_warm_result result = {.size = sizeof(result)};
    groat_context *context;
    char learnt[128];
    char told[128];

    use_remote();
    for (unsigned i = 0; i < 3; i++) {
        (void)snprintf(specs[i], sizeof(specs[i]), "plain:step=%u", i + 1);
        items[i] = (groat_warm_item){sizeof(items[i]), specs[i], target};
        make(i + 1);
    }
    ck_assert_int_eq(unlink(fix.store), 0);
    context = rig_open(&fix);
    name_of(context, 4, told); /* which no host has made */
    ck_assert(is_opened(context));
    groat_close(context);
    use_copy(false);
    context = rig_open(&fix);
    ck_assert_int_eq(
        groat_warm(context, items, 3, 0, NULL, NULL, &result, &fix.error),
        GROAT_OK);
    ck_assert_uint_eq(result.from_disk, 3);
    name_of(context, 4, learnt);
    ck_assert_str_eq(learnt, told);
    ck_assert(!is_opened(context));
    groat_close(context);
    /* What another build has made tells nothing. */
    ck_assert_int_eq(unlink(fix.store), 0);
    use_copy(true);
    context = rig_open(&fix);
    name_of(context, 1, learnt);
    ck_assert(is_opened(context));
    name_of(context, 4, learnt);
    ck_assert_str_ne(learnt, told);
    ck_assert_uint_eq(rig_stat(context).entries, 0);
    groat_close(context);
}
END_TEST

/* A remote that cannot be reached is asked once for all kernels of a list. */
START_TEST(a_dead_remote_is_asked_once)
{
    groat_warm_item items[3];
    groat_remote_info info = {.size = sizeof(info)};
    groat_context *context;
    char specs[3][32];

    use_remote();
    ck_assert_int_eq(setenv("GROAT_REMOTE", "http://localhost:1/x", 1), 0);
    for (unsigned i = 0; i < 3; i++) {
        (void)snprintf(specs[i], sizeof(specs[i]), "plain:step=%u", i + 1);
        items[i] = (groat_warm_item){sizeof(items[i]), specs[i], target};
    }
    context = rig_open(&fix);
    ck_assert_int_eq(groat_warm(context, items, 3, 0, NULL, NULL, NULL, NULL),
                     GROAT_OK);
    ck_assert_int_eq(groat_remote_stat(context, &info, NULL), GROAT_OK);
    ck_assert_uint_le(info.errors, 1); /* 0: there is no libcurl */
    groat_close(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("predicted");
    TCase *tests = tcase_create("predicted");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_hit_opens_no_compiler);
    tcase_add_test(tests, another_build_is_opened);
    tcase_add_test(tests, other_options_are_not_taken);
    tcase_add_test(tests, a_lost_entry_of_a_replaced_compiler);
    tcase_add_test(tests, a_remote_tells_of_the_build);
    tcase_add_test(tests, a_dead_remote_is_asked_once);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
