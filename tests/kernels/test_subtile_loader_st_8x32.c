/* SPDX-License-Identifier: Apache-2.0
 *
 * test_subtile_loader_st_8x32.c checks the loader of V against the walk of
 * st_8x32_oracle.h.  Known images (CRC-32, FNV-1a), bursts and read addresses
 * pin the walk; the driver of `groat run` has closed forms, so all is computed
 * three ways.  Products are of small integers, exact in any order, and of
 * random numbers within the driver's bound.  Runs every value of a list,
 * sixteen of a range, and specs drawn from params.def (grid.h).
 *
 * Cases always run on cpu targets, and on the device of GROAT_TEST_TARGET when
 * that is set.
 */
#include <math.h>

#include "tests/kernels/grid.h"
#include "tests/kernels/st_8x32_rig.h"

/* ---- known images ---------------------------------------------------------
 */

static const struct {
    int dtype, keys, depth, ld, v227, valid;
    uint32_t crc;
    uint64_t fnv;
    struct {
        int at, value;
    } bytes[3];
    struct {
        int burst, lane, lds, offset; /* burst: wave * iterations + i */
    } bursts[2];
} known[] = {
    {BF16,
     64,
     128,
     128,
     0,
     64,
     0x4ba97c02,
     0xd7bd55efc86be6a5,
     {{1024, 0xb9}, {4097, 0x2d}, {16383, 0x19}},
     {{1, 5, 8272, 8464}, {15, 63, 16368, 16368}}},
    {BF16,
     64,
     64,
     512,
     0,
     50,
     0x5b5d0650,
     0x84ac034bfa85eee6,
     {{6213, 0xa9}, {6277, 0x00}, {8191, 0x00}},
     {{1, 40, 1664, 10304}, {0, 63, 1008, 7280}}},
    {FP8,
     128,
     128,
     576,
     0,
     128,
     0x38f98411,
     0xe2aad958e7f1dcad,
     {{8191, 0x23}, {8192, 0x51}, {16383, 0xb1}},
     {{1, 40, 8832, 38080}, {15, 2, 15392, 69152}}},
    {FP8,
     128,
     128,
     128,
     1,
     128,
     0xec95a066,
     0xd8291352bd5f0835,
     {{1024, 0xee}, {1040, 0x3c}, {16623, 0xb1}},
     {{1, 5, 1120, 592}, {15, 63, 16608, 16368}}},
    {FP8,
     128,
     128,
     576,
     1,
     77,
     0x05ad1232,
     0x2c9b1c87d441b9ae,
     {{13525, 0x59}, {13653, 0x00}, {9001, 0x00}},
     {{1, 40, 1680, 21312}, {0, 63, 1008, 28336}}},
    {BF16,
     64,
     256,
     256,
     0,
     64,
     0xb6281f31,
     0xe6d3e7efdae60578,
     {{4097, 0x3b}, {8191, 0x5a}, {32767, 0x05}},
     {{1, 5, 8272, 8720}, {31, 63, 32752, 32752}}},
};

enum { KNOWN = sizeof(known) / sizeof(known[0]) };

static st_case known_case(int index)
{
    st_case t = base(IMAGE, known[index].dtype, known[index].v227);

    t.keys = known[index].keys;
    t.depth = t.cols = known[index].depth;
    t.ld = known[index].ld;
    t.warps = 8;
    t.valid = known[index].valid;
    t.row_tiles = t.col_tiles = 1;
    return t;
}

/* Checks the bursts in the first two rows of the table, for 16-byte copies. */
static void check_bursts(const st_case *t, int index)
{
    int64_t iterations = tile_bytes(t) / (1024 * t->warps);

    for (int k = 0; k < 2; k++) {
        int wave = known[index].bursts[k].burst / (int)iterations;
        int i = known[index].bursts[k].burst % (int)iterations;
        int lane = known[index].bursts[k].lane;
        int64_t voffset;
        int64_t lds;

        burst_of(t, wave, i, lane, &voffset, &lds);
        ck_assert_int_eq(voffset, known[index].bursts[k].offset);
        ck_assert_int_eq(lds, known[index].bursts[k].lds);
        ck_assert_uint_eq(trace.count[wave], iterations);
        ck_assert_uint_eq(trace.shared[wave][i][lane], lds);
        ck_assert_uint_eq(trace.source[wave][i][lane] - trace.base, voffset);
    }
}

