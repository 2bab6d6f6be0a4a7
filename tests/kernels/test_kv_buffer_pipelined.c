/* SPDX-License-Identifier: Apache-2.0
 *
 * test_kv_buffer_pipelined.c checks kv_buffer_pipelined against the walk of
 * kv_rig.c, panel by panel of K and all of V, in both stages; its copies
 * against the order that the counts rely on; sums against the driver's closed
 * form; and attention against integers and float64 with a bound.
 *
 * Cases always run on cpu targets, and on the device of GROAT_TEST_TARGET when
 * that is set.
 */
#include "tests/kernels/kv_rig.h"

extern const groat_driver groat_driver_kv_buffer_pipelined;

const groat_driver *const kv_driver = &groat_driver_kv_buffer_pipelined;

/* V's slab has the bytes of K's from this row on. */
enum { VALUE_ROWS = 100000 };

/* ---- images ------------------------------------------------------------- */

/* Writes a stage with the key block that begins at row first_row: K panel by
 * panel, then V as one tile. */
static void walk_stage(const kv_case *t, unsigned char *stage)
{
    int64_t slot = t->BN * t->depth * 2;
    kv_case k = *t;
    kv_case v = *t;

    k.is_v = 0;
    k.warps = 1;
    for (k.tile = 0; k.tile < t->depth / t->BK; k.tile++)
        kv_walk(&k, stage + k.tile * kv_tile_bytes(&k), NULL);
    v.is_v = 1;
    v.warps = 1;
    v.BK = t->BN;
    v.tile = 0;
    v.first_row += VALUE_ROWS;
    v.rows += VALUE_ROWS;
    kv_walk(&v, stage + slot, NULL);
}

/* Checks both stages after `tiles` key blocks. */
static void check_image(const kv_case *t, const char *target, int64_t tiles)
{
    size_t stage = (size_t)(t->BN * t->depth * 4);
    unsigned char *want = malloc(2 * stage);
    drive d;

    ck_assert_ptr_nonnull(want);
    memset(want, POISON, 2 * stage);
    for (int64_t n = tiles < 2 ? 0 : tiles - 2; n < tiles; n++) {
        kv_case at = *t;

        at.first_row += n * t->BN;
        walk_stage(&at, want + (size_t)(n % 2) * stage);
    }
    kv_open(&d, drive_context, "image", t, target, "tiles=%d block_step=1",
            (int)tiles);
    ck_assert_uint_eq(d.plan.buffers[2].bytes, 2 * stage);
    for (int i = 0; i < 2; i++)
        source_bytes(d.host[i], d.plan.buffers[i].bytes, t->ld * 2,
                     i * VALUE_ROWS);
    drive_run(&d);
    for (size_t n = 0; n < 2; n++)
        kv_check_bytes("image", t, target, n,
                       (const unsigned char *)d.host[2] + n * stage,
                       want + n * stage, stage);
    drive_close(&d);
    free(want);
}

/* Each parameter takes each of its values; of a long range the least, the
 * largest and some odd ones. */
static const kv_case grid[] = {
    {0, 64, 32, 0, 128, 128, 128, 4, 32, 16, 0, 0, 0, 0, 0, 0, 0},
    {0, 32, 32, 0, 32, 32, 32, 1, 32, 16, 3, 0, 4, 0, 0, 0, 0},
    {0, 32, 64, 0, 128, 384, 392, 4, 16, 16, 3, 0, 4, 0, 0, 0, 0},
    {0, 64, 64, 0, 64, 72, 80, 2, 32, 8, 2, 0, 2, 0, 0, 0, 0},
    {0, 96, 32, 0, 64, 64, 64, 3, 16, 8, 1, 3, 3, 0, 0, 0, 0},
    {0, 32, 128, 0, 256, 256, 256, 8, 16, 16, 2, 1, -2, 0, 0, 0, 0},
    {0, 128, 32, 0, 64, 64, 64, 8, 32, 16, 3, 1, 3, 0, 0, 0, 0},
    {0, 64, 64, 0, 64, 64, 64, 4, 32, 16, 0, 0, 0, 0, 0, 0, 0},
};

enum { GRID = sizeof(grid) / sizeof(grid[0]) };

static void check_edges(kv_case t, const char *target)
{
    const int64_t rows[] = {0, t.BN - 1, 2 * t.BN, 4 * t.BN + t.BN / 2 + 1};

    for (size_t k = 0; k < COUNT(rows); k++) {
        t.rows = rows[k];
        t.first_row = k % 2 == 0 ? 0 : 3;
        t.first_col = k % 2 == 0 ? 0 : (t.src_cols - t.depth) / 8 * 8;
        check_image(&t, target, (int64_t)k + 1);
    }
    check_image(&t, target, 5);
}

START_TEST(grid_on_cpu)
{
    if (is_left_out(_i))
        return;
    for (size_t k = 0; k < COUNT(kv_targets); k++)
        check_edges(kv_on(&grid[_i], kv_targets[k]), kv_targets[k]);
}
END_TEST

static void check_two_blocks(const kv_case *t, const char *target)
{
    check_image(t, target, 2);
}

