/* SPDX-License-Identifier: Apache-2.0
 *
 * walk.c reimplements what a block of kv_producer_pipeline does: it steps
 * through the ring, slot by slot and phase by phase, and copies the boxes of
 * each piece, page by page and chunk by chunk, to where the swizzle of address
 * bits puts them.
 * Owns the order of tiles and boxes; host.c owns the buffers.
 * Invariant: nothing here is shared with the kernel.  Locking: none, no state.
 */
#include "walk.h"

#include <stdlib.h>
#include <string.h>

enum { SLOT_POISON = 0xEE, RECORD = 32 };

groat__walk_shape groat__walk_shape_of(const groat_spec *spec)
{
    groat__walk_shape s;

#define ASK(name) s.name = groat__host_value(spec, #name)
    ASK(entry);
    ASK(dtype);
    ASK(elem_bytes);
    ASK(depth);
    ASK(padded_depth);
    ASK(page_size);
    ASK(head_page);
    ASK(mode);
    ASK(order);
    ASK(swizzle);
    ASK(granule);
    ASK(k_inner);
    ASK(v_inner);
    ASK(fold);
    ASK(ctas);
    ASK(halves);
    ASK(BM);
    ASK(q_tiles);
    ASK(q_rows);
    ASK(q_bytes);
    ASK(BN);
    ASK(parts);
    ASK(pieces);
    ASK(ring_pieces);
    ASK(k_rows);
    ASK(k_cols);
    ASK(v_rows);
    ASK(v_cols);
    ASK(slot_bytes);
    ASK(kv_bytes);
    ASK(slots);
    ASK(consumers);
    ASK(ring_at);
#undef ASK
    s.cells = groat__host_value(spec, "copies") == 1;
    s.zeros = groat__host_value(spec, "tail") == 0;
    return s;
}

/* 32-byte records per piece: one, or one for each of its boxes. */
static int64_t records_of(const groat__walk_shape *s)
{
    int64_t k_tile = s->ctas == 2 ? s->BN / 2 : s->BN;
    int64_t v_cols = s->mode == PAIR_MULTICAST ? s->v_cols / 2 : s->v_cols;
    int64_t p = s->page_size;
    int64_t k_box = p > 0 && p < k_tile ? p : k_tile;
    int64_t v_box = p > 0 && p < s->v_rows ? p : s->v_rows;
    int64_t k = k_tile / k_box, v = s->v_rows / v_box;

    if (s->entry != ISSUES)
        return 1;
    if (!s->fold) {
        k *= (s->k_inner ? k_box / 8 : 1) * s->k_cols / s->granule;
        v *= (s->v_inner ? v_box / 8 : 1) * v_cols / s->granule;
    }
    return k > v ? k : v;
}

int64_t groat__walk_bytes(const groat__walk_shape *s, const int64_t *v)
{
    int64_t steps = 2 * tiles_of(s, v[NUM_KEYS]) * s->parts;

    if (s->entry == STREAM)
        return s->consumers * 32 * 16;
    if (s->entry == IMAGE)
        return s->ring_at + steps * s->slot_bytes;
    return steps * s->ring_pieces * records_of(s) * RECORD;
}

/* ---- the walk over boxes ------------------------------------------------ */

/* One copy into one slot. */
typedef struct turn {
    bool values;
    int64_t tile, part;
} turn;

typedef struct place {
    int64_t sequence, head, first, keys;
} place;

typedef struct box {
    int64_t index;
    int64_t offset; /* in the piece, before the swizzle */
    int64_t row;    /* of the view; negative: zeros     */
    int64_t col;
    int64_t rows, chunks;
} box;

/* The source and place of a piece, as one block of the cluster copies it. */
typedef struct cut {
    bool inner;
    int64_t first; /* key of the tile */
    int64_t tile, page, cols, col;
    int64_t slot_rows, slot_cols;
    int64_t down, right; /* start of its part of the slot */
} cut;

