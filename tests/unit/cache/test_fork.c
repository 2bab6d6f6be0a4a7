/* SPDX-License-Identifier: Apache-2.0
 *
 * test_fork.c: which process holds which locks when a child opens a store of
 * its own.  It asks the system, not SQLite: a process can query the locks of
 * others, never its own.
 */
#include <fcntl.h>
#include <sys/syscall.h>

#include "cache/bundle.h"
#include "fixture.h"

/* Bytes that SQLite locks: while a file is open in WAL mode, while its index in
 * shared memory is in use, and during a write. */
enum {
    BYTE_OPEN = 0x40000002, /* of the file  */
    BYTE_INDEX = 128,       /* of its -shm  */
    BYTE_WRITE = 120        /* of its -shm  */
};

static fixture fix;
static bool same_pid;

static pid_t own_pid(void)
{
    return (pid_t)syscall(SYS_getpid);
}

/* Stands in front of libc's: a child in a PID namespace of its own may have the
 * process id that its parent has in another one. */
pid_t getpid(void)
{
    return same_pid ? 1 : own_pid();
}

static void setup(void)
{
    fixture_make(&fix);
}

static void teardown(void)
{
    fixture_drop(&fix);
}

/* Files of a store to query locks on.  They stay open: closing one would drop
 * the locks of this process. */
typedef struct looker {
    int file;
    int index;
} looker;

static looker look_at_store(void)
{
    char path[320];
    looker at;

    (void)snprintf(path, sizeof(path), "%s-shm", fix.path);
    at.file = open(fix.path, O_RDWR | O_CLOEXEC);
    at.index = open(path, O_RDWR | O_CLOEXEC);
    if (at.file < 0 || at.index < 0)
        abort();
    return at;
}

/* Returns another process that holds a lock on the byte; 0: none does. */
static pid_t holder_of(int fd, off_t byte)
{
    struct flock lock = {0};

    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = byte;
    lock.l_len = 1;
    if (fcntl(fd, F_GETLK, &lock) != 0)
        abort();
    return lock.l_type == F_UNLCK ? 0 : lock.l_pid;
}

/* A pipe in each direction; a byte means "go on". */
typedef struct wire {
    int down[2];
    int up[2];
} wire;

static void wire_make(wire *w)
{
    ck_assert_int_eq(pipe(w->down), 0);
    ck_assert_int_eq(pipe(w->up), 0);
}

/* Tries a write lock in a third process, which never had the file open. */
static int begin_elsewhere(void)
{
    /* The real name: under memcheck the link leads to the tool. */
    char *self = realpath("/proc/self/exe", NULL);
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    ck_assert_ptr_nonnull(self);
    if (pid == 0) {
        execl(self, "test_fork", "begin", fix.path, (char *)NULL);
        _exit(99);
    }
    free(self);
    return child_status(pid);
}

/* Returns the result of BEGIN IMMEDIATE on a file. */
static int begin_there(const char *path)
{
    sqlite3 *db = NULL;
    int rc = sqlite3_open(path, &db);

    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "BEGIN IMMEDIATE; ROLLBACK", NULL, NULL, NULL);
    (void)sqlite3_close(db);
    return rc;
}

/* The parent writes while its child closes inherited connections, opens the
 * store and closes it again: the parent loses none of its locks. */
START_TEST(the_parent_keeps_its_locks)
{
    groat__store *store;
    pid_t parent = own_pid();
    wire w;
    pid_t pid;

    same_pid = _i != 0;
    store = fixture_open(&fix, MIB);
    wire_make(&w);
    kernel_put(store, 1, 1000);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        int wrong;
        looker at;

        hear(w.down[0]);
        store = fixture_open(&fix, MIB);
        wrong = kernel_get(store, 1) != ANSWER_RIGHT;
        at = look_at_store();
        wrong += holder_of(at.file, BYTE_OPEN) != parent;
        wrong += holder_of(at.index, BYTE_INDEX) != parent;
        wrong += holder_of(at.index, BYTE_WRITE) != parent;
        groat__store_close(store);
        _exit(wrong);
    }
    ck_assert_int_eq(
        sqlite3_exec(store->db, "BEGIN IMMEDIATE", NULL, NULL, NULL),
        SQLITE_OK);
    say(w.down[1]);
    ck_assert_int_eq(child_status(pid), 0);
    ck_assert_int_eq(begin_elsewhere(), SQLITE_BUSY);
    ck_assert_int_eq(sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(begin_elsewhere(), SQLITE_OK);
    ck_hit(store, 1);
    groat__store_close(store);
}
END_TEST

