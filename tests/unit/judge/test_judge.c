/* SPDX-License-Identifier: Apache-2.0
 *
 * test_judge.c: the judge's model of the machine, exercised through the hooks
 * of a compiled kernel: which bytes of a copy are zeros, when it lands, in
 * which order threads run, what waits count.  test_judge_mutants.c and
 * test_judge_loader.c test that broken kernels are found.
 */
#include "tests/pipe/rig.h"

#include <malloc.h>

#include "judge/judge.h"
#include "kernels-src/common/cpu_hooks.h"

enum { WAVE = 64, STACK = 256 << 10, SOURCE = 512 };

/* State of the entries below; one launch at a time. */
typedef struct probe {
    _Alignas(256) unsigned char source[SOURCE];
    _Alignas(256) unsigned char image[4096];
    unsigned records; /* num_records; then the arguments of the copies */
    unsigned soffset;
    unsigned step;
    unsigned bytes;
    unsigned order[4096]; /* threads in the order in which they ran */
    size_t order_count;
} probe;

static struct groat_cpu_env *env;
static probe work;

static unsigned bind(struct groat_cpu_env *to)
{
    env = to;
    return GROAT_CPU_HOOKS_VERSION;
}

static unsigned bind_to_another(struct groat_cpu_env *to)
{
    env = to;
    return GROAT_CPU_HOOKS_VERSION + 1;
}

static groat_error error;

static groat__judge_range ranges[2];

static groat__judge_launch
trial_on(const char *arch, void (*entry)(const void *), unsigned threads)
{
    groat__judge_launch trial = {0};

    ranges[0] = (groat__judge_range){(uint64_t)(uintptr_t)work.source, SOURCE};
    ranges[1] = (groat__judge_range){(uint64_t)(uintptr_t)work.image,
                                     sizeof(work.image)};
    trial.arch = groat__arch_find(arch, strlen(arch));
    ck_assert_ptr_nonnull(trial.arch);
    trial.kernel = "probe";
    trial.entry = entry;
    trial.bind = bind;
    trial.args = &work;
    trial.grid[0] = trial.grid[1] = trial.grid[2] = 1;
    trial.block[0] = threads;
    trial.block[1] = trial.block[2] = 1;
    trial.cluster[0] = trial.cluster[1] = trial.cluster[2] = 1;
    trial.shared_bytes = 4096;
    trial.ranges = ranges;
    trial.range_count = 2;
    trial.stack_bytes = STACK;
    return trial;
}

static void ck_passes(const groat__judge_launch *trial)
{
    groat_status status = groat__judge_run(trial, &error);

    ck_assert_msg(status == GROAT_OK, "%s", error.text);
    ck_assert_ptr_null(env);
}

static void setup(void)
{
    error = (groat_error)GROAT_ERROR_INIT;
    memset(&work, 0, sizeof(work));
    for (unsigned i = 0; i < SOURCE; i++)
        work.source[i] = (unsigned char)(1 + i % 255);
}

static void teardown(void)
{
    groat_error_clear(&error);
}

/* ---- the calls that kernels make ----------------------------------------- */

static unsigned thread(void)
{
    return env->thread[0];
}

static void shared_read(unsigned at, void *to)
{
    env->ops->shared_load(env, at, to, 16);
}

static void shared_write(unsigned at, const void *from)
{
    env->ops->shared_store(env, at, from, 16);
}

static void device_write(void *to, const void *from, unsigned bytes)
{
    env->ops->global_store(env, (uint64_t)(uintptr_t)to, from, bytes);
}

static void copy(unsigned records, unsigned chunk, unsigned voffset,
                 unsigned soffset, unsigned bytes)
{
    env->ops->async_copy(env, (uint64_t)(uintptr_t)work.source, records, chunk,
                         thread() % WAVE, voffset, soffset, bytes);
}

