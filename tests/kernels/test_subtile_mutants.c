/* SPDX-License-Identifier: Apache-2.0
 *
 * test_subtile_mutants.c: subtile_loader's own source, with each wait, barrier,
 * fence and commit taken out in turn, or counting one too much, and with a few
 * wrong addresses, under families of other names.  The judge must find each
 * where the arch needs what is missing, or the output must be wrong.
 */
#include "tests/pipe/mutate.h"

#include "kernels-src/subtile_loader/args.h"

enum { AMD = 1, NV = 2, ALL = AMD | NV };
enum { TILES = 8, BLOCKS = 2, HEADS = 1, QUERIES = 70, WARPS = 4 };
enum { BN = 64, DEPTH = 64, LD = 80, TILE_BYTES = BN * DEPTH * 2 };
/* A row and 32 bytes: no whole number of rows. */
enum { SCALAR_OFFSET = LD * 2 + 32, ROWS = (TILES + 1) * BN };
/* The largest output is that of the scores. */
enum { SOURCE = ROWS * LD * 2, OUTPUT = QUERIES * TILES * BN * 4 };

#define FAMILY    "subtile_loader"
#define STREAM    "void stream_slots("
#define POISON    "void poison("
#define LOAD_ONE  "void load_one("
#define SCORES    "void scores("
#define WAIT      "async_wait<ahead * copies, ahead>();"
#define WAIT_MORE "async_wait<ahead * copies + 1, ahead + 1>();"
#define WAIT_LAST "async_wait<0, 0>();"
#define WAIT_ONE  "async_wait<1, 1>();"
#define BARRIER   "block_barrier();"
#define COMMIT    "async_commit();"
#define FENCE     "shared_fence();"
#define NEXT_SLOT "fill = fill + 1 == slots ? 0 : fill + 1;"
#define NEXT_USE  "full = full + 1 == slots ? 0 : full + 1;"
#define CHAIN     "constexpr u32 chain("

typedef struct mutant {
    const char *entry; /* entry parameter of the spec that shows it */
    mutation change;
    int judged; /* archs on which the judge finds it  */
    int wrong;  /* those on which the output is wrong */
} mutant;

static const mutant mutants[] = {
    {"image", {"", "", 0, ""}, 0, 0}, /* the loader as it is */
    {"fragments", {"", "", 0, ""}, 0, 0},
    {"stream", {"", "", 0, ""}, 0, 0},
    {"scores", {"", "", 0, ""}, 0, 0},
    {"image", {POISON, FENCE, 0, ""}, AMD, 0},
    /* A wave poisons the chunks that it loads. */
    {"image", {POISON, BARRIER, 0, ""}, 0, 0},
    {"image", {LOAD_ONE, COMMIT, 0, ""}, NV, 0},
    {"image", {LOAD_ONE, WAIT_LAST, 0, ""}, ALL, 0},
    {"image", {LOAD_ONE, WAIT_LAST, 0, WAIT_ONE}, ALL, 0},
    {"fragments", {LOAD_ONE, BARRIER, 0, ""}, ALL, 0},
    {"fragments", {LOAD_ONE, WAIT_LAST, 0, ";"}, ALL, 0},
    {"scores", {LOAD_ONE, BARRIER, 0, ";"}, AMD, 0},
    {"scores", {LOAD_ONE, WAIT_LAST, 0, WAIT_ONE}, AMD, 0},
    /* The loads' values were used, so only stores would need this one. */
    {"scores", {SCORES, FENCE, 0, ""}, 0, 0},
    {"scores", {SCORES, BARRIER, 0, ""}, AMD, 0},
    {"stream", {STREAM, COMMIT, 0, ""}, NV, 0},
    {"stream", {STREAM, COMMIT, 1, ""}, NV, 0},
    {"stream", {STREAM, WAIT, 0, ";"}, ALL, 0},
    {"stream", {STREAM, WAIT, 0, WAIT_MORE}, ALL, 0},
    {"stream", {STREAM, WAIT_LAST, 0, ";"}, ALL, 0},
    {"stream", {STREAM, WAIT_LAST, 0, "async_wait<1, ahead + 1>();"}, ALL, 0},
    /* A wave folds the chunks that it loads: its own wait is enough. */
    {"stream", {STREAM, BARRIER, 0, ""}, 0, 0},
    {"stream", {STREAM, BARRIER, 1, ""}, 0, 0},
    {"stream", {STREAM, FENCE, 0, ""}, 0, 0},
    {"stream", {STREAM, NEXT_SLOT, 0, "fill = 0;"}, ALL, 0},
    {"stream", {STREAM, NEXT_SLOT, 1, ""}, ALL, 0},
    {"stream", {STREAM, NEXT_USE, 0, ""}, ALL, 0},
    /* Addresses. */
    {"image", {CHAIN, "<1, 1, 4>", 0, "<1, 0, 4>"}, 0, ALL},
    {"image",
     {"struct offset_in_tile", "% chunks_per_subtile", 0, "* 0"},
     0,
     ALL},
    {"image", {"buffer tile_source(", "+ ld_bytes - 1", 0, ""}, 0, ALL},
    {"image",
     {"buffer tile_source(", "static_cast<i64>(row_tile) * BN", 0, "row_tile"},
     0,
     ALL},
    {"image", {"u32 tile_offset(", "args.scalar_offset +", 0, ""}, 0, ALL},
    {"fragments", {"u32 fragment_address(", "chain<reader>", 0, ""}, 0, ALL},
    {"fragments", {"u32 fragment_address(", "lane / mma_m", 0, "0"}, 0, ALL},
    {"scores", {"u32 fragment_address(", "chain<reader>", 0, ""}, 0, AMD},
    {"scores", {SCORES, "row += BN * 4;", 0, ""}, 0, AMD},
    {"scores",
     {"void store_accumulator(", "accumulator_row<m>(lane, p)", 0, "p"},
     0,
     AMD},
    {"scores", {SCORES, "query < args.queries", 0, "true"}, AMD, 0},
    {"scores", {"struct query_vectors", "+ part * 16", 0, "+ 16"}, 0, AMD},
};

