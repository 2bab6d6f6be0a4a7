/* SPDX-License-Identifier: Apache-2.0
 *
 * test_subtile_loader.c checks the loader of keys against the walk of
 * subtile.h, known images and the driver's closed form, over every parameter's
 * values, random legal specs and matrix edges; scores against sums of doubles.
 * A reader that does not match its writer must be seen to read other data.
 *
 * Cases always run on cpu targets, and on the device of GROAT_TEST_TARGET when
 * that is set.
 */
#include "tests/kernels/subtile.h"
#include "groat_tools.h"

static const char *const targets[] = {"cpu:gfx950", "cpu:gfx90a", "cpu:gfx942",
                                      "cpu:sm_90a"};

enum { TARGETS = COUNT(targets), AMD_TARGETS = TARGETS - 1 };

static uint64_t numbers;

static int pick(int below)
{
    return (int)(next_random(&numbers) % (uint64_t)below);
}

/* ---- one case ----------------------------------------------------------- */

/* Buffers of a case, filled. */
typedef struct bench {
    unsigned char *source, *queries, *expected, *out;
    float *allowed;
} bench;

static bool is_fnuz(const char *target)
{
    return strstr(target, "gfx942") != NULL;
}

static bench make_bench(const k_case *t, const char *target, bool whole)
{
    bench b = {malloc(k_source_bytes(t) + 1), malloc(k_query_bytes(t) + 1),
               malloc(k_output_bytes(t)), malloc(k_output_bytes(t)),
               calloc(k_output_bytes(t), 1)};

    ck_assert(b.source && b.queries && b.expected && b.out && b.allowed);
    k_fill(t, is_fnuz(target), whole, b.source, k_source_bytes(t), &numbers);
    k_fill(t, is_fnuz(target), whole, b.queries, k_query_bytes(t), &numbers);
    k_expect(t, is_fnuz(target), b.source, b.queries, b.expected, b.allowed);
    return b;
}

static void free_bench(bench *b)
{
    free(b->source);
    free(b->queries);
    free(b->expected);
    free(b->out);
    free(b->allowed);
}

/* Counts wrong outputs: bytes, or scores that are off by more than allowed. */
static size_t wrong_in(const k_case *t, const bench *b, size_t *first)
{
    const float *want = (const float *)(const void *)b->expected;
    const float *got = (const float *)(const void *)b->out;
    size_t unit = t->entry == K_SCORES ? sizeof(float) : 1;
    size_t wrong = 0;

    for (size_t i = k_output_bytes(t) / unit; i-- > 0;)
        if (t->entry == K_SCORES ? !(fabsf(want[i] - got[i]) <= b->allowed[i])
                                 : b->expected[i] != b->out[i]) {
            wrong++;
            *first = i;
        }
    return wrong;
}

static void check_numbers(const k_case *t, const char *target, bool whole)
{
    bench b = make_bench(t, target, whole);
    char text[400];
    size_t first = 0;
    size_t wrong;

    k_run(drive_context, target, t, b.source, b.queries, b.out);
    wrong = wrong_in(t, &b, &first);
    k_spec(t, text, sizeof(text));
    ck_assert_msg(wrong == 0,
                  "%s on %s, %d valid rows from %d, column %d, scalar offset "
                  "%d, %d x %d tiles, %d queries: %zu are wrong, the first is "
                  "%zu",
                  text, target, (int)t->valid_rows, (int)t->first_row,
                  t->first_col, t->scalar_offset, t->row_tiles, t->heads,
                  t->queries, wrong, first);
    free_bench(&b);
}

static void check_case(const k_case *t, const char *target)
{
    check_numbers(t, target, true);
    if (t->entry == K_SCORES)
        check_numbers(t, target, false);
}

/* ---- known images ------------------------------------------------------- */

/* Images of source_byte by an instruction-level model of the bursts, written in
 * another language (M0, soffset, voffset, range check per dword), with the
 * chains Swizzle(1,0,4), (1,1,4) and (1,1,4), (1,0,6) on a vector's index in
 * its subtile; each equals the image of its 4-byte bursts.  soffset is
 * scalar_offset + first_col * element size, num_records that of valid_rows x
 * src_cols.  The parameters are those of the row. */
#define KNOWN(...)                                                             \
    {                                                                          \
        .reader = -1, .mma_m = 32, .stages = 1, .row_tiles = 1, .heads = 1,    \
        .row_step = 1, .queries = 1, __VA_ARGS__                               \
    }

