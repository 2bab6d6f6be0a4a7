/* SPDX-License-Identifier: Apache-2.0
 *
 * ring_rig.c: input and launches of ring_rig.h.  Bytes of the cache are a hash
 * of their address; numbers of products are integers from -2 to 2.  Tensor
 * maps follow the table of the layouts, dimension by dimension.
 */
#include "tests/kernels/ring_rig.h"
#include "groat_tensor.h"

enum { NO_BLOCK = 0x7ffffff1 };

/* ---- the cache ---------------------------------------------------------- */

static void put_number(const ring_case *c, int number, unsigned char *to)
{
    static const uint16_t bf16[] = {0xC000, 0xBF80, 0, 0x3F80, 0x4000};
    static const uint16_t f16[] = {0xC000, 0xBC00, 0, 0x3C00, 0x4000};
    static const unsigned char fp8[] = {0xC0, 0xB8, 0, 0x38, 0x40};

    if (c->dtype == 2)
        to[0] = fp8[number + 2];
    else
        memcpy(to, &(c->dtype == 1 ? f16 : bf16)[number + 2], 2);
}

static unsigned char *make_cache(const ring_case *c)
{
    int64_t bytes = ring_cache_bytes(c);
    unsigned char *cache = malloc((size_t)bytes + 1);

    ck_assert_ptr_nonnull(cache);
    for (int64_t i = 0; i < bytes; i++)
        cache[i] = ring_byte_at(i);
    for (int64_t i = 0; ring_is_product(c) && i < bytes; i += c->elem)
        put_number(c, ring_number_at(1, i), cache + i);
    if (!c->nan)
        return cache;
    /* Values behind the last key of each sequence, in its own pages. */
    for (int64_t s = 0; s < c->sequences; s++)
        for (int64_t h = 0; h < c->heads; h++)
            for (int64_t k = c->lengths[s];
                 k < ring_divup(c->lengths[s], c->page) * c->page; k++)
                memset(cache + ring_address_of(c, true, ring_row_of(c, s, h, k),
                                               h, 0),
                       0xff, (size_t)(c->depth * c->elem));
    return cache;
}

/* ---- tensor maps, by the table of the layouts ---------------------------- */

static groat_swizzle swizzle_of(const ring_case *c)
{
    return c->span == 128  ? GROAT_SWIZZLE_128
           : c->span == 64 ? GROAT_SWIZZLE_64
           : c->span == 32 ? GROAT_SWIZZLE_32
                           : GROAT_SWIZZLE_NONE;
}

static groat_tensor tensor_of(const ring_case *c, bool values, uint64_t cache)
{
    groat_tensor t = GROAT_TENSOR_INIT;
    ring_tile tile = {values, 0, 0};
    ring_boxes x = ring_boxes_of(c, &tile, 0, 0);
    uint64_t heads = c->head_page ? 1 : (uint64_t)c->heads;
    uint64_t head = (uint64_t)(c->depth * c->elem);
    uint64_t rows = (uint64_t)ring_view_rows(c);
    uint64_t g = (uint64_t)c->g;
    uint64_t chunk = (uint64_t)c->span;
    unsigned fold = (unsigned)(x.cols / c->g);

    t.address = cache + (uint64_t)ring_view_of(c, values);
    t.elem_bytes = (unsigned)c->elem;
    t.swizzle = swizzle_of(c);
    if (!c->fold) {
        t.rank = 3;
        memcpy(t.dims, (uint64_t[]){(uint64_t)c->depth, heads, rows, 0, 0},
               sizeof(t.dims));
        memcpy(t.strides, (uint64_t[]){head, heads * head, 0, 0},
               sizeof(t.strides));
        memcpy(t.box, (unsigned[]){(unsigned)g, 1, (unsigned)x.rows, 0, 0},
               sizeof(t.box));
    } else if (!x.inner) {
        t.rank = 4;
        memcpy(t.dims, (uint64_t[]){g, rows, (uint64_t)c->depth / g, heads, 0},
               sizeof(t.dims));
        memcpy(t.strides, (uint64_t[]){heads * head, chunk, head, 0},
               sizeof(t.strides));
        memcpy(t.box, (unsigned[]){(unsigned)g, (unsigned)x.rows, fold, 1, 0},
               sizeof(t.box));
    } else {
        t.rank = 5;
        memcpy(t.dims,
               (uint64_t[]){g, 8, (uint64_t)c->depth / g, rows / 8, heads},
               sizeof(t.dims));
        memcpy(t.strides,
               (uint64_t[]){heads * head, chunk, 8 * heads * head, head},
               sizeof(t.strides));
        memcpy(t.box,
               (unsigned[]){(unsigned)g, 8, fold, (unsigned)x.rows / 8, 1},
               sizeof(t.box));
    }
    return t;
}