static cut cut_of(const groat__walk_shape *s, bool values, int64_t which,
                  int64_t rank)
{
    int64_t subs = s->BN / s->v_rows;
    bool shared = s->mode == PAIR_MULTICAST;
    cut p;

    if (!values) {
        p = (cut){.inner = s->k_inner,
                  .first = s->ctas == 2 ? rank * (s->BN / 2) : 0,
                  .tile = s->BN / s->ctas,
                  .cols = s->k_cols,
                  .col = which * s->k_cols,
                  .slot_rows = s->k_rows,
                  .slot_cols = s->k_cols};
        p.down = shared ? p.first : 0;
    } else {
        p = (cut){.inner = s->v_inner,
                  .first = which % subs * s->v_rows,
                  .tile = s->v_rows,
                  .cols = shared ? s->v_cols / 2 : s->v_cols,
                  .slot_rows = s->v_rows,
                  .slot_cols = s->v_cols};
        p.col = which / subs * s->v_cols * s->halves + rank * p.cols;
        p.right = shared ? rank * p.cols : 0;
    }
    p.page = s->page_size > 0 && s->page_size < p.tile ? s->page_size : p.tile;
    if (s->cells) /* each key is a page */
        p.page = 1;
    return p;
}

static int64_t row_of(const groat__walk_scene *c, const place *at, int64_t key)
{
    const groat__walk_shape *s = &c->s;
    int64_t heads = s->head_page ? c->v[KV_HEADS] : 1;
    int64_t page = page_of(s, c->v);
    int64_t stride = 2 * (layer_of(s) + 1) * page * heads;

    if (s->page_size == 0)
        return at->sequence * stride + key;
    return c->table[at->sequence * pitch_of(s, c->v) + key / page] * stride +
           (s->head_page ? at->head * page : 0) + key % page;
}

static int64_t offset_of(const groat__walk_shape *s, const cut *p, int64_t row,
                         int64_t col)
{
    int64_t chunk = col / s->granule;

    row += p->down;
    chunk += p->right / s->granule;
    if (p->inner)
        return ((row / 8 * (p->slot_cols / s->granule) + chunk) * 8 + row % 8) *
               s->swizzle;
    return (chunk * p->slot_rows + row) * s->swizzle;
}

/* Calls take() for each box of a piece that is issued; returns the total of
 * their bytes. */
static int64_t each_box(const groat__walk_scene *c, const cut *p,
                        const place *at, void (*take)(void *user, const box *b),
                        void *user)
{
    const groat__walk_shape *s = &c->s;
    int64_t first = at->first + p->first;
    int64_t rows = p->inner && !s->fold && !s->cells ? 8 : p->page;
    int64_t chunks = s->fold ? p->cols / s->granule : 1;
    int64_t bytes = 0;
    int64_t index = 0;

    for (int64_t q = 0; q < p->tile; q += p->page) {
        bool there = first + q < at->keys;

        for (int64_t r = 0; r < p->page; r += rows)
            for (int64_t col = 0; col < p->cols; col += chunks * s->granule) {
                box b = {.index = index++,
                         .offset = offset_of(s, p, q + r, col),
                         .col = p->col + col,
                         .rows = rows,
                         .chunks = chunks};

                b.row = (there ? row_of(c, at, first + q) : -p->page) + r;
                if (!there && !s->zeros)
                    continue;
                bytes += rows * chunks * s->swizzle;
                if (take != NULL)
                    take(user, &b);
            }
    }
    return bytes;
}

/* Copies boxes as the engine does: zeros for rows and columns out of bounds. */
typedef struct painter {
    const groat__walk_scene *c;
    const cut *p;
    const place *at;
    bool values;
    unsigned char *to; /* the piece */
} painter;

static int64_t swizzled(const groat__walk_shape *s, int64_t byte)
{
    return byte ^ ((byte >> 7 & (s->swizzle / 16 - 1)) << 4);
}

/* Returns a row of the head, or NULL if it is outside of the view. */
static const unsigned char *find_row(const painter *w, int64_t row)
{
    const groat__walk_shape *s = &w->c->s;
    int64_t heads = w->c->v[KV_HEADS];
    int64_t page = page_of(s, w->c->v);
    int64_t layers = layer_of(s) + 1;
    int64_t per_page = page * (s->head_page ? heads : 1);
    int64_t rows = ((blocks_of(s, w->c->v) - 1) * 2 * layers + 1) * per_page;
    int64_t plane = (w->values ? layers : 0) + layer_of(s);

    if (row < 0 || row >= rows)
        return NULL;
    row += plane * per_page;
    if (!s->head_page)
        row = row * heads + w->at->head;
    return w->c->cache + row * s->depth * s->elem_bytes;
}

