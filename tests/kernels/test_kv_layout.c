/* SPDX-License-Identifier: Apache-2.0
 *
 * test_kv_layout.c: layouts of K and V tiles, matrix descriptors, and how
 * pages cut tiles, against tables of known figures.  The tables were computed
 * independently from the formulas of the layouts and checked on an H200.
 */
#include "kernels-src/common/kv_layout.h"
#include "kernels-src/common/kv_pages.h"
#include "tests/unit/suite.h"

enum { KEYS = 128, POINTS = 10 };

/* ---- layouts ------------------------------------------------------------ */

/* A layout of 128 rows, with elements of `bytes` bytes. */
typedef struct form {
    int layout;
    unsigned bytes, span, columns;
} form;

typedef struct point {
    unsigned row, column;
    unsigned at[7]; /* in each form */
} point;

static unsigned place(const form *f, unsigned row, unsigned column)
{
    return kv_offset(f->layout, row, column * f->bytes, KEYS,
                     kv_width(f->columns * f->bytes, f->span), f->span);
}

static void check_points(const form *forms, size_t count, const point *points)
{
    for (size_t i = 0; i < POINTS; i++)
        for (size_t k = 0; k < count; k++)
            ck_assert_msg(place(&forms[k], points[i].row, points[i].column) ==
                              points[i].at[k],
                          "form %zu row %u column %u: %u, not %u", k,
                          points[i].row, points[i].column,
                          place(&forms[k], points[i].row, points[i].column),
                          points[i].at[k]);
}

START_TEST(keys)
{
    static const form forms[] = {
        {chunk_outer, 2, 128, 128}, {chunk_outer, 2, 64, 128},
        {chunk_outer, 2, 32, 128},  {chunk_outer, 2, 16, 128},
        {chunk_outer, 1, 128, 128}, {chunk_outer, 1, 64, 128},
        {chunk_inner, 2, 128, 128},
    };
    static const point points[POINTS] = {
        {0, 0, {0, 0, 0, 0, 0, 0, 0}},
        {0, 8, {16, 16, 16, 2048, 8, 8, 16}},
        {1, 0, {144, 64, 32, 16, 144, 64, 144}},
        {1, 8, {128, 80, 48, 2064, 152, 72, 128}},
        {7, 63, {910, 8654, 12526, 14462, 975, 463, 910}},
        {8, 0, {1024, 512, 256, 128, 1024, 512, 2048}},
        {9, 17, {1202, 610, 4386, 4242, 1153, 593, 2226}},
        {63, 64, {24560, 20464, 18416, 17392, 8112, 12272, 16368}},
        {77, 100, {26264, 29544, 27064, 25816, 9908, 13124, 20120}},
        {127, 127, {32654, 32718, 32750, 32766, 16271, 16335, 32654}},
    };

    check_points(forms, COUNT(forms), points);
}
END_TEST

START_TEST(values)
{
    static const form forms[] = {
        {chunk_outer, 2, 128, 128}, {chunk_inner, 2, 128, 128},
        {chunk_inner, 2, 128, 256}, {chunk_inner, 2, 16, 128},
        {chunk_outer, 2, 16, 128},
    };
    static const point points[POINTS] = {
        {0, 0, {0, 0, 0, 0, 0}},
        {0, 64, {16384, 1024, 1024, 1024, 16384}},
        {1, 0, {144, 144, 144, 16, 16}},
        {1, 9, {130, 130, 130, 146, 2066}},
        {7, 127, {17294, 1934, 1934, 2046, 30846}},
        {8, 0, {1024, 2048, 4096, 2048, 128}},
        {13, 70, {18140, 3804, 5852, 3164, 16604}},
        {64, 64, {24576, 17408, 33792, 17408, 17408}},
        {100, 33, {12802, 25090, 49666, 25154, 9794}},
        {127, 127, {32654, 32654, 63374, 32766, 32766}},
    };

    check_points(forms, COUNT(forms), points);
}
END_TEST

