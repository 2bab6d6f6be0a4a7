/* SPDX-License-Identifier: Apache-2.0
 *
 * test_kv.c: the tensors of KV caches against tables of published kernels, and
 * against the plain index of an element in the cache: whatever coordinates a
 * kernel passes, in every form and layout and with strides of any order, the
 * tensor's address is the element's.  A cache that no kernel could copy is
 * refused, and the error names the field.
 */
#include "../suite.h"
#include "groat_tensor.h"

#include <stddef.h>

/* ---- tables -------------------------------------------------------------- */

/* A cache, how its tiles are copied, and the tensor of its last layer (in its
 * second plane, if it has two). */
typedef struct published {
    const char *what;
    struct {
        unsigned elem_bytes, blocks, planes, layers, page, heads, dim;
    } cache;
    struct {
        groat_kv_form form;
        groat_kv_order order;
        groat_swizzle swizzle;
        bool paged;
        unsigned tile_rows;
    } tile;
    unsigned rank;
    uint64_t dims[5];
    uint64_t strides[4];
    unsigned box[5];
} published;

#define BASE   GROAT_KV_BASE, GROAT_KV_CHUNK_OUTER
#define RANK_4 GROAT_KV_FOLDED, GROAT_KV_CHUNK_OUTER
#define RANK_5 GROAT_KV_FOLDED, GROAT_KV_CHUNK_INNER
#define FLAT_K GROAT_KV_FLAT, GROAT_KV_CHUNK_OUTER
#define FLAT_V GROAT_KV_FLAT, GROAT_KV_CHUNK_INNER

static const published tables[] = {
    {"page 64, rank 3",
     {2, 64, 2, 32, 64, 8, 128},
     {BASE, GROAT_SWIZZLE_128, true, 128},
     3,
     {128, 8, 258112},
     {256, 2048},
     {64, 1, 64}},
    {"page 128, rank 4",
     {2, 64, 2, 32, 128, 8, 128},
     {RANK_4, GROAT_SWIZZLE_128, true, 128},
     4,
     {64, 516224, 2, 8},
     {2048, 128, 256},
     {64, 128, 2, 1}},
    {"page 32, rank 5",
     {2, 64, 2, 32, 32, 8, 128},
     {RANK_5, GROAT_SWIZZLE_128, true, 128},
     5,
     {64, 8, 2, 16132, 8},
     {2048, 128, 16384, 256},
     {64, 8, 2, 4, 1}},
    {"fp8, 64 bytes",
     {1, 64, 2, 32, 128, 8, 128},
     {BASE, GROAT_SWIZZLE_64, true, 128},
     3,
     {128, 8, 516224},
     {128, 1024},
     {64, 1, 128}},
    {"one plane",
     {2, 64, 1, 61, 128, 1, 576},
     {BASE, GROAT_SWIZZLE_128, true, 64},
     3,
     {576, 1, 492032},
     {1152, 1152},
     {64, 1, 64}},
    {"page 16",
     {2, 64, 2, 32, 16, 8, 128},
     {BASE, GROAT_SWIZZLE_128, true, 128},
     3,
     {128, 8, 64528},
     {256, 2048},
     {64, 1, 16}},
    {"page 256",
     {2, 64, 2, 32, 256, 8, 128},
     {BASE, GROAT_SWIZZLE_128, true, 128},
     3,
     {128, 8, 1032448},
     {256, 2048},
     {64, 1, 128}},
    {"dim 256",
     {2, 64, 2, 32, 64, 4, 256},
     {BASE, GROAT_SWIZZLE_128, true, 64},
     3,
     {256, 4, 258112},
     {512, 2048},
     {64, 1, 64}},
    {"dim 80",
     {2, 64, 2, 32, 64, 8, 80},
     {BASE, GROAT_SWIZZLE_128, true, 64},
     3,
     {80, 8, 258112},
     {160, 1280},
     {64, 1, 64}},
    {"not paged",
     {2, 4, 1, 1, 4096, 8, 128},
     {BASE, GROAT_SWIZZLE_128, false, 128},
     3,
     {128, 8, 16384},
     {256, 2048},
     {64, 1, 128}},
    {"not swizzled",
     {2, 64, 2, 32, 64, 8, 128},
     {BASE, GROAT_SWIZZLE_NONE, true, 128},
     3,
     {128, 8, 258112},
     {256, 2048},
     {8, 1, 64}},
    {"keys, rank 2",
     {2, 64, 2, 32, 128, 8, 128},
     {FLAT_K, GROAT_SWIZZLE_128, true, 128},
     2,
     {1024, 516224},
     {2048},
     {64, 128}},
    {"values, rank 2",
     {2, 64, 2, 32, 128, 8, 128},
     {FLAT_V, GROAT_SWIZZLE_128, true, 128},
     2,
     {1024, 516224},
     {2048},
     {64, 8}},
};

