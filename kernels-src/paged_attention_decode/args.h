/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch arguments of paged_attention_decode, the same on host and device.  The
 * grid is one-dimensional, of `blocks` blocks: as many as the device holds at
 * once, or one for each strip if these are several times as many, whatever the
 * lengths; with `cluster` of that many for each strip.
 */
#pragma once

struct paged_attention_decode_args {
    unsigned long long q;          /* [sequences, q_len, heads, head_dim]     */
    unsigned long long k;          /* plane and layer of the keys, block 0    */
    unsigned long long v;          /* plane and layer of the values           */
    unsigned long long page_table; /* [sequences, pitch] of u32: blocks       */
    unsigned long long lengths;    /* [sequences] of u32: keys                */
    unsigned long long output;     /* [sequences, q_len, heads, value_dim]    */
    unsigned long long lse;        /* [sequences, q_len, heads] of f32: log2  */
    unsigned long long sinks;      /* [heads] of f32: scores                  */
    unsigned long long slopes;     /* [heads] of f32: ALiBi slopes            */
    unsigned long long tree;       /* [sequences, q_len] of u32: key bits     */
    unsigned long long k_scales;   /* [kv_heads] of f32; of kv_scale=token,   */
    unsigned long long v_scales;   /* at the strides below                    */
    unsigned long long parts;    /* [parts] of part_bytes                     */
    unsigned long long counters; /* [sequences, kv_heads, strips] of u32:     *
                                  * zeros, which a launch leaves as zeros     */
    unsigned long long block_bytes; /* bytes from block to block              */
    unsigned long long token_bytes; /* bytes from key to key in a block       */
    unsigned long long head_bytes;  /* bytes from head to head in a block     */
    unsigned long long value_block_bytes; /* the same of the values, read     */
    unsigned long long value_token_bytes; /* where these are narrower         */
    unsigned long long value_head_bytes;
    unsigned block_scales;          /* the same in scales, of kv_scale=token  */
    unsigned token_scales;
    unsigned head_scales;
    unsigned sequences;
    unsigned kv_heads;
    unsigned pitch;  /* table entries from sequence to sequence            */
    unsigned blocks; /* of the grid                                        */
    unsigned least;  /* least units of keys per block                      */
    unsigned most;   /* keys of a sequence: longer lengths are clamped     */
    unsigned seen;   /* keys of the window or of a chunk                   */
    float scale;     /* of scores                                          */
    float cap;       /* soft cap of scores                                 */
    float k_scale;   /* of kv_scale=tensor                                 */
    float v_scale;
    unsigned long long score_arrays[4]; /* the score expression's arrays, f32 */
    unsigned score_counts[4];           /* elements of each                   */
    float score_scalars[8];
};
