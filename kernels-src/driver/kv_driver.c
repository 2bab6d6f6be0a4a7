/* SPDX-License-Identifier: Apache-2.0
 *
 * kv_driver.c feeds and checks the families with the arguments of kv_args.h for
 * `groat run`.  The slab is valid_rows tokens of src_cols numbers in rows of
 * ld.  Images come from kv_host.c's closed form, fragments from each lane's
 * part of the slab, products from float64 sums over it.
 * Invariant: nothing here is shared with the kernels.  Locking: none, no state.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../common/kv_args.h"
#include "kv_host.h"

/* In the order of the arguments. */
enum {
    VALID_ROWS,
    FIRST_ROW,
    FIRST_COL,
    KEY_BLOCKS,
    FIRST_TILE,
    TILES,
    QUERIES,
    BLOCKS,
    HEADS,
    REAL,
    VALUES
};

/* In the order of params.def. */
enum { IMAGE, FRAGMENTS, SCORES, OUTPUT, STREAM };

enum { STREAM_BLOCKS = 264 };

static const int64_t device_stream_bytes = (int64_t)1 << 30;

const groat_driver_arg groat__kv_arguments[] = {
    {"valid_rows", GROAT_ARG_INT, -1, 0, INT32_MAX, "rows",
     "valid rows of the slab; later ones read as zeros (default: two key "
     "blocks "
     "and a half, more on a GPU; its stream entry 1 GiB)"},
    {"first_row", GROAT_ARG_INT, 0, 0, INT32_MAX, "rows",
     "row of the first key block"},
    {"first_col", GROAT_ARG_INT, 0, 0, 65536, "elements", "column of the head"},
    {"key_blocks", GROAT_ARG_INT, -1, 1, INT32_MAX, "blocks",
     "key blocks (default: all that begin in a valid row)"},
    {"first_tile", GROAT_ARG_INT, 0, 0, 1024, "tiles",
     "first tile of a key block, image and fragments entries"},
    {"tiles", GROAT_ARG_INT, -1, 1, 1024, "tiles",
     "tiles of a key block, image and fragments entries (default: the rest)"},
    {"queries", GROAT_ARG_INT, -1, 1, 1 << 24, "rows",
     "rows of Q or P (default: one tile of them and a half, more on a GPU)"},
    {"block_step", GROAT_ARG_INT, -1, 1, 65535, "blocks",
     "blocks that share the key blocks (scores) or tiles (stream) of a head"},
    {"heads", GROAT_ARG_INT, -1, 1, 2048, "heads",
     "heads side by side, stream entry (default: all of src_cols)"},
    {"real", GROAT_ARG_INT, 0, 0, 1, "-",
     "0: whole numbers, whose products are exact; 1: real ones, within a "
     "bound"},
    {NULL, GROAT_ARG_INT, 0, 0, 0, NULL, NULL},
};

/* The constants of a spec that the host needs. */
typedef struct shape {
    int64_t entry, is_v, f16, BN, depth, src_cols, steps, tile_bytes;
    int64_t num_warps, warps_n, wave_rows, wave_size, mma_n, num_mmas;
    int64_t num_k_tiles, step_rows, step_cols;
    groat__kv_tile tile;
} shape;

