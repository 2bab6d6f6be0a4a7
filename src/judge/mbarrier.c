/* SPDX-License-Identifier: Apache-2.0
 *
 * mbarrier.c models NVIDIA's mbarriers: phases, arrivals, and the tx-count of
 * expected and arrived bytes.  A phase completes when no arrival is missing and
 * all expected bytes have arrived; then the copies that were issued in it land,
 * and threads that wait for it resume.
 *
 * Invariant: the 8 bytes of an mbarrier are BARRIER in their block's shadows,
 * with its index in `readers`; it lives until its block ends or it is
 * invalidated.  Barriers of a part of a block (named.c) have no bytes.
 *
 * Rules: PTX ISA, mbarrier (counts, tx-count range, phases) and
 * fence.mbarrier_init.
 */
#include "judge/mbarrier.h"

#include <stdlib.h>
#include <string.h>

#include "judge/copies.h"
#include "judge/fiber.h"
#include "judge/memory.h"
#include "judge/order.h"
#include "judge/trace.h"

enum {
    BYTES = 8,
    COUNT_MAX = (1 << 20) - 1, /* arrivals, and bytes */
    VAIN_POLLS = 64
};

#define NEVER UINT32_MAX

static void need_engine(groat__judge *j, const char *verb)
{
    if (!j->launch->arch->tma)
        groat__judge_report(j, "%s an mbarrier; %s has none", verb,
                            j->launch->arch->name);
    groat__judge_clocks_on(j);
}

/* ---- making one -------------------------------------------------------- */

static void check_place(groat__judge *j, uint32_t bar, const char *verb)
{
    groat__judge_check_inside(j, bar, BYTES, verb);
    if (bar % BYTES != 0)
        groat__judge_report(
            j, "%s an mbarrier at byte %u of shared memory, no multiple of %d",
            verb, bar, BYTES);
}

groat__mbarrier *groat__judge_new_barrier(groat__judge *j, unsigned count)
{
    groat__mbarrier *bar;

    j->barriers = groat__judge_grow(j, j->barriers, j->barrier_count,
                                    &j->barrier_cap, sizeof(*j->barriers));
    groat__judge_clocks_widen(j);
    bar = &j->barriers[j->barrier_count];
    memset(bar, 0, sizeof(*bar));
    bar->gathering = calloc(j->clock_width, sizeof(*bar->gathering));
    bar->done = calloc(j->clock_width, sizeof(*bar->done));
    bar->last_waits = calloc(j->fiber_count, sizeof(*bar->last_waits));
    bar->last_arrivals = calloc(j->fiber_count, sizeof(*bar->last_arrivals));
    bar->last_tries = calloc(j->fiber_count, sizeof(*bar->last_tries));
    j->barrier_count++;
    if (!bar->gathering || !bar->done || !bar->last_waits ||
        !bar->last_arrivals || !bar->last_tries)
        groat__judge_starve(j);
    bar->rank = (uint32_t)groat__judge_rank_of(j, j->current);
    bar->count = bar->pending = count;
    return bar;
}

void groat__judge_drop_barriers(groat__judge *j)
{
    for (size_t b = 0; b < j->barrier_count; b++) {
        free(j->barriers[b].gathering);
        free(j->barriers[b].done);
        free(j->barriers[b].last_waits);
        free(j->barriers[b].last_arrivals);
        free(j->barriers[b].last_tries);
    }
    j->barrier_count = 0;
}

void groat__judge_mbarrier_init(struct groat_cpu_env *env, unsigned bar,
                                unsigned count)
{
    groat__judge *j = groat__judge_enter(env);
    groat__mbarrier *made;

    need_engine(j, "makes");
    check_place(j, bar, "makes");
    if (count == 0 || count > COUNT_MAX)
        groat__judge_report(
            j,
            "makes an mbarrier of %u arrivals at byte %u; 1 to %d are "
            "possible",
            count, bar, COUNT_MAX);
    for (uint32_t i = 0; i < BYTES; i++) {
        const groat__shadow *s = &j->block->shadows[bar + i];

        if (s->state == GROAT__BARRIER)
            groat__judge_report(
                j,
                "makes an mbarrier at byte %u, where thread %zu made one that "
                "is still in use",
                bar, groat__judge_thread_of(j, j->barriers[s->readers].maker));
        groat__judge_check_write(j, j->block, bar + i, "makes an mbarrier of");
    }
    made = groat__judge_new_barrier(j, count);
    made->address = bar;
    made->maker = (uint32_t)j->current;
    made->made = groat__judge_now(j, j->current);
    made->fenced = NEVER;
    for (uint32_t i = 0; i < BYTES; i++)
        j->block->shadows[bar + i] =
            (groat__shadow){made->maker,
                            made->made,
                            (uint32_t)(j->barrier_count - 1),
                            groat__judge_fiber(j)->site,
                            GROAT__BARRIER,
                            false};
}

