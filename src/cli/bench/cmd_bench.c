/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_bench.c - groat bench: measures groat against the vendor's calls.
 *
 *   hit   launch through a handle, and lookup by spec + launch, against the
 *         raw launch call; lookup alone
 *   cold  a first groat_kernel_get against a raw compile of an empty kernel
 *   disk  a groat_kernel_get answered by the store against a raw module load
 *         of the same binary
 *   build  compile times against an empty kernel's (bench/build.c)
 *   stream  bandwidth of kernels against a plain read (bench/stream.c)
 *
 * Both sides of a ratio are measured alternately in one run, each is the median
 * of many rounds, and both are printed.  Figures never pass or fail.
 * Owns the rounds and their output; bench/raw.c has the vendor's calls,
 * scratch.c the store.
 * Invariant: a figure that cannot be measured is reported as such, not printed.
 * Locking: a barrier starts the threads of a round together; they only read the
 * data that they share.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/bench/bench.h"
#include "cli/run/trial.h"
#include "kernels-src/driver/measured.h"
#include "groat_store.h"

enum {
    BATCH = 400,      /* launches between two synchronizations */
    ROUNDS = 41,      /* medians are of this many batches      */
    LOOKUPS = 200000, /* lookups per sample                    */
    THREADS = 16,
    COLD_ROUNDS = 9,
    DISK_ROUNDS = 41
};

typedef groat__bench bench;

/* State shared by the launches of `hit`. */
typedef struct shot {
    groat_context *context;
    const char *target;
    groat_kernel *kernel;
    groat_kernel_info info;
    void *native;
    const groat__raw *raw;
    groat_launch launch;
    groat_plan plan;
    uint64_t output;
    atomic_uint *failed; /* counts launches that fail */
} shot;

typedef enum mode { RAW_LAUNCH, HANDLE_LAUNCH, LOOKUP_LAUNCH, LOOKUP } mode;

static bool is_named(const groat__cli *cli, const char *name)
{
    for (size_t i = 0; i < cli->word_count; i++)
        if (strcmp(cli->words[i], name) == 0)
            return true;
    return false;
}

/* Finds out whether the target has a device here.  Without one, a bench that
 * was requested by name fails, and others are skipped; name is NULL for a bench
 * that needs no device. */
static groat_status look(bench *b, const char *name, bool *runs)
{
    uint64_t address = 0;
    groat_status status =
        groat_memory_alloc(b->context, b->target, 16, &address, &b->error);

    *runs = status == GROAT_OK;
    if (*runs)
        groat_memory_free(b->context, b->target, address);
    if (status != GROAT_NO_DEVICE || (name && is_named(b->cli, name)))
        return status;
    if (name)
        groat__cli_say(b->cli, "%s is not measured: %s", name, b->error.text);
    groat_error_clear(&b->error);
    return GROAT_OK;
}

/* ---- hit --------------------------------------------------------------- */

static void fire(const shot *s, mode how, unsigned count)
{
    void *params[] = {(void *)(uintptr_t)s->plan.args};
    const unsigned *block = s->info.block;
    unsigned failed = 0;

    for (unsigned i = 0; i < count; i++) {
        groat_kernel *kernel = s->kernel;

        if (how == RAW_LAUNCH) {
            failed +=
                s->raw->launch(s->native, 1, 1, 1, block[0], block[1], block[2],
                               s->info.shared_bytes, NULL, params, NULL) != 0;
            continue;
        }
        if (how != HANDLE_LAUNCH)
            kernel = groat_kernel_lookup(s->context, groat_smallest_kernel,
                                         s->target);
        if (how != LOOKUP)
            failed += groat_kernel_launch(kernel, &s->launch, s->plan.args,
                                          s->plan.args_bytes, NULL) != GROAT_OK;
        else if (kernel == NULL)
            abort(); /* it is loaded, so the look-up cannot miss */
    }
    atomic_fetch_add(s->failed, failed);
}