/* _i: layout and span.  No two bytes of a tile have the same offset. */
START_TEST(no_two_bytes_share_a_place)
{
    enum { ROWS = 64, WIDTH = 512 };
    static unsigned char seen[ROWS * WIDTH];
    unsigned span = 16u << _i % 4;

    memset(seen, 0, sizeof(seen));
    for (unsigned row = 0; row < ROWS; row++)
        for (unsigned b = 0; b < WIDTH; b++) {
            unsigned at = kv_offset(_i / 4, row, b, ROWS, WIDTH, span);

            if (at >= sizeof(seen) || seen[at]++ != 0)
                ck_abort_msg("row %u byte %u at %u", row, b, at);
            if (kv_swizzle(kv_swizzle(at, span), span) != at)
                ck_abort_msg("the swizzle of %u is not its own inverse", at);
        }
}
END_TEST

/* A head of one chunk has the same offsets in both layouts. */
START_TEST(layouts_of_one_chunk_agree)
{
    for (unsigned row = 0; row < KEYS; row++)
        for (unsigned b = 0; b < 128; b++)
            ck_assert_uint_eq(kv_offset(chunk_outer, row, b, KEYS, 128, 128),
                              kv_offset(chunk_inner, row, b, KEYS, 128, 128));
}
END_TEST

/* ---- matrix descriptors ------------------------------------------------- */

/* A tile as an operand: k-major along the depth (K), mn-major (V). */
typedef struct operand {
    bool mn;
    form f;
    unsigned rows;
} operand;

static struct kv_strides strides(const operand *o)
{
    unsigned width = o->f.columns * o->f.bytes;

    return o->mn ? kv_strides_mn_major(o->f.layout, o->rows, width, o->f.span)
                 : kv_strides_k_major(o->f.layout, o->rows, width, o->f.span);
}

START_TEST(strides_of_operands)
{
    static const struct {
        operand o;
        unsigned lbo, sbo;
    } known[] = {
        {{false, {chunk_outer, 2, 128, 128}, 128}, 16, 1024},
        {{false, {chunk_outer, 2, 64, 128}, 128}, 16, 512},
        {{false, {chunk_outer, 2, 32, 128}, 128}, 16, 256},
        {{false, {chunk_outer, 2, 16, 128}, 128}, 2048, 128},
        {{false, {chunk_inner, 2, 128, 128}, 128}, 16, 2048},
        {{true, {chunk_outer, 2, 128, 128}, 128}, 16384, 1024},
        {{true, {chunk_inner, 2, 128, 128}, 128}, 1024, 2048},
        {{true, {chunk_outer, 2, 128, 256}, 64}, 8192, 1024},
        {{true, {chunk_inner, 2, 128, 256}, 64}, 1024, 4096},
        {{true, {chunk_outer, 2, 128, 64}, 256}, 32768, 1024},
        /* Without a swizzle the two strides change places. */
        {{true, {chunk_outer, 2, 16, 128}, 128}, 128, 2048},
        {{true, {chunk_outer, 2, 16, 64}, 64}, 128, 1024},
    };

    for (size_t i = 0; i < COUNT(known); i++) {
        ck_assert_uint_eq(strides(&known[i].o).lbo, known[i].lbo);
        ck_assert_uint_eq(strides(&known[i].o).sbo, known[i].sbo);
    }
}
END_TEST

