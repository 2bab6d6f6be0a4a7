/* SPDX-License-Identifier: Apache-2.0
 *
 * cxx.c is the compiler of cpu targets: the system's C++ compiler, started
 * with an argument vector (never a shell) and the environment of groat_open.
 * The source, the log and the binary are in unnamed files, so that a process
 * that is killed leaves none behind; child.c runs it.  cpu.c runs the binaries.
 * Invariants: the options that identify names are those that compile uses; both
 * read options_of().  A binary is accepted only if it is whole, even when the
 * exit code is 0, and if the compiler read nothing but the source.  The state
 * is read-only after open, so it needs no lock.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/child.h"
#include "backend/elf.h"
#include "backend/shared.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/hash.h"

enum { OPTIONS_MAX = 40, SECONDS = 120, SECONDS_MAX = 86400 };

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
    bool zero_locals;
} cxx;

/* The first number of a version, "c++ (Debian ...) 12.2.0" or "Debian clang
 * version 14.0.6"; 0 if there is none. */
static long major_of(const cxx *c)
{
    const char *lead = c->gcc ? ") " : "version ";
    const char *number = strstr(c->version, lead);

    return number == NULL ? 0 : strtol(number + strlen(lead), NULL, 10);
}

/* Puts what a local variable holds that nobody set: the same value each time,
 * so that what it spoils is noticed.  gcc 12 and clang can do that.  With zeros
 * a kernel runs for the second time, and does not print again.  Returns how
 * many options that are. */
static size_t add_locals(const cxx *c, const char **options)
{
    long major = major_of(c);
    size_t count = 0;

    if (c->zero_locals)
        options[count++] = "-DGROAT_CPU_SILENT=1";
    if (c->gcc && major < 12)
        return count;
    options[count++] = c->zero_locals ? "-ftrivial-auto-var-init=zero"
                                      : "-ftrivial-auto-var-init=pattern";
    if (!c->gcc && c->zero_locals && major < 16)
        options[count++] = "-enable-trivial-auto-var-init-zero-knowing-it-"
                           "will-be-removed-from-clang";
    return count;
}

/* Puts what one of the compilers alone is told; returns how many that are. */
static size_t add_own(const cxx *c, const char **options)
{
    /* A library with GNU unique symbols is never unloaded.  The error of unset
     * locals would include those that may be unset, of which gcc tells less,
     * and makes up a value, when it has looked for equal ones (FRE).  A large
     * array may not reach over the guard below a thread's stack. */
    static const char *const of_gcc[] = {
        "-fno-gnu-unique", "-Wno-error=maybe-uninitialized", "-fno-tree-fre",
        "-fstack-clash-protection"};
    /* clang removes loops without an end; the others as above. */
    static const char *const of_clang[] = {
        "-fno-finite-loops", "-Wno-error=sometimes-uninitialized",
        "-Wno-unused-const-variable", "-fstack-clash-protection"};

    memcpy(options, c->gcc ? of_gcc : of_clang, sizeof(of_gcc));
    return sizeof(of_gcc) / sizeof(of_gcc[0]);
}

/* Puts what makes the compiler report accesses through pointers. */
static size_t add_pointers(const cxx *c, const char **options)
{
    /* Copies have to be calls, which common/vendor_cpu.h defines.  addr2line
     * would name an inlined call by a local symbol around it. */
    static const char *const all[] = {
        "-fsanitize=thread,alignment", "-fno-builtin-memcpy",
        "-fno-builtin-memmove", "-fno-builtin-memset", "-Wl,-x"};
    size_t count = sizeof(all) / sizeof(all[0]);

    memcpy(options, all, sizeof(all));
    if (!c->gcc)
        options[count++] = "-mllvm";
    options[count++] = c->gcc ? "--param=tsan-distinguish-volatile=1"
                              : "-tsan-distinguish-volatile=1";
    return count;
}

