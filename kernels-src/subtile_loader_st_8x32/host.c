/* SPDX-License-Identifier: Apache-2.0
 *
 * host.c feeds and checks subtile_loader_st_8x32 for `groat run`.  The source
 * is the V half of a slab of a KV cache: valid_rows keys, each with src_cols
 * elements in a row of ld.  Images come from the closed form of the placements
 * (the place of a byte of V), fragments from the part of V that each lane must
 * hold, whatever the placement, and the output from sums of doubles; none
 * shares arithmetic with the kernel.
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
#include <string.h>

#include "args.h"
#include "kernels-src/driver/shared.h"

/* In the order of `arguments`. */
enum {
    VALID_ROWS,
    SOFFSET,
    ROW_TILES,
    COL_TILES,
    ROW_STEP,
    QUERIES,
    ARGUMENTS
};

/* In the order of params.def. */
enum { IMAGE, FRAGMENTS, STREAM, OUTPUT };
enum { BF16, F16, FP8 };

enum {
    STREAM_BLOCKS = 264,
    TILES_MAX = 0x7fffffff,
    POISON = 0xEE,
    V227_CELL = 1024,
    V227_GAP = 16,
    DEPTH_MAX = 256
};

static const int64_t device_stream_bytes = (int64_t)1 << 30;

static const groat_driver_arg arguments[] = {
    {"valid_rows", GROAT_ARG_INT, -1, 0, INT32_MAX, "keys",
     "keys of the matrix; later ones read as zeros (default: three tiles and a "
     "half; on a GPU's stream entry 1 GiB)"},
    {"soffset", GROAT_ARG_INT, 0, 0, INT32_MAX, "bytes",
     "bytes from the matrix to the first tile: first key * ld + first column"},
    {"row_tiles", GROAT_ARG_INT, -1, 1, INT32_MAX, "tiles",
     "tiles below each other (default: all that begin in a valid row)"},
    {"col_tiles", GROAT_ARG_INT, -1, 1, 4096, "tiles",
     "tiles side by side, heads (default: all of src_cols; of the output entry "
     "on cpu targets two)"},
    {"row_step", GROAT_ARG_INT, -1, 1, 65535, "tiles",
     "stream entry: a block takes every row_step-th tile below each other, so "
     "this many blocks do (default: 264 blocks in all)"},
    {"queries", GROAT_ARG_INT, -1, 1, 65536, "rows",
     "output entry: rows of P and O per head (default: 9 more than a block's)"},
    {NULL, GROAT_ARG_INT, 0, 0, 0, NULL, NULL},
};

/* The constants of a spec that the host needs. */
typedef struct shape {
    int64_t entry, dtype, elem_bytes, tile_keys, depth, src_cols, row_bytes;
    int64_t num_warps, v227, slot_bytes, tile_bytes, strip_keys, strips;
    int64_t depth_tiles, fragment_bytes, fnuz;
} shape;

static shape shape_of(const groat_spec *spec)
{
    shape s;

    s.entry = groat__host_value(spec, "entry");
    s.dtype = groat__host_value(spec, "dtype");
    s.elem_bytes = groat__host_value(spec, "elem_bytes");
    s.tile_keys = groat__host_value(spec, "tile_keys");
    s.depth = groat__host_value(spec, "depth");
    s.src_cols = groat__host_value(spec, "src_cols");
    s.row_bytes = groat__host_value(spec, "ld") * s.elem_bytes;
    s.num_warps = groat__host_value(spec, "num_warps");
    s.v227 = groat__host_value(spec, "placement");
    s.slot_bytes = groat__host_value(spec, "slot_bytes");
    s.tile_bytes = groat__host_value(spec, "tile_bytes");
    s.strip_keys = groat__host_value(spec, "strip_keys");
    s.strips = groat__host_value(spec, "strips");
    s.depth_tiles = groat__host_value(spec, "depth_tiles");
    s.fragment_bytes = groat__host_value(spec, "fragment_bytes");
    s.fnuz = groat__host_value(spec, "arch_fp8_fnuz");
    return s;
}

/* ---- the plan ----------------------------------------------------------- */

static int64_t first_col(const shape *s, const int64_t *v)
{
    return v[SOFFSET] % s->row_bytes / s->elem_bytes;
}

