/* SPDX-License-Identifier: Apache-2.0
 *
 * holder.c owns the question whether the process that holds a lease still
 * lives.  A process is told from a later one of the same number by its start
 * time, and both only mean something within one boot of one kernel and one pid
 * namespace.  Where that cannot be seen the answer is "unknown", and lease.c
 * goes by renewals alone, as it does for a process that is merely stopped.
 *
 * Invariant: an answer of "gone" is sure.  No state, so no locking.
 */
#include "cache/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What /proc/PID/stat says. */
typedef struct vitals {
    long long pid;
    char state;
    long long threads;
    long long started;
} vitals;

/* A file of /proc, whose size is not told; false when it cannot be read. */
static bool read_proc(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    size_t len = 0;
    ssize_t got = 1;

    if (fd < 0)
        return false;
    while (len < size - 1 && got > 0) {
        got = read(fd, text + len, size - 1 - len);
        if (got < 0 && errno == EINTR)
            got = 1;
        else if (got > 0)
            len += (size_t)got;
    }
    (void)close(fd);
    text[len] = '\0';
    return got >= 0 && len > 0;
}

/* The index-th field of /proc/PID/stat, from 3 on: after the name, which may
 * hold blanks and brackets. */
static const char *field_of(const char *stat, int index)
{
    const char *at = strrchr(stat, ')');

    for (int i = 2; at != NULL && i < index; i++) {
        at = strchr(at, ' ');
        at = at == NULL ? NULL : at + 1;
    }
    return at;
}

static bool read_vitals(const char *path, vitals *out)
{
    char stat[1024];
    const char *state;
    const char *threads;
    const char *started;

    if (!read_proc(path, stat, sizeof(stat)))
        return false;
    state = field_of(stat, 3);
    threads = field_of(stat, 20);
    started = field_of(stat, 22);
    if (state == NULL || threads == NULL || started == NULL)
        return false;
    *out = (vitals){strtoll(stat, NULL, 10), *state, strtoll(threads, NULL, 10),
                    strtoll(started, NULL, 10)};
    return true;
}

void groat__holder_self(groat__holder *self)
{
    vitals own = {0, 0, 0, 0};
    struct stat st;

    memset(self, 0, sizeof(*self));
    if (!read_proc("/proc/sys/kernel/random/boot_id", self->boot,
                   sizeof(self->boot)))
        self->boot[0] = '\0';
    self->boot[strcspn(self->boot, "\n")] = '\0';
    self->pid = getpid();
    /* A /proc of another namespace counts processes otherwise. */
    if (read_vitals("/proc/self/stat", &own) && own.pid == self->pid &&
        stat("/proc/self/ns/pid", &st) == 0) {
        self->space = (int64_t)st.st_ino;
        self->started = own.started;
    }
}

groat__life groat__holder_life(const groat__holder *self,
                               const groat__holder *other)
{
    vitals seen = {0, 0, 0, 0};
    char path[64];

    if (self->boot[0] == '\0' || other->boot[0] == '\0')
        return GROAT__LIFE_UNKNOWN;
    if (strcmp(self->boot, other->boot) != 0)
        return GROAT__LIFE_GONE;
    if (self->space == 0 || self->space != other->space || other->pid <= 0 ||
        other->pid > INT_MAX)
        return GROAT__LIFE_UNKNOWN;
    if (kill((pid_t)other->pid, 0) != 0 && errno == ESRCH)
        return GROAT__LIFE_GONE;
    (void)snprintf(path, sizeof(path), "/proc/%lld/stat",
                   (long long)other->pid);
    if (!read_vitals(path, &seen))
        return GROAT__LIFE_UNKNOWN;
    if (other->started != 0 && seen.started != other->started)
        return GROAT__LIFE_GONE;
    /* Killed, and its parent has not looked; a first thread that has ended
     * before the others looks alike but for their number. */
    if ((seen.state == 'Z' && seen.threads <= 1) || seen.state == 'X')
        return GROAT__LIFE_GONE;
    return other->started == 0 ? GROAT__LIFE_UNKNOWN : GROAT__LIFE_ALIVE;
}