START_TEST(known_images)
{
    st_case t = known_case(_i);
    size_t bytes = t.v227 ? V227_BYTES : (size_t)tile_bytes(&t);
    unsigned char *source = make_source(&t, false);
    unsigned char *image = take((size_t)slot_bytes(&t), 0);

    walk(&t, source, 0, 0, image);
    for (int k = 0; k < 3; k++)
        ck_assert_int_eq(image[known[_i].bytes[k].at],
                         known[_i].bytes[k].value);
    ck_assert_uint_eq(crc32_of(image, bytes), known[_i].crc);
    ck_assert_uint_eq(fnv1a_of(image, bytes), known[_i].fnv);
    free(image);
    for (size_t k = 0; k < TARGETS; k++) {
        trace.on = k == 0;
        trace.access = GROAT_ACCESS_COPY;
        image = run_with(&t, cpu_targets[k], source, NULL);
        if (k == 0)
            check_bursts(&t, _i);
        trace.on = false;
        ck_assert_uint_eq(crc32_of(image, bytes), known[_i].crc);
        ck_assert_uint_eq(fnv1a_of(image, bytes), known[_i].fnv);
        for (size_t b = bytes; b < (size_t)slot_bytes(&t); b += 4)
            ck_assert_int_eq(memcmp(image + b, "\xEE\xEE\xEE\xEE", 4), 0);
        free(image);
    }
    free(source);
}
END_TEST

/* ---- reads ----------------------------------------------------------------
 */

/* Addresses of reads of a tile of depth 128; -1: v227 does not exist for it. */
static const struct {
    int i, j, part, lane, plain, v227, key, col;
} reads[] = {
    {0, 0, 0, 0, 0, 0, 0, 0},
    {0, 0, 0, 1, 8, 8, 0, 1},
    {0, 0, 0, 2, 64, 128, 0, 2},
    {0, 0, 0, 4, 128, 2080, 0, 4},
    {0, 0, 0, 8, 1024, 4160, 0, 8},
    {0, 0, 0, 16, 16, 16, 0, 16},
    {0, 0, 0, 32, 256, 1040, 4, 0},
    {0, 0, 1, 0, 2048, 256, 16, 0},
    {0, 1, 0, 0, 32, 32, 0, 32},
    {0, 2, 0, 5, 648, 2152, 0, 69},
    {1, 0, 0, 0, 8192, 8320, 64, 0},
    {1, 3, 3, 63, 16376, 16616, 116, 127},
    {1, 2, 2, 45, 14216, 16184, 100, 77},
    {0, 3, 1, 27, 3704, 4664, 16, 123},
    {0, 0, 0, 0, 0, -1, 0, 0},
    {0, 0, 0, 1, 8, -1, 0, 1},
    {0, 0, 0, 4, 64, -1, 0, 4},
    {0, 0, 0, 16, 32, -1, 0, 16},
    {0, 0, 0, 32, 256, -1, 4, 0},
    {0, 0, 1, 0, 2048, -1, 8, 0},
    {0, 1, 0, 0, 512, -1, 0, 32},
    {1, 0, 0, 0, 4096, -1, 16, 0},
    {2, 3, 1, 37, 12104, -1, 44, 101},
    {3, 2, 0, 63, 13816, -1, 52, 95},
};

enum { READS = sizeof(reads) / sizeof(reads[0]) };

/* Checks the table against the formulas: the address, and the element of V that
 * the lane gets first. */
