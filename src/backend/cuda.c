/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda.c runs kernels through the CUDA driver.  It owns modules and launches;
 * it leaves the driver and its contexts to cuda_driver.c, the common part of
 * the GPU backends to gpu.c, compiling to nvrtc.c and caching kernels to core.
 *
 * A module stays with the context it was loaded in.  Invariant: the calling
 * thread's context stack is the same before and after every slot.  After load
 * only a module's marks are written, see marks.c.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/cuda_abi.h"
#include "backend/cuda_driver.h"
#include "base/dl.h"
#include "backend/shared.h"
#include "base/error.h"

enum {
    /* More shared memory or larger clusters need a function attribute. */
    SHARED_BYTES_PLAIN = 48 << 10,
    CLUSTER_PLAIN = 8,
    JIT_LOG_BYTES = 8192
};

struct groat__module {
    groat__gpu_module common; /* comes first */
    CUmodule module;
    CUfunction function;
    int max_threads;
    int shared_bytes;
    int local_bytes;
    int registers;
    size_t bytes;
};

static const groat__gpu_calls gpu_calls;

/* ---- open ---------------------------------------------------------------- */

static groat_status cuda_search(const groat__env *env, void **state,
                                groat_error *error)
{
    return groat__cuda_open(env, &gpu_calls, state, error);
}

/* ---- devices ------------------------------------------------------------ */

/* Archs whose letter form has instructions that the plain one lacks. */
static bool has_a_form(int capability)
{
    return capability >= 90;
}

static groat_status get_attributes(const cuda_state *state, CUdevice device,
                                   groat_device_info *info, groat_error *error)
{
    int major = 0;
    int minor = 0;
    const struct {
        CUdevice_attribute attribute;
        int *value;
    } wanted[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &info->multiprocessors},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
         &info->shared_bytes_max},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &info->clock_khz},
    };
    int capability;

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        groat__called call = CU(state, cuDeviceGetAttribute,
                                (wanted[i].value, wanted[i].attribute, device));

        if (call.code != CUDA_SUCCESS)
            return groat__gpu_failed(state, GROAT_NO_DEVICE, call, error,
                                     "for attribute %d of device %d",
                                     wanted[i].attribute, info->ordinal);
    }
    capability = major * 10 + minor;
    (void)snprintf(info->target, sizeof(info->target), "cuda:sm_%d%s",
                   capability, has_a_form(capability) ? "a" : "");
    return GROAT_OK;
}

static groat_status cuda_facts(void *handle, size_t index,
                               groat_device_info *info, groat_error *error)
{
    const cuda_state *state = handle;
    groat_device_info facts = {0};
    size_t memory = 0;
    CUdevice device = 0;
    groat_status status;
    groat__called call;

    if (index >= groat__gpu_count(handle))
        return groat__cuda_no_such_device(state, GROAT_INVALID, (int)index,
                                          error);
    facts.size = info->size;
    facts.ordinal = (int)index;
    call = CU(state, cuDeviceGet, (&device, (int)index));
    if (call.code == CUDA_SUCCESS)
        call = CU(state, cuDeviceGetName,
                  (facts.name, (int)sizeof(facts.name), device));
    if (call.code == CUDA_SUCCESS)
        call = CU(state, cuDeviceTotalMem, (&memory, device));
    if (call.code != CUDA_SUCCESS)
        return groat__gpu_failed(state, GROAT_NO_DEVICE, call, error,
                                 "for device %zu", index);
    facts.name[sizeof(facts.name) - 1] = '\0';
    facts.memory_bytes = memory;
    status = get_attributes(state, device, &facts, error);
    if (status == GROAT_OK)
        *info = facts;
    return status;
}

/* ---- modules ------------------------------------------------------------ */

