/* SPDX-License-Identifier: Apache-2.0
 *
 * test_cuda_maps.c: tensor maps by a stand-in for the CUDA driver.  The driver
 * gets the tensor's values and nothing else, in the context that is current; a
 * driver without tensor maps and a driver that refuses are errors with a
 * message.  For caches it is asked once per question, by however many threads.
 */
#include "tests/shim/cuda_rig.h"

#include <pthread.h>

#include "core/core.h"

static shim_rig cuda;
static groat_context *context;
static groat_error error;

static void open_context(const char *driver)
{
    groat_options options = GROAT_OPTIONS_INIT;

    options.flags = GROAT_OPEN_NO_DISK;
    ck_assert_int_eq(setenv("GROAT_CUDA", driver, 1), 0);
    ck_assert_msg(groat_open(&options, &context, &error) == GROAT_OK, "%s",
                  error.text);
}

static void setup(void)
{
    error = (groat_error)GROAT_ERROR_INIT;
    cuda = rig_open();
    open_context(cuda.env.cuda);
}

static void teardown(void)
{
    groat_close(context);
    rig_close(&cuda);
}

static groat_spec *parse(const char *text, const char *target)
{
    groat_spec *spec = NULL;

    ck_assert_msg(groat_spec_parse(context, text, target, &spec, &error) ==
                      GROAT_OK,
                  "%s", error.text);
    return spec;
}

static groat_kv_box box_of(unsigned page)
{
    groat_kv_box b = GROAT_KV_BOX_INIT;

    b.swizzle = GROAT_SWIZZLE_128;
    b.page = page;
    b.tile_rows = 128;
    return b;
}

static groat_kv_cache sound(void)
{
    groat_kv_cache c = GROAT_KV_CACHE_INIT;

    c.address = 0x7f0000001000;
    c.elem_bytes = 2;
    c.blocks = 64;
    c.planes = 2;
    c.layers = 400;
    c.page = 64;
    c.heads = 8;
    c.dim = 128;
    return c;
}

/* ---- one map ---------------------------------------------------------------
 */

static groat_tensor tensor_of(unsigned rank, unsigned elem_bytes,
                              groat_swizzle swizzle)
{
    groat_tensor t = GROAT_TENSOR_INIT;
    uint64_t stride = 4096;

    t.address = 0x7f1234567890;
    t.elem_bytes = elem_bytes;
    t.rank = rank;
    t.swizzle = swizzle;
    for (unsigned i = 0; i < rank; i++) {
        t.dims[i] = 64 + i;
        t.box[i] = 2 + i;
        if (i > 0)
            t.strides[i - 1] = stride;
        stride *= t.dims[i];
    }
    t.box[0] = 16 / elem_bytes;
    return t;
}

