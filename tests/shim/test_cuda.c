/* SPDX-License-Identifier: Apache-2.0
 *
 * test_cuda.c drives every slot of groat__device_cuda through the stand-in
 * libcuda: the good path, each vendor call failing in turn at each place it is
 * made, each symbol missing in turn, and whose context is current when.  After
 * each of them nothing is live and the context stack is as it was.
 */
#include <check.h>
#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/cuda_abi.h"
#include "tests/shim/copy.h"
#include "tests/shim/shim.h"

#define DEVICE (&groat__device_cuda)

static const groat__arch sm_90a = {.name = "sm_90a", .vendor = GROAT__CUDA};
static const char ptx[] = "// compute_90";

static Elf64_Ehdr make_cubin(void)
{
    Elf64_Ehdr cubin = {0};

    memcpy(cubin.e_ident, ELFMAG, SELFMAG);
    return cubin;
}

static void reset(shim_cuda_control *control)
{
    memset(control, 0, sizeof(*control));
    control->driver = 13000;
    control->devices = 2;
    control->capability[0] = 9;
    control->shared_optin = 232448;
    control->static_shared = 1024;
    control->proc_address = true;
}

typedef struct shim_rig {
    groat__env env;
    shim_cuda_control *cuda;
    shim_cuda_depth_fn *depth;
    shim_cuda_user_fn *user;
    shim_cuda_reap_fn *reap;
    CUresult (*push)(CUcontext context);
    CUresult (*pop)(CUcontext *context);
    void *handle;
} shim_rig;

static void get_symbol(const shim_rig *rig, const char *name, void *function)
{
    void *address = dlsym(rig->handle, name);

    ck_assert_ptr_nonnull(address);
    memcpy(function, &address, sizeof(address));
}

static shim_rig rig_open_path(const char *path)
{
    shim_rig rig = {0};

    rig.env.cuda = path;
    rig.cuda = shim_control(path, "shim_cuda", &rig.handle);
    get_symbol(&rig, "shim_cuda_depth", &rig.depth);
    get_symbol(&rig, "shim_cuda_user", &rig.user);
    get_symbol(&rig, "shim_cuda_reap", &rig.reap);
    get_symbol(&rig, "cuCtxPushCurrent_v2", &rig.push);
    get_symbol(&rig, "cuCtxPopCurrent_v2", &rig.pop);
    reset(rig.cuda);
    return rig;
}

static shim_rig rig_open(void)
{
    return rig_open_path(shim_path("GROAT_TEST_CUDA_SHIM"));
}

static void check_clean(const shim_rig *rig, int depth)
{
    void *top;

    ck_assert_int_eq(rig->cuda->modules, 0);
    ck_assert_int_eq(rig->cuda->retained, 0);
    ck_assert_int_eq(rig->cuda->allocations, 0);
    ck_assert_int_eq(rig->cuda->events, 0);
    ck_assert_int_eq(rig->depth(&top), depth);
}

static void rig_close(shim_rig *rig)
{
    check_clean(rig, 0);
    (void)dlclose(rig->handle);
}

static void *current(const shim_rig *rig)
{
    void *top = NULL;

    (void)rig->depth(&top);
    return top;
}

static void *open_state(const groat__env *env)
{
    groat_error error = GROAT_ERROR_INIT;
    void *state = NULL;

    ck_assert_msg(DEVICE->open(env, &state, &error) == GROAT_OK, "%s",
                  error.text);
    ck_assert_ptr_nonnull(state);
    return state;
}

static groat__shape make_shape(unsigned shared)
{
    groat__shape shape = {.block = {128, 1, 1},
                          .cluster = {1, 1, 1},
                          .shared_bytes = shared,
                          .dynamic_bytes = 12345,
                          .args_bytes = sizeof(int)};

    return shape;
}

static groat__module *load(void *state, groat__shape *shape)
{
    const Elf64_Ehdr cubin = make_cubin();
    groat_error error = GROAT_ERROR_INIT;
    groat__module *module = NULL;

    ck_assert_msg(DEVICE->load(state, &sm_90a, &cubin, sizeof(cubin), "k",
                               shape, &module, &error) == GROAT_OK,
                  "%s", error.text);
    return module;
}

/* ---- devices ------------------------------------------------------------ */

