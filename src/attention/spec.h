/* SPDX-License-Identifier: Apache-2.0
 *
 * spec.h - the spec of a decode.
 */
#ifndef GROAT_ATTENTION_SPEC_H
#define GROAT_ATTENTION_SPEC_H

#include "base/str.h"
#include "groat_attention.h"

/* Elements of a value. */
unsigned groat__decode_value_dim(const groat_decode_shape *shape);

/* Appends the spec of paged_attention_decode for a shape and a choice whose
 * fields are in their ranges. */
void groat__decode_write_spec(const groat_decode_shape *shape,
                              const groat_decode_choice *choice,
                              groat__str *out);

#endif
