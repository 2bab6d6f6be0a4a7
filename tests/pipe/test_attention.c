/* SPDX-License-Identifier: Apache-2.0
 *
 * test_attention.c: decodes by groat_attention.h on cpu targets against
 * groat_decode_reference(); launches that are refused; and that BATCH_INVARIANT
 * gives a sequence the same bits in every batch.
 */
#include "opened.h"
#include "groat_attention.h"

#include <math.h>

enum { POISON = 0xFF, SPARE = 3 };

/* ---- a problem ----------------------------------------------------------- */

/* Everything that a launch needs, in host memory. */
typedef struct problem {
    groat_decode_shape shape;
    unsigned cluster; /* of the choice; 0: no choice */
    groat_decode_arguments arguments;
    groat_kv_cache cache;
    groat_kv_cache values; /* behind cache; planes 0: they are in cache */
    uint32_t *lengths, *table, *tree;
    unsigned char *bytes, *queries;
    float *facts; /* sinks, slopes, then scales */
    size_t key_bytes, cache_bytes, query_bytes, output_bytes;
    size_t table_entries, facts_count;
    uint64_t state;
} problem;

static uint32_t draw(problem *p)
{
    p->state = p->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(p->state >> 33);
}

/* Returns a random float from 0.25 to 2 with a random sign in a dtype. */
static unsigned number(problem *p, groat_decode_dtype dtype)
{
    unsigned sign = draw(p) % 2, exponent = draw(p) % 3, mantissa = draw(p);

    if (dtype == GROAT_DECODE_E4M3)
        return sign << 7 | (5 + exponent) << 3 | mantissa % 8;
    if (dtype == GROAT_DECODE_F16)
        return sign << 15 | (13 + exponent) << 10 | mantissa % 1024;
    return sign << 15 | (125 + exponent) << 7 | mantissa % 128;
}

static void put_numbers(problem *p, groat_decode_dtype dtype, void *to,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned x = number(p, dtype);

        if (dtype == GROAT_DECODE_E4M3)
            ((uint8_t *)to)[i] = (uint8_t)x;
        else
            ((uint16_t *)to)[i] = (uint16_t)x;
    }
}

/* The first key of a sequence that one of its queries sees. */
static uint32_t first_seen(const groat_decode_shape *s, uint32_t length)
{
    uint32_t end = length < s->q_len ? 0 : length - s->q_len + 1;

    if (s->mask == GROAT_DECODE_WINDOW && end > s->seen)
        return end - s->seen;
    return s->mask == GROAT_DECODE_CHUNK && end > 0
               ? (end - 1) / s->seen * s->seen
               : 0;
}

/* Fills in the vectors that sequences have in one plane of a cache. */
static void fill_plane(problem *p, const groat_kv_cache *c, size_t plane,
                       unsigned char *bytes)
{
    const groat_decode_shape *s = &p->shape;
    size_t row = (size_t)c->dim * c->elem_bytes;
    bool by_head = s->layout == GROAT_KV_HEAD_PAGE;
    size_t page = c->page, heads = c->heads;

    for (unsigned i = 0; i < p->arguments.sequences; i++)
        for (uint32_t key = first_seen(s, p->lengths[i]); key < p->lengths[i];
             key++)
            for (size_t head = 0; head < heads; head++) {
                size_t block =
                    s->page > 0 ? p->table[i * p->arguments.pitch + key / page]
                                : i;
                size_t in = key % page;
                size_t row_of =
                    (block * c->planes + plane) * page * heads +
                    (by_head ? head * page + in : in * heads + head);

                put_numbers(p, s->kv_dtype, bytes + row_of * row, c->dim);
            }
}

/* All that is no key or value that a query sees is NaNs. */
static void fill_cache(problem *p)
{
    memset(p->bytes, POISON, p->cache_bytes);
    for (size_t plane = 0; plane < p->cache.planes; plane++)
        fill_plane(p, &p->cache, plane, p->bytes);
    if (p->values.planes > 0)
        fill_plane(p, &p->values, 0, p->bytes + p->key_bytes);
}

/* Narrow values have a cache of their own; with pages of an odd number of keys
 * they are the first elements of the keys. */
