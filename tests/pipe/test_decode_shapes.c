/* SPDX-License-Identifier: Apache-2.0
 *
 * test_decode_shapes.c: shapes and choices that groat_decode_open() refuses,
 * what a shape needs as a workspace, and how many keys it can have.
 */
#include "opened.h"
#include "groat_attention.h"

#include <math.h>

/* A shape with heads of `dim` numbers, `queries` queries per sequence, and
 * sequences of at most `most` keys. */
#define SHAPE(dim, queries, most, ...)                                         \
    {                                                                          \
        .size = sizeof(groat_decode_shape), .head_dim = dim, .q_len = queries, \
        .sequences = 4, .keys = most, __VA_ARGS__                              \
    }

static const struct {
    groat_decode_shape shape;
    const char *target, *words;
} bad_shapes[] = {
    {SHAPE(64, 1, 150, .heads = 7, .kv_heads = 2), NULL,
     "shape.heads is 7; allowed: 1 to "
     "64 for each of the 2 KV heads"},
    {SHAPE(64, 1, 150, .heads = 130, .kv_heads = 2), NULL,
     "shape.heads is 130"},
    {SHAPE(64, 1, 150, .heads = 8, .kv_heads = 0), NULL, "shape.kv_heads is 0"},
    {SHAPE(64, 1, 150, .heads = 8, .kv_heads = 1, .dtype = GROAT_DECODE_E4M3),
     NULL, "shape.dtype (GROAT_DECODE_*) is 2; allowed: 0 to 1"},
    {SHAPE(64, 1, 150, .heads = 8, .kv_heads = 1, .kv_dtype = GROAT_DECODE_F16),
     NULL, "shape.kv_dtype is 1; allowed: that of dtype, 0, and"},
    {SHAPE(64, 1, 150, .heads = 8, .kv_heads = 1, .mask = GROAT_DECODE_WINDOW),
     NULL, "shape.seen is 0; allowed: 1 to"},
    {SHAPE(64, 1, 150, .heads = 8, .kv_heads = 1, .seen = 5), NULL,
     "shape.seen is 5; allowed here: 0"},
    {SHAPE(64, 1, 150, .heads = 8, .kv_heads = 1,
           .kv_scale = GROAT_DECODE_OF_TOKEN),
     NULL, "shape.kv_scale (GROAT_DECODE_OF_*) is 2; allowed here: 0"},
    {SHAPE(64, 1, 150, .heads = 8, .kv_heads = 1, .flags = GROAT_DECODE_CAP),
     NULL, "shape.cap is 0; allowed: finite"},
    {SHAPE(64, 1, 150, .heads = 8, .kv_heads = 1, .scale = NAN), NULL,
     "shape.scale is"},
    {SHAPE(64, 1, 150, .heads = 8, .kv_heads = 1, .flags = 128), NULL,
     "shape.flags (GROAT_DECODE_*) is 128; allowed: 0 to 127"},
    {SHAPE(72, 1, 150, .heads = 8, .kv_heads = 1), NULL, "head_dim"},
    {SHAPE(1u << 31, 1, 150, .heads = 8, .kv_heads = 1), NULL,
     "shape.head_dim is 2147483648; allowed: 64 to 512"},
    {SHAPE(64, 1, 150, .value_dim = 80, .heads = 8, .kv_heads = 1), NULL,
     "shape.value_dim is 80; allowed here: 64"},
    {SHAPE(128, 1, 150, .value_dim = 48, .heads = 8, .kv_heads = 1), NULL,
     "shape.value_dim is 48; allowed: 64 to 128"},
    {SHAPE(128, 1, 150, .value_dim = 72, .heads = 8, .kv_heads = 1), NULL,
     "value_dim"},
    {SHAPE(256, 1, 150, .value_dim = 80, .heads = 16, .kv_heads = 1), NULL,
     "a warp's slice of values is whole products"},
    {SHAPE(320, 1, 150, .value_dim = 80, .heads = 8, .kv_heads = 1), NULL,
     "a warp's slice of values is whole products"},
    {SHAPE(64, 1, 150, .heads = 8, .kv_heads = 1, .page = 2000), NULL,
     "shape.page is 2000; allowed: 0 to 1024"},
    {SHAPE(64, 1, 150, .heads = 8, .kv_heads = 1), "cpu:gfx950",
     "products need NVIDIA's mma.sync"},
    {SHAPE(64, 1, 150, .heads = 8, .kv_heads = 1), "hip:gfx950",
     "products need NVIDIA's mma.sync"},
    {SHAPE(64, 1, 150, .heads = 8, .kv_heads = 1), "cpu:sm_1", "sm_1"},
    {SHAPE(64, 1, 150, .heads = 8, .kv_heads = 1, .flags = GROAT_DECODE_TREE,
           .mask = GROAT_DECODE_WINDOW, .seen = 5),
     NULL, "allowed with GROAT_DECODE_TREE: GROAT_DECODE_CAUSAL (0)"},
    {SHAPE(64, 1, 150, .heads = 8, .kv_heads = 1,
           .flags = GROAT_DECODE_TREE | GROAT_DECODE_ALIBI),
     NULL, "allowed with GROAT_DECODE_TREE: GROAT_DECODE_CAUSAL (0)"},
    {SHAPE(64, 1, 150, .heads = 8, .kv_heads = 1, .score = "score \""), NULL,
     "shape.score: expression 'score \"', column 7"},
};

