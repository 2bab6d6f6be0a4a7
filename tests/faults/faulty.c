/* SPDX-License-Identifier: Apache-2.0
 *
 * faulty.c - libfaulty.so, loaded before the C library by LD_PRELOAD: makes the
 * n-th call on some files fail, kills the program there, or shifts its clock.
 * faulty.h lists the variables that control it.
 *
 * Calls by path match by the path, calls by descriptor by the path that it was
 * opened with.  A fault is counted in the report before it happens, so that a
 * test knows whether it happened at all.
 * Locking: none; counters are atomic.
 */
#undef _FILE_OFFSET_BITS
#include "faulty.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { DESCRIPTORS = 1024 };

typedef enum deed { DEED_FAIL, DEED_BEFORE, DEED_AFTER, DEED_AMID } deed;

static struct {
    faulty_report *report;
    const char *files;
    size_t files_len;
    bool wanted[FAULTY_KINDS];
    unsigned at; /* 0: no fault is wanted */
    bool on;
    deed what;
    int error;
    long long set; /* seconds by which the wall clock is shifted */
    unsigned look; /* from this look on; 0: not at all */
    bool skip;
    atomic_uint seen;
    atomic_bool ours[DESCRIPTORS];
} f;

#define REAL(name) ((__typeof__(&name))next_of(#name))

static void (*next_of(const char *name))(void)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    void (*function)(void);

    if (symbol == NULL)
        abort();
    memcpy(&function, &symbol, sizeof(function));
    return function;
}

static void refuse(const char *variable)
{
    (void)fprintf(stderr, "libfaulty: %s=%s is not understood\n", variable,
                  getenv(variable));
    abort();
}

/* ---- reading the variables ----------------------------------------------- */

static const char *text_of(const char *variable)
{
    const char *text = getenv(variable);

    return text == NULL ? "" : text;
}

static void read_calls(const char *list)
{
    for (size_t len; *list != '\0'; list += len + (list[len] == ',')) {
        bool known = false;

        len = strcspn(list, ",");
        for (int i = 0; i < FAULTY_KINDS; i++) {
            bool same = strlen(faulty_kinds[i]) == len &&
                        strncmp(faulty_kinds[i], list, len) == 0;

            if (same || (len == 3 && strncmp("any", list, len) == 0))
                f.wanted[i] = known = true;
        }
        if (!known)
            refuse("FAULTY_CALLS");
    }
}

static void read_deed(const char *name)
{
    static const char *const kills[] = {"kill-before", "kill-after",
                                        "kill-amid"};

    f.what = DEED_FAIL;
    for (int i = 0; i < 3; i++)
        if (strcmp(name, kills[i]) == 0)
            f.what = (deed)(DEED_BEFORE + i);
    for (int i = 1; f.what == DEED_FAIL && f.error == 0 && i < 134; i++) {
        const char *known = strerrorname_np(i);

        if (known != NULL && strcmp(known, name) == 0)
            f.error = i;
    }
    if (f.what == DEED_FAIL && f.error == 0)
        refuse("FAULTY_DO");
}

static void read_fault(const char *at)
{
    char *end;

    f.at = (unsigned)strtoul(at, &end, 10);
    f.on = *end == '+';
    if (f.at == 0 || end[f.on] != '\0')
        refuse("FAULTY_AT");
    read_calls(text_of("FAULTY_CALLS"));
    read_deed(text_of("FAULTY_DO"));
}

static void read_clock(const char *set)
{
    char *end;

    f.set = strtoll(set, &end, 10);
    if (*end != '@')
        refuse("FAULTY_CLOCK");
    f.look = (unsigned)strtoul(end + 1, NULL, 10);
}

