/* SPDX-License-Identifier: Apache-2.0
 *
 * targets.c - checks the targets of options that only filter: a mistyped one
 * would leave everything out.
 */
#include "cli/tool/cmd.h"

#include <string.h>

#include "base/near.h"
#include "groat_tools.h"

/* Whether the text is RUNNER:ARCH. */
static bool is_pair(const char *text, const char *runner, const char *arch)
{
    size_t len = strlen(runner);

    return strncmp(text, runner, len) == 0 && text[len] == ':' &&
           strcmp(text + len + 1, arch) == 0;
}

/* near->found is the arch that may have been meant. */
static bool is_target(const char *text, groat__near *near)
{
    const char *colon = strchr(text, ':');
    const char *typed = colon ? colon + 1 : text;
    const char *arch;

    groat__near_start(near, typed, strlen(typed));
    for (size_t i = 0; (arch = groat_arch_at(i)); i++) {
        if (is_pair(text, groat_arch_backend(i), arch) ||
            is_pair(text, "cpu", arch))
            return true;
        groat__near_try(near, arch, strlen(arch));
    }
    return false;
}

int groat__cli_check_targets(groat__cli *cli, const char *option,
                             const groat__list *targets)
{
    for (size_t i = 0; i < targets->count; i++) {
        groat__near near;

        if (!is_target(targets->item[i], &near))
            return groat__cli_refuse(
                cli, GROAT_INVALID,
                "%s: target '%.64s' is unknown; %s%s%sallowed: cuda: or hip: "
                "and an arch of it, cpu: and any arch, as in cuda:sm_90a, "
                "hip:gfx950 and cpu:gfx950",
                option, targets->item[i], near.found ? "did you mean " : "",
                near.found ? near.found : "", near.found ? "?  " : "");
    }
    return GROAT__EXIT_DONE;
}
