/* SPDX-License-Identifier: Apache-2.0
 *
 * files.h - the files of --input, --expect and --output.
 */
#ifndef GROAT_CLI_FILES_H
#define GROAT_CLI_FILES_H

#include "cli/run/trial.h"

/* Finds the buffer of each --input and --expect, checks their files, and opens
 * the file of --output.  Errors: INVALID, IO, NO_MEMORY. */
groat_status groat__files_take(const groat__values *options,
                               groat__trial *trial, groat_error *error);

/* Reads a file, raw or .npy, into data; messages name `option`.
 * Errors: INVALID, IO. */
groat_status groat__files_read(const char *option, const char *path,
                               const groat_buffer *buffer, void *data,
                               groat_error *error);

/* Writes the buffer of --output, if given; data has the bytes of all buffers.
 * Errors: IO, NO_MEMORY. */
groat_status groat__files_write(groat__trial *trial, void *const *data,
                                groat_error *error);

#endif
