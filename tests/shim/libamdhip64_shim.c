/* SPDX-License-Identifier: Apache-2.0
 *
 * libamdhip64_shim.c stands in for the HIP runtime in tests.  -DSHIM_ROCM=5, 6
 * or 7 (the default) chooses the layout: 5 has hipRTC inside and the old device
 * properties only, 6 has both, 7 has no hipRTC; the plain symbol keeps the old
 * structure in all three.  -DSHIM_LACKS_SYMBOL leaves hipModuleUnload out.
 * Device memory is host memory; modules belong to the device they were loaded
 * on and launches elsewhere are refused.  Its control is its only mutable
 * object; it is driven from one thread.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/hip_abi.h"
#include "tests/shim/shim_hip.h"

#ifndef SHIM_ROCM
#define SHIM_ROCM 7
#endif

#define EXPORT __attribute__((visibility("default")))
#define HIP(name, needed, result, parameters, names)                           \
    result name parameters EXPORT;
#include "backend/hip.def"
#if SHIM_ROCM < 7
#include "tests/shim/libhiprtc_shim.c"
#endif

shim_hip_control *shim_hip(void) EXPORT;

struct ihipModuleSymbol_t {
    struct ihipModule_t *module;
};

struct ihipModule_t {
    int device;
    const char *image;
    struct ihipModuleSymbol_t function;
};

struct ihipEvent_t {
    bool recorded;
};

static shim_hip_control control = {
    .devices = 2, .arch = "gfx950:sramecc+:xnack-", .optin_lds = 163840};

#define FAULT(call)                                                            \
    do {                                                                       \
        if (shim_answers(&control.fault, #call))                               \
            return control.fault.code;                                         \
    } while (0)

shim_hip_control *shim_hip(void)
{
    return &control;
}

int hipInit(unsigned flags)
{
    FAULT(hipInit);
    return flags == 0 ? control.init : 1;
}

int hipRuntimeGetVersion(int *version)
{
    static const int versions[] = {50221153, 60443484, 70253211};

    FAULT(hipRuntimeGetVersion);
    *version = versions[SHIM_ROCM - 5];
    return 0;
}

const char *hipGetErrorName(int error)
{
    if (shim_answers(&control.fault, "hipGetErrorName"))
        return NULL;
    return error == 100 ? "hipErrorNoDevice" : "hipErrorShim";
}

const char *hipGetErrorString(int error)
{
    (void)error;
    if (shim_answers(&control.fault, "hipGetErrorString"))
        return NULL;
    return "the stand-in says no";
}

int hipGetDeviceCount(int *count)
{
    FAULT(hipGetDeviceCount);
    *count = control.devices;
    return control.devices > 0 ? 0 : 100;
}

int hipGetDevice(int *device)
{
    FAULT(hipGetDevice);
    *device = control.current;
    return 0;
}

int hipSetDevice(int device)
{
    bool answers = shim_answers(&control.fault, "hipSetDevice");

    if (answers)
        return control.fault.code;
    if (device < 0 || device >= control.devices)
        return 101;
    control.current = device;
    return 0;
}

int hipDeviceGetName(char *name, int bytes, int device)
{
    FAULT(hipDeviceGetName);
    (void)snprintf(name, (size_t)bytes, "Stand-in %d", device);
    return 0;
}

int hipDeviceTotalMem(size_t *bytes, int device)
{
    FAULT(hipDeviceTotalMem);
    *bytes = (size_t)(device + 1) << 30;
    return 0;
}

int hipDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    FAULT(hipDeviceGetAttribute);
    switch (attribute) {
    case 5:
        *value = 2400000;
        return 0;
    case 63:
        *value = 256;
        return 0;
    case 74:
        *value = 65536;
        return 0;
    case 75:
        *value = control.optin_lds;
        return control.optin_lds > 0 ? 0 : 1;
    default:
        return 1;
    }
}

/* Fills the whole structure, so that a reader of the wrong layout finds no
 * name. */
static void fill_properties(char *properties, size_t size, size_t arch_at)
{
    memset(properties, 0x5a, size);
    (void)snprintf(properties + arch_at, 256, "%s", control.arch);
}

#if SHIM_ROCM >= 6
int hipGetDevicePropertiesR0600(void *properties, int device)
{
    FAULT(hipGetDevicePropertiesR0600);
    if (device < 0 || device >= control.devices)
        return 101;
    control.properties_r0600++;
    fill_properties(properties, 1472, 1160);
    return 0;
}
#endif

int hipGetDeviceProperties(void *properties, int device)
{
    FAULT(hipGetDeviceProperties);
    if (device < 0 || device >= control.devices)
        return 101;
    fill_properties(properties, 792, 396);
    return 0;
}

int hipStreamIsCapturing(groat__hip_stream stream, void *status)
{
    FAULT(hipStreamIsCapturing);
    if (stream == NULL && control.capture == 1)
        return 906;
    memcpy(status, &control.capture, sizeof(control.capture));
    return 0;
}

