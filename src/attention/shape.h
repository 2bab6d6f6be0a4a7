/* SPDX-License-Identifier: Apache-2.0
 *
 * shape.h - what shapes and arguments of decodes may be.
 */
#ifndef GROAT_ATTENTION_SHAPE_H
#define GROAT_ATTENTION_SHAPE_H

#include "groat_attention.h"
#include "tensor/tensor.h"

/* Errors: INVALID, with the field, the value and what is allowed. */
groat_status groat__decode_check_shape(const groat_decode_shape *shape,
                                       groat_error *error);

/* What is not 0 of a choice.  Errors: INVALID. */
groat_status groat__decode_check_choice(const groat_decode_shape *shape,
                                        const groat_decode_choice *choice,
                                        groat_error *error);

/* What launch and reference both read.  Errors: INVALID. */
groat_status groat__decode_check_inputs(const groat_decode_shape *shape,
                                        const groat_decode_arguments *arguments,
                                        groat_error *error);

/* The same, and what a launch writes.  Errors: INVALID. */
groat_status groat__decode_check_run(const groat_decode_shape *shape,
                                     const groat_decode_arguments *arguments,
                                     groat_error *error);

/* The planes of keys and values, of which one has the other's strides.  Errors:
 * INVALID. */
groat_status groat__decode_planes(const groat_decode_shape *shape,
                                  const groat_decode_arguments *arguments,
                                  groat__kv_plane *keys,
                                  groat__kv_plane *values, groat_error *error);

#endif
