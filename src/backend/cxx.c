/* SPDX-License-Identifier: Apache-2.0
 *
 * cxx.c is the compiler of cpu targets: the system's C++ compiler, started
 * with an argument vector (never a shell) in a private temporary folder, which
 * it removes.  Running what comes out is cpu.c's.  Invariant: the options that
 * identify names are those that compile uses; both read options_of().  The
 * state is read-only after open, so it needs no lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/hash.h"

enum {
    OPTIONS_MAX = 24,
    DIR_BYTES = 480,
    PATH_BYTES = 512,
    NOT_STARTED = 1 << 16
};

#define BINARY_BYTES_MAX   ((size_t)256 << 20)
#define COMPILER_BYTES_MAX ((size_t)1 << 30)

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
        char full[PATH_BYTES];

        if (len > 0 &&
            snprintf(full, sizeof(full), "%.*s/%s", (int)len, path, name) <
                (int)sizeof(full) &&
            access(full, X_OK) == 0)
            return strdup(full);
        path += len + (path[len] == ':');
    }
    return NULL;
}

/* Runs argv with stdout and stderr into log_path; the exit code, less than 0
 * for a signal, or NOT_STARTED. */
static int run(const cxx *c, const char *const *argv, const char *log_path)
{
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    int result = NOT_STARTED;
    int state = 0;

    if (posix_spawn_file_actions_init(&actions) != 0)
        return NOT_STARTED;
    if (posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY,
                                         0) == 0 &&
        posix_spawn_file_actions_addopen(
            &actions, 1, log_path, O_WRONLY | O_CREAT | O_TRUNC, 0600) == 0 &&
        posix_spawn_file_actions_adddup2(&actions, 1, 2) == 0 &&
        posix_spawn(&pid, argv[0], &actions, NULL, (char *const *)argv,
                    c->environment) == 0) {
        while (waitpid(pid, &state, 0) < 0 && errno == EINTR)
            continue;
        result = WIFEXITED(state) ? WEXITSTATUS(state) : -WTERMSIG(state);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return result;
}

/* A fresh 0700 folder; false when there is none to be had. */
static bool make_work_dir(const cxx *c, char dir[DIR_BYTES], groat_error *error)
{
    const char *base = c->tmpdir != NULL && *c->tmpdir ? c->tmpdir : "/tmp";

    errno = ENAMETOOLONG;
    if (snprintf(dir, DIR_BYTES, "%s/groat-XXXXXX", base) < DIR_BYTES &&
        mkdtemp(dir) != NULL)
        return true;
    groat__fail(error, GROAT_NO_DEVICE,
                "the C++ compiler needs a writable folder for temporary files; "
                "%.300s (from TMPDIR) is not: %s",
                base, strerror(errno));
    return false;
}

/* dir is shorter than DIR_BYTES, names than the rest. */
static void name_file(char path[PATH_BYTES], const char *dir, const char *name)
{
    (void)snprintf(path, PATH_BYTES, "%.*s/%.24s", DIR_BYTES - 1, dir, name);
}

static void remove_work_dir(const char *dir)
{
    static const char *const names[] = {"kernel.cc", "kernel.so", "log"};
    char path[PATH_BYTES];

    for (size_t i = 0; i < 3; i++) {
        name_file(path, dir, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(dir);
}

static groat_status ask_version(cxx *c, groat_error *error)
{
    const char *argv[] = {c->path, "--version", NULL};
    char dir[DIR_BYTES];
    char log[PATH_BYTES];
    size_t bytes = 0;
    groat_status status = GROAT_OK;

    if (!make_work_dir(c, dir, error))
        return GROAT_NO_DEVICE;
    name_file(log, dir, "log");
    if (run(c, argv, log) != 0 ||
        groat__fs_read(log, 1 << 16, &c->version, &bytes, NULL) != GROAT_OK)
        status = groat__fail(error, GROAT_NO_DEVICE,
                             "%s --version does not run", c->path);
    else
        c->version[strcspn(c->version, "\n")] = '\0';
    remove_work_dir(dir);
    return status;
}

static groat_status name_build(cxx *c, groat_error *error)
{
    char *data = NULL;
    size_t bytes = 0;
    groat_status status =
        groat__fs_read(c->path, COMPILER_BYTES_MAX, &data, &bytes, error);

    if (status == GROAT_OK)
        groat__hex(c->build, groat__hash128(data, bytes).bytes, 16);
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
    if (env->cxx != NULL && *env->cxx != '\0')
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
    if (code == NOT_STARTED)
        return groat__fail(error, GROAT_COMPILE_FAILED,
                           "%s could not be started", c->path);
    return groat__fail(error, GROAT_COMPILE_FAILED,
                       "%s refused the source (exit %d)", c->path, code);
}

static groat_status collect(const cxx *c, const char *dir, int code,
                            groat__binary *out, groat_error *error)
{
    char path[PATH_BYTES];
    char *log = NULL;
    char *data = NULL;
    size_t bytes = 0;
    groat_status status;

    name_file(path, dir, "log");
    (void)groat__fs_read(path, (size_t)16 << 20, &log, &bytes, NULL);
    name_file(path, dir, "kernel.so");
    if (code == 0) {
        status = groat__fs_read(path, BINARY_BYTES_MAX, &data, &bytes, error);
        if (status == GROAT_OK) {
            *out = (groat__binary){
                data, bytes, log, {-1, -1, -1, -1, (int64_t)bytes, 1024}};
            return GROAT_OK;
        }
    }
    status = fail_compile(c, code, error);
    groat__error_take_log(error, log);
    return status;
}

static groat_status cxx_compile(void *state, const groat__arch *arch,
                                const char *source_name, const char *source,
                                const char *entry, groat__binary *out,
                                groat_error *error)
{
    const cxx *c = state;
    const char *argv[OPTIONS_MAX + 8];
    char dir[DIR_BYTES];
    char in[PATH_BYTES];
    char so[PATH_BYTES];
    char log[PATH_BYTES];
    groat_status status;
    size_t count;

    (void)arch;
    (void)source_name;
    (void)entry;
    if (!make_work_dir(c, dir, error))
        return GROAT_NO_DEVICE;
    name_file(in, dir, "kernel.cc");
    name_file(so, dir, "kernel.so");
    name_file(log, dir, "log");
    argv[0] = c->path;
    count = 1 + options_of(c, argv + 1);
    argv[count++] = "-o";
    argv[count++] = so;
    argv[count++] = in;
    argv[count] = NULL;
    status = groat__fs_write(in, source, strlen(source), 0600, error);
    if (status == GROAT_OK)
        status = collect(c, dir, run(c, argv, log), out, error);
    remove_work_dir(dir);
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
        groat__str_addf(out, "c++\t1\t%s: %s, build %s\n", c->path, c->version,
                        c->build);
    else
        groat__str_addf(out, "c++\t0\t%s\n", error.text);
    cxx_close(own);
    groat_error_clear(&error);
}

const groat__compiler groat__compiler_cxx = {
    "c++", cxx_open, cxx_close, cxx_identify, cxx_compile, cxx_doctor,
};
