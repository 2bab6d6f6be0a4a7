// SPDX-License-Identifier: Apache-2.0
// Matrix multiply-accumulate on fragments, by a wave of 64 lanes (AMD MFMA).
//
// A fragment holds 16 bytes of 16-bit numbers or 32 bytes of fp8 per lane: of A
// row lane % m, of B column lane % m, and the k numbers of block lane / m.  One
// instruction takes as much of it as the arch can; the others follow, each with
// the next bytes of both operands.  A and B share the map from lane and byte to
// k, so any order of k gives the same sum.
//
// Accumulator, register p of lane l: column l % m and
//   m = 32   row 8 (p / 4) + 4 (l / 32) + p % 4
//   m = 16   row 4 (l / 16) + p
#pragma once

#include "vendor.h"

namespace groat {

template <int m> GROAT_DEVICE constexpr u32 accumulator_row(u32 lane, u32 p)
{
    return m == 32 ? 8 * (p / 4) + 4 * (lane / 32) + p % 4 : 4 * (lane / 16) + p;
}

// Stores a lane's column of the m rows; `column` is the device address of row
// 0.  Four consecutive registers hold four consecutive rows, which lie side by
// side in the output (the product is transposed): 16 bytes per store.
template <int m>
GROAT_DEVICE void store_accumulator(const accumulator<m> &acc, u32 lane,
                                    u64 column)
{
    GROAT_UNROLL
    for (u32 p = 0; p < m * m / 64; p += 4)
        global_store16(column + accumulator_row<m>(lane, p) * 4,
                       vec4{float_bits(acc.get(p)), float_bits(acc.get(p + 1)),
                            float_bits(acc.get(p + 2)),
                            float_bits(acc.get(p + 3))});
}

// Depth of the instruction that takes `bytes` of 16-bit (8-bit) numbers a lane.
template <int m> GROAT_DEVICE constexpr int mfma_k16(int bytes)
{
    return bytes / 2 * 64 / m;
}

template <int m> GROAT_DEVICE constexpr int mfma_k8(int bytes)
{
    return bytes * 64 / m;
}

// 16 bytes of 16-bit numbers per lane, by instructions of `bytes` (8 or 16).
template <mma_number type, int m, int bytes>
GROAT_DEVICE void mma16(accumulator<m> &acc, vec4 a, vec4 b)
{
    if constexpr (bytes == 16) {
        mfma<type, m, mfma_k16<m>(16)>(acc, a, b);
    } else {
        mfma<type, m, mfma_k16<m>(8)>(acc, vec2{a.x, a.y}, vec2{b.x, b.y});
        mfma<type, m, mfma_k16<m>(8)>(acc, vec2{a.z, a.w}, vec2{b.z, b.w});
    }
}

template <int m>
GROAT_DEVICE void mma8_half(accumulator<m> &acc, vec4 a, vec4 b)
{
    mfma<mma_fp8, m, mfma_k8<m>(8)>(acc, vec2{a.x, a.y}, vec2{b.x, b.y});
    mfma<mma_fp8, m, mfma_k8<m>(8)>(acc, vec2{a.z, a.w}, vec2{b.z, b.w});
}

// 32 bytes of fp8 numbers per lane by instructions of `bytes` (8 or 32) each.
template <int m, int bytes>
GROAT_DEVICE void mma8(accumulator<m> &acc, vec8 a, vec8 b)
{
    if constexpr (bytes == 32) {
        mfma<mma_fp8, m, mfma_k8<m>(32)>(acc, a, b);
    } else {
        mma8_half<m>(acc, a.low, b.low);
        mma8_half<m>(acc, a.high, b.high);
    }
}

} // namespace groat
