/* SPDX-License-Identifier: Apache-2.0
 *
 * append_check.c checks shapes and arguments of appends, and derives values
 * from them that launch and reference both use.
 */
#include <math.h>

#include "attention/append.h"
#include "attention/check.h"
#include "base/error.h"

enum { SEQUENCES_MAX = 65535, HEADS_MAX = 65536 };

groat_status groat__append_check_shape(const groat_append_shape *s,
                                       groat_error *error)
{
    groat_status status =
        groat__check_size(error, "shape", "groat_append_shape", s, sizeof(*s));

    if (status != GROAT_OK)
        return status;
    const groat__number_range ranges[] = {
        {"shape.dtype (GROAT_DECODE_*)", s->dtype, 0, GROAT_DECODE_F16},
        {"shape.kv_scale (GROAT_DECODE_OF_*)", s->kv_scale, 0,
         s->kv_dtype == GROAT_DECODE_E4M3 ? GROAT_DECODE_OF_TOKEN
                                          : GROAT_DECODE_OF_TENSOR},
        {"shape.kv_heads", s->kv_heads, 1, HEADS_MAX},
        {"shape.head_dim", s->head_dim, 64, GROAT__APPEND_DIM_MAX},
        {"shape.value_dim", groat__append_dim(s, 1), 64, s->head_dim},
        {"shape.page", s->page, 0, 1024},
        {"shape.layout (GROAT_KV_*)", s->layout, 0, GROAT_KV_HEAD_PAGE},
        {"shape.rope (GROAT_APPEND_*)", s->rope, 0, GROAT_APPEND_PAIRS},
        {"shape.rotary", s->rotary, 0,
         s->rope == GROAT_APPEND_PLAIN ? 0 : s->head_dim},
    };

    status = groat__check_ranges(ranges, GROAT__COUNT(ranges), error);
    if (status == GROAT_OK && s->kv_dtype != GROAT_DECODE_E4M3 &&
        s->kv_dtype != s->dtype)
        return groat__fail(error, GROAT_INVALID,
                           "shape.kv_dtype is %u; allowed: that of dtype, %u, "
                           "and GROAT_DECODE_E4M3 (2)",
                           (unsigned)s->kv_dtype, (unsigned)s->dtype);
    return status;
}

/* Checks that one may divide by the scale. */
static groat_status check_scale(const char *name, float scale,
                                groat_error *error)
{
    return isfinite(scale) && isfinite(1 / scale)
               ? GROAT_OK
               : groat__fail(error, GROAT_INVALID,
                             "arguments.%s is %g; allowed: finite numbers "
                             "with a finite reciprocal",
                             name, (double)scale);
}

static groat_status check_scales(const groat_append_shape *s,
                                 const groat_append_arguments *a,
                                 groat_error *error)
{
    groat_status status;

    if (s->kv_dtype != GROAT_DECODE_E4M3 ||
        s->kv_scale != GROAT_DECODE_OF_TENSOR)
        return GROAT_OK;
    status = check_scale("k_scale", a->k_scale, error);
    return status == GROAT_OK ? check_scale("v_scale", a->v_scale, error)
                              : status;
}

static groat_status check_stride(const groat_append_shape *s, int plane,
                                 const char *name, uint64_t stride,
                                 groat_error *error)
{
    uint64_t packed = groat__append_stride(s, plane, 0);

    return stride == 0 || (stride >= packed && stride % 16 == 0)
               ? GROAT_OK
               : groat__fail(error, GROAT_INVALID,
                             "arguments.%s is %llu; allowed: 0, and multiples "
                             "of 16 from %llu on",
                             name, (unsigned long long)stride,
                             (unsigned long long)packed);
}

