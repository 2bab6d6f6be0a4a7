/* SPDX-License-Identifier: Apache-2.0
 *
 * test_share.c: which other users may change a store.  Tests the folders on the
 * way to it, whoever runs the program; and a store that the members of a group
 * share, which takes root to be tested from both sides: without root the only
 * member is the user.
 */
#include "fixture.h"

#include <fcntl.h>
#include <sched.h>

enum { OTHER = 4321, ALICE = 5001, BOB = 5002, GROUP = 6001 };

static fixture fix;
static char mid[220]; /* root/mid, which contains the store's folder */
static bool shared;

static void setup(void)
{
    fixture_make(&fix);
    shared = false;
    ck_assert_int_eq(chmod(fix.root, 0755), 0);
    (void)snprintf(mid, sizeof(mid), "%s/mid", fix.root);
    (void)snprintf(fix.dir, sizeof(fix.dir), "%s/store", mid);
    (void)snprintf(fix.path, sizeof(fix.path), "%s/groat.sqlite", fix.dir);
    ck_assert_int_eq(mkdir(mid, 0755), 0);
}

static void teardown(void)
{
    fixture_drop(&fix);
}

static groat_status try_open(groat__store **out)
{
    const groat__store_options options = {
        fix.dir, 4 * MIB, {fixture_log, &fix}, NULL, shared};

    return groat__store_open_patient(&options, TEST_BUSY, out, &fix.error);
}

/* Looks for words, and the path after them if they end with a blank. */
static bool says(const char *words, const char *path)
{
    char all[400];
    size_t len = strlen(words);

    (void)snprintf(all, sizeof(all), "%s%s", words,
                   words[len - 1] == ' ' ? path : "");
    return strstr(fix.error.text, all) != NULL;
}

/* Runs work as a user with one more group; needs root. */
static int as_user(uid_t user, gid_t more, int (*work)(void))
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid != 0)
        return child_status(pid);
    if (setgroups(more == 0 ? 0 : 1, &more) != 0 || setgid(user) != 0 ||
        setuid(user) != 0)
        _exit(100);
    _exit(work());
}

/* ---- the way to the folder ---------------------------------------------- */

/* OWN is the user who runs the test. */
enum { OWN = -1 };

static const struct {
    unsigned mode;
    int owner;
    int group;
    const char *remedy; /* for mid; NULL: mid is accepted */
} ways[] = {
    {0755, OWN, OWN, NULL},
    {0755, 0, 0, NULL},
    {01777, OWN, OWN, NULL},
    {01777, 0, OTHER, NULL},
    {01775, OWN, OTHER, NULL},
    {0775, OWN, 0, NULL},
    {0775, OWN, OWN, NULL},
    {0777, OWN, OWN, "has mode 0777"},
    {0777, OWN, OTHER, "run: chmod 755 "},
    {02775, OWN, OTHER, "run: chmod 2755 "},
    {0757, OWN, OWN, "run: chmod 755 "},
    {0755, OTHER, OWN, "belongs to user 4321"},
};

static const char *wanted;

/* Returns 0 if the result is as wanted, without the folder and then with it. */
static int walk(void)
{
    for (int there = 0; there < 2; there++) {
        bool before = access(fix.dir, F_OK) == 0;
        groat__store *store = NULL;
        groat_status status;

        /* Only the owner of mid can create it. */
        if (there == 0 && access(mid, W_OK) != 0)
            continue;
        if (there == 1 && !before)
            break;
        status = try_open(&store);
        groat__store_close(store);
        if ((status == GROAT_OK) != (wanted == NULL))
            return 1;
        if (wanted != NULL && (status != GROAT_IO || !says(wanted, mid)))
            return 2;
        /* Nothing is created in a bad place. */
        if (!before && (access(fix.dir, F_OK) == 0) != (wanted == NULL))
            return 3;
    }
    return 0;
}

