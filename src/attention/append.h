/* SPDX-License-Identifier: Apache-2.0
 *
 * append.h - checks shapes and arguments of appends.
 */
#ifndef GROAT_ATTENTION_APPEND_H
#define GROAT_ATTENTION_APPEND_H

#include "groat_attention.h"
#include "tensor/tensor.h"

enum { GROAT__APPEND_DIM_MAX = 512 }; /* head_dim of params.def */

/* Errors: INVALID, with the field, the value and what is allowed. */
groat_status groat__append_check_shape(const groat_append_shape *shape,
                                       groat_error *error);
groat_status groat__append_check_run(const groat_append_shape *shape,
                                     const groat_append_arguments *arguments,
                                     groat_error *error);

/* The planes of a checked shape and arguments.  Errors: INVALID. */
groat_status groat__append_planes(const groat_append_shape *shape,
                                  const groat_append_arguments *arguments,
                                  groat__kv_plane *keys,
                                  groat__kv_plane *values, groat_error *error);

/* Elements of a key (plane 0) or value (1). */
unsigned groat__append_dim(const groat_append_shape *shape, int plane);
/* Number of elements of a key that are rotated. */
unsigned groat__append_rotated(const groat_append_shape *shape);
/* The largest number of keys that a sequence may have. */
unsigned groat__append_most(const groat_append_shape *shape,
                            const groat_append_arguments *arguments);
/* Bytes from one token to the next: `stride`, or packed if it is 0. */
uint64_t groat__append_stride(const groat_append_shape *shape, int plane,
                              uint64_t stride);

#endif
