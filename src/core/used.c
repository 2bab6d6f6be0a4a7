/* SPDX-License-Identifier: Apache-2.0
 *
 * used.c writes the manifest of the kernels that a context was asked for: a
 * line of JSON for each kernel that is loaded for the first time.
 *
 * Invariant: each line is one write to a file opened for appending, so that
 * the lines of threads and processes do not mix.
 * Locking: none.
 */
#include "core/used.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fs.h"
#include "base/str.h"
#include "core/json.h"

enum { MODE = 0666 }; /* the umask applies, as to any file of the program */

int groat__used_open(const char *path, const groat__log *log)
{
    int fd;

    if (path == NULL || *path == '\0')
        return -1;
    /* A pipe that nobody reads is not waited for: its lines are lost. */
    fd = open(path,
              O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
              MODE);
    if (fd < 0)
        groat__log_line(log, GROAT_LOG_WARNING,
                        "no kernel is recorded: cannot open %s: %s", path,
                        strerror(errno));
    return fd;
}

void groat__used_add(int fd, const char *spec, const char *target,
                     const groat__log *log)
{
    groat__fs_limit limit;
    groat__str line = {0};
    int failed = ENOMEM;
    json_t *entry;

    if (fd < 0)
        return;
    entry = json_pack("{s:s, s:s}", "spec", spec, "target", target);
    groat__json_write(&line, entry, JSON_ENSURE_ASCII);
    groat__str_add(&line, "\n");
    if (!line.failed) {
        groat__fs_limit_begin(&limit);
        failed = groat__fs_write_all(fd, line.data, line.len) == 0 ? 0 : errno;
        groat__fs_limit_end(&limit);
    }
    json_decref(entry);
    groat__str_free(&line);
    if (failed != 0)
        groat__log_line(log, GROAT_LOG_WARNING, "%s on %s is not recorded: %s",
                        spec, target, strerror(failed));
}
