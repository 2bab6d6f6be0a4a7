/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_prewarm.c [KERNELS [TARGET [GROAT]]]: prints, as one JSON object, how
 * much faster `groat prewarm` is with 2, 4, 8 ... processes, up to the cores,
 * than with one (default: 64 kernels for cpu:gfx950, by ./groat), and how many
 * files and bytes the store has afterwards.  The numbers of processes take
 * turns, each with an empty store of its own; times are medians.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "groat.h"
#include "tests/bench/bench.h"

enum { ROUNDS = 3, SIDES_MAX = 12, KERNELS_MAX = 4000 };

extern char **environ;

typedef struct bench {
    unsigned count;
    const char *target;
    const char *groat;
    char dir[256];
    char manifest[300];
} bench;

/* What one store came to. */
typedef struct store {
    groat_cache_stat stat;
    unsigned files;
} store;

static void write_manifest(bench *b)
{
    FILE *file;

    (void)snprintf(b->manifest, sizeof(b->manifest), "%s/kernels.jsonl",
                   b->dir);
    file = fopen(b->manifest, "w");
    if (file == NULL)
        die(b->manifest);
    for (unsigned i = 0; i < b->count; i++)
        (void)fprintf(file,
                      "{\"spec\": \"tile_loader_lds:ld=%u\", \"target\": "
                      "\"%s\"}\n",
                      1024 + 16 * i, b->target);
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

/* Seconds of one prewarm, with that many processes, into an empty store. */
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

/* 1, 2, 4 ... and the cores. */
static unsigned list_sides(unsigned sides[SIDES_MAX], unsigned *cores)
{
    unsigned count = 0;

    *cores = count_cores();
    for (unsigned k = 1; k < *cores && count + 1 < SIDES_MAX; k *= 2)
        sides[count++] = k;
    sides[count++] = *cores;
    return count;
}

static void run(const bench *b)
{
    double seconds[SIDES_MAX][ROUNDS];
    unsigned sides[SIDES_MAX];
    unsigned cores = 0;
    unsigned count = list_sides(sides, &cores);
    store s = {.files = 0};
    double alone;

    for (int r = 0; r < ROUNDS; r++)
        for (unsigned i = 0; i < count; i++)
            seconds[i][r] = prewarm(b, sides[i], &s);
    alone = median(seconds[0], ROUNDS);
    printf("{\n  \"format\": 1,\n  \"target\": \"%s\", \"kernels\": %u, "
           "\"cores\": %u, \"rounds\": %d,\n  \"prewarm\": [\n",
           b->target, b->count, cores, ROUNDS);
    for (unsigned i = 0; i < count; i++) {
        double middle = median(seconds[i], ROUNDS);

        printf("    {\"processes\": %u, \"seconds\": %.2f, \"best_seconds\": "
               "%.2f, \"speed_up\": %.2f, \"of_ideal\": %.2f}%s\n",
               sides[i], middle, seconds[i][0], alone / middle,
               alone / middle / sides[i], i + 1 < count ? "," : "");
    }
    printf("  ],\n  \"store\": {\"entries\": %llu, \"file_bytes\": %llu, "
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
    run(&b);
    remove_dir(b.dir);
    return 0;
}
