/* SPDX-License-Identifier: Apache-2.0
 *
 * gpu.h - the common part of the GPU backends, over a table of a vendor's
 * calls: noted launches, timing, waiting, memory, captures, error texts.
 * Private to the backends.
 */
#ifndef GROAT_BACKEND_GPU_H
#define GROAT_BACKEND_GPU_H

#include "backend/backend.h"
#include "backend/marks.h"

/* Makes a call of a table of entry points and notes its name. */
#define GROAT__CALL(api, function, args)                                       \
    ((groat__called){#function, (int)(api).function args})

/* Defines a call of the table below that makes just one vendor call; its first
 * parameter is named `state`. */
#define GROAT__ADAPT(type, api, name, parameters, function, args)              \
    static groat__called name parameters                                       \
    {                                                                          \
        return GROAT__CALL(((const type *)state)->api, function, args);        \
    }

/* A visit to a device, with what leave() restores for the thread. */
typedef struct groat__visit {
    void *context; /* that is current during the visit (cuda)                */
    int home;      /* the device before it (hip)                             */
    bool moved;
} groat__visit;

/* State of a capture; both vendors use these values. */
typedef enum groat__capture {
    GROAT__CAPTURE_NONE = 0,
    GROAT__CAPTURE_ACTIVE = 1,
    GROAT__CAPTURE_INVALIDATED = 2
} groat__capture;

/* The calls of a vendor.  state is the backend's; during a visit each call
 * refers to the visited device. */
typedef struct groat__gpu_calls {
    const char *units; /* "SMs" */

    /* Makes the device, or the context of a module, current; NULL: the thread's
     * own or the primary one.  Errors: NO_DEVICE, as of groat__gpu_failed. */
    groat_status (*enter)(void *state, void *context, groat__visit *visit,
                          groat_error *error);
    /* The same to free something; false: it is gone with its context. */
    bool (*enter_to_free)(void *state, void *context, groat__visit *visit);
    void (*leave)(const void *state, const groat__visit *visit);

    /* A code's name and text, or NULL; its status, else `otherwise`. */
    const char *(*error_name)(const void *state, int code);
    const char *(*error_text)(const void *state, int code);
    groat_status (*sort_code)(int code, groat_status otherwise);

    /* One launch on the visited device. */
    groat__called (*enqueue)(const void *state, const groat__module *module,
                             const groat__shape *shape,
                             const groat_launch *launch, const void *args);
    /* Whether the driver can tell if a stream is captured. */
    bool (*can_capture)(const void *state);
    /* ACTIVE also for an implicit capture, NONE if the driver cannot tell. */
    groat__called (*capture_of)(const void *state, void *stream,
                                groat__capture *capture);

    groat__event_calls events;
    groat__called (*synchronize)(const void *state);
    groat__called (*alloc)(const void *state, uint64_t *address, size_t bytes);
    groat__called (*release)(const void *state, uint64_t address);
    groat__called (*write)(const void *state, uint64_t to, const void *from,
                           size_t bytes);
    groat__called (*read)(const void *state, void *to, uint64_t from,
                          size_t bytes);
} groat__gpu_calls;

/* The first member of a backend's state. */
typedef struct groat__gpu {
    const groat__gpu_calls *calls;
    groat__log log;
    int count;              /* of GPUs */
    groat__streams streams; /* of noted launches */
} groat__gpu;

/* The first member of a backend's groat__module. */
typedef struct groat__gpu_module {
    void *context;      /* in which it was loaded; NULL: none (hip)         */
    groat__marks marks; /* of noted launches                                */
} groat__gpu_module;

void groat__gpu_init(groat__gpu *gpu, const groat__gpu_calls *calls,
                     const groat__log *log);
/* Before the driver is closed. */
void groat__gpu_close(groat__gpu *gpu);

/* Writes an error such as "cuMemAlloc said 2 (CUDA_ERROR_OUT_OF_MEMORY, out of
 * memory) for 8 bytes"; sort_code() may replace the status. */
groat_status groat__gpu_failed(const void *state, groat_status status,
                               groat__called call, groat_error *error,
                               const char *format, ...) GROAT_PRINTF(5, 6);

/* The same for a launch, with its grid, block, cluster and shared memory. */
groat_status groat__gpu_launch_failed(const void *state, groat__called call,
                                      const groat__shape *shape,
                                      const groat_launch *launch,
                                      groat_error *error);

/* Doctor lines "cuda device 0" ..., by the device's facts. */
void groat__gpu_report(void *state, const groat__device *device,
                       groat__str *out);

/* Slots of groat__device. */
size_t groat__gpu_count(void *state);
groat_status groat__gpu_may_load(void *state, void *stream, groat_error *error);
groat_status groat__gpu_launch_noted(void *state, groat__module *module,
                                     const groat__shape *shape,
                                     const groat_launch *launch,
                                     const void *args, bool *captured,
                                     groat_error *error);
bool groat__gpu_idle(void *state, groat__module *module);
groat_status groat__gpu_time(void *state, groat__module *module,
                             const groat__shape *shape,
                             const groat_launch *launch, const void *args,
                             unsigned repeats, double *us, groat_error *error);
groat_status groat__gpu_sync(void *state, groat_error *error);
groat_status groat__gpu_alloc(void *state, size_t bytes, uint64_t *address,
                              groat_error *error);
void groat__gpu_release(void *state, uint64_t address);
groat_status groat__gpu_write(void *state, uint64_t to, const void *from,
                              size_t bytes, groat_error *error);
groat_status groat__gpu_read(void *state, void *to, uint64_t from, size_t bytes,
                             groat_error *error);

#endif
