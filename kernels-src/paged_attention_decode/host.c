/* SPDX-License-Identifier: Apache-2.0
 *
 * host.c feeds and checks paged_attention_decode for `groat run`.  Caches and
 * page tables come from driver/cache_host.c, except that every byte that is no
 * key or value of a sequence is a NaN.  Values are the second plane of the
 * keys' cache, or narrower and in a cache of their own.  The expected output is
 * attention by its definition, in double.  The floats that a score names are
 * 0.5, 0.75, 1 ..., its arrays are random.  Invariant: each run-time argument
 * is named in `arguments`; nothing here is shared with the kernel.  Locking:
 * none; writes only to what the caller passes.
 * It is C instead of a run.def: pages, lengths and cache depend on each other,
 * and it is verified on hosts without a compiler, too.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../driver/cache_host.h"
#include "../driver/element.h"
#include "args.h"
#include "spec/code.h"

#define FAMILY "paged_attention_decode"

/* In the order of `arguments`. */
enum {
    SEQUENCES,
    KV_HEADS,
    KEYS,
    VARIED,
    PITCH,
    BLOCKS,
    LEAST,
    SEEN,
    SCALE,
    CAP,
    K_SCALE,
    V_SCALE
};

/* In the order of the buffers. */
enum {
    CACHE,
    VALUES,
    QUERIES,
    TABLE,
    LENGTHS,
    SINKS,
    SLOPES,
    TREE,
    K_SCALES,
    V_SCALES,
    ARRAYS,
    PARTS,
    COUNTERS,
    OUTPUT,
    LSE
};

/* In the order of params.def. */
enum { CAUSAL, WINDOW, CHUNK };
enum { OF_TENSOR, OF_HEAD, OF_TOKEN };

/* Two blocks for each of a device's 132 multiprocessors. */
enum { DEVICE_BLOCKS = 264, CPU_BLOCKS = 5, POISON_BYTE = 0xFF };

/* Elements of each array that a score names; the score's inputs. */
enum { ELEMENTS = 64 };
#define INPUTS "score:float|q_pos:int|kv_pos:int|head:int|batch:int"

/* The bits of 0.5, 0.25 and 4. */
#define HALF    INT64_C(0x3FE0000000000000)
#define QUARTER INT64_C(0x3FD0000000000000)
#define FOUR    INT64_C(0x4010000000000000)

/* Allowed error of outputs, relative to the root mean square of all. */
static const double allowed = 0.03;

static const groat_driver_arg arguments[] = {
    {"sequences", GROAT_ARG_INT, -1, 0, 65535, "sequences",
     "sequences (default: 2 or 3; up to 64 on a GPU)"},
    {"kv_heads", GROAT_ARG_INT, -1, 1, 1024, "heads",
     "heads of the cache (default: 1 or 2; up to 8 on a GPU)"},
    {"keys", GROAT_ARG_INT, -1, 0, 1 << 24, "keys",
     "keys of the longest sequence (default: up to 300; 1024 on a GPU)"},
    {"varied", GROAT_ARG_INT, 1, 0, 1, "-",
     "1: others have fewer, down to none; 0: all have as many"},
    {"pitch", GROAT_ARG_INT, -1, 1, 1 << 26, "entries",
     "of the page table from sequence to sequence (default: the least)"},
    {"blocks", GROAT_ARG_INT, -1, 1, 65535, "blocks",
     "of the grid (default: 5; 264 on a GPU); with cluster= a cluster to a "
     "strip"},
    {"least", GROAT_ARG_INT, 1, 1, 1 << 20, "tiles",
     "units of keys that a block takes at least"},
    {"seen", GROAT_ARG_INT, 100, 1, 1 << 24, "keys",
     "of the window, or of a chunk"},
    {"scale", GROAT_ARG_FLOAT, QUARTER, 0, 0, "-", "of scores"},
    {"cap", GROAT_ARG_FLOAT, FOUR, 0, 0, "-",
     "of scores, with soft_cap=1; not 0"},
    {"k_scale", GROAT_ARG_FLOAT, HALF, 0, 0, "-",
     "of e4m3 keys, with kv_scale=tensor"},
    {"v_scale", GROAT_ARG_FLOAT, HALF, 0, 0, "-", "of e4m3 values, likewise"},
    {NULL, GROAT_ARG_INT, 0, 0, 0, NULL, NULL},
};

