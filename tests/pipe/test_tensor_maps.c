/* SPDX-License-Identifier: Apache-2.0
 *
 * test_tensor_maps.c: a tensor map is a field of a family's args.h, the same
 * for the host's compiler and the kernel's.  What the library wrote is what the
 * kernel sees, wherever the caller keeps the arguments; for a cache it is made
 * once, by however many threads, on cpu targets too.
 */
#include "rig.h"

#include "core/core.h"
#include "kernels-src/common/tensor_map.h"

struct mapped_args {
    uint64_t output; /* 128 bytes */
    uint64_t reserved;
    groat_tensor_map map;
};

static const char params[] = "family mapped \"writes out its tensor map\"\n"
                             "derive head_dim = 128 ; elements \"depth\"\n"
                             "derive elem_bytes = 2 ; bytes \"of one\"\n"
                             "derive swizzle = 128 ; bytes \"span\"\n"
                             "derive page_size = 64 ; keys \"page\"\n"
                             "derive BN = 128 ; keys \"tile\"\n"
                             "launch block_x = 32\n"
                             "launch args = 192\n"
                             "entry mapped\n";

static const char header[] = "#pragma once\n"
                             "#include \"../common/tensor_map.h\"\n"
                             "struct mapped_args {\n"
                             "    unsigned long long output, reserved;\n"
                             "    groat_tensor_map map;\n"
                             "};\n";

static const char kernel[] =
    "#include \"params.h\"\n"
    "#include \"../common/vendor.h\"\n"
    "#include \"args.h\"\n"
    "static_assert(alignof(groat_tensor_map) == 64, \"of a map\");\n"
    "GROAT_KERNEL(mapped_args)\n"
    "{\n"
    "    using namespace groat;\n"
    "    u32 i = thread_index();\n"
    "    const vec4 *words = reinterpret_cast<const vec4 *>(&args.map);\n"
    "    if (reinterpret_cast<u64>(&args.map) % 64 == 0 && i < 8)\n"
    "        global_store16(args.output + 16 * i, words[i]);\n"
    "}\n";

static rig fix;
static groat_context *context;

static void setup(void)
{
    rig_make(&fix);
    rig_write_source(&fix, "mapped", "params.def", params);
    rig_write_source(&fix, "mapped", "args.h", header);
    rig_write_source(&fix, "mapped", "mapped.h", kernel);
    context = rig_open(&fix);
}

static void teardown(void)
{
    groat_close(context);
    rig_drop(&fix);
}

static groat_kv_cache cache_at(uint64_t address)
{
    groat_kv_cache c = GROAT_KV_CACHE_INIT;

    c.address = address;
    c.elem_bytes = 2;
    c.blocks = 64;
    c.planes = 2;
    c.layers = 40;
    c.page = 64;
    c.heads = 8;
    c.dim = 128;
    return c;
}

static groat_spec *parse(const char *target)
{
    groat_spec *spec = NULL;

    ck_assert_msg(groat_spec_parse(context, "mapped", target, &spec,
                                   &fix.error) == GROAT_OK,
                  "%s", fix.error.text);
    return spec;
}

/* The map as the kernel sees it, from arguments `off` bytes behind a multiple
 * of 64. */
static groat_tensor_map seen(groat_kernel *mapped, const groat_tensor_map *map,
                             size_t off)
{
    static unsigned char place[1024];
    unsigned char *at = place + (64 - (uintptr_t)place % 64) % 64 + off;
    groat_launch launch = GROAT_LAUNCH_INIT;
    groat_tensor_map out;
    struct mapped_args args = {0};

    memset(&out, 0xEE, sizeof(out));
    args.map = *map;
    args.output = rig_upload(context, "cpu:sm_90a", &out, sizeof(out));
    memcpy(at, &args, sizeof(args));
    ck_assert_msg(groat_kernel_launch(mapped, &launch, at, sizeof(args),
                                      &fix.error) == GROAT_OK,
                  "%s", fix.error.text);
    ck_assert_int_eq(groat_memory_read(context, "cpu:sm_90a", &out, args.output,
                                       sizeof(out), NULL),
                     GROAT_OK);
    groat_memory_free(context, "cpu:sm_90a", args.output);
    return out;
}

