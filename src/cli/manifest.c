/* SPDX-License-Identifier: Apache-2.0
 *
 * manifest.c - reads the files that say which kernels a server will want.
 *
 * Owns their form and the list of jobs; JSON is Jansson's, specs are the
 * library's.
 * Invariant: a bad line is named by file and line, and nothing is made of the
 * file then; what a line does not say is not guessed.
 * Locking: none; the tool is single-threaded.
 */
#include "cli/prewarm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

enum { LINE_MAX_BYTES = 1 << 20, WHERE_ROOM = 256 };

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
    free(jobs->item);
    *jobs = (groat__jobs){0};
}

static groat__job *new_job(groat__jobs *jobs, const char *spec,
                           const char *target)
{
    groat__job job = {.error = GROAT_ERROR_INIT};

    if (jobs->count == jobs->cap) {
        size_t cap = jobs->cap ? 2 * jobs->cap : 64;
        groat__job *item = realloc(jobs->item, cap * sizeof(*item));

        if (!item)
            return NULL;
        jobs->item = item;
        jobs->cap = cap;
    }
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

int groat__jobs_add(groat__cli *cli, groat__jobs *jobs, const char *where,
                    const char *spec, const char *target)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_spec *parsed = NULL;
    groat__job *job;
    int code = GROAT__EXIT_DONE;

    if (groat_spec_parse(cli->context, spec, target, &parsed, &error))
        return refuse(cli, where, &error);
    job = new_job(jobs, groat_spec_text(parsed), groat_spec_target(parsed));
    if (!job) {
        code =
            groat__cli_refuse(cli, GROAT_NO_MEMORY, "%s: out of memory", where);
    } else if (groat_spec_key(parsed, job->key, NULL, &job->error)) {
        /* One compiler that is not there keeps no other from its work. */
        job->state = GROAT__JOB_FAILED;
        job->key[0] = '\0';
    }
    groat_spec_free(parsed);
    return code;
}

/* ---- one line ------------------------------------------------------------ */

static int bad_line(groat__cli *cli, const char *where, const char *what)
{
    return groat__cli_refuse(cli, GROAT_INVALID, "%s: %s", where, what);
}

/* Members with other names are slips that would be missed. */
static const char *stranger(json_t *line)
{
    static const char *const known[] = {"spec", "target", "targets", "note"};
    const char *name;
    json_t *value;

    json_object_foreach(line, name, value)
    {
        bool found = false;

        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
            found = found || strcmp(known[i], name) == 0;
        if (!found)
            return name;
    }
    return NULL;
}

static int add_targets(groat__cli *cli, groat__jobs *jobs, const char *where,
                       const char *spec, json_t *targets)
{
    int code = GROAT__EXIT_DONE;

    if (!json_is_array(targets) || json_array_size(targets) == 0)
        return bad_line(cli, where,
                        "\"targets\" is not a list of one target or more");
    for (size_t i = 0; i < json_array_size(targets) && !code; i++) {
        const char *target = json_string_value(json_array_get(targets, i));

        if (!target)
            return bad_line(cli, where, "a target in \"targets\" is no text");
        code = groat__jobs_add(cli, jobs, where, spec, target);
    }
    return code;
}

static int add_default(groat__cli *cli, groat__jobs *jobs, const char *where,
                       const char *spec)
{
    const groat__list *targets = &cli->values.targets;
    int code = GROAT__EXIT_DONE;

    if (targets->count == 0)
        return bad_line(cli, where,
                        "it names no target, and no --target is given");
    for (size_t i = 0; i < targets->count && !code; i++)
        code = groat__jobs_add(cli, jobs, where, spec, targets->item[i]);
    return code;
}

static int add_line(groat__cli *cli, groat__jobs *jobs, const char *where,
                    json_t *line)
{
    const char *spec = json_string_value(json_object_get(line, "spec"));
    json_t *target = json_object_get(line, "target");
    json_t *targets = json_object_get(line, "targets");

    if (!json_is_object(line))
        return bad_line(cli, where, "it is not a JSON object");
    if (stranger(line))
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "%s: \"%.64s\" is not known; allowed: spec, "
                                 "target, targets, note",
                                 where, stranger(line));
    if (!spec)
        return bad_line(cli, where, "\"spec\" is missing, or is no text");
    if (target && targets)
        return bad_line(cli, where, "it has both \"target\" and \"targets\"");
    if (target && !json_is_string(target))
        return bad_line(cli, where, "\"target\" is no text");
    if (target)
        return groat__jobs_add(cli, jobs, where, spec,
                               json_string_value(target));
    return targets ? add_targets(cli, jobs, where, spec, targets)
                   : add_default(cli, jobs, where, spec);
}

static bool is_blank(const char *line, size_t len)
{
    return strspn(line, " \t\r\n") == len;
}

static int read_line(groat__cli *cli, groat__jobs *jobs, const char *where,
                     const char *text, size_t len)
{
    json_error_t why;
    json_t *line;
    int code;

    if (len > LINE_MAX_BYTES)
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "%s: the line is longer than %d bytes", where,
                                 LINE_MAX_BYTES);
    line =
        json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    if (!line)
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "%s: it is not JSON: %s, column %d", where,
                                 why.text, why.column);
    code = add_line(cli, jobs, where, line);
    json_decref(line);
    return code;
}

int groat__manifest_read(groat__cli *cli, const char *path, groat__jobs *jobs)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "re");
    size_t cap = 0, number = 0;
    char where[WHERE_ROOM];
    char *line = NULL;
    ssize_t len;
    int code = GROAT__EXIT_DONE;

    if (!file)
        return groat__cli_refuse(cli, GROAT_IO, "cannot read %s: %s", path,
                                 strerror(errno));
    while (!code && (len = getline(&line, &cap, file)) >= 0) {
        (void)snprintf(where, sizeof(where), "%.200s:%zu",
                       is_stdin ? "stdin" : path, ++number);
        if (!is_blank(line, (size_t)len))
            code = read_line(cli, jobs, where, line, (size_t)len);
    }
    if (!code && ferror(file))
        code = groat__cli_refuse(cli, GROAT_IO, "cannot read %s: %s", path,
                                 strerror(errno));
    free(line);
    if (!is_stdin)
        (void)fclose(file);
    return code;
}
