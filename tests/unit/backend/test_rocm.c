/* SPDX-License-Identifier: Apache-2.0
 *
 * test_rocm.c: where and in which order ROCm's libraries are looked for, and
 * how a version is told.  Copies of a stand-in library lie in folders of the
 * test, under names that no loader knows.
 */
#include "../suite.h"

#include <sys/stat.h>

#include "backend/rocm.h"
#include "backend/shared.h"
#include "base/fs.h"

#define NEW_NAME "libgroat_rocm_test.so.7"
#define OLD_NAME "libgroat_rocm_test.so.6.1.2"

static const char *const files[] = {NEW_NAME, OLD_NAME, NULL};

/* A folder whose name has characters that are special in a pattern. */
typedef struct place {
    char root[64];
} place;

static place make_place(void)
{
    place at = {"/tmp/groat[a-z]*XXXXXX"};

    ck_assert_ptr_nonnull(mkdtemp(at.root));
    return at;
}

static void put(const place *at, const char *dir, const char *file)
{
    char path[256];
    char *data = NULL;
    size_t bytes = 0;

    (void)snprintf(path, sizeof(path), "%s%s", at->root, dir);
    ck_assert_int_eq(groat__fs_make_private_dir(path, NULL), GROAT_OK);
    ck_assert_int_eq(groat__fs_read(getenv("GROAT_TEST_COMGR_SHIM"),
                                    (size_t)1 << 24, &data, &bytes, NULL),
                     GROAT_OK);
    (void)snprintf(path, sizeof(path), "%s%s/%s", at->root, dir, file);
    ck_assert_int_eq(groat__fs_write(path, data, bytes, 0600, NULL), GROAT_OK);
    free(data);
}

static void drop(const place *at)
{
    static const char *const dirs[] = {
        "/lib/python3.11/site-packages/_rocm_sdk_core/lib",
        "/.local/lib/python3.12/site-packages/torch/lib", "/lib"};
    char path[256];

    for (size_t d = 0; d < COUNT(dirs); d++) {
        for (size_t f = 0; files[f] != NULL; f++) {
            (void)snprintf(path, sizeof(path), "%s%s/%s", at->root, dirs[d],
                           files[f]);
            (void)unlink(path);
        }
        for (char *end = path + strlen(path);
             (end = strrchr(path, '/')) > path + strlen(at->root);) {
            *end = '\0';
            (void)rmdir(path);
        }
    }
    ck_assert_int_eq(rmdir(at->root), 0);
}

/* Opens the test's library; its path below at goes to `found`. */
static groat_status look(const groat__env *env, const place *at, char *found,
                         size_t found_bytes)
{
    const groat__rocm_library library = {NULL, "GROAT_TEST", files};
    groat__dl dl;
    groat_status status = groat__rocm_open(env, &library, &dl, NULL);

    found[0] = '\0';
    if (status == GROAT_OK) {
        ck_assert_int_eq(strncmp(dl.path, at->root, strlen(at->root)), 0);
        (void)snprintf(found, found_bytes, "%s", dl.path + strlen(at->root));
    }
    groat__dl_close(&dl);
    return status;
}

START_TEST(places_of_the_environment)
{
    static const char *const dirs[] = {
        "/lib", "/lib/python3.11/site-packages/_rocm_sdk_core/lib",
        "/.local/lib/python3.12/site-packages/torch/lib", "/lib"};
    place at = make_place();
    groat__env env = {0};
    char expected[256];
    char found[256];

    put(&at, dirs[_i], NEW_NAME);
    ck_assert_int_eq(look(&env, &at, found, sizeof(found)), GROAT_NO_DEVICE);
    env.rocm_path = _i == 0 ? at.root : NULL;
    env.virtual_env = _i == 1 ? at.root : NULL;
    env.home = _i == 2 ? at.root : NULL;
    env.conda_prefix = _i == 3 ? at.root : NULL;
    ck_assert_int_eq(look(&env, &at, found, sizeof(found)), GROAT_OK);
    (void)snprintf(expected, sizeof(expected), "%s/" NEW_NAME, dirs[_i]);
    ck_assert_str_eq(found, expected);
    drop(&at);
}
END_TEST

