/* SPDX-License-Identifier: Apache-2.0
 *
 * test_str.c: growing texts, the state after a failure, what a line may
 * contain, and hex.
 */
#include "../suite.h"

#include "base/str.h"

START_TEST(test_empty)
{
    groat__str str = {0};
    char *text;

    groat__str_clear(&str);
    ck_assert_ptr_null(str.data);
    groat__str_free(&str);
    text = groat__str_take(&str);
    ck_assert_ptr_nonnull(text);
    ck_assert_str_eq(text, "");
    free(text);
    ck_assert_ptr_null(str.data);
}
END_TEST

START_TEST(test_pieces)
{
    groat__str str = {0};
    char *text;

    groat__str_add(&str, "one");
    groat__str_addn(&str, ", two and more", 5);
    groat__str_addf(&str, " %s=%d %c", "x", -7, '!');
    groat__str_add(&str, "");
    groat__str_addf(&str, "%s", "");
    ck_assert_str_eq(str.data, "one, two x=-7 !");
    ck_assert_uint_eq(str.len, strlen(str.data));
    text = groat__str_take(&str);
    ck_assert_str_eq(text, "one, two x=-7 !");
    ck_assert_ptr_null(str.data);
    ck_assert_uint_eq(str.len, 0);
    ck_assert_uint_eq(str.cap, 0);
    free(text);
}
END_TEST

/* Covers each length on both sides of every growth. */
START_TEST(test_growth)
{
    groat__str str = {0};

    for (size_t len = 0; len < 5000; len++) {
        if (len > 0) {
            ck_assert_uint_eq(str.len, len);
            ck_assert_uint_gt(str.cap, str.len);
            ck_assert_int_eq(str.data[str.len], '\0');
        }
        groat__str_addn(&str, &"0123456789"[len % 10], 1);
    }
    for (size_t i = 0; i < str.len; i++)
        ck_assert_int_eq(str.data[i], (char)('0' + i % 10));
    groat__str_free(&str);
}
END_TEST

START_TEST(test_room)
{
    groat__str str = {0};

    groat__str_reserve(&str, 10);
    ck_assert_uint_eq(str.cap, 11);
    ck_assert_uint_eq(str.len, 0);
    ck_assert_str_eq(str.data, "");
    groat__str_add(&str, "0123456789");
    ck_assert_uint_eq(str.cap, 11);
    groat__str_reserve(&str, 0);
    ck_assert_uint_eq(str.cap, 11);
    groat__str_reserve(&str, 5);
    ck_assert_uint_eq(str.cap, 16);
    ck_assert_str_eq(str.data, "0123456789");
    groat__str_reserve(&str, SIZE_MAX / 2);
    ck_assert(str.failed);
    ck_assert_uint_eq(str.cap, 16);
    groat__str_free(&str);
}
END_TEST

START_TEST(test_format_longer_than_the_room)
{
    groat__str str = {0};

    groat__str_add(&str, "<");
    groat__str_addf(&str, "%*d|%-*d", 700, 1, 3000, 2);
    groat__str_add(&str, ">");
    ck_assert(!str.failed);
    ck_assert_uint_eq(str.len, 1 + 700 + 1 + 3000 + 1);
    ck_assert_int_eq(str.data[700], '1');
    ck_assert_int_eq(str.data[701], '|');
    ck_assert_int_eq(str.data[702], '2');
    ck_assert_int_eq(str.data[str.len - 1], '>');
    groat__str_free(&str);
}
END_TEST

START_TEST(test_bytes_of_any_value)
{
    static const char bytes[] = {'a', '\0', (char)0xff, '\n', '\0'};
    groat__str str = {0};

    groat__str_addn(&str, bytes, sizeof(bytes));
    groat__str_addn(&str, NULL, 0);
    ck_assert_uint_eq(str.len, sizeof(bytes));
    ck_assert_mem_eq(str.data, bytes, sizeof(bytes));
    groat__str_free(&str);
}
END_TEST

