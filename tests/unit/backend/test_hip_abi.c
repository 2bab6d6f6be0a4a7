/* SPDX-License-Identifier: Apache-2.0
 *
 * test_hip_abi.c compares what hip_abi.h, hip.def and hiprtc.def declare by
 * hand with the real headers, where configure found them (HAVE_HIP_H for
 * <hip/hip_runtime_api.h> and <hip/hiprtc.h>, HAVE_AMD_COMGR_H for
 * <amd_comgr.h> or <amd_comgr/amd_comgr.h>).  Signatures are compared by the
 * compiler: each symbol is called with the very types of the .def file.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#ifndef HAVE_HIP_H

int main(void)
{
    printf("SKIP: no <hip/hip_runtime_api.h> was found by configure\n");
    return 77;
}

#else

#include "../suite.h"

/* Our warnings do not apply to the vendor's headers. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#pragma GCC diagnostic ignored "-Wconversion"
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>
#ifdef HAVE_AMD_COMGR_H
#if __has_include(<amd_comgr/amd_comgr.h>)
#include <amd_comgr/amd_comgr.h>
#else
#include <amd_comgr.h>
#endif
#endif
#pragma GCC diagnostic pop

#include "backend/hip_abi.h"

/* Each header declares one of the two functions for the properties; from 6.0 on
 * the plain name is a macro for the new one. */
#if HIP_VERSION_MAJOR >= 6
#define PROPERTIES hipDeviceProp_tR0600
#define PROP_SIZE  GROAT__HIP_PROP6_SIZE
#define PROP_ARCH  GROAT__HIP_PROP6_ARCH
#undef hipGetDeviceProperties
static inline int hipGetDeviceProperties(PROPERTIES *properties, int device)
{
    return (int)hipGetDevicePropertiesR0600(properties, device);
}
#else
#define PROPERTIES hipDeviceProp_t
#define PROP_SIZE  GROAT__HIP_PROP5_SIZE
#define PROP_ARCH  GROAT__HIP_PROP5_ARCH
static inline int hipGetDevicePropertiesR0600(PROPERTIES *properties,
                                              int device)
{
    return (int)hipGetDeviceProperties(properties, device);
}
#endif

