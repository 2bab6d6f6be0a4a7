/* SPDX-License-Identifier: Apache-2.0
 *
 * judge.c executes a kernel that was compiled for a cpu target and checks it
 * against the memory model of the arch that it stands for.  It owns the launch:
 * the state of a cluster, and the host threads that run one cluster after the
 * other, handed out by grid.c.  The parts: fiber.c (threads), schedule.c (which
 * runs next), meet.c (threads that wait for each other), order.c (happens
 * before), memory.c, pointers.c and atomic.c (accesses), held.c (stores that
 * have happened), device.c, spans.c and races.c (races on device memory),
 * wave.c, warp_mma.c and uniform.c (wave-wide operations), mbarrier.c, named.c,
 * tma.c, copies.c, stores.c and wgmma.c (NVIDIA's barriers, copy engine and
 * wgmma), trace.c (trace of accesses), unwritten.c (reads of unwritten bytes),
 * deadlock.c, time_limit.c and threads.c (launches that do not end).  cxx.c and
 * cpu.c compile and load kernels.
 */
#include "judge/judge.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "judge/atomic.h"
#include "judge/device.h"
#include "judge/fiber.h"
#include "judge/grid.h"
#include "judge/mbarrier.h"
#include "judge/meet.h"
#include "judge/memory.h"
#include "judge/named.h"
#include "judge/order.h"
#include "judge/partners.h"
#include "judge/pointers.h"
#include "judge/races.h"
#include "judge/schedule.h"
#include "judge/stores.h"
#include "judge/tma.h"
#include "judge/uniform.h"
#include "judge/unwritten.h"
#include "judge/wave.h"
#include "judge/warp_mma.h"
#include "judge/wgmma.h"

/* Difference between the seeds of two clusters; any odd number would do. */
#define RANDOM_STEP 0xD1342543DE82EF95u

static const struct groat_cpu_ops hooks = {
    groat__judge_shared_load,
    groat__judge_shared_store,
    groat__judge_global_load,
    groat__judge_global_store,
    groat__judge_async_copy,
    groat__judge_async_commit,
    groat__judge_async_wait,
    groat__judge_shared_fence,
    groat__judge_block_barrier,
    groat__judge_wave_uniform,
    groat__judge_buffer_load,
    groat__judge_transpose_load,
    groat__judge_mfma,
    groat__judge_elect,
    groat__judge_warp_barrier,
    groat__judge_cluster_barrier,
    groat__judge_mbarrier_init,
    groat__judge_mbarrier_inval,
    groat__judge_mbarrier_init_fence,
    groat__judge_mbarrier_arrive,
    groat__judge_mbarrier_expect,
    groat__judge_mbarrier_wait,
    groat__judge_mbarrier_try,
    groat__judge_named_barrier,
    groat__judge_async_proxy_fence,
    groat__judge_tma_load,
    groat__judge_tma_prefetch,
    groat__judge_bulk_load,
    groat__judge_tma_store,
    groat__judge_bulk_store,
    groat__judge_store_commit,
    groat__judge_store_wait,
    groat__judge_wgmma_fence,
    groat__judge_wgmma_commit,
    groat__judge_wgmma_wait,
    groat__judge_wgmma,
    groat__judge_out_of_bounds,
    groat__judge_shuffle,
    groat__judge_ballot,
    groat__judge_shared_atomic,
    groat__judge_global_atomic,
    groat__judge_matrix_load,
    groat__judge_mma_16x8,
    groat__judge_touch,
    groat__judge_refuse,
    groat__judge_take_lanes,
    groat__judge_block_vote,
    groat__judge_cluster_load,
    groat__judge_active_lanes,
    groat__judge_compared,
    groat__judge_misaligned,
    groat__judge_print,
};

/* ---- a cluster --------------------------------------------------------- */

static void start_block(groat__judge *j, size_t rank, const unsigned corner[3])
{
    groat__judge_block *block = &j->blocks[rank];
    const unsigned *c = j->launch->cluster;
    unsigned at = (unsigned)rank;

    for (int i = 0; i < 3; i++) {
        block->at[i] = corner[i] + at % c[i];
        at /= c[i];
    }
    block->epoch = 1;
    memset(block->votes, 0, sizeof(block->votes));
    memset(block->named, 0, sizeof(block->named));
    block->ended = 0;
    for (size_t i = 0; i < j->launch->shared_bytes; i++)
        block->shared[i] = groat__judge_unwritten_fill(
            j, block, i, (uint8_t)groat__judge_random(j));
    memset(block->shadows, 0,
           j->launch->shared_bytes * sizeof(*block->shadows));
}

