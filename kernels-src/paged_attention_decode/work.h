// SPDX-License-Identifier: Apache-2.0
// The division of work in a decode: sets of blocks, the units of keys of all
// sequences in one row, each set's share, its segments, and their parts.
#pragma once

#include "../common/vendor.h"
#include "args.h"

namespace groat
{
namespace paged_attention_decode
{

using namespace params;

typedef paged_attention_decode_args launch_args;

GROAT_DEVICE u32 divided_up(u32 a, u32 b)
{
    return (a + b - 1) / b;
}

GROAT_DEVICE u32 least_of(u32 a, u32 b)
{
    return a < b ? a : b;
}

// Number of keys of a sequence; 0 past the last sequence.  Longer lengths are
// clamped to what the page table and the workspace have room for.
GROAT_DEVICE u32 length_of(const launch_args &args, u32 sequence)
{
    return sequence < args.sequences
               ? least_of(global_load4(args.lengths + sequence * 4ull),
                          args.most)
               : 0;
}

// A query sees keys [first, end) of its sequence, of which `own` is its own.  If
// a sequence has fewer keys than queries, `end` is below 1 for the first ones.
struct sight {
    int first, own, end;

    GROAT_DEVICE sight(const launch_args &args, u32 length, u32 row)
        : first(0), own(static_cast<int>(length + row / group) - q_len),
          end(own + 1)
    {
        const int seen = static_cast<int>(args.seen);

        if constexpr (tree)
            end = static_cast<int>(length);
        if (mask == mask_window && end > seen)
            first = end - seen;
        if (mask == mask_chunk && end > 0)
            first = (end - 1) / seen * seen;
    }
};

// The first key of a sequence that one of its queries sees.
GROAT_DEVICE u32 first_seen(const launch_args &args, u32 length)
{
    return static_cast<u32>(sight(args, length, 0).first);
}

// Units at the start of a sequence that none of its queries sees.
GROAT_DEVICE u32 skipped(const launch_args &args, u32 length)
{
    return first_seen(args, length) / unit_keys;
}

// Units of a sequence and strip; without keys one unit, which writes zeros.
GROAT_DEVICE u32 units_of(const launch_args &args, u32 length)
{
    return length == 0 ? 1u
                       : divided_up(length, unit_keys) - skipped(args, length);
}

// Inclusive prefix sum over the lanes of a warp.
GROAT_DEVICE u32 summed_up(u32 x)
{
    const u32 lane = lane_index();

    GROAT_UNROLL
    for (u32 by = 1; by < 32; by *= 2) {
        const u32 other = wave_shuffle_up(x, by);

        x += lane >= by ? other : 0;
    }
    return x;
}

// Number of strips of a sequence.
GROAT_DEVICE u32 strips_of(const launch_args &args)
{
    return args.kv_heads * strips;
}

// The blocks of a set have the same share of the row of units, each for a strip
// of its own: all heads of a key, which lie side by side in a page, are read at
// the same time.  Where sets would leave many blocks idle, each block is a set,
// and a sequence's strips follow each other in the row.
struct block_sets {
    u32 width; // blocks of a set
    u32 depth; // strips of a sequence that follow each other
    u32 count;
    u32 own, member; // this block's set, and its place there

    GROAT_DEVICE block_sets(const launch_args &args)
        : width(strips_of(args)), depth(1)
    {
        if (16ull * (args.blocks % width) > args.blocks) {
            depth = width;
            width = 1;
        }
        count = args.blocks / width;
        own = block_index() / width;
        member = block_index() % width;
    }
};

// A sequence, and its first unit.
struct place {
    u32 sequence;
    u32 length;
    u32 first; // unit of its first strip
};

// Counts the units of 128 sequences from `from` on, four per lane.
struct census {
    static constexpr u32 each = 4;
    u32 from, depth;
    u32 length[each];
    u32 mine, up_to; // units of this lane, and of all lanes up to it

    GROAT_DEVICE census(const launch_args &args, u32 begin, u32 of_sequence)
        : from(begin + lane_index() * each), depth(of_sequence), mine(0)
    {
        GROAT_UNROLL
        for (u32 i = 0; i < each; i++)
            length[i] = length_of(args, from + i);
        GROAT_UNROLL
        for (u32 i = 0; i < each; i++)
            mine += units_at(args, i);
        up_to = summed_up(mine);
    }

    GROAT_DEVICE u32 units_at(const launch_args &args, u32 i) const
    {
        return from + i < args.sequences
                   ? units_of(args, length[i]) * depth
                   : 0;
    }

    GROAT_DEVICE u32 all() const
    {
        return wave_shuffle(up_to, 31);
    }

