/* SPDX-License-Identifier: Apache-2.0
 *
 * hip.c owns running code objects through the HIP module API: devices, loading,
 * launching, memory.  Compiling is hiprtc.c's, finding the library rocm.c's.
 * One file serves ROCm 5, 6 and 7: what changed between them (the structure of
 * device properties) is asked for by symbol, everything else by attributes.
 *
 * Invariant: the calling thread's current device is the same before and after
 * every slot, and return codes alone are believed (since 7.0 hipGetLastError
 * is sticky and belongs to the caller).  The state is read-only once open, but
 * for its list of streams, and the runtime locks for itself: there is no lock
 * here but marks.c's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/amdgpu_elf.h"
#include "backend/backend.h"
#include "backend/hip_driver.h"
#include "backend/shared.h"
#include "base/error.h"

/* Dynamic LDS up to here needs no leave. */
#define LDS_WITHOUT_LEAVE (64u << 10)

struct groat__module {
    groat__hip_module module;
    groat__hip_function function;
    groat__marks marks; /* of launches that were noted */
    size_t bytes;
    /* The runtime keeps reading the image as long as the module lives. */
    unsigned char image[];
};

static groat_status hip_open(const groat__env *env, void **out,
                             groat_error *error)
{
    hip_state *state;
    groat_status status = groat__hip_open(env, &state, error);

    if (status != GROAT_OK) {
        groat__hip_close(state);
        return status;
    }
    *out = state;
    return GROAT_OK;
}

static void close_state(void *user)
{
    groat__hip_close(user);
}

static size_t hip_count(void *user)
{
    const hip_state *state = user;

    return state->devices > 0 ? (size_t)state->devices : 0;
}

/* "gfx942" of "gfx942:sramecc+:xnack-". */
static groat_status read_arch(const hip_state *state, int device, char *out,
                              size_t out_bytes, groat_error *error)
{
    _Alignas(16) char properties[GROAT__HIP_PROP_BYTES] = {0};
    const char *call = "hipGetDevicePropertiesR0600";
    const char *name = properties + GROAT__HIP_PROP6_ARCH;
    int code;

    if (state->call.hipGetDevicePropertiesR0600 != NULL) {
        code = state->call.hipGetDevicePropertiesR0600(properties, device);
    } else {
        call = "hipGetDeviceProperties";
        name = properties + GROAT__HIP_PROP5_ARCH;
        code = state->call.hipGetDeviceProperties(properties, device);
    }
    if (code != GROAT__HIP_SUCCESS)
        return groat__hip_failed(state, GROAT_NO_DEVICE, call, code, error);
    if (strncmp(name, "gfx", 3) != 0)
        return groat__fail(error, GROAT_NO_DEVICE,
                           "%s of %s names hip device %d \"%.32s\"; expected "
                           "is a name that starts with gfx",
                           call, state->dl.path, device, name);
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
        int code = state->call.hipDeviceGetAttribute(
            wanted[i].to, wanted[i].attribute, device);

        if (code != GROAT__HIP_SUCCESS)
            return groat__hip_failed(state, GROAT_NO_DEVICE,
                                     "hipDeviceGetAttribute", code, error);
    }
    /* Not every release answers this one. */
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
    int code;

    if (index >= hip_count(user))
        return groat__fail(error, GROAT_INVALID,
                           "there is no hip device %zu; there are %zu", index,
                           hip_count(user));
    status = read_arch(state, device, arch, sizeof(arch), error);
    if (status == GROAT_OK)
        status = read_attributes(state, device, &found, error);
    if (status != GROAT_OK)
        return status;
    code = state->call.hipDeviceGetName(found.name, (int)sizeof(found.name),
                                        device);
    if (code != GROAT__HIP_SUCCESS)
        return groat__hip_failed(state, GROAT_NO_DEVICE, "hipDeviceGetName",
                                 code, error);
    found.name[sizeof(found.name) - 1] = '\0';
    code = state->call.hipDeviceTotalMem(&memory, device);
    if (code != GROAT__HIP_SUCCESS)
        return groat__hip_failed(state, GROAT_NO_DEVICE, "hipDeviceTotalMem",
                                 code, error);
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

