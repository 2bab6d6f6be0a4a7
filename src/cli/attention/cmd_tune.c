/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_tune.c - groat tune: measures choices of a decode, first of kernels, then
 * of grids of the fastest one, and records the fastest in the store.
 */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cli/attention/tune.h"
#include "groat_store.h"

enum { SECONDS = 60 }; /* that a choice may take at a time */

/* A choice is recorded in the place of the library's own if it is this much
 * faster; what differs less is noise. */
static const double faster = 1.005;

/* One shape on its way. */
typedef struct tuner {
    groat__cli *cli;
    const char *target;
    const char *text;
    groat__decode_word word;
    char device[160];
    unsigned multiprocessors;
    groat_decode_choice library;     /* its own choice */
    groat__tunings lists[2];         /* kernels, then grids */
    const groat__tuning *own, *best; /* of the last list */
    groat__str spec;                 /* of the best */
} tuner;

/* Fills in what the library chooses, and what the device is. */
static groat_status complete(tuner *t, groat_decode_choice *choice,
                             groat__str *spec, groat_error *error)
{
    groat_decode_info info = {.size = sizeof(info)};
    groat_decode *decode = NULL;
    groat_status status = groat_decode_open(
        t->cli->context, t->target, &t->word.shape, choice, &decode, error);

    if (status == GROAT_OK)
        status = groat_decode_choice_get(decode, choice, error);
    if (status == GROAT_OK)
        status = groat_decode_info_get(decode, &info, error);
    if (status == GROAT_OK) {
        t->multiprocessors = info.multiprocessors;
        (void)snprintf(t->device, sizeof(t->device), "%s", info.device);
    }
    if (status == GROAT_OK && spec != NULL)
        groat__str_add(spec, groat_decode_spec(decode));
    groat_decode_close(decode);
    return status;
}

/* ---- the search ------------------------------------------------------------
 */

static const groat__tuning *fastest(const groat__tunings *list)
{
    const groat__tuning *best = NULL;

    for (size_t i = 0; i < list->count; i++)
        if (list->at[i].state == GROAT__TUNING_TIMED &&
            (best == NULL || list->at[i].us < best->us))
            best = &list->at[i];
    return best;
}

static groat_status measure(tuner *t, size_t stage, groat_error *error)
{
    groat_status status = groat__tunings_measure(t->cli, t->text, &t->library,
                                                 &t->lists[stage], error);

    if (status == GROAT_OK && fastest(&t->lists[stage]) == NULL)
        return groat__fail(error, GROAT_INVALID,
                           "no choice of %s could be measured; the first "
                           "one: %s",
                           t->text, t->lists[stage].at[0].why);
    return status;
}

static bool is_same(const groat_decode_choice *a, const groat_decode_choice *b)
{
    return a->warps == b->warps && a->stages == b->stages &&
           a->cluster == b->cluster && a->split == b->split &&
           a->blocks == b->blocks && a->least == b->least;
}

/* The library's own choice is in both lists, in the second behind the best
 * kernel's grid if it is not that. */
static groat_status search(tuner *t, groat_error *error)
{
    groat_decode_choice own = GROAT_DECODE_CHOICE_INIT;
    groat_decode_choice best;
    groat_status status = complete(t, &own, NULL, error);

    if (status != GROAT_OK)
        return status;
    t->library = own;
    groat__tunings_of_kernel(&own,
                             (uint64_t)t->word.shape.sequences *
                                     t->word.shape.kv_heads <
                                 t->multiprocessors,
                             &t->lists[0]);
    status = measure(t, 0, error);
    if (status != GROAT_OK)
        return status;
    best = fastest(&t->lists[0])->choice;
    status = complete(t, &best, NULL, error);
    if (status != GROAT_OK)
        return status;
    groat__tunings_of_grid(&best, t->multiprocessors, &t->lists[1]);
    t->own = &t->lists[1].at[0];
    if (!is_same(&best, &own)) {
        t->own = &t->lists[1].at[t->lists[1].count];
        t->lists[1].at[t->lists[1].count++].choice = own;
    }
    return measure(t, 1, error);
}

