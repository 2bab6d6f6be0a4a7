/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch arguments of tile_loader_lds; the same bytes on host and device.
 *
 * The source is a row-major matrix of `rows` valid rows, `src_cols` columns and
 * a row stride of `ld` elements (both compile-time).  Tile t starts at row
 * first_row + (t / col_tiles) * tile_rows and column
 * first_col + (t % col_tiles) * tile_cols.  Rows at and behind `rows` read as
 * zeros.
 */
#pragma once

struct tile_loader_lds_args {
    unsigned long long source; /* device address of the matrix, 16-byte aligned */
    unsigned long long output; /* image: tiles * tile_bytes bytes, tile by tile;
                                * stream: 16 bytes per thread of the grid       */
    long long rows;            /* valid rows of the matrix                      */
    long long first_row;       /* row of tile 0                                 */
    unsigned first_col;        /* column of tile 0, elements                    */
    unsigned col_tiles;        /* tiles side by side                            */
    unsigned tiles;            /* number of tiles                               */
    unsigned reserved;         /* 0                                             */
};
