/* SPDX-License-Identifier: Apache-2.0
 *
 * backup.c copies a store that is in use into one file with SQLite's backup
 * API: a copy of the files by hand may hold half of a change.
 * Locking: the store is locked while it is read; nobody else uses the copy.
 */
#include "cache/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

/* Locked: copies all pages at once, including those still in the -wal. */
static int copy_pages(groat__store *store, const char *path)
{
    sqlite3_backup *backup;
    sqlite3 *copy = NULL;
    int rc = sqlite3_open_v2(path, &copy,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                                 SQLITE_OPEN_PRIVATECACHE,
                             NULL);

    if (rc == SQLITE_OK) {
        backup = sqlite3_backup_init(copy, "main", store->db, "main");
        if (backup == NULL) {
            rc = sqlite3_errcode(copy);
        } else {
            (void)sqlite3_backup_step(backup, -1);
            rc = sqlite3_backup_finish(backup);
        }
    }
    /* The copy is one file, without a -wal beside it. */
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(copy, "PRAGMA journal_mode = DELETE", NULL, NULL,
                          NULL);
    (void)sqlite3_close(copy);
    return rc;
}

static groat_status fail_file(const char *path, groat_error *error)
{
    return groat__fail(error, errno == ENOMEM ? GROAT_NO_MEMORY : GROAT_IO,
                       "cannot write backup %s: %s", path, strerror(errno));
}

static groat_status copy_to(groat__store *store, const char *temp,
                            const char *path, groat_error *error)
{
    groat_status status = groat__store_begin(store, error);
    int rc;

    if (status != GROAT_OK)
        return status;
    rc = copy_pages(store, temp);
    groat__store_leave(store);
    if (groat__handle_no_memory(rc))
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for backup %s",
                           path);
    if (rc != SQLITE_OK)
        return groat__fail_vendor(error, GROAT_IO, "sqlite3_backup_step", rc,
                                  "cannot write backup %s: %s (SQLite %d)",
                                  path, sqlite3_errstr(rc), rc);
    return GROAT_OK;
}

/* Removes the copy's file, or what SQLite left beside it when it failed. */
static void remove_copy(const groat__str *temp)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        groat__str path = {0};

        groat__str_addf(&path, "%s%s", temp->data, suffixes[i]);
        if (!path.failed)
            (void)unlink(path.data);
        groat__str_free(&path);
    }
}

/* Syncs the copy and gives it its name, which must be free. */
static groat_status settle(const char *temp, const char *path,
                           groat_error *error)
{
    int fd = open(temp, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && fsync(fd) == 0;

    if (fd >= 0 && close(fd) != 0)
        good = false;
    /* Not every file system supports both. */
    if (good &&
        (renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_NOREPLACE) == 0 ||
         link(temp, path) == 0))
        return GROAT_OK;
    return fail_file(path, error);
}

groat_status groat__store_backup(groat__store *store, const char *path,
                                 groat_error *error)
{
    groat__str temp = {0};
    groat_status status;
    struct stat st;
    int fd;

    if (lstat(path, &st) == 0)
        return groat__fail(error, GROAT_IO,
                           "%s exists; a backup replaces no file", path);
    fd = groat__fs_beside(path, &temp);
    if (fd < 0) {
        status = fail_file(path, error);
    } else {
        (void)close(fd);
        status = copy_to(store, temp.data, path, error);
        if (status == GROAT_OK)
            status = settle(temp.data, path, error);
        remove_copy(&temp);
    }
    groat__str_free(&temp);
    return status;
}
