/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_DL_H
#define GROAT_BASE_DL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/loader.h"
#include "base/str.h"
#include "groat.h"

enum { GROAT__BUILD_ID_ROOM = 65 };

/* A library opened at run time, and the story of the search. */
typedef struct groat__dl {
    void *handle; /* NULL: not found                                    */
    char *path;   /* where it was loaded from, resolved                  */
    char build_id[GROAT__BUILD_ID_ROOM]; /* hex of its GNU build id; else of *
                                          * XXH3-128 of the file              */
    groat__str story; /* one line per failed try: name and reason            */
} groat__dl;

/* How to look for one library.  Lists end with NULL. */
typedef struct groat__dl_search {
    const char *override;        /* the only path to try, or NULL            */
    const char *override_name;   /* the variable it came from, for messages  */
    const char *const *sonames;  /* "libnvrtc.so.13", tried by the loader    */
    const char *const *patterns; /* glob(3) patterns of full paths, tried after
                                  * the sonames, newest version first        */
} groat__dl_search;

/* Opens the first that loads (RTLD_NOW | RTLD_LOCAL).  Errors: NO_DEVICE; the
 * story lists what was tried.  *dl is filled in both cases; close it. */
groat_status groat__dl_open(const groat__dl_search *search, groat__dl *dl,
                            groat_error *error);
void groat__dl_close(groat__dl *dl);

/* Reads, from its file, the build id of the library that groat__dl_open() would
 * open: FILE.  NONE: there is no such library.  UNKNOWN: the process has loaded
 * the library already, the loader has a choice among files of the name, or the
 * file has no build id. */
groat__loader_answer groat__dl_predict(const groat__dl_search *search,
                                       char build_id[GROAT__BUILD_ID_ROOM]);

/* NULL when absent. */
void *groat__dl_symbol(const groat__dl *dl, const char *name);

/* A symbol of a library, and where its address goes in a structure of calls. */
typedef struct groat__symbol {
    const char *name;
    bool needed;
    size_t offset;
} groat__symbol;

/* Fills calls from an open library; optional symbols that are absent become
 * NULL.  Errors: NO_DEVICE, naming the library and the needed symbol it
 * lacks. */
groat_status groat__dl_bind(const groat__dl *dl, const groat__symbol *symbols,
                            size_t count, void *calls, groat_error *error);

#endif
