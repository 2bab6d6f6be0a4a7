// SPDX-License-Identifier: Apache-2.0
// The shapes of tiles, a block's tiles and their order, shared by producers and
// consumers of kv_producer_pipeline.  Needs params.h before it.
#pragma once

#include "../common/vendor.h"
#include "../common/kv_ring.h"
#include "../common/kv_wgmma.h"
#include "../common/row_indices.h"
#include "args.h"

namespace groat {
namespace kv_producer_pipeline {

using namespace params;

typedef kv_producer_pipeline_args arguments;

constexpr bool multicast = mode == mode_pair_multicast;
constexpr bool leader_counts = mode == mode_pair_sm100;
constexpr bool with_products = entry == entry_scores || entry == entry_output;
// P V needs no queries.
constexpr bool with_queries = BM > 0 && entry != entry_output;
constexpr u32 consumer_threads = 32 * consumers;
// The arrivals that release a slot: one lane of each warp, after the warp's
// barrier.  Where threads store the slots, all lanes arrive: racecheck of
// NVIDIA's compute-sanitizer sees those stores, but not that a warp's barrier
// orders the other lanes' reads before them.
constexpr bool lanes_release = copies == copies_cells;
constexpr u32 readers = lanes_release ? consumer_threads : consumers;
constexpr u32 producer_threads = 32 * producers;

typedef kv_ring<slots, ring_pieces, slot_bytes, multicast ? 2 : 1> ring;
static_assert(ring::piece_bytes == params::kv_bytes,
              "params.def and kv_ring.h disagree");
static_assert(2 * (params::kv_bytes + q_bytes) < 1 << 20,
              "an mbarrier counts less than 2^20 bytes");

// of_either: for code that treats K and V alike.
enum kind { of_keys, of_values, of_either };

struct tiles : kv_shape {
    static constexpr int BN = params::BN;
    static constexpr int page = page_size;
    static constexpr int elem_bytes = params::elem_bytes;
    static constexpr int head_dim = depth;
    static constexpr int span = swizzle;
    static constexpr bool pair = ctas == 2;
    static constexpr kv_rows_from from =
        page_size > 0 ? kv_paged : kv_contiguous;
};

struct some_copy : kv_copy {
    static constexpr bool fold = params::fold;
    static constexpr bool partial = true;
    static constexpr bool fill = tail == tail_zeros;
};

// One block's copy of a piece.
struct k_copy : some_copy {
    static constexpr int cols = k_cols;
    static constexpr int slot_rows = k_rows;
    static constexpr int layout = k_inner ? chunk_inner : chunk_outer;
};

struct v_copy : some_copy {
    static constexpr int cols = multicast ? padded_depth / 2 : v_cols;
    static constexpr int slot_rows = v_rows;
    static constexpr int slot_cols = v_cols;
    static constexpr int layout = v_inner ? chunk_inner : chunk_outer;
    static constexpr int sub_tiles = BN / v_rows;
};

typedef kv_k_boxes<tiles, k_copy> k_boxes;
typedef kv_v_boxes<tiles, v_copy> v_boxes;

// Operands of wgmma: pieces as they lie in a slot, and queries.
typedef kv_operand<k_copy::layout, k_rows, k_cols * elem_bytes, swizzle> k_tile;
typedef kv_operand<v_copy::layout, v_rows, v_cols * elem_bytes, swizzle> v_tile;
typedef kv_operand<chunk_outer, q_rows == 0 ? 64 : q_rows,
                   padded_depth * elem_bytes, swizzle>
    q_tile;

// A tile of a head.
struct place {
    u32 sequence, head; // of K and V
    u32 first;          // key
    u32 keys;           // of the sequence
};

struct job {
    const arguments &args;
    u32 base;                 // of the block's shared memory
    u32 rank;                 // in the cluster
    u32 sequence, head, keys; // not for stream; the head is that of Q
    u32 count;                // tiles of K, and as many of V

    GROAT_DEVICE explicit job(const arguments &a)
        : args(a), base(shared_base()), rank(ctas == 2 ? cluster_rank() : 0),
          sequence(0), head(0), keys(0), count(0)
    {
        if constexpr (entry == entry_stream) {
            u32 all = args.sequences * args.kv_heads * tiles_most();

            count = (all + args.teams - 1 - team()) / args.teams;
        } else {
            u32 heads = args.kv_heads * (with_products ? args.group : 1);

            sequence = block_index_y() / heads;
            head = block_index_y() % heads;
            keys = length(sequence);
            count = (keys + BN - 1) / BN;
        }
    }

    GROAT_DEVICE u32 tiles_most() const
    {
        return (args.num_keys + BN - 1) / BN;
    }

    GROAT_DEVICE u32 team() const
    {
        return block_index() / ctas;
    }

    GROAT_DEVICE u32 length(u32 of) const
    {
        return global_load4(args.lengths + of * 4ull);
    }

