/* SPDX-License-Identifier: Apache-2.0
 *
 * sum.c makes a paged KV cache, and sums it on the device and on the host.
 */
#include "sum.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEQUENCES = 3, HEADS = 2, LAYERS = 2, LAYER = 1, PLANES = 2 };

/* Keys of each sequence. */
static const unsigned lengths[SEQUENCES] = {300, 0, 77};
enum { LONGEST = 300 };

/* Fills with integers of -3 .. 3, so that sums are exact. */
static void fill(struct paged_sum *c)
{
    static const unsigned short numbers[7] = {0xc040, 0xc000, 0xbf80, 0x0000,
                                              0x3f80, 0x4000, 0x4040};
    unsigned random = 1;

    for (size_t i = 0; i < c->count; i++) {
        random = random * 1664525u + 1013904223u;
        c->bf16[i] = numbers[(random >> 16) % 7];
    }
    /* Pages are not in order: the last block comes first. */
    for (unsigned s = 0; s < SEQUENCES; s++)
        for (unsigned i = 0; i < c->pages; i++)
            c->table[s * c->pitch + i] = c->blocks - 1 - (i * SEQUENCES + s);
}

/* Makes the numbers and the page table, on the host. */
static int make(struct paged_sum *c, const groat_spec *spec, groat_error *error)
{
    int64_t depth;
    int64_t page;

    if (groat_spec_get(spec, "depth", &depth, error) != GROAT_OK ||
        groat_spec_get(spec, "page_size", &page, error) != GROAT_OK)
        return 0;
    c->depth = (unsigned)depth;
    c->page = (unsigned)page;
    c->pages = (LONGEST + c->page - 1) / c->page;
    c->blocks = SEQUENCES * c->pages;
    c->pitch = (c->pages + 7) / 8 * 8 + 16;
    c->count = (size_t)c->blocks * PLANES * LAYERS * c->page * HEADS * c->depth;
    c->sum_count = (size_t)SEQUENCES * HEADS * PLANES * c->depth;
    c->bf16 = calloc(c->count, sizeof(*c->bf16));
    c->table = calloc(SEQUENCES * c->pitch, sizeof(*c->table));
    c->sums = calloc(c->sum_count, sizeof(*c->sums));
    if (c->bf16 == NULL || c->table == NULL || c->sums == NULL) {
        (void)snprintf(error->text, sizeof(error->text), "no memory");
        return 0;
    }
    fill(c);
    return 1;
}

static float value_of(unsigned short bits)
{
    unsigned word = (unsigned)bits << 16;
    float value;

    memcpy(&value, &word, sizeof(value));
    return value;
}

/* Sums column d from the page table and the cache alone. */
static float expected(const struct paged_sum *c, unsigned s, unsigned h,
                      unsigned plane, unsigned d)
{
    float sum = 0;

    for (unsigned key = 0; key < lengths[s]; key++) {
        size_t row = c->table[s * c->pitch + key / c->page];

        row = (row * PLANES + plane) * LAYERS + LAYER;
        row = row * c->page + key % c->page;
        sum += value_of(c->bf16[(row * HEADS + h) * c->depth + d]);
    }
    return sum;
}

unsigned paged_sum_wrong(const struct paged_sum *c)
{
    unsigned wrong = 0;

    for (unsigned i = 0; i < c->sum_count; i++) {
        unsigned block = i / c->depth / PLANES;

        if (c->sums[i] != expected(c, block / HEADS, block % HEADS,
                                   i / c->depth % PLANES, i % c->depth))
            wrong++;
    }
    return wrong;
}

/* Describes K and V of the layer.  The boxes that copies take follow from the
 * spec's constants BN, page_size, head_dim, elem_bytes and swizzle. */
static groat_status describe(const struct paged_sum *c, groat_spec *spec,
                             uint64_t address, struct paged_sum_args *args,
                             groat_error *error)
{
    groat_kv_cache kv = GROAT_KV_CACHE_INIT;
    groat_kv_view view = {.size = sizeof(view)};
    groat_status status;

    kv.address = address;
    kv.layout = GROAT_KV_PAGE_HEAD;
    kv.elem_bytes = sizeof(*c->bf16);
    kv.blocks = c->blocks;
    kv.planes = PLANES;
    kv.layers = LAYERS;
    kv.page = c->page;
    kv.heads = HEADS;
    kv.dim = c->depth;
    status = groat_kv_view_get(&kv, GROAT_KV_KEYS, LAYER, &view, error);
    args->stride = (unsigned)view.block_rows;
    if (status == GROAT_OK)
        status = groat_kv_tensor_map(spec, &kv, GROAT_KV_KEYS, LAYER, NULL,
                                     &args->keys, error);
    if (status == GROAT_OK)
        status = groat_kv_tensor_map(spec, &kv, GROAT_KV_VALUES, LAYER, NULL,
                                     &args->values, error);
    return status;
}

static groat_status upload(groat_context *g, const char *target,
                           const void *data, size_t bytes, uint64_t *address,
                           groat_error *error)
{
    groat_status status = groat_memory_alloc(g, target, bytes, address, error);

    if (status != GROAT_OK)
        return status;
    return groat_memory_write(g, target, *address, data, bytes, error);
}

/* Uploads all buffers and sets the launch arguments. */
static groat_status bind(const struct paged_sum *c, groat_context *g,
                         const char *target, groat_spec *spec,
                         struct paged_sum_args *args, groat_error *error)
{
    const size_t bytes = c->count * sizeof(*c->bf16);
    const size_t entries = SEQUENCES * c->pitch * sizeof(*c->table);
    uint64_t address = 0;
    uint64_t at[3] = {0};
    groat_status status = upload(g, target, c->bf16, bytes, &address, error);

    if (status == GROAT_OK)
        status = upload(g, target, c->table, entries, &at[0], error);
    if (status == GROAT_OK)
        status = upload(g, target, lengths, sizeof(lengths), &at[1], error);
    if (status == GROAT_OK)
        status = upload(g, target, c->sums, c->sum_count * sizeof(*c->sums),
                        &at[2], error);
    if (status == GROAT_OK)
        status = describe(c, spec, address, args, error);
    args->page_table = at[0];
    args->lengths = at[1];
    args->output = at[2];
    args->pitch = c->pitch;
    args->heads = HEADS;
    return status;
}

groat_status paged_sum_make(struct paged_sum *c, groat_context *g,
                            groat_spec *spec, groat_error *error)
{
    c->g = g;
    c->target = groat_spec_target(spec);
    if (!make(c, spec, error))
        return GROAT_NO_MEMORY;
    return bind(c, g, c->target, spec, &c->args, error);
}

/* Launches one block for each head and sequence. */
groat_status paged_sum_run(struct paged_sum *c, groat_kernel *kernel,
                           groat_error *error)
{
    groat_launch launch = GROAT_LAUNCH_INIT;
    groat_status status;

    launch.grid[0] = HEADS;
    launch.grid[1] = SEQUENCES;
    status =
        groat_kernel_launch(kernel, &launch, &c->args, sizeof(c->args), error);
    if (status == GROAT_OK)
        status = groat_memory_read(c->g, c->target, c->sums, c->args.output,
                                   c->sum_count * sizeof(*c->sums), error);
    return status;
}

void paged_sum_free(struct paged_sum *c)
{
    free(c->bf16);
    free(c->table);
    free(c->sums);
}