/* A child's connection has its own locks, and only these keep the file once the
 * parent has closed it. */
START_TEST(the_child_has_its_own)
{
    groat__store *store;
    looker at;
    wire w;
    pid_t pid;

    same_pid = _i != 0;
    store = fixture_open(&fix, MIB);
    wire_make(&w);
    kernel_put(store, 1, 1000);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        int wrong;

        store = fixture_open(&fix, MIB);
        wrong = kernel_get(store, 1) != ANSWER_RIGHT;
        say(w.up[1]);
        hear(w.down[0]);
        wrong += kernel_get(store, 1) != ANSWER_RIGHT;
        groat__store_close(store);
        _exit(wrong + (fix.lines.len != 0));
    }
    hear(w.up[0]);
    at = look_at_store();
    ck_assert_int_eq(holder_of(at.file, BYTE_OPEN), pid);
    ck_assert_int_eq(holder_of(at.index, BYTE_INDEX), pid);
    ck_assert_int_eq(holder_of(at.index, BYTE_WRITE), 0);
    groat__store_close(store);
    ck_assert_int_eq(holder_of(at.file, BYTE_OPEN), pid);
    ck_assert_int_eq(holder_of(at.index, BYTE_INDEX), pid);
    say(w.down[1]);
    ck_assert_int_eq(child_status(pid), 0);
}
END_TEST

/* Opening a store as a bundle does not drop its locks: SQLite keeps such a file
 * open until the process has no connection to it. */
START_TEST(a_store_is_no_bundle)
{
    groat__store *store = fixture_open(&fix, MIB);
    const groat__log log = {NULL, NULL};
    groat__bundle *bundle = NULL;
    pid_t parent = own_pid();
    char link[320];
    pid_t pid;

    (void)snprintf(link, sizeof(link), "%s/link", fix.root);
    ck_assert_int_eq(symlink(fix.path, link), 0);
    kernel_put(store, 1, 1000);
    ck_fails(groat__bundle_open(link, &log, &bundle, &fix.error), GROAT_IO,
             &fix.error, "is a store");
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        looker at = look_at_store();

        _exit(holder_of(at.file, BYTE_OPEN) != parent);
    }
    ck_assert_int_eq(child_status(pid), 0);
    groat__store_close(store);
    ck_fails(groat__bundle_open(link, &log, &bundle, &fix.error), GROAT_IO,
             &fix.error, "is a store");
}
END_TEST

/* All inherited connections to a file are closed before a child opens one: if
 * one stayed, SQLite would take its locks for the child's. */
START_TEST(a_file_that_is_open_twice)
{
    groat__store *one = fixture_open(&fix, MIB);
    groat__store *two = fixture_open(&fix, MIB);
    looker at;
    wire w;
    pid_t pid;

    wire_make(&w);
    kernel_put(one, 1, 1000);
    ck_hit(two, 1);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        groat__store *own[2] = {fixture_open(&fix, MIB),
                                fixture_open(&fix, MIB)};
        int wrong = kernel_get(own[0], 1) != ANSWER_RIGHT;

        say(w.up[1]);
        hear(w.down[0]);
        kernel_put(own[1], 2, 1000);
        groat__store_close(own[1]);
        wrong += kernel_get(own[0], 2) != ANSWER_RIGHT;
        say(w.up[1]);
        hear(w.down[0]);
        groat__store_close(own[0]);
        _exit(wrong + (fix.lines.len != 0));
    }
    for (int i = 0; i < 2; i++) {
        hear(w.up[0]);
        if (i == 0)
            at = look_at_store();
        ck_assert_int_eq(holder_of(at.file, BYTE_OPEN), pid);
        ck_assert_int_eq(holder_of(at.index, BYTE_INDEX), pid);
        say(w.down[1]);
    }
    ck_assert_int_eq(child_status(pid), 0);
    ck_hit(one, 2);
    groat__store_close(one);
    groat__store_close(two);
}
END_TEST

