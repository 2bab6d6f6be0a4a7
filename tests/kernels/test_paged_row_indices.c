/* SPDX-License-Identifier: Apache-2.0
 *
 * test_paged_row_indices.c checks the family against known lists of rows and
 * of boxes, and its slots against the closed forms of rows_rig.c, over specs
 * of every mode and over random ones.
 *
 * Runs on cpu:sm_90a, or on the device that GROAT_TEST_TARGET names.
 * GROAT_TEST_SPECS (default 2) is the number of random legal specs,
 * GROAT_TEST_SEED their seed.
 */
#include "tests/kernels/grid.h"
#include "tests/kernels/rows_rig.h"

/* ---- known lists --------------------------------------------------------- */

/* The page table of the lists, for sequence 0. */
static const uint32_t known_table[] = {7,  3,  31, 12, 5,  28, 19, 2,
                                       16, 30, 9,  1,  22, 37, 6,  11,
                                       0,  4,  8,  10, 13, 14, 15, 17};

static void put_table(void *user, const drive *d, size_t index, void *data)
{
    (void)user;
    if (index != TABLE)
        return;
    memset(data, 0, d->plan.buffers[index].bytes);
    ck_assert_uint_ge(d->plan.buffers[index].bytes, sizeof(known_table));
    memcpy(data, known_table, sizeof(known_table));
}

static const rows_how with_table = {1, put_table, NULL};

START_TEST(known_rows)
{
    static const struct {
        int BN, page, first, alignment;
        uint32_t rows[16];
    } known[] = {
        {128, 16, 256, 128, {0, 128, 256, 320, 416, 448, 480, 544}},
        {128, 32, 256, 128, {1024, 1920, 576, 64}},
        {128, 64, 256, 128, {640, 3584}},
        {128, 128, 256, 128, {7936}},
        {128, 256, 256, 128, {1536}},
        {256, 16, 256, 128, {0, 128, 256, 320, 416, 448, 480, 544}},
        {256, 64, 256, 128, {640, 3584, 2432, 256}},
        {256, 128, 256, 128, {7936, 3072}},
        {64, 16, 256, 64, {0, 128, 256, 320}},
        {64, 64, 256, 64, {640}},
        {64, 128, 256, 64, {7936}},
        {192, 64, 192, 64, {1536, 640, 3584}},
        /* Other alignments of tiles, so other loads, but the same rows. */
        {128, 16, 256, 16, {0, 128, 256, 320, 416, 448, 480, 544}},
        {128, 16, 256, 32, {0, 128, 256, 320, 416, 448, 480, 544}},
        {128, 16, 256, 64, {0, 128, 256, 320, 416, 448, 480, 544}},
    };

    for (size_t i = 0; i < COUNT(known) * 2; i++) {
        int page = known[i / 2].page;
        int box = page < known[i / 2].BN ? page : known[i / 2].BN;
        char spec[ROWS_SPEC];
        char arguments[120];
        const uint32_t *rows;
        drive d;

        (void)snprintf(spec, sizeof(spec),
                       "entry=issues,BN=%d,page_size=%d,alignment=%d,issue=%s",
                       known[i / 2].BN, page, known[i / 2].alignment,
                       i % 2 == 0 ? "one" : "lanes");
        (void)snprintf(arguments, sizeof(arguments),
                       "batch=1 heads=1 tiles=1 layers=1 layer=0 first_key=%d",
                       known[i / 2].first);
        rows_run(spec, arguments, &with_table, &d);
        rows = rows_of_keys(&d, 0, 0);
        for (int key = 0; key < known[i / 2].BN; key++)
            ck_assert_msg(rows[key] == known[i / 2].rows[key / box] +
                                           (uint32_t)(key % box),
                          "%s: key %d is row %u", spec, key, rows[key]);
        drive_close(&d);
    }
}
END_TEST

START_TEST(known_rows_of_keys)
{
    static const uint32_t known[][2] = {
        {0, 1024},  {1, 1025}, {31, 1055}, {32, 1920}, {33, 1921},
        {63, 1951}, {64, 576}, {95, 607},  {96, 64},   {127, 95},
    };
    drive d;

    rows_run("entry=issues,page_size=32,issue=one",
             "batch=1 heads=1 tiles=1 layers=1 layer=0 first_key=256",
             &with_table, &d);
    for (size_t i = 0; i < COUNT(known); i++)
        ck_assert_uint_eq(rows_of_keys(&d, 0, 0)[known[i][0]], known[i][1]);
    drive_close(&d);
}
END_TEST

