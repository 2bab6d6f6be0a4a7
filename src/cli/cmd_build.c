/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_build.c - groat build: compile specs for targets, with no GPU.
 *
 * Owns the loop over specs and targets; the library compiles and stores.
 * Invariant: a build that fails does not stop the others; the exit code is the
 * first failure's.
 */
#include "cli/run/trial.h"
#include "cli/commands.h"

#include <inttypes.h>

static void add_heads(groat__table *table)
{
    static const char *const heads[] = {
        "target", "key", "bytes", "compile ms", "registers", "origin", "spec",
    };

    for (size_t i = 0; i < table->columns; i++)
        groat__table_add(table, "%s", heads[i]);
}

static void report(groat__cli *cli, groat__table *table, groat_spec *spec,
                   const groat_kernel_info *info, size_t bytes)
{
    groat__json *json = &cli->json;

    if (!cli->values.json) {
        if (!table->cells)
            add_heads(table);
        groat__table_add(table, "%s", groat_spec_target(spec));
        groat__table_add(table, "%s", info->key);
        groat__table_add(table, "%zu", bytes);
        groat__table_add(table, "%.1f", info->compile_ms);
        if (info->facts.registers >= 0)
            groat__table_add(table, "%" PRId64, info->facts.registers);
        else
            groat__table_add(table, "-");
        groat__table_add(table, "%s", groat_origin_name(info->origin));
        groat__table_add(table, "%s", groat_spec_text(spec));
        return;
    }
    groat__json_string(json, "spec", groat_spec_text(spec));
    groat__json_string(json, "target", groat_spec_target(spec));
    groat__json_string(json, "key", info->key);
    groat__json_string(json, "name", info->name);
    groat__json_string(json, "origin", groat_origin_name(info->origin));
    groat__json_uint(json, "bytes", bytes);
    groat__json_real(json, "compile_ms", info->compile_ms);
    groat__json_string(json, "maker", info->maker);
    groat__json_string(json, "log", info->log);
    groat__facts_json(json, &info->facts);
}

static int build_one(groat__cli *cli, groat__table *table,
                     groat__output *output, groat_spec *spec)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_kernel_info info = {.size = sizeof(info)};
    void *binary = NULL;
    size_t bytes = 0;
    int code = GROAT__EXIT_DONE;

    groat__json_object(&cli->json, NULL);
    if (groat_build(spec, &binary, &bytes, &info, &error)) {
        code = groat__exit_of(error.status);
        groat__cli_say_error(cli, &error);
        groat__json_string(&cli->json, "spec", groat_spec_text(spec));
        groat__json_string(&cli->json, "target", groat_spec_target(spec));
        groat__cli_json_error(&cli->json, &error);
        groat_error_clear(&error);
    } else {
        report(cli, table, spec, &info, bytes);
        groat__cli_say_warnings(cli, &info);
        if (output->file && groat__output_write(output, binary, bytes, &error))
            code = groat__cli_fail(cli, &error);
        groat_free(binary);
    }
    groat__json_end(&cli->json);
    return code;
}

/* Parses each spec for each target and, unless output is NULL, builds it.  The
 * first pass only parses, so that a typo in the last word costs no compile. */
static int walk(groat__cli *cli, groat__table *table, groat__output *output)
{
    const groat__list *targets = &cli->values.targets;
    size_t wide = targets->count ? targets->count : 1;
    size_t total = cli->word_count * wide;
    int code = GROAT__EXIT_DONE;

    for (size_t i = 0; i < total; i++) {
        groat_error error = GROAT_ERROR_INIT;
        groat_spec *spec = NULL;
        const char *target = targets->count ? targets->item[i % wide] : NULL;
        int one = GROAT__EXIT_DONE;

        if (groat_spec_parse(cli->context, cli->words[i / wide], target, &spec,
                             &error))
            return groat__cli_fail(cli, &error);
        if (output) {
            groat__progress_show(&cli->progress, i, total, "building %s",
                                 groat_spec_text(spec));
            one = build_one(cli, table, output, spec);
        }
        groat_spec_free(spec);
        code = code ? code : one;
    }
    return code;
}

int groat__cmd_build(groat__cli *cli)
{
    groat__table table = {.columns = 7, .right = 1u << 2 | 1u << 3 | 1u << 4};
    groat_error error = GROAT_ERROR_INIT;
    groat__output output = {0};
    int code;

    if (cli->values.output &&
        (cli->word_count > 1 || cli->values.targets.count > 1))
        return groat__cli_refuse(
            cli, GROAT_INVALID,
            "--output goes with one SPEC and one --target, "
            "there are %zu and %zu",
            cli->word_count, cli->values.targets.count);
    code = groat__cli_open(cli, 0);
    if (!code)
        code = walk(cli, NULL, NULL);
    if (code)
        return code;
    if (cli->values.output &&
        groat__output_open(&output, cli->values.output, &error))
        return groat__cli_fail(cli, &error);
    groat__json_array(&cli->json, "builds");
    code = walk(cli, &table, &output);
    groat__output_drop(&output);
    groat__json_end(&cli->json);
    groat__progress_clear(&cli->progress);
    groat__table_print(&table);
    return code;
}