    // Returns tile i of the block.  In a stream consecutive tiles are of
    // consecutive heads, so that blocks that run together read adjacent memory.
    GROAT_DEVICE place at(u32 i) const
    {
        if constexpr (entry == entry_stream) {
            u32 n = team() + i * args.teams;
            u32 t = n / args.kv_heads;
            u32 s = t / tiles_most();

            return place{s, n % args.kv_heads, t % tiles_most() * BN,
                         length(s)};
        } else {
            return place{sequence, with_products ? head / args.group : head,
                         i * BN, keys};
        }
    }

    GROAT_DEVICE u32 first_query() const
    {
        return (mode == mode_pair_local ? block_index() / 2 : block_index()) *
               BM;
    }

    // Block's output in grids without products: ordered by head, then by rank.
    GROAT_DEVICE u64 output(u64 bytes_per_block) const
    {
        return args.output +
               (static_cast<u64>(block_index_y()) * ctas + rank) *
                   bytes_per_block;
    }

    GROAT_DEVICE ring all_slots() const
    {
        return ring{base + ring_at, base + full_at};
    }

    // Completes once a piece of the second tile of queries has landed.
    GROAT_DEVICE u32 q1_bar(u32 piece) const
    {
        return base + after_at + 8 * piece;
    }

    // The barrier at which all consumers meet.
    GROAT_DEVICE u32 meeting() const
    {
        return base + after_at + 8 * ring_pieces;
    }
};

// The tile at place `turn` in the ring, K and V counted together, of `count`
// each, for sides that need not look tiles ahead.  Must match in_order().
struct tile_of_turn {
    bool values; // V, else K
    u32 i;

    GROAT_DEVICE constexpr tile_of_turn(u32 turn, u32 count)
        : values(turn % 2 != 0), i(turn / 2)
    {
        if constexpr (order == order_ahead) { // K0, then K and V by turns
            values = turn > 0 && (turn % 2 == 0 || turn + 1 == 2 * count);
            i = values ? (turn - 1) / 2 : (turn + 1) / 2;
        } else if constexpr (order == order_one_q) { // K K V V
            if (turn / 4 * 2 + 1 < count) {
                values = turn % 4 >= 2;
                i = turn / 4 * 2 + turn % 2;
            }
        }
    }
};

// Visits the tiles in order, for producers: `count` of K and as many of V.
// look(i) returns the argument of keys() and values() for tile i; it reads the
// page table, so it is called a tile or two ahead.  Each is called from one
// place only, as they are most of the kernel's code.
template <typename side> GROAT_DEVICE void in_order(side &s, u32 count)
{
    constexpr bool pairs = order == order_one_q;
    constexpr u32 step = pairs ? 2 : 1;
    decltype(s.look(0)) before{}, last{}; // tiles i - 2 and i - 1

    GROAT_ROLLED
    for (u32 i = 0; i < (count == 0 ? 0 : count + 2); i += step) {
        auto now = s.look(i < count ? i : count - 1);

        if constexpr (pairs) {
            auto next = s.look(i + 1 < count ? i + 1 : count - 1);

            GROAT_ROLLED
            for (u32 k = 0; k < (i == 0 ? 0 : 4); k++) {
                auto one = before;

                if (i - 2 + k % 2 < count) {
                    if (k < 2)
                        s.keys(one);
                    else
                        s.values(one);
                }
                before = last;
                last = one;
            }
            before = now;
            last = next;
        } else {
            if (i > 0 && i <= count)
                s.keys(last);
            if (order == order_ahead ? i > 1 : i > 0 && i <= count)
                s.values(order == order_ahead ? before : last);
            before = last;
            last = now;
        }
    }
    s.finish();
}

// Visits a tile part by part and piece by piece: piece<kind, which, n>() for
// piece n of a slot, number `which` of the tile, and done() after each slot.
template <typename side> struct by_pieces {
    template <typename what> GROAT_DEVICE void keys(const what &l)
    {
        each<of_keys, 0, 0>(l);
    }

    template <typename what> GROAT_DEVICE void values(const what &l)
    {
        each<of_values, 0, 0>(l);
    }

    // Visits `count` tiles, K and V together, in ring order: half the code of
    // in_order(), which must visit as many on the other side.
    GROAT_DEVICE void in_turn(u32 count)
    {
        GROAT_ROLLED
        for (u32 turn = 0; turn < count; turn++)
            each<of_either, 0, 0>(turn);
        static_cast<side &>(*this).finish();
    }

  private:
    template <int kind, int part, int n, typename what>
    GROAT_DEVICE void each(const what &l)
    {
        side &s = static_cast<side &>(*this);

        s.template piece<kind, part + n, n>(l);
        if constexpr (n + 1 < ring_pieces) {
            each<kind, part, n + 1>(l);
        } else {
            s.done();
            if constexpr (part + 1 < parts)
                each<kind, part + 1, 0>(l);
        }
    }
};

} // namespace kv_producer_pipeline
} // namespace groat
