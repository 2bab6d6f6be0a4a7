/* SPDX-License-Identifier: Apache-2.0
 *
 * test_choose.c: which kernel and grid a decode gets for its shape and device:
 * those that were measured to be the fastest, and none that does not fit.
 */
#include "attention/choose.h"

#include "tests/unit/suite.h"

enum {
    H100_SHARED = 232448,
    REGISTERS = 128,
    MANY_REGISTERS = 224,
    INVARIANT = GROAT_DECODE_BATCH_INVARIANT,
    OVERLAP = GROAT_DECODE_OVERLAP
};

static const groat__decode_device h100 = {132, H100_SHARED, 16, "H100"};

static groat_decode_choice choose(const groat_decode_shape *shape,
                                  const groat__decode_device *device,
                                  unsigned registers)
{
    groat_decode_choice choice = GROAT_DECODE_CHOICE_INIT;

    groat__decode_choose_kernel(shape, device, &choice);
    groat__decode_choose_grid(shape, device, registers, &choice);
    return choice;
}

/* Results of `groat tune` on an H100, of `groat attention` with 4 and 8 queries
 * on an H200, and of launches in graphs there (tests/bench/NOTES.md). */
static const struct {
    groat_decode_dtype kv_dtype;
    unsigned heads, kv_heads, head_dim, flags, sequences, keys;
    unsigned warps, stages, cluster, split, blocks, least;
    unsigned q_len;
    unsigned value_dim; /* 0: head_dim */
    groat_kv_layout layout;
} measured[] = {
    {0, 64, 8, 128, 0, 64, 4096, 2, 2, 1, 0, 528, 4, 1, 0, 0},
    {0, 64, 8, 128, 0, 16, 8192, 8, 2, 1, 0, 132, 4, 1, 0, 0},
    {0, 64, 8, 128, 0, 1, 32768, 8, 2, 1, 0, 132, 4, 1, 0, 0},
    {0, 32, 4, 128, 0, 1, 4096, 8, 2, 16, 0, 64, 2, 1, 0, 0},
    {0, 64, 8, 128, 0, 1, 1024, 8, 2, 8, 0, 64, 1, 1, 0, 0},
    {0, 64, 8, 128, 0, 1, 8192, 8, 2, 8, 0, 64, 4, 1, 0, 0},
    {0, 64, 8, 128, 0, 2, 1024, 8, 2, 4, 0, 64, 2, 1, 0, 0},
    {0, 64, 8, 128, 0, 4, 1024, 8, 2, 3, 0, 96, 2, 1, 0, 0},
    {0, 64, 8, 128, 0, 8, 4096, 8, 2, 1, 0, 132, 4, 1, 0, 0},
    {0, 64, 8, 128, 0, 8, 512, 8, 2, 2, 0, 128, 2, 1, 0, 0},
    {0, 56, 7, 128, 0, 1, 32768, 8, 2, 16, 0, 112, 4, 1, 0, 0},
    {0, 32, 8, 128, 0, 1, 512, 4, 2, 8, 0, 64, 1, 1, 0, 0},
    {0, 64, 8, 64, 0, 64, 4096, 4, 2, 1, 0, 528, 4, 1, 0, 0},
    {0, 64, 8, 64, 0, 16, 8192, 8, 3, 1, 0, 132, 4, 1, 0, 0},
    {0, 64, 8, 256, 0, 64, 4096, 2, 2, 1, 0, 264, 4, 1, 0, 0},
    {GROAT_DECODE_E4M3, 64, 8, 128, 0, 64, 4096, 4, 2, 1, 0, 528, 4, 1, 0, 0},
    {GROAT_DECODE_E4M3, 64, 8, 128, 0, 1, 32768, 8, 3, 1, 0, 132, 4, 1, 0, 0},
    {GROAT_DECODE_E4M3, 64, 8, 64, 0, 8, 4096, 8, 2, 1, 0, 264, 4, 1, 0, 0},
    {0, 64, 8, 128, INVARIANT, 64, 4096, 2, 2, 1, 128, 528, 1, 1, 0, 0},
    {0, 64, 8, 128, INVARIANT, 1, 32768, 8, 2, 1, 16, 132, 1, 1, 0, 0},
    {0, 64, 8, 128, INVARIANT, 1, 1024, 8, 2, 8, 0, 64, 1, 1, 0, 0},
    {0, 64, 8, 128, OVERLAP, 64, 4096, 4, 2, 1, 0, 264, 4, 1, 0, 0},
    {0, 64, 8, 128, OVERLAP, 1, 8192, 8, 2, 1, 0, 132, 4, 1, 0, 0},
    {0, 32, 4, 128, OVERLAP, 1, 16384, 8, 2, 16, 0, 64, 4, 1, 0, 0},
    {0, 64, 8, 128, 0, 64, 4096, 2, 2, 1, 0, 528, 4, 4, 0, 0},
    {0, 64, 8, 128, 0, 16, 8192, 4, 2, 1, 0, 264, 4, 4, 0, 0},
    {0, 64, 8, 128, 0, 8, 4096, 8, 2, 1, 0, 132, 4, 4, 0, 0},
    {0, 64, 8, 128, 0, 64, 4096, 4, 2, 1, 0, 264, 4, 8, 0, 0},
    {0, 64, 8, 64, 0, 64, 4096, 2, 4, 1, 0, 528, 4, 4, 0, 0},
    {0, 64, 8, 512, 0, 64, 4096, 2, 2, 1, 0, 264, 4, 1, 0, 0},
    {0, 128, 8, 256, 0, 64, 2048, 2, 2, 1, 0, 528, 4, 1, 0, 0},
    {0, 64, 8, 256, 0, 64, 2048, 4, 2, 1, 0, 264, 4, 4, 0, 0},
    /* Blocks get whole strips. */
    {0, 64, 8, 128, 0, 32, 4096, 4, 2, 1, 0, 264, 4, 1, 0, 0},
    {0, 64, 8, 128, OVERLAP, 48, 4096, 2, 2, 1, 0, 396, 4, 1, 0, 0},
    {0, 64, 8, 128, OVERLAP, 80, 4096, 2, 2, 1, 0, 660, 4, 1, 0, 0},
    {0, 64, 4, 128, 0, 64, 4096, 4, 2, 1, 0, 264, 4, 1, 0, 0},
    {0, 64, 8, 80, 0, 64, 4096, 2, 2, 1, 0, 528, 4, 1, 0, 0},
    {0, 64, 8, 112, OVERLAP, 64, 4096, 2, 2, 1, 0, 528, 4, 1, 0, 0},
    {0, 64, 8, 80, 0, 100, 4096, 2, 2, 1, 0, 792, 4, 1, 0, 0},
    {0, 64, 8, 192, 0, 64, 4096, 2, 2, 1, 0, 528, 4, 1, 128, 0},
    {0, 64, 8, 192, OVERLAP, 64, 4096, 4, 2, 1, 0, 264, 4, 1, 128, 0},
    {0, 64, 8, 80, 0, 64, 4096, 4, 2, 1, 0, 528, 4, 1, 0, GROAT_KV_HEAD_PAGE},
    {0, 64, 8, 64, 0, 128, 4096, 2, 2, 1, 0, 1056, 4, 1, 0, 0},
    /* Blocks of one strip each follow each other, if strips are long. */
    {0, 64, 8, 128, 0, 128, 8192, 4, 2, 1, 0, 1024, 4, 1, 0, 0},
    {0, 64, 8, 128, OVERLAP, 128, 8192, 4, 2, 1, 0, 1024, 4, 1, 0, 0},
    {0, 64, 8, 256, 0, 128, 4096, 2, 2, 1, 0, 1024, 4, 1, 0, 0},
    {0, 64, 8, 128, 0, 128, 4095, 2, 2, 1, 0, 528, 4, 1, 0, 0},
    {0, 64, 8, 128, 0, 150, 4096, 4, 2, 1, 0, 264, 4, 1, 0, 0},
    {0, 64, 8, 128, 0, 256, 1024, 2, 2, 1, 0, 528, 4, 1, 0, 0},
    /* None can. */
    {0, 64, 8, 128, 0, 24, 4096, 8, 2, 1, 0, 132, 4, 1, 0, 0},
    {0, 64, 8, 128, 0, 40, 1024, 8, 2, 1, 0, 132, 4, 1, 0, 0},
    {0, 64, 8, 128, 0, 88, 4096, 8, 2, 1, 0, 132, 4, 1, 0, 0},
    {0, 64, 8, 128, 0, 60, 4096, 4, 2, 1, 0, 264, 4, 1, 0, 0},
    {GROAT_DECODE_E4M3, 128, 8, 128, 0, 24, 4096, 4, 2, 1, 0, 396, 4, 1, 0, 0},
    {0, 64, 8, 192, 0, 24, 4096, 8, 2, 1, 0, 132, 4, 1, 128, 0},
    {GROAT_DECODE_E4M3, 64, 8, 128, 0, 24, 4096, 8, 2, 1, 0, 264, 4, 1, 0, 0},
    {0, 64, 8, 128, INVARIANT, 24, 4096, 2, 2, 1, 128, 528, 1, 1, 0, 0},
    {0, 64, 8, 256, 0, 24, 4096, 2, 2, 1, 0, 264, 4, 1, 0, 0},
    {0, 64, 8, 128, 0, 100, 4096, 4, 2, 1, 0, 264, 4, 1, 0, 0},
    {0, 64, 8, 128, OVERLAP, 24, 4096, 8, 2, 1, 0, 132, 4, 1, 0, 0},
};

