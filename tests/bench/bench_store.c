/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_store.c [ENTRIES]: prints, as one JSON object, what a hit on disk
 * costs in a small and in a large store (default 100000 entries), and how many
 * bytes of file a byte of payload takes.  Times hold for the machine that they
 * were taken on; the ratio is the figure to compare.
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "cache/cache.h"

enum { GETS = 20000 };

typedef struct result {
    unsigned entries;
    size_t bytes;
    double get_ns;
    double get_p99_ns;
    double put_us;
    double file_ratio;
} result;

static double now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "bench_store: %s\n", what);
    exit(1);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

/* As long as a real identity is. */
static groat__digest kernel(unsigned n, char *identity, size_t size)
{
    int len = snprintf(identity, size, "groat-identity 1\nparam n %u\n", n);

    if (len < 0 || (size_t)len >= size)
        die("identity");
    memset(identity + len, 'x', size - (size_t)len - 1);
    identity[size - 1] = '\0';
    return groat__hash128(identity, size - 1);
}

static void fill(groat__store *store, result *res)
{
    const groat_facts facts = {40, 0, 0, 1024, (int64_t)res->bytes, 256};
    unsigned char *data = malloc(res->bytes);
    double start = now_ns();
    char identity[600];

    if (data == NULL)
        die("no memory");
    memset(data, 7, res->bytes);
    for (unsigned n = 0; n < res->entries; n++) {
        groat__digest key = kernel(n, identity, sizeof(identity));

        memcpy(data, &n, sizeof(n));
        groat__store_put(store, &key, identity, data, res->bytes, "", &facts);
    }
    res->put_us = (now_ns() - start) / 1e3 / res->entries;
    free(data);
}

static double timed_get(groat__store *store, unsigned n)
{
    char identity[600];
    groat__digest key = kernel(n, identity, sizeof(identity));
    groat__store_blob blob = {0};
    double start = now_ns();

    if (!groat__store_get(store, &key, identity, &blob))
        die("a get missed");
    start = now_ns() - start;
    groat__store_blob_free(&blob);
    return start;
}

static void measure(groat__store *store, result *res)
{
    double *times = malloc(GETS * sizeof(*times));
    unsigned random = 1;

    if (times == NULL)
        die("no memory");
    for (int i = 0; i < 2 * GETS; i++) {
        random = random * 1664525u + 1013904223u;
        times[i % GETS] = timed_get(store, (random >> 8) % res->entries);
    }
    qsort(times, GETS, sizeof(*times), compare);
    res->get_ns = times[GETS / 2];
    res->get_p99_ns = times[GETS / 100 * 99];
    free(times);
}

static void run(result *res)
{
    const char *tmp = getenv("TMPDIR");
    groat__store_options options = {NULL, (uint64_t)1 << 40, {NULL, NULL}};
    groat_error error = GROAT_ERROR_INIT;
    groat__store *store = NULL;
    groat_cache_stat stat;
    char dir[256];

    (void)snprintf(dir, sizeof(dir), "%s/groat-bench-XXXXXX",
                   tmp == NULL || tmp[0] == '\0' ? "/tmp" : tmp);
    if (mkdtemp(dir) == NULL)
        die(dir);
    options.dir = dir;
    if (groat__store_open(&options, &store, &error) != GROAT_OK)
        die(error.text);
    fill(store, res);
    groat__store_close(store);
    /* As the next process finds it. */
    if (groat__store_open(&options, &store, &error) != GROAT_OK)
        die(error.text);
    measure(store, res);
    memset(&stat, 0, sizeof(stat));
    if (groat__store_stat(store, &stat, &error) != GROAT_OK)
        die(error.text);
    if (stat.entries != res->entries || stat.faults != 0)
        die("entries were lost");
    groat__store_close(store);
    if (groat__store_open(&options, &store, &error) != GROAT_OK ||
        groat__store_stat(store, &stat, &error) != GROAT_OK)
        die(error.text);
    res->file_ratio = (double)stat.file_bytes / (double)stat.payload_bytes;
    groat__store_close(store);
    (void)nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void print_result(const char *name, const result *res, const char *end)
{
    printf("  \"%s\": {\"entries\": %u, \"bytes\": %zu, \"get_ns\": %.0f, "
           "\"get_p99_ns\": %.0f, \"put_us\": %.1f, \"file_ratio\": %.2f}%s\n",
           name, res->entries, res->bytes, res->get_ns, res->get_p99_ns,
           res->put_us, res->file_ratio, end);
}

int main(int argc, char **argv)
{
    long entries = argc > 1 ? strtol(argv[1], NULL, 10) : 100000;
    result small = {100, 5000, 0, 0, 0, 0};
    result wide = {100, 16384, 0, 0, 0, 0};
    result large = {100000, 5000, 0, 0, 0, 0};

    if (entries < 1 || entries > 10000000)
        die("ENTRIES is 1 to 10000000");
    large.entries = (unsigned)entries;
    run(&small);
    run(&wide);
    run(&large);
    printf("{\n  \"format\": 1,\n");
    print_result("small", &small, ",");
    print_result("wide", &wide, ",");
    print_result("large", &large, ",");
    printf("  \"large_to_small\": %.2f\n}\n", large.get_ns / small.get_ns);
    return 0;
}
