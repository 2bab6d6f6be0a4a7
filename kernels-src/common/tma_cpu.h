// SPDX-License-Identifier: Apache-2.0
// Primitives of common/tma.h and common/wgmma.h on a cpu target: calls of the
// judge, which models NVIDIA's copy engine (TMA), mbarriers, clusters and wgmma.
#pragma once

namespace groat {

typedef groat_tensor_map tensor_map;

GROAT_DEVICE u32 warp_index()
{
    return cpu_env->thread[0] / 32;
}

GROAT_DEVICE bool elect()
{
    return cpu_env->ops->elect(cpu_env) != 0;
}

GROAT_DEVICE void warp_barrier()
{
    cpu_env->ops->warp_barrier(cpu_env);
}

GROAT_DEVICE u32 cluster_rank()
{
    return cpu_env->cluster_rank;
}

GROAT_DEVICE void cluster_barrier()
{
    cpu_env->ops->cluster_barrier(cpu_env);
}

GROAT_DEVICE vec2 cluster_load8(u32 address, u32 rank)
{
    vec2 x;

    cpu_env->ops->cluster_load(cpu_env, address, rank, &x, 8);
    return x;
}

GROAT_DEVICE vec4 cluster_load16(u32 address, u32 rank)
{
    vec4 x;

    cpu_env->ops->cluster_load(cpu_env, address, rank, &x, 16);
    return x;
}

GROAT_DEVICE void mbarrier_init(u32 bar, u32 count)
{
    cpu_env->ops->mbarrier_init(cpu_env, bar, count);
}

GROAT_DEVICE void mbarrier_init_fence()
{
    cpu_env->ops->mbarrier_init_fence(cpu_env);
}

GROAT_DEVICE void mbarrier_arrive(u32 bar, bool issue = true)
{
    if (issue)
        cpu_env->ops->mbarrier_arrive(cpu_env, bar, cpu_env->cluster_rank, 1);
}

GROAT_DEVICE void mbarrier_arrive_peer(u32 bar, u32 rank, bool issue = true)
{
    if (issue)
        cpu_env->ops->mbarrier_arrive(cpu_env, bar, rank, 1);
}

GROAT_DEVICE void mbarrier_expect(u32 bar, u32 bytes, bool issue = true)
{
    if (!issue)
        return;
    cpu_env->ops->mbarrier_expect(cpu_env, bar, bytes);
    mbarrier_arrive(bar);
}

GROAT_DEVICE void mbarrier_wait(u32 bar, u32 parity)
{
    cpu_env->ops->mbarrier_wait(cpu_env, bar, parity);
}

GROAT_DEVICE void async_proxy_fence()
{
    cpu_env->ops->async_proxy_fence(cpu_env);
}

enum cache_policy { evict_normal, evict_first, evict_last };

GROAT_DEVICE void tma_prefetch(const tensor_map &map)
{
    cpu_env->ops->tma_prefetch(cpu_env, &map);
}

GROAT_DEVICE void bulk_load(u32 to, u64 from, u32 bytes, u32 bar, bool issue = true)
{
    if (issue)
        cpu_env->ops->bulk_load(cpu_env, to, from, bytes, bar);
}

template <cache_policy policy, int rank>
GROAT_DEVICE void tma_load(const tensor_map &map, u32 to, u32 bar,
                     const int (&at)[rank], bool issue = true)
{
    if (issue)
        cpu_env->ops->tma_load(cpu_env, &map, to, bar, at, rank,
                               GROAT_CPU_TMA_ONE, 0);
}

template <cache_policy policy, int rank>
GROAT_DEVICE void tma_load_multicast(const tensor_map &map, u32 to, u32 bar,
                               const int (&at)[rank], u32 ctas,
                               bool issue = true)
{
    if (issue)
        cpu_env->ops->tma_load(cpu_env, &map, to, bar, at, rank,
                               GROAT_CPU_TMA_MULTICAST, ctas);
}

template <cache_policy policy, int rank>
GROAT_DEVICE void tma_load_pair(const tensor_map &map, u32 to, u32 bar,
                          const int (&at)[rank], bool issue = true)
{
    static_assert(rank > 0 && arch::cta_group != 0,
                  "tma_load_pair: the arch has no cta_group");
    if (issue)
        cpu_env->ops->tma_load(cpu_env, &map, to, bar, at, rank,
                               GROAT_CPU_TMA_PAIR, 0);
}

// ---- wgmma

enum major { k_major, mn_major };

template <int n> struct wgmma_accumulator {
    float v[n / 2];

    float get(int i) const
    {
        return v[i];
    }
};

GROAT_DEVICE void wgmma_fence()
{
    cpu_env->ops->wgmma_fence(cpu_env);
}

GROAT_DEVICE void wgmma_commit()
{
    cpu_env->ops->wgmma_commit(cpu_env);
}

// The judge fills the registers of every product that the wait covers.
template <int groups, int... n>
GROAT_DEVICE void wgmma_wait(wgmma_accumulator<n> &...)
{
    cpu_env->ops->wgmma_wait(cpu_env, groups);
}

template <bool cut, int n>
GROAT_DEVICE void wgmma_store(const wgmma_accumulator<n> &acc, int half, u64 address,
                        u32 cols)
{
    const u32 valid = cut || cols == 0 ? cols : n;

    for (u32 i = 0; i < n / 8; i++) {
        const float *v = acc.v + 4 * i + 2 * half;
        const vec2 pair = {float_bits(v[0]), float_bits(v[1])};

        if (8 * i + 1 < valid)
            global_store8(address + 32 * i, pair);
        else if (8 * i < valid)
            global_store4(address + 32 * i, pair.x);
    }
}

template <mma_number number, int n, major a_major, major b_major>
GROAT_DEVICE void wgmma(wgmma_accumulator<n> &acc, u64 desc_a, u64 desc_b,
                  bool accumulate = true)
{
    static_assert(n > 0 && arch::wgmma != 0, "wgmma: the arch has none");
    static_assert(n == 16 || n == 32 || n == 64 || n == 128 || n == 256,
                  "wgmma: n is 16, 32, 64, 128 or 256");
    static_assert(number == mma_bf16 || number == mma_f16 ||
                      (a_major == k_major && b_major == k_major),
                  "wgmma: operands of 8 bits are k-major");
    cpu_env->ops->wgmma(cpu_env, number, n, a_major, b_major, desc_a, nullptr,
                        desc_b, accumulate, acc.v);
}

} // namespace groat
