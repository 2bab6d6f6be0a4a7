/* SPDX-License-Identifier: Apache-2.0
 *
 * test_tma.c runs NVIDIA's copy engine, mbarriers, clusters and wgmma through
 * kernels of a few lines (tma_probe) and the library's tensor maps: images of
 * boxes of every rank and swizzle, runs of bytes, a ring of slots, a pair of
 * blocks that share their loads, products of integers over every layout of the
 * operands.  Expected bytes come from tma_forms.h.
 *
 * The tests run on cpu:sm_90a or, with GROAT_TEST_TARGET=cuda:sm_90a, on a
 * device instead; the same kernels are compiled for sm_90a and sm_100a where
 * NVRTC is found.
 */
#include "tests/kernels/tma_rig.h"

static void setup(void)
{
    const char *target = getenv("GROAT_TEST_TARGET");
    char path[1024];

    bench_make(target != NULL ? target : "cpu:sm_90a", 0);
    probe_path(path, sizeof(path), "");
    bench_open(path);
}

/* ---- images ----------------------------------------------------------------
 */

/* A cache of rows of heads with `depth` numbers each. */
typedef struct cache {
    unsigned rows, heads, depth, size;
} cache;

static groat_tensor tensor_of(const cache *c, unsigned swizzle, unsigned rows)
{
    groat_tensor t = GROAT_TENSOR_INIT;
    unsigned span = 16u << swizzle;

    t.address = bench.args.source;
    t.elem_bytes = c->size;
    t.rank = 3;
    t.dims[0] = c->depth;
    t.dims[1] = c->heads;
    t.dims[2] = c->rows;
    t.strides[0] = (uint64_t)c->depth * c->size;
    t.strides[1] = (uint64_t)c->heads * c->depth * c->size;
    t.box[0] = span / c->size;
    t.box[1] = 1;
    t.box[2] = rows;
    t.swizzle = (groat_swizzle)swizzle;
    return t;
}

static unsigned char cache_byte(const cache *c, int row, unsigned head,
                                unsigned byte)
{
    if (row < 0 || (unsigned)row >= c->rows || byte >= c->depth * c->size)
        return 0;
    return bench
        .source[((unsigned)row * c->heads + head) * c->depth * c->size + byte];
}

/* Checks rows from `first` on of one head; `dense` has the chunks of 8 rows
 * side by side. */
static void ck_tile(const cache *c, unsigned swizzle, unsigned rows, int first,
                    unsigned head, bool dense)
{
    unsigned span = 16u << swizzle;
    unsigned chunks = (c->depth * c->size + span - 1) / span;
    unsigned char *want = malloc(bench.args.slot_bytes);

    ck_assert_ptr_nonnull(want);
    memset(want, SENTINEL, bench.args.slot_bytes);
    for (unsigned row = 0; row < rows; row++)
        for (unsigned byte = 0; byte < chunks * span; byte++) {
            unsigned at =
                dense ? dense_byte(chunks * span, row, byte / span, byte % span)
                      : tile_byte(swizzle, rows, row, byte / span, byte % span);

            want[at] = cache_byte(c, first + (int)row, head, byte);
        }
    for (unsigned i = 0; i < bench.args.slot_bytes; i++)
        ck_assert_msg(bench.output[i] == want[i],
                      "swizzle %u, rows from %d: byte %u is %u, not %u",
                      swizzle, first, i, bench.output[i], want[i]);
    free(want);
}