START_TEST(facts_of_devices)
{
    static const struct {
        int capability[2];
        const char *target;
    } archs[] = {{{8, 0}, "cuda:sm_80"},    {{8, 9}, "cuda:sm_89"},
                 {{9, 0}, "cuda:sm_90a"},   {{10, 0}, "cuda:sm_100a"},
                 {{10, 3}, "cuda:sm_103a"}, {{12, 0}, "cuda:sm_120a"},
                 {{12, 1}, "cuda:sm_121a"}, {{11, 0}, "cuda:sm_110a"}};
    shim_rig rig = rig_open();
    groat_device_info info = {.size = sizeof(info)};
    groat_error error = GROAT_ERROR_INIT;
    void *state = open_state(&rig.env);

    ck_assert_uint_eq(DEVICE->count(state), 2);
    for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]); i++) {
        memcpy(rig.cuda->capability, archs[i].capability,
               sizeof(rig.cuda->capability));
        ck_assert_int_eq(DEVICE->facts(state, 1, &info, NULL), GROAT_OK);
        ck_assert_str_eq(info.target, archs[i].target);
    }
    ck_assert_uint_eq(info.size, sizeof(info));
    ck_assert_str_eq(info.name, "Shim\tGPU");
    ck_assert_int_eq(info.ordinal, 1);
    ck_assert_uint_eq(info.memory_bytes, (uint64_t)1 << 37);
    ck_assert_int_eq(info.multiprocessors, 132);
    ck_assert_int_eq(info.shared_bytes_max, 232448);
    ck_assert_int_eq(info.clock_khz, 1980000);
    ck_assert_int_eq(DEVICE->facts(state, 2, &info, &error), GROAT_INVALID);
    ck_assert_str_eq(error.text, "there is no CUDA device 2; this driver has "
                                 "2, counted from 0");
    groat_error_clear(&error);
    DEVICE->close(state);
    ck_assert_int_eq(rig.cuda->pushes, 0);
    rig_close(&rig);
}
END_TEST

START_TEST(no_devices)
{
    const Elf64_Ehdr cubin = make_cubin();
    shim_rig rig = rig_open();
    groat__shape shape = make_shape(0);
    groat_error error = GROAT_ERROR_INIT;
    groat__str out = {0};
    groat__module *module = NULL;
    uint64_t address = 7;
    void *state;

    rig.cuda->devices = 0;
    state = open_state(&rig.env);
    ck_assert_uint_eq(DEVICE->count(state), 0);
    ck_assert_int_eq(DEVICE->load(state, &sm_90a, &cubin, sizeof(cubin), "k",
                                  &shape, &module, &error),
                     GROAT_NO_DEVICE);
    ck_assert_ptr_null(module);
    ck_assert_int_eq(DEVICE->alloc(state, 8, &address, &error),
                     GROAT_NO_DEVICE);
    ck_assert_uint_eq(address, 7);
    ck_assert_int_eq(DEVICE->sync(state, &error), GROAT_NO_DEVICE);
    DEVICE->doctor(state, &rig.env, &out);
    ck_assert_ptr_nonnull(strstr(out.data, "libcuda\t1\t"));
    ck_assert_ptr_nonnull(strstr(out.data, "cuda devices\t0\t"));
    groat__str_free(&out);
    groat_error_clear(&error);
    DEVICE->close(state);
    DEVICE->close(NULL);
    rig_close(&rig);
}
END_TEST

START_TEST(wanted_device)
{
    static const int absent[] = {-1, 2, 99};
    shim_rig rig = rig_open();
    groat_error error = GROAT_ERROR_INIT;
    void *state;

    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
        rig.env.device = absent[i];
        state = open_state(&rig.env);
        ck_assert_int_eq(DEVICE->sync(state, &error), GROAT_NO_DEVICE);
        ck_assert_ptr_nonnull(strstr(error.text, "this driver has 2"));
        DEVICE->close(state);
    }
    rig.env.device = 1;
    state = open_state(&rig.env);
    ck_assert_int_eq(DEVICE->sync(state, NULL), GROAT_OK);
    ck_assert_int_eq(rig.cuda->retained, 1);
    DEVICE->close(state);
    groat_error_clear(&error);
    rig_close(&rig);
}
END_TEST

/* ---- loading ------------------------------------------------------------ */

START_TEST(load_resolves_eagerly)
{
    shim_rig rig = rig_open();
    void *state = open_state(&rig.env);
    groat__shape shape = make_shape(40 << 10);
    groat__module *module = load(state, &shape);
    groat_facts facts = {-1, -1, -1, -1, -1, -1};
    groat_facts known = {1, 2, 3, 4, 5, 6};

    ck_assert_uint_eq(shape.dynamic_bytes, (40U << 10) - 1024);
    ck_assert_int_eq(rig.cuda->loads, 1);
    ck_assert_int_eq(rig.cuda->dynamic_max, 0);
    ck_assert_ptr_nonnull(DEVICE->native(module));
    rig.cuda->calls = 0;
    DEVICE->facts_of(state, module, &facts);
    ck_assert_int_eq(rig.cuda->calls, 0);
    ck_assert_int_eq(facts.registers, 77);
    ck_assert_int_eq(facts.sgprs, -1);
    ck_assert_int_eq(facts.spill_bytes, 24);
    ck_assert_int_eq(facts.shared_bytes, 1024);
    ck_assert_int_eq(facts.code_bytes, sizeof(Elf64_Ehdr));
    ck_assert_int_eq(facts.max_threads, 640);
    DEVICE->facts_of(state, module, &known);
    ck_assert_int_eq(known.registers, 1);
    ck_assert_int_eq(known.max_threads, 6);
    DEVICE->unload(state, module);
    DEVICE->close(state);
    rig_close(&rig);
}
END_TEST

