/* SPDX-License-Identifier: Apache-2.0
 *
 * trial.c runs decodes of one shape: it places what they read in device memory,
 * compares what they write with the library's float64 reference, and times
 * them.  Caches are rotated, so that a GPU's own cache holds none of them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/attention/attention.h"

enum {
    CALLS = 40,               /* launches that are timed together, at least */
    PLAIN_STEP_MOST = 1 << 18 /* bytes that a plain read reads of the last */
};

/* Bytes that are read before a cache comes again; what a reference may cost, in
 * products, for 1 to 4 sequences. */
static const uint64_t cold_bytes = 220000000;
static const uint64_t sets_bytes_most = (uint64_t)16 << 30;
static const double reference_products = 1e8;
/* The norm that is right, and the error of an LSE. */
static const double allowed = 4e-3;
static const double lse_allowed = 0x1p-8;

/* ---- device memory ------------------------------------------------------- */

groat_status groat__decode_trial_give(groat__decode_trial *t, const void *data,
                                      size_t bytes, uint64_t *address)
{
    groat_status status = groat_memory_alloc(t->cli->context, t->target, bytes,
                                             address, t->error);

    if (status == GROAT_OK)
        t->memory[t->memories++] = *address;
    if (status == GROAT_OK && data != NULL)
        status = groat_memory_write(t->cli->context, t->target, *address, data,
                                    bytes, t->error);
    return status;
}

groat_status groat__decode_trial_give_zeros(groat__decode_trial *t,
                                            size_t bytes, uint64_t *address)
{
    groat_status status = groat__decode_trial_give(t, NULL, bytes, address);

    return status == GROAT_OK
               ? groat_memory_write(t->cli->context, t->target, *address, NULL,
                                    bytes, t->error)
               : status;
}

/* The sets are copies of one cache, side by side. */
static groat_status give_caches(groat__decode_trial *t)
{
    uint64_t first = 0;
    groat_status status = groat__decode_trial_give(
        t, NULL, t->in.cache_bytes * t->sets + PLAIN_STEP_MOST, &first);

    for (size_t i = 0; i < t->sets && status == GROAT_OK; i++) {
        t->keys[i] = t->in.keys;
        t->keys[i].address = first + i * t->in.cache_bytes;
        t->values[i] = t->in.values;
        t->values[i].address = t->keys[i].address + t->in.key_bytes;
        status =
            groat_memory_write(t->cli->context, t->target, t->keys[i].address,
                               t->in.bytes, t->in.cache_bytes, t->error);
    }
    return status;
}

static groat_status place_names(groat__decode_trial *t)
{
    groat_status status = GROAT_OK;

    t->placed = calloc(GROAT__LIST_MAX, sizeof(*t->placed));
    if (t->placed == NULL)
        return groat__fail(t->error, GROAT_NO_MEMORY, "out of memory");
    for (unsigned i = 0; i < t->names.count && status == GROAT_OK; i++) {
        const groat_decode_named *one = &t->names.named[i];

        t->placed[i] = *one;
        if (one->count > 0)
            status = groat__decode_trial_give(
                t, (const void *)(uintptr_t)one->array,
                one->count * sizeof(float), &t->placed[i].array);
    }
    t->arguments.named = t->placed;
    t->arguments.named_count = t->names.count;
    return status;
}

static groat_status place(groat__decode_trial *t)
{
    const groat_decode_shape *s = &t->in.shape;
    groat_decode_arguments *a = &t->arguments;
    size_t queries = (size_t)s->sequences * s->q_len;
    groat_status status = give_caches(t);

    *a = groat__decode_input_on_host(&t->in, s->sequences);
    if (status == GROAT_OK)
        status = groat__decode_trial_give(t, t->in.queries, t->in.query_bytes,
                                          &a->queries);
    if (status == GROAT_OK)
        status = groat__decode_trial_give(
            t, t->in.table, (size_t)t->in.keys.blocks * 4, &a->page_table);
    if (status == GROAT_OK)
        status = groat__decode_trial_give(t, t->in.lengths, s->sequences * 4ull,
                                          &a->lengths);
    if (status == GROAT_OK)
        status = groat__decode_trial_give(t, t->in.tree, queries * 4, &a->tree);
    if (status == GROAT_OK)
        status = groat__decode_trial_give(t, t->in.facts, t->in.fact_count * 4,
                                          &a->sinks);
    a->slopes = a->sinks + 4ull * s->heads;
    a->k_scales = a->slopes + 4ull * s->heads;
    a->v_scales = a->k_scales + 4ull * t->in.scale_count;
    if (status == GROAT_OK)
        status = place_names(t);
    if (status == GROAT_OK)
        status =
            groat__decode_trial_give(t, NULL, t->in.output_bytes, &a->output);
    if (status == GROAT_OK)
        status =
            groat__decode_trial_give(t, NULL, queries * s->heads * 4, &a->lse);
    if (status == GROAT_OK)
        status = groat__decode_trial_give_zeros(
            t, groat_decode_workspace(t->decode), &a->workspace);
    return status;
}

