/* SPDX-License-Identifier: Apache-2.0
 *
 * test_loaded_device.c: the bound of loaded binaries on a real CUDA device,
 * with kernels that run for a while: a running kernel is not unloaded, an
 * unloaded one is loaded again and computes the same, and a graph keeps the
 * kernels that it captured.
 */
#include <dlfcn.h>

#include "rig.h"

enum { KERNELS = 40, MS = 1000000, CAPTURE_GLOBAL = 0 };

/* The driver's functions that the tests call themselves; handles are
 * pointers. */
#define CALLS(X)                                                               \
    X(retain, "cuDevicePrimaryCtxRetain", (void **, int))                      \
    X(release, "cuDevicePrimaryCtxRelease_v2", (int))                          \
    X(make_current, "cuCtxSetCurrent", (void *))                               \
    X(stream_create, "cuStreamCreate", (void **, unsigned))                    \
    X(stream_query, "cuStreamQuery", (void *))                                 \
    X(stream_sync, "cuStreamSynchronize", (void *))                            \
    X(stream_destroy, "cuStreamDestroy_v2", (void *))                          \
    X(capture_begin, "cuStreamBeginCapture_v2", (void *, int))                 \
    X(capture_end, "cuStreamEndCapture", (void *, void **))                    \
    X(graph_make, "cuGraphInstantiateWithFlags",                               \
      (void **, void *, unsigned long long))                                   \
    X(graph_launch, "cuGraphLaunch", (void *, void *))                         \
    X(graph_drop, "cuGraphExecDestroy", (void *))                              \
    X(graph_destroy, "cuGraphDestroy", (void *))

static struct {
    void *handle;
    void *context;
#define MEMBER(name, symbol, arguments) int(*name) arguments;
    CALLS(MEMBER)
#undef MEMBER
} cuda;

static rig fix;
static groat_context *context;
static char target[64];
static void *stream;
static uint64_t output;

/* The kernel waits, then writes its number. */
struct waiter_args {
    uint64_t output; /* u32 */
    uint64_t ns;
};

static void write_waiter(const rig *r)
{
    rig_write_source(r, "waiter", "params.def",
                     "family waiter \"waits, then writes its number\"\n"
                     "param number int 1..1000 1 - \"which\"\n"
                     "launch block_x = 32\n"
                     "launch args = 16\n"
                     "entry waiter_{number}\n");
    rig_write_source(r, "waiter", "args.h",
                     "#pragma once\nstruct waiter_args {\n"
                     "    unsigned long long output, ns;\n};\n");
    rig_write_source(
        r, "waiter", "waiter.h",
        "#include \"params.h\"\n"
        "#include \"../common/vendor.h\"\n"
        "#include \"args.h\"\n"
        "GROAT_KERNEL(waiter_args)\n"
        "{\n"
        "    using namespace groat;\n"
        "    u64 start, now;\n"
        "    asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(start));\n"
        "    do {\n"
        "        asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(now));\n"
        "    } while (now - start < args.ns);\n"
        "    if (thread_index() == 0)\n"
        "        global_store4(args.output, params::number);\n"
        "}\n");
}

static void setup(void)
{
    groat_options options;

    (void)alarm(60); /* Check has no timeout without a fork */
    rig_make(&fix);
    write_waiter(&fix);
    options = rig_options(&fix);
    options.loaded_max_bytes = 1; /* unused kernels are unloaded */
    context = rig_open_with(&fix, &options);
    ck_assert_int_eq(cuda.make_current(cuda.context), 0);
    ck_assert_int_eq(cuda.stream_create(&stream, 0), 0);
    ck_assert_int_eq(
        groat_memory_alloc(context, target, 4 * KERNELS, &output, &fix.error),
        GROAT_OK);
}

static void teardown(void)
{
    groat_memory_free(context, target, output);
    groat_close(context);
    ck_assert_int_eq(cuda.stream_destroy(stream), 0);
    rig_drop(&fix);
}

static groat_kernel *get(unsigned number, groat_origin expected)
{
    char spec[32];

    (void)snprintf(spec, sizeof(spec), "waiter:number=%u", number);
    return rig_get(&fix, context, spec, target, expected);
}

static bool is_there(unsigned number)
{
    char spec[32];

    (void)snprintf(spec, sizeof(spec), "waiter:number=%u", number);
    return groat_kernel_lookup(context, spec, target) != NULL;
}

static groat_status launch(groat_kernel *kernel, unsigned place, uint64_t ns)
{
    const struct waiter_args args = {output + 4 * place, ns};
    groat_launch where = GROAT_LAUNCH_INIT;

    where.stream = stream;
    return groat_kernel_launch(kernel, &where, &args, sizeof(args), &fix.error);
}

static void poison(void)
{
    uint32_t words[KERNELS];

    memset(words, 0xEE, sizeof(words));
    ck_assert_int_eq(groat_memory_write(context, target, output, words,
                                        sizeof(words), &fix.error),
                     GROAT_OK);
}

/* Checks what kernel `number` wrote at `place`. */
static void check(unsigned place, unsigned number)
{
    uint32_t words[KERNELS];

    ck_assert_int_eq(cuda.stream_sync(stream), 0);
    ck_assert_int_eq(groat_memory_read(context, target, words, output,
                                       sizeof(words), &fix.error),
                     GROAT_OK);
    ck_assert_uint_eq(words[place], number);
}

/* The driver may itself wait for running kernels when a module is loaded or
 * unloaded, so only this is certain: a kernel that still runs is loaded. */
