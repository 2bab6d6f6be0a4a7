/* SPDX-License-Identifier: Apache-2.0
 *
 * test_kv_buffer_pipelined.c holds kv_buffer_pipelined against the walk of
 * kv_rig.c, panel by panel of K and all of V, in both stages; its copies
 * against the order that the counts rely on; sums against the driver's closed
 * form; and attention against integers and against float64 with a bound.
 *
 * Cases run on cpu targets always and on the device of GROAT_TEST_TARGET when
 * that is set.
 */
#include <math.h>

#include "kernels-src/kv_buffer_pipelined/args.h"
#include "tests/unit/suite.h"
#include "tests/kernels/kv_rig.h"

extern const groat_driver groat_driver_kv_buffer_pipelined;
static const groat_driver *const driver = &groat_driver_kv_buffer_pipelined;

static const char *const targets[] = {"cpu:gfx950", "cpu:gfx90a", "cpu:sm_90a"};
static const char *const amd_targets[] = {"cpu:gfx950", "cpu:gfx90a",
                                          "cpu:gfx942"};

/* V's slab is that of K from this row on. */
enum { VALUE_ROWS = 100000 };

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

static kv_case on(const kv_case *t, const char *target)
{
    kv_case c = *t;

    if (strstr(target, "gfx90a") != NULL || strstr(target, "gfx942") != NULL)
        c.mma_bytes = 8;
    return c;
}

static void spec_of(const char *entry, const kv_case *t, char *text,
                    size_t room)
{
    (void)snprintf(
        text, room,
        "kv_buffer_pipelined:entry=%s,BN=%d,BK=%d,depth=%d,src_cols=%d,ld=%d,"
        "num_warps=%d,mma=m%dx%dx%d,swizzle_bits=%d,swizzle_base=%d,"
        "swizzle_shift=%d",
        entry, (int)t->BN, (int)t->BK, (int)t->depth, (int)t->src_cols,
        (int)t->ld, (int)t->warps, (int)t->mma_n, (int)t->mma_n,
        (int)(t->mma_bytes * 32 / t->mma_n), (int)t->bits, (int)t->base,
        (int)t->shift);
}

/* ---- images ------------------------------------------------------------- */

/* What a stage holds of the key block that begins at row first_row: K panel by
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

static uint64_t upload_slab(const char *target, const kv_case *t, int64_t shift)
{
    size_t bytes =
        t->rows == 0 ? 0 : (size_t)(((t->rows - 1) * t->ld + t->src_cols) * 2);
    unsigned char *slab = malloc(bytes + 1);
    uint64_t address = 0;

    ck_assert_ptr_nonnull(slab);
    for (size_t i = 0; i < bytes; i++)
        slab[i] = kv_source_byte((int64_t)i / (t->ld * 2) + shift,
                                 (int64_t)i % (t->ld * 2));
    ck_assert_int_eq(groat_memory_alloc(context, target, bytes, &address, NULL),
                     GROAT_OK);
    ck_assert_int_eq(
        groat_memory_write(context, target, address, slab, bytes, NULL),
        GROAT_OK);
    free(slab);
    return address;
}

/* Both stages after `tiles` key blocks. */
static void run_image(const char *target, const kv_case *t, int64_t tiles,
                      unsigned char *out, size_t bytes)
{
    struct kv_buffer_pipelined_args args = {0};
    uint64_t output = 0;
    groat_launch how = GROAT_LAUNCH_INIT;
    groat_error error = GROAT_ERROR_INIT;
    groat_kernel *kernel = NULL;
    char spec[400];

    spec_of("image", t, spec, sizeof(spec));
    memset(out, 0xA5, bytes);
    ck_assert_msg(groat_kernel_get(context, spec, target, &kernel, NULL,
                                   &error) == GROAT_OK,
                  "%s on %s: %s", spec, target, error.text);
    args.keys = upload_slab(target, t, 0);
    args.values = upload_slab(target, t, VALUE_ROWS);
    ck_assert_int_eq(groat_memory_alloc(context, target, bytes, &output, NULL),
                     GROAT_OK);
    args.output = output;
    args.valid_rows = t->rows;
    args.first_row = t->first_row;
    args.first_col = (unsigned)t->first_col;
    args.tiles = (unsigned)tiles;
    ck_assert_msg(groat_kernel_launch(kernel, &how, &args, sizeof(args),
                                      &error) == GROAT_OK,
                  "%s on %s: %s", spec, target, error.text);
    ck_assert_int_eq(
        groat_memory_read(context, target, out, output, bytes, NULL), GROAT_OK);
    groat_memory_free(context, target, args.keys);
    groat_memory_free(context, target, args.values);
    groat_memory_free(context, target, output);
    groat_kernel_release(kernel);
    groat_error_clear(&error);
}

