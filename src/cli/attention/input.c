/* SPDX-License-Identifier: Apache-2.0
 *
 * input.c makes the inputs of a decode: a cache with its pages in random order
 * and NaNs wherever no sequence has a key, and random numbers for the rest.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/attention/attention.h"
#include "kernels-src/driver/shared.h"

/* Blocks that belong to no sequence; the most bytes of a cache. */
enum { SPARE = 3, NAN_BYTE = 0xFF };
static const uint64_t most_bytes = (uint64_t)1 << 36;

float groat__decode_draw(uint64_t *state, double least, double most)
{
    return (float)(least + (most - least) *
                               (double)(groat__host_draw(state) >> 11) *
                               0x1p-53);
}

/* Writes random numbers of either sign and magnitude 0.5 to 2, eight bytes at a
 * time, from a mask of random bits and a mask of set bits per type. */
static void put_numbers(groat_decode_dtype dtype, uint64_t *state, void *to,
                        size_t bytes)
{
    static const struct {
        uint64_t free, set;
    } masks[] = {{0x80FF80FF80FF80FFu, 0x3F003F003F003F00u},
                 {0x87FF87FF87FF87FFu, 0x3800380038003800u},
                 {0x8F8F8F8F8F8F8F8Fu, 0x3030303030303030u}};

    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t x =
            (groat__host_draw(state) & masks[dtype].free) | masks[dtype].set;

        memcpy((char *)to + at, &x, sizeof(x));
    }
}

/* ---- sizes --------------------------------------------------------------- */

static groat_status measure(groat__decode_input *in, groat_error *error)
{
    const groat_decode_shape *s = &in->shape;
    unsigned page = s->page > 0 ? s->page : s->keys;
    unsigned bytes = s->kv_dtype == GROAT_DECODE_E4M3 ? 1 : 2;
    unsigned value_dim = s->value_dim > 0 ? s->value_dim : s->head_dim;
    size_t queries = (size_t)s->sequences * s->q_len * s->heads;
    uint64_t vectors, row = ((uint64_t)s->head_dim + value_dim) * bytes;

    in->pitch = (s->keys + page - 1) / page;
    in->keys = (groat_kv_cache){.size = sizeof(in->keys),
                                .layout = s->layout,
                                .elem_bytes = bytes,
                                .planes = 1,
                                .layers = 1,
                                .page = page,
                                .heads = s->kv_heads,
                                .dim = s->head_dim};
    in->keys.blocks = (uint64_t)s->sequences * in->pitch + SPARE;
    in->values = in->keys;
    in->values.dim = value_dim;
    vectors = in->keys.blocks * page * s->kv_heads;
    in->query_bytes = queries * s->head_dim * 2;
    in->output_bytes = queries * value_dim * 2;
    if (vectors > most_bytes || row > most_bytes ||
        vectors > most_bytes / (row > 0 ? row : 1))
        return groat__fail(error, GROAT_INVALID,
                           "a cache of %u sequences of %u keys has more "
                           "than %llu bytes",
                           s->sequences, s->keys,
                           (unsigned long long)most_bytes);
    in->key_bytes = (size_t)(vectors * s->head_dim * bytes);
    in->cache_bytes = (size_t)(vectors * row);
    in->scale_count =
        s->kv_dtype == GROAT_DECODE_E4M3 && s->kv_scale == GROAT_DECODE_OF_TOKEN
            ? (size_t)vectors
            : s->kv_heads;
    in->fact_count = 2 * (size_t)s->heads + 2 * in->scale_count;
    return GROAT_OK;
}

static groat_status take_memory(groat__decode_input *in, groat_error *error)
{
    const groat_decode_shape *s = &in->shape;

    in->lengths = calloc(s->sequences, sizeof(*in->lengths));
    in->table = calloc((size_t)in->keys.blocks, sizeof(*in->table));
    in->tree = calloc((size_t)s->sequences * s->q_len, sizeof(*in->tree));
    in->bytes = malloc(in->cache_bytes);
    in->queries = malloc(in->query_bytes);
    in->facts = calloc(in->fact_count, sizeof(*in->facts));
    if (in->lengths == NULL || in->table == NULL || in->tree == NULL ||
        in->bytes == NULL || in->queries == NULL || in->facts == NULL)
        return groat__fail(error, GROAT_NO_MEMORY,
                           "no memory for a cache of %zu bytes",
                           in->cache_bytes);
    return GROAT_OK;
}

/* ---- contents ------------------------------------------------------------ */

/* Puts all blocks in random order; sequences take the first ones. */
static void shuffle_blocks(groat__decode_input *in, uint64_t *state)
{
    for (size_t i = 0; i < in->keys.blocks; i++)
        in->table[i] = (uint32_t)i;
    for (size_t i = in->keys.blocks - 1; i > 0 && in->shape.page > 0; i--) {
        size_t other = groat__host_draw(state) % (i + 1);
        uint32_t block = in->table[i];

        in->table[i] = in->table[other];
        in->table[other] = block;
    }
}

