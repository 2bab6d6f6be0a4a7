/* SPDX-License-Identifier: Apache-2.0
 *
 * test_faults.c: failures of the files and folders of a context.  A store that
 * is damaged, locked, full, foreign or read-only costs a compile and one line,
 * never the kernel; a source that cannot be read is an error that names it.
 * Failures of compilers are in test_compilers.c.
 */
#include "rig.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include "cache/cache.h"

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

static void ck_kernel(groat_context *context, unsigned step,
                      groat_origin expected)
{
    rig_kernel(&fix, context, step, expected);
}

/* Checks that a kernel is compiled, and in memory from then on. */
static void ck_made(groat_context *context, unsigned step)
{
    ck_kernel(context, step, GROAT_FROM_COMPILER);
    ck_kernel(context, step, GROAT_FROM_MEMORY);
}

/* Checks that there is just one warning, with these words. */
static void ck_warned(const char *words)
{
    ck_assert_int_eq(fix.warnings, 1);
    ck_assert_int_eq(rig_said(&fix, words), 1);
}

/* Leaves one kernel in the store. */
static void fill_store(unsigned step)
{
    groat_context *context = rig_open(&fix);

    ck_kernel(context, step, GROAT_FROM_COMPILER);
    groat_close(context);
}

/* Checks that the next context finds it in the store. */
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

/* ---- damaged entries ---------------------------------------------------- */

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
    ck_made(context, 3);
    stat = rig_stat(context);
    ck_assert_uint_eq(stat.compiles, 1);
    ck_assert_uint_eq(stat.hits, 0);
    ck_assert_uint_eq(stat.evictions, 1);
    ck_assert_uint_eq(stat.faults, 1);
    ck_assert_uint_eq(stat.entries, 1);
    ck_warned("is damaged; dropped");
    groat_close(context);
    ck_stored(3);
}
END_TEST

static void plant_another_kernel(void)
{
    groat_context *context = rig_open(&fix);
    groat_spec *spec = NULL;
    void *binary = NULL;
    size_t bytes = 0;

    ck_assert_int_eq(
        groat_spec_parse(context, "adder:step=4", rig_targets[0], &spec, NULL),
        GROAT_OK);
    ck_assert_int_eq(groat_build(spec, &binary, &bytes, NULL, NULL), GROAT_OK);
    rig_plant(&fix, "adder:step=3", binary, bytes);
    groat_free(binary);
    groat_spec_free(spec);
    groat_close(context);
}

static void note_reason(void *user, const groat_compile_event *event)
{
    *(groat_reason *)user = event->reason;
}

/* groat_explain() reports what a get would do. */
START_TEST(a_damaged_entry_is_foretold)
{
    groat_context *context;
    groat_spec *spec;

    fill_store(3);
    context = rig_open(&fix);
    spec = rig_parse(&fix, context, "adder:step=3", rig_targets[0]);
    ck_assert_int_eq(rig_origin(&fix, spec), GROAT_FROM_DISK);
    change_store("UPDATE entry SET binary = zeroblob(bytes)");
    ck_assert_int_eq(rig_origin(&fix, spec), GROAT_FROM_COMPILER);
    groat_spec_free(spec);
    groat_close(context);
}
END_TEST

/* Asks for a kernel while only `spare` descriptors may be opened. */
static groat_status get_with_spare(rlim_t spare, groat_context *context,
                                   const char *text)
{
    groat_kernel *kernel = NULL;
    int lowest = dup(0);
    struct rlimit usual;
    struct rlimit few;
    groat_status status;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
    few = usual;
    few.rlim_cur = (rlim_t)lowest + spare;
    (void)close(lowest);
    groat_error_clear(&fix.error);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    status = groat_kernel_get(context, text, rig_targets[0], &kernel, NULL,
                              &fix.error);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
    return status;
}

/* A loader that has no descriptor says nothing about the binary. */
START_TEST(want_of_descriptors)
{
    int failures = 0;

    fill_store(3);
    for (rlim_t spare = 0; spare < 12; spare++) {
        groat_context *context = rig_open(&fix);
        groat_status status = get_with_spare(spare, context, "adder:step=3");

        failures += status != GROAT_OK;
        if (status != GROAT_OK)
            ck_assert_msg(status == GROAT_NO_MEMORY, "%d: %s", (int)status,
                          fix.error.text);
        ck_assert_uint_eq(rig_stat(context).evictions, 0);
        groat_close(context);
    }
    ck_assert_int_gt(failures, 0);
    ck_stored(3);
}
END_TEST

