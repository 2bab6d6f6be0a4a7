/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_cache.c - groat cache: maintains the store.
 *
 * Owns the table of subcommands and their printing; the store does the work.
 * Invariant: without a store each subcommand that needs it fails with the
 * reason.
 */
#include "cli/run/trial.h"
#include "cli/store/store.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

typedef struct listing {
    groat__cli *cli;
    groat__table table;
    size_t seen;
} listing;

static int show_path(groat__cli *cli)
{
    const char *path = groat_cache_path(cli->context);

    if (cli->values.json)
        groat__json_string(&cli->json, "path", path);
    else
        (void)printf("%s\n", path);
    return GROAT__EXIT_DONE;
}

/* Reports the bundles beneath the store: an array, or rows of the table. */
static void stat_bundles(groat__cli *cli, groat__table *table)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_status status;

    groat__json_array(&cli->json, "bundles");
    for (size_t i = 0;; i++) {
        groat_bundle_info info = {.size = sizeof(info)};

        status = groat_bundle_at(cli->context, i, &info, &error);
        if (status == GROAT_INVALID) /* past the end */
            break;
        if (status) /* it can no longer be read */
            info.problem = error.text;
        groat__json_object(&cli->json, NULL);
        groat__cmd_bundle_json(&cli->json, &info);
        groat__json_end(&cli->json);
        if (cli->values.json)
            continue;
        groat__table_add(table, "bundle");
        groat__table_add(table, "%" PRIu64, info.entries);
        groat__table_add(table, "%s %s", info.problem ? "not used:" : "kernels",
                         info.problem ? info.problem : info.path);
    }
    groat__json_end(&cli->json);
    groat_error_clear(&error);
}

int groat__cache_stat(groat__cli *cli)
{
    groat_cache_stat stat = {.size = sizeof(stat)};
    groat_error error = GROAT_ERROR_INIT;
    groat_status status = groat_cache_stat_get(cli->context, &stat, &error);
    groat__table table = {.columns = 3, .right = 1u << 1};
    const struct {
        const char *name;
        uint64_t value;
        const char *unit;
    } rows[] = {
        {"entries", stat.entries, "kernels"},
        {"payload_bytes", stat.payload_bytes, "bytes"},
        {"file_bytes", stat.file_bytes, "bytes"},
        {"max_bytes", stat.max_bytes, "bytes"},
        {"hits", stat.hits, "of this process"},
        {"misses", stat.misses, "of this process"},
        {"evictions", stat.evictions, "of this process"},
        {"faults", stat.faults, "of this process"},
        {"bundle_hits", stat.bundle_hits, "of this process"},
        {"bundle_misses", stat.bundle_misses, "of this process"},
        {"bundle_faults", stat.bundle_faults, "of this process"},
    };

    if (status)
        return groat__cli_fail(cli, &error);
    groat__json_string(&cli->json, "path", groat_cache_path(cli->context));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        groat__json_uint(&cli->json, rows[i].name, rows[i].value);
        if (cli->values.json)
            continue;
        groat__table_add(&table, "%s", rows[i].name);
        groat__table_add(&table, "%" PRIu64, rows[i].value);
        groat__table_add(&table, "%s", rows[i].unit);
    }
    stat_bundles(cli, &table);
    groat__table_print(&table);
    return GROAT__EXIT_DONE;
}

static void stamp(char out[32], int64_t seconds)
{
    time_t when = (time_t)seconds;
    struct tm parts;

    if (!gmtime_r(&when, &parts) ||
        !strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &parts))
        (void)snprintf(out, 32, "%" PRId64, seconds);
}

/* Appends the rest of each line of an identity that starts with "name ". */
static void identity_line(const char *identity, const char *name,
                          groat__str *out)
{
    size_t len = strlen(name);

    while (*identity) {
        size_t line = strcspn(identity, "\n");

        if (line > len && memcmp(identity, name, len) == 0 &&
            identity[len] == ' ') {
            if (out->len)
                groat__str_add(out, " ");
            groat__str_addn(out, identity + len + 1, line - len - 1);
        }
        identity += line + (identity[line] == '\n');
    }
}

