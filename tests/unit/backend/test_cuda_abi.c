/* SPDX-License-Identifier: Apache-2.0
 *
 * test_cuda_abi.c compares what cuda_abi.h, cuda.def and nvrtc.def declare by
 * hand with the vendor's headers: every constant, type, structure and
 * signature, and that each entry point exists in the requested version.  The
 * vendor's headers come first; the hand-written types then get another name.
 */
#include <stdio.h>
#include <stdlib.h>

#if defined(HAVE_CUDA_H)
#include <cuda.h>
#endif

#if defined(CUDA_VERSION) && CUDA_VERSION >= 12040

#include "../suite.h"

#include <stddef.h>

#include <cudaTypedefs.h>
#include <nvrtc.h>

#define nvrtcResult                    abi_nvrtcResult
#define nvrtcProgram                   abi_nvrtcProgram
#define CUresult                       abi_CUresult
#define CUdevice                       abi_CUdevice
#define CUcontext                      abi_CUcontext
#define CUmodule                       abi_CUmodule
#define CUfunction                     abi_CUfunction
#define CUstream                       abi_CUstream
#define CUevent                        abi_CUevent
#define CUdeviceptr                    abi_CUdeviceptr
#define cuuint64_t                     abi_cuuint64_t
#define CUjit_option                   abi_CUjit_option
#define CUdevice_attribute             abi_CUdevice_attribute
#define CUfunction_attribute           abi_CUfunction_attribute
#define CUlaunchAttributeID            abi_CUlaunchAttributeID
#define CUdriverProcAddressQueryResult abi_CUdriverProcAddressQueryResult
#define CUstreamCaptureStatus          abi_CUstreamCaptureStatus
#define CUstreamCaptureMode            abi_CUstreamCaptureMode
#define CUtensorMapDataType            abi_CUtensorMapDataType
#define CUtensorMapInterleave          abi_CUtensorMapInterleave
#define CUtensorMapSwizzle             abi_CUtensorMapSwizzle
#define CUtensorMapL2promotion         abi_CUtensorMapL2promotion
#define CUtensorMapFloatOOBfill        abi_CUtensorMapFloatOOBfill
#define CUtensorMap                    abi_CUtensorMap
#define cuuint32_t                     abi_cuuint32_t
#define CUlaunchAttribute              abi_CUlaunchAttribute
#define CUlaunchConfig                 abi_CUlaunchConfig
#include "backend/cuda_abi.h"
#undef nvrtcResult
#undef nvrtcProgram
#undef CUresult
#undef CUdevice
#undef CUcontext
#undef CUmodule
#undef CUfunction
#undef CUstream
#undef CUevent
#undef CUdeviceptr
#undef cuuint64_t
#undef CUjit_option
#undef CUdevice_attribute
#undef CUfunction_attribute
#undef CUlaunchAttributeID
#undef CUdriverProcAddressQueryResult
#undef CUstreamCaptureStatus
#undef CUstreamCaptureMode
#undef CUtensorMapDataType
#undef CUtensorMapInterleave
#undef CUtensorMapSwizzle
#undef CUtensorMapL2promotion
#undef CUtensorMapFloatOOBfill
#undef CUtensorMap
#undef cuuint32_t
#undef CUlaunchAttribute
#undef CUlaunchConfig

typedef struct pair {
    const char *name;
    long long ours;
    long long theirs;
} pair;

static void check_pairs(const pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(pairs[i].ours == pairs[i].theirs,
                      "%s is %lld here and %lld in the vendor's header",
                      pairs[i].name, pairs[i].ours, pairs[i].theirs);
}

#define CHECK(pairs) check_pairs(pairs, sizeof(pairs) / sizeof((pairs)[0]))

START_TEST(constants)
{
    static const pair pairs[] = {
#define CONSTANT(name, value) {#name, value, (long long)(name)},
        GROAT__CUDA_CONSTANTS(CONSTANT)};

    CHECK(pairs);
}
END_TEST

