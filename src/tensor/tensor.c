/* SPDX-License-Identifier: Apache-2.0
 *
 * tensor.c checks the tensors that maps are made from.  The rules are those of
 * cuTensorMapEncodeTiled, and that no two elements share a byte; they are the
 * same for every target, so that hardware refuses nothing that the judge took.
 * The backends write maps (slot tensor_map), maps.c caches them.  Holds no
 * state.
 */
#include <stdio.h>

#include "base/error.h"
#include "base/str.h"
#include "tensor/tensor.h"

enum {
    ADDRESS_UNIT = 16,
    BOX_MAX = 256,
    BOX_BYTES_MAX = 227 << 10 /* the largest shared memory of a block */
};

static const uint64_t dim_max = (uint64_t)1 << 32;
static const uint64_t stride_end = (uint64_t)1 << 40;

uint64_t groat__sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

uint64_t groat__product(uint64_t a, uint64_t b)
{
    return a != 0 && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

/* "tensor: strides[1] is 24; allowed: ..."; index < 0 for no index. */
static groat_status refuse(const char *field, int index, uint64_t seen,
                           const char *allowed, groat_error *error)
{
    char at[16] = "";

    if (index >= 0)
        (void)snprintf(at, sizeof(at), "[%d]", index);
    return groat__fail(error, GROAT_INVALID,
                       "tensor: %s%s is %llu; allowed: %s", field, at,
                       (unsigned long long)seen, allowed);
}

static groat_status check_scalars(const groat_tensor *t, groat_error *error)
{
    if (t->rank < 1 || t->rank > 5)
        return refuse("rank", -1, t->rank, "1 to 5", error);
    if (t->elem_bytes != 1 && t->elem_bytes != 2 && t->elem_bytes != 4 &&
        t->elem_bytes != 8)
        return refuse("elem_bytes", -1, t->elem_bytes, "1, 2, 4 or 8", error);
    if ((unsigned)t->swizzle > GROAT_SWIZZLE_128)
        return refuse("swizzle", -1, (unsigned)t->swizzle,
                      "GROAT_SWIZZLE_NONE (0), _32 (1), _64 (2), _128 (3)",
                      error);
    if (t->address == 0 || t->address % ADDRESS_UNIT != 0)
        return refuse("address", -1, t->address, "multiples of 16, not 0",
                      error);
    return GROAT_OK;
}

static groat_status check_dims(const groat_tensor *t, groat_error *error)
{
    for (unsigned i = 0; i < t->rank; i++)
        if (t->dims[i] < 1 || t->dims[i] > dim_max)
            return refuse("dims", (int)i, t->dims[i], "1 to 4294967296", error);
    for (unsigned i = 0; i + 1 < t->rank; i++)
        if (t->strides[i] == 0 || t->strides[i] % ADDRESS_UNIT != 0 ||
            t->strides[i] >= stride_end)
            return refuse("strides", (int)i, t->strides[i],
                          "multiples of 16 from 16 to 1099511627760", error);
    return GROAT_OK;
}

static groat_status check_box(const groat_tensor *t, groat_error *error)
{
    uint64_t bytes = t->elem_bytes;
    uint64_t span = (uint64_t)16 << t->swizzle;
    char rule[96];

    for (unsigned i = 0; i < t->rank; i++) {
        if (t->box[i] < 1 || t->box[i] > BOX_MAX)
            return refuse("box", (int)i, t->box[i], "1 to 256", error);
        bytes *= t->box[i];
    }
    if ((uint64_t)t->box[0] * t->elem_bytes % ADDRESS_UNIT != 0) {
        (void)snprintf(rule, sizeof(rule), "multiples of %u, 16 bytes",
                       ADDRESS_UNIT / t->elem_bytes);
        return refuse("box", 0, t->box[0], rule, error);
    }
    if (t->swizzle != GROAT_SWIZZLE_NONE &&
        (uint64_t)t->box[0] * t->elem_bytes > span) {
        (void)snprintf(rule, sizeof(rule),
                       "at most %llu, the %llu bytes of the swizzle's span",
                       (unsigned long long)(span / t->elem_bytes),
                       (unsigned long long)span);
        return refuse("box", 0, t->box[0], rule, error);
    }
    if (bytes > BOX_BYTES_MAX)
        return refuse("bytes of the box", -1, bytes,
                      "at most 232448, the shared memory of a block", error);
    return GROAT_OK;
}

/* The stride of a dimension in bytes; that of dimension 0 is elem_bytes. */
static uint64_t stride_of(const groat_tensor *t, unsigned dim)
{
    return dim == 0 ? t->elem_bytes : t->strides[dim - 1];
}

/* Bytes that the dimensions with smaller strides than that of `dim` span; of
 * equal strides, the dimension with the lower index counts as smaller. */
static uint64_t reach_below(const groat_tensor *t, unsigned dim)
{
    uint64_t bytes = t->elem_bytes;
    uint64_t stride = stride_of(t, dim);

    for (unsigned i = 0; i < t->rank; i++)
        if (stride_of(t, i) < stride || (stride_of(t, i) == stride && i < dim))
            bytes = groat__sum(bytes,
                               groat__product(t->dims[i] - 1, stride_of(t, i)));
    return bytes;
}

static groat_status check_overlap(const groat_tensor *t, groat_error *error)
{
    uint64_t bytes = t->elem_bytes;
    char rule[96];

    for (unsigned i = 0; i < t->rank; i++)
        bytes =
            groat__sum(bytes, groat__product(t->dims[i] - 1, stride_of(t, i)));
    if (groat__sum(t->address, bytes) == UINT64_MAX)
        return refuse("bytes from the first element to the last", -1, bytes,
                      "less than 2^64 minus the address", error);
    for (unsigned i = 1; i < t->rank; i++) {
        if (t->dims[i] == 1 || stride_of(t, i) >= reach_below(t, i))
            continue;
        (void)snprintf(rule, sizeof(rule),
                       "%llu or more, or elements would share bytes",
                       (unsigned long long)reach_below(t, i));
        return refuse("strides", (int)i - 1, stride_of(t, i), rule, error);
    }
    return GROAT_OK;
}

groat_status groat__tensor_check(const groat_tensor *t, groat_error *error)
{
    groat_status status =
        groat__check_size(error, "tensor", "groat_tensor", t, sizeof(*t));

    if (status == GROAT_OK)
        status = check_scalars(t, error);
    if (status == GROAT_OK)
        status = check_dims(t, error);
    if (status == GROAT_OK)
        status = check_box(t, error);
    return status == GROAT_OK ? check_overlap(t, error) : status;
}

groat_status groat__tensor_target(const groat__target *target,
                                  groat_error *error)
{
    groat__str have = {0};

    if (target->arch->tma)
        return GROAT_OK;
    for (size_t i = 0; groat__arch_at(i) != NULL; i++)
        if (groat__arch_at(i)->tma)
            groat__str_addf(&have, "%s%s", have.len > 0 ? ", " : "",
                            groat__arch_at(i)->name);
    (void)groat__fail(error, GROAT_INVALID,
                      "target '%s' has no tensor maps; archs that have: %s",
                      target->text, have.failed ? "" : have.data);
    groat__str_free(&have);
    return GROAT_INVALID;
}

groat_status groat__map_check(const groat_tensor_map *out, groat_error *error)
{
    if (out == NULL || (uintptr_t)out % _Alignof(groat_tensor_map) != 0)
        return groat__fail(error, GROAT_INVALID,
                           "the tensor map to be written is at %p; allowed: "
                           "multiples of 64, not NULL",
                           (const void *)out);
    return GROAT_OK;
}
