// SPDX-License-Identifier: Apache-2.0
// A block's tiles through a ring of slots in shared memory, each XORed onto 16
// bytes per thread: every byte is read once, for bandwidth and as a proof that
// it arrived.  A slot is filled again one barrier after its last reader.
#pragma once

#include "vendor.h"
#include "image.h"

namespace groat
{

// Tiles first, first + step ... below `end`.  load(tile, slot) enqueues the
// copies of a tile, `copies` per loading wave, into shared memory at `slot`;
// use(tile, slot) reads them.
template <int slots, int copies, u32 slot_bytes, typename loader,
          typename reader>
GROAT_DEVICE void stream_slots(u32 shared, u32 first, u32 end, u32 step,
                               loader &&load, reader &&use)
{
    constexpr int ahead = slots - 1;
    u32 next = first; // to be requested next
    u32 fill = 0;     // its slot
    u32 full = 0;

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
        // The tail has fewer copies in flight than the count assumes.
        if (more)
            async_wait<ahead * copies, ahead>();
        else
            async_wait<0, 0>();
        block_barrier();
        use(tile, shared + full * slot_bytes);
        full = full + 1 == slots ? 0 : full + 1;
        shared_fence();
        block_barrier();
    }
}

template <u32 tile_bytes, u32 gap> struct fold_tile {
    vec4 &sum;

    GROAT_DEVICE void operator()(u32, u32 slot) const
    {
        fold<gap>(slot, tile_bytes, sum);
    }
};

// The same where every tile has as many bytes, all of which are read; `gap`
// bytes behind each KiB stay free.
template <int slots, int copies, u32 slot_bytes, u32 tile_bytes, u32 gap = 0,
          typename loader>
GROAT_DEVICE vec4 stream_tiles(u32 shared, u32 first, u32 end, u32 step,
                               const loader &load)
{
    vec4 sum = {0, 0, 0, 0};

    stream_slots<slots, copies, slot_bytes>(shared, first, end, step, load,
                                            fold_tile<tile_bytes, gap>{sum});
    return sum;
}

} // namespace groat