static size_t options_of(const cxx *c, const char *options[OPTIONS_MAX])
{
    /* The judge is told of array indices out of bounds (common/vendor_cpu.h),
     * so the sanitizer's run-time library is left out.  The program has the
     * C library, whose symbols would double the time of the link. */
    static const char *const plain[] = {"-Og",
                                        "-g1",
                                        "-fsanitize=bounds",
                                        "-nostartfiles",
                                        "-nodefaultlibs",
                                        "-Wl,--no-as-needed",
                                        "-lm",
                                        "-lgcc_s"};
    /* clang instruments comparisons only along with something else. */
    const char *comparisons =
        c->gcc ? "-fsanitize-coverage=trace-cmp"
               : "-fsanitize-coverage=func,trace-pc,trace-cmp";
    static const char *const sanitize[] = {
        "-O1", "-g1", "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"};
    /* Reading a local that is certainly unset is an error.  Code of the PLT
     * would belong to no line where a signal interrupts it.  The kernel's own
     * functions come before the process's of the same name. */
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
                                         "-fno-plt",
                                         "-nostdinc",
                                         "-pipe",
                                         "-Wl,-Bsymbolic",
                                         "-Wl,--build-id=sha1"};
    size_t count = 0;

    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
        options[count++] = common[i];
    count += add_own(c, options + count);
    count += add_locals(c, options + count);
    if (c->pointers)
        count += add_pointers(c, options + count);
    for (size_t i = 0; !c->sanitize && i < sizeof(plain) / sizeof(plain[0]);
         i++)
        options[count++] = plain[i];
    /* Earlier versions of gcc would instrument the callbacks themselves. */
    if (!c->sanitize && (!c->gcc || major_of(c) >= 12))
        options[count++] = comparisons;
    for (size_t i = 0; c->sanitize && i < 5; i++)
        options[count++] = sanitize[i];
    /* A list of functions to leave alone would be no part of the key. */
    if (c->sanitize && !c->gcc)
        options[count++] = "-fno-sanitize-ignorelist";
    return count;
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

static int run(const cxx *c, const char *const *argv, const files *f)
{
    const int kept[] = {f->binary, f->list};
    const groat__child child = {.argv = argv,
                                .environment = c->environment,
                                .seconds = c->seconds,
                                .input = f->source,
                                .output = f->log,
                                .errors = f->log,
                                .kept = kept,
                                .kept_count = 2,
                                .report = f->binary};

    return groat__child_run(&child);
}

/* The error of a run that is GROAT__CHILD_NOT_STARTED plus errno. */
static groat_status fail_start(const cxx *c, groat_status status, int code,
                               groat_error *error)
{
    int reason = code - GROAT__CHILD_NOT_STARTED;

    if (reason == EAGAIN || reason == ENOMEM || reason == EMFILE ||
        reason == ENFILE)
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

/* Reads all of a file of groat__memory_file(); *text is malloc'd. */
static groat_status read_back(int fd, size_t most, char **text, size_t *bytes,
                              groat_error *error)
{
    char path[32];
    groat_status status;

    groat__memory_name(fd, path);
    status = groat__fs_read(path, most, text, bytes, error);
    /* A file in memory is there: what lacks is a descriptor. */
    if (status == GROAT_IO && error != NULL)
        error->status = GROAT_NO_MEMORY;
    return status == GROAT_IO ? GROAT_NO_MEMORY : status;
}

/* Keeps the beginning of a text that is too long: an author needs the first
 * errors.  The line that says so has the word by which collect() knows them. */
static void shorten(int fd)
{
    char note[128];
    struct stat st;
    int len;

    if (fstat(fd, &st) != 0 || (size_t)st.st_size <= LOG_BYTES_MAX)
        return;
    len = snprintf(note, sizeof(note),
                   "\n(%lld more bytes of the compiler, with errors or "
                   "without, are not kept)\n",
                   (long long)st.st_size - (long long)LOG_BYTES_MAX);
    if (ftruncate(fd, (off_t)LOG_BYTES_MAX) == 0)
        (void)pwrite(fd, note, (size_t)len, (off_t)LOG_BYTES_MAX);
}

/* Reads the compiler's output text, without times; NULL, with the reason, if
 * it cannot be read. */
static char *read_words(int fd, groat_error *error)
{
    char *text = NULL;
    size_t bytes = 0;

    shorten(fd);
    (void)read_back(fd, 2 * LOG_BYTES_MAX, &text, &bytes, error);
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
                "cannot make a file in memory for the compiler: %s",
                strerror(errno));
    close_files(f);
    return GROAT_NO_MEMORY;
}

/* ---- open and identify -------------------------------------------------- */

