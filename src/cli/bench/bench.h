/* SPDX-License-Identifier: Apache-2.0
 *
 * bench.h - what the benches share.
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

/* Sorts values. */
double groat__bench_median(double *values, size_t count);

/* One figure, with its reference of the same run; raw_name is NULL where there
 * is nothing to hold it against. */
void groat__bench_say(groat__bench *b, const char *name, const char *unit,
                      double ours, const char *raw_name, double raw);

/* Whether a word of the command is a spec, not the name of a bench. */
bool groat__bench_is_spec(const char *word);

/* The raw side of a compile, each `number` anew; false where there is none. */
bool groat__bench_compile_raw(groat__bench *b, unsigned number);

/* build.c: compile times of specs against an empty kernel's; the
 * command's words that are specs, else one of its own. */
groat_status groat__bench_build(groat__bench *b);

/* stream.c: bandwidth of streaming entries against a plain read; the
 * command's words that are specs, else a list of its own. */
groat_status groat__bench_stream(groat__bench *b);

/* The command. */
int groat__cmd_bench(groat__cli *cli);

#endif
