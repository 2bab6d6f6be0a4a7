/* SPDX-License-Identifier: Apache-2.0
 *
 * test_serving.c: the path of a request.  A sealed context builds nothing and
 * names the nearest spec; a spec that does not compile is not retried at once;
 * a child of fork() serves as well.
 */
#include "held.h"

#include <sched.h>
#include <sys/wait.h>

#include "base/error.h"
#include "core/core.h"

static rig fix;
static const char target[] = "cpu:gfx950";

static void setup(void)
{
    (void)held_own();
    rig_make(&fix);
    rig_write_adder(&fix);
}

static void teardown(void)
{
    held_restore();
    rig_drop(&fix);
}

static groat_status try_get(groat_context *context, const char *spec,
                            groat_kernel **kernel, groat_origin *origin)
{
    return groat_kernel_get(context, spec, target, kernel, origin, &fix.error);
}

/* ---- sealed ------------------------------------------------------------ */

START_TEST(sealed_hits_and_misses)
{
    const groat_get_options on_stream = {sizeof(on_stream), GROAT_GET_ON_STREAM,
                                         NULL};
    groat_context *context = rig_open(&fix);
    groat_kernel *kernel =
        rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_COMPILER);
    groat_spec *spec = rig_parse(&fix, context, "adder:step=3", target);
    groat_kernel *other = NULL;

    groat_seal(context);
    groat_seal(context);
    ck_assert_ptr_eq(
        rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_MEMORY),
        kernel);
    for (int i = 0; i < 3; i++) {
        ck_fails(try_get(context, "adder:step=4", &other, NULL), GROAT_SEALED,
                 &fix.error,
                 "sealed, and this kernel of adder on cpu:gfx950 is not");
        ck_assert_ptr_null(other);
    }
    /* Another spelling of a kernel in memory, the first time and later. */
    for (int i = 0; i < 2; i++)
        ck_assert_ptr_eq(rig_get(&fix, context, "adder:doubled=6,step=3",
                                 target, GROAT_FROM_MEMORY),
                         kernel);
    ck_assert_int_eq(
        groat_kernel_get_spec(spec, NULL, &other, NULL, &fix.error), GROAT_OK);
    ck_assert_ptr_eq(other, kernel);
    other = NULL;
    ck_assert_int_eq(groat_spec_set(spec, "step", 5, &fix.error), GROAT_OK);
    ck_fails(groat_kernel_get_spec(spec, NULL, &other, NULL, &fix.error),
             GROAT_SEALED, &fix.error, "sealed");
    ck_fails(groat_build(spec, NULL, NULL, NULL, &fix.error), GROAT_SEALED,
             &fix.error, "adder_5 is not in the store");
    ck_fails(try_get(context, "adder:step=666", &other, NULL), GROAT_INVALID,
             &fix.error, "this one is refused");
    ck_fails(try_get(context, "adder:stop=1", &other, NULL), GROAT_INVALID,
             &fix.error, "stop");
    ck_fails(groat_kernel_get_spec(spec, &on_stream, &other, NULL, &fix.error),
             GROAT_SEALED, &fix.error, "sealed");
    ck_assert_uint_eq(rig_stat(context).compiles, 1);
    ck_assert_uint_eq(rig_stat(context).sealed, 6);
    ck_assert_uint_eq(rig_stat(context).fallbacks, 0);

    groat_unseal(context);
    ck_assert_ptr_nonnull(
        rig_get(&fix, context, "adder:step=4", target, GROAT_FROM_COMPILER));
    groat_seal(context);
    (void)rig_get(&fix, context, "adder:step=4", target, GROAT_FROM_MEMORY);
    /* A text that was refused before. */
    (void)rig_get(&fix, context, "adder:step=4,doubled=8", target,
                  GROAT_FROM_MEMORY);
    groat_spec_free(spec);
    groat_close(context);
}
END_TEST

