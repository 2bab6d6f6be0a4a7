/* SPDX-License-Identifier: Apache-2.0
 *
 * test_append.c: appends by groat_attention.h on cpu targets against
 * groat_append_reference(), every byte of caches and scales; the reference
 * itself against known numbers; and the calls that both refuse.
 */
#include "opened.h"
#include "groat_attention.h"
#include "groat_serve.h"

#include <math.h>

enum { SEQUENCES = 4, PITCH = 8, PADDING = 2, ROPE_ROWS = 60, GAP = 64 };

/* ---- a problem ----------------------------------------------------------- */

/* The buffers of a launch. */
enum {
    CACHE,
    VALUES,
    NEW_KEYS,
    NEW_VALUES,
    TABLE,
    LENGTHS,
    STARTS,
    POSITIONS,
    ROPE,
    K_SCALES,
    V_SCALES,
    BUFFERS
};

typedef struct problem {
    groat_append_shape shape;
    groat_append_arguments arguments;
    groat_kv_cache cache;
    groat_kv_cache values; /* planes 0: they are in cache */
    unsigned char *bytes[BUFFERS];
    size_t sizes[BUFFERS];
} problem;

/* Keys including the new ones, and new tokens, of each sequence: one has more
 * new tokens than keys, one has none. */
static const uint32_t lengths[SEQUENCES] = {40, 3, 21, 8};
static const uint32_t starts[SEQUENCES + 1] = {0, 9, 14, 14, 15};

static void take(problem *p, int buffer, size_t bytes)
{
    p->bytes[buffer] = malloc(bytes);
    ck_assert_ptr_nonnull(p->bytes[buffer]);
    p->sizes[buffer] = bytes;
    for (size_t i = 0; i < bytes; i++)
        p->bytes[buffer][i] = (unsigned char)(i * 37 + (size_t)buffer * 11);
}

/* Finite numbers of 16 bits and of either sign, some of them subnormal. */
static void put_numbers(problem *p, int buffer)
{
    uint16_t *to = (uint16_t *)p->bytes[buffer];
    uint32_t state = 12345u + (uint32_t)buffer;

    for (size_t i = 0; i < p->sizes[buffer] / 2; i++) {
        state = state * 1664525u + 1013904223u;
        to[i] = p->shape.dtype == GROAT_DECODE_F16
                    ? (uint16_t)(state >> 16 & 0xAFFF)
                    : (uint16_t)((state >> 16 & 0x83FF) | 0x3E00);
    }
    memset(to, 0, p->values.dim * 2ull); /* a head of zeros */
}

/* A key of infinity, and values whose scale would be below what decodes take.
 */
static void put_extremes(problem *p, size_t stride, size_t value_dim, bool f16)
{
    uint16_t *value = (uint16_t *)(void *)(p->bytes[NEW_VALUES] + stride);
    uint16_t *key = (uint16_t *)(void *)(p->bytes[NEW_KEYS] + 2 * stride);

    key[3] = f16 ? 0x7C00 : 0x7F80;
    for (size_t i = 0; i < value_dim; i++)
        value[i] = f16 ? 0x0011 : 0x3580;
}

static void put_rope(problem *p, unsigned rotary)
{
    float *rows = (float *)p->bytes[ROPE];

    for (unsigned i = 0; i < ROPE_ROWS * rotary; i++)
        rows[i] = (float)(i % rotary < rotary / 2 ? cos(i) : sin(i));
}