static double batch_us(const shot *s, mode how, unsigned count)
{
    double start = groat__now_ms();
    double end;

    fire(s, how, count);
    end = groat__now_ms();
    (void)groat_synchronize(s->context, s->target, NULL);
    return (end - start) * 1e3 / count;
}

typedef struct worker {
    const shot *shot;
    mode how;
    unsigned count;
    pthread_barrier_t *start;
    double began_ms, ended_ms;
} worker;

static void *work(void *user)
{
    worker *w = user;

    (void)groat__raw_enter(w->shot->raw);
    (void)pthread_barrier_wait(w->start);
    w->began_ms = groat__now_ms();
    fire(w->shot, w->how, w->count);
    w->ended_ms = groat__now_ms();
    return NULL;
}

/* Returns the microseconds per operation of a thread while all threads run. */
static double crowd_us(const shot *s, mode how, unsigned count)
{
    pthread_t threads[THREADS];
    worker workers[THREADS];
    pthread_barrier_t start;
    double began_ms = HUGE_VAL;
    double ended_ms = 0;
    size_t running = 0;

    if (pthread_barrier_init(&start, NULL, THREADS) != 0)
        return 0;
    for (size_t i = 0; i < THREADS; i++)
        workers[i] = (worker){s, how, count, &start, 0, 0};
    while (running < THREADS && pthread_create(&threads[running], NULL, work,
                                               &workers[running]) == 0)
        running++;
    if (running < THREADS)
        abort(); /* the other threads would wait at the barrier for ever */
    for (size_t i = 0; i < running; i++) {
        (void)pthread_join(threads[i], NULL);
        began_ms = fmin(began_ms, workers[i].began_ms);
        ended_ms = fmax(ended_ms, workers[i].ended_ms);
    }
    (void)pthread_barrier_destroy(&start);
    (void)groat_synchronize(s->context, s->target, NULL);
    return (ended_ms - began_ms) * 1e3 / count;
}

static groat_status hit_launches(bench *b, const shot *s)
{
    double sample[3][ROUNDS];
    double crowd[3][ROUNDS];

    for (int how = 0; how < 3; how++) {
        (void)batch_us(s, (mode)how, BATCH);
        (void)crowd_us(s, (mode)how, BATCH / THREADS);
    }
    for (int r = 0; r < ROUNDS; r++)
        for (int how = 0; how < 3; how++) {
            sample[how][r] = batch_us(s, (mode)how, BATCH);
            crowd[how][r] = crowd_us(s, (mode)how, BATCH);
        }
    for (int how = 0; how < 3; how++) {
        sample[how][0] = groat__bench_median(sample[how], ROUNDS);
        crowd[how][0] = groat__bench_median(crowd[how], ROUNDS);
    }
    if (atomic_load(s->failed) > 0)
        return groat__fail(&b->error, GROAT_IO,
                           "%u launches failed, so none is measured",
                           atomic_load(s->failed));
    groat__bench_say(b, "launch through a handle", "us", sample[1][0],
                     "raw launch", sample[0][0]);
    groat__bench_say(b, "lookup by spec + launch", "us", sample[2][0],
                     "raw launch", sample[0][0]);
    groat__bench_say(b, "handle, each of 16 threads", "us", crowd[1][0],
                     "raw, 16 threads", crowd[0][0]);
    groat__bench_say(b, "lookup + launch, 16 threads", "us", crowd[2][0],
                     "raw, 16 threads", crowd[0][0]);
    return GROAT_OK;
}

static void hit_lookups(bench *b, const shot *s)
{
    double alone[9];
    double crowd[9];

    for (int r = 0; r < 9; r++) {
        double start = groat__now_ms();

        fire(s, LOOKUP, LOOKUPS);
        alone[r] = (groat__now_ms() - start) * 1e6 / LOOKUPS;
        crowd[r] = crowd_us(s, LOOKUP, LOOKUPS) * 1e3;
    }
    groat__bench_say(b, "lookup by spec, 1 thread", "ns",
                     groat__bench_median(alone, 9), NULL, 0);
    groat__bench_say(b, "lookup by spec, each of 16 threads", "ns",
                     groat__bench_median(crowd, 9), NULL, 0);
}