static groat_kv_cache cache_of(const published *p)
{
    groat_kv_cache c = GROAT_KV_CACHE_INIT;

    c.address = 0x7f0000000000;
    c.elem_bytes = p->cache.elem_bytes;
    c.blocks = p->cache.blocks;
    c.planes = p->cache.planes;
    c.layers = p->cache.layers;
    c.page = p->cache.page;
    c.heads = p->cache.heads;
    c.dim = p->cache.dim;
    return c;
}

START_TEST(tensors_of_published_kernels)
{
    const published *p = &tables[_i];
    const groat_kv_cache c = cache_of(p);
    groat_kv_box b = GROAT_KV_BOX_INIT;
    groat_tensor t = GROAT_TENSOR_INIT;
    groat_error error = GROAT_ERROR_INIT;
    uint64_t layer = (uint64_t)p->cache.page * p->cache.heads * p->cache.dim *
                     p->cache.elem_bytes;

    b.form = p->tile.form;
    b.order = p->tile.order;
    b.swizzle = p->tile.swizzle;
    b.page = p->tile.paged ? p->cache.page : 0;
    b.tile_rows = p->tile.tile_rows;
    ck_assert_msg(groat_kv_tensor(&c, GROAT_KV_VALUES, p->cache.layers - 1, &b,
                                  &t, &error) == GROAT_OK,
                  "%s: %s", p->what, error.text);
    ck_assert_msg(t.rank == p->rank, "%s: rank %u", p->what, t.rank);
    ck_assert_msg(memcmp(t.dims, p->dims, sizeof(t.dims)) == 0, "%s: dims",
                  p->what);
    ck_assert_msg(memcmp(t.strides, p->strides, sizeof(t.strides)) == 0,
                  "%s: strides", p->what);
    ck_assert_msg(memcmp(t.box, p->box, sizeof(t.box)) == 0, "%s: box",
                  p->what);
    ck_assert_uint_eq(t.elem_bytes, p->cache.elem_bytes);
    ck_assert_int_eq(t.swizzle, p->tile.swizzle);
    /* The last layer of the last plane. */
    ck_assert(t.address ==
              c.address +
                  ((uint64_t)p->cache.planes * p->cache.layers - 1) * layer);
}
END_TEST

/* Boxes of whole pages in the flat form: of K, and of V in groups of 8 keys
 * where a head has several chunks. */
START_TEST(boxes_of_flat_tiles)
{
    static const struct {
        unsigned rows, dim, page, keys, values; /* 0: no box fits a tile */
    } known[] = {
        {128, 64, 16, 0, 0},    {128, 64, 128, 1, 1}, {128, 128, 16, 0, 0},
        {128, 128, 32, 0, 0},   {128, 128, 64, 0, 0}, {128, 128, 128, 2, 32},
        {128, 128, 256, 2, 32}, {64, 256, 16, 0, 0},  {64, 256, 64, 4, 32},
        {256, 128, 64, 0, 0},   {64, 512, 64, 8, 64},
    };

    for (size_t i = 0; i < COUNT(known); i++)
        for (unsigned plane = 0; plane < 2; plane++) {
            const unsigned want = plane == 0 ? known[i].keys : known[i].values;
            groat_kv_cache c = cache_of(&tables[0]);
            groat_kv_box b = GROAT_KV_BOX_INIT;
            groat_tensor t = GROAT_TENSOR_INIT;
            groat_error error = GROAT_ERROR_INIT;
            groat_status status;

            c.page = known[i].page;
            c.dim = known[i].dim;
            b.form = GROAT_KV_FLAT;
            b.order = plane == 1 && c.dim > 64 ? GROAT_KV_CHUNK_INNER
                                               : GROAT_KV_CHUNK_OUTER;
            b.swizzle = GROAT_SWIZZLE_128;
            b.page = c.page;
            b.tile_rows = known[i].rows;
            status = groat_kv_tensor(&c, plane, 0, &b, &t, &error);
            if (want == 0) {
                ck_fails(status, GROAT_INVALID, &error, "tile_rows");
                continue;
            }
            ck_assert_msg(status == GROAT_OK, "%s", error.text);
            ck_assert_uint_eq(b.tile_rows / t.box[1] * (c.dim / t.box[0]),
                              want);
        }
}
END_TEST

/* How many chunks of a row one copy may take. */
static const struct {
    unsigned elem_bytes;
    groat_swizzle swizzle;
    unsigned cols, dim, rows, slot_rows, page;
    groat_kv_order order;
    unsigned fold;
} folds[] = {
    {2, GROAT_SWIZZLE_128, 128, 128, 128, 128, 128, GROAT_KV_CHUNK_OUTER, 2},
    {2, GROAT_SWIZZLE_128, 128, 128, 64, 128, 64, GROAT_KV_CHUNK_OUTER, 1},
    {2, GROAT_SWIZZLE_128, 128, 128, 64, 128, 64, GROAT_KV_CHUNK_INNER, 2},
    {2, GROAT_SWIZZLE_128, 64, 128, 128, 128, 128, GROAT_KV_CHUNK_OUTER, 1},
    {2, GROAT_SWIZZLE_128, 128, 127, 128, 128, 0, GROAT_KV_CHUNK_OUTER, 1},
    {2, GROAT_SWIZZLE_128, 128, 256, 128, 128, 256, GROAT_KV_CHUNK_OUTER, 2},
    {2, GROAT_SWIZZLE_128, 128, 128, 4, 128, 4, GROAT_KV_CHUNK_INNER, 1},
    {1, GROAT_SWIZZLE_64, 128, 128, 128, 128, 0, GROAT_KV_CHUNK_OUTER, 2},
    {2, GROAT_SWIZZLE_128, 256, 256, 64, 64, 64, GROAT_KV_CHUNK_OUTER, 4},
    {2, GROAT_SWIZZLE_128, 128, 512, 128, 128, 64, GROAT_KV_CHUNK_OUTER, 1},
};

