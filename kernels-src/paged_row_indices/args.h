/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch arguments of paged_row_indices, the same on host and device.
 *
 * K and V are planes of one layer of a cache.  A row is a token of a block: of
 * all heads if pages are [page, heads, dim], of one head if they are [heads,
 * page, dim]; row 0 is the first of block 0.  Tile t of a sequence has BN keys
 * from first_key + t * BN on; keys from the sequence's length on do not exist.
 * The two blocks of a pair share a tile.
 *
 * Grids, with c blocks per cluster.
 *   image, issues  tiles * c x batch * heads blocks; blocks c * t ... take tile
 *                  t of head y % heads of sequence y / heads
 *   stream         blocks * c x 1; cluster w takes items w, w + blocks ... of
 *                  batch * tiles * heads, heads fastest
 */
#pragma once

#include "../common/tensor_map.h"

struct paged_row_indices_args {
    struct groat_tensor_map k_map; /* of all K and of all V; unused if all    */
    struct groat_tensor_map v_map; /* threads copy                           */
    unsigned long long page_table; /* batch x pitch unsigned: blocks; or one
                                    * per sequence, see `from` of params.def;
                                    * aligned to 32 bytes                    */
    unsigned long long lengths;    /* keys of each sequence, unsigned         */
    unsigned long long k_cache;    /* row 0 of K and of V, 16-byte aligned    */
    unsigned long long v_cache;
    unsigned long long output; /* image: k_slot_bytes, then v_slot_bytes per
                                * block; issues: 32 bytes per box of K, then
                                * of V, then BN rows of 4 bytes, per block;
                                * stream: 16 bytes per thread that reads; of
                                * block (x, y) at x * gridDim.y + y           */
    unsigned batch;
    unsigned heads;
    unsigned tiles;     /* of a sequence                                     */
    unsigned first_key; /* of tile 0; a multiple of alignment                */
    unsigned keys;      /* of the longest sequence; for the host             */
    unsigned pitch;     /* entries of page_table from sequence to sequence   */
    unsigned stride;    /* rows from block to block                          */
    unsigned head_rows; /* rows from head to head, 0 of [page, heads, dim]   */
    unsigned row_bytes; /* bytes from row to row                             */
    unsigned
        head_bytes; /* from head to head in a row, 0 of [heads, page, dim] */
    unsigned head_page; /* 1: pages are [heads, page, dim]                   */
    unsigned k_depth;   /* first column of K, whole chunks                   */
    unsigned v_depth;   /* of V, for the first block of a pair               */
    unsigned blocks;    /* stream: clusters of the grid                      */
    unsigned planes;    /* 2: K and V; 1: both are the same plane            */
    unsigned layers;    /* of the cache; for the host                        */
    unsigned layer;     /* the one that is read                              */
    unsigned rows;      /* of K and of V, as in their tensor maps            */
    unsigned reserved[4];
};
