/* SPDX-License-Identifier: Apache-2.0
 *
 * st_8x32_rig.h - runs cases of subtile_loader_st_8x32 on a target, compares
 * them with the oracle, and keeps the trace of one block.
 */
#ifndef GROAT_TESTS_ST_8X32_RIG_H
#define GROAT_TESTS_ST_8X32_RIG_H

#include "kernels-src/subtile_loader_st_8x32/args.h"
#include "tests/kernels/drive.h"
#include "tests/kernels/st_8x32_oracle.h"
#include "groat_tools.h"

extern const groat_driver groat_driver_subtile_loader_st_8x32;

static const char *const cpu_targets[] = {"cpu:gfx950", "cpu:gfx90a",
                                          "cpu:gfx942", "cpu:sm_90a"};

enum { TARGETS = sizeof(cpu_targets) / sizeof(cpu_targets[0]) };

/* The parts of one block's access trace that the tests look at. */
typedef struct trace_log {
    bool on;
    groat_access access;
    size_t count[16]; /* per wave */
    uint32_t shared[16][64][LANES];
    uint64_t source[16][64][LANES];
    unsigned reuse; /* the largest seen */
    uint64_t base;  /* device address of the source */
} trace_log;

static trace_log trace;

static inline void listen(void *user, const groat_trace *event)
{
    trace_log *log = user;
    size_t n;

    if (!log->on || event->access != log->access ||
        event->block[0] + event->block[1] != 0 || event->wave >= 16)
        return;
    n = log->count[event->wave]++;
    ck_assert_uint_lt(n, 64);
    ck_assert_uint_eq(event->lanes, LANES);
    memcpy(log->shared[event->wave][n], event->shared,
           sizeof(log->shared[0][0]));
    memcpy(log->source[event->wave][n], event->source,
           sizeof(log->source[0][0]));
    if (event->reuse > log->reuse)
        log->reuse = event->reuse;
}

/* A TCase's fixture, with drive_teardown(). */
static inline void trace_setup(void)
{
    memset(&trace, 0, sizeof(trace));
    drive_context = drive_open_context(listen, &trace);
}

static inline void st_values(const st_case *t,
                             int64_t values[GROAT_DRIVER_ARGS])
{
    drive_values(&groat_driver_subtile_loader_st_8x32, values,
                 "valid_rows=%d soffset=%d row_tiles=%d col_tiles=%d "
                 "row_step=%d queries=%d",
                 (int)t->valid, (int)t->soffset, (int)t->row_tiles,
                 (int)t->col_tiles, (int)t->step, (int)t->queries);
}

/* Opens a launch of the case by the driver. */
static inline void st_open(drive *d, const st_case *t, const char *target)
{
    int64_t values[GROAT_DRIVER_ARGS];
    char text[400];

    spec_of(t, text, sizeof(text));
    st_values(t, values);
    drive_open(d, drive_context, &groat_driver_subtile_loader_st_8x32, text,
               target, values);
    ck_assert_uint_eq(d->output, t->entry == OUTPUT ? 2 : 1);
    ck_assert_uint_eq(d->plan.buffers[0].bytes, (size_t)records(t));
    ck_assert_uint_eq(d->plan.buffers[d->output].bytes, output_size(t));
}

/* The arguments that the kernel must get. */
static inline struct subtile_loader_st_8x32_args args_of(const st_case *t,
                                                         const drive *d)
{
    struct subtile_loader_st_8x32_args args = {0};

    args.source = d->address[0];
    args.weights = d->output == 2 ? d->address[1] : 0;
    args.output = d->address[d->output];
    args.valid_rows = t->valid;
    args.soffset = (unsigned)t->soffset;
    args.row_tiles = (unsigned)t->row_tiles;
    args.col_tiles = (unsigned)t->col_tiles;
    args.row_step = (unsigned)t->step;
    args.queries = (unsigned)t->queries;
    return args;
}

/* A driver plans no tiles that end in the next key; kernels must load them. */
static inline bool runs_over(const st_case *t)
{
    return t->soffset % (t->ld * elem(t)) / elem(t) + t->col_tiles * t->depth >
           t->cols;
}

/* Returns the output of the kernel of `target`; the caller frees it. */
static inline unsigned char *run_with(const st_case *t, const char *target,
                                      const unsigned char *source,
                                      const unsigned char *weights)
{
    unsigned char *out = take(output_size(t), 0);
    groat_error error = GROAT_ERROR_INIT;
    struct subtile_loader_st_8x32_args args;
    groat_kernel *kernel;
    st_case planned = *t;
    drive d;

    if (runs_over(t))
        planned.soffset = 0;
    st_open(&d, &planned, target);
    memcpy(d.host[0], source, (size_t)records(t));
    if (t->entry == OUTPUT)
        memcpy(d.host[1], weights, d.plan.buffers[1].bytes);
    drive_place(&d);
    trace.base = d.address[0];
    args = args_of(&planned, &d);
    ck_assert_uint_eq(d.plan.args_bytes, sizeof(args));
    ck_assert_mem_eq(d.plan.args, &args, sizeof(args));
    args = args_of(t, &d);
    memcpy(d.plan.args, &args, sizeof(args));
    kernel = drive_kernel(&d);
    ck_assert_msg(drive_go(&d, kernel, &error) == GROAT_OK, "%s on %s: %s",
                  groat_spec_text(d.spec), target, error.text);
    groat_kernel_release(kernel);
    memcpy(out, d.host[d.output], output_size(t));
    drive_close(&d);
    return out;
}

static inline void check_case(const st_case *t, const char *target)
{
    bool fnuz = has_fnuz(target);
    unsigned char *source = make_source(t, fnuz);
    unsigned char *want = expected(t, source);
    size_t weight_bytes = 0;
    unsigned char *weights =
        t->entry == OUTPUT ? make_weights(t, fnuz, &weight_bytes) : take(0, 0);
    unsigned char *got = run_with(t, target, source, weights);
    size_t wrong = 0;
    char text[400];

    spec_of(t, text, sizeof(text));
    while (wrong < output_size(t) && got[wrong] == want[wrong])
        wrong++;
    ck_assert_msg(wrong == output_size(t),
                  "%s on %s, %d keys, soffset %d, %d x %d tiles: byte %zu is "
                  "0x%02x, not 0x%02x",
                  text, target, (int)t->valid, (int)t->soffset,
                  (int)t->row_tiles, (int)t->col_tiles, wrong, got[wrong],
                  want[wrong]);
    free(source);
    free(weights);
    free(want);
    free(got);
}

#endif
