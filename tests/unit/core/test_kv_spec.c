/* SPDX-License-Identifier: Apache-2.0
 *
 * test_kv_spec.c: the box of a spec's tensor maps follows from its constants
 * and equals the one a caller would pass; a cache that does not match the spec
 * is refused, and the error names the constant.  test_kv.c tests boxes.
 */
#include "tests/pipe/rig.h"
#include "groat_tensor.h"

static groat_kv_cache cache_of(void)
{
    groat_kv_cache c = GROAT_KV_CACHE_INIT;

    c.address = 0x10000;
    c.elem_bytes = 2;
    c.blocks = 64;
    c.planes = 2;
    c.layers = 4;
    c.page = 64;
    c.heads = 8;
    c.dim = 128;
    return c;
}

static groat_kv_box box_of(void)
{
    groat_kv_box b = GROAT_KV_BOX_INIT;

    b.swizzle = GROAT_SWIZZLE_128;
    b.page = 64;
    b.tile_rows = 128;
    return b;
}

static const char family[] =
    "family copier \"has what a box follows from\"\n"
    "param BN int 8..512/8 128 keys \"tile\"\n"
    "param page_size int 0..1024 64 keys \"page\"\n"
    "param head_dim int 8..1024/8 128 elements \"depth\"\n"
    "param elem_bytes int 1..8 2 bytes \"of an element\"\n"
    "param swizzle int 0..256 128 bytes \"span\"\n"
    "param fold int 0..3 0 - \"form\"\n"
    "param v_form int 0..3 (fold) - \"form of V\"\n"
    "param v_layout enum outer|inner outer - \"order of V\"\n"
    "param k_tile_rows int 8..512/8 (BN) keys \"tile of K\"\n"
    "param v_tile_rows int 8..512/8 (BN) keys \"tile of V\"\n"
    "param k_tile_cols int 0..1024 0 elements \"tile of K\"\n"
    "param k_slot_rows int 0..512 0 rows \"slot of K\"\n"
    "param box_rows int 0..256 0 rows \"of a box\"\n"
    "param v_box_rows int 0..256 (box_rows) rows \"of a box\"\n"
    "launch block_x = 32\n"
    "launch args = 8\n"
    "entry copier\n";

static const char plain_family[] =
    "family plain \"has the constants that must be there\"\n"
    "param BN int 8..512/8 128 keys \"tile\"\n"
    "param page_size int 0..1024 64 keys \"page\"\n"
    "param head_dim int 8..1024/8 128 elements \"depth\"\n"
    "derive elem_bytes = 2 ; bytes \"of an element\"\n"
    "derive swizzle = 128 ; bytes \"span\"\n"
    "launch block_x = 32\n"
    "launch args = 8\n"
    "entry plain\n";

/* Its depth fits no tensor map, and for scale=0 is the largest that is read. */
static const char huge_family[] =
    "family huge \"has a depth out of range\"\n"
    "param scale int -1..1 1 - \"of the depth\"\n"
    "derive head_dim = 2147483647 + scale * 4294967296 ; elements \"depth\"\n"
    "derive elem_bytes = 2 ; bytes \"of an element\"\n"
    "derive swizzle = 128 ; bytes \"span\"\n"
    "launch block_x = 32\n"
    "launch args = 8\n"
    "entry huge\n";

static const char kernel[] = "#include \"params.h\"\n"
                             "#include \"../common/vendor.h\"\n"
                             "#include \"args.h\"\n"
                             "GROAT_KERNEL(copier_args) { (void)args; }\n";

static rig fix;
static groat_context *context;

static void setup(void)
{
    rig_make(&fix);
    rig_write_source(&fix, "copier", "params.def", family);
    rig_write_source(&fix, "copier", "args.h",
                     "struct copier_args { long long x; };\n");
    rig_write_source(&fix, "copier", "copier.h", kernel);
    rig_write_source(&fix, "plain", "params.def", plain_family);
    rig_write_source(&fix, "plain", "args.h",
                     "struct copier_args { long long x; };\n");
    rig_write_source(&fix, "plain", "plain.h", kernel);
    rig_write_source(&fix, "huge", "params.def", huge_family);
    rig_write_source(&fix, "huge", "args.h",
                     "struct copier_args { long long x; };\n");
    rig_write_source(&fix, "huge", "huge.h", kernel);
    context = rig_open(&fix);
}

static void teardown(void)
{
    groat_close(context);
    rig_drop(&fix);
}

