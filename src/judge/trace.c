/* SPDX-License-Identifier: Apache-2.0
 *
 * trace.c reports a kernel's accesses to memory and its waits: one event
 * for each instruction of a wave, gathered from its lanes, with the bank
 * conflicts that it would have.  Nothing is noted without a trace callback.
 *
 * Lanes run one after the other, so the n-th access of each lane since the wave
 * last met belongs to the n-th instruction; where lanes diverged, an access
 * joins the next instruction of the same kind.
 *
 * The bank model.  Shared memory has shared_banks banks of 4 bytes.  The lanes
 * of an instruction are served in groups of neighbours, as many as access one
 * row of all banks together (16 for a transpose read, which exchanges among
 * 16).  A group takes as many passes as its busiest bank has distinct dwords.
 */
#include "judge/trace.h"

#include <string.h>

#include "judge/fiber.h"

enum { BANK_BYTES = 4, TRANSPOSE_LANES = 16, DWORDS_MAX = 64 };

/* A wave's noted instructions from which on those on device memory are counted
 * only: an item is more than a KiB. */
enum { NOTED_MAX = 1 << 12 };

/* Finds the wave's instruction that this lane's access belongs to. */
static groat__traced *find_item(groat__judge *j, const groat__traced *like,
                                uint64_t bit)
{
    groat__wave_trace *trace = &j->traces[groat__judge_wave_of(j, j->current)];
    groat__fiber *f = groat__judge_fiber(j);

    for (size_t i = f->accesses; i < trace->count; i++) {
        groat__traced *item = &trace->items[i];

        if (item->access == like->access && item->bytes == like->bytes &&
            item->mbarrier == like->mbarrier && item->phase == like->phase &&
            (item->active & bit) == 0) {
            f->accesses = (uint32_t)i + 1;
            return item;
        }
    }
    return NULL;
}

static groat__traced *add_item(groat__judge *j, const groat__traced *like)
{
    groat__wave_trace *trace = &j->traces[groat__judge_wave_of(j, j->current)];

    trace->items = groat__judge_grow(j, trace->items, trace->count, &trace->cap,
                                     sizeof(*trace->items));
    trace->items[trace->count++] = *like;
    groat__judge_fiber(j)->accesses = (uint32_t)trace->count;
    return &trace->items[trace->count - 1];
}

static bool is_device(groat_access access)
{
    return access == GROAT_ACCESS_LOAD || access == GROAT_ACCESS_STORE;
}

/* Finds or adds the instruction; NULL: it is only counted. */
static groat__traced *item_of(groat__judge *j, const groat__traced *like,
                              uint64_t bit)
{
    groat__traced *item = find_item(j, like, bit);

    if (item != NULL)
        return item;
    if (is_device(like->access) &&
        j->traces[groat__judge_wave_of(j, j->current)].count >= NOTED_MAX) {
        groat__judge_fiber(j)->left_out++;
        return NULL;
    }
    return add_item(j, like);
}

void groat__judge_note(groat__judge *j, groat_access access, uint32_t shared,
                       uint32_t bytes, uint64_t asked, bool reads)
{
    const groat__traced like = {
        .access = access, .bytes = bytes, .mbarrier = GROAT__JUDGE_NO_MBARRIER};
    size_t lane = groat__judge_lane(j);
    uint64_t bit = (uint64_t)1 << lane;
    groat__traced *item;

    item = groat__judge_tells(j) ? item_of(j, &like, bit) : NULL;
    if (item == NULL)
        return;
    item->active |= bit;
    item->shared[lane] = shared;
    item->source[lane] = reads ? asked : 0;
    item->asked[lane] = asked;
}

void groat__judge_note_wait(groat__judge *j, groat_access access,
                            unsigned mbarrier, unsigned phase)
{
    const groat__traced like = {
        .access = access, .mbarrier = mbarrier, .phase = phase};
    uint64_t bit = (uint64_t)1 << groat__judge_lane(j);

    if (groat__judge_tells(j))
        item_of(j, &like, bit)->active |= bit;
}

/* Returns the most distinct dwords that lanes [first, end) access on one bank.
 */
