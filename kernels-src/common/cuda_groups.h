// SPDX-License-Identifier: Apache-2.0
// The groups of cooperative_groups.h that are a block, or lanes of one warp: groat
// judge puts this file in front of a kernel whose file includes it.
#pragma once

#include "cuda_compat.h"

namespace cooperative_groups {

struct thread_block {
    GROAT_MEMBER static void sync()
    {
        groat::cpu_env->ops->block_barrier(groat::cpu_env, 0);
    }
    GROAT_MEMBER static unsigned thread_rank()
    {
        const uint3 at = threadIdx;

        return at.x + GROAT_BLOCK_X * (at.y + GROAT_BLOCK_Y * at.z);
    }
    GROAT_MEMBER static unsigned size()
    {
        return GROAT_BLOCK_X * GROAT_BLOCK_Y * GROAT_BLOCK_Z;
    }
    GROAT_MEMBER static unsigned num_threads()
    {
        return size();
    }
    GROAT_MEMBER static dim3 group_index()
    {
        const uint3 at = blockIdx;

        return {at.x, at.y, at.z};
    }
    GROAT_MEMBER static dim3 thread_index()
    {
        const uint3 at = threadIdx;

        return {at.x, at.y, at.z};
    }
    GROAT_MEMBER static dim3 group_dim()
    {
        return {GROAT_BLOCK_X, GROAT_BLOCK_Y, GROAT_BLOCK_Z};
    }
    GROAT_MEMBER static dim3 dim_threads()
    {
        return group_dim();
    }
};

GROAT_LANES thread_block this_thread_block()
{
    return {};
}

// The whole grid, without its barrier.
struct grid_group {
    template <class any = void> static void sync()
    {
        static_assert(sizeof(any *) == 0,
                      "a barrier of the whole grid is not judged");
    }
    GROAT_MEMBER static dim3 dim_blocks()
    {
        const uint3 many = gridDim;

        return {many.x, many.y, many.z};
    }
    GROAT_MEMBER static dim3 block_index()
    {
        return thread_block::group_index();
    }
    GROAT_MEMBER static dim3 group_dim()
    {
        return dim_blocks();
    }
    GROAT_MEMBER static unsigned long long num_blocks()
    {
        const uint3 many = gridDim;

        return (unsigned long long)many.x * many.y * many.z;
    }
    GROAT_MEMBER static unsigned long long block_rank()
    {
        const uint3 many = gridDim, at = blockIdx;

        return at.x + many.x * (at.y + (unsigned long long)many.y * at.z);
    }
    GROAT_MEMBER static unsigned long long thread_rank()
    {
        return block_rank() * thread_block::size() +
               thread_block::thread_rank();
    }
    GROAT_MEMBER static unsigned long long size()
    {
        return num_blocks() * thread_block::size();
    }
    GROAT_MEMBER static unsigned long long num_threads()
    {
        return size();
    }
    GROAT_MEMBER static bool is_valid()
    {
        return true;
    }
};

GROAT_LANES grid_group this_grid()
{
    return {};
}

// `parent` is the group that was partitioned, into `groups`; void: any.
template <unsigned lanes, class parent = void> struct thread_block_tile {
    static_assert(lanes >= 1 && lanes <= 32 && (lanes & (lanes - 1)) == 0,
                  "groat judge has tiles of 1, 2, 4, 8, 16 and 32 lanes");

    unsigned groups;
    unsigned group;

    template <class any>
    GROAT_MEMBER operator thread_block_tile<lanes, any>() const
    {
        return {groups, group};
    }

    // The lanes of the tile, as those of its warp.
    GROAT_MEMBER static unsigned mask()
    {
        return 0xffffffffu >> (32 - lanes) << first();
    }
    GROAT_MEMBER static unsigned first()
    {
        return groat::lane() & ~(lanes - 1);
    }
    GROAT_MEMBER static void sync()
    {
        __syncwarp(mask());
    }
    GROAT_MEMBER static unsigned thread_rank()
    {
        return groat::lane() % lanes;
    }
    GROAT_MEMBER static constexpr unsigned size()
    {
        return lanes;
    }
    GROAT_MEMBER static constexpr unsigned num_threads()
    {
        return lanes;
    }
    GROAT_MEMBER unsigned meta_group_size() const
    {
        return groups;
    }
    GROAT_MEMBER unsigned meta_group_rank() const
    {
        return group;
    }
    template <class T> GROAT_MEMBER static T shfl(T value, int from)
    {
        return __shfl_sync(mask(), value, from, lanes);
    }
    template <class T> GROAT_MEMBER static T shfl_xor(T value, int with)
    {
        return __shfl_xor_sync(mask(), value, with, lanes);
    }
    template <class T> GROAT_MEMBER static T shfl_up(T value, unsigned by)
    {
        return __shfl_up_sync(mask(), value, by, lanes);
    }
    template <class T> GROAT_MEMBER static T shfl_down(T value, unsigned by)
    {
        return __shfl_down_sync(mask(), value, by, lanes);
    }
    GROAT_MEMBER static int any(int predicate)
    {
        return __any_sync(mask(), predicate);
    }
    GROAT_MEMBER static int all(int predicate)
    {
        return __all_sync(mask(), predicate);
    }
    GROAT_MEMBER static unsigned ballot(int predicate)
    {
        return (__ballot_sync(mask(), predicate) & mask()) >> first();
    }
    template <class T> GROAT_MEMBER static unsigned match_any(T value)
    {
        return (__match_any_sync(mask(), value) & mask()) >> first();
    }
};

template <unsigned lanes, class parent>
GROAT_LANES thread_block_tile<lanes, parent> tiled_partition(const parent &whole)
{
    return {(whole.size() + lanes - 1) / lanes, whole.thread_rank() / lanes};
}

// The lanes that came to coalesced_threads() together.
struct coalesced_group {
    unsigned mask;