static void barrier(void)
{
    env->ops->shared_fence(env);
    env->ops->block_barrier(env, 0);
}

static void land(void)
{
    env->ops->async_commit(env);
    env->ops->async_wait(env, 0, 0);
    barrier();
}

/* ---- descriptors ------------------------------------------------------- */

/* Copies one vector per lane and writes the image out. */
static void copy_and_show(const void *args)
{
    const probe *p = args;
    unsigned char vector[16];

    copy(p->records, 0, thread() * p->step, p->soffset, p->bytes);
    land();
    if (thread() * 16 < WAVE * p->bytes) {
        shared_read(thread() * 16, vector);
        device_write(work.image + thread() * 16, vector, 16);
    }
}

/* Returns byte k of the lane's vector: the source's byte, or zero from the
 * first dword on that is not completely inside num_records. */
static unsigned char expected(unsigned lane, unsigned k)
{
    unsigned at = lane * work.step + work.soffset + k;
    unsigned dword_end = at - k % 4 + 4;

    return dword_end <= work.records ? work.source[at] : 0;
}

static void ck_image(const char *arch)
{
    groat__judge_launch trial = trial_on(arch, copy_and_show, WAVE);

    ck_passes(&trial);
    for (unsigned i = 0; i < WAVE * work.bytes; i++) {
        unsigned char want = expected(i / work.bytes, i % work.bytes);

        ck_assert_msg(work.image[i] == want,
                      "%s: %u records, %u bytes per lane, step %u, soffset %u: "
                      "byte %u is %u, not %u",
                      arch, work.records, work.bytes, work.step, work.soffset,
                      i, work.image[i], want);
    }
}

static const struct {
    const char *arch;
    unsigned bytes;
    unsigned step;
} ways[] = {
    {"gfx90a", 4, 4},  {"gfx942", 4, 8}, {"gfx950", 4, 4}, {"gfx950", 16, 4},
    {"gfx950", 16, 8}, {"sm_90a", 4, 4}, {"sm_80", 4, 8},  {"sm_90a", 16, 16},
};

/* num_records is 0, then each value around the ends of the first and the last
 * vectors, multiples of 4 or not. */
START_TEST(reads_past_num_records_are_zeros)
{
    work.bytes = ways[_i].bytes;
    work.step = ways[_i].step;
    for (work.soffset = 0; work.soffset <= 32; work.soffset += 32) {
        const unsigned step = is_tsan() ? 5 : 1;

        for (work.records = 0; work.records <= 36; work.records += step)
            ck_image(ways[_i].arch);
        for (work.records = 250; work.records <= 290; work.records += step)
            ck_image(ways[_i].arch);
        work.records = SOURCE - 3;
        ck_image(ways[_i].arch);
    }
}
END_TEST

/* Every access is out of range, so the base may be any address, even 0. */
static void copy_from_nowhere(const void *args)
{
    unsigned char vector[16];

    (void)args;
    env->ops->async_copy(env, 0, 0, 0, thread() % WAVE, 4 * thread(), 0, 4);
    env->ops->async_copy(env, 0, 3, 256, thread() % WAVE, 4 * thread(), 0, 4);
    land();
    if (thread() < 32) {
        shared_read(16 * thread(), vector);
        device_write(work.image + 16 * thread(), vector, 16);
    }
}

START_TEST(empty_buffers_have_no_address)
{
    static const char *const archs[] = {"gfx950", "gfx90a", "sm_90a"};
    groat__judge_launch trial = trial_on(archs[_i], copy_from_nowhere, WAVE);

    memset(work.image, 0xA5, sizeof(work.image));
    ck_passes(&trial);
    for (unsigned i = 0; i < 512; i++)
        ck_assert_uint_eq(work.image[i], 0);
}
END_TEST

/* ---- when copies land -------------------------------------------------- */

/* The source changes after the copy is issued and before its wait.  The copy
 * lands late, so the new value must be seen. */
