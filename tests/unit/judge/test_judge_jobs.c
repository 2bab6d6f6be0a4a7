/* SPDX-License-Identifier: Apache-2.0
 *
 * test_judge_jobs.c: a grid's blocks on several host threads.  Bytes and
 * findings equal those of one thread, atomic operations of blocks take effect
 * in block order, and a finding ends all later blocks.
 */
#include "tests/pipe/rig.h"

#include <unistd.h>

#include "judge/judge.h"
#include "kernels-src/common/cpu_hooks.h"

enum { THREADS = 64, BLOCKS = 40, SHARED = 1024, STACK = 256 << 10, MOST = 5 };

static _Thread_local struct groat_cpu_env *env;

/* Written by the kernels below; one launch at a time. */
static struct {
    unsigned counter;
    unsigned ticket[BLOCKS];
    unsigned image[BLOCKS][THREADS];
} device;

static groat_error error;

/* The progress that was reported to the launching thread. */
static struct {
    unsigned times;
    uint64_t next; /* lowest valid `done` */
    bool wrong;
} told;

static void note_progress(void *user, uint64_t done, uint64_t total)
{
    told.times++;
    told.wrong |= user != &told || done < told.next || done >= total ||
                  total != BLOCKS || gettid() != getpid();
    told.next = done + 1;
}

static unsigned bind(struct groat_cpu_env *to)
{
    env = to;
    return GROAT_CPU_HOOKS_VERSION;
}

static groat_status launch(void (*entry)(const void *), unsigned jobs,
                           uint64_t seed)
{
    const groat__judge_range range = {(uint64_t)(uintptr_t)&device,
                                      sizeof(device)};
    const groat__judge_launch trial = {
        .arch = groat__arch_find("sm_90a", strlen("sm_90a")),
        .kernel = "probe",
        .entry = entry,
        .bind = bind,
        .grid = {BLOCKS / 4, 2, 2},
        .block = {THREADS, 1, 1},
        .cluster = {1, 1, 1},
        .shared_bytes = SHARED,
        .ranges = &range,
        .range_count = 1,
        .stack_bytes = STACK,
        .seed = seed,
        .seconds = 60,
        .jobs = jobs,
        .progress = note_progress,
        .progress_user = &told};

    memset(&device, 0, sizeof(device));
    memset(&told, 0, sizeof(told));
    return groat__judge_run(&trial, &error);
}

static unsigned block(void)
{
    return env->block[0] + BLOCKS / 4 * (env->block[1] + 2 * env->block[2]);
}

static void add(unsigned *to, unsigned *before)
{
    *before = env->ops->global_atomic(env, (uint64_t)(uintptr_t)to,
                                      GROAT_CPU_ATOMIC_ADD, 1, 0);
}

static void store(unsigned *to, unsigned x)
{
    env->ops->global_store(env, (uint64_t)(uintptr_t)to, &x, sizeof(x));
}

/* ---- results ----------------------------------------------------------- */

/* Exchanges numbers between threads through shared memory. */
static void turn_round(const void *args)
{
    unsigned mine = block() * 1000 + env->thread[0];
    unsigned got;

    (void)args;
    env->ops->shared_store(env, 4 * env->thread[0], &mine, 4);
    env->ops->block_barrier(env, 0);
    env->ops->shared_load(env, 4 * (THREADS - 1 - env->thread[0]), &got, 4);
    store(&device.image[block()][env->thread[0]], got);
}

START_TEST(every_block_runs_once)
{
    ck_assert_msg(launch(turn_round, (unsigned)_i, (unsigned)_i) == GROAT_OK,
                  "%s", error.text);
    for (unsigned b = 0; b < BLOCKS; b++)
        for (unsigned t = 0; t < THREADS; t++)
            ck_assert_uint_eq(device.image[b][t], b * 1000 + THREADS - 1 - t);
    ck_assert(!told.wrong);
    if (_i <= 1)
        ck_assert_uint_eq(told.times, BLOCKS);
}
END_TEST

static void draw_a_ticket(const void *args)
{
    unsigned before;

    (void)args;
    if (env->thread[0] != 0)
        return;
    add(&device.counter, &before);
    store(&device.ticket[block()], before);
}

START_TEST(blocks_meet_in_order)
{
    ck_assert_msg(launch(draw_a_ticket, (unsigned)_i, 3) == GROAT_OK, "%s",
                  error.text);
    for (unsigned b = 0; b < BLOCKS; b++)
        ck_assert_uint_eq(device.ticket[b], b);
}
END_TEST

/* ---- findings ---------------------------------------------------------- */

static void busy(unsigned turns)
{
    unsigned got;

    for (unsigned i = 0; i < turns; i++)
        env->ops->global_load(env, (uint64_t)(uintptr_t)&device.counter, &got,
                              4);
}

/* Block 7 must be reported, though it reaches its fault last. */
static void fail_late(const void *args)
{
    unsigned got;

    (void)args;
    if (block() < 7)
        return;
    busy(block() == 7 ? 20000 : 10);
    env->ops->shared_load(env, SHARED + 4 * block(), &got, 4);
}

START_TEST(the_first_block_is_reported)
{
    for (unsigned jobs = 1; jobs <= MOST; jobs++)
        ck_fails(launch(fail_late, jobs, (unsigned)_i), GROAT_JUDGED, &error,
                 "reads 4 bytes at byte 1052 of shared memory");
}
END_TEST

static void fail_or_go_on(const void *args)
{
    unsigned got;

    (void)args;
    if (block() == 0) {
        busy(1000);
        env->ops->shared_load(env, SHARED, &got, 4);
    }
    for (;;)
        busy(1);
}

static void fail_or_meet(const void *args)
{
    unsigned got;

    (void)args;
    if (block() == 0) {
        busy(1000);
        env->ops->shared_load(env, SHARED, &got, 4);
    }
    add(&device.counter, &got);
}

/* The finding also ends blocks that loop for ever or wait for their turn. */
START_TEST(a_finding_ends_the_others)
{
    ck_fails(launch(_i ? fail_or_meet : fail_or_go_on, MOST, 0), GROAT_JUDGED,
             &error, "reads 4 bytes at byte 1024 of shared memory");
    ck_assert_uint_eq(device.counter, 0);
}
END_TEST

static void setup(void)
{
    error = (groat_error)GROAT_ERROR_INIT;
}

static void teardown(void)
{
    groat_error_clear(&error);
}

int main(void)
{
    Suite *suite = suite_create("judge_jobs");
    TCase *tests = tcase_create("judge_jobs");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, every_block_runs_once, 0, MOST);
    tcase_add_loop_test(tests, blocks_meet_in_order, 0, MOST);
    tcase_add_loop_test(tests, the_first_block_is_reported, 0, 2);
    tcase_add_loop_test(tests, a_finding_ends_the_others, 0, 2);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