static void make_problem(problem *p, const groat_append_shape *shape)
{
    unsigned page = shape->page > 0 ? shape->page : 40;
    unsigned rotary = shape->rotary > 0 ? shape->rotary : shape->head_dim;
    size_t tokens = starts[SEQUENCES] + PADDING, blocks = SEQUENCES * PITCH;
    unsigned value_dim =
        shape->value_dim > 0 ? shape->value_dim : shape->head_dim;
    bool is_apart = value_dim != shape->head_dim;
    size_t stride = (size_t)shape->kv_heads * shape->head_dim * 2 + GAP;
    size_t vectors;

    *p = (problem){.shape = *shape,
                   .arguments = GROAT_APPEND_ARGUMENTS_INIT,
                   .cache = GROAT_KV_CACHE_INIT};
    p->cache.layout = shape->layout;
    p->cache.elem_bytes = shape->kv_dtype == GROAT_DECODE_E4M3 ? 1 : 2;
    p->cache.blocks = blocks;
    p->cache.planes = is_apart ? 1 : 2;
    p->cache.layers = 2;
    p->cache.page = page;
    p->cache.heads = shape->kv_heads;
    p->cache.dim = shape->head_dim;
    p->values = p->cache;
    p->values.dim = value_dim;
    p->values.planes = is_apart ? 1 : 0;
    vectors = blocks * 2 * page * shape->kv_heads * p->cache.elem_bytes;
    p->arguments.layer = 1;
    p->arguments.sequences = SEQUENCES;
    p->arguments.tokens = (unsigned)tokens;
    p->arguments.pitch = PITCH;
    p->arguments.key_stride = p->arguments.value_stride = stride;
    p->arguments.rope_rows = ROPE_ROWS;
    p->arguments.k_scale = 0.37F;
    p->arguments.v_scale = 1.9F;
    take(p, CACHE, vectors * p->cache.planes * shape->head_dim);
    take(p, VALUES, is_apart ? vectors * value_dim : 16);
    take(p, NEW_KEYS, tokens * stride);
    take(p, NEW_VALUES, tokens * stride);
    take(p, TABLE, blocks * 4);
    take(p, LENGTHS, sizeof(lengths));
    take(p, STARTS, sizeof(starts));
    take(p, POSITIONS, tokens * 4);
    take(p, ROPE, ROPE_ROWS * rotary * 4ull);
    take(p, K_SCALES, blocks * page * shape->kv_heads * 4);
    take(p, V_SCALES, blocks * page * shape->kv_heads * 4);
    put_numbers(p, NEW_KEYS);
    put_numbers(p, NEW_VALUES);
    if (shape->kv_scale == GROAT_DECODE_OF_TOKEN)
        put_extremes(p, stride, value_dim, shape->dtype == GROAT_DECODE_F16);
    put_rope(p, rotary);
    memcpy(p->bytes[LENGTHS], lengths, sizeof(lengths));
    memcpy(p->bytes[STARTS], starts, sizeof(starts));
    for (size_t i = 0; i < blocks; i++) /* from the last to the first; one is
                                           outside of the cache */
        ((uint32_t *)p->bytes[TABLE])[i] =
            (uint32_t)(i == 1 ? blocks : blocks - 1 - i);
    for (size_t i = 0; i < tokens; i++) /* some past the table of angles */
        ((uint32_t *)p->bytes[POSITIONS])[i] = (uint32_t)(i * 5);
    for (size_t i = 0; i < p->sizes[K_SCALES] / 4; i++) {
        ((float *)p->bytes[K_SCALES])[i] = 0.5F + (float)(i % 7);
        ((float *)p->bytes[V_SCALES])[i] = 0.25F + (float)(i % 5);
    }
}

static void drop_problem(problem *p)
{
    for (int i = 0; i < BUFFERS; i++)
        free(p->bytes[i]);
}

/* Returns the arguments with the buffers at these addresses, and the caches,
 * [2]: keys, values. */
static groat_append_arguments arguments_at(const problem *p, const uint64_t *at,
                                           bool ragged, groat_kv_cache *cache)
{
    groat_append_arguments a = p->arguments;

    cache[0] = p->cache;
    cache[0].address = at[CACHE];
    cache[1] = p->values;
    cache[1].address = at[VALUES];
    a.keys = &cache[0];
    a.values = p->values.planes > 0 ? &cache[1] : NULL;
    a.new_keys = at[NEW_KEYS];
    a.new_values = at[NEW_VALUES];
    a.page_table = at[TABLE];
    a.lengths = at[LENGTHS];
    a.starts = ragged ? at[STARTS] : 0;
    a.positions = ragged ? at[POSITIONS] : 0;
    a.each = ragged ? 0 : 4;
    a.rope = at[ROPE];
    a.k_scales = at[K_SCALES];
    a.v_scales = at[V_SCALES];
    return a;
}

