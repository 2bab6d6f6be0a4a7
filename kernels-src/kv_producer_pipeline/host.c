/* SPDX-License-Identifier: Apache-2.0
 *
 * host.c feeds and checks kv_producer_pipeline for `groat run`.  The cache has
 * two planes, K and V, its pages lie in random order, and page-table entries
 * past a sequence's last page name no existing block.  walk.c computes what
 * lands in slots; products are computed from the cache alone.
 * Owns what the bytes mean; buffers and launches are the tool's
 * (cli/run/trial.c).
 * Invariant: each run-time argument is the field of args.h with its name.
 * Locking: none; writes only to what the caller passes.
 * It is C instead of a run.def: pages, lengths and cache depend on each other,
 * and it is verified on hosts without a compiler, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "walk.h"
#include "groat_tensor.h"

enum { TEAMS_MAX = 264 };

/* Entries past a sequence's last page: no block has this number. */
static const uint32_t no_block = 0xF0F0F0F0;

static const groat_driver_arg arguments[] = {
    {"num_keys", GROAT_ARG_INT, -1, 0, 1 << 24, "keys",
     "keys of the longest sequence (default: two tiles and a half; on a GPU's "
     "stream entry 8192)"},
    {"sequences", GROAT_ARG_INT, -1, 1, 65535, "sequences",
     "sequences; the first has num_keys keys, of a stream all, the others up "
     "to that (default: 2; on a GPU's stream entry 1 GiB of K and V)"},
    {"kv_heads", GROAT_ARG_INT, -1, 1, 1024, "heads",
     "heads of K and V (default: 2; on a GPU's stream entry 8)"},
    {"group", GROAT_ARG_INT, 2, 1, 1024, "heads",
     "query heads to each of them"},
    {"query_count", GROAT_ARG_INT, -1, 1, 1 << 20, "queries",
     "queries of each sequence and head (default: a block's and 5)"},
    {"teams", GROAT_ARG_INT, -1, 1, 65535, "blocks",
     "stream entry: blocks, or pairs of them, each of which takes every "
     "teams-th tile (default: 264 blocks, as many as there are tiles)"},
    {NULL, GROAT_ARG_INT, 0, 0, 0, NULL, NULL},
};

/* ---- the cache ---------------------------------------------------------- */

static groat_kv_cache cache_of(const groat__walk_shape *s, const int64_t *v,
                               uint64_t address)
{
    groat_kv_cache cache = GROAT_KV_CACHE_INIT;

    cache.address = address;
    cache.layout = s->head_page ? GROAT_KV_HEAD_PAGE : GROAT_KV_PAGE_HEAD;
    cache.elem_bytes = (unsigned)s->elem_bytes;
    cache.blocks = (uint64_t)blocks_of(s, v);
    cache.planes = 2;
    cache.layers = layer_of(s) + 1;
    cache.page = (unsigned)page_of(s, v);
    cache.heads = (unsigned)v[KV_HEADS];
    cache.dim = (unsigned)s->depth;
    return cache;
}

static size_t cache_bytes(const groat__walk_shape *s, const int64_t *v)
{
    return (size_t)(blocks_of(s, v) * 2 * (layer_of(s) + 1) * page_of(s, v) *
                    v[KV_HEADS] * s->depth * s->elem_bytes);
}

/* ---- the plan ----------------------------------------------------------- */

static void derive(const groat_spec *spec, const groat__walk_shape *s,
                   int64_t *v)
{
    bool large = s->entry == STREAM && !groat__host_on_cpu(spec);

    if (v[NUM_KEYS] < 0)
        v[NUM_KEYS] = large ? 8192 : 2 * s->BN + s->BN / 2 + 3;
    if (v[KV_HEADS] < 0)
        v[KV_HEADS] = large ? 8 : 2;
    if (v[SEQUENCES] < 0) {
        int64_t bytes =
            v[NUM_KEYS] * v[KV_HEADS] * 2 * s->depth * s->elem_bytes;

        v[SEQUENCES] = !large ? 2 : bytes == 0 ? 1 : divup(1 << 30, bytes);
    }
    if (v[QUERY_COUNT] < 0)
        v[QUERY_COUNT] = s->BM + 5;
    if (v[TEAMS] < 0) {
        int64_t all = v[SEQUENCES] * v[KV_HEADS] * tiles_of(s, v[NUM_KEYS]);
        int64_t most = TEAMS_MAX / s->ctas;

        v[TEAMS] = all < 1 ? 1 : all < most ? all : most;
    }
}