static groat_tensor query_tensor(const ring_case *c, uint64_t queries)
{
    groat_tensor t = GROAT_TENSOR_INIT;

    t.address = queries;
    t.elem_bytes = (unsigned)c->elem;
    t.swizzle = swizzle_of(c);
    t.rank = 3;
    t.dims[0] = (uint64_t)c->depth;
    t.dims[1] = (uint64_t)(c->heads * c->group);
    t.dims[2] = (uint64_t)(c->sequences * c->queries);
    t.strides[0] = t.dims[0] * (uint64_t)c->elem;
    t.strides[1] = t.strides[0] * t.dims[1];
    t.box[0] = (unsigned)c->g;
    t.box[1] = 1;
    t.box[2] = (unsigned)c->q_rows;
    return t;
}

/* ---- device memory ------------------------------------------------------ */

typedef struct memory {
    groat_context *context;
    const char *target;
    uint64_t kept[8];
    int count;
} memory;

static uint64_t upload(memory *m, const void *data, int64_t bytes)
{
    groat_error error = GROAT_ERROR_INIT;
    uint64_t address = 0;

    if (groat_memory_alloc(m->context, m->target, (size_t)bytes, &address,
                           &error) != GROAT_OK ||
        groat_memory_write(m->context, m->target, address, data, (size_t)bytes,
                           &error) != GROAT_OK)
        ck_abort_msg("%s: %s", m->target, error.text);
    m->kept[m->count++] = address;
    return address;
}

static uint64_t upload_cache(memory *m, const ring_case *c)
{
    unsigned char *cache = make_cache(c);
    uint64_t address = upload(m, cache, ring_cache_bytes(c));

    free(cache);
    return address;
}

/* Entries of whole tiles may be read; those behind a sequence's last page name
 * no block. */
static int64_t pitch_of(const ring_case *c)
{
    int64_t in_tile = c->page > 0 ? ring_divup(c->BN, c->page) : 1;

    return ring_divup(ring_pages_of(c) + in_tile + 16, 8) * 8;
}

static uint64_t upload_table(memory *m, const ring_case *c)
{
    int64_t count = c->sequences * pitch_of(c);
    uint32_t *table = malloc((size_t)count * sizeof(*table));
    uint64_t address;

    ck_assert_ptr_nonnull(table);
    for (int64_t i = 0; i < count; i++) {
        int64_t s = i / pitch_of(c);
        int64_t page = i % pitch_of(c);

        table[i] = c->page > 0 && page * c->page < c->lengths[s]
                       ? (uint32_t)ring_block_of(c, s, page)
                       : NO_BLOCK;
    }
    address = upload(m, table, count * 4);
    free(table);
    return address;
}

static uint64_t upload_lengths(memory *m, const ring_case *c)
{
    uint32_t lengths[RING_SEQUENCES];

    for (int64_t s = 0; s < c->sequences; s++)
        lengths[s] = (uint32_t)c->lengths[s];
    return upload(m, lengths, c->sequences * 4);
}

