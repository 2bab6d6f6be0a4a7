/* SPDX-License-Identifier: Apache-2.0
 *
 * host.c feeds and checks kv_cache_append for `groat run`.  Caches and page
 * tables come from driver/cache_host.c.  The whole cache is compared, so a byte
 * of no new key must stay unchanged.  The expected output is computed token by
 * token, in floats where the kernel's README says floats.
 * Invariant: each run-time argument is named in `arguments`; nothing here is
 * shared with the kernel.  Locking: none; writes only to what the caller
 * passes.
 * It is C instead of a run.def: pages, lengths and cache depend on each other,
 * and it is verified on hosts without a compiler, too.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "../driver/cache_host.h"
#include "../driver/element.h"
#include "args.h"

#define FAMILY "kv_cache_append"

/* In the order of `arguments`. */
enum {
    SEQUENCES,
    KV_HEADS,
    KEYS,
    HEAD_PAGE,
    VARIED,
    RAGGED,
    EACH,
    PITCH,
    K_SCALE,
    V_SCALE
};

/* In the order of the buffers. */
enum {
    CACHE,
    VALUES,
    NEW_K,
    NEW_V,
    TABLE,
    LENGTHS,
    STARTS,
    POSITIONS,
    ROPE,
    K_SCALES,
    V_SCALES
};

/* In the order of params.def. */
enum { SAME, E4M3, E4M3FNUZ };
enum { OF_TENSOR, OF_HEAD, OF_TOKEN };
enum { NONE, HALVES, PAIRS };

/* Bytes between tokens' keys, as if queries, keys and values were one matrix;
 * tokens past those of all sequences; positions past the rope table. */
enum { GAP = 48, PADDING = 3, BEHIND = 2 };

enum { HEAD_DIM_MAX = 512 }; /* of params.def */

/* The bits of 0.5 and 0.25. */
#define HALF    INT64_C(0x3FE0000000000000)
#define QUARTER INT64_C(0x3FD0000000000000)

static const groat_driver_arg arguments[] = {
    {"sequences", GROAT_ARG_INT, -1, 0, 65535, "sequences",
     "sequences (default: 3; 64 on a GPU)"},
    {"kv_heads", GROAT_ARG_INT, -1, 1, 1024, "heads",
     "heads of the cache (default: 2; 8 on a GPU)"},
    {"keys", GROAT_ARG_INT, -1, 0, 1 << 24, "keys",
     "keys of the longest sequence, the new ones too (default: 70; 1024 on a "
     "GPU)"},
    {"head_page", GROAT_ARG_INT, 0, 0, 1, "-",
     "1: blocks are [heads, page, dim]; 0: [page, heads, dim]"},
    {"varied", GROAT_ARG_INT, 1, 0, 1, "-",
     "1: others have fewer, down to none; 0: all have as many"},
    {"ragged", GROAT_ARG_INT, 1, 0, 1, "-",
     "1: sequences have different numbers of new tokens, with positions of "
     "their own; 0: each has as many"},
    {"each", GROAT_ARG_INT, -1, 0, 1 << 20, "tokens",
     "new ones of a sequence, of the longest if ragged (default: 5; 16 on a "
     "GPU)"},
    {"pitch", GROAT_ARG_INT, -1, 1, 1 << 26, "entries",
     "of the page table from sequence to sequence (default: the least)"},
    {"k_scale", GROAT_ARG_FLOAT, HALF, 0, 0, "-",
     "of keys of 8 bits, with kv_scale=tensor; not 0"},
    {"v_scale", GROAT_ARG_FLOAT, QUARTER, 0, 0, "-", "of values, likewise"},
    {NULL, GROAT_ARG_INT, 0, 0, 0, NULL, NULL},
};

/* Constants of a spec and arguments that the host needs. */
typedef struct world {
    const groat__element *element; /* of new keys and values */
    const groat__element *stored;  /* of the cache           */
    int64_t kv_dtype, kv_scale, head_dim, rope, rotated;
    int64_t token_bytes; /* bytes from new token to new token  */
    int64_t tokens;      /* of the launch, with padding        */
    int64_t rope_rows;
    groat__cache_pair cache;
    const int64_t *v;
} world;

