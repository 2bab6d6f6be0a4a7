// SPDX-License-Identifier: Apache-2.0
// Fragments: a lane's part of a matrix operand, read from shared memory.
//
// transpose_read16/8: each lane l of the wave addresses 8 consecutive bytes by
// address(l); 16 neighbouring lanes address a 4 x 16 matrix of 16-bit (8 x 16
// of 8-bit) elements row by row, row n by 4 (2) neighbouring lanes, and lane l
// receives column l % 16.  gfx950 has an instruction for it (ds_read_b64_tr);
// elsewhere every lane gathers its elements one by one, with the same result.
// address is a function object: u32 operator()(u32 lane) const.
#pragma once

#include "vendor.h"

namespace groat {

template <typename function>
GROAT_DEVICE vec2 transpose_read16(u32 lane, const function &address)
{
    if constexpr (arch::tr_read != 0) {
        return transpose_load16<>(address(lane));
    } else {
        u32 first = (lane & ~15u) + ((lane >> 2) & 3u);
        u32 in = (lane & 3u) * 2;
        u32 e0 = shared_load2(address(first) + in);
        u32 e1 = shared_load2(address(first + 4) + in);
        u32 e2 = shared_load2(address(first + 8) + in);
        u32 e3 = shared_load2(address(first + 12) + in);

        return vec2{e0 | e1 << 16, e2 | e3 << 16};
    }
}

template <typename function>
GROAT_DEVICE u32 gather4(u32 first, u32 in, const function &address)
{
    u32 e0 = shared_load1(address(first) + in);
    u32 e1 = shared_load1(address(first + 2) + in);
    u32 e2 = shared_load1(address(first + 4) + in);
    u32 e3 = shared_load1(address(first + 6) + in);

    return e0 | e1 << 8 | e2 << 16 | e3 << 24;
}

template <typename function>
GROAT_DEVICE vec2 transpose_read8(u32 lane, const function &address)
{
    if constexpr (arch::tr_read != 0) {
        return transpose_load8<>(address(lane));
    } else {
        u32 first = (lane & ~15u) + ((lane >> 3) & 1u);
        u32 in = lane & 7u;

        return vec2{gather4(first, in, address),
                    gather4(first + 8, in, address)};
    }
}

} // namespace groat