START_TEST(shared_memory_limits)
{
    const Elf64_Ehdr cubin = make_cubin();
    shim_rig rig = rig_open();
    void *state = open_state(&rig.env);
    groat_error error = GROAT_ERROR_INIT;
    groat__shape shape = make_shape(48 << 10);
    groat__module *module = load(state, &shape);

    ck_assert_int_eq(rig.cuda->dynamic_max, 0);
    DEVICE->unload(state, module);

    shape = make_shape((48 << 10) + 1);
    module = load(state, &shape);
    ck_assert_uint_eq(shape.dynamic_bytes, (48U << 10) + 1 - 1024);
    ck_assert_int_eq(rig.cuda->dynamic_max, (48 << 10) + 1 - 1024);
    DEVICE->unload(state, module);

    shape = make_shape(232448);
    module = load(state, &shape);
    ck_assert_int_eq(rig.cuda->dynamic_max, 232448 - 1024);
    DEVICE->unload(state, module);

    shape = make_shape(232449);
    module = NULL;
    ck_assert_int_eq(DEVICE->load(state, &sm_90a, &cubin, sizeof(cubin), "k",
                                  &shape, &module, &error),
                     GROAT_NO_DEVICE);
    ck_assert_ptr_null(module);
    ck_assert_uint_eq(shape.dynamic_bytes, 12345);
    ck_assert_ptr_nonnull(strstr(error.text, "232449 bytes"));
    ck_assert_ptr_nonnull(strstr(error.text, "this device allows 232448"));
    groat_error_clear(&error);

    shape = make_shape(1000);
    module = load(state, &shape);
    ck_assert_uint_eq(shape.dynamic_bytes, 0);
    DEVICE->unload(state, module);
    DEVICE->close(state);
    rig_close(&rig);
}
END_TEST

START_TEST(refused_images)
{
    static const char half[] = "// a\0b";
    const Elf64_Ehdr cubin = make_cubin();
    Elf64_Ehdr wild = cubin;
    const struct {
        const void *data;
        size_t bytes;
    } images[] = {{&cubin, sizeof(cubin) - 1}, {&cubin, 0}, {ptx, 3},
                  {half, sizeof(half)},        {"", 1},     {"x", 2},
                  {&wild, sizeof(wild)}};
    shim_rig rig = rig_open();
    void *state = open_state(&rig.env);
    groat_error error = GROAT_ERROR_INIT;
    groat__shape shape = make_shape(0);
    groat__module *module = NULL;

    wild.e_shoff = 60;
    wild.e_shnum = 60000;
    wild.e_shentsize = 64;
    for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
        ck_assert_int_eq(DEVICE->load(state, &sm_90a, images[i].data,
                                      images[i].bytes, "k", &shape, &module,
                                      &error),
                         GROAT_LOAD_FAILED);
        ck_assert_ptr_null(module);
    }
    ck_assert_int_eq(
        DEVICE->load(state, &sm_90a, "x", 2, "k", &shape, &module, &error),
        GROAT_LOAD_FAILED);
    ck_assert_str_eq(error.vendor_call, "cuModuleLoadDataEx");
    ck_assert_int_eq(error.vendor_code, CUDA_ERROR_INVALID_IMAGE);
    ck_assert_str_eq(error.log, "shim: this image is refused");
    ck_assert_ptr_nonnull(strstr(error.text, "driver 13.0"));
    ck_assert_int_eq(DEVICE->load(state, &sm_90a, ptx, sizeof(ptx), "absent",
                                  &shape, &module, &error),
                     GROAT_LOAD_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "'absent'"));
    ck_assert_int_eq(DEVICE->load(state, &sm_90a, ptx, sizeof(ptx), "k", &shape,
                                  &module, &error),
                     GROAT_OK);
    DEVICE->unload(state, module);
    groat_error_clear(&error);
    DEVICE->close(state);
    rig_close(&rig);
}
END_TEST

/* A fault that lies in the context must not make core compile again. */
START_TEST(load_status_says_what_helps)
{
    static const struct {
        int code;
        groat_status status;
    } cases[] = {{2, GROAT_NO_MEMORY},     {200, GROAT_LOAD_FAILED},
                 {209, GROAT_LOAD_FAILED}, {218, GROAT_LOAD_FAILED},
                 {222, GROAT_LOAD_FAILED}, {201, GROAT_NO_DEVICE},
                 {100, GROAT_NO_DEVICE},   {700, GROAT_NO_DEVICE},
                 {900, GROAT_NO_DEVICE}};
    const Elf64_Ehdr cubin = make_cubin();
    shim_rig rig = rig_open();
    void *state = open_state(&rig.env);
    groat__shape shape = make_shape(0);
    groat__module *module = NULL;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        shim_fail(&rig.cuda->fault, "cuModuleLoadDataEx", 1, cases[i].code);
        ck_assert_int_eq(DEVICE->load(state, &sm_90a, &cubin, sizeof(cubin),
                                      "k", &shape, &module, NULL),
                         cases[i].status);
    }
    ck_assert_ptr_null(module);
    DEVICE->close(state);
    rig_close(&rig);
}
END_TEST

/* ---- launching ---------------------------------------------------------- */