/* Writes the boxes of a list as a line: how many, their bytes, the first 12. */
static void write_list(const int32_t *list, int64_t room, char *out,
                       size_t size)
{
    char boxes[1000] = "";
    int count = 0;
    int bytes = 0;

    for (int64_t i = 0; i < room; i++) {
        const int32_t *box = list + i * ROWS_LISTED;
        size_t len = strlen(boxes);

        if (box[7] == 0)
            continue;
        if (count < 12)
            (void)snprintf(boxes + len, sizeof(boxes) - len,
                           "%s@%d (%d, %d, %d) %dB", count == 0 ? "" : "; ",
                           box[0], box[1], box[2], box[3], box[6]);
        count++;
        bytes += box[6];
    }
    (void)snprintf(out, size, "%d issues, %d B: %s%s", count, bytes, boxes,
                   count > 12 ? " ..." : "");
}

/* A list of K, or of part `part` of V, of block `block` of a cluster. */
typedef struct known_list {
    const char *constants, *arguments;
    int head, block, part; /* part -1: K */
    const char *line;
} known_list;

#define AT "batch=1 heads=4 tiles=1 layers=1 layer=0 first_key=256"
#define PAIR_512                                                               \
    "entry=issues,pair=local,head_dim=512,BN=256,k_tile_cols=128,"             \
    "v_tile_cols=128,v_sub_tiles=2,"
#define PAIR_128                                                               \
    "entry=issues,pair=local,page_size=128,k_tile_cols=64,v_tile_cols=64"

