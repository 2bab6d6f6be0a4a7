/* SPDX-License-Identifier: Apache-2.0
 *
 * main.c - finds the command, runs it, and returns its exit code.
 *
 * Owns the process: stdout at exit, the context's lifetime, the exit code.
 * Commands own their answers.
 * Invariant: with --json exactly one JSON object goes to stdout, whatever
 * fails; nothing but answers goes to stdout; a full disk under stdout is a
 * failure.
 */
#include "base/near.h"
#include "cli/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int unknown_command(groat__cli *cli, const char *name)
{
    groat__near near;

    groat__near_start(&near, name, strlen(name));
    for (const groat__command *at = cli->commands; at->name; at++)
        if (!at->hidden)
            groat__near_try(&near, at->name, strlen(at->name));
    if (near.found)
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "there is no command '%.64s'; did you mean "
                                 "%s?  See groat help",
                                 name, near.found);
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
    cli->command = groat__command_find(cli->commands, name);
    if (!cli->command)
        return unknown_command(cli, name);
    code = groat__opt_parse(cli, argc - 2, argv + 2);
    if (code)
        return code;
    return cli->values.help ? groat__cmd_help(cli) : cli->command->run(cli);
}

/* Returns false if there is no memory for the answer. */
static bool print_json(groat__cli *cli)
{
    groat__json *out = &cli->json;
    char *text;

    while (out->depth > 1)
        groat__json_end(out);
    if (cli->failure.status)
        groat__cli_json_error(out, &cli->failure);
    text = groat__json_take(out);
    if (text != NULL)
        (void)puts(text);
    free(text);
    return text != NULL;
}

/* Prints the JSON answer, and checks that stdout took all of it. */
static int finish(groat__cli *cli, int code)
{
    if (cli->values.json && !print_json(cli)) {
        groat__cli_say(cli, "out of memory: the answer is lost");
        code = code ? code : GROAT__EXIT_FAILED;
    }
    errno = 0;
    if (fflush(stdout) || ferror(stdout)) {
        /* The errno of an earlier failed write is lost by now. */
        groat__cli_say(cli, "stdout did not take the answer: %s",
                       errno ? strerror(errno) : "it is full or closed");
        code = code ? code : GROAT__EXIT_FAILED;
    }
    return code;
}

/* Opens descriptors 0 to 2 if they are closed: else the next file opened would
 * become stdout here and in compilers, and get the answer.  To read or write
 * one of these fails.  Ignores SIGXFSZ, so that a file over the shell's limit
 * is a write error, not the end. */
static void own_standard_files(void)
{
    int fd = open("/dev/null", O_WRONLY);

    if (fd > STDIN_FILENO)
        (void)close(fd);
    fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = dup(fd);
    if (fd >= 0)
        (void)close(fd);
    (void)signal(SIGXFSZ, SIG_IGN);
}

/* Whether progress can be shown: a dumb terminal cannot erase a line. */
static bool has_terminal(void)
{
    const char *term = getenv("TERM");

    return isatty(STDERR_FILENO) && (!term || strcmp(term, "dumb") != 0);
}

int main(int argc, char **argv)
{
    groat__cli cli = {
        .commands = groat__commands,
        .argv = argv,
        .failure = GROAT_ERROR_INIT,
        .values = {.repeat = 1,
                   .json = groat__opt_wants_json(groat__commands, argc, argv)},
        .progress = {.wanted = has_terminal()}};
    int code;

    own_standard_files();
    /* A line is written at once: workers share the terminal. */
    (void)setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
    groat__json_object(&cli.json, NULL);
    groat__json_int(&cli.json, "format", GROAT__FORMAT);
    code = dispatch(&cli, argc, argv);
    groat__progress_clear(&cli.progress);
    code = finish(&cli, code);
    groat_close(cli.context);
    groat_error_clear(&cli.failure);
    free(groat__json_take(&cli.json));
    free((void *)cli.words);
    for (size_t i = 0; i < cli.made_count; i++)
        free(cli.made[i]);
    free(cli.families);
    return code;
}
