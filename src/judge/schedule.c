/* SPDX-License-Identifier: Apache-2.0
 *
 * schedule.c decides which thread of a cluster runs next, and opens the
 * barriers where threads wait (meet.c).  If nothing opens, deadlock.c reports.
 *
 * Threads run as far as they can.  When none can continue, the barriers that
 * all threads have reached open; if there is none, one copy's bytes arrive.
 */
#include "judge/schedule.h"

#include "judge/deadlock.h"
#include "judge/fiber.h"
#include "judge/mbarrier.h"
#include "judge/meet.h"
#include "judge/order.h"
#include "judge/tma.h"
#include "judge/trace.h"
#include "judge/unwritten.h"

/* ---- waves that meet --------------------------------------------------- */

/* Lanes of an AMD wave must have taken the same path: copies and uniform values
 * are instructions of the wave, not of the lane. */
static void check_wave(groat__judge *j, size_t wave)
{
    size_t first;
    size_t end = groat__judge_lanes(j, wave, 1, &first);

    if (!groat__judge_is_amd(j) || j->failed)
        return;
    for (size_t t = first; t < end; t++) {
        const groat__fiber *f = &j->fibers[t];

        /* Of a lane that has ended before a barrier, check_barrier() tells. */
        if ((f->state == j->fibers[first].state || f->state == GROAT__DONE ||
             j->fibers[first].state == GROAT__DONE) &&
            f->uniforms == j->waves[wave].count)
            continue;
        groat__judge_blame(j, t,
                           "went another way than the others to %s (%u of %zu "
                           "wave-wide operations)",
                           f->state == GROAT__DONE ? "its end" : "a barrier",
                           f->uniforms, j->waves[wave].count);
        return;
    }
}

/* An operation of the whole AMD wave needs all lanes (EXEC all ones). */
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
        groat__judge_blame(j, absent,
                           "is missing from an operation that needs all lanes "
                           "of the wave; %zu take part",
                           joined);
    else if (end - first != (size_t)j->launch->arch->wave_lanes)
        groat__judge_blame(j, first,
                           "takes part in an operation of the whole wave, but "
                           "the wave has %zu lanes only",
                           end - first);
}

/* Lets the lanes of an AMD wave that met continue. */
static void part(groat__judge *j, size_t first, size_t end)
{
    check_joined(j, first, end);
    for (size_t t = first; t < end; t++)
        if (j->fibers[t].state == GROAT__MEETING ||
            j->fibers[t].state == GROAT__JOINED)
            j->fibers[t].state = GROAT__READY;
}

static bool is_ready(const groat__judge *j, size_t first, size_t end)
{
    for (size_t t = first; t < end; t++)
        if (j->fibers[t].state == GROAT__READY)
            return true;
    return false;
}

/* Runs the ready lanes of a wave; false when none is ready afterwards. */
static bool run_lanes(groat__judge *j, size_t wave)
{
    size_t lanes = (size_t)j->launch->arch->wave_lanes;
    size_t turn =
        j->launch->seed == 0 ? 0 : (size_t)groat__judge_random(j) % lanes;
    size_t first;
    size_t end = groat__judge_lanes(j, wave, 1, &first);

    for (size_t i = 0; i < lanes && !j->failed; i++) {
        size_t t = first + (i + turn) % lanes;

        if (t < end && j->fibers[t].state == GROAT__READY)
            groat__judge_resume(j, t);
    }
    if (groat__judge_is_amd(j))
        part(j, first, end);
    groat__judge_tell(j, wave);
    return !j->failed && is_ready(j, first, end);
}

static void run_wave(groat__judge *j, size_t wave)
{
    size_t first;
    size_t end = groat__judge_lanes(j, wave, 1, &first);

    if (!is_ready(j, first, end))
        return;
    while (run_lanes(j, wave))
        continue;
    check_wave(j, wave);
}

/* ---- barriers ---------------------------------------------------------- */

/* All threads of a block must pass the same barriers: one that has ended is
 * missing, even where the hardware counts it as arrived, unless it is one of
 * CUDA C++ that did nothing. */
