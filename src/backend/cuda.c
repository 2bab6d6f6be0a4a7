/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda.c runs kernels through the CUDA driver.  It owns modules, launches and
 * memory; it leaves the driver and its contexts to cuda_driver.c, compiling to
 * nvrtc.c and the keeping of kernels to core.
 *
 * A module stays with the context it was loaded in.  Invariant: the calling
 * thread's context stack is the same before and after every slot.  Nothing
 * here is written after load but marks, see marks.c.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/cuda_abi.h"
#include "backend/cuda_driver.h"
#include "backend/marks.h"
#include "base/dl.h"
#include "backend/shared.h"
#include "base/error.h"

enum {
    /* What a kernel gets without asking. */
    SHARED_BYTES_PLAIN = 48 << 10,
    /* Larger clusters must be asked for. */
    CLUSTER_PLAIN = 8,
    JIT_LOG_BYTES = 8192
};

struct groat__module {
    CUmodule module;
    CUfunction function;
    CUcontext context;
    int max_threads;
    int shared_bytes;
    int local_bytes;
    int registers;
    size_t bytes;
    groat__marks marks; /* of launches that were noted */
};

/* ---- open ---------------------------------------------------------------- */

static groat_status cuda_open(const groat__env *env, void **state,
                              groat_error *error)
{
    cuda_state *opened;
    groat_status status = groat__cuda_open(env, &opened, error);

    if (status == GROAT_OK)
        *state = opened;
    else
        groat__cuda_close(opened);
    return status;
}

/* ---- devices ------------------------------------------------------------ */

static size_t cuda_count(void *handle)
{
    const cuda_state *state = handle;

    return state->devices > 0 ? (size_t)state->devices : 0;
}

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
        CUresult code = state->cu.cuDeviceGetAttribute(
            wanted[i].value, wanted[i].attribute, device);

        if (code != CUDA_SUCCESS)
            return groat__cuda_failed(state, GROAT_NO_DEVICE,
                                      "cuDeviceGetAttribute", code, error,
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
    CUresult code;

    if (index >= cuda_count(handle))
        return groat__cuda_no_such_device(state, GROAT_INVALID, (int)index,
                                          error);
    facts.size = info->size;
    facts.ordinal = (int)index;
    code = state->cu.cuDeviceGet(&device, (int)index);
    if (code != CUDA_SUCCESS)
        return groat__cuda_failed(state, GROAT_NO_DEVICE, "cuDeviceGet", code,
                                  error, "for device %zu", index);
    code =
        state->cu.cuDeviceGetName(facts.name, (int)sizeof(facts.name), device);
    if (code != CUDA_SUCCESS)
        return groat__cuda_failed(state, GROAT_NO_DEVICE, "cuDeviceGetName",
                                  code, error, "for device %zu", index);
    facts.name[sizeof(facts.name) - 1] = '\0';
    code = state->cu.cuDeviceTotalMem(&memory, device);
    if (code != CUDA_SUCCESS)
        return groat__cuda_failed(state, GROAT_NO_DEVICE, "cuDeviceTotalMem",
                                  code, error, "for device %zu", index);
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
    CUresult code;

    if (log == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a load log");
    code =
        state->cu.cuModuleLoadDataEx(&module->module, data, 2, options, values);
    if (code == CUDA_SUCCESS) {
        free(log);
        return GROAT_OK;
    }
    status = groat__cuda_failed(
        state, groat__cuda_load_status(code), "cuModuleLoadDataEx", code, error,
        "of %zu bytes for %s by driver %d.%d", bytes, arch->name,
        state->driver / 1000, state->driver % 1000 / 10);
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
        CUresult code = state->cu.cuFuncGetAttribute(
            wanted[i].value, wanted[i].attribute, module->function);

        if (code != CUDA_SUCCESS)
            return groat__cuda_failed(state, groat__cuda_load_status(code),
                                      "cuFuncGetAttribute", code, error,
                                      "for attribute %d of '%s'",
                                      wanted[i].attribute, entry);
    }
    return GROAT_OK;
}

