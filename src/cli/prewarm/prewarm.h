/* SPDX-License-Identifier: Apache-2.0
 *
 * prewarm.h - the kernels that `groat prewarm` is to make, and who makes them.
 *
 * manifest.c         files that list them -> jobs
 * ../cmd_prewarm.c   which of them are there; the report
 * pool.c             helper processes that make the others
 * worker.c           what such a process does
 */
#ifndef GROAT_CLI_PREWARM_PREWARM_H
#define GROAT_CLI_PREWARM_PREWARM_H

#include "cli/tool/cmd.h"

typedef enum groat__job_state {
    GROAT__JOB_WAITING,
    GROAT__JOB_RUNNING,
    GROAT__JOB_PRESENT, /* the store or a bundle had it, or another process
                         * made it */
    GROAT__JOB_MADE,
    GROAT__JOB_FAILED
} groat__job_state;

/* One kernel: a spec on a target. */
typedef struct groat__job {
    char *spec; /* canonical */
    char *target;
    char key[33]; /* "" where the target's compiler is not there */
    groat__job_state state;
    unsigned starts; /* processes that have tried */
    double compile_ms;
    groat_error error; /* of a failed one */
    bool bundled;      /* a bundle has it, and the store has not */
} groat__job;

typedef struct groat__jobs {
    groat__job *item;
    size_t count;
    size_t cap;
    size_t left_out; /* for targets that --only-target does not name */
} groat__jobs;

void groat__jobs_free(groat__jobs *jobs);
/* Keeps the first `kept` ones. */
void groat__jobs_cut(groat__jobs *jobs, size_t kept);
/* Adds a spec on a target that is wanted.  where ("FILE:LINE") begins what is
 * told of a bad one.  Returns DONE or the exit code of a failure that it has
 * told. */
int groat__jobs_add(groat__cli *cli, groat__jobs *jobs, const char *where,
                    const char *spec, const char *target);

/* The same for an entry of a store; one that is no kernel here, because its
 * family or a value is unknown, is a job that has failed. */
int groat__jobs_add_stored(groat__cli *cli, groat__jobs *jobs,
                           const char *where, const char *spec,
                           const char *target);

/* Adds what a manifest says: JSON Lines, each {"spec": S, "targets": [T...]};
 * "target": T for one, "note": anything for readers.  Lines that name no target
 * are for each --target.  path "-": stdin.  Nothing is compiled.  Returns as
 * groat__jobs_add does. */
int groat__manifest_read(groat__cli *cli, const char *path, groat__jobs *jobs);

/* Told of each job that has come to its end. */
typedef void groat__job_fn(void *user, const groat__job *job);

/* Makes all jobs that wait, on values.jobs processes at once.  A process that
 * dies or takes longer than values.timeout_s is replaced, and its job tried
 * once more.  Jobs that fail say so in their error.  Returns DONE, or the exit
 * code of a failure, which it has told, to run processes at all. */
int groat__pool_run(groat__cli *cli, groat__jobs *jobs, groat__job_fn *ended,
                    void *user);

/* The command, and that of a process that it starts. */
int groat__cmd_prewarm(groat__cli *cli);
int groat__cmd_prewarm_worker(groat__cli *cli);

#endif
