/* SPDX-License-Identifier: Apache-2.0
 *
 * reference.c computes a decode by its definition, in float64 on the host.
 * It shares no code with the kernel.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "attention/number.h"
#include "attention/score.h"
#include "attention/shape.h"
#include "attention/spec.h"
#include "base/error.h"

/* The inputs of a call. */
typedef struct reference {
    const groat_decode_shape *s;
    const groat_decode_arguments *a;
    groat__kv_plane plane[2];
    unsigned group;
    unsigned value_dim;
    double scale;
    double *weights; /* one for each key of a sequence */
    groat__code code;
    groat__code_values values; /* its floats and arrays */
} reference;

/* One query. */
typedef struct query {
    unsigned sequence, place, head;
    int64_t length; /* keys of the sequence                     */
    int64_t at;     /* the key at its position; may be negative */
} query;

/* The score that +inf is clamped to. */
static const double most_score = 1e30 * 0.6931471805599453;

/* ---- places -------------------------------------------------------------- */

static uint64_t block_of(const reference *r, unsigned sequence, int64_t key)
{
    const uint32_t *table = groat__in_host(r->a->page_table);

    return r->s->page == 0 ? sequence
                           : table[(uint64_t)sequence * r->a->pitch +
                                   (uint64_t)key / r->s->page];
}

/* The address of a key vector (plane 0) or value vector (plane 1). */
static uint64_t vector_of(const reference *r, int plane, const query *q,
                          int64_t key)
{
    const groat__kv_plane *p = &r->plane[plane];

    return p->address + block_of(r, q->sequence, key) * p->block +
           (uint64_t)key % r->a->keys->page * p->token +
           q->head / r->group * p->head;
}

static double scale_of(const reference *r, int plane, const query *q,
                       int64_t key)
{
    const float *scales =
        groat__in_host(plane == 0 ? r->a->k_scales : r->a->v_scales);
    uint64_t page = r->a->keys->page, heads = r->s->kv_heads;
    uint64_t head = q->head / r->group, in_page = (uint64_t)key % page;

    if (r->s->kv_dtype != GROAT_DECODE_E4M3)
        return 1;
    if (r->s->kv_scale == GROAT_DECODE_OF_TENSOR)
        return plane == 0 ? r->a->k_scale : r->a->v_scale;
    if (r->s->kv_scale == GROAT_DECODE_OF_HEAD)
        return scales[head];
    return scales[block_of(r, q->sequence, key) * page * heads +
                  (r->s->layout == GROAT_KV_HEAD_PAGE
                       ? head * page + in_page
                       : in_page * heads + head)];
}

/* ---- attention ----------------------------------------------------------- */

static bool sees(const reference *r, const query *q, int64_t key)
{
    int64_t tail = q->length - r->s->q_len, seen = r->s->seen;

    if ((r->s->flags & GROAT_DECODE_TREE) != 0 && key >= tail) {
        const uint32_t *tree = groat__in_host(r->a->tree);

        return tree[q->sequence * r->s->q_len + q->place] >> (key - tail) & 1;
    }
    if (key > q->at)
        return false;
    if (r->s->mask == GROAT_DECODE_WINDOW)
        return key + seen > q->at;
    return r->s->mask == GROAT_DECODE_CAUSAL || key / seen == q->at / seen;
}

static uint64_t row_of(const reference *r, const query *q)
{
    return ((uint64_t)q->sequence * r->s->q_len + q->place) * r->s->heads +
           q->head;
}

static double expressed(const reference *r, const query *q, int64_t key,
                        double sum)
{
    groat__code_values values = r->values;
    const double inputs[] = {sum, (double)q->at, (double)key, q->head,
                             q->sequence};
    double x;

    memcpy(values.inputs, inputs, sizeof(inputs));
    x = groat__code_eval(&r->code, &values);
    return isnan(x) ? -INFINITY : fmin(x, most_score);
}

static double score(const reference *r, const query *q, int64_t key)
{
    uint64_t vector = vector_of(r, 0, q, key);
    double sum = 0;

    for (unsigned d = 0; d < r->s->head_dim; d++)
        sum += groat__number_load(r->s->dtype, r->a->queries,
                                  row_of(r, q) * r->s->head_dim + d) *
               groat__number_load(r->s->kv_dtype, vector, d);
    sum *= r->scale * scale_of(r, 0, q, key);
    if (r->s->flags & GROAT_DECODE_CAP)
        sum = r->s->cap * tanh(sum / r->s->cap);
    if (r->s->flags & GROAT_DECODE_ALIBI)
        sum += ((const float *)groat__in_host(r->a->slopes))[q->head] *
               (double)(key - q->at);
    return r->s->score != NULL ? expressed(r, q, key, sum) : sum;
}

/* Fills r->weights with exp(score - most); returns the largest score, most. */
static double weigh(const reference *r, const query *q, double *sum)
{
    bool has_sink = (r->s->flags & GROAT_DECODE_SINK) != 0;
    double sink =
        has_sink ? ((const float *)groat__in_host(r->a->sinks))[q->head] : 0;
    double most = has_sink ? sink : -INFINITY;

    for (int64_t key = 0; key < q->length; key++) {
        r->weights[key] = sees(r, q, key) ? score(r, q, key) : -INFINITY;
        if (r->weights[key] <= -most_score)
            r->weights[key] = -INFINITY;
        most = fmax(most, r->weights[key]);
    }
    *sum = has_sink && sink > -INFINITY ? exp(sink - most) : 0;
    for (int64_t key = 0; key < q->length; key++) {
        r->weights[key] =
            r->weights[key] == -INFINITY ? 0 : exp(r->weights[key] - most);
        *sum += r->weights[key];
    }
    return most;
}

