/* SPDX-License-Identifier: Apache-2.0
 *
 * groat_tensor.h - tensor maps for the copy engine, and KV caches as tensors.
 *
 * THE MANUAL IN SHORT
 *
 *   1. Describe the KV cache of the server once: groat_kv_cache.
 *   2. groat_kv_tensor_map() makes the map that the kernel of a spec reads; it
 *      is a field of the kernel's launch arguments.
 *      groat_query_tensor_map() makes that of the queries.
 *   3. The kernel names a row of the cache by the numbers of groat_kv_view.
 *
 * A tensor that is no KV cache is described as a groat_tensor and given to
 * groat_tensor_map_make().
 *
 * A tensor map tells the copy engine of NVIDIA's sm_90 and later (TMA) about a
 * tensor in device memory and the box that one copy takes out of it.  On cuda
 * targets the driver makes it, on cpu targets it is what the judge reads.  Both
 * refuse the same tensors, before the driver is called; the text of the error
 * names the field, the value seen and the values allowed.
 *
 * Dimensions are listed fastest first.  What a box reads outside of the tensor
 * is zeros, and counts as bytes copied.
 *
 * THREADS.  Every function here may be called from any thread at any time.
 */
#ifndef GROAT_TENSOR_H
#define GROAT_TENSOR_H

#include <groat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tensors and their maps -------------------------------------------- */

/* A tensor map, in the target's own format.  Kernels get the same type from
 * common/tensor_map.h; either header may come first. */
#ifndef GROAT_TENSOR_MAP
#define GROAT_TENSOR_MAP
#ifdef __cplusplus
struct alignas(64) groat_tensor_map {
    unsigned long long words[16];
};
#elif defined(__GNUC__)
typedef struct __attribute__((aligned(64))) groat_tensor_map {
    unsigned long long words[16];
} groat_tensor_map;
#else
typedef struct groat_tensor_map {
    _Alignas(64) unsigned long long words[16];
} groat_tensor_map;
#endif
#endif

/* The span of bytes within which the 16-byte pieces of a row are XORed into
 * other places of shared memory. */
typedef enum groat_swizzle {
    GROAT_SWIZZLE_NONE = 0,
    GROAT_SWIZZLE_32 = 1,
    GROAT_SWIZZLE_64 = 2,
    GROAT_SWIZZLE_128 = 3
} groat_swizzle;

typedef struct groat_tensor {
    size_t size;
    uint64_t address;    /* in device memory; a multiple of 16              */
    unsigned elem_bytes; /* 1, 2, 4 or 8                                    */
    unsigned rank;       /* 1 to 5                                          */
    uint64_t dims[5];    /* elements; 1 to 2^32                             */
    uint64_t strides[4]; /* bytes, of dims[1] and on; multiples of 16 below *
                          * 2^40; each is at least what the dimensions of   *
                          * smaller strides span, elements share no byte    */
    unsigned box[5];     /* elements; 1 to 256; box[0] is a multiple of 16  *
                          * bytes, within the swizzle's span if it has one; *
                          * the whole box is 232448 bytes at most, which is *
                          * what a block's shared memory holds              */
    groat_swizzle swizzle;
} groat_tensor;

#define GROAT_TENSOR_INIT                                                      \
    {                                                                          \
        sizeof(groat_tensor), 0, 0, 0, {0}, {0}, {0}, GROAT_SWIZZLE_NONE       \
    }

/* Makes the map of a tensor for a target.
 *
 * target  NULL: groat_default_target().
 * out     the caller's, aligned to 64 bytes.  Nothing in it is to be freed.  It
 *         refers to the tensor's memory and does not keep it alive.
 *
 * Errors: INVALID (a field of tensor; a target without tensor copies, such as
 * all of hip), NO_DEVICE (a driver older than CUDA 12.0), NO_MEMORY. */
GROAT_API groat_status groat_tensor_map_make(groat_context *context,
                                             const char *target,
                                             const groat_tensor *tensor,
                                             groat_tensor_map *out,
                                             groat_error *error);

/* ---- KV caches --------------------------------------------------------- */

/* The order of a cache's dimensions, slowest first. */
typedef enum groat_kv_layout {
    GROAT_KV_PAGE_HEAD = 0, /* [blocks, planes, layers, page, heads, dim] */
    GROAT_KV_HEAD_PAGE = 1  /* [blocks, planes, layers, heads, page, dim] */
} groat_kv_layout;

