/* SPDX-License-Identifier: Apache-2.0
 *
 * test_kv_mutants.c: the kv families' own sources, with each wait, barrier,
 * fence and commit taken out in turn, or counting one too much, and with
 * addresses changed, under families of other names.  The judge must find each
 * where the arch needs what is missing, or the bytes must be wrong; what is not
 * needed must pass with the right ones.
 */
#include "tests/kernels/kv_rig.h"
#include "tests/pipe/mutate.h"

enum { AMD = 1, NV = 2, ALL = AMD | NV, SEEDS = 3 };

extern const groat_driver groat_driver_kv_buffer_lds;
extern const groat_driver groat_driver_kv_buffer_pipelined;
extern const groat_driver groat_driver_kv_buffer_reg;

/* Two waves, each of which reads what the other one brought; a few key blocks
 * and a part of one. */
static const struct {
    const groat_driver *driver;
    const char *shape;
    int64_t rows, blocks;
} families[] = {
    {&groat_driver_kv_buffer_lds,
     "BN=64,WN=64,depth=64,num_warps=2,swizzle_bits=3,swizzle_shift=4", 300, 4},
    {&groat_driver_kv_buffer_reg,
     "BN=64,WN=64,depth=64,num_warps=2,swizzle_bits=3,swizzle_shift=4", 300, 4},
    {&groat_driver_kv_buffer_pipelined,
     "BN=32,depth=64,num_warps=2,swizzle_bits=3,swizzle_shift=4", 230, 2},
};

enum { LDS, REG, PIPE, FAMILIES };

#define POISON_IT "void poison("
#define BARRIER   "block_barrier();"
#define COMMIT    "async_commit();"
#define FENCE     "shared_fence();"
#define WAIT_ALL  "async_wait<0, 0>();"
#define WAIT_KEYS "async_wait<vm, 1>();"
#define WAIT_VALS "async_wait<2 * vm, 2>();"
#define RUN       "struct pipeline {"
#define LDS_RUN   "struct single_buffer {"
#define REG_RUN   "struct register_buffer {"
#define USE       "void use_tile("

typedef struct mutant {
    int family;
    const char *entry; /* and role: what shows it */
    mutation change;
    int on; /* archs on which it is a fault */
} mutant;