START_TEST(launch_passes_everything_on)
{
    shim_rig rig = rig_open();
    void *state = open_state(&rig.env);
    groat__shape shape = make_shape(50 << 10);
    groat__module *module = load(state, &shape);
    int stream = 0;
    const groat_launch launch = {sizeof(launch), {3, 5, 7}, &stream};
    const int args = 4711;

    ck_assert_int_eq(
        DEVICE->launch(state, module, &shape, &launch, &args, NULL), GROAT_OK);
    ck_assert_mem_eq(rig.cuda->last.grid, launch.grid, sizeof(launch.grid));
    ck_assert_mem_eq(rig.cuda->last.block, shape.block, sizeof(shape.block));
    ck_assert_uint_eq(rig.cuda->last.shared, shape.dynamic_bytes);
    ck_assert_ptr_eq(rig.cuda->last.stream, &stream);
    ck_assert_int_eq(rig.cuda->last.arg, 4711);
    ck_assert(!rig.cuda->last.extended);
    shape.args_bytes = 0;
    ck_assert_int_eq(DEVICE->launch(state, module, &shape, &launch, NULL, NULL),
                     GROAT_OK);
    ck_assert_int_eq(rig.cuda->last.arg, 0);
    DEVICE->unload(state, module);
    DEVICE->close(state);
    rig_close(&rig);
}
END_TEST

START_TEST(clusters)
{
    const Elf64_Ehdr cubin = make_cubin();
    shim_rig rig = rig_open();
    void *state = open_state(&rig.env);
    groat_error error = GROAT_ERROR_INIT;
    groat__shape shape = make_shape(0);
    groat_launch launch = GROAT_LAUNCH_INIT;
    groat__module *module;
    const int args = 1;

    shape.cluster[0] = 2;
    shape.cluster[1] = 4;
    module = load(state, &shape);
    ck_assert_int_eq(rig.cuda->wide_cluster, 0);
    launch.grid[0] = 8;
    launch.grid[1] = 4;
    ck_assert_int_eq(
        DEVICE->launch(state, module, &shape, &launch, &args, &error),
        GROAT_OK);
    ck_assert(rig.cuda->last.extended);
    ck_assert_mem_eq(rig.cuda->last.cluster, shape.cluster,
                     sizeof(shape.cluster));
    ck_assert_mem_eq(rig.cuda->last.grid, launch.grid, sizeof(launch.grid));
    ck_assert_int_eq(rig.cuda->last.arg, 1);
    DEVICE->unload(state, module);
    shape.cluster[2] = 2;
    module = load(state, &shape);
    ck_assert_int_eq(rig.cuda->wide_cluster, 1);
    DEVICE->unload(state, module);
    DEVICE->close(state);

    rig.cuda->proc_address = false; /* a driver without the optional calls */
    rig.cuda->driver = 11040;
    rig.cuda->loads = 0;
    state = open_state(&rig.env);
    module = NULL;
    ck_assert_int_eq(DEVICE->load(state, &sm_90a, &cubin, sizeof(cubin), "k",
                                  &shape, &module, &error),
                     GROAT_NO_DEVICE);
    ck_assert_ptr_null(module);
    ck_assert_ptr_nonnull(
        strstr(error.text, "driver 11.4 has no cuLaunchKernelEx"));
    shape = make_shape(0);
    module = load(state, &shape);
    ck_assert_int_eq(rig.cuda->loads, 0);
    DEVICE->unload(state, module);
    DEVICE->close(state);
    groat_error_clear(&error);
    rig_close(&rig);
}
END_TEST

START_TEST(callers_context_is_used)
{
    shim_rig rig = rig_open();
    void *state = open_state(&rig.env);
    groat__shape shape = make_shape(0);
    groat_launch launch = GROAT_LAUNCH_INIT;
    groat__module *module;
    CUcontext popped;
    const int args = 1;
    uint64_t address;

    ck_assert_int_eq(rig.push(rig.user()), CUDA_SUCCESS);
    rig.cuda->pushes = 0;
    module = load(state, &shape);
    ck_assert_int_eq(DEVICE->alloc(state, 64, &address, NULL), GROAT_OK);
    DEVICE->release(state, address);
    ck_assert_int_eq(DEVICE->sync(state, NULL), GROAT_OK);
    rig.cuda->calls = 0;
    ck_assert_int_eq(
        DEVICE->launch(state, module, &shape, &launch, &args, NULL), GROAT_OK);
    /* The fast path is the vendor's launch and nothing else. */
    ck_assert_int_eq(rig.cuda->calls, 1);
    ck_assert_ptr_eq(rig.cuda->last.context, rig.user());
    ck_assert_int_eq(rig.cuda->pushes, 0);
    ck_assert_int_eq(rig.cuda->retained, 0);
    ck_assert_ptr_eq(current(&rig), rig.user());
    ck_assert_int_eq(rig.pop(&popped), CUDA_SUCCESS);

    /* With no context current, the kernel's own is pushed for the launch. */
    rig.cuda->calls = 0;
    ck_assert_int_eq(
        DEVICE->launch(state, module, &shape, &launch, &args, NULL), GROAT_OK);
    ck_assert_int_eq(rig.cuda->calls, 4);
    ck_assert_int_eq(rig.cuda->launches, 2);
    ck_assert_ptr_eq(rig.cuda->last.context, rig.user());
    ck_assert_ptr_null(current(&rig));
    DEVICE->unload(state, module);
    ck_assert_ptr_null(current(&rig));
    ck_assert_int_eq(rig.cuda->retained, 0);
    DEVICE->close(state);
    rig_close(&rig);
}
END_TEST

