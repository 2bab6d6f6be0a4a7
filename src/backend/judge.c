/* SPDX-License-Identifier: Apache-2.0
 *
 * judge.c executes a kernel that was compiled for a cpu target and holds it
 * against the memory model of the arch it stands for.  It owns the launch:
 * fibers, waves, blocks and barriers.  Memory is judge_memory.c's, what a wave
 * does as one judge_wave.c's, the report of accesses judge_trace.c's; compiling
 * and loading are cxx.c's and cpu.c's.
 */
#include "backend/judge_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"

/* Present when the process runs under a sanitizer that must know of fibers. */
extern void __sanitizer_start_switch_fiber(void **fake, const void *bottom,
                                           size_t bytes) __attribute__((weak));
extern void __sanitizer_finish_switch_fiber(void *fake, const void **bottom,
                                            size_t *bytes)
    __attribute__((weak));
extern void *__tsan_get_current_fiber(void) __attribute__((weak));
extern void *__tsan_create_fiber(unsigned flags) __attribute__((weak));
extern void __tsan_destroy_fiber(void *fiber) __attribute__((weak));
extern void __tsan_switch_to_fiber(void *fiber, unsigned flags)
    __attribute__((weak));

enum { GUARD_BYTES = 64 << 10 /* a multiple of any page size */ };