static void derive(const groat_spec *spec, const shape *s, int64_t *v)
{
    bool on_cpu = groat__host_on_cpu(spec);

    if (v[VALID_ROWS] < 0 && s->entry == STREAM && !on_cpu)
        v[VALID_ROWS] = device_stream_bytes / s->row_bytes;
    if (v[VALID_ROWS] < 0)
        v[VALID_ROWS] = 3 * s->tile_keys + s->tile_keys / 2 + 1;
    if (v[ROW_TILES] < 0) {
        int64_t keys = v[VALID_ROWS] - v[SOFFSET] / s->row_bytes;

        v[ROW_TILES] = keys <= 0 ? 1 : (keys + s->tile_keys - 1) / s->tile_keys;
    }
    if (v[COL_TILES] < 0) {
        v[COL_TILES] = (s->src_cols - first_col(s, v)) / s->depth;
        if (s->entry == OUTPUT && on_cpu && v[COL_TILES] > 2)
            v[COL_TILES] = 2;
    }
    if (v[ROW_STEP] < 0 && v[COL_TILES] > 0) {
        int64_t step = (STREAM_BLOCKS + v[COL_TILES] - 1) / v[COL_TILES];

        v[ROW_STEP] = step < v[ROW_TILES] ? step : v[ROW_TILES];
    }
    if (v[QUERIES] < 0)
        v[QUERIES] = 32 * s->num_warps + 9;
}

static groat_status refuse(groat_error *error, const char *what, int64_t seen,
                           const char *rule, int64_t limit)
{
    return groat__host_refuse(error, "subtile_loader_st_8x32", what, seen,
                              "%s %" PRId64, rule, limit);
}

static groat_status check(const shape *s, const int64_t *v, groat_error *error)
{
    int64_t col = first_col(s, v);
    int64_t reach = INT32_MAX - (s->tile_keys + 1) * s->row_bytes;
    int64_t weights = v[QUERIES] * v[ROW_TILES] * s->tile_keys * s->elem_bytes;

    if (v[SOFFSET] % 16 != 0)
        return refuse(error, "soffset", v[SOFFSET], "it must be a multiple of",
                      16);
    if (v[SOFFSET] > reach)
        return refuse(error, "soffset", v[SOFFSET],
                      "offsets are 32-bit, so the most is", reach);
    if (col + s->depth > s->src_cols)
        return refuse(error, "the first column, soffset % (ld * elem_bytes),",
                      col, "the last that a tile may start at is",
                      s->src_cols - s->depth);
    if (col + v[COL_TILES] * s->depth > s->src_cols)
        return refuse(error, "the first column + col_tiles * depth",
                      col + v[COL_TILES] * s->depth,
                      "it may not pass src_cols, which is", s->src_cols);
    if (v[ROW_TILES] * v[COL_TILES] > TILES_MAX)
        return refuse(error, "row_tiles * col_tiles",
                      v[ROW_TILES] * v[COL_TILES],
                      "the blocks of a grid are at most", TILES_MAX);
    if (s->entry == OUTPUT && weights > INT32_MAX)
        return refuse(error, "the size of P per head, queries * keys,", weights,
                      "offsets are 32-bit, so the most is", INT32_MAX);
    return GROAT_OK;
}

/* Size of the matrix in bytes, as its view counts them. */
static int64_t records(const shape *s, const int64_t *v)
{
    return v[VALID_ROWS] == 0 ? 0
                              : (v[VALID_ROWS] - 1) * s->row_bytes +
                                    s->src_cols * s->elem_bytes;
}

static int64_t output_bytes(const shape *s, const int64_t *v)
{
    int64_t tiles = v[ROW_TILES] * v[COL_TILES];

    switch (s->entry) {
    case IMAGE:
        return tiles * s->slot_bytes;
    case FRAGMENTS:
        return tiles * s->tile_bytes;
    case STREAM:
        return v[ROW_STEP] * v[COL_TILES] * s->num_warps * 64 * 16;
    default:
        return v[COL_TILES] * v[QUERIES] * s->depth * (int64_t)sizeof(float);
    }
}

/* Bytes of V, read once, and of P. */
static int64_t input_bytes(const shape *s, const int64_t *v)
{
    int64_t first = v[SOFFSET] / s->row_bytes;
    int64_t keys = v[ROW_TILES] * s->tile_keys;
    int64_t left = v[VALID_ROWS] - first;
    int64_t read = left < 0 ? 0 : left < keys ? left : keys;
    int64_t bytes = read * v[COL_TILES] * s->depth;

    if (s->entry == OUTPUT)
        bytes += v[COL_TILES] * v[QUERIES] * keys;
    return bytes * s->elem_bytes;
}

