/* SPDX-License-Identifier: Apache-2.0
 *
 * job_remote.c asks other hosts for the binary of a build job, and sends them
 * the binaries that were compiled here.
 *
 * Locking: the remote's.
 */
#include "core/job.h"

enum {
    MOST_MS = 30000 /* bound of the estimate: as long as the store waits for *
                     * another process of this host                          */
};

/* The expected time of a compile: the longest that this compiler has taken in
 * this context and for the kernels of the store; 0 if there is none. */
static unsigned expected_ms(const groat__job *job)
{
    const groat__machine *machine =
        &job->context->machines[job->params->target.backend];
    double own = atomic_load(&machine->longest_ms);
    double ms = 0;

    if (job->context->store != NULL)
        ms = groat__store_longest_ms(
            job->context->store, groat__key_second_half(job->identity.data));
    ms = ms > own ? ms : own;
    return ms <= 0 ? 0 : ms > MOST_MS ? MOST_MS : (unsigned)ms + 1;
}

/* Gets the lease of the key, or the binary that another host makes meanwhile.
 */
static bool ask_for_lease(groat__job *job, unsigned expected,
                          groat__store_blob *out)
{
    groat__remote *remote = job->context->remote;
    uint64_t start = groat__now_ns();
    groat__remote_claim claim;

    if (remote->lease == NULL)
        return false;
    claim = groat__remote_lease(remote, &job->key, job->identity.data, expected,
                                out);
    job->leased = claim == GROAT__REMOTE_HELD;
    groat__metrics_add(&job->context->metrics, GROAT__STAGE_LEASE, start);
    return claim == GROAT__REMOTE_FOUND;
}

bool groat__job_ask_remote(groat__job *job, groat__store_blob *out)
{
    groat__remote *remote = job->context->remote;
    uint64_t start = groat__now_ns();
    unsigned expected, ms;
    bool found;

    /* A binary that the driver refused may have come from the remote. */
    if (remote == NULL || job->reason == GROAT_REASON_REFUSED)
        return false;
    expected = expected_ms(job);
    ms = expected != 0 && expected < GROAT__REMOTE_BUDGET_MS
             ? expected
             : GROAT__REMOTE_BUDGET_MS;
    groat__range_begin(&job->context->ranges, "remote",
                       job->params->family->name);
    found = groat__remote_get(remote, &job->key, job->identity.data, ms, out);
    groat__metrics_add(&job->context->metrics, GROAT__STAGE_REMOTE, start);
    found = found || ask_for_lease(job, expected, out);
    groat__range_end(&job->context->ranges);
    return found;
}

void groat__job_offer(groat__job *job)
{
    const groat__binary *binary = &job->made.binary;
    const groat__entry entry = {job->key,
                                job->identity.data,
                                binary->log != NULL ? binary->log : "",
                                binary->data,
                                binary->bytes,
                                binary->facts};

    if (job->context->remote != NULL)
        groat__remote_offer(job->context->remote, &entry,
                            groat__key_wanted(job->identity.data), job->leased);
    job->leased = false;
}

void groat__job_give_lease(groat__job *job)
{
    if (job->leased)
        groat__remote_give(job->context->remote, &job->key);
    job->leased = false;
}
