/* SPDX-License-Identifier: Apache-2.0
 *
 * test_judge_mutants.c: the judge finds faults.  The family judge_probe runs
 * sound, or with one fault; each fault must be found under every seed on each
 * arch where it is one, and must pass where the arch allows it.
 */
#include "tests/pipe/rig.h"

#include "judge_probe/args.h"

enum {
    G950 = 1,
    G90A = 2,
    AMD = G950 | G90A,
    NV = 4,
    ALL = AMD | NV,
    THREADS = 128,
    BLOCKS = 2,
    TILES = 5,
    TILE_WORDS = 4 * THREADS,
    SOURCE_BYTES = TILES * TILE_WORDS * 4,
    OUTPUT_BYTES = BLOCKS * THREADS * 16
};

#define RACE "since the last barrier|which nobody has written|is in flight"

/* A mutant and the words of its finding; '|' separates alternatives. */
typedef struct fault {
    unsigned mutant;
    unsigned on; /* archs on which the mutant is a fault */
    const char *words;
} fault;

static const fault faults[] = {
    {PROBE_NO_WAIT, ALL, "is in flight: a wait is missing"},
    {PROBE_SHORT_WAIT, ALL, "is in flight: a wait is missing"},
    {PROBE_NO_LAST_WAIT, ALL, "is in flight: a wait is missing"},
    {PROBE_NO_BARRIER, ALL, RACE},
    {PROBE_NO_WAR_BARRIER, ALL, RACE},
    {PROBE_NO_COMMIT, NV, "is in flight: a wait is missing"},
    {PROBE_SHARED_LOAD_PAST, ALL,
     "reads 16 bytes at byte 6144 of shared memory; the block has 6144 bytes"},
    {PROBE_SHARED_STORE_PAST, ALL,
     "writes 16 bytes at byte 6144 of shared memory; the block has 6144 bytes"},
    {PROBE_SHARED_STORE_STRADDLES, ALL,
     "writes 16 bytes at byte 6136 of shared memory; the block has 6144 bytes"},
    {PROBE_SHARED_STORE_WRAPS, ALL,
     "writes 16 bytes at byte 4294967280 of shared memory"},
    {PROBE_SHARED_LOAD_MISALIGNED, ALL,
     "reads 16 bytes at byte 4104 of shared memory, misaligned"},
    {PROBE_SHARED_STORE_MISALIGNED, ALL,
     "writes 16 bytes at byte 4100 of shared memory, misaligned"},
    {PROBE_LOAD_UNWRITTEN, ALL, "of shared memory, which nobody has written"},
    {PROBE_LOAD_LEFTOVER, ALL, "of shared memory, which nobody has written"},
    {PROBE_GLOBAL_LOAD_PAST, ALL, "byte 10240 of a buffer of 10240 bytes"},
    {PROBE_GLOBAL_LOAD_STRADDLES, ALL, "byte 10232 of a buffer of 10240 bytes"},
    {PROBE_GLOBAL_LOAD_BEFORE, ALL, "byte -16 of a buffer of 10240 bytes"},
    {PROBE_GLOBAL_LOAD_NULL, ALL, "at address 0x0, a null pointer"},
    {PROBE_GLOBAL_LOAD_OFF_2, ALL, "02, no multiple of "},
    {PROBE_GLOBAL_LOAD_OFF_8, NV, "08, no multiple of 16"},
    {PROBE_GLOBAL_STORE_PAST, ALL, "byte 4096 of a buffer of 4096 bytes"},
    {PROBE_GLOBAL_STORE_BEFORE, ALL, "byte -16 of a buffer of 4096 bytes"},
    {PROBE_GLOBAL_STORE_OFF_2, ALL, "02, no multiple of "},
    {PROBE_COPY_SOURCE_PAST, ALL, "byte 10240 of a buffer of 10240 bytes"},
    {PROBE_COPY_SOURCE_BEFORE, ALL, "copies 4 bytes at device address 0x"},
    {PROBE_COPY_SOURCE_OFF_2, ALL, ", no multiple of 4"},
    {PROBE_COPY_SHARED_PAST, ALL, "of shared memory; the block has 6144 bytes"},
    {PROBE_COPY_SHARED_OFF_2, ALL, "of shared memory, misaligned"},
    {PROBE_COPY_OFFSET_WRAPS, ALL,
     "copies from voffset 4294967040 + soffset 512, past 32 bits"},
    {PROBE_COPY_TWO_BYTES, ALL, "copies 2 bytes per lane"},
    {PROBE_COPY_SIXTEEN_BYTES, G90A, "gfx90a copies 4 at most"},
    {PROBE_COPY_WRONG_LANE, ALL, "calls itself lane"},
    {PROBE_M0_VARIES, AMD, "has M0 0x"},
    {PROBE_SOFFSET_VARIES, AMD, "has soffset 0x"},
    {PROBE_BASE_VARIES, AMD, "has a buffer at 0x"},
    {PROBE_RECORDS_VARY, AMD, "has num_records 0x"},
    {PROBE_UNIFORM_VARIES, AMD, "has a wave-uniform value 0x"},
    {PROBE_COPY_DIVERGES, AMD, "went another way than the others"},
    {PROBE_END_DIVERGES, ALL, "as that thread has ended: all threads"},
    {PROBE_WAIT_64, AMD, "waits for vmcnt(64); the counter holds 63"},
    {PROBE_NO_FENCE, AMD, "that no shared_fence completed"},
    {PROBE_ENDS_IN_FLIGHT, ALL, "ends with a copy into byte"},
    {PROBE_ENDS_UNCOMMITTED, NV, "ends with a copy into byte"},
    {PROBE_STORE_STORE, ALL, "wrote since the last barrier"},
    {PROBE_STORE_LOAD, ALL, RACE},
    {PROBE_LOAD_STORE, ALL, RACE},
    {PROBE_STORE_COPY, ALL, RACE},
    {PROBE_COPY_LOAD, ALL, RACE},
    {PROBE_FILLED_STORE_LOAD, ALL, "since the last barrier"},
    {PROBE_FILLED_LOAD_STORE, ALL, "since the last barrier"},
    {PROBE_FILLED_COPY_LOAD, ALL, "since the last barrier"},
    {PROBE_FILLED_LOAD_COPY, ALL, "since the last barrier"},
    {PROBE_FILLED_LOADS_STORE, ALL, "since the last barrier"},
    {PROBE_OWN_COPY_LOAD, ALL, "reads byte"},
    {PROBE_OWN_COPY_STORE, ALL, "into it is in flight"},
    {PROBE_OWN_COPY_COPY, ALL, "into it is in flight"},
    {PROBE_LANES_STORE_LOAD, NV, "since the last barrier"},
    {PROBE_LANES_COPY_LOAD, NV, "since the last barrier"},
    {PROBE_ARRAY_LOAD_PAST, ALL,
     "[4]', outside its bounds (here at judge_probe/judge_probe.h:"},
    {PROBE_ARRAY_STORE_BEFORE, ALL, "[4]', outside its bounds"},
};

