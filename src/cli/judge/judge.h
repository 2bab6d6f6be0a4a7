/* SPDX-License-Identifier: Apache-2.0
 *
 * judge.h - groat judge: runs a CUDA C++ kernel without a family.
 */
#ifndef GROAT_CLI_JUDGE_JUDGE_H
#define GROAT_CLI_JUDGE_JUDGE_H

#include "cli/tool/cmd.h"

/* The command. */
int groat__cmd_judge(groat__cli *cli);

#endif
