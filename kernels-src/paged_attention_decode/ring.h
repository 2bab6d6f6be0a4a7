// SPDX-License-Identifier: Apache-2.0
// The rings of slots in shared memory that keys and values of a decode come
// through, and the teams of warps that copy into them and read them.
#pragma once

#include "../common/tma.h"
#include "../common/vendor.h"
#include "args.h"
#include "work.h"

namespace groat
{
namespace paged_attention_decode
{

constexpr bool alone = team == 1;
constexpr u32 pieces = row_bytes / 16; // 16-byte pieces of a key
constexpr u32 value_pieces = value_bytes / 16;
constexpr bool alike = value_dim == head_dim; // values lie as keys do
constexpr bool paged = page_size > 0;
constexpr u32 page = paged ? page_size : 1;
constexpr bool one_page = page_size % slot_keys == 0;
constexpr bool begins_late = mask != mask_causal; // maybe within a slot
constexpr u32 values_at = slot_keys * row_bytes; // in a slot
constexpr u32 scales_at = values_at + slot_keys * value_bytes; // of keys, then
                                                             // of values

// Swizzles the pieces of a row of `all` so that 8 rows cover all banks: rows a
// multiple of 128 bytes apart get different pieces.
template <u32 all> GROAT_DEVICE u32 mixed(u32 row, u32 piece)
{
    constexpr u32 common = all % 8 == 0   ? 8
                           : all % 4 == 0 ? 4
                           : all % 2 == 0 ? 2
                                          : 1;

    return piece ^ (row / (8 / common) % common);
}

// Returns x of a lane.
GROAT_DEVICE u64 shuffled(u64 x, u32 lane)
{
    return static_cast<u64>(wave_shuffle(static_cast<u32>(x), lane)) |
           static_cast<u64>(wave_shuffle(static_cast<u32>(x >> 32), lane))
               << 32;
}

// ---- teams

// The number of the warp's team, which is that of its ring.
GROAT_DEVICE u32 ring_index()
{
    return warp_index() / team;
}

// The warp's number in its team.
GROAT_DEVICE u32 member()
{
    return warp_index() % team;
}

// The warp's slice of the columns of values.
GROAT_DEVICE u32 slice_index()
{
    return member() % slices;
}

// The warp's first row among the head's queries.
GROAT_DEVICE u32 first_row(const segment &seg)
{
    return seg.row + member() / slices * warp_rows;
}

// Waits until all that read a ring are here.  Teams of several warps go through
// a segment in step, so that the barrier of the block serves them all.
GROAT_DEVICE void ring_barrier()
{
    if constexpr (alone) {
        warp_barrier();
    } else {
        block_barrier();
    }
}

// ---- a ring's keys and values

GROAT_DEVICE u32 first_key(const segment &seg)
{
    return seg.first + ring_index() * slot_keys;
}

// Number of this warp's steps in a segment; with teams of several warps, of
// all warps, whose last step may be past the end.
GROAT_DEVICE u32 steps_of(const segment &seg)
{
    const u32 first = alone ? first_key(seg) : seg.first;

    return seg.keys > first ? divided_up(seg.keys - first, tile_keys) : 0;
}

// Copies the warp's share of what its team reads, several steps ahead and
// across segments.
struct producer {
    walk ahead;
    u32 step, steps; // of the segment: done, and in total
    u32 key, end;    // next key, and the segment's end
    u32 count;       // of steps copied so far
    u32 groups;      // of copies committed, with empty ones
    u64 k, v;        // of the KV head in block 0
    u64 table;       // of the sequence
    u32 last;        // last key of the sequence
    u32 begin;       // its first key that a query sees
    u32 entry;       // page-table entry of the next keys
    u32 scales;      // of the KV head in block 0

    GROAT_DEVICE u32 slot(u32 step_of_ring) const
    {
        return shared_base() + ring_index() * stages * slot_bytes +
               step_of_ring % stages * slot_bytes;
    }

    // Loads the table entry of the lane's next key, maybe past the end.
    GROAT_DEVICE void ask()
    {
        const u32 mine = one_page ? key : key + lane_index() % slot_keys;

        if constexpr (paged)
            if (step < steps)
                entry =
                    global_load4(table + least_of(mine, last) / page * 4ull);
    }