static const mutant mutants[] = {
    /* ---- kv_buffer_lds as it is, and without one thing */
    {LDS, "image", {"", "", 0, ""}, 0},
    {LDS, "fragments", {"", "", 0, ""}, 0},
    {LDS, "fragments,role=V", {"", "", 0, ""}, 0},
    {LDS, "scores", {"", "", 0, ""}, 0},
    {LDS, "output", {"", "", 0, ""}, 0},
    {LDS, "stream", {"", "", 0, ""}, 0},
    {LDS, "image", {POISON_IT, FENCE, 0, ""}, AMD},
    {LDS, "image", {POISON_IT, BARRIER, 0, ""}, ALL},
    {LDS, "stream", {"void load_from_dram(", COMMIT, 0, ""}, NV},
    {LDS, "scores", {"void copy_to_shared(", WAIT_ALL, 0, ""}, AMD},
    {LDS, "stream", {"void copy_to_shared(", WAIT_ALL, 0, ";"}, ALL},
    {LDS,
     "stream",
     {"void copy_to_shared(", WAIT_ALL, 0, "async_wait<1, 1>();"},
     ALL},
    {LDS, "scores", {LDS_RUN, BARRIER, 0, ""}, AMD},
    {LDS, "output", {LDS_RUN, BARRIER, 0, ";"}, AMD},
    {LDS, "image", {LDS_RUN, BARRIER, 0, " ;"}, ALL},
    {LDS, "scores", {LDS_RUN, BARRIER, 1, ""}, AMD},
    {LDS, "stream", {LDS_RUN, BARRIER, 1, " ;"}, ALL},
    /* The values that were read have been used: only stores would need it. */
    {LDS, "stream", {LDS_RUN, FENCE, 0, ""}, 0},
    /* ---- addresses, shown by this family */
    {LDS,
     "image",
     {"half_source", "permute(64 * half + place) % 64", 0, "place"},
     ALL},
    {LDS, "image", {"void copy(buffer", "half * (16 * ld * 2)", 0, "0"}, ALL},
    {LDS,
     "image",
     {"void copy(buffer", "square = t * waves + wave", 0,
      "square = t * waves + waves - 1 - wave"},
     0},
    {LDS, "image", {"vector_source(", "vector % 4 * 8", 0, "vector % 4"}, ALL},
    /* The swizzle counted from the strip instead of the square. */
    {LDS,
     "fragments",
     {"key_fragment(", "tile::address(row0 + lane % m, col0 + lane / m * 8)", 0,
      "tile::address(row0 + lane % m, lane / m * 8) + col0 * 2"},
     ALL},
    {LDS,
     "fragments,role=V",
     {"struct value_address", "lane % m / 16 * 16", 0, "0"},
     ALL},
    {LDS,
     "fragments,role=V",
     {"value_fragment(", "row0 + 256 / m", 0, "row0 + 4"},
     ALL},
    {LDS, "output", {"weight_fragment(", "col0 + 256 / m", 0, "col0 + 4"}, AMD},
    {LDS, "scores", {"query_fragment(", "lane / m * 16", 0, "0"}, AMD},
    {LDS, "scores", {"void take(u32 n", "clear();", 0, ""}, AMD},
    {LDS, "stream", {"key_block_rows(", "rows - row;", 0, "rows;"}, ALL},
    /* ---- kv_buffer_reg */
    {REG, "image", {"", "", 0, ""}, 0},
    {REG, "fragments,role=V", {"", "", 0, ""}, 0},
    {REG, "scores", {"", "", 0, ""}, 0},
    {REG, "output", {"", "", 0, ""}, 0},
    {REG, "stream", {"", "", 0, ""}, 0},
    {REG, "image", {POISON_IT, FENCE, 0, ""}, AMD},
    /* A wave poisons and stores, stores and folds the same places. */
    {REG, "image", {POISON_IT, BARRIER, 0, ""}, NV},
    {REG, "stream", {"void copy_to_shared(", FENCE, 0, ""}, AMD},
    {REG, "stream", {USE, BARRIER, 0, ""}, NV},
    {REG, "scores", {USE, BARRIER, 0, ";"}, AMD},
    {REG, "stream", {USE, BARRIER, 1, ""}, NV},
    {REG, "output", {USE, BARRIER, 1, ";"}, AMD},
    {REG, "stream", {USE, FENCE, 0, ""}, 0},
    {REG,
     "stream",
     {"void use_and_load(", "use.place(n + 1)", 0, "use.place(n)"},
     ALL},
    {REG,
     "stream",
     {REG_RUN, "use_and_load(use, n + 1, odd, even)", 0,
      "use_and_load(use, n + 1, even, odd)"},
     ALL},
    {REG, "stream", {REG_RUN, "use_last(use, n + 1, odd)", 0, "(void)0"}, ALL},
    {REG,
     "scores",
     {"void use_and_load(", "use.fetch(n);", 0, "use.fetch(n + 1);"},
     AMD},
    {REG, "image", {"void store(u32", "permute(n % 128)", 0, "n % 128"}, ALL},
    {REG, "image", {"void load(buffer", "square_source(n / 128)", 0, "0"}, ALL},
    /* ---- kv_buffer_pipelined */
    {PIPE, "attention", {"", "", 0, ""}, 0},
    {PIPE, "image", {"", "", 0, ""}, 0},
    {PIPE, "stream", {"", "", 0, ""}, 0},
    {PIPE, "image", {POISON_IT, FENCE, 0, ""}, AMD},
    {PIPE, "image", {POISON_IT, BARRIER, 0, ""}, ALL},
    {PIPE, "stream", {"void load(const block_place", COMMIT, 0, ""}, NV},
    {PIPE, "stream", {"void load(const block_place", COMMIT, 1, ""}, NV},
    {PIPE, "stream", {RUN, WAIT_KEYS, 0, ";"}, ALL},
    {PIPE, "attention", {RUN, WAIT_KEYS, 0, " ;"}, AMD},
    {PIPE, "stream", {RUN, WAIT_KEYS, 0, "async_wait<vm + 1, 2>();"}, ALL},
    {PIPE, "attention", {RUN, WAIT_KEYS, 0, "async_wait<vm + 1, 2>();"}, AMD},
    {PIPE, "stream", {RUN, WAIT_ALL, 0, ";"}, ALL},
    {PIPE, "attention", {RUN, WAIT_ALL, 0, " ;"}, AMD},
    {PIPE, "stream", {RUN, WAIT_ALL, 0, WAIT_KEYS}, ALL},
    {PIPE, "stream", {RUN, WAIT_ALL, 0, "async_wait<1, 1>();"}, ALL},
    {PIPE, "image", {RUN, WAIT_ALL, 0, WAIT_KEYS}, ALL},
    {PIPE, "stream", {RUN, WAIT_VALS, 0, ";"}, ALL},
    {PIPE, "attention", {RUN, WAIT_VALS, 0, " ;"}, AMD},
    {PIPE, "stream", {RUN, WAIT_VALS, 0, "async_wait<2 * vm + 1, 3>();"}, ALL},
    {PIPE,
     "attention",
     {RUN, WAIT_VALS, 0, "async_wait<2 * vm + 1, 3>();"},
     AMD},
    {PIPE, "stream", {RUN, BARRIER, 0, ""}, ALL},
    {PIPE, "attention", {RUN, BARRIER, 0, ";"}, AMD},
    {PIPE, "stream", {RUN, BARRIER, 1, ""}, ALL},
    {PIPE, "attention", {RUN, BARRIER, 1, ";"}, AMD},
    {PIPE, "stream", {RUN, FENCE, 0, ""}, 0},
    /* Waits for more than is needed are no faults. */
    {PIPE, "stream", {RUN, WAIT_KEYS, 0, "async_wait<vm - 1, 0>();"}, 0},
    {PIPE, "stream", {RUN, WAIT_VALS, 0, "async_wait<vm, 1>();"}, 0},
    {PIPE, "stream", {"u32 stage(u32 n)", "n % 2", 0, "0"}, ALL},
    {PIPE, "stream", {RUN, "use.place(n + 1)", 0, "use.place(n)"}, ALL},
    {PIPE, "stream", {RUN, "stage(n + 1)", 0, "stage(n)"}, ALL},
    {PIPE, "image", {"void load(const block_place", "slot_bytes", 0, "0"}, ALL},
    {PIPE,
     "attention",
     {"void make_weights()\n    {\n        GROAT_UNROLL",
      "score(8 * i), score(8 * i + 1)", 0, "score(8 * i + 1), score(8 * i)"},
     AMD},
    {PIPE,
     "attention",
     {"void take_keys(u32 at)\n    {\n        GROAT_UNROLL",
      "scores[i] = zero_accumulator<m>();", 0, ""},
     AMD},
};

