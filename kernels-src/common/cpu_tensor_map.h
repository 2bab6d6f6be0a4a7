/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_tensor_map.h - the contents of a 128-byte tensor map for a cpu target:
 * the description itself, validated by the encoder and decoded by the judge.  C
 * and C++.
 */
#pragma once

/* "groattm" and a version. */
#define GROAT_CPU_TENSOR_MAP_MAGIC 0x016d7474616f7267ull

enum { GROAT_CPU_TENSOR_MAP_RANK = 5 };

/* Shared-memory layout of a box: which address bits are XORed into bits 4-6. */
enum {
    GROAT_CPU_SWIZZLE_NONE,
    GROAT_CPU_SWIZZLE_32B,
    GROAT_CPU_SWIZZLE_64B,
    GROAT_CPU_SWIZZLE_128B
};

/* Dimensions are fastest first; those from `rank` on are 1, with strides 0. */
struct groat_cpu_tensor_map {
    unsigned long long magic;
    unsigned long long address;    /* device address of element 0       */
    unsigned long long strides[4]; /* bytes; of dimensions 1 and up     */
    unsigned long long dims[5];    /* elements                          */
    unsigned rank;                 /* 1..5                              */
    unsigned elem_bytes;           /* 1, 2, 4 or 8                      */
    unsigned swizzle;              /* GROAT_CPU_SWIZZLE_*               */
    unsigned short box[5];         /* elements that one copy transfers  */
    unsigned short reserved;       /* 0                                 */
    unsigned zero[2];
};
