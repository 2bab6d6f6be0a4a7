/* SPDX-License-Identifier: Apache-2.0
 *
 * test_slice.c: a thread's time slice is lengthened and restored, and none of
 * its other scheduling attributes change.
 */
#include "../suite.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/slice.h"

static groat__slice get_own(void)
{
    groat__slice own = {0};

    ck_assert_int_eq(syscall(SYS_sched_getattr, 0, &own, sizeof(own), 0), 0);
    return own;
}

static void check_same_but_runtime(const groat__slice *a, const groat__slice *b)
{
    ck_assert_uint_eq(a->policy, b->policy);
    ck_assert_uint_eq(a->flags, b->flags);
    ck_assert_int_eq(a->nice, b->nice);
    ck_assert_uint_eq(a->priority, b->priority);
}

/* Linux before 6.12 neither reports slices nor keeps them. */
START_TEST(test_lengthened_and_restored)
{
    groat__slice first = get_own();
    groat__slice before;
    groat__slice between;
    groat__slice after;

    groat__slice_lengthen(&before);
    between = get_own();
    check_same_but_runtime(&first, &between);
    ck_assert_uint_eq(between.runtime_ns,
                      first.runtime_ns == 0 ? 0 : 100000000);
    groat__slice_restore(&before);
    after = get_own();
    check_same_but_runtime(&first, &after);
    ck_assert_uint_eq(after.runtime_ns, first.runtime_ns);
}
END_TEST

START_TEST(test_other_policies_stay)
{
    const struct sched_param none = {0};
    groat__slice before;
    groat__slice between;

    ck_assert_int_eq(sched_setscheduler(0, SCHED_IDLE, &none), 0);
    groat__slice_lengthen(&before);
    between = get_own();
    ck_assert_uint_eq(between.policy, SCHED_IDLE);
    ck_assert_uint_ne(between.runtime_ns, 100000000);
    groat__slice_restore(&before);
    ck_assert_uint_eq(get_own().policy, SCHED_IDLE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("slice");
    TCase *tcase = tcase_create("slice");

    tcase_add_test(tcase, test_lengthened_and_restored);
    tcase_add_test(tcase, test_other_policies_stay);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