void groat__judge_mbarrier_inval(struct groat_cpu_env *env, unsigned bar)
{
    groat__judge *j = groat__judge_enter(env);

    (void)groat__judge_mbarrier_at(j, bar, groat__judge_rank_of(j, j->current),
                                   false, "invalidates");
    for (uint32_t i = 0; i < BYTES; i++)
        j->block->shadows[bar + i] = (groat__shadow){0};
}

void groat__judge_mbarrier_init_fence(struct groat_cpu_env *env)
{
    groat__judge *j = groat__judge_enter(env);

    need_engine(j, "fences");
    for (size_t b = 0; b < j->barrier_count; b++)
        if (j->barriers[b].maker == j->current &&
            j->barriers[b].fenced == NEVER)
            j->barriers[b].fenced = groat__judge_now(j, j->current);
}

/* Fences all stores that the thread knows, also those of other threads: the
 * fence may stand anywhere between a store and the asynchronous access. */
void groat__judge_async_proxy_fence(struct groat_cpu_env *env)
{
    groat__judge *j = groat__judge_enter(env);
    uint32_t *clock;

    need_engine(j, "fences");
    clock = groat__judge_clock(j, j->current);
    for (size_t t = 0; t < j->fiber_count; t++) {
        uint32_t *fenced = &clock[groat__judge_agent_fenced(j, (uint32_t)t)];

        *fenced = *fenced > clock[t] ? *fenced : clock[t];
    }
    groat__judge_tick(j, j->current);
}

/* ---- finding one ------------------------------------------------------- */

/* The maker sees its mbarrier at once; other threads must know that it was
 * made.  For the engine or another block the maker must have fenced it; for the
 * engine a fence of its stores does, whoever made that. */
static bool is_visible(groat__judge *j, const groat__mbarrier *bar, bool engine,
                       bool remote)
{
    uint32_t since = engine || remote ? bar->fenced : bar->made;

    if (engine && !remote &&
        groat__judge_knows(j, groat__judge_agent_fenced(j, bar->maker),
                           bar->made))
        return true;
    return since != NEVER && (bar->maker == j->current ||
                              groat__judge_knows(j, bar->maker, since));
}

groat__mbarrier *groat__judge_mbarrier_at(groat__judge *j, uint32_t bar,
                                          size_t rank, bool engine,
                                          const char *verb)
{
    size_t own = groat__judge_rank_of(j, j->current);
    const groat__shadow *s;
    groat__mbarrier *found;

    need_engine(j, verb);
    if (rank >= j->block_count)
        groat__judge_report(j,
                            "%s an mbarrier of block %zu of its cluster of %zu",
                            verb, rank, j->block_count);
    check_place(j, bar, verb);
    s = &j->blocks[rank].shadows[bar];
    if (s->state != GROAT__BARRIER || j->barriers[s->readers].address != bar)
        groat__judge_report(
            j,
            "%s an mbarrier at byte %u of shared memory%s, where none was "
            "made: %s is missing, or comes later",
            verb, bar, rank == own ? "" : " of another block",
            groat__judge_call(j, "mbarrier_init"));
    if (j->blocks[rank].ended == j->threads)
        groat__judge_report(
            j,
            "%s the mbarrier at byte %u of block %zu of its cluster, which "
            "has ended: cluster_barrier is missing",
            verb, bar, rank);
    found = &j->barriers[s->readers];
    if (!is_visible(j, found, engine, rank != own))
        groat__judge_report(
            j,
            "%s the mbarrier at byte %u, which thread %zu made and did not "
            "make visible%s: %s or a barrier is missing",
            verb, bar, groat__judge_thread_of(j, found->maker),
            engine ? " to the engine" : "",
            groat__judge_call(j, "mbarrier_init_fence"));
    return found;
}

/* ---- phases ------------------------------------------------------------ */

/* Blames `who` and returns true if a copy on the mbarrier has not arrived: its
 * phase may not complete without it. */