/* A connection outside of the store cannot be closed: the child works without
 * the file. */
START_TEST(a_file_that_others_have_open)
{
    groat__store *store = fixture_open(&fix, MIB);
    sqlite3 *db = NULL;
    looker at;
    wire w;
    pid_t pid;

    wire_make(&w);
    kernel_put(store, 1, 1000);
    ck_assert_int_eq(sqlite3_open(fix.path, &db), SQLITE_OK);
    ck_assert_int_eq(
        sqlite3_exec(db, "SELECT count(*) FROM entry", NULL, NULL, NULL),
        SQLITE_OK);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        groat__store *other = NULL;
        int wrong = fixture_try(&fix, MIB, &other) != GROAT_IO;

        wrong +=
            strstr(fix.error.text, "by other code of this process") == NULL;
        groat_error_clear(&fix.error);
        say(w.up[1]);
        hear(w.down[0]);
        _exit(wrong);
    }
    hear(w.up[0]);
    at = look_at_store();
    ck_assert_int_eq(holder_of(at.file, BYTE_OPEN), 0);
    ck_assert_int_eq(holder_of(at.index, BYTE_INDEX), 0);
    say(w.down[1]);
    ck_assert_int_eq(child_status(pid), 0);
    (void)sqlite3_close(db);
    ck_hit(store, 1);
    groat__store_close(store);
}
END_TEST

/* A groat_manifest_fn. */
static int no_entry(void *user, const groat_manifest_entry *entry)
{
    (void)user;
    (void)entry;
    return 0;
}

/* Returns 0 if a child sees that the parent holds the lock of an open file. */
static int parent_holds(void)
{
    pid_t parent = own_pid();
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        looker at = look_at_store();

        _exit(holder_of(at.file, BYTE_OPEN) == parent ? 0 : 1);
    }
    return child_status(pid);
}

/* Calls that read or replace files of any name do not touch a store: closing
 * another descriptor of it would drop its locks, and the next process to close
 * it would remove its -wal. */
START_TEST(a_store_is_no_other_file)
{
    groat__store *store = fixture_open(&fix, MIB);
    groat__secret secret;
    groat__trust trust = {NULL, 0};

    kernel_put(store, 1, 1000);
    ck_assert_int_eq(parent_holds(), 0);
    ck_fails(
        groat__store_export(store, NULL, 0, NULL, fix.path, NULL, &fix.error),
        GROAT_IO, &fix.error, "is a store");
    ck_assert_int_eq(parent_holds(), 0);
    ck_fails(groat__secret_read(fix.path, &secret, &fix.error), GROAT_IO,
             &fix.error, "is a store");
    ck_assert_int_eq(parent_holds(), 0);
    ck_fails(groat__trust_read(fix.path, &trust, &fix.error), GROAT_IO,
             &fix.error, "is a store");
    ck_assert_int_eq(parent_holds(), 0);
    ck_fails(groat_manifest_read(fix.path, no_entry, NULL, &fix.error),
             GROAT_IO, &fix.error, "is a store");
    ck_assert_int_eq(parent_holds(), 0);
    groat__store_close(store);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite;
    TCase *tests;

    if (argc == 3 && strcmp(argv[1], "begin") == 0)
        return begin_there(argv[2]);
    suite = suite_create("fork");
    tests = tcase_create("fork");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, the_parent_keeps_its_locks, 0, 2);
    tcase_add_loop_test(tests, the_child_has_its_own, 0, 2);
    tcase_add_test(tests, a_store_is_no_bundle);
    tcase_add_test(tests, a_store_is_no_other_file);
    tcase_add_test(tests, a_file_that_is_open_twice);
    tcase_add_test(tests, a_file_that_others_have_open);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
