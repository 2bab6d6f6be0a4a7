// SPDX-License-Identifier: Apache-2.0
// Primitives of common/tma.h for NVIDIA's copy engine (TMA), mbarriers and
// clusters, sm_90 and up.  An operation that takes `issue` is predicated, so
// the code is straight-line whatever its value.  PTX ISA: mbarrier,
// cp.async.bulk, cp.async.bulk.tensor, elect.sync, barrier.cluster,
// fence.proxy.async.
#pragma once

namespace groat {

typedef groat_tensor_map tensor_map;

GROAT_DEVICE u32 warp_index()
{
    return __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);
}

GROAT_DEVICE bool elect()
{
    u32 chosen;

    asm volatile("{\n\t"
                 ".reg .pred p;\n\t"
                 "elect.sync _|p, 0xffffffff;\n\t"
                 "selp.u32 %0, 1, 0, p;\n\t"
                 "}"
                 : "=r"(chosen));
    return chosen != 0;
}

GROAT_DEVICE void warp_barrier()
{
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}

// ---- clusters

GROAT_DEVICE u32 cluster_rank()
{
    u32 rank;

    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

GROAT_DEVICE void cluster_barrier()
{
    asm volatile("barrier.cluster.arrive.release;\n\t"
                 "barrier.cluster.wait.acquire;" ::
                     : "memory");
}

// Returns the address of a block's shared memory in the cluster's window.
GROAT_DEVICE u32 address_of_peer(u32 address, u32 rank)
{
    u32 peer;

    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(peer)
        : "r"(address), "r"(rank));
    return peer;
}

GROAT_DEVICE vec2 cluster_load8(u32 address, u32 rank)
{
    vec2 x;

    asm volatile("ld.shared::cluster.v2.b32 {%0, %1}, [%2];"
                 : "=r"(x.x), "=r"(x.y)
                 : "r"(address_of_peer(address, rank))
                 : "memory");
    return x;
}

GROAT_DEVICE vec4 cluster_load16(u32 address, u32 rank)
{
    vec4 x;

    asm volatile("ld.shared::cluster.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                 : "r"(address_of_peer(address, rank))
                 : "memory");
    return x;
}

// ---- mbarriers

GROAT_DEVICE void mbarrier_init(u32 bar, u32 count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar),
                 "r"(count)
                 : "memory");
}

GROAT_DEVICE void mbarrier_init_fence()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

GROAT_DEVICE void mbarrier_arrive(u32 bar, bool issue = true)
{
    asm volatile("{\n\t"
                 ".reg .pred p;\n\t"
                 "setp.ne.u32 p, %1, 0;\n\t"
                 "@p mbarrier.arrive.shared::cta.b64 _, [%0];\n\t"
                 "}" ::"r"(bar),
                 "r"(static_cast<u32>(issue))
                 : "memory");
}

GROAT_DEVICE void mbarrier_arrive_peer(u32 bar, u32 rank, bool issue = true)
{
    asm volatile("{\n\t"
                 ".reg .pred p;\n\t"
                 ".reg .b32 peer;\n\t"
                 "setp.ne.u32 p, %2, 0;\n\t"
                 "mapa.shared::cluster.u32 peer, %0, %1;\n\t"
                 "@p mbarrier.arrive.release.cluster.shared::cluster.b64 _, "
                 "[peer];\n\t"
                 "}" ::"r"(bar),
                 "r"(rank), "r"(static_cast<u32>(issue))
                 : "memory");
}

GROAT_DEVICE void mbarrier_expect(u32 bar, u32 bytes, bool issue = true)
{
    asm volatile("{\n\t"
                 ".reg .pred p;\n\t"
                 "setp.ne.u32 p, %2, 0;\n\t"
                 "@p mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], "
                 "%1;\n\t"
                 "}" ::"r"(bar),
                 "r"(bytes), "r"(static_cast<u32>(issue))
                 : "memory");
}

GROAT_DEVICE void mbarrier_wait(u32 bar, u32 parity)
{
    asm volatile("{\n\t"
                 ".reg .pred done;\n"
                 "AGAIN:\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
                 "@!done bra AGAIN;\n\t"
                 "}" ::"r"(bar),
                 "r"(parity)
                 : "memory");
}

GROAT_DEVICE void async_proxy_fence()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// ---- copies

enum cache_policy { evict_normal, evict_first, evict_last };

// The policy words that createpolicy makes for a fraction of 1.
template <cache_policy policy> GROAT_DEVICE constexpr u64 policy_word()
{
    return policy == evict_first  ? 0x12F0000000000000ull
           : policy == evict_last ? 0x14F0000000000000ull
                                  : 0x16F0000000000000ull;
}