    // Moves to the next segment in which this warp has steps.
    GROAT_DEVICE void enter(const launch_args &args)
    {
        GROAT_ROLLED
        while (step == steps && !ahead.is_over()) {
            const segment seg = ahead.next(args);

            step = 0;
            steps = steps_of(seg);
            key = first_key(seg);
            end = seg.keys;
            last = seg.length - 1;
            begin = begins_late ? first_seen(args, seg.length) : 0;
            k = args.k + seg.head * args.head_bytes;
            v = args.v + seg.head * (alike ? args.head_bytes
                                           : args.value_head_bytes);
            scales = seg.head * args.head_scales;
            if constexpr (paged)
                table = args.page_table +
                        static_cast<u64>(seg.sequence) * args.pitch * 4;
            else
                entry = seg.sequence;
        }
        ask();
    }

    GROAT_DEVICE producer(const launch_args &args, const walk &from)
        : ahead(from), step(0), steps(0), key(0), end(0), count(0), groups(0),
          k(0), v(0), table(0), last(0), begin(0), entry(0), scales(0)
    {
        enter(args);
    }

    // Whether the slot's key `mine` is one to copy: those in front of the first
    // key that a query sees may be of pages given back.
    GROAT_DEVICE bool has(u32 mine) const
    {
        return key + mine < end && (!begins_late || key + mine >= begin);
    }

    // The place in its block of the slot's first key, or of the lane's key.
    GROAT_DEVICE u32 in_block() const
    {
        const u32 mine = one_page ? key : key + lane_index() % slot_keys;

        return paged ? mine % page : mine;
    }

    // Copies the scales of a slot's keys and values.
    GROAT_DEVICE void copy_scales(const launch_args &args) const
    {
        const u32 lane = lane_index();
        const u32 mine = lane % slot_keys;
        const u64 at = static_cast<u64>(entry) * args.block_scales +
                       static_cast<u64>(in_block() + (one_page ? mine : 0)) *
                           args.token_scales +
                       scales;
        const bool there = has(mine);

        GROAT_UNROLL
        for (u32 j = 0; j < 2 * slot_keys; j += 32) {
            const u64 base =
                j + lane < slot_keys ? args.k_scales : args.v_scales;

            async_copy<4>(
                make_buffer(there ? base + at * 4 : base, there ? 4 : 0),
                slot(count) + scales_at + j * 4, lane, 0, 0);
        }
    }

    // Copies the slot's rows of `all` pieces from planes in which they have the
    // same places; zeros for keys in front of those that a query sees, and
    // for keys past the end.
    template <u32 all, u32 planes>
    GROAT_DEVICE void copy_rows(const u64 (&plane)[planes], u64 block_bytes,
                                u64 token_bytes, u32 to) const
    {
        constexpr u32 chunks = slot_keys * all / 32; // of 32 pieces
        const u32 lane = lane_index();
        const u64 row = entry * block_bytes + in_block() * token_bytes;

        GROAT_UNROLL
        for (u32 j = 0; j < (chunks + team - 1) / team; j++) {
            const u32 chunk = j * team + member();

            if (chunks % team != 0 && chunk >= chunks)
                break;
            const u32 at = chunk * 32 + lane;
            const u32 mine = at / all;
            const u64 from =
                (one_page ? row + mine * token_bytes : shuffled(row, mine)) +
                mixed<all>(mine, at % all) * 16;
            const bool there = has(mine);

            GROAT_UNROLL
            for (u32 i = 0; i < planes; i++)
                async_copy<16>(make_buffer(there ? plane[i] + from : plane[i],
                                           there ? 16 : 0),
                               to + i * values_at + chunk * 512, lane, 0, 0);
        }
    }

    // Copies keys and values.
    GROAT_DEVICE void copy(const launch_args &args) const
    {
        if constexpr (alike) {
            const u64 both[] = {k, v};

            copy_rows<pieces>(both, args.block_bytes, args.token_bytes,
                              slot(count));
        } else {
            const u64 keys[] = {k}, values[] = {v};

            copy_rows<pieces>(keys, args.block_bytes, args.token_bytes,
                              slot(count));
            copy_rows<value_pieces>(values, args.value_block_bytes,
                                    args.value_token_bytes,
                                    slot(count) + values_at);
        }
        if (has_scales != 0 && member() == 0)
            copy_scales(args);
    }

    // Copies one step, if one is left; commits a group of copies in any case.
    GROAT_DEVICE void produce(const launch_args &args)
    {
        if (step < steps) {
            copy(args);
            step++;
            count++;
            key += tile_keys;
            if (step == steps)
                enter(args);
            else
                ask();
        }
        async_commit();
        groups++;
    }

    // Fills slots with keys that the launch ahead does not write.
    GROAT_DEVICE void produce_early(const launch_args &args)
    {
        GROAT_ROLLED
        while (groups < stages - 1 && step < steps &&
               key + slot_keys + q_len <= last + 1)
            produce(args);
    }
};

} // namespace paged_attention_decode
} // namespace groat
