/* SPDX-License-Identifier: Apache-2.0
 *
 * kv_suite.c holds kv_buffer_lds and kv_buffer_reg against the walk of
 * kv_rig.c: known images, every value of every parameter, every swizzle there
 * is, partial and empty key blocks, random legal specs, the addresses at which
 * fragments are read, and products against integers and against float64.
 *
 * Cases run on cpu targets always and on the device of GROAT_TEST_TARGET when
 * that is set.
 */
#include "tests/unit/suite.h"
#include "tests/kernels/kv_suite.h"

#include <math.h>

const char *const kv_targets[3] = {"cpu:gfx950", "cpu:gfx90a", "cpu:sm_90a"};

/* Those with matrix instructions. */
static const char *const amd_targets[] = {"cpu:gfx950", "cpu:gfx90a",
                                          "cpu:gfx942"};

static groat_context *context;

static void setup(void)
{
    context = kv_open(NULL, NULL);
}

static void teardown(void)
{
    groat_close(context);
    context = NULL;
}

static bool has_wide_mma(const char *target)
{
    return strstr(target, "gfx90a") == NULL && strstr(target, "gfx942") == NULL;
}

kv_case kv_on(const kv_case *t, const char *target)
{
    kv_case on = *t;

    if (!has_wide_mma(target))
        on.mma_bytes = 8;
    return on;
}

/* ---- known images ------------------------------------------------------- */

const kv_known kv_known_tiles[KV_KNOWN] = {
    {"KV-A",
     {0, 128, 32, 32, 128, 128, 128, 4, 32, 16, 0, 0, 0, 128, 0, 0, 0},
     0x01a5ba84,
     0xd195d8db19c6051a,
     {{0, 0xc3},
      {15, 0x9c},
      {16, 0x22},
      {64, 0x61},
      {528, 0x14},
      {1023, 0xfd},
      {1024, 0xa7},
      {1555, 0x89},
      {2047, 0xe1},
      {2048, 0x8a},
      {3333, 0x84},
      {4103, 0xfb},
      {8191, 0x36}},
     {{0, 0, 0, 0, 0},
      {0, 1, 0, 0, 16},
      {0, 17, 0, 0, 1040},
      {0, 63, 0, 0, 3888},
      {1, 5, 1024, 4096, 272},
      {1, 40, 1024, 4096, 2560},
      {7, 2, 7168, 28672, 32},
      {7, 63, 7168, 28672, 3888}}},
    {"KV-B",
     {0, 128, 32, 32, 128, 1024, 1024, 4, 32, 16, 3, 0, 4, 100, 0, 0, 2},
     0x1f1a9333,
     0x0b8041273eea914e,
     {{0, 0xb9},
      {15, 0x92},
      {16, 0x18},
      {64, 0x57},
      {528, 0xc7},
      {1023, 0xd7},
      {1024, 0x3b},
      {1555, 0xda},
      {2047, 0x1c},
      {2048, 0x80},
      {3333, 0x77},
      {4103, 0xf0},
      {6405, 0x00},
      {8191, 0x00}},
     {{0, 0, 0, 128, 0},
      {0, 1, 0, 128, 16},
      {0, 17, 0, 128, 8192},
      {0, 63, 0, 128, 30720},
      {1, 5, 1024, 32896, 16},
      {1, 40, 1024, 32896, 22560},
      {7, 2, 7168, 229504, 2080},
      {7, 63, 7168, 229504, 28672}}},
    {"KV-C",
     {0, 64, 32, 32, 64, 256, 256, 2, 16, 16, 2, 0, 2, 64, 0, 0, 1},
     0x9058c405,
     0xf7b17e09eae3f176,
     {{0, 0x3e},
      {15, 0x17},
      {16, 0x9d},
      {64, 0x3b},
      {528, 0x8f},
      {1023, 0x5c},
      {1024, 0x22},
      {1555, 0x04},
      {2047, 0x40},
      {2048, 0x05},
      {2055, 0xaf},
      {3333, 0xff},
      {4095, 0x07}},
     {{0, 0, 0, 64, 0},
      {0, 1, 0, 64, 16},
      {0, 17, 0, 64, 2064},
      {0, 63, 0, 64, 7680},
      {1, 5, 1024, 8256, 512},
      {1, 40, 1024, 8256, 5152},
      {3, 2, 3072, 24640, 32},
      {3, 63, 3072, 24640, 7680}}},
    {"KV-V",
     {1, 128, 32, 32, 128, 256, 256, 4, 32, 16, 3, 0, 4, 60, 0, 0, 1},
     0xa1623f75,
     0xb22a0a660bb78e25,
     {{0, 0x8a},
      {15, 0x63},
      {16, 0xe9},
      {64, 0x28},
      {528, 0x98},
      {1023, 0xa8},
      {1024, 0x0c},
      {1555, 0xac},
      {2047, 0x00},
      {2048, 0x05},
      {3333, 0xfc},
      {4103, 0x29},
      {8191, 0x00}},
     {{0, 0, 0, 16384, 0},
      {0, 1, 0, 16384, 16},
      {0, 17, 0, 16384, 2048},
      {0, 63, 0, 16384, 7680},
      {1, 5, 1024, 24576, 16},
      {1, 40, 1024, 24576, 5664},
      {7, 2, 7168, 24768, 544},
      {7, 63, 7168, 24768, 7168}}},
};

