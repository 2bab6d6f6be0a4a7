/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch arguments of paged_attention_decode; the same bytes on host and
 * device.  The grid has one dimension, of `blocks` blocks: what the device
 * holds at once, whatever the lengths are.
 */
#pragma once

struct paged_attention_decode_args {
    unsigned long long q;          /* [sequences, q_len, heads, head_dim]     */
    unsigned long long k;          /* of the keys' plane and layer, block 0   */
    unsigned long long v;          /* of the values'                          */
    unsigned long long page_table; /* [sequences, pitch] of u32: blocks       */
    unsigned long long lengths;    /* [sequences] of u32: keys                */
    unsigned long long output;     /* as q                                    */
    unsigned long long lse;        /* [sequences, q_len, heads] of f32: log2  */
    unsigned long long sinks;      /* [heads] of f32, as scores               */
    unsigned long long slopes;     /* [heads] of f32, of alibi                */
    unsigned long long tree;       /* [sequences, q_len] of u32: bits of keys */
    unsigned long long k_scales;   /* [kv_heads] of f32, or as the strides    */
    unsigned long long v_scales;   /* say                                     */
    unsigned long long parts;    /* [parts] of sums_bytes                     */
    unsigned long long counters; /* [sequences, kv_heads, strips] of u32:     *
                                  * zeros, which a launch leaves as zeros     */
    unsigned long long block_bytes; /* from block to block of the cache       */
    unsigned long long token_bytes; /* from key to key of a block             */
    unsigned long long head_bytes;  /* from head to head of a block           */
    unsigned block_scales;          /* of kv_scale=token, likewise: numbers   */
    unsigned token_scales;
    unsigned head_scales;
    unsigned sequences;
    unsigned kv_heads;
    unsigned pitch;  /* entries of the table from sequence to sequence     */
    unsigned blocks; /* of the grid                                        */
    unsigned least;  /* units of keys that a block takes at least          */
    unsigned most;   /* keys of a sequence: longer lengths count as that   */
    unsigned seen;   /* keys of the window or of a chunk                   */
    float scale;     /* of scores                                          */
    float cap;       /* of the soft cap                                    */
    float k_scale;   /* of kv_scale=tensor                                 */
    float v_scale;
    unsigned long long score_arrays[4]; /* of the score's expression: f32     */
    unsigned score_counts[4];           /* elements of each                   */
    float score_scalars[8];
};
