/* SPDX-License-Identifier: Apache-2.0
 *
 * launch.c enqueues kernels and moves their data.  groat_kernel_launch is the
 * hot path: a few comparisons and one indirect call on top of the vendor's.
 */
#include <stdlib.h>

#include "base/error.h"
#include "core/core.h"

enum { ZEROS_MAX = 1 << 20 }; /* bytes written at a time */

static groat_status bad_launch(const groat_kernel *kernel,
                               const groat_launch *launch, const void *args,
                               size_t args_bytes, groat_error *error)
{
    groat_status status = groat__check_size(error, "launch", "groat_launch",
                                            launch, sizeof(*launch));

    if (status != GROAT_OK)
        return status;
    if (args == NULL)
        return groat__fail(error, GROAT_INVALID, "%s: args is NULL",
                           kernel->entry);
    if (args_bytes != kernel->shape.args_bytes)
        return groat__fail(error, GROAT_INVALID,
                           "%s: args are %zu bytes; the family's are %u",
                           kernel->entry, args_bytes, kernel->shape.args_bytes);
    return groat__fail(error, GROAT_INVALID,
                       "%s: grid is %u x %u x %u; allowed: 1 or more each",
                       kernel->entry, launch->grid[0], launch->grid[1],
                       launch->grid[2]);
}

static inline bool is_sound(const groat_kernel *kernel,
                            const groat_launch *launch, const void *args,
                            size_t args_bytes)
{
    return launch != NULL && launch->size >= sizeof(*launch) && args != NULL &&
           args_bytes == kernel->shape.args_bytes && launch->grid[0] != 0 &&
           launch->grid[1] != 0 && launch->grid[2] != 0;
}

/* A launch with a bound on loaded bytes: holds the kernel meanwhile, since it
 * may be unloaded at any other time. */
static groat_status launch_held(groat_kernel *kernel,
                                const groat_launch *launch, const void *args,
                                groat_error *error)
{
    groat_status status = groat__reload(kernel, launch->stream, error);
    bool captured = false;

    if (status != GROAT_OK)
        return status;
    status = kernel->device->launch_noted(kernel->device_state, kernel->module,
                                          &kernel->shape, launch, args,
                                          &captured, error);
    /* No call tells when the graph is destroyed, so the kernel stays loaded. */
    if (captured)
        atomic_store(&kernel->kept, true);
    groat__resident_drop(kernel);
    return status;
}

static groat_status launch_direct(groat_kernel *kernel,
                                  const groat_launch *launch, const void *args,
                                  groat_error *error)
{
    return kernel->device->launch(kernel->device_state, kernel->module,
                                  &kernel->shape, launch, args, error);
}

/* The first launch, which is timed since drivers defer work to it; and every
 * launch with a bound on loaded bytes, or with a trace, which calls the
 * program. */
__attribute__((noinline, cold)) static groat_status
launch_slowly(groat_kernel *kernel, const groat_launch *launch,
              const void *args, groat_error *error)
{
    groat_context *context = kernel->context;
    bool bounded = context->resident.max_bytes != 0;
    bool traced = context->env.trace != NULL;
    bool first = !atomic_load_explicit(&kernel->launched, memory_order_relaxed);
    uint64_t start = first ? groat__now_ns() : 0;
    groat__callback_scope self;
    groat_status status;

    if (traced)
        groat__callback_begin(&context->callbacks, &self);
    status = bounded ? launch_held(kernel, launch, args, error)
                     : launch_direct(kernel, launch, args, error);
    if (traced)
        groat__callback_end(&context->callbacks, &self);
    if (status != GROAT_OK)
        return status;
    if (first && !atomic_exchange(&kernel->launched, true))
        groat__metrics_add(&context->metrics, GROAT__STAGE_LAUNCH, start);
    if (!bounded && !traced)
        atomic_store(&kernel->direct, true);
    return GROAT_OK;
}