/* Number of blocks in x. */
static int64_t columns_of(const groat__walk_shape *s, const int64_t *v)
{
    int64_t tiles = s->BM > 0 ? divup(v[QUERY_COUNT], s->BM) : 1;

    if (s->entry == STREAM)
        return s->ctas * v[TEAMS];
    if (!is_product(s))
        return s->ctas;
    return s->mode == PAIR_LOCAL ? 2 * tiles : divup(tiles, s->ctas) * s->ctas;
}

static int64_t output_bytes(const groat__walk_shape *s, const int64_t *v)
{
    int64_t rows = v[SEQUENCES] * query_heads(v) * v[QUERY_COUNT];

    if (s->entry == SCORES)
        return rows * tiles_of(s, v[NUM_KEYS]) * s->BN * 4;
    if (s->entry == OUTPUT)
        return rows * s->padded_depth * 4;
    if (s->entry == STREAM)
        return v[TEAMS] * s->ctas * groat__walk_bytes(s, v);
    return v[SEQUENCES] * v[KV_HEADS] * s->ctas * groat__walk_bytes(s, v);
}

static groat_status check(const groat__walk_shape *s, const int64_t *v,
                          groat_error *error)
{
    int64_t y = v[SEQUENCES] * (is_product(s) ? query_heads(v) : v[KV_HEADS]);

    if (s->entry != STREAM && y > 65535)
        return groat__host_refuse(
            error, FAMILY, "sequences * heads", y,
            "the blocks of a grid in y are at most 65535");
    if (v[NUM_KEYS] * v[SEQUENCES] * v[KV_HEADS] > (int64_t)1 << 31)
        return groat__host_refuse(error, FAMILY,
                                  "num_keys * sequences * kv_heads",
                                  v[NUM_KEYS] * v[SEQUENCES] * v[KV_HEADS],
                                  "tiles are counted by 32 bits: 2^31 at most");
    return GROAT_OK;
}

static groat_status plan(const groat_spec *spec, const int64_t *values,
                         groat_plan *p, groat_error *error)
{
    groat__walk_shape s = groat__walk_shape_of(spec);
    int64_t *v = p->values;
    groat_status status;
    int64_t rows;

    memcpy(v, values, (TEAMS + 1) * sizeof(v[0]));
    derive(spec, &s, v);
    status = check(&s, v, error);
    if (status != GROAT_OK)
        return status;
    rows = v[SEQUENCES] * query_heads(v) * v[QUERY_COUNT];
    groat__host_add_buffer(p, "cache", (int64_t)cache_bytes(&s, v), false);
    groat__host_add_buffer(p, "page_table", v[SEQUENCES] * pitch_of(&s, v) * 4,
                           false);
    groat__host_add_buffer(p, "lengths", v[SEQUENCES] * 4, false);
    if (s.BM > 0)
        groat__host_add_buffer(p, "queries", rows * s.depth * s.elem_bytes,
                               false);
    if (s.entry == OUTPUT)
        groat__host_add_buffer(
            p, "weights", rows * tiles_of(&s, v[NUM_KEYS]) * s.BN * 2, false);
    groat__host_add_buffer(p, "output", output_bytes(&s, v), true);
    p->grid[0] = (unsigned)columns_of(&s, v);
    p->grid[1] =
        s.entry == STREAM
            ? 1
            : (unsigned)(v[SEQUENCES] *
                         (is_product(&s) ? query_heads(v) : v[KV_HEADS]));
    p->grid[2] = 1;
    p->args_bytes = sizeof(struct kv_producer_pipeline_args);
    p->moved_bytes = (uint64_t)(v[SEQUENCES] * v[NUM_KEYS] * v[KV_HEADS] * 2 *
                                s.depth * s.elem_bytes) +
                     p->buffers[p->buffer_count - 1].bytes;
    return GROAT_OK;
}

/* ---- input -------------------------------------------------------------- */

static uint32_t length_of(const groat__walk_shape *s, const int64_t *v,
                          uint64_t seed, int64_t sequence)
{
    if (s->entry == STREAM || sequence == 0)
        return (uint32_t)v[NUM_KEYS];
    return (uint32_t)(groat__host_mix(seed + (uint64_t)sequence) %
                      (uint64_t)(v[NUM_KEYS] + 1));
}

