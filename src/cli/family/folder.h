/* SPDX-License-Identifier: Apache-2.0
 *
 * folder.h - a family's folder as a driver: run.def, args.h and reference.c.
 */
#ifndef GROAT_CLI_FAMILY_FOLDER_H
#define GROAT_CLI_FAMILY_FOLDER_H

#include "cli/family/args_struct.h"
#include "cli/family/reference.h"
#include "cli/family/run_def.h"
#include "groat_tools.h"

/* A driver made from a family's folder.  The rest of the tool sees its `driver`
 * only; both live until groat__folder_close. */
typedef struct groat__folder {
    groat_driver driver;
    const groat_family *family;
    const char *path; /* of the folder */
    char *text;       /* of run.def, split into words in place */
    groat__run_def def;
    groat__args_struct args;
    bool has_reference;
    groat__reference reference;
} groat__folder;

/* Returns the library's driver of a family, or that which the family's run.def
 * names, or one made from run.def, with the folder in *folder; NULL where there
 * is none.  seconds: time limit of its reference.
 * Errors: INVALID, with file and line; IO; NO_MEMORY. */
groat_status groat__folder_driver(const groat_context *context,
                                  const groat_family *family, unsigned seconds,
                                  const groat_driver **driver,
                                  groat__folder **folder, groat_error *error);
/* Fills folder->driver from what was read. */
void groat__folder_make_driver(groat__folder *folder);
void groat__folder_close(groat__folder *folder);

#endif
