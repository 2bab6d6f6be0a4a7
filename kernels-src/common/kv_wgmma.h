// SPDX-License-Identifier: Apache-2.0
// Tiles in shared memory as operands of wgmma: the place and matrix descriptor
// (kv_layout.h) of a block of rows, keys or columns, and attention's two
// products built on them.  Their loops stay rolled: each instruction names
// every accumulator register, and many of them compile slowly.
#pragma once

#include "kv_layout.h"
#include "wgmma.h"

namespace groat {

// A tile of `row_count` rows of `row_bytes` bytes.
template <int tile_layout, int row_count, int row_bytes, int swizzle_bytes>
struct kv_operand {
    static constexpr u32 rows = row_count;
    static constexpr u32 width = row_bytes;
    static constexpr u32 span = swizzle_bytes;
    static constexpr swizzle_span code = span == 128  ? span_128
                                         : span == 64 ? span_64
                                         : span == 32 ? span_32
                                                      : span_16;

    GROAT_DEVICE static constexpr u32 offset(u32 row, u32 byte)
    {
        return kv_plain_offset(tile_layout, row, byte, rows, width, span);
    }

    // Rows from `row` on (a multiple of 8), contracted along their bytes from
    // `byte` on (a multiple of 32).
    GROAT_DEVICE static u64 along_rows(u32 tile, u32 row, u32 byte)
    {
        constexpr kv_strides s =
            kv_strides_k_major(tile_layout, rows, width, span);

        return matrix_descriptor(tile + offset(row, byte), s.lbo, s.sbo, code);
    }

    // Columns from `byte` on (whole chunks), contracted along the rows from
    // `row` on (a multiple of 8).
    GROAT_DEVICE static u64 across_rows(u32 tile, u32 row, u32 byte)
    {
        constexpr kv_strides s =
            kv_strides_mn_major(tile_layout, rows, width, span);

        return matrix_descriptor(tile + offset(row, byte), s.lbo, s.sbo, code);
    }
};

// The largest n of wgmma that divides `columns`, a multiple of 16.
GROAT_DEVICE constexpr int wgmma_width(int columns)
{
    return columns % 256 == 0   ? 256
           : columns % 128 == 0 ? 128
           : columns % 64 == 0  ? 64
           : columns % 32 == 0  ? 32
                                : 16;
}

// acc (+)= rows [q_row, +64) of tile Q times rows [k_row, +n) of tile K, along
// `bytes` of both, from byte `q_byte` of Q's rows on.
template <mma_number number, typename q_tile, typename k_tile, int bytes, int n>
GROAT_DEVICE void wgmma_scores(wgmma_accumulator<n> &acc, u32 q, u32 q_row,
                               u32 q_byte, u32 k, u32 k_row, bool more)
{
    GROAT_ROLLED
    for (u32 at = 0; at < bytes; at += 32)
        wgmma<number, n, k_major, k_major>(
            acc, q_tile::along_rows(q, q_row, q_byte + at),
            k_tile::along_rows(k, k_row, at), more || at > 0);
}

// acc (+)= rows [p_row, +64) of tile P, numbers from `p_key` on, times the
// `keys` rows of tile V, columns from byte `v_byte` on; 16-bit numbers.
template <mma_number number, typename p_tile, typename v_tile, int keys, int n>
GROAT_DEVICE void wgmma_output(wgmma_accumulator<n> &acc, u32 p, u32 p_row,
                               u32 p_key, u32 v, u32 v_byte, bool more)
{
    GROAT_ROLLED
    for (u32 key = 0; key < keys; key += 16)
        wgmma<number, n, k_major, mn_major>(
            acc, p_tile::along_rows(p, p_row, (p_key + key) * 2),
            v_tile::across_rows(v, key, v_byte), more || key > 0);
}

} // namespace groat
