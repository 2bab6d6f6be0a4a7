/* SPDX-License-Identifier: Apache-2.0
 *
 * host.c feeds and checks subtile_loader for `groat run`.  The source is the
 * key half of a slab of a KV cache: valid_rows tokens, each with src_cols
 * elements in a row of ld.  Expected images come from the closed form of the
 * layout (the place of a key's vector), fragments from the keys themselves, and
 * scores from sums of doubles: none shares arithmetic with the kernel.
 * Owns what the bytes mean; buffers and launches are the tool's
 * (cli/run/trial.c).
 * Invariant: each run-time argument is the field of args.h with its name.
 * Locking: none; writes only to what the caller passes.
 * It is C instead of a run.def, whose reference.c needs a compiler: this family
 * is verified on hosts that have none.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "kernels-src/driver/shared.h"

/* In the order of `arguments`. */
enum {
    VALID_ROWS,
    FIRST_ROW,
    FIRST_COL,
    SCALAR_OFFSET,
    ROW_TILES,
    HEADS,
    ROW_STEP,
    QUERIES,
    ARGUMENTS
};

/* In the order of params.def. */
enum { IMAGE, FRAGMENTS, STREAM, SCORES };
enum { BF16, F16, FP8 };
enum { CHAINED, HIPKITTENS };

enum {
    VECTOR = 16,
    SUBTILE_ROWS = 32,
    SUBTILE_BYTES = 2048,
    STREAM_BLOCKS = 264,
    DEVICE_QUERIES = 1029,
    LIMIT = 0x7fffffff
};

static const int64_t device_stream_bytes = (int64_t)1 << 30;

static const groat_driver_arg arguments[] = {
    {"valid_rows", GROAT_ARG_INT, -1, 0, INT32_MAX, "rows",
     "valid rows of the matrix; later ones read as zeros (default: three tiles "
     "and a half; on a GPU's stream entry 1 GiB)"},
    {"first_row", GROAT_ARG_INT, 0, 0, INT32_MAX, "rows",
     "row of the first tile"},
    {"first_col", GROAT_ARG_INT, 0, 0, 65536, "elements",
     "column of the first tile"},
    {"scalar_offset", GROAT_ARG_INT, 0, 0, INT32_MAX, "bytes",
     "added to the start of every tile: whole rows of ld, or into what lies "
     "beside"},
    {"row_tiles", GROAT_ARG_INT, -1, 1, INT32_MAX, "tiles",
     "tiles below each other (default: all that begin in a valid row)"},
    {"heads", GROAT_ARG_INT, -1, 1, 1024, "tiles",
     "tiles side by side (default: all of src_cols; scores on cpu: 1)"},
    {"row_step", GROAT_ARG_INT, -1, 1, 65535, "tiles",
     "stream entry: a block takes every row_step-th tile below each other, so "
     "this many blocks do (default: 264 blocks in all)"},
    {"queries", GROAT_ARG_INT, -1, 1, 1048576, "rows",
     "scores entry: queries of a head (default: 1029; on cpu those of a block "
     "and 5)"},
    {NULL, GROAT_ARG_INT, 0, 0, 0, NULL, NULL},
};

/* The constants of a spec that the host needs. */
typedef struct shape {
    int64_t entry, dtype, elem_bytes, bn, depth, src_cols, ld, num_warps;
    int64_t swizzle, mma_m, row_bytes, tile_bytes, subtiles_per_row;
    int64_t fragment_bytes, k_steps, fragments, fnuz;
} shape;

static shape shape_of(const groat_spec *spec)
{
    shape s;

    s.entry = groat__host_value(spec, "entry");
    s.dtype = groat__host_value(spec, "dtype");
    s.elem_bytes = groat__host_value(spec, "elem_bytes");
    s.bn = groat__host_value(spec, "BN");
    s.depth = groat__host_value(spec, "depth");
    s.src_cols = groat__host_value(spec, "src_cols");
    s.ld = groat__host_value(spec, "ld");
    s.num_warps = groat__host_value(spec, "num_warps");
    s.swizzle = groat__host_value(spec, "swizzle");
    s.mma_m = groat__host_value(spec, "mma_m");
    s.row_bytes = groat__host_value(spec, "row_bytes");
    s.tile_bytes = groat__host_value(spec, "tile_bytes");
    s.subtiles_per_row = groat__host_value(spec, "subtiles_per_row");
    s.fragment_bytes = groat__host_value(spec, "fragment_bytes");
    s.k_steps = groat__host_value(spec, "k_steps");
    s.fragments = groat__host_value(spec, "tile_fragments");
    s.fnuz = groat__host_value(spec, "arch_fp8_fnuz");
    return s;
}

