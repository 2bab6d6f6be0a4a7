/* SPDX-License-Identifier: Apache-2.0
 *
 * sanitize.c - restarts the tool so that it can load kernels built with ASan.
 *
 * ASan's runtime must be loaded before all other libraries, so the tool asks
 * the C++ compiler for its path and runs itself again with it in LD_PRELOAD.
 * Owns LD_PRELOAD and GROAT_SANITIZED meanwhile.
 * Invariant: at most one restart; GROAT_SANITIZED marks it and holds the old
 * LD_PRELOAD, which is restored so that compilers started later run as usual.
 */
#include "cli/tool/cmd.h"
#include "cli/run/trial.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static const char mark[] = "GROAT_SANITIZED";

/* Replaces a linker script, "INPUT ( /usr/lib64/x.so.8 )", by its first path.
 */
static void follow_script(char *path)
{
    char head[1024];
    char found[PATH_MAX];
    size_t len = 0, got;
    FILE *file = fopen(path, "rb");
    const char *at;

    if (!file)
        return;
    got = fread(head, 1, sizeof(head) - 1, file);
    (void)fclose(file);
    head[got] = '\0';
    at = memcmp(head, "\177ELF", got < 4 ? got : 4) ? strstr(head, "INPUT")
                                                    : NULL;
    at = at ? strchr(at, '/') : NULL;
    if (!at)
        return;
    len = strcspn(at, " \t\n)");
    if (len < sizeof(found)) {
        memcpy(found, at, len);
        found[len] = '\0';
        if (!realpath(found, path))
            path[0] = '\0';
    }
}

/* Asks the compiler for the path of one of its files; false if it has none.
 * path has room for PATH_MAX. */
static bool ask(const char *cxx, const char *file, char *path)
{
    groat_error error = GROAT_ERROR_INIT;
    groat__str word = {0};
    char *argv[3] = {(char *)cxx, NULL, NULL};
    groat__spawn how = {.argv = argv, .max = PATH_MAX};
    char *answer = NULL;
    int code = 0;
    bool found = false;

    groat__str_addf(&word, "-print-file-name=%s", file);
    argv[1] = word.data;
    if (!word.failed &&
        groat__spawn_run(&how, &answer, &code, &error) == GROAT_OK &&
        code == 0) {
        answer[strcspn(answer, "\n")] = '\0';
        found = answer[0] == '/' && realpath(answer, path);
    }
    if (found) {
        follow_script(path);
        found = path[0] == '/';
    }
    free(answer);
    groat__str_free(&word);
    groat_error_clear(&error);
    return found;
}

/* Clang's names come first: GCC does not know them, but Clang may also find
 * GCC's libasan.so. */
static bool find_runtime(const char *cxx, char *path)
{
    struct utsname host;
    groat__str name = {0};
    bool found = false;

    if (uname(&host) == 0) {
        groat__str_addf(&name, "libclang_rt.asan-%s.so", host.machine);
        found = !name.failed && ask(cxx, name.data, path);
        groat__str_free(&name);
    }
    return found || ask(cxx, "libclang_rt.asan.so", path) ||
           ask(cxx, "libasan.so", path);
}

/* Asks the compiler that the library will use: the same names in the same
 * order.  *cxx is then the compiler asked, for messages. */
static bool find_any_runtime(const char **cxx, char *path)
{
    static const char *const names[] = {"c++", "g++", "clang++"};

    if (*cxx != NULL && **cxx != '\0')
        return find_runtime(*cxx, path);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        *cxx = names[i];
        if (find_runtime(*cxx, path))
            return true;
    }
    *cxx = "none of c++, g++ and clang++ in PATH";
    return false;
}

static int start_again(groat__cli *cli, const char *runtime)
{
    const char *before = getenv("LD_PRELOAD");
    groat__str preload = {0};
    bool set;

    groat__str_add(&preload, runtime);
    if (before && *before)
        groat__str_addf(&preload, ":%s", before);
    set = !preload.failed && setenv(mark, before ? before : "", 1) == 0 &&
          setenv("LD_PRELOAD", preload.data, 1) == 0 &&
          setenv("ASAN_OPTIONS", "detect_leaks=0", 0) == 0;
    groat__str_free(&preload);
    if (!set)
        return groat__cli_refuse(cli, GROAT_NO_MEMORY, "out of memory");
    (void)execv("/proc/self/exe", cli->argv);
    return groat__cli_refuse(cli, GROAT_IO, "cannot start again with %s: %s",
                             runtime, strerror(errno));
}

static void put_preload_back(const char *before)
{
    if (*before)
        (void)setenv("LD_PRELOAD", before, 1);
    else
        (void)unsetenv("LD_PRELOAD");
    (void)unsetenv(mark);
}

int groat__sanitize(groat__cli *cli)
{
    const char *cxx = getenv("GROAT_CXX");
    const char *before = getenv(mark);
    char path[PATH_MAX];

    if (dlsym(RTLD_DEFAULT, "__asan_init")) {
        if (before)
            put_preload_back(before);
        return GROAT__EXIT_DONE;
    }
    if (dlsym(RTLD_DEFAULT, "__tsan_init"))
        return groat__cli_refuse(cli, GROAT_NO_DEVICE,
                                 "--sanitize: this groat was built with "
                                 "ThreadSanitizer; ASan cannot run beside it");
    if (before)
        return groat__cli_refuse(cli, GROAT_NO_DEVICE,
                                 "--sanitize: the ASan runtime of LD_PRELOAD "
                                 "was not loaded");
    if (!find_any_runtime(&cxx, path))
        return groat__cli_refuse(cli, GROAT_NO_DEVICE,
                                 "--sanitize: no libasan.so and no "
                                 "libclang_rt.asan.so was found by asking %s; "
                                 "GROAT_CXX names another compiler",
                                 cxx);
    return start_again(cli, path);
}
