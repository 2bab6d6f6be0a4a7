/* SPDX-License-Identifier: Apache-2.0
 *
 * test_driver_maps.c asks a real CUDA driver, where there is one with a device
 * that copies tensors: the driver accepts what the library accepts, random
 * tensors at the limits of the rules and all forms of caches.  The memory is
 * never accessed, only its address is passed.
 */
#include "../suite.h"
#include "groat_tensor.h"

static groat_context *context;
static const char *target;

static uint64_t below(uint64_t *random, uint64_t end)
{
    return next_random(random) % end;
}

/* Draws a number of any magnitude up to a power of two. */
static uint64_t spread(uint64_t *random, unsigned bits)
{
    uint64_t n = (uint64_t)1 << below(random, bits + 1);

    return below(random, 4) == 0 ? n : 1 + below(random, n);
}

static groat_tensor draw_tensor(uint64_t *random)
{
    static const unsigned sizes[] = {1, 2, 4, 8};
    groat_tensor t = GROAT_TENSOR_INIT;
    unsigned span;

    t.address = 16 * (1 + below(random, (uint64_t)1 << 42));
    t.elem_bytes = sizes[below(random, 4)];
    t.rank = 1 + (unsigned)below(random, 5);
    t.swizzle = (groat_swizzle)below(random, 4);
    span =
        t.swizzle == GROAT_SWIZZLE_NONE ? 256 * t.elem_bytes : 16u << t.swizzle;
    for (unsigned i = 0; i < t.rank; i++) {
        t.dims[i] = spread(random, i == 0 ? 20 : 8);
        t.box[i] = 1 + (unsigned)below(random, 8);
    }
    t.box[0] = 16 * (1 + (unsigned)below(random, span / 16)) / t.elem_bytes;
    if (t.rank > 1)
        t.box[t.rank - 1] = 1 + (unsigned)below(random, 256);
    return t;
}

/* Gives nested strides, with the dimensions in a random order. */
static void nest(groat_tensor *t, uint64_t *random)
{
    uint64_t stride = (t->dims[0] * t->elem_bytes + 15) / 16 * 16;
    unsigned order[4] = {0, 1, 2, 3};

    for (unsigned i = t->rank - 1; i > 1; i--) {
        unsigned j = (unsigned)below(random, i);
        unsigned kept = order[i - 1];

        order[i - 1] = order[j];
        order[j] = kept;
    }
    for (unsigned i = 0; i + 1 < t->rank; i++) {
        t->strides[order[i]] = stride;
        stride = stride * t->dims[order[i] + 1] + 16 * below(random, 3);
    }
}

START_TEST(the_driver_takes_what_the_library_takes)
{
    uint64_t random = 1;
    int taken = 0;

    for (int n = 0; n < 20000; n++) {
        groat_tensor t = draw_tensor(&random);
        groat_error error = GROAT_ERROR_INIT;
        groat_tensor_map map;
        groat_status status;

        nest(&t, &random);
        status = groat_tensor_map_make(context, target, &t, &map, &error);
        /* A refusal by the library itself names no vendor call. */
        ck_assert_msg(status == GROAT_OK || (status == GROAT_INVALID &&
                                             error.vendor_call[0] == '\0'),
                      "rank %u, %u bytes, swizzle %d: %s", t.rank, t.elem_bytes,
                      (int)t.swizzle, error.text);
        taken += status == GROAT_OK;
        groat_error_clear(&error);
    }
    ck_assert_int_gt(taken, 10000);
}
END_TEST

static groat_kv_cache draw_cache(uint64_t *random)
{
    static const unsigned dims[] = {64, 80, 96, 128, 192, 256, 512, 576};
    groat_kv_cache c = GROAT_KV_CACHE_INIT;

    c.address = (uint64_t)1 << 40;
    c.layout = (groat_kv_layout)below(random, 2);
    c.elem_bytes = 1 + (unsigned)below(random, 2);
    c.blocks = spread(random, 12);
    c.planes = 1 + (unsigned)below(random, 2);
    c.layers = 1 + (unsigned)below(random, 64);
    c.page = 1u << below(random, 11);
    c.heads = 1 + (unsigned)below(random, 16);
    c.dim = dims[below(random, COUNT(dims))];
    return c;
}

START_TEST(the_driver_takes_every_form)
{
    int taken[3][2] = {{0}};
    uint64_t random = 2;

    for (int n = 0; n < 20000; n++) {
        groat_kv_cache c = draw_cache(&random);
        groat_kv_box b = GROAT_KV_BOX_INIT;
        groat_tensor t = GROAT_TENSOR_INIT;
        groat_error error = GROAT_ERROR_INIT;
        groat_tensor_map map;

        b.form = (groat_kv_form)below(&random, 3);
        b.order = (groat_kv_order)below(&random, 2);
        b.swizzle = (groat_swizzle)below(&random, 4);
        b.page = below(&random, 4) == 0 ? 0 : c.page;
        b.tile_rows = 8u << below(&random, 6);
        if (groat_kv_tensor(&c, (unsigned)below(&random, 2), 0, &b, &t, NULL) !=
            GROAT_OK)
            continue;
        ck_assert_msg(groat_tensor_map_make(context, target, &t, &map,
                                            &error) == GROAT_OK,
                      "%s", error.text);
        taken[b.form][b.order]++;
    }
    for (int i = 0; i < 6; i++)
        ck_assert_msg(taken[i / 2][i % 2] > 100, "form %d order %d: %d", i / 2,
                      i % 2, taken[i / 2][i % 2]);
}
END_TEST

/* Tells whether there is a driver to test; if not, prints the reason. */
static bool is_there(void)
{
    groat_options options = GROAT_OPTIONS_INIT;
    groat_error error = GROAT_ERROR_INIT;
    const groat_tensor t = {sizeof(t), 4096,  2,       2,
                            {64, 64},  {128}, {64, 8}, GROAT_SWIZZLE_128};
    groat_tensor_map map;

    options.flags = GROAT_OPEN_NO_DISK;
    if (groat_open(&options, &context, &error) != GROAT_OK) {
        (void)printf("%s\n", error.text);
        return true; /* the tests then fail */
    }
    target = groat_default_target(context);
    if (strncmp(target, "cuda:", 5) != 0) {
        (void)puts("SKIP: there is no CUDA device");
        return false;
    }
    if (groat_tensor_map_make(context, target, &t, &map, &error) ==
            GROAT_INVALID &&
        strstr(error.text, "has no tensor maps") != NULL) {
        (void)printf("SKIP: %s\n", error.text);
        groat_error_clear(&error);
        return false;
    }
    return true;
}

int main(void)
{
    Suite *suite;
    TCase *tests;
    int code;

    /* An initialised driver does not survive a fork. */
    (void)setenv("CK_FORK", "no", 1);
    if (!is_there()) {
        groat_close(context);
        return 77;
    }
    suite = suite_create("driver maps");
    tests = tcase_create("driver");
    tcase_add_test(tests, the_driver_takes_what_the_library_takes);
    tcase_add_test(tests, the_driver_takes_every_form);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    code = run_suite(suite);
    groat_close(context);
    return code;
}