/* The vendor's enums are passed as ints. */
START_TEST(types)
{
#define SIZE(type)                                                             \
    {                                                                          \
#type, sizeof(abi_##type), sizeof(type)                                \
    }
#define SAME(type)                                                             \
    {                                                                          \
#type, 1, _Generic((abi_##type)0, type : 1, default : 0)               \
    }
    static const pair pairs[] = {
        SIZE(nvrtcResult),
        SIZE(CUresult),
        SIZE(CUjit_option),
        SIZE(CUdevice_attribute),
        SIZE(CUfunction_attribute),
        SIZE(CUlaunchAttributeID),
        SIZE(CUdriverProcAddressQueryResult),
        SIZE(CUstreamCaptureStatus),
        SIZE(CUstreamCaptureMode),
        SIZE(CUtensorMapDataType),
        SIZE(CUtensorMapInterleave),
        SIZE(CUtensorMapSwizzle),
        SIZE(CUtensorMapL2promotion),
        SIZE(CUtensorMapFloatOOBfill),
        SIZE(cuuint32_t),
        SIZE(cuuint64_t),
        SAME(CUdevice),
        SAME(CUdeviceptr),
        SAME(nvrtcProgram),
        SAME(CUcontext),
        SAME(CUmodule),
        SAME(CUfunction),
        SAME(CUstream),
        SAME(CUevent),
    };

    CHECK(pairs);
}
END_TEST

START_TEST(structures)
{
#define FIELD(type, field)                                                     \
    {                                                                          \
#type "." #field, offsetof(abi_##type, field), offsetof(type, field)   \
    }
    static const pair pairs[] = {
        SIZE(CUlaunchConfig),
        FIELD(CUlaunchConfig, gridDimX),
        FIELD(CUlaunchConfig, gridDimY),
        FIELD(CUlaunchConfig, gridDimZ),
        FIELD(CUlaunchConfig, blockDimX),
        FIELD(CUlaunchConfig, blockDimY),
        FIELD(CUlaunchConfig, blockDimZ),
        FIELD(CUlaunchConfig, sharedMemBytes),
        FIELD(CUlaunchConfig, hStream),
        FIELD(CUlaunchConfig, attrs),
        FIELD(CUlaunchConfig, numAttrs),
        SIZE(CUlaunchAttribute),
        FIELD(CUlaunchAttribute, id),
        FIELD(CUlaunchAttribute, value),
        FIELD(CUlaunchAttribute, value.clusterDim.x),
        FIELD(CUlaunchAttribute, value.clusterDim.y),
        FIELD(CUlaunchAttribute, value.clusterDim.z),
        FIELD(CUlaunchAttribute, value.programmaticStreamSerializationAllowed),
        {"alignment of CUlaunchAttribute", _Alignof(abi_CUlaunchAttribute),
         _Alignof(CUlaunchAttribute)},
        SIZE(CUtensorMap),
        FIELD(CUtensorMap, opaque),
        {"alignment of CUtensorMap, enough",
         _Alignof(abi_CUtensorMap) >= _Alignof(CUtensorMap), 1},
    };

    CHECK(pairs);
}
END_TEST

START_TEST(nvrtc_signatures)
{
    static const pair pairs[] = {
#define SYMBOL(need, result, name, args)                                       \
    {#name, 1, _Generic(&name, result(*) args : 1, default : 0)},
#include "backend/nvrtc.def"
#undef SYMBOL
    };

    CHECK(pairs);
}
END_TEST

/* Compares the pointer type of that version, which cuGetProcAddress returns. */
START_TEST(cuda_versions)
{
    static const pair pairs[] = {
#define SYMBOL(need, version, name, symbol, args)                              \
    {#name, 1,                                                                 \
     _Generic((PFN_##name##_v##version)0, CUresult(*) args : 1, default : 0)},
#include "backend/cuda.def"
#undef SYMBOL
    };

    CHECK(pairs);
}
END_TEST

/* Compares the plain symbol, which dlsym returns. */
START_TEST(cuda_symbols)
{
    static const pair pairs[] = {
#define SYMBOL(need, version, name, symbol, args)                              \
    {#symbol, 1, _Generic(&symbol, CUresult(*) args : 1, default : 0)},
#include "backend/cuda.def"
#undef SYMBOL
    };

    CHECK(pairs);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda abi");
    TCase *tests = tcase_create("headers");

    tcase_add_test(tests, constants);
    tcase_add_test(tests, types);
    tcase_add_test(tests, structures);
    tcase_add_test(tests, nvrtc_signatures);
    tcase_add_test(tests, cuda_versions);
    tcase_add_test(tests, cuda_symbols);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}

#else

int main(void)
{
#if defined(CUDA_VERSION)
    puts("SKIP: <cuda.h> is older than 12.4 and lacks optional calls");
#else
    puts("SKIP: <cuda.h> was not found at configure time");
#endif
    return 77;
}

#endif
