/* SPDX-License-Identifier: Apache-2.0
 *
 * hip_driver.h - the HIP runtime, opened: its entry points, its errors in
 * words, and the device that a call is about.  Private to the hip backend.
 */
#ifndef GROAT_BACKEND_HIP_DRIVER_H
#define GROAT_BACKEND_HIP_DRIVER_H

#include "backend/backend.h"
#include "backend/hip_abi.h"
#include "backend/marks.h"
#include "base/dl.h"

typedef struct hip_calls {
#define HIP(name, needed, result, parameters, names) result(*name) parameters;
#include "backend/hip.def"
} hip_calls;

typedef struct hip_state {
    groat__dl dl;
    hip_calls call;
    char version[48];
    int ordinal; /* of the device that this context uses                     */
    int devices;
    int no_device_code;         /* why devices is 0, if it is                 */
    const char *no_device_call; /* borrowed literal                           */
    groat__streams streams;     /* of launches that were noted                */
} hip_state;

/* The calling thread's device, to be put back. */
typedef struct visit {
    int home;
    bool moved;
} visit;

/* Opens the runtime.  The state is handed out, as far as it came, on failure
 * too (NULL with no memory): groat__hip_close() frees it.  Errors: NO_DEVICE,
 * NO_MEMORY. */
groat_status groat__hip_open(const groat__env *env, hip_state **out,
                             groat_error *error);
void groat__hip_close(hip_state *state);

/* "hipMalloc said 2 (hipErrorOutOfMemory: out of memory)"; codes that say
 * something of the device have its status. */
groat_status groat__hip_failed(const hip_state *state, groat_status status,
                               const char *call, int code, groat_error *error);

/* NO_DEVICE: there is none, or not the one that is wanted. */
groat_status groat__hip_no_device(const hip_state *state, groat_error *error);

/* Makes the state's device the thread's; a visit that succeeded is ended by
 * groat__hip_leave(). */
groat_status groat__hip_enter(const hip_state *state, visit *stay,
                              groat_error *error);
void groat__hip_leave(const hip_state *state, const visit *stay);

/* Of the events behind launches that were noted. */
extern const groat__mark_calls groat__hip_mark_calls;

#endif
