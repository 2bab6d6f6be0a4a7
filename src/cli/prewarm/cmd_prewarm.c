/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_prewarm.c - groat prewarm: fills the store with the kernels that servers
 * will need, in advance.
 *
 * Owns the list of jobs from manifests and other stores to the report.
 * manifest.c reads manifests, pool.c runs the processes that compile.
 * Invariant: a kernel in the store is not compiled again; a killed run resumes
 * where it ended, since the store is its only state.
 */
#include "cli/fleet/fleet.h"
#include "cli/prewarm/prewarm.h"
#include "cli/store/store.h"
#include "groat_tools.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/cores.h"

#define STORE_FILE "groat.sqlite"

/* Jobs by state. */
typedef struct tally {
    size_t present;
    size_t bundled; /* those of `present` that only a bundle has */
    size_t fetched;
    size_t made;
    size_t failed;
    size_t open; /* missing, with --check */
    int64_t unsent;
} tally;

/* ---- which kernels ----------------------------------------------------------
 */

/* A store of --from-store. */
typedef struct source {
    groat__cli *cli;
    groat__jobs *jobs;
    const char *path;
    int code;
} source;

static int add_entry(void *user, const groat_cache_entry *entry)
{
    source *from = user;

    if (entry->uses < from->cli->values.min_uses)
        return 0;
    if (!*entry->spec && *entry->target)
        return 0; /* a tuned choice, which is no kernel */
    if (!*entry->spec || !*entry->target)
        from->code =
            groat__cli_refuse(from->cli, GROAT_INVALID,
                              "%s: the entry %s names no spec and target",
                              from->path, entry->key);
    else
        from->code = groat__jobs_add_stored(from->cli, from->jobs, from->path,
                                            entry->spec, entry->target);
    return from->code;
}

static int refuse_store(groat__cli *cli, const char *path)
{
    return groat__cli_refuse(cli, GROAT_INVALID,
                             "--from-store %s: there is no store; allowed: the "
                             "path of a " STORE_FILE,
                             path);
}

/* Adds the kernels of another store, to be made for the compiler here. */
static int add_store(groat__cli *cli, groat__jobs *jobs, const char *path)
{
    const char *slash = strrchr(path, '/');
    groat_cache_stat stat = {.size = sizeof(stat)};
    groat_error error = GROAT_ERROR_INIT;
    source from = {cli, jobs, path, GROAT__EXIT_DONE};
    groat_context *other = NULL;
    char *folder;

    if (strcmp(slash ? slash + 1 : path, STORE_FILE) != 0 ||
        access(path, R_OK) != 0)
        return refuse_store(cli, path);
    folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    if (!folder)
        return groat__cli_refuse(cli, GROAT_NO_MEMORY, "out of memory");
    if (groat__cli_open_store(cli, folder, &other, &error) ||
        groat_cache_stat_get(other, &stat, &error) ||
        (groat_cache_each(other, NULL, add_entry, &from, &error) && !from.code))
        from.code = groat__cli_fail(cli, &error);
    else if (stat.faults > 0 && !from.code)
        from.code = groat__cli_refuse(cli, GROAT_IO,
                                      "--from-store %s: the store had faults, "
                                      "see the warnings; nothing is made of it",
                                      path);
    groat_close(other);
    free(folder);
    return from.code;
}

static int compare(const void *a, const void *b)
{
    const groat__job *x = a;
    const groat__job *y = b;
    int order = strcmp(x->key, y->key);

    order = order ? order : strcmp(x->spec, y->spec);
    return order ? order : strcmp(x->target, y->target);
}

static void swap(groat__job *a, groat__job *b)
{
    groat__job kept = *a;

    *a = *b;
    *b = kept;
}

/* Sorts the jobs by key and drops duplicates, whatever the input order. */
static void unite(groat__jobs *jobs)
{
    size_t kept = 0;

    if (jobs->count > 0)
        qsort(jobs->item, jobs->count, sizeof(*jobs->item), compare);
    for (size_t i = 0; i < jobs->count; i++) {
        groat__job *job = &jobs->item[i];
        const groat__job *last = kept ? &jobs->item[kept - 1] : NULL;
        bool same = last && (*job->key ? strcmp(last->key, job->key) == 0
                                       : compare(last, job) == 0);

        if (!same)
            swap(&jobs->item[kept++], job);
    }
    groat__jobs_cut(jobs, kept);
}