static groat_status prepare(bench *b, shot *s)
{
    const groat_driver *driver = groat_driver_of(groat_smallest_kernel);
    uint64_t addresses[2] = {0, 0};
    groat_spec *spec = NULL;
    groat_status status = groat_spec_parse(b->context, groat_smallest_kernel,
                                           b->target, &spec, &b->error);

    if (status == GROAT_OK)
        status = driver->plan(spec, groat_smallest_values, &s->plan, &b->error);
    if (status == GROAT_OK)
        status = groat_kernel_get(b->context, groat_smallest_kernel, b->target,
                                  &s->kernel, NULL, &b->error);
    if (status == GROAT_OK)
        status =
            groat_memory_alloc(b->context, b->target, s->plan.buffers[1].bytes,
                               &addresses[1], &b->error);
    if (status == GROAT_OK) {
        s->output = addresses[1];
        addresses[0] = addresses[1];
        status = driver->bind(b->context, spec, &s->plan, addresses, &b->error);
    }
    if (status == GROAT_OK) {
        s->native = groat_kernel_native(s->kernel);
        s->info.size = sizeof(s->info);
        status = groat_kernel_info_get(s->kernel, &s->info, NULL);
    }
    groat_spec_free(spec);
    return status;
}

static groat_status bench_hit(bench *b)
{
    atomic_uint failed = 0;
    shot s = {.context = b->context,
              .target = b->target,
              .raw = &b->raw,
              .launch = GROAT_LAUNCH_INIT,
              .failed = &failed};
    bool runs = false;
    groat_status status = look(b, "hit", &runs);

    if (!runs)
        return status;
    status = prepare(b, &s);
    if (status == GROAT_OK) {
        groat__raw_open(b->backend, (int)b->cli->values.device, &b->raw);
        if (b->raw.launch != NULL && s.native != NULL &&
            groat__raw_enter(&b->raw))
            status = hit_launches(b, &s);
        else
            groat__cli_say(b->cli,
                           "%s has no raw launch: only lookups are measured",
                           b->target);
        if (status == GROAT_OK)
            hit_lookups(b, &s);
    }
    groat_memory_free(b->context, b->target, s.output);
    groat_kernel_release(s.kernel);
    groat__raw_close(&b->raw);
    return status;
}

/* ---- cold and disk ----------------------------------------------------- */

/* Fails where a kernel came from elsewhere: the figure would be wrong. */
static groat_status check_origin(bench *b, groat_origin seen, groat_origin want)
{
    const char *path = groat_cache_path(b->context);

    if (seen == want)
        return GROAT_OK;
    return groat__fail(&b->error, GROAT_IO,
                       "a kernel for the bench is from %s, not %s; the "
                       "store is %s",
                       groat_origin_name(seen), groat_origin_name(want),
                       path ? path : "not available");
}

/* Compiles a new kernel, and loads it if `load`. */
static groat_status make_new(bench *b, unsigned number, bool load)
{
    groat_kernel_info info = {.size = sizeof(info),
                              .origin = GROAT_FROM_MEMORY};
    char text[GROAT_NUMBERED];
    groat_kernel *kernel = NULL;
    groat_spec *spec = NULL;
    groat_status status;

    groat_number_kernel(text, number);
    if (load) {
        status = groat_kernel_get(b->context, text, b->target, &kernel,
                                  &info.origin, &b->error);
        groat_kernel_release(kernel);
    } else {
        status =
            groat_spec_parse(b->context, text, b->target, &spec, &b->error);
        if (status == GROAT_OK)
            status = groat_build(spec, NULL, NULL, &info, &b->error);
        groat_spec_free(spec);
    }
    return status ? status : check_origin(b, info.origin, GROAT_FROM_COMPILER);
}