static void describe_caches(problem *p, unsigned page, size_t blocks)
{
    const groat_decode_shape *s = &p->shape;
    unsigned value_dim = s->value_dim > 0 ? s->value_dim : s->head_dim;
    bool is_apart = value_dim != s->head_dim;

    p->cache =
        (groat_kv_cache){.size = sizeof(p->cache),
                         .layout = s->layout,
                         .elem_bytes = s->kv_dtype == GROAT_DECODE_E4M3 ? 1 : 2,
                         .blocks = blocks,
                         .planes = is_apart ? 1 : 2,
                         .layers = 1,
                         .page = page,
                         .heads = s->kv_heads,
                         .dim = s->head_dim};
    p->values = p->cache;
    p->values.dim = value_dim;
    p->values.planes = is_apart && page % 2 == 0 ? 1 : 0;
    p->key_bytes = blocks * p->cache.planes * page * s->kv_heads * s->head_dim *
                   p->cache.elem_bytes;
    p->cache_bytes = p->key_bytes + blocks * p->values.planes * page *
                                        s->kv_heads * value_dim *
                                        p->cache.elem_bytes;
    p->output_bytes =
        (size_t)p->arguments.sequences * s->q_len * s->heads * value_dim * 2;
}

static void *take(size_t count, size_t size)
{
    void *at = calloc(count + 1, size);

    ck_assert_ptr_nonnull(at);
    return at;
}

/* Makes the entries of pages that no query sees those of no page: a server may
 * have given them back. */
static void give_pages_back(problem *p)
{
    const groat_decode_shape *s = &p->shape;

    for (unsigned i = 0; i < p->arguments.sequences; i++)
        ck_assert_uint_eq(groat_decode_first_key(s, p->lengths[i]),
                          first_seen(s, p->lengths[i]));
    for (unsigned i = 0; s->page > 0 && i < p->arguments.sequences; i++)
        for (uint32_t k = 0; k < first_seen(s, p->lengths[i]) / s->page; k++)
            p->table[i * p->arguments.pitch + k] = 0xFFFFFFFF;
}

/* Makes sequences of these lengths. */
static void make_problem(problem *p, const groat_decode_shape *shape,
                         const uint32_t *lengths, unsigned count)
{
    unsigned page = shape->page > 0 ? shape->page : shape->keys;
    unsigned pitch = (shape->keys + page - 1) / page;
    size_t blocks = (size_t)count * pitch + SPARE;

    memset(p, 0, sizeof(*p));
    p->shape = *shape;
    p->arguments = (groat_decode_arguments)GROAT_DECODE_ARGUMENTS_INIT;
    p->arguments.keys = &p->cache;
    p->arguments.sequences = count;
    p->arguments.pitch = pitch;
    p->arguments.k_scale = 0.5F;
    p->arguments.v_scale = 0.75F;
    p->table_entries = (size_t)count * pitch;
    describe_caches(p, page, blocks);
    p->query_bytes =
        (size_t)count * shape->q_len * shape->heads * shape->head_dim * 2;
    p->facts_count =
        2 * (size_t)shape->heads + 2 * blocks * page * shape->kv_heads;
    p->lengths = take(count, 4);
    p->table = take(p->table_entries, 4);
    p->tree = take((size_t)count * shape->q_len, 4);
    p->bytes = take(p->cache_bytes, 1);
    p->queries = take(p->query_bytes, 1);
    p->facts = take(p->facts_count, 4);
    memcpy(p->lengths, lengths, count * sizeof(*lengths));
    for (size_t i = 0; i < p->table_entries;
         i++) /* from the last to the first */
        p->table[i] = (uint32_t)(blocks - 2 - i);
    for (size_t i = 0; i < (size_t)count * shape->q_len; i++)
        p->tree[i] = draw(p) | 1;
    for (size_t i = 0; i < p->facts_count; i++)
        p->facts[i] = (float)(draw(p) % 64 + 1) / 64;
    put_numbers(p, shape->dtype, p->queries, p->query_bytes / 2);
    fill_cache(p);
    give_pages_back(p);
}

static void drop_problem(problem *p)
{
    free(p->lengths);
    free(p->table);
    free(p->tree);
    free(p->bytes);
    free(p->queries);
    free(p->facts);
}

/* ---- running the decode -------------------------------------------------- */

/* The names in score expressions; the array holds all facts. */
static void give_named(const problem *p, uint64_t facts,
                       groat_decode_arguments *a)
{
    static groat_decode_named named[3];

    named[0] = (groat_decode_named){.name = "slope", .value = 0.0625F};
    named[1] = (groat_decode_named){
        .name = "bias", .array = facts, .count = (uint32_t)p->facts_count};
    named[2] = (groat_decode_named){.name = "gain", .value = -1.5F};
    a->named = named;
    a->named_count = COUNT(named);
}

