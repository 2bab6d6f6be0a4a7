/* SPDX-License-Identifier: Apache-2.0
 *
 * shared.c has helpers for compilers and devices of several vendors: unnamed
 * files, quoted paths, doctor lines, errors of captures, logs without times.
 * It leaves finding and opening libraries to base/dl.c.  No state, no locking.
 */
#include "backend/shared.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"

int groat__memory_file(const char *name, const void *data, size_t bytes)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    groat__fs_limit limit;
    size_t done = 0;

    /* If the program closed 0, 1 or 2, keep clear of them: a child uses them.
     */
    if (fd >= 0 && fd <= STDERR_FILENO) {
        int low = fd;

        fd = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        (void)close(low);
    }
    groat__fs_limit_begin(&limit);
    while (fd >= 0 && done < bytes) {
        ssize_t n =
            pwrite(fd, (const char *)data + done, bytes - done, (off_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            int reason = n == 0 ? ENOSPC : errno;

            (void)close(fd);
            errno = reason;
            fd = -1;
        }
        done += (size_t)n;
    }
    groat__fs_limit_end(&limit);
    return fd;
}

void groat__memory_name(int fd, char path[32])
{
    (void)snprintf(path, 32, "/proc/self/fd/%d", fd);
}

void groat__add_quoted(groat__str *pattern, const char *path)
{
    for (; *path != '\0'; path++) {
        if (strchr("*?[]\\{}~", *path) != NULL)
            groat__str_add(pattern, "\\");
        groat__str_addn(pattern, path, 1);
    }
}

void groat__finding(groat__str *out, const char *subject, bool usable,
                    const char *format, ...)
{
    groat__str text = {0};
    va_list args;

    va_start(args, format);
    groat__str_addv(&text, format, args);
    va_end(args);
    groat__str_addf(out, "%s\t%d\t", subject, usable ? 1 : 0);
    while (text.len > 0 && text.data[text.len - 1] == '\n')
        text.len--;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];

        if (c == '\n')
            groat__str_add(out, "; ");
        else
            groat__str_addn(out, iscntrl((unsigned char)c) ? " " : &c, 1);
    }
    groat__str_add(out, "\n");
    groat__str_free(&text);
}

const char *groat__library_problem(const groat__dl *dl,
                                   const groat_error *error)
{
    const char *story = dl == NULL ? NULL : dl->story.data;
    const char *first = story == NULL ? NULL : strchr(story, '\n');

    /* A story of one line, such as that of a user's path, is in the error. */
    return first != NULL && first[1] != '\0' && dl->handle == NULL
               ? story
               : error->text;
}

groat_status groat__capturing(groat_error *error)
{
    return groat__fail(
        error, GROAT_CAPTURING,
        "the kernel is not in memory and cannot be loaded while a graph is "
        "captured from its stream; get the kernel before the capture");
}

groat_status groat__capture_failed(groat_error *error)
{
    return groat__fail(error, GROAT_LAUNCH_FAILED,
                       "the capture of a graph from the kernel's stream has "
                       "failed and was not ended");
}

void groat__drop_times(char *log)
{
    char *to = log;

    for (const char *line = log; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        static const char told[] = "ompile time";

        len += line[len] == '\n';
        if (memmem(line, len, told, sizeof(told) - 1) == NULL) {
            memmove(to, line, len);
            to += len;
        }
        line += len;
    }
    *to = '\0';
}

bool groat__predict_nothing(const groat__env *env, const groat__arch *arch,
                            groat__made_by_fn *made, void *user,
                            groat__str *who)
{
    (void)env;
    (void)arch;
    (void)made;
    (void)user;
    (void)who;
    return false;
}
