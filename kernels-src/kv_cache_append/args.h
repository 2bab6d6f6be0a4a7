/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch arguments of kv_cache_append, the same on host and device.  The grid
 * is one-dimensional; a block takes block_heads of all tokens' KV heads.
 */
#pragma once

struct kv_cache_append_args {
    unsigned long long new_k;      /* [tokens, kv_heads, head_dim]            */
    unsigned long long new_v;      /* [tokens, kv_heads, value_dim]           */
    unsigned long long k;          /* plane and layer of the keys, block 0    */
    unsigned long long v;          /* plane and layer of the values           */
    unsigned long long page_table; /* [sequences, pitch] of u32: blocks       */
    unsigned long long lengths; /* [sequences] of u32: keys, new ones too     */
    unsigned long long starts;  /* [sequences + 1] of u32: first new token of *
                                 * each; 0: each has `each` new tokens        */
    unsigned long long positions; /* [tokens] of u32: rows of rope; 0: a      *
                                   * key's place in its sequence              */
    unsigned long long rope; /* [rope_rows, rotated] of f32: cosines of a     *
                              * position, then its sines                      */
    unsigned long long k_scales;    /* [kv_heads] of f32; of kv_scale=token,  */
    unsigned long long v_scales;    /* written, at the strides below          */
    unsigned long long new_k_bytes; /* bytes from token to token              */
    unsigned long long new_v_bytes;
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
    unsigned tokens; /* at most: tokens of no sequence are skipped            */
    unsigned each;
    unsigned pitch;  /* table entries from sequence to sequence               */
    unsigned most;   /* keys of a sequence: later ones are not stored         */
    unsigned blocks; /* of the cache: keys for other blocks are not stored    */
    unsigned rope_rows; /* positions past the last use the last               */
    float k_scale;      /* of kv_scale=tensor                                 */
    float v_scale;
};