static groat_append_arguments on_host(const problem *p, bool ragged,
                                      groat_kv_cache *cache)
{
    uint64_t at[BUFFERS];

    for (int i = 0; i < BUFFERS; i++)
        at[i] = (uint64_t)(uintptr_t)p->bytes[i];
    return arguments_at(p, at, ragged, cache);
}

/* Runs the append on a target; copies the buffers to out afterwards. */
static void run_on(const problem *p, const char *target, bool ragged,
                   unsigned char **out)
{
    groat_append *append = NULL;
    groat_append_arguments a;
    groat_kv_cache cache[2];
    uint64_t at[BUFFERS];

    for (int i = 0; i < BUFFERS; i++) {
        ck_assert_int_eq(groat_memory_alloc(context, target, p->sizes[i],
                                            &at[i], &fix.error),
                         GROAT_OK);
        ck_assert_int_eq(groat_memory_write(context, target, at[i], p->bytes[i],
                                            p->sizes[i], &fix.error),
                         GROAT_OK);
    }
    a = arguments_at(p, at, ragged, cache);
    ck_assert_msg(
        groat_append_open(context, target, &p->shape, &append, &fix.error) ==
                GROAT_OK &&
            groat_append_run(append, &a, NULL, &fix.error) == GROAT_OK,
        "%s", fix.error.text);
    for (int i = 0; i < BUFFERS; i++) {
        out[i] = malloc(p->sizes[i]);
        ck_assert_int_eq(groat_memory_read(context, target, out[i], at[i],
                                           p->sizes[i], &fix.error),
                         GROAT_OK);
        groat_memory_free(context, target, at[i]);
    }
    groat_append_close(append);
}

/* ---- results ------------------------------------------------------------ */

#define SHAPE(dim, ...)                                                        \
    {                                                                          \
        .size = sizeof(groat_append_shape), .head_dim = dim, __VA_ARGS__       \
    }

static const groat_append_shape shapes[] = {
    SHAPE(128, .kv_heads = 2, .page = 16),
    SHAPE(64, .kv_heads = 3, .page = 7, .layout = GROAT_KV_HEAD_PAGE,
          .rope = GROAT_APPEND_HALVES),
    SHAPE(80, .dtype = GROAT_DECODE_F16, .kv_dtype = GROAT_DECODE_F16,
          .kv_heads = 1, .page = 0, .rope = GROAT_APPEND_PAIRS, .rotary = 32),
    SHAPE(256, .kv_dtype = GROAT_DECODE_E4M3, .kv_heads = 2, .page = 16,
          .rope = GROAT_APPEND_HALVES, .rotary = 48),
    SHAPE(96, .dtype = GROAT_DECODE_F16, .kv_dtype = GROAT_DECODE_E4M3,
          .kv_scale = GROAT_DECODE_OF_HEAD, .kv_heads = 5, .page = 5),
    SHAPE(128, .kv_dtype = GROAT_DECODE_E4M3, .kv_scale = GROAT_DECODE_OF_TOKEN,
          .kv_heads = 2, .page = 16, .rope = GROAT_APPEND_HALVES),
    SHAPE(176, .dtype = GROAT_DECODE_F16, .kv_dtype = GROAT_DECODE_E4M3,
          .kv_scale = GROAT_DECODE_OF_TOKEN, .kv_heads = 3, .page = 6,
          .layout = GROAT_KV_HEAD_PAGE, .rope = GROAT_APPEND_PAIRS),
    /* Values narrower than keys. */
    SHAPE(192, .value_dim = 128, .kv_heads = 2, .page = 16,
          .rope = GROAT_APPEND_HALVES, .rotary = 64),
    SHAPE(192, .value_dim = 64, .kv_dtype = GROAT_DECODE_E4M3,
          .kv_scale = GROAT_DECODE_OF_TOKEN, .kv_heads = 3, .page = 5,
          .layout = GROAT_KV_HEAD_PAGE),
    /* Each lane has 16 elements. */
    SHAPE(512, .kv_heads = 2, .page = 16, .rope = GROAT_APPEND_HALVES),
    SHAPE(512, .value_dim = 272, .kv_heads = 1, .page = 7,
          .layout = GROAT_KV_HEAD_PAGE, .rope = GROAT_APPEND_HALVES,
          .rotary = 96),
    SHAPE(336, .dtype = GROAT_DECODE_F16, .kv_dtype = GROAT_DECODE_E4M3,
          .kv_scale = GROAT_DECODE_OF_TOKEN, .kv_heads = 2, .page = 16,
          .rope = GROAT_APPEND_PAIRS, .rotary = 48),
    SHAPE(448, .kv_dtype = GROAT_DECODE_E4M3, .kv_scale = GROAT_DECODE_OF_HEAD,
          .kv_heads = 2, .page = 0, .rope = GROAT_APPEND_HALVES),
};

