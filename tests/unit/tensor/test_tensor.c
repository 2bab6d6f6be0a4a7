/* SPDX-License-Identifier: Apache-2.0
 *
 * test_tensor.c: tensors that cannot have a map are refused with the field, the
 * value and the allowed values, on cpu and cuda targets alike and before any
 * driver is looked for; values at the limits are accepted.  On cpu targets a
 * map holds the values of the tensor.
 */
#include "../suite.h"

#include "kernels-src/common/cpu_tensor_map.h"
#include "groat_tensor.h"

/* No such file: any answer but NO_DEVICE came without the driver. */
static const char no_driver[] = "/dev/null/none/libcuda.so.1";

static groat_context *context;

static void setup(void)
{
    groat_options options = GROAT_OPTIONS_INIT;
    groat_error error = GROAT_ERROR_INIT;

    options.flags = GROAT_OPEN_NO_DISK;
    ck_assert_int_eq(setenv("GROAT_CUDA", no_driver, 1), 0);
    ck_assert_msg(groat_open(&options, &context, &error) == GROAT_OK, "%s",
                  error.text);
}

static void teardown(void)
{
    groat_close(context);
}

/* 128 columns of 8 heads of 1000 rows of bf16, a box of 64 x 1 x 16. */
static groat_tensor sound(void)
{
    groat_tensor t = GROAT_TENSOR_INIT;

    t.address = 0x7f0000000010;
    t.elem_bytes = 2;
    t.rank = 3;
    t.dims[0] = 128;
    t.dims[1] = 8;
    t.dims[2] = 1000;
    t.strides[0] = 256;
    t.strides[1] = 2048;
    t.box[0] = 64;
    t.box[1] = 1;
    t.box[2] = 16;
    t.swizzle = GROAT_SWIZZLE_128;
    return t;
}

/* ---- refusals ------------------------------------------------------------ */

/* One field of the sound tensor, set to a value. */
typedef enum field {
    SIZE,
    ADDRESS,
    ELEM,
    RANK,
    DIM,
    STRIDE,
    BOX,
    SWIZZLE
} field;

static void set(groat_tensor *t, field f, int index, uint64_t value)
{
    switch (f) {
    case SIZE:
        t->size = value;
        break;
    case ADDRESS:
        t->address = value;
        break;
    case ELEM:
        t->elem_bytes = (unsigned)value;
        break;
    case RANK:
        t->rank = (unsigned)value;
        break;
    case DIM:
        t->dims[index] = value;
        break;
    case STRIDE:
        t->strides[index] = value;
        break;
    case BOX:
        t->box[index] = (unsigned)value;
        break;
    case SWIZZLE:
        t->swizzle = (groat_swizzle)value;
        break;
    }
}

typedef struct refusal {
    field field;
    int index;
    uint64_t value;
    const char *words;
    const char *allowed;
} refusal;

static const refusal refusals[] = {
    {SIZE, 0, sizeof(groat_tensor) - 1, "tensor.size is ",
     "sizeof(groat_tensor)"},
    {ADDRESS, 0, 0, "address is 0;", "multiples of 16"},
    {ADDRESS, 0, 0x1008, "address is 4104;", "multiples of 16"},
    {ADDRESS, 0, 0x1001, "address is 4097;", "multiples of 16"},
    {ADDRESS, 0, UINT64_MAX - 15, "from the first element to the last is",
     "less than 2^64 minus the address"},
    {ELEM, 0, 0, "elem_bytes is 0;", "1, 2, 4 or 8"},
    {ELEM, 0, 3, "elem_bytes is 3;", "1, 2, 4 or 8"},
    {ELEM, 0, 16, "elem_bytes is 16;", "1, 2, 4 or 8"},
    {RANK, 0, 0, "rank is 0;", "1 to 5"},
    {RANK, 0, 6, "rank is 6;", "1 to 5"},
    {RANK, 0, UINT32_MAX, "rank is 4294967295;", "1 to 5"},
    {DIM, 0, 0, "dims[0] is 0;", "1 to 4294967296"},
    {DIM, 1, 0, "dims[1] is 0;", "1 to 4294967296"},
    {DIM, 2, 0, "dims[2] is 0;", "1 to 4294967296"},
    {DIM, 2, 4294967297, "dims[2] is 4294967297;", "1 to 4294967296"},
    {STRIDE, 0, 0, "strides[0] is 0;", "multiples of 16"},
    {STRIDE, 0, 264, "strides[0] is 264;", "multiples of 16"},
    {STRIDE, 1, 2049, "strides[1] is 2049;", "multiples of 16"},
    {STRIDE, 1, 1099511627776, "strides[1] is 1099511627776;",
     "to 1099511627760"},
    {STRIDE, 1, UINT64_MAX - 15, "strides[1] is 18446744073709551600;",
     "to 1099511627760"},
    {BOX, 0, 0, "box[0] is 0;", "1 to 256"},
    {BOX, 1, 0, "box[1] is 0;", "1 to 256"},
    {BOX, 2, 257, "box[2] is 257;", "1 to 256"},
    {BOX, 2, UINT32_MAX, "box[2] is 4294967295;", "1 to 256"},
    {BOX, 0, 60, "box[0] is 60;", "multiples of 8"},
    {BOX, 0, 72, "box[0] is 72;", "at most 64, the 128 bytes"},
    {SWIZZLE, 0, 1, "box[0] is 64;", "at most 16, the 32 bytes"},
    {SWIZZLE, 0, 2, "box[0] is 64;", "at most 32, the 64 bytes"},
    {SWIZZLE, 0, 4, "swizzle is 4;", "GROAT_SWIZZLE_NONE (0)"},
    {SWIZZLE, 0, UINT32_MAX, "swizzle is 4294967295;", "_128 (3)"},
    {STRIDE, 0, 240, "strides[0] is 240;", "256 or more"},
    {STRIDE, 1, 2032, "strides[1] is 2032;", "2048 or more"},
    {STRIDE, 1, 256, "strides[1] is 256;", "2048 or more"},
    {STRIDE, 1, 16, "strides[0] is 256;", "16240 or more"},
};

