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
    GROAT__LOADER_UNKNOWN /* it cannot be told, or the library is loaded  */
} groat__loader_answer;

/* Which file dlopen() would open for a name without a slash, as far as glibc's
 * documents say: the folders of LD_LIBRARY_PATH and of the program, the
 * loader's cache, the system's folders.  Appends a FILE's path. */
groat__loader_answer groat__loader_find(const char *name, groat__str *path);

/* What a cache of the loader, with a NUL behind it, says of a name: one FILE of
 * this machine's kind, NONE, or no answer.  Appends a FILE's path. */
groat__loader_answer groat__loader_search_cache(const char *cache, size_t bytes,
                                                const char *name,
                                                groat__str *path);

/* The GNU build id of a library's file as hex, cut to the room there is; false
 * where it is none for this machine, or has none. */
bool groat__loader_build_id(const char *path, char *out, size_t out_bytes);

/* The same of what the loader has mapped at this base. */
bool groat__loader_mapped_id(uintptr_t base, char *out, size_t out_bytes);

#endif
