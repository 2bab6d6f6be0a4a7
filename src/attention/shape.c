/* SPDX-License-Identifier: Apache-2.0
 *
 * shape.c checks shapes and arguments of decodes: ranges of numbers, addresses
 * that are needed, and that the cache matches the shape.  Rules between
 * compile-time parameters are the family's, in params.def.
 */
#include "attention/shape.h"

#include <math.h>
#include <stdbool.h>

#include "attention/check.h"
#include "attention/choose.h"
#include "attention/score.h"
#include "attention/spec.h"
#include "base/error.h"

/* Keys of a sequence are counted in 31 bits, strips in 32. */
enum {
    KEYS_MAX = INT32_MAX,
    SEQUENCES_MAX = 65535,
    HEADS_MAX = 65536,
    BLOCKS_MAX = 65535, /* of a grid */
    FLAGS = 2 * GROAT_DECODE_OVERLAP - 1
};

static groat_status check_numbers(const groat_decode_shape *s,
                                  groat_error *error)
{
    const bool causal = s->mask == GROAT_DECODE_CAUSAL;
    const groat__number_range ranges[] = {
        {"shape.dtype (GROAT_DECODE_*)", s->dtype, 0, GROAT_DECODE_F16},
        {"shape.kv_scale (GROAT_DECODE_OF_*)", s->kv_scale, 0,
         s->kv_dtype == GROAT_DECODE_E4M3 ? GROAT_DECODE_OF_TOKEN : 0},
        {"shape.kv_heads", s->kv_heads, 1, HEADS_MAX},
        {"shape.heads", s->heads, 1, HEADS_MAX},
        {"shape.head_dim", s->head_dim, 64, 512},
        {"shape.value_dim", groat__decode_value_dim(s), 64, s->head_dim},
        {"shape.page", s->page, 0, 1024},
        {"shape.layout (GROAT_KV_*)", s->layout, 0, GROAT_KV_HEAD_PAGE},
        {"shape.mask (GROAT_DECODE_*)", s->mask, 0, GROAT_DECODE_CHUNK},
        {"shape.flags (GROAT_DECODE_*)", s->flags, 0, FLAGS},
        {"shape.q_len", s->q_len, 1, 16},
        {"shape.sequences", s->sequences, 1, SEQUENCES_MAX},
        {"shape.keys", s->keys, 1, KEYS_MAX},
        {"shape.seen", s->seen, causal ? 0 : 1, causal ? 0 : KEYS_MAX},
    };

    return groat__check_ranges(ranges, GROAT__COUNT(ranges), error);
}

groat_status groat__decode_check_shape(const groat_decode_shape *shape,
                                       groat_error *error)
{
    groat_status status = groat__check_size(
        error, "shape", "groat_decode_shape", shape, sizeof(*shape));
    groat__code score;

    if (status == GROAT_OK)
        status = check_numbers(shape, error);
    if (status != GROAT_OK)
        return status;
    if (shape->kv_dtype != GROAT_DECODE_E4M3 && shape->kv_dtype != shape->dtype)
        return groat__fail(error, GROAT_INVALID,
                           "shape.kv_dtype is %u; allowed: that of dtype, %u, "
                           "and GROAT_DECODE_E4M3 (2)",
                           (unsigned)shape->kv_dtype, (unsigned)shape->dtype);
    if (shape->heads % shape->kv_heads != 0 ||
        shape->heads / shape->kv_heads > 64)
        return groat__fail(error, GROAT_INVALID,
                           "shape.heads is %u; allowed: 1 to 64 for each of "
                           "the %u KV heads",
                           shape->heads, shape->kv_heads);
    if (!isfinite(shape->scale) || !isfinite(shape->cap) ||
        ((shape->flags & GROAT_DECODE_CAP) != 0 && shape->cap == 0))
        return groat__fail(
            error, GROAT_INVALID,
            "shape.scale is %g and shape.cap is %g; allowed: finite numbers, "
            "and with GROAT_DECODE_CAP a cap other than 0",
            (double)shape->scale, (double)shape->cap);
    if ((shape->flags & GROAT_DECODE_TREE) != 0 &&
        (shape->mask != GROAT_DECODE_CAUSAL ||
         (shape->flags & GROAT_DECODE_ALIBI) != 0))
        return groat__fail(error, GROAT_INVALID,
                           "shape.mask is %u and shape.flags %u; allowed with "
                           "GROAT_DECODE_TREE: GROAT_DECODE_CAUSAL (0) without "
                           "GROAT_DECODE_ALIBI; shape.score can compute others",
                           (unsigned)shape->mask, shape->flags);
    return groat__decode_score_read(shape, &score, error);
}

