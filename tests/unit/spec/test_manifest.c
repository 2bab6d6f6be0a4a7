/* SPDX-License-Identifier: Apache-2.0 */
#include "spec/manifest.h"

#include "tests/unit/suite.h"

static groat_error error = GROAT_ERROR_INIT;

START_TEST(what_lines_say)
{
    groat__manifest_line line = {.target_count = 9};

    ck_assert_int_eq(
        groat__manifest_parse("{\"spec\": \"a:b=1\"}", &line, NULL), GROAT_OK);
    ck_assert_str_eq(line.spec.data, "a:b=1");
    ck_assert_uint_eq(line.target_count, 0);
    ck_assert_int_eq(groat__manifest_parse(
                         "{\"target\": \"t\", \"spec\": \"\"}", &line, NULL),
                     GROAT_OK);
    ck_assert_str_eq(line.spec.data, "");
    ck_assert_uint_eq(line.target_count, 1);
    ck_assert_str_eq(line.targets.data, "t");
    ck_assert_int_eq(groat__manifest_parse("{\"note\": [[1]], \"targets\": "
                                           "[\"one\", \"\", \"three\"], "
                                           "\"spec\": \"c\"}",
                                           &line, NULL),
                     GROAT_OK);
    ck_assert_str_eq(line.spec.data, "c");
    ck_assert_uint_eq(line.target_count, 3);
    ck_assert_uint_eq(line.targets.len, 11);
    ck_assert_mem_eq(line.targets.data, "one\0\0three", 11);
    ck_assert_uint_eq(line.device.len + line.decode.len + line.score.len, 0);
    ck_assert_int_eq(
        groat__manifest_parse("{\"spec\": \"c\", \"tuned\": {\"decode\": "
                              "\"keys=3\", \"device\": \"D\", \"score\": "
                              "\"score*2\"}}",
                              &line, NULL),
        GROAT_OK);
    ck_assert_str_eq(line.device.data, "D");
    ck_assert_str_eq(line.decode.data, "keys=3");
    ck_assert_str_eq(line.score.data, "score*2");
    ck_assert_int_eq(
        groat__manifest_parse(
            "{\"spec\": \"c\", \"note\": 99999999999999999999}", &line, NULL),
        GROAT_OK);
    ck_assert_uint_eq(line.device.len + line.decode.len + line.score.len, 0);
    groat__manifest_line_free(&line);
}
END_TEST

START_TEST(what_lines_may_not_say)
{
    static const char *const bad[][2] = {
        {"{\"spec\": \"a\"",
         "the line is not JSON: '}' expected near end of file, column 12"},
        {"{\"spec\": \"a\"} x",
         "the line is not JSON: end of file expected near 'x', column 15"},
        {"[\"x\"]", "the line is not a JSON object"},
        {"[\"x\"", "the line is not JSON"},
        {"{}", "\"spec\" is missing"},
        {"{\"spec\": \"a\", \"note\": 1e999}", "a number is too large"},
        {"{\"spec\": 7}", "\"spec\" is not a string"},
        {"{\"spec\": \"a\", \"spec\": \"a\"}", "the line has a member twice"},
        {"{\"spec\": \"a\", \"note\": 1, \"note\": 1}",
         "the line has a member twice"},
        {"{\"spec\": \"a\", \"target\": null}", "\"target\" is not a string"},
        {"{\"spec\": \"a\", \"targets\": \"b\"}", "is not a list of one"},
        {"{\"spec\": \"a\", \"targets\": []}", "is not a list of one"},
        {"{\"spec\": \"a\", \"targets\": [\"b\", 1]}",
         "in \"targets\" is not a string"},
        {"{\"spec\": \"a\", \"target\": \"b\", \"targets\": [\"c\"]}",
         "both \"target\" and \"targets\""},
        {"{\"spec\": \"a\", \"tragets\": 1}",
         "\"tragets\" is not known; allowed: "},
        {"{\"spec\": \"a\", \"tuned\": \"x\"}", "\"tuned\" is no object"},
        {"{\"spec\": \"a\", \"tuned\": {\"device\": \"x\", \"decode\": "
         "\"y\", \"sore\": \"z\"}}",
         "\"tuned\" is no object of device, decode and score"},
        {"{\"spec\": \"a\", \"tuned\": {\"device\": \"x\"}}",
         "device, decode or score of \"tuned\" is not a string"},
        {"{\"spec\": \"a\", \"tuned\": {\"device\": \"\", \"decode\": "
         "\"y\"}}",
         "device, decode or score of \"tuned\" is not a string"},
        {"{\"spec\": 7, \"note\": tru}",
         "the line is not JSON: invalid token near 'tru'"},
    };
    groat__manifest_line line = {.target_count = 0};

    for (size_t i = 0; i < COUNT(bad); i++)
        ck_fails(groat__manifest_parse(bad[i][0], &line, &error), GROAT_INVALID,
                 &error, bad[i][1]);
    groat__manifest_line_free(&line);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("manifest");
    TCase *tests = tcase_create("manifest");

    tcase_add_test(tests, what_lines_say);
    tcase_add_test(tests, what_lines_may_not_say);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