START_TEST(as_measured)
{
    for (size_t i = 0; i < COUNT(measured); i++) {
        groat_decode_shape s = GROAT_DECODE_SHAPE_INIT;
        groat_decode_choice c;

        s.kv_dtype = measured[i].kv_dtype;
        s.heads = measured[i].heads;
        s.kv_heads = measured[i].kv_heads;
        s.head_dim = measured[i].head_dim;
        s.flags = measured[i].flags;
        s.sequences = measured[i].sequences;
        s.keys = measured[i].keys;
        s.q_len = measured[i].q_len;
        s.value_dim = measured[i].value_dim;
        s.layout = measured[i].layout;
        c = choose(&s, &h100, s.q_len > 1 ? MANY_REGISTERS : REGISTERS);
        ck_assert_msg(
            c.warps == measured[i].warps && c.stages == measured[i].stages &&
                c.cluster == measured[i].cluster &&
                c.split == measured[i].split &&
                c.blocks == measured[i].blocks && c.least == measured[i].least,
            "row %zu: warps=%u,stages=%u,cluster=%u,split=%u,"
            "blocks=%u,least=%u",
            i, c.warps, c.stages, c.cluster, c.split, c.blocks, c.least);
    }
}
END_TEST

/* Warps that have a band of rows, as params.def counts them. */
static unsigned slices_of(const groat_decode_shape *s)
{
    unsigned rows = s->heads / s->kv_heads * s->q_len;

    return s->head_dim > 256 || (s->head_dim == 256 && rows > 8) ? 2 : 1;
}

