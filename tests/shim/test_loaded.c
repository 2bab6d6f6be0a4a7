/* SPDX-License-Identifier: Apache-2.0
 *
 * test_loaded.c: the bound of loaded binaries, over the whole path on stand-ins
 * for NVRTC and the CUDA driver, which count live objects: which kernels are
 * unloaded when, which stay, which wait until their launches are done, and what
 * happens while a graph is captured.
 */
#include "core/core.h"
#include "tests/shim/plain_rig.h"

#include <elf.h>
#include <limits.h>

#include "backend/cuda_abi.h"
#include "backend/marks.h"

/* Each binary of the stand-in is a header. */
enum { BINARY = sizeof(Elf64_Ehdr), ROOM = 3 };

static rig fix;
static shim_cuda_control *cuda;
static const char target[] = "cuda:sm_90a";

static void setup(void)
{
    rig_make(&fix);
    plain_write(&fix);
    cuda = plain_shims();
}

static void teardown(void)
{
    ck_assert_int_eq(cuda->modules, 0);
    ck_assert_int_eq(cuda->events, 0);
    ck_assert_int_eq(cuda->retained, 0);
    rig_drop(&fix);
}

static groat_context *open_bounded(uint64_t bytes)
{
    groat_options options = rig_options(&fix);

    options.loaded_max_bytes = bytes;
    return rig_open_with(&fix, &options);
}

static groat_kernel *get(groat_context *context, unsigned step,
                         groat_origin expected)
{
    char spec[32];

    (void)snprintf(spec, sizeof(spec), "plain:step=%u", step);
    return rig_get(&fix, context, spec, target, expected);
}

/* Loads a kernel and keeps no reference. */
static groat_kernel *pass(groat_context *context, unsigned step,
                          groat_origin expected)
{
    groat_kernel *kernel = get(context, step, expected);

    groat_kernel_release(kernel);
    return kernel;
}

static bool is_there(groat_context *context, unsigned step)
{
    char spec[32];

    (void)snprintf(spec, sizeof(spec), "plain:step=%u", step);
    return groat_kernel_lookup(context, spec, target) != NULL;
}

static groat_status launch(groat_kernel *kernel, void *stream)
{
    groat_launch where = GROAT_LAUNCH_INIT;
    const int args = 1;

    where.stream = stream;
    return groat_kernel_launch(kernel, &where, &args, sizeof(args), &fix.error);
}

static void check_bound(groat_context *context, unsigned loaded)
{
    groat_cache_stat stat = rig_stat(context);

    ck_assert_uint_eq(stat.loaded_bytes, (uint64_t)loaded * BINARY);
    ck_assert_uint_eq(stat.loads - stat.unloads, loaded);
    ck_assert_int_eq(cuda->modules, (int)loaded);
}

START_TEST(no_bound)
{
    groat_context *context = open_bounded(0);

    for (unsigned step = 1; step <= 8; step++)
        ck_assert_int_eq(launch(pass(context, step, GROAT_FROM_COMPILER), NULL),
                         GROAT_OK);
    check_bound(context, 8);
    ck_assert_uint_eq(rig_stat(context).loaded_max_bytes, 0);
    /* No event is created or queried. */
    ck_assert_int_eq(cuda->events, 0);
    groat_close(context);
}
END_TEST

/* Without a bound a launch makes the same calls as ever; with one, it also asks
 * for a capture and the stream's id, and records an event once in some
 * milliseconds. */
START_TEST(what_a_launch_costs)
{
    int place = 0;

    cuda->numbers = true;
    for (uint64_t bytes = 0; bytes <= BINARY; bytes += BINARY) {
        groat_context *context = open_bounded(bytes);
        groat_kernel *kernel =
            get(context, 1, bytes == 0 ? GROAT_FROM_COMPILER : GROAT_FROM_DISK);
        int least = INT_MAX;

        for (int i = 0; i < 100; i++) {
            int calls = cuda->calls;

            ck_assert_int_eq(launch(kernel, &place), GROAT_OK);
            if (cuda->calls - calls < least)
                least = cuda->calls - calls;
        }
        ck_assert_int_eq(least, bytes == 0 ? 4 : 6);
        ck_assert_int_eq(cuda->events, bytes == 0 ? 0 : 1);
        groat_close(context);
    }
}
END_TEST