int hipModuleLoadData(groat__hip_module *module, const void *image)
{
    FAULT(hipModuleLoadData);
    if (memcmp(image, ELFMAG, SELFMAG) != 0)
        return 200;
    *module = calloc(1, sizeof(**module));
    if (*module == NULL)
        return 2;
    (*module)->device = control.current;
    (*module)->image = image;
    (*module)->function.module = *module;
    control.modules++;
    return 0;
}

#ifndef SHIM_LACKS_SYMBOL
int hipModuleUnload(groat__hip_module module)
{
    bool answers = shim_answers(&control.fault, "hipModuleUnload");

    free(module);
    control.modules--;
    return answers ? control.fault.code : 0;
}
#endif

/* Reads the image late, as the runtime may: it must live with the module. */
int hipModuleGetFunction(groat__hip_function *function,
                         groat__hip_module module, const char *name)
{
    Elf64_Phdr notes;

    FAULT(hipModuleGetFunction);
    memcpy(&notes, module->image + sizeof(Elf64_Ehdr), sizeof(notes));
    if (memmem(module->image + notes.p_offset, notes.p_filesz, name,
               strlen(name)) == NULL)
        return 500;
    *function = &module->function;
    return 0;
}

int hipFuncGetAttribute(int *value, int attribute, groat__hip_function function)
{
    FAULT(hipFuncGetAttribute);
    if (memcmp(function->module->image, ELFMAG, SELFMAG) != 0)
        return 98;
    switch (attribute) {
    case 0:
        *value = 1024;
        return 0;
    case 1:
        *value = control.static_lds;
        return 0;
    case 3:
        *value = 32;
        return 0;
    case 4:
        *value = 96;
        return 0;
    default:
        return 1;
    }
}

int hipFuncSetAttribute(const void *function, int attribute, int value)
{
    (void)function;
    FAULT(hipFuncSetAttribute);
    if (attribute != 8)
        return 1;
    control.dynamic_max = value;
    return 0;
}

int hipModuleLaunchKernel(groat__hip_function function, unsigned grid_x,
                          unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z,
                          unsigned shared_bytes, groat__hip_stream stream,
                          void **parameters, void **extra)
{
    FAULT(hipModuleLaunchKernel);
    if (function->module->device != control.current)
        return 101;
    if (grid_x * grid_y * grid_z == 0 || block_x * block_y * block_z > 1024 ||
        extra != NULL || parameters == NULL)
        return 1;
    control.last = (shim_hip_launch){{grid_x, grid_y, grid_z},
                                     {block_x, block_y, block_z},
                                     shared_bytes,
                                     stream,
                                     control.current,
                                     0};
    memcpy(&control.last.arg, parameters[0], sizeof(control.last.arg));
    control.launches++;
    return 0;
}

int hipDeviceSynchronize(void)
{
    FAULT(hipDeviceSynchronize);
    return 0;
}

int hipEventCreate(groat__hip_event *event)
{
    FAULT(hipEventCreate);
    *event = calloc(1, sizeof(**event));
    if (*event == NULL)
        return 2;
    control.events++;
    return 0;
}

int hipEventCreateWithFlags(groat__hip_event *event, unsigned flags)
{
    FAULT(hipEventCreateWithFlags);
    if (flags != GROAT__HIP_EVENT_DISABLE_TIMING)
        return 1;
    *event = calloc(1, sizeof(**event));
    if (*event == NULL)
        return 2;
    control.events++;
    return 0;
}

int hipEventQuery(groat__hip_event event)
{
    FAULT(hipEventQuery);
    return event->recorded && control.running ? GROAT__HIP_NOT_READY : 0;
}

int hipStreamWaitEvent(groat__hip_stream stream, groat__hip_event event,
                       unsigned flags)
{
    FAULT(hipStreamWaitEvent);
    if (stream != control.last.stream || flags != 0 || !event->recorded)
        return 1;
    control.waits++;
    return 0;
}

int hipEventDestroy(groat__hip_event event)
{
    bool answers = shim_answers(&control.fault, "hipEventDestroy");

    free(event);
    control.events--;
    return answers ? control.fault.code : 0;
}

int hipEventRecord(groat__hip_event event, groat__hip_stream stream)
{
    (void)stream;
    FAULT(hipEventRecord);
    event->recorded = true;
    return 0;
}

int hipEventSynchronize(groat__hip_event event)
{
    FAULT(hipEventSynchronize);
    return event->recorded ? 0 : 400;
}

int hipEventElapsedTime(float *ms, groat__hip_event from, groat__hip_event to)
{
    FAULT(hipEventElapsedTime);
    if (!from->recorded || !to->recorded)
        return 400;
    *ms = 0.5f;
    return 0;
}

int hipMalloc(void **address, size_t bytes)
{
    FAULT(hipMalloc);
    *address = malloc(bytes);
    if (bytes == 0 || *address == NULL)
        return 2;
    control.allocations++;
    return 0;
}

int hipFree(void *address)
{
    bool answers = shim_answers(&control.fault, "hipFree");

    free(address);
    control.allocations--;
    return answers ? control.fault.code : 0;
}

int hipMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    FAULT(hipMemcpy);
    if (kind != 1 && kind != 2)
        return 21;
    memcpy(to, from, bytes);
    return 0;
}