static void change_while_in_flight(const void *args)
{
    static const unsigned char fresh[4] = {201, 202, 203, 204};
    const probe *p = args;
    unsigned char vector[16];

    copy(SOURCE, 0, 4 * thread(), 0, 4);
    env->ops->async_commit(env);
    device_write(work.source + 4 * thread(), fresh, 4);
    /* On AMD the store is the youngest operation: 1 leaves only it. */
    env->ops->async_wait(env, p->step, 0);
    barrier();
    if (thread() < 16) {
        shared_read(16 * thread(), vector);
        device_write(work.image + 16 * thread(), vector, 16);
    }
}

START_TEST(copies_land_late)
{
    static const char *const archs[] = {"gfx950", "gfx90a", "sm_90a"};
    groat__judge_launch trial =
        trial_on(archs[_i], change_while_in_flight, WAVE);

    for (unsigned stay = 0; stay < 2; stay++) {
        setup();
        work.step = stay;
        ck_passes(&trial);
        for (unsigned i = 0; i < 256; i++)
            ck_assert_uint_eq(work.image[i], 201 + i % 4);
    }
}
END_TEST

/* AMD counts the store with the copies: a count of two leaves both. */
START_TEST(stores_count_on_amd)
{
    groat__judge_launch trial =
        trial_on("gfx950", change_while_in_flight, WAVE);

    work.step = 1;
    ck_passes(&trial);
    work.step = 2;
    ck_fails(groat__judge_run(&trial, &error), GROAT_JUDGED, &error,
             "is in flight");
}
END_TEST

/* Groups land oldest first, and only as many as the wait demands. */
static void three_groups(const void *args)
{
    const probe *p = args;
    unsigned char vector[16];

    for (unsigned g = 0; g < 3; g++) {
        copy(SOURCE, 1024 * g, 4 * thread(), 64 * g, 4);
        env->ops->async_commit(env);
    }
    env->ops->async_wait(env, p->step, p->step);
    barrier();
    shared_read(1024 * p->soffset + thread() / 4 * 16, vector);
    device_write(work.image + thread() / 4 * 16, vector, 16);
    env->ops->async_wait(env, 0, 0);
}

START_TEST(the_oldest_land_first)
{
    static const char *const archs[] = {"gfx950", "gfx90a", "sm_90a"};
    groat__judge_launch trial = trial_on(archs[_i], three_groups, WAVE);

    for (unsigned stay = 0; stay <= 3; stay++)
        for (unsigned slot = 0; slot < 3; slot++) {
            setup();
            work.step = stay;
            work.soffset = slot;
            if (slot + stay < 3) {
                ck_passes(&trial);
                ck_assert_mem_eq(work.image, work.source + 64 * slot, 256);
            } else {
                ck_fails(groat__judge_run(&trial, &error), GROAT_JUDGED, &error,
                         "is in flight");
            }
        }
}
END_TEST

/* ---- stores and barriers ----------------------------------------------- */

/* Every thread reads what every other one wrote, round after round. */
static void all_to_all(const void *args)
{
    const probe *p = args;
    unsigned count = p->records;
    unsigned sum = 0;

    for (unsigned round = 1; round < count; round++) {
        unsigned mine[4] = {thread() * round, round, 0, 0};
        unsigned other = (thread() + round) % count;
        unsigned theirs[4];

        shared_write(16 * thread(), mine);
        barrier();
        shared_read(16 * other, theirs);
        sum += theirs[0] == other * round && theirs[1] == round;
        barrier();
    }
    device_write(work.image + 4 * thread(), &sum, 4);
}