START_TEST(folds_of_published_kernels)
{
    groat_kv_cache c = GROAT_KV_CACHE_INIT;
    groat_kv_box b = GROAT_KV_BOX_INIT;

    for (size_t i = 0; i < COUNT(folds); i++) {
        c.elem_bytes = folds[i].elem_bytes;
        c.dim = folds[i].dim;
        b.order = folds[i].order;
        b.swizzle = folds[i].swizzle;
        b.page = folds[i].page;
        b.tile_cols = folds[i].cols;
        b.tile_rows = folds[i].slot_rows;
        b.rows = folds[i].rows;
        ck_assert_msg(groat_kv_fold(&c, &b) == folds[i].fold,
                      "row %zu of the table: %u", i, groat_kv_fold(&c, &b));
    }
    /* Fields that are not set have defaults. */
    b = (groat_kv_box)GROAT_KV_BOX_INIT;
    b.swizzle = GROAT_SWIZZLE_128;
    b.tile_rows = 128;
    b.page = 128;
    c.elem_bytes = 2;
    c.dim = 192;
    ck_assert_uint_eq(groat_kv_fold(&c, &b), 3);
    b.slot_rows = 256;
    ck_assert_uint_eq(groat_kv_fold(&c, &b), 1);
    b.order = GROAT_KV_CHUNK_INNER;
    ck_assert_uint_eq(groat_kv_fold(&c, &b), 3);
    c.elem_bytes = 0;
    ck_assert_uint_eq(groat_kv_fold(&c, &b), 1);
    c.elem_bytes = 2;
    b.swizzle = (groat_swizzle)9;
    ck_assert_uint_eq(groat_kv_fold(&c, &b), 1);
    ck_assert_uint_eq(groat_kv_fold(NULL, &b), 1);
    ck_assert_uint_eq(groat_kv_fold(&c, NULL), 1);
}
END_TEST

/* ---- elements ------------------------------------------------------------ */

/* One number of a cache. */
typedef struct element {
    uint64_t block;
    unsigned plane, layer, token, head, col;
} element;

/* Strides in bytes, as a test gives them. */
typedef struct plain {
    uint64_t block, plane, layer, token, head;
} plain;

static plain packed(const groat_kv_cache *c)
{
    bool paged = c->layout == GROAT_KV_PAGE_HEAD;
    uint64_t vector = (uint64_t)c->dim * c->elem_bytes;
    plain p;

    p.head = paged ? vector : vector * c->page;
    p.token = paged ? vector * c->heads : vector;
    p.layer = vector * c->heads * c->page;
    p.plane = p.layer * c->layers;
    p.block = p.plane * c->planes;
    return p;
}

static uint64_t address_of(const groat_kv_cache *c, const plain *p,
                           const element *e)
{
    unsigned plane = c->planes == 1 ? 0 : e->plane;

    return c->address + e->block * p->block + plane * p->plane +
           e->layer * p->layer + e->token * p->token + e->head * p->head +
           (uint64_t)e->col * c->elem_bytes;
}

/* Computes the coordinates that groat_tensor.h tells kernels to pass. */
static void coordinates(const groat_kv_cache *c, const groat_kv_box *b,
                        const groat_kv_view *v, const element *e,
                        uint64_t at[5])
{
    unsigned chunk = (16u << b->swizzle) / c->elem_bytes;
    bool one_head = c->layout == GROAT_KV_HEAD_PAGE;
    uint64_t row = e->block * v->block_rows +
                   (one_head ? e->head : 0) * v->head_rows + e->token;
    uint64_t head = one_head ? 0 : e->head;

    memset(at, 0, 5 * sizeof(at[0]));
    if (b->form == GROAT_KV_BASE) {
        at[0] = e->col;
        at[1] = head;
        at[2] = row;
    } else if (b->form == GROAT_KV_FLAT) {
        at[0] = head * c->dim + e->col;
        at[1] = row;
    } else if (b->order == GROAT_KV_CHUNK_OUTER) {
        at[0] = e->col % chunk;
        at[1] = row;
        at[2] = e->col / chunk;
        at[3] = head;
    } else {
        at[0] = e->col % chunk;
        at[1] = row % 8;
        at[2] = e->col / chunk;
        at[3] = row / 8;
        at[4] = head;
    }
}