static void attend(const reference *r, const query *q, double *out, double *lse)
{
    double sum;
    double most = weigh(r, q, &sum);

    for (unsigned d = 0; d < r->value_dim; d++)
        out[d] = 0;
    for (int64_t key = 0; key < q->length; key++)
        if (r->weights[key] != 0) { /* maybe a NaN */
            double weight = r->weights[key] * scale_of(r, 1, q, key);

            for (unsigned d = 0; d < r->value_dim; d++)
                out[d] += weight / sum *
                          groat__number_load(r->s->kv_dtype,
                                             vector_of(r, 1, q, key), d);
        }
    if (lse != NULL)
        *lse = sum != 0 ? most / log(2) + log2(sum) : -INFINITY;
}

/* Binds the floats and arrays that the score names. */
static groat_status bind_score(reference *r, groat_error *error)
{
    groat__decode_named named;
    groat_status status = groat__decode_score_read(r->s, &r->code, error);

    if (status == GROAT_OK)
        status = groat__decode_score_bind(&r->code, r->a, &named, error);
    if (status != GROAT_OK)
        return status;
    memcpy(r->values.scalars, named.scalars, sizeof(named.scalars));
    memcpy(r->values.counts, named.counts, sizeof(named.counts));
    for (size_t i = 0; i < GROAT__CODE_ARRAYS; i++)
        r->values.arrays[i] = groat__in_host(named.arrays[i]);
    return GROAT_OK;
}

/* ---- checks -------------------------------------------------------------- */

/* Finds the longest sequence and checks lengths and pages against the cache.
 * Errors: INVALID. */
static groat_status check_lengths(const reference *r, uint32_t *longest,
                                  groat_error *error)
{
    const uint32_t *lengths = groat__in_host(r->a->lengths);
    uint64_t most =
        r->s->page > 0 ? (uint64_t)r->a->pitch * r->s->page : r->a->keys->page;

    if (most > r->s->keys)
        most = r->s->keys;
    *longest = 0;
    for (unsigned i = 0; i < r->a->sequences; i++) {
        if (lengths[i] > most)
            return groat__fail(error, GROAT_INVALID,
                               "arguments.lengths[%u] is %u; allowed: 0 to "
                               "%llu, what shape and page table have",
                               i, lengths[i], (unsigned long long)most);
        const uint32_t step = r->s->page > 0 ? r->s->page : UINT32_MAX;

        for (uint64_t key =
                 groat_decode_first_key(r->s, lengths[i]) / step * step;
             key < lengths[i]; key += step)
            if (block_of(r, i, (int64_t)key) >= r->a->keys->blocks)
                return groat__fail(
                    error, GROAT_INVALID,
                    "arguments.page_table names block %llu for key %llu of "
                    "sequence %u; allowed: 0 to %llu",
                    (unsigned long long)block_of(r, i, (int64_t)key),
                    (unsigned long long)key, i,
                    (unsigned long long)r->a->keys->blocks - 1);
        *longest = lengths[i] > *longest ? lengths[i] : *longest;
    }
    return GROAT_OK;
}

static void compute(const reference *r, double *output, double *lse)
{
    for (unsigned i = 0; i < r->a->sequences; i++)
        for (unsigned place = 0; place < r->s->q_len; place++)
            for (unsigned head = 0; head < r->s->heads; head++) {
                query q = {i, place, head,
                           ((const uint32_t *)groat__in_host(r->a->lengths))[i],
                           0};
                uint64_t row = row_of(r, &q);

                q.at = q.length - r->s->q_len + place;
                attend(r, &q, output + row * r->value_dim,
                       lse != NULL ? lse + row : NULL);
            }
}

groat_status groat_decode_reference(const groat_decode_shape *shape,
                                    const groat_decode_arguments *arguments,
                                    double *output, double *lse,
                                    groat_error *error)
{
    reference r = {.s = shape, .a = arguments};
    uint32_t longest = 0;
    groat_status status = groat__decode_check_shape(shape, error);

    if (status == GROAT_OK)
        status = groat__decode_check_inputs(shape, arguments, error);
    if (status != GROAT_OK || arguments->sequences == 0)
        return status;
    status =
        groat__decode_planes(shape, arguments, &r.plane[0], &r.plane[1], error);
    if (status == GROAT_OK)
        status = bind_score(&r, error);
    if (status == GROAT_OK)
        status = check_lengths(&r, &longest, error);
    if (status != GROAT_OK)
        return status;
    r.group = shape->heads / shape->kv_heads;
    r.value_dim = groat__decode_value_dim(shape);
    r.scale =
        shape->scale != 0 ? shape->scale : 1 / sqrtf((float)shape->head_dim);
    r.weights = malloc(((size_t)longest + 1) * sizeof(*r.weights));
    if (r.weights == NULL)
        return groat__fail(error, GROAT_NO_MEMORY,
                           "no memory for the weights of %u keys", longest);
    compute(&r, output, lse);
    free(r.weights);
    return GROAT_OK;
}