enum { MUTANTS = COUNT(mutants) };

/* A context takes 64 families. */
static rig fix_lds;
static rig fix_reg;
static rig fix_pipe;
static rig *const fixes[FAMILIES] = {&fix_lds, &fix_reg, &fix_pipe};

static void once_before(void)
{
    rig_make(&fix_lds);
    rig_make(&fix_reg);
    rig_make(&fix_pipe);
    for (int i = 0; i < MUTANTS; i++) {
        char name[40];

        (void)snprintf(name, sizeof(name), "kv%d", i);
        mutate_family(fixes[mutants[i].family],
                      families[mutants[i].family].driver->family, name,
                      &mutants[i].change);
    }
}

static void once_after(void)
{
    for (int f = 0; f < FAMILIES; f++)
        rig_drop(fixes[f]);
}

static bool multiplies(const mutant *m)
{
    return strcmp(m->entry, "scores") == 0 || strcmp(m->entry, "output") == 0 ||
           strcmp(m->entry, "attention") == 0;
}

/* JUDGED, OK, or IO for the wrong bytes. */
static groat_status launch_one(groat_context *context, const char *target,
                               int index, groat_error *error)
{
    const mutant *m = &mutants[index];
    const groat_driver *driver = families[m->family].driver;
    int64_t values[GROAT_DRIVER_ARGS];
    groat_status status;
    drive_how how = {3, NULL, NULL};
    driven d;
    size_t last;
    char spec[300];

    (void)snprintf(spec, sizeof(spec), "kv%d:entry=%s,%s", index, m->entry,
                   families[m->family].shape);
    drive_defaults(driver, values);
    values[drive_argument(driver, "valid_rows")] = families[m->family].rows;
    if (strcmp(m->entry, "stream") == 0)
        values[drive_argument(driver, "block_step")] =
            families[m->family].blocks;
    status = drive_try(context, driver, spec, target, values, &how, &d, error);
    last = d.plan.buffer_count - 1;
    if (status == GROAT_OK &&
        memcmp(d.buffers[last], d.want, d.plan.buffers[last].bytes) != 0)
        status = GROAT_IO;
    drive_free(&d);
    return status;
}

