/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include "tests/unit/suite.h"

/* Reads a text as one value; "" or what is wrong. */
static const char *read_all(const char *text, size_t *column)
{
    groat__json_in in;

    groat__json_in_start(&in, text);
    if (groat__json_in_skip(&in))
        (void)groat__json_in_end(&in);
    *column = groat__json_in_column(&in);
    return in.why == NULL ? "" : in.why;
}

START_TEST(values)
{
    static const char *const good[] = {
        "0",         "-0",
        "12.5e-7",   " 1E+9\t",
        "true",      "false",
        "null",      "\"\"",
        "[]",        "{}",
        "[[],[{}]]", "[1, \"a\", null]",
        "\r\n1",     "{\"a\": {\"b\": [0.1]}, \"a\": 2}",
    };
    size_t column;

    for (size_t i = 0; i < COUNT(good); i++)
        ck_assert_msg(*read_all(good[i], &column) == '\0', "%s", good[i]);
}
END_TEST

START_TEST(what_is_no_value)
{
    static const struct {
        const char *text;
        const char *why;
        size_t column;
    } bad[] = {
        {"", "a value is missing", 1},
        {"  ", "a value is missing", 3},
        {"01", "more follows", 2},
        {"-", "a digit is missing", 2},
        {"1.", "a digit is missing", 3},
        {"1e+", "a digit is missing", 4},
        {".5", "a value is missing", 1},
        {"truer", "a value is missing", 1},
        {"nul", "a value is missing", 1},
        {"[1,]", "a value is missing", 4},
        {"[1 2]", "',' or ']' is missing", 4},
        {"[", "a value is missing", 2},
        {"[1", "',' or ']' is missing", 3},
        {"{\"a\":1,}", "a string is missing", 8},
        {"{\"a\" 1}", "':' is missing", 6},
        {"{1:1}", "a string is missing", 2},
        {"{\"a\":1", "',' or '}' is missing", 7},
        {"\"a", "a string does not end", 3},
        {"\"\t\"", "a control character in a string", 2},
        {"\"\\x\"", "no such escape", 3},
        {"\"\\", "no such escape", 3},
        {"\"\\u12\"", "\\u needs four hex digits", 4},
        {"\"\\u0000\"", "\\u0000 is not taken", 8},
        {"\"\\ud800\"", "half of a pair of \\u", 8},
        {"\"\\ud800\\u0041\"", "half of a pair of \\u", 14},
        {"\"\\udc00\"", "half of a pair of \\u", 8},
        {"\"\xff\"", "not UTF-8", 2},
        {"\"\xc0\x80\"", "not UTF-8", 2},
        {"1 1", "more follows", 3},
        {"// 1", "a value is missing", 1},
    };

    for (size_t i = 0; i < COUNT(bad); i++) {
        size_t column = 0;

        ck_assert_str_eq(read_all(bad[i].text, &column), bad[i].why);
        ck_assert_msg(column == bad[i].column, "%s: column %zu", bad[i].text,
                      column);
    }
}
END_TEST

START_TEST(strings)
{
    static const char *const cases[][2] = {
        {"\"\"", ""},
        {" \"a b\"", "a b"},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u0041\\u00e9\\u20AC\"", "A\xc3\xa9\xe2\x82\xac"},
        {"\"\\ud83d\\ude00\\uffff\"", "\xf0\x9f\x98\x80\xef\xbf\xbf"},
        {"\"\xe2\x82\xac\x7f\"", "\xe2\x82\xac\x7f"},
    };
    groat__str text = {0};

    for (size_t i = 0; i < COUNT(cases); i++) {
        groat__json_in in;

        groat__json_in_start(&in, cases[i][0]);
        ck_assert(groat__json_in_string(&in, &text));
        ck_assert(groat__json_in_end(&in));
        ck_assert_str_eq(text.data, cases[i][1]);
    }
    groat__str_free(&text);
}
END_TEST

START_TEST(nesting)
{
    enum { DEPTH = 64 };
    char text[2 * DEPTH + 3] = "";
    size_t column;

    memset(text, '[', DEPTH);
    memset(text + DEPTH, ']', DEPTH);
    ck_assert_str_eq(read_all(text, &column), "");
    memset(text, '[', DEPTH + 1);
    memset(text + DEPTH + 1, ']', DEPTH + 1);
    ck_assert_str_eq(read_all(text, &column),
                     "more than 64 values in each other");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json");
    TCase *tests = tcase_create("json");

    tcase_add_test(tests, values);
    tcase_add_test(tests, what_is_no_value);
    tcase_add_test(tests, strings);
    tcase_add_test(tests, nesting);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
