/* SPDX-License-Identifier: Apache-2.0
 *
 * tune_worker.c - groat tune-worker: measures the choices that tune.c asks for,
 * in a process that may hang or crash.
 *
 * Each word is the shape with a choice: first the library's, which places the
 * memory, then those to measure, numbered from 1.  All decodes read the same
 * memory; each round times every one, another one first.  What becomes of a
 * choice is a line on stdout as soon as it is known:
 *
 *     begin N           it is opened, compared or timed now
 *     refused N REASON  it is not possible
 *     failed N REASON   it could not be compiled or loaded
 *     wrong N NORM      its output differs from the reference
 *     us N NUMBER       the median of its rounds
 *
 * Invariant: a step that takes longer than --timeout ends the process, so that
 * the last "begin" names the choice that hangs.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>

#include "cli/attention/tune.h"

/* One choice.  Without a decode it is out. */
typedef struct runner {
    groat_decode *decode;
    uint64_t workspace;
    double us[GROAT__TRIAL_ROUNDS];
} runner;

static void begin(const groat__cli *cli, size_t n)
{
    (void)printf("begin %zu\n", n);
    (void)fflush(stdout);
    (void)alarm((unsigned)cli->values.timeout_s);
}

static void drop(runner *one)
{
    groat_decode_close(one->decode);
    one->decode = NULL;
}

/* On one line, also where a compiler's words have several. */
static void refuse(size_t n, groat_error *error)
{
    (void)printf("%s %zu %.*s\n",
                 error->status == GROAT_INVALID ? "refused" : "failed", n,
                 (int)strcspn(error->text, "\n"), error->text);
    groat_error_clear(error);
}

/* Makes the trial's next launches those of a runner. */
static void select_runner(groat__decode_trial *t, const runner *one)
{
    t->decode = one->decode;
    t->arguments.workspace = one->workspace;
}

/* Opens a choice and compares its output.  One that cannot be used is told and
 * has no decode then.  Errors: of the device, after which nothing more can be
 * measured. */
static groat_status open_one(groat__decode_trial *t, size_t n, runner *one)
{
    groat__decode_word word;
    groat_status status = groat__decode_word_parse(
        t->cli->words[n], groat__decode_trial_on_cpu(t), &word, t->error);

    word.shape.score = t->word.shape.score;
    begin(t->cli, n);
    if (status == GROAT_OK)
        status = groat_decode_open(t->cli->context, t->target, &word.shape,
                                   &word.choice, &one->decode, t->error);
    if (status != GROAT_OK) {
        refuse(n, t->error);
        return GROAT_OK;
    }
    status = groat__decode_trial_give_zeros(
        t, groat_decode_workspace(one->decode), &one->workspace);
    select_runner(t, one);
    if (status == GROAT_OK)
        status = groat__decode_trial_compare(t);
    if (status == GROAT_INVALID) {
        refuse(n, t->error);
        drop(one);
        return GROAT_OK;
    }
    if (status == GROAT_OK && !groat__decode_trial_is_right(t)) {
        (void)printf("wrong %zu %.2e\n", n,
                     t->lse_right ? t->norm : t->lse_error);
        drop(one);
    }
    return status;
}

static groat_status time_one(groat__decode_trial *t, double *us)
{
    size_t calls = groat__decode_trial_calls(t);
    uint64_t start = groat__now_ns();
    groat_status status = GROAT_OK;

    for (size_t i = 0; i < calls && status == GROAT_OK; i++)
        status = groat__decode_trial_launch(t, i % t->sets);
    if (status == GROAT_OK)
        status = groat_synchronize(t->cli->context, t->target, t->error);
    *us = (double)(groat__now_ns() - start) / 1e3 / (double)calls;
    return status;
}

/* The first round warms up. */
static groat_status time_all(groat__decode_trial *t, runner *all, size_t count)
{
    groat_status status = GROAT_OK;

    for (size_t round = 0; round <= GROAT__TRIAL_ROUNDS; round++)
        for (size_t i = 0; i + 1 < count && status == GROAT_OK; i++) {
            size_t n = 1 + (i + round) % (count - 1);
            double us = 0;

            if (all[n].decode == NULL)
                continue;
            begin(t->cli, n);
            groat__progress_step(&t->cli->progress, round, GROAT__TRIAL_ROUNDS,
                                 "rounds of %zu choices", count - 1);
            select_runner(t, &all[n]);
            status = time_one(t, &us);
            if (round > 0)
                all[n].us[round - 1] = us;
        }
    return status;
}

static groat_status measure(groat__decode_trial *t, runner *all)
{
    size_t count = t->cli->word_count;
    groat_status status;
    runner own;

    begin(t->cli, 0);
    status = groat__decode_trial_prepare(t, t->cli->words[0]);
    own = (runner){.decode = t->decode, .workspace = t->arguments.workspace};
    for (size_t i = 1; i < count && status == GROAT_OK; i++) {
        groat__progress_step(&t->cli->progress, i, count, "choices compared");
        status = open_one(t, i, &all[i]);
    }
    if (status == GROAT_OK)
        status = time_all(t, all, count);
    (void)alarm(0);
    groat__progress_clear(&t->cli->progress);
    for (size_t i = 1; i < count; i++) {
        if (status == GROAT_OK && all[i].decode != NULL)
            (void)printf("us %zu %.4f\n", i,
                         groat__decode_trial_median(all[i].us));
        drop(&all[i]);
    }
    select_runner(t, &own);
    return status;
}

int groat__cmd_tune_worker(groat__cli *cli)
{
    groat_error error = GROAT_ERROR_INIT;
    groat__decode_trial *t = calloc(1, sizeof(*t));
    runner *all = calloc(cli->word_count, sizeof(*all));
    int code = GROAT__EXIT_FAILED;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGALRM, SIG_DFL);
    if (t == NULL || all == NULL)
        code = groat__cli_refuse(cli, GROAT_NO_MEMORY, "out of memory");
    else
        code = groat__cli_open(cli, 0);
    if (code == GROAT__EXIT_DONE) {
        groat__decode_trial_start(t, cli, &error);
        if (measure(t, all) != GROAT_OK)
            code = groat__cli_fail(cli, &error);
        groat__decode_trial_clear(t);
    }
    free(all);
    free(t);
    return code;
}
