/* SPDX-License-Identifier: Apache-2.0
 *
 * hip_driver.c opens the HIP runtime; hip.c uses it to run kernels.
 *
 * Invariant: errors are taken from return codes only (since 7.0 hipGetLastError
 * is sticky and belongs to the caller).
 * Locking: none; the state is read-only once it is open.
 */
#include "backend/hip_driver.h"

#include <stdlib.h>

#include "backend/rocm.h"
#include "backend/shared.h"
#include "base/error.h"

static const groat__symbol hip_symbols[] = {
#define HIP(name, needed, result, parameters, names)                           \
    {#name, needed, offsetof(hip_calls, name)},
#include "backend/hip.def"
};

static const char *or_text(const char *text)
{
    return text != NULL ? text : "no text";
}

groat_status groat__hip_no_device(const hip_state *state, groat_error *error)
{
    const groat__called *call = &state->no_device;

    if (state->gpu.count > 0)
        return groat__fail(error, GROAT_NO_DEVICE,
                           "there is no hip device %d; allowed are 0 to %d",
                           state->ordinal, state->gpu.count - 1);
    return groat__fail_vendor(error, GROAT_NO_DEVICE, call->name, call->code,
                              "there is no hip device: %s said %d (%s)",
                              call->name, call->code,
                              or_text(state->call.hipGetErrorName(call->code)));
}

groat_status groat__hip_enter(void *user, void *context, groat__visit *visit,
                              groat_error *error)
{
    const hip_state *state = user;
    groat__called call;

    (void)context;
    *visit = (groat__visit){NULL, 0, false};
    if (state->ordinal < 0 || state->ordinal >= state->gpu.count)
        return groat__hip_no_device(state, error);
    call = HIP_CALL(state, hipGetDevice, (&visit->home));
    if (call.code == GROAT__HIP_SUCCESS && visit->home == state->ordinal)
        return GROAT_OK;
    if (call.code == GROAT__HIP_SUCCESS)
        call = HIP_CALL(state, hipSetDevice, (state->ordinal));
    visit->moved = call.code == GROAT__HIP_SUCCESS;
    return visit->moved ? GROAT_OK
                        : groat__gpu_failed(state, GROAT_NO_DEVICE, call, error,
                                            "for device %d", state->ordinal);
}

bool groat__hip_enter_to_free(void *state, void *context, groat__visit *visit)
{
    (void)groat__hip_enter(state, context, visit, NULL);
    return true;
}

void groat__hip_leave(const void *user, const groat__visit *visit)
{
    const hip_state *state = user;

    if (visit->moved)
        (void)state->call.hipSetDevice(visit->home);
}

/* No GPU is no error: hipInit returns 101 in HIP 5, 100 in later ones. */
static groat_status count_devices(hip_state *state, groat_error *error)
{
    groat__called call = HIP_CALL(state, hipInit, (0));

    if (call.code == GROAT__HIP_SUCCESS)
        call = HIP_CALL(state, hipGetDeviceCount, (&state->gpu.count));
    state->no_device = call;
    if (call.code == GROAT__HIP_NO_DEVICE ||
        call.code == GROAT__HIP_INVALID_DEVICE)
        state->gpu.count = 0;
    else if (call.code != GROAT__HIP_SUCCESS)
        return groat__gpu_failed(state, GROAT_NO_DEVICE, call, error, "(%s)",
                                 state->dl.path);
    return GROAT_OK;
}

static groat_status open_library(hip_state *state, const groat__env *env,
                                 groat_error *error)
{
    const groat__rocm_library library = {env->hip, "GROAT_HIP",
                                         groat__rocm_hip_files};
    groat_status status = groat__rocm_open(env, &library, &state->dl, error);
    int packed = 0;

    if (status == GROAT_OK)
        status = groat__dl_bind(&state->dl, hip_symbols,
                                sizeof(hip_symbols) / sizeof(hip_symbols[0]),
                                &state->call, error);
    if (status != GROAT_OK)
        return status;
    if (state->call.hipGetDevicePropertiesR0600 == NULL &&
        state->call.hipGetDeviceProperties == NULL)
        return groat__fail(error, GROAT_NO_DEVICE,
                           "%s lacks the symbol hipGetDeviceProperties that "
                           "groat needs",
                           state->dl.path);
    if (state->call.hipRuntimeGetVersion(&packed) != GROAT__HIP_SUCCESS)
        packed = 0;
    groat__rocm_version(&state->dl, packed, state->version,
                        sizeof(state->version));
    return GROAT_OK;
}

void groat__hip_close(void *handle)
{
    hip_state *state = handle;

    if (state == NULL)
        return;
    groat__gpu_close(&state->gpu);
    groat__dl_close(&state->dl);
    free(state);
}

groat_status groat__hip_open(const groat__env *env,
                             const groat__gpu_calls *calls, void **out,
                             groat_error *error)
{
    hip_state *state = calloc(1, sizeof(*state));
    groat_status status;

    *out = state;
    if (state == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for hip");
    state->ordinal = env->device;
    groat__gpu_init(&state->gpu, calls, &env->log);
    status = open_library(state, env, error);
    if (status == GROAT_OK)
        status = count_devices(state, error);
    return status;
}