static const known_list lists[] = {
    {"entry=issues", AT, 3, 0, -1,
     "16 issues, 32768 B: @0 (0, 3, 0) 2048B; @16384 (64, 3, 0) 2048B; @2048 "
     "(0, 3, 128) 2048B; @18432 (64, 3, 128) 2048B; @4096 (0, 3, 256) 2048B; "
     "@20480 (64, 3, 256) 2048B; @6144 (0, 3, 320) 2048B; @22528 (64, 3, 320) "
     "2048B; @8192 (0, 3, 416) 2048B; @24576 (64, 3, 416) 2048B; @10240 (0, 3, "
     "448) 2048B; @26624 (64, 3, 448) 2048B ..."},
    {"entry=issues,page_size=64", AT, 3, 0, -1,
     "4 issues, 32768 B: @0 (0, 3, 640) 8192B; @16384 (64, 3, 640) 8192B; "
     "@8192 (0, 3, 3584) 8192B; @24576 (64, 3, 3584) 8192B"},
    {"entry=issues,page_size=128", AT, 3, 0, -1,
     "2 issues, 32768 B: @0 (0, 3, 7936) 16384B; @16384 (64, 3, 7936) 16384B"},
    {"entry=issues,page_size=256", AT, 3, 0, -1,
     "2 issues, 32768 B: @0 (0, 3, 1536) 16384B; @16384 (64, 3, 1536) 16384B"},
    {"entry=issues,page_size=64,partial=1,v_fill=0", AT " keys=320", 3, 0, 0,
     "2 issues, 16384 B: @0 (0, 3, 640) 8192B; @16384 (64, 3, 640) 8192B"},
    /* The missing page: a row just before the cache. */
    {"entry=issues,page_size=64,partial=1", AT " keys=320", 3, 0, 0,
     "4 issues, 32768 B: @0 (0, 3, 640) 8192B; @16384 (64, 3, 640) 8192B; "
     "@8192 (0, 3, -64) 8192B; @24576 (64, 3, -64) 8192B"},
    {PAIR_512 "page_size=64", AT " k_depth=128", 0, 0, -1,
     "4 issues, 32768 B: @0 (128, 0, 640) 8192B; @16384 (192, 0, 640) 8192B; "
     "@8192 (128, 0, 3584) 8192B; @24576 (192, 0, 3584) 8192B"},
    {PAIR_512 "page_size=64", AT, 0, 0, 0,
     "4 issues, 32768 B: @0 (0, 0, 640) 8192B; @16384 (64, 0, 640) 8192B; "
     "@8192 (0, 0, 3584) 8192B; @24576 (64, 0, 3584) 8192B"},
    {PAIR_512 "page_size=64", AT, 0, 0, 1,
     "4 issues, 32768 B: @0 (0, 0, 2432) 8192B; @16384 (64, 0, 2432) 8192B; "
     "@8192 (0, 0, 256) 8192B; @24576 (64, 0, 256) 8192B"},
    {PAIR_512 "page_size=128", AT " k_depth=128", 0, 0, -1,
     "2 issues, 32768 B: @0 (128, 0, 7936) 16384B; @16384 (192, 0, 7936) "
     "16384B"},
    {PAIR_512 "page_size=128", AT, 0, 0, 0,
     "2 issues, 32768 B: @0 (0, 0, 7936) 16384B; @16384 (64, 0, 7936) 16384B"},
    {PAIR_512 "page_size=128", AT, 0, 0, 1,
     "2 issues, 32768 B: @0 (0, 0, 3072) 16384B; @16384 (64, 0, 3072) 16384B"},
    {PAIR_512 "page_size=256", AT " k_depth=128", 0, 0, -1,
     "2 issues, 32768 B: @0 (128, 0, 1536) 16384B; @16384 (192, 0, 1536) "
     "16384B"},
    {PAIR_512 "page_size=256", AT, 0, 0, 0,
     "2 issues, 32768 B: @0 (0, 0, 1536) 16384B; @16384 (64, 0, 1536) 16384B"},
    {PAIR_512 "page_size=256", AT, 0, 0, 1,
     "2 issues, 32768 B: @0 (0, 0, 1664) 16384B; @16384 (64, 0, 1664) 16384B"},
    {PAIR_512 "page_size=64", AT " k_depth=128", 0, 1, -1,
     "4 issues, 32768 B: @0 (128, 0, 2432) 8192B; @16384 (192, 0, 2432) 8192B; "
     "@8192 (128, 0, 256) 8192B; @24576 (192, 0, 256) 8192B"},
    {PAIR_512 "page_size=64", AT, 0, 1, 0,
     "4 issues, 32768 B: @0 (128, 0, 640) 8192B; @16384 (192, 0, 640) 8192B; "
     "@8192 (128, 0, 3584) 8192B; @24576 (192, 0, 3584) 8192B"},
    {PAIR_512 "page_size=64", AT, 0, 1, 1,
     "4 issues, 32768 B: @0 (128, 0, 2432) 8192B; @16384 (192, 0, 2432) 8192B; "
     "@8192 (128, 0, 256) 8192B; @24576 (192, 0, 256) 8192B"},
    {PAIR_512 "page_size=128", AT " k_depth=128", 0, 1, -1,
     "2 issues, 32768 B: @0 (128, 0, 3072) 16384B; @16384 (192, 0, 3072) "
     "16384B"},
    {PAIR_512 "page_size=128", AT, 0, 1, 0,
     "2 issues, 32768 B: @0 (128, 0, 7936) 16384B; @16384 (192, 0, 7936) "
     "16384B"},
    {PAIR_512 "page_size=128", AT, 0, 1, 1,
     "2 issues, 32768 B: @0 (128, 0, 3072) 16384B; @16384 (192, 0, 3072) "
     "16384B"},
    {PAIR_512 "page_size=256", AT " k_depth=128", 0, 1, -1,
     "2 issues, 32768 B: @0 (128, 0, 1664) 16384B; @16384 (192, 0, 1664) "
     "16384B"},
    {PAIR_512 "page_size=256", AT, 0, 1, 0,
     "2 issues, 32768 B: @0 (128, 0, 1536) 16384B; @16384 (192, 0, 1536) "
     "16384B"},
    {PAIR_512 "page_size=256", AT, 0, 1, 1,
     "2 issues, 32768 B: @0 (128, 0, 1664) 16384B; @16384 (192, 0, 1664) "
     "16384B"},
    {PAIR_128, AT " k_depth=64", 2, 0, -1,
     "1 issues, 8192 B: @0 (64, 2, 7936) 8192B"},
    {PAIR_128, AT, 2, 0, 0, "1 issues, 16384 B: @0 (0, 2, 7936) 16384B"},
    {PAIR_128, AT " k_depth=64", 2, 1, -1,
     "1 issues, 8192 B: @0 (64, 2, 8000) 8192B"},
    {PAIR_128, AT, 2, 1, 0, "1 issues, 16384 B: @0 (64, 2, 7936) 16384B"},
};