static void check_running(unsigned number)
{
    bool runs = cuda.stream_query(stream) != 0;

    ck_assert(!runs || is_there(number));
}

START_TEST(what_runs_stays)
{
    groat_kernel *first = get(1, GROAT_FROM_COMPILER);
    groat_kernel *second = get(2, GROAT_FROM_COMPILER);

    poison();
    ck_assert_int_eq(launch(first, 0, 500 * MS), GROAT_OK);
    groat_kernel_release(first);
    ck_assert_int_ne(cuda.stream_query(stream), 0); /* it runs */
    ck_assert(is_there(1));
    ck_assert_uint_gt(rig_stat(context).deferred_unloads, 0);
    groat_kernel_release(second);
    ck_assert(!is_there(2));
    check_running(1);
    groat_kernel_release(get(3, GROAT_FROM_COMPILER));
    ck_assert(!is_there(3));
    check_running(1);
    check(0, 1);
    ck_assert_int_eq(groat_synchronize(context, target, &fix.error), GROAT_OK);
    ck_assert(!is_there(1));
    /* A launch of the handle loads it again, from the store. */
    poison();
    ck_assert_int_eq(launch(first, 5, 0), GROAT_OK);
    check(5, 1);
}
END_TEST

START_TEST(all_come_and_go)
{
    groat_kernel *kernels[KERNELS];

    for (unsigned round = 0; round < 3; round++) {
        poison();
        for (unsigned i = 0; i < KERNELS; i++) {
            kernels[i] =
                get(i + 1, round == 0 ? GROAT_FROM_COMPILER : GROAT_FROM_DISK);
            ck_assert_int_eq(launch(kernels[i], i, 0), GROAT_OK);
            groat_kernel_release(kernels[i]);
            check(i, i + 1);
            ck_assert_int_eq(groat_synchronize(context, target, &fix.error),
                             GROAT_OK);
            ck_assert_uint_eq(rig_stat(context).loads,
                              rig_stat(context).unloads);
        }
    }
    ck_assert_uint_eq(rig_stat(context).unloads, 3 * KERNELS);
}
END_TEST

START_TEST(a_graph_keeps_its_kernels)
{
    groat_kernel *first = get(1, GROAT_FROM_COMPILER);
    groat_kernel *second = get(2, GROAT_FROM_COMPILER);
    void *graph = NULL;
    void *made = NULL;

    groat_kernel_release(second);
    ck_assert(is_there(1) && !is_there(2));
    ck_assert_int_eq(cuda.capture_begin(stream, CAPTURE_GLOBAL), 0);
    ck_fails(launch(second, 1, 0), GROAT_CAPTURING, &fix.error, "captured");
    ck_assert_int_eq(launch(first, 0, 0), GROAT_OK);
    ck_assert_int_eq(cuda.capture_end(stream, &graph), 0);
    ck_assert_int_eq(cuda.graph_make(&made, graph, 0), 0);
    groat_kernel_release(first);
    for (unsigned i = 2; i < 12; i++)
        groat_kernel_release(
            get(i, i == 2 ? GROAT_FROM_DISK : GROAT_FROM_COMPILER));
    ck_assert(is_there(1) && !is_there(2));
    for (unsigned i = 0; i < 3; i++) {
        poison();
        ck_assert_int_eq(cuda.graph_launch(made, stream), 0);
        check(0, 1);
    }
    ck_assert_int_eq(cuda.graph_drop(made), 0);
    ck_assert_int_eq(cuda.graph_destroy(graph), 0);
}
END_TEST

/* Returns false and says why where there is no device. */
static bool is_runnable(void)
{
    groat_options options = GROAT_OPTIONS_INIT;
    groat_context *probe = NULL;

    options.flags = GROAT_OPEN_NO_DISK;
    if (groat_open(&options, &probe, NULL) != GROAT_OK)
        return true; /* the tests then fail */
    (void)snprintf(target, sizeof(target), "%s", groat_default_target(probe));
    groat_close(probe);
    if (strncmp(target, "cuda:", 5) != 0)
        (void)puts("SKIP: there is no CUDA device");
    return strncmp(target, "cuda:", 5) == 0;
}

/* Returns what is missing, or NULL. */
static const char *resolve(void)
{
    cuda.handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (cuda.handle == NULL)
        return "libcuda.so.1";
#define FIND(name, symbol, arguments)                                          \
    {                                                                          \
        void *address = dlsym(cuda.handle, symbol);                            \
                                                                               \
        memcpy(&cuda.name, &address, sizeof(address));                         \
        if (address == NULL)                                                   \
            return symbol;                                                     \
    }
    CALLS(FIND)
    /* The default target is the first device. */
    return cuda.retain(&cuda.context, 0) == 0 ? NULL
                                              : "the first device's context";
}

int main(void)
{
    const char *missing;
    Suite *suite;
    TCase *tests;
    int code;

    /* An initialized driver does not work in a child of fork(). */
    (void)setenv("CK_FORK", "no", 1);
    if (!is_runnable())
        return 77;
    missing = resolve();
    if (missing != NULL) {
        (void)printf("FAIL: %s is not to be had\n", missing);
        return 1;
    }
    suite = suite_create("loaded on a device");
    tests = tcase_create("device");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, what_runs_stays);
    tcase_add_test(tests, all_come_and_go);
    tcase_add_test(tests, a_graph_keeps_its_kernels);
    suite_add_tcase(suite, tests);
    code = run_suite(suite);
    (void)cuda.release(0);
    return code;
}