/* Places the caches, [2]: keys, values. */
static void place_caches(const problem *p, uint64_t address,
                         groat_kv_cache *cache, groat_decode_arguments *a)
{
    cache[0] = p->cache;
    cache[0].address = address;
    cache[1] = p->values;
    cache[1].address = address + p->key_bytes;
    a->keys = &cache[0];
    a->values = p->values.planes > 0 ? &cache[1] : NULL;
}

/* Returns the arguments with addresses of host memory. */
static groat_decode_arguments on_host(const problem *p, groat_kv_cache *cache)
{
    groat_decode_arguments a = p->arguments;

    place_caches(p, (uint64_t)(uintptr_t)p->bytes, cache, &a);
    a.queries = (uint64_t)(uintptr_t)p->queries;
    a.page_table = (uint64_t)(uintptr_t)p->table;
    a.lengths = (uint64_t)(uintptr_t)p->lengths;
    a.tree = (uint64_t)(uintptr_t)p->tree;
    a.sinks = (uint64_t)(uintptr_t)p->facts;
    a.slopes = a.sinks + 4ull * p->shape.heads;
    a.k_scales = a.slopes + 4ull * p->shape.heads;
    a.v_scales = a.k_scales + 4;
    give_named(p, a.sinks, &a);
    return a;
}

static uint64_t give(const char *target, const void *data, size_t bytes)
{
    uint64_t at = 0;

    ck_assert_int_eq(
        groat_memory_alloc(context, target, bytes, &at, &fix.error), GROAT_OK);
    ck_assert_int_eq(
        groat_memory_write(context, target, at, data, bytes, &fix.error),
        GROAT_OK);
    return at;
}

/* Runs the decode on a target; output and lse have room. */
static void run_on(const problem *p, const char *target, uint16_t *output,
                   float *lse)
{
    groat_decode_arguments a = p->arguments;
    groat_kv_cache cache[2];
    size_t rows = (size_t)a.sequences * p->shape.q_len * p->shape.heads, bytes;
    groat_decode_choice choice = GROAT_DECODE_CHOICE_INIT;
    groat_decode *decode = NULL;
    void *zeros;

    choice.cluster = p->cluster;
    memset(output, POISON, p->output_bytes);
    memset(lse, POISON, rows * sizeof(*lse));
    ck_assert_msg(groat_decode_open(context, target, &p->shape,
                                    p->cluster > 0 ? &choice : NULL, &decode,
                                    &fix.error) == GROAT_OK,
                  "%s", fix.error.text);
    bytes = groat_decode_workspace(decode);
    zeros = take(bytes, 1);
    place_caches(p, give(target, p->bytes, p->cache_bytes), cache, &a);
    if (p->cache.planes == 2 && p->shape.page % 2 != 0)
        a.values = a.keys; /* the same planes as with NULL */
    a.queries = give(target, p->queries, p->query_bytes);
    a.page_table = give(target, p->table, p->table_entries * 4);
    a.lengths = give(target, p->lengths, a.sequences * 4ull);
    a.tree = give(target, p->tree, (size_t)a.sequences * p->shape.q_len * 4);
    a.sinks = give(target, p->facts, p->facts_count * 4);
    a.slopes = a.sinks + 4ull * p->shape.heads;
    a.k_scales = a.slopes + 4ull * p->shape.heads;
    a.v_scales = a.k_scales + 4;
    give_named(p, a.sinks, &a);
    a.output = give(target, output, p->output_bytes);
    a.lse = give(target, lse, rows * sizeof(*lse));
    a.workspace = give(target, zeros, bytes);
    for (int again = 0; again < 2; again++) /* the kernel resets its counters */
        ck_assert_msg(groat_decode_run(decode, &a, NULL, &fix.error) ==
                          GROAT_OK,
                      "%s: %s", groat_decode_spec(decode), fix.error.text);
    ck_assert_int_eq(groat_memory_read(context, target, output, a.output,
                                       p->output_bytes, &fix.error),
                     GROAT_OK);
    ck_assert_int_eq(groat_memory_read(context, target, lse, a.lse,
                                       rows * sizeof(*lse), &fix.error),
                     GROAT_OK);
    const uint64_t all[] = {cache[0].address, a.queries, a.page_table,
                            a.lengths,        a.tree,    a.sinks,
                            a.output,         a.lse,     a.workspace};
    for (size_t i = 0; i < COUNT(all); i++)
        groat_memory_free(context, target, all[i]);
    free(zeros);
    groat_decode_close(decode);
}

