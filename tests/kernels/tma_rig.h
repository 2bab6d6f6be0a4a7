/* SPDX-License-Identifier: Apache-2.0
 *
 * tma_rig.h - launches of tma_probe, or of a family made of it: device memory,
 * tensor maps, operands of products and outputs.
 */
#ifndef GROAT_TEST_TMA_RIG_H
#define GROAT_TEST_TMA_RIG_H

#include "tests/pipe/rig.h"

#include "groat_tensor.h"
#include "tests/kernels/tma_forms.h"
#include "tests/kernels/tma_probe/args.h"

enum {
    SOURCE = 1 << 20,
    OUTPUT = 1 << 20,
    K_MAX = 128,
    N_MAX = 256,
    SENTINEL = 0xCD
};

/* One context, its device memory, inputs and outputs. */
static struct {
    rig fix;
    groat_context *context;
    const char *target;
    uint64_t seed;
    struct tma_probe_args args;
    unsigned char source[SOURCE];
    unsigned char output[OUTPUT];
    signed char a[64][K_MAX]; /* operands of products */
    signed char b[N_MAX][K_MAX];
} bench;

/* tests/kernels/tma_probe/FILE, or the folder. */
static inline void probe_path(char *path, size_t size, const char *file)
{
    const char *top = getenv("top_srcdir");

    ck_assert_msg(top != NULL, "top_srcdir must name the source folder");
    (void)snprintf(path, size, "%s/tests/kernels/tma_probe%s", top, file);
}

/* Makes the test's folder, without a context yet. */
static inline void bench_make(const char *target, uint64_t seed)
{
    memset(&bench, 0, sizeof(bench));
    bench.target = target;
    bench.seed = seed;
    rig_make(&bench.fix);
    for (uint32_t i = 0; i < SOURCE; i++) {
        uint32_t x = i * 2654435761u;

        bench.source[i] =
            (unsigned char)(1 + ((x ^ x >> 15) * 2246822519u >> 13) % 255);
    }
}

/* Opens a context with families from `path`; NULL: from the test's folder. */
static inline void bench_open(const char *path)
{
    groat_options options = rig_options(&bench.fix);

    options.seed = bench.seed;
    if (path != NULL)
        options.family_path = path;
    bench.context = rig_open_with(&bench.fix, &options);
}

static inline void bench_close(void)
{
    groat_close(bench.context);
    rig_drop(&bench.fix);
}

static inline void upload(void)
{
    memset(bench.output, SENTINEL, OUTPUT);
    bench.args.source =
        rig_upload(bench.context, bench.target, bench.source, SOURCE);
    bench.args.output =
        rig_upload(bench.context, bench.target, bench.output, OUTPUT);
}

/* Launches a spec, reads the output and frees the memory. */
static inline groat_status launch(const char *spec, unsigned blocks)
{
    groat_launch shape = GROAT_LAUNCH_INIT;
    groat_kernel *kernel;
    groat_error *error = &bench.fix.error;
    groat_status status = groat_kernel_get(bench.context, spec, bench.target,
                                           &kernel, NULL, error);

    ck_assert_msg(status == GROAT_OK, "%s: %s\n%s", spec, error->text,
                  error->log == NULL ? "" : error->log);
    shape.grid[0] = blocks;
    status = groat_kernel_launch(kernel, &shape, &bench.args,
                                 sizeof(bench.args), error);
    if (status == GROAT_OK)
        status = groat_synchronize(bench.context, bench.target, error);
    if (status == GROAT_OK)
        status = groat_memory_read(bench.context, bench.target, bench.output,
                                   bench.args.output, OUTPUT, error);
    groat_kernel_release(kernel);
    groat_memory_free(bench.context, bench.target, bench.args.source);
    groat_memory_free(bench.context, bench.target, bench.args.output);
    return status;
}

/* A launch that must succeed. */
static inline void run(const char *spec, unsigned blocks)
{
    ck_assert_msg(launch(spec, blocks) == GROAT_OK, "%s: %s", spec,
                  bench.fix.error.text);
}

static inline unsigned make_map(const groat_tensor *tensor)
{
    unsigned bytes = tensor->elem_bytes;
    groat_status status = groat_tensor_map_make(
        bench.context, bench.target, tensor, &bench.args.map, &bench.fix.error);

    ck_assert_msg(status == GROAT_OK, "%s", bench.fix.error.text);
    for (unsigned d = 0; d < tensor->rank; d++)
        bytes *= tensor->box[d];
    return bytes;
}

static inline void rows_of_128(unsigned rows)
{
    groat_tensor t = GROAT_TENSOR_INIT;

    upload();
    t.address = bench.args.source;
    t.elem_bytes = t.rank = 2;
    t.dims[0] = 64;
    t.dims[1] = SOURCE / 128;
    t.strides[0] = 128;
    t.box[0] = 64;
    t.box[1] = rows;
    bench.args.copy_bytes = make_map(&t);
    bench.args.rows = rows;
}

/* ---- products --------------------------------------------------------------
 */

static inline void put_image(unsigned char *image, const operand_form *o,
                             signed char (*numbers)[K_MAX], uint64_t *state)
{
    for (unsigned row = 0; row < o->rows; row++)
        for (unsigned k = 0; k < o->k; k++) {
            int number = (int)(next_random(state) % 9) - 4;
            unsigned bits = number_bits(o->number, number);

            numbers[row][k] = (signed char)number;
            memcpy(image + operand_byte(o, row, k), &bits,
                   number_bytes(o->number));
        }
}

/* swizzle_span in device code has the same values. */
static inline void put_shape(const operand_form *o, unsigned shape[3],
                             unsigned step[TMA_PROBE_STEPS])
{
    operand_words words = {0};

    for (unsigned s = 0; s < bench.args.steps; s++) {
        words = describe(o, s * 32 / number_bytes(o->number));
        step[s] = words.start;
    }
    shape[0] = words.lbo;
    shape[1] = words.sbo;
    shape[2] = o->swizzle;
}

/* Puts operands of random integers, 64 x n x k, into device memory. */
static inline void put_operands(operand_form *a, operand_form *b,
                                unsigned number, unsigned n, unsigned k)
{
    uint64_t state = 77;

    a->rows = 64;
    b->rows = n;
    a->k = b->k = k;
    a->number = b->number = number;
    bench.args.a_bytes = 64 * k * number_bytes(number);
    bench.args.b_bytes = n * k * number_bytes(number);
    bench.args.steps = k * number_bytes(number) / 32;
    put_image(bench.source, a, bench.a, &state);
    put_image(bench.source + bench.args.a_bytes, b, bench.b, &state);
    put_shape(a, bench.args.a_shape, bench.args.a_step);
    put_shape(b, bench.args.b_shape, bench.args.b_step);
    upload();
}

/* Returns the first wrong number of the output, or 64 x n. */
static inline unsigned wrong_product(unsigned n, unsigned k)
{
    for (unsigned i = 0; i < 64 * n; i++) {
        int sum = 0;
        float got;

        for (unsigned at = 0; at < k; at++)
            sum += bench.a[i / n][at] * bench.b[i % n][at];
        memcpy(&got, bench.output + 4 * i, 4);
        if (got != (float)sum)
            return i;
    }
    return 64 * n;
}

#endif
