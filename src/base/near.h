/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_NEAR_H
#define GROAT_BASE_NEAR_H

#include "base/str.h"

/* Finds the word of a list that a mistyped word was meant to be.  Call
 * groat__near_start, try every word, then read found. */
typedef struct groat__near {
    const char *typed;
    size_t len;
    size_t best;       /* edit distance that the next word must be below */
    const char *found; /* borrowed; NULL: none is near */
    size_t found_len;
} groat__near;

void groat__near_start(groat__near *near, const char *typed, size_t len);
void groat__near_try(groat__near *near, const char *known, size_t len);
/* Appends "; LIST: ", and "did you mean 'WORD'? " in front of LIST if a word is
 * near. */
void groat__near_tell(const groat__near *near, const char *list,
                      groat__str *out);

#endif