/* It is named, whichever file of a compile cannot be opened. */
START_TEST(want_of_descriptors_is_named)
{
    groat_status status = GROAT_NO_MEMORY;
    int named = 0;

    for (rlim_t spare = 0; spare < 12 && status == GROAT_NO_MEMORY; spare++) {
        groat_context *context = rig_open(&fix);

        status = get_with_spare(spare, context, "adder:step=4");
        groat_close(context);
        if (status != GROAT_NO_MEMORY)
            continue;
        ck_assert_msg(strstr(fix.error.text, "descriptor") != NULL ||
                          strstr(fix.error.text, "open files") != NULL,
                      "%s", fix.error.text);
        named++;
    }
    ck_assert_int_gt(named, 4);
}
END_TEST

START_TEST(a_binary_that_the_loader_refuses)
{
    groat_options options = rig_options(&fix);
    groat_reason reason = GROAT_REASON_ABSENT;
    groat_context *context;
    groat_cache_stat stat;

    switch (_i) {
    case 0:
        rig_plant(&fix, "adder:step=3", "not a library at all", 20);
        break;
    case 1:
        rig_plant(&fix, "adder:step=3", "", 0);
        break;
    case 2:
        rig_plant(&fix, "adder:step=3", "\177ELF\002\001\001", 7);
        break;
    default:
        /* A library that lacks the entry point. */
        plant_another_kernel();
        break;
    }
    options.compiled = note_reason;
    options.compiled_user = &reason;
    context = rig_open_with(&fix, &options);
    ck_kernel(context, 3, GROAT_FROM_COMPILER);
    stat = rig_stat(context);
    ck_assert_uint_eq(stat.hits, 1);
    ck_assert_uint_eq(stat.compiles, 1);
    ck_assert_uint_eq(stat.evictions, 1);
    ck_assert_str_eq(groat_reason_name(reason), "refused");
    ck_warned("refused the stored binary of adder_3");
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
    ck_warned("set aside");
    groat_close(context);
    ck_stored(3);
}
END_TEST

/* ---- places that cannot be written ------------------------------------- */

static void setup_as_nobody(void)
{
    rig_make_as_nobody(&fix);
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
    ck_warned("read-only");
    groat_close(context);
}
END_TEST

/* Two faults at once: the entry cannot be dropped, and the kernel is served. */
START_TEST(a_damaged_entry_in_a_read_only_file)
{
    groat_context *context;

    if (_i == 0) {
        fill_store(3);
        change_store("UPDATE entry SET seal = zeroblob(16)");
    } else {
        rig_plant(&fix, "adder:step=3", "not a library at all", 20);
    }
    ck_assert_int_eq(chmod(fix.store, 0400), 0);
    for (int round = 0; round < 2; round++) {
        context = rig_open(&fix);
        ck_made(context, 3);
        ck_assert_uint_eq(rig_stat(context).compiles, 1);
        ck_assert_uint_eq(rig_stat(context).entries, 1);
        groat_close(context);
    }
}
END_TEST

/* Without a store file in it, and with one. */
START_TEST(a_read_only_folder)
{
    groat_context *context;

    if (_i == 0)
        ck_assert_int_eq(mkdir(fix.cache, 0700), 0);
    else
        fill_store(3);
    ck_assert_int_eq(chmod(fix.cache, 0500), 0);
    context = rig_open(&fix);
    ck_warned("kernels are kept in memory only");
    ck_assert_int_eq(rig_said(&fix, fix.cache), 1);
    ck_assert_ptr_null(groat_cache_path(context));
    ck_assert_ptr_nonnull(groat_cache_problem(context));
    ck_made(context, 3);
    ck_assert_int_eq(fix.warnings, 1);
    groat_close(context);
}
END_TEST

START_TEST(an_unreadable_source)
{
    groat_context *context;
    groat_spec *spec = NULL;
    char path[300];
    char words[400];

    (void)snprintf(path, sizeof(path), "%s/adder/%s", fix.families,
                   _i == 0 ? "adder.h" : "params.def");
    ck_assert_int_eq(chmod(path, 0), 0);
    (void)snprintf(words, sizeof(words),
                   "family adder: cannot open %s: Permission denied", path);
    context = rig_open(&fix);
    ck_fails(
        groat_spec_parse(context, "adder", "cpu:gfx950", &spec, &fix.error),
        GROAT_INVALID, &fix.error, words);
    groat_close(context);
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

/* ---- no place for a store ---------------------------------------------- */

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
    ck_warned("kernels are kept in memory only");
    ck_assert_int_eq(rig_said(&fix, "GROAT_CACHE_DIR"), 1);
    ck_assert_ptr_null(groat_cache_path(context));
    ck_made(context, 3);
    ck_assert_uint_eq(rig_stat(context).entries, 0);
    ck_assert_int_eq(fix.warnings, 1);
    groat_close(context);
}
END_TEST

