/* SPDX-License-Identifier: Apache-2.0
 *
 * new.h - groat new, and the templates that it copies.
 */
#ifndef GROAT_CLI_FAMILY_NEW_H
#define GROAT_CLI_FAMILY_NEW_H

#include "cli/tool/cmd.h"

/* A file of kernels-src/new, such as "gemv/FAMILY.h.in". */
typedef struct groat__template {
    const char *path;
    const char *text;
} groat__template;

/* In the order of their paths; ends with a NULL path.  kernels-src/embed.sh
 * makes it. */
extern const groat__template groat__templates[];

/* The command. */
int groat__cmd_new(groat__cli *cli);

#endif
