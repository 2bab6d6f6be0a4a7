// SPDX-License-Identifier: Apache-2.0
// paged_row_indices: rows of a paged KV cache and the copies of K and V tiles
// made with them, see common/row_indices.h.
//
// A block's slots: K's tile, then the parts of V's tile, contiguous; in a ring
// K and V alternate.  Bytes that no copy writes keep their value: 0xCD in an
// image.
#include "params.h"

#include "../common/vendor.h"
#include "../common/image.h"
#include "../common/kv_ring.h"
#include "../common/row_indices.h"
#include "args.h"

namespace groat {
namespace paged_row_indices {

using namespace params;

constexpr bool paired = pair != pair_alone;
constexpr bool shared_slots = pair == pair_multicast;

struct tiles : kv_shape {
    static constexpr int BN = params::BN;
    static constexpr int page = page_size;
    static constexpr int elem_bytes = params::elem_bytes;
    static constexpr int head_dim = params::head_dim;
    static constexpr int span = swizzle;
    static constexpr bool pair = paired;
    static constexpr kv_rows_from from =
        static_cast<kv_rows_from>(params::from);
};

struct k_copy : kv_copy {
    static constexpr int cols = k_tile_cols;
    static constexpr int slot_rows = k_slot_rows;
    static constexpr int layout = k_layout;
    static constexpr bool fold = k_fold;
    static constexpr bool partial = params::partial;
    static constexpr bool fill = k_fill;
};

struct v_copy : kv_copy {
    static constexpr int cols = v_tile_cols;
    static constexpr int slot_rows = v_slot_rows;
    static constexpr int slot_cols = v_slot_cols;
    static constexpr int layout = v_layout;
    static constexpr bool fold = v_fold;
    static constexpr bool partial = params::partial;
    static constexpr bool fill = v_fill;
    static constexpr int sub_tiles = v_sub_tiles;
};

constexpr cache_policy k_policy = static_cast<cache_policy>(k_evict);
constexpr cache_policy v_policy = static_cast<cache_policy>(v_evict);

typedef kv_k_boxes<tiles, k_copy> k_boxes;
typedef kv_v_boxes<tiles, v_copy> v_boxes;

// ---- where a tile is --------------------------------------------------------

struct place {
    u32 batch, head, first, keys;
};

GROAT_DEVICE place tile_place(const paged_row_indices_args &args, u32 batch,
                              u32 head, u32 tile)
{
    return place{batch, head, args.first_key + tile * BN,
                 global_load4(args.lengths + batch * 4ull)};
}

GROAT_DEVICE place block_place(const paged_row_indices_args &args)
{
    return tile_place(args, block_index_y() / args.heads,
                      block_index_y() % args.heads, block_index() / halves);
}

GROAT_DEVICE page_table table_of(const paged_row_indices_args &args)
{
    return page_table{args.page_table, args.pitch, args.stride};
}

// The head as a coordinate; 0 if the head is part of the row.
GROAT_DEVICE u32 head_at(const paged_row_indices_args &args, const place &p)
{
    return args.head_page != 0 ? 0 : p.head;
}

GROAT_DEVICE u32 rank_of_block()
{
    if constexpr (paired)
        return cluster_rank();
    else
        return 0;
}

// ---- copies by the engine ---------------------------------------------------

template <int> struct rows_held {
    typedef lane_rows<tiles> type;
};

template <> struct rows_held<issue_one> {
    typedef row_indices<tiles> type;
};

// Makes an issuer for a slot at `slot` bytes, with a map and a barrier.
template <cache_policy policy, int which> struct engine {
    const tensor_map &map;
    u32 shared;
    u32 bar;

    GROAT_DEVICE tma_copy<policy> at(u32 slot) const
    {
        return {map, shared + slot, bar};
    }
};

template <cache_policy policy> struct engine<policy, pair_multicast> {
    const tensor_map &map;
    u32 shared;
    u32 bar;

    GROAT_DEVICE tma_copy_multicast<policy> at(u32 slot) const
    {
        return {map, shared + slot, bar, 3};
    }
};

template <cache_policy policy> struct engine<policy, pair_sm100> {
    const tensor_map &map;
    u32 shared;
    u32 bar;

    GROAT_DEVICE tma_copy_pair<policy> at(u32 slot) const
    {
        return {map, shared + slot, bar};
    }
};

typedef engine<k_policy, pair> k_engine;
typedef engine<v_policy, pair> v_engine;

// The rows of a tile, and the copies from them by one warp.
template <int by> struct loader {
    typename rows_held<by>::type rows;
    place at;
    u32 rank;

    GROAT_DEVICE loader() : rows(), at(), rank(rank_of_block())
    {
    }

    GROAT_DEVICE void populate(const paged_row_indices_args &args,
                               const place &p)
    {
        at = p;
        rows.template populate<alignment>(table_of(args), p.batch, p.first,
                                          p.head * args.head_rows);
    }

    template <typename engine>
    GROAT_DEVICE void copy_k(const paged_row_indices_args &args,
                             const engine &to, bool elected) const
    {
        u32 slot = shared_slots ? k_boxes::place(rank * k_tile_rows, 0) : 0;

        rows.template tma_copy_k<k_copy>(
            to.at(slot), head_at(args, at), args.k_depth,
            kv_valid_k<tiles, k_copy>(at.keys, at.first, rank),
            elected || by == issue_lanes, rank);
    }

    template <typename engine>
    GROAT_DEVICE void copy_v(const paged_row_indices_args &args,
                             const engine &to, bool elected) const
    {
        u32 slot = shared_slots ? v_boxes::place(0, rank * v_boxes::chunks) : 0;
        u32 depth = args.v_depth + (paired ? rank * v_tile_cols : 0);

        GROAT_UNROLL
        for (int sub = 0; sub < v_sub_tiles; sub++)
            rows.template tma_copy_v<v_copy>(
                to.at(slot + sub * v_sub_bytes), head_at(args, at), depth,
                kv_valid_v<tiles, v_copy>(at.keys, at.first, sub),
                elected || by == issue_lanes, sub);
    }
};

// Rows of a tile's K that block `rank` copies, and rows of part `sub` of V.
GROAT_DEVICE u32 k_copied(const place &p, u32 rank)
{
    return k_boxes::written(kv_valid_k<tiles, k_copy>(p.keys, p.first, rank)) *
           k_page_rows;
}

GROAT_DEVICE u32 v_copied(const place &p, int sub)
{
    return v_boxes::written(kv_valid_v<tiles, v_copy>(p.keys, p.first, sub)) *
           v_page_rows;
}

// Whether a block's barriers count the copies of both blocks of its pair.
constexpr bool counts_both = shared_slots || pair == pair_sm100;

GROAT_DEVICE u32 k_expected(const place &p, u32 rank)
{
    u32 rows =
        counts_both ? k_copied(p, 0) + k_copied(p, 1) : k_copied(p, rank);

    return rows * (k_boxes::chunks * swizzle);
}

GROAT_DEVICE u32 v_expected(const place &p)
{
    u32 rows = 0;

    GROAT_UNROLL
    for (int sub = 0; sub < v_sub_tiles; sub++)
        rows += v_copied(p, sub);
    return rows * (v_boxes::chunks * swizzle * (counts_both ? 2 : 1));
}

// ---- copies by all threads --------------------------------------------------

template <int threads> struct thread_loader {
    key_rows<tiles, threads> rows;
    place at;

    GROAT_DEVICE void populate(const paged_row_indices_args &args,
                               const place &p)
    {
        at = p;
        rows.populate(table_of(args), p.batch, p.first, thread_index(),
                      p.head * args.head_rows);
    }

    // Keys of existing pages, of K and of a part of V.
    GROAT_DEVICE u32 k_valid() const
    {
        return kv_valid_k<tiles, k_copy>(at.keys, at.first) * k_page_rows;
    }

    GROAT_DEVICE u32 v_valid(int sub) const
    {
        return kv_valid_v<tiles, v_copy>(at.keys, at.first, sub) * v_page_rows;
    }

    GROAT_DEVICE void copy_k(const paged_row_indices_args &args, u32 slot) const
    {
        rows.template copy_rows<k_copy, k_tile_rows>(
            bytes_at(args, args.k_cache), slot, head_at(args, at), args.k_depth,
            0, k_valid(), thread_index());
    }

    GROAT_DEVICE void copy_v(const paged_row_indices_args &args, u32 slot) const
    {
        GROAT_UNROLL
        for (int sub = 0; sub < v_sub_tiles; sub++)
            rows.template copy_rows<v_copy, v_tile_rows>(
                bytes_at(args, args.v_cache), slot + sub * v_sub_bytes, head_at(args, at), args.v_depth,
                sub * v_tile_rows, v_valid(sub), thread_index());
    }

    // K's or V's cache; its row 0 is at `base`.
    GROAT_DEVICE static kv_bytes bytes_at(const paged_row_indices_args &args,
                                          u64 base)
    {
        return kv_bytes{base, args.row_bytes, args.head_bytes, args.rows};
    }

    // Copies K or V; if they have the same shape, by the same instructions.
    GROAT_DEVICE void copy(const paged_row_indices_args &args, bool values,
                           u32 slot) const
    {
        if constexpr (k_tile_cols == v_slot_cols &&
                      k_slot_rows == v_slot_rows && k_layout == v_layout &&
                      k_fill == v_fill)
            rows.template copy_rows<k_copy, k_tile_rows>(
                bytes_at(args, values ? args.v_cache : args.k_cache), slot,
                head_at(args, at), values ? args.v_depth : args.k_depth,
                0, k_valid(), thread_index());
        else if (values)
            copy_v(args, slot);
        else
            copy_k(args, slot);
    }
};

// ---- image ------------------------------------------------------------------

constexpr u32 block_bytes = k_slot_bytes + v_slot_bytes;

// Syncs all threads of the block, or of the pair.
GROAT_DEVICE void meet()
{
    if constexpr (paired)
        cluster_barrier();
    else
        block_barrier();
}

// Makes barriers ready for the engine and the other block, one for K and one
// for V, and orders earlier stores to the slots before the copies.
GROAT_DEVICE void prepare(u32 barriers, u32 count)
{
    if (thread_index() == 0) {
        for (u32 i = 0; i < count; i++)
            mbarrier_init(barriers + 8 * i, 1);
        mbarrier_init_fence();
    }
    async_proxy_fence();
    meet();
}

template <int by>
GROAT_DEVICE void image_of_engine(const paged_row_indices_args &args,
                                  u32 shared)
{
    u32 k_bar = shared + ring_bytes;
    u32 v_bar = k_bar + 8;
    // A pair of sm_100 counts on the leader's barriers only.
    bool counts = pair != pair_sm100 || rank_of_block() == 0;

    prepare(k_bar, 2);
    if (warp_index() == 0) {
        loader<by> load;
        bool elected = elect();

        load.populate(args, block_place(args));
        mbarrier_expect(k_bar, k_expected(load.at, load.rank),
                        elected && counts);
        mbarrier_expect(v_bar, v_expected(load.at), elected && counts);
        load.copy_k(args, k_engine{args.k_map, shared, k_bar}, elected);
        load.copy_v(args, v_engine{args.v_map, shared + slot_bytes, v_bar},
                    elected);
    }
    if (counts) {
        mbarrier_wait(k_bar, 0);
        mbarrier_wait(v_bar, 0);
    }
    // Neither block reads before both are full, nor exits before the other.
    if constexpr (paired)
        cluster_barrier();
}

template <int threads>
GROAT_DEVICE void image_of_threads(const paged_row_indices_args &args,
                                   u32 shared)
{
    thread_loader<threads> load;

    load.populate(args, block_place(args));
    load.copy_k(args, shared);
    load.copy_v(args, shared + slot_bytes);
    async_commit();
    async_wait<0, 0>();
    block_barrier();
}

template <int> GROAT_DEVICE void image(const paged_row_indices_args &args)
{
    u32 shared = shared_base();
    u64 output = args.output +
                 (static_cast<u64>(block_index()) * (args.batch * args.heads) +
                  block_index_y()) *
                     block_bytes;

    poison<0xCD>(shared, ring_bytes);
    if constexpr (issue == issue_threads)
        image_of_threads<GROAT_BLOCK_THREADS>(args, shared);
    else
        image_of_engine<issue>(args, shared);
    write_out(shared, k_slot_bytes, output);
    write_out(shared + slot_bytes, v_slot_bytes, output + k_slot_bytes);
}

// ---- issues -----------------------------------------------------------------

constexpr u32 k_issues = k_boxes::pages * k_boxes::count;
constexpr u32 v_issues = v_boxes::pages * v_boxes::count;
constexpr u32 issue_bytes = 32; // offset, 5 coordinates, bytes, 1
constexpr u32 list_bytes =
    (k_issues + v_sub_tiles * v_issues) * issue_bytes + BN * 4;

// Writes issue i at i * issue_bytes.
struct recorder {
    u64 output;
    u32 slot;

