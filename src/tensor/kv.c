/* SPDX-License-Identifier: Apache-2.0
 *
 * kv.c describes a KV cache as the tensors that kernels copy out of it: the
 * rows of a plane of a layer, and the box of each form.  tensor.c has the rules
 * of tensors; here are the rules of the cache, of its tiles and of the slots
 * that the tiles are copied to.  Holds no state.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "tensor/tensor.h"

enum {
    ROW_GROUP = 8,         /* rows of one swizzle pattern              */
    COPY_UNIT = 128,       /* alignment of a box in shared memory      */
    PHASE_BYTES = 1 << 20, /* an mbarrier counts fewer bytes per phase */
    COORDINATE_BITS = 31,  /* a coordinate is signed                   */
    STRIDE_UNIT = 16
};

/* Bytes from one element to the next in each dimension. */
typedef struct strides {
    uint64_t block, plane, layer, token, head;
} strides;

/* Values derived from a box; the letters are those of groat_tensor.h. */
typedef struct tiling {
    uint64_t span;  /* bytes */
    uint64_t chunk; /* g     */
    uint64_t cols;
    uint64_t chunks;
    uint64_t slot_rows;
    uint64_t page_rows; /* r */
    uint64_t rows;      /* of a box */
} tiling;

/* "kv cache: page is 0; allowed: ...". */
static groat_status refuse(const char *field, uint64_t seen,
                           const char *allowed, groat_error *error)
{
    return groat__fail(error, GROAT_INVALID, "kv %s is %llu; allowed: %s",
                       field, (unsigned long long)seen, allowed);
}

/* The same with a number in what is allowed. */
static groat_status refuse_for(const char *field, uint64_t seen,
                               groat_error *error, const char *format, ...)
    GROAT_PRINTF(4, 5);
static groat_status refuse_for(const char *field, uint64_t seen,
                               groat_error *error, const char *format, ...)
{
    groat__str allowed = {0};
    va_list args;

    va_start(args, format);
    groat__str_addv(&allowed, format, args);
    va_end(args);
    (void)refuse(field, seen, allowed.failed ? "" : allowed.data, error);
    groat__str_free(&allowed);
    return GROAT_INVALID;
}

/* ---- the cache ----------------------------------------------------------- */

static uint64_t or_packed(uint64_t given, uint64_t packed)
{
    return given != 0 ? given : packed;
}

static strides strides_of(const groat_kv_cache *c)
{
    uint64_t vector = (uint64_t)c->dim * c->elem_bytes;
    strides s;

    if (c->layout == GROAT_KV_PAGE_HEAD) {
        s.head = or_packed(c->head_stride, vector);
        s.token = or_packed(c->token_stride, groat__product(c->heads, s.head));
        s.layer = or_packed(c->layer_stride, groat__product(c->page, s.token));
    } else {
        s.token = or_packed(c->token_stride, vector);
        s.head = or_packed(c->head_stride, groat__product(c->page, s.token));
        s.layer = or_packed(c->layer_stride, groat__product(c->heads, s.head));
    }
    s.plane = or_packed(c->plane_stride, groat__product(c->layers, s.layer));
    s.block = or_packed(c->block_stride, groat__product(c->planes, s.plane));
    return s;
}

static groat_status check_counts(const groat_kv_cache *c, groat_error *error)
{
    if ((unsigned)c->layout > GROAT_KV_HEAD_PAGE)
        return refuse("cache: layout", (unsigned)c->layout,
                      "GROAT_KV_PAGE_HEAD (0), GROAT_KV_HEAD_PAGE (1)", error);
    if (c->elem_bytes != 1 && c->elem_bytes != 2 && c->elem_bytes != 4 &&
        c->elem_bytes != 8)
        return refuse("cache: elem_bytes", c->elem_bytes, "1, 2, 4 or 8",
                      error);
    if (c->planes != 1 && c->planes != 2)
        return refuse("cache: planes", c->planes,
                      "2 (K and V) or 1 (both in one)", error);
    if (c->blocks == 0)
        return refuse("cache: blocks", 0, "1 or more", error);
    if (c->layers == 0)
        return refuse("cache: layers", 0, "1 or more", error);
    if (c->page == 0)
        return refuse("cache: page", 0, "1 or more tokens of a block", error);
    if (c->heads == 0)
        return refuse("cache: heads", 0, "1 or more", error);
    if (c->dim == 0 || (uint64_t)c->dim * c->elem_bytes % STRIDE_UNIT != 0)
        return refuse_for("cache: dim", c->dim, error,
                          "multiples of %u, 16 bytes, not 0",
                          STRIDE_UNIT / c->elem_bytes);
    if (c->address == 0 || c->address % STRIDE_UNIT != 0)
        return refuse("cache: address", c->address, "multiples of 16, not 0",
                      error);
    return GROAT_OK;
}