/* _i: list, issued by one lane and by all. */
START_TEST(known_boxes)
{
    const known_list *k = &lists[_i / 2];
    char spec[ROWS_SPEC];
    char line[1200];
    int64_t room;
    int64_t first = 0;
    drive d;

    (void)snprintf(spec, sizeof(spec), "%s,issue=%s", k->constants,
                   _i % 2 == 0 ? "one" : "lanes");
    rows_run(spec, k->arguments, &with_table, &d);
    room = rows_boxes(&d, k->part >= 0);
    if (k->part >= 0) {
        room /= rows_constant(&d, "v_sub_tiles");
        first = rows_boxes(&d, false) + room * k->part;
    }
    write_list(rows_words(&d, k->block, k->head) + first * ROWS_LISTED, room,
               line, sizeof(line));
    /* Lists of V's parts count from the start of the part. */
    if (k->part > 0) {
        const int32_t *box =
            rows_words(&d, k->block, k->head) + first * ROWS_LISTED;

        ck_assert_int_eq(box[0], rows_constant(&d, "v_sub_bytes") * k->part);
        for (int64_t i = 0; i < room; i++)
            ((int32_t *)(uintptr_t)box)[i * ROWS_LISTED] -=
                (int32_t)(rows_constant(&d, "v_sub_bytes") * k->part);
        write_list(box, room, line, sizeof(line));
    }
    ck_assert_str_eq(line, k->line);
    drive_close(&d);
}
END_TEST

/* Issues per tile of K, and of V: plain, folded chunk by chunk, folded row
 * group by row group; 0: folding is impossible. */
START_TEST(counts_of_boxes)
{
    static const struct {
        int BN, dim, page, plain, outer, inner;
    } known[] = {
        {128, 64, 16, 8, 0, 0},   {128, 64, 128, 1, 0, 0},
        {128, 128, 16, 16, 0, 8}, {128, 128, 32, 8, 0, 4},
        {128, 128, 64, 4, 0, 2},  {128, 128, 128, 2, 1, 1},
        {128, 128, 256, 2, 1, 1}, {64, 256, 16, 16, 0, 4},
        {64, 256, 64, 4, 1, 1},   {256, 128, 64, 8, 0, 4},
        {64, 512, 64, 8, 1, 1},
    };

    for (size_t i = 0; i < COUNT(known) * 3; i++) {
        static const char *const how[] = {"", ",k_fold=1",
                                          ",k_fold=1,k_layout=inner"};
        const int *want = &known[i / 3].plain + i % 3;
        groat_error error = GROAT_ERROR_INIT;
        groat_spec *spec = NULL;
        char text[ROWS_SPEC];
        drive d;
        int boxes[2] = {0, 0};

        (void)snprintf(
            text, sizeof(text),
            ROWS_FAMILY ":entry=issues,BN=%d,head_dim=%d,page_size=%d%s",
            known[i / 3].BN, known[i / 3].dim, known[i / 3].page, how[i % 3]);
        if (*want == 0) {
            ck_fails(groat_spec_parse(rows_context, text, rows_target(), &spec,
                                      &error),
                     GROAT_INVALID, &error, "fold");
            continue;
        }
        rows_run(text + sizeof(ROWS_FAMILY), "batch=1 heads=1 tiles=1",
                 &with_table, &d);
        for (int64_t n = 0; n < rows_boxes(&d, false) * 2; n++)
            boxes[n >= rows_boxes(&d, false)] +=
                rows_words(&d, 0, 0)[n * ROWS_LISTED + 7];
        ck_assert_msg(boxes[0] == *want && boxes[1] == *want, "%s: %d and %d",
                      text, boxes[0], boxes[1]);
        drive_close(&d);
    }
}
END_TEST

/* ---- slots --------------------------------------------------------------- */

/* Constants, and arguments for a launch besides the driver's own. */
typedef struct slots {
    const char *constants, *arguments;
} slots;

