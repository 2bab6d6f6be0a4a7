/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_driver.c opens the CUDA driver and owns its entry points and the choice
 * of the context; cuda.c uses it to run kernels.
 *
 * Contexts: a thread's current context is used if it has one, else the primary
 * context of the wanted device, retained when first needed, released in close
 * and never destroyed.  Invariant: a visit leaves the thread's context stack as
 * it found it.  Locking: `lock` guards the retaining of the primary context;
 * everything else is read-only after open.
 */
#include "backend/cuda_driver.h"

#include <stdlib.h>
#include <string.h>

#include "backend/elf.h"
#include "base/error.h"

typedef struct cuda_symbol {
    const char *name;
    const char *symbol;
    int version;
    size_t offset;
    bool needed;
} cuda_symbol;

enum { optional = 0, needed = 1 };

static const cuda_symbol symbols[] = {
#define SYMBOL(need, version, name, symbol, args)                              \
    {#name, #symbol, version, offsetof(cuda_api, name), need},
#include "backend/cuda.def"
#undef SYMBOL
};

/* ---- the library -------------------------------------------------------- */

static groat_status find_library(const groat__env *env, groat__dl *dl,
                                 groat_error *error)
{
    static const char *const sonames[] = {"libcuda.so.1", NULL};
    static const char *const patterns[] = {
        "/usr/lib/*-linux-gnu/libcuda.so.1",
        "/usr/lib64/libcuda.so.1",
        "/usr/lib/wsl/lib/libcuda.so.1",
        "/usr/local/nvidia/lib64/libcuda.so.1",
        "/run/opengl-driver/lib/libcuda.so.1",
        "/usr/local/cuda/compat/libcuda.so.1",
        "/usr/local/cuda-*/compat/libcuda.so.1",
        NULL};
    const groat__dl_search search = {env->cuda, "GROAT_CUDA", sonames,
                                     patterns};

    return groat__dl_open(&search, dl, error);
}

bool groat__cuda_is_image(const void *data, size_t bytes)
{
    if (bytes > 0 && *(const char *)data == ELFMAG0)
        return groat__elf_whole(data, bytes);
    return bytes > 1 &&
           memchr(data, '\0', bytes) == (const char *)data + bytes - 1;
}

int groat__cuda_driver_version(const groat__env *env)
{
    CUresult (*get)(int *version) = NULL;
    int version = 0;
    groat__dl dl;

    if (find_library(env, &dl, NULL) == GROAT_OK) {
        void *address = groat__dl_symbol(&dl, "cuDriverGetVersion");

        memcpy(&get, &address, sizeof(get));
        if (get != NULL && get(&version) != CUDA_SUCCESS)
            version = 0;
    }
    groat__dl_close(&dl);
    return version;
}

/* cuGetProcAddress, if the driver has it, returns an entry point in the wanted
 * version, whatever its plain name means by now. */
static void *find_symbol(const cuda_state *state, const cuda_symbol *wanted)
{
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
    void *address = NULL;

    if (state->cu.cuGetProcAddress == NULL)
        return groat__dl_symbol(&state->dl, wanted->symbol);
    if (state->cu.cuGetProcAddress(wanted->name, &address, wanted->version,
                                   CU_GET_PROC_ADDRESS_LEGACY_STREAM,
                                   &found) != CUDA_SUCCESS ||
        found != CU_GET_PROC_ADDRESS_SUCCESS)
        return NULL;
    return address;
}

static groat_status resolve(cuda_state *state, groat_error *error)
{
    char *calls = (char *)state + offsetof(cuda_state, cu);
    void *address = groat__dl_symbol(&state->dl, "cuGetProcAddress_v2");

    memcpy(&state->cu.cuGetProcAddress, &address, sizeof(address));
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        if (symbols[i].offset == offsetof(cuda_api, cuGetProcAddress))
            continue;
        address = find_symbol(state, &symbols[i]);
        if (address == NULL && symbols[i].needed)
            return groat__fail(error, GROAT_NO_DEVICE,
                               "%s has no %s; drivers since CUDA 11.0 have",
                               state->dl.path, symbols[i].symbol);
        memcpy(calls + symbols[i].offset, &address, sizeof(address));
    }
    return GROAT_OK;
}

/* ---- errors ------------------------------------------------------------- */

/* LOAD_FAILED makes core compile again, which helps if the bytes were refused,
 * but not if the context is broken or the device is gone. */
groat_status groat__cuda_load_status(CUresult code)
{
    if (code == CUDA_ERROR_OUT_OF_MEMORY)
        return GROAT_NO_MEMORY;
    if (code == CUDA_ERROR_NOT_INITIALIZED ||
        code == CUDA_ERROR_DEINITIALIZED || code == CUDA_ERROR_NO_DEVICE ||
        code == CUDA_ERROR_INVALID_DEVICE ||
        code == CUDA_ERROR_INVALID_CONTEXT ||
        code == CUDA_ERROR_NO_BINARY_FOR_GPU || /* another arch's target */
        code >= CUDA_ERROR_ILLEGAL_ADDRESS)
        return GROAT_NO_DEVICE;
    return GROAT_LOAD_FAILED;
}