/* A dimension of a cache, for the check of its strides. */
typedef struct extent {
    const char *field;
    uint64_t stride;
    uint64_t count;
} extent;

enum { EXTENTS = 5 };

/* Bytes that the dimensions with smaller strides than that of e[at] span. */
static uint64_t reach_below(const extent *e, size_t at, uint64_t vector)
{
    uint64_t bytes = vector;

    for (size_t i = 0; i < EXTENTS; i++)
        if (e[i].stride < e[at].stride ||
            (e[i].stride == e[at].stride && i < at))
            bytes =
                groat__sum(bytes, groat__product(e[i].count - 1, e[i].stride));
    return bytes;
}

/* Refuses the innermost dimension whose bytes, all of its elements together,
 * cannot be counted: the packed stride of the next one out would overflow. */
static groat_status check_size(const extent *e, groat_error *error)
{
    for (size_t i = 0; i + 1 < EXTENTS; i++)
        if (groat__product(e[i].count, e[i].stride) == UINT64_MAX)
            return refuse_for(
                e[i].field, e[i].stride, error,
                "%llu bytes or less, as there are %llu of these",
                (unsigned long long)((UINT64_MAX - 1) / e[i].count),
                (unsigned long long)e[i].count);
    return GROAT_OK;
}

static groat_status check_strides(const groat_kv_cache *c, const strides *s,
                                  groat_error *error)
{
    const extent head = {"cache: head_stride", s->head, c->heads};
    const extent token = {"cache: token_stride", s->token, c->page};
    const bool head_first = c->layout == GROAT_KV_PAGE_HEAD;
    const extent extents[EXTENTS] = {
        head_first ? head : token,
        head_first ? token : head,
        {"cache: layer_stride", s->layer, c->layers},
        {"cache: plane_stride", s->plane, c->planes},
        {"cache: block_stride", s->block, c->blocks},
    };
    uint64_t vector = (uint64_t)c->dim * c->elem_bytes;

    if (check_size(extents, error) != GROAT_OK)
        return GROAT_INVALID;
    for (size_t i = 0; i < EXTENTS; i++)
        if (extents[i].stride % STRIDE_UNIT != 0)
            return refuse(extents[i].field, extents[i].stride,
                          "multiples of 16, 0: packed", error);
    for (size_t i = 0; i < EXTENTS; i++) {
        uint64_t least = reach_below(extents, i, vector);

        if (extents[i].count > 1 && extents[i].stride < least)
            return refuse_for(extents[i].field, extents[i].stride, error,
                              "%llu or more, or elements would share bytes",
                              (unsigned long long)least);
    }
    return GROAT_OK;
}

/* Row coordinates require that blocks, and heads if they are part of the row,
 * lie a whole number of rows apart. */
static groat_status check_rows(const groat_kv_cache *c, const strides *s,
                               groat_error *error)
{
    if (c->blocks > 1 && s->block % s->token != 0)
        return refuse_for("cache: block_stride", s->block, error,
                          "whole rows, multiples of token_stride, which is "
                          "%llu",
                          (unsigned long long)s->token);
    if (c->layout == GROAT_KV_HEAD_PAGE && c->heads > 1 &&
        s->head % s->token != 0)
        return refuse_for("cache: head_stride", s->head, error,
                          "whole rows, multiples of token_stride, which is "
                          "%llu",
                          (unsigned long long)s->token);
    if (c->layout == GROAT_KV_PAGE_HEAD && c->heads > 1 && c->page > 1 &&
        s->head > s->token)
        return refuse_for("cache: head_stride", s->head, error,
                          "at most token_stride, which is %llu, in PAGE_HEAD",
                          (unsigned long long)s->token);
    return GROAT_OK;
}