START_TEST(primary_context_is_kept_apart)
{
    shim_rig rig = rig_open();
    void *state = open_state(&rig.env);
    groat__shape shape = make_shape(0);
    groat_launch launch = GROAT_LAUNCH_INIT;
    groat__module *module = load(state, &shape);
    const int args = 1;
    CUcontext popped;
    double us = 0;

    ck_assert_int_eq(rig.cuda->retained, 1);
    ck_assert_ptr_null(current(&rig));
    /* Another context is current: launch and time go to the kernel's own. */
    ck_assert_int_eq(rig.push(rig.user()), CUDA_SUCCESS);
    ck_assert_int_eq(
        DEVICE->launch(state, module, &shape, &launch, &args, NULL), GROAT_OK);
    ck_assert_ptr_ne(rig.cuda->last.context, rig.user());
    ck_assert_ptr_nonnull(rig.cuda->last.context);
    ck_assert_int_eq(
        DEVICE->time(state, module, &shape, &launch, &args, 3, &us, NULL),
        GROAT_OK);
    ck_assert_int_eq(rig.cuda->launches, 1 + 1 + 3);
    ck_assert_double_eq_tol(us, 500.0, 1e-9);
    ck_assert_ptr_ne(rig.cuda->last.context, rig.user());
    DEVICE->unload(state, module);
    ck_assert_ptr_eq(current(&rig), rig.user());
    ck_assert_int_eq(rig.pop(&popped), CUDA_SUCCESS);
    /* Retained once, however often it is needed. */
    ck_assert_int_eq(DEVICE->sync(state, NULL), GROAT_OK);
    ck_assert_int_eq(rig.cuda->retained, 1);
    DEVICE->close(state);
    rig_close(&rig);
}
END_TEST

START_TEST(launch_errors)
{
    shim_rig rig = rig_open();
    void *state = open_state(&rig.env);
    groat_error error = GROAT_ERROR_INIT;
    groat__shape shape = make_shape(0);
    groat_launch launch = GROAT_LAUNCH_INIT;
    groat__module *module = load(state, &shape);
    const int args = 1;
    double us = 7;

    /* Pushing does not help: the second answer is the one that is told. */
    shim_fail(&rig.cuda->fault, "cuLaunchKernel", 2, 719);
    ck_assert_int_eq(
        DEVICE->launch(state, module, &shape, &launch, &args, &error),
        GROAT_LAUNCH_FAILED);
    ck_assert_int_eq(error.vendor_code, 719);
    ck_assert_ptr_nonnull(strstr(error.text, "grid 1,1,1 block 128,1,1"));
    shim_fail(&rig.cuda->fault, "cuCtxPushCurrent", 1, 201);
    ck_assert_int_eq(
        DEVICE->launch(state, module, &shape, &launch, &args, &error),
        GROAT_LAUNCH_FAILED);
    ck_assert_int_eq(error.vendor_code, CUDA_ERROR_INVALID_CONTEXT);
    ck_assert_int_eq(
        DEVICE->time(state, module, &shape, &launch, &args, 0, &us, &error),
        GROAT_INVALID);
    ck_assert_double_eq(us, 7);
    /* The words of an error may themselves not be had. */
    shim_fail(&rig.cuda->fault, "cuGetErrorName", 1, 1);
    launch.stream = &us;
    rig.cuda->last.stream = NULL;
    ck_assert_int_eq(DEVICE->sync(state, &error), GROAT_OK);
    shim_fail(&rig.cuda->fault, "cuLaunchKernel", 1, 1);
    ck_assert_int_eq(
        DEVICE->launch(state, module, &shape, &launch, &args, &error),
        GROAT_LAUNCH_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "said 1 ("));
    DEVICE->unload(state, module);
    groat_error_clear(&error);
    DEVICE->close(state);
    rig_close(&rig);
}
END_TEST

/* ---- memory ------------------------------------------------------------- */

static void keep_line(void *user, int level, const char *line)
{
    groat__str *lines = user;

    groat__str_addf(lines, "%d %s\n", level, line);
}