static void check_image(const kv_case *t, const char *target, int64_t tiles)
{
    size_t stage = (size_t)(t->BN * t->depth * 4);
    unsigned char *got = malloc(2 * stage);
    unsigned char *want = malloc(2 * stage);

    ck_assert(got != NULL && want != NULL);
    memset(want, POISON, 2 * stage);
    for (int64_t n = tiles < 2 ? 0 : tiles - 2; n < tiles; n++) {
        kv_case at = *t;

        at.first_row += n * t->BN;
        walk_stage(&at, want + (size_t)(n % 2) * stage);
    }
    run_image(target, t, tiles, got, 2 * stage);
    for (size_t b = 0; b < 2 * stage; b++)
        ck_assert_msg(got[b] == want[b],
                      "BN %d, depth %d on %s, %d of %d rows: byte %zu of stage "
                      "%zu is 0x%02x, not 0x%02x",
                      (int)t->BN, (int)t->depth, target, (int)tiles,
                      (int)t->rows, b % stage, b / stage, got[b], want[b]);
    free(got);
    free(want);
}

/* Each parameter takes each of its values, or the least, the largest and odd
 * ones of many; WN is unused. */
static const kv_case grid[] = {
    {0, 64, 32, 64, 128, 128, 128, 4, 32, 16, 0, 0, 0, 0, 0, 0, 0},
    {0, 32, 32, 32, 32, 32, 32, 1, 32, 16, 3, 0, 4, 0, 0, 0, 0},
    {0, 32, 64, 32, 128, 384, 392, 4, 16, 16, 3, 0, 4, 0, 0, 0, 0},
    {0, 64, 64, 64, 64, 72, 80, 2, 32, 8, 2, 0, 2, 0, 0, 0, 0},
    {0, 96, 32, 96, 64, 64, 64, 3, 16, 8, 1, 3, 3, 0, 0, 0, 0},
    {0, 32, 128, 32, 256, 256, 256, 8, 16, 16, 2, 1, -2, 0, 0, 0, 0},
    {0, 128, 32, 128, 64, 64, 64, 8, 32, 16, 3, 1, 3, 0, 0, 0, 0},
    {0, 64, 64, 64, 64, 64, 64, 4, 32, 16, 0, 0, 0, 0, 0, 0, 0},
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
    for (size_t k = 0; k < COUNT(targets); k++)
        check_edges(on(&grid[_i], targets[k]), targets[k]);
}
END_TEST

START_TEST(every_swizzle)
{
    int legal = 0;

    for (int64_t bits = 1; bits <= 3; bits++)
        for (int64_t base = 0; base <= 6; base++)
            for (int64_t shift = -7; shift <= 7; shift++) {
                const char *target = targets[legal % 3];
                kv_case t = grid[7];
                groat_spec *spec = NULL;
                char text[400];

                t.bits = bits;
                t.base = base;
                t.shift = shift;
                t.rows = t.BN + 9;
                t = on(&t, target);
                spec_of("image", &t, text, sizeof(text));
                if (groat_spec_parse(context, text, target, &spec, NULL) !=
                    GROAT_OK)
                    continue;
                groat_spec_free(spec);
                check_image(&t, target, 2);
                legal++;
            }
    ck_assert_int_eq(legal, 56);
}
END_TEST

/* ---- the order of copies ------------------------------------------------ */

typedef struct tape {
    struct {
        groat_access access;
        uint32_t shared;
    } events[600];
    size_t count;
} tape;

