/* SPDX-License-Identifier: Apache-2.0
 *
 * decode.c opens and runs decodes: a shape becomes a spec of
 * paged_attention_decode, a cache's description and a few addresses become its
 * launch arguments.
 * Invariant: only groat_decode_open() writes to a groat_decode.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attention/check.h"
#include "attention/choose.h"
#include "attention/score.h"
#include "attention/shape.h"
#include "attention/spec.h"
#include "attention/tuned.h"
#include "base/error.h"
#include "base/str.h"
#include "core/core.h"
#include "kernels-src/paged_attention_decode/args.h"

enum { PART_UNIT = 16 };

struct groat_decode {
    groat_decode_shape shape;
    groat_decode_choice choice;
    groat_kernel *kernel;
    groat_spec *spec;
    groat__decode_device device;
    bool tuned;         /* the choice is a record's */
    groat__code score;  /* borrows from the spec */
    size_t count_bytes; /* of the counters at the workspace's start */
    size_t workspace;
    uint64_t unit_keys; /* keys of a unit of work */
    uint64_t most_keys; /* of all sequences, in whole units */
};

/* ---- the kernel ---------------------------------------------------------- */

static groat_status get_kernel(groat_context *context, const char *target,
                               const groat_decode_shape *shape, groat_decode *d,
                               unsigned *registers, groat_error *error)
{
    groat_kernel_info info = {.size = sizeof(info)};
    groat__str text = {0};
    groat_status status = GROAT_NO_MEMORY;

    groat__decode_write_spec(shape, &d->choice, &text);
    if (!text.failed)
        status = groat_spec_parse(context, text.data, target, &d->spec, error);
    else
        (void)groat__fail(error, status, "no memory for a decode's spec");
    groat__str_free(&text);
    if (status == GROAT_OK)
        (void)groat__params_code(&d->spec->params, &d->score);
    if (status == GROAT_OK)
        status = groat__own_kernel(d->spec, &d->kernel, error);
    if (status == GROAT_OK) {
        (void)groat_spec_text(d->spec); /* written now, only read later */
        status = groat_kernel_info_get(d->kernel, &info, error);
    }
    *registers = info.facts.registers > 0 ? (unsigned)info.facts.registers : 0;
    return status;
}

/* The kernel counts the units of all sequences in 32 bits: of each strip, where
 * a set of blocks has those of a sequence one after the other (see block_sets
 * in paged_attention_decode/work.h).  Clusters count those of one strip. */
static uint64_t count_keys(const groat_decode *d, uint64_t strips)
{
    uint64_t idle = d->choice.blocks % strips;
    uint64_t depth = 16 * idle > d->choice.blocks ? strips : 1;

    return d->choice.cluster > 1 ? UINT64_MAX
                                 : UINT32_MAX / depth * d->unit_keys;
}

static groat_status check_keys(const groat_decode *d, unsigned sequences,
                               unsigned keys, groat_error *error)
{
    uint64_t all = sequences * (keys + d->unit_keys - 1);

    if (all <= d->most_keys)
        return GROAT_OK;
    return groat__fail(error, GROAT_INVALID,
                       "arguments.sequences is %u, with up to %u keys each by "
                       "pitch and shape; allowed: %llu keys in all",
                       sequences, keys, (unsigned long long)d->most_keys);
}

