/* SPDX-License-Identifier: Apache-2.0
 *
 * libcuda_shim.c stands in for libcuda in tests.  It keeps a real context
 * stack per thread, refuses launches in the wrong context as the driver does,
 * backs device memory with host memory, counts every live object and lets one
 * call fail on demand.  Its mutable objects are the control that the test
 * holds, the live objects and the stacks; it is driven from one thread at a
 * time.
 */
#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda_abi.h"
#include "tests/shim/shim.h"

/* Exported, yet bound within the library, so that a copy in which a test has
 * hidden a name still loads. */
#define EXPORT __attribute__((visibility("protected")))

#define SYMBOL(need, version, name, symbol, args) CUresult symbol args EXPORT;
#include "backend/cuda.def"
#undef SYMBOL

shim_cuda_control *shim_cuda(void) EXPORT;
void shim_cuda_reap(void) EXPORT;
int shim_cuda_depth(void **top) EXPORT;
void *shim_cuda_user(void) EXPORT;

struct CUctx_st {
    int device;
};

struct CUfunc_st {
    CUmodule module;
};

struct CUmod_st {
    CUcontext context;
    struct CUfunc_st function;
};

struct CUevent_st {
    bool recorded;
    bool timed;
};

enum { STACK = 16, DEVICES = 4, LIVE = 128 };

static shim_cuda_control control;
static struct CUctx_st primary[DEVICES] = {{0}, {1}, {2}, {3}};
static struct CUctx_st user = {0};
static void *live[LIVE];
static _Thread_local CUcontext stack[STACK];
static _Thread_local int depth;

/* A process that has no test in it asks for devices by a variable. */
__attribute__((constructor)) static void start(void)
{
    if (getenv("SHIM_CUDA") != NULL)
        shim_cuda_reset(&control);
}

shim_cuda_control *shim_cuda(void)
{
    return &control;
}

int shim_cuda_depth(void **top)
{
    *top = depth > 0 ? stack[depth - 1] : NULL;
    return depth;
}

void *shim_cuda_user(void)
{
    return &user;
}

static int fault(const char *call)
{
    if (control.gone)
        abort();
    (void)__atomic_fetch_add(&control.calls, 1, __ATOMIC_RELAXED);
    if (strcmp(control.fault.call, call) != 0 || control.fault.at <= 0 ||
        --control.fault.at != 0)
        return CUDA_SUCCESS;
    control.fault.hit = true;
    return control.fault.code;
}

