// SPDX-License-Identifier: Apache-2.0
// Block (b, head) copies the rows of box b of a head, from the first column on.
#include "params.h"

#include "../common/tma.h"
#include "args.h"

namespace groat
{
namespace boxes
{

using namespace params;

// The engine's swizzle: a row's number permutes its 16-byte pieces.
GROAT_DEVICE u32 place(u32 row, u32 piece)
{
    constexpr u32 pieces = row_bytes / 16;
    const u32 at = row * row_bytes / 128;

    return row * row_bytes + 16 * (piece ^ at % pieces);
}

GROAT_DEVICE void run(const boxes_args &args)
{
    const u32 bar = shared_base();
    const u32 slot = shared_base() + 1024;
    const u32 first = block_index() * rows;
    const u64 to =
        args.y +
        (static_cast<u64>(block_index_y()) * args.boxes * rows + first) *
            row_bytes;

    if (thread_index() == 0) {
        const int at[3] = {0, static_cast<int>(block_index_y()),
                           static_cast<int>(first)};

        mbarrier_init(bar, 1);
        mbarrier_init_fence();
        mbarrier_expect(bar, box_bytes, true);
        tma_load<evict_normal>(args.map, slot, bar, at);
    }
    block_barrier();
    mbarrier_wait(bar, 0);
    for (u32 i = thread_index(); i < box_bytes / 16; i += 64)
        global_store16(to + 16 * i,
                       shared_load16(slot + place(i / (row_bytes / 16),
                                                  i % (row_bytes / 16))));
}

} // namespace boxes
} // namespace groat

GROAT_KERNEL(boxes_args)
{
    groat::boxes::run(args);
}