/* Returns the number of new tokens of a sequence. */
static int64_t added_to(const world *w, int64_t sequence)
{
    uint64_t drawn = groat__host_mix((uint64_t)sequence + 77);
    int64_t added = sequence == 0
                        ? w->v[EACH]
                        : (int64_t)(drawn % (uint64_t)(w->v[EACH] + 1));
    int64_t length = groat__cache_length(&w->cache.keys, sequence);

    if (w->v[RAGGED] == 0)
        return w->v[EACH];
    return added < length ? added : length;
}

static void plan_cache(const groat_spec *spec, world *w)
{
    groat__cache *c = &w->cache.keys;

    c->page = groat__host_value(spec, "page_size");
    c->from = c->page > 0 ? GROAT__CACHE_PAGED : GROAT__CACHE_CONTIGUOUS;
    /* A cache has at least one sequence; without sequences it stays unused. */
    c->batch = w->v[SEQUENCES] > 0 ? w->v[SEQUENCES] : 1;
    c->keys = w->v[KEYS];
    c->varied = w->v[VARIED] != 0;
    c->room = w->v[KEYS];
    c->layers = 2;
    c->layer = 1;
    c->heads = w->v[KV_HEADS];
    c->dim = w->head_dim;
    c->elem_bytes = w->stored->bytes;
    c->head_page = w->v[HEAD_PAGE];
    c->pitch = w->v[PITCH] > 0 ? w->v[PITCH] : 0;
}

static groat_status look(const groat_spec *spec, const int64_t *v, world *w,
                         groat_error *error)
{
    static const char *const stored[] = {NULL, "e4m3", "e4m3fnuz"};
    groat_status status;

    memset(w, 0, sizeof(*w));
    w->v = v;
    w->element = groat__element_find(
        groat__host_value(spec, "dtype") == 1 ? "f16" : "bf16",
        groat__host_value(spec, "dtype") == 1 ? 3 : 4);
    w->kv_dtype = groat__host_value(spec, "kv_dtype");
    w->stored = w->kv_dtype == SAME
                    ? w->element
                    : groat__element_find(stored[w->kv_dtype],
                                          strlen(stored[w->kv_dtype]));
    w->kv_scale = groat__host_value(spec, "kv_scale");
    w->head_dim = groat__host_value(spec, "head_dim");
    w->rope = groat__host_value(spec, "rope");
    w->rotated = groat__host_value(spec, "rotated");
    plan_cache(spec, w);
    status = groat__cache_pair_plan(
        &w->cache, groat__host_value(spec, "value_dim"), FAMILY, error);
    if (status != GROAT_OK)
        return status;
    w->token_bytes = v[KV_HEADS] * w->head_dim * 2 + GAP;
    w->rope_rows = v[KEYS] > 0 ? v[KEYS] : 1;
    w->tokens = PADDING;
    for (int64_t s = 0; s < v[SEQUENCES]; s++)
        w->tokens += added_to(w, s);
    return GROAT_OK;
}

/* The buffer of keys (plane 0) or values (1). */
static size_t buffer_of(const world *w, int plane)
{
    return plane == 1 && w->cache.is_apart ? VALUES : CACHE;
}

/* ---- buffers ------------------------------------------------------------- */

static int64_t scales_of(const world *w)
{
    return w->kv_scale == OF_TOKEN
               ? w->cache.keys.blocks * w->cache.keys.cache.page *
                     w->v[KV_HEADS]
               : w->v[KV_HEADS];
}

/* Adds a buffer of which a launch writes only parts. */
static void add_kept(groat_plan *p, const char *name, int64_t bytes)
{
    groat__host_add_buffer(p, name, bytes, true);
    p->buffers[p->buffer_count - 1].filled = true;
}