/* The body of a fiber: runs one thread of the kernel. */
static void run_thread(groat__judge *j)
{
    j->launch->entry(j->launch->args);
    if (j->held.bytes != 0)
        groat__judge_settle_store(j);
    groat__judge_memory_check_end(j);
    groat__judge_wgmma_check_end(j);
    groat__judge_engine_check_end(j);
    groat__judge_stores_check_end(j);
    groat__judge_mbarrier_check_end(j);
    j->block->ended++;
}

static void start_thread(groat__judge *j, size_t fiber)
{
    groat__judge_drop_products(&j->fibers[fiber]);
    groat__judge_start(j, fiber);
}

static void run_cluster(groat__judge *j, const unsigned corner[3],
                        uint32_t *order)
{
    j->path = 0;
    j->env.cycles = 0;
    j->held.bytes = 0;
    j->attempts.count = 0;
    groat__judge_device_forget(j);
    j->start_ns = groat__now_ns();
    j->random = j->launch->seed + j->number * RANDOM_STEP;
    j->clocks_on = false;
    j->copies.count = 0;
    j->landed.count = 0;
    groat__judge_forget_readers(j);
    groat__judge_drop_barriers(j);
    for (size_t b = 0; b < j->block_count; b++)
        start_block(j, b, corner);
    for (size_t t = 0; t < j->fiber_count; t++)
        start_thread(j, t);
    for (size_t w = 0; w < j->wave_count; w++) {
        j->waves[w].count = 0;
        j->traces[w].told = 0;
        j->wgmma[w] = (groat__wgmma_wave){.group = 1};
    }
    memset(j->meetings, 0,
           (2 * j->wave_count + j->fiber_count) * sizeof(*j->meetings));
    groat__judge_run_cluster(j, order);
}

/* ---- a launch ---------------------------------------------------------- */

static size_t volume(const unsigned of[3])
{
    return (size_t)of[0] * of[1] * of[2];
}

static bool make_blocks(groat__judge *j)
{
    size_t bytes = j->launch->shared_bytes;

    j->blocks = calloc(j->block_count, sizeof(*j->blocks));
    for (size_t b = 0; j->blocks != NULL && b < j->block_count; b++) {
        /* Of exactly the block's size, so that ASan sees stray pointers. */
        j->blocks[b].shared = j->env.shared != NULL
                                  ? j->env.shared
                                  : malloc(bytes + (bytes == 0));
        j->blocks[b].shadows = calloc(bytes + 1, sizeof(*j->blocks[b].shadows));
        j->blocks[b].unwritten = calloc(bytes + 1, 1);
        if (!j->blocks[b].shared || !j->blocks[b].shadows ||
            !j->blocks[b].unwritten)
            return false;
    }
    return j->blocks != NULL;
}

static bool set_up(groat__judge *j, uint32_t **order)
{
    const groat__judge_launch *t = j->launch;
    size_t lanes = (size_t)t->arch->wave_lanes;

    j->body = run_thread;
    j->env.shared = t->shared_of == NULL ? NULL : t->shared_of(t->shared_user);
    j->threads = volume(t->block);
    j->block_count = volume(t->cluster);
    j->fiber_count = j->threads * j->block_count;
    j->block_waves = (j->threads + lanes - 1) / lanes;
    j->wave_count = j->block_waves * j->block_count;
    if (!groat__judge_make_fibers(j) || !make_blocks(j))
        return false;
    j->waves = calloc(j->wave_count, sizeof(*j->waves));
    j->traces = calloc(j->wave_count, sizeof(*j->traces));
    j->wgmma = calloc(j->wave_count, sizeof(*j->wgmma));
    j->meetings =
        calloc(2 * j->wave_count + j->fiber_count, sizeof(*j->meetings));
    *order = calloc(j->wave_count, sizeof(**order));
    return j->waves && j->traces && j->wgmma && j->meetings && *order;
}

static void tear_down(groat__judge *j)
{
    for (size_t i = 0; j->fibers != NULL && i < j->fiber_count; i++) {
        groat__judge_drop_products(&j->fibers[i]);
        free(j->fibers[i].products);
        free(j->fibers[i].writes);
    }
    groat__judge_drop_fibers(j);
    groat__judge_drop_barriers(j);
    groat__judge_unwritten_drop(j);
    groat__judge_device_drop(j);
    free(j->held.before);
    groat__spans_drop(&j->spans);
    for (size_t b = 0; j->blocks != NULL && b < j->block_count; b++) {
        if (j->blocks[b].shared != j->env.shared)
            free(j->blocks[b].shared);
        free(j->blocks[b].shadows);
    }
    for (size_t i = 0; j->waves != NULL && i < j->wave_count; i++)
        free(j->waves[i].values);
    for (size_t i = 0; j->traces != NULL && i < j->wave_count; i++)
        free(j->traces[i].items);
    free(j->blocks);
    free(j->waves);
    free(j->traces);
    free(j->wgmma);
    free(j->meetings);
    free(j->barriers);
    free(j->copies.items);
    free(j->landed.items);
    free(j->readers.items);
    free(j->readers.buckets);
    free(j->readers.met);
    free(j->clocks);
    free(j->meet);
    free(j->operands);
    free(j);
}