/* Constants of a spec and arguments that the host needs. */
typedef struct world {
    const groat__element *element; /* of queries and output  */
    const groat__element *stored;  /* of keys and values     */
    int64_t kv_scale;              /* -1: no scales          */
    int64_t group, q_len, head_dim, value_dim, heads;
    int64_t mask, tree, alibi, soft_cap, sink, lse;
    groat__code score; /* no nodes: there is no expression */
    groat__cache_pair cache;
    const int64_t *v;
} world;

/* Returns the value of a float that a score names. */
static float float_at(size_t index)
{
    return 0.5F + 0.25F * (float)index;
}

static groat_status look_at_score(const groat_spec *spec, world *w,
                                  groat_error *error)
{
    const char *text;
    groat_status status = groat_spec_code(spec, &text, error);

    if (status != GROAT_OK || groat__host_value(spec, "has_score") == 0)
        return status;
    return groat__code_parse(INPUTS, text, strlen(text), &w->score, error);
}

static groat_status look(const groat_spec *spec, const int64_t *v, world *w,
                         groat_error *error)
{
    groat__cache *c = &w->cache.keys;
    groat_status status;

    memset(w, 0, sizeof(*w));
    w->element = groat__element_find(
        groat__host_value(spec, "dtype") == 1 ? "f16" : "bf16",
        groat__host_value(spec, "dtype") == 1 ? 3 : 4);
    w->stored = w->element;
    w->kv_scale = -1;
    if (groat__host_value(spec, "kv_dtype") == 1) {
        w->stored = groat__element_find("e4m3", 4);
        w->kv_scale = groat__host_value(spec, "kv_scale");
    }
    w->group = groat__host_value(spec, "group");
    w->q_len = groat__host_value(spec, "q_len");
    w->head_dim = groat__host_value(spec, "head_dim");
    w->value_dim = groat__host_value(spec, "value_dim");
    w->mask = groat__host_value(spec, "mask");
    w->tree = groat__host_value(spec, "tree");
    w->alibi = groat__host_value(spec, "alibi");
    w->soft_cap = groat__host_value(spec, "soft_cap");
    w->sink = groat__host_value(spec, "sink");
    w->lse = groat__host_value(spec, "lse");
    w->heads = v[KV_HEADS] * w->group;
    w->v = v;
    c->page = groat__host_value(spec, "page_size");
    c->from = c->page > 0 ? GROAT__CACHE_PAGED : GROAT__CACHE_CONTIGUOUS;
    /* A cache has at least one sequence; without sequences none is read. */
    c->batch = v[SEQUENCES] > 0 ? v[SEQUENCES] : 1;
    c->keys = v[KEYS];
    c->varied = v[VARIED] != 0;
    c->room = v[KEYS];
    c->layers = 2;
    c->layer = 1;
    c->heads = v[KV_HEADS];
    c->dim = w->head_dim;
    c->elem_bytes = w->stored->bytes;
    c->head_page = groat__host_value(spec, "head_page");
    c->pitch = v[PITCH] > 0 ? v[PITCH] : 0;
    status = look_at_score(spec, w, error);
    return status == GROAT_OK
               ? groat__cache_pair_plan(&w->cache, w->value_dim, FAMILY, error)
               : status;
}

/* ---- buffers ------------------------------------------------------------- */

/* Blocks of the grid: any number, or a cluster for each strip. */
static int64_t blocks_of(const groat_spec *spec, const world *w)
{
    int64_t cluster = groat__host_value(spec, "cluster");
    int64_t strips =
        w->v[SEQUENCES] * w->v[KV_HEADS] * groat__host_value(spec, "strips");

    if (cluster == 1)
        return w->v[BLOCKS];
    return (strips > 0 ? strips : 1) * cluster;
}

