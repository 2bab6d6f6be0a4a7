/* SPDX-License-Identifier: Apache-2.0
 *
 * st_8x32_rig.h - runs cases of subtile_loader_st_8x32 on a target, compares
 * them with the oracle, and keeps what the trace told of one block.
 */
#ifndef GROAT_TESTS_ST_8X32_RIG_H
#define GROAT_TESTS_ST_8X32_RIG_H

#include "groat.h"
#include "kernels-src/subtile_loader_st_8x32/args.h"
#include "tests/kernels/st_8x32_oracle.h"

static const char *const cpu_targets[] = {"cpu:gfx950", "cpu:gfx90a",
                                          "cpu:gfx942", "cpu:sm_90a"};

enum { TARGETS = sizeof(cpu_targets) / sizeof(cpu_targets[0]) };

static groat_context *context;

/* Of the accesses of one block, what the tests look at. */
typedef struct trace_log {
    bool on;
    groat_access access;
    size_t count[16]; /* per wave */
    uint32_t shared[16][64][LANES];
    uint64_t source[16][64][LANES];
    unsigned reuse; /* the most */
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

static inline void open_context(void)
{
    groat_options options = GROAT_OPTIONS_INIT;
    groat_error error = GROAT_ERROR_INIT;

    options.flags = GROAT_OPEN_NO_DISK;
    options.trace = listen;
    options.trace_user = &trace;
    memset(&trace, 0, sizeof(trace));
    ck_assert_msg(groat_open(&options, &context, &error) == GROAT_OK, "%s",
                  error.text);
}

static inline void close_context(void)
{
    groat_close(context);
    context = NULL;
}

static inline uint64_t upload(const char *target, const void *data,
                              size_t bytes)
{
    uint64_t address = 0;

    ck_assert_int_eq(groat_memory_alloc(context, target, bytes, &address, NULL),
                     GROAT_OK);
    ck_assert_int_eq(
        groat_memory_write(context, target, address, data, bytes, NULL),
        GROAT_OK);
    return address;
}

static inline struct subtile_loader_st_8x32_args args_of(const st_case *t)
{
    struct subtile_loader_st_8x32_args args = {0};

    args.valid_rows = t->valid;
    args.soffset = (unsigned)t->soffset;
    args.row_tiles = (unsigned)t->row_tiles;
    args.col_tiles = (unsigned)t->col_tiles;
    args.row_step = (unsigned)t->step;
    args.queries = (unsigned)t->queries;
    return args;
}

/* What the kernel of `target` writes; free it. */
static inline unsigned char *run_with(const st_case *t, const char *target,
                                      const unsigned char *source,
                                      const unsigned char *weights,
                                      size_t weight_bytes)
{
    struct subtile_loader_st_8x32_args args = args_of(t);
    unsigned char *out = take(output_size(t), 0xA5);
    groat_launch launch = GROAT_LAUNCH_INIT;
    groat_error error = GROAT_ERROR_INIT;
    groat_kernel *kernel = NULL;
    char text[400];

    spec_of(t, text, sizeof(text));
    ck_assert_msg(groat_kernel_get(context, text, target, &kernel, NULL,
                                   &error) == GROAT_OK,
                  "%s on %s: %s", text, target, error.text);
    args.source = upload(target, source, (size_t)records(t));
    args.output = upload(target, out, output_size(t));
    args.weights = upload(target, weights, weight_bytes);
    trace.base = args.source;
    launch.grid[0] =
        (unsigned)(t->entry == STREAM ? t->step
                   : t->entry == OUTPUT
                       ? (t->queries + 32 * t->warps - 1) / (32 * t->warps)
                       : t->row_tiles);
    launch.grid[1] = (unsigned)t->col_tiles;
    ck_assert_msg(groat_kernel_launch(kernel, &launch, &args, sizeof(args),
                                      &error) == GROAT_OK,
                  "%s on %s: %s", text, target, error.text);
    ck_assert_int_eq(groat_memory_read(context, target, out, args.output,
                                       output_size(t), &error),
                     GROAT_OK);
    groat_memory_free(context, target, args.source);
    groat_memory_free(context, target, args.output);
    groat_memory_free(context, target, args.weights);
    groat_kernel_release(kernel);
    groat_error_clear(&error);
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
    unsigned char *got = run_with(t, target, source, weights, weight_bytes);
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
