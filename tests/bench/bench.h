/* SPDX-License-Identifier: Apache-2.0
 *
 * bench.h - shared by the programs of this folder: clocks, exit with a message,
 * medians, calls of a vendor's library, and a temporary folder.
 */
#ifndef GROAT_BENCH_H
#define GROAT_BENCH_H

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/folder.h"

static inline double now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Processor time of this thread, which other load does not lengthen. */
static inline double spent_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static inline void die(const char *what)
{
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
    exit(1);
}

static inline int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Returns the number of cores that this process may use. */
static inline unsigned count_cores(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        die("sched_getaffinity");
    return (unsigned)CPU_COUNT(&set);
}

/* Returns the median; sorts the values. */
static inline double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare);
    return values[count / 2];
}

/* Finds a call of a vendor's library. */
static inline void take(void *library, const char *name, void *slot)
{
    void *symbol = dlsym(library, name);

    if (symbol == NULL)
        die(name);
    memcpy(slot, &symbol, sizeof(symbol));
}

/* Ends the program if a vendor's call failed. */
static inline void check_call(int code, const char *call)
{
    if (code != 0)
        die(call);
}

static inline void make_dir(char dir[256])
{
    if (!folder_make(dir, 256, "bench"))
        die(dir);
}

static inline unsigned count_files(const char *dir)
{
    DIR *folder = opendir(dir);
    const struct dirent *entry;
    unsigned files = 0;

    if (folder == NULL)
        die(dir);
    while ((entry = readdir(folder)) != NULL)
        files += entry->d_name[0] != '.';
    (void)closedir(folder);
    return files;
}

static inline void remove_dir(const char *dir)
{
    folder_remove(dir);
}

#endif