groat_status groat__decode_check_choice(const groat_decode_shape *shape,
                                        const groat_decode_choice *choice,
                                        groat_error *error)
{
    bool splits = (shape->flags & GROAT_DECODE_BATCH_INVARIANT) != 0;
    groat_status status = groat__check_size(
        error, "choice", "groat_decode_choice", choice, sizeof(*choice));
    uint64_t strips;

    if (status != GROAT_OK)
        return status;
    const groat__number_range ranges[] = {
        {"choice.warps", choice->warps, 0, 8},
        {"choice.stages", choice->stages, 0, 8},
        {"choice.cluster", choice->cluster, 0, 16},
        {"choice.split (of GROAT_DECODE_BATCH_INVARIANT)", choice->split, 0,
         splits ? 4096 : 0},
        {"choice.blocks", choice->blocks, 0, BLOCKS_MAX},
        {"choice.least", choice->least, 0, 1 << 20},
    };

    status = groat__check_ranges(ranges, GROAT__COUNT(ranges), error);
    strips = groat__decode_strips(shape, choice->warps);
    if (status == GROAT_OK && choice->cluster > 1 &&
        strips > BLOCKS_MAX / choice->cluster)
        return groat__fail(error, GROAT_INVALID,
                           "choice.cluster is %u, for %llu strips; allowed: 1, "
                           "or clusters of %u blocks in all",
                           choice->cluster, (unsigned long long)strips,
                           (unsigned)BLOCKS_MAX);
    return status;
}

uint32_t groat_decode_first_key(const groat_decode_shape *shape,
                                uint32_t length)
{
    int64_t at, seen; /* the first query's position, and what it sees */

    if (shape == NULL)
        return 0;
    if (length > shape->keys)
        length = shape->keys;
    at = (int64_t)length - shape->q_len;
    seen = shape->seen;
    if (shape->mask == GROAT_DECODE_WINDOW && at >= seen)
        return (uint32_t)(at + 1 - seen);
    return shape->mask == GROAT_DECODE_CHUNK && at > 0 && seen > 0
               ? (uint32_t)(at / seen * seen)
               : 0;
}

/* ---- arguments ----------------------------------------------------------- */

groat_status groat__decode_check_inputs(const groat_decode_shape *s,
                                        const groat_decode_arguments *a,
                                        groat_error *error)
{
    groat_status status = groat__check_size(
        error, "arguments", "groat_decode_arguments", a, sizeof(*a));
    bool scales = s->kv_dtype == GROAT_DECODE_E4M3 &&
                  s->kv_scale != GROAT_DECODE_OF_TENSOR;

    if (status != GROAT_OK || a->sequences == 0)
        return status;
    const groat__number_range ranges[] = {
        {"arguments.sequences", a->sequences, 0, s->sequences},
        {"arguments.pitch", a->pitch, s->page > 0 ? 1 : 0, UINT32_MAX},
    };
    const groat__needed_address places[] = {
        {"queries", a->queries, 8, true},
        {"lengths", a->lengths, 4, true},
        {"page_table", a->page_table, 4, s->page > 0},
        {"sinks", a->sinks, 4, (s->flags & GROAT_DECODE_SINK) != 0},
        {"slopes", a->slopes, 4, (s->flags & GROAT_DECODE_ALIBI) != 0},
        {"tree", a->tree, 4, (s->flags & GROAT_DECODE_TREE) != 0},
        {"k_scales", a->k_scales, 4, scales},
        {"v_scales", a->v_scales, 4, scales},
    };

    if (a->named == NULL && a->named_count > 0)
        return groat__fail(
            error, GROAT_INVALID,
            "arguments.named is NULL and named_count is %u; allowed: 0",
            a->named_count);
    status = groat__check_ranges(ranges, GROAT__COUNT(ranges), error);
    if (status == GROAT_OK)
        status = groat__check_addresses(places, GROAT__COUNT(places), error);
    return status;
}

groat_status groat__decode_check_run(const groat_decode_shape *s,
                                     const groat_decode_arguments *a,
                                     groat_error *error)
{
    groat_status status = groat__decode_check_inputs(s, a, error);

    if (status != GROAT_OK || a->sequences == 0)
        return status;
    const groat__needed_address places[] = {
        {"output", a->output, 8, true},
        {"lse", a->lse, 4, (s->flags & GROAT_DECODE_LSE) != 0},
        {"workspace", a->workspace, 16, true},
    };

    return groat__check_addresses(places, GROAT__COUNT(places), error);
}

groat_status groat__decode_planes(const groat_decode_shape *s,
                                  const groat_decode_arguments *a,
                                  groat__kv_plane *keys,
                                  groat__kv_plane *values, groat_error *error)
{
    const groat__cache_shape wanted = {
        .elem_bytes = s->kv_dtype == GROAT_DECODE_E4M3 ? 1 : 2,
        .heads = s->kv_heads,
        .dim = s->head_dim,
        .value_dim = groat__decode_value_dim(s),
        .layout = s->layout,
        .page = s->page,
    };

    return groat__check_cache(&wanted, a->keys, a->values, a->layer,
                              a->sequences, keys, values, error);
}
