// SPDX-License-Identifier: Apache-2.0
// NVIDIA features that CDNA has in other forms: declared, so that a kernel can
// name them behind a check of arch::, but never defined.
#pragma once

#define GROAT_ABSENT __attribute__((device))

namespace groat {

typedef groat_tensor_map tensor_map;

GROAT_ABSENT u32 warp_index();
GROAT_ABSENT bool elect();
GROAT_ABSENT void warp_barrier();
GROAT_ABSENT u32 cluster_rank();
GROAT_ABSENT void cluster_barrier();
GROAT_ABSENT vec2 cluster_load8(u32 address, u32 rank);
GROAT_ABSENT vec4 cluster_load16(u32 address, u32 rank);
GROAT_ABSENT void mbarrier_init(u32 bar, u32 count);
GROAT_ABSENT void mbarrier_init_fence();
GROAT_ABSENT void mbarrier_arrive(u32 bar, bool issue = true);
GROAT_ABSENT void mbarrier_arrive_peer(u32 bar, u32 rank, bool issue = true);
GROAT_ABSENT void mbarrier_expect(u32 bar, u32 bytes, bool issue = true);
GROAT_ABSENT void mbarrier_wait(u32 bar, u32 parity);
GROAT_ABSENT void async_proxy_fence();

enum cache_policy { evict_normal, evict_first, evict_last };

GROAT_ABSENT void tma_prefetch(const tensor_map &map);
GROAT_ABSENT void bulk_load(u32 to, u64 from, u32 bytes, u32 bar,
                            bool issue = true);
template <cache_policy policy, int rank>
GROAT_ABSENT void tma_load(const tensor_map &map, u32 to, u32 bar,
                           const int (&at)[rank], bool issue = true);
template <cache_policy policy, int rank>
GROAT_ABSENT void tma_load_multicast(const tensor_map &map, u32 to, u32 bar,
                                     const int (&at)[rank], u32 ctas,
                                     bool issue = true);
template <cache_policy policy, int rank>
GROAT_ABSENT void tma_load_pair(const tensor_map &map, u32 to, u32 bar,
                                const int (&at)[rank], bool issue = true);

enum major { k_major, mn_major };

template <int n> struct wgmma_accumulator {
    float v[n / 2];

    GROAT_DEVICE float get(int i) const
    {
        return v[i];
    }
};

GROAT_ABSENT void wgmma_fence();
GROAT_ABSENT void wgmma_commit();
template <int groups, int... n>
GROAT_ABSENT void wgmma_wait(wgmma_accumulator<n> &...accs);
template <bool cut, int n>
GROAT_ABSENT void wgmma_store(const wgmma_accumulator<n> &acc, int half,
                              u64 address, u32 cols);
template <mma_number number, int n, major a_major, major b_major>
GROAT_ABSENT void wgmma(wgmma_accumulator<n> &acc, u64 desc_a, u64 desc_b,
                        bool accumulate = true);

} // namespace groat

#undef GROAT_ABSENT
