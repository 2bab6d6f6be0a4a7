/* SPDX-License-Identifier: Apache-2.0
 *
 * cxx.c is the compiler of cpu targets: the system's C++ compiler, started
 * with an argument vector (never a shell) and the environment of groat_open.
 * The source, the log and the binary are in unnamed files, so that a process
 * that is killed leaves none behind.  The compiler ends with the thread that
 * waits for it, and when its time is over.  cpu.c runs the binaries.
 * Invariants: the options that identify names are those that compile uses; both
 * read options_of().  A binary is accepted only if it is whole, even when the
 * exit code is 0, and if the compiler read nothing but the source.  The state
 * is read-only after open, so it needs no lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/elf.h"
#include "backend/shared.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/hash.h"

enum {
    OPTIONS_MAX = 32,
    /* Results of a run besides exit codes and signals. */
    NOT_TOLD = 1 << 16,
    LATE,
    NOT_STARTED = 1 << 17, /* plus errno */
    WAIT_PIDFD = 3,        /* P_PIDFD, which older C libraries do not declare */
    SECONDS = 120,
    CPU_SLACK_S = 2,
    SECONDS_MAX = 86400
};

#define BINARY_BYTES_MAX   ((size_t)256 << 20)
#define COMPILER_BYTES_MAX ((size_t)1 << 30)
#define LOG_BYTES_MAX      ((size_t)16 << 20)

typedef struct cxx {
    char *path;
    char *version; /* first line of --version */
    char build[33];
    char *const *environment;
    unsigned seconds; /* time limit of a run */
    bool gcc;         /* else clang */
    bool sanitize;
    bool pointers;
} cxx;

static size_t options_of(const cxx *c, const char *options[OPTIONS_MAX])
{
    /* The judge is told of array indices out of bounds (common/vendor_cpu.h),
     * so the sanitizer's run-time library is left out. */
    static const char *const plain[] = {"-O1",
                                        "-g1",
                                        "-fsanitize=bounds",
                                        "-nodefaultlibs",
                                        "-Wl,--no-as-needed",
                                        "-lm",
                                        "-lgcc_s",
                                        "-lc"};
    static const char *const sanitize[] = {
        "-O1", "-g1", "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"};
    /* Copies have to be calls, which common/vendor_cpu.h defines. */
    static const char *const pointers[] = {
        "-fsanitize=thread,alignment", "-fno-builtin-memcpy",
        "-fno-builtin-memmove", "-fno-builtin-memset"};
    /* Reading a local that is certainly unset is an error. */
    static const char *const common[] = {"-std=c++17",
                                         "-fPIC",
                                         "-shared",
                                         "-fvisibility=hidden",
                                         "-fno-exceptions",
                                         "-fno-rtti",
                                         "-fno-strict-aliasing",
                                         "-Wall",
                                         "-Wno-unknown-pragmas",
                                         "-Werror=uninitialized",
                                         "-nostdinc",
                                         "-pipe",
                                         "-Wl,--build-id=sha1"};
    size_t count = 0;

    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
        options[count++] = common[i];
    /* A library with GNU unique symbols is never unloaded. */
    if (c->gcc)
        options[count++] = "-fno-gnu-unique";
    /* In both compilers that error would include locals that may be unset. */
    options[count++] = c->gcc ? "-Wno-error=maybe-uninitialized"
                              : "-Wno-error=sometimes-uninitialized";
    for (size_t i = 0; c->pointers && i < 4; i++)
        options[count++] = pointers[i];
    for (size_t i = 0; !c->sanitize && i < 8; i++)
        options[count++] = plain[i];
    for (size_t i = 0; c->sanitize && i < 5; i++)
        options[count++] = sanitize[i];
    return count;
}

/* Finds a program; leaves *out alone if there is none.  Errors: NO_MEMORY. */
static groat_status find_in_path(const char *path, const char *name, char **out,
                                 groat_error *error)
{
    groat__str full = {0};
    bool found = strchr(name, '/') != NULL && access(name, X_OK) == 0;

    if (found)
        groat__str_add(&full, name);
    while (!found && strchr(name, '/') == NULL && path != NULL &&
           *path != '\0' && !full.failed) {
        size_t len = strcspn(path, ":");

        groat__str_clear(&full);
        groat__str_addn(&full, path, len);
        groat__str_addf(&full, "/%s", name);
        found = len > 0 && !full.failed && access(full.data, X_OK) == 0;
        path += len + (path[len] == ':');
    }
    if (full.failed) {
        groat__str_free(&full);
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a path");
    }
    if (found)
        *out = groat__str_take(&full);
    groat__str_free(&full);
    return GROAT_OK;
}