/* Number of parts that a launch may leave in the workspace. */
static int64_t parts_of(const groat_spec *spec, const world *w)
{
    int64_t unit = groat__host_value(spec, "unit_keys");

    if (groat__host_value(spec, "cluster") > 1)
        return 0;
    if (groat__host_value(spec, "split") == 0)
        return w->v[BLOCKS] * 2;
    return w->v[SEQUENCES] * w->v[KV_HEADS] *
           groat__host_value(spec, "strips") * ((w->v[KEYS] + unit - 1) / unit);
}

/* Number of the keys' scales, and of the values'. */
static int64_t scales_of(const world *w)
{
    if (w->kv_scale == OF_TOKEN)
        return w->cache.keys.blocks * w->cache.keys.cache.page * w->v[KV_HEADS];
    return w->v[KV_HEADS];
}

/* Makes a buffer an output of numbers, compared or only written. */
static void make_output(groat_buffer *buffer, const groat__element *element,
                        groat_tolerance tolerance)
{
    buffer->output = true;
    buffer->element = element;
    buffer->rank = 1;
    buffer->shape[0] = (int64_t)buffer->bytes / element->bytes;
    buffer->tolerance = tolerance;
    buffer->allowed = allowed;
}

static void add_buffers(const groat_spec *spec, const world *w, groat_plan *p)
{
    const groat__element *f32 = groat__element_find("f32", 3);
    const int64_t *v = w->v;
    int64_t queries = v[SEQUENCES] * w->q_len * w->heads;

    groat__host_add_buffer(p, "cache", w->cache.keys.bytes, false);
    groat__host_add_buffer(p, "values",
                           groat__cache_pair_value_bytes(&w->cache), false);
    groat__host_add_buffer(p, "queries", queries * w->head_dim * 2, false);
    groat__host_add_buffer(p, "page_table", w->cache.keys.table_entries * 4,
                           false);
    groat__host_add_buffer(p, "lengths", w->cache.keys.batch * 4, false);
    groat__host_add_buffer(p, "sinks", w->heads * 4, false);
    groat__host_add_buffer(p, "slopes", w->heads * 4, false);
    groat__host_add_buffer(p, "tree", v[SEQUENCES] * w->q_len * 4, false);
    groat__host_add_buffer(p, "k_scales", scales_of(w) * 4, false);
    groat__host_add_buffer(p, "v_scales", scales_of(w) * 4, false);
    groat__host_add_buffer(p, "score_arrays", GROAT__CODE_ARRAYS * ELEMENTS * 4,
                           false);
    groat__host_add_buffer(
        p, "parts", parts_of(spec, w) * groat__host_value(spec, "part_bytes"),
        false);
    make_output(&p->buffers[PARTS], f32, GROAT_TOLERANCE_NONE);
    groat__host_add_buffer(p, "counters",
                           v[SEQUENCES] * v[KV_HEADS] *
                               groat__host_value(spec, "strips") * 4,
                           true);
    p->buffers[COUNTERS].filled = true;
    groat__host_add_buffer(p, "output", queries * w->value_dim * 2, false);
    make_output(&p->buffers[OUTPUT], w->element, GROAT_TOLERANCE_RELATIVE);
    groat__host_add_buffer(p, "lse", queries * 4, false);
    make_output(&p->buffers[LSE], f32,
                w->lse ? GROAT_TOLERANCE_RELATIVE : GROAT_TOLERANCE_NONE);
}