START_TEST(known_reads)
{
    bool wide = reads[_i].v227 < 0;
    st_case t = base(FRAGMENTS, wide ? BF16 : FP8, 0);
    int64_t part = reads[_i].part;
    int64_t lane = reads[_i].lane;
    int64_t size = 8 * parts(&t);
    int64_t fragment = reads[_i].i * t.depth / 32 + reads[_i].j;
    unsigned char *source = make_source(&t, false);
    unsigned char *slot = take(16640, 0);
    unsigned char *got = take((size_t)tile_bytes(&t), 0);

    for (t.v227 = 0; t.v227 < (wide ? 1 : 2); t.v227++) {
        int64_t first = (fragment * LANES + lane) * size + 8 * part;

        t.reader = t.v227;
        ck_assert_int_eq(read_address(&t, reads[_i].i, reads[_i].j, part, lane),
                         t.v227 ? reads[_i].v227 : reads[_i].plain);
        walk(&t, source, 0, 0, slot);
        read_back(&t, slot, got);
        ck_assert_int_eq(
            got[first],
            source[(reads[_i].key * t.ld + reads[_i].col) * elem(&t)]);
    }
    free(source);
    free(slot);
    free(got);
}
END_TEST

static const struct {
    int dtype, v227;
    unsigned reuse; /* different dwords in one bank at a time */
} layouts[] = {{BF16, 0, 1}, {F16, 0, 1}, {FP8, 0, 2}, {FP8, 1, 1}};

enum { LAYOUTS = sizeof(layouts) / sizeof(layouts[0]) };

/* The kernel's own reads on gfx950: every address, and the banks. */
START_TEST(transposing_reads)
{
    st_case t = base(FRAGMENTS, layouts[_i].dtype, layouts[_i].v227);
    size_t fragments = (size_t)(tile_bytes(&t) / (8 * parts(&t) * LANES));
    size_t reads_of_fragment = (size_t)parts(&t);

    trace.on = true;
    trace.access = GROAT_ACCESS_TRANSPOSE;
    check_case(&t, "cpu:gfx950");
    for (size_t n = 0; n < fragments * reads_of_fragment; n++) {
        size_t f = n / reads_of_fragment;
        size_t wave = f % (size_t)t.warps;
        size_t at =
            f / (size_t)t.warps * reads_of_fragment + n % reads_of_fragment;

        ck_assert_uint_lt(at, trace.count[wave]);
        for (int64_t l = 0; l < LANES; l++)
            ck_assert_int_eq(trace.shared[wave][at][l],
                             read_address(&t, (int64_t)f / (t.depth / 32),
                                          (int64_t)f % (t.depth / 32),
                                          (int64_t)(n % reads_of_fragment), l));
    }
    ck_assert_uint_eq(trace.reuse, layouts[_i].reuse);
}
END_TEST

/* Writes in one placement and reads in another.  Checks that each target's
 * kernel agrees with the oracle; returns the number of wrong bytes. */
static size_t wrong_bytes(int64_t v227, int64_t reader)
{
    st_case t = base(FRAGMENTS, FP8, v227);
    size_t bytes = (size_t)tile_bytes(&t);
    unsigned char *source = make_source(&t, false);
    unsigned char *slot = take(16640, 0);
    unsigned char *got = take(bytes, 0);
    unsigned char *want = take(bytes, 0);
    size_t wrong = 0;

    t.reader = reader;
    walk(&t, source, 0, 0, slot);
    read_back(&t, slot, got);
    fragments_of(&t, source, 0, 0, want);
    for (size_t b = 0; b < bytes; b++)
        wrong += got[b] != want[b];
    for (size_t k = 0; k < TARGETS; k++)
        check_case(&t, cpu_targets[k]);
    free(source);
    free(slot);
    free(got);
    free(want);
    return wrong;
}

START_TEST(readers_must_follow_the_placement)
{
    ck_assert_uint_eq(wrong_bytes(0, 0), 0);
    ck_assert_uint_eq(wrong_bytes(1, 1), 0);
    ck_assert_uint_gt(wrong_bytes(1, 0), 15000);
    ck_assert_uint_gt(wrong_bytes(0, 1), 15000);
}
END_TEST

