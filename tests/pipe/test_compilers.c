/* SPDX-License-Identifier: Apache-2.0
 *
 * test_compilers.c: failures of the C++ compiler of cpu targets.  It is
 * missing, it dies or writes nothing, it refuses a source or writes a file that
 * no loader takes: each is an error that names it, and none leaves a file
 * behind.
 */
#include "rig.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static const char *const target = "cpu:gfx950";

static rig fix;

static void setup(void)
{
    rig_make(&fix);
    rig_write_adder(&fix);
}

static void teardown(void)
{
    rig_drop(&fix);
}

/* Makes this script the compiler of the next context; the path is static. */
static const char *use_script(const char *lines)
{
    static char path[256];

    (void)snprintf(path, sizeof(path), "%s/compiler", fix.root);
    rig_write(path, lines, 0700);
    ck_assert_int_eq(setenv("GROAT_CXX", path, 1), 0);
    return path;
}

/* Writes the adder with more lines behind its kernel. */
static void write_adder_with(const char *lines)
{
    groat__str text = {0};

    groat__str_add(&text, adder_kernel);
    groat__str_add(&text, lines);
    rig_write_source(&fix, "adder", "adder.h", text.data);
    groat__str_free(&text);
}

/* Checks that there is no kernel, and that fix.error says why. */
static void ck_no_kernel(groat_context *context, const char *spec,
                         groat_status status, const char *words)
{
    groat_kernel *kernel = NULL;

    groat_error_clear(&fix.error);
    ck_assert_int_eq(
        groat_kernel_get(context, spec, target, &kernel, NULL, &fix.error),
        status);
    ck_assert_ptr_null(kernel);
    ck_assert_int_eq(fix.error.status, status);
    ck_says(&fix.error, words);
}

/* ---- no compiler -------------------------------------------------------- */

/* The words are the same each time: the search is made once. */
static void ck_no_compiler(const char *words)
{
    groat_context *context = rig_open(&fix);
    groat_spec *spec = NULL;
    char key[33] = "";

    for (int round = 0; round < 2; round++)
        ck_no_kernel(context, "adder", GROAT_NO_DEVICE, words);
    ck_assert_int_eq(groat_spec_parse(context, "adder", target, &spec, NULL),
                     GROAT_OK);
    ck_fails(groat_spec_key(spec, key, NULL, &fix.error), GROAT_NO_DEVICE,
             &fix.error, words);
    ck_fails(groat_build(spec, NULL, NULL, NULL, &fix.error), GROAT_NO_DEVICE,
             &fix.error, words);
    ck_assert_str_eq(key, "");
    groat_spec_free(spec);
    groat_close(context);
}

START_TEST(no_compiler)
{
    static const struct {
        const char *variable;
        const char *value; /* NULL: unset */
        const char *words;
    } cases[] = {
        {"GROAT_CXX", "/dev/null/none", "GROAT_CXX=/dev/null/none"},
        {"GROAT_CXX", "no-such-compiler", "GROAT_CXX=no-such-compiler"},
        {"GROAT_CXX", "/", "/ could not be started: Permission denied"},
        {"GROAT_CXX", "false", "false --version does not run (exit 1)"},
        {"PATH", "/dev/null/none::", "c++, g++, clang++ in PATH"},
        {"PATH", NULL, "c++, g++, clang++ in PATH"},
    };

    (void)unsetenv("GROAT_CXX");
    if (cases[_i].value == NULL)
        (void)unsetenv(cases[_i].variable);
    else
        ck_assert_int_eq(setenv(cases[_i].variable, cases[_i].value, 1), 0);
    ck_no_compiler(cases[_i].words);
}
END_TEST

/* ---- no descriptors ------------------------------------------------------ */

