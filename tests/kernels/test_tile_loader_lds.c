/* SPDX-License-Identifier: Apache-2.0
 *
 * test_tile_loader_lds.c holds the loader against an oracle of its own: it
 * walks over waves, iterations and lanes, forms M0, soffset and voffset of each
 * burst, and applies the bounds of the buffer descriptor dword by dword.  The
 * driver of `groat run` has the closed form instead, so the image is computed
 * three ways: kernel, closed form, walk.  Known images (CRC-32 and FNV-1a) pin
 * the walk itself.
 *
 * Cases run on cpu targets always and on the device of GROAT_TEST_TARGET when
 * that is set.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/driver.h"
#include "groat.h"
#include "kernels-src/tile_loader_lds/args.h"

enum { LANES = 64, POISON = 0xEE };

/* ---- the walk ---------------------------------------------------------- */

typedef struct tile_case {
    int64_t elem, rows, cols, ld, src_cols, warps, bits, base, shift, lw, full;
    int64_t src_row, src_col, block_rows;
} tile_case;

/* 1..255, never 0: a zero fill always shows. */
static unsigned char source_byte(int64_t row, int64_t col_byte)
{
    uint32_t h = (uint32_t)row * 0x9E3779B1u +
                 (uint32_t)col_byte * 0x85EBCA6Bu + 0xC2B2AE35u;

    return (unsigned char)(1 + (h >> 24) % 255);
}

static int64_t xor_field(const tile_case *t, int64_t x)
{
    int64_t mask = ((int64_t)1 << t->bits) - 1;
    int64_t from = t->base + (t->shift > 0 ? t->shift : 0);
    int64_t field = (x >> from) & mask;

    return x ^ (field << (t->base + (t->shift < 0 ? -t->shift : 0)));
}

/* num_records of a view of valid rows x src_cols with row stride ld. */
static int64_t records(const tile_case *t)
{
    if (t->block_rows <= 0)
        return 0;
    return ((t->block_rows - 1) * t->ld + t->src_cols) * t->elem;
}

static void burst(const tile_case *t, unsigned char *lds, int *hits, int64_t m0,
                  int64_t lane, int64_t offset)
{
    int64_t bytes = t->lw * t->elem;

    for (int64_t d = 0; d < bytes; d += 4)
        for (int64_t k = 0; k < 4; k++) {
            int64_t at = m0 + lane * bytes + d + k;
            int64_t from = offset + d;
            bool inside = from + 4 <= records(t);

            lds[at] = inside ? source_byte((from + k) / (t->ld * t->elem),
                                           (from + k) % (t->ld * t->elem))
                             : 0;
            hits[at]++;
        }
}

/* What the waves leave in shared memory; every byte must be hit once. */
static void walk(const tile_case *t, unsigned char *lds)
{
    int64_t bytes = t->rows * t->cols * t->elem;
    int64_t lane_bytes = t->lw * t->elem;
    int64_t sub = t->full ? t->cols : 32;
    int64_t per_row = sub / t->lw;
    int64_t wave_cols = t->cols / sub;
    int64_t thread_rows = LANES / per_row;
    int64_t warp_rows = LANES * t->lw / t->cols;
    int64_t pieces = t->rows / warp_rows;
    int64_t chunk = LANES * lane_bytes;
    int64_t iterations = (pieces + t->warps - 1) / t->warps;
    int64_t rows_per_iteration = LANES * t->warps / (t->cols / t->lw);
    int *hits = calloc((size_t)bytes, sizeof(*hits));

    ck_assert_ptr_nonnull(hits);
    memset(lds, POISON, (size_t)bytes);
    for (int64_t w = 0; w < t->warps; w++)
        for (int64_t i = 0; i < iterations; i++) {
            int64_t piece = i * t->warps + w;
            int64_t row = t->src_row;

            if (piece >= pieces)
                continue;
            if (!(t->full && t->bits > 0))
                row += i * rows_per_iteration;
            for (int64_t lane = 0; lane < LANES; lane++) {
                int64_t soffset = (row * t->ld + t->src_col) * t->elem;
                int64_t voffset;

                if (t->full && t->bits > 0) {
                    int64_t s = xor_field(t, piece * chunk + lane * lane_bytes);
                    int64_t row_bytes = t->cols * t->elem;

                    voffset = s / row_bytes * t->ld * t->elem + s % row_bytes;
                } else {
                    int64_t v = xor_field(t, lane * lane_bytes) / lane_bytes;
                    int64_t r = w / wave_cols * thread_rows + v / per_row;
                    int64_t c = w % wave_cols * sub + v % per_row * t->lw;

                    voffset = (r * t->ld + c) * t->elem;
                }
                burst(t, lds, hits, piece * chunk, lane, voffset + soffset);
            }
        }
    for (int64_t b = 0; b < bytes; b++)
        ck_assert_int_eq(hits[b], 1);
    free(hits);
}

