/* SPDX-License-Identifier: Apache-2.0
 *
 * score.h - the expression of a decode's score: its names and the arguments of
 * a launch that they are bound to.
 */
#ifndef GROAT_ATTENTION_SCORE_H
#define GROAT_ATTENTION_SCORE_H

#include "groat_attention.h"
#include "spec/code.h"

/* The inputs of params.def, in the order of an evaluation's inputs. */
#define GROAT__DECODE_INPUTS                                                   \
    "score:float|q_pos:int|kv_pos:int|head:int|batch:int"

/* The floats and arrays of a launch, in the order of the expression. */
typedef struct groat__decode_named {
    float scalars[GROAT__CODE_SCALARS];
    uint64_t arrays[GROAT__CODE_ARRAYS];
    uint32_t counts[GROAT__CODE_ARRAYS];
} groat__decode_named;

/* Reads shape->score; NULL means "score".  Errors: INVALID. */
groat_status groat__decode_score_read(const groat_decode_shape *shape,
                                      groat__code *out, groat_error *error);

/* Finds each name of the expression in the arguments.  Errors: INVALID (a name
 * is missing; an array's address is 0 or misaligned). */
groat_status groat__decode_score_bind(const groat__code *code,
                                      const groat_decode_arguments *arguments,
                                      groat__decode_named *out,
                                      groat_error *error);

#endif
