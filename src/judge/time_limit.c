/* SPDX-License-Identifier: Apache-2.0
 *
 * time_limit.c ends a launch whose time is over, and says where each thread of
 * the cluster is.  Hooks look at the time now and then; a signal ends a loop
 * that calls no hook.
 */
#include "judge/judge.h"

#include "base/clock.h"
#include "base/str.h"
#include "judge/fiber.h"
#include "judge/threads.h"

enum { SPARED = 50 }; /* signals, of which one comes each 20 ms */

typedef enum stage { ENDED, NOT_BEGUN, UNDER_WAY, RUNNING } stage;

static stage stage_of(const groat__judge *j, size_t fiber)
{
    if (fiber == j->current)
        return RUNNING;
    if (j->fibers[fiber].state == GROAT__DONE)
        return ENDED;
    return j->fibers[fiber].site == 0 ? NOT_BEGUN : UNDER_WAY;
}

static bool is_with(const groat__judge *j, size_t a, size_t b)
{
    return stage_of(j, a) == stage_of(j, b) &&
           groat__judge_rank_of(j, a) == groat__judge_rank_of(j, b) &&
           (stage_of(j, a) != UNDER_WAY ||
            j->fibers[a].site == j->fibers[b].site);
}

/* Adds the place where a thread and those with it are; appends to the text
 * that they are nowhere. */
static void tell_threads(groat__judge *j, size_t fiber, groat__str *text)
{
    stage now = stage_of(j, fiber);
    groat__str who = {0};

    if (now == UNDER_WAY) {
        (void)groat__judge_add_threads(j, fiber, is_with, &who);
        groat__judge_add_place(j, j->fibers[fiber].site, "%s",
                               who.failed ? "a thread" : who.data);
        groat__str_free(&who);
        return;
    }
    groat__str_add(text, "; ");
    (void)groat__judge_add_threads(j, fiber, is_with, text);
    groat__str_add(text, now == ENDED ? " ended" : " did not begin");
}

/* Adds the places of all other threads. */
static void tell_all(groat__judge *j, groat__str *text)
{
    size_t places = 1; /* the finding's own */
    size_t left_out = 0;

    groat__str_add(text, "");
    for (size_t t = 0; t < j->fiber_count; t++) {
        if (t == j->current || groat__judge_told_before(j, t, is_with))
            continue;
        if (stage_of(j, t) == UNDER_WAY && ++places > GROAT__JUDGE_PLACES)
            left_out++;
        else
            tell_threads(j, t, text);
    }
    if (left_out > 0)
        groat__str_addf(text, "; others are at %zu more places", left_out);
}

void groat__judge_check_time(groat__judge *j)
{
    groat__str text = {0};

    if (groat__judge_grid_failed(j->grid, j->number))
        groat__judge_abandon(j);
    if (j->end_ns == 0 || groat__now_ns() < j->end_ns)
        return;
    tell_all(j, &text);
    j->late = true;
    groat__judge_blame(j, j->current,
                       "runs, and the launch has not ended in %u s: a loop "
                       "without end or one that waits for another thread's "
                       "write, or a launch that is too large%s",
                       j->launch->seconds, text.failed ? "" : text.data);
    groat__str_free(&text);
    groat__judge_leave(j);
}

void groat__judge_interrupt(struct groat_cpu_env *env, uintptr_t at,
                            uintptr_t stack, const char *why)
{
    groat__judge *j = groat__judge_of(env);
    groat__fiber *f;
    int32_t site;

    /* The code may be bound before there are fibers. */
    if (j->fibers == NULL || !groat__judge_is_on_stack(j, stack))
        return;
    /* A loop that calls hooks is left to these for a while, which know its
     * line: signals may come in a function that stands behind one. */
    if (why == NULL && j->calls != j->calls_before && j->spared < SPARED) {
        j->calls_before = j->calls;
        j->spared++;
        return;
    }
    f = groat__judge_fiber(j);
    site = f->site;
    /* Places are return addresses: one behind. */
    f->site = (int32_t)((intptr_t)at + 1 - (intptr_t)j->launch->entry);
    if (why != NULL && stack < j->stack_end)
        groat__judge_overflow(j);
    if (why != NULL)
        groat__judge_report(j, "%s", why);
    groat__judge_check_time(j);
    f->site = site;
}