static groat_spec *parse(const char *text, const char *target)
{
    groat_spec *spec = NULL;

    ck_assert_msg(groat_spec_parse(context, text, target, &spec, &fix.error) ==
                      GROAT_OK,
                  "%s", fix.error.text);
    return spec;
}

/* Asserts that the spec's map equals the map of the box. */
static void check_map(const char *text, const groat_kv_cache *cache,
                      unsigned plane, const groat_kv_box *box)
{
    groat_spec *spec = parse(text, "cpu:sm_90a");
    groat_tensor t = GROAT_TENSOR_INIT;
    groat_tensor_map got;
    groat_tensor_map want;

    ck_assert_msg(groat_kv_tensor_map(spec, cache, plane, 0, NULL, &got,
                                      &fix.error) == GROAT_OK,
                  "%s", fix.error.text);
    ck_assert_msg(groat_kv_tensor(cache, plane, 0, box, &t, &fix.error) ==
                      GROAT_OK,
                  "%s", fix.error.text);
    ck_assert_int_eq(
        groat_tensor_map_make(context, "cpu:sm_90a", &t, &want, NULL),
        GROAT_OK);
    ck_assert_msg(memcmp(&got, &want, sizeof(got)) == 0, "%s", text);
    /* The same, with the box passed explicitly. */
    memset(&got, 0, sizeof(got));
    ck_assert_int_eq(
        groat_kv_tensor_map(spec, cache, plane, 0, box, &got, NULL), GROAT_OK);
    ck_assert_mem_eq(&got, &want, sizeof(got));
    groat_spec_free(spec);
}

START_TEST(boxes_follow_from_constants)
{
    groat_kv_cache cache = cache_of();
    groat_kv_box box = box_of();

    check_map("plain", &cache, 0, &box);
    check_map("copier", &cache, 0, &box);
    box.swizzle = GROAT_SWIZZLE_32;
    check_map("copier:swizzle=32", &cache, 0, &box);
    box.swizzle = GROAT_SWIZZLE_NONE;
    check_map("copier:swizzle=16", &cache, 1, &box);
    check_map("copier:swizzle=0,box_rows=64", &cache, 1, &box);
    box.swizzle = GROAT_SWIZZLE_128;
    box.page = 0;
    check_map("copier:page_size=0", &cache, 1, &box);
    box.page = 64;
    box.tile_rows = 64;
    check_map("copier:k_tile_rows=64", &cache, 0, &box);
    check_map("copier:v_tile_rows=64,k_tile_rows=256", &cache, 1, &box);
    box.form = GROAT_KV_FOLDED;
    check_map("copier:BN=64,fold=1", &cache, 0, &box);
    cache.dim = 256;
    box.tile_cols = 128;
    check_map("copier:BN=64,fold=1,head_dim=256,k_tile_cols=128", &cache, 0,
              &box);
    cache.dim = 128;
    box.order = GROAT_KV_CHUNK_INNER;
    box.tile_rows = 128;
    check_map("copier:fold=2", &cache, 0, &box);
    check_map("copier:v_form=2", &cache, 1, &box);
    box.form = GROAT_KV_BASE;
    check_map("copier:v_layout=inner", &cache, 1, &box);
    check_map("copier:v_layout=inner,v_box_rows=8", &cache, 1, &box);
    box.order = GROAT_KV_CHUNK_OUTER;
    box.slot_rows = 256;
    check_map("copier:v_layout=inner,k_slot_rows=256", &cache, 0, &box);
}
END_TEST

static const struct {
    const char *spec;
    const char *words;
} disagreements[] = {
    {"copier:head_dim=64", "dim is 128; allowed: 64, the head_dim of copier"},
    {"copier:elem_bytes=1", "elem_bytes is 2; allowed: 1, the elem_bytes of"},
    {"copier:page_size=32", "page is 32; allowed: 64, the cache's"},
    {"copier:swizzle=48", "swizzle of copier is 48; allowed"},
    {"copier:fold=3", "form of the tensor map of copier is 3; allowed"},
    {"copier:fold=1", "all rows of the slot"},
    {"copier:box_rows=32", "rows is 32; allowed: 64"},
    {"copier:k_slot_rows=96", "slot_rows is 96; allowed: multiples of 8 from"},
    {"copier:k_tile_cols=96", "whole chunks of 64"},
    {"huge", "head_dim of huge is 6442450943; allowed for tensor maps: 0 to"},
    {"huge:scale=-1", "head_dim of huge is -2147483649; allowed for tensor"},
    {"huge:scale=0", "dim is 128; allowed: 2147483647, the head_dim of huge"},
    {"tile_loader_lds", "no parameter or constant 'head_dim'"},
};

