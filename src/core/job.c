/* SPDX-License-Identifier: Apache-2.0
 *
 * job.c runs a build job: it looks for the binary of one spec in the store,
 * then in the bundles, then at the remote; else it compiles and stores it.
 * In-flight builds that threads share are in inflight.c, loading is in load.c.
 */
#include "core/job.h"

#include <string.h>

#include "base/error.h"
#include "base/slice.h"

enum { THREADS_MAX = 1024 };

/* A shape that no device of the arch can launch is an error at build time. */
static groat_status check_shape(const groat__job *job, groat_error *error)
{
    const unsigned *b = job->shape.block;
    const groat__arch *arch = job->params->target.arch;
    uint64_t threads = (uint64_t)b[0] * b[1] * b[2];

    if (threads > THREADS_MAX)
        return groat__fail(error, GROAT_INVALID,
                           "%s: a block is %u x %u x %u threads; %d in all are "
                           "allowed",
                           job->entry.data, b[0], b[1], b[2], THREADS_MAX);
    if (job->shape.shared_bytes > (unsigned)arch->shared_bytes)
        return groat__fail(error, GROAT_INVALID,
                           "%s: a block needs %u bytes of shared memory; %s "
                           "has %d",
                           job->entry.data, job->shape.shared_bytes, arch->name,
                           arch->shared_bytes);
    return GROAT_OK;
}

groat_status groat__job_open(groat__job *job, groat_context *context,
                             const groat__params *params, groat_error *error)
{
    groat__launch_values launch;
    groat_status status = groat__params_launch(params, &launch, error);

    memset(job, 0, sizeof(*job));
    job->context = context;
    job->params = params;
    job->backend = groat__backend_get(params->target.backend);
    job->sealed = groat__seal_is_on(&context->seal);
    if (status != GROAT_OK)
        return status;
    for (int i = 0; i < 3; i++) {
        job->shape.block[i] = (unsigned)launch.of[GROAT__BLOCK_X + i];
        job->shape.cluster[i] = (unsigned)launch.of[GROAT__CLUSTER_X + i];
    }
    job->shape.shared_bytes = (unsigned)launch.of[GROAT__SHARED];
    job->shape.args_bytes = (unsigned)launch.of[GROAT__ARGS];
    job->shape.overlaps = launch.of[GROAT__OVERLAP] != 0;
    groat__params_entry(params, &job->entry);
    if (job->entry.failed)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a name");
    status = check_shape(job, error);
    if (status != GROAT_OK)
        return status;
    status = groat__spec_identity(context, params, &job->identity, &job->key,
                                  &job->maker, error);
    if (status == GROAT_OK && job->maker >= GROAT__MAKER_ABSENT)
        (void)atomic_fetch_add(&context->metrics.compilerless, 1);
    return status;
}

void groat__job_close(groat__job *job)
{
    groat__str_free(&job->identity);
    groat__str_free(&job->entry);
    groat__binary_free(&job->made.binary);
}

static void take_stored(groat__job *job, const groat__store_blob *blob,
                        groat_origin origin)
{
    job->made.binary =
        (groat__binary){blob->data, blob->bytes, blob->log, blob->facts};
    job->made.origin = origin;
    job->made.fresh = false;
}

static void begin_range(const groat__job *job, const char *what)
{
    groat__range_begin(&job->context->ranges, what, job->params->family->name);
}

static void end_range(const groat__job *job)
{
    groat__range_end(&job->context->ranges);
}

static bool read_stored(groat__job *job, groat__store_blob *blob)
{
    if (job->context->store != NULL &&
        groat__store_get(job->context->store, &job->key, job->identity.data,
                         blob))
        take_stored(job, blob,
                    job->maker == GROAT__MAKER_REMOTE ? GROAT_FROM_REMOTE
                                                      : GROAT_FROM_DISK);
    else if ((job->bundle = groat__layers_get(
                  job->context, &job->key, job->identity.data, blob)) != NULL)
        take_stored(job, blob, GROAT_FROM_BUNDLE);
    else
        return false;
    return true;
}

/* Reads the binary from the store, else from a bundle. */
static bool find_stored(groat__job *job)
{
    groat__store_blob blob = {0};
    uint64_t start = groat__now_ns();
    bool found;

    begin_range(job, "read");
    found = read_stored(job, &blob);
    end_range(job);
    if (!found)
        return false;
    groat__metrics_spent(&job->context->metrics, GROAT__STAGE_READ,
                         groat__now_ns() - start - blob.verify_ns);
    groat__metrics_spent(&job->context->metrics, GROAT__STAGE_VERIFY,
                         blob.verify_ns);
    return true;
}

/* Opens the compiler.  If the identity was predicted and its entry is lost, the
 * compiler may have been replaced since. */
static groat_status open_compiler(const groat__job *job, void **state,
                                  groat_error *error)
{
    const char *lines = NULL;
    groat_status status = groat__machine_compiler(
        job->context, job->params->target.backend, state, error);

    if (status == GROAT_OK)
        status = groat__machine_identity(job->context, &job->params->target,
                                         &lines, error);
    if (status == GROAT_OK &&
        strcmp(groat__key_second_half(job->identity.data), lines) != 0)
        status = groat__fail(
            error, GROAT_COMPILE_FAILED,
            "the stored %s was made by another compiler and is gone; get the "
            "kernel again to compile it with the present compiler",
            job->entry.data);
    return status;
}

/* Renders the source and compiles it. */
static groat_status run_compiler(groat__job *job, groat_error *error)
{
    groat__str source = {0};
    groat__slice before;
    void *state = NULL;
    groat_status status = open_compiler(job, &state, error);

    if (status != GROAT_OK)
        return status;
    groat__render_source(job->params, &source);
    if (source.failed) {
        groat__str_free(&source);
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for the source");
    }
    groat__slice_lengthen(&before);
    status = job->backend->compiler->compile(
        state, job->params->target.arch, job->params->family->name, source.data,
        job->entry.data, &job->made.binary, error);
    groat__slice_restore(&before);
    groat__str_free(&source);
    return status;
}