START_TEST(known_images)
{
    const kv_known *known = &kv_known_tiles[_i];
    size_t bytes = (size_t)kv_tile_bytes(&known->t);
    unsigned char *image = malloc(bytes);
    kv_burst bursts[8];

    ck_assert_ptr_nonnull(image);
    ck_assert_uint_eq(kv_walk(&known->t, image, bursts), bytes / BURST);
    for (size_t n = 0; n < COUNT(known->bytes); n++)
        if (n == 0 || known->bytes[n].at != 0)
            ck_assert_int_eq(image[known->bytes[n].at], known->bytes[n].value);
    for (size_t n = 0; n < COUNT(known->bursts); n++) {
        const kv_burst *b = &bursts[known->bursts[n].burst];

        ck_assert_int_eq(b->m0, known->bursts[n].m0);
        ck_assert_int_eq(b->soffset, known->bursts[n].soffset);
        ck_assert_int_eq(b->voffset[known->bursts[n].lane],
                         known->bursts[n].voffset);
    }
    ck_assert_uint_eq(kv_crc32(image, bytes), known->crc);
    ck_assert_uint_eq(kv_fnv1a(image, bytes), known->fnv);
    for (size_t k = 0; k < COUNT(kv_targets); k++) {
        kv_case t = kv_on(&known->t, kv_targets[k]);
        char spec[400];

        kv_spec(kv_family, "image", &t, spec, sizeof(spec));
        kv_run(context, spec, kv_targets[k], &t, 1, 1, image, bytes);
        ck_assert_uint_eq(kv_crc32(image, bytes), known->crc);
        ck_assert_uint_eq(kv_fnv1a(image, bytes), known->fnv);
    }
    free(image);
}
END_TEST

/* ---- images and fragments of whole slabs -------------------------------- */

/* Image or fragments of all tiles of all key blocks against the walk; the last
 * key block holds few rows or none. */