START_TEST(words_of_descriptors)
{
    enum { BASE = 0x10800 };
    static const operand k128 = {false, {chunk_outer, 2, 128, 128}, 128};
    static const operand k64 = {false, {chunk_outer, 2, 64, 128}, 128};
    static const operand k16 = {false, {chunk_outer, 2, 16, 128}, 128};
    static const operand dense = {false, {chunk_inner, 2, 128, 128}, 128};
    static const operand outer = {true, {chunk_outer, 2, 128, 128}, 128};
    static const operand inner = {true, {chunk_inner, 2, 128, 128}, 128};
    static const struct {
        const operand *o;
        unsigned element, advance;
        unsigned long long word_90, word_100;
    } known[] = {
        {&k128, 0, 0, 0x4000004000011080, 0x4000404000011080},
        {&k128, 16, 32, 0x4000004000011082, 0x4000404000011082},
        {&k128, 48, 96, 0x4000004000011086, 0x4000404000011086},
        {&k128, 64, 16384, 0x4000004000011480, 0x4000404000011480},
        {&k128, 112, 16480, 0x4000004000011486, 0x4000404000011486},
        {&k64, 16, 32, 0x8000002000011082, 0x8000402000011082},
        {&k64, 32, 8192, 0x8000002000011280, 0x8000402000011280},
        {&k16, 16, 4096, 0x0000000800801180, 0x0000400800801180},
        {&dense, 64, 1024, 0x40000080000110c0, 0x40004080000110c0},
        {&outer, 0, 0, 0x4000004004001080, 0x4000404004001080},
        {&outer, 16, 2048, 0x4000004004001100, 0x4000404004001100},
        {&outer, 112, 14336, 0x4000004004001400, 0x4000404004001400},
        {&inner, 0, 0, 0x4000008000401080, 0x4000408000401080},
        {&inner, 16, 4096, 0x4000008000401180, 0x4000408000401180},
        {&inner, 112, 28672, 0x4000008000401780, 0x4000408000401780},
    };

    for (size_t i = 0; i < COUNT(known); i++) {
        const operand *o = known[i].o;
        unsigned at =
            kv_plain_offset(o->f.layout, o->mn ? known[i].element : 0,
                            o->mn ? 0 : known[i].element * o->f.bytes, o->rows,
                            o->f.columns * o->f.bytes, o->f.span);

        ck_assert_uint_eq(at, known[i].advance);
        ck_assert_uint_eq(kv_matrix_word_90(BASE + at, strides(o), o->f.span),
                          known[i].word_90);
        ck_assert_uint_eq(kv_matrix_word_100(BASE + at, strides(o), o->f.span),
                          known[i].word_100);
    }
}
END_TEST

/* ---- pages -------------------------------------------------------------- */

static void check_part(struct kv_part got, const int want[5], const char *what)
{
    ck_assert_msg(got.tile == want[0] && got.box == want[1] &&
                      got.pages == want[2] && got.first == want[3] &&
                      got.intra == want[4],
                  "%s: %d %d %d %d %d", what, got.tile, got.box, got.pages,
                  got.first, got.intra);
}

/* Parts of K: whole, of a pair's leader and peer; of V: whole, in two parts. */
static const struct {
    int BN, page;
    int part[6][5];
} known_parts[] = {
    {128,
     0,
     {{128, 128, 1, 0, 0},
      {64, 64, 1, 0, 0},
      {64, 64, 1, 0, 64},
      {128, 128, 1, 0, 0},
      {64, 64, 1, 0, 0},
      {64, 64, 1, 0, 64}}},
    {128,
     16,
     {{128, 16, 8, 0, 0},
      {64, 16, 4, 0, 0},
      {64, 16, 4, 4, 0},
      {128, 16, 8, 0, 0},
      {64, 16, 4, 0, 0},
      {64, 16, 4, 4, 0}}},
    {128,
     64,
     {{128, 64, 2, 0, 0},
      {64, 64, 1, 0, 0},
      {64, 64, 1, 1, 0},
      {128, 64, 2, 0, 0},
      {64, 64, 1, 0, 0},
      {64, 64, 1, 1, 0}}},
    {128,
     128,
     {{128, 128, 1, 0, 0},
      {64, 64, 1, 0, 0},
      {64, 64, 1, 0, 64},
      {128, 128, 1, 0, 0},
      {64, 64, 1, 0, 0},
      {64, 64, 1, 0, 64}}},
    {128,
     256,
     {{128, 128, 1, 0, 0},
      {64, 64, 1, 0, 0},
      {64, 64, 1, 0, 64},
      {128, 128, 1, 0, 0},
      {64, 64, 1, 0, 0},
      {64, 64, 1, 0, 64}}},
    {256,
     64,
     {{256, 64, 4, 0, 0},
      {128, 64, 2, 0, 0},
      {128, 64, 2, 2, 0},
      {256, 64, 4, 0, 0},
      {128, 64, 2, 0, 0},
      {128, 64, 2, 2, 0}}},
    {256,
     128,
     {{256, 128, 2, 0, 0},
      {128, 128, 1, 0, 0},
      {128, 128, 1, 1, 0},
      {256, 128, 2, 0, 0},
      {128, 128, 1, 0, 0},
      {128, 128, 1, 1, 0}}},
    {256,
     256,
     {{256, 256, 1, 0, 0},
      {128, 128, 1, 0, 0},
      {128, 128, 1, 0, 128},
      {256, 256, 1, 0, 0},
      {128, 128, 1, 0, 0},
      {128, 128, 1, 0, 128}}},
};