static void entry_json(groat__json *json, const groat_cache_entry *entry,
                       bool all)
{
    groat__str target = {0}, family = {0};

    identity_line(entry->identity, "target", &target);
    identity_line(entry->identity, "family", &family);
    if (family.data != NULL) /* "NAME closure HASH" */
        family.data[strcspn(family.data, " ")] = '\0';
    groat__json_object(json, NULL);
    groat__json_string(json, "key", entry->key);
    groat__json_string(json, "family", family.data);
    groat__json_string(json, "target", target.data);
    groat__json_uint(json, "bytes", entry->bytes);
    groat__json_int(json, "created_s", entry->created_s);
    groat__json_int(json, "used_s", entry->used_s);
    if (all) {
        groat__json_string(json, "identity", entry->identity);
        groat__json_string(json, "log", entry->log);
        groat__facts_json(json, &entry->facts);
    }
    groat__json_end(json);
    groat__str_free(&target);
    groat__str_free(&family);
}

static int on_list(void *user, const groat_cache_entry *entry)
{
    listing *list = user;
    groat__str target = {0}, family = {0};
    char used[32];

    list->seen++;
    if (list->cli->values.json) {
        entry_json(&list->cli->json, entry, false);
        return 0;
    }
    identity_line(entry->identity, "target", &target);
    identity_line(entry->identity, "family", &family);
    stamp(used, entry->used_s);
    groat__table_add(&list->table, "%s", entry->key);
    groat__table_add(&list->table, "%" PRIu64 " bytes", entry->bytes);
    groat__table_add(&list->table, "%s", used);
    groat__table_add(&list->table, "%s", target.data ? target.data : "-");
    groat__table_add(&list->table, "%.*s",
                     family.data ? (int)strcspn(family.data, " ") : 1,
                     family.data ? family.data : "-");
    groat__str_free(&target);
    groat__str_free(&family);
    return 0;
}

static int on_show(void *user, const groat_cache_entry *entry)
{
    listing *list = user;
    char created[32], used[32];

    if (list->cli->values.json)
        entry_json(&list->cli->json, entry, true);
    else {
        stamp(created, entry->created_s);
        stamp(used, entry->used_s);
        (void)printf("%skey %s\n%" PRIu64 " bytes, made %s, last used %s\n",
                     list->seen ? "\n" : "", entry->key, entry->bytes, created,
                     used);
        groat__print_plain(stdout, entry->identity, strlen(entry->identity));
        groat__facts_print("facts ", &entry->facts);
        if (entry->log && entry->log[0]) {
            (void)printf("log\n");
            groat__print_plain(stdout, entry->log, strlen(entry->log));
            (void)fputc('\n', stdout);
        }
    }
    list->seen++;
    return 0;
}

static int list_entries(groat__cli *cli)
{
    groat_error error = GROAT_ERROR_INIT;
    listing list = {cli, {.columns = 5, .right = 1u << 1}, 0};
    groat_status status;

    groat__json_array(&cli->json, "entries");
    status = groat_cache_each(cli->context, NULL, on_list, &list, &error);
    groat__json_end(&cli->json);
    groat__table_print(&list.table);
    return status ? groat__cli_fail(cli, &error) : GROAT__EXIT_DONE;
}

static bool is_prefix(const char *text)
{
    size_t len = strspn(text, "0123456789abcdef");

    return len && len <= 32 && !text[len];
}

static int show_entries(groat__cli *cli)
{
    groat_error error = GROAT_ERROR_INIT;
    listing list = {cli, {.columns = 1}, 0};
    const char *prefix = cli->words[1];
    groat_status status;

    if (!is_prefix(prefix))
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "KEYPREFIX is '%.64s', not 1 to 32 digits of "
                                 "0-9 a-f",
                                 prefix);
    groat__json_array(&cli->json, "entries");
    status = groat_cache_each(cli->context, prefix, on_show, &list, &error);
    groat__json_end(&cli->json);
    if (status)
        return groat__cli_fail(cli, &error);
    if (!list.seen)
        return groat__cli_refuse(cli, GROAT_IO, "no key starts with %s in %s",
                                 prefix, groat_cache_path(cli->context));
    return GROAT__EXIT_DONE;
}

/* Prints "3 entries dropped", or the same as JSON. */
static void say_count(groat__cli *cli, const char *name, uint64_t count)
{
    if (cli->values.json)
        groat__json_uint(&cli->json, name, count);
    else
        (void)printf("%" PRIu64 " %s %s\n", count,
                     count == 1 ? "entry" : "entries", name);
}

