/* SPDX-License-Identifier: Apache-2.0
 *
 * plain_rig.h - the whole path over stand-ins for NVRTC and the CUDA driver: a
 * family whose kernels compile there and do nothing.
 */
#ifndef GROAT_TESTS_PLAIN_RIG_H
#define GROAT_TESTS_PLAIN_RIG_H

#include "tests/pipe/rig.h"
#include "tests/shim/copy.h"
#include "tests/shim/shim.h"

static inline void plain_write(const rig *r)
{
    rig_write_source(r, "plain", "params.def",
                     "family plain \"does nothing\"\n"
                     "param step int 1..1000 1 - \"tells kernels apart\"\n"
                     "launch block_x = 64\n"
                     "launch args = 4\n"
                     "entry k\n");
    rig_write_source(r, "plain", "args.h",
                     "#pragma once\nstruct plain_args { int n; };\n");
    rig_write_source(r, "plain", "plain.h", "#include \"params.h\"\n");
}

static inline void plain_new_cuda(shim_cuda_control *cuda)
{
    shim_cuda_reset(cuda);
    cuda->devices = 1;
    cuda->static_shared = 0;
}

static inline void plain_new_nvrtc(shim_nvrtc_control *nvrtc)
{
    memset(nvrtc, 0, sizeof(*nvrtc));
    nvrtc->major = 13;
    nvrtc->archs[0] = 90;
    nvrtc->arch_count = 1;
    nvrtc->builtins = true;
}

/* Makes contexts use both stand-ins from now on, and resets them. */
static inline shim_cuda_control *plain_shims(void)
{
    const char *paths[] = {shim_path("GROAT_TEST_CUDA_SHIM"),
                           shim_path("GROAT_TEST_NVRTC_SHIM")};
    shim_cuda_control *cuda;
    void *handle;

    cuda = shim_control(paths[0], "shim_cuda", &handle);
    plain_new_cuda(cuda);
    plain_new_nvrtc(shim_control(paths[1], "shim_nvrtc", &handle));
    ck_assert_int_eq(setenv("GROAT_CUDA", paths[0], 1), 0);
    ck_assert_int_eq(setenv("GROAT_NVRTC", paths[1], 1), 0);
    return cuda;
}

#endif