/* Launches in quick succession: the last ones are known to be done once a later
 * launch has recorded an event, or after a synchronize. */
START_TEST(streams_with_numbers)
{
    const struct timespec later = {0, 20000000};
    groat_context *context = open_bounded(BINARY);
    groat_kernel *first = pass(context, 1, GROAT_FROM_COMPILER);
    int place = 0;

    cuda->numbers = true;
    for (int i = 0; i < 50; i++)
        ck_assert_int_eq(launch(first, &place), GROAT_OK);
    ck_assert_int_eq(cuda->events, 1);
    ck_assert_int_eq(cuda->waits, 0);
    (void)nanosleep(&later, NULL);
    ck_assert_int_eq(launch(get(context, 2, GROAT_FROM_COMPILER), &place),
                     GROAT_OK);
    groat__resident_sweep(context);
    check_bound(context, 1);
    ck_assert(!is_there(context, 1));
    groat_kernel_release(first);
    groat_close(context);
}
END_TEST

/* A new stream with the handle of a destroyed one: its end does not stand for
 * work of the old stream. */
START_TEST(streams_of_one_handle)
{
    const struct timespec later = {0, 20000000};
    groat_context *context = open_bounded(BINARY);
    groat_kernel *first = pass(context, 1, GROAT_FROM_COMPILER);
    int place = 0;

    cuda->numbers = true;
    cuda->running = true;
    ck_assert_int_eq(launch(first, &place), GROAT_OK);
    ck_assert_int_eq(launch(first, &place), GROAT_OK);
    cuda->streams_made++;
    (void)nanosleep(&later, NULL);
    ck_assert_int_eq(launch(get(context, 2, GROAT_FROM_COMPILER), &place),
                     GROAT_OK);
    ck_assert_int_eq(cuda->events, 2);
    cuda->running = false;
    groat__resident_sweep(context);
    check_bound(context, 2);
    ck_assert(is_there(context, 1));
    ck_assert_int_eq(groat_synchronize(context, target, &fix.error), GROAT_OK);
    check_bound(context, 1);
    ck_assert(!is_there(context, 1));
    groat_close(context);
}
END_TEST

/* A kernel launched on more streams than there are places stays loaded. */
START_TEST(more_streams_than_places)
{
    groat_context *context = open_bounded(BINARY);
    groat_kernel *first = pass(context, 1, GROAT_FROM_COMPILER);
    char places[GROAT__STREAMS + 1];

    cuda->numbers = true;
    for (size_t i = 0; i < GROAT__STREAMS; i++)
        ck_assert_int_eq(launch(first, &places[i]), GROAT_OK);
    ck_assert_int_eq(cuda->events, GROAT__STREAMS);
    ck_assert_int_eq(groat_synchronize(context, target, &fix.error), GROAT_OK);
    (void)pass(context, 2, GROAT_FROM_COMPILER);
    ck_assert(!is_there(context, 1));
    ck_assert_int_eq(launch(first, &places[GROAT__STREAMS]), GROAT_OK);
    ck_assert_int_eq(cuda->events, GROAT__STREAMS);
    ck_assert_int_eq(groat_synchronize(context, target, &fix.error), GROAT_OK);
    (void)pass(context, 3, GROAT_FROM_COMPILER);
    ck_assert(is_there(context, 1));
    groat_close(context);
}
END_TEST

