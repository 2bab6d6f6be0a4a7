/* SPDX-License-Identifier: Apache-2.0
 *
 * bench.c has what the benches share: their names, the median, the output of a
 * figure, and a compile without groat.
 */
#include "cli/bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const groat__bench_names[GROAT__BENCHES] = {
    [GROAT__BENCH_HIT] = "hit",       [GROAT__BENCH_COLD] = "cold",
    [GROAT__BENCH_DISK] = "disk",     [GROAT__BENCH_BUILD] = "build",
    [GROAT__BENCH_STREAM] = "stream",
};

bool groat__bench_is_spec(const char *word)
{
    for (size_t k = 0; k < GROAT__BENCHES; k++)
        if (strcmp(word, groat__bench_names[k]) == 0)
            return false;
    return true;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

double groat__bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof(values[0]), by_value);
    return values[count / 2];
}

void groat__bench_say(groat__bench *b, const char *name, const char *unit,
                      double ours, const char *raw_name, double raw)
{
    groat__json *json = &b->cli->json;
    double ratio = raw_name ? ours / raw : NAN;

    groat__json_object(json, NULL);
    groat__json_string(json, "name", name);
    groat__json_string(json, "unit", unit);
    groat__json_real(json, "groat", ours);
    groat__json_string(json, "reference", raw_name);
    groat__json_real(json, "raw", raw_name ? raw : NAN);
    groat__json_real(json, "ratio", ratio);
    groat__json_end(json);
    if (b->cli->values.json)
        return;
    (void)printf("%-34s %10.3f %s", name, ours, unit);
    if (raw_name)
        (void)printf("   %s %10.3f %s   ratio %.3f", raw_name, raw, unit,
                     ratio);
    (void)fputc('\n', stdout);
}

bool groat__bench_compile_raw(groat__bench *b, unsigned number)
{
    const char *cxx = getenv("GROAT_CXX");
    char *const argv[] = {cxx && *cxx ? (char *)cxx : "c++",
                          "-shared",
                          "-fPIC",
                          "-x",
                          "c++",
                          "-o",
                          "/dev/null",
                          "/dev/null",
                          NULL};
    groat__spawn how = {.argv = argv, .max = 65536};
    char *out = NULL;
    int code = 1;

    if (strcmp(b->backend, "cpu") != 0)
        return groat__raw_compile_empty(&b->raw, b->arch,
                                        (unsigned)getpid() * 100 + number);
    if (groat__spawn_run(&how, &out, &code, NULL) != GROAT_OK)
        return false;
    free(out);
    return code == 0;
}