/* Fills the vectors [0, count) of a block, in all heads. */
static void fill_block(const groat_kv_cache *c, groat_decode_dtype dtype,
                       uint64_t block, uint32_t count, uint64_t *state)
{
    size_t row = (size_t)c->dim * c->elem_bytes;
    size_t of_block = row * c->heads * c->page;
    unsigned char *to =
        (unsigned char *)(uintptr_t)c->address + block * of_block;

    if (c->layout == GROAT_KV_PAGE_HEAD) {
        put_numbers(dtype, state, to, row * c->heads * count);
        return;
    }
    for (size_t h = 0; h < c->heads; h++)
        put_numbers(dtype, state, to + h * c->page * row, row * count);
}

static void fill_cache(groat__decode_input *in, uint64_t *state)
{
    groat_decode_dtype dtype = in->shape.kv_dtype;
    unsigned page = in->keys.page;

    memset(in->bytes, NAN_BYTE, in->cache_bytes);
    for (unsigned s = 0; s < in->shape.sequences; s++)
        for (uint32_t key = 0; key < in->lengths[s]; key += page) {
            uint32_t left = in->lengths[s] - key;
            uint32_t count = left < page ? left : page;
            uint64_t block = in->shape.page > 0
                                 ? in->table[(size_t)s * in->pitch + key / page]
                                 : s;

            fill_block(&in->keys, dtype, block, count, state);
            fill_block(&in->values, dtype, block, count, state);
            if (left < page)
                break;
        }
}

static void fill(groat__decode_input *in, bool varied, uint64_t seed)
{
    const groat_decode_shape *s = &in->shape;
    uint64_t state = seed;

    for (unsigned i = 0; i < s->sequences; i++) {
        in->lengths[i] =
            varied && i > 0
                ? (uint32_t)(groat__host_draw(&state) % ((uint64_t)s->keys + 1))
                : s->keys;
        in->moved_bytes +=
            (uint64_t)(in->lengths[i] -
                       groat_decode_first_key(s, in->lengths[i])) *
            s->kv_heads * (in->keys.dim + in->values.dim) * in->keys.elem_bytes;
    }
    for (size_t i = 0; i < (size_t)s->sequences * s->q_len; i++)
        in->tree[i] = (uint32_t)groat__host_draw(&state) | 1;
    for (size_t i = 0; i < in->fact_count; i++)
        in->facts[i] = i < s->heads       ? groat__decode_draw(&state, -4, 4)
                       : i < 2 * s->heads ? groat__decode_draw(&state, 0, 0.1)
                                          : groat__decode_draw(&state, 0.25, 1);
    put_numbers(s->dtype, &state, in->queries, in->query_bytes);
    shuffle_blocks(in, &state);
    in->keys.address = (uint64_t)(uintptr_t)in->bytes;
    in->values.address = in->keys.address + in->key_bytes;
    fill_cache(in, &state);
}

groat_status groat__decode_input_make(groat__decode_input *in,
                                      const groat__decode_word *word,
                                      uint64_t seed, groat_error *error)
{
    groat_status status;

    memset(in, 0, sizeof(*in));
    in->shape = word->shape;
    if (word->batch > 0)
        in->shape.sequences = word->batch;
    if (word->length > 0)
        in->shape.keys = word->length;
    status = measure(in, error);
    if (status == GROAT_OK)
        status = take_memory(in, error);
    if (status == GROAT_OK)
        fill(in, word->varied, seed);
    return status;
}

void groat__decode_input_free(groat__decode_input *in)
{
    free(in->lengths);
    free(in->table);
    free(in->tree);
    free(in->bytes);
    free(in->queries);
    free(in->facts);
    memset(in, 0, sizeof(*in));
}

groat_decode_arguments groat__decode_input_on_host(groat__decode_input *in,
                                                   unsigned count)
{
    groat_decode_arguments a = GROAT_DECODE_ARGUMENTS_INIT;

    a.keys = &in->keys;
    a.values = &in->values;
    a.sequences = count;
    a.pitch = in->pitch;
    a.queries = (uint64_t)(uintptr_t)in->queries;
    a.lengths = (uint64_t)(uintptr_t)in->lengths;
    a.page_table = (uint64_t)(uintptr_t)in->table;
    a.tree = (uint64_t)(uintptr_t)in->tree;
    a.sinks = (uint64_t)(uintptr_t)in->facts;
    a.slopes = a.sinks + 4ull * in->shape.heads;
    a.k_scales = a.slopes + 4ull * in->shape.heads;
    a.v_scales = a.k_scales + 4ull * in->scale_count;
    a.k_scale = 0.5F;
    a.v_scale = 0.75F;
    return a;
}
