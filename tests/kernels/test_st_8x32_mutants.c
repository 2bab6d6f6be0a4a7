/* SPDX-License-Identifier: Apache-2.0
 *
 * test_st_8x32_mutants.c: the source of subtile_loader_st_8x32 with each wait,
 * barrier, fence and commit taken out in turn, or counting one too much, and
 * with faults in its arithmetic, under families of other names.  The judge must
 * find the former where the arch needs what is missing; the latter must give
 * other bytes than the family itself.
 */
#include "tests/pipe/mutate.h"

#include "kernels-src/subtile_loader_st_8x32/args.h"

enum { AMD = 1, NV = 2, ALL = AMD | NV };
enum { TILES = 5, STEP = 1, QUERIES = 70, OUT_BYTES = 96 << 10 };

#define FAMILY   "subtile_loader_st_8x32"
#define SMALL    "tile_keys=32,depth=64,src_cols=64,num_warps=2"
#define FP8      "dtype=fp8,tile_keys=128,src_cols=128,num_warps=4"
#define IMAGE    "entry=image," SMALL
#define IMAGE7   "entry=image,placement=v227," FP8
#define PIECES   "entry=fragments," SMALL
#define PIECES7  "entry=fragments,placement=v227," FP8
#define STREAM   "entry=stream,stages=3," SMALL
#define STREAM7  "entry=stream,stages=3,placement=v227," FP8
#define PRODUCT  "entry=output," SMALL
#define PRODUCT8 "entry=output," FP8

#define IN_POISON  "void poison("
#define IN_IMAGE   "void image("
#define IN_PIECES  "void fragments("
#define IN_STREAM  "void stream_slots("
#define IN_OUTPUT  "void output("
#define WAIT_AHEAD "async_wait<ahead * copies, ahead>();"
#define WAIT_LAST  "async_wait<0, 0>();"
#define LOOSE      "async_wait<1, 1>();"
#define BARRIER    "block_barrier();"
#define COMMIT     "async_commit();"
#define FENCE      "shared_fence();"

typedef struct mutant {
    const char *spec; /* that shows it */
    mutation change;
    int judged; /* archs on which the judge finds it   */
    int wrong;  /* archs on which the output is another */
} mutant;

