/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_decls.h - the declarations of a file of CUDA C++ that are outside of
 * functions and types.
 */
#ifndef GROAT_CLI_JUDGE_CUDA_DECLS_H
#define GROAT_CLI_JUDGE_CUDA_DECLS_H

#include "cli/judge/cuda_tokens.h"

typedef struct groat__cuda_decl {
    groat__cuda_token name; /* of a function, type, variable, namespace used or
                             * macro; none if it declares several, or what is
                             * called without a name, such as an operator */
    const char *from;       /* where its text begins */
    const char *to;         /* behind it */
    bool kernel;            /* a __global__ function */
    bool host;  /* it has a word of host code, and none of the device */
    bool macro; /* a #define: its text is what the name becomes */
    bool call;  /* NAME(...) of a macro, which may declare anything */
    bool space; /* using namespace NAME; */
} groat__cuda_decl;

/* Whether the token is among words with blanks around them. */
bool groat__cuda_is_among(const groat__cuda_token *token, const char *words);

/* Reads the next declaration, in whatever namespace; false: there is none. */
bool groat__cuda_next_decl(groat__cuda_cursor *c, groat__cuda_decl *out);
/* Likewise the next #define. */
bool groat__cuda_next_macro(groat__cuda_cursor *c, groat__cuda_decl *out);

#endif
