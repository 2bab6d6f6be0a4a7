/* SPDX-License-Identifier: Apache-2.0
 *
 * store.h - groat cache, and its functions for other commands.
 */
#ifndef GROAT_CLI_STORE_STORE_H
#define GROAT_CLI_STORE_STORE_H

#include "cli/tool/cmd.h"
#include "groat_store.h"

/* Refuses a --cache-dir that does not exist: a command that only looks at a
 * store would make an empty one of a mistyped name.  Returns an exit code. */
int groat__cache_there(groat__cli *cli);
/* Opens the context of a command that looks at bundles and remotes, too, and so
 * needs no store: warns of such a --cache-dir.  Returns an exit code. */
int groat__cache_open(groat__cli *cli);
/* Returns DONE, or, where the open context has no store, an exit code after
 * reporting the reason. */
int groat__cache_needed(groat__cli *cli);
/* Returns DONE, or, if the store had faults since it was opened, an exit code
 * after reporting that and `what`. */
int groat__cache_sound(groat__cli *cli, const char *what);
/* The same if a damaged store was set aside in its folder since then. */
int groat__cache_whole(groat__cli *cli, int64_t since_s, const char *what);
/* Prints the answer of `groat cache stat` for the open context's store: members
 * of the innermost JSON object, or a table.  Returns an exit code. */
int groat__cache_stat(groat__cli *cli);

/* Adds all facts about a bundle to the innermost JSON object. */
void groat__cmd_bundle_json(groat__json *json, const groat_bundle_info *info);

/* Subcommands of groat cache; the number of words has been checked. */
int groat__cmd_bundle_diff(groat__cli *cli);
int groat__cmd_bundle_export(groat__cli *cli);
int groat__cmd_bundle_import(groat__cli *cli);
int groat__cmd_bundle_keygen(groat__cli *cli);
int groat__cmd_bundle_merge(groat__cli *cli);
int groat__cmd_bundle_pull(groat__cli *cli);
int groat__cmd_bundle_push(groat__cli *cli);
int groat__cmd_bundle_sign(groat__cli *cli);
int groat__cmd_bundle_verify(groat__cli *cli);

/* The command. */
int groat__cmd_cache(groat__cli *cli);

#endif
