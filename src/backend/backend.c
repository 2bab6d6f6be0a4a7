/* SPDX-License-Identifier: Apache-2.0
 *
 * backend.c owns the table of backends, and what they share.  A new one is a
 * row here and a pair of tables in files of its own.  No state, no locking.
 */
#include "backend/backend.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const groat__backend backends[GROAT__BACKENDS] = {
    {GROAT__CUDA, &groat__compiler_nvrtc, &groat__device_cuda},
    {GROAT__HIP, &groat__compiler_hiprtc, &groat__device_hip},
    {GROAT__CPU, &groat__compiler_cxx, &groat__device_cpu},
};

const groat__backend *groat__backend_get(groat__backend_id id)
{
    return &backends[id];
}

void groat__binary_free(groat__binary *binary)
{
    free(binary->data);
    free(binary->log);
    memset(binary, 0, sizeof(*binary));
}

int groat__memory_file(const char *name, const void *data, size_t bytes)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    size_t done = 0;

    /* In a program that closed its own, those are for a child. */
    if (fd >= 0 && fd <= STDERR_FILENO) {
        int low = fd;

        fd = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        (void)close(low);
    }
    while (fd >= 0 && done < bytes) {
        ssize_t n =
            pwrite(fd, (const char *)data + done, bytes - done, (off_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            (void)close(fd);
            errno = ENOSPC;
            return -1;
        }
        done += (size_t)n;
    }
    return fd;
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
    const char *story = dl->story.data;
    const char *first = story == NULL ? NULL : strchr(story, '\n');

    /* A story of one line, as of a path by the user, is in the error. */
    return dl->handle == NULL && first != NULL && first[1] != '\0'
               ? story
               : error->text;
}
