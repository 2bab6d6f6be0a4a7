/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_family.h - a kernel of CUDA C++ as a family.
 */
#ifndef GROAT_CLI_JUDGE_CUDA_FAMILY_H
#define GROAT_CLI_JUDGE_CUDA_FAMILY_H

#include "cli/judge/cuda_files.h"
#include "cli/judge/cuda_source.h"
#include "cli/judge/judge.h"

enum { GROAT__CUDA_NAME_BYTES = 48, GROAT__CUDA_BLOCK_MAX = 1024 };

/* How --buffer gives a tensor map; takes the length and text of its name. */
#define GROAT__CUDA_MAP_FORM "%.*s=SHAPE:DTYPE box(SHAPE) swizzle(128)"

/* The value of an option NAME=VALUE. */
typedef struct groat__cuda_given {
    const char *value; /* NULL: not given */
    groat__str word;   /* the whole, as groat run takes it */
} groat__cuda_given;

typedef struct groat__cuda_work {
    groat__cli *cli;
    const char *file;
    const char *shown; /* the file's name in findings */
    /* Of the family: the entry's first bytes. */
    char name[GROAT__CUDA_NAME_BYTES + 1];
    unsigned block[3];
    groat__cuda_files files;
    groat__str quoted; /* their text, as it is, for findings */
    groat__cuda_source source;
    groat__cuda_given given[GROAT__CUDA_PARAMS];
    groat__str folder; /* temporary folder that holds the family's */
    groat__str path;   /* the family's folder, as a word of groat run */
    groat_error error;
} groat__cuda_work;

/* Writes the family's folder into a temporary one; w->error says what failed.
 */
groat_status groat__cuda_write_family(groat__cuda_work *w);

#endif