static const char *const targets[] = {"cpu:sm_90a", "cpu:gfx950"};

static void compare(const problem *p, unsigned char **seen)
{
    static const char *const names[BUFFERS] = {
        "cache",  "values",    "new keys", "new values", "table",   "lengths",
        "starts", "positions", "rope",     "k scales",   "v scales"};

    for (int i = 0; i < BUFFERS; i++) {
        for (size_t b = 0; b < p->sizes[i]; b++)
            ck_assert_msg(seen[i][b] == p->bytes[i][b],
                          "byte %zu of %s is %u, not %u", b, names[i],
                          seen[i][b], p->bytes[i][b]);
        free(seen[i]);
    }
}

START_TEST(as_the_reference)
{
    bool ragged = _i % 2 == 0;
    unsigned char *seen[BUFFERS];
    groat_append_arguments host;
    groat_kv_cache cache[2];
    unsigned char *before;
    problem p;

    make_problem(&p, &shapes[_i / 2]);
    run_on(&p, targets[_i / 2 % 2], ragged, seen);
    before = malloc(p.sizes[CACHE]);
    ck_assert_ptr_nonnull(before);
    memcpy(before, p.bytes[CACHE], p.sizes[CACHE]);
    host = on_host(&p, ragged, cache);
    ck_assert_msg(groat_append_reference(&p.shape, &host, &fix.error) ==
                      GROAT_OK,
                  "%s", fix.error.text);
    ck_assert_mem_ne(before, p.bytes[CACHE], p.sizes[CACHE]);
    compare(&p, seen);
    free(before);
    drop_problem(&p);
}
END_TEST

/* Appends one token of one head at position 1.  `rope` has the cosine c and the
 * sine s of element i's pair: numbers that can be checked by hand. */
static void append_one(const groat_append_shape *shape, const uint16_t *key,
                       const float *rope, float k_scale, void *out,
                       float *scale)
{
    static const uint32_t length = 2, start[2] = {0, 1};
    groat_append_arguments a = GROAT_APPEND_ARGUMENTS_INIT;
    groat_kv_cache cache = GROAT_KV_CACHE_INIT;
    float unused[2];

    cache.address = (uint64_t)(uintptr_t)out;
    cache.elem_bytes = shape->kv_dtype == GROAT_DECODE_E4M3 ? 1 : 2;
    cache.blocks = 1;
    cache.planes = 2;
    cache.layers = 1;
    cache.page = 2;
    cache.heads = 1;
    cache.dim = shape->head_dim;
    a.keys = &cache;
    a.sequences = a.tokens = 1;
    a.new_keys = a.new_values = (uint64_t)(uintptr_t)key;
    a.lengths = (uint64_t)(uintptr_t)&length;
    a.starts = (uint64_t)(uintptr_t)start;
    a.rope = (uint64_t)(uintptr_t)rope;
    a.rope_rows = 2;
    a.k_scale = k_scale;
    a.k_scales = (uint64_t)(uintptr_t)scale;
    a.v_scales = (uint64_t)(uintptr_t)(scale != NULL ? scale + 2 : unused);
    ck_assert_msg(groat_append_reference(shape, &a, &fix.error) == GROAT_OK,
                  "%s", fix.error.text);
}

