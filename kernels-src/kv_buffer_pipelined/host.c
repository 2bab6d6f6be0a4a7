/* SPDX-License-Identifier: Apache-2.0
 *
 * host.c feeds and checks kv_buffer_pipelined for `groat run`.  K and V are two
 * slabs of valid_rows tokens.  Images come from the closed form of
 * driver/kv_host.c, attention from float64 sums over the slabs with the scores
 * rounded in between, so nothing is shared with the kernel.
 * It is C instead of a run.def, whose reference.c needs a compiler: this family
 * is verified on hosts that have none.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../driver/kv_host.h"
#include "args.h"

/* In the order of the arguments. */
enum {
    VALID_ROWS,
    FIRST_ROW,
    FIRST_COL,
    KEY_BLOCKS,
    QUERIES,
    TILES,
    BLOCKS,
    HEADS,
    REAL,
    VALUES
};

/* In the order of params.def. */
enum { ATTENTION, IMAGE, STREAM };

enum { STREAM_BLOCKS = 264, POISON = 0xEE };

static const int64_t device_stream_bytes = (int64_t)1 << 29; /* of each slab */

static const groat_driver_arg arguments[] = {
    {"valid_rows", GROAT_ARG_INT, -1, 0, INT32_MAX, "rows",
     "valid rows of the slabs; later ones read as zeros (default: three key "
     "blocks and a half, more on a GPU; its stream entry 512 MiB each)"},
    {"first_row", GROAT_ARG_INT, 0, 0, INT32_MAX, "rows",
     "row of the first key block"},
    {"first_col", GROAT_ARG_INT, 0, 0, 65536, "elements", "column of the head"},
    {"key_blocks", GROAT_ARG_INT, -1, 1, INT32_MAX, "blocks",
     "key blocks (default: all that begin in a valid row)"},
    {"queries", GROAT_ARG_INT, -1, 1, 1 << 24, "rows",
     "rows of Q (default: one block of them and a half tile, more on a GPU)"},
    {"tiles", GROAT_ARG_INT, 3, 1, 1024, "blocks",
     "image entry: key blocks that a block brings one after the other"},
    {"block_step", GROAT_ARG_INT, -1, 1, 65535, "blocks",
     "blocks that share the key blocks, image and stream entries"},
    {"heads", GROAT_ARG_INT, -1, 1, 2048, "heads",
     "heads side by side, stream entry (default: all of src_cols)"},
    {"real", GROAT_ARG_INT, 0, 0, 1, "-",
     "0: whole numbers, whose products are exact; 1: real ones, within a "
     "bound"},
    {NULL, GROAT_ARG_INT, 0, 0, 0, NULL, NULL},
};

/* The constants of a spec that the host needs. */
typedef struct shape {
    int64_t entry, f16, BN, depth, src_cols, ld, num_warps, mma_n;
    int64_t slot_bytes, stage_bytes;
    groat__kv_tile keys, values;
} shape;

static shape shape_of(const groat_spec *spec)
{
    shape s;

    s.entry = groat__host_value(spec, "entry");
    s.f16 = groat__host_value(spec, "dtype");
    s.BN = groat__host_value(spec, "BN");
    s.depth = groat__host_value(spec, "depth");
    s.src_cols = groat__host_value(spec, "src_cols");
    s.ld = groat__host_value(spec, "ld");
    s.num_warps = groat__host_value(spec, "num_warps");
    s.mma_n = groat__host_value(spec, "mma_n");
    s.slot_bytes = groat__host_value(spec, "slot_bytes");
    s.stage_bytes = groat__host_value(spec, "stage_bytes");
    s.keys.rows = s.BN;
    s.keys.cols = s.depth;
    s.keys.panel = groat__host_value(spec, "BK");
    s.keys.ld = s.ld;
    s.keys.bits = groat__host_value(spec, "swizzle_bits");
    s.keys.base = groat__host_value(spec, "swizzle_base");
    s.keys.shift = groat__host_value(spec, "swizzle_shift");
    s.values = s.keys;
    s.values.panel = s.depth;
    return s;
}

/* ---- plans -------------------------------------------------------------- */