static groat_status plan(const groat_spec *spec, const int64_t *values,
                         groat_plan *p, groat_error *error)
{
    bool on_cpu = groat__host_on_cpu(spec);
    const int64_t defaults[] = {on_cpu ? 3 : 64,
                                on_cpu ? 2 : 8,
                                on_cpu ? 70 : 1024,
                                0,
                                1,
                                1,
                                on_cpu ? 5 : 16,
                                0};
    int64_t heads = groat__host_value(spec, "block_heads");
    int64_t *v = p->values;
    groat_status status;
    world w;

    for (size_t i = 0; arguments[i].name != NULL; i++)
        v[i] = values[i] == -1 && i <= PITCH ? defaults[i] : values[i];
    if (groat_arg_real(v[K_SCALE]) == 0 || groat_arg_real(v[V_SCALE]) == 0)
        return groat__host_refuse(error, FAMILY, "k_scale or v_scale", 0,
                                  "numbers are divided by it");
    status = look(spec, v, &w, error);
    if (status != GROAT_OK)
        return status;
    add_kept(p, "cache", w.cache.keys.bytes);
    add_kept(p, "values", groat__cache_pair_value_bytes(&w.cache));
    groat__host_add_buffer(p, "new_k", w.tokens * w.token_bytes, false);
    groat__host_add_buffer(p, "new_v", w.tokens * w.token_bytes, false);
    groat__host_add_buffer(p, "page_table", w.cache.keys.table_entries * 4,
                           false);
    groat__host_add_buffer(p, "lengths", w.cache.keys.batch * 4, false);
    groat__host_add_buffer(p, "starts", (w.cache.keys.batch + 1) * 4, false);
    groat__host_add_buffer(p, "positions", w.tokens * 4, false);
    groat__host_add_buffer(p, "rope", w.rope_rows * w.head_dim * 4, false);
    add_kept(p, "k_scales", scales_of(&w) * 4);
    add_kept(p, "v_scales", scales_of(&w) * 4);
    p->grid[0] = (unsigned)((w.tokens * v[KV_HEADS] + heads - 1) / heads);
    p->grid[1] = p->grid[2] = 1;
    p->args_bytes = sizeof(struct kv_cache_append_args);
    p->moved_bytes =
        (uint64_t)(w.tokens * v[KV_HEADS] *
                   (w.head_dim + groat__cache_pair_dim(&w.cache, 1)) *
                   (2 + w.stored->bytes));
    return GROAT_OK;
}

/* ---- input --------------------------------------------------------------- */

static void fill_starts(const world *w, uint32_t *starts)
{
    uint32_t at = 0;

    for (int64_t s = 0; s < w->cache.keys.batch; s++) {
        starts[s] = at;
        if (s < w->v[SEQUENCES])
            at += (uint32_t)added_to(w, s);
    }
    starts[w->cache.keys.batch] = at;
}

/* Fills with cosines and sines of random angles. */
static void fill_rope(const world *w, uint64_t seed, float *to)
{
    uint64_t state = groat__host_mix(seed);

    for (int64_t row = 0; row < w->rope_rows; row++)
        for (int64_t i = 0; i < w->rotated / 2; i++) {
            double angle =
                (double)(groat__host_draw(&state) >> 11) * 0x1p-53 * 6.2831853;

            to[row * w->rotated + i] = (float)cos(angle);
            to[row * w->rotated + w->rotated / 2 + i] = (float)sin(angle);
        }
}

static void fill(const groat_spec *spec, const groat_plan *p, size_t index,
                 uint64_t seed, void *data)
{
    size_t bytes = p->buffers[index].bytes;
    uint64_t state = groat__host_mix(seed);
    world w;

    if (look(spec, p->values, &w, NULL) != GROAT_OK)
        return;
    switch (index) {
    case CACHE:
    case VALUES:
        groat__host_fill(seed + index, data, bytes);
        break;
    case NEW_K:
    case NEW_V:
        groat__element_fill(w.element, seed + index, bytes / 2, 8, data);
        /* A head of zeros must get a scale, too. */
        memset(data, 0, (size_t)w.head_dim * 2);
        break;
    case TABLE:
        groat__cache_fill_table(&w.cache.keys, seed, data);
        break;
    case LENGTHS:
        groat__cache_fill_lengths(&w.cache.keys, data);
        break;
    case STARTS:
        fill_starts(&w, data);
        break;
    case POSITIONS:
        for (int64_t i = 0; i < w.tokens; i++)
            ((uint32_t *)data)[i] =
                (uint32_t)(groat__host_draw(&state) %
                           (uint64_t)(w.rope_rows + BEHIND));
        break;
    case ROPE:
        fill_rope(&w, seed + index, data);
        break;
    default:
        for (size_t i = 0; i < bytes / 4; i++)
            ((float *)data)[i] =
                0.25F + (float)(groat__host_draw(&state) >> 40) * 0x1p-25F;
    }
}