groat_status groat__append_check_run(const groat_append_shape *s,
                                     const groat_append_arguments *a,
                                     groat_error *error)
{
    groat_status status = groat__check_size(
        error, "arguments", "groat_append_arguments", a, sizeof(*a));
    bool rotates = s->rope != GROAT_APPEND_PLAIN;
    bool scales = s->kv_dtype == GROAT_DECODE_E4M3 &&
                  s->kv_scale != GROAT_DECODE_OF_TENSOR;

    if (status != GROAT_OK || a->sequences == 0 || a->tokens == 0)
        return status;
    const groat__number_range ranges[] = {
        {"arguments.sequences", a->sequences, 0, SEQUENCES_MAX},
        {"arguments.tokens", a->tokens, 0, INT32_MAX / s->kv_heads},
        {"arguments.each", a->each, 0, a->starts != 0 ? UINT32_MAX : a->tokens},
        {"arguments.pitch", a->pitch, s->page > 0 ? 1 : 0, UINT32_MAX},
        {"arguments.rope_rows", a->rope_rows, rotates ? 1 : 0, UINT32_MAX},
    };
    const groat__needed_address places[] = {
        {"new_keys", a->new_keys, 16, true},
        {"new_values", a->new_values, 16, true},
        {"page_table", a->page_table, 4, s->page > 0},
        {"lengths", a->lengths, 4, true},
        {"starts", a->starts, 4, a->starts != 0},
        {"positions", a->positions, 4, a->positions != 0},
        {"rope", a->rope, 16, rotates},
        {"k_scales", a->k_scales, 4, scales},
        {"v_scales", a->v_scales, 4, scales},
    };

    status = groat__check_ranges(ranges, GROAT__COUNT(ranges), error);
    if (status == GROAT_OK)
        status = groat__check_addresses(places, GROAT__COUNT(places), error);
    if (status == GROAT_OK)
        status = check_scales(s, a, error);
    if (status == GROAT_OK)
        status = check_stride(s, 0, "key_stride", a->key_stride, error);
    return status == GROAT_OK
               ? check_stride(s, 1, "value_stride", a->value_stride, error)
               : status;
}

groat_status groat__append_planes(const groat_append_shape *s,
                                  const groat_append_arguments *a,
                                  groat__kv_plane *keys,
                                  groat__kv_plane *values, groat_error *error)
{
    const groat__cache_shape wanted = {
        .elem_bytes = s->kv_dtype == GROAT_DECODE_E4M3 ? 1 : 2,
        .heads = s->kv_heads,
        .dim = s->head_dim,
        .value_dim = groat__append_dim(s, 1),
        .layout = s->layout,
        .page = s->page,
    };

    groat_status status =
        groat__check_cache(&wanted, a->keys, a->values, a->layer, a->sequences,
                           keys, values, error);

    if (status == GROAT_OK && a->values == NULL && a->keys->planes < 2)
        return groat__fail(
            error, GROAT_INVALID,
            "arguments.keys has 1 plane and arguments.values is "
            "NULL, so values would overwrite keys; allowed: %sa "
            "cache of the values' own",
            groat__append_dim(s, 1) == s->head_dim ? "2 planes, or " : "");
    return status;
}

unsigned groat__append_dim(const groat_append_shape *s, int plane)
{
    return plane == 1 && s->value_dim > 0 ? s->value_dim : s->head_dim;
}

unsigned groat__append_rotated(const groat_append_shape *s)
{
    return s->rope == GROAT_APPEND_PLAIN ? 0
           : s->rotary > 0               ? s->rotary
                                         : s->head_dim;
}

unsigned groat__append_most(const groat_append_shape *s,
                            const groat_append_arguments *a)
{
    uint64_t there = s->page > 0 ? (uint64_t)a->pitch * s->page : a->keys->page;

    /* The kernel's keys below 0 wrap to above this. */
    return there < INT32_MAX ? (unsigned)there : INT32_MAX;
}

uint64_t groat__append_stride(const groat_append_shape *s, int plane,
                              uint64_t stride)
{
    return stride > 0 ? stride
                      : (uint64_t)s->kv_heads * groat__append_dim(s, plane) * 2;
}
