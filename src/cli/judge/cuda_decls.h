/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_decls.h - the declarations of a file of CUDA C++ that are outside of
 * functions and types.
 */
#ifndef GROAT_CLI_JUDGE_CUDA_DECLS_H
#define GROAT_CLI_JUDGE_CUDA_DECLS_H

#include "cli/judge/cuda_tokens.h"

/* What a declaration is known by. */
typedef enum groat__cuda_known {
    GROAT__CUDA_BY_NAME,
    GROAT__CUDA_BY_WORDS,     /* any outside of braces: it declares several */
    GROAT__CUDA_BY_ALL_WORDS, /* an enum's, those in braces as well */
    GROAT__CUDA_BY_TYPES,     /* an operator's, of its operands */
    GROAT__CUDA_BY_NOTHING    /* such as a static_assert */
} groat__cuda_known;

typedef struct groat__cuda_decl {
    groat__cuda_known known;
    groat__cuda_token name; /* of a function, type, variable, namespace used or
                             * macro; none unless known by it */
    const char *from;       /* where its text begins */
    const char *to;         /* behind it */
    bool kernel;            /* a __global__ function */
    bool type;              /* it has a type's body */
    bool host;  /* it has a word of host code, and none of the device */
    bool macro; /* a #define: its text is what the name becomes */
    bool call;  /* NAME(...) of a macro, which may declare anything */
    bool space; /* using namespace NAME; */
} groat__cuda_decl;

/* Whether the token is among words with blanks around them. */
bool groat__cuda_is_among(const groat__cuda_token *token, const char *words);

/* Whether a word cannot be a declaration's name: it has several, or one that is
 * in another place. */
bool groat__cuda_is_keyword(const groat__cuda_token *word);

/* Reads the next declaration, in whatever namespace; false: there is none. */
bool groat__cuda_next_decl(groat__cuda_cursor *c, groat__cuda_decl *out);
/* Likewise the next #define. */
bool groat__cuda_next_macro(groat__cuda_cursor *c, groat__cuda_decl *out);

#endif
