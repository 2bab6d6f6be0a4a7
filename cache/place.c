/* SPDX-License-Identifier: Apache-2.0
 *
 * place.c owns the folder and the file as the operating system sees them:
 * owners, modes, links, and the renaming of a damaged file.  It knows nothing
 * of SQLite beyond the names -wal and -shm.
 *
 * groat__place_share tells a group's store from a user's; place_path.c checks
 * the parents of the folder.
 *
 * Invariant: a file that exists is never opened here.  POSIX drops all locks
 * that a process has on a file when it closes any descriptor of it, so a check
 * through open(2) would release SQLite's locks; the folder is ours alone, or
 * our group's, which makes lstat(2) by name safe.  No state, so no locking in
 * the process; groat__place_lock keeps other processes away.
 */
#include "cache/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"

/* Network file systems; WAL needs memory that all users of the file share. */
static const struct {
    unsigned magic;
    const char *name;
} networks[] = {
    {0x6969, "nfs"},       {0x517b, "smb"},        {0xff534d42, "cifs"},
    {0xfe534d42, "smb2"},  {0x0bd00bd0, "lustre"}, {0x47504653, "gpfs"},
    {0x5346414f, "afs"},   {0x00c36400, "ceph"},   {0x19830326, "beegfs"},
    {0xaad7aaea, "panfs"}, {0x7461636f, "ocfs2"},  {0x01161970, "gfs2"},
    {0x01021997, "9p"},
};

static const char *network_name(const char *dir)
{
    struct statfs fs;

    if (statfs(dir, &fs) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++)
        if (networks[i].magic == (unsigned)fs.f_type)
            return networks[i].name;
    return NULL;
}

/* Checks that we own a file or folder and nobody else can write it. */
static groat_status check_owner(const char *what, const char *path,
                                const struct stat *st, unsigned want,
                                groat_error *error)
{
    if (st->st_uid != geteuid())
        return groat__fail(error, GROAT_IO,
                           "%s %s belongs to user %u, not to user %u; run: "
                           "chown %u %s, or set GROAT_CACHE_DIR to a folder "
                           "of your own",
                           what, path, (unsigned)st->st_uid,
                           (unsigned)geteuid(), (unsigned)geteuid(), path);
    if ((st->st_mode & 022) != 0)
        return groat__fail(error, GROAT_IO,
                           "%s %s has mode %04o: others may write it; run: "
                           "chmod %o %s",
                           what, path, (unsigned)st->st_mode & 07777, want,
                           path);
    return GROAT_OK;
}

static bool is_member(gid_t group)
{
    int count = getgroups(0, NULL);
    gid_t *groups = count > 0 ? calloc((size_t)count, sizeof(*groups)) : NULL;
    bool found = group == getegid();

    if (groups != NULL)
        count = getgroups(count, groups);
    for (int i = 0; groups != NULL && i < count && !found; i++)
        found = groups[i] == group;
    free(groups);
    return found;
}

/* Checks for mode 2770 and a group that this process is in. */
static groat_status check_share(const char *dir, const struct stat *st,
                                groat_error *error)
{
    unsigned mode = (unsigned)st->st_mode & 07777;

    if (!is_member(st->st_gid))
        return groat__fail(
            error, GROAT_IO,
            "folder %s belongs to group %u, of which this process is no "
            "member; run: chgrp GROUP %s, with a group of all its users",
            dir, (unsigned)st->st_gid, dir);
    if (mode != 02770)
        return groat__fail(error, GROAT_IO,
                           "folder %s has mode %04o; a group's store needs "
                           "2770; run: chmod 2770 %s",
                           dir, mode, dir);
    return GROAT_OK;
}

static groat_status check_folder(const char *real, groat__place_share *share,
                                 groat_error *error)
{
    groat_status status;
    struct stat st;

    if (lstat(real, &st) != 0 || !S_ISDIR(st.st_mode))
        return groat__fail(error, GROAT_IO,
                           "%s is not a folder; set GROAT_CACHE_DIR to one",
                           real);
    share->group = st.st_gid;
    status = share->on ? check_share(real, &st, error)
                       : check_owner("folder", real, &st, 0700, error);
    return status == GROAT_OK ? groat__place_path(real, NULL, share, error)
                              : status;
}

