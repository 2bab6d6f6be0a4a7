/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_files.h - a file of CUDA C++ with the headers that lie beside it.
 */
#ifndef GROAT_CLI_JUDGE_CUDA_FILES_H
#define GROAT_CLI_JUDGE_CUDA_FILES_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/str.h"
#include "groat.h"

enum { GROAT__CUDA_FILES = 256, GROAT__CUDA_PARTS = 2 * GROAT__CUDA_FILES };

/* Lines of one file that follow each other in the whole text. */
typedef struct groat__cuda_part {
    int line;    /* of the whole text, from 1, where they begin */
    size_t file; /* index */
    int own;     /* the file's line there */
} groat__cuda_part;

/* Start from {0}; free with groat__cuda_files_free. */
typedef struct groat__cuda_files {
    groat__str text; /* whole: each header in the place of its #include */
    struct {
        groat__str path;
        groat__str shown; /* its name in findings */
        dev_t device;     /* a file may have several names */
        ino_t inode;
        bool once; /* it has a guard */
    } files[GROAT__CUDA_FILES];
    size_t file_count;
    groat__cuda_part parts[GROAT__CUDA_PARTS];
    size_t part_count;
} groat__cuda_files;

/* Where headers are looked for. */
typedef struct groat__cuda_search {
    const char *const *folders; /* besides that of the file which includes it */
    size_t folder_count;
    bool (*is_ours)(const char *name, size_t len); /* those are not read */
} groat__cuda_search;

/* Reads a file, which findings call `shown`, and the headers that it includes,
 * one with a guard once: those that are not found stay #includes.  Errors: IO,
 * NO_MEMORY, INVALID (a byte of 0, more than GROAT__CUDA_FILES files). */
groat_status groat__cuda_files_read(groat__cuda_files *files, const char *path,
                                    const char *shown,
                                    const groat__cuda_search *search,
                                    groat_error *error);
void groat__cuda_files_free(groat__cuda_files *files);

/* Returns the name in findings of the file that a line of the whole text is
 * from; *own becomes the line there. */
const char *groat__cuda_files_at(const groat__cuda_files *files, int line,
                                 int *own);
/* Appends text, which has the lines of the whole, with #line wherever another
 * file begins or goes on. */
void groat__cuda_files_mark(const groat__cuda_files *files, const char *text,
                            groat__str *out);

#endif
