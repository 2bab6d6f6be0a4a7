/* SPDX-License-Identifier: Apache-2.0
 *
 * spec.c writes the spec of a decode: its shape and its choice as parameters of
 * paged_attention_decode.
 */
#include "attention/spec.h"

#include <stdbool.h>
#include <stddef.h>

unsigned groat__decode_value_dim(const groat_decode_shape *shape)
{
    return shape->value_dim > 0 ? shape->value_dim : shape->head_dim;
}

void groat__decode_write_spec(const groat_decode_shape *s,
                              const groat_decode_choice *c, groat__str *out)
{
    static const char *const scales[] = {"tensor", "head", "token"};
    static const char *const masks[] = {"causal", "window", "chunk"};
    static const struct {
        unsigned flag;
        const char *name;
    } flags[] = {
        {GROAT_DECODE_CAP, "soft_cap"}, {GROAT_DECODE_ALIBI, "alibi"},
        {GROAT_DECODE_SINK, "sink"},    {GROAT_DECODE_LSE, "lse"},
        {GROAT_DECODE_TREE, "tree"},    {GROAT_DECODE_OVERLAP, "overlap"}};
    bool narrow = s->kv_dtype == GROAT_DECODE_E4M3;

    groat__str_addf(
        out,
        "paged_attention_decode:dtype=%s,kv_dtype=%s,kv_scale=%s,"
        "head_dim=%u,value_dim=%u,group=%u,q_len=%u,page_size=%u,head_page=%d,"
        "mask=%s,warps=%u,stages=%u,cluster=%u,split=%u",
        s->dtype == GROAT_DECODE_F16 ? "f16" : "bf16", narrow ? "e4m3" : "same",
        narrow ? scales[s->kv_scale] : "tensor", s->head_dim,
        groat__decode_value_dim(s), s->heads / s->kv_heads, s->q_len, s->page,
        s->layout == GROAT_KV_HEAD_PAGE, masks[s->mask], c->warps, c->stages,
        c->cluster, c->split);
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        groat__str_addf(out, ",%s=%d", flags[i].name,
                        (s->flags & flags[i].flag) != 0);
    if (s->score != NULL)
        groat__str_addf(out, ",score=\"%s\"", s->score);
}
