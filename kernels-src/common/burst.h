// SPDX-License-Identifier: Apache-2.0
// A burst is one asynchronous copy by a wave of 64 lanes: lane l writes its
// bytes at chunk + l * bytes, from anywhere in the source.  A layout can choose
// only the source offset of each lane, so every swizzle is applied there,
// inverted.  A chunk is what one burst of `vector_bytes` per lane fills: 64 *
// vector_bytes consecutive bytes of shared memory.
//
// Where the arch has no 16-byte copies (CDNA before gfx950), a chunk is filled
// by four bursts of 4 bytes with the same image: burst q covers vectors
// 16q .. 16q+15, four lanes to a vector.  On NVIDIA a wave of 64 is two warps.
#pragma once

#include "vendor.h"

namespace groat {

constexpr u32 wave_lanes = 64;

template <int vector_bytes> struct burst {
    static_assert(vector_bytes == 4 || vector_bytes == 16,
                  "burst: 4 or 16 bytes per lane");

    // Whether 16 bytes take four copies of 4; NVIDIA's cp.async has both sizes.
    static constexpr bool split = vector_bytes == 16 && arch::lds_dma_bytes == 4;
    static constexpr int copies_per_chunk = split ? 4 : 1;
    static constexpr u32 chunk_bytes = wave_lanes * vector_bytes;

    // The vector of the chunk that `lane` copies in copy q.
    static GROAT_DEVICE constexpr u32 vector_of(u32 lane, u32 q)
    {
        return split ? 16 * q + lane / 4 : lane;
    }

    // The lane's byte offset in that vector.
    static GROAT_DEVICE constexpr u32 byte_of(u32 lane)
    {
        return split ? 4 * (lane % 4) : 0;
    }

    // Issues a whole burst.  voffset is a function object, u32 operator()(u32
    // vector) const: the source offset of a vector of the chunk.
    template <typename function>
    static GROAT_DEVICE void issue(buffer source, u32 chunk, u32 lane,
                                   u32 soffset, const function &voffset)
    {
        GROAT_UNROLL
        for (int q = 0; q < copies_per_chunk; q++)
            copy(source, chunk, lane, q, voffset(vector_of(lane, q)), soffset);
    }

    // Issues copy q of a chunk; voffset is the lane's vector's source offset.
    static GROAT_DEVICE void copy(buffer source, u32 chunk, u32 lane, u32 q,
                                  u32 voffset, u32 soffset)
    {
        if constexpr (split)
            async_copy<4>(source, chunk + 256 * q, lane,
                          voffset + byte_of(lane), soffset);
        else
            async_copy<vector_bytes>(source, chunk, lane, voffset, soffset);
    }
};

} // namespace groat
