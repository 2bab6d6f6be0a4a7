/* SPDX-License-Identifier: Apache-2.0
 *
 * fleet.h - groat fleet, and what other commands ask of a remote.
 */
#ifndef GROAT_CLI_FLEET_FLEET_H
#define GROAT_CLI_FLEET_FLEET_H

#include "cli/tool/cmd.h"
#include "groat_store.h"

/* Names of objects; start from {0}. */
typedef struct groat__names {
    char **at;
    size_t count;
    size_t cap;
} groat__names;

void groat__names_free(groat__names *names);
/* False without memory. */
bool groat__names_add(groat__names *names, const char *name);
/* The name, or `both`, of a spec's objects.  Errors: of groat_spec_parse() and
 * groat_remote_names_get(). */
groat_status groat__names_add_spec(groat__cli *cli, groat__names *names,
                                   const char *spec, const char *target,
                                   bool both, groat_error *error);
/* The name, or `both`, of each kernel that the manifests of cli->words, from
 * the second on, name.  Returns DONE or the exit code of a failure that it has
 * told. */
int groat__names_read(groat__cli *cli, bool both, groat__names *names);
/* Sorts them, each once; then groat__names_have() tells whether one is among
 * them. */
void groat__names_sort(groat__names *names);
bool groat__names_have(const groat__names *names, const char *name);

/* The command. */
int groat__cmd_fleet(groat__cli *cli);

#endif