/* ---- the run ------------------------------------------------------------ */

static void derive(const groat_spec *spec, const shape *s, int64_t *v)
{
    bool on_cpu = groat__host_on_cpu(spec);

    if (v[VALID_ROWS] < 0 && s->entry == STREAM && !on_cpu)
        v[VALID_ROWS] = device_stream_bytes / (s->ld * s->elem_bytes);
    if (v[VALID_ROWS] < 0)
        v[VALID_ROWS] = 3 * s->bn + s->bn / 2 + 1;
    if (v[ROW_TILES] < 0) {
        int64_t rows = v[VALID_ROWS] - v[FIRST_ROW];

        v[ROW_TILES] = rows <= 0 ? 1 : (rows + s->bn - 1) / s->bn;
    }
    if (v[HEADS] < 0)
        v[HEADS] = s->entry == SCORES && on_cpu
                       ? 1
                       : (s->src_cols - v[FIRST_COL]) / s->depth;
    if (v[ROW_STEP] < 0 && v[HEADS] > 0) {
        int64_t step = (STREAM_BLOCKS + v[HEADS] - 1) / v[HEADS];

        v[ROW_STEP] = step < v[ROW_TILES] ? step : v[ROW_TILES];
    }
    if (v[QUERIES] < 0)
        v[QUERIES] = on_cpu ? s->num_warps * s->mma_m + 5 : DEVICE_QUERIES;
}

static groat_status refuse(groat_error *error, const char *what, int64_t seen,
                           const char *rule, int64_t limit)
{
    return groat__host_refuse(error, "subtile_loader", what, seen,
                              "%s %" PRId64, rule, limit);
}

static groat_status check(const shape *s, const int64_t *v, groat_error *error)
{
    /* The bytes that a tile spans, with the row in which scalar_offset ends. */
    int64_t span = (s->bn + 2) * s->ld * s->elem_bytes;

    if (v[FIRST_COL] * s->elem_bytes % VECTOR != 0)
        return refuse(error, "first_col", v[FIRST_COL],
                      "it must be a multiple of", VECTOR / s->elem_bytes);
    if (v[FIRST_COL] + s->depth > s->src_cols)
        return refuse(error, "first_col", v[FIRST_COL],
                      "the last that a tile may start at is",
                      s->src_cols - s->depth);
    if (v[FIRST_COL] + v[HEADS] * s->depth > s->src_cols)
        return refuse(error, "first_col + heads * depth",
                      v[FIRST_COL] + v[HEADS] * s->depth,
                      "it may not pass src_cols, which is", s->src_cols);
    if (v[SCALAR_OFFSET] % VECTOR != 0)
        return refuse(error, "scalar_offset", v[SCALAR_OFFSET],
                      "it must be a multiple of", VECTOR);
    if (v[SCALAR_OFFSET] > LIMIT - span)
        return refuse(error, "scalar_offset", v[SCALAR_OFFSET],
                      "offsets are 31-bit, so with these tiles it is at most",
                      LIMIT - span);
    if (v[ROW_TILES] * v[HEADS] > LIMIT)
        return refuse(error, "row_tiles * heads", v[ROW_TILES] * v[HEADS],
                      "the blocks of a grid are at most", LIMIT);
    if (v[QUERIES] * s->row_bytes > LIMIT)
        return refuse(error, "queries", v[QUERIES],
                      "offsets are 31-bit, so it is at most",
                      LIMIT / s->row_bytes);
    return GROAT_OK;
}

/* Bytes of the matrix. */
static int64_t source_bytes(const shape *s, const int64_t *v)
{
    return v[VALID_ROWS] == 0
               ? 0
               : ((v[VALID_ROWS] - 1) * s->ld + s->src_cols) * s->elem_bytes;
}

static uint64_t bytes_read(const shape *s, const int64_t *v)
{
    int64_t left = v[VALID_ROWS] - v[FIRST_ROW];
    int64_t rows = v[ROW_TILES] * s->bn;

    rows = left < 0 ? 0 : left < rows ? left : rows;
    return (uint64_t)(rows * v[HEADS] * s->row_bytes);
}

/* Index of the output buffer; the source is first, then queries if any. */
static size_t output_index(const shape *s)
{
    return s->entry == SCORES ? 2 : 1;
}