/* Lets no more descriptors be opened, or as many as before. */
static void allow_descriptors(bool allow)
{
    static rlim_t before;
    struct rlimit limit;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (!allow)
        before = limit.rlim_cur;
    limit.rlim_cur = allow ? before : 0;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* That says nothing about the compiler: the next call searches again. */
START_TEST(no_descriptors)
{
    groat_context *context = rig_open(&fix);

    for (int round = 0; round < 2; round++) {
        allow_descriptors(false);
        ck_no_kernel(context, "adder", GROAT_NO_MEMORY,
                     "no file descriptor is free");
        allow_descriptors(true);
    }
    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    groat_close(context);
}
END_TEST

/* A default target is found once; devices that were skipped are logged. */
START_TEST(no_descriptors_for_the_default_target)
{
    groat_context *context;

    ck_assert_int_eq(setenv("GROAT_CUDA", "/dev/null/none", 1), 0);
    ck_assert_int_eq(setenv("GROAT_HIP", "/dev/null/none", 1), 0);
    context = rig_open(&fix);
    allow_descriptors(false);
    ck_assert_str_eq(groat_default_target(context), "cpu:gfx950");
    allow_descriptors(true);
    ck_assert_int_eq(rig_said(&fix, "cuda devices are skipped"), 1);
    ck_assert_int_eq(rig_said(&fix, "hip devices are skipped"), 1);
    ck_assert_str_eq(groat_default_target(context), "cpu:gfx950");
    ck_assert_int_eq(fix.warnings, 2);
    groat_close(context);
}
END_TEST

/* ---- broken compilers --------------------------------------------------- */

/* One exits with 0 and writes nothing, one dies by a signal. */
START_TEST(a_compiler_without_a_binary)
{
    static const struct {
        const char *script;
        const char *words;
        const char *log;
    } cases[] = {
        {"#!/bin/sh\necho 'compiler 1'\n",
         "of 0 bytes is not a complete library", "compiler 1\n"},
        {"#!/bin/sh\n"
         "[ \"$1\" = --version ] && exec echo compiler 2\n"
         "echo last words\n"
         "kill -9 $$\n",
         "signal 9", "last words\n"},
    };
    const char *path = use_script(cases[_i].script);
    groat_context *context = rig_open(&fix);

    ck_no_kernel(context, "adder", GROAT_COMPILE_FAILED, cases[_i].words);
    ck_says(&fix.error, path);
    ck_assert_str_eq(fix.error.log, cases[_i].log);
    groat_close(context);
}
END_TEST

START_TEST(a_compiler_that_is_removed)
{
    const char *path = use_script("#!/bin/sh\nexec c++ \"$@\"\n");
    groat_context *context = rig_open(&fix);

    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    ck_assert_int_eq(unlink(path), 0);
    ck_no_kernel(context, "adder:step=4", GROAT_COMPILE_FAILED,
                 "could not be started: No such file");
    /* A kernel that was made before still works. */
    rig_kernel(&fix, context, 3, GROAT_FROM_MEMORY);
    groat_close(context);
}
END_TEST

/* ---- its environment ---------------------------------------------------- */

/* The environment is that of groat_open, but in English; a compiler gets more
 * processor time than it may take in all. */
START_TEST(the_environment_of_a_compiler)
{
    groat_context *context;
    struct rlimit limit;
    char script[400];
    char path[256];
    char *seen = NULL;
    size_t bytes = 0;

    (void)snprintf(path, sizeof(path), "%s/seen", fix.root);
    (void)snprintf(script, sizeof(script),
                   "#!/bin/sh\n{ env; echo \"limit=$(ulimit -t)\"; } >'%s'\n"
                   "exec c++ \"$@\"\n",
                   path);
    (void)use_script(script);
    ck_assert_int_eq(setenv("GROAT_CXX_TIMEOUT", "100", 1), 0);
    ck_assert_int_eq(setenv("GROAT_TEST_WORD", "early", 1), 0);
    ck_assert_int_eq(setenv("LC_ALL", "xx_XX.UTF-8", 1), 0);
    context = rig_open(&fix);
    ck_assert_int_eq(setenv("GROAT_TEST_WORD", "late", 1), 0);
    ck_assert_int_eq(setenv("GROAT_TEST_LATER", "late", 1), 0);
    ck_assert_int_eq(setenv("TMPDIR", "/dev/null/none", 1), 0);
    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    groat_close(context);
    ck_assert_int_eq(groat__fs_read(path, 1 << 20, &seen, &bytes, NULL),
                     GROAT_OK);
    ck_assert_ptr_nonnull(strstr(seen, "GROAT_TEST_WORD=early\n"));
    ck_assert_ptr_null(strstr(seen, "late"));
    ck_assert_ptr_nonnull(strstr(seen, "LC_ALL=C\n"));
    ck_assert_ptr_null(strstr(seen, "xx_XX"));
    ck_assert_ptr_nonnull(strstr(seen, "PATH="));
    ck_assert_int_eq(getrlimit(RLIMIT_CPU, &limit), 0);
    if (limit.rlim_cur > 102)
        ck_assert_ptr_nonnull(strstr(seen, "\nlimit=102\n"));
    free(seen);
}
END_TEST

/* Whatever the program has done to its standard streams and children. */
START_TEST(a_program_without_streams)
{
    groat_context *context = rig_open(&fix);
    int kept[3];

    for (int fd = 0; fd < 3; fd++) {
        kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        (void)close(fd);
    }
    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    groat_close(context);
    for (int fd = 0; fd < 3; fd++)
        if (kept[fd] >= 0)
            ck_assert_int_eq(dup2(kept[fd], fd), fd);
}
END_TEST

START_TEST(a_program_that_ignores_its_children)
{
    groat_context *context = rig_open(&fix);

    ck_assert(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    groat_close(context);
    write_adder_with("int wrong = undeclared_name;\n");
    context = rig_open(&fix);
    ck_no_kernel(context, "adder", GROAT_COMPILE_FAILED, "ignores SIGCHLD");
    ck_assert_ptr_nonnull(strstr(fix.error.log, "undeclared_name"));
    groat_close(context);
    ck_assert(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
}
END_TEST

/* ---- temporary files ---------------------------------------------------- */

/* Sets the temporary folder of the next context's compiler. */
static void use_folder(char path[256])
{
    (void)snprintf(path, 256, "%s/tmp", fix.root);
    ck_assert_int_eq(setenv("TMPDIR", path, 1), 0);
}

/* A build leaves no file in the temporary folder, even if it fails. */
START_TEST(temporary_files_are_removed)
{
    groat_context *context;
    char path[256];

    use_folder(path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    context = rig_open(&fix);
    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    groat_close(context);
    rig_write_source(&fix, "adder", "adder.h",
                     "#include \"params.h\"\nbroken\n");
    context = rig_open(&fix);
    ck_no_kernel(context, "adder", GROAT_COMPILE_FAILED, "refused the source");
    groat_close(context);
    ck_assert_int_eq(rmdir(path), 0);
}
END_TEST

static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGKILL};

/* Starts a program that compiles; its compiler writes to gate, and waits. */
static pid_t start_program(const char *gate)
{
    char script[400];
    groat_context *context;
    groat_kernel *kernel;
    pid_t pid;

    ck_assert_int_eq(mkfifo(gate, 0600), 0);
    (void)snprintf(script, sizeof(script),
                   "#!/bin/sh\n"
                   "[ \"$1\" = --version ] && exec echo compiler 4\n"
                   "exec 9>'%s'\n"
                   "echo here >&9\n"
                   "exec sleep 1000\n",
                   gate);
    (void)use_script(script);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        for (size_t i = 0; i < COUNT(ends); i++)
            (void)signal(ends[i], SIG_DFL); /* not Check's */
        context = rig_open(&fix);
        (void)groat_kernel_get(context, "adder", target, &kernel, NULL, NULL);
        _exit(0);
    }
    return pid;
}

/* Checks that no process writes to it any more: a read ends. */
static void ck_ends(int fd)
{
    char byte;

    ck_assert_int_eq(read(fd, &byte, 1), 0);
}

/* Any end of the program ends its compiler, which held the gate open, and no
 * file is left. */
START_TEST(an_ended_program_leaves_nothing)
{
    char path[256];
    char gate[256];
    char word[8];
    int state = 0;
    int fd;
    pid_t pid;

    use_folder(path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    (void)snprintf(gate, sizeof(gate), "%s/gate", fix.root);
    pid = start_program(gate);
    fd = open(gate, O_RDONLY); /* returns when the compiler opens it */
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(read(fd, word, 5), 5);
    ck_assert_int_eq(kill(pid, ends[_i]), 0);
    ck_assert_int_eq(waitpid(pid, &state, 0), pid);
    ck_assert(WIFSIGNALED(state));
    ck_assert_int_eq(WTERMSIG(state), ends[_i]);
    ck_ends(fd);
    (void)close(fd);
    ck_assert_int_eq(rmdir(path), 0);
}
END_TEST

/* Signal masks stay as they were, for the caller and for the compiler. */
START_TEST(signal_masks)
{
    groat_context *context = rig_open(&fix);
    sigset_t mine;
    sigset_t after;

    (void)sigemptyset(&mine);
    (void)sigaddset(&mine, SIGUSR1);
    (void)sigaddset(&mine, SIGTERM);
    ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, &mine, NULL), 0);
    rig_kernel(&fix, context, 3, GROAT_FROM_COMPILER);
    ck_assert_int_eq(pthread_sigmask(SIG_BLOCK, NULL, &after), 0);
    for (int i = 1; i < 32; i++)
        ck_assert_int_eq(sigismember(&after, i), i == SIGUSR1 || i == SIGTERM);
    groat_close(context);
}
END_TEST

/* ---- incomplete binaries ------------------------------------------------ */

/* Sizes at which a killed linker may leave its file, in bytes; -1: one byte is
 * missing. */
static const int cuts[] = {0,    1,    63,   64,    1000,  4095,
                           4096, 8192, 9000, 12000, 15000, -1};

/* A compiler that compiles and writes only part of the binary. */
static void use_cutting_compiler(int bytes)
{
    char script[500];

    (void)snprintf(script, sizeof(script),
                   "#!/bin/sh\n"
                   "[ \"$1\" = --version ] && exec c++ --version\n"
                   "c++ \"$@\" || exit\n"
                   "while [ \"$1\" != -o ]; do shift; done\n"
                   "exec truncate -s %s%d \"$2\"\n",
                   bytes < 0 ? "" : "'<'", bytes);
    (void)use_script(script);
}

/* Whether the compiler exits with 0, or its exit status is lost. */
START_TEST(a_cut_binary)
{
    groat_context *context;

    use_cutting_compiler(cuts[_i / 2]);
    context = rig_open(&fix);
    if (_i % 2 == 1)
        ck_assert(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    ck_no_kernel(context, "adder", GROAT_COMPILE_FAILED,
                 "not a complete library");
    ck_assert_uint_eq(rig_stat(context).entries, 0);
    groat_close(context);
    ck_assert(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
}
END_TEST

/* A cut binary from the store is dropped, and compiled again. */
START_TEST(a_cut_binary_is_not_loaded)
{
    groat_context *context = rig_open(&fix);
    groat_spec *spec = rig_parse(&fix, context, "adder", target);
    void *binary = NULL;
    size_t bytes = 0;

    ck_assert_int_eq(groat_build(spec, &binary, &bytes, NULL, &fix.error),
                     GROAT_OK);
    groat_spec_free(spec);
    groat_close(context);
    rig_plant(&fix, "adder", binary,
              cuts[_i] < 0 ? bytes - 1 : (size_t)cuts[_i]);
    context = rig_open(&fix);
    rig_kernel(&fix, context, 1, GROAT_FROM_COMPILER);
    ck_assert_int_eq(rig_said(&fix, "the driver refused the stored binary"), 1);
    groat_close(context);
    groat_free(binary);
}
END_TEST

/* One that finds no space for its files has not refused the source. */
START_TEST(a_compiler_without_space)
{
    groat_context *context;

    use_script("#!/bin/sh\ncase \"$*\" in *-shared*)\n"
               "test -e \"$0.again\" || { : >\"$0.again\"\n"
               "echo 'as: a.o: No space left on device' >&2; exit 1; } ;;\n"
               "esac\nexec c++ \"$@\"\n");
    context = rig_open(&fix);
    ck_no_kernel(context, "adder", GROAT_NO_MEMORY,
                 "TMPDIR names their folder");
    rig_get(&fix, context, "adder", target, GROAT_FROM_COMPILER);
    groat_close(context);
}
END_TEST

/* Its version is part of each key, and says which options it has. */
START_TEST(a_compiler_without_a_version)
{
    groat_context *context;

    use_script("#!/bin/sh\nexec c++ \"$@\" >/dev/null\n");
    context = rig_open(&fix);
    ck_no_kernel(context, "adder", GROAT_NO_DEVICE,
                 "--version prints no version");
    groat_close(context);
    /* One that is killed, such as for want of memory, is asked again. */
    use_script("#!/bin/sh\ntest -e \"$0.again\" || "
               "{ : >\"$0.again\"; kill -9 $$; }\nexec c++ \"$@\"\n");
    context = rig_open(&fix);
    ck_no_kernel(context, "adder", GROAT_NO_MEMORY, "was ended by signal 9");
    rig_get(&fix, context, "adder", target, GROAT_FROM_COMPILER);
    groat_close(context);
}
END_TEST

/* An empty variable counts as unset. */
START_TEST(a_compiler_of_no_name)
{
    groat_context *context;

    ck_assert_int_eq(setenv("GROAT_CXX", "", 1), 0);
    context = rig_open(&fix);
    rig_kernel(&fix, context, 1, GROAT_FROM_COMPILER);
    groat_close(context);
    (void)unsetenv("GROAT_CXX");
}
END_TEST

/* A relative path is resolved when the context is opened. */
START_TEST(a_compiler_of_a_relative_path)
{
    groat_context *context;
    char before[300];

    (void)use_script("#!/bin/sh\nexec c++ \"$@\"\n");
    ck_assert_ptr_nonnull(getcwd(before, sizeof(before)));
    ck_assert_int_eq(chdir(fix.root), 0);
    ck_assert_int_eq(setenv("GROAT_CXX", "./compiler", 1), 0);
    context = rig_open(&fix);
    ck_assert_int_eq(chdir("/"), 0);
    rig_kernel(&fix, context, 1, GROAT_FROM_COMPILER);
    ck_assert_int_eq(chdir(before), 0);
    groat_close(context);
    (void)unsetenv("GROAT_CXX");
}
END_TEST

START_TEST(a_compiler_that_hangs)
{
    groat_context *context;

    (void)use_script("#!/bin/sh\n"
                     "[ \"$1\" = --version ] && exec echo compiler 5\n"
                     "exec sleep 1000\n");
    ck_assert_int_eq(setenv("GROAT_CXX_TIMEOUT", "1", 1), 0);
    context = rig_open(&fix);
    ck_no_kernel(context, "adder", GROAT_COMPILE_FAILED,
                 "did not finish within 1 s and was stopped");
    groat_close(context);
    (void)unsetenv("GROAT_CXX");
    ck_assert_int_eq(setenv("GROAT_CXX_TIMEOUT", "soon", 1), 0);
    context = rig_open(&fix);
    rig_kernel(&fix, context, 1, GROAT_FROM_COMPILER);
    ck_assert_int_eq(rig_said(&fix, "GROAT_CXX_TIMEOUT is 'soon'"), 1);
    groat_close(context);
}
END_TEST

/* Whether a process runs: one that has ended may still wait for its parent. */
static bool runs(long pid)
{
    char path[64];
    char state = 'Z';
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    file = fopen(path, "r");
    if (file == NULL)
        return false;
    if (fscanf(file, "%*d %*s %c", &state) != 1)
        state = 'Z';
    (void)fclose(file);
    return state != 'Z' && state != 'X';
}

/* Child processes of the compiler end with it. */
START_TEST(a_compiler_whose_child_hangs)
{
    groat_context *context;
    char script[600];
    char path[300];
    FILE *file;
    long child = 0;

    (void)snprintf(path, sizeof(path), "%s/child", fix.root);
    (void)snprintf(script, sizeof(script),
                   "#!/bin/sh\n"
                   "[ \"$1\" = --version ] && exec echo compiler 6\n"
                   "sleep 1000 & echo $! >%s\n"
                   "wait\n",
                   path);
    (void)use_script(script);
    ck_assert_int_eq(setenv("GROAT_CXX_TIMEOUT", "5", 1), 0);
    context = rig_open(&fix);
    ck_no_kernel(context, "adder", GROAT_COMPILE_FAILED,
                 "did not finish within 5 s and was stopped");
    groat_close(context);
    (void)unsetenv("GROAT_CXX");
    (void)unsetenv("GROAT_CXX_TIMEOUT");
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%ld", &child), 1);
    (void)fclose(file);
    while (runs(child)) /* until the alarm */
        (void)usleep(1000);
}
END_TEST

/* ---- files that may not grow --------------------------------------------- */

static const rlim_t limits[] = {0, 1, 512, 4096, 16384, 65536, 1 << 20};

/* SIGXFSZ, which ends a program by default, is neither delivered nor left
 * pending.  A kernel that failed under the limit can be had after it. */
START_TEST(files_that_may_not_grow)
{
    groat_context *context = rig_open(&fix);
    groat_kernel *kernel = NULL;
    struct rlimit before;
    struct rlimit low;
    groat_status status;
    sigset_t pending;
    int lowered;

    ck_assert(signal(SIGXFSZ, SIG_DFL) != SIG_ERR);
    rig_kernel(&fix, context, 1, GROAT_FROM_COMPILER);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    low = (struct rlimit){limits[_i], before.rlim_max};
    /* Until it is lifted, Check cannot write either. */
    lowered = setrlimit(RLIMIT_FSIZE, &low);
    status =
        groat_kernel_get(context, "adder:step=2", target, &kernel, NULL, NULL);
    (void)groat_cache_gc(context, 1 << 20, NULL, NULL);
    (void)groat_bundle_export(context, "/dev/shm/groat-none/x", NULL, 0, NULL,
                              NULL, NULL);
    groat_close(context);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before) + lowered, 0);
    ck_assert(status == GROAT_OK || status == GROAT_NO_MEMORY ||
              status == GROAT_COMPILE_FAILED);
    ck_assert_int_eq(sigpending(&pending), 0);
    ck_assert_int_eq(sigismember(&pending, SIGXFSZ), 0);
    context = rig_open(&fix);
    (void)rig_get(&fix, context, "adder:step=1", target, GROAT_FROM_DISK);
    kernel = NULL;
    ck_assert_int_eq(groat_kernel_get(context, "adder:step=2", target, &kernel,
                                      NULL, &fix.error),
                     GROAT_OK);
    ck_assert(rig_adds(context, target, kernel, 2));
    groat_close(context);
}
END_TEST

/* ---- unique symbols ------------------------------------------------------ */

/* A library with a unique symbol is never unloaded, and the loader would take
 * the next one for it. */
START_TEST(unique_symbols)
{
    groat_context *context;

    write_adder_with("template <typename T> struct kept {\n"
                     "    __attribute__((visibility(\"default\"))) static T "
                     "value;\n"
                     "};\n"
                     "template <typename T> T kept<T>::value;\n"
                     "extern \"C\" __attribute__((visibility(\"default\"))) "
                     "int *groat_kept()\n"
                     "{\n"
                     "    return &kept<int>::value;\n"
                     "}\n");
    if (_i == 1) /* as compiled by a groat that allowed them */
        (void)use_script("#!/bin/sh\n"
                         "[ \"$1\" = --version ] && exec c++ --version\n"
                         "exec c++ \"$@\" -fgnu-unique\n");
    ck_assert_int_eq(setenv("GROAT_LOADED_MAX_BYTES", "1", 1), 0);
    context = rig_open(&fix);
    for (unsigned step = 1; step < 6; step++) {
        char spec[32];
        groat_kernel *kernel;

        (void)snprintf(spec, sizeof(spec), "adder:step=%u", step);
        kernel = rig_get(&fix, context, spec, target, GROAT_FROM_COMPILER);
        ck_assert(rig_adds(context, target, kernel, step));
        groat_kernel_release(kernel);
    }
    groat_close(context);
}
END_TEST

/* ---- files that are read ------------------------------------------------- */

START_TEST(a_file_that_is_read)
{
    groat_context *context;
    char script[600];
    char path[256];

    (void)snprintf(path, sizeof(path), "%s/hidden.h", fix.root);
    rig_write(path, "static const int hidden = 1;\n", 0600);
    (void)snprintf(script, sizeof(script),
                   "#!/bin/sh\n"
                   "[ \"$1\" = --version ] && exec c++ --version\n"
                   "exec c++ -include '%s' \"$@\"\n",
                   path);
    (void)use_script(script);
    context = rig_open(&fix);
    ck_no_kernel(context, "adder", GROAT_COMPILE_FAILED,
                 "hidden.h, which is no part of the key");
    groat_close(context);
}
END_TEST

/* ---- sources that do not compile --------------------------------------- */

START_TEST(a_compile_error)
{
    groat_context *context;
    groat_kernel *kernel = NULL;

    write_adder_with("int wrong = undeclared_name;\n");
    context = rig_open(&fix);
    ck_no_kernel(context, "adder", GROAT_COMPILE_FAILED, "refused the source");
    ck_assert_ptr_nonnull(fix.error.log);
    ck_assert_ptr_nonnull(strstr(fix.error.log, "undeclared_name"));
    /* The line is the file's own, not the flattened source's. */
    ck_assert_msg(strstr(fix.error.log, "adder/adder.h:16:") != NULL, "%s",
                  fix.error.log);
    ck_assert_int_eq(
        groat_kernel_get(context, "adder", target, &kernel, NULL, NULL),
        GROAT_COMPILE_FAILED);
    ck_assert_ptr_null(kernel);
    ck_assert_uint_eq(rig_stat(context).entries, 0);
    ck_assert_uint_eq(rig_stat(context).compiles, 0);
    ck_assert_int_eq(fix.warnings, 0);
    groat_close(context);
    /* The corrected source has another key, which has not failed. */
    rig_write_adder(&fix);
    context = rig_open(&fix);
    rig_kernel(&fix, context, 1, GROAT_FROM_COMPILER);
    groat_close(context);
}
END_TEST

/* Of more text than is kept the beginning is. */
START_TEST(a_compiler_that_says_much)
{
    groat_context *context;

    (void)use_script("#!/bin/sh\n"
                     "case \"$*\" in *--version*) exec c++ \"$@\" ;; esac\n"
                     "echo the first of all >&2\n"
                     "head -c 20000000 /dev/zero | tr '\\0' x >&2\n"
                     "exit 1\n");
    context = rig_open(&fix);
    ck_no_kernel(context, "adder", GROAT_COMPILE_FAILED, "refused the source");
    ck_assert_ptr_nonnull(fix.error.log);
    ck_assert_ptr_eq(strstr(fix.error.log, "the first of all"), fix.error.log);
    ck_assert_ptr_nonnull(strstr(fix.error.log, " are not kept)"));
    groat_close(context);
    ck_assert_int_eq(unsetenv("GROAT_CXX"), 0);
}
END_TEST

/* Warnings are kept with the binary. */
START_TEST(a_compile_warning)
{
    write_adder_with("static void nobody_calls()\n{\n}\n");
    for (int round = 0; round < 2; round++) {
        groat_kernel_info info = {.size = sizeof(info)};
        groat_context *context = rig_open(&fix);
        groat_kernel *kernel =
            rig_get(&fix, context, "adder", target,
                    round == 0 ? GROAT_FROM_COMPILER : GROAT_FROM_DISK);

        ck_assert_int_eq(groat_kernel_info_get(kernel, &info, NULL), GROAT_OK);
        ck_assert_ptr_nonnull(strstr(info.log, "nobody_calls"));
        groat_close(context);
    }
}
END_TEST

/* The binary lacks the entry point that it should have.  A fresh binary that is
 * refused is the caller's error, is not compiled a second time, and is not kept
 * in the store. */
START_TEST(a_fresh_binary_that_the_loader_refuses)
{
    groat_context *context;
    groat_spec *spec = NULL;

    rig_write_source(&fix, "adder", "adder.h",
                     "#include \"params.h\"\n"
                     "extern \"C\" void another_entry(const void *)\n{\n}\n");
    context = rig_open(&fix);
    ck_no_kernel(context, "adder", GROAT_LOAD_FAILED, "has no symbol adder_1");
    ck_assert_uint_eq(rig_stat(context).compiles, 1);
    ck_assert_uint_eq(rig_stat(context).entries, 0);
    groat_close(context);
    ck_assert_int_eq(fix.warnings, 0);
    /* Built ahead without loading, it is found, dropped, and compiled once. */
    context = rig_open(&fix);
    ck_assert_int_eq(groat_spec_parse(context, "adder", target, &spec, NULL),
                     GROAT_OK);
    ck_assert_int_eq(groat_build(spec, NULL, NULL, NULL, NULL), GROAT_OK);
    ck_assert_uint_eq(rig_stat(context).entries, 1);
    ck_no_kernel(context, "adder", GROAT_LOAD_FAILED, "has no symbol adder_1");
    ck_assert_uint_eq(rig_stat(context).compiles, 2);
    ck_assert_uint_eq(rig_stat(context).entries, 0);
    ck_assert_int_eq(fix.warnings, 1);
    groat_spec_free(spec);
    groat_close(context);
}
END_TEST

static TCase *plain_tests(void)
{
    TCase *tests = tcase_create("plain");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, no_compiler, 0, 6);
    tcase_add_test(tests, no_descriptors);
    tcase_add_test(tests, no_descriptors_for_the_default_target);
    tcase_add_loop_test(tests, a_compiler_without_a_binary, 0, 2);
    tcase_add_test(tests, a_compiler_that_is_removed);
    tcase_add_test(tests, the_environment_of_a_compiler);
    tcase_add_test(tests, a_program_without_streams);
    tcase_add_test(tests, a_program_that_ignores_its_children);
    tcase_add_test(tests, temporary_files_are_removed);
    tcase_add_loop_test(tests, an_ended_program_leaves_nothing, 0, COUNT(ends));
    tcase_add_test(tests, a_compiler_without_space);
    tcase_add_test(tests, a_compiler_without_a_version);
    tcase_add_test(tests, a_compiler_of_no_name);
    tcase_add_test(tests, a_compiler_of_a_relative_path);
    tcase_add_test(tests, a_compiler_that_hangs);
    tcase_add_test(tests, a_compiler_whose_child_hangs);
    tcase_add_loop_test(tests, a_cut_binary, 0, 2 * COUNT(cuts));
    tcase_add_loop_test(tests, a_cut_binary_is_not_loaded, 0, COUNT(cuts));
    tcase_add_loop_test(tests, unique_symbols, 0, 2);
    tcase_add_loop_test(tests, files_that_may_not_grow, 0, COUNT(limits));
    tcase_add_test(tests, a_file_that_is_read);
    tcase_add_test(tests, signal_masks);
    tcase_add_test(tests, a_compile_error);
    tcase_add_test(tests, a_compiler_that_says_much);
    tcase_add_test(tests, a_compile_warning);
    tcase_add_test(tests, a_fresh_binary_that_the_loader_refuses);
    return tests;
}

int main(void)
{
    Suite *suite = suite_create("compilers");

    suite_add_tcase(suite, plain_tests());
    return run_suite(suite);
}
