/* SPDX-License-Identifier: Apache-2.0
 *
 * cache_host.h - shared by the drivers of families that read KV caches: a cache
 * of random bytes, its page table and the lengths of its sequences, made so
 * that reads of anything that a kernel must not use show.
 *
 * Blocks are assigned in random order; some stay unused and hold NaNs.  Past
 * the last page of a sequence, its row of the table names unused blocks, blocks
 * that do not exist, and blocks of others.  In a sequence's last page, keys
 * past its length are random like all others.
 */
#ifndef GROAT_KERNELS_CACHE_HOST_H
#define GROAT_KERNELS_CACHE_HOST_H

#include "shared.h"
#include "groat_tensor.h"

/* How the row of a key is found: kv_rows_from of row_indices.h. */
enum {
    GROAT__CACHE_PAGED,
    GROAT__CACHE_CONTIGUOUS,
    GROAT__CACHE_RAGGED,
    GROAT__CACHE_CONTINUOUS
};

typedef struct groat__cache {
    /* Set by the caller. */
    int64_t from, page;  /* page: 0 unless from is PAGED                */
    int64_t batch, keys; /* sequences; keys of the longest              */
    bool varied;         /* others are shorter, down to no keys         */
    int64_t room;        /* keys that tiles cover, at least `keys`      */
    int64_t planes, layers, layer, heads, dim, elem_bytes;
    int64_t head_page; /* 1: pages are [heads, page, dim]             */
    int64_t row_bytes; /* bytes from row to row; 0: packed            */
    int64_t stride;    /* rows from block to block; 0: packed         */
    int64_t pitch;     /* of the page table; 0: the least allowed     */
    /* Derived by groat__cache_plan(). */
    int64_t blocks, used;  /* blocks of the cache, those in use           */
    int64_t bytes;         /* size of the buffer                          */
    int64_t table_entries; /* size of the page table                      */
    groat_kv_cache cache;  /* the library's form, without an address      */
    groat_kv_view view[2]; /* of K and of V, relative to the buffer       */
} groat__cache;

/* Sets the derived fields, and row_bytes, stride and pitch if they are 0.
 * Errors: INVALID, with `family` in front. */
groat_status groat__cache_plan(groat__cache *c, const char *family,
                               groat_error *error);

/* Bytes from head to head in a row; 0 if pages are [heads, page, dim], whose
 * rows have one head. */
int64_t groat__cache_head_bytes(const groat__cache *c);

/* Number of keys of a sequence. */
int64_t groat__cache_length(const groat__cache *c, int64_t sequence);

void groat__cache_fill(const groat__cache *c, uint64_t seed, void *data);
void groat__cache_fill_table(const groat__cache *c, uint64_t seed,
                             uint32_t *table);
void groat__cache_fill_lengths(const groat__cache *c, uint32_t *lengths);

/* Row of a key, before the head's rows are added; modulo 2^32. */
uint32_t groat__cache_row(const groat__cache *c, const uint32_t *table,
                          int64_t sequence, int64_t key);

/* Bytes from block to block, key to key and head to head of a plane, and the
 * same in numbers for scales, one per key and head. */
typedef struct groat__cache_steps {
    uint64_t block_bytes, token_bytes, head_bytes;
    unsigned block_scales, token_scales, head_scales;
} groat__cache_steps;

groat__cache_steps groat__cache_steps_of(const groat__cache *c);

/* Byte offset in the buffer of a head's key (plane 0) or value (1). */
size_t groat__cache_place(const groat__cache *c, const uint32_t *table,
                          int plane, int64_t sequence, int64_t key,
                          int64_t head);
/* Index of the scale of a key and head in [blocks, page, heads], or in [blocks,
 * heads, page] if pages are [heads, page, dim]; for paged and contiguous
 * caches. */
size_t groat__cache_scale(const groat__cache *c, const uint32_t *table,
                          int64_t sequence, int64_t key, int64_t head);

/* Keys and values that one page table finds: two planes of a cache, or, where
 * values are narrower than keys, two caches of one plane each. */
typedef struct groat__cache_pair {
    groat__cache keys, values;
    bool is_apart; /* there are two caches */
} groat__cache_pair;

/* Plans both; keys is set as for groat__cache_plan(), but for planes.  Errors:
 * INVALID, with `family` in front. */
groat_status groat__cache_pair_plan(groat__cache_pair *p, int64_t value_dim,
                                    const char *family, groat_error *error);

/* Bytes of the values' own buffer; 0 if they are in that of keys. */
int64_t groat__cache_pair_value_bytes(const groat__cache_pair *p);

/* Elements of a key (plane 0) or value (1). */
int64_t groat__cache_pair_dim(const groat__cache_pair *p, int plane);

/* Byte offset in its buffer of a plane of the pair. */
uint64_t groat__cache_pair_start(const groat__cache_pair *p, int plane);

/* Byte offset in its buffer of a head's key (plane 0) or value (1). */
size_t groat__cache_pair_place(const groat__cache_pair *p,
                               const uint32_t *table, int plane,
                               int64_t sequence, int64_t key, int64_t head);

/* Reads bytes [first, first + bytes) of head `head` in row `row` of plane
 * `plane`; zeros outside of the cache and of the head.  If pages are [heads,
 * page, dim], rows count heads and `head` is 0. */
void groat__cache_read(const groat__cache *c, const unsigned char *data,
                       int plane, int64_t row, int64_t head, int64_t first,
                       int64_t bytes, unsigned char *to);

/* Physical place of byte b of a slot, for a swizzle span of 16 (none), 32, 64
 * or 128 bytes. */
int64_t groat__cache_swizzle(int64_t b, int64_t span);

#endif