static const struct {
    k_case t;
    uint32_t crc;
    uint64_t fnv;
    struct {
        int at;
        int value;
    } bytes[3];
} known[] = {
    {KNOWN(.bn = 64, .depth = 128, .src_cols = 128, .ld = 128, .warps = 8,
           .swizzle = K_CHAINED, .valid_rows = 64),
     0xe523af6e,
     0xbc0748fb39afe031,
     {{272, 0x3c}, {2825, 0x7a}, {16383, 0xfd}}},
    {KNOWN(.bn = 64, .depth = 128, .src_cols = 128, .ld = 128, .warps = 8,
           .swizzle = K_HIPKITTENS, .valid_rows = 64),
     0x89fe539b,
     0x1792ea61d3cc2ec9,
     {{272, 0x9b}, {2825, 0x1c}, {16383, 0xfd}}},
    {KNOWN(.bn = 64, .depth = 64, .src_cols = 512, .ld = 512, .warps = 8,
           .swizzle = K_CHAINED, .valid_rows = 50, .first_col = 64),
     0xe54ae748,
     0x3fb81984aa258898,
     {{545, 0x31}, {4897, 0xcf}, {8191, 0x00}}},
    {KNOWN(.bn = 96, .depth = 256, .src_cols = 512, .ld = 528, .warps = 3,
           .swizzle = K_HIPKITTENS, .valid_rows = 77, .first_col = 256,
           .scalar_offset = 5280),
     0xef017ecd,
     0x21fdf9b60128f67e,
     {{0, 0xb2}, {25377, 0x55}, {49151, 0x00}}},
    {KNOWN(.dtype = K_FP8, .bn = 128, .depth = 128, .src_cols = 576, .ld = 576,
           .warps = 8, .swizzle = K_CHAINED, .valid_rows = 128,
           .first_col = 128),
     0x86a03243,
     0x7deac64ad9e3f454,
     {{1025, 0x22}, {8993, 0x96}, {16383, 0x8a}}},
    {KNOWN(.dtype = K_FP8, .bn = 128, .depth = 64, .src_cols = 192, .ld = 208,
           .warps = 4, .swizzle = K_HIPKITTENS, .valid_rows = 100,
           .first_col = 64, .scalar_offset = 464),
     0x679691c3,
     0x86266507f1225f56,
     {{1555, 0xbb}, {4897, 0x15}, {8191, 0x00}}},
    {KNOWN(.bn = 64, .depth = 256, .src_cols = 256, .ld = 256, .warps = 16,
           .swizzle = K_CHAINED, .valid_rows = 64),
     0x9726277b,
     0x3b43befb2a822f80,
     {{2047, 0xc5}, {17185, 0xd9}, {32767, 0xe8}}},
};

START_TEST(known_images)
{
    const k_case *t = &known[_i].t;
    size_t bytes = (size_t)k_tile_bytes(t);
    unsigned char *source = malloc(k_source_bytes(t));
    unsigned char *image = malloc(bytes);

    ck_assert(source != NULL && image != NULL);
    source_bytes(source, k_source_bytes(t), t->ld * k_elem(t), 0);
    k_walk(t, source, 0, 0, image);
    for (int k = 0; k < 3; k++)
        ck_assert_int_eq(image[known[_i].bytes[k].at],
                         known[_i].bytes[k].value);
    ck_assert_uint_eq(crc32_of(image, bytes), known[_i].crc);
    ck_assert_uint_eq(fnv1a_of(image, bytes), known[_i].fnv);
    for (size_t k = 0; k < TARGETS; k++) {
        k_run(drive_context, targets[k], t, source, NULL, image);
        ck_assert_uint_eq(crc32_of(image, bytes), known[_i].crc);
    }
    free(source);
    free(image);
}
END_TEST

/* ---- readers and writers ------------------------------------------------ */

/* Counts the vectors of a full tile's fragments that differ from the keys'. */
static size_t scrambled(const k_case *t, const unsigned char *source,
                        const unsigned char *read)
{
    int64_t step_bytes = K_LANES / t->mma_m * k_fragment_bytes(t);
    size_t wrong = 0;

    for (int64_t block = 0; block < t->bn / t->mma_m; block++)
        for (int64_t step = 0; step < k_row_bytes(t) / step_bytes; step++)
            for (int64_t lane = 0; lane < K_LANES; lane++)
                for (int64_t b = 0; b < k_fragment_bytes(t); b += 16) {
                    int64_t row;
                    int64_t col;

                    k_lane(t, block, step, lane, &row, &col);
                    wrong +=
                        memcmp(read, source + row * t->ld * k_elem(t) + col + b,
                               16) != 0;
                    read += 16;
                }
    return wrong;
}

