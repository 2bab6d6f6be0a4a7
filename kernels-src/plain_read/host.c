/* SPDX-License-Identifier: Apache-2.0
 *
 * host.c feeds and checks plain_read for `groat run`: random bytes as input,
 * and their XOR per thread as output.
 * It is C instead of a run.def, whose reference.c needs a compiler: this family
 * is verified on hosts that have none.
 */
#include <string.h>

#include "args.h"
#include "kernels-src/driver/shared.h"

/* In the order of `arguments`. */
enum { STEPS, BLOCKS };

/* On a large device, two blocks per multiprocessor. */
enum { DEVICE_BLOCKS = 264, CPU_STEPS = 5, CPU_BLOCKS = 2 };

static const int64_t device_bytes = (int64_t)1 << 30;

static const groat_driver_arg arguments[] = {
    {"steps", GROAT_ARG_INT, -1, 0, INT32_MAX, "steps",
     "steps of step_bytes each (default: 1 GiB on a GPU, 5 on cpu targets)"},
    {"blocks", GROAT_ARG_INT, -1, 1, 65535, "blocks",
     "blocks of the grid (default: 264 on a GPU, 2 on cpu targets)"},
    {NULL, GROAT_ARG_INT, 0, 0, 0, NULL, NULL},
};

static groat_status plan(const groat_spec *spec, const int64_t *values,
                         groat_plan *p, groat_error *error)
{
    bool on_cpu = groat__host_on_cpu(spec);
    int64_t step_bytes = groat__host_value(spec, "step_bytes");
    int64_t *v = p->values;

    (void)error;
    v[STEPS] = values[STEPS] >= 0 ? values[STEPS]
               : on_cpu           ? CPU_STEPS
                                  : device_bytes / step_bytes;
    v[BLOCKS] = values[BLOCKS] >= 0 ? values[BLOCKS]
                : on_cpu            ? CPU_BLOCKS
                                    : DEVICE_BLOCKS;
    p->buffer_count = 2;
    p->buffers[0].name = "source";
    p->buffers[0].output = false;
    p->buffers[0].bytes = (size_t)(v[STEPS] * step_bytes);
    p->buffers[1].name = "sums";
    p->buffers[1].output = true;
    p->buffers[1].bytes =
        (size_t)(v[BLOCKS] * groat__host_value(spec, "block_bytes"));
    p->grid[0] = (unsigned)v[BLOCKS];
    p->grid[1] = p->grid[2] = 1;
    p->args_bytes = sizeof(struct plain_read_args);
    p->moved_bytes = p->buffers[0].bytes + p->buffers[1].bytes;
    return GROAT_OK;
}

static void fill(const groat_spec *spec, const groat_plan *p, size_t index,
                 uint64_t seed, void *data)
{
    unsigned char *bytes = data;
    uint64_t state = seed;

    (void)spec;
    for (size_t at = 0; at < p->buffers[index].bytes; at += 8) {
        uint64_t z = (state += 0x9E3779B97F4A7C15u);

        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z ^= z >> 27;
        memcpy(bytes + at, &z, 8);
    }
}

static groat_status bind(groat_context *context, const groat_spec *spec,
                         groat_plan *p, const uint64_t *addresses,
                         groat_error *error)
{
    struct plain_read_args args = {0};

    (void)context;
    (void)spec;
    (void)error;
    args.source = addresses[0];
    args.output = addresses[1];
    args.steps = (unsigned)p->values[STEPS];
    args.blocks = (unsigned)p->values[BLOCKS];
    memcpy(p->args, &args, sizeof(args));
    return GROAT_OK;
}

static groat_status expect(const groat_spec *spec, const groat_plan *p,
                           const void *const *inputs, size_t index, void *data,
                           groat_error *error)
{
    size_t block = (size_t)groat__host_value(spec, "block_bytes");
    size_t step = (size_t)groat__host_value(spec, "step_bytes");
    const unsigned char *source = inputs[0];
    unsigned char *sums = data;

    (void)error;
    memset(sums, 0, p->buffers[index].bytes);
    for (size_t at = 0; at < p->buffers[0].bytes; at++)
        sums[at / step % (size_t)p->values[BLOCKS] * block + at % block] ^=
            source[at];
    return GROAT_OK;
}

const groat_driver groat_driver_plain_read = {
    "plain_read", arguments, plan, fill, bind, expect, NULL, NULL,
};
