// SPDX-License-Identifier: Apache-2.0
// The consumers of kv_producer_pipeline, and the entries without products that
// read its slots.
#pragma once

#include "../common/image.h"
#include "shapes.h"

namespace groat {
namespace kv_producer_pipeline {

// Waits for each piece, lets `user` read it, and releases its slot.  It treats
// K and V alike; a user that must tell them apart asks tile_of_turn.
template <typename user> struct consumer : by_pieces<consumer<user>> {
    const job &j;
    user &use;
    kv_consumer<ring> at;
    u32 tile; // tiles taken from the ring
    u32 held; // the slot before, if it is held

    GROAT_DEVICE consumer(const job &of, user &u)
        : j(of), use(u), at(of.all_slots()), tile(0), held(0)
    {
    }

    template <int, int which, int n> GROAT_DEVICE void piece(u32 turn)
    {
        at.template wait<n>();
        // The other block's barriers do not count the bytes that land there.
        if constexpr (leader_counts)
            mbarrier_arrive_peer(at.in.full(at.index, n), 1,
                                 j.rank == 0 && thread_index() == 0);
        if constexpr (with_queries && q_tiles == 2 && which == n)
            if (tile == 0)
                mbarrier_wait(j.q1_bar(n), 0);
        use.template take<which, n>(at.template slot_ptr<n>(), turn, tile);
    }

    // All lanes have read the slot.
    GROAT_DEVICE void done()
    {
        warp_barrier();
        if (!hold)
            release(at.index);
        else if (tile > 0)
            release(held);
        held = at.index;
        at.step();
        tile++;
    }

    GROAT_DEVICE void finish() const
    {
        if (hold)
            release(held);
    }

  private:
    // Arrives for a warp on all pieces of a slot.
    GROAT_DEVICE void release(u32 slot) const
    {
        release_pieces<0>(slot, lanes_release || elect());
    }

    template <int n>
    GROAT_DEVICE void release_pieces(u32 slot, bool chosen) const
    {
        at.template release<n>(slot, chosen);
        if constexpr (n + 1 < ring_pieces)
            release_pieces<n + 1>(slot, chosen);
    }
};

// trace: reads nothing.
struct look_on {
    template <int which, int n> GROAT_DEVICE void take(u32, u32, u32)
    {
    }
};

// image: writes out each slot as it came, after the queries.
struct write_slots {
    const job &j;
    u64 output;

    GROAT_DEVICE explicit write_slots(const job &of)
        : j(of), output(of.output(ring_at + static_cast<u64>(of.tiles_most()) *
                                                (2 * parts * slot_bytes)))
    {
    }

    template <int which, int n>
    GROAT_DEVICE void take(u32 piece, u32, u32 tile)
    {
        if constexpr (with_queries && which == n)
            if (tile == 0)
                write_queries(n);
        write(piece, ring::piece_bytes,
              output + ring_at + static_cast<u64>(tile) * slot_bytes +
                  n * ring::piece_bytes);
    }

  private:
    GROAT_DEVICE void write_queries(u32 n) const
    {
        write(j.base + n * q_bytes, q_bytes, output + n * q_bytes);
        if constexpr (q_tiles == 2)
            write(j.base + q1_at + n * q_bytes, q_bytes,
                  output + q1_at + n * q_bytes);
    }

    GROAT_DEVICE static void write(u32 from, u32 bytes, u64 to)
    {
        GROAT_ROLLED
        for (u32 o = thread_index() * 16; o < bytes; o += consumer_threads * 16)
            global_store16(to + o, shared_load16(from + o));
    }
};

// stream: XORs every byte onto the thread's 16 bytes.
struct sum_slots {
    vec4 sum;

    template <int which, int n>
    GROAT_DEVICE void take(u32 piece, u32, u32)
    {
        for (u32 o = thread_index() * 16; o < ring::piece_bytes;
             o += consumer_threads * 16)
            add(sum, shared_load16(piece + o));
    }

    GROAT_DEVICE void write(const job &j) const
    {
        global_store16(j.args.output + (static_cast<u64>(block_index()) *
                                            consumer_threads +
                                        thread_index()) *
                                           16,
                       sum);
    }
};

} // namespace kv_producer_pipeline
} // namespace groat