/* Parses "2/4", the second of four parts. */
static bool read_shard(const char *text, uint64_t *part, uint64_t *parts)
{
    char *end = NULL;

    if (*text < '0' || *text > '9')
        return false;
    *part = strtoull(text, &end, 10);
    if (*end != '/' || end[1] < '0' || end[1] > '9')
        return false;
    *parts = strtoull(end + 1, &end, 10);
    return !*end && *part >= 1 && *part <= *parts && *parts <= 1000000;
}

/* Keeps the jobs of one part, chosen by key, so that machines need no
 * coordination.  Jobs without a key belong to the first part. */
static int keep_shard(groat__cli *cli, groat__jobs *jobs)
{
    uint64_t part = 1, parts = 1;
    size_t kept = 0;

    if (!cli->values.shard)
        return GROAT__EXIT_DONE;
    if (!read_shard(cli->values.shard, &part, &parts))
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "--shard is '%.64s', not I/N with I from 1 "
                                 "to N and N up to 1000000",
                                 cli->values.shard);
    for (size_t i = 0; i < jobs->count; i++) {
        groat__job *job = &jobs->item[i];
        char head[9] = "";

        memcpy(head, job->key, strnlen(job->key, 8));
        if (strtoull(head, NULL, 16) % parts == part - 1)
            swap(&jobs->item[kept++], job);
    }
    groat__jobs_cut(jobs, kept);
    return GROAT__EXIT_DONE;
}

/* Returns where a get with this store and these bundles would take it from. */
static groat_origin origin_of(groat__cli *cli, const groat__job *job)
{
    groat_explanation found = {.size = sizeof(found),
                               .origin = GROAT_FROM_COMPILER};
    groat_spec *spec = NULL;

    if (groat_spec_parse(cli->context, job->spec, job->target, &spec, NULL) ==
        GROAT_OK)
        (void)groat_explain(spec, &found, NULL, NULL, NULL);
    groat_spec_free(spec);
    return found.origin;
}

static int on_fetched(void *user, const groat_remote_object *object)
{
    groat__cli *cli = user;

    groat__progress_show(&cli->progress, 0, 0, "asking the remote for %s",
                         object->name);
    return 0;
}

/* Fetches the kernels that the store lacks from the remote, many at a time.
 * Errors of the remote are ignored. */
static void fetch(groat__cli *cli, groat__jobs *jobs)
{
    groat_remote_info info = {.size = sizeof(info)};
    groat__names names = {0};

    if (cli->values.check ||
        groat_remote_stat(cli->context, &info, NULL) != GROAT_OK || !info.url ||
        !info.trusted_keys)
        return;
    for (size_t i = 0; i < jobs->count; i++) {
        groat__job *job = &jobs->item[i];

        job->asked = job->state == GROAT__JOB_WAITING &&
                     origin_of(cli, job) == GROAT_FROM_COMPILER;
        if (job->asked)
            (void)groat__names_add_spec(cli, &names, job->spec, job->target,
                                        false, NULL);
    }
    (void)groat_remote_fetch(cli->context, names.at, names.count,
                             GROAT_REMOTE_KEEP | GROAT_REMOTE_BRIEF, on_fetched,
                             cli, NULL);
    groat__progress_clear(&cli->progress);
    groat__names_free(&names);
}

static void mark_present(groat__cli *cli, groat__jobs *jobs)
{
    for (size_t i = 0; i < jobs->count; i++) {
        groat__job *job = &jobs->item[i];
        groat_origin origin = job->state == GROAT__JOB_WAITING
                                  ? origin_of(cli, job)
                                  : GROAT_FROM_COMPILER;

        job->bundled = origin == GROAT_FROM_BUNDLE;
        if (job->bundled || origin == GROAT_FROM_DISK)
            job->state = job->asked ? GROAT__JOB_FETCHED : GROAT__JOB_PRESENT;
    }
}

static const char *state_name(groat__job_state state)
{
    static const char *const names[] = {"missing", "running",  "present",
                                        "fetched", "compiled", "failed"};

    return names[state];
}

/* Fails jobs that were compiled or fetched but are not in the store, since it
 * is full, read-only or bounded: the next process would make them again. */