START_TEST(memory)
{
    static const char text[] = "bytes";
    shim_rig rig = rig_open();
    groat_error error = GROAT_ERROR_INIT;
    groat__str lines = {0};
    char back[sizeof(text)] = "";
    uint64_t address = 0;
    void *state;

    rig.env.log.fn = keep_line;
    rig.env.log.user = &lines;
    state = open_state(&rig.env);
    ck_assert_int_eq(DEVICE->alloc(state, sizeof(text), &address, NULL),
                     GROAT_OK);
    ck_assert_int_eq(DEVICE->write(state, address, text, sizeof(text), NULL),
                     GROAT_OK);
    ck_assert_int_eq(DEVICE->read(state, back, address, sizeof(back), NULL),
                     GROAT_OK);
    ck_assert_str_eq(back, text);
    shim_fail(&rig.cuda->fault, "cuMemFree", 1, 1);
    DEVICE->release(state, address);
    ck_assert_ptr_nonnull(strstr(lines.data, "1 cuMemFree said 1"));
    ck_assert_int_eq(DEVICE->alloc(state, 0, &address, NULL), GROAT_OK);
    ck_assert_uint_eq(address, 0);
    rig.cuda->calls = 0;
    DEVICE->release(state, 0);
    ck_assert_int_eq(DEVICE->write(state, 0, NULL, 0, NULL), GROAT_OK);
    ck_assert_int_eq(DEVICE->read(state, NULL, 0, 0, NULL), GROAT_OK);
    ck_assert_int_eq(rig.cuda->calls, 0);
    address = 7;
    shim_fail(&rig.cuda->fault, "cuMemAlloc", 1, 2);
    ck_assert_int_eq(DEVICE->alloc(state, 4096, &address, &error),
                     GROAT_NO_MEMORY);
    ck_assert_str_eq(error.text,
                     "cuMemAlloc said 2 (CUDA_ERROR_OUT_OF_MEMORY, the shim "
                     "says no) for 4096 bytes");
    ck_assert_uint_eq(address, 7);
    groat_error_clear(&error);
    groat__str_free(&lines);
    DEVICE->close(state);
    rig_close(&rig);
}
END_TEST

/* ---- every call and every symbol ---------------------------------------- */

typedef struct drive_state {
    void *state;
    groat__module *module;
    uint64_t address;
} drive_state;

static groat_status drive_module(drive_state *drive, const groat__shape *shape,
                                 groat_error *error)
{
    groat_launch launch = GROAT_LAUNCH_INIT;
    const int args = 1;
    double us;
    groat_status status = DEVICE->launch(drive->state, drive->module, shape,
                                         &launch, &args, error);

    if (status == GROAT_OK)
        status = DEVICE->time(drive->state, drive->module, shape, &launch,
                              &args, 2, &us, error);
    return status;
}

static groat_status drive_memory(drive_state *drive, groat_error *error)
{
    char bytes[16] = "";
    groat_status status =
        DEVICE->alloc(drive->state, sizeof(bytes), &drive->address, error);

    if (status == GROAT_OK)
        status = DEVICE->write(drive->state, drive->address, bytes,
                               sizeof(bytes), error);
    if (status == GROAT_OK)
        status = DEVICE->read(drive->state, bytes, drive->address,
                              sizeof(bytes), error);
    if (status == GROAT_OK)
        status = DEVICE->sync(drive->state, error);
    return status;
}

/* Every slot once, with a cluster and without; the first failure ends it. */
static groat_status drive(const groat__env *env, groat_error *error)
{
    const Elf64_Ehdr cubin = make_cubin();
    groat_device_info info = {.size = sizeof(info)};
    drive_state drive = {0};
    groat_status status = DEVICE->open(env, &drive.state, error);

    if (status != GROAT_OK) {
        ck_assert_ptr_null(drive.state);
        return status;
    }
    status = DEVICE->facts(drive.state, 0, &info, error);
    for (unsigned wide = 1; wide <= 16 && status == GROAT_OK; wide += 15) {
        groat__shape shape = make_shape(100 << 10);

        shape.cluster[0] = wide;
        status = DEVICE->load(drive.state, &sm_90a, &cubin, sizeof(cubin), "k",
                              &shape, &drive.module, error);
        if (status != GROAT_OK) {
            ck_assert_ptr_null(drive.module);
            break;
        }
        status = drive_module(&drive, &shape, error);
        DEVICE->unload(drive.state, drive.module);
        drive.module = NULL;
    }
    if (status == GROAT_OK)
        status = drive_memory(&drive, error);
    DEVICE->release(drive.state, drive.address);
    DEVICE->close(drive.state);
    return status;
}

typedef struct vendor_call {
    const char *name;
    const char *symbol;
    bool needed;
} vendor_call;

enum { optional = 0, needed = 1 };

static const vendor_call calls[] = {
#define SYMBOL(need, version, name, symbol, args) {#name, #symbol, need},
#include "backend/cuda.def"
#undef SYMBOL
};

enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

static bool is_one_of(const char *name, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcmp(*list, name) == 0)
            return true;
    return false;
}

/* Giving something back has no way to fail that a caller could act on. */
static const char *const forgiven[] = {"cuMemFree",
                                       "cuModuleUnload",
                                       "cuEventDestroy",
                                       "cuCtxPopCurrent",
                                       "cuDevicePrimaryCtxRelease",
                                       NULL};

/* Only asked for the words of another failure. */
static const char *const words[] = {"cuGetErrorName", "cuGetErrorString",
                                    "cuCtxGetDevice", NULL};