static void check_element(const groat_kv_cache *c, const groat_kv_box *b,
                          const groat_kv_view *v, const groat_tensor *t,
                          const plain *p, const element *e)
{
    uint64_t at[5];
    uint64_t got = t->address;

    coordinates(c, b, v, e, at);
    for (unsigned i = 0; i < t->rank; i++) {
        ck_assert_msg(at[i] < t->dims[i], "coordinate %u is %llu of %llu", i,
                      (unsigned long long)at[i],
                      (unsigned long long)t->dims[i]);
        got += at[i] * (i == 0 ? t->elem_bytes : t->strides[i - 1]);
    }
    for (unsigned i = t->rank; i < 5; i++)
        ck_assert(at[i] == 0);
    ck_assert_msg(got == address_of(c, p, e), "0x%llx, not 0x%llx",
                  (unsigned long long)got,
                  (unsigned long long)address_of(c, p, e));
}

static unsigned draw(uint64_t *random, unsigned most)
{
    return 1 + (unsigned)(next_random(random) % most);
}

/* Draws a cache, packed or with gaps; pages are multiples of 8. */
static plain draw_cache(uint64_t *random, groat_kv_cache *c)
{
    static const unsigned dims[] = {64, 80, 128, 192, 256};
    uint64_t gap;
    plain p;

    *c = (groat_kv_cache)GROAT_KV_CACHE_INIT;
    c->address = 16 * (uint64_t)draw(random, 1 << 30);
    c->layout = (groat_kv_layout)(next_random(random) % 2);
    c->elem_bytes = draw(random, 2);
    c->blocks = draw(random, 9);
    c->planes = draw(random, 2);
    c->layers = draw(random, 4);
    c->page = 8 * draw(random, 9);
    c->heads = draw(random, 5);
    c->dim = dims[next_random(random) % COUNT(dims)];
    p = packed(c);
    if (next_random(random) % 2 == 0)
        return p;
    /* Planes outside of blocks, with free rows after each layer. */
    gap = 8 * p.token * (c->layout == GROAT_KV_HEAD_PAGE ? c->heads : 1);
    p.layer += gap * draw(random, 3);
    p.block = p.layer * c->layers;
    p.plane = p.block * c->blocks + 16 * draw(random, 99);
    c->layer_stride = p.layer;
    c->block_stride = p.block;
    c->plane_stride = p.plane;
    return p;
}

static groat_kv_box draw_box(uint64_t *random, const groat_kv_cache *c)
{
    groat_kv_box b = GROAT_KV_BOX_INIT;

    b.form = (groat_kv_form)(next_random(random) % 3);
    b.order = (groat_kv_order)(next_random(random) % 2);
    b.swizzle = (groat_swizzle)(next_random(random) % 4);
    b.page = next_random(random) % 4 == 0 ? 0 : c->page;
    b.tile_rows = next_random(random) % 2 == 0 ? c->page : 2 * c->page;
    return b;
}

static element draw_element(uint64_t *random, const groat_kv_cache *c,
                            unsigned plane, unsigned layer)
{
    element e;

    e.block = next_random(random) % c->blocks;
    e.plane = plane;
    e.layer = layer;
    e.token = draw(random, c->page) - 1;
    e.head = draw(random, c->heads) - 1;
    e.col = draw(random, c->dim) - 1;
    return e;
}

/* Checks coordinates of drawn elements, the last element included. */
static void check_elements(const groat_kv_cache *c, const groat_kv_box *b,
                           const groat_tensor *t, const plain *p,
                           unsigned plane, unsigned layer, uint64_t *random)
{
    groat_kv_view v = {.size = sizeof(v)};

    ck_assert_int_eq(groat_kv_view_get(c, plane, layer, &v, NULL), GROAT_OK);
    ck_assert(v.address == t->address);
    for (int n = 0; n < 40; n++) {
        element e = draw_element(random, c, plane, layer);

        if (n == 0)
            e = (element){c->blocks - 1, plane,        layer,
                          c->page - 1,   c->heads - 1, c->dim - 1};
        check_element(c, b, &v, t, p, &e);
        ck_assert(v.rows >
                  e.block * v.block_rows + e.head * v.head_rows + e.token);
    }
}

/* Tells whether a refusal is one that drawn boxes may meet. */
static bool is_expected(const groat_error *error)
{
    static const char *const words[] = {
        "in the FOLDED form", "where a FOLDED box", "in the FLAT form",
        "of a FLAT box", "at most 256"};

    for (size_t i = 0; i < COUNT(words); i++)
        if (strstr(error->text, words[i]) != NULL)
            return true;
    return false;
}

