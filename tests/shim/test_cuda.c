/* SPDX-License-Identifier: Apache-2.0
 *
 * test_cuda.c drives every slot of groat__device_cuda through the stand-in
 * libcuda: successful calls, refused ones, and whose context is current when.
 * Failing calls are in test_cuda_calls.c.
 */
#include <pthread.h>

#include "tests/shim/cuda_rig.h"

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
    for (size_t i = 0; i < COUNT(archs); i++) {
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
    DEVICE->part.close(state);
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
    groat__part_report(&DEVICE->part, state, &rig.env, &out);
    ck_assert_ptr_nonnull(strstr(out.data, "libcuda\t1\t"));
    ck_assert_ptr_nonnull(strstr(out.data, "cuda devices\t0\t"));
    groat__str_free(&out);
    groat_error_clear(&error);
    DEVICE->part.close(state);
    DEVICE->part.close(NULL);
    rig_close(&rig);
}
END_TEST

START_TEST(wanted_device)
{
    static const int absent[] = {-1, 2, 99};
    shim_rig rig = rig_open();
    groat_error error = GROAT_ERROR_INIT;
    void *state;

    for (size_t i = 0; i < COUNT(absent); i++) {
        rig.env.device = absent[i];
        state = open_state(&rig.env);
        ck_assert_int_eq(DEVICE->sync(state, &error), GROAT_NO_DEVICE);
        ck_assert_ptr_nonnull(strstr(error.text, "this driver has 2"));
        DEVICE->part.close(state);
    }
    rig.env.device = 1;
    state = open_state(&rig.env);
    ck_assert_int_eq(DEVICE->sync(state, NULL), GROAT_OK);
    ck_assert_int_eq(rig.cuda->retained, 1);
    DEVICE->part.close(state);
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
    DEVICE->part.close(state);
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
    DEVICE->part.close(state);
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
    for (size_t i = 0; i < COUNT(images); i++) {
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
    DEVICE->part.close(state);
    rig_close(&rig);
}
END_TEST

/* A fault of the context must not make core compile again. */
START_TEST(load_status_says_what_helps)
{
    static const struct {
        int code;
        groat_status status;
    } cases[] = {{2, GROAT_NO_MEMORY},     {200, GROAT_LOAD_FAILED},
                 {209, GROAT_NO_DEVICE},   {218, GROAT_LOAD_FAILED},
                 {222, GROAT_LOAD_FAILED}, {201, GROAT_NO_DEVICE},
                 {100, GROAT_NO_DEVICE},   {700, GROAT_NO_DEVICE},
                 {900, GROAT_NO_DEVICE}};
    const Elf64_Ehdr cubin = make_cubin();
    shim_rig rig = rig_open();
    void *state = open_state(&rig.env);
    groat__shape shape = make_shape(0);
    groat__module *module = NULL;

    for (size_t i = 0; i < COUNT(cases); i++) {
        shim_fail(&rig.cuda->fault, "cuModuleLoadDataEx", 1, cases[i].code);
        ck_assert_int_eq(DEVICE->load(state, &sm_90a, &cubin, sizeof(cubin),
                                      "k", &shape, &module, NULL),
                         cases[i].status);
    }
    ck_assert_ptr_null(module);
    DEVICE->part.close(state);
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
    DEVICE->part.close(state);
    rig_close(&rig);
}
END_TEST

static void launch_one(void *state, const groat__shape *shape)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_launch launch = GROAT_LAUNCH_INIT;
    groat__shape loaded = *shape;
    groat__module *module = load(state, &loaded);
    const int args = 1;

    launch.grid[0] = 2;
    ck_assert_int_eq(
        DEVICE->launch(state, module, &loaded, &launch, &args, &error),
        GROAT_OK);
    DEVICE->unload(state, module);
}

