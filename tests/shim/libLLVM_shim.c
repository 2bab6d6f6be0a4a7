/* SPDX-License-Identifier: Apache-2.0
 *
 * libLLVM_shim.c stands in for the libLLVM that a libamd_comgr is linked to.
 */
#include "tests/shim/shim_hip.h"

void shim_llvm(void) __attribute__((visibility("default")));

void shim_llvm(void)
{
}
