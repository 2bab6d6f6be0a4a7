/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_tensor.c encodes tensor maps with the CUDA driver.  core has checked the
 * tensor; if the driver refuses it nevertheless, the error lists all values.
 * No state, so no locking.
 */
#include <string.h>

#include "backend/cuda_driver.h"
#include "base/error.h"

/* Only the size matters: elements outside of a tensor are zeros in any type. */
static CUtensorMapDataType type_of(unsigned elem_bytes)
{
    switch (elem_bytes) {
    case 1:
        return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    case 2:
        return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case 4:
        return CU_TENSOR_MAP_DATA_TYPE_UINT32;
    default:
        return CU_TENSOR_MAP_DATA_TYPE_UINT64;
    }
}

static CUresult encode(const cuda_state *state, const groat_tensor *tensor,
                       CUtensorMap *map)
{
    static const CUtensorMapSwizzle swizzles[] = {
        [GROAT_SWIZZLE_NONE] = CU_TENSOR_MAP_SWIZZLE_NONE,
        [GROAT_SWIZZLE_32] = CU_TENSOR_MAP_SWIZZLE_32B,
        [GROAT_SWIZZLE_64] = CU_TENSOR_MAP_SWIZZLE_64B,
        [GROAT_SWIZZLE_128] = CU_TENSOR_MAP_SWIZZLE_128B,
    };
    const cuuint32_t ones[5] = {1, 1, 1, 1, 1};

    return state->cu.cuTensorMapEncodeTiled(
        map, type_of(tensor->elem_bytes), tensor->rank,
        (void *)(uintptr_t)tensor->address, tensor->dims, tensor->strides,
        tensor->box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
        swizzles[tensor->swizzle], CU_TENSOR_MAP_L2_PROMOTION_NONE,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

/* The driver only says that some value is invalid, so the error lists all. */
static groat_status encode_failed(const cuda_state *state,
                                  const groat_tensor *t, CUresult code,
                                  groat_error *error)
{
    groat_status status =
        code == CUDA_ERROR_INVALID_VALUE ? GROAT_INVALID : GROAT_NO_DEVICE;
    groat__str lists = {0};

    groat__str_addf(&lists, "dims");
    for (unsigned i = 0; i < t->rank; i++)
        groat__str_addf(&lists, " %llu", (unsigned long long)t->dims[i]);
    groat__str_addf(&lists, ", strides");
    for (unsigned i = 0; i + 1 < t->rank; i++)
        groat__str_addf(&lists, " %llu", (unsigned long long)t->strides[i]);
    groat__str_addf(&lists, ", box");
    for (unsigned i = 0; i < t->rank; i++)
        groat__str_addf(&lists, " %u", t->box[i]);
    status = groat__gpu_failed(
        state, status, (groat__called){"cuTensorMapEncodeTiled", code}, error,
        "for a tensor of rank %u at 0x%llx: %u-byte "
        "elements, %s, swizzle %d",
        t->rank, (unsigned long long)t->address, t->elem_bytes,
        lists.failed ? "" : lists.data, (int)t->swizzle);
    groat__str_free(&lists);
    return status;
}

groat_status groat__cuda_tensor_map(void *handle, const groat_tensor *tensor,
                                    groat_tensor_map *out, groat_error *error)
{
    cuda_state *state = handle;
    CUtensorMap map = {{0}};
    groat_status status;
    CUresult code;
    groat__visit stay;

    if (state->cu.cuTensorMapEncodeTiled == NULL)
        return groat__fail(
            error, GROAT_NO_DEVICE,
            "%s has no cuTensorMapEncodeTiled, which tensor maps "
            "need; drivers since CUDA 12.0 have",
            state->dl.path);
    status = groat__cuda_enter(state, NULL, &stay, error);
    if (status != GROAT_OK)
        return status;
    code = encode(state, tensor, &map);
    groat__cuda_leave(state, &stay);
    if (code != CUDA_SUCCESS)
        return encode_failed(state, tensor, code, error);
    memcpy(out, &map, sizeof(map));
    return GROAT_OK;
}

_Static_assert(sizeof(CUtensorMap) == sizeof(groat_tensor_map),
               "a tensor map is the driver's");
