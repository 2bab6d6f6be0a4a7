/* SPDX-License-Identifier: Apache-2.0
 *
 * test_place.c: where a store is kept when its folder is on a network file
 * system, and what is known of files when descriptors are short.  This program
 * replaces statfs and decides what it reports.
 */
#include "fixture.h"

#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/vfs.h>

static fixture fix;

/* Folders that appear to be on NFS; "": none. */
static struct {
    char one[300];
    char other[300];
} networks;

int statfs(const char *path, struct statfs *out)
{
    int (*next)(const char *, struct statfs *);
    void *symbol = dlsym(RTLD_NEXT, "statfs");
    int rc;

    memcpy(&next, &symbol, sizeof(next));
    rc = next(path, out);
    if (rc == 0 &&
        (strcmp(path, networks.one) == 0 || strcmp(path, networks.other) == 0))
        out->f_type = 0x6969;
    return rc;
}

static char local[300];

static void setup(void)
{
    fixture_make(&fix);
    memset(&networks, 0, sizeof(networks));
    (void)snprintf(networks.one, sizeof(networks.one), "%s", fix.dir);
    (void)snprintf(local, sizeof(local), "%s/local", fix.root);
}

static void teardown(void)
{
    fixture_drop(&fix);
}

static groat__store *open_local(const char *dir)
{
    const groat__store_options options = {
        fix.dir, 4 * MIB, {fixture_log, &fix}, dir, false};
    groat__store *store = NULL;

    ck_assert_int_eq(groat__store_open(&options, &store, &fix.error), GROAT_OK);
    return store;
}

static bool is_in(const groat__store *store, const char *dir)
{
    const char *path = groat__store_path(store);

    return strncmp(path, dir, strlen(dir)) == 0 && path[strlen(dir)] == '/';
}

START_TEST(store_leaves_the_network)
{
    groat__store *store = open_local(local);
    struct stat st;

    ck_assert(is_in(store, local));
    ck_assert_int_eq(stat(local, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0700);
    ck_assert_int_eq(fixture_said(&fix, "of this host alone"), 1);
    ck_assert_int_eq(fixture_said(&fix, fix.dir), 1);
    ck_assert_int_eq(fixture_said(&fix, "file system nfs,"), 1);
    kernel_put(store, 1, 500);
    groat__store_close(store);
    ck_assert_int_ne(access(fix.path, F_OK), 0);
    store = open_local(local);
    ck_hit(store, 1);
    groat__store_close(store);
}
END_TEST

START_TEST(store_of_a_local_disk_stays)
{
    groat__store *store;

    networks.one[0] = '\0';
    store = open_local(local);
    ck_assert(is_in(store, fix.dir));
    ck_assert_int_eq(fixture_said(&fix, ""), 0);
    ck_assert_int_ne(access(local, F_OK), 0);
    groat__store_close(store);
}
END_TEST

/* Without a usable folder on the host the store stays, with a warning. */
START_TEST(store_stays_with_a_warning)
{
    groat__store *store;

    switch (_i) {
    case 0: /* no local folder */
        store = open_local(NULL);
        break;
    case 1: /* a local folder on the network as well */
        (void)snprintf(networks.other, sizeof(networks.other), "%s", local);
        store = open_local(local);
        break;
    case 2: /* a local folder that others may write */
        ck_assert_int_eq(mkdir(local, 0700), 0);
        ck_assert_int_eq(chmod(local, 0777), 0);
        store = open_local(local);
        ck_assert_int_eq(fixture_said(&fix, "others may write it"), 1);
        break;
    case 3: /* a link that leads nowhere */
        ck_assert_int_eq(symlink("nowhere", local), 0);
        store = open_local(local);
        ck_assert_int_eq(fixture_said(&fix, "is a link to no folder"), 1);
        break;
    default: /* a file in its place */
        file_write(local, "", 0);
        store = open_local(local);
        ck_assert_int_eq(fixture_said(&fix, "is not a folder"), 1);
        break;
    }
    ck_assert(is_in(store, fix.dir));
    ck_assert_int_eq(fixture_said(&fix, "set GROAT_CACHE_DIR"), 1);
    kernel_put(store, 1, 500);
    ck_hit(store, 1);
    groat__store_close(store);
}
END_TEST

/* A store is no place for a bundle, be descriptor 0 free or not. */
START_TEST(no_bundle_over_a_store)
{
    groat__store *store = fixture_open(&fix, MIB);
    char other[320];
    int kept = dup(0);

    (void)snprintf(other, sizeof(other), "%s/other", fix.root);
    outside_once(other, "PRAGMA application_id = 0x67726f74; "
                        "CREATE TABLE t (x)");
    kernel_put(store, 1, 500);
    (void)close(0);
    ck_fails(groat__store_export(store, NULL, 0, NULL, other, NULL, &fix.error),
             GROAT_IO, &fix.error, "is a store");
    if (kept >= 0)
        (void)dup2(kept, 0);
    groat__store_close(store);
}
END_TEST

/* Where nobody can look, a file is taken for open. */
START_TEST(open_files_that_cannot_be_listed)
{
    struct rlimit limit;
    struct rlimit none;
    struct stat st;

    file_write(local, "", 0);
    ck_assert_int_eq(stat(local, &st), 0);
    ck_assert(!groat__place_is_open(st.st_dev, st.st_ino));
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){0, limit.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    ck_assert(groat__place_is_open(st.st_dev, st.st_ino));
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("place");
    TCase *tests = tcase_create("place");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, store_leaves_the_network);
    tcase_add_test(tests, store_of_a_local_disk_stays);
    tcase_add_loop_test(tests, store_stays_with_a_warning, 0, 5);
    tcase_add_test(tests, no_bundle_over_a_store);
    tcase_add_test(tests, open_files_that_cannot_be_listed);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
