/* SPDX-License-Identifier: Apache-2.0
 *
 * test_sweeps.c: each kind of call on the files of a store and of a bundle
 * fails in turn, the first, the second and so on until there is no such call
 * left; and a worker is killed at each of them.  strike.c checks the outcome;
 * observations go into the matrix.
 *
 * A run takes some of the calls, or all of them with GROAT_TEST_ALL set.  The
 * matrix is written to $MATRIX.
 */
#include "strike.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <time.h>

static world w;
static unsigned taken; /* sweeps so far, in this test */

static void setup(void)
{
    world_make(&w);
}

static void teardown(void)
{
    world_drop(&w);
}

static bool takes_all(void)
{
    return getenv("GROAT_TEST_ALL") != NULL;
}

/* Strikes every step-th call until there are no more; each sweep begins with
 * another call.  Returns the number of strikes. */
static unsigned sweep(strike s, unsigned step)
{
    unsigned first = 1 + taken++ % step;
    unsigned strikes = 0;

    step = takes_all() ? 1 : step;
    for (s.n = takes_all() ? 1 : first; world_strike(&w, &s); s.n += step)
        strikes++;
    if (strikes == 0 && s.n > 1) {
        s.n = 1;
        strikes = world_strike(&w, &s);
    }
    return strikes;
}

static const scene healthy[] = {SCENE_HELD, SCENE_KILLED, SCENE_FULL,
                                SCENE_FRESH};

/* ---- calls that fail --------------------------------------------------- */

typedef struct failing {
    const char *fault;
    const char *calls;
    unsigned step;
    const char *errors[5];
} failing;

static const failing kinds[] = {
    {"`open` fails",
     "open,open-rw",
     2,
     {"EIO", "EACCES", "EMFILE", "EROFS", "EPERM"}},
    {"`open` to create, `mkdir` fail",
     "create",
     3,
     {"EIO", "EACCES", "ENOSPC", "EROFS"}},
    {"`read`, `pread` fail", "read", 11, {"EIO"}},
    {"`write`, `pwrite` fail", "write", 41, {"EIO", "ENOSPC"}},
    {"`fsync`, `fdatasync` fail", "sync", 3, {"EIO", "ENOSPC"}},
    {"`rename` fails", "rename", 1, {"EIO", "EACCES", "ENOSPC"}},
    {"`unlink` fails", "unlink", 2, {"EIO", "EACCES"}},
    {"`ftruncate`, `fallocate` fail", "truncate", 2, {"EIO", "ENOSPC"}},
    {"`mmap` fails", "map", 1, {"ENOMEM", "EACCES"}},
    {"locks fail", "lock", 41, {"EIO", "ENOLCK", "EACCES"}},
    {"`stat` fails", "stat", 29, {"EIO", "EACCES"}},
};

/* Strikes the same calls in each healthy scene. */
static void sweep_healthy(strike s, unsigned step)
{
    for (size_t i = 0; i < COUNT(healthy); i++) {
        s.at = healthy[i];
        ck_assert_uint_gt(sweep(s, step), 0);
    }
}

/* Makes each error once and from then on; a short run takes one that depends on
 * the scene. */
static unsigned sweep_errors(const failing *kind, strike s)
{
    unsigned strikes = 0;
    unsigned count = 0;

    s.fault = kind->fault;
    s.calls = kind->calls;
    while (count < COUNT(kind->errors) && kind->errors[count] != NULL)
        count++;
    for (unsigned i = 0; i < 2 * count; i++) {
        s.on = i % 2 != 0;
        s.deed = kind->errors[i / 2];
        if (takes_all() || i / 2 == ((unsigned)s.at * 2 + s.on) % count)
            strikes += sweep(s, kind->step);
    }
    return strikes;
}

START_TEST(calls_on_a_store)
{
    unsigned strikes = 0;

    for (size_t i = 0; i < COUNT(healthy); i++)
        strikes += sweep_errors(
            &kinds[_i],
            (strike){.layer = "store", .at = healthy[i], .files = w.rig.cache});
    /* No call renames files of a sound store. */
    ck_assert_msg(strikes > 0 || strcmp(kinds[_i].calls, "rename") == 0,
                  "%s: nothing to strike", kinds[_i].fault);
}
END_TEST

