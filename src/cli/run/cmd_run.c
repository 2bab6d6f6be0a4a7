/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_run.c - groat run: make kernels, launch them, compare every byte.
 *
 * Owns the order of the steps: all specs are parsed and planned before the
 * first is compiled, so that a mistake in the last one costs nothing.  trial.c
 * runs a kernel.
 * Invariant: each spec gets a report, also when an earlier one failed; the
 * exit code is the first failure's.
 */
#include "cli/run/banks.h"
#include "cli/run/locals.h"
#include "cli/run/trial.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void print_wrong(const groat__trial *trial)
{
    const groat__comparison *sum = &trial->sum;
    bool referred = trial->folder != NULL && trial->folder->has_reference &&
                    !trial->expected[sum->first - trial->plan.buffers];
    char place[160];

    groat__compare_place(sum->first, sum->first_offset, place, sizeof(place));
    (void)printf(
        "  verified  NO: %" PRIu64 " of %" PRIu64
        " bytes are wrong; first %s, expected %s%s, got %s%s\n",
        sum->mismatches, sum->bytes, place, sum->first_want,
        referred && sum->first_unset ? " (reference.c may not have written it)"
                                     : "",
        sum->first_have,
        sum->first_unwritten ? ", as it was filled before the launch" : "");
}

/* Also names outputs that were compared with nothing. */
static void print_right(const groat__trial *trial)
{
    (void)printf("  verified  yes, all %" PRIu64 " bytes", trial->sum.bytes);
    for (size_t i = 0; i < trial->plan.buffer_count; i++)
        if (trial->unknown[i])
            (void)printf("; nothing says what %s should be",
                         trial->plan.buffers[i].name);
    (void)fputc('\n', stdout);
}

static void print_error(const groat__comparison *sum)
{
    (void)printf("  error     %.3g of the expected norm of %s", sum->norm,
                 sum->norm_of->name);
    if (sum->has_ulps &&
        sum->ulps < UINT64_MAX) /* else a NaN is of no number */
        (void)printf(", %" PRIu64 " ulp at most", sum->ulps);
    (void)fputc('\n', stdout);
}

/* Why nothing was compared of a launch that broke no rule. */
static const char *why_unknown(const groat__trial *trial)
{
    if (!trial->driver)
        return "the family has no run.def; built and loaded only";
    for (size_t i = 0; i < trial->plan.buffer_count; i++)
        if (trial->unknown[i])
            return "nothing says what the output should be: neither a "
                   "reference.c nor a file";
    return "no output is to be compared: each has the tolerance none";
}

static void print_verdict(const groat__trial *trial, const groat_error *error)
{
    if (error->status == GROAT_JUDGED) {
        (void)printf("  verified  NO: %s\n", error->text);
        if (trial->sum.mismatches)
            print_wrong(trial);
    } else if (trial->verdict == GROAT__UNKNOWN)
        (void)printf("  verified  %s: %s\n",
                     trial->launch_us <= 0 ? "not run"
                     : error->status       ? "not compared"
                                           : "no rule broken",
                     error->status ? error->text : why_unknown(trial));
    else if (trial->sum.mismatches)
        print_wrong(trial);
    else
        print_right(trial);
    if (trial->sum.norm_of)
        print_error(&trial->sum);
}

static void print_trial(groat__cli *cli, const groat__trial *trial,
                        const groat_error *error)
{
    const groat_kernel_info *info = &trial->info;

    (void)printf("%s\n  target    %s\n", groat_spec_text(trial->spec),
                 groat_spec_target(trial->spec));
    if (trial->made) {
        (void)printf("  kernel    %s\n  key       %s\n", info->name, info->key);
        (void)printf("  origin    %s: compile %.3f ms, load %.3f ms\n",
                     groat_origin_name(trial->origin), info->compile_ms,
                     info->load_ms);
        (void)printf("  maker     %s\n", info->maker);
        groat__cli_say_warnings(cli, info);
        groat__facts_print("  facts     ", &info->facts);
    }
    if (trial->launch_us > 0)
        (void)printf("  launch    %.3f us by the %s's clock, %" PRIu64
                     " B moved, %.3f GB/s\n",
                     trial->launch_us, trial->device_clock ? "device" : "host",
                     trial->plan.moved_bytes, groat__trial_gb_per_s(trial));
    print_verdict(trial, error);
    if (trial->banks && trial->launch_us > 0)
        groat__banks_print(trial->banks);
}

/* A NULL target is the default one, which is not known yet, and passes. */
static int check_sanitize(groat__cli *cli, const char *target)
{
    if (cli->values.sanitize && cli->values.pointers)
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "--sanitize and --pointers exclude each "
                                 "other");
    if (!cli->values.sanitize || target == NULL ||
        strncmp(target, "cpu:", 4) == 0)
        return GROAT__EXIT_DONE;
    return groat__cli_refuse(cli, GROAT_INVALID,
                             "--sanitize is for cpu targets, this is %s",
                             target);
}

