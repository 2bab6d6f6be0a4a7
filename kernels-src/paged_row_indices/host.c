/* SPDX-License-Identifier: Apache-2.0
 *
 * host.c feeds and checks paged_row_indices for `groat run`.  The expected
 * output comes from a walk over boxes: each part of a tile is listed as the
 * boxes that bring it, and each box is put into an image as the engine would,
 * row by row, with the swizzle and with zeros outside of the cache.
 * Caches and page tables come from driver/cache_host.c.
 * Invariant: each run-time argument is the field of args.h with its name;
 * nothing here is shared with the kernel.
 * Locking: none; writes only to what the caller passes.
 * It is C instead of a run.def: pages, lengths and cache depend on each other,
 * and it is verified on hosts without a compiler, too.
 */
#include <stdlib.h>
#include <string.h>

#include "../driver/cache_host.h"
#include "args.h"

#define FAMILY "paged_row_indices"

/* In the order of `arguments`. */
enum {
    BATCH,
    HEADS,
    TILES,
    FIRST_KEY,
    KEYS,
    PITCH,
    STRIDE,
    ROW_BYTES,
    HEAD_PAGE,
    K_DEPTH,
    V_DEPTH,
    BLOCKS,
    PLANES,
    LAYERS,
    LAYER,
    VALUES
};

/* In the order of params.def. */
enum { IMAGE, ISSUES, STREAM };
enum { ALONE, LOCAL, MULTICAST, SM100 };
enum { ONE, LANES, THREADS };

/* In the order of the buffers. */
enum { CACHE, TABLE, LENGTHS, OUTPUT };

enum { POISON = 0xCD, LISTED = 32, MULTIPROCESSORS = 132, GRID_Y_MAX = 65535 };

static const int64_t device_stream_bytes = (int64_t)1 << 30;

static const groat_driver_arg arguments[] = {
    {"batch", GROAT_ARG_INT, -1, 1, 4096, "sequences",
     "sequences (default: 2; 16 on a GPU)"},
    {"heads", GROAT_ARG_INT, -1, 1, 1024, "heads",
     "heads of the cache (default: 2; 8)"},
    {"tiles", GROAT_ARG_INT, -1, 1, 1 << 20, "tiles",
     "tiles of a sequence (default: 2; 8; of a GPU's stream entry 1 GiB)"},
    {"first_key", GROAT_ARG_INT, 0, 0, 1 << 24, "keys",
     "first key of tile 0, a multiple of alignment"},
    {"keys", GROAT_ARG_INT, -1, 0, 1 << 26, "keys",
     "keys of the longest sequence (default: whole tiles; with partial=1 a "
     "part of the last tile)"},
    {"pitch", GROAT_ARG_INT, -1, 1, 1 << 26, "entries",
     "of the page table from sequence to sequence (default: the least)"},
    {"stride", GROAT_ARG_INT, -1, 1, INT32_MAX, "rows",
     "rows from block to block (default: packed)"},
    {"row_bytes", GROAT_ARG_INT, -1, 16, 1 << 24, "bytes",
     "bytes from row to row (default: packed)"},
    {"head_page", GROAT_ARG_INT, 0, 0, 1, "-",
     "pages are 0: [page, heads, dim], 1: [heads, page, dim]"},
    {"k_depth", GROAT_ARG_INT, 0, 0, 576, "elements", "first column of K"},
    {"v_depth", GROAT_ARG_INT, 0, 0, 576, "elements", "first column of V"},
    {"blocks", GROAT_ARG_INT, -1, 1, 65535, "blocks",
     "blocks, or pairs of blocks, of the stream entry (default: what 132 "
     "multiprocessors hold, two each at most; 2 on cpu targets)"},
    {"planes", GROAT_ARG_INT, 2, 1, 2, "planes",
     "2: K and V; 1: both are the same"},
    {"layers", GROAT_ARG_INT, 2, 1, 256, "layers", "layers of the cache"},
    {"layer", GROAT_ARG_INT, 1, 0, 255, "-", "the layer that is taken"},
    {NULL, GROAT_ARG_INT, 0, 0, 0, NULL, NULL},
};

