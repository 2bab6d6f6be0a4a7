/* SPDX-License-Identifier: Apache-2.0
 *
 * test_faults.c: what goes wrong around a kernel.  A store that is damaged,
 * locked, full, foreign or read-only costs a compile and one line, never the
 * kernel; what truly keeps a kernel from being made is an error that names it.
 */
#include "rig.h"

#include <grp.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include "cache/cache.h"

enum { NOBODY = 65534 };

static const char *const target = "cpu:gfx950";

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

/* A kernel that works, from there. */
static void ck_kernel(groat_context *context, unsigned step,
                      groat_origin expected)
{
    groat_kernel *kernel;
    char spec[32];

    (void)snprintf(spec, sizeof(spec), "adder:step=%u", step);
    kernel = rig_get(&fix, context, spec, target, expected);
    ck_assert(rig_adds(context, target, kernel, step));
}

/* Leaves one kernel in the store. */
static void fill_store(unsigned step)
{
    groat_context *context = rig_open(&fix);

    ck_kernel(context, step, GROAT_FROM_COMPILER);
    groat_close(context);
}

/* The next context finds it there again. */
static void ck_stored(unsigned step)
{
    groat_context *context = rig_open(&fix);

    ck_kernel(context, step, GROAT_FROM_DISK);
    groat_close(context);
}