static void check_way(size_t way, uid_t user)
{
    bool root = geteuid() == 0;
    int owner = ways[way].owner == OWN ? (int)user : ways[way].owner;
    int group = ways[way].group == OWN ? (int)user : ways[way].group;

    if (!root && (ways[way].owner != OWN || ways[way].group != OWN ||
                  ((ways[way].mode & 01020) == 020 && getegid() != geteuid())))
        return;
    ck_assert(!root || chown(mid, (uid_t)owner, (gid_t)group) == 0);
    ck_assert_int_eq(chmod(mid, ways[way].mode), 0);
    wanted = ways[way].remedy;
    for (int there = 0; there < 2; there++) {
        int code;

        if (there == 1) {
            ck_assert(mkdir(fix.dir, 0700) == 0 || access(fix.dir, F_OK) == 0);
            ck_assert(!root || chown(fix.dir, user, (gid_t)user) == 0);
        }
        code = root && user != 0 ? as_user(user, 0, walk) : walk();
        ck_assert_msg(code == 0, "way %zu, user %u: %d, %s", way,
                      (unsigned)user, code, fix.error.text);
        groat_error_clear(&fix.error);
    }
}

START_TEST(the_way_to_the_folder)
{
    check_way((size_t)_i, geteuid());
}
END_TEST

START_TEST(the_way_of_another_user)
{
    if (geteuid() != 0)
        puts("SKIP: only root can become another user");
    else
        check_way((size_t)_i, ALICE);
}
END_TEST

/* A link is resolved; the folders on the way to its target count. */
START_TEST(links_on_the_way)
{
    char link[230];
    groat__store *store = NULL;

    (void)snprintf(link, sizeof(link), "%s/to", fix.root);
    ck_assert_int_eq(symlink(mid, link), 0);
    (void)snprintf(fix.dir, sizeof(fix.dir), "%s/in/store", link);
    ck_assert_int_eq(chmod(mid, 0757), 0);
    ck_assert_int_eq(try_open(&store), GROAT_IO);
    ck_assert(says("run: chmod 755 ", mid));
    ck_assert(says("on the way to ", fix.dir));
    (void)snprintf(link, sizeof(link), "%s/in", mid);
    ck_assert_int_ne(access(link, F_OK), 0);
    groat_error_clear(&fix.error);
    ck_assert_int_eq(chmod(mid, 0755), 0);
    ck_assert_int_eq(try_open(&store), GROAT_OK);
    groat__store_close(store);
}
END_TEST

static int open_mapped(void)
{
    groat__store *store = NULL;
    groat_status status = try_open(&store);

    groat__store_close(store);
    return status == GROAT_OK ? 0 : 1;
}

/* Runs work as user 1000 of a namespace that maps that user alone. */
static int in_namespace(int (*work)(void))
{
    static const char map[] = "1000 0 1";
    pid_t pid = fork();
    int fd;

    ck_assert_int_ge(pid, 0);
    if (pid != 0)
        return child_status(pid);
    if (unshare(CLONE_NEWUSER) != 0)
        _exit(77);
    fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, map, strlen(map)) != (ssize_t)strlen(map))
        _exit(77);
    (void)close(fd);
    _exit(geteuid() == 1000 ? work() : 101);
}

START_TEST(owners_without_a_number)
{
    int code = 77;

    ck_assert_int_eq(mkdir(fix.dir, 0700), 0);
    if (geteuid() == 0 && chown(mid, OTHER, OTHER) == 0)
        code = in_namespace(open_mapped);
    if (code == 77) {
        puts("SKIP: only root can give a folder away, and make a namespace");
        return;
    }
    ck_assert_int_eq(code, 0);
    /* A namespace does not excuse a folder that others may write. */
    ck_assert_int_eq(chmod(mid, 0757), 0);
    ck_assert_int_eq(in_namespace(open_mapped), 1);
}
END_TEST

/* ---- groups -------------------------------------------------------------- */

