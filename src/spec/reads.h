/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_SPEC_READS_H
#define GROAT_SPEC_READS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* What a walk over a source has come to. */
typedef enum groat__read {
    GROAT__READ_END,
    GROAT__READ_INCLUDE, /* #include "name" on a line of its own          */
    GROAT__READ_ONCE,    /* #pragma once on a line of its own             */
    GROAT__READ_REFUSED  /* something else that may read a file; see why  */
} groat__read;

/* A walk over one file's text, from its first byte to its last. */
typedef struct groat__reads {
    const char *at;
    int line;          /* of at, and then of what was found; from 1 */
    const char *begin; /* the line that was found, */
    const char *end;   /* and behind it: at its newline, or at the end */
    const char *name;  /* of an include, borrowed from the text */
    size_t name_len;
    const char *why; /* of a refusal: ends "line N: ..." */
    bool fresh;      /* nothing but blanks and comments on this line yet */
    bool pragma;     /* in a line with one */
    const char *line_begin;
    groat__str joined; /* what adjacent string literals say */
} groat__reads;

/* text outlives the walk; free it with end. */
void groat__reads_begin(groat__reads *reads, const char *text);
/* The next place where a compiler would read a file, told by C's translation
 * phases: splices of lines, then comments, then directives.  Refused are also
 * texts that compilers take apart in different ways (trigraphs, a carriage
 * return or blanks in places where they may end a line), raw strings, and
 * string literals that the assembler would read a file for.  A directive of
 * the assembler that C macros put together is not seen. */
groat__read groat__reads_next(groat__reads *reads);
void groat__reads_end(groat__reads *reads);

#endif