/* Includes waves that are not full. */
START_TEST(stores_are_seen_behind_a_barrier)
{
    static const char *const archs[] = {"gfx950", "gfx90a", "sm_90a"};
    static const unsigned counts[] = {1, 33, 96, 130};

    for (size_t k = 0; k < COUNT(counts); k++) {
        groat__judge_launch trial =
            trial_on(archs[_i % 3], all_to_all, counts[k]);

        work.records = counts[k];
        trial.seed = (uint64_t)_i / 3;
        ck_passes(&trial);
        for (unsigned t = 0; t < counts[k]; t++) {
            unsigned sum;

            memcpy(&sum, work.image + 4 * t, 4);
            ck_assert_uint_eq(sum, counts[k] - 1);
        }
    }
}
END_TEST

/* Every thread reads the same word, some threads twice; one thread writes it
 * after a barrier.  All of the reads come before that write. */
static void read_by_all(const void *args)
{
    const probe *p = args;
    unsigned word[4] = {7};

    if (thread() == 0)
        shared_write(0, word);
    barrier();
    shared_read(0, word);
    if (thread() % 3 == 0)
        shared_read(0, word);
    if (p->soffset == 0)
        barrier();
    if (thread() == p->records - 1)
        shared_write(0, word);
}

START_TEST(many_readers)
{
    static const char *const archs[] = {"gfx950", "sm_90a"};
    static const unsigned counts[] = {33, 64, 200, 1024};

    for (size_t k = 0; k < COUNT(counts); k++) {
        groat__judge_launch trial =
            trial_on(archs[_i % 2], read_by_all, counts[k]);

        trial.seed = (uint64_t)_i / 2;
        work.records = counts[k];
        work.soffset = 0;
        ck_passes(&trial);
        if (trial.arch->wave_lanes >= (int)counts[k])
            continue;
        work.soffset = 1;
        ck_fails(groat__judge_run(&trial, &error), GROAT_JUDGED, &error,
                 "byte 0 of shared memory");
    }
}
END_TEST

/* Lane n of each wave waits at the barrier of line work.records >> 4 n & 15. */
static void wait_at_lines(const void *args)
{
    const probe *p = args;

    env->ops->block_barrier(env,
                            p->records >> 4 * (thread() % p->step % 8) & 15);
}

START_TEST(one_barrier_for_a_wave)
{
    static const char *const archs[] = {"gfx950", "sm_90a"};
    static const struct {
        unsigned lines;
        bool good;
    } cases[] = {{0x77777777, true},
                 {0x70770777, true},
                 {0x00000000, true},
                 {0x77737777, false},
                 {0x00000930, false}};
    groat__judge_launch trial = trial_on(archs[_i], wait_at_lines, 128);

    work.step = (unsigned)trial.arch->wave_lanes;
    for (size_t i = 0; i < COUNT(cases); i++) {
        work.records = cases[i].lines;
        if (cases[i].good)
            ck_passes(&trial);
        else
            ck_fails(groat__judge_run(&trial, &error), GROAT_JUDGED, &error,
                     "waits at another barrier than thread");
    }
}
END_TEST

/* ---- coordinates and order --------------------------------------------- */

static unsigned flat(const unsigned at[3], const unsigned size[3])
{
    return (at[2] * size[1] + at[1]) * size[0] + at[0];
}

static void note_coordinates(const void *args)
{
    static const unsigned block[3] = {5, 4, 3};
    unsigned at = flat(env->block, env->grid) * 60 + flat(env->thread, block);

    (void)args;
    work.order[work.order_count++] = at;
}

START_TEST(every_thread_runs_once)
{
    groat__judge_launch trial = trial_on("gfx950", note_coordinates, 5);

    trial.block[1] = 4;
    trial.block[2] = 3;
    trial.grid[0] = 2;
    trial.grid[1] = 3;
    trial.grid[2] = 4;
    ck_passes(&trial);
    ck_assert_uint_eq(work.order_count, 24 * 60);
    /* With seed 0 the order is x, then y, then z, block after block. */
    for (unsigned i = 0; i < 24 * 60; i++)
        ck_assert_uint_eq(work.order[i], i);
}
END_TEST