static void check_entry(const kv_case *t, const char *target, bool image)
{
    int64_t steps = kv_steps(t);
    int64_t blocks = t->rows / t->BN + 1;
    size_t tile = (size_t)kv_tile_bytes(t);
    size_t each = image ? tile : (size_t)kv_fragment_bytes(t);
    size_t tiles = (size_t)(blocks * steps);
    unsigned char *got = malloc(tiles * each);
    unsigned char *lds = malloc(tile);
    unsigned char *want = malloc(each);
    char spec[400];

    ck_assert(got != NULL && lds != NULL && want != NULL);
    kv_spec(kv_family, image ? "image" : "fragments", t, spec, sizeof(spec));
    kv_run(context, spec, target, t, blocks, steps, got, tiles * each);
    for (size_t n = 0; n < tiles; n++) {
        kv_case at = *t;

        at.first_row += (int64_t)n / steps * t->BN;
        at.tile = (int64_t)n % steps;
        kv_walk(&at, lds, NULL);
        if (image)
            memcpy(want, lds, tile);
        else
            kv_read_fragments(&at, lds, want);
        for (size_t b = 0; b < each; b++)
            ck_assert_msg(got[n * each + b] == want[b],
                          "%s on %s, %d rows: byte %zu of tile %zu is 0x%02x, "
                          "not 0x%02x",
                          spec, target, (int)t->rows, b, n, got[n * each + b],
                          want[b]);
    }
    free(got);
    free(lds);
    free(want);
}

static void check_slab(const kv_case *t, const char *target)
{
    check_entry(t, target, true);
    check_entry(t, target, false);
}

/* No row, one less than a key block, and what ends inside a later one. */
static void check_edges(kv_case t, const char *target)
{
    const int64_t rows[] = {0, t.BN - 1, t.BN + 1, 2 * t.BN + t.BN / 2 + 1};

    for (size_t k = 0; k < COUNT(rows); k++) {
        t.rows = rows[k];
        t.first_row = k % 2 == 0 ? 0 : 3;
        t.first_col = k % 2 == 0 ? 0 : (t.src_cols - t.depth) / 8 * 8;
        check_slab(&t, target);
    }
}

/* Each parameter takes each of its values, or the least, the largest and odd
 * ones of many. */
static const kv_case grid[] = {
    /* role K: BN, BK, WN */
    {0, 128, 32, 32, 128, 128, 128, 4, 32, 16, 0, 0, 0, 0, 0, 0, 0},
    {0, 32, 32, 32, 32, 32, 32, 1, 32, 16, 0, 0, 0, 0, 0, 0, 0},
    {0, 64, 64, 16, 64, 192, 200, 4, 16, 16, 3, 0, 4, 0, 0, 0, 0},
    {0, 64, 64, 32, 64, 72, 72, 2, 32, 16, 3, 0, 4, 0, 0, 0, 0},
    {0, 64, 128, 64, 128, 256, 264, 8, 32, 16, 2, 0, 2, 0, 0, 0, 0},
    {0, 96, 32, 32, 96, 96, 96, 3, 32, 8, 3, 0, 4, 0, 0, 0, 0},
    {0, 96, 64, 48, 128, 128, 136, 6, 16, 8, 2, 0, 2, 0, 0, 0, 0},
    {0, 160, 32, 160, 32, 576, 576, 5, 32, 16, 1, 3, 3, 0, 0, 0, 0},
    {0, 256, 32, 64, 128, 128, 128, 4, 32, 16, 0, 0, 0, 0, 0, 0, 0},
    {0, 512, 32, 512, 32, 32, 40, 16, 16, 16, 3, 1, 3, 0, 0, 0, 0},
    /* depth, several waves with the same part */
    {0, 64, 64, 64, 576, 576, 576, 4, 32, 8, 3, 0, 3, 0, 0, 0, 0},
    {0, 32, 64, 16, 1024, 1024, 1024, 2, 16, 8, 2, 2, 3, 0, 0, 0, 0},
    {0, 64, 128, 32, 256, 512, 520, 4, 16, 16, 0, 0, 0, 0, 0, 0, 0},
    /* role V */
    {1, 128, 32, 32, 128, 256, 256, 4, 32, 16, 3, 0, 4, 0, 0, 0, 0},
    {1, 32, 32, 32, 32, 32, 32, 1, 32, 16, 0, 0, 0, 0, 0, 0, 0},
    {1, 64, 64, 32, 64, 72, 72, 4, 32, 8, 3, 0, 4, 0, 0, 0, 0},
    {1, 128, 128, 128, 64, 64, 64, 8, 32, 16, 2, 0, 2, 0, 0, 0, 0},
    {1, 64, 64, 16, 64, 192, 200, 4, 16, 16, 3, 0, 4, 0, 0, 0, 0},
    {1, 128, 64, 64, 96, 96, 96, 2, 16, 8, 2, 1, 2, 0, 0, 0, 0},
    {1, 96, 32, 96, 96, 96, 120, 3, 32, 8, 0, 0, 0, 0, 0, 0, 0},
    {1, 160, 32, 80, 320, 320, 320, 10, 16, 16, 1, 5, 1, 0, 0, 0, 0},
    {1, 256, 64, 64, 256, 512, 512, 16, 32, 16, 3, 1, 3, 0, 0, 0, 0},
    {1, 64, 32, 64, 576, 576, 576, 6, 32, 16, 2, 0, -3, 0, 0, 0, 0},
    {1, 32, 32, 16, 512, 512, 520, 2, 16, 8, 1, 0, -5, 0, 0, 0, 0},
};