static shape shape_of(const groat_spec *spec)
{
    shape s;

    s.entry = groat__host_value(spec, "entry");
    s.is_v = groat__host_value(spec, "role");
    s.f16 = groat__host_value(spec, "dtype");
    s.BN = groat__host_value(spec, "BN");
    s.depth = groat__host_value(spec, "depth");
    s.src_cols = groat__host_value(spec, "src_cols");
    s.steps = groat__host_value(spec, "steps");
    s.tile_bytes = groat__host_value(spec, "tile_bytes");
    s.num_warps = groat__host_value(spec, "num_warps");
    s.warps_n = groat__host_value(spec, "warps_n");
    s.wave_rows = groat__host_value(spec, "wave_rows");
    s.wave_size = groat__host_value(spec, "wave_size");
    s.mma_n = groat__host_value(spec, "mma_n");
    s.num_mmas = groat__host_value(spec, "num_mmas");
    s.num_k_tiles = groat__host_value(spec, "num_k_tiles");
    s.tile.rows = groat__host_value(spec, "tile_rows");
    s.tile.cols = groat__host_value(spec, "tile_cols");
    s.tile.panel = s.tile.cols;
    s.tile.ld = groat__host_value(spec, "ld");
    s.tile.bits = groat__host_value(spec, "swizzle_bits");
    s.tile.base = groat__host_value(spec, "swizzle_base");
    s.tile.shift = groat__host_value(spec, "swizzle_shift");
    s.step_rows = s.is_v ? s.tile.rows : 0;
    s.step_cols = s.is_v ? 0 : s.tile.cols;
    return s;
}

static bool is_product(const shape *s)
{
    return s->entry == SCORES || s->entry == OUTPUT;
}

static int64_t keys_of(const shape *s, const int64_t *v)
{
    return v[KEY_BLOCKS] * s->BN;
}

/* ---- plans -------------------------------------------------------------- */

static void derive(const groat_spec *spec, const shape *s, int64_t *v)
{
    bool on_cpu = groat__host_on_cpu(spec);
    int64_t most;

    if (v[VALID_ROWS] < 0 && s->entry == STREAM && !on_cpu)
        v[VALID_ROWS] = device_stream_bytes / (s->tile.ld * 2);
    if (v[VALID_ROWS] < 0)
        v[VALID_ROWS] = (on_cpu ? 2 : 16) * s->BN + s->BN / 2 + 1;
    if (v[KEY_BLOCKS] < 0) {
        int64_t rows = v[VALID_ROWS] - v[FIRST_ROW];

        v[KEY_BLOCKS] = rows <= 0 ? 1 : (rows + s->BN - 1) / s->BN;
    }
    if (v[TILES] < 0)
        v[TILES] = s->steps - v[FIRST_TILE];
    if (v[QUERIES] < 0)
        v[QUERIES] =
            (on_cpu ? 1 : 8) * s->mma_n * s->wave_rows + s->mma_n / 2 + 1;
    if (v[HEADS] < 0)
        v[HEADS] =
            s->entry == STREAM ? (s->src_cols - v[FIRST_COL]) / s->depth : 1;
    most = s->entry == STREAM ? v[KEY_BLOCKS] * s->steps : v[KEY_BLOCKS];
    if (v[BLOCKS] < 0 && s->entry == STREAM && v[HEADS] > 0)
        v[BLOCKS] = (STREAM_BLOCKS + v[HEADS] - 1) / v[HEADS];
    else if (v[BLOCKS] < 0)
        v[BLOCKS] = on_cpu ? 2 : most;
    if (v[BLOCKS] > most)
        v[BLOCKS] = most;
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
    if (v[TILES] < 1 || v[FIRST_TILE] + v[TILES] > s->steps)
        return groat__kv_refuse(spec, "first_tile + tiles",
                                v[FIRST_TILE] + v[TILES],
                                "it may not pass the tiles of a key block: the "
                                "next ones would be of another head",
                                error);
    if (v[KEY_BLOCKS] * s->BN > INT32_MAX)
        return groat__kv_refuse(spec, "key_blocks * BN", v[KEY_BLOCKS] * s->BN,
                                "2147483647 keys are possible", error);
    if (s->entry == OUTPUT && s->mma_n * keys_of(s, v) * 2 > INT32_MAX)
        return groat__kv_refuse(spec, "key_blocks * BN", keys_of(s, v),
                                "offsets inside a tile of P are 32-bit", error);
    if (s->entry == SCORES && v[BLOCKS] > 65535)
        return groat__kv_refuse(spec, "block_step", v[BLOCKS],
                                "a grid has 65535 blocks in y at most", error);
    return GROAT_OK;
}

