/* SPDX-License-Identifier: Apache-2.0
 *
 * backend.c owns the table of backends.  A new one is a row here and a pair of
 * tables in files of its own.
 */
#include "backend/backend.h"

#include <stdlib.h>
#include <string.h>

static const groat__backend backends[GROAT__BACKENDS] = {
    {GROAT__CUDA, &groat__compiler_nvrtc, &groat__device_cuda},
    {GROAT__HIP, &groat__compiler_hiprtc, &groat__device_hip},
    {GROAT__CPU, &groat__compiler_cxx, &groat__device_cpu},
};

const groat__backend *groat__backend_get(groat__backend_id id)
{
    return &backends[id];
}

void groat__binary_free(groat__binary *binary)
{
    free(binary->data);
    free(binary->log);
    memset(binary, 0, sizeof(*binary));
}
