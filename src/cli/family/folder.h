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

/* A driver that reads a family's folder.  Its `driver` is what the rest of the
 * tool sees; both live until groat__folder_close. */
typedef struct groat__folder {
    groat_driver driver;
    const groat_family *family;
    const char *path; /* of the folder */
    char *text;       /* of run.def, cut into words */
    groat__run_def def;
    groat__args_struct args;
    bool has_reference;
    groat__reference reference;
} groat__folder;

/* Gives NULL for a family that has no run.def.  seconds: that its reference may
 * take.  Errors: INVALID, with file and line; IO; NO_MEMORY. */
groat_status groat__folder_open(const groat_family *family, unsigned seconds,
                                groat__folder **out, groat_error *error);
/* The driver of a family of the library, or one that is made of the family's
 * run.def, which *folder is then; NULL where there is neither. */
groat_status groat__folder_driver(const groat_family *family, unsigned seconds,
                                  const groat_driver **driver,
                                  groat__folder **folder, groat_error *error);
void groat__folder_close(groat__folder *folder);

#endif