START_TEST(parts_of_tiles)
{
    for (size_t i = 0; i < COUNT(known_parts); i++) {
        int BN = known_parts[i].BN;
        int page = known_parts[i].page;
        const int(*part)[5] = known_parts[i].part;

        check_part(kv_part_k(BN, page, 0, 0), part[0], "K alone");
        check_part(kv_part_k(BN, page, 1, 0), part[1], "K of the leader");
        check_part(kv_part_k(BN, page, 1, 1), part[2], "K of the peer");
        check_part(kv_part_v(BN, page, 1, 0), part[3], "V");
        check_part(kv_part_v(BN, page, 2, 0), part[4], "V, first part");
        check_part(kv_part_v(BN, page, 2, 1), part[5], "V, second part");
    }
}
END_TEST

START_TEST(entries_read_at_once)
{
    static const struct {
        int BN, page, alignment, pages, vector;
    } known[] = {
        {128, 16, 128, 8, 8},  {128, 32, 128, 4, 4},  {128, 64, 128, 2, 2},
        {128, 128, 128, 1, 0}, {128, 256, 128, 1, 0}, {256, 16, 128, 16, 8},
        {256, 64, 128, 4, 2},  {256, 128, 128, 2, 1}, {64, 16, 64, 4, 4},
        {64, 64, 64, 1, 0},    {64, 128, 64, 1, 0},   {192, 64, 64, 3, 1},
        {128, 0, 128, 1, 0},   {256, 16, 16, 16, 1},
    };

    for (size_t i = 0; i < COUNT(known); i++) {
        int pages = known[i].BN / kv_box_rows(known[i].BN, known[i].page);

        ck_assert_int_eq(pages, known[i].pages);
        ck_assert_int_eq(
            kv_table_vector(pages, known[i].page, known[i].alignment),
            known[i].vector);
    }
}
END_TEST

START_TEST(columns_of_page_tables)
{
    static const int known[][2] = {
        {1, 24},  {7, 24},  {8, 24},    {9, 32},      {16, 32},
        {63, 80}, {64, 80}, {100, 120}, {1000, 1016}, {8192, 8208},
    };

    for (size_t i = 0; i < COUNT(known); i++)
        ck_assert_int_eq(kv_table_columns(known[i][0]), known[i][1]);
}
END_TEST