static size_t slab_bytes(const shape *s, const int64_t *v)
{
    return v[VALID_ROWS] == 0
               ? 0
               : (size_t)(((v[VALID_ROWS] - 1) * s->tile.ld + s->src_cols) * 2);
}

static void grid(groat_plan *p, int64_t x, int64_t y)
{
    p->grid[0] = (unsigned)x;
    p->grid[1] = (unsigned)y;
    p->grid[2] = 1;
}

static int64_t wave_bytes(const shape *s)
{
    return s->num_k_tiles * s->num_mmas * 1024;
}

static void lay_out(const shape *s, const int64_t *v, groat_plan *p)
{
    static const char *const operands[] = {"Q", "P"};
    static const char *const results[] = {"S", "O"};
    int64_t tiles = v[KEY_BLOCKS] * v[TILES];
    int64_t block_queries = s->mma_n * s->wave_rows;
    int64_t query_tiles = (v[QUERIES] + block_queries - 1) / block_queries;

    groat__host_add_buffer(p, s->is_v ? "V" : "K", (int64_t)slab_bytes(s, v),
                           false);
    switch (s->entry) {
    case IMAGE:
        grid(p, v[KEY_BLOCKS], v[TILES]);
        groat__host_add_buffer(p, "image", tiles * s->tile_bytes, true);
        break;
    case FRAGMENTS:
        grid(p, v[KEY_BLOCKS], v[TILES]);
        groat__host_add_buffer(p, "fragments",
                               tiles * s->num_warps * wave_bytes(s), true);
        break;
    case STREAM:
        grid(p, v[BLOCKS], v[HEADS]);
        groat__host_add_buffer(
            p, "sums", v[BLOCKS] * v[HEADS] * s->num_warps * 1024, true);
        break;
    default:
        grid(p, query_tiles, s->is_v ? 1 : v[BLOCKS]);
        groat__host_add_buffer(
            p, operands[s->is_v],
            v[QUERIES] * (s->is_v ? keys_of(s, v) : s->depth) * 2, false);
        groat__host_add_buffer(
            p, results[s->is_v],
            v[QUERIES] * (s->is_v ? s->depth : keys_of(s, v)) * 4, true);
        break;
    }
}

static int64_t valid_in(const shape *s, const int64_t *v, int64_t key_block)
{
    int64_t left = v[VALID_ROWS] - v[FIRST_ROW] - key_block * s->BN;

    return left < 0 ? 0 : left < s->BN ? left : s->BN;
}

/* Bytes that must be moved: valid rows once, and the other buffers. */
static uint64_t moved_bytes(const shape *s, const int64_t *v,
                            const groat_plan *p)
{
    int64_t rows = v[VALID_ROWS] - v[FIRST_ROW];
    int64_t tiles = is_product(s) || s->entry == STREAM ? s->steps : v[TILES];
    int64_t bytes;

    rows = rows < 0 ? 0 : rows < keys_of(s, v) ? rows : keys_of(s, v);
    bytes = rows * s->depth * 2 * v[HEADS] * tiles / s->steps;
    for (size_t i = 1; i < p->buffer_count; i++)
        bytes += (int64_t)p->buffers[i].bytes;
    return (uint64_t)bytes;
}

groat_status groat__kv_plan(const groat_spec *spec, const int64_t *values,
                            groat_plan *plan, groat_error *error)
{
    shape s = shape_of(spec);
    groat_status status;

    memcpy(plan->values, values, VALUES * sizeof(values[0]));
    derive(spec, &s, plan->values);
    status = check(spec, &s, plan->values, error);
    if (status != GROAT_OK)
        return status;
    plan->buffer_count = 0;
    lay_out(&s, plan->values, plan);
    plan->args_bytes = sizeof(struct kv_args);
    plan->moved_bytes = moved_bytes(&s, plan->values, plan);
    return GROAT_OK;
}