/* A refused text is accepted once its kernel was loaded by another spelling. */
START_TEST(refused_texts_are_forgotten)
{
    static const char text[] = "adder:step=4,doubled=8";
    groat_context *context = rig_open(&fix);
    groat_kernel *kernel = NULL;

    groat_seal(context);
    ck_fails(try_get(context, text, &kernel, NULL), GROAT_SEALED, &fix.error,
             "sealed");
    groat_unseal(context);
    kernel =
        rig_get(&fix, context, "adder:step=4", target, GROAT_FROM_COMPILER);
    groat_seal(context);
    ck_assert_ptr_eq(rig_get(&fix, context, text, target, GROAT_FROM_MEMORY),
                     kernel);
    groat_close(context);
}
END_TEST

START_TEST(more_misses_than_are_kept)
{
    enum { MISSES = 3 * GROAT__SEAL_NAMES };
    groat_context *context = rig_open(&fix);
    groat_spec *spec = rig_parse(&fix, context, "adder", target);
    unsigned step = test_step();
    uint64_t count = 0;

    groat_seal(context);
    for (unsigned i = 1; i <= MISSES; i += step) {
        groat_kernel *kernel = NULL;

        ck_assert_int_eq(groat_spec_set(spec, "step", i % 600 + 1, &fix.error),
                         GROAT_OK);
        ck_assert_int_eq(
            groat_spec_set(spec, "doubled", i % 2000 + 1, &fix.error),
            GROAT_OK);
        ck_assert_int_eq(groat_kernel_get_spec(spec, NULL, &kernel, NULL, NULL),
                         GROAT_SEALED);
        count++;
    }
    ck_assert_uint_eq(rig_stat(context).sealed, count);
    ck_assert_int_eq(rig_said(&fix, "sealed: "), GROAT__SEAL_LINES);
    groat_spec_free(spec);
    groat_close(context);
}
END_TEST

static void see_field(void *user, const char *field, const char *wanted,
                      const char *found)
{
    (void)snprintf(user, 80, "%s: %s, %s", field, wanted, found);
}

/* One kernel by more texts than a context keeps names: the next kernel is found
 * all the same. */
START_TEST(more_names_than_are_kept)
{
    enum { WIDTH = 18, SPELLINGS = 66000 };
    groat_context *context = rig_open(&fix);
    groat_kernel *kernel = NULL;
    char text[200];

    for (int i = 0; i < SPELLINGS; i++) {
        (void)snprintf(text, sizeof(text),
                       "tile_loader_lds:tile_rows=%0*d,tile_cols=%0*d,"
                       "src_cols=%0*d,ld=%0*d",
                       2 + i % WIDTH, 64, 2 + i / WIDTH % WIDTH, 64,
                       4 + i / WIDTH / WIDTH % WIDTH, 1024,
                       4 + i / WIDTH / WIDTH / WIDTH, 1024);
        if (try_get(context, text, &kernel, NULL) != GROAT_OK)
            ck_abort_msg("%s: %s", text, fix.error.text);
        groat_kernel_release(kernel);
    }
    kernel =
        rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_COMPILER);
    groat_seal(context);
    ck_assert_ptr_eq(
        rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_MEMORY),
        kernel);
    groat_close(context);
}
END_TEST

