/* SPDX-License-Identifier: Apache-2.0
 *
 * order.c keeps the happens-before order of accesses.  It owns the clocks and
 * the lists of readers.
 *
 * An agent makes accesses in an order of its own.  An AMD wave is an agent (its
 * lanes run in lock step), and so is an NVIDIA thread; with vector clocks, so
 * are the wgmma of a wave, a thread's copies to device memory, and the
 * copy engine on behalf of each mbarrier.  An access is identified by its agent
 * and that agent's clock at the time.
 *
 * While there are block barriers only, the clock is the block's epoch (barriers
 * passed), and all threads know what lies before the last barrier.  From the
 * first mbarrier (or fence, or warp barrier) on, each thread has a vector
 * clock: for each agent, the time up to which it knows that agent's accesses.
 * Arrivals join it into the mbarrier's, waits join the mbarrier's into it,
 * barriers join those of all threads.  A second entry for each thread says up
 * to when its stores were fenced for the asynchronous proxy.
 *
 * The readers of a byte are an immutable list; a new reader is put in front.
 * Equal lists exist once: the bytes of a tile that the same threads read share
 * one.
 */
#include "judge/order.h"

#include <stdlib.h>
#include <string.h>

#include "judge/fiber.h"

enum { BARRIERS_FIRST = 32, BUCKETS_FIRST = 1024, LONG_LIST = 32 };

/* ---- agents ------------------------------------------------------------ */

uint32_t groat__judge_agent(const groat__judge *j, size_t fiber)
{
    size_t lanes = (size_t)j->launch->arch->wave_lanes;

    return (uint32_t)(groat__judge_is_amd(j) ? fiber / lanes * lanes : fiber);
}

uint32_t groat__judge_agent_fenced(const groat__judge *j, uint32_t thread)
{
    return (uint32_t)j->fiber_count + thread;
}

uint32_t groat__judge_agent_wgmma(const groat__judge *j, size_t wave)
{
    return (uint32_t)(2 * j->fiber_count + wave);
}

uint32_t groat__judge_agent_stores(const groat__judge *j, size_t fiber)
{
    return (uint32_t)(2 * j->fiber_count + j->wave_count + fiber);
}

/* Number of agents but the mbarriers, which come behind them.  CUDA C++ alone
 * copies to device memory. */
static size_t agents_of(const groat__judge *j)
{
    return (j->env.cuda != 0 ? 3 : 2) * j->fiber_count + j->wave_count;
}

uint32_t groat__judge_agent_barrier(const groat__judge *j, size_t barrier)
{
    return (uint32_t)(agents_of(j) + barrier);
}

bool groat__judge_is_thread(const groat__judge *j, uint32_t agent)
{
    return agent < j->fiber_count;
}

bool groat__judge_is_barrier(const groat__judge *j, uint32_t agent)
{
    return agent >= agents_of(j);
}

/* ---- clocks ------------------------------------------------------------ */

uint32_t *groat__judge_clock(const groat__judge *j, size_t fiber)
{
    return j->clocks + fiber * j->clock_width;
}

uint32_t groat__judge_now(const groat__judge *j, size_t fiber)
{
    return j->clocks_on ? groat__judge_clock(j, fiber)[fiber]
                        : j->blocks[groat__judge_rank_of(j, fiber)].epoch;
}

bool groat__judge_knows(const groat__judge *j, uint32_t agent, uint32_t clock)
{
    if (j->clocks_on)
        return groat__judge_clock(j, j->current)[agent] >= clock;
    return clock < j->block->epoch || agent == j->current ||
           groat__judge_agent(j, agent) == groat__judge_agent(j, j->current);
}

/* Returns a copy of the clocks with wider rows. */
static uint32_t *widened(groat__judge *j, const uint32_t *old, size_t rows,
                         size_t width)
{
    uint32_t *wide = calloc(rows * width, sizeof(*wide));

    if (wide == NULL)
        groat__judge_starve(j);
    for (size_t row = 0; row < rows; row++)
        memcpy(wide + row * width, old + row * j->clock_width,
               j->clock_width * sizeof(*wide));
    return wide;
}

