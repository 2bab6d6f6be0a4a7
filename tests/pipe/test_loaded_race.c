/* SPDX-License-Identifier: Apache-2.0
 *
 * test_loaded_race.c: threads that get, look up, launch and release kernels
 * while other kernels are unloaded to keep the bound.  Every launch adds what
 * it should; a kernel with a reference stays where it is; the bound holds once
 * all references are dropped, in bytes, in mapped files and in descriptors.
 */
#include "rig.h"

#include <dirent.h>
#include <stdatomic.h>

enum { KERNELS = 5, THREADS = 4, ROUNDS = 60 };

static rig fix;
static const char target[] = "cpu:gfx950";

/* State that the threads share. */
typedef struct yard {
    groat_context *context;
    groat_kernel *pinned; /* adds 1; a reference is held all the time */
    atomic_int wrong;
    atomic_int unloaded; /* times that a held kernel was not in memory */
} yard;

typedef struct hand {
    yard *yard;
    uint64_t random;
    pthread_t thread;
} hand;

static void spec_of(char spec[32], unsigned step)
{
    (void)snprintf(spec, 32, "adder:step=%u", step);
}

/* Uses a kernel with a reference, or as a look-up returns it: that one may be
 * unloaded before it is launched, and is loaded again. */
static void work_once(hand *h)
{
    yard *y = h->yard;
    unsigned step = 1 + (unsigned)(next_random(&h->random) % KERNELS);
    bool held = next_random(&h->random) % 4 != 0;
    groat_kernel *kernel = NULL;
    char spec[32];

    spec_of(spec, step);
    if (!held)
        kernel = groat_kernel_lookup(y->context, spec, target);
    if (kernel == NULL) {
        held = true;
        if (groat_kernel_get(y->context, spec, target, &kernel, NULL, NULL) !=
            GROAT_OK) {
            (void)atomic_fetch_add(&y->wrong, 1);
            return;
        }
    }
    if (held && groat_kernel_lookup(y->context, spec, target) != kernel)
        (void)atomic_fetch_add(&y->unloaded, 1);
    if (!rig_adds(y->context, target, kernel, step))
        (void)atomic_fetch_add(&y->wrong, 1);
    if (held)
        groat_kernel_release(kernel);
    if (groat_kernel_lookup(y->context, "adder:step=1", target) != y->pinned)
        (void)atomic_fetch_add(&y->unloaded, 1);
}

static void *work(void *user)
{
    hand *h = user;

    for (unsigned i = 0; i < ROUNDS; i += test_step())
        work_once(h);
    return NULL;
}

/* Counts the open files of loaded kernels. */
static unsigned open_kernels(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;
    struct dirent *item;

    ck_assert_ptr_nonnull(folder);
    while ((item = readdir(folder)) != NULL) {
        char to[256] = "";

        if (readlinkat(dirfd(folder), item->d_name, to, sizeof(to) - 1) > 0 &&
            strstr(to, "groat-kernel") != NULL)
            count++;
    }
    (void)closedir(folder);
    return count;
}

/* Compiles all kernels into the store; returns the size of the largest. */
static uint64_t compile_all(void)
{
    groat_context *context = rig_open(&fix);
    uint64_t most = 0;

    for (unsigned step = 1; step <= KERNELS; step++) {
        groat_kernel_info info = {.size = sizeof(info)};
        char spec[32];

        spec_of(spec, step);
        ck_assert_int_eq(
            groat_kernel_info_get(
                rig_get(&fix, context, spec, target, GROAT_FROM_COMPILER),
                &info, NULL),
            GROAT_OK);
        if ((uint64_t)info.facts.code_bytes > most)
            most = (uint64_t)info.facts.code_bytes;
    }
    ck_assert_uint_eq(open_kernels(), KERNELS);
    groat_close(context);
    ck_assert_uint_eq(open_kernels(), 0);
    return most;
}

START_TEST(threads_and_a_bound)
{
    groat_options options;
    yard y = {.wrong = 0};
    hand hands[THREADS];
    groat_cache_stat stat;

    rig_make(&fix);
    rig_write_adder(&fix);
    options = rig_options(&fix);
    options.loaded_max_bytes = 2 * compile_all() + 1;
    y.context = rig_open_with(&fix, &options);
    y.pinned =
        rig_get(&fix, y.context, "adder:step=1", target, GROAT_FROM_DISK);
    for (unsigned i = 0; i < THREADS; i++) {
        hands[i] = (hand){.yard = &y, .random = i};
        ck_assert_int_eq(
            pthread_create(&hands[i].thread, NULL, work, &hands[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        (void)pthread_join(hands[i].thread, NULL);
    ck_assert_int_eq(atomic_load(&y.wrong), 0);
    ck_assert_int_eq(atomic_load(&y.unloaded), 0);
    stat = rig_stat(y.context);
    ck_assert_uint_gt(stat.unloads, 0);
    ck_assert_uint_eq(stat.compiles, 0);
    ck_assert_uint_eq(stat.loads - stat.unloads, open_kernels());
    /* A launch after a look-up ends without a sweep: the next wait makes up for
     * it. */
    ck_assert_int_eq(groat_synchronize(y.context, target, &fix.error),
                     GROAT_OK);
    stat = rig_stat(y.context);
    ck_assert_uint_le(stat.loaded_bytes, options.loaded_max_bytes);
    ck_assert_uint_le(open_kernels(), 2);
    ck_assert_ptr_eq(
        rig_get(&fix, y.context, "adder:step=1", target, GROAT_FROM_MEMORY),
        y.pinned);
    groat_close(y.context);
    ck_assert_uint_eq(open_kernels(), 0);
    rig_drop(&fix);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loaded_race");
    TCase *tests = tcase_create("bound");

    tcase_add_test(tests, threads_and_a_bound);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
