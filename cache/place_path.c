/* SPDX-License-Identifier: Apache-2.0
 *
 * place_path.c checks every parent of the store's folder: a user who can rename
 * one of them can put another store in its place, whatever our own modes are.
 *
 * Invariant: the path that is checked has no symbolic links and starts at /; a
 * folder that passes can be changed only by root, by us and, in a shared store,
 * by the group.  Reads file attributes only.  No state, so no locking.
 */
#include "cache/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

/* In a user namespace that does not map an owner, the kernel shows another id:
 * no process inside can be that owner, which may be the host's root. */
static bool is_unmapped(uid_t owner)
{
    FILE *map = fopen("/proc/self/uid_map", "re");
    bool mapped = map == NULL;
    uintmax_t inside;
    uintmax_t outside;
    uintmax_t count;

    while (!mapped &&
           fscanf(map, "%ju %ju %ju", &inside, &outside, &count) == 3)
        mapped = owner >= inside && owner - inside < count;
    if (map != NULL)
        (void)fclose(map);
    return !mapped;
}

/* Returns whether a folder's group may change it: root's group counts as root,
 * a group with the user's number as the user's own. */
static bool is_good_group(const struct stat *st,
                          const groat__place_share *share)
{
    return st->st_gid == 0 ||
           (st->st_gid == (gid_t)geteuid() && st->st_uid == geteuid()) ||
           (share->on && st->st_gid == share->group);
}

static groat_status check_owner(const char *folder, const char *dir,
                                const struct stat *st, groat_error *error)
{
    if (st->st_uid == 0 || st->st_uid == geteuid() || is_unmapped(st->st_uid))
        return GROAT_OK;
    return groat__fail(error, GROAT_IO,
                       "%s, on the way to %s, belongs to user %u, who may put "
                       "another folder in its place; run: chown %u %s, or set "
                       "GROAT_CACHE_DIR to a folder elsewhere",
                       folder, dir, (unsigned)st->st_uid, (unsigned)geteuid(),
                       folder);
}

/* In a folder with the sticky bit, only an entry's owner can rename it. */
static groat_status check_mode(const char *folder, const char *dir,
                               const struct stat *st,
                               const groat__place_share *share,
                               groat_error *error)
{
    unsigned mode = (unsigned)st->st_mode & 07777;
    unsigned bad = mode & S_IWOTH;

    if (!is_good_group(st, share))
        bad |= mode & S_IWGRP;
    if (bad == 0 || (mode & S_ISVTX) != 0)
        return GROAT_OK;
    return groat__fail(error, GROAT_IO,
                       "%s, on the way to %s, has mode %04o: others may put "
                       "another folder in its place; run: chmod %o %s, or set "
                       "GROAT_CACHE_DIR to a folder elsewhere",
                       folder, dir, mode, mode & ~bad, folder);
}

static groat_status check_one(const char *folder, const char *dir,
                              const groat__place_share *share,
                              groat_error *error)
{
    struct stat st;
    groat_status status;

    if (lstat(folder, &st) != 0)
        return groat__fail(error, GROAT_IO, "cannot look at %s: %s", folder,
                           strerror(errno));
    status = check_owner(folder, dir, &st, error);
    return status == GROAT_OK ? check_mode(folder, dir, &st, share, error)
                              : status;
}

groat_status groat__place_path(const char *real, const char *beyond,
                               const groat__place_share *share,
                               groat_error *error)
{
    const char *dir = beyond == NULL ? real : beyond;
    char *folder = strdup(real);
    groat_status status;

    if (folder == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for %s", real);
    status = check_one("/", dir, share, error);
    for (char *at = folder;
         status == GROAT_OK && (at = strchr(at + 1, '/')) != NULL;) {
        *at = '\0';
        status = check_one(folder, dir, share, error);
        *at = '/';
    }
    if (status == GROAT_OK && beyond != NULL)
        status = check_one(real, dir, share, error);
    free(folder);
    return status;
}

groat_status groat__place_path_ahead(const char *dir,
                                     const groat__place_share *share,
                                     groat_error *error)
{
    char *at = strdup(dir);
    groat_status status = GROAT_OK;
    char *real = NULL;

    if (at == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for %s", dir);
    while (*at != '\0' && (real = realpath(at, NULL)) == NULL) {
        char *slash = strrchr(at, '/');

        if (slash == NULL)
            *at = '\0';
        else
            slash[slash == at && slash[1] != '\0' ? 1 : 0] = '\0';
    }
    if (real == NULL)
        real = realpath(".", NULL);
    if (real != NULL)
        status = groat__place_path(real, dir, share, error);
    free(real);
    free(at);
    return status;
}