static groat_status plan(const groat_spec *spec, const int64_t *values,
                         groat_plan *p, groat_error *error)
{
    static const char *const outputs[] = {"image", "fragments", "sums",
                                          "scores"};
    shape s = shape_of(spec);
    int64_t *v = p->values;
    int64_t block_queries = s.num_warps * s.mma_m;
    int64_t bytes;
    groat_status status;

    memcpy(v, values, ARGUMENTS * sizeof(v[0]));
    derive(spec, &s, v);
    status = check(&s, v, error);
    if (status != GROAT_OK)
        return status;
    p->grid[0] = (unsigned)v[ROW_TILES];
    bytes = v[ROW_TILES] * v[HEADS] * s.tile_bytes;
    if (s.entry == STREAM) {
        p->grid[0] = (unsigned)v[ROW_STEP];
        bytes = v[ROW_STEP] * v[HEADS] * s.num_warps * 64 * VECTOR;
    } else if (s.entry == SCORES) {
        p->grid[0] =
            (unsigned)((v[QUERIES] + block_queries - 1) / block_queries);
        bytes = v[HEADS] * v[QUERIES] * v[ROW_TILES] * s.bn *
                (int64_t)sizeof(float);
    }
    p->grid[1] = (unsigned)v[HEADS];
    p->grid[2] = 1;
    p->buffer_count = 0;
    groat__host_add_buffer(p, "source", source_bytes(&s, v), false);
    if (s.entry == SCORES)
        groat__host_add_buffer(p, "queries",
                               v[HEADS] * v[QUERIES] * s.row_bytes, false);
    groat__host_add_buffer(p, outputs[s.entry], bytes, true);
    p->args_bytes = sizeof(struct subtile_loader_args);
    /* Each block of the scores entry reads all keys. */
    p->moved_bytes =
        bytes_read(&s, v) * (s.entry == SCORES ? (uint64_t)p->grid[0] : 1u) +
        (uint64_t)bytes;
    if (s.entry == SCORES)
        p->moved_bytes += p->buffers[1].bytes;
    return GROAT_OK;
}

static groat_status bind(groat_context *context, const groat_spec *spec,
                         groat_plan *p, const uint64_t *addresses,
                         groat_error *error)
{
    struct subtile_loader_args args = {0};
    shape s = shape_of(spec);

    (void)context;
    (void)error;
    args.source = addresses[0];
    args.query = s.entry == SCORES ? addresses[1] : 0;
    args.output = addresses[output_index(&s)];
    args.valid_rows = p->values[VALID_ROWS];
    args.first_row = p->values[FIRST_ROW];
    args.first_col = (unsigned)p->values[FIRST_COL];
    args.scalar_offset = (unsigned)p->values[SCALAR_OFFSET];
    args.row_tiles = (unsigned)p->values[ROW_TILES];
    args.heads = (unsigned)p->values[HEADS];
    args.row_step = (unsigned)p->values[ROW_STEP];
    args.queries = (unsigned)p->values[QUERIES];
    memcpy(p->args, &args, sizeof(args));
    return GROAT_OK;
}

/* ---- input -------------------------------------------------------------- */

/* An integer from -8 to 8 other than 0: sums of their products are exact. */
static unsigned whole_number(const groat__host_format *f, uint64_t random)
{
    unsigned value = 1 + (unsigned)(random % 8);
    unsigned log2 = value >= 8 ? 3 : value >= 4 ? 2 : value >= 2 ? 1 : 0;
    unsigned sign = (unsigned)(random >> 32 & 1);

    return sign << (f->exponent + f->mantissa) |
           ((unsigned)f->bias + log2) << f->mantissa |
           ((value << f->mantissa >> log2) & ((1u << f->mantissa) - 1));
}

/* A number of 1/8 to 2, either sign, any mantissa: never a subnormal, which
 * some devices flush to 0. */
static unsigned real_number(const groat__host_format *f, uint64_t random)
{
    unsigned exponent = (unsigned)f->bias - 3 + (unsigned)(random >> 40 & 3);
    unsigned sign = (unsigned)(random >> 32 & 1);

    return sign << (f->exponent + f->mantissa) | exponent << f->mantissa |
           ((unsigned)random & ((1u << f->mantissa) - 1));
}

/* For the scores entry, integers with even seeds and real numbers with odd
 * ones; for the others random bytes other than 0, so that a zero fill always
 * shows. */