static groat_status make_folder(const char *dir,
                                const groat__place_share *share,
                                groat_error *error)
{
    groat_error inner = GROAT_ERROR_INIT;
    groat_status status;

    /* A person must choose the group and decide to trust it. */
    if (share->on)
        return groat__fail(error, GROAT_IO,
                           "folder %s of a group's store does not exist; run: "
                           "mkdir %s && chgrp GROUP %s && chmod 2770 %s",
                           dir, dir, dir, dir);
    status = groat__place_path_ahead(dir, share, error);
    if (status != GROAT_OK)
        return status;
    status = groat__fs_make_private_dir(dir, &inner);
    if (status != GROAT_OK)
        groat__fail(error, status,
                    "%s; set GROAT_CACHE_DIR to a folder that can be written",
                    inner.text);
    groat_error_clear(&inner);
    return status;
}

groat_status groat__place_prepare(const char *dir, groat__place_share *share,
                                  char **resolved, const char **network,
                                  groat_error *error)
{
    groat_status status = GROAT_OK;
    struct stat st;
    char *real;

    if (stat(dir, &st) != 0)
        status = make_folder(dir, share, error);
    if (status != GROAT_OK)
        return status;
    real = realpath(dir, NULL);
    if (real == NULL)
        return groat__fail(error, GROAT_IO, "cannot resolve folder %s: %s", dir,
                           strerror(errno));
    status = check_folder(real, share, error);
    if (status != GROAT_OK) {
        free(real);
        return status;
    }
    *network = network_name(real);
    *resolved = real;
    return GROAT_OK;
}

int groat__place_lock(const char *dir, int wait_ms)
{
    const struct timespec nap = {0, 5 * 1000 * 1000};
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return -1;
    for (int waited = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; waited += 5) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || waited >= wait_ms)
            break;
        (void)nanosleep(&nap, NULL);
    }
    return fd;
}

void groat__place_unlock(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}

static mode_t file_mode(const groat__place_share *share)
{
    return share->on ? 0660 : 0600;
}

bool groat__place_companion(const char *path, const char *suffix, ino_t *inode)
{
    groat__str name = {0};
    struct stat st;
    bool known;

    groat__str_addf(&name, "%s%s", path, suffix);
    known = !name.failed && lstat(name.data, &st) == 0;
    *inode = known ? st.st_ino : 0;
    known = known || (!name.failed && errno == ENOENT);
    groat__str_free(&name);
    return known;
}

bool groat__place_has_journal(const char *path)
{
    groat__str name = {0};
    struct stat st;
    bool found;

    groat__str_addf(&name, "%s-wal", path);
    found = name.failed || (lstat(name.data, &st) == 0 && st.st_size > 0);
    groat__str_free(&name);
    return found;
}

static void remove_companion(const char *path, const char *suffix)
{
    groat__str name = {0};

    groat__str_addf(&name, "%s%s", path, suffix);
    if (!name.failed)
        (void)unlink(name.data);
    groat__str_free(&name);
}

/* Makes the file; no error when another process was first.  Companions found
 * beside it belong to a file that was removed: the -shm, if a process still has
 * that file open, describes another -wal. */
static groat_status make_file(const char *path, const groat__place_share *share,
                              groat_error *error)
{
    mode_t mode = file_mode(share);
    groat_status status = GROAT_OK;
    int fd =
        open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

    if (fd < 0 && errno == EEXIST)
        return GROAT_OK;
    if (fd < 0)
        return groat__fail(error, GROAT_IO,
                           "cannot make %s: %s; make its folder writable or "
                           "set GROAT_CACHE_DIR to one that is",
                           path, strerror(errno));
    /* SQLite gives -wal and -shm the mode of this file, whatever the umask;
     * their group is the folder's. */
    if (fchmod(fd, mode) != 0)
        status = groat__fail(error, GROAT_IO, "cannot chmod %o %s: %s",
                             (unsigned)mode, path, strerror(errno));
    (void)close(fd);
    remove_companion(path, "-wal");
    remove_companion(path, "-shm");
    return status;
}

/* Checks that a file is 0660 and of the folder's group.  Its owner corrects a
 * file that was made before the folder was shared. */
