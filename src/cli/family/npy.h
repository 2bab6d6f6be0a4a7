/* SPDX-License-Identifier: Apache-2.0
 *
 * npy.h - .npy files, version 1.0 to 3.0 of numpy's format: a magic number, a
 * header of one line of Python, and the numbers.
 */
#ifndef GROAT_CLI_FAMILY_NPY_H
#define GROAT_CLI_FAMILY_NPY_H

#include "base/str.h"

enum {
    GROAT__NPY_RANK = 8,
    GROAT__NPY_HEADER_MAX = 65536 /* bytes of a header that is read */
};

typedef struct groat__npy {
    char type[16]; /* "<f4" */
    size_t rank;
    uint64_t shape[GROAT__NPY_RANK];
    size_t data_at; /* bytes in front of the numbers */
} groat__npy;

/* True for "x.npy". */
bool groat__npy_is_named(const char *path);

/* Reads the header of a file's first bytes; a text that says what is wrong
 * with it, or NULL. */
const char *groat__npy_read(const void *data, size_t bytes, groat__npy *out);

/* Appends the header that numpy writes for such an array. */
void groat__npy_head(const char *type, const int64_t *shape, size_t rank,
                     groat__str *out);

#endif