static uint64_t upload_queries(memory *m, const ring_case *c)
{
    int64_t count = ring_product_rows(c) * c->depth;
    unsigned char *to = malloc((size_t)(count * c->elem) + 1);
    uint64_t address;

    ck_assert_ptr_nonnull(to);
    for (int64_t i = 0; i < count * c->elem; i++)
        to[i] = ring_byte_at(i);
    for (int64_t i = 0; ring_is_product(c) && i < count; i++)
        put_number(c, ring_number_at(2, i), to + i * c->elem);
    address = upload(m, to, count * c->elem);
    free(to);
    return address;
}

static uint64_t upload_weights(memory *m, const ring_case *c)
{
    int64_t wide = ring_tiles(c, ring_longest(c)) * c->BN;
    int64_t count = ring_product_rows(c) * wide;
    int64_t per_sequence = ring_product_rows(c) / c->sequences;
    unsigned char *to = malloc((size_t)(count * c->elem) + 1);
    uint64_t address;

    ck_assert_ptr_nonnull(to);
    for (int64_t i = 0; i < count; i++)
        put_number(c,
                   i % wide < c->lengths[i / wide / per_sequence]
                       ? ring_number_at(3, i)
                       : 0,
                   to + i * c->elem);
    address = upload(m, to, count * c->elem);
    free(to);
    return address;
}

static void make_map(memory *m, const groat_tensor *tensor,
                     groat_tensor_map *map)
{
    groat_error error = GROAT_ERROR_INIT;

    if (groat_tensor_map_make(m->context, m->target, tensor, map, &error) !=
        GROAT_OK)
        ck_abort_msg("%s: %s", m->target, error.text);
}

static void make_cache_maps(memory *m, const ring_case *c, uint64_t cache,
                            struct kv_producer_pipeline_args *args)
{
    groat_tensor keys = tensor_of(c, false, cache);
    groat_tensor values = tensor_of(c, true, cache);

    make_map(m, &keys, &args->keys);
    make_map(m, &values, &args->values);
}

static void make_args(memory *m, const ring_case *c,
                      struct kv_producer_pipeline_args *args)
{
    uint64_t cache = upload_cache(m, c);

    if (!c->cells)
        make_cache_maps(m, c, cache, args);
    if (c->BM > 0) {
        groat_tensor queries = query_tensor(c, upload_queries(m, c));

        make_map(m, &queries, &args->queries);
    }
    args->key_rows = cache + (uint64_t)ring_view_of(c, false);
    args->value_rows = cache + (uint64_t)ring_view_of(c, true);
    args->page_table = upload_table(m, c);
    args->lengths = upload_lengths(m, c);
    if (c->entry == RING_OUTPUT)
        args->weights = upload_weights(m, c);
    args->num_keys = (unsigned)ring_longest(c);
    args->pitch = (unsigned)pitch_of(c);
    args->stride = (unsigned)ring_row_stride(c);
    args->row_bytes = (unsigned)ring_row_bytes(c);
    args->head_bytes = (unsigned)(c->depth * c->elem);
    args->sequences = (unsigned)c->sequences;
    args->kv_heads = (unsigned)c->heads;
    args->group = (unsigned)c->group;
    args->query_count = (unsigned)c->queries;
    args->weight_pitch = (unsigned)(ring_tiles(c, ring_longest(c)) * c->BN);
    args->teams = (unsigned)c->teams;
}

groat_status ring_launch(groat_context *context, groat_kernel *kernel,
                         const char *target, const ring_case *c,
                         unsigned char *out, groat_error *error)
{
    struct kv_producer_pipeline_args args;
    groat_launch launch = GROAT_LAUNCH_INIT;
    memory m = {.context = context, .target = target};
    int64_t bytes = (int64_t)ring_output_bytes(c);
    groat_status status;

    memset(&args, 0, sizeof(args));
    make_args(&m, c, &args);
    args.output = upload(&m, out, bytes);
    ring_grid_of(c, launch.grid);
    status = groat_kernel_launch(kernel, &launch, &args, sizeof(args), error);
    if (status == GROAT_OK)
        status = groat_memory_read(context, target, out, args.output,
                                   (size_t)bytes, error);
    while (m.count > 0)
        groat_memory_free(context, target, m.kept[--m.count]);
    return status;
}
