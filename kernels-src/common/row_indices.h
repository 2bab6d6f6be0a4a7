// SPDX-License-Identifier: Apache-2.0
// Rows of a paged KV cache: the page table is read once per tile of keys, and
// the cache rows at which the tile's pages begin stay in registers.  The tiles
// of K and V are then copied from these rows, page by page, each packed into
// one slot.
//
// Three forms hold the same rows:
//   row_indices   every lane holds all of them; one elected lane copies, in a
//                 straight line without a branch
//   lane_rows     each lane holds one page's row; all lanes of the warp copy
//   key_rows      each thread holds the rows of the keys that it copies, 16
//                 bytes at a time: for pages too small for efficient boxes
//
// A row is a coordinate of the tensor map: for pages [page, heads, dim] that of
// (block, token), for pages [heads, page, dim] that of (block, head, token).
// Rows multiply and add modulo 2^32; a map has less than 2^31 of them.
//
//     struct tiles : kv_shape { static constexpr int BN = 64, page = 32; };
//     struct k_copy : kv_copy { static constexpr int slot_rows = 64; };
//     lane_rows<tiles> rows;
//     rows.populate<64>(table, batch, first_key);
//     rows.tma_copy_k<k_copy>(tma_copy<evict_normal>{map, slot, full}, head, 0,
//                             pages, true);
#pragma once

#include "kv_layout.h"
#include "kv_pages.h"
#include "tma.h"