static uint64_t rows_of(const groat_kv_cache *c, const groat_kv_view *v)
{
    uint64_t heads = c->layout == GROAT_KV_HEAD_PAGE
                         ? groat__product(c->heads - 1, v->head_rows)
                         : 0;

    return groat__sum(
        groat__sum(groat__product(c->blocks - 1, v->block_rows), heads),
        c->page);
}

groat_status groat__kv_check(const groat_kv_cache *c, unsigned plane,
                             unsigned layer, groat_error *error)
{
    groat_status status =
        groat__check_size(error, "cache", "groat_kv_cache", c, sizeof(*c));

    if (status == GROAT_OK)
        status = check_counts(c, error);
    if (status != GROAT_OK)
        return status;
    if (plane > GROAT_KV_VALUES)
        return refuse("plane", plane, "GROAT_KV_KEYS (0), GROAT_KV_VALUES (1)",
                      error);
    if (layer >= c->layers)
        return refuse_for("layer", layer, error, "0 to %u", c->layers - 1);
    return GROAT_OK;
}

/* Gets the checked view of a cache of less than `most` rows, and its strides.
 */
static groat_status look(const groat_kv_cache *c, unsigned plane,
                         unsigned layer, uint64_t most, groat_kv_view *view,
                         strides *s, groat_error *error)
{
    groat_status status = groat__kv_check(c, plane, layer, error);
    uint64_t reach;

    if (status != GROAT_OK)
        return status;
    *s = strides_of(c);
    status = check_strides(c, s, error);
    if (status == GROAT_OK)
        status = check_rows(c, s, error);
    if (status != GROAT_OK)
        return status;
    view->address =
        groat__sum(groat__sum(c->address, c->planes > 1 ? plane * s->plane : 0),
                   groat__product(layer, s->layer));
    view->block_rows = s->block / s->token;
    view->head_rows = c->layout == GROAT_KV_HEAD_PAGE ? s->head / s->token : 0;
    view->rows = rows_of(c, view);
    if (view->rows >= most)
        return refuse("rows, from the first block's to the last one's,",
                      view->rows, "less than 2147483648, a signed coordinate",
                      error);
    /* With one key a page, heads may lie farther apart than blocks. */
    reach = groat__sum(groat__product(c->heads - 1, s->head),
                       groat__sum(groat__product(c->page - 1, s->token),
                                  groat__product(c->blocks - 1, s->block)));
    if (groat__sum(view->address, groat__product(view->rows, s->token)) ==
            UINT64_MAX ||
        groat__sum(view->address, groat__sum(reach, s->token)) == UINT64_MAX)
        return refuse("cache: address", c->address,
                      "addresses such that the plane ends below 2^64", error);
    return GROAT_OK;
}

groat_status groat_kv_view_get(const groat_kv_cache *cache, unsigned plane,
                               unsigned layer, groat_kv_view *view,
                               groat_error *error)
{
    groat_kv_view seen;
    groat_status status =
        groat__check_size(error, "view", "groat_kv_view", view, sizeof(*view));
    strides s;

    if (status != GROAT_OK)
        return status;
    seen.size = view->size;
    status = look(cache, plane, layer, (uint64_t)1 << COORDINATE_BITS, &seen,
                  &s, error);
    if (status == GROAT_OK)
        *view = seen;
    return status;
}

groat_status groat__kv_plane_get(const groat_kv_cache *cache, unsigned plane,
                                 unsigned layer, groat__kv_plane *out,
                                 groat_error *error)
{
    groat_kv_view view;
    groat_status status;
    strides s;

    status = look(cache, plane, layer, UINT64_MAX, &view, &s, error);
    if (status == GROAT_OK)
        *out = (groat__kv_plane){view.address, s.block, s.token, s.head,
                                 cache->planes > 1 ? s.plane : 0};
    return status;
}

/* ---- tiles ----------------------------------------------------------------
 */