const unsigned char *groat__walk_key(const groat__walk_scene *c,
                                     int64_t sequence, int64_t head,
                                     bool values, int64_t key)
{
    place at = {sequence, head, 0, c->lengths[sequence]};
    painter w = {.c = c, .at = &at, .values = values};

    return find_row(&w, row_of(c, &at, key));
}

static void paint_cell(const painter *w, const unsigned char *row, int64_t col,
                       int64_t plain)
{
    const groat__walk_shape *s = &w->c->s;
    unsigned char *to = w->to + swizzled(s, plain);
    int64_t byte = col * s->elem_bytes;

    if (row != NULL && col < s->depth)
        memcpy(to, row + byte, 16);
    else
        memset(to, 0, 16);
}

static void paint(void *user, const box *b)
{
    const painter *w = user;
    const groat__walk_shape *s = &w->c->s;
    /* Distances from chunk to chunk and from row group to row group. */
    int64_t next = w->p->inner ? 8 * s->swizzle : w->p->slot_rows * s->swizzle;
    int64_t groups = w->p->slot_cols / s->granule * 8 * s->swizzle;

    for (int64_t r = 0; r < b->rows; r++) {
        const unsigned char *row = find_row(w, b->row + r);
        int64_t at =
            b->offset + (w->p->inner ? r / 8 * groups + r % 8 * s->swizzle
                                     : r * s->swizzle);

        for (int64_t k = 0; k < b->chunks; k++)
            for (int64_t i = 0; i < s->swizzle; i += 16)
                paint_cell(w, row, b->col + k * s->granule + i / s->elem_bytes,
                           at + k * next + i);
    }
}

/* ---- the walk over tiles ------------------------------------------------- */

/* Appends a tile of K or V, part by part. */
static void put(const groat__walk_shape *s, bool values, int64_t tile,
                turn *turns, int64_t *n)
{
    for (int64_t part = 0; part < s->parts; part++)
        turns[(*n)++] = (turn){values, tile, part};
}

/* Lists the tiles of a block in the order of its ring; returns how many. */
static int64_t order_of(const groat__walk_shape *s, int64_t count, turn *turns)
{
    int64_t n = 0;

    for (int64_t i = 0; i < count; i++) {
        bool more = i + 1 < count;

        if (s->order != AHEAD || i == 0)
            put(s, false, i, turns, &n);
        if (more && (s->order == AHEAD || s->order == ONE_Q))
            put(s, false, i + 1, turns, &n);
        put(s, true, i, turns, &n);
        if (more && s->order == ONE_Q)
            put(s, true, ++i, turns, &n);
    }
    return n;
}

/* The state of a ring. */
typedef struct ring {
    const groat__walk_scene *c;
    int64_t rank, slot, parity, step;
    unsigned char *memory;
    unsigned char *output; /* of the block */
} ring;

typedef void take_fn(ring *r, const turn *t, const place *at, int64_t piece);

static void next_slot(ring *r)
{
    r->step++;
    r->slot++;
    if (r->slot == r->c->s.slots) {
        r->slot = 0;
        r->parity ^= 1;
    }
}

/* Place in the ring of a piece of the current slot. */
static int64_t piece_at(const ring *r, int64_t piece)
{
    return r->slot * r->c->s.slot_bytes + piece * r->c->s.kv_bytes;
}

/* Paints the boxes of all blocks that copy into this one. */
static void paint_piece(ring *r, const turn *t, const place *at, int64_t piece)
{
    const groat__walk_shape *s = &r->c->s;
    bool shared = s->mode == PAIR_MULTICAST;

    for (int64_t rank = shared ? 0 : r->rank; rank <= (shared ? 1 : r->rank);
         rank++) {
        cut p = cut_of(s, t->values, t->part + piece, rank);
        painter w = {r->c, &p, at, t->values, r->memory + piece_at(r, piece)};

        (void)each_box(r->c, &p, at, paint, &w);
    }
}