START_TEST(a_miss_names_the_nearest)
{
    groat_context *context = rig_open(&fix);
    groat_kernel *kernel = NULL;
    char key[33];
    char words[200];
    groat_explanation why = {.size = sizeof(why)};
    char field[80] = "";
    groat_spec *spec;

    (void)rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_COMPILER);
    (void)rig_get(&fix, context, "adder:step=5,doubled=7", target,
                  GROAT_FROM_COMPILER);
    spec = rig_parse(&fix, context, "adder:step=4,doubled=7", target);
    ck_assert_int_eq(groat_explain(spec, &why, see_field, field, &fix.error),
                     GROAT_OK);
    ck_assert_ptr_nonnull(
        strstr(why.text, "whose identity differs in 1 line: param step"));
    ck_assert_str_eq(field, "param step: 4, 5");
    groat_spec_free(spec);
    spec = rig_parse(&fix, context, "adder:step=9", target);
    ck_assert_int_eq(groat_build(spec, NULL, NULL, NULL, &fix.error), GROAT_OK);
    ck_assert_int_eq(groat_spec_key(spec, key, NULL, &fix.error), GROAT_OK);
    groat_spec_free(spec);
    groat_seal(context);

    (void)try_get(context, "adder:step=4,doubled=7", &kernel, NULL);
    (void)try_get(context, "adder:step=4,doubled=7", &kernel, NULL);
    ck_assert_int_eq(rig_said(&fix, "sealed: adder:step=4,doubled=7 on "
                                    "cpu:gfx950 is not in memory; nearest is "
                                    "adder:step=5,doubled=7 on cpu:gfx950: "
                                    "param step is 5 there, 4 here"),
                     1);
    (void)try_get(context, "adder:step=9", &kernel, NULL);
    (void)snprintf(words, sizeof(words),
                   "it is entry %s of the store and was not loaded", key);
    ck_assert_int_eq(rig_said(&fix, words), 1);
    (void)groat_kernel_get(context, "adder:step=3", "cpu:gfx942", &kernel, NULL,
                           NULL);
    ck_assert_int_eq(rig_said(&fix, "target is cpu:gfx950 there, cpu:gfx942"),
                     1);
    ck_assert_int_eq(rig_said(&fix, "sealed: "), 3);
    ck_assert_ptr_null(kernel);
    groat_close(context);
}
END_TEST

/* Where memory has no such kernel, the store is searched. */
START_TEST(a_miss_names_what_the_store_has)
{
    groat_context *context = rig_open(&fix);
    groat_kernel *kernel = NULL;

    (void)rig_get(&fix, context, "adder:step=3", target, GROAT_FROM_COMPILER);
    groat_close(context);
    context = rig_open(&fix);
    groat_seal(context);
    (void)try_get(context, "adder:step=3,doubled=8", &kernel, NULL);
    ck_assert_int_eq(rig_said(&fix, "nearest is entry "), 1);
    ck_assert_int_eq(rig_said(&fix, "param doubled is 6 there, 8 here"), 1);
    (void)try_get(context, "tile_loader_lds", &kernel, NULL);
    ck_assert_int_eq(rig_said(&fix, "nor is another of its family"), 1);
    ck_assert_int_eq(rig_said(&fix, "reported once"), 2);
    /* Not again: a miss must not search the store each time. */
    (void)try_get(context, "adder:step=3,doubled=9", &kernel, NULL);
    ck_assert_int_eq(rig_said(&fix, "nearest is entry "), 1);
    ck_assert_int_eq(rig_said(&fix, "reported once"), 3);
    groat_close(context);
}
END_TEST

/* Once, whatever kernels or names are added in between. */
START_TEST(a_miss_is_told_once)
{
    groat_context *context;
    groat_kernel *there;
    groat_spec *spec;
    groat_request *request = NULL;
    groat_kernel *kernel = NULL;

    held_write(&fix);
    context = rig_open(&fix);
    there = rig_get(&fix, context, "adder:step=1", target, GROAT_FROM_COMPILER);
    spec = rig_parse(&fix, context, "adder:step=5", target);
    held_close();
    ck_assert_int_eq(groat_kernel_start(spec, NULL, &request, &fix.error),
                     GROAT_OK);
    groat_seal(context);
    for (int i = 0; i < 3; i++) {
        ck_fails(try_get(context, "adder:step=9", &kernel, NULL), GROAT_SEALED,
                 &fix.error, "sealed");
        ck_assert_int_eq(rig_said(&fix, "reported once"), 1);
        if (i == 0)
            ck_assert_ptr_eq(rig_get(&fix, context, "adder:doubled=2,step=1",
                                     target, GROAT_FROM_MEMORY),
                             there);
        if (i == 1) {
            held_open();
            ck_assert_int_eq(
                groat_request_wait(request, -1, NULL, NULL, &fix.error),
                GROAT_OK);
        }
    }
    ck_fails(try_get(context, "adder:step=8", &kernel, NULL), GROAT_SEALED,
             &fix.error, "sealed");
    ck_assert_int_eq(rig_said(&fix, "reported once"), 2);
    groat_request_free(request);
    groat_spec_free(spec);
    groat_close(context);
}
END_TEST

