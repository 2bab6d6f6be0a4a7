/* SPDX-License-Identifier: Apache-2.0
 *
 * inject.c - put in front of libgroat.so, makes one call of the API fail.
 *
 * $GROAT_INJECT says which: probe (the version becomes "injected"), flip (a
 * byte read back from the device is wrong), launch, judged, time, load,
 * compile, memory, full (no room for what SQLite writes).  What is not named
 * there goes on to the library.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "groat.h"
#include "groat_tools.h"

static int wanted(const char *what)
{
    const char *said = getenv("GROAT_INJECT");

    return said && strcmp(said, what) == 0;
}

static groat_status refuse(groat_error *error, groat_status status)
{
    if (error) {
        error->status = status;
        error->text[0] = '\0';
        strncat(error->text, "injected", sizeof(error->text) - 1);
        error->log = strdup("first line\nsecond line");
    }
    return status;
}

const char *groat_version(void)
{
    return wanted("probe") ? "injected" : GROAT_VERSION_STRING;
}

groat_status groat_memory_read(groat_context *context, const char *target,
                               void *to, uint64_t from, size_t bytes,
                               groat_error *error)
{
    groat_status (*next)(groat_context *, const char *, void *, uint64_t,
                         size_t, groat_error *);
    void *symbol = dlsym(RTLD_NEXT, "groat_memory_read");
    groat_status status;

    memcpy(&next, &symbol, sizeof(next));
    status = next(context, target, to, from, bytes, error);
    if (!status && wanted("flip") && bytes > 9)
        ((unsigned char *)to)[9] ^= 0x40;
    return status;
}

groat_status groat_kernel_launch(groat_kernel *kernel,
                                 const groat_launch *launch, const void *args,
                                 size_t args_bytes, groat_error *error)
{
    groat_status (*next)(groat_kernel *, const groat_launch *, const void *,
                         size_t, groat_error *);
    void *symbol = dlsym(RTLD_NEXT, "groat_kernel_launch");

    if (wanted("judged"))
        return refuse(error, GROAT_JUDGED);
    if (wanted("launch"))
        return refuse(error, GROAT_LAUNCH_FAILED);
    memcpy(&next, &symbol, sizeof(next));
    return next(kernel, launch, args, args_bytes, error);
}

groat_status groat_kernel_time(groat_kernel *kernel, const groat_launch *launch,
                               const void *args, size_t args_bytes,
                               unsigned repeats, double *us, groat_error *error)
{
    groat_status (*next)(groat_kernel *, const groat_launch *, const void *,
                         size_t, unsigned, double *, groat_error *);
    void *symbol = dlsym(RTLD_NEXT, "groat_kernel_time");

    if (wanted("time"))
        return refuse(error, GROAT_LAUNCH_FAILED);
    memcpy(&next, &symbol, sizeof(next));
    return next(kernel, launch, args, args_bytes, repeats, us, error);
}

groat_status groat_kernel_get_spec(groat_spec *spec,
                                   const groat_get_options *options,
                                   groat_kernel **out, groat_origin *origin,
                                   groat_error *error)
{
    groat_status (*next)(groat_spec *, const groat_get_options *,
                         groat_kernel **, groat_origin *, groat_error *);
    void *symbol = dlsym(RTLD_NEXT, "groat_kernel_get_spec");

    if (wanted("compile"))
        return refuse(error, GROAT_COMPILE_FAILED);
    if (wanted("load"))
        return refuse(error, GROAT_LOAD_FAILED);
    if (wanted("memory"))
        return refuse(error, GROAT_NO_MEMORY);
    memcpy(&next, &symbol, sizeof(next));
    return next(spec, options, out, origin, error);
}

groat_status groat_build(groat_spec *spec, void **binary, size_t *bytes,
                         groat_kernel_info *info, groat_error *error)
{
    groat_status (*next)(groat_spec *, void **, size_t *, groat_kernel_info *,
                         groat_error *);
    void *symbol = dlsym(RTLD_NEXT, "groat_build");

    if (wanted("compile"))
        return refuse(error, GROAT_COMPILE_FAILED);
    memcpy(&next, &symbol, sizeof(next));
    return next(spec, binary, bytes, info, error);
}

/* Whether it is a journal of SQLite, where changes are written first. */
static int is_journal(int fd)
{
    char link[64];
    char path[4096] = "";
    ssize_t len;

    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    len = readlink(link, path, sizeof(path) - 1);
    return len > 4 && strcmp(path + len - 4, "-wal") == 0;
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t at)
{
    if (wanted("full") && is_journal(fd)) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_pwrite64, fd, data, bytes, at);
}