enum { MUTANTS = COUNT(mutants) };

static rig fix;

/* ---- families ---------------------------------------------------------- */

static void once_before(void)
{
    rig_make(&fix);
    for (int i = 0; i < MUTANTS; i++) {
        char name[40];

        (void)snprintf(name, sizeof(name), "subtile%d", i);
        mutate_family(&fix, FAMILY, name, &mutants[i].change);
    }
}

static void once_after(void)
{
    rig_drop(&fix);
}

/* ---- one launch -------------------------------------------------------- */

static bool is(int index, const char *entry)
{
    return strcmp(mutants[index].entry, entry) == 0;
}

/* bf16 numbers from 1 to 2: no sum of their products is without meaning. */
static void fill(uint16_t *data, size_t count)
{
    uint64_t state = 5;

    for (size_t i = 0; i < count; i++)
        data[i] = (uint16_t)(0x3f80 + next_random(&state) % 0x80);
}

static groat_status launch(groat_context *context, const char *target,
                           int index, unsigned char *out, groat_error *error)
{
    static uint16_t source[SOURCE / 2];
    static uint16_t queries[QUERIES * DEPTH];
    struct subtile_loader_args args = {.valid_rows = ROWS,
                                       .scalar_offset = SCALAR_OFFSET,
                                       .row_tiles = TILES,
                                       .heads = HEADS,
                                       .row_step = BLOCKS,
                                       .queries = QUERIES};
    groat_launch grid = GROAT_LAUNCH_INIT;
    groat_kernel *kernel = NULL;
    groat_status status;
    char spec[200];

    (void)snprintf(spec, sizeof(spec),
                   "subtile%d:entry=%s,stages=%d,BN=%d,depth=%d,src_cols=%d,"
                   "ld=%d,num_warps=%d",
                   index, mutants[index].entry, is(index, "stream") ? 3 : 1, BN,
                   DEPTH, DEPTH, LD, WARPS);
    status = groat_kernel_get(context, spec, target, &kernel, NULL, error);
    ck_assert_msg(status == GROAT_OK, "%s: %s %s", spec, error->text,
                  error->log == NULL ? "" : error->log);
    fill(source, COUNT(source));
    fill(queries, COUNT(queries));
    memset(out, 0, OUTPUT);
    args.source = rig_upload(context, target, source, sizeof(source));
    args.query = rig_upload(context, target, queries, sizeof(queries));
    args.output = rig_upload(context, target, out, OUTPUT);
    /* Two waves of the block have queries, two only load. */
    grid.grid[0] = is(index, "stream")   ? BLOCKS
                   : is(index, "scores") ? 1
                                         : TILES;
    status = groat_kernel_launch(kernel, &grid, &args, sizeof(args), error);
    ck_assert_int_eq(
        groat_memory_read(context, target, out, args.output, OUTPUT, NULL),
        GROAT_OK);
    groat_memory_free(context, target, args.source);
    groat_memory_free(context, target, args.query);
    groat_memory_free(context, target, args.output);
    groat_kernel_release(kernel);
    return status;
}