/* For a box whose swizzle, and a cache whose elem_bytes, were checked. */
static tiling tiling_of(const groat_kv_cache *c, const groat_kv_box *b)
{
    tiling t;

    t.span = (uint64_t)16 << b->swizzle;
    t.chunk = t.span / c->elem_bytes;
    t.cols = b->tile_cols != 0 ? b->tile_cols
                               : (c->dim + t.chunk - 1) / t.chunk * t.chunk;
    t.chunks = t.cols / t.chunk;
    t.slot_rows = b->slot_rows != 0 ? b->slot_rows : b->tile_rows;
    t.page_rows =
        b->page > 0 && b->page < b->tile_rows ? b->page : b->tile_rows;
    t.rows = b->rows != 0 ? b->rows
             : b->order == GROAT_KV_CHUNK_INNER && b->form != GROAT_KV_FOLDED
                 ? ROW_GROUP
                 : t.page_rows;
    return t;
}

static bool folds_cols(const groat_kv_cache *c, const tiling *t)
{
    return t->cols % t->chunk == 0 && t->chunks >= 2 && c->dim % t->cols == 0;
}

static bool folds_rows(const groat_kv_box *b, uint64_t rows, const tiling *t)
{
    if (b->order == GROAT_KV_CHUNK_INNER)
        return rows % ROW_GROUP == 0;
    return rows == t->slot_rows && (b->page == 0 || b->page >= rows);
}

unsigned groat_kv_fold(const groat_kv_cache *cache, const groat_kv_box *box)
{
    uint64_t rows;
    tiling t;

    if (cache == NULL || box == NULL || cache->elem_bytes == 0 ||
        cache->elem_bytes > 16 || cache->dim == 0 ||
        (unsigned)box->swizzle > GROAT_SWIZZLE_128)
        return 1;
    t = tiling_of(cache, box);
    rows = box->rows != 0 ? box->rows : t.page_rows;
    return folds_cols(cache, &t) && folds_rows(box, rows, &t)
               ? (unsigned)t.chunks
               : 1;
}

static groat_status check_choices(const groat_kv_box *b, groat_error *error)
{
    if ((unsigned)b->form > GROAT_KV_FLAT)
        return refuse("box: form", (unsigned)b->form,
                      "GROAT_KV_BASE (0), _FOLDED (1), _FLAT (2)", error);
    if ((unsigned)b->order > GROAT_KV_CHUNK_INNER)
        return refuse("box: order", (unsigned)b->order,
                      "GROAT_KV_CHUNK_OUTER (0), _CHUNK_INNER (1)", error);
    if ((unsigned)b->swizzle > GROAT_SWIZZLE_128)
        return refuse("box: swizzle", (unsigned)b->swizzle,
                      "GROAT_SWIZZLE_NONE (0), _32 (1), _64 (2), _128 (3)",
                      error);
    if (b->form == GROAT_KV_FLAT && b->order == GROAT_KV_CHUNK_INNER &&
        b->swizzle != GROAT_SWIZZLE_NONE && b->swizzle != GROAT_SWIZZLE_128)
        return refuse("box: swizzle", (unsigned)b->swizzle,
                      "GROAT_SWIZZLE_NONE (0), _128 (3) of a FLAT box in "
                      "CHUNK_INNER order",
                      error);
    return GROAT_OK;
}

static groat_status check_page(const groat_kv_cache *c, const groat_kv_box *b,
                               groat_error *error)
{
    if (b->page != 0 && b->page != c->page)
        return refuse_for("box: page", b->page, error,
                          "%u, the cache's, or 0, not paged", c->page);
    if (b->tile_rows == 0 || b->tile_rows % ROW_GROUP != 0)
        return refuse("box: tile_rows", b->tile_rows, "multiples of 8, not 0",
                      error);
    if (b->page != 0 && b->tile_rows % b->page != 0 &&
        b->page % b->tile_rows != 0)
        return refuse_for("box: tile_rows", b->tile_rows, error,
                          "what divides the page of %u or is divided by it, "
                          "or a tile would straddle pages",
                          b->page);
    if (b->form == GROAT_KV_FLAT && b->page != 0 && b->page < b->tile_rows)
        return refuse_for("box: tile_rows", b->tile_rows, error,
                          "at most the page of %u, in the FLAT form", b->page);
    if (b->order == GROAT_KV_CHUNK_INNER && b->page % ROW_GROUP != 0)
        return refuse("box: page", b->page,
                      "multiples of 8 in CHUNK_INNER order", error);
    if (b->order == GROAT_KV_CHUNK_INNER && b->form == GROAT_KV_FOLDED &&
        b->page == 0)
        return refuse("box: page", b->page,
                      "the cache's, where a FOLDED box takes groups of 8 rows",
                      error);
    return GROAT_OK;
}