START_TEST(coordinates_find_their_elements)
{
    int taken[3][2][2] = {{{0}}};
    uint64_t random = 3;

    for (int n = 0; n < 4000; n += (int)test_step()) {
        groat_error error = GROAT_ERROR_INIT;
        groat_tensor t = GROAT_TENSOR_INIT;
        groat_kv_cache c;
        plain p = draw_cache(&random, &c);
        groat_kv_box b = draw_box(&random, &c);
        unsigned plane = draw(&random, 2) - 1;
        unsigned layer = draw(&random, c.layers) - 1;

        if (groat_kv_tensor(&c, plane, layer, &b, &t, &error) == GROAT_OK) {
            taken[b.form][b.order][c.layout]++;
            check_elements(&c, &b, &t, &p, plane, layer, &random);
        } else
            ck_assert_msg(is_expected(&error), "%s", error.text);
        groat_error_clear(&error);
    }
    for (int i = 0; i < 12; i++)
        ck_assert_msg(taken[i / 4][i / 2 % 2][i % 2] > 50 / (int)test_step(),
                      "form %d order %d layout %d: %d", i / 4, i / 2 % 2, i % 2,
                      taken[i / 4][i / 2 % 2][i % 2]);
}
END_TEST

/* A caller may give all strides, in an order that no layout packs: planes side
 * by side in a row, gaps between tokens. */
START_TEST(strides_may_be_given)
{
    groat_kv_cache c = GROAT_KV_CACHE_INIT;
    groat_kv_box b = GROAT_KV_BOX_INIT;
    groat_tensor t = GROAT_TENSOR_INIT;
    groat_error error = GROAT_ERROR_INIT;
    plain p = {.plane = 256, .head = 512, .token = 2080};
    uint64_t random = 5;

    c.address = 4096;
    c.elem_bytes = 2;
    c.blocks = 7;
    c.planes = 2;
    c.layers = 3;
    c.page = 16;
    c.heads = 4;
    c.dim = 128;
    p.block = p.token * 16;
    p.layer = p.block * 7 + 48;
    c.block_stride = p.block;
    c.plane_stride = p.plane;
    c.layer_stride = p.layer;
    c.token_stride = p.token;
    c.head_stride = p.head;
    b.swizzle = GROAT_SWIZZLE_128;
    b.page = 16;
    b.tile_rows = 64;
    ck_assert_msg(groat_kv_tensor(&c, 1, 2, &b, &t, &error) == GROAT_OK, "%s",
                  error.text);
    ck_assert(t.dims[2] == 7 * 16 && t.strides[1] == 2080);
    check_elements(&c, &b, &t, &p, 1, 2, &random);
    b.form = GROAT_KV_FLAT;
    b.tile_rows = 16;
    ck_fails(groat_kv_tensor(&c, 1, 2, &b, &t, &error), GROAT_INVALID, &error,
             "head_stride is 512; allowed: 256, heads side by side");
}
END_TEST

/* ---- refusals ------------------------------------------------------------ */

/* A cache of 64 blocks, 2 planes, 4 layers, 64 tokens, 8 heads of 128 bf16, and
 * a box of 128-byte chunks of tiles of 128 keys; tests change one field. */
typedef struct subject {
    groat_kv_cache cache;
    groat_kv_box box;
    unsigned plane, layer;
} subject;

static subject sound(void)
{
    subject s = {GROAT_KV_CACHE_INIT, GROAT_KV_BOX_INIT, 1, 3};

    s.cache.address = 0x10000;
    s.cache.elem_bytes = 2;
    s.cache.blocks = 64;
    s.cache.planes = 2;
    s.cache.layers = 4;
    s.cache.page = 64;
    s.cache.heads = 8;
    s.cache.dim = 128;
    s.box.swizzle = GROAT_SWIZZLE_128;
    s.box.page = 64;
    s.box.tile_rows = 128;
    return s;
}

#define CACHE(field)                                                           \
    offsetof(subject, cache.field), sizeof(((subject *)0)->cache.field)
#define BOX(field)                                                             \
    offsetof(subject, box.field), sizeof(((subject *)0)->box.field)
#define PLANE offsetof(subject, plane), sizeof(unsigned)
#define LAYER offsetof(subject, layer), sizeof(unsigned)

typedef struct change {
    size_t at, bytes;
    uint64_t value;
} change;

enum { CHANGES = 5 };

typedef struct refusal {
    const char *words;
    const char *allowed;
    change changes[CHANGES];
} refusal;

#define FOLDED_BOX                                                             \
    {                                                                          \
        BOX(form), GROAT_KV_FOLDED                                             \
    }
#define FLAT_BOX                                                               \
    {                                                                          \
        BOX(form), GROAT_KV_FLAT                                               \
    }
#define INNER                                                                  \
    {                                                                          \
        BOX(order), GROAT_KV_CHUNK_INNER                                       \
    }
#define HEAD_PAGE                                                              \
    {                                                                          \
        CACHE(layout), GROAT_KV_HEAD_PAGE                                      \
    }