static void change_store(const char *sql)
{
    sqlite3 *db = NULL;

    ck_assert_int_eq(sqlite3_open(fix.store, &db), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK,
                  "%s: %s", sql, sqlite3_errmsg(db));
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

/* ---- entries that are not what they should be --------------------------- */

START_TEST(a_damaged_entry)
{
    static const char *const changes[] = {
        "UPDATE entry SET binary = zeroblob(length(binary))",
        "UPDATE entry SET binary = substr(binary, 1, 100)",
        "UPDATE entry SET log = 'another'",
        "UPDATE entry SET seal = zeroblob(16)",
    };
    groat_context *context;
    groat_cache_stat stat;

    fill_store(3);
    change_store(changes[_i]);
    context = rig_open(&fix);
    ck_kernel(context, 3, GROAT_FROM_COMPILER);
    ck_kernel(context, 3, GROAT_FROM_MEMORY);
    stat = rig_stat(context);
    ck_assert_uint_eq(stat.compiles, 1);
    ck_assert_uint_eq(stat.hits, 0);
    ck_assert_uint_eq(stat.evictions, 1);
    ck_assert_uint_eq(stat.faults, 1);
    ck_assert_uint_eq(stat.entries, 1);
    ck_assert_int_eq(fix.warnings, 1);
    ck_assert_int_eq(rig_said(&fix, "is damaged; dropped"), 1);
    groat_close(context);
    ck_stored(3);
}
END_TEST

/* Puts bytes under a spec's key, through a store of its own: the seal is
 * right, and only the loader can tell. */
static void plant(const char *text, const void *data, size_t bytes)
{
    const groat_facts facts = {-1, -1, -1, -1, -1, -1};
    groat__store_options options = {fix.cache, 1 << 20, {NULL, NULL}};
    groat_context *context = rig_open(&fix);
    groat__store *store = NULL;
    groat_spec *spec = NULL;
    char *identity = NULL;
    groat__digest digest;
    char key[33];

    ck_assert_int_eq(groat_spec_parse(context, text, target, &spec, NULL),
                     GROAT_OK);
    ck_assert_int_eq(groat_spec_key(spec, key, &identity, NULL), GROAT_OK);
    ck_assert(groat__unhex(digest.bytes, sizeof(digest.bytes), key));
    ck_assert_int_eq(groat__store_open(&options, &store, NULL), GROAT_OK);
    groat__store_put(store, &digest, identity, data, bytes, "", &facts);
    groat__store_close(store);
    groat_free(identity);
    groat_spec_free(spec);
    groat_close(context);
}

static void plant_another_kernel(void)
{
    groat_context *context = rig_open(&fix);
    groat_spec *spec = NULL;
    void *binary = NULL;
    size_t bytes = 0;

    ck_assert_int_eq(
        groat_spec_parse(context, "adder:step=4", target, &spec, NULL),
        GROAT_OK);
    ck_assert_int_eq(groat_build(spec, &binary, &bytes, NULL, NULL), GROAT_OK);
    plant("adder:step=3", binary, bytes);
    groat_free(binary);
    groat_spec_free(spec);
    groat_close(context);
}

START_TEST(a_binary_that_the_loader_refuses)
{
    groat_context *context;
    groat_cache_stat stat;

    switch (_i) {
    case 0:
        plant("adder:step=3", "not a library at all", 20);
        break;
    case 1:
        plant("adder:step=3", "", 0);
        break;
    case 2:
        plant("adder:step=3", "\177ELF\002\001\001", 7);
        break;
    default:
        /* A library, but without the entry point. */
        plant_another_kernel();
        break;
    }
    context = rig_open(&fix);
    ck_kernel(context, 3, GROAT_FROM_COMPILER);
    stat = rig_stat(context);
    ck_assert_uint_eq(stat.hits, 1);
    ck_assert_uint_eq(stat.compiles, 1);
    ck_assert_uint_eq(stat.evictions, 1);
    ck_assert_int_eq(fix.warnings, 1);
    ck_assert_int_eq(rig_said(&fix, "refused the stored binary of adder_3"), 1);
    groat_close(context);
    ck_stored(3);
}
END_TEST

START_TEST(a_store_that_is_no_database)
{
    groat_context *context;

    fill_store(3);
    rig_write(fix.store, "no database, but a text that is long enough", 0600);
    context = rig_open(&fix);
    ck_kernel(context, 3, GROAT_FROM_COMPILER);
    ck_assert_int_eq(fix.warnings, 1);
    ck_assert_int_eq(rig_said(&fix, "set aside"), 1);
    groat_close(context);
    ck_stored(3);
}
END_TEST

/* ---- places that cannot be written ------------------------------------- */

/* For tests of modes: root, whom none binds, becomes nobody. */
static void setup_as_nobody(void)
{
    char tmp[256];

    rig_make(&fix);
    (void)snprintf(tmp, sizeof(tmp), "%s/tmp", fix.root);
    ck_assert_int_eq(mkdir(tmp, 0700), 0);
    ck_assert_int_eq(setenv("TMPDIR", tmp, 1), 0);
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(tmp, NOBODY, NOBODY), 0);
        ck_assert_int_eq(chown(fix.families, NOBODY, NOBODY), 0);
        ck_assert_int_eq(chown(fix.root, NOBODY, NOBODY), 0);
        ck_assert_int_eq(setgroups(0, NULL), 0);
        ck_assert_int_eq(setgid(NOBODY), 0);
        ck_assert_int_eq(setuid(NOBODY), 0);
    }
    rig_write_adder(&fix);
}

START_TEST(a_read_only_file)
{
    groat_context *context;
    groat_cache_stat stat;

    fill_store(3);
    ck_assert_int_eq(chmod(fix.store, 0400), 0);
    context = rig_open(&fix);
    ck_kernel(context, 3, GROAT_FROM_DISK);
    ck_kernel(context, 4, GROAT_FROM_COMPILER);
    ck_kernel(context, 5, GROAT_FROM_COMPILER);
    ck_kernel(context, 5, GROAT_FROM_MEMORY);
    stat = rig_stat(context);
    ck_assert_uint_eq(stat.compiles, 2);
    ck_assert_uint_eq(stat.entries, 1);
    ck_assert_int_eq(fix.warnings, 1);
    ck_assert_int_eq(rig_said(&fix, "read-only"), 1);
    groat_close(context);
}
END_TEST