static void drive(const kv_case *t, const char *entry, const char *target,
                  int64_t heads)
{
    int64_t values[GROAT_DRIVER_ARGS];
    driven d;
    char spec[400];

    kv_spec(kv_family, entry, t, spec, sizeof(spec));
    drive_defaults(kv_family_driver, values);
    values[drive_argument(kv_family_driver, "valid_rows")] = t->rows;
    values[drive_argument(kv_family_driver, "first_row")] = t->first_row;
    values[drive_argument(kv_family_driver, "heads")] = heads;
    if (heads > 0)
        values[drive_argument(kv_family_driver, "block_step")] = 5;
    drive_run(context, kv_family_driver, spec, target, values, 77, &d);
    ck_assert_msg(memcmp(d.buffers[1], d.want, d.plan.buffers[1].bytes) == 0,
                  "%s on %s", spec, target);
    drive_free(&d);
}

/* The closed forms of the driver against what kernels make of random bytes;
 * sums over one head and over all, blocks that share tiles unevenly. */
static void check_driver(kv_case t, const char *target, bool all)
{
    t.rows = 2 * t.BN + t.BN / 2 + 1;
    t.first_row = 1;
    drive(&t, "stream", target, -1);
    if (!all)
        return;
    drive(&t, "stream", target, 1);
    drive(&t, "image", target, -1);
    drive(&t, "fragments", target, -1);
}

/* Each case on all targets, on one of them with all edges. */
START_TEST(grid_on_cpu)
{
    if (is_left_out(_i))
        return;
    for (size_t k = 0; k < COUNT(kv_targets); k++) {
        kv_case t = kv_on(&grid[_i], kv_targets[k]);

        t.rows = t.BN + t.BN / 2 + 1;
        if (k == (size_t)_i % 3)
            check_edges(t, kv_targets[k]);
        else
            check_slab(&t, kv_targets[k]);
        check_driver(t, kv_targets[k], k == (size_t)_i % 3);
    }
}
END_TEST

/* ---- swizzles ----------------------------------------------------------- */

/* Every swizzle that the rules allow, and none that they should not. */
START_TEST(every_swizzle)
{
    int legal = 0;

    for (int64_t bits = 1; bits <= 6; bits++)
        for (int64_t base = 0; base <= 6; base++)
            for (int64_t shift = -7; shift <= 7; shift++) {
                kv_case t = grid[_i == 0 ? 2 : 15];
                const char *target = kv_targets[legal % 3];
                int64_t to = base + (shift < 0 ? -shift : 0) + bits;
                int64_t from = base + (shift > 0 ? shift : 0) + bits;
                bool want = (shift < 0 ? -shift : shift) >= bits && to <= 6 &&
                            from <= 7;
                groat_spec *spec = NULL;
                char text[400];

                t.bits = bits;
                t.base = base;
                t.shift = shift;
                t.rows = t.BN + 5;
                t = kv_on(&t, target);
                kv_spec(kv_family, "image", &t, text, sizeof(text));
                ck_assert_msg((groat_spec_parse(context, text, target, &spec,
                                                NULL) == GROAT_OK) == want,
                              "%s", text);
                groat_spec_free(spec);
                if (!want)
                    continue;
                check_entry(&t, target, false);
                if (!t.is_v)
                    check_entry(&t, target, true);
                legal++;
            }
    /* 34 from high to low, 22 from low to high */
    ck_assert_int_eq(legal, 56);
}
END_TEST