/* Appends to `wrong` what is not as the table says. */
static void try_mutant(groat_context *context, const char *target, int vendor,
                       int index, groat__str *wrong)
{
    static unsigned char right[OUTPUT];
    static unsigned char out[OUTPUT];
    const mutant *m = &mutants[index];
    bool judged = (m->judged & vendor) != 0;
    groat_error error = GROAT_ERROR_INIT;
    int sound = 0;

    while (!is(sound, m->entry))
        sound++;
    ck_assert_int_eq(launch(context, target, sound, right, &error), GROAT_OK);
    if (launch(context, target, index, out, &error) !=
            (judged ? GROAT_JUDGED : GROAT_OK) ||
        (judged && strstr(error.text, " thread ") == NULL))
        groat__str_addf(wrong, "%d '%s' for '%s' in %s on %s: %s\n", index,
                        m->change.to, m->change.from, m->entry, target,
                        judged ? "not found" : error.text);
    else if (!judged &&
             (memcmp(out, right, OUTPUT) != 0) != ((m->wrong & vendor) != 0))
        groat__str_addf(wrong,
                        "%d '%s' for '%s' in %s on %s: the output is %s\n",
                        index, m->change.to, m->change.from, m->entry, target,
                        (m->wrong & vendor) != 0 ? "right" : "wrong");
    groat_error_clear(&error);
}

/* _i: target and seed. */
START_TEST(each_mutant_is_found)
{
    const char *target = rig_targets[_i % RIG_TARGETS];
    int vendor = _i % RIG_TARGETS == 2 ? NV : AMD;
    groat_options options = rig_options(&fix);
    groat__str wrong = {0};
    groat_context *context;

    options.seed = (uint64_t)_i / RIG_TARGETS;
    context = rig_open_with(&fix, &options);
    for (int i = 0; i < MUTANTS; i++)
        if (vendor == AMD || !is(i, "scores"))
            try_mutant(context, target, vendor, i, &wrong);
    ck_assert_msg(wrong.len == 0, "%s", wrong.data);
    groat__str_free(&wrong);
    groat_close(context);
}
END_TEST

/* No wait, barrier, fence or commit of the loader is left without a mutant. */
START_TEST(the_table_is_complete)
{
    static const char *const calls[] = {"async_wait<", BARRIER, FENCE, COMMIT};
    int taken_out = 0;
    int found = 0;

    for (size_t k = 0; k < COUNT(calls); k++)
        found += mutate_count(FAMILY, calls[k]);
    for (int i = 0; i < MUTANTS; i++)
        for (size_t k = 0; k < COUNT(calls); k++) {
            const mutation *m = &mutants[i].change;
            bool seen = false;

            for (int n = 0; n < i; n++)
                seen |= strcmp(mutants[n].change.behind, m->behind) == 0 &&
                        strcmp(mutants[n].change.from, m->from) == 0 &&
                        mutants[n].change.nth == m->nth &&
                        strlen(mutants[n].change.to) < 2;
            taken_out += !seen && strlen(m->to) < 2 &&
                         strncmp(m->from, calls[k], strlen(calls[k])) == 0;
        }
    ck_assert_int_eq(taken_out, found);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("subtile_mutants");
    TCase *tests = tcase_create("subtile_mutants");

    /* All tests share the cache: one compile per mutant and target. */
    tcase_add_unchecked_fixture(tests, once_before, once_after);
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, the_table_is_complete);
    tcase_add_loop_test(tests, each_mutant_is_found, 0,
                        RIG_TARGETS * rig_seeds());
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
