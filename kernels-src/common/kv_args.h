/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch arguments of the kv buffer families, the same on host and device.
 *
 * `source` is a slab of a KV cache: `valid_rows` rows of src_cols 16-bit
 * numbers with a row stride of ld.  One head is the `depth` columns from
 * first_col on.  Its rows from first_row on form key blocks of BN rows; rows
 * from `valid_rows` on read as zeros.  A key block is cut into tiles: for role
 * K depth / BK of BN x BK, for role V BN / BK of BK x depth.
 *
 * Grids.
 *   image, fragments  key_blocks x tiles blocks; block (b, t) takes tile
 *                     first_tile + t of key block b, which must exist: past the
 *                     last tile of role K lies another head
 *   scores            query tiles x block_step; block (q, y) takes the key
 *                     blocks y, y + block_step ...
 *   output            query tiles x 1
 *   stream            block_step x heads; block (x, h) takes the tiles x, x +
 *                     block_step ... of head h, column first_col + h * depth;
 *                     tiles are numbered key block by key block
 */
#pragma once

struct kv_args {
    unsigned long long source;  /* the slab, 16-byte aligned                  */
    unsigned long long operand; /* scores: Q, queries x depth numbers; output:
                                 * P, queries x (key_blocks * BN); else none  */
    unsigned long long output;  /* image: tile_bytes per block; fragments: 16
                                 * bytes [wave][k][i][lane] per block; scores:
                                 * S, floats, queries x (key_blocks * BN);
                                 * output: O, floats, queries x depth; stream:
                                 * 16 bytes a thread, block x * gridDim.y + y */
    long long valid_rows;       /* valid rows of the slab                     */
    long long first_row;        /* row of key block 0                         */
    unsigned first_col;         /* column of the head                         */
    unsigned key_blocks;
    unsigned first_tile;        /* image, fragments                           */
    unsigned tiles;             /* image, fragments: tiles per key block      */
    unsigned queries;           /* scores, output                             */
    unsigned block_step;        /* scores, stream: 1 or more                  */
    unsigned heads;             /* stream: heads side by side                 */
    unsigned reserved;
};