/* As params.def counts them. */
static unsigned shared_of(const groat_decode_shape *s,
                          const groat_decode_choice *c)
{
    unsigned bytes = s->kv_dtype == GROAT_DECODE_E4M3 ? 1 : 2;
    unsigned rows = s->heads / s->kv_heads * s->q_len;
    unsigned slices = slices_of(s);
    unsigned band = s->head_dim > 256 ? 8 : 16;
    unsigned needed = rows <= band ? 1 : rows <= 2 * band ? 2 : 4;
    unsigned most = c->warps == 8 ? 1 : c->warps / slices;
    unsigned bands = needed < most ? needed : most;
    unsigned kept = band == 16 && rows > 8 ? 16 : 8;
    unsigned slot =
        (bands > 1 && s->head_dim * bytes <= 256 ? 32 : 16) *
        ((s->head_dim + s->value_dim) * bytes +
         (bytes == 1 && s->kv_scale == GROAT_DECODE_OF_TOKEN ? 8 : 0));

    return c->warps / (bands * slices) * c->stages * slot +
           c->warps * kept * (s->value_dim / slices + 6) * 4 + 16;
}

START_TEST(never_more_than_fits)
{
    static const groat__decode_device devices[] = {
        {132, H100_SHARED, 16, ""}, {108, 166912, 1, ""}, {128, 101376, 8, ""},
        {1, 101376, 8, ""},         {4, 166912, 16, ""},
    };
    static const unsigned dims[] = {64,  80,  96,  112, 128,
                                    192, 256, 320, 384, 512};
    uint64_t state = 17;
    groat_decode_choice least = {.warps = 1, .stages = 2};

    for (size_t i = 0; i < 20000; i++) {
        const groat__decode_device *d =
            &devices[next_random(&state) % COUNT(devices)];
        groat_decode_shape s = GROAT_DECODE_SHAPE_INIT;
        groat_decode_choice c;

        s.kv_dtype = next_random(&state) % 2 ? GROAT_DECODE_E4M3 : 0;
        s.kv_scale = (groat_decode_scale)(next_random(&state) % 3);
        s.kv_heads = 1 + (unsigned)(next_random(&state) % 16);
        s.heads = s.kv_heads * (1 + (unsigned)(next_random(&state) % 64));
        s.q_len = 1 + (unsigned)(next_random(&state) % 16);
        s.head_dim = dims[next_random(&state) % COUNT(dims)];
        s.value_dim = next_random(&state) % 4 == 0 ? 64 : s.head_dim;
        s.sequences = 1 + (unsigned)(next_random(&state) % 600);
        s.keys = 1u << (next_random(&state) % 20);
        s.flags = next_random(&state) % 2 ? INVARIANT : 0;
        c = choose(&s, d, REGISTERS);
        ck_assert_uint_le(c.stages, 4);
        ck_assert_uint_ge(c.least, 1);
        ck_assert_uint_ge(c.cluster, 1);
        ck_assert_uint_le(c.cluster, d->cluster_most);
        ck_assert(c.cluster == 1
                      ? c.blocks >= d->multiprocessors
                      : c.split == 0 && c.blocks <= d->multiprocessors &&
                            c.blocks % c.cluster == 0);
        ck_assert_uint_le(c.split, 4096);
        ck_assert(c.warps == 1 || c.warps == 2 || c.warps == 4 || c.warps == 8);
        least.warps = slices_of(&s);
        ck_assert_uint_ge(c.warps, least.warps);
        if (shared_of(&s, &least) <= d->shared_bytes)
            ck_assert_uint_le(shared_of(&s, &c), d->shared_bytes);
    }
}
END_TEST