static groat_status bench_cold(bench *b)
{
    double raw[COLD_ROUNDS];
    double ours[COLD_ROUNDS];
    bool load = false;
    bool compared = true;
    groat_status status = look(b, NULL, &load);

    if (status == GROAT_OK)
        status = make_new(b, 0, load);
    if (status != GROAT_OK)
        return status;
    groat__raw_open(b->backend, (int)b->cli->values.device, &b->raw);
    (void)groat__bench_compile_raw(b, COLD_ROUNDS);
    for (unsigned r = 0; r < COLD_ROUNDS && status == GROAT_OK; r++) {
        double start = groat__now_ms();
        double middle;

        compared = groat__bench_compile_raw(b, r) && compared;
        middle = groat__now_ms();
        status = make_new(b, 1 + r, load);
        ours[r] = groat__now_ms() - middle;
        raw[r] = middle - start;
    }
    groat__raw_close(&b->raw);
    if (status != GROAT_OK)
        return status;
    groat__bench_say(b, load ? "first get, compiled and loaded" : "first build",
                     "ms", groat__bench_median(ours, COLD_ROUNDS),
                     compared ? "raw compile, empty" : NULL,
                     groat__bench_median(raw, COLD_ROUNDS));
    return GROAT_OK;
}

/* Loads and resolves a binary by the vendor's calls; microseconds, or -1. */
static double load_raw(bench *b, const void *binary, const char *name)
{
    double start = groat__now_ms();
    void *module = NULL;
    void *function = NULL;
    int failed = b->raw.load(&module, binary);
    double end;

    if (failed == 0)
        failed = b->raw.function(&function, module, name);
    end = groat__now_ms();
    if (module != NULL)
        (void)b->raw.unload(module);
    return failed != 0 ? -1 : (end - start) * 1e3;
}

/* A kernel that is in the store but not loaded. */
typedef struct stored {
    char spec[GROAT_NUMBERED];
    char name[256];
    void *binary;
} stored;

static groat_status store_one(bench *b, unsigned number, stored *s)
{
    groat_kernel_info info = {.size = sizeof(info)};
    groat_spec *spec = NULL;
    size_t bytes = 0;
    groat_status status;

    groat_number_kernel(s->spec, number);
    status = groat_spec_parse(b->context, s->spec, b->target, &spec, &b->error);
    if (status == GROAT_OK)
        status = groat_build(spec, &s->binary, &bytes, &info, &b->error);
    if (status == GROAT_OK)
        (void)snprintf(s->name, sizeof(s->name), "%s", info.name);
    groat_spec_free(spec);
    return status;
}

static groat_status get_one(bench *b, const stored *s, double *us)
{
    groat_kernel *kernel = NULL;
    groat_origin origin = GROAT_FROM_COMPILER;
    double start = groat__now_ms();
    groat_status status = groat_kernel_get(b->context, s->spec, b->target,
                                           &kernel, &origin, &b->error);

    *us = (groat__now_ms() - start) * 1e3;
    groat_kernel_release(kernel);
    return status ? status : check_origin(b, origin, GROAT_FROM_DISK);
}

/* Alternates which side goes first, as the driver may cache the module. */
static groat_status disk_rounds(bench *b, const stored *all, double *raw,
                                double *ours)
{
    groat_status status = GROAT_OK;

    for (unsigned r = 0; r < DISK_ROUNDS && status == GROAT_OK; r++) {
        bool has_raw = b->raw.load != NULL;

        if (has_raw && r % 2 == 0)
            raw[r] = load_raw(b, all[r].binary, all[r].name);
        status = get_one(b, &all[r], &ours[r]);
        if (has_raw && r % 2 != 0)
            raw[r] = load_raw(b, all[r].binary, all[r].name);
    }
    return status;
}

