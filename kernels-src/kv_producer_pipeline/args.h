/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch arguments of kv_producer_pipeline, the same on host and device.
 *
 * Sequence s has lengths[s] keys, at most num_keys.  Its pages are the cache
 * blocks page_table[s * pitch ...]; block b begins at row b * stride of the
 * maps.  Without pages, sequence s begins at row s * stride.
 *
 * Grids, for `sequences` sequences and n blocks per cluster:
 *   image, trace, issues  n x sequences * kv_heads: all tiles of one head
 *   scores, output  query tiles x sequences * query_heads; the blocks
 *           of a cluster have a query tile each, but share one in mode
 *           pair_local
 *   stream  n * teams x 1; team b takes tiles b, b + teams ... of all heads
 */
#pragma once

#include "../common/tensor_map.h"

struct kv_producer_pipeline_args {
    groat_tensor_map keys;
    groat_tensor_map values;
    groat_tensor_map queries;      /* [sequences, query_count, query_heads,
                                    * depth]; unused if BM is 0               */
    unsigned long long key_rows;   /* for copies = cells: the layer's K       */
    unsigned long long value_rows; /* and V                                   */
    unsigned long long page_table; /* u32, 16-byte aligned                    */
    unsigned long long lengths;    /* u32 per sequence                        */
    unsigned long long weights;    /* output: 16-bit [sequences, query_heads,
                                    * query_count, weight_pitch], 0 from
                                    * lengths[s] on                           */
    unsigned long long output;     /* 16-byte aligned;
                                    * image: per block the queries, then
                                    * 2 * tiles * parts slots as they came;
                                    * trace: per block 32 bytes per piece of a
                                    * slot; issues: 32 bytes per box;
                                    * stream: 16 bytes per consumer thread;
                                    * scores: floats [sequences, query_heads,
                                    * query_count, tiles * BN]; output: floats
                                    * [.., query_count, padded_depth]         */
    unsigned num_keys;             /* of the longest sequence                 */
    unsigned pitch;                /* entries from sequence to sequence       */
    unsigned stride;               /* rows from block to block of the cache   */
    unsigned row_bytes;            /* for copies = cells: from row to row     */
    unsigned head_bytes;           /* and from head to head                   */
    unsigned sequences;
    unsigned kv_heads;
    unsigned group;                /* query heads to each head of K and V     */
    unsigned query_count;          /* queries of each sequence and head       */
    unsigned weight_pitch;
    unsigned teams;                /* stream: of ctas blocks each             */
    unsigned reserved[9];
};