/* _i: dtype, depth, rows of the instruction, writer, reader. */
static bool pairing(int i, k_case *t)
{
    static const int depths[] = {64, 128, 256};

    *t = k_one_tile();
    t->entry = K_FRAGMENTS;
    t->dtype = i % 3;
    t->depth = t->src_cols = t->ld = depths[i / 3 % 3];
    t->mma_m = i / 9 % 2 == 0 ? 32 : 16;
    t->swizzle = i / 18 % 2;
    t->reader = i / 36 % 2;
    return t->dtype != K_FP8 || t->depth != 64 || t->mma_m != 16;
}

enum { PAIRINGS = 72 };

/* A reader undoes its writer's swizzle.  The two swizzles differ in each key of
 * which bits 2 and 4 differ: with the other reader exactly half of the vectors
 * are wrong, in the kernel as in the walk. */
START_TEST(readers_undo_their_writers)
{
    k_case t;
    bench b;
    size_t first;

    if (!pairing(_i, &t))
        return;
    b = make_bench(&t, targets[0], true);
    ck_assert_uint_eq(scrambled(&t, b.source, b.expected),
                      t.reader == t.swizzle ? 0
                                            : (size_t)k_tile_bytes(&t) / 32);
    if (t.depth == 128) {
        k_run(drive_context, targets[_i % (int)TARGETS], &t, b.source, NULL,
              b.out);
        ck_assert_uint_eq(wrong_in(&t, &b, &first), 0);
    }
    free_bench(&b);
}
END_TEST

/* Both readers read every vector of a tile exactly once. */
START_TEST(readers_are_bijections)
{
    unsigned char *seen;
    k_case t;

    if (!pairing(_i, &t))
        return;
    seen = calloc(1, (size_t)k_tile_bytes(&t));
    ck_assert_ptr_nonnull(seen);
    for (int64_t row = 0; row < t.bn; row++)
        for (int64_t col = 0; col < k_row_bytes(&t); col += 16) {
            int64_t at = k_address(&t, t.reader, row, col);

            ck_assert_int_lt(at, k_tile_bytes(&t));
            ck_assert_int_eq(seen[at]++, 0);
        }
    free(seen);
}
END_TEST

/* ---- edges -------------------------------------------------------------- */

/* The grid: every dtype, depth and chain, odd shapes, numbers of waves that are
 * no power of two, wider strides, several heads. */
static const k_case grid[] = {
    {.bn = 64, .depth = 128, .src_cols = 256, .ld = 256, .warps = 8},
    {.bn = 64,
     .depth = 128,
     .src_cols = 256,
     .ld = 272,
     .warps = 2,
     .swizzle = 1},
    {.bn = 32, .depth = 64, .src_cols = 192, .ld = 192, .warps = 1},
    {.bn = 96, .depth = 64, .src_cols = 64, .ld = 72, .warps = 6, .swizzle = 1},
    {.bn = 160, .depth = 128, .src_cols = 128, .ld = 128, .warps = 5},
    {.bn = 32, .depth = 256, .src_cols = 512, .ld = 512, .warps = 16},
    {.bn = 96, .depth = 256, .src_cols = 256, .ld = 320, .warps = 12},
    {.bn = 64, .depth = 64, .src_cols = 128, .ld = 128, .warps = 8, .dtype = 1},
    {.bn = 224,
     .depth = 64,
     .src_cols = 64,
     .ld = 64,
     .warps = 7,
     .dtype = 1,
     .swizzle = 1},
    {.bn = 128,
     .depth = 128,
     .src_cols = 576,
     .ld = 576,
     .warps = 8,
     .dtype = 2},
    {.bn = 64,
     .depth = 256,
     .src_cols = 256,
     .ld = 272,
     .warps = 4,
     .dtype = 2,
     .swizzle = 1},
    {.bn = 96, .depth = 64, .src_cols = 64, .ld = 80, .warps = 3, .dtype = 2},
};

