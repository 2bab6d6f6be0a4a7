/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_attention.c - groat attention: a decode of each shape, compared with the
 * library's float64 reference and, on a GPU, timed beside a plain read of the
 * same bytes.  Caches are rotated so that none is in a GPU's own cache; each
 * round times every kernel once, another one first.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/attention/attention.h"
#include "kernels-src/driver/driver.h"

enum {
    ROUNDS = 15,
    SETS_MAX = 64,
    CALLS = 40, /* launches of a round, at least */
    HOST_CALLS = 200,
    PLAIN = 5
};

/* Bytes that are read before a cache comes again; what a reference may cost, in
 * products, for 1 to 4 sequences; the norm that is right. */
static const uint64_t cold_bytes = 220000000;
static const double reference_products = 1e8;
static const double allowed = 4e-3;

static const char *const plain_specs[PLAIN] = {
    "plain_read:num_warps=8,unroll=4",  "plain_read:num_warps=8,unroll=8",
    "plain_read:num_warps=16,unroll=4", "plain_read:num_warps=4,unroll=8",
    "plain_read:num_warps=4,unroll=16",
};

/* A kernel that only reads. */
typedef struct plain {
    groat_spec *spec;
    groat_kernel *kernel;
    groat_plan plan;
    double read; /* of all bytes: what whole steps leave out */
    double us[ROUNDS];
} plain;

/* One shape on its way. */
typedef struct trial {
    groat__cli *cli;
    const char *target;
    groat_error *error;
    groat__decode_word word;
    groat__decode_input in;
    groat__decode_names names;  /* of the host   */
    groat_decode_named *placed; /* of the device */
    groat_decode *decode;
    groat_origin origin;
    groat_kernel_info info;
    groat_kv_cache cache[SETS_MAX];
    size_t sets;
    groat_decode_arguments arguments;
    uint64_t memory[12 + GROAT__LIST_MAX]; /* of the device, to be freed */
    size_t memories;
    const groat_driver *reader; /* of plain_read */
    plain plain[PLAIN];
    uint64_t sums; /* what they write */
    double us[ROUNDS], host_us, norm, decode_us, read_us;
    unsigned compared; /* sequences */
} trial;

/* ---- device memory ------------------------------------------------------- */

static groat_status give(trial *t, const void *data, size_t bytes,
                         uint64_t *address)
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

static groat_status give_zeros(trial *t, size_t bytes, uint64_t *address)
{
    void *zeros = calloc(1, bytes);
    groat_status status;

    if (zeros == NULL)
        return groat__cli_error(t->error, GROAT_NO_MEMORY,
                                "no memory for %zu zeros", bytes);
    status = give(t, zeros, bytes, address);
    free(zeros);
    return status;
}

/* The sets are copies of one cache, side by side. */
static groat_status give_caches(trial *t)
{
    uint64_t first = 0;
    groat_status status = give(t, NULL, t->in.cache_bytes * t->sets, &first);

    for (size_t i = 0; i < t->sets && status == GROAT_OK; i++) {
        t->cache[i] = t->in.cache;
        t->cache[i].address = first + i * t->in.cache_bytes;
        status =
            groat_memory_write(t->cli->context, t->target, t->cache[i].address,
                               t->in.bytes, t->in.cache_bytes, t->error);
    }
    return status;
}

static groat_status place_names(trial *t)
{
    groat_status status = GROAT_OK;

    t->placed = calloc(GROAT__LIST_MAX, sizeof(*t->placed));
    if (t->placed == NULL)
        return groat__cli_error(t->error, GROAT_NO_MEMORY, "out of memory");
    for (unsigned i = 0; i < t->names.count && status == GROAT_OK; i++) {
        const groat_decode_named *one = &t->names.named[i];

        t->placed[i] = *one;
        if (one->count > 0)
            status = give(t, (const void *)(uintptr_t)one->array,
                          one->count * sizeof(float), &t->placed[i].array);
    }
    t->arguments.named = t->placed;
    t->arguments.named_count = t->names.count;
    return status;
}