static groat_status check_tile(const groat_kv_cache *c, const groat_kv_box *b,
                               const tiling *t, groat_error *error)
{
    uint64_t padded = (c->dim + t->chunk - 1) / t->chunk * t->chunk;

    if (t->cols % t->chunk != 0 || t->cols > padded)
        return refuse_for("box: tile_cols", t->cols, error,
                          "whole chunks of %llu elements, at most %llu, the "
                          "dim of %u rounded up",
                          (unsigned long long)t->chunk,
                          (unsigned long long)padded, c->dim);
    if (t->slot_rows % ROW_GROUP != 0 || t->slot_rows < b->tile_rows)
        return refuse_for("box: slot_rows", t->slot_rows, error,
                          "multiples of 8 from tile_rows, which is %u, on",
                          b->tile_rows);
    if (groat__product(groat__product(b->tile_rows, t->cols), c->elem_bytes) >=
        PHASE_BYTES)
        return refuse("bytes of a tile, tile_rows * tile_cols * elem_bytes,",
                      groat__product(groat__product(b->tile_rows, t->cols),
                                     c->elem_bytes),
                      "less than 1048576, what a barrier can expect", error);
    return GROAT_OK;
}

static groat_status check_box_rows(const groat_kv_box *b, const tiling *t,
                                   groat_error *error)
{
    bool grouped =
        b->order == GROAT_KV_CHUNK_INNER && b->form != GROAT_KV_FOLDED;
    uint64_t wanted = grouped ? ROW_GROUP : t->page_rows;

    /* With one chunk, both orders are the same. */
    if (t->rows != wanted && !(t->chunks == 1 && t->rows == t->page_rows))
        return refuse_for("box: rows", t->rows, error,
                          "%llu, the rows of a copy",
                          (unsigned long long)wanted);
    if (t->rows > 256)
        return refuse("box: rows", t->rows, "at most 256, what a box may have",
                      error);
    if (t->page_rows < b->tile_rows && t->rows * t->span % COPY_UNIT != 0)
        return refuse_for("box: rows", t->rows, error,
                          "multiples of %llu with spans of %llu bytes: a copy "
                          "lands at multiples of 128 bytes",
                          (unsigned long long)(COPY_UNIT / t->span),
                          (unsigned long long)t->span);
    return GROAT_OK;
}

static groat_status check_fold(const groat_kv_cache *c, const groat_kv_box *b,
                               const tiling *t, groat_error *error)
{
    if (b->form != GROAT_KV_FOLDED)
        return GROAT_OK;
    if (!folds_cols(c, t))
        return refuse_for("box: tile_cols", t->cols, error,
                          "two chunks of %llu elements or more that divide "
                          "the dim of %u, in the FOLDED form",
                          (unsigned long long)t->chunk, c->dim);
    if (!folds_rows(b, t->rows, t))
        return refuse_for("box: rows", t->rows, error,
                          "%llu, all rows of the slot, in the FOLDED form and "
                          "CHUNK_OUTER order",
                          (unsigned long long)t->slot_rows);
    return GROAT_OK;
}

/* The FOLDED and FLAT forms need strides that not every cache has. */
static groat_status check_form(const groat_kv_cache *c, const groat_kv_box *b,
                               const groat_kv_view *v, const strides *s,
                               groat_error *error)
{
    if (b->form == GROAT_KV_FOLDED && b->order == GROAT_KV_CHUNK_INNER) {
        if (c->blocks > 1 && v->block_rows % ROW_GROUP != 0)
            return refuse("cache: rows from block to block", v->block_rows,
                          "multiples of 8, in the FOLDED form and CHUNK_INNER "
                          "order",
                          error);
        if (c->heads > 1 && v->head_rows % ROW_GROUP != 0)
            return refuse("cache: rows from head to head", v->head_rows,
                          "multiples of 8, in the FOLDED form and CHUNK_INNER "
                          "order",
                          error);
    }
    if (b->form == GROAT_KV_FLAT && c->layout == GROAT_KV_PAGE_HEAD &&
        c->heads > 1 && s->head != (uint64_t)c->dim * c->elem_bytes)
        return refuse_for("cache: head_stride", s->head, error,
                          "%llu, heads side by side, in the FLAT form",
                          (unsigned long long)c->dim * c->elem_bytes);
    return GROAT_OK;
}

