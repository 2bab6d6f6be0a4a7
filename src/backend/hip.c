/* SPDX-License-Identifier: Apache-2.0
 *
 * hip.c runs code objects through the HIP module API: devices, loading,
 * launching.  The common part of the GPU backends is gpu.c's, compiling
 * hiprtc.c's, opening the runtime hip_driver.c's.
 * One file serves ROCm 5, 6 and 7: the one structure that changed (device
 * properties) is told apart by symbol, everything else is read by attributes.
 *
 * Invariant: the calling thread's current device is the same before and after
 * every slot, and errors are taken from return codes only (since 7.0
 * hipGetLastError is sticky and belongs to the caller).  The state is read-only
 * once open, except for its list of streams, and the runtime has its own locks:
 * the only lock here is that of marks.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/amdgpu_elf.h"
#include "backend/backend.h"
#include "backend/hip_driver.h"
#include "backend/shared.h"
#include "base/error.h"

/* More dynamic LDS may need a function attribute. */
#define LDS_WITHOUT_LEAVE (64u << 10)

struct groat__module {
    groat__gpu_module common; /* comes first */
    groat__hip_module module;
    groat__hip_function function;
    size_t bytes;
    /* The runtime reads the image as long as the module lives. */
    unsigned char image[];
};

static const groat__gpu_calls gpu_calls;

static groat_status hip_search(const groat__env *env, void **state,
                               groat_error *error)
{
    return groat__hip_open(env, &gpu_calls, state, error);
}

/* Reads the arch of a device: "gfx942" of "gfx942:sramecc+:xnack-". */
static groat_status read_arch(const hip_state *state, int device, char *out,
                              size_t out_bytes, groat_error *error)
{
    _Alignas(16) char properties[GROAT__HIP_PROP_BYTES] = {0};
    const char *name = properties + GROAT__HIP_PROP6_ARCH;
    groat__called call;

    if (state->call.hipGetDevicePropertiesR0600 != NULL) {
        call =
            HIP_CALL(state, hipGetDevicePropertiesR0600, (properties, device));
    } else {
        call = HIP_CALL(state, hipGetDeviceProperties, (properties, device));
        name = properties + GROAT__HIP_PROP5_ARCH;
    }
    if (call.code != GROAT__HIP_SUCCESS)
        return groat__gpu_failed(state, GROAT_NO_DEVICE, call, error,
                                 "for device %d", device);
    if (strncmp(name, "gfx", 3) != 0)
        return groat__fail(error, GROAT_NO_DEVICE,
                           "%s of %s names hip device %d \"%.32s\"; expected "
                           "is a name that starts with gfx",
                           call.name, state->dl.path, device, name);
    (void)snprintf(out, out_bytes, "%.*s", (int)strcspn(name, ":"), name);
    return GROAT_OK;
}

static groat_status read_attributes(const hip_state *state, int device,
                                    groat_device_info *info, groat_error *error)
{
    const struct {
        int attribute;
        int *to;
    } wanted[] = {
        {GROAT__HIP_MULTIPROCESSOR_COUNT, &info->multiprocessors},
        {GROAT__HIP_SHARED_PER_BLOCK, &info->shared_bytes_max},
        {GROAT__HIP_CLOCK_RATE, &info->clock_khz},
    };
    int more = 0;

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        groat__called call =
            HIP_CALL(state, hipDeviceGetAttribute,
                     (wanted[i].to, wanted[i].attribute, device));

        if (call.code != GROAT__HIP_SUCCESS)
            return groat__gpu_failed(state, GROAT_NO_DEVICE, call, error,
                                     "for attribute %d of device %d",
                                     wanted[i].attribute, device);
    }
    /* Not every release supports this attribute. */
    if (state->call.hipDeviceGetAttribute(&more,
                                          GROAT__HIP_SHARED_PER_BLOCK_OPTIN,
                                          device) == GROAT__HIP_SUCCESS &&
        more > info->shared_bytes_max)
        info->shared_bytes_max = more;
    return GROAT_OK;
}