START_TEST(rocm_path_and_newer_files_come_first)
{
    place at = make_place();
    groat__env env = {0};
    char found[256];

    put(&at, "/lib", OLD_NAME);
    put(&at, "/lib/python3.11/site-packages/_rocm_sdk_core/lib", NEW_NAME);
    env.rocm_path = env.virtual_env = at.root;
    ck_assert_int_eq(look(&env, &at, found, sizeof(found)), GROAT_OK);
    ck_assert_str_eq(found, "/lib/" OLD_NAME);
    put(&at, "/lib", NEW_NAME);
    ck_assert_int_eq(look(&env, &at, found, sizeof(found)), GROAT_OK);
    ck_assert_str_eq(found, "/lib/" NEW_NAME);
    drop(&at);
}
END_TEST

START_TEST(failure_tells_what_was_tried)
{
    const groat__rocm_library library = {NULL, "GROAT_TEST", files};
    groat_error error = GROAT_ERROR_INIT;
    groat__env env = {.rocm_path = "/dev/null/none/rocm"};
    groat__dl dl;

    ck_assert_int_eq(groat__rocm_open(&env, &library, &dl, &error),
                     GROAT_NO_DEVICE);
    ck_assert_ptr_nonnull(
        strstr(dl.story.data, "/dev/null/none/rocm/lib/" NEW_NAME));
    ck_assert_ptr_nonnull(strstr(dl.story.data, "/opt/rocm/lib/" OLD_NAME));
    ck_assert_ptr_nonnull(strstr(error.text, NEW_NAME));
    ck_assert_ptr_eq(groat__library_problem(&dl, &error), dl.story.data);
    groat__dl_close(&dl);
    groat_error_clear(&error);
}
END_TEST

START_TEST(versions)
{
    static const struct {
        const char *path;
        int packed;
        const char *version;
    } cases[] = {
        {"/x/libhiprtc.so.7.2.53211", 0, "7.2.53211"},
        {"/x/libamdhip64.so.5", 50221153, "5.2.21153"},
        {"/x/libamdhip64.so", 70253211, "7.2.53211"},
        {"libhiprtc.so.7", 0, "7"},
        {"/x.so.9/libhiprtc.so", 0, "unknown"},
        {"/x/libhiprtc.so.old", 0, "unknown"},
        {"/x/libhiprtc.so.6.4.3", 7, "6.4.3"},
    };
    char path[64];
    char version[48];
    groat__dl dl = {0};

    (void)snprintf(path, sizeof(path), "%s", cases[_i].path);
    dl.path = path;
    groat__rocm_version(&dl, cases[_i].packed, version, sizeof(version));
    ck_assert_str_eq(version, cases[_i].version);
}
END_TEST

START_TEST(loaded_and_needed)
{
    const groat__rocm_library library = {getenv("GROAT_TEST_HIP_SHIM"),
                                         "GROAT_TEST", files};
    groat__env env = {0};
    groat__dl dl;
    const char *needed;

    ck_assert(groat__rocm_loaded("libc.so.6"));
    ck_assert(!groat__rocm_loaded(NEW_NAME));
    ck_assert_int_eq(groat__rocm_open(&env, &library, &dl, NULL), GROAT_OK);
    needed = groat__rocm_needed(&dl, "libc.so");
    ck_assert_ptr_nonnull(needed);
    ck_assert_str_eq(needed, "libc.so.6");
    ck_assert_ptr_null(groat__rocm_needed(&dl, "libLLVM"));
    groat__dl_close(&dl);
    ck_assert_ptr_null(groat__rocm_needed(&dl, "libc.so"));
}
END_TEST

static Suite *rocm_suite(void)
{
    Suite *suite = suite_create("rocm");
    TCase *tcase = tcase_create("rocm");

    tcase_add_loop_test(tcase, places_of_the_environment, 0, 4);
    tcase_add_test(tcase, rocm_path_and_newer_files_come_first);
    tcase_add_test(tcase, failure_tells_what_was_tried);
    tcase_add_loop_test(tcase, versions, 0, 7);
    tcase_add_test(tcase, loaded_and_needed);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    if (getenv("GROAT_TEST_COMGR_SHIM") == NULL) {
        printf("SKIP: GROAT_TEST_COMGR_SHIM names no stand-in; "
               "make check sets it\n");
        return 77;
    }
    return run_suite(rocm_suite());
}
