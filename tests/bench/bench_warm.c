/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_warm.c [KERNELS [TARGET]]: prints, as one JSON object, the cost for a
 * server to start from a bundle (default: 100 kernels for cpu:gfx950):
 *
 *   put         the caller's time for a put, as a share of a compile
 *   warm_start  a get of each kernel from a bundle, against a raw load of the
 *               same binaries, which are in memory, and the look-up of their
 *               functions: cuModuleLoadData or hipModuleLoadData; for a cpu
 *               target a file in memory and dlopen, and dlopen alone of files
 *
 * The first kernel of a start, which opens the compiler and the device, is
 * listed separately.  The sides take turns and alternate in going first.  A
 * compile, or a process that is started after the first kernel, is an error.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/bench/raw.h"
#include "groat.h"
#include "groat_serve.h"
#include "groat_store.h"
#include "tests/bench/bench.h"

enum { TURNS = 15, KERNELS_MAX = 4000 };

typedef struct kernel {
    char spec[96];
    char name[256]; /* of its function */
    char path[300];
    void *binary;
    size_t bytes;
    void *loaded;
    int fd; /* of a file in memory, or -1 */
} kernel;

typedef struct bench {
    const char *target;
    char backend[8];
    unsigned count;
    kernel *kernels;
    char dir[256];
    char bundle[300];
    size_t bytes; /* of all binaries */
    groat__raw raw;
} bench;

static void check(groat_status status, const groat_error *error)
{
    if (status != GROAT_OK)
        die(error->text);
}

static groat_context *open_in(const char *dir, const char *bundle)
{
    const char *const bundles[] = {bundle};
    groat_options options = GROAT_OPTIONS_INIT;
    groat_error error = GROAT_ERROR_INIT;
    groat_context *context = NULL;

    options.cache_dir = dir;
    options.bundles = bundles;
    options.bundle_count = bundle == NULL ? 0 : 1;
    options.allow_unsigned = 1;
    check(groat_open(&options, &context, &error), &error);
    return context;
}

static bool is_cpu(const bench *b)
{
    return strcmp(b->backend, "cpu") == 0;
}

/* ---- binaries to load ---------------------------------------------------- */

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

/* Compiles kernel i and writes its file. */
static void make_kernel(bench *b, groat_context *context, unsigned i)
{
    groat_kernel_info info = {.size = sizeof(info)};
    groat_error error = GROAT_ERROR_INIT;
    kernel *k = &b->kernels[i];
    groat_spec *spec = NULL;
    FILE *file;

    (void)snprintf(k->spec, sizeof(k->spec), "tile_loader_lds:ld=%u",
                   1024 + 16 * i);
    check(groat_spec_parse(context, k->spec, b->target, &spec, &error), &error);
    check(groat_build(spec, &k->binary, &k->bytes, &info, &error), &error);
    (void)snprintf(k->name, sizeof(k->name), "%s", info.name);
    (void)snprintf(k->path, sizeof(k->path), "%s/%u.so", b->dir, i);
    file = fopen(k->path, "w");
    if (file == NULL || fwrite(k->binary, 1, k->bytes, file) != k->bytes ||
        fclose(file) != 0)
        die(k->path);
    b->bytes += k->bytes;
    groat_spec_free(spec);
}

static void fill(bench *b)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_context *context;

    make_dir(b->dir);
    (void)snprintf(b->bundle, sizeof(b->bundle), "%s/kernels.bundle", b->dir);
    context = open_in(b->dir, NULL);
    for (unsigned i = 0; i < b->count; i++)
        make_kernel(b, context, i);
    printf("  \"put\": {\"compiles\": %u, \"compile_s\": %.4f, \"put_s\": "
           "%.5f, \"put_to_compile\": %.5f},\n",
           b->count, stage_sum_s(context, "compile"),
           stage_sum_s(context, "put"),
           stage_sum_s(context, "put") / stage_sum_s(context, "compile"));
    check(groat_bundle_export(context, b->bundle, NULL, 0, NULL, NULL, &error),
          &error);
    groat_close(context);
}

/* ---- the two sides ------------------------------------------------------- */

