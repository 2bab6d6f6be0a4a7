/* SPDX-License-Identifier: Apache-2.0
 *
 * kv_pages.h - how pages of a KV cache divide tiles of keys: the arithmetic of
 * row_indices.h.  C and C++, host and device.  A page size of 0 means no
 * paging: the keys of a sequence are contiguous.
 */
#pragma once

#include "kv_layout.h"

#ifdef __cplusplus
namespace groat {
#endif

/* Keys of a `tile` that one box can copy: at most those of one page. */
GROAT_LAYOUT int kv_box_rows(int tile, int page)
{
    return page <= 0 || page >= tile ? tile : page;
}

/* Page-table entries per load; 0: one by one.  Tiles begin at multiples of
 * `alignment` keys. */
GROAT_LAYOUT int kv_table_vector(int num_pages, int page, int alignment)
{
    int pages = page > 0 ? alignment / page : 0;
    int a = num_pages & -num_pages;
    int b = pages & -pages;
    int least = a < b ? a : b;

    return num_pages == 1 || page <= 0 ? 0 : least < 8 ? least : 8;
}

/* Columns that a page table must have for sequences of `pages` pages: a tile
 * reads entries past the last page, so they must exist, whatever they hold. */
GROAT_LAYOUT int kv_table_columns(int pages)
{
    return (pages + 7) / 8 * 8 + 16;
}

/* The part of a tile of BN keys that one copy takes. */
struct kv_part {
    int tile;  /* keys                                           */
    int box;   /* keys of it that one box copies                 */
    int pages; /* boxes, one below the other                     */
    int first; /* index in the tile of its first page            */
    int intra; /* keys of that page before the part              */
};

/* K: all keys, or one half for each block of a pair. */
GROAT_LAYOUT struct kv_part kv_part_k(int BN, int page, int pair, int peer)
{
    int num_pages = BN / kv_box_rows(BN, page);
    int tile = pair ? BN / 2 : BN;
    int box = kv_box_rows(tile, page);
    struct kv_part p = {tile, box, tile / box,
                        pair && peer && num_pages >= 2 ? num_pages / 2 : 0,
                        pair && peer && num_pages == 1 ? BN / 2 : 0};

    return p;
}

/* V: the sub-th of `sub_tiles` equal parts. */
GROAT_LAYOUT struct kv_part kv_part_v(int BN, int page, int sub_tiles, int sub)
{
    int num_pages = BN / kv_box_rows(BN, page);
    int tile = BN / sub_tiles;
    int box = kv_box_rows(tile, page);
    struct kv_part p = {tile, box, tile / box,
                        num_pages >= sub_tiles ? sub * (tile / box) : 0,
                        num_pages < sub_tiles ? sub * tile : 0};

    return p;
}

/* Number of boxes, of a part that begins at `first_key`, that hold a key of a
 * sequence of num_keys: what a partial copy may bring.  0 if the part begins
 * past the last key. */
GROAT_LAYOUT int kv_valid_pages(long long num_keys, long long first_key,
                                int pages, int box)
{
    long long left = num_keys - first_key;

    return left <= 0                       ? 0
           : left > (long long)pages * box ? pages
                                           : (int)((left + box - 1) / box);
}

/* Number of chunks that one box brings: 1 or cols / chunk (both in elements).
 * Chunk-outer boxes are folded if one page fills the slot; chunk-inner ones
 * need pages of whole row groups. */
GROAT_LAYOUT int kv_fold_chunks(int cols, int chunk, int head_dim, int box,
                                int slot_rows, int page, int inner)
{
    int base = cols % chunk == 0 && cols / chunk >= 2 && head_dim % cols == 0;
    int shape =
        inner ? box % 8 == 0 : box == slot_rows && (page == 0 || page >= box);

    return base && shape ? cols / chunk : 1;
}

/* The keys [first, end) of partition `index` of `partitions` of a sequence:
 * whole tiles, except for the last. */
struct kv_window {
    int first, end;
};

GROAT_LAYOUT struct kv_window kv_window_of(int num_keys, int partitions,
                                           int index, int tile)
{
    int keys = (num_keys + partitions - 1) / partitions;
    int size = keys <= tile ? tile : (keys + tile - 1) / tile * tile;
    int first = index * size;
    struct kv_window w = {num_keys, num_keys};

    if (first < num_keys) {
        w.first = first;
        w.end = first + size < num_keys ? first + size : num_keys;
    }
    return w;
}

#ifdef __cplusplus
} // namespace groat
#endif