/* The copies of K, or of V. */
typedef struct side {
    int64_t cols, slot_cols; /* columns of a copy, of the slot        */
    int64_t rows, slot_rows; /* of a copy, of the slot                */
    int64_t inner, fold;     /* layout of the slot                    */
    int64_t fill;            /* zeros for missing pages               */
    int64_t page_rows;       /* rows of a page in one copy            */
    int64_t parts;           /* copies of a tile by one block         */
    int64_t part_bytes;      /* of the slot                           */
    int64_t depth;           /* first column                          */
} side;

/* Constants of a spec and arguments that the host needs. */
typedef struct world {
    int64_t entry, pair, issue, BN, alignment, span, elem_bytes, halves;
    int64_t partial, num_warps, slot_bytes;
    side side[2];
    groat__cache cache;
    const int64_t *v;
} world;

static int64_t ask(const groat_spec *spec, const char *k, const char *v,
                   int plane)
{
    return groat__host_value(spec, plane == 0 ? k : v);
}

static side side_of(const groat_spec *spec, int plane)
{
    side s;

    s.cols = ask(spec, "k_tile_cols", "v_tile_cols", plane);
    s.slot_cols = ask(spec, "k_tile_cols", "v_slot_cols", plane);
    s.rows = ask(spec, "k_tile_rows", "v_tile_rows", plane);
    s.slot_rows = ask(spec, "k_slot_rows", "v_slot_rows", plane);
    s.inner = ask(spec, "k_layout", "v_layout", plane);
    s.fold = ask(spec, "k_fold", "v_fold", plane);
    s.fill = ask(spec, "k_fill", "v_fill", plane);
    s.page_rows = ask(spec, "k_page_rows", "v_page_rows", plane);
    s.parts = plane == 0 ? 1 : groat__host_value(spec, "v_sub_tiles");
    s.part_bytes = ask(spec, "k_slot_bytes", "v_sub_bytes", plane);
    s.depth = 0;
    return s;
}

static void constants(const groat_spec *spec, world *w)
{
    memset(w, 0, sizeof(*w));
    w->entry = groat__host_value(spec, "entry");
    w->pair = groat__host_value(spec, "pair");
    w->issue = groat__host_value(spec, "issue");
    w->BN = groat__host_value(spec, "BN");
    w->alignment = groat__host_value(spec, "alignment");
    w->span = groat__host_value(spec, "swizzle");
    w->elem_bytes = groat__host_value(spec, "elem_bytes");
    w->halves = groat__host_value(spec, "halves");
    w->partial = groat__host_value(spec, "partial");
    w->num_warps = groat__host_value(spec, "num_warps");
    w->slot_bytes = groat__host_value(spec, "slot_bytes");
    w->side[0] = side_of(spec, 0);
    w->side[1] = side_of(spec, 1);
    w->cache.from = groat__host_value(spec, "from");
    w->cache.page = groat__host_value(spec, "page_size");
    w->cache.dim = groat__host_value(spec, "head_dim");
    w->cache.elem_bytes = w->elem_bytes;
    w->cache.varied = w->partial != 0;
}

/* ---- boxes ---------------------------------------------------------------
 */

/* An entry of an issue list: place in the slot, source, size. */
typedef struct box {
    int64_t offset, bytes;
    int64_t at[5];
} box;

/* A block's tile: of head `head` of sequence `sequence`, from key `first`, in
 * block `rank` of a pair. */
typedef struct tile {
    int64_t sequence, head, first, rank;
} tile;

/* One copy of a tile, part `part` of a side. */
typedef struct copy {
    const world *w;
    const uint32_t *table;
    int plane;
    int64_t part;
    tile of;
} copy;

static const side *side_at(const copy *c)
{
    return &c->w->side[c->plane];
}

static int64_t elements_of_span(const world *w)
{
    return w->span / w->elem_bytes;
}

static int64_t chunks_of(const world *w, int64_t cols)
{
    return (cols + elements_of_span(w) - 1) / elements_of_span(w);
}

/* Returns the first key that a copy takes. */
static int64_t first_key_of(const copy *c)
{
    if (c->plane == 0)
        return c->of.first + c->of.rank * c->w->BN / 2;
    return c->of.first + c->part * side_at(c)->rows;
}

/* Rows and chunks of the slot before the part that a copy fills. */
static int64_t rows_ahead(const copy *c)
{
    return c->plane == 0 && c->w->pair == MULTICAST
               ? c->of.rank * side_at(c)->rows
               : 0;
}