static void make_shared(gid_t group, unsigned mode)
{
    shared = true;
    ck_assert_int_eq(mkdir(fix.dir, 0700), 0);
    ck_assert_int_eq(chown(fix.dir, (uid_t)-1, group), 0);
    ck_assert_int_eq(chmod(fix.dir, mode), 0);
}

/* Returns the stat of a file of the store; "": the store itself. */
static struct stat stat_of(const char *suffix)
{
    char name[320];
    struct stat st;

    (void)snprintf(name, sizeof(name), "%s%s", fix.path, suffix);
    ck_assert_msg(lstat(name, &st) == 0, "%s", name);
    return st;
}

static const char *const files[] = {"", "-wal", "-shm"};

START_TEST(files_of_a_group)
{
    mode_t before = umask(077);
    gid_t group = geteuid() == 0 ? GROUP : getegid();
    groat__store *store = NULL;

    make_shared(group, 02770);
    if (geteuid() == 0)
        ck_assert_int_eq(setgroups(1, &group), 0);
    ck_assert_msg(try_open(&store) == GROAT_OK, "%s", fix.error.text);
    kernel_put(store, 1, 5000);
    for (size_t i = 0; i < COUNT(files); i++) {
        struct stat st = stat_of(files[i]);

        ck_assert_uint_eq(st.st_mode & 07777, 0660);
        ck_assert_uint_eq(st.st_gid, group);
    }
    ck_hit(store, 1);
    groat__store_close(store);
    (void)umask(before);
}
END_TEST

/* The owner's open repairs the modes that a private store left behind. */
START_TEST(a_store_that_becomes_a_groups)
{
    groat__store *store = NULL;
    groat__store *inner = NULL;

    ck_assert_int_eq(try_open(&store), GROAT_OK);
    kernel_put(store, 1, 5000);
    ck_assert_uint_eq(stat_of("-wal").st_mode & 07777, 0600);
    shared = true;
    ck_assert_int_eq(chmod(fix.dir, 02770), 0);
    ck_assert_msg(try_open(&inner) == GROAT_OK, "%s", fix.error.text);
    for (size_t i = 0; i < COUNT(files); i++)
        ck_assert_uint_eq(stat_of(files[i]).st_mode & 07777, 0660);
    ck_hit(inner, 1);
    groat__store_close(inner);
    groat__store_close(store);
    /* Without `shared` it is refused as before, for its folder and its file. */
    shared = false;
    ck_assert_int_eq(try_open(&store), GROAT_IO);
    ck_assert(
        says("has mode 2770: others may write it; run: chmod 700 ", fix.dir));
    groat_error_clear(&fix.error);
    ck_assert_int_eq(chmod(fix.dir, 0700), 0);
    ck_assert_int_eq(try_open(&store), GROAT_IO);
    ck_assert(says("run: chmod 600 ", fix.path));
}
END_TEST

START_TEST(folders_no_group_shares)
{
    static const unsigned modes[] = {0700, 0770, 02775, 02777, 02750, 03770};
    groat__store *store = NULL;

    shared = true;
    ck_assert_int_eq(try_open(&store), GROAT_IO);
    ck_assert(says("run: mkdir ", fix.dir));
    ck_assert_int_ne(access(fix.dir, F_OK), 0);
    groat_error_clear(&fix.error);
    make_shared(getegid(), 02770);
    for (size_t i = 0; i < COUNT(modes); i++) {
        ck_assert_int_eq(chmod(fix.dir, modes[i]), 0);
        ck_assert_int_eq(try_open(&store), GROAT_IO);
        ck_assert(says("run: chmod 2770 ", fix.dir));
        groat_error_clear(&fix.error);
    }
    ck_assert_int_ne(access(fix.path, F_OK), 0);
}
END_TEST

