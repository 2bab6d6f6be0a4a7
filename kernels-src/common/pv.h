// SPDX-License-Identifier: Apache-2.0
// The product O^T += V^T P^T of attention by a 64-lane wave.  V is in shared
// memory, key by key, read transposed.  A fragment of V is a strip of keys x 32
// columns; lane l holds column l % 32 of
//   16 bits  16 keys: number 4 h + f is key 8 h + 4 (l / 32) + f, h = 0..1
//    8 bits  64 keys: number 8 r + f is key 16 r + f % 4 + 8 (f / 4) +
//            4 (l / 32), r = 0..3
// This is the order of keys in which a lane holds the accumulator of S^T, so a
// kernel that made P by matrix instructions needs no shuffle; one that reads
// P from memory picks the same keys.
#pragma once

#include "vendor.h"
#include "fragment.h"
#include "mma.h"

namespace groat {

// Key of the strip and byte column (of 32 columns) at which a lane addresses 8
// bytes for the first transposing read; each further read is pv_step keys on.
template <int elem_bytes> GROAT_DEVICE constexpr u32 pv_key(u32 lane)
{
    return elem_bytes == 2 ? 4 * (lane / 32) + lane % 16 / 4
                           : lane % 8 / 2 + lane % 16 / 8 * 8 + 4 * (lane / 32);
}

template <int elem_bytes> GROAT_DEVICE constexpr u32 pv_col_byte(u32 lane)
{
    return elem_bytes == 2 ? 2 * (16 * (lane / 16 % 2) + 4 * (lane % 4))
                           : 16 * (lane / 16 % 2) + 8 * (lane % 2);
}

template <int elem_bytes> constexpr u32 pv_step = 16 / elem_bytes;

// Address for read `part`.  place is a function object: u32 operator()(u32
// first, u32 key, u32 col_byte) const, the shared-memory address of a byte of
// key first + key of the fragment; first, a multiple of pv_step, is a constant.
template <int elem_bytes, u32 part, typename function> struct pv_address {
    const function &place;

    GROAT_DEVICE u32 operator()(u32 lane) const
    {
        return place(part * pv_step<elem_bytes>, pv_key<elem_bytes>(lane),
                     pv_col_byte<elem_bytes>(lane));
    }
};

template <typename function>
GROAT_DEVICE vec4 pv_read16(u32 lane, const function &place)
{
    vec2 low = transpose_read16(lane, pv_address<2, 0, function>{place});
    vec2 high = transpose_read16(lane, pv_address<2, 1, function>{place});

    return vec4{low.x, low.y, high.x, high.y};
}

template <typename function>
GROAT_DEVICE vec8 pv_read8(u32 lane, const function &place)
{
    vec2 v0 = transpose_read8(lane, pv_address<1, 0, function>{place});
    vec2 v1 = transpose_read8(lane, pv_address<1, 1, function>{place});
    vec2 v2 = transpose_read8(lane, pv_address<1, 2, function>{place});
    vec2 v3 = transpose_read8(lane, pv_address<1, 3, function>{place});

    return vec8{vec4{v0.x, v0.y, v1.x, v1.y}, vec4{v2.x, v2.y, v3.x, v3.y}};
}

// Picks a lane's weights of P's row for a strip: of 8 (16) consecutive keys
// with 16-bit (8-bit) weights, each half of the wave takes one half.
GROAT_DEVICE vec2 pv_pick16(u32 lane, vec4 keys)
{
    return lane / 32 == 0 ? vec2{keys.x, keys.y} : vec2{keys.z, keys.w};
}

GROAT_DEVICE vec2 pv_pick8(u32 lane, vec4 keys)
{
    return lane / 32 == 0 ? vec2{keys.x, keys.z} : vec2{keys.y, keys.w};
}

GROAT_DEVICE vec4 pv_weights16(u32 lane, buffer weights, u32 voffset,
                               u32 soffset)
{
    vec2 low = pv_pick16(lane, buffer_load16(weights, voffset, soffset));
    vec2 high = pv_pick16(lane, buffer_load16(weights, voffset + 16, soffset));

    return vec4{low.x, low.y, high.x, high.y};
}

GROAT_DEVICE vec8 pv_weights8(u32 lane, buffer weights, u32 voffset, u32 soffset)
{
    vec2 v0 = pv_pick8(lane, buffer_load16(weights, voffset, soffset));
    vec2 v1 = pv_pick8(lane, buffer_load16(weights, voffset + 16, soffset));
    vec2 v2 = pv_pick8(lane, buffer_load16(weights, voffset + 32, soffset));
    vec2 v3 = pv_pick8(lane, buffer_load16(weights, voffset + 48, soffset));

    return vec8{vec4{v0.x, v0.y, v1.x, v1.y}, vec4{v2.x, v2.y, v3.x, v3.y}};
}

} // namespace groat