#define FAULT(call)                                                            \
    do {                                                                       \
        int code_ = fault(#call);                                              \
        if (code_ != CUDA_SUCCESS)                                             \
            return code_;                                                      \
    } while (0)

/* Every live object is listed, so that a test can free unreachable ones. */
static void *make(size_t bytes)
{
    for (int i = 0; i < LIVE; i++)
        if (live[i] == NULL) {
            live[i] = calloc(1, bytes);
            return live[i];
        }
    return NULL;
}

/* Aborts in free() when the object is not live, as a double free should. */
static void drop(void *object)
{
    for (int i = 0; i < LIVE; i++)
        if (live[i] == object)
            live[i] = NULL;
    free(object);
}

void shim_cuda_reap(void)
{
    for (int i = 0; i < LIVE; i++)
        drop(live[i]);
    control.modules = 0;
    control.allocations = 0;
    control.events = 0;
}

static CUcontext current(void)
{
    return depth > 0 ? stack[depth - 1] : NULL;
}

/* ---- the library, devices, contexts ------------------------------------- */

typedef struct entry {
    const char *name;
    const char *symbol;
    int version;
    bool optional;
} entry;

enum { needed = 0, optional = 1 };

/* Pointers to the functions would be relocations by name, which a copy with a
 * hidden name could not satisfy. */
static void *own_symbol(const char *symbol)
{
    Dl_info info;
    void *address = NULL;
    void *self;

    if (dladdr(&control, &info) == 0)
        return NULL;
    self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    if (self == NULL)
        return NULL;
    address = dlsym(self, symbol);
    (void)dlclose(self);
    return address;
}

CUresult cuGetProcAddress_v2(const char *name, void **address, int version,
                             cuuint64_t flags,
                             CUdriverProcAddressQueryResult *found)
{
    static const entry entries[] = {
#define SYMBOL(need, version, name, symbol, args)                              \
    {#name, #symbol, version, need},
#include "backend/cuda.def"
#undef SYMBOL
    };

    FAULT(cuGetProcAddress);
    if (flags != CU_GET_PROC_ADDRESS_LEGACY_STREAM)
        return CUDA_ERROR_INVALID_VALUE;
    *address = NULL;
    *found = 1;
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
        if (strcmp(entries[i].name, name) == 0 &&
            entries[i].version == version &&
            (control.proc_address || !entries[i].optional))
            *address = own_symbol(entries[i].symbol);
    if (*address == NULL)
        return CUDA_ERROR_NOT_FOUND;
    *found = CU_GET_PROC_ADDRESS_SUCCESS;
    return CUDA_SUCCESS;
}

CUresult cuInit(unsigned flags)
{
    FAULT(cuInit);
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    return control.devices == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
    FAULT(cuDriverGetVersion);
    *version = control.driver;
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult result, const char **text)
{
    FAULT(cuGetErrorName);
    *text = result == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
                                               : "CUDA_ERROR_OF_THE_SHIM";
    return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult result, const char **text)
{
    (void)result;
    FAULT(cuGetErrorString);
    *text = "the shim says no";
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    FAULT(cuDeviceGetCount);
    *count = control.devices;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    FAULT(cuDeviceGet);
    if (ordinal < 0 || ordinal >= control.devices)
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int bytes, CUdevice device)
{
    static const char text[] = "Shim\tGPU";

    (void)device;
    FAULT(cuDeviceGetName);
    if (bytes < (int)sizeof(text))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(name, text, sizeof(text));
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    (void)device;
    FAULT(cuDeviceTotalMem);
    *bytes = (size_t)1 << 37;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                              CUdevice device)
{
    FAULT(cuDeviceGetAttribute);
    if (device < 0 || device >= control.devices)
        return CUDA_ERROR_INVALID_DEVICE;
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = control.capability[0];
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *value = control.capability[1];
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = 132;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
        *value = control.shared_optin;
        return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
        *value = 1980000;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    FAULT(cuDevicePrimaryCtxRetain);
    if (device < 0 || device >= DEVICES)
        return CUDA_ERROR_INVALID_DEVICE;
    control.retained++;
    *context = &primary[device];
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    (void)device;
    control.retained--;
    FAULT(cuDevicePrimaryCtxRelease);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
    FAULT(cuCtxGetCurrent);
    *context = current();
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    FAULT(cuCtxGetDevice);
    if (current() == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    *device = current()->device;
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    FAULT(cuCtxPushCurrent);
    if (context == NULL || depth == STACK)
        return CUDA_ERROR_INVALID_CONTEXT;
    control.pushes++;
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    if (depth == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    *context = stack[--depth];
    FAULT(cuCtxPopCurrent);
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
    FAULT(cuCtxSynchronize);
    return current() == NULL ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

/* ---- modules and launches ----------------------------------------------- */

static void say_refused(unsigned count, const CUjit_option *options,
                        void *const *values)
{
    static const char text[] = "shim: this image is refused";

    for (unsigned i = 0; i + 1 < count; i++)
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER &&
            options[i + 1] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES &&
            (uintptr_t)values[i + 1] >= sizeof(text))
            memcpy(values[i], text, sizeof(text));
}

/* Unsafe calls break a capture, unless the thread is in relaxed mode. */
static int disturb_capture(void)
{
    if (control.capture != CU_STREAM_CAPTURE_STATUS_ACTIVE ||
        control.mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_SUCCESS;
    control.capture = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    FAULT(cuStreamIsCapturing);
    if (current() == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (stream == NULL && control.capture == CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    *status = control.capture;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream stream, unsigned long long *number)
{
    FAULT(cuStreamGetId);
    if (!control.numbers)
        return CUDA_ERROR_NOT_FOUND;
    *number = (uintptr_t)stream * 16 + (unsigned)control.streams_made;
    return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    int before = control.mode;

    FAULT(cuThreadExchangeStreamCaptureMode);
    control.mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                            CUjit_option *options, void **values)
{
    bool good =
        strncmp(image, ELFMAG, SELFMAG) == 0 || strncmp(image, "//", 2) == 0;
    int code = fault("cuModuleLoadDataEx");
    CUmodule made;

    if (code == CUDA_SUCCESS && current() == NULL)
        code = CUDA_ERROR_INVALID_CONTEXT;
    if (code == CUDA_SUCCESS && !good)
        code = CUDA_ERROR_INVALID_IMAGE;
    if (code == CUDA_SUCCESS)
        code = disturb_capture();
    if (code != CUDA_SUCCESS) {
        say_refused(count, options, values);
        return code;
    }
    made = make(sizeof(*made));
    if (made == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->function.module = made;
    made->context = current();
    control.modules++;
    *module = made;
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module)
{
    if (module->context != current())
        return CUDA_ERROR_INVALID_CONTEXT;
    if (disturb_capture() != CUDA_SUCCESS)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (control.unloading != NULL)
        control.unloading();
    drop(module);
    control.modules--;
    FAULT(cuModuleUnload);
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                             const char *name)
{
    FAULT(cuModuleGetFunction);
    if (strcmp(name, "k") != 0)
        return CUDA_ERROR_NOT_FOUND;
    *function = &module->function;
    return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction function)
{
    (void)function;
    FAULT(cuFuncLoad);
    control.loads++;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute,
                            CUfunction function)
{
    (void)function;
    FAULT(cuFuncGetAttribute);
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = 640;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = control.static_shared;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = 24;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = 77;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                            int value)
{
    (void)function;
    FAULT(cuFuncSetAttribute);
    if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
        control.wide_cluster = value;
        return CUDA_SUCCESS;
    }
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
        value > control.shared_optin - control.static_shared)
        return CUDA_ERROR_INVALID_VALUE;
    control.dynamic_max = value;
    return CUDA_SUCCESS;
}

static CUresult take_launch(CUfunction function, const shim_launch *launch,
                            void **params)
{
    if (current() == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (function->module->context != current())
        return CUDA_ERROR_INVALID_HANDLE;
    control.launches++;
    control.last = *launch;
    control.last.context = current();
    if (params != NULL)
        memcpy(&control.last.arg, params[0], sizeof(control.last.arg));
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                        unsigned grid_z, unsigned block_x, unsigned block_y,
                        unsigned block_z, unsigned shared, CUstream stream,
                        void **params, void **extra)
{
    const shim_launch launch = {.grid = {grid_x, grid_y, grid_z},
                                .block = {block_x, block_y, block_z},
                                .cluster = {1, 1, 1},
                                .shared = shared,
                                .stream = stream};

    FAULT(cuLaunchKernel);
    if (extra != NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return take_launch(function, &launch, params);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                          void **params, void **extra)
{
    shim_launch launch = {
        .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
        .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
        .cluster = {1, 1, 1},
        .shared = config->sharedMemBytes,
        .stream = config->hStream,
        .extended = true};

    FAULT(cuLaunchKernelEx);
    if (extra != NULL)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &config->attrs[i];

        if (attribute->id ==
            CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
            launch.overlaps =
                attribute->value.programmaticStreamSerializationAllowed;
            continue;
        }
        if (attribute->id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            return CUDA_ERROR_INVALID_VALUE;
        launch.cluster[0] = attribute->value.clusterDim.x;
        launch.cluster[1] = attribute->value.clusterDim.y;
        launch.cluster[2] = attribute->value.clusterDim.z;
    }
    return take_launch(function, &launch, params);
}

/* The map's first words are the count and the address, so that a test can tell
 * maps apart. */
CUresult cuTensorMapEncodeTiled(
    CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
    const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box,
    const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
    CUtensorMapFloatOOBfill fill)
{
    shim_tensor *seen = &control.tensor;

    FAULT(cuTensorMapEncodeTiled);
    if (current() == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if ((uintptr_t)map % 64 != 0 || rank < 1 || rank > 5)
        return CUDA_ERROR_INVALID_VALUE;
    memset(seen, 0, sizeof(*seen));
    seen->type = type;
    seen->rank = rank;
    seen->address = (uint64_t)(uintptr_t)address;
    memcpy(seen->dims, dims, rank * sizeof(dims[0]));
    memcpy(seen->strides, strides, (rank - 1) * sizeof(strides[0]));
    memcpy(seen->box, box, rank * sizeof(box[0]));
    memcpy(seen->element_strides, element_strides,
           rank * sizeof(element_strides[0]));
    seen->interleave = interleave;
    seen->swizzle = swizzle;
    seen->promotion = promotion;
    seen->fill = fill;
    seen->context = current();
    memset(map, 0xC5, sizeof(*map));
    map->opaque[0] = (uint64_t)++control.encodes;
    map->opaque[1] = seen->address;
    return CUDA_SUCCESS;
}

/* ---- events and memory -------------------------------------------------- */

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    FAULT(cuEventCreate);
    if ((flags & ~(unsigned)CU_EVENT_DISABLE_TIMING) != 0 || current() == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *event = make(sizeof(**event));
    if (*event == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    (*event)->timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
    control.events++;
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    FAULT(cuEventRecord);
    if (stream != control.last.stream)
        return CUDA_ERROR_INVALID_HANDLE;
    event->recorded = true;
    return CUDA_SUCCESS;
}

/* Counts as unsafe while a graph is captured, as in drivers. */
CUresult cuEventQuery(CUevent event)
{
    FAULT(cuEventQuery);
    if (disturb_capture() != CUDA_SUCCESS)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return event->recorded && control.running ? CUDA_ERROR_NOT_READY
                                              : CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    FAULT(cuStreamWaitEvent);
    if (stream != control.last.stream || flags != 0 || !event->recorded)
        return CUDA_ERROR_INVALID_HANDLE;
    control.waits++;
    return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent event)
{
    FAULT(cuEventSynchronize);
    return event->recorded ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
    FAULT(cuEventElapsedTime);
    if (!start->recorded || !end->recorded || !start->timed || !end->timed)
        return CUDA_ERROR_INVALID_HANDLE;
    *ms = 1.5F;
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event)
{
    drop(event);
    control.events--;
    FAULT(cuEventDestroy);
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    void *memory;

    FAULT(cuMemAlloc);
    if (bytes == 0 || current() == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    memory = make(bytes);
    if (memory == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    control.allocations++;
    *address = (CUdeviceptr)(uintptr_t)memory;
    return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
    if (current() == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    drop((void *)(uintptr_t)address);
    control.allocations--;
    FAULT(cuMemFree);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
    FAULT(cuMemcpyHtoD);
    if (current() == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
    FAULT(cuMemcpyDtoH);
    if (current() == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}