enum { FAULTS = COUNT(faults) };

static rig fix;

/* A context with the probe loaded for one target. */
typedef struct bench {
    groat_context *context;
    const char *target;
    unsigned arch;
    groat_kernel *kernel;
    uint32_t source[TILES][THREADS][4];
    uint32_t output[BLOCKS][THREADS][4];
    struct judge_probe_args args;
    groat_error error;
} bench;

static void bench_open(bench *b, unsigned arch, uint64_t seed)
{
    groat_options options = rig_options(&fix);
    const char *top = getenv("top_srcdir");
    char path[1024];

    ck_assert_msg(top != NULL, "top_srcdir must name the source folder");
    (void)snprintf(path, sizeof(path), "%s/tests/unit/judge/judge_probe", top);
    memset(b, 0, sizeof(*b));
    b->error = (groat_error)GROAT_ERROR_INIT;
    b->arch = 1u << arch;
    b->target = rig_targets[arch];
    options.family_path = path;
    options.seed = seed;
    b->context = rig_open_with(&fix, &options);
    ck_assert_msg(groat_kernel_get(b->context, "judge_probe", b->target,
                                   &b->kernel, NULL, &b->error) == GROAT_OK,
                  "%s %s", b->error.text,
                  b->error.log == NULL ? "" : b->error.log);
    for (uint32_t i = 0; i < TILES * TILE_WORDS; i++)
        (&b->source[0][0][0])[i] = i * 0x9E3779B1u + 1;
    b->args.output = rig_upload(b->context, b->target, b->output, OUTPUT_BYTES);
    b->args.source = rig_upload(b->context, b->target, b->source, SOURCE_BYTES);
    b->args.source_bytes = SOURCE_BYTES;
    b->args.output_bytes = OUTPUT_BYTES;
}

