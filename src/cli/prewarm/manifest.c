/* SPDX-License-Identifier: Apache-2.0
 *
 * manifest.c - makes jobs from manifests, the lists of kernels that servers
 * will need.
 *
 * Owns the list of jobs; the library parses manifests and specs.
 * Invariant: a bad line is reported by file and line, and then nothing is
 * compiled; what a line omits is not guessed.
 */
#include "base/grow.h"
#include "cli/attention/attention.h"
#include "cli/prewarm/prewarm.h"
#include "groat_store.h"

#include <stdlib.h>
#include <string.h>

enum { WHERE_ROOM = 256 };

void groat__jobs_cut(groat__jobs *jobs, size_t kept)
{
    for (; jobs->count > kept; jobs->count--) {
        groat__job *last = &jobs->item[jobs->count - 1];

        free(last->spec);
        free(last->target);
        groat_error_clear(&last->error);
    }
}

void groat__jobs_free(groat__jobs *jobs)
{
    groat__jobs_cut(jobs, 0);
    for (size_t i = 0; i < jobs->records; i++) {
        groat__tuned_line *one = &jobs->record[i];

        free(one->where);
        free(one->target);
        free(one->device);
        free(one->decode);
        free(one->score);
    }
    free(jobs->record);
    free(jobs->item);
    *jobs = (groat__jobs){0};
}

static groat__job *new_job(groat__jobs *jobs, const char *spec,
                           const char *target)
{
    groat__job job = {.error = GROAT_ERROR_INIT};

    if (!groat__grow(&jobs->item, jobs->count + 1, &jobs->cap,
                     sizeof(*jobs->item)))
        return NULL;
    job.spec = strdup(spec);
    job.target = strdup(target);
    if (!job.spec || !job.target) {
        free(job.spec);
        free(job.target);
        return NULL;
    }
    jobs->item[jobs->count] = job;
    return &jobs->item[jobs->count++];
}

static int refuse(groat__cli *cli, const char *where, groat_error *error)
{
    int code =
        groat__cli_refuse(cli, error->status, "%s: %s", where, error->text);

    groat_error_clear(error);
    return code ? code : GROAT__EXIT_FAILED;
}

static bool is_wanted(const groat__cli *cli, const char *target)
{
    const groat__list *only = &cli->values.only_targets;

    for (size_t i = 0; i < only->count; i++)
        if (strcmp(only->item[i], target) == 0)
            return true;
    return only->count == 0;
}

static groat_status add(groat__cli *cli, groat__jobs *jobs, const char *spec,
                        const char *target, groat_error *error)
{
    groat_spec *parsed = NULL;
    groat__job *job;
    groat_status status =
        groat_spec_parse(cli->context, spec, target, &parsed, error);

    if (status != GROAT_OK)
        return status;
    job = new_job(jobs, groat_spec_text(parsed), groat_spec_target(parsed));
    if (!job) {
        status = groat__fail(error, GROAT_NO_MEMORY, "out of memory");
    } else if (groat_spec_key(parsed, job->key, NULL, &job->error)) {
        /* A missing compiler does not stop jobs for other targets. */
        job->state = GROAT__JOB_FAILED;
        job->key[0] = '\0';
    }
    groat_spec_free(parsed);
    return status;
}

int groat__jobs_add(groat__cli *cli, groat__jobs *jobs, const char *where,
                    const char *spec, const char *target)
{
    groat_error error = GROAT_ERROR_INIT;

    if (!is_wanted(cli, target)) {
        jobs->left_out++;
        return GROAT__EXIT_DONE;
    }
    return add(cli, jobs, spec, target, &error) == GROAT_OK
               ? GROAT__EXIT_DONE
               : refuse(cli, where, &error);
}

int groat__jobs_add_stored(groat__cli *cli, groat__jobs *jobs,
                           const char *where, const char *spec,
                           const char *target)
{
    groat_error error = GROAT_ERROR_INIT;
    groat__job *job = NULL;

    if (!is_wanted(cli, target)) {
        jobs->left_out++;
        return GROAT__EXIT_DONE;
    }
    if (add(cli, jobs, spec, target, &error) == GROAT_OK)
        return GROAT__EXIT_DONE;
    if (error.status == GROAT_INVALID)
        job = new_job(jobs, spec, target);
    if (!job)
        return refuse(cli, where, &error);
    job->state = GROAT__JOB_FAILED;
    job->error = error;
    return GROAT__EXIT_DONE;
}

/* ---- one file ------------------------------------------------------------ */

/* State while reading a manifest. */
typedef struct reading {
    groat__cli *cli;
    groat__jobs *jobs;
    const char *name;
    int code;
} reading;

/* NULL stays NULL; *failed is set without memory. */
static char *copy(const char *text, bool *failed)
{
    char *made = text ? strdup(text) : NULL;

    *failed |= text && !made;
    return made;
}

static groat_status read_decode(const groat__tuned_line *record,
                                groat__decode_word *word, groat_error *error)
{
    bool on_cpu = strncmp(record->target, "cpu:", 4) == 0;
    groat_status status =
        groat__decode_word_parse(record->decode, on_cpu, word, error);

    word->shape.score = record->score;
    return status;
}

/* Checks that a line's kernel is that of its tuned choice: a decode would look
 * for another one than was made. */