static int64_t chunks_ahead(const copy *c)
{
    return c->plane == 1 && c->w->pair == MULTICAST
               ? c->of.rank * chunks_of(c->w, side_at(c)->cols)
               : 0;
}

static int64_t first_column(const copy *c)
{
    const side *s = side_at(c);

    return s->depth +
           (c->plane == 1 && c->w->pair != ALONE ? c->of.rank * s->cols : 0);
}

static int64_t pages_of(const side *s)
{
    return s->rows / s->page_rows;
}

/* Pages of a copy that hold a key of the sequence. */
static int64_t valid_pages(const copy *c)
{
    int64_t left =
        groat__cache_length(&c->w->cache, c->of.sequence) - first_key_of(c);
    int64_t pages = pages_of(side_at(c));
    int64_t valid =
        left <= 0 ? 0
                  : (left + side_at(c)->page_rows - 1) / side_at(c)->page_rows;

    return c->w->partial && valid < pages ? valid : pages;
}

/* Pages that a copy writes. */
static int64_t written_pages(const copy *c)
{
    return c->w->partial && side_at(c)->fill ? pages_of(side_at(c))
                                             : valid_pages(c);
}

/* Rows of one box; boxes_of_page() is the number of boxes of a page. */
static int64_t rows_of_box(const copy *c)
{
    const side *s = side_at(c);

    if (c->w->issue == THREADS)
        return 1;
    return s->inner && !s->fold ? 8 : s->page_rows;
}

static int64_t boxes_of_page(const copy *c)
{
    const side *s = side_at(c);

    return s->fold ? 1
                   : s->page_rows / rows_of_box(c) * chunks_of(c->w, s->cols);
}

/* Place of row `row` and chunk `chunk` in the slot, before the swizzle. */
static int64_t place_of(const copy *c, int64_t row, int64_t chunk)
{
    const side *s = side_at(c);
    int64_t width = chunks_of(c->w, s->slot_cols) * c->w->span;

    row += rows_ahead(c);
    chunk += chunks_ahead(c);
    if (s->inner)
        return row / 8 * 8 * width + chunk * 8 * c->w->span +
               row % 8 * c->w->span;
    return (chunk * s->slot_rows + row) * c->w->span;
}

/* Returns box x of page q. */
static box box_of(const copy *c, int64_t q, int64_t x)
{
    const world *w = c->w;
    const side *s = side_at(c);
    int64_t chunks = chunks_of(w, s->cols);
    int64_t rows = rows_of_box(c);
    int64_t group = s->fold ? 0 : x / chunks * rows;
    int64_t chunk = s->fold ? 0 : x % chunks;
    int64_t depth = first_column(c);
    int64_t head = w->cache.head_page ? 0 : c->of.head;
    int64_t row =
        (int32_t)(groat__cache_row(&w->cache, c->table, c->of.sequence,
                                   first_key_of(c) + q * s->page_rows) +
                  (uint32_t)c->of.head * (uint32_t)w->cache.view[0].head_rows);
    box b = {place_of(c, q * s->page_rows + group, chunk),
             rows * w->span * (s->fold ? chunks : 1),
             {0}};

    if (q >= valid_pages(c))
        row = -s->page_rows;
    row += group;
    if (!s->fold) {
        b.at[0] = depth + chunk * elements_of_span(w);
        b.at[1] = head;
        b.at[2] = row;
    } else if (!s->inner) {
        b.at[1] = row;
        b.at[2] = depth / elements_of_span(w);
        b.at[3] = head;
    } else {
        b.at[2] = depth / elements_of_span(w);
        b.at[3] = row / 8;
        b.at[4] = head;
    }
    return b;
}

/* Puts one span of a row into the slot's image. */
static void land_row(const copy *c, const unsigned char *data, int64_t row,
                     int64_t head, int64_t column, int64_t to,
                     unsigned char *image)
{
    for (int64_t i = 0; i < c->w->span; i += 16)
        groat__cache_read(&c->w->cache, data, c->plane, row, head,
                          column * c->w->elem_bytes + i, 16,
                          image + groat__cache_swizzle(to + i, c->w->span));
}

/* Puts a box into the image: its elements are contiguous, the first dimension
 * fastest. */