START_TEST(calls_on_a_damaged_store)
{
    strike s = {.layer = "damaged store",
                .at = SCENE_DAMAGED,
                .files = w.rig.cache,
                .damages = true};
    unsigned strikes = sweep_errors(&kinds[_i], s);

    /* Nobody waits for the disk of the new file that is made in its place. */
    ck_assert_msg((strikes > 0) == (strcmp(kinds[_i].calls, "sync") != 0),
                  "%s: %u strikes", kinds[_i].fault, strikes);
}
END_TEST

/* Strikes each read of a bundle; its kernel is compiled and kept instead. */
START_TEST(calls_on_a_bundle)
{
    static const char *const calls[] = {"open,open-rw", "read", "stat"};
    strike s = {.layer = "bundle", .watched = IN_BUNDLE, .files = w.bundle};

    for (size_t i = 0; i < COUNT(kinds); i++)
        for (size_t k = 0; k < COUNT(calls); k++)
            ck_assert_msg(strcmp(kinds[i].calls, calls[k]) != 0 ||
                              sweep_errors(&kinds[i], s) > 0,
                          "%s: nothing to strike", kinds[i].fault);
}
END_TEST

/* ---- kills --------------------------------------------------------------- */

START_TEST(killed_at_each_call)
{
    static const char *const deeds[] = {"kill-before", "kill-after",
                                        "kill-amid"};
    bool damaged = _i == SCENE_DAMAGED;
    strike s = {.fault = "`kill -9` before or after each call, amid each "
                         "`write`",
                .layer = damaged ? "damaged store" : "store",
                .at = (scene)_i,
                .files = w.rig.cache,
                .damages = damaged};

    for (size_t i = 0; i < COUNT(deeds); i++) {
        unsigned strikes;

        s.deed = deeds[i];
        s.calls = i == 2 ? "write" : "any";
        strikes = sweep(s, i == 2 ? 31 : 89);
        ck_assert_uint_gt(strikes, 0);
    }
}
END_TEST

/* ---- full and read-only file systems ------------------------------------- */

START_TEST(a_full_disk)
{
    strike s = {.fault = "disk full (`ENOSPC` wherever room is made)",
                .layer = "store",
                .files = w.rig.cache,
                .calls = "create,write,truncate",
                .on = true,
                .deed = "ENOSPC"};

    sweep_healthy(s, 41);
    /* The calls that open a -wal and build its index. */
    s.at = SCENE_KILLED;
    for (s.n = 1; s.n <= 6; s.n++)
        ck_assert(world_strike(&w, &s));
}
END_TEST

/* A real full disk: a tmpfs with so much room beside the store, until
 * mended. */
static void mount_small(world *at, unsigned room)
{
    char options[64];

    (void)snprintf(options, sizeof(options), "mode=0700,size=%llu",
                   (unsigned long long)at->held_bytes + room);
    ck_assert_int_eq(mount("none", at->rig.cache, "tmpfs", 0, options), 0);
    world_copy(at->held, at->rig.store);
}

static void make_room(world *at)
{
    ck_assert_int_eq(
        mount(NULL, at->rig.cache, NULL, MS_REMOUNT, "mode=0700,size=64m"), 0);
}

START_TEST(a_full_file_system)
{
    strike s = {.fault = "a file system that is full (`tmpfs`)",
                .layer = "store",
                .hurt = mount_small,
                .mend = make_room};

    if (unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        (void)printf("skipped: %s: no mount is allowed here\n", s.fault);
        return;
    }
    for (s.arg = 0; s.arg < 200000; s.arg += takes_all() ? 4096 : 40960) {
        ck_assert(world_strike(&w, &s));
        ck_assert_int_eq(umount2(w.rig.cache, MNT_DETACH), 0);
    }
}
END_TEST

START_TEST(a_read_only_remount)
{
    strike s = {.fault = "remounted read-only (`EROFS` wherever it is written)",
                .layer = "store",
                .files = w.rig.cache,
                .calls = "open-rw,create,write,truncate,rename,unlink",
                .on = true,
                .deed = "EROFS"};

    sweep_healthy(s, 41);
}
END_TEST

/* ---- damaged files ------------------------------------------------------- */

enum { PAGE = 8192 };

