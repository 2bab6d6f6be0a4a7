/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_SPEC_ARCH_H
#define GROAT_SPEC_ARCH_H

#include <stddef.h>

#include "groat.h"

typedef enum groat__backend_id {
    GROAT__CUDA = 0,
    GROAT__HIP = 1,
    GROAT__CPU = 2,
    GROAT__BACKENDS = 3
} groat__backend_id;

/* The numbers of one GPU architecture that a kernel or a rule may ask for.
 * Rules see them as arch_NAME, kernels as constants of the generated header.
 * Sources: vendor ISA guides and programming guides, see arch.c. */
typedef struct groat__arch {
    const char *name;         /* "sm_90a", "gfx950"                           */
    groat__backend_id vendor; /* GROAT__CUDA or GROAT__HIP                    */
    int wave_lanes;           /* lanes of a hardware warp or wave             */
    int shared_bytes;         /* shared memory / LDS per block, with opt-in   */
    int shared_banks;         /* 4-byte banks                                 */
    int lds_dma_bytes;        /* widest buffer_load ... lds per lane; 0 none  */
    int cp_async;             /* 1: cp.async global->shared                   */
    int tma;                  /* 1: bulk tensor copies and mbarrier           */
    int max_cluster;          /* blocks per cluster; 1: no clusters           */
    int tr_read;              /* 1: ds_read_b64_tr_*                          */
    int mfma_16bit_bytes;     /* widest 16-bit MFMA operand per lane; 0 none  */
    int mfma_8bit_bytes;      /* widest fp8 MFMA operand per lane; 0 none     */
    int fp8_fnuz;             /* 1: its fp8 is FNUZ, 0: OCP                   */
    int wgmma;                /* 1: wgmma, MMA of a warpgroup                 */
    int cta_group;            /* 1: copies by a pair of blocks (cta_group::2) */
} groat__arch;

/* A target: the backend that executes, and the arch that it executes as. */
typedef struct groat__target {
    groat__backend_id backend; /* GROAT__CPU for "cpu:ARCH"                   */
    const groat__arch *arch;
    char text[48]; /* canonical "backend:arch"                    */
} groat__target;

/* Returns NULL past the end. */
const groat__arch *groat__arch_at(size_t index);
/* Returns NULL if the arch is unknown. */
const groat__arch *groat__arch_find(const char *name, size_t len);
const char *groat__backend_name(groat__backend_id id);

/* Parses "backend:arch"; drops the features of an AMD arch, as in
 * "hip:gfx942:sramecc+:xnack-".  Errors: INVALID, listing the known targets. */
groat_status groat__target_parse(const char *text, groat__target *out,
                                 groat_error *error);

#endif
