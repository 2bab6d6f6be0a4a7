/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_families.c - groat families: what can be made, and within which bounds.
 *
 * Owns the layout; every word comes from params.def through the library or
 * from the driver's table.
 * Invariant: the JSON form always tells all about each family it lists.
 */
#include "cli/tool/cmd.h"
#include "kernels-src/driver/driver.h"
#include "cli/commands.h"
#include "groat_tools.h"

#include <inttypes.h>

static const char *type_name(groat_param_type type)
{
    switch (type) {
    case GROAT_PARAM_INT:
        return "int";
    case GROAT_PARAM_BOOL:
        return "bool";
    case GROAT_PARAM_ENUM:
        break;
    }
    return "enum";
}

static bool param_at(const groat_family *family, size_t index,
                     groat_param_info *info)
{
    *info = (groat_param_info){.size = sizeof(*info)};
    return groat_family_param(family, index, info, NULL) == GROAT_OK;
}

static void params_json(groat__json *json, const groat_family *family)
{
    groat_param_info info;

    groat__json_array(json, "parameters");
    for (size_t i = 0; i < groat_family_param_count(family); i++) {
        if (!param_at(family, i, &info))
            continue;
        groat__json_object(json, NULL);
        groat__json_string(json, "name", info.name);
        groat__json_string(json, "type", type_name(info.type));
        groat__json_string(json, "allowed", info.allowed);
        groat__json_string(json, "default", info.deflt);
        groat__json_string(json, "unit", info.unit);
        groat__json_string(json, "meaning", info.meaning);
        groat__json_end(json);
    }
    groat__json_end(json);
}

static void rules_json(groat__json *json, const groat_family *family)
{
    const char *rule, *reason;

    groat__json_array(json, "rules");
    for (size_t i = 0; i < groat_family_rule_count(family); i++) {
        if (groat_family_rule(family, i, &rule, &reason, NULL))
            continue;
        groat__json_object(json, NULL);
        groat__json_string(json, "rule", rule);
        groat__json_string(json, "reason", reason);
        groat__json_end(json);
    }
    groat__json_end(json);
}

static void args_json(groat__json *json, const groat_driver *driver)
{
    groat__json_array(json, "arguments");
    for (size_t i = 0; driver && driver->args[i].name; i++) {
        const groat_driver_arg *arg = &driver->args[i];

        groat__json_object(json, NULL);
        groat__json_string(json, "name", arg->name);
        if (arg->deflt == -1)
            groat__json_null(json, "default");
        else
            groat__json_int(json, "default", arg->deflt);
        groat__json_int(json, "min", arg->min);
        groat__json_int(json, "max", arg->max);
        groat__json_string(json, "unit", arg->unit);
        groat__json_string(json, "meaning", arg->meaning);
        groat__json_end(json);
    }
    groat__json_end(json);
}

static void family_json(groat__json *json, const groat_family *family)
{
    const groat_driver *driver = groat_driver_find(groat_family_name(family));

    groat__json_object(json, NULL);
    groat__json_string(json, "name", groat_family_name(family));
    groat__json_string(json, "summary", groat_family_summary(family));
    if (groat_family_problem(family))
        groat__json_string(json, "problem", groat_family_problem(family));
    else
        groat__json_null(json, "problem");
    groat__json_bool(json, "runnable", driver != NULL);
    params_json(json, family);
    rules_json(json, family);
    args_json(json, driver);
    groat__json_end(json);
}

static void heads(groat__table *table, const char *const *names)
{
    for (size_t i = 0; i < table->columns; i++)
        groat__table_add(table, "%s", names[i]);
}

static void print_params(const groat_family *family)
{
    static const char *const names[] = {"  parameter", "allowed", "default",
                                        "unit", "meaning"};
    groat__table table = {.columns = 5};
    groat_param_info info;

    heads(&table, names);
    for (size_t i = 0; i < groat_family_param_count(family); i++) {
        if (!param_at(family, i, &info))
            continue;
        groat__table_add(&table, "  %s", info.name);
        groat__table_add(&table, "%s",
                         info.type == GROAT_PARAM_BOOL ? "false|true"
                                                       : info.allowed);
        groat__table_add(&table, "%s", info.deflt);
        groat__table_add(&table, "%s", info.unit);
        groat__table_add(&table, "%s", info.meaning);
    }
    groat__table_print(&table);
}