static void check_failure(const char *call, int code, groat_status status,
                          const groat_error *error)
{
    if (is_one_of(call, forgiven)) {
        ck_assert_int_eq(status, GROAT_OK);
        return;
    }
    /* What it did not give is optional, or named as missing. */
    if (strcmp(call, "cuGetProcAddress") == 0) {
        ck_assert(status == GROAT_OK || strstr(error->text, " has no cu"));
        return;
    }
    /* A push before unloading or releasing is of a call without an error. */
    if (status == GROAT_OK && (strcmp(call, "cuCtxPushCurrent") == 0 ||
                               strcmp(call, "cuCtxGetCurrent") == 0))
        return;
    ck_assert_int_lt(status, GROAT_OK);
    ck_assert_int_eq(error->status, status);
    if (strcmp(call, "cuCtxPushCurrent") != 0) {
        ck_assert_str_eq(error->vendor_call, call);
        ck_assert_int_eq(error->vendor_code, code);
    }
    if (code == CUDA_ERROR_OUT_OF_MEMORY &&
        strcmp(call, "cuCtxPushCurrent") != 0)
        ck_assert_int_eq(status, GROAT_NO_MEMORY);
}

/* What could not be pushed for could not be given back either; it is the one
 * thing the driver keeps. */
static void drop_stranded(shim_rig *rig, const char *call)
{
    if (strcmp(call, "cuCtxPushCurrent") == 0 ||
        strcmp(call, "cuCtxGetCurrent") == 0) {
        ck_assert_int_le(rig->cuda->modules, 1);
        ck_assert_int_le(rig->cuda->allocations, 1);
        rig->reap();
    }
}

static void fail_each_time(shim_rig *rig, const char *call, int code, int depth,
                           int *hits)
{
    for (int at = 1;; at++) {
        groat_error error = GROAT_ERROR_INIT;
        groat_status status;

        reset(rig->cuda);
        shim_fail(&rig->cuda->fault, call, at, code);
        status = drive(&rig->env, &error);
        if (!rig->cuda->fault.hit) {
            ck_assert_msg(status == GROAT_OK, "%s", error.text);
            check_clean(rig, depth);
            break;
        }
        (*hits)++;
        check_failure(call, code, status, &error);
        drop_stranded(rig, call);
        check_clean(rig, depth);
        groat_error_clear(&error);
    }
}

START_TEST(each_call_fails_in_turn)
{
    static const int codes[] = {CUDA_ERROR_OUT_OF_MEMORY,
                                CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_UNKNOWN};
    const char *call = calls[_i].name;
    shim_rig rig = rig_open();
    CUcontext popped;
    int hits = 0;

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        fail_each_time(&rig, call, codes[i], 0, &hits);
        reset(rig.cuda);
        ck_assert_int_eq(rig.push(rig.user()), CUDA_SUCCESS);
        if (strcmp(call, "cuCtxPushCurrent") != 0)
            fail_each_time(&rig, call, codes[i], 1, &hits);
        ck_assert_ptr_eq(current(&rig), rig.user());
        reset(rig.cuda);
        ck_assert_int_eq(rig.pop(&popped), CUDA_SUCCESS);
    }
    ck_assert(is_one_of(call, words) ? hits == 0 : hits > 0);
    rig_close(&rig);
}
END_TEST

START_TEST(words_may_be_missing)
{
    static const struct {
        const char *call;
        const char *instead;
    } cases[] = {{"cuGetErrorName", "(no name, the shim says no)"},
                 {"cuGetErrorString", "(CUDA_ERROR_OF_THE_SHIM, no text)"},
                 {"cuCtxGetDevice", "this device allows -1"}};
    const Elf64_Ehdr cubin = make_cubin();
    shim_rig rig = rig_open();
    void *state = open_state(&rig.env);
    groat_error error = GROAT_ERROR_INIT;
    groat__module *module = NULL;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        groat__shape shape = make_shape(1 << 20);

        shim_fail(&rig.cuda->fault, cases[i].call, 1, 999);
        ck_assert_int_eq(DEVICE->load(state, &sm_90a, &cubin, sizeof(cubin),
                                      "k", &shape, &module, &error),
                         GROAT_NO_DEVICE);
        ck_assert_ptr_nonnull(strstr(error.text, cases[i].instead));
    }
    ck_assert_ptr_null(module);
    groat_error_clear(&error);
    DEVICE->close(state);
    rig_close(&rig);
}
END_TEST

/* Hides one symbol from dlsym, and cuGetProcAddress with it; from a driver that
 * has cuGetProcAddress every symbol is found whatever its plain name. */
