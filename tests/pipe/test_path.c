/* SPDX-License-Identifier: Apache-2.0
 *
 * test_path.c walks the whole path on cpu targets through the public API: spec,
 * key, compile, store, memory, launch.  Failures on the way are in
 * test_faults.c, many threads in test_race.c.
 */
#include "rig.h"

#include <fcntl.h>

static rig fix;

static void setup(void)
{
    rig_make(&fix);
    rig_write_adder(&fix);
    /* No test here needs a device of the machine. */
    (void)setenv("GROAT_CUDA", "/dev/null/none", 1);
    (void)setenv("GROAT_HIP", "/dev/null/none", 1);
}

static void teardown(void)
{
    rig_drop(&fix);
}

static groat_kernel_info info_of(const groat_kernel *kernel)
{
    groat_kernel_info info = {.size = sizeof(info)};

    ck_assert_int_eq(groat_kernel_info_get(kernel, &info, NULL), GROAT_OK);
    return info;
}

/* ---- where a kernel comes from ----------------------------------------- */

START_TEST(compiled_then_memory_then_disk)
{
    const char *target = rig_targets[_i];
    groat_context *context = rig_open(&fix);
    groat_kernel *first =
        rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_COMPILER);
    groat_cache_stat stat;

    ck_assert(rig_adds(context, target, first, 3));
    ck_assert_ptr_eq(
        rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_MEMORY),
        first);
    /* Another spelling of the same spec. */
    ck_assert_ptr_eq(rig_get(&fix, context, "adder:doubled=6,step=3", target,
                             GROAT_FROM_MEMORY),
                     first);
    stat = rig_stat(context);
    ck_assert_uint_eq(stat.compiles, 1);
    ck_assert_uint_eq(stat.memory_hits, 2);
    ck_assert_uint_eq(stat.hits, 0);
    ck_assert_uint_eq(stat.misses, 1);
    ck_assert_uint_eq(stat.entries, 1);
    groat_close(context);

    context = rig_open(&fix);
    first = rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_DISK);
    ck_assert(rig_adds(context, target, first, 3));
    stat = rig_stat(context);
    ck_assert_uint_eq(stat.compiles, 0);
    ck_assert_uint_eq(stat.hits, 1);
    ck_assert_uint_eq(stat.misses, 0);
    ck_assert_uint_eq(stat.faults, 0);
    groat_close(context);
    ck_assert_int_eq(rig_said(&fix, ""), 0);
}
END_TEST

START_TEST(info_of_a_kernel)
{
    groat_kernel_info bad = {.size = sizeof(bad) - 1};
    groat_kernel_info fresh;
    groat_kernel_info stored;
    groat_context *context = rig_open(&fix);
    groat_context *other;
    groat_spec *spec = rig_parse(&fix, context, "adder:step=7", "cpu:sm_90a");
    groat_kernel *kernel = NULL;
    char *identity = NULL;
    char key[33];

    ck_assert_int_eq(
        groat_kernel_get_spec(spec, NULL, &kernel, NULL, &fix.error), GROAT_OK);
    fresh = info_of(kernel);
    ck_assert_str_eq(fresh.spec, "adder:step=7,doubled=14");
    ck_assert_str_eq(fresh.spec, groat_spec_text(spec));
    ck_assert_str_eq(fresh.target, "cpu:sm_90a");
    ck_assert_str_eq(fresh.name, "adder_7");
    ck_assert_int_eq(groat_spec_key(spec, key, &identity, &fix.error),
                     GROAT_OK);
    ck_assert_str_eq(fresh.key, key);
    ck_assert_ptr_nonnull(strstr(identity, "\nparam doubled 14\n"));
    ck_assert_ptr_nonnull(strstr(identity, "\ntarget cpu:sm_90a\n"));
    ck_assert_ptr_nonnull(strstr(identity, "\ncompiler c++ "));
    ck_assert_ptr_nonnull(strstr(identity, "\noption -std=c++17\n"));
    ck_assert_ptr_null(strstr(identity, fix.root));
    groat_free(identity);
    ck_assert_int_eq(fresh.origin, GROAT_FROM_COMPILER);
    ck_assert_double_gt(fresh.compile_ms, 0);
    ck_assert_double_gt(fresh.load_ms, 0);
    ck_assert_uint_eq(fresh.block[0], 64);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(fresh.block[i], i == 0 ? 64 : 1);
        ck_assert_uint_eq(fresh.cluster[i], 1);
    }
    ck_assert_uint_eq(fresh.shared_bytes, 0);
    ck_assert_uint_eq(fresh.args_bytes, sizeof(struct adder_args));
    ck_assert_int_gt(fresh.facts.code_bytes, 0);
    ck_assert_int_eq(fresh.facts.max_threads, 1024);
    ck_assert_str_eq(fresh.log, "");
    ck_assert_ptr_null(groat_kernel_native(kernel));
    ck_assert_int_eq(groat_kernel_info_get(kernel, &bad, NULL), GROAT_INVALID);

    /* A kernel from the store has the same facts, but for the compile time. */
    other = rig_open(&fix);
    stored = info_of(
        rig_get(&fix, other, "adder:step=7", "cpu:sm_90a", GROAT_FROM_DISK));
    ck_assert_str_eq(stored.spec, fresh.spec);
    ck_assert_str_eq(stored.key, fresh.key);
    ck_assert_double_eq(stored.compile_ms, 0);
    ck_assert_mem_eq(&stored.facts, &fresh.facts, sizeof(fresh.facts));
    groat_close(other);
    groat_spec_free(spec);
    groat_close(context);
}
END_TEST