/* Two things at once: nothing can be dropped, the kernel is there still. */
START_TEST(a_damaged_entry_in_a_read_only_file)
{
    groat_context *context;

    if (_i == 0) {
        fill_store(3);
        change_store("UPDATE entry SET seal = zeroblob(16)");
    } else {
        plant("adder:step=3", "not a library at all", 20);
    }
    ck_assert_int_eq(chmod(fix.store, 0400), 0);
    for (int round = 0; round < 2; round++) {
        context = rig_open(&fix);
        ck_kernel(context, 3, GROAT_FROM_COMPILER);
        ck_kernel(context, 3, GROAT_FROM_MEMORY);
        ck_assert_uint_eq(rig_stat(context).compiles, 1);
        ck_assert_uint_eq(rig_stat(context).entries, 1);
        groat_close(context);
    }
}
END_TEST

/* Without a file in it, and with one. */
START_TEST(a_read_only_folder)
{
    groat_context *context;

    if (_i == 0)
        ck_assert_int_eq(mkdir(fix.cache, 0700), 0);
    else
        fill_store(3);
    ck_assert_int_eq(chmod(fix.cache, 0500), 0);
    context = rig_open(&fix);
    ck_assert_int_eq(fix.warnings, 1);
    ck_assert_int_eq(rig_said(&fix, "kernels are kept in memory only"), 1);
    ck_assert_int_eq(rig_said(&fix, fix.cache), 1);
    ck_assert_ptr_null(groat_cache_path(context));
    ck_assert_ptr_nonnull(groat_cache_problem(context));
    ck_kernel(context, 3, GROAT_FROM_COMPILER);
    ck_kernel(context, 3, GROAT_FROM_MEMORY);
    ck_assert_int_eq(fix.warnings, 1);
    groat_close(context);
}
END_TEST

START_TEST(an_unreadable_source)
{
    groat_options options = rig_options(&fix);
    groat_context *context = NULL;
    char path[300];
    char words[400];

    (void)snprintf(path, sizeof(path), "%s/adder/%s", fix.families,
                   _i == 0 ? "adder.h" : "params.def");
    ck_assert_int_eq(chmod(path, 0), 0);
    (void)snprintf(words, sizeof(words),
                   "family adder: cannot open %s: Permission denied", path);
    ck_fails(groat_open(&options, &context, &fix.error), GROAT_INVALID,
             &fix.error, words);
    ck_assert_ptr_null(context);
}
END_TEST

START_TEST(an_unwritable_parent)
{
    groat_options options = rig_options(&fix);
    groat_context *context;
    char path[300];

    (void)snprintf(path, sizeof(path), "%s/closed", fix.root);
    ck_assert_int_eq(mkdir(path, 0500), 0);
    (void)snprintf(path, sizeof(path), "%s/closed/cache", fix.root);
    options.cache_dir = path;
    context = rig_open_with(&fix, &options);
    ck_assert_int_eq(rig_said(&fix, "cannot make folder"), 1);
    ck_kernel(context, 3, GROAT_FROM_COMPILER);
    groat_close(context);
}
END_TEST

START_TEST(temporary_folders_of_others)
{
    groat_context *context;
    groat_kernel *kernel = NULL;
    char path[256];

    (void)snprintf(path, sizeof(path), "%s/tmp", fix.root);
    ck_assert_int_eq(chmod(path, 0500), 0);
    context = rig_open(&fix);
    ck_fails(
        groat_kernel_get(context, "adder", target, &kernel, NULL, &fix.error),
        GROAT_NO_DEVICE, &fix.error, path);
    groat_close(context);
    ck_assert_int_eq(chmod(path, 0700), 0);
}
END_TEST

/* ---- no place at all --------------------------------------------------- */