static void land(const copy *c, const unsigned char *data, const box *b,
                 unsigned char *image)
{
    const side *s = side_at(c);
    int64_t span = c->w->span;
    int64_t chunk = elements_of_span(c->w);
    int64_t chunks = s->fold ? chunks_of(c->w, s->cols) : 1;
    int64_t rows = rows_of_box(c);

    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < chunks; j++) {
            if (!s->fold)
                land_row(c, data, b->at[2] + r, b->at[1], b->at[0],
                         b->offset + r * span, image);
            else if (!s->inner)
                land_row(c, data, b->at[1] + r, b->at[3],
                         (b->at[2] + j) * chunk,
                         b->offset + (j * rows + r) * span, image);
            else
                land_row(c, data, b->at[3] * 8 + r, b->at[4],
                         (b->at[2] + j) * chunk,
                         b->offset + ((r / 8 * chunks + j) * 8 + r % 8) * span,
                         image);
        }
}

/* Puts all boxes of one copy into the image. */
static void land_copy(const copy *c, const unsigned char *data,
                      unsigned char *image)
{
    int64_t pages = written_pages(c);

    for (int64_t q = 0; q < pages; q++)
        for (int64_t x = 0; x < boxes_of_page(c); x++) {
            box b = box_of(c, q, x);

            land(c, data, &b, image);
        }
}

/* Makes the final image of a block's slot of one side, and counts the rows of
 * each part that were written. */
static void land_tile(const world *w, const uint32_t *table,
                      const unsigned char *data, int plane, const tile *t,
                      unsigned char *image, int64_t *rows)
{
    const side *s = &w->side[plane];

    memset(image, POISON, (size_t)(s->part_bytes * s->parts));
    for (int64_t part = 0; part < s->parts; part++) {
        copy c = {w, table, plane, part, *t};
        bool both = w->pair == MULTICAST;

        rows[part] = 0;
        for (c.of.rank = both ? 0 : t->rank; c.of.rank <= (both ? 1 : t->rank);
             c.of.rank++) {
            land_copy(&c, data, image + part * s->part_bytes);
            if (plane == 0 || c.of.rank == t->rank)
                rows[part] += written_pages(&c) * s->page_rows;
        }
    }
}

/* ---- plans --------------------------------------------------------------- */

static int64_t readers_of(const world *w)
{
    return 32 * (w->num_warps - (w->issue == THREADS ? 0 : 1));
}

/* Number of boxes of one side in an issue list. */
static int64_t list_boxes(const world *w, int plane)
{
    copy c = {w, NULL, plane, 0, {0, 0, 0, 0}};

    return pages_of(&w->side[plane]) * boxes_of_page(&c) * w->side[plane].parts;
}

static int64_t block_output(const world *w)
{
    switch (w->entry) {
    case IMAGE:
        return w->side[0].part_bytes + w->side[1].part_bytes * w->side[1].parts;
    case ISSUES:
        return (list_boxes(w, 0) + list_boxes(w, 1)) * LISTED + w->BN * 4;
    default:
        return readers_of(w) * 16;
    }
}

/* Tiles per sequence that fill a device's stream. */
static int64_t stream_tiles(const world *w, const int64_t *v)
{
    int64_t tile_bytes = w->BN * w->cache.dim * w->elem_bytes * v[PLANES];
    int64_t tiles = device_stream_bytes / (v[BATCH] * v[HEADS] * tile_bytes);

    return tiles > 0 ? tiles : 1;
}

static void derive(const groat_spec *spec, const world *w, int64_t *v)
{
    bool on_cpu = groat__host_on_cpu(spec);
    int64_t held = groat__host_value(spec, "ring_bytes") + 2048;

    if (v[BATCH] < 0)
        v[BATCH] = on_cpu ? 2 : 16;
    if (v[HEADS] < 0)
        v[HEADS] = on_cpu ? 2 : 8;
    if (v[TILES] < 0)
        v[TILES] = on_cpu ? 2 : w->entry != STREAM ? 8 : stream_tiles(w, v);
    if (v[KEYS] < 0)
        v[KEYS] =
            v[FIRST_KEY] + v[TILES] * w->BN - (w->partial ? w->BN / 2 + 1 : 0);
    if (v[BLOCKS] < 0)
        v[BLOCKS] =
            on_cpu ? 2
                   : MULTIPROCESSORS * (2 * held <= 232448 ? 2 : 1) / w->halves;
}