static groat_status place(trial *t)
{
    const groat_decode_shape *s = &t->in.shape;
    groat_decode_arguments *a = &t->arguments;
    size_t queries = (size_t)s->sequences * s->q_len;
    groat_status status = give_caches(t);

    *a = groat__decode_input_on_host(&t->in, s->sequences);
    if (status == GROAT_OK)
        status = give(t, t->in.queries, t->in.query_bytes, &a->queries);
    if (status == GROAT_OK)
        status = give(t, t->in.table, (size_t)t->in.cache.blocks * 4,
                      &a->page_table);
    if (status == GROAT_OK)
        status = give(t, t->in.lengths, s->sequences * 4ull, &a->lengths);
    if (status == GROAT_OK)
        status = give(t, t->in.tree, queries * 4, &a->tree);
    if (status == GROAT_OK)
        status = give(t, t->in.facts, t->in.fact_count * 4, &a->sinks);
    a->slopes = a->sinks + 4ull * s->heads;
    a->k_scales = a->slopes + 4ull * s->heads;
    a->v_scales = a->k_scales + 4ull * t->in.scale_count;
    if (status == GROAT_OK)
        status = place_names(t);
    if (status == GROAT_OK)
        status = give(t, NULL, t->in.query_bytes, &a->output);
    if (status == GROAT_OK)
        status = give(t, NULL, queries * s->heads * 4, &a->lse);
    if (status == GROAT_OK)
        status =
            give_zeros(t, groat_decode_workspace(t->decode), &a->workspace);
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
static unsigned count_compared(const groat_decode_shape *s)
{
    double each = (double)s->heads * s->q_len * s->keys * s->head_dim * 2;
    double count = reference_products / each;

    return count < 1              ? 1
           : count > s->sequences ? s->sequences
                                  : (unsigned)count;
}

/* ||output - reference|| / ||reference||. */
static double norm_of(const trial *t, const unsigned char *output,
                      const double *wanted, size_t count)
{
    double off = 0, all = 0;

    for (size_t i = 0; i < count; i++) {
        double x = number_at(t->in.shape.dtype, output + 2 * i);

        off += (x - wanted[i]) * (x - wanted[i]);
        all += wanted[i] * wanted[i];
    }
    return all > 0 ? sqrt(off / all) : sqrt(off);
}

static groat_status launch(trial *t, size_t set)
{
    t->arguments.keys = &t->cache[set];
    return groat_decode_run(t->decode, &t->arguments, NULL, t->error);
}

static groat_status compare(trial *t)
{
    const groat_decode_shape *s = &t->in.shape;
    unsigned char *output = malloc(t->in.query_bytes);
    groat_decode_arguments host;
    size_t count;
    double *wanted;
    groat_status status;

    t->compared = count_compared(s);
    count = t->in.query_bytes / 2 / s->sequences * t->compared;
    wanted = calloc(count, sizeof(*wanted));
    host = groat__decode_input_on_host(&t->in, t->compared);
    host.named = t->names.named;
    host.named_count = t->names.count;
    status = output == NULL || wanted == NULL
                 ? groat__cli_error(t->error, GROAT_NO_MEMORY,
                                    "no memory for outputs")
                 : GROAT_OK;
    if (status == GROAT_OK) {
        memset(output, 0xFF, t->in.query_bytes);
        status =
            groat_memory_write(t->cli->context, t->target, t->arguments.output,
                               output, t->in.query_bytes, t->error);
    }
    if (status == GROAT_OK)
        status = launch(t, 0);
    if (status == GROAT_OK)
        status =
            groat_memory_read(t->cli->context, t->target, output,
                              t->arguments.output, t->in.query_bytes, t->error);
    if (status == GROAT_OK)
        status = groat_decode_reference(s, &host, wanted, NULL, t->error);
    if (status == GROAT_OK)
        t->norm = norm_of(t, output, wanted, count);
    free(wanted);
    free(output);
    return status;
}

/* ---- times --------------------------------------------------------------- */

static groat_status place_plain(trial *t, plain *p, const char *text)
{
    int64_t values[GROAT_DRIVER_ARGS] = {-1, -1};
    int64_t step = 0;
    groat_status status =
        groat_spec_parse(t->cli->context, text, t->target, &p->spec, t->error);

    if (status == GROAT_OK)
        status = groat_spec_get(p->spec, "step_bytes", &step, t->error);
    if (status == GROAT_OK)
        status =
            groat_kernel_get_spec(p->spec, NULL, &p->kernel, NULL, t->error);
    if (status != GROAT_OK)
        return status;
    values[0] = (int64_t)t->in.moved_bytes / step;
    p->read = (double)(values[0] * step) / (double)t->in.moved_bytes;
    return t->reader->plan(p->spec, values, &p->plan, t->error);
}

static groat_status place_plains(trial *t)
{
    groat_status status = GROAT_OK;
    size_t bytes = 0;

    for (size_t i = 0; i < PLAIN && status == GROAT_OK; i++) {
        status = place_plain(t, &t->plain[i], plain_specs[i]);
        if (t->plain[i].plan.buffers[1].bytes > bytes)
            bytes = t->plain[i].plan.buffers[1].bytes;
    }
    return status == GROAT_OK ? give(t, NULL, bytes, &t->sums) : status;
}

static groat_status launch_plain(trial *t, plain *p, size_t set)
{
    const uint64_t addresses[] = {t->cache[set].address, t->sums};
    groat_launch how = GROAT_LAUNCH_INIT;
    groat_status status = t->reader->bind(t->cli->context, p->spec, &p->plan,
                                          addresses, t->error);

    memcpy(how.grid, p->plan.grid, sizeof(how.grid));
    return status == GROAT_OK
               ? groat_kernel_launch(p->kernel, &how, p->plan.args,
                                     p->plan.args_bytes, t->error)
               : status;
}

/* Microseconds of a launch of kernel `side`, of PLAIN the decode's. */
static groat_status time_side(trial *t, size_t side, double *us)
{
    size_t calls = (CALLS + t->sets - 1) / t->sets * t->sets;
    uint64_t start = groat__now_ns();
    groat_status status = GROAT_OK;

    for (size_t i = 0; i < calls && status == GROAT_OK; i++)
        status = side == PLAIN ? launch(t, i % t->sets)
                               : launch_plain(t, &t->plain[side], i % t->sets);
    if (status == GROAT_OK)
        status = groat_synchronize(t->cli->context, t->target, t->error);
    *us = (double)(groat__now_ns() - start) / 1e3 / (double)calls;
    return status;
}

static groat_status time_host(trial *t)
{
    uint64_t start = groat__now_ns();
    groat_status status = GROAT_OK;

    for (size_t i = 0; i < HOST_CALLS && status == GROAT_OK; i++)
        status = launch(t, i % t->sets);
    t->host_us = (double)(groat__now_ns() - start) / 1e3 / HOST_CALLS;
    return status == GROAT_OK
               ? groat_synchronize(t->cli->context, t->target, t->error)
               : status;
}

static int compare_reals(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof(*values), compare_reals);
    return values[ROUNDS / 2];
}

