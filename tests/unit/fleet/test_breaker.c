/* SPDX-License-Identifier: Apache-2.0
 *
 * test_breaker.c: when a service is not asked, and the memory of absent keys.
 */
#include "../suite.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "fleet/absent.h"
#include "fleet/breaker.h"

static double present_ms = 5000;

static double now(void)
{
    return present_ms;
}

static groat__breaker *breaker_of(const char *name)
{
    groat__breaker *breaker = groat__breaker_of(name, GROAT__BREAKER_FIRST_MS);

    ck_assert_ptr_nonnull(breaker);
    return breaker;
}

/* A missing answer opens the breaker; each further one doubles the wait, give
 * or take a half, up to a minute. */
START_TEST(no_answer)
{
    groat__breaker *breaker;
    double mean = 1000;

    breaker = breaker_of("no answer");
    ck_assert(groat__breaker_is_closed(breaker));
    ck_assert(groat__breaker_wait_ms(breaker) == -1);
    for (int i = 0; i < 12; i++) {
        double ms;

        if (i > 0)
            groat__breaker_extend(breaker);
        ck_assert_int_eq(groat__breaker_trip(breaker), i == 0);
        ck_assert(!groat__breaker_is_closed(breaker));
        ms = breaker->retry_ms - groat__now_ms();
        ck_assert_msg(ms > 0.49 * mean && ms < 1.51 * mean, "%g of %g", ms,
                      mean);
        mean = mean * 2 > 60000 ? 60000 : mean * 2;
    }
    ck_assert_uint_eq(breaker->opens, 1);
    groat__breaker_mend(breaker);
    ck_assert(groat__breaker_is_closed(breaker));
    ck_assert(groat__breaker_trip(breaker));
    ck_assert(breaker->retry_ms - groat__now_ms() < 1510);
}
END_TEST

/* Hosts do not all come back at the same time. */
START_TEST(jitter)
{
    double seen[16];
    double least = 1e9;
    double most = 0;

    for (size_t i = 0; i < COUNT(seen); i++) {
        groat__breaker *breaker;
        char name[8];

        (void)snprintf(name, sizeof(name), "%zu", i);
        breaker = breaker_of(name);
        (void)groat__breaker_trip(breaker);
        seen[i] = groat__breaker_wait_ms(breaker);
        least = seen[i] < least ? seen[i] : least;
        most = seen[i] > most ? seen[i] : most;
    }
    ck_assert(most - least > 100);
}
END_TEST

/* Only several wrong answers in a row open the breaker. */
START_TEST(wrong_answers)
{
    groat__breaker *breaker;

    breaker = breaker_of("wrong answers");
    for (int round = 0; round < 2; round++) {
        for (int i = 1; i < GROAT__BREAKER_ERRORS; i++)
            ck_assert(!groat__breaker_count(breaker));
        ck_assert(groat__breaker_is_closed(breaker));
        groat__breaker_mend(breaker);
    }
    for (int i = 1; i < GROAT__BREAKER_ERRORS; i++)
        ck_assert(!groat__breaker_count(breaker));
    ck_assert(groat__breaker_count(breaker));
    ck_assert(!groat__breaker_is_closed(breaker));
    /* Failures of other calls while it is open change nothing. */
    for (int i = 0; i < 2 * GROAT__BREAKER_ERRORS; i++) {
        ck_assert(!groat__breaker_count(breaker));
        ck_assert(!groat__breaker_trip(breaker));
    }
    ck_assert_uint_eq(breaker->failed, 1);
}
END_TEST

/* Late answers open it by what they cost within a minute, however short each
 * wait was and whatever good ones came between. */
START_TEST(late_answers)
{
    groat__breaker *breaker = breaker_of("late answers");

    ck_assert(!groat__breaker_late(breaker, GROAT__BREAKER_LOST_MS - 1));
    breaker->late_ms -= GROAT__BREAKER_FORGET_MS;
    for (int i = 0; i < 9; i++) {
        ck_assert(!groat__breaker_late(breaker, GROAT__BREAKER_LOST_MS / 10));
        groat__breaker_mend(breaker);
    }
    ck_assert(groat__breaker_is_closed(breaker));
    ck_assert(groat__breaker_late(breaker, GROAT__BREAKER_LOST_MS / 5));
    ck_assert(!groat__breaker_is_closed(breaker));
    ck_assert(!groat__breaker_late(breaker, 2 * GROAT__BREAKER_LOST_MS));
    ck_assert_uint_eq(breaker->failed, 1);
}
END_TEST

