/* SPDX-License-Identifier: Apache-2.0
 *
 * walk.h - the expected output of kv_producer_pipeline: the tiles of a block in
 * the order of its ring, the boxes of each piece, and where the bytes of each
 * box go.
 */
#ifndef GROAT_KERNELS_KV_PRODUCER_PIPELINE_WALK_H
#define GROAT_KERNELS_KV_PRODUCER_PIPELINE_WALK_H

#include "kernels-src/driver/kv_host.h"

#define FAMILY "kv_producer_pipeline"

/* Run-time arguments, in the order of the driver's. */
enum { NUM_KEYS, SEQUENCES, KV_HEADS, GROUP, QUERY_COUNT, TEAMS };

/* In the order of params.def. */
enum { IMAGE, TRACE, ISSUES, STREAM, SCORES, OUTPUT };
enum { SINGLE, PAIR_LOCAL, PAIR_MULTICAST, PAIR_SM100 };
enum { IN_TURN, AHEAD, ONE_Q, SPLIT };

/* Input buffers; the queries and P follow, if there are any. */
enum { CACHE, TABLE, LENGTHS, INPUTS };

enum { SPARE_BLOCKS = 3 };

/* The constants of a spec. */
typedef struct groat__walk_shape {
    int64_t entry, dtype, elem_bytes, depth, padded_depth, page_size, head_page;
    int64_t mode, order, swizzle, granule, k_inner, v_inner, fold, ctas, halves;
    int64_t BM, q_tiles, q_rows, q_bytes, BN, parts, pieces, ring_pieces;
    int64_t k_rows, k_cols, v_rows, v_cols, slot_bytes, kv_bytes, slots;
    int64_t cells, zeros, consumers, ring_at;
} groat__walk_shape;

/* The inputs from which an expectation is made. */
typedef struct groat__walk_scene {
    groat__walk_shape s;
    const int64_t *v;
    const unsigned char *cache;
    const uint32_t *table, *lengths;
    const unsigned char *queries;
    const uint16_t *weights;
} groat__walk_scene;

groat__walk_shape groat__walk_shape_of(const groat_spec *spec);

/* Output bytes of one block, for the entries without products. */
int64_t groat__walk_bytes(const groat__walk_shape *s, const int64_t *v);

/* Returns the elements of a key's row of K or of V. */
const unsigned char *groat__walk_key(const groat__walk_scene *c,
                                     int64_t sequence, int64_t head,
                                     bool values, int64_t key);

/* Computes the blocks' output, entries without products.  Errors: NO_MEMORY. */
groat_status groat__walk_expect(const groat__walk_scene *c, const groat_plan *p,
                                unsigned char *data, groat_error *error);

static inline bool is_product(const groat__walk_shape *s)
{
    return s->entry == SCORES || s->entry == OUTPUT;
}

static inline int64_t divup(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* The layer in use: a stream's cache has one layer, other caches two. */
static inline unsigned layer_of(const groat__walk_shape *s)
{
    return s->entry == STREAM ? 0 : 1;
}

static inline int64_t page_of(const groat__walk_shape *s, const int64_t *v)
{
    if (s->page_size > 0)
        return s->page_size;
    return v[NUM_KEYS] > 0 ? v[NUM_KEYS] : 1;
}

static inline int64_t pages_of(const groat__walk_shape *s, const int64_t *v)
{
    return divup(v[NUM_KEYS], page_of(s, v));
}

static inline int64_t blocks_of(const groat__walk_shape *s, const int64_t *v)
{
    return s->page_size > 0 ? v[SEQUENCES] * pages_of(s, v) + SPARE_BLOCKS
                            : v[SEQUENCES];
}

static inline int64_t tiles_of(const groat__walk_shape *s, int64_t keys)
{
    return divup(keys, s->BN);
}

/* Entries from sequence to sequence: room for whole tiles, and what
 * row_indices.h requires. */
static inline int64_t pitch_of(const groat__walk_shape *s, const int64_t *v)
{
    int64_t pages = pages_of(s, v);
    int64_t in_tile = s->page_size > 0 ? divup(s->BN, s->page_size) : 1;
    int64_t least = (pages + 7) / 8 * 8 + 16;
    int64_t whole = (divup(pages, in_tile) * in_tile + 7) / 8 * 8;

    return least > whole ? least : whole;
}

static inline int64_t query_heads(const int64_t *v)
{
    return v[KV_HEADS] * v[GROUP];
}

#endif