static int verify(groat__cli *cli)
{
    groat_error error = GROAT_ERROR_INIT;
    uint64_t checked = 0, dropped = 0;

    if (cli->word_count > 1)
        return groat__cmd_bundle_verify(cli);
    if (groat_cache_verify(cli->context, &checked, &dropped, &error))
        return groat__cli_fail(cli, &error);
    say_count(cli, "checked", checked);
    say_count(cli, "dropped", dropped);
    if (dropped)
        return GROAT__EXIT_FAILED;
    return groat__cache_sound(cli, "the entries in the store now are sound, "
                                   "but earlier entries may be lost");
}

static int gc(groat__cli *cli)
{
    groat_error error = GROAT_ERROR_INIT;
    uint64_t evicted = 0;

    if (groat_cache_gc(cli->context, cli->values.max_bytes, &evicted, &error))
        return groat__cli_fail(cli, &error);
    say_count(cli, "evicted", evicted);
    return GROAT__EXIT_DONE;
}

static int clear(groat__cli *cli)
{
    groat_error error = GROAT_ERROR_INIT;
    uint64_t dropped = 0;

    if (groat_cache_clear(cli->context, &dropped, &error))
        return groat__cli_fail(cli, &error);
    say_count(cli, "dropped", dropped);
    return GROAT__EXIT_DONE;
}

static int backup(groat__cli *cli)
{
    groat_error error = GROAT_ERROR_INIT;
    const char *path = cli->words[1];

    if (groat_cache_backup(cli->context, path, &error))
        return groat__cli_fail(cli, &error);
    if (cli->values.json)
        groat__json_string(&cli->json, "path", path);
    else
        (void)printf("the store is copied to %s\n", path);
    return GROAT__EXIT_DONE;
}

#define USE_BUNDLES " bundle trust allow-unsigned "

static const groat__action actions[] = {
    {"path", NULL, 0, 0, true, "", show_path},
    {"stat", NULL, 0, 0, true, USE_BUNDLES, groat__cache_stat},
    {"list", NULL, 0, 0, true, "", list_entries},
    {"show", "KEYPREFIX; groat cache list shows the keys", 1, 1, true, "",
     show_entries},
    {"verify", "BUNDLE or nothing", 0, 1, true, " trust ", verify},
    {"gc", NULL, 0, 0, true, " max-bytes ", gc},
    {"clear", NULL, 0, 0, true, "", clear},
    {"backup", "FILE, which is not there yet", 1, 1, true, "", backup},
    {"export", NULL, 0, 0, true, " output key target ",
     groat__cmd_bundle_export},
    {"import", "BUNDLE", 1, 1, true, " trust allow-unsigned ",
     groat__cmd_bundle_import},
    {"merge", "BUNDLE...", 1, GROAT__WORDS_ANY, false, " output key ",
     groat__cmd_bundle_merge},
    {"diff", "two BUNDLEs", 2, 2, false, "", groat__cmd_bundle_diff},
    {"push", "BUNDLE and oci://HOST/NAME[:TAG]", 2, 2, false, "",
     groat__cmd_bundle_push},
    {"pull", "oci://HOST/NAME@DIGEST", 1, 1, false, " output ",
     groat__cmd_bundle_pull},
    {"sign", "BUNDLE", 1, 1, false, " key ", groat__cmd_bundle_sign},
    {"keygen", "FILE, which is not there yet", 1, 1, false, "",
     groat__cmd_bundle_keygen},
    {NULL, NULL, 0, 0, false, NULL, NULL},
};

int groat__cmd_cache(groat__cli *cli)
{
    int code = GROAT__EXIT_DONE;
    const groat__action *act = groat__action_find(
        cli, actions, " json cache-dir share-group help ", &code);

    if (!act)
        return code;
    /* Verifying a bundle needs no store. */
    if (act->store && (act->run != verify || cli->word_count == 1)) {
        if (act->run != groat__cmd_bundle_import)
            code = groat__cache_there(cli);
        if (!code)
            code = groat__cli_open(cli, 0);
        if (!code)
            code = groat__cache_needed(cli);
    }
    return code ? code : act->run(cli);
}
