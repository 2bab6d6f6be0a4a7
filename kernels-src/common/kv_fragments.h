// SPDX-License-Identifier: Apache-2.0
// A lane's part of K, V, Q and P, 16 bytes or 8 numbers, for an m x m
// multiply-accumulate (m is 32 or 16; common/mma.h).  A fragment covers a strip
// of 512 / m numbers along k.  K and V are operand A and give the rows of the
// result, Q and P are operand B and give its columns, so scores are stored as
// S^T (rows are keys) and outputs as O^T (rows are the head's columns).
//
//   K and Q   k is the head: lane l holds key (query) l % m and, of a strip,
//             numbers l / m * 8 .. + 7
//   V and P   k are the keys: lane l holds column (query) l % m and, as
//             number 4 h + f of a strip, key (256 / m) h + 4 (l / m) + f,
//             h 0 or 1: the order of rows in an accumulator of scores, so that
//             scores become P without a shuffle
#pragma once

#include "vendor.h"
#include "fragment.h"
#include "mma.h"

namespace groat {

template <int m> constexpr u32 strip_numbers = 512 / m;

// K: m keys from row0 on, the strip that begins at column col0.
template <typename tile, int m>
GROAT_DEVICE vec4 key_fragment(u32 shared, u32 row0, u32 col0, u32 lane)
{
    return shared_load16(shared +
                         tile::address(row0 + lane % m, col0 + lane / m * 8));
}

// The address that a lane passes to a transposing read of half a strip: 16
// lanes cover a 4 x 16 matrix, 4 lanes each row.
template <typename tile, int m> struct value_address {
    u32 shared, row0, col0;

    GROAT_DEVICE u32 operator()(u32 lane) const
    {
        u32 row = 4 * (lane / m) + lane % 16 / 4;
        u32 col = lane % m / 16 * 16 + lane % 4 * 4;

        return shared + tile::address(row0 + row, col0 + col);
    }
};

// V: the strip of keys that begins at row0, m columns from col0 on.
template <typename tile, int m>
GROAT_DEVICE vec4 value_fragment(u32 shared, u32 row0, u32 col0, u32 lane)
{
    typedef value_address<tile, m> address;
    vec2 low = transpose_read16(lane, address{shared, row0, col0});
    vec2 high = transpose_read16(lane, address{shared, row0 + 256 / m, col0});

    return vec4{low.x, low.y, high.x, high.y};
}

// Q: m rows of `row_bytes` each, the strip that begins at column col0.
template <int m>
GROAT_DEVICE vec4 query_fragment(buffer q, u32 row_bytes, u32 col0, u32 lane)
{
    return buffer_load16(q, lane % m * row_bytes + lane / m * 16, col0 * 2);
}

// P: m rows of `row_bytes` each, the strip of keys that begins at col0.
template <int m>
GROAT_DEVICE vec4 weight_fragment(buffer p, u32 row_bytes, u32 col0, u32 lane)
{
    u32 voffset = lane % m * row_bytes + lane / m * 8;
    vec2 low = buffer_load8(p, voffset, col0 * 2);
    vec2 high = buffer_load8(p, voffset, (col0 + 256 / m) * 2);

    return vec4{low.x, low.y, high.x, high.y};
}

} // namespace groat
