/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_prewarm.c [KERNELS [TARGET [GROAT]]]: prints, as one JSON object, how
 * much faster `groat prewarm` is with 2, 4, 8 ... processes, up to the cores,
 * than with one (default: 64 kernels for cpu:gfx950, by ./groat), and how many
 * files and bytes the store has afterwards.  The numbers of processes take
 * turns, each with its own empty store; times are medians.  For a cuda target
 * it also measures the machine's limit: as many processes that only compile the
 * same sources with plain NVRTC calls (12.9 or later, where the loader finds
 * it).
 */
#include <dlfcn.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "groat.h"
#include "groat_store.h"
#include "tests/bench/bench.h"

enum { ROUNDS = 3, SIDES_MAX = 12, KERNELS_MAX = 4000 };

extern char **environ;

typedef struct bench {
    unsigned count;
    const char *target;
    const char *groat;
    char dir[256];
    char manifest[300];
    char **sources; /* NULL: no comparison with NVRTC alone */
} bench;

/* The state of one store after a prewarm. */
typedef struct store {
    groat_cache_stat stat;
    unsigned files;
} store;

static void name_spec(unsigned i, char out[64])
{
    (void)snprintf(out, 64, "tile_loader_lds:ld=%u", 1024 + 16 * i);
}

static void write_manifest(bench *b)
{
    char spec[64];
    FILE *file;

    (void)snprintf(b->manifest, sizeof(b->manifest), "%s/kernels.jsonl",
                   b->dir);
    file = fopen(b->manifest, "w");
    if (file == NULL)
        die(b->manifest);
    for (unsigned i = 0; i < b->count; i++) {
        name_spec(i, spec);
        (void)fprintf(file, "{\"spec\": \"%s\", \"target\": \"%s\"}\n", spec,
                      b->target);
    }
    if (fclose(file) != 0)
        die(b->manifest);
}

static store look(const bench *b, const char *dir)
{
    groat_options options = GROAT_OPTIONS_INIT;
    groat_error error = GROAT_ERROR_INIT;
    groat_context *context = NULL;
    store s = {.stat = {.size = sizeof(s.stat)}};

    options.cache_dir = dir;
    if (groat_open(&options, &context, &error) != GROAT_OK ||
        groat_cache_stat_get(context, &s.stat, &error) != GROAT_OK)
        die(error.text);
    s.files = count_files(dir);
    groat_close(context);
    if (s.stat.entries != b->count)
        die("the store has not all kernels");
    return s;
}

/* Seconds of a prewarm with so many processes into an empty store. */
static double prewarm(const bench *b, unsigned processes, store *s)
{
    posix_spawn_file_actions_t quiet;
    char jobs[16];
    char dir[256];
    const char *const argv[] = {b->groat, "prewarm", b->manifest,
                                "-j",     jobs,      "--cache-dir",
                                dir,      "--json",  NULL};
    double start;
    int status = 0;
    pid_t pid;

    (void)snprintf(jobs, sizeof(jobs), "%u", processes);
    make_dir(dir);
    if (posix_spawn_file_actions_init(&quiet) != 0 ||
        posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", 1, 0) != 0 ||
        posix_spawn_file_actions_adddup2(&quiet, 1, 2) != 0)
        die("no memory");
    start = now_ns();
    if (posix_spawnp(&pid, b->groat, &quiet, NULL, (char *const *)argv,
                     environ) != 0)
        die(b->groat);
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
        WEXITSTATUS(status) != 0)
        die("a prewarm failed; run it by hand to see why");
    start = (now_ns() - start) * 1e-9;
    (void)posix_spawn_file_actions_destroy(&quiet);
    *s = look(b, dir);
    remove_dir(dir);
    return start;
}

/* ---- NVRTC alone -------------------------------------------------------- */

static char **make_sources(const bench *b)
{
    groat_options options = GROAT_OPTIONS_INIT;
    groat_error error = GROAT_ERROR_INIT;
    groat_context *context = NULL;
    char **sources = calloc(b->count, sizeof(*sources));

    options.flags = GROAT_OPEN_NO_DISK;
    if (sources == NULL || groat_open(&options, &context, &error) != GROAT_OK)
        die(error.text);
    for (unsigned i = 0; i < b->count; i++) {
        groat_spec *spec = NULL;
        char text[64];

        name_spec(i, text);
        if (groat_spec_parse(context, text, b->target, &spec, &error) !=
                GROAT_OK ||
            groat_spec_source(spec, &sources[i], &error) != GROAT_OK)
            die(error.text);
        groat_spec_free(spec);
    }
    groat_close(context);
    return sources;
}

static void *find(void *library, const char *symbol)
{
    void *address = library == NULL ? NULL : dlsym(library, symbol);

    if (address == NULL)
        die(symbol);
    return address;
}

static void *open_nvrtc(void)
{
    void *nvrtc = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL);

    return nvrtc != NULL ? nvrtc
                         : dlopen("libnvrtc.so.12", RTLD_NOW | RTLD_LOCAL);
}

