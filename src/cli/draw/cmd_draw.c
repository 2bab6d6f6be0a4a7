/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_draw.c - groat draw: draws a kernel's accesses to memory.
 *
 * Owns the order of the steps: the file is opened, the kernel runs on the judge
 * while record.c records it, and the picture is written when it is complete.
 * draw.c draws it.
 * Invariant: a new file is left only with a complete picture in it; a kernel
 * with wrong output is drawn, too, but the command fails.
 */
#include "cli/draw/draw.h"
#include "cli/run/places.h"
#include "cli/run/trial.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static const char default_target[] = "cpu:gfx950";

/* ---- what the run was about -------------------------------------------- */

/* Returns a constant of the spec, or 0 if there is no such constant. */
static int64_t value_of(const groat_spec *spec, const char *name)
{
    int64_t value = 0;

    return groat_spec_get(spec, name, &value, NULL) ? 0 : value;
}

static void say_swizzle(groat_spec *spec, char *out, size_t size)
{
    static const char name[] = ",swizzle=";
    const char *named = strstr(groat_spec_text(spec), name);
    int64_t bits = value_of(spec, "swizzle_bits");
    int64_t base = value_of(spec, "swizzle_base");
    int64_t shift = value_of(spec, "swizzle_shift");

    if (bits > 0)
        (void)snprintf(out, size,
                       "swizzle (%" PRId64 ",%" PRId64 ",%" PRId64 ")", bits,
                       base, shift);
    else if (!groat_spec_get(spec, "swizzle_bits", &bits, NULL))
        (void)snprintf(out, size, "no swizzle");
    else if (named)
        (void)snprintf(out, size, "swizzle %.*s",
                       (int)strcspn(named + strlen(name), ","),
                       named + strlen(name));
}

static groat__subject subject_of(const groat__trial *trial)
{
    groat__subject subject = {.spec = groat_spec_text(trial->spec),
                              .target = groat_spec_target(trial->spec)};
    const groat_plan *plan = &trial->plan;

    say_swizzle(trial->spec, subject.swizzle, sizeof(subject.swizzle));
    subject.threads =
        trial->info.block[0] * trial->info.block[1] * trial->info.block[2];
    subject.shared_bytes = trial->info.shared_bytes;
    memcpy(subject.grid, plan->grid, sizeof(subject.grid));
    subject.pitch = (uint64_t)(value_of(trial->spec, "ld") *
                               value_of(trial->spec, "elem_bytes"));
    subject.buffer_count = plan->buffer_count;
    for (size_t i = 0; i < plan->buffer_count; i++) {
        subject.buffers[i].input = groat_buffer_is_input(&plan->buffers[i]);
        subject.buffers[i].name = plan->buffers[i].name;
        subject.buffers[i].address = trial->address[i];
        subject.buffers[i].bytes = plan->buffers[i].bytes;
    }
    return subject;
}

/* ---- the answer -------------------------------------------------------- */

static void figures_json(groat__json *json, const groat__record *record,
                         const groat__kind *kind)
{
    for (size_t i = 0; i < kind->figure_count; i++) {
        const groat__figure *figure = &kind->figures[i];
        const groat__step *step = &record->steps[figure->step];

        groat__json_object(json, NULL);
        groat__json_string(json, "access", groat__access_name(kind->access));
        groat__json_uint(json, "bytes", kind->bytes);
        groat__json_uint(json, "wave", kind->wave);
        groat__json_uint(json, "instruction", step->nth);
        groat__json_uint(json, "alike", figure->alike);
        groat__json_uint(json, "passes", step->passes);
        groat__json_uint(json, "passes_min", step->passes_min);
        groat__json_uint(json, "worst", step->reuse);
        groat__json_uint(json, "boxes", figure->boxes);
        groat__json_uint(json, "in_conflict", figure->hot);
        groat__json_end(json);
    }
}

/* With "-o -" the picture goes to stdout, and the answer to stderr. */
static bool is_stdout(const groat__cli *cli)
{
    return strcmp(cli->values.picture, "-") == 0;
}