static bool is_left_behind(groat__judge *j, uint32_t number, size_t who)
{
    const groat__mbarrier *bar = &j->barriers[number];

    for (size_t i = 0; i < j->copies.count; i++) {
        const groat__engine_copy *copy = &j->copies.items[i];

        if (copy->barrier != number || copy->counted)
            continue;
        groat__judge_blame(
            j, who,
            "completes phase %u of the mbarrier at byte %u while a copy of "
            "thread %zu into byte %u is in flight on it: copies of %llu bytes "
            "were issued, %llu expected",
            bar->phase, bar->address, groat__judge_thread_of(j, copy->issuer),
            copy->to, (unsigned long long)bar->issued,
            (unsigned long long)bar->expected);
        return true;
    }
    return false;
}

/* Completes the phase if nothing is missing; false with a finding about `who`.
 */
static bool complete(groat__judge *j, uint32_t number, size_t who)
{
    groat__mbarrier *bar = &j->barriers[number];

    if (bar->pending != 0 || bar->tx != 0)
        return true;
    if (is_left_behind(j, number, who))
        return false;
    groat__judge_copies_land(j, number);
    bar->phase++;
    bar->gathering[groat__judge_agent_barrier(j, number)] = bar->phase;
    groat__judge_clock_join(j, bar->done, bar->gathering);
    bar->pending = bar->count;
    bar->expected = bar->arrived = bar->issued = 0;
    for (size_t t = 0; t < j->fiber_count; t++) {
        groat__fiber *f = &j->fibers[t];

        if (f->state == GROAT__WAITING && f->awaited == number &&
            bar->phase % 2 != f->parity)
            f->state = GROAT__READY;
    }
    return true;
}

void groat__judge_count_arrival(groat__judge *j, uint32_t number,
                                uint32_t count)
{
    groat__mbarrier *bar = &j->barriers[number];

    groat__judge_clock_join(j, bar->gathering,
                            groat__judge_clock(j, j->current));
    bar->last_arrivals[j->current] = groat__judge_now(j, j->current);
    groat__judge_tick(j, j->current);
    bar->pending -= count;
    j->progress++;
    if (!complete(j, number, j->current))
        groat__judge_leave(j);
}

static void stop_for(groat__judge *j, uint32_t number, unsigned parity)
{
    groat__judge_fiber(j)->awaited = number;
    groat__judge_fiber(j)->parity = parity;
    groat__judge_stop(j, GROAT__WAITING);
}

void groat__judge_await_phase(groat__judge *j, uint32_t number, uint32_t phase)
{
    while (j->barriers[number].phase == phase)
        stop_for(j, number, phase % 2);
    groat__judge_clock_join(j, groat__judge_clock(j, j->current),
                            j->barriers[number].done);
}

unsigned groat__judge_mbarrier_arrive(struct groat_cpu_env *env, unsigned bar,
                                      unsigned rank, unsigned count)
{
    groat__judge *j = groat__judge_enter(env);
    groat__mbarrier *at =
        groat__judge_mbarrier_at(j, bar, rank, false, "arrives on");
    unsigned parity = at->phase % 2;

    if (count == 0 || count > COUNT_MAX)
        groat__judge_report(j,
                            "arrives %u times on the mbarrier at byte %u; 1 to "
                            "%d are possible",
                            count, bar, COUNT_MAX);
    if (at->pending > 0 && count > at->pending)
        groat__judge_report(
            j,
            "arrives %u times on the mbarrier at byte %u, of which phase %u "
            "lacks %u of its %u arrivals",
            count, bar, at->phase, at->pending, at->count);
    if (at->pending == 0)
        groat__judge_report(
            j,
            "arrives on the mbarrier at byte %u, of which phase %u has had "
            "all of its %u arrivals",
            bar, at->phase, at->count);
    groat__judge_note_wait(j, GROAT_ACCESS_ARRIVE, bar, at->phase);
    groat__judge_count_arrival(j, (uint32_t)(at - j->barriers), count);
    return parity;
}

void groat__judge_mbarrier_expect(struct groat_cpu_env *env, unsigned bar,
                                  unsigned bytes)
{
    groat__judge *j = groat__judge_enter(env);
    groat__mbarrier *at = groat__judge_mbarrier_at(j, bar, env->cluster_rank,
                                                   false, "expects bytes on");

    at->tx += bytes;
    at->expected += bytes;
    if (at->tx > COUNT_MAX)
        groat__judge_report(
            j,
            "expects %u bytes on the mbarrier at byte %u: together with "
            "earlier ones %lld bytes; a phase counts at most %d bytes",
            bytes, bar, (long long)at->tx, COUNT_MAX);
}

