/* SPDX-License-Identifier: Apache-2.0
 *
 * host.c feeds and checks tile_loader_lds for `groat run`.  The source is a
 * slab of a KV cache: valid_rows tokens, each with src_cols elements in a row
 * of ld.  The expected image comes from the closed form of the layout (the
 * source byte at byte b of a tile), not from a walk over bursts, so it shares
 * no arithmetic with the kernel.
 * Owns what the bytes mean; buffers and launches are the tool's
 * (cli/run/trial.c).
 * Invariant: each run-time argument is the field of args.h with its name.
 * Locking: none; writes only to what the caller passes.
 * It is C instead of a run.def, whose reference.c needs a compiler: this family
 * is verified on hosts that have none.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "kernels-src/driver/shared.h"

/* In the order of `arguments`. */
enum { VALID_ROWS, FIRST_ROW, FIRST_COL, ROW_TILES, COL_TILES, ROW_STEP };

enum { STREAM_BLOCKS = 264, TILES_MAX = 0x7fffffff };

static const int64_t device_stream_bytes = (int64_t)1 << 30;

static const groat_driver_arg arguments[] = {
    {"valid_rows", GROAT_ARG_INT, -1, 0, INT32_MAX, "rows",
     "valid rows of the matrix; later ones read as zeros (default: three tiles "
     "and a half; on a GPU's stream entry 1 GiB)"},
    {"first_row", GROAT_ARG_INT, 0, 0, INT32_MAX, "rows",
     "row of the first tile"},
    {"first_col", GROAT_ARG_INT, 0, 0, 65536, "elements",
     "column of the first tile"},
    {"row_tiles", GROAT_ARG_INT, -1, 1, INT32_MAX, "tiles",
     "tiles below each other (default: all that begin in a valid row)"},
    {"col_tiles", GROAT_ARG_INT, -1, 1, 4096, "tiles",
     "tiles side by side (default: all of src_cols)"},
    {"row_step", GROAT_ARG_INT, -1, 1, 65535, "blocks",
     "stream entry: blocks below each other, each of which takes every "
     "row_step-th tile (default: 264 blocks in all)"},
    {NULL, GROAT_ARG_INT, 0, 0, 0, NULL, NULL},
};

/* The constants of a spec that the host needs. */
typedef struct shape {
    int64_t elem_bytes, tile_rows, tile_cols, full_width, src_cols, ld;
    int64_t swizzle_bits, swizzle_base, swizzle_shift;
    int64_t chunk_bytes, subtile_cols, thread_rows, warp_cols, row_bytes;
    int64_t tile_bytes, lane_bytes, num_warps, entry;
} shape;

static shape shape_of(const groat_spec *spec)
{
    shape s;

    s.elem_bytes = groat__host_value(spec, "elem_bytes");
    s.tile_rows = groat__host_value(spec, "tile_rows");
    s.tile_cols = groat__host_value(spec, "tile_cols");
    s.full_width = groat__host_value(spec, "full_width");
    s.src_cols = groat__host_value(spec, "src_cols");
    s.ld = groat__host_value(spec, "ld");
    s.swizzle_bits = groat__host_value(spec, "swizzle_bits");
    s.swizzle_base = groat__host_value(spec, "swizzle_base");
    s.swizzle_shift = groat__host_value(spec, "swizzle_shift");
    s.chunk_bytes = groat__host_value(spec, "chunk_bytes");
    s.subtile_cols = groat__host_value(spec, "subtile_cols");
    s.thread_rows = groat__host_value(spec, "thread_rows");
    s.warp_cols = groat__host_value(spec, "warp_cols");
    s.row_bytes = groat__host_value(spec, "row_bytes");
    s.tile_bytes = groat__host_value(spec, "tile_bytes");
    s.lane_bytes = groat__host_value(spec, "lane_bytes");
    s.num_warps = groat__host_value(spec, "num_warps");
    s.entry = groat__host_value(spec, "entry");
    return s;
}

static bool is_stream(const shape *s)
{
    return s->entry == 1;
}

