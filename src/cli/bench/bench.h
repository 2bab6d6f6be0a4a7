/* SPDX-License-Identifier: Apache-2.0
 *
 * bench.h - functions and state shared by the benches.
 */
#ifndef GROAT_CLI_BENCH_BENCH_H
#define GROAT_CLI_BENCH_BENCH_H

#include "cli/tool/cmd.h"
#include "cli/bench/raw.h"

typedef enum groat__bench_id {
    GROAT__BENCH_HIT,
    GROAT__BENCH_COLD,
    GROAT__BENCH_DISK,
    GROAT__BENCH_BUILD,
    GROAT__BENCH_STREAM,
    GROAT__BENCHES
} groat__bench_id;

extern const char *const groat__bench_names[GROAT__BENCHES];

typedef struct groat__bench {
    groat__cli *cli;
    groat_context *context;
    const char *target;
    char backend[8];
    const char *arch;
    groat__raw raw;
    groat_error error;
} groat__bench;

/* Returns the median; sorts values. */
double groat__bench_median(double *values, size_t count);

/* Prints a figure and the reference measured in the same run; raw_name is NULL
 * where there is none. */
void groat__bench_say(groat__bench *b, const char *name, const char *unit,
                      double ours, const char *raw_name, double raw);

/* Returns whether a word of the command is a spec, not the name of a bench. */
bool groat__bench_is_spec(const char *word);

/* Compiles empty kernel `number` without groat; false where it cannot. */
bool groat__bench_compile_raw(groat__bench *b, unsigned number);

/* build.c: measures compile times of the specs among the command's words, or of
 * a built-in one, against an empty kernel. */
groat_status groat__bench_build(groat__bench *b);

/* stream.c: measures the bandwidth of the specs among the command's words, or
 * of a built-in list, against a plain read. */
groat_status groat__bench_stream(groat__bench *b);

/* The command. */
int groat__cmd_bench(groat__cli *cli);

#endif
