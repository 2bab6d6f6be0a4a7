/* SPDX-License-Identifier: Apache-2.0
 *
 * tensor_map.h - a TMA descriptor as a launch argument: 128 bytes aligned to
 * 64, which groat_tensor_map_make() fills.  C and C++, for hosts
 * and kernels.  groat_tensor.h has the same structure; either header may come
 * first.
 */
#pragma once

#ifndef GROAT_TENSOR_MAP
#define GROAT_TENSOR_MAP

#ifdef __cplusplus
struct alignas(64) groat_tensor_map {
    unsigned long long words[16];
};
#elif defined(__GNUC__)
typedef struct __attribute__((aligned(64))) groat_tensor_map {
    unsigned long long words[16];
} groat_tensor_map;
#else
typedef struct groat_tensor_map {
    _Alignas(64) unsigned long long words[16];
} groat_tensor_map;
#endif

#endif