/* ---- right or wrong ------------------------------------------------------ */

static double number_at(groat_decode_dtype dtype, const unsigned char *at)
{
    unsigned bits = at[0] | (unsigned)at[1] << 8;
    int mantissa = dtype == GROAT_DECODE_F16 ? 10 : 7;
    int bias = dtype == GROAT_DECODE_F16 ? 15 : 127;
    int exponent = (int)(bits & 0x7fffu) >> mantissa;
    unsigned fraction = bits & ((1u << mantissa) - 1);
    double sign = bits & 0x8000u ? -1 : 1;

    if (exponent == 2 * bias + 1)
        return NAN;
    return sign * (exponent == 0 ? ldexp(fraction, 1 - bias - mantissa)
                                 : ldexp(fraction + (1u << mantissa),
                                         exponent - bias - mantissa));
}

/* Sequences that the reference can do in some seconds. */
static unsigned count_compared(const groat__decode_trial *t)
{
    const groat_decode_shape *s = &t->in.shape;
    double each = (double)s->heads * s->q_len * s->keys *
                  (t->in.keys.dim + t->in.values.dim);
    double count = reference_products / each;

    return count < 1              ? 1
           : count > s->sequences ? s->sequences
                                  : (unsigned)count;
}

/* ||output - reference|| / ||reference||. */
static double norm_of(const groat__decode_trial *t, const unsigned char *output)
{
    double off = 0, all = 0;

    for (size_t i = 0; i < t->wanted_count; i++) {
        double x = number_at(t->in.shape.dtype, output + 2 * i);

        off += (x - t->wanted[i]) * (x - t->wanted[i]);
        all += t->wanted[i] * t->wanted[i];
    }
    return all > 0 ? sqrt(off / all) : sqrt(off);
}

/* Compares the LSEs: they are wrong by what the type can tell apart. */
static void compare_lse(groat__decode_trial *t, const float *lse)
{
    const double *wanted = t->wanted + t->wanted_count;

    t->lse_error = 0;
    t->lse_right = true;
    for (size_t i = 0; i < t->lse_count; i++) {
        double x = lse[i];
        double off = x == wanted[i] ? 0 : fabs(x - wanted[i]);

        if (!(off <= t->lse_error))
            t->lse_error = isnan(off) ? (double)INFINITY : off;
        if (!(off <= lse_allowed + 0x1p-20 * fabs(wanted[i])))
            t->lse_right = false;
    }
}

/* Once for all decodes of the shape: it costs more than a launch. */
static groat_status compute_reference(groat__decode_trial *t)
{
    const groat_decode_shape *s = &t->in.shape;
    groat_decode_arguments host;

    if (t->wanted != NULL)
        return GROAT_OK;
    t->compared = count_compared(t);
    t->wanted_count = t->in.output_bytes / 2 / s->sequences * t->compared;
    t->lse_count = s->flags & GROAT_DECODE_LSE
                       ? (size_t)t->compared * s->q_len * s->heads
                       : 0;
    t->wanted = calloc(t->wanted_count + t->lse_count, sizeof(*t->wanted));
    if (t->wanted == NULL)
        return groat__fail(t->error, GROAT_NO_MEMORY,
                           "no memory for a reference");
    host = groat__decode_input_on_host(&t->in, t->compared);
    host.named = t->names.named;
    host.named_count = t->names.count;
    return groat_decode_reference(
        s, &host, t->wanted,
        t->lse_count > 0 ? t->wanted + t->wanted_count : NULL, t->error);
}

/* Makes an output NaNs. */
static groat_status poison(const groat__decode_trial *t, uint64_t address,
                           void *poison, size_t bytes)
{
    memset(poison, 0xFF, bytes);
    return groat_memory_write(t->cli->context, t->target, address, poison,
                              bytes, t->error);
}