static double value_of(groat_decode_dtype dtype, uint16_t bits)
{
    int exponent = dtype == GROAT_DECODE_F16 ? 5 : 8;
    int mantissa = 15 - exponent;
    int e = bits >> mantissa & ((1 << exponent) - 1);
    double m = bits & ((1 << mantissa) - 1);
    int bias = (1 << (exponent - 1)) - 1;
    double value = e == 0 ? ldexp(m, 1 - bias - mantissa)
                          : ldexp(m + (1 << mantissa), e - bias - mantissa);

    return bits >> 15 ? -value : value;
}

/* ---- results ------------------------------------------------------------- */

/* A shape with heads of `dim` numbers, `queries` queries per sequence, and
 * sequences of at most `most` keys. */
#define SHAPE(dim, queries, most, ...)                                         \
    {                                                                          \
        .size = sizeof(groat_decode_shape), .head_dim = dim, .q_len = queries, \
        .sequences = 4, .keys = most, __VA_ARGS__                              \
    }

static const groat_decode_shape shapes[] = {
    SHAPE(64, 1, 150, .heads = 8, .kv_heads = 2, .page = 16),
    SHAPE(80, 3, 150, .dtype = GROAT_DECODE_F16, .kv_dtype = GROAT_DECODE_F16,
          .heads = 3, .kv_heads = 3, .page = 7, .flags = GROAT_DECODE_LSE,
          .layout = GROAT_KV_HEAD_PAGE),
    SHAPE(64, 1, 150, .heads = 40, .kv_heads = 1, .page = 0,
          .mask = GROAT_DECODE_WINDOW, .seen = 33,
          .flags = GROAT_DECODE_SINK | GROAT_DECODE_LSE),
    SHAPE(64, 2, 150, .heads = 4, .kv_heads = 2, .page = 16,
          .mask = GROAT_DECODE_CHUNK, .seen = 50, .scale = 0.5F, .cap = 3,
          .flags = GROAT_DECODE_CAP | GROAT_DECODE_ALIBI | GROAT_DECODE_LSE),
    SHAPE(64, 7, 150, .heads = 6, .kv_heads = 2, .page = 32,
          .flags = GROAT_DECODE_TREE | GROAT_DECODE_LSE),
    SHAPE(64, 1, 150, .kv_dtype = GROAT_DECODE_E4M3, .heads = 8, .kv_heads = 2,
          .page = 16),
    SHAPE(64, 1, 150, .dtype = GROAT_DECODE_F16, .kv_dtype = GROAT_DECODE_E4M3,
          .kv_scale = GROAT_DECODE_OF_HEAD, .heads = 8, .kv_heads = 4,
          .page = 5, .layout = GROAT_KV_HEAD_PAGE),
    SHAPE(512, 3, 150, .heads = 8, .kv_heads = 1, .page = 16),
    /* Values narrower than keys. */
    SHAPE(192, 1, 150, .value_dim = 128, .heads = 8, .kv_heads = 2, .page = 16,
          .flags = GROAT_DECODE_LSE),
    SHAPE(192, 2, 150, .value_dim = 128, .heads = 6, .kv_heads = 2, .page = 5,
          .layout = GROAT_KV_HEAD_PAGE),
    SHAPE(192, 1, 150, .value_dim = 64, .kv_dtype = GROAT_DECODE_E4M3,
          .kv_scale = GROAT_DECODE_OF_TOKEN, .heads = 20, .kv_heads = 1,
          .page = 48, .layout = GROAT_KV_HEAD_PAGE),
    SHAPE(320, 1, 150, .value_dim = 256, .heads = 12, .kv_heads = 1, .page = 0),
    SHAPE(128, 1, 150, .kv_dtype = GROAT_DECODE_E4M3,
          .kv_scale = GROAT_DECODE_OF_TOKEN, .heads = 8, .kv_heads = 2,
          .page = 16),
    SHAPE(96, 1, 150, .kv_dtype = GROAT_DECODE_E4M3,
          .kv_scale = GROAT_DECODE_OF_TOKEN, .heads = 20, .kv_heads = 1,
          .page = 48, .layout = GROAT_KV_HEAD_PAGE,
          .flags = GROAT_DECODE_BATCH_INVARIANT),
    /* Scores of +-1e4 and more: one key gets all the weight. */
    SHAPE(64, 1, 150, .heads = 4, .kv_heads = 2, .page = 16, .scale = 500,
          .flags = GROAT_DECODE_LSE),
    SHAPE(64, 2, 150, .heads = 4, .kv_heads = 2, .page = 16, .cap = 5,
          .flags = GROAT_DECODE_CAP | GROAT_DECODE_ALIBI | GROAT_DECODE_LSE,
          .score = "score * gain + bias[kv_pos % 37 + 40 * head] - "
                   "min(float(q_pos - kv_pos), 20) * slope"),
    /* Rows whose bias is a type's lowest number see nothing. */
    SHAPE(64, 1, 150, .heads = 8, .kv_heads = 2, .page = 16,
          .flags = GROAT_DECODE_LSE,
          .score = "head % 2 == 0 ? score - 1e38 : score - 6e29"),
    SHAPE(64, 1, 150, .dtype = GROAT_DECODE_F16, .kv_dtype = GROAT_DECODE_E4M3,
          .kv_scale = GROAT_DECODE_OF_TOKEN, .heads = 40, .kv_heads = 2,
          .page = 8, .flags = GROAT_DECODE_SINK | GROAT_DECODE_LSE,
          .score = "kv_pos < 5 || q_pos - kv_pos < 40 ? score : -inf"),
    SHAPE(64, 3, 150, .heads = 6, .kv_heads = 2, .page = 16,
          .flags = GROAT_DECODE_LSE,
          .score = "head % 2 == 0 ? -inf : batch > 2 ? tanh(score) * bias[-1]"
                   " : kv_pos == 3 ? log(-1.0) : kv_pos == 7 ? 1 / 0.0f"
                   " : score + bias[2147483647]"),
    SHAPE(64, 7, 150, .heads = 6, .kv_heads = 2, .page = 32,
          .flags = GROAT_DECODE_TREE | GROAT_DECODE_LSE,
          .score = "score * gain + bias[q_pos % 37 + 40 * head] - "
                   "min(float(abs(q_pos - kv_pos)), 20) * slope"),
};