    // Finds the place of unit `wanted`, which is one of these.
    GROAT_DEVICE place find(const launch_args &args, u32 wanted) const
    {
        const u64 here = wave_ballot(wanted >= up_to);
        u32 lane = 0; // number of lanes whose units lie before it
        u32 first = up_to - mine;
        place at = {from, length[0], first};

        GROAT_UNROLL
        for (u32 bit = 16; bit > 0; bit /= 2)
            if ((here >> (lane + bit - 1) & 1) != 0)
                lane += bit;
        GROAT_UNROLL
        for (u32 i = 1; i < each; i++) {
            first += units_at(args, i - 1);
            if (wanted >= first && from + i < args.sequences)
                at = place{from + i, length[i], first};
        }
        return place{wave_shuffle(at.sequence, lane),
                     wave_shuffle(at.length, lane),
                     wave_shuffle(at.first, lane)};
    }
};

constexpr u32 counted = 32 * census::each;

// Counts the units of all sequences from `from` on.
GROAT_DEVICE u32 count_from(const launch_args &args, u32 from, u32 depth)
{
    u32 units = 0;

    GROAT_ROLLED
    for (; from < args.sequences; from += counted)
        units += census(args, from, depth).all();
    return units;
}

// Finds the place of a unit.
GROAT_DEVICE place find(const launch_args &args, const census &first,
                        u32 wanted)
{
    u32 before = first.all();
    u32 from = counted;

    if (wanted < before)
        return first.find(args, wanted);
    GROAT_ROLLED
    for (;; from += counted) {
        const census next(args, from, first.depth);

        if (wanted - before < next.all()) {
            place at = next.find(args, wanted - before);

            at.first += before;
            return at;
        }
        before += next.all();
    }
}

// Returns a number of sets that get whole strips if all are equally long,
// unless that idles many sets: parts cost more than a few idle blocks.
GROAT_DEVICE u32 even_sets(u32 sets, u32 all)
{
    const u32 even =
        all <= sets ? sets - sets % all : all / divided_up(all, sets);

    return 16ull * even >= 15ull * sets ? even : sets;
}

// The division of units: the first `more` sets have one more than `each`.
struct share {
    u32 each, more;

    GROAT_DEVICE share(u32 units, u32 sets)
        : each(units / sets), more(units % sets)
    {
    }
    GROAT_DEVICE u32 begin(u32 set) const
    {
        return set * each + least_of(set, more);
    }
    GROAT_DEVICE u32 set_of(u32 unit) const
    {
        const u32 of_more = more * (each + 1);

        return unit < of_more ? unit / (each + 1)
                              : more + (unit - of_more) / each;
    }
};

// A block's part of one strip of a sequence.
struct segment {
    u32 sequence;
    u32 head;              // KV head
    u32 row;               // the strip's first row among the head's queries
    u32 length;            // keys of the sequence
    u32 first, keys;       // keys [first, keys) are the block's
    u32 begins, ends;      // the units of the strip, [begins, ends)
    u32 unit;              // the block's first unit
    bool starts, finishes; // the block has the strip's first, its last unit
};

// Iterates over a block's segments.
struct walk {
    place at;
    u32 unit, end;     // units [unit, end) are to come
    u32 depth, member; // of the block's set

    GROAT_DEVICE bool is_over() const
    {
        return unit >= end;
    }

    GROAT_DEVICE segment next(const launch_args &args)
    {
        const u32 units = units_of(args, at.length);
        const u32 before = (unit - at.first) / units;
        const u32 strip = before + member;
        segment seg;
        u32 to; // the unit of key 0

        seg.sequence = at.sequence;
        seg.length = at.length;
        seg.head = strip / strips;
        seg.row = strip % strips * strip_rows;
        seg.begins = at.first + before * units;
        seg.ends = seg.begins + units;
        seg.unit = unit;
        seg.starts = unit == seg.begins;
        unit = least_of(seg.ends, split > 0 ? unit + 1 : end);
        seg.finishes = unit == seg.ends;
        to = seg.begins - skipped(args, at.length);
        seg.first = (seg.unit - to) * unit_keys;
        seg.keys = least_of((unit - to) * unit_keys, at.length);
        if (before + 1 == depth && seg.finishes)
            at = place{at.sequence + 1, length_of(args, at.sequence + 1),
                       seg.ends};
        return seg;
    }
};

// The parts of a strip, in the order of its keys.  With `split` each unit has
// one part; else each block has two: for the strip that it continues at its
// start, and for the strip that it starts.
struct parts_of {
    u32 first, count; // units, or sets
    u32 mine;
    u32 width, member;

    GROAT_DEVICE parts_of(const segment &seg, const share &shared,
                          const block_sets &sets)
        : width(sets.width), member(sets.member)
    {
        first = split > 0 ? seg.begins : shared.set_of(seg.begins);
        count = (split > 0 ? seg.ends - 1 : shared.set_of(seg.ends - 1)) -
                first + 1;
        mine = (split > 0 ? seg.unit : sets.own) - first;
    }
    GROAT_DEVICE u64 at(const launch_args &args, u32 part) const
    {
        const u64 own = static_cast<u64>(first + part) * width + member;
        const u64 place = split > 0 ? own : 2 * own + (part == 0 ? 1 : 0);

        return args.parts + place * part_bytes;
    }
};

} // namespace paged_attention_decode
} // namespace groat
