/* SPDX-License-Identifier: Apache-2.0
 *
 * tune.c - which choices of a decode are measured, and what became of them.
 *
 * Owns the processes that measure (tune_worker.c).
 * Invariant: no choice is given to a process after one that measured it has
 * hung or crashed.
 */
#include "cli/attention/tune.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORKER_ARGS = 32, /* options of a worker */
    OUTPUT_MAX = 1 << 22,
    SLACK_S = 30, /* of a process, beyond its steps */
    SPLITS_MAX = 4096
};

/* ---- which choices ---------------------------------------------------------
 */

void groat__tuning_text(const groat_decode_choice *c,
                        char out[GROAT__CHOICE_ROOM])
{
    (void)snprintf(out, GROAT__CHOICE_ROOM,
                   "warps=%u,stages=%u,cluster=%u,split=%u,blocks=%u,least=%u",
                   c->warps, c->stages, c->cluster, c->split, c->blocks,
                   c->least);
}

static void add(groat__tunings *out, groat_decode_choice choice)
{
    if (out->count < GROAT__TUNINGS)
        out->at[out->count++].choice = choice;
}

static unsigned bounded(unsigned value, unsigned most)
{
    return value == 0 ? 1 : value > most ? most : value;
}

/* Clusters for shapes of few strips. */
static void add_clusters(groat__tunings *out)
{
    static const unsigned warps[] = {4, 8}, clusters[] = {2, 4, 8, 16};

    for (size_t w = 0; w < 2; w++)
        for (unsigned stages = 2; stages <= 3; stages++)
            for (size_t i = 0; i < 4; i++) {
                groat_decode_choice c = GROAT_DECODE_CHOICE_INIT;

                c.warps = warps[w];
                c.stages = stages;
                c.cluster = clusters[i];
                add(out, c);
            }
}

void groat__tunings_of_kernel(const groat_decode_choice *own, bool few,
                              groat__tunings *out)
{
    static const unsigned warps[] = {1, 2, 4, 8}, stages[] = {2, 3, 4};

    *out = (groat__tunings){.count = 0};
    add(out, *own);
    for (size_t w = 0; w < 4; w++)
        for (size_t s = 0; s < 3; s++)
            for (unsigned half = 1; half <= (own->split > 0 ? 4 : 1);
                 half *= 2) {
                groat_decode_choice c = GROAT_DECODE_CHOICE_INIT;

                c.warps = warps[w];
                c.stages = stages[s];
                c.cluster = 1;
                /* Parts of twice, once and half as many keys, where a tile has
                 * the more keys the more warps; else of other numbers. */
                if (own->split > 0)
                    c.split =
                        bounded(2 * own->split * own->warps / warps[w] / half,
                                SPLITS_MAX);
                add(out, c);
            }
    if (few)
        add_clusters(out);
}

void groat__tunings_of_grid(const groat_decode_choice *best,
                            unsigned multiprocessors, groat__tunings *out)
{
    static const unsigned least[] = {1, 2, 4, 8};
    unsigned each = best->blocks / multiprocessors;

    *out = (groat__tunings){.count = 0};
    add(out, *best);
    if (best->cluster > 1) /* its grid is that of the strips */
        return;
    for (unsigned blocks = each > 1 ? each - 1 : 1; blocks <= each + 1;
         blocks++)
        for (size_t i = 0; i < 4; i++) {
            groat_decode_choice c = *best;

            c.blocks = blocks * multiprocessors;
            c.least = least[i];
            if (c.blocks != best->blocks || c.least != best->least)
                add(out, c);
        }
}

/* ---- a process -------------------------------------------------------------
 */

/* The choices that are asked of a process, and its words. */
typedef struct request {
    groat__tunings *tunings;
    size_t of[GROAT__TUNINGS]; /* by the worker's number less 1 */
    size_t count;
    groat__str first, words[GROAT__TUNINGS];
    char timeout[24], seed[24], device[24];
    char *argv[WORKER_ARGS + 4 * GROAT__LIST_MAX + GROAT__TUNINGS];
    size_t args;
} request;

static void add_text(request *r, const char *name, const char *value)
{
    if (value != NULL) {
        r->argv[r->args++] = (char *)(uintptr_t)name;
        r->argv[r->args++] = (char *)(uintptr_t)value;
    }
}

static void add_list(request *r, const char *name, const groat__list *list)
{
    for (size_t i = 0; i < list->count; i++)
        add_text(r, name, list->item[i]);
}

static void add_number(request *r, const char *name, uint64_t number,
                       char room[24])
{
    (void)snprintf(room, 24, "%" PRIu64, number);
    add_text(r, name, room);
}

static void add_options(request *r, const groat__values *v, const char *target)
{
    r->argv[r->args++] = (char *)(uintptr_t) "/proc/self/exe";
    r->argv[r->args++] = (char *)(uintptr_t) "tune-worker";
    add_text(r, "--target", target);
    add_text(r, "--score", v->score);
    add_text(r, "--cache-dir", v->cache_dir);
    add_text(r, "--family-path", v->family_path);
    add_list(r, "--arg", &v->args);
    add_list(r, "--buffer", &v->buffers);
    add_number(r, "--timeout", v->timeout_s, r->timeout);
    add_number(r, "--seed", v->seed, r->seed);
    add_number(r, "--device", v->device, r->device);
    if (v->share_group)
        r->argv[r->args++] = (char *)(uintptr_t) "--share-group";
    r->argv[r->args++] = (char *)(uintptr_t) "--";
}