START_TEST(the_kernel_sees_the_map)
{
    groat_kernel *mapped =
        rig_get(&fix, context, "mapped", "cpu:sm_90a", GROAT_FROM_COMPILER);
    groat_spec *spec = parse("cpu:sm_90a");
    const groat_kv_cache c = cache_at(0x7f0000000000);
    groat_tensor_map map;

    ck_assert_msg(groat_kv_tensor_map(spec, &c, 0, 0, NULL, &map, &fix.error) ==
                      GROAT_OK,
                  "%s", fix.error.text);
    ck_assert_uint_eq(sizeof(struct mapped_args), 192);
    for (size_t off = 0; off < 64; off += 8) {
        groat_tensor_map got = seen(mapped, &map, off);

        ck_assert_msg(memcmp(&got, &map, sizeof(got)) == 0, "at %zu", off);
    }
    groat_spec_free(spec);
    groat_kernel_release(mapped);
}
END_TEST

/* What the compiler gets reads nothing from disk, and has the map once. */
START_TEST(the_source_holds_the_map)
{
    static const char *const targets[] = {"cpu:sm_90a", "cuda:sm_90a",
                                          "hip:gfx942"};

    for (size_t i = 0; i < COUNT(targets); i++) {
        groat_spec *spec = parse(targets[i]);
        char *source = NULL;
        const char *at;

        ck_assert_int_eq(groat_spec_source(spec, &source, NULL), GROAT_OK);
        ck_assert_ptr_null(strstr(source, "#include"));
        at = strstr(source, "struct alignas(64) groat_tensor_map");
        ck_assert_ptr_nonnull(at);
        ck_assert_ptr_null(
            strstr(at + 1, "struct alignas(64) groat_tensor_map"));
        groat_free(source);
        groat_spec_free(spec);
    }
}
END_TEST

enum { THREADS = 8, LAYERS = 40, ROUNDS = 25 };

static pthread_barrier_t start;

/* Every layer of a cache of its own, which has the address of some others'. */
static void *ask(void *user)
{
    const groat_kv_cache c =
        cache_at(0x7f0000000000 + (uintptr_t)user % 4 * 64);
    groat_spec *spec = NULL;
    groat_tensor_map first[LAYERS];
    bool right = groat_spec_parse(context, "mapped", "cpu:sm_90a", &spec,
                                  NULL) == GROAT_OK;

    (void)pthread_barrier_wait(&start);
    for (unsigned n = 0; n < ROUNDS * LAYERS && right; n++) {
        unsigned layer = n % LAYERS;
        groat_tensor_map map;

        right = groat_kv_tensor_map(spec, &c, 1, layer, NULL, &map, NULL) ==
                GROAT_OK;
        if (right && n >= LAYERS)
            right = memcmp(&map, &first[layer], sizeof(map)) == 0;
        first[layer] = map;
    }
    groat_spec_free(spec);
    return right ? user : NULL;
}

START_TEST(many_threads_ask_once)
{
    pthread_t threads[THREADS];

    (void)pthread_barrier_init(&start, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, ask, (void *)(uintptr_t)(i + 1)),
            0);
    for (size_t i = 0; i < THREADS; i++) {
        void *right = NULL;

        (void)pthread_join(threads[i], &right);
        ck_assert_ptr_eq(right, (void *)(uintptr_t)(i + 1));
    }
    (void)pthread_barrier_destroy(&start);
    ck_assert_uint_eq(context->maps.made, (uint64_t)4 * LAYERS);
    ck_assert_uint_eq(context->maps.count, (size_t)4 * LAYERS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tensor maps");
    TCase *tests = tcase_create("path");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, the_kernel_sees_the_map);
    tcase_add_test(tests, the_source_holds_the_map);
    tcase_add_test(tests, many_threads_ask_once);
    tcase_set_timeout(tests, 120);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
