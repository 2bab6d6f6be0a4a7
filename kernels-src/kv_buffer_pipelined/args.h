/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch arguments of kv_buffer_pipelined, the same on host and device.
 *
 * K and V are slabs of a KV cache of one shape: `valid_rows` rows of src_cols
 * 16-bit numbers with a row stride of ld.  One head is the `depth` columns from
 * first_col on.  Its rows from first_row on form key blocks of BN rows; rows
 * from `valid_rows` on read as zeros.
 *
 * Grids.
 *   attention  query tiles x 1, each of num_warps * mma_n queries
 *   image      blocks x 1; block x takes `tiles` key blocks from x * tiles on
 *   stream     block_step x heads; block (x, h) takes the key blocks x, x +
 *              block_step ... of head h, at column first_col + h * depth
 */
#pragma once

struct kv_buffer_pipelined_args {
    unsigned long long keys;    /* K, 16-byte aligned                         */
    unsigned long long values;  /* V, likewise                                */
    unsigned long long queries; /* attention: Q, query_count x depth numbers  */
    unsigned long long output;  /* attention: O, floats, query_count x depth;
                                 * image: 2 * stage_bytes per block: K and V of
                                 * stage 0, K and V of stage 1; stream: 16 bytes
                                 * per thread, block (x, h) at x * heads + h  */
    long long valid_rows;       /* valid rows of both slabs                   */
    long long first_row;        /* row of key block 0                         */
    unsigned first_col;         /* column of the head                         */
    unsigned key_blocks;        /* attention, stream                          */
    unsigned query_count;       /* attention                                  */
    unsigned tiles;             /* image: key blocks per block                */
    unsigned block_step;        /* stream: 1 or more                          */
    unsigned heads;             /* stream: heads side by side                 */
};