static uint32_t crc32_of(const unsigned char *data, size_t bytes)
{
    uint32_t crc = 0xFFFFFFFFu;

    for (size_t i = 0; i < bytes; i++) {
        crc ^= data[i];
        for (int k = 0; k < 8; k++)
            crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
    }
    return ~crc;
}

static uint64_t fnv1a_of(const unsigned char *data, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ data[i]) * 0x100000001b3u;
    return hash;
}

/* ---- running one case --------------------------------------------------- */

static groat_context *context;

static void open_context(void)
{
    groat_options options = GROAT_OPTIONS_INIT;
    groat_error error = GROAT_ERROR_INIT;

    options.flags = GROAT_OPEN_NO_DISK;
    ck_assert_msg(groat_open(&options, &context, &error) == GROAT_OK, "%s",
                  error.text);
}

static void close_context(void)
{
    groat_close(context);
    context = NULL;
}

static const char *dtype_of(int64_t elem)
{
    return elem == 1 ? "fp8" : elem == 4 ? "f32" : "bf16";
}

static void spec_of(const tile_case *t, char *text, size_t room)
{
    (void)snprintf(text, room,
                   "tile_loader_lds:dtype=%s,tile_rows=%d,tile_cols=%d,"
                   "full_width=%d,src_cols=%d,ld=%d,num_loading_warps=%d,"
                   "load_width=%d,swizzle_bits=%d,swizzle_base=%d,"
                   "swizzle_shift=%d",
                   dtype_of(t->elem), (int)t->rows, (int)t->cols, (int)t->full,
                   (int)t->src_cols, (int)t->ld, (int)t->warps, (int)t->lw,
                   (int)t->bits, (int)t->base, (int)t->shift);
}

static unsigned char *make_source(const tile_case *t, size_t *bytes)
{
    unsigned char *source;

    *bytes = (size_t)records(t);
    source = malloc(*bytes + 1);
    ck_assert_ptr_nonnull(source);
    for (size_t i = 0; i < *bytes; i++)
        source[i] = source_byte((int64_t)i / (t->ld * t->elem),
                                (int64_t)i % (t->ld * t->elem));
    return source;
}

/* The image of one tile as the kernel of `target` makes it. */
static void run_on(const char *target, const tile_case *t, unsigned char *image)
{
    struct tile_loader_lds_args args = {0};
    groat_launch launch = GROAT_LAUNCH_INIT;
    groat_error error = GROAT_ERROR_INIT;
    groat_kernel *kernel = NULL;
    size_t bytes = (size_t)(t->rows * t->cols * t->elem);
    size_t source_bytes;
    unsigned char *source = make_source(t, &source_bytes);
    uint64_t in = 0;
    uint64_t out = 0;
    char text[400];

    spec_of(t, text, sizeof(text));
    memset(image, 0xA5, bytes);
    ck_assert_msg(groat_kernel_get(context, text, target, &kernel, NULL,
                                   &error) == GROAT_OK,
                  "%s on %s: %s", text, target, error.text);
    ck_assert_int_eq(
        groat_memory_alloc(context, target, source_bytes, &in, &error),
        GROAT_OK);
    ck_assert_int_eq(groat_memory_alloc(context, target, bytes, &out, &error),
                     GROAT_OK);
    ck_assert_int_eq(
        groat_memory_write(context, target, in, source, source_bytes, &error),
        GROAT_OK);
    ck_assert_int_eq(
        groat_memory_write(context, target, out, image, bytes, &error),
        GROAT_OK);
    args.source = in;
    args.output = out;
    args.valid_rows = t->block_rows;
    args.first_row = t->src_row;
    args.first_col = (unsigned)t->src_col;
    args.row_tiles = 1;
    args.col_tiles = 1;
    args.row_step = 1;
    ck_assert_msg(groat_kernel_launch(kernel, &launch, &args, sizeof(args),
                                      &error) == GROAT_OK,
                  "%s on %s: %s", text, target, error.text);
    ck_assert_int_eq(
        groat_memory_read(context, target, image, out, bytes, &error),
        GROAT_OK);
    groat_memory_free(context, target, in);
    groat_memory_free(context, target, out);
    groat_kernel_release(kernel);
    free(source);
    groat_error_clear(&error);
}

