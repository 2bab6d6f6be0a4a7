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

template <typename T> GROAT_DEVICE void reduce(u64 to, T x)
{
    const u32 room = shared_base() + params::room;

    global_store4(to, to_word(wave_reduce<min_numbers>(x)));
    global_store4(to + 4, to_word(wave_reduce<max_numbers>(x)));
    global_store4(to + 8, to_word(block_reduce<min_numbers>(x, room)));
    global_store4(to + 12, to_word(block_reduce<max_numbers>(x, room)));
}

// Sums wrap around.
GROAT_DEVICE void add_up(u64 to, u32 x)
{
    const u32 room = shared_base() + params::room;

    global_store4(to, wave_reduce<add_numbers>(x));
    global_store4(to + 4, block_reduce<add_numbers>(x, room));
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
    reduce(args.w + i * 56, x);
    reduce(args.w + i * 56 + 16, static_cast<int>(x));
    add_up(args.w + i * 56 + 32, x);
    add_up(args.w + i * 56 + 40, x >> 16);
    add_up(args.w + i * 56 + 48, 1);
}

} // namespace lanes
} // namespace groat

GROAT_KERNEL(lanes_args)
{
    groat::lanes::run(args);
}