START_TEST(the_least_recently_used_goes)
{
    groat_context *context = open_bounded(ROOM * BINARY);

    for (unsigned step = 1; step <= ROOM; step++)
        (void)pass(context, step, GROAT_FROM_COMPILER);
    check_bound(context, ROOM);
    (void)pass(context, 1, GROAT_FROM_MEMORY);
    (void)pass(context, 4, GROAT_FROM_COMPILER);
    check_bound(context, ROOM);
    ck_assert(is_there(context, 1) && !is_there(context, 2));
    ck_assert(is_there(context, 3) && is_there(context, 4));
    /* A look-up counts as a use. */
    (void)pass(context, 2, GROAT_FROM_DISK);
    ck_assert(!is_there(context, 1) && is_there(context, 3));
    (void)pass(context, 5, GROAT_FROM_COMPILER);
    check_bound(context, ROOM);
    ck_assert(!is_there(context, 4) && is_there(context, 3));
    ck_assert_uint_eq(rig_stat(context).unloads, 3);
    ck_assert_uint_eq(rig_stat(context).deferred_unloads, 0);
    groat_close(context);
}
END_TEST

START_TEST(the_handle_stays)
{
    groat_context *context = open_bounded(BINARY);
    groat_kernel *first = pass(context, 1, GROAT_FROM_COMPILER);
    groat_kernel_info info = {.size = sizeof(info)};
    groat_explanation why = {.size = sizeof(why)};
    groat_spec *spec = rig_parse(&fix, context, "plain:step=1", target);

    ck_assert_ptr_nonnull(groat_kernel_native(first));
    (void)pass(context, 2, GROAT_FROM_COMPILER);
    ck_assert_ptr_null(groat_kernel_native(first));
    ck_assert_int_eq(groat_kernel_info_get(first, &info, NULL), GROAT_OK);
    ck_assert_str_eq(info.spec, "plain:step=1");
    ck_assert_int_eq(groat_explain(spec, &why, NULL, NULL, &fix.error),
                     GROAT_OK);
    ck_assert_int_eq(why.origin, GROAT_FROM_DISK);
    /* A launch loads it again, and a get returns the same handle. */
    ck_assert_int_eq(launch(first, NULL), GROAT_OK);
    ck_assert_int_eq(cuda->launches, 1);
    check_bound(context, 1);
    (void)pass(context, 2, GROAT_FROM_DISK);
    ck_assert_ptr_eq(get(context, 1, GROAT_FROM_DISK), first);
    ck_assert_ptr_nonnull(groat_kernel_native(first));
    ck_assert_uint_eq(rig_stat(context).compiles, 2);
    groat_spec_free(spec);
    groat_close(context);
}
END_TEST

START_TEST(counts_pin)
{
    groat_context *context = open_bounded(BINARY);
    groat_kernel *held[4];

    for (unsigned i = 0; i < COUNT(held); i++)
        held[i] = get(context, i + 1, GROAT_FROM_COMPILER);
    check_bound(context, COUNT(held));
    (void)groat_kernel_retain(held[0]);
    groat_kernel_release(held[0]);
    check_bound(context, COUNT(held));
    /* Above the bound, dropping the last reference unloads a kernel. */
    for (unsigned i = 0; i < COUNT(held); i++) {
        groat_kernel_release(held[i]);
        check_bound(context, i == COUNT(held) - 1 ? 1 : COUNT(held) - 1 - i);
    }
    ck_assert(is_there(context, 4));
    groat_close(context);
}
END_TEST

START_TEST(requests_pin)
{
    groat_context *context = open_bounded(BINARY);
    groat_spec *spec = rig_parse(&fix, context, "plain:step=1", target);
    groat_request *request = NULL;

    ck_assert_int_eq(groat_kernel_start(spec, NULL, &request, &fix.error),
                     GROAT_OK);
    ck_assert_int_eq(groat_request_wait(request, -1, NULL, NULL, &fix.error),
                     GROAT_OK);
    ck_assert_ptr_nonnull(groat_request_kernel(request));
    /* The thread that has built it drops its reference. */
    groat__pool_stop(&context->pool);
    (void)pass(context, 2, GROAT_FROM_COMPILER);
    ck_assert(groat_kernel_lookup_spec(spec) && !is_there(context, 2));
    check_bound(context, 1);
    groat_request_free(request);
    (void)pass(context, 2, GROAT_FROM_DISK);
    ck_assert(!groat_kernel_lookup_spec(spec) && is_there(context, 2));
    groat_spec_free(spec);
    groat_close(context);
}
END_TEST

