/* SPDX-License-Identifier: Apache-2.0
 *
 * choose.h - how a decode is run: what follows from its shape and the device
 * alone.  Pure functions, so that choices can be looked at without a device.
 */
#ifndef GROAT_ATTENTION_CHOOSE_H
#define GROAT_ATTENTION_CHOOSE_H

#include "groat_attention.h"

/* What a choice is made for, besides the shape.  A multiprocessor has 1 KiB
 * more shared memory than a block may, and each block takes 1 KiB besides its
 * own. */
typedef struct groat__decode_device {
    unsigned multiprocessors;
    unsigned shared_bytes; /* of a block, at most */
    char name[160];        /* with its multiprocessors; of records alone */
} groat__decode_device;

/* Strips of 16 queries of a KV head, of all sequences and heads. */
uint64_t groat__decode_strips(const groat_decode_shape *shape);
/* Keys that work is shared out by. */
unsigned groat__decode_unit_keys(const groat_decode_choice *choice);

/* Fills what is 0 of warps, stages and split, of a shape whose
 * fields are in their ranges.  One that fits no block of the device gets a
 * choice that the family's rules refuse. */
void groat__decode_choose_kernel(const groat_decode_shape *shape,
                                 const groat__decode_device *device,
                                 groat_decode_choice *choice);

/* The same of blocks and least; registers: of a thread of the kernel, 0 where
 * they are not known. */
void groat__decode_choose_grid(const groat_decode_shape *shape,
                               const groat__decode_device *device,
                               unsigned registers, groat_decode_choice *choice);

#endif