START_TEST(every_swizzle)
{
    kv_case t = grid[7];

    t.rows = t.BN + 9;
    kv_every_swizzle(&t, check_two_blocks);
}
END_TEST

/* ---- the order of copies ------------------------------------------------ */

/* Two waves, key blocks of 32 and a head of 64. */
static const kv_case small = {0,  32, 32, 0, 64, 64, 64, 2, 32,
                              16, 0,  0,  0, -1, 0,  0,  0};

/* K of a key block before its V; both of the next block after the reads of this
 * one's K and before those of its V.  The wait counts rely on it. */
START_TEST(the_next_block_is_on_its_way)
{
    enum { SLOT = 32 * 64 * 2, STAGE = 2 * SLOT, BLOCKS = 3, PER_SLOT = 2 };
    static const char order[] = "kkvv"
                                "KkkvvV"
                                "KkkvvV"
                                "KV";
    static kv_tape seen;
    groat_context *traced = kv_record(&seen, 1u << GROAT_ACCESS_READ |
                                                 1u << GROAT_ACCESS_TRANSPOSE |
                                                 1u << GROAT_ACCESS_COPY);
    kv_case t = small;
    char shown[80];
    size_t length = 0;
    drive d;

    t.rows = (int64_t)BLOCKS * 32;
    kv_open(&d, traced, "attention", &t, "cpu:gfx950", "queries=40");
    ck_assert_uint_eq(d.plan.grid[0], 1);
    kv_check(&d, 1);
    for (size_t i = 0; i < seen.count && length < sizeof(shown) - 1; i++) {
        bool copy = seen.events[i].access == GROAT_ACCESS_COPY;
        bool value = seen.events[i].shared[0] % STAGE >= SLOT;
        char c = value ? (copy ? 'v' : 'V') : (copy ? 'k' : 'K');

        if (seen.events[i].wave != 0)
            continue;
        /* Many reads of one slot count as one. */
        if (copy || length == 0 || shown[length - 1] != c)
            shown[length++] = c;
    }
    shown[length] = '\0';
    ck_assert_str_eq(shown, order);
    drive_close(&d);
    groat_close(traced);
}
END_TEST

/* ---- sums --------------------------------------------------------------- */

/* Sums, and the driver's image: three key blocks per block, one partial. */
START_TEST(sums_agree)
{
    static const char *const entries[] = {"stream", "image"};

    if (is_left_out(_i))
        return;
    for (size_t k = 0; k < COUNT(kv_targets); k++) {
        kv_case t = kv_on(&grid[_i], kv_targets[k]);

        if (t.src_cols < 3 * t.depth && t.depth <= 128)
            t.ld = t.src_cols = 3 * t.depth;
        t.rows = 5 * t.BN + 7;
        t.first_row = 2;
        for (size_t e = 0; e < COUNT(entries); e++) {
            drive d;

            kv_open(&d, drive_context, entries[e], &t, kv_targets[k],
                    "block_step=2");
            kv_check(&d, 5 + e);
            drive_close(&d);
        }
    }
}
END_TEST

/* ---- attention ---------------------------------------------------------- */

/* Rounds a whole number to 8 (bf16) or 11 (f16) binary digits, ties to even. */
static int64_t to_digits(bool f16, int64_t x)
{
    int64_t size = x < 0 ? -x : x;
    int64_t unit = 1;

    while (size / unit >= (f16 ? 2048 : 256))
        unit *= 2;
    size = (size + unit / 2 - (unit > 1 && size / unit % 2 == 0)) / unit * unit;
    return x < 0 ? -size : size;
}

static void check_integers(const kv_case *t, const drive *d, bool f16)
{
    const uint16_t *k = d->host[0];
    const uint16_t *v = d->host[1];
    const uint16_t *q = d->host[2];
    const float *got = d->host[3];
    int64_t keys = t->rows - t->first_row;
    int64_t queries = (int64_t)(d->plan.buffers[3].bytes / 4) / t->depth;
    int64_t *sums = malloc((size_t)t->depth * sizeof(*sums));

    ck_assert_ptr_nonnull(sums);
    for (int64_t n = 0; n < queries; n++) {
        memset(sums, 0, (size_t)t->depth * sizeof(*sums));
        for (int64_t key = 0; key < keys; key++) {
            int64_t at = (t->first_row + key) * t->ld + t->first_col;
            int64_t score = 0;

            for (int64_t c = 0; c < t->depth; c++)
                score += kv_whole(f16, q[n * t->depth + c]) *
                         kv_whole(f16, k[at + c]);
            score = to_digits(f16, score);
            for (int64_t c = 0; c < t->depth; c++)
                sums[c] += score * kv_whole(f16, v[at + c]);
        }
        for (int64_t c = 0; c < t->depth; c++)
            ck_assert_msg(got[n * t->depth + c] == (float)sums[c],
                          "row %d, column %d is %g, not %d", (int)n, (int)c,
                          (double)got[n * t->depth + c], (int)sums[c]);
    }
    free(sums);
}

