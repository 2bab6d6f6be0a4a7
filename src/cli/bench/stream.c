/* SPDX-License-Identifier: Apache-2.0
 *
 * stream.c - groat bench stream: measures the bandwidth that kernels reach.
 * The reference is a kernel that only reads, at the best of a few shapes, in
 * the same run: every round times each kernel once.  The sources of the
 * library's families are random, and on a device larger than any cache.  On a
 * cpu target the figures are those of the judge, by the host's clock.
 *
 * Owns the buffers of the kernels that it times; drivers fill them.  A launch
 * is checked first of a family with a run.def, and where files are named.
 * Invariant: all kernels are loaded and their buffers filled before the first
 * round.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench/bench.h"
#include "cli/run/trial.h"
#include "kernels-src/driver/measured.h"

enum { ROUNDS = 15, REPEATS = 10, ROUNDS_JUDGED = 5, SIDES_MAX = 48 };

/* One kernel and its device buffers. */
typedef struct side {
    groat__trial trial;
    groat_launch how;
    uint64_t address[GROAT_PLAN_BUFFERS];
    double us[ROUNDS];
} side;

typedef struct race {
    side sides[SIDES_MAX];
    size_t count;
    size_t plain; /* number of sides that only read, which come first */
    size_t rounds;
    unsigned repeats; /* of a launch in a round */
    const char *unit;
    double bytes_per_us; /* in a unit */
} race;

/* Fills an input by the driver: random bytes would not do for page tables. */
static groat_status fill(groat__bench *b, side *s, size_t index)
{
    size_t bytes = s->trial.plan.buffers[index].bytes;
    void *data = malloc(bytes + 1);
    groat_status status;

    if (data == NULL)
        return groat__fail(&b->error, GROAT_NO_MEMORY,
                           "no %zu bytes of host memory", bytes);
    status = groat__trial_fill(b->cli, &s->trial, index, data, &b->error);
    if (status == GROAT_OK)
        status = groat_memory_write(b->context, b->target, s->address[index],
                                    data, bytes, &b->error);
    free(data);
    return status;
}

/* Checks what files feed a kernel, and its outputs. */
static groat_status check(groat__bench *b, side *s)
{
    groat_status status = groat__trial_launch(b->cli, &s->trial, &b->error);

    return status != GROAT_OK || s->trial.verdict != GROAT__WRONG
               ? status
               : groat__fail(&b->error, GROAT_LAUNCH_FAILED,
                             "an output of '%.60s' is wrong: groat run "
                             "says where",
                             groat_spec_text(s->trial.spec));
}

static groat_status place(groat__bench *b, side *s)
{
    groat_plan *plan = &s->trial.plan;
    groat_status status = GROAT_OK;

    for (size_t i = 0; i < plan->buffer_count && status == GROAT_OK; i++) {
        status =
            groat_memory_alloc(b->context, b->target, plan->buffers[i].bytes,
                               &s->address[i], &b->error);
        if (status == GROAT_OK && groat_buffer_is_input(&plan->buffers[i]))
            status = fill(b, s, i);
    }
    if (status == GROAT_OK)
        status = s->trial.driver->bind(b->context, s->trial.spec, plan,
                                       s->address, &b->error);
    if (status != GROAT_OK)
        return status;
    s->how = (groat_launch)GROAT_LAUNCH_INIT;
    memcpy(s->how.grid, plan->grid, sizeof(s->how.grid));
    return GROAT_OK;
}

