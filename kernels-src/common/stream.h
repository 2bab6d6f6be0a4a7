// SPDX-License-Identifier: Apache-2.0
// Streams a block's tiles through a ring of slots in shared memory and XORs
// each onto 16 bytes per thread: every byte is read once, for bandwidth and to
// prove that it arrived.  A slot is refilled one barrier after its last reader.
#pragma once

#include "vendor.h"
#include "image.h"

namespace groat {

// Streams the tiles first, first + step ... below `end`.  load(tile, slot)
// enqueues the copies of a tile, `copies` per loading wave, into shared memory
// at `slot`, and leaves `gap` bytes free after each KiB.
template <int slots, int copies, u32 slot_bytes, u32 tile_bytes, u32 gap = 0,
          typename function>
GROAT_DEVICE vec4 stream_tiles(u32 shared, u32 first, u32 end, u32 step,
                               const function &load)
{
    constexpr int ahead = slots - 1;
    u32 next = first; // tile to be loaded next
    u32 fill = 0;     // its slot
    u32 use = 0;
    vec4 sum = {0, 0, 0, 0};

    for (int i = 0; i < ahead; i++, next += step) {
        if (next < end)
            load(next, shared + fill * slot_bytes);
        async_commit();
        fill = fill + 1 == slots ? 0 : fill + 1;
    }
    for (u32 tile = first; tile < end; tile += step) {
        bool more = next < end;

        if (more)
            load(next, shared + fill * slot_bytes);
        async_commit();
        next += step;
        fill = fill + 1 == slots ? 0 : fill + 1;
        // In the tail fewer copies are in flight than the count assumes.
        if (more)
            async_wait<ahead * copies, ahead>();
        else
            async_wait<0, 0>();
        block_barrier();
        fold<gap>(shared + use * slot_bytes, tile_bytes, sum);
        use = use + 1 == slots ? 0 : use + 1;
        shared_fence();
        block_barrier();
    }
    return sum;
}

} // namespace groat