static void answer(groat__cli *cli, const groat__trial *trial,
                   const groat__record *record, const groat__drawn *drawn,
                   size_t bytes)
{
    groat__json *json = &cli->json;

    if (!cli->values.json) {
        (void)fprintf(
            is_stdout(cli) ? stderr : stdout,
            "%s: %u page%s of A4, %zu bytes; %zu boxes of the source, "
            "%zu of shared memory\n",
            cli->values.picture, drawn->pages, drawn->pages == 1 ? "" : "s",
            bytes, drawn->vectors, drawn->cells);
        return;
    }
    groat__json_string(json, "spec", groat_spec_text(trial->spec));
    groat__json_string(json, "target", groat_spec_target(trial->spec));
    groat__json_string(json, "output", cli->values.picture);
    groat__json_uint(json, "output_bytes", bytes);
    groat__json_uint(json, "pages", drawn->pages);
    groat__json_uint(json, "shared_bytes", trial->info.shared_bytes);
    groat__json_uint(json, "shared_banks", record->banks);
    groat__json_uint(json, "cells", drawn->cells);
    groat__json_uint(json, "gap_cells", drawn->gaps);
    groat__json_uint(json, "zero_cells", drawn->zero_cells);
    groat__json_uint(json, "source_cells", drawn->vectors);
    groat__json_uint(json, "source_zero_cells", drawn->zero_vectors);
    groat__json_array(json, "figures");
    for (size_t k = 0; k < drawn->reads.kind_count; k++)
        figures_json(json, record, &drawn->reads.kinds[k]);
    groat__json_end(json);
    groat__banks_json(json, &record->sums);
    groat__json_bool(json, "verified", trial->verdict == GROAT__RIGHT);
}

/* ---- the run ----------------------------------------------------------- */

static void on_access(void *user, const groat_trace *event)
{
    groat__record_add(user, event);
}

/* Parses and plans the spec, to find errors of the command line. */
static int prepare(groat__cli *cli, groat__trial *trial)
{
    groat_error error = GROAT_ERROR_INIT;
    const char *target = cli->values.target;

    if (groat_spec_parse(cli->context, cli->words[0],
                         target ? target : default_target, &trial->spec,
                         &error) ||
        groat__trial_plan(cli, trial, &error))
        return groat__cli_fail(cli, &error);
    if (strncmp(groat_spec_target(trial->spec), "cpu:", 4) != 0)
        return groat__cli_refuse(
            cli, GROAT_INVALID,
            "draw needs a cpu target, which reports each access; this is %s",
            groat_spec_target(trial->spec));
    if (!trial->driver)
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "the family of %s has no run.def: it cannot "
                                 "be run, so there is nothing to draw",
                                 cli->words[0]);
    return GROAT__EXIT_DONE;
}

static int run(groat__cli *cli, groat__trial *trial, groat__output *output)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_status status =
        is_stdout(cli)
            ? groat__output_stdout(output, &error)
            : groat__output_open(output, cli->values.picture, &error);

    if (status)
        return groat__cli_fail(cli, &error);
    groat__progress_show(&cli->progress, 0, 1, "running %s",
                         groat_spec_text(trial->spec));
    status = groat__trial_get(cli, trial, &error);
    if (!status)
        status = groat__trial_launch(cli, trial, &error);
    groat__progress_clear(&cli->progress);
    if (status && cli->values.json)
        groat__places_json(&cli->json, trial, &error);
    return status ? groat__cli_fail(cli, &error) : GROAT__EXIT_DONE;
}

static bool is_named(const groat__cli *cli, const char *tail)
{
    size_t len = strlen(cli->values.picture);
    size_t tail_len = strlen(tail);

    return len > tail_len &&
           strcmp(cli->values.picture + len - tail_len, tail) == 0;
}