/* ---- open and close ----------------------------------------------------- */

void groat__cuda_close(void *handle)
{
    cuda_state *state = handle;

    if (state == NULL)
        return;
    groat__gpu_close(&state->gpu);
    if (state->primary != NULL)
        (void)state->cu.cuDevicePrimaryCtxRelease(state->primary_device);
    (void)pthread_mutex_destroy(&state->lock);
    groat__dl_close(&state->dl);
    free(state);
}

static groat_status initialize(cuda_state *state, groat_error *error)
{
    groat__called call = CU(state, cuDriverGetVersion, (&state->driver));

    if (call.code == CUDA_SUCCESS) {
        call = CU(state, cuInit, (0));
        /* A driver without a device is no error: the count is 0. */
        if (call.code == CUDA_ERROR_NO_DEVICE)
            return GROAT_OK;
    }
    if (call.code == CUDA_SUCCESS)
        call = CU(state, cuDeviceGetCount, (&state->gpu.count));
    return call.code == CUDA_SUCCESS
               ? GROAT_OK
               : groat__gpu_failed(state, GROAT_NO_DEVICE, call, error, "(%s)",
                                   state->dl.path);
}

groat_status groat__cuda_open(const groat__env *env,
                              const groat__gpu_calls *calls, void **out,
                              groat_error *error)
{
    cuda_state *state = calloc(1, sizeof(*state));
    groat_status status;

    *out = state;
    if (state == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for CUDA");
    state->env = *env;
    (void)pthread_mutex_init(&state->lock, NULL);
    groat__gpu_init(&state->gpu, calls, &env->log);
    status = find_library(env, &state->dl, error);
    if (status == GROAT_OK)
        status = resolve(state, error);
    if (status == GROAT_OK)
        status = initialize(state, error);
    return status;
}

/* ---- contexts ----------------------------------------------------------- */

groat_status groat__cuda_no_such_device(const cuda_state *state,
                                        groat_status status, int wanted,
                                        groat_error *error)
{
    return groat__fail(error, status,
                       "there is no CUDA device %d; this driver has %d, "
                       "counted from 0",
                       wanted, state->gpu.count);
}

static groat_status retain_primary(cuda_state *state, groat_error *error)
{
    int wanted = state->env.device;
    CUcontext context = NULL;
    CUdevice device = 0;
    groat__called call;

    if (wanted < 0 || wanted >= state->gpu.count)
        return groat__cuda_no_such_device(state, GROAT_NO_DEVICE, wanted,
                                          error);
    call = CU(state, cuDeviceGet, (&device, wanted));
    if (call.code == CUDA_SUCCESS)
        call = CU(state, cuDevicePrimaryCtxRetain, (&context, device));
    if (call.code != CUDA_SUCCESS)
        return groat__gpu_failed(state, GROAT_NO_DEVICE, call, error,
                                 "for device %d", wanted);
    state->primary = context;
    state->primary_device = device;
    return GROAT_OK;
}

static groat_status get_primary(cuda_state *state, CUcontext *context,
                                groat_error *error)
{
    groat_status status = GROAT_OK;

    (void)pthread_mutex_lock(&state->lock);
    if (state->primary == NULL)
        status = retain_primary(state, error);
    *context = state->primary;
    (void)pthread_mutex_unlock(&state->lock);
    return status;
}

groat_status groat__cuda_enter(void *handle, void *wanted, groat__visit *visit,
                               groat_error *error)
{
    cuda_state *state = handle;
    CUcontext context = wanted;
    CUcontext current = NULL;
    groat__called call;

    visit->moved = false;
    if (state->gpu.count == 0)
        return groat__cuda_no_such_device(state, GROAT_NO_DEVICE,
                                          state->env.device, error);
    call = CU(state, cuCtxGetCurrent, (&current));
    if (call.code != CUDA_SUCCESS)
        return groat__gpu_failed(state, GROAT_NO_DEVICE, call, error,
                                 "(context of the thread)");
    if (context == NULL)
        context = current;
    if (context == NULL) {
        groat_status status = get_primary(state, &context, error);

        if (status != GROAT_OK)
            return status;
    }
    visit->context = context;
    if (context == current)
        return GROAT_OK;
    call = CU(state, cuCtxPushCurrent, (context));
    if (call.code != CUDA_SUCCESS)
        return groat__gpu_failed(state, GROAT_NO_DEVICE, call, error,
                                 "(context of the kernel or device)");
    visit->moved = true;
    return GROAT_OK;
}

void groat__cuda_leave(const void *handle, const groat__visit *visit)
{
    const cuda_state *state = handle;
    CUcontext popped;

    if (visit->moved)
        (void)state->cu.cuCtxPopCurrent(&popped);
}

void groat__cuda_exchange_mode(const cuda_state *state,
                               CUstreamCaptureMode *mode)
{
    if (state->cu.cuThreadExchangeStreamCaptureMode != NULL &&
        state->cu.cuThreadExchangeStreamCaptureMode(mode) != CUDA_SUCCESS)
        *mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
}