/* A row of the grid, with defaults for the fields that it leaves out. */
static k_case grid_case(int index, int entry)
{
    k_case t = grid[index];

    t.entry = entry;
    t.reader = -1;
    t.mma_m = entry == K_FRAGMENTS && index % 2 == 1 ? 16 : 32;
    if (t.dtype == K_FP8 && t.depth == 64)
        t.mma_m = 32;
    t.stages = 1;
    t.row_tiles = t.heads = t.row_step = t.queries = 1;
    /* As many as the counter of the narrowest copies can count. */
    if (entry == K_STREAM && k_tile_bytes(&t) <= 20480 &&
        k_tile_bytes(&t) / 1024 <= 7 * t.warps)
        t.stages = 3;
    return t;
}

static void check_edges(const char *target, int index, int entry)
{
    k_case t = grid_case(index, entry);
    const int rows[] = {0,    1,        t.bn / 2 + 1, t.bn - 1,
                        t.bn, t.bn + 1, 2 * t.bn + 3};
    int row_bytes = t.ld * (int)k_elem(&t);

    for (size_t k = 0; k < COUNT(rows); k++) {
        t.valid_rows = rows[k];
        t.first_row = k % 3 == 2 ? t.bn / 2 : 0;
        t.first_col = 0;
        t.heads = t.src_cols / t.depth;
        t.row_tiles = 3;
        t.row_step = 2;
        t.scalar_offset = 0;
        check_case(&t, target);
        t.first_row = 0;
        t.heads = 1;
        t.row_tiles = 2;
        t.row_step = 1;
        t.first_col = t.src_cols - t.depth;
        /* Whole rows, then into the neighbouring columns. */
        t.scalar_offset = (int)k * row_bytes;
        check_case(&t, target);
        t.scalar_offset += 16 * (1 + pick(row_bytes / 16 - 1));
        check_case(&t, target);
    }
}

enum { GRID = COUNT(grid) };

START_TEST(grid_on_cpu)
{
    if (is_left_out(_i))
        return;
    /* To a loader gfx90a and gfx942 are the same: run one of them. */
    for (size_t k = 0; k < TARGETS; k++)
        if (k != 1 + (size_t)_i % 2)
            check_edges(targets[k], _i % GRID, _i / GRID);
}
END_TEST

/* ---- every value of every parameter, and random specs ---------------------
 */

static int a_multiple(int of, int from, int to)
{
    return from + of * pick((to - from) / of + 1);
}

static k_case random_case(void)
{
    static const int depths[] = {64, 128, 256};
    static const int depths_of_mma[] = {0, 0, 8, 16, 32, 64, 128};
    k_case t = {.reader = -1, .mma_m = 32, .stages = 1};

    t.entry = pick(K_ENTRIES);
    t.dtype = pick(K_DTYPES);
    t.bn = a_multiple(32, 32, pick(3) == 0 ? 512 : 160);
    t.depth = depths[pick(3)];
    t.src_cols = t.depth * (1 + pick(3)) + 8 * pick(5);
    t.ld = t.src_cols + 8 * pick(5);
    t.warps = 1 + pick(16);
    t.swizzle = pick(2);
    if (t.entry == K_FRAGMENTS || t.entry == K_SCORES) {
        t.reader = pick(3) - 1;
        t.mma_m = 16 + 16 * pick(2);
    }
    if (t.entry == K_SCORES)
        t.mma_k = depths_of_mma[pick(COUNT(depths_of_mma))];
    if (t.entry == K_STREAM)
        t.stages = 1 + pick(8);
    return t;
}

/* Draws the launch arguments of a spec. */
static void random_launch(k_case *t)
{
    int heads = t->src_cols / t->depth;

    t->valid_rows = pick(2 * t->bn + 2);
    t->first_row = pick(t->bn + 1);
    t->heads = 1 + pick(heads);
    t->first_col = (t->src_cols - t->heads * t->depth) / 16 * 16;
    t->scalar_offset = pick(2) == 0 ? 0 : 16 * pick(t->ld);
    t->row_tiles = 1 + pick(3);
    t->row_step = 1 + pick(t->row_tiles);
    t->queries = 1 + pick(t->warps * t->mma_m / 2 + 40);
    /* Multiplications are slow on the judge. */
    if (t->entry == K_SCORES && t->queries > 40)
        t->queries = 40;
}

