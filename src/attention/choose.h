/* SPDX-License-Identifier: Apache-2.0
 *
 * choose.h - chooses how a decode is run, from its shape and the device alone.
 * Pure functions, so that choices can be inspected without a device.
 */
#ifndef GROAT_ATTENTION_CHOOSE_H
#define GROAT_ATTENTION_CHOOSE_H

#include "groat_attention.h"

/* The device properties that a choice depends on.  A multiprocessor has 1 KiB
 * more shared memory than a block may use, and each block takes 1 KiB on top of
 * its own. */
typedef struct groat__decode_device {
    unsigned multiprocessors;
    unsigned shared_bytes; /* of a block, at most */
    unsigned cluster_most; /* blocks of a cluster, at most; 1: no clusters */
    char name[160];        /* with its multiprocessors; of records alone */
} groat__decode_device;

/* Returns the strips of all sequences and KV heads; of warps 0, an upper bound
 * of those of all choices of warps.  A strip's rows share one read of the keys.
 */
uint64_t groat__decode_strips(const groat_decode_shape *shape, unsigned warps);

/* Fills those of warps, stages, cluster and split that are 0; the shape's
 * fields are in range.  If nothing fits into a block of the device, the choice
 * is one that the family's rules refuse. */
void groat__decode_choose_kernel(const groat_decode_shape *shape,
                                 const groat__decode_device *device,
                                 groat_decode_choice *choice);

/* The same for blocks and least.  registers: per thread of the kernel, 0 if
 * unknown. */
void groat__decode_choose_grid(const groat_decode_shape *shape,
                               const groat__decode_device *device,
                               unsigned registers, groat_decode_choice *choice);

#endif
