/* SPDX-License-Identifier: Apache-2.0
 *
 * tma_probe: each use of NVIDIA's copy engine, mbarriers, clusters and wgmma
 * in the library's kernels, by itself.  Shared memory: 1024 bytes with
 * mbarriers, then the slots.
 */
#include "params.h"

#include "../common/wgmma.h"
#include "args.h"

namespace groat
{
namespace tma_probe
{

constexpr u32 threads = GROAT_BLOCK_THREADS;
constexpr u32 readers = 128; /* threads 32 and up */
constexpr u32 slot_at = 1024;
constexpr cache_policy policy =
    params::policy == params::policy_first  ? evict_first
    : params::policy == params::policy_last ? evict_last
                                            : evict_normal;

struct probe {
    const tma_probe_args &args;
    u32 base;
    u32 slot;

    GROAT_DEVICE probe(const tma_probe_args &from)
        : args(from), base(shared_base()), slot(base + slot_at)
    {
    }

    GROAT_DEVICE u32 full(u32 i) const
    {
        return base + 16 * i;
    }

    GROAT_DEVICE u32 empty(u32 i) const
    {
        return base + 16 * i + 8;
    }

    GROAT_DEVICE void make(u32 slots, u32 arrivals) const
    {
        if (thread_index() == 0) {
            for (u32 i = 0; i < slots; i++) {
                mbarrier_init(full(i), 1);
                mbarrier_init(empty(i), arrivals);
            }
            mbarrier_init_fence();
        }
        cluster_barrier();
    }

    GROAT_DEVICE void copy(u32 i, u32 bar, bool issue) const
    {
        int at[params::rank];

        for (int d = 0; d < params::rank; d++)
            at[d] = args.at[i][d];
        tma_load<policy>(args.map, slot + args.to[i], bar, at, issue);
    }

    GROAT_DEVICE void write_out(u32 from, u32 bytes, u64 to, u32 first,
                                u32 count) const
    {
        for (u32 i = 16 * (thread_index() - first); i < bytes; i += 16 * count)
            global_store16(to + i, shared_load16(from + i));
    }

    /* Copies boxes or runs of bytes into a slot that was filled before. */
    GROAT_DEVICE void copies() const
    {
        const vec4 filled = {0xCDCDCDCDu, 0xCDCDCDCDu, 0xCDCDCDCDu,
                             0xCDCDCDCDu};

        for (u32 i = 16 * thread_index(); i < args.slot_bytes;
             i += 16 * threads)
            shared_store16(slot + i, filled);
        async_proxy_fence();
        make(1, 1);
        if (warp_index() == 0) {
            bool leader = elect();

            if constexpr (params::what == params::what_boxes)
                tma_prefetch(args.map);
            mbarrier_expect(full(0), args.copies * args.copy_bytes, leader);
            for (u32 i = 0; i < args.copies; i++)
                if constexpr (params::what == params::what_bulk)
                    bulk_load(slot + args.to[i], args.source + args.at[i][0],
                              args.copy_bytes, full(0), leader);
                else
                    copy(i, full(0), leader);
        }
        mbarrier_wait(full(0), 0);
        write_out(slot, args.slot_bytes, args.output, 0, threads);
    }

    /* Warp 0 loads tile after tile, the others write them to the output. */
    GROAT_DEVICE void ring() const
    {
        constexpr u32 slots = params::slots;

        make(slots, readers / 32);
        bool leader = elect();
        for (u32 t = 0; t < args.tiles; t++) {
            u32 i = t % slots;
            u32 round = t / slots;
            u32 tile = slot + i * args.copy_bytes;

            if (warp_index() == 0) {
                const int at[2] = {0, static_cast<int>(t * args.rows)};

                mbarrier_wait(empty(i), ~round & 1);
                mbarrier_expect(full(i), args.copy_bytes, leader);
                tma_load<policy>(args.map, tile, full(i), at, leader);
            } else {
                mbarrier_wait(full(i), round & 1);
                write_out(tile, args.copy_bytes,
                          args.output + t * args.copy_bytes, 32, readers);
                warp_barrier();
                mbarrier_arrive(empty(i), leader);
            }
        }
    }