static const refusal refusals[] = {
    {"cache.size is 8;", "sizeof(groat_kv_cache)", {{CACHE(size), 8}}},
    {"cache: layout is 2;", "HEAD_PAGE (1)", {{CACHE(layout), 2}}},
    {"cache: elem_bytes is 3;", "1, 2, 4 or 8", {{CACHE(elem_bytes), 3}}},
    {"cache: elem_bytes is 0;", "1, 2, 4 or 8", {{CACHE(elem_bytes), 0}}},
    {"cache: blocks is 0;", "1 or more", {{CACHE(blocks), 0}}},
    {"cache: planes is 0;", "2 (K and V) or 1", {{CACHE(planes), 0}}},
    {"cache: planes is 3;", "2 (K and V) or 1", {{CACHE(planes), 3}}},
    {"cache: layers is 0;", "1 or more", {{CACHE(layers), 0}}},
    {"cache: page is 0;", "1 or more", {{CACHE(page), 0}}},
    {"cache: heads is 0;", "1 or more", {{CACHE(heads), 0}}},
    {"cache: dim is 0;", "multiples of 8", {{CACHE(dim), 0}}},
    {"cache: dim is 100;", "multiples of 8", {{CACHE(dim), 100}}},
    {"cache: dim is 88;",
     "multiples of 16",
     {{CACHE(dim), 88}, {CACHE(elem_bytes), 1}}},
    {"cache: address is 0;", "multiples of 16", {{CACHE(address), 0}}},
    {"cache: address is 4104;", "multiples of 16", {{CACHE(address), 4104}}},
    {"plane is 2;", "GROAT_KV_VALUES (1)", {{PLANE, 2}}},
    {"layer is 4;", "0 to 3", {{LAYER, 4}}},
    {"head_stride is 264;", "multiples of 16", {{CACHE(head_stride), 264}}},
    {"token_stride is 2056;", "multiples of 16", {{CACHE(token_stride), 2056}}},
    {"layer_stride is 8;", "multiples of 16", {{CACHE(layer_stride), 8}}},
    {"plane_stride is 8;", "multiples of 16", {{CACHE(plane_stride), 8}}},
    {"block_stride is 8;", "multiples of 16", {{CACHE(block_stride), 8}}},
    {"head_stride is 240;", "256 or more", {{CACHE(head_stride), 240}}},
    {"token_stride is 1024;", "2048 or more", {{CACHE(token_stride), 1024}}},
    {"layer_stride is 65536;",
     "131072 or more",
     {{CACHE(layer_stride), 65536}}},
    {"plane_stride is 131072;",
     "or more, or elements would share bytes",
     {{CACHE(plane_stride), 131072}}},
    {"block_stride is 524288;",
     "1048576 or more",
     {{CACHE(block_stride), 524288}}},
    {"block_stride is 1049600;",
     "multiples of token_stride, which is 2048",
     {{CACHE(block_stride), 1049600}}},
    {"head_stride is 16400;",
     "multiples of token_stride, which is 256",
     {HEAD_PAGE, {CACHE(head_stride), 16400}}},
    {"head_stride is 16384;",
     "at most token_stride, which is 256, in PAGE_HEAD",
     {{CACHE(head_stride), 16384},
      {CACHE(token_stride), 256},
      {CACHE(layer_stride), 131072}}},
    {"rows, from the first block's to the last one's, is 2147483648;",
     "less than 2147483648",
     {{CACHE(blocks), 1 << 25},
      {CACHE(planes), 1},
      {CACHE(layers), 1},
      {LAYER, 0}}},
    {"rows, from the first block's to the last one's, is",
     "less than 2147483648",
     {{CACHE(blocks), UINT64_MAX}}},
    {"layer_stride is 4503599626321920;",
     "4294967296 bytes or less, as there are 4294967295 of these",
     {{CACHE(page), UINT32_MAX},
      {CACHE(layers), UINT32_MAX},
      {CACHE(dim), 65536}}},
    {"token_stride is 4611686018427387904;",
     "288230376151711743 bytes or less, as there are 64 of these",
     {{CACHE(token_stride), 1ULL << 62}}},
    {"head_stride is 4611686018427387904;",
     "2305843009213693951 bytes or less, as there are 8 of these",
     {{CACHE(head_stride), 1ULL << 62}}},
    {"token_stride is 4611686018427387904;",
     "288230376151711743 bytes or less, as there are 64 of these",
     {HEAD_PAGE, {CACHE(token_stride), 1ULL << 62}}},
    {"head_stride is 4611686018427387904;",
     "2305843009213693951 bytes or less, as there are 8 of these",
     {HEAD_PAGE, {CACHE(head_stride), 1ULL << 62}}},
    {"plane_stride is 9223372036854775808;",
     "9223372036854775807 bytes or less, as there are 2 of these",
     {{CACHE(plane_stride), 1ULL << 63}}},
    {"block_stride is 18446744073709551615;",
     "multiples of 16",
     {{CACHE(block_stride), UINT64_MAX}}},
    {"box.size is 8;", "sizeof(groat_kv_box)", {{BOX(size), 8}}},
    {"box: form is 3;", "_FLAT (2)", {{BOX(form), 3}}},
    {"box: order is 2;", "_CHUNK_INNER (1)", {{BOX(order), 2}}},
    {"box: swizzle is 4;", "_128 (3)", {{BOX(swizzle), 4}}},
    {"box: swizzle is 2;",
     "GROAT_SWIZZLE_NONE (0), _128 (3) of a FLAT box",
     {FLAT_BOX, INNER, {BOX(swizzle), 2}, {BOX(tile_rows), 64}}},
    {"box: page is 32;", "64, the cache's, or 0", {{BOX(page), 32}}},
    {"box: tile_rows is 0;", "multiples of 8", {{BOX(tile_rows), 0}}},
    {"box: tile_rows is 100;", "multiples of 8", {{BOX(tile_rows), 100}}},
    {"box: tile_rows is 96;",
     "divides the page of 64 or is divided by it",
     {{BOX(tile_rows), 96}}},
    {"box: tile_rows is 128;",
     "divides the page of 192 or is divided by it",
     {{CACHE(page), 192}, {BOX(page), 192}}},
    {"box: tile_rows is 128;",
     "at most the page of 64, in the FLAT form",
     {FLAT_BOX}},
    {"box: page is 4;",
     "multiples of 8 in CHUNK_INNER order",
     {INNER, {CACHE(page), 4}, {BOX(page), 4}}},
    {"box: page is 0;",
     "the cache's, where a FOLDED box",
     {FOLDED_BOX, INNER, {BOX(page), 0}}},
    {"box: tile_cols is 96;", "whole chunks of 64", {{BOX(tile_cols), 96}}},
    {"box: tile_cols is 192;", "at most 128, the dim", {{BOX(tile_cols), 192}}},
    {"box: slot_rows is 64;",
     "multiples of 8 from tile_rows, which is 128",
     {{BOX(slot_rows), 64}}},
    {"box: slot_rows is 132;", "multiples of 8", {{BOX(slot_rows), 132}}},
    {"bytes of a tile",
     "less than 1048576",
     {{BOX(tile_rows), 4096}, {BOX(tile_cols), 128}}},
    {"box: rows is 32;", "64, the rows of a copy", {{BOX(rows), 32}}},
    {"box: rows is 128;", "64, the rows of a copy", {{BOX(rows), 128}}},
    {"box: rows is 64;", "8, the rows of a copy", {INNER, {BOX(rows), 64}}},
    {"box: rows is 512;",
     "at most 256",
     {{BOX(tile_rows), 512}, {CACHE(page), 512}, {BOX(page), 512}}},
    {"box: rows is 2;",
     "multiples of 8 with spans of 16 bytes",
     {{CACHE(page), 2}, {BOX(page), 2}, {BOX(swizzle), 0}}},
    {"box: rows is 1;",
     "multiples of 2 with spans of 64 bytes",
     {{CACHE(page), 1}, {BOX(page), 1}, {BOX(swizzle), 2}}},
    {"box: tile_cols is 64;",
     "two chunks of 64 elements or more",
     {FOLDED_BOX, {BOX(tile_cols), 64}, {BOX(tile_rows), 64}}},
    {"box: tile_cols is 128;",
     "divide the dim of 192",
     {FOLDED_BOX, {CACHE(dim), 192}, {BOX(tile_cols), 128}}},
    {"box: tile_cols is 128;",
     "divide the dim of 80",
     {FOLDED_BOX, {CACHE(dim), 80}}},
    {"box: rows is 64;", "128, all rows of the slot", {FOLDED_BOX}},
    {"box: rows is 64;",
     "96, all rows of the slot",
     {FOLDED_BOX, {BOX(tile_rows), 64}, {BOX(slot_rows), 96}}},
    {"cache: rows from block to block is 513;",
     "multiples of 8",
     {FOLDED_BOX, INNER, {CACHE(block_stride), (uint64_t)513 * 2048}}},
    {"cache: rows from head to head is 65;",
     "multiples of 8",
     {FOLDED_BOX, INNER, HEAD_PAGE, {CACHE(head_stride), 65 * 256}}},
    {"head_stride is 512;",
     "256, heads side by side",
     {FLAT_BOX, {CACHE(head_stride), 512}, {BOX(tile_rows), 64}}},
    {"strides[1] is 1099511627776;",
     "to 1099511627760",
     {{CACHE(token_stride), (uint64_t)1 << 40}, {CACHE(blocks), 1}}},
    {"cache: address is 18446744073705357312;",
     "the plane ends below 2^64",
     {{CACHE(address), UINT64_MAX - (1 << 22) + 1}}},
};

