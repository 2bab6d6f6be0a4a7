/* SPDX-License-Identifier: Apache-2.0
 *
 * hip_bench.h - shared by the tests of hiprtc.c and hip.c over stand-ins: the
 * stand-ins' files from $GROAT_TEST_*_SHIM and their controls, and whole runs
 * of a compiler and of a device that return their first failure.
 */
#ifndef GROAT_TESTS_HIP_BENCH_H
#define GROAT_TESTS_HIP_BENCH_H

#include <dlfcn.h>

#include "backend/backend.h"
#include "tests/shim/amdgpu_object.h"
#include "tests/shim/shim_hip.h"
#include "tests/unit/suite.h"

/* The caller's device; the context uses device 1. */
enum { CALLERS_DEVICE = 0, OWN_DEVICE = 1 };

static const char source[] =
    "extern \"C\" __global__ void copy_tile(struct args a) {}\n";

static const groat__compiler *const rtc = &groat__compiler_hiprtc;
static const groat__device *const hip = &groat__device_hip;

/* The state of one test. */
typedef struct bench {
    groat__env env;
    shim_hiprtc_control *rtc;
    shim_comgr_control *comgr;
    shim_hip_control *hip;
    bool idle; /* run_device: idle after launches that were noted */
    groat_error error;
} bench;

static inline void *control_of(const char *path, const char *symbol)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *address;
    void *(*get)(void);

    ck_assert_msg(handle != NULL, "%s", path);
    address = dlsym(handle, symbol);
    ck_assert_msg(address != NULL, "%s in %s", symbol, path);
    memcpy(&get, &address, sizeof(get));
    return get();
}

static inline const char *shim(const char *name)
{
    const char *path = getenv(name);

    ck_assert_msg(path != NULL, "%s is not set", name);
    return path;
}

/* Opens the files in these variables: that of hipRTC and of the runtime. */
static inline bench open_bench(const char *rtc_name, const char *hip_name)
{
    bench b = {.error = GROAT_ERROR_INIT};

    b.env.hiprtc = shim(rtc_name);
    b.env.comgr = shim("GROAT_TEST_COMGR_SHIM");
    b.env.hip = shim(hip_name);
    b.env.tmpdir = "/tmp";
    b.env.device = OWN_DEVICE;
    b.rtc = control_of(b.env.hiprtc, "shim_hiprtc");
    b.comgr = control_of(b.env.comgr, "shim_comgr");
    b.hip = control_of(b.env.hip, "shim_hip");
    /* Tests may share a process: each resets the stand-ins. */
    *b.rtc = (shim_hiprtc_control){.compiles = 0};
    *b.comgr = (shim_comgr_control){.isas = 4};
    *b.hip = (shim_hip_control){
        .devices = 2, .arch = "gfx950:sramecc+:xnack-", .optin_lds = 163840};
    return b;
}

static inline bench usual_bench(void)
{
    return open_bench("GROAT_TEST_HIPRTC_SHIM", "GROAT_TEST_HIP_SHIM");
}

static inline void check_nothing_live(const bench *b)
{
    ck_assert_int_eq(b->rtc->programs, 0);
    ck_assert_int_eq(b->hip->modules, 0);
    ck_assert_int_eq(b->hip->events, 0);
    ck_assert_int_eq(b->hip->allocations, 0);
    ck_assert_int_eq(b->hip->current, CALLERS_DEVICE);
}

static const groat__arch *arch(const char *name)
{
    const groat__arch *found = groat__arch_find(name, strlen(name));

    ck_assert_ptr_nonnull(found);
    return found;
}

static inline groat__shape shape_of(unsigned shared_bytes)
{
    groat__shape shape = {{256, 1, 1}, {1, 1, 1}, shared_bytes, 7777, 4, false};

    return shape;
}

static inline size_t make_object(unsigned char *data, const char *entry)
{
    const amdgpu_object object = {entry, 37, 24, 2, 16, 4096, 256, NULL, 0};
    size_t bytes = amdgpu_object_make(data, &object);

    ck_assert_uint_gt(bytes, 0);
    return bytes;
}

/* ---- whole runs; each returns the first failure ----------------------- */

static inline groat_status run_compiler(bench *b, const char *text)
{
    groat__binary binary = {0};
    groat__str who = {0};
    void *state = NULL;
    groat_status status =
        groat__part_open(&rtc->part, &b->env, &state, &b->error);

    if (status != GROAT_OK) {
        ck_assert_ptr_null(state);
        return status;
    }
    status = rtc->identify(state, arch("gfx942"), &who, &b->error);
    if (status == GROAT_OK)
        status = rtc->compile(state, arch("gfx942"), "copy_tile.hip", text,
                              "copy_tile", &binary, &b->error);
    if (status != GROAT_OK)
        ck_assert_ptr_null(binary.data);
    free(binary.data);
    free(binary.log);
    groat__str_free(&who);
    rtc->part.close(state);
    return status;
}