START_TEST(windows_of_partitions)
{
    static const struct {
        int keys, partitions;
        int ends[8][2];
    } known[] = {
        {1000, 4, {{0, 256}, {256, 512}, {512, 768}, {768, 1000}}},
        {1000,
         8,
         {{0, 128},
          {128, 256},
          {256, 384},
          {384, 512},
          {512, 640},
          {640, 768},
          {768, 896},
          {896, 1000}}},
        {129, 4, {{0, 128}, {128, 129}, {129, 129}, {129, 129}}},
        {128, 2, {{0, 128}, {128, 128}}},
        {4096,
         6,
         {{0, 768},
          {768, 1536},
          {1536, 2304},
          {2304, 3072},
          {3072, 3840},
          {3840, 4096}}},
        {0, 2, {{0, 0}, {0, 0}}},
    };

    for (size_t i = 0; i < COUNT(known); i++)
        for (int p = 0; p < known[i].partitions; p++) {
            struct kv_window w =
                kv_window_of(known[i].keys, known[i].partitions, p, 128);

            ck_assert_int_eq(w.first, known[i].ends[p][0]);
            ck_assert_int_eq(w.end, known[i].ends[p][1]);
        }
}
END_TEST

/* 128 keys of 256 bytes to a tile. */
START_TEST(pages_that_hold_keys)
{
    static const struct {
        int keys, row, page, valid, bytes;
    } known[] = {
        {1, 0, 16, 1, 4096},
        {16, 0, 16, 1, 4096},
        {17, 0, 16, 2, 8192},
        {127, 0, 16, 8, 32768},
        {128, 0, 16, 8, 32768},
        {200, 128, 16, 5, 20480},
        {200, 128, 32, 3, 24576},
        {200, 128, 64, 2, 32768},
        {193, 128, 64, 2, 32768},
        {192, 128, 64, 1, 16384},
        {128, 128, 64, 0, 0},
        {300, 256, 32, 2, 16384},
        /* A tile that begins behind the last key has no page: the count must
         * not wrap. */
        {0, 0, 16, 0, 0},
        {100, 256, 16, 0, 0},
        {1 << 30, 0, 16, 8, 32768},
    };

    for (size_t i = 0; i < COUNT(known); i++) {
        int valid = kv_valid_pages(known[i].keys, known[i].row,
                                   128 / known[i].page, known[i].page);

        ck_assert_int_eq(valid, known[i].valid);
        ck_assert_int_eq(valid * known[i].page * 256, known[i].bytes);
    }
}
END_TEST

START_TEST(folds)
{
    static const struct {
        int bytes, span, cols, head, box, slot, page, inner, fold;
    } known[] = {
        {2, 128, 128, 128, 128, 128, 128, 0, 2},
        {2, 128, 128, 128, 64, 128, 64, 0, 1},
        {2, 128, 128, 128, 64, 128, 64, 1, 2},
        {2, 128, 64, 128, 128, 128, 128, 0, 1},
        {2, 128, 128, 127, 128, 128, 0, 0, 1},
        {2, 128, 128, 256, 128, 128, 256, 0, 2},
        {2, 128, 128, 128, 4, 128, 4, 1, 1},
        {1, 64, 128, 128, 128, 128, 0, 0, 2},
        {2, 128, 256, 256, 64, 64, 64, 0, 4},
        {2, 128, 128, 512, 128, 128, 64, 0, 1},
    };

    for (size_t i = 0; i < COUNT(known); i++)
        ck_assert_int_eq(
            kv_fold_chunks(known[i].cols, known[i].span / known[i].bytes,
                           known[i].head, known[i].box, known[i].slot,
                           known[i].page, known[i].inner),
            known[i].fold);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kv_layout");
    TCase *tests = tcase_create("kv_layout");

    tcase_add_test(tests, keys);
    tcase_add_test(tests, values);
    tcase_add_loop_test(tests, no_two_bytes_share_a_place, 0, 8);
    tcase_add_test(tests, layouts_of_one_chunk_agree);
    tcase_add_test(tests, strides_of_operands);
    tcase_add_test(tests, words_of_descriptors);
    tcase_add_test(tests, parts_of_tiles);
    tcase_add_test(tests, entries_read_at_once);
    tcase_add_test(tests, columns_of_page_tables);
    tcase_add_test(tests, windows_of_partitions);
    tcase_add_test(tests, pages_that_hold_keys);
    tcase_add_test(tests, folds);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
