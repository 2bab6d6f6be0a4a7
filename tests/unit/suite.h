/* SPDX-License-Identifier: Apache-2.0
 *
 * suite.h - what the tests of the pure modules share: running a suite, errors
 * that are looked at and freed, and a folder of the test's own.
 */
#ifndef GROAT_TEST_SUITE_H
#define GROAT_TEST_SUITE_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "groat.h"
#include "tests/folder.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static inline int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    int failed;

    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* An error's text holds words and is one line without control characters. */
static inline void ck_says(const groat_error *error, const char *words)
{
    ck_assert_msg(strstr(error->text, words) != NULL, "'%s' is not in '%s'",
                  words, error->text);
    for (const char *at = error->text; *at != '\0'; at++)
        ck_assert_msg((unsigned char)*at >= ' ' && *at != 0x7f,
                      "control character %d in '%s'", *at, error->text);
}

/* The call failed with this status and said these words; error is empty
 * again afterwards. */
static inline void ck_fails(groat_status got, groat_status status,
                            groat_error *error, const char *words)
{
    ck_assert_int_eq(got, status);
    ck_assert_int_eq(error->status, status);
    ck_says(error, words);
    groat_error_clear(error);
}

/* One in `every` of a long loop of cases, all of them with GROAT_TEST_ALL set:
 * test_families.c has each value of each parameter in any case. */
static inline bool is_left_out_of(int index, int every)
{
    return index % every != 0 && getenv("GROAT_TEST_ALL") == NULL;
}

static inline bool is_left_out(int index)
{
    return is_left_out_of(index, 12);
}

/* One in how many cases of the longest loops to take under a tool that makes
 * everything many times slower (GROAT_TEST_STEP, odd); else 1: every one. */
static inline unsigned test_step(void)
{
    const char *step = getenv("GROAT_TEST_STEP");

    return step == NULL ? 1 : (unsigned)strtoul(step, NULL, 10);
}

/* Whether this is a build for that sanitizer, of make check. */
static inline bool sanitizes(const char *what)
{
    const char *sanitize = getenv("GROAT_SANITIZE");

    return sanitize != NULL && strstr(sanitize, what) != NULL;
}

/* The detector of races. */
static inline bool is_asan(void)
{
#ifdef __SANITIZE_ADDRESS__
    return true;
#else
    return false;
#endif
}

static inline bool is_tsan(void)
{
    return sanitizes("thread");
}

/* Numbers that are the same in every run. */
static inline uint64_t next_random(uint64_t *state)
{
    *state += 0x9E3779B97F4A7C15u;
    uint64_t x = *state;

    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* A fresh folder; size is that of dir. */
static inline void make_folder(char *dir, size_t size)
{
    ck_assert(folder_make(dir, size, "unit"));
}

static inline void remove_folder(const char *dir)
{
    folder_remove(dir);
}

#endif
