/* SPDX-License-Identifier: Apache-2.0
 *
 * commands.h - the table of commands, and the commands without a subfolder.
 */
#ifndef GROAT_CLI_COMMANDS_H
#define GROAT_CLI_COMMANDS_H

#include "cli/tool/cmd.h"

extern const groat__command groat__commands[];

int groat__cmd_build(groat__cli *cli);
int groat__cmd_completion_data(groat__cli *cli);
int groat__cmd_demo(groat__cli *cli);
int groat__cmd_devices(groat__cli *cli);
int groat__cmd_doctor(groat__cli *cli);
int groat__cmd_explain(groat__cli *cli);
int groat__cmd_families(groat__cli *cli);
int groat__cmd_help(groat__cli *cli);
int groat__cmd_key(groat__cli *cli);
int groat__cmd_record(groat__cli *cli);
int groat__cmd_source(groat__cli *cli);
int groat__cmd_version(groat__cli *cli);

#endif