    /* Two blocks: each loads half of a tile for both, two tiles one after the
     * other into one slot. */
    GROAT_DEVICE void pair() const
    {
        u32 rank = cluster_rank();
        u32 bytes = 2 * args.copy_bytes;

        make(1, 2 * readers / 32);
        bool leader = elect();
        for (u32 t = 0; t < args.tiles; t++) {
            if (warp_index() == 0) {
                const int at[2] = {
                    0, static_cast<int>((2 * t + rank) * args.rows)};

                mbarrier_wait(empty(0), ~t & 1);
                mbarrier_expect(full(0), bytes, leader);
                tma_load_multicast<policy>(args.map,
                                           slot + rank * args.copy_bytes,
                                           full(0), at, 3, leader);
            } else {
                mbarrier_wait(full(0), t & 1);
                write_out(slot, bytes, args.output + (2 * t + rank) * bytes, 32,
                          readers);
                warp_barrier();
                mbarrier_arrive_peer(empty(0), 0, leader);
                mbarrier_arrive_peer(empty(0), 1, leader);
            }
        }
        /* The peer may still arrive here. */
        cluster_barrier();
    }

    /* Two blocks: each loads its half, all bytes count at the even block. */
    template <int dims> GROAT_DEVICE void duo() const
    {
        u32 rank = cluster_rank();

        make(1, 1);
        if (warp_index() == 0) {
            bool leader = elect();
            const int at[dims] = {0, static_cast<int>(rank * args.rows)};

            mbarrier_expect(full(0), 2 * args.copy_bytes, leader && rank == 0);
            tma_load_pair<policy>(args.map, slot, full(0), at, leader);
        }
        if (rank == 0)
            mbarrier_wait(full(0), 0);
        cluster_barrier();
        write_out(slot, args.copy_bytes, args.output + rank * args.copy_bytes,
                  0, threads);
    }

    GROAT_DEVICE u64 descriptor(u32 at, const unsigned (&shape)[3]) const
    {
        return matrix_descriptor(at, shape[0], shape[1],
                                 static_cast<swizzle_span>(shape[2]));
    }

    /* Operands are images in memory, the result is written row by row. */
    template <int n> GROAT_DEVICE void product() const
    {
        constexpr mma_number number =
            params::number == params::number_fp8   ? mma_fp8
            : params::number == params::number_bf8 ? mma_bf8
            : params::number == params::number_f16 ? mma_f16
                                                   : mma_bf16;
        constexpr major a =
            params::a_major == params::a_major_mn ? mn_major : k_major;
        constexpr major b =
            params::b_major == params::b_major_mn ? mn_major : k_major;
        wgmma_accumulator<n> acc;

        make(1, 1);
        if (warp_index() == 4) {
            bool leader = elect();

            mbarrier_expect(full(0), args.a_bytes + args.b_bytes, leader);
            bulk_load(slot, args.source, args.a_bytes + args.b_bytes, full(0),
                      leader);
            return;
        }
        mbarrier_wait(full(0), 0);
        wgmma_fence();
        for (u32 s = 0; s < args.steps; s++)
            wgmma<number, n, a, b>(
                acc, descriptor(slot + args.a_step[s], args.a_shape),
                descriptor(slot + args.a_bytes + args.b_step[s], args.b_shape),
                s > 0);
        wgmma_commit();
        wgmma_wait<0>(acc);
        GROAT_UNROLL
        for (u32 i = 0; i < n / 2; i++)
            global_store4(args.output + 4 * (wgmma_row(thread_index(), i) * n +
                                             wgmma_col(thread_index(), i)),
                          float_bits(acc.get(i)));
    }

    GROAT_DEVICE void run() const
    {
        if constexpr (params::what == params::what_ring)
            ring();
        else if constexpr (params::what == params::what_pair)
            pair();
        else if constexpr (params::what == params::what_product)
            product<params::n>();
        else if constexpr (params::what == params::what_duo)
            duo<2>();
        else
            copies();
    }
};

} // namespace tma_probe
} // namespace groat

GROAT_KERNEL(tma_probe_args)
{
    groat::tma_probe::probe p(args);

    p.run();
}