static groat_status check_grid(const groat__judge_launch *t, groat_error *error)
{
    bool cuda = t->arch->vendor == GROAT__CUDA;
    uint64_t blocks = 1;
    bool fits = true;

    for (int i = 0; i < 3; i++)
        fits = fits && t->grid[i] <= (cuda && i > 0 ? UINT16_MAX : INT32_MAX) &&
               (cuda || (uint64_t)t->grid[i] * t->block[i] <= UINT32_MAX) &&
               !__builtin_mul_overflow(blocks, t->grid[i], &blocks);
    if (!fits)
        return groat__fail(
            error, GROAT_INVALID, "%s: a grid of %u,%u,%u blocks; %s allows %s",
            t->kernel, t->grid[0], t->grid[1], t->grid[2], t->arch->name,
            cuda ? "2147483647 of x, 65535 of y and of z"
                 : "2147483647 of each, 2^32 - 1 threads of each, 2^64 - 1 "
                   "blocks together");
    for (int i = 0; i < 3; i++)
        if (t->cluster[i] == 0 || t->grid[i] % t->cluster[i] != 0)
            return groat__fail(error, GROAT_INVALID,
                               "%s: a grid of %u,%u,%u blocks is not a "
                               "multiple of clusters of %u,%u,%u",
                               t->kernel, t->grid[0], t->grid[1], t->grid[2],
                               t->cluster[0], t->cluster[1], t->cluster[2]);
    if (volume(t->cluster) > (size_t)t->arch->max_cluster)
        return groat__fail(error, GROAT_INVALID,
                           "%s: clusters of %u,%u,%u blocks; %s allows %d",
                           t->kernel, t->cluster[0], t->cluster[1],
                           t->cluster[2], t->arch->name, t->arch->max_cluster);
    return GROAT_OK;
}

/* One host thread of a launch. */
typedef struct worker {
    groat__judge_grid *grid;
    size_t number;
    uint64_t end_ns;
    size_t stack_bytes; /* of the signal stack, as the caller's; 0: none */
    pthread_t thread;
} worker;

static void fail_starved(groat__judge *j)
{
    j->failed = true;
    j->finding = (groat__judge_finding){.status = GROAT_NO_MEMORY};
    (void)snprintf(j->finding.text, sizeof(j->finding.text),
                   "no memory for what %s did to device memory",
                   j->launch->kernel);
}

static void run_clusters(groat__judge *j, size_t thread, uint32_t *order)
{
    const groat__judge_launch *launch = j->launch;
    unsigned corner[3];

    while (groat__judge_grid_take(j->grid, thread, &j->number)) {
        if (launch->progress != NULL && thread == 0)
            launch->progress(launch->progress_user, j->number,
                             j->grid->clusters);
        groat__judge_grid_corner(j->grid, j->number, corner);
        groat__judge_unwritten_forget(j);
        run_cluster(j, corner, order);
        groat__judge_unwritten_settle(j, run_cluster, corner, order);
        /* Also what one did that is not whole: others may have met it. */
        if (!groat__judge_device_hand_over(j))
            fail_starved(j);
        if (j->failed)
            groat__judge_grid_find(j->grid, j->number, &j->finding);
    }
    if (!groat__judge_grid_add(j->grid, &j->spans)) {
        fail_starved(j);
        groat__judge_grid_find(j->grid, 0, &j->finding);
    }
}