static void tell_compiled(const groat__job *job, groat_status status, double ms,
                          const groat_error *error)
{
    groat_compile_event event = {.size = sizeof(event),
                                 .target = job->params->target.text,
                                 .reason = job->reason,
                                 .status = status,
                                 .ms = ms};
    groat__str spec = {0};

    groat__params_text(job->params, &spec);
    groat__hex(event.key, job->key.bytes, sizeof(job->key.bytes));
    groat__callbacks_compiled(&job->context->callbacks,
                              spec.failed ? "" : spec.data, &event,
                              status == GROAT_OK ? NULL : error);
    groat__str_free(&spec);
}

static void store_binary(groat__job *job)
{
    uint64_t start = groat__now_ns();

    if (job->context->store == NULL)
        return;
    begin_range(job, "put");
    groat__store_first(
        job->context->store, &job->key,
        job->made.origin == GROAT_FROM_COMPILER ? job->made.compile_ms : -1);
    groat__store_put(job->context->store, &job->key, job->identity.data,
                     job->made.binary.data, job->made.binary.bytes,
                     job->made.binary.log, &job->made.binary.facts);
    end_range(job);
    groat__metrics_add(&job->context->metrics, GROAT__STAGE_PUT, start);
}

groat_status groat__job_compile(groat__job *job, groat_error *error)
{
    groat__metrics *metrics = &job->context->metrics;
    uint64_t start = groat__now_ns();
    groat_error own = GROAT_ERROR_INIT;
    groat_status status;
    double ms;

    begin_range(job, "compile");
    GROAT__PROBE3(compile__start, job->params->family->name,
                  job->params->target.text, groat_reason_name(job->reason));
    status = run_compiler(job, &own);
    ms = (double)(groat__now_ns() - start) * 1e-6;
    GROAT__PROBE5(compile__end, job->params->family->name,
                  job->params->target.text, groat_reason_name(job->reason),
                  (uint64_t)(ms * 1e3), (int)status);
    end_range(job);
    if (status == GROAT_OK) {
        groat__metrics_add(metrics, GROAT__STAGE_COMPILE, start);
        groat__failures_forget(&job->context->failures, &job->key);
        job->made.origin = GROAT_FROM_COMPILER;
        job->made.fresh = true;
        job->made.compile_ms = ms;
        (void)atomic_fetch_add(&job->context->compiles, 1);
        groat__machine_compiled(
            &job->context->machines[job->params->target.backend], ms);
        store_binary(job);
        groat__job_offer(job);
    } else {
        groat__job_give_lease(job);
        (void)atomic_fetch_add(&metrics->compile_failures, 1);
        groat__error_copy(error, &own);
    }
    tell_compiled(job, status, ms, &own);
    groat_error_clear(&own);
    return status;
}

/* No other process of this host compiles it; another host may have. */
static groat_status fetch_or_compile(groat__job *job, groat_error *error)
{
    groat__store_blob blob = {0};

    if (!groat__job_ask_remote(job, &blob))
        return groat__job_compile(job, error);
    take_stored(job, &blob, GROAT_FROM_REMOTE);
    store_binary(job);
    return GROAT_OK;
}

groat_status groat__job_make_binary(groat__job *job, groat_error *error)
{
    groat__store_blob blob = {0};
    groat__claim claim = GROAT__CLAIM_NONE;
    groat_status status = GROAT_OK;

    if (job->sealed) {
        (void)atomic_fetch_add_explicit(&job->context->seal.misses, 1,
                                        memory_order_relaxed);
        return groat__fail(error, GROAT_SEALED,
                           "the context is sealed and %s is not in the store",
                           job->entry.data);
    }
    if (groat__failures_answer(&job->context->failures, &job->key, error))
        return GROAT_COMPILE_FAILED;
    if (job->context->store != NULL)
        claim = groat__store_claim(job->context->store, &job->key,
                                   job->identity.data, &blob);
    if (job->reason != GROAT_REASON_REFUSED)
        job->reason = job->context->store == NULL  ? GROAT_REASON_NO_STORE
                      : claim == GROAT__CLAIM_NONE ? GROAT_REASON_ALONE
                                                   : GROAT_REASON_ABSENT;
    if (claim == GROAT__CLAIM_FOUND)
        take_stored(job, &blob, GROAT_FROM_DISK);
    else
        status = fetch_or_compile(job, error);
    if (claim == GROAT__CLAIM_HELD)
        groat__store_release(job->context->store, &job->key);
    if (status == GROAT_COMPILE_FAILED)
        groat__failures_note(&job->context->failures, &job->key, error);
    return status;
}

groat_status groat__job_get_binary(groat__job *job, groat_error *error)
{
    /* A build by another thread may have filled job->made already. */
    return job->made.binary.data != NULL || find_stored(job)
               ? GROAT_OK
               : groat__job_make_binary(job, error);
}

char *groat__job_maker(const groat__job *job)
{
    size_t len;
    const char *maker = groat__key_maker(job->identity.data, &len);

    return strndup(maker, len);
}

void groat__job_drop_binary(groat__job *job)
{
    if (job->bundle != NULL)
        groat__bundle_refused(job->bundle);
    else if (job->context->store != NULL)
        groat__store_evict(job->context->store, &job->key,
                           job->made.binary.data, job->made.binary.bytes);
    job->bundle = NULL;
    groat__binary_free(&job->made.binary);
}

bool groat__job_is_stored(const groat__job *job)
{
    return !job->made.fresh;
}