/* Returns the address of a copy. */
static uint64_t on_device(const char *target, const void *data, size_t bytes)
{
    uint64_t address = 0;

    ck_assert_int_eq(
        groat_memory_alloc(context, target, bytes, &address, &fix.error),
        GROAT_OK);
    ck_assert_int_eq(
        groat_memory_write(context, target, address, data, bytes, &fix.error),
        GROAT_OK);
    return address;
}

/* bf16 of 1, 2, 3 and -2. */
enum { ONE = 0x3F80, TWO = 0x4000, THREE = 0x4040, MINUS_TWO = 0xC000 };

START_TEST(rotations_are_those_of_the_header)
{
    _Alignas(16) uint16_t key[64] = {[0] = ONE, [1] = THREE, [8] = TWO};
    _Alignas(16) uint16_t cache[4][64];
    _Alignas(16) float rope[2][16] = {{0}};
    groat_append_shape shape = GROAT_APPEND_SHAPE_INIT;

    shape.kv_heads = 1;
    shape.head_dim = 64;
    shape.rotary = 16;
    rope[1][0] = 0.5F;                /* a cosine */
    rope[1][8] = -2.0F;               /* its sine */
    shape.rope = GROAT_APPEND_HALVES; /* 0 with 8, 1 with 9, ... */
    append_one(&shape, key, rope[0], 1, cache, NULL);
    ck_assert_uint_eq(cache[1][0], 0x4090); /* 1 * 0.5 + 2 * 2 = 4.5 */
    ck_assert_uint_eq(cache[1][8], 0xBF80); /* 2 * 0.5 - 1 * 2 = -1 */
    ck_assert_uint_eq(cache[1][1], 0);      /* 3 * 0 */
    ck_assert_uint_eq(cache[3][8], TWO);    /* values are not rotated */
    shape.rope = GROAT_APPEND_PAIRS;        /* 0 with 1 */
    append_one(&shape, key, rope[0], 1, cache, NULL);
    ck_assert_uint_eq(cache[1][0], 0x40D0); /* 1 * 0.5 + 3 * 2 = 6.5 */
    ck_assert_uint_eq(cache[1][1], 0xBF00); /* 3 * 0.5 - 1 * 2 = -0.5 */
    ck_assert_uint_eq(cache[1][8], 0);
}
END_TEST

START_TEST(numbers_are_those_of_the_header)
{
    _Alignas(16)
        uint16_t key[64] = {[0] = ONE,    [1] = MINUS_TWO, [2] = 0x7F80,
                            [3] = 0x7FC0, [4] = 0x3F88,    [5] = 0x3B00};
    _Alignas(16) uint8_t cache[4][64];
    groat_append_shape shape = GROAT_APPEND_SHAPE_INIT;
    float scale[4] = {0}; /* of keys, and of values */

    shape.kv_heads = 1;
    shape.head_dim = 64;
    shape.kv_dtype = GROAT_DECODE_E4M3;
    append_one(&shape, key, NULL, 2, cache, NULL);
    ck_assert_uint_eq(cache[1][0], 0x30); /* 0.5 */
    ck_assert_uint_eq(cache[1][1], 0xB8); /* -1 */
    ck_assert_uint_eq(cache[1][2], 0x7E); /* infinity: 448 */
    ck_assert_uint_eq(cache[1][3], 0x7F); /* NaN */
    ck_assert_uint_eq(cache[1][4], 0x30); /* 0.53125, ties to even    */
    ck_assert_uint_eq(cache[1][5], 0x00); /* half the smallest, likewise */
    key[2] = key[3] = 0;
    shape.kv_scale = GROAT_DECODE_OF_TOKEN;
    append_one(&shape, key, NULL, 0, cache, scale);
    ck_assert_float_eq(scale[1], 2.0F / 448);
    ck_assert_uint_eq(cache[1][1], 0xFE); /* -448 */
    ck_assert_uint_eq(cache[1][0], 0x76); /* 224 */
    ck_assert_float_eq(scale[3], scale[1]);
    key[0] = 0x4800; /* 131072: of values too large a scale for decodes */
    append_one(&shape, key, NULL, 0, cache, scale);
    ck_assert_float_eq(scale[1], 131072.0F / 448);
    ck_assert_float_eq(scale[3], 255);
    ck_assert_uint_eq(cache[1][0], 0x7E);
    ck_assert_uint_eq(cache[3][0], 0x7E);
}
END_TEST

