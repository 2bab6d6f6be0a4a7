/* SPDX-License-Identifier: Apache-2.0
 *
 * fleet.h - groat fleet, and lists of names of a remote's objects.
 */
#ifndef GROAT_CLI_FLEET_FLEET_H
#define GROAT_CLI_FLEET_FLEET_H

#include "cli/tool/cmd.h"
#include "groat_store.h"

/* Names of a remote's objects; start from {0}. */
typedef struct groat__names {
    char **at;
    size_t count;
    size_t cap;
} groat__names;

void groat__names_free(groat__names *names);
/* Returns false when out of memory. */
bool groat__names_add(groat__names *names, const char *name);
/* Adds the name, or `both` names, of a spec's objects (see groat_remote_names).
 * Errors: of groat_spec_parse() and groat_remote_names_get(). */
groat_status groat__names_add_spec(groat__cli *cli, groat__names *names,
                                   const char *spec, const char *target,
                                   bool both, groat_error *error);
/* Adds the names of the kernels in the manifests that cli->words list from the
 * second word on.  Returns DONE, or an exit code after reporting the error with
 * its line: NO_DEVICE if just those kernels are left out whose compiler is not
 * here. */
int groat__names_read(groat__cli *cli, bool both, groat__names *names);
/* Sorts the names and drops duplicates, as groat__names_have() requires. */
void groat__names_sort(groat__names *names);
bool groat__names_have(const groat__names *names, const char *name);

/* The command. */
int groat__cmd_fleet(groat__cli *cli);

#endif