static void check_refused(const groat_tensor *t, const char *words,
                          const char *allowed)
{
    static const char *const targets[] = {"cpu:sm_90a", "cuda:sm_90a",
                                          "cuda:sm_100a"};

    for (size_t i = 0; i < COUNT(targets); i++) {
        groat_error error = GROAT_ERROR_INIT;
        groat_tensor_map map;
        groat_tensor_map before;

        memset(&map, 0xA5, sizeof(map));
        before = map;
        ck_assert_int_eq(
            groat_tensor_map_make(context, targets[i], t, &map, &error),
            GROAT_INVALID);
        ck_says(&error, words);
        ck_says(&error, allowed);
        ck_assert_mem_eq(&map, &before, sizeof(map));
        groat_error_clear(&error);
        ck_assert_int_eq(
            groat_tensor_map_make(context, targets[i], t, &map, NULL),
            GROAT_INVALID);
    }
}

START_TEST(each_rule_refuses)
{
    const refusal *r = &refusals[_i];
    groat_tensor t = sound();

    set(&t, r->field, r->index, r->value);
    check_refused(&t, r->words, r->allowed);
}
END_TEST

/* 16 bytes are a different number of elements for each elem_bytes. */
START_TEST(inner_boxes_are_whole_vectors)
{
    static const struct {
        unsigned elem_bytes, box;
        const char *allowed;
    } cases[] = {{1, 24, "multiples of 16,"},
                 {2, 4, "multiples of 8,"},
                 {4, 6, "multiples of 4,"},
                 {8, 3, "multiples of 2,"}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        groat_tensor t = sound();

        t.elem_bytes = cases[i].elem_bytes;
        t.strides[0] = 1024;
        t.strides[1] = 8192;
        t.box[0] = cases[i].box;
        check_refused(&t, "box[0] is", cases[i].allowed);
        t.box[0] = 16 / cases[i].elem_bytes;
        ck_assert_int_eq(groat_tensor_map_make(context, "cpu:sm_90a", &t,
                                               &(groat_tensor_map){{0}}, NULL),
                         GROAT_OK);
    }
}
END_TEST

/* A larger box could never land in a block; the driver refuses it as well. */
START_TEST(a_block_holds_the_box)
{
    groat_tensor t = sound();
    groat_tensor_map map;

    t.box[1] = 8;
    t.box[2] = 227; /* 64 * 8 * 227 * 2 is 227 KiB */
    ck_assert_int_eq(
        groat_tensor_map_make(context, "cpu:sm_90a", &t, &map, NULL), GROAT_OK);
    t.box[2] = 228;
    check_refused(&t, "bytes of the box is 233472;", "at most 232448");
    t.box[1] = 256;
    t.box[2] = 256;
    check_refused(&t, "bytes of the box is 8388608;", "at most 232448");
}
END_TEST