static const slots modes[] = {
    /* pages */
    {"page_size=8", "first_key=128 heads=3"},
    {"page_size=10,BN=40,dtype=fp8", "head_page=1"},
    {"page_size=16,issue=one", "head_page=1 layers=3 layer=2"},
    {"page_size=24,BN=72", "planes=1"},
    {"page_size=32,BN=64", "row_bytes=1024 tiles=3"},
    {"page_size=64,BN=192,alignment=64", "first_key=64"},
    {"page_size=128,issue=one", "stride=1000"},
    {"page_size=256,BN=64", "first_key=192 pitch=64"},
    {"page_size=544,BN=136,head_dim=64", "heads=5"},
    {"page_size=1024,BN=256,head_dim=64", "first_key=256 head_page=1"},
    {"page_size=1024,BN=8", "tiles=5"},
    /* no pages */
    {"page_size=0", "batch=3"},
    {"page_size=0,from=ragged,alignment=8", "first_key=24"},
    {"page_size=0,from=continuous,issue=one,BN=48", "head_page=1"},
    {"page_size=0,from=ragged,partial=1,alignment=1", "first_key=3 keys=200"},
    /* types, spans and columns */
    {"dtype=fp8,swizzle=64", "heads=3"},
    {"dtype=f16,swizzle=32,page_size=32", "head_page=1"},
    {"dtype=fp8,swizzle=16,head_dim=64,page_size=64", "layers=1 layer=0"},
    {"swizzle=16,head_dim=64,BN=64,issue=one", ""},
    {"head_dim=80", "heads=3"},
    {"head_dim=80,dtype=fp8,page_size=64", "head_page=1"},
    {"head_dim=576,BN=32,k_tile_cols=128,v_tile_cols=64",
     "k_depth=448 v_depth=512"},
    {"head_dim=256,BN=64,k_tile_cols=128,v_tile_cols=64,issue=one",
     "k_depth=128 v_depth=192"},
    {"k_slot_rows=160,partial=1,v_fill=0", "keys=200"},
    /* parts, counts and zeros */
    {"v_sub_tiles=2", ""},
    {"v_sub_tiles=4,page_size=256,issue=one", "first_key=128"},
    {"v_sub_tiles=8,partial=1,page_size=8", "keys=77"},
    {"partial=1", "keys=1"},
    {"partial=1,issue=one", "keys=0"},
    {"partial=1,issue=one", "keys=129"},
    {"partial=1,k_fill=1", "keys=200"},
    {"partial=1,v_fill=0,page_size=64", "keys=193"},
    {"partial=1,v_fill=0,page_size=256", "keys=128 tiles=3"},
    /* folds and row groups */
    {"k_fold=1,page_size=128", ""},
    {"k_fold=1,page_size=256,issue=one,head_dim=256,k_tile_cols=128,"
     "v_tile_cols=128",
     "k_depth=128"},
    {"k_fold=1,page_size=0,dtype=fp8,swizzle=64", ""},
    {"k_fold=1,k_layout=inner,page_size=32", "head_page=1"},
    {"k_fold=1,k_layout=inner,page_size=32,partial=1,issue=one", "keys=200"},
    {"k_layout=inner", ""},
    {"v_layout=inner,swizzle=16,page_size=64,head_dim=64,issue=one", ""},
    {"v_layout=inner,head_dim=80,page_size=256", "head_page=1"},
    {"v_layout=inner,v_fold=1,k_fold=0,k_layout=outer,page_size=8,v_evict=last",
     ""},
    /* pairs */
    {"pair=local,BN=256,page_size=64,head_dim=512,k_tile_cols=128,"
     "v_tile_cols=128,v_sub_tiles=2",
     "k_depth=384"},
    {"pair=local,page_size=128,issue=one", ""},
    {"pair=local,partial=1,page_size=32,k_evict=first", "keys=180"},
    {"pair=multicast", "heads=3"},
    {"pair=multicast,page_size=256,issue=one", "first_key=128"},
    {"pair=multicast,partial=1,v_fill=0,page_size=32", "keys=165"},
    {"pair=multicast,k_layout=inner,k_fold=1,v_fold=0", ""},
    {"pair=multicast,v_fold=1,head_dim=256,page_size=128,v_tile_cols=128,"
     "BN=64,k_tile_cols=128",
     ""},
    {"pair=multicast,v_layout=inner,head_dim=256,BN=64", ""},
    /* by all threads */
    {"page_size=1,BN=64", "heads=3"},
    {"page_size=2,partial=1,head_dim=72,swizzle=32", "keys=77 head_page=1"},
    {"page_size=3,BN=24,dtype=fp8", "planes=1"},
    {"page_size=4,BN=256,num_warps=8,v_sub_tiles=2", "row_bytes=1024"},
    {"page_size=4,k_layout=inner,partial=1,v_fill=0", "keys=130"},
    {"page_size=6,BN=48,swizzle=16,head_dim=40,num_warps=2", ""},
    {"page_size=16,issue=threads,k_slot_rows=136", ""},
    {"page_size=0,issue=threads,partial=1,k_fill=1", "keys=140"},
    {"page_size=5,BN=40,head_dim=256,k_tile_cols=64,v_tile_cols=128",
     "k_depth=192 v_depth=64"},
};

