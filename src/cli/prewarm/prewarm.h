/* SPDX-License-Identifier: Apache-2.0
 *
 * prewarm.h - the jobs of `groat prewarm`, and the processes that compile them.
 *
 * manifest.c      turns manifests into jobs
 * cmd_prewarm.c   the command: finds the jobs to compile; the report
 * pool.c          runs worker processes that compile them
 * worker.c        the worker process
 */
#ifndef GROAT_CLI_PREWARM_PREWARM_H
#define GROAT_CLI_PREWARM_PREWARM_H

#include "cli/tool/cmd.h"

typedef enum groat__job_state {
    GROAT__JOB_WAITING,
    GROAT__JOB_RUNNING,
    GROAT__JOB_PRESENT, /* in the store or a bundle, or made meanwhile by
                         * another process */
    GROAT__JOB_FETCHED, /* from the remote */
    GROAT__JOB_MADE,
    GROAT__JOB_FAILED
} groat__job_state;

/* One kernel: a spec on a target. */
typedef struct groat__job {
    char *spec; /* canonical */
    char *target;
    char key[33]; /* "" without the target's compiler */
    groat__job_state state;
    unsigned starts; /* attempts so far, each in a worker process */
    double compile_ms;
    groat_error error; /* of a failed job */
    bool bundled;      /* in a bundle, but not in the store */
    bool asked;        /* of the remote, before workers start */
    /* How many more kernels the worker has not sent; less than 0: it sent some
     * that an earlier job has counted. */
    int64_t unsent;
} groat__job;

/* The tuned choice of a manifest's line, for one target; score may be NULL. */
typedef struct groat__tuned_line {
    char *where, *target, *device, *decode, *score;
} groat__tuned_line;

typedef struct groat__jobs {
    groat__job *item;
    size_t count;
    size_t cap;
    groat__tuned_line *record;
    size_t records;
    size_t lacking;  /* of these, those that a check did not find    */
    size_t left_out; /* kernels whose target is not among --only-target */
    uint64_t sent;   /* kernels that were there, sent to the remote now  */
    uint64_t unsent; /* and those that were not, though it lacks them    */
} groat__jobs;

void groat__jobs_free(groat__jobs *jobs);
/* Drops all but the first `kept` jobs. */
void groat__jobs_cut(groat__jobs *jobs, size_t kept);
/* Adds a job, unless --only-target leaves its target out.  Errors start with
 * `where` ("FILE:LINE").  Returns DONE, or an exit code after reporting the
 * error. */
int groat__jobs_add(groat__cli *cli, groat__jobs *jobs, const char *where,
                    const char *spec, const char *target);

/* Adds a job for an entry of a store.  An entry that is invalid here, because
 * its family or a value is unknown, becomes a failed job. */
int groat__jobs_add_stored(groat__cli *cli, groat__jobs *jobs,
                           const char *where, const char *spec,
                           const char *target);

/* Adds the kernels of a manifest: JSON Lines, each {"spec": S, "targets":
 * [T...]}, or "target": T for one; "note" is ignored, a "tuned" choice listed.
 * A line without a target is for each --target.  path "-": stdin.  Returns as
 * groat__jobs_add does. */
int groat__manifest_read(groat__cli *cli, const char *path, groat__jobs *jobs);

/* Puts the tuned choices of all manifests into the store, or counts those that
 * neither it nor a bundle has.  Return as groat__jobs_add does. */
int groat__records_put(groat__cli *cli, const groat__jobs *jobs);
int groat__records_check(groat__cli *cli, groat__jobs *jobs);

/* Called for each job that was made or failed. */
typedef void groat__job_fn(void *user, const groat__job *job);

/* Makes all waiting jobs in values.jobs worker processes.  A process that dies
 * or takes longer than values.timeout_s is replaced, and its job tried once
 * more.  A failed job holds its error.  Returns DONE, or an exit code after
 * reporting why no processes can be run. */
int groat__pool_run(groat__cli *cli, groat__jobs *jobs, groat__job_fn *ended,
                    void *user);

/* The command, and the hidden one of its worker processes. */
int groat__cmd_prewarm(groat__cli *cli);
int groat__cmd_prewarm_worker(groat__cli *cli);

#endif