/* Clusters of 16 need parts of a device as large as they. */
START_TEST(smaller_devices)
{
    static const groat__decode_device h20 = {78, H100_SHARED, 16, "H20"};
    groat_decode_shape s = GROAT_DECODE_SHAPE_INIT;

    s.heads = 32;
    s.kv_heads = 4;
    s.head_dim = 128;
    s.sequences = 1;
    s.keys = 4096;
    ck_assert_uint_eq(choose(&s, &h100, REGISTERS).cluster, 16);
    ck_assert_uint_eq(choose(&s, &h20, REGISTERS).cluster, 8);
}
END_TEST

/* A grid by hand is one without clusters. */
START_TEST(a_grid_by_hand)
{
    groat_decode_shape s = GROAT_DECODE_SHAPE_INIT;

    s.heads = 32;
    s.kv_heads = 4;
    s.head_dim = 128;
    s.sequences = 1;
    s.keys = 4096;
    for (int i = 0; i < 2; i++) {
        groat_decode_choice c = GROAT_DECODE_CHOICE_INIT;

        *(i == 0 ? &c.blocks : &c.least) = 7;
        groat__decode_choose_kernel(&s, &h100, &c);
        groat__decode_choose_grid(&s, &h100, REGISTERS, &c);
        ck_assert_uint_eq(c.cluster, 1);
        ck_assert_uint_eq(i == 0 ? c.blocks : c.least, 7);
    }
}
END_TEST

/* What the caller has chosen stays. */
START_TEST(what_is_chosen)
{
    groat_decode_shape s = GROAT_DECODE_SHAPE_INIT;
    groat_decode_choice c = {sizeof(c), 1, 4, 1, 3, 7, 9};

    s.heads = 64;
    s.kv_heads = 8;
    s.head_dim = 128;
    s.sequences = 64;
    s.keys = 4096;
    s.flags = INVARIANT;
    groat__decode_choose_kernel(&s, &h100, &c);
    groat__decode_choose_grid(&s, &h100, REGISTERS, &c);
    ck_assert_uint_eq(c.warps, 1);
    ck_assert_uint_eq(c.stages, 4);
    ck_assert_uint_eq(c.split, 3);
    ck_assert_uint_eq(c.blocks, 7);
    ck_assert_uint_eq(c.least, 9);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("choose");
    TCase *tests = tcase_create("choose");

    tcase_add_test(tests, as_measured);
    tcase_add_test(tests, never_more_than_fits);
    tcase_add_test(tests, smaller_devices);
    tcase_add_test(tests, a_grid_by_hand);
    tcase_add_test(tests, what_is_chosen);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