static groat_status record(tuner *t, groat_error *error)
{
    const groat__tuning *best = fastest(&t->lists[1]);
    groat_decode_choice choice;
    groat_status status;

    if (t->own->state == GROAT__TUNING_TIMED && t->own->us < faster * best->us)
        best = t->own;
    t->best = best;
    choice = best->choice;
    status = complete(t, &choice, &t->spec, error);
    return status == GROAT_OK
               ? groat_decode_put_tuned(t->cli->context, t->target, NULL,
                                        &t->word.shape, &choice, error)
               : status;
}

/* ---- the answer ------------------------------------------------------------
 */

static void tell_one(groat__json *json, const char *name,
                     const groat__tuning *one)
{
    char choice[GROAT__CHOICE_ROOM];

    groat__tuning_text(&one->choice, choice);
    groat__json_object(json, name);
    groat__json_string(json, "choice", choice);
    if (one->state == GROAT__TUNING_TIMED)
        groat__json_real(json, "us", one->us);
    else
        groat__json_string(json, "problem", one->why);
    groat__json_end(json);
}

static void tell_json(tuner *t)
{
    groat__json *json = &t->cli->json;

    groat__json_object(json, NULL);
    groat__json_string(json, "shape", t->text);
    groat__json_string(json, "target", t->target);
    groat__json_string(json, "device", t->device);
    groat__json_string(json, "spec", t->spec.data);
    tell_one(json, "own", t->own);
    tell_one(json, "tuned", t->best);
    groat__json_array(json, "measured");
    for (size_t stage = 0; stage < 2; stage++)
        for (size_t i = 0; i < t->lists[stage].count; i++)
            tell_one(json, NULL, &t->lists[stage].at[i]);
    groat__json_end(json);
    groat__json_end(json);
}

static void tell(tuner *t)
{
    char text[GROAT__CHOICE_ROOM];
    size_t left_out = 0;
    size_t timed = 0;

    if (t->cli->values.json) {
        tell_json(t);
        return;
    }
    (void)printf("%s on %s\n",
                 t->text[0] != '\0' ? t->text : "the default shape", t->device);
    groat__tuning_text(&t->own->choice, text);
    if (t->own->state == GROAT__TUNING_TIMED)
        (void)printf("  chosen  %9.2f us  %s\n", t->own->us, text);
    else
        (void)printf("  chosen  %9s     %s: %s\n", "-", text, t->own->why);
    groat__tuning_text(&t->best->choice, text);
    (void)printf("  tuned   %9.2f us  %s", t->best->us, text);
    if (t->own->state == GROAT__TUNING_TIMED)
        (void)printf(": %.3f of the time", t->best->us / t->own->us);
    (void)printf("\n");
    for (size_t stage = 0; stage < 2; stage++)
        for (size_t i = 0; i < t->lists[stage].count; i++) {
            const groat__tuning *one = &t->lists[stage].at[i];

            left_out += one->state == GROAT__TUNING_REFUSED;
            timed += one->state == GROAT__TUNING_TIMED;
            if (one->state != GROAT__TUNING_WRONG &&
                one->state != GROAT__TUNING_ENDED)
                continue;
            groat__tuning_text(&one->choice, text);
            groat__cli_say(t->cli, "warning: %s: %s", text, one->why);
        }
    (void)printf("  %zu measured, %zu not possible\n", timed, left_out);
}

/* Adds a line of a manifest: the kernel, and what it was measured for.  False
 * without memory. */
static bool add_line(const tuner *t, groat__str *out)
{
    const char *score = t->cli->values.score;
    char choice[GROAT__CHOICE_ROOM];
    groat__str decode = {0};
    json_t *line;
    char *text = NULL;

    groat__tuning_text(&t->best->choice, choice);
    groat__str_addf(&decode, "%s%s%s", t->text, t->text[0] != '\0' ? "," : "",
                    choice);
    line =
        json_pack("{s:s, s:s, s:{s:s, s:s, s:s*}}", "spec", t->spec.data,
                  "target", t->target, "tuned", "device", t->device, "decode",
                  decode.failed ? "" : decode.data, "score", score);
    if (line != NULL)
        text = json_dumps(line, JSON_ENSURE_ASCII);
    if (text != NULL)
        groat__str_addf(out, "%s\n", text);
    json_decref(line);
    groat__str_free(&decode);
    free(text);
    return text != NULL && !out->failed;
}