START_TEST(a_bad_shape)
{
    groat_decode *decode = NULL;

    ck_fails(
        groat_decode_open(context,
                          bad_shapes[_i].target != NULL ? bad_shapes[_i].target
                                                        : "cpu:sm_80",
                          &bad_shapes[_i].shape, NULL, &decode, &fix.error),
        GROAT_INVALID, &fix.error, bad_shapes[_i].words);
    ck_assert_ptr_null(decode);
}
END_TEST

/* A choice with each field wrong in turn, and a choice that is used. */
START_TEST(a_choice)
{
    static const struct {
        groat_decode_choice choice;
        const char *words;
    } bad[] = {
        {{.size = 1}, "choice.size"},
        {{.size = sizeof(groat_decode_choice), .warps = 1u << 28},
         "choice.warps is 268435456; allowed: 0 to 8"},
        {{.size = sizeof(groat_decode_choice), .warps = 3},
         "warps=3 is not allowed"},
        {{.size = sizeof(groat_decode_choice), .stages = 9}, "choice.stages"},
        {{.size = sizeof(groat_decode_choice), .cluster = 17},
         "choice.cluster is 17; allowed: 0 to 16"},
        {{.size = sizeof(groat_decode_choice), .cluster = 2},
         "clusters need sm_90 or up"},
        {{.size = sizeof(groat_decode_choice), .split = 4097}, "choice.split"},
        {{.size = sizeof(groat_decode_choice), .blocks = 65536},
         "choice.blocks"},
    };
    static const groat_decode_shape shape =
        SHAPE(64, 1, 150, .heads = 4, .kv_heads = 1, .page = 16,
              .flags = GROAT_DECODE_BATCH_INVARIANT);
    groat_decode_choice choice = GROAT_DECODE_CHOICE_INIT;
    groat_decode *decode = NULL;

    for (size_t i = 0; i < COUNT(bad); i++)
        ck_fails(groat_decode_open(context, "cpu:sm_80", &shape, &bad[i].choice,
                                   &decode, &fix.error),
                 GROAT_INVALID, &fix.error, bad[i].words);
    choice.warps = 2;
    choice.blocks = 3;
    ck_assert_int_eq(groat_decode_open(context, "cpu:sm_80", &shape, &choice,
                                       &decode, &fix.error),
                     GROAT_OK);
    choice.size--;
    ck_fails(groat_decode_choice_get(decode, &choice, &fix.error),
             GROAT_INVALID, &fix.error, "choice.size");
    choice.size++;
    ck_assert_int_eq(groat_decode_choice_get(decode, &choice, &fix.error),
                     GROAT_OK);
    ck_assert_uint_eq(choice.warps, 2);
    ck_assert_uint_eq(choice.blocks, 3);
    ck_assert_uint_eq(choice.split, 8);
    groat_decode_close(decode);
}
END_TEST