/* Wave 0 alone: copies and first addresses of reads. */
static void record(void *user, const groat_trace *event)
{
    tape *to = user;

    if (event->wave != 0 || event->block[0] != 0 ||
        event->access == GROAT_ACCESS_WRITE)
        return;
    ck_assert_uint_lt(to->count, COUNT(to->events));
    to->events[to->count].access = event->access;
    to->events[to->count++].shared = event->shared[0];
}

/* K of a key block before its V, both of the next one after the reads of this
 * one's K and before those of its V: what the counts of the waits say. */
START_TEST(the_next_block_is_on_its_way)
{
    static tape seen;
    groat_context *traced = kv_open(record, &seen);
    const char *spec = "kv_buffer_pipelined:BN=32,depth=64,num_warps=2";
    enum { SLOT = 32 * 64 * 2, STAGE = 2 * SLOT, BLOCKS = 3, PER_SLOT = 2 };
    static const char order[] = "kkvv"
                                "KkkvvV"
                                "KkkvvV"
                                "KV";
    int64_t values[GROAT_DRIVER_ARGS];
    char shown[80];
    size_t length = 0;
    driven d;

    seen.count = 0;
    drive_defaults(driver, values);
    values[drive_argument(driver, "valid_rows")] = (int64_t)BLOCKS * 32;
    drive_run(traced, driver, spec, "cpu:gfx950", values, 1, &d);
    for (size_t i = 0; i < seen.count && length < sizeof(shown) - 1; i++) {
        bool copy = seen.events[i].access == GROAT_ACCESS_COPY;
        bool value = seen.events[i].shared % STAGE >= SLOT;
        char c = value ? (copy ? 'v' : 'V') : (copy ? 'k' : 'K');

        /* Many reads of one slot count as one. */
        if (copy || length == 0 || shown[length - 1] != c)
            shown[length++] = c;
    }
    shown[length] = '\0';
    ck_assert_str_eq(shown, order);
    drive_free(&d);
    groat_close(traced);
}
END_TEST

/* ---- sums --------------------------------------------------------------- */

START_TEST(sums_agree)
{
    if (is_left_out(_i))
        return;
    for (size_t k = 0; k < COUNT(targets); k++) {
        kv_case t = on(&grid[_i], targets[k]);
        int64_t values[GROAT_DRIVER_ARGS];
        driven d;
        char spec[400];

        if (t.src_cols < 3 * t.depth && t.depth <= 128)
            t.ld = t.src_cols = 3 * t.depth;
        spec_of("stream", &t, spec, sizeof(spec));
        drive_defaults(driver, values);
        values[drive_argument(driver, "valid_rows")] = 5 * t.BN + 7;
        values[drive_argument(driver, "first_row")] = 2;
        values[drive_argument(driver, "block_step")] = 2;
        drive_run(context, driver, spec, targets[k], values, 5, &d);
        ck_assert_msg(memcmp(d.buffers[2], d.want, d.plan.buffers[2].bytes) ==
                          0,
                      "%s on %s", spec, targets[k]);
        drive_free(&d);
        /* The driver's image: three key blocks and fewer rows than those. */
        spec_of("image", &t, spec, sizeof(spec));
        drive_run(context, driver, spec, targets[k], values, 6, &d);
        ck_assert_msg(memcmp(d.buffers[2], d.want, d.plan.buffers[2].bytes) ==
                          0,
                      "%s on %s", spec, targets[k]);
        drive_free(&d);
    }
}
END_TEST

/* ---- attention ---------------------------------------------------------- */

/* -3 .. 3 in 16 bits, without a conversion. */
static int64_t whole(bool f16, uint16_t bits)
{
    static const uint16_t bf16_of[] = {0x0000, 0x3f80, 0x4000, 0x4040};
    static const uint16_t f16_of[] = {0x0000, 0x3c00, 0x4000, 0x4200};

    for (int n = 0; n < 4; n++)
        if ((bits & 0x7fff) == (f16 ? f16_of[n] : bf16_of[n]))
            return bits & 0x8000 ? -n : n;
    ck_abort_msg("0x%04x is no whole number from -3 to 3", bits);
    return 0;
}