static groat_status check_box(const groat_kv_cache *c, const groat_kv_box *b,
                              const groat_kv_view *v, const strides *s,
                              groat_error *error)
{
    groat_status status =
        groat__check_size(error, "box", "groat_kv_box", b, sizeof(*b));
    tiling t;

    if (status == GROAT_OK)
        status = check_choices(b, error);
    if (status == GROAT_OK)
        status = check_page(c, b, error);
    if (status != GROAT_OK)
        return status;
    t = tiling_of(c, b);
    status = check_tile(c, b, &t, error);
    if (status == GROAT_OK)
        status = check_box_rows(b, &t, error);
    if (status == GROAT_OK)
        status = check_fold(c, b, &t, error);
    return status == GROAT_OK ? check_form(c, b, v, s, error) : status;
}

/* ---- tensors --------------------------------------------------------------
 */

static void add_dim(groat_tensor *t, uint64_t count, uint64_t stride,
                    uint64_t box)
{
    if (t->rank > 0)
        t->strides[t->rank - 1] = stride;
    t->dims[t->rank] = count;
    t->box[t->rank++] = (unsigned)box;
}

/* The dimensions of the table in groat_tensor.h, fastest first. */
static void describe(const groat_kv_cache *c, const groat_kv_box *b,
                     const groat_kv_view *v, const strides *s, groat_tensor *t)
{
    const tiling g = tiling_of(c, b);
    bool one_head = c->layout == GROAT_KV_HEAD_PAGE;
    uint64_t heads = one_head ? 1 : c->heads;
    uint64_t head =
        one_head || c->heads == 1 ? (uint64_t)c->dim * c->elem_bytes : s->head;

    t->address = v->address;
    t->elem_bytes = c->elem_bytes;
    t->swizzle = b->swizzle;
    if (b->form == GROAT_KV_FLAT) {
        add_dim(t, heads * c->dim, 0, g.chunk);
        add_dim(t, v->rows, s->token, g.rows);
    } else if (b->form == GROAT_KV_BASE) {
        add_dim(t, c->dim, 0, g.chunk);
        add_dim(t, heads, head, 1);
        add_dim(t, v->rows, s->token, g.rows);
    } else if (b->order == GROAT_KV_CHUNK_OUTER) {
        add_dim(t, g.chunk, 0, g.chunk);
        add_dim(t, v->rows, s->token, g.rows);
        add_dim(t, c->dim / g.chunk, g.span, g.chunks);
        add_dim(t, heads, head, 1);
    } else {
        add_dim(t, g.chunk, 0, g.chunk);
        add_dim(t, ROW_GROUP, s->token, ROW_GROUP);
        add_dim(t, c->dim / g.chunk, g.span, g.chunks);
        add_dim(t, v->rows / ROW_GROUP, groat__product(ROW_GROUP, s->token),
                g.rows / ROW_GROUP);
        add_dim(t, heads, head, 1);
    }
}

groat_status groat_kv_tensor(const groat_kv_cache *cache, unsigned plane,
                             unsigned layer, const groat_kv_box *box,
                             groat_tensor *out, groat_error *error)
{
    groat_tensor tensor;
    groat_kv_view view;
    groat_status status =
        groat__check_size(error, "out", "groat_tensor", out, sizeof(*out));
    strides s;

    if (status == GROAT_OK)
        status = look(cache, plane, layer, (uint64_t)1 << COORDINATE_BITS,
                      &view, &s, error);
    if (status == GROAT_OK)
        status = check_box(cache, box, &view, &s, error);
    if (status != GROAT_OK)
        return status;
    memset(&tensor, 0, sizeof(tensor));
    tensor.size = out->size;
    describe(cache, box, &view, &s, &tensor);
    status = groat__tensor_check(&tensor, error);
    if (status == GROAT_OK)
        *out = tensor;
    return status;
}
