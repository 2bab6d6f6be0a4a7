/* SPDX-License-Identifier: Apache-2.0
 *
 * subtile.h - an oracle for subtile_loader, and helpers to run the kernel.
 *
 * The oracle loops over waves, iterations and lanes.  It forms M0, soffset and
 * voffset of each burst, applies the descriptor's bounds dword by dword, and
 * computes the image's XORs on bytes.  It reads the image back lane by lane,
 * with the reader's XORs on vectors.  The driver of `groat run` has the closed
 * form, so every image is computed three ways.
 */
#ifndef GROAT_TEST_KERNELS_SUBTILE_H
#define GROAT_TEST_KERNELS_SUBTILE_H

#include <math.h>

#include "kernels-src/subtile_loader/args.h"
#include "tests/kernels/drive.h"
#include "tests/kernels/known.h"

extern const groat_driver groat_driver_subtile_loader;

enum { K_LANES = 64, K_POISON = 0xEE };
enum { K_IMAGE, K_FRAGMENTS, K_STREAM, K_SCORES, K_ENTRIES };
enum { K_BF16, K_F16, K_FP8, K_DTYPES };
enum { K_CHAINED, K_HIPKITTENS };

static const char *const k_entries[] = {"image", "fragments", "stream",
                                        "scores"};
static const char *const k_dtypes[] = {"bf16", "f16", "fp8"};
static const char *const k_swizzles[] = {"chained", "hipkittens"};

/* A spec and the arguments of a launch. */
typedef struct k_case {
    int entry, dtype, bn, depth, src_cols, ld, warps, swizzle;
    int reader; /* -1: the image's swizzle */
    int mma_m;
    int mma_k; /* 0: the arch's widest */
    int stages;
    int64_t valid_rows, first_row;
    int first_col, scalar_offset, row_tiles, heads, row_step, queries;
} k_case;

/* One full tile of one head. */
static inline k_case k_one_tile(void)
{
    return (k_case){.bn = 64,
                    .depth = 128,
                    .src_cols = 128,
                    .ld = 128,
                    .warps = 4,
                    .reader = -1,
                    .mma_m = 32,
                    .stages = 1,
                    .valid_rows = 64,
                    .row_tiles = 1,
                    .heads = 1,
                    .row_step = 1,
                    .queries = 1};
}

static inline int64_t k_elem(const k_case *t)
{
    return t->dtype == K_FP8 ? 1 : 2;
}

static inline int64_t k_row_bytes(const k_case *t)
{
    return t->depth * k_elem(t);
}

static inline int64_t k_tile_bytes(const k_case *t)
{
    return t->bn * k_row_bytes(t);
}

static inline size_t k_source_bytes(const k_case *t)
{
    return t->valid_rows == 0
               ? 0
               : (size_t)(((t->valid_rows - 1) * t->ld + t->src_cols) *
                          k_elem(t));
}

static inline size_t k_query_bytes(const k_case *t)
{
    return t->entry != K_SCORES
               ? 0
               : (size_t)(t->heads * t->queries * k_row_bytes(t));
}

static inline size_t k_output_bytes(const k_case *t)
{
    if (t->entry == K_STREAM)
        return (size_t)(t->row_step * t->heads * t->warps) * K_LANES * 16;
    if (t->entry == K_SCORES)
        return (size_t)t->heads * (size_t)t->queries *
               (size_t)(t->row_tiles * t->bn) * sizeof(float);
    return (size_t)(t->row_tiles * t->heads * k_tile_bytes(t));
}

static inline void k_spec(const k_case *t, char *text, size_t room)
{
    int len = snprintf(text, room,
                       "subtile_loader:entry=%s,dtype=%s,BN=%d,depth=%d,"
                       "src_cols=%d,ld=%d,num_warps=%d,swizzle=%s,mma_m=%d,"
                       "stages=%d",
                       k_entries[t->entry], k_dtypes[t->dtype], t->bn, t->depth,
                       t->src_cols, t->ld, t->warps, k_swizzles[t->swizzle],
                       t->mma_m, t->stages);

    if (t->reader >= 0)
        len += snprintf(text + len, room - (size_t)len, ",reader=%s",
                        k_swizzles[t->reader]);
    if (t->mma_k > 0)
        (void)snprintf(text + len, room - (size_t)len, ",mma_k=%d", t->mma_k);
}

/* ---- the writer --------------------------------------------------------- */

