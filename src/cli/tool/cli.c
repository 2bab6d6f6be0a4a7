/* SPDX-License-Identifier: Apache-2.0
 *
 * cli.c - what every command of the tool needs: error reporting, exit codes,
 * and the context.
 */
#include "cli/tool/cmd.h"
#include "groat_tools.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int groat__exit_of(groat_status status)
{
    switch (status) {
    case GROAT_OK:
        return GROAT__EXIT_DONE;
    case GROAT_INVALID:
        return GROAT__EXIT_USAGE;
    case GROAT_NO_DEVICE:
        return GROAT__EXIT_NO_DEVICE;
    case GROAT_COMPILE_FAILED:
        return GROAT__EXIT_COMPILE;
    case GROAT_NO_MEMORY:
    case GROAT_LOAD_FAILED:
    case GROAT_LAUNCH_FAILED:
    case GROAT_JUDGED:
    case GROAT_IO:
    case GROAT_SEALED:
    case GROAT_TIMED_OUT:
    case GROAT_CAPTURING:
        break;
    }
    return GROAT__EXIT_FAILED;
}

static void say_text(groat__cli *cli, const char *lead, const char *line)
{
    groat__progress_clear(&cli->progress);
    (void)fputs(lead, stderr);
    groat__print_plain(stderr, line, strlen(line));
    (void)fputs("\n", stderr);
}

static void sayv(groat__cli *cli, const char *format, va_list args)
{
    groat__str text = {0};

    groat__str_addv(&text, format, args);
    say_text(cli, "groat: ", text.data ? text.data : "out of memory");
    groat__str_free(&text);
}

void groat__cli_say(groat__cli *cli, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    sayv(cli, format, args);
    va_end(args);
}

void groat__cli_say_error(groat__cli *cli, const groat_error *error)
{
    say_text(cli, "groat: ",
             error->text[0] ? error->text : groat_status_name(error->status));
    if (error->log && error->log[0])
        say_text(cli, "", error->log);
}

void groat__cli_say_warnings(groat__cli *cli, const groat_kernel_info *info)
{
    if (strstr(info->log, "warning") == NULL)
        return;
    groat__cli_say(cli, "%s: the compiler warns:", info->name);
    say_text(cli, "", info->log);
}

int groat__cli_fail(groat__cli *cli, groat_error *error)
{
    int code = groat__exit_of(error->status);

    groat__cli_say_error(cli, error);
    groat_error_clear(&cli->failure);
    cli->failure = *error;
    *error = (groat_error)GROAT_ERROR_INIT;
    return code ? code : GROAT__EXIT_FAILED;
}

int groat__cli_refuse(groat__cli *cli, groat_status status, const char *format,
                      ...)
{
    char text[GROAT_ERROR_TEXT];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    (void)groat__fail(&cli->failure, status, "%s", text);
    groat__cli_say_error(cli, &cli->failure);
    return groat__exit_of(status);
}

void groat__cli_json_error(groat__json *json, const groat_error *error)
{
    groat__json_object(json, "error");
    groat__json_string(json, "status", groat_status_name(error->status));
    groat__json_string(json, "text", error->text);
    groat__json_string(json, "vendor_call",
                       error->vendor_call[0] ? error->vendor_call : NULL);
    groat__json_int(json, "vendor_code", error->vendor_code);
    groat__json_string(json, "log", error->log);
    groat__json_end(json);
}

static void on_log(void *user, int level, const char *line)
{
    if (level == GROAT_LOG_WARNING)
        say_text(user, "groat: warning: ", line);
}

static void on_trace(void *user, const groat_trace *event)
{
    const groat__cli *cli = user;

    if (cli->tracing)
        cli->trace(cli->trace_user, event);
}

static void on_progress(void *user, uint64_t done, uint64_t total)
{
    groat__cli *cli = user;

    atomic_store_explicit(&cli->total, total, memory_order_relaxed);
    atomic_store_explicit(&cli->begun, done, memory_order_relaxed);
}

bool groat__file_is_in(const char *folder, size_t len, const char *name)
{
    groat__str file = {0};
    bool is;

    groat__str_addn(&file, folder, len);
    groat__str_addf(&file, "/%s", name);
    is = !file.failed && access(file.data, R_OK) == 0;
    groat__str_free(&file);
    return is;
}

/* Returns whether a colon-separated list of folders has this one. */
static bool has_folder(const groat__str *path, const char *folder, size_t len)
{
    const char *at = path->data;

    while (at && *at) {
        size_t part = strcspn(at, ":");

        if (part == len && memcmp(at, folder, len) == 0)
            return true;
        at += part + (at[part] == ':');
    }
    return false;
}

/* Returns whether the last component of a path of len bytes is "." or "..". */
static bool has_no_name(const char *path, size_t len)
{
    size_t dots = 0;

    while (dots < len && path[len - 1 - dots] == '.')
        dots++;
    return (dots == 1 || dots == 2) &&
           (dots == len || path[len - 1 - dots] == '/');
}

/* Returns the word with its folder, the first len bytes, replaced by the
 * folder's real path, or the word itself on failure.  main() frees it. */