groat_status groat_kernel_launch(groat_kernel *kernel,
                                 const groat_launch *launch, const void *args,
                                 size_t args_bytes, groat_error *error)
{
    if (!groat__is_usable(groat__kernel_context(kernel)))
        return groat__fail_unusable("kernel", kernel, error);
    if (__builtin_expect(!is_sound(kernel, launch, args, args_bytes), 0))
        return bad_launch(kernel, launch, args, args_bytes, error);
    if (__builtin_expect(
            !atomic_load_explicit(&kernel->direct, memory_order_relaxed), 0))
        return launch_slowly(kernel, launch, args, error);
    return launch_direct(kernel, launch, args, error);
}

groat_status groat_kernel_time(groat_kernel *kernel, const groat_launch *launch,
                               const void *args, size_t args_bytes,
                               unsigned repeats, double *us, groat_error *error)
{
    groat_status status;

    if (!groat__is_usable(groat__kernel_context(kernel)))
        return groat__fail_unusable("kernel", kernel, error);
    if (!is_sound(kernel, launch, args, args_bytes))
        return bad_launch(kernel, launch, args, args_bytes, error);
    if (repeats == 0)
        return groat__fail(error, GROAT_INVALID,
                           "repeats is 0; allowed: 1 or more");
    status = groat__reload(kernel, launch->stream, error);
    if (status != GROAT_OK)
        return status;
    status =
        kernel->device->time(kernel->device_state, kernel->module,
                             &kernel->shape, launch, args, repeats, us, error);
    /* Some of the launches may still be running. */
    if (status != GROAT_OK)
        atomic_store(&kernel->kept, true);
    groat__resident_drop(kernel);
    return status;
}

/* Opens the device of a target. */
static groat_status open_device(groat_context *context, const char *text,
                                const groat__device **device, void **state,
                                groat_error *error)
{
    groat__target target;
    groat_status status;

    if (!groat__is_usable(context))
        return groat__fail_unusable("context", context, error);
    status = groat__context_target(context, text, &target, error);
    if (status != GROAT_OK)
        return status;
    *device = groat__backend_get(target.backend)->device;
    return groat__machine_device(context, target.backend, state, error);
}

groat_status groat_memory_alloc(groat_context *context, const char *target,
                                size_t bytes, uint64_t *address,
                                groat_error *error)
{
    const groat__device *device;
    void *state;
    groat_status status = open_device(context, target, &device, &state, error);

    return status == GROAT_OK ? device->alloc(state, bytes, address, error)
                              : status;
}

void groat_memory_free(groat_context *context, const char *target,
                       uint64_t address)
{
    const groat__device *device;
    void *state;

    if (address != 0 &&
        open_device(context, target, &device, &state, NULL) == GROAT_OK)
        device->release(state, address);
}

static groat_status write_zeros(const groat__device *device, void *state,
                                uint64_t to, size_t bytes, groat_error *error)
{
    size_t most = bytes < ZEROS_MAX ? bytes : ZEROS_MAX;
    void *zeros = calloc(1, most > 0 ? most : 1);
    groat_status status = GROAT_OK;

    if (zeros == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for zeros");
    for (size_t at = 0; at < bytes && status == GROAT_OK; at += most)
        status = device->write(state, to + at, zeros,
                               bytes - at < most ? bytes - at : most, error);
    free(zeros);
    return status;
}

groat_status groat_memory_write(groat_context *context, const char *target,
                                uint64_t to, const void *from, size_t bytes,
                                groat_error *error)
{
    const groat__device *device;
    void *state;
    groat_status status = open_device(context, target, &device, &state, error);

    if (status != GROAT_OK)
        return status;
    return from != NULL ? device->write(state, to, from, bytes, error)
                        : write_zeros(device, state, to, bytes, error);
}

groat_status groat_memory_read(groat_context *context, const char *target,
                               void *to, uint64_t from, size_t bytes,
                               groat_error *error)
{
    const groat__device *device;
    void *state;
    groat_status status = open_device(context, target, &device, &state, error);

    return status == GROAT_OK ? device->read(state, to, from, bytes, error)
                              : status;
}

groat_status groat_synchronize(groat_context *context, const char *target,
                               groat_error *error)
{
    const groat__device *device;
    void *state;
    groat_status status = open_device(context, target, &device, &state, error);

    if (status == GROAT_OK)
        status = device->sync(state, error);
    if (status == GROAT_OK)
        groat__resident_sweep(context);
    return status;
}