static unsigned per_page(unsigned few)
{
    return takes_all() ? 12 * few : few;
}

static uint64_t seed = 22; /* of the flipped bits */

/* Flips some bits of each page, one at a time; a short run takes every
 * `apart`-th page. */
static void flip_pages(strike s, const char *path, unsigned few, unsigned apart)
{
    uint64_t bytes = file_size(path);

    apart = takes_all() ? 1 : apart;
    ck_assert_uint_gt(bytes, 2 * PAGE);
    for (uint64_t page = 0; page < bytes; page += PAGE * (uint64_t)apart)
        for (unsigned i = 0; i < per_page(few); i++) {
            uint64_t left = bytes - page;

            s.arg =
                (unsigned)(page * 8 + next_random(&seed) %
                                          (8 * (left < PAGE ? left : PAGE)));
            ck_assert(world_strike(&w, &s));
        }
}

/* Cuts a file at each page and in the middle of it. */
static void cut_pages(strike s, const char *path)
{
    uint64_t bytes = file_size(path);

    for (uint64_t at = 0; at < bytes; at += takes_all() ? PAGE / 2 : PAGE) {
        s.arg = (unsigned)at;
        ck_assert(world_strike(&w, &s));
    }
}

static void flip_store(world *at, unsigned bit)
{
    world_flip(at->rig.store, bit);
}

static void cut_store(world *at, unsigned bytes)
{
    ck_assert_int_eq(truncate(at->rig.store, bytes), 0);
}

static void flip_wal(world *at, unsigned bit)
{
    char path[320];

    (void)snprintf(path, sizeof(path), "%s-wal", at->rig.store);
    world_flip(path, bit);
}

static void flip_bundle(world *at, unsigned bit)
{
    world_flip(at->bundle, bit);
}

static void cut_bundle(world *at, unsigned bytes)
{
    ck_assert_int_eq(truncate(at->bundle, bytes), 0);
}

static void flip_image(world *at, unsigned bit)
{
    world_flip(at->image, bit);
}

static void cut_image(world *at, unsigned bytes)
{
    ck_assert_int_eq(truncate(at->image, bytes), 0);
}

static const char flipped[] = "a bit turned, in each page";
static const char cut[] = "cut short at each page, and amid it";

START_TEST(bits_and_ends_of_a_store)
{
    /* A flipped id hides an entry, and nothing can detect that. */
    strike s = {.fault = flipped,
                .layer = "store",
                .hurt = flip_store,
                .damages = true,
                .silent = true};
    char wal[320];

    flip_pages(s, w.held, 2, 1);
    s.layer = "`-wal` of a killed process";
    s.hurt = flip_wal;
    s.at = SCENE_KILLED;
    (void)snprintf(wal, sizeof(wal), "%s-wal", w.killed);
    flip_pages(s, wal, 1, 3);
    s = (strike){
        .fault = cut, .layer = "store", .hurt = cut_store, .damages = true};
    cut_pages(s, w.held);
}
END_TEST

START_TEST(bits_and_ends_of_bundles)
{
    strike s = {.fault = flipped,
                .layer = "bundle",
                .hurt = flip_bundle,
                .watched = IN_BUNDLE,
                .silent = true};

    flip_pages(s, w.sound_bundle, 1, 1);
    s.layer = "image";
    s.hurt = flip_image;
    s.watched = IN_IMAGE;
    flip_pages(s, w.sound_image, 1, 1);
    s = (strike){.fault = cut,
                 .layer = "bundle",
                 .hurt = cut_bundle,
                 .watched = IN_BUNDLE};
    cut_pages(s, w.sound_bundle);
    s.layer = "image";
    s.hurt = cut_image;
    s.watched = IN_IMAGE;
    cut_pages(s, w.sound_image);
}
END_TEST

/* ---- wrong entries ------------------------------------------------------- */

static const char *another_identity(const known *k)
{
    static char text[4096];

    (void)snprintf(text, sizeof(text), "%sparam more 1\n", k->identity);
    return text;
}

static void plant(const world *at, unsigned step, const char *identity)
{
    static const char bytes[] = "\177ELF, and nothing behind it";
    const known *k = &at->kernels[step];
    groat__store *store = world_store(at);

    groat__store_put(store, &k->key,
                     identity == NULL ? another_identity(k) : identity,
                     identity == NULL ? k->data : bytes,
                     identity == NULL ? k->bytes : sizeof(bytes), "", NULL);
    groat__store_close(store);
}