/* A sequence without keys has no room for new ones, also where its row of the
 * page table is as long as can be. */
START_TEST(keys_below_zero)
{
    static const uint32_t length = 0;
    static const unsigned char none[256];
    const char *target = "cpu:sm_80";
    groat_append_shape shape = GROAT_APPEND_SHAPE_INIT;
    groat_append_arguments a = GROAT_APPEND_ARGUMENTS_INIT;
    groat_kv_cache cache = {.size = sizeof(cache),
                            .elem_bytes = 2,
                            .blocks = 1,
                            .planes = 2,
                            .layers = 1,
                            .page = 1024,
                            .heads = 1,
                            .dim = 64};
    groat_append *append = NULL;
    const size_t bytes = 2 * 1024 * 64 * 2;
    unsigned char *seen = calloc(bytes, 1), *poison = malloc(bytes);

    memset(poison, 0x5A, bytes);
    shape.kv_heads = 1;
    shape.head_dim = 64;
    shape.page = 1024;
    a.keys = &cache;
    a.sequences = 1;
    a.tokens = a.each = 2;
    a.pitch = 1U << 22;
    ck_assert_int_eq(
        groat_append_open(context, target, &shape, &append, &fix.error),
        GROAT_OK);
    cache.address = on_device(target, poison, bytes);
    a.new_keys = a.new_values = on_device(target, none, sizeof(none));
    a.lengths = a.page_table = on_device(target, &length, sizeof(length));
    ck_assert_msg(groat_append_run(append, &a, NULL, &fix.error) == GROAT_OK,
                  "%s", fix.error.text);
    ck_assert_int_eq(groat_memory_read(context, target, seen, cache.address,
                                       bytes, &fix.error),
                     GROAT_OK);
    ck_assert_mem_eq(seen, poison, bytes);
    a.starts = 2;
    ck_fails(groat_append_run(append, &a, NULL, &fix.error), GROAT_INVALID,
             &fix.error, "arguments.starts is 0x2; allowed: multiples of 4");
    ck_assert_ptr_null(strstr(fix.error.text, "not 0"));
    cache.elem_bytes = 0;
    a.starts = 0;
    ck_fails(groat_append_run(append, &a, NULL, &fix.error), GROAT_INVALID,
             &fix.error, "arguments.keys: kv cache: elem_bytes is 0");
    groat_memory_free(context, target, cache.address);
    groat_memory_free(context, target, a.new_keys);
    groat_memory_free(context, target, a.lengths);
    groat_append_close(append);
    free(poison);
    free(seen);
}
END_TEST

/* ---- refusals ----------------------------------------------------------- */