static groat_status time_all(trial *t)
{
    groat_status status = place_plains(t);

    for (size_t round = 0; round <= ROUNDS && status == GROAT_OK; round++)
        for (size_t i = 0; i <= PLAIN && status == GROAT_OK; i++) {
            size_t side = (i + round) % (PLAIN + 1);
            double us = 0;

            status = time_side(t, side, &us);
            if (round > 0 && side == PLAIN) /* the first one warms up */
                t->us[round - 1] = us;
            else if (round > 0)
                t->plain[side].us[round - 1] = us / t->plain[side].read;
        }
    if (status == GROAT_OK)
        status = time_host(t);
    if (status != GROAT_OK)
        return status;
    t->decode_us = median(t->us);
    for (size_t i = 0; i < PLAIN; i++) {
        double us = median(t->plain[i].us);

        t->read_us = i == 0 || us < t->read_us ? us : t->read_us;
    }
    return GROAT_OK;
}

/* ---- the answer ---------------------------------------------------------- */

static bool is_right(const trial *t)
{
    return t->norm <= allowed;
}

static void tell_json(trial *t, const char *text)
{
    groat__json *json = &t->cli->json;
    groat_decode_choice choice = GROAT_DECODE_CHOICE_INIT;
    bool timed = t->decode_us > 0;

    groat__json_object(json, NULL);
    groat__json_string(json, "shape", text);
    groat__json_string(json, "spec", groat_decode_spec(t->decode));
    groat__json_string(json, "target", t->target);
    groat__json_string(json, "origin", groat_origin_name(t->info.origin));
    groat__json_real(json, "compile_ms", t->info.compile_ms);
    (void)groat_decode_choice_get(t->decode, &choice, NULL);
    groat__json_uint(json, "blocks", choice.blocks);
    groat__json_uint(json, "workspace_bytes",
                     groat_decode_workspace(t->decode));
    groat__json_uint(json, "compared_sequences", t->compared);
    groat__json_real(json, "norm", t->norm);
    groat__json_bool(json, "verified", is_right(t));
    groat__json_uint(json, "moved_bytes", t->in.moved_bytes);
    groat__json_real(json, "us", timed ? t->decode_us : (double)NAN);
    groat__json_real(json, "plain_read_us", timed ? t->read_us : (double)NAN);
    groat__json_real(json, "host_us", timed ? t->host_us : (double)NAN);
    groat__json_end(json);
}