static void mark_lost(groat__cli *cli, groat__jobs *jobs)
{
    for (size_t i = 0; i < jobs->count; i++) {
        groat__job *job = &jobs->item[i];
        groat__job_state was = job->state;

        if (was < GROAT__JOB_PRESENT || was > GROAT__JOB_MADE || job->bundled ||
            origin_of(cli, job) == GROAT_FROM_DISK)
            continue;
        job->state = GROAT__JOB_FAILED;
        (void)groat__fail(
            &job->error, GROAT_IO,
            "the kernel was %s, but the store %s does not have it: the store "
            "is full, cannot be written, or its bound is too small; see the "
            "warnings and groat cache stat",
            was == GROAT__JOB_PRESENT ? "there" : state_name(was),
            groat_cache_path(cli->context));
    }
}

/* Shuffles the jobs where leases are used: hosts that start together in the
 * same order would all wait for the same kernel. */
static void shuffle(groat__cli *cli, groat__jobs *jobs)
{
    groat_remote_info info = {.size = sizeof(info)};
    unsigned seed = (unsigned)getpid() ^ (unsigned)groat__now_ns();

    if (groat_remote_stat(cli->context, &info, NULL) || !info.leases)
        return;
    for (size_t i = jobs->count; i > 1; i--)
        swap(&jobs->item[i - 1], &jobs->item[(size_t)rand_r(&seed) % i]);
}

static int collect(groat__cli *cli, groat__jobs *jobs)
{
    const groat__list *stores = &cli->values.from_stores;
    int code = GROAT__EXIT_DONE;

    if (cli->word_count + stores->count == 0)
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "prewarm needs a MANIFEST or --from-store; "
                                 "see groat help prewarm");
    for (size_t i = 0; i < cli->word_count && !code; i++)
        code = groat__manifest_read(cli, cli->words[i], jobs);
    for (size_t i = 0; i < stores->count && !code; i++)
        code = add_store(cli, jobs, stores->item[i]);
    if (code)
        return code;
    if (jobs->count == 0 && jobs->left_out > 0)
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "no kernel is for --only-target %s; %zu are "
                                 "for other targets",
                                 cli->values.only_targets.item[0],
                                 jobs->left_out);
    unite(jobs);
    code = keep_shard(cli, jobs);
    if (!code)
        code = cli->values.check ? groat__records_check(cli, jobs)
                                 : groat__records_put(cli, jobs);
    if (code)
        return code;
    fetch(cli, jobs);
    mark_present(cli, jobs);
    shuffle(cli, jobs);
    return GROAT__EXIT_DONE;
}

/* ---- what becomes of them ---------------------------------------------- */

/* Prints a line of JSON to stderr for programs that watch the run. */
static void tell_event(const groat__job *job, size_t done, size_t total,
                       double eta_s)
{
    json_t *event = json_pack(
        "{s:s, s:s, s:s, s:f, s:I, s:I, s:f}", "event", state_name(job->state),
        "spec", job->spec, "target", job->target, "compile_ms", job->compile_ms,
        "done", (json_int_t)done, "total", (json_int_t)total, "eta_s", eta_s);
    char *text = event ? json_dumps(event, JSON_COMPACT) : NULL;

    if (text)
        (void)fprintf(stderr, "%s\n", text);
    free(text);
    json_decref(event);
}

/* Progress of the jobs to be compiled. */
typedef struct course {
    groat__cli *cli;
    double start_ms;
    size_t done;
    size_t total;
} course;

static void on_ended(void *user, const groat__job *job)
{
    course *at = user;
    groat__cli *cli = at->cli;
    double spent = (groat__now_ms() - at->start_ms) * 1e-3;
    double eta;

    at->done++;
    eta = spent / (double)at->done * (double)(at->total - at->done);
    if (cli->progress.wanted)
        groat__progress_show(&cli->progress, at->done, at->total,
                             "%.0f s left: %s", eta, job->spec);
    else if (cli->values.json)
        tell_event(job, at->done, at->total, eta);
}

static int make(groat__cli *cli, groat__jobs *jobs)
{
    course at = {.cli = cli, .start_ms = groat__now_ms()};
    bool fetched = false;
    int code;

    for (size_t i = 0; i < jobs->count; i++) {
        at.total += jobs->item[i].state == GROAT__JOB_WAITING;
        fetched = fetched || jobs->item[i].state == GROAT__JOB_FETCHED;
    }
    if (cli->progress.wanted && at.total)
        groat__progress_show(&cli->progress, 0, at.total, "starting");
    code = groat__pool_run(cli, jobs, on_ended, &at);
    groat__progress_clear(&cli->progress);
    if (at.total || fetched)
        mark_lost(cli, jobs);
    return code;
}

