/* SPDX-License-Identifier: Apache-2.0
 *
 * fs.c owns whole-file reads and writes and private folders.  Every descriptor
 * is opened O_CLOEXEC.  Temporary names come from mkstemp, never from a guess.
 */
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/str.h"

/* Without O_NONBLOCK, opening a pipe waits for a writer. */
static int open_to_read(const char *path)
{
    int fd;

    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* Reads until `bytes` are there or the file ends. */
static int read_all(int fd, char *data, size_t bytes, size_t *got)
{
    *got = 0;
    while (*got < bytes) {
        ssize_t n = read(fd, data + *got, bytes - *got);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    return 0;
}

/* Reads exactly the size that fstat reported: a file that is being written must
 * not be read half-done. */
static groat_status read_file(int fd, const char *path, size_t size,
                              char **data, groat_error *error)
{
    char *buffer = malloc(size + 1);
    size_t got = 0;

    if (buffer == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for %s", path);
    if (read_all(fd, buffer, size + 1, &got) != 0) {
        groat__fail(error, GROAT_IO, "cannot read %s: %s", path,
                    strerror(errno));
        free(buffer);
        return GROAT_IO;
    }
    if (got != size) {
        free(buffer);
        return groat__fail(error, GROAT_IO, "%s changed while it was read",
                           path);
    }
    buffer[size] = '\0';
    *data = buffer;
    return GROAT_OK;
}

groat_status groat__fs_read(const char *path, size_t max_bytes, char **data,
                            size_t *bytes, groat_error *error)
{
    int fd = open_to_read(path);
    groat_status status;
    struct stat st;

    if (fd < 0)
        return groat__fail_vendor(error, GROAT_IO, "open", errno,
                                  "cannot open %s: %s", path, strerror(errno));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        status = groat__fail(error, GROAT_IO, "%s is not a regular file", path);
    else if ((uint64_t)st.st_size > max_bytes ||
             (uint64_t)st.st_size >= SIZE_MAX)
        status = groat__fail(error, GROAT_INVALID,
                             "%s is %lld bytes; at most %zu bytes are read",
                             path, (long long)st.st_size, max_bytes);
    else
        status = read_file(fd, path, (size_t)st.st_size, data, error);
    if (status == GROAT_OK)
        *bytes = (size_t)st.st_size;
    (void)close(fd);
    return status;
}

int groat__fs_write_all(int fd, const char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = write(fd, data, bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        data += n;
        bytes -= (size_t)n;
    }
    return 0;
}

int groat__fs_beside(const char *path, groat__str *name)
{
    int fd = -1;

    errno = ENOMEM;
    groat__str_addf(name, "%s.XXXXXX", path);
    if (!name->failed)
        fd = mkostemp(name->data, O_CLOEXEC);
    if (fd < 0)
        groat__str_clear(name);
    return fd;
}

static groat_status fail_write(const char *path, groat_error *error)
{
    return groat__fail(error, errno == ENOMEM ? GROAT_NO_MEMORY : GROAT_IO,
                       "cannot write %s: %s", path, strerror(errno));
}

groat_status groat__fs_write(const char *path, const void *data, size_t bytes,
                             unsigned mode, groat_error *error)
{
    groat_status status = GROAT_OK;
    groat__str temp = {0};
    groat__fs_limit limit;
    int fd;

    groat__fs_limit_begin(&limit);
    fd = groat__fs_beside(path, &temp);
    if (fd < 0) {
        status = fail_write(path, error);
        goto free_name;
    }
    if (groat__fs_write_all(fd, data, bytes) != 0 ||
        fchmod(fd, (mode_t)mode) != 0) {
        status = fail_write(path, error);
        (void)close(fd);
        goto remove_temp;
    }
    if (close(fd) != 0 || rename(temp.data, path) != 0) {
        status = fail_write(path, error);
        goto remove_temp;
    }
    goto free_name;
remove_temp:
    (void)unlink(temp.data);
free_name:
    groat__fs_limit_end(&limit);
    groat__str_free(&temp);
    return status;
}

bool groat__fs_no_descriptors(void)
{
    int fd = open("/", O_RDONLY | O_CLOEXEC);

    if (fd >= 0)
        (void)close(fd);
    return fd < 0 && (errno == EMFILE || errno == ENFILE);
}

groat_status groat__fs_make_private_dir(const char *path, groat_error *error)
{
    groat_status status = GROAT_OK;
    char *copy = strdup(path);
    struct stat st;

    if (copy == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for %s", path);
    for (char *at = copy + (*copy == '/'); status == GROAT_OK; at++) {
        char end = *at;

        if (end != '/' && end != '\0')
            continue;
        *at = '\0';
        /* Whatever the umask is. */
        if (mkdir(copy, 0700) == 0 ? chmod(copy, 0700) != 0 : errno != EEXIST)
            status = groat__fail(error, GROAT_IO, "cannot make folder %s: %s",
                                 copy, strerror(errno));
        *at = end;
        if (end == '\0')
            break;
    }
    if (status == GROAT_OK && stat(path, &st) != 0)
        status = groat__fail(error, GROAT_IO, "%s is a link to no folder: %s",
                             path, strerror(errno));
    else if (status == GROAT_OK && !S_ISDIR(st.st_mode))
        status = groat__fail(error, GROAT_IO, "%s is not a folder", path);
    free(copy);
    return status;
}

void groat__fs_limit_begin(groat__fs_limit *limit)
{
    struct rlimit bytes;

    limit->on =
        getrlimit(RLIMIT_FSIZE, &bytes) != 0 || bytes.rlim_cur != RLIM_INFINITY;
    if (limit->on)
        groat__hold_begin(&limit->hold, SIGXFSZ);
}

void groat__fs_limit_end(groat__fs_limit *limit)
{
    if (limit->on)
        groat__hold_end(&limit->hold);
}