/* Runs the case if the rules allow it on a random target. */
static bool try_case(k_case *t)
{
    const char *target = targets[pick(TARGETS)];
    char text[400];

    k_spec(t, text, sizeof(text));
    if (!drive_allows(drive_context, text, target))
        return false;
    random_launch(t);
    check_case(t, target);
    return true;
}

/* A spec that the rules accept must load, read and multiply correctly. */
START_TEST(random_specs)
{
    if (is_left_out(_i))
        return;
    numbers = 20260000u + (uint64_t)_i;
    for (int legal = 0, draws = 0; legal < 12; draws++) {
        k_case t = random_case();

        ck_assert_int_lt(draws, 4000);
        legal += try_case(&t);
    }
}
END_TEST

/* Values of a field of k_case: from, to, step; step 0 doubles the value. */
static const struct {
    size_t field;
    int from, to, step;
} sweeps[] = {
    {offsetof(k_case, entry), K_IMAGE, K_SCORES, 1},
    {offsetof(k_case, dtype), K_BF16, K_FP8, 1},
    {offsetof(k_case, bn), 32, 512, 32},
    {offsetof(k_case, depth), 64, 256, 0},
    {offsetof(k_case, src_cols), 64, 65536, 0},
    {offsetof(k_case, ld), 64, 65536, 0},
    {offsetof(k_case, warps), 1, 16, 1},
    {offsetof(k_case, swizzle), K_CHAINED, K_HIPKITTENS, 1},
    {offsetof(k_case, reader), K_CHAINED, K_HIPKITTENS, 1},
    {offsetof(k_case, mma_m), 16, 32, 16},
    {offsetof(k_case, mma_k), 8, 128, 0},
    {offsetof(k_case, stages), 1, 8, 1},
};

/* Runs each value, with other fields drawn until the spec is legal. */
START_TEST(every_value)
{
    if (is_left_out(_i))
        return;
    int to = sweeps[_i].to;
    int step = sweeps[_i].step;

    numbers = (uint64_t)_i;
    for (int v = sweeps[_i].from; v <= to; v = step == 0 ? 2 * v : v + step) {
        bool legal = false;

        for (int draws = 0; !legal; draws++) {
            k_case t = random_case();

            ck_assert_msg(draws < 20000, "parameter %d is never %d", _i, v);
            memcpy((char *)&t + sweeps[_i].field, &v, sizeof(v));
            if (sweeps[_i].field == offsetof(k_case, src_cols))
                t.ld = v;
            if (sweeps[_i].field == offsetof(k_case, ld) && v < t.src_cols)
                t.src_cols = v;
            legal = try_case(&t);
        }
    }
}
END_TEST

/* ---- scores ------------------------------------------------------------- */

static k_case score_case(int i)
{
    static const int depths[] = {64, 128, 256};
    k_case t = k_one_tile();

    t.entry = K_SCORES;
    t.dtype = i % 3;
    t.mma_m = i / 3 % 2 == 0 ? 32 : 16;
    t.depth = depths[i / 6 % 3];
    if (t.dtype == K_FP8 && t.depth == 64)
        t.mma_m = 32;
    t.src_cols = t.ld = 2 * t.depth;
    t.warps = 2;
    t.swizzle = i % 2;
    t.valid_rows = t.bn + 37;
    t.row_tiles = 2;
    t.heads = 1 + i % 2;
    t.queries = (i % 4 == 0 ? 2 : 1) * t.mma_m + 5;
    return t;
}

static bool multiplies(const k_case *t, const char *target)
{
    return t->dtype != K_FP8 || strstr(target, "gfx90a") == NULL;
}

/* Whole numbers exactly, others within the bound; zeros where there is no key.
 * With the wrong reader most scores are wrong. */
START_TEST(scores_on_cpu)
{
    if (is_left_out(_i))
        return;
    for (size_t k = 0; k < AMD_TARGETS; k++) {
        k_case t = score_case(_i);
        size_t first;
        bench b;

        if (!multiplies(&t, targets[k]))
            continue;
        check_case(&t, targets[k]);
        if (k == 0) {
            /* The narrow instruction, where a wider one exists. */
            t.mma_k = (t.dtype == K_FP8 ? 512 : 256) / t.mma_m;
            check_case(&t, targets[k]);
            t.mma_k = 0;
        }
        if (k != (2 * (size_t)_i + 1) % AMD_TARGETS)
            continue;
        b = make_bench(&t, targets[k], false);
        t.reader = 1 - t.swizzle;
        k_run(drive_context, targets[k], &t, b.source, b.queries, b.out);
        ck_assert_uint_gt(wrong_in(&t, &b, &first),
                          k_output_bytes(&t) / sizeof(float) / 4);
        free_bench(&b);
    }
}
END_TEST