/* ---- where fragments are read ------------------------------------------- */

typedef struct tape {
    struct {
        groat_access access;
        unsigned wave;
        uint32_t shared[LANES];
    } events[256];
    size_t count;
} tape;

static void record_read(void *user, const groat_trace *event)
{
    tape *to = user;

    if (event->access != GROAT_ACCESS_READ &&
        event->access != GROAT_ACCESS_TRANSPOSE)
        return;
    ck_assert_uint_lt(to->count, COUNT(to->events));
    ck_assert_uint_eq(event->lanes, LANES);
    to->events[to->count].access = event->access;
    to->events[to->count].wave = event->wave;
    memcpy(to->events[to->count++].shared, event->shared,
           sizeof(event->shared[0]) * LANES);
}

/* Reads of one launch of the fragments entry on gfx950, in order. */
static void record(const kv_case *t, tape *to)
{
    groat_context *traced = kv_open(record_read, to);
    size_t bytes = (size_t)kv_fragment_bytes(t);
    unsigned char *out = malloc(bytes);
    char spec[400];

    to->count = 0;
    ck_assert_ptr_nonnull(out);
    kv_spec(kv_family, "fragments", t, spec, sizeof(spec));
    kv_run(traced, spec, "cpu:gfx950", t, 1, 1, out, bytes);
    free(out);
    groat_close(traced);
}

/* The n-th read of a wave. */
static const uint32_t *read_of(const tape *from, unsigned wave, size_t n)
{
    for (size_t i = 0; i < from->count; i++)
        if (from->events[i].wave == wave && n-- == 0)
            return from->events[i].shared;
    ck_abort_msg("wave %u has fewer reads", wave);
    return NULL;
}

START_TEST(key_addresses)
{
    static const struct {
        int k, lane;
        uint32_t address;
    } known[] = {{0, 0, 0},   {0, 4, 272}, {0, 16, 1088}, {0, 31, 1968},
                 {0, 32, 16}, {1, 0, 32},  {1, 47, 960},  {1, 63, 1920}};
    const kv_case t = {0,  64, 32, 32, 64, 64, 64, 2, 32,
                       16, 3,  0,  4,  64, 0,  0,  0};
    static tape reads;

    record(&t, &reads);
    ck_assert_uint_eq(reads.count, 2 * 2);
    for (size_t n = 0; n < COUNT(known); n++) {
        ck_assert_uint_eq(read_of(&reads, 0, (size_t)known[n].k)[known[n].lane],
                          known[n].address);
        ck_assert_int_eq(kv_key_address(&t, 0, known[n].k, 0, known[n].lane),
                         known[n].address);
    }
    for (unsigned wave = 0; wave < 2; wave++)
        for (int k = 0; k < 2; k++)
            for (int lane = 0; lane < LANES; lane++)
                ck_assert_int_eq(read_of(&reads, wave, (size_t)k)[lane],
                                 kv_key_address(&t, wave, k, 0, lane));
}
END_TEST

START_TEST(value_addresses)
{
    static const kv_case cases[] = {
        {1, 128, 32, 32, 128, 128, 128, 4, 32, 16, 3, 0, 4, 128, 0, 0, 0},
        {1, 64, 64, 32, 128, 128, 128, 2, 32, 16, 0, 0, 0, 64, 0, 0, 0},
        {1, 64, 64, 32, 64, 64, 64, 2, 16, 16, 2, 0, 2, 64, 0, 0, 0},
    };
    const kv_case *t = &cases[_i];
    static tape reads;

    record(t, &reads);
    ck_assert_uint_eq(reads.count,
                      (size_t)(2 * t->warps * kv_strips(t) * kv_mmas(t)));
    for (int64_t n = 0; n < kv_strips(t) * kv_mmas(t) * 2; n++)
        for (unsigned wave = 0; wave < (unsigned)t->warps; wave++)
            for (int lane = 0; lane < LANES; lane++)
                ck_assert_int_eq(read_of(&reads, wave, (size_t)n)[lane],
                                 kv_value_address(t, wave, n / 2 / kv_mmas(t),
                                                  n / 2 % kv_mmas(t), n % 2,
                                                  lane));
}
END_TEST

