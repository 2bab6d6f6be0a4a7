/* SPDX-License-Identifier: Apache-2.0
 *
 * folder.h - folders of their own for tests and benches, under TMPDIR or /tmp.
 */
#ifndef GROAT_TESTS_FOLDER_H
#define GROAT_TESTS_FOLDER_H

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Makes a folder, named after who wants it; size is that of dir.  False: it
 * could not be made, errno says why. */
static inline bool folder_make(char *dir, size_t size, const char *who)
{
    const char *tmp = getenv("TMPDIR");

    /* mkdtemp replaces the six. */
    (void)snprintf(dir, size, "%s/groat-%s-XXXXXX",
                   tmp == NULL || tmp[0] == '\0' ? "/tmp" : tmp, who);
    return mkdtemp(dir) != NULL;
}

static inline int folder_drop(const char *path, const struct stat *st, int type,
                              struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

/* With all that is in it; what cannot be removed stays. */
static inline void folder_remove(const char *dir)
{
    (void)nftw(dir, folder_drop, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
