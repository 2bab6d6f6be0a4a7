/* SPDX-License-Identifier: Apache-2.0
 *
 * test_hold.c: a held signal neither ends the program nor stays; all others,
 * and one that was pending before, are as they were.
 */
#include <errno.h>
#include <string.h>

#include "base/hold.h"
#include "tests/unit/suite.h"

/* Leaves ones where the next call has its variables. */
static __attribute__((noinline)) void fill_stack(void)
{
    volatile unsigned char bytes[4096];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = 0xff;
    (void)bytes[0];
}

static void ck_blocked(int held)
{
    sigset_t now;

    ck_assert_int_eq(pthread_sigmask(SIG_BLOCK, NULL, &now), 0);
    for (int signal = 1; signal < NSIG; signal++)
        ck_assert_msg(sigismember(&now, signal) == (signal == held),
                      "signal %d", signal);
}

static void setup(void)
{
    sigset_t none;

    ck_assert_int_eq(sigemptyset(&none), 0);
    ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, &none, NULL), 0);
}

START_TEST(one_signal_is_held)
{
    groat__hold hold;

    fill_stack();
    groat__hold_begin(&hold, SIGXFSZ);
    ck_blocked(SIGXFSZ);
    ck_assert_int_eq(raise(SIGXFSZ), 0);
    errno = EFBIG;
    fill_stack();
    groat__hold_end(&hold);
    ck_assert_int_eq(errno, EFBIG);
    ck_blocked(0);
}
END_TEST

START_TEST(a_pending_one_stays)
{
    groat__hold hold;
    sigset_t set;

    ck_assert_int_eq(sigemptyset(&set) | sigaddset(&set, SIGPIPE), 0);
    ck_assert_int_eq(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
    ck_assert_int_eq(raise(SIGPIPE), 0);
    groat__hold_begin(&hold, SIGPIPE);
    groat__hold_end(&hold);
    ck_blocked(SIGPIPE);
    ck_assert_int_eq(sigpending(&set), 0);
    ck_assert_int_eq(sigismember(&set, SIGPIPE), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hold");
    TCase *tests = tcase_create("hold");

    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, one_signal_is_held);
    tcase_add_test(tests, a_pending_one_stays);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
