/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_first.c [SPEC [TARGET]]: prints, as one JSON object, the cost of a
 * process's first kernel when the store has its binary: opening groat, a get
 * and a launch, against reading the same binary from a file, loading and
 * launching it with plain CUDA driver calls (default: tile_loader_lds for
 * cuda:sm_90a).  A third side reads that binary from the same store with plain
 * SQLite calls, without checks: the rest is groat's share.  Each side runs once
 * per process, whose CUDA context is made beforehand; the sides take turns.
 * Resident memory is what a side adds to the process with its context.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "groat.h"
#include "tests/bench/bench.h"

enum { ROUNDS = 21, ARGS_MAX = 4096 };

typedef enum side { SIDE_RAW, SIDE_SQLITE, SIDE_GROAT, SIDES } side;

static const char *const side_names[SIDES] = {"raw", "sqlite", "groat"};

typedef struct driver {
    int (*init)(unsigned flags);
    int (*retain)(void **context, int device);
    int (*set)(void *context);
    int (*load)(void **module, const void *image);
    int (*find)(void **function, void *module, const char *name);
    int (*raise)(void *function, int attribute, int value);
    int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz,
                  unsigned bx, unsigned by, unsigned bz, unsigned shared,
                  void *stream, void **params, void **extra);
    int (*sync)(void);
} driver;

/* The figures that a child process sends to its parent. */
typedef struct told {
    double open_us;
    double all_us;
    double rss_kib;
    groat_origin origin;
} told;

/* Returns false without a driver. */
static bool make_context(driver *cu)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *context = NULL;

    if (library == NULL)
        return false;
    take(library, "cuInit", &cu->init);
    take(library, "cuDevicePrimaryCtxRetain", &cu->retain);
    take(library, "cuCtxSetCurrent", &cu->set);
    take(library, "cuModuleLoadData", &cu->load);
    take(library, "cuModuleGetFunction", &cu->find);
    take(library, "cuFuncSetAttribute", &cu->raise);
    take(library, "cuLaunchKernel", &cu->launch);
    take(library, "cuCtxSynchronize", &cu->sync);
    if (cu->init(0) != 0)
        return false;
    check_call(cu->retain(&context, 0), "cuDevicePrimaryCtxRetain");
    check_call(cu->set(context), "cuCtxSetCurrent");
    return true;
}

static double resident_kib(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long all = 0;
    long pages = 0;

    if (file == NULL || fscanf(file, "%ld %ld", &all, &pages) != 2)
        die("/proc/self/statm");
    (void)fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1024;
}

static void *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *data;
    long bytes;

    if (file == NULL || fseek(file, 0, SEEK_END) != 0 ||
        (bytes = ftell(file)) <= 0 || (data = malloc((size_t)bytes)) == NULL)
        die(path);
    rewind(file);
    if (fread(data, 1, (size_t)bytes, file) != (size_t)bytes)
        die(path);
    (void)fclose(file);
    return data;
}

/* Returns the binary of a store's only row. */
static void *read_row(const char *path)
{
    sqlite3_stmt *get = NULL;
    sqlite3 *db = NULL;
    size_t bytes;
    void *data;

    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, "SELECT binary FROM entry", -1, &get, NULL) !=
            SQLITE_OK ||
        sqlite3_step(get) != SQLITE_ROW)
        die(path);
    bytes = (size_t)sqlite3_column_bytes(get, 0);
    data = malloc(bytes);
    if (data == NULL)
        die("memory");
    memcpy(data, sqlite3_column_blob(get, 0), bytes);
    (void)sqlite3_finalize(get);
    return data;
}

/* Loads a binary from a file or a store, and launches it. */
static told driver_side(const driver *cu, bool of_file, const char *path,
                        const char *name, const unsigned *shape)
{
    told t = {.rss_kib = resident_kib()};
    char args[ARGS_MAX] = {0};
    void *param = args;
    double start = now_ns();
    void *data = of_file ? read_file(path) : read_row(path);
    void *function = NULL;
    void *module = NULL;

    check_call(cu->load(&module, data), "cuModuleLoadData");
    check_call(cu->find(&function, module, name), "cuModuleGetFunction");
    check_call(cu->raise(function, 8, (int)shape[1]), "cuFuncSetAttribute");
    check_call(cu->launch(function, 1, 1, 1, shape[0], 1, 1, shape[1], NULL,
                          &param, NULL),
               "cuLaunchKernel");
    t.all_us = (now_ns() - start) * 1e-3;
    t.rss_kib = resident_kib() - t.rss_kib;
    free(data);
    return t;
}

static told groat_side(const char *dir, const char *spec, const char *target)
{
    groat_options options = GROAT_OPTIONS_INIT;
    groat_launch launch = GROAT_LAUNCH_INIT;
    groat_error error = GROAT_ERROR_INIT;
    groat_kernel_info info = {.size = sizeof(info)};
    told t = {.rss_kib = resident_kib()};
    double start = now_ns();
    char args[ARGS_MAX] = {0};
    groat_context *context;
    groat_kernel *kernel;

    options.cache_dir = dir;
    if (groat_open(&options, &context, &error) != 0)
        die(error.text);
    t.open_us = (now_ns() - start) * 1e-3;
    if (groat_kernel_get(context, spec, target, &kernel, &t.origin, &error) ||
        groat_kernel_info_get(kernel, &info, NULL) ||
        groat_kernel_launch(kernel, &launch, args, info.args_bytes, &error))
        die(error.text);
    t.all_us = (now_ns() - start) * 1e-3;
    t.rss_kib = resident_kib() - t.rss_kib;
    return t;
}