static void derive(const groat_spec *spec, const shape *s, int64_t *v)
{
    bool on_cpu = groat__host_on_cpu(spec);
    int64_t all;

    if (v[VALID_ROWS] < 0 && s->entry == STREAM && !on_cpu)
        v[VALID_ROWS] = device_stream_bytes / (s->ld * 2);
    if (v[VALID_ROWS] < 0)
        v[VALID_ROWS] = (on_cpu ? 3 : 31) * s->BN + s->BN / 2 + 1;
    all = v[VALID_ROWS] - v[FIRST_ROW];
    all = all <= 0 ? 1 : (all + s->BN - 1) / s->BN;
    if (v[BLOCKS] < 0 && s->entry == IMAGE)
        v[BLOCKS] = (all + v[TILES] - 1) / v[TILES];
    if (s->entry == IMAGE)
        v[KEY_BLOCKS] = v[BLOCKS] * v[TILES];
    if (v[KEY_BLOCKS] < 0)
        v[KEY_BLOCKS] = all;
    if (v[QUERIES] < 0)
        v[QUERIES] =
            (on_cpu ? 1 : 8) * s->mma_n * s->num_warps + s->mma_n / 2 + 1;
    if (v[HEADS] < 0)
        v[HEADS] =
            s->entry == STREAM ? (s->src_cols - v[FIRST_COL]) / s->depth : 1;
    if (v[BLOCKS] < 0 && v[HEADS] > 0)
        v[BLOCKS] = (STREAM_BLOCKS + v[HEADS] - 1) / v[HEADS];
    if (s->entry == STREAM && v[BLOCKS] > v[KEY_BLOCKS])
        v[BLOCKS] = v[KEY_BLOCKS];
}

static groat_status check(const groat_spec *spec, const shape *s,
                          const int64_t *v, groat_error *error)
{
    if (v[FIRST_COL] % 8 != 0)
        return groat__kv_refuse(spec, "first_col", v[FIRST_COL],
                                "it must be a multiple of 8", error);
    if (v[HEADS] < 1 || v[FIRST_COL] + v[HEADS] * s->depth > s->src_cols)
        return groat__kv_refuse(spec, "first_col + heads * depth",
                                v[FIRST_COL] + v[HEADS] * s->depth,
                                "it may not pass src_cols", error);
    if (v[KEY_BLOCKS] * s->BN > INT32_MAX)
        return groat__kv_refuse(spec, "key_blocks * BN", v[KEY_BLOCKS] * s->BN,
                                "2147483647 keys are possible", error);
    return GROAT_OK;
}

static void lay_out(const shape *s, const int64_t *v, groat_plan *p)
{
    int64_t slab = v[VALID_ROWS] == 0
                       ? 0
                       : ((v[VALID_ROWS] - 1) * s->ld + s->src_cols) * 2;
    int64_t block_queries = s->mma_n * s->num_warps;
    int64_t x = v[BLOCKS];

    groat__host_add_buffer(p, "K", slab, false);
    groat__host_add_buffer(p, "V", slab, false);
    switch (s->entry) {
    case IMAGE:
        groat__host_add_buffer(p, "image", v[BLOCKS] * 2 * s->stage_bytes,
                               true);
        break;
    case STREAM:
        groat__host_add_buffer(
            p, "sums", v[BLOCKS] * v[HEADS] * s->num_warps * 1024, true);
        break;
    default:
        x = (v[QUERIES] + block_queries - 1) / block_queries;
        groat__host_add_buffer(p, "Q", v[QUERIES] * s->depth * 2, false);
        groat__host_add_buffer(p, "O", v[QUERIES] * s->depth * 4, true);
        break;
    }
    p->grid[0] = (unsigned)x;
    p->grid[1] = (unsigned)v[HEADS];
    p->grid[2] = 1;
}

static groat_status plan(const groat_spec *spec, const int64_t *values,
                         groat_plan *p, groat_error *error)
{
    shape s = shape_of(spec);
    int64_t *v = p->values;
    groat_status status;
    int64_t rows;

    memcpy(v, values, VALUES * sizeof(values[0]));
    derive(spec, &s, v);
    status = check(spec, &s, v, error);
    if (status != GROAT_OK)
        return status;
    p->buffer_count = 0;
    lay_out(&s, v, p);
    p->args_bytes = sizeof(struct kv_buffer_pipelined_args);
    rows = v[VALID_ROWS] - v[FIRST_ROW];
    rows = rows < 0 ? 0 : rows;
    rows = rows < v[KEY_BLOCKS] * s.BN ? rows : v[KEY_BLOCKS] * s.BN;
    p->moved_bytes = (uint64_t)(2 * rows * s.depth * 2 * v[HEADS]);
    for (size_t i = 2; i < p->buffer_count; i++)
        p->moved_bytes += p->buffers[i].bytes;
    return GROAT_OK;
}

