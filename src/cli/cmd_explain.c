/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_explain.c - groat explain: why a kernel would be compiled.
 *
 * Owns nothing but the printing; the library compares.
 * Invariant: exits with 0 when the kernel exists, with 1 when a get would
 * compile it.
 */
#include "cli/commands.h"
#include "cli/store/store.h"
#include "groat_store.h"
#include "groat_tools.h"

typedef struct told {
    groat__cli *cli;
    groat__table table;
} told;

static void on_difference(void *user, const char *field, const char *wanted,
                          const char *found)
{
    told *t = user;
    groat__json *json = &t->cli->json;

    groat__json_object(json, NULL);
    groat__json_string(json, "field", *field ? field : NULL);
    groat__json_string(json, "wanted", wanted);
    groat__json_string(json, "found", found);
    groat__json_end(json);
    if (t->cli->values.json)
        return;
    if (!t->table.cells) {
        groat__table_add(&t->table, "field");
        groat__table_add(&t->table, "wanted");
        groat__table_add(&t->table, "the nearest has");
    }
    groat__table_add(&t->table, "%s", *field ? field : "-");
    groat__table_add(&t->table, "%s", wanted);
    groat__table_add(&t->table, "%s", found);
}

typedef struct asked {
    groat__cli *cli;
    const char *url;
    bool has;
} asked;

static int on_object(void *user, const groat_remote_object *object)
{
    asked *a = user;
    groat__json *json = &a->cli->json;

    a->has = !object->problem;
    groat__json_object(json, "remote");
    groat__json_string(json, "url", a->url);
    groat__json_string(json, "name", object->name);
    groat__json_bool(json, "hit", a->has);
    groat__json_string(json, "problem", object->problem);
    groat__json_string(json, "signer", a->has ? object->signer : NULL);
    groat__json_end(json);
    if (!a->cli->values.json)
        (void)printf("remote %s: %s%s\n", a->url,
                     a->has ? "has it, signed by " : object->problem,
                     a->has ? object->signer : "");
    return 0;
}

/* Returns whether the remote has the kernel, and prints why not. */
static bool ask_remote(groat__cli *cli, groat_spec *spec)
{
    groat_remote_info info = {.size = sizeof(info)};
    groat_remote_names names = {.size = sizeof(names)};
    char *const name[] = {names.name};
    asked a = {.cli = cli};

    if (groat_remote_stat(cli->context, &info, NULL) || !info.url ||
        groat_remote_names_get(spec, &names, NULL))
        return false;
    a.url = info.url;
    (void)groat_remote_fetch(cli->context, name, 1, 0, on_object, &a, NULL);
    return a.has;
}

static int explain(groat__cli *cli, groat_spec *spec)
{
    groat_explanation why = {.size = sizeof(why)};
    groat_error error = GROAT_ERROR_INIT;
    told t = {.cli = cli, .table = {.columns = 3}};
    bool there;

    groat__json_string(&cli->json, "spec", groat_spec_text(spec));
    groat__json_string(&cli->json, "target", groat_spec_target(spec));
    groat__json_array(&cli->json, "differences");
    if (groat_explain(spec, &why, on_difference, &t, &error))
        return groat__cli_fail(cli, &error);
    groat__json_end(&cli->json);
    there = why.origin != GROAT_FROM_COMPILER;
    groat__json_string(&cli->json, "key", why.key);
    groat__json_string(&cli->json, "origin", groat_origin_name(why.origin));
    groat__json_bool(&cli->json, "hit", there);
    groat__json_string(&cli->json, "text", why.text);
    if (!cli->values.json)
        (void)printf("%s: %s: %s\n", why.key, there ? "hit" : "miss", why.text);
    groat__table_print(&t.table);
    there = there || ask_remote(cli, spec);
    return there ? GROAT__EXIT_DONE : GROAT__EXIT_FAILED;
}

int groat__cmd_explain(groat__cli *cli)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_spec *spec = NULL;
    int code = groat__cache_open(cli);

    if (code)
        return code;
    if (groat_spec_parse(cli->context, cli->words[0], cli->values.target, &spec,
                         &error))
        return groat__cli_fail(cli, &error);
    code = explain(cli, spec);
    groat_spec_free(spec);
    return code;
}