/* Fragments are V's columns for every shape, and the same on every target. */
START_TEST(fragments_are_columns)
{
    static const int64_t depths[] = {64, 128, 256};
    st_case t = base(FRAGMENTS, _i / 3, 0);
    unsigned char *source;
    unsigned char *slot;
    unsigned char *got;
    unsigned char *want;

    t.depth = depths[_i % 3];
    t.cols = t.col_tiles * t.depth;
    t.ld = t.cols + 32;
    t.soffset = 3 * t.ld * elem(&t);
    source = make_source(&t, false);
    slot = take((size_t)slot_bytes(&t), 0);
    got = take((size_t)tile_bytes(&t), 0);
    want = take((size_t)tile_bytes(&t), 0);
    for (int64_t n = 0; n < t.row_tiles * t.col_tiles; n++) {
        walk(&t, source, n / t.col_tiles, n % t.col_tiles, slot);
        read_back(&t, slot, got);
        fragments_of(&t, source, n / t.col_tiles, n % t.col_tiles, want);
        ck_assert_mem_eq(got, want, (size_t)tile_bytes(&t));
    }
    for (size_t k = 0; k < TARGETS; k++)
        check_case(&t, cpu_targets[k]);
    free(source);
    free(slot);
    free(got);
    free(want);
}
END_TEST

/* ---- bounds ---------------------------------------------------------------
 */

static void check_edges(st_case t, const char *target)
{
    const int64_t row = t.ld * elem(&t);
    /* soffset: none, keys, a column, both, and columns of the next key. */
    const int64_t edge[][2] = {{0, 0},
                               {1, 0},
                               {t.keys / 2 + 1, 5 * row},
                               {t.keys - 1, 32},
                               {t.keys, 0},
                               {t.keys + 1, (t.keys + 1) * row + 16},
                               {2 * t.keys + 3, row - 64},
                               {2 * t.keys + 3, t.keys * row}};

    t.row_tiles = 2;
    for (size_t k = 0; k < sizeof(edge) / sizeof(edge[0]); k++) {
        t.valid = edge[k][0];
        t.soffset = edge[k][1];
        check_case(&t, target);
    }
}

/* _i: layout, entry, target. */
START_TEST(edges)
{
    if (is_left_out(_i))
        return;
    int layout = _i / (3 * TARGETS);
    st_case t =
        base(_i / TARGETS % 3, layouts[layout].dtype, layouts[layout].v227);

    if (t.entry == STREAM) {
        t.stages = 3;
        t.step = 1;
    }
    check_edges(t, cpu_targets[_i % TARGETS]);
}
END_TEST

/* ---- products -------------------------------------------------------------
 */

static bool multiplies(const st_case *t, const char *target)
{
    return strstr(target, "sm_") == NULL &&
           (t->dtype != FP8 || strstr(target, "gfx90a") == NULL);
}

/* Integers: exactly equal.  _i: layout, target. */
START_TEST(exact_products)
{
    static const int64_t depths[] = {64, 128, 256};
    int layout = _i / TARGETS;
    const char *target = cpu_targets[_i % TARGETS];
    st_case t = base(OUTPUT, layouts[layout].dtype, layouts[layout].v227);

    if (!multiplies(&t, target))
        return; /* refused: tests/unit/spec/test_rules.c */
    t.warps = 2;
    t.queries = 32 * t.warps + 7;
    check_case(&t, target);
    t.queries = 1;
    t.valid = 0;
    check_case(&t, target);
    t.valid = t.keys + 3;
    t.soffset = 2 * t.ld * elem(&t) + 16;
    t.row_tiles = 1;
    check_case(&t, target);
    for (int k = 0; k < 3 && !t.v227; k++) {
        t.depth = depths[k];
        t.keys = t.dtype == FP8 ? 64 : 32;
        t.cols = t.ld = t.depth;
        t.valid = 3 * t.keys - 5;
        t.row_tiles = 3;
        t.col_tiles = 1;
        t.soffset = 0;
        t.queries = 40;
        check_case(&t, target);
    }
}
END_TEST

