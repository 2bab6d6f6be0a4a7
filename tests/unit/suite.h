/* SPDX-License-Identifier: Apache-2.0
 *
 * suite.h - shared by the tests of the pure modules: running a suite, checking
 * and freeing errors, and a folder for the test.
 */
#ifndef GROAT_TEST_SUITE_H
#define GROAT_TEST_SUITE_H

#include <check.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "groat.h"
#include "tests/folder.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { SUITE_LINES = 1024 };

/* Tells Check, once for each line of a program (lines of one number of two
 * files count as one), that an assertion held. */
static inline void ck_passed(const char *file, int line)
{
    static atomic_bool told[SUITE_LINES];

    if (line >= SUITE_LINES ||
        !atomic_exchange_explicit(&told[line], true, memory_order_relaxed))
        _mark_point(file, line);
}

/* Check's own writes to a file whenever it holds: a system call for each byte
 * that a loop compares. */
#undef ck_assert_msg
#define ck_assert_msg(expr, ...)                                               \
    (expr) ? ck_passed(__FILE__, __LINE__)                                     \
           : _ck_assert_failed(__FILE__, __LINE__,                             \
                               "Assertion '" #expr "' failed", __VA_ARGS__)

static inline int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    int failed;

    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Asserts that the text contains words and has no control characters. */
static inline void ck_says(const groat_error *error, const char *words)
{
    ck_assert_msg(strstr(error->text, words) != NULL, "'%s' is not in '%s'",
                  words, error->text);
    for (const char *at = error->text; *at != '\0'; at++)
        ck_assert_msg((unsigned char)*at >= ' ' && *at != 0x7f,
                      "control character %d in '%s'", *at, error->text);
}

/* Asserts that a call failed with this status and these words, and clears the
 * error. */
static inline void ck_fails(groat_status got, groat_status status,
                            groat_error *error, const char *words)
{
    ck_assert_int_eq(got, status);
    ck_assert_int_eq(error->status, status);
    ck_says(error, words);
    groat_error_clear(error);
}

/* Tells whether a long loop skips a case: it takes one in `every`, or all with
 * GROAT_TEST_ALL.  test_families.c covers every parameter value anyway. */
static inline bool is_left_out_of(int index, int every)
{
    return index % every != 0 && getenv("GROAT_TEST_ALL") == NULL;
}

static inline bool is_left_out(int index)
{
    return is_left_out_of(index, 12);
}

/* The longest loops take one in so many cases under a slow tool
 * (GROAT_TEST_STEP, odd); 1 otherwise: every case. */
static inline unsigned test_step(void)
{
    const char *step = getenv("GROAT_TEST_STEP");

    return step == NULL ? 1 : (unsigned)strtoul(step, NULL, 10);
}

/* Tells whether make check was configured for that sanitizer. */
static inline bool sanitizes(const char *what)
{
    const char *sanitize = getenv("GROAT_SANITIZE");

    return sanitize != NULL && strstr(sanitize, what) != NULL;
}

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

/* Random numbers that are the same in every run. */
static inline uint64_t next_random(uint64_t *state)
{
    *state += 0x9E3779B97F4A7C15u;
    uint64_t x = *state;

    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* Makes a fresh folder; size is the size of dir. */
static inline void make_folder(char *dir, size_t size)
{
    ck_assert(folder_make(dir, size, "unit"));
}

static inline void remove_folder(const char *dir)
{
    folder_remove(dir);
}

#endif