/* As check_sanitize(). */
static int check_report(groat__cli *cli, const char *target)
{
    const char *report = cli->values.report;

    if (report && strcmp(report, "banks") != 0)
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "--report is '%.64s'; the reports are: banks",
                                 report);
    if (!report || target == NULL || strncmp(target, "cpu:", 4) == 0)
        return GROAT__EXIT_DONE;
    return groat__cli_refuse(cli, GROAT_INVALID,
                             "--report banks is for cpu targets, which model "
                             "the banks of shared memory; this is %s",
                             target);
}

/* Parses and plans all specs, to find all errors of the command line. */
static int prepare(groat__cli *cli, groat__trial *trials)
{
    groat_error error = GROAT_ERROR_INIT;
    const char *target = cli->values.target;

    for (size_t i = 0; i < cli->word_count; i++) {
        groat__trial *trial = &trials[i];

        if (groat_spec_parse(cli->context, cli->words[i], target, &trial->spec,
                             &error) ||
            groat__trial_plan(cli, trial, &error))
            return groat__cli_fail(cli, &error);
        if (check_sanitize(cli, groat_spec_target(trial->spec)) ||
            check_report(cli, groat_spec_target(trial->spec)))
            return GROAT__EXIT_USAGE;
        if (cli->values.report && !trial->driver)
            return groat__cli_refuse(cli, GROAT_INVALID,
                                     "--report banks: the family of %s has no "
                                     "run.def: it is built and loaded, not run",
                                     cli->words[i]);
    }
    return GROAT__EXIT_DONE;
}

static void on_access(void *user, const groat_trace *event)
{
    groat__banks_add(user, event);
}

static int run_one(groat__cli *cli, groat__trial *trial, size_t index)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_status status;
    groat__banks banks = {0};
    int code;

    if (cli->values.report) {
        cli->trace_user = &banks;
        trial->banks = &banks;
    }
    groat__progress_show(&cli->progress, index, cli->word_count, "making %s",
                         groat_spec_text(trial->spec));
    status = groat__trial_get(cli, trial, &error);
    if (!status) {
        groat__progress_show(&cli->progress, index, cli->word_count,
                             "running %s", trial->info.name);
        trial->keeps = groat__locals_wanted(trial);
        status = groat__trial_launch(cli, trial, &error);
    }
    if (!status && groat__locals_wanted(trial))
        status = groat__locals_check(cli, trial, &error);
    groat__progress_clear(&cli->progress);
    if (status)
        groat__cli_say_error(cli, &error);
    if (cli->values.json) {
        groat__trial_json(&cli->json, trial, &error);
        if (status)
            groat__cli_json_error(&cli->json, &error);
    } else {
        if (index)
            (void)fputc('\n', stdout);
        print_trial(cli, trial, &error);
    }
    trial->banks = NULL;
    code = groat__exit_of(status);
    if (!code && trial->verdict == GROAT__WRONG)
        code = GROAT__EXIT_FAILED;
    groat_error_clear(&error);
    return code;
}

static int run_all(groat__cli *cli, groat__trial *trials)
{
    bool many = cli->word_count > 1;
    int code = prepare(cli, trials);

    if (code)
        return code;
    if (many)
        groat__json_array(&cli->json, "runs");
    for (size_t i = 0; i < cli->word_count; i++) {
        int one;

        if (many)
            groat__json_object(&cli->json, NULL);
        one = run_one(cli, &trials[i], i);
        if (many)
            groat__json_end(&cli->json);
        code = code ? code : one;
    }
    if (many)
        groat__json_end(&cli->json);
    return code;
}

int groat__cmd_run(groat__cli *cli)
{
    groat__trial *trials;
    int code;

    if (cli->word_count > 1 &&
        (cli->values.inputs.count || cli->values.outputs.count))
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "--input and --output go with one SPEC, there "
                                 "are %zu",
                                 cli->word_count);
    code = check_sanitize(cli, cli->values.target);
    if (!code)
        code = check_report(cli, cli->values.target);
    cli->trace = cli->values.report ? on_access : NULL;
    if (!code && cli->values.sanitize)
        code = groat__sanitize(cli);
    groat__trial_limit(cli);
    if (!code)
        code = groat__cli_open(cli, 0);
    if (code)
        return code;
    trials = groat__trials_take(cli->word_count, sizeof(*trials));
    if (!trials)
        return groat__cli_refuse(cli, GROAT_NO_MEMORY, "no memory for %zu runs",
                                 cli->word_count);
    code = run_all(cli, trials);
    for (size_t i = 0; i < cli->word_count; i++)
        groat__trial_free(&trials[i]);
    free(trials);
    return code;
}