/* The folders on the way may also belong to the group, but not to everyone. */
START_TEST(the_way_of_a_group)
{
    gid_t group = geteuid() == 0 ? GROUP : getegid();
    groat__store *store = NULL;

    make_shared(group, 02770);
    if (geteuid() == 0)
        ck_assert_int_eq(setgroups(1, &group), 0);
    ck_assert_int_eq(chown(mid, (uid_t)-1, group), 0);
    ck_assert_int_eq(chmod(mid, 02775), 0);
    ck_assert_msg(try_open(&store) == GROAT_OK, "%s", fix.error.text);
    groat__store_close(store);
    ck_assert_int_eq(chmod(mid, 02777), 0);
    ck_assert_int_eq(try_open(&store), GROAT_IO);
    ck_assert(says("run: chmod 2775 ", mid));
}
END_TEST

/* Puts one key, and gets it and, if given, the other one's. */
static int put_and_get(unsigned own, unsigned other)
{
    groat__store *store = NULL;

    (void)umask(077);
    if (try_open(&store) != GROAT_OK)
        return 1;
    kernel_put(store, own, 3000);
    if (kernel_get(store, own) != ANSWER_RIGHT ||
        (other != 0 && kernel_get(store, other) != ANSWER_RIGHT))
        return 2;
    groat__store_close(store);
    return 0;
}

static int alice_first(void)
{
    return put_and_get(1, 0);
}

static int bob(void)
{
    return put_and_get(2, 1);
}

static int alice_again(void)
{
    return put_and_get(3, 2);
}

static int stranger(void)
{
    groat__store *store = NULL;
    int fd;

    if (try_open(&store) != GROAT_IO)
        return 1;
    fd = open(fix.path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? 0 : 2;
}

/* Not a member of the group, but admitted by widened modes. */
static int outsider(void)
{
    groat__store *store = NULL;

    return try_open(&store) == GROAT_IO && says("chgrp GROUP ", fix.dir) ? 0
                                                                         : 1;
}

START_TEST(two_members)
{
    groat__store *held = NULL;
    gid_t group = GROUP;

    if (geteuid() != 0) {
        puts("SKIP: only root can become two users");
        return;
    }
    make_shared(GROUP, 02770);
    ck_assert_int_eq(chown(fix.dir, ALICE, GROUP), 0);
    ck_assert_int_eq(as_user(ALICE, GROUP, alice_first), 0);
    ck_assert_uint_eq(stat_of("").st_uid, ALICE);
    ck_assert_int_eq(as_user(BOB, GROUP, bob), 0);
    ck_assert_int_eq(as_user(ALICE, GROUP, alice_again), 0);
    ck_assert_int_eq(as_user(OTHER, 0, stranger), 0);
    /* With the -wal of a store that another user has open. */
    ck_assert_int_eq(setgroups(1, &group), 0);
    ck_assert_int_eq(try_open(&held), GROAT_OK);
    kernel_put(held, 2, 3000);
    ck_assert_int_eq(as_user(BOB, GROUP, bob), 0);
    ck_hit(held, 2);
    groat__store_close(held);
    ck_assert_int_eq(chmod(fix.dir, 02777), 0);
    ck_assert_int_eq(as_user(OTHER, 0, outsider), 0);
    /* A file that the caller may not repair. */
    ck_assert_int_eq(chmod(fix.dir, 02770), 0);
    ck_assert_int_eq(chmod(fix.path, 0664), 0);
    ck_assert_int_ne(as_user(BOB, GROUP, bob), 0);
    ck_assert_int_eq(as_user(ALICE, GROUP, alice_again), 0);
    ck_assert_uint_eq(stat_of("").st_mode & 07777, 0660);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("share");
    TCase *tests = tcase_create("share");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, the_way_to_the_folder, 0, COUNT(ways));
    tcase_add_loop_test(tests, the_way_of_another_user, 0, COUNT(ways));
    tcase_add_test(tests, links_on_the_way);
    tcase_add_test(tests, owners_without_a_number);
    tcase_add_test(tests, files_of_a_group);
    tcase_add_test(tests, a_store_that_becomes_a_groups);
    tcase_add_test(tests, folders_no_group_shares);
    tcase_add_test(tests, the_way_of_a_group);
    tcase_add_test(tests, two_members);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