/* What one lane writes in a burst of 16 bytes per lane. */
static inline void k_copy(const unsigned char *source, int64_t records,
                          int64_t offset, unsigned char *to)
{
    for (int64_t d = 0; d < 16; d += 4)
        for (int64_t k = 0; k < 4; k++)
            to[d + k] = offset + d + 4 <= records ? source[offset + d + k] : 0;
}

/* Maps byte b of an image to the byte of its subtile that is stored there. */
static inline int64_t k_unswizzle(const k_case *t, int64_t b)
{
    if (t->swizzle == K_CHAINED)
        return b ^ (b & 0x300) >> 4;
    b ^= b % 1024 >> 9 << 5;
    return b ^ b % 2048 >> 10 << 4;
}

/* Writes tile (row_tile, head) to shared memory as the waves place it. */
static inline void k_walk(const k_case *t, const unsigned char *source,
                          int row_tile, int head, unsigned char *lds)
{
    int64_t row_stride = t->ld * k_elem(t);
    int64_t first = t->first_row + (int64_t)row_tile * t->bn;
    int64_t rows = t->valid_rows - first;
    int64_t records =
        rows <= 0 ? 0 : ((rows - 1) * t->ld + t->src_cols) * k_elem(t);
    int64_t soffset =
        t->scalar_offset + (t->first_col + head * t->depth) * k_elem(t);
    int64_t per_iteration = (int64_t)t->warps * 1024;
    int64_t per_row = k_row_bytes(t) / 64;

    ck_assert_int_eq(k_tile_bytes(t) % per_iteration, 0);
    memset(lds, K_POISON, (size_t)k_tile_bytes(t));
    for (int64_t w = 0; w < t->warps; w++)
        for (int64_t i = 0; i < k_tile_bytes(t) / per_iteration; i++)
            for (int64_t lane = 0; lane < K_LANES; lane++) {
                int64_t m0 = w * 1024 + i * per_iteration;
                int64_t at = m0 + lane * 16;
                int64_t in = k_unswizzle(t, at % 2048);
                int64_t row = at / 2048 / per_row * 32 + in / 64;
                int64_t col = at / 2048 % per_row * 64 + in % 64;

                k_copy(rows <= 0 ? NULL : source + first * row_stride, records,
                       row * row_stride + col + soffset, lds + at);
            }
}

/* ---- the reader --------------------------------------------------------- */

static inline int k_reader(const k_case *t)
{
    return t->reader < 0 ? t->swizzle : t->reader;
}

/* Address of 16 bytes of a key, for a reader of this kind. */
static inline int64_t k_address(const k_case *t, int reader, int64_t row,
                                int64_t col_byte)
{
    int64_t v = row % 32 * 4 + col_byte / 16 % 4;

    v = reader == K_CHAINED ? xor_field(1, 1, 4, xor_field(1, 0, 4, v))
                            : xor_field(1, 0, 6, xor_field(1, 1, 4, v));
    return (row / 32 * (k_row_bytes(t) / 64) + col_byte / 64) * 2048 + v * 16;
}

/* Bytes of a fragment that a lane holds. */
static inline int64_t k_fragment_bytes(const k_case *t)
{
    return t->dtype == K_FP8 ? 32 : 16;
}

/* Key, and byte of it, where a lane's fragment (row block, k step) begins. */
static inline void k_lane(const k_case *t, int64_t block, int64_t step,
                          int64_t lane, int64_t *row, int64_t *col_byte)
{
    *row = block * t->mma_m + lane % t->mma_m;
    *col_byte =
        (step * (K_LANES / t->mma_m) + lane / t->mma_m) * k_fragment_bytes(t);
}

/* Reads all fragments of an image, in the kernel's output order. */
static inline void k_read_all(const k_case *t, const unsigned char *lds,
                              unsigned char *out)
{
    int reader = k_reader(t);
    int64_t step_bytes = K_LANES / t->mma_m * k_fragment_bytes(t);

    for (int64_t block = 0; block < t->bn / t->mma_m; block++)
        for (int64_t step = 0; step < k_row_bytes(t) / step_bytes; step++)
            for (int64_t lane = 0; lane < K_LANES; lane++)
                for (int64_t b = 0; b < k_fragment_bytes(t); b += 16) {
                    int64_t row;
                    int64_t col;

                    k_lane(t, block, step, lane, &row, &col);
                    memcpy(out, lds + k_address(t, reader, row, col + b), 16);
                    out += 16;
                }
}

/* ---- numbers ------------------------------------------------------------ */