START_TEST(edges_are_taken)
{
    groat_tensor t = sound();
    groat_error error = GROAT_ERROR_INIT;
    groat_tensor_map map;

    t.dims[2] = (uint64_t)1 << 20;
    t.strides[1] = ((uint64_t)1 << 40) - 16;
    t.address = 16;
    t.box[2] = 256;
    ck_assert_msg(groat_tensor_map_make(context, "cpu:sm_90a", &t, &map,
                                        &error) == GROAT_OK,
                  "%s", error.text);
    t.rank = 1;
    t.dims[0] = (uint64_t)1 << 32;
    t.strides[0] = 7; /* ignored at rank 1 */
    t.box[1] = 999;
    t.elem_bytes = 8;
    t.box[0] = 16;
    ck_assert_msg(groat_tensor_map_make(context, "cpu:sm_100a", &t, &map,
                                        &error) == GROAT_OK,
                  "%s", error.text);
    t.size += 8; /* of a later version */
    t.swizzle = GROAT_SWIZZLE_NONE;
    t.box[0] = 256; /* no swizzle, so no limit of a span */
    ck_assert_msg(groat_tensor_map_make(context, "cpu:sm_90", &t, &map,
                                        &error) == GROAT_OK,
                  "%s", error.text);
    t.size -= 8;
    ck_assert_int_eq(
        groat_tensor_map_make(context, "cuda:sm_90a", &t, &map, &error),
        GROAT_NO_DEVICE);
    ck_says(&error, no_driver);
    groat_error_clear(&error);
}
END_TEST

START_TEST(targets_without_maps)
{
    static const char *const targets[] = {"hip:gfx942", "cpu:gfx950",
                                          "cpu:sm_80", "cuda:sm_89"};
    const groat_tensor t = sound();
    groat_error error = GROAT_ERROR_INIT;
    groat_tensor_map map;

    for (size_t i = 0; i < COUNT(targets); i++) {
        ck_assert_int_eq(
            groat_tensor_map_make(context, targets[i], &t, &map, &error),
            GROAT_INVALID);
        ck_says(&error, targets[i]);
        ck_says(&error, "has no tensor maps");
        ck_says(&error, "sm_90a");
        groat_error_clear(&error);
    }
    ck_fails(groat_tensor_map_make(context, "cpu:nine", &t, &map, &error),
             GROAT_INVALID, &error, "nine");
}
END_TEST

START_TEST(places_to_write_to)
{
    const groat_tensor t = sound();
    groat_error error = GROAT_ERROR_INIT;
    groat_tensor_map maps[2];
    char *bytes = (char *)maps;

    for (int off = 1; off < 64; off++)
        ck_fails(groat_tensor_map_make(context, "cpu:sm_90a", &t,
                                       (void *)(bytes + off), &error),
                 GROAT_INVALID, &error, "allowed: multiples of 64");
    ck_fails(groat_tensor_map_make(context, "cpu:sm_90a", &t, NULL, &error),
             GROAT_INVALID, &error, "not NULL");
    ck_fails(groat_tensor_map_make(context, "cpu:sm_90a", NULL, maps, &error),
             GROAT_INVALID, &error, "tensor is NULL");
    ck_assert_uint_eq(sizeof(maps[0]), 128);
    ck_assert_uint_eq(_Alignof(groat_tensor_map), 64);
}
END_TEST

/* ---- no two elements share a byte ---------------------------------------- */

/* Draws a tensor small enough to count every byte. */
static groat_tensor draw_tensor(uint64_t *random)
{
    groat_tensor t = GROAT_TENSOR_INIT;

    t.address = 4096;
    t.elem_bytes = 1u << next_random(random) % 4;
    t.rank = 1 + (unsigned)(next_random(random) % 5);
    t.box[0] = 16 / t.elem_bytes;
    for (unsigned i = 0; i < t.rank; i++) {
        t.dims[i] = 1 + next_random(random) % 5;
        if (i == 0)
            t.dims[0] = (1 + next_random(random) % 4) * 8 / t.elem_bytes;
        else
            t.strides[i - 1] = 16 * (1 + next_random(random) % 40);
        if (i > 0)
            t.box[i] = 1;
    }
    return t;
}

/* Gives nested strides, with the dimensions in any order. */
static void nest(groat_tensor *t, uint64_t *random)
{
    uint64_t stride = (t->dims[0] * t->elem_bytes + 15) / 16 * 16;
    unsigned order[4] = {1, 2, 3, 4};

    for (unsigned i = t->rank - 1; i > 1; i--) {
        unsigned j = (unsigned)(next_random(random) % i);
        unsigned kept = order[i - 1];

        order[i - 1] = order[j];
        order[j] = kept;
    }
    for (unsigned i = 0; i + 1 < t->rank; i++) {
        t->strides[order[i] - 1] = stride;
        stride = stride * t->dims[order[i]] + 16 * (next_random(random) % 3);
    }
}

