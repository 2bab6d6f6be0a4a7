/* SPDX-License-Identifier: Apache-2.0
 *
 * test_json.c: what the tool's JSON makes of values that JSON, UTF-8 or Jansson
 * cannot hold, and of levels that are not ended or are too many.
 */
#include <math.h>

#include "cli/tool/out.h"
#include "tests/unit/suite.h"

static void ck_text(groat__json *json, const char *want)
{
    char *text = groat__json_take(json);

    ck_assert_ptr_nonnull(text);
    ck_assert_str_eq(text, want);
    free(text);
}

START_TEST(odd_values)
{
    groat__json json = {0};

    groat__json_array(&json, NULL);
    groat__json_uint(&json, NULL, INT64_MAX);
    groat__json_uint(&json, NULL, UINT64_MAX);
    groat__json_int(&json, NULL, INT64_MIN);
    groat__json_real(&json, NULL, (double)NAN);
    groat__json_real(&json, NULL, -(double)INFINITY);
    groat__json_real(&json, NULL, 1.0 / 3);
    groat__json_string(&json, NULL, NULL);
    groat__json_string(&json, NULL, "a\"\\\n\x01\x7f\xff\xc3\xbc");
    groat__json_end(&json);
    ck_text(&json, "[\n"
                   "  9223372036854775807,\n"
                   "  \"18446744073709551615\",\n"
                   "  -9223372036854775808,\n"
                   "  null,\n"
                   "  null,\n"
                   "  0.333333333,\n"
                   "  null,\n"
                   "  \"a\\\"\\\\\\n\\u0001\xef\xbf\xbd\xef\xbf\xbd\xc3\xbc\"\n"
                   "]");
}
END_TEST

START_TEST(open_levels)
{
    groat__json json = {0};

    ck_assert_ptr_null(groat__json_take(&json));
    groat__json_object(&json, NULL);
    groat__json_array(&json, "a");
    groat__json_object(&json, NULL);
    groat__json_bool(&json, "b", true);
    ck_text(&json, "{\n  \"a\": [\n    {\n      \"b\": true\n    }\n  ]\n}");
}
END_TEST

START_TEST(too_many_levels)
{
    groat__json json = {0};

    for (int i = 0; i < GROAT__JSON_DEPTH; i++)
        groat__json_array(&json, NULL);
    groat__json_null(&json, NULL);
    free(groat__json_take(&json));
    for (int i = 0; i <= GROAT__JSON_DEPTH; i++)
        groat__json_array(&json, NULL);
    groat__json_null(&json, NULL);
    for (int i = 0; i <= GROAT__JSON_DEPTH; i++)
        groat__json_end(&json);
    ck_assert_ptr_null(groat__json_take(&json));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json");
    TCase *tcase = tcase_create("all");

    tcase_add_test(tcase, odd_values);
    tcase_add_test(tcase, open_levels);
    tcase_add_test(tcase, too_many_levels);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
