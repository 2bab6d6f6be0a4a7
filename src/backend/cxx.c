/* SPDX-License-Identifier: Apache-2.0
 *
 * cxx.c is the compiler of cpu targets: the system's C++ compiler, started
 * with an argument vector (never a shell) and the environment of groat_open.
 * The source goes to it, and its words come back, in files without a name.
 * Linkers want a name to write to: that is in a private folder, which is
 * removed, and signals that would end the program wait until it is.  Running
 * what comes out is cpu.c's.  Invariant: the options that identify names are
 * those that compile uses; both read options_of().  The state is read-only
 * after open, so it needs no lock.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/shared.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/hash.h"

enum {
    OPTIONS_MAX = 24,
    /* What comes of a run, besides exit codes and signals. */
    NOT_TOLD = 1 << 16,
    NOT_STARTED = 1 << 17 /* and the reason, of errno */
};

#define BINARY_BYTES_MAX   ((size_t)256 << 20)
#define COMPILER_BYTES_MAX ((size_t)1 << 30)
#define LOG_BYTES_MAX      ((size_t)16 << 20)

typedef struct cxx {
    char *path;
    char *version; /* first line of --version */
    char build[33];
    const char *tmpdir;
    char *const *environment;
    bool sanitize;
} cxx;

static size_t options_of(const cxx *c, const char *options[OPTIONS_MAX])
{
    static const char *const plain[] = {"-O1"};
    static const char *const sanitize[] = {
        "-O1", "-g1", "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"};
    static const char *const common[] = {
        "-std=c++17",           "-fPIC",           "-shared",
        "-fvisibility=hidden",  "-fno-exceptions", "-fno-rtti",
        "-fno-strict-aliasing", "-Wall",           "-Wno-unknown-pragmas"};
    size_t count = 0;

    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
        options[count++] = common[i];
    if (!c->sanitize)
        options[count++] = plain[0];
    for (size_t i = 0; c->sanitize && i < 5; i++)
        options[count++] = sanitize[i];
    return count;
}

static char *find_in_path(const char *path, const char *name)
{
    if (strchr(name, '/') != NULL)
        return access(name, X_OK) == 0 ? strdup(name) : NULL;
    while (path != NULL && *path != '\0') {
        size_t len = strcspn(path, ":");
        groat__str full = {0};

        groat__str_addn(&full, path, len);
        groat__str_addf(&full, "/%s", name);
        if (len > 0 && !full.failed && access(full.data, X_OK) == 0)
            return groat__str_take(&full);
        groat__str_free(&full);
        path += len + (path[len] == ':');
    }
    return NULL;
}

/* ---- running it --------------------------------------------------------- */

/* The exit code, less than 0 for a signal, or NOT_TOLD: a program that ignores
 * SIGCHLD, or waits for every child, takes the answer away. */
static int wait_for(pid_t pid)
{
    int state = 0;
    pid_t got;

    do
        got = waitpid(pid, &state, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return NOT_TOLD;
    return WIFEXITED(state) ? WEXITSTATUS(state) : -WTERMSIG(state);
}

/* Runs argv, which reads files[0] and says what it has to say to files[1],
 * under this signal mask; as wait_for, or NOT_STARTED and more. */
static int run(const cxx *c, const char *const *argv, const int files[2],
               const sigset_t *mask)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t usual;
    pid_t pid = 0;
    int failed = posix_spawn_file_actions_init(&actions);

    if (failed != 0)
        return NOT_STARTED + failed;
    failed = posix_spawnattr_init(&attributes);
    if (failed != 0)
        goto destroy_actions;
    (void)sigemptyset(&usual);
    (void)sigaddset(&usual, SIGCHLD); /* compilers wait for children too */
    (void)posix_spawnattr_setsigdefault(&attributes, &usual);
    (void)posix_spawnattr_setsigmask(&attributes, mask);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK |
                                                    POSIX_SPAWN_SETSIGDEF);
    for (int fd = 0; fd < 3 && failed == 0; fd++)
        failed = posix_spawn_file_actions_adddup2(&actions, files[fd > 0], fd);
    if (failed == 0)
        failed = posix_spawn(&pid, argv[0], &actions, &attributes,
                             (char *const *)argv, c->environment);
    (void)posix_spawnattr_destroy(&attributes);
destroy_actions:
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed != 0 ? NOT_STARTED + failed : wait_for(pid);
}