START_TEST(built_ahead)
{
    groat_context *context = rig_open(&fix);
    groat_spec *spec = rig_parse(&fix, context, "adder:step=9", "cpu:gfx942");
    groat_kernel_info info = {.size = sizeof(info)};
    groat_kernel_info bad = {.size = 1};
    void *binary = NULL;
    void *again = NULL;
    size_t bytes = 0;
    size_t bytes_again = 0;

    ck_fails(groat_build(spec, &binary, &bytes, &bad, &fix.error),
             GROAT_INVALID, &fix.error, "info.size is 1; it is");
    ck_fails(groat_build(spec, &binary, NULL, &info, &fix.error), GROAT_INVALID,
             &fix.error, "binary and bytes");
    ck_fails(groat_build(spec, NULL, &bytes, &info, &fix.error), GROAT_INVALID,
             &fix.error, "binary and bytes");
    ck_assert_ptr_null(binary);
    ck_assert_uint_eq(bytes, 0);
    ck_assert_uint_eq(rig_stat(context).compiles, 0);
    ck_assert_int_eq(groat_build(spec, &binary, &bytes, &info, &fix.error),
                     GROAT_OK);
    ck_assert_int_eq(info.origin, GROAT_FROM_COMPILER);
    ck_assert_str_eq(info.name, "adder_9");
    ck_assert_str_eq(info.spec, "adder:step=9,doubled=18");
    ck_assert_double_eq(info.load_ms, 0);
    ck_assert_uint_eq(bytes, (size_t)info.facts.code_bytes);
    ck_assert_mem_eq(binary, "\177ELF", 4);
    ck_assert_int_eq(groat_build(spec, &again, &bytes_again, &info, NULL),
                     GROAT_OK);
    ck_assert_int_eq(info.origin, GROAT_FROM_DISK);
    ck_assert_uint_eq(bytes_again, bytes);
    ck_assert_mem_eq(again, binary, bytes);
    ck_assert_int_eq(groat_build(spec, NULL, NULL, NULL, NULL), GROAT_OK);
    ck_assert_ptr_null(groat_kernel_lookup_spec(spec));
    (void)rig_get(&fix, context, "adder:step=9", "cpu:gfx942", GROAT_FROM_DISK);
    ck_assert_uint_eq(rig_stat(context).compiles, 1);
    groat_free(binary);
    groat_free(again);
    groat_spec_free(spec);
    groat_close(context);
}
END_TEST

START_TEST(no_disk)
{
    groat_options options = rig_options(&fix);
    uint64_t n = 0;

    options.flags = GROAT_OPEN_NO_DISK;
    for (int round = 0; round < 2; round++) {
        groat_context *context = rig_open_with(&fix, &options);
        groat_kernel *kernel =
            rig_get(&fix, context, "adder", "cpu:gfx950", GROAT_FROM_COMPILER);

        ck_assert(rig_adds(context, "cpu:gfx950", kernel, 1));
        ck_assert_ptr_null(groat_cache_path(context));
        ck_assert_ptr_nonnull(groat_cache_problem(context));
        ck_assert_uint_eq(rig_stat(context).compiles, 1);
        ck_fails(groat_cache_clear(context, &n, &fix.error), GROAT_IO,
                 &fix.error, "there is no store");
        ck_fails(groat_cache_gc(context, 1, &n, &fix.error), GROAT_IO,
                 &fix.error, "there is no store");
        ck_fails(groat_cache_verify(context, &n, &n, &fix.error), GROAT_IO,
                 &fix.error, "there is no store");
        ck_fails(groat_cache_backup(context, fix.cache, &fix.error), GROAT_IO,
                 &fix.error, "there is no store");
        groat_close(context);
    }
    ck_assert_int_eq(access(fix.cache, F_OK), -1);
    ck_assert_int_eq(rig_said(&fix, ""), 0);
}
END_TEST

