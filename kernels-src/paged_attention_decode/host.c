/* SPDX-License-Identifier: Apache-2.0
 *
 * host.c feeds and checks paged_attention_decode for `groat run`: caches and
 * page tables are driver/cache_host.c's, but that every byte which is no key or
 * value of a sequence is a NaN; what is expected is attention by its
 * definition, in double. Invariant: each run-time argument is named in
 * `arguments`; nothing here is shared with the kernel.  Locking: none; nothing
 * here is written but what the caller passes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../driver/cache_host.h"
#include "../driver/element.h"
#include "args.h"

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
    CAP
};

/* In the order of the buffers. */
enum { CACHE, QUERIES, TABLE, LENGTHS, SINKS, PARTS, COUNTERS, OUTPUT, LSE };

/* Blocks of a grid on a device of 132 multiprocessors, two each. */
enum { DEVICE_BLOCKS = 264, CPU_BLOCKS = 5, POISON_BYTE = 0xFF };

/* The bits of 0.25 and 4. */
#define QUARTER INT64_C(0x3FD0000000000000)
#define FOUR    INT64_C(0x4010000000000000)

/* Of outputs, of the root mean square of all: numbers of 8 bits and more. */
static const double allowed = 0.03;

static const groat_driver_arg arguments[] = {
    {"sequences", GROAT_ARG_INT, -1, 0, 65535, "sequences",
     "sequences (default: 3; 64 on a GPU)"},
    {"kv_heads", GROAT_ARG_INT, -1, 1, 1024, "heads",
     "heads of the cache (default: 2; 8)"},
    {"keys", GROAT_ARG_INT, -1, 0, 1 << 24, "keys",
     "keys of the longest sequence (default: 300; 1024)"},
    {"varied", GROAT_ARG_INT, 1, 0, 1, "-",
     "1: others have fewer, down to none; 0: all have as many"},
    {"pitch", GROAT_ARG_INT, -1, 1, 1 << 26, "entries",
     "of the page table from sequence to sequence (default: the least)"},
    {"blocks", GROAT_ARG_INT, -1, 1, 65535, "blocks",
     "of the grid (default: 5; 264 on a GPU)"},
    {"least", GROAT_ARG_INT, 1, 1, 1 << 20, "tiles",
     "tiles of keys that a block takes at least"},
    {"seen", GROAT_ARG_INT, 100, 1, 1 << 24, "keys",
     "of the window, with window=1"},
    {"scale", GROAT_ARG_FLOAT, QUARTER, 0, 0, "-", "of scores"},
    {"cap", GROAT_ARG_FLOAT, FOUR, 0, 0, "-",
     "of scores, with soft_cap=1; not 0"},
    {NULL, GROAT_ARG_INT, 0, 0, 0, NULL, NULL},
};

/* The constants and arguments that the host needs. */
typedef struct world {
    const groat__element *element; /* of all but sums and scores */
    int64_t group, q_len, head_dim, heads;
    int64_t window, soft_cap, sink, lse;
    groat__cache cache;
    const int64_t *v;
} world;

static groat_status look(const groat_spec *spec, const int64_t *v, world *w,
                         groat_error *error)
{
    groat__cache *c = &w->cache;

    memset(w, 0, sizeof(*w));
    w->element = groat__element_find(
        groat__host_value(spec, "dtype") == 1 ? "f16" : "bf16",
        groat__host_value(spec, "dtype") == 1 ? 3 : 4);
    w->group = groat__host_value(spec, "group");
    w->q_len = groat__host_value(spec, "q_len");
    w->head_dim = groat__host_value(spec, "head_dim");
    w->window = groat__host_value(spec, "window");
    w->soft_cap = groat__host_value(spec, "soft_cap");
    w->sink = groat__host_value(spec, "sink");
    w->lse = groat__host_value(spec, "lse");
    w->heads = v[KV_HEADS] * w->group;
    w->v = v;
    c->from = GROAT__CACHE_PAGED;
    c->page = groat__host_value(spec, "page_size");
    /* A cache has a sequence; none of it is read where there are none. */
    c->batch = v[SEQUENCES] > 0 ? v[SEQUENCES] : 1;
    c->keys = v[KEYS];
    c->varied = v[VARIED] != 0;
    c->room = v[KEYS];
    c->planes = 2;
    c->layers = 2;
    c->layer = 1;
    c->heads = v[KV_HEADS];
    c->dim = w->head_dim;
    c->elem_bytes = 2;
    c->head_page = groat__host_value(spec, "head_page");
    c->pitch = v[PITCH] > 0 ? v[PITCH] : 0;
    return groat__cache_plan(c, FAMILY, error);
}

/* ---- buffers ------------------------------------------------------------- */

static void add_buffer(groat_plan *p, const char *name, int64_t count,
                       int64_t width)
{
    groat_buffer *buffer = &p->buffers[p->buffer_count++];

    buffer->name = name;
    buffer->bytes = (size_t)(count * width);
}

