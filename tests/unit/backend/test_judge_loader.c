/* SPDX-License-Identifier: Apache-2.0
 *
 * test_judge_loader.c: the tile loader's own source, with each wait, barrier,
 * fence and commit taken out in turn, or counting one too much, under families
 * of other names.  The judge must find each where the arch needs what is
 * missing, and must let pass what it does not need.
 */
#include "tests/pipe/mutate.h"

#include "kernels-src/tile_loader_lds/args.h"

enum { AMD = 1, NV = 2, ALL = AMD | NV, TILES = 8, BLOCKS = 2 };

#define FAMILY     "tile_loader_lds"
#define STREAM     "void stream_slots("
#define POISON     "void poison("
#define WAIT       "async_wait<ahead * copies, ahead>();"
#define WAIT_MORE  "async_wait<ahead * copies + 1, ahead + 1>();"
#define WAIT_LAST  "async_wait<0, 0>();"
#define BARRIER    "block_barrier();"
#define COMMIT     "async_commit();"
#define FENCE      "shared_fence();"
#define GATE       "wave >= num_loading_warps"
#define NEXT_SLOT  "fill = fill + 1 == slots ? 0 : fill + 1;"
#define SECOND_USE "full = full + 1 == slots ? 0 : full + 1;"

typedef struct mutant {
    const char *entry; /* entry parameter of the spec that shows it */
    mutation change;
    int on; /* archs on which it is a fault */
} mutant;

static const mutant mutants[] = {
    {"image", {"", "", 0, ""}, 0}, /* the loader as it is */
    {"stream", {"", "", 0, ""}, 0},
    {"image", {POISON, FENCE, 0, ""}, AMD},
    {"image", {POISON, BARRIER, 0, ""}, ALL},
    {"image", {"void image(", COMMIT, 0, ""}, NV},
    {"image", {"void image(", WAIT_LAST, 0, ""}, ALL},
    {"image", {"void image(", WAIT_LAST, 0, "async_wait<1, 1>();"}, ALL},
    {"image", {"void image(", BARRIER, 0, ""}, ALL},
    {"image", {"void load(", GATE, 0, "wave >= num_warps"}, ALL},
    {"stream", {STREAM, COMMIT, 0, ""}, NV},
    {"stream", {STREAM, COMMIT, 1, ""}, NV},
    {"stream", {STREAM, WAIT, 0, ";"}, ALL},
    {"stream", {STREAM, WAIT, 0, WAIT_MORE}, ALL},
    {"stream", {STREAM, WAIT_LAST, 0, ";"}, ALL},
    /* In the tail NVIDIA's empty groups count on: ahead of them may stay. */
    {"stream", {STREAM, WAIT_LAST, 0, "async_wait<1, 1>();"}, AMD},
    {"stream", {STREAM, WAIT_LAST, 0, "async_wait<0, ahead>();"}, 0},
    {"stream", {STREAM, WAIT_LAST, 0, "async_wait<1, ahead + 1>();"}, ALL},
    {"stream", {STREAM, BARRIER, 0, ""}, ALL},
    {"stream", {STREAM, BARRIER, 1, ""}, ALL},
    /* The loads' values were used, so only stores would need this one. */
    {"stream", {STREAM, FENCE, 0, ""}, 0},
    {"stream", {STREAM, NEXT_SLOT, 0, "fill = 0;"}, ALL},
    {"stream", {STREAM, NEXT_SLOT, 1, ""}, ALL},
    {"stream", {STREAM, SECOND_USE, 0, ""}, ALL},
};

enum { MUTANTS = COUNT(mutants) };

static rig fix;

/* ---- families ---------------------------------------------------------- */

static void once_before(void)
{
    rig_make(&fix);
    for (int i = 0; i < MUTANTS; i++) {
        char name[40];

        (void)snprintf(name, sizeof(name), "loader%d", i);
        mutate_family(&fix, FAMILY, name, &mutants[i].change);
    }
}

static void once_after(void)
{
    rig_drop(&fix);
}

/* ---- one launch -------------------------------------------------------- */

/* Two of four waves load, so that every wave reads what another one copied. */
static groat_status launch(groat_context *context, const char *target,
                           int index, groat_error *error)
{
    enum { ROWS = 32, COLS = 64, TILE_BYTES = ROWS * COLS * 2 };
    bool image = strcmp(mutants[index].entry, "image") == 0;
    static unsigned char data[TILES * TILE_BYTES];
    struct tile_loader_lds_args args = {0};
    groat_launch grid = GROAT_LAUNCH_INIT;
    groat_kernel *kernel = NULL;
    groat_status status;
    char spec[200];

    (void)snprintf(spec, sizeof(spec),
                   "loader%d:entry=%s,stages=%d,tile_rows=%d,tile_cols=%d,"
                   "src_cols=%d,num_loading_warps=2,num_warps=4",
                   index, mutants[index].entry, image ? 1 : 3, ROWS, COLS,
                   COLS);
    status = groat_kernel_get(context, spec, target, &kernel, NULL, error);
    ck_assert_msg(status == GROAT_OK, "%s: %s %s", spec, error->text,
                  error->log == NULL ? "" : error->log);
    memset(data, 1, sizeof(data));
    args.source = rig_upload(context, target, data, sizeof(data));
    args.output = rig_upload(context, target, data, sizeof(data));
    args.valid_rows = TILES * ROWS;
    args.row_tiles = TILES;
    args.col_tiles = 1;
    args.row_step = BLOCKS;
    grid.grid[0] = image ? TILES : BLOCKS;
    status = groat_kernel_launch(kernel, &grid, &args, sizeof(args), error);
    groat_memory_free(context, target, args.source);
    groat_memory_free(context, target, args.output);
    groat_kernel_release(kernel);
    return status;
}

/* _i: target and seed. */
START_TEST(each_mutant_is_found)
{
    const char *target = rig_targets[_i % RIG_TARGETS];
    int vendor = _i % RIG_TARGETS == 2 ? NV : AMD;
    groat_options options = rig_options(&fix);
    groat_error error = GROAT_ERROR_INIT;
    groat__str wrong = {0};
    groat_context *context;

    options.seed = (uint64_t)_i / RIG_TARGETS;
    context = rig_open_with(&fix, &options);
    for (int i = 0; i < MUTANTS; i++) {
        bool fault = (mutants[i].on & vendor) != 0;
        groat_status status;

        groat_error_clear(&error);
        status = launch(context, target, i, &error);
        if (status != (fault ? GROAT_JUDGED : GROAT_OK) ||
            (fault && strstr(error.text, " thread ") == NULL))
            groat__str_addf(&wrong, "mutant %d on %s: %s %s\n", i, target,
                            groat_status_name(status), error.text);
    }
    ck_assert_msg(wrong.len == 0, "%s", wrong.data);
    groat__str_free(&wrong);
    groat_error_clear(&error);
    groat_close(context);
}
END_TEST

/* No wait, barrier, fence or commit of the loader is left without a mutant. */
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
    Suite *suite = suite_create("judge_loader");
    TCase *tests = tcase_create("judge_loader");

    /* All tests share the cache: one compile per mutant and target. */
    tcase_add_unchecked_fixture(tests, once_before, once_after);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, the_table_is_complete);
    tcase_add_loop_test(tests, each_mutant_is_found, 0,
                        RIG_TARGETS * rig_seeds());
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
