/* SPDX-License-Identifier: Apache-2.0
 *
 * mutants.h - suites of mutants: families of the library under other names,
 * each with one thing changed in its source - a wait, a barrier, a count, an
 * address - and launched by the driver of the family itself (driver/driver.h).
 * Where the arch needs what was changed, the judge must report it or the
 * output must be wrong; where it does not, the output must be right.
 *
 * A suite is a table and a main:
 *
 *     #define LOOP   "my_family:entry=stream,stages=3 valid_rows=96 heads=2"
 *     #define RUN_IT "void run("
 *
 *     static const mutant table[] = {
 *         {LOOP, {"", "", 0, ""}, 0, 0}, (the family as it is)
 *         {LOOP, {RUN_IT, "block_barrier();", 1, ""}, ALL, 0},
 *         {LOOP, {RUN_IT, "8 * lane", 0, "lane"}, 0, ALL},
 *     };
 *
 *     int main(void)
 *     {
 *         const mutants_suite suite = {
 *             .name = "my_mutants", .table = table, .count = COUNT(table),
 *             .seeds = 2};
 *
 *         return mutants_main(&suite);
 *     }
 *
 * In local.mk its sources are the suite's own file and $(mutants_sources); the
 * family is found by its driver (driver/driver.c).  A suite for a family of
 * another vendor differs only by its calls, which replace the common ones, and
 * its targets:
 *
 *     .calls = calls, (say BARRIER, "mbarrier_wait(", "mbarrier_arrive(", NULL)
 *     .targets = targets, (say "cpu:sm_90a", "cpu:sm_100a", NULL)
 *
 * Besides the mutants, a suite checks its table.  Each of `calls` that occurs
 * in a family's source (its own files and those of common/, without the
 * vendor's primitives) has a row that takes it out: its `from` begins with the
 * call and its `to` is empty.  One row is enough where several entries show
 * it.  Each row runs on at least one target, and on one of each vendor on
 * which it is said to be found; so does its command for the family as it is.
 */
#ifndef GROAT_TESTS_MUTANTS_H
#define GROAT_TESTS_MUTANTS_H

#include "tests/kernels/mutation.h"

/* Texts that most families contain, for use in rows. */
#define BARRIER   "block_barrier();"
#define FENCE     "shared_fence();"
#define COMMIT    "async_commit();"
#define WAIT_ALL  "async_wait<0, 0>();"
#define WAIT_ONE  "async_wait<1, 1>();"
#define IN_POISON "void poison("
/* Texts of common/stream.h; MORE: with one more left in flight. */
#define IN_STREAM  "vec4 stream_tiles("
#define WAIT_AHEAD "async_wait<ahead * copies, ahead>();"
#define WAIT_MORE  "async_wait<ahead * copies + 1, ahead + 1>();"
#define TAIL_MORE  "async_wait<1, ahead + 1>();"
#define NEXT_FILL  "fill = fill + 1 == slots ? 0 : fill + 1;"
#define NEXT_USE   "use = use + 1 == slots ? 0 : use + 1;"

/* Vendors, as derived from the arch of the target. */
enum { AMD = 1, NV = 2, ALL = AMD | NV };

typedef struct mutant {
    /* The launch that shows it: the family's spec, then run-time arguments of
     * its driver by name.  A target whose rules refuse the spec is skipped. */
    const char *command;
    mutation change;
    int judged; /* vendors on whose archs the judge reports it */
    int wrong;  /* vendors where the judge does not and the output is wrong */
} mutant;

typedef struct mutants_suite {
    const char *name;
    const mutant *table;
    int count;
    int seeds;                  /* for the judge's order of fibers */
    const char *const *calls;   /* ended by NULL; NULL: mutants_calls */
    const char *const *targets; /* ended by NULL; NULL: mutants_targets */
    bool once; /* a row runs on the first target of a vendor that accepts it */
} mutants_suite;

/* "async_wait<", BARRIER, FENCE, COMMIT: they order asynchronous copies. */
extern const char *const mutants_calls[];
/* One target of each kind of arch. */
extern const char *const mutants_targets[];

/* Runs the suite; returns main's exit status. */
int mutants_main(const mutants_suite *suite);

#endif