static groat_status refuse(groat_error *error, const char *what, int64_t seen,
                           const char *rule, int64_t limit)
{
    return groat__host_refuse(error, FAMILY, what, seen, "%s %lld", rule,
                              (long long)limit);
}

static groat_status check_columns(const world *w, const int64_t *v,
                                  groat_error *error)
{
    int64_t chunk = elements_of_span(w);
    int64_t padded = chunks_of(w, w->cache.dim) * chunk;

    if (v[K_DEPTH] % chunk != 0)
        return refuse(error, "k_depth", v[K_DEPTH], "it must be a multiple of",
                      chunk);
    if (v[V_DEPTH] % chunk != 0)
        return refuse(error, "v_depth", v[V_DEPTH], "it must be a multiple of",
                      chunk);
    if (v[K_DEPTH] + w->side[0].cols > padded)
        return refuse(error, "k_depth + k_tile_cols",
                      v[K_DEPTH] + w->side[0].cols,
                      "it may not pass the head's columns, which are", padded);
    if (v[V_DEPTH] + w->side[1].cols * w->halves > padded)
        return refuse(error, "v_depth + the columns of all blocks",
                      v[V_DEPTH] + w->side[1].cols * w->halves,
                      "it may not pass the head's columns, which are", padded);
    return GROAT_OK;
}

static groat_status check(const world *w, const int64_t *v, groat_error *error)
{
    int64_t end = v[FIRST_KEY] + v[TILES] * w->BN;

    if (v[FIRST_KEY] % w->alignment != 0)
        return refuse(error, "first_key", v[FIRST_KEY],
                      "it must be a multiple of", w->alignment);
    if (!w->partial && v[KEYS] < end)
        return refuse(error, "keys", v[KEYS],
                      "without partial=1 tiles are whole, so they are at least",
                      end);
    if (v[LAYER] >= v[LAYERS])
        return refuse(error, "layer", v[LAYER], "the last one is",
                      v[LAYERS] - 1);
    if (v[BATCH] * v[HEADS] > GRID_Y_MAX && w->entry != STREAM)
        return refuse(error, "batch * heads", v[BATCH] * v[HEADS],
                      "the blocks in y are at most", GRID_Y_MAX);
    if (end > INT32_MAX || v[BATCH] * v[HEADS] * v[TILES] > INT32_MAX / 2)
        return refuse(error, "tiles", v[TILES],
                      "keys and tiles are counted up to", INT32_MAX / 2);
    return check_columns(w, v, error);
}

static groat_status look(const groat_spec *spec, const int64_t *v, world *w,
                         groat_error *error)
{
    int64_t end;

    constants(spec, w);
    w->v = v;
    w->side[0].depth = v[K_DEPTH];
    w->side[1].depth = v[V_DEPTH];
    w->cache.batch = v[BATCH];
    w->cache.keys = v[KEYS];
    end = v[FIRST_KEY] + v[TILES] * w->BN;
    w->cache.room = end > v[KEYS] ? end : v[KEYS];
    w->cache.planes = v[PLANES];
    w->cache.layers = v[LAYERS];
    w->cache.layer = v[LAYER];
    w->cache.heads = v[HEADS];
    w->cache.head_page = v[HEAD_PAGE];
    w->cache.row_bytes = v[ROW_BYTES] < 0 ? 0 : v[ROW_BYTES];
    w->cache.stride = v[STRIDE] < 0 ? 0 : v[STRIDE];
    w->cache.pitch = v[PITCH] < 0 ? 0 : v[PITCH];
    return groat__cache_plan(&w->cache, FAMILY, error);
}

/* Returns the box of one side's tensor map. */
static groat_kv_box map_box(const world *w, int plane)
{
    static const groat_swizzle swizzles[] = {
        GROAT_SWIZZLE_NONE,
        GROAT_SWIZZLE_32, [3] = GROAT_SWIZZLE_64, [7] = GROAT_SWIZZLE_128};
    const side *s = &w->side[plane];
    groat_kv_box b = GROAT_KV_BOX_INIT;

    b.form = s->fold ? GROAT_KV_FOLDED : GROAT_KV_BASE;
    b.order = s->inner ? GROAT_KV_CHUNK_INNER : GROAT_KV_CHUNK_OUTER;
    b.swizzle = swizzles[w->span / 16 - 1];
    b.page = (unsigned)w->cache.page;
    b.tile_rows = (unsigned)s->rows;
    b.tile_cols = (unsigned)s->cols;
    b.slot_rows = (unsigned)s->slot_rows;
    return b;
}