static const uint32_t lengths[] = {150, 0, 1, 97};

/* Bounds ||out - reference|| / ||reference||, and lse to 2^-8. */
START_TEST(as_the_reference)
{
    problem p;
    groat_kv_cache cache[2];
    groat_decode_arguments host;
    size_t rows, count;
    uint16_t *output;
    float *lse;
    double *wanted, *wanted_lse;
    double off = 0, all = 0;

    make_problem(&p, &shapes[_i], lengths, COUNT(lengths));
    rows = COUNT(lengths) * p.shape.q_len * p.shape.heads;
    count = p.output_bytes / 2;
    output = take(count, sizeof(*output));
    lse = take(rows, sizeof(*lse));
    wanted = take(count, sizeof(*wanted));
    wanted_lse = take(rows, sizeof(*wanted_lse));
    host = on_host(&p, cache);
    ck_assert_msg(groat_decode_reference(&p.shape, &host, wanted, wanted_lse,
                                         &fix.error) == GROAT_OK,
                  "%s", fix.error.text);
    if (_i % 2 != 0) {
        p.shape.flags |= GROAT_DECODE_OVERLAP;
        p.cluster = (unsigned)_i / 2 % 5;
    }
    run_on(&p, _i % 2 == 0 ? "cpu:sm_80" : "cpu:sm_90a", output, lse);
    for (size_t i = 0; i < count; i++) {
        double x = value_of(p.shape.dtype, output[i]);

        ck_assert_msg(isfinite(x), "output %zu is no number", i);
        off += (x - wanted[i]) * (x - wanted[i]);
        all += wanted[i] * wanted[i];
    }
    ck_assert_double_le(sqrt(off), 3e-3 * sqrt(all));
    for (size_t i = 0; i < rows && p.shape.flags & GROAT_DECODE_LSE; i++)
        ck_assert_msg(lse[i] == wanted_lse[i] ||
                          fabs(lse[i] - wanted_lse[i]) <
                              0x1p-8 + 0x1p-20 * fabs(wanted_lse[i]),
                      "lse %zu is %g, not %g", i, (double)lse[i],
                      wanted_lse[i]);
    free(wanted_lse);
    free(wanted);
    free(lse);
    free(output);
    drop_problem(&p);
}
END_TEST