static groat_status hip_facts(void *user, size_t index, groat_device_info *info,
                              groat_error *error)
{
    const hip_state *state = user;
    groat_device_info found = {0};
    char arch[GROAT__HIP_PROP_ARCH_BYTES];
    int device = (int)index;
    size_t memory = 0;
    groat_status status;
    groat__called call;

    if (index >= groat__gpu_count(user))
        return groat__fail(error, GROAT_INVALID,
                           "there is no hip device %zu; there are %zu", index,
                           groat__gpu_count(user));
    status = read_arch(state, device, arch, sizeof(arch), error);
    if (status == GROAT_OK)
        status = read_attributes(state, device, &found, error);
    if (status != GROAT_OK)
        return status;
    call = HIP_CALL(state, hipDeviceGetName,
                    (found.name, (int)sizeof(found.name), device));
    if (call.code == GROAT__HIP_SUCCESS)
        call = HIP_CALL(state, hipDeviceTotalMem, (&memory, device));
    if (call.code != GROAT__HIP_SUCCESS)
        return groat__gpu_failed(state, GROAT_NO_DEVICE, call, error,
                                 "for device %d", device);
    found.name[sizeof(found.name) - 1] = '\0';
    (void)snprintf(found.target, sizeof(found.target), "hip:%.40s", arch);
    found.size = info->size;
    found.ordinal = device;
    found.memory_bytes = memory;
    *info = found;
    return GROAT_OK;
}

static groat_status check_shape(const groat__arch *arch,
                                const groat__shape *shape, groat_error *error)
{
    if (shape->cluster[0] != 1 || shape->cluster[1] != 1 ||
        shape->cluster[2] != 1)
        return groat__fail(error, GROAT_INVALID,
                           "%s has no clusters: seen %u %u %u, allowed 1 1 1",
                           arch->name, shape->cluster[0], shape->cluster[1],
                           shape->cluster[2]);
    if (arch->shared_bytes > 0 &&
        shape->shared_bytes > (unsigned)arch->shared_bytes)
        return groat__fail(error, GROAT_INVALID,
                           "%u bytes of LDS per workgroup; %s allows %d",
                           shape->shared_bytes, arch->name, arch->shared_bytes);
    return GROAT_OK;
}

static groat_status check_device(const hip_state *state,
                                 const groat__arch *arch, groat_error *error)
{
    char own[GROAT__HIP_PROP_ARCH_BYTES];
    groat_status status =
        read_arch(state, state->ordinal, own, sizeof(own), error);

    if (status == GROAT_OK && strcmp(own, arch->name) != 0)
        status = groat__fail(error, GROAT_NO_DEVICE,
                             "the kernel is for %s, but hip device %d is %s",
                             arch->name, state->ordinal, own);
    return status;
}

/* Computes the dynamic LDS of a launch from the function's static LDS. */
static groat_status fit_shared(const hip_state *state,
                               const groat__module *module,
                               const groat__shape *shape, unsigned *dynamic,
                               groat_error *error)
{
    int fixed = 0;
    groat__called call =
        HIP_CALL(state, hipFuncGetAttribute,
                 (&fixed, GROAT__HIP_FUNC_SHARED_BYTES, module->function));

    if (call.code != GROAT__HIP_SUCCESS)
        return groat__gpu_failed(state, GROAT_LOAD_FAILED, call, error,
                                 "for attribute %d",
                                 GROAT__HIP_FUNC_SHARED_BYTES);
    *dynamic = fixed < 0 || (unsigned)fixed < shape->shared_bytes
                   ? shape->shared_bytes - (unsigned)(fixed < 0 ? 0 : fixed)
                   : 0;
    /* Not every runtime requires this attribute; if it was needed and could not
     * be set, the launch fails. */
    if (*dynamic > LDS_WITHOUT_LEAVE && state->call.hipFuncSetAttribute != NULL)
        (void)state->call.hipFuncSetAttribute(
            module->function, GROAT__HIP_MAX_DYNAMIC_SHARED, (int)*dynamic);
    return GROAT_OK;
}