/* Refuses strides that no tensor map of this form can have, before there is
 * memory to make a map of. */
static groat_status check_maps(const world *w, groat_error *error)
{
    groat_kv_cache cache = w->cache.cache;
    groat_status status = GROAT_OK;

    cache.address = 4096; /* any that is aligned */
    for (int plane = 0; plane < 2 && w->issue != THREADS; plane++) {
        groat_kv_box b = map_box(w, plane);
        groat_tensor tensor = GROAT_TENSOR_INIT;

        if (status == GROAT_OK)
            status =
                groat_kv_tensor(&cache, (unsigned)plane,
                                (unsigned)w->cache.layer, &b, &tensor, error);
    }
    return status;
}

static int64_t blocks_of(const world *w, const int64_t *v)
{
    return w->entry == STREAM ? v[BLOCKS] * w->halves
                              : v[TILES] * w->halves * v[BATCH] * v[HEADS];
}

/* Elements of a head that a copy brings; the columns past them are zeros. */
static int64_t columns_inside(const copy *c)
{
    int64_t left = c->w->cache.dim - first_column(c);
    int64_t cols = side_at(c)->cols;

    return left < 0 ? 0 : left < cols ? left : cols;
}

/* Bytes of K and V that a launch must read: pages that hold keys. */
static uint64_t bytes_read(const world *w)
{
    int64_t elements = 0;

    for (int64_t b = 0; b < w->cache.batch; b++)
        for (int64_t t = 0; t < w->v[TILES]; t++)
            for (int plane = 0; plane < 2; plane++) {
                const side *s = &w->side[plane];
                copy c = {w, NULL, plane, 0, {b, 0, 0, 0}};

                c.of.first = w->v[FIRST_KEY] + t * w->BN;
                for (c.part = 0; c.part < s->parts; c.part++)
                    for (c.of.rank = 0; c.of.rank < w->halves; c.of.rank++)
                        elements +=
                            valid_pages(&c) * s->page_rows * columns_inside(&c);
            }
    return (uint64_t)(elements * w->elem_bytes * w->cache.heads);
}

static groat_status plan(const groat_spec *spec, const int64_t *values,
                         groat_plan *p, groat_error *error)
{
    static const char *const outputs[] = {"images", "issues", "sums"};
    int64_t *v = p->values;
    groat_status status;
    world w;

    memcpy(v, values, VALUES * sizeof(v[0]));
    constants(spec, &w);
    derive(spec, &w, v);
    status = check(&w, v, error);
    if (status == GROAT_OK)
        status = look(spec, v, &w, error);
    if (status == GROAT_OK)
        status = check_maps(&w, error);
    if (status != GROAT_OK)
        return status;
    v[PITCH] = w.cache.pitch;
    v[STRIDE] = w.cache.stride;
    v[ROW_BYTES] = w.cache.row_bytes;
    p->buffer_count = 4;
    p->buffers[CACHE] =
        (groat_buffer){.name = "cache", .bytes = (size_t)w.cache.bytes};
    p->buffers[TABLE] = (groat_buffer){
        .name = "page_table", .bytes = (size_t)w.cache.table_entries * 4};
    p->buffers[LENGTHS] =
        (groat_buffer){.name = "lengths", .bytes = (size_t)v[BATCH] * 4};
    p->buffers[OUTPUT] =
        (groat_buffer){.name = outputs[w.entry],
                       .bytes = (size_t)(blocks_of(&w, v) * block_output(&w)),
                       .output = true};
    p->grid[0] =
        (unsigned)((w.entry == STREAM ? v[BLOCKS] : v[TILES]) * w.halves);
    p->grid[1] = w.entry == STREAM ? 1 : (unsigned)(v[BATCH] * v[HEADS]);
    p->grid[2] = 1;
    p->args_bytes = sizeof(struct paged_row_indices_args);
    p->moved_bytes =
        (w.entry == ISSUES ? 0 : bytes_read(&w)) + p->buffers[OUTPUT].bytes;
    return GROAT_OK;
}

