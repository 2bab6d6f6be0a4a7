/* SPDX-License-Identifier: Apache-2.0
 *
 * gpu.c is the common part of the GPU backends: noted launches, timing,
 * waiting, memory, captures.  It calls the vendor through a table; the parts
 * that differ (opening, loading, the launch of the hot path) are in cuda.c and
 * hip.c.
 *
 * Invariant: the calling thread's context and device are the same before and
 * after every slot.  Locking: none but marks.c's.
 */
#include "backend/gpu.h"

#include <stdarg.h>
#include <stdio.h>

#include "backend/shared.h"
#include "base/error.h"
#include "base/str.h"

/* ---- errors ------------------------------------------------------------- */

groat_status groat__gpu_failed(const void *state, groat_status status,
                               groat__called call, groat_error *error,
                               const char *format, ...)
{
    const groat__gpu_calls *calls = ((const groat__gpu *)state)->calls;
    const char *name = calls->error_name(state, call.code);
    const char *text = calls->error_text(state, call.code);
    groat__str about = {0};
    va_list args;

    va_start(args, format);
    groat__str_addv(&about, format, args);
    va_end(args);
    status = calls->sort_code(call.code, status);
    groat__fail_vendor(
        error, status, call.name, call.code, "%s said %d (%s, %s) %s",
        call.name, call.code, name == NULL ? "no name" : name,
        text == NULL ? "no text" : text, about.failed ? "" : about.data);
    groat__str_free(&about);
    return status;
}

groat_status groat__gpu_launch_failed(const void *state, groat__called call,
                                      const groat__shape *shape,
                                      const groat_launch *launch,
                                      groat_error *error)
{
    return groat__gpu_failed(
        state, GROAT_LAUNCH_FAILED, call, error,
        "for grid %u,%u,%u block %u,%u,%u cluster %u,%u,%u and %u bytes of "
        "dynamic shared memory",
        launch->grid[0], launch->grid[1], launch->grid[2], shape->block[0],
        shape->block[1], shape->block[2], shape->cluster[0], shape->cluster[1],
        shape->cluster[2], shape->dynamic_bytes);
}

/* ---- streams ------------------------------------------------------------ */

static void drop_event(void *state, void *context, void *event)
{
    const groat__gpu_calls *calls = ((const groat__gpu *)state)->calls;
    groat__visit visit;

    if (!calls->enter_to_free(state, context, &visit))
        return;
    (void)calls->events.destroy(state, event);
    calls->leave(state, &visit);
}

void groat__gpu_init(groat__gpu *gpu, const groat__gpu_calls *calls,
                     const groat__log *log)
{
    gpu->calls = calls;
    gpu->log = *log;
    groat__streams_init(&gpu->streams);
}

void groat__gpu_close(groat__gpu *gpu)
{
    groat__streams_close(&gpu->streams, drop_event, gpu);
}

size_t groat__gpu_count(void *state)
{
    const groat__gpu *gpu = state;

    return gpu->count > 0 ? (size_t)gpu->count : 0;
}

/* ---- captures ----------------------------------------------------------- */

groat_status groat__gpu_may_load(void *state, void *stream, groat_error *error)
{
    const groat__gpu_calls *calls = ((const groat__gpu *)state)->calls;
    groat__capture capture = GROAT__CAPTURE_NONE;
    groat__visit visit;
    groat_status status;
    groat__called call;

    if (!calls->can_capture(state))
        return GROAT_OK;
    status = calls->enter(state, NULL, &visit, error);
    if (status != GROAT_OK)
        return status;
    call = calls->capture_of(state, stream, &capture);
    if (call.code != 0)
        status = groat__gpu_failed(state, GROAT_LAUNCH_FAILED, call, error,
                                   "for stream %p", stream);
    else if (capture == GROAT__CAPTURE_ACTIVE)
        status = groat__capturing(error);
    else if (capture == GROAT__CAPTURE_INVALIDATED)
        status = groat__capture_failed(error);
    calls->leave(state, &visit);
    return status;
}

/* Whether the driver confirms that the stream is not captured. */
static bool is_free(const groat__gpu *gpu, void *stream)
{
    groat__capture capture = GROAT__CAPTURE_NONE;

    return gpu->calls->capture_of(gpu, stream, &capture).code == 0 &&
           capture == GROAT__CAPTURE_NONE;
}