static inline groat_status run_memory(bench *b, void *state)
{
    static const char sent[16] = "fifteen letters";
    char got[16] = "";
    uint64_t address = 0;
    groat_status status = hip->alloc(state, sizeof(sent), &address, &b->error);

    if (status != GROAT_OK) {
        ck_assert_uint_eq(address, 0);
        return status;
    }
    status = hip->write(state, address, sent, sizeof(sent), &b->error);
    if (status == GROAT_OK)
        status = hip->read(state, got, address, sizeof(got), &b->error);
    if (status == GROAT_OK)
        ck_assert_str_eq(got, sent);
    hip->release(state, address);
    return status;
}

/* Launches twice on one stream, then on another that takes over its event. */
static inline groat_status run_noted(bench *b, void *state,
                                     groat__module *module,
                                     const groat__shape *shape)
{
    const int argument = 1;
    int place = 0;
    void *const streams[] = {NULL, NULL, &place};
    groat_status status = GROAT_OK;

    b->idle = true;
    for (size_t i = 0; i < COUNT(streams) && status == GROAT_OK; i++) {
        groat_launch launch = {sizeof(launch), {1, 1, 1}, streams[i]};
        bool captured = false;

        status = hip->launch_noted(state, module, shape, &launch, &argument,
                                   &captured, &b->error);
        b->idle = b->idle && !captured;
    }
    if (status == GROAT_OK)
        b->idle = b->idle && hip->idle(state, module);
    return status;
}

static inline groat_status run_module(bench *b, void *state)
{
    unsigned char object[AMDGPU_OBJECT_ROOM];
    size_t bytes = make_object(object, "copy_tile");
    groat_launch launch = {sizeof(launch), {3, 2, 1}, NULL};
    groat_facts facts = {-1, -1, -1, -1, -1, -1};
    groat__shape shape = shape_of(100 << 10);
    groat__module *module = NULL;
    double us = 0;
    int argument = 4711;
    groat_status status = hip->may_load(state, NULL, &b->error);

    if (status == GROAT_OK)
        status = hip->load(state, arch("gfx950"), object, bytes, "copy_tile",
                           &shape, &module, &b->error);

    /* The driver must not keep pointers into the caller's copy. */
    memset(object, 0, sizeof(object));
    if (status != GROAT_OK) {
        ck_assert_ptr_null(module);
        ck_assert_uint_eq(shape.dynamic_bytes, 7777);
        return status;
    }
    ck_assert_ptr_nonnull(hip->native(module));
    hip->facts_of(state, module, &facts);
    status = hip->launch(state, module, &shape, &launch, &argument, &b->error);
    if (status == GROAT_OK)
        status = hip->time(state, module, &shape, &launch, &argument, 2, &us,
                           &b->error);
    if (status == GROAT_OK)
        status = run_noted(b, state, module, &shape);
    if (status == GROAT_OK)
        status = hip->sync(state, &b->error);
    hip->unload(state, module);
    return status;
}

static inline groat_status run_device(bench *b)
{
    groat_device_info info = {.size = sizeof(info)};
    void *state = NULL;
    groat_status status =
        groat__part_open(&hip->part, &b->env, &state, &b->error);

    if (status != GROAT_OK) {
        ck_assert_ptr_null(state);
        return status;
    }
    status = hip->facts(state, 0, &info, &b->error);
    if (status == GROAT_OK)
        status = run_memory(b, state);
    if (status == GROAT_OK)
        status = run_module(b, state);
    hip->part.close(state);
    return status;
}

static inline void check_named(const bench *b, const char *name, int code)
{
    ck_assert_str_eq(b->error.vendor_call, name);
    ck_assert_int_eq(b->error.vendor_code, code);
    ck_assert_ptr_nonnull(strstr(b->error.text, name));
}

static inline void *open_device(bench *b)
{
    void *state = NULL;

    ck_assert_int_eq(groat__part_open(&hip->part, &b->env, &state, &b->error),
                     GROAT_OK);
    return state;
}

/* For main: runs the suite, unless make check gave no stand-ins. */
static inline int run_hip_suite(Suite *suite)
{
    if (getenv("GROAT_TEST_HIPRTC_SHIM") != NULL)
        return run_suite(suite);
    printf("SKIP: GROAT_TEST_HIPRTC_SHIM names no stand-in; "
           "make check sets it\n");
    srunner_free(srunner_create(suite));
    return 77;
}

#endif