static void fill(const groat_spec *spec, const groat_plan *p, size_t index,
                 uint64_t seed, void *data)
{
    shape s = shape_of(spec);
    size_t bytes = p->buffers[index].bytes;

    if (s.entry == ATTENTION)
        groat__kv_fill_numbers(seed + index, s.f16 != 0, p->values[REAL] != 0,
                               data, bytes / 2);
    else
        groat__host_fill(seed + index, data, bytes);
}

static groat_status bind(groat_context *context, const groat_spec *spec,
                         groat_plan *p, const uint64_t *addresses,
                         groat_error *error)
{
    struct kv_buffer_pipelined_args args = {0};
    const int64_t *v = p->values;

    (void)context;
    (void)spec;
    (void)error;
    args.keys = addresses[0];
    args.values = addresses[1];
    args.queries = p->buffer_count > 3 ? addresses[2] : 0;
    args.output = addresses[p->buffer_count - 1];
    args.valid_rows = v[VALID_ROWS];
    args.first_row = v[FIRST_ROW];
    args.first_col = (unsigned)v[FIRST_COL];
    args.key_blocks = (unsigned)v[KEY_BLOCKS];
    args.query_count = (unsigned)v[QUERIES];
    args.tiles = (unsigned)v[TILES];
    args.block_step = (unsigned)v[BLOCKS];
    args.heads = (unsigned)v[HEADS];
    memcpy(p->args, &args, sizeof(args));
    return GROAT_OK;
}

/* ---- images and sums ---------------------------------------------------- */

/* Writes K and V of a key block as a stage holds them. */
static void expect_stage(const shape *s, const int64_t *v,
                         const void *const *slabs, int64_t key_block,
                         int64_t head, unsigned char *stage)
{
    int64_t row = v[FIRST_ROW] + key_block * s->BN;
    int64_t first = row * s->ld + v[FIRST_COL] + head * s->depth;
    int64_t valid = v[VALID_ROWS] - row;

    groat__kv_expect_tile(&s->keys, slabs[0], first, valid, stage);
    groat__kv_expect_tile(&s->values, slabs[1], first, valid,
                          stage + s->slot_bytes);
}

/* Each stage keeps the last key block that was copied into it. */
static void expect_images(const shape *s, const int64_t *v,
                          const void *const *slabs, unsigned char *data)
{
    memset(data, POISON, (size_t)(v[BLOCKS] * 2 * s->stage_bytes));
    for (int64_t n = 0; n < v[BLOCKS] * v[TILES]; n++)
        if (n % v[TILES] + 2 >= v[TILES])
            expect_stage(s, v, slabs, n, 0,
                         data + (n / v[TILES] * 2 + n % v[TILES] % 2) *
                                    s->stage_bytes);
}

static groat_status expect_sums(const shape *s, const int64_t *v,
                                const void *const *slabs, unsigned char *sums,
                                groat_error *error)
{
    int64_t threads = s->num_warps * 64;
    unsigned char *stage = malloc((size_t)s->stage_bytes);

    if (stage == NULL)
        return groat__host_starve(error, "kv_buffer_pipelined", "a stage");
    memset(sums, 0, (size_t)(v[BLOCKS] * v[HEADS] * threads * 16));
    for (int64_t t = 0; t < v[KEY_BLOCKS] * v[HEADS]; t++) {
        int64_t head = t / v[KEY_BLOCKS];
        int64_t key_block = t % v[KEY_BLOCKS];
        int64_t block = key_block % v[BLOCKS] * v[HEADS] + head;
        unsigned char *to = sums + block * threads * 16;

        expect_stage(s, v, slabs, key_block, head, stage);
        groat__host_fold(stage, s->slot_bytes, threads, to);
        groat__host_fold(stage + s->slot_bytes, s->slot_bytes, threads, to);
    }
    free(stage);
    return GROAT_OK;
}

/* ---- attention ---------------------------------------------------------- */

/* State of one query: K.q of each key, and the error bound of each. */
typedef struct attention {
    const shape *s;
    const int64_t *v;
    const void *const *inputs;
    int64_t keys;    /* valid ones */
    double *weights; /* of each key, rounded */
    double *off;     /* error bound of each weight, or NULL */
} attention;