/* The workspace holds the counters, then the partial sums of the splits. */
static groat_status plan_workspace(groat_decode *d, groat_error *error)
{
    const groat_decode_shape *s = &d->shape;
    uint64_t parts = 2 * (uint64_t)d->choice.blocks;
    uint64_t strips;
    int64_t part = 0, unit = 0, of_head = 0;
    groat_status status = groat_spec_get(d->spec, "part_bytes", &part, error);

    if (status == GROAT_OK)
        status = groat_spec_get(d->spec, "unit_keys", &unit, error);
    if (status == GROAT_OK)
        status = groat_spec_get(d->spec, "strips", &of_head, error);
    if (status != GROAT_OK)
        return status;
    strips = (uint64_t)s->sequences * s->kv_heads * (uint64_t)of_head;
    if (d->choice.cluster > 1)
        parts = 0;
    else if (d->choice.split > 0)
        parts = strips * ((s->keys + (uint64_t)unit - 1) / (uint64_t)unit);
    d->count_bytes = (strips * 4 + PART_UNIT - 1) / PART_UNIT * PART_UNIT;
    if (__builtin_mul_overflow(parts, (uint64_t)part, &d->workspace) ||
        __builtin_add_overflow(d->workspace, d->count_bytes, &d->workspace))
        return groat__fail(error, GROAT_INVALID,
                           "the workspace has more than 2^64 bytes: shape has "
                           "%llu strips of %u keys",
                           (unsigned long long)strips, s->keys);
    d->unit_keys = (uint64_t)unit;
    d->most_keys = count_keys(d, (uint64_t)(s->kv_heads * of_head));
    return GROAT_OK;
}

groat_status groat_decode_open(groat_context *context, const char *target,
                               const groat_decode_shape *shape,
                               const groat_decode_choice *choice,
                               groat_decode **out, groat_error *error)
{
    groat_status status = groat__decode_check_shape(shape, error);
    const groat_decode_choice none = GROAT_DECODE_CHOICE_INIT;
    groat__decode_device device;
    groat__target where;
    groat_decode *d;
    unsigned registers;

    if (!groat__is_usable(context))
        return groat__fail_unusable("context", context, error);
    if (status == GROAT_OK && choice != NULL)
        status = groat__decode_check_choice(shape, choice, error);
    if (status == GROAT_OK)
        status = groat__context_target(context, target, &where, error);
    if (status == GROAT_OK)
        status = groat__decode_device_of(context, &where, &device, error);
    if (status != GROAT_OK)
        return status;
    d = calloc(1, sizeof(*d));
    if (d == NULL)
        return groat__fail(error, GROAT_NO_MEMORY, "no memory for a decode");
    d->shape = *shape;
    d->shape.score = NULL; /* the caller's text; the spec has a copy */
    if (d->shape.scale == 0)
        d->shape.scale = 1 / sqrtf((float)shape->head_dim);
    d->device = device;
    d->choice = choice != NULL ? *choice : none;
    d->tuned =
        choice == NULL && groat__decode_find_tuned(context, &where, device.name,
                                                   shape, &d->choice);
    groat__decode_choose_kernel(shape, &device, &d->choice);
    status = get_kernel(context, where.text, shape, d, &registers, error);
    if (status == GROAT_OK)
        groat__decode_choose_grid(shape, &device, registers, &d->choice);
    if (status == GROAT_OK)
        status = plan_workspace(d, error);
    if (status != GROAT_OK) {
        groat_decode_close(d);
        return status;
    }
    *out = d;
    return GROAT_OK;
}

void groat_decode_close(groat_decode *decode)
{
    if (decode == NULL)
        return;
    groat_kernel_release(decode->kernel);
    groat_spec_free(decode->spec);
    free(decode);
}

size_t groat_decode_workspace(const groat_decode *decode)
{
    return decode != NULL ? decode->workspace : 0;
}

groat_status groat_decode_choice_get(const groat_decode *decode,
                                     groat_decode_choice *choice,
                                     groat_error *error)
{
    groat_status status = groat__check_size(
        error, "choice", "groat_decode_choice", choice, sizeof(*choice));
    size_t size;

    if (decode == NULL)
        return groat__fail_unusable("decode", decode, error);
    if (status != GROAT_OK)
        return status;
    size = choice->size;
    *choice = decode->choice;
    choice->size = size;
    return GROAT_OK;
}