/* The places that the environment names, in their order of precedence. */
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

/* A group shares a folder only on explicit request, and only a named one. */
START_TEST(a_folder_of_a_group)
{
    groat_options options = rig_options(&fix);
    groat_context *context;
    struct stat st;

    ck_assert_int_eq(mkdir(fix.cache, 0700), 0);
    ck_assert_int_eq(chmod(fix.cache, 02770), 0);
    ck_assert_int_eq(setenv("GROAT_CACHE_SHARE", "group", 1), 0);
    context = rig_open(&fix);
    ck_warned("others may write it; run: chmod 700");
    groat_close(context);
    options.flags = GROAT_OPEN_SHARE_GROUP;
    context = rig_open_with(&fix, &options);
    ck_kernel(context, 3, GROAT_FROM_COMPILER);
    groat_close(context);
    ck_assert_int_eq(stat(fix.store, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0660);
    options.flags = 0;
    options.cache_dir = NULL;
    ck_assert_int_eq(setenv("GROAT_CACHE_DIR", fix.cache, 1), 0);
    context = rig_open_with(&fix, &options);
    ck_kernel(context, 3, GROAT_FROM_DISK);
    groat_close(context);
    ck_assert_int_eq(setenv("GROAT_CACHE_SHARE", "world", 1), 0);
    context = rig_open_with(&fix, &options);
    ck_assert_int_eq(
        rig_said(&fix, "GROAT_CACHE_SHARE is 'world'; allowed: group"), 1);
    ck_assert_ptr_null(groat_cache_path(context));
    groat_close(context);
    options.flags = GROAT_OPEN_SHARE_GROUP;
    (void)unsetenv("GROAT_CACHE_DIR");
    context = rig_open_with(&fix, &options);
    ck_assert_ptr_nonnull(
        strstr(groat_cache_problem(context), "has to be named"));
    groat_close(context);
}
END_TEST

START_TEST(a_folder_that_others_may_write)
{
    groat_context *context;

    ck_assert_int_eq(mkdir(fix.cache, 0700), 0);
    ck_assert_int_eq(chmod(fix.cache, 0777), 0);
    context = rig_open(&fix);
    ck_warned("others may write it; run: chmod 700");
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

/* ---- stores that cannot be written for a while -------------------------- */

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
    /* The key could neither be claimed nor stored. */
    ck_assert_uint_eq(rig_stat(context).faults, 2);
    ck_warned("locked");
    ck_assert_int_eq(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    ck_kernel(context, 6, GROAT_FROM_COMPILER);
    ck_assert_uint_eq(rig_stat(context).entries, 2);
    groat_close(context);
    ck_stored(3);
    ck_stored(6);
}
END_TEST

/* Writes a kernel of at least this many bytes; most of them are zeros. */
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

/* Files may not grow beyond the size of one kernel in the journal. */
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
        ck_made(context, step);
    }
    stat = rig_stat(context);
    ck_assert_uint_eq(stat.compiles, 4);
    ck_assert_uint_ge(stat.faults, 1);
    ck_assert_int_ge(fix.warnings, 1);
    ck_assert_int_ge(rig_said(&fix, "reported once"), 1);
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
        ck_made(context, 3);
        ck_assert_uint_eq(rig_stat(context).entries, 0);
        groat_close(context);
        ck_assert_int_eq(rig_said(&fix, "does not fit the bound"), 1 + round);
    }
}
END_TEST

/* The folder is removed under an open context. */
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

static TCase *plain_tests(void)
{
    TCase *tests = tcase_create("plain");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, a_damaged_entry, 0, 4);
    tcase_add_test(tests, a_damaged_entry_is_foretold);
    tcase_add_test(tests, want_of_descriptors);
    tcase_add_test(tests, want_of_descriptors_is_named);
    tcase_add_loop_test(tests, a_binary_that_the_loader_refuses, 0, 4);
    tcase_add_test(tests, a_store_that_is_no_database);
    tcase_add_loop_test(tests, no_home, 0, 3);
    tcase_add_test(tests, places_of_the_environment);
    tcase_add_test(tests, a_folder_of_a_group);
    tcase_add_test(tests, a_folder_that_others_may_write);
    tcase_add_test(tests, a_store_that_is_no_folder);
    tcase_add_test(tests, bounds_that_are_no_numbers);
    tcase_add_test(tests, a_locked_store);
    tcase_add_test(tests, a_full_disk);
    tcase_add_test(tests, a_store_too_small);
    tcase_add_test(tests, a_store_that_is_removed);
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
    return tests;
}

int main(void)
{
    Suite *suite = suite_create("faults");

    suite_add_tcase(suite, plain_tests());
    suite_add_tcase(suite, tests_of_modes());
    return run_suite(suite);
}