/* A running kernel is not unloaded, and no thread waits for it. */
START_TEST(running_kernels_wait)
{
    groat_context *context = open_bounded(BINARY);
    groat_kernel *first = pass(context, 1, GROAT_FROM_COMPILER);
    int place = 0;

    cuda->running = true;
    ck_assert_int_eq(launch(first, NULL), GROAT_OK);
    ck_assert_int_eq(launch(first, &place), GROAT_OK);
    ck_assert_int_eq(launch(first, &place), GROAT_OK);
    ck_assert_int_eq(cuda->events, 2);
    ck_assert_int_eq(cuda->waits, 1);
    (void)pass(context, 2, GROAT_FROM_COMPILER);
    /* The second kernel was not launched. */
    check_bound(context, 1);
    ck_assert(is_there(context, 1) && !is_there(context, 2));
    ck_assert_uint_gt(rig_stat(context).deferred_unloads, 0);
    ck_assert_int_eq(launch(get(context, 2, GROAT_FROM_DISK), NULL), GROAT_OK);
    check_bound(context, 2);
    groat__resident_sweep(context);
    check_bound(context, 2);
    cuda->running = false;
    ck_assert_int_eq(groat_synchronize(context, target, &fix.error), GROAT_OK);
    check_bound(context, 1);
    ck_assert(!is_there(context, 1) && is_there(context, 2));
    ck_assert_int_eq(cuda->events, 2);
    groat_close(context);
}
END_TEST

