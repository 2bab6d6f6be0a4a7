/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_serving.c: prints, as one JSON object, what a server sees of groat on a
 * cpu target:
 *
 *   hit         a get from memory, alone and while another thread compiles
 *   put         what a store takes of the caller's time, of that of a compile
 *   warm_start  a list of kernels from a bundle, against loading the same
 *               files with dlopen
 *
 * Both sides of a ratio are taken in turn.
 */
#include <dlfcn.h>
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
    KERNELS = 24 /* of the warm start */
};

static const char target[] = "cpu:gfx950";
static const char hot[] = "tile_loader_lds:tile_rows=64";

static void check(groat_status status, const groat_error *error)
{
    if (status != GROAT_OK)
        die(error->text);
}

static groat_context *open_in(const char *dir, const char *const *bundle)
{
    groat_options options = GROAT_OPTIONS_INIT;
    groat_error error = GROAT_ERROR_INIT;
    groat_context *context = NULL;

    options.cache_dir = dir;
    options.bundles = bundle;
    options.bundle_count = bundle == NULL ? 0 : 1;
    options.allow_unsigned = 1;
    check(groat_open(&options, &context, &error), &error);
    return context;
}

/* ---- hits ------------------------------------------------------------------
 */

typedef struct builder {
    groat_context *context;
    atomic_bool stop;
    unsigned built;
} builder;

/* Each time another kernel. */
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
    context = open_in(dir, NULL);
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

/* ---- puts, and a warm start ------------------------------------------------
 */

static void name_kernel(unsigned i, char out[96])
{
    (void)snprintf(out, 96, "tile_loader_lds:ld=%u", 1024 + 16 * i);
}

static double stage_sum_s(groat_context *context, const char *stage)
{
    groat_error error = GROAT_ERROR_INIT;
    char name[96];
    char *text = NULL;
    const char *at;
    double sum;

    check(groat_metrics(context, GROAT_METRICS_PROMETHEUS, &text, &error),
          &error);
    (void)snprintf(name, sizeof(name), "groat_stage_seconds_sum{stage=\"%s\"} ",
                   stage);
    at = strstr(text, name);
    if (at == NULL)
        die(name);
    sum = strtod(at + strlen(name), NULL);
    groat_free(text);
    return sum;
}

/* Compiles the kernels, writes each one's file, and a bundle of all. */
static void fill(const char *dir, const char *bundle)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_context *context = open_in(dir, NULL);

    for (unsigned i = 0; i < KERNELS; i++) {
        groat_spec *spec = NULL;
        void *binary = NULL;
        size_t bytes = 0;
        char text[96];
        char path[300];
        FILE *file;

        name_kernel(i, text);
        check(groat_spec_parse(context, text, target, &spec, &error), &error);
        check(groat_build(spec, &binary, &bytes, NULL, &error), &error);
        (void)snprintf(path, sizeof(path), "%s/%u.so", dir, i);
        file = fopen(path, "w");
        if (file == NULL || fwrite(binary, 1, bytes, file) != bytes ||
            fclose(file) != 0)
            die(path);
        groat_free(binary);
        groat_spec_free(spec);
    }
    printf(
        "  \"put\": {\"compiles\": %d, \"compile_s\": %.4f, \"put_s\": %.5f, "
        "\"put_to_compile\": %.5f},\n",
        KERNELS, stage_sum_s(context, "compile"), stage_sum_s(context, "put"),
        stage_sum_s(context, "put") / stage_sum_s(context, "compile"));
    check(groat_bundle_export(context, bundle, NULL, 0, NULL, NULL, &error),
          &error);
    groat_close(context);
}

/* All kernels from the bundle, of a server that has just started; us.  The
 * first, which asks the compiler who it is, is apart. */
static double start_warm(const char *const *bundle, double *first)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_cache_stat stat = {.size = sizeof(stat)};
    groat_context *context;
    double start;
    char dir[256];

    make_dir(dir);
    context = open_in(dir, bundle);
    start = now_ns() * 1e-3;
    for (unsigned i = 0; i < KERNELS; i++) {
        groat_kernel *kernel = NULL;
        char text[96];

        name_kernel(i, text);
        check(groat_kernel_get(context, text, target, &kernel, NULL, &error),
              &error);
        groat_kernel_release(kernel);
        if (i == 0) {
            *first = now_ns() * 1e-3 - start;
            start = now_ns() * 1e-3;
        }
    }
    start = now_ns() * 1e-3 - start;
    check(groat_cache_stat_get(context, &stat, &error), &error);
    if (stat.compiles != 0)
        die("a kernel of the bundle was compiled");
    groat_close(context);
    remove_dir(dir);
    return start;
}

static double load_raw(const char *dir)
{
    void *loaded[KERNELS];
    double start = now_ns() * 1e-3;

    for (unsigned i = 0; i < KERNELS; i++) {
        char path[300];

        (void)snprintf(path, sizeof(path), "%s/%u.so", dir, i);
        loaded[i] = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (loaded[i] == NULL)
            die(dlerror());
        if (i == 0)
            start = now_ns() * 1e-3;
    }
    start = now_ns() * 1e-3 - start;
    for (unsigned i = 0; i < KERNELS; i++)
        (void)dlclose(loaded[i]);
    return start;
}

static void bench_warm_start(void)
{
    double warm[TURNS];
    double raw[TURNS];
    double first[TURNS];
    double ratios[TURNS];
    char dir[256];
    char bundle[300];
    const char *const bundles[] = {bundle};

    make_dir(dir);
    (void)snprintf(bundle, sizeof(bundle), "%s/kernels.bundle", dir);
    fill(dir, bundle);
    (void)load_raw(dir);
    for (int i = 0; i < TURNS; i++) {
        raw[i] = load_raw(dir);
        warm[i] = start_warm(bundles, &first[i]);
        ratios[i] = warm[i] / raw[i];
    }
    printf("  \"warm_start\": {\"kernels\": %d, \"compiles\": 0, "
           "\"first_ms\": %.2f, \"others_ms\": %.3f, \"raw_ms\": %.3f, "
           "\"others_to_raw\": %.2f}\n",
           KERNELS, median(first, TURNS) * 1e-3, median(warm, TURNS) * 1e-3,
           median(raw, TURNS) * 1e-3, median(ratios, TURNS));
    remove_dir(dir);
}

int main(void)
{
    printf("{\n  \"format\": 1,\n  \"target\": \"%s\",\n", target);
    bench_hits();
    bench_warm_start();
    printf("}\n");
    return 0;
}
