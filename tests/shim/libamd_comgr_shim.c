/* SPDX-License-Identifier: Apache-2.0
 *
 * libamd_comgr_shim.c stands in for libamd_comgr in tests: it reports a list of
 * targets and lets a call fail on demand.  Its control is its only mutable
 * object; it is driven from one thread.  -DSHIM_LLVM links it to an LLVM.
 */
#include "tests/shim/shim_hip.h"

#define EXPORT __attribute__((visibility("default")))
#define COMGR(name, needed, result, parameters, names)                         \
    result name parameters EXPORT;
#include "backend/hip_abi.h"
#include "backend/hiprtc.def"

shim_comgr_control *shim_comgr(void) EXPORT;

/* Real lists, too, have features behind a colon, and name an arch twice. */
static const char *const isas[] = {
    "amdgcn-amd-amdhsa--gfx90a", "amdgcn-amd-amdhsa--gfx942",
    "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", "amdgcn-amd-amdhsa--gfx950"};

static shim_comgr_control control = {.isas = 4};

shim_comgr_control *shim_comgr(void)
{
    return &control;
}

int amd_comgr_get_isa_count(size_t *count)
{
    if (shim_answers(&control.fault, "amd_comgr_get_isa_count"))
        return control.fault.code;
    *count = (size_t)control.isas;
#ifdef SHIM_LLVM
    shim_llvm();
#endif
    return 0;
}

int amd_comgr_get_isa_name(size_t index, const char **name)
{
    if (shim_answers(&control.fault, "amd_comgr_get_isa_name"))
        return control.fault.code;
    if (index >= sizeof(isas) / sizeof(isas[0]))
        return 2;
    *name = isas[index];
    return 0;
}
