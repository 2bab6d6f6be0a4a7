/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BACKEND_AMDGPU_ELF_H
#define GROAT_BACKEND_AMDGPU_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Facts about one kernel from the notes of a code object; -1: not stated. */
typedef struct groat__amdgpu_kernel {
    int64_t vgprs; /* .vgpr_count, per lane                            */
    int64_t sgprs; /* .sgpr_count, per wave                            */
    int64_t scratch_bytes; /* .private_segment_fixed_size, per lane          */
    int64_t lds_bytes;     /* .group_segment_fixed_size, per workgroup       */
    int64_t max_threads;   /* .max_flat_workgroup_size                       */
} groat__amdgpu_kernel;

typedef enum groat__amdgpu_finding {
    GROAT__AMDGPU_FOUND = 0,
    GROAT__AMDGPU_NO_NOTES = 1, /* no readable notes: nothing is known       */
    GROAT__AMDGPU_NO_KERNEL = 2 /* the notes list kernels, but not this one  */
} groat__amdgpu_finding;

/* Whether the bytes are one AMDGPU ELF whose every header, segment and section
 * lies inside them: a driver, which is told no size, can then read it. */
bool groat__amdgpu_elf_whole(const void *data, size_t bytes);

/* Looks up the kernel `entry` in the metadata notes.  Any bytes are allowed.
 * *out is written on FOUND only. */
groat__amdgpu_finding groat__amdgpu_elf_kernel(const void *data, size_t bytes,
                                               const char *entry,
                                               groat__amdgpu_kernel *out);

#endif