/* A driver that cannot let launches overlap runs them one after the other. */
START_TEST(overlapping_launches)
{
    shim_rig rig = rig_open();
    void *state = open_state(&rig.env);
    groat__shape shape = make_shape(0);

    launch_one(state, &shape);
    ck_assert(!rig.cuda->last.extended && !rig.cuda->last.overlaps);
    shape.overlaps = true;
    launch_one(state, &shape);
    ck_assert(rig.cuda->last.extended && rig.cuda->last.overlaps);
    ck_assert_uint_eq(rig.cuda->last.cluster[0], 1);
    shape.cluster[0] = 2;
    launch_one(state, &shape);
    ck_assert(rig.cuda->last.overlaps);
    ck_assert_uint_eq(rig.cuda->last.cluster[0], 2);
    shape.overlaps = false;
    launch_one(state, &shape);
    ck_assert(!rig.cuda->last.overlaps);
    DEVICE->part.close(state);

    rig.cuda->proc_address = false;
    rig.cuda->driver = 11040;
    state = open_state(&rig.env);
    shape = make_shape(0);
    shape.overlaps = true;
    launch_one(state, &shape);
    ck_assert(!rig.cuda->last.extended && !rig.cuda->last.overlaps);
    DEVICE->part.close(state);
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
    DEVICE->part.close(state);

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
    DEVICE->part.close(state);
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
    /* The fast path asks for the current context, launches, and no more. */
    ck_assert_int_eq(rig.cuda->calls, 2);
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
    DEVICE->part.close(state);
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
    ck_assert_int_eq(rig.cuda->launches, 1 + 3);
    ck_assert_double_eq_tol(us, 500.0, 1e-9);
    ck_assert_ptr_ne(rig.cuda->last.context, rig.user());
    DEVICE->unload(state, module);
    ck_assert_ptr_eq(current(&rig), rig.user());
    ck_assert_int_eq(rig.pop(&popped), CUDA_SUCCESS);
    /* Retained once, however often it is used. */
    ck_assert_int_eq(DEVICE->sync(state, NULL), GROAT_OK);
    ck_assert_int_eq(rig.cuda->retained, 1);
    DEVICE->part.close(state);
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

    shim_fail(&rig.cuda->fault, "cuLaunchKernel", 1, 719);
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
    /* The text of an error may be missing, too. */
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
    DEVICE->part.close(state);
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
    shim_fail(&rig.cuda->fault, "cuMemAlloc", 1, CUDA_ERROR_ILLEGAL_ADDRESS);
    ck_assert_int_eq(DEVICE->alloc(state, 4096, &address, &error),
                     GROAT_NO_DEVICE);
    ck_assert_uint_eq(address, 7);
    groat_error_clear(&error);
    groat__str_free(&lines);
    DEVICE->part.close(state);
    rig_close(&rig);
}
END_TEST

/* ---- capture ----------------------------------------------------------- */

START_TEST(nothing_is_loaded_into_a_capture)
{
    shim_rig rig = rig_open();
    void *state = open_state(&rig.env);
    groat_error error = GROAT_ERROR_INIT;
    int place = 0;
    void *const streams[] = {NULL, &place};

    for (size_t i = 0; i < COUNT(streams); i++) {
        rig.cuda->capture = CU_STREAM_CAPTURE_STATUS_NONE;
        ck_assert_int_eq(DEVICE->may_load(state, streams[i], &error), GROAT_OK);
        rig.cuda->capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
        ck_fails(DEVICE->may_load(state, streams[i], &error), GROAT_CAPTURING,
                 &error, "while a graph is captured from its stream");
        rig.cuda->capture = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
        ck_fails(DEVICE->may_load(state, streams[i], &error),
                 GROAT_LAUNCH_FAILED, &error, "was not ended");
    }
    ck_assert_ptr_null(current(&rig));
    DEVICE->part.close(state);
    rig_close(&rig);
}
END_TEST

/* A load and an unload change neither another thread's capture nor the thread's
 * mode. */
START_TEST(loads_do_not_disturb_a_capture)
{
    static const int modes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL, 1,
                                CU_STREAM_CAPTURE_MODE_RELAXED};
    shim_rig rig = rig_open();
    void *state = open_state(&rig.env);

    rig.cuda->capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    for (size_t i = 0; i < COUNT(modes); i++) {
        groat__shape shape = make_shape(0);
        groat__module *module;
        int loads = rig.cuda->loads;

        rig.cuda->mode = modes[i];
        module = load(state, &shape);
        ck_assert_int_eq(rig.cuda->mode, modes[i]);
        /* No loading is left to the first launch. */
        ck_assert_int_eq(rig.cuda->loads, loads + 1);
        DEVICE->unload(state, module);
        ck_assert_int_eq(rig.cuda->mode, modes[i]);
        ck_assert_int_eq(rig.cuda->capture, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    }
    DEVICE->part.close(state);
    rig_close(&rig);
}
END_TEST

/* A driver without the calls for captures. */
START_TEST(captures_of_an_old_driver)
{
    shim_rig rig = rig_open();
    groat_error error = GROAT_ERROR_INIT;
    groat__shape shape = make_shape(0);
    groat__module *module;
    void *state;

    rig.cuda->proc_address = false;
    state = open_state(&rig.env);
    rig.cuda->capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    ck_assert_int_eq(DEVICE->may_load(state, NULL, &error), GROAT_OK);
    rig.cuda->capture = CU_STREAM_CAPTURE_STATUS_NONE;
    module = load(state, &shape);
    DEVICE->unload(state, module);
    DEVICE->part.close(state);
    rig_close(&rig);
}
END_TEST

/* ---- idle modules ------------------------------------------------------ */