/* ---- more than one kernel ---------------------------------------------- */

START_TEST(kernels_side_by_side)
{
    groat_context *one = rig_open(&fix);
    groat_context *two = rig_open(&fix);
    groat_kernel *kernels[4];

    kernels[0] =
        rig_get(&fix, one, "adder:step=1", "cpu:gfx950", GROAT_FROM_COMPILER);
    kernels[1] =
        rig_get(&fix, one, "adder:step=2", "cpu:gfx950", GROAT_FROM_COMPILER);
    /* The same bytes, loaded twice in one process. */
    kernels[2] =
        rig_get(&fix, two, "adder:step=1", "cpu:gfx950", GROAT_FROM_DISK);
    kernels[3] =
        rig_get(&fix, two, "adder:step=2", "cpu:gfx950", GROAT_FROM_DISK);
    for (int round = 0; round < 3; round++)
        for (unsigned k = 0; k < 4; k++)
            ck_assert(rig_adds(k < 2 ? one : two, "cpu:gfx950", kernels[k],
                               1 + k % 2));
    groat_close(one);
    ck_assert(rig_adds(two, "cpu:gfx950", kernels[2], 1));
    ck_assert(rig_adds(two, "cpu:gfx950", kernels[3], 2));
    groat_close(two);
}
END_TEST

/* An unloaded library must not come back in the place of another kernel. */
START_TEST(loads_after_unloads)
{
    for (unsigned round = 0; round < 30; round++) {
        groat_context *context = rig_open(&fix);
        groat_kernel *kernel;
        char spec[32];

        (void)snprintf(spec, sizeof(spec), "adder:step=%u", 1 + round % 3);
        kernel = rig_get(&fix, context, spec, "cpu:gfx950",
                         round < 3 ? GROAT_FROM_COMPILER : GROAT_FROM_DISK);
        ck_assert(rig_adds(context, "cpu:gfx950", kernel, 1 + round % 3));
        groat_close(context);
    }
}
END_TEST

START_TEST(released_handles)
{
    groat_context *context = rig_open(&fix);
    groat_kernel *kernel =
        rig_get(&fix, context, "adder", "cpu:gfx950", GROAT_FROM_COMPILER);

    ck_assert_ptr_eq(groat_kernel_retain(kernel), kernel);
    groat_kernel_release(kernel);
    groat_kernel_release(kernel);
    groat_kernel_release(NULL);
    /* The context keeps it: a borrowed pointer is good until groat_close. */
    ck_assert_ptr_eq(groat_kernel_lookup(context, "adder", "cpu:gfx950"),
                     kernel);
    ck_assert(rig_adds(context, "cpu:gfx950", kernel, 1));
    ck_assert_ptr_eq(
        rig_get(&fix, context, "adder", "cpu:gfx950", GROAT_FROM_MEMORY),
        kernel);
    groat_kernel_release(kernel);
    groat_close(context);
    groat_close(NULL);
}
END_TEST

/* ---- looking up -------------------------------------------------------- */

START_TEST(lookup_by_text)
{
    groat_context *context = rig_open(&fix);
    groat_kernel *kernel;

    ck_assert_ptr_null(groat_kernel_lookup(context, "adder", "cpu:gfx950"));
    kernel = rig_get(&fix, context, "adder", "cpu:gfx950", GROAT_FROM_COMPILER);
    ck_assert_ptr_eq(groat_kernel_lookup(context, "adder", "cpu:gfx950"),
                     kernel);
    ck_assert_ptr_null(groat_kernel_lookup(context, "adder", "cpu:gfx90a"));
    ck_assert_ptr_null(
        groat_kernel_lookup(context, "adder:step=2", "cpu:gfx950"));
    ck_assert_ptr_null(groat_kernel_lookup(context, "adder", ""));
    ck_assert_ptr_null(groat_kernel_lookup(context, "", "adder"));
    ck_assert_ptr_null(groat_kernel_lookup(context, NULL, "cpu:gfx950"));
    /* A new spelling is not found, though its kernel is loaded. */
    ck_assert_ptr_null(
        groat_kernel_lookup(context, "adder:step=1", "cpu:gfx950"));
    ck_assert_ptr_eq(
        rig_get(&fix, context, "adder:step=1", "cpu:gfx950", GROAT_FROM_MEMORY),
        kernel);
    ck_assert_ptr_eq(groat_kernel_lookup(context, "adder:step=1", "cpu:gfx950"),
                     kernel);
    groat_close(context);
}
END_TEST