static void check_attention(const kv_case *t, const char *target, bool f16,
                            bool real, int64_t queries)
{
    drive d;

    kv_open(&d, drive_context,
            f16 ? "attention,dtype=f16" : "attention,dtype=bf16", t, target,
            "queries=%d real=%d", (int)queries, real);
    kv_check_product(&d, 9, real);
    if (!real)
        check_integers(t, &d, f16);
    drive_close(&d);
}

/* _i: case and number type.  One key block, an odd and an even number of
 * blocks, the last of them partial; no key at all; waves without a query. */
START_TEST(attention_is_exact)
{
    bool f16 = _i % 2 != 0;
    kv_case t = grid[_i / 2];

    for (size_t k = 0; k < COUNT(kv_amd_targets); k++) {
        kv_case c = kv_on(&t, kv_amd_targets[k]);

        c.rows = c.BN;
        check_attention(&c, kv_amd_targets[k], f16, false, 1);
        c.first_row = 3;
        c.first_col = (t.src_cols - t.depth) / 8 * 8;
        c.rows = 2 * t.BN + t.BN / 2;
        check_attention(&c, kv_amd_targets[k], f16, false, t.mma_n + 5);
        c.rows = t.BN + 9;
        check_attention(&c, kv_amd_targets[k], f16, true,
                        t.mma_n * t.warps + t.mma_n / 2);
    }
    t = kv_on(&t, kv_amd_targets[_i % 3]);
    t.rows = 0;
    check_attention(&t, kv_amd_targets[_i % 3], f16, false, 3);
}
END_TEST

/* Scores with more than 8 digits, so that their rounding is visible. */
START_TEST(scores_are_rounded)
{
    kv_case t = {0, 32, 64, 0, 448, 448, 448, 2, 16, 16, 3, 0, 4, 0, 0, 0, 0};
    int64_t seen = 0;

    t.rows = 100;
    check_attention(&t, "cpu:gfx950", false, false, 20);
    for (int64_t x = -600; x <= 600; x++)
        seen += to_digits(false, x) != x;
    ck_assert_int_eq(seen, 2 * (128 + 66));
    ck_assert_int_eq(to_digits(false, 257), 256);
    ck_assert_int_eq(to_digits(false, 259), 260);
    ck_assert_int_eq(to_digits(false, -513), -512);
    ck_assert_int_eq(to_digits(false, 518), 520);
    ck_assert_int_eq(to_digits(true, 2049), 2048);
}
END_TEST

START_TEST(the_bound_is_tight)
{
    kv_tight_bound("attention", &small, 0x1p-5);
}
END_TEST

/* ---- random legal specs ------------------------------------------------- */

static kv_case random_case(uint64_t *random)
{
    kv_case t = kv_random_case(random, 4, 6, 8);

    t.rows = kv_pick(random, 4 * t.BN);
    return t;
}

static void check_random(const kv_case *t, const char *target, uint64_t *random)
{
    check_image(t, target, 1 + kv_pick(random, 4));
    if (kv_multiplies(target))
        check_attention(t, target, kv_pick(random, 2) != 0,
                        kv_pick(random, 2) != 0, 1 + kv_pick(random, 50));
}

/* A spec that the rules accept must be right. */
START_TEST(random_specs)
{
    if (!is_left_out(_i))
        kv_random_specs(20260100u + (uint64_t)_i, 6, "attention", random_case,
                        check_random);
}
END_TEST

/* ---- plans -------------------------------------------------------------- */

START_TEST(plans_are_checked)
{
    static const kv_refusal bad[] = {
        {"image", "first_col=4", "multiple of 8"},
        {"attention", "first_col=8", "may not pass src_cols"},
        {"stream", "heads=2", "may not pass src_cols"},
        {"attention", "key_blocks=1073741824", "2147483647 keys"},
    };

    kv_check_refusals(bad, COUNT(bad));
}
END_TEST

/* ---- a device, where one is named ---------------------------------------- */

START_TEST(grid_on_device)
{
    const char *target = getenv("GROAT_TEST_TARGET");

    if (target == NULL)
        return; /* main leaves this test out then */
    check_edges(kv_on(&grid[_i], target), target);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("kv_buffer_pipelined");
    TCase *tests = tcase_create("stages");

    tcase_set_timeout(tests, 600);
    tcase_add_checked_fixture(tests, drive_setup, drive_teardown);
    tcase_add_test(tests, the_next_block_is_on_its_way);
    tcase_add_loop_test(tests, grid_on_cpu, 0, GRID);
    tcase_add_test(tests, every_swizzle);
    tcase_add_loop_test(tests, sums_agree, 0, GRID);
    tcase_add_loop_test(tests, attention_is_exact, 0, 8);
    tcase_add_test(tests, scores_are_rounded);
    tcase_add_test(tests, the_bound_is_tight);
    tcase_add_loop_test(tests, random_specs, 0, 4);
    tcase_add_test(tests, plans_are_checked);
    if (getenv("GROAT_TEST_TARGET") != NULL)
        tcase_add_loop_test(tests, grid_on_device, 0, GRID);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return drive_main(make_suite());
}