static void check_told(const groat_tensor *t, int type)
{
    const shim_tensor *seen = &cuda.cuda->tensor;

    ck_assert_int_eq(seen->type, type);
    ck_assert_uint_eq(seen->rank, t->rank);
    ck_assert(seen->address == t->address);
    ck_assert_mem_eq(seen->dims, t->dims, sizeof(t->dims));
    ck_assert_mem_eq(seen->strides, t->strides, sizeof(t->strides));
    ck_assert_mem_eq(seen->box, t->box, sizeof(t->box));
    for (unsigned i = 0; i < t->rank; i++)
        ck_assert_uint_eq(seen->element_strides[i], 1);
    ck_assert_int_eq(seen->interleave, CU_TENSOR_MAP_INTERLEAVE_NONE);
    ck_assert_int_eq(seen->swizzle, (int)t->swizzle);
    ck_assert_int_eq(seen->promotion, CU_TENSOR_MAP_L2_PROMOTION_NONE);
    ck_assert_int_eq(seen->fill, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

START_TEST(the_driver_is_told_the_tensor)
{
    static const int types[] = {
        CU_TENSOR_MAP_DATA_TYPE_UINT8, CU_TENSOR_MAP_DATA_TYPE_UINT16,
        CU_TENSOR_MAP_DATA_TYPE_UINT32, CU_TENSOR_MAP_DATA_TYPE_UINT64};

    for (int n = 0; n < 5 * 4 * 4; n++) {
        groat_tensor t = tensor_of(1 + (unsigned)n % 5, 1u << n / 5 % 4,
                                   (groat_swizzle)(n / 20));
        groat_tensor_map map;

        ck_assert_msg(groat_tensor_map_make(context, "cuda:sm_90a", &t, &map,
                                            &error) == GROAT_OK,
                      "%s", error.text);
        check_told(&t, types[n / 5 % 4]);
        ck_assert_int_eq(cuda.cuda->encodes, n + 1);
        /* All that the driver wrote. */
        ck_assert(map.words[0] == (unsigned)n + 1);
        ck_assert(map.words[1] == t.address);
        for (int i = 2; i < 16; i++)
            ck_assert(map.words[i] == 0xC5C5C5C5C5C5C5C5);
    }
}
END_TEST

/* The driver is not called for a refused tensor. */
START_TEST(the_driver_is_not_asked_in_vain)
{
    groat_tensor t = tensor_of(3, 2, GROAT_SWIZZLE_128);
    groat_tensor_map map;

    t.strides[1] += 8;
    ck_fails(groat_tensor_map_make(context, "cuda:sm_90a", &t, &map, &error),
             GROAT_INVALID, &error, "strides[1] is");
    ck_assert_int_eq(cuda.cuda->calls, 0);
}
END_TEST

START_TEST(the_callers_context_is_used)
{
    const groat_tensor t = tensor_of(3, 2, GROAT_SWIZZLE_128);
    groat_tensor_map map;
    CUcontext popped;

    ck_assert_int_eq(
        groat_tensor_map_make(context, "cuda:sm_90a", &t, &map, NULL),
        GROAT_OK);
    ck_assert_ptr_nonnull(cuda.cuda->tensor.context);
    ck_assert_ptr_ne(cuda.cuda->tensor.context, cuda.user());
    ck_assert_ptr_null(current(&cuda));
    ck_assert_int_eq(cuda.push(cuda.user()), CUDA_SUCCESS);
    ck_assert_int_eq(
        groat_tensor_map_make(context, "cuda:sm_90a", &t, &map, NULL),
        GROAT_OK);
    ck_assert_ptr_eq(cuda.cuda->tensor.context, cuda.user());
    ck_assert_int_eq(cuda.pop(&popped), CUDA_SUCCESS);
}
END_TEST

START_TEST(a_driver_that_refuses)
{
    static const struct {
        int code;
        groat_status status;
    } cases[] = {{CUDA_ERROR_INVALID_VALUE, GROAT_INVALID},
                 {CUDA_ERROR_OUT_OF_MEMORY, GROAT_NO_MEMORY},
                 {CUDA_ERROR_INVALID_CONTEXT, GROAT_NO_DEVICE},
                 {CUDA_ERROR_ILLEGAL_ADDRESS, GROAT_NO_DEVICE}};
    groat_spec *spec = parse("plain_read", "cuda:sm_90a");
    const groat_kv_cache c = sound();
    const groat_kv_box box = box_of(64);

    for (size_t i = 0; i < COUNT(cases); i++) {
        groat_tensor_map map;
        groat_tensor_map before;

        memset(&map, 0xA5, sizeof(map));
        before = map;
        shim_fail(&cuda.cuda->fault, "cuTensorMapEncodeTiled", 1,
                  cases[i].code);
        ck_assert_int_eq(
            groat_kv_tensor_map(spec, &c, 0, 0, &box, &map, &error),
            cases[i].status);
        ck_assert_str_eq(error.vendor_call, "cuTensorMapEncodeTiled");
        ck_assert_int_eq(error.vendor_code, cases[i].code);
        ck_says(&error, "rank 3 at 0x7f0000001000: 2-byte elements, dims 128");
        ck_says(&error, "dims 128 8 3225664, strides 256 2048, box 64 1 64, "
                        "swizzle 3");
        ck_assert_mem_eq(&map, &before, sizeof(map));
        groat_error_clear(&error);
        ck_assert_uint_eq(context->maps.made, 0);
        ck_assert_uint_eq(context->maps.count, 0);
    }
    groat_spec_free(spec);
}
END_TEST

/* Neither cuGetProcAddress nor dlsym finds the call. */
START_TEST(a_driver_without_tensor_maps)
{
    const char *const hidden[] = {"cuGetProcAddress_v2",
                                  "cuTensorMapEncodeTiled", NULL};
    const groat_tensor t = tensor_of(3, 2, GROAT_SWIZZLE_128);
    char *folder = shim_folder_make();
    char *path =
        shim_copy(shim_path("GROAT_TEST_CUDA_SHIM"), folder, "old.so", hidden);
    shim_rig old = rig_open_path(path);
    groat_tensor_map map;

    cuda.cuda->proc_address = false;
    ck_fails(groat_tensor_map_make(context, "cuda:sm_90a", &t, &map, &error),
             GROAT_NO_DEVICE, &error, "has no cuTensorMapEncodeTiled");
    groat_close(context);
    open_context(path);
    ck_assert_int_eq(
        groat_tensor_map_make(context, "cuda:sm_90a", &t, &map, &error),
        GROAT_NO_DEVICE);
    ck_says(&error, path);
    ck_says(&error, "has no cuTensorMapEncodeTiled, which tensor maps need; "
                    "drivers since CUDA 12.0 have");
    groat_error_clear(&error);
    /* All other calls work. */
    ck_assert_int_eq(groat_synchronize(context, "cuda:sm_90a", NULL), GROAT_OK);
    groat_close(context);
    context = NULL;
    rig_close(&old);
    free(path);
    shim_folder_remove(folder);
}
END_TEST

/* ---- maps of caches ----------------------------------------------------- */

static groat_tensor_map ask(const groat_spec *spec, const groat_kv_cache *c,
                            unsigned plane, unsigned layer)
{
    const groat_kv_box box = box_of(64);
    groat_tensor_map map;

    ck_assert_msg(groat_kv_tensor_map(spec, c, plane, layer, &box, &map,
                                      &error) == GROAT_OK,
                  "%s", error.text);
    return map;
}

static void check_same(const groat_tensor_map *a, const groat_tensor_map *b)
{
    ck_assert_mem_eq(a, b, sizeof(*a));
}

START_TEST(one_question_is_one_call)
{
    groat_spec *spec = parse("plain_read", "cuda:sm_90a");
    groat_spec *same = parse("plain_read:unroll=2", "cuda:sm_90a");
    groat_spec *judge = parse("plain_read", "cpu:sm_90a");
    const groat_kv_box unpaged = box_of(0);
    groat_kv_cache c = sound();
    groat_tensor_map first = ask(spec, &c, 0, 0);
    groat_tensor_map values;
    groat_tensor_map again;

    again = ask(spec, &c, 0, 0);
    check_same(&first, &again);
    ck_assert_int_eq(cuda.cuda->encodes, 1);
    again = ask(same, &c, 0, 0);
    check_same(&first, &again);
    ck_assert_int_eq(cuda.cuda->encodes, 1);
    values = ask(spec, &c, 1, 0);
    ck_assert_int_eq(cuda.cuda->encodes, 2);
    ck_assert(values.words[1] != first.words[1]);
    (void)ask(spec, &c, 0, 7);
    ck_assert_int_eq(cuda.cuda->encodes, 3);
    ck_assert_int_eq(
        groat_kv_tensor_map(spec, &c, 0, 0, &unpaged, &again, NULL), GROAT_OK);
    ck_assert_int_eq(cuda.cuda->encodes, 4);
    again = ask(judge, &c, 0, 0); /* of another backend */
    ck_assert(again.words[0] != first.words[0]);
    ck_assert_int_eq(cuda.cuda->encodes, 4);
    c.address += 1 << 21;
    again = ask(spec, &c, 0, 0);
    ck_assert_int_eq(cuda.cuda->encodes, 5);
    ck_assert(again.words[1] == c.address);
    c.address -= 1 << 21;
    again = ask(spec, &c, 0, 0);
    check_same(&first, &again);
    again = ask(spec, &c, 1, 0);
    check_same(&values, &again);
    ck_assert_int_eq(cuda.cuda->encodes, 5);
    ck_assert_uint_eq(context->maps.made, 6);
    groat_spec_free(spec);
    groat_spec_free(same);
    groat_spec_free(judge);
}
END_TEST

/* Often used maps stay; the least recently used one is evicted. */
START_TEST(the_table_is_bounded)
{
    groat_spec *spec = parse("plain_read", "cuda:sm_90a");
    const groat_kv_cache c = sound();
    groat_tensor_map often = ask(spec, &c, 1, 0);

    for (unsigned layer = 0; layer < 400; layer++) {
        groat_tensor_map again;

        (void)ask(spec, &c, 0, layer);
        again = ask(spec, &c, 1, 0);
        check_same(&often, &again);
    }
    ck_assert_int_eq(cuda.cuda->encodes, 401);
    ck_assert_uint_eq(context->maps.count, GROAT__MAPS);
    /* The last maps are there, as many as the table holds. */
    for (unsigned layer = 399; layer > 400 - GROAT__MAPS; layer--)
        (void)ask(spec, &c, 0, layer);
    ck_assert_int_eq(cuda.cuda->encodes, 401);
    (void)ask(spec, &c, 0, 400 - GROAT__MAPS);
    ck_assert_int_eq(cuda.cuda->encodes, 402);
    groat_spec_free(spec);
}
END_TEST

enum { THREADS = 8, LAYERS = 12, ROUNDS = 60 };

static pthread_barrier_t start;
static groat_tensor_map answers[THREADS][LAYERS];

static void *ask_often(void *user)
{
    size_t own = (size_t)(uintptr_t)user - 1;
    const groat_kv_cache c = sound();
    const groat_kv_box box = box_of(64);
    groat_spec *spec = NULL;
    bool right = groat_spec_parse(context, "plain_read", "cuda:sm_90a", &spec,
                                  NULL) == GROAT_OK;

    (void)pthread_barrier_wait(&start);
    for (unsigned n = 0; n < ROUNDS * LAYERS && right; n++) {
        unsigned layer = (n + (unsigned)own) % LAYERS;
        groat_tensor_map map;

        right = groat_kv_tensor_map(spec, &c, 0, layer, &box, &map, NULL) ==
                GROAT_OK;
        if (right && n >= LAYERS)
            right = memcmp(&map, &answers[own][layer], sizeof(map)) == 0;
        answers[own][layer] = map;
    }
    groat_spec_free(spec);
    return right ? user : NULL;
}

START_TEST(many_threads_ask_once)
{
    pthread_t threads[THREADS];

    (void)pthread_barrier_init(&start, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_often,
                                        (void *)(uintptr_t)(i + 1)),
                         0);
    for (size_t i = 0; i < THREADS; i++) {
        void *right = NULL;

        (void)pthread_join(threads[i], &right);
        ck_assert_ptr_eq(right, (void *)(uintptr_t)(i + 1));
    }
    (void)pthread_barrier_destroy(&start);
    ck_assert_int_eq(cuda.cuda->encodes, LAYERS);
    ck_assert_uint_eq(context->maps.made, LAYERS);
    for (size_t i = 1; i < THREADS; i++)
        ck_assert_mem_eq(answers[i], answers[0], sizeof(answers[0]));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda maps");
    TCase *tests = tcase_create("maps");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, the_driver_is_told_the_tensor);
    tcase_add_test(tests, the_driver_is_not_asked_in_vain);
    tcase_add_test(tests, the_callers_context_is_used);
    tcase_add_test(tests, a_driver_that_refuses);
    tcase_add_test(tests, a_driver_without_tensor_maps);
    tcase_add_test(tests, one_question_is_one_call);
    tcase_add_test(tests, the_table_is_bounded);
    tcase_add_test(tests, many_threads_ask_once);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