static void print_args(const groat_driver *driver)
{
    static const char *const names[] = {"  argument of run", "allowed",
                                        "default", "unit", "meaning"};
    groat__table table = {.columns = 5};
    char name[GROAT__NAME_ROOM];

    heads(&table, names);
    for (size_t i = 0; driver->args[i].name; i++) {
        const groat_driver_arg *arg = &driver->args[i];

        groat__opt_spell(arg->name, name);
        groat__table_add(&table, "  --%s", name);
        groat__table_add(&table, "%" PRId64 "..%" PRId64, arg->min, arg->max);
        if (arg->deflt == -1)
            groat__table_add(&table, "from the spec");
        else
            groat__table_add(&table, "%" PRId64, arg->deflt);
        groat__table_add(&table, "%s", arg->unit);
        groat__table_add(&table, "%s", arg->meaning);
    }
    (void)fputc('\n', stdout);
    groat__table_print(&table);
}

static void print_family(const groat_family *family)
{
    const groat_driver *driver = groat_driver_find(groat_family_name(family));
    const char *rule, *reason;

    (void)printf("%s: %s\n\n", groat_family_name(family),
                 groat_family_summary(family));
    print_params(family);
    if (groat_family_rule_count(family))
        (void)printf("\n  rules\n");
    for (size_t i = 0; i < groat_family_rule_count(family); i++)
        if (groat_family_rule(family, i, &rule, &reason, NULL) == GROAT_OK)
            (void)printf("  %s\n      %s\n", rule, reason);
    if (driver)
        print_args(driver);
    else
        (void)printf("\n  No driver here: groat run builds and loads it.\n");
}

static void print_list(const groat_context *context)
{
    static const char *const names[] = {"family", "parameters", "run by",
                                        "summary"};
    groat__table table = {.columns = 4, .right = 1u << 1};

    heads(&table, names);
    for (size_t i = 0; i < groat_family_count(context); i++) {
        const groat_family *family = groat_family_at(context, i);
        const char *name = family ? groat_family_name(family) : NULL;

        if (!family)
            continue;
        groat__table_add(&table, "%s", name);
        groat__table_add(&table, "%zu", groat_family_param_count(family));
        groat__table_add(&table, "%s",
                         groat_driver_find(name) ? "groat run" : "-");
        groat__table_add(&table, "%s",
                         groat_family_problem(family)
                             ? groat_family_problem(family)
                             : groat_family_summary(family));
    }
    groat__table_print(&table);
}

static int unknown_family(groat__cli *cli, const char *name)
{
    size_t best = groat__opt_slack(name);
    const char *nearest = NULL;

    for (size_t i = 0; i < groat_family_count(cli->context); i++) {
        const groat_family *family = groat_family_at(cli->context, i);

        if (family)
            groat__opt_nearer(name, groat_family_name(family), &best, &nearest);
    }
    return groat__cli_refuse(cli, GROAT_INVALID,
                             "there is no family '%.64s'%s%s; groat families "
                             "lists all",
                             name, nearest ? "; did you mean " : "",
                             nearest ? nearest : "");
}

int groat__cmd_families(groat__cli *cli)
{
    const groat_family *only = NULL;
    int code = groat__cli_open(cli, GROAT_OPEN_NO_DISK);

    if (code)
        return code;
    if (cli->word_count) {
        only = groat_family_find(cli->context, cli->words[0]);
        if (!only)
            return unknown_family(cli, cli->words[0]);
        if (groat_family_problem(only))
            return groat__cli_refuse(cli, GROAT_INVALID, "%s",
                                     groat_family_problem(only));
    }
    if (cli->values.json) {
        groat__json_array(&cli->json, "families");
        for (size_t i = 0; i < groat_family_count(cli->context); i++) {
            const groat_family *family = groat_family_at(cli->context, i);

            if (family && (!only || family == only))
                family_json(&cli->json, family);
        }
        groat__json_end(&cli->json);
    } else if (only)
        print_family(only);
    else
        print_list(cli->context);
    return GROAT__EXIT_DONE;
}