static void check_barrier(groat__judge *j, size_t first, size_t end,
                          groat__fiber_state where)
{
    size_t waits = first;
    size_t ended = first;

    while (j->fibers[waits].state != where)
        waits++;
    while (ended < end && (j->fibers[ended].state != GROAT__DONE ||
                           groat__judge_is_absent(j, ended)))
        ended++;
    if (ended == end || j->failed)
        return;
    groat__judge_add_place(j, j->fibers[ended].site, "the last of thread %zu",
                           groat__judge_thread_of(j, ended));
    groat__judge_blame(
        j, waits,
        "waits at a barrier that thread %zu does not come to, as that thread "
        "has ended: all threads of a block must reach a barrier equally often",
        groat__judge_thread_of(j, ended));
}

/* All lanes of a wave must come to the same barrier: a wave that executes two
 * has come to it twice (PTX ISA, barrier.sync.aligned; AMD's s_barrier). */
static void check_lines(groat__judge *j, size_t first, size_t end)
{
    for (size_t t = first, from = first; t < end && !j->failed; t++) {
        const groat__fiber *f = &j->fibers[t];

        if (groat__judge_wave_of(j, t) != groat__judge_wave_of(j, from) ||
            j->fibers[from].state != GROAT__AT_BARRIER ||
            j->fibers[from].line == 0)
            from = t;
        if (f->state != GROAT__AT_BARRIER || f->line == 0 ||
            f->line == j->fibers[from].line)
            continue;
        groat__judge_add_place(j, j->fibers[from].site,
                               "the barrier of thread %zu",
                               groat__judge_thread_of(j, from));
        groat__judge_blame(
            j, t,
            "waits at another barrier than thread %zu of its wave: all lanes "
            "of a wave must come to the same one",
            groat__judge_thread_of(j, from));
    }
}

/* Opens the barrier of fibers [first, end) if each fiber has reached it or has
 * ended; false if it stays closed or no fiber waits. */
static bool open_barrier(groat__judge *j, size_t first, size_t end,
                         groat__fiber_state where)
{
    size_t reached = 0;

    for (size_t t = first; t < end; t++)
        if (j->fibers[t].state == where)
            reached++;
        else if (j->fibers[t].state != GROAT__DONE)
            return false;
    if (reached == 0)
        return false;
    if (reached < end - first && where == GROAT__AT_BARRIER)
        check_barrier(j, first, end, where);
    if (where == GROAT__AT_BARRIER)
        check_lines(j, first, end);
    for (size_t t = first; t < end; t++) {
        if (j->fibers[t].state == where)
            j->fibers[t].state = GROAT__READY;
        j->fibers[t].uniforms = 0;
        j->waves[groat__judge_wave_of(j, t)].count = 0;
    }
    groat__judge_clock_sync(j, first, end, 0);
    for (size_t b = first / j->threads; b * j->threads < end; b++)
        j->blocks[b].votes[++j->blocks[b].epoch & 1] = 0;
    return true;
}

static bool open_barriers(groat__judge *j)
{
    bool opened = false;

    for (size_t b = 0; b < j->block_count; b++)
        opened |= open_barrier(j, b * j->threads, (b + 1) * j->threads,
                               GROAT__AT_BARRIER);
    return opened || open_barrier(j, 0, j->fiber_count, GROAT__AT_CLUSTER);
}

/* ---- a cluster --------------------------------------------------------- */

static void shuffle(groat__judge *j, uint32_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    for (size_t i = count; j->launch->seed != 0 && i > 1; i--) {
        size_t k = (size_t)groat__judge_random(j) % i;
        uint32_t held = order[i - 1];

        order[i - 1] = order[k];
        order[k] = held;
    }
}

/* Runs every thread as far as it can go. */
static void run_waves(groat__judge *j, uint32_t *order)
{
    shuffle(j, order, j->wave_count);
    while (is_ready(j, 0, j->fiber_count) && !j->failed)
        for (size_t w = 0; w < j->wave_count && !j->failed; w++)
            run_wave(j, order[w]);
}

void groat__judge_run_cluster(groat__judge *j, uint32_t *order)
{
    do
        run_waves(j, order);
    while (!j->failed &&
           (groat__judge_go_without(j) || open_barriers(j) ||
            groat__judge_gather(j) || groat__judge_engine_step(j) ||
            groat__judge_give_up_polls(j)));
    for (size_t t = 0; t < j->fiber_count && !j->failed; t++)
        if (j->fibers[t].state != GROAT__DONE &&
            !groat__judge_unwritten_blame(j, t))
            groat__judge_blame_deadlock(j);
}