static groat_status load_module(const hip_state *state, groat__module *module,
                                const char *entry, groat__shape *shape,
                                groat_error *error)
{
    unsigned dynamic = 0;
    groat_status status;
    groat__called call =
        HIP_CALL(state, hipModuleLoadData, (&module->module, module->image));

    if (call.code != GROAT__HIP_SUCCESS)
        return groat__gpu_failed(state, GROAT_LOAD_FAILED, call, error,
                                 "of %zu bytes", module->bytes);
    call = HIP_CALL(state, hipModuleGetFunction,
                    (&module->function, module->module, entry));
    if (call.code != GROAT__HIP_SUCCESS)
        status = groat__gpu_failed(state, GROAT_LOAD_FAILED, call, error,
                                   "for entry '%s'", entry);
    else
        status = fit_shared(state, module, shape, &dynamic, error);
    if (status != GROAT_OK) {
        (void)state->call.hipModuleUnload(module->module);
        return status;
    }
    shape->dynamic_bytes = dynamic;
    return GROAT_OK;
}

static groat_status hip_load(void *user, const groat__arch *arch,
                             const void *data, size_t bytes, const char *entry,
                             groat__shape *shape, groat__module **out,
                             groat_error *error)
{
    hip_state *state = user;
    groat__module *module;
    groat__visit stay;
    groat_status status = check_shape(arch, shape, error);

    if (status != GROAT_OK)
        return status;
    /* The runtime is told no size: all that it would read has to be there. */
    if (!groat__amdgpu_elf_whole(data, bytes))
        return groat__fail(error, GROAT_LOAD_FAILED,
                           "%zu bytes for %s are not a complete AMDGPU ELF",
                           bytes, entry);
    status = groat__hip_enter(state, NULL, &stay, error);
    if (status != GROAT_OK)
        return status;
    status = check_device(state, arch, error);
    if (status != GROAT_OK)
        goto leave_device;
    module = calloc(1, sizeof(*module) + bytes);
    if (module == NULL) {
        status = groat__fail(error, GROAT_NO_MEMORY,
                             "no memory for a code object of %zu bytes", bytes);
        goto leave_device;
    }
    module->bytes = bytes;
    memcpy(module->image, data, bytes);
    status = load_module(state, module, entry, shape, error);
    if (status == GROAT_OK)
        *out = module;
    else
        free(module);
leave_device:
    groat__hip_leave(state, &stay);
    return status;
}

static void hip_unload(void *user, groat__module *module)
{
    hip_state *state = user;
    groat__visit stay;

    if (module == NULL)
        return;
    (void)groat__hip_enter_to_free(state, NULL, &stay);
    (void)state->call.hipModuleUnload(module->module);
    groat__hip_leave(state, &stay);
    free(module);
}

static void *hip_native(groat__module *module)
{
    return module->function;
}

static void hip_facts_of(void *user, groat__module *module, groat_facts *facts)
{
    const hip_state *state = user;
    const struct {
        int attribute;
        int64_t *to;
    } wanted[] = {
        {GROAT__HIP_FUNC_REGISTERS, &facts->registers},
        {GROAT__HIP_FUNC_LOCAL_BYTES, &facts->spill_bytes},
        {GROAT__HIP_FUNC_SHARED_BYTES, &facts->shared_bytes},
        {GROAT__HIP_FUNC_MAX_THREADS, &facts->max_threads},
    };

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        int value = -1;

        if (*wanted[i].to == -1 && state->call.hipFuncGetAttribute(
                                       &value, wanted[i].attribute,
                                       module->function) == GROAT__HIP_SUCCESS)
            *wanted[i].to = value;
    }
    if (facts->code_bytes == -1)
        facts->code_bytes = (int64_t)module->bytes;
}