    template <int rank>
    GROAT_DEVICE void put(u32 index, u32 offset, const int (&at)[rank],
                          u32 bytes, bool issue) const
    {
        u64 to = output + index * issue_bytes;
        u32 c[5] = {0, 0, 0, 0, 0};

        GROAT_UNROLL
        for (int i = 0; i < rank; i++)
            c[i] = static_cast<u32>(at[i]);
        if (!issue)
            return;
        global_store16(to, vec4{slot + offset, c[0], c[1], c[2]});
        global_store16(to + 16, vec4{c[3], c[4], bytes, 1});
    }
};

// The lists of a slot's parts: `part` bytes and `list` issues each.
template <u32 part, u32 list> struct listing {
    u64 output;

    GROAT_DEVICE recorder at(u32 slot) const
    {
        return {output + slot / part * (list * issue_bytes), slot};
    }
};

// Writes get_row() of each key of the tile.
GROAT_DEVICE void list_rows(const row_indices<tiles> &rows, u64 output)
{
    GROAT_UNROLL
    for (u32 key = 0; key < BN; key++)
        if (thread_index() == 0)
            global_store4(output + key * 4, rows.get_row(key));
}

GROAT_DEVICE void list_rows(const lane_rows<tiles> &held, u64 output)
{
    typedef lane_rows<tiles> rows;
    u32 q = lane_index() / rows::lanes;

    if (q < rows::pages::count && lane_index() % rows::lanes == 0)
        for (u32 i = 0; i < rows::pages::rows; i++)
            global_store4(output + (q * rows::pages::rows + i) * 4,
                          held.row + i);
}

template <int> GROAT_DEVICE void issues(const paged_row_indices_args &args)
{
    u64 output = args.output +
                 (static_cast<u64>(block_index()) * (args.batch * args.heads) +
                  block_index_y()) *
                     list_bytes;
    u64 v_output = output + k_issues * issue_bytes;
    loader<issue> load;
    bool elected = issue == issue_one && elect();

    for (u32 o = thread_index() * 16; o < list_bytes;
         o += GROAT_BLOCK_THREADS * 16)
        global_store16(output + o, vec4{0, 0, 0, 0});
    block_barrier();
    if (warp_index() != 0)
        return;
    load.populate(args, block_place(args));
    load.copy_k(args, listing<~0u, k_issues>{output}, elected);
    load.copy_v(args, listing<v_sub_bytes, v_issues>{v_output}, elected);
    list_rows(load.rows, v_output + v_sub_tiles * v_issues * issue_bytes);
}

// ---- stream -----------------------------------------------------------------

// Items are taken one by one, each in two turns: K, then V.
constexpr u32 readers = GROAT_BLOCK_THREADS - (issue == issue_threads ? 0 : 32);

// Item i of all sequences, tiles and heads.
GROAT_DEVICE place item_place(const paged_row_indices_args &args, u32 item)
{
    u32 tile = item / args.heads;

    return tile_place(args, tile / args.tiles, item % args.heads,
                      tile % args.tiles);
}

// One reading thread's state: its XOR, and the item that it reads.
template <int> struct reader {
    const paged_row_indices_args &args;
    u32 thread;
    u32 rank;
    place at;
    vec4 sum;

    // XORs `rows` rows of a copy, for chunk_outer chunk by chunk.  Rolled:
    // unrolled it would be most of the kernel's code.
    template <typename copy, u32 chunks>
    GROAT_DEVICE void fold_rows(u32 slot, u32 rows)
    {
        constexpr bool inner = copy::layout == chunk_inner;
        const u32 piece = rows * (inner ? chunks * swizzle : swizzle);

        GROAT_ROLLED
        for (u32 j = 0; j < (inner ? 1 : chunks); j++)
            GROAT_ROLLED
        for (u32 o = thread * 16; o < piece; o += readers * 16)
            add(sum, shared_load16(slot + j * (copy::slot_rows * swizzle) + o));
    }

    // Reads the slot of turn `turn`.
    GROAT_DEVICE void read(u32 item, u32 turn, u32 slot)
    {
        if (turn % 2 == 0) {
            at = item_place(args, item);
            // In a slot that two blocks fill, the second half begins where the
            // first ends.
            fold_rows<k_copy, k_boxes::chunks>(
                slot, shared_slots ? k_copied(at, 0) + k_copied(at, 1)
                                   : k_copied(at, rank));
            return;
        }
        for (int sub = 0; sub < v_sub_tiles; sub++)
            fold_rows<v_copy, v_boxes::slot_chunks>(slot + sub * v_sub_bytes,
                                                    v_copied(at, sub));
    }

    GROAT_DEVICE void store() const
    {
        global_store16(
            args.output +
                (static_cast<u64>(block_index()) * readers + thread) * 16,
            sum);
    }
};

typedef kv_ring<stages, 1, slot_bytes, shared_slots ? 2 : 1> ring;

// The first warp: it reads an item's page table while the consumers still have
// earlier items to read.
template <int by>
GROAT_DEVICE void produce(const paged_row_indices_args &args, const ring &slots,
                          u32 first, u32 items)
{
    kv_producer<ring> to(slots);
    loader<by> load;
    bool elected = elect();

    // The first round has no copies: it only populates the first item.
    for (u32 item = first - args.blocks;; item += args.blocks) {
        if (item != first - args.blocks) {
            to.acquire();
            to.expect(k_expected(load.at, load.rank), elected);
            load.copy_k(args, k_engine{args.k_map, to.slot_ptr(), to.full()},
                        elected);
            to.step();
            to.acquire();
            to.expect(v_expected(load.at), elected);
            load.copy_v(args, v_engine{args.v_map, to.slot_ptr(), to.full()},
                        elected);
            to.step();
        }
        if (item + args.blocks >= items)
            break;
        load.populate(args, item_place(args, item + args.blocks));
    }
}

template <int by>
GROAT_DEVICE void consume(const paged_row_indices_args &args, const ring &slots,
                          u32 first, u32 items)
{
    kv_consumer<ring> from(slots);
    reader<by> to = {args, thread_index() - 32, rank_of_block(), {}, {}};
    u32 turn = 0;

    for (u32 item = first; item < items; turn++) {
        from.wait();
        to.read(item, turn, from.slot_ptr());
        warp_barrier();
        from.release(from.index, lane_index() == 0);
        from.step();
        if (turn % 2 != 0)
            item += args.blocks;
    }
    to.store();
}

template <int by>
GROAT_DEVICE void stream_of_engine(const paged_row_indices_args &args)
{
    ring slots = {shared_base(), shared_base() + ring_bytes};
    u32 items = args.batch * args.tiles * args.heads;
    u32 first = block_index() / halves;

    if (thread_index() == 0)
        slots.init(1, readers / 32);
    meet();
    if (warp_index() == 0)
        produce<by>(args, slots, first, items);
    else
        consume<by>(args, slots, first, items);
    if constexpr (shared_slots)
        cluster_barrier();
}

// All threads copy and read.  The loop has one place that copies, as the code
// is long; if K and V have the same shape, it serves both.
template <int threads>
GROAT_DEVICE void stream_of_threads(const paged_row_indices_args &args)
{
    constexpr u32 ahead = stages - 1;
    u32 items = args.batch * args.tiles * args.heads;
    u32 turns = items <= block_index()
                    ? 0
                    : 2 * ((items - block_index() - 1) / args.blocks + 1);
    thread_loader<threads> load;
    reader<threads> to = {args, thread_index(), 0, {}, {}};
    u32 item = block_index();
    u32 read = block_index();
    u32 fill = 0;
    u32 full = 0;

    // The first turn only reads the page table.
    for (u32 turn = 0; turn < turns + ahead + 1; turn++) {
        if (turn > 0 && turn <= turns)
            load.copy(args, turn % 2 == 0, shared_base() + fill * slot_bytes);
        if (turn % 2 == 0 && turn < turns) {
            load.populate(args, item_place(args, item));
            item += args.blocks;
        }
        if (turn == 0)
            continue;
        async_commit();
        fill = fill + 1 == stages ? 0 : fill + 1;
        if (turn <= ahead)
            continue;
        async_wait<ahead, ahead>();
        block_barrier();
        to.read(read, turn - ahead - 1, shared_base() + full * slot_bytes);
        full = full + 1 == stages ? 0 : full + 1;
        read += (turn - ahead) % 2 == 0 ? args.blocks : 0;
        block_barrier();
    }
    to.store();
}

// A template, so that the compiler never sees the bodies of other entries.
template <int which> GROAT_DEVICE void run(const paged_row_indices_args &args)
{
    if constexpr (which == entry_image)
        image<0>(args);
    else if constexpr (which == entry_issues)
        issues<0>(args);
    else if constexpr (issue == issue_threads)
        stream_of_threads<GROAT_BLOCK_THREADS>(args);
    else
        stream_of_engine<issue>(args);
}

} // namespace paged_row_indices
} // namespace groat

GROAT_KERNEL(paged_row_indices_args)
{
    groat::paged_row_indices::run<groat::params::entry>(args);
}
