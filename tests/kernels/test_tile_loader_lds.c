/* SPDX-License-Identifier: Apache-2.0
 *
 * test_tile_loader_lds.c checks the loader against an oracle of its own, which
 * loops over waves, iterations and lanes, forms M0, soffset and voffset of
 * each burst, and applies the bounds of the buffer descriptor dword by dword.
 * The driver of `groat run` has the closed form, so each output is computed
 * three ways: kernel, closed form, walk.  Known images (CRC-32 and FNV-1a) pin
 * the walk itself.
 *
 * The specs come from params.def (grid.h): every allowed value of every
 * parameter runs on a cpu target, and so does every arch; GROAT_TEST_SPECS more
 * specs (default 8) are random.  GROAT_TEST_SEED changes both, and the seed is
 * printed.  GROAT_TEST_TARGET names a device, which then runs all values too.
 */
#include "kernels-src/tile_loader_lds/args.h"
#include "tests/kernels/drive.h"
#include "tests/kernels/grid.h"
#include "tests/kernels/known.h"

extern const groat_driver groat_driver_tile_loader_lds;

enum { LANES = 64, POISON = 0xEE, TARGETS = 64 };

/* ---- the walk ---------------------------------------------------------- */

/* The spec's constants in the order of case_of(), and one tile of a source. */
typedef struct tile_case {
    int64_t elem, rows, cols, ld, src_cols, warps, bits, base, shift, lw, full;
    int64_t src_row, src_col, block_rows;
} tile_case;

static int64_t swizzled(const tile_case *t, int64_t x)
{
    return xor_field(t->bits, t->base, t->shift, x);
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

/* Fills shared memory as the waves do; checks that every byte is hit once. */
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
                    int64_t s = swizzled(t, piece * chunk + lane * lane_bytes);
                    int64_t row_bytes = t->cols * t->elem;

                    voffset = s / row_bytes * t->ld * t->elem + s % row_bytes;
                } else {
                    int64_t v = swizzled(t, lane * lane_bytes) / lane_bytes;
                    int64_t r = w / wave_cols * thread_rows + v / per_row;
                    int64_t c = w % wave_cols * sub + v % per_row * t->lw;

                    voffset = (r * t->ld + c) * t->elem;
                }
                burst(t, lds, hits, piece * chunk, lane, voffset + soffset);
            }
        }
    for (int64_t b = 0; b < bytes; b++)
        if (hits[b] != 1) /* ck_assert is too slow per byte */
            ck_abort_msg("the walk hits byte %d %d times", (int)b, hits[b]);
    free(hits);
}

/* ---- running one spec --------------------------------------------------- */

static const groat_driver *const driver = &groat_driver_tile_loader_lds;

/* One launch: the run-time arguments, in the driver's order. */
typedef struct shot {
    int64_t valid_rows, first_row, first_col, row_tiles, col_tiles, row_step;
} shot;

/* A spec and the data that its launches share. */
typedef struct subject {
    groat_spec *spec;
    tile_case t;
    int64_t threads;
    int64_t stages;
    bool stream;
    unsigned char *source; /* has max_rows rows */
    int64_t max_rows;
} subject;

static tile_case case_of(groat_spec *spec)
{
    tile_case t = {0};
    int64_t constants[11];

    drive_read(spec,
               "elem_bytes tile_rows tile_cols ld src_cols num_loading_warps "
               "swizzle_bits swizzle_base swizzle_shift load_width full_width",
               constants);
    memcpy(&t, constants, sizeof(constants));
    return t;
}

static subject subject_of(groat_spec *spec, int64_t max_rows)
{
    subject s = {.spec = spec, .t = case_of(spec), .max_rows = max_rows};
    size_t bytes;

    s.threads = 64 * drive_value(spec, "num_warps");
    s.stages = drive_value(spec, "stages");
    s.stream = drive_value(spec, "entry") == 1;
    s.t.block_rows = max_rows;
    bytes = (size_t)records(&s.t);
    s.source = malloc(bytes + 1);
    ck_assert_ptr_nonnull(s.source);
    source_bytes(s.source, bytes, s.t.ld * s.t.elem, 0);
    return s;
}

