/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_cold.c [TARGET]: prints, as one JSON object, the cost of a cold start
 * of 8 processes that get the same 10 keys, against one process of 8 threads
 * (default target: cpu:gfx950).  The sides take turns, each with its own empty
 * store, and alternate in going first.  Each thread, and each process, begins
 * with another key, so that both sides compile equally many at a time.  More
 * than 10 compiles on a side is an error.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "groat.h"
#include "groat_store.h"
#include "tests/bench/bench.h"

enum { WORKERS = 8, KEYS = 10, ROUNDS = 5 };

typedef struct worker {
    pthread_t thread;
    groat_context *context;
    const char *target;
    unsigned first;
} worker;

static void *build_all(void *user)
{
    const worker *w = user;
    groat_error error = GROAT_ERROR_INIT;

    for (unsigned i = 0; i < KEYS; i++) {
        groat_spec *spec = NULL;
        char text[64];

        (void)snprintf(text, sizeof(text), "tile_loader_lds:tile_rows=%u",
                       32 * ((w->first + i) % KEYS + 1));
        if (groat_spec_parse(w->context, text, w->target, &spec, &error) != 0 ||
            groat_build(spec, NULL, NULL, NULL, &error) != 0)
            die(error.text);
        groat_spec_free(spec);
    }
    return NULL;
}

/* Returns the number of compiles. */
static unsigned start_up(const char *dir, const char *target, unsigned threads,
                         unsigned first)
{
    groat_options options = GROAT_OPTIONS_INIT;
    groat_cache_stat stat = {.size = sizeof(stat)};
    groat_error error = GROAT_ERROR_INIT;
    worker workers[WORKERS];
    groat_context *context;

    options.cache_dir = dir;
    if (groat_open(&options, &context, &error) != 0)
        die(error.text);
    for (unsigned i = 0; i < threads; i++) {
        workers[i] =
            (worker){.context = context, .target = target, .first = first + i};
        if (pthread_create(&workers[i].thread, NULL, build_all, &workers[i]))
            die("no thread");
    }
    for (unsigned i = 0; i < threads; i++)
        (void)pthread_join(workers[i].thread, NULL);
    if (groat_cache_stat_get(context, &stat, &error) != 0)
        die(error.text);
    groat_close(context);
    return (unsigned)stat.compiles;
}

/* Returns the sum of the children's exit statuses. */
static unsigned start_processes(const char *dir, const char *target,
                                unsigned processes, unsigned threads)
{
    pid_t pids[WORKERS];
    unsigned compiles = 0;

    (void)fflush(NULL);
    for (unsigned i = 0; i < processes; i++) {
        pids[i] = fork();
        if (pids[i] < 0)
            die("fork");
        if (pids[i] == 0)
            _exit((int)start_up(dir, target, threads, i) + 100);
    }
    for (unsigned i = 0; i < processes; i++) {
        int status = 0;

        if (waitpid(pids[i], &status, 0) != pids[i] || !WIFEXITED(status) ||
            WEXITSTATUS(status) < 100) {
            fprintf(stderr, "bench_cold: process %u: wait status 0x%x\n", i,
                    (unsigned)status);
            die("a process failed");
        }
        compiles += (unsigned)WEXITSTATUS(status) - 100;
    }
    return compiles;
}

/* Milliseconds until all workers have all keys, from an empty store. */
static double cold_start(const char *target, unsigned processes,
                         unsigned threads)
{
    char dir[256];
    unsigned compiles;
    double start;

    make_dir(dir);
    start = now_ns() * 1e-6;
    compiles = start_processes(dir, target, processes, threads);
    start = now_ns() * 1e-6 - start;
    remove_dir(dir);
    if (compiles != KEYS)
        die("a key was compiled more than once");
    return start;
}

int main(int argc, char **argv)
{
    const char *target = argc > 1 ? argv[1] : "cpu:gfx950";
    double many[ROUNDS];
    double one[ROUNDS];
    double ratios[ROUNDS];

    (void)cold_start(target, 1, WORKERS);
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 2 == 0)
            one[i] = cold_start(target, 1, WORKERS);
        many[i] = cold_start(target, WORKERS, 1);
        if (i % 2 != 0)
            one[i] = cold_start(target, 1, WORKERS);
        ratios[i] = many[i] / one[i];
    }
    (void)median(ratios, ROUNDS); /* sorted, so the ends are the range */
    printf("{\n  \"format\": 1,\n"
           "  \"target\": \"%s\", \"keys\": %d, \"rounds\": %d,\n"
           "  \"processes\": {\"count\": %d, \"compiles\": %d, \"ms\": %.1f},\n"
           "  \"threads\": {\"count\": %d, \"compiles\": %d, \"ms\": %.1f},\n"
           "  \"processes_to_threads\": %.2f,\n"
           "  \"processes_to_threads_range\": [%.2f, %.2f]\n}\n",
           target, KEYS, ROUNDS, WORKERS, KEYS, median(many, ROUNDS), WORKERS,
           KEYS, median(one, ROUNDS), ratios[ROUNDS / 2], ratios[0],
           ratios[ROUNDS - 1]);
    return 0;
}
