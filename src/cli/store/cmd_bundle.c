/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_bundle.c - the subcommands of groat cache that make and check bundles.
 *
 * Owns their printing; the library does the work.  cmd_cache.c checks their
 * words and options first.
 */
#include "cli/tool/cmd.h"
#include "cli/store/store.h"

#include <inttypes.h>
#include <string.h>

void groat__cmd_bundle_json(groat__json *json, const groat_bundle_info *info)
{
    groat__json_string(json, "path", info->path);
    groat__json_string(json, "problem", info->problem);
    groat__json_uint(json, "entries", info->entries);
    groat__json_uint(json, "payload_bytes", info->payload_bytes);
    groat__json_uint(json, "file_bytes", info->file_bytes);
    groat__json_string(json, "signer", info->signer[0] ? info->signer : NULL);
    groat__json_bool(json, "trusted", info->trusted != 0);
    groat__json_uint(json, "hits", info->hits);
    groat__json_uint(json, "misses", info->misses);
    groat__json_uint(json, "faults", info->faults);
}

/* Prints "3 kernels in FILE", or the same as JSON. */
static int say_written(groat__cli *cli, const char *path, uint64_t written)
{
    groat__json_string(&cli->json, "path", path);
    groat__json_uint(&cli->json, "entries", written);
    if (!cli->values.json)
        (void)printf("%" PRIu64 " %s in %s\n", written,
                     written == 1 ? "kernel" : "kernels", path);
    return GROAT__EXIT_DONE;
}

static int need_output(groat__cli *cli)
{
    const char *output = cli->values.output;

    if (output && strcmp(output, "-") == 0)
        return groat__cli_refuse(
            cli, GROAT_INVALID,
            "--output -: a bundle is a database, which "
            "stdout cannot take; name a file, such as ./-");
    if (output)
        return GROAT__EXIT_DONE;
    return groat__cli_refuse(cli, GROAT_INVALID,
                             "cache %s needs --output FILE, the bundle to make",
                             cli->words[0]);
}

int groat__cmd_bundle_export(groat__cli *cli)
{
    const groat__values *values = &cli->values;
    groat_error error = GROAT_ERROR_INIT;
    uint64_t written = 0;
    int code = need_output(cli);

    if (!code)
        code = groat__cache_sound(cli, "nothing is exported");
    if (code)
        return code;
    if (groat_bundle_export(cli->context, values->output, values->targets.item,
                            values->targets.count, values->key, &written,
                            &error))
        return groat__cli_fail(cli, &error);
    return say_written(cli, values->output, written);
}

int groat__cmd_bundle_import(groat__cli *cli)
{
    groat_error error = GROAT_ERROR_INIT;
    uint64_t imported = 0;

    if (groat_bundle_import(cli->context, cli->words[1], &imported, &error))
        return groat__cli_fail(cli, &error);
    groat__json_uint(&cli->json, "imported", imported);
    if (!cli->values.json)
        (void)printf("%" PRIu64 " %s imported\n", imported,
                     imported == 1 ? "entry" : "entries");
    return GROAT__EXIT_DONE;
}

int groat__cmd_bundle_merge(groat__cli *cli)
{
    groat_error error = GROAT_ERROR_INIT;
    uint64_t written = 0;
    int code = need_output(cli);

    if (code)
        return code;
    if (groat_bundle_merge(cli->words + 1, cli->word_count - 1,
                           cli->values.output, cli->values.key, &written,
                           &error))
        return groat__cli_fail(cli, &error);
    return say_written(cli, cli->values.output, written);
}

int groat__cmd_bundle_sign(groat__cli *cli)
{
    groat_error error = GROAT_ERROR_INIT;
    uint64_t written = 0;

    if (!cli->values.key)
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "cache sign needs --key FILE; groat cache "
                                 "keygen makes one");
    if (groat_bundle_merge(cli->words + 1, 1, cli->words[1], cli->values.key,
                           &written, &error))
        return groat__cli_fail(cli, &error);
    return say_written(cli, cli->words[1], written);
}