static size_t tile_bytes(const tile_case *t)
{
    return (size_t)(t->rows * t->cols * t->elem);
}

static size_t output_bytes(const subject *s, const shot *at)
{
    if (s->stream)
        return (size_t)(at->row_step * at->col_tiles * s->threads * 16);
    return (size_t)(at->row_tiles * at->col_tiles) * tile_bytes(&s->t);
}

/* Computes the expected output of a launch by the walk. */
static void walk_all(const subject *s, const shot *at, unsigned char *out)
{
    tile_case t = s->t;
    size_t bytes = tile_bytes(&t);
    size_t block = (size_t)s->threads * 16;
    unsigned char *image = malloc(bytes);

    ck_assert_ptr_nonnull(image);
    if (s->stream)
        memset(out, 0, output_bytes(s, at));
    t.block_rows = at->valid_rows;
    for (int64_t r = 0; r < at->row_tiles; r++)
        for (int64_t c = 0; c < at->col_tiles; c++) {
            unsigned char *sum =
                out + (size_t)(r % at->row_step * at->col_tiles + c) * block;

            t.src_row = at->first_row + r * t.rows;
            t.src_col = at->first_col + c * t.cols;
            if (!s->stream) {
                walk(&t, out + (size_t)(r * at->col_tiles + c) * bytes);
                continue;
            }
            walk(&t, image);
            for (size_t b = 0; b < bytes; b++)
                sum[b % block] ^= image[b];
        }
    free(image);
}

/* The arguments that the kernel must get. */
static struct tile_loader_lds_args args_of(const shot *at,
                                           const uint64_t *addresses)
{
    struct tile_loader_lds_args args = {0};

    args.source = addresses[0];
    args.output = addresses[1];
    args.valid_rows = at->valid_rows;
    args.first_row = at->first_row;
    args.first_col = (unsigned)at->first_col;
    args.row_tiles = (unsigned)at->row_tiles;
    args.col_tiles = (unsigned)at->col_tiles;
    args.row_step = (unsigned)at->row_step;
    return args;
}

/* Launches the kernel; the source buffer ends with the last valid row, so that
 * the judge reports a read behind it. */
static void run_shot(const subject *s, const shot *at, drive *d)
{
    struct tile_loader_lds_args args;
    int64_t values[GROAT_DRIVER_ARGS];
    tile_case t = s->t;

    t.block_rows = at->valid_rows;
    ck_assert_int_le(at->valid_rows, s->max_rows);
    drive_values(driver, values,
                 "valid_rows=%d first_row=%d first_col=%d row_tiles=%d "
                 "col_tiles=%d row_step=%d",
                 (int)at->valid_rows, (int)at->first_row, (int)at->first_col,
                 (int)at->row_tiles, (int)at->col_tiles, (int)at->row_step);
    drive_open(d, drive_context, driver, groat_spec_text(s->spec),
               groat_spec_target(s->spec), values);
    ck_assert_uint_eq(d->plan.buffers[0].bytes, (size_t)records(&t));
    ck_assert_uint_eq(d->plan.buffers[1].bytes, output_bytes(s, at));
    memcpy(d->host[0], s->source, (size_t)records(&t));
    drive_run(d);
    args = args_of(at, d->address);
    ck_assert_uint_eq(d->plan.args_bytes, sizeof(args));
    ck_assert_mem_eq(d->plan.args, &args, sizeof(args));
}