static groat_status bind(groat_context *context, const groat_spec *spec,
                         groat_plan *p, const uint64_t *addresses,
                         groat_error *error)
{
    struct kv_cache_append_args args = {0};
    const int64_t *v = p->values;
    groat__cache_steps steps, of_values;
    groat_status status;
    world w;

    (void)context;
    status = look(spec, v, &w, error);
    if (status != GROAT_OK)
        return status;
    steps = groat__cache_steps_of(&w.cache.keys);
    args.new_k = addresses[NEW_K];
    args.new_v = addresses[NEW_V];
    of_values = groat__cache_steps_of(&w.cache.values);
    args.k = addresses[CACHE] + groat__cache_pair_start(&w.cache, 0);
    args.v = addresses[buffer_of(&w, 1)] + groat__cache_pair_start(&w.cache, 1);
    args.page_table = addresses[TABLE];
    args.lengths = addresses[LENGTHS];
    args.starts = v[RAGGED] != 0 ? addresses[STARTS] : 0;
    args.positions = v[RAGGED] != 0 ? addresses[POSITIONS] : 0;
    args.rope = addresses[ROPE];
    args.k_scales = addresses[K_SCALES];
    args.v_scales = addresses[V_SCALES];
    args.new_k_bytes = args.new_v_bytes = (uint64_t)w.token_bytes;
    args.block_bytes = steps.block_bytes;
    args.token_bytes = steps.token_bytes;
    args.head_bytes = steps.head_bytes;
    args.value_block_bytes = of_values.block_bytes;
    args.value_token_bytes = of_values.token_bytes;
    args.value_head_bytes = of_values.head_bytes;
    args.block_scales = steps.block_scales;
    args.token_scales = steps.token_scales;
    args.head_scales = steps.head_scales;
    args.sequences = (unsigned)v[SEQUENCES];
    args.kv_heads = (unsigned)v[KV_HEADS];
    args.tokens = (unsigned)w.tokens;
    args.each = (unsigned)v[EACH];
    args.pitch = (unsigned)w.cache.keys.pitch;
    args.most = (unsigned)v[KEYS];
    args.blocks = (unsigned)w.cache.keys.blocks;
    args.rope_rows = (unsigned)w.rope_rows;
    args.k_scale = (float)groat_arg_real(v[K_SCALE]);
    args.v_scale = (float)groat_arg_real(v[V_SCALE]);
    memcpy(p->args, &args, sizeof(args));
    return GROAT_OK;
}

/* ---- expected output ----------------------------------------------------- */

/* A new token and the key that it becomes. */
typedef struct token {
    int64_t number, sequence, key;
} token;

/* Finds the token's sequence and key; false if it is not stored. */
static bool find_token(const world *w, const void *const *inputs,
                       int64_t number, token *t)
{
    const uint32_t *starts = inputs[STARTS];
    const uint32_t *lengths = inputs[LENGTHS];
    const uint32_t *table = inputs[TABLE];
    int64_t first = 0, end = 0;

    t->number = number;
    for (t->sequence = 0; t->sequence < w->v[SEQUENCES]; t->sequence++) {
        int64_t s = t->sequence;

        first = w->v[RAGGED] != 0 ? starts[s] : s * w->v[EACH];
        end = w->v[RAGGED] != 0 ? starts[s + 1] : first + w->v[EACH];
        if (first <= number && number < end)
            break;
    }
    if (t->sequence == w->v[SEQUENCES])
        return false;
    t->key = lengths[t->sequence] - (end - number);
    if (t->key < 0 || t->key >= w->v[KEYS])
        return false;
    return w->cache.keys.page == 0 ||
           table[t->sequence * w->cache.keys.pitch +
                 t->key / w->cache.keys.page] < w->cache.keys.blocks;
}

/* Rotates element e of a key with its partner, by row `row` of the table. */
static float rotated(const world *w, const float *x, const float *row,
                     int64_t e)
{
    int64_t half = w->rotated / 2;
    int64_t pair = w->rope == PAIRS ? e / 2 : e % half;
    bool is_first = w->rope == PAIRS ? e % 2 == 0 : e < half;
    int64_t other = w->rope == PAIRS ? e ^ 1 : is_first ? e + half : e - half;
    float product = x[other] * row[half + pair];

    return e < w->rotated ? fmaf(x[e], row[pair], is_first ? -product : product)
                          : x[e];
}

