/* SPDX-License-Identifier: Apache-2.0
 *
 * output.c - the file that --output names.
 *
 * Owns the file from before the work, so that an unwritable path is found
 * before a compile, until the bytes are in it.
 * Invariant: old contents are kept until there is room for the new ones; a file
 * that was created but not written is removed, also by a signal that ends the
 * process.
 */
#include "cli/tool/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Removes a file that was created and is not written. */
static void undo(const groat__output *output)
{
    if (!output->made)
        return;
    (void)unlink(output->path);
    groat__scratch_list(output->path, NULL);
}

static groat_status fail(const groat__output *output, int code,
                         groat_error *error)
{
    return groat__fail(error, GROAT_IO, "--output %s: %s", output->path,
                       strerror(code));
}

groat_status groat__output_open(groat__output *output, const char *path,
                                groat_error *error)
{
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC;
    int fd;

    *output = (groat__output){.path = path};
    if (strcmp(path, "-") == 0)
        return groat__fail(error, GROAT_INVALID,
                           "--output -: this command does not write to "
                           "standard output; ./- is a file of that name");
    fd = open(path, flags | O_EXCL, 0666);

    output->made = fd >= 0;
    if (fd < 0 && errno == EEXIST)
        fd = open(path, flags, 0666);
    if (fd < 0)
        return fail(output, errno, error);
    if (output->made)
        groat__scratch_list(NULL, path);
    output->file = fdopen(fd, "wb");
    if (output->file)
        return GROAT_OK;
    (void)close(fd);
    undo(output);
    return fail(output, ENOMEM, error);
}

groat_status groat__output_stdout(groat__output *output, groat_error *error)
{
    int fd = dup(STDOUT_FILENO);
    int code;

    *output = (groat__output){.path = "stdout", .stream = true};
    output->file = fd < 0 ? NULL : fdopen(fd, "wb");
    if (output->file)
        return GROAT_OK;
    code = errno;
    if (fd >= 0)
        (void)close(fd);
    return fail(output, code, error);
}

/* Reserves `bytes` in a file of `held` bytes without changing its contents.
 * Sets errno on failure. */
static bool reserve(int fd, off_t held, size_t bytes)
{
    int code;

    /* Not posix_fallocate(), whose fallback reads and rewrites the file. */
    while (bytes && fallocate(fd, 0, 0, (off_t)bytes) != 0) {
        code = errno;
        if (code == EINTR)
            continue;
        if (code == EOPNOTSUPP || code == ENOSYS)
            break;
        (void)ftruncate(fd, held);
        errno = code;
        return false;
    }
    return true;
}

groat_status groat__output_write(groat__output *output, const void *data,
                                 size_t bytes, groat_error *error)
{
    FILE *file = output->file;
    struct stat facts;
    bool plain;
    bool whole;
    int code;

    /* Only a regular file has a length: not a pipe, for example. */
    whole = fstat(fileno(file), &facts) == 0;
    plain = whole && S_ISREG(facts.st_mode) && !output->stream;
    whole = whole && (!plain || reserve(fileno(file), facts.st_size, bytes)) &&
            fwrite(data, 1, bytes, file) == bytes && fflush(file) == 0 &&
            (!plain || ftruncate(fileno(file), (off_t)bytes) == 0);
    code = errno; /* of the first failure */
    if (!whole) {
        groat__output_drop(output);
        return fail(output, code, error);
    }
    output->file = NULL;
    if (fclose(file) == 0) {
        if (output->made)
            groat__scratch_list(output->path, NULL);
        return GROAT_OK;
    }
    code = errno;
    undo(output);
    return fail(output, code, error);
}

void groat__output_drop(groat__output *output)
{
    if (!output->file)
        return;
    (void)fclose(output->file);
    undo(output);
    output->file = NULL;
}
