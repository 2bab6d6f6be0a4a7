/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_source.h - a file of CUDA C++ as groat judge takes it.
 */
#ifndef GROAT_CLI_JUDGE_CUDA_SOURCE_H
#define GROAT_CLI_JUDGE_CUDA_SOURCE_H

#include <stdbool.h>

#include "base/str.h"
#include "groat.h"

enum { GROAT__CUDA_PARAMS = 32 };

typedef struct groat__cuda_param {
    groat__str type; /* as it is written, "const float *" */
    groat__str name;
    bool pointer;
    bool constant;     /* what it points to */
    const char *dtype; /* of that, one of element.h; NULL: it has none      */
} groat__cuda_param;

typedef struct groat__cuda_source {
    groat__str text; /* lines as in the file; its includes and extern      *
                      * shared arrays replaced                             */
    groat__cuda_param params[GROAT__CUDA_PARAMS]; /* of the entry           */
    size_t param_count;
    bool dynamic;       /* an extern shared array is there                  */
    bool found;         /* the entry                                        */
    int line;           /* of its name                                      */
    groat__str kernels; /* all names of __global__ functions, by commas     */
} groat__cuda_source;

/* What is behind the namespaces of a kernel's name. */
const char *groat__cuda_name(const char *entry);

/* Reads text, of a file called `file` in errors, for the kernel `entry`, which
 * may end in template arguments.  *out starts from {0}; groat__cuda_free() it
 * either way.  Errors: INVALID ("FILE:LINE: what cannot be judged"),
 * NO_MEMORY. */
groat_status groat__cuda_read(const char *file, const char *text,
                              const char *entry, groat__cuda_source *out,
                              groat_error *error);
void groat__cuda_free(groat__cuda_source *source);

#endif
