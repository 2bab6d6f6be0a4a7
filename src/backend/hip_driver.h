/* SPDX-License-Identifier: Apache-2.0
 *
 * hip_driver.h - the HIP runtime: opening it, its entry points, and the device
 * that a call uses.  Private to the hip backend.
 */
#ifndef GROAT_BACKEND_HIP_DRIVER_H
#define GROAT_BACKEND_HIP_DRIVER_H

#include "backend/gpu.h"
#include "backend/hip_abi.h"
#include "base/dl.h"

typedef struct hip_calls {
#define HIP(name, needed, result, parameters, names) result(*name) parameters;
#include "backend/hip.def"
} hip_calls;

typedef struct hip_state {
    groat__gpu gpu; /* comes first */
    groat__dl dl;
    hip_calls call;
    char version[48];
    int ordinal; /* of the device that this context uses                     */
    groat__called no_device; /* the call that found no device, if count is 0  */
} hip_state;

/* Makes a call of the runtime and notes its name. */
#define HIP_CALL(state, function, args)                                        \
    GROAT__CALL((state)->call, function, args)

/* Opens the runtime.  On failure, too, *out is the state as far as it was set
 * up (NULL without memory), which groat__hip_close() frees.  Errors: NO_DEVICE,
 * NO_MEMORY. */
groat_status groat__hip_open(const groat__env *env,
                             const groat__gpu_calls *calls, void **out,
                             groat_error *error);
void groat__hip_close(void *handle);

/* Fails with NO_DEVICE: there is no device, or not the wanted one. */
groat_status groat__hip_no_device(const hip_state *state, groat_error *error);

/* groat__gpu_calls.enter: makes the state's device the thread's current one;
 * HIP has no contexts. */
groat_status groat__hip_enter(void *state, void *context, groat__visit *visit,
                              groat_error *error);
/* The same to free something: a lost device is no reason to leak. */
bool groat__hip_enter_to_free(void *state, void *context, groat__visit *visit);
void groat__hip_leave(const void *state, const groat__visit *visit);

#endif