typedef struct noted {
    void *state;
    groat__module *module;
    groat__shape *shape;
    void *stream;
    bool captured;
    groat_status status;
} noted;

static void *launch_noted(void *user)
{
    const groat_launch launch = {
        sizeof(launch), {1, 1, 1}, ((noted *)user)->stream};
    noted *n = user;
    const int args = 1;

    n->captured = false;
    n->status = DEVICE->launch_noted(n->state, n->module, n->shape, &launch,
                                     &args, &n->captured, NULL);
    return NULL;
}

static void note(noted *n, void *stream)
{
    n->stream = stream;
    (void)launch_noted(n);
    ck_assert_int_eq(n->status, GROAT_OK);
}

START_TEST(noted_launches)
{
    shim_rig rig = rig_open();
    groat__shape shape = make_shape(0);
    noted n = {.state = open_state(&rig.env), .shape = &shape};
    int places[6];
    int before;

    n.module = load(n.state, &shape);
    before = rig.cuda->mode;
    ck_assert(DEVICE->idle(n.state, n.module));
    rig.cuda->running = true;
    ck_assert(DEVICE->idle(n.state, n.module));
    for (size_t i = 0; i < COUNT(places); i++)
        note(&n, &places[i]);
    ck_assert_int_eq(rig.cuda->events, COUNT(places));
    ck_assert(!DEVICE->idle(n.state, n.module));
    /* The same stream again: its event is recorded after the earlier work. */
    note(&n, &places[0]);
    ck_assert_int_eq(rig.cuda->waits, 1);
    ck_assert_int_eq(rig.cuda->events, COUNT(places));
    rig.cuda->running = false;
    ck_assert(DEVICE->idle(n.state, n.module));
    /* The default stream has an event of its own, too. */
    note(&n, NULL);
    ck_assert_int_eq(rig.cuda->events, COUNT(places) + 1);
    ck_assert_int_eq(rig.cuda->mode, before);
    ck_assert(!n.captured);
    DEVICE->unload(n.state, n.module);
    DEVICE->part.close(n.state);
    rig_close(&rig);
}
END_TEST

/* Behind that one handle each thread has a stream of its own. */
START_TEST(streams_of_threads)
{
    void *const per_thread = (void *)(uintptr_t)2;
    shim_rig rig = rig_open();
    groat__shape shape = make_shape(0);
    noted n = {.state = open_state(&rig.env), .shape = &shape};
    noted other;
    pthread_t thread;

    n.module = load(n.state, &shape);
    rig.cuda->running = true;
    note(&n, per_thread);
    other = n;
    ck_assert_int_eq(pthread_create(&thread, NULL, launch_noted, &other), 0);
    (void)pthread_join(thread, NULL);
    ck_assert_int_eq(other.status, GROAT_OK);
    ck_assert_int_eq(rig.cuda->events, 2);
    ck_assert_int_eq(rig.cuda->waits, 0);
    note(&n, per_thread);
    ck_assert_int_eq(rig.cuda->events, 2);
    ck_assert_int_eq(rig.cuda->waits, 1);
    DEVICE->unload(n.state, n.module);
    DEVICE->part.close(n.state);
    rig_close(&rig);
}
END_TEST

START_TEST(noted_launches_and_captures)
{
    shim_rig rig = rig_open();
    groat__shape shape = make_shape(0);
    noted n = {.state = open_state(&rig.env), .shape = &shape};
    int place = 0;

    n.module = load(n.state, &shape);
    note(&n, &place);
    rig.cuda->capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    note(&n, &place);
    ck_assert(n.captured);
    ck_assert_int_eq(rig.cuda->waits, 0);
    /* The module is not idle meanwhile, and the question breaks no capture. */
    ck_assert(!DEVICE->idle(n.state, n.module));
    ck_assert_int_eq(rig.cuda->capture, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    rig.cuda->capture = CU_STREAM_CAPTURE_STATUS_NONE;
    ck_assert(DEVICE->idle(n.state, n.module));
    DEVICE->unload(n.state, n.module);
    DEVICE->part.close(n.state);
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
    tcase_add_test(tests, overlapping_launches);
    tcase_add_test(tests, callers_context_is_used);
    tcase_add_test(tests, primary_context_is_kept_apart);
    tcase_add_test(tests, launch_errors);
    tcase_add_test(tests, memory);
    tcase_add_test(tests, nothing_is_loaded_into_a_capture);
    tcase_add_test(tests, loads_do_not_disturb_a_capture);
    tcase_add_test(tests, captures_of_an_old_driver);
    tcase_add_test(tests, noted_launches);
    tcase_add_test(tests, streams_of_threads);
    tcase_add_test(tests, noted_launches_and_captures);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