/* A KV cache in device memory.  A cache that is not paged has one block per
 * sequence, of as many tokens as the longest sequence may have; ragged
 * sequences are one block.  K and V in separate buffers are two caches of one
 * plane each. */
typedef struct groat_kv_cache {
    size_t size;
    uint64_t address; /* a multiple of 16                                */
    groat_kv_layout layout;
    unsigned elem_bytes;   /* 1, 2, 4 or 8                                    */
    uint64_t blocks;       /* 1 or more                                       */
    unsigned planes;       /* 2: K and V; 1: one that serves as both (MLA)    */
    unsigned layers;       /* 1 or more                                       */
    unsigned page;         /* tokens of a block; 1 or more                    */
    unsigned heads;        /* 1 or more                                       */
    unsigned dim;          /* elements of a head; a multiple of 16 bytes      */
    uint64_t block_stride; /* bytes from one to the next; 0: packed.  All are */
    uint64_t plane_stride; /* multiples of 16.  Those of blocks, and of heads */
    uint64_t layer_stride; /* in HEAD_PAGE, are multiples of token_stride     */
    uint64_t token_stride;
    uint64_t head_stride;
} groat_kv_cache;

#define GROAT_KV_CACHE_INIT                                                    \
    {                                                                          \
        sizeof(groat_kv_cache), 0, GROAT_KV_PAGE_HEAD, 0, 0, 0, 0, 0, 0, 0, 0, \
            0, 0, 0, 0                                                         \
    }

/* Planes of a cache.  In a cache of one plane both numbers name that plane. */
enum { GROAT_KV_KEYS = 0, GROAT_KV_VALUES = 1 };

/* The rows of one plane of one layer.  A row is the dim elements of one token:
 * of all heads in PAGE_HEAD, of one head in HEAD_PAGE.  Token t of a sequence
 * and head h have this row, which a kernel gives as a coordinate:
 *
 *     table[t / page] * block_rows + h * head_rows + t % page
 */
typedef struct groat_kv_view {
    size_t size;
    uint64_t address;    /* of row 0                                        */
    uint64_t rows;       /* that a copy may name; less than 2^31            */
    uint64_t block_rows; /* from one block to the next                      */
    uint64_t head_rows;  /* from one head to the next; 0 in PAGE_HEAD       */
} groat_kv_view;

/* Computes the view of one plane of one layer.  view->size must be set.
 * Errors: INVALID (a field of the cache, plane, layer, view). */
GROAT_API groat_status groat_kv_view_get(const groat_kv_cache *cache,
                                         unsigned plane, unsigned layer,
                                         groat_kv_view *view,
                                         groat_error *error);

/* Which elements one box takes.  A chunk is the elements of one swizzle span
 * (16 bytes without a swizzle), g of them; F is the number of chunks in a row
 * of the tile; r is the number of rows of a page that belong to one tile.
 *
 *   form, order         dimensions                  box            coordinates
 *   BASE                dim, heads, rows            g, 1, r        col, head,
 *                                                                  row
 *   BASE, INNER         the same                    g, 1, 8        the same
 *   FOLDED, OUTER       g, rows, dim/g, heads       g, r, F, 1     0, row,
 *                                                                  col/g, head
 *   FOLDED, INNER       g, 8, dim/g, rows/8, heads  g, 8, F, r/8,  0, 0, col/g,
 *                                                   1              row/8, head
 *   FLAT                heads*dim, rows             g, r           head*dim +
 *                                                                  col, row
 *   FLAT, INNER         the same                    g, 8           the same
 *
 * In HEAD_PAGE a map has one head, 0: the head is part of the row. */
typedef enum groat_kv_form {
    GROAT_KV_BASE = 0,
    GROAT_KV_FOLDED = 1, /* one box brings all chunks                       */
    GROAT_KV_FLAT = 2    /* heads side by side in one dimension             */
} groat_kv_form;

/* The order of the chunks of a tile in shared memory. */
typedef enum groat_kv_order {
    GROAT_KV_CHUNK_OUTER = 0, /* all rows of a chunk, then the next chunk     */
    GROAT_KV_CHUNK_INNER = 1  /* all chunks of 8 rows, then the next 8 rows   */
} groat_kv_order;