static void fill(const groat_spec *spec, const groat_plan *p, size_t index,
                 uint64_t seed, void *data)
{
    world w;

    (void)look(spec, p->values, &w, NULL);
    if (index == CACHE)
        groat__cache_fill(&w.cache, seed, data);
    else if (index == TABLE)
        groat__cache_fill_table(&w.cache, seed, data);
    else
        groat__cache_fill_lengths(&w.cache, data);
}

static groat_status bind(groat_context *context, const groat_spec *spec,
                         groat_plan *p, const uint64_t *addresses,
                         groat_error *error)
{
    struct paged_row_indices_args args = {0};
    groat_kv_cache cache;
    groat_status status;
    world w;

    (void)context;
    status = look(spec, p->values, &w, error);
    cache = w.cache.cache;
    cache.address = addresses[CACHE];
    for (int plane = 0; plane < 2 && w.issue != THREADS; plane++) {
        groat_kv_box b = map_box(&w, plane);

        if (status == GROAT_OK)
            status = groat_kv_tensor_map(
                spec, &cache, (unsigned)plane, (unsigned)w.cache.layer, &b,
                plane == 0 ? &args.k_map : &args.v_map, error);
    }
    if (status != GROAT_OK)
        return status;
    args.page_table = addresses[TABLE];
    args.lengths = addresses[LENGTHS];
    args.k_cache = addresses[CACHE] + w.cache.view[0].address;
    args.v_cache = addresses[CACHE] + w.cache.view[1].address;
    args.output = addresses[OUTPUT];
    args.batch = (unsigned)w.v[BATCH];
    args.heads = (unsigned)w.v[HEADS];
    args.tiles = (unsigned)w.v[TILES];
    args.first_key = (unsigned)w.v[FIRST_KEY];
    args.keys = (unsigned)w.v[KEYS];
    args.pitch = (unsigned)w.cache.pitch;
    args.stride = (unsigned)w.cache.view[0].block_rows;
    args.head_rows = (unsigned)w.cache.view[0].head_rows;
    args.row_bytes = (unsigned)w.cache.row_bytes;
    args.head_bytes = (unsigned)groat__cache_head_bytes(&w.cache);
    args.head_page = (unsigned)w.v[HEAD_PAGE];
    args.k_depth = (unsigned)w.v[K_DEPTH];
    args.v_depth = (unsigned)w.v[V_DEPTH];
    args.blocks = (unsigned)w.v[BLOCKS];
    args.planes = (unsigned)w.v[PLANES];
    args.layers = (unsigned)w.v[LAYERS];
    args.layer = (unsigned)w.v[LAYER];
    args.rows = (unsigned)w.cache.view[0].rows;
    memcpy(p->args, &args, sizeof(args));
    return GROAT_OK;
}

/* ---- expected output ----------------------------------------------------- */

static void put32(unsigned char *to, int64_t value)
{
    uint32_t word = (uint32_t)value;

    memcpy(to, &word, 4);
}

/* Writes a block's list: issued boxes, zeros for the others, and the row of
 * each key. */
static void expect_list(const world *w, const uint32_t *table, const tile *t,
                        unsigned char *to)
{
    unsigned char *at = to;

    memset(to, 0, (size_t)block_output(w));
    for (int plane = 0; plane < 2; plane++)
        for (int64_t part = 0; part < w->side[plane].parts; part++) {
            copy c = {w, table, plane, part, *t};
            int64_t each = boxes_of_page(&c);

            for (int64_t i = 0; i < written_pages(&c) * each; i++) {
                box b = box_of(&c, i / each, i % each);

                put32(at + i * LISTED,
                      b.offset + part * w->side[plane].part_bytes);
                for (int k = 0; k < 5; k++)
                    put32(at + i * LISTED + 4 + 4 * k, b.at[k]);
                put32(at + i * LISTED + 24, b.bytes);
                put32(at + i * LISTED + 28, 1);
            }
            at += pages_of(&w->side[plane]) * each * LISTED;
        }
    for (int64_t key = 0; key < w->BN; key++)
        put32(at + 4 * key,
              groat__cache_row(&w->cache, table, t->sequence, t->first + key) +
                  (uint32_t)t->head * (uint32_t)w->cache.view[0].head_rows);
}

