/* SPDX-License-Identifier: Apache-2.0
 *
 * nvtx_abi.h - what NVTX 3 and its tools say to each other, as far as groat is
 * a part of it.  There is no library of NVTX 3: each program that is annotated
 * loads the tool itself, calls its InitializeInjectionNvtx2() and hands it a
 * table of pointers to functions, which the tool fills.
 * tests/shim/test_ranges.c compares this with NVIDIA's own header where
 * that is found.
 */
#ifndef GROAT_BASE_NVTX_ABI_H
#define GROAT_BASE_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>

/* What a tool may ask its client for. */
enum { GROAT__NVTX_CALLBACKS = 1, GROAT__NVTX_VERSION_INFO = 3 };

/* The modules of the tables, and how many entries each has, from 0, which is
 * none; and those entries that are called. */
enum {
    GROAT__NVTX_CORE = 1,
    GROAT__NVTX_CUDA = 2,
    GROAT__NVTX_OPENCL = 3,
    GROAT__NVTX_CUDART = 4,
    GROAT__NVTX_CORE2 = 5,
    GROAT__NVTX_SYNC = 6,
    GROAT__NVTX_MODULES = 7,

    GROAT__NVTX_CORE_SIZE = 16,
    GROAT__NVTX_CUDA_SIZE = 9,
    GROAT__NVTX_OPENCL_SIZE = 15,
    GROAT__NVTX_CUDART_SIZE = 7,
    GROAT__NVTX_CORE2_SIZE = 16,
    GROAT__NVTX_SYNC_SIZE = 7,

    GROAT__NVTX_RANGE_PUSH = 9,
    GROAT__NVTX_RANGE_POP = 11
};

typedef void (*groat__nvtx_function)(void);

/* Gives the array of pointers to a module's functions, which ends with NULL,
 * and its size without that; 0: there is no such module. */
typedef int groat__nvtx_get_table(int module, groat__nvtx_function ***table,
                                  unsigned *size);

typedef struct groat__nvtx_callbacks {
    size_t size;
    groat__nvtx_get_table *get_table;
} groat__nvtx_callbacks;

typedef struct groat__nvtx_version_info {
    size_t size;
    uint32_t version;
    uint32_t reserved;
    void (*set_tool_version)(uint32_t version);
} groat__nvtx_version_info;

/* NULL: there is nothing of that number. */
typedef const void *groat__nvtx_get_export(uint32_t id);
/* The tool's: 0, it will not. */
typedef int groat__nvtx_attach(groat__nvtx_get_export *get_export);

#endif
