// SPDX-License-Identifier: Apache-2.0
// kv_buffer_reg: one tile of K or V in shared memory, filled through two sets
// of registers in turn: while one tile is multiplied, the next is loaded from
// device memory.  The image, the fragments and the entries are those of
// kv_buffer_lds.
//
//   load_from_dram      every thread issues its loads of the next tile
//   copy_to_shared      stores the vectors of this tile as they arrive (the
//                       compiler waits), at their swizzled places
//   barrier             all threads may read the tile
//   load_from_shared    fragments, strip by strip, for the multiply-accumulate
//   barrier             all have read, so the tile may be overwritten
//
// Layout and readers: common/kv_tile.h, common/kv_fragments.h.  Uses of the
// tiles: common/kv_entries.h.
#include "params.h"

#include "../common/vendor.h"
#include "args.h"
#include "../common/kv_entries.h"

namespace groat {
namespace kv_buffer_reg {

using kv::tile;
using kv::tile_place;

constexpr int threads = 64 * params::num_warps;

// A thread's vectors of one tile.
struct staged {
    vec4 v[tile::held<threads>];
};
static_assert(tile::held<threads> == params::held,
              "params.def and kv_tile.h disagree");

struct register_buffer {
    u32 shared;
    u32 thread;

    GROAT_DEVICE explicit register_buffer(u32 at)
        : shared(at), thread(thread_index())
    {
    }

    GROAT_DEVICE void load_from_dram(const tile_place &from, staged &into) const
    {
        tile::load<threads>(from.source, from.soffset, thread, into.v);
    }

    GROAT_DEVICE void copy_to_shared(const staged &from) const
    {
        tile::store<threads>(shared, thread, from.v);
        shared_fence();
    }

    // Stores and uses tile n, which `from` holds or will hold.
    template <typename consumer>
    GROAT_DEVICE void use_tile(consumer &use, u32 n, const staged &from) const
    {
        copy_to_shared(from);
        block_barrier();
        use.take(n, shared);
        shared_fence();
        block_barrier();
    }

    // Likewise, while tile n + 1 is loaded into `next`.  These loads are the
    // youngest: waiting for this tile or its operand leaves them in flight.
    template <typename consumer>
    GROAT_DEVICE void use_and_load(consumer &use, u32 n, const staged &from,
                                   staged &next) const
    {
        use.fetch(n);
        load_from_dram(use.place(n + 1), next);
        compiler_fence();
        use_tile(use, n, from);
    }

    template <typename consumer>
    GROAT_DEVICE void use_last(consumer &use, u32 n, const staged &from) const
    {
        use.fetch(n);
        use_tile(use, n, from);
    }

    // Two tiles per round, so that each stage keeps its registers.  The last
    // tile has its own code: where paths with and without a load join, the
    // compiler would have to wait for all loads.
    template <typename consumer>
    GROAT_DEVICE void run(consumer &use, u32 count) const
    {
        staged even;
        staged odd;

        if (count == 0)
            return;
        load_from_dram(use.place(0), even);
        for (u32 n = 0;; n += 2) {
            if (n + 1 == count)
                return use_last(use, n, even);
            use_and_load(use, n, even, odd);
            if (n + 2 == count)
                return use_last(use, n + 1, odd);
            use_and_load(use, n + 1, odd, even);
        }
    }
};

} // namespace kv_buffer_reg
} // namespace groat

GROAT_KERNEL(kv_args)
{
    groat::kv::run<groat::kv_buffer_reg::register_buffer, groat::params::entry>(
        args);
}
