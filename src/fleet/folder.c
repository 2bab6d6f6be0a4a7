/* SPDX-License-Identifier: Apache-2.0
 *
 * folder.c keeps objects as files in a folder.
 *
 * Invariant: a file appears whole, and is never overwritten.
 * Locking: none.  If the folder's file system hangs, callers hang.
 */
#include "fleet/folder.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "cache/cache.h"

static void say_errno(groat__exchange *x)
{
    (void)snprintf(x->why, sizeof(x->why), "%s", strerror(errno));
    x->outcome = GROAT__OBJECT_FAILED;
}

static void get(const char *path, groat__exchange *x)
{
    groat_error error = GROAT_ERROR_INIT;
    size_t bytes = 0;
    char *data = NULL;
    groat_status status =
        groat__fs_read(path, GROAT__ENTRY_MAX, &data, &bytes, &error);

    if (status == GROAT_OK) {
        x->answer = (groat__str){data, bytes, bytes + 1, false};
        x->outcome = GROAT__OBJECT_DONE;
        x->answered = true; /* even if the file is malformed */
    } else if (error.vendor_code == ENOENT || error.vendor_code == ENOTDIR) {
        x->outcome = GROAT__OBJECT_ABSENT;
    } else {
        (void)snprintf(x->why, sizeof(x->why), "%.*s", (int)sizeof(x->why) - 1,
                       error.text);
        x->outcome = GROAT__OBJECT_FAILED;
        x->answered = error.vendor_code == 0; /* the folder is there */
    }
    groat_error_clear(&error);
}

static void head(const char *path, groat__exchange *x)
{
    struct stat st;

    if (stat(path, &st) == 0)
        x->outcome = GROAT__OBJECT_DONE;
    else if (errno == ENOENT || errno == ENOTDIR)
        x->outcome = GROAT__OBJECT_ABSENT;
    else
        say_errno(x);
}

/* Makes the parent folders of a path below the root, which exists. */
static bool make_folders(char *path, size_t root)
{
    for (char *at = path + root + 1; (at = strchr(at, '/')) != NULL; at++) {
        bool made;

        *at = '\0';
        made = mkdir(path, 0777) == 0 || errno == EEXIST;
        *at = '/';
        if (!made)
            return false;
    }
    return true;
}

static void write_file(int fd, const char *beside, const char *path,
                       groat__exchange *x)
{
    groat__fs_limit limit;
    bool whole;

    groat__fs_limit_begin(&limit);
    whole = groat__fs_write_all(fd, x->body, x->bytes) == 0 &&
            fchmod(fd, 0644) == 0 && fsync(fd) == 0;
    groat__fs_limit_end(&limit);
    if (!whole)
        say_errno(x);
    if (close(fd) != 0 && whole) {
        say_errno(x);
        whole = false;
    }
    if (!whole)
        return;
    if (link(beside, path) == 0)
        x->outcome = GROAT__OBJECT_DONE;
    else if (errno == EEXIST)
        x->outcome = GROAT__OBJECT_THERE;
    else
        say_errno(x);
}

static void put(char *path, size_t root, groat__exchange *x)
{
    groat__str beside = {0};
    groat__str part = {0};
    int fd = -1;

    if (access(path, F_OK) == 0) {
        x->outcome = GROAT__OBJECT_THERE;
        return;
    }
    if (!make_folders(path, root)) {
        say_errno(x);
        if (errno == ENOENT)
            (void)snprintf(x->why, sizeof(x->why),
                           "the remote's folder does not exist; make or mount "
                           "it");
        return;
    }
    errno = ENOMEM;
    groat__str_addf(&part, "%s" GROAT__OBJECT_PART, path);
    if (!part.failed)
        fd = groat__fs_beside(part.data, &beside);
    if (fd < 0) {
        say_errno(x);
    } else {
        write_file(fd, beside.data, path, x);
        (void)unlink(beside.data);
    }
    groat__str_free(&beside);
    groat__str_free(&part);
}

static void drop(const char *path, groat__exchange *x)
{
    if (unlink(path) == 0)
        x->outcome = GROAT__OBJECT_DONE;
    else if (errno == ENOENT)
        x->outcome = GROAT__OBJECT_ABSENT;
    else
        say_errno(x);
}

static void run_one(const char *folder, groat__exchange *x)
{
    groat__str path = {0};

    groat__str_addf(&path, "%s/%s", folder, x->name);
    if (path.failed) {
        errno = ENOMEM;
        say_errno(x);
    } else if (x->verb == GROAT__OBJECT_GET) {
        get(path.data, x);
    } else if (x->verb == GROAT__OBJECT_HEAD) {
        head(path.data, x);
    } else if (x->verb == GROAT__OBJECT_PUT) {
        put(path.data, strlen(folder), x);
    } else {
        drop(path.data, x);
    }
    groat__str_free(&path);
}

void groat__folder_run(const char *folder, const groat__batch *batch)
{
    for (size_t i = 0;
         i < batch->count && (batch->stop == NULL || !*batch->stop); i++) {
        run_one(folder, &batch->list[i]);
        if (batch->done != NULL)
            batch->done(batch->user, &batch->list[i]);
    }
}

groat_status groat__folder_list(const char *folder, groat__listed_fn *fn,
                                void *user, groat_error *error)
{
    char *copy = strdup(folder);
    char *const paths[] = {copy, NULL};
    groat_status status = GROAT_OK;
    const FTSENT *file;
    struct stat st;
    int stop = 0;
    FTS *walk;

    if (copy == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a listing");
    if (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode)) {
        free(copy);
        return groat__fail(error, GROAT_IO, "cannot list %s: it is no folder",
                           folder);
    }
    walk = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    while (walk != NULL && stop == 0 && (errno = 0, file = fts_read(walk))) {
        groat__listed listed = {.name = file->fts_path + strlen(folder) + 1};

        if (file->fts_info == FTS_F && file->fts_level > 0) {
            listed.bytes = (uint64_t)file->fts_statp->st_size;
            listed.modified_s = (int64_t)file->fts_statp->st_mtime;
            stop = fn(user, &listed);
        } else if (file->fts_info == FTS_DNR || file->fts_info == FTS_ERR ||
                   (file->fts_info == FTS_NS && file->fts_level == 0)) {
            status = groat__fail(error, GROAT_IO, "cannot list %s: %s",
                                 file->fts_path, strerror(file->fts_errno));
            stop = 1;
        }
    }
    if (walk == NULL || (stop == 0 && errno != 0))
        status = groat__fail(error, GROAT_IO, "cannot list %s: %s", folder,
                             strerror(errno));
    if (walk != NULL)
        (void)fts_close(walk);
    free(copy);
    return status;
}
