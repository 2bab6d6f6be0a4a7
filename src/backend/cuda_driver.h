/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_driver.h - the CUDA driver: opening it, its entry points, and the
 * context that a call runs in.  Private to the cuda backend.
 */
#ifndef GROAT_BACKEND_CUDA_DRIVER_H
#define GROAT_BACKEND_CUDA_DRIVER_H

#include <pthread.h>

#include "backend/backend.h"
#include "backend/cuda_abi.h"
#include "backend/gpu.h"
#include "base/dl.h"

typedef struct cuda_api {
#define SYMBOL(need, version, name, symbol, args) CUresult(*name) args;
#include "backend/cuda.def"
#undef SYMBOL
} cuda_api;

typedef struct cuda_state {
    groat__gpu gpu; /* comes first */
    groat__env env;
    groat__dl dl;
    cuda_api cu;
    int driver; /* 13000 is 13.0 */
    pthread_mutex_t lock;
    CUcontext primary; /* NULL until it is needed */
    CUdevice primary_device;
} cuda_state;

/* Makes a call of the driver and notes its name. */
#define CU(state, function, args) GROAT__CALL((state)->cu, function, args)

/* Opens the driver.  On failure, too, *out is the state as far as it was set up
 * (NULL without memory), which groat__cuda_close() frees.  Errors: NO_DEVICE,
 * NO_MEMORY. */
groat_status groat__cuda_open(const groat__env *env,
                              const groat__gpu_calls *calls, void **out,
                              groat_error *error);
void groat__cuda_close(void *handle);

/* The status of a load that the driver refused with `code`. */
groat_status groat__cuda_load_status(CUresult code);
groat_status groat__cuda_no_such_device(const cuda_state *state,
                                        groat_status status, int wanted,
                                        groat_error *error);

/* groat__gpu_calls.enter: makes `wanted` current; NULL: keeps the thread's own
 * context, or else makes the primary one current. */
groat_status groat__cuda_enter(void *state, void *wanted, groat__visit *visit,
                               groat_error *error);
void groat__cuda_leave(const void *state, const groat__visit *visit);

/* Exchanges the thread's stream capture mode with *mode: in the strict modes, a
 * load, an unload or an event query would break captures of other threads. */
void groat__cuda_exchange_mode(const cuda_state *state,
                               CUstreamCaptureMode *mode);

/* cuda_tensor.c: groat__device.tensor_map. */
groat_status groat__cuda_tensor_map(void *handle, const groat_tensor *tensor,
                                    groat_tensor_map *out, groat_error *error);

/* Whether the bytes are a complete ELF file (machine code), or a text that ends
 * with NUL (PTX): the driver is told no size. */
bool groat__cuda_is_image(const void *data, size_t bytes);

/* cuDriverGetVersion without initializing the driver: 13000 for 13.0; 0 when
 * there is no driver. */
int groat__cuda_driver_version(const groat__env *env);

#endif