/* ---- products ----------------------------------------------------------- */

/* -3 .. 3 in 16 bits, without a conversion. */
static int whole(bool f16, uint16_t bits)
{
    static const uint16_t bf16_of[] = {0x0000, 0x3f80, 0x4000, 0x4040};
    static const uint16_t f16_of[] = {0x0000, 0x3c00, 0x4000, 0x4200};

    for (int n = 0; n < 4; n++)
        if ((bits & 0x7fff) == (f16 ? f16_of[n] : bf16_of[n]))
            return bits & 0x8000 ? -n : n;
    ck_abort_msg("0x%04x is no whole number from -3 to 3", bits);
    return 0;
}

/* S or O from the driver's input, in integers. */
static void check_integers(const kv_case *t, const driven *d, bool f16)
{
    const uint16_t *slab = d->buffers[0];
    const uint16_t *operand = d->buffers[1];
    const float *got = d->buffers[2];
    int64_t queries =
        (int64_t)d->plan.values[drive_argument(kv_family_driver, "queries")];
    int64_t keys =
        d->plan.values[drive_argument(kv_family_driver, "key_blocks")] * t->BN;
    int64_t width = t->is_v ? t->depth : keys;
    int64_t terms = t->is_v ? keys : t->depth;

    ck_assert_uint_eq(d->plan.buffers[2].bytes, (size_t)(queries * width * 4));
    for (int64_t q = 0; q < queries; q++)
        for (int64_t n = 0; n < width; n++) {
            int64_t sum = 0;

            for (int64_t k = 0; k < terms; k++) {
                int64_t row = t->first_row + (t->is_v ? k : n);
                int64_t col = t->first_col + (t->is_v ? n : k);

                if (row < t->rows)
                    sum += whole(f16, operand[q * terms + k]) *
                           whole(f16, slab[row * t->ld + col]);
            }
            ck_assert_msg(got[q * width + n] == (float)sum,
                          "row %d of %d, number %d is %g, not %d", (int)q,
                          (int)queries, (int)n, (double)got[q * width + n],
                          (int)sum);
        }
}

static void check_product(const kv_case *t, const char *target, bool f16,
                          bool real, uint64_t seed)
{
    const char *entry = t->is_v ? "output" : "scores";
    int64_t values[GROAT_DRIVER_ARGS];
    driven d;
    char spec[440];

    kv_spec(kv_family, entry, t, spec, sizeof(spec));
    (void)snprintf(spec + strlen(spec), sizeof(spec) - strlen(spec),
                   ",dtype=%s", f16 ? "f16" : "bf16");
    drive_defaults(kv_family_driver, values);
    values[drive_argument(kv_family_driver, "valid_rows")] = t->rows;
    values[drive_argument(kv_family_driver, "first_row")] = t->first_row;
    values[drive_argument(kv_family_driver, "first_col")] = t->first_col;
    values[drive_argument(kv_family_driver, "real")] = real;
    if (seed % 2 != 0)
        values[drive_argument(kv_family_driver, "queries")] =
            1 + (int64_t)(seed % 5) * 9;
    drive_run(context, kv_family_driver, spec, target, values, seed, &d);
    ck_assert_int_eq(d.allowed != NULL, real);
    ck_assert_msg(kv_wrong_float(&d) == SIZE_MAX,
                  "%s on %s: number %zu is %g, not %g", spec, target,
                  kv_wrong_float(&d),
                  (double)((float *)d.buffers[2])[kv_wrong_float(&d)],
                  (double)((float *)d.want)[kv_wrong_float(&d)]);
    if (!real)
        check_integers(t, &d, f16);
    drive_free(&d);
}

