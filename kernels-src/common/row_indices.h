// SPDX-License-Identifier: Apache-2.0
// Rows of a paged KV cache: once per tile of keys the page table is read, and
// the cache rows at which the tile's pages begin stay in registers; K and V
// tiles are then copied from them, page by page, packed into one slot each.
//
// Three forms hold the same rows:
//   row_indices   every lane holds all of them; one elected lane copies, in a
//                 straight line without a branch
//   lane_rows     each lane holds one page's; all lanes of the warp copy
//   key_rows      each thread holds those of the keys that it copies, 16 bytes
//                 at a time: for pages of so few keys that boxes would be small
//
// A row is a coordinate of the tensor map: of pages [page, heads, dim] those of
// (block, token), of pages [heads, page, dim] of (block, head, token).  Row and
// stride multiply modulo 2^32; the map has less than 2^31 rows.
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
#include "vendor.h"

namespace groat
{

// Where the rows of a sequence come from.
enum kv_rows_from {
    kv_paged,      // entries[batch * pitch + key / page] * stride + key % page
    kv_contiguous, // batch * stride + key
    kv_ragged,     // entries[batch] + key
    kv_continuous  // entries[batch] * stride + key
};

// What the tiles of a kernel are.  A struct derived from it names what differs.
struct kv_shape {
    static constexpr int BN = 128;  // keys of a tile, both halves of a pair
    static constexpr int page = 16; // keys of a page; 0: not paged
    static constexpr int elem_bytes = 2;
    static constexpr int head_dim = 128;
    static constexpr int span = 128;         // bytes: swizzle span; 16: none
    static constexpr bool head_page = false; // pages are [heads, page, dim]
    static constexpr bool pair = false;      // two blocks share the keys of K
    static constexpr kv_rows_from from = kv_paged;
};

// What one copy of K or V is.
struct kv_copy {
    static constexpr int cols = 128;      // elements of a row
    static constexpr int slot_rows = 128; // rows of the slot, chunk_outer
    static constexpr int slot_cols = 0;   // elements of its rows; 0: as cols
    static constexpr int layout = chunk_outer;
    static constexpr bool fold = false;    // a box brings all chunks of a page
    static constexpr bool partial = false; // only `valid` pages are copied
    static constexpr bool fill = false;    // the others become zeros
    static constexpr int sub_tiles = 1;    // V: parts of a tile
};

struct page_table {
    u64 entries; // device address of u32
    u32 pitch;   // entries from sequence to sequence: a multiple of 8, and
                 // kv_table_columns() of the longest sequence at least
    u32 stride;  // rows from block to block
};

// The pages of a tile.
template <typename shape> struct kv_pages {
    static constexpr int box = kv_box_rows(shape::BN, shape::page);
    static constexpr int count = shape::BN / box;

    static_assert(shape::BN % box == 0 && (shape::page <= shape::BN ||
                                           shape::page % shape::BN == 0),
                  "a page divides the tile, or the tile divides a page");
    static_assert(!shape::pair || count == 1 || count % 2 == 0,
                  "the halves of a pair are whole pages or lie in one");
    static_assert((shape::page > 0) == (shape::from == kv_paged),
                  "page is 0 where rows are not paged");
};

// The row at which a tile that is not cut by pages begins.
template <typename shape>
GROAT_DEVICE u32 kv_first_row(const page_table &table, u32 batch, u32 key)
{
    u64 entry = table.entries + static_cast<u64>(batch) * 4;

    if constexpr (shape::from == kv_contiguous)
        return batch * table.stride + key;
    else if constexpr (shape::from == kv_ragged)
        return global_load4(entry) + key;
    else if constexpr (shape::from == kv_continuous)
        return global_load4(entry) * table.stride + key;
    else {
        entry = table.entries +
                (static_cast<u64>(batch) * table.pitch + key / shape::page) * 4;
        return global_load4(entry) * table.stride + key % shape::page;
    }
}

// ---- boxes ------------------------------------------------------------------

// How a page's part of a copy is made of boxes.  Box x of a page is chunk
// x % chunks of its rows, or of row group x / chunks where groups lie apart.
template <typename shape, typename copy, int tile> struct kv_boxes {
    static constexpr int chunk = shape::span / shape::elem_bytes;
    static constexpr int chunks = (copy::cols + chunk - 1) / chunk;
    static constexpr int slot_chunks =
        copy::slot_cols == 0 ? chunks : (copy::slot_cols + chunk - 1) / chunk;
    static constexpr bool inner = copy::layout == chunk_inner;
    static constexpr int page_rows = kv_box_rows(tile, shape::page);
    static constexpr int rows = inner && !copy::fold ? 8 : page_rows;
    static constexpr int boxes =
        copy::fold ? 1 : page_rows / rows * chunks; // of a page
    static constexpr int pages = tile / page_rows;
    static constexpr u32 bytes = rows * shape::span * (copy::fold ? chunks : 1);
    static constexpr u32 page_bytes = boxes * bytes;
    static constexpr int rank = !copy::fold ? 3 : inner ? 5 : 4;

    static_assert(tile % page_rows == 0, "a copy is whole pages");
    static_assert(!inner || page_rows % 8 == 0,
                  "chunk_inner tiles are whole row groups");
    static_assert(!copy::fold ||
                      kv_fold_chunks(copy::cols, chunk, shape::head_dim,
                                     page_rows, copy::slot_rows, shape::page,
                                     inner) > 1,
                  "one box cannot bring all chunks of a page");
    static_assert(inner || tile <= copy::slot_rows, "the slot has the rows");

    // Bytes from the slot's begin to box x of page q.
    GROAT_DEVICE static constexpr u32 offset(int q, int x)
    {
        return inner ? ((q * page_rows / 8 + x / chunks) * slot_chunks +
                        x % chunks) *
                           (8 * shape::span)
                     : (x * copy::slot_rows + q * page_rows) * shape::span;
    }

    // Hands box x of page q, whose first row is `row`, to the issuer.
    template <typename issuer>
    GROAT_DEVICE static void put(const issuer &to, int q, int x, u32 row,
                                 u32 head, u32 depth, bool issue)
    {
        const int index = q * boxes + x;
        const int r = static_cast<int>(row);
        const int h = shape::head_page ? 0 : static_cast<int>(head);
        const int d = static_cast<int>(depth);

        if constexpr (rank == 5) {
            const int at[5] = {0, 0, d / chunk, r >> 3, h};

            to.put(index, offset(q, x), at, bytes, issue);
        } else if constexpr (rank == 4) {
            const int at[4] = {0, r, d / chunk, h};

            to.put(index, offset(q, x), at, bytes, issue);
        } else {
            const int at[3] = {d + x % chunks * chunk, h,
                               inner ? r + x / chunks * 8 : r};

            to.put(index, offset(q, x), at, bytes, issue);
        }
    }

    // The row that the boxes of page q ask for: where there is none, one far
    // enough before the cache that the engine writes zeros.
    GROAT_DEVICE static constexpr u32 row_or_none(u32 row, u32 head, bool there)
    {
        if (shape::head_page)
            row += head * shape::page;
        return copy::partial && copy::fill && !there ? 0u - page_rows : row;
    }

    // Whether the box of page q is issued at all.
    GROAT_DEVICE static constexpr bool is_issued(bool there)
    {
        return !copy::partial || copy::fill || there;
    }

    // What a barrier must expect of a copy of `valid` pages.
    GROAT_DEVICE static constexpr u32 expected(u32 valid)
    {
        return (!copy::partial || copy::fill || valid > static_cast<u32>(pages)
                    ? static_cast<u32>(pages)
                    : valid) *
               page_bytes;
    }
};

// ---- issuers ----------------------------------------------------------------

// Copies into the block's own slot; the bytes count on `bar`.
template <cache_policy policy> struct tma_copy {
    const tensor_map &map;
    u32 slot;
    u32 bar;

    template <int rank>
    GROAT_DEVICE void put(int, u32 offset, const int (&at)[rank], u32,
                          bool issue) const
    {
        tma_load<policy, rank>(map, slot + offset, bar, at, issue);
    }
};

// Into the same place of all blocks of the mask `ctas`, each of which counts
// the bytes on its own barrier at `bar`.
template <cache_policy policy> struct tma_copy_multicast {
    const tensor_map &map;
    u32 slot;
    u32 bar;
    u32 ctas;

    template <int rank>
    GROAT_DEVICE void put(int, u32 offset, const int (&at)[rank], u32,
                          bool issue) const
    {
        tma_load_multicast<policy, rank>(map, slot + offset, bar, at, ctas,
                                         issue);
    }
};

// Into the block's own slot; the bytes count on the leader's barrier (sm_100).
template <cache_policy policy> struct tma_copy_pair {
    const tensor_map &map;
    u32 slot;
    u32 bar;

    template <int rank>
    GROAT_DEVICE void put(int, u32 offset, const int (&at)[rank], u32,
                          bool issue) const
    {
        tma_load_pair<policy, rank>(map, slot + offset, bar, at, issue);
    }
};

// ---- every lane holds all rows ----------------------------------------------

template <typename shape> struct row_indices {
    typedef kv_pages<shape> pages;
    static constexpr int num_pages = pages::count;

    u32 rows[num_pages];

    // Reads the rows of the tile that begins at key `first` of sequence
    // `batch`. `first` is a multiple of `alignment`, which where pages cut the
    // tile is a multiple of the page.
    template <int alignment>
    GROAT_DEVICE void populate(const page_table &table, u32 batch, u32 first)
    {
        if constexpr (num_pages == 1)
            rows[0] = kv_first_row<shape>(table, batch, first);
        else
            populate_pages<alignment>(table, batch, first);
    }

    // The row of key `key` of the tile; `key` is known at compile time, or the
    // rows move to local memory.
    GROAT_DEVICE u32 get_row(int key) const
    {
        if constexpr (num_pages == 1)
            return rows[0] + key;
        else
            return rows[key / pages::box] + key % pages::box;
    }

    // Issues the boxes of the tile's K, or of the half that belongs to block
    // `rank` of a pair, where `issue` is true: in one lane.
    template <typename copy, typename issuer>
    GROAT_DEVICE void tma_copy_k(const issuer &to, u32 head, u32 depth,
                                 u32 valid, bool issue, u32 rank = 0) const
    {
        constexpr kv_part own =
            kv_part_k(shape::BN, shape::page, shape::pair, 0);
        constexpr kv_part peer =
            kv_part_k(shape::BN, shape::page, shape::pair, 1);
        typedef kv_boxes<shape, copy, own.tile> boxes;

        GROAT_UNROLL
        for (int q = 0; q < own.pages; q++) {
            u32 row = rows[own.first + q] + own.intra;

            if (shape::pair && rank != 0)
                row = rows[peer.first + q] + peer.intra;
            put_page<boxes>(to, q, row, head, depth, valid, issue);
        }
    }

    // The same of part `sub` of the tile's V.
    template <typename copy, int sub = 0, typename issuer>
    GROAT_DEVICE void tma_copy_v(const issuer &to, u32 head, u32 depth,
                                 u32 valid, bool issue) const
    {
        constexpr kv_part part =
            kv_part_v(shape::BN, shape::page, copy::sub_tiles, sub);
        typedef kv_boxes<shape, copy, part.tile> boxes;

        GROAT_UNROLL
        for (int q = 0; q < part.pages; q++)
            put_page<boxes>(to, q, rows[part.first + q] + part.intra, head,
                            depth, valid, issue);
    }

  private:
    template <int alignment>
    GROAT_DEVICE void populate_pages(const page_table &table, u32 batch,
                                     u32 first)
    {
        constexpr int vector =
            kv_table_vector(num_pages, shape::page, alignment);
        // Two loads of 16 bytes where 32 are aligned.
        constexpr int step = vector > 4 ? 4 : vector;
        u64 from =
            table.entries +
            (static_cast<u64>(batch) * table.pitch + first / shape::page) * 4;

        static_assert(alignment >= shape::page && alignment % shape::page == 0,
                      "a tile that pages cut begins with a page");
        GROAT_UNROLL
        for (int i = 0; i < num_pages; i += step) {
            if constexpr (step == 4) {
                vec4 v = global_load16(from + i * 4);

                rows[i] = v.x * table.stride;
                rows[i + 1] = v.y * table.stride;
                rows[i + 2] = v.z * table.stride;
                rows[i + 3] = v.w * table.stride;
            } else if constexpr (step == 2) {
                vec2 v = global_load8(from + i * 4);

                rows[i] = v.x * table.stride;
                rows[i + 1] = v.y * table.stride;
            } else {
                rows[i] = global_load4(from + i * 4) * table.stride;
            }
        }
    }

    template <typename boxes, typename issuer>
    GROAT_DEVICE static void put_page(const issuer &to, int q, u32 row,
                                      u32 head, u32 depth, u32 valid,
                                      bool issue)
    {
        bool there = static_cast<u32>(q) < valid;

        row = boxes::row_or_none(row, head, there);
        GROAT_UNROLL
        for (int x = 0; x < boxes::boxes; x++)
            boxes::put(to, q, x, row, head, depth,
                       issue && boxes::is_issued(there));
    }
};

// ---- every lane holds one page's row ----------------------------------------

template <typename shape> struct lane_rows {
    typedef kv_pages<shape> pages;
    static constexpr int num_pages = pages::count;
    // Lanes that share a page's boxes: a power of two.
    static constexpr int lanes = num_pages > 16  ? 1
                                 : num_pages > 8 ? 2
                                 : num_pages > 4 ? 4
                                 : num_pages > 2 ? 8
                                 : num_pages > 1 ? 16
                                                 : 32;

    static_assert(num_pages <= 32, "a warp has a lane for each page");

    u32 row;

    // See row_indices.  One load of the page table per lane, all at once.
    template <int alignment>
    GROAT_DEVICE void populate(const page_table &table, u32 batch, u32 first)
    {
        static_assert(num_pages == 1 || alignment % shape::page == 0,
                      "a tile that pages cut begins with a page");
        u32 q = lane_index() / lanes;

        // The last lanes have no page of their own.
        if (q >= num_pages)
            q = num_pages - 1;
        row = kv_first_row<shape>(table, batch, first + q * pages::box);
    }

    // See row_indices; all lanes of the warp, all with the same arguments.
    template <typename copy, typename issuer>
    GROAT_DEVICE void tma_copy_k(const issuer &to, u32 head, u32 depth,
                                 u32 valid, bool issue, u32 rank = 0) const
    {
        constexpr kv_part own =
            kv_part_k(shape::BN, shape::page, shape::pair, 0);
        constexpr kv_part peer =
            kv_part_k(shape::BN, shape::page, shape::pair, 1);
        bool second = shape::pair && rank != 0;

        put_pages<kv_boxes<shape, copy, own.tile>>(
            to, second ? peer.first : own.first,
            second ? peer.intra : own.intra, head, depth, valid, issue);
    }

    template <typename copy, int sub = 0, typename issuer>
    GROAT_DEVICE void tma_copy_v(const issuer &to, u32 head, u32 depth,
                                 u32 valid, bool issue) const
    {
        constexpr kv_part part =
            kv_part_v(shape::BN, shape::page, copy::sub_tiles, sub);

        put_pages<kv_boxes<shape, copy, part.tile>>(to, part.first, part.intra,
                                                    head, depth, valid, issue);
    }

  private:
    template <typename boxes, typename issuer>
    GROAT_DEVICE void put_pages(const issuer &to, u32 first, u32 intra,
                                u32 head, u32 depth, u32 valid,
                                bool issue) const
    {
        // Lanes before the first page wrap behind the last.
        u32 q = lane_index() / lanes - first;
        bool there = q < valid;
        u32 from = boxes::row_or_none(row + intra, head, there);

        issue = issue && q < static_cast<u32>(boxes::pages) &&
                boxes::is_issued(there);
        GROAT_UNROLL
        for (int k = 0; k < (boxes::boxes + lanes - 1) / lanes; k++) {
            int x = k * lanes + static_cast<int>(lane_index() % lanes);

            boxes::put(to, static_cast<int>(q), x, from, head, depth,
                       issue && x < boxes::boxes);
        }
    }
};

// ---- every thread holds the rows of the keys that it copies -----------------

// The cache as 16-byte copies see it.
struct kv_bytes {
    u64 base;       // of the plane and layer
    u32 row_bytes;  // from row to row
    u32 head_bytes; // from head to head
};

template <typename shape, int threads> struct key_rows {
    // Neighbouring lanes of a key copy one line of 128 bytes at a time.
    static constexpr int row_cells = shape::head_dim * shape::elem_bytes / 16;
    static constexpr int lanes = row_cells >= 8   ? 8
                                 : row_cells >= 4 ? 4
                                 : row_cells >= 2 ? 2
                                                  : 1;
    static constexpr int step = threads / lanes; // keys at once
    static constexpr int keys = (shape::BN + step - 1) / step;

    static_assert(threads % lanes == 0, "whole keys");

    u32 rows[keys];

    // See row_indices; thread `thread` of `threads`.
    template <int alignment>
    GROAT_DEVICE void populate(const page_table &table, u32 batch, u32 first,
                               u32 thread)
    {
        GROAT_UNROLL
        for (int i = 0; i < keys; i++) {
            u32 key = i * step + thread / lanes;

            rows[i] = kv_first_row<shape>(
                table, batch, first + (key < shape::BN ? key : shape::BN - 1u));
        }
    }

    // Enqueues 16-byte copies of rows [begin, begin + tile) of the tile,
    // columns [depth, depth + copy::cols), into the slot; the caller commits
    // them. Of a partial copy `valid` rows are there.
    template <typename copy, int tile>
    GROAT_DEVICE void copy_rows(const kv_bytes &cache, u32 slot, u32 head,
                                u32 depth, u32 begin, u32 valid,
                                u32 thread) const
    {
        GROAT_UNROLL
        for (int i = 0; i < keys; i++) {
            u32 r = i * step + thread / lanes - begin;

            if (r < static_cast<u32>(tile) &&
                (!copy::partial || copy::fill || r < valid))
                copy_row<copy>(
                    cache, slot, r,
                    !copy::partial || r < valid
                        ? cache.base +
                              static_cast<u64>(rows[i]) * cache.row_bytes +
                              static_cast<u64>(head) * cache.head_bytes
                        : 0,
                    depth * shape::elem_bytes, thread % lanes);
        }
    }

  private:
    // Row `r` of the slot from the head's row at `from`, or zeros where that is
    // 0 and behind the last column.
    template <typename copy>
    GROAT_DEVICE static void copy_row(const kv_bytes &cache, u32 slot, u32 r,
                                      u64 from, u32 first, u32 lane)
    {
        constexpr u32 span = shape::span;
        constexpr u32 width =
            (copy::cols * shape::elem_bytes + span - 1) / span * span;
        constexpr u32 slot_width =
            copy::slot_cols == 0
                ? width
                : (copy::slot_cols * shape::elem_bytes + span - 1) / span *
                      span;
        constexpr u32 row = shape::head_dim * shape::elem_bytes;
        const u32 wave_lane = thread_index() % 64; // async_copy counts so

        GROAT_UNROLL
        for (u32 k = 0; k < (width / 16 + lanes - 1) / lanes; k++) {
            u32 at = (k * lanes + lane) * 16;
            bool there = from != 0 && first + at < row;

            if (at < width)
                async_copy<16>(
                    make_buffer(there ? from + first + at : cache.base,
                                there ? 16 : 0),
                    slot +
                        kv_offset(copy::layout, r, at, copy::slot_rows,
                                  slot_width, span) -
                        wave_lane * 16,
                    wave_lane, 0, 0);
        }
    }
};

} // namespace groat
