/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_help.c - help, and the data for shell completion.
 *
 * Owns the layout; every command, option and word comes from commands.c, the
 * drivers or the library.
 * Invariant: help lists what the parser accepts: both read the same table.
 */
#include "cli/tool/cmd.h"
#include "kernels-src/driver/driver.h"
#include "cli/commands.h"
#include "groat_tools.h"

#include <string.h>

static void option_json(groat__json *json, const groat__option *option)
{
    groat__json_object(json, NULL);
    groat__json_string(json, "name", option->name);
    groat__json_string(json, "value", option->value);
    groat__json_string(json, "meaning", option->meaning);
    groat__json_end(json);
}

static void command_json(groat__json *json, const groat__command *command)
{
    groat__json_object(json, NULL);
    groat__json_string(json, "name", command->name);
    groat__json_string(json, "words", command->words);
    groat__json_string(json, "summary", command->summary);
    groat__json_bool(json, "run_time_arguments", command->driver_args);
    groat__json_array(json, "options");
    for (const groat__option *at = command->options; at->name; at++)
        option_json(json, at);
    groat__json_end(json);
    groat__json_end(json);
}

static void print_command(const groat__command *command)
{
    groat__table table = {.columns = 2};

    (void)printf("groat %s%s%s [OPTIONS]\n\n%s.\n", command->name,
                 command->words[0] ? " " : "", command->words,
                 command->summary);
    if (command->detail)
        (void)fputs(command->detail, stdout);
    (void)fputc('\n', stdout);
    for (const groat__option *at = command->options; at->name; at++) {
        groat__table_add(&table, "  --%s%s%s%s", at->name, at->value ? " " : "",
                         at->value ? at->value : "",
                         at->kind == GROAT__OPTION_LIST ? "..." : "");
        groat__table_add(&table, "%s", at->meaning);
    }
    groat__table_print(&table);
}

static void print_commands(const groat__cli *cli)
{
    groat__table table = {.columns = 2};

    (void)printf("groat COMMAND [OPTIONS] [WORDS...]\n\n"
                 "GPU kernels made to measure: compiled at first use, kept, "
                 "launched.\n\n");
    for (const groat__command *at = cli->commands; at->name; at++) {
        if (at->hidden)
            continue;
        groat__table_add(&table, "  %s", at->name);
        groat__table_add(&table, "%s", at->summary);
    }
    groat__table_print(&table);
    (void)printf(
        "\nA SPEC is a family and its parameters:\n"
        "  tile_loader_lds:dtype=bf16,tile_rows=64\n"
        "A target is who runs it: cuda:sm_90a, hip:gfx950, cpu:gfx950.\n"
        "groat help COMMAND tells the options; --json works everywhere.\n"
        "Exit: 0 done, 1 failed, 2 usage or invalid spec, 3 no usable device\n"
        "or compiler, 4 compile failed.\n");
}

int groat__cmd_help(groat__cli *cli)
{
    const groat__command *only = NULL;
    bool asked = strcmp(cli->command->name, "help") == 0 ||
                 strcmp(cli->command->name, "--help") == 0;

    if (!asked)
        only = cli->command;
    else if (cli->word_count) {
        only = groat__command_find(cli->commands, cli->words[0]);
        if (!only)
            return groat__cli_refuse(cli, GROAT_INVALID,
                                     "there is no command '%.64s'; see groat "
                                     "help",
                                     cli->words[0]);
    }
    if (cli->values.json) {
        groat__json_array(&cli->json, "commands");
        for (const groat__command *at = cli->commands; at->name; at++)
            if (only ? at == only : !at->hidden)
                command_json(&cli->json, at);
        groat__json_end(&cli->json);
    } else if (only)
        print_command(only);
    else
        print_commands(cli);
    return GROAT__EXIT_DONE;
}

/* ---- completion-data --------------------------------------------------- */

/* Prints one line of four fields, or one JSON object. */
static void datum(groat__cli *cli, const char *kind, const char *of,
                  const char *name, const char *more)
{
    groat__json *json = &cli->json;

    if (!cli->values.json) {
        (void)printf("%s\t%s\t%s\t%s\n", kind, of, name, more ? more : "");
        return;
    }
    groat__json_object(json, NULL);
    groat__json_string(json, "kind", kind);
    groat__json_string(json, "of", of);
    groat__json_string(json, "name", name);
    groat__json_string(json, "more", more);
    groat__json_end(json);
}

static void family_data(groat__cli *cli, const groat_family *family)
{
    const char *name = groat_family_name(family);
    const groat_driver *driver = groat_driver_find(name);

    datum(cli, "family", "-", name, groat_family_summary(family));
    for (size_t i = 0; i < groat_family_param_count(family); i++) {
        groat_param_info info = {.size = sizeof(info)};

        if (groat_family_param(family, i, &info, NULL) == GROAT_OK)
            datum(cli, "param", name, info.name, info.allowed);
    }
    for (size_t i = 0; driver && driver->args[i].name; i++)
        datum(cli, "argument", name, driver->args[i].name,
              driver->args[i].meaning);
}

/* Prints the subcommands: the lower-case words of a command's usage. */
static void subcommand_data(groat__cli *cli, const groat__command *command)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    const char *at = command->words;
    char name[GROAT__NAME_ROOM];

    if (!strchr(at, '|'))
        return;
    while (at += strcspn(at, letters), *at) {
        size_t len = strspn(at, letters);

        (void)snprintf(name, sizeof(name), "%.*s", (int)len, at);
        datum(cli, "subcommand", command->name, name, NULL);
        at += len;
    }
}

static void target_data(groat__cli *cli)
{
    const char *arch;
    char target[64];

    for (size_t i = 0; (arch = groat_arch_at(i)); i++) {
        (void)snprintf(target, sizeof(target), "%s:%s", groat_arch_backend(i),
                       arch);
        datum(cli, "target", "-", target, NULL);
        (void)snprintf(target, sizeof(target), "cpu:%s", arch);
        datum(cli, "target", "-", target, NULL);
    }
}

int groat__cmd_completion_data(groat__cli *cli)
{
    int code = groat__cli_open(cli, GROAT_OPEN_NO_DISK);

    if (code)
        return code;
    groat__json_array(&cli->json, "data");
    for (const groat__command *at = cli->commands; at->name; at++) {
        if (at->hidden)
            continue;
        datum(cli, "command", "-", at->name, at->summary);
        for (const groat__option *row = at->options; row->name; row++)
            datum(cli, "option", at->name, row->name, row->value);
        subcommand_data(cli, at);
    }
    for (size_t i = 0; i < groat_family_count(cli->context); i++)
        if (groat_family_at(cli->context, i))
            family_data(cli, groat_family_at(cli->context, i));
    target_data(cli);
    groat__json_end(&cli->json);
    return GROAT__EXIT_DONE;
}

int groat__cmd_version(groat__cli *cli)
{
    if (cli->values.json)
        groat__json_string(&cli->json, "version", groat_version());
    else
        (void)printf("groat %s\n", groat_version());
    return GROAT__EXIT_DONE;
}