/* ---- the driver of groat run ----------------------------------------------
 */

/* Closed forms against the walk.  _i: layout, entry. */
START_TEST(closed_forms_agree)
{
    if (is_left_out(_i))
        return;
    st_case t = base(_i % ENTRIES, layouts[_i / ENTRIES].dtype,
                     layouts[_i / ENTRIES].v227);
    const char *target = _i % 2 ? "cpu:gfx950" : "cpu:gfx942";
    unsigned char *source;
    unsigned char *weights;
    unsigned char *want;
    size_t weight_bytes;
    drive d;

    t.soffset = 3 * t.ld * elem(&t) + 32;
    st_open(&d, &t, target);
    source = make_source(&t, has_fnuz(target));
    weights = make_weights(&t, has_fnuz(target), &weight_bytes);
    memcpy(d.host[0], source, (size_t)records(&t));
    if (t.entry == OUTPUT) {
        ck_assert_uint_eq(d.plan.buffers[1].bytes, weight_bytes);
        memcpy(d.host[1], weights, weight_bytes);
    }
    want = expected(&t, source);
    drive_expect(&d);
    drive_ck_same(&d, "the closed form", d.want[d.output], want,
                  output_size(&t));
    drive_close(&d);
    free(source);
    free(weights);
    free(want);
}
END_TEST

/* Counts the random products of a spec that are outside the driver's bound,
 * which itself must be small. */
static size_t out_of_bound(const st_case *t, const char *target)
{
    size_t count = output_size(t) / sizeof(float);
    const float *allowed;
    const float *want;
    const float *got;
    float most = 0;
    bool small = true;
    size_t wrong = 0;
    drive d;

    st_open(&d, t, target);
    drive_fill(&d, 7);
    drive_run(&d);
    drive_expect(&d);
    want = d.want[2];
    allowed = d.allowed[2];
    got = d.host[2];
    ck_assert_ptr_nonnull(allowed);
    for (size_t i = 0; i < count; i++)
        most = fmaxf(most, fabsf(want[i]));
    for (size_t i = 0; i < count; i++) {
        small = small && allowed[i] >= 0 && allowed[i] < 1e-3f * most;
        wrong += !(fabsf(want[i] - got[i]) <= allowed[i]);
    }
    ck_assert(small);
    drive_close(&d);
    return wrong;
}

/* _i: layout, target. */
START_TEST(random_products)
{
    if (is_left_out(_i))
        return;
    const char *target = cpu_targets[_i % TARGETS];
    int layout = _i / TARGETS;
    st_case t = base(OUTPUT, layouts[layout].dtype, layouts[layout].v227);

    if (!multiplies(&t, target))
        return;
    t.warps = 1;
    t.queries = 32;
    ck_assert_uint_eq(out_of_bound(&t, target), 0);
    if (t.dtype != FP8)
        return;
    t.reader = !t.v227; /* no element of V is where the reader expects it */
    ck_assert_uint_gt(out_of_bound(&t, target), output_size(&t) / 8);
}
END_TEST

static void ck_refused(const st_case *t, const char *words)
{
    int64_t values[GROAT_DRIVER_ARGS];
    char text[400];

    spec_of(t, text, sizeof(text));
    st_values(t, values);
    drive_ck_refused(drive_context, &groat_driver_subtile_loader_st_8x32, text,
                     values, words);
}

START_TEST(launches_are_refused)
{
    st_case t = base(OUTPUT, BF16, 0);
    st_case wrong = t;

    wrong.soffset = 8;
    ck_refused(&wrong, "soffset is 8; it must be a multiple of 16");
    wrong.soffset = 0x7ffffff0;
    ck_refused(&wrong, "offsets are 32-bit");
    wrong.soffset = t.ld * 2 - 32;
    ck_refused(&wrong, "the last that a tile may start at is 160");
    wrong.soffset = t.ld * 2 + 128;
    ck_refused(&wrong, "it may not pass src_cols, which is 288");
    wrong = t;
    wrong.row_tiles = 1 << 30;
    wrong.col_tiles = 2;
    ck_refused(&wrong, "the blocks of a grid are at most");
    wrong = t;
    wrong.row_tiles = 1 << 20;
    ck_refused(&wrong, "the size of P per head");
}
END_TEST