/* Splits of as many keys each: one key more than they hold needs another. */
START_TEST(a_workspace_for_each_split)
{
    groat_decode_shape shape =
        SHAPE(64, 1, 1, .heads = 4, .kv_heads = 1, .page = 16,
              .flags = GROAT_DECODE_BATCH_INVARIANT);
    groat_decode_choice choice = GROAT_DECODE_CHOICE_INIT;
    unsigned grown[2] = {0, 0}, count = 0;
    size_t before = 0;

    choice.split = 1;
    for (; count < 2 && shape.keys < 1000; shape.keys++) {
        groat_decode *decode = NULL;
        size_t bytes;

        ck_assert_int_eq(groat_decode_open(context, "cpu:sm_80", &shape,
                                           &choice, &decode, &fix.error),
                         GROAT_OK);
        bytes = groat_decode_workspace(decode);
        if (before > 0 && bytes != before)
            grown[count++] = (unsigned)shape.keys;
        before = bytes;
        groat_decode_close(decode);
    }
    ck_assert_uint_gt(grown[0], 2);
    ck_assert_uint_eq(grown[1], 2 * grown[0] - 1);
}
END_TEST

/* A grid has 65,535 blocks at most; a number of blocks that wraps around to 0
 * is not divided by. */
START_TEST(too_many_clusters)
{
    static const struct {
        unsigned heads, sequences, cluster;
        const char *words;
    } cases[] = {
        {4, 1025, 16,
         "choice.cluster is 16, for 4100 strips; allowed: 1, or clusters of "
         "65535 blocks in all"},
        {65536, 32768, 2, "choice.cluster is 2, for 2147483648 strips"},
        {65536, 4096, 16, "choice.cluster is 16, for 268435456 strips"},
    };
    groat_decode *decode = NULL;

    for (size_t i = 0; i < COUNT(cases); i++) {
        groat_decode_shape shape = SHAPE(64, 1, 150, .page = 16);
        groat_decode_choice choice = GROAT_DECODE_CHOICE_INIT;

        shape.heads = shape.kv_heads = cases[i].heads;
        shape.sequences = cases[i].sequences;
        choice.cluster = cases[i].cluster;
        ck_fails(groat_decode_open(context, "cpu:sm_90a", &shape, &choice,
                                   &decode, &fix.error),
                 GROAT_INVALID, &fix.error, cases[i].words);
    }
}
END_TEST

/* The kernel counts tiles in 32 bits, the workspace has 64. */
START_TEST(too_many_keys)
{
    groat_decode_shape shape = SHAPE(64, 1, INT32_MAX, .page = 16);
    groat_decode_choice choice = GROAT_DECODE_CHOICE_INIT;
    groat_decode_arguments a = GROAT_DECODE_ARGUMENTS_INIT;
    groat_kv_cache cache = {.size = sizeof(cache),
                            .address = 4096,
                            .elem_bytes = 2,
                            .blocks = 1,
                            .planes = 2,
                            .layers = 1,
                            .page = 16,
                            .heads = 2,
                            .dim = 64};
    groat_decode *decode = NULL;

    shape.heads = 8;
    shape.kv_heads = 2;
    shape.sequences = 40;
    choice.warps = 1;
    ck_assert_int_eq(groat_decode_open(context, "cpu:sm_80", &shape, &choice,
                                       &decode, &fix.error),
                     GROAT_OK);
    a.queries = a.page_table = a.lengths = a.output = a.workspace =
        cache.address; /* not read */
    a.keys = &cache;
    a.sequences = 40;
    a.pitch = 1U << 27;
    ck_fails(groat_decode_run(decode, &a, NULL, &fix.error), GROAT_INVALID,
             &fix.error,
             "arguments.sequences is 40, with up to 2147483647 keys each");
    groat_decode_close(decode);
    shape.heads = shape.kv_heads = 65536;
    shape.sequences = 32768;
    shape.flags = GROAT_DECODE_BATCH_INVARIANT;
    choice.split = 1;
    ck_fails(groat_decode_open(context, "cpu:sm_80", &shape, &choice, &decode,
                               &fix.error),
             GROAT_INVALID, &fix.error, "more than 2^64 bytes");
}
END_TEST

