/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_params.h - what a kernel of CUDA C++ takes.
 */
#ifndef GROAT_CLI_JUDGE_CUDA_PARAMS_H
#define GROAT_CLI_JUDGE_CUDA_PARAMS_H

#include <stdbool.h>

#include "base/str.h"
#include "cli/judge/cuda_tokens.h"

typedef struct groat__cuda_param {
    groat__str type; /* as written, "const float *" */
    groat__str name; /* of member n[2] of parameter p: "p_n_2" */
    groat__str path; /* of a member: "n[2]" */
    bool pointer;
    bool deep;         /* points to pointers */
    bool constant;     /* points to const */
    bool map;          /* a tensor map, or points to one */
    bool map_at;       /* points to one */
    bool in_place;     /* it, or what it points to, is no copy */
    const char *dtype; /* of the value or pointee, as in element.h, or NULL  */
    size_t owner;      /* of a member: the parameter's number from 1; else 0 */
} groat__cuda_param;

/* State while reading a declaration; start from {0}. */
typedef struct groat__cuda_seen {
    const char *start;
    groat__cuda_token name; /* the last word */
    groat__str base; /* the words before it: the type without qualifiers */
    bool over;       /* behind its name: in brackets or a default value */
} groat__cuda_seen;

/* Reads one token of a declaration. */
void groat__cuda_see(groat__cuda_param *param, groat__cuda_seen *s,
                     const groat__cuda_token *t);
/* Ends it, and frees *s; one without a name is called by its number.  Returns
 * false if there is no memory. */
bool groat__cuda_finish(groat__cuda_param *param, groat__cuda_seen *s,
                        size_t number);

/* Whether the type is one of CUDA's vectors, such as float2, or dim3. */
bool groat__cuda_is_vector(const char *type);
/* Finds "struct TYPE { ... MEMBER ... }" in a text, or the member of a vector,
 * and fills the type, dtype and flags of *out, which starts from {0}.  False:
 * there is none, or the member is no value, such as an array. */
bool groat__cuda_member(const char *text, const char *type, const char *member,
                        groat__cuda_param *out);

#endif