static const char *const cpu_targets[] = {"cpu:gfx950", "cpu:gfx90a",
                                          "cpu:sm_90a"};

static void check_case(const tile_case *t, const char *target)
{
    size_t bytes = (size_t)(t->rows * t->cols * t->elem);
    unsigned char *expected = malloc(bytes);
    unsigned char *image = malloc(bytes);
    char text[400];

    ck_assert(expected != NULL && image != NULL);
    spec_of(t, text, sizeof(text));
    walk(t, expected);
    run_on(target, t, image);
    for (size_t b = 0; b < bytes; b++)
        ck_assert_msg(image[b] == expected[b],
                      "%s on %s, %d valid rows: byte %zu is 0x%02x, not 0x%02x",
                      text, target, (int)t->block_rows, b, image[b],
                      expected[b]);
    free(expected);
    free(image);
}

/* ---- known images ------------------------------------------------------- */

static const struct {
    tile_case t;
    uint32_t crc;
    uint64_t fnv;
    struct {
        int at;
        int value;
    } bytes[3];
} known[] = {
    {{2, 128, 64, 4096, 4096, 8, 1, 5, 4, 8, 0, 128, 64, 256},
     0xcd8614b3,
     0x63a813a0d1a3bd5b,
     {{545, 0x4c}, {2825, 0x96}, {16383, 0x05}}},
    {{1, 128, 128, 1024, 1024, 8, 3, 4, 4, 16, 1, 128, 256, 200},
     0x87e31082,
     0x4deb5f6c143bf2d8,
     {{545, 0xca}, {8993, 0xf3}, {16383, 0x00}}},
    {{1, 128, 128, 1024, 1024, 8, 2, 5, 4, 16, 1, 0, 128, 256},
     0xf621ee4c,
     0xe42337c94902afbc,
     {{545, 0xb8}, {1024, 0x26}, {16383, 0x6e}}},
    {{2, 64, 128, 512, 512, 4, 0, 0, 0, 8, 0, 0, 0, 40},
     0x966dad51,
     0x5e667a9dc320d3d6,
     {{545, 0xf8}, {2825, 0xd9}, {8993, 0x00}}},
    {{1, 64, 128, 384, 384, 4, 0, 0, 0, 16, 1, 64, 128, 128},
     0xd9b5200f,
     0x9355026388627d32,
     {{545, 0x03}, {2825, 0x95}, {8191, 0xa7}}},
    {{2, 64, 64, 1024, 1024, 8, 1, 5, 4, 8, 0, 0, 192, 33},
     0x84859018,
     0xe76e4ddc1170dc80,
     {{545, 0x1d}, {4096, 0x6c}, {8191, 0x00}}},
};

enum { KNOWN = sizeof(known) / sizeof(known[0]) };

START_TEST(known_images)
{
    const tile_case *t = &known[_i].t;
    size_t bytes = (size_t)(t->rows * t->cols * t->elem);
    unsigned char *image = malloc(bytes);

    ck_assert_ptr_nonnull(image);
    walk(t, image);
    for (int k = 0; k < 3; k++)
        ck_assert_int_eq(image[known[_i].bytes[k].at],
                         known[_i].bytes[k].value);
    ck_assert_uint_eq(crc32_of(image, bytes), known[_i].crc);
    ck_assert_uint_eq(fnv1a_of(image, bytes), known[_i].fnv);
    for (size_t k = 0; k < 3; k++) {
        run_on(cpu_targets[k], t, image);
        ck_assert_uint_eq(crc32_of(image, bytes), known[_i].crc);
    }
    free(image);
}
END_TEST

/* ---- the grid ----------------------------------------------------------- */