static void apply(subject *s, const change *c)
{
    unsigned value = (unsigned)c->value;

    if (c->bytes == sizeof(uint64_t))
        memcpy((char *)s + c->at, &c->value, sizeof(c->value));
    else if (c->bytes == sizeof(unsigned))
        memcpy((char *)s + c->at, &value, sizeof(value));
}

START_TEST(each_rule_refuses)
{
    const refusal *r = &refusals[_i];
    groat_tensor t = GROAT_TENSOR_INIT;
    groat_error error = GROAT_ERROR_INIT;
    groat_tensor before;
    subject s = sound();

    ck_assert_msg(groat_kv_tensor(&s.cache, s.plane, s.layer, &s.box, &t,
                                  &error) == GROAT_OK,
                  "%s", error.text);
    before = t;
    for (size_t i = 0; i < CHANGES; i++)
        apply(&s, &r->changes[i]);
    ck_assert_msg(groat_kv_tensor(&s.cache, s.plane, s.layer, &s.box, &t,
                                  &error) == GROAT_INVALID,
                  "taken, not: %s", r->words);
    ck_says(&error, r->words);
    ck_says(&error, r->allowed);
    ck_assert_mem_eq(&t, &before, sizeof(t));
    groat_error_clear(&error);
    ck_assert_int_eq(
        groat_kv_tensor(&s.cache, s.plane, s.layer, &s.box, &t, NULL),
        GROAT_INVALID);
}
END_TEST

