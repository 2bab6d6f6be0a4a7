/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_SPEC_READS_H
#define GROAT_SPEC_READS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* The result of a step of a walk over a source. */
typedef enum groat__read {
    GROAT__READ_END,
    GROAT__READ_INCLUDE, /* #include "name" on a line of its own     */
    GROAT__READ_ONCE,    /* #pragma once on a line of its own        */
    GROAT__READ_COMMENT, /* one that can go: not behind a backslash, not
                          * over several lines of a directive, and none
                          * of a directive's head or of an include   */
    GROAT__READ_REFUSED  /* other text that may read a file; see why */
} groat__read;

/* A walk over one file's text, from its first byte to its last. */
typedef struct groat__reads {
    const char *at;
    int line;          /* of at, then of the result; from 1 */
    const char *begin; /* the line of the result, or the comment */
    const char *end;   /* and its end; of a line: its newline, or the text's */
    const char *name;  /* of an include, borrowed from the text */
    size_t name_len;
    const char *why; /* of a refusal, to follow "FILE:N: " */
    bool fresh;      /* only blanks and comments on this line so far */
    bool directive;  /* the line is one */
    bool pragma;     /* the line has a #pragma or _Pragma */
    const char *line_begin;
    groat__str joined; /* the value of adjacent string literals */
} groat__reads;

/* text must outlive the walk.  End the walk with groat__reads_end(). */
void groat__reads_begin(groat__reads *reads, const char *text);
/* Finds the next place where a compiler would read a file, or the next comment,
 * by C's translation phases: line splices, then comments, then directives.  No
 * comment stands before an include on its line.  Also refuses texts
 * that compilers parse differently (trigraphs, a carriage return or blanks that
 * may end a line), raw strings, and string literals that make the assembler
 * read a file.  It does not see an assembler directive that C macros put
 * together. */
groat__read groat__reads_next(groat__reads *reads);
void groat__reads_end(groat__reads *reads);

#endif