static void note_order(const void *args)
{
    (void)args;
    work.order[work.order_count++] = thread();
}

static void run_order(const char *arch, uint64_t seed, unsigned *order)
{
    groat__judge_launch trial = trial_on(arch, note_order, 256);
    bool seen[256] = {false};

    trial.seed = seed;
    work.order_count = 0;
    ck_passes(&trial);
    ck_assert_uint_eq(work.order_count, 256);
    for (unsigned i = 0; i < 256; i++) {
        ck_assert(!seen[work.order[i]]);
        seen[work.order[i]] = true;
        order[i] = work.order[i];
    }
}

/* A seed permutes waves and rotates lanes, and does so reproducibly. */
START_TEST(seeds_permute)
{
    static const char *const archs[] = {"gfx950", "sm_90a"};
    unsigned lanes = _i == 0 ? 64 : 32;
    unsigned orders[6][256];
    unsigned again[256];
    int waves_moved = 0;
    int lanes_moved = 0;

    for (unsigned seed = 0; seed < 6; seed++) {
        run_order(archs[_i], seed, orders[seed]);
        run_order(archs[_i], seed, again);
        ck_assert_mem_eq(orders[seed], again, sizeof(again));
        for (unsigned i = 0; i < 256; i++)
            ck_assert_uint_eq(orders[seed][i] / lanes,
                              orders[seed][i / lanes * lanes] / lanes);
        waves_moved += orders[seed][0] / lanes != 0;
        lanes_moved += orders[seed][0] % lanes != 0;
        for (unsigned other = 0; other < seed; other++)
            ck_assert_mem_ne(orders[seed], orders[other], sizeof(again));
    }
    ck_assert_int_ge(waves_moved, 1);
    ck_assert_int_ge(lanes_moved, 1);
    for (unsigned i = 0; i < 256; i++)
        ck_assert_uint_eq(orders[0][i], i);
}
END_TEST

/* Lanes of an AMD wave meet at each fence; NVIDIA's threads run on.  No wave
 * waits for another wave. */
static void note_fences(const void *args)
{
    (void)args;
    for (unsigned i = 0; i < 3; i++) {
        work.order[work.order_count++] = i;
        env->ops->shared_fence(env);
    }
    for (unsigned i = 3; i < 6; i++) {
        work.order[work.order_count++] = i;
        env->ops->async_wait(env, 0, 0);
    }
}

START_TEST(waves_meet)
{
    groat__judge_launch amd = trial_on("gfx90a", note_fences, 128);
    groat__judge_launch nv = trial_on("sm_90a", note_fences, 128);

    ck_passes(&amd);
    for (unsigned i = 0; i < 2 * 6 * 64; i++)
        ck_assert_uint_eq(work.order[i], i / 64 % 6);
    work.order_count = 0;
    ck_passes(&nv);
    for (unsigned i = 0; i < 6 * 128; i++)
        ck_assert_uint_eq(work.order[i], i % 6);
}
END_TEST

/* ---- sizes and versions ------------------------------------------------ */

static void touch_the_ends(const void *args)
{
    static const unsigned char vector[16] = {1, 2, 3};
    const probe *p = args;

    if (thread() == 0)
        shared_write(0, vector);
    if (thread() == p->records - 1)
        shared_write(p->soffset - 16, vector);
    barrier();
}

START_TEST(the_largest_block)
{
    static const char *const archs[] = {"gfx950", "gfx90a", "sm_90a"};
    groat__judge_launch trial = trial_on(archs[_i], touch_the_ends, 1024);

    trial.shared_bytes = (unsigned)trial.arch->shared_bytes;
    work.records = 1024;
    work.soffset = trial.shared_bytes;
    ck_passes(&trial);
    trial.shared_bytes -= 16;
    ck_fails(groat__judge_run(&trial, &error), GROAT_JUDGED, &error,
             "thread 1023");
}
END_TEST