/* The shape is last: it may end with a comma, or be empty. */
static void add_word(request *r, const groat_decode_choice *c,
                     const char *shape, groat__str *word)
{
    char choice[GROAT__CHOICE_ROOM];

    groat__tuning_text(c, choice);
    groat__str_addf(word, "%s,%s", choice, shape);
    r->argv[r->args++] = word->data;
}

/* False without memory. */
static bool add_words(request *r, const char *shape,
                      const groat_decode_choice *own)
{
    bool failed;

    add_word(r, own, shape, &r->first);
    failed = r->first.failed;
    for (size_t i = 0; i < r->tunings->count; i++) {
        groat__str *word = &r->words[r->count];

        if (r->tunings->at[i].state != GROAT__TUNING_WAITING)
            continue;
        add_word(r, &r->tunings->at[i].choice, shape, word);
        failed |= word->failed;
        r->of[r->count++] = i;
    }
    r->argv[r->args] = NULL;
    return !failed;
}

/* What a line of the worker says; *begun is the choice that it is about. */
static void read_line(request *r, char *line, size_t *begun)
{
    char *number = strchr(line, ' ');
    char *rest = NULL;
    size_t n = number == NULL ? 0 : strtoul(number, &rest, 10);
    groat__tuning *one;

    if (number == NULL || rest == number)
        return;
    *number = '\0';
    if (strcmp(line, "begin") == 0)
        *begun = n;
    if (n == 0 || n > r->count)
        return;
    one = &r->tunings->at[r->of[n - 1]];
    if (strcmp(line, "us") == 0) {
        one->state = GROAT__TUNING_TIMED;
        one->us = strtod(rest, NULL);
    } else if (strcmp(line, "refused") == 0 || strcmp(line, "failed") == 0 ||
               strcmp(line, "wrong") == 0) {
        one->state = *line == 'r'   ? GROAT__TUNING_REFUSED
                     : *line == 'f' ? GROAT__TUNING_ENDED
                                    : GROAT__TUNING_WRONG;
        (void)snprintf(one->why, sizeof(one->why), "%s%s",
                       *line == 'w' ? "the norm of the error, or the error of "
                                      "an LSE, is"
                                    : "",
                       *line == 'w' ? rest : rest + (*rest == ' '));
    }
}

/* Returns the number of the choice that was begun last; 0: none. */
static size_t read_answer(request *r, char *answer)
{
    size_t begun = 0;
    char *save = NULL;

    for (char *line = strtok_r(answer, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save))
        read_line(r, line, &begun);
    return begun;
}

/* The choice that a process ended at is out.  Errors: IO, if it was none. */
static groat_status note_end(request *r, size_t begun, int code,
                             const groat__cli *cli, groat_error *error)
{
    groat__tuning *one;

    if (begun == 0 || begun > r->count)
        return groat__fail(error, GROAT_IO,
                           "a process that measures ended with exit code "
                           "%d before its first choice",
                           code);
    one = &r->tunings->at[r->of[begun - 1]];
    one->state = GROAT__TUNING_ENDED;
    if (code == 128 + 14)
        (void)snprintf(one->why, sizeof(one->why),
                       "it hung and was ended after %" PRIu64 " s",
                       cli->values.timeout_s);
    else
        (void)snprintf(one->why, sizeof(one->why),
                       "its process ended with exit code %d", code);
    return GROAT_OK;
}

static groat_status ask(groat__cli *cli, request *r, bool *whole,
                        groat_error *error)
{
    groat__spawn how = {r->argv, OUTPUT_MAX, 0, false};
    char *answer = NULL;
    size_t begun;
    int code = 0;
    groat_status status;

    how.seconds =
        (unsigned)(cli->values.timeout_s * 2 * (r->count + 1)) + SLACK_S;
    status = groat__spawn_run(&how, &answer, &code, error);
    if (status != GROAT_OK)
        return status;
    begun = read_answer(r, answer);
    free(answer);
    *whole = code == GROAT__EXIT_DONE;
    return *whole ? GROAT_OK : note_end(r, begun, code, cli, error);
}

static size_t count_waiting(const groat__tunings *tunings)
{
    size_t count = 0;

    for (size_t i = 0; i < tunings->count; i++)
        count += tunings->at[i].state == GROAT__TUNING_WAITING;
    return count;
}

groat_status groat__tunings_measure(groat__cli *cli, const char *shape,
                                    const groat_decode_choice *own,
                                    groat__tunings *tunings, groat_error *error)
{
    const char *target = cli->values.target != NULL
                             ? cli->values.target
                             : groat_default_target(cli->context);
    groat_status status = GROAT_OK;
    bool whole = false;

    while (!whole && status == GROAT_OK && count_waiting(tunings) > 0) {
        request *r = calloc(1, sizeof(*r));

        if (r == NULL)
            return groat__fail(error, GROAT_NO_MEMORY, "out of memory");
        r->tunings = tunings;
        add_options(r, &cli->values, target);
        status = add_words(r, shape, own)
                     ? ask(cli, r, &whole, error)
                     : groat__fail(error, GROAT_NO_MEMORY, "out of memory");
        groat__str_free(&r->first);
        for (size_t i = 0; i < GROAT__TUNINGS; i++)
            groat__str_free(&r->words[i]);
        free(r);
    }
    return status;
}
