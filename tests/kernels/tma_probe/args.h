/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch arguments of tma_probe.
 */
#pragma once

#ifndef GROAT_TENSOR_MAP /* hosts have it from groat_tensor.h */
#include "../common/tensor_map.h"
#endif

enum { TMA_PROBE_COPIES = 16, TMA_PROBE_STEPS = 8 };

struct tma_probe_args {
    struct groat_tensor_map map;
    unsigned long long source;
    unsigned long long output;
    int at[TMA_PROBE_COPIES][5];   /* of a box; [0] of a bulk copy: bytes */
    unsigned to[TMA_PROBE_COPIES]; /* bytes of the slot */
    unsigned copies;
    unsigned copy_bytes; /* each of them transfers */
    unsigned slot_bytes; /* written to the output */
    unsigned tiles;      /* of the ring */
    unsigned rows;       /* of a tile */
    unsigned steps;      /* of the product */
    unsigned a_bytes;    /* of its operands, 1024-byte multiples */
    unsigned b_bytes;
    unsigned a_shape[3]; /* LBO, SBO, span (swizzle_span) */
    unsigned b_shape[3];
    unsigned a_step[TMA_PROBE_STEPS]; /* where each 32 bytes of k begin */
    unsigned b_step[TMA_PROBE_STEPS];
    unsigned reserved[2];
};