void groat__kv_fill(const groat_spec *spec, const groat_plan *plan,
                    size_t index, uint64_t seed, void *data)
{
    shape s = shape_of(spec);
    size_t bytes = plan->buffers[index].bytes;

    if (is_product(&s))
        groat__kv_fill_numbers(seed + index, s.f16 != 0,
                               plan->values[REAL] != 0, data, bytes / 2);
    else
        groat__host_fill(seed, data, bytes);
}

groat_status groat__kv_bind(groat_context *context, const groat_spec *spec,
                            groat_plan *plan, const uint64_t *addresses,
                            groat_error *error)
{
    struct kv_args args = {0};
    const int64_t *v = plan->values;

    (void)context;
    (void)spec;
    (void)error;
    args.source = addresses[0];
    args.operand = plan->buffer_count > 2 ? addresses[1] : 0;
    args.output = addresses[plan->buffer_count - 1];
    args.valid_rows = v[VALID_ROWS];
    args.first_row = v[FIRST_ROW];
    args.first_col = (unsigned)v[FIRST_COL];
    args.key_blocks = (unsigned)v[KEY_BLOCKS];
    args.first_tile = (unsigned)v[FIRST_TILE];
    args.tiles = (unsigned)v[TILES];
    args.queries = (unsigned)v[QUERIES];
    args.block_step = (unsigned)v[BLOCKS];
    args.heads = (unsigned)v[HEADS];
    memcpy(plan->args, &args, sizeof(args));
    return GROAT_OK;
}

/* ---- expected output ---------------------------------------------------- */

/* A tile: its first number in the slab and its valid rows. */
typedef struct spot {
    int64_t first;
    int64_t valid;
} spot;

static spot spot_of(const shape *s, const int64_t *v, int64_t key_block,
                    int64_t step, int64_t head)
{
    int64_t row = v[FIRST_ROW] + key_block * s->BN + step * s->step_rows;
    int64_t col = v[FIRST_COL] + head * s->depth + step * s->step_cols;
    int64_t valid = valid_in(s, v, key_block) - step * s->step_rows;
    spot at = {row * s->tile.ld + col, valid < 0 ? 0 : valid};

    return at;
}

static void expect_images(const shape *s, const int64_t *v, const void *slab,
                          unsigned char *data)
{
    for (int64_t b = 0; b < v[KEY_BLOCKS] * v[TILES]; b++) {
        spot at = spot_of(s, v, b / v[TILES], v[FIRST_TILE] + b % v[TILES], 0);

        groat__kv_expect_tile(&s->tile, slab, at.first, at.valid,
                              data + b * s->tile_bytes);
    }
}

/* Finds the row and column in the tile of number e of a lane's fragment i of
 * strip k. */
static void hold(const shape *s, int64_t wave, int64_t k, int64_t i,
                 int64_t lane, int64_t e, int64_t *row, int64_t *col)
{
    int64_t strip = 512 / s->mma_n;
    int64_t h = lane / s->mma_n;
    int64_t at =
        wave % s->warps_n * s->wave_size + i * s->mma_n + lane % s->mma_n;

    *row = s->is_v ? k * strip + e / 4 * (strip / 2) + 4 * h + e % 4 : at;
    *col = s->is_v ? at : k * strip + h * 8 + e;
}

static void expect_fragments_of(const shape *s, const uint16_t *slab, spot at,
                                uint16_t *data)
{
    int64_t per_wave = wave_bytes(s) / 2;

    for (int64_t n = 0; n < s->num_warps * per_wave; n++) {
        int64_t fragment = n % per_wave / 512;
        int64_t row;
        int64_t col;

        hold(s, n / per_wave, fragment / s->num_mmas, fragment % s->num_mmas,
             n % 512 / 8, n % 8, &row, &col);
        data[n] = row < at.valid ? slab[at.first + row * s->tile.ld + col] : 0;
    }
}

static void expect_fragments(const shape *s, const int64_t *v, const void *slab,
                             uint16_t *data)
{
    int64_t numbers = s->num_warps * wave_bytes(s) / 2;

    for (int64_t b = 0; b < v[KEY_BLOCKS] * v[TILES]; b++)
        expect_fragments_of(
            s, slab,
            spot_of(s, v, b / v[TILES], v[FIRST_TILE] + b % v[TILES], 0),
            data + b * numbers);
}