static unsigned reuse_of(const groat__traced *item, unsigned banks,
                         size_t first, size_t end)
{
    unsigned worst = 0;

    for (unsigned bank = 0; bank < banks; bank++) {
        uint32_t seen[DWORDS_MAX];
        unsigned count = 0;

        for (size_t lane = first; lane < end; lane++) {
            uint32_t from = item->shared[lane] / BANK_BYTES;
            uint32_t to = (item->shared[lane] + item->bytes - 1) / BANK_BYTES;

            if ((item->active >> lane & 1) == 0)
                continue;
            /* At most one dword of a lane lies on a bank: an access is not
             * wider than all banks. */
            from += (bank + banks - from % banks) % banks;
            if (from > to)
                continue;
            for (unsigned i = 0; i <= count; i++) {
                if (i == count)
                    seen[count++] = from;
                if (seen[i] == from)
                    break;
            }
        }
        worst = count > worst ? count : worst;
    }
    return worst;
}

static void rate(const groat__traced *item, const groat__arch *arch,
                 groat_trace *event)
{
    unsigned banks = (unsigned)arch->shared_banks;
    size_t lanes = (size_t)arch->wave_lanes;
    size_t group = banks * BANK_BYTES / item->bytes;

    if (item->access == GROAT_ACCESS_TRANSPOSE)
        group = TRANSPOSE_LANES;
    if (group > lanes)
        group = lanes;
    event->together = (unsigned)group;
    for (size_t first = 0; first < lanes; first += group) {
        unsigned reuse = reuse_of(item, banks, first, first + group);

        event->passes += reuse;
        event->passes_min += reuse > 0;
        event->reuse = reuse > event->reuse ? reuse : event->reuse;
    }
}

/* Reports one instruction of a wave to the trace callback. */
static void tell(groat__judge *j, size_t wave, const groat__traced *item,
                 uint32_t left_out)
{
    const groat__judge_launch *launch = j->launch;
    groat_trace event = {.size = sizeof(event),
                         .access = item->access,
                         .wave = (unsigned)(wave % j->block_waves),
                         .index = j->traces[wave].told,
                         .lanes = (unsigned)launch->arch->wave_lanes,
                         .banks = (unsigned)launch->arch->shared_banks,
                         .bytes = item->bytes,
                         .active = item->active,
                         .shared = item->shared,
                         .source = item->source,
                         .asked = item->asked,
                         .mbarrier = item->mbarrier,
                         .phase = item->phase,
                         .left_out = left_out};

    memcpy(event.block, j->blocks[wave / j->block_waves].at,
           sizeof(event.block));
    if (item->bytes != 0 && item->access <= GROAT_ACCESS_TRANSPOSE) {
        rate(item, launch->arch, &event);
        j->traces[wave].told++;
    }
    launch->trace(launch->trace_user, &event);
}

void groat__judge_tell(groat__judge *j, size_t wave)
{
    groat__wave_trace *trace = &j->traces[wave];
    uint32_t left_out = 0;
    size_t first;
    size_t end = groat__judge_lanes(j, wave, 1, &first);

    for (size_t t = first; t < end; t++) {
        groat__fiber *f = &j->fibers[t];

        left_out = f->left_out > left_out ? f->left_out : left_out;
        f->left_out = 0;
        f->accesses = 0;
    }
    for (size_t i = 0; i < trace->count && !j->failed; i++)
        tell(j, wave, &trace->items[i], i + 1 == trace->count ? left_out : 0);
    trace->count = 0;
}

/* Goes after the lane's earlier accesses and before its later ones. */
void groat__judge_note_copy(groat__judge *j, const groat__traced *item)
{
    groat__wave_trace *trace = &j->traces[groat__judge_wave_of(j, j->current)];

    if (!groat__judge_tells(j))
        return;
    trace->items = groat__judge_grow(j, trace->items, trace->count, &trace->cap,
                                     sizeof(*trace->items));
    trace->items[trace->count++] = *item;
    groat__judge_fiber(j)->accesses = (uint32_t)trace->count;
}