    // The lane of the warp that has this rank in the group.
    GROAT_MEMBER int lane_of(unsigned rank) const
    {
        unsigned rest = mask;

        for (unsigned i = 0; i < rank; i++)
            rest &= rest - 1;
        return rest != 0 ? __builtin_ctz(rest) : (int)groat::lane();
    }
    GROAT_MEMBER void sync() const
    {
        __syncwarp(mask);
    }
    GROAT_MEMBER unsigned thread_rank() const
    {
        return (unsigned)__popc(mask & ((1u << groat::lane()) - 1));
    }
    GROAT_MEMBER unsigned size() const
    {
        return (unsigned)__popc(mask);
    }
    GROAT_MEMBER unsigned num_threads() const
    {
        return size();
    }
    template <class T> GROAT_MEMBER T shfl(T value, unsigned from) const
    {
        return __shfl_sync(mask, value, lane_of(from));
    }
    template <class T> GROAT_MEMBER T shfl_down(T value, unsigned by) const
    {
        const unsigned rank = thread_rank();

        return shfl(value, rank + by < size() ? rank + by : rank);
    }
    template <class T> GROAT_MEMBER T shfl_up(T value, unsigned by) const
    {
        const unsigned rank = thread_rank();

        return shfl(value, rank >= by ? rank - by : rank);
    }
    GROAT_MEMBER int any(int predicate) const
    {
        return __any_sync(mask, predicate);
    }
    GROAT_MEMBER int all(int predicate) const
    {
        return __all_sync(mask, predicate);
    }
    // A bit for each rank.
    GROAT_MEMBER unsigned ballot(int predicate) const
    {
        const unsigned lanes = __ballot_sync(mask, predicate);
        unsigned ranks = 0;

        for (unsigned i = 0; i < size(); i++)
            ranks |= (lanes >> lane_of(i) & 1u) << i;
        return ranks;
    }
};

GROAT_LANES coalesced_group coalesced_threads()
{
    return {__activemask()};
}

template <class group> GROAT_LANES void sync(const group &g)
{
    g.sync();
}

// Any of the groups above.
struct thread_group {
    bool whole; // the block; else lanes of a warp:
    unsigned mask;

    GROAT_MEMBER thread_group(const thread_block &) : whole(true), mask(0)
    {
    }
    template <unsigned lanes, class parent>
    GROAT_MEMBER thread_group(const thread_block_tile<lanes, parent> &tile)
        : whole(false), mask(tile.mask())
    {
    }
    GROAT_MEMBER thread_group(const coalesced_group &lanes)
        : whole(false), mask(lanes.mask)
    {
    }
    GROAT_MEMBER void sync() const
    {
        if (whole)
            groat::cpu_env->ops->block_barrier(groat::cpu_env, 0);
        else
            __syncwarp(mask);
    }
    GROAT_MEMBER unsigned size() const
    {
        return whole ? thread_block::size() : coalesced_group{mask}.size();
    }
    GROAT_MEMBER unsigned num_threads() const
    {
        return size();
    }
    GROAT_MEMBER unsigned thread_rank() const
    {
        return whole ? thread_block::thread_rank()
                     : coalesced_group{mask}.thread_rank();
    }
};

#define GROAT_FUNCTOR(name, expression) \
    template <class T> struct name { \
        GROAT_MEMBER T operator()(T a, T b) const \
        { \
            return expression; \
        } \
    };

GROAT_FUNCTOR(plus, a + b)
GROAT_FUNCTOR(less, b < a ? b : a)
GROAT_FUNCTOR(greater, a < b ? b : a)
GROAT_FUNCTOR(bit_and, a & b)
GROAT_FUNCTOR(bit_or, a | b)
GROAT_FUNCTOR(bit_xor, a ^ b)

// Every lane receives the result over the tile.
template <unsigned lanes, class parent, class T, class F>
GROAT_LANES T reduce(const thread_block_tile<lanes, parent> &tile, T value,
                     F combine)
{
    for (unsigned with = lanes / 2; with > 0; with /= 2)
        value = combine(value, tile.shfl_xor(value, with));
    return value;
}

template <class T, class F>
GROAT_LANES T reduce(const coalesced_group &group, T value, F combine)
{
    T all = group.shfl(value, 0);

    for (unsigned i = 1; i < group.size(); i++)
        all = combine(all, group.shfl(value, i));
    return all;
}

// Of lanes 0 to one's own, and of those before it.
template <unsigned lanes, class parent, class T, class F = plus<T>>
GROAT_LANES T inclusive_scan(const thread_block_tile<lanes, parent> &tile,
                             T value, F combine = F())
{
    for (unsigned by = 1; by < lanes; by *= 2) {
        const T before = tile.shfl_up(value, by);

        value = tile.thread_rank() >= by ? combine(before, value) : value;
    }
    return value;
}

template <unsigned lanes, class parent, class T, class F = plus<T>>
GROAT_LANES T exclusive_scan(const thread_block_tile<lanes, parent> &tile,
                             T value, F combine = F())
{
    const T before = tile.shfl_up(inclusive_scan(tile, value, combine), 1);

    return tile.thread_rank() > 0 ? before : T();
}

} // namespace cooperative_groups
