// SPDX-License-Identifier: Apache-2.0
// lanes calls each function of common/lanes.h, and moves words by bytes and
// halves.
#include "params.h"

#include "../common/lanes.h"
#include "../common/vendor.h"
#include "args.h"

namespace groat
{
namespace lanes
{

// A byte and a half of the next thread, through shared memory.
GROAT_DEVICE u32 neighbour(u32 x)
{
    constexpr u32 threads = params::threads;
    const u32 t = thread_index();
    const u32 next = (t + 1) % threads;

    shared_store1(shared_base() + t, x);
    shared_store2(shared_base() + threads + 2 * t, x >> 8);
    shared_fence();
    block_barrier();
    return shared_load1(shared_base() + next) |
           shared_load2(shared_base() + threads + 2 * next) << 8;
}

GROAT_DEVICE void reduce(u64 to, float x)
{
    const u32 room = shared_base() + params::room;

    global_store4(to, float_bits(wave_reduce<min_floats>(x)));
    global_store4(to + 4, float_bits(wave_reduce<max_floats>(x)));
    global_store4(to + 8, float_bits(block_reduce<min_floats>(x, room)));
    global_store4(to + 12, float_bits(block_reduce<max_floats>(x, room)));
}

GROAT_DEVICE void run(const lanes_args &args)
{
    const u64 i =
        block_index() * static_cast<u64>(params::threads) + thread_index();
    const u64 from = args.x + i * 4;
    const u64 to = args.y + i * 32;
    const u32 x = global_load4(from);

    global_store4(to, wave_shuffle_xor(x, 5));
    global_store4(to + 4, wave_shuffle_up(x, 3));
    global_store4(to + 8, wave_shuffle_down(x, 7));
    global_store4(to + 12, (wave_any(x % 64 == 0) ? 1u : 0u) |
                               (wave_all(x % 64 != 1) ? 2u : 0u));
    global_store4(to + 16, neighbour(x));
    global_store4(to + 20, global_load1(from + 1) | global_load2(from + 2)
                                                        << 8);
    for (u32 k = 0; k < 4; k++)
        global_store1(to + 24 + k, x >> (24 - 8 * k));
    global_store2(to + 28, x >> 16);
    global_store2(to + 30, x);
    reduce(args.z + i * 16, static_cast<float>(x >> 8));
}

} // namespace lanes
} // namespace groat

GROAT_KERNEL(lanes_args)
{
    groat::lanes::run(args);
}