/* Per symbol, a function passes its parameters to the real declaration: a wrong
 * number, kind, width or handle does not compile.  In 6.4 arrays of texts
 * gained a const, which is another type in C. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wenum-conversion"
#if HIP_VERSION_MAJOR >= 6
#pragma GCC diagnostic ignored "-Wincompatible-pointer-types"
#endif
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wassign-enum"
#endif
#define CHECKED(prefix, name, result, parameters, names)                       \
    static inline result prefix##name parameters                               \
    {                                                                          \
        _Static_assert(sizeof(result) == sizeof(name names), #name);           \
        return (result)name names;                                             \
    }
#define HIP(name, needed, result, parameters, names)                           \
    CHECKED(hip_, name, result, parameters, names)
#include "backend/hip.def"
#define RTC(name, needed, result, parameters, names)                           \
    CHECKED(rtc_, name, result, parameters, names)
#include "backend/hiprtc.def"
#ifdef HAVE_AMD_COMGR_H
#define COMGR(name, needed, result, parameters, names)                         \
    CHECKED(comgr_, name, result, parameters, names)
#include "backend/hiprtc.def"
#endif
#pragma GCC diagnostic pop

#define SAME(ours, theirs) ck_assert_int_eq((int)(ours), (int)(theirs))

START_TEST(results_are_the_vendors)
{
    SAME(GROAT__HIPRTC_SUCCESS, HIPRTC_SUCCESS);
    SAME(GROAT__HIPRTC_OUT_OF_MEMORY, HIPRTC_ERROR_OUT_OF_MEMORY);
    SAME(GROAT__HIPRTC_COMPILATION, HIPRTC_ERROR_COMPILATION);
    SAME(GROAT__HIP_SUCCESS, hipSuccess);
    SAME(GROAT__HIP_OUT_OF_MEMORY, hipErrorOutOfMemory);
    SAME(GROAT__HIP_NOT_INITIALIZED, hipErrorNotInitialized);
    SAME(GROAT__HIP_DEINITIALIZED, hipErrorDeinitialized);
    SAME(GROAT__HIP_NO_DEVICE, hipErrorNoDevice);
    SAME(GROAT__HIP_INVALID_DEVICE, hipErrorInvalidDevice);
    SAME(GROAT__HIP_INVALID_CONTEXT, hipErrorInvalidContext);
    SAME(GROAT__HIP_ILLEGAL_ADDRESS, hipErrorIllegalAddress);
    SAME(GROAT__HIP_CONTEXT_DESTROYED, hipErrorContextIsDestroyed);
    SAME(GROAT__HIP_ASSERT, hipErrorAssert);
    SAME(GROAT__HIP_LAUNCH_FAILURE, hipErrorLaunchFailure);
    SAME(GROAT__HIP_UNKNOWN, hipErrorUnknown);
    SAME(GROAT__HIP_NOT_READY, hipErrorNotReady);
    SAME(GROAT__HIP_EVENT_DISABLE_TIMING, hipEventDisableTiming);
    SAME(GROAT__HIP_CAPTURE_IMPLICIT, hipErrorStreamCaptureImplicit);
    SAME(GROAT__HIP_CAPTURE_NONE, hipStreamCaptureStatusNone);
    SAME(GROAT__HIP_CAPTURE_ACTIVE, hipStreamCaptureStatusActive);
    SAME(GROAT__HIP_CAPTURE_INVALIDATED, hipStreamCaptureStatusInvalidated);
}
END_TEST

START_TEST(attributes_are_the_vendors)
{
    SAME(GROAT__HIP_CLOCK_RATE, hipDeviceAttributeClockRate);
    SAME(GROAT__HIP_MULTIPROCESSOR_COUNT,
         hipDeviceAttributeMultiprocessorCount);
    SAME(GROAT__HIP_SHARED_PER_BLOCK,
         hipDeviceAttributeMaxSharedMemoryPerBlock);
    SAME(GROAT__HIP_SHARED_PER_BLOCK_OPTIN,
         hipDeviceAttributeSharedMemPerBlockOptin);
    SAME(GROAT__HIP_FUNC_MAX_THREADS, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    SAME(GROAT__HIP_FUNC_SHARED_BYTES, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    SAME(GROAT__HIP_FUNC_LOCAL_BYTES, HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    SAME(GROAT__HIP_FUNC_REGISTERS, HIP_FUNC_ATTRIBUTE_NUM_REGS);
    SAME(GROAT__HIP_MAX_DYNAMIC_SHARED,
         hipFuncAttributeMaxDynamicSharedMemorySize);
    SAME(GROAT__HIP_HOST_TO_DEVICE, hipMemcpyHostToDevice);
    SAME(GROAT__HIP_DEVICE_TO_HOST, hipMemcpyDeviceToHost);
}
END_TEST

START_TEST(sizes_and_offsets_are_the_vendors)
{
    SAME(sizeof(int), sizeof(hipError_t));
    SAME(sizeof(int), sizeof(hiprtcResult));
    SAME(sizeof(int), sizeof(hipDeviceAttribute_t));
    SAME(sizeof(int), sizeof(hipFunction_attribute));
    SAME(sizeof(int), sizeof(hipDevice_t));
    SAME(PROP_SIZE, sizeof(PROPERTIES));
    SAME(PROP_ARCH, offsetof(PROPERTIES, gcnArchName));
    SAME(GROAT__HIP_PROP_ARCH_BYTES, sizeof(((PROPERTIES *)0)->gcnArchName));
    ck_assert_uint_ge(GROAT__HIP_PROP_BYTES, 2 * sizeof(PROPERTIES));
#ifdef HAVE_AMD_COMGR_H
    SAME(0, AMD_COMGR_STATUS_SUCCESS);
    SAME(sizeof(int), sizeof(amd_comgr_status_t));
#endif
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hip_abi");
    TCase *tcase = tcase_create("hip_abi");

    tcase_add_test(tcase, results_are_the_vendors);
    tcase_add_test(tcase, attributes_are_the_vendors);
    tcase_add_test(tcase, sizes_and_offsets_are_the_vendors);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}

#endif