static groat_status load_image(const cuda_state *state, const groat__arch *arch,
                               const void *data, size_t bytes,
                               groat__module *module, groat_error *error)
{
    char *log = calloc(1, JIT_LOG_BYTES);
    CUjit_option options[2] = {CU_JIT_ERROR_LOG_BUFFER,
                               CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[2] = {log, (void *)(uintptr_t)(JIT_LOG_BYTES - 1)};
    groat_status status;
    groat__called call;

    if (log == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a load log");
    call = CU(state, cuModuleLoadDataEx,
              (&module->module, data, 2, options, values));
    if (call.code == CUDA_SUCCESS) {
        free(log);
        return GROAT_OK;
    }
    status = groat__gpu_failed(state, groat__cuda_load_status(call.code), call,
                               error, "of %zu bytes for %s by driver %d.%d",
                               bytes, arch->name, state->driver / 1000,
                               state->driver % 1000 / 10);
    if (log[0] != '\0')
        groat__error_take_log(error, log);
    else
        free(log);
    return status;
}

static groat_status read_attributes(const cuda_state *state, const char *entry,
                                    groat__module *module, groat_error *error)
{
    const struct {
        CUfunction_attribute attribute;
        int *value;
    } wanted[] = {
        {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &module->max_threads},
        {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &module->shared_bytes},
        {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &module->local_bytes},
        {CU_FUNC_ATTRIBUTE_NUM_REGS, &module->registers},
    };

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        groat__called call =
            CU(state, cuFuncGetAttribute,
               (wanted[i].value, wanted[i].attribute, module->function));

        if (call.code != CUDA_SUCCESS)
            return groat__gpu_failed(state, groat__cuda_load_status(call.code),
                                     call, error, "for attribute %d of '%s'",
                                     wanted[i].attribute, entry);
    }
    return GROAT_OK;
}

static groat_status find_function(const cuda_state *state, const char *entry,
                                  groat__module *module, groat_error *error)
{
    groat__called call = CU(state, cuModuleGetFunction,
                            (&module->function, module->module, entry));

    /* A lazy load at the first launch would wait for running kernels. */
    if (call.code == CUDA_SUCCESS && state->cu.cuFuncLoad != NULL)
        call = CU(state, cuFuncLoad, (module->function));
    if (call.code != CUDA_SUCCESS)
        return groat__gpu_failed(state, groat__cuda_load_status(call.code),
                                 call, error, "for entry '%s'", entry);
    return read_attributes(state, entry, module, error);
}

static int shared_limit(const cuda_state *state)
{
    CUdevice device = 0;
    int limit = -1;

    if (state->cu.cuCtxGetDevice(&device) != CUDA_SUCCESS ||
        state->cu.cuDeviceGetAttribute(
            &limit, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            device) != CUDA_SUCCESS)
        return -1;
    return limit;
}

static uint64_t cluster_blocks(const groat__shape *shape)
{
    return (uint64_t)shape->cluster[0] * shape->cluster[1] * shape->cluster[2];
}

/* Sets the function attributes that a launch of this shape needs. */
static groat_status raise_limits(const cuda_state *state, const char *entry,
                                 const groat__module *module,
                                 const groat__shape *shape, unsigned dynamic,
                                 groat_error *error)
{
    uint64_t blocks = cluster_blocks(shape);
    groat__called call;

    if (blocks > 1 && state->cu.cuLaunchKernelEx == NULL)
        return groat__fail(error, GROAT_NO_DEVICE,
                           "driver %d.%d has no cuLaunchKernelEx, which the "
                           "cluster of %llu blocks of '%s' needs",
                           state->driver / 1000, state->driver % 1000 / 10,
                           (unsigned long long)blocks, entry);
    if (dynamic > 0 && shape->shared_bytes > SHARED_BYTES_PLAIN) {
        call =
            CU(state, cuFuncSetAttribute,
               (module->function,
                CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)dynamic));
        /* The binary is valid; the device has too little shared memory. */
        if (call.code != CUDA_SUCCESS)
            return groat__gpu_failed(
                state, GROAT_NO_DEVICE, call, error,
                "for %u bytes of shared memory per block of "
                "'%s' (%d static); this device allows %d",
                shape->shared_bytes, entry, module->shared_bytes,
                shared_limit(state));
    }
    if (blocks > CLUSTER_PLAIN) {
        call = CU(state, cuFuncSetAttribute,
                  (module->function,
                   CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
        if (call.code != CUDA_SUCCESS)
            return groat__gpu_failed(state, GROAT_NO_DEVICE, call, error,
                                     "for clusters of %llu blocks of "
                                     "'%s'; every device allows %d",
                                     (unsigned long long)blocks, entry,
                                     CLUSTER_PLAIN);
    }
    return GROAT_OK;
}

static groat_status load_module(const cuda_state *state,
                                const groat__arch *arch, const void *data,
                                size_t bytes, const char *entry,
                                groat__module *module, groat_error *error)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    groat_status status;

    groat__cuda_exchange_mode(state, &mode);
    status = load_image(state, arch, data, bytes, module, error);
    if (status == GROAT_OK) {
        status = find_function(state, entry, module, error);
        if (status != GROAT_OK)
            (void)state->cu.cuModuleUnload(module->module);
    }
    groat__cuda_exchange_mode(state, &mode);
    return status;
}

static groat_status cuda_load(void *handle, const groat__arch *arch,
                              const void *data, size_t bytes, const char *entry,
                              groat__shape *shape, groat__module **out,
                              groat_error *error)
{
    cuda_state *state = handle;
    unsigned dynamic = 0;
    groat__module *module;
    groat_status status;
    groat__visit stay;

    if (!groat__cuda_is_image(data, bytes))
        return groat__fail(error, GROAT_LOAD_FAILED,
                           "the %zu bytes for '%s' are neither a complete ELF "
                           "image nor PTX that ends with NUL",
                           bytes, entry);
    module = calloc(1, sizeof(*module));
    if (module == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a module");
    module->bytes = bytes;
    status = groat__cuda_enter(state, NULL, &stay, error);
    if (status != GROAT_OK)
        goto free_module;
    module->common.context = stay.context;
    status = load_module(state, arch, data, bytes, entry, module, error);
    if (status != GROAT_OK)
        goto leave_context;
    if (shape->shared_bytes > (unsigned)module->shared_bytes)
        dynamic = shape->shared_bytes - (unsigned)module->shared_bytes;
    status = raise_limits(state, entry, module, shape, dynamic, error);
    if (status != GROAT_OK)
        goto unload_module;
    groat__cuda_leave(state, &stay);
    shape->dynamic_bytes = dynamic;
    *out = module;
    return GROAT_OK;
unload_module:
    (void)state->cu.cuModuleUnload(module->module);
leave_context:
    groat__cuda_leave(state, &stay);
free_module:
    free(module);
    return status;
}

static void cuda_unload(void *handle, groat__module *module)
{
    cuda_state *state = handle;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    groat__visit stay;

    /* If the owner of the context has destroyed it, the module is gone with it
     * and nothing is left to unload. */
    if (groat__cuda_enter(state, module->common.context, &stay, NULL) ==
        GROAT_OK) {
        groat__cuda_exchange_mode(state, &mode);
        (void)state->cu.cuModuleUnload(module->module);
        groat__cuda_exchange_mode(state, &mode);
        groat__cuda_leave(state, &stay);
    }
    free(module);
}

static void *cuda_native(groat__module *module)
{
    return module->function;
}

static void fill_fact(int64_t *fact, int64_t value)
{
    if (*fact == -1)
        *fact = value;
}

static void cuda_facts_of(void *handle, groat__module *module,
                          groat_facts *facts)
{
    (void)handle;
    fill_fact(&facts->registers, module->registers);
    fill_fact(&facts->spill_bytes, module->local_bytes);
    fill_fact(&facts->shared_bytes, module->shared_bytes);
    fill_fact(&facts->code_bytes, (int64_t)module->bytes);
    fill_fact(&facts->max_threads, module->max_threads);
}

/* ---- launch ------------------------------------------------------------- */

/* Launches clusters, and what may overlap with the launch ahead. */
static groat__called launch_with(const cuda_state *state,
                                 const groat__module *module,
                                 const groat__shape *shape,
                                 const groat_launch *launch, void **params)
{
    CUlaunchAttribute attributes[2] = {{.id = 0}};
    CUlaunchConfig config = {
        .gridDimX = launch->grid[0],
        .gridDimY = launch->grid[1],
        .gridDimZ = launch->grid[2],
        .blockDimX = shape->block[0],
        .blockDimY = shape->block[1],
        .blockDimZ = shape->block[2],
        .sharedMemBytes = shape->dynamic_bytes,
        .hStream = launch->stream,
        .attrs = attributes,
    };

    if (cluster_blocks(shape) > 1) {
        CUlaunchAttribute *cluster = &attributes[config.numAttrs++];

        cluster->id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        cluster->value.clusterDim.x = shape->cluster[0];
        cluster->value.clusterDim.y = shape->cluster[1];
        cluster->value.clusterDim.z = shape->cluster[2];
    }
    if (shape->overlaps) {
        CUlaunchAttribute *early = &attributes[config.numAttrs++];

        early->id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        early->value.programmaticStreamSerializationAllowed = 1;
    }
    return CU(state, cuLaunchKernelEx,
              (&config, module->function, params, NULL));
}

static groat__called enqueue(const void *handle, const groat__module *module,
                             const groat__shape *shape,
                             const groat_launch *launch, const void *args)
{
    const cuda_state *state = handle;
    void *param = (void *)(uintptr_t)args;
    void **params = shape->args_bytes > 0 ? &param : NULL;

    if (cluster_blocks(shape) > 1 ||
        (shape->overlaps && state->cu.cuLaunchKernelEx != NULL))
        return launch_with(state, module, shape, launch, params);
    return CU(state, cuLaunchKernel,
              (module->function, launch->grid[0], launch->grid[1],
               launch->grid[2], shape->block[0], shape->block[1],
               shape->block[2], shape->dynamic_bytes, launch->stream, params,
               NULL));
}

/* Querying the current context costs some 15 ns of a launch's 2.7 us.  A
 * server's thread normally has the right one. */
static groat_status cuda_launch(void *handle, groat__module *module,
                                const groat__shape *shape,
                                const groat_launch *launch, const void *args,
                                groat_error *error)
{
    const cuda_state *state = handle;
    CUcontext current = NULL;
    CUcontext popped;
    groat__called call = CU(state, cuCtxGetCurrent, (&current));
    bool moved = current != module->common.context;

    if (call.code == CUDA_SUCCESS && moved)
        call = CU(state, cuCtxPushCurrent, (module->common.context));
    if (call.code == CUDA_SUCCESS) {
        call = enqueue(state, module, shape, launch, args);
        if (moved)
            (void)state->cu.cuCtxPopCurrent(&popped);
    }
    return call.code == CUDA_SUCCESS
               ? GROAT_OK
               : groat__gpu_launch_failed(state, call, shape, launch, error);
}

/* ---- the calls of gpu.c ------------------------------------------------- */

static const char *error_name(const void *handle, int code)
{
    const cuda_state *state = handle;
    const char *name = NULL;

    return state->cu.cuGetErrorName(code, &name) == CUDA_SUCCESS ? name : NULL;
}

static const char *error_text(const void *handle, int code)
{
    const cuda_state *state = handle;
    const char *text = NULL;

    return state->cu.cuGetErrorString(code, &text) == CUDA_SUCCESS ? text
                                                                   : NULL;
}

static groat_status sort_code(int code, groat_status otherwise)
{
    return code == CUDA_ERROR_OUT_OF_MEMORY ? GROAT_NO_MEMORY : otherwise;
}

/* The owner of a context may have destroyed it and everything in it. */
static bool enter_to_free(void *state, void *context, groat__visit *visit)
{
    return groat__cuda_enter(state, context, visit, NULL) == GROAT_OK;
}

#define ADAPT(name, parameters, function, args)                                \
    GROAT__ADAPT(cuda_state, cu, name, parameters, function, args)

static bool can_capture(const void *state)
{
    return ((const cuda_state *)state)->cu.cuStreamIsCapturing != NULL;
}

static groat__called capture_of(const void *handle, void *stream,
                                groat__capture *capture)
{
    const cuda_state *state = handle;
    CUstreamCaptureStatus found = CU_STREAM_CAPTURE_STATUS_NONE;
    groat__called call = {"cuStreamIsCapturing", CUDA_SUCCESS};

    if (state->cu.cuStreamIsCapturing != NULL)
        call = CU(state, cuStreamIsCapturing, (stream, &found));
    *capture = (groat__capture)found;
    /* The default stream cannot be captured, but another of its context is. */
    if (call.code == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) {
        *capture = GROAT__CAPTURE_ACTIVE;
        call.code = CUDA_SUCCESS;
    }
    return call;
}

static groat__called event_create(const void *handle, void **event, bool timed)
{
    const cuda_state *state = handle;
    CUevent made = NULL;
    groat__called call =
        CU(state, cuEventCreate, (&made, timed ? 0 : CU_EVENT_DISABLE_TIMING));

    *event = made;
    return call;
}

ADAPT(event_record, (const void *state, void *event, void *stream),
      cuEventRecord, (event, stream))
ADAPT(event_wait, (const void *state, void *stream, void *event),
      cuStreamWaitEvent, (stream, event, 0))

static groat__called event_query(const void *handle, void *event)
{
    const cuda_state *state = handle;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    groat__called call;

    groat__cuda_exchange_mode(state, &mode);
    call = CU(state, cuEventQuery, (event));
    groat__cuda_exchange_mode(state, &mode);
    return call;
}

ADAPT(event_sync, (const void *state, void *event), cuEventSynchronize, (event))
ADAPT(event_elapsed, (const void *state, float *ms, void *from, void *to),
      cuEventElapsedTime, (ms, from, to))

ADAPT(event_destroy, (const void *state, void *event), cuEventDestroy, (event))

/* CU_STREAM_LEGACY, another name of the default stream. */
static const uintptr_t legacy_stream = 1;

/* The number of a default stream is its context. */
static uint64_t stream_number(const void *handle, void *context, void *stream)
{
    const cuda_state *state = handle;
    unsigned long long number = 0;

    if (state->cu.cuStreamGetId == NULL)
        return 0;
    if (stream == NULL || (uintptr_t)stream == legacy_stream)
        return (uintptr_t)context;
    return state->cu.cuStreamGetId(stream, &number) == CUDA_SUCCESS ? number
                                                                    : 0;
}

ADAPT(synchronize, (const void *state), cuCtxSynchronize, ())

static groat__called alloc_bytes(const void *handle, uint64_t *address,
                                 size_t bytes)
{
    CUdeviceptr pointer = 0;
    groat__called call =
        CU((const cuda_state *)handle, cuMemAlloc, (&pointer, bytes));

    *address = pointer;
    return call;
}

ADAPT(release_bytes, (const void *state, uint64_t address), cuMemFree,
      (address))
ADAPT(write_bytes,
      (const void *state, uint64_t to, const void *from, size_t bytes),
      cuMemcpyHtoD, (to, from, bytes))

ADAPT(read_bytes, (const void *state, void *to, uint64_t from, size_t bytes),
      cuMemcpyDtoH, (to, from, bytes))

static const groat__gpu_calls gpu_calls = {
    .units = "SMs",
    .enter = groat__cuda_enter,
    .enter_to_free = enter_to_free,
    .leave = groat__cuda_leave,
    .error_name = error_name,
    .error_text = error_text,
    .sort_code = sort_code,
    .enqueue = enqueue,
    .can_capture = can_capture,
    .capture_of = capture_of,
    .events = {.create = event_create,
               .record = event_record,
               .wait = event_wait,
               .query = event_query,
               .sync = event_sync,
               .elapsed = event_elapsed,
               .destroy = event_destroy,
               .number = stream_number},
    .synchronize = synchronize,
    .alloc = alloc_bytes,
    .release = release_bytes,
    .write = write_bytes,
    .read = read_bytes,
};

/* ---- report ------------------------------------------------------------- */

static void cuda_report(void *handle, const groat__env *env,
                        const groat_error *failed, groat__str *out)
{
    cuda_state *state = handle;

    (void)env;
    if (failed != NULL) {
        groat__finding(
            out, "libcuda", false, "%s",
            groat__library_problem(state == NULL ? NULL : &state->dl, failed));
        return;
    }
    groat__finding(out, "libcuda", true, "%s, driver %d.%d, build %s",
                   state->dl.path, state->driver / 1000,
                   state->driver % 1000 / 10, state->dl.build_id);
    if (groat__gpu_count(state) == 0)
        groat__finding(out, "cuda devices", false,
                       "the driver has no device on this machine");
    groat__gpu_report(state, &groat__device_cuda, out);
}

const groat__device groat__device_cuda = {
    .name = "cuda",
    .part = {cuda_search, groat__cuda_close, cuda_report},
    .count = groat__gpu_count,
    .facts = cuda_facts,
    .load = cuda_load,
    .unload = cuda_unload,
    .native = cuda_native,
    .facts_of = cuda_facts_of,
    .launch = cuda_launch,
    .launch_noted = groat__gpu_launch_noted,
    .idle = groat__gpu_idle,
    .time = groat__gpu_time,
    .sync = groat__gpu_sync,
    .alloc = groat__gpu_alloc,
    .release = groat__gpu_release,
    .write = groat__gpu_write,
    .read = groat__gpu_read,
    .may_load = groat__gpu_may_load,
    .tensor_map = groat__cuda_tensor_map,
};
