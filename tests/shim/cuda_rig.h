/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_rig.h - a groat__device_cuda over a private copy of the stand-in
 * libcuda, with its control block and a check that nothing was left behind.
 */
#ifndef GROAT_TESTS_CUDA_RIG_H
#define GROAT_TESTS_CUDA_RIG_H

#include <dlfcn.h>
#include <elf.h>

#include "backend/backend.h"
#include "backend/cuda_abi.h"
#include "tests/shim/copy.h"
#include "tests/shim/shim.h"
#include "tests/unit/suite.h"

#define DEVICE (&groat__device_cuda)

static const groat__arch sm_90a = {.name = "sm_90a", .vendor = GROAT__CUDA};
static const char ptx[] = "// compute_90";

static inline Elf64_Ehdr make_cubin(void)
{
    Elf64_Ehdr cubin = {0};

    memcpy(cubin.e_ident, ELFMAG, SELFMAG);
    cubin.e_ident[EI_CLASS] = ELFCLASS64;
    cubin.e_ident[EI_DATA] = ELFDATA2LSB;
    return cubin;
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

static inline void get_symbol(const shim_rig *rig, const char *name,
                              void *function)
{
    void *address = dlsym(rig->handle, name);

    ck_assert_ptr_nonnull(address);
    memcpy(function, &address, sizeof(address));
}

static inline shim_rig rig_open_path(const char *path)
{
    shim_rig rig = {0};

    rig.env.cuda = path;
    rig.cuda = shim_control(path, "shim_cuda", &rig.handle);
    get_symbol(&rig, "shim_cuda_depth", &rig.depth);
    get_symbol(&rig, "shim_cuda_user", &rig.user);
    get_symbol(&rig, "shim_cuda_reap", &rig.reap);
    get_symbol(&rig, "cuCtxPushCurrent_v2", &rig.push);
    get_symbol(&rig, "cuCtxPopCurrent_v2", &rig.pop);
    shim_cuda_reset(rig.cuda);
    return rig;
}

static inline shim_rig rig_open(void)
{
    return rig_open_path(shim_path("GROAT_TEST_CUDA_SHIM"));
}

static inline void check_clean(const shim_rig *rig, int depth)
{
    void *top;

    ck_assert_int_eq(rig->cuda->modules, 0);
    ck_assert_int_eq(rig->cuda->retained, 0);
    ck_assert_int_eq(rig->cuda->allocations, 0);
    ck_assert_int_eq(rig->cuda->events, 0);
    ck_assert_int_eq(rig->depth(&top), depth);
}

static inline void rig_close(shim_rig *rig)
{
    check_clean(rig, 0);
    (void)dlclose(rig->handle);
}

static inline void *current(const shim_rig *rig)
{
    void *top = NULL;

    (void)rig->depth(&top);
    return top;
}

static inline void *open_state(const groat__env *env)
{
    groat_error error = GROAT_ERROR_INIT;
    void *state = NULL;

    ck_assert_msg(groat__part_open(&DEVICE->part, env, &state, &error) ==
                      GROAT_OK,
                  "%s", error.text);
    ck_assert_ptr_nonnull(state);
    return state;
}

static inline groat__shape make_shape(unsigned shared)
{
    groat__shape shape = {.block = {128, 1, 1},
                          .cluster = {1, 1, 1},
                          .shared_bytes = shared,
                          .dynamic_bytes = 12345,
                          .args_bytes = sizeof(int)};

    return shape;
}

static inline groat__module *load(void *state, groat__shape *shape)
{
    const Elf64_Ehdr cubin = make_cubin();
    groat_error error = GROAT_ERROR_INIT;
    groat__module *module = NULL;

    ck_assert_msg(DEVICE->load(state, &sm_90a, &cubin, sizeof(cubin), "k",
                               shape, &module, &error) == GROAT_OK,
                  "%s", error.text);
    return module;
}

#endif
