/* SPDX-License-Identifier: Apache-2.0
 *
 * cycles.c: one process that compiles and evicts repeatedly; prints, as one
 * JSON object, how much its resident set has grown.
 *
 *     cycles [-n CYCLES] [-d FOLDER] [-b BYTES] [-w MS]
 *
 * CYCLES is 2000 by default, FOLDER the store's (default: a temporary one),
 * BYTES the bound of the store (8 MiB), MS a nap after each cycle.  SIGTERM
 * ends it early, with its figures.  The compiler is a shell script that copies
 * its input, so growth of groat is measured, not a compiler's.  The first 200
 * cycles fill the store and its page cache, and are not counted.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "groat.h"
#include "groat_store.h"
#include "tests/bench/bench.h"

enum { SETTLING = 200, STRIDES = 4000 };

static const char target[] = "cpu:gfx950";

typedef struct orders {
    unsigned long cycles;
    const char *folder;
    unsigned long long bytes;
    struct timespec nap;
} orders;

static void check(groat_status status, const groat_error *error)
{
    if (status != GROAT_OK)
        die(error->text);
}

static double resident_mib(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1)
        die("/proc/self/statm");
    (void)fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static void write_compiler(const char *path)
{
    FILE *file = fopen(path, "w");

    if (file == NULL ||
        fputs("#!/bin/sh\n"
              "if [ \"$1\" = --version ]; then echo 'of a bench'; exit 0; fi\n"
              "while [ \"$1\" != -o ]; do shift; done\n"
              "cat >/dev/null\n"
              "[ -e \"$0.so\" ] || echo 'int any;' |\n"
              "    c++ -shared -nostartfiles -Wl,--build-id=sha1 -x c++ -o "
              "\"$0.so\" -\n"
              "exec cat \"$0.so\" >\"$2\"\n",
              file) < 0 ||
        fclose(file) != 0 || chmod(path, 0700) != 0)
        die(path);
}

/* Builds another kernel each time; after STRIDES * 16 of them the first one
 * again, which was evicted long before. */
static void cycle(groat_context *context, unsigned long n)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_spec *spec = NULL;
    char text[96];

    (void)snprintf(text, sizeof(text), "tile_loader_lds:ld=%lu,tile_rows=%lu",
                   1024 + 16 * (n % STRIDES), 16 * (1 + n / STRIDES % 16));
    check(groat_spec_parse(context, text, target, &spec, &error), &error);
    check(groat_build(spec, NULL, NULL, NULL, &error), &error);
    groat_spec_free(spec);
}

/* Waits for the next cycle; returns false once SIGTERM has come. */
static bool goes_on(const orders *o, const sigset_t *ends)
{
    return sigtimedwait(ends, NULL, &o->nap) != SIGTERM;
}

static void run(const orders *o, const sigset_t *ends, const char *folder)
{
    groat_options options = GROAT_OPTIONS_INIT;
    groat_error error = GROAT_ERROR_INIT;
    groat_cache_stat stat = {.size = sizeof(stat)};
    groat_context *context = NULL;
    unsigned long done = 0;
    double before;
    double after;

    options.cache_dir = folder;
    options.cache_max_bytes = o->bytes;
    check(groat_open(&options, &context, &error), &error);
    for (unsigned long n = 0; n < SETTLING; n++)
        cycle(context, n);
    before = resident_mib();
    while (done < o->cycles && goes_on(o, ends))
        cycle(context, SETTLING + done++);
    after = resident_mib();
    check(groat_cache_stat_get(context, &stat, &error), &error);
    printf("{\n  \"format\": 1,\n  \"cycles\": %lu, \"compiles\": %llu, "
           "\"evictions\": %llu, \"faults\": %llu,\n"
           "  \"begin_mib\": %.2f, \"end_mib\": %.2f, \"growth_mib\": %.2f\n"
           "}\n",
           done, (unsigned long long)stat.compiles,
           (unsigned long long)stat.evictions, (unsigned long long)stat.faults,
           before, after, after - before);
    groat_close(context);
}

static unsigned long long number(const char *text)
{
    char *end = NULL;
    unsigned long long value = strtoull(text, &end, 10);

    if (*text < '0' || *text > '9' || *end != '\0')
        die("-n, -b and -w take a number");
    return value;
}

static orders read_orders(int argc, char **argv)
{
    orders o = {.cycles = 2000, .bytes = 8 << 20};
    int option;

    while ((option = getopt(argc, argv, "n:d:b:w:")) != -1) {
        if (option == 'n')
            o.cycles = number(optarg);
        else if (option == 'd')
            o.folder = optarg;
        else if (option == 'b')
            o.bytes = number(optarg);
        else if (option == 'w')
            o.nap = (struct timespec){(time_t)(number(optarg) / 1000),
                                      (long)(number(optarg) % 1000 * 1000000)};
        else
            exit(2);
    }
    if (optind < argc || o.bytes == 0)
        die("cycles [-n CYCLES] [-d FOLDER] [-b BYTES] [-w MS]");
    return o;
}

int main(int argc, char **argv)
{
    orders o = read_orders(argc, argv);
    char compiler[300];
    char dir[256];
    sigset_t ends;

    /* Blocked, so that sigtimedwait() receives it. */
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &ends, NULL);
    make_dir(dir);
    (void)snprintf(compiler, sizeof(compiler), "%s/compiler", dir);
    write_compiler(compiler);
    (void)setenv("GROAT_CXX", compiler, 1);
    run(&o, &ends, o.folder != NULL ? o.folder : dir);
    remove_dir(dir);
    return 0;
}
