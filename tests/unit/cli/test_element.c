/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers in buffers: every number of the small dtypes survives a round trip,
 * and halfway between two neighbours a number is rounded to the even one.
 */
#include <math.h>

#include "kernels-src/driver/element.h"
#include "tests/unit/suite.h"

static const char *const small[] = {"bf16",     "f16",      "e4m3", "e5m2",
                                    "e4m3fnuz", "e5m2fnuz", "i8",   "u8",
                                    "i16",      "u16"};

static const groat__element *find(const char *name)
{
    const groat__element *element = groat__element_find(name, strlen(name));

    ck_assert_ptr_nonnull(element);
    return element;
}

static double load(const groat__element *element, unsigned bits)
{
    uint16_t wide = (uint16_t)bits;

    return groat__element_load(element, &wide);
}

static unsigned store(const groat__element *element, double value)
{
    uint16_t wide = 0;

    groat__element_store(element, value, &wide);
    return wide;
}

START_TEST(numbers_go_out_and_back)
{
    const groat__element *element = find(small[_i]);

    for (unsigned bits = 0; bits < 1u << (8 * element->bytes); bits++) {
        double value = load(element, bits);

        if (isnan(value))
            ck_assert(isnan(load(element, store(element, value))));
        else
            ck_assert_msg(store(element, value) == bits,
                          "%s: 0x%x is %g, which is 0x%x", element->name, bits,
                          value, store(element, value));
    }
}
END_TEST

START_TEST(halves_go_to_the_even_one)
{
    const groat__element *element = find(small[_i]);
    unsigned most = (1u << (8 * element->bytes - 1)) - 1;

    if (element->kind != GROAT__ELEMENT_FLOAT)
        return;
    for (unsigned bits = 0; bits < most; bits++) {
        double low = load(element, bits);
        double high = load(element, bits + 1);
        double half = low + (high - low) / 2;

        if (!isfinite(low) || !isfinite(high))
            continue;
        ck_assert_uint_eq(store(element, half), bits + (bits & 1));
        ck_assert_uint_eq(store(element, nextafter(half, low)), bits);
        ck_assert_uint_eq(store(element, nextafter(half, high)), bits + 1);
    }
}
END_TEST

/* Limits from the specifications of the formats. */
START_TEST(limits_are_those_of_the_formats)
{
    static const struct {
        const char *name;
        double value;
        unsigned bits;
    } rows[] = {
        {"bf16", 1, 0x3F80},
        {"f16", 1, 0x3C00},
        {"e4m3", 448, 0x7E},
        {"e4m3", 1000, 0x7E},
        {"e5m2", 57344, 0x7B},
        {"e5m2", 1e6, 0x7C},
        {"e4m3fnuz", 240, 0x7F},
        {"e4m3fnuz", 1e9, 0x7F},
        {"e4m3fnuz", -0.0, 0},
        {"e4m3fnuz", NAN, 0x80},
        {"e5m2fnuz", 57344, 0x7F},
        {"f16", 65504, 0x7BFF},
        {"f16", 65520, 0x7C00},
        {"f16", 65519, 0x7BFF},
        {"f16", -INFINITY, 0xFC00},
        {"bf16", 3.4e38, 0x7F80},
        {"i8", 300, 0x7F},
        {"i8", -300, 0x80},
        {"u8", -1, 0},
        {"u8", 2.5, 2},
        {"u16", 1e9, 0xFFFF},
        {"i8", NAN, 0},
    };

    for (size_t i = 0; i < COUNT(rows); i++)
        ck_assert_msg(store(find(rows[i].name), rows[i].value) == rows[i].bits,
                      "%s of %g is 0x%x, expected 0x%x", rows[i].name,
                      rows[i].value, store(find(rows[i].name), rows[i].value),
                      rows[i].bits);
}
END_TEST

START_TEST(singles_are_the_hosts)
{
    const groat__element *single = find("f32");
    const groat__element *wide = find("f64");
    double value = 1.5e-45; /* a subnormal of singles */

    for (int i = 0; i < 2000; i++, value *= -1.1) {
        float want = (float)value;
        float got;
        double same;

        groat__element_store(single, value, &got);
        ck_assert_mem_eq(&got, &want, sizeof(want));
        groat__element_store(wide, value, &same);
        ck_assert_mem_eq(&same, &value, sizeof(value));
    }
}
END_TEST

START_TEST(distances_count_numbers)
{
    const groat__element *half = find("f16");
    const uint16_t one = 0x3C00, next = 0x3C01, tiny = 1, minus = 0x8001;
    const uint16_t nan = 0x7E00;

    ck_assert_uint_eq(groat__element_ulps(half, &one, &next), 1);
    ck_assert_uint_eq(groat__element_ulps(half, &one, &one), 0);
    ck_assert_uint_eq(groat__element_ulps(half, &tiny, &minus), 2);
    ck_assert_uint_eq(groat__element_ulps(half, &nan, &nan), 0);
    ck_assert_uint_eq(groat__element_ulps(half, &nan, &one), UINT64_MAX);
    ck_assert_ptr_null(groat__element_find("bf", 2));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elements");
    TCase *tcase = tcase_create("all");

    tcase_add_loop_test(tcase, numbers_go_out_and_back, 0, COUNT(small));
    tcase_add_loop_test(tcase, halves_go_to_the_even_one, 0, COUNT(small));
    tcase_add_test(tcase, limits_are_those_of_the_formats);
    tcase_add_test(tcase, singles_are_the_hosts);
    tcase_add_test(tcase, distances_count_numbers);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
