// SPDX-License-Identifier: Apache-2.0
// Inline PTX of sm_90 and up, as common/cuda_ptx.h has the rest: mbarriers, the
// copies that they count, and who of a warp issues them.  (PTX ISA, mbarrier and
// cp.async.bulk.)
#pragma once

#include "cuda_ptx.h"

namespace groat_ptx {

// What "_" takes.
struct nowhere {
    template <class T>
    __attribute__((always_inline)) const nowhere &operator=(const T &) const
    {
        return *this;
    }
};

// A lane of the mask, whichever; that orders no accesses.
template <class P>
GROAT_LANES void elect_sync(const nowhere &, P &elected, unsigned mask)
{
    if (mask == ~0u)
        elected = cpu_env->ops->elect(cpu_env) != 0;
    else
        elected = lane() == (unsigned)__ffs(__ballot_sync(mask, 1)) - 1;
}

template <class T, class P>
GROAT_LANES void elect_sync(T &leader, P &elected, unsigned mask)
{
    elect_sync(nowhere(), elected, mask);
    put(leader, (unsigned)__ffs(__ballot_sync(mask, elected)) - 1);
}

GROAT_LANES void make_mbarrier(unsigned long long bar, unsigned count)
{
    cpu_env->ops->mbarrier_init(cpu_env, of_shared(bar), count);
}

// Returns the state that a test takes: the parity of the phase.
GROAT_LANES unsigned arrive(unsigned long long bar, unsigned count)
{
    return cpu_env->ops->mbarrier_arrive(cpu_env, of_shared(bar),
                                         cpu_env->cluster_rank, count);
}

GROAT_LANES void expect(unsigned long long bar, unsigned bytes)
{
    cpu_env->ops->mbarrier_expect(cpu_env, of_shared(bar), bytes);
}

#define GROAT_PTX_MBARRIER(order, space) \
    template <class S> \
    GROAT_LANES void mbarrier_arrive##order##space##_b64( \
        S &&state, unsigned long long bar, unsigned count = 1) \
    { \
        state = arrive(bar, count); \
    } \
    template <class S> \
    GROAT_LANES void mbarrier_arrive_expect_tx##order##space##_b64( \
        S &&state, unsigned long long bar, unsigned bytes) \
    { \
        expect(bar, bytes); \
        state = arrive(bar, 1); \
    }

// A try may give up before the phase has completed, and does so once.
#define GROAT_PTX_TRY(order, space) \
    template <class P, class S> \
    GROAT_LANES void mbarrier_try_wait##order##space##_b64( \
        P &done, unsigned long long bar, const S &state, unsigned = 0) \
    { \
        done = cpu_env->ops->mbarrier_try(cpu_env, of_shared(bar), \
                                          (unsigned)state); \
    } \
    template <class P, class S> \
    GROAT_LANES void mbarrier_test_wait##order##space##_b64( \
        P &done, unsigned long long bar, const S &state) \
    { \
        mbarrier_try_wait##order##space##_b64(done, bar, state); \
    }

#define GROAT_PTX_TRIES(order, space) \
    GROAT_PTX_TRY(order, space) \
    GROAT_PTX_TRY(_parity##order, space)

#define GROAT_PTX_MBARRIERS(space) \
    GROAT_LANES void mbarrier_init##space##_b64(unsigned long long bar, \
                                                unsigned count) \
    { \
        make_mbarrier(bar, count); \
    } \
    GROAT_LANES void mbarrier_expect_tx_relaxed_cta##space##_b64( \
        unsigned long long bar, unsigned bytes) \
    { \
        expect(bar, bytes); \
    } \
    GROAT_LANES void mbarrier_expect_tx##space##_b64(unsigned long long bar, \
                                                     unsigned bytes) \
    { \
        expect(bar, bytes); \
    } \
    GROAT_LANES void mbarrier_inval##space##_b64(unsigned long long bar) \
    { \
        cpu_env->ops->mbarrier_inval(cpu_env, of_shared(bar)); \
    } \
    GROAT_PTX_MBARRIER(, space) \
    GROAT_PTX_MBARRIER(_release_cta, space) \
    GROAT_PTX_MBARRIER(_release_cluster, space) \
    GROAT_PTX_TRIES(, space) \
    GROAT_PTX_TRIES(_acquire_cta, space) \
    GROAT_PTX_TRIES(_acquire_cluster, space)

GROAT_PTX_MBARRIERS(_shared)
GROAT_PTX_MBARRIERS(_shared_cta)
GROAT_PTX_MBARRIER(, _shared_cluster)
GROAT_PTX_MBARRIER(_release_cluster, _shared_cluster)

GROAT_LANES void fence_mbarrier_init_release_cluster()
{
    cpu_env->ops->mbarrier_init_fence(cpu_env);
}

GROAT_LANES void fence_proxy_async()
{
    cpu_env->ops->async_proxy_fence(cpu_env);
}

GROAT_LANES void fence_proxy_async_shared_cta()
{
    cpu_env->ops->async_proxy_fence(cpu_env);
}

GROAT_LANES void fence_proxy_async_shared_cluster()
{
    cpu_env->ops->async_proxy_fence(cpu_env);
}

GROAT_PTX_NOTHING(fence_proxy_async_global)

// An address in the cluster's block of a rank; clusters have one block.
template <class T, class A>
GROAT_LANES void mapa_shared_cluster_u32(T &to, const A &address, unsigned rank)
{
    if (rank != 0)
        refuse("has an address of another block of its cluster (mapa), which is "
               "not judged");
    put(to, word(address));
}

#define GROAT_PTX_POLICY(kind) \
    template <class T, class... F> \
    GROAT_LANES void createpolicy_fractional_L2_##kind##_b64(T &to, F...) \
    { \
        to = 0; \
    }