START_TEST(lookup_by_values)
{
    groat_context *context = rig_open(&fix);
    groat_spec *spec = rig_parse(&fix, context, "adder", "cpu:gfx950");
    groat_spec *other = rig_parse(&fix, context, "adder", "cpu:gfx90a");
    groat_kernel *two = NULL;
    groat_kernel *three = NULL;
    groat_origin origin = GROAT_FROM_COMPILER;

    ck_assert_str_eq(groat_spec_text(spec), "adder:step=1,doubled=2");
    ck_assert_int_eq(groat_spec_set(spec, "step", 2, &fix.error), GROAT_OK);
    /* A default derived from step keeps its value. */
    ck_assert_str_eq(groat_spec_text(spec), "adder:step=2,doubled=2");
    ck_assert_int_eq(groat_spec_set(spec, "doubled", 4, &fix.error), GROAT_OK);
    ck_assert_ptr_null(groat_kernel_lookup_spec(spec));
    ck_assert_int_eq(
        groat_kernel_get_spec(spec, NULL, &two, &origin, &fix.error), GROAT_OK);
    ck_assert_int_eq(origin, GROAT_FROM_COMPILER);
    ck_assert_ptr_eq(groat_kernel_lookup_spec(spec), two);
    ck_assert_int_eq(groat_spec_set(spec, "step", 3, &fix.error), GROAT_OK);
    ck_assert_ptr_null(groat_kernel_lookup_spec(spec));
    ck_assert_int_eq(
        groat_kernel_get_spec(spec, NULL, &three, &origin, &fix.error),
        GROAT_OK);
    ck_assert_ptr_ne(three, two);
    ck_assert(rig_adds(context, "cpu:gfx950", three, 3));
    ck_assert_int_eq(groat_spec_set(spec, "step", 2, &fix.error), GROAT_OK);
    ck_assert_ptr_eq(groat_kernel_lookup_spec(spec), two);
    ck_assert_int_eq(
        groat_kernel_get_spec(spec, NULL, &two, &origin, &fix.error), GROAT_OK);
    ck_assert_int_eq(origin, GROAT_FROM_MEMORY);
    /* Texts and set values name one kernel; another arch is another kernel. */
    ck_assert_ptr_eq(
        rig_get(&fix, context, "adder:step=2", "cpu:gfx950", GROAT_FROM_MEMORY),
        two);
    ck_assert_int_eq(groat_spec_set(other, "step", 2, &fix.error), GROAT_OK);
    ck_assert_int_eq(groat_spec_set(other, "doubled", 4, &fix.error), GROAT_OK);
    ck_assert_ptr_null(groat_kernel_lookup_spec(other));
    groat_spec_free(spec);
    groat_spec_free(other);
    groat_close(context);
}
END_TEST

/* A refused value leaves the spec as it was. */
START_TEST(refused_values)
{
    static const struct {
        const char *name;
        int64_t value;
        const char *words;
    } refused[] = {
        {"step", 0, "1..1000"},
        {"step", 1001, "1..1000"},
        {"step", 666, "this one is refused"},
        {"steps", 1, "no parameter or constant 'steps'"},
        {"arch_wave_lanes", 32, "cannot be set"},
    };
    groat_context *context = rig_open(&fix);
    groat_spec *spec = rig_parse(&fix, context, "adder:step=5", "cpu:gfx950");
    int64_t value = 0;

    for (size_t i = 0; i < COUNT(refused); i++) {
        ck_fails(
            groat_spec_set(spec, refused[i].name, refused[i].value, &fix.error),
            GROAT_INVALID, &fix.error, refused[i].words);
        ck_assert_str_eq(groat_spec_text(spec), "adder:step=5,doubled=10");
    }
    ck_assert_int_eq(groat_spec_get(spec, "step", &value, NULL), GROAT_OK);
    ck_assert_int_eq(value, 5);
    groat_spec_free(spec);
    groat_close(context);
}
END_TEST

START_TEST(the_default_target)
{
    groat_context *context = rig_open(&fix);
    groat_kernel *kernel;
    groat_spec *spec;

    ck_assert_ptr_null(groat_kernel_lookup(context, "adder", NULL));
    kernel = rig_get(&fix, context, "adder", NULL, GROAT_FROM_COMPILER);
    ck_assert_str_eq(groat_default_target(context), "cpu:gfx950");
    ck_assert_str_eq(info_of(kernel).target, "cpu:gfx950");
    ck_assert_ptr_eq(groat_kernel_lookup(context, "adder", NULL), kernel);
    ck_assert_ptr_eq(groat_kernel_lookup(context, "adder", "cpu:gfx950"),
                     kernel);
    ck_assert(rig_adds(context, NULL, kernel, 1));
    spec = rig_parse(&fix, context, "adder", NULL);
    ck_assert_str_eq(groat_spec_target(spec), "cpu:gfx950");
    ck_assert_ptr_eq(groat_kernel_lookup_spec(spec), kernel);
    groat_spec_free(spec);
    groat_close(context);
}
END_TEST