static const mutant mutants[] = {
    /* the family as it is */
    {IMAGE, {"", "", 0, ""}, 0, 0},
    {IMAGE7, {"", "", 0, ""}, 0, 0},
    {PIECES, {"", "", 0, ""}, 0, 0},
    {PIECES7, {"", "", 0, ""}, 0, 0},
    {STREAM, {"", "", 0, ""}, 0, 0},
    {STREAM7, {"", "", 0, ""}, 0, 0},
    {PRODUCT, {"", "", 0, ""}, 0, 0},
    {PRODUCT8, {"", "", 0, ""}, 0, 0},
    /* waits, barriers, fences, commits */
    {IMAGE, {IN_POISON, FENCE, 0, ""}, AMD, 0},
    /* By default a thread finds its own bytes again: only v227 tells. */
    {IMAGE7, {IN_POISON, BARRIER, 0, ""}, ALL, 0},
    {IMAGE, {IN_IMAGE, COMMIT, 0, ""}, NV, 0},
    {IMAGE, {IN_IMAGE, WAIT_LAST, 0, ""}, ALL, 0},
    {IMAGE, {IN_IMAGE, WAIT_LAST, 0, LOOSE}, ALL, 0},
    {IMAGE7, {IN_IMAGE, WAIT_LAST, 0, LOOSE}, ALL, 0},
    {IMAGE7, {IN_IMAGE, BARRIER, 0, ""}, ALL, 0},
    {PIECES, {IN_PIECES, COMMIT, 0, ""}, NV, 0},
    {PIECES, {IN_PIECES, WAIT_LAST, 0, ""}, ALL, 0},
    {PIECES, {IN_PIECES, WAIT_LAST, 0, LOOSE}, ALL, 0},
    {PIECES7, {IN_PIECES, WAIT_LAST, 0, LOOSE}, ALL, 0},
    {PIECES, {IN_PIECES, BARRIER, 0, ""}, ALL, 0},
    {STREAM, {IN_STREAM, COMMIT, 0, ""}, NV, 0},
    {STREAM, {IN_STREAM, COMMIT, 1, ""}, NV, 0},
    {STREAM, {IN_STREAM, WAIT_AHEAD, 0, ";"}, ALL, 0},
    {STREAM,
     {IN_STREAM, WAIT_AHEAD, 0, "async_wait<ahead * copies + 1, ahead + 1>();"},
     ALL,
     0},
    {STREAM, {IN_STREAM, WAIT_LAST, 0, ";"}, ALL, 0},
    {STREAM, {IN_STREAM, WAIT_LAST, 0, "async_wait<1, ahead + 1>();"}, ALL, 0},
    {STREAM7, {IN_STREAM, BARRIER, 0, ""}, ALL, 0},
    {STREAM7, {IN_STREAM, BARRIER, 1, ""}, ALL, 0},
    /* The loads' values were used, so only stores would need this one. */
    {STREAM, {IN_STREAM, FENCE, 0, ""}, 0, 0},
    /* AMD counts copies, not groups, and nobody else multiplies. */
    {PRODUCT, {IN_OUTPUT, COMMIT, 0, ""}, 0, 0},
    {PRODUCT, {IN_OUTPUT, WAIT_LAST, 0, ""}, AMD, 0},
    {PRODUCT, {IN_OUTPUT, WAIT_LAST, 0, LOOSE}, AMD, 0},
    {PRODUCT, {IN_OUTPUT, BARRIER, 0, ""}, AMD, 0},
    {PRODUCT, {IN_OUTPUT, BARRIER, 1, ""}, AMD, 0},
    /* For the judge a read is over when it returns. */
    {PRODUCT, {IN_OUTPUT, FENCE, 0, ""}, 0, 0},
    /* holes and slots */
    {STREAM7, {"", "fold<gap>", 0, "fold<0>"}, ALL, 0},
    {STREAM7, {"stream_tiles<stages", "slot_bytes", 0, "tile_bytes"}, ALL, 0},
    {IMAGE7, {"", "cell_pitch = 1040", 0, "cell_pitch = 1024"}, 0, ALL},
    {PIECES7, {"", "cell_pitch = 1040", 0, "cell_pitch = 1008"}, ALL, 0},
    /* the loader's arithmetic */
    {IMAGE7, {"source_of(", "8 * (chunk", 0, "16 * (chunk"}, 0, ALL},
    {IMAGE7, {"source_of(", "32 * (row", 0, "48 * (row"}, 0, ALL},
    {IMAGE, {"source_of(", "/ subtiles_per_row * 8", 0, "* 8"}, 0, ALL},
    {IMAGE, {"void load(", "i * num_warps + wave", 0, "wave"}, AMD | NV, 0},
    {IMAGE, {"tile_source(", "+ args.soffset / row_bytes + 1", 0, ""}, 0, ALL},
    {IMAGE, {"tile_soffset(", "args.soffset +", 0, ""}, 0, ALL},
    /* the readers' */
    {PIECES7, {"u32 place(", "4 * (key >> 3 & 1)", 0, "0"}, 0, ALL},
    {PIECES, {"u32 place(", "key % 8 * 64", 0, "key % 4 * 64"}, 0, ALL},
    {PIECES, {"pv_key(", "4 * (lane / 32)", 0, "0"}, 0, ALL},
    {PIECES7, {"pv_key(", "lane % 16 / 8 * 8", 0, "0"}, 0, ALL},
    {PIECES, {"pv_col_byte(", "16 * (lane / 16 % 2)", 0, "0"}, 0, ALL},
    {PIECES, {IN_PIECES, "f += num_warps", 0, "f += 2 * num_warps"}, 0, ALL},
    /* the product's */
    {PRODUCT, {"pv_pick16(", "== 0", 0, "!= 0"}, 0, AMD},
    {PRODUCT8, {"pv_pick8(", "== 0", 0, "!= 0"}, 0, AMD},
    {PRODUCT, {"pv_weights16(", "voffset + 16", 0, "voffset"}, 0, AMD},
    {PRODUCT8, {"pv_weights8(", "voffset + 48", 0, "voffset"}, 0, AMD},
    {PRODUCT, {"pv_store(", "accumulator_row<32>(lane, p)", 0, "p"}, 0, AMD},
    {PRODUCT, {IN_OUTPUT, "tile * strips", 0, "0"}, 0, AMD},
    {PRODUCT, {"void store(", "query >= args.queries", 0, "false"}, AMD, 0},
};