static void derive(const groat_spec *spec, const shape *s, int64_t *v)
{
    bool on_cpu = groat__host_on_cpu(spec);

    if (v[VALID_ROWS] < 0 && is_stream(s) && !on_cpu)
        v[VALID_ROWS] = device_stream_bytes / (s->ld * s->elem_bytes);
    if (v[VALID_ROWS] < 0)
        v[VALID_ROWS] = 3 * s->tile_rows + s->tile_rows / 2 + 1;
    if (v[ROW_TILES] < 0) {
        int64_t rows = v[VALID_ROWS] - v[FIRST_ROW];

        v[ROW_TILES] = rows <= 0 ? 1 : (rows + s->tile_rows - 1) / s->tile_rows;
    }
    if (v[COL_TILES] < 0)
        v[COL_TILES] = (s->src_cols - v[FIRST_COL]) / s->tile_cols;
    if (v[ROW_STEP] < 0 && v[COL_TILES] > 0) {
        int64_t step = (STREAM_BLOCKS + v[COL_TILES] - 1) / v[COL_TILES];

        v[ROW_STEP] = step < v[ROW_TILES] ? step : v[ROW_TILES];
    }
}

static groat_status refuse(groat_error *error, const char *what, int64_t seen,
                           const char *rule, int64_t limit)
{
    return groat__host_refuse(error, "tile_loader_lds", what, seen,
                              "%s %" PRId64, rule, limit);
}

static groat_status check(const shape *s, const int64_t *v, groat_error *error)
{
    if (v[FIRST_COL] * s->elem_bytes % 16 != 0)
        return refuse(error, "first_col", v[FIRST_COL],
                      "it must be a multiple of", 16 / s->elem_bytes);
    if (v[FIRST_COL] + s->tile_cols > s->src_cols)
        return refuse(error, "first_col", v[FIRST_COL],
                      "the last that a tile may start at is",
                      s->src_cols - s->tile_cols);
    if (v[FIRST_COL] + v[COL_TILES] * s->tile_cols > s->src_cols)
        return refuse(error, "first_col + col_tiles * tile_cols",
                      v[FIRST_COL] + v[COL_TILES] * s->tile_cols,
                      "it may not pass src_cols, which is", s->src_cols);
    if (v[ROW_TILES] * v[COL_TILES] > TILES_MAX)
        return refuse(error, "row_tiles * col_tiles",
                      v[ROW_TILES] * v[COL_TILES],
                      "the blocks of a grid are at most", TILES_MAX);
    return GROAT_OK;
}

static int64_t valid_in(const shape *s, const int64_t *v, int64_t row_tile)
{
    int64_t left = v[VALID_ROWS] - v[FIRST_ROW] - row_tile * s->tile_rows;

    return left < 0 ? 0 : left < s->tile_rows ? left : s->tile_rows;
}

static uint64_t bytes_read(const shape *s, const int64_t *v)
{
    int64_t left = v[VALID_ROWS] - v[FIRST_ROW];
    int64_t rows = v[ROW_TILES] * s->tile_rows;

    rows = left < 0 ? 0 : left < rows ? left : rows;
    return (uint64_t)(rows * v[COL_TILES] * s->row_bytes);
}

static groat_status plan(const groat_spec *spec, const int64_t *values,
                         groat_plan *p, groat_error *error)
{
    shape s = shape_of(spec);
    int64_t *v = p->values;
    groat_status status;
    uint64_t tiles;

    memcpy(v, values, (ROW_STEP + 1) * sizeof(v[0]));
    derive(spec, &s, v);
    status = check(&s, v, error);
    if (status != GROAT_OK)
        return status;
    tiles = (uint64_t)(v[ROW_TILES] * v[COL_TILES]);
    p->buffer_count = 2;
    p->buffers[0].name = "source";
    p->buffers[0].output = false;
    p->buffers[0].bytes =
        v[VALID_ROWS] == 0
            ? 0
            : (size_t)(((v[VALID_ROWS] - 1) * s.ld + s.src_cols) *
                       s.elem_bytes);
    p->buffers[1].name = is_stream(&s) ? "sums" : "image";
    p->buffers[1].output = true;
    p->buffers[1].bytes =
        is_stream(&s)
            ? (size_t)(v[ROW_STEP] * v[COL_TILES] * s.num_warps * 64 * 16)
            : (size_t)tiles * (size_t)s.tile_bytes;
    p->grid[0] = (unsigned)(is_stream(&s) ? v[ROW_STEP] : v[ROW_TILES]);
    p->grid[1] = (unsigned)v[COL_TILES];
    p->grid[2] = 1;
    p->args_bytes = sizeof(struct tile_loader_lds_args);
    p->moved_bytes = bytes_read(&s, v) + p->buffers[1].bytes;
    return GROAT_OK;
}

static void fill(const groat_spec *spec, const groat_plan *p, size_t index,
                 uint64_t seed, void *data)
{
    (void)spec;
    groat__host_fill(seed, data, p->buffers[index].bytes);
}