static groat__called enqueue(const void *user, const groat__module *module,
                             const groat__shape *shape,
                             const groat_launch *launch, const void *args)
{
    /* The runtime only reads the arguments. */
    void *parameters[] = {(void *)(uintptr_t)args};

    return HIP_CALL((const hip_state *)user, hipModuleLaunchKernel,
                    (module->function, launch->grid[0], launch->grid[1],
                     launch->grid[2], shape->block[0], shape->block[1],
                     shape->block[2], shape->dynamic_bytes, launch->stream,
                     parameters, NULL));
}

static groat_status hip_launch(void *user, groat__module *module,
                               const groat__shape *shape,
                               const groat_launch *launch, const void *args,
                               groat_error *error)
{
    groat__visit stay;
    groat_status status = groat__hip_enter(user, NULL, &stay, error);
    groat__called call;

    if (status != GROAT_OK)
        return status;
    call = enqueue(user, module, shape, launch, args);
    groat__hip_leave(user, &stay);
    return call.code == GROAT__HIP_SUCCESS
               ? GROAT_OK
               : groat__gpu_launch_failed(user, call, shape, launch, error);
}

/* ---- the calls of gpu.c ------------------------------------------------- */

/* Maps codes that concern the device or its memory, not the request. */
static groat_status sort_code(int code, groat_status otherwise)
{
    switch (code) {
    case GROAT__HIP_OUT_OF_MEMORY:
        return GROAT_NO_MEMORY;
    case GROAT__HIP_NOT_INITIALIZED:
    case GROAT__HIP_DEINITIALIZED:
    case GROAT__HIP_NO_DEVICE:
    case GROAT__HIP_INVALID_DEVICE:
    case GROAT__HIP_INVALID_CONTEXT:
        return GROAT_NO_DEVICE;
    /* Left behind by an earlier kernel: this binary is not to blame. */
    case GROAT__HIP_ILLEGAL_ADDRESS:
    case GROAT__HIP_CONTEXT_DESTROYED:
    case GROAT__HIP_ASSERT:
    case GROAT__HIP_LAUNCH_FAILURE:
    case GROAT__HIP_UNKNOWN:
        return otherwise == GROAT_LOAD_FAILED ? GROAT_NO_DEVICE : otherwise;
    default:
        return otherwise;
    }
}

static const char *error_name(const void *user, int code)
{
    return ((const hip_state *)user)->call.hipGetErrorName(code);
}

static const char *error_text(const void *user, int code)
{
    return ((const hip_state *)user)->call.hipGetErrorString(code);
}

#define ADAPT(name, parameters, function, args)                                \
    GROAT__ADAPT(hip_state, call, name, parameters, function, args)

static bool can_capture(const void *state)
{
    return ((const hip_state *)state)->call.hipStreamIsCapturing != NULL;
}

static groat__called capture_of(const void *user, void *stream,
                                groat__capture *capture)
{
    const hip_state *state = user;
    groat__called call = {"hipStreamIsCapturing", GROAT__HIP_SUCCESS};
    int found = GROAT__HIP_CAPTURE_NONE;

    if (state->call.hipStreamIsCapturing != NULL)
        call = HIP_CALL(state, hipStreamIsCapturing, (stream, &found));
    *capture = (groat__capture)found;
    if (call.code == GROAT__HIP_CAPTURE_IMPLICIT) {
        *capture = GROAT__CAPTURE_ACTIVE;
        call.code = GROAT__HIP_SUCCESS;
    }
    return call;
}

static groat__called event_create(const void *user, void **event, bool timed)
{
    const hip_state *state = user;
    groat__hip_event made = NULL;
    groat__called call =
        timed ? HIP_CALL(state, hipEventCreate, (&made))
              : HIP_CALL(state, hipEventCreateWithFlags,
                         (&made, GROAT__HIP_EVENT_DISABLE_TIMING));

    *event = made;
    return call;
}

ADAPT(event_record, (const void *state, void *event, void *stream),
      hipEventRecord, (event, stream))
