/* SPDX-License-Identifier: Apache-2.0
 *
 * used.c writes the manifest of the kernels that a context was asked for: a
 * line of JSON for each kernel that is loaded for the first time.
 *
 * Invariant: each line is one write to a file opened for appending, so that
 * the lines of threads and processes do not mix; it begins a line of the file,
 * also behind a last one that was cut short or has no line break.
 * Locking: none.
 */
#include "core/used.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/hold.h"
#include "base/str.h"
#include "core/json.h"

enum { MODE = 0666 }; /* the umask applies, as to any file of the program */

/* A pipe that nobody reads is not waited for: its lines are lost.  Only a file
 * is opened for reading, too: a pipe would have a reader then. */
static int open_record(const char *path)
{
    const int flags = O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    struct stat st;
    int fd = -1;

    if (stat(path, &st) != 0 || S_ISREG(st.st_mode))
        fd = open(path, O_RDWR | flags, MODE);
    return fd >= 0 ? fd : open(path, O_WRONLY | flags, MODE);
}

int groat__used_open(const char *path, const groat__log *log)
{
    int fd;

    if (path == NULL || *path == '\0')
        return -1;
    fd = open_record(path);
    if (fd < 0)
        groat__log_line(log, GROAT_LOG_WARNING,
                        "no kernel is recorded: cannot open %s: %s", path,
                        strerror(errno));
    return fd;
}

/* Whether the last line of a file has no line break. */
static bool is_amid_line(int fd)
{
    struct stat st;
    char last = '\n';

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
           pread(fd, &last, 1, st.st_size - 1) == 1 && last != '\n';
}

/* Returns 0, or an errno; a line that is cut short is lost. */
static int write_line(int fd, const groat__str *line)
{
    groat__fs_limit limit;
    groat__hold pipe;
    ssize_t written;
    int failed;

    groat__fs_limit_begin(&limit);
    groat__hold_begin(&pipe, SIGPIPE);
    do
        written = write(fd, line->data, line->len);
    while (written < 0 && errno == EINTR);
    failed = written < 0 ? errno : 0;
    groat__hold_end(&pipe);
    groat__fs_limit_end(&limit);
    return failed == 0 && (size_t)written != line->len ? ENOSPC : failed;
}

void groat__used_add(int fd, const char *spec, const char *target,
                     const groat__log *log)
{
    groat__str line = {0};
    int failed = ENOMEM;
    json_t *entry;

    if (fd < 0)
        return;
    entry = json_pack("{s:s, s:s}", "spec", spec, "target", target);
    if (is_amid_line(fd))
        groat__str_add(&line, "\n");
    groat__json_write(&line, entry, JSON_ENSURE_ASCII);
    groat__str_add(&line, "\n");
    if (!line.failed)
        failed = write_line(fd, &line);
    json_decref(entry);
    groat__str_free(&line);
    if (failed != 0)
        groat__log_line(log, GROAT_LOG_WARNING, "%s on %s is not recorded: %s",
                        spec, target, strerror(failed));
}
