/* SPDX-License-Identifier: Apache-2.0
 *
 * backend.c owns the table of backends.  A new backend is a row here and a pair
 * of tables in files of its own.
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

groat_status groat__part_open(const groat__part *part, const groat__env *env,
                              void **state, groat_error *error)
{
    void *found = NULL;
    groat_status status = part->search(env, &found, error);

    if (status == GROAT_OK)
        *state = found;
    else
        part->close(found);
    return status;
}

void groat__part_report(const groat__part *part, void *state,
                        const groat__env *env, groat__str *out)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_status status = GROAT_OK;
    void *own = NULL;

    if (state == NULL) {
        status = part->search(env, &own, &error);
        state = own;
    }
    part->report(state, env, status == GROAT_OK ? NULL : &error, out);
    part->close(own);
    groat_error_clear(&error);
}

void groat__binary_free(groat__binary *binary)
{
    free(binary->data);
    free(binary->log);
    memset(binary, 0, sizeof(*binary));
}

bool groat__binary_copy(groat__binary *to, const groat__binary *from)
{
    memset(to, 0, sizeof(*to));
    to->data = malloc(from->bytes == 0 ? 1 : from->bytes);
    to->log = from->log == NULL ? NULL : strdup(from->log);
    if (to->data == NULL || (from->log != NULL && to->log == NULL)) {
        groat__binary_free(to);
        return false;
    }
    if (from->bytes > 0)
        memcpy(to->data, from->data, from->bytes);
    to->bytes = from->bytes;
    to->facts = from->facts;
    return true;
}