static uint64_t next_random(groat__judge *j)
{
    uint64_t z = (j->random += 0x9E3779B97F4A7C15u);

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* ---- fibers ------------------------------------------------------------ */

static void to_home(groat__judge *j)
{
    groat__fiber *f = &j->fibers[j->current];
    void **fake = f->state == GROAT__DONE ? NULL : &f->asan_fake;

    if (__sanitizer_start_switch_fiber)
        __sanitizer_start_switch_fiber(fake, j->home_bottom, j->home_bytes);
    if (__tsan_switch_to_fiber)
        __tsan_switch_to_fiber(j->tsan_home, 0);
    (void)swapcontext(&f->context, &j->home);
    if (__sanitizer_finish_switch_fiber)
        __sanitizer_finish_switch_fiber(f->asan_fake, NULL, NULL);
}

static void find(groat__judge *j, size_t thread, const char *what)
{
    const unsigned *b = j->env.block;
    size_t lanes = (size_t)j->trial->arch->wave_lanes;

    (void)snprintf(j->finding, sizeof(j->finding),
                   "%s on %s: block %u,%u,%u thread %zu (wave %zu lane %zu) %s",
                   j->trial->kernel, j->trial->arch->name, b[0], b[1], b[2],
                   thread, thread / lanes, thread % lanes, what);
    j->failed = true;
}

void groat__judge_convict(groat__judge *j, const char *format, ...)
{
    char what[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    find(j, j->current, what);
    to_home(j);
    abort(); /* a convicted fiber is never switched to again */
}

void groat__judge_starve(groat__judge *j)
{
    j->no_memory = true;
    groat__judge_convict(j, "ran out of host memory");
}

/* No lane of an AMD wave goes on before all have come. */
void groat__judge_meet(groat__judge *j, groat__fiber_state where)
{
    if (!groat__judge_is_amd(j))
        return;
    j->fibers[j->current].state = where;
    to_home(j);
}

/* ---- barriers and ends ------------------------------------------------- */

static void block_barrier(struct groat_cpu_env *env)
{
    groat__judge *j = groat__judge_of(env);
    groat__fiber *f = &j->fibers[j->current];

    if (groat__judge_is_amd(j) && f->unfenced)
        groat__judge_convict(
            j, "reaches a barrier with stores to shared memory that no "
               "shared_fence completed");
    f->unfenced = false;
    f->state = GROAT__AT_BARRIER;
    to_home(j);
}

static void shared_fence(struct groat_cpu_env *env)
{
    groat__judge *j = groat__judge_of(env);

    groat__judge_fiber(j)->unfenced = false;
    groat__judge_meet(j, GROAT__MEETING);
}

static const struct groat_cpu_ops hooks = {
    groat__judge_shared_load,
    groat__judge_shared_store,
    groat__judge_global_load,
    groat__judge_global_store,
    groat__judge_async_copy,
    groat__judge_async_commit,
    groat__judge_async_wait,
    shared_fence,
    block_barrier,
    groat__judge_wave_uniform,
    groat__judge_buffer_load,
    groat__judge_transpose_load,
    groat__judge_mfma,
    groat__judge_elect,
    groat__judge_warp_barrier,
    groat__judge_cluster_barrier,
    groat__judge_mbarrier_init,
    groat__judge_mbarrier_init_fence,
    groat__judge_mbarrier_arrive,
    groat__judge_mbarrier_expect,
    groat__judge_mbarrier_wait,
    groat__judge_async_proxy_fence,
    groat__judge_tma_load,
    groat__judge_tma_prefetch,
    groat__judge_bulk_load,
    groat__judge_wgmma_fence,
    groat__judge_wgmma_commit,
    groat__judge_wgmma_wait,
    groat__judge_wgmma,
};

static void fiber_main(unsigned high, unsigned low)
{
    groat__judge *j = (groat__judge *)(uintptr_t)((uint64_t)high << 32 | low);

    if (__sanitizer_finish_switch_fiber)
        __sanitizer_finish_switch_fiber(NULL, &j->home_bottom, &j->home_bytes);
    j->trial->entry(j->trial->args);
    groat__judge_check_end(j);
    j->fibers[j->current].state = GROAT__DONE;
    to_home(j);
}

/* Below each stack lies memory that cannot be touched: a kernel that needs more
 * ends there instead of in its neighbour's stack. */
static uint8_t *stack_of(const groat__judge *j, size_t index)
{
    return j->stacks + index * (j->trial->stack_bytes + GUARD_BYTES) +
           GUARD_BYTES;
}

static void start_fiber(groat__judge *j, size_t index)
{
    groat__fiber *f = &j->fibers[index];
    uint64_t address = (uint64_t)(uintptr_t)j;

    (void)getcontext(&f->context);
    f->context.uc_stack.ss_sp = stack_of(j, index);
    f->context.uc_stack.ss_size = j->trial->stack_bytes;
    f->context.uc_link = NULL;
    makecontext(&f->context, (void (*)(void))fiber_main, 2,
                (unsigned)(address >> 32), (unsigned)address);
    f->state = GROAT__READY;
    f->flight_count = 0;
    f->group = 0;
    f->uniforms = 0;
    f->accesses = 0;
    f->unfenced = false;
    f->turn = 0;
    f->asan_fake = NULL;
}

static void resume(groat__judge *j, size_t index)
{
    groat__fiber *f = &j->fibers[index];
    const unsigned *b = j->trial->block;

    j->current = index;
    j->env.thread[0] = (unsigned)index % b[0];
    j->env.thread[1] = (unsigned)index / b[0] % b[1];
    j->env.thread[2] = (unsigned)index / b[0] / b[1];
    if (__sanitizer_start_switch_fiber)
        __sanitizer_start_switch_fiber(&j->asan_home, f->context.uc_stack.ss_sp,
                                       f->context.uc_stack.ss_size);
    if (__tsan_switch_to_fiber)
        __tsan_switch_to_fiber(f->tsan, 0);
    (void)swapcontext(&j->home, &f->context);
    if (__sanitizer_finish_switch_fiber)
        __sanitizer_finish_switch_fiber(j->asan_home, NULL, NULL);
}

/* ---- a block ----------------------------------------------------------- */

static void shuffle(groat__judge *j, uint32_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    if (j->trial->seed == 0)
        return;
    for (size_t i = count; i > 1; i--) {
        size_t k = (size_t)(next_random(j) % i);
        uint32_t swap = order[i - 1];

        order[i - 1] = order[k];
        order[k] = swap;
    }
}

static void GROAT_PRINTF(3, 4)
    convict_thread(groat__judge *j, size_t thread, const char *format, ...)
{
    char what[256];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    find(j, thread, what);
}

/* The wave's threads: [first, end). */
static size_t end_of_wave(const groat__judge *j, size_t first)
{
    size_t lanes = (size_t)j->trial->arch->wave_lanes;

    return first + lanes < j->threads ? first + lanes : j->threads;
}

/* Lanes of a wave must have come the same way: copies and uniform values are
 * instructions of the wave, not of the lane. */
static void check_wave(groat__judge *j, size_t wave)
{
    size_t first = wave * (size_t)j->trial->arch->wave_lanes;
    size_t end = end_of_wave(j, first);

    if (!groat__judge_is_amd(j) || j->failed)
        return;
    for (size_t t = first; t < end; t++) {
        const groat__fiber *f = &j->fibers[t];

        if (f->state == j->fibers[first].state &&
            f->uniforms == j->waves[wave].count)
            continue;
        convict_thread(j, t,
                       "went another way than the others to %s (%u of %zu "
                       "wave-wide operations)",
                       f->state == GROAT__DONE ? "its end" : "a barrier",
                       f->uniforms, j->waves[wave].count);
        return;
    }
}

/* An operation of the whole wave needs all of its lanes (EXEC all ones). */
static void check_joined(groat__judge *j, size_t first, size_t end)
{
    size_t joined = 0;
    size_t absent = end;

    for (size_t t = first; t < end; t++)
        if (j->fibers[t].state == GROAT__JOINED)
            joined++;
        else if (absent == end)
            absent = t;
    if (joined == 0 || j->failed)
        return;
    if (absent < end)
        convict_thread(j, absent,
                       "is missing from an operation that needs all lanes of "
                       "the wave; %zu take part",
                       joined);
    else if (end - first != (size_t)j->trial->arch->wave_lanes)
        convict_thread(j, first,
                       "takes part in an operation of the whole wave, but the "
                       "wave has %zu lanes only",
                       end - first);
}

/* Runs the lanes of a wave to where they meet; false when none has to. */
static bool run_lanes(groat__judge *j, size_t wave)
{
    size_t lanes = (size_t)j->trial->arch->wave_lanes;
    size_t turn = j->trial->seed == 0 ? 0 : (size_t)next_random(j) % lanes;
    size_t first = wave * lanes;
    size_t end = end_of_wave(j, first);
    bool met = false;

    for (size_t i = 0; i < lanes && !j->failed; i++) {
        size_t t = first + (i + turn) % lanes;

        if (t < end && j->fibers[t].state == GROAT__READY)
            resume(j, t);
    }
    check_joined(j, first, end);
    groat__judge_tell(j, wave);
    for (size_t t = first; t < end; t++)
        if (j->fibers[t].state == GROAT__MEETING ||
            j->fibers[t].state == GROAT__JOINED) {
            j->fibers[t].state = GROAT__READY;
            met = true;
        }
    return met && !j->failed;
}

static void run_wave(groat__judge *j, size_t wave)
{
    while (run_lanes(j, wave))
        continue;
    check_wave(j, wave);
}

/* Runs every thread to its next barrier or its end; false when all ended. */
static bool run_interval(groat__judge *j, uint32_t *order)
{
    bool waiting = false;

    shuffle(j, order, j->wave_count);
    for (size_t w = 0; w < j->wave_count && !j->failed; w++)
        run_wave(j, order[w]);
    for (size_t t = 0; t < j->threads; t++) {
        groat__fiber *f = &j->fibers[t];

        if (f->state == GROAT__AT_BARRIER) {
            f->state = GROAT__READY;
            waiting = true;
        }
        f->uniforms = 0;
    }
    for (size_t w = 0; w < j->wave_count; w++)
        j->waves[w].count = 0;
    j->epoch++;
    return waiting && !j->failed;
}

static void run_block(groat__judge *j, uint32_t *order)
{
    j->epoch = 1;
    for (size_t i = 0; i < j->trial->shared_bytes; i++)
        j->shared[i] = (uint8_t)next_random(j);
    memset(j->shadows, 0, j->trial->shared_bytes * sizeof(*j->shadows));
    for (size_t t = 0; t < j->threads; t++)
        start_fiber(j, t);
    for (size_t w = 0; w < j->wave_count; w++)
        j->traces[w].told = 0;
    while (run_interval(j, order))
        continue;
}

static void run_grid(groat__judge *j, uint32_t *order)
{
    const unsigned *g = j->trial->grid;

    for (unsigned z = 0; z < g[2]; z++)
        for (unsigned y = 0; y < g[1]; y++)
            for (unsigned x = 0; x < g[0] && !j->failed; x++) {
                j->env.block[0] = x;
                j->env.block[1] = y;
                j->env.block[2] = z;
                run_block(j, order);
            }
}

/* ---- a launch ---------------------------------------------------------- */

static bool set_up(groat__judge *j, uint32_t **order)
{
    const groat__trial *t = j->trial;
    size_t bytes;

    j->threads = (size_t)t->block[0] * t->block[1] * t->block[2];
    j->wave_count = (j->threads + (size_t)t->arch->wave_lanes - 1) /
                    (size_t)t->arch->wave_lanes;
    j->random = t->seed;
    bytes = j->threads * (t->stack_bytes + GUARD_BYTES);
    j->stacks = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (j->stacks == MAP_FAILED) {
        j->stacks = NULL;
        return false;
    }
    for (size_t i = 0; i < j->threads; i++)
        if (mprotect(stack_of(j, i) - GUARD_BYTES, GUARD_BYTES, PROT_NONE) != 0)
            return false;
    /* Exactly as large as the block's: ASan then sees stray pointers too. */
    j->shared = malloc(t->shared_bytes + (t->shared_bytes == 0));
    j->shadows = calloc(t->shared_bytes + 1, sizeof(*j->shadows));
    j->fibers = calloc(j->threads, sizeof(*j->fibers));
    j->waves = calloc(j->wave_count, sizeof(*j->waves));
    j->traces = calloc(j->wave_count, sizeof(*j->traces));
    *order = calloc(j->wave_count, sizeof(**order));
    if (!j->shared || !j->shadows || !j->fibers || !j->waves || !j->traces ||
        !*order)
        return false;
    if (__tsan_create_fiber) {
        j->tsan_home = __tsan_get_current_fiber();
        for (size_t i = 0; i < j->threads; i++)
            j->fibers[i].tsan = __tsan_create_fiber(0);
    }
    return true;
}

static void tear_down(groat__judge *j)
{
    for (size_t i = 0; j->fibers != NULL && i < j->threads; i++) {
        free(j->fibers[i].flights);
        if (__tsan_destroy_fiber && j->fibers[i].tsan != NULL)
            __tsan_destroy_fiber(j->fibers[i].tsan);
    }
    for (size_t i = 0; j->waves != NULL && i < j->wave_count; i++)
        free(j->waves[i].values);
    for (size_t i = 0; j->traces != NULL && i < j->wave_count; i++)
        free(j->traces[i].items);
    if (j->stacks != NULL)
        (void)munmap(j->stacks,
                     j->threads * (j->trial->stack_bytes + GUARD_BYTES));
    free(j->shared);
    free(j->shadows);
    free(j->fibers);
    free(j->waves);
    free(j->traces);
    free(j);
}

groat_status groat__judge_run(const groat__trial *trial, groat_error *error)
{
    groat_status status = GROAT_OK;
    uint32_t *order = NULL;
    groat__judge *j = calloc(1, sizeof(*j));

    if (j == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for the judge");
    j->trial = trial;
    j->env.version = GROAT_CPU_HOOKS_VERSION;
    j->env.ops = &hooks;
    memcpy(j->env.grid, trial->grid, sizeof(j->env.grid));
    if (trial->bind(&j->env) != GROAT_CPU_HOOKS_VERSION)
        status =
            groat__fail(error, GROAT_LAUNCH_FAILED,
                        "%s was compiled for another judge", trial->kernel);
    else if (!set_up(j, &order))
        status = groat__fail(error, GROAT_NO_MEMORY,
                             "no memory for %u x %u x %u fibers",
                             trial->block[0], trial->block[1], trial->block[2]);
    else
        run_grid(j, order);
    (void)trial->bind(NULL);
    if (j->failed)
        status =
            groat__fail(error, j->no_memory ? GROAT_NO_MEMORY : GROAT_JUDGED,
                        "%s", j->finding);
    free(order);
    tear_down(j);
    return status;
}