START_TEST(no_shared_memory)
{
    groat__judge_launch trial = trial_on("gfx950", touch_the_ends, 1);

    trial.shared_bytes = 0;
    work.records = 2;
    ck_fails(groat__judge_run(&trial, &error), GROAT_JUDGED, &error,
             "the block has 0 bytes");
    ck_assert_ptr_null(env);
}
END_TEST

START_TEST(kernels_of_another_judge)
{
    groat__judge_launch trial = trial_on("gfx950", note_order, 1);

    trial.bind = bind_to_another;
    ck_fails(groat__judge_run(&trial, &error), GROAT_LAUNCH_FAILED, &error,
             "probe was compiled for another version of the judge");
    ck_assert_uint_eq(work.order_count, 0);
    ck_assert_ptr_null(env);
}
END_TEST

/* ---- atomics on device memory -------------------------------------------- */

static uint64_t counter;

static void add_one(const void *args)
{
    (void)args;
    (void)env->ops->global_atomic(env, counter, GROAT_CPU_ATOMIC_ADD, 1, 0);
}

/* As of a store, the whole word must lie in a buffer and be aligned. */
START_TEST(atomics_stay_in_buffers)
{
    uint64_t source = (uint64_t)(uintptr_t)work.source;
    uint64_t image = (uint64_t)(uintptr_t)work.image;
    const struct {
        uint64_t at;
        const char *words;
    } places[] = {
        {source - 4, "changes 4 bytes"},
        {source, NULL},
        {source + 2, "no multiple of 4"},
        {image + sizeof(work.image) - 4, NULL},
        {image + sizeof(work.image), "changes 4 bytes"},
    };
    groat__judge_launch trial = trial_on("sm_90a", add_one, 1);

    counter = places[_i].at;
    if (places[_i].words == NULL)
        ck_passes(&trial);
    else
        ck_fails(groat__judge_run(&trial, &error), GROAT_JUDGED, &error,
                 places[_i].words);
}
END_TEST

/* ---- grids that are too large to be run to the end ----------------------- */

static unsigned blocks_run;

static void read_past_the_end(const void *args)
{
    unsigned char bytes[16];

    (void)args;
    blocks_run++;
    shared_read(4096, bytes);
}

static void make_a_barrier(const void *args)
{
    (void)args;
    if (thread() == 0)
        env->ops->mbarrier_init(env, 0, 1);
}

/* A launch frees all that it allocates, as mallinfo2() confirms, except what
 * its host threads cache. */
START_TEST(launches_keep_nothing)
{
    const groat__judge_launch trial =
        trial_on("sm_90a", _i ? make_a_barrier : note_coordinates, 5);
    size_t before = 0;

    if (is_asan() || is_tsan())
        return; /* the sanitizers detect leaks themselves */
    for (int i = 0; i < 30; i++) {
        work.order_count = 0;
        ck_passes(&trial);
        if (i == 10)
            before = mallinfo2().uordblks;
    }
    ck_assert_uint_lt(mallinfo2().uordblks, before + 19 * sizeof(void *));
}
END_TEST

enum { ROUNDERS = 48 };

/* Thread 0 ends, the last thread loops, thread 1 waits at one place and all
 * others at another. */
static void go_round(const void *args)
{
    const unsigned char bytes[16] = {0};

    (void)args;
    shared_write(16 * thread(), bytes);
    if (thread() == 0)
        return;
    while (thread() == ROUNDERS - 1)
        shared_write(16 * thread(), bytes);
    if (thread() == 1) {
        env->ops->cluster_barrier(env);
        /* Else clang merges the two calls into one place. */
        __asm__ volatile("" ::: "memory");
    } else {
        env->ops->block_barrier(env, 0);
    }
}

