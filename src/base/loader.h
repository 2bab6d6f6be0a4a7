/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_LOADER_H
#define GROAT_BASE_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

typedef enum groat__loader_answer {
    GROAT__LOADER_NONE,   /* there is no such library                     */
    GROAT__LOADER_FILE,   /* this file                                    */
    GROAT__LOADER_UNKNOWN /* unknown, or the library is loaded already    */
} groat__loader_answer;

/* Finds the file that dlopen() would open for a name without a slash, as far as
 * glibc documents it: the folders of LD_LIBRARY_PATH and of the program, the
 * loader's cache, the system's folders.  Appends a FILE's path. */
groat__loader_answer groat__loader_find(const char *name, groat__str *path);

/* Looks a name up in the bytes of a loader's cache, which a NUL must follow:
 * one FILE for this machine, NONE, or UNKNOWN.  Appends a FILE's path. */
groat__loader_answer groat__loader_search_cache(const char *cache, size_t bytes,
                                                const char *name,
                                                groat__str *path);

/* Reads the GNU build id of a library's file as hex, cut to out_bytes.  False:
 * the file is not for this machine, or has no build id. */
bool groat__loader_build_id(const char *path, char *out, size_t out_bytes);

/* The same for the library that the loader has mapped at this base. */
bool groat__loader_mapped_id(uintptr_t base, char *out, size_t out_bytes);

#endif
