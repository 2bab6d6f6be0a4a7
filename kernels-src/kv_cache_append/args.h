/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch arguments of kv_cache_append; the same bytes on host and device.  The
 * grid has one dimension: block_heads of all tokens' KV heads to a block.
 */
#pragma once

struct kv_cache_append_args {
    unsigned long long new_k;      /* [tokens, kv_heads, head_dim]            */
    unsigned long long new_v;      /* likewise                                */
    unsigned long long k;          /* of the keys' plane and layer, block 0   */
    unsigned long long v;          /* of the values'                          */
    unsigned long long page_table; /* [sequences, pitch] of u32: blocks       */
    unsigned long long lengths; /* [sequences] of u32: keys, the new ones too */
    unsigned long long starts;  /* [sequences + 1] of u32: first new token of *
                                 * each; 0: each has `each` of them           */
    unsigned long long positions; /* [tokens] of u32: rows of rope; 0: the    *
                                   * places of keys in their sequence         */
    unsigned long long rope; /* [rope_rows, rotated] of f32: cosines of a     *
                              * position, then its sines                      */
    unsigned long long k_scales;    /* [kv_heads] of f32, or as the strides   */
    unsigned long long v_scales;    /* say: of kv_scale=token written         */
    unsigned long long new_k_bytes; /* from token to token                    */
    unsigned long long new_v_bytes;
    unsigned long long block_bytes; /* from block to block of the cache       */
    unsigned long long token_bytes; /* from key to key of a block             */
    unsigned long long head_bytes;  /* from head to head of a block           */
    unsigned block_scales;          /* of kv_scale=token, likewise: numbers   */
    unsigned token_scales;
    unsigned head_scales;
    unsigned sequences;
    unsigned kv_heads;
    unsigned tokens; /* at most: those that no sequence has are left out      */
    unsigned each;
    unsigned pitch;  /* entries of the table from sequence to sequence        */
    unsigned most;   /* keys of a sequence: none is put behind them           */
    unsigned blocks; /* of the cache: none is put into another                */
    unsigned rope_rows; /* later positions count as the last one              */
    float k_scale;      /* of kv_scale=tensor                                 */
    float v_scale;
};