static groat_status check_shared_file(const char *path, const struct stat *st,
                                      const groat__place_share *share,
                                      groat_error *error)
{
    bool mine = st->st_uid == geteuid();

    if (st->st_gid != share->group &&
        (!mine || chown(path, (uid_t)-1, share->group) != 0))
        return groat__fail(error, GROAT_IO,
                           "file %s belongs to group %u, its folder to group "
                           "%u; run: chgrp %u %s",
                           path, (unsigned)st->st_gid, (unsigned)share->group,
                           (unsigned)share->group, path);
    if ((st->st_mode & 0777) != 0660 && (!mine || chmod(path, 0660) != 0))
        return groat__fail(error, GROAT_IO,
                           "file %s has mode %04o; a group's store needs 0660; "
                           "run: chmod 660 %s",
                           path, (unsigned)st->st_mode & 07777, path);
    return GROAT_OK;
}

static groat_status check_file(const char *path, const struct stat *st,
                               const groat__place_share *share,
                               groat_error *error)
{
    groat_status status;

    if (!S_ISREG(st->st_mode))
        return groat__fail(error, GROAT_IO,
                           "%s is %s, not a regular file; remove it", path,
                           S_ISLNK(st->st_mode)   ? "a symbolic link"
                           : S_ISDIR(st->st_mode) ? "a folder"
                                                  : "a special file");
    if (share->on)
        return check_shared_file(path, st, share, error);
    status = check_owner("file", path, st, 0600, error);
    if (status != GROAT_OK)
        return status;
    /* A copy made under a usual umask is readable by others: harmless so far,
     * so it is corrected instead of refused. */
    if ((st->st_mode & 077) != 0 && chmod(path, st->st_mode & 0700) != 0)
        return groat__fail(error, GROAT_IO, "cannot chmod 600 %s: %s", path,
                           strerror(errno));
    return GROAT_OK;
}

/* Checks a -wal or -shm.  SQLite makes it with the mode that the file has then:
 * one made beside a read-only file would keep the file from ever being written.
 * In a shared folder, one that only its owner can open would lock the others
 * out. */
static groat_status check_companion(const char *path, const struct stat *file,
                                    const groat__place_share *share,
                                    groat_error *error)
{
    struct stat st;

    if (lstat(path, &st) != 0)
        return GROAT_OK;
    if (share->on)
        return check_file(path, &st, share, error);
    if ((file->st_mode & 0600) == 0600 && S_ISREG(st.st_mode) &&
        st.st_uid == geteuid() && (st.st_mode & 0777) != 0600)
        (void)chmod(path, 0600);
    return GROAT_OK;
}

static groat_status check_companions(const char *path, const struct stat *file,
                                     const groat__place_share *share,
                                     groat_error *error)
{
    static const char *const suffixes[] = {"-wal", "-shm"};
    groat_status status = GROAT_OK;
    ino_t wal;

    /* SQLite makes the -wal first and removes it last: a -shm alone is left
     * over from a -wal that another program removed. */
    if (groat__place_companion(path, "-wal", &wal) && wal == 0)
        remove_companion(path, "-shm");
    for (size_t i = 0; i < 2 && status == GROAT_OK; i++) {
        groat__str name = {0};

        groat__str_addf(&name, "%s%s", path, suffixes[i]);
        if (!name.failed)
            status = check_companion(name.data, file, share, error);
        groat__str_free(&name);
    }
    return status;
}

bool groat__place_is_good(const char *path, const groat__place_share *share,
                          struct stat *st)
{
    return lstat(path, st) == 0 &&
           check_file(path, st, share, NULL) == GROAT_OK;
}

groat_status groat__place_file(const char *path,
                               const groat__place_share *share, dev_t *device,
                               ino_t *inode, groat_error *error)
{
    groat_status status = GROAT_OK;
    struct stat st;

    if (lstat(path, &st) != 0 && errno == ENOENT)
        status = make_file(path, share, error);
    if (status != GROAT_OK)
        return status;
    if (lstat(path, &st) != 0)
        return groat__fail(error, GROAT_IO, "cannot look at %s: %s", path,
                           strerror(errno));
    status = check_file(path, &st, share, error);
    if (status == GROAT_OK)
        status = check_companions(path, &st, share, error);
    if (status != GROAT_OK)
        return status;
    *device = st.st_dev;
    *inode = st.st_ino;
    return GROAT_OK;
}