/* Each thread is named with its place, or as one that is nowhere. */
START_TEST(a_launch_without_end)
{
    groat__judge_places places = {0};
    groat__judge_launch trial = trial_on("sm_90a", go_round, ROUNDERS + 2);

    trial.seconds = 1;
    trial.places = &places;
    ck_fails(groat__judge_run(&trial, &error), GROAT_JUDGED, &error,
             "has not ended in 1 s: a loop without end or one that waits for "
             "another thread's write, or a launch that is too large; thread 0 "
             "ended; thread 48-49 did not begin");
    ck_assert_uint_eq(places.count, 3);
    ck_assert_str_eq(places.at[0].what, "here");
    ck_assert_str_eq(places.at[1].what, "thread 1");
    ck_assert_str_eq(places.at[2].what, "thread 2-46");
}
END_TEST

/* As a signal's handler does: from another stack, too early, and at last. */
static void interrupt_itself(const void *args)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    uintptr_t at = (uintptr_t)&interrupt_itself;

    (void)args;
    if (thread() < 3)
        return;
    groat__judge_interrupt(env, at, (uintptr_t)env, "does nothing");
    groat__judge_interrupt(env, at, here, NULL);
    groat__judge_interrupt(env, at, here, "divides by 0");
}

START_TEST(an_interrupted_launch)
{
    groat__judge_places places = {0};
    groat__judge_launch trial = trial_on("sm_90a", interrupt_itself, 8);

    trial.seconds = 60;
    trial.places = &places;
    ck_fails(groat__judge_run(&trial, &error), GROAT_JUDGED, &error,
             "thread 3 (wave 0 lane 3) divides by 0");
    ck_assert_uint_eq(places.count, 1);
    ck_assert(places.at[0].address == (uintptr_t)&interrupt_itself + 1);
}
END_TEST

/* The first finding ends a launch. */
START_TEST(large_grids)
{
    static const unsigned grids[][3] = {
        {65535, 65535, 1},
        {1, 65535, 65535},
        {0x7FFFFFFFu, 65535, 65535},
        {0x7FFFFFFEu, 1, 1},
    };
    groat__judge_launch trial = trial_on("sm_90a", read_past_the_end, 1);

    for (size_t i = 0; i < COUNT(grids); i++) {
        memcpy(trial.grid, grids[i], sizeof(trial.grid));
        trial.cluster[0] = i == 3 ? 2 : 1;
        blocks_run = 0;
        ck_fails(groat__judge_run(&trial, &error), GROAT_JUDGED, &error,
                 "reads");
        ck_assert_uint_eq(blocks_run, 1);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("judge");
    TCase *tests = tcase_create("judge");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, reads_past_num_records_are_zeros, 0,
                        COUNT(ways));
    tcase_add_loop_test(tests, empty_buffers_have_no_address, 0, 3);
    tcase_add_loop_test(tests, copies_land_late, 0, 3);
    tcase_add_test(tests, stores_count_on_amd);
    tcase_add_loop_test(tests, the_oldest_land_first, 0, 3);
    tcase_add_loop_test(tests, stores_are_seen_behind_a_barrier, 0,
                        3 * rig_seeds());
    tcase_add_loop_test(tests, one_barrier_for_a_wave, 0, 2);
    tcase_add_loop_test(tests, many_readers, 0, 8);
    tcase_add_test(tests, every_thread_runs_once);
    tcase_add_loop_test(tests, seeds_permute, 0, 2);
    tcase_add_test(tests, waves_meet);
    tcase_add_loop_test(tests, the_largest_block, 0, 3);
    tcase_add_test(tests, no_shared_memory);
    tcase_add_test(tests, kernels_of_another_judge);
    tcase_add_loop_test(tests, launches_keep_nothing, 0, 2);
    tcase_add_test(tests, a_launch_without_end);
    tcase_add_test(tests, an_interrupted_launch);
    tcase_add_loop_test(tests, atomics_stay_in_buffers, 0, 5);
    tcase_add_test(tests, large_grids);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