/* Finds the mbarrier that a thread waits for. */
static groat__mbarrier *awaited(groat__judge *j, unsigned bar, unsigned parity)
{
    groat__mbarrier *at = groat__judge_mbarrier_at(
        j, bar, groat__judge_rank_of(j, j->current), false, "waits for");

    if (parity > 1)
        groat__judge_report(
            j,
            "waits for parity %u of the mbarrier at byte %u; 0 and 1 are "
            "possible",
            parity, bar);
    return at;
}

static void wait_for(groat__judge *j, groat__mbarrier *at, unsigned parity)
{
    uint32_t number = (uint32_t)(at - j->barriers);

    if (at->phase % 2 == parity)
        groat__judge_note_wait(j, GROAT_ACCESS_WAIT, at->address, at->phase);
    while (j->barriers[number].phase % 2 == parity)
        stop_for(j, number, parity);
    at = &j->barriers[number];
    groat__judge_clock_join(j, groat__judge_clock(j, j->current), at->done);
    /* The phase before the first one counts as completed. */
    if (at->phase > 0)
        groat__judge_note_wait(j, GROAT_ACCESS_RESUME, at->address,
                               at->phase - 1);
    at->last_waits[j->current] = at->phase;
}

void groat__judge_mbarrier_wait(struct groat_cpu_env *env, unsigned bar,
                                unsigned parity)
{
    groat__judge *j = groat__judge_enter(env);

    wait_for(j, awaited(j, bar, parity), parity);
}

unsigned groat__judge_mbarrier_try(struct groat_cpu_env *env, unsigned bar,
                                   unsigned parity)
{
    groat__judge *j = groat__judge_enter(env);
    groat__mbarrier *at = awaited(j, bar, parity);
    uint32_t number;

    if (at->phase % 2 == parity &&
        at->last_tries[j->current] != at->phase + 1) {
        at->last_tries[j->current] = at->phase + 1;
        return 0;
    }
    number = (uint32_t)(at - j->barriers);
    if (at->phase % 2 == parity) {
        groat__judge_fiber(j)->polls = true;
        stop_for(j, number, parity);
        groat__judge_fiber(j)->polls = false;
    }
    if (j->barriers[number].phase % 2 == parity)
        return 0;
    wait_for(j, &j->barriers[number], parity);
    return 1;
}

void groat__judge_mbarrier_count(groat__judge *j, groat__engine_copy *copy)
{
    uint32_t number = copy->barrier;
    groat__mbarrier *bar = &j->barriers[number];
    size_t issuer = copy->issuer;

    copy->counted = true;
    j->progress++;
    /* Cannot leave the tx-count's range: shared memory has fewer bytes. */
    bar->tx -= copy->bytes;
    bar->arrived += copy->bytes;
    (void)complete(j, number, issuer);
}

bool groat__judge_give_up_polls(groat__judge *j)
{
    bool any = false;

    for (size_t t = 0; t < j->fiber_count; t++) {
        groat__fiber *f = &j->fibers[t];

        if (f->state != GROAT__WAITING || !f->polls)
            continue;
        if (f->polled_at != j->progress)
            f->vain_polls = 0;
        f->polled_at = j->progress;
        if (f->vain_polls >= VAIN_POLLS)
            continue;
        f->vain_polls++;
        f->state = GROAT__READY;
        any = true;
    }
    return any;
}

/* No thread may arrive in a block that has ended, so one of the block's threads
 * must know of each arrival that another block made here. */
void groat__judge_mbarrier_check_end(groat__judge *j)
{
    size_t rank = groat__judge_rank_of(j, j->current);
    size_t first = rank * j->threads;

    if (j->block->ended + 1 < j->threads || !j->clocks_on)
        return;
    memcpy(j->meet, groat__judge_clock(j, first),
           j->clock_width * sizeof(*j->meet));
    for (size_t t = first + 1; t < first + j->threads; t++)
        groat__judge_clock_join(j, j->meet, groat__judge_clock(j, t));
    for (size_t b = 0; b < j->barrier_count; b++) {
        const groat__mbarrier *bar = &j->barriers[b];

        for (size_t t = 0; bar->rank == rank && t < j->fiber_count; t++)
            if (bar->last_arrivals[t] > j->meet[t])
                groat__judge_report(
                    j,
                    "is the last thread of its block to end, and does not know "
                    "of the arrival of thread %zu of block %zu of its cluster "
                    "on the mbarrier at byte %u: cluster_barrier is missing",
                    groat__judge_thread_of(j, t), groat__judge_rank_of(j, t),
                    bar->address);
    }
}