START_TEST(bad_shapes)
{
    groat_append *append = NULL;
    groat_append_shape s;

#define REFUSED(change, words)                                                 \
    do {                                                                       \
        s = shapes[0];                                                         \
        change;                                                                \
        ck_fails(                                                              \
            groat_append_open(context, "cpu:sm_80", &s, &append, &fix.error),  \
            GROAT_INVALID, &fix.error, words);                                 \
    } while (0)
    REFUSED(s.size--, "shape.size");
    REFUSED(s.kv_heads = 0, "shape.kv_heads is 0; allowed: 1 to");
    REFUSED(s.head_dim = 48, "shape.head_dim is 48; allowed: 64 to 512");
    REFUSED(s.head_dim = 72, "head_dim");
    REFUSED(s.head_dim = 528, "shape.head_dim is 528; allowed: 64 to 512");
    REFUSED((s.head_dim = 272, s.rope = GROAT_APPEND_HALVES), "set rotary");
    REFUSED(s.value_dim = 48, "shape.value_dim is 48; allowed: 64 to 128");
    REFUSED(s.value_dim = 144, "shape.value_dim is 144; allowed: 64 to 128");
    REFUSED(s.value_dim = 72, "value_dim");
    REFUSED(s.page = 1025, "shape.page is 1025");
    REFUSED(s.dtype = GROAT_DECODE_E4M3, "shape.dtype");
    REFUSED(s.kv_dtype = GROAT_DECODE_F16, "shape.kv_dtype is 1");
    REFUSED(s.kv_scale = GROAT_DECODE_OF_HEAD,
            "shape.kv_scale (GROAT_DECODE_OF_*) is 1; allowed here: 0");
    REFUSED(s.kv_scale = (groat_decode_scale)3, "shape.kv_scale");
    REFUSED(s.rope = (groat_append_rope)3, "shape.rope");
    REFUSED(s.rotary = 16, "shape.rotary is 16; allowed here: 0");
    REFUSED((s.rope = GROAT_APPEND_PAIRS, s.rotary = 144),
            "shape.rotary is 144; allowed: 0 to 128");
    REFUSED((s.rope = GROAT_APPEND_PAIRS, s.rotary = 24), "rotary");
#undef REFUSED
}
END_TEST

START_TEST(bad_arguments)
{
    groat_append *append = NULL;
    groat_kv_cache caches[2], values;
    groat_kv_cache *cache = &caches[0];
    groat_append_arguments good, a;
    problem p;

    make_problem(&p, &shapes[3]); /* with a scale per cache, rotated */
    ck_assert_int_eq(
        groat_append_open(context, "cpu:sm_80", &p.shape, &append, &fix.error),
        GROAT_OK);
    good = on_host(&p, true, caches);
#define REFUSED(change, words)                                                 \
    do {                                                                       \
        (void)on_host(&p, true, caches);                                       \
        values = caches[0];                                                    \
        a = good;                                                              \
        change;                                                                \
        ck_fails(groat_append_run(append, &a, NULL, &fix.error),               \
                 GROAT_INVALID, &fix.error, words);                            \
        ck_fails(groat_append_reference(&p.shape, &a, &fix.error),             \
                 GROAT_INVALID, &fix.error, words);                            \
    } while (0)
    REFUSED(a.size--, "arguments.size");
    REFUSED((a.values = NULL, cache->planes = 1), "would overwrite keys");
    REFUSED(a.sequences = 65536, "arguments.sequences is 65536");
    REFUSED(a.tokens = 1u << 31, "arguments.tokens is 2147483648");
    REFUSED((a.starts = 0, a.each = a.tokens + 1), "arguments.each is");
    REFUSED(a.pitch = 0, "arguments.pitch is 0");
    REFUSED(a.new_keys += 8, "arguments.new_keys is 0x");
    REFUSED(a.new_values = 0, "arguments.new_values is 0x0");
    REFUSED(a.page_table = 0, "arguments.page_table is 0x0");
    REFUSED(a.lengths += 2, "arguments.lengths is 0x");
    REFUSED(a.starts += 1, "arguments.starts is 0x");
    REFUSED(a.positions += 1, "arguments.positions is 0x");
    REFUSED(a.rope = 0, "arguments.rope is 0x0");
    REFUSED(a.rope_rows = 0, "arguments.rope_rows is 0");
    REFUSED(a.k_scale = 0, "arguments.k_scale is 0");
    REFUSED(a.v_scale = (float)INFINITY, "arguments.v_scale is inf");
    REFUSED(a.key_stride = 16, "arguments.key_stride is 16; allowed: 0");
    REFUSED(a.value_stride += 8, "arguments.value_stride is");
    REFUSED(a.keys = NULL, "arguments.keys is NULL");
    REFUSED(a.layer = 2, "kv layer is 2");
    REFUSED(cache->dim = 128, "arguments.keys: dim is 128");
    REFUSED(cache->heads = 1, "arguments.keys: heads is 1");
    REFUSED((a.values = &values, values.heads = 1),
            "arguments.values: heads is 1");
    REFUSED((a.values = &values, values.page *= 2),
            "arguments.values: page is");
    REFUSED((a.values = &values, values.blocks--), "blocks is 31; allowed");
#undef REFUSED
    a = good;
    a.tokens = 0; /* nothing is checked */
    a.keys = NULL;
    ck_assert_int_eq(groat_append_run(append, &a, NULL, &fix.error), GROAT_OK);
    ck_assert_int_eq(groat_append_reference(&p.shape, &a, &fix.error),
                     GROAT_OK);
    ck_assert_ptr_nonnull(groat_append_kernel(append));
    groat_append_close(append);
    groat_append_close(NULL);
    drop_problem(&p);
}
END_TEST