/* Nonzero if the process has waited for children: each has page faults. */
static long children(void)
{
    struct rusage use;

    (void)getrusage(RUSAGE_CHILDREN, &use);
    return use.ru_minflt + use.ru_majflt;
}

typedef struct figures {
    double first; /* us, like the others */
    double others;
    double spent; /* of the others: processor time */
    double read;  /* of the others: groat's own stages */
    double load;
    bool first_starts; /* processes */
} figures;

static void get(const bench *b, groat_context *context, unsigned i)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_origin origin = GROAT_FROM_COMPILER;
    groat_kernel *got = NULL;

    check(groat_kernel_get(context, b->kernels[i].spec, b->target, &got,
                           &origin, &error),
          &error);
    if (origin != GROAT_FROM_BUNDLE)
        die("a kernel did not come from the bundle");
    groat_kernel_release(got);
}

/* Gets all kernels from the bundle, like a server that has just started. */
static figures start_warm(const bench *b)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_cache_stat stat = {.size = sizeof(stat)};
    groat_context *context;
    figures f = {0};
    double start;
    long before = children();
    char dir[256];

    make_dir(dir);
    context = open_in(dir, b->bundle);
    start = now_ns();
    get(b, context, 0);
    f.first = (now_ns() - start) * 1e-3;
    f.first_starts = children() != before;
    before = children();
    f.read = -stage_sum_s(context, "read") * 1e6;
    f.load = -stage_sum_s(context, "load") * 1e6;
    start = now_ns();
    f.spent = -spent_ns() * 1e-3;
    for (unsigned i = 1; i < b->count; i++)
        get(b, context, i);
    f.spent += spent_ns() * 1e-3;
    f.others = (now_ns() - start) * 1e-3;
    f.read += stage_sum_s(context, "read") * 1e6;
    f.load += stage_sum_s(context, "load") * 1e6;
    check(groat_cache_stat_get(context, &stat, &error), &error);
    if (stat.compiles != 0 || children() != before)
        die("a kernel was compiled, or a process was started");
    groat_close(context);
    remove_dir(dir);
    return f;
}

static bool open_shared(kernel *k, const char *path)
{
    k->loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return k->loaded != NULL && dlsym(k->loaded, k->name) != NULL;
}

static bool open_bytes(kernel *k)
{
    char path[32];

    k->fd = memfd_create("bench", MFD_CLOEXEC);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", k->fd);
    return k->fd >= 0 &&
           write(k->fd, k->binary, k->bytes) == (ssize_t)k->bytes &&
           open_shared(k, path);
}

static void load_raw(const bench *b, kernel *k, bool file)
{
    void *function = NULL;
    bool good;

    k->fd = -1;
    if (is_cpu(b))
        good = file ? open_shared(k, k->path) : open_bytes(k);
    else
        good = b->raw.load(&k->loaded, k->binary) == 0 &&
               b->raw.function(&function, k->loaded, k->name) == 0;
    if (!good)
        die("a raw load failed");
}

static void unload_raw(const bench *b, kernel *k)
{
    if (is_cpu(b))
        (void)dlclose(k->loaded);
    else
        (void)b->raw.unload(k->loaded);
    if (k->fd >= 0)
        (void)close(k->fd);
}

static figures start_raw(const bench *b, bool file)
{
    figures f = {0};

    load_raw(b, &b->kernels[0], file);
    f.others = -now_ns() * 1e-3;
    f.spent = -spent_ns() * 1e-3;
    for (unsigned i = 1; i < b->count; i++)
        load_raw(b, &b->kernels[i], file);
    f.spent += spent_ns() * 1e-3;
    f.others += now_ns() * 1e-3;
    for (unsigned i = 0; i < b->count; i++)
        unload_raw(b, &b->kernels[i]);
    return f;
}

/* The vendor's library is found once groat has opened it: this context keeps
 * the library and the device open. */
static groat_context *open_raw(bench *b, char dir[256])
{
    groat_context *context;

    make_dir(dir);
    context = open_in(dir, b->bundle);
    get(b, context, 0);
    groat__raw_open(b->backend, 0, &b->raw);
    if (!is_cpu(b) && (b->raw.load == NULL || b->raw.function == NULL ||
                       !groat__raw_enter(&b->raw)))
        die("the vendor's calls are not to be had");
    return context;
}