/* ---- launches ----------------------------------------------------------- */

groat_status groat__gpu_launch_noted(void *state, groat__module *module,
                                     const groat__shape *shape,
                                     const groat_launch *launch,
                                     const void *args, bool *captured,
                                     groat_error *error)
{
    groat__gpu *gpu = state;
    groat__gpu_module *common = (groat__gpu_module *)(void *)module;
    groat__visit visit;
    groat__called call;
    groat_status status =
        gpu->calls->enter(state, common->context, &visit, error);

    if (status != GROAT_OK)
        return status;
    *captured = !is_free(gpu, launch->stream);
    call = gpu->calls->enqueue(state, module, shape, launch, args);
    if (call.code == 0 && !*captured)
        groat__marks_note(&common->marks, &gpu->streams, &gpu->calls->events,
                          state, common->context, launch->stream);
    gpu->calls->leave(state, &visit);
    return call.code == 0
               ? GROAT_OK
               : groat__gpu_launch_failed(state, call, shape, launch, error);
}

bool groat__gpu_idle(void *state, groat__module *module)
{
    groat__gpu *gpu = state;
    groat__gpu_module *common = (groat__gpu_module *)(void *)module;
    groat__visit visit;
    bool idle;

    if (gpu->calls->enter(state, common->context, &visit, NULL) != GROAT_OK)
        return false;
    /* The default stream counts as captured while another of its context is. */
    idle =
        is_free(gpu, NULL) && groat__marks_done(&common->marks, &gpu->streams,
                                                &gpu->calls->events, state);
    gpu->calls->leave(state, &visit);
    return idle;
}

/* Only launches are between the two events, and no other launch is made. */
static groat_status time_between(const groat__gpu *gpu,
                                 const groat__module *module,
                                 const groat__shape *shape,
                                 const groat_launch *launch, const void *args,
                                 unsigned repeats, void *const event[2],
                                 double *us, groat_error *error)
{
    const groat__gpu_calls *calls = gpu->calls;
    groat__called call = calls->events.record(gpu, event[0], launch->stream);
    float ms = 0;

    for (unsigned i = 0; call.code == 0 && i < repeats; i++) {
        call = calls->enqueue(gpu, module, shape, launch, args);
        if (call.code != 0)
            return groat__gpu_launch_failed(gpu, call, shape, launch, error);
    }
    if (call.code == 0)
        call = calls->events.record(gpu, event[1], launch->stream);
    if (call.code == 0)
        call = calls->events.sync(gpu, event[1]);
    if (call.code == 0)
        call = calls->events.elapsed(gpu, &ms, event[0], event[1]);
    if (call.code != 0)
        return groat__gpu_failed(gpu, GROAT_LAUNCH_FAILED, call, error,
                                 "while timing %u launches", repeats);
    *us = (double)ms * 1000.0 / repeats;
    return GROAT_OK;
}

groat_status groat__gpu_time(void *state, groat__module *module,
                             const groat__shape *shape,
                             const groat_launch *launch, const void *args,
                             unsigned repeats, double *us, groat_error *error)
{
    groat__gpu *gpu = state;
    const groat__gpu_module *common = (const groat__gpu_module *)(void *)module;
    groat__called call = {"", 0};
    void *event[2] = {NULL, NULL};
    groat_status status;
    groat__visit visit;
    int made = 0;

    if (repeats == 0)
        return groat__fail(error, GROAT_INVALID,
                           "0 launches cannot be timed; 1 or more can");
    status = gpu->calls->enter(state, common->context, &visit, error);
    if (status != GROAT_OK)
        return status;
    while (made < 2 && call.code == 0) {
        call = gpu->calls->events.create(state, &event[made], true);
        made += call.code == 0;
    }
    if (call.code != 0)
        status = groat__gpu_failed(state, GROAT_LAUNCH_FAILED, call, error,
                                   "while timing %u launches", repeats);
    else
        status = time_between(gpu, module, shape, launch, args, repeats, event,
                              us, error);
    while (made > 0)
        (void)gpu->calls->events.destroy(state, event[--made]);
    gpu->calls->leave(state, &visit);
    return status;
}

