/* SPDX-License-Identifier: Apache-2.0
 *
 * locals.c - decides whether a local variable matters that nobody set.
 *
 * Of a variable that may be unset the compiler only warns, as many a sound
 * kernel has one, and of arrays it does not even do that.  A kernel runs again
 * with zeros in variables that nobody set: if an output differs, or a rule is
 * broken, that is a finding.  Whether an output differs from run to run anyway,
 * as one with a clock in it or one for which blocks race, is looked at in runs
 * on one host thread.
 */
#include "cli/run/locals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Finds the next warning in a compiler's log; NULL if there is none. */
static const char *find_warning(const char *log)
{
    static const char *const marks[] = {"[-Wmaybe-uninitialized]",
                                        "[-Wsometimes-uninitialized]"};
    const char *first = NULL;

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        const char *mark = strstr(log, marks[i]);

        if (mark != NULL && (first == NULL || mark < first))
            first = mark;
    }
    return first;
}

bool groat__locals_wanted(const groat__trial *trial)
{
    return strncmp(groat_spec_target(trial->spec), "cpu:", 4) == 0 &&
           trial->own;
}

/* Appends where gcc says that the variable of a warning was declared: the
 * warning itself may be in a function that is not the author's. */
static void add_declared(const char *mark, char *out, size_t room)
{
    const char *next = find_warning(mark + 1);
    const char *end = strstr(mark, ": note: '");
    const char *start = end;
    size_t used = strlen(out);

    if (end == NULL || (next != NULL && next < end) ||
        strstr(end, " was declared here") == NULL)
        return;
    while (start > mark && start[-1] != '\n')
        start--;
    (void)snprintf(out + used, room - used, ", declared at %.*s",
                   (int)(end - start), start);
}

/* Writes " (the compiler warns: WARNING, or one of N others)", the first
 * warning's line without its mark, or nothing if there is none. */
static void describe(const char *log, char *out, size_t room)
{
    const char *mark = find_warning(log);
    const char *start = mark;
    size_t others = 0;

    *out = '\0';
    if (mark == NULL)
        return;
    while (start > log && start[-1] != '\n')
        start--;
    for (const char *at = mark; (at = find_warning(at + 1)) != NULL;)
        others++;
    while (mark > start && mark[-1] == ' ')
        mark--;
    (void)snprintf(out, room, " (the compiler warns: %.*s", (int)(mark - start),
                   start);
    add_declared(find_warning(log), out, room);
    if (others > 0)
        (void)snprintf(out + strlen(out), room - strlen(out),
                       ", or one of %zu others", others);
    (void)snprintf(out + strlen(out), room - strlen(out), ")");
}

/* Runs the trial's kernel in cli->context as `again`, and writes no files. */
static groat_status run_here(groat__cli *cli, const groat__trial *trial,
                             groat__trial *again, groat_error *error)
{
    const groat__values values = cli->values;
    groat_status status =
        groat_spec_parse(cli->context, groat_spec_text(trial->spec),
                         groat_spec_target(trial->spec), &again->spec, error);

    again->keeps = again->unjudged = true;
    cli->values.outputs.count = 0;
    cli->values.repeat = 0;
    cli->values.time = false;
    if (!status)
        status = groat__trial_plan(cli, again, error);
    if (!status)
        status = groat__trial_get(cli, again, error);
    if (!status)
        status = groat__trial_launch(cli, again, error);
    cli->values = values;
    return status;
}

/* Runs it in a context of its own, with flags and host threads, and with time
 * for what it may take longer; what remains of `again` are the outputs. */
