/* SPDX-License-Identifier: Apache-2.0
 *
 * cache_host.c makes KV caches for drivers: cache, page table and lengths,
 * and finds the row and bytes of a key.  A family's own host.c knows its
 * tiles.
 * Invariant: nothing here is shared with the kernels, and all three buffers
 * follow from the description and a seed, in whatever order they are made.
 * Locking: none, no state.
 */
#include "cache_host.h"

#include <string.h>

/* Unused blocks of a cache; page-table columns past the last page. */
enum { SPARE = 3, TABLE_GROUP = 8, TABLE_TAIL = 16 };

/* An address that is never accessed: 0 is not a valid one. */
enum { BASE = 4096 };

static int64_t round_up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* ---- descriptions -------------------------------------------------------- */

int64_t groat__cache_length(const groat__cache *c, int64_t sequence)
{
    if (!c->varied || sequence == 0)
        return c->keys;
    return (int64_t)(groat__host_mix((uint64_t)sequence) %
                     (uint64_t)(c->keys + 1));
}

static int64_t pages_of(const groat__cache *c, int64_t sequence)
{
    return round_up(groat__cache_length(c, sequence), c->page) / c->page;
}

/* Computes the tokens per block of the cache, and the blocks in use. */
static void measure(groat__cache *c, int64_t *tokens)
{
    /* Tiles reach past the end of the last sequence and of the cache. */
    *tokens = c->keys;
    c->used = c->batch;
    if (c->from == GROAT__CACHE_PAGED) {
        *tokens = c->page;
        c->used = 0;
        for (int64_t b = 0; b < c->batch; b++)
            c->used += pages_of(c, b);
    } else if (c->from == GROAT__CACHE_RAGGED) {
        *tokens = 0;
        for (int64_t b = 0; b < c->batch; b++)
            *tokens += groat__cache_length(c, b);
        c->used = 1;
    }
    if (*tokens == 0) /* a block has at least one */
        *tokens = 1;
    c->blocks =
        c->from == GROAT__CACHE_PAGED || c->from == GROAT__CACHE_CONTINUOUS
            ? c->used + SPARE
            : c->used;
}

static groat_status plan_table(groat__cache *c, const char *family,
                               groat_error *error)
{
    int64_t pages = c->from == GROAT__CACHE_PAGED
                        ? round_up(c->room, c->page) / c->page
                        : 0;
    int64_t least = round_up(c->keys, c->page > 0 ? c->page : 1);

    if (c->from != GROAT__CACHE_PAGED) {
        c->table_entries = c->batch;
        return GROAT_OK;
    }
    least = round_up(least / c->page, TABLE_GROUP) + TABLE_TAIL;
    least = least > round_up(pages, TABLE_GROUP) ? least
                                                 : round_up(pages, TABLE_GROUP);
    if (c->pitch == 0)
        c->pitch = least;
    if (c->pitch < least)
        return groat__host_refuse(
            error, family, "pitch", c->pitch,
            "a sequence needs at least %lld entries of the page table",
            (long long)least);
    if (c->pitch % TABLE_GROUP != 0)
        return groat__host_refuse(error, family, "pitch", c->pitch,
                                  "entries are read 8 at a time, so it must be "
                                  "a multiple of 8");
    c->table_entries = c->batch * c->pitch;
    return GROAT_OK;
}

/* Rows of a packed block. */
static int64_t packed_rows(const groat__cache *c, int64_t tokens)
{
    return c->planes * c->layers * tokens * (c->head_page ? c->heads : 1);
}

/* The library checks no pitch of a single block, but it sizes the buffer. */
static groat_status check_stride(const groat__cache *c, int64_t tokens,
                                 const char *family, groat_error *error)
{
    if (c->blocks > 1 || c->stride == 0 || c->stride >= packed_rows(c, tokens))
        return GROAT_OK;
    return groat__host_refuse(
        error, family, "stride", c->stride,
        "the one block of the cache needs at least %lld rows",
        (long long)packed_rows(c, tokens));
}

static void describe(groat__cache *c, int64_t tokens)
{
    groat_kv_cache *cache = &c->cache;
    int64_t vector = c->dim * c->elem_bytes;

    *cache = (groat_kv_cache)GROAT_KV_CACHE_INIT;
    cache->address = BASE;
    cache->layout = c->head_page ? GROAT_KV_HEAD_PAGE : GROAT_KV_PAGE_HEAD;
    cache->elem_bytes = (unsigned)c->elem_bytes;
    cache->blocks = (uint64_t)c->blocks;
    cache->planes = (unsigned)c->planes;
    cache->layers = (unsigned)c->layers;
    cache->page = (unsigned)tokens;
    cache->heads = (unsigned)c->heads;
    cache->dim = (unsigned)c->dim;
    if (c->row_bytes == 0)
        c->row_bytes = c->head_page ? vector : c->heads * vector;
    if (c->stride == 0)
        c->stride = packed_rows(c, tokens);
    cache->token_stride = (uint64_t)c->row_bytes;
    cache->block_stride = (uint64_t)(c->stride * c->row_bytes);
}

