/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_doctor.c - groat doctor: lists compilers and drivers, found or missing.
 *
 * Owns the verdict whether a kernel could be compiled here at all; the library
 * makes the findings.
 * Invariant: exits with 3 only where the default target has no compiler.
 */
#include "cli/commands.h"
#include "cli/store/store.h"
#include "groat_tools.h"

typedef struct findings {
    groat__cli *cli;
    groat__table table;
} findings;

static void on_finding(void *user, const char *subject, int usable,
                       const char *line)
{
    findings *all = user;
    groat__json *json = &all->cli->json;

    if (!all->cli->values.json) {
        groat__table_add(&all->table, "%s", usable ? "ok" : "--");
        groat__table_add(&all->table, "%s", subject);
        groat__table_add(&all->table, "%s", line);
        return;
    }
    groat__json_object(json, NULL);
    groat__json_string(json, "subject", subject);
    groat__json_bool(json, "usable", usable != 0);
    groat__json_string(json, "text", line);
    groat__json_end(json);
}

/* Computes a key, which needs the target's compiler but no device, to find out
 * whether anything can be compiled here. */
static int try_default(findings *all, const char *target)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_spec *spec = NULL;
    const groat_family *family = groat_family_at(all->cli->context, 0);
    char key[33];
    int code = GROAT__EXIT_DONE;

    if (family && groat_spec_parse(all->cli->context, groat_family_name(family),
                                   target, &spec, &error) == GROAT_OK)
        (void)groat_spec_key(spec, key, NULL, &error);
    if (error.status == GROAT_NO_DEVICE)
        code = groat__cli_fail(all->cli, &error);
    else if (error.status)
        groat__cli_say_error(all->cli, &error);
    groat_spec_free(spec);
    groat_error_clear(&error);
    return code;
}

int groat__cmd_doctor(groat__cli *cli)
{
    findings all = {cli, {.columns = 3}};
    int code = groat__cache_open(cli);

    if (code)
        return code;
    groat__json_string(&cli->json, "version", groat_version());
    groat__json_string(&cli->json, "default_target",
                       groat_default_target(cli->context));
    groat__json_array(&cli->json, "findings");
    on_finding(&all, "groat", 1, groat_version());
    groat_doctor(cli->context, on_finding, &all);
    code = try_default(&all, groat_default_target(cli->context));
    groat__json_end(&cli->json);
    if (!cli->values.json)
        groat__table_print(&all.table);
    return code;
}