/* ---- launches ---------------------------------------------------------- */

static void ck_refused(groat_kernel *kernel, const groat_launch *launch,
                       const void *args, size_t bytes, const char *words)
{
    double us = -1;

    ck_fails(groat_kernel_launch(kernel, launch, args, bytes, &fix.error),
             GROAT_INVALID, &fix.error, words);
    ck_fails(groat_kernel_time(kernel, launch, args, bytes, 1, &us, &fix.error),
             GROAT_INVALID, &fix.error, words);
    ck_assert_double_eq(us, -1);
    ck_assert_int_eq(groat_kernel_launch(kernel, launch, args, bytes, NULL),
                     GROAT_INVALID);
}

START_TEST(refused_launches)
{
    groat_context *context = rig_open(&fix);
    groat_kernel *kernel =
        rig_get(&fix, context, "adder", "cpu:gfx950", GROAT_FROM_COMPILER);
    groat_launch good = GROAT_LAUNCH_INIT;
    groat_launch bad = GROAT_LAUNCH_INIT;
    struct adder_args args = {0};
    double us = -1;

    ck_refused(kernel, NULL, &args, sizeof(args), "launch is NULL");
    ck_refused(kernel, &good, NULL, sizeof(args), "args is NULL");
    bad.size = sizeof(bad) - 1;
    ck_refused(kernel, &bad, &args, sizeof(args), "launch.size is ");
    ck_refused(kernel, &good, &args, sizeof(args) - 1,
               "adder_1: args are 23 bytes; the family's are 24");
    ck_refused(kernel, &good, &args, sizeof(args) + 8, "args are 32 bytes");
    ck_refused(kernel, &good, &args, 0, "args are 0 bytes");
    for (int i = 0; i < 3; i++) {
        bad = good;
        bad.grid[i] = 0;
        ck_refused(kernel, &bad, &args, sizeof(args), "grid is ");
    }
    ck_fails(groat_kernel_time(kernel, &good, &args, sizeof(args), 0, &us,
                               &fix.error),
             GROAT_INVALID, &fix.error, "repeats is 0");
    ck_assert_int_eq(groat_kernel_time(kernel, &good, &args, sizeof(args), 3,
                                       &us, &fix.error),
                     GROAT_OK);
    ck_assert_double_ge(us, 0);
    ck_assert(rig_adds(context, "cpu:gfx950", kernel, 1));
    groat_close(context);
}
END_TEST

START_TEST(refused_gets)
{
    static const struct {
        const char *spec;
        const char *target;
        const char *words;
    } refused[] = {
        {NULL, "cpu:gfx950", "the spec's text is NULL"},
        {"", "cpu:gfx950", "family ''"},
        {"adders", "cpu:gfx950", "family 'adders' is unknown"},
        {"adde", "cpu:gfx950", "family 'adde' is unknown"},
        {"", "cpu:gfx950", "family '' is unknown"},
        {":", "cpu:gfx950", "family '' is unknown"},
        {"adder,rows=8", "cpu:gfx950", "family 'adder,rows=8' is unknown"},
        {"adder:step=0", "cpu:gfx950", "step"},
        {"adder:step=666", "cpu:gfx950", "this one is refused"},
        {"adder", "cpu:gfx9", "target 'cpu:gfx9' is unknown"},
        {"adder", "gfx950", "target 'gfx950' is unknown"},
        {"adder", "cuda:gfx950", "is unknown"},
    };
    groat_context *context = rig_open(&fix);

    for (size_t i = 0; i < COUNT(refused); i++) {
        groat_kernel *kernel = NULL;

        ck_fails(groat_kernel_get(context, refused[i].spec, refused[i].target,
                                  &kernel, NULL, &fix.error),
                 GROAT_INVALID, &fix.error, refused[i].words);
        ck_assert_ptr_null(kernel);
    }
    ck_assert_uint_eq(rig_stat(context).compiles, 0);
    groat_close(context);
}
END_TEST

START_TEST(memory_is_zeroed)
{
    groat_context *context = rig_open(&fix);
    const char *target = "cpu:sm_90a";
    const size_t bytes = ((size_t)2 << 20) + 5; /* more than are written once */
    unsigned char *host = malloc(bytes);
    uint64_t address = 0;

    memset(host, 0x77, bytes);
    ck_assert_int_eq(groat_memory_alloc(context, target, bytes, &address, NULL),
                     GROAT_OK);
    ck_assert_int_eq(
        groat_memory_write(context, target, address, host, bytes, NULL),
        GROAT_OK);
    ck_assert_int_eq(
        groat_memory_write(context, target, address + 1, NULL, bytes - 2, NULL),
        GROAT_OK);
    ck_assert_int_eq(
        groat_memory_read(context, target, host, address, bytes, NULL),
        GROAT_OK);
    ck_assert_uint_eq(host[0], 0x77);
    for (size_t i = 1; i < bytes - 1; i++)
        ck_assert_msg(host[i] == 0, "byte %zu is %u", i, host[i]);
    ck_assert_uint_eq(host[bytes - 1], 0x77);
    ck_assert_int_eq(
        groat_memory_write(context, target, address, NULL, 0, NULL), GROAT_OK);
    ck_fails(groat_memory_write(context, target, address, NULL, bytes + 1,
                                &fix.error),
             GROAT_LAUNCH_FAILED, &fix.error, "are not inside one buffer");
    free(host);
    groat_close(context);
}
END_TEST