/* A context knows 64 families at most, so each rig has a part of them. */
enum { MUTANTS = COUNT(mutants), BATCH = 24 };
enum { RIGS = (MUTANTS + BATCH - 1) / BATCH };

static rig *fix[RIGS];

/* ---- families ---------------------------------------------------------- */

static void once_before(void)
{
    for (int i = 0; i < RIGS; i++) {
        fix[i] = malloc(sizeof(*fix[i]));
        ck_assert_ptr_nonnull(fix[i]);
        rig_make(fix[i]);
    }
    for (int i = 0; i < MUTANTS; i++) {
        char name[40];

        (void)snprintf(name, sizeof(name), "st%d", i);
        mutate_family(fix[i / BATCH], FAMILY, name, &mutants[i].change);
    }
}

static void once_after(void)
{
    for (int i = 0; i < RIGS; i++) {
        rig_drop(fix[i]);
        free(fix[i]);
    }
}

/* ---- one launch -------------------------------------------------------- */

/* Finite in every format, and no two neighbours alike for long. */
static void fill(unsigned char *data, size_t bytes)
{
    uint64_t state = bytes;

    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)(0x30 + next_random(&state) % 16);
}

static int64_t value_of(const groat_spec *spec, const char *name)
{
    int64_t value = 0;

    ck_assert_int_eq(groat_spec_get(spec, name, &value, NULL), GROAT_OK);
    return value;
}

/* Launches a family with a mutant's spec; out has OUT_BYTES. */
static groat_status launch(groat_context *context, const char *target,
                           const char *family, const char *parameters,
                           unsigned char *out, groat_error *error)
{
    enum { DATA = 200 << 10 };
    static unsigned char data[DATA];
    struct subtile_loader_st_8x32_args args = {0};
    groat_launch grid = GROAT_LAUNCH_INIT;
    groat_kernel *kernel = NULL;
    groat_spec *spec = NULL;
    groat_status status;
    int64_t entry;
    char text[200];

    (void)snprintf(text, sizeof(text), "%s:%s", family, parameters);
    status = groat_spec_parse(context, text, target, &spec, error);
    if (status == GROAT_OK)
        status = groat_kernel_get_spec(spec, &kernel, NULL, error);
    ck_assert_msg(status == GROAT_OK, "%s: %s %s", text, error->text,
                  error->log == NULL ? "" : error->log);
    entry = value_of(spec, "entry");
    fill(data, DATA);
    memset(out, 0xA5, OUT_BYTES);
    args.source = rig_upload(context, target, data, DATA / 2);
    args.weights = rig_upload(context, target, data + DATA / 2, DATA / 2);
    args.output =
        rig_upload(context, target, out,
                   entry == 3 ? (size_t)(QUERIES * 4 * value_of(spec, "depth"))
                              : OUT_BYTES);
    args.soffset =
        (unsigned)(3 * value_of(spec, "ld") * value_of(spec, "elem_bytes"));
    args.valid_rows = TILES * value_of(spec, "tile_keys") - 5;
    args.row_tiles = TILES;
    args.col_tiles = 1;
    args.row_step = STEP;
    args.queries = QUERIES;
    grid.grid[0] =
        entry == 2 ? STEP
        : entry == 3
            ? (unsigned)(QUERIES / (32 * value_of(spec, "num_warps")) + 1)
            : TILES;
    status = groat_kernel_launch(kernel, &grid, &args, sizeof(args), error);
    if (status == GROAT_OK)
        ck_assert_int_eq(
            groat_memory_read(
                context, target, out, args.output,
                entry == 3 ? (size_t)(QUERIES * 4 * value_of(spec, "depth"))
                           : OUT_BYTES,
                error),
            GROAT_OK);
    groat_memory_free(context, target, args.source);
    groat_memory_free(context, target, args.weights);
    groat_memory_free(context, target, args.output);
    groat_kernel_release(kernel);
    groat_spec_free(spec);
    return status;
}