/* Each score is 15 times the scales, and each value 1: an expression sees the
 * score to the last bit, and scales may be as large as floats. */
START_TEST(exact_scores_and_large_scales)
{
    static const groat_decode_shape whole[] = {
        SHAPE(64, 1, 40, .heads = 1, .kv_heads = 1, .scale = 1,
              .flags = GROAT_DECODE_LSE, .score = "score >= 15 ? 8. : 0."),
        SHAPE(64, 1, 40, .heads = 1, .kv_heads = 1, .scale = 1,
              .flags = GROAT_DECODE_LSE | GROAT_DECODE_ALIBI,
              .score = "float(int(score + q_pos - kv_pos))"),
        SHAPE(64, 1, 40, .kv_dtype = GROAT_DECODE_E4M3, .heads = 1,
              .kv_heads = 1, .scale = 2e36F, .flags = GROAT_DECODE_LSE),
        SHAPE(64, 1, 40, .kv_dtype = GROAT_DECODE_E4M3, .heads = 1,
              .kv_heads = 1, .kv_scale = GROAT_DECODE_OF_HEAD, .scale = 2e36F,
              .flags = GROAT_DECODE_LSE),
    };
    static const uint32_t length[] = {40};
    groat_kv_cache cache[2];
    groat_decode_arguments host;
    double wanted[64], wanted_lse;
    uint16_t output[64];
    float lse;
    problem p;

    make_problem(&p, &whole[_i], length, 1);
    memset(p.queries, 0, p.query_bytes);
    memcpy(p.queries, &(uint16_t){0x4170}, 2);
    for (size_t i = 0; i < p.cache_bytes; i++)
        p.bytes[i] = p.cache.elem_bytes == 1 ? 0x38 : i % 2 == 0 ? 0x80 : 0x3F;
    p.facts[1] = 1; /* the slope */
    p.facts[2] = p.arguments.k_scale = 1e-36F;
    p.facts[3] = p.arguments.v_scale = 1e38F;
    host = on_host(&p, cache);
    ck_assert_int_eq(groat_decode_reference(&p.shape, &host, wanted,
                                            &wanted_lse, &fix.error),
                     GROAT_OK);
    run_on(&p, "cpu:sm_90a", output, &lse);
    ck_assert_double_eq_tol((double)lse, wanted_lse, 1e-4);
    for (size_t i = 0; i < 64; i++)
        ck_assert_double_eq_tol(value_of(GROAT_DECODE_BF16, output[i]),
                                wanted[i], wanted[i] / 256);
    drop_problem(&p);
}
END_TEST

/* The last sequence alone, and in a batch, without and with clusters. */
START_TEST(same_bits_in_every_batch)
{
    const char *target = _i == 0 ? "cpu:sm_80" : "cpu:sm_90a";
    static const groat_decode_shape shape =
        SHAPE(64, 1, 1300, .heads = 4, .kv_heads = 1, .page = 16,
              .flags = GROAT_DECODE_BATCH_INVARIANT);
    static const uint32_t many[] = {1300, 1, 700, 1111};
    size_t row = (size_t)shape.heads * shape.head_dim;
    uint16_t *in_batch = take(COUNT(many) * row, 2), *alone = take(row, 2);
    float *lse = take(COUNT(many) * shape.heads, sizeof(*lse));
    problem p;

    make_problem(&p, &shape, many, COUNT(many));
    p.cluster = _i == 0 ? 1 : 3;
    run_on(&p, target, in_batch, lse);
    p.table += 3 * p.arguments.pitch;
    p.table_entries /= 4;
    p.lengths += 3;
    p.queries += p.query_bytes / 4 * 3;
    p.query_bytes /= 4;
    p.output_bytes /= 4;
    p.arguments.sequences = 1;
    run_on(&p, target, alone, lse);
    ck_assert_mem_eq(alone, in_batch + 3 * row, row * 2);
    p.table -= 3 * p.arguments.pitch;
    p.lengths -= 3;
    p.queries -= p.query_bytes * 3;
    drop_problem(&p);
    free(lse);
    free(alone);
    free(in_batch);
}
END_TEST