/* A thread that the seal binds and one that it does not bind wait for a leader
 * that is refused. */
typedef struct waiter {
    groat_context *context;
    groat__digest key;
    bool sealed;
    groat_status status;
    groat__inflight *flight;
} waiter;

static void *wait_for_leader(void *user)
{
    waiter *w = user;
    groat_error error = GROAT_ERROR_INIT;
    groat_kernel *kernel = NULL;
    groat__made made = {0};

    w->status = groat__inflight_enter(w->context, &w->key, w->sealed,
                                      &w->flight, &kernel, &made, &error);
    groat_error_clear(&error);
    return NULL;
}

static void ck_users(groat_context *context, groat__inflight *flight,
                     unsigned users)
{
    unsigned now = 0;

    while (now != users) {
        (void)pthread_mutex_lock(&context->lock);
        now = flight->users;
        (void)pthread_mutex_unlock(&context->lock);
        (void)sched_yield();
    }
}

START_TEST(who_began_before_the_seal_goes_on)
{
    groat_context *context = rig_open(&fix);
    groat_error refused = GROAT_ERROR_INIT;
    groat__made made = {0};
    waiter leader = {.context = context, .sealed = true};
    waiter waiters[2] = {{.context = context, .sealed = true},
                         {.context = context, .sealed = false}};
    pthread_t threads[2];

    (void)wait_for_leader(&leader);
    ck_assert_ptr_nonnull(leader.flight);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, wait_for_leader, &waiters[i]), 0);
        ck_users(context, leader.flight, i + 2);
    }
    groat__fail(&refused, GROAT_SEALED, "sealed");
    groat__inflight_end(context, leader.flight, GROAT_SEALED, &refused, NULL,
                        &made);
    groat_error_clear(&refused);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_int_eq(waiters[0].status, GROAT_SEALED);
    ck_assert_int_eq(waiters[1].status, GROAT_OK);
    ck_assert_ptr_nonnull(waiters[1].flight);
    groat__fail(&refused, GROAT_COMPILE_FAILED, "a test's");
    groat__inflight_end(context, waiters[1].flight, GROAT_COMPILE_FAILED,
                        &refused, NULL, &made);
    groat_error_clear(&refused);
    groat_close(context);
}
END_TEST