/* A try that was answered closes it on trial: the next error or late answer, of
 * whatever length, opens it for longer; a good answer ends the trial. */
START_TEST(closed_on_trial)
{
    groat__breaker *breaker = breaker_of("on trial");

    ck_assert(groat__breaker_trip(breaker));
    groat__breaker_close(breaker);
    ck_assert(groat__breaker_is_closed(breaker));
    ck_assert(groat__breaker_late(breaker, 1));
    ck_assert_uint_eq(breaker->failed, 2);
    groat__breaker_close(breaker);
    ck_assert(groat__breaker_count(breaker));
    ck_assert_uint_eq(breaker->failed, 3);
    groat__breaker_close(breaker);
    groat__breaker_mend(breaker);
    ck_assert(!groat__breaker_late(breaker, 1));
    ck_assert(!groat__breaker_count(breaker));
}
END_TEST

static void *ask_for_it(void *user)
{
    (void)user;
    return breaker_of("one of many");
}

/* A process has one breaker per service, and a child has its own. */
START_TEST(one_of_a_service)
{
    enum { THREADS = 8 };
    groat__breaker *mine = breaker_of("mine");
    pthread_t threads[THREADS];
    void *first = NULL;
    int status = 0;
    pid_t pid;

    ck_assert_ptr_ne(mine, breaker_of("another"));
    ck_assert_ptr_eq(mine, breaker_of("mine"));
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_for_it, NULL),
                         0);
    for (int i = 0; i < THREADS; i++) {
        void *got = NULL;

        (void)pthread_join(threads[i], &got);
        first = first == NULL ? got : first;
        ck_assert_ptr_eq(got, first);
    }
    (void)pthread_mutex_lock(&mine->lock);
    pid = fork();
    if (pid == 0) {
        groat__breaker *own = groat__breaker_of("mine", 1);

        _exit(own == mine || groat__breaker_trip(own) != true);
    }
    (void)pthread_mutex_unlock(&mine->lock);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert(groat__breaker_is_closed(mine));
}
END_TEST

/* Only one of many callers may try when the wait is over. */
START_TEST(one_tries)
{
    groat__breaker *breaker = groat__breaker_of("tried", 0);

    ck_assert(!groat__breaker_may_try(breaker, GROAT__BREAKER_TRY_MS));
    ck_assert(groat__breaker_trip(breaker));
    ck_assert(groat__breaker_may_try(breaker, GROAT__BREAKER_TRY_MS));
    ck_assert(!groat__breaker_may_try(breaker, GROAT__BREAKER_TRY_MS));
    groat__breaker_mend(breaker);
    ck_assert(!groat__breaker_may_try(breaker, GROAT__BREAKER_TRY_MS));
}
END_TEST

START_TEST(keys_for_a_minute)
{
    groat__absent absent;
    groat__digest key = {{1, 2, 3}};
    groat__digest other = {{1, 2, 4}};

    ck_assert(groat__absent_init(&absent));
    absent.now_ms = now;
    ck_assert(!groat__absent_knows(&absent, &key));
    groat__absent_note(&absent, &key);
    ck_assert(groat__absent_knows(&absent, &key));
    ck_assert(!groat__absent_knows(&absent, &other));
    /* Another key of the same slot: the entry of the first key stays. */
    groat__absent_forget(&absent, &other);
    ck_assert(groat__absent_knows(&absent, &key));
    present_ms += GROAT__ABSENT_MS - 1;
    ck_assert(groat__absent_knows(&absent, &key));
    present_ms += 2;
    ck_assert(!groat__absent_knows(&absent, &key));
    groat__absent_note(&absent, &key);
    groat__absent_forget(&absent, &key);
    ck_assert(!groat__absent_knows(&absent, &key));
    groat__absent_note(&absent, &key);
    groat__absent_note(&absent, &other);
    ck_assert(groat__absent_knows(&absent, &other));
    ck_assert(!groat__absent_knows(&absent, &key));
    groat__absent_free(&absent);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("breaker");
    TCase *tests = tcase_create("breaker");

    tcase_add_test(tests, no_answer);
    tcase_add_test(tests, jitter);
    tcase_add_test(tests, wrong_answers);
    tcase_add_test(tests, late_answers);
    tcase_add_test(tests, closed_on_trial);
    tcase_add_test(tests, one_of_a_service);
    tcase_add_test(tests, one_tries);
    tcase_add_test(tests, keys_for_a_minute);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
