/* SPDX-License-Identifier: Apache-2.0
 *
 * test_exit.c: programs that end with a context open, kernels loaded and a
 * build under way on a thread of the library, in each way a process can end.
 * Each is a process of its own: this program, started again with the name of
 * the way.  None crashes, none waits for the build, and none calls the driver
 * at exit, when it may already be gone.
 */
#include "held.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/shim/plain_rig.h"
#include "groat_serve.h"

enum { ENDED = 42 };

static rig fix;
static const char target[] = "cpu:gfx950";

/* ---- the programs ------------------------------------------------------- */

/* Open until the program ends, as a program's globals are. */
static groat_context *context;
static groat_request *request;

static groat_options own_options(const char *root)
{
    static char cache[300];
    static char families[300];
    groat_options options = GROAT_OPTIONS_INIT;

    (void)snprintf(cache, sizeof(cache), "%s/cache", root);
    (void)snprintf(families, sizeof(families), "%s/families", root);
    options.cache_dir = cache;
    options.family_path = families;
    return options;
}

/* Loads and runs one kernel, and lets another one be compiled. */
static bool begin(const char *root)
{
    groat_options options = own_options(root);
    groat_kernel *kernel = NULL;
    groat_spec *spec = NULL;

    if (groat_open(&options, &context, NULL) != GROAT_OK ||
        groat_kernel_get(context, "adder:step=1", target, &kernel, NULL,
                         NULL) != GROAT_OK ||
        !rig_adds(context, target, kernel, 1) ||
        groat_spec_parse(context, "adder:step=2", target, &spec, NULL) !=
            GROAT_OK ||
        groat_kernel_start(spec, NULL, &request, NULL) != GROAT_OK)
        return false;
    groat_spec_free(spec);
    return groat_request_wait(request, 0, NULL, NULL, NULL) == GROAT_TIMED_OUT;
}

static void *get_same(void *user)
{
    groat_kernel *kernel = NULL;

    (void)user;
    (void)groat_kernel_get(context, "adder:step=2", target, &kernel, NULL,
                           NULL);
    return NULL;
}

/* Runs as the program; the test has told the compiler to wait. */
static int run_child(char **argv)
{
    const char *way = argv[2];
    pthread_t thread;
    char line;

    if (!begin(argv[3]))
        return 1;
    if (pthread_create(&thread, NULL, get_same, NULL) != 0)
        return 2;
    /* The test has seen the build begin. */
    if (read(STDIN_FILENO, &line, 1) != 1)
        return 3;
    if (strcmp(way, "exit") == 0)
        exit(ENDED);
    if (strcmp(way, "_exit") == 0)
        _exit(ENDED);
    if (strcmp(way, "quick_exit") == 0)
        quick_exit(ENDED);
    return ENDED;
}

static shim_cuda_control *cuda;

/* A program of its own cannot use a test's assertions. */
static void *control_of(const char *variable, const char *symbol)
{
    void *handle = dlopen(getenv(variable), RTLD_NOW);
    void *address = handle == NULL ? NULL : dlsym(handle, symbol);
    void *(*get)(void);

    memcpy(&get, &address, sizeof(get));
    return address == NULL ? NULL : get();
}

static void driver_is_gone(void)
{
    cuda->gone = true;
}

/* Runs with modules of a driver loaded, and events of launches recorded. */
static int run_with_driver(char **argv)
{
    groat_options options = own_options(argv[3]);
    groat_launch launch = GROAT_LAUNCH_INIT;
    groat_kernel *kernel = NULL;
    const int args = 1;

    cuda = control_of("GROAT_CUDA", "shim_cuda");
    plain_new_cuda(cuda);
    plain_new_nvrtc(control_of("GROAT_NVRTC", "shim_nvrtc"));
    options.loaded_max_bytes = 1 << 20;
    if (groat_open(&options, &context, NULL) != GROAT_OK ||
        groat_kernel_get(context, "plain", "cuda:sm_90a", &kernel, NULL,
                         NULL) != GROAT_OK ||
        groat_kernel_launch(kernel, &launch, &args, sizeof(args), NULL) !=
            GROAT_OK)
        return 1;
    return atexit(driver_is_gone) == 0 ? ENDED : 2;
}

/* ---- the tests ------------------------------------------------------------
 */

static void setup(void)
{
    char tmp[256];

    (void)held_own();
    rig_make(&fix);
    rig_write_adder(&fix);
    plain_write(&fix);
    (void)snprintf(tmp, sizeof(tmp), "%s/tmp", fix.root);
    ck_assert_int_eq(mkdir(tmp, 0700), 0);
    ck_assert_int_eq(setenv("TMPDIR", tmp, 1), 0);
    /* This process inherits the orphans of a child, and waits for them. */
    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
}

static void teardown(void)
{
    while (wait(NULL) > 0 || errno == EINTR)
        continue;
    (void)unsetenv("TMPDIR");
    held_restore();
    rig_drop(&fix);
}

/* Starts a program; in: a pipe that it reads from. */
static pid_t start(const char *kind, const char *way, int in[2])
{
    char *argv[] = {"test_exit", (char *)(uintptr_t)kind,
                    (char *)(uintptr_t)way, fix.root, NULL};
    pid_t pid;

    ck_assert_int_eq(pipe(in), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        /* Threads that still run at exit are what is tested. */
        (void)setenv("TSAN_OPTIONS", "report_thread_leaks=0", 1);
        (void)dup2(in[0], STDIN_FILENO);
        (void)close(in[0]);
        (void)close(in[1]);
        (void)execv("/proc/self/exe", argv);
        _exit(127);
    }
    (void)close(in[0]);
    return pid;
}

static void check_end(pid_t pid, int fd)
{
    int status = 0;

    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    (void)close(fd);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == ENDED,
                  "status 0x%x", (unsigned)status);
}

static const char *const ways[] = {"return", "exit", "_exit", "quick_exit"};

START_TEST(ends_while_a_kernel_is_compiled)
{
    groat_context *own;
    int in[2];
    pid_t pid;

    held_write(&fix);
    own = rig_open(&fix);
    (void)rig_get(&fix, own, "adder:step=1", target, GROAT_FROM_COMPILER);
    held_close();
    pid = start("compile", ways[_i], in);
    while (held_runs() == 1)
        ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
    ck_assert_int_eq(write(in[1], "\n", 1), 1);
    check_end(pid, in[1]);
    /* Its compiler, which waits at the gate, ends with it. */
    ck_assert_int_eq(unlink(held_mark), 0);
    /* Nor does the next process that wants the kernel wait for the dead one. */
    (void)rig_get(&fix, own, "adder:step=2", target, GROAT_FROM_COMPILER);
    groat_close(own);
}
END_TEST

START_TEST(ends_with_a_driver)
{
    int in[2];
    pid_t pid;

    (void)plain_shims();
    pid = start("driver", "return", in);

    check_end(pid, in[1]);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite;
    TCase *tests;

    if (argc == 4)
        return strcmp(argv[1], "driver") == 0 ? run_with_driver(argv)
                                              : run_child(argv);
    suite = suite_create("exit");
    tests = tcase_create("ways");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, ends_while_a_kernel_is_compiled, 0, COUNT(ways));
    tcase_add_test(tests, ends_with_a_driver);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
