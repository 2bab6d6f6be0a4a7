/* SPDX-License-Identifier: Apache-2.0
 *
 * append.c opens and runs appends: a shape becomes a spec of kv_cache_append, a
 * cache's description and a few addresses become its launch arguments.
 * Invariant: only groat_append_open() writes to a groat_append.
 */
#include "attention/append.h"
#include "attention/check.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/str.h"
#include "core/core.h"
#include "kernels-src/kv_cache_append/args.h"

struct groat_append {
    groat_append_shape shape;
    groat_kernel *kernel;
    unsigned block_heads; /* token heads per block of the grid */
};

static void write_spec(const groat_append_shape *s, groat__str *out)
{
    static const char *const scales[] = {"tensor", "head", "token"};
    static const char *const ropes[] = {"none", "halves", "pairs"};
    bool narrow = s->kv_dtype == GROAT_DECODE_E4M3;

    groat__str_addf(
        out,
        "kv_cache_append:dtype=%s,kv_dtype=%s,kv_scale=%s,"
        "head_dim=%u,value_dim=%u,page_size=%u,rope=%s,rotary=%u",
        s->dtype == GROAT_DECODE_F16 ? "f16" : "bf16", narrow ? "e4m3" : "same",
        narrow ? scales[s->kv_scale] : "tensor", s->head_dim,
        groat__append_dim(s, 1), s->page, ropes[s->rope], s->rotary);
}

static groat_status get_kernel(groat_context *context, const char *target,
                               groat_append *a, groat_error *error)
{
    groat__str text = {0};
    groat_spec *spec = NULL;
    groat_status status = GROAT_NO_MEMORY;
    int64_t heads = 0;

    write_spec(&a->shape, &text);
    if (!text.failed)
        status = groat_spec_parse(context, text.data, target, &spec, error);
    else
        (void)groat__fail(error, status, "no memory for an append's spec");
    groat__str_free(&text);
    if (status == GROAT_OK)
        status = groat_spec_get(spec, "block_heads", &heads, error);
    if (status == GROAT_OK)
        status = groat__own_kernel(spec, &a->kernel, error);
    a->block_heads = (unsigned)heads;
    groat_spec_free(spec);
    return status;
}

groat_status groat_append_open(groat_context *context, const char *target,
                               const groat_append_shape *shape,
                               groat_append **out, groat_error *error)
{
    groat_status status = groat__append_check_shape(shape, error);
    groat_append *a;

    if (!groat__is_usable(context))
        return groat__fail_unusable("context", context, error);
    if (status != GROAT_OK)
        return status;
    a = calloc(1, sizeof(*a));
    if (a == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for an append");
    a->shape = *shape;
    status = get_kernel(context, target, a, error);
    if (status != GROAT_OK) {
        groat_append_close(a);
        return status;
    }
    *out = a;
    return GROAT_OK;
}

void groat_append_close(groat_append *append)
{
    if (append == NULL)
        return;
    groat_kernel_release(append->kernel);
    free(append);
}

groat_kernel *groat_append_kernel(const groat_append *append)
{
    return append != NULL ? append->kernel : NULL;
}

/* ---- a launch ------------------------------------------------------------ */

static struct kv_cache_append_args bind(const groat_append_shape *s,
                                        const groat_append_arguments *a,
                                        const groat__kv_plane *keys,
                                        const groat__kv_plane *values)
{
    groat__scale_strides scales =
        groat__scale_strides_of(s->layout, a->keys->page, s->kv_heads);

    return (struct kv_cache_append_args){
        .new_k = a->new_keys,
        .new_v = a->new_values,
        .k = keys->address,
        .v = values->address,
        .page_table = a->page_table,
        .lengths = a->lengths,
        .starts = a->starts,
        .positions = a->positions,
        .rope = a->rope,
        .k_scales = a->k_scales,
        .v_scales = a->v_scales,
        .new_k_bytes = groat__append_stride(s, 0, a->key_stride),
        .new_v_bytes = groat__append_stride(s, 1, a->value_stride),
        .block_bytes = keys->block,
        .token_bytes = keys->token,
        .head_bytes = keys->head,
        .value_block_bytes = values->block,
        .value_token_bytes = values->token,
        .value_head_bytes = values->head,
        .block_scales = scales.block,
        .token_scales = scales.token,
        .head_scales = scales.head,
        .sequences = a->sequences,
        .kv_heads = s->kv_heads,
        .tokens = a->tokens,
        .each = a->each,
        .pitch = a->pitch,
        .most = groat__append_most(s, a),
        .blocks = a->keys->blocks < UINT32_MAX ? (unsigned)a->keys->blocks
                                               : UINT32_MAX,
        .rope_rows = a->rope_rows,
        .k_scale = a->k_scale,
        .v_scale = a->v_scale,
    };
}

groat_status groat_append_run(const groat_append *append,
                              const groat_append_arguments *arguments,
                              void *stream, groat_error *error)
{
    const groat_append_arguments *a = arguments;
    const groat_append_shape *s;
    groat_launch launch = GROAT_LAUNCH_INIT;
    groat_status status;
    struct kv_cache_append_args args;
    groat__kv_plane keys, values;

    if (append == NULL)
        return groat__fail_unusable("append", append, error);
    s = &append->shape;
    status = groat__append_check_run(s, a, error);
    if (status != GROAT_OK || a->sequences == 0 || a->tokens == 0)
        return status;
    status = groat__append_planes(s, a, &keys, &values, error);
    if (status != GROAT_OK)
        return status;
    args = bind(s, a, &keys, &values);
    launch.grid[0] = (a->tokens * s->kv_heads + append->block_heads - 1) /
                     append->block_heads;
    launch.stream = stream;
    return groat_kernel_launch(append->kernel, &launch, &args, sizeof(args),
                               error);
}