GROAT_PTX_POLICY(evict_first)
GROAT_PTX_POLICY(evict_last)
GROAT_PTX_POLICY(evict_normal)
GROAT_PTX_POLICY(evict_unchanged)

#define GROAT_PTX_BULK(to) \
    GROAT_LANES void \
        cp_async_bulk_shared_##to##_global_mbarrier_complete_tx_bytes( \
            unsigned long long shared, unsigned long long from, unsigned bytes, \
            unsigned long long bar) \
    { \
        cpu_env->ops->bulk_load(cpu_env, of_shared(shared), from, bytes, \
                                of_shared(bar)); \
    } \
    GROAT_LANES void \
        cp_async_bulk_shared_##to##_global_mbarrier_complete_tx_bytes_L2_cache_hint( \
            unsigned long long shared, unsigned long long from, unsigned bytes, \
            unsigned long long bar, unsigned long long) \
    { \
        cpu_env->ops->bulk_load(cpu_env, of_shared(shared), from, bytes, \
                                of_shared(bar)); \
    }

GROAT_PTX_BULK(cta)
GROAT_PTX_BULK(cluster)

GROAT_LANES void
    cp_async_bulk_global_shared_cta_bulk_group(unsigned long long to,
                                               unsigned long long shared,
                                               unsigned bytes)
{
    cpu_env->ops->bulk_store(cpu_env, to, of_shared(shared), bytes);
}

GROAT_LANES void cp_async_bulk_global_shared_cta_bulk_group_L2_cache_hint(
    unsigned long long to, unsigned long long shared, unsigned bytes,
    unsigned long long)
{
    cpu_env->ops->bulk_store(cpu_env, to, of_shared(shared), bytes);
}

GROAT_LANES void cp_async_bulk_commit_group()
{
    cpu_env->ops->store_commit(cpu_env);
}

GROAT_LANES void cp_async_bulk_wait_group(unsigned groups)
{
    cpu_env->ops->store_wait(cpu_env, groups);
}

GROAT_LANES void cp_async_bulk_wait_group_read(unsigned groups)
{
    cpu_env->ops->store_wait(cpu_env, groups);
}

GROAT_LANES const void *map_at(unsigned long long address)
{
    return ((const CUtensorMap *)address)->map;
}

GROAT_LANES void prefetch_tensormap(unsigned long long map)
{
    cpu_env->ops->tma_prefetch(cpu_env, map_at(map));
}

// Coordinates of a box, the fastest first; behind them is an address of shared
// memory, and perhaps a cache policy.
template <unsigned rank> struct box_place {
    int at[rank];
    unsigned shared;

    template <class... X> GROAT_MEMBER explicit box_place(X... x)
    {
        const unsigned long long all[] = {(unsigned long long)x...};

        static_assert(sizeof...(X) > rank, "a copy of a box has as many "
                                           "coordinates as its name says");
        for (unsigned i = 0; i < rank; i++)
            at[i] = (int)all[i];
        shared = of_shared(all[rank]);
    }
};

// Behind the coordinates is the mbarrier.
template <unsigned rank, class... X>
GROAT_LANES void load_box(unsigned long long to, unsigned long long map, X... x)
{
    const box_place<rank> from(x...);

    cpu_env->ops->tma_load(cpu_env, map_at(map), of_shared(to), from.shared,
                           from.at, rank, GROAT_CPU_TMA_ONE, 0);
}

// Behind the coordinates is the source.
template <unsigned rank, class... X>
GROAT_LANES void store_box(unsigned long long map, X... x)
{
    const box_place<rank> to(x...);

    cpu_env->ops->tma_store(cpu_env, map_at(map), to.shared, to.at, rank);
}

#define GROAT_PTX_STORE_BOX(rank, more) \
    template <class... X> \
    GROAT_LANES void \
        cp_async_bulk_tensor_##rank##d_global_shared_cta##more( \
            unsigned long long map, X... x) \
    { \
        store_box<rank>(map, x...); \
    }

#define GROAT_PTX_BOX(rank, to, more) \
    template <class... X> \
    GROAT_LANES void \
        cp_async_bulk_tensor_##rank##d_shared_##to##_global##more( \
            unsigned long long shared, unsigned long long map, X... x) \
    { \
        load_box<rank>(shared, map, x...); \
    }

#define GROAT_PTX_BOXES_TO(rank, to) \
    GROAT_PTX_BOX(rank, to, _mbarrier_complete_tx_bytes) \
    GROAT_PTX_BOX(rank, to, _tile_mbarrier_complete_tx_bytes) \
    GROAT_PTX_BOX(rank, to, _mbarrier_complete_tx_bytes_L2_cache_hint) \
    GROAT_PTX_BOX(rank, to, _tile_mbarrier_complete_tx_bytes_L2_cache_hint)

#define GROAT_PTX_BOXES(rank) \
    GROAT_PTX_STORE_BOX(rank, _bulk_group) \
    GROAT_PTX_STORE_BOX(rank, _tile_bulk_group) \
    GROAT_PTX_STORE_BOX(rank, _bulk_group_L2_cache_hint) \
    GROAT_PTX_STORE_BOX(rank, _tile_bulk_group_L2_cache_hint) \
    GROAT_PTX_BOXES_TO(rank, cta) \
    GROAT_PTX_BOXES_TO(rank, cluster)

GROAT_PTX_BOXES(1)
GROAT_PTX_BOXES(2)
GROAT_PTX_BOXES(3)
GROAT_PTX_BOXES(4)
GROAT_PTX_BOXES(5)

} // namespace groat_ptx