GROAT_DEVICE void tma_prefetch(const tensor_map &map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

GROAT_DEVICE void bulk_load(u32 to, u64 from, u32 bytes, u32 bar,
                            bool issue = true)
{
    asm volatile("{\n\t"
                 ".reg .pred p;\n\t"
                 "setp.ne.u32 p, %4, 0;\n\t"
                 "@p cp.async.bulk.shared::cluster.global"
                 ".mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];\n\t"
                 "}" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(bar), "r"(static_cast<u32>(issue))
                 : "memory");
}

// One instruction per rank, in three kinds, with and without an L2 cache hint.
// Operands %0-%5: to, map, bar, issue, mask, policy; from %6 the coordinates.
#define GROAT_TMA(rank, kind, coordinates, more, ...) \
    asm volatile("{\n\t" \
                 ".reg .pred p;\n\t" \
                 "setp.ne.u32 p, %3, 0;\n\t" \
                 "@p cp.async.bulk.tensor." rank "d.shared::cluster.global" \
                 ".tile.mbarrier::complete_tx::bytes" kind \
                 " [%0], [%1, {" coordinates "}], [%2]" more ";\n\t" \
                 "}" ::"r"(to), \
                 "l"(&map), "r"(bar), "r"(static_cast<u32>(issue)), \
                 "h"(static_cast<unsigned short>(ctas)), \
                 "l"(policy_word<policy>()), __VA_ARGS__ \
                 : "memory")
#define GROAT_TMA_OF(n, rank, coordinates, ...) \
    template <> struct tma_issue<n> { \
        template <cache_policy policy, int kind> \
        static GROAT_DEVICE void go(const tensor_map &map, u32 to, u32 bar, \
                                    const int (&at)[n], u32 ctas, bool issue) \
        { \
            if constexpr (kind == tma_one && policy == evict_normal) \
                GROAT_TMA(rank, "", coordinates, "", __VA_ARGS__); \
            else if constexpr (kind == tma_one) \
                GROAT_TMA(rank, ".L2::cache_hint", coordinates, ", %5", \
                          __VA_ARGS__); \
            else if constexpr (kind == tma_many && policy == evict_normal) \
                GROAT_TMA(rank, ".multicast::cluster", coordinates, ", %4", \
                          __VA_ARGS__); \
            else if constexpr (kind == tma_many) \
                GROAT_TMA(rank, ".multicast::cluster.L2::cache_hint", \
                          coordinates, ", %4, %5", __VA_ARGS__); \
            else if constexpr (policy == evict_normal) \
                GROAT_TMA(rank, ".cta_group::2", coordinates, "", \
                          __VA_ARGS__); \
            else \
                GROAT_TMA(rank, ".cta_group::2.L2::cache_hint", coordinates, \
                          ", %5", __VA_ARGS__); \
        } \
    };

enum { tma_one, tma_many, tma_pair };

template <int rank> struct tma_issue;

GROAT_TMA_OF(1, "1", "%6", "r"(at[0]))
GROAT_TMA_OF(2, "2", "%6, %7", "r"(at[0]), "r"(at[1]))
GROAT_TMA_OF(3, "3", "%6, %7, %8", "r"(at[0]), "r"(at[1]), "r"(at[2]))
GROAT_TMA_OF(4, "4", "%6, %7, %8, %9", "r"(at[0]), "r"(at[1]), "r"(at[2]),
             "r"(at[3]))
GROAT_TMA_OF(5, "5", "%6, %7, %8, %9, %10", "r"(at[0]), "r"(at[1]),
             "r"(at[2]), "r"(at[3]), "r"(at[4]))
#undef GROAT_TMA_OF
#undef GROAT_TMA

template <cache_policy policy, int rank>
GROAT_DEVICE void tma_load(const tensor_map &map, u32 to, u32 bar,
                           const int (&at)[rank], bool issue = true)
{
    tma_issue<rank>::template go<policy, tma_one>(map, to, bar, at, 0, issue);
}

template <cache_policy policy, int rank>
GROAT_DEVICE void tma_load_multicast(const tensor_map &map, u32 to, u32 bar,
                                     const int (&at)[rank], u32 ctas,
                                     bool issue = true)
{
    tma_issue<rank>::template go<policy, tma_many>(map, to, bar, at, ctas,
                                                   issue);
}

// Bits 24 and up of a shared-memory address hold the rank of a block in its
// cluster; with bit 24 cleared the barrier is that of the pair's even block.
template <cache_policy policy, int rank>
GROAT_DEVICE void tma_load_pair(const tensor_map &map, u32 to, u32 bar,
                                const int (&at)[rank], bool issue = true)
{
    static_assert(rank > 0 && arch::cta_group != 0,
                  "tma_load_pair: the arch has no cta_group");
    tma_issue<rank>::template go<policy, tma_pair>(map, to, bar & ~(1u << 24),
                                                   at, 0, issue);
}

} // namespace groat
