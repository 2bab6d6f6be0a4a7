/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_DL_H
#define GROAT_BASE_DL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "groat.h"

/* One library opened at run time, and the story of the search. */
typedef struct groat__dl {
    void *handle;      /* NULL: not found                                    */
    char *path;        /* where it was loaded from, resolved                  */
    char build_id[65]; /* hex of its GNU build id; else of XXH3-128 of the file
                        */
    groat__str story;  /* one line per try: name, and why not                 */
} groat__dl;

/* How to look for one library.  Lists end with NULL. */
typedef struct groat__dl_search {
    const char *override;        /* a path that alone is tried, or NULL      */
    const char *override_name;   /* the variable it came from, for messages  */
    const char *const *sonames;  /* "libnvrtc.so.13", tried by the loader    */
    const char *const *patterns; /* glob(3) patterns of full paths, tried after
                                  * the sonames, newest version first; "~" at
                                  * the start is $HOME                       */
} groat__dl_search;

/* Opens the first that loads (RTLD_NOW | RTLD_LOCAL).  Errors: NO_DEVICE; the
 * story lists what was tried.  *dl is filled in both cases; close it. */
groat_status groat__dl_open(const groat__dl_search *search, groat__dl *dl,
                            groat_error *error);
void groat__dl_close(groat__dl *dl);

/* NULL when absent. */
void *groat__dl_symbol(const groat__dl *dl, const char *name);

#endif