/* Pairs with cta_group::2, which no device of sm_90 has. */
static const slots pairs[] = {
    {"pair=sm100", "batch=1"},
    {"pair=sm100,issue=one,page_size=64,partial=1,v_fill=0", "keys=165"},
    {"pair=sm100,BN=256,page_size=128,head_dim=256,k_tile_cols=128,"
     "v_tile_cols=128,v_sub_tiles=2",
     "batch=1 tiles=1 k_depth=128"},
    {"pair=sm100,k_layout=inner,k_fold=1,v_fold=0,page_size=32", "keys=256"},
    {"entry=issues,pair=sm100,page_size=256", "first_key=128"},
};

START_TEST(pairs_of_sm_100)
{
    rows_how how = {rows_seed(), NULL, NULL};
    drive d;

    rows_run_on("cpu:sm_100a", pairs[_i].constants, pairs[_i].arguments, &how,
                &d);
    rows_check(&d);
    drive_close(&d);
}
END_TEST

/* Runs a launch with few tiles, and one with other arguments. */
static void check_slots(const char *constants, const char *arguments)
{
    rows_how how = {rows_seed(), NULL, NULL};
    drive d;

    rows_run(constants, "batch=1", &how, &d);
    rows_check(&d);
    drive_close(&d);
    if (*arguments == '\0')
        return;
    how.seed++;
    rows_run(constants, arguments, &how, &d);
    rows_check(&d);
    drive_close(&d);
}

START_TEST(slots_of_all_modes)
{
    if (!is_left_out_of(_i, 10) || getenv("GROAT_TEST_TARGET") != NULL)
        check_slots(modes[_i].constants, modes[_i].arguments);
}
END_TEST

static const slots streams[] = {
    {"", ""},
    {"issue=one,page_size=64,stages=2", "blocks=3"},
    {"partial=1", "keys=300 tiles=3"},
    {"partial=1,v_fill=0,page_size=32", "keys=77 blocks=5"},
    {"k_fold=1,k_layout=inner,page_size=32,stages=5,num_warps=2", ""},
    {"v_layout=inner,v_sub_tiles=2,BN=64,num_warps=9", "heads=3"},
    {"pair=local,page_size=32", "blocks=1"},
    {"pair=local,partial=1,v_fill=0,v_sub_tiles=2", "keys=200"},
    {"pair=multicast", "tiles=3"},
    {"pair=multicast,partial=1,v_fill=0,page_size=32,k_evict=first",
     "keys=165 tiles=3"},
    {"page_size=4", "blocks=7"},
    {"page_size=1,BN=64,stages=4,partial=1,v_fill=0", "keys=99 tiles=3"},
    {"page_size=2,v_sub_tiles=2,num_warps=8", "blocks=9"},
    {"page_size=0,from=ragged,dtype=fp8", "batch=3"},
};

START_TEST(streams_of_all_modes)
{
    char constants[ROWS_SPEC];

    if (is_left_out(_i) && getenv("GROAT_TEST_TARGET") == NULL)
        return;
    (void)snprintf(constants, sizeof(constants), "entry=stream%s%s",
                   *streams[_i].constants == '\0' ? "" : ",",
                   streams[_i].constants);
    check_slots(constants, streams[_i].arguments);
}
END_TEST

/* ---- random specs -------------------------------------------------------- */