/* Computes the numbers of a token's head to store; keys are rotated. */
static void read_head(const world *w, const void *const *inputs, int plane,
                      const token *t, int64_t head, float *y)
{
    const unsigned char *from =
        (const unsigned char *)inputs[NEW_K + plane] +
        t->number * w->token_bytes +
        head * groat__cache_pair_dim(&w->cache, plane) * 2;
    int64_t row = w->v[RAGGED] != 0
                      ? ((const uint32_t *)inputs[POSITIONS])[t->number]
                      : t->key;
    float x[HEAD_DIM_MAX];

    for (int64_t i = 0; i < groat__cache_pair_dim(&w->cache, plane); i++)
        y[i] = x[i] = (float)groat__element_load(w->element, from + 2 * i);
    if (plane == 1 || w->rope == NONE)
        return;
    if (row >= w->rope_rows)
        row = w->rope_rows - 1;
    for (int64_t i = 0; i < w->head_dim; i++)
        y[i] = rotated(w, x, (const float *)inputs[ROPE] + row * w->rotated, i);
}

static float scale_of(const world *w, const void *const *inputs, int plane,
                      int64_t head, const float *y)
{
    float most = 0;

    if (w->kv_dtype == SAME)
        return 1;
    if (w->kv_scale == OF_TENSOR)
        return (float)groat_arg_real(w->v[K_SCALE + plane]);
    if (w->kv_scale == OF_HEAD)
        return ((const float *)inputs[K_SCALES + plane])[head];
    for (int64_t i = 0; i < groat__cache_pair_dim(&w->cache, plane); i++)
        most = fmaxf(most, fabsf(y[i]));
    if (most == 0)
        return 1;
    most /= w->kv_dtype == E4M3FNUZ ? 240.0F : 448.0F;
    return plane == 1 && w->kv_dtype != E4M3FNUZ
               ? fminf(fmaxf(most, 0x1p-12F), 255)
               : fminf(fmaxf(most, FLT_MIN), 3.4e38F);
}

/* Stores a head's numbers in the cache, or its scale among the scales. */
static void put_head(const world *w, const void *const *inputs, size_t index,
                     int plane, const token *t, int64_t head,
                     unsigned char *data)
{
    const uint32_t *table = inputs[TABLE];
    float y[HEAD_DIM_MAX], scale, by;

    read_head(w, inputs, plane, t, head, y);
    scale = scale_of(w, inputs, plane, head, y);
    if (index != CACHE && index != VALUES) {
        memcpy(data + 4 * groat__cache_scale(&w->cache.keys, table, t->sequence,
                                             t->key, head),
               &scale, sizeof(scale));
        return;
    }
    data += groat__cache_pair_place(&w->cache, table, plane, t->sequence,
                                    t->key, head);
    by = 1 / scale;
    for (int64_t i = 0; i < groat__cache_pair_dim(&w->cache, plane); i++) {
        float product = y[i] * by;

        groat__element_store(w->stored, product, data + i * w->stored->bytes);
    }
}

static groat_status expect(const groat_spec *spec, const groat_plan *p,
                           const void *const *inputs, size_t index, void *data,
                           groat_error *error)
{
    groat_status status;
    token t;
    world w;

    status = look(spec, p->values, &w, error);
    if (status != GROAT_OK)
        return status;
    memcpy(data, inputs[index], p->buffers[index].bytes);
    if (index != CACHE && index != VALUES && w.kv_scale != OF_TOKEN)
        return GROAT_OK;
    for (int64_t number = 0; number < w.tokens; number++) {
        if (!find_token(&w, inputs, number, &t))
            continue;
        for (int64_t head = 0; head < w.v[KV_HEADS]; head++)
            for (int plane = 0; plane < 2; plane++)
                if (index == buffer_of(&w, plane) ||
                    index == (size_t)K_SCALES + (size_t)plane)
                    put_head(&w, inputs, index, plane, &t, head, data);
    }
    return GROAT_OK;
}

const groat_driver groat_driver_kv_cache_append = {
    FAMILY, arguments, plan, fill, bind, expect, NULL, NULL,
};