/* Returns tile i of a block. */
static place place_of(const groat__walk_scene *c, int64_t x, int64_t y,
                      int64_t i)
{
    const int64_t *v = c->v;
    place p;

    if (c->s.entry == STREAM) {
        int64_t n = x / c->s.ctas + i * v[TEAMS];
        int64_t most = tiles_of(&c->s, v[NUM_KEYS]);

        p.head = n % v[KV_HEADS];
        p.first = n / v[KV_HEADS] % most * c->s.BN;
        p.sequence = n / v[KV_HEADS] / most;
    } else {
        p.sequence = y / v[KV_HEADS];
        p.head = y % v[KV_HEADS];
        p.first = i * c->s.BN;
    }
    p.keys = c->lengths[p.sequence];
    return p;
}

static int64_t count_of(const groat__walk_scene *c, int64_t x, int64_t y)
{
    const int64_t *v = c->v;
    int64_t all = v[SEQUENCES] * v[KV_HEADS] * tiles_of(&c->s, v[NUM_KEYS]);

    if (c->s.entry == STREAM)
        return divup(all - x / c->s.ctas, v[TEAMS]);
    return tiles_of(&c->s, c->lengths[y / v[KV_HEADS]]);
}

static bool walk_block(const groat__walk_scene *c, int64_t x, int64_t y,
                       ring *r, take_fn *take)
{
    int64_t count = count_of(c, x, y);
    turn *steps = malloc((size_t)(2 * count * c->s.parts + 1) * sizeof(*steps));
    int64_t n = steps == NULL ? 0 : order_of(&c->s, count, steps);

    r->c = c;
    r->rank = x % c->s.ctas;
    r->slot = 0;
    r->parity = 1; /* the producer's */
    r->step = 0;
    if (r->memory != NULL)
        memset(r->memory, SLOT_POISON, (size_t)(c->s.slots * c->s.slot_bytes));
    for (int64_t t = 0; t < n; t++) {
        place at = place_of(c, x, y, steps[t].tile);

        for (int64_t piece = 0; piece < c->s.ring_pieces; piece++)
            take(r, &steps[t], &at, piece);
        next_slot(r);
    }
    free(steps);
    return steps != NULL;
}

/* ---- images, sums and records ------------------------------------------- */

/* Paints the block's queries, one tile after the other. */
static void paint_queries(ring *r, const place *at)
{
    const groat__walk_shape *s = &r->c->s;
    const int64_t *v = r->c->v;
    int64_t first = at->sequence * v[QUERY_COUNT] +
                    (s->mode == PAIR_LOCAL ? 0 : r->rank * s->BM);

    for (int64_t q = 0; q < s->BM; q++)
        for (int64_t b = 0; b < s->padded_depth * s->elem_bytes; b += 16) {
            int64_t in = q % s->q_rows;
            int64_t row = first + q;
            unsigned char *to =
                r->output + q / s->q_rows * s->q_bytes * s->ring_pieces +
                swizzled(s, b / s->swizzle * s->q_rows * s->swizzle +
                                in * s->swizzle + b % s->swizzle);

            if (row < v[SEQUENCES] * v[QUERY_COUNT] &&
                b < s->depth * s->elem_bytes)
                memcpy(to,
                       r->c->queries +
                           (row * query_heads(v) + at->head) * s->depth *
                               s->elem_bytes +
                           b,
                       16);
            else
                memset(to, 0, 16);
        }
}

static void take_image(ring *r, const turn *t, const place *at, int64_t piece)
{
    const groat__walk_shape *s = &r->c->s;

    paint_piece(r, t, at, piece);
    if (r->step == 0 && piece == 0 && s->BM > 0)
        paint_queries(r, at);
    memcpy(r->output + s->ring_at + r->step * s->slot_bytes +
               piece * s->kv_bytes,
           r->memory + piece_at(r, piece), (size_t)s->kv_bytes);
}

static void take_sum(ring *r, const turn *t, const place *at, int64_t piece)
{
    const groat__walk_shape *s = &r->c->s;

    paint_piece(r, t, at, piece);
    groat__host_fold(r->memory + piece_at(r, piece), s->kv_bytes,
                     s->consumers * 32, r->output);
}