ADAPT(event_wait, (const void *state, void *stream, void *event),
      hipStreamWaitEvent, (stream, event, 0))

ADAPT(event_query, (const void *state, void *event), hipEventQuery, (event))
ADAPT(event_sync, (const void *state, void *event), hipEventSynchronize,
      (event))

ADAPT(event_elapsed, (const void *state, float *ms, void *from, void *to),
      hipEventElapsedTime, (ms, from, to))
ADAPT(event_destroy, (const void *state, void *event), hipEventDestroy, (event))

/* Not all runtimes can tell a stream's number. */
static uint64_t stream_number(const void *user, void *context, void *stream)
{
    (void)user;
    (void)context;
    (void)stream;
    return 0;
}

ADAPT(synchronize, (const void *state), hipDeviceSynchronize, ())

static groat__called alloc_bytes(const void *user, uint64_t *address,
                                 size_t bytes)
{
    void *memory = NULL;
    groat__called call =
        HIP_CALL((const hip_state *)user, hipMalloc, (&memory, bytes));

    *address = (uintptr_t)memory;
    return call;
}

ADAPT(release_bytes, (const void *state, uint64_t address), hipFree,
      ((void *)(uintptr_t)address))
ADAPT(write_bytes,
      (const void *state, uint64_t to, const void *from, size_t bytes),
      hipMemcpy,
      ((void *)(uintptr_t)to, from, bytes, GROAT__HIP_HOST_TO_DEVICE))

ADAPT(read_bytes, (const void *state, void *to, uint64_t from, size_t bytes),
      hipMemcpy,
      (to, (void *)(uintptr_t)from, bytes, GROAT__HIP_DEVICE_TO_HOST))

static const groat__gpu_calls gpu_calls = {
    .units = "CUs",
    .enter = groat__hip_enter,
    .enter_to_free = groat__hip_enter_to_free,
    .leave = groat__hip_leave,
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

static void report_devices(hip_state *state, groat__str *out)
{
    groat_error error = GROAT_ERROR_INIT;

    if (groat__gpu_count(state) == 0) {
        (void)groat__hip_no_device(state, &error);
        groat__finding(out, "hip devices", false, "%s", error.text);
        groat_error_clear(&error);
    }
    groat__gpu_report(state, &groat__device_hip, out);
}

static groat_status hip_tensor_map(void *handle, const groat_tensor *tensor,
                                   groat_tensor_map *out, groat_error *error)
{
    (void)handle;
    (void)tensor;
    (void)out;
    return groat__fail(error, GROAT_INVALID,
                       "hip has no tensor maps: AMD's GPUs copy no tensors");
}

static void hip_report(void *user, const groat__env *env,
                       const groat_error *failed, groat__str *out)
{
    hip_state *state = user;

    (void)env;
    if (state == NULL || state->version[0] == '\0') {
        groat__finding(
            out, "libamdhip64", false, "%s",
            groat__library_problem(state == NULL ? NULL : &state->dl, failed));
        return;
    }
    groat__finding(out, "libamdhip64", true, "%s version %s build %s",
                   state->dl.path, state->version, state->dl.build_id);
    if (failed == NULL)
        report_devices(state, out);
    else
        groat__finding(out, "hip devices", false, "%s", failed->text);
}

const groat__device groat__device_hip = {
    .name = "hip",
    .part = {hip_search, groat__hip_close, hip_report},
    .count = groat__gpu_count,
    .facts = hip_facts,
    .load = hip_load,
    .unload = hip_unload,
    .native = hip_native,
    .facts_of = hip_facts_of,
    .launch = hip_launch,
    .launch_noted = groat__gpu_launch_noted,
    .idle = groat__gpu_idle,
    .time = groat__gpu_time,
    .sync = groat__gpu_sync,
    .alloc = groat__gpu_alloc,
    .release = groat__gpu_release,
    .write = groat__gpu_write,
    .read = groat__gpu_read,
    .may_load = groat__gpu_may_load,
    .tensor_map = hip_tensor_map,
};