START_TEST(no_home)
{
    groat_options options = rig_options(&fix);
    groat_context *context;

    (void)unsetenv("XDG_CACHE_HOME");
    if (_i == 0)
        (void)unsetenv("HOME");
    else
        ck_assert_int_eq(setenv("HOME", _i == 1 ? "" : "relative", 1), 0);
    options.cache_dir = NULL;
    context = rig_open_with(&fix, &options);
    ck_assert_int_eq(fix.warnings, 1);
    ck_assert_int_eq(rig_said(&fix, "kernels are kept in memory only"), 1);
    ck_assert_int_eq(rig_said(&fix, "GROAT_CACHE_DIR"), 1);
    ck_assert_ptr_null(groat_cache_path(context));
    ck_kernel(context, 3, GROAT_FROM_COMPILER);
    ck_kernel(context, 3, GROAT_FROM_MEMORY);
    ck_assert_uint_eq(rig_stat(context).entries, 0);
    ck_assert_int_eq(fix.warnings, 1);
    groat_close(context);
}
END_TEST

/* The places that the environment names, in their order. */
START_TEST(places_of_the_environment)
{
    static const struct {
        const char *name;
        const char *below;
    } places[] = {
        {"HOME", "/.cache/groat"},
        {"XDG_CACHE_HOME", "/groat"},
        {"GROAT_CACHE_DIR", ""},
    };
    groat_options options = rig_options(&fix);
    char folder[256];
    char path[400];

    (void)unsetenv("XDG_CACHE_HOME");
    options.cache_dir = NULL;
    for (size_t i = 0; i < COUNT(places); i++) {
        groat_context *context;

        (void)snprintf(folder, sizeof(folder), "%s/%zu", fix.root, i);
        (void)snprintf(path, sizeof(path), "%s%s/groat.sqlite", folder,
                       places[i].below);
        ck_assert_int_eq(setenv(places[i].name, folder, 1), 0);
        context = rig_open_with(&fix, &options);
        ck_assert_str_eq(groat_cache_path(context), path);
        groat_close(context);
    }
    ck_assert_int_eq(fix.warnings, 0);
}
END_TEST

START_TEST(a_folder_that_others_may_write)
{
    groat_context *context;

    ck_assert_int_eq(mkdir(fix.cache, 0700), 0);
    ck_assert_int_eq(chmod(fix.cache, 0777), 0);
    context = rig_open(&fix);
    ck_assert_int_eq(fix.warnings, 1);
    ck_assert_int_eq(rig_said(&fix, "others may write it; run: chmod 700"), 1);
    ck_kernel(context, 3, GROAT_FROM_COMPILER);
    ck_assert_int_eq(access(fix.store, F_OK), -1);
    ck_assert_ptr_nonnull(strstr(groat_cache_problem(context), fix.cache));
    groat_close(context);
}
END_TEST

START_TEST(a_store_that_is_no_folder)
{
    groat_context *context;

    rig_write(fix.cache, "a file", 0600);
    context = rig_open(&fix);
    ck_assert_int_eq(fix.warnings, 1);
    ck_kernel(context, 3, GROAT_FROM_COMPILER);
    groat_close(context);
}
END_TEST

/* A warning and the default: no variable of the store stops a program. */
START_TEST(bounds_that_are_no_numbers)
{
    static const char *const bounds[] = {"many",
                                         "-1",
                                         "0",
                                         "12 bytes",
                                         "1e9",
                                         " 5",
                                         "+5",
                                         "5KB",
                                         "1T",
                                         "99999999999999999999",
                                         "18446744073709551615G"};
    groat_context *context = NULL;

    for (size_t i = 0; i < COUNT(bounds); i++) {
        ck_assert_int_eq(setenv("GROAT_CACHE_MAX_BYTES", bounds[i], 1), 0);
        fix.warnings = 0;
        context = rig_open(&fix);
        ck_assert_int_eq(fix.warnings, 1);
        ck_assert_uint_eq(rig_stat(context).max_bytes, (uint64_t)1 << 30);
        groat_close(context);
    }
    ck_assert_int_eq(setenv("GROAT_CACHE_MAX_BYTES", "3M", 1), 0);
    context = rig_open(&fix);
    ck_assert_uint_eq(rig_stat(context).max_bytes, 3 << 20);
    groat_close(context);
    ck_assert_int_eq(setenv("GROAT_CACHE_MAX_BYTES", "1234567", 1), 0);
    context = rig_open(&fix);
    ck_assert_uint_eq(rig_stat(context).max_bytes, 1234567);
    groat_close(context);
}
END_TEST