/* argv: side, folder, spec, target, entry, threads, shared bytes. */
static int be_a_side(char **argv)
{
    const unsigned shape[] = {(unsigned)atoi(argv[6]), (unsigned)atoi(argv[7])};
    bool of_file = strcmp(argv[1], side_names[SIDE_RAW]) == 0;
    char path[400];
    driver cu;
    told t;

    if (!make_context(&cu))
        return 77;
    (void)snprintf(path, sizeof(path), "%s/%s", argv[2],
                   of_file ? "binary" : "groat.sqlite");
    t = strcmp(argv[1], side_names[SIDE_GROAT]) == 0
            ? groat_side(argv[2], argv[3], argv[4])
            : driver_side(&cu, of_file, path, argv[5], shape);
    /* Waits; the result is ignored, as the arguments describe no tile. */
    (void)cu.sync();
    return write(STDOUT_FILENO, &t, sizeof(t)) == (ssize_t)sizeof(t) ? 0 : 1;
}

static told run_side(char *const *argv)
{
    int ends[2];
    int status = 0;
    told t;
    pid_t pid;

    if (pipe(ends) != 0 || (pid = fork()) < 0)
        die("fork");
    if (pid == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)execv("/proc/self/exe", argv);
        _exit(127);
    }
    (void)close(ends[1]);
    if (read(ends[0], &t, sizeof(t)) != (ssize_t)sizeof(t))
        t = (told){0};
    (void)close(ends[0]);
    if (waitpid(pid, &status, 0) != pid || status != 0) {
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
            printf("{\"format\": 1, \"skipped\": \"no CUDA device\"}\n");
            exit(0);
        }
        die("a side failed");
    }
    return t;
}

/* Compiles the kernel into the store, and writes its binary to a file. */
static groat_kernel_info prepare(const char *dir, const char *spec,
                                 const char *target, char *name, size_t room)
{
    groat_options options = GROAT_OPTIONS_INIT;
    groat_error error = GROAT_ERROR_INIT;
    groat_kernel_info info = {.size = sizeof(info)};
    groat_context *context;
    groat_spec *parsed;
    void *binary;
    size_t bytes;
    char path[400];
    FILE *file;

    options.cache_dir = dir;
    if (groat_open(&options, &context, &error) != 0 ||
        groat_spec_parse(context, spec, target, &parsed, &error) != 0 ||
        groat_build(parsed, &binary, &bytes, &info, &error) != 0)
        die(error.text);
    (void)snprintf(path, sizeof(path), "%s/binary", dir);
    (void)snprintf(name, room, "%s", info.name);
    file = fopen(path, "wb");
    if (file == NULL || fwrite(binary, 1, bytes, file) != bytes ||
        fclose(file) != 0)
        die(path);
    groat_free(binary);
    groat_spec_free(parsed);
    groat_close(context);
    return info;
}

static void print(const char *spec, const char *target, double us[][ROUNDS],
                  double rss[][ROUNDS], double *open_us)
{
    double ratios[SIDES][ROUNDS];

    for (int k = 0; k < SIDES; k++)
        for (int i = 0; i < ROUNDS; i++)
            ratios[k][i] = us[k][i] / us[SIDE_RAW][i];
    printf("{\n  \"format\": 1,\n  \"spec\": \"%s\", \"target\": \"%s\",\n"
           "  \"rounds\": %d,\n",
           spec, target, ROUNDS);
    for (int k = 0; k < SIDES; k++)
        printf("  \"%s\": {\"read_load_launch_us\": %.1f, "
               "\"resident_kib\": %.0f, \"to_raw\": %.2f},\n",
               side_names[k], median(us[k], ROUNDS), median(rss[k], ROUNDS),
               median(ratios[k], ROUNDS));
    printf("  \"groat_open_us\": %.1f\n}\n", median(open_us, ROUNDS));
}

int main(int argc, char **argv)
{
    char *spec = argc > 1 ? argv[1] : "tile_loader_lds";
    char *target = argc > 2 ? argv[2] : "cuda:sm_90a";
    double us[SIDES][ROUNDS];
    double rss[SIDES][ROUNDS];
    double open_us[ROUNDS];
    groat_kernel_info info;
    char dir[256];
    char name[256];
    char threads[16];
    char shared[16];

    if (argc == 8)
        return be_a_side(argv);
    make_dir(dir);
    info = prepare(dir, spec, target, name, sizeof(name));
    (void)snprintf(threads, sizeof(threads), "%u", info.block[0]);
    (void)snprintf(shared, sizeof(shared), "%u", info.shared_bytes);
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < SIDES; k++) {
            side now = (side)((i + k) % SIDES);
            char *const own[] = {argv[0], (char *)(uintptr_t)side_names[now],
                                 dir,     spec,
                                 target,  name,
                                 threads, shared,
                                 NULL};
            told t = run_side(own);

            us[now][i] = t.all_us;
            rss[now][i] = t.rss_kib;
            if (now == SIDE_GROAT)
                open_us[i] = t.open_us;
            if (now == SIDE_GROAT && t.origin != GROAT_FROM_DISK)
                die("the kernel was not had from disk");
        }
    }
    remove_dir(dir);
    print(spec, target, us, rss, open_us);
    return 0;
}