static void mistake(world *at, unsigned step)
{
    plant(at, step, NULL);
}

static void refuse(world *at, unsigned step)
{
    plant(at, step, at->kernels[step].identity);
}

/* Puts hurt entries into bundle and image, and restores the store. */
static void hurt_bundles(world *at, void (*hurt)(world *, unsigned))
{
    groat__store *store;

    remove_folder(at->rig.cache);
    hurt(at, IN_BUNDLE);
    hurt(at, IN_IMAGE);
    store = world_store(at);
    ck_assert_int_eq(
        groat__store_export(store, NULL, 0, NULL, at->bundle, NULL, NULL),
        GROAT_OK);
    ck_assert_int_eq(
        groat__store_export(store, NULL, 0, NULL, at->image, NULL, NULL),
        GROAT_OK);
    groat__store_close(store);
    remove_folder(at->rig.cache);
    ck_assert_int_eq(mkdir(at->rig.cache, 0700), 0);
    world_copy(at->held, at->rig.store);
}

static void mistake_bundles(world *at, unsigned step)
{
    (void)step;
    hurt_bundles(at, mistake);
}

static void refuse_bundles(world *at, unsigned step)
{
    (void)step;
    hurt_bundles(at, refuse);
}

START_TEST(entries_of_another)
{
    strike s = {.fault = "another identity under the key",
                .layer = "store",
                .hurt = mistake,
                .arg = IN_STORE,
                .damages = true,
                .useless = true};

    ck_assert(world_strike(&w, &s));
    s.layer = "bundle";
    s.hurt = mistake_bundles;
    s.watched = IN_BUNDLE;
    ck_assert(world_strike(&w, &s));
    s.fault = "the driver refuses the binary";
    s.hurt = refuse_bundles;
    ck_assert(world_strike(&w, &s));
    s.layer = "store";
    s.hurt = refuse;
    s.watched = IN_STORE;
    ck_assert(world_strike(&w, &s));
}
END_TEST

/* ---- a store in use by others -------------------------------------------- */

/* Runs a process that does something with the store and waits to be ended. */
static pid_t beside(const world *at, void (*work)(const world *))
{
    int ends[2];
    pid_t pid;
    char c;

    ck_assert_int_eq(pipe(ends), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        (void)alarm(TIME_S);
        work(at);
        (void)!write(ends[1], "+", 1);
        for (;;)
            (void)pause();
    }
    (void)close(ends[1]);
    ck_assert_int_eq(read(ends[0], &c, 1), 1);
    (void)close(ends[0]);
    return pid;
}

static void lock_writers(const world *at)
{
    outside_exec(outside_open(at->rig.store), "BEGIN IMMEDIATE");
}

static void lock_all(const world *at)
{
    sqlite3 *db = outside_open(at->rig.store);

    outside_exec(db, "PRAGMA locking_mode = EXCLUSIVE");
    outside_exec(db, "BEGIN EXCLUSIVE");
}

static pid_t writer(world *at)
{
    return beside(at, lock_writers);
}

static pid_t owner(world *at)
{
    return beside(at, lock_all);
}

START_TEST(locked_by_another)
{
    strike s = {.fault = "locked by a writer that never ends",
                .layer = "store",
                .rival = writer};

    ck_assert(world_strike(&w, &s));
    s.fault = "locked by one that lets nobody in";
    s.rival = owner;
    ck_assert(world_strike(&w, &s));
}
END_TEST

static void make_newer(world *at, unsigned arg)
{
    (void)arg;
    outside_once(at->rig.store,
                 "PRAGMA user_version = 5; CREATE TABLE more (x)");
}

START_TEST(newer_schema)
{
    strike s = {.fault = "a newer schema",
                .layer = "store",
                .hurt = make_newer,
                .refused = true};

    ck_assert(world_strike(&w, &s));
}
END_TEST

static void give_away(world *at, unsigned arg)
{
    (void)arg;
    ck_assert_int_eq(chown(at->rig.cache, TEST_NOBODY, TEST_NOBODY), 0);
}