namespace groat {

// How the row of a key is found; `key` counts from the sequence's first.
enum kv_rows_from {
    kv_paged,      // entries[batch * pitch + key / page] * stride + key % page
    kv_contiguous, // batch * stride + key
    kv_ragged,     // entries[batch] + key
    kv_continuous  // entries[batch] * stride + key
};

// The tiles of a kernel.  A derived struct overrides what differs.
struct kv_shape {
    static constexpr int BN = 128;  // keys of a tile, both halves of a pair
    static constexpr int page = 16; // keys of a page; 0: not paged
    static constexpr int elem_bytes = 2;
    static constexpr int head_dim = 128;
    static constexpr int span = 128;    // bytes: swizzle span; 16: none
    static constexpr bool pair = false; // two blocks share the keys of K
    static constexpr kv_rows_from from = kv_paged;
};

// One copy of K or V.
struct kv_copy {
    static constexpr int cols = 128;      // elements of a row
    static constexpr int slot_rows = 128; // rows of the slot
    static constexpr int slot_cols = 0;   // elements of a slot's row; 0: cols
    static constexpr int layout = chunk_outer;
    static constexpr bool fold = false;    // a box brings all chunks of a page
    static constexpr bool partial = false; // only `valid` pages are copied
    static constexpr bool fill = false;    // the others become zeros
    static constexpr int sub_tiles = 1;    // V: parts of a tile
};

struct page_table {
    u64 entries; // device address of u32
    u32 pitch;   // entries from sequence to sequence: a multiple of 8, and
                 // at least kv_table_columns() of the longest sequence
    u32 stride;  // rows from block to block
};

// The pages of a tile.
template <typename shape> struct kv_pages {
    static constexpr int rows = kv_box_rows(shape::BN, shape::page);
    static constexpr int count = shape::BN / rows;

    // Whether tiles at multiples of `alignment` keys begin on a page.
    GROAT_DEVICE static constexpr bool begin(int alignment)
    {
        return shape::page > 0 && alignment % shape::page == 0;
    }

    static_assert(shape::BN % rows == 0 && (shape::page <= shape::BN ||
                                            shape::page % shape::BN == 0),
                  "a page divides the tile, or the tile divides a page");
    static_assert(!shape::pair || count == 1 || count % 2 == 0,
                  "the halves of a pair are whole pages or lie in one");
    static_assert((shape::page > 0) == (shape::from == kv_paged),
                  "page is 0 where rows are not paged");
};

// Returns the row of key `key` of sequence `batch`; with `begins` the key is
// the first of a page.
template <typename shape, bool begins = false>
GROAT_DEVICE u32 kv_row_of(const page_table &table, u32 batch, u32 key)
{
    if constexpr (shape::from == kv_contiguous)
        return batch * table.stride + key;
    else if constexpr (shape::from == kv_ragged)
        return global_load4(table.entries + batch * 4ull) + key;
    else if constexpr (shape::from == kv_continuous)
        return global_load4(table.entries + batch * 4ull) * table.stride + key;
    else
        return global_load4(
                   table.entries +
                   (static_cast<u64>(batch) * table.pitch + key / shape::page) *
                       4) *
                   table.stride +
               (begins ? 0 : key % shape::page);
}

// ---- boxes ------------------------------------------------------------------

// How a copy of `tile` rows is made of boxes, `count` for each page.  Box x of
// a page is chunk x % chunks of row group x / chunks, where a row group is
// contiguous in the slot: all rows, or 8.
template <typename shape, typename copy, int tile> struct kv_boxes {
    static constexpr bool inner = copy::layout == chunk_inner;
    static constexpr int chunk = shape::span / shape::elem_bytes;
    static constexpr int chunks = (copy::cols + chunk - 1) / chunk;
    static constexpr int slot_chunks =
        copy::slot_cols == 0 ? chunks : (copy::slot_cols + chunk - 1) / chunk;
    static constexpr int page_rows = kv_box_rows(tile, shape::page);
    static constexpr int pages = tile / page_rows;
    static constexpr int rows = inner && !copy::fold ? 8 : page_rows;
    static constexpr int count = copy::fold ? 1 : page_rows / rows * chunks;
    static constexpr int rank = !copy::fold ? 3 : inner ? 5 : 4;
    static constexpr u32 bytes = rows * shape::span * (copy::fold ? chunks : 1);
    static constexpr u32 page_bytes = page_rows * chunks * shape::span;

    static_assert(tile % page_rows == 0, "a copy is whole pages");
    static_assert(tile <= copy::slot_rows && chunks <= slot_chunks,
                  "the slot has the rows and the columns");

    // Bytes from the start of the slot to a row and chunk; in chunk_inner the
    // row is a multiple of 8.
    GROAT_DEVICE static constexpr u32 place(u32 row, u32 column)
    {
        return inner ? (row / 8 * slot_chunks + column) * (8u * shape::span)
                     : (column * copy::slot_rows + row) * shape::span;
    }

    // Hands box x of page q, whose first row is `row`, to the issuer.
    template <typename issuer>
    GROAT_DEVICE static void put(const issuer &to, u32 q, u32 x, u32 row,
                                 u32 head, u32 depth, bool issue)
    {
        static_assert(!inner || page_rows % 8 == 0,
                      "chunk_inner pages are whole row groups");
        static_assert(!copy::fold ||
                          kv_fold_chunks(copy::cols, chunk, shape::head_dim,
                                         page_rows, copy::slot_rows,
                                         shape::page, inner) > 1,
                      "one box cannot bring all chunks of a page");
        static_assert(!copy::fold || !inner || chunks == slot_chunks,
                      "a folded chunk_inner box fills whole rows of the slot");
        const u32 group = copy::fold ? 0 : x / chunks * rows;
        const u32 column = copy::fold ? 0 : x % chunks;
        const u32 offset = place(q * page_rows + group, column);
        const int r = static_cast<int>(row + group);
        const int h = static_cast<int>(head);
        const int d = static_cast<int>(depth);

        if constexpr (rank == 5) {
            const int at[5] = {0, 0, d / chunk, r >> 3, h};

            to.put(q * count + x, offset, at, bytes, issue);
        } else if constexpr (rank == 4) {
            const int at[4] = {0, r, d / chunk, h};

            to.put(q * count + x, offset, at, bytes, issue);
        } else {
            const int at[3] = {d + static_cast<int>(column) * chunk, h, r};

            to.put(q * count + x, offset, at, bytes, issue);
        }
    }

    // The source row of a page that does not exist: so far before the cache
    // that the engine writes zeros.
    GROAT_DEVICE static constexpr u32 row_or_none(u32 row, bool there)
    {
        return copy::partial && copy::fill && !there ? 0u - page_rows : row;
    }

    // Whether a page's boxes are issued at all.
    GROAT_DEVICE static constexpr bool is_issued(bool there)
    {
        return !copy::partial || copy::fill || there;
    }

    // The pages that a copy of `valid` pages writes; expected() is the number
    // of bytes that its barrier must expect.
    GROAT_DEVICE static constexpr u32 written(u32 valid)
    {
        return !copy::partial || copy::fill || valid > static_cast<u32>(pages)
                   ? static_cast<u32>(pages)
                   : valid;
    }

    GROAT_DEVICE static constexpr u32 expected(u32 valid)
    {
        return written(valid) * page_bytes;
    }
};

template <typename shape, typename copy>
using kv_k_boxes =
    kv_boxes<shape, copy,
             kv_part_k(shape::BN, shape::page, shape::pair, 0).tile>;

template <typename shape, typename copy>
using kv_v_boxes =
    kv_boxes<shape, copy,
             kv_part_v(shape::BN, shape::page, copy::sub_tiles, 0).tile>;

// Number of pages that hold a key, of a tile from key `first` of a sequence of
// num_keys: for its K in block `rank` of a pair, for part `sub` of its V.
template <typename shape, typename copy>
GROAT_DEVICE u32 kv_valid_k(u32 num_keys, u32 first, u32 rank = 0)
{
    typedef kv_k_boxes<shape, copy> boxes;

    return kv_valid_pages(num_keys, first + rank * (shape::BN / 2),
                          boxes::pages, boxes::page_rows);
}

template <typename shape, typename copy>
GROAT_DEVICE u32 kv_valid_v(u32 num_keys, u32 first, u32 sub = 0)
{
    typedef kv_v_boxes<shape, copy> boxes;

    return kv_valid_pages(num_keys, first + sub * (shape::BN / copy::sub_tiles),
                          boxes::pages, boxes::page_rows);
}

// ---- issuers ----------------------------------------------------------------

// Copies into the block's own slot; the bytes count on `bar`.
template <cache_policy policy> struct tma_copy {
    const tensor_map &map;
    u32 slot;
    u32 bar;

    template <int rank>
    GROAT_DEVICE void put(u32, u32 offset, const int (&at)[rank], u32,
                          bool issue) const
    {
        tma_load<policy, rank>(map, slot + offset, bar, at, issue);
    }
};

// Copies into the same place of all blocks of the mask `ctas`; each counts the
// bytes on its own barrier at `bar`.
template <cache_policy policy> struct tma_copy_multicast {
    const tensor_map &map;
    u32 slot;
    u32 bar;
    u32 ctas;

    template <int rank>
    GROAT_DEVICE void put(u32, u32 offset, const int (&at)[rank], u32,
                          bool issue) const
    {
        tma_load_multicast<policy, rank>(map, slot + offset, bar, at, ctas,
                                         issue);
    }
};

// Copies into the block's own slot; bytes count at the leader (sm_100).
template <cache_policy policy> struct tma_copy_pair {
    const tensor_map &map;
    u32 slot;
    u32 bar;

    template <int rank>
    GROAT_DEVICE void put(u32, u32 offset, const int (&at)[rank], u32,
                          bool issue) const
    {
        tma_load_pair<policy, rank>(map, slot + offset, bar, at, issue);
    }
};

// ---- every lane holds all rows ----------------------------------------------

template <typename shape> struct row_indices {
    typedef kv_pages<shape> pages;

    u32 rows[pages::count];

    // Reads the rows of the tile that begins at key `first` of sequence
    // `batch`.  `first` is a multiple of `alignment`, itself a multiple of the
    // page if the tile has several pages.  `more` is added to each row: the
    // head's first row, for pages [heads, page, dim].
    template <int alignment>
    GROAT_DEVICE void populate(const page_table &table, u32 batch, u32 first,
                               u32 more = 0)
    {
        if constexpr (pages::count == 1)
            rows[0] =
                kv_row_of<shape, pages::begin(alignment)>(table, batch, first) +
                more;
        else
            populate_pages<alignment>(table, batch, first, more);
    }

    // Returns the row of key `key` of the tile.  `key` must be known at compile
    // time, else the rows move to local memory.
    GROAT_DEVICE u32 get_row(u32 key) const
    {
        return rows[key / pages::rows] + key % pages::rows;
    }

    // Issues the boxes of the tile's K, or of the half of block `rank` of a
    // pair.  `issue` is true in one lane.
    template <typename copy, typename issuer>
    GROAT_DEVICE void tma_copy_k(const issuer &to, u32 head, u32 depth,
                                 u32 valid, bool issue, u32 rank = 0) const
    {
        constexpr kv_part own =
            kv_part_k(shape::BN, shape::page, shape::pair, 0);
        constexpr kv_part peer =
            kv_part_k(shape::BN, shape::page, shape::pair, 1);

        GROAT_UNROLL
        for (int q = 0; q < own.pages; q++) {
            u32 row = rows[own.first + q] + own.intra;

            if (shape::pair && rank != 0)
                row = rows[peer.first + q] + peer.intra;
            put_page<kv_k_boxes<shape, copy>>(to, q, row, head, depth, valid,
                                              issue);
        }
    }

    // Likewise for part `sub` of the tile's V; `sub` is known at compile time.
    template <typename copy, typename issuer>
    GROAT_DEVICE void tma_copy_v(const issuer &to, u32 head, u32 depth,
                                 u32 valid, bool issue, int sub = 0) const
    {
        // The parts are equally spaced.
        constexpr kv_part next =
            kv_part_v(shape::BN, shape::page, copy::sub_tiles, 1);
        typedef kv_v_boxes<shape, copy> boxes;

        GROAT_UNROLL
        for (int q = 0; q < boxes::pages; q++) {
            u32 row = rows[sub * next.first + q] + sub * next.intra;

            put_page<boxes>(to, q, row, head, depth, valid, issue);
        }
    }

  private:
    template <int alignment>
    GROAT_DEVICE void populate_pages(const page_table &table, u32 batch,
                                     u32 first, u32 more)
    {
        static_assert(pages::begin(alignment),
                      "a tile that pages cut begins with a page");
        constexpr int vector =
            kv_table_vector(pages::count, shape::page, alignment);
        // Where 32 bytes are aligned, two loads of 16 bytes.
        constexpr int step = vector > 4 ? 4 : vector;
        u64 from =
            table.entries +
            (static_cast<u64>(batch) * table.pitch + first / shape::page) * 4;

        GROAT_UNROLL
        for (int i = 0; i < pages::count; i += step) {
            u32 block[step];

            load_entries(from + i * 4, block);
            GROAT_UNROLL
            for (int k = 0; k < step; k++)
                rows[i + k] = block[k] * table.stride + more;
        }
    }

    GROAT_DEVICE static void load_entries(u64 from, u32 (&block)[4])
    {
        vec4 v = global_load16(from);

        block[0] = v.x;
        block[1] = v.y;
        block[2] = v.z;
        block[3] = v.w;
    }

    GROAT_DEVICE static void load_entries(u64 from, u32 (&block)[2])
    {
        vec2 v = global_load8(from);

        block[0] = v.x;
        block[1] = v.y;
    }

    GROAT_DEVICE static void load_entries(u64 from, u32 (&block)[1])
    {
        block[0] = global_load4(from);
    }

    template <typename boxes, typename issuer>
    GROAT_DEVICE static void put_page(const issuer &to, u32 q, u32 row,
                                      u32 head, u32 depth, u32 valid,
                                      bool issue)
    {
        bool there = q < valid;

        row = boxes::row_or_none(row, there);
        GROAT_UNROLL
        for (int x = 0; x < boxes::count; x++)
            boxes::put(to, q, x, row, head, depth,
                       issue && boxes::is_issued(there));
    }
};

// ---- every lane holds one page's row ----------------------------------------

template <typename shape> struct lane_rows {
    typedef kv_pages<shape> pages;
    // Number of lanes that share a page's boxes: a power of two.
    static constexpr u32 lanes = pages::count > 16  ? 1
                                 : pages::count > 8 ? 2
                                 : pages::count > 4 ? 4
                                 : pages::count > 2 ? 8
                                 : pages::count > 1 ? 16
                                                    : 32;

    u32 row;

    // See row_indices.  Each lane loads one page-table entry, all at once.
    template <int alignment>
    GROAT_DEVICE void populate(const page_table &table, u32 batch, u32 first,
                               u32 more = 0)
    {
        static_assert(pages::count <= 32, "a warp has a lane for each page");
        static_assert(pages::count == 1 || pages::begin(alignment),
                      "a tile that pages cut begins with a page");
        u32 q = lane_index() / lanes;

        // Lanes without a page of their own take the last one's.
        if (q >= pages::count)
            q = pages::count - 1;
        row = kv_row_of<shape, pages::begin(alignment)>(
                  table, batch, first + q * pages::rows) +
              more;
    }

    // See row_indices; called by all lanes of the warp with the same arguments.
    template <typename copy, typename issuer>
    GROAT_DEVICE void tma_copy_k(const issuer &to, u32 head, u32 depth,
                                 u32 valid, bool issue, u32 rank = 0) const
    {
        constexpr kv_part own =
            kv_part_k(shape::BN, shape::page, shape::pair, 0);
        constexpr kv_part peer =
            kv_part_k(shape::BN, shape::page, shape::pair, 1);
        const bool first = !shape::pair || rank == 0;

        put_pages<kv_k_boxes<shape, copy>>(to, first ? own.first : peer.first,
                                           first ? own.intra : peer.intra, head,
                                           depth, valid, issue);
    }

    template <typename copy, typename issuer>
    GROAT_DEVICE void tma_copy_v(const issuer &to, u32 head, u32 depth,
                                 u32 valid, bool issue, int sub = 0) const
    {
        constexpr kv_part next =
            kv_part_v(shape::BN, shape::page, copy::sub_tiles, 1);

        put_pages<kv_v_boxes<shape, copy>>(to, sub * next.first,
                                           sub * next.intra, head, depth, valid,
                                           issue);
    }

  private:
    template <typename boxes, typename issuer>
    GROAT_DEVICE void put_pages(const issuer &to, u32 first, u32 intra,
                                u32 head, u32 depth, u32 valid,
                                bool issue) const
    {
        // Lanes of pages before `first` wrap around to a q past all pages.
        u32 q = lane_index() / lanes - first;
        bool there = q < valid;
        u32 from = boxes::row_or_none(row + intra, there);

        issue = issue && q < static_cast<u32>(boxes::pages) &&
                boxes::is_issued(there);
        GROAT_UNROLL
        for (u32 k = 0; k < (boxes::count + lanes - 1) / lanes; k++) {
            u32 x = k * lanes + lane_index() % lanes;

            boxes::put(to, q, x, from, head, depth,
                       issue && x < static_cast<u32>(boxes::count));
        }
    }
};

// ---- every thread holds the rows of the keys that it copies -----------------

// The layout of the cache for 16-byte copies.
struct kv_bytes {
    u64 base;       // address of the plane and layer
    u32 row_bytes;  // bytes from row to row
    u32 head_bytes; // bytes from head to head in a row
    u32 rows = ~0u; // rows of the tensor map that boxes would use
};

template <typename shape, int threads> struct key_rows {
    static constexpr u32 span = shape::span;
    static constexpr u32 row_bytes = shape::head_dim * shape::elem_bytes;
    // Neighbouring lanes copy a line of 128 bytes at a time, or of the largest
    // power of two that fits the width.
    static constexpr u32 width = kv_width(row_bytes, span);
    static constexpr u32 lanes = width >= 128  ? 8
                                 : width >= 64 ? 4
                                 : width >= 32 ? 2
                                               : 1;
    static constexpr u32 step = threads / lanes; // keys at once
    static constexpr u32 keys = (shape::BN + step - 1) / step;

    static_assert(threads % (8 * lanes) == 0,
                  "the keys of a thread are whole row groups apart");

    u32 rows[keys];

    // See row_indices; called by thread `thread` of `threads`.  A thread with
    // one key less than the others reads the row of the tile's last key.
    GROAT_DEVICE void populate(const page_table &table, u32 batch, u32 first,
                               u32 thread, u32 more = 0)
    {
        GROAT_UNROLL
        for (u32 i = 0; i < keys; i++) {
            u32 key = i * step + thread / lanes;

            if (shape::BN % step != 0 && key >= shape::BN)
                key = shape::BN - 1;
            rows[i] = kv_row_of<shape>(table, batch, first + key) + more;
        }
    }

    // Enqueues the 16-byte copies of keys [begin, begin + tile) of the tile and
    // columns [depth, depth + cols); the caller commits them.  As in a box,
    // columns past the head's last and rows outside of the cache become zeros.
    // Only the first `valid` keys of a partial copy exist.
    template <typename copy, u32 tile>
    GROAT_DEVICE void copy_rows(const kv_bytes &cache, u32 slot, u32 head,
                                u32 depth, u32 begin, u32 valid,
                                u32 thread) const
    {
        // The bound of a row: none if no span reaches past the last column.
        constexpr u32 all = row_bytes % span == 0 ? 1u << 30 : 0;
        constexpr u32 slot_width = slot_bytes_of_row<copy>();
        const u32 lane = thread % lanes;
        const u32 left = row_bytes - depth * shape::elem_bytes;
        const u64 base = cache.base + depth * shape::elem_bytes +
                         static_cast<u64>(head) * cache.head_bytes;
        const u32 first = thread / lanes - begin;
        // All row groups have one layout, so the first key's swizzle serves.
        const u32 to = slot + kv_offset(copy::layout, first % 8, lane * 16,
                                        copy::slot_rows, slot_width, span);

        GROAT_UNROLL
        for (u32 i = 0; i < keys; i++) {
            const u32 r = first + i * step;
            const bool brought = !copy::partial || r < valid;
            const bool there = brought && rows[i] < cache.rows;
            const u64 from = base + static_cast<u64>(rows[i]) * cache.row_bytes;

            if ((tile % step != 0 || tile != shape::BN) && r >= tile)
                continue;
            if (copy::partial && !copy::fill && !brought)
                continue;
            copy_row<copy>(
                make_buffer(there ? from : cache.base, !there    ? 0
                                                       : all > 0 ? all
                                                                 : left),
                to + (r - first % 8) *
                         (copy::layout == chunk_inner ? slot_width : span),
                lane);
        }
    }

  private:
    template <typename copy>
    GROAT_DEVICE static constexpr u32 slot_bytes_of_row()
    {
        return kv_width((copy::slot_cols == 0 ? copy::cols : copy::slot_cols) *
                            shape::elem_bytes,
                        span);
    }

    // Copies lane `lane`'s pieces of a row, the first to `to`.
    template <typename copy>
    GROAT_DEVICE static void copy_row(buffer from, u32 to, u32 lane)
    {
        constexpr u32 bytes = kv_width(copy::cols * shape::elem_bytes, span);
        constexpr u32 line = lanes * 16;
        const u32 wave_lane = thread_index() % 64; // async_copy's lane

        GROAT_UNROLL
        for (u32 at = 0; at < bytes; at += line)
            if (bytes % line == 0 || at + lane * 16 < bytes)
                async_copy<16>(
                    from,
                    to +
                        kv_plain_offset(copy::layout, 0, at, copy::slot_rows,
                                        slot_bytes_of_row<copy>(), span) -
                        wave_lane * 16,
                    wave_lane, at + lane * 16, 0);
    }
};

} // namespace groat