static groat_status plan(const groat_spec *spec, const int64_t *values,
                         groat_plan *p, groat_error *error)
{
    static const char *const names[] = {"image", "fragments", "sums", "output"};
    shape s = shape_of(spec);
    int64_t *v = p->values;
    int64_t block = 32 * s.num_warps;
    groat_status status;

    memcpy(v, values, ARGUMENTS * sizeof(v[0]));
    derive(spec, &s, v);
    status = check(&s, v, error);
    if (status != GROAT_OK)
        return status;
    p->buffer_count = 0;
    groat__host_add_buffer(p, "source", records(&s, v), false);
    if (s.entry == OUTPUT)
        groat__host_add_buffer(p, "weights",
                               v[COL_TILES] * v[QUERIES] * v[ROW_TILES] *
                                   s.tile_keys * s.elem_bytes,
                               false);
    groat__host_add_buffer(p, names[s.entry], output_bytes(&s, v), true);
    p->grid[0] =
        (unsigned)(s.entry == STREAM   ? v[ROW_STEP]
                   : s.entry == OUTPUT ? (v[QUERIES] + block - 1) / block
                                       : v[ROW_TILES]);
    p->grid[1] = (unsigned)v[COL_TILES];
    p->grid[2] = 1;
    p->args_bytes = sizeof(struct subtile_loader_st_8x32_args);
    p->moved_bytes = (uint64_t)(input_bytes(&s, v) + output_bytes(&s, v));
    return GROAT_OK;
}

static groat_status bind(groat_context *context, const groat_spec *spec,
                         groat_plan *p, const uint64_t *addresses,
                         groat_error *error)
{
    struct subtile_loader_st_8x32_args args = {0};

    (void)context;
    (void)spec;
    (void)error;
    args.source = addresses[0];
    args.output = addresses[p->buffer_count - 1];
    args.weights = p->buffer_count == 3 ? addresses[1] : 0;
    args.valid_rows = p->values[VALID_ROWS];
    args.soffset = (unsigned)p->values[SOFFSET];
    args.row_tiles = (unsigned)p->values[ROW_TILES];
    args.col_tiles = (unsigned)p->values[COL_TILES];
    args.row_step = (unsigned)p->values[ROW_STEP];
    args.queries = (unsigned)p->values[QUERIES];
    memcpy(p->args, &args, sizeof(args));
    return GROAT_OK;
}

/* ---- input -------------------------------------------------------------- */

/* Fills with random bytes other than 0, so that a zero fill always shows. */
static void fill_bytes(uint64_t state, unsigned char *bytes, size_t count)
{
    uint64_t word = 0;

    for (size_t i = 0; i < count; i++, word >>= 8) {
        if (i % 8 == 0)
            word = groat__host_mix(state + i);
        bytes[i] = (word & 0xff) == 0 ? 0x5A : (unsigned char)word;
    }
}

/* Fills with random numbers of eight binades around 1 and below; weights are
 * positive.  Their products and sums suffer no overflow, only rounding. */
static void fill_numbers(const shape *s, uint64_t state, bool positive,
                         unsigned char *bytes, size_t count)
{
    for (size_t at = 0; at < count; at += (size_t)s->elem_bytes) {
        uint64_t r = groat__host_mix(state + at);
        unsigned sign = positive ? 0 : r >> 40 & 1;
        unsigned exponent = r >> 32 & 7;
        unsigned bits;

        if (s->dtype == BF16)
            bits = sign << 15 | (120 + exponent) << 7 | (r & 0x7f);
        else if (s->dtype == F16)
            bits = sign << 15 | (8 + exponent) << 10 | (r & 0x3ff);
        else
            bits = sign << 7 | (1 + exponent) << 3 | (r & 7);
        bytes[at] = (unsigned char)bits;
        if (s->elem_bytes == 2)
            bytes[at + 1] = (unsigned char)(bits >> 8);
    }
}