START_TEST(fallbacks)
{
    const groat_warm_item cold = {sizeof(cold), "adder:step=7", target};
    groat_warm_result sums = {.size = sizeof(sums)};
    groat_context *context = rig_open(&fix);
    groat_kernel *one =
        rig_get(&fix, context, "adder:step=1", target, GROAT_FROM_COMPILER);
    groat_kernel *two =
        rig_get(&fix, context, "adder:step=2", target, GROAT_FROM_COMPILER);
    groat_context *other = rig_open(&fix);
    groat_request *request = NULL;
    groat_kernel *kernel = NULL;
    groat_origin origin = GROAT_FROM_COMPILER;
    groat_spec *spec;

    ck_fails(groat_fallback_set(other, one, &fix.error), GROAT_INVALID,
             &fix.error, "the kernel is of another context");
    spec = rig_parse(&fix, other, "adder:step=3", target);
    ck_fails(groat_kernel_start(spec, one, &request, &fix.error), GROAT_INVALID,
             &fix.error, "the fallback is of another context");
    groat_spec_free(spec);
    groat_close(other);
    ck_assert_int_eq(groat_fallback_set(context, one, &fix.error), GROAT_OK);
    groat_kernel_release(one);
    groat_seal(context);
    ck_assert_int_eq(try_get(context, "adder:step=7", &kernel, &origin),
                     GROAT_OK);
    ck_assert_ptr_eq(kernel, one);
    ck_assert_str_eq(groat_origin_name(origin), "fallback");
    ck_assert_int_eq(groat_fallback_set(context, two, &fix.error), GROAT_OK);
    ck_assert_int_eq(try_get(context, "adder:step=7", &kernel, &origin),
                     GROAT_OK);
    ck_assert_ptr_eq(kernel, two);
    ck_assert_ptr_eq(
        rig_get(&fix, context, "adder:step=1", target, GROAT_FROM_MEMORY), one);
    /* Another target, another family. */
    ck_fails(groat_kernel_get(context, "adder:step=7", "cpu:gfx942", &kernel,
                              NULL, &fix.error),
             GROAT_SEALED, &fix.error, "cpu:gfx942");
    ck_fails(try_get(context, "tile_loader_lds", &kernel, NULL), GROAT_SEALED,
             &fix.error, "tile_loader_lds");
    ck_assert_uint_eq(rig_stat(context).sealed, 4);
    ck_assert_uint_eq(rig_stat(context).fallbacks, 2);
    /* A fallback warms nothing. */
    ck_fails(groat_warm(context, &cold, 1, 0, NULL, NULL, &sums, &fix.error),
             GROAT_SEALED, &fix.error, "adder:step=7 is not in memory");
    ck_assert_uint_eq(sums.failed, 1);
    ck_assert_uint_eq(sums.from_memory, 0);
    groat_close(context);
}
END_TEST

/* ---- failures ---------------------------------------------------------- */

static double clock_ms;

static double own_clock(void)
{
    return clock_ms;
}

/* Opens a context with the test's clock, and a family that does not compile:
 * the compiler adds a mark each time. */
static groat_context *open_failing(void)
{
    groat_context *context;
    char path[300];
    char text[900];

    rig_write_source(&fix, "broken", "params.def",
                     "family broken \"does not compile\"\n"
                     "param n int 1..100000 1 - \"nothing\"\n"
                     "launch block_x = 64\n"
                     "launch args = 8\n"
                     "entry broken_{n}\n");
    rig_write_source(&fix, "broken", "args.h", "#pragma once\n");
    rig_write_source(&fix, "broken", "broken.h", "#include \"params.h\"\n");
    (void)snprintf(path, sizeof(path), "%s/compiler", fix.root);
    (void)snprintf(text, sizeof(text),
                   "#!/bin/sh\n"
                   "[ \"$1\" = --version ] && echo 'c++ 1.0' && exit 0\n"
                   "echo run >>'%s/runs'\n"
                   "echo \"try $(grep -c run '%s/runs')\" >&2\n"
                   "exit 1\n",
                   fix.root, fix.root);
    rig_write(path, text, 0700);
    ck_assert_int_eq(setenv("GROAT_CXX", path, 1), 0);
    context = rig_open(&fix);
    clock_ms = 1e6;
    context->failures.now_ms = own_clock;
    return context;
}

/* Checks that it fails with the message of this try. */
static void ck_try(groat_context *context, const char *spec, int tries)
{
    groat_kernel *kernel = NULL;
    char words[40];

    ck_assert_int_eq(try_get(context, spec, &kernel, NULL),
                     GROAT_COMPILE_FAILED);
    (void)snprintf(words, sizeof(words), "try %d\n", tries);
    ck_assert_ptr_nonnull(fix.error.log);
    ck_assert_ptr_nonnull(strstr(fix.error.log, words));
    ck_says(&fix.error, "refused the source");
    groat_error_clear(&fix.error);
    ck_assert_ptr_null(kernel);
}