static groat_status run_again(groat__cli *cli, const groat__trial *trial,
                              unsigned flags, unsigned jobs,
                              groat__trial *again, groat_error *error)
{
    groat_context *context = cli->context;
    unsigned all_jobs = cli->judge_jobs;
    unsigned seconds = cli->judge_seconds;
    groat_context *own = NULL;
    groat_status status;

    cli->judge_jobs = jobs;
    cli->judge_seconds = seconds * (1 + (jobs > 0 ? all_jobs / jobs : 1));
    status = groat__cli_open_beside(cli, flags, &own, error);
    cli->judge_jobs = all_jobs;
    if (!status) {
        cli->context = own;
        status = run_here(cli, trial, again, error);
        cli->context = context;
    }
    cli->judge_seconds = seconds;
    if (!own)
        return status;
    groat_kernel_release(again->kernel);
    groat_spec_free(again->spec);
    again->kernel = NULL;
    again->spec = NULL;
    groat_close(own);
    return status;
}

/* Finds the first output, and its byte, that differs; false: none does. */
static bool differ(const groat__trial *a, const groat__trial *b, size_t *buffer,
                   size_t *at)
{
    for (*buffer = 0; *buffer < a->plan.buffer_count; (*buffer)++) {
        const char *mine = a->kept[*buffer];
        const char *other = b->kept[*buffer];

        for (*at = 0; mine && other && *at < a->plan.buffers[*buffer].bytes;
             (*at)++)
            if (mine[*at] != other[*at])
                return true;
    }
    return false;
}

/* The runs after the first. */
enum { ZEROS, ZEROS_ALONE, ALONE, ALONE_TWICE, RUNS };

/* Makes a finding of an output that differs if variables hold zeros, and does
 * not if nothing is changed. */
static groat_status compare(groat__cli *cli, groat__trial *trial,
                            groat__trial runs[RUNS], groat_error *error)
{
    char warning[256];
    char place[160];
    size_t buffer;
    size_t at;

    if (!differ(trial, &runs[ZEROS], &buffer, &at))
        return GROAT_OK;
    for (size_t i = ZEROS_ALONE; i < RUNS; i++) {
        if (run_again(cli, trial, i == ZEROS_ALONE ? GROAT_OPEN_ZERO_LOCALS : 0,
                      1, &runs[i], error)) {
            /* Nothing is decided: the first run stands. */
            groat_error_clear(error);
            return GROAT_OK;
        }
    }
    if (differ(&runs[ALONE], &runs[ALONE_TWICE], &buffer, &at) ||
        !differ(&runs[ALONE], &runs[ZEROS_ALONE], &buffer, &at))
        return GROAT_OK;
    describe(trial->info.log, warning, sizeof(warning));
    groat__compare_place(&trial->plan.buffers[buffer], at, place,
                         sizeof(place));
    trial->verdict = GROAT__WRONG;
    return groat__fail(error, GROAT_JUDGED,
                       "a local variable or array that nobody set decides "
                       "what is in %s%s: it differs if that holds zeros",
                       place, warning);
}

/* Makes a finding of the second run one of the first. */
static groat_status blame(groat__trial *trial, groat_error *error)
{
    char text[GROAT_ERROR_TEXT];
    char warning[256];

    describe(trial->info.log, warning, sizeof(warning));
    (void)snprintf(text, sizeof(text), "%s", error->text);
    groat_error_clear(error);
    trial->verdict = GROAT__WRONG;
    return groat__fail(error, GROAT_JUDGED,
                       "a local variable or array that nobody set decides "
                       "what happens%s: if it holds zeros, %s",
                       warning, text);
}

groat_status groat__locals_check(groat__cli *cli, groat__trial *trial,
                                 groat_error *error)
{
    groat__trial *runs = groat__trials_take(RUNS, sizeof(*runs));
    groat_status status;

    if (!runs)
        return groat__fail(error, GROAT_NO_MEMORY, "out of memory");
    status = run_again(cli, trial, GROAT_OPEN_ZERO_LOCALS, cli->judge_jobs,
                       &runs[ZEROS], error);
    if (status == GROAT_JUDGED)
        status = blame(trial, error);
    else if (status == GROAT_NO_DEVICE) {
        /* The kernel is from a store, and there is no compiler here. */
        groat_error_clear(error);
        status = GROAT_OK;
    } else if (!status)
        status = compare(cli, trial, runs, error);
    for (size_t i = 0; i < RUNS; i++)
        groat__trial_free(&runs[i]);
    free(runs);
    return status;
}