static void expect_blocks(const world *w, const void *const *inputs,
                          unsigned char *data)
{
    int64_t rows[8];

    for (int64_t x = 0; x < w->v[TILES] * w->halves; x++)
        for (int64_t y = 0; y < w->v[BATCH] * w->v[HEADS]; y++) {
            tile t = {y / w->v[HEADS], y % w->v[HEADS],
                      w->v[FIRST_KEY] + x / w->halves * w->BN, x % w->halves};
            unsigned char *to =
                data + (x * (w->v[BATCH] * w->v[HEADS]) + y) * block_output(w);

            if (w->entry == ISSUES) {
                expect_list(w, inputs[TABLE], &t, to);
                continue;
            }
            land_tile(w, inputs[TABLE], inputs[CACHE], 0, &t, to, rows);
            land_tile(w, inputs[TABLE], inputs[CACHE], 1, &t,
                      to + w->side[0].part_bytes, rows);
        }
}

/* XORs the bytes that a tile's copies wrote onto the sums of a block. */
static void fold_tile(const world *w, int plane, const unsigned char *image,
                      const int64_t *rows, unsigned char *sums)
{
    const side *s = &w->side[plane];
    int64_t chunks = chunks_of(w, s->slot_cols);

    for (int64_t part = 0; part < s->parts; part++) {
        const unsigned char *slot = image + part * s->part_bytes;

        if (s->inner)
            groat__host_fold(slot, rows[part] * chunks * w->span, readers_of(w),
                             sums);
        else
            for (int64_t j = 0; j < chunks; j++)
                groat__host_fold(slot + j * s->slot_rows * w->span,
                                 rows[part] * w->span, readers_of(w), sums);
    }
}

static groat_status expect_sums(const world *w, const void *const *inputs,
                                unsigned char *sums, groat_error *error)
{
    int64_t items = w->v[BATCH] * w->v[TILES] * w->v[HEADS];
    unsigned char *image = malloc((size_t)w->slot_bytes);
    int64_t rows[8];

    if (image == NULL)
        return groat__host_starve(error, FAMILY, "a tile");
    memset(sums, 0, (size_t)(blocks_of(w, w->v) * block_output(w)));
    for (int64_t i = 0; i < items * w->halves; i++) {
        int64_t item = i / w->halves;
        int64_t of_sequence = item / w->v[HEADS];
        tile t = {of_sequence / w->v[TILES], item % w->v[HEADS],
                  w->v[FIRST_KEY] + of_sequence % w->v[TILES] * w->BN,
                  i % w->halves};
        int64_t block = item % w->v[BLOCKS] * w->halves + t.rank;

        for (int plane = 0; plane < 2; plane++) {
            land_tile(w, inputs[TABLE], inputs[CACHE], plane, &t, image, rows);
            fold_tile(w, plane, image, rows, sums + block * block_output(w));
        }
    }
    free(image);
    return GROAT_OK;
}

static groat_status expect(const groat_spec *spec, const groat_plan *p,
                           const void *const *inputs, size_t index, void *data,
                           groat_error *error)
{
    groat_status status;
    world w;

    (void)index;
    status = look(spec, p->values, &w, error);
    if (status != GROAT_OK)
        return status;
    if (w.entry == STREAM)
        return expect_sums(&w, inputs, data, error);
    expect_blocks(&w, inputs, data);
    return GROAT_OK;
}

/* Checks that lengths are as planned and that blocks exist. */
static groat_status check_inputs(const groat_spec *spec, const groat_plan *p,
                                 const void *const *inputs, groat_error *error)
{
    const uint32_t *lengths = inputs[LENGTHS];
    const uint32_t *table = inputs[TABLE];
    groat_status status;
    world w;

    status = look(spec, p->values, &w, error);
    for (int64_t b = 0; b < w.v[BATCH] && status == GROAT_OK; b++) {
        int64_t length = groat__cache_length(&w.cache, b);

        if (lengths[b] != length)
            return groat__host_refuse(error, "paged_row_indices", "a length",
                                      lengths[b],
                                      "sequence %lld has %lld keys here",
                                      (long long)b, (long long)length);
        if (w.cache.from == GROAT__CACHE_PAGED)
            status = groat__host_check_pages(table + b * w.cache.pitch, length,
                                             w.cache.page, w.cache.blocks,
                                             "paged_row_indices", error);
    }
    return status;
}

const groat_driver groat_driver_paged_row_indices = {
    "paged_row_indices", arguments, plan, fill, bind, expect, NULL,
    check_inputs,
};