/* _i: target, family and seed. */
START_TEST(each_mutant_is_found)
{
    const char *target = rig_targets[_i % RIG_TARGETS];
    int vendor = _i % RIG_TARGETS == 2 ? NV : AMD;
    int family = _i / RIG_TARGETS % FAMILIES;
    rig *fix = fixes[family];
    groat_options options = rig_options(fix);
    groat_error error = GROAT_ERROR_INIT;
    groat__str wrong = {0};
    groat_context *context;

    options.seed = (uint64_t)_i / RIG_TARGETS / FAMILIES;
    context = rig_open_with(fix, &options);
    for (int i = 0; i < MUTANTS; i++) {
        bool fault = (mutants[i].on & vendor) != 0;
        groat_status status;

        if (mutants[i].family != family ||
            (vendor == NV && multiplies(&mutants[i])))
            continue; /* no such entry there */
        groat_error_clear(&error);
        status = launch_one(context, target, i, &error);
        if (fault != (status == GROAT_JUDGED || status == GROAT_IO) ||
            (status == GROAT_JUDGED && strstr(error.text, " thread ") == NULL))
            groat__str_addf(&wrong, "mutant %d on %s: %s %s\n", i, target,
                            groat_status_name(status), error.text);
    }
    ck_assert_msg(wrong.len == 0, "%s", wrong.data);
    groat__str_free(&wrong);
    groat_error_clear(&error);
    groat_close(context);
}
END_TEST

/* No wait, barrier, fence or commit is left without a mutant; one that several
 * entries show counts once. */
START_TEST(the_table_is_complete)
{
    static const char *const calls[] = {"async_wait<", BARRIER, FENCE, COMMIT};

    for (int f = 0; f < FAMILIES; f++) {
        int taken_out = 0;
        int found = 0;

        for (size_t k = 0; k < COUNT(calls); k++)
            found += mutate_count(families[f].driver->family, calls[k]);
        for (int i = 0; i < MUTANTS; i++) {
            bool first = mutants[i].family == f;

            for (int n = 0; n < i && first; n++)
                first = mutants[n].family != f ||
                        mutants[n].change.nth != mutants[i].change.nth ||
                        strcmp(mutants[n].change.from,
                               mutants[i].change.from) != 0 ||
                        strcmp(mutants[n].change.behind,
                               mutants[i].change.behind) != 0;
            for (size_t k = 0; k < COUNT(calls); k++)
                taken_out += first && strlen(mutants[i].change.to) < 2 &&
                             strncmp(mutants[i].change.from, calls[k],
                                     strlen(calls[k])) == 0;
        }
        ck_assert_msg(taken_out == found, "%s: %d of %d",
                      families[f].driver->family, taken_out, found);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kv_mutants");
    TCase *tests = tcase_create("kv_mutants");

    /* All tests share the cache: one compile per mutant and target. */
    tcase_add_unchecked_fixture(tests, once_before, once_after);
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, the_table_is_complete);
    tcase_add_loop_test(tests, each_mutant_is_found, 0,
                        RIG_TARGETS * FAMILIES * (rig_is_tsan() ? 1 : SEEDS));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
