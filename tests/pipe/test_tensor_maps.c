/* SPDX-License-Identifier: Apache-2.0
 *
 * test_tensor_maps.c: a tensor map is a field of a family's args.h, the same
 * for the host's compiler and the kernel's.  The kernel sees the map as the
 * library wrote it, wherever the caller keeps the arguments; the judge's copy
 * engine reads the cache's elements through it in the order that the form
 * gives.  For a cache a map is made once, by however many threads, on cpu
 * targets too.
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

/* The kernel copies one box and writes it out. */
struct boxer_args {
    uint64_t output;
    int32_t at[5];
    uint32_t bytes;
    uint64_t reserved[4];
    groat_tensor_map map;
};

static const char boxer_params[] =
    "family boxer \"copies a box\"\n"
    "param rank int 1..5 3 - \"of the tensor\"\n"
    "rule arch_tma ; \"tensors are copied by TMA\"\n"
    "derive place = 16384 ; bytes \"of the barrier\"\n"
    "launch block_x = 32\n"
    "launch shared = place + 16\n"
    "launch args = 192\n"
    "entry boxer_{rank}\n";

static const char boxer_header[] = "#pragma once\n"
                                   "#include \"../common/tensor_map.h\"\n"
                                   "struct boxer_args {\n"
                                   "    unsigned long long output;\n"
                                   "    int at[5];\n"
                                   "    unsigned bytes;\n"
                                   "    unsigned long long reserved[4];\n"
                                   "    groat_tensor_map map;\n"
                                   "};\n";

static const char boxer_kernel[] =
    "#include \"params.h\"\n"
    "#include \"../common/tma.h\"\n"
    "#include \"args.h\"\n"
    "GROAT_KERNEL(boxer_args)\n"
    "{\n"
    "    using namespace groat;\n"
    "    u32 slot = shared_base(), bar = slot + params::place;\n"
    "    int at[params::rank];\n"
    "    for (int i = 0; i < params::rank; i++)\n"
    "        at[i] = args.at[i];\n"
    "    if (thread_index() == 0) {\n"
    "        mbarrier_init(bar, 1);\n"
    "        mbarrier_init_fence();\n"
    "    }\n"
    "    block_barrier();\n"
    "    bool one = elect();\n"
    "    mbarrier_expect(bar, args.bytes, one);\n"
    "    tma_load<evict_normal>(args.map, slot, bar, at, one);\n"
    "    mbarrier_wait(bar, 0);\n"
    "    for (u32 i = thread_index() * 16; i < args.bytes; i += 512)\n"
    "        global_store16(args.output + i, shared_load16(slot + i));\n"
    "}\n";

static rig fix;
static groat_context *context;

