// SPDX-License-Identifier: Apache-2.0
// kv_producer_pipeline: tiles of K and V of a paged cache pass through one ring
// of slots in shared memory.  Producers acquire slots, set what their barriers
// expect and copy (loaders.h); consumer warps wait, read and release
// (readers.h, products.h).  The ring is common/kv_ring.h, rows and copies are
// common/row_indices.h.
//
// Both sides visit the same tiles in the same order (shapes.h), so a tile's
// number alone determines its slot and parity.
#include "params.h"

#include "loaders.h"
#include "products.h"
#include "readers.h"
#include "shapes.h"

namespace groat {
namespace kv_producer_pipeline {

template <typename user> GROAT_DEVICE void consume(const job &j, user &use)
{
    consumer<user> side(j, use);

    side.in_turn(2 * j.count);
}

// A template, so that the compiler never sees the body of another entry.
template <int which> GROAT_DEVICE void consume_all(const job &j)
{
    if constexpr (which == entry_image) {
        write_slots use(j);

        consume(j, use);
    } else if constexpr (which == entry_trace) {
        look_on use;

        consume(j, use);
    } else if constexpr (which == entry_stream) {
        sum_slots use{{0, 0, 0, 0}};

        consume(j, use);
        use.write(j);
    } else if constexpr (which == entry_scores) {
        scores_of<which> use(j);

        consume(j, use);
    } else if constexpr (which == entry_output) {
        output_of<which> use(j);

        consume(j, use);
        use.write();
    }
}

template <int which> GROAT_DEVICE void produce(const job &j)
{
    typename loader_of<which>::type side(j);

    in_order(side, j.count);
}

GROAT_DEVICE void init(const job &j)
{
    if (thread_index() == 0) {
        GROAT_ROLLED
        for (u32 n = 0; n < ring_pieces; n++)
            mbarrier_init(j.q1_bar(n), 1);
        mbarrier_init(j.meeting(), consumer_threads);
        j.all_slots().init(copies == copies_cells ? producer_threads : 1,
                           readers);
    }
}

GROAT_DEVICE void meet_all()
{
    if constexpr (ctas == 2)
        cluster_barrier();
    else
        block_barrier();
}

template <int which> GROAT_DEVICE void run(const arguments &args)
{
    job j(args);

    // Makes bytes that no copy writes visible in images and sums.
    if constexpr (which == entry_image || which == entry_stream) {
        poison(j.base + ring_at, slots * slot_bytes);
        async_proxy_fence();
    }
    init(j);
    meet_all();
    if (warp_index() >= consumers)
        produce<copies>(j);
    else
        consume_all<which>(j);
    // The other block's arrivals and copies must land before this one exits.
    if constexpr (ctas == 2)
        cluster_barrier();
}

} // namespace kv_producer_pipeline
} // namespace groat

GROAT_KERNEL(kv_producer_pipeline_args)
{
    groat::kv_producer_pipeline::run<groat::params::entry>(args);
}