/* ---- running it --------------------------------------------------------- */

/* The unnamed files of a run: the source, the compiler's output text, the
 * binary, and the list of other files that the compiler read. */
typedef struct files {
    int source;
    int log;
    int binary;
    int list;
} files;

/* Limits the CPU time of the compiler driver and of its children, which inherit
 * the limit: a driver that is killed leaves children that nothing waits for. */
static bool limit_cpu(const cxx *c)
{
    struct rlimit limit;
    rlim_t most = (rlim_t)c->seconds + CPU_SLACK_S;

    if (getrlimit(RLIMIT_CPU, &limit) != 0)
        return false;
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > most)
        limit.rlim_cur = most;
    return setrlimit(RLIMIT_CPU, &limit) == 0;
}

/* Runs in the child between vfork() and exec.  It shares the parent's memory,
 * so it only makes system calls, and resets signal handlers, which must not run
 * here.  The compiler ends with the thread that waits for it, even if that has
 * ended already (getppid).  Its folder is the root, as the line table names it.
 * On failure, errno is written to the file of the binary. */
static _Noreturn void become(const cxx *c, const char *const *argv,
                             const files *f, pid_t parent, const sigset_t *mask)
{
    struct sigaction action;
    int reason;

    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &action) == 0 &&
            (action.sa_handler != SIG_IGN || i == SIGCHLD || i == SIGTERM ||
             i == SIGXCPU)) {
            memset(&action, 0, sizeof(action));
            action.sa_handler = SIG_DFL;
            (void)sigaction(i, &action, NULL);
        }
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == parent &&
        limit_cpu(c) && chdir("/") == 0 && dup2(f->source, 0) >= 0 &&
        dup2(f->log, 1) >= 0 && dup2(f->log, 2) >= 0 &&
        fcntl(f->binary, F_SETFD, 0) == 0 && fcntl(f->list, F_SETFD, 0) == 0 &&
        sigprocmask(SIG_SETMASK, mask, NULL) == 0)
        (void)execve(argv[0], (char *const *)argv, c->environment);
    reason = errno;
    (void)pwrite(f->binary, &reason, sizeof(reason), 0);
    _exit(127);
}

/* Returns the child's process id, or less than 0. */
static pid_t start(const cxx *c, const char *const *argv, const files *f)
{
    pid_t parent = getpid();
    sigset_t before;
    sigset_t its;
    sigset_t all;
    pid_t pid;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    its = before;
    (void)sigdelset(&its, SIGTERM); /* sent when this thread ends */
    pid = vfork();
    if (pid == 0)
        become(c, argv, f, parent, &its);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid;
}

/* Waits until the process ends; false if the time is over first.  fd -1: does
 * not wait, there is no time limit. */
static bool ends_in_time(const cxx *c, int fd)
{
    uint64_t end = groat__now_ns() + (uint64_t)c->seconds * 1000000000;
    struct pollfd polled = {.fd = fd, .events = POLLIN};

    while (fd >= 0) {
        uint64_t now = groat__now_ns();

        if (now >= end)
            return false;
        if (poll(&polled, 1, (int)((end - now) / 1000000) + 1) > 0)
            break;
    }
    return true;
}

/* Kills all descendants of a stopped process.  As it is stopped, it starts no
 * more of them and reaps none, so no process id is reused. */
static void kill_children(pid_t pid)
{
    char path[64];
    FILE *list;
    int child;

    (void)snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", (long)pid,
                   (long)pid);
    list = fopen(path, "re");
    while (list != NULL && fscanf(list, "%d", &child) == 1) {
        (void)kill((pid_t)child, SIGSTOP);
        kill_children((pid_t)child);
        (void)kill((pid_t)child, SIGKILL);
    }
    if (list != NULL)
        (void)fclose(list);
}

/* Returns the exit code, less than 0 for a signal, LATE, or NOT_TOLD: the code
 * is lost if the program ignores SIGCHLD or waits for every child.  A pidfd
 * cannot mean another process that has reused the process id. */