START_TEST(first_keys)
{
    groat_decode_shape s =
        SHAPE(64, 3, 150, .mask = GROAT_DECODE_WINDOW, .seen = 5);

    /* The first of three queries is at key length - 3. */
    ck_assert_uint_eq(groat_decode_first_key(&s, 100), 93);
    ck_assert_uint_eq(groat_decode_first_key(&s, 8), 1);
    ck_assert_uint_eq(groat_decode_first_key(&s, 7), 0);
    ck_assert_uint_eq(groat_decode_first_key(&s, 0), 0);
    /* A launch clamps lengths to the shape's keys. */
    ck_assert_uint_eq(groat_decode_first_key(&s, s.keys + 500),
                      groat_decode_first_key(&s, s.keys));
    s.mask = GROAT_DECODE_CHUNK;
    ck_assert_uint_eq(groat_decode_first_key(&s, 100), 95);
    ck_assert_uint_eq(groat_decode_first_key(&s, 8), 5);
    ck_assert_uint_eq(groat_decode_first_key(&s, 2), 0);
    s.seen = 0; /* no shape, and divided by nothing */
    ck_assert_uint_eq(groat_decode_first_key(&s, 100), 0);
    s.mask = GROAT_DECODE_CAUSAL;
    ck_assert_uint_eq(groat_decode_first_key(&s, 100), 0);
    ck_assert_uint_eq(groat_decode_first_key(NULL, 100), 0);
}
END_TEST

/* Fewer warps than a team has. */
START_TEST(too_few_warps)
{
    static const struct {
        groat_decode_shape shape;
        unsigned warps;
        const char *words;
    } teams[] = {
        {SHAPE(512, 1, 150, .heads = 8, .kv_heads = 1, .page = 16,
               .flags = GROAT_DECODE_BATCH_INVARIANT),
         1, "needs 2 warps or more"},
        {SHAPE(64, 1, 150, .heads = 40, .kv_heads = 1, .page = 16,
               .flags = GROAT_DECODE_BATCH_INVARIANT),
         3, "warps=3 is not allowed"},
    };
    groat_decode *decode = NULL;

    for (size_t k = 0; k < COUNT(teams); k++) {
        groat_decode_choice few = GROAT_DECODE_CHOICE_INIT;

        few.warps = teams[k].warps;
        ck_fails(groat_decode_open(context, "cpu:sm_80", &teams[k].shape, &few,
                                   &decode, &fix.error),
                 GROAT_INVALID, &fix.error, teams[k].words);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decode_shapes");
    TCase *refusals = tcase_create("refusals");

    tcase_add_checked_fixture(refusals, open_rig, close_rig);
    tcase_add_loop_test(refusals, a_bad_shape, 0, (int)COUNT(bad_shapes));
    tcase_add_test(refusals, a_choice);
    tcase_add_test(refusals, a_workspace_for_each_split);
    tcase_add_test(refusals, too_few_warps);
    tcase_add_test(refusals, too_many_clusters);
    tcase_add_test(refusals, too_many_keys);
    tcase_add_test(refusals, first_keys);
    suite_add_tcase(suite, refusals);
    return run_suite(suite);
}