/* Decodes whole numbers and numbers with all mantissas, no subnormals. */
static inline double k_number(int dtype, bool fnuz, unsigned bits)
{
    int mantissa_bits = dtype == K_BF16 ? 7 : dtype == K_F16 ? 10 : 3;
    int exponent_bits = dtype == K_BF16 ? 8 : dtype == K_F16 ? 5 : 4;
    int bias = (1 << (exponent_bits - 1)) - 1 + (dtype == K_FP8 && fnuz);
    unsigned mantissa = bits & ((1u << mantissa_bits) - 1);
    int exponent =
        (int)(bits >> mantissa_bits & ((1u << exponent_bits) - 1)) - bias;
    double magnitude =
        ldexp(1 + ldexp((double)mantissa, -mantissa_bits), exponent);

    return bits >> (mantissa_bits + exponent_bits) & 1 ? -magnitude : magnitude;
}

/* Random bytes, none 0; for the scores entry whole numbers 1 to 8 or real ones
 * 1/8 to 2, either sign, picked from all bit patterns in that range. */
static inline void k_fill(const k_case *t, bool fnuz, bool whole,
                          unsigned char *data, size_t bytes, uint64_t *state)
{
    static unsigned fitting[65536];
    unsigned all = t->dtype == K_FP8 ? 256 : 65536;
    size_t e = (size_t)k_elem(t);
    size_t count = 0;

    for (unsigned bits = 0; bits < all; bits++) {
        double x = fabs(k_number(t->dtype, fnuz, bits));

        if (t->entry != K_SCORES
                ? bits % 256 != 0 && (all == 256 || bits / 256 != 0)
            : whole ? x >= 1 && x <= 8 && x == floor(x)
                    : x >= 0.125 && x <= 2)
            fitting[count++] = bits;
    }
    for (size_t at = 0; at + e <= bytes; at += e)
        memcpy(data + at, &fitting[next_random(state) % count], e);
}

/* Decodes 16 bytes to doubles. */
static inline void k_decode(const k_case *t, bool fnuz,
                            const unsigned char *vector, double *out)
{
    size_t e = (size_t)k_elem(t);

    for (size_t i = 0; i < 16 / e; i++) {
        unsigned bits = 0;

        memcpy(&bits, vector + i * e, e);
        out[i] = bits == 0 ? 0 : k_number(t->dtype, fnuz, bits);
    }
}

/* ---- outputs ------------------------------------------------------------ */

/* One score, and the allowed error of a sum of floats. */
static inline void k_score(int depth, const double *key, const double *query,
                           float *value, float *allowed)
{
    double sum = 0;
    double magnitude = 0;
    bool whole = true;

    for (int i = 0; i < depth; i++) {
        sum += key[i] * query[i];
        magnitude += fabs(key[i] * query[i]);
        whole = whole && key[i] == floor(key[i]) && query[i] == floor(query[i]);
    }
    *value = (float)sum;
    *allowed = whole ? 0 : (float)((depth + 1) * magnitude / 8388608);
}

/* The scores of one tile, a part of each row of S. */
static inline void k_score_tile(const k_case *t, bool fnuz,
                                const unsigned char *lds,
                                const unsigned char *queries,
                                int64_t row_length, float *values,
                                float *allowed)
{
    int64_t vectors = k_row_bytes(t) / 16;
    int64_t step = 16 / k_elem(t);
    double *keys = malloc((size_t)t->bn * (size_t)t->depth * sizeof(*keys));
    double query[256];

    ck_assert_ptr_nonnull(keys);
    for (int64_t key = 0; key < t->bn; key++)
        for (int64_t c = 0; c < vectors; c++)
            k_decode(t, fnuz, lds + k_address(t, k_reader(t), key, c * 16),
                     keys + key * t->depth + c * step);
    for (int64_t q = 0; q < t->queries; q++) {
        for (int64_t c = 0; c < vectors; c++)
            k_decode(t, fnuz, queries + (q * vectors + c) * 16,
                     query + c * step);
        for (int64_t key = 0; key < t->bn; key++)
            k_score(t->depth, keys + key * t->depth, query,
                    &values[q * row_length + key],
                    &allowed[q * row_length + key]);
    }
    free(keys);
}

/* Writes the expected output; allowed, where floats are compared, is as long as
 * out. */