START_TEST(nothing_given)
{
    subject s = sound();
    groat_tensor t = GROAT_TENSOR_INIT;
    groat_error error = GROAT_ERROR_INIT;
    groat_kv_view v = {0};

    ck_fails(groat_kv_tensor(NULL, 0, 0, &s.box, &t, &error), GROAT_INVALID,
             &error, "cache is NULL");
    ck_fails(groat_kv_tensor(&s.cache, 0, 0, NULL, &t, &error), GROAT_INVALID,
             &error, "box is NULL");
    ck_fails(groat_kv_tensor(&s.cache, 0, 0, &s.box, NULL, &error),
             GROAT_INVALID, &error, "out is NULL");
    t.size = 8;
    ck_fails(groat_kv_tensor(&s.cache, 0, 0, &s.box, &t, &error), GROAT_INVALID,
             &error, "out.size is 8");
    ck_fails(groat_kv_view_get(&s.cache, 0, 0, &v, &error), GROAT_INVALID,
             &error, "view.size is 0");
    ck_fails(groat_kv_view_get(&s.cache, 0, 0, NULL, &error), GROAT_INVALID,
             &error, "view is NULL");
    v.size = sizeof(v);
    s.cache.page = 0;
    ck_fails(groat_kv_view_get(&s.cache, 0, 0, &v, &error), GROAT_INVALID,
             &error, "page is 0");
}
END_TEST

/* Values at the limits are accepted, and a box of V one chunk wide. */
START_TEST(edges_are_taken)
{
    groat_error error = GROAT_ERROR_INIT;
    groat_tensor t = GROAT_TENSOR_INIT;
    groat_kv_view v = {.size = sizeof(v)};
    subject s = sound();

    s.cache.planes = 1;
    s.cache.layers = 1;
    s.cache.blocks = (1u << 25) - 1;
    s.layer = 0;
    ck_assert_msg(groat_kv_tensor(&s.cache, 1, 0, &s.box, &t, &error) ==
                      GROAT_OK,
                  "%s", error.text);
    ck_assert(t.dims[2] == ((uint64_t)1 << 31) - 64);
    ck_assert_int_eq(groat_kv_view_get(&s.cache, 1, 0, &v, NULL), GROAT_OK);
    ck_assert(v.address == s.cache.address && v.head_rows == 0);
    s.cache.address = UINT64_MAX - 15; /* the first vector ends past 2^64 */
    ck_assert_int_eq(groat_kv_view_get(&s.cache, 0, 0, &v, &error),
                     GROAT_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "the plane ends below 2^64"));
    s = sound();
    s.box.form = GROAT_KV_FLAT;
    s.box.order = GROAT_KV_CHUNK_INNER;
    s.box.tile_rows = 64;
    s.box.tile_cols = 64;
    s.box.rows = 64;
    ck_assert_msg(groat_kv_tensor(&s.cache, 1, 0, &s.box, &t, &error) ==
                      GROAT_OK,
                  "%s", error.text);
    ck_assert_uint_eq(t.box[1], 64);
    s = sound();
    s.cache.page = 4;
    s.box.page = 4;
    s.box.swizzle = GROAT_SWIZZLE_32; /* 4 rows of 32 bytes are 128 */
    ck_assert_msg(groat_kv_tensor(&s.cache, 1, 0, &s.box, &t, &error) ==
                      GROAT_OK,
                  "%s", error.text);
    ck_assert_uint_eq(t.box[2], 4);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kv");
    TCase *tests = tcase_create("tensors");

    tcase_add_loop_test(tests, tensors_of_published_kernels, 0, COUNT(tables));
    tcase_add_test(tests, boxes_of_flat_tiles);
    tcase_add_test(tests, folds_of_published_kernels);
    tcase_add_test(tests, coordinates_find_their_elements);
    tcase_add_test(tests, strides_may_be_given);
    tcase_add_loop_test(tests, each_rule_refuses, 0, COUNT(refusals));
    tcase_add_test(tests, nothing_given);
    tcase_add_test(tests, edges_are_taken);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