void groat__judge_clocks_widen(groat__judge *j)
{
    size_t agents = agents_of(j);
    size_t width = agents + 2 * (j->clock_width - agents);
    uint32_t *wide;

    if (agents + j->barrier_count < j->clock_width)
        return;
    for (size_t b = 0; b < j->barrier_count; b++) {
        groat__mbarrier *bar = &j->barriers[b];

        wide = widened(j, bar->gathering, 1, width);
        free(bar->gathering);
        bar->gathering = wide;
        wide = widened(j, bar->done, 1, width);
        free(bar->done);
        bar->done = wide;
    }
    wide = widened(j, j->clocks, j->fiber_count, width);
    free(j->clocks);
    j->clocks = wide;
    wide = widened(j, j->meet, 1, width);
    free(j->meet);
    j->meet = wide;
    j->clock_width = width;
}

/* Each thread starts at its block's epoch and knows what its block did before
 * the last barrier. */
void groat__judge_clocks_on(groat__judge *j)
{
    size_t agents = agents_of(j);

    if (j->clocks_on)
        return;
    if (j->clocks == NULL) {
        j->clock_width = agents + BARRIERS_FIRST;
        j->clocks = calloc(j->fiber_count * j->clock_width, sizeof(*j->clocks));
        j->meet = calloc(j->clock_width, sizeof(*j->meet));
    } else {
        memset(j->clocks, 0,
               j->fiber_count * j->clock_width * sizeof(*j->clocks));
    }
    if (j->clocks == NULL || j->meet == NULL)
        groat__judge_starve(j);
    for (size_t t = 0; t < j->fiber_count; t++) {
        size_t rank = groat__judge_rank_of(j, t);
        uint32_t epoch = j->blocks[rank].epoch;
        uint32_t *clock = groat__judge_clock(j, t);

        for (size_t of = rank * j->threads;
             epoch > 1 && of < (rank + 1) * j->threads; of++)
            clock[of] = epoch - 1;
        clock[t] = epoch;
    }
    j->clocks_on = true;
}

void groat__judge_clock_join(const groat__judge *j, uint32_t *into,
                             const uint32_t *from)
{
    for (size_t i = 0; i < j->clock_width; i++)
        into[i] = into[i] > from[i] ? into[i] : from[i];
}

void groat__judge_tick(groat__judge *j, size_t fiber)
{
    groat__judge_clock(j, fiber)[fiber]++;
}

void groat__judge_clock_sync(groat__judge *j, size_t first, size_t end,
                             uint64_t mask)
{
    size_t one = first + (mask ? (size_t)__builtin_ctzll(mask) : 0);

    if (!j->clocks_on)
        return;
    for (size_t t = one + 1; t < end; t++)
        if (!mask || (mask >> (t - first) & 1))
            groat__judge_clock_join(j, groat__judge_clock(j, one),
                                    groat__judge_clock(j, t));
    for (size_t t = one + 1; t < end; t++)
        if (!mask || (mask >> (t - first) & 1))
            memcpy(groat__judge_clock(j, t), groat__judge_clock(j, one),
                   j->clock_width * sizeof(*j->clocks));
    for (size_t t = one; t < end; t++)
        if (!mask || (mask >> (t - first) & 1))
            groat__judge_tick(j, t);
}

/* ---- readers ----------------------------------------------------------- */

static size_t bucket_of(const groat__readers *r, uint32_t before,
                        uint32_t agent, uint32_t clock, int32_t site)
{
    uint64_t hash =
        (before ^ (uint64_t)(uint32_t)site << 32) * 0x9E3779B97F4A7C15u;

    hash = (hash ^ agent) * 0xBF58476D1CE4E5B9u;
    hash = (hash ^ clock) * 0x94D049BB133111EBu;
    return (size_t)(hash >> 32) & (r->bucket_count - 1);
}

static void enter(groat__readers *r, uint32_t item)
{
    const groat__reader *new = &r->items[item];
    size_t at = bucket_of(r, new->before, new->agent, new->clock, new->site);

    while (r->buckets[at] != 0)
        at = (at + 1) & (r->bucket_count - 1);
    r->buckets[at] = item;
}

