/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_serving.c [THREADS]: prints, as one JSON object, what groat costs a
 * server on a cpu target:
 *
 *   hit      a get from memory, alone and while another thread compiles
 *   threads  look-ups per second of one kernel by its spec's text, of THREADS
 * threads (16, or the cores if fewer) against THREADS times those of one; also
 * gets and releases, which change a counter of the context and one of the
 * kernel
 *
 * Both sides of a ratio take turns.  A rate in processor time excludes the time
 * in which other load ran.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "groat.h"
#include "tests/bench/bench.h"

enum {
    TURNS = 7,
    GETS = 100000,
    LOOKUPS = 2000000, /* per thread */
    THREADS = 16,
    THREADS_MAX = 1024
};

static const char target[] = "cpu:gfx950";
static const char hot[] = "tile_loader_lds:tile_rows=64";

static void check(groat_status status, const groat_error *error)
{
    if (status != GROAT_OK)
        die(error->text);
}

static groat_context *open_in(const char *dir)
{
    groat_options options = GROAT_OPTIONS_INIT;
    groat_error error = GROAT_ERROR_INIT;
    groat_context *context = NULL;

    options.cache_dir = dir;
    check(groat_open(&options, &context, &error), &error);
    return context;
}

/* ---- hits ---------------------------------------------------------------- */

typedef struct builder {
    groat_context *context;
    atomic_bool stop;
    unsigned built;
} builder;

/* Builds another kernel each time. */
static void *build_on(void *user)
{
    builder *b = user;
    groat_error error = GROAT_ERROR_INIT;
    static unsigned next = 1;

    while (!atomic_load(&b->stop)) {
        groat_spec *spec = NULL;
        char text[96];

        (void)snprintf(text, sizeof(text), "tile_loader_lds:ld=%u",
                       1024 + 16 * next++);
        check(groat_spec_parse(b->context, text, target, &spec, &error),
              &error);
        check(groat_build(spec, NULL, NULL, NULL, &error), &error);
        groat_spec_free(spec);
        b->built++;
    }
    return NULL;
}

/* The 99th percentile of gets, in us. */
static double hit_p99(groat_context *context, double *times)
{
    groat_error error = GROAT_ERROR_INIT;

    for (int i = 0; i < GETS; i++) {
        double start = now_ns() * 1e-3;
        groat_kernel *kernel = NULL;

        check(groat_kernel_get(context, hot, target, &kernel, NULL, &error),
              &error);
        groat_kernel_release(kernel);
        times[i] = now_ns() * 1e-3 - start;
    }
    qsort(times, GETS, sizeof(*times), compare);
    return times[GETS - GETS / 100];
}

static void bench_hits(void)
{
    double *times = calloc(GETS, sizeof(*times));
    double idle[TURNS];
    double busy[TURNS];
    double ratios[TURNS];
    unsigned built = 0;
    char dir[256];
    groat_context *context;

    if (times == NULL)
        die("no memory");
    make_dir(dir);
    context = open_in(dir);
    (void)hit_p99(context, times);
    for (int i = 0; i < TURNS; i++) {
        builder b = {.context = context};
        pthread_t thread;

        idle[i] = hit_p99(context, times);
        if (pthread_create(&thread, NULL, build_on, &b) != 0)
            die("no thread");
        busy[i] = hit_p99(context, times);
        atomic_store(&b.stop, true);
        (void)pthread_join(thread, NULL);
        built += b.built;
        ratios[i] = busy[i] / idle[i];
    }
    printf("  \"hit\": {\"gets\": %d, \"compiles_meanwhile\": %u, "
           "\"idle_p99_us\": %.3f, \"busy_p99_us\": %.3f, "
           "\"busy_to_idle\": %.2f},\n",
           GETS, built, median(idle, TURNS), median(busy, TURNS),
           median(ratios, TURNS));
    groat_close(context);
    remove_dir(dir);
    free(times);
}

/* ---- threads ------------------------------------------------------------- */

typedef struct seeker {
    pthread_t thread;
    groat_context *context;
    pthread_barrier_t *start;
    bool get;    /* get and release, instead of a look-up */
    double rate; /* per microsecond, as is spent_rate */
    double spent_rate;
} seeker;