/* A buffer of numbers that is compared, or only written. */
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

    add_buffer(p, "cache", 1, w->cache.bytes);
    add_buffer(p, "queries", queries * w->head_dim, 2);
    add_buffer(p, "page_table", w->cache.table_entries, 4);
    add_buffer(p, "lengths", w->cache.batch, 4);
    add_buffer(p, "sinks", w->heads, 4);
    add_buffer(p, "parts", v[BLOCKS] * 2,
               groat__host_value(spec, "sums_bytes"));
    make_output(&p->buffers[PARTS], f32, GROAT_TOLERANCE_NONE);
    add_buffer(p, "counters", v[SEQUENCES] * v[KV_HEADS], 4);
    p->buffers[COUNTERS].output = true;
    p->buffers[COUNTERS].filled = true;
    add_buffer(p, "output", queries * w->head_dim, 2);
    make_output(&p->buffers[OUTPUT], w->element, GROAT_TOLERANCE_RELATIVE);
    add_buffer(p, "lse", queries, 4);
    make_output(&p->buffers[LSE], f32,
                w->lse ? GROAT_TOLERANCE_RELATIVE : GROAT_TOLERANCE_NONE);
}

static groat_status plan(const groat_spec *spec, const int64_t *values,
                         groat_plan *p, groat_error *error)
{
    bool on_cpu = groat__host_on_cpu(spec);
    const int64_t defaults[] = {on_cpu ? 3 : 64,
                                on_cpu ? 2 : 8,
                                on_cpu ? 300 : 1024,
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
    p->grid[0] = (unsigned)p->values[BLOCKS];
    p->grid[1] = p->grid[2] = 1;
    p->args_bytes = sizeof(struct paged_attention_decode_args);
    for (int64_t s = 0; s < p->values[SEQUENCES]; s++)
        p->moved_bytes += (uint64_t)(groat__cache_length(&w.cache, s) *
                                     p->values[KV_HEADS] * w.head_dim * 4);
    return GROAT_OK;
}

/* ---- input --------------------------------------------------------------- */

static void fill_numbers(const groat__element *element, uint64_t seed,
                         size_t count, double most, void *to)
{
    uint64_t state = groat__host_mix(seed);

    for (size_t i = 0; i < count; i++)
        groat__element_store(
            element,
            most * ((double)(groat__host_draw(&state) >> 11) * 0x1p-52 - 1),
            (unsigned char *)to + i * (size_t)element->bytes);
}

/* Bytes of a head of a key or value in the cache. */
static size_t place_of(const world *w, const uint32_t *table, int plane,
                       int64_t sequence, int64_t key, int64_t head)
{
    const groat__cache *c = &w->cache;
    uint64_t row = groat__cache_row(c, table, sequence, key);

    row += (uint64_t)head * c->view[plane].head_rows;
    return (size_t)(c->view[plane].address + row * (uint64_t)c->row_bytes +
                    (uint64_t)(head * groat__cache_head_bytes(c)));
}

static void fill_cache(const world *w, uint64_t seed, unsigned char *to)
{
    uint32_t *table = malloc((size_t)w->cache.table_entries * 4);

    memset(to, POISON_BYTE, (size_t)w->cache.bytes);
    if (table == NULL)
        return;
    groat__cache_fill_table(&w->cache, seed, table);
    for (int64_t s = 0; s < w->v[SEQUENCES]; s++)
        for (int64_t key = 0; key < groat__cache_length(&w->cache, s); key++)
            for (int64_t h = 0; h < w->v[KV_HEADS]; h++)
                for (int plane = 0; plane < 2; plane++) {
                    size_t at = place_of(w, table, plane, s, key, h);

                    fill_numbers(w->element, seed + at, (size_t)w->head_dim, 2,
                                 to + at);
                }
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
    case CACHE:
        fill_cache(&w, seed, data);
        break;
    case TABLE:
        groat__cache_fill_table(&w.cache, seed, data);
        break;
    case LENGTHS:
        groat__cache_fill_lengths(&w.cache, data);
        break;
    case QUERIES:
        fill_numbers(w.element, seed + 1, bytes / 2, 2, data);
        break;
    case SINKS:
        fill_numbers(groat__element_find("f32", 3), seed + 2, bytes / 4, 4,
                     data);
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
    const groat_kv_view *view;
    groat_status status;
    world w;

    (void)context;
    status = look(spec, v, &w, error);
    if (status != GROAT_OK)
        return status;
    view = w.cache.view;
    args.q = addresses[QUERIES];
    args.k = addresses[CACHE] + view[0].address;
    args.v = addresses[CACHE] + view[1].address;
    args.page_table = addresses[TABLE];
    args.lengths = addresses[LENGTHS];
    args.output = addresses[OUTPUT];
    args.lse = addresses[LSE];
    args.sinks = addresses[SINKS];
    args.parts = addresses[PARTS];
    args.counters = addresses[COUNTERS];
    args.block_bytes = view[0].block_rows * (uint64_t)w.cache.row_bytes;
    args.token_bytes = (uint64_t)w.cache.row_bytes;
    args.head_bytes = w.cache.head_page
                          ? view[0].head_rows * (uint64_t)w.cache.row_bytes
                          : (uint64_t)groat__cache_head_bytes(&w.cache);
    args.sequences = (unsigned)v[SEQUENCES];
    args.kv_heads = (unsigned)v[KV_HEADS];
    args.pitch = (unsigned)w.cache.pitch;
    args.blocks = (unsigned)v[BLOCKS];
    args.least = (unsigned)v[LEAST];
    args.seen = (unsigned)v[SEEN];
    args.scale = (float)groat_arg_real(v[SCALE]);
    args.cap = (float)groat_arg_real(v[CAP]);
    memcpy(p->args, &args, sizeof(args));
    return GROAT_OK;
}

/* ---- what is expected ---------------------------------------------------- */

/* A query: of which sequence, in which place there, of which head. */
typedef struct query {
    int64_t sequence, place, head;
    int64_t length; /* of the sequence */
} query;

static bool sees(const world *w, const query *q, int64_t key)
{
    int64_t own = q->length - w->q_len + q->place; /* its own key */

    return key <= own && (!w->window || key > own - w->v[SEEN]);
}

static double score(const world *w, const unsigned char *of_query,
                    const unsigned char *of_key)
{
    double cap = (float)groat_arg_real(w->v[CAP]);
    double sum = 0;

    for (int64_t d = 0; d < w->head_dim; d++)
        sum += groat__element_load(w->element, of_query + 2 * d) *
               groat__element_load(w->element, of_key + 2 * d);
    sum *= (float)groat_arg_real(w->v[SCALE]);
    return w->soft_cap ? cap * tanh(sum / cap) : sum;
}

/* Attention of one query; weights has room for the keys.  Returns the logarithm
 * of the sum of the weights, of base 2. */
static double attend(const world *w, const void *const *inputs, const query *q,
                     double *weights, double *out)
{
    const unsigned char *cache = inputs[CACHE];
    const unsigned char *queries = inputs[QUERIES];
    const float *sinks = inputs[SINKS];
    const unsigned char *own =
        queries + ((q->sequence * w->q_len + q->place) * w->heads + q->head) *
                      w->head_dim * 2;
    double most = w->sink ? (double)sinks[q->head] : -INFINITY;
    double sum = 0;

    memset(out, 0, (size_t)w->head_dim * sizeof(*out));
    for (int64_t key = 0; key < q->length; key++) {
        weights[key] =
            sees(w, q, key)
                ? score(w, own,
                        cache + place_of(w, inputs[TABLE], 0, q->sequence, key,
                                         q->head / w->group))
                : -INFINITY;
        most = fmax(most, weights[key]);
    }
    if (w->sink)
        sum = exp(sinks[q->head] - most);
    for (int64_t key = 0; key < q->length; key++) {
        const unsigned char *value =
            cache +
            place_of(w, inputs[TABLE], 1, q->sequence, key, q->head / w->group);
        double weight =
            weights[key] == -INFINITY ? 0 : exp(weights[key] - most);

        sum += weight;
        for (int64_t d = 0; d < w->head_dim && weight > 0; d++)
            out[d] += weight * groat__element_load(w->element, value + 2 * d);
    }
    for (int64_t d = 0; d < w->head_dim && sum > 0; d++)
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
    weights = malloc((size_t)(w.v[KEYS] + w.head_dim) * sizeof(*weights));
    if (weights == NULL)
        return groat__host_starve(error, FAMILY, "the weights of a query");
    for (int64_t i = 0; i < w.v[SEQUENCES] * w.q_len * w.heads; i++) {
        query q = {i / w.heads / w.q_len, i / w.heads % w.q_len, i % w.heads,
                   0};
        double *out = weights + w.v[KEYS];
        double sum;

        q.length = ((const uint32_t *)inputs[LENGTHS])[q.sequence];
        sum = attend(&w, inputs, &q, weights, out);
        if (index == LSE)
            ((float *)data)[i] = (float)sum;
        for (int64_t d = 0; d < w.head_dim && index == OUTPUT; d++)
            groat__element_store(w.element, out[d],
                                 (unsigned char *)data +
                                     (i * w.head_dim + d) * 2);
    }
    free(weights);
    return GROAT_OK;
}

/* Of files: lengths that fit, and pages that there are. */
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
        status = groat__host_check_pages(table + s * w.cache.pitch, lengths[s],
                                         w.cache.page, w.cache.blocks, FAMILY,
                                         error);
    }
    return status;
}

const groat_driver groat_driver_paged_attention_decode = {
    FAMILY, arguments, plan, fill, bind, expect, NULL, check,
};