/* One row per legal combination worth a compile; valid rows vary inside. */
static const tile_case grid[] = {
    /* interleaved, every element size, with and without the swizzle */
    {2, 64, 64, 1024, 1024, 4, 0, 0, 0, 8, 0, 0, 0, 0},
    {2, 64, 64, 1024, 1024, 4, 1, 5, 4, 8, 0, 0, 0, 0},
    {2, 64, 64, 1040, 1024, 2, 2, 4, 4, 8, 0, 0, 0, 0},
    {2, 128, 32, 128, 128, 8, 3, 4, 3, 8, 0, 0, 0, 0},
    {2, 16, 128, 2048, 2048, 8, 0, 0, 0, 8, 0, 0, 0, 0},
    {2, 48, 64, 576, 576, 4, 1, 5, 4, 8, 0, 0, 0, 0},
    {2, 32, 256, 1024, 1024, 8, 0, 0, 0, 8, 0, 0, 0, 0},
    {1, 64, 128, 512, 512, 4, 0, 0, 0, 16, 0, 0, 0, 0},
    {1, 128, 64, 256, 256, 2, 1, 5, 4, 16, 0, 0, 0, 0},
    {4, 32, 32, 64, 64, 2, 0, 0, 0, 4, 0, 0, 0, 0},
    {4, 64, 64, 128, 128, 16, 2, 4, 4, 4, 0, 0, 0, 0},
    /* full width, swizzles that cross bursts, both signs of the shift */
    {1, 128, 128, 1024, 1024, 8, 3, 4, 4, 16, 1, 0, 0, 0},
    {1, 128, 128, 1024, 1024, 8, 2, 5, 4, 16, 1, 0, 0, 0},
    {1, 64, 256, 768, 768, 4, 0, 0, 0, 16, 1, 0, 0, 0},
    {2, 64, 64, 1024, 1024, 4, 3, 4, 3, 8, 1, 0, 0, 0},
    {2, 64, 128, 640, 640, 4, 3, 4, 4, 8, 1, 0, 0, 0},
    {2, 64, 64, 1024, 1024, 4, 3, 4, -3, 8, 1, 0, 0, 0},
    {2, 32, 512, 1024, 1024, 4, 2, 4, 6, 8, 1, 0, 0, 0},
    {4, 64, 128, 256, 256, 8, 2, 4, 4, 4, 1, 0, 0, 0},
    /* 4-byte lanes, surplus and gated waves */
    {2, 32, 64, 1024, 1024, 4, 0, 0, 0, 2, 0, 0, 0, 0},
    {2, 16, 64, 256, 256, 2, 1, 3, 2, 2, 1, 0, 0, 0},
    {1, 64, 64, 256, 256, 1, 2, 2, 3, 4, 1, 0, 0, 0},
    {2, 32, 64, 1024, 1024, 16, 0, 0, 0, 8, 0, 0, 0, 0},
    {2, 16, 32, 32, 32, 16, 0, 0, 0, 8, 0, 0, 0, 0},
    {1, 8, 128, 128, 128, 16, 0, 0, 0, 16, 1, 0, 0, 0},
};

enum { GRID = sizeof(grid) / sizeof(grid[0]) };

static void check_edges(tile_case t, const char *target)
{
    const int64_t rows[] = {0,      1,          t.rows / 2 + 1, t.rows - 1,
                            t.rows, t.rows + 1, 2 * t.rows + 3};

    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        t.block_rows = rows[k];
        t.src_row = 0;
        t.src_col = 0;
        check_case(&t, target);
        t.src_row = t.rows;
        t.src_col = t.src_cols - t.cols;
        check_case(&t, target);
    }
}

START_TEST(grid_on_cpu)
{
    for (size_t k = 0; k < 3; k++)
        check_edges(grid[_i], cpu_targets[k]);
}
END_TEST

/* ---- random legal specs ------------------------------------------------- */

static uint64_t random_state;

static uint64_t pick(uint64_t below)
{
    uint64_t z = (random_state += 0x9E3779B97F4A7C15u);

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (z ^ (z >> 31)) % below;
}