/* For a run that is NOT_STARTED. */
static groat_status fail_start(const cxx *c, groat_status status, int code,
                               groat_error *error)
{
    int reason = code - NOT_STARTED;

    if (reason == EAGAIN || reason == ENOMEM)
        status = GROAT_NO_MEMORY;
    return groat__fail(error, status, "%s could not be started: %s", c->path,
                       strerror(reason));
}

/* What was written to a file of groat__memory_file(), malloc'd, or NULL. */
static char *read_back(int fd)
{
    char path[32];
    char *text = NULL;
    size_t bytes = 0;

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    (void)groat__fs_read(path, LOG_BYTES_MAX, &text, &bytes, NULL);
    return text;
}

/* Where a compiler reads and where it writes; false with an error. */
static bool open_files(const char *source, int files[2], groat_error *error)
{
    files[0] = groat__memory_file("groat-source", source, strlen(source));
    files[1] = files[0] < 0 ? -1 : groat__memory_file("groat-log", "", 0);
    if (files[1] >= 0)
        return true;
    groat__fail(error, GROAT_NO_MEMORY,
                "no memory for a source or the compiler's log: %s",
                strerror(errno));
    if (files[0] >= 0)
        (void)close(files[0]);
    return false;
}

static void close_files(const int files[2])
{
    (void)close(files[0]);
    (void)close(files[1]);
}

/* ---- open and identify -------------------------------------------------- */

static groat_status ask_version(cxx *c, groat_error *error)
{
    const char *argv[] = {c->path, "--version", NULL};
    sigset_t mask;
    int files[2];
    int code;

    if (!open_files("", files, error))
        return GROAT_NO_MEMORY;
    (void)pthread_sigmask(SIG_BLOCK, NULL, &mask);
    code = run(c, argv, files, &mask);
    c->version = read_back(files[1]);
    close_files(files);
    if (code >= NOT_STARTED)
        return fail_start(c, GROAT_NO_DEVICE, code, error);
    if (code != 0 && code != NOT_TOLD)
        return groat__fail(error, GROAT_NO_DEVICE, "%s --version does not run",
                           c->path);
    if (c->version == NULL)
        return groat__fail(error, GROAT_NO_MEMORY,
                           "no memory for the version of %s", c->path);
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
            "the compiler's file is part of a key: %s", inner.text);
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

