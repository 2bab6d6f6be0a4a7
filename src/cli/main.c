/* SPDX-License-Identifier: Apache-2.0
 *
 * main.c - finds the command, runs it, and says how it went.
 *
 * Owns the process: stdout at exit, stderr's talk, the context's life, the
 * exit code.  Commands own their answers.
 * Invariant: with --json exactly one JSON object goes to stdout, whatever
 * fails; nothing but answers goes to stdout; a full disk under stdout is a
 * failure.
 * Locking: none; the tool is single-threaded.
 */
#include "cli/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
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
    groat__text text = {0};

    groat__text_addv(&text, format, args);
    say_text(cli, "groat: ", text.data ? text.data : "out of memory");
    groat__text_free(&text);
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

int groat__cli_fail(groat__cli *cli, groat_error *error)
{
    int code = groat__exit_of(error->status);

    groat__cli_say_error(cli, error);
    groat_error_clear(&cli->failure);
    cli->failure = *error;
    *error = (groat_error)GROAT_ERROR_INIT;
    return code ? code : GROAT__EXIT_FAILED;
}

static void fill_error(groat_error *error, groat_status status,
                       const char *format, va_list args)
{
    groat_error_clear(error);
    error->status = status;
    (void)vsnprintf(error->text, sizeof(error->text), format, args);
}

groat_status groat__cli_error(groat_error *error, groat_status status,
                              const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (error)
        fill_error(error, status, format, args);
    va_end(args);
    return status;
}

int groat__cli_refuse(groat__cli *cli, groat_status status, const char *format,
                      ...)
{
    va_list args;

    va_start(args, format);
    fill_error(&cli->failure, status, format, args);
    va_end(args);
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

int groat__cli_open(groat__cli *cli, unsigned flags)
{
    groat_options options = GROAT_OPTIONS_INIT;
    groat_error error = GROAT_ERROR_INIT;
    const groat__values *values = &cli->values;

    options.flags = flags;
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
    options.seed = values->seed;
    options.log = on_log;
    options.log_user = cli;
    options.trace = cli->trace ? on_trace : NULL;
    options.trace_user = cli;
    if (groat_open(&options, &cli->context, &error))
        return groat__cli_fail(cli, &error);
    return GROAT__EXIT_DONE;
}

double groat__cli_now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

int groat__cmd_version(groat__cli *cli)
{
    if (cli->values.json)
        groat__json_string(&cli->json, "version", groat_version());
    else
        (void)printf("groat %s\n", groat_version());
    return GROAT__EXIT_DONE;
}

static int unknown_command(groat__cli *cli, const char *name)
{
    size_t best = groat__opt_slack(name);
    const char *nearest = NULL;

    for (const groat__command *at = groat__commands; at->name; at++)
        if (!at->hidden)
            groat__opt_nearer(name, at->name, &best, &nearest);
    if (nearest)
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "there is no command '%.64s'; did you mean "
                                 "%s?  See groat help",
                                 name, nearest);
    return groat__cli_refuse(cli, GROAT_INVALID,
                             "there is no command '%.64s'; see groat help",
                             name);
}

static int dispatch(groat__cli *cli, int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int code;

    if (argc < 2)
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "a command is needed; see groat help");
    if (strcmp(name, "-V") == 0)
        name = "--version";
    else if (strcmp(name, "-h") == 0)
        name = "--help";
    cli->command = groat__command_find(name);
    if (!cli->command)
        return unknown_command(cli, name);
    code = groat__opt_parse(cli, argc - 2, argv + 2);
    if (code)
        return code;
    return cli->values.help ? groat__cmd_help(cli) : cli->command->run(cli);
}

/* Ends and prints the JSON answer, and looks whether stdout took it all. */
static int finish(groat__cli *cli, int code)
{
    groat__json *out = &cli->json;

    if (cli->values.json) {
        while (out->depth > 1)
            groat__json_end(out);
        if (cli->failure.status)
            groat__cli_json_error(out, &cli->failure);
        groat__json_end(out);
        if (out->text.failed) {
            groat__cli_say(cli, "out of memory: the answer is lost");
            code = code ? code : GROAT__EXIT_FAILED;
        } else {
            (void)fwrite(out->text.data, 1, out->text.len, stdout);
            (void)fputc('\n', stdout);
        }
    }
    errno = 0;
    if (fflush(stdout) || ferror(stdout)) {
        /* What an earlier write failed with is no longer known. */
        groat__cli_say(cli, "stdout did not take the answer: %s",
                       errno ? strerror(errno) : "it is full or closed");
        code = code ? code : GROAT__EXIT_FAILED;
    }
    return code;
}

/* With stdout closed, the next file opened would take its number, and the
 * answer would go there; so it would in the compilers that are started.  A file
 * over the shell's limit is an error to be told, not the end. */
static void own_standard_files(void)
{
    int fd = open("/dev/null", O_RDONLY);

    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = dup(fd);
    if (fd >= 0)
        (void)close(fd);
    (void)signal(SIGXFSZ, SIG_IGN);
}

int main(int argc, char **argv)
{
    groat__cli cli = {
        .argv = argv,
        .failure = GROAT_ERROR_INIT,
        .values = {.repeat = 1, .json = groat__opt_wants_json(argc, argv)},
        .progress = {.wanted = isatty(STDERR_FILENO)}};
    int code;

    own_standard_files();
    groat__json_object(&cli.json, NULL);
    groat__json_int(&cli.json, "format", GROAT__FORMAT);
    code = dispatch(&cli, argc, argv);
    groat__progress_clear(&cli.progress);
    code = finish(&cli, code);
    groat_close(cli.context);
    groat_error_clear(&cli.failure);
    groat__text_free(&cli.json.text);
    free((void *)cli.words);
    return code;
}