static groat_status plan(const groat_spec *spec, const int64_t *values,
                         groat_plan *p, groat_error *error)
{
    bool on_cpu = groat__host_on_cpu(spec);
    int64_t rows = groat__host_value(spec, "rows");
    int64_t many = rows > 16; /* the host's computation would take long */
    const int64_t defaults[] = {on_cpu      ? 3 - many
                                : rows == 1 ? 64
                                            : 2 + 128 / rows,
                                on_cpu ? 2 - many
                                : many ? 2
                                       : 8,
                                on_cpu ? (many ? 70 : 300)
                                       : (many ? 300 : 1024),
                                0,
                                0,
                                on_cpu ? CPU_BLOCKS : DEVICE_BLOCKS};
    groat_status status;
    world w;

    for (size_t i = 0; arguments[i].name != NULL; i++)
        p->values[i] = values[i] == -1 && i <= BLOCKS ? defaults[i] : values[i];
    if (groat_arg_real(p->values[CAP]) == 0)
        return groat__host_refuse(error, FAMILY, "cap", 0,
                                  "scores are divided by it");
    status = look(spec, p->values, &w, error);
    if (status != GROAT_OK)
        return status;
    add_buffers(spec, &w, p);
    p->grid[0] = (unsigned)blocks_of(spec, &w);
    p->grid[1] = p->grid[2] = 1;
    p->args_bytes = sizeof(struct paged_attention_decode_args);
    for (int64_t s = 0; s < p->values[SEQUENCES]; s++)
        p->moved_bytes +=
            (uint64_t)(groat__cache_length(&w.cache.keys, s) *
                       p->values[KV_HEADS] * (w.head_dim + w.value_dim) *
                       w.stored->bytes);
    return GROAT_OK;
}

/* ---- input --------------------------------------------------------------- */

/* The buffer of keys (plane 0) or values (1). */
static size_t buffer_of(const world *w, int plane)
{
    return plane == 1 && w->cache.is_apart ? VALUES : CACHE;
}

static void fill_vector(const world *w, int plane, size_t at, uint64_t seed,
                        void *to)
{
    groat__element_fill(w->stored, seed + at,
                        (size_t)groat__cache_pair_dim(&w->cache, plane), 2,
                        (unsigned char *)to + at);
}

static void fill_scale(size_t at, uint64_t seed, void *to)
{
    uint64_t state = seed + at;

    ((float *)to)[at] =
        (float)(0.25 + (double)(groat__host_draw(&state) >> 11) * 0x1p-54);
}

/* Index of a scale in the buffer of keys' or values' scales. */
static size_t scale_at(const world *w, const uint32_t *table, int64_t sequence,
                       int64_t key, int64_t head)
{
    return w->kv_scale == OF_TOKEN
               ? groat__cache_scale(&w->cache.keys, table, sequence, key, head)
               : (size_t)head;
}

/* The first key of a sequence that one of its queries sees: its first query. */
static int64_t first_key(const world *w, int64_t length)
{
    int64_t own = length - w->q_len; /* that query's own key */

    if (w->mask == CAUSAL || own < 0)
        return 0;
    if (w->mask == CHUNK)
        return own / w->v[SEEN] * w->v[SEEN];
    return own < w->v[SEEN] ? 0 : own - w->v[SEEN] + 1;
}

/* Fills the page table; entries of pages that no query sees are none. */
static void fill_table(const world *w, uint64_t seed, uint32_t *table)
{
    const groat__cache *c = &w->cache.keys;

    groat__cache_fill_table(c, seed, table);
    for (int64_t s = 0; c->page > 0 && s < w->v[SEQUENCES]; s++)
        for (int64_t i = 0;
             i < first_key(w, groat__cache_length(c, s)) / c->page; i++)
            table[s * c->pitch + i] = UINT32_MAX;
}

/* Fills the keys and values that queries see, or the scales of tokens; all
 * other bytes are NaNs. */
static void fill_keys(const world *w, size_t index, uint64_t seed, void *to,
                      size_t bytes)
{
    uint32_t *table = malloc((size_t)w->cache.keys.table_entries * 4);

    memset(to, POISON_BYTE, bytes);
    if (table == NULL)
        return;
    groat__cache_fill_table(&w->cache.keys, seed, table);
    seed += index;
    for (int64_t s = 0; s < w->v[SEQUENCES]; s++)
        for (int64_t length = groat__cache_length(&w->cache.keys, s),
                     key = first_key(w, length);
             key < length; key++)
            for (int64_t h = 0; h < w->v[KV_HEADS]; h++)
                if (index != CACHE && index != VALUES)
                    fill_scale(scale_at(w, table, s, key, h), seed, to);
                else
                    for (int plane = 0; plane < 2; plane++)
                        if (buffer_of(w, plane) == index)
                            fill_vector(w, plane,
                                        groat__cache_pair_place(
                                            &w->cache, table, plane, s, key, h),
                                        seed, to);
    free(table);
}