static void fill(const groat_spec *spec, const groat_plan *p, size_t index,
                 uint64_t seed, void *data)
{
    shape s = shape_of(spec);
    groat__host_format f = groat__host_format_of(s.dtype, s.fnuz);
    size_t step = s.entry == SCORES ? (size_t)f.bytes : 1;
    uint64_t state = groat__host_mix(seed + 0x9E3779B97F4A7C15u * (index + 1));
    unsigned char *bytes = data;

    for (size_t at = 0; at < p->buffers[index].bytes; at += step) {
        uint64_t random = groat__host_draw(&state);
        unsigned bits;

        if (s.entry != SCORES)
            bits = 1 + (unsigned)(random % 255);
        else if (seed % 2 == 0)
            bits = whole_number(&f, random);
        else
            bits = real_number(&f, random);
        bytes[at] = (unsigned char)bits;
        if (step == 2)
            bytes[at + 1] = (unsigned char)(bits >> 8);
    }
}

/* ---- the tile ----------------------------------------------------------- */

/* The launch, and the source. */
typedef struct work {
    shape s;
    const int64_t *v;
    const unsigned char *source;
} work;

/* Returns vector `c` of a row of a tile; NULL if it reads as zeros. */
static const unsigned char *key_vector(const work *w, int64_t row_tile,
                                       int64_t head, int64_t row, int64_t c)
{
    int64_t first = w->v[FIRST_ROW] + row_tile * w->s.bn + row;
    int64_t col = w->v[FIRST_COL] + head * w->s.depth;
    int64_t at = w->v[SCALAR_OFFSET] +
                 (first * w->s.ld + col) * w->s.elem_bytes + c * VECTOR;

    return at + VECTOR <= source_bytes(&w->s, w->v) ? w->source + at : NULL;
}

/* Returns the place of that vector in the image. */
static int64_t place(const shape *s, int64_t row, int64_t c)
{
    int64_t subtile = row / SUBTILE_ROWS * s->subtiles_per_row + c / 4;
    int64_t flip =
        s->swizzle == CHAINED ? row / 4 % 4 : row / 8 % 2 * 2 + row / 16 % 2;

    return subtile * SUBTILE_BYTES +
           (row % SUBTILE_ROWS * 4 + (c % 4 ^ flip)) * VECTOR;
}

static void put(unsigned char *to, const unsigned char *from)
{
    if (from != NULL)
        memcpy(to, from, VECTOR);
    else
        memset(to, 0, VECTOR);
}

static void expect_image(const work *w, int64_t row_tile, int64_t head,
                         unsigned char *image)
{
    for (int64_t row = 0; row < w->s.bn; row++)
        for (int64_t c = 0; c < w->s.row_bytes / VECTOR; c++)
            put(image + place(&w->s, row, c),
                key_vector(w, row_tile, head, row, c));
}

/* Lane l has row l % mma_m; the lanes divide the columns of a fragment into 64
 * / mma_m parts, and lane l has part l / mma_m. */
static void expect_fragments(const work *w, int64_t row_tile, int64_t head,
                             unsigned char *out)
{
    const shape *s = &w->s;
    int64_t vectors = s->fragment_bytes / VECTOR;

    for (int64_t f = 0; f < s->fragments; f++)
        for (int64_t lane = 0; lane < 64; lane++)
            for (int64_t part = 0; part < vectors; part++) {
                int64_t row = f / s->k_steps * s->mma_m + lane % s->mma_m;
                int64_t block =
                    f % s->k_steps * (64 / s->mma_m) + lane / s->mma_m;

                put(out,
                    key_vector(w, row_tile, head, row, block * vectors + part));
                out += VECTOR;
            }
}

static groat_status expect_sums(const work *w, unsigned char *sums,
                                groat_error *error)
{
    const int64_t *v = w->v;
    int64_t block_bytes = w->s.num_warps * 64 * VECTOR;
    unsigned char *image = malloc((size_t)w->s.tile_bytes);

    if (image == NULL)
        return groat__host_starve(error, "subtile_loader", "a tile");
    memset(sums, 0, (size_t)(v[ROW_STEP] * v[HEADS] * block_bytes));
    for (int64_t t = 0; t < v[ROW_TILES]; t++)
        for (int64_t h = 0; h < v[HEADS]; h++) {
            expect_image(w, t, h, image);
            groat__host_fold(image, w->s.tile_bytes, w->s.num_warps * 64,
                             sums + (t % v[ROW_STEP] * v[HEADS] + h) *
                                        block_bytes);
        }
    free(image);
    return GROAT_OK;
}

