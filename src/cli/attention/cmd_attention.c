/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_attention.c - groat attention: a decode of each shape, compared with the
 * library's float64 reference and, on a GPU, timed beside a plain read of the
 * same bytes.  Each round times every kernel once, another one first.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/attention/attention.h"
#include "kernels-src/driver/measured.h"

enum { HOST_CALLS = 200, PLAIN = GROAT_PLAIN_READS };

/* A kernel that only reads. */
typedef struct plain {
    groat_spec *spec;
    groat_kernel *kernel;
    groat_plan plan;
    double read; /* of all bytes: what whole steps leave out */
    double us[GROAT__TRIAL_ROUNDS];
} plain;

/* One shape on its way. */
typedef struct run {
    groat__decode_trial trial;
    groat_kernel_info info;
    const groat_driver *reader; /* of those kernels */
    plain plain[PLAIN];
    uint64_t sums; /* what they write */
    double us[GROAT__TRIAL_ROUNDS], host_us, decode_us, read_us;
} run;

/* ---- times --------------------------------------------------------------- */

static groat_status place_plain(run *r, plain *p, const char *text)
{
    groat__decode_trial *t = &r->trial;
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
    /* Whole steps, of few bytes one. */
    values[0] = (int64_t)t->in.moved_bytes / step;
    values[0] = values[0] > 0 ? values[0] : 1;
    p->read = fmin(1, (double)(values[0] * step) / (double)t->in.moved_bytes);
    return r->reader->plan(p->spec, values, &p->plan, t->error);
}

static groat_status place_plains(run *r)
{
    groat_status status = GROAT_OK;
    size_t bytes = 0;

    for (size_t i = 0; i < PLAIN && status == GROAT_OK; i++) {
        status = place_plain(r, &r->plain[i], groat_plain_reads[i]);
        if (r->plain[i].plan.buffers[1].bytes > bytes)
            bytes = r->plain[i].plan.buffers[1].bytes;
    }
    return status == GROAT_OK
               ? groat__decode_trial_give(&r->trial, NULL, bytes, &r->sums)
               : status;
}

/* One of kernel `side`, of PLAIN the decode's. */
static groat_status launch_side(run *r, size_t side, size_t set)
{
    groat__decode_trial *t = &r->trial;
    const uint64_t addresses[] = {t->keys[set].address, r->sums};
    plain *p = &r->plain[side];
    groat_launch how = GROAT_LAUNCH_INIT;
    groat_status status;

    if (side == PLAIN)
        return groat__decode_trial_launch(t, set);
    status = r->reader->bind(t->cli->context, p->spec, &p->plan, addresses,
                             t->error);
    memcpy(how.grid, p->plan.grid, sizeof(how.grid));
    return status == GROAT_OK
               ? groat_kernel_launch(p->kernel, &how, p->plan.args,
                                     p->plan.args_bytes, t->error)
               : status;
}

static groat_status time_side(run *r, size_t side, double *us)
{
    groat__decode_trial *t = &r->trial;
    size_t calls = groat__decode_trial_calls(t);
    uint64_t start = groat__now_ns();
    groat_status status = GROAT_OK;

    for (size_t i = 0; i < calls && status == GROAT_OK; i++)
        status = launch_side(r, side, i % t->sets);
    if (status == GROAT_OK)
        status = groat_synchronize(t->cli->context, t->target, t->error);
    *us = (double)(groat__now_ns() - start) / 1e3 / (double)calls;
    return status;
}

static groat_status time_host(run *r)
{
    groat__decode_trial *t = &r->trial;
    uint64_t start = groat__now_ns();
    groat_status status = GROAT_OK;

    for (size_t i = 0; i < HOST_CALLS && status == GROAT_OK; i++)
        status = groat__decode_trial_launch(t, i % t->sets);
    r->host_us = (double)(groat__now_ns() - start) / 1e3 / HOST_CALLS;
    return status == GROAT_OK
               ? groat_synchronize(t->cli->context, t->target, t->error)
               : status;
}

static groat_status time_all(run *r)
{
    groat_status status = place_plains(r);

    for (size_t round = 0; round <= GROAT__TRIAL_ROUNDS && status == GROAT_OK;
         round++)
        for (size_t i = 0; i <= PLAIN && status == GROAT_OK; i++) {
            size_t side = (i + round) % (PLAIN + 1);
            double us = 0;

            status = time_side(r, side, &us);
            if (round > 0 && side == PLAIN) /* the first one warms up */
                r->us[round - 1] = us;
            else if (round > 0)
                r->plain[side].us[round - 1] = us / r->plain[side].read;
        }
    if (status == GROAT_OK)
        status = time_host(r);
    if (status != GROAT_OK)
        return status;
    r->decode_us = groat__decode_trial_median(r->us);
    for (size_t i = 0; i < PLAIN; i++) {
        double us = groat__decode_trial_median(r->plain[i].us);

        r->read_us = i == 0 || us < r->read_us ? us : r->read_us;
    }
    return GROAT_OK;
}

