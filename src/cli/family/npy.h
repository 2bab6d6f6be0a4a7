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
    GROAT__NPY_HEADER_MAX = 65536 /* longest header that is accepted, bytes */
};

typedef struct groat__npy {
    char type[16]; /* "<f4" */
    size_t rank;
    uint64_t shape[GROAT__NPY_RANK];
    size_t data_at; /* byte offset of the numbers */
} groat__npy;

/* Returns whether the path ends in ".npy". */
bool groat__npy_is_named(const char *path);

/* Reads the header from a file's first bytes.  Returns NULL, or a text that
 * says what is wrong with it. */
const char *groat__npy_read(const void *data, size_t bytes, groat__npy *out);

/* Appends the header, as numpy writes it, of an array of that shape. */
void groat__npy_head(const char *type, const int64_t *shape, size_t rank,
                     groat__str *out);

#endif