/* Makes room for one more list; the hash table stays at most half full. */
static void make_room(groat__judge *j)
{
    groat__readers *r = &j->readers;
    size_t cap = r->cap == 0 ? BUCKETS_FIRST / 2 : 2 * r->cap;
    groat__reader *items;
    uint32_t *buckets;

    if (r->count < r->cap)
        return;
    if (cap > UINT32_MAX / 2)
        groat__judge_starve(j);
    items = realloc(r->items, cap * sizeof(*items));
    if (items == NULL)
        groat__judge_starve(j);
    r->items = items;
    buckets = calloc(2 * cap, sizeof(*buckets));
    if (buckets == NULL)
        groat__judge_starve(j);
    free(r->buckets);
    r->buckets = buckets;
    r->bucket_count = 2 * cap;
    r->cap = cap;
    if (r->count == 0)
        r->items[r->count++] = (groat__reader){0};
    for (size_t i = 1; i < r->count; i++)
        enter(r, (uint32_t)i);
}

static uint32_t list_of(groat__judge *j, uint32_t before, uint32_t agent,
                        uint32_t clock, int32_t site)
{
    groat__readers *r = &j->readers;
    size_t at;

    make_room(j);
    at = bucket_of(r, before, agent, clock, site);
    for (; r->buckets[at] != 0; at = (at + 1) & (r->bucket_count - 1)) {
        const groat__reader *known = &r->items[r->buckets[at]];

        if (known->before == before && known->agent == agent &&
            known->clock == clock && known->site == site)
            return r->buckets[at];
    }
    r->items[r->count] =
        (groat__reader){before, agent, clock,
                        before == 0 ? 1 : r->items[before].length + 1, site};
    r->buckets[at] = (uint32_t)r->count;
    return (uint32_t)r->count++;
}

/* Whether an agent is met for the first time in this walk. */
static bool is_first(groat__judge *j, uint32_t agent)
{
    groat__readers *r = &j->readers;

    while (agent >= r->met_cap) {
        size_t before = r->met_cap;

        r->met =
            groat__judge_grow(j, r->met, before, &r->met_cap, sizeof(*r->met));
        memset(r->met + before, 0, (r->met_cap - before) * sizeof(*r->met));
    }
    if (r->met[agent] == r->walk)
        return false;
    r->met[agent] = r->walk;
    return true;
}

/* Returns the list without reads that the current fiber knows (what comes after
 * this fiber comes after them) and without all but the last read of an agent.
 */
static uint32_t shortened(groat__judge *j, uint32_t list)
{
    uint32_t kept = 0;

    j->readers.walk++;
    for (; list != 0; list = j->readers.items[list].before) {
        const groat__reader reader = j->readers.items[list];

        if (!groat__judge_knows(j, reader.agent, reader.clock) &&
            is_first(j, reader.agent))
            kept = list_of(j, kept, reader.agent, reader.clock, reader.site);
    }
    return kept;
}

static uint32_t added_to(groat__judge *j, uint32_t list, uint32_t agent,
                         uint32_t clock, int32_t site)
{
    groat__reader head = {0};

    if (list != 0)
        head = j->readers.items[list];
    if (list != 0 && head.agent == agent && head.clock == clock)
        return list;
    if (list != 0 && head.agent == agent)
        list = head.before;
    /* Only at powers of two: the cost per reader is then constant, amortized,
     * even if many threads read a byte. */
    else if (head.length >= LONG_LIST && (head.length & (head.length - 1)) == 0)
        list = shortened(j, list);
    return list_of(j, list, agent, clock, site);
}

/* Caches the last result: the bytes of one access often have the same list. */
uint32_t groat__judge_add_reader(groat__judge *j, uint32_t list, uint32_t agent,
                                 uint32_t clock, int32_t site)
{
    groat__readers *r = &j->readers;

    if (r->result != 0 && r->last.before == list && r->last.agent == agent &&
        r->last.clock == clock && r->last.site == site)
        return r->result;
    r->result = added_to(j, list, agent, clock, site);
    r->last = (groat__reader){list, agent, clock, 0, site};
    return r->result;
}

void groat__judge_forget_readers(groat__judge *j)
{
    groat__readers *r = &j->readers;

    r->result = 0;
    if (r->count > 1)
        memset(r->buckets, 0, r->bucket_count * sizeof(*r->buckets));
    r->count = r->count > 0;
}