/* A whole number to 8 (bf16) or 11 (f16) binary digits, ties to even. */
static int64_t to_digits(bool f16, int64_t x)
{
    int64_t size = x < 0 ? -x : x;
    int64_t unit = 1;

    while (size / unit >= (f16 ? 2048 : 256))
        unit *= 2;
    size = (size + unit / 2 - (unit > 1 && size / unit % 2 == 0)) / unit * unit;
    return x < 0 ? -size : size;
}

static void check_integers(const kv_case *t, const driven *d, bool f16)
{
    const uint16_t *k = d->buffers[0];
    const uint16_t *v = d->buffers[1];
    const uint16_t *q = d->buffers[2];
    const float *got = d->buffers[3];
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
                score +=
                    whole(f16, q[n * t->depth + c]) * whole(f16, k[at + c]);
            score = to_digits(f16, score);
            for (int64_t c = 0; c < t->depth; c++)
                sums[c] += score * whole(f16, v[at + c]);
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
    int64_t values[GROAT_DRIVER_ARGS];
    driven d;
    char spec[440];

    spec_of("attention", t, spec, sizeof(spec));
    (void)snprintf(spec + strlen(spec), sizeof(spec) - strlen(spec),
                   ",dtype=%s", f16 ? "f16" : "bf16");
    drive_defaults(driver, values);
    values[drive_argument(driver, "valid_rows")] = t->rows;
    values[drive_argument(driver, "first_row")] = t->first_row;
    values[drive_argument(driver, "first_col")] = t->first_col;
    values[drive_argument(driver, "queries")] = queries;
    values[drive_argument(driver, "real")] = real;
    drive_run(context, driver, spec, target, values, 9, &d);
    ck_assert_int_eq(d.allowed != NULL, real);
    ck_assert_msg(kv_wrong_float(&d) == SIZE_MAX,
                  "%s on %s: number %zu is %g, not %g", spec, target,
                  kv_wrong_float(&d),
                  (double)((float *)d.buffers[3])[kv_wrong_float(&d)],
                  (double)((float *)d.want)[kv_wrong_float(&d)]);
    if (!real)
        check_integers(t, &d, f16);
    drive_free(&d);
}

/* _i: case and number type.  One key block, an odd and an even number of them,
 * the last of them partial; no key at all; waves without a query. */
START_TEST(attention_is_exact)
{
    bool f16 = _i % 2 != 0;
    kv_case t = grid[_i / 2];

    for (size_t k = 0; k < COUNT(amd_targets); k++) {
        kv_case c = on(&t, amd_targets[k]);

        c.rows = c.BN;
        check_attention(&c, amd_targets[k], f16, false, 1);
        c.first_row = 3;
        c.first_col = (t.src_cols - t.depth) / 8 * 8;
        c.rows = 2 * t.BN + t.BN / 2;
        check_attention(&c, amd_targets[k], f16, false, t.mma_n + 5);
        c.rows = t.BN + 9;
        check_attention(&c, amd_targets[k], f16, true,
                        t.mma_n * t.warps + t.mma_n / 2);
    }
    t = on(&t, amd_targets[_i % 3]);
    t.rows = 0;
    check_attention(&t, amd_targets[_i % 3], f16, false, 3);
}
END_TEST