/* Rank 3: depths that end inside a chunk, rows outside of the tensor. */
START_TEST(test_rank_3)
{
    static const char *const policies[] = {"normal", "first", "last"};
    static const cache caches[] = {{100, 3, 128, 2}, {90, 2, 80, 2},
                                   {70, 4, 128, 1},  {64, 1, 32, 4},
                                   {64, 2, 16, 8},   {64, 2, 48, 1}};
    static const int firsts[] = {8, -5, 60, -2147483647};
    enum { ROWS = 16 };
    const cache *c = &caches[_i % 6];
    unsigned swizzle = (unsigned)_i / 6;
    unsigned span = 16u << swizzle;
    char spec[80];

    for (unsigned f = 0; f < COUNT(firsts); f++) {
        groat_tensor t;
        unsigned head = f % c->heads;

        upload();
        t = tensor_of(c, swizzle, ROWS);
        bench.args.copy_bytes = make_map(&t);
        bench.args.copies = (c->depth * c->size + span - 1) / span;
        bench.args.slot_bytes = (bench.args.copies + 1) * ROWS * span;
        for (unsigned i = 0; i < bench.args.copies; i++) {
            const int at[5] = {(int)(i * span / c->size), (int)head, firsts[f]};

            memcpy(bench.args.at[i], at, sizeof(at));
            bench.args.to[i] = i * ROWS * span;
        }
        (void)snprintf(spec, sizeof(spec),
                       "tma_probe:what=boxes,rank=3,policy=%s",
                       policies[f % 3]);
        run(spec, 1);
        ck_tile(c, swizzle, ROWS, firsts[f], head, false);
    }
}
END_TEST

/* All chunks of a tile's rows in one box, chunk after chunk or side by side. */
START_TEST(test_folded)
{
    static const cache c = {128, 3, 128, 2};
    bool dense = _i == 4;
    unsigned swizzle = dense ? 3 : (unsigned)_i;
    unsigned span = 16u << swizzle;
    unsigned g = span / c.size;
    groat_tensor t;

    upload();
    t = tensor_of(&c, swizzle, 32);
    t.rank = dense ? 5 : 4;
    if (dense) {
        const uint64_t dims[5] = {g, 8, c.depth / g, c.rows / 8, c.heads};
        const uint64_t strides[4] = {t.strides[1], span, 8 * t.strides[1],
                                     t.strides[0]};

        memcpy(t.dims, dims, sizeof(dims));
        memcpy(t.strides, strides, sizeof(strides));
        memcpy(t.box, ((unsigned[5]){g, 8, c.depth / g, 4, 1}), sizeof(t.box));
        memcpy(bench.args.at[0], ((int[5]){0, 0, 0, 5, 2}), sizeof(int[5]));
    } else {
        const uint64_t dims[5] = {g, c.rows, c.depth / g, c.heads, 0};
        const uint64_t strides[4] = {t.strides[1], span, t.strides[0], 0};

        memcpy(t.dims, dims, sizeof(dims));
        memcpy(t.strides, strides, sizeof(strides));
        memcpy(t.box, ((unsigned[5]){g, 32, c.depth / g, 1, 0}), sizeof(t.box));
        memcpy(bench.args.at[0], ((int[5]){0, 40, 0, 2, 0}), sizeof(int[5]));
    }
    bench.args.copies = 1;
    bench.args.copy_bytes = make_map(&t);
    bench.args.slot_bytes = bench.args.copy_bytes + 1024;
    run(dense ? "tma_probe:rank=5" : "tma_probe:rank=4", 1);
    ck_tile(&c, swizzle, 32, 40, 2, dense);
}
END_TEST

/* Rank 1 at the end of its tensor, rank 2 at a base that is only a multiple of
 * 128: the swizzle depends on the bits of the address. */
START_TEST(test_low_ranks)
{
    groat_tensor t = GROAT_TENSOR_INIT;

    upload();
    t.address = bench.args.source;
    t.elem_bytes = t.rank = 1;
    t.dims[0] = 200;
    t.box[0] = 128;
    bench.args.copies = 1;
    bench.args.copy_bytes = make_map(&t);
    bench.args.slot_bytes = 1024;
    bench.args.at[0][0] = 96;
    run("tma_probe:rank=1", 1);
    ck_assert_mem_eq(bench.output, bench.source + 96, 104);
    for (unsigned i = 104; i < 1024; i++)
        ck_assert_uint_eq(bench.output[i], i < 128 ? 0 : SENTINEL);
    upload();
    t = (groat_tensor)GROAT_TENSOR_INIT;
    t.address = bench.args.source;
    t.elem_bytes = t.rank = 2;
    t.dims[0] = 64;
    t.dims[1] = 100;
    t.strides[0] = 128;
    t.box[0] = 64;
    t.box[1] = 8;
    t.swizzle = GROAT_SWIZZLE_128;
    bench.args.copy_bytes = make_map(&t);
    bench.args.slot_bytes = 2048;
    bench.args.to[0] = 384;
    memcpy(bench.args.at[0], ((int[5]){0, 3, 0, 0, 0}), sizeof(int[5]));
    run("tma_probe:rank=2", 1);
    for (unsigned row = 0; row < 8; row++)
        for (unsigned cc = 0; cc < 128; cc++) {
            unsigned line = 3 + row; /* in the slot, 128 bytes each */
            unsigned at =
                128 * line + (((cc >> 4) ^ (line & 7)) << 4) + (cc & 15);

            ck_assert_uint_eq(bench.output[at],
                              bench.source[(3 + row) * 128 + cc]);
        }
}
END_TEST