groat_status groat__gpu_sync(void *state, groat_error *error)
{
    groat__gpu *gpu = state;
    groat__visit visit;
    groat_status status = gpu->calls->enter(state, NULL, &visit, error);
    groat__called call;
    groat__wait wait;

    if (status != GROAT_OK)
        return status;
    groat__wait_begin(&gpu->streams, &wait);
    call = gpu->calls->synchronize(state);
    if (call.code == 0)
        groat__wait_end(&gpu->streams, &wait, visit.context);
    else
        status = groat__gpu_failed(state, GROAT_LAUNCH_FAILED, call, error,
                                   "for the work queued earlier");
    gpu->calls->leave(state, &visit);
    return status;
}

/* ---- memory ------------------------------------------------------------- */

/* 0 bytes get address 0, which release ignores. */
groat_status groat__gpu_alloc(void *state, size_t bytes, uint64_t *address,
                              groat_error *error)
{
    const groat__gpu_calls *calls = ((const groat__gpu *)state)->calls;
    uint64_t found = 0;
    groat__visit visit;
    groat_status status = calls->enter(state, NULL, &visit, error);

    if (status != GROAT_OK)
        return status;
    if (bytes > 0) {
        groat__called call = calls->alloc(state, &found, bytes);

        if (call.code != 0)
            status = groat__gpu_failed(state, GROAT_NO_DEVICE, call, error,
                                       "for %zu bytes", bytes);
    }
    if (status == GROAT_OK)
        *address = found;
    calls->leave(state, &visit);
    return status;
}

void groat__gpu_release(void *state, uint64_t address)
{
    const groat__gpu *gpu = state;
    groat__visit visit;
    groat__called call;

    if (address == 0 || !gpu->calls->enter_to_free(state, NULL, &visit))
        return;
    call = gpu->calls->release(state, address);
    gpu->calls->leave(state, &visit);
    if (call.code != 0)
        groat__log_line(&gpu->log, GROAT_LOG_WARNING,
                        "%s said %d for address 0x%llx", call.name, call.code,
                        (unsigned long long)address);
}

static groat_status copy(void *state, bool to_host, uint64_t address,
                         void *host, size_t bytes, groat_error *error)
{
    const groat__gpu_calls *calls = ((const groat__gpu *)state)->calls;
    groat_status status;
    groat__called call;
    groat__visit visit;

    if (bytes == 0)
        return GROAT_OK;
    status = calls->enter(state, NULL, &visit, error);
    if (status != GROAT_OK)
        return status;
    call = to_host ? calls->read(state, host, address, bytes)
                   : calls->write(state, address, host, bytes);
    if (call.code != 0)
        status = groat__gpu_failed(
            state, GROAT_LAUNCH_FAILED, call, error, "for %zu bytes %s 0x%llx",
            bytes, to_host ? "from" : "to", (unsigned long long)address);
    calls->leave(state, &visit);
    return status;
}

groat_status groat__gpu_write(void *state, uint64_t to, const void *from,
                              size_t bytes, groat_error *error)
{
    /* copy() only reads from the host in this direction. */
    return copy(state, false, to, (void *)(uintptr_t)from, bytes, error);
}

groat_status groat__gpu_read(void *state, void *to, uint64_t from, size_t bytes,
                             groat_error *error)
{
    return copy(state, true, from, to, bytes, error);
}

/* ---- report ------------------------------------------------------------- */

void groat__gpu_report(void *state, const groat__device *device,
                       groat__str *out)
{
    const groat__gpu *gpu = state;

    for (size_t i = 0; i < groat__gpu_count(state); i++) {
        groat_device_info info = {.size = sizeof(info)};
        groat_error error = GROAT_ERROR_INIT;
        char subject[48];

        (void)snprintf(subject, sizeof(subject), "%s device %zu", device->name,
                       i);
        if (device->facts(state, i, &info, &error) == GROAT_OK)
            groat__finding(
                out, subject, true, "%s, %s, %d %s, %llu MiB, %d KiB shared",
                info.target, info.name, info.multiprocessors, gpu->calls->units,
                (unsigned long long)(info.memory_bytes >> 20),
                info.shared_bytes_max >> 10);
        else
            groat__finding(out, subject, false, "%s", error.text);
        groat_error_clear(&error);
    }
}
