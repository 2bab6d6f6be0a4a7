/* SPDX-License-Identifier: Apache-2.0
 *
 * child.c runs another program: with an argument vector (never a shell),
 * unnamed files for its text, a time limit, and a copy of the environment.  It
 * ends with the thread that waits for it.  No state, no locking.
 */
#include "backend/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"

enum {
    CPU_SLACK_S = 2,
    WAIT_PIDFD = 3 /* P_PIDFD, which older C libraries do not declare */
};

groat_status groat__child_find(const char *path, const char *name, char **out,
                               groat_error *error)
{
    groat__str full = {0};
    bool found = strchr(name, '/') != NULL && access(name, X_OK) == 0;

    if (found)
        groat__str_add(&full, name);
    while (!found && strchr(name, '/') == NULL && path != NULL &&
           *path != '\0' && !full.failed) {
        size_t len = strcspn(path, ":");

        groat__str_clear(&full);
        groat__str_addn(&full, path, len);
        groat__str_addf(&full, "/%s", name);
        /* A relative part would be another folder once it is started. */
        found = *path == '/' && !full.failed && access(full.data, X_OK) == 0;
        path += len + (path[len] == ':');
    }
    if (full.failed) {
        groat__str_free(&full);
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a path");
    }
    if (found)
        *out = groat__str_take(&full);
    groat__str_free(&full);
    return GROAT_OK;
}

/* Limits the CPU time of the program and of its children, which inherit the
 * limit: a compiler driver that is killed leaves children that nothing waits
 * for. */
static bool limit_cpu(const groat__child *c)
{
    struct rlimit limit;
    rlim_t most = (rlim_t)c->seconds + CPU_SLACK_S;

    if (getrlimit(RLIMIT_CPU, &limit) != 0)
        return false;
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > most)
        limit.rlim_cur = most;
    return setrlimit(RLIMIT_CPU, &limit) == 0;
}

static bool keep(const groat__child *c)
{
    for (size_t i = 0; i < c->kept_count; i++)
        if (fcntl(c->kept[i], F_SETFD, 0) != 0)
            return false;
    return true;
}

/* Runs in the child between vfork() and exec.  It shares the parent's memory,
 * so it only makes system calls, and resets signal handlers, which must not run
 * here.  The program ends with the thread that waits for it, even if that has
 * ended already (getppid).  Its folder is the root, as line tables name it.  On
 * failure, errno is written to the report. */
static _Noreturn void become(const groat__child *c, pid_t parent,
                             const sigset_t *mask)
{
    struct sigaction action;
    int reason;

    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &action) == 0 &&
            (action.sa_handler != SIG_IGN || i == SIGCHLD || i == SIGTERM ||
             i == SIGXCPU)) {
            memset(&action, 0, sizeof(action));
            action.sa_handler = SIG_DFL;
            (void)sigaction(i, &action, NULL);
        }
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == parent &&
        limit_cpu(c) && chdir("/") == 0 && dup2(c->input, 0) >= 0 &&
        dup2(c->output, 1) >= 0 && dup2(c->errors, 2) >= 0 && keep(c) &&
        sigprocmask(SIG_SETMASK, mask, NULL) == 0)
        (void)execve(c->argv[0], (char *const *)(uintptr_t)c->argv,
                     c->environment);
    reason = errno;
    (void)pwrite(c->report, &reason, sizeof(reason), 0);
    _exit(127);
}

/* Returns the child's process id, or less than 0. */
static pid_t start(const groat__child *c)
{
    pid_t parent = getpid();
    sigset_t before;
    sigset_t its;
    sigset_t all;
    pid_t pid;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    its = before;
    (void)sigdelset(&its, SIGTERM); /* sent when this thread ends */
    pid = vfork();
    if (pid == 0)
        become(c, parent, &its);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid;
}

/* Waits until the process ends; false if the time is over first.  fd -1: does
 * not wait, there is no time limit. */
static bool ends_in_time(const groat__child *c, int fd)
{
    uint64_t end = groat__now_ns() + (uint64_t)c->seconds * 1000000000;
    struct pollfd polled = {.fd = fd, .events = POLLIN};

    while (fd >= 0) {
        uint64_t now = groat__now_ns();

        if (now >= end)
            return false;
        if (poll(&polled, 1, (int)((end - now) / 1000000) + 1) > 0)
            break;
    }
    return true;
}

/* Kills all descendants of a stopped process.  As it is stopped, it starts no
 * more of them and reaps none, so no process id is reused. */
static void kill_children(pid_t pid)
{
    char path[64];
    FILE *list;
    int child;

    (void)snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", (long)pid,
                   (long)pid);
    list = fopen(path, "re");
    while (list != NULL && fscanf(list, "%d", &child) == 1) {
        (void)kill((pid_t)child, SIGSTOP);
        kill_children((pid_t)child);
        (void)kill((pid_t)child, SIGKILL);
    }
    if (list != NULL)
        (void)fclose(list);
}

/* Returns the exit code, less than 0 for a signal, GROAT__CHILD_LATE, or
 * GROAT__CHILD_NOT_TOLD: the code is lost if the program ignores SIGCHLD or
 * waits for every child.  A pidfd cannot mean another process that has reused
 * the process id. */
static int wait_for(const groat__child *c, pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    bool late = !ends_in_time(c, fd);
    siginfo_t told;
    int rc;

    if (late) {
        if (syscall(SYS_pidfd_send_signal, fd, SIGSTOP, NULL, 0) == 0)
            kill_children(pid);
        (void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
    }
    memset(&told, 0, sizeof(told));
    do
        rc = fd >= 0 ? waitid((idtype_t)WAIT_PIDFD, (id_t)fd, &told, WEXITED)
                     : waitid(P_PID, (id_t)pid, &told, WEXITED);
    while (rc != 0 && errno == EINTR);
    if (fd >= 0)
        (void)close(fd);
    if (late)
        return GROAT__CHILD_LATE;
    if (rc != 0)
        return GROAT__CHILD_NOT_TOLD;
    return told.si_code == CLD_EXITED ? told.si_status : -told.si_status;
}

int groat__child_run(const groat__child *child)
{
    pid_t pid = start(child);
    int reason = 0;
    struct stat st;
    int code;

    if (pid < 0)
        return GROAT__CHILD_NOT_STARTED + errno;
    code = wait_for(child, pid);
    if (fstat(child->report, &st) == 0 && st.st_size == sizeof(reason) &&
        pread(child->report, &reason, sizeof(reason), 0) == sizeof(reason))
        return GROAT__CHILD_NOT_STARTED + reason;
    return code;
}