static void setup(void)
{
    rig_make(&fix);
    rig_write_source(&fix, "mapped", "params.def", params);
    rig_write_source(&fix, "mapped", "args.h", header);
    rig_write_source(&fix, "mapped", "mapped.h", kernel);
    rig_write_source(&fix, "boxer", "params.def", boxer_params);
    rig_write_source(&fix, "boxer", "args.h", boxer_header);
    rig_write_source(&fix, "boxer", "boxer.h", boxer_kernel);
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

/* Returns the map as the kernel sees it, in arguments that lie `off` bytes
 * behind a multiple of 64. */
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

/* The flattened source needs no file, and defines the map once. */
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

/* ---- copies -------------------------------------------------------------- */

enum {
    BLOCKS = 3,
    PLANES = 2,
    CACHE_LAYERS = 2,
    PAGE = 16,
    HEADS = 3,
    DIM = 48,
    VECTORS = DIM / 8, /* of 16 bytes; without a swizzle they are
                        * chunks */
    CACHE_ROWS = BLOCKS * PLANES * CACHE_LAYERS * PAGE,
    CACHE_BYTES = CACHE_ROWS * HEADS * DIM * 2
};

/* The copied piece: rows of a block from a token on, chunks of a head. */
typedef struct piece {
    groat_kv_form form;
    groat_kv_order order;
    groat_kv_layout layout;
    unsigned block, plane, layer, token, head, vector;
} piece;

/* Index of a 16-byte vector in the cache. */
static size_t place_of(const piece *p, unsigned token, unsigned vector)
{
    size_t slab =
        (p->block * PLANES + p->plane) * (size_t)CACHE_LAYERS + p->layer;
    size_t row = p->layout == GROAT_KV_PAGE_HEAD
                     ? (slab * PAGE + token) * HEADS + p->head
                     : (slab * HEADS + p->head) * PAGE + token;

    return row * VECTORS + vector;
}

/* Writes the slot in the order of the form; returns its size in bytes. */
static unsigned expect_slot(const piece *p, unsigned rows,
                            const unsigned char *cache, unsigned char *slot)
{
    unsigned chunks = p->form == GROAT_KV_FOLDED ? VECTORS : 1;
    bool inner = p->order == GROAT_KV_CHUNK_INNER;

    for (unsigned c = 0; c < chunks; c++)
        for (unsigned r = 0; r < rows; r++) {
            unsigned to =
                inner ? (r / 8 * chunks + c) * 8 + r % 8 : c * rows + r;

            memcpy(slot + (size_t)to * 16,
                   cache + place_of(p, p->token + r, p->vector + c) * 16, 16);
        }
    return rows * chunks * 16;
}

/* Coordinates as groat_tensor.h defines them for each form. */
static void coordinates(const piece *p, const groat_kv_view *v, int32_t at[5])
{
    bool one_head = p->layout == GROAT_KV_HEAD_PAGE;
    int32_t row = (int32_t)(p->block * v->block_rows +
                            (one_head ? p->head : 0) * v->head_rows + p->token);
    int32_t head = one_head ? 0 : (int32_t)p->head;
    int32_t col = (int32_t)p->vector * 8;

    if (p->form == GROAT_KV_BASE)
        memcpy(at, (int32_t[5]){col, head, row}, 20);
    else if (p->form == GROAT_KV_FLAT)
        memcpy(at, (int32_t[5]){head * DIM + col, row}, 20);
    else if (p->order == GROAT_KV_CHUNK_OUTER)
        memcpy(at, (int32_t[5]){0, row, (int32_t)p->vector, head}, 20);
    else
        memcpy(at, (int32_t[5]){0, 0, (int32_t)p->vector, row / 8, head}, 20);
}

static groat_tensor describe(const piece *p, uint64_t address,
                             groat_kv_view *view)
{
    groat_kv_cache c = GROAT_KV_CACHE_INIT;
    groat_kv_box b = GROAT_KV_BOX_INIT;
    groat_tensor t = GROAT_TENSOR_INIT;

    c.address = address;
    c.layout = p->layout;
    c.elem_bytes = 2;
    c.blocks = BLOCKS;
    c.planes = PLANES;
    c.layers = CACHE_LAYERS;
    c.page = PAGE;
    c.heads = HEADS;
    c.dim = DIM;
    b.form = p->form;
    b.order = p->order;
    b.page = PAGE;
    b.tile_rows = PAGE;
    view->size = sizeof(*view);
    ck_assert_int_eq(groat_kv_view_get(&c, p->plane, p->layer, view, NULL),
                     GROAT_OK);
    ck_assert_msg(groat_kv_tensor(&c, p->plane, p->layer, &b, &t, &fix.error) ==
                      GROAT_OK,
                  "%s", fix.error.text);
    return t;
}

static void check_copy(const piece *p, uint64_t address,
                       const unsigned char *cache)
{
    static const char target[] = "cpu:sm_90a";
    groat_launch launch = GROAT_LAUNCH_INIT;
    struct boxer_args args = {0};
    unsigned char want[4096];
    unsigned char got[sizeof(want)] = {0};
    groat_kv_view view;
    groat_tensor t = describe(p, address, &view);
    unsigned rows =
        p->order == GROAT_KV_CHUNK_INNER && p->form != GROAT_KV_FOLDED ? 8
                                                                       : PAGE;
    groat_kernel *boxer;
    char spec[32];

    (void)snprintf(spec, sizeof(spec), "boxer:rank=%u", t.rank);
    ck_assert_int_eq(
        groat_kernel_get(context, spec, target, &boxer, NULL, &fix.error),
        GROAT_OK);
    ck_assert_int_eq(
        groat_tensor_map_make(context, target, &t, &args.map, NULL), GROAT_OK);
    args.bytes = expect_slot(p, rows, cache, want);
    ck_assert_uint_le(args.bytes, sizeof(want));
    coordinates(p, &view, args.at);
    args.output = rig_upload(context, target, got, args.bytes);
    ck_assert_msg(groat_kernel_launch(boxer, &launch, &args, sizeof(args),
                                      &fix.error) == GROAT_OK,
                  "%s", fix.error.text);
    ck_assert_int_eq(
        groat_memory_read(context, target, got, args.output, args.bytes, NULL),
        GROAT_OK);
    ck_assert_msg(memcmp(got, want, args.bytes) == 0,
                  "form %d order %d layout %d", (int)p->form, (int)p->order,
                  (int)p->layout);
    groat_memory_free(context, target, args.output);
    groat_kernel_release(boxer);
}

START_TEST(copies_bring_their_elements)
{
    static unsigned char cache[CACHE_BYTES];
    uint64_t random = 9;
    uint64_t address;

    for (size_t i = 0; i < sizeof(cache); i++)
        cache[i] = (unsigned char)next_random(&random);
    address = rig_upload(context, "cpu:sm_90a", cache, sizeof(cache));
    for (int n = 0; n < 12 * 6; n++) {
        piece p = {
            .form = (groat_kv_form)(n % 3),
            .order = (groat_kv_order)(n / 3 % 2),
            .layout = (groat_kv_layout)(n / 6 % 2),
            .block = (unsigned)(next_random(&random) % BLOCKS),
            .plane = (unsigned)(next_random(&random) % PLANES),
            .layer = (unsigned)(next_random(&random) % CACHE_LAYERS),
            .head = (unsigned)(next_random(&random) % HEADS),
        };

        if (p.form != GROAT_KV_FOLDED) {
            p.vector = (unsigned)(next_random(&random) % VECTORS);
            if (p.order == GROAT_KV_CHUNK_INNER)
                p.token = 8 * (unsigned)(next_random(&random) % 2);
        }
        check_copy(&p, address, cache);
    }
    groat_memory_free(context, "cpu:sm_90a", address);
}
END_TEST

/* ---- threads ------------------------------------------------------------- */

enum { THREADS = 8, LAYERS = 40, ROUNDS = 25 };

static pthread_barrier_t start;

/* Asks for every layer of a cache, which some other threads share. */
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
    tcase_add_test(tests, copies_bring_their_elements);
    tcase_add_test(tests, many_threads_ask_once);
    tcase_set_timeout(tests, 120);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
