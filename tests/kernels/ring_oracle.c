/* SPDX-License-Identifier: Apache-2.0
 *
 * ring_oracle.c: the tiles, slots, barriers and bytes of ring_rig.h, each
 * computed from its number alone.
 */
#include "tests/kernels/ring_rig.h"

enum { PLANES = 2 };

/* ---- the figures -------------------------------------------------------- */

int64_t ring_divup(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t value_of(groat_spec *spec, const char *name)
{
    groat_error error = GROAT_ERROR_INIT;
    int64_t value = 0;

    if (groat_spec_get(spec, name, &value, &error) != GROAT_OK)
        ck_abort_msg("%s", error.text);
    return value;
}

static void derive(ring_case *c)
{
    c->elem = c->dtype == 2 ? 1 : 2;
    c->g = c->span / c->elem;
    c->wide = ring_divup(c->depth, c->g) * c->g;
    c->ctas = c->mode == RING_SINGLE ? 1 : 2;
    c->halves = c->mode == RING_LOCAL || c->mode == RING_SM100 ? 2 : 1;
    c->parts = c->order == RING_SPLIT ? c->pieces : 1;
    c->m = c->order == RING_SPLIT ? 1 : c->pieces;
    c->k_rows = c->BN / c->halves;
    c->k_cols = c->wide / c->pieces;
    c->v_rows = c->order == RING_SPLIT ? c->BN / 2 : c->BN / c->pieces;
    c->slot = c->k_rows * c->k_cols * c->elem * c->m;
    c->piece = c->slot / c->m;
    c->v_cols = c->piece / c->elem / c->v_rows;
    c->q_rows = c->BM / c->q_tiles;
}

ring_case ring_case_of(groat_spec *spec)
{
    ring_case c = {0};

    c.entry = value_of(spec, "entry");
    c.dtype = value_of(spec, "dtype");
    c.depth = value_of(spec, "depth");
    c.page = value_of(spec, "page_size");
    c.head_page = value_of(spec, "head_page");
    c.mode = value_of(spec, "mode");
    c.order = value_of(spec, "order");
    c.span = value_of(spec, "swizzle");
    c.k_inner = value_of(spec, "k_inner");
    c.v_inner = value_of(spec, "v_inner");
    c.fold = value_of(spec, "fold");
    c.BM = value_of(spec, "BM");
    c.q_tiles = value_of(spec, "q_tiles");
    c.BN = value_of(spec, "BN");
    c.pieces = value_of(spec, "pieces");
    c.slots = value_of(spec, "slots");
    c.cells = value_of(spec, "copies");
    c.count = value_of(spec, "tail");
    c.consumers = value_of(spec, "consumers");
    derive(&c);
    return c;
}

int64_t ring_longest(const ring_case *c)
{
    int64_t most = 0;

    for (int64_t s = 0; s < c->sequences; s++)
        most = c->lengths[s] > most ? c->lengths[s] : most;
    return most;
}

int64_t ring_tiles(const ring_case *c, int64_t keys)
{
    return ring_divup(keys, c->BN);
}

bool ring_is_product(const ring_case *c)
{
    return c->entry == RING_SCORES || c->entry == RING_OUTPUT;
}

/* ---- the order ---------------------------------------------------------- */

int64_t ring_length(const ring_case *c, int64_t count)
{
    return 2 * count * c->parts;
}

ring_tile ring_tile_at(const ring_case *c, int64_t count, int64_t t)
{
    int64_t n = t / c->parts;
    ring_tile r = {n % 2 == 1, n / 2, t % c->parts};

    if (c->order == RING_AHEAD) {
        bool last = n == 2 * count - 1;

        r.values = last || (n > 0 && n % 2 == 0);
        r.tile = last         ? count - 1
                 : n % 2 == 1 ? (n + 1) / 2
                 : n == 0     ? 0
                              : n / 2 - 1;
    } else if (c->order == RING_ONE_Q && n / 4 * 2 + 1 < count) {
        r.values = n % 4 / 2 == 1;
        r.tile = n / 4 * 2 + n % 2;
    }
    return r;
}

/* ---- the cache ---------------------------------------------------------- */

/* Tokens per block. */
static int64_t block_tokens(const ring_case *c)
{
    return c->page > 0 ? c->page : ring_longest(c) + 1;
}

int64_t ring_pages_of(const ring_case *c)
{
    return c->page > 0 ? ring_divup(ring_longest(c), c->page) : 1;
}

static int64_t block_count(const ring_case *c)
{
    return c->sequences * ring_pages_of(c) + c->spare;
}

/* The block of a sequence's page: arbitrary, but distinct. */
int64_t ring_block_of(const ring_case *c, int64_t sequence, int64_t page)
{
    int64_t all = block_count(c);
    int64_t step = 7;

    while (all % step == 0)
        step += 2;
    if (c->page == 0)
        return sequence;
    return ((sequence * ring_pages_of(c) + page) * step + 3) % all;
}

/* Rows of the view from one block to the next. */
int64_t ring_row_stride(const ring_case *c)
{
    return PLANES * c->layers * block_tokens(c) * (c->head_page ? c->heads : 1);
}

int64_t ring_row_bytes(const ring_case *c)
{
    return c->depth * c->elem * (c->head_page ? 1 : c->heads);
}

int64_t ring_cache_bytes(const ring_case *c)
{
    return block_count(c) * ring_row_stride(c) * ring_row_bytes(c);
}

/* Address of row 0 of the view of K or of V. */
int64_t ring_view_of(const ring_case *c, bool values)
{
    return ((values ? c->layers : 0) + c->layer) * block_tokens(c) *
           (c->head_page ? c->heads : 1) * ring_row_bytes(c);
}

/* Rows that the engine may read. */
int64_t ring_view_rows(const ring_case *c)
{
    return (block_count(c) - 1) * ring_row_stride(c) +
           block_tokens(c) * (c->head_page ? c->heads : 1);
}

int64_t ring_row_of(const ring_case *c, int64_t sequence, int64_t head,
                    int64_t key)
{
    if (c->page == 0)
        return sequence * ring_row_stride(c) + key;
    return ring_block_of(c, sequence, key / c->page) * ring_row_stride(c) +
           (c->head_page ? head * c->page : 0) + key % c->page;
}

/* Address of an element of K or V, -1 where zeros are read. */
int64_t ring_address_of(const ring_case *c, bool values, int64_t row,
                        int64_t head, int64_t col)
{
    if (row < 0 || row >= ring_view_rows(c) || col >= c->depth)
        return -1;
    return ring_view_of(c, values) + row * ring_row_bytes(c) +
           ((c->head_page ? 0 : head * c->depth) + col) * c->elem;
}

static uint32_t hash(uint64_t x)
{
    x = (x + 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
    x ^= x >> 29;
    x *= 0x94D049BB133111EBu;
    return (uint32_t)(x >> 32);
}

/* 1 .. 255, so that zeros show. */
unsigned char ring_byte_at(int64_t address)
{
    return (unsigned char)(1 + hash((uint64_t)address) % 255);
}

/* A number from -2 to 2; `what` tells the buffers apart. */
int ring_number_at(uint64_t what, int64_t index)
{
    return (int)(hash(what * 0x1000003 + (uint64_t)index) % 5) - 2;
}

/* ---- bytes of a slot ---------------------------------------------------- */

/* Row and column in the piece of the element at byte b, a multiple of 16. */
static void locate(const ring_case *c, bool values, int64_t b, int64_t *row,
                   int64_t *col)
{
    int64_t rows = values ? c->v_rows : c->k_rows;
    int64_t chunks = (values ? c->v_cols : c->k_cols) / c->g;
    int64_t bits = c->span / 16 - 1;
    int64_t plain = b ^ (b >> 7 & bits) << 4;
    int64_t line = plain / c->span; /* within a chunk */
    int64_t chunk;

    if (values ? c->v_inner : c->k_inner) {
        *row = line / (8 * chunks) * 8 + line % 8;
        chunk = line / 8 % chunks;
    } else {
        *row = line % rows;
        chunk = line / rows;
    }
    *col = chunk * c->g + plain % c->span / c->elem;
}

/* Key and column of the head that piece n of a tile holds there. */
static void source_of(const ring_case *c, const ring_tile *t, int64_t n,
                      int64_t rank, int64_t *key, int64_t *col)
{
    int64_t which = t->part + n;
    int64_t subs = c->BN / c->v_rows;
    int64_t half = c->halves == 2 ? rank : 0;

    if (t->values) {
        *key += which % subs * c->v_rows;
        *col += (which / subs * c->halves + half) * c->v_cols;
    } else {
        *key += half * c->k_rows;
        *col += which * c->k_cols;
    }
}

/* Keys of one box. */
static int64_t box_keys(const ring_case *c, bool values)
{
    int64_t tile = values ? c->v_rows : c->BN / c->ctas;

    return c->page > 0 && c->page < tile ? c->page : tile;
}

/* Returns whether the box with this key of the tile was copied. */
static bool is_there(const ring_case *c, bool values, const ring_spot *at,
                     int64_t key)
{
    int64_t box = c->cells ? 1 : box_keys(c, values);

    return at->first + key / box * box < c->lengths[at->sequence];
}

/* Returns the address of the 16 bytes at byte b of piece n; -1 for zeros, -2
 * for bytes that no copy overwrites. */
static int64_t address_at(const ring_case *c, const ring_tile *t,
                          const ring_spot *at, int64_t n, int64_t rank,
                          int64_t b)
{
    int64_t key;
    int64_t col;

    locate(c, t->values, b, &key, &col);
    source_of(c, t, n, rank, &key, &col);
    if (!is_there(c, t->values, at, key))
        return c->count ? -2 : -1;
    return ring_address_of(
        c, t->values, ring_row_of(c, at->sequence, at->head, at->first + key),
        at->head, col);
}

/* ---- expected outputs -------------------------------------------------- */

/* Block (x, y) of a grid without products. */
typedef struct block {
    const ring_case *c;
    int64_t x, y, rank, count;
    unsigned char *out;
} block;

static ring_spot spot_of(const block *b, int64_t tile)
{
    const ring_case *c = b->c;
    int64_t most = ring_tiles(c, ring_longest(c));
    int64_t n = b->x / c->ctas + tile * c->teams;

    if (c->entry != RING_STREAM)
        return (ring_spot){b->y / c->heads, b->y % c->heads, tile * c->BN};
    return (ring_spot){n / c->heads / most, n % c->heads,
                       n / c->heads % most * c->BN};
}

/* 16 bytes of slot `t % slots` after tile t: the last that were written. */
static void cell_after(const block *b, int64_t t, int64_t n, int64_t byte,
                       unsigned char *to)
{
    for (; t >= 0; t -= b->c->slots) {
        ring_tile tile = ring_tile_at(b->c, b->count, t);
        ring_spot at = spot_of(b, tile.tile);
        int64_t from = address_at(b->c, &tile, &at, n, b->rank, byte);

        if (from == -2)
            continue;
        for (int i = 0; i < 16; i++)
            to[i] = from < 0 ? 0 : ring_byte_at(from + i);
        return;
    }
    memset(to, RING_POISON, 16);
}

/* Counts the piece's bytes that boxes bring to this block. */
static int64_t brought(const ring_case *c, const ring_tile *t,
                       const ring_spot *at, int64_t n, int64_t rank)
{
    int64_t bytes = 0;

    for (int64_t b = 0; b < c->piece; b += 16)
        if (address_at(c, t, at, n, rank, b) != -2)
            bytes += 16;
    return bytes;
}

int64_t ring_expected(const ring_case *c, const ring_tile *t,
                      const ring_spot *at, int64_t n, int64_t rank)
{
    if (c->mode == RING_SM100)
        return brought(c, t, at, n, 0) + brought(c, t, at, n, 1);
    return brought(c, t, at, n, rank);
}

static int64_t query_bytes(const ring_case *c)
{
    return c->BM * c->wide * c->elem;
}

/* Writes all tiles of queries as they lie in shared memory. */
static void expect_queries(const block *b)
{
    const ring_case *c = b->c;
    int64_t tile = c->q_rows * c->wide * c->elem;
    int64_t first = b->y / c->heads * c->queries +
                    (c->mode == RING_LOCAL ? 0 : b->rank) * c->BM;

    for (int64_t at = 0; at < query_bytes(c); at += 16) {
        int64_t in = at % tile;
        int64_t plain = in ^ (in >> 7 & (c->span / 16 - 1)) << 4;
        int64_t row =
            first + at / tile * c->q_rows + plain / c->span % c->q_rows;
        int64_t col =
            plain / (c->span * c->q_rows) * c->g + plain % c->span / c->elem;
        int64_t from =
            ((row * c->heads * c->group + b->y % c->heads) * c->depth + col) *
            c->elem;

        for (int64_t i = 0; i < 16; i++)
            b->out[at + i] = col < c->depth && row < c->sequences * c->queries
                                 ? ring_byte_at(from + i)
                                 : 0;
    }
}

static void expect_image(const block *b)
{
    const ring_case *c = b->c;

    if (b->count > 0)
        expect_queries(b);
    for (int64_t t = 0; t < ring_length(c, b->count); t++)
        for (int64_t at = 0; at < c->slot; at += 16)
            cell_after(b, t, at / c->piece, at % c->piece,
                       b->out + query_bytes(c) + t * c->slot + at);
}

static void expect_sum(const block *b)
{
    const ring_case *c = b->c;
    int64_t threads = c->consumers * 32;
    unsigned char cell[16];

    memset(b->out, 0, (size_t)threads * 16);
    for (int64_t t = 0; t < ring_length(c, b->count); t++)
        for (int64_t at = 0; at < c->slot; at += 16) {
            cell_after(b, t, at / c->piece, at % c->piece, cell);
            for (int i = 0; i < 16; i++)
                b->out[at % c->piece / 16 % threads * 16 + i] ^= cell[i];
        }
}

static void put_record(unsigned char *to, const int64_t *words)
{
    for (int i = 0; i < 8; i++) {
        uint32_t word = (uint32_t)words[i];

        memcpy(to + 4 * i, &word, 4);
    }
}

static void expect_trace(const block *b)
{
    const ring_case *c = b->c;

    for (int64_t t = 0; t < ring_length(c, b->count); t++)
        for (int64_t n = 0; n < c->m; n++) {
            ring_tile tile = ring_tile_at(c, b->count, t);
            ring_spot at = spot_of(b, tile.tile);
            int64_t full = c->m * (t % c->slots) + n;
            int64_t bytes = ring_expected(c, &tile, &at, n, b->rank);

            if (t == 0)
                bytes += query_bytes(c) / c->q_tiles / c->m *
                         (c->mode == RING_SM100 ? 2 : 1);
            put_record(b->out + (t * c->m + n) * RING_RECORD,
                       (const int64_t[]){tile.values, tile.tile, tile.part + n,
                                         t % c->slots, full,
                                         c->slots * c->m + full,
                                         1 ^ (t / c->slots & 1), bytes});
        }
}

/* ---- the list of boxes -------------------------------------------------- */

ring_boxes ring_boxes_of(const ring_case *c, const ring_tile *t, int64_t n,
                         int64_t rank)
{
    bool shared = c->mode == RING_MULTICAST;
    ring_boxes x = {.inner = t->values ? c->v_inner : c->k_inner};
    int64_t page = box_keys(c, t->values);

    x.keys = t->values ? c->v_rows : c->BN / c->ctas;
    x.cols = !t->values ? c->k_cols : shared ? c->v_cols / 2 : c->v_cols;
    if (shared && t->values)
        x.right = rank * x.cols;
    else if (shared)
        x.down = rank * x.keys;
    source_of(c, t, n, rank, &x.first, &x.col);
    x.first += x.down;
    x.col += x.right;
    x.pages = x.keys / page;
    x.groups = x.inner && !c->fold ? page / 8 : 1;
    x.rows = page / x.groups;
    x.chunks = c->fold ? 1 : x.cols / c->g;
    return x;
}

/* Boxes per piece that the list has room for. */
static int64_t list_room(const ring_case *c)
{
    int64_t room = 0;

    for (int kind = 0; kind < 2; kind++) {
        ring_tile t = {kind == 1, 0, 0};
        ring_boxes x = ring_boxes_of(c, &t, 0, 0);
        int64_t count = x.pages * x.groups * x.chunks;

        room = count > room ? count : room;
    }
    return room;
}

static void expect_box(const block *b, const ring_boxes *x,
                       const ring_tile *tile, int64_t index, int64_t bar,
                       unsigned char *to)
{
    const ring_case *c = b->c;
    ring_spot at = spot_of(b, tile->tile);
    int64_t chunk = index % x->chunks;
    int64_t group = index / x->chunks % x->groups;
    int64_t page = index / x->chunks / x->groups;
    int64_t page_keys = x->rows * x->groups;
    int64_t key = x->first + page * page_keys;
    bool there = at.first + key < c->lengths[at.sequence];
    int64_t row = (there ? ring_row_of(c, at.sequence, at.head, at.first + key)
                         : -page_keys) +
                  group * x->rows;
    int64_t down = x->down + page * page_keys + group * x->rows;
    int64_t right = x->right / c->g + chunk;
    int64_t lines =
        x->inner
            ? down * ((tile->values ? c->v_cols : c->k_cols) / c->g) + right * 8
            : right * (tile->values ? c->v_rows : c->k_rows) + down;
    int64_t head = c->head_page ? 0 : at.head;
    int64_t col = x->col + chunk * c->g;
    int64_t words[8] = {bar / c->m * c->slot + bar % c->m * c->piece +
                            lines * c->span,
                        x->rows * c->span * (c->fold ? x->cols / c->g : 1),
                        bar,
                        col,
                        head,
                        row};

    if (!there && c->count)
        return;
    if (c->fold && x->inner) {
        words[3] = words[4] = 0;
        words[5] = col / c->g;
        words[6] = row >= 0 ? row / 8 : -((7 - row) / 8);
        words[7] = head;
    } else if (c->fold) {
        words[3] = 0;
        words[4] = row;
        words[5] = col / c->g;
        words[6] = head;
    }
    put_record(to, words);
}

static void expect_issues(const block *b)
{
    const ring_case *c = b->c;
    int64_t room = list_room(c);

    for (int64_t t = 0; t < ring_length(c, b->count); t++)
        for (int64_t n = 0; n < c->m; n++) {
            ring_tile tile = ring_tile_at(c, b->count, t);
            ring_boxes x = ring_boxes_of(c, &tile, n, b->rank);

            for (int64_t i = 0; i < x.pages * x.groups * x.chunks; i++)
                expect_box(b, &x, &tile, i, t % c->slots * c->m + n,
                           b->out + ((t * c->m + n) * room + i) * RING_RECORD);
        }
}

/* ---- products ----------------------------------------------------------- */

int64_t ring_product_rows(const ring_case *c)
{
    return c->sequences * c->heads * c->group * c->queries;
}

static int64_t key_number(const ring_case *c, bool values, int64_t sequence,
                          int64_t head, int64_t key, int64_t col)
{
    return ring_number_at(
        1, ring_address_of(c, values, ring_row_of(c, sequence, head, key), head,
                           col));
}

/* Element of Q in row (sequence, head, query). */
static int64_t query_at(const ring_case *c, int64_t row, int64_t col)
{
    int64_t heads = c->heads * c->group;
    int64_t query = row % c->queries;
    int64_t head = row / c->queries % heads;
    int64_t sequence = row / c->queries / heads;

    return ((sequence * c->queries + query) * heads + head) * c->depth + col;
}

static int64_t weight_at(const ring_case *c, int64_t row, int64_t key)
{
    return row * ring_tiles(c, ring_longest(c)) * c->BN + key;
}

static void expect_product(const ring_case *c, float *out)
{
    int64_t per_sequence = c->heads * c->group * c->queries;
    int64_t wide = ring_tiles(c, ring_longest(c)) * c->BN;

    for (int64_t row = 0; row < ring_product_rows(c); row++) {
        int64_t s = row / per_sequence;
        int64_t h = row % per_sequence / c->queries / c->group;
        int64_t cols = c->entry == RING_SCORES ? c->lengths[s] : c->wide;
        int64_t terms = c->entry == RING_SCORES ? c->depth : c->lengths[s];

        for (int64_t col = 0; col < cols; col++) {
            int64_t sum = 0;

            for (int64_t i = 0; i < terms; i++)
                if (c->entry == RING_SCORES)
                    sum += ring_number_at(2, query_at(c, row, i)) *
                           key_number(c, false, s, h, col, i);
                else if (col < c->depth)
                    sum += ring_number_at(3, weight_at(c, row, i)) *
                           key_number(c, true, s, h, i, col);
            out[row * (c->entry == RING_SCORES ? wide : c->wide) + col] =
                (float)sum;
        }
    }
}

/* ---- launches ----------------------------------------------------------- */

static int64_t block_bytes(const ring_case *c)
{
    int64_t length = ring_length(c, ring_tiles(c, ring_longest(c)));

    switch (c->entry) {
    case RING_IMAGE:
        return query_bytes(c) + length * c->slot;
    case RING_STREAM:
        return c->consumers * 32 * 16;
    default:
        return length * c->m * RING_RECORD *
               (c->entry == RING_ISSUES ? list_room(c) : 1);
    }
}

void ring_grid_of(const ring_case *c, unsigned grid[3])
{
    int64_t tiles = c->BM == 0 ? 1 : ring_divup(c->queries, c->BM);

    grid[1] = (unsigned)(c->sequences * c->heads *
                         (ring_is_product(c) ? c->group : 1));
    grid[0] = (unsigned)c->ctas;
    if (c->entry == RING_STREAM) {
        grid[0] = (unsigned)(c->ctas * c->teams);
        grid[1] = 1;
    } else if (ring_is_product(c)) {
        grid[0] = (unsigned)(c->mode == RING_LOCAL
                                 ? 2 * tiles
                                 : ring_divup(tiles, c->ctas) * c->ctas);
    }
    grid[2] = 1;
}

size_t ring_output_bytes(const ring_case *c)
{
    unsigned grid[3];

    ring_grid_of(c, grid);
    if (c->entry == RING_SCORES)
        return (size_t)(ring_product_rows(c) * ring_tiles(c, ring_longest(c)) *
                        c->BN * 4);
    if (c->entry == RING_OUTPUT)
        return (size_t)(ring_product_rows(c) * c->wide * 4);
    return (size_t)(grid[0] * grid[1] * block_bytes(c));
}

void ring_expect(const ring_case *c, unsigned char *out)
{
    static void (*const expect[])(const block *) = {expect_image, expect_trace,
                                                    expect_issues, expect_sum};
    unsigned grid[3];
    int64_t all = c->sequences * c->heads * ring_tiles(c, ring_longest(c));

    if (ring_is_product(c)) {
        expect_product(c, (float *)(void *)out);
        return;
    }
    ring_grid_of(c, grid);
    for (int64_t n = 0; n < grid[0] * grid[1]; n++) {
        block b = {.c = c, .x = n % grid[0], .y = n / grid[0]};

        b.rank = b.x % c->ctas;
        b.count = c->entry == RING_STREAM
                      ? ring_divup(all - b.x / c->ctas, c->teams)
                      : ring_tiles(c, c->lengths[b.y / c->heads]);
        b.out = out + n * block_bytes(c);
        expect[c->entry](&b);
    }
}