/* Asks in a child process, so that every compile starts without NVRTC. */
static bool has_nvrtc(void)
{
    int status = 1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(open_nvrtc() == NULL);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* Runs in a child process: compiles every `step`-th kernel from `first` on. */
static void compile_raw(const bench *b, unsigned first, unsigned step)
{
    void *nvrtc = open_nvrtc();
    int (*create)(void **, const char *, const char *, int, const char **,
                  const char **);
    int (*compile)(void *, int, const char **);
    int (*destroy)(void **);
    char arch[64];
    const char *options[] = {arch, "--std=c++17", "--ptxas-options=-v",
                             "--no-cache"};
    void *address;

    address = find(nvrtc, "nvrtcCreateProgram");
    memcpy(&create, &address, sizeof(create));
    address = find(nvrtc, "nvrtcCompileProgram");
    memcpy(&compile, &address, sizeof(compile));
    address = find(nvrtc, "nvrtcDestroyProgram");
    memcpy(&destroy, &address, sizeof(destroy));
    (void)snprintf(arch, sizeof(arch), "--gpu-architecture=%s",
                   b->target + strlen("cuda:"));
    for (unsigned i = first; i < b->count; i += step) {
        void *program = NULL;

        if (create(&program, b->sources[i], "k.cu", 0, NULL, NULL) != 0 ||
            compile(program, 4, options) != 0 || destroy(&program) != 0)
            die("NVRTC refused a source");
    }
}

/* Seconds that so many processes take. */
static double raw(const bench *b, unsigned processes)
{
    double start = now_ns();
    bool whole = true;

    for (unsigned i = 0; i < processes; i++) {
        pid_t pid = fork();

        if (pid < 0)
            die("fork");
        if (pid == 0) {
            compile_raw(b, i, processes);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < processes; i++) {
        int status = 0;

        whole = wait(&status) > 0 && status == 0 && whole;
    }
    if (!whole)
        die("a process that compiles by NVRTC's own calls failed");
    return (now_ns() - start) * 1e-9;
}

/* ---- the figures -------------------------------------------------------- */

/* Lists 1, 2, 4 ... and the number of cores. */
static unsigned list_sides(unsigned sides[SIDES_MAX], unsigned *cores)
{
    unsigned count = 0;

    *cores = count_cores();
    for (unsigned k = 1; k < *cores && count + 1 < SIDES_MAX; k *= 2)
        sides[count++] = k;
    sides[count++] = *cores;
    return count;
}

/* Prints how the times of one kind shrink with more processes. */
static void print_sides(const char *name, double seconds[][ROUNDS],
                        const unsigned *sides, unsigned count)
{
    double alone = median(seconds[0], ROUNDS);

    printf("  \"%s\": [\n", name);
    for (unsigned i = 0; i < count; i++) {
        double middle = median(seconds[i], ROUNDS);

        printf("    {\"processes\": %u, \"seconds\": %.2f, \"best_seconds\": "
               "%.2f, \"speed_up\": %.2f, \"of_ideal\": %.2f}%s\n",
               sides[i], middle, seconds[i][0], alone / middle,
               alone / middle / sides[i], i + 1 < count ? "," : "");
    }
    printf("  ],\n");
}

static void run(const bench *b)
{
    double seconds[SIDES_MAX][ROUNDS];
    double by_nvrtc[SIDES_MAX][ROUNDS];
    unsigned sides[SIDES_MAX];
    unsigned cores = 0;
    unsigned count = list_sides(sides, &cores);
    store s = {.files = 0};

    for (int r = 0; r < ROUNDS; r++)
        for (unsigned i = 0; i < count; i++) {
            seconds[i][r] = prewarm(b, sides[i], &s);
            by_nvrtc[i][r] = b->sources == NULL ? 0 : raw(b, sides[i]);
        }
    printf("{\n  \"format\": 1,\n  \"target\": \"%s\", \"kernels\": %u, "
           "\"cores\": %u, \"rounds\": %d,\n",
           b->target, b->count, cores, ROUNDS);
    print_sides("prewarm", seconds, sides, count);
    if (b->sources != NULL)
        print_sides("nvrtc_alone", by_nvrtc, sides, count);
    printf("  \"store\": {\"entries\": %llu, \"file_bytes\": %llu, "
           "\"payload_bytes\": %llu, \"file_ratio\": %.3f, \"files\": %u}\n"
           "}\n",
           (unsigned long long)s.stat.entries,
           (unsigned long long)s.stat.file_bytes,
           (unsigned long long)s.stat.payload_bytes,
           (double)s.stat.file_bytes / (double)s.stat.payload_bytes, s.files);
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 64;
    bench b = {.target = argc > 2 ? argv[2] : "cpu:gfx950",
               .groat = argc > 3 ? argv[3] : "./groat"};

    if (argc > 4 || count < 1 || count > KERNELS_MAX)
        die("bench_prewarm [KERNELS [TARGET [GROAT]]]; KERNELS is 1 to 4000");
    b.count = (unsigned)count;
    make_dir(b.dir);
    write_manifest(&b);
    if (strncmp(b.target, "cuda:", 5) == 0 && has_nvrtc())
        b.sources = make_sources(&b);
    run(&b);
    for (unsigned i = 0; b.sources != NULL && i < b.count; i++)
        groat_free(b.sources[i]);
    free(b.sources);
    remove_dir(b.dir);
    return 0;
}