START_TEST(test_integers)
{
    static const int64_t values[] = {0,  1,         -1,        9,
                                     10, -10,       INT32_MAX, INT32_MIN,
                                     99, INT64_MAX, INT64_MIN, INT64_MIN + 1};
    groat__str str = {0};
    char expected[32];

    for (size_t i = 0; i < COUNT(values); i++) {
        groat__str_clear(&str);
        groat__str_add_int(&str, values[i]);
        (void)snprintf(expected, sizeof(expected), "%lld",
                       (long long)values[i]);
        ck_assert_str_eq(str.data, expected);
    }
    groat__str_free(&str);
}
END_TEST

START_TEST(test_clear_keeps_the_memory)
{
    groat__str str = {0};
    char *data;
    size_t cap;

    groat__str_addf(&str, "%*d", 1000, 1);
    data = str.data;
    cap = str.cap;
    groat__str_clear(&str);
    ck_assert_str_eq(str.data, "");
    groat__str_add(&str, "again");
    ck_assert_ptr_eq(str.data, data);
    ck_assert_uint_eq(str.cap, cap);
    ck_assert_str_eq(str.data, "again");
    groat__str_free(&str);
}
END_TEST

/* Asserts that a failed text stays failed and keeps its old content. */
static void ck_stays_failed(groat__str *str)
{
    ck_assert(str->failed);
    groat__str_add(str, "x");
    groat__str_addn(str, "x", 1);
    groat__str_addf(str, "%d", 1);
    groat__str_add_int(str, 1);
    ck_assert_str_eq(str->data, "before");
    ck_assert_uint_eq(str->len, 6);
    groat__str_clear(str);
    ck_assert(str->failed);
    ck_assert_ptr_null(groat__str_take(str));
    ck_assert_ptr_null(str->data);
    ck_assert(!str->failed);
}

START_TEST(test_too_large)
{
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 6, SIZE_MAX / 2,
                                   SIZE_MAX / 4 + 1};

    for (size_t i = 0; i < COUNT(sizes); i++) {
        groat__str str = {0};

        groat__str_add(&str, "before");
        groat__str_addn(&str, "", sizes[i]);
        ck_stays_failed(&str);
    }
}
END_TEST

/* A text that silently lacks a piece would give a wrong kernel or wrong key. */
START_TEST(test_what_cannot_be_formatted)
{
    static const wchar_t no_character[] = {0xd800, 0};
    groat__str str = {0};

    groat__str_add(&str, "before");
    groat__str_addf(&str, "%ls", no_character);
    ck_stays_failed(&str);
}
END_TEST

START_TEST(test_kinds_of_characters)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    for (int i = 0; i < 256; i++) {
        char c = (char)i;
        bool letter = i != 0 && strchr(letters, c) != NULL;
        bool digit = i != 0 && strchr("0123456789", c) != NULL;

        ck_assert_int_eq(groat__is_letter(c), letter);
        ck_assert_int_eq(groat__is_digit(c), digit);
        ck_assert_int_eq(groat__is_word(c), letter || digit || c == '_');
    }
}
END_TEST

/* Every code point, encoded as the standard says, and invalid sequences next to
 * valid ones. */
START_TEST(test_utf8)
{
    static const unsigned heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    static const char *const bad[] = {"\x80",
                                      "\xbf",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xc2",
                                      "\xc2\xc2",
                                      "\xe0\x9f\xbf",
                                      "\xe1\x80",
                                      "\xed\xa0\x80",
                                      "\xed\xbf\xbf",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf1\x80\x80",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xff"};

    for (uint32_t code = 1; code < 0x110000; code++) {
        bool surrogate = code >= 0xd800 && code < 0xe000;
        size_t len = code < 0x80      ? 1
                     : code < 0x800   ? 2
                     : code < 0x10000 ? 3
                                      : 4;
        char text[5] = "";
        uint32_t rest = code;

        for (size_t i = len - 1; i > 0; i--, rest >>= 6)
            text[i] = (char)(0x80 | (rest & 0x3f));
        text[0] = (char)(heads[len] | rest);
        /* An assertion per code point would exceed the test's time limit. */
        if (groat__utf8_len(text) != (surrogate ? 0 : len))
            ck_abort_msg("U+%04X", code);
    }
    ck_assert_uint_eq(groat__utf8_len(""), 0);
    for (size_t i = 0; i < COUNT(bad); i++)
        ck_assert_msg(groat__utf8_len(bad[i]) == 0, "case %zu", i);
}
END_TEST