/* Products cost more than copies: the smaller cases, each number type. */
START_TEST(products)
{
    if (is_left_out(_i))
        return;
    static const int cases[] = {0, 2, 3, 5, 6, 8, 13, 15, 17, 18, 19, 24 - 1};
    kv_case t = grid[cases[_i]];

    t.first_row = 3;
    t.first_col = (t.src_cols - t.depth) / 8 * 8;
    t.rows = t.BN + t.BN / 2 + 4;
    for (size_t k = 0; k < COUNT(amd_targets); k++) {
        kv_case on = kv_on(&t, amd_targets[k]);

        check_product(&on, amd_targets[k], false, false, 4);
        check_product(&on, amd_targets[k], true, false, 5);
        check_product(&on, amd_targets[k], false, true, 6);
        check_product(&on, amd_targets[k], true, true, 7);
    }
    t.rows = 0;
    t = kv_on(&t, amd_targets[_i % 3]);
    check_product(&t, amd_targets[_i % 3], false, false, 8);
}
END_TEST

/* A number that is off by more than the bound is seen. */
START_TEST(the_bound_is_tight)
{
    kv_case t = grid[0];
    int64_t values[GROAT_DRIVER_ARGS];
    double worst = 0;
    driven d;
    char spec[400];

    kv_spec(kv_family, "scores", &t, spec, sizeof(spec));
    drive_defaults(kv_family_driver, values);
    values[drive_argument(kv_family_driver, "real")] = 1;
    drive_run(context, kv_family_driver, spec, "cpu:gfx950", values, 1, &d);
    ck_assert_uint_eq(kv_wrong_float(&d), SIZE_MAX);
    for (size_t i = 0; i < d.plan.buffers[2].bytes / sizeof(float); i++) {
        double off = fabs((double)((float *)d.buffers[2])[i] -
                          (double)((float *)d.want)[i]);

        worst = off > worst ? off : worst;
        ck_assert(d.allowed[i] < 0x1p-9);
    }
    ck_assert(worst > 0);
    ((float *)d.buffers[2])[7] += 2 * d.allowed[7];
    ck_assert_uint_eq(kv_wrong_float(&d), 7);
    drive_free(&d);
}
END_TEST

/* ---- random legal specs ------------------------------------------------- */

static uint64_t random_state;

static int64_t pick(int64_t below)
{
    uint64_t z = (random_state += 0x9E3779B97F4A7C15u);

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (int64_t)((z ^ (z >> 31)) % (uint64_t)below);
}

static kv_case random_case(void)
{
    kv_case t = {0};

    t.is_v = pick(2);
    t.BN = 32 * (1 + pick(8));
    t.BK = (int64_t)32 << pick(3);
    t.WN = 16 * (1 + pick(8));
    t.depth = 32 * (1 + pick(8));
    t.src_cols = t.depth + 8 * pick(20);
    t.ld = t.src_cols + 8 * pick(4);
    t.warps = 1 + pick(12);
    t.mma_n = 16 << pick(2);
    t.mma_bytes = 8 << pick(2);
    if (pick(4) != 0) {
        t.bits = 1 + pick(3);
        t.base = pick(4);
        t.shift = t.bits + pick(3);
        if (pick(4) == 0)
            t.shift = -t.shift;
    }
    t.rows = pick(3 * t.BN + 10);
    t.first_row = pick(t.BN);
    t.first_col = pick((t.src_cols - t.depth) / 8 + 1) * 8;
    return t;
}