static void fill(const groat_spec *spec, const groat_plan *p, size_t index,
                 uint64_t seed, void *data)
{
    shape s = shape_of(spec);
    uint64_t state = groat__host_mix(2 * seed + index + 0x9E3779B97F4A7C15u);

    if (s.entry == OUTPUT)
        fill_numbers(&s, state, index == 1, data, p->buffers[index].bytes);
    else
        fill_bytes(state, data, p->buffers[index].bytes);
}

/* ---- expected output ---------------------------------------------------- */

/* Offset in the matrix of a byte of tile (row, col). */
static int64_t offset_of(const shape *s, const int64_t *v, int64_t row,
                         int64_t col, int64_t key, int64_t col_byte)
{
    return v[SOFFSET] + (row * s->tile_keys + key) * s->row_bytes +
           col * s->depth * s->elem_bytes + col_byte;
}

/* Place in the slot of a byte of the tile. */
static int64_t place(const shape *s, int64_t key, int64_t col_byte)
{
    int64_t cell = key >> 2 & 1;
    int64_t width = s->depth * s->elem_bytes;

    if (!s->v227)
        return key / 8 * 8 * width + col_byte / 64 * 512 + key % 8 * 64 +
               col_byte % 64;
    cell |= (key & 2) | (key & 8) >> 1 | (key & 64) >> 3;
    return cell * (V227_CELL + V227_GAP) + (key & 1) * 128 +
           (key >> 4 & 3) * 256 + col_byte;
}

static void expect_slot(const shape *s, const int64_t *v,
                        const unsigned char *source, int64_t row, int64_t col,
                        unsigned char *slot)
{
    for (int64_t key = 0; key < s->tile_keys; key++)
        for (int64_t b = 0; b < s->depth * s->elem_bytes; b += 4) {
            int64_t from = offset_of(s, v, row, col, key, b);
            unsigned char *to = slot + place(s, key, b);

            if (from + 4 <= records(s, v))
                memcpy(to, source + from, 4);
            else
                memset(to, 0, 4);
        }
}

static void expect_images(const shape *s, const int64_t *v,
                          const unsigned char *source, unsigned char *images)
{
    for (int64_t t = 0; t < v[ROW_TILES] * v[COL_TILES]; t++) {
        unsigned char *slot = images + t * s->slot_bytes;

        memset(slot, POISON, (size_t)s->slot_bytes);
        expect_slot(s, v, source, t / v[COL_TILES], t % v[COL_TILES], slot);
    }
}

/* Writes one tile of V, element by element in order of lanes and registers. */
static void expect_fragments_of(const shape *s, const int64_t *v,
                                const unsigned char *source, int64_t tile,
                                unsigned char *out)
{
    int64_t numbers = s->fragment_bytes / s->elem_bytes;
    int64_t of_lane = s->strips * s->depth_tiles * 64 * numbers;

    for (int64_t n = 0; n < of_lane; n++, out += s->elem_bytes) {
        int64_t e = n % numbers;
        int64_t lane = n / numbers % 64;
        int64_t f = n / numbers / 64;
        int64_t key = f / s->depth_tiles * s->strip_keys + 4 * (lane / 32);
        int64_t col = f % s->depth_tiles * 32 + lane % 32;
        int64_t from;

        /* Four keys, then the four that are eight keys on. */
        key += e / 8 * 16 + e / 4 % 2 * 8 + e % 4;
        from = offset_of(s, v, tile / v[COL_TILES], tile % v[COL_TILES], key,
                         col * s->elem_bytes);
        if (from / 4 * 4 + 4 <= records(s, v))
            memcpy(out, source + from, (size_t)s->elem_bytes);
        else
            memset(out, 0, (size_t)s->elem_bytes);
    }
}

static void expect_fragments(const shape *s, const int64_t *v,
                             const unsigned char *source, unsigned char *out)
{
    for (int64_t t = 0; t < v[ROW_TILES] * v[COL_TILES]; t++)
        expect_fragments_of(s, v, source, t, out + t * s->tile_bytes);
}

/* XORs a tile onto the 16 bytes of each thread of its block. */
static void fold_tile(const shape *s, const int64_t *v,
                      const unsigned char *source, int64_t tile,
                      unsigned char *sums)
{
    for (int64_t key = 0; key < s->tile_keys; key++)
        for (int64_t b = 0; b < s->depth * s->elem_bytes; b += 16) {
            int64_t from = offset_of(s, v, tile / v[COL_TILES],
                                     tile % v[COL_TILES], key, b);
            int64_t left = (records(s, v) - from) & ~(int64_t)3;
            int64_t at = place(s, key, b);

            if (s->v227)
                at -= at / (V227_CELL + V227_GAP) * V227_GAP;
            at %= s->num_warps * 64 * 16;
            for (int64_t k = 0; k < 16 && k < left; k++)
                sums[at + k] ^= source[from + k];
        }
}

