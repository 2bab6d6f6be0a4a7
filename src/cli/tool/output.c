/* SPDX-License-Identifier: Apache-2.0
 *
 * output.c - the file that --output names.
 *
 * Owns the file from before the work, so that a path that cannot be written
 * costs no compile, until the bytes are in it.
 * Invariant: nothing that was there is lost before there are bytes to write;
 * a file that was made for nothing is taken away again.
 */
#include "cli/tool/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static groat_status fail(const groat__output *output, int code,
                         groat_error *error)
{
    return groat__cli_error(error, GROAT_IO, "--output %s: %s", output->path,
                            strerror(code));
}

groat_status groat__output_open(groat__output *output, const char *path,
                                groat_error *error)
{
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC;
    int fd = open(path, flags | O_EXCL, 0666);

    *output = (groat__output){.path = path, .made = fd >= 0};
    if (fd < 0 && errno == EEXIST)
        fd = open(path, flags, 0666);
    if (fd < 0)
        return fail(output, errno, error);
    output->file = fdopen(fd, "wb");
    if (output->file)
        return GROAT_OK;
    (void)close(fd);
    return fail(output, ENOMEM, error);
}

groat_status groat__output_write(groat__output *output, const void *data,
                                 size_t bytes, groat_error *error)
{
    FILE *file = output->file;
    struct stat facts;
    bool whole;

    /* What is no plain file, such as a pipe, has no length to be cut. */
    whole = fstat(fileno(file), &facts) == 0 &&
            (!S_ISREG(facts.st_mode) || ftruncate(fileno(file), 0) == 0) &&
            fwrite(data, 1, bytes, file) == bytes;
    output->file = NULL;
    /* The first failure's reason is the one to tell. */
    if (!whole) {
        int code = errno;

        (void)fclose(file);
        return fail(output, code, error);
    }
    return fclose(file) ? fail(output, errno, error) : GROAT_OK;
}

void groat__output_drop(groat__output *output)
{
    if (!output->file)
        return;
    (void)fclose(output->file);
    if (output->made)
        (void)unlink(output->path);
    output->file = NULL;
}
