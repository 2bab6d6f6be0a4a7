/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_abi.h - the few vendor types and values that nvrtc.c and cuda.c need.
 *
 * They are declared by hand so that no toolkit is needed to build; their names
 * and values are the vendor's, and tests/unit/backend/test_cuda_abi.c holds
 * each of them against <cuda.h> and <nvrtc.h> where those are installed.
 */
#ifndef GROAT_BACKEND_CUDA_ABI_H
#define GROAT_BACKEND_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int nvrtcResult;
typedef struct _nvrtcProgram *nvrtcProgram;

typedef int CUresult;
typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef unsigned long long CUdeviceptr;
typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;
typedef int CUjit_option;
typedef int CUdevice_attribute;
typedef int CUfunction_attribute;
typedef int CUlaunchAttributeID;
typedef int CUdriverProcAddressQueryResult;
typedef int CUstreamCaptureStatus;
typedef int CUstreamCaptureMode;
typedef int CUtensorMapDataType;
typedef int CUtensorMapInterleave;
typedef int CUtensorMapSwizzle;
typedef int CUtensorMapL2promotion;
typedef int CUtensorMapFloatOOBfill;

/* Alignment: the call needs 64, the headers of CUDA 13 declare 128. */
typedef struct CUtensorMap {
    _Alignas(128) uint64_t opaque[16];
} CUtensorMap;

typedef struct CUlaunchAttribute {
    CUlaunchAttributeID id;
    char pad[4];
    union {
        uint64_t whole[8]; /* the vendor's union is 64 bytes */
        struct {
            unsigned x;
            unsigned y;
            unsigned z;
        } clusterDim;
        int programmaticStreamSerializationAllowed;
    } value;
} CUlaunchAttribute;

typedef struct CUlaunchConfig {
    unsigned gridDimX;
    unsigned gridDimY;
    unsigned gridDimZ;
    unsigned blockDimX;
    unsigned blockDimY;
    unsigned blockDimZ;
    unsigned sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute *attrs;
    unsigned numAttrs;
} CUlaunchConfig;

/* X(name, value) for every vendor constant that is used. */
#define GROAT__CUDA_CONSTANTS(X)                                               \
    X(NVRTC_SUCCESS, 0)                                                        \
    X(NVRTC_ERROR_OUT_OF_MEMORY, 1)                                            \
    X(NVRTC_ERROR_INVALID_OPTION, 5)                                           \
    X(NVRTC_ERROR_COMPILATION, 6)                                              \
    X(NVRTC_ERROR_BUILTIN_OPERATION_FAILURE, 7)                                \
    X(CUDA_SUCCESS, 0)                                                         \
    X(CUDA_ERROR_INVALID_VALUE, 1)                                             \
    X(CUDA_ERROR_OUT_OF_MEMORY, 2)                                             \
    X(CUDA_ERROR_NOT_INITIALIZED, 3)                                           \
    X(CUDA_ERROR_DEINITIALIZED, 4)                                             \
    X(CUDA_ERROR_NO_DEVICE, 100)                                               \
    X(CUDA_ERROR_INVALID_DEVICE, 101)                                          \
    X(CUDA_ERROR_INVALID_IMAGE, 200)                                           \
    X(CUDA_ERROR_INVALID_CONTEXT, 201)                                         \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU, 209)                                       \
    X(CUDA_ERROR_INVALID_HANDLE, 400)                                          \
    X(CUDA_ERROR_NOT_FOUND, 500)                                               \
    X(CUDA_ERROR_NOT_READY, 600)                                               \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, 700)                                         \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900)                              \
    X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906)                                 \
    X(CUDA_ERROR_UNKNOWN, 999)                                                 \
    X(CU_STREAM_CAPTURE_STATUS_NONE, 0)                                        \
    X(CU_STREAM_CAPTURE_STATUS_ACTIVE, 1)                                      \
    X(CU_STREAM_CAPTURE_STATUS_INVALIDATED, 2)                                 \
    X(CU_EVENT_DISABLE_TIMING, 2)                                              \
    X(CU_STREAM_CAPTURE_MODE_GLOBAL, 0)                                        \
    X(CU_STREAM_CAPTURE_MODE_RELAXED, 2)                                       \
    X(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 13)                                      \
    X(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                            \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                        \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                        \
    X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)               \
    X(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0)                              \
    X(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1)                                  \
    X(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 3)                                   \
    X(CU_FUNC_ATTRIBUTE_NUM_REGS, 4)                                           \
    X(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)                      \
    X(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 14)                 \
    X(CU_JIT_ERROR_LOG_BUFFER, 5)                                              \
    X(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, 6)                                   \
    X(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 4)                                \
    X(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 6)                \
    X(CU_TENSOR_MAP_DATA_TYPE_UINT8, 0)                                        \
    X(CU_TENSOR_MAP_DATA_TYPE_UINT16, 1)                                       \
    X(CU_TENSOR_MAP_DATA_TYPE_UINT32, 2)                                       \
    X(CU_TENSOR_MAP_DATA_TYPE_UINT64, 4)                                       \
    X(CU_TENSOR_MAP_INTERLEAVE_NONE, 0)                                        \
    X(CU_TENSOR_MAP_SWIZZLE_NONE, 0)                                           \
    X(CU_TENSOR_MAP_SWIZZLE_32B, 1)                                            \
    X(CU_TENSOR_MAP_SWIZZLE_64B, 2)                                            \
    X(CU_TENSOR_MAP_SWIZZLE_128B, 3)                                           \
    X(CU_TENSOR_MAP_L2_PROMOTION_NONE, 0)                                      \
    X(CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE, 0)                                    \
    X(CU_GET_PROC_ADDRESS_LEGACY_STREAM, 1)                                    \
    X(CU_GET_PROC_ADDRESS_SUCCESS, 0)

/* The test includes the vendor's headers first, which define these names. */
#ifndef CUDA_VERSION
#define GROAT__CUDA_ENUM(name, value) name = value,
enum { GROAT__CUDA_CONSTANTS(GROAT__CUDA_ENUM) };
#endif

#endif