/* ---- specs of params.def --------------------------------------------------
 */

static st_case case_of(groat_spec *spec)
{
    st_case t = {0};
    int64_t constants[11];

    drive_read(spec,
               "entry dtype tile_keys depth src_cols ld num_warps placement "
               "reader stages slot_bytes",
               constants);
    memcpy(&t, constants, sizeof(constants));
    t.row_tiles = t.entry == STREAM ? t.stages + 1 : 2;
    t.col_tiles = t.cols / t.depth < 2 ? 1 : 2;
    t.step = 1;
    t.valid = (t.row_tiles - 1) * t.keys + t.keys / 2 + 1;
    t.queries = 33;
    return t;
}

/* Cases that take little time and that the oracle can compute: no product with
 * a reader of another placement. */
static bool fits(groat_spec *spec)
{
    st_case t = case_of(spec);

    if (t.entry == OUTPUT &&
        (t.reader != t.v227 || tile_bytes(&t) * t.warps > 128 << 10))
        return false;
    return (t.row_tiles + 1) * t.keys * t.ld * elem(&t) <= 16 << 20;
}

/* Three launches: two tiles below each other, the last columns from another key
 * on, and no valid key. */
static size_t check_spec(groat_spec *spec, void *user)
{
    const char *target = groat_spec_target(spec);
    st_case t = case_of(spec);

    (void)user;
    check_case(&t, target);
    t.row_tiles = t.col_tiles = 1;
    t.valid = t.keys;
    t.soffset = (2 * t.ld + t.cols - t.depth) * elem(&t) & ~15;
    check_case(&t, target);
    t.valid = 0;
    check_case(&t, target);
    return 3;
}

static void open_grid(grid *g)
{
    grid_open(g, drive_context, "subtile_loader_st_8x32",
              drive_number("GROAT_TEST_SEED", 20261121));
    g->fits = fits;
}

/* Runs the case if the rules accept it. */
static bool check_if_legal(const st_case *t, const char *target)
{
    char text[400];

    spec_of(t, text, sizeof(text));
    if (!drive_allows(drive_context, text, target))
        return false;
    check_case(t, target);
    return true;
}

START_TEST(every_number_of_waves)
{
    for (int64_t warps = 1; warps <= 16; warps++) {
        st_case t = base(warps % 3, warps % 2 ? BF16 : FP8, 0);

        t.warps = warps;
        t.depth = 64;
        t.keys = 16 * warps;
        if (t.entry == FRAGMENTS && t.dtype == FP8)
            t.keys = 64 * warps;
        ck_assert(check_if_legal(&t, cpu_targets[_i]));
        t = base(FRAGMENTS, FP8, 1);
        t.warps = warps;
        ck_assert_int_eq(check_if_legal(&t, cpu_targets[_i]), 16 % warps == 0);
    }
}
END_TEST

START_TEST(every_number_of_stages)
{
    for (int64_t v227 = 0; v227 < 2; v227++)
        for (int64_t stages = 1; stages <= 8; stages++) {
            bool fits = _i == 0 || _i == 3 || stages <= 3;
            st_case t = base(STREAM, FP8, v227);

            t.stages = stages;
            t.warps = 8;
            t.step = 1;
            t.col_tiles = 1;
            t.row_tiles = stages + 2;
            t.valid = t.row_tiles * t.keys - 9;
            if (stages == 4 && !v227)
                fits = true; /* to the last byte of 64 KiB */
            ck_assert_int_eq(check_if_legal(&t, cpu_targets[_i]), fits);
        }
}
END_TEST

