/* SPDX-License-Identifier: Apache-2.0
 *
 * deadlock.c reports which threads wait for what when no thread of a cluster
 * can continue.  Threads that wait for the same thing are named together, with
 * what their mbarrier lacks and the likely cause.
 */
#include "judge/deadlock.h"

#include "base/str.h"
#include "judge/fiber.h"
#include "judge/meet.h"
#include "judge/threads.h"

static bool waits_like(const groat__judge *j, size_t a, size_t b)
{
    const groat__fiber *x = &j->fibers[a];
    const groat__fiber *y = &j->fibers[b];

    if (x->state != y->state ||
        groat__judge_rank_of(j, a) != groat__judge_rank_of(j, b))
        return false;
    if (x->state == GROAT__WAITING)
        return x->awaited == y->awaited && x->parity == y->parity;
    return x->state != GROAT__JOINED ||
           groat__judge_meeting_of(j, a) == groat__judge_meeting_of(j, b);
}

/* Appends the most likely cause. */
static void add_hint(const groat__judge *j, size_t fiber, groat__str *out)
{
    const groat__mbarrier *bar = &j->barriers[j->fibers[fiber].awaited];

    if (bar->tx < 0)
        groat__str_add(out, " (bytes came that nobody expects: an expect is "
                            "missing or too small)");
    else if (bar->tx > 0)
        groat__str_add(out, " (bytes are expected that no copy brings)");
    else if (bar->last_waits[fiber] < bar->phase)
        groat__str_addf(out,
                        " (phase %u has completed and this thread did not wait "
                        "for it: the parity is wrong, or a phase was left out)",
                        bar->phase - 1);
    else if (bar->phase == 0 && bar->pending == bar->count)
        groat__str_add(out, " (nobody arrives in this phase: an arrival is "
                            "missing, or the wait should be for parity 1, "
                            "which a new mbarrier has behind it)");
    else if (bar->pending == bar->count)
        groat__str_add(out, " (nobody arrives in this phase: an arrival is "
                            "missing, or the wait is for a phase too late)");
}

static void add_phase(const groat__judge *j, size_t fiber, groat__str *out)
{
    const groat__fiber *f = &j->fibers[fiber];
    const groat__mbarrier *bar = &j->barriers[f->awaited];

    if (bar->named != 0) {
        groat__str_addf(out,
                        " at barrier %u of the block, to which %u of %u "
                        "threads came",
                        bar->named - 1, bar->count - bar->pending, bar->count);
        return;
    }
    groat__str_addf(out,
                    " for phase %u (parity %u) of the mbarrier at byte %u, "
                    "which has %u of %u arrivals",
                    bar->phase, f->parity, bar->address,
                    bar->count - bar->pending, bar->count);
    if (bar->expected != 0 || bar->arrived != 0)
        groat__str_addf(out, ", %llu of %llu expected bytes",
                        (unsigned long long)bar->arrived,
                        (unsigned long long)bar->expected);
    add_hint(j, fiber, out);
}

static void add_wait(const groat__judge *j, size_t fiber, groat__str *out)
{
    size_t count = groat__judge_add_threads(j, fiber, waits_like, out);
    const groat__meeting *meeting;

    switch (j->fibers[fiber].state) {
    case GROAT__WAITING:
        add_phase(j, fiber, out);
        return;
    case GROAT__JOINED:
        meeting = groat__judge_meeting_of(j, fiber);
        groat__str_addf(out, " at %s for other lanes (%zu came",
                        groat__judge_joint_name(j, meeting->joint),
                        meeting->came);
        if (j->fibers[fiber].mask)
            groat__str_addf(out, " of the mask 0x%llx",
                            (unsigned long long)j->fibers[fiber].mask);
        groat__str_add(out, ")");
        return;
    case GROAT__AT_BARRIER:
        groat__str_addf(out, " at the block's barrier for %zu others",
                        j->threads - count -
                            j->blocks[groat__judge_rank_of(j, fiber)].ended);
        return;
    case GROAT__AT_CLUSTER:
        groat__str_add(out, " at the cluster's barrier");
        return;
    default:
        return;
    }
}

/* Adds where the lanes came from that met the time before, if it was not one
 * place: some of them were to come here then. */
static void add_before(groat__judge *j, size_t fiber)
{
    const groat__fiber *f = &j->fibers[fiber];
    const int32_t *before;

    if (f->state != GROAT__JOINED)
        return;
    before = groat__judge_meeting_of(j, fiber)->before;
    for (int i = 0; i < 2; i++)
        if (before[0] != before[1] && before[i] != f->site)
            groat__judge_add_place(j, before[i],
                                   "the time before, lanes of its wave");
}

void groat__judge_blame_deadlock(groat__judge *j)
{
    groat__str text = {0};
    size_t first = j->fiber_count;
    size_t places = 1; /* the finding's own */

    for (size_t t = 0; t < j->fiber_count; t++) {
        if (j->fibers[t].state == GROAT__DONE ||
            groat__judge_told_before(j, t, waits_like))
            continue;
        groat__str_add(&text, first == j->fiber_count ? "" : "; ");
        first = first == j->fiber_count ? t : first;
        add_wait(j, t, &text);
        if (first != t && places++ < GROAT__JUDGE_PLACES)
            groat__judge_add_place(j, j->fibers[t].site, "thread %zu waits",
                                   groat__judge_thread_of(j, t));
    }
    add_before(j, first);
    groat__judge_blame(j, first, "waits for ever, as nobody can go on: %s",
                       text.failed ? "no memory to say who" : text.data);
    groat__str_free(&text);
}
