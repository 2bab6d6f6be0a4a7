/* SPDX-License-Identifier: Apache-2.0
 *
 * locals.h - local variables that a kernel may read before it sets them.
 */
#ifndef GROAT_CLI_RUN_LOCALS_H
#define GROAT_CLI_RUN_LOCALS_H

#include "cli/run/trial.h"

/* Whether its launch is to be checked: it is a user's kernel on a cpu target.
 */
bool groat__locals_wanted(const groat__trial *trial);
/* Runs a kernel that broke no rule, whose outputs the trial keeps, again with
 * other values in variables that nobody set.  Errors: JUDGED (they matter),
 * those of a launch. */
groat_status groat__locals_check(groat__cli *cli, groat__trial *trial,
                                 groat_error *error);

#endif