START_TEST(memory_of_a_target)
{
    groat_context *context = rig_open(&fix);
    const char *target = "cpu:sm_90a";
    unsigned char bytes[16] = {0};
    uint64_t address = 0;
    uint64_t empty = 0;

    ck_assert_int_eq(groat_memory_alloc(context, target, 16, &address, NULL),
                     GROAT_OK);
    ck_assert_int_eq(groat_memory_alloc(context, target, 0, &empty, NULL),
                     GROAT_OK);
    ck_assert_uint_ne(empty, 0);
    ck_assert_int_eq(
        groat_memory_write(context, target, address, bytes, 16, NULL),
        GROAT_OK);
    ck_fails(
        groat_memory_write(context, target, address + 1, bytes, 16, &fix.error),
        GROAT_LAUNCH_FAILED, &fix.error, "are not inside one buffer");
    ck_fails(
        groat_memory_read(context, target, bytes, address - 1, 16, &fix.error),
        GROAT_LAUNCH_FAILED, &fix.error, "are not inside one buffer");
    ck_fails(groat_memory_read(context, target, bytes, empty, 1, &fix.error),
             GROAT_LAUNCH_FAILED, &fix.error, "are not inside one buffer");
    ck_fails(groat_memory_alloc(context, target, SIZE_MAX, &empty, &fix.error),
             GROAT_NO_MEMORY, &fix.error, "no memory");
    ck_assert_int_eq(groat_synchronize(context, target, NULL), GROAT_OK);
    groat_memory_free(context, target, address);
    groat_memory_free(context, target, 0);
    ck_fails(groat_memory_read(context, target, bytes, address, 16, &fix.error),
             GROAT_LAUNCH_FAILED, &fix.error, "are not inside one buffer");
    groat_memory_free(context, target, empty);
    groat_close(context);
}
END_TEST

/* A kernel may not read a freed buffer. */
START_TEST(freed_memory_is_judged)
{
    groat_context *context = rig_open(&fix);
    groat_kernel *kernel =
        rig_get(&fix, context, "adder", "cpu:gfx950", GROAT_FROM_COMPILER);
    groat_launch launch = GROAT_LAUNCH_INIT;
    struct adder_args args = {0};
    unsigned char zeros[64 * 16] = {0};

    args.input = rig_upload(context, "cpu:gfx950", zeros, sizeof(zeros));
    args.output = rig_upload(context, "cpu:gfx950", zeros, sizeof(zeros));
    args.count = 64;
    ck_assert_int_eq(
        groat_kernel_launch(kernel, &launch, &args, sizeof(args), &fix.error),
        GROAT_OK);
    groat_memory_free(context, "cpu:gfx950", args.input);
    ck_fails(
        groat_kernel_launch(kernel, &launch, &args, sizeof(args), &fix.error),
        GROAT_JUDGED, &fix.error,
        "adder_1 on gfx950: block 0,0,0 thread 0 (wave 0 lane 0) reads");
    groat_close(context);
}
END_TEST

/* ---- families of the user ---------------------------------------------- */

START_TEST(a_changed_source_is_another_kernel)
{
    static const char *const files[] = {"adder.h", "args.h", "params.def"};
    static const char *const texts[] = {adder_kernel, adder_header,
                                        adder_params};
    static const char *const lines[] = {"// changed\n", "// changed\n",
                                        "# changed\n"};
    groat_context *context = rig_open(&fix);
    groat_kernel_info info = info_of(
        rig_get(&fix, context, "adder", "cpu:gfx950", GROAT_FROM_COMPILER));
    char key[33];

    memcpy(key, info.key, sizeof(key));
    groat_close(context);
    for (size_t i = 0; i < COUNT(files); i++) {
        groat__str text = {0};

        groat__str_add(&text, texts[i]);
        groat__str_add(&text, lines[i]);
        rig_write_source(&fix, "adder", files[i], text.data);
        groat__str_free(&text);
        context = rig_open(&fix);
        info = info_of(
            rig_get(&fix, context, "adder", "cpu:gfx950", GROAT_FROM_COMPILER));
        ck_assert_str_ne(info.key, key);
        groat_close(context);
        rig_write_source(&fix, "adder", files[i], texts[i]);
    }
    /* A file that no compiler reads changes nothing. */
    rig_write_source(&fix, "adder", "notes.txt", "a word");
    context = rig_open(&fix);
    (void)rig_get(&fix, context, "adder", "cpu:gfx950", GROAT_FROM_DISK);
    ck_assert_uint_eq(rig_stat(context).entries, 4);
    groat_close(context);
}
END_TEST