static void bench_close(bench *b)
{
    groat_error_clear(&b->error);
    groat_close(b->context);
}

static groat_status bench_run(bench *b, unsigned mutant)
{
    groat_launch launch = GROAT_LAUNCH_INIT;
    groat_status status;

    launch.grid[0] = BLOCKS;
    b->args.mutant = mutant;
    memset(b->output, 0xA5, sizeof(b->output));
    ck_assert_int_eq(groat_memory_write(b->context, b->target, b->args.output,
                                        b->output, OUTPUT_BYTES, NULL),
                     GROAT_OK);
    groat_error_clear(&b->error);
    status = groat_kernel_launch(b->kernel, &launch, &b->args, sizeof(b->args),
                                 &b->error);
    ck_assert_int_eq(groat_memory_read(b->context, b->target, b->output,
                                       b->args.output, OUTPUT_BYTES, NULL),
                     GROAT_OK);
    return status;
}

/* ---- findings ---------------------------------------------------------- */

static bool has_one_of(const char *text, const char *words)
{
    while (*words != '\0') {
        size_t len = strcspn(words, "|");
        char one[128];

        (void)snprintf(one, sizeof(one), "%.*s", (int)len, words);
        if (strstr(text, one) != NULL)
            return true;
        words += len + (words[len] == '|');
    }
    return false;
}

/* Parses "KERNEL on ARCH: block X,Y,Z thread T (wave W lane L) ...". */
static bool names_the_thread(const bench *b, const char *text, unsigned block)
{
    unsigned lanes = b->arch == NV ? 32 : 64;
    unsigned at[6] = {0};
    char head[64];
    int end = 0;
    size_t len;

    (void)snprintf(head, sizeof(head), "judge_probe on %s: block ",
                   strchr(b->target, ':') + 1);
    len = strlen(head);
    if (strncmp(text, head, len) != 0 ||
        sscanf(text + len, "%u,%u,%u thread %u (wave %u lane %u) %n", &at[0],
               &at[1], &at[2], &at[3], &at[4], &at[5], &end) != 6 ||
        end == 0)
        return false;
    return at[0] == block && at[1] == 0 && at[2] == 0 && at[3] < THREADS &&
           at[4] == at[3] / lanes && at[5] == at[3] % lanes;
}

/* Appends to `wrong` whatever differs from the table. */
static void try_fault(bench *b, const fault *f, groat__str *wrong)
{
    unsigned block = f->mutant == PROBE_LOAD_LEFTOVER ? 1 : 0;
    groat_status status = bench_run(b, f->mutant);
    const char *text = b->error.text;

    if ((f->on & b->arch) == 0) {
        if (status != GROAT_OK)
            groat__str_addf(wrong, "%u is none on %s: %s\n", f->mutant,
                            b->target, text);
        return;
    }
    if (status != GROAT_JUDGED || b->error.status != GROAT_JUDGED)
        groat__str_addf(wrong, "%u on %s: status %d %s\n", f->mutant, b->target,
                        (int)status, text);
    else if (!names_the_thread(b, text, block) || !has_one_of(text, f->words))
        groat__str_addf(wrong, "%u on %s: said '%s', not '%s'\n", f->mutant,
                        b->target, text, f->words);
}

/* _i encodes target and seed. */
START_TEST(each_fault_is_found)
{
    groat__str wrong = {0};
    bench b;

    bench_open(&b, (unsigned)_i % RIG_TARGETS, (uint64_t)_i / RIG_TARGETS);
    for (size_t k = 0; k < FAULTS; k++)
        try_fault(&b, &faults[k], &wrong);
    ck_assert_msg(wrong.len == 0, "%s", wrong.data);
    groat__str_free(&wrong);
    bench_close(&b);
}
END_TEST

/* Every mutant of the probe is in the table exactly once. */
START_TEST(the_table_is_complete)
{
    unsigned listed[PROBE_MUTANTS] = {0};

    for (size_t k = 0; k < FAULTS; k++)
        listed[faults[k].mutant]++;
    ck_assert_uint_eq(listed[PROBE_SOUND], 0);
    ck_assert_uint_eq(listed[PROBE_WAIT_63], 0);
    for (unsigned m = 1; m < PROBE_MUTANTS; m++)
        if (m != PROBE_WAIT_63)
            ck_assert_msg(listed[m] == 1, "mutant %u: %u times", m, listed[m]);
}
END_TEST

