/* SPDX-License-Identifier: Apache-2.0
 *
 * folder.h - exchanges with a folder, such as one that hosts share.
 */
#ifndef GROAT_FLEET_FOLDER_H
#define GROAT_FLEET_FOLDER_H

#include "fleet/object.h"
#include "groat.h"

/* Runs the exchanges of a batch with a folder; fills their outcomes. */
void groat__folder_run(const char *folder, const groat__batch *batch);

/* Calls fn for each file below the folder.  Errors: IO, NO_MEMORY. */
groat_status groat__folder_list(const char *folder, groat__listed_fn *fn,
                                void *user, groat_error *error);

#endif
