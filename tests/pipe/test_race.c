/* SPDX-License-Identifier: Apache-2.0
 *
 * test_race.c: many threads and one context.  A kernel is compiled once,
 * however many threads ask for it; all of them get a failure; launches and
 * look-ups run side by side.
 */
#include "held.h"

#include <sched.h>

#include "core/core.h"

enum { THREADS = 32, KEYS = 8, LAUNCHERS = 8, LAUNCHES = 12 };

static rig fix;

static void setup(void)
{
    rig_make(&fix);
    rig_write_adder(&fix);
    held_write(&fix);
}

static void teardown(void)
{
    held_restore();
    rig_drop(&fix);
}

/* ---- threads ----------------------------------------------------------- */

typedef struct worker {
    pthread_t thread;
    unsigned index;
    groat_context *context;
    pthread_barrier_t *start;
    groat_kernel *kernels[KEYS]; /* by key */
    groat_kernel *kernel;
    void *binary;
    size_t bytes;
    groat_origin origin;
    groat_status status;
    groat_error error;
    unsigned right;
} worker;

static void run_workers(groat_context *context, worker *workers, unsigned count,
                        void *(*work)(void *), groat_kernel *kernel,
                        void (*meanwhile)(groat_context *))
{
    pthread_barrier_t start;

    ck_assert_int_eq(pthread_barrier_init(&start, NULL, count), 0);
    for (unsigned i = 0; i < count; i++) {
        memset(&workers[i], 0, sizeof(workers[i]));
        workers[i].index = i;
        workers[i].context = context;
        workers[i].start = &start;
        workers[i].kernel = kernel;
        workers[i].error = (groat_error)GROAT_ERROR_INIT;
        ck_assert_int_eq(
            pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    if (meanwhile != NULL)
        meanwhile(context);
    for (unsigned i = 0; i < count; i++)
        ck_assert_int_eq(pthread_join(workers[i].thread, NULL), 0);
    (void)pthread_barrier_destroy(&start);
}

static void key_spec(unsigned key, char *text, size_t size)
{
    (void)snprintf(text, size, "adder:step=%u", key + 1);
}

/* ---- one compile for all ----------------------------------------------- */

/* Each thread asks for every key, in an order of its own. */
static void *get_all(void *user)
{
    worker *w = user;

    if (w->start != NULL)
        (void)pthread_barrier_wait(w->start);
    for (unsigned i = 0; i < KEYS && w->status == GROAT_OK; i++) {
        unsigned key = (w->index * 3 + i * (2 * w->index + 1)) % KEYS;
        char spec[32];

        key_spec(key, spec, sizeof(spec));
        w->status = groat_kernel_get(w->context, spec, "cpu:gfx950",
                                     &w->kernels[key], NULL, &w->error);
    }
    return NULL;
}

START_TEST(each_key_is_compiled_once)
{
    groat_options options = rig_options(&fix);
    groat_context *context;
    worker workers[THREADS];
    groat_cache_stat stat;

    if (_i == 1)
        options.flags = GROAT_OPEN_NO_DISK;
    options.loaded_max_bytes = UINT64_MAX; /* references are counted */
    context = rig_open_with(&fix, &options);
    run_workers(context, workers, THREADS, get_all, NULL, NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        ck_assert_msg(workers[i].status == GROAT_OK, "%s",
                      workers[i].error.text);
        for (unsigned key = 0; key < KEYS; key++) {
            ck_assert_ptr_nonnull(workers[i].kernels[key]);
            ck_assert_ptr_eq(workers[i].kernels[key], workers[0].kernels[key]);
        }
    }
    for (unsigned key = 0; key < KEYS; key++) {
        groat_kernel *kernel = workers[0].kernels[key];

        ck_assert(rig_adds(context, "cpu:gfx950", kernel, key + 1));
        /* One reference for each get, and the context's own. */
        ck_assert_uint_eq(atomic_load(&kernel->refs), THREADS + 1);
        for (unsigned i = 0; i < THREADS; i++)
            groat_kernel_release(kernel);
        ck_assert_uint_eq(atomic_load(&kernel->refs), 1);
    }
    stat = rig_stat(context);
    ck_assert_uint_eq(stat.compiles, KEYS);
    ck_assert_uint_eq(stat.memory_hits, THREADS * KEYS - KEYS);
    ck_assert_uint_eq(stat.entries, _i == 1 ? 0 : KEYS);
    ck_assert_uint_eq(stat.faults, 0);
    ck_assert_int_eq(held_runs(), KEYS);
    groat_close(context);
}
END_TEST

/* The same from the store: read once each, never compiled. */
START_TEST(each_key_is_read_once)
{
    worker workers[THREADS];
    groat_context *context = rig_open(&fix);
    groat_cache_stat stat;

    for (unsigned key = 0; key < KEYS; key++) {
        char spec[32];

        key_spec(key, spec, sizeof(spec));
        (void)rig_get(&fix, context, spec, "cpu:gfx950", GROAT_FROM_COMPILER);
    }
    groat_close(context);
    context = rig_open(&fix);
    run_workers(context, workers, THREADS, get_all, NULL, NULL);
    for (unsigned i = 0; i < THREADS; i++)
        ck_assert_mem_eq(workers[i].kernels, workers[0].kernels,
                         sizeof(workers[0].kernels));
    stat = rig_stat(context);
    ck_assert_uint_eq(stat.compiles, 0);
    ck_assert_uint_eq(stat.hits, KEYS);
    groat_close(context);
}
END_TEST

/* ---- one failure for all ----------------------------------------------- */

static void *get_one(void *user)
{
    worker *w = user;

    (void)pthread_barrier_wait(w->start);
    w->status = groat_kernel_get(w->context, "adder", "cpu:gfx950", &w->kernel,
                                 NULL, &w->error);
    return NULL;
}

/* Builds the same, but does not load it. */
static void *build_one(void *user)
{
    groat_kernel_info info = {.size = sizeof(info)};
    groat_spec *spec = NULL;
    worker *w = user;

    w->status =
        groat_spec_parse(w->context, "adder", "cpu:gfx950", &spec, &w->error);
    (void)pthread_barrier_wait(w->start);
    if (w->status == GROAT_OK)
        w->status = groat_build(spec, &w->binary, &w->bytes, &info, &w->error);
    w->origin = info.origin;
    groat_spec_free(spec);
    return NULL;
}

static void *get_or_build_one(void *user)
{
    worker *w = user;

    return w->index % 2 == 0 ? get_one(user) : build_one(user);
}

static void wait_until_all_wait(groat_context *context)
{
    unsigned users = 0;

    while (users < THREADS) {
        (void)sched_yield();
        (void)pthread_mutex_lock(&context->lock);
        users = context->inflight == NULL ? 0 : context->inflight->users;
        (void)pthread_mutex_unlock(&context->lock);
    }
}

/* Lets the compiler go on once every thread waits for its result. */
static void release_when_all_wait(groat_context *context)
{
    wait_until_all_wait(context);
    held_open();
}

static double later(void)
{
    return groat__now_ms() + GROAT__FAILURE_MS;
}

typedef void *work_fn(void *user);

static work_fn *const works[] = {get_one, build_one, get_or_build_one};

START_TEST(a_failure_is_everyones)
{
    groat_context *context;
    worker workers[THREADS];
    groat_kernel *kernel = NULL;
    groat__str broken = {0};

    groat__str_add(&broken, adder_kernel);
    groat__str_add(&broken, "static int never = undeclared_name;\n");
    rig_write_source(&fix, "adder", "adder.h", broken.data);
    groat__str_free(&broken);
    held_close();
    context = rig_open(&fix);
    run_workers(context, workers, THREADS, works[_i], NULL,
                release_when_all_wait);
    ck_assert_int_eq(held_runs(), 1);
    for (unsigned i = 0; i < THREADS; i++) {
        ck_assert_int_eq(workers[i].status, GROAT_COMPILE_FAILED);
        ck_assert_int_eq(workers[i].error.status, GROAT_COMPILE_FAILED);
        ck_assert_str_eq(workers[i].error.text, workers[0].error.text);
        ck_assert_ptr_nonnull(workers[i].error.log);
        ck_assert_ptr_nonnull(strstr(workers[i].error.log, "undeclared_name"));
        ck_assert_str_eq(workers[i].error.log, workers[0].error.log);
        ck_assert_ptr_null(workers[i].kernel);
        ck_assert_ptr_null(workers[i].binary);
    }
    for (unsigned i = 0; i < THREADS; i++)
        groat_error_clear(&workers[i].error);
    ck_assert_uint_eq(rig_stat(context).compiles, 0);
    ck_assert_uint_eq(rig_stat(context).entries, 0);
    /* The next get after a while compiles again. */
    context->failures.now_ms = later;
    ck_fails(groat_kernel_get(context, "adder", "cpu:gfx950", &kernel, NULL,
                              &fix.error),
             GROAT_COMPILE_FAILED, &fix.error, "refused the source");
    ck_assert_int_eq(held_runs(), 2);
    groat_close(context);
}
END_TEST

/* ---- builds -------------------------------------------------------------- */

/* Threads that build, and threads that also load: one compiles. */
START_TEST(builds_share_a_compile)
{
    groat_context *context = rig_open(&fix);
    worker workers[THREADS];
    const worker *first = &workers[1];
    unsigned compiled = 0;

    held_close();
    run_workers(context, workers, THREADS, works[_i], NULL,
                release_when_all_wait);
    ck_assert_int_eq(held_runs(), 1);
    ck_assert_uint_eq(rig_stat(context).compiles, 1);
    ck_assert_uint_eq(rig_stat(context).faults, 0);
    /* The result is in memory: no thread reads the store. */
    ck_assert_uint_eq(rig_stat(context).hits, 0);
    for (unsigned i = 0; i < THREADS; i++) {
        ck_assert_msg(workers[i].status == GROAT_OK, "%s",
                      workers[i].error.text);
        if (workers[i].binary == NULL) {
            ck_assert(_i == 2 && i % 2 == 0);
            ck_assert_ptr_nonnull(workers[i].kernel);
            ck_assert_ptr_eq(workers[i].kernel, workers[0].kernel);
            continue;
        }
        ck_assert_uint_eq(workers[i].bytes, first->bytes);
        ck_assert_mem_eq(workers[i].binary, first->binary, first->bytes);
        compiled += workers[i].origin == GROAT_FROM_COMPILER;
    }
    ck_assert_uint_le(compiled, 1);
    ck_assert(compiled == 1 || _i == 2);
    for (unsigned i = 0; i < THREADS; i++)
        groat_free(workers[i].binary);
    if (_i == 2)
        ck_assert(rig_adds(context, "cpu:gfx950", workers[0].kernel, 1));
    groat_close(context);
}
END_TEST

/* Without a store they share it, too; it is freed when they are done. */
START_TEST(builds_without_a_store)
{
    groat_options options = rig_options(&fix);
    groat_context *context;
    worker workers[THREADS];
    unsigned compiled = 0;

    options.flags = GROAT_OPEN_NO_DISK;
    context = rig_open_with(&fix, &options);
    for (int round = 1; round <= 2; round++) {
        held_close();
        run_workers(context, workers, THREADS, build_one, NULL,
                    release_when_all_wait);
        ck_assert_int_eq(held_runs(), round);
        for (unsigned i = 0; i < THREADS; i++) {
            ck_assert_int_eq(workers[i].status, GROAT_OK);
            ck_assert_uint_eq(workers[i].bytes, workers[0].bytes);
            ck_assert_mem_eq(workers[i].binary, workers[0].binary,
                             workers[0].bytes);
            compiled += workers[i].origin == GROAT_FROM_COMPILER;
        }
        for (unsigned i = 0; i < THREADS; i++)
            groat_free(workers[i].binary);
    }
    ck_assert_uint_eq(compiled, 2);
    groat_close(context);
}
END_TEST

static _Atomic(bool) all_wait;

static void note_when_all_wait(groat_context *context)
{
    wait_until_all_wait(context);
    atomic_store(&all_wait, true);
}

/* Holds the read of a build until all other threads wait for its binary. */
static void hold_read(void *user, const char *name)
{
    worker *w = user;

    if (strstr(name, "read") == NULL || atomic_load(&all_wait))
        return;
    (void)pthread_barrier_wait(w->start);
    while (!atomic_load(&all_wait))
        (void)sched_yield();
}

static void ignore_pop(void *user)
{
    (void)user;
}

static void *build_or_wait(void *user)
{
    worker *w = user;
    groat_spec *spec = NULL;

    if (w->index != 0)
        return get_one(user);
    w->status =
        groat_spec_parse(w->context, "adder", "cpu:gfx950", &spec, &w->error);
    if (w->status == GROAT_OK)
        w->status = groat_build(spec, NULL, NULL, NULL, &w->error);
    groat_spec_free(spec);
    return NULL;
}

/* A build takes a binary from the store that the loader refuses: the threads
 * that waited for it compile it again, once. */
START_TEST(a_stored_binary_that_is_refused)
{
    groat_options options = rig_options(&fix);
    groat_context *context;
    worker workers[THREADS];

    rig_plant(&fix, "adder", "cut", 3);
    options.range_push = hold_read;
    options.range_pop = ignore_pop;
    options.range_user = &workers[0];
    atomic_store(&all_wait, false);
    context = rig_open_with(&fix, &options);
    run_workers(context, workers, THREADS, build_or_wait, NULL,
                note_when_all_wait);
    for (unsigned i = 0; i < THREADS; i++)
        ck_assert_msg(workers[i].status == GROAT_OK, "%s",
                      workers[i].error.text);
    ck_assert_int_eq(held_runs(), 1);
    ck_assert_uint_eq(rig_stat(context).hits, 1);
    ck_assert_int_eq(rig_said(&fix, "the driver refused the stored binary"), 1);
    ck_assert(rig_adds(context, "cpu:gfx950", workers[1].kernel, 1));
    groat_close(context);
}
END_TEST

/* ---- work that does not wait ------------------------------------------- */

/* While threads wait for one compile, another key is read from the store. */
static void get_another(groat_context *context)
{
    groat_kernel *kernel =
        rig_get(&fix, context, "adder:step=2", "cpu:gfx950", GROAT_FROM_DISK);

    ck_assert(rig_adds(context, "cpu:gfx950", kernel, 2));
    release_when_all_wait(context);
}

START_TEST(a_compile_holds_up_no_other_key)
{
    groat_context *context = rig_open(&fix);
    worker workers[THREADS];

    (void)rig_get(&fix, context, "adder:step=2", "cpu:gfx950",
                  GROAT_FROM_COMPILER);
    groat_close(context);
    held_close();
    context = rig_open(&fix);
    run_workers(context, workers, THREADS, get_one, NULL, get_another);
    for (unsigned i = 0; i < THREADS; i++) {
        ck_assert_int_eq(workers[i].status, GROAT_OK);
        ck_assert_ptr_eq(workers[i].kernel, workers[0].kernel);
    }
    ck_assert_int_eq(held_runs(), 2);
    ck_assert_uint_eq(rig_stat(context).memory_hits, THREADS - 1);
    groat_close(context);
}
END_TEST

/* Look-ups find nothing, or a kernel that works. */
static void *look_up_all(void *user)
{
    worker *w = user;
    unsigned found = 0;

    (void)pthread_barrier_wait(w->start);
    if (w->index == 0) {
        w->start = NULL;
        return get_all(user);
    }
    while (found < KEYS) {
        found = 0;
        for (unsigned key = 0; key < KEYS; key++) {
            char spec[32];

            key_spec(key, spec, sizeof(spec));
            w->kernels[key] =
                groat_kernel_lookup(w->context, spec, "cpu:gfx950");
            found += w->kernels[key] != NULL;
        }
        (void)sched_yield();
    }
    for (unsigned key = 0; key < KEYS; key++)
        w->right +=
            rig_adds(w->context, "cpu:gfx950", w->kernels[key], key + 1);
    return NULL;
}

START_TEST(look_ups_while_kernels_come)
{
    worker workers[LAUNCHERS];
    groat_context *context = rig_open(&fix);

    run_workers(context, workers, LAUNCHERS, look_up_all, NULL, NULL);
    ck_assert_int_eq(workers[0].status, GROAT_OK);
    for (unsigned i = 1; i < LAUNCHERS; i++)
        ck_assert_uint_eq(workers[i].right, KEYS);
    groat_close(context);
}
END_TEST

/* Launches one kernel with memory of its own each time. */
static void *launch_often(void *user)
{
    worker *w = user;

    (void)pthread_barrier_wait(w->start);
    for (unsigned i = 0; i < LAUNCHES; i++) {
        groat_kernel *kernel = groat_kernel_retain(w->kernel);

        w->right += rig_adds(w->context, rig_targets[0], kernel, 4);
        groat_kernel_release(kernel);
    }
    return NULL;
}

START_TEST(launches_side_by_side)
{
    worker workers[LAUNCHERS];
    groat_context *context = rig_open(&fix);
    groat_kernel *kernel = rig_get(&fix, context, "adder:step=4",
                                   rig_targets[0], GROAT_FROM_COMPILER);

    run_workers(context, workers, LAUNCHERS, launch_often, kernel, NULL);
    for (unsigned i = 0; i < LAUNCHERS; i++)
        ck_assert_uint_eq(workers[i].right, LAUNCHES);
    groat_close(context);
}
END_TEST

/* Contexts share the store as processes do: the second one may compile as well,
 * and each gets a kernel that works. */
static void *get_in_a_context(void *user)
{
    groat_options options = rig_options(&fix);
    groat_context *context = NULL;
    groat_kernel *kernel = NULL;
    worker *w = user;

    (void)pthread_barrier_wait(w->start);
    w->status = groat_open(&options, &context, &w->error);
    if (w->status == GROAT_OK)
        w->status = groat_kernel_get(context, "adder:step=5", "cpu:gfx90a",
                                     &kernel, NULL, &w->error);
    w->right =
        w->status == GROAT_OK && rig_adds(context, "cpu:gfx90a", kernel, 5);
    groat_close(context);
    return NULL;
}

START_TEST(contexts_share_a_store)
{
    worker workers[LAUNCHERS];
    groat_context *context;

    run_workers(NULL, workers, LAUNCHERS, get_in_a_context, NULL, NULL);
    for (unsigned i = 0; i < LAUNCHERS; i++) {
        ck_assert_msg(workers[i].status == GROAT_OK, "%s",
                      workers[i].error.text);
        ck_assert_uint_eq(workers[i].right, 1);
    }
    ck_assert_int_le(held_runs(), LAUNCHERS);
    context = rig_open(&fix);
    (void)rig_get(&fix, context, "adder:step=5", "cpu:gfx90a", GROAT_FROM_DISK);
    ck_assert_uint_eq(rig_stat(context).entries, 1);
    groat_close(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("race");
    TCase *tests = tcase_create("race");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, each_key_is_compiled_once, 0, 2);
    tcase_add_test(tests, each_key_is_read_once);
    tcase_add_loop_test(tests, a_failure_is_everyones, 0, 3);
    tcase_add_loop_test(tests, builds_share_a_compile, 1, 3);
    tcase_add_test(tests, builds_without_a_store);
    tcase_add_test(tests, a_stored_binary_that_is_refused);
    tcase_add_test(tests, a_compile_holds_up_no_other_key);
    tcase_add_test(tests, look_ups_while_kernels_come);
    tcase_add_test(tests, launches_side_by_side);
    tcase_add_test(tests, contexts_share_a_store);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
