/* SPDX-License-Identifier: Apache-2.0
 *
 * kv_suite.c checks kv_buffer_lds and kv_buffer_reg against the walk of
 * kv_rig.c: known images, every value of every parameter, every legal swizzle,
 * partial and empty key blocks, random legal specs, the addresses at which
 * fragments are read, and products against integers and against float64.
 *
 * Cases always run on cpu targets, and on the device of GROAT_TEST_TARGET when
 * that is set.
 */
#include "tests/kernels/kv_suite.h"

/* ---- known images ------------------------------------------------------- */

/* In the order of the definition's names. */
const kv_case kv_known_tiles[KV_KNOWN] = {
    {0, 128, 32, 32, 128, 128, 128, 4, 32, 16, 0, 0, 0, 128, 0, 0, 0},
    {0, 128, 32, 32, 128, 1024, 1024, 4, 32, 16, 3, 0, 4, 100, 0, 0, 2},
    {0, 64, 32, 32, 64, 256, 256, 2, 16, 16, 2, 0, 2, 64, 0, 0, 1},
    {1, 128, 32, 32, 128, 256, 256, 4, 32, 16, 3, 0, 4, 60, 0, 0, 1},
};

/* Their bytes at a few places. */
static const int known_at[KV_KNOWN][14] = {
    {0, 15, 16, 64, 528, 1023, 1024, 1555, 2047, 2048, 3333, 4103, 8191},
    {0, 15, 16, 64, 528, 1023, 1024, 1555, 2047, 2048, 3333, 4103, 6405, 8191},
    {0, 15, 16, 64, 528, 1023, 1024, 1555, 2047, 2048, 2055, 3333, 4095},
    {0, 15, 16, 64, 528, 1023, 1024, 1555, 2047, 2048, 3333, 4103, 8191},
};
static const int known_byte[KV_KNOWN][14] = {
    {0xc3, 0x9c, 0x22, 0x61, 0x14, 0xfd, 0xa7, 0x89, 0xe1, 0x8a, 0x84, 0xfb,
     0x36},
    {0xb9, 0x92, 0x18, 0x57, 0xc7, 0xd7, 0x3b, 0xda, 0x1c, 0x80, 0x77, 0xf0,
     0x00, 0x00},
    {0x3e, 0x17, 0x9d, 0x3b, 0x8f, 0x5c, 0x22, 0x04, 0x40, 0x05, 0xaf, 0xff,
     0x07},
    {0x8a, 0x63, 0xe9, 0x28, 0x98, 0xa8, 0x0c, 0xac, 0x00, 0x05, 0xfc, 0x29,
     0x00},
};

/* Their digests. */
static const uint32_t known_crc[KV_KNOWN] = {0x01a5ba84, 0x1f1a9333, 0x9058c405,
                                             0xa1623f75};
static const uint64_t known_fnv[KV_KNOWN] = {
    0xd195d8db19c6051a, 0x0b8041273eea914e, 0xf7b17e09eae3f176,
    0xb22a0a660bb78e25};

/* soffset, and voffset for known_lanes, of three bursts: the first two and the
 * last. */
static const int known_last[KV_KNOWN] = {7, 7, 3, 7};
static const int known_soffset[KV_KNOWN][3] = {{0, 4096, 28672},
                                               {128, 32896, 229504},
                                               {64, 8256, 24640},
                                               {16384, 24576, 24768}};
static const int known_voffset[KV_KNOWN][8] = {
    {0, 16, 1040, 3888, 272, 2560, 32, 3888},
    {0, 16, 8192, 30720, 16, 22560, 2080, 28672},
    {0, 16, 2064, 7680, 512, 5152, 32, 7680},
    {0, 16, 2048, 7680, 16, 5664, 544, 7168}};

/* Which of the three bursts, and the lane. */
static const int known_lanes[8][2] = {{0, 0}, {0, 1},  {0, 17}, {0, 63},
                                      {1, 5}, {1, 40}, {2, 2},  {2, 63}};

/* Checks the walk of a known tile. */
static void check_walk(int index, unsigned char *image)
{
    kv_burst bursts[8];

    ck_assert_uint_eq(kv_walk(&kv_known_tiles[index], image, bursts),
                      (size_t)kv_tile_bytes(&kv_known_tiles[index]) / BURST);
    for (size_t n = 0; n < COUNT(known_at[0]); n++)
        if (n == 0 || known_at[index][n] != 0)
            ck_assert_int_eq(image[known_at[index][n]], known_byte[index][n]);
    for (size_t n = 0; n < COUNT(known_lanes); n++) {
        int which = known_lanes[n][0];
        int burst = which == 2 ? known_last[index] : which;

        ck_assert_int_eq(bursts[burst].m0, BURST * burst);
        ck_assert_int_eq(bursts[burst].soffset, known_soffset[index][which]);
        ck_assert_int_eq(bursts[burst].voffset[known_lanes[n][1]],
                         known_voffset[index][n]);
    }
}