/* ---- the answer ---------------------------------------------------------- */

static void tell_json(run *r, const char *text)
{
    groat__decode_trial *t = &r->trial;
    groat__json *json = &t->cli->json;
    groat_decode_choice choice = GROAT_DECODE_CHOICE_INIT;
    bool timed = r->decode_us > 0;

    groat__json_object(json, NULL);
    groat__json_string(json, "shape", text);
    groat__json_string(json, "spec", groat_decode_spec(t->decode));
    groat__json_string(json, "target", t->target);
    groat__json_string(json, "origin", groat_origin_name(r->info.origin));
    groat__json_real(json, "compile_ms", r->info.compile_ms);
    (void)groat_decode_choice_get(t->decode, &choice, NULL);
    groat__json_uint(json, "cluster", choice.cluster);
    groat__json_uint(json, "blocks", choice.blocks);
    groat__json_bool(json, "tuned", t->info.tuned != 0);
    groat__json_uint(json, "workspace_bytes",
                     groat_decode_workspace(t->decode));
    groat__json_uint(json, "compared_sequences", t->compared);
    groat__json_real(json, "norm", t->norm);
    groat__json_real(json, "lse_error",
                     t->lse_count > 0 ? t->lse_error : (double)NAN);
    groat__json_bool(json, "verified", groat__decode_trial_is_right(t));
    groat__json_uint(json, "moved_bytes", t->in.moved_bytes);
    groat__json_real(json, "us", timed ? r->decode_us : (double)NAN);
    groat__json_real(json, "plain_read_us", timed ? r->read_us : (double)NAN);
    groat__json_real(json, "host_us", timed ? r->host_us : (double)NAN);
    groat__json_end(json);
}

static void tell(run *r, const char *text)
{
    groat__decode_trial *t = &r->trial;

    if (t->cli->values.json) {
        tell_json(r, text);
        return;
    }
    (void)printf("%s\n  %s%s\n", text[0] != '\0' ? text : "the default shape",
                 groat_decode_spec(t->decode), t->info.tuned ? " (tuned)" : "");
    (void)printf("  %s: the norm of the error is %.2e of the output's (%u of "
                 "%u sequences compared)\n",
                 groat__decode_trial_is_right(t) ? "verified" : "WRONG",
                 t->norm, t->compared, t->in.shape.sequences);
    if (t->lse_count > 0)
        (void)printf("  the error of an LSE is %.2e at most\n", t->lse_error);
    if (r->decode_us > 0)
        (void)printf("  %.2f us, %.0f GB/s; a plain read of the same bytes "
                     "%.2f us (%.3f of it); %.2f us of the host a call\n",
                     r->decode_us,
                     (double)t->in.moved_bytes / r->decode_us / 1e3, r->read_us,
                     r->read_us / r->decode_us, r->host_us);
}

static void clear(run *r)
{
    groat__decode_trial_clear(&r->trial);
    for (size_t i = 0; i < PLAIN; i++) {
        groat_kernel_release(r->plain[i].kernel);
        groat_spec_free(r->plain[i].spec);
    }
}

/* Returns an exit code. */
static int run_shape(groat__cli *cli, const char *text)
{
    groat_error error = GROAT_ERROR_INIT;
    run *r = calloc(1, sizeof(*r));
    groat__decode_trial *t;
    groat_status status;
    int code;

    if (r == NULL)
        return groat__cli_refuse(cli, GROAT_NO_MEMORY, "out of memory");
    t = &r->trial;
    groat__decode_trial_start(t, cli, &error);
    r->reader = groat_driver_of(groat_plain_reads[0]);
    r->info.size = sizeof(r->info);
    status = groat__decode_trial_prepare(t, text);
    if (status == GROAT_OK)
        status = groat_kernel_info_get(groat_decode_kernel(t->decode), &r->info,
                                       &error);
    if (status == GROAT_OK)
        status = groat__decode_trial_compare(t);
    if (status == GROAT_OK && !groat__decode_trial_on_cpu(t) &&
        t->in.moved_bytes > 0)
        status = time_all(r);
    if (status == GROAT_OK)
        tell(r, text);
    code = status != GROAT_OK                ? groat__cli_fail(cli, &error)
           : groat__decode_trial_is_right(t) ? GROAT__EXIT_DONE
                                             : GROAT__EXIT_FAILED;
    clear(r);
    free(r);
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