groat_status groat__decode_trial_compare(groat__decode_trial *t)
{
    unsigned char *output = malloc(t->in.output_bytes);
    groat_status status = compute_reference(t);
    size_t lse_bytes = t->lse_count * sizeof(float);
    float *lse = malloc(lse_bytes + 1);

    if (status == GROAT_OK && (output == NULL || lse == NULL))
        status =
            groat__fail(t->error, GROAT_NO_MEMORY, "no memory for outputs");
    if (status == GROAT_OK)
        status = poison(t, t->arguments.output, output, t->in.output_bytes);
    if (status == GROAT_OK && lse_bytes > 0)
        status = poison(t, t->arguments.lse, lse, lse_bytes);
    if (status == GROAT_OK)
        status = groat__decode_trial_launch(t, 0);
    if (status == GROAT_OK)
        status = groat_memory_read(t->cli->context, t->target, output,
                                   t->arguments.output, t->in.output_bytes,
                                   t->error);
    if (status == GROAT_OK && lse_bytes > 0)
        status = groat_memory_read(t->cli->context, t->target, lse,
                                   t->arguments.lse, lse_bytes, t->error);
    if (status == GROAT_OK) {
        t->norm = norm_of(t, output);
        compare_lse(t, lse);
    }
    free(lse);
    free(output);
    return status;
}

/* ---- a trial --------------------------------------------------------------
 */

void groat__decode_trial_start(groat__decode_trial *t, groat__cli *cli,
                               groat_error *error)
{
    t->cli = cli;
    t->error = error;
    t->target = cli->values.target != NULL ? cli->values.target
                                           : groat_default_target(cli->context);
}

groat_status groat__decode_trial_prepare(groat__decode_trial *t,
                                         const char *text)
{
    bool on_cpu = groat__decode_trial_on_cpu(t);
    groat_status status =
        groat__decode_word_parse(text, on_cpu, &t->word, t->error);

    t->word.shape.score = t->cli->values.score;
    if (status == GROAT_OK)
        status = groat__decode_names_read(&t->cli->values, &t->names, t->error);
    if (status == GROAT_OK)
        status = groat_decode_open(t->cli->context, t->target, &t->word.shape,
                                   groat__decode_word_choice(&t->word),
                                   &t->decode, t->error);
    t->info.size = sizeof(t->info);
    if (status == GROAT_OK)
        status = groat_decode_info_get(t->decode, &t->info, t->error);
    if (status == GROAT_OK)
        status = groat__decode_input_make(&t->in, &t->word, t->cli->values.seed,
                                          t->error);
    if (status != GROAT_OK)
        return status;
    t->sets = 1;
    if (!on_cpu && t->in.moved_bytes > 0)
        t->sets += (size_t)(cold_bytes / t->in.moved_bytes);
    if (t->sets > GROAT__TRIAL_SETS)
        t->sets = GROAT__TRIAL_SETS;
    /* With a mask little of a cache is read. */
    while (t->sets > 1 && t->sets * t->in.cache_bytes > sets_bytes_most)
        t->sets--;
    return place(t);
}

bool groat__decode_trial_is_right(const groat__decode_trial *t)
{
    return t->norm <= allowed && t->lse_right;
}

bool groat__decode_trial_on_cpu(const groat__decode_trial *t)
{
    return strncmp(t->target, "cpu:", 4) == 0;
}

groat_status groat__decode_trial_launch(groat__decode_trial *t, size_t set)
{
    t->arguments.keys = &t->keys[set];
    t->arguments.values = &t->values[set];
    return groat_decode_run(t->decode, &t->arguments, NULL, t->error);
}

size_t groat__decode_trial_calls(const groat__decode_trial *t)
{
    if (groat__decode_trial_on_cpu(t))
        return 1;
    return (CALLS + t->sets - 1) / t->sets * t->sets;
}

static int compare_reals(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double groat__decode_trial_median(double us[GROAT__TRIAL_ROUNDS])
{
    qsort(us, GROAT__TRIAL_ROUNDS, sizeof(*us), compare_reals);
    return us[GROAT__TRIAL_ROUNDS / 2];
}

void groat__decode_trial_clear(groat__decode_trial *t)
{
    for (size_t i = 0; i < t->memories; i++)
        groat_memory_free(t->cli->context, t->target, t->memory[i]);
    groat_decode_close(t->decode);
    groat__decode_input_free(&t->in);
    groat__decode_names_free(&t->names);
    free(t->placed);
    free(t->wanted);
}