groat_status groat__cache_plan(groat__cache *c, const char *family,
                               groat_error *error)
{
    groat_status status;
    int64_t tokens;

    measure(c, &tokens);
    if (tokens > INT32_MAX)
        return groat__host_refuse(error, family, "tokens", tokens,
                                  "a cache has less than 2147483648 rows");
    status = plan_table(c, family, error);
    if (status == GROAT_OK)
        status = check_stride(c, tokens, family, error);
    if (status != GROAT_OK)
        return status;
    describe(c, tokens);
    for (unsigned plane = 0; plane < 2; plane++) {
        c->view[plane].size = sizeof(c->view[plane]);
        status = groat_kv_view_get(&c->cache, plane, (unsigned)c->layer,
                                   &c->view[plane], error);
        if (status != GROAT_OK)
            return status;
        c->view[plane].address -= BASE;
        /* A single block: the view has no pitch, and none is needed. */
        if (c->blocks == 1)
            c->view[plane].block_rows = (uint64_t)c->stride;
    }
    c->bytes = c->blocks * c->stride * c->row_bytes;
    c->cache.address = 0;
    return GROAT_OK;
}

int64_t groat__cache_head_bytes(const groat__cache *c)
{
    return c->head_page ? 0 : c->dim * c->elem_bytes;
}

/* ---- input --------------------------------------------------------------- */

/* Returns element n of a random permutation of all blocks: invertible steps on
 * the next power of two, repeated until the result is below the block count. */
static int64_t block_at(const groat__cache *c, int64_t n)
{
    uint64_t mask = 1;
    uint64_t x = (uint64_t)n;
    int bits = 0;

    while (mask < (uint64_t)c->blocks)
        mask <<= 1;
    for (uint64_t m = mask; m > 1; m >>= 1)
        bits++;
    mask--;
    do {
        for (int round = 0; round < 3; round++) {
            x = (x * 0x9E3779B97F4A7C15u + 0xBF58476D1CE4E5B9u) & mask;
            x ^= x >> ((bits + 1) / 2 > 0 ? (bits + 1) / 2 : 1);
        }
    } while (x >= (uint64_t)c->blocks);
    return (int64_t)x;
}

void groat__cache_fill(const groat__cache *c, uint64_t seed, void *data)
{
    int64_t block = c->stride * c->row_bytes;
    unsigned char *bytes = data;

    groat__host_fill(seed, data, (size_t)c->bytes);
    for (int64_t n = c->used; n < c->blocks; n++)
        memset(bytes + block_at(c, n) * block, 0xFF, (size_t)block);
}

/* Returns a page-table entry for past a sequence's last page. */
static uint32_t trap(const groat__cache *c, uint64_t *state)
{
    uint64_t random = groat__host_draw(state);

    switch (random % 3) {
    case 0:
        return (uint32_t)block_at(c, c->used + (int64_t)(random >> 32) % SPARE);
    case 1:
        return UINT32_MAX - (uint32_t)(random >> 40);
    default:
        return (uint32_t)block_at(
            c, (int64_t)((random >> 32) % (uint64_t)c->blocks));
    }
}

static void fill_pages(const groat__cache *c, uint64_t seed, uint32_t *table)
{
    uint64_t state = seed;
    int64_t next = 0;

    for (int64_t b = 0; b < c->batch; b++) {
        int64_t pages = pages_of(c, b);

        for (int64_t i = 0; i < c->pitch; i++)
            table[b * c->pitch + i] =
                i < pages ? (uint32_t)block_at(c, next++) : trap(c, &state);
    }
}

void groat__cache_fill_table(const groat__cache *c, uint64_t seed,
                             uint32_t *table)
{
    uint32_t first = 0;

    if (c->from == GROAT__CACHE_PAGED) {
        fill_pages(c, seed, table);
        return;
    }
    for (int64_t b = 0; b < c->batch; b++) {
        table[b] = c->from == GROAT__CACHE_RAGGED ? first
                   : c->from == GROAT__CACHE_CONTINUOUS
                       ? (uint32_t)block_at(c, b)
                       : UINT32_MAX; /* not read */
        first += (uint32_t)groat__cache_length(c, b);
    }
}

