/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch arguments of subtile_loader_st_8x32, the same on host and device.
 *
 * V is a row-major matrix of `valid_rows` keys, `src_cols` columns and a row
 * stride of `ld` elements (both compile-time).  Tile (r, c) starts `soffset`
 * bytes after key r * tile_keys, column c * depth.  soffset chooses the first
 * key and column; it is a multiple of 16, and soffset plus the bytes that a
 * tile spans stay below 2^31.  Bytes past the end of key valid_rows - 1,
 * counted with soffset, read as zeros; past the last column of any other key
 * are the bytes of the next key.
 *
 * Grids.  image, fragments: row_tiles x col_tiles blocks, one tile each.
 * stream: row_step x col_tiles blocks; block (x, c) takes tiles (x, c), (x +
 * row_step, c) ...  output: block (b, c) has 32 queries per wave, from b *
 * num_warps * 32 on, and goes through tiles (0, c) .. (row_tiles - 1, c).
 */
#pragma once

struct subtile_loader_st_8x32_args {
    unsigned long long source;  /* address of V, 16-byte aligned              */
    unsigned long long output;  /* image: tile (r, c) at (r * col_tiles + c) *
                                 * slot_bytes; fragments: likewise at that
                                 * times strips * depth_tiles * 64 *
                                 * fragment_bytes; stream: 16 bytes per thread,
                                 * block (x, c) at (x * col_tiles + c) *
                                 * block_threads; output: floats [col_tiles]
                                 * [queries][depth]                           */
    unsigned long long weights; /* output: P, of dtype, [col_tiles][queries]
                                 * [row_tiles * tile_keys], below 2^31 bytes
                                 * per head, 16-byte aligned                  */
    long long valid_rows;       /* keys of the matrix                         */
    unsigned soffset;           /* bytes from the matrix to tile (0, 0)       */
    unsigned row_tiles;         /* tiles one below the other                  */
    unsigned col_tiles;         /* tiles side by side: heads                  */
    unsigned row_step;          /* stream: blocks in x, at least 1            */
    unsigned queries;           /* output: rows of P and O per head           */
    unsigned reserved;          /* 0                                          */
};
