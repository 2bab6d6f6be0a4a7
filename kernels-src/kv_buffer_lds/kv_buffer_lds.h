// SPDX-License-Identifier: Apache-2.0
// kv_buffer_lds: one tile of K or V in shared memory, filled by asynchronous
// copies, one tile after the other without overlap: the simplest protocol, as a
// reference for the others.
//
//   load_from_dram      every wave enqueues its bursts of the next tile
//   copy_to_shared      waits until they have landed; moves nothing
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
namespace kv_buffer_lds {

using kv::tile;
using kv::tile_place;
static_assert(tile::copies<params::num_warps> == params::vm_instrs_per_load,
              "params.def and kv_tile.h disagree");

struct single_buffer {
    u32 shared;
    kv::wave_place w;

    GROAT_DEVICE explicit single_buffer(u32 at) : shared(at)
    {
    }

    GROAT_DEVICE void load_from_dram(const tile_place &from) const
    {
        tile::copy<params::num_warps>(from.source, from.soffset, w.wave, w.lane,
                                      shared);
        async_commit();
    }

    GROAT_DEVICE void copy_to_shared() const
    {
        async_wait<0, 0>();
    }

    template <typename consumer>
    GROAT_DEVICE void run(consumer &use, u32 count) const
    {
        for (u32 n = 0; n < count; n++) {
            use.fetch(n);
            load_from_dram(use.place(n));
            copy_to_shared();
            block_barrier();
            use.take(n, shared);
            shared_fence();
            block_barrier();
        }
    }
};

} // namespace kv_buffer_lds
} // namespace groat

GROAT_KERNEL(kv_args)
{
    groat::kv::run<groat::kv_buffer_lds::single_buffer, groat::params::entry>(
        args);
}