static groat_status expect_sums(const shape *s, const int64_t *v,
                                const void *slab, unsigned char *sums,
                                groat_error *error)
{
    int64_t tiles = v[KEY_BLOCKS] * s->steps;
    int64_t threads = s->num_warps * 64;
    unsigned char *image = malloc((size_t)s->tile_bytes);

    if (image == NULL)
        return groat__host_starve(error, "kv_buffer", "a tile");
    memset(sums, 0, (size_t)(v[BLOCKS] * v[HEADS] * threads * 16));
    for (int64_t t = 0; t < tiles * v[HEADS]; t++) {
        int64_t tile = t % tiles;
        int64_t block = tile % v[BLOCKS] * v[HEADS] + t / tiles;
        spot at = spot_of(s, v, tile / s->steps, tile % s->steps, t / tiles);

        groat__kv_expect_tile(&s->tile, slab, at.first, at.valid, image);
        groat__host_fold(image, s->tile_bytes, threads,
                         sums + block * threads * 16);
    }
    free(image);
    return GROAT_OK;
}

/* ---- products ----------------------------------------------------------- */

/* A number of the result, and the sum of its terms' absolute values. */
typedef struct dot {
    double sum;
    double total;
    int64_t terms;
} dot;

static double slab_number(const shape *s, const int64_t *v,
                          const uint16_t *slab, int64_t key, int64_t col)
{
    int64_t row = v[FIRST_ROW] + key;

    if (row >= v[VALID_ROWS])
        return 0;
    return groat__kv_number(s->f16 != 0,
                            slab[row * s->tile.ld + v[FIRST_COL] + col]);
}

/* Computes number n of S or O. */
static dot product_at(const shape *s, const int64_t *v,
                      const void *const *inputs, int64_t n)
{
    int64_t keys = keys_of(s, v);
    int64_t width = s->is_v ? s->depth : keys;
    int64_t terms = s->is_v ? keys : s->depth;
    const uint16_t *operand = (const uint16_t *)inputs[1] + n / width * terms;
    dot d = {0, 0, terms};

    for (int64_t k = 0; k < terms; k++) {
        int64_t key = s->is_v ? k : n % width;
        int64_t col = s->is_v ? n % width : k;
        double x = groat__kv_number(s->f16 != 0, operand[k]) *
                   slab_number(s, v, inputs[0], key, col);

        d.sum += x;
        d.total += fabs(x);
    }
    return d;
}

groat_status groat__kv_expect(const groat_spec *spec, const groat_plan *plan,
                              const void *const *inputs, size_t index,
                              void *data, groat_error *error)
{
    shape s = shape_of(spec);
    const int64_t *v = plan->values;
    int64_t floats = (int64_t)plan->buffers[index].bytes / 4;

    switch (s.entry) {
    case IMAGE:
        expect_images(&s, v, inputs[0], data);
        break;
    case FRAGMENTS:
        expect_fragments(&s, v, inputs[0], data);
        break;
    case STREAM:
        return expect_sums(&s, v, inputs[0], data, error);
    default:
        for (int64_t n = 0; n < floats; n++)
            ((float *)data)[n] = (float)product_at(&s, v, inputs, n).sum;
        break;
    }
    return GROAT_OK;
}

bool groat__kv_bound(const groat_spec *spec, const groat_plan *plan,
                     const void *const *inputs, size_t index, float *allowed)
{
    shape s = shape_of(spec);
    const int64_t *v = plan->values;
    int64_t floats = (int64_t)plan->buffers[index].bytes / 4;

    if (!is_product(&s) || v[REAL] == 0)
        return false;
    for (int64_t n = 0; n < floats; n++) {
        dot d = product_at(&s, v, inputs, n);

        allowed[n] = (float)groat__kv_slack(d.terms, d.total);
    }
    return true;
}