/* ---- the command -----------------------------------------------------------
 */

static groat_status tune_shape(tuner *t, groat__str *lines, groat_error *error)
{
    groat__decode_names names = {.count = 0};
    groat_status status = groat__decode_word_parse(
        t->text, strncmp(t->target, "cpu:", 4) == 0, &t->word, error);

    if (status == GROAT_OK && groat__decode_word_choice(&t->word) != NULL)
        return groat__fail(
            error, GROAT_INVALID,
            "%s sets values that tune searches for; allowed: a shape without "
            "warps, stages, cluster, split, blocks, least",
            t->text);
    t->word.shape.score = t->cli->values.score;
    if (status == GROAT_OK)
        status = groat__decode_names_read(&t->cli->values, &names, error);
    groat__decode_names_free(&names);
    if (status == GROAT_OK)
        status = search(t, error);
    if (status == GROAT_OK)
        status = record(t, error);
    if (status == GROAT_OK && !add_line(t, lines))
        status = groat__fail(error, GROAT_NO_MEMORY, "out of memory");
    if (status == GROAT_OK)
        tell(t);
    return status;
}

/* Returns an exit code. */
static int tune_word(groat__cli *cli, const char *text, groat__str *lines)
{
    groat_error error = GROAT_ERROR_INIT;
    tuner *t = calloc(1, sizeof(*t));
    groat__str shape = {0};
    size_t len = strlen(text);
    int code = GROAT__EXIT_DONE;

    /* The choice is appended to it. */
    while (len > 0 && strchr(", ", text[len - 1]) != NULL)
        len--;
    groat__str_addn(&shape, text, len);
    if (t == NULL || shape.failed) {
        free(t);
        groat__str_free(&shape);
        return groat__cli_refuse(cli, GROAT_NO_MEMORY, "out of memory");
    }
    t->cli = cli;
    t->text = len > 0 ? shape.data : "";
    t->target = cli->values.target != NULL ? cli->values.target
                                           : groat_default_target(cli->context);
    if (tune_shape(t, lines, &error) != GROAT_OK)
        code = groat__cli_fail(cli, &error);
    groat__str_free(&t->spec);
    groat__str_free(&shape);
    free(t);
    return code;
}

/* Shapes that were measured are recorded, also where a later one fails. */
int groat__cmd_tune(groat__cli *cli)
{
    const char *path = cli->values.output;
    groat_error error = GROAT_ERROR_INIT;
    groat__output output = {0};
    groat__str lines = {0};
    int code;
    int worst;

    if (cli->values.timeout_s == 0)
        cli->values.timeout_s = SECONDS;
    worst = code = groat__cli_open(cli, 0);
    if (code == GROAT__EXIT_DONE && groat_cache_path(cli->context) == NULL)
        return groat__cli_refuse(cli, GROAT_IO,
                                 "there is no store to record in: %s",
                                 groat_cache_problem(cli->context));
    if (code == GROAT__EXIT_DONE && path != NULL &&
        groat__output_open(&output, path, &error) != GROAT_OK)
        worst = code = groat__cli_fail(cli, &error);
    if (code != GROAT__EXIT_DONE)
        return code;
    groat__json_array(&cli->json, "tuned");
    for (size_t i = 0; i < cli->word_count; i++) {
        code = tune_word(cli, cli->words[i], &lines);
        worst = code != GROAT__EXIT_DONE ? code : worst;
    }
    groat__json_end(&cli->json);
    if (path != NULL && lines.len > 0 &&
        groat__output_write(&output, lines.data, lines.len, &error) != GROAT_OK)
        worst = groat__cli_fail(cli, &error);
    groat__output_drop(&output);
    groat__str_free(&lines);
    return worst;
}