START_TEST(specs_that_disagree)
{
    const groat_kv_cache cache = cache_of();

    for (size_t i = 0; i < COUNT(disagreements); i++) {
        groat_spec *spec = parse(disagreements[i].spec, "cpu:sm_90a");
        groat_tensor_map map;

        ck_fails(
            groat_kv_tensor_map(spec, &cache, 0, 0, NULL, &map, &fix.error),
            GROAT_INVALID, &fix.error, disagreements[i].words);
        groat_spec_free(spec);
    }
}
END_TEST

/* The map of queries equals that of the tensor which the header describes. */
START_TEST(queries_follow_from_constants)
{
    groat_spec *spec = parse("kv_producer_pipeline:entry=scores", "cpu:sm_90a");
    groat_tensor t = GROAT_TENSOR_INIT;
    groat_tensor_map maps[2];
    int64_t rows;

    ck_assert_int_eq(groat_spec_get(spec, "q_rows", &rows, &fix.error),
                     GROAT_OK);
    t.address = 0x10000;
    t.elem_bytes = 2;
    t.rank = 3;
    t.dims[0] = 128;
    t.dims[1] = 12;
    t.dims[2] = 70;
    t.strides[0] = 256;
    t.strides[1] = 256 * 12;
    t.box[0] = 64;
    t.box[1] = 1;
    t.box[2] = (unsigned)rows;
    t.swizzle = GROAT_SWIZZLE_128;
    ck_assert_int_eq(
        groat_tensor_map_make(context, "cpu:sm_90a", &t, &maps[0], &fix.error),
        GROAT_OK);
    ck_assert_int_eq(
        groat_query_tensor_map(spec, 0x10000, 70, 12, &maps[1], &fix.error),
        GROAT_OK);
    ck_assert_mem_eq(&maps[0], &maps[1], sizeof(maps[0]));
    ck_fails(groat_query_tensor_map(spec, 0x10000, 0, 12, &maps[1], &fix.error),
             GROAT_INVALID, &fix.error, "dims[2] is 0");
    ck_fails(
        groat_query_tensor_map(spec, 0x10008, 70, 12, &maps[1], &fix.error),
        GROAT_INVALID, &fix.error, "address");
    groat_spec_free(spec);
    spec = parse("kv_producer_pipeline", "cpu:sm_90a");
    ck_fails(
        groat_query_tensor_map(spec, 0x10000, 70, 12, &maps[1], &fix.error),
        GROAT_INVALID, &fix.error, "has no queries: q_rows is 0");
    groat_spec_free(spec);
    spec = parse("plain", "cpu:sm_90a");
    ck_fails(
        groat_query_tensor_map(spec, 0x10000, 70, 12, &maps[1], &fix.error),
        GROAT_INVALID, &fix.error, "q_rows");
    groat_spec_free(spec);
}
END_TEST

START_TEST(maps_have_a_target_and_a_place)
{
    groat_spec *spec = parse("plain", "cpu:gfx950");
    const groat_kv_cache cache = cache_of();
    groat_tensor_map maps[2];

    ck_fails(groat_kv_tensor_map(spec, &cache, 0, 0, NULL, maps, &fix.error),
             GROAT_INVALID, &fix.error, "'cpu:gfx950' has no tensor maps");
    groat_spec_free(spec);
    spec = parse("plain", "cpu:sm_90a");
    ck_fails(groat_kv_tensor_map(spec, &cache, 0, 0, NULL,
                                 (void *)((char *)maps + 16), &fix.error),
             GROAT_INVALID, &fix.error, "multiples of 64");
    ck_fails(groat_kv_tensor_map(spec, NULL, 0, 0, NULL, maps, &fix.error),
             GROAT_INVALID, &fix.error, "cache is NULL");
    ck_fails(groat_kv_tensor_map(spec, &cache, 2, 0, NULL, maps, &fix.error),
             GROAT_INVALID, &fix.error, "plane is 2");
    groat_spec_free(spec);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kv of specs");
    TCase *tests = tcase_create("specs");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, boxes_follow_from_constants);
    tcase_add_test(tests, specs_that_disagree);
    tcase_add_test(tests, queries_follow_from_constants);
    tcase_add_test(tests, maps_have_a_target_and_a_place);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