/* ---- sound kernels ------------------------------------------------------- */

static void ck_sums(const bench *b)
{
    for (unsigned block = 0; block < BLOCKS; block++)
        for (unsigned t = 0; t < THREADS; t++)
            for (unsigned i = 0; i < 4; i++) {
                uint32_t sum = 0;

                for (unsigned tile = 0; tile < TILES; tile++)
                    sum += b->source[tile][t ^ 64][i];
                ck_assert_uint_eq(b->output[block][t][i], sum);
            }
}

/* Results are the same under every seed, and also after a finding. */
START_TEST(sound_kernels_pass)
{
    bench b;

    bench_open(&b, (unsigned)_i % RIG_TARGETS, (uint64_t)_i / RIG_TARGETS);
    for (int round = 0; round < 2; round++) {
        ck_assert_msg(bench_run(&b, PROBE_SOUND) == GROAT_OK, "%s",
                      b.error.text);
        ck_assert_str_eq(b.error.text, "");
        ck_sums(&b);
        ck_assert_int_eq(bench_run(&b, PROBE_NO_WAIT), GROAT_JUDGED);
    }
    ck_assert_msg(bench_run(&b, PROBE_WAIT_63) == GROAT_OK, "%s", b.error.text);
    bench_close(&b);
}
END_TEST

/* After a fence or a wait the lanes of a wave see each other's bytes, whichever
 * lane runs first. */
START_TEST(lanes_of_a_wave_share)
{
    bench b;

    bench_open(&b, (unsigned)_i % 2, (uint64_t)_i / 2);
    ck_assert_msg(bench_run(&b, PROBE_LANES_COPY_LOAD) == GROAT_OK, "%s",
                  b.error.text);
    for (unsigned t = 0; t < THREADS; t++)
        ck_assert_mem_eq(b.output[1][t], b.source[0][t ^ 5], 16);
    ck_assert_msg(bench_run(&b, PROBE_LANES_STORE_LOAD) == GROAT_OK, "%s",
                  b.error.text);
    for (unsigned t = 0; t < THREADS; t++) {
        const uint32_t put[4] = {t ^ 5, PROBE_LANES_STORE_LOAD, 16 * t, 7};

        ck_assert_mem_eq(b.output[0][t], put, 16);
    }
    bench_close(&b);
}
END_TEST

/* A launch writes no output once a fault is found.  Passing a NULL error is
 * allowed. */
START_TEST(findings_without_an_error)
{
    groat_launch launch = GROAT_LAUNCH_INIT;
    double us = 0;
    bench b;

    bench_open(&b, (unsigned)_i, 0);
    ck_assert_int_eq(bench_run(&b, PROBE_GLOBAL_LOAD_NULL), GROAT_JUDGED);
    for (unsigned t = 0; t < THREADS; t++)
        ck_assert_uint_eq(b.output[0][t][0], 0xA5A5A5A5u);
    ck_assert_int_eq(
        groat_kernel_launch(b.kernel, &launch, &b.args, sizeof(b.args), NULL),
        GROAT_JUDGED);
    ck_assert_int_eq(groat_kernel_time(b.kernel, &launch, &b.args,
                                       sizeof(b.args), 3, &us, &b.error),
                     GROAT_JUDGED);
    bench_close(&b);
}
END_TEST

static void once_before(void)
{
    rig_make(&fix);
}

static void once_after(void)
{
    rig_drop(&fix);
}

int main(void)
{
    Suite *suite = suite_create("judge_mutants");
    TCase *tests = tcase_create("judge_mutants");

    /* All tests share the cache, so each target is compiled once. */
    tcase_add_unchecked_fixture(tests, once_before, once_after);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, the_table_is_complete);
    tcase_add_loop_test(tests, sound_kernels_pass, 0,
                        RIG_TARGETS * rig_seeds());
    tcase_add_loop_test(tests, each_fault_is_found, 0,
                        RIG_TARGETS * rig_seeds());
    tcase_add_loop_test(tests, lanes_of_a_wave_share, 0, 2 * rig_seeds());
    tcase_add_loop_test(tests, findings_without_an_error, 0, RIG_TARGETS);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