START_TEST(each_missing_symbol_is_named)
{
    const vendor_call *call = &calls[_i];
    const char *const both[] = {"cuGetProcAddress_v2", call->symbol, NULL};
    bool is_lookup = strcmp(call->symbol, both[0]) == 0;
    const char *const lookup[] = {both[0], NULL};
    const char *shim = shim_path("GROAT_TEST_CUDA_SHIM");
    char *folder = shim_folder_make();
    char *path = shim_copy(shim, folder, "lib.so", is_lookup ? lookup : both);
    groat_error error = GROAT_ERROR_INIT;
    groat__env env = {.cuda = path};
    void *state = NULL;
    void *handle;
    groat_status status;

    reset(shim_control(path, "shim_cuda", &handle));
    status = DEVICE->open(&env, &state, &error);
    if (call->needed) {
        ck_assert_int_eq(status, GROAT_NO_DEVICE);
        ck_assert_msg(strstr(error.text, call->symbol) != NULL, "%s",
                      error.text);
        ck_assert_ptr_nonnull(strstr(error.text, path));
        ck_assert_ptr_null(state);
    } else {
        ck_assert_msg(status == GROAT_OK, "%s", error.text);
        DEVICE->close(state);
    }
    (void)dlclose(handle);
    groat_error_clear(&error);
    free(path);
    shim_folder_remove(folder);
}
END_TEST

START_TEST(old_driver_goes_by_plain_names)
{
    const char *const hidden[] = {"cuGetProcAddress_v2", NULL};
    char *folder = shim_folder_make();
    char *path =
        shim_copy(shim_path("GROAT_TEST_CUDA_SHIM"), folder, "lib.so", hidden);
    shim_rig rig = rig_open_path(path);
    groat_error error = GROAT_ERROR_INIT;

    ck_assert_msg(drive(&rig.env, &error) == GROAT_OK, "%s", error.text);
    ck_assert_int_gt(rig.cuda->launches, 0);
    ck_assert_int_eq(rig.cuda->loads, 2);
    rig_close(&rig);
    free(path);
    shim_folder_remove(folder);
}
END_TEST

START_TEST(wrong_libraries)
{
    static const char *const paths[] = {"/etc/passwd", "/nonexistent/x.so",
                                        "/"};
    shim_rig rig = rig_open();
    groat_error error = GROAT_ERROR_INIT;
    groat__str out = {0};
    void *state = NULL;

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        rig.env.cuda = paths[i];
        ck_assert_int_eq(DEVICE->open(&rig.env, &state, &error),
                         GROAT_NO_DEVICE);
        ck_assert_ptr_nonnull(strstr(error.text, "GROAT_CUDA"));
        ck_assert_ptr_nonnull(strstr(error.text, paths[i]));
        groat__str_clear(&out);
        DEVICE->doctor(NULL, &rig.env, &out);
        ck_assert_ptr_eq(strstr(out.data, "libcuda\t0\t"), out.data);
        ck_assert_ptr_eq(strchr(out.data, '\n'), out.data + out.len - 1);
    }
    ck_assert_ptr_null(state);
    groat__str_free(&out);
    groat_error_clear(&error);
    rig_close(&rig);
}
END_TEST

START_TEST(doctor_lists_devices)
{
    shim_rig rig = rig_open();
    groat__str out = {0};

    DEVICE->doctor(NULL, &rig.env, &out);
    ck_assert_ptr_eq(strstr(out.data, "libcuda\t1\t"), out.data);
    ck_assert_ptr_nonnull(strstr(out.data, ", driver 13.0, build "));
    ck_assert_ptr_nonnull(strstr(out.data, "\ncuda device 0\t1\tcuda:sm_90a, "
                                           "Shim GPU, 132 SMs, 131072 MiB, "
                                           "227 KiB shared\n"));
    ck_assert_ptr_nonnull(strstr(out.data, "\ncuda device 1\t1\t"));
    groat__str_clear(&out);
    shim_fail(&rig.cuda->fault, "cuDeviceGetName", 2, 999);
    DEVICE->doctor(NULL, &rig.env, &out);
    ck_assert_ptr_nonnull(strstr(out.data, "\ncuda device 1\t0\tcuDeviceGet"));
    groat__str_clear(&out);
    shim_fail(&rig.cuda->fault, "cuInit", 1, 999);
    DEVICE->doctor(NULL, &rig.env, &out);
    ck_assert_ptr_nonnull(strstr(out.data, "libcuda\t0\tcuInit said 999"));
    groat__str_free(&out);
    rig_close(&rig);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("shim cuda");
    TCase *tests = tcase_create("device");

    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, facts_of_devices);
    tcase_add_test(tests, no_devices);
    tcase_add_test(tests, wanted_device);
    tcase_add_test(tests, load_resolves_eagerly);
    tcase_add_test(tests, shared_memory_limits);
    tcase_add_test(tests, refused_images);
    tcase_add_test(tests, load_status_says_what_helps);
    tcase_add_test(tests, launch_passes_everything_on);
    tcase_add_test(tests, clusters);
    tcase_add_test(tests, callers_context_is_used);
    tcase_add_test(tests, primary_context_is_kept_apart);
    tcase_add_test(tests, launch_errors);
    tcase_add_test(tests, memory);
    tcase_add_loop_test(tests, each_call_fails_in_turn, 0, CALLS);
    tcase_add_test(tests, words_may_be_missing);
    tcase_add_loop_test(tests, each_missing_symbol_is_named, 0, CALLS);
    tcase_add_test(tests, old_driver_goes_by_plain_names);
    tcase_add_test(tests, wrong_libraries);
    tcase_add_test(tests, doctor_lists_devices);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(make_suite());
    int failed;

    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