static void seek(const seeker *s)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_kernel *kernel = NULL;

    for (int i = 0; i < LOOKUPS; i++) {
        if (s->get) {
            check(groat_kernel_get(s->context, hot, target, &kernel, NULL,
                                   &error),
                  &error);
            groat_kernel_release(kernel);
        } else if (groat_kernel_lookup(s->context, hot, target) == NULL) {
            die("a look-up missed");
        }
    }
}

static void *seek_on(void *user)
{
    seeker *s = user;
    double start;
    double spent;

    (void)pthread_barrier_wait(s->start);
    start = now_ns();
    spent = spent_ns();
    seek(s);
    s->rate = LOOKUPS / (now_ns() - start) * 1e3;
    s->spent_rate = LOOKUPS / (spent_ns() - spent) * 1e3;
    return NULL;
}

/* Runs so many threads at once and returns the sums of their rates. */
static seeker crowd(groat_context *context, unsigned threads, bool get)
{
    seeker *s = calloc(threads, sizeof(*s));
    seeker sum = {.get = get};
    pthread_barrier_t start;

    if (s == NULL || pthread_barrier_init(&start, NULL, threads) != 0)
        die("no memory");
    for (unsigned i = 0; i < threads; i++) {
        s[i] = (seeker){.context = context, .start = &start, .get = get};
        if (pthread_create(&s[i].thread, NULL, seek_on, &s[i]) != 0)
            die("no thread");
    }
    for (unsigned i = 0; i < threads; i++) {
        (void)pthread_join(s[i].thread, NULL);
        sum.rate += s[i].rate;
        sum.spent_rate += s[i].spent_rate;
    }
    (void)pthread_barrier_destroy(&start);
    free(s);
    return sum;
}

static void compare_threads(groat_context *context, unsigned threads, bool get)
{
    double of[6][TURNS];

    for (int i = 0; i < TURNS; i++) {
        seeker one = crowd(context, 1, get);
        seeker all = crowd(context, threads, get);

        of[0][i] = one.rate;
        of[1][i] = all.rate;
        of[2][i] = all.rate / (threads * one.rate);
        of[3][i] = one.spent_rate;
        of[4][i] = all.spent_rate;
        of[5][i] = all.spent_rate / (threads * one.spent_rate);
    }
    for (int c = 0; c < 6; c++)
        of[c][0] = median(of[c], TURNS);
    printf("    \"%s\": {\"one_per_us\": %.2f, \"all_per_us\": %.2f, "
           "\"all_to_threads_times_one\": %.3f,\n"
           "      \"one_per_cpu_us\": %.2f, \"all_per_cpu_us\": %.2f, "
           "\"all_to_threads_times_one_cpu\": %.3f}%s\n",
           get ? "get_and_release" : "lookup", of[0][0], of[1][0], of[2][0],
           of[3][0], of[4][0], of[5][0], get ? "" : ",");
}

static void bench_threads(unsigned threads)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_kernel *kernel = NULL;
    groat_context *context;
    char dir[256];

    make_dir(dir);
    context = open_in(dir);
    check(groat_kernel_get(context, hot, target, &kernel, NULL, &error),
          &error);
    (void)crowd(context, threads, false);
    printf("  \"threads\": {\n    \"threads\": %u,\n", threads);
    compare_threads(context, threads, false);
    compare_threads(context, threads, true);
    printf("  }\n");
    groat_kernel_release(kernel);
    groat_close(context);
    remove_dir(dir);
}

int main(int argc, char **argv)
{
    long threads = count_cores() < THREADS ? (long)count_cores() : THREADS;

    if (argc > 1)
        threads = strtol(argv[1], NULL, 10);
    if (argc > 2 || threads < 1 || threads > THREADS_MAX)
        die("bench_serving [THREADS]; THREADS is 1 to 1024");
    printf("{\n  \"format\": 1,\n  \"target\": \"%s\",\n", target);
    bench_hits();
    bench_threads((unsigned)threads);
    printf("}\n");
    return 0;
}