static groat_status bench_disk(bench *b)
{
    double raw[DISK_ROUNDS] = {0};
    double ours[DISK_ROUNDS] = {0};
    double middle;
    stored *all = NULL;
    bool runs = false;
    groat_status status = look(b, "disk", &runs);

    if (!runs)
        return status;
    all = calloc(DISK_ROUNDS, sizeof(*all));
    if (all == NULL)
        return groat__fail(&b->error, GROAT_NO_MEMORY, "out of memory");
    groat__raw_open(b->backend, (int)b->cli->values.device, &b->raw);
    (void)groat__raw_enter(&b->raw);
    for (unsigned r = 0; r < DISK_ROUNDS && status == GROAT_OK; r++)
        status = store_one(b, 100 + r, &all[r]);
    if (status == GROAT_OK)
        status = disk_rounds(b, all, raw, ours);
    groat__raw_close(&b->raw);
    for (unsigned r = 0; r < DISK_ROUNDS; r++)
        groat_free(all[r].binary);
    free(all);
    if (status != GROAT_OK)
        return status;
    middle = groat__bench_median(raw, DISK_ROUNDS);
    /* raw is sorted now: if raw[0] is positive, no raw load failed. */
    groat__bench_say(b, "get from disk", "us",
                     groat__bench_median(ours, DISK_ROUNDS),
                     raw[0] > 0 ? "raw load + resolve" : NULL, middle);
    return GROAT_OK;
}

static groat_status bench_stream(bench *b)
{
    bool runs = false;
    groat_status status;

    /* The judge's own speed is measured on request. */
    if (strcmp(b->backend, "cpu") == 0 && !is_named(b->cli, "stream"))
        return GROAT_OK;
    status = look(b, "stream", &runs);
    return runs ? groat__bench_stream(b) : status;
}

/* ---- the command ------------------------------------------------------- */

static groat_status (*const benches[GROAT__BENCHES])(bench *b) = {
    [GROAT__BENCH_HIT] = bench_hit,
    [GROAT__BENCH_COLD] = bench_cold,
    [GROAT__BENCH_DISK] = bench_disk,
    [GROAT__BENCH_BUILD] = groat__bench_build,
    [GROAT__BENCH_STREAM] = bench_stream,
};

static int check_words(groat__cli *cli)
{
    const groat__values *values = &cli->values;
    bool streams = is_named(cli, "stream");
    bool takes_specs = streams || is_named(cli, "build");

    if (!streams && (values->inputs.count || values->args.count ||
                     values->grid || values->expected.count))
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "--input, --arg, --grid and --expect are for "
                                 "the kernels of bench stream SPEC...");
    for (size_t i = 0; i < cli->word_count; i++)
        if (!takes_specs && groat__bench_is_spec(cli->words[i]))
            return groat__cli_refuse(
                cli, GROAT_INVALID,
                "there is no bench '%.40s'; benches: hit, "
                "cold, disk, build and stream (and specs for "
                "these two)",
                cli->words[i]);
    return GROAT__EXIT_DONE;
}

static groat_status run_wanted(bench *b)
{
    groat_status status = GROAT_OK;

    groat__json_array(&b->cli->json, "figures");
    for (size_t i = 0; i < GROAT__BENCHES && status == GROAT_OK; i++)
        if (b->cli->word_count == 0 || is_named(b->cli, groat__bench_names[i]))
            status = benches[i](b);
    groat__json_end(&b->cli->json);
    return status;
}

int groat__cmd_bench(groat__cli *cli)
{
    bench b = {.cli = cli, .error = GROAT_ERROR_INIT};
    groat__str folder = {0};
    int code = check_words(cli);

    if (code != GROAT__EXIT_DONE)
        return code;
    groat__trial_limit(cli);
    /* A fresh store, so that `cold` is cold, in memory: no disk latency. */
    code = groat__scratch_open(
        cli, access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NULL, &folder);
    if (code == GROAT__EXIT_DONE) {
        b.context = cli->context;
        b.target = cli->values.target;
        if (b.target == NULL)
            b.target = groat_default_target(b.context);
        (void)snprintf(b.backend, sizeof(b.backend), "%.*s",
                       (int)strcspn(b.target, ":"), b.target);
        b.arch = b.target + strcspn(b.target, ":");
        b.arch += *b.arch == ':';
        groat__json_string(&cli->json, "target", b.target);
        if (run_wanted(&b) != GROAT_OK)
            code = groat__cli_fail(cli, &b.error);
    }
    groat__scratch_close(cli, &folder);
    return code;
}
