/* SPDX-License-Identifier: Apache-2.0
 *
 * test_paged_row_cases.c: known mistakes of loaders of this kind, each with a
 * launch that would show it; refusals and their messages; and the machine code
 * of the copies, where NVRTC is found.
 */
#include "kernels-src/common/kv_pages.h"
#include "tests/kernels/grid.h"
#include "tests/kernels/rows_rig.h"
#include "tests/kernels/sass.h"

enum { POISON = 0xCD };

static const rows_how plain = {3, NULL, NULL};

/* ---- defects --------------------------------------------------------------
 */

/* Bytes of a block's output. */
static const unsigned char *bytes_of(const drive *d, int64_t x, int64_t y)
{
    return (const unsigned char *)rows_words(d, x, y);
}

static bool all_are(const unsigned char *bytes, int64_t count, int value)
{
    for (int64_t i = 0; i < count; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

/* _i: the issuer.  A sequence without keys: nothing of K is issued or expected,
 * V is zeros, and no barrier waits for ever. */
START_TEST(no_keys)
{
    static const char *const by[] = {"one", "lanes", "threads"};
    char spec[ROWS_SPEC];
    drive d;

    (void)snprintf(spec, sizeof(spec), "partial=1,issue=%s", by[_i]);
    rows_run(spec, "keys=0 batch=1 heads=1 tiles=1", &plain, &d);
    ck_assert(all_are(bytes_of(&d, 0, 0), 32768, POISON));
    ck_assert(all_are(bytes_of(&d, 0, 0) + 32768, 32768, 0));
    drive_close(&d);
    (void)snprintf(spec, sizeof(spec),
                   "entry=stream,partial=1,v_fill=0,issue=%s", by[_i]);
    rows_run(spec, "keys=0 tiles=5 blocks=1", &plain, &d);
    ck_assert(
        all_are(bytes_of(&d, 0, 0), (int64_t)d.plan.buffers[OUTPUT].bytes, 0));
    drive_close(&d);
}
END_TEST

/* Tiles that begin behind the last key have no page: a count that wrapped would
 * copy all of their pages. */
START_TEST(tiles_behind_the_last_key)
{
    drive d;

    rows_run("partial=1,v_fill=0,page_size=32",
             "keys=130 batch=1 heads=1 tiles=4", &plain, &d);
    ck_assert(!all_are(bytes_of(&d, 0, 0), 65536, POISON));
    for (int64_t x = 2; x < 4; x++)
        ck_assert(all_are(bytes_of(&d, x, 0), 65536, POISON));
    /* Tile 1 has one page of two keys. */
    ck_assert(!all_are(bytes_of(&d, 1, 0), 32 * 128, POISON));
    ck_assert(all_are(bytes_of(&d, 1, 0) + 32 * 128, 96 * 128, POISON));
    drive_close(&d);
}
END_TEST

/* A missing page leaves zeros in V, not the data of an earlier tile. */
START_TEST(missing_pages_become_zeros)
{
    drive d;

    rows_run("partial=1,k_fill=1,page_size=64,BN=128",
             "keys=64 batch=1 heads=1 tiles=1", &plain, &d);
    for (int64_t at = 0; at < 65536; at += 16384) {
        ck_assert(!all_are(bytes_of(&d, 0, 0) + at, 8192, 0));
        ck_assert(all_are(bytes_of(&d, 0, 0) + at + 8192, 8192, 0));
    }
    drive_close(&d);
}
END_TEST

/* _i: part of a pair or of V.  All parts lie in one page: each part has its own
 * boxes and counts. */
START_TEST(parts_of_one_page)
{
    const char *spec =
        _i == 0 ? "entry=issues,pair=local,partial=1,v_fill=0,page_size=128"
                : "entry=issues,v_sub_tiles=2,partial=1,v_fill=0,page_size=128";
    drive d;

    rows_run(spec, "batch=1 heads=1 tiles=1 keys=128", &plain, &d);
    for (int64_t x = 0; x < d.plan.grid[0]; x++)
        for (int64_t n = 0; n < rows_boxes(&d, false) + rows_boxes(&d, true);
             n++)
            ck_assert_int_eq(rows_words(&d, x, 0)[n * ROWS_LISTED + 7], 1);
    drive_close(&d);
    /* The second half has no key: only its boxes are left out. */
    rows_run(spec, "batch=1 heads=1 tiles=1 keys=64", &plain, &d);
    for (int64_t x = 0; x < d.plan.grid[0]; x++)
        ck_assert_int_eq(rows_words(&d, x, 0)[7], x == 0);
    for (int64_t part = 0; part < 2 && _i == 1; part++)
        ck_assert_int_eq(
            rows_words(
                &d, 0,
                0)[(rows_boxes(&d, false) + part * rows_boxes(&d, true) / 2) *
                       ROWS_LISTED +
                   7],
            part == 0);
    drive_close(&d);
}
END_TEST

/* Puts one value into the entries behind the sequences' pages, or in page 1. */
typedef struct other_entries {
    uint32_t value;
    bool tails;
} other_entries;

static void put_entries(void *user, const drive *d, size_t index, void *data)
{
    const other_entries *other = user;
    int64_t pitch = drive_argument(d, "pitch");
    uint32_t *table = data;

    if (index != TABLE)
        return;
    for (int64_t i = 0; i < (int64_t)d->plan.buffers[TABLE].bytes / 4; i++)
        if (other->tails ? i % pitch >= 8 : i % pitch == 1)
            table[i] = other->value;
}

/* Pages 0 to 7 are used; the entries behind them must not change the output.
 * The table has just the columns that the contract asks for. */
START_TEST(tails_of_page_tables)
{
    static const uint32_t tails[] = {0, 1, 0x7fffffff, 0xffffffff};
    void *first = NULL;

    for (size_t i = 0; i < COUNT(tails); i++) {
        other_entries other = {tails[i], true};
        rows_how how = {5, put_entries, &other};
        drive d;

        rows_run("partial=1,BN=256,page_size=8,issue=one",
                 "keys=64 batch=1 tiles=1", &how, &d);
        ck_assert_int_eq(rows_argument(&d, "pitch"), 32);
        if (first == NULL) {
            first = malloc(d.plan.buffers[OUTPUT].bytes);
            ck_assert_ptr_nonnull(first);
            memcpy(first, d.host[OUTPUT], d.plan.buffers[OUTPUT].bytes);
        }
        ck_assert_int_eq(
            memcmp(first, d.host[OUTPUT], d.plan.buffers[OUTPUT].bytes), 0);
        drive_close(&d);
    }
    free(first);
}
END_TEST

/* _i: the issuer.  A block outside of the cache: zeros, no fault.  The product
 * of block and stride stays below 2^31. */
START_TEST(blocks_out_of_range)
{
    static const char *const by[] = {"one", "lanes", "threads"};
    other_entries other = {1 << 20, false};
    rows_how how = {5, put_entries, &other};
    char spec[ROWS_SPEC];
    drive d;

    (void)snprintf(spec, sizeof(spec), "page_size=64,issue=%s", by[_i]);
    rows_run(spec, "batch=1 heads=1 tiles=1", &how, &d);
    for (int64_t at = 0; at < 65536; at += 16384) {
        ck_assert(!all_are(bytes_of(&d, 0, 0) + at, 8192, 0));
        ck_assert(all_are(bytes_of(&d, 0, 0) + at + 8192, 8192, 0));
    }
    drive_close(&d);
}
END_TEST

/* _i: the issuer, for the last plane of the last layer.  The cache ends with
 * the last key of the last sequence, inside a tile: zeros from there on. */
START_TEST(caches_that_end_inside_a_tile)
{
    static const char *const by[] = {"one", "lanes", "threads"};
    static const char *const from[] = {"contiguous", "ragged", "continuous"};
    const char *where = from[_i % 3];
    char spec[ROWS_SPEC];
    drive d;

    for (int stream = 0; stream < (_i / 3 == 2 ? 2 : 1); stream++) {
        (void)snprintf(spec, sizeof(spec),
                       "entry=%s,page_size=0,from=%s,partial=1,BN=64,issue=%s",
                       stream ? "stream" : "image", where, by[_i / 3]);
        rows_run(spec, "batch=1 heads=1 tiles=2 keys=70 layers=1 layer=0",
                 &plain, &d);
        rows_check(&d);
        /* Keys 70 and up of V; with continuous blocks other data follows. */
        if (!stream && _i % 3 < 2)
            for (int64_t at = 0; at < 16384; at += 8192)
                ck_assert(all_are(bytes_of(&d, 1, 0) + 16384 + at + 6 * 128,
                                  58 * 128, 0));
        drive_close(&d);
    }
}
END_TEST

/* Row numbers are products modulo 2^32. */
START_TEST(products_wrap)
{
    other_entries other = {0x80000001, false};
    rows_how how = {5, put_entries, &other};
    drive d;

    for (int i = 0; i < 2; i++) {
        rows_run(i == 0 ? "entry=issues,page_size=64,issue=one"
                        : "entry=issues,page_size=64,issue=lanes",
                 "batch=1 heads=1 tiles=1", &how, &d);
        ck_assert_uint_eq(rows_of_keys(&d, 0, 0)[64],
                          (uint32_t)rows_argument(&d, "stride"));
        drive_close(&d);
    }
}
END_TEST

/* Each key has its own page, of any size: pages smaller than the tile were once
 * read as if the first one went on. */
START_TEST(tiles_of_small_pages)
{
    drive d;

    for (int page = 1; page <= 128; page *= 2) {
        char spec[ROWS_SPEC];

        (void)snprintf(spec, sizeof(spec), "page_size=%d,head_dim=64", page);
        rows_run(spec, "batch=1 heads=2", &plain, &d);
        rows_check(&d);
        drive_close(&d);
    }
}
END_TEST

/* ---- refusals -------------------------------------------------------------
 */

START_TEST(specs_that_are_refused)
{
    static const char *const cases[][2] = {
        {"page_size=192", "a page divides the tile"},
        {"BN=192,page_size=128,alignment=64", "a page divides the tile"},
        {"page_size=100", "a page divides the tile"},
        {"page_size=1025", "page_size=1025 is not allowed"},
        {"BN=100", "BN=100 is not allowed"},
        {"BN=264", "BN=264 is not allowed"},
        {"swizzle=48", "swizzle=48 is not allowed"},
        {"dtype=f32", "dtype=f32 is not allowed"},
        {"BN=96,page_size=32,pair=local", "an odd page"},
        {"v_sub_tiles=8,BN=64", "the parts of V are whole pages"},
        {"alignment=8", "begins with one"},
        {"page_size=256,alignment=64", "would straddle pages"},
        {"pair=sm100", "cta_group::2"},
        {"v_layout=inner,swizzle=64", "a swizzle span of 128 bytes or none"},
        {"k_fold=1", "fills the slot from one page"},
        {"k_fold=1,k_layout=inner,BN=96,page_size=12", "row groups"},
        {"k_fold=1,k_layout=inner,page_size=0", "rows are counted in groups"},
        {"k_tile_cols=160", "whole spans of the swizzle"},
        {"k_tile_cols=192", "no more columns than the head"},
        {"page_size=4,issue=one", "boxes of fewer than 8 keys"},
        {"entry=stream,stages=1", "with one slot nothing is in flight"},
        {"entry=stream,stages=8", "must fit the shared memory"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        groat_error error = GROAT_ERROR_INIT;
        groat_spec *spec = NULL;
        char text[ROWS_SPEC];

        (void)snprintf(text, sizeof(text), ROWS_FAMILY ":%s", cases[i][0]);
        ck_fails(
            groat_spec_parse(rows_context, text, "cuda:sm_90a", &spec, &error),
            GROAT_INVALID, &error, cases[i][1]);
    }
}
END_TEST

START_TEST(arguments_that_are_refused)
{
    static const char *const cases[][3] = {
        {"", "first_key=64", "it must be a multiple of 128"},
        {"", "keys=255", "they are at least 256"},
        {"", "pitch=16", "needs at least 32 entries"},
        {"", "pitch=36", "a multiple of 8"},
        {"", "layer=2", "the last one is 1"},
        {"", "k_depth=32", "it must be a multiple of 64"},
        {"", "k_depth=64", "may not pass the head's columns"},
        {"pair=local", "v_depth=64", "may not pass the head's columns"},
        {"", "row_bytes=520", "multiples of 16"},
        {"", "row_bytes=256", "would share bytes"},
        {"", "stride=16", "would share bytes"},
        {"page_size=0,from=ragged", "stride=2047", "needs at least 2048 rows"},
        {"page_size=0", "stride=1023 batch=1", "needs at least 1024 rows"},
        {"page_size=0", "stride=2047 batch=1 head_page=1",
         "needs at least 2048 rows"},
        {"", "stride=2000000000", "less than 2147483648"},
        {"page_size=64,k_layout=inner,v_layout=inner,k_fold=1,v_fold=1",
         "stride=65 planes=1 layers=1 layer=0 heads=1", "multiples of 8"},
        {"", "batch=4096 heads=1024 tiles=1", "the blocks in y are at most"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t values[GROAT_DRIVER_ARGS];
        groat_error error = GROAT_ERROR_INIT;
        groat_spec *spec = NULL;
        groat_plan plan = {0};
        char text[ROWS_SPEC];

        (void)snprintf(text, sizeof(text), ROWS_FAMILY "%s%s",
                       *cases[i][0] == '\0' ? "" : ":", cases[i][0]);
        ck_assert_int_eq(
            groat_spec_parse(rows_context, text, "cpu:sm_90a", &spec, &error),
            GROAT_OK);
        drive_values(rows_driver(), values, "%s", cases[i][1]);
        ck_fails(rows_driver()->plan(spec, values, &plan, &error),
                 GROAT_INVALID, &error, cases[i][2]);
        groat_spec_free(spec);
    }
}
END_TEST

/* ---- instructions ---------------------------------------------------------
 */

/* A spec and the numbers of copies in its code; -1: any number. */
typedef struct built {
    const char *spec, *target;
    int all, rank, multicast, pair, hint;
} built;

static const built builds[] = {
    {"issue=one", "cuda:sm_90a", 32, 3, 0, 0, 0},
    {"issue=one,k_layout=inner,k_fold=1", "cuda:sm_90a", 16, 5, 0, 0, 0},
    {"issue=one,partial=1", "cuda:sm_90a", 32, 3, 0, 0, 0},
    {"issue=one,partial=1,v_fill=0", "cuda:sm_90a", 32, 3, 0, 0, 0},
    {"issue=one,page_size=128,k_fold=1", "cuda:sm_90a", 2, 4, 0, 0, 0},
    {"issue=one,page_size=64,k_evict=first", "cuda:sm_90a", 8, 3, 0, 0, 8},
    {"issue=one,page_size=64,v_sub_tiles=2,v_evict=last", "cuda:sm_90a", 8, 3,
     0, 0, 4},
    {"issue=one,pair=multicast,page_size=64", "cuda:sm_90a", 4, 3, 4, 0, 0},
    {"issue=one,pair=sm100,page_size=64", "cuda:sm_100a", 4, 3, 0, 4, 0},
    {"issue=one,pair=sm100,page_size=64,k_evict=first", "cuda:sm_100a", 4, 3, 0,
     4, 4},
    {"issue=lanes,pair=sm100", "cuda:sm_100a", 2, 3, 0, 2, 0},
    {"issue=lanes", "cuda:sm_90a", 2, 3, 0, 0, 0},
    {"entry=stream", "cuda:sm_90a", 2, 3, 0, 0, 0},
    {"entry=stream,issue=one", "cuda:sm_90a", 32, 3, 0, 0, 0},
    {"entry=stream,page_size=4", "cuda:sm_90a", 0, 3, 0, 0, 0},
    {"entry=issues", "cuda:sm_100a", 0, 3, 0, 0, 0},
};

/* Returns false where NVRTC is not found. */
static bool build(groat_spec *spec, sass_copies *seen)
{
    groat_error error = GROAT_ERROR_INIT;
    void *binary = NULL;
    size_t bytes = 0;
    groat_status status = groat_build(spec, &binary, &bytes, NULL, &error);

    if (status == GROAT_NO_DEVICE) {
        (void)printf("SKIP: %s\n", error.text);
        (void)fflush(stdout);
        groat_error_clear(&error);
        return false;
    }
    ck_assert_msg(status == GROAT_OK, "%s: %s\n%s", groat_spec_text(spec),
                  error.text, error.log == NULL ? "" : error.log);
    *seen = sass_count(binary, bytes);
    groat_free(binary);
    return true;
}

START_TEST(instructions)
{
    const built *b = &builds[_i];
    groat_error error = GROAT_ERROR_INIT;
    groat_spec *spec = NULL;
    char text[ROWS_SPEC];
    sass_copies seen;

    (void)snprintf(text, sizeof(text), ROWS_FAMILY ":%s", b->spec);
    ck_assert_int_eq(
        groat_spec_parse(rows_context, text, b->target, &spec, &error),
        GROAT_OK);
    if (build(spec, &seen))
        ck_assert_msg(seen.all == b->all && seen.rank[b->rank] == b->all &&
                          seen.multicast == b->multicast &&
                          seen.pair == b->pair && seen.hint == b->hint,
                      "%s on %s: %d copies, %d of rank %d, %d to both blocks, "
                      "%d of a pair, %d with a hint",
                      text, b->target, seen.all, seen.rank[b->rank], b->rank,
                      seen.multicast, seen.pair, seen.hint);
    groat_spec_free(spec);
}
END_TEST

static bool is_sm_100(groat_spec *spec)
{
    int64_t pair = ALONE;

    (void)groat_spec_get(spec, "pair", &pair, NULL);
    return pair == SM100;
}

/* _i: target.  Builds random specs; on sm_100a pairs, all of whose copies use
 * cta_group::2. */
START_TEST(random_builds)
{
    static const char *const targets[] = {"cuda:sm_90a", "cuda:sm_100a"};
    uint64_t specs = drive_number("GROAT_TEST_SPECS", 3);
    size_t rejected = 0;
    grid g;

    grid_open(&g, rows_context, ROWS_FAMILY, rows_seed());
    g.fits = _i == 1 ? is_sm_100 : NULL;
    for (uint64_t n = 0; n < specs; n++) {
        groat_spec *spec = grid_random(&g, targets[_i], &rejected);
        int64_t entry = 0;
        sass_copies seen = {0};
        bool is_built = build(spec, &seen);

        (void)groat_spec_get(spec, "entry", &entry, NULL);
        if (is_built && _i == 1)
            ck_assert_msg(
                seen.pair == seen.all && (seen.all > 0) == (entry == IMAGE),
                "%s: %d of %d", groat_spec_text(spec), seen.pair, seen.all);
        groat_spec_free(spec);
    }
    grid_close(&g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("paged_row_cases");
    TCase *tests = tcase_create("paged_row_cases");

    tcase_set_timeout(tests,
                      300 + 2 * (double)rows_number("GROAT_TEST_SPECS", 0));
    tcase_add_unchecked_fixture(tests, rows_share, rows_unshare);
    tcase_add_checked_fixture(tests, rows_open, rows_close);
    tcase_add_loop_test(tests, no_keys, 0, 3);
    tcase_add_test(tests, tiles_behind_the_last_key);
    tcase_add_test(tests, missing_pages_become_zeros);
    tcase_add_loop_test(tests, parts_of_one_page, 0, 2);
    tcase_add_test(tests, tails_of_page_tables);
    tcase_add_loop_test(tests, blocks_out_of_range, 0, 3);
    tcase_add_loop_test(tests, caches_that_end_inside_a_tile, 0, 9);
    tcase_add_test(tests, products_wrap);
    tcase_add_test(tests, tiles_of_small_pages);
    tcase_add_test(tests, specs_that_are_refused);
    tcase_add_test(tests, arguments_that_are_refused);
    tcase_add_loop_test(tests, instructions, 0, (int)COUNT(builds));
    tcase_add_loop_test(tests, random_builds, 0, 2);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