static bool legal(groat_context *context, const char *target,
                  const char *parameters)
{
    groat_spec *spec = NULL;
    char text[200];

    (void)snprintf(text, sizeof(text), "%s:%s", FAMILY, parameters);
    if (groat_spec_parse(context, text, target, &spec, NULL) != GROAT_OK)
        return false;
    groat_spec_free(spec);
    return true;
}

/* Notes in `wrong` what one mutant did that it should not. */
static void try_one(groat_context *context, const char *target, int vendor,
                    int index, groat__str *wrong)
{
    static unsigned char want[OUT_BYTES];
    static unsigned char got[OUT_BYTES];
    const mutant *m = &mutants[index];
    groat_error error = GROAT_ERROR_INIT;
    groat_status status;
    bool other = false;
    char name[40];

    (void)snprintf(name, sizeof(name), "st%d", index);
    ck_assert_msg(launch(context, target, FAMILY, m->spec, want, &error) ==
                      GROAT_OK,
                  "%s", error.text);
    status = launch(context, target, name, m->spec, got, &error);
    if (status == GROAT_OK)
        other = memcmp(got, want, OUT_BYTES) != 0;
    if (status != (m->judged & vendor ? GROAT_JUDGED : GROAT_OK) ||
        (status == GROAT_JUDGED && strstr(error.text, " thread ") == NULL) ||
        other != ((m->wrong & vendor) != 0))
        groat__str_addf(wrong, "mutant %d on %s: %s, %s output, %s\n", index,
                        target, groat_status_name(status),
                        other ? "another" : "the same", error.text);
    groat_error_clear(&error);
}

/* _i: target, seed and rig. */
START_TEST(each_mutant_is_found)
{
    const char *target = rig_targets[_i % RIG_TARGETS];
    int vendor = _i % RIG_TARGETS == 2 ? NV : AMD;
    int part = _i / RIG_TARGETS % RIGS;
    groat_options options = rig_options(fix[part]);
    groat__str wrong = {0};
    groat_context *context;

    options.seed = (uint64_t)(_i / RIG_TARGETS / RIGS);
    context = rig_open_with(fix[part], &options);
    for (int i = part * BATCH; i < MUTANTS && i < (part + 1) * BATCH; i++)
        if (legal(context, target, mutants[i].spec))
            try_one(context, target, vendor, i, &wrong);
    ck_assert_msg(wrong.len == 0, "%s", wrong.data);
    groat__str_free(&wrong);
    groat_close(context);
}
END_TEST

/* No wait, barrier, fence or commit of the family is left without a mutant. */
START_TEST(the_table_is_complete)
{
    static const char *const calls[] = {"async_wait<", BARRIER, FENCE, COMMIT};
    int taken_out = 0;
    int found = 0;

    for (size_t k = 0; k < 4; k++)
        found += mutate_count(FAMILY, calls[k]);
    for (int i = 0; i < MUTANTS; i++)
        for (size_t k = 0; k < 4; k++)
            taken_out += strncmp(mutants[i].change.from, calls[k],
                                 strlen(calls[k])) == 0 &&
                         strlen(mutants[i].change.to) < 2;
    ck_assert_int_eq(taken_out, found);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("st_8x32_mutants");
    TCase *tests = tcase_create("st_8x32_mutants");

    /* All tests share the cache: one compile per mutant and target. */
    tcase_add_unchecked_fixture(tests, once_before, once_after);
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, the_table_is_complete);
    tcase_add_loop_test(tests, each_mutant_is_found, 0,
                        RIG_TARGETS * RIGS * (rig_is_tsan() ? 1 : 2));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