/* A fallback was compiled for another shape: its results would be wrong. */
START_TEST(no_fallback_is_taken)
{
    const char *target = "cpu:sm_80";
    groat_decode_shape shape = GROAT_DECODE_SHAPE_INIT;
    groat_append_shape other = shapes[0];
    groat_append *append = NULL;
    groat_append *missing = NULL;
    groat_decode *decode = NULL;
    groat_decode *absent = NULL;

    shape.heads = shape.kv_heads = shape.sequences = 1;
    shape.head_dim = 64, shape.page = 16, shape.keys = 64;
    ck_assert_int_eq(
        groat_append_open(context, target, &shapes[0], &append, NULL),
        GROAT_OK);
    ck_assert_int_eq(
        groat_decode_open(context, target, &shape, NULL, &decode, NULL),
        GROAT_OK);
    ck_assert_int_eq(
        groat_fallback_set(context, groat_append_kernel(append), NULL),
        GROAT_OK);
    ck_assert_int_eq(
        groat_fallback_set(context, groat_decode_kernel(decode), NULL),
        GROAT_OK);
    groat_seal(context);
    other.rope = GROAT_APPEND_HALVES;
    shape.head_dim = 128;
    ck_fails(groat_append_open(context, target, &other, &missing, &fix.error),
             GROAT_SEALED, &fix.error,
             "fallback was compiled for another shape");
    ck_fails(
        groat_decode_open(context, target, &shape, NULL, &absent, &fix.error),
        GROAT_SEALED, &fix.error, "fallback was compiled for another shape");
    shape.head_dim = 64;
    ck_assert_int_eq(
        groat_decode_open(context, target, &shape, NULL, &absent, NULL),
        GROAT_OK);
    groat_unseal(context);
    groat_append_close(append);
    groat_decode_close(decode);
    groat_decode_close(absent);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("append");
    TCase *runs = tcase_create("runs");

    tcase_add_checked_fixture(runs, open_rig, close_rig);
    tcase_set_timeout(runs, 300);
    tcase_add_loop_test(runs, as_the_reference, 0, 2 * (int)COUNT(shapes));
    tcase_add_test(runs, rotations_are_those_of_the_header);
    tcase_add_test(runs, numbers_are_those_of_the_header);
    tcase_add_test(runs, bad_shapes);
    tcase_add_test(runs, keys_below_zero);
    tcase_add_test(runs, bad_arguments);
    tcase_add_test(runs, no_fallback_is_taken);
    suite_add_tcase(suite, runs);
    return run_suite(suite);
}