/* After a failed record there is no event to query: the kernel stays. */
START_TEST(what_cannot_be_known_stays)
{
    groat_context *context = open_bounded(BINARY);
    groat_kernel *first = pass(context, 1, GROAT_FROM_COMPILER);

    shim_fail(&cuda->fault, "cuEventRecord", 1, CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(launch(first, NULL), GROAT_OK);
    ck_assert(cuda->fault.hit);
    (void)pass(context, 2, GROAT_FROM_COMPILER);
    ck_assert(is_there(context, 1) && !is_there(context, 2));
    groat_close(context);
}
END_TEST

START_TEST(captures)
{
    groat_context *context = open_bounded(BINARY);
    groat_kernel *first = pass(context, 1, GROAT_FROM_COMPILER);
    groat_kernel *second = pass(context, 2, GROAT_FROM_COMPILER);
    int place = 0;

    ck_assert(!is_there(context, 1) && is_there(context, 2));
    cuda->capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    /* Nothing can be loaded during a capture, so loaded kernels stay, ... */
    ck_fails(launch(first, &place), GROAT_CAPTURING, &fix.error, "captured");
    ck_assert_int_eq(launch(second, &place), GROAT_OK);
    ck_assert_int_eq(cuda->events, 0);
    /* ... and a load elsewhere unloads nothing, ... */
    (void)pass(context, 3, GROAT_FROM_COMPILER);
    (void)pass(context, 4, GROAT_FROM_COMPILER);
    check_bound(context, 3);
    ck_assert_int_eq(cuda->capture, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    /* ... not even when the work is done. */
    ck_assert_int_eq(groat_synchronize(context, target, &fix.error), GROAT_OK);
    check_bound(context, 3);
    cuda->capture = CU_STREAM_CAPTURE_STATUS_NONE;
    ck_assert_int_eq(groat_synchronize(context, target, &fix.error), GROAT_OK);
    /* The graph pins the second kernel for ever. */
    check_bound(context, 1);
    ck_assert(is_there(context, 2));
    (void)pass(context, 5, GROAT_FROM_COMPILER);
    ck_assert(is_there(context, 2));
    groat_close(context);
}
END_TEST

START_TEST(sealed)
{
    groat_context *context = open_bounded(2 * BINARY);
    groat_kernel *first = pass(context, 1, GROAT_FROM_COMPILER);
    groat_kernel *second = get(context, 2, GROAT_FROM_COMPILER);
    groat_kernel *third;
    groat_kernel *fourth;
    groat_kernel *found = NULL;

    ck_assert_int_eq(groat_fallback_set(context, second, &fix.error), GROAT_OK);
    groat_kernel_release(second);
    (void)pass(context, 3, GROAT_FROM_COMPILER);
    third = get(context, 4, GROAT_FROM_COMPILER);
    ck_assert(is_there(context, 2) && !is_there(context, 3));
    fourth = get(context, 6, GROAT_FROM_COMPILER);
    check_bound(context, 3);
    /* The bound is exceeded, but kernels without references stay, too. */
    groat_seal(context);
    groat_kernel_release(third);
    groat_kernel_release(fourth);
    check_bound(context, 3);
    ck_assert(is_there(context, 4) && is_there(context, 6));
    ck_fails(launch(first, NULL), GROAT_SEALED, &fix.error,
             "unloaded before the context was sealed");
    ck_assert_ptr_eq(get(context, 1, GROAT_FROM_FALLBACK), second);
    ck_assert_ptr_eq(get(context, 4, GROAT_FROM_MEMORY), third);
    groat_unseal(context);
    /* With another fallback, the first one is a kernel like any other. */
    groat_kernel_release(second);
    groat_kernel_release(third);
    ck_assert_int_eq(groat_fallback_set(context, third, &fix.error), GROAT_OK);
    (void)pass(context, 5, GROAT_FROM_COMPILER);
    ck_assert(is_there(context, 4) && !is_there(context, 2));
    groat_seal(context);
    ck_assert_int_eq(groat_kernel_get(context, "plain:step=2", target, &found,
                                      NULL, &fix.error),
                     GROAT_OK);
    ck_assert_ptr_eq(found, third);
    groat_close(context);
}
END_TEST

/* A binary that the store has lost is compiled again; if the driver then
 * refuses it, the launch fails. */
START_TEST(a_reload_may_fail)
{
    groat_context *context = open_bounded(BINARY);
    groat_kernel *first = pass(context, 1, GROAT_FROM_COMPILER);

    (void)pass(context, 2, GROAT_FROM_COMPILER);
    ck_assert_int_eq(groat_cache_clear(context, NULL, &fix.error), GROAT_OK);
    ck_assert_int_eq(launch(first, NULL), GROAT_OK);
    ck_assert_uint_eq(rig_stat(context).compiles, 3);
    check_bound(context, 1);
    (void)pass(context, 2, GROAT_FROM_COMPILER);
    shim_fail(&cuda->fault, "cuModuleLoadDataEx", 1, CUDA_ERROR_OUT_OF_MEMORY);
    ck_fails(launch(first, NULL), GROAT_NO_MEMORY, &fix.error,
             "cuModuleLoadDataEx");
    /* Another kernel was unloaded to make room. */
    check_bound(context, 0);
    shim_fail(&cuda->fault, "cuModuleLoadDataEx", 1, CUDA_ERROR_OUT_OF_MEMORY);
    ck_fails(groat_fallback_set(context, first, &fix.error), GROAT_NO_MEMORY,
             &fix.error, "cuModuleLoadDataEx");
    check_bound(context, 0);
    ck_assert_int_eq(launch(first, NULL), GROAT_OK);
    check_bound(context, 1);
    groat_close(context);
}
END_TEST

START_TEST(the_bound_of_the_environment)
{
    static const char *const bad[] = {"0", "x", "3T"};
    groat_context *context;

    ck_assert_int_eq(setenv("GROAT_LOADED_MAX_BYTES", "192", 1), 0);
    context = open_bounded(0);
    ck_assert_uint_eq(rig_stat(context).loaded_max_bytes, 192);
    groat_close(context);
    context = open_bounded(7);
    ck_assert_uint_eq(rig_stat(context).loaded_max_bytes, 7);
    groat_close(context);
    for (size_t i = 0; i < COUNT(bad); i++) {
        ck_assert_int_eq(setenv("GROAT_LOADED_MAX_BYTES", bad[i], 1), 0);
        context = open_bounded(0);
        ck_assert_uint_eq(rig_stat(context).loaded_max_bytes, 0);
        groat_close(context);
    }
    ck_assert_int_eq(rig_said(&fix, "GROAT_LOADED_MAX_BYTES is 'x'; allowed"),
                     1);
    ck_assert_int_eq(rig_said(&fix, "there is no bound"), COUNT(bad));
    (void)unsetenv("GROAT_LOADED_MAX_BYTES");
}
END_TEST

/* A thread that asks for a kernel while that is unloaded waits for the end, and
 * then loads it. */
static groat_context *asked;
static groat_kernel *again;
static pthread_t asker;

static void *ask_again(void *unused)
{
    (void)unused;
    (void)groat_kernel_get(asked, "plain:step=1", target, &again, NULL, NULL);
    return NULL;
}

static void ask_while_unloading(void)
{
    const struct timespec later = {0, 50000000};

    cuda->unloading = NULL;
    ck_assert_int_eq(pthread_create(&asker, NULL, ask_again, NULL), 0);
    (void)nanosleep(&later, NULL);
}

START_TEST(who_waits_for_an_unload)
{
    groat_kernel *kernel;
    groat_kernel *other;

    asked = open_bounded(BINARY);
    kernel = get(asked, 1, GROAT_FROM_COMPILER);
    other = get(asked, 2, GROAT_FROM_COMPILER);
    again = NULL;
    cuda->unloading = ask_while_unloading;
    groat_kernel_release(kernel); /* two are loaded, and one may be */
    ck_assert(cuda->unloading == NULL);
    ck_assert_int_eq(pthread_join(asker, NULL), 0);
    ck_assert_ptr_eq(again, kernel);
    groat_kernel_release(again);
    groat_kernel_release(other);
    groat_close(asked);
}
END_TEST

START_TEST(the_metrics)
{
    static const char *const lines[] = {
        "\ngroat_loads_total 3\n",
        "\ngroat_unloads_total 1\n",
        "\ngroat_deferred_unloads_total 2\n",
        "\ngroat_loaded_bytes 128\n",
        "\ngroat_loaded_max_bytes 64\n",
    };
    static const char *const members[] = {
        "\"loads_total\": 3",
        "\"unloads_total\": 1",
        "\"deferred_unloads_total\": 2",
        "\"loaded_bytes\": 128",
        "\"loaded_max_bytes\": 64",
    };
    groat_context *context = open_bounded(BINARY);
    char *text = NULL;

    (void)pass(context, 1, GROAT_FROM_COMPILER);
    cuda->running = true;
    ck_assert_int_eq(launch(pass(context, 2, GROAT_FROM_COMPILER), NULL),
                     GROAT_OK);
    (void)get(context, 3, GROAT_FROM_COMPILER);
    groat__resident_sweep(context);
    ck_assert_int_eq(
        groat_metrics(context, GROAT_METRICS_PROMETHEUS, &text, &fix.error),
        GROAT_OK);
    for (size_t i = 0; i < COUNT(lines); i++)
        ck_assert_msg(strstr(text, lines[i]) != NULL, "%s: %s", lines[i], text);
    groat_free(text);
    ck_assert_int_eq(
        groat_metrics(context, GROAT_METRICS_JSON, &text, &fix.error),
        GROAT_OK);
    for (size_t i = 0; i < COUNT(members); i++)
        ck_assert_msg(strstr(text, members[i]) != NULL, "%s: %s", members[i],
                      text);
    groat_free(text);
    groat_close(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loaded");
    TCase *tests = tcase_create("bound");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, no_bound);
    tcase_add_test(tests, what_a_launch_costs);
    tcase_add_test(tests, streams_with_numbers);
    tcase_add_test(tests, streams_of_one_handle);
    tcase_add_test(tests, more_streams_than_places);
    tcase_add_test(tests, the_least_recently_used_goes);
    tcase_add_test(tests, the_handle_stays);
    tcase_add_test(tests, counts_pin);
    tcase_add_test(tests, requests_pin);
    tcase_add_test(tests, running_kernels_wait);
    tcase_add_test(tests, what_cannot_be_known_stays);
    tcase_add_test(tests, captures);
    tcase_add_test(tests, sealed);
    tcase_add_test(tests, a_reload_may_fail);
    tcase_add_test(tests, the_bound_of_the_environment);
    tcase_add_test(tests, who_waits_for_an_unload);
    tcase_add_test(tests, the_metrics);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