static void take_back(world *at)
{
    ck_assert_int_eq(chown(at->rig.cache, 0, 0), 0);
}

static void open_up(world *at, unsigned arg)
{
    (void)arg;
    ck_assert_int_eq(chmod(at->rig.cache, 0777), 0);
}

static void close_up(world *at)
{
    ck_assert_int_eq(chmod(at->rig.cache, 0700), 0);
}

START_TEST(foreign_owned)
{
    strike s = {.fault = "a folder that others may write",
                .layer = "store",
                .hurt = open_up,
                .mend = close_up};

    ck_assert(world_strike(&w, &s));
    s.fault = "a folder of another owner";
    s.hurt = give_away;
    s.mend = take_back;
    if (geteuid() == 0)
        ck_assert(world_strike(&w, &s));
    else
        (void)printf("skipped: a folder of another owner: only root can give "
                     "one away\n");
}
END_TEST

/* ---- fatal faults -------------------------------------------------------- */

/* Reads again after the `-shm` was cut; the exit status tells the answer. */
static void read_on(const world *at, const int ends[2])
{
    const known *k = &at->kernels[IN_STORE];
    groat__store *store = world_store(at);
    groat_cache_stat stat = {.size = sizeof(stat)};
    groat__store_blob blob = {0};
    bool right;
    char c;

    /* A view has no `-shm`; the file is opened in full. */
    (void)groat__store_stat(store, &stat, NULL);
    right = groat__store_get(store, &k->key, k->identity, &blob);
    groat__store_blob_free(&blob);
    (void)!write(ends[1], right ? "+" : "-", 1);
    (void)!read(ends[0], &c, 1);
    right = groat__store_get(store, &k->key, k->identity, &blob);
    _exit(right ? 0 : 1);
}

/* The one fault that a process does not survive: files of a store in use are
 * overwritten, as by restoring a backup in place.  The next process finds all
 * entries. */
START_TEST(overwritten_by_hand)
{
    static const char fault[] = "the `-shm` is cut under who uses the store";
    char path[320];
    found left;

    (void)snprintf(path, sizeof(path), "%s-shm", w.rig.store);
    for (unsigned round = 0; round < 3; round++) {
        int to[2];
        int from[2];
        int status = 0;
        char c = 0;
        pid_t pid;

        world_set(&w, SCENE_HELD);
        ck_assert_int_eq(pipe(to), 0);
        ck_assert_int_eq(pipe(from), 0);
        pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
            (void)alarm(TIME_S);
            read_on(&w, (int[2]){to[0], from[1]});
        }
        ck_assert_int_eq(read(from[0], &c, 1), 1);
        ck_assert_int_eq(c, '+');
        ck_assert_int_eq(truncate(path, 0), 0);
        ck_assert_int_eq(write(to[1], "+", 1), 1);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS,
                      "status 0x%x: the table and the manual say SIGBUS",
                      (unsigned)status);
        for (int i = 0; i < 2; i++) {
            (void)close(to[i]);
            (void)close(from[i]);
        }
        world_look(&w, &left);
        ck_assert(left.opened && left.verified && left.takes_puts);
        ck_assert_int_eq(left.steps[IN_STORE], ANSWER_RIGHT);
        ck_assert_uint_eq(left.fillers, FILLERS);
        ck_assert_uint_eq(left.wrong, 0);
        matrix_count(fault, "store");
        matrix_note(fault, "store", MATRIX_KEPT, "the process ends (SIGBUS)");
        matrix_note(fault, "store", MATRIX_AFTER, "all");
    }
}
END_TEST

/* ---- clocks and claims --------------------------------------------------- */

/* Claims NEW: other processes that want it wait. */
static groat__store *claim_new(const world *at)
{
    const known *k = &at->kernels[NEW];
    groat__store *store = world_store(at);
    groat__store_blob blob = {0};

    ck_assert_int_eq(groat__store_claim(store, &k->key, k->identity, &blob),
                     GROAT__CLAIM_HELD);
    return store;
}

static void claim(const world *at)
{
    (void)claim_new(at);
}

static void claim_and_die(world *at, unsigned arg)
{
    pid_t pid = beside(at, claim);

    (void)arg;
    (void)kill(pid, SIGKILL);
    (void)child_status(pid);
}