START_TEST(failures_are_known_for_longer_and_longer)
{
    static const double seconds[] = {1, 2, 4, 8, 16, 32, 60, 60};
    groat_context *context = open_failing();
    groat_spec *spec = rig_parse(&fix, context, "broken", target);

    for (int i = 0; i < (int)COUNT(seconds); i++) {
        ck_try(context, "broken", i + 1);
        ck_try(context, "broken:n=1", i + 1);
        clock_ms += 1000 * seconds[i] - 1;
        ck_try(context, "broken", i + 1);
        ck_fails(groat_build(spec, NULL, NULL, NULL, &fix.error),
                 GROAT_COMPILE_FAILED, &fix.error, "refused the source");
        clock_ms += 1;
    }
    ck_assert_uint_eq(rig_stat(context).compiles, 0);
    ck_assert_uint_eq(rig_stat(context).refusals, 3 * COUNT(seconds));
    /* Another key was not tried yet. */
    ck_try(context, "broken:n=2", COUNT(seconds) + 1);
    groat_spec_free(spec);
    groat_close(context);
}
END_TEST

/* Failures are kept in memory only: another context tries again. */
START_TEST(failures_are_of_a_context)
{
    groat_context *one = open_failing();
    groat_context *two = rig_open(&fix);

    ck_try(one, "broken", 1);
    ck_try(two, "broken", 2);
    ck_try(one, "broken", 1);
    groat_close(two);
    groat_close(one);
}
END_TEST

START_TEST(more_failures_than_are_kept)
{
    enum { KEYS = GROAT__FAILURES + 2 };
    groat__failures failures = {0};
    groat_error error = GROAT_ERROR_INIT;
    groat__digest keys[KEYS] = {{{0}}};

    ck_assert(groat__failures_init(&failures));
    failures.now_ms = own_clock;
    error.status = GROAT_COMPILE_FAILED;
    for (int i = 0; i < KEYS; i++) {
        clock_ms = i;
        (void)snprintf(error.text, sizeof(error.text), "key %d", i);
        keys[i].bytes[0] = (uint8_t)i;
        groat__failures_note(&failures, &keys[i], &error);
    }
    for (int i = 0; i < KEYS; i++) {
        char words[20];

        (void)snprintf(words, sizeof(words), "key %d", i);
        ck_assert_int_eq(
            groat__failures_answer(&failures, &keys[i], &fix.error), i >= 2);
        if (i >= 2)
            ck_assert_str_eq(fix.error.text, words);
    }
    groat__failures_forget(&failures, &keys[5]);
    groat__failures_forget(&failures, &keys[5]);
    ck_assert(!groat__failures_answer(&failures, &keys[5], &fix.error));
    groat__failures_free(&failures);
}
END_TEST

static TCase *tests_of_failures(void)
{
    TCase *tests = tcase_create("failures");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, failures_are_known_for_longer_and_longer);
    tcase_add_test(tests, failures_are_of_a_context);
    tcase_add_test(tests, more_failures_than_are_kept);
    return tests;
}

static TCase *tests_of_seals(void)
{
    TCase *tests = tcase_create("seal");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, sealed_hits_and_misses);
    tcase_add_test(tests, refused_texts_are_forgotten);
    tcase_add_test(tests, more_misses_than_are_kept);
    tcase_add_test(tests, more_names_than_are_kept);
    tcase_add_test(tests, a_miss_names_the_nearest);
    tcase_add_test(tests, a_miss_names_what_the_store_has);
    tcase_add_test(tests, a_miss_is_told_once);
    tcase_add_test(tests, who_began_before_the_seal_goes_on);
    tcase_add_test(tests, fallbacks);
    return tests;
}

int main(void)
{
    Suite *suite = suite_create("serving");

    suite_add_tcase(suite, tests_of_seals());
    suite_add_tcase(suite, tests_of_failures());
    return run_suite(suite);
}