/* Scores beyond 8 digits are rounded, so rounding is seen. */
START_TEST(scores_are_rounded)
{
    kv_case t = {0, 32, 64, 32, 448, 448, 448, 2, 16, 16, 3, 0, 4, 0, 0, 0, 0};
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
    int64_t values[GROAT_DRIVER_ARGS];
    double worst = 0;
    driven d;

    drive_defaults(driver, values);
    values[drive_argument(driver, "real")] = 1;
    drive_run(context, driver, "kv_buffer_pipelined:BN=32,depth=64,num_warps=2",
              "cpu:gfx950", values, 1, &d);
    ck_assert_uint_eq(kv_wrong_float(&d), SIZE_MAX);
    for (size_t i = 0; i < d.plan.buffers[3].bytes / sizeof(float); i++) {
        double off = fabs((double)((float *)d.buffers[3])[i] -
                          (double)((float *)d.want)[i]);

        worst = off > worst ? off : worst;
        ck_assert(d.allowed[i] < 0x1p-5);
    }
    ck_assert(worst > 0);
    ((float *)d.buffers[3])[7] += 2 * d.allowed[7];
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

    t.BN = 32 * (1 + pick(4));
    t.BK = (int64_t)32 << pick(3);
    t.WN = t.BN;
    t.depth = 32 * (1 + pick(6));
    t.src_cols = t.depth + 8 * pick(20);
    t.ld = t.src_cols + 8 * pick(4);
    t.warps = 1 + pick(8);
    t.mma_n = 16 << pick(2);
    t.mma_bytes = 8 << pick(2);
    if (pick(4) != 0) {
        t.bits = 1 + pick(3);
        t.base = pick(4);
        t.shift = t.bits + pick(3);
        if (pick(4) == 0)
            t.shift = -t.shift;
    }
    t.rows = pick(4 * t.BN);
    t.first_col = pick((t.src_cols - t.depth) / 8 + 1) * 8;
    return t;
}

/* Draws until the rules say yes; a spec they accept must be right. */
START_TEST(random_specs)
{
    if (is_left_out(_i))
        return;
    int legal = 0;

    random_state = 20260100u + (uint64_t)_i;
    for (int draws = 0; legal < 6; draws++) {
        const char *target = targets[pick(3)];
        bool amd = strstr(target, "gfx") != NULL;
        kv_case t = random_case();
        groat_spec *spec = NULL;
        char text[400];

        ck_assert_int_lt(draws, 40000);
        spec_of(amd ? "attention" : "image", &t, text, sizeof(text));
        if (groat_spec_parse(context, text, target, &spec, NULL) != GROAT_OK)
            continue;
        groat_spec_free(spec);
        check_image(&t, target, 1 + pick(4));
        if (amd)
            check_attention(&t, target, pick(2) != 0, pick(2) != 0,
                            1 + pick(50));
        legal++;
    }
}
END_TEST

/* ---- plans -------------------------------------------------------------- */

START_TEST(plans_are_checked)
{
    static const struct {
        const char *argument;
        int64_t value;
        const char *entry;
        const char *words;
    } bad[] = {
        {"first_col", 4, "image", "multiple of 8"},
        {"first_col", 8, "attention", "may not pass src_cols"},
        {"heads", 2, "stream", "may not pass src_cols"},
        {"key_blocks", 1 << 30, "attention", "2147483647 keys"},
    };

    for (size_t i = 0; i < COUNT(bad); i++) {
        int64_t values[GROAT_DRIVER_ARGS];
        groat_error error = GROAT_ERROR_INIT;
        groat_plan plan = {0};
        groat_spec *spec = NULL;
        char text[100];

        (void)snprintf(text, sizeof(text), "kv_buffer_pipelined:entry=%s",
                       bad[i].entry);
        ck_assert_int_eq(
            groat_spec_parse(context, text, "cpu:gfx950", &spec, NULL),
            GROAT_OK);
        drive_defaults(driver, values);
        ck_assert_int_eq(driver->plan(spec, values, &plan, &error), GROAT_OK);
        values[drive_argument(driver, bad[i].argument)] = bad[i].value;
        ck_assert_int_eq(driver->plan(spec, values, &plan, &error),
                         GROAT_INVALID);
        ck_assert_msg(strstr(error.text, bad[i].words) != NULL, "%s",
                      error.text);
        groat_spec_free(spec);
    }
}
END_TEST

/* ---- a device, where one is named ---------------------------------------- */

START_TEST(grid_on_device)
{
    const char *target = getenv("GROAT_TEST_TARGET");

    if (target == NULL)
        return; /* main leaves this test out then */
    check_edges(on(&grid[_i], target), target);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("kv_buffer_pipelined");
    TCase *tests = tcase_create("stages");

    tcase_set_timeout(tests, 600);
    tcase_add_checked_fixture(tests, setup, teardown);
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
