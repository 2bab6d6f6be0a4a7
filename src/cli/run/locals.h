/* SPDX-License-Identifier: Apache-2.0
 *
 * locals.h - local variables that a kernel may read before it sets them.
 */
#ifndef GROAT_CLI_RUN_LOCALS_H
#define GROAT_CLI_RUN_LOCALS_H

#include "cli/run/trial.h"

/* Whether the compiler warned of such a variable of a cpu kernel. */
bool groat__locals_suspect(const groat__trial *trial);
/* Runs a kernel with such a variable, whose launch broke no rule, again with
 * other values.  Errors: JUDGED (its value matters), those of a launch. */
groat_status groat__locals_check(groat__cli *cli, groat__trial *trial,
                                 groat_error *error);

#endif
