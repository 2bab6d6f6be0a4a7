/* SPDX-License-Identifier: Apache-2.0
 *
 * test_error.c: an error's text is one harmless line that fits, and its log has
 * one owner at any time (the leak checkers of other builds verify that).
 */
#include "../suite.h"

#include "base/error.h"

static char *copy_of(const char *text)
{
    char *own = strdup(text);

    ck_assert_ptr_nonnull(own);
    return own;
}

START_TEST(test_fail)
{
    groat_error error = GROAT_ERROR_INIT;

    ck_assert_int_eq(groat__fail(&error, GROAT_IO, "%s is %d", "x", 3),
                     GROAT_IO);
    ck_assert_uint_eq(error.size, sizeof(error));
    ck_assert_int_eq(error.status, GROAT_IO);
    ck_assert_str_eq(error.text, "x is 3");
    ck_assert_int_eq(error.vendor_code, 0);
    ck_assert_str_eq(error.vendor_call, "");
    ck_assert_ptr_null(error.log);
    ck_assert_int_eq(groat__fail(NULL, GROAT_INVALID, "nobody asks"),
                     GROAT_INVALID);
}
END_TEST

START_TEST(test_fail_vendor)
{
    groat_error error = GROAT_ERROR_INIT;

    ck_assert_int_eq(groat__fail_vendor(&error, GROAT_LOAD_FAILED,
                                        "cuModuleLoadData", 209, "no %s",
                                        "image"),
                     GROAT_LOAD_FAILED);
    ck_assert_int_eq(error.status, GROAT_LOAD_FAILED);
    ck_assert_str_eq(error.vendor_call, "cuModuleLoadData");
    ck_assert_int_eq(error.vendor_code, 209);
    ck_assert_str_eq(error.text, "no image");
    ck_assert_int_eq(
        groat__fail_vendor(NULL, GROAT_LOAD_FAILED, "call", 1, "text"),
        GROAT_LOAD_FAILED);
    /* A new failure clears what the one before it said. */
    groat__fail(&error, GROAT_INVALID, "new");
    ck_assert_str_eq(error.vendor_call, "");
    ck_assert_int_eq(error.vendor_code, 0);
}
END_TEST

START_TEST(test_one_harmless_line)
{
    groat_error error = GROAT_ERROR_INIT;
    char all[256];

    for (int i = 1; i < 256; i++)
        all[i - 1] = (char)i;
    all[255] = '\0';
    groat__fail(&error, GROAT_INVALID, "%s", all);
    ck_assert_uint_eq(strlen(error.text), 255);
    for (int i = 1; i < 256; i++) {
        bool control = i < 0x20 || i == 0x7f;

        ck_assert_int_eq((unsigned char)error.text[i - 1], control    ? ' '
                                                           : i < 0x80 ? i
                                                                      : '?');
    }
    groat__fail(&error, GROAT_INVALID, "a\nb\r\n\tc\033[31md\177");
    ck_assert_str_eq(error.text, "a b   c [31md ");
    groat__fail(&error, GROAT_INVALID, "%s", "gr\xc3\xbctze");
    ck_assert_str_eq(error.text, "gr\xc3\xbctze");
}
END_TEST

/* A multi-byte character that does not fit is not cut in half. */
START_TEST(test_cut_in_a_character)
{
    groat_error error = GROAT_ERROR_INIT;
    char text[GROAT_ERROR_TEXT + 2];

    memset(text, 'x', GROAT_ERROR_TEXT - 2);
    memcpy(text + GROAT_ERROR_TEXT - 2, "\xc3\xbc", 3);
    groat__fail(&error, GROAT_INVALID, "%s", text);
    ck_assert_uint_eq(strlen(error.text), GROAT_ERROR_TEXT - 1);
    ck_assert_str_eq(error.text + GROAT_ERROR_TEXT - 3, "x?");
}
END_TEST

START_TEST(test_made_of_itself)
{
    groat_error error = GROAT_ERROR_INIT;

    groat__fail(&error, GROAT_IO, "the cause");
    groat__fail(&error, GROAT_INVALID, "the effect: %s", error.text);
    ck_assert_str_eq(error.text, "the effect: the cause");
    groat__error_take_log(&error, copy_of("the log"));
    groat__fail(&error, GROAT_INVALID, "%s, %s", error.text, error.log);
    ck_assert_str_eq(error.text, "the effect: the cause, the log");
    ck_assert_ptr_null(error.log);
}
END_TEST

START_TEST(test_longer_than_the_room)
{
    groat_error error = GROAT_ERROR_INIT;
    char call[100];

    groat__fail(&error, GROAT_INVALID, "%*d", GROAT_ERROR_TEXT - 1, 7);
    ck_assert_uint_eq(strlen(error.text), GROAT_ERROR_TEXT - 1);
    ck_assert_int_eq(error.text[GROAT_ERROR_TEXT - 2], '7');
    groat__fail(&error, GROAT_INVALID, "%*d", 5000, 7);
    ck_assert_uint_eq(strlen(error.text), GROAT_ERROR_TEXT - 1);
    ck_assert_int_eq(error.text[GROAT_ERROR_TEXT - 2], ' ');
    memset(call, 'c', sizeof(call) - 1);
    call[sizeof(call) - 1] = '\0';
    groat__fail_vendor(&error, GROAT_INVALID, call, 1, "text");
    ck_assert_uint_eq(strlen(error.vendor_call), sizeof(error.vendor_call) - 1);
}
END_TEST