static groat_status ask_version(cxx *c, groat_error *error)
{
    const char *argv[] = {c->path, "--version", NULL};
    groat_error inner = GROAT_ERROR_INIT;
    files f;
    int code;

    if (open_files("", &f, error) != GROAT_OK)
        return GROAT_NO_MEMORY;
    code = run(c, argv, &f);
    c->version = read_words(f.log, &inner);
    close_files(&f);
    if (code >= GROAT__CHILD_NOT_STARTED)
        return fail_start(c, GROAT_NO_DEVICE, code, error);
    if (code == GROAT__CHILD_LATE)
        return fail_late(c, GROAT_NO_DEVICE, error);
    /* Such as by the kernel for want of memory: the next one may live. */
    if (code < 0)
        return groat__fail(error, GROAT_NO_MEMORY,
                           "%s --version was ended by signal %d", c->path,
                           -code);
    if (code != 0 && code != GROAT__CHILD_NOT_TOLD)
        return groat__fail(error, GROAT_NO_DEVICE,
                           "%s --version does not run (exit %d)", c->path,
                           code);
    if (c->version == NULL) {
        groat__fail(error, GROAT_NO_MEMORY,
                    "the version of %s is not known: %s", c->path, inner.text);
        groat_error_clear(&inner);
        return GROAT_NO_MEMORY;
    }
    c->gcc = strstr(c->version, "clang") == NULL;
    c->version[strcspn(c->version, "\n")] = '\0';
    if (*c->version == '\0')
        return groat__fail(error, GROAT_NO_DEVICE,
                           "%s --version prints no version, which is part of "
                           "every key",
                           c->path);
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
            error,
            status == GROAT_NO_MEMORY || inner.vendor_code == EMFILE ||
                    inner.vendor_code == ENFILE
                ? GROAT_NO_MEMORY
                : GROAT_NO_DEVICE,
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
    c->zero_locals = env->zero_locals;
    c->pointers = env->pointers;
    if (env->cxx != NULL)
        status = groat__child_find(env->path, env->cxx, &c->path, error);
    for (size_t i = 0;
         env->cxx == NULL && c->path == NULL && i < 3 && status == GROAT_OK;
         i++)
        status = groat__child_find(env->path, names[i], &c->path, error);
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
                                 const char *log, groat_error *error)
{
    if (code > 0 && log != NULL &&
        strstr(log, "No space left on device") != NULL)
        return groat__fail(error, GROAT_NO_MEMORY,
                           "%s found no space for its temporary files; TMPDIR "
                           "names their folder",
                           c->path);
    if (code == GROAT__CHILD_LATE)
        return fail_late(c, GROAT_COMPILE_FAILED, error);
    if (code < 0)
        return groat__fail(error, GROAT_COMPILE_FAILED,
                           "%s was ended by signal %d", c->path, -code);
    if (code >= GROAT__CHILD_NOT_STARTED)
        return fail_start(c, GROAT_COMPILE_FAILED, code, error);
    if (code == 0)
        return groat__fail(error, GROAT_COMPILE_FAILED,
                           "%s reported success, but its output of %zu bytes "
                           "is not a complete library with a build id",
                           c->path, bytes);
    if (code == GROAT__CHILD_NOT_TOLD)
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

/* Code that the loader runs is no kernel's, and nothing would watch it. */
static groat_status check_initializers(const cxx *c, const void *data,
                                       size_t bytes, groat_error *error)
{
    /* __tsan_init() is called in code that reports its accesses. */
    size_t own = c->pointers ? 1 : 0;

    if (c->sanitize || groat__elf_initializers(data, bytes) <= own)
        return GROAT_OK;
    return groat__fail(error, GROAT_COMPILE_FAILED,
                       "a variable outside of functions has an initial value "
                       "that is computed when the code is loaded, or a "
                       "constructor, which no GPU runs; give it a constant, or "
                       "set it in the kernel");
}

/* A function of a file of CUDA C++ is one of its own namespace: if it has no
 * body, nobody has. */
static groat_status check_bodies(const cxx *c, const char *log,
                                 groat_error *error)
{
    const char *words = c->gcc ? "used but never defined"
                               : "has internal linkage but is not defined";

    if (!c->pointers || log == NULL || strstr(log, words) == NULL)
        return GROAT_OK;
    return groat__fail(error, GROAT_COMPILE_FAILED,
                       "a function that the kernel calls has no body: one of "
                       "the host, or of another file, is not judged");
}

/* Accepts a binary only if it is whole.  If the exit status is unknown, the log
 * must not mention an error either. */
static groat_status collect(const cxx *c, const files *f, int code,
                            groat__binary *out, groat_error *error)
{
    char *log = read_words(f->log, NULL);
    char *list = read_words(f->list, NULL);
    bool good = code == 0 || (code == GROAT__CHILD_NOT_TOLD && log != NULL &&
                              strstr(log, "error") == NULL);
    groat_status status = GROAT_OK;
    char *data = NULL;
    size_t bytes = 0;

    if (code == 0 || code == GROAT__CHILD_NOT_TOLD)
        status = read_back(f->binary, BINARY_BYTES_MAX, &data, &bytes, error);
    if (status == GROAT_OK && !(good && is_whole(data, bytes)))
        status = fail_compile(c, code, bytes, log, error);
    if (status == GROAT_OK)
        status = check_list(c, list, error);
    if (status == GROAT_OK)
        status = check_initializers(c, data, bytes, error);
    if (status == GROAT_OK)
        status = check_bodies(c, log, error);
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
    groat__memory_name(f.binary, binary);
    groat__memory_name(f.list, list);
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
    .predict = groat__predict_nothing,
    .compile = cxx_compile,
};
