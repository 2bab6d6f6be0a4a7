/* SPDX-License-Identifier: Apache-2.0
 *
 * spawn.c - runs a program and reads what it prints.
 *
 * Owns the child from start to wait.  No shell is in between: words reach the
 * program as they are.  The child's stderr is this process's.
 * Invariant: on return there is no child and no open pipe left.
 */
#include "cli/tool/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static groat_status fail(groat_error *error, const char *what, const char *who,
                         int code)
{
    return groat__cli_error(error, GROAT_IO, "%s %s: %s", what, who,
                            strerror(code));
}

/* Reads to the end; what is beyond max is read and dropped, so that the child
 * never blocks. */
static bool drain(int fd, size_t max, groat__str *text)
{
    char piece[4096];

    for (;;) {
        ssize_t got = read(fd, piece, sizeof(piece));
        size_t room = max > text->len ? max - text->len : 0;

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        groat__str_addn(text, piece, (size_t)got < room ? (size_t)got : room);
        if (got == 0)
            return true;
    }
}

static bool start(char *const *argv, int writer, pid_t *child, int *code)
{
    posix_spawn_file_actions_t actions;

    *code = posix_spawn_file_actions_init(&actions);
    if (*code)
        return false;
    *code = posix_spawn_file_actions_adddup2(&actions, writer, STDOUT_FILENO);
    if (!*code)
        *code = posix_spawnp(child, argv[0], &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return *code == 0;
}

groat_status groat__spawn_read(char *const *argv, size_t max, char **out,
                               int *code, groat_error *error)
{
    groat__str text = {0};
    groat_status status = GROAT_OK;
    int ends[2], state = 0, reason = 0;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC))
        return fail(error, "pipe for", argv[0], errno);
    if (!start(argv, ends[1], &child, &reason)) {
        (void)close(ends[0]);
        (void)close(ends[1]);
        return fail(error, "cannot start", argv[0], reason);
    }
    (void)close(ends[1]);
    if (!drain(ends[0], max, &text))
        status = fail(error, "reading from", argv[0], errno);
    (void)close(ends[0]);
    while (waitpid(child, &state, 0) < 0)
        if (errno != EINTR) {
            status = fail(error, "waiting for", argv[0], errno);
            break;
        }
    if (!status && text.failed)
        status = fail(error, "reading from", argv[0], ENOMEM);
    if (status) {
        groat__str_free(&text);
        return status;
    }
    *out = text.data;
    *code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    return GROAT_OK;
}