/* Gives each page a block of its own; entries past the last name no block. */
static void fill_table(const groat__walk_shape *s, const int64_t *v,
                       uint64_t seed, uint32_t *to)
{
    int64_t pages = pages_of(s, v);
    int64_t pitch = pitch_of(s, v);
    int64_t blocks = blocks_of(s, v);
    uint64_t state = groat__host_mix(seed + 77);
    uint32_t *deck = malloc((size_t)blocks * sizeof(*deck));

    for (int64_t i = 0; i < v[SEQUENCES] * pitch; i++)
        to[i] = no_block;
    if (deck == NULL || s->page_size == 0) {
        free(deck);
        return;
    }
    for (int64_t i = 0; i < blocks; i++) {
        int64_t k = (int64_t)(groat__host_draw(&state) % (uint64_t)(i + 1));

        deck[i] = deck[k];
        deck[k] = (uint32_t)i;
    }
    for (int64_t q = 0; q < v[SEQUENCES]; q++) {
        int64_t own = divup(length_of(s, v, seed, q), s->page_size);

        for (int64_t i = 0; i < own; i++)
            to[q * pitch + i] = deck[q * pages + i];
    }
    free(deck);
}

/* Fills with whole numbers of -3 .. 3. */
static void fill_whole(const groat__walk_shape *s, uint64_t seed, void *data,
                       size_t count)
{
    static const unsigned char fp8[] = {0xC4, 0xC0, 0xB8, 0, 0x38, 0x40, 0x44};
    uint64_t state = groat__host_mix(seed + 99);
    unsigned char *to = data;

    if (s->elem_bytes == 2) {
        groat__kv_fill_numbers(seed, s->dtype == 1, false, data, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        to[i] = fp8[(groat__host_draw(&state) >> 32) % 7];
}

/* Fills P; weights past a sequence's last key are 0. */
static void fill_weights(const groat__walk_shape *s, const int64_t *v,
                         uint64_t seed, uint16_t *to)
{
    int64_t pitch = tiles_of(s, v[NUM_KEYS]) * s->BN;
    int64_t rows = query_heads(v) * v[QUERY_COUNT];

    fill_whole(s, seed + 4, to, (size_t)(v[SEQUENCES] * rows * pitch));
    for (int64_t r = 0; r < v[SEQUENCES] * rows; r++)
        for (int64_t k = length_of(s, v, seed, r / rows); k < pitch; k++)
            to[r * pitch + k] = 0;
}

static void fill(const groat_spec *spec, const groat_plan *p, size_t index,
                 uint64_t seed, void *data)
{
    groat__walk_shape s = groat__walk_shape_of(spec);
    size_t bytes = p->buffers[index].bytes;

    if (index == TABLE)
        fill_table(&s, p->values, seed, data);
    else if (index == LENGTHS)
        for (int64_t i = 0; i < p->values[SEQUENCES]; i++)
            ((uint32_t *)data)[i] = length_of(&s, p->values, seed, i);
    else if (strcmp(p->buffers[index].name, "weights") == 0)
        fill_weights(&s, p->values, seed, data);
    else if (is_product(&s))
        fill_whole(&s, seed + index, data, bytes / (size_t)s.elem_bytes);
    else
        groat__host_fill(seed + index, data, bytes);
}

/* ---- launch arguments --------------------------------------------------- */

static groat_status make_maps(const groat_spec *spec, const groat_plan *p,
                              const uint64_t *addresses,
                              struct kv_producer_pipeline_args *args,
                              groat_error *error)
{
    groat__walk_shape s = groat__walk_shape_of(spec);
    groat_kv_cache cache = cache_of(&s, p->values, addresses[CACHE]);
    groat_status status = GROAT_OK;

    if (!s.cells)
        status = groat_kv_tensor_map(spec, &cache, GROAT_KV_KEYS, layer_of(&s),
                                     NULL, &args->keys, error);
    if (status == GROAT_OK && !s.cells)
        status = groat_kv_tensor_map(spec, &cache, GROAT_KV_VALUES,
                                     layer_of(&s), NULL, &args->values, error);
    if (status == GROAT_OK && s.BM > 0)
        status = groat_query_tensor_map(
            spec, addresses[INPUTS],
            (uint64_t)(p->values[SEQUENCES] * p->values[QUERY_COUNT]),
            (unsigned)query_heads(p->values), &args->queries, error);
    return status;
}

static groat_status bind(groat_context *context, const groat_spec *spec,
                         groat_plan *p, const uint64_t *addresses,
                         groat_error *error)
{
    struct kv_producer_pipeline_args args = {0};
    groat__walk_shape s = groat__walk_shape_of(spec);
    const int64_t *v = p->values;
    groat_kv_cache cache = cache_of(&s, v, addresses[CACHE]);
    groat_kv_view keys = {.size = sizeof(keys)};
    groat_kv_view values = {.size = sizeof(values)};
    groat_status status =
        groat_kv_view_get(&cache, GROAT_KV_KEYS, layer_of(&s), &keys, error);

    (void)context;
    if (status == GROAT_OK)
        status = groat_kv_view_get(&cache, GROAT_KV_VALUES, layer_of(&s),
                                   &values, error);
    if (status == GROAT_OK)
        status = make_maps(spec, p, addresses, &args, error);
    if (status != GROAT_OK)
        return status;
    args.key_rows = keys.address;
    args.value_rows = values.address;
    args.page_table = addresses[TABLE];
    args.lengths = addresses[LENGTHS];
    args.weights = s.entry == OUTPUT ? addresses[INPUTS + 1] : 0;
    args.output = addresses[p->buffer_count - 1];
    args.num_keys = (unsigned)v[NUM_KEYS];
    args.pitch = (unsigned)pitch_of(&s, v);
    args.stride = (unsigned)keys.block_rows;
    args.row_bytes =
        (unsigned)(s.depth * s.elem_bytes * (s.head_page ? 1 : v[KV_HEADS]));
    args.head_bytes = (unsigned)(s.depth * s.elem_bytes);
    args.sequences = (unsigned)v[SEQUENCES];
    args.kv_heads = (unsigned)v[KV_HEADS];
    args.group = (unsigned)v[GROUP];
    args.query_count = (unsigned)v[QUERY_COUNT];
    args.weight_pitch = (unsigned)(tiles_of(&s, v[NUM_KEYS]) * s.BN);
    args.teams = (unsigned)v[TEAMS];
    memcpy(p->args, &args, sizeof(args));
    return GROAT_OK;
}

/* ---- products ----------------------------------------------------------- */

static double number_at(const groat__walk_shape *s, const void *at)
{
    groat__host_format format = groat__host_format_of(s->dtype, false);

    return groat__host_number_at(&format, at);
}

/* Loads K or V of one sequence and head as numbers, keys x depth. */
static void load_numbers(const groat__walk_scene *c, int64_t sequence,
                         int64_t head, bool values, double *to)
{
    const groat__walk_shape *s = &c->s;

    for (int64_t key = 0; key < c->lengths[sequence]; key++) {
        const unsigned char *row =
            groat__walk_key(c, sequence, head, values, key);

        for (int64_t d = 0; d < s->depth; d++)
            *to++ = number_at(s, row + d * s->elem_bytes);
    }
}

static void score_row(const groat__walk_scene *c, int64_t row, int64_t sequence,
                      int64_t keys, const double *k, float *out)
{
    const groat__walk_shape *s = &c->s;
    int64_t heads = query_heads(c->v);
    int64_t query = row % c->v[QUERY_COUNT];
    int64_t head = row / c->v[QUERY_COUNT] % heads;
    const unsigned char *q =
        c->queries + ((sequence * c->v[QUERY_COUNT] + query) * heads + head) *
                         s->depth * s->elem_bytes;

    for (int64_t key = 0; key < keys; key++) {
        double sum = 0;

        for (int64_t d = 0; d < s->depth; d++)
            sum += number_at(s, q + d * s->elem_bytes) * k[key * s->depth + d];
        out[row * tiles_of(s, c->v[NUM_KEYS]) * s->BN + key] = (float)sum;
    }
}

static void output_row(const groat__walk_scene *c, int64_t row, int64_t keys,
                       const double *values, float *out)
{
    const groat__walk_shape *s = &c->s;
    const uint16_t *p = c->weights + row * tiles_of(s, c->v[NUM_KEYS]) * s->BN;

    for (int64_t d = 0; d < s->padded_depth; d++) {
        double sum = 0;

        for (int64_t key = 0; key < keys && d < s->depth; key++)
            sum += number_at(s, p + key) * values[key * s->depth + d];
        out[row * s->padded_depth + d] = (float)sum;
    }
}

static groat_status expect_products(const groat__walk_scene *c, float *out,
                                    groat_error *error)
{
    const int64_t *v = c->v;
    int64_t per_head = v[GROUP] * v[QUERY_COUNT];
    double *numbers =
        malloc((size_t)(v[NUM_KEYS] * c->s.depth + 1) * sizeof(*numbers));

    if (numbers == NULL)
        return groat__host_starve(error, FAMILY, "the keys of a sequence");
    for (int64_t n = 0; n < v[SEQUENCES] * v[KV_HEADS]; n++) {
        int64_t sequence = n / v[KV_HEADS];
        int64_t keys = c->lengths[sequence];

        load_numbers(c, sequence, n % v[KV_HEADS], c->s.entry == OUTPUT,
                     numbers);
        for (int64_t row = n * per_head; row < (n + 1) * per_head; row++)
            if (c->s.entry == SCORES)
                score_row(c, row, sequence, keys, numbers, out);
            else
                output_row(c, row, keys, numbers, out);
    }
    free(numbers);
    return GROAT_OK;
}

static groat__walk_scene scene_of(const groat_spec *spec, const groat_plan *p,
                                  const void *const *inputs)
{
    groat__walk_scene c = {.s = groat__walk_shape_of(spec), .v = p->values};

    c.cache = inputs[CACHE];
    c.table = inputs[TABLE];
    c.lengths = inputs[LENGTHS];
    c.queries = c.s.BM > 0 ? inputs[INPUTS] : NULL;
    c.weights = c.s.entry == OUTPUT ? inputs[INPUTS + 1] : NULL;
    return c;
}

static groat_status expect(const groat_spec *spec, const groat_plan *p,
                           const void *const *inputs, size_t index, void *data,
                           groat_error *error)
{
    groat__walk_scene c = scene_of(spec, p, inputs);

    (void)index;
    if (is_product(&c.s))
        return expect_products(&c, data, error);
    return groat__walk_expect(&c, p, data, error);
}

static groat_status check_weights(const groat__walk_scene *c,
                                  const uint16_t *weights, groat_error *error)
{
    const int64_t *v = c->v;
    int64_t pitch = tiles_of(&c->s, v[NUM_KEYS]) * c->s.BN;
    int64_t rows = query_heads(v) * v[QUERY_COUNT];

    for (int64_t r = 0; r < v[SEQUENCES] * rows; r++)
        for (int64_t k = c->lengths[r / rows]; k < pitch; k++)
            if (weights[r * pitch + k] != 0)
                return groat__host_refuse(
                    error, FAMILY, "a weight past the last key",
                    weights[r * pitch + k], "row %lld key %lld must be 0",
                    (long long)r, (long long)k);
    return GROAT_OK;
}

/* Checks that lengths are at most num_keys, blocks exist and weights are 0. */
static groat_status check_inputs(const groat_spec *spec, const groat_plan *p,
                                 const void *const *inputs, groat_error *error)
{
    groat__walk_scene c = scene_of(spec, p, inputs);
    int64_t pitch = pitch_of(&c.s, c.v);
    groat_status status = GROAT_OK;

    for (int64_t q = 0; q < c.v[SEQUENCES] && status == GROAT_OK; q++) {
        if (c.lengths[q] > c.v[NUM_KEYS])
            return groat__host_refuse(error, FAMILY, "a length", c.lengths[q],
                                      "at most --num-keys, %lld",
                                      (long long)c.v[NUM_KEYS]);
        if (c.s.page_size > 0)
            status = groat__host_check_pages(
                c.table + q * pitch, c.lengths[q], c.s.page_size,
                blocks_of(&c.s, c.v), FAMILY, error);
    }
    return status != GROAT_OK || c.weights == NULL
               ? status
               : check_weights(&c, (const uint16_t *)c.weights, error);
}

const groat_driver groat_driver_kv_producer_pipeline = {
    FAMILY, arguments, plan, fill, bind, expect, NULL, check_inputs,
};
