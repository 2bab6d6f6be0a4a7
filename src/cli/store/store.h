/* SPDX-License-Identifier: Apache-2.0
 *
 * store.h - groat cache, and what other commands ask of it.
 */
#ifndef GROAT_CLI_STORE_STORE_H
#define GROAT_CLI_STORE_STORE_H

#include "cli/tool/cmd.h"
#include "groat_store.h"

/* DONE, or, where the open context has no store, the exit code after the reason
 * has been told. */
int groat__cache_needed(groat__cli *cli);
/* DONE, or, where opening the context's store or what was done since met with
 * faults, the exit code after `what` has been told. */
int groat__cache_sound(groat__cli *cli, const char *what);
/* What `groat cache stat` answers, of the open context's store: members of the
 * innermost JSON object, or a table.  Returns an exit code. */
int groat__cache_stat(groat__cli *cli);

/* All about a bundle: members of the innermost JSON object. */
void groat__cmd_bundle_json(groat__json *json, const groat_bundle_info *info);

/* The subcommands of groat cache; the words are as many as they want. */
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