static int wait_for(const cxx *c, pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    bool late = !ends_in_time(c, fd);
    siginfo_t told;
    int rc;

    if (late) {
        if (syscall(SYS_pidfd_send_signal, fd, SIGSTOP, NULL, 0) == 0)
            kill_children(pid);
        (void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
    }
    memset(&told, 0, sizeof(told));
    do
        rc = fd >= 0 ? waitid((idtype_t)WAIT_PIDFD, (id_t)fd, &told, WEXITED)
                     : waitid(P_PID, (id_t)pid, &told, WEXITED);
    while (rc != 0 && errno == EINTR);
    if (fd >= 0)
        (void)close(fd);
    if (late)
        return LATE;
    if (rc != 0)
        return NOT_TOLD;
    return told.si_code == CLD_EXITED ? told.si_status : -told.si_status;
}

/* Returns what wait_for() does, or NOT_STARTED plus errno. */
static int run(const cxx *c, const char *const *argv, const files *f)
{
    pid_t pid = start(c, argv, f);
    int reason = 0;
    struct stat st;
    int code;

    if (pid < 0)
        return NOT_STARTED + errno;
    code = wait_for(c, pid);
    /* Written by become(): no binary is that small. */
    if (fstat(f->binary, &st) == 0 && st.st_size == sizeof(reason) &&
        pread(f->binary, &reason, sizeof(reason), 0) == sizeof(reason))
        return NOT_STARTED + reason;
    return code;
}

/* The error of a run that is NOT_STARTED plus errno. */
static groat_status fail_start(const cxx *c, groat_status status, int code,
                               groat_error *error)
{
    int reason = code - NOT_STARTED;

    if (reason == EAGAIN || reason == ENOMEM)
        status = GROAT_NO_MEMORY;
    return groat__fail(error, status, "%s could not be started: %s", c->path,
                       strerror(reason));
}

static groat_status fail_late(const cxx *c, groat_status status,
                              groat_error *error)
{
    return groat__fail(error, status,
                       "%s did not finish within %u s and was stopped; "
                       "GROAT_CXX_TIMEOUT sets another limit",
                       c->path, c->seconds);
}

static void name_file(int fd, char path[32])
{
    (void)snprintf(path, 32, "/proc/self/fd/%d", fd);
}

/* Reads all of a file of groat__memory_file(); *text is malloc'd. */
static groat_status read_back(int fd, size_t most, char **text, size_t *bytes,
                              groat_error *error)
{
    char path[32];

    name_file(fd, path);
    return groat__fs_read(path, most, text, bytes, error);
}

/* Reads the compiler's output text, without times; NULL without memory. */
static char *read_words(int fd)
{
    char *text = NULL;
    size_t bytes = 0;

    (void)read_back(fd, LOG_BYTES_MAX, &text, &bytes, NULL);
    if (text != NULL)
        groat__drop_times(text);
    return text;
}

static void close_files(const files *f)
{
    const int all[] = {f->source, f->log, f->binary, f->list};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i] >= 0)
            (void)close(all[i]);
}

static groat_status open_files(const char *source, files *f, groat_error *error)
{
    f->source = groat__memory_file("groat-source", source, strlen(source));
    f->log = groat__memory_file("groat-log", "", 0);
    f->binary = groat__memory_file("groat-binary", "", 0);
    f->list = groat__memory_file("groat-list", "", 0);
    if (f->source >= 0 && f->log >= 0 && f->binary >= 0 && f->list >= 0)
        return GROAT_OK;
    groat__fail(error, GROAT_NO_MEMORY,
                "no memory for a source or the compiler's log: %s",
                strerror(errno));
    close_files(f);
    return GROAT_NO_MEMORY;
}

/* ---- open and identify -------------------------------------------------- */

static groat_status ask_version(cxx *c, groat_error *error)
{
    const char *argv[] = {c->path, "--version", NULL};
    files f;
    int code;

    if (open_files("", &f, error) != GROAT_OK)
        return GROAT_NO_MEMORY;
    code = run(c, argv, &f);
    c->version = read_words(f.log);
    close_files(&f);
    if (code >= NOT_STARTED)
        return fail_start(c, GROAT_NO_DEVICE, code, error);
    if (code == LATE)
        return fail_late(c, GROAT_NO_DEVICE, error);
    if (code != 0 && code != NOT_TOLD)
        return groat__fail(error, GROAT_NO_DEVICE, "%s --version does not run",
                           c->path);
    if (c->version == NULL)
        return groat__fail(error, GROAT_NO_MEMORY,
                           "no memory for the version of %s", c->path);
    c->gcc = strstr(c->version, "clang") == NULL;
    c->version[strcspn(c->version, "\n")] = '\0';
    return GROAT_OK;
}