START_TEST(known_images)
{
    size_t bytes = (size_t)kv_tile_bytes(&kv_known_tiles[_i]);
    unsigned char *image = malloc(bytes);

    ck_assert_ptr_nonnull(image);
    check_walk(_i, image);
    ck_assert_uint_eq(crc32_of(image, bytes), known_crc[_i]);
    ck_assert_uint_eq(fnv1a_of(image, bytes), known_fnv[_i]);
    for (size_t k = 0; k < COUNT(kv_targets); k++) {
        kv_case t = kv_on(&kv_known_tiles[_i], kv_targets[k]);

        kv_run(drive_context, "image", kv_targets[k], &t, 1, 1, image, bytes);
        ck_assert_uint_eq(crc32_of(image, bytes), known_crc[_i]);
        ck_assert_uint_eq(fnv1a_of(image, bytes), known_fnv[_i]);
    }
    free(image);
}
END_TEST

/* ---- images and fragments of whole slabs -------------------------------- */

/* Checks image or fragments of all tiles of all key blocks against the walk;
 * the last key block holds few rows or none. */
static void check_entry(const kv_case *t, const char *target, bool image)
{
    const char *entry = image ? "image" : "fragments";
    int64_t steps = kv_steps(t);
    int64_t blocks = t->rows / t->BN + 1;
    size_t tile = (size_t)kv_tile_bytes(t);
    size_t each = image ? tile : (size_t)kv_fragment_bytes(t);
    size_t tiles = (size_t)(blocks * steps);
    unsigned char *got = malloc(tiles * each);
    unsigned char *lds = malloc(tile);
    unsigned char *want = malloc(each);

    ck_assert(got != NULL && lds != NULL && want != NULL);
    kv_run(drive_context, entry, target, t, blocks, steps, got, tiles * each);
    for (size_t n = 0; n < tiles; n++) {
        kv_case at = *t;

        at.first_row += (int64_t)n / steps * t->BN;
        at.tile = (int64_t)n % steps;
        kv_walk(&at, lds, NULL);
        if (image)
            memcpy(want, lds, tile);
        else
            kv_read_fragments(&at, lds, want);
        kv_check_bytes(entry, t, target, n, got + n * each, want, each);
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

/* No row, one less than a key block, and counts that end inside a later one. */
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

/* Each parameter takes each of its values; of a long range the least, the
 * largest and some odd ones. */
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

static void check_closed_form(const kv_case *t, const char *entry,
                              const char *target, const char *said)
{
    drive d;

    kv_open(&d, drive_context, entry, t, target, "%s", said);
    kv_check(&d, 77);
    drive_close(&d);
}

/* Checks the driver's closed forms against the kernels' outputs on random
 * bytes; sums over one head and over all, blocks that share tiles unevenly. */
static void check_driver(kv_case t, const char *target, bool all)
{
    t.rows = 2 * t.BN + t.BN / 2 + 1;
    t.first_row = 1;
    check_closed_form(&t, "stream", target, "");
    if (!all)
        return;
    check_closed_form(&t, "stream", target, "heads=1 block_step=5");
    check_closed_form(&t, "image", target, "");
    check_closed_form(&t, "fragments", target, "");
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

static void check_swizzle(const kv_case *t, const char *target)
{
    check_entry(t, target, false);
    if (!t->is_v)
        check_entry(t, target, true);
}

START_TEST(every_swizzle)
{
    kv_case t = grid[_i == 0 ? 2 : 15];

    t.rows = t.BN + 5;
    kv_every_swizzle(&t, check_swizzle);
}
END_TEST

/* ---- where fragments are read ------------------------------------------- */

/* Records the reads of a launch of the fragments entry on gfx950, in order. */
static void record(const kv_case *t, kv_tape *to)
{
    groat_context *traced =
        kv_record(to, 1u << GROAT_ACCESS_READ | 1u << GROAT_ACCESS_TRANSPOSE);
    size_t bytes = (size_t)kv_fragment_bytes(t);
    unsigned char *out = malloc(bytes);

    ck_assert_ptr_nonnull(out);
    kv_run(traced, "fragments", "cpu:gfx950", t, 1, 1, out, bytes);
    free(out);
    groat_close(traced);
}

/* Returns the n-th read of a wave. */
static const uint32_t *read_of(const kv_tape *from, unsigned wave, size_t n)
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
    static kv_tape reads;

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
    static kv_tape reads;

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

/* Checks S or O against the driver's input, in integers. */
static void check_integers(const kv_case *t, const drive *d, bool f16)
{
    const uint16_t *slab = d->host[0];
    const uint16_t *operand = d->host[1];
    const float *got = d->host[2];
    int64_t queries = drive_argument(d, "queries");
    int64_t keys = drive_argument(d, "key_blocks") * t->BN;
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
                    sum += kv_whole(f16, operand[q * terms + k]) *
                           kv_whole(f16, slab[row * t->ld + col]);
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
    char entry[40];
    drive d;

    (void)snprintf(entry, sizeof(entry), "%s,dtype=%s",
                   t->is_v ? "output" : "scores", f16 ? "f16" : "bf16");
    kv_open(&d, drive_context, entry, t, target, "real=%d queries=%d", real,
            seed % 2 == 0 ? -1 : 1 + (int)(seed % 5) * 9);
    kv_check_product(&d, seed, real);
    if (!real)
        check_integers(t, &d, f16);
    drive_close(&d);
}

/* Products cost more than copies: only the smaller cases, each number type. */
START_TEST(products)
{
    if (is_left_out(_i))
        return;
    static const int cases[] = {0, 2, 3, 5, 6, 8, 13, 15, 17, 18, 19, 24 - 1};
    kv_case t = grid[cases[_i]];

    t.first_row = 3;
    t.first_col = (t.src_cols - t.depth) / 8 * 8;
    t.rows = t.BN + t.BN / 2 + 4;
    for (size_t k = 0; k < COUNT(kv_amd_targets); k++) {
        kv_case on = kv_on(&t, kv_amd_targets[k]);

        check_product(&on, kv_amd_targets[k], false, false, 4);
        check_product(&on, kv_amd_targets[k], true, false, 5);
        check_product(&on, kv_amd_targets[k], false, true, 6);
        check_product(&on, kv_amd_targets[k], true, true, 7);
    }
    t.rows = 0;
    t = kv_on(&t, kv_amd_targets[_i % 3]);
    check_product(&t, kv_amd_targets[_i % 3], false, false, 8);
}
END_TEST

START_TEST(the_bound_is_tight)
{
    kv_case t = grid[0];

    t.rows = -1;
    kv_tight_bound("scores", &t, 0x1p-9);
}
END_TEST

/* ---- random legal specs ------------------------------------------------- */

static kv_case random_case(uint64_t *random)
{
    kv_case t = kv_random_case(random, 8, 8, 12);

    t.is_v = kv_pick(random, 2);
    t.WN = 16 * (1 + kv_pick(random, 8));
    t.rows = kv_pick(random, 3 * t.BN + 10);
    t.first_row = kv_pick(random, t.BN);
    return t;
}

/* Results may need more registers than a lane has. */
static bool allows_product(const kv_case *t, const char *target)
{
    char text[400];

    kv_spec(t->is_v ? "output" : "scores", t, text, sizeof(text));
    return kv_multiplies(target) && drive_allows(drive_context, text, target);
}

static void check_random(const kv_case *t, const char *target, uint64_t *random)
{
    check_slab(t, target);
    if (allows_product(t, target))
        check_product(t, target, kv_pick(random, 2) != 0,
                      kv_pick(random, 2) != 0, (uint64_t)kv_pick(random, 1000));
}

/* A spec that the rules accept must be right. */
START_TEST(random_specs)
{
    if (!is_left_out(_i))
        kv_random_specs(20260000u + (uint64_t)_i, 8, "image", random_case,
                        check_random);
}
END_TEST

/* ---- plans -------------------------------------------------------------- */

/* Above all a tile past the head or the key block. */
START_TEST(plans_are_checked)
{
    static const kv_refusal bad[] = {
        {"image", "first_col=4", "multiple of 8"},
        {"image", "first_col=8", "may not pass src_cols"},
        {"image", "first_tile=4", "another head"},
        {"fragments", "tiles=5", "another head"},
        {"stream", "heads=2", "may not pass src_cols"},
        {"image", "key_blocks=1073741824", "2147483647 keys"},
        {"output", "key_blocks=1048576", "32-bit"},
        {"scores", "valid_rows=16777216 block_step=65536", "65535 blocks"},
    };

    kv_check_refusals(bad, COUNT(bad));
}
END_TEST

/* ---- a device, where one is named ---------------------------------------- */

START_TEST(grid_on_device)
{
    const char *target = getenv("GROAT_TEST_TARGET");

    if (target == NULL)
        return; /* kv_add_tests() leaves this test out then */
    check_edges(kv_on(&grid[_i], target), target);
}
END_TEST

void kv_add_tests(Suite *suite, bool readers)
{
    TCase *tests = tcase_create("tiles");

    tcase_set_timeout(tests, 600);
    tcase_add_checked_fixture(tests, drive_setup, drive_teardown);
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
