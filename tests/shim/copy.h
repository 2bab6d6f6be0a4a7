/* SPDX-License-Identifier: Apache-2.0
 *
 * copy.h - stand-in libraries in a private folder, with a symbol hidden.
 */
#ifndef GROAT_TESTS_COPY_H
#define GROAT_TESTS_COPY_H

#include <stddef.h>

#include "tests/shim/shim.h"

/* Makes a private folder; its path is malloc'd.  A failure fails the test. */
char *shim_folder_make(void);
/* Removes the folder with the files in it, and frees the path. */
void shim_folder_remove(char *folder);

/* Copies the library `from` to folder/name; the caller frees the malloc'd path.
 * The exported symbols of `hidden` (ended by NULL; may be NULL) are renamed in
 * the copy, so that no look-up finds them. */
char *shim_copy(const char *from, const char *folder, const char *name,
                const char *const *hidden);

/* Opens the library and calls its exported `control`, a function without
 * arguments that returns a pointer.  The library stays open: *handle. */
void *shim_control(const char *path, const char *control, void **handle);

/* Lets the at-th next call of `call` (its name in the .def) return `code`. */
void shim_fail(shim_fault *fault, const char *call, int at, int code);

/* Returns a variable that the build sets; fails the test without it. */
const char *shim_path(const char *variable);

#endif
