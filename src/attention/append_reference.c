/* SPDX-License-Identifier: Apache-2.0
 *
 * append_reference.c does an append on the host, token by token, in the float
 * arithmetic that groat_attention.h and the family's README promise.  It shares
 * no code with the kernel.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "attention/append.h"
#include "attention/check.h"
#include "attention/number.h"

typedef struct reference {
    const groat_append_shape *s;
    const groat_append_arguments *a;
    groat__kv_plane plane[2];
} reference;

/* A token, and the place in the cache where its key goes. */
typedef struct token {
    unsigned number, sequence;
    int64_t key;
    uint64_t block, in_block;
} token;

static uint32_t word_at(uint64_t address, uint64_t index)
{
    return ((const uint32_t *)groat__in_host(address))[index];
}

/* Whether the token belongs to t->sequence; sets its key. */
static bool has_token(const groat_append_arguments *a, token *t)
{
    uint64_t each = a->each, s = t->sequence;
    uint64_t first = a->starts != 0 ? word_at(a->starts, s) : s * each;
    uint64_t end = a->starts != 0 ? word_at(a->starts, s + 1) : first + each;

    t->key = (int64_t)word_at(a->lengths, s) - (int64_t)(end - t->number);
    return first <= t->number && t->number < end;
}

/* Finds the token's place; false if it is not stored anywhere. */
static bool find_token(const reference *r, token *t)
{
    const groat_append_arguments *a = r->a;

    for (t->sequence = 0; t->sequence < a->sequences; t->sequence++)
        if (has_token(a, t))
            break;
    if (t->sequence == a->sequences || t->key < 0 ||
        t->key >= groat__append_most(r->s, a))
        return false;
    t->block = t->sequence;
    t->in_block = (uint64_t)t->key;
    if (r->s->page > 0) {
        t->block = word_at(a->page_table, (uint64_t)t->sequence * a->pitch +
                                              (uint64_t)t->key / r->s->page);
        t->in_block = (uint64_t)t->key % r->s->page;
    }
    return t->block < a->keys->blocks;
}

/* Writes to y the vector x, rotated by a row of the table. */
static void rotate(const groat_append_shape *s, const float *row,
                   const float *x, float *y)
{
    unsigned half = groat__append_rotated(s) / 2;

    for (unsigned i = 0; i < half; i++) {
        unsigned a = s->rope == GROAT_APPEND_PAIRS ? 2 * i : i;
        unsigned b = s->rope == GROAT_APPEND_PAIRS ? 2 * i + 1 : i + half;
        float of_b = x[b] * row[half + i], of_a = x[a] * row[half + i];

        y[a] = fmaf(x[a], row[i], -of_b);
        y[b] = fmaf(x[b], row[i], of_a);
    }
}

static const float *rope_row(const reference *r, const token *t)
{
    uint64_t row = r->a->positions != 0 ? word_at(r->a->positions, t->number)
                                        : (uint64_t)t->key;

    if (row >= r->a->rope_rows)
        row = r->a->rope_rows - 1;
    return (const float *)groat__in_host(r->a->rope) +
           row * groat__append_rotated(r->s);
}

/* The scale of a head's vector; with one scale per token, chooses and stores
 * it. */
static float scale_of(const reference *r, int plane, const token *t,
                      unsigned head, const float *y)
{
    const groat_append_shape *s = r->s;
    float *scales =
        groat__in_host(plane == 0 ? r->a->k_scales : r->a->v_scales);
    groat__scale_strides strides =
        groat__scale_strides_of(s->layout, r->a->keys->page, s->kv_heads);
    float most = 0, scale;

    if (s->kv_scale == GROAT_DECODE_OF_TENSOR)
        return plane == 0 ? r->a->k_scale : r->a->v_scale;
    if (s->kv_scale == GROAT_DECODE_OF_HEAD)
        return scales[head];
    for (unsigned i = 0; i < groat__append_dim(s, plane); i++)
        most = fmaxf(most, fabsf(y[i]));
    /* Those of values are in the range that the decode takes. */
    scale = most == 0    ? 1
            : plane == 1 ? fminf(fmaxf(most / 448, 0x1p-12F), 255)
                         : fminf(fmaxf(most / 448, FLT_MIN), 3.4e38F);
    scales[t->block * strides.block + t->in_block * strides.token +
           (uint64_t)head * strides.head] = scale;
    return scale;
}

static void put_head(const reference *r, int plane, const token *t,
                     unsigned head)
{
    const groat_append_shape *s = r->s;
    const groat__kv_plane *p = &r->plane[plane];
    unsigned dim = groat__append_dim(s, plane);
    uint64_t stride = groat__append_stride(
        s, plane, plane == 0 ? r->a->key_stride : r->a->value_stride);
    uint64_t from = (plane == 0 ? r->a->new_keys : r->a->new_values) +
                    t->number * stride + (uint64_t)head * dim * 2;
    uint64_t to = p->address + t->block * p->block + t->in_block * p->token +
                  head * p->head;
    float x[GROAT__APPEND_DIM_MAX], y[GROAT__APPEND_DIM_MAX], by = 1;

    if (s->kv_dtype == s->dtype &&
        (plane == 1 || s->rope == GROAT_APPEND_PLAIN)) {
        memcpy(groat__in_host(to), groat__in_host(from), (size_t)dim * 2);
        return;
    }
    for (unsigned i = 0; i < dim; i++)
        y[i] = x[i] = (float)groat__number_load(s->dtype, from, i);
    if (plane == 0 && s->rope != GROAT_APPEND_PLAIN)
        rotate(s, rope_row(r, t), x, y);
    if (s->kv_dtype == GROAT_DECODE_E4M3)
        by = 1 / scale_of(r, plane, t, head, y);
    for (unsigned i = 0; i < dim; i++)
        groat__number_store(s->kv_dtype, to, i, y[i] * by);
}

groat_status groat_append_reference(const groat_append_shape *shape,
                                    const groat_append_arguments *arguments,
                                    groat_error *error)
{
    reference r = {.s = shape, .a = arguments};
    groat_status status = groat__append_check_shape(shape, error);
    token t;

    if (status == GROAT_OK)
        status = groat__append_check_run(shape, arguments, error);
    if (status != GROAT_OK || arguments->sequences == 0 ||
        arguments->tokens == 0)
        return status;
    status =
        groat__append_planes(shape, arguments, &r.plane[0], &r.plane[1], error);
    for (t.number = 0; status == GROAT_OK && t.number < arguments->tokens;
         t.number++)
        if (find_token(&r, &t))
            for (unsigned head = 0; head < shape->kv_heads; head++)
                for (int plane = 0; plane < 2; plane++)
                    put_head(&r, plane, &t, head);
    return status;
}
