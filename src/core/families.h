/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_CORE_FAMILIES_H
#define GROAT_CORE_FAMILIES_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/log.h"
#include "base/str.h"
#include "spec/family.h"
#include "groat_tools.h"

enum { GROAT__FAMILIES = 64 };

/* A family's name and folder, and the family once it was read. */
typedef struct groat__family_place {
    char *name;
    char *dir; /* of a user's family; NULL: the library's */
    _Atomic(groat_family *) family;
} groat__family_place;

/* All zeros, with an initialised lock, are an empty list. */
typedef struct groat__families {
    pthread_mutex_t lock;
    groat__family_place at[GROAT__FAMILIES];
    size_t count;
    groat__str left_out; /* "; WHY" for each unread item of the path */
} groat__families;

/* Lists the library's families and those of a colon-separated list of folders.
 * A name that occurs twice is an error of that family alone; a folder that
 * cannot be read, has no family or exceeds the limit of families is logged.
 * Errors: NO_MEMORY. */
groat_status groat__families_open(groat__families *families, const char *path,
                                  const groat__log *log, groat_error *error);
void groat__families_close(groat__families *families);

/* Finds a family by its name and reads it at the first call.  Errors: INVALID
 * (unknown name; an error in a file, with file and line), NO_MEMORY. */
groat_status groat__families_get(groat__families *families, const char *name,
                                 size_t len, const groat_family **out,
                                 groat_error *error);

#endif
