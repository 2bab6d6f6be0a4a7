/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch arguments of subtile_loader, the same on host and device.
 *
 * The source is a row-major matrix of `valid_rows` keys, `src_cols` columns and
 * a row stride of `ld` elements (both compile-time).  Tile (r, h) starts
 * scalar_offset bytes after row first_row + r * BN, column first_col + h *
 * depth; scalar_offset is a multiple of 16.  Only bytes past the end of the
 * matrix read as zeros: a scalar_offset that is not whole rows makes tiles
 * reach into neighbouring columns.
 *
 * Grids.  image, fragments: row_tiles x heads blocks, one tile each.  stream:
 * row_step x heads blocks; block (x, h) takes tiles (x, h), (x + row_step, h)
 * and so on.  scores: divup(queries, num_warps * mma_m) x heads blocks, each
 * with all tiles of its head.
 */
#pragma once

struct subtile_loader_args {
    unsigned long long source; /* address of the keys, 16-byte aligned        */
    unsigned long long query;  /* scores: [heads][queries][depth], 16-byte
                                * aligned                                     */
    unsigned long long output; /* image, fragments: tile (r, h) at (r * heads +
                                * h) * tile_bytes; stream: 16 bytes per thread,
                                * block (x, h) at (x * heads + h) *
                                * block_threads; scores: floats
                                * [heads][queries][row_tiles * BN]            */
    long long valid_rows;      /* rows of the matrix                          */
    long long first_row;       /* row of tile (0, 0)                          */
    unsigned first_col;        /* its column, elements                        */
    unsigned scalar_offset;    /* bytes, added to every tile's start          */
    unsigned row_tiles;        /* tiles one below the other                   */
    unsigned heads;            /* tiles side by side                          */
    unsigned row_step;         /* stream: blocks in x, at least 1             */
    unsigned queries;          /* scores: queries of a head                   */
};
