/* SPDX-License-Identifier: Apache-2.0
 *
 * cache_host.h - what drivers of families that read KV caches share: a cache of
 * random bytes, its page table and the lengths of its sequences, made so that
 * whatever a kernel may not use shows.
 *
 * Blocks are given out at random; some stay unused and hold NaNs.  Behind the
 * last page of a sequence its row of the table names unused blocks, blocks that
 * there are not, and blocks of others.  Keys of a last page behind the length
 * are random like all others.
 */
#ifndef GROAT_KERNELS_CACHE_HOST_H
#define GROAT_KERNELS_CACHE_HOST_H

#include "shared.h"
#include "groat_tensor.h"

/* Where the rows of a sequence come from: kv_rows_from of row_indices.h. */
enum {
    GROAT__CACHE_PAGED,
    GROAT__CACHE_CONTIGUOUS,
    GROAT__CACHE_RAGGED,
    GROAT__CACHE_CONTINUOUS
};

typedef struct groat__cache {
    /* Given. */
    int64_t from, page;  /* page: 0 where from is not PAGED             */
    int64_t batch, keys; /* sequences; keys of the longest              */
    bool varied;         /* others are shorter, down to none            */
    int64_t room;        /* keys that tiles reach over, keys at least   */
    int64_t planes, layers, layer, heads, dim, elem_bytes;
    int64_t head_page; /* 1: pages are [heads, page, dim]             */
    int64_t row_bytes; /* from row to row; 0: packed                  */
    int64_t stride;    /* rows from block to block; 0: packed         */
    int64_t pitch;     /* of the page table; 0: what it must have     */
    /* Derived. */
    int64_t blocks, used;  /* all of the cache, those that are in use     */
    int64_t bytes;         /* of the buffer                               */
    int64_t table_entries; /* of the page table                           */
    groat_kv_cache cache;  /* as the library knows it, without an address */
    groat_kv_view view[2]; /* of K and of V, address from the buffer's    */
} groat__cache;

/* Derives the second half from the first, and row_bytes, stride and pitch where
 * they are 0.  Errors: INVALID, with `family` in front. */
groat_status groat__cache_plan(groat__cache *c, const char *family,
                               groat_error *error);

/* Bytes from token to token, and from head to head of a row (0 in HEAD_PAGE).
 */
int64_t groat__cache_head_bytes(const groat__cache *c);

/* Keys of a sequence. */
int64_t groat__cache_length(const groat__cache *c, int64_t sequence);

void groat__cache_fill(const groat__cache *c, uint64_t seed, void *data);
void groat__cache_fill_table(const groat__cache *c, uint64_t seed,
                             uint32_t *table);
void groat__cache_fill_lengths(const groat__cache *c, uint32_t *lengths);

/* The row of a key, before the head's rows are added; modulo 2^32. */
uint32_t groat__cache_row(const groat__cache *c, const uint32_t *table,
                          int64_t sequence, int64_t key);

/* Bytes from block to block, key to key and head to head of a plane, and
 * numbers likewise of scales that each key of a head has. */
typedef struct groat__cache_steps {
    uint64_t block_bytes, token_bytes, head_bytes;
    unsigned block_scales, token_scales, head_scales;
} groat__cache_steps;

groat__cache_steps groat__cache_steps_of(const groat__cache *c);

/* Bytes from the buffer's begin to a head's key (plane 0) or value (1). */
size_t groat__cache_place(const groat__cache *c, const uint32_t *table,
                          int plane, int64_t sequence, int64_t key,
                          int64_t head);
/* The number of a key's scale of a head among [blocks, page, heads], of pages
 * that are [heads, page, dim] among [blocks, heads, page]; paged and
 * contiguous. */
size_t groat__cache_scale(const groat__cache *c, const uint32_t *table,
                          int64_t sequence, int64_t key, int64_t head);

/* Bytes [first, first + bytes) of head `head` in row `row` of plane `plane`;
 * zeros outside of the cache and of the head.  In HEAD_PAGE rows count heads
 * and `head` is 0. */
void groat__cache_read(const groat__cache *c, const unsigned char *data,
                       int plane, int64_t row, int64_t head, int64_t first,
                       int64_t bytes, unsigned char *to);

/* Physical place of byte b of a slot, for a span of 16 (none), 32, 64 or 128
 * bytes. */
int64_t groat__cache_swizzle(int64_t b, int64_t span);

#endif