static groat_status check_kernel(groat__cli *cli,
                                 const groat__tuned_line *record,
                                 const char *spec, groat_error *error)
{
    groat__decode_word word;
    groat_spec *own = NULL;
    groat_spec *wanted = NULL;
    char *text = NULL;
    groat_status status = read_decode(record, &word, error);

    if (status == GROAT_OK)
        status =
            groat_decode_choice_spec(&word.shape, &word.choice, &text, error);
    if (status == GROAT_OK)
        status = groat_spec_parse(cli->context, text, record->target, &wanted,
                                  error);
    if (status == GROAT_OK)
        status =
            groat_spec_parse(cli->context, spec, record->target, &own, error);
    if (status == GROAT_OK &&
        strcmp(groat_spec_text(own), groat_spec_text(wanted)) != 0)
        status = groat__fail(error, GROAT_INVALID,
                             "the tuned choice is of another kernel than "
                             "the line's spec, %s",
                             groat_spec_text(wanted));
    groat_spec_free(own);
    groat_spec_free(wanted);
    groat_free(text);
    return status;
}

/* Lists the tuned choice of a line. */
static groat_status add_record(groat__cli *cli, groat__jobs *jobs,
                               const char *where,
                               const groat_manifest_entry *entry,
                               const char *target, groat_error *error)
{
    groat__tuned_line *record =
        realloc(jobs->record, (jobs->records + 1) * sizeof(*record));
    bool failed = record == NULL;

    if (record) {
        jobs->record = record;
        record = &record[jobs->records++];
        record->where = copy(where, &failed);
        record->target = copy(target, &failed);
        record->device = copy(entry->tuned_device, &failed);
        record->decode = copy(entry->tuned_decode, &failed);
        record->score = copy(entry->tuned_score, &failed);
    }
    return failed ? groat__fail(error, GROAT_NO_MEMORY, "out of memory")
                  : check_kernel(cli, record, entry->spec, error);
}

int groat__records_put(groat__cli *cli, const groat__jobs *jobs)
{
    for (size_t i = 0; i < jobs->records; i++) {
        const groat__tuned_line *one = &jobs->record[i];
        groat_error error = GROAT_ERROR_INIT;
        groat__decode_word word;
        groat_status status = read_decode(one, &word, &error);

        if (status == GROAT_OK)
            status =
                groat_decode_put_tuned(cli->context, one->target, one->device,
                                       &word.shape, &word.choice, &error);
        if (status != GROAT_OK)
            return refuse(cli, one->where, &error);
    }
    return GROAT__EXIT_DONE;
}

/* Whether the store or a bundle has the choice of a line. */
static groat_status has_record(groat__cli *cli, const groat__tuned_line *one,
                               bool *has, groat_error *error)
{
    groat_decode_choice found = GROAT_DECODE_CHOICE_INIT;
    groat__decode_word word;
    groat_status status = read_decode(one, &word, error);

    if (status == GROAT_OK)
        status = groat_decode_get_tuned(cli->context, one->target, one->device,
                                        &word.shape, &found, error);
    *has = found.warps == word.choice.warps &&
           found.stages == word.choice.stages &&
           found.cluster == word.choice.cluster &&
           found.split == word.choice.split &&
           found.blocks == word.choice.blocks &&
           found.least == word.choice.least;
    return status;
}

int groat__records_check(groat__cli *cli, groat__jobs *jobs)
{
    for (size_t i = 0; i < jobs->records; i++) {
        const groat__tuned_line *one = &jobs->record[i];
        groat_error error = GROAT_ERROR_INIT;
        bool has = false;

        if (has_record(cli, one, &has, &error) != GROAT_OK)
            return refuse(cli, one->where, &error);
        if (has)
            continue;
        jobs->lacking++;
        groat__cli_say(cli, "%s: the tuned choice is missing", one->where);
    }
    return GROAT__EXIT_DONE;
}

/* The kernel of a line for one target. */
static int add_for(reading *r, const char *where,
                   const groat_manifest_entry *entry, const char *target)
{
    groat_error error = GROAT_ERROR_INIT;
    int code = groat__jobs_add(r->cli, r->jobs, where, entry->spec, target);

    if (code || !entry->tuned_decode || !is_wanted(r->cli, target))
        return code;
    return add_record(r->cli, r->jobs, where, entry, target, &error) == GROAT_OK
               ? GROAT__EXIT_DONE
               : refuse(r->cli, where, &error);
}

static int add_kernel(void *user, const groat_manifest_entry *entry)
{
    reading *r = user;
    const groat__values *values = &r->cli->values;
    const groat__list *targets =
        values->targets.count ? &values->targets : &values->only_targets;
    char where[WHERE_ROOM];

    (void)snprintf(where, sizeof(where), "%.200s:%zu", r->name, entry->line);
    if (entry->target)
        r->code = add_for(r, where, entry, entry->target);
    else if (targets->count == 0)
        r->code = groat__cli_refuse(
            r->cli, GROAT_INVALID,
            "%s: the line names no target, and no --target is given", where);
    for (size_t i = 0; !entry->target && i < targets->count && !r->code; i++)
        r->code = add_for(r, where, entry, targets->item[i]);
    return r->code;
}

int groat__manifest_read(groat__cli *cli, const char *path, groat__jobs *jobs)
{
    reading r = {cli, jobs, strcmp(path, "-") == 0 ? "stdin" : path,
                 GROAT__EXIT_DONE};
    groat_error error = GROAT_ERROR_INIT;

    if (groat_manifest_read(path, add_kernel, &r, &error) != GROAT_OK)
        r.code = groat__cli_refuse(cli, error.status, "%s", error.text);
    groat_error_clear(&error);
    return r.code;
}
