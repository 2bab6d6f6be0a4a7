/* SPDX-License-Identifier: Apache-2.0
 *
 * test_log.c: a line reaches the program's callback whole and harmless, with
 * its level, or goes nowhere.
 */
#include "../suite.h"

#include "base/log.h"

typedef struct heard {
    int lines;
    int level;
    char last[2000];
} heard;

static void hear(void *user, int level, const char *line)
{
    heard *h = user;

    h->lines++;
    h->level = level;
    (void)snprintf(h->last, sizeof(h->last), "%s", line);
}

START_TEST(test_lines)
{
    heard h = {0, 0, ""};
    const groat__log log = {hear, &h};

    groat__log_line(&log, GROAT_LOG_WARNING, "%s is %d", "x", 3);
    ck_assert_int_eq(h.lines, 1);
    ck_assert_int_eq(h.level, GROAT_LOG_WARNING);
    ck_assert_str_eq(h.last, "x is 3");
    groat__log_line(&log, GROAT_LOG_INFO, "%*d", 1500, 7);
    ck_assert_int_eq(h.lines, 2);
    ck_assert_int_eq(h.level, GROAT_LOG_INFO);
    ck_assert_uint_eq(strlen(h.last), 1500);
    groat__log_line(&log, GROAT_LOG_INFO, "%s", "");
    ck_assert_int_eq(h.lines, 3);
    ck_assert_str_eq(h.last, "");
}
END_TEST

START_TEST(test_harmless)
{
    heard h = {0, 0, ""};
    const groat__log log = {hear, &h};

    groat__log_line(&log, GROAT_LOG_WARNING, "%s", "a\nb\033[31m\xff");
    ck_assert_int_eq(h.lines, 1);
    ck_assert_str_eq(h.last, "a b [31m?");
}
END_TEST

START_TEST(test_nobody_listens)
{
    heard h = {0, 0, ""};
    const groat__log deaf = {NULL, &h};

    groat__log_line(NULL, GROAT_LOG_WARNING, "%d", 1);
    groat__log_line(&deaf, GROAT_LOG_WARNING, "%d", 1);
    ck_assert_int_eq(h.lines, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log");
    TCase *tcase = tcase_create("log");

    tcase_add_test(tcase, test_lines);
    tcase_add_test(tcase, test_harmless);
    tcase_add_test(tcase, test_nobody_listens);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
