/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch arguments of tile_loader_lds, the same on host and device.
 *
 * The source is a row-major matrix of `valid_rows` rows, `src_cols` columns and
 * a row stride of `ld` elements (both compile-time).  Tile (r, c) starts at row
 * first_row + r * tile_rows and column first_col + c * tile_cols.  Rows from
 * valid_rows on read as zeros.
 *
 * Grids.  image: row_tiles x col_tiles blocks, one tile each.  stream: row_step
 * x col_tiles blocks; block (x, c) takes tiles (x, c), (x + row_step, c) ...
 */
#pragma once

struct tile_loader_lds_args {
    unsigned long long source; /* address of the matrix, 16-byte aligned      */
    unsigned long long output; /* image: tile (r, c) at (r * col_tiles + c) *
                                * tile_bytes; stream: 16 bytes per thread,
                                * block (x, c) at index x * col_tiles + c     */
    long long valid_rows;      /* rows of the matrix                          */
    long long first_row;       /* row of tile (0, 0)                          */
    unsigned first_col;        /* its column, elements                        */
    unsigned row_tiles;        /* tiles one below the other                   */
    unsigned col_tiles;        /* tiles side by side                          */
    unsigned row_step;         /* stream: blocks in x, at least 1             */
};
