// SPDX-License-Identifier: Apache-2.0
// paged_sum: a kernel of your own on the library's ring and paged rows.  Warp
// `readers` copies tiles of K and V of one head into a ring of slots, K and V
// in turn; the other warps add up their rows.  README.md explains it step by
// step.
#include "params.h"

#include "../common/vendor.h"
#include "../common/kv_ring.h"
#include "../common/row_indices.h"
#include "args.h"

namespace groat
{
namespace paged_sum
{

using namespace params;

// 1. The shape of tiles and of a copy, which fills a whole slot.
struct tiles : kv_shape {
    static constexpr int BN = params::BN;
    static constexpr int page = page_size;
    static constexpr int elem_bytes = params::elem_bytes;
    static constexpr int head_dim = depth;
    static constexpr int span = swizzle;
};

struct copy : kv_copy {
    static constexpr int cols = padded_depth;
    static constexpr int slot_rows = BN;
    static constexpr bool partial = true; // pages past the last key
    static constexpr bool fill = true;    // become zeros
};

typedef kv_ring<slots, 1, slot_bytes> ring;

// 2. The producer: reads a tile's rows from the page table, fills two slots.
GROAT_DEVICE void produce(const paged_sum_args &args, const ring &slots_of,
                          u32 keys)
{
    const page_table table = {args.page_table, args.pitch, args.stride};
    const u32 head = block_index();
    const bool chosen = elect();
    kv_producer<ring> at(slots_of);

    for (u32 first = 0; first < keys; first += BN) {
        u32 pages = kv_valid_k<tiles, copy>(keys, first);
        u32 bytes = kv_k_boxes<tiles, copy>::expected(pages);
        lane_rows<tiles> rows;

        rows.populate<BN>(table, block_index_y(), first);

        at.acquire();
        at.expect(bytes, chosen);
        rows.tma_copy_k<copy>(
            tma_copy<evict_first>{args.keys, at.slot_ptr(), at.full()}, head, 0,
            pages, true);
        at.step();

        at.acquire();
        at.expect(bytes, chosen);
        rows.tma_copy_v<copy>(
            tma_copy<evict_first>{args.values, at.slot_ptr(), at.full()}, head,
            0, pages, true);
        at.step();
    }
}

GROAT_DEVICE float float_of(u32 bits)
{
    union {
        u32 bits;
        float value;
    } x = {bits};

    return x.value;
}

// 3. A consumer thread adds up the same 16 bytes, eight numbers, of every
// rows_at_once-th row.
constexpr u32 cells = depth * elem_bytes / 16;
constexpr u32 rows_at_once = readers * 32 / cells;

struct eight {
    float of[8];
};

GROAT_DEVICE void add_cell(eight &sum, vec4 v)
{
    const u32 words[4] = {v.x, v.y, v.z, v.w};

    GROAT_UNROLL
    for (int i = 0; i < 4; i++) {
        sum.of[2 * i] += float_of(words[i] << 16);
        sum.of[2 * i + 1] += float_of(words[i] & 0xffff0000);
    }
}

// Rows past the last key hold whatever is in the page: they are not added.
GROAT_DEVICE void add_slot(eight &sum, u32 slot, u32 rows)
{
    u32 cell = thread_index() % cells;

    GROAT_ROLLED
    for (u32 row = thread_index() / cells; row < rows; row += rows_at_once)
        add_cell(sum,
                 shared_load16(slot + kv_offset(chunk_outer, row, cell * 16, BN,
                                                padded_depth * elem_bytes,
                                                swizzle)));
}

GROAT_DEVICE void consume(const ring &slots_of, u32 keys, eight (&sums)[2])
{
    const bool adds = thread_index() < cells * rows_at_once;
    kv_consumer<ring> at(slots_of);

    for (u32 first = 0; first < keys; first += BN) {
        u32 rows = keys - first < BN ? keys - first : BN;

        GROAT_UNROLL
        for (int v = 0; v < 2; v++) {
            at.wait();
            if (adds)
                add_slot(sums[v], at.slot_ptr(), rows);
            // All lanes have read before one of them releases the slot.
            warp_barrier();
            at.release(at.index, elect());
            at.step();
        }
    }
}

// 4. Threads with the same columns add up through shared memory.
GROAT_DEVICE void hand_over(u32 to, const eight &sum)
{
    const float *f = sum.of;

    shared_store16(to, vec4{float_bits(f[0]), float_bits(f[1]),
                            float_bits(f[2]), float_bits(f[3])});
    shared_store16(to + 16, vec4{float_bits(f[4]), float_bits(f[5]),
                                 float_bits(f[6]), float_bits(f[7])});
}

// Each thread writes four columns.
GROAT_DEVICE void write_sums(u32 from, u64 to)
{
    const u32 column = thread_index() * 4;
    float sum[4] = {};

    if (column >= depth)
        return;
    for (u32 r = 0; r < rows_at_once; r++) {
        vec4 v = shared_load16(from + r * (depth * 4) + column * 4);

        sum[0] += float_of(v.x);
        sum[1] += float_of(v.y);
        sum[2] += float_of(v.z);
        sum[3] += float_of(v.w);
    }
    global_store16(to + column * 4,
                   vec4{float_bits(sum[0]), float_bits(sum[1]),
                        float_bits(sum[2]), float_bits(sum[3])});
}

GROAT_DEVICE void run(const paged_sum_args &args)
{
    const u32 base = shared_base();
    const u32 place = base + sums_at;
    const ring slots_of{base, base + barriers_at};
    const u32 keys = global_load4(args.lengths + block_index_y() * 4ull);
    const bool is_reader = warp_index() < readers;
    u64 output = args.output + (static_cast<u64>(block_index_y()) * args.heads +
                                block_index()) *
                                   (2 * depth * 4);
    eight sums[2] = {};

    if (thread_index() == 0)
        slots_of.init(1, readers); // one producer; a reader per warp
    block_barrier();
    if (is_reader)
        consume(slots_of, keys, sums);
    else
        produce(args, slots_of, keys);

    GROAT_UNROLL
    for (int v = 0; v < 2; v++) {
        block_barrier();
        if (is_reader)
            hand_over(place + thread_index() * 32, sums[v]);
        block_barrier();
        write_sums(place, output + v * (depth * 4));
    }
}

} // namespace paged_sum
} // namespace groat

GROAT_KERNEL(paged_sum_args)
{
    groat::paged_sum::run(args);
}