static void expect_sums(const shape *s, const int64_t *v,
                        const unsigned char *source, unsigned char *sums,
                        size_t bytes)
{
    memset(sums, 0, bytes);
    for (int64_t t = 0; t < v[ROW_TILES] * v[COL_TILES]; t++) {
        int64_t block =
            t / v[COL_TILES] % v[ROW_STEP] * v[COL_TILES] + t % v[COL_TILES];

        fold_tile(s, v, source, t, sums + block * s->num_warps * 64 * 16);
    }
}

/* ---- the product -------------------------------------------------------- */

static double number_at(const shape *s, const unsigned char *at)
{
    groat__host_format format = groat__host_format_of(s->dtype, s->fnuz);

    return groat__host_number_at(&format, at);
}

/* A row of O, and the sums of its products' magnitudes. */
typedef struct product {
    double sum[DEPTH_MAX];
    double magnitude[DEPTH_MAX];
} product;

static void multiply_row(const shape *s, const int64_t *v,
                         const void *const *inputs, int64_t head, int64_t query,
                         product *out)
{
    int64_t keys = v[ROW_TILES] * s->tile_keys;
    const unsigned char *source = inputs[0];
    const unsigned char *weights = inputs[1];

    memset(out, 0, sizeof(*out));
    weights += (head * v[QUERIES] + query) * keys * s->elem_bytes;
    for (int64_t key = 0; key < keys; key++) {
        double p = number_at(s, weights + key * s->elem_bytes);

        for (int64_t d = 0; d < s->depth; d++) {
            int64_t from = offset_of(s, v, 0, head, key, d * s->elem_bytes);

            if (from / 4 * 4 + 4 > records(s, v))
                break;
            out->sum[d] += p * number_at(s, source + from);
            out->magnitude[d] += fabs(p * number_at(s, source + from));
        }
    }
}

/* A product of two such numbers is exact in a float.  What remains is the
 * rounding of a sum of `keys` floats in any order, by half a unit in the last
 * place or a whole one if the adder truncates, and that of the expected value:
 * |error| <= (keys + 2) 2^-23 sum |p v|. */
static void expect_output(const shape *s, const int64_t *v,
                          const void *const *inputs, float *values,
                          float *allowed)
{
    double unit = ldexp((double)(v[ROW_TILES] * s->tile_keys + 2), -23);
    product row;

    for (int64_t n = 0; n < v[COL_TILES] * v[QUERIES]; n++) {
        multiply_row(s, v, inputs, n / v[QUERIES], n % v[QUERIES], &row);
        for (int64_t d = 0; d < s->depth; d++)
            if (values != NULL)
                values[n * s->depth + d] = (float)row.sum[d];
            else
                allowed[n * s->depth + d] = (float)(unit * row.magnitude[d]);
    }
}

static groat_status expect(const groat_spec *spec, const groat_plan *p,
                           const void *const *inputs, size_t index, void *data,
                           groat_error *error)
{
    shape s = shape_of(spec);
    const int64_t *v = p->values;

    (void)error;
    switch (s.entry) {
    case IMAGE:
        expect_images(&s, v, inputs[0], data);
        break;
    case FRAGMENTS:
        expect_fragments(&s, v, inputs[0], data);
        break;
    case STREAM:
        expect_sums(&s, v, inputs[0], data, p->buffers[index].bytes);
        break;
    default:
        expect_output(&s, v, inputs, data, NULL);
    }
    return GROAT_OK;
}

static bool bound(const groat_spec *spec, const groat_plan *p,
                  const void *const *inputs, size_t index, float *allowed)
{
    shape s = shape_of(spec);

    (void)index;
    if (s.entry != OUTPUT)
        return false;
    expect_output(&s, p->values, inputs, NULL, allowed);
    return true;
}

const groat_driver groat_driver_subtile_loader_st_8x32 = {
    "subtile_loader_st_8x32", arguments, plan, fill, bind, expect, bound, NULL,
};