static groat_status find_function(const cuda_state *state, const char *entry,
                                  groat__module *module, groat_error *error)
{
    CUresult code =
        state->cu.cuModuleGetFunction(&module->function, module->module, entry);

    if (code != CUDA_SUCCESS)
        return groat__cuda_failed(state, groat__cuda_load_status(code),
                                  "cuModuleGetFunction", code, error,
                                  "for entry '%s'", entry);
    /* A lazy load at the first launch would wait for kernels that run. */
    if (state->cu.cuFuncLoad != NULL) {
        code = state->cu.cuFuncLoad(module->function);
        if (code != CUDA_SUCCESS)
            return groat__cuda_failed(state, groat__cuda_load_status(code),
                                      "cuFuncLoad", code, error,
                                      "for entry '%s'", entry);
    }
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

/* What a launch of this shape needs set on the function beforehand. */
static groat_status raise_limits(const cuda_state *state, const char *entry,
                                 const groat__module *module,
                                 const groat__shape *shape, unsigned dynamic,
                                 groat_error *error)
{
    uint64_t blocks = cluster_blocks(shape);
    CUresult code;

    if (blocks > 1 && state->cu.cuLaunchKernelEx == NULL)
        return groat__fail(error, GROAT_NO_DEVICE,
                           "driver %d.%d has no cuLaunchKernelEx, which the "
                           "cluster of %llu blocks of '%s' needs",
                           state->driver / 1000, state->driver % 1000 / 10,
                           (unsigned long long)blocks, entry);
    if (dynamic > 0 && shape->shared_bytes > SHARED_BYTES_PLAIN) {
        code = state->cu.cuFuncSetAttribute(
            module->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            (int)dynamic);
        /* The bytes are good, the device is too small for them. */
        if (code != CUDA_SUCCESS)
            return groat__cuda_failed(
                state, GROAT_NO_DEVICE, "cuFuncSetAttribute", code, error,
                "for %u bytes of shared memory per block of "
                "'%s' (%d static); this device allows %d",
                shape->shared_bytes, entry, module->shared_bytes,
                shared_limit(state));
    }
    if (blocks > CLUSTER_PLAIN) {
        code = state->cu.cuFuncSetAttribute(
            module->function,
            CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
        if (code != CUDA_SUCCESS)
            return groat__cuda_failed(
                state, GROAT_NO_DEVICE, "cuFuncSetAttribute", code, error,
                "for clusters of %llu blocks of "
                "'%s'; every device allows %d",
                (unsigned long long)blocks, entry, CLUSTER_PLAIN);
    }
    return GROAT_OK;
}

/* NONE where the driver knows of no captures. */
static CUresult capture_of(const cuda_state *state, CUstream stream,
                           CUstreamCaptureStatus *capture)
{
    *capture = CU_STREAM_CAPTURE_STATUS_NONE;
    return state->cu.cuStreamIsCapturing == NULL
               ? CUDA_SUCCESS
               : state->cu.cuStreamIsCapturing(stream, capture);
}

static groat_status cuda_may_load(void *handle, void *stream,
                                  groat_error *error)
{
    cuda_state *state = handle;
    CUstreamCaptureStatus capture;
    groat_status status;
    CUresult code;
    visit stay;

    if (state->cu.cuStreamIsCapturing == NULL)
        return GROAT_OK;
    status = groat__cuda_enter(state, NULL, &stay, error);
    if (status != GROAT_OK)
        return status;
    code = capture_of(state, stream, &capture);
    /* The default stream cannot be captured; others of its context are. */
    if (code == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
        (code == CUDA_SUCCESS && capture == CU_STREAM_CAPTURE_STATUS_ACTIVE))
        status = groat__capturing(error);
    else if (code != CUDA_SUCCESS)
        status = groat__cuda_failed(state, GROAT_LAUNCH_FAILED,
                                    "cuStreamIsCapturing", code, error,
                                    "for stream %p", stream);
    else if (capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
        status = groat__capture_failed(error);
    groat__cuda_leave(state, &stay);
    return status;
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
    visit stay;

    if (!groat__cuda_is_image(data, bytes))
        return groat__fail(error, GROAT_LOAD_FAILED,
                           "the %zu bytes for '%s' are neither a whole ELF "
                           "image nor PTX that ends with NUL",
                           bytes, entry);
    module = calloc(1, sizeof(*module));
    if (module == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a module");
    module->bytes = bytes;
    status = groat__cuda_enter(state, NULL, &stay, error);
    if (status != GROAT_OK)
        goto free_module;
    module->context = stay.context;
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
    visit stay;

    /* The owner of the context may have destroyed it, and the module with it;
     * there is then nothing left to unload. */
    if (groat__cuda_enter(state, module->context, &stay, NULL) == GROAT_OK) {
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

static CUresult launch_cluster(const cuda_state *state,
                               const groat__module *module,
                               const groat__shape *shape,
                               const groat_launch *launch, void **params)
{
    CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    CUlaunchConfig config = {
        .gridDimX = launch->grid[0],
        .gridDimY = launch->grid[1],
        .gridDimZ = launch->grid[2],
        .blockDimX = shape->block[0],
        .blockDimY = shape->block[1],
        .blockDimZ = shape->block[2],
        .sharedMemBytes = shape->dynamic_bytes,
        .hStream = launch->stream,
        .attrs = &cluster,
        .numAttrs = 1,
    };

    cluster.value.clusterDim.x = shape->cluster[0];
    cluster.value.clusterDim.y = shape->cluster[1];
    cluster.value.clusterDim.z = shape->cluster[2];
    return state->cu.cuLaunchKernelEx(&config, module->function, params, NULL);
}

static CUresult launch_once(const cuda_state *state,
                            const groat__module *module,
                            const groat__shape *shape,
                            const groat_launch *launch, void **params)
{
    if (cluster_blocks(shape) > 1)
        return launch_cluster(state, module, shape, launch, params);
    return state->cu.cuLaunchKernel(
        module->function, launch->grid[0], launch->grid[1], launch->grid[2],
        shape->block[0], shape->block[1], shape->block[2], shape->dynamic_bytes,
        launch->stream, params, NULL);
}

static const char *launch_call(const groat__shape *shape)
{
    return cluster_blocks(shape) > 1 ? "cuLaunchKernelEx" : "cuLaunchKernel";
}

static groat_status launch_failed(const cuda_state *state, const char *call,
                                  const groat__shape *shape,
                                  const groat_launch *launch, CUresult code,
                                  groat_error *error)
{
    return groat__cuda_failed(
        state, GROAT_LAUNCH_FAILED, call, code, error,
        "for grid %u,%u,%u block %u,%u,%u cluster %u,%u,%u and %u bytes of "
        "dynamic shared memory",
        launch->grid[0], launch->grid[1], launch->grid[2], shape->block[0],
        shape->block[1], shape->block[2], shape->cluster[0], shape->cluster[1],
        shape->cluster[2], shape->dynamic_bytes);
}

/* Asking for the current context costs some 15 ns of the launch's 2.7 us; a
 * server's thread has the right one. */
static CUresult launch_inside(const cuda_state *state,
                              const groat__module *module,
                              const groat__shape *shape,
                              const groat_launch *launch, void **params,
                              const char **call)
{
    CUcontext current = NULL;
    CUcontext popped;
    CUresult code = state->cu.cuCtxGetCurrent(&current);

    *call = "cuCtxGetCurrent";
    if (code != CUDA_SUCCESS)
        return code;
    *call = "cuCtxPushCurrent";
    if (current != module->context &&
        (code = state->cu.cuCtxPushCurrent(module->context)) != CUDA_SUCCESS)
        return code;
    *call = launch_call(shape);
    if (current == module->context)
        return launch_once(state, module, shape, launch, params);
    code = launch_once(state, module, shape, launch, params);
    (void)state->cu.cuCtxPopCurrent(&popped);
    return code;
}

static groat_status cuda_launch(void *handle, groat__module *module,
                                const groat__shape *shape,
                                const groat_launch *launch, const void *args,
                                groat_error *error)
{
    const cuda_state *state = handle;
    void *param = (void *)(uintptr_t)args;
    void **params = shape->args_bytes > 0 ? &param : NULL;
    const char *call;
    CUresult code = launch_inside(state, module, shape, launch, params, &call);

    if (code == CUDA_SUCCESS)
        return GROAT_OK;
    return launch_failed(state, call, shape, launch, code, error);
}

static groat_status cuda_launch_noted(void *handle, groat__module *module,
                                      const groat__shape *shape,
                                      const groat_launch *launch,
                                      const void *args, bool *captured,
                                      groat_error *error)
{
    cuda_state *state = handle;
    void *param = (void *)(uintptr_t)args;
    void **params = shape->args_bytes > 0 ? &param : NULL;
    CUstreamCaptureStatus capture;
    groat_status status;
    CUresult code;
    visit stay;

    status = groat__cuda_enter(state, module->context, &stay, error);
    if (status != GROAT_OK)
        return status;
    *captured = capture_of(state, launch->stream, &capture) != CUDA_SUCCESS ||
                capture != CU_STREAM_CAPTURE_STATUS_NONE;
    code = launch_once(state, module, shape, launch, params);
    if (code == CUDA_SUCCESS && !*captured)
        groat__marks_note(&module->marks, &state->streams,
                          &groat__cuda_mark_calls, state, module->context,
                          launch->stream);
    groat__cuda_leave(state, &stay);
    return code == CUDA_SUCCESS ? GROAT_OK
                                : launch_failed(state, launch_call(shape),
                                                shape, launch, code, error);
}

static bool cuda_idle(void *handle, groat__module *module)
{
    cuda_state *state = handle;
    CUstreamCaptureStatus capture;
    visit stay;
    bool idle;

    if (groat__cuda_enter(state, module->context, &stay, NULL) != GROAT_OK)
        return false;
    /* The default stream cannot be looked at while others of its context are
     * captured. */
    idle = capture_of(state, NULL, &capture) == CUDA_SUCCESS &&
           capture == CU_STREAM_CAPTURE_STATUS_NONE &&
           groat__marks_done(&module->marks, &state->streams,
                             &groat__cuda_mark_calls, state);
    groat__cuda_leave(state, &stay);
    return idle;
}

/* Between the two events are launches alone, and no other launch is made. */
static groat_status time_between(cuda_state *state, groat__module *module,
                                 const groat__shape *shape,
                                 const groat_launch *launch, const void *args,
                                 unsigned repeats, const CUevent event[2],
                                 double *us, groat_error *error)
{
    const char *call = "cuEventRecord";
    float ms = 0;
    CUresult code = state->cu.cuEventRecord(event[0], launch->stream);

    for (unsigned i = 0; code == CUDA_SUCCESS && i < repeats; i++) {
        groat_status status =
            cuda_launch(state, module, shape, launch, args, error);

        if (status != GROAT_OK)
            return status;
    }
    if (code == CUDA_SUCCESS)
        code = state->cu.cuEventRecord(event[1], launch->stream);
    if (code == CUDA_SUCCESS) {
        call = "cuEventSynchronize";
        code = state->cu.cuEventSynchronize(event[1]);
    }
    if (code == CUDA_SUCCESS) {
        call = "cuEventElapsedTime";
        code = state->cu.cuEventElapsedTime(&ms, event[0], event[1]);
    }
    if (code != CUDA_SUCCESS)
        return groat__cuda_failed(state, GROAT_LAUNCH_FAILED, call, code, error,
                                  "while timing %u launches", repeats);
    *us = (double)ms * 1000.0 / repeats;
    return GROAT_OK;
}

static groat_status cuda_time(void *handle, groat__module *module,
                              const groat__shape *shape,
                              const groat_launch *launch, const void *args,
                              unsigned repeats, double *us, groat_error *error)
{
    cuda_state *state = handle;
    CUevent event[2] = {NULL, NULL};
    CUresult code = CUDA_SUCCESS;
    groat_status status;
    int made = 0;
    visit stay;

    if (repeats == 0)
        return groat__fail(error, GROAT_INVALID,
                           "0 launches cannot be timed; 1 or more can");
    status = groat__cuda_enter(state, module->context, &stay, error);
    if (status != GROAT_OK)
        return status;
    while (made < 2 && code == CUDA_SUCCESS) {
        code = state->cu.cuEventCreate(&event[made], 0);
        if (code == CUDA_SUCCESS)
            made++;
    }
    if (code != CUDA_SUCCESS)
        status = groat__cuda_failed(state, GROAT_LAUNCH_FAILED, "cuEventCreate",
                                    code, error, "while timing %u launches",
                                    repeats);
    else
        status = time_between(state, module, shape, launch, args, repeats,
                              event, us, error);
    while (made > 0)
        (void)state->cu.cuEventDestroy(event[--made]);
    groat__cuda_leave(state, &stay);
    return status;
}

static groat_status cuda_sync(void *handle, groat_error *error)
{
    cuda_state *state = handle;
    groat_status status;
    groat__wait wait;
    CUresult code;
    visit stay;

    status = groat__cuda_enter(state, NULL, &stay, error);
    if (status != GROAT_OK)
        return status;
    groat__wait_begin(&state->streams, &wait);
    code = state->cu.cuCtxSynchronize();
    if (code == CUDA_SUCCESS)
        groat__wait_end(&state->streams, &wait, stay.context);
    else
        status =
            groat__cuda_failed(state, GROAT_LAUNCH_FAILED, "cuCtxSynchronize",
                               code, error, "of the work before it");
    groat__cuda_leave(state, &stay);
    return status;
}

/* ---- memory ------------------------------------------------------------- */

/* 0 bytes are at address 0, which is nothing to release. */
static groat_status cuda_alloc(void *handle, size_t bytes, uint64_t *address,
                               groat_error *error)
{
    cuda_state *state = handle;
    CUdeviceptr pointer = 0;
    groat_status status;
    CUresult code;
    visit stay;

    status = groat__cuda_enter(state, NULL, &stay, error);
    if (status != GROAT_OK)
        return status;
    code = bytes > 0 ? state->cu.cuMemAlloc(&pointer, bytes) : CUDA_SUCCESS;
    if (code != CUDA_SUCCESS)
        status = groat__cuda_failed(state, GROAT_NO_DEVICE, "cuMemAlloc", code,
                                    error, "for %zu bytes", bytes);
    else
        *address = pointer;
    groat__cuda_leave(state, &stay);
    return status;
}

static void cuda_release(void *handle, uint64_t address)
{
    cuda_state *state = handle;
    CUresult code;
    visit stay;

    if (address == 0 || groat__cuda_enter(state, NULL, &stay, NULL) != GROAT_OK)
        return;
    code = state->cu.cuMemFree(address);
    groat__cuda_leave(state, &stay);
    if (code != CUDA_SUCCESS)
        groat__log_line(&state->env.log, GROAT_LOG_WARNING,
                        "cuMemFree said %d for address 0x%llx", code,
                        (unsigned long long)address);
}

static groat_status copy(cuda_state *state, bool to_host, uint64_t address,
                         void *host, size_t bytes, groat_error *error)
{
    groat_status status;
    CUresult code;
    visit stay;

    if (bytes == 0)
        return GROAT_OK;
    status = groat__cuda_enter(state, NULL, &stay, error);
    if (status != GROAT_OK)
        return status;
    code = to_host ? state->cu.cuMemcpyDtoH(host, address, bytes)
                   : state->cu.cuMemcpyHtoD(address, host, bytes);
    if (code != CUDA_SUCCESS)
        status = groat__cuda_failed(state, GROAT_LAUNCH_FAILED,
                                    to_host ? "cuMemcpyDtoH" : "cuMemcpyHtoD",
                                    code, error, "for %zu bytes %s 0x%llx",
                                    bytes, to_host ? "from" : "to",
                                    (unsigned long long)address);
    groat__cuda_leave(state, &stay);
    return status;
}

static groat_status cuda_write(void *handle, uint64_t to, const void *from,
                               size_t bytes, groat_error *error)
{
    /* Nothing is written there. */
    return copy(handle, false, to, (void *)(uintptr_t)from, bytes, error);
}

static groat_status cuda_read(void *handle, void *to, uint64_t from,
                              size_t bytes, groat_error *error)
{
    return copy(handle, true, from, to, bytes, error);
}

/* ---- doctor ------------------------------------------------------------- */

static void report(cuda_state *state, groat__str *out)
{
    groat__finding(out, "libcuda", true, "%s, driver %d.%d, build %s",
                   state->dl.path, state->driver / 1000,
                   state->driver % 1000 / 10, state->dl.build_id);
    if (state->devices == 0)
        groat__finding(out, "cuda devices", false,
                       "the driver has no device on this machine");
    for (size_t i = 0; i < cuda_count(state); i++) {
        groat_device_info info = {.size = sizeof(info)};
        groat_error error = GROAT_ERROR_INIT;
        char subject[48];

        (void)snprintf(subject, sizeof(subject), "cuda device %zu", i);
        if (cuda_facts(state, i, &info, &error) == GROAT_OK)
            groat__finding(out, subject, true,
                           "%s, %s, %d SMs, %llu MiB, %d KiB shared",
                           info.target, info.name, info.multiprocessors,
                           (unsigned long long)(info.memory_bytes >> 20),
                           info.shared_bytes_max >> 10);
        else
            groat__finding(out, subject, false, "%s", error.text);
        groat_error_clear(&error);
    }
}

static void cuda_doctor(void *handle, const groat__env *env, groat__str *out)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_status status = GROAT_OK;
    cuda_state *state = handle;
    cuda_state *own = NULL;

    if (state == NULL) {
        status = groat__cuda_open(env, &own, &error);
        state = own;
    }
    if (status == GROAT_OK)
        report(state, out);
    else
        groat__finding(out, "libcuda", false, "%s",
                       state == NULL
                           ? error.text
                           : groat__library_problem(&state->dl, &error));
    groat__cuda_close(own);
    groat_error_clear(&error);
}

const groat__device groat__device_cuda = {
    .name = "cuda",
    .open = cuda_open,
    .close = groat__cuda_close,
    .count = cuda_count,
    .facts = cuda_facts,
    .load = cuda_load,
    .unload = cuda_unload,
    .native = cuda_native,
    .facts_of = cuda_facts_of,
    .launch = cuda_launch,
    .launch_noted = cuda_launch_noted,
    .idle = cuda_idle,
    .time = cuda_time,
    .sync = cuda_sync,
    .alloc = cuda_alloc,
    .release = cuda_release,
    .write = cuda_write,
    .read = cuda_read,
    .may_load = cuda_may_load,
    .tensor_map = groat__cuda_tensor_map,
    .doctor = cuda_doctor,
};