typedef struct groat_kv_box {
    size_t size;
    groat_kv_form form;
    groat_kv_order order;
    groat_swizzle swizzle; /* of FLAT, INNER: none or 128                    */
    unsigned page;         /* the cache's; 0: rows follow each other and a   *
                            * tile may start anywhere (not FOLDED, INNER)    */
    unsigned tile_rows; /* a multiple of 8; divides page or is divided by it; *
                         * of FLAT no more than page                         */
    unsigned tile_cols; /* whole chunks; 0: dim, rounded up to chunks        */
    unsigned slot_rows; /* OUTER: rows from chunk to chunk in shared memory,  *
                         * a multiple of 8; 0: tile_rows                     */
    unsigned rows;      /* of a box: r (page, where that is less than        *
                         * tile_rows, else tile_rows), of INNER unfolded 8;  *
                         * 0: just that                                      */
} groat_kv_box;

#define GROAT_KV_BOX_INIT                                                      \
    {                                                                          \
        sizeof(groat_kv_box), GROAT_KV_BASE, GROAT_KV_CHUNK_OUTER,             \
            GROAT_SWIZZLE_NONE, 0, 0, 0, 0, 0                                  \
    }

/* Returns F, the number of chunks that one folded box may take: all chunks of a
 * tile's row where tile, page and dim allow it, else 1.  box->form is ignored,
 * and nothing else is checked. */
GROAT_API unsigned groat_kv_fold(const groat_kv_cache *cache,
                                 const groat_kv_box *box);

/* Describes one plane of one layer, and the box, as a tensor.  out->size must
 * be set.  Errors:
 *
 *   INVALID  a field of cache, box or out; the form is FOLDED and
 *            groat_kv_fold() is 1; a page of the tile would land at an address
 *            in shared memory that is no multiple of 128 bytes; a tile has 2^20
 *            bytes or more */
GROAT_API groat_status groat_kv_tensor(const groat_kv_cache *cache,
                                       unsigned plane, unsigned layer,
                                       const groat_kv_box *box,
                                       groat_tensor *out, groat_error *error);

/* Makes the map of one plane of one layer for the kernel of a spec, on the
 * spec's target.  The context keeps the last 256 maps and returns them for
 * repeated calls.
 *
 * box  NULL: it follows from these constants of the spec, which are parameters
 *      or derived:
 *
 *     BN          tile_rows
 *     page_size   page
 *     head_dim    the cache's dim
 *     elem_bytes  the cache's
 *     swizzle     bytes of the span: 16 or 0 (none), 32, 64, 128
 *
 * and from these, where the spec has them: the first of a pair for keys, the
 * second for values:
 *
 *     k_tile_rows v_tile_rows  tile_rows, else BN
 *     k_tile_cols v_tile_cols  tile_cols, else all of head_dim
 *     k_slot_rows v_slot_rows  slot_rows, else those of the tile
 *     k_box_rows v_box_rows    rows, else box_rows, else what follows
 *     k_form v_form            0: BASE, 1: FOLDED and OUTER (rank 4), 2: FOLDED
 *                              and INNER (rank 5); else fold, the same numbers
 *     k_layout v_layout        of BASE, 1: INNER
 *
 * Errors: INVALID (the spec lacks a constant, or has another value than the
 * cache); as of groat_kv_tensor() and groat_tensor_map_make(). */
GROAT_API groat_status groat_kv_tensor_map(const groat_spec *spec,
                                           const groat_kv_cache *cache,
                                           unsigned plane, unsigned layer,
                                           const groat_kv_box *box,
                                           groat_tensor_map *out,
                                           groat_error *error);

/* Makes the map of the queries of a kernel's spec: [rows, heads, head_dim]
 * numbers of elem_bytes, of which a box has q_rows rows of one head and the
 * columns of one span of the swizzle; all four are constants of the spec.
 *
 * address  in device memory; a multiple of 16
 * rows     sequences times queries of each; 1 or more
 * heads    query heads; 1 or more
 *
 * Errors: INVALID (the spec lacks a constant, or has no queries: q_rows is 0);
 * as of groat_tensor_map_make(). */
GROAT_API groat_status groat_query_tensor_map(const groat_spec *spec,
                                              uint64_t address, uint64_t rows,
                                              unsigned heads,
                                              groat_tensor_map *out,
                                              groat_error *error);

#ifdef __cplusplus
}
#endif

#endif /* GROAT_TENSOR_H */