static bool shares_bytes(const groat_tensor *t)
{
    static unsigned char seen[1 << 16];
    uint64_t count = 1;

    memset(seen, 0, sizeof(seen));
    for (unsigned i = 0; i < t->rank; i++)
        count *= t->dims[i];
    for (uint64_t n = 0; n < count; n++) {
        uint64_t left = n / t->dims[0];
        uint64_t at = n % t->dims[0] * t->elem_bytes;

        for (unsigned i = 1; i < t->rank; i++) {
            at += left % t->dims[i] * t->strides[i - 1];
            left /= t->dims[i];
        }
        for (unsigned b = 0; b < t->elem_bytes; b++) {
            ck_assert_uint_lt(at + b, sizeof(seen));
            if (seen[at + b]++ != 0)
                return true;
        }
    }
    return false;
}

START_TEST(nothing_that_overlaps_is_taken)
{
    uint64_t random = 7;
    int cases = 4000 / (int)test_step();
    int taken = 0;
    int refused = 0;
    int shared = 0;

    for (int n = 0; n < cases; n++) {
        groat_tensor t = draw_tensor(&random);
        groat_error error = GROAT_ERROR_INIT;
        groat_tensor_map map;
        groat_status status;

        if (n % 2 == 0)
            nest(&t, &random);
        status = groat_tensor_map_make(context, "cpu:sm_90a", &t, &map, &error);
        if (n % 2 == 0)
            ck_assert_msg(status == GROAT_OK, "%s", error.text);
        if (status == GROAT_OK) {
            ck_assert(!shares_bytes(&t));
            taken++;
        } else {
            ck_says(&error, "elements would share bytes");
            refused++;
            shared += shares_bytes(&t);
        }
        groat_error_clear(&error);
    }
    ck_assert_int_ge(taken, cases / 2);
    ck_assert_int_gt(refused, cases / 8);
    ck_assert_int_gt(shared, refused / 3);
}
END_TEST

/* ---- the map of a cpu target --------------------------------------------- */

START_TEST(cpu_maps_say_what_the_tensor_said)
{
    uint64_t random = 11;

    for (int n = 0; n < 500; n++) {
        static const unsigned char zeros[sizeof(groat_tensor_map)];
        struct groat_cpu_tensor_map got;
        groat_tensor t = draw_tensor(&random);
        groat_tensor_map map;

        nest(&t, &random);
        t.address = 16 * (1 + next_random(&random) % ((uint64_t)1 << 50));
        t.swizzle = (groat_swizzle)(next_random(&random) % 4);
        for (unsigned i = 1; i < t.rank; i++)
            t.box[i] = 1 + (unsigned)(next_random(&random) % 8);
        memset(&map, 0xA5, sizeof(map));
        ck_assert_int_eq(
            groat_tensor_map_make(context, "cpu:sm_90a", &t, &map, NULL),
            GROAT_OK);
        memcpy(&got, &map, sizeof(got));
        ck_assert(got.magic == GROAT_CPU_TENSOR_MAP_MAGIC);
        ck_assert(got.address == t.address);
        ck_assert_uint_eq(got.rank, t.rank);
        ck_assert_uint_eq(got.elem_bytes, t.elem_bytes);
        ck_assert_uint_eq(got.swizzle, (unsigned)t.swizzle);
        for (unsigned i = 0; i < 5; i++) {
            ck_assert(got.dims[i] == (i < t.rank ? t.dims[i] : 1));
            ck_assert_uint_eq(got.box[i], i < t.rank ? t.box[i] : 1);
            if (i < 4)
                ck_assert(got.strides[i] ==
                          (i + 1 < t.rank ? t.strides[i] : 0));
        }
        ck_assert_mem_eq((char *)&map + sizeof(got), zeros,
                         sizeof(map) - sizeof(got));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tensor");
    TCase *tests = tcase_create("maps");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, each_rule_refuses, 0, COUNT(refusals));
    tcase_add_test(tests, inner_boxes_are_whole_vectors);
    tcase_add_test(tests, a_block_holds_the_box);
    tcase_add_test(tests, edges_are_taken);
    tcase_add_test(tests, targets_without_maps);
    tcase_add_test(tests, places_to_write_to);
    tcase_add_test(tests, nothing_that_overlaps_is_taken);
    tcase_add_test(tests, cpu_maps_say_what_the_tensor_said);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