enum { OURS, RAW, FILES, SPENT, RAW_SPENT, RATIO, FIRST, READ, LOAD, COLUMNS };

/* Collects the times of all turns, in ms, sorted. */
static void take_turns(const bench *b, double of[COLUMNS][TURNS],
                       bool *first_starts)
{
    for (int i = 0; i < TURNS; i++) {
        figures raw = {0};
        figures f;

        if (i % 2 == 0)
            raw = start_raw(b, false);
        f = start_warm(b);
        if (i % 2 != 0)
            raw = start_raw(b, false);
        of[OURS][i] = f.others * 1e-3;
        of[RAW][i] = raw.others * 1e-3;
        of[FILES][i] = is_cpu(b) ? start_raw(b, true).others * 1e-3 : 0;
        of[SPENT][i] = f.spent * 1e-3;
        of[RAW_SPENT][i] = raw.spent * 1e-3;
        of[RATIO][i] = f.others / raw.others;
        of[FIRST][i] = f.first * 1e-3;
        of[READ][i] = f.read * 1e-3;
        of[LOAD][i] = f.load * 1e-3;
        *first_starts = *first_starts || f.first_starts;
    }
    for (int c = 0; c < COLUMNS; c++)
        (void)median(of[c], TURNS);
}

static void bench_warm_start(bench *b)
{
    enum { MIDDLE = TURNS / 2 };
    double of[COLUMNS][TURNS];
    bool first_starts = false;
    char dir[256];
    groat_context *keeper = open_raw(b, dir);

    (void)start_raw(b, false);
    take_turns(b, of, &first_starts);
    printf("  \"warm_start\": {\n"
           "    \"kernels\": %u, \"bytes\": %zu, \"compiles\": 0,\n"
           "    \"first_ms\": %.2f, \"first_starts_a_process\": %s,\n"
           "    \"others_start_a_process\": false,\n"
           "    \"others_ms\": %.3f, \"read_ms\": %.3f, \"load_ms\": %.3f,\n"
           "    \"raw_ms\": %.3f, \"others_to_raw\": %.3f,\n"
           "    \"others_to_raw_range\": [%.3f, %.3f],\n"
           "    \"others_cpu_ms\": %.3f, \"raw_cpu_ms\": %.3f, "
           "\"others_to_raw_cpu\": %.3f",
           b->count, b->bytes, of[FIRST][MIDDLE],
           first_starts ? "true" : "false", of[OURS][MIDDLE], of[READ][MIDDLE],
           of[LOAD][MIDDLE], of[RAW][MIDDLE], of[RATIO][MIDDLE], of[RATIO][0],
           of[RATIO][TURNS - 1], of[SPENT][MIDDLE], of[RAW_SPENT][MIDDLE],
           of[SPENT][MIDDLE] / of[RAW_SPENT][MIDDLE]);
    if (is_cpu(b))
        printf(",\n    \"raw_files_ms\": %.3f, \"others_to_raw_files\": %.3f",
               of[FILES][MIDDLE], of[OURS][MIDDLE] / of[FILES][MIDDLE]);
    printf("\n  }\n");
    groat__raw_close(&b->raw);
    groat_close(keeper);
    remove_dir(dir);
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
    bench b = {.target = argc > 2 ? argv[2] : "cpu:gfx950"};

    if (argc > 3 || count < 2 || count > KERNELS_MAX)
        die("bench_warm [KERNELS [TARGET]]; KERNELS is 2 to 4000");
    b.count = (unsigned)count;
    b.kernels = calloc(b.count, sizeof(*b.kernels));
    if (b.kernels == NULL)
        die("no memory");
    (void)snprintf(b.backend, sizeof(b.backend), "%.*s",
                   (int)strcspn(b.target, ":"), b.target);
    printf("{\n  \"format\": 1,\n  \"target\": \"%s\",\n", b.target);
    fill(&b);
    bench_warm_start(&b);
    printf("}\n");
    for (unsigned i = 0; i < b.count; i++)
        groat_free(b.kernels[i].binary);
    free(b.kernels);
    remove_dir(b.dir);
    return 0;
}