START_TEST(test_one_line)
{
    static const struct {
        const char *from;
        const char *to;
    } cases[] = {
        {"", ""},
        {"a b~", "a b~"},
        {"a\nb\r\n\tc\033[31md\177", "a b   c [31md "},
        {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x8c\xbe",
         "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x8c\xbe"},
        /* 8-bit terminal escape sequences, in both encodings */
        {"a\x9b"
         "31m",
         "a?31m"},
        {"a\xc2\x9b"
         "31m\xc2\xa0",
         "a  31m\xc2\xa0"},
        {"\xc3", "?"},
        {"\xc3(", "?("},
        {"\xe2\x82", "??"},
        {"x\xff\xfe", "x??"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[64];

        (void)snprintf(text, sizeof(text), "%s", cases[i].from);
        groat__one_line(text);
        ck_assert_str_eq(text, cases[i].to);
    }
}
END_TEST

START_TEST(test_hex)
{
    uint8_t bytes[256];
    uint8_t back[256];
    char text[513];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)i;
    groat__hex(text, bytes, sizeof(bytes));
    ck_assert_uint_eq(strlen(text), 512);
    ck_assert_int_eq(strncmp(text, "000102030405060708090a0b0c0d0e0f10", 34),
                     0);
    ck_assert_str_eq(text + 500, "fafbfcfdfeff");
    ck_assert(groat__unhex(back, sizeof(back), text));
    ck_assert_mem_eq(back, bytes, sizeof(bytes));
    for (char *at = text; *at != '\0'; at++)
        if (*at >= 'a')
            *at = (char)(*at - 'a' + 'A');
    ck_assert(groat__unhex(back, sizeof(back), text));
    ck_assert_mem_eq(back, bytes, sizeof(bytes));
    groat__hex(text, bytes, 0);
    ck_assert_str_eq(text, "");
    ck_assert(groat__unhex(back, 0, ""));
}
END_TEST

START_TEST(test_no_hex)
{
    static const char *const bad[] = {"",     "0",    "012",  "01234", "0g00",
                                      "g000", "00 0", "-100", "0x10",  "00/0",
                                      "00:0", "00@0", "00G0", "00`0",  "00g0"};
    uint8_t out[2];

    ck_assert(groat__unhex(out, 2, "09aF"));
    for (size_t i = 0; i < COUNT(bad); i++)
        ck_assert_msg(!groat__unhex(out, 2, bad[i]), "'%s' is hex", bad[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("str");
    TCase *tcase = tcase_create("str");

    tcase_add_test(tcase, test_empty);
    tcase_add_test(tcase, test_pieces);
    tcase_add_test(tcase, test_growth);
    tcase_add_test(tcase, test_room);
    tcase_add_test(tcase, test_format_longer_than_the_room);
    tcase_add_test(tcase, test_bytes_of_any_value);
    tcase_add_test(tcase, test_integers);
    tcase_add_test(tcase, test_clear_keeps_the_memory);
    tcase_add_test(tcase, test_too_large);
    tcase_add_test(tcase, test_what_cannot_be_formatted);
    tcase_add_test(tcase, test_kinds_of_characters);
    tcase_add_test(tcase, test_utf8);
    tcase_add_test(tcase, test_one_line);
    tcase_add_test(tcase, test_hex);
    tcase_add_test(tcase, test_no_hex);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