static tile_case random_case(void)
{
    static const int64_t elems[] = {1, 2, 4};
    static const int64_t cols[] = {16, 32, 64, 128, 256};
    tile_case t = {0};

    t.elem = elems[pick(3)];
    t.rows = 8 * (1 + (int64_t)pick(16));
    t.cols = cols[pick(5)];
    t.src_cols = t.cols * (1 + (int64_t)pick(6));
    t.ld = t.src_cols + 16 * (int64_t)pick(3);
    t.warps = (int64_t)1 << pick(5);
    t.full = (int64_t)pick(2);
    t.lw = (pick(3) == 0 ? 4 : 16) / t.elem;
    if (pick(3) != 0) {
        t.bits = 1 + (int64_t)pick(3);
        t.base = 2 + (int64_t)pick(5);
        t.shift = t.bits + (int64_t)pick(3);
        if (pick(4) == 0)
            t.shift = -t.shift;
    }
    t.block_rows = (int64_t)pick((uint64_t)(2 * t.rows + 2));
    t.src_row = (int64_t)pick((uint64_t)(t.rows + 1));
    t.src_col = t.cols * (int64_t)pick((uint64_t)(t.src_cols / t.cols));
    return t;
}

/* Draws until the rules say yes; a spec they accept must be loaded right. */
START_TEST(random_specs)
{
    int legal = 0;

    random_state = 20260000u + (uint64_t)_i;
    for (int draws = 0; legal < 12; draws++) {
        tile_case t = random_case();
        groat_spec *spec = NULL;
        const char *target = cpu_targets[pick(3)];
        char text[400];

        ck_assert_int_lt(draws, 4000);
        spec_of(&t, text, sizeof(text));
        if (groat_spec_parse(context, text, target, &spec, NULL) != GROAT_OK)
            continue;
        groat_spec_free(spec);
        check_case(&t, target);
        legal++;
    }
}
END_TEST

/* ---- the driver of groat run -------------------------------------------- */

/* The closed form against the walk, for every tile of the grid. */
START_TEST(closed_form_agrees)
{
    const groat_driver *driver = &groat_driver_tile_loader_lds;
    tile_case t = grid[_i];
    int64_t values[GROAT_DRIVER_ARGS] = {0};
    size_t bytes = (size_t)(t.rows * t.cols * t.elem);
    unsigned char *expected = malloc(bytes);
    unsigned char *image = malloc(bytes);
    groat_error error = GROAT_ERROR_INIT;
    groat_plan plan = {0};
    groat_spec *spec = NULL;
    const void *inputs[2] = {NULL, NULL};
    unsigned char *source;
    size_t source_bytes;
    char text[400];

    t.block_rows = t.rows + t.rows / 2 + 1;
    t.src_row = t.rows;
    t.src_col = t.src_cols - t.cols;
    spec_of(&t, text, sizeof(text));
    ck_assert_int_eq(
        groat_spec_parse(context, text, "cpu:gfx950", &spec, &error), GROAT_OK);
    values[0] = t.block_rows;
    values[1] = t.src_row;
    values[2] = t.src_col;
    values[3] = values[4] = values[5] = 1;
    ck_assert_msg(driver->plan(spec, values, &plan, &error) == GROAT_OK, "%s",
                  error.text);
    ck_assert_uint_eq(plan.buffers[1].bytes, bytes);
    source = make_source(&t, &source_bytes);
    ck_assert_uint_eq(plan.buffers[0].bytes, source_bytes);
    inputs[0] = source;
    ck_assert_int_eq(driver->expect(spec, &plan, inputs, 1, image, &error),
                     GROAT_OK);
    walk(&t, expected);
    ck_assert_mem_eq(image, expected, bytes);
    free(source);
    free(expected);
    free(image);
    groat_spec_free(spec);
}
END_TEST

/* ---- a device, where one is named ---------------------------------------- */

START_TEST(grid_on_device)
{
    const char *target = getenv("GROAT_TEST_TARGET");

    if (target == NULL)
        return; /* main leaves this test out then */
    check_edges(grid[_i], target);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("tile_loader_lds");
    TCase *tests = tcase_create("image");

    tcase_set_timeout(tests, 300);
    tcase_add_checked_fixture(tests, open_context, close_context);
    tcase_add_loop_test(tests, known_images, 0, KNOWN);
    tcase_add_loop_test(tests, closed_form_agrees, 0, GRID);
    tcase_add_loop_test(tests, grid_on_cpu, 0, GRID);
    tcase_add_loop_test(tests, random_specs, 0, 8);
    if (getenv("GROAT_TEST_TARGET") != NULL)
        tcase_add_loop_test(tests, grid_on_device, 0, GRID);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(make_suite());
    int failed;

    if (getenv("GROAT_TEST_TARGET") == NULL)
        (void)puts("SKIP: no device: GROAT_TEST_TARGET names none, the cpu "
                   "targets alone ran");
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