/* ---- what the remote lacks ---------------------------------------------- */

/* Objects, of which a kernel has two. */
typedef struct sending {
    groat__cli *cli;
    uint64_t sent;
    uint64_t unsent;
} sending;

static int on_sent(void *user, const groat_remote_object *object)
{
    sending *s = user;

    s->sent += object->done != 0;
    s->unsent += object->problem != NULL;
    groat__progress_show(&s->cli->progress, 0, 0, "sending %s", object->name);
    return 0;
}

/* Sends kernels that were in the store: a run that made them may have been
 * unable to, or had no remote.  Those of bundles have another signer. */
static void send_present(groat__cli *cli, groat__jobs *jobs)
{
    groat_remote_info info = {.size = sizeof(info)};
    groat_error error = GROAT_ERROR_INIT;
    groat__names names = {0};
    sending s = {.cli = cli};

    if (groat_remote_stat(cli->context, &info, NULL) || !info.writes)
        return;
    for (size_t i = 0; i < jobs->count; i++) {
        const groat__job *job = &jobs->item[i];

        if (job->state == GROAT__JOB_PRESENT && !job->bundled)
            (void)groat__names_add_spec(cli, &names, job->spec, job->target,
                                        false, NULL);
    }
    if (names.count > 0 &&
        groat_remote_push(
            cli->context,
            &(groat_remote_choice){.size = sizeof(groat_remote_choice),
                                   .names = (const char *const *)names.at,
                                   .name_count = names.count},
            on_sent, &s, &error)) {
        groat__cli_say_error(cli, &error);
        s.unsent = 2 * names.count - s.sent;
    }
    groat__progress_clear(&cli->progress);
    groat_error_clear(&error);
    groat__names_free(&names);
    jobs->sent = (s.sent + 1) / 2;
    jobs->unsent = (s.unsent + 1) / 2;
}

/* ---- the report -------------------------------------------------------- */

static tally count(const groat__jobs *jobs)
{
    tally t = {.unsent = (int64_t)jobs->unsent};

    for (size_t i = 0; i < jobs->count; i++) {
        groat__job_state state = jobs->item[i].state;

        t.present += state == GROAT__JOB_PRESENT;
        t.bundled += jobs->item[i].bundled;
        t.fetched += state == GROAT__JOB_FETCHED;
        t.made += state == GROAT__JOB_MADE;
        t.failed += state == GROAT__JOB_FAILED;
        t.open += state == GROAT__JOB_WAITING;
        t.unsent += jobs->item[i].unsent;
    }
    return t;
}

static void list_job(groat__cli *cli, groat__job *job)
{
    groat__json *json = &cli->json;

    groat__json_object(json, NULL);
    groat__json_string(json, "state", state_name(job->state));
    groat__json_string(json, "spec", job->spec);
    groat__json_string(json, "target", job->target);
    groat__json_string(json, "key", *job->key ? job->key : NULL);
    if (job->state == GROAT__JOB_FAILED) {
        groat__cli_json_error(json, &job->error);
        groat__cli_say(cli, "%s on %s:", job->spec, job->target);
        groat__cli_say_error(cli, &job->error);
    } else if (!cli->values.json) {
        (void)printf("missing  %s  %s\n", job->target, job->spec);
    }
    groat__json_end(json);
}

/* A key that was named is there to send with. */
static int tell_unsent(groat__cli *cli, int64_t unsent)
{
    groat_remote_info info = {.size = sizeof(info)};

    if (unsent <= 0 || groat_remote_stat(cli->context, &info, NULL) != GROAT_OK)
        return GROAT__EXIT_DONE;
    groat__cli_say(cli,
                   "warning: %" PRId64 " %s not sent to remote %s; groat fleet "
                   "check finds objects in their place that are not good, "
                   "groat fleet push sends them",
                   unsent, unsent == 1 ? "kernel was" : "kernels were",
                   info.url);
    return cli->values.remote_key ? GROAT__EXIT_FAILED : GROAT__EXIT_DONE;
}

