/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_tokens.h - reads a file of CUDA C++ token by token, without a grammar.
 */
#ifndef GROAT_CLI_JUDGE_CUDA_TOKENS_H
#define GROAT_CLI_JUDGE_CUDA_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

/* A word, a quoted text, or another character. */
typedef struct groat__cuda_token {
    const char *at;
    size_t len; /* 0: the end */
    int line;
} groat__cuda_token;

/* Where a text is read; may be copied to look ahead. */
typedef struct groat__cuda_cursor {
    const char *at; /* next byte to read */
    int line;
    bool fresh; /* only blanks so far in this line */
} groat__cuda_cursor;

bool groat__cuda_is(const groat__cuda_token *token, const char *word);
/* Skips blanks and comments. */
void groat__cuda_skip(groat__cuda_cursor *c);
groat__cuda_token groat__cuda_take(groat__cuda_cursor *c);
/* Reads from after an opening bracket up to the matching closing one. */
groat__cuda_token groat__cuda_take_to(groat__cuda_cursor *c, char open,
                                      char close);
/* What a line of the preprocessor is to the branches of an #if. */
typedef enum groat__cuda_turn {
    GROAT__CUDA_NO_TURN,
    GROAT__CUDA_IF,   /* also #ifdef, #ifndef */
    GROAT__CUDA_ELSE, /* also #elif and its kin */
    GROAT__CUDA_ENDIF
} groat__cuda_turn;

/* Reads the word behind a line's "#". */
groat__cuda_turn groat__cuda_turn_of(const char *behind);
/* Skips to the end of a line of the preprocessor, behind its "#". */
void groat__cuda_skip_directive(groat__cuda_cursor *c);
/* Skips lines of the preprocessor; returns the token behind them. */
groat__cuda_token groat__cuda_take_text(groat__cuda_cursor *c);

#endif