START_TEST(test_bulk)
{
    upload();
    bench.args.copies = 6;
    bench.args.copy_bytes = 16u << _i;
    bench.args.slot_bytes = 6 * 16384;
    for (unsigned i = 0; i < 6; i++) {
        bench.args.at[i][0] = (int)(16 * (1000 * i + 3));
        bench.args.to[i] = 16384 * (5 - i) + 16 * i;
    }
    run("tma_probe:what=bulk", 1);
    for (unsigned i = 0; i < 6; i++)
        ck_assert_mem_eq(bench.output + bench.args.to[i],
                         bench.source + bench.args.at[i][0],
                         bench.args.copy_bytes);
    for (unsigned i = 0; i < bench.args.slot_bytes; i++) {
        unsigned in = i % 16384 - 16 * (5 - i / 16384);

        if (i % 16384 < 16 * (5 - i / 16384) || in >= bench.args.copy_bytes)
            ck_assert_uint_eq(bench.output[i], SENTINEL);
    }
}
END_TEST

/* ---- rings and pairs
 * --------------------------------------------------------- */

START_TEST(test_ring)
{
    char spec[80];

    rows_of_128(64);
    bench.args.tiles = 29;
    (void)snprintf(spec, sizeof(spec), "tma_probe:what=ring,slots=%d", _i);
    run(spec, 1);
    ck_assert_mem_eq(bench.output, bench.source,
                     bench.args.tiles * bench.args.copy_bytes);
    ck_assert_uint_eq(bench.output[bench.args.tiles * bench.args.copy_bytes],
                      SENTINEL);
}
END_TEST

/* Both blocks get every tile, of which each loaded half. */
START_TEST(test_pair)
{
    unsigned bytes;

    rows_of_128(32);
    bench.args.tiles = 7;
    bytes = 2 * bench.args.copy_bytes;
    run("tma_probe:what=pair", 2);
    for (unsigned t = 0; t < bench.args.tiles; t++)
        for (unsigned rank = 0; rank < 2; rank++)
            ck_assert_mem_eq(bench.output + (2 * t + rank) * bytes,
                             bench.source + t * bytes, bytes);
}
END_TEST

/* Each block gets its half; the even one waits for both. */
START_TEST(test_duo)
{
    /* Devices of sm_90 have no such copies. */
    bench.target = "cpu:sm_100a";
    rows_of_128(32);
    run("tma_probe:what=duo", 2);
    ck_assert_mem_eq(bench.output, bench.source, 2 * bench.args.copy_bytes);
}
END_TEST

/* ---- products
 * ------------------------------------------------------------------ */

static void multiply(operand_form a, operand_form b, unsigned number,
                     unsigned n, unsigned k)
{
    static const char *const names[] = {"bf16", "f16", "fp8", "bf8"};
    char spec[120];
    unsigned wrong;

    put_operands(&a, &b, number, n, k);
    (void)snprintf(spec, sizeof(spec),
                   "tma_probe:what=product,number=%s,n=%u,a_major=%s,"
                   "b_major=%s",
                   names[number], n, is_mn(&a) ? "mn" : "k",
                   is_mn(&b) ? "mn" : "k");
    run(spec, 1);
    wrong = wrong_product(n, k);
    ck_assert_msg(wrong == 64 * n, "%s: row %u column %u is wrong", spec,
                  wrong / n, wrong % n);
}

