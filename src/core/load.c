/* SPDX-License-Identifier: Apache-2.0
 *
 * load.c makes kernels from binaries: the handle that programs hold, and its
 * module on the device, which can be loaded again after it was unloaded.
 */
#include "core/load.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static char *copy(const char *text, bool *failed)
{
    char *own = strdup(text != NULL ? text : "");

    *failed = *failed || own == NULL;
    return own;
}

static groat_kernel *new_kernel(const groat__job *job)
{
    groat_kernel *kernel = calloc(1, sizeof(*kernel));
    groat__str text = {0};
    bool failed = false;

    if (kernel == NULL)
        return NULL;
    groat__params_text(job->params, &text);
    kernel->device = job->backend->device;
    kernel->shape = job->shape;
    kernel->context = job->context;
    atomic_init(&kernel->refs, 1); /* the context's */
    kernel->spec = groat__str_take(&text);
    kernel->target = copy(job->params->target.text, &failed);
    kernel->entry = copy(job->entry.data, &failed);
    kernel->log = copy(job->made.binary.log, &failed);
    kernel->identity = copy(job->identity.data, &failed);
    kernel->maker = groat__job_maker(job);
    kernel->key = job->key;
    kernel->origin = job->made.origin;
    kernel->compile_ms = job->made.compile_ms;
    kernel->facts = job->made.binary.facts;
    if (failed || kernel->spec == NULL || kernel->maker == NULL) {
        groat__kernel_free(kernel);
        return NULL;
    }
    return kernel;
}

/* Loads the module into a handle: completes the shape of a new one; the shape
 * of an old one has to match. */
static groat_status load_module(const groat__job *job, groat_kernel *again,
                                groat_kernel *kernel, groat_error *error)
{
    groat__module *module = NULL;
    groat__shape shape = job->shape;
    uint64_t bytes = job->made.binary.bytes;
    void *state = NULL;
    groat_status status = groat__machine_device(
        job->context, job->params->target.backend, &state, error);

    if (status != GROAT_OK)
        return status;
    groat__resident_reserve(job->context, bytes);
    status = kernel->device->load(state, job->params->target.arch,
                                  job->made.binary.data, bytes, kernel->entry,
                                  &shape, &module, error);
    if (status == GROAT_OK && kernel == again &&
        shape.dynamic_bytes != kernel->shape.dynamic_bytes) {
        kernel->device->unload(state, module);
        status = groat__fail(error, GROAT_LOAD_FAILED,
                             "%s has %u bytes of dynamic shared memory now; it "
                             "had %u when it was unloaded",
                             kernel->entry, shape.dynamic_bytes,
                             kernel->shape.dynamic_bytes);
    }
    if (status != GROAT_OK) {
        groat__resident_give_back(job->context, bytes);
        return status;
    }
    if (kernel != again) {
        kernel->device_state = state;
        kernel->shape = shape;
        kernel->device->facts_of(state, module, &kernel->facts);
    }
    groat__resident_add(kernel, module, bytes);
    return GROAT_OK;
}

/* *out has one more reference. */
static groat_status load(groat__job *job, groat_kernel *again,
                         groat_kernel **out, groat_error *error)
{
    uint64_t start = groat__now_ns();
    groat_kernel *kernel = again != NULL ? again : new_kernel(job);
    groat_status status;

    if (kernel == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a kernel");
    (void)groat_kernel_retain(kernel);
    groat__range_begin(&job->context->ranges, "load",
                       job->params->family->name);
    status = load_module(job, again, kernel, error);
    GROAT__PROBE4(load, job->params->family->name, job->params->target.text,
                  (groat__now_ns() - start) / 1000, (int)status);
    groat__range_end(&job->context->ranges);
    if (status != GROAT_OK) {
        if (kernel == again)
            groat__resident_drop(kernel);
        else
            groat__kernel_free(kernel);
        return status;
    }
    if (kernel != again)
        kernel->load_ms = (double)(groat__now_ns() - start) * 1e-6;
    groat__metrics_add(&job->context->metrics, GROAT__STAGE_LOAD, start);
    *out = kernel;
    return GROAT_OK;
}

/* A stored binary that the driver refuses is dropped and compiled again by one
 * of the processes that see the refusal.  If the driver here refuses that
 * binary as well, this process compiles its own.  A refused fresh binary is
 * dropped, and the caller gets the error. */
groat_status groat__kernel_load(groat__job *job, groat_kernel *again,
                                groat_kernel **out, groat_error *error)
{
    groat_status (*const remake[])(groat__job *, groat_error *) = {
        groat__job_make_binary, groat__job_compile};
    groat_status status = groat__job_get_binary(job, error);

    if (status == GROAT_OK)
        status = load(job, again, out, error);
    for (int i = 0;
         i < 2 && status == GROAT_LOAD_FAILED && groat__job_is_stored(job);
         i++) {
        groat__log_line(&job->context->env.log, GROAT_LOG_WARNING,
                        "the driver refused the stored binary of %s: it is "
                        "dropped and compiled again",
                        job->entry.data);
        groat__job_drop_binary(job);
        job->reason = GROAT_REASON_REFUSED;
        status = remake[i](job, error);
        if (status == GROAT_OK)
            status = load(job, again, out, error);
    }
    if (status == GROAT_LOAD_FAILED)
        groat__job_drop_binary(job);
    return status;
}