/* Checks the closed form of `groat run` and the kernel against the walk. */
static void check_shot(const subject *s, const shot *at)
{
    size_t bytes = output_bytes(s, at);
    unsigned char *want = malloc(bytes);
    drive d;

    ck_assert_ptr_nonnull(want);
    walk_all(s, at, want);
    run_shot(s, at, &d);
    drive_expect(&d);
    drive_ck_same(&d, "the closed form", d.want[1], want, bytes);
    drive_ck_same(&d, "the kernel's output", d.host[1], want, bytes);
    drive_close(&d);
    free(want);
}

/* No row, one row, odd counts, partial tiles, the last column of tiles; for a
 * stream, rings that are used up and blocks without a tile. */
static size_t shots_of(const subject *s, shot *out)
{
    int64_t rows = s->t.rows;
    int64_t last = s->t.src_cols - s->t.cols;
    int64_t wide = last > 0 ? 2 : 1;
    int64_t n = s->stages;
    const shot images[] = {
        {0, 0, 0, 1, 1, 1},
        {1, 0, 0, 2, 1, 1},
        {rows - 1, 0, last, 1, 1, 1},
        {rows, 0, last, 1, 1, 1},
        {rows + 1, 0, 0, 2, 1, 1},
        {rows + rows / 2 + 1, 0, 0, 2, wide, 1},
        {2 * rows + 2, rows + 3, last, 1, 1, 1},
    };
    const shot streams[] = {
        {0, 0, 0, 1, 1, 2},
        {1, 0, 0, 2, wide, 1},
        {(n + 1) * rows + rows / 2 + 1, 0, 0, n + 2, 1, 1},
        {2 * n * rows + 2, 3, last, 2 * n + 1, 1, 2},
    };

    if (s->stream) {
        memcpy(out, streams, sizeof(streams));
        return COUNT(streams);
    }
    memcpy(out, images, sizeof(images));
    return COUNT(images);
}

enum { SHOTS = 8 };

/* Rows of the largest of these launches. */
static int64_t max_rows_of(groat_spec *spec)
{
    int64_t rows = drive_value(spec, "tile_rows");

    return 2 * (drive_value(spec, "stages") + 1) * rows + 2;
}

/* A limit on the time that the host needs. */
static bool fits(groat_spec *spec)
{
    return max_rows_of(spec) * drive_value(spec, "ld") *
               drive_value(spec, "elem_bytes") <=
           16 << 20;
}