static void tell(trial *t, const char *text)
{
    if (t->cli->values.json) {
        tell_json(t, text);
        return;
    }
    (void)printf("%s\n  %s\n", text[0] != '\0' ? text : "the default shape",
                 groat_decode_spec(t->decode));
    (void)printf("  %s: the norm of the error is %.2e of the output's (%u of "
                 "%u sequences compared)\n",
                 is_right(t) ? "verified" : "WRONG", t->norm, t->compared,
                 t->in.shape.sequences);
    if (t->decode_us > 0)
        (void)printf("  %.2f us, %.0f GB/s; a plain read of the same bytes "
                     "%.2f us (%.3f of it); %.2f us of the host a call\n",
                     t->decode_us,
                     (double)t->in.moved_bytes / t->decode_us / 1e3, t->read_us,
                     t->read_us / t->decode_us, t->host_us);
}

static void clear(trial *t)
{
    for (size_t i = 0; i < t->memories; i++)
        groat_memory_free(t->cli->context, t->target, t->memory[i]);
    for (size_t i = 0; i < PLAIN; i++) {
        groat_kernel_release(t->plain[i].kernel);
        groat_spec_free(t->plain[i].spec);
    }
    groat_decode_close(t->decode);
    groat__decode_input_free(&t->in);
    groat__decode_names_free(&t->names);
    free(t->placed);
}

static groat_status prepare(trial *t, const char *text, bool on_cpu)
{
    groat_status status =
        groat__decode_word_parse(text, on_cpu, &t->word, t->error);

    t->word.shape.score = t->cli->values.score;
    if (status == GROAT_OK)
        status = groat__decode_names_read(&t->cli->values, &t->names, t->error);
    if (status == GROAT_OK)
        status = groat_decode_open(t->cli->context, t->target, &t->word.shape,
                                   &t->word.choice, &t->decode, t->error);
    if (status == GROAT_OK) {
        t->info.size = sizeof(t->info);
        status = groat_kernel_info_get(groat_decode_kernel(t->decode), &t->info,
                                       t->error);
    }
    if (status == GROAT_OK)
        status = groat__decode_input_make(&t->in, &t->word, t->cli->values.seed,
                                          t->error);
    if (status != GROAT_OK)
        return status;
    t->sets = 1;
    if (!on_cpu && t->in.moved_bytes > 0)
        t->sets += (size_t)(cold_bytes / t->in.moved_bytes);
    if (t->sets > SETS_MAX)
        t->sets = SETS_MAX;
    return place(t);
}

/* Returns an exit code. */
static int run_shape(groat__cli *cli, const char *text)
{
    groat_error error = GROAT_ERROR_INIT;
    trial *t = calloc(1, sizeof(*t));
    groat_status status;
    bool on_cpu;
    int code;

    if (t == NULL)
        return groat__cli_refuse(cli, GROAT_NO_MEMORY, "out of memory");
    t->cli = cli;
    t->reader = groat_driver_find("plain_read");
    t->error = &error;
    t->target = cli->values.target != NULL ? cli->values.target
                                           : groat_default_target(cli->context);
    on_cpu = strncmp(t->target, "cpu:", 4) == 0;
    status = prepare(t, text, on_cpu);
    if (status == GROAT_OK)
        status = compare(t);
    if (status == GROAT_OK && !on_cpu && t->in.moved_bytes > 0)
        status = time_all(t);
    if (status == GROAT_OK)
        tell(t, text);
    code = status != GROAT_OK ? groat__cli_fail(cli, &error)
           : is_right(t)      ? GROAT__EXIT_DONE
                              : GROAT__EXIT_FAILED;
    clear(t);
    free(t);
    return code;
}

int groat__cmd_attention(groat__cli *cli)
{
    int code = groat__cli_open(cli, 0);
    int worst = code;

    if (code != GROAT__EXIT_DONE)
        return code;
    groat__json_array(&cli->json, "decodes");
    if (cli->word_count == 0)
        worst = run_shape(cli, "");
    for (size_t i = 0; i < cli->word_count; i++) {
        code = run_shape(cli, cli->words[i]);
        worst = code != GROAT__EXIT_DONE ? code : worst;
    }
    groat__json_end(&cli->json);
    return worst;
}