/* ---- the driver of groat run -------------------------------------------- */

/* The driver's closed form and bounds must equal those of the walk. */
static void check_driver(const k_case *t, const char *target, bool whole)
{
    bench b = make_bench(t, target, whole);
    drive d;

    k_open(&d, drive_context, t, target);
    k_put(&d, t, b.source, b.queries);
    drive_expect(&d);
    drive_ck_same(&d, "the closed form", d.want[d.output], b.expected,
                  k_output_bytes(t));
    ck_assert((d.allowed[d.output] != NULL) == (t->entry == K_SCORES));
    if (t->entry == K_SCORES)
        ck_assert_mem_eq(d.allowed[d.output], b.allowed, k_output_bytes(t));
    drive_close(&d);
    free_bench(&b);
}

START_TEST(closed_form_agrees)
{
    if (is_left_out(_i))
        return;
    k_case t = grid_case(_i % GRID, _i / GRID);
    const char *target = targets[t.dtype == K_FP8 ? 2 * (_i % 2) : _i % 3];

    t.valid_rows = t.bn + t.bn / 2 + 1;
    t.first_row = 5;
    t.row_tiles = 3;
    t.row_step = 2;
    t.queries = 7;
    for (int k = 0; k < 2; k++) {
        check_driver(&t, target, true);
        if (t.entry == K_SCORES)
            check_driver(&t, target, false);
        t.first_col = t.src_cols - t.depth;
        t.scalar_offset = 16 * 37;
    }
}
END_TEST

/* Returns whether all numbers are of the kind that the driver's seed
 * selects. */
static bool are_drivers(const k_case *t, bool fnuz, bool whole,
                        const unsigned char *data, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += (size_t)k_elem(t)) {
        unsigned bits = 0;
        double x;

        memcpy(&bits, data + at, (size_t)k_elem(t));
        x = fabs(k_number(t->dtype, fnuz, bits));
        if (whole ? !(x >= 1 && x <= 8 && x == floor(x))
                  : !(x >= 0.125 && x < 2))
            return false;
    }
    return true;
}

/* An even seed gives numbers with a bound of 0, an odd one does not. */
START_TEST(drivers_numbers)
{
    k_case t = score_case(_i % 18);
    const char *target = targets[_i % 2 == 0 ? 0 : 2];

    for (uint64_t seed = 0; seed < 2; seed++) {
        size_t zeros = 0;
        drive d;

        k_open(&d, drive_context, &t, target);
        drive_fill(&d, seed);
        for (size_t i = 0; i < 2; i++)
            ck_assert(are_drivers(&t, is_fnuz(target), seed == 0, d.host[i],
                                  d.plan.buffers[i].bytes));
        drive_expect(&d);
        ck_assert_ptr_nonnull(d.allowed[2]);
        for (size_t i = 0; i < k_output_bytes(&t) / sizeof(float); i++)
            zeros += d.allowed[2][i] == 0;
        /* Without a key there is no error. */
        ck_assert_uint_eq(zeros,
                          (size_t)(t.heads * t.queries) *
                              (size_t)(seed == 0 ? 2 * t.bn : t.bn - 37));
        drive_close(&d);
    }
}
END_TEST

/* One argument out of bounds at a time. */
static const struct {
    size_t field;
    int value;
    const char *words;
} refusals[] = {
    {offsetof(k_case, first_col), 4, "it must be a multiple of 8"},
    {offsetof(k_case, first_col), 136,
     "first_col is 136; the last that a tile may start at is 128"},
    {offsetof(k_case, heads), 3, "it may not pass src_cols, which is 256"},
    {offsetof(k_case, scalar_offset), 8, "it must be a multiple of 16"},
    {offsetof(k_case, scalar_offset), 2147483632,
     "offsets are 31-bit, so with these tiles it is at most"},
    {offsetof(k_case, row_tiles), 2147483647,
     "the blocks of a grid are at most"},
    {offsetof(k_case, queries), 8388608, "so it is at most 8388607"},
};