/* Lengths lie on the device: too large ones count as the shape's maximum. */
START_TEST(lengths_beyond_the_shape)
{
    static const groat_decode_shape shape =
        SHAPE(64, 1, 150, .heads = 4, .kv_heads = 1, .page = 16,
              .flags = GROAT_DECODE_BATCH_INVARIANT);
    static const uint32_t full[] = {150, 150, 150, 150};
    size_t count = COUNT(full) * shape.heads;
    uint16_t *cut = take(count * shape.head_dim, 2);
    uint16_t *right = take(count * shape.head_dim, 2);
    float *lse = take(count, sizeof(*lse));
    problem p;

    make_problem(&p, &shape, full, COUNT(full));
    run_on(&p, "cpu:sm_80", right, lse);
    p.lengths[1] = 151;
    p.lengths[2] = UINT32_MAX;
    run_on(&p, "cpu:sm_80", cut, lse);
    ck_assert_mem_eq(cut, right, count * shape.head_dim * 2);
    drop_problem(&p);
    free(lse);
    free(right);
    free(cut);
}
END_TEST

/* ---- refusals ------------------------------------------------------------ */

/* Arguments with each field wrong in turn. */
START_TEST(bad_arguments)
{
    groat_decode *decode = NULL;
    groat_kv_cache caches[2], values;
    groat_kv_cache *cache = &caches[0];
    groat_decode_arguments good, a;
    problem p;

    make_problem(&p, &shapes[0], lengths, COUNT(lengths));
    ck_assert_int_eq(groat_decode_open(context, "cpu:sm_80", &p.shape, NULL,
                                       &decode, &fix.error),
                     GROAT_OK);
    good = on_host(&p, caches);
    good.output = good.workspace = good.queries;
#define REFUSED(change, words)                                                 \
    do {                                                                       \
        (void)on_host(&p, caches);                                             \
        values = caches[0];                                                    \
        a = good;                                                              \
        change;                                                                \
        ck_fails(groat_decode_run(decode, &a, NULL, &fix.error),               \
                 GROAT_INVALID, &fix.error, words);                            \
    } while (0)
    REFUSED(a.size--, "arguments.size");
    REFUSED(a.sequences = 5, "arguments.sequences is 5; allowed: 0 to 4");
    REFUSED(a.pitch = 0, "arguments.pitch is 0");
    REFUSED(a.queries = 0, "arguments.queries is 0x0; allowed: multiples of 8");
    REFUSED(a.output += 4, "arguments.output is 0x");
    REFUSED(a.page_table = 0, "arguments.page_table is 0x0");
    REFUSED(a.lengths += 2, "arguments.lengths is 0x");
    REFUSED(a.workspace = 8, "arguments.workspace is 0x8");
    REFUSED(a.keys = NULL, "arguments.keys is NULL");
    REFUSED(a.layer = 1, "kv layer is 1");
    REFUSED(cache->dim = 128,
            "arguments.keys: dim is 128; the shape that was opened has 64");
    REFUSED(cache->page = 32, "arguments.keys: page is 32");
    REFUSED(cache->heads = 1, "arguments.keys: heads is 1");
    REFUSED(cache->elem_bytes = 1, "arguments.keys: elem_bytes is 1");
    REFUSED((a.values = &values, values.planes = 1),
            "arguments.values: blocks, keys and heads lie");
    REFUSED(
        (a.values = &values, values.blocks--),
        "arguments.values: blocks is 42; allowed: the 43 of arguments.keys");
#undef REFUSED
    good.sequences = good.pitch = 0; /* nothing else is looked at */
    good.keys = NULL;
    ck_assert_int_eq(groat_decode_run(decode, &good, NULL, &fix.error),
                     GROAT_OK);
    groat_decode_close(decode);
    groat_decode_close(NULL);
    drop_problem(&p);
}
END_TEST

/* Narrow values are found in a cache of their own, or in a single plane. */
START_TEST(bad_narrow_values)
{
    static const groat_decode_shape shape = SHAPE(
        192, 1, 150, .value_dim = 128, .heads = 8, .kv_heads = 2, .page = 16);
    groat_kv_cache cache[2];
    groat_decode_arguments a;
    double out;
    problem p;

    make_problem(&p, &shape, lengths, COUNT(lengths));
    a = on_host(&p, cache);
    cache[1].dim = 192;
    ck_fails(groat_decode_reference(&shape, &a, &out, NULL, &fix.error),
             GROAT_INVALID, &fix.error,
             "arguments.values: dim is 192; the shape that was opened has 128");
    a.values = NULL;
    cache[0].planes = 2;
    ck_fails(groat_decode_reference(&shape, &a, &out, NULL, &fix.error),
             GROAT_INVALID, &fix.error,
             "arguments.values is NULL, and keys have two planes of 192 "
             "elements; values of 128 need a cache of their own");
    drop_problem(&p);
}
END_TEST

