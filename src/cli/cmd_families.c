/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_families.c - groat families: lists families, their parameters and rules.
 *
 * Owns the layout; every word comes from params.def through the library or
 * from the driver's table.
 * Invariant: the JSON form has all details of each family that it lists.
 */
#include "base/near.h"
#include "cli/family/folder.h"
#include "cli/tool/cmd.h"
#include "cli/commands.h"
#include "groat_tools.h"

#include <inttypes.h>
#include <string.h>

static const char *type_name(groat_param_type type)
{
    switch (type) {
    case GROAT_PARAM_INT:
        return "int";
    case GROAT_PARAM_BOOL:
        return "bool";
    case GROAT_PARAM_CODE:
        return "code";
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

/* Returns whether the argument's default is computed from the spec. */
static bool is_derived(const groat_driver_arg *arg)
{
    return arg->deflt == GROAT_ARG_UNSET || (arg->deflt == -1 && arg->min > -1);
}

/* spec: NULL, or the one whose values are asked for. */
static void derived_json(groat__json *json, const groat_family *family,
                         const groat_spec *spec)
{
    groat__json_array(json, "derived");
    for (size_t i = 0; i < groat_family_derived_count(family); i++) {
        groat_param_info info = {.size = sizeof(info)};
        int64_t value;

        if (groat_family_derived(family, i, &info, NULL))
            continue;
        groat__json_object(json, NULL);
        groat__json_string(json, "name", info.name);
        if (spec && groat_spec_get(spec, info.name, &value, NULL) == GROAT_OK)
            groat__json_int(json, "value", value);
        else
            groat__json_null(json, "value");
        groat__json_string(json, "expression", info.deflt);
        groat__json_string(json, "unit", info.unit);
        groat__json_string(json, "meaning", info.meaning);
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
        groat__json_string(json, "type",
                           arg->type == GROAT_ARG_INT ? "int" : "float");
        if (arg->type == GROAT_ARG_FLOAT) {
            groat__json_real(json, "default", groat_arg_real(arg->deflt));
            groat__json_null(json, "min");
            groat__json_null(json, "max");
        } else {
            if (is_derived(arg))
                groat__json_null(json, "default");
            else
                groat__json_int(json, "default", arg->deflt);
            groat__json_int(json, "min", arg->min);
            groat__json_int(json, "max", arg->max);
        }
        groat__json_string(json, "unit", arg->unit);
        groat__json_string(json, "meaning", arg->meaning);
        groat__json_end(json);
    }
    groat__json_end(json);
}

static void family_json(groat__cli *cli, const groat_family *family,
                        groat_spec *spec)
{
    groat__json *json = &cli->json;
    groat_error error = GROAT_ERROR_INIT;
    const char *problem = groat_family_problem(family);
    const groat_driver *driver = NULL;
    groat__folder *folder = NULL;

    if (groat__folder_driver(cli->context, family, 0, &driver, &folder, &error))
        problem = error.text;
    groat__json_object(json, NULL);
    groat__json_string(json, "name", groat_family_name(family));
    groat__json_string(json, "summary", groat_family_summary(family));
    if (problem)
        groat__json_string(json, "problem", problem);
    else
        groat__json_null(json, "problem");
    groat__json_bool(json, "runnable", driver != NULL);
    groat__json_string(json, "spec", spec ? groat_spec_text(spec) : NULL);
    groat__json_string(json, "target", spec ? groat_spec_target(spec) : NULL);
    params_json(json, family);
    derived_json(json, family, spec);
    rules_json(json, family);
    args_json(json, driver);
    groat__json_end(json);
    groat__folder_close(folder);
    groat_error_clear(&error);
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
    groat__table table = {.columns = 5, .fold = true};
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

static void print_derived(const groat_family *family, const groat_spec *spec)
{
    const char *const names[] = {"  derived", "unit", "meaning",
                                 spec ? "value" : "expression"};
    groat__table table = {.columns = 4, .fold = true};

    if (!groat_family_derived_count(family))
        return;
    heads(&table, names);
    for (size_t i = 0; i < groat_family_derived_count(family); i++) {
        groat_param_info info = {.size = sizeof(info)};
        int64_t value = 0;

        if (groat_family_derived(family, i, &info, NULL) ||
            (spec && groat_spec_get(spec, info.name, &value, NULL)))
            continue;
        groat__table_add(&table, "  %s", info.name);
        groat__table_add(&table, "%s", info.unit);
        groat__table_add(&table, "%s", info.meaning);
        if (spec)
            groat__table_add(&table, "%" PRId64, value);
        else
            groat__table_add(&table, "%s", info.deflt);
    }
    (void)fputc('\n', stdout);
    groat__table_print(&table);
}

static void print_buffers(const groat__folder *folder)
{
    static const char *const names[] = {"  buffer", "shape", "dtype", "is",
                                        "meaning"};
    groat__table table = {.columns = 5, .fold = true};

    heads(&table, names);
    for (size_t i = 0; i < folder->def.buffer_count; i++) {
        const groat__run_buffer *buffer = &folder->def.buffers[i];
        groat__str shape = {0};

        for (size_t k = 0; k < buffer->rank; k++)
            groat__str_addf(&shape, "%s%s", k ? ", " : "[", buffer->shape[k]);
        groat__table_add(&table, "  %s", buffer->name);
        groat__table_add(&table, "%s]", shape.failed ? "" : shape.data);
        groat__table_add(&table, "%s", buffer->dtype);
        groat__table_add(&table, "%s",
                         !buffer->output ? "in"
                         : buffer->input ? "inout"
                                         : "out");
        groat__table_add(&table, "%s", buffer->meaning);
        groat__str_free(&shape);
    }
    (void)fputc('\n', stdout);
    groat__table_print(&table);
}

static void print_args(const groat_driver *driver, bool own)
{
    static const char *const names[] = {"  argument of run", "allowed",
                                        "default", "unit", "meaning"};
    groat__table table = {.columns = 5, .fold = true};
    char name[GROAT__NAME_ROOM];

    heads(&table, names);
    for (size_t i = 0; driver->args[i].name; i++) {
        const groat_driver_arg *arg = &driver->args[i];

        groat__opt_spell(arg->name, name);
        groat__table_add(&table, "%s%s", own ? "  --arg " : "  --",
                         own ? arg->name : name);
        if (arg->type == GROAT_ARG_FLOAT)
            groat__table_add(&table, "float");
        else
            groat__table_add(&table, "%" PRId64 "..%" PRId64, arg->min,
                             arg->max);
        if (arg->type == GROAT_ARG_FLOAT)
            groat__table_add(&table, "%g", groat_arg_real(arg->deflt));
        else if (is_derived(arg))
            groat__table_add(&table, "from the spec");
        else
            groat__table_add(&table, "%" PRId64, arg->deflt);
        groat__table_add(&table, "%s", arg->unit);
        groat__table_add(&table, "%s", arg->meaning);
    }
    (void)fputc('\n', stdout);
    groat__table_print(&table);
}

static void print_rule(const char *rule, const char *reason)
{
    groat__print_folded("  ", rule);
    groat__print_folded("      ", reason);
}

/* Prints a spec with blanks behind its commas, where lines may end. */
static void print_spec(groat_spec *spec)
{
    groat__str text = {0};

    for (const char *at = groat_spec_text(spec); *at; at++)
        groat__str_addf(&text, "%c%s", *at, *at == ',' ? " " : "");
    groat__str_addf(&text, " for %s", groat_spec_target(spec));
    groat__print_folded("  ", text.failed ? "" : text.data);
    (void)fputc('\n', stdout);
    groat__str_free(&text);
}

static groat_status print_family(const groat__cli *cli,
                                 const groat_family *family, groat_spec *spec,
                                 groat_error *error)
{
    const groat_driver *driver;
    groat__folder *folder;
    const char *rule, *reason;
    groat_status status =
        groat__folder_driver(cli->context, family, 0, &driver, &folder, error);

    (void)printf("%s\n", groat_family_name(family));
    groat__print_folded("  ", groat_family_summary(family));
    (void)fputc('\n', stdout);
    if (spec)
        print_spec(spec);
    print_params(family);
    print_derived(family, spec);
    if (groat_family_rule_count(family))
        (void)printf("\n  rules\n");
    for (size_t i = 0; i < groat_family_rule_count(family); i++)
        if (groat_family_rule(family, i, &rule, &reason, NULL) == GROAT_OK)
            print_rule(rule, reason);
    if (folder)
        print_buffers(folder);
    if (driver && driver->args[0].name)
        print_args(driver, folder != NULL);
    else if (!driver && !status)
        (void)printf("\n  No run.def: groat run builds and loads it.\n");
    groat__folder_close(folder);
    return status;
}

/* Returns whether groat run can launch the family: it has a driver. */
static bool is_runnable(const groat_family *family)
{
    const char *folder = groat_family_folder(family);

    return groat_driver_find(groat_family_name(family)) ||
           (folder && groat__file_is_in(folder, strlen(folder), "run.def"));
}

static void print_list(const groat_context *context)
{
    static const char *const names[] = {"family", "parameters", "run by",
                                        "summary"};
    groat__table table = {.columns = 4, .right = 1u << 1, .fold = true};

    heads(&table, names);
    for (size_t i = 0; i < groat_family_count(context); i++) {
        const groat_family *family = groat_family_at(context, i);
        const char *name = family ? groat_family_name(family) : NULL;

        if (!family)
            continue;
        groat__table_add(&table, "%s", name);
        groat__table_add(&table, "%zu", groat_family_param_count(family));
        groat__table_add(&table, "%s", is_runnable(family) ? "groat run" : "-");
        groat__table_add(&table, "%s",
                         groat_family_problem(family)
                             ? groat_family_problem(family)
                             : groat_family_summary(family));
    }
    groat__table_print(&table);
}

static int unknown_family(groat__cli *cli, const char *name)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_spec *none = NULL;
    groat__near near;

    if (strchr(name, '/') && groat_spec_parse(cli->context, name, "cpu:sm_90a",
                                              &none, &error) != GROAT_OK)
        return groat__cli_fail(cli, &error);
    groat__near_start(&near, name, strlen(name));
    for (size_t i = 0; i < groat_family_count(cli->context); i++) {
        const groat_family *family = groat_family_at(cli->context, i);

        if (family)
            groat__near_try(&near, groat_family_name(family),
                            strlen(groat_family_name(family)));
    }
    return groat__cli_refuse(cli, GROAT_INVALID,
                             "there is no family '%.64s'%s%s%s groat families "
                             "lists all",
                             name, near.found ? "; did you mean " : ";",
                             near.found ? near.found : "",
                             near.found ? "?" : "");
}

/* Finds the family of a name or a spec, and parses the spec, if it is one or
 * --target is given. */
static int find_family(groat__cli *cli, const groat_family **found,
                       groat_spec **spec)
{
    const char *word = cli->words[0];
    size_t len = strcspn(word, ":");
    groat_error error = GROAT_ERROR_INIT;
    char name[256];

    (void)snprintf(name, sizeof(name), "%.*s",
                   len < sizeof(name) ? (int)len : (int)sizeof(name) - 1, word);
    *found = groat_family_find(cli->context, name);
    if (!*found)
        return unknown_family(cli, name);
    if (groat_family_problem(*found))
        return groat__cli_refuse(cli, GROAT_INVALID, "%s",
                                 groat_family_problem(*found));
    if ((word[len] == ':' || cli->values.target) &&
        groat_spec_parse(cli->context, word, cli->values.target, spec, &error))
        return groat__cli_fail(cli, &error);
    return GROAT__EXIT_DONE;
}

int groat__cmd_families(groat__cli *cli)
{
    groat_error error = GROAT_ERROR_INIT;
    const groat_family *only = NULL;
    groat_spec *spec = NULL;
    int code = groat__cli_open(cli, GROAT_OPEN_NO_DISK);

    if (!code && cli->word_count)
        code = find_family(cli, &only, &spec);
    if (code)
        return code;
    if (cli->values.json) {
        groat__json_array(&cli->json, "families");
        for (size_t i = 0; i < groat_family_count(cli->context); i++) {
            const groat_family *family = groat_family_at(cli->context, i);

            if (family && (!only || family == only))
                family_json(cli, family, spec);
        }
        groat__json_end(&cli->json);
    } else if (only) {
        if (print_family(cli, only, spec, &error))
            code = groat__cli_fail(cli, &error);
    } else
        print_list(cli->context);
    groat_spec_free(spec);
    return code;
}