static groat_status work(worker *w, groat_error *error)
{
    const groat__judge_launch *launch = w->grid->launch;
    groat__judge *j = calloc(1, sizeof(*j));
    groat_status status = GROAT_OK;
    uint32_t *order = NULL;

    if (j == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for the judge");
    j->launch = launch;
    j->grid = w->grid;
    j->end_ns = w->end_ns;
    j->env.version = GROAT_CPU_HOOKS_VERSION;
    j->env.ops = &hooks;
    memcpy(j->env.grid, launch->grid, sizeof(j->env.grid));
    if (launch->bind(&j->env) != GROAT_CPU_HOOKS_VERSION)
        status = groat__fail(error, GROAT_LAUNCH_FAILED,
                             "%s was compiled for another version of the judge",
                             launch->kernel);
    else if (!set_up(j, &order))
        status = groat__fail(error, GROAT_NO_MEMORY,
                             "no memory for %u x %u x %u fibers of each of "
                             "%zu blocks",
                             launch->block[0], launch->block[1],
                             launch->block[2], volume(launch->cluster));
    else
        run_clusters(j, w->number, order);
    (void)launch->bind(NULL);
    free(order);
    tear_down(j);
    return status;
}

/* A stack overflow can be reported only on an alternate signal stack. */
static void *run_worker(void *user)
{
    worker *w = user;
    stack_t stack = {.ss_size = w->stack_bytes};
    stack_t none = {.ss_flags = SS_DISABLE};

    stack.ss_sp = w->stack_bytes ? malloc(w->stack_bytes) : NULL;
    if (stack.ss_sp != NULL)
        (void)sigaltstack(&stack, NULL);
    (void)work(w, NULL);
    if (stack.ss_sp != NULL)
        (void)sigaltstack(&none, NULL);
    free(stack.ss_sp);
    return NULL;
}

/* The calling thread is worker 0.  A worker that cannot be started or has no
 * memory takes no cluster; the others take its share. */
static groat_status run_workers(groat__judge_grid *grid, worker *workers,
                                groat_error *error)
{
    stack_t stack = {.ss_flags = SS_DISABLE};
    groat_status status;
    size_t started = 1;

    (void)sigaltstack(NULL, &stack);
    for (size_t i = 0; i < grid->threads; i++) {
        workers[i].grid = grid;
        workers[i].number = i;
        workers[i].stack_bytes =
            (stack.ss_flags & SS_DISABLE) != 0 ? 0 : stack.ss_size;
        if (grid->launch->seconds != 0)
            workers[i].end_ns =
                groat__now_ns() + grid->launch->seconds * (uint64_t)1000000000;
    }
    while (started < grid->threads &&
           pthread_create(&workers[started].thread, NULL, run_worker,
                          &workers[started]) == 0)
        started++;
    status = work(&workers[0], error);
    for (size_t i = 1; i < started; i++)
        (void)pthread_join(workers[i].thread, NULL);
    if (status == GROAT_NO_MEMORY && groat__judge_grid_is_done(grid)) {
        groat_error_clear(error);
        status = GROAT_OK;
    }
    return status;
}

/* Trace events are delivered in order, by one host thread.  Each fiber takes
 * two mappings, of which a process has 65,530 by default. */
static size_t count_threads(const groat__judge_launch *t)
{
    enum { MAPPINGS = 32000 };
    size_t most = MAPPINGS / (2 * volume(t->block) * volume(t->cluster));
    size_t threads = t->jobs == 0 ? 1 : t->jobs;
    uint64_t clusters = 1;

    if (threads > most)
        threads = most == 0 ? 1 : most;
    if (t->trace != NULL)
        return 1;
    for (int i = 0; i < 3; i++)
        clusters *= t->grid[i] / t->cluster[i];
    return clusters < threads ? (size_t)clusters : threads;
}

/* Runs all clusters.  *again tells that those on several host threads depended
 * on each other; device memory is then as before. */
static groat_status attempt(const groat__judge_launch *launch, size_t threads,
                            groat__str *printed, bool *again,
                            groat_error *error)
{
    worker *workers = calloc(threads, sizeof(*workers));
    groat__judge_grid grid;
    groat_status status;

    *again = false;
    if (workers == NULL || !groat__judge_grid_open(&grid, launch, threads)) {
        free(workers);
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for the judge");
    }
    grid.printed = printed;
    status = run_workers(&grid, workers, error);
    if (status == GROAT_OK)
        *again =
            groat__judge_find_race(&grid) && threads > 1 && !grid.before.lost;
    if (*again)
        groat__snapshot_restore(&grid.before);
    if (status == GROAT_OK && grid.finding.status != GROAT_OK) {
        status =
            groat__fail(error, grid.finding.status, "%s", grid.finding.text);
        if (launch->places != NULL)
            *launch->places = grid.finding.places;
    }
    groat__judge_grid_close(&grid);
    free(workers);
    return status;
}

groat_status groat__judge_run(const groat__judge_launch *launch,
                              groat_error *error)
{
    groat_status status = check_grid(launch, error);
    groat__str printed = {0};
    size_t threads;
    bool again;

    if (status != GROAT_OK)
        return status;
    threads = count_threads(launch);
    status =
        attempt(launch, threads, threads > 1 ? &printed : NULL, &again, error);
    if (again) {
        groat_error_clear(error);
        status = attempt(launch, 1, NULL, &again, error);
    } else if (printed.len > 0 && !printed.failed)
        (void)fwrite(printed.data, 1, printed.len, stderr);
    groat__str_free(&printed);
    return status;
}