static groat_status bind(groat_context *context, const groat_spec *spec,
                         groat_plan *p, const uint64_t *addresses,
                         groat_error *error)
{
    struct tile_loader_lds_args args = {0};

    (void)context;
    (void)spec;
    (void)error;
    args.source = addresses[0];
    args.output = addresses[1];
    args.valid_rows = p->values[VALID_ROWS];
    args.first_row = p->values[FIRST_ROW];
    args.first_col = (unsigned)p->values[FIRST_COL];
    args.row_tiles = (unsigned)p->values[ROW_TILES];
    args.col_tiles = (unsigned)p->values[COL_TILES];
    args.row_step = (unsigned)p->values[ROW_STEP];
    memcpy(p->args, &args, sizeof(args));
    return GROAT_OK;
}

/* Finds the byte of the source tile that lies at byte b of the image. */
static void locate(const shape *s, int64_t b, int64_t *row, int64_t *col_byte)
{
    int64_t chunk = b / s->chunk_bytes;
    int64_t at =
        groat__host_swizzle(s->swizzle_bits, s->swizzle_base, s->swizzle_shift,
                            s->full_width ? b : b % s->chunk_bytes);
    int64_t width = s->subtile_cols * s->elem_bytes;

    if (s->full_width) {
        *row = at / s->row_bytes;
        *col_byte = at % s->row_bytes;
        return;
    }
    *row = chunk / s->warp_cols * s->thread_rows + at / width;
    *col_byte = chunk % s->warp_cols * width + at % width;
}

static void expect_tile(const shape *s, const int64_t *v,
                        const unsigned char *source, int64_t tile,
                        unsigned char *image)
{
    int64_t valid = valid_in(s, v, tile / v[COL_TILES]);
    int64_t first_row = v[FIRST_ROW] + tile / v[COL_TILES] * s->tile_rows;
    int64_t first_byte =
        (v[FIRST_COL] + tile % v[COL_TILES] * s->tile_cols) * s->elem_bytes;

    /* Every layout keeps a lane's bytes together. */
    for (int64_t b = 0; b < s->tile_bytes; b += s->lane_bytes) {
        int64_t row;
        int64_t col;

        locate(s, b, &row, &col);
        if (row < valid)
            memcpy(image + b,
                   source + (first_row + row) * s->ld * s->elem_bytes +
                       first_byte + col,
                   (size_t)s->lane_bytes);
        else
            memset(image + b, 0, (size_t)s->lane_bytes);
    }
}

static groat_status expect_sums(const shape *s, const int64_t *v,
                                const unsigned char *source,
                                unsigned char *sums, groat_error *error)
{
    int64_t tiles = v[ROW_TILES] * v[COL_TILES];
    int64_t block_bytes = s->num_warps * 64 * 16;
    unsigned char *image = malloc((size_t)s->tile_bytes);

    if (image == NULL) {
        if (error != NULL) {
            error->status = GROAT_NO_MEMORY;
            (void)snprintf(error->text, sizeof(error->text),
                           "tile_loader_lds: no memory for a tile of %" PRId64
                           " bytes",
                           s->tile_bytes);
        }
        return GROAT_NO_MEMORY;
    }
    memset(sums, 0, (size_t)(v[ROW_STEP] * v[COL_TILES] * block_bytes));
    for (int64_t t = 0; t < tiles; t++) {
        int64_t block =
            t / v[COL_TILES] % v[ROW_STEP] * v[COL_TILES] + t % v[COL_TILES];

        expect_tile(s, v, source, t, image);
        groat__host_fold(image, s->tile_bytes, s->num_warps * 64,
                         sums + block * block_bytes);
    }
    free(image);
    return GROAT_OK;
}

static groat_status expect(const groat_spec *spec, const groat_plan *p,
                           const void *const *inputs, size_t index, void *data,
                           groat_error *error)
{
    shape s = shape_of(spec);
    const int64_t *v = p->values;

    (void)index;
    if (is_stream(&s))
        return expect_sums(&s, v, inputs[0], data, error);
    for (int64_t t = 0; t < v[ROW_TILES] * v[COL_TILES]; t++)
        expect_tile(&s, v, inputs[0], t,
                    (unsigned char *)data + t * s.tile_bytes);
    return GROAT_OK;
}

const groat_driver groat_driver_tile_loader_lds = {
    "tile_loader_lds", arguments, plan, fill, bind, expect, NULL, NULL,
};