static char *name_folder(groat__cli *cli, char *word, size_t len)
{
    char *folder = strndup(word, len);
    char *whole = folder ? realpath(folder, NULL) : NULL;
    groat__str text = {0};

    groat__str_addf(&text, "%s%s", whole ? whole : "",
                    word + strcspn(word, ":"));
    free(folder);
    free(whole);
    if (!whole || text.failed || cli->made_count == GROAT__LIST_MAX) {
        groat__str_free(&text);
        return word;
    }
    return cli->made[cli->made_count++] = groat__str_take(&text);
}

/* A word "some/folder/my_family:rows=3" names a family by its folder: it
 * becomes "my_family:rows=3", and the folder joins those of --family-path. */
static bool take_folders(groat__cli *cli, groat__str *path)
{
    const char *given = cli->values.family_path;

    if (!given)
        given = getenv("GROAT_FAMILY_PATH");
    groat__str_add(path, given ? given : "");
    for (size_t i = 0; i < cli->word_count; i++) {
        char *word = (char *)(uintptr_t)cli->words[i];
        size_t len = strcspn(word, ":");
        size_t end = len;
        char *name;

        while (end > 1 && word[end - 1] == '/')
            end--;
        if (has_no_name(word, end)) {
            word = name_folder(cli, word, end);
            len = end = strcspn(word, ":");
        }
        if (!memchr(word, '/', len) ||
            !groat__file_is_in(word, end, "params.def"))
            continue;
        if (!has_folder(path, word, end)) {
            groat__str_add(path, path->len ? ":" : "");
            groat__str_addn(path, word, end);
        }
        memmove(word + end, word + len, strlen(word + len) + 1);
        for (name = word + end; name > word && name[-1] != '/'; name--)
            continue;
        ((const char **)(uintptr_t)cli->words)[i] = name;
    }
    return !path->failed;
}

/* Opens a context with what the command line says. */
static groat_status open_context(groat__cli *cli, unsigned flags,
                                 groat_context **out, groat_error *error)
{
    groat_options options = GROAT_OPTIONS_INIT;
    const groat__values *values = &cli->values;

    options.flags = flags;
    if (values->pointers)
        options.flags |= GROAT_OPEN_POINTERS;
    if (values->no_cache)
        options.flags |= GROAT_OPEN_NO_DISK;
    if (values->sanitize)
        options.flags |= GROAT_OPEN_SANITIZE;
    if (values->share_group)
        options.flags |= GROAT_OPEN_SHARE_GROUP;
    options.device = (int)values->device;
    options.cache_dir = values->cache_dir;
    options.family_path = values->family_path;
    if (values->bundles.count || values->alone)
        options.bundles = values->bundles.item;
    options.bundle_count = values->bundles.count;
    options.trust = values->trust;
    options.allow_unsigned = values->allow_unsigned;
    options.remote = values->remote;
    options.remote_key = values->remote_key;
    options.leases = values->leases;
    options.seed = values->seed;
    options.judge_seconds = cli->judge_seconds;
    options.judge_jobs = cli->judge_jobs;
    options.judge_progress = on_progress;
    options.judge_progress_user = cli;
    options.log = on_log;
    options.log_user = cli;
    options.trace = cli->trace ? on_trace : NULL;
    options.trace_user = cli;
    return groat_open(&options, out, error);
}

/* Puts the folders of words in front of the other families, for this context
 * and those that are opened later. */
static bool keep_folders(groat__cli *cli)
{
    groat__str families = {0};
    bool done = take_folders(cli, &families);

    if (done && families.len > 0) {
        cli->families = groat__str_take(&families);
        cli->values.family_path = cli->families;
        done = cli->families != NULL;
    }
    groat__str_free(&families);
    return done;
}

int groat__cli_open(groat__cli *cli, unsigned flags)
{
    groat_error error = GROAT_ERROR_INIT;

    if (!keep_folders(cli))
        return groat__cli_refuse(cli, GROAT_NO_MEMORY, "out of memory");
    return open_context(cli, flags, &cli->context, &error)
               ? groat__cli_fail(cli, &error)
               : GROAT__EXIT_DONE;
}

groat_status groat__cli_open_beside(groat__cli *cli, unsigned flags,
                                    groat_context **out, groat_error *error)
{
    groat_trace_fn *trace = cli->trace;
    groat_status status;

    cli->trace = NULL;
    status = open_context(cli, GROAT_OPEN_NO_DISK | flags, out, error);
    cli->trace = trace;
    return status;
}

groat_status groat__cli_open_store(groat__cli *cli, const char *folder,
                                   groat_context **out, groat_error *error)
{
    static const char *const no_bundles[1];
    groat_options options = GROAT_OPTIONS_INIT;

    if (cli->values.share_group)
        options.flags |= GROAT_OPEN_SHARE_GROUP;
    options.cache_dir = folder;
    options.family_path = cli->values.family_path;
    options.bundles = no_bundles;
    options.log = on_log;
    options.log_user = cli;
    return groat_open(&options, out, error);
}

const groat__command *groat__command_find(const groat__command *commands,
                                          const char *name)
{
    for (const groat__command *at = commands; at->name; at++)
        if (strcmp(at->name, name) == 0)
            return at;
    return NULL;
}
