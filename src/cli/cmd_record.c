/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_record.c - groat record: writes the manifest of a program's kernels.
 *
 * Owns the program's process and the file that its contexts, and those of its
 * children, append to (core/used.c of the library).  The file of --output is
 * written once, when the program has ended.
 * Invariant: each kernel of each target is in the manifest once, sorted.
 */
#include "cli/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "cli/fleet/fleet.h"

extern char **environ;

enum { MANIFEST_MAX = 1 << 28, KILLED = 128 };

/* The signals that are forwarded to the program, and SIGCHLD. */
static void fill_signals(sigset_t *signals)
{
    static const int all[] = {SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};

    (void)sigemptyset(signals);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        (void)sigaddset(signals, all[i]);
}

/* Starts the program with this process's files and the given signal mask.
 * Returns 0 or an errno. */
static int start(char *const *argv, const sigset_t *mask, pid_t *child)
{
    posix_spawnattr_t attributes;
    int failed = posix_spawnattr_init(&attributes);

    if (failed != 0)
        return failed;
    failed = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    if (failed == 0)
        failed = posix_spawnattr_setsigmask(&attributes, mask);
    if (failed == 0)
        failed = posix_spawnp(child, argv[0], NULL, &attributes, argv, environ);
    (void)posix_spawnattr_destroy(&attributes);
    return failed;
}

/* Returns the wait status.  Forwards signals that no terminal has sent it. */
static int wait_for(pid_t child, const sigset_t *signals)
{
    siginfo_t info;
    int state = 0;

    while (waitpid(child, &state, WNOHANG) != child)
        if (sigwaitinfo(signals, &info) > 0 && info.si_signo != SIGCHLD &&
            info.si_code != SI_KERNEL)
            (void)kill(child, info.si_signo);
    return state;
}

/* Runs the program; *code is its exit code, or 128 + the signal. */
static groat_status run(groat__cli *cli, const char *path, int *code,
                        groat_error *error)
{
    char *const *argv = (char *const *)cli->words;
    const struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t signals, before;
    pid_t child = 0;
    int failed = setenv("GROAT_RECORD", path, 1) == 0 ? 0 : errno;
    int state = 0;

    fill_signals(&signals);
    /* With SIGCHLD ignored, as inherited, the child could not be waited for. */
    (void)sigaction(SIGCHLD, &plain, NULL);
    (void)pthread_sigmask(SIG_BLOCK, &signals, &before);
    if (failed == 0)
        failed = start(argv, &before, &child);
    if (failed == 0)
        state = wait_for(child, &signals);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed != 0)
        return groat__fail(error, GROAT_IO, "cannot start %s: %s", argv[0],
                           strerror(failed));
    *code = WIFSIGNALED(state) ? KILLED + WTERMSIG(state) : WEXITSTATUS(state);
    return GROAT_OK;
}

/* Sorts the lines and drops duplicates; modifies text.  Errors: NO_MEMORY. */
static groat_status sort_lines(char *text, groat__str *out, size_t *count,
                               groat_error *error)
{
    groat__names lines = {0};
    bool whole = true;
    char *save = NULL;

    for (char *line = strtok_r(text, "\n", &save); line != NULL && whole;
         line = strtok_r(NULL, "\n", &save))
        whole = groat__names_add(&lines, line);
    groat__names_sort(&lines);
    for (size_t i = 0; i < lines.count; i++)
        groat__str_addf(out, "%s\n", lines.at[i]);
    *count = lines.count;
    groat__names_free(&lines);
    return !whole || out->failed
               ? groat__fail(error, GROAT_NO_MEMORY, "out of memory")
               : GROAT_OK;
}

/* Reads the recorded lines, sorted: the manifest. */
static groat_status sort_manifest(const char *path, groat__str *sorted,
                                  size_t *count, groat_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    groat_status status;

    groat__str_add(sorted, ""); /* data is not NULL without lines either */
    status = groat__fs_read(path, MANIFEST_MAX, &text, &bytes, error);
    if (status == GROAT_OK)
        status = sort_lines(text, sorted, count, error);
    free(text);
    return status;
}

/* Creates the empty file that contexts append to. */
static groat_status make_file(const groat__str *folder, groat__str *path,
                              groat_error *error)
{
    groat__str_addf(path, "%s/manifest", folder->data);
    return path->failed ? groat__fail(error, GROAT_NO_MEMORY, "out of memory")
                        : groat__fs_write(path->data, "", 0, 0600, error);
}

/* Appends the lines to the file of the record that this one was started in. */
static void pass_on(groat__cli *cli, const char *outer, const groat__str *lines)
{
    int fd = outer == NULL || *outer == '\0' || lines->len == 0
                 ? -1
                 : open(outer, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);

    if (fd >= 0 && groat__fs_write_all(fd, lines->data, lines->len) != 0)
        groat__cli_say(cli, "warning: %s, the record around this one: %s",
                       outer, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
}

static void tell(groat__cli *cli, size_t count, int code)
{
    if (cli->values.json) {
        groat__json_string(&cli->json, "manifest", cli->values.output);
        groat__json_bool(&cli->json, "written", code == 0 || count > 0);
        groat__json_uint(&cli->json, "kernels", count);
        groat__json_uint(&cli->json, "exit", (uint64_t)code);
    } else if (code != 0 && count == 0)
        groat__cli_say(cli,
                       "%s is not written: the program failed (exit code %d) "
                       "before it got a kernel",
                       cli->values.output, code);
    else
        groat__cli_say(cli, "%zu kernels are in %s%s", count,
                       cli->values.output,
                       count > 0 ? "" : ": the program got no kernel");
}

int groat__cmd_record(groat__cli *cli)
{
    groat_error error = GROAT_ERROR_INIT;
    groat__output output = {0};
    groat__str folder = {0}, path = {0}, sorted = {0};
    const char *outer = getenv("GROAT_RECORD");
    groat_status status;
    size_t count = 0;
    int code = 0;

    if (cli->values.output == NULL)
        return groat__cli_refuse(cli, GROAT_INVALID,
                                 "record needs --output FILE, the manifest");
    outer = outer == NULL ? NULL : strdup(outer); /* the program gets ours */
    status = groat__output_open(&output, cli->values.output, &error);
    if (status == GROAT_OK)
        status = groat__scratch_make("record", &folder, &error);
    if (status == GROAT_OK)
        status = make_file(&folder, &path, &error);
    if (status == GROAT_OK)
        status = run(cli, path.data, &code, &error);
    if (status == GROAT_OK)
        status = sort_manifest(path.data, &sorted, &count, &error);
    /* A program that failed before its first kernel costs no manifest. */
    if (status == GROAT_OK && (code == 0 || count > 0))
        status = groat__output_write(&output, sorted.data, sorted.len, &error);
    if (status == GROAT_OK)
        pass_on(cli, outer, &sorted);
    free((void *)(uintptr_t)outer);
    groat__str_free(&sorted);
    groat__output_drop(&output);
    groat__str_free(&path);
    groat__scratch_remove(&folder);
    if (status != GROAT_OK)
        return groat__cli_fail(cli, &error);
    tell(cli, count, code);
    return code;
}
