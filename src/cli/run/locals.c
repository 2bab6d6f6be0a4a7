/* SPDX-License-Identifier: Apache-2.0
 *
 * locals.c - decides whether a local variable matters that may be unset.
 *
 * Of such a variable the compiler only warns, as many a sound kernel has one.
 * A kernel with that warning runs again with zeros in variables that nobody
 * set: if an output differs, or a rule is broken, the warning becomes a
 * finding.
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

bool groat__locals_suspect(const groat__trial *trial)
{
    return strncmp(groat_spec_target(trial->spec), "cpu:", 4) == 0 &&
           trial->info.log != NULL && find_warning(trial->info.log) != NULL;
}

/* Writes the first warning's line without its mark, and how many others there
 * are. */
static void describe(const char *log, char *out, size_t room)
{
    const char *mark = find_warning(log);
    const char *start = mark;
    size_t others = 0;

    while (start > log && start[-1] != '\n')
        start--;
    for (const char *at = mark; (at = find_warning(at + 1)) != NULL;)
        others++;
    while (mark > start && mark[-1] == ' ')
        mark--;
    (void)snprintf(out, room, "%.*s", (int)(mark - start), start);
    if (others > 0)
        (void)snprintf(out + strlen(out), room - strlen(out),
                       ", or one of %zu others", others);
}

/* Runs the trial's kernel in cli->context as `again`, and writes no files. */
static groat_status run_again(groat__cli *cli, const groat__trial *trial,
                              groat__trial *again, groat_error *error)
{
    const groat__values values = cli->values;
    groat_status status =
        groat_spec_parse(cli->context, groat_spec_text(trial->spec),
                         groat_spec_target(trial->spec), &again->spec, error);

    again->summed = true;
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

/* Makes the warning a finding if the second run differs. */
static groat_status compare(groat__trial *trial, const groat__trial *again,
                            groat_status status, groat_error *error)
{
    char text[GROAT_ERROR_TEXT];
    char warning[256];

    describe(trial->info.log, warning, sizeof(warning));
    if (status == GROAT_JUDGED) {
        (void)snprintf(text, sizeof(text), "%s", error->text);
        groat_error_clear(error);
        trial->verdict = GROAT__WRONG;
        return groat__cli_error(error, GROAT_JUDGED,
                                "a local variable that nobody set decides what "
                                "happens (%s): if it holds zeros, %s",
                                warning, text);
    }
    for (size_t i = 0; !status && i < trial->plan.buffer_count; i++)
        if (trial->sums[i] != again->sums[i]) {
            trial->verdict = GROAT__WRONG;
            return groat__cli_error(error, GROAT_JUDGED,
                                    "a local variable that nobody set decides "
                                    "what is in %s (%s): it differs if the "
                                    "variable holds zeros",
                                    trial->plan.buffers[i].name, warning);
        }
    return status;
}

groat_status groat__locals_check(groat__cli *cli, groat__trial *trial,
                                 groat_error *error)
{
    groat_context *context = cli->context;
    groat__trial *again;
    groat_status status;

    if (!groat__locals_suspect(trial) || !trial->driver)
        return GROAT_OK;
    again = groat__trials_take(1, sizeof(*again));
    if (!again)
        return groat__cli_error(error, GROAT_NO_MEMORY, "out of memory");
    status = groat__cli_open_beside(cli, &cli->context, error);
    if (!status) {
        status =
            compare(trial, again, run_again(cli, trial, again, error), error);
        groat__trial_free(again);
        groat_close(cli->context);
    }
    cli->context = context;
    free(again);
    return status;
}