__attribute__((constructor)) static void begin(void)
{
    static const char *const variables[] = {
        "FAULTY_FILES", "FAULTY_CALLS", "FAULTY_AT",     "FAULTY_DO",
        "FAULTY_CLOCK", "FAULTY_NAPS",  "FAULTY_REPORT", "LD_PRELOAD"};
    const char *report = getenv("FAULTY_REPORT");
    int fd = report == NULL ? -1 : REAL(open)(report, O_RDWR | O_CLOEXEC);
    void *memory = fd < 0
                       ? MAP_FAILED
                       : REAL(mmap)(NULL, sizeof(faulty_report),
                                    PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (memory == MAP_FAILED)
        refuse("FAULTY_REPORT");
    (void)close(fd);
    f.report = memory;
    f.files = strdup(text_of("FAULTY_FILES"));
    f.files_len = strlen(f.files);
    f.skip = getenv("FAULTY_NAPS") != NULL;
    if (getenv("FAULTY_AT") != NULL)
        read_fault(getenv("FAULTY_AT"));
    if (getenv("FAULTY_CLOCK") != NULL)
        read_clock(getenv("FAULTY_CLOCK"));
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
        (void)unsetenv(variables[i]);
}

/* ---- whether a call is struck -------------------------------------------- */

static bool is_our_path(const char *path)
{
    return f.files_len > 0 && strncmp(path, f.files, f.files_len) == 0;
}

static bool is_ours(int fd)
{
    return fd >= 0 && fd < DESCRIPTORS && atomic_load(&f.ours[fd]);
}

/* A name relative to a folder that was not opened with open(). */
static bool is_ours_at(int folder, const char *path)
{
    char link[64];
    char full[2 * PATH_MAX];
    ssize_t len;

    if (folder == AT_FDCWD || *path == '/')
        return is_our_path(path);
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
    len = readlink(link, full, PATH_MAX);
    if (len < 0)
        return false;
    (void)snprintf(full + len, sizeof(full) - (size_t)len, "/%s", path);
    return is_our_path(full);
}

static void die(void)
{
    (void)kill(getpid(), SIGKILL);
    for (;;)
        (void)pause();
}

/* Tells whether this call is struck; a kill before the call happens here. */
static bool is_struck(faulty_kind kind, bool ours)
{
    unsigned n;

    if (!ours || f.report == NULL)
        return false;
    (void)atomic_fetch_add(&f.report->calls[kind], 1);
    if (f.at == 0 || !f.wanted[kind])
        return false;
    n = atomic_fetch_add(&f.seen, 1) + 1;
    if (n != f.at && (!f.on || n < f.at))
        return false;
    (void)atomic_fetch_add(&f.report->fired, 1);
    if (f.what == DEED_BEFORE || (f.what == DEED_AMID && kind != FAULTY_WRITE))
        die();
    return true;
}

/* Makes CALL; if it is struck it fails instead, or the process dies. */
#define STRIKE(kind, ours, failed, call)                                       \
    do {                                                                       \
        bool struck = is_struck(kind, ours);                                   \
                                                                               \
        if (struck && f.what == DEED_FAIL) {                                   \
            errno = f.error;                                                   \
            return failed;                                                     \
        }                                                                      \
        __typeof__(call) result = call;                                        \
        if (struck)                                                            \
            die();                                                             \
        return result;                                                         \
    } while (0)

/* ---- files ------------------------------------------------------------- */

static int note_open(int fd, bool ours)
{
    if (fd >= 0 && fd < DESCRIPTORS)
        atomic_store(&f.ours[fd], ours);
    return fd;
}

static faulty_kind kind_of(int flags)
{
    if ((flags & O_CREAT) != 0)
        return FAULTY_CREATE;
    return (flags & O_ACCMODE) == O_RDONLY ? FAULTY_OPEN : FAULTY_OPEN_RW;
}

static mode_t mode_of(int flags, va_list args)
{
    return (flags & O_CREAT) != 0 ? (mode_t)va_arg(args, unsigned) : 0;
}

/* Defines a function that opens a path, with or without a folder. */
#define OPENS(name, is_ours, parameters, ...)                                  \
    int name parameters                                                        \
    {                                                                          \
        bool ours = is_ours;                                                   \
        va_list args;                                                          \
        mode_t mode;                                                           \
                                                                               \
        va_start(args, flags);                                                 \
        mode = mode_of(flags, args);                                           \
        va_end(args);                                                          \
        STRIKE(kind_of(flags), ours, -1,                                       \
               note_open(REAL(name)(__VA_ARGS__, flags, mode), ours));         \
    }
#define OPEN(name)                                                             \
    OPENS(name, is_our_path(path), (const char *path, int flags, ...), path)
#define OPENAT(name)                                                           \
    OPENS(name, is_ours_at(folder, path),                                      \
          (int folder, const char *path, int flags, ...), folder, path)

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

int close(int fd)
{
    if (fd >= 0 && fd < DESCRIPTORS)
        atomic_store(&f.ours[fd], false);
    return REAL(close)(fd);
}

int mkdir(const char *path, mode_t mode)
{
    STRIKE(FAULTY_CREATE, is_our_path(path), -1, REAL(mkdir)(path, mode));
}

ssize_t read(int fd, void *data, size_t bytes)
{
    STRIKE(FAULTY_READ, is_ours(fd), -1, REAL(read)(fd, data, bytes));
}

ssize_t pread(int fd, void *data, size_t bytes, off_t at)
{
    STRIKE(FAULTY_READ, is_ours(fd), -1, REAL(pread)(fd, data, bytes, at));
}

ssize_t pread64(int fd, void *data, size_t bytes, off64_t at)
{
    STRIKE(FAULTY_READ, is_ours(fd), -1, REAL(pread64)(fd, data, bytes, at));
}

/* How many bytes of a write are written before a kill amid it. */
static size_t part(size_t bytes)
{
    bool last = f.what == DEED_AMID && f.wanted[FAULTY_WRITE] && f.at != 0 &&
                atomic_load(&f.seen) == f.at;

    return last ? bytes / 2 : bytes;
}

ssize_t write(int fd, const void *data, size_t bytes)
{
    STRIKE(FAULTY_WRITE, is_ours(fd), -1,
           REAL(write)(fd, data, is_ours(fd) ? part(bytes) : bytes));
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at)
{
    STRIKE(FAULTY_WRITE, is_ours(fd), -1,
           REAL(pwrite)(fd, data, is_ours(fd) ? part(bytes) : bytes, at));
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t at)
{
    STRIKE(FAULTY_WRITE, is_ours(fd), -1,
           REAL(pwrite64)(fd, data, is_ours(fd) ? part(bytes) : bytes, at));
}

int fsync(int fd)
{
    STRIKE(FAULTY_SYNC, is_ours(fd), -1, is_ours(fd) ? 0 : REAL(fsync)(fd));
}

int fdatasync(int fd)
{
    STRIKE(FAULTY_SYNC, is_ours(fd), -1, is_ours(fd) ? 0 : REAL(fdatasync)(fd));
}

int rename(const char *from, const char *to)
{
    STRIKE(FAULTY_RENAME, is_our_path(from) || is_our_path(to), -1,
           REAL(rename)(from, to));
}

int unlink(const char *path)
{
    STRIKE(FAULTY_UNLINK, is_our_path(path), -1, REAL(unlink)(path));
}

int unlinkat(int folder, const char *path, int flags)
{
    STRIKE(FAULTY_UNLINK, is_ours_at(folder, path), -1,
           REAL(unlinkat)(folder, path, flags));
}

int ftruncate(int fd, off_t bytes)
{
    STRIKE(FAULTY_TRUNCATE, is_ours(fd), -1, REAL(ftruncate)(fd, bytes));
}

int ftruncate64(int fd, off64_t bytes)
{
    STRIKE(FAULTY_TRUNCATE, is_ours(fd), -1, REAL(ftruncate64)(fd, bytes));
}

int fallocate(int fd, int mode, off_t at, off_t bytes)
{
    STRIKE(FAULTY_TRUNCATE, is_ours(fd), -1,
           REAL(fallocate)(fd, mode, at, bytes));
}

int fallocate64(int fd, int mode, off64_t at, off64_t bytes)
{
    STRIKE(FAULTY_TRUNCATE, is_ours(fd), -1,
           REAL(fallocate64)(fd, mode, at, bytes));
}

/* These return the error instead of setting errno. */
int posix_fallocate(int fd, off_t at, off_t bytes)
{
    STRIKE(FAULTY_TRUNCATE, is_ours(fd), f.error,
           REAL(posix_fallocate)(fd, at, bytes));
}

int posix_fallocate64(int fd, off64_t at, off64_t bytes)
{
    STRIKE(FAULTY_TRUNCATE, is_ours(fd), f.error,
           REAL(posix_fallocate64)(fd, at, bytes));
}

void *mmap(void *to, size_t bytes, int access, int flags, int fd, off_t at)
{
    STRIKE(FAULTY_MAP, is_ours(fd), MAP_FAILED,
           REAL(mmap)(to, bytes, access, flags, fd, at));
}

void *mmap64(void *to, size_t bytes, int access, int flags, int fd, off64_t at)
{
    STRIKE(FAULTY_MAP, is_ours(fd), MAP_FAILED,
           REAL(mmap64)(to, bytes, access, flags, fd, at));
}

/* Tells whether a call of fcntl takes a lock. */
static bool is_lock(int command, const void *arg)
{
    return (command == F_SETLK || command == F_SETLKW ||
            command == F_OFD_SETLK || command == F_OFD_SETLKW) &&
           ((const struct flock *)arg)->l_type != F_UNLCK;
}

#define FCNTL(name)                                                            \
    int name(int fd, int command, ...)                                         \
    {                                                                          \
        va_list args;                                                          \
        void *arg;                                                             \
                                                                               \
        va_start(args, command);                                               \
        arg = va_arg(args, void *);                                            \
        va_end(args);                                                          \
        STRIKE(FAULTY_LOCK, is_ours(fd) && is_lock(command, arg), -1,          \
               REAL(name)(fd, command, arg));                                  \
    }

FCNTL(fcntl)
FCNTL(fcntl64)

int flock(int fd, int how)
{
    STRIKE(FAULTY_LOCK, is_ours(fd) && (how & LOCK_UN) == 0, -1,
           REAL(flock)(fd, how));
}

#define STAT(name, type)                                                       \
    int name(const char *path, struct type *st)                                \
    {                                                                          \
        STRIKE(FAULTY_STAT, is_our_path(path), -1, REAL(name)(path, st));      \
    }

#define FSTAT(name, type)                                                      \
    int name(int fd, struct type *st)                                          \
    {                                                                          \
        STRIKE(FAULTY_STAT, is_ours(fd), -1, REAL(name)(fd, st));              \
    }

STAT(stat, stat)
STAT(stat64, stat64)
STAT(lstat, stat)
STAT(lstat64, stat64)
FSTAT(fstat, stat)
FSTAT(fstat64, stat64)

/* A read-only file system also denies write access to faccessat(). */
int faccessat(int folder, const char *path, int mode, int flags)
{
    if (f.report != NULL && f.error == EROFS && (mode & W_OK) != 0 &&
        is_ours_at(folder, path) && atomic_load(&f.report->fired) > 0) {
        errno = EROFS;
        return -1;
    }
    return REAL(faccessat)(folder, path, mode, flags);
}

/* ---- time -------------------------------------------------------------- */

/* Returns the shift for a look at the wall clock, and counts the look. */
static time_t set_by(void)
{
    if (f.report == NULL ||
        atomic_fetch_add(&f.report->looks, 1) + 1 < f.look || f.look == 0)
        return 0;
    (void)atomic_fetch_add(&f.report->moved, 1);
    return (time_t)f.set;
}

time_t time(time_t *out)
{
    time_t now = REAL(time)(NULL) + set_by();

    if (out != NULL)
        *out = now;
    return now;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    int result = REAL(gettimeofday)(out, zone);

    out->tv_sec += set_by();
    return result;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    int result = REAL(clock_gettime)(clock, out);
    unsigned long long naps;

    if (result != 0 || f.report == NULL)
        return result;
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        out->tv_sec += set_by();
    naps = atomic_load(&f.report->naps);
    if (clock == CLOCK_MONOTONIC && naps > 0) {
        out->tv_nsec += (long)(naps % 1000000) * 1000;
        out->tv_sec +=
            (time_t)(naps / 1000000) + (time_t)(out->tv_nsec / 1000000000);
        out->tv_nsec %= 1000000000;
    }
    return result;
}

static bool is_skipped(unsigned long long us)
{
    if (f.report == NULL || !f.skip)
        return false;
    (void)atomic_fetch_add(&f.report->naps, us);
    return true;
}

static unsigned long long us_of(const struct timespec *t)
{
    return (unsigned long long)t->tv_sec * 1000000 +
           (unsigned long long)t->tv_nsec / 1000;
}

int nanosleep(const struct timespec *nap, struct timespec *left)
{
    return is_skipped(us_of(nap)) ? 0 : REAL(nanosleep)(nap, left);
}

int usleep(useconds_t us)
{
    return is_skipped(us) ? 0 : REAL(usleep)(us);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *nap,
                    struct timespec *left)
{
    if (flags == 0 && is_skipped(us_of(nap)))
        return 0;
    return REAL(clock_nanosleep)(clock, flags, nap, left);
}