int groat__cmd_bundle_push(groat__cli *cli)
{
    groat_error error = GROAT_ERROR_INIT;
    char digest[72];

    if (groat_bundle_push(cli->words[1], cli->words[2], digest, &error))
        return groat__cli_fail(cli, &error);
    groat__json_string(&cli->json, "digest", digest);
    if (!cli->values.json)
        (void)printf("%s\n", digest);
    return GROAT__EXIT_DONE;
}

int groat__cmd_bundle_pull(groat__cli *cli)
{
    groat_error error = GROAT_ERROR_INIT;
    int code = need_output(cli);

    if (code)
        return code;
    if (groat_bundle_pull(cli->words[1], cli->values.output, &error))
        return groat__cli_fail(cli, &error);
    groat__json_string(&cli->json, "path", cli->values.output);
    return GROAT__EXIT_DONE;
}

int groat__cmd_bundle_keygen(groat__cli *cli)
{
    groat_error error = GROAT_ERROR_INIT;
    char public_key[65];

    if (groat_bundle_keygen(cli->words[1], public_key, &error))
        return groat__cli_fail(cli, &error);
    groat__json_string(&cli->json, "public_key", public_key);
    if (!cli->values.json)
        (void)printf("%s\n", public_key);
    return GROAT__EXIT_DONE;
}

int groat__cmd_bundle_verify(groat__cli *cli)
{
    groat_bundle_info info = {.size = sizeof(info)};
    groat_error error = GROAT_ERROR_INIT;

    if (groat_bundle_verify(cli->words[1], cli->values.trust, &info, &error))
        return groat__cli_fail(cli, &error);
    groat__json_uint(&cli->json, "checked", info.entries);
    groat__json_object(&cli->json, "bundle");
    groat__cmd_bundle_json(&cli->json, &info);
    groat__json_end(&cli->json);
    if (!cli->values.json)
        (void)printf("%" PRIu64 " %s checked, %s%s\n", info.entries,
                     info.entries == 1 ? "entry" : "entries",
                     info.signer[0] ? "signed by " : "not signed", info.signer);
    if (!cli->values.trust || info.trusted)
        return GROAT__EXIT_DONE;
    return groat__cli_refuse(cli, GROAT_IO, "%s: %s%s; %s has no such key",
                             info.path,
                             info.signer[0] ? "signed by " : "not signed",
                             info.signer, cli->values.trust);
}

/* ---- diff -------------------------------------------------------------- */

typedef struct comparison {
    groat__cli *cli;
    groat__table table;
    size_t seen;
} comparison;

static int on_difference(void *user, groat_bundle_side side,
                         const groat_cache_entry *entry)
{
    static const char *const sides[] = {"first", "second", "both"};
    comparison *c = user;
    groat__json *json = &c->cli->json;

    c->seen++;
    if (c->cli->values.json) {
        groat__json_object(json, NULL);
        groat__json_string(json, "key", entry->key);
        groat__json_string(json, "side", sides[side]);
        groat__json_uint(json, "bytes", entry->bytes);
        groat__json_string(json, "differs", entry->differs);
        groat__json_string(json, "identity", entry->identity);
        groat__json_end(json);
        return 0;
    }
    groat__table_add(&c->table, "%s", sides[side]);
    groat__table_add(&c->table, "%s", entry->key);
    groat__table_add(&c->table, "%" PRIu64, entry->bytes);
    groat__table_add(&c->table, "%s", entry->differs);
    return 0;
}

int groat__cmd_bundle_diff(groat__cli *cli)
{
    comparison c = {cli, {.columns = 4, .right = 1u << 2}, 0};
    groat_error error = GROAT_ERROR_INIT;
    groat_status status;

    groat__json_array(&cli->json, "differences");
    status = groat_bundle_diff(cli->words[1], cli->words[2], on_difference, &c,
                               &error);
    groat__json_end(&cli->json);
    groat__table_print(&c.table);
    if (status)
        return groat__cli_fail(cli, &error);
    return c.seen ? GROAT__EXIT_FAILED : GROAT__EXIT_DONE;
}