static void fill(const groat_spec *spec, const groat_plan *p, size_t index,
                 uint64_t seed, void *data)
{
    size_t bytes = p->buffers[index].bytes;
    world w;

    if (look(spec, p->values, &w, NULL) != GROAT_OK)
        return;
    switch (index) {
    case K_SCALES:
    case V_SCALES:
        if (w.kv_scale == OF_TOKEN)
            fill_keys(&w, index, seed, data, bytes);
        else /* a head has scales even if no sequence has a key */
            for (size_t at = 0; at < bytes / 4; at++)
                fill_scale(at, seed + index, data);
        break;
    case CACHE:
    case VALUES:
        fill_keys(&w, index, seed, data, bytes);
        break;
    case TREE:
        groat__host_fill(seed + 3, data, bytes);
        break;
    case TABLE:
        fill_table(&w, seed, data);
        break;
    case LENGTHS:
        groat__cache_fill_lengths(&w.cache.keys, data);
        break;
    case QUERIES:
        groat__element_fill(w.element, seed + 1, bytes / 2, 2, data);
        break;
    case SINKS:
        groat__element_fill(groat__element_find("f32", 3), seed + 2, bytes / 4,
                            4, data);
        break;
    case ARRAYS:
        groat__element_fill(groat__element_find("f32", 3), seed + 5, bytes / 4,
                            2, data);
        break;
    case SLOPES:
        groat__element_fill(groat__element_find("f32", 3), seed + 4, bytes / 4,
                            0.1, data);
        break;
    default:
        memset(data, 0, bytes);
    }
}

static groat_status bind(groat_context *context, const groat_spec *spec,
                         groat_plan *p, const uint64_t *addresses,
                         groat_error *error)
{
    struct paged_attention_decode_args args = {0};
    const int64_t *v = p->values;
    groat__cache_steps steps, of_values;
    groat_status status;
    world w;

    (void)context;
    status = look(spec, v, &w, error);
    if (status != GROAT_OK)
        return status;
    steps = groat__cache_steps_of(&w.cache.keys);
    of_values = groat__cache_steps_of(&w.cache.values);
    args.q = addresses[QUERIES];
    args.k = addresses[CACHE] + groat__cache_pair_start(&w.cache, 0);
    args.v = addresses[buffer_of(&w, 1)] + groat__cache_pair_start(&w.cache, 1);
    args.page_table = addresses[TABLE];
    args.lengths = addresses[LENGTHS];
    args.output = addresses[OUTPUT];
    args.lse = addresses[LSE];
    args.sinks = addresses[SINKS];
    args.slopes = addresses[SLOPES];
    args.tree = addresses[TREE];
    args.k_scales = addresses[K_SCALES];
    args.v_scales = addresses[V_SCALES];
    args.parts = addresses[PARTS];
    args.counters = addresses[COUNTERS];
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
    args.pitch = (unsigned)w.cache.keys.pitch;
    args.blocks = (unsigned)v[BLOCKS];
    args.least = (unsigned)v[LEAST];
    args.most = (unsigned)v[KEYS];
    args.seen = (unsigned)v[SEEN];
    args.scale = (float)groat_arg_real(v[SCALE]);
    args.cap = (float)groat_arg_real(v[CAP]);
    args.k_scale = (float)groat_arg_real(v[K_SCALE]);
    args.v_scale = (float)groat_arg_real(v[V_SCALE]);
    for (size_t i = 0; i < GROAT__CODE_ARRAYS; i++) {
        args.score_arrays[i] = addresses[ARRAYS] + i * ELEMENTS * 4;
        args.score_counts[i] = ELEMENTS;
    }
    for (size_t i = 0; i < GROAT__CODE_SCALARS; i++)
        args.score_scalars[i] = float_at(i);
    memcpy(p->args, &args, sizeof(args));
    return GROAT_OK;
}

