/* SPDX-License-Identifier: Apache-2.0
 *
 * hip_abi.h - the few types and values of hipRTC, comgr and the HIP runtime
 * that groat uses, declared by hand: no vendor header is needed to build.
 * Enumerations are int-sized there; handles are pointers to the vendor's own
 * tags.  tests/unit/backend/test_hip_abi.c compares every line with the real
 * headers where they are installed.
 */
#ifndef GROAT_BACKEND_HIP_ABI_H
#define GROAT_BACKEND_HIP_ABI_H

#include <stddef.h>

typedef struct _hiprtcProgram *groat__hiprtc_program;
typedef struct ihipModule_t *groat__hip_module;
typedef struct ihipModuleSymbol_t *groat__hip_function;
typedef struct ihipStream_t *groat__hip_stream;
typedef struct ihipEvent_t *groat__hip_event;

/* hiprtcResult */
enum {
    GROAT__HIPRTC_SUCCESS = 0,
    GROAT__HIPRTC_OUT_OF_MEMORY = 1,
    GROAT__HIPRTC_COMPILATION = 6
};

/* hipError_t */
enum {
    GROAT__HIP_SUCCESS = 0,
    GROAT__HIP_OUT_OF_MEMORY = 2,
    GROAT__HIP_NOT_INITIALIZED = 3,
    GROAT__HIP_DEINITIALIZED = 4,
    GROAT__HIP_NO_DEVICE = 100,
    GROAT__HIP_INVALID_DEVICE = 101,
    GROAT__HIP_INVALID_CONTEXT = 201,
    GROAT__HIP_NOT_READY = 600,
    GROAT__HIP_ILLEGAL_ADDRESS = 700,
    GROAT__HIP_CONTEXT_DESTROYED = 709,
    GROAT__HIP_ASSERT = 710,
    GROAT__HIP_LAUNCH_FAILURE = 719,
    GROAT__HIP_CAPTURE_IMPLICIT = 906,
    GROAT__HIP_UNKNOWN = 999
};

/* Flags of events */
enum { GROAT__HIP_EVENT_DISABLE_TIMING = 2 };

/* hipStreamCaptureStatus */
enum {
    GROAT__HIP_CAPTURE_NONE = 0,
    GROAT__HIP_CAPTURE_ACTIVE = 1,
    GROAT__HIP_CAPTURE_INVALIDATED = 2
};

/* hipDeviceAttribute_t: the same from 5.2 to 7.2 */
enum {
    GROAT__HIP_CLOCK_RATE = 5,
    GROAT__HIP_MULTIPROCESSOR_COUNT = 63,
    GROAT__HIP_SHARED_PER_BLOCK = 74,
    GROAT__HIP_SHARED_PER_BLOCK_OPTIN = 75
};

/* hipFunction_attribute */
enum {
    GROAT__HIP_FUNC_MAX_THREADS = 0,
    GROAT__HIP_FUNC_SHARED_BYTES = 1,
    GROAT__HIP_FUNC_LOCAL_BYTES = 3,
    GROAT__HIP_FUNC_REGISTERS = 4
};

/* hipFuncAttribute, hipMemcpyKind */
enum {
    GROAT__HIP_MAX_DYNAMIC_SHARED = 8,
    GROAT__HIP_HOST_TO_DEVICE = 1,
    GROAT__HIP_DEVICE_TO_HOST = 2
};

/* hipDeviceProp_t: 6.0 has a new structure, filled by a symbol of its own; the
 * plain symbol still fills the old one.  Only the arch name is read from
 * either; the buffer leaves room for both to grow. */
enum {
    GROAT__HIP_PROP_BYTES = 4096,
    GROAT__HIP_PROP5_SIZE = 792,
    GROAT__HIP_PROP5_ARCH = 396,
    GROAT__HIP_PROP6_SIZE = 1472,
    GROAT__HIP_PROP6_ARCH = 1160,
    GROAT__HIP_PROP_ARCH_BYTES = 256
};

#endif
