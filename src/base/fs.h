/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROAT_BASE_FS_H
#define GROAT_BASE_FS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/hold.h"
#include "base/str.h"
#include "groat.h"

/* Reads a whole regular file; *data is malloc'd with a NUL behind it.  Errors:
 * IO with path and reason (an open that failed leaves errno in vendor_code),
 * also when the file changes its size meanwhile; INVALID when it is larger than
 * max_bytes. */
groat_status groat__fs_read(const char *path, size_t max_bytes, char **data,
                            size_t *bytes, groat_error *error);

/* All of it, whatever is interrupted: 0, or -1 with errno. */
int groat__fs_write_all(int fd, const char *data, size_t bytes);

/* Writes a file through a fresh neighbour and rename, so that a reader sees
 * the old or the new one.  mode as in open(2), whatever the umask.  Not synced:
 * a power cut may leave an empty one. */
groat_status groat__fs_write(const char *path, const void *data, size_t bytes,
                             unsigned mode, groat_error *error);

/* Makes an empty file beside path, for what is to take its place or name when
 * it is whole; appends its name to *name.  Gives its descriptor, or -1: errno
 * says why, and *name is empty then. */
int groat__fs_beside(const char *path, groat__str *name);

/* Whether a file that could not be opened says nothing about the disk: there is
 * no descriptor left. */
bool groat__fs_no_descriptors(void);

/* Makes path and its missing parents, each 0700. */
groat_status groat__fs_make_private_dir(const char *path, groat_error *error);

/* The thread that writes, while SIGXFSZ would end the program: a file that may
 * not grow any more (RLIMIT_FSIZE) is an error like a full disk. */
typedef struct groat__fs_limit {
    bool on; /* there is a limit */
    groat__hold hold;
} groat__fs_limit;

void groat__fs_limit_begin(groat__fs_limit *limit);
/* In the same thread; errno stays. */
void groat__fs_limit_end(groat__fs_limit *limit);

#endif