/* ---- scores ------------------------------------------------------------- */

/* Decodes one vector of a row of keys or queries to doubles. */
static void decode(const work *w, const unsigned char *vector, double *row)
{
    groat__host_format f = groat__host_format_of(w->s.dtype, w->s.fnuz);

    for (int64_t i = 0; i < VECTOR / f.bytes; i++)
        row[i] = vector == NULL
                     ? 0
                     : groat__host_number_at(&f, vector + i * f.bytes);
}

/* Decodes the keys of a head, all tiles. */
static void decode_keys(const work *w, int64_t head, double *keys)
{
    int64_t per_vector = VECTOR / w->s.elem_bytes;

    for (int64_t key = 0; key < w->v[ROW_TILES] * w->s.bn; key++)
        for (int64_t c = 0; c < w->s.row_bytes / VECTOR; c++)
            decode(w, key_vector(w, key / w->s.bn, head, key % w->s.bn, c),
                   keys + key * w->s.depth + c * per_vector);
}

/* Computes one score and the error bound of a sum of floats: each of depth
 * additions, and the last rounding, may be off by one unit in the last place
 * of the sum of magnitudes.  Sums of integers below 2^24 are exact in any
 * order. */
static void one_score(const double *key, const double *query, int64_t depth,
                      float *value, float *allowed)
{
    double sum = 0;
    double magnitude = 0;
    bool whole = true;

    for (int64_t i = 0; i < depth; i++) {
        double product = key[i] * query[i];

        sum += product;
        magnitude += fabs(product);
        whole = whole && product == floor(product);
    }
    *value = (float)sum;
    *allowed = whole && magnitude < 0x1p24
                   ? 0
                   : (float)((double)(depth + 1) * 0x1p-23 * magnitude);
}

/* Computes the scores of all heads and their bounds; either may be NULL. */
static groat_status score_all(const work *w, const unsigned char *queries,
                              float *values, float *allowed)
{
    int64_t depth = w->s.depth;
    int64_t keys = w->v[ROW_TILES] * w->s.bn;
    double *key = malloc((size_t)(keys * depth) * sizeof(*key));
    double *query = malloc((size_t)depth * sizeof(*query));
    int64_t per_vector = VECTOR / w->s.elem_bytes;
    int64_t at = 0;
    groat_status status;

    for (int64_t h = 0; key && query && h < w->v[HEADS]; h++) {
        decode_keys(w, h, key);
        for (int64_t q = 0; q < w->v[QUERIES]; q++) {
            for (int64_t c = 0; c < w->s.row_bytes / VECTOR;
                 c++, queries += VECTOR)
                decode(w, queries, query + c * per_vector);
            for (int64_t k = 0; k < keys; k++, at++) {
                float value;
                float bound;

                one_score(key + k * depth, query, depth, &value, &bound);
                if (values != NULL)
                    values[at] = value;
                if (allowed != NULL)
                    allowed[at] = bound;
            }
        }
    }
    status = key && query ? GROAT_OK : GROAT_NO_MEMORY;
    free(key);
    free(query);
    return status;
}

static groat_status expect(const groat_spec *spec, const groat_plan *p,
                           const void *const *inputs, size_t index, void *data,
                           groat_error *error)
{
    work w = {shape_of(spec), p->values, inputs[0]};
    unsigned char *out = data;

    (void)index;
    if (w.s.entry == STREAM)
        return expect_sums(&w, data, error);
    if (w.s.entry == SCORES)
        return score_all(&w, inputs[1], data, NULL) == GROAT_OK
                   ? GROAT_OK
                   : groat__host_starve(error, "subtile_loader",
                                        "the keys as doubles");
    for (int64_t t = 0; t < w.v[ROW_TILES]; t++)
        for (int64_t h = 0; h < w.v[HEADS]; h++, out += w.s.tile_bytes)
            if (w.s.entry == IMAGE)
                expect_image(&w, t, h, out);
            else
                expect_fragments(&w, t, h, out);
    return GROAT_OK;
}

static bool bound(const groat_spec *spec, const groat_plan *p,
                  const void *const *inputs, size_t index, float *allowed)
{
    work w = {shape_of(spec), p->values, inputs[0]};

    (void)index;
    return w.s.entry == SCORES &&
           score_all(&w, inputs[1], NULL, allowed) == GROAT_OK;
}

const groat_driver groat_driver_subtile_loader = {
    "subtile_loader", arguments, plan, fill, bind, expect, bound, NULL,
};