/* Claims NEW and puts it while the worker waits. */
static pid_t compile_slowly(world *at)
{
    const struct timespec nap = {0, 200000000};
    const known *k = &at->kernels[NEW];
    int ends[2];
    pid_t pid;
    char c;

    ck_assert_int_eq(pipe(ends), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        groat__store *store = claim_new(at);

        (void)!write(ends[1], "+", 1);
        (void)nanosleep(&nap, NULL);
        groat__store_put(store, &k->key, k->identity, k->data, k->bytes, "",
                         NULL);
        groat__store_release(store, &k->key);
        groat__store_close(store);
        _exit(0);
    }
    (void)close(ends[1]);
    ck_assert_int_eq(read(ends[0], &c, 1), 1);
    (void)close(ends[0]);
    return pid;
}

/* Shifts the clock by ten years in both directions, at each look in turn. */
static void set_clocks(strike s, unsigned step)
{
    static const char *const sets[] = {"315360000", "-315360000"};
    unsigned strikes = 0;
    char text[40];

    step = takes_all() ? 1 : step;
    for (size_t i = 0; i < COUNT(sets); i++)
        for (unsigned n = 1;; n += step) {
            (void)snprintf(text, sizeof(text), "%s@%u", sets[i], n);
            s.clock = text;
            if (!world_strike(&w, &s))
                break;
            strikes++;
        }
    ck_assert_uint_gt(strikes, 1);
}

START_TEST(clocks_that_are_set)
{
    strike s = {.fault = "the wall clock is set by ten years, either way",
                .layer = "store"};

    set_clocks(s, 3);
    s.layer = "claim of a killed process";
    s.watched = NEW;
    s.hurt = claim_and_die;
    set_clocks(s, 5);
    s.layer = "claim of a process that compiles";
    s.hurt = NULL;
    s.rival = compile_slowly;
    s.naps = true;
    set_clocks(s, 9);
}
END_TEST

START_TEST(holders_of_claims)
{
    strike s = {.fault = "`kill -9` of who compiles",
                .layer = "claim",
                .watched = NEW,
                .hurt = claim_and_die};

    ck_assert(world_strike(&w, &s));
}
END_TEST

int main(void)
{
    const char *matrix = getenv("MATRIX");
    const char *sanitize = getenv("GROAT_SANITIZE");
    Suite *suite = suite_create("faults");
    TCase *tcase = tcase_create("sweeps");
    int result;

    if (sanitize != NULL && strcmp(sanitize, "no") != 0) {
        (void)printf("SKIP: a library cannot be put in front of a build with "
                     "sanitizers\n");
        return 77;
    }
    if (getenv("GROAT_TEST_SEED") != NULL)
        seed = strtoull(getenv("GROAT_TEST_SEED"), NULL, 10);
    (void)printf("bits are drawn from GROAT_TEST_SEED=%llu\n",
                 (unsigned long long)seed);
    matrix_begin();
    tcase_add_unchecked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 3600);
    tcase_add_loop_test(tcase, calls_on_a_store, 0, COUNT(kinds));
    tcase_add_loop_test(tcase, calls_on_a_damaged_store, 0, COUNT(kinds));
    tcase_add_test(tcase, calls_on_a_bundle);
    tcase_add_loop_test(tcase, killed_at_each_call, SCENE_HELD,
                        SCENE_DAMAGED + 1);
    tcase_add_test(tcase, a_full_disk);
    tcase_add_test(tcase, a_full_file_system);
    tcase_add_test(tcase, a_read_only_remount);
    tcase_add_test(tcase, bits_and_ends_of_a_store);
    tcase_add_test(tcase, bits_and_ends_of_bundles);
    tcase_add_test(tcase, entries_of_another);
    tcase_add_test(tcase, locked_by_another);
    tcase_add_test(tcase, newer_schema);
    tcase_add_test(tcase, foreign_owned);
    tcase_add_test(tcase, overwritten_by_hand);
    tcase_add_test(tcase, holders_of_claims);
    tcase_add_test(tcase, clocks_that_are_set);
    suite_add_tcase(suite, tcase);
    result = run_suite(suite);
    if (result == EXIT_SUCCESS && matrix != NULL && matrix_write(matrix) != 0)
        result = EXIT_FAILURE;
    return result;
}