static inline void k_expect(const k_case *t, bool fnuz,
                            const unsigned char *source,
                            const unsigned char *queries, unsigned char *out,
                            float *allowed)
{
    size_t tile_bytes = (size_t)k_tile_bytes(t);
    unsigned char *lds = malloc(tile_bytes);

    ck_assert_ptr_nonnull(lds);
    memset(out, 0, k_output_bytes(t));
    for (int r = 0; r < t->row_tiles; r++)
        for (int h = 0; h < t->heads; h++) {
            unsigned char *tile = out + (size_t)(r * t->heads + h) * tile_bytes;
            int64_t length = (int64_t)t->row_tiles * t->bn;
            int64_t at = h * t->queries * length + (int64_t)r * t->bn;

            k_walk(t, source, r, h, lds);
            if (t->entry == K_IMAGE)
                memcpy(tile, lds, tile_bytes);
            else if (t->entry == K_FRAGMENTS)
                k_read_all(t, lds, tile);
            else if (t->entry == K_SCORES)
                k_score_tile(t, fnuz, lds,
                             queries + h * t->queries * k_row_bytes(t), length,
                             (float *)(void *)out + at, allowed + at);
            else
                for (size_t b = 0; b < tile_bytes; b++)
                    out[(size_t)((r % t->row_step) * t->heads + h) *
                            (size_t)t->warps * 1024 +
                        b % ((size_t)t->warps * 1024)] ^= lds[b];
        }
    free(lds);
}

/* ---- launches ----------------------------------------------------------- */

static inline void k_values(const k_case *t, int64_t values[GROAT_DRIVER_ARGS])
{
    drive_values(&groat_driver_subtile_loader, values,
                 "valid_rows=%d first_row=%d first_col=%d scalar_offset=%d "
                 "row_tiles=%d heads=%d row_step=%d queries=%d",
                 (int)t->valid_rows, (int)t->first_row, t->first_col,
                 t->scalar_offset, t->row_tiles, t->heads, t->row_step,
                 t->queries);
}

/* Opens a launch of the case by the driver. */
static inline void k_open(drive *d, groat_context *context, const k_case *t,
                          const char *target)
{
    int64_t values[GROAT_DRIVER_ARGS];
    char text[400];

    k_spec(t, text, sizeof(text));
    k_values(t, values);
    drive_open(d, context, &groat_driver_subtile_loader, text, target, values);
    ck_assert_uint_eq(d->output, t->entry == K_SCORES ? 2 : 1);
    ck_assert_uint_eq(d->plan.buffers[0].bytes, k_source_bytes(t));
    ck_assert_uint_eq(d->plan.buffers[d->output].bytes, k_output_bytes(t));
}

/* Copies the inputs in; queries may be NULL where there are none. */
static inline void k_put(const drive *d, const k_case *t,
                         const unsigned char *source,
                         const unsigned char *queries)
{
    memcpy(d->host[0], source, k_source_bytes(t));
    if (queries != NULL && t->entry == K_SCORES)
        memcpy(d->host[1], queries, k_query_bytes(t));
}

static inline void k_grid(const k_case *t, unsigned grid[3])
{
    int per_block = t->warps * t->mma_m;

    grid[0] = (unsigned)(t->entry == K_STREAM ? t->row_step
                         : t->entry == K_SCORES
                             ? (t->queries + per_block - 1) / per_block
                             : t->row_tiles);
    grid[1] = (unsigned)t->heads;
    grid[2] = 1;
}

/* Checks that the kernel was given the arguments of the case. */
static inline void k_ck_given(const k_case *t, const drive *d)
{
    struct subtile_loader_args args = {.valid_rows = t->valid_rows,
                                       .first_row = t->first_row};
    unsigned grid[3];

    args.source = d->address[0];
    args.query = d->output == 2 ? d->address[1] : 0;
    args.output = d->address[d->output];
    args.first_col = (unsigned)t->first_col;
    args.scalar_offset = (unsigned)t->scalar_offset;
    args.row_tiles = (unsigned)t->row_tiles;
    args.heads = (unsigned)t->heads;
    args.row_step = (unsigned)t->row_step;
    args.queries = (unsigned)t->queries;
    ck_assert_uint_eq(d->plan.args_bytes, sizeof(args));
    ck_assert_mem_eq(d->plan.args, &args, sizeof(args));
    k_grid(t, grid);
    ck_assert_mem_eq(d->plan.grid, grid, sizeof(grid));
}

/* Runs the case on `target` and copies its output. */
static inline void k_run(groat_context *context, const char *target,
                         const k_case *t, const unsigned char *source,
                         const unsigned char *queries, unsigned char *out)
{
    drive d;

    k_open(&d, context, t, target);
    k_put(&d, t, source, queries);
    drive_run(&d);
    k_ck_given(t, &d);
    memcpy(out, d.host[d.output], k_output_bytes(t));
    drive_close(&d);
}

#endif