/* Refuses an unknown file ending; a name without one is for an SVG. */
static int check_ending(groat__cli *cli)
{
    enum { LONGEST = 5 }; /* a longer tail is not taken for an ending */
    static const char *const endings[] = {".svg", ".png", ".html"};
    const char *slash = strrchr(cli->values.picture, '/');
    const char *name = slash ? slash + 1 : cli->values.picture;
    const char *dot = strrchr(name, '.');

    if (!dot || dot == name || strlen(dot) > LONGEST)
        return GROAT__EXIT_DONE;
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
        if (strcmp(dot, endings[i]) == 0)
            return GROAT__EXIT_DONE;
    return groat__cli_refuse(cli, GROAT_INVALID,
                             "a picture is .svg, .png or .html, this is "
                             "'%.64s'",
                             dot);
}

/* Converts the SVG to the format of the file's ending. */
static groat_status convert(const groat__cli *cli, const groat__record *record,
                            const groat__subject *subject, groat__str *picture,
                            groat_error *error)
{
    groat__str page = {0};

    if (is_named(cli, ".png"))
        return groat__draw_png(picture, error);
    if (!is_named(cli, ".html"))
        return GROAT_OK;
    if (!groat__draw_steps(record, subject, picture, &page)) {
        groat__str_free(&page);
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for the page");
    }
    groat__str_free(picture);
    *picture = page;
    return GROAT_OK;
}

static int draw(groat__cli *cli, const groat__trial *trial,
                groat__record *record, groat__output *output)
{
    groat_error error = GROAT_ERROR_INIT;
    char note[160] = "";
    groat__subject subject = subject_of(trial);
    unsigned waves = (subject.threads + record->lanes - 1) / record->lanes;
    groat__str svg = {0};
    groat__drawn drawn;
    int code = GROAT__EXIT_DONE;

    if (trial->verdict == GROAT__UNKNOWN)
        (void)snprintf(note, sizeof(note),
                       "The output of the run was compared with nothing.");
    else if (trial->verdict == GROAT__RIGHT)
        (void)snprintf(note, sizeof(note),
                       "The run was verified: all %" PRIu64
                       " bytes of output are right.",
                       trial->sum.bytes);
    else
        (void)snprintf(note, sizeof(note),
                       "THE RUN WAS WRONG: %" PRIu64 " of %" PRIu64
                       " bytes of output.",
                       trial->sum.mismatches, trial->sum.bytes);
    subject.note = note;
    record->waves = waves < GROAT__DRAW_WAVES ? waves : GROAT__DRAW_WAVES;
    if (record->failed || !groat__draw(record, &subject, &svg, &drawn))
        code = groat__cli_refuse(cli, GROAT_NO_MEMORY,
                                 "no memory for the picture");
    else if (convert(cli, record, &subject, &svg, &error) ||
             groat__output_write(output, svg.data, svg.len, &error))
        code = groat__cli_fail(cli, &error);
    if (!code)
        answer(cli, trial, record, &drawn, svg.len);
    groat__str_free(&svg);
    if (!code && trial->verdict == GROAT__WRONG) {
        groat__cli_say(cli, "%s: the picture is of a run with wrong bytes",
                       output->path);
        code = GROAT__EXIT_FAILED;
    }
    return code;
}

int groat__cmd_draw(groat__cli *cli)
{
    groat__output output = {0};
    groat__trial trial = {0};
    groat__record record = {0};
    int code;

    if (!cli->values.picture)
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "draw needs -o FILE; see groat help draw");
    if (is_stdout(cli) && cli->values.json)
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "-o - and --json both want stdout");
    code = check_ending(cli);
    if (code)
        return code;
    cli->trace = on_access;
    cli->trace_user = &record;
    groat__trial_limit(cli);
    code = groat__cli_open(cli, 0);
    if (!code)
        code = prepare(cli, &trial);
    if (!code)
        code = run(cli, &trial, &output);
    if (!code && !record.moment_count && !record.failed)
        code =
            groat__cli_refuse(cli, GROAT_INVALID,
                              "block 0 of %s touches no memory through groat's "
                              "functions and waits for nothing, so there is "
                              "nothing to draw; --pointers sees pointers of "
                              "its own",
                              groat_spec_text(trial.spec));
    if (!code)
        code = draw(cli, &trial, &record, &output);
    groat__output_drop(&output);
    groat__record_free(&record);
    groat__trial_free(&trial);
    return code;
}
