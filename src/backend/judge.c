/* SPDX-License-Identifier: Apache-2.0
 *
 * judge.c executes a kernel that was compiled for a cpu target and holds it
 * against the memory model of the arch it stands for.  It owns fibers, shared
 * memory with a shadow for every byte, and the queues of copies in flight.
 * Compiling and loading are cxx.c's and cpu.c's.
 *
 * Invariant: a byte of shared memory changes only in land() and in
 * shared_store(), and each looks at the byte's shadow first.  A judge belongs
 * to one launch on one OS thread; there is nothing to lock.
 *
 * Whoever may see whose writes without a barrier is an "agent": a wave on AMD,
 * whose lanes run in lock step, a thread on NVIDIA.  Lanes of a wave meet at
 * every wait and fence, so what one wrote before it the others see after it.
 */
#include "backend/judge.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "base/error.h"
#include "base/str.h"
#include "kernels-src/common/cpu_hooks.h"

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

enum {
    MANY = 0xffff,
    VMCNT_MAX = 63,
    GUARD_BYTES = 64 << 10 /* a multiple of any page size */
};

typedef enum byte_state { UNWRITTEN = 0, WRITTEN, IN_FLIGHT } byte_state;

/* What is known of one byte of shared memory. */
typedef struct shadow {
    uint32_t write_epoch;
    uint32_t read_epoch;
    uint16_t writer; /* thread that wrote it or has a copy in flight */
    uint16_t reader; /* thread or MANY, in read_epoch               */
    uint8_t state;
} shadow;

/* One vector-memory operation that has not retired. */
typedef struct flight {
    uint64_t source; /* device address; dwords from `inside` on are zero */
    uint32_t shared;
    uint32_t group;
    uint16_t bytes; /* 0: a store to device memory, which only counts */
    uint16_t inside;
} flight;

/* MEETING: stopped at a wait or a fence until its whole wave is there. */
typedef enum fiber_state { READY, MEETING, AT_BARRIER, DONE } fiber_state;

typedef struct fiber {
    ucontext_t context;
    fiber_state state;
    flight *flights; /* oldest first */
    size_t flight_count;
    size_t flight_cap;
    uint32_t group;    /* number of the group being filled */
    uint32_t uniforms; /* wave-uniform values since the last barrier */
    bool unfenced;     /* shared-memory stores that no fence covered */
    void *asan_fake;
    void *tsan;
} fiber;

typedef struct wave_log {
    uint64_t *values;
    size_t count;
    size_t cap;
} wave_log;

typedef struct judge {
    struct groat_cpu_env env; /* first: hooks get a pointer to it */
    const groat__trial *trial;
    uint8_t *shared;
    shadow *shadows;
    fiber *fibers;
    size_t threads;
    size_t current;
    uint32_t epoch; /* barriers passed in this block, from 1 */
    wave_log *waves;
    size_t wave_count;
    uint8_t *stacks;
    ucontext_t home;
    void *asan_home;
    const void *home_bottom;
    size_t home_bytes;
    void *tsan_home;
    uint64_t random;
    bool failed;
    bool no_memory;
    char finding[GROAT_ERROR_TEXT];
} judge;

static judge *judge_of(struct groat_cpu_env *env)
{
    return (judge *)(void *)env;
}

static bool is_amd(const judge *j)
{
    return j->trial->arch->vendor == GROAT__HIP;
}