void groat__cache_fill_lengths(const groat__cache *c, uint32_t *lengths)
{
    for (int64_t b = 0; b < c->batch; b++)
        lengths[b] = (uint32_t)groat__cache_length(c, b);
}

/* ---- expected cache contents --------------------------------------------- */

uint32_t groat__cache_row(const groat__cache *c, const uint32_t *table,
                          int64_t sequence, int64_t key)
{
    uint32_t stride = (uint32_t)c->view[0].block_rows;

    switch (c->from) {
    case GROAT__CACHE_PAGED:
        return table[sequence * c->pitch + key / c->page] * stride +
               (uint32_t)(key % c->page);
    case GROAT__CACHE_CONTIGUOUS:
        return (uint32_t)sequence * stride + (uint32_t)key;
    case GROAT__CACHE_RAGGED:
        return table[sequence] + (uint32_t)key;
    default:
        return table[sequence] * stride + (uint32_t)key;
    }
}

groat__cache_steps groat__cache_steps_of(const groat__cache *c)
{
    uint64_t row = (uint64_t)c->row_bytes;

    return (groat__cache_steps){
        .block_bytes = c->view[0].block_rows * row,
        .token_bytes = row,
        .head_bytes = c->head_page ? c->view[0].head_rows * row
                                   : (uint64_t)groat__cache_head_bytes(c),
        .block_scales = c->cache.page * c->cache.heads,
        .token_scales = c->head_page ? 1 : c->cache.heads,
        .head_scales = c->head_page ? c->cache.page : 1,
    };
}

size_t groat__cache_place(const groat__cache *c, const uint32_t *table,
                          int plane, int64_t sequence, int64_t key,
                          int64_t head)
{
    uint64_t row = groat__cache_row(c, table, sequence, key);

    row += (uint64_t)head * c->view[plane].head_rows;
    return (size_t)(c->view[plane].address + row * (uint64_t)c->row_bytes +
                    (uint64_t)(head * groat__cache_head_bytes(c)));
}

groat_status groat__cache_pair_plan(groat__cache_pair *p, int64_t value_dim,
                                    const char *family, groat_error *error)
{
    groat_status status;

    p->is_apart = value_dim != p->keys.dim;
    p->keys.planes = p->is_apart ? 1 : 2;
    p->values = p->keys;
    p->values.dim = value_dim;
    status = groat__cache_plan(&p->keys, family, error);
    return status == GROAT_OK ? groat__cache_plan(&p->values, family, error)
                              : status;
}

int64_t groat__cache_pair_value_bytes(const groat__cache_pair *p)
{
    return p->is_apart ? p->values.bytes : 0;
}

int64_t groat__cache_pair_dim(const groat__cache_pair *p, int plane)
{
    return plane == 0 ? p->keys.dim : p->values.dim;
}

uint64_t groat__cache_pair_start(const groat__cache_pair *p, int plane)
{
    return plane == 0 ? p->keys.view[0].address
                      : p->values.view[p->is_apart ? 0 : 1].address;
}

size_t groat__cache_pair_place(const groat__cache_pair *p,
                               const uint32_t *table, int plane,
                               int64_t sequence, int64_t key, int64_t head)
{
    return groat__cache_place(plane == 0 ? &p->keys : &p->values, table,
                              p->is_apart ? 0 : plane, sequence, key, head);
}

size_t groat__cache_scale(const groat__cache *c, const uint32_t *table,
                          int64_t sequence, int64_t key, int64_t head)
{
    int64_t page = c->cache.page, heads = c->heads;
    int64_t block =
        c->page > 0 ? table[sequence * c->pitch + key / page] : sequence;

    key %= page;
    return (size_t)(block * page * heads +
                    (c->head_page ? head * page + key : key * heads + head));
}

void groat__cache_read(const groat__cache *c, const unsigned char *data,
                       int plane, int64_t row, int64_t head, int64_t first,
                       int64_t bytes, unsigned char *to)
{
    const groat_kv_view *view = &c->view[plane];
    int64_t vector = c->dim * c->elem_bytes;
    int64_t inside = vector - first;

    inside = inside < 0 ? 0 : inside < bytes ? inside : bytes;
    if (row < 0 || row >= (int64_t)view->rows)
        inside = 0;
    if (inside > 0)
        memcpy(to,
               data + view->address + row * c->row_bytes + head * vector +
                   first,
               (size_t)inside);
    memset(to + inside, 0, (size_t)(bytes - inside));
}

int64_t groat__cache_swizzle(int64_t b, int64_t span)
{
    return b ^ (((b >> 7) & (span / 16 - 1)) << 4);
}