START_TEST(the_driver_refuses)
{
    k_case t = k_one_tile();
    int64_t values[GROAT_DRIVER_ARGS];
    char text[400];
    drive d;

    t.src_cols = t.ld = 256;
    t.entry = K_SCORES;
    t.heads = 2;
    k_open(&d, drive_context, &t, "cpu:gfx950");
    drive_close(&d);
    k_spec(&t, text, sizeof(text));
    memcpy((char *)&t + refusals[_i].field, &refusals[_i].value,
           sizeof(refusals[_i].value));
    k_values(&t, values);
    drive_ck_refused(drive_context, &groat_driver_subtile_loader, text, values,
                     refusals[_i].words);
}
END_TEST

/* ---- traces of the judge --------------------------------------------------
 */

typedef struct traced {
    unsigned copies, reads, reuse;
} traced;

static void listen(void *user, const groat_trace *event)
{
    traced *seen = user;

    seen->copies += event->access == GROAT_ACCESS_COPY && event->wave == 0;
    if (event->access != GROAT_ACCESS_READ)
        return;
    seen->reads += event->wave == 0;
    seen->reuse = event->reuse > seen->reuse ? event->reuse : seen->reuse;
}

static const struct {
    const char *target;
    int swizzle, mma_m;
    unsigned copies, reuse;
} traces[] = {
    /* 64 banks serve 16 neighbouring lanes at a time, 32 banks serve 8. */
    {"cpu:gfx950", K_CHAINED, 32, 4, 1},
    {"cpu:gfx950", K_CHAINED, 16, 4, 1},
    {"cpu:gfx950", K_HIPKITTENS, 32, 4, 2},
    {"cpu:gfx950", K_HIPKITTENS, 16, 4, 2},
    {"cpu:gfx942", K_CHAINED, 32, 16, 2},
    {"cpu:gfx90a", K_CHAINED, 16, 16, 2},
    {"cpu:gfx942", K_HIPKITTENS, 32, 16, 4},
    {"cpu:gfx90a", K_HIPKITTENS, 16, 16, 4},
};

/* Copies per wave are as params.def counts them; reuse is how often neighbours
 * that read a fragment use the same bank. */
START_TEST(copies_and_banks)
{
    traced seen = {0};
    groat_context *context = drive_open_context(listen, &seen);
    k_case t = k_one_tile();
    bench b;

    t.entry = K_FRAGMENTS;
    t.swizzle = traces[_i].swizzle;
    t.mma_m = traces[_i].mma_m;
    b = make_bench(&t, traces[_i].target, true);
    k_run(context, traces[_i].target, &t, b.source, NULL, b.out);
    ck_assert_uint_eq(seen.copies, traces[_i].copies);
    /* 16 fragments, 4 waves. */
    ck_assert_uint_eq(seen.reads, 4);
    ck_assert_uint_eq(seen.reuse, traces[_i].reuse);
    free_bench(&b);
    groat_close(context);
}
END_TEST

/* ---- a device, where one is named ---------------------------------------- */

START_TEST(grid_on_device)
{
    check_edges(getenv("GROAT_TEST_TARGET"), _i % GRID, _i / GRID);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("subtile_loader");
    TCase *tests = tcase_create("subtile_loader");

    tcase_set_timeout(tests, 300);
    tcase_add_checked_fixture(tests, drive_setup, drive_teardown);
    tcase_add_loop_test(tests, known_images, 0, COUNT(known));
    tcase_add_loop_test(tests, readers_undo_their_writers, 0, PAIRINGS);
    tcase_add_loop_test(tests, readers_are_bijections, 0, PAIRINGS);
    tcase_add_loop_test(tests, grid_on_cpu, 0, 3 * GRID);
    tcase_add_loop_test(tests, every_value, 0, COUNT(sweeps));
    tcase_add_loop_test(tests, random_specs, 0, 8);
    tcase_add_loop_test(tests, scores_on_cpu, 0, 18);
    tcase_add_loop_test(tests, closed_form_agrees, 0, 4 * GRID);
    tcase_add_loop_test(tests, drivers_numbers, 0, 18);
    tcase_add_loop_test(tests, the_driver_refuses, 0, COUNT(refusals));
    tcase_add_loop_test(tests, copies_and_banks, 0, COUNT(traces));
    if (getenv("GROAT_TEST_TARGET") != NULL)
        tcase_add_loop_test(tests, grid_on_device, 0, 3 * GRID);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return drive_main(make_suite());
}