/* Sixteen values of each range from end to end: keys and slots of one tile,
 * columns and strides of another. */
START_TEST(ranges)
{
    st_case t = base(IMAGE, BF16, 0);
    const char *target;

    t.keys = 8 + 8 * (_i * 453 / 15);
    t.depth = t.cols = t.ld = 64;
    t.row_tiles = t.col_tiles = t.warps = 1;
    t.valid = t.keys - 1;
    if (tile_bytes(&t) > 227 << 10) {
        t.dtype = FP8;
        t.keys = t.keys / 16 * 16;
    }
    t.slot =
        tile_bytes(&t) + ((227 << 10) - tile_bytes(&t)) * _i / 15 / 16 * 16;
    target = slot_bytes(&t) <= 64 << 10    ? cpu_targets[_i % TARGETS]
             : slot_bytes(&t) <= 160 << 10 ? "cpu:gfx950"
                                           : "cpu:sm_90a";
    ck_assert(check_if_legal(&t, target));
    t = base(_i % 3, BF16, 0);
    t.depth = (int64_t)64 << _i % 3;
    t.warps = 1;
    t.keys = 16;
    t.ld = t.depth + 8 * ((65536 - t.depth) / 8 * _i / 15);
    t.cols = t.depth + (t.ld - t.depth) * (15 - _i) / 15 / 8 * 8;
    if (_i >= 14)
        t.cols = t.ld;
    t.col_tiles = t.cols / t.depth < 3 ? 1 : 3;
    t.valid = t.keys + 3;
    ck_assert(check_if_legal(&t, cpu_targets[_i / 4]));
}
END_TEST

START_TEST(random_specs)
{
    grid g;

    open_grid(&g);
    grid_run_random(&g, cpu_targets, TARGETS,
                    drive_number("GROAT_TEST_SPECS", 8), check_spec, NULL);
    grid_close(&g);
}
END_TEST

/* ---- a device, where one is named -----------------------------------------
 */

START_TEST(edges_on_device)
{
    const char *target = getenv("GROAT_TEST_TARGET");
    int layout = _i / ENTRIES;
    st_case t = base(_i % ENTRIES, layouts[layout].dtype, layouts[layout].v227);

    if (target == NULL)
        return; /* main leaves this test out then */
    if (t.entry != OUTPUT)
        check_edges(t, target);
    else if (multiplies(&t, target))
        check_case(&t, target);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("subtile_loader_st_8x32");
    TCase *tests = tcase_create("st_8x32");

    tcase_set_timeout(tests,
                      600 + 2 * (double)drive_number("GROAT_TEST_SPECS", 0));
    tcase_add_checked_fixture(tests, trace_setup, drive_teardown);
    tcase_add_loop_test(tests, known_images, 0, KNOWN);
    tcase_add_loop_test(tests, known_reads, 0, READS);
    tcase_add_loop_test(tests, transposing_reads, 0, LAYOUTS);
    tcase_add_test(tests, readers_must_follow_the_placement);
    tcase_add_loop_test(tests, fragments_are_columns, 0, 9);
    tcase_add_loop_test(tests, edges, 0, LAYOUTS * 3 * TARGETS);
    tcase_add_loop_test(tests, exact_products, 0, LAYOUTS * TARGETS);
    tcase_add_loop_test(tests, closed_forms_agree, 0, LAYOUTS * ENTRIES);
    tcase_add_loop_test(tests, random_products, 0, LAYOUTS * TARGETS);
    tcase_add_test(tests, launches_are_refused);
    tcase_add_loop_test(tests, every_number_of_waves, 0, TARGETS);
    tcase_add_loop_test(tests, every_number_of_stages, 0, TARGETS);
    tcase_add_loop_test(tests, ranges, 0, 16);
    tcase_add_test(tests, random_specs);
    if (getenv("GROAT_TEST_TARGET") != NULL)
        tcase_add_loop_test(tests, edges_on_device, 0, LAYOUTS * ENTRIES);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return drive_main(make_suite());
}
