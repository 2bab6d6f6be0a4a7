/* SPDX-License-Identifier: Apache-2.0
 *
 * glance.c answers the first look-ups of a process from a view of the file that
 * takes no lock and has no -wal and no -shm: a process that finds its kernels
 * in a store that nobody writes never opens it in full, which costs as much as
 * loading a kernel.
 *
 * Invariant: only what is found is an answer, and a get checks it as ever:
 * checksum and identity.  All else that a view says (no row, damage, another
 * schema) may be due to a writer: then the file is opened in full and asked
 * again, and the view is over.
 * Locking: the calls of internal.h are made with the store locked.
 */
#include "cache/internal.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* Fields of the header of SQLite's file format. */
enum {
    HEADER_BYTES = 100,
    WRITE_FORMAT = 18, /* 1 byte each; 2: the file has a -wal when written */
    READ_FORMAT = 19,
    USER_VERSION = 60, /* 4 bytes each, the highest first */
    APPLICATION_ID = 68,
    WAL_FORMAT = 2
};

enum { SETTLED_S = 3 }; /* since the last write */

static uint32_t number_at(const unsigned char *header, size_t at)
{
    return (uint32_t)header[at] << 24 | (uint32_t)header[at + 1] << 16 |
           (uint32_t)header[at + 2] << 8 | header[at + 3];
}

/* Returns whether the file has the header of a store of this version.  It is
 * read by SQLite's own descriptor: to close another one would end the locks of
 * any connection that this process has to the file. */
static bool has_header(sqlite3 *db)
{
    static const char magic[16] = "SQLite format 3";
    unsigned char header[HEADER_BYTES];
    sqlite3_file *file = NULL;

    return sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) ==
               SQLITE_OK &&
           file != NULL && file->pMethods != NULL &&
           file->pMethods->xRead(file, header, sizeof(header), 0) ==
               SQLITE_OK &&
           memcmp(header, magic, sizeof(magic)) == 0 &&
           header[WRITE_FORMAT] == WAL_FORMAT &&
           header[READ_FORMAT] == WAL_FORMAT &&
           number_at(header, USER_VERSION) == GROAT__STORE_SCHEMA &&
           number_at(header, APPLICATION_ID) == GROAT__STORE_ID;
}

/* Returns whether the file is the one that was there when the store was opened,
 * and not written since.  Of one that the path does not lead to any more, the
 * view is what a connection would be: open. */
static bool is_as_seen(const groat__store *store)
{
    const struct stat *seen = &store->seen;
    struct stat now;

    return lstat(store->path, &now) != 0 ||
           (now.st_dev == seen->st_dev && now.st_ino == seen->st_ino &&
            now.st_size == seen->st_size &&
            now.st_mtim.tv_sec == seen->st_mtim.tv_sec &&
            now.st_mtim.tv_nsec == seen->st_mtim.tv_nsec &&
            !groat__place_has_journal(store->path));
}

/* Some file systems give times in whole seconds: a write after the look at a
 * file may leave the time that the last write before it gave. */
static bool is_settled(const struct stat *seen)
{
    struct timespec now = {0, 0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec - seen->st_mtim.tv_sec >= SETTLED_S;
}

bool groat__glance_begin(groat__store *store)
{
    if (!groat__place_is_good(store->path, &store->share, &store->seen) ||
        !is_settled(&store->seen) || groat__place_has_journal(store->path) ||
        !groat__place_writable(store->path) ||
        !groat__place_writable(store->dir))
        return false;
    store->glancing =
        groat__handle_open_immutable(store->path, &store->db) == SQLITE_OK &&
        has_header(store->db) && is_as_seen(store);
    if (!store->glancing) {
        (void)sqlite3_close(store->db);
        store->db = NULL;
        return false;
    }
    groat__handle_harden(store->db);
    store->device = store->seen.st_dev;
    store->inode = store->seen.st_ino;
    return true;
}

/* Before the first look-up. */
static bool check_view(groat__store *store)
{
    char mark[33] = "";

    store->checked =
        sqlite3_exec(store->db,
                     "PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON;", NULL,
                     NULL, NULL) == SQLITE_OK &&
        groat__handle_schema(store->db, mark) == SQLITE_OK &&
        strcmp(mark, GROAT__STORE_MARK) == 0;
    return store->checked;
}

bool groat__glance(groat__store *store)
{
    return store->glancing && is_as_seen(store) &&
           (store->checked || check_view(store));
}