static groat_status name_build(cxx *c, groat_error *error)
{
    groat_error inner = GROAT_ERROR_INIT;
    char *data = NULL;
    size_t bytes = 0;
    groat_status status =
        groat__fs_read(c->path, COMPILER_BYTES_MAX, &data, &bytes, &inner);

    if (status == GROAT_OK)
        groat__hex(c->build, groat__hash128(data, bytes).bytes, 16);
    else
        status = groat__fail(
            error, status == GROAT_NO_MEMORY ? status : GROAT_NO_DEVICE,
            "no build id of the compiler's file, which is part of every key: "
            "%s",
            inner.text);
    groat_error_clear(&inner);
    free(data);
    return status;
}

static void cxx_close(void *state)
{
    cxx *c = state;

    if (c == NULL)
        return;
    free(c->path);
    free(c->version);
    free(c);
}

/* An invalid number is a warning, not an error. */
static unsigned read_seconds(const groat__env *env)
{
    const char *text = env->cxx_timeout;
    char *end = NULL;
    unsigned long value;

    if (text == NULL)
        return SECONDS;
    value = strtoul(text, &end, 10);
    if (*text >= '0' && *text <= '9' && *end == '\0' && value >= 1 &&
        value <= SECONDS_MAX)
        return (unsigned)value;
    groat__log_line(&env->log, GROAT_LOG_WARNING,
                    "GROAT_CXX_TIMEOUT is '%.40s'; allowed: 1 to %d seconds; "
                    "the limit is %d seconds",
                    text, SECONDS_MAX, SECONDS);
    return SECONDS;
}