/* ---- expected output ----------------------------------------------------- */

/* A query: its sequence, its place there, and its head. */
typedef struct query {
    int64_t sequence, place, head;
    int64_t length;  /* of the sequence */
    double *numbers; /* head_dim */
} query;

static bool sees(const world *w, const void *const *inputs, const query *q,
                 int64_t key)
{
    int64_t first = q->length - w->q_len;
    int64_t own = first + q->place; /* the query's own key */
    const uint32_t *tree = inputs[TREE];

    if (w->tree && key >= first)
        return tree[q->sequence * w->q_len + q->place] >> (key - first) & 1;
    if (key > own)
        return false;
    return w->mask == CAUSAL ||
           (w->mask == WINDOW ? key > own - w->v[SEEN]
                              : key / w->v[SEEN] == own / w->v[SEEN]);
}

/* Returns the scale of a key (plane 0) or value (1). */
static double scale_of(const world *w, const void *const *inputs, int plane,
                       const query *q, int64_t key)
{
    const float *scales = inputs[K_SCALES + plane];

    if (w->kv_scale == -1)
        return 1;
    if (w->kv_scale == OF_TENSOR)
        return (float)groat_arg_real(w->v[K_SCALE + plane]);
    return scales[scale_at(w, inputs[TABLE], q->sequence, key,
                           q->head / w->group)];
}

/* Applies the spec's expression to a score. */
static double expressed(const world *w, const void *const *inputs,
                        const query *q, int64_t key, double sum)
{
    groat__code_values values = {
        .inputs = {sum, (double)(q->length - w->q_len + q->place), (double)key,
                   (double)q->head, (double)q->sequence}};
    double x;

    for (size_t i = 0; i < GROAT__CODE_SCALARS; i++)
        values.scalars[i] = float_at(i);
    for (size_t i = 0; i < GROAT__CODE_ARRAYS; i++) {
        values.arrays[i] = (const float *)inputs[ARRAYS] + i * ELEMENTS;
        values.counts[i] = ELEMENTS;
    }
    x = groat__code_eval(&w->score, &values);
    return isnan(x) ? -INFINITY : x;
}

static double score(const world *w, const void *const *inputs, const query *q,
                    int64_t key)
{
    const unsigned char *of_key = inputs[CACHE];
    const float *slopes = inputs[SLOPES];
    double cap = (float)groat_arg_real(w->v[CAP]);
    double sum = 0;

    of_key += groat__cache_pair_place(&w->cache, inputs[TABLE], 0, q->sequence,
                                      key, q->head / w->group);
    for (int64_t d = 0; d < w->head_dim; d++)
        sum += q->numbers[d] *
               groat__element_load(w->stored, of_key + d * w->stored->bytes);
    sum *= (float)groat_arg_real(w->v[SCALE]) * scale_of(w, inputs, 0, q, key);
    if (w->soft_cap)
        sum = cap * tanh(sum / cap);
    if (w->alibi)
        sum +=
            slopes[q->head] * (double)(key - (q->length - w->q_len + q->place));
    if (w->score.count > 0)
        sum = expressed(w, inputs, q, key, sum);
    return sum;
}

static void read_query(const world *w, const void *const *inputs, query *q)
{
    const unsigned char *from = inputs[QUERIES];

    from += ((q->sequence * w->q_len + q->place) * w->heads + q->head) *
            w->head_dim * 2;
    for (int64_t d = 0; d < w->head_dim; d++)
        q->numbers[d] = groat__element_load(w->element, from + 2 * d);
    q->length = ((const uint32_t *)inputs[LENGTHS])[q->sequence];
}

/* Computes attention of one query; `weights` has room for its keys.  Returns
 * log2 of the sum of the weights. */