START_TEST(test_clear)
{
    groat_error error = GROAT_ERROR_INIT;

    groat_error_clear(NULL);
    groat__fail_vendor(&error, GROAT_IO, "call", 5, "text");
    groat__error_take_log(&error, copy_of("log"));
    groat_error_clear(&error);
    ck_assert_uint_eq(error.size, sizeof(error));
    ck_assert_int_eq(error.status, GROAT_OK);
    ck_assert_int_eq(error.vendor_code, 0);
    ck_assert_str_eq(error.vendor_call, "");
    ck_assert_str_eq(error.text, "");
    ck_assert_ptr_null(error.log);
    groat_error_clear(&error);
}
END_TEST

/* By a program that was built with a shorter structure. */
START_TEST(test_too_short)
{
    groat_error whole = GROAT_ERROR_INIT;
    unsigned char before[sizeof(groat_error)];
    groat_error error;

    memset(&error, 0x55, sizeof(error));
    error.size = sizeof(error) - 1;
    memcpy(before, &error, sizeof(before));
    ck_assert_int_eq(groat__fail(&error, GROAT_IO, "lost"), GROAT_IO);
    groat__error_take_log(&error, copy_of("lost, too"));
    groat__error_copy(&error, &whole);
    groat_error_clear(&error);
    ck_assert_mem_eq(&error, before, sizeof(before));
}
END_TEST

START_TEST(test_log_has_one_owner)
{
    groat_error error = GROAT_ERROR_INIT;
    char *log = copy_of("first");

    groat__error_take_log(&error, log);
    ck_assert_ptr_eq(error.log, log);
    groat__error_take_log(&error, copy_of("second"));
    ck_assert_str_eq(error.log, "second");
    groat__fail(&error, GROAT_INVALID, "a new failure has no log");
    ck_assert_ptr_null(error.log);
    groat__error_take_log(&error, copy_of("third"));
    groat__error_take_log(&error, NULL);
    ck_assert_ptr_null(error.log);
    groat__error_take_log(NULL, copy_of("nobody's"));
    groat__error_take_log(NULL, NULL);
}
END_TEST

START_TEST(test_copy)
{
    groat_error from = GROAT_ERROR_INIT;
    groat_error to = GROAT_ERROR_INIT;

    groat__fail_vendor(&from, GROAT_COMPILE_FAILED, "nvrtcCompileProgram", 6,
                       "line %d", 12);
    groat__error_take_log(&from, copy_of("the log"));
    groat__error_take_log(&to, copy_of("to be freed"));
    groat__error_copy(&to, &from);
    ck_assert_int_eq(to.status, GROAT_COMPILE_FAILED);
    ck_assert_int_eq(to.vendor_code, 6);
    ck_assert_str_eq(to.vendor_call, "nvrtcCompileProgram");
    ck_assert_str_eq(to.text, "line 12");
    ck_assert_str_eq(to.log, "the log");
    ck_assert_ptr_ne(to.log, from.log);
    groat_error_clear(&from);
    ck_assert_str_eq(to.log, "the log");
    groat__error_copy(&to, &from);
    ck_assert_int_eq(to.status, GROAT_OK);
    ck_assert_ptr_null(to.log);
    groat__error_copy(NULL, &to);
}
END_TEST

START_TEST(test_status_names)
{
    for (int i = GROAT_CAPTURING; i <= GROAT_OK; i++) {
        const char *name = groat_status_name((groat_status)i);

        ck_assert_ptr_nonnull(name);
        ck_assert_str_ne(name, "");
        ck_assert_str_ne(name, "unknown status");
        for (int k = i + 1; k <= GROAT_OK; k++)
            ck_assert_str_ne(name, groat_status_name((groat_status)k));
    }
    ck_assert_str_eq(groat_status_name((groat_status)1), "unknown status");
    ck_assert_str_eq(groat_status_name((groat_status)(GROAT_CAPTURING - 1)),
                     "unknown status");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("error");
    TCase *tcase = tcase_create("error");

    tcase_add_test(tcase, test_fail);
    tcase_add_test(tcase, test_fail_vendor);
    tcase_add_test(tcase, test_one_harmless_line);
    tcase_add_test(tcase, test_longer_than_the_room);
    tcase_add_test(tcase, test_cut_in_a_character);
    tcase_add_test(tcase, test_made_of_itself);
    tcase_add_test(tcase, test_clear);
    tcase_add_test(tcase, test_too_short);
    tcase_add_test(tcase, test_log_has_one_owner);
    tcase_add_test(tcase, test_copy);
    tcase_add_test(tcase, test_status_names);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
