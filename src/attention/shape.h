/* SPDX-License-Identifier: Apache-2.0
 *
 * shape.h - checks shapes and arguments of decodes.
 */
#ifndef GROAT_ATTENTION_SHAPE_H
#define GROAT_ATTENTION_SHAPE_H

#include "groat_attention.h"
#include "tensor/tensor.h"

/* Errors: INVALID, with the field, the value and what is allowed. */
groat_status groat__decode_check_shape(const groat_decode_shape *shape,
                                       groat_error *error);

/* Checks the fields of a choice that are not 0.  Errors: INVALID. */
groat_status groat__decode_check_choice(const groat_decode_shape *shape,
                                        const groat_decode_choice *choice,
                                        groat_error *error);

/* Checks the inputs of launch and reference.  Errors: INVALID. */
groat_status groat__decode_check_inputs(const groat_decode_shape *shape,
                                        const groat_decode_arguments *arguments,
                                        groat_error *error);

/* The same, and the addresses that a launch writes.  Errors: INVALID. */
groat_status groat__decode_check_run(const groat_decode_shape *shape,
                                     const groat_decode_arguments *arguments,
                                     groat_error *error);

/* Gets the planes of keys and values.  Errors: INVALID. */
groat_status groat__decode_planes(const groat_decode_shape *shape,
                                  const groat_decode_arguments *arguments,
                                  groat__kv_plane *keys,
                                  groat__kv_plane *values, groat_error *error);

#endif