/* Draws until the rules say yes; a spec they accept must be right. */
START_TEST(random_specs)
{
    if (is_left_out(_i))
        return;
    int legal = 0;

    random_state = 20260000u + (uint64_t)_i;
    for (int draws = 0; legal < 8; draws++) {
        kv_case t = random_case();
        groat_spec *spec = NULL;
        const char *target = kv_targets[pick(3)];
        char text[400];

        ck_assert_int_lt(draws, 40000);
        kv_spec(kv_family, "image", &t, text, sizeof(text));
        if (groat_spec_parse(context, text, target, &spec, NULL) != GROAT_OK)
            continue;
        groat_spec_free(spec);
        check_slab(&t, target);
        if (strstr(target, "gfx") != NULL)
            check_product(&t, target, pick(2) != 0, pick(2) != 0,
                          (uint64_t)pick(1000));
        legal++;
    }
}
END_TEST

/* ---- plans -------------------------------------------------------------- */

/* What a plan refuses: a tile past the head or the key block above all. */
START_TEST(plans_are_checked)
{
    static const struct {
        const char *argument;
        int64_t value;
        const char *entry;
        const char *words;
    } bad[] = {
        {"first_col", 4, "image", "multiple of 8"},
        {"first_col", 8, "image", "may not pass src_cols"},
        {"first_tile", 4, "image", "another head"},
        {"tiles", 5, "fragments", "another head"},
        {"heads", 2, "stream", "may not pass src_cols"},
        {"key_blocks", 1 << 30, "image", "2147483647 keys"},
        {"key_blocks", 1 << 20, "output", "32-bit"},
        {"block_step", 65536, "scores", "65535 blocks"},
    };

    for (size_t i = 0; i < COUNT(bad); i++) {
        int64_t values[GROAT_DRIVER_ARGS];
        groat_error error = GROAT_ERROR_INIT;
        groat_plan plan = {0};
        groat_spec *spec = NULL;
        char text[100];

        (void)snprintf(text, sizeof(text), "%s:entry=%s", kv_family,
                       bad[i].entry);
        ck_assert_int_eq(
            groat_spec_parse(context, text, "cpu:gfx950", &spec, NULL),
            GROAT_OK);
        drive_defaults(kv_family_driver, values);
        values[drive_argument(kv_family_driver, "valid_rows")] = 1 << 24;
        values[drive_argument(kv_family_driver, bad[i].argument)] =
            bad[i].value;
        ck_assert_int_eq(kv_family_driver->plan(spec, values, &plan, &error),
                         GROAT_INVALID);
        ck_assert_msg(strstr(error.text, bad[i].words) != NULL &&
                          strstr(error.text, kv_family) == error.text,
                      "%s", error.text);
        groat_spec_free(spec);
    }
}
END_TEST

/* ---- a device, where one is named ---------------------------------------- */

START_TEST(grid_on_device)
{
    const char *target = getenv("GROAT_TEST_TARGET");

    if (target == NULL)
        return; /* kv_add_tests leaves this test out then */
    check_edges(kv_on(&grid[_i], target), target);
}
END_TEST

void kv_add_tests(Suite *suite, bool readers)
{
    TCase *tests = tcase_create("tiles");

    tcase_set_timeout(tests, 600);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, known_images, 0, KV_KNOWN);
    tcase_add_test(tests, key_addresses);
    tcase_add_loop_test(tests, value_addresses, 0, 3);
    tcase_add_loop_test(tests, grid_on_cpu, 0, COUNT(grid));
    tcase_add_loop_test(tests, every_swizzle, 0, readers ? 2 : 1);
    tcase_add_test(tests, plans_are_checked);
    tcase_add_loop_test(tests, products, 0, 12);
    tcase_add_test(tests, the_bound_is_tight);
    tcase_add_loop_test(tests, random_specs, 0, readers ? 6 : 3);
    if (getenv("GROAT_TEST_TARGET") != NULL)
        tcase_add_loop_test(tests, grid_on_device, 0, COUNT(grid));
    suite_add_tcase(suite, tests);
}

int kv_main(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    int failed;

    if (getenv("GROAT_TEST_TARGET") == NULL)
        (void)puts("SKIP: no device: GROAT_TEST_TARGET names none, the cpu "
                   "targets alone ran");
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
