/* SPDX-License-Identifier: Apache-2.0
 *
 * fiber.c owns the fibers of a cluster's threads: their stacks, switching
 * to one and back, leaving one for good, and the finding that says why.
 * schedule.c decides which runs.  Invariant: one fiber or the scheduler
 * ("home") runs; `current` is the fiber that runs or ran last.
 */
/* The fortified longjmp() aborts when it jumps to another stack. */
#undef _FORTIFY_SOURCE

#include "judge/fiber.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/grow.h"

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
    GUARD_BYTES = 64 << 10,   /* a multiple of any page size */
    RESERVED_BYTES = 32 << 10 /* of a stack, for the hooks and a finding */
};

uint64_t groat__judge_random(groat__judge *j)
{
    uint64_t z = (j->random += 0x9E3779B97F4A7C15u);

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* ---- switching --------------------------------------------------------- */

/* swapcontext() makes a system call for the signal mask, the largest cost of a
 * switch; longjmp() does not.  Sanitizers only support swapcontext(). */
static bool jumps(void)
{
    return !__sanitizer_start_switch_fiber && !__tsan_switch_to_fiber;
}

static void switch_over(groat__stand *from, groat__stand *to)
{
    if (!jumps())
        (void)swapcontext(&from->context, &to->context);
    else if (_setjmp(from->jump) == 0) {
        from->left = true;
        if (!to->left)
            (void)setcontext(&to->context);
        _longjmp(to->jump, 1);
    }
}

static void to_home(groat__judge *j)
{
    groat__fiber *f = groat__judge_fiber(j);
    void **fake = f->state == GROAT__DONE ? NULL : &f->asan_fake;

    if (__sanitizer_start_switch_fiber)
        __sanitizer_start_switch_fiber(fake, j->home_bottom, j->home_bytes);
    if (__tsan_switch_to_fiber)
        __tsan_switch_to_fiber(j->tsan_home, 0);
    switch_over(&f->stand, &j->home);
    if (__sanitizer_finish_switch_fiber)
        __sanitizer_finish_switch_fiber(f->asan_fake, NULL, NULL);
}

void groat__judge_stop(groat__judge *j, groat__fiber_state state)
{
    groat__judge_fiber(j)->state = state;
    to_home(j);
}

/* A guard region lies below each stack: an overflow faults there instead of
 * overwriting the neighbouring stack. */
static uint8_t *stack_of(const groat__judge *j, size_t fiber)
{
    return j->stacks + fiber * (j->launch->stack_bytes + GUARD_BYTES) +
           GUARD_BYTES;
}

void groat__judge_overflow(groat__judge *j)
{
    groat__judge_report(j, "recurses without end, or needs more local memory "
                           "than there is");
}

void groat__judge_resume(groat__judge *j, size_t fiber)
{
    groat__fiber *f = &j->fibers[fiber];
    const unsigned *b = j->launch->block;
    unsigned thread = (unsigned)groat__judge_thread_of(j, fiber);

    j->current = fiber;
    j->stack_end = (uintptr_t)stack_of(j, fiber) + RESERVED_BYTES;
    j->block = &j->blocks[groat__judge_rank_of(j, fiber)];
    j->env.thread[0] = thread % b[0];
    j->env.thread[1] = thread / b[0] % b[1];
    j->env.thread[2] = thread / b[0] / b[1];
    memcpy(j->env.block, j->block->at, sizeof(j->env.block));
    j->env.cluster_rank = (unsigned)groat__judge_rank_of(j, fiber);
    if (__sanitizer_start_switch_fiber)
        __sanitizer_start_switch_fiber(&j->asan_home,
                                       f->stand.context.uc_stack.ss_sp,
                                       f->stand.context.uc_stack.ss_size);
    if (__tsan_switch_to_fiber)
        __tsan_switch_to_fiber(f->tsan, 0);
    switch_over(&j->home, &f->stand);
    if (__sanitizer_finish_switch_fiber)
        __sanitizer_finish_switch_fiber(j->asan_home, NULL, NULL);
}

static void fiber_main(unsigned high, unsigned low)
{
    groat__judge *j = (groat__judge *)(uintptr_t)((uint64_t)high << 32 | low);

    if (__sanitizer_finish_switch_fiber)
        __sanitizer_finish_switch_fiber(NULL, &j->home_bottom, &j->home_bytes);
    j->body(j);
    groat__judge_stop(j, GROAT__DONE);
}

bool groat__judge_is_on_stack(const groat__judge *j, uintptr_t stack)
{
    uintptr_t start = (uintptr_t)stack_of(j, j->current) - GUARD_BYTES;

    return stack - start <= j->launch->stack_bytes + GUARD_BYTES;
}

void groat__judge_start(groat__judge *j, size_t fiber)
{
    groat__fiber *f = &j->fibers[fiber];
    uint64_t address = (uint64_t)(uintptr_t)j;

    f->stand.left = false;
    (void)getcontext(&f->stand.context);
    f->stand.context.uc_stack.ss_sp = stack_of(j, fiber);
    f->stand.context.uc_stack.ss_size = j->launch->stack_bytes;
    f->stand.context.uc_link = NULL;
    makecontext(&f->stand.context, (void (*)(void))fiber_main, 2,
                (unsigned)(address >> 32), (unsigned)address);
    f->state = GROAT__READY;
    f->site = 0;
    f->stores = f->open_store = 0;
    f->polls = false;
    f->vain_polls = 0;
    f->polled_at = 0;
    f->store_group_count = 0;
    f->acts = false;
    f->leads = false;
    f->flight_count = 0;
    f->group = 0;
    f->uniforms = 0;
    f->accesses = 0;
    f->left_out = 0;
    f->unfenced = false;
    f->turn = 0;
    f->mask = 0;
    f->asan_fake = NULL;
}

bool groat__judge_make_fibers(groat__judge *j)
{
    size_t bytes = j->fiber_count * (j->launch->stack_bytes + GUARD_BYTES);

    j->fibers = calloc(j->fiber_count, sizeof(*j->fibers));
    j->stacks = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (j->stacks == MAP_FAILED) {
        j->stacks = NULL;
        return false;
    }
    if (j->fibers == NULL)
        return false;
    for (size_t i = 0; i < j->fiber_count; i++)
        if (mprotect(stack_of(j, i) - GUARD_BYTES, GUARD_BYTES, PROT_NONE) != 0)
            return false;
    if (__tsan_create_fiber) {
        j->tsan_home = __tsan_get_current_fiber();
        for (size_t i = 0; i < j->fiber_count; i++)
            j->fibers[i].tsan = __tsan_create_fiber(0);
    }
    return true;
}

void groat__judge_drop_fibers(groat__judge *j)
{
    for (size_t i = 0; j->fibers != NULL && i < j->fiber_count; i++) {
        free(j->fibers[i].flights);
        free(j->fibers[i].store_groups);
        if (__tsan_destroy_fiber && j->fibers[i].tsan != NULL)
            __tsan_destroy_fiber(j->fibers[i].tsan);
    }
    if (j->stacks != NULL)
        (void)munmap(j->stacks,
                     j->fiber_count * (j->launch->stack_bytes + GUARD_BYTES));
    free(j->fibers);
}

/* ---- findings ---------------------------------------------------------- */

void groat__judge_add_place(groat__judge *j, int32_t site, const char *format,
                            ...)
{
    groat__judge_places *places = &j->finding.places;
    struct groat__judge_place *place;
    va_list args;

    if (j->failed || places->count == GROAT__JUDGE_PLACES)
        return;
    place = &places->at[places->count++];
    place->address = (uintptr_t)j->launch->entry + (uintptr_t)(intptr_t)site;
    va_start(args, format);
    (void)vsnprintf(place->what, sizeof(place->what), format, args);
    va_end(args);
}

const char *groat__judge_call(const groat__judge *j, const char *function)
{
    static const struct {
        const char *function, *ptx;
    } calls[] = {
        {"async_proxy_fence", "fence.proxy.async"},
        {"mbarrier_init", "mbarrier.init"},
        {"mbarrier_init_fence", "fence.mbarrier_init, fence.proxy.async"},
        {"warp_barrier", "__syncwarp()"},
        {"elect", "elect.sync"},
        {"wgmma", "wgmma.mma_async"},
        {"wgmma_commit", "wgmma.commit_group"},
        {"wgmma_fence", "wgmma.fence"},
        {"wgmma_wait", "wgmma.wait_group"}};

    for (size_t i = 0; j->env.cuda != 0 && i < sizeof(calls) / sizeof(calls[0]);
         i++)
        if (strcmp(calls[i].function, function) == 0)
            return calls[i].ptx;
    return function;
}

/* Adds the place of the reported thread, in front of the others. */
static void add_own_place(groat__judge *j, size_t fiber)
{
    groat__judge_places *places = &j->finding.places;
    struct groat__judge_place last;

    groat__judge_add_place(j, j->fibers[fiber].site, "here");
    if (places->count < 2)
        return;
    last = places->at[places->count - 1];
    memmove(&places->at[1], &places->at[0],
            (places->count - 1) * sizeof(places->at[0]));
    places->at[0] = last;
}

static void blame(groat__judge *j, size_t fiber, const char *format,
                  va_list args)
{
    const unsigned *b = j->blocks[groat__judge_rank_of(j, fiber)].at;
    size_t thread = groat__judge_thread_of(j, fiber);
    size_t lanes = (size_t)j->launch->arch->wave_lanes;
    char *text = j->finding.text;
    size_t used;

    if (j->failed)
        return;
    add_own_place(j, fiber);
    j->failed = true;
    if (j->finding.status == GROAT_OK)
        j->finding.status = GROAT_JUDGED;
    (void)snprintf(text, sizeof(j->finding.text),
                   "%s on %s: block %u,%u,%u thread %zu (wave %zu lane %zu) ",
                   j->launch->kernel, j->launch->arch->name, b[0], b[1], b[2],
                   thread, thread / lanes, thread % lanes);
    used = strlen(text);
    (void)vsnprintf(text + used, sizeof(j->finding.text) - used, format, args);
}

void groat__judge_blame(groat__judge *j, size_t fiber, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    blame(j, fiber, format, args);
    va_end(args);
}

void groat__judge_leave(groat__judge *j)
{
    to_home(j);
    abort(); /* a reported fiber is never switched to again */
}

void groat__judge_report(groat__judge *j, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    blame(j, j->current, format, args);
    va_end(args);
    groat__judge_leave(j);
}

void groat__judge_abandon(groat__judge *j)
{
    j->failed = true;
    groat__judge_leave(j);
}

void groat__judge_starve(groat__judge *j)
{
    j->finding.status = GROAT_NO_MEMORY;
    groat__judge_report(j, "ran out of host memory");
}

void *groat__judge_grow(groat__judge *j, void *items, size_t count, size_t *cap,
                        size_t bytes)
{
    if (!groat__grow(&items, count + 1, cap, bytes))
        groat__judge_starve(j);
    return items;
}
