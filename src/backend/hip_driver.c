/* SPDX-License-Identifier: Apache-2.0
 *
 * hip_driver.c opens the HIP runtime and puts its errors into words; what is
 * done with it is hip.c's.
 *
 * Invariant: return codes alone are believed (since 7.0 hipGetLastError is
 * sticky and belongs to the caller).
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

/* Codes that say something of the device, and not of what was asked. */
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
    /* Left behind by an earlier kernel: the bytes at hand are not to blame. */
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

groat_status groat__hip_failed(const hip_state *state, groat_status status,
                               const char *call, int code, groat_error *error)
{
    return groat__fail_vendor(error, sort_code(code, status), call, code,
                              "%s said %d (%s: %s)", call, code,
                              or_text(state->call.hipGetErrorName(code)),
                              or_text(state->call.hipGetErrorString(code)));
}

groat_status groat__hip_no_device(const hip_state *state, groat_error *error)
{
    if (state->devices > 0)
        return groat__fail(error, GROAT_NO_DEVICE,
                           "there is no hip device %d; allowed are 0 to %d",
                           state->ordinal, state->devices - 1);
    return groat__fail_vendor(
        error, GROAT_NO_DEVICE, state->no_device_call, state->no_device_code,
        "there is no hip device: %s said %d (%s)", state->no_device_call,
        state->no_device_code,
        or_text(state->call.hipGetErrorName(state->no_device_code)));
}

groat_status groat__hip_enter(const hip_state *state, visit *stay,
                              groat_error *error)
{
    int code;

    stay->moved = false;
    if (state->ordinal < 0 || state->ordinal >= state->devices)
        return groat__hip_no_device(state, error);
    code = state->call.hipGetDevice(&stay->home);
    if (code != GROAT__HIP_SUCCESS)
        return groat__hip_failed(state, GROAT_NO_DEVICE, "hipGetDevice", code,
                                 error);
    if (stay->home == state->ordinal)
        return GROAT_OK;
    code = state->call.hipSetDevice(state->ordinal);
    if (code != GROAT__HIP_SUCCESS)
        return groat__hip_failed(state, GROAT_NO_DEVICE, "hipSetDevice", code,
                                 error);
    stay->moved = true;
    return GROAT_OK;
}

void groat__hip_leave(const hip_state *state, const visit *stay)
{
    if (stay->moved)
        (void)state->call.hipSetDevice(stay->home);
}

/* No GPU is no error: HIP 5 says 101 to hipInit, later ones 100. */
static groat_status count_devices(hip_state *state, groat_error *error)
{
    const char *call = "hipInit";
    int code = state->call.hipInit(0);

    if (code == GROAT__HIP_SUCCESS) {
        call = "hipGetDeviceCount";
        code = state->call.hipGetDeviceCount(&state->devices);
    }
    state->no_device_call = call;
    state->no_device_code = code;
    if (code == GROAT__HIP_NO_DEVICE || code == GROAT__HIP_INVALID_DEVICE)
        state->devices = 0;
    else if (code != GROAT__HIP_SUCCESS)
        return groat__hip_failed(state, GROAT_NO_DEVICE, call, code, error);
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
        status = groat__bind(&state->dl, hip_symbols,
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

void groat__hip_close(hip_state *state)
{
    if (state == NULL)
        return;
    groat__streams_close(&state->streams, &groat__hip_mark_calls, state);
    groat__dl_close(&state->dl);
    free(state);
}

groat_status groat__hip_open(const groat__env *env, hip_state **out,
                             groat_error *error)
{
    hip_state *state = calloc(1, sizeof(*state));
    groat_status status;

    *out = state;
    if (state == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for hip");
    state->ordinal = env->device;
    groat__streams_init(&state->streams);
    status = open_library(state, env, error);
    if (status == GROAT_OK)
        status = count_devices(state, error);
    return status;
}

/* ---- events ------------------------------------------------------------- */

static int mark_create(const void *user, void **event)
{
    const hip_state *state = user;
    groat__hip_event made = NULL;
    int code = state->call.hipEventCreateWithFlags(
        &made, GROAT__HIP_EVENT_DISABLE_TIMING);

    *event = made;
    return code;
}

static int mark_record(const void *user, void *event, void *stream)
{
    return ((const hip_state *)user)->call.hipEventRecord(event, stream);
}

static int mark_wait(const void *user, void *stream, void *event)
{
    return ((const hip_state *)user)->call.hipStreamWaitEvent(stream, event, 0);
}

static int mark_query(const void *user, void *event)
{
    return ((const hip_state *)user)->call.hipEventQuery(event);
}

static void mark_destroy(const void *user, void *context, void *event)
{
    const hip_state *state = user;
    visit stay;

    (void)context;
    if (groat__hip_enter(state, &stay, NULL) != GROAT_OK) /* as of unload */
        stay.moved = false;
    (void)state->call.hipEventDestroy(event);
    groat__hip_leave(state, &stay);
}

/* Streams have none that all runtimes tell. */
static uint64_t mark_number(const void *user, void *context, void *stream)
{
    (void)user;
    (void)context;
    (void)stream;
    return 0;
}

const groat__mark_calls groat__hip_mark_calls = {
    .create = mark_create,
    .record = mark_record,
    .wait = mark_wait,
    .query = mark_query,
    .destroy = mark_destroy,
    .number = mark_number,
};
