/* SPDX-License-Identifier: Apache-2.0
 *
 * named.c models NVIDIA's barriers 0 to 15 where a part of a block's threads
 * meets: each thread arrives, and those that wait go on when as many as the
 * barrier says have come.  Such a barrier is an mbarrier without memory, whose
 * count may be another in each phase.
 *
 * Rules: PTX ISA, barrier.cta.
 */
#include "judge/named.h"

#include "judge/fiber.h"
#include "judge/mbarrier.h"
#include "judge/meet.h"
#include "judge/order.h"

static uint32_t barrier_of(groat__judge *j, unsigned id, unsigned threads)
{
    uint32_t *place = &j->block->named[id];

    if (*place == 0) {
        groat__judge_new_barrier(j, threads)->named = id + 1;
        *place = (uint32_t)j->barrier_count;
    }
    return *place - 1;
}

static void check(groat__judge *j, unsigned id, unsigned threads)
{
    if (id >= GROAT__NAMED_BARRIERS)
        groat__judge_report(j, "comes to barrier %u; 0 to %d are possible", id,
                            GROAT__NAMED_BARRIERS - 1);
    if (threads != j->threads &&
        (threads == 0 || threads % 32 != 0 || threads > j->threads))
        groat__judge_report(j,
                            "comes to barrier %u of %u threads; multiples of "
                            "32 up to the block's %zu are possible",
                            id, threads, j->threads);
}

/* Barrier 0 is the block's, too. */
static void check_block(groat__judge *j, unsigned threads)
{
    size_t first = groat__judge_rank_of(j, j->current) * j->threads;

    for (size_t t = first; t < first + j->threads; t++) {
        if (j->fibers[t].state != GROAT__AT_BARRIER)
            continue;
        groat__judge_add_place(j, j->fibers[t].site, "thread %zu",
                               groat__judge_thread_of(j, t));
        groat__judge_report(j,
                            "comes to barrier 0 of %u threads, where thread "
                            "%zu waits for all of the block",
                            threads, groat__judge_thread_of(j, t));
    }
}

/* Lanes of the current warp that ended before they did anything: the hardware
 * counts whole warps. */
static uint32_t absent_lanes(const groat__judge *j)
{
    size_t first;
    size_t end =
        groat__judge_lanes(j, groat__judge_wave_of(j, j->current), 1, &first);
    uint32_t absent = 0;

    for (size_t t = first; t < end; t++)
        absent += groat__judge_is_absent(j, t);
    return absent;
}

void groat__judge_named_barrier(struct groat_cpu_env *env, unsigned id,
                                unsigned threads, unsigned how)
{
    groat__judge *j = groat__judge_enter(env);
    const uint64_t detail[4] = {id, threads, how, 0};
    groat__mbarrier *bar;
    uint32_t number;
    uint32_t phase;
    uint32_t came = 1;

    check(j, id, threads);
    if (id == 0)
        check_block(j, threads);
    groat__judge_clocks_on(j);
    if ((how & GROAT_CPU_BARRIER_ALIGNED) != 0 &&
        groat__judge_join(j, GROAT__NAMED_BARRIER, detail))
        came += absent_lanes(j);
    number = barrier_of(j, id, threads);
    bar = &j->barriers[number];
    if (bar->pending == bar->count)
        bar->count = bar->pending = threads;
    if (bar->count != threads)
        groat__judge_report(j,
                            "comes to barrier %u of %u threads, to which "
                            "others have come as to one of %u",
                            id, threads, bar->count);
    phase = bar->phase;
    came = came < bar->pending ? came : bar->pending;
    groat__judge_count_arrival(j, number, came);
    if ((how & GROAT_CPU_BARRIER_WAIT) != 0)
        groat__judge_await_phase(j, number, phase);
}