static int report(groat__cli *cli, groat__jobs *jobs, double seconds)
{
    groat__json *json = &cli->json;
    tally t = count(jobs);
    int sent;
    int code = t.open + jobs->lacking ? GROAT__EXIT_FAILED : GROAT__EXIT_DONE;

    groat__json_uint(json, "kernels", jobs->count);
    groat__json_uint(json, "present", t.present);
    groat__json_uint(json, "bundled", t.bundled);
    groat__json_uint(json, "fetched", t.fetched);
    groat__json_uint(json, "compiled", t.made);
    groat__json_uint(json, "failed", t.failed);
    groat__json_uint(json, "missing", t.open);
    groat__json_uint(json, "tuned", jobs->records);
    groat__json_uint(json, "tuned_missing", jobs->lacking);
    groat__json_uint(json, "sent", jobs->sent);
    groat__json_int(json, "unsent", t.unsent);
    groat__json_uint(json, "left_out", jobs->left_out);
    groat__json_uint(json, "jobs", cli->values.jobs);
    groat__json_real(json, "seconds", seconds);
    groat__json_array(json, "not_covered");
    for (size_t i = 0; i < jobs->count; i++) {
        groat__job *job = &jobs->item[i];

        if (job->state == GROAT__JOB_FAILED && !code)
            code = groat__exit_of(job->error.status);
        if (job->state == GROAT__JOB_FAILED || job->state == GROAT__JOB_WAITING)
            list_job(cli, job);
    }
    groat__json_end(json);
    if (!cli->values.json)
        (void)printf("%zu kernels: %zu were there (%zu in bundles), %zu "
                     "fetched, %zu compiled, %zu failed, %zu missing; %.1f s\n",
                     jobs->count, t.present, t.bundled, t.fetched, t.made,
                     t.failed, t.open, seconds);
    if (!cli->values.json && jobs->records)
        (void)printf("%zu tuned choices, %zu missing\n", jobs->records,
                     jobs->lacking);
    if (!cli->values.json && jobs->sent)
        (void)printf("%" PRIu64
                     " of those that were there were sent to the remote\n",
                     jobs->sent);
    if (!cli->values.json && jobs->left_out)
        (void)printf("%zu more are for targets that --only-target leaves out\n",
                     jobs->left_out);
    sent = tell_unsent(cli, t.unsent);
    return code ? code : sent;
}

static void fill_defaults(groat__values *values)
{
    if (values->jobs == 0)
        values->jobs = groat__cores();
    if (values->timeout_s == 0)
        values->timeout_s = 600;
}

/* A variable names the key as well, for whoever has a remote. */
static void take_key(groat__cli *cli)
{
    groat_remote_info info = {.size = sizeof(info)};
    const char *key = getenv("GROAT_REMOTE_KEY");

    if (!cli->values.remote_key && key && *key &&
        groat_remote_stat(cli->context, &info, NULL) == GROAT_OK && info.url)
        cli->values.remote_key = key;
}

/* A key that was named is there to sign with: a build that sends nothing would
 * look as if it had. */
static int check_key(groat__cli *cli)
{
    static const char *const none[] = {NULL};
    const groat_remote_choice nothing = {.size = sizeof(nothing),
                                         .names = none};
    groat_remote_info info = {.size = sizeof(info)};
    groat_error error = GROAT_ERROR_INIT;
    int code = GROAT__EXIT_DONE;

    if (cli->values.remote_key && !cli->values.check &&
        groat_remote_stat(cli->context, &info, NULL) == GROAT_OK &&
        !info.writes &&
        groat_remote_push(cli->context, &nothing, NULL, NULL, &error))
        code = groat__cli_refuse(cli, GROAT_IO,
                                 "--remote-key %s: nothing would be sent: %s",
                                 cli->values.remote_key, error.text);
    groat_error_clear(&error);
    return code;
}

static int check_options(groat__cli *cli)
{
    int code = groat__cli_check_targets(cli, "--target", &cli->values.targets);

    return code ? code
                : groat__cli_check_targets(cli, "--only-target",
                                           &cli->values.only_targets);
}

int groat__cmd_prewarm(groat__cli *cli)
{
    double start = groat__now_ms();
    groat__jobs jobs = {0};
    int code = check_options(cli);

    fill_defaults(&cli->values);
    if (!code)
        code = cli->values.check ? groat__cache_open(cli)
                                 : groat__cli_open(cli, 0);
    if (!code)
        code = groat__cache_needed(cli);
    if (!code) {
        take_key(cli);
        code = check_key(cli);
    }
    if (!code)
        code = collect(cli, &jobs);
    if (!code && !cli->values.check)
        code = make(cli, &jobs);
    if (!code && !cli->values.check)
        send_present(cli, &jobs);
    if (!code)
        code = report(cli, &jobs, (groat__now_ms() - start) * 1e-3);
    groat__jobs_free(&jobs);
    return code;
}