static double attend(const world *w, const void *const *inputs, const query *q,
                     double *weights, double *out)
{
    const unsigned char *values = inputs[buffer_of(w, 1)];
    const float *sinks = inputs[SINKS];
    double most = w->sink ? (double)sinks[q->head] : -INFINITY;
    double sum = 0;

    memset(out, 0, (size_t)w->value_dim * sizeof(*out));
    for (int64_t key = 0; key < q->length; key++) {
        weights[key] =
            sees(w, inputs, q, key) ? score(w, inputs, q, key) : -INFINITY;
        most = fmax(most, weights[key]);
    }
    if (w->sink)
        sum = exp(sinks[q->head] - most);
    for (int64_t key = 0; key < q->length; key++) {
        if (weights[key] == -INFINITY)
            continue; /* its page may be given back */
        const unsigned char *value =
            values + groat__cache_pair_place(&w->cache, inputs[TABLE], 1,
                                             q->sequence, key,
                                             q->head / w->group);
        double weight = exp(weights[key] - most);
        double scaled = weight * scale_of(w, inputs, 1, q, key);

        sum += weight;
        for (int64_t d = 0; d < w->value_dim && weight > 0; d++)
            out[d] += scaled * groat__element_load(
                                   w->stored, value + d * w->stored->bytes);
    }
    for (int64_t d = 0; d < w->value_dim && sum > 0; d++)
        out[d] /= sum;
    return sum > 0 ? (most + log(sum)) / log(2) : -INFINITY;
}

static groat_status expect(const groat_spec *spec, const groat_plan *p,
                           const void *const *inputs, size_t index, void *data,
                           groat_error *error)
{
    double *weights;
    groat_status status;
    world w;

    if (index == PARTS || index == COUNTERS) {
        memset(data, 0, p->buffers[index].bytes);
        return GROAT_OK;
    }
    status = look(spec, p->values, &w, error);
    if (status != GROAT_OK)
        return status;
    weights = malloc((size_t)(w.v[KEYS] + 2 * w.head_dim) * sizeof(*weights));
    if (weights == NULL)
        return groat__host_starve(error, FAMILY, "the weights of a query");
    for (int64_t i = 0; i < w.v[SEQUENCES] * w.q_len * w.heads; i++) {
        double *out = weights + w.v[KEYS];
        query q = {i / w.heads / w.q_len, i / w.heads % w.q_len, i % w.heads, 0,
                   out + w.head_dim};
        double sum;

        read_query(&w, inputs, &q);
        sum = attend(&w, inputs, &q, weights, out);
        if (index == LSE)
            ((float *)data)[i] = (float)sum;
        for (int64_t d = 0; d < w.value_dim && index == OUTPUT; d++)
            groat__element_store(w.element, out[d],
                                 (unsigned char *)data +
                                     (i * w.value_dim + d) * 2);
    }
    free(weights);
    return GROAT_OK;
}

/* Checks inputs from files: lengths fit, and pages exist. */
static groat_status check(const groat_spec *spec, const groat_plan *p,
                          const void *const *inputs, groat_error *error)
{
    const uint32_t *lengths = inputs[LENGTHS];
    const uint32_t *table = inputs[TABLE];
    groat_status status;
    world w;

    status = look(spec, p->values, &w, error);
    for (int64_t s = 0; s < p->values[SEQUENCES] && status == GROAT_OK; s++) {
        if (lengths[s] > w.v[KEYS])
            return groat__host_refuse(error, FAMILY, "a length", lengths[s],
                                      "sequences have %lld keys at most",
                                      (long long)w.v[KEYS]);
        if (w.cache.keys.page > 0) {
            int64_t page = w.cache.keys.page;
            int64_t gone = first_key(&w, lengths[s]) / page;

            status = groat__host_check_pages(
                table + s * w.cache.keys.pitch + gone, lengths[s] - gone * page,
                page, w.cache.keys.blocks, FAMILY, error);
        }
    }
    return status;
}

const groat_driver groat_driver_paged_attention_decode = {
    FAMILY, arguments, plan, fill, bind, expect, NULL, check,
};