/* Each name of a score expression is looked up, and its address checked. */
START_TEST(bad_names)
{
    groat_decode_shape shape = shapes[0];
    groat_decode *decode = NULL;
    groat_decode_arguments a;
    groat_decode_named named[] = {
        {.name = NULL}, {.name = "by", .value = 2}, {.name = "at", .count = 1}};
    groat_kv_cache cache[2];
    double out, *all;
    problem p;

    shape.score = "score * by + at[kv_pos]";
    make_problem(&p, &shape, lengths, COUNT(lengths));
    all = take(COUNT(lengths) * (size_t)shape.heads * shape.head_dim,
               shape.q_len * sizeof(*all));
    ck_assert_int_eq(groat_decode_open(context, "cpu:sm_80", &p.shape, NULL,
                                       &decode, &fix.error),
                     GROAT_OK);
    a = on_host(&p, cache);
    a.output = a.workspace = a.queries;
    ck_fails(groat_decode_run(decode, &a, NULL, &fix.error), GROAT_INVALID,
             &fix.error, "arguments.named has no 'by', which shape.score");
    a.named = named;
    a.named_count = 2;
    ck_fails(groat_decode_reference(&shape, &a, &out, NULL, &fix.error),
             GROAT_INVALID, &fix.error, "arguments.named has no 'at'");
    a.named_count = 3;
    ck_fails(groat_decode_run(decode, &a, NULL, &fix.error), GROAT_INVALID,
             &fix.error, "the array 'at' is at 0x0; allowed: multiples of 4");
    named[2].array = a.queries + 2;
    ck_fails(groat_decode_run(decode, &a, NULL, &fix.error), GROAT_INVALID,
             &fix.error, "the array 'at' is at 0x");
    named[2].array = named[2].count = 0;
    named[2].value = 1;
    ck_fails(groat_decode_run(decode, &a, NULL, &fix.error), GROAT_INVALID,
             &fix.error, "'at' is a float; shape.score uses it as an array");
    named[2].value = 0; /* all of its elements are 0 */
    ck_assert_int_eq(groat_decode_reference(&shape, &a, all, NULL, &fix.error),
                     GROAT_OK);
    free(all);
    a.named = NULL;
    ck_fails(groat_decode_run(decode, &a, NULL, &fix.error), GROAT_INVALID,
             &fix.error,
             "arguments.named is NULL and named_count is 3; allowed: 0");
    groat_decode_close(decode);
    drop_problem(&p);
}
END_TEST

/* The reference checks data that lies on the host. */
START_TEST(bad_lengths_and_pages)
{
    groat_kv_cache cache[2];
    groat_decode_arguments host;
    double out;
    problem p;

    make_problem(&p, &shapes[0], lengths, COUNT(lengths));
    host = on_host(&p, cache);
    p.lengths[3] = 151;
    ck_fails(groat_decode_reference(&p.shape, &host, &out, NULL, &fix.error),
             GROAT_INVALID, &fix.error,
             "arguments.lengths[3] is 151; allowed: 0 to 150");
    p.lengths[3] = 97;
    p.table[3 * p.arguments.pitch + 6] = (uint32_t)p.cache.blocks;
    ck_fails(groat_decode_reference(&p.shape, &host, &out, NULL, &fix.error),
             GROAT_INVALID, &fix.error, "for key 96 of sequence 3; allowed: 0");
    drop_problem(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("attention");
    TCase *runs = tcase_create("runs");
    TCase *refusals = tcase_create("refusals");

    tcase_add_checked_fixture(runs, open_rig, close_rig);
    tcase_add_checked_fixture(refusals, open_rig, close_rig);
    tcase_set_timeout(runs, 300);
    tcase_add_loop_test(runs, as_the_reference, 0, (int)COUNT(shapes));
    tcase_add_loop_test(runs, exact_scores_and_large_scales, 0, 4);
    tcase_add_loop_test(runs, same_bits_in_every_batch, 0, 2);
    tcase_add_test(runs, lengths_beyond_the_shape);
    tcase_add_test(refusals, bad_arguments);
    tcase_add_test(refusals, bad_narrow_values);
    tcase_add_test(refusals, bad_names);
    tcase_add_test(refusals, bad_lengths_and_pages);
    suite_add_tcase(suite, runs);
    suite_add_tcase(suite, refusals);
    return run_suite(suite);
}
