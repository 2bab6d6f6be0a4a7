/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_source.h - prepares a file of CUDA C++ for groat judge.
 */
#ifndef GROAT_CLI_JUDGE_CUDA_SOURCE_H
#define GROAT_CLI_JUDGE_CUDA_SOURCE_H

#include <stdbool.h>

#include "base/str.h"
#include "cli/judge/cuda_files.h"
#include "cli/judge/cuda_params.h"
#include "groat.h"

enum { GROAT__CUDA_PARAMS = 64 };

typedef struct groat__cuda_source {
    groat__str text; /* lines as in the file; its includes and extern      *
                      * shared arrays replaced                             */
    groat__cuda_param params[GROAT__CUDA_PARAMS]; /* of the entry           */
    size_t own_count;   /* of the kernel's parameters                       */
    size_t param_count; /* and with members of structures, behind them      */
    unsigned dynamic_align; /* of dynamic shared memory, in bytes, or 0 */
    bool dynamic;     /* there is an extern shared array                  */
    bool templated;   /* it has template parameters                       */
    const char *file; /* of the entry's name; in the files                */
    int line;         /* likewise                                         */
    unsigned most_threads; /* of its __launch_bounds__, if a number; else 0 */
    groat__str entry;   /* as given, with the namespaces that were seen     */
    groat__str headers; /* #include lines of ours for those it includes     */
    groat__str
        left_out;       /* #includes that nothing stands in for, for messages */
    groat__str kernels; /* names of all __global__ functions, for messages  */
} groat__cuda_source;

/* Returns a kernel's name without its namespaces. */
const char *groat__cuda_name(const char *entry);

/* Whether a header of ours stands in for one, or none needs to. */
bool groat__cuda_knows(const char *name, size_t len);

/* Reads text and finds the kernel `entry`, which may have template arguments,
 * and may lack its namespaces if no other kernel ends alike; NULL: its only
 * kernel.  The text has the lines of `files`, which must outlive *out; that
 * starts from {0}, and groat__cuda_free() frees it either way.  Errors: INVALID
 * ("FILE:LINE: what cannot be judged"), NO_MEMORY. */
groat_status groat__cuda_read(const groat__cuda_files *files, const char *text,
                              const char *entry, groat__cuda_source *out,
                              groat_error *error);
void groat__cuda_free(groat__cuda_source *source);

#endif