/* A block too large for any machine is refused before anything runs. */
START_TEST(blocks_too_large)
{
    static const struct {
        const char *line;
        const char *words;
    } launches[] = {
        {"launch block_y = 17\n", "64 x 17 x 1"},
        {"launch block_y = 1000\nlaunch block_z = 60\n", "64 x 1000 x 60"},
        {"launch shared = arch_shared_bytes + 16\n", "65552 bytes"},
    };
    groat_context *context;
    groat_kernel *kernel = NULL;
    groat__str text = {0};

    groat__str_add(&text, adder_params);
    groat__str_add(&text, launches[_i].line);
    rig_write_source(&fix, "adder", "params.def", text.data);
    groat__str_free(&text);
    context = rig_open(&fix);
    ck_fails(groat_kernel_get(context, "adder", "cpu:gfx942", &kernel, NULL,
                              &fix.error),
             GROAT_INVALID, &fix.error, launches[_i].words);
    ck_assert_ptr_null(kernel);
    groat_close(context);
}
END_TEST

/* ---- listing ----------------------------------------------------------- */

static int see_entry(void *user, const groat_cache_entry *entry)
{
    int *seen = user;

    ck_assert_ptr_nonnull(strstr(entry->identity, "family adder closure "));
    ck_assert_int_eq(entry->facts.code_bytes, (int64_t)entry->bytes);
    ck_assert_uint_eq(strlen(entry->key), 32);
    ck_assert_str_eq(entry->target, "cpu:gfx950");
    if (strcmp(entry->spec, "adder:step=1,doubled=2") == 0)
        ck_assert_uint_eq(entry->uses, 2);
    else
        ck_assert_str_eq(entry->spec, "adder:step=2,doubled=4");
    ck_assert_double_gt(entry->first_ms, 0);
    (*seen)++;
    return 0;
}

START_TEST(the_store_lists_kernels)
{
    groat_context *context = rig_open(&fix);
    uint64_t checked = 0;
    uint64_t dropped = 7;
    int seen = 0;

    (void)rig_get(&fix, context, "adder:step=1", "cpu:gfx950",
                  GROAT_FROM_COMPILER);
    groat_close(context);
    context = rig_open(&fix);
    (void)rig_get(&fix, context, "adder:step=1", "cpu:gfx950", GROAT_FROM_DISK);
    (void)rig_get(&fix, context, "adder:step=1", "cpu:gfx950",
                  GROAT_FROM_MEMORY);
    (void)rig_get(&fix, context, "adder:step=2", "cpu:gfx950",
                  GROAT_FROM_COMPILER);
    ck_assert_int_eq(
        groat_cache_each(context, NULL, see_entry, &seen, &fix.error),
        GROAT_OK);
    ck_assert_int_eq(seen, 2);
    ck_assert_int_eq(
        groat_cache_verify(context, &checked, &dropped, &fix.error), GROAT_OK);
    ck_assert_uint_eq(checked, 2);
    ck_assert_uint_eq(dropped, 0);
    ck_assert_int_eq(groat_cache_clear(context, &dropped, &fix.error),
                     GROAT_OK);
    ck_assert_uint_eq(dropped, 2);
    ck_assert_str_eq(groat_cache_path(context), fix.store);
    groat_close(context);
}
END_TEST

START_TEST(a_stat_that_fails)
{
    groat_context *context = rig_open(&fix);
    groat_cache_stat stat;
    groat_cache_stat before;

    memset(&stat, 0x5a, sizeof(stat));
    stat.size = sizeof(stat);
    before = stat;
    /* A file has taken the place of the store's folder. */
    remove_folder(fix.cache);
    rig_write(fix.cache, "", 0600);
    ck_fails(groat_cache_stat_get(context, &stat, &fix.error), GROAT_IO,
             &fix.error, fix.cache);
    ck_assert_mem_eq(&stat, &before, sizeof(stat));
    groat_close(context);
}
END_TEST

