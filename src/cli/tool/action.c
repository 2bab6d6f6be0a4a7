/* SPDX-License-Identifier: Apache-2.0
 *
 * action.c - subcommands: finds the one that the first word names, and checks
 * the other words and the options against it.
 */
#include "base/near.h"
#include "cli/tool/cmd.h"

#include <string.h>

/* Refuses an option that the action does not take. */
static int check_options(groat__cli *cli, const groat__action *act,
                         const char *always)
{
    const groat__option *options = cli->command->options;
    char name[GROAT__NAME_ROOM];

    for (size_t i = 0; options[i].name; i++) {
        if (!(cli->given >> i & 1))
            continue;
        (void)snprintf(name, sizeof(name), " %s ", options[i].name);
        if (!strstr(always, name) && !strstr(act->options, name))
            return groat__cli_refuse(cli, GROAT_INVALID, "%s %s takes no --%s",
                                     cli->command->name, act->name,
                                     options[i].name);
    }
    return GROAT__EXIT_DONE;
}

static int unknown_action(groat__cli *cli, const groat__action *actions)
{
    const char *name = cli->words[0];
    groat__str text = {0};
    groat__near near;
    int code;

    groat__near_start(&near, name, strlen(name));
    for (const groat__action *at = actions; at->name; at++)
        groat__near_try(&near, at->name, strlen(at->name));
    groat__str_addf(&text, "%s has no '%.64s'", cli->command->name, name);
    groat__near_tell(&near, "it has", &text);
    groat__str_add(&text, cli->command->words);
    code = groat__cli_refuse(cli, GROAT_INVALID, "%s",
                             text.failed ? "out of memory" : text.data);
    groat__str_free(&text);
    return code;
}

static int check(groat__cli *cli, const groat__action *act, const char *always)
{
    const char *command = cli->command->name;
    const char *name = cli->words[0];
    size_t more = cli->word_count - 1;

    if (more < act->min || (more > act->max && act->words))
        return groat__cli_refuse(cli, GROAT_INVALID, "%s %s needs %s", command,
                                 name, act->words);
    if (more > act->max)
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "%s %s takes no word "
                                 "'%.64s'",
                                 command, name, cli->words[1]);
    return check_options(cli, act, always);
}

const groat__action *groat__action_find(groat__cli *cli,
                                        const groat__action *actions,
                                        const char *always, int *code)
{
    const groat__action *act = actions;

    while (act->name && strcmp(act->name, cli->words[0]) != 0)
        act++;
    *code = act->name ? check(cli, act, always) : unknown_action(cli, actions);
    return *code ? NULL : act;
}