static uint64_t next_random(judge *j)
{
    uint64_t z = (j->random += 0x9E3779B97F4A7C15u);

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* ---- fibers ------------------------------------------------------------ */

static void to_home(judge *j)
{
    fiber *f = &j->fibers[j->current];
    void **fake = f->state == DONE ? NULL : &f->asan_fake;

    if (__sanitizer_start_switch_fiber)
        __sanitizer_start_switch_fiber(fake, j->home_bottom, j->home_bytes);
    if (__tsan_switch_to_fiber)
        __tsan_switch_to_fiber(j->tsan_home, 0);
    (void)swapcontext(&f->context, &j->home);
    if (__sanitizer_finish_switch_fiber)
        __sanitizer_finish_switch_fiber(f->asan_fake, NULL, NULL);
}

/* Leaves the fiber for good: its stack is never resumed. */
static void GROAT_PRINTF(2, 3) convict(judge *j, const char *format, ...)
{
    const unsigned *b = j->env.block;
    size_t t = j->current;
    size_t lanes = (size_t)j->trial->arch->wave_lanes;
    char what[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    (void)snprintf(j->finding, sizeof(j->finding),
                   "%s on %s: block %u,%u,%u thread %zu (wave %zu lane %zu) %s",
                   j->trial->kernel, j->trial->arch->name, b[0], b[1], b[2], t,
                   t / lanes, t % lanes, what);
    j->failed = true;
    to_home(j);
    abort(); /* a convicted fiber is never switched to again */
}

static size_t agent_of(const judge *j, size_t thread)
{
    return is_amd(j) ? thread / (size_t)j->trial->arch->wave_lanes : thread;
}

static bool same_agent(const judge *j, size_t a, size_t b)
{
    return agent_of(j, a) == agent_of(j, b);
}

/* No lane of an AMD wave goes on before all have come. */
static void meet(judge *j)
{
    if (!is_amd(j))
        return;
    j->fibers[j->current].state = MEETING;
    to_home(j);
}

/* ---- shared memory ----------------------------------------------------- */

static void check_shared(judge *j, uint32_t address, uint32_t bytes,
                         const char *verb)
{
    if (address > j->trial->shared_bytes ||
        bytes > j->trial->shared_bytes - address)
        convict(j,
                "%s %u bytes at byte %u of shared memory; the block has %u "
                "bytes",
                verb, bytes, address, j->trial->shared_bytes);
    if (bytes != 0 && address % bytes != 0)
        convict(j, "%s %u bytes at byte %u of shared memory, misaligned", verb,
                bytes, address);
}

static void check_read(judge *j, uint32_t at)
{
    shadow *s = &j->shadows[at];

    if (s->state == IN_FLIGHT)
        convict(j,
                "reads byte %u of shared memory while a copy of thread %u into "
                "it is in flight: a wait is missing or counts too much",
                at, s->writer);
    if (s->state == UNWRITTEN)
        convict(j, "reads byte %u of shared memory, which nobody wrote", at);
    if (s->write_epoch == j->epoch && !same_agent(j, s->writer, j->current))
        convict(j,
                "reads byte %u of shared memory, which thread %u wrote since "
                "the last barrier: a barrier is missing",
                at, s->writer);
    if (s->read_epoch != j->epoch)
        s->reader = (uint16_t)j->current;
    else if (s->reader != MANY && !same_agent(j, s->reader, j->current))
        s->reader = MANY;
    s->read_epoch = j->epoch;
}

static void check_write(judge *j, uint32_t at, const char *verb)
{
    const shadow *s = &j->shadows[at];

    if (s->state == IN_FLIGHT)
        convict(j,
                "%s byte %u of shared memory while a copy of thread %u into it "
                "is in flight",
                verb, at, s->writer);
    if (s->state == WRITTEN && s->write_epoch == j->epoch &&
        !same_agent(j, s->writer, j->current))
        convict(j,
                "%s byte %u of shared memory, which thread %u wrote since the "
                "last barrier",
                verb, at, s->writer);
    if (s->read_epoch == j->epoch &&
        (s->reader == MANY || !same_agent(j, s->reader, j->current)))
        convict(j,
                "%s byte %u of shared memory, which another wave or thread "
                "read since the last barrier: a barrier is missing",
                verb, at);
}

static void mark(judge *j, uint32_t at, byte_state state)
{
    shadow *s = &j->shadows[at];

    s->state = (uint8_t)state;
    s->writer = (uint16_t)j->current;
    s->write_epoch = j->epoch;
}

static void shared_load(struct groat_cpu_env *env, unsigned address, void *to,
                        unsigned bytes)
{
    judge *j = judge_of(env);

    check_shared(j, address, bytes, "reads");
    for (uint32_t i = 0; i < bytes; i++)
        check_read(j, address + i);
    memcpy(to, j->shared + address, bytes);
}

static void shared_store(struct groat_cpu_env *env, unsigned address,
                         const void *from, unsigned bytes)
{
    judge *j = judge_of(env);

    check_shared(j, address, bytes, "writes");
    for (uint32_t i = 0; i < bytes; i++) {
        check_write(j, address + i, "writes");
        mark(j, address + i, WRITTEN);
    }
    memcpy(j->shared + address, from, bytes);
    j->fibers[j->current].unfenced = true;
}

static void shared_fence(struct groat_cpu_env *env)
{
    judge *j = judge_of(env);

    j->fibers[j->current].unfenced = false;
    meet(j);
}

/* ---- device memory ----------------------------------------------------- */

/* Bytes between the address and the buffer; 0 inside and right behind it. */
static uint64_t distance(const groat__judge_range *r, uint64_t address)
{
    if (address < r->address)
        return r->address - address;
    return address - r->address > r->bytes ? address - r->address - r->bytes
                                           : 0;
}

static void check_device(judge *j, uint64_t address, uint32_t bytes,
                         const char *verb)
{
    const groat__judge_range *near = NULL;
    bool before;

    for (size_t i = 0; i < j->trial->range_count; i++) {
        const groat__judge_range *r = &j->trial->ranges[i];

        if (address >= r->address && address - r->address <= r->bytes &&
            bytes <= r->bytes - (address - r->address))
            return;
        if (near == NULL || distance(r, address) < distance(near, address))
            near = r;
    }
    if (near == NULL)
        convict(j, "%s %u bytes at device address 0x%llx; there is no buffer",
                verb, bytes, (unsigned long long)address);
    before = address < near->address;
    convict(j,
            "%s %u bytes at device address 0x%llx: %s%llu of a buffer of %zu "
            "bytes",
            verb, bytes, (unsigned long long)address,
            before ? "byte -" : "byte ",
            (unsigned long long)(before ? near->address - address
                                        : address - near->address),
            near->bytes);
}

static void check_alignment(judge *j, uint64_t address, uint32_t bytes,
                            const char *verb)
{
    uint32_t unit = is_amd(j) ? 4 : bytes;

    if (address % unit != 0)
        convict(j, "%s %u bytes at device address 0x%llx, no multiple of %u",
                verb, bytes, (unsigned long long)address, unit);
}

static void global_load(struct groat_cpu_env *env, unsigned long long address,
                        void *to, unsigned bytes)
{
    judge *j = judge_of(env);

    check_device(j, address, bytes, "reads");
    check_alignment(j, address, bytes, "reads");
    memcpy(to, (const void *)(uintptr_t)address, bytes);
}

static flight *new_flight(judge *j)
{
    fiber *f = &j->fibers[j->current];

    if (f->flight_count == f->flight_cap) {
        size_t cap = f->flight_cap == 0 ? 32 : 2 * f->flight_cap;
        flight *more = realloc(f->flights, cap * sizeof(*more));

        if (more == NULL) {
            j->no_memory = true;
            convict(j, "ran out of host memory");
        }
        f->flights = more;
        f->flight_cap = cap;
    }
    return &f->flights[f->flight_count++];
}

static void global_store(struct groat_cpu_env *env, unsigned long long address,
                         const void *from, unsigned bytes)
{
    judge *j = judge_of(env);

    check_device(j, address, bytes, "writes");
    check_alignment(j, address, bytes, "writes");
    memcpy((void *)(uintptr_t)address, from, bytes);
    /* Stores share the counter of the copies on AMD. */
    if (is_amd(j))
        *new_flight(j) = (flight){0};
}

/* ---- values that a wave shares ----------------------------------------- */

/* Lanes run one after the other: the first to come says what the value is. */
static void check_uniform(judge *j, uint64_t value, const char *what)
{
    fiber *f = &j->fibers[j->current];
    wave_log *log = &j->waves[j->current / (size_t)j->trial->arch->wave_lanes];
    size_t index = f->uniforms++;

    if (index == log->count) {
        if (log->count == log->cap) {
            size_t cap = log->cap == 0 ? 64 : 2 * log->cap;
            uint64_t *more = realloc(log->values, cap * sizeof(*more));

            if (more == NULL) {
                j->no_memory = true;
                convict(j, "ran out of host memory");
            }
            log->values = more;
            log->cap = cap;
        }
        log->values[log->count++] = value;
    }
    if (log->values[index] != value)
        convict(j,
                "has %s 0x%llx where another lane of its wave has 0x%llx: it "
                "must be equal in all lanes",
                what, (unsigned long long)value,
                (unsigned long long)log->values[index]);
}

static unsigned wave_uniform(struct groat_cpu_env *env, unsigned value)
{
    judge *j = judge_of(env);

    if (is_amd(j))
        check_uniform(j, value, "a wave-uniform value");
    return value;
}

/* ---- asynchronous copies ----------------------------------------------- */

static void check_copy(judge *j, uint64_t source, uint32_t shared,
                       uint32_t lane, uint32_t bytes)
{
    const groat__arch *arch = j->trial->arch;

    if (bytes != 4 && bytes != 16)
        convict(j, "copies %u bytes per lane; 4 or 16 are possible", bytes);
    if (is_amd(j) && bytes > (uint32_t)arch->lds_dma_bytes)
        convict(j, "copies %u bytes per lane; %s copies %d at most", bytes,
                arch->name, arch->lds_dma_bytes);
    if (!is_amd(j) && !arch->cp_async)
        convict(j, "copies asynchronously; %s cannot", arch->name);
    if (lane != j->current % 64)
        convict(j, "calls itself lane %u of its wave of 64", lane);
    check_alignment(j, source, bytes, "copies");
    check_shared(j, shared, bytes, "copies");
}

static void async_copy(struct groat_cpu_env *env, unsigned long long base,
                       unsigned num_records, unsigned shared_chunk,
                       unsigned lane, unsigned voffset, unsigned soffset,
                       unsigned bytes)
{
    judge *j = judge_of(env);
    uint64_t offset = (uint64_t)voffset + soffset;
    uint64_t left = offset < num_records ? num_records - offset : 0;
    uint32_t inside = (uint32_t)(left < bytes ? left : bytes) & ~3u;
    uint32_t shared = shared_chunk + lane * bytes;
    flight *copy;

    if (is_amd(j)) {
        check_uniform(j, shared_chunk, "M0");
        check_uniform(j, soffset, "soffset");
        check_uniform(j, base, "a buffer at");
        check_uniform(j, num_records, "num_records");
    }
    /* The machines add 32-bit offsets, each in its own way. */
    if (offset > UINT32_MAX)
        convict(j, "copies from voffset %u + soffset %u, past 32 bits", voffset,
                soffset);
    check_copy(j, inside != 0 ? base + offset : 0, shared, lane, bytes);
    if (inside != 0)
        check_device(j, base + offset, inside, "copies");
    for (uint32_t i = 0; i < bytes; i++) {
        check_write(j, shared + i, "copies into");
        mark(j, shared + i, IN_FLIGHT);
    }
    copy = new_flight(j);
    *copy = (flight){base + offset, shared, j->fibers[j->current].group,
                     (uint16_t)bytes, (uint16_t)inside};
}

static void land(judge *j, const flight *copy)
{
    if (copy->bytes == 0)
        return;
    if (copy->inside != 0)
        memcpy(j->shared + copy->shared, (const void *)(uintptr_t)copy->source,
               copy->inside);
    memset(j->shared + copy->shared + copy->inside, 0,
           (size_t)(copy->bytes - copy->inside));
    for (uint32_t i = 0; i < copy->bytes; i++)
        mark(j, copy->shared + i, WRITTEN);
}

static void async_commit(struct groat_cpu_env *env)
{
    judge *j = judge_of(env);

    j->fibers[j->current].group++;
}

static void async_wait(struct groat_cpu_env *env, unsigned ops, unsigned groups)
{
    judge *j = judge_of(env);
    fiber *f = &j->fibers[j->current];
    size_t landed = 0;

    if (is_amd(j) && ops > VMCNT_MAX)
        convict(j, "waits for vmcnt(%u); the counter holds %d", ops, VMCNT_MAX);
    while (landed < f->flight_count) {
        bool stays = is_amd(j) ? f->flight_count - landed <= ops
                               : f->flights[landed].group + groups >= f->group;

        if (stays)
            break;
        land(j, &f->flights[landed++]);
    }
    f->flight_count -= landed;
    if (landed > 0 && f->flight_count > 0)
        memmove(f->flights, f->flights + landed,
                f->flight_count * sizeof(*f->flights));
    meet(j);
}

/* ---- barriers and ends ------------------------------------------------- */

static void block_barrier(struct groat_cpu_env *env)
{
    judge *j = judge_of(env);
    fiber *f = &j->fibers[j->current];

    if (is_amd(j) && f->unfenced)
        convict(j, "reaches a barrier with stores to shared memory that no "
                   "shared_fence completed");
    f->unfenced = false;
    f->state = AT_BARRIER;
    to_home(j);
}

static const struct groat_cpu_ops hooks = {
    shared_load,  shared_store, global_load,  global_store,  async_copy,
    async_commit, async_wait,   shared_fence, block_barrier, wave_uniform,
};

static void check_end(judge *j)
{
    const fiber *f = &j->fibers[j->current];

    for (size_t i = 0; i < f->flight_count; i++)
        if (f->flights[i].bytes != 0)
            convict(j,
                    "ends with a copy into byte %u of shared memory in flight",
                    f->flights[i].shared);
}

static void fiber_main(unsigned high, unsigned low)
{
    judge *j = (judge *)(uintptr_t)((uint64_t)high << 32 | low);

    if (__sanitizer_finish_switch_fiber)
        __sanitizer_finish_switch_fiber(NULL, &j->home_bottom, &j->home_bytes);
    j->trial->entry(j->trial->args);
    check_end(j);
    j->fibers[j->current].state = DONE;
    to_home(j);
}

/* Below each stack lies memory that cannot be touched: a kernel that needs more
 * ends there instead of in its neighbour's stack. */
static uint8_t *stack_of(const judge *j, size_t index)
{
    return j->stacks + index * (j->trial->stack_bytes + GUARD_BYTES) +
           GUARD_BYTES;
}

static void start_fiber(judge *j, size_t index)
{
    fiber *f = &j->fibers[index];
    uint64_t address = (uint64_t)(uintptr_t)j;

    (void)getcontext(&f->context);
    f->context.uc_stack.ss_sp = stack_of(j, index);
    f->context.uc_stack.ss_size = j->trial->stack_bytes;
    f->context.uc_link = NULL;
    makecontext(&f->context, (void (*)(void))fiber_main, 2,
                (unsigned)(address >> 32), (unsigned)address);
    f->state = READY;
    f->flight_count = 0;
    f->group = 0;
    f->uniforms = 0;
    f->unfenced = false;
    f->asan_fake = NULL;
}

static void resume(judge *j, size_t index)
{
    fiber *f = &j->fibers[index];
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

static void shuffle(judge *j, uint32_t *order, size_t count)
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

/* Lanes of a wave must have come the same way: copies and uniform values are
 * instructions of the wave, not of the lane. */
static void check_wave(judge *j, size_t wave)
{
    size_t lanes = (size_t)j->trial->arch->wave_lanes;
    size_t first = wave * lanes;
    size_t end = first + lanes < j->threads ? first + lanes : j->threads;

    if (!is_amd(j) || j->failed)
        return;
    for (size_t t = first; t < end; t++) {
        const fiber *f = &j->fibers[t];

        if (f->state == j->fibers[first].state &&
            f->uniforms == j->waves[wave].count)
            continue;
        (void)snprintf(
            j->finding, sizeof(j->finding),
            "%s on %s: block %u,%u,%u thread %zu (wave %zu lane %zu) went "
            "another way than the others to %s (%u of %zu wave-wide "
            "operations)",
            j->trial->kernel, j->trial->arch->name, j->env.block[0],
            j->env.block[1], j->env.block[2], t, wave, t - first,
            f->state == DONE ? "its end" : "a barrier", f->uniforms,
            j->waves[wave].count);
        j->failed = true;
        return;
    }
}

/* Runs the lanes of a wave to where they meet; false when none has to. */
static bool run_lanes(judge *j, size_t wave)
{
    size_t lanes = (size_t)j->trial->arch->wave_lanes;
    size_t turn = j->trial->seed == 0 ? 0 : (size_t)next_random(j) % lanes;
    size_t first = wave * lanes;
    bool met = false;

    for (size_t i = 0; i < lanes && !j->failed; i++) {
        size_t t = first + (i + turn) % lanes;

        if (t < j->threads && j->fibers[t].state == READY)
            resume(j, t);
    }
    for (size_t t = first; t < first + lanes && t < j->threads; t++)
        if (j->fibers[t].state == MEETING) {
            j->fibers[t].state = READY;
            met = true;
        }
    return met && !j->failed;
}

static void run_wave(judge *j, size_t wave)
{
    while (run_lanes(j, wave))
        continue;
    check_wave(j, wave);
}

/* Runs every thread to its next barrier or its end; false when all ended. */
static bool run_interval(judge *j, uint32_t *order)
{
    bool waiting = false;

    shuffle(j, order, j->wave_count);
    for (size_t w = 0; w < j->wave_count && !j->failed; w++)
        run_wave(j, order[w]);
    for (size_t t = 0; t < j->threads; t++) {
        fiber *f = &j->fibers[t];

        if (f->state == AT_BARRIER) {
            f->state = READY;
            waiting = true;
        }
        f->uniforms = 0;
    }
    for (size_t w = 0; w < j->wave_count; w++)
        j->waves[w].count = 0;
    j->epoch++;
    return waiting && !j->failed;
}

static void run_block(judge *j, uint32_t *order)
{
    j->epoch = 1;
    for (size_t i = 0; i < j->trial->shared_bytes; i++)
        j->shared[i] = (uint8_t)next_random(j);
    memset(j->shadows, 0, j->trial->shared_bytes * sizeof(*j->shadows));
    for (size_t t = 0; t < j->threads; t++)
        start_fiber(j, t);
    while (run_interval(j, order))
        continue;
}

static void run_grid(judge *j, uint32_t *order)
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

static bool set_up(judge *j, uint32_t **order)
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
    *order = calloc(j->wave_count, sizeof(**order));
    if (!j->shared || !j->shadows || !j->fibers || !j->waves || !*order)
        return false;
    if (__tsan_create_fiber) {
        j->tsan_home = __tsan_get_current_fiber();
        for (size_t i = 0; i < j->threads; i++)
            j->fibers[i].tsan = __tsan_create_fiber(0);
    }
    return true;
}

static void tear_down(judge *j)
{
    for (size_t i = 0; j->fibers != NULL && i < j->threads; i++) {
        free(j->fibers[i].flights);
        if (__tsan_destroy_fiber && j->fibers[i].tsan != NULL)
            __tsan_destroy_fiber(j->fibers[i].tsan);
    }
    for (size_t i = 0; j->waves != NULL && i < j->wave_count; i++)
        free(j->waves[i].values);
    if (j->stacks != NULL)
        (void)munmap(j->stacks,
                     j->threads * (j->trial->stack_bytes + GUARD_BYTES));
    free(j->shared);
    free(j->shadows);
    free(j->fibers);
    free(j->waves);
    free(j);
}

groat_status groat__judge_run(const groat__trial *trial, groat_error *error)
{
    groat_status status = GROAT_OK;
    uint32_t *order = NULL;
    judge *j = calloc(1, sizeof(*j));

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
