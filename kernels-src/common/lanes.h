// SPDX-License-Identifier: Apache-2.0
// Functions built on shuffles: neighbours, votes, and reductions over a wave
// and over a block.  All lanes of the wave must call them; all threads of the
// block must call those of the block.
#pragma once

#include "vendor.h"

namespace groat {

GROAT_DEVICE u32 lane_index()
{
    return thread_index() % static_cast<u32>(arch::wave_lanes);
}

GROAT_DEVICE u32 wave_index()
{
    return thread_index() / static_cast<u32>(arch::wave_lanes);
}

// x of lane l ^ mask; mask is below the wave's lanes.
GROAT_DEVICE u32 wave_shuffle_xor(u32 x, u32 mask)
{
    return wave_shuffle(x, lane_index() ^ mask);
}

// x of lane l - by; the lane's own x if there is no such lane.
GROAT_DEVICE u32 wave_shuffle_up(u32 x, u32 by)
{
    u32 lane = lane_index();

    return wave_shuffle(x, lane >= by ? lane - by : lane);
}

// x of lane l + by; the lane's own x if there is no such lane.
GROAT_DEVICE u32 wave_shuffle_down(u32 x, u32 by)
{
    u32 lane = lane_index();

    return wave_shuffle(
        x, lane + by < static_cast<u32>(arch::wave_lanes) ? lane + by : lane);
}

GROAT_DEVICE bool wave_any(bool x)
{
    return wave_ballot(x) != 0;
}

GROAT_DEVICE bool wave_all(bool x)
{
    return wave_ballot(!x) == 0;
}

// What reductions do with two floats, two u32 or two ints.
struct add_numbers {
    template <typename T> GROAT_DEVICE static T of(T a, T b)
    {
        return a + b;
    }
};

struct max_numbers {
    template <typename T> GROAT_DEVICE static T of(T a, T b)
    {
        return a > b ? a : b;
    }
};

struct min_numbers {
    template <typename T> GROAT_DEVICE static T of(T a, T b)
    {
        return a < b ? a : b;
    }
};

// A number as the word that lanes exchange, and back.
GROAT_DEVICE u32 to_word(float x)
{
    return float_bits(x);
}

GROAT_DEVICE u32 to_word(u32 x)
{
    return x;
}

GROAT_DEVICE u32 to_word(int x)
{
    return static_cast<u32>(x);
}

template <typename T> GROAT_DEVICE T from_word(u32 word)
{
    return static_cast<T>(word);
}

template <> GROAT_DEVICE float from_word<float>(u32 word)
{
    return bits_float(word);
}

// Reduces x, a float, u32 or int, over all lanes by op.  Every lane gets the
// same bits, as all have the same tree.
template <typename op, typename T> GROAT_DEVICE T wave_reduce(T x)
{
    GROAT_UNROLL
    for (int mask = arch::wave_lanes / 2; mask > 0; mask /= 2)
        x = op::of(x, from_word<T>(wave_shuffle_xor(to_word(x),
                                                    static_cast<u32>(mask))));
    return x;
}

// Bytes of shared memory that block_reduce() needs, at a multiple of 4.
constexpr int block_reduce_bytes =
    4 * ((GROAT_BLOCK_THREADS + arch::wave_lanes - 1) / arch::wave_lanes);

// Likewise over all threads of the block (whole waves).  Begins and ends with a
// block_barrier(), so shared memory at `room` is free before and after.
template <typename op, typename T> GROAT_DEVICE T block_reduce(T x, u32 room)
{
    constexpr int waves = GROAT_BLOCK_THREADS / arch::wave_lanes;
    T sum;

    static_assert(GROAT_BLOCK_THREADS % arch::wave_lanes == 0,
                  "block_reduce: a block is whole waves");
    x = wave_reduce<op>(x);
    block_barrier();
    if (lane_index() == 0)
        shared_store4(room + wave_index() * 4, to_word(x));
    shared_fence();
    block_barrier();
    sum = from_word<T>(shared_load4(room));
    GROAT_ROLLED
    for (int wave = 1; wave < waves; wave++)
        sum = op::of(sum, from_word<T>(shared_load4(
                              room + static_cast<u32>(wave) * 4)));
    block_barrier();
    return sum;
}

} // namespace groat
