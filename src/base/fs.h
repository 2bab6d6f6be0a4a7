/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_FS_H
#define GROAT_BASE_FS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/hold.h"
#include "base/str.h"
#include "groat.h"

/* Reads a whole regular file; *data is malloc'd and followed by a NUL.  Errors:
 * IO with path and reason (a failed open leaves errno in vendor_code), also if
 * the file's size changes meanwhile; INVALID if it is larger than max_bytes. */
groat_status groat__fs_read(const char *path, size_t max_bytes, char **data,
                            size_t *bytes, groat_error *error);

/* Writes all bytes, however often it is interrupted: 0, or -1 with errno. */
int groat__fs_write_all(int fd, const char *data, size_t bytes);

/* Writes a new file beside path and renames it, so that a reader sees the old
 * or the new one.  mode is as in open(2), whatever the umask.  Not synced: a
 * power cut may leave an empty file. */
groat_status groat__fs_write(const char *path, const void *data, size_t bytes,
                             unsigned mode, groat_error *error);

/* Makes an empty file beside path, to be renamed to path once it is whole;
 * appends its name to *name.  Returns its descriptor, or -1 with errno and an
 * empty *name. */
int groat__fs_beside(const char *path, groat__str *name);

/* Returns whether no file descriptor is left, so that a failed open says
 * nothing about the disk. */
bool groat__fs_no_descriptors(void);

/* Makes path and its missing parents, each 0700. */
groat_status groat__fs_make_private_dir(const char *path, groat_error *error);

/* Holds SIGXFSZ back while a thread writes: a file at RLIMIT_FSIZE is then an
 * error like a full disk, and does not end the program. */
typedef struct groat__fs_limit {
    bool on; /* there is a limit */
    groat__hold hold;
} groat__fs_limit;

void groat__fs_limit_begin(groat__fs_limit *limit);
/* Call it in the same thread; errno is kept. */
void groat__fs_limit_end(groat__fs_limit *limit);

#endif