static double number_of(const attention *a, int input, int64_t row, int64_t col)
{
    const uint16_t *slab = a->inputs[input];
    int64_t at = (a->v[FIRST_ROW] + row) * a->s->ld + a->v[FIRST_COL] + col;

    return groat__kv_number(a->s->f16 != 0, slab[at]);
}

static double rounded(const attention *a, double x)
{
    return groat__kv_number(a->s->f16 != 0, groat__kv_round(a->s->f16 != 0, x));
}

static double larger(double x, double y)
{
    return x > y ? x : y;
}

static void weigh(const attention *a, int64_t query)
{
    const uint16_t *q = (const uint16_t *)a->inputs[2] + query * a->s->depth;

    for (int64_t key = 0; key < a->keys; key++) {
        double sum = 0;
        double total = 0;
        double slack;

        for (int64_t d = 0; d < a->s->depth; d++) {
            double x = groat__kv_number(a->s->f16 != 0, q[d]) *
                       number_of(a, 0, key, d);

            sum += x;
            total += fabs(x);
        }
        a->weights[key] = rounded(a, sum);
        if (a->off == NULL)
            continue;
        /* Rounding is monotonic, so the interval's ends bound the error. */
        slack = groat__kv_slack(a->s->depth, total);
        a->off[key] = larger(rounded(a, sum + slack) - a->weights[key],
                             a->weights[key] - rounded(a, sum - slack));
    }
}

/* Computes column `col` of O and its error bound. */
static double output_of(const attention *a, int64_t col, double *slack)
{
    double sum = 0;
    double total = 0;
    double off = 0;

    for (int64_t key = 0; key < a->keys; key++) {
        double value = number_of(a, 1, key, col);

        sum += a->weights[key] * value;
        if (a->off == NULL)
            continue;
        total += (fabs(a->weights[key]) + a->off[key]) * fabs(value);
        off += a->off[key] * fabs(value);
    }
    *slack = off + groat__kv_slack(a->v[KEY_BLOCKS] * a->s->BN, total);
    return sum;
}

/* Computes O, and if `allowed` is not NULL each number's error bound. */
static bool attend(const shape *s, const int64_t *v, const void *const *inputs,
                   float *out, float *allowed)
{
    int64_t keys = v[VALID_ROWS] - v[FIRST_ROW];
    int64_t most = v[KEY_BLOCKS] * s->BN;
    attention a = {s,    v,   inputs, keys < 0 ? 0 : keys < most ? keys : most,
                   NULL, NULL};
    bool done;

    a.weights = malloc((size_t)(most + 1) * sizeof(double));
    if (allowed != NULL)
        a.off = malloc((size_t)(most + 1) * sizeof(double));
    done = a.weights != NULL && (allowed == NULL || a.off != NULL);
    for (int64_t q = 0; q < v[QUERIES] && done; q++) {
        weigh(&a, q);
        for (int64_t col = 0; col < s->depth; col++) {
            double slack;
            double sum = output_of(&a, col, &slack);

            if (out != NULL)
                out[q * s->depth + col] = (float)sum;
            if (allowed != NULL)
                allowed[q * s->depth + col] = (float)slack;
        }
    }
    free(a.weights);
    free(a.off);
    return done;
}

static groat_status expect(const groat_spec *spec, const groat_plan *p,
                           const void *const *inputs, size_t index, void *data,
                           groat_error *error)
{
    shape s = shape_of(spec);
    const int64_t *v = p->values;

    (void)index;
    if (s.entry == STREAM)
        return expect_sums(&s, v, inputs, data, error);
    if (s.entry == IMAGE) {
        expect_images(&s, v, inputs, data);
        return GROAT_OK;
    }
    if (attend(&s, v, inputs, data, NULL))
        return GROAT_OK;
    return groat__host_starve(error, "kv_buffer_pipelined",
                              "the scores of a query");
}

static bool bound(const groat_spec *spec, const groat_plan *p,
                  const void *const *inputs, size_t index, float *allowed)
{
    shape s = shape_of(spec);

    (void)index;
    return s.entry == ATTENTION && p->values[REAL] != 0 &&
           attend(&s, p->values, inputs, NULL, allowed);
}

const groat_driver groat_driver_kv_buffer_pipelined = {
    "kv_buffer_pipelined", arguments, plan, fill, bind, expect, bound, NULL,
};