static bool is_small(groat_spec *spec)
{
    int64_t values[GROAT_DRIVER_ARGS];
    groat_error error = GROAT_ERROR_INIT;
    groat_plan plan = {0};
    size_t bytes = 0;
    bool planned;

    drive_values(rows_driver(), values, "batch=2 heads=2 tiles=2");
    planned = rows_driver()->plan(spec, values, &plan, &error) == GROAT_OK;
    groat_error_clear(&error);
    for (size_t i = 0; i < plan.buffer_count; i++)
        bytes += plan.buffers[i].bytes;
    return planned && bytes < 8 << 20;
}

/* Writes the driver's arguments, a few of them random. */
static void draw_arguments(uint64_t *random, groat_spec *spec, char *text,
                           size_t size)
{
    int64_t BN = 0;
    int64_t alignment = 0;
    int64_t partial = 0;
    int64_t first;

    ck_assert_int_eq(groat_spec_get(spec, "BN", &BN, NULL), GROAT_OK);
    ck_assert_int_eq(groat_spec_get(spec, "alignment", &alignment, NULL),
                     GROAT_OK);
    ck_assert_int_eq(groat_spec_get(spec, "partial", &partial, NULL), GROAT_OK);
    first = (int64_t)(next_random(random) % 5) * alignment;
    (void)snprintf(
        text, size,
        "batch=%d heads=%d tiles=%d first_key=%lld head_page=%d "
        "planes=%d blocks=%d layers=2 layer=%d keys=%lld",
        1 + (int)(next_random(random) % 3), 1 + (int)(next_random(random) % 3),
        1 + (int)(next_random(random) % 3), (long long)first,
        (int)(next_random(random) % 2), 1 + (int)(next_random(random) % 2),
        1 + (int)(next_random(random) % 4), (int)(next_random(random) % 2),
        partial
            ? (long long)(next_random(random) % (uint64_t)(first + 3 * BN + 1))
            : (long long)(first + 3 * BN));
}

START_TEST(random_specs)
{
    uint64_t specs = rows_number("GROAT_TEST_SPECS", 2);
    uint64_t random = rows_seed() + 7;
    size_t rejected = 0;
    grid g;

    grid_open(&g, rows_context, ROWS_FAMILY, rows_seed());
    g.fits = is_small;
    for (uint64_t n = 0; n < specs; n++) {
        groat_spec *spec = grid_random(&g, rows_target(), &rejected);
        rows_how how = {rows_seed() + n, NULL, NULL};
        char arguments[300];
        drive d;

        draw_arguments(&random, spec, arguments, sizeof(arguments));
        rows_run(groat_spec_text(spec) + sizeof(ROWS_FAMILY), arguments, &how,
                 &d);
        rows_check(&d);
        drive_close(&d);
        groat_spec_free(spec);
    }
    (void)printf("%llu random specs on %s, %zu draws rejected\n",
                 (unsigned long long)specs, rows_target(), rejected);
    (void)fflush(stdout);
    grid_close(&g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("paged_row_indices");
    TCase *tests = tcase_create("paged_row_indices");

    if (getenv("GROAT_TEST_TARGET") == NULL)
        (void)puts("SKIP: no device: GROAT_TEST_TARGET names none, "
                   "cpu:sm_90a alone ran");
    (void)printf("GROAT_TEST_SEED=%llu\n", (unsigned long long)rows_seed());
    (void)fflush(stdout);
    tcase_set_timeout(tests,
                      600 + 2 * (double)rows_number("GROAT_TEST_SPECS", 0));
    tcase_add_unchecked_fixture(tests, rows_share, rows_unshare);
    tcase_add_checked_fixture(tests, rows_open, rows_close);
    tcase_add_test(tests, known_rows);
    tcase_add_test(tests, known_rows_of_keys);
    tcase_add_loop_test(tests, known_boxes, 0, 2 * (int)COUNT(lists));
    tcase_add_test(tests, counts_of_boxes);
    tcase_add_loop_test(tests, slots_of_all_modes, 0, (int)COUNT(modes));
    tcase_add_loop_test(tests, pairs_of_sm_100, 0, (int)COUNT(pairs));
    tcase_add_loop_test(tests, streams_of_all_modes, 0, (int)COUNT(streams));
    tcase_add_test(tests, random_specs);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