/* ---- stores that take nothing at the moment ----------------------------- */

START_TEST(a_locked_store)
{
    groat_context *context = rig_open(&fix);
    sqlite3 *db = NULL;

    ck_kernel(context, 3, GROAT_FROM_COMPILER);
    ck_assert_int_eq(sqlite3_open(fix.store, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL),
                     SQLITE_OK);
    ck_kernel(context, 4, GROAT_FROM_COMPILER);
    ck_kernel(context, 5, GROAT_FROM_COMPILER);
    ck_assert_uint_eq(rig_stat(context).faults, 2);
    ck_assert_int_eq(fix.warnings, 1);
    ck_assert_int_eq(rig_said(&fix, "locked"), 1);
    ck_assert_int_eq(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    ck_kernel(context, 6, GROAT_FROM_COMPILER);
    ck_assert_uint_eq(rig_stat(context).entries, 2);
    groat_close(context);
    ck_stored(3);
    ck_stored(6);
}
END_TEST

/* A kernel of this many bytes and more; most of them are zeros. */
static void write_large_adder(unsigned bytes)
{
    groat__str text = {0};

    groat__str_add(&text, adder_kernel);
    groat__str_addf(&text,
                    "extern \"C\" __attribute__((visibility(\"default\"))) "
                    "const char padding[%u] = {1};\n",
                    bytes);
    rig_write_source(&fix, "adder", "adder.h", text.data);
    groat__str_free(&text);
}

/* Files may not grow beyond what one kernel takes in the journal. */
START_TEST(a_full_disk)
{
    const unsigned bytes = 400 << 10;
    groat_context *context;
    struct rlimit limit;
    groat_cache_stat stat;

    write_large_adder(bytes);
    ck_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    context = rig_open(&fix);
    limit.rlim_cur = bytes + bytes / 2;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_kernel(context, 3, GROAT_FROM_COMPILER);
    ck_assert_uint_eq(rig_stat(context).faults, 0);
    for (unsigned step = 4; step < 7; step++) {
        ck_kernel(context, step, GROAT_FROM_COMPILER);
        ck_kernel(context, step, GROAT_FROM_MEMORY);
    }
    stat = rig_stat(context);
    ck_assert_uint_eq(stat.compiles, 4);
    ck_assert_uint_ge(stat.faults, 1);
    ck_assert_int_ge(fix.warnings, 1);
    ck_assert_int_ge(rig_said(&fix, "said once"), 1);
    limit.rlim_cur = limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_kernel(context, 7, GROAT_FROM_COMPILER);
    groat_close(context);
    ck_stored(7);
    ck_stored(3);
}
END_TEST

/* A bound smaller than the kernel. */
START_TEST(a_store_too_small)
{
    groat_options options = rig_options(&fix);
    groat_context *context;

    options.cache_max_bytes = 8192;
    for (int round = 0; round < 2; round++) {
        context = rig_open_with(&fix, &options);
        ck_kernel(context, 3, GROAT_FROM_COMPILER);
        ck_kernel(context, 3, GROAT_FROM_MEMORY);
        ck_assert_uint_eq(rig_stat(context).entries, 0);
        groat_close(context);
        ck_assert_int_eq(rig_said(&fix, "does not fit the bound"), 1 + round);
    }
}
END_TEST

/* The folder goes away under an open context. */
START_TEST(a_store_that_is_removed)
{
    groat_context *context = rig_open(&fix);

    ck_kernel(context, 3, GROAT_FROM_COMPILER);
    remove_folder(fix.cache);
    ck_kernel(context, 3, GROAT_FROM_MEMORY);
    ck_kernel(context, 4, GROAT_FROM_COMPILER);
    groat_close(context);
    ck_stored(4);
}
END_TEST

/* ---- compilers --------------------------------------------------------- */

/* The same words each time: a search is made once. */
static void ck_no_compiler(const char *words)
{
    groat_context *context = rig_open(&fix);
    groat_spec *spec = NULL;
    char key[33] = "";

    for (int round = 0; round < 2; round++) {
        groat_kernel *kernel = NULL;

        ck_fails(groat_kernel_get(context, "adder", target, &kernel, NULL,
                                  &fix.error),
                 GROAT_NO_DEVICE, &fix.error, words);
        ck_assert_ptr_null(kernel);
    }
    ck_assert_int_eq(groat_spec_parse(context, "adder", target, &spec, NULL),
                     GROAT_OK);
    ck_fails(groat_spec_key(spec, key, NULL, &fix.error), GROAT_NO_DEVICE,
             &fix.error, words);
    ck_fails(groat_build(spec, NULL, NULL, NULL, &fix.error), GROAT_NO_DEVICE,
             &fix.error, words);
    ck_assert_str_eq(key, "");
    groat_spec_free(spec);
    groat_close(context);
}

START_TEST(no_compiler)
{
    ck_assert_int_eq(setenv("GROAT_CXX", "/nonexistent", 1), 0);
    ck_no_compiler("GROAT_CXX=/nonexistent");
    ck_assert_int_eq(setenv("GROAT_CXX", "no-such-compiler", 1), 0);
    ck_no_compiler("GROAT_CXX=no-such-compiler");
    ck_assert_int_eq(setenv("GROAT_CXX", "/", 1), 0);
    ck_no_compiler("/ --version does not run");
    ck_assert_int_eq(setenv("GROAT_CXX", "false", 1), 0);
    ck_no_compiler("false --version does not run");
    (void)unsetenv("GROAT_CXX");
    ck_assert_int_eq(setenv("PATH", "/nonexistent::", 1), 0);
    ck_no_compiler("c++, g++, clang++ in PATH");
    (void)unsetenv("PATH");
    ck_no_compiler("c++, g++, clang++ in PATH");
}
END_TEST

/* What says 0 and leaves nothing is no compiler, and the error says so. */
START_TEST(a_compiler_that_leaves_nothing)
{
    groat_context *context;
    groat_kernel *kernel = NULL;
    char path[256];

    (void)snprintf(path, sizeof(path), "%s/compiler", fix.root);
    rig_write(path, "#!/bin/sh\necho 'compiler 1'\n", 0700);
    ck_assert_int_eq(setenv("GROAT_CXX", path, 1), 0);
    context = rig_open(&fix);
    ck_assert_int_eq(
        groat_kernel_get(context, "adder", target, &kernel, NULL, &fix.error),
        GROAT_COMPILE_FAILED);
    ck_says(&fix.error, path);
    ck_says(&fix.error, "left no file");
    ck_assert_str_eq(fix.error.log, "compiler 1\n");
    groat_close(context);
}
END_TEST

/* Dies by a signal. */
START_TEST(a_compiler_that_dies)
{
    groat_context *context;
    groat_kernel *kernel = NULL;
    char path[256];

    (void)snprintf(path, sizeof(path), "%s/compiler", fix.root);
    rig_write(path,
              "#!/bin/sh\n"
              "[ \"$1\" = --version ] && exec echo compiler 2\n"
              "echo last words\n"
              "kill -9 $$\n",
              0700);
    ck_assert_int_eq(setenv("GROAT_CXX", path, 1), 0);
    context = rig_open(&fix);
    ck_assert_int_eq(
        groat_kernel_get(context, "adder", target, &kernel, NULL, &fix.error),
        GROAT_COMPILE_FAILED);
    ck_says(&fix.error, path);
    ck_says(&fix.error, "signal 9");
    ck_assert_str_eq(fix.error.log, "last words\n");
    groat_close(context);
}
END_TEST

START_TEST(a_compiler_that_is_removed)
{
    groat_context *context;
    groat_kernel *kernel = NULL;
    char path[256];

    (void)snprintf(path, sizeof(path), "%s/compiler", fix.root);
    rig_write(path, "#!/bin/sh\nexec c++ \"$@\"\n", 0700);
    ck_assert_int_eq(setenv("GROAT_CXX", path, 1), 0);
    context = rig_open(&fix);
    ck_kernel(context, 3, GROAT_FROM_COMPILER);
    ck_assert_int_eq(unlink(path), 0);
    ck_fails(groat_kernel_get(context, "adder:step=4", target, &kernel, NULL,
                              &fix.error),
             GROAT_COMPILE_FAILED, &fix.error, "could not be started");
    /* What was made serves on. */
    ck_kernel(context, 3, GROAT_FROM_MEMORY);
    groat_close(context);
}
END_TEST

START_TEST(temporary_folders)
{
    char file[256];
    char longest[700];

    (void)snprintf(file, sizeof(file), "%s/file", fix.root);
    rig_write(file, "no folder", 0600);
    memset(longest, 'x', sizeof(longest) - 1);
    longest[0] = '/';
    longest[sizeof(longest) - 1] = '\0';
    ck_assert_int_eq(setenv("TMPDIR", "/nonexistent/tmp", 1), 0);
    ck_no_compiler("/nonexistent/tmp (from TMPDIR) is not: No such file");
    ck_assert_int_eq(setenv("TMPDIR", file, 1), 0);
    ck_no_compiler("file (from TMPDIR) is not: Not a directory");
    ck_assert_int_eq(setenv("TMPDIR", longest, 1), 0);
    ck_no_compiler("(from TMPDIR) is not: File name too long");
}
END_TEST

/* Nothing is left in the temporary folder, whether it worked or not. */
START_TEST(temporary_files_are_removed)
{
    groat_context *context;
    groat_kernel *kernel = NULL;
    char tmp[256];

    (void)snprintf(tmp, sizeof(tmp), "%s/tmp", fix.root);
    ck_assert_int_eq(mkdir(tmp, 0700), 0);
    ck_assert_int_eq(setenv("TMPDIR", tmp, 1), 0);
    context = rig_open(&fix);
    ck_kernel(context, 3, GROAT_FROM_COMPILER);
    groat_close(context);
    rig_write_source(&fix, "adder", "adder.h",
                     "#include \"params.h\"\nbroken\n");
    context = rig_open(&fix);
    ck_assert_int_eq(
        groat_kernel_get(context, "adder", target, &kernel, NULL, NULL),
        GROAT_COMPILE_FAILED);
    groat_close(context);
    ck_assert_int_eq(rmdir(tmp), 0);
}
END_TEST

/* ---- sources that do not compile --------------------------------------- */

START_TEST(a_compile_error)
{
    groat_context *context;
    groat_kernel *kernel = NULL;
    groat__str text = {0};

    groat__str_add(&text, adder_kernel);
    groat__str_add(&text, "int wrong = undeclared_name;\n");
    rig_write_source(&fix, "adder", "adder.h", text.data);
    groat__str_free(&text);
    context = rig_open(&fix);
    ck_assert_int_eq(
        groat_kernel_get(context, "adder", target, &kernel, NULL, &fix.error),
        GROAT_COMPILE_FAILED);
    ck_assert_ptr_null(kernel);
    ck_says(&fix.error, "refused the source");
    ck_assert_ptr_nonnull(fix.error.log);
    ck_assert_ptr_nonnull(strstr(fix.error.log, "undeclared_name"));
    /* The line is the file's own, not the flattened source's. */
    ck_assert_msg(strstr(fix.error.log, "adder/adder.h:16:") != NULL, "%s",
                  fix.error.log);
    ck_assert_int_eq(
        groat_kernel_get(context, "adder", target, &kernel, NULL, NULL),
        GROAT_COMPILE_FAILED);
    ck_assert_uint_eq(rig_stat(context).entries, 0);
    ck_assert_uint_eq(rig_stat(context).compiles, 0);
    ck_assert_int_eq(fix.warnings, 0);
    groat_close(context);
    /* Put right, it is another key: what failed is in nobody's way. */
    rig_write_adder(&fix);
    context = rig_open(&fix);
    ck_kernel(context, 1, GROAT_FROM_COMPILER);
    groat_close(context);
}
END_TEST

/* Warnings are kept with the binary. */
START_TEST(a_compile_warning)
{
    groat__str text = {0};

    groat__str_add(&text, adder_kernel);
    groat__str_add(&text, "static void nobody_calls()\n{\n}\n");
    rig_write_source(&fix, "adder", "adder.h", text.data);
    groat__str_free(&text);
    for (int round = 0; round < 2; round++) {
        groat_kernel_info info = {.size = sizeof(info)};
        groat_context *context = rig_open(&fix);
        groat_kernel *kernel =
            rig_get(&fix, context, "adder", target,
                    round == 0 ? GROAT_FROM_COMPILER : GROAT_FROM_DISK);

        ck_assert_int_eq(groat_kernel_info_get(kernel, &info), GROAT_OK);
        ck_assert_ptr_nonnull(strstr(info.log, "nobody_calls"));
        groat_close(context);
    }
}
END_TEST

/* Compiles, but has not the entry point that it should: a fresh binary that
 * is refused is the caller's error, and is not compiled a second time. */
START_TEST(a_fresh_binary_that_the_loader_refuses)
{
    groat_context *context;
    groat_kernel *kernel = NULL;

    rig_write_source(&fix, "adder", "adder.h",
                     "#include \"params.h\"\n"
                     "extern \"C\" void another_entry(const void *)\n{\n}\n");
    context = rig_open(&fix);
    ck_fails(
        groat_kernel_get(context, "adder", target, &kernel, NULL, &fix.error),
        GROAT_LOAD_FAILED, &fix.error, "has no symbol adder_1");
    ck_assert_ptr_null(kernel);
    ck_assert_uint_eq(rig_stat(context).compiles, 1);
    groat_close(context);
}
END_TEST

static TCase *plain_tests(void)
{
    TCase *tests = tcase_create("plain");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, a_damaged_entry, 0, 4);
    tcase_add_loop_test(tests, a_binary_that_the_loader_refuses, 0, 4);
    tcase_add_test(tests, a_store_that_is_no_database);
    tcase_add_loop_test(tests, no_home, 0, 3);
    tcase_add_test(tests, places_of_the_environment);
    tcase_add_test(tests, a_folder_that_others_may_write);
    tcase_add_test(tests, a_store_that_is_no_folder);
    tcase_add_test(tests, bounds_that_are_no_numbers);
    tcase_add_test(tests, a_locked_store);
    tcase_add_test(tests, a_full_disk);
    tcase_add_test(tests, a_store_too_small);
    tcase_add_test(tests, a_store_that_is_removed);
    tcase_add_test(tests, no_compiler);
    tcase_add_test(tests, a_compiler_that_leaves_nothing);
    tcase_add_test(tests, a_compiler_that_dies);
    tcase_add_test(tests, a_compiler_that_is_removed);
    tcase_add_test(tests, temporary_folders);
    tcase_add_test(tests, temporary_files_are_removed);
    tcase_add_test(tests, a_compile_error);
    tcase_add_test(tests, a_compile_warning);
    tcase_add_test(tests, a_fresh_binary_that_the_loader_refuses);
    return tests;
}

static TCase *tests_of_modes(void)
{
    TCase *tests = tcase_create("modes");

    tcase_add_checked_fixture(tests, setup_as_nobody, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, a_read_only_file);
    tcase_add_loop_test(tests, a_damaged_entry_in_a_read_only_file, 0, 2);
    tcase_add_loop_test(tests, a_read_only_folder, 0, 2);
    tcase_add_loop_test(tests, an_unreadable_source, 0, 2);
    tcase_add_test(tests, an_unwritable_parent);
    tcase_add_test(tests, temporary_folders_of_others);
    return tests;
}

int main(void)
{
    Suite *suite = suite_create("faults");

    suite_add_tcase(suite, plain_tests());
    suite_add_tcase(suite, tests_of_modes());
    return run_suite(suite);
}
