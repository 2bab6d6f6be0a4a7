/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch arguments of tma_probe.
 */
#pragma once

#ifndef GROAT_TENSOR_MAP /* hosts include groat_tensor.h */
#include "../common/tensor_map.h"
#endif

enum { TMA_PROBE_COPIES = 16, TMA_PROBE_STEPS = 8 };

struct tma_probe_args {
    struct groat_tensor_map map;
    unsigned long long source;
    unsigned long long output;
    int at[TMA_PROBE_COPIES][5];   /* of a box; of a bulk copy [0]: bytes */
    unsigned to[TMA_PROBE_COPIES]; /* offset in the slot */
    unsigned copies;
    unsigned copy_bytes; /* bytes per copy */
    unsigned slot_bytes; /* bytes written to the output */
    unsigned tiles;      /* of the ring */
    unsigned rows;       /* of a tile */
    unsigned steps;      /* of the product */
    unsigned a_bytes;    /* size of its operands, multiples of 1024 */
    unsigned b_bytes;
    unsigned a_shape[3]; /* LBO, SBO, span (swizzle_span) */
    unsigned b_shape[3];
    unsigned a_step[TMA_PROBE_STEPS]; /* offset of each 32 bytes of k */
    unsigned b_step[TMA_PROBE_STEPS];
    unsigned reserved[2];
};