static void put_record(const ring *r, int64_t piece, int64_t index,
                       const int64_t *words)
{
    const groat__walk_shape *s = &r->c->s;
    unsigned char *to =
        r->output +
        ((r->step * s->ring_pieces + piece) * records_of(s) + index) * RECORD;

    for (int i = 0; i < 8; i++) {
        uint32_t word = (uint32_t)words[i];

        memcpy(to + i * 4, &word, 4);
    }
}

static void take_step(ring *r, const turn *t, const place *at, int64_t piece)
{
    const groat__walk_shape *s = &r->c->s;
    int64_t full = r->slot * s->ring_pieces + piece;
    bool both = s->mode == PAIR_MULTICAST || s->mode == PAIR_SM100;
    int64_t bytes = r->step == 0 && s->BM > 0
                        ? s->q_bytes * (s->mode == PAIR_SM100 ? 2 : 1)
                        : 0;

    for (int64_t rank = 0; rank < 2; rank++) {
        cut p = cut_of(s, t->values, t->part + piece, rank);

        if (rank == r->rank || both)
            bytes += each_box(r->c, &p, at, NULL, NULL);
    }
    put_record(r, piece, 0,
               (const int64_t[]){t->values, t->tile, t->part + piece, r->slot,
                                 full, s->slots * s->ring_pieces + full,
                                 r->parity, bytes});
}

typedef struct recorder {
    ring *r;
    const place *at;
    int64_t piece;
    bool inner;
} recorder;

static void record(void *user, const box *b)
{
    const recorder *w = user;
    const groat__walk_shape *s = &w->r->c->s;
    int64_t head = s->head_page ? 0 : w->at->head;
    int64_t bar = w->r->slot * s->ring_pieces + w->piece;
    int64_t offset = piece_at(w->r, w->piece) + b->offset;
    int64_t bytes = b->rows * b->chunks * s->swizzle;

    if (!s->fold)
        put_record(
            w->r, w->piece, b->index,
            (const int64_t[]){offset, bytes, bar, b->col, head, b->row, 0, 0});
    else if (!w->inner)
        put_record(w->r, w->piece, b->index,
                   (const int64_t[]){offset, bytes, bar, 0, b->row,
                                     b->col / s->granule, head, 0});
    else
        put_record(w->r, w->piece, b->index,
                   (const int64_t[]){offset, bytes, bar, 0, 0,
                                     b->col / s->granule,
                                     (b->row - (b->row & 7)) / 8, head});
}

static void take_issues(ring *r, const turn *t, const place *at, int64_t piece)
{
    cut p = cut_of(&r->c->s, t->values, t->part + piece, r->rank);
    recorder w = {r, at, piece, p.inner};

    (void)each_box(r->c, &p, at, record, &w);
}

static groat_status expect_blocks(const groat__walk_scene *c,
                                  const groat_plan *p, take_fn *take,
                                  bool painted, unsigned char *data,
                                  groat_error *error)
{
    int64_t bytes = groat__walk_bytes(&c->s, c->v);
    ring r = {.memory = NULL};
    bool done = true;

    if (painted)
        r.memory = malloc((size_t)(c->s.slots * c->s.slot_bytes));
    for (int64_t y = 0; y < p->grid[1]; y++)
        for (int64_t x = 0; x < p->grid[0]; x++) {
            r.output = data + (y * p->grid[0] + x) * bytes;
            done = done && (r.memory != NULL || !painted) &&
                   walk_block(c, x, y, &r, take);
        }
    free(r.memory);
    return done ? GROAT_OK
                : groat__host_starve(error, FAMILY, "the ring of a block");
}

groat_status groat__walk_expect(const groat__walk_scene *c, const groat_plan *p,
                                unsigned char *data, groat_error *error)
{
    switch (c->s.entry) {
    case IMAGE:
        return expect_blocks(c, p, take_image, true, data, error);
    case TRACE:
        return expect_blocks(c, p, take_step, false, data, error);
    case ISSUES:
        return expect_blocks(c, p, take_issues, false, data, error);
    default:
        memset(data, 0, p->buffers[p->buffer_count - 1].bytes);
        return expect_blocks(c, p, take_sum, true, data, error);
    }
}