START_TEST(devices_past_the_end)
{
    groat_context *context = rig_open(&fix);
    groat_device_info info = {.size = sizeof(info) - 1};
    size_t count = groat_device_count(context);
    char words[80];

    (void)snprintf(words, sizeof(words),
                   "there is no device %zu; there are %zu, counted from 0",
                   count + 7, count);
    ck_fails(groat_device_at(context, 0, &info, &fix.error), GROAT_INVALID,
             &fix.error, "info.size is ");
    info.size = sizeof(info);
    ck_fails(groat_device_at(context, count + 7, &info, &fix.error),
             GROAT_INVALID, &fix.error, words);
    ck_assert_str_eq(info.target, "");
    groat_close(context);
}
END_TEST

/* A kernel is recorded once per context; another spelling of it, or a kernel
 * that is only built, is not recorded. */
START_TEST(what_was_used_is_recorded)
{
    static const char wanted[] =
        "{\"spec\": \"adder:step=3,doubled=6\", \"target\": \"cpu:gfx950\"}\n"
        "{\"spec\": \"adder:step=4,doubled=8\", \"target\": \"cpu:gfx950\"}\n"
        "{\"spec\": \"adder:step=3,doubled=6\", \"target\": \"cpu:gfx950\"}\n";
    groat_options options = GROAT_OPTIONS_INIT;
    groat_context *context = NULL;
    groat_spec *spec = NULL;
    char path[300], *text = NULL;
    size_t bytes = 0;

    (void)snprintf(path, sizeof(path), "%s/used.jsonl", fix.root);
    options.cache_dir = fix.cache;
    options.family_path = fix.families;
    options.record = path;
    for (int again = 0; again < 3; again++) {
        if (again == 2) { /* "" overrides even the variable */
            options.record = "";
            (void)setenv("GROAT_RECORD", path, 1);
        }
        ck_assert_int_eq(groat_open(&options, &context, &fix.error), GROAT_OK);
        ck_assert_int_eq(groat_spec_parse(context, "adder:step=5", "cpu:gfx950",
                                          &spec, &fix.error),
                         GROAT_OK);
        ck_assert_int_eq(groat_build(spec, NULL, NULL, NULL, &fix.error),
                         GROAT_OK);
        groat_spec_free(spec);
        for (int step = 3; step < 5 - again; step++)
            (void)rig_get(&fix, context,
                          step == 3 ? "adder:step=3" : "adder:step=4",
                          "cpu:gfx950",
                          again == 0 ? GROAT_FROM_COMPILER : GROAT_FROM_DISK);
        if (again == 0)
            (void)rig_get(&fix, context, "adder:doubled=6,step=3", "cpu:gfx950",
                          GROAT_FROM_MEMORY);
        groat_close(context);
    }
    ck_assert_int_eq(groat__fs_read(path, 4096, &text, &bytes, &fix.error),
                     GROAT_OK);
    ck_assert_str_eq(text, wanted);
    free(text);
}
END_TEST

/* A pipe whose reader has gone away ends no program. */
START_TEST(recorded_to_nobody)
{
    groat_options options = rig_options(&fix);
    groat_context *context;
    char path[300];
    int reader;

    (void)snprintf(path, sizeof(path), "%s/pipe", fix.root);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    reader = open(path, O_RDONLY | O_NONBLOCK);
    options.record = path;
    context = rig_open_with(&fix, &options);
    ck_assert_int_eq(close(reader), 0);
    (void)rig_get(&fix, context, "adder:step=3", "cpu:gfx950",
                  GROAT_FROM_COMPILER);
    groat_close(context);
    ck_assert_int_eq(rig_said(&fix, "is not recorded: Broken pipe"), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("path");
    TCase *tests = tcase_create("path");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, compiled_then_memory_then_disk, 0, RIG_TARGETS);
    tcase_add_test(tests, info_of_a_kernel);
    tcase_add_test(tests, built_ahead);
    tcase_add_test(tests, no_disk);
    tcase_add_test(tests, kernels_side_by_side);
    tcase_add_test(tests, loads_after_unloads);
    tcase_add_test(tests, released_handles);
    tcase_add_test(tests, lookup_by_text);
    tcase_add_test(tests, lookup_by_values);
    tcase_add_test(tests, refused_values);
    tcase_add_test(tests, the_default_target);
    tcase_add_test(tests, refused_launches);
    tcase_add_test(tests, refused_gets);
    tcase_add_test(tests, memory_of_a_target);
    tcase_add_test(tests, memory_is_zeroed);
    tcase_add_test(tests, freed_memory_is_judged);
    tcase_add_test(tests, a_changed_source_is_another_kernel);
    tcase_add_loop_test(tests, blocks_too_large, 0, 3);
    tcase_add_test(tests, the_store_lists_kernels);
    tcase_add_test(tests, a_stat_that_fails);
    tcase_add_test(tests, devices_past_the_end);
    tcase_add_test(tests, what_was_used_is_recorded);
    tcase_add_test(tests, recorded_to_nobody);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