static groat_status cxx_open(const groat__env *env, void **state,
                             groat_error *error)
{
    static const char *const names[] = {"c++", "g++", "clang++"};
    cxx *c = calloc(1, sizeof(*c));
    groat_status status;

    if (c == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory");
    c->tmpdir = env->tmpdir;
    c->environment = env->all;
    c->sanitize = env->sanitize;
    if (env->cxx != NULL)
        c->path = find_in_path(env->path, env->cxx);
    for (size_t i = 0; env->cxx == NULL && c->path == NULL && i < 3; i++)
        c->path = find_in_path(env->path, names[i]);
    if (c->path == NULL)
        status = groat__fail(error, GROAT_NO_DEVICE,
                             "cpu targets need a C++ compiler; tried %s%s",
                             env->cxx != NULL ? "GROAT_CXX="
                                              : "c++, g++, clang++ in PATH",
                             env->cxx != NULL ? env->cxx : "");
    else
        status = ask_version(c, error);
    if (status == GROAT_OK)
        status = name_build(c, error);
    if (status != GROAT_OK) {
        cxx_close(c);
        return status;
    }
    *state = c;
    return GROAT_OK;
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

/* Ctrl-C is for the compiler and for the program, and would leave nobody to
 * remove the folder.  Held up in this thread, such a signal reaches a program
 * without other threads when the folder is gone, and does what it would have
 * done. */
static void hold_signals(sigset_t *before)
{
    sigset_t held;

    (void)sigemptyset(&held);
    (void)sigaddset(&held, SIGINT);
    (void)sigaddset(&held, SIGTERM);
    (void)sigaddset(&held, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, &held, before);
}

/* A fresh 0700 folder; *out is malloc'd. */
static groat_status make_folder(const cxx *c, char **out, groat_error *error)
{
    const char *base = c->tmpdir != NULL ? c->tmpdir : "/tmp";
    groat__str name = {0};
    groat_status status;
    char *folder = NULL;

    groat__str_addf(&name, "%s/groat-XXXXXX", base);
    folder = groat__str_take(&name);
    if (folder == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a path");
    if (mkdtemp(folder) != NULL) {
        *out = folder;
        return GROAT_OK;
    }
    status = groat__fail(error, GROAT_NO_DEVICE,
                         "the C++ compiler needs a writable folder for "
                         "temporary files; %.300s (from TMPDIR) is not: %s",
                         base, strerror(errno));
    free(folder);
    return status;
}

/* With whatever a linker that died has left there. */
static void remove_folder(char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir != NULL)
        (void)closedir(dir);
    (void)rmdir(folder);
    free(folder);
}

/* Why there is no binary. */
static groat_status fail_compile(const cxx *c, int code, groat_error *error)
{
    if (code == 0)
        return groat__fail(error, GROAT_COMPILE_FAILED,
                           "%s said that it compiled, and left no file",
                           c->path);
    if (code < 0)
        return groat__fail(error, GROAT_COMPILE_FAILED,
                           "%s was ended by signal %d", c->path, -code);
    if (code >= NOT_STARTED)
        return fail_start(c, GROAT_COMPILE_FAILED, code, error);
    if (code == NOT_TOLD)
        return groat__fail(error, GROAT_COMPILE_FAILED,
                           "%s left no file; how it ended was not told, for "
                           "this program ignores SIGCHLD or waits for every "
                           "child",
                           c->path);
    return groat__fail(error, GROAT_COMPILE_FAILED,
                       "%s refused the source (exit %d)", c->path, code);
}

/* Takes log. */
static groat_status collect(const cxx *c, const char *file, char *log, int code,
                            groat__binary *out, groat_error *error)
{
    groat_status status = GROAT_IO;
    char *data = NULL;
    size_t bytes = 0;

    if (code == 0 || code == NOT_TOLD)
        status = groat__fs_read(file, BINARY_BYTES_MAX, &data, &bytes, error);
    if (status == GROAT_OK) {
        *out = (groat__binary){
            data, bytes, log, {-1, -1, -1, -1, (int64_t)bytes, 1024}};
        return GROAT_OK;
    }
    if (status != GROAT_NO_MEMORY)
        status = fail_compile(c, code, error);
    groat__error_take_log(error, log);
    return status;
}

static groat_status compile_into(const cxx *c, const char *folder,
                                 const char *source, const sigset_t *mask,
                                 groat__binary *out, groat_error *error)
{
    const char *argv[OPTIONS_MAX + 8];
    groat__str file = {0};
    groat_status status = GROAT_NO_MEMORY;
    size_t count;
    int files[2];
    int code;

    groat__str_addf(&file, "%s/kernel.so", folder);
    argv[0] = c->path;
    count = 1 + options_of(c, argv + 1);
    argv[count++] = "-o";
    argv[count++] = file.data;
    argv[count++] = "-x";
    argv[count++] = "c++";
    argv[count++] = "-";
    argv[count] = NULL;
    if (file.failed) {
        status = groat__fail(error, GROAT_NO_MEMORY, "no memory for a path");
    } else if (open_files(source, files, error)) {
        code = run(c, argv, files, mask);
        status = collect(c, file.data, read_back(files[1]), code, out, error);
        close_files(files);
    }
    groat__str_free(&file);
    return status;
}

static groat_status cxx_compile(void *state, const groat__arch *arch,
                                const char *source_name, const char *source,
                                const char *entry, groat__binary *out,
                                groat_error *error)
{
    const cxx *c = state;
    groat_status status;
    sigset_t before;
    char *folder = NULL;

    (void)arch;
    (void)source_name;
    (void)entry;
    hold_signals(&before);
    status = make_folder(c, &folder, error);
    if (status == GROAT_OK) {
        status = compile_into(c, folder, source, &before, out, error);
        remove_folder(folder);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

static void cxx_doctor(void *state, const groat__env *env, groat__str *out)
{
    groat_error error = GROAT_ERROR_INIT;
    void *own = NULL;
    const cxx *c = state;

    if (c == NULL && cxx_open(env, &own, &error) == GROAT_OK)
        c = own;
    if (c != NULL)
        groat__finding(out, "c++", true, "%s: %s, build %s", c->path,
                       c->version, c->build);
    else
        groat__finding(out, "c++", false, "%s", error.text);
    cxx_close(own);
    groat_error_clear(&error);
}

const groat__compiler groat__compiler_cxx = {
    "c++", cxx_open, cxx_close, cxx_identify, cxx_compile, cxx_doctor,
};