groat_status groat_decode_info_get(const groat_decode *decode,
                                   groat_decode_info *info, groat_error *error)
{
    groat_status status = groat__check_size(error, "info", "groat_decode_info",
                                            info, sizeof(*info));

    if (decode == NULL)
        return groat__fail_unusable("decode", decode, error);
    if (status == GROAT_OK)
        *info = (groat_decode_info){info->size, decode->tuned,
                                    decode->device.multiprocessors,
                                    decode->device.name};
    return status;
}

const char *groat_decode_spec(const groat_decode *decode)
{
    return decode != NULL ? groat_spec_text(decode->spec) : NULL;
}

groat_kernel *groat_decode_kernel(const groat_decode *decode)
{
    return decode != NULL ? decode->kernel : NULL;
}

/* ---- a launch ------------------------------------------------------------ */

/* The largest number of keys that a sequence may have, by the shape and by its
 * row of the page table or its block. */
static unsigned most_keys(const groat_decode_shape *s,
                          const groat_decode_arguments *a)
{
    uint64_t there = s->page > 0 ? (uint64_t)a->pitch * s->page : a->keys->page;

    return there < s->keys ? (unsigned)there : s->keys;
}

static void bind_scales(const groat_decode_shape *s, unsigned page,
                        const groat_decode_arguments *a,
                        struct paged_attention_decode_args *args)
{
    groat__scale_strides strides =
        groat__scale_strides_of(s->layout, page, s->kv_heads);

    args->k_scales = a->k_scales;
    args->v_scales = a->v_scales;
    args->k_scale = a->k_scale;
    args->v_scale = a->v_scale;
    args->block_scales = strides.block;
    args->token_scales = strides.token;
    args->head_scales = strides.head;
}

groat_status groat_decode_run(const groat_decode *decode,
                              const groat_decode_arguments *arguments,
                              void *stream, groat_error *error)
{
    const groat_decode_arguments *a = arguments;
    const groat_decode_shape *s;
    groat_launch launch = GROAT_LAUNCH_INIT;
    struct paged_attention_decode_args args;
    groat__kv_plane keys, values;
    groat__decode_named named;
    groat_status status;

    if (decode == NULL)
        return groat__fail_unusable("decode", decode, error);
    s = &decode->shape;
    status = groat__decode_check_run(s, a, error);
    if (status != GROAT_OK || a->sequences == 0)
        return status;
    status = groat__decode_planes(s, a, &keys, &values, error);
    if (status == GROAT_OK)
        status = groat__decode_score_bind(&decode->score, a, &named, error);
    if (status == GROAT_OK)
        status = check_keys(decode, a->sequences, most_keys(s, a), error);
    if (status != GROAT_OK)
        return status;
    args = (struct paged_attention_decode_args){
        .q = a->queries,
        .k = keys.address,
        .v = values.address,
        .page_table = a->page_table,
        .lengths = a->lengths,
        .output = a->output,
        .lse = a->lse,
        .sinks = a->sinks,
        .slopes = a->slopes,
        .tree = a->tree,
        .parts = a->workspace + decode->count_bytes,
        .counters = a->workspace,
        .block_bytes = keys.block,
        .token_bytes = keys.token,
        .head_bytes = keys.head,
        .value_block_bytes = values.block,
        .value_token_bytes = values.token,
        .value_head_bytes = values.head,
        .sequences = a->sequences,
        .kv_heads = s->kv_heads,
        .pitch = a->pitch,
        .blocks = decode->choice.blocks,
        .least = decode->choice.least,
        .most = most_keys(s, a),
        .seen = s->seen > 0 ? s->seen : 1,
        .scale = s->scale,
        .cap = s->cap,
    };
    bind_scales(s, a->keys->page, a, &args);
    memcpy(args.score_arrays, named.arrays, sizeof(named.arrays));
    memcpy(args.score_counts, named.counts, sizeof(named.counts));
    memcpy(args.score_scalars, named.scalars, sizeof(named.scalars));
    launch.grid[0] = args.blocks;
    launch.stream = stream;
    return groat_kernel_launch(decode->kernel, &launch, &args, sizeof(args),
                               error);
}