/* Fits the launch to the function's static LDS. */
static groat_status fit_shared(const hip_state *state,
                               const groat__module *module,
                               const groat__shape *shape, unsigned *dynamic,
                               groat_error *error)
{
    int fixed = 0;
    int code = state->call.hipFuncGetAttribute(
        &fixed, GROAT__HIP_FUNC_SHARED_BYTES, module->function);

    if (code != GROAT__HIP_SUCCESS)
        return groat__hip_failed(state, GROAT_LOAD_FAILED,
                                 "hipFuncGetAttribute", code, error);
    *dynamic = fixed < 0 || (unsigned)fixed < shape->shared_bytes
                   ? shape->shared_bytes - (unsigned)(fixed < 0 ? 0 : fixed)
                   : 0;
    /* Runtimes differ in whether they ask for this leave; a launch that would
     * have needed it says so itself. */
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
    int code = state->call.hipModuleLoadData(&module->module, module->image);

    if (code != GROAT__HIP_SUCCESS)
        return groat__hip_failed(state, GROAT_LOAD_FAILED, "hipModuleLoadData",
                                 code, error);
    code = state->call.hipModuleGetFunction(&module->function, module->module,
                                            entry);
    if (code != GROAT__HIP_SUCCESS)
        status = groat__hip_failed(state, GROAT_LOAD_FAILED,
                                   "hipModuleGetFunction", code, error);
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
    const hip_state *state = user;
    groat__module *module;
    visit stay;
    groat_status status = check_shape(arch, shape, error);

    if (status != GROAT_OK)
        return status;
    /* The runtime is told no size: what it would read has to be there. */
    if (!groat__amdgpu_elf_whole(data, bytes))
        return groat__fail(error, GROAT_LOAD_FAILED,
                           "%zu bytes for %s are no whole AMDGPU ELF", bytes,
                           entry);
    status = groat__hip_enter(state, &stay, error);
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
    const hip_state *state = user;
    visit stay;

    if (module == NULL)
        return;
    /* Unloading works from any device; a lost one is no reason to leak. */
    if (groat__hip_enter(state, &stay, NULL) != GROAT_OK)
        stay.moved = false;
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

static groat_status enqueue(const hip_state *state, const groat__module *module,
                            const groat__shape *shape,
                            const groat_launch *launch, const void *args,
                            groat_error *error)
{
    /* The runtime copies from the arguments and writes nothing there. */
    void *parameters[] = {(void *)(uintptr_t)args};
    int code = state->call.hipModuleLaunchKernel(
        module->function, launch->grid[0], launch->grid[1], launch->grid[2],
        shape->block[0], shape->block[1], shape->block[2], shape->dynamic_bytes,
        launch->stream, parameters, NULL);

    if (code == GROAT__HIP_SUCCESS)
        return GROAT_OK;
    return groat__hip_failed(state, GROAT_LAUNCH_FAILED,
                             "hipModuleLaunchKernel", code, error);
}

static groat_status hip_launch(void *user, groat__module *module,
                               const groat__shape *shape,
                               const groat_launch *launch, const void *args,
                               groat_error *error)
{
    const hip_state *state = user;
    visit stay;
    groat_status status = groat__hip_enter(state, &stay, error);

    if (status != GROAT_OK)
        return status;
    status = enqueue(state, module, shape, launch, args, error);
    groat__hip_leave(state, &stay);
    return status;
}

/* NONE where the runtime knows of no captures. */
static int capture_of(const hip_state *state, void *stream, int *capture)
{
    *capture = GROAT__HIP_CAPTURE_NONE;
    return state->call.hipStreamIsCapturing == NULL
               ? GROAT__HIP_SUCCESS
               : state->call.hipStreamIsCapturing(stream, capture);
}

static groat_status hip_launch_noted(void *user, groat__module *module,
                                     const groat__shape *shape,
                                     const groat_launch *launch,
                                     const void *args, bool *captured,
                                     groat_error *error)
{
    hip_state *state = user;
    int capture;
    visit stay;
    groat_status status = groat__hip_enter(state, &stay, error);

    if (status != GROAT_OK)
        return status;
    *captured =
        capture_of(state, launch->stream, &capture) != GROAT__HIP_SUCCESS ||
        capture != GROAT__HIP_CAPTURE_NONE;
    status = hip_launch(user, module, shape, launch, args, error);
    if (status == GROAT_OK && !*captured)
        groat__marks_note(&module->marks, &state->streams,
                          &groat__hip_mark_calls, state, NULL, launch->stream);
    groat__hip_leave(state, &stay);
    return status;
}

static bool hip_idle(void *user, groat__module *module)
{
    hip_state *state = user;
    int capture;
    visit stay;
    bool idle;

    if (groat__hip_enter(state, &stay, NULL) != GROAT_OK)
        return false;
    idle = capture_of(state, NULL, &capture) == GROAT__HIP_SUCCESS &&
           capture == GROAT__HIP_CAPTURE_NONE &&
           groat__marks_done(&module->marks, &state->streams,
                             &groat__hip_mark_calls, state);
    groat__hip_leave(state, &stay);
    return idle;
}

/* Between two events: launches alone, no host time. */
static groat_status measure(const hip_state *state, const groat__module *module,
                            const groat__shape *shape,
                            const groat_launch *launch, const void *args,
                            unsigned repeats, groat__hip_event events[2],
                            double *us, groat_error *error)
{
    const char *call = "hipEventRecord";
    int code = state->call.hipEventRecord(events[0], launch->stream);
    groat_status status = GROAT_OK;
    float ms = 0;

    if (code != GROAT__HIP_SUCCESS)
        goto fail;
    for (unsigned i = 0; i < repeats && status == GROAT_OK; i++)
        status = enqueue(state, module, shape, launch, args, error);
    if (status != GROAT_OK)
        return status;
    code = state->call.hipEventRecord(events[1], launch->stream);
    if (code != GROAT__HIP_SUCCESS)
        goto fail;
    call = "hipEventSynchronize";
    code = state->call.hipEventSynchronize(events[1]);
    if (code != GROAT__HIP_SUCCESS)
        goto fail;
    call = "hipEventElapsedTime";
    code = state->call.hipEventElapsedTime(&ms, events[0], events[1]);
    if (code != GROAT__HIP_SUCCESS)
        goto fail;
    *us = (double)ms * 1000.0 / repeats;
    return GROAT_OK;
fail:
    return groat__hip_failed(state, GROAT_LAUNCH_FAILED, call, code, error);
}

static groat_status hip_time(void *user, groat__module *module,
                             const groat__shape *shape,
                             const groat_launch *launch, const void *args,
                             unsigned repeats, double *us, groat_error *error)
{
    const hip_state *state = user;
    groat__hip_event events[2] = {NULL, NULL};
    visit stay;
    groat_status status;

    if (repeats == 0)
        return groat__fail(error, GROAT_INVALID,
                           "0 repeats to time; at least 1 is needed");
    status = groat__hip_enter(state, &stay, error);
    if (status != GROAT_OK)
        return status;
    for (size_t i = 0; i < 2; i++) {
        int code = state->call.hipEventCreate(&events[i]);

        if (code != GROAT__HIP_SUCCESS) {
            status = groat__hip_failed(state, GROAT_LAUNCH_FAILED,
                                       "hipEventCreate", code, error);
            events[i] = NULL;
            goto destroy_events;
        }
    }
    status =
        measure(state, module, shape, launch, args, repeats, events, us, error);
destroy_events:
    for (size_t i = 0; i < 2; i++)
        if (events[i] != NULL)
            (void)state->call.hipEventDestroy(events[i]);
    groat__hip_leave(state, &stay);
    return status;
}

static groat_status hip_sync(void *user, groat_error *error)
{
    hip_state *state = user;
    visit stay;
    groat_status status = groat__hip_enter(state, &stay, error);
    groat__wait wait;
    int code;

    if (status != GROAT_OK)
        return status;
    groat__wait_begin(&state->streams, &wait);
    code = state->call.hipDeviceSynchronize();
    if (code == GROAT__HIP_SUCCESS)
        groat__wait_end(&state->streams, &wait, NULL);
    else
        status = groat__hip_failed(state, GROAT_LAUNCH_FAILED,
                                   "hipDeviceSynchronize", code, error);
    groat__hip_leave(state, &stay);
    return status;
}

static groat_status hip_alloc(void *user, size_t bytes, uint64_t *address,
                              groat_error *error)
{
    const hip_state *state = user;
    void *memory = NULL;
    visit stay;
    groat_status status = groat__hip_enter(state, &stay, error);
    int code;

    if (status != GROAT_OK)
        return status;
    /* Nothing gets an address of its own too: callers free what they got. */
    code = state->call.hipMalloc(&memory, bytes > 0 ? bytes : 1);
    if (code == GROAT__HIP_OUT_OF_MEMORY)
        status = groat__fail_vendor(error, GROAT_NO_MEMORY, "hipMalloc", code,
                                    "hip device %d has no %zu bytes free",
                                    state->ordinal, bytes);
    else if (code != GROAT__HIP_SUCCESS)
        status =
            groat__hip_failed(state, GROAT_NO_DEVICE, "hipMalloc", code, error);
    else
        *address = (uint64_t)(uintptr_t)memory;
    groat__hip_leave(state, &stay);
    return status;
}

static void hip_release(void *user, uint64_t address)
{
    const hip_state *state = user;
    visit stay;

    if (address == 0)
        return;
    if (groat__hip_enter(state, &stay, NULL) != GROAT_OK)
        stay.moved = false;
    (void)state->call.hipFree((void *)(uintptr_t)address);
    groat__hip_leave(state, &stay);
}

static groat_status copy(const hip_state *state, void *to, const void *from,
                         size_t bytes, int kind, groat_error *error)
{
    visit stay;
    groat_status status = groat__hip_enter(state, &stay, error);
    int code;

    if (status != GROAT_OK)
        return status;
    code = bytes > 0 ? state->call.hipMemcpy(to, from, bytes, kind)
                     : GROAT__HIP_SUCCESS;
    if (code != GROAT__HIP_SUCCESS)
        status = groat__hip_failed(state, GROAT_LAUNCH_FAILED, "hipMemcpy",
                                   code, error);
    groat__hip_leave(state, &stay);
    return status;
}

static groat_status hip_write(void *user, uint64_t to, const void *from,
                              size_t bytes, groat_error *error)
{
    return copy(user, (void *)(uintptr_t)to, from, bytes,
                GROAT__HIP_HOST_TO_DEVICE, error);
}

static groat_status hip_read(void *user, void *to, uint64_t from, size_t bytes,
                             groat_error *error)
{
    return copy(user, to, (const void *)(uintptr_t)from, bytes,
                GROAT__HIP_DEVICE_TO_HOST, error);
}

static void doctor_devices(hip_state *state, groat__str *out)
{
    groat_error error = GROAT_ERROR_INIT;

    if (hip_count(state) == 0) {
        (void)groat__hip_no_device(state, &error);
        groat__finding(out, "hip devices", false, "%s", error.text);
    }
    for (size_t i = 0; i < hip_count(state); i++) {
        groat_device_info info = {.size = sizeof(info)};
        char subject[32];

        (void)snprintf(subject, sizeof(subject), "hip device %zu", i);
        if (hip_facts(state, i, &info, &error) == GROAT_OK)
            groat__finding(out, subject, true,
                           "%s, %s, %d compute units, %llu MiB, "
                           "%d bytes of LDS per workgroup",
                           info.target, info.name, info.multiprocessors,
                           (unsigned long long)info.memory_bytes >> 20,
                           info.shared_bytes_max);
        else
            groat__finding(out, subject, false, "%s", error.text);
    }
    groat_error_clear(&error);
}

static groat_status hip_may_load(void *user, void *stream, groat_error *error)
{
    const hip_state *state = user;
    int capture;
    groat_status status;
    visit stay;
    int code;

    status = groat__hip_enter(state, &stay, error);
    if (status != GROAT_OK)
        return status;
    code = capture_of(state, stream, &capture);
    if (code == GROAT__HIP_CAPTURE_IMPLICIT ||
        (code == GROAT__HIP_SUCCESS && capture == GROAT__HIP_CAPTURE_ACTIVE))
        status = groat__capturing(error);
    else if (code != GROAT__HIP_SUCCESS)
        status = groat__hip_failed(state, GROAT_LAUNCH_FAILED,
                                   "hipStreamIsCapturing", code, error);
    else if (capture == GROAT__HIP_CAPTURE_INVALIDATED)
        status = groat__capture_failed(error);
    groat__hip_leave(state, &stay);
    return status;
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

static void hip_doctor(void *user, const groat__env *env, groat__str *out)
{
    groat_error error = GROAT_ERROR_INIT;
    hip_state *state = user;
    hip_state *own = NULL;
    groat_status status = GROAT_OK;

    if (state == NULL) {
        status = groat__hip_open(env, &own, &error);
        state = own;
    }
    if (state == NULL || state->version[0] == '\0') {
        groat__finding(out, "libamdhip64", false, "%s",
                       state == NULL
                           ? error.text
                           : groat__library_problem(&state->dl, &error));
        goto close_own;
    }
    groat__finding(out, "libamdhip64", true, "%s version %s build %s",
                   state->dl.path, state->version, state->dl.build_id);
    if (status == GROAT_OK)
        doctor_devices(state, out);
    else
        groat__finding(out, "hip devices", false, "%s", error.text);
close_own:
    groat__hip_close(own);
    groat_error_clear(&error);
}

const groat__device groat__device_hip = {
    .name = "hip",
    .open = hip_open,
    .close = close_state,
    .count = hip_count,
    .facts = hip_facts,
    .load = hip_load,
    .unload = hip_unload,
    .native = hip_native,
    .facts_of = hip_facts_of,
    .launch = hip_launch,
    .launch_noted = hip_launch_noted,
    .idle = hip_idle,
    .time = hip_time,
    .sync = hip_sync,
    .alloc = hip_alloc,
    .release = hip_release,
    .write = hip_write,
    .read = hip_read,
    .may_load = hip_may_load,
    .tensor_map = hip_tensor_map,
    .doctor = hip_doctor,
};