static groat_status cxx_search(const groat__env *env, void **state,
                               groat_error *error)
{
    static const char *const names[] = {"c++", "g++", "clang++"};
    cxx *c = calloc(1, sizeof(*c));
    groat_status status = GROAT_OK;

    *state = c;
    if (c == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory");
    c->environment = env->all;
    c->seconds = read_seconds(env);
    c->sanitize = env->sanitize;
    c->pointers = env->pointers;
    if (env->cxx != NULL)
        status = find_in_path(env->path, env->cxx, &c->path, error);
    for (size_t i = 0;
         env->cxx == NULL && c->path == NULL && i < 3 && status == GROAT_OK;
         i++)
        status = find_in_path(env->path, names[i], &c->path, error);
    if (status == GROAT_OK && c->path == NULL)
        status = groat__fail(error, GROAT_NO_DEVICE,
                             "cpu targets need a C++ compiler; tried %s%s",
                             env->cxx != NULL ? "GROAT_CXX="
                                              : "c++, g++, clang++ in PATH",
                             env->cxx != NULL ? env->cxx : "");
    if (status == GROAT_OK)
        status = ask_version(c, error);
    if (status == GROAT_OK)
        status = name_build(c, error);
    return status;
}

static groat_status cxx_identify(void *state, const groat__arch *arch,
                                 groat__str *who, groat_error *error)
{
    const cxx *c = state;
    const char *options[OPTIONS_MAX];
    size_t count = options_of(c, options);

    (void)arch;
    (void)error;
    groat__str_addf(who, "compiler c++ %s build %s\n", c->version, c->build);
    for (size_t i = 0; i < count; i++)
        groat__str_addf(who, "option %s\n", options[i]);
    return GROAT_OK;
}

/* ---- compile ------------------------------------------------------------ */

static bool is_whole(const void *data, size_t bytes)
{
    size_t id_bytes;

    return groat__elf_file_id(data, bytes, &id_bytes) != NULL;
}

/* Why there is no binary. */
static groat_status fail_compile(const cxx *c, int code, size_t bytes,
                                 groat_error *error)
{
    if (code == LATE)
        return fail_late(c, GROAT_COMPILE_FAILED, error);
    if (code < 0)
        return groat__fail(error, GROAT_COMPILE_FAILED,
                           "%s was ended by signal %d", c->path, -code);
    if (code >= NOT_STARTED)
        return fail_start(c, GROAT_COMPILE_FAILED, code, error);
    if (code == 0)
        return groat__fail(error, GROAT_COMPILE_FAILED,
                           "%s reported success, but its output of %zu bytes "
                           "is not a complete library with a build id",
                           c->path, bytes);
    if (code == NOT_TOLD)
        return groat__fail(error, GROAT_COMPILE_FAILED,
                           "the output of %s, %zu bytes, is not a complete "
                           "library; its exit status is unknown, since this "
                           "program ignores SIGCHLD or waits for every child",
                           c->path, bytes);
    return groat__fail(error, GROAT_COMPILE_FAILED,
                       "%s refused the source (exit %d)", c->path, code);
}

/* The list is a rule of make: files behind the colon were read, but the key
 * does not cover them. */
static groat_status check_list(const cxx *c, const char *list,
                               groat_error *error)
{
    size_t skipped;

    if (list == NULL)
        return groat__fail(error, GROAT_NO_MEMORY,
                           "no memory for the list of files that %s read",
                           c->path);
    list += strcspn(list, ":");
    skipped = strspn(list, ": \\\n");
    if (list[skipped] == '\0')
        return GROAT_OK;
    return groat__fail(error, GROAT_COMPILE_FAILED,
                       "%s read %.*s, which is no part of the key; a family "
                       "includes its own files, in double quotes",
                       c->path, (int)strcspn(list + skipped, " \n"),
                       list + skipped);
}

/* Accepts a binary only if it is whole.  If the exit status is unknown, the log
 * must not mention an error either. */
static groat_status collect(const cxx *c, const files *f, int code,
                            groat__binary *out, groat_error *error)
{
    char *log = read_words(f->log);
    char *list = read_words(f->list);
    bool good = code == 0 || (code == NOT_TOLD && log != NULL &&
                              strstr(log, "error") == NULL);
    groat_status status = GROAT_OK;
    char *data = NULL;
    size_t bytes = 0;

    if (code == 0 || code == NOT_TOLD)
        status = read_back(f->binary, BINARY_BYTES_MAX, &data, &bytes, error);
    if (status == GROAT_OK && !(good && is_whole(data, bytes)))
        status = fail_compile(c, code, bytes, error);
    if (status == GROAT_OK)
        status = check_list(c, list, error);
    free(list);
    if (status == GROAT_OK) {
        *out = (groat__binary){
            data, bytes, log, {-1, -1, -1, -1, (int64_t)bytes, 1024}};
        return GROAT_OK;
    }
    free(data);
    groat__error_take_log(error, log);
    return status;
}

static groat_status cxx_compile(void *state, const groat__arch *arch,
                                const char *source_name, const char *source,
                                const char *entry, groat__binary *out,
                                groat_error *error)
{
    const cxx *c = state;
    const char *argv[OPTIONS_MAX + 16];
    char binary[32];
    char list[32];
    groat_status status;
    size_t count;
    files f;

    (void)arch;
    (void)source_name;
    (void)entry;
    status = open_files(source, &f, error);
    if (status != GROAT_OK)
        return status;
    name_file(f.binary, binary);
    name_file(f.list, list);
    argv[0] = c->path;
    count = 1 + options_of(c, argv + 1);
    {
        const char *const files_of[] = {"-MD", "-MT",  "source", "-MF", list,
                                        "-o",  binary, "-x",     "c++", "-"};

        for (size_t i = 0; i < sizeof(files_of) / sizeof(files_of[0]); i++)
            argv[count++] = files_of[i];
    }
    argv[count] = NULL;
    status = collect(c, &f, run(c, argv, &f), out, error);
    close_files(&f);
    return status;
}

static void cxx_report(void *state, const groat__env *env,
                       const groat_error *failed, groat__str *out)
{
    const cxx *c = state;

    (void)env;
    if (failed == NULL)
        groat__finding(out, "c++", true, "%s: %s, build %s", c->path,
                       c->version, c->build);
    else
        groat__finding(out, "c++", false, "%s", failed->text);
}

const groat__compiler groat__compiler_cxx = {
    .name = "c++",
    .part = {cxx_search, cxx_close, cxx_report},
    .identify = cxx_identify,
    .foresee = groat__foresee_nothing,
    .compile = cxx_compile,
};
