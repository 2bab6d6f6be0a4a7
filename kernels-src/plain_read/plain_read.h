// SPDX-License-Identifier: Apache-2.0
// plain_read: every thread loads 16 bytes at a time, adjacent to its
// neighbours' and with `unroll` loads in flight, and XORs them.  It uses no
// shared memory and waits for nothing but its own loads.
#include "params.h"

#include "../common/vendor.h"
#include "args.h"

namespace groat {
namespace plain_read {

using namespace params;

GROAT_DEVICE void add(vec4 &sum, vec4 v)
{
    sum.x ^= v.x;
    sum.y ^= v.y;
    sum.z ^= v.z;
    sum.w ^= v.w;
}

GROAT_DEVICE void run(const plain_read_args &args)
{
    u64 lane = args.source + thread_index() * 16;
    vec4 sum = {0, 0, 0, 0};

    for (u32 step = block_index(); step < args.steps; step += args.blocks) {
        u64 from = lane + static_cast<u64>(step) * step_bytes;
        vec4 v[unroll];

        GROAT_UNROLL
        for (int i = 0; i < unroll; i++)
            v[i] = global_load16(from + static_cast<u64>(i) * block_bytes);
        GROAT_UNROLL
        for (int i = 0; i < unroll; i++)
            add(sum, v[i]);
    }
    global_store16(args.output + (static_cast<u64>(block_index()) *
                                      GROAT_BLOCK_THREADS +
                                  thread_index()) *
                                     16,
                   sum);
}

} // namespace plain_read
} // namespace groat

GROAT_KERNEL(plain_read_args)
{
    groat::plain_read::run(args);
}
