// SPDX-License-Identifier: Apache-2.0
// Consumers of kv_producer_pipeline that multiply tiles in slots by wgmma: S =
// Q K^T, and O = P V with P read from memory.
#pragma once

#include "shapes.h"

namespace groat {
namespace kv_producer_pipeline {

constexpr mma_number number = dtype == dtype_fp8   ? mma_fp8
                              : dtype == dtype_f16 ? mma_f16
                                                   : mma_bf16;

// A warpgroup's share: 64 query rows, one of col_groups groups of columns.
struct share {
    const job &j;
    u32 thread; // index in the warpgroup
    u32 row;    // first row among the block's queries
    u32 group;  // group of columns

    GROAT_DEVICE explicit share(const job &of)
        : j(of), thread(thread_index() % 128),
          row(warp_index() / 4 % row_groups * 64),
          group(warp_index() / 4 / row_groups)
    {
    }

    // Finds the row of a block's query in S, P and O; false past the last.
    GROAT_DEVICE bool find(u32 in_block, u64 &at) const
    {
        u32 query = j.first_query() + in_block;

        at = static_cast<u64>(block_index_y()) * j.args.query_count + query;
        return query < j.args.query_count;
    }

    // Stores columns [col, col + n) of rows of `pitch` floats, `cols` of them
    // valid; without `cut` all are valid.
    template <bool cut, int n>
    GROAT_DEVICE void store(const wgmma_accumulator<n> &acc, u32 col, u64 pitch,
                            u32 cols) const
    {
        u32 first = col + wgmma_col(thread, 0);

        GROAT_UNROLL
        for (int half = 0; half < 2; half++) {
            u64 at;
            bool there = find(row + wgmma_row(thread, 2 * half), at);

            wgmma_store<cut>(acc, half, j.args.output + (at * pitch + first) * 4,
                             there && first < cols ? cols - first : 0);
        }
    }
};

// Other entries instantiate these types too, maybe without room for a block.
GROAT_DEVICE constexpr int block_count(int columns, int n)
{
    return columns < n ? 1 : columns / n;
}

template <int> struct scores_of : share {
    static constexpr int columns = k_rows / col_groups;
    static constexpr int n = wgmma_width(columns) < 128 ? wgmma_width(columns)
                                                        : 128;
    static constexpr int blocks = block_count(columns, n);

    wgmma_accumulator<n> sums[blocks];

    GROAT_DEVICE explicit scores_of(const job &of) : share(of)
    {
    }

    template <int which, int>
    GROAT_DEVICE void take(u32 piece, u32 turn, u32)
    {
        tile_of_turn now(turn, j.count);

        if (!now.values) {
            wgmma_fence();
            GROAT_UNROLL
            for (int b = 0; b < blocks; b++)
                wgmma_scores<number, q_tile, k_tile, k_cols * elem_bytes>(
                    sums[b], j.base + row / q_tile::rows * q1_at,
                    row % q_tile::rows, which * (k_cols * elem_bytes), piece,
                    group * columns + b * n, which > 0);
            wgmma_commit();
            GROAT_UNROLL
            for (int b = 0; b < blocks; b++)
                wgmma_wait<0>(sums[b]);
            if constexpr (which + 1 == pieces)
                write(now.i);
        }
    }

  private:
    GROAT_DEVICE void write(u32 i) const
    {
        u32 first = i * BN + (halves == 2 ? j.rank * k_rows : 0);

        GROAT_UNROLL
        for (int b = 0; b < blocks; b++)
            store<true>(sums[b], first + group * columns + b * n,
                  static_cast<u64>(j.tiles_most()) * BN, j.keys);
    }
};

// P of a tile of keys, which the consumers load, unswizzled.
typedef kv_operand<chunk_outer, BM == 0 ? 64 : BM, BN * 2, 16> p_tile;

template <int> struct output_of : share {
    static constexpr int columns = v_cols / col_groups;
    static constexpr int n = wgmma_width(columns);
    static constexpr int blocks = block_count(columns, n);
    static constexpr int groups = padded_depth / halves / v_cols;

    wgmma_accumulator<n> sums[groups][blocks];
    u32 parity; // of the consumers' barrier

    // Starts at 0: the output of no keys is 0.
    GROAT_DEVICE explicit output_of(const job &of)
        : share(of), sums{}, parity(0)
    {
    }

    template <int which, int>
    GROAT_DEVICE void take(u32 piece, u32 turn, u32)
    {
        constexpr int sub = which % v_copy::sub_tiles;
        constexpr int part = which / v_copy::sub_tiles;

        tile_of_turn now(turn, j.count);

        if (now.values) {
            if constexpr (which == 0)
                load_weights(now.i);
            clear_tail(piece, now.i * BN + sub * v_rows);
            async_proxy_fence();
            meet();
            wgmma_fence();
            GROAT_UNROLL
            for (int b = 0; b < blocks; b++)
                wgmma_output<number, p_tile, v_tile, v_rows>(
                    sums[part][b], j.base + weights_at, row, sub * v_rows,
                    piece, (group * columns + b * n) * 2, true);
            wgmma_commit();
            GROAT_UNROLL
            for (int b = 0; b < blocks; b++)
                wgmma_wait<0>(sums[part][b]);
            if constexpr (which + 1 == pieces)
                meet(); // before the next P
        }
    }

    GROAT_DEVICE void write() const
    {
        GROAT_UNROLL
        for (int g = 0; g < groups; g++)
            GROAT_UNROLL
            for (int b = 0; b < blocks; b++)
                store<false>(sums[g][b],
                             (g * halves + (halves == 2 ? j.rank : 0)) *
                                     v_cols +
                                 group * columns + b * n,
                             padded_depth, padded_depth);
    }

  private:
    GROAT_DEVICE void meet()
    {
        mbarrier_arrive(j.meeting());
        mbarrier_wait(j.meeting(), parity);
        parity ^= 1;
    }

    // Loads P of tile i; rows past the last query are 0.
    GROAT_DEVICE void load_weights(u32 i) const
    {
        constexpr u32 cells = BM * BN / 8;

        GROAT_ROLLED
        for (u32 c = thread_index(); c < cells; c += consumer_threads) {
            u32 r = c / (BN / 8);
            u32 key = c % (BN / 8) * 8;
            vec4 v = {0, 0, 0, 0};
            u64 at;

            if (find(r, at))
                v = global_load16(
                    j.args.weights +
                    (at * j.args.weight_pitch + i * BN + key) * 2);
            shared_store16(j.base + weights_at + p_tile::offset(r, key * 2), v);
        }
    }

    // Zeroes rows of V past the last key: they hold whatever the cache has
    // there, and 0 times a NaN or infinity is not 0.
    GROAT_DEVICE void clear_tail(u32 piece, u32 first) const
    {
        constexpr u32 cells = v_cols * 2 / 16;
        u32 valid = j.keys <= first ? 0 : j.keys - first;

        if (valid >= v_rows)
            return;
        GROAT_ROLLED
        for (u32 c = thread_index(); c < (v_rows - valid) * cells;
             c += consumer_threads)
            shared_store16(piece + kv_offset(v_copy::layout, valid + c / cells,
                                             c % cells * 16, v_rows,
                                             v_cols * 2, swizzle),
                           vec4{0, 0, 0, 0});
    }
};

} // namespace kv_producer_pipeline
} // namespace groat