static const operand_form forms[] = {
    {.form = FORM_K, .swizzle = 3},       {.form = FORM_K, .swizzle = 2},
    {.form = FORM_K, .swizzle = 1},       {.form = FORM_K, .swizzle = 0},
    {.form = FORM_K_DENSE, .swizzle = 3}, {.form = FORM_MN, .swizzle = 3},
    {.form = FORM_MN, .swizzle = 2},      {.form = FORM_MN, .swizzle = 1},
    {.form = FORM_MN, .swizzle = 0},      {.form = FORM_MN_INNER, .swizzle = 3},
};

/* _i: a layout, of A or of B; fp8 where it is k-major. */
START_TEST(test_layouts)
{
    const operand_form plain = {.form = FORM_K, .swizzle = 3};
    operand_form other = forms[_i / 2];

    multiply(_i % 2 == 0 ? other : plain, _i % 2 == 0 ? plain : other,
             FORM_BF16, 128, 128);
    if (!is_mn(&other))
        multiply(_i % 2 == 0 ? other : plain, _i % 2 == 0 ? plain : other,
                 FORM_FP8, 128, 128);
}
END_TEST

START_TEST(test_shapes)
{
    static const unsigned ns[] = {16, 32, 64, 128, 256};
    const operand_form plain = {.form = FORM_K, .swizzle = 3};

    multiply(plain, plain, (unsigned)_i / 5, ns[_i % 5],
             _i % 2 == 0 ? 128 : 128 / number_bytes((unsigned)_i / 5));
}
END_TEST

/* ---- the vendor's compiler
 * -------------------------------------------------------- */

/* Compiles where NVRTC is found; nothing runs. */
START_TEST(test_nvrtc)
{
    static const struct {
        const char *spec, *target;
    } cases[] = {
        {"tma_probe:what=boxes,rank=3,policy=first", "cuda:sm_90"},
        {"tma_probe:what=boxes,rank=5", "cuda:sm_90a"},
        {"tma_probe:what=ring", "cuda:sm_90a"},
        {"tma_probe:what=pair,policy=last", "cuda:sm_90a"},
        {"tma_probe:what=product,n=256,b_major=mn", "cuda:sm_90a"},
        {"tma_probe:what=product,n=64,number=fp8", "cuda:sm_90a"},
        {"tma_probe:what=product,n=64,number=bf8", "cuda:sm_90a"},
        {"tma_probe:what=pair", "cuda:sm_100a"},
        {"tma_probe:what=boxes,rank=4,policy=last", "cuda:sm_100a"},
        {"tma_probe:what=duo", "cuda:sm_100a"},
        {"tma_probe:what=duo,policy=first", "cuda:sm_103a"},
    };
    groat_kernel_info info = {.size = sizeof(info)};
    groat_spec *spec = NULL;
    groat_status status =
        groat_spec_parse(bench.context, cases[_i].spec, cases[_i].target, &spec,
                         &bench.fix.error);

    ck_assert_msg(status == GROAT_OK, "%s", bench.fix.error.text);
    status = groat_build(spec, NULL, NULL, &info, &bench.fix.error);
    if (status == GROAT_NO_DEVICE)
        (void)printf("SKIP: %s\n", bench.fix.error.text);
    else
        ck_assert_msg(status == GROAT_OK, "%s: %s\n%s", cases[_i].spec,
                      bench.fix.error.text,
                      bench.fix.error.log == NULL ? "" : bench.fix.error.log);
    groat_spec_free(spec);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("tma");
    TCase *t = tcase_create("all");

    tcase_add_checked_fixture(t, setup, bench_close);
    tcase_set_timeout(t, 600);
    tcase_add_loop_test(t, test_rank_3, 0, 24);
    tcase_add_loop_test(t, test_folded, 0, 5);
    tcase_add_test(t, test_low_ranks);
    tcase_add_loop_test(t, test_bulk, 0, 10);
    tcase_add_loop_test(t, test_ring, 1, 5);
    tcase_add_test(t, test_pair);
    tcase_add_test(t, test_duo);
    tcase_add_loop_test(t, test_layouts, 0, 2 * (int)COUNT(forms));
    tcase_add_loop_test(t, test_shapes, 0, 20);
    tcase_add_loop_test(t, test_nvrtc, 0, 11);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