static size_t check_spec(groat_spec *spec, void *user)
{
    subject s = subject_of(spec, max_rows_of(spec));
    shot shots[SHOTS];
    size_t count = shots_of(&s, shots);

    (void)user;
    for (size_t i = 0; i < count; i++)
        check_shot(&s, &shots[i]);
    free(s.source);
    return count;
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

static groat_spec *spec_of(const tile_case *t, const char *target)
{
    char text[400];

    (void)snprintf(text, sizeof(text),
                   "tile_loader_lds:dtype=%s,tile_rows=%d,tile_cols=%d,"
                   "full_width=%d,src_cols=%d,ld=%d,num_loading_warps=%d,"
                   "load_width=%d,swizzle_bits=%d,swizzle_base=%d,"
                   "swizzle_shift=%d",
                   t->elem == 1   ? "fp8"
                   : t->elem == 4 ? "f32"
                                  : "bf16",
                   (int)t->rows, (int)t->cols, (int)t->full, (int)t->src_cols,
                   (int)t->ld, (int)t->warps, (int)t->lw, (int)t->bits,
                   (int)t->base, (int)t->shift);
    return drive_spec(drive_context, text, target);
}

START_TEST(known_images)
{
    static const char *const targets[] = {"cpu:gfx950", "cpu:gfx90a",
                                          "cpu:sm_90a"};
    const tile_case *t = &known[_i].t;
    const shot at = {t->block_rows, t->src_row, t->src_col, 1, 1, 1};
    unsigned char *image = malloc(tile_bytes(t));

    ck_assert_ptr_nonnull(image);
    walk(t, image);
    for (int k = 0; k < 3; k++)
        ck_assert_int_eq(image[known[_i].bytes[k].at],
                         known[_i].bytes[k].value);
    ck_assert_uint_eq(crc32_of(image, tile_bytes(t)), known[_i].crc);
    ck_assert_uint_eq(fnv1a_of(image, tile_bytes(t)), known[_i].fnv);
    for (size_t k = 0; k < COUNT(targets); k++) {
        groat_spec *spec = spec_of(t, targets[k]);
        subject s = subject_of(spec, t->block_rows);
        drive d;

        run_shot(&s, &at, &d);
        ck_assert_uint_eq(crc32_of(d.host[1], tile_bytes(t)), known[_i].crc);
        drive_close(&d);
        free(s.source);
        groat_spec_free(spec);
    }
    free(image);
}
END_TEST

/* ---- specs of params.def ------------------------------------------------ */

static uint64_t seed(void)
{
    return drive_number("GROAT_TEST_SEED", 20260000);
}

static void open_grid(grid *g)
{
    grid_open(g, drive_context, "tile_loader_lds", seed());
    g->fits = fits;
}

/* Runs every value of every parameter, on the targets in turn. */
static void check_values(const char *const *targets, size_t count)
{
    grid g;

    open_grid(&g);
    (void)grid_run_values(&g, targets, count, check_spec, NULL);
    ck_assert_uint_eq(grid_report(&g), 0);
    ck_assert_uint_ge(g.specs, count); /* each target had its turn */
    grid_close(&g);
}

/* Writes "cpu:ARCH" of each arch that groat knows, AMD's as often as NVIDIA's;
 * returns the number of targets. */
static size_t cpu_targets(char text[TARGETS][48], const char **targets)
{
    const char *arch[2][TARGETS]; /* AMD's and NVIDIA's */
    size_t has[2] = {0, 0};
    size_t count;

    for (size_t i = 0; groat_arch_at(i) != NULL; i++) {
        size_t vendor = strcmp(groat_arch_backend(i), "cuda") == 0;

        ck_assert_uint_lt(has[vendor], TARGETS / 2);
        arch[vendor][has[vendor]++] = groat_arch_at(i);
    }
    ck_assert(has[0] > 0 && has[1] > 0);
    count = 2 * (has[0] > has[1] ? has[0] : has[1]);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(text[i], sizeof(text[i]), "cpu:%s",
                       arch[i % 2][i / 2 % has[i % 2]]);
        targets[i] = text[i];
    }
    return count;
}

START_TEST(every_value_on_cpu)
{
    char text[TARGETS][48];
    const char *targets[TARGETS];

    check_values(targets, cpu_targets(text, targets));
}
END_TEST

START_TEST(every_value_on_device)
{
    const char *target = getenv("GROAT_TEST_TARGET");

    ck_assert_ptr_nonnull(target); /* not added without it */
    check_values(&target, 1);
}
END_TEST

START_TEST(random_specs)
{
    char text[TARGETS][48];
    const char *targets[TARGETS];
    size_t count = cpu_targets(text, targets);
    grid g;

    open_grid(&g);
    grid_run_random(&g, targets, count, drive_number("GROAT_TEST_SPECS", 8),
                    check_spec, NULL);
    grid_close(&g);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("tile_loader_lds");
    TCase *tests = tcase_create("image");

    tcase_set_timeout(tests,
                      600 + 2 * (double)drive_number("GROAT_TEST_SPECS", 0));
    tcase_add_checked_fixture(tests, drive_setup, drive_teardown);
    tcase_add_loop_test(tests, known_images, 0, KNOWN);
    tcase_add_test(tests, every_value_on_cpu);
    tcase_add_test(tests, random_specs);
    if (getenv("GROAT_TEST_TARGET") != NULL)
        tcase_add_test(tests, every_value_on_device);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    (void)printf("GROAT_TEST_SEED=%llu\n", (unsigned long long)seed());
    return drive_main(make_suite());
}