bool groat__place_moved(const char *path, dev_t device, ino_t inode)
{
    struct stat st;

    return lstat(path, &st) != 0 || st.st_dev != device || st.st_ino != inode;
}

bool groat__place_is_open(dev_t device, ino_t inode)
{
    DIR *open_files = opendir("/proc/self/fd");
    bool found = false;
    struct dirent *item;
    struct stat st;

    if (open_files == NULL)
        return true;
    while (!found && (item = readdir(open_files)) != NULL)
        found = fstatat(dirfd(open_files), item->d_name, &st, 0) == 0 &&
                st.st_dev == device && st.st_ino == inode;
    (void)closedir(open_files);
    return found;
}

/* Writes the first free name to *name; false after too many tries. */
static bool fresh_name(const char *path, groat__str *name)
{
    time_t now = time(NULL);
    struct stat st;
    char utc[32];
    struct tm tm;

    if (gmtime_r(&now, &tm) == NULL ||
        strftime(utc, sizeof(utc), "%Y%m%dT%H%M%SZ", &tm) == 0)
        return false;
    for (int i = 0; i < 1000; i++) {
        groat__str_clear(name);
        groat__str_addf(name, "%s" GROAT__STORE_ASIDE "%s-%ld", path, utc,
                        (long)getpid());
        if (i > 0)
            groat__str_addf(name, ".%d", i);
        if (name->failed)
            return false;
        if (lstat(name->data, &st) != 0)
            return errno == ENOENT;
    }
    return false;
}

/* Companions may be absent: their rename is allowed to fail. */
static void rename_companion(const char *path, const char *aside,
                             const char *suffix)
{
    groat__str from = {0};
    groat__str to = {0};

    groat__str_addf(&from, "%s%s", path, suffix);
    groat__str_addf(&to, "%s%s", aside, suffix);
    if (!from.failed && !to.failed)
        (void)rename(from.data, to.data);
    groat__str_free(&from);
    groat__str_free(&to);
}

groat_status groat__place_set_aside(const char *dir, const char *path,
                                    char **aside, groat_error *error)
{
    groat_status status = GROAT_OK;
    groat__str name = {0};

    groat__place_sweep(dir);
    if (!fresh_name(path, &name)) {
        status = groat__fail(error, GROAT_IO,
                             "no free name to set %s aside; remove it", path);
        goto free_name;
    }
    /* The file goes first: a crash in between leaves a -wal without a file,
     * which SQLite drops. */
    if (rename(path, name.data) != 0) {
        status = groat__fail(error, GROAT_IO,
                             "cannot set the damaged %s aside: %s; remove it",
                             path, strerror(errno));
        goto free_name;
    }
    rename_companion(path, name.data, "-wal");
    rename_companion(path, name.data, "-shm");
    *aside = groat__str_take(&name);
    return GROAT_OK;
free_name:
    groat__str_free(&name);
    return status;
}

void groat__place_sweep(const char *dir)
{
    static const char prefix[] = GROAT__STORE_FILE GROAT__STORE_ASIDE;
    DIR *folder = opendir(dir);
    struct dirent *item;

    if (folder == NULL)
        return;
    while ((item = readdir(folder)) != NULL)
        if (strncmp(item->d_name, prefix, sizeof(prefix) - 1) == 0)
            (void)unlinkat(dirfd(folder), item->d_name, 0);
    (void)closedir(folder);
}

bool groat__place_writable(const char *path)
{
    return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

bool groat__place_has_room(const char *dir)
{
    struct statfs fs;

    return statfs(dir, &fs) == 0 &&
           (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize >= (uint64_t)16 << 20;
}

uint64_t groat__place_bytes(const char *path)
{
    static const char *const suffixes[] = {"", "-wal"};
    uint64_t sum = 0;

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        groat__str name = {0};
        struct stat st;

        groat__str_addf(&name, "%s%s", path, suffixes[i]);
        if (!name.failed && lstat(name.data, &st) == 0)
            sum += (uint64_t)st.st_size;
        groat__str_free(&name);
    }
    return sum;
}
