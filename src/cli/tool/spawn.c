/* SPDX-License-Identifier: Apache-2.0
 *
 * spawn.c - runs a program and reads its output.
 *
 * Owns the child from start to wait.  There is no shell in between: the program
 * gets the words as they are.  Its stderr is inherited unless captured.
 * Invariant: on return there is no child and no open pipe left.
 */
#include "cli/tool/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static groat_status fail(groat_error *error, const char *what, const char *who,
                         int code)
{
    return groat__fail(error, GROAT_IO, "%s %s: %s", what, who, strerror(code));
}

/* Returns the milliseconds until `end` for poll(); -1 if end is 0: no limit. */
static int left_ms(double end)
{
    double left = end - groat__now_ms();

    return end <= 0     ? -1
           : left <= 0  ? 0
           : left < 1e9 ? (int)left + 1
                        : 1000000000;
}

enum { SLICE_MS = 20 };

/* Returns whether a child has ended, without reaping it. */
static bool is_gone(pid_t child)
{
    siginfo_t told = {0};

    return waitid(P_PID, (id_t)child, &told, WEXITED | WNOHANG | WNOWAIT) ==
               0 &&
           told.si_pid == child;
}

/* Reads to the end of file or the time limit.  Bytes beyond max are read and
 * dropped, so that the child never blocks.  Returns 0 or an errno. */
static int drain(int fd, pid_t child, size_t max, double end, groat__str *text)
{
    char piece[4096];

    for (;;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        bool gone = end > 0 && is_gone(child);
        int left = left_ms(end);
        int ready = poll(&wait, 1,
                         gone              ? 0
                         : left > SLICE_MS ? SLICE_MS
                                           : left);
        ssize_t got;
        size_t room;

        if (ready < 0 && errno != EINTR)
            return errno;
        if (ready == 0 && gone)
            return 0; /* do not wait for others that hold the pipe open */
        if (ready == 0 && left == 0)
            return ETIMEDOUT;
        if (ready <= 0)
            continue;
        got = read(fd, piece, sizeof(piece));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno;
        room = max > text->len ? max - text->len : 0;
        groat__str_addn(text, piece, (size_t)got < room ? (size_t)got : room);
        if (got == 0)
            return 0;
    }
}

static bool start(const groat__spawn *how, int writer, pid_t *child, int *code)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;

    *code = posix_spawn_file_actions_init(&actions);
    if (*code)
        return false;
    *code = posix_spawnattr_init(&attributes);
    if (*code) {
        (void)posix_spawn_file_actions_destroy(&actions);
        return false;
    }
    /* Its own process group, so that its children can be killed with it. */
    if (how->seconds)
        *code = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    if (!*code)
        *code =
            posix_spawn_file_actions_adddup2(&actions, writer, STDOUT_FILENO);
    if (!*code && how->with_stderr)
        *code =
            posix_spawn_file_actions_adddup2(&actions, writer, STDERR_FILENO);
    if (!*code)
        *code = posix_spawnp(child, how->argv[0], &actions, &attributes,
                             how->argv, environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return *code == 0;
}

/* Waits for a child that closed its output, until the time limit. */
static bool has_ended(pid_t child, int *state, double end)
{
    const struct timespec pause = {.tv_nsec = 2000000};

    while (end > 0 && left_ms(end) > 0) {
        pid_t got = waitpid(child, state, WNOHANG);

        if (got == child || (got < 0 && errno != EINTR))
            return true;
        (void)nanosleep(&pause, NULL);
    }
    return false;
}

static groat_status finish(const groat__spawn *how, pid_t child, double end,
                           int reason, int *state, groat_error *error)
{
    bool ended = !reason && has_ended(child, state, end);
    bool late = reason == ETIMEDOUT || (!reason && !ended && end > 0);

    if (late || end > 0)
        (void)kill(-child, SIGKILL); /* and the processes that it started */
    while (!ended && waitpid(child, state, 0) < 0)
        if (errno != EINTR)
            return fail(error, "waiting for", how->argv[0], errno);
    if (late)
        return groat__fail(error, GROAT_TIMED_OUT,
                           "%s ran for %u s and was ended", how->argv[0],
                           how->seconds);
    return reason ? fail(error, "reading from", how->argv[0], reason)
                  : GROAT_OK;
}

groat_status groat__spawn_run(const groat__spawn *how, char **out, int *code,
                              groat_error *error)
{
    groat__str text = {0};
    groat_status status;
    int ends[2], state = 0, reason = 0;
    double end = how->seconds ? groat__now_ms() + 1e3 * how->seconds : 0;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC))
        return fail(error, "pipe for", how->argv[0], errno);
    if (!start(how, ends[1], &child, &reason)) {
        (void)close(ends[0]);
        (void)close(ends[1]);
        return fail(error, "cannot start", how->argv[0], reason);
    }
    (void)close(ends[1]);
    reason = drain(ends[0], child, how->max, end, &text);
    (void)close(ends[0]);
    status = finish(how, child, end, reason, &state, error);
    if (!status && text.failed)
        status = fail(error, "reading from", how->argv[0], ENOMEM);
    if (status) {
        groat__str_free(&text);
        return status;
    }
    *out = groat__str_take(&text);
    *code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    return GROAT_OK;
}
