/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_store.c [ENTRIES]: prints, as one JSON object, the cost of a hit on
 * disk in a small and in a large store (default 100000 entries), and the file
 * size per byte of payload.  The stores take turns, so that other load affects
 * all of them.  Times are valid for the machine that they were measured on
 * only; the ratio, computed for each turn, is the figure to compare.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "cache/cache.h"
#include "tests/bench/bench.h"

enum { TURNS = 25, WARM_TURNS = 3, GETS = 2000 };

/* A store and its measurements. */
typedef struct side {
    const char *name;
    unsigned entries;
    size_t bytes;
    char dir[256];
    groat__store *store;
    unsigned random;
    double get_ns[TURNS];     /* medians */
    double get_p99_ns[TURNS]; /* 99th percentiles */
    double put_us;
    uint64_t file_bytes;
    uint64_t payload_bytes;
    unsigned files; /* with the store open */
} side;

/* Makes an identity as long as real ones. */
static groat__digest kernel(unsigned n, char *identity, size_t size)
{
    int len = snprintf(identity, size, "groat-identity 1\nparam n %u\n", n);

    if (len < 0 || (size_t)len >= size)
        die("identity");
    memset(identity + len, 'x', size - (size_t)len - 1);
    identity[size - 1] = '\0';
    return groat__hash128(identity, size - 1);
}

static void fill(side *s)
{
    const groat_facts facts = {40, 0, 0, 1024, (int64_t)s->bytes, 256};
    unsigned char *data = malloc(s->bytes);
    double start = now_ns();
    char identity[600];

    if (data == NULL)
        die("no memory");
    memset(data, 7, s->bytes);
    for (unsigned n = 0; n < s->entries; n++) {
        groat__digest key = kernel(n, identity, sizeof(identity));

        memcpy(data, &n, sizeof(n));
        groat__store_put(s->store, &key, identity, data, s->bytes, "", &facts);
    }
    s->put_us = (now_ns() - start) / 1e3 / s->entries;
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

/* Runs one turn; returns the median, with the 99th percentile in *p99. */
static double turn(side *s, double *p99)
{
    static double times[GETS];
    double middle;

    for (int i = 0; i < GETS; i++) {
        s->random = s->random * 1664525u + 1013904223u;
        times[i] = timed_get(s->store, (s->random >> 8) % s->entries);
    }
    middle = median(times, GETS);
    *p99 = times[GETS / 100 * 99];
    return middle;
}

static void open_store(side *s)
{
    const groat__store_options options = {
        s->dir, (uint64_t)1 << 40, {NULL, NULL}, NULL, false};
    groat_error error = GROAT_ERROR_INIT;

    if (groat__store_open(&options, &s->store, &error) != GROAT_OK)
        die(error.text);
}

/* Else the kernel would write back pages while they are read. */
static void write_back(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || syncfs(fd) != 0)
        die("syncfs");
    (void)close(fd);
}

static void make_side(side *s)
{
    groat_cache_stat stat;

    make_dir(s->dir);
    open_store(s);
    fill(s);
    groat__store_close(s->store);
    write_back(s->dir);
    /* Reopened, as the next process finds it. */
    open_store(s);
    memset(&stat, 0, sizeof(stat));
    if (groat__store_stat(s->store, &stat, NULL) != GROAT_OK ||
        stat.entries != s->entries || stat.faults != 0)
        die("entries were lost");
    s->file_bytes = stat.file_bytes;
    s->payload_bytes = stat.payload_bytes;
    s->files = count_files(s->dir);
}

static void remove_side(side *s)
{
    groat__store_close(s->store);
    remove_dir(s->dir);
}

static void print_side(side *s)
{
    printf("  \"%s\": {\"entries\": %u, \"bytes\": %zu, \"get_ns\": %.0f, "
           "\"get_p99_ns\": %.0f, \"put_us\": %.1f,\n"
           "    \"file_bytes\": %llu, \"payload_bytes\": %llu, "
           "\"file_ratio\": %.3f, \"files\": %u},\n",
           s->name, s->entries, s->bytes, median(s->get_ns, TURNS),
           median(s->get_p99_ns, TURNS), s->put_us,
           (unsigned long long)s->file_bytes,
           (unsigned long long)s->payload_bytes,
           (double)s->file_bytes / (double)s->payload_bytes, s->files);
}

int main(int argc, char **argv)
{
    enum { SMALL, WIDE, LARGE, SIDES };
    static side sides[SIDES] = {
        [SMALL] = {.name = "small", .entries = 100, .bytes = 5000},
        [WIDE] = {.name = "wide", .entries = 100, .bytes = 16384},
        [LARGE] = {.name = "large", .bytes = 5000},
    };
    long entries = argc > 1 ? strtol(argv[1], NULL, 10) : 100000;
    double ratios[TURNS];
    double unused;

    if (entries < 1 || entries > 10000000)
        die("ENTRIES is 1 to 10000000");
    sides[LARGE].entries = (unsigned)entries;
    for (int i = 0; i < SIDES; i++)
        make_side(&sides[i]);
    for (int t = 0; t < WARM_TURNS * SIDES; t++)
        (void)turn(&sides[t % SIDES], &unused);
    for (int t = 0; t < TURNS; t++) {
        for (int i = 0; i < SIDES; i++)
            sides[i].get_ns[t] = turn(&sides[i], &sides[i].get_p99_ns[t]);
        ratios[t] = sides[LARGE].get_ns[t] / sides[SMALL].get_ns[t];
    }
    for (int i = 0; i < SIDES; i++)
        remove_side(&sides[i]);
    printf("{\n  \"format\": 1,\n");
    for (int i = 0; i < SIDES; i++)
        print_side(&sides[i]);
    (void)median(ratios, TURNS);
    printf("  \"large_to_small\": %.2f,\n"
           "  \"large_to_small_range\": [%.2f, %.2f]\n}\n",
           ratios[TURNS / 2], ratios[0], ratios[TURNS - 1]);
    return 0;
}