static groat_status add(groat__bench *b, race *r, const char *text)
{
    side *s = &r->sides[r->count];
    groat_status status;

    if (r->count == SIDES_MAX)
        return groat__fail(&b->error, GROAT_INVALID,
                           "bench stream takes %d specs at most",
                           SIDES_MAX - GROAT_PLAIN_READS);
    r->count++;
    status = groat_spec_parse(b->context, text, b->target, &s->trial.spec,
                              &b->error);
    if (status == GROAT_OK)
        status = groat__trial_plan(b->cli, &s->trial, &b->error);
    if (status == GROAT_OK && s->trial.driver == NULL)
        status = groat__fail(&b->error, GROAT_INVALID,
                             "'%.60s' has no run.def: its bandwidth "
                             "cannot be told",
                             text);
    if (status == GROAT_OK)
        status = groat__trial_get(b->cli, &s->trial, &b->error);
    /* The library's own kernels are tested elsewhere. */
    if (status == GROAT_OK &&
        (s->trial.own || b->cli->values.expected.count > 0 ||
         b->cli->values.inputs.count > 0))
        status = check(b, s);
    return status == GROAT_OK ? place(b, s) : status;
}

/* The command line's arguments, grid and files are those of its specs. */
static groat_status add_plain(groat__bench *b, race *r)
{
    const groat__values given = b->cli->values;
    groat_status status = GROAT_OK;

    b->cli->values = (groat__values){.seed = given.seed};
    for (size_t i = 0; i < GROAT_PLAIN_READS && status == GROAT_OK; i++)
        status = add(b, r, groat_plain_reads[i]);
    b->cli->values = given;
    r->plain = r->count;
    return status;
}

static groat_status add_all(groat__bench *b, race *r)
{
    groat_status status = add_plain(b, r);
    bool named = false;

    for (size_t i = 0; i < b->cli->word_count && status == GROAT_OK; i++)
        if (groat__bench_is_spec(b->cli->words[i])) {
            named = true;
            status = add(b, r, b->cli->words[i]);
        }
    for (size_t i = 0; i < GROAT_STREAMS && !named && status == GROAT_OK; i++)
        status = add(b, r, groat_streams[i]);
    return status;
}

static groat_status run_round(groat__bench *b, race *r, size_t round)
{
    for (size_t i = 0; i < r->count; i++) {
        /* Each round starts with another kernel. */
        side *s = &r->sides[(i + round) % r->count];
        groat_status status = groat__trial_time(
            b->cli, &s->trial, &s->how, r->repeats, &s->us[round], &b->error);

        if (status != GROAT_OK)
            return status;
    }
    return GROAT_OK;
}

static double rate_of(const race *r, side *s)
{
    return (double)s->trial.plan.moved_bytes /
           groat__bench_median(s->us, r->rounds) / r->bytes_per_us;
}

static void tell(groat__bench *b, race *r)
{
    double best = 0;

    for (size_t i = 0; i < r->plain; i++) {
        double rate = rate_of(r, &r->sides[i]);

        groat__bench_say(b, groat_spec_text(r->sides[i].trial.spec), r->unit,
                         rate, NULL, 0);
        best = rate > best ? rate : best;
    }
    for (size_t i = r->plain; i < r->count; i++)
        groat__bench_say(b, groat_spec_text(r->sides[i].trial.spec), r->unit,
                         rate_of(r, &r->sides[i]), "plain read", best);
}

static void clear(groat__bench *b, race *r)
{
    for (size_t i = 0; i < r->count; i++) {
        for (size_t k = 0; k < GROAT_PLAN_BUFFERS; k++)
            groat_memory_free(b->context, b->target, r->sides[i].address[k]);
        groat__trial_free(&r->sides[i].trial);
    }
    free(r);
}

groat_status groat__bench_stream(groat__bench *b)
{
    race *r = groat__trials_take(1, sizeof(*r));
    bool judged = strcmp(b->backend, "cpu") == 0;
    groat_status status;

    if (r == NULL)
        return groat__fail(&b->error, GROAT_NO_MEMORY, "out of memory");
    r->rounds = judged ? ROUNDS_JUDGED : ROUNDS;
    r->repeats = judged ? 1 : REPEATS;
    r->unit = judged ? "MB/s" : "GB/s";
    r->bytes_per_us = judged ? 1 : 1e3;
    status = add_all(b, r);
    for (size_t round = 0; round < r->rounds && status == GROAT_OK; round++)
        status = run_round(b, r, round);
    if (status == GROAT_OK)
        tell(b, r);
    clear(b, r);
    return status;
}
