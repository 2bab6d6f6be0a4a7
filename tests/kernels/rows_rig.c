/* SPDX-License-Identifier: Apache-2.0
 *
 * rows_rig.c runs specs of paged_row_indices and has the closed forms of their
 * output: the source of every byte of a slot, key by key from the page table.
 * The driver of `groat run` walks over boxes instead, so each image is
 * computed three ways.
 */
#include "tests/kernels/rows_rig.h"

enum { POISON = 0xCD };

groat_context *rows_context;
static char cache[200];

void rows_share(void)
{
    make_folder(cache, sizeof(cache));
}

void rows_unshare(void)
{
    remove_folder(cache);
}

void rows_open(void)
{
    groat_options options = GROAT_OPTIONS_INIT;
    groat_error error = GROAT_ERROR_INIT;

    options.cache_dir = cache;
    ck_assert_msg(groat_open(&options, &rows_context, &error) == GROAT_OK, "%s",
                  error.text);
}

void rows_close(void)
{
    groat_close(rows_context);
    rows_context = NULL;
}

const char *rows_target(void)
{
    const char *target = getenv("GROAT_TEST_TARGET");

    return target == NULL ? "cpu:sm_90a" : target;
}

const groat_driver *rows_driver(void)
{
    return groat_driver_find(ROWS_FAMILY);
}

uint64_t rows_number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL || *text == '\0' ? otherwise : strtoull(text, NULL, 0);
}

uint64_t rows_seed(void)
{
    return rows_number("GROAT_TEST_SEED", 20260000);
}

int64_t rows_constant(const drive *d, const char *name)
{
    int64_t value = 0;
    groat_error error = GROAT_ERROR_INIT;

    ck_assert_msg(groat_spec_get(d->spec, name, &value, &error) == GROAT_OK,
                  "%s", error.text);
    return value;
}

int64_t rows_argument(const drive *d, const char *name)
{
    return drive_argument(d, name);
}

void rows_run(const char *constants, const char *arguments, const rows_how *how,
              drive *d)
{
    rows_run_on(rows_target(), constants, arguments, how, d);
}

void rows_run_on(const char *target, const char *constants,
                 const char *arguments, const rows_how *how, drive *d)
{
    int64_t values[GROAT_DRIVER_ARGS];
    char spec[ROWS_SPEC];

    (void)snprintf(spec, sizeof(spec), ROWS_FAMILY ":%s", constants);
    /* Sizes of cpu targets: a device's defaults are much larger. */
    drive_values(rows_driver(), values, "batch=2 heads=2 tiles=2 blocks=2 %s",
                 arguments);
    drive_open(d, rows_context, rows_driver(), spec, target, values);
    drive_fill(d, how->seed);
    for (size_t i = 0; i < d->plan.buffer_count && how->alter != NULL; i++)
        if (!d->plan.buffers[i].output)
            how->alter(how->user, d, i, d->host[i]);
    drive_run(d);
    drive_ck_right(d);
}

/* ---- lists --------------------------------------------------------------- */

/* The words of block (x, y). */
const int32_t *rows_words(const drive *d, int64_t x, int64_t y)
{
    int64_t blocks_y = rows_argument(d, "batch") * rows_argument(d, "heads");
    int64_t blocks = (int64_t)d->plan.grid[0] * d->plan.grid[1];
    size_t bytes = d->plan.buffers[OUTPUT].bytes / (size_t)blocks;

    return (const int32_t *)((const unsigned char *)d->host[OUTPUT] +
                             (size_t)(x * blocks_y + y) * bytes);
}

/* Room in the list for the boxes of K, or of V (all parts). */
int64_t rows_boxes(const drive *d, bool v)
{
    int64_t rows = rows_constant(d, v ? "v_tile_rows" : "k_tile_rows");
    int64_t parts = v ? rows_constant(d, "v_sub_tiles") : 1;
    int64_t chunk = rows_constant(d, "chunk");
    int64_t chunks =
        (rows_constant(d, v ? "v_tile_cols" : "k_tile_cols") + chunk - 1) /
        chunk;
    int64_t box = rows_constant(d, v ? "v_box_rows" : "k_box_rows");

    return rows / box *
           (rows_constant(d, v ? "v_fold" : "k_fold") ? 1 : chunks) * parts;
}

/* The rows of all keys, at the end of a block's list. */
const uint32_t *rows_of_keys(const drive *d, int64_t x, int64_t y)
{
    return (const uint32_t *)(rows_words(d, x, y) +
                              (rows_boxes(d, false) + rows_boxes(d, true)) *
                                  ROWS_LISTED);
}

/* ---- closed forms -------------------------------------------------------- */

/* Offset of byte `col` of a row in a slot of `rows` rows and `width` bytes. */
static int64_t place_of(int64_t inner, int64_t span, int64_t row, int64_t col,
                        int64_t rows, int64_t width)
{
    int64_t cc = col % span;
    int64_t atom = inner ? (row / 8 * (width / span) + col / span) * 8 * span +
                               row % 8 * span
                         : col / span * rows * span + row * span;

    switch (span) {
    case 128:
        return atom + (((cc >> 4) ^ (row & 7)) << 4) + (cc & 15);
    case 64:
        return atom + (((cc >> 4) ^ ((row >> 1) & 3)) << 4) + (cc & 15);
    case 32:
        return atom + (((cc >> 4) ^ ((row >> 2) & 1)) << 4) + (cc & 15);
    default:
        return atom + cc;
    }
}

/* A plane of the cache, in rows.  Filled once per slot, because look-ups by
 * name are slow and bytes are many. */
typedef struct source {
    const unsigned char *bytes;
    const uint32_t *table;
    int64_t page, from, dim_bytes;
    int64_t heads, pitch, stride, row_bytes;
    int64_t tokens;     /* per block */
    int64_t layer_rows; /* per block, plane and layer */
    int64_t ahead;      /* rows of a block before the plane's layer */
    int64_t end;        /* rows of the cache's first layer and plane */
    bool head_page;
} source;

static int64_t tokens_of_block(const drive *d, const source *s)
{
    if (s->page > 0)
        return s->page;
    /* Packed but for the stride, which these tests then leave alone. */
    return s->stride /
           (rows_argument(d, "planes") * rows_argument(d, "layers") *
            (s->head_page ? s->heads : 1));
}

static source source_of(const drive *d, int64_t plane)
{
    source s = {.bytes = d->host[CACHE], .table = d->host[TABLE]};
    int64_t blocks;

    s.page = rows_constant(d, "page_size");
    s.from = rows_constant(d, "from");
    s.dim_bytes = rows_constant(d, "head_dim") * rows_constant(d, "elem_bytes");
    s.heads = rows_argument(d, "heads");
    s.pitch = rows_argument(d, "pitch");
    s.stride = rows_argument(d, "stride");
    s.row_bytes = rows_argument(d, "row_bytes");
    s.head_page = rows_argument(d, "head_page") != 0;
    s.tokens = tokens_of_block(d, &s);
    s.layer_rows = s.tokens * (s.head_page ? s.heads : 1);
    s.ahead = ((rows_argument(d, "planes") == 1 ? 0 : plane) *
                   rows_argument(d, "layers") +
               rows_argument(d, "layer")) *
              s.layer_rows;
    blocks = (int64_t)d->plan.buffers[CACHE].bytes / (s.stride * s.row_bytes);
    s.end = (blocks - 1) * s.stride + s.layer_rows;
    return s;
}

/* Returns the row of `head` of key `key`, or NULL behind the cache's end: its
 * last row is the last token of the last block. */
static const unsigned char *source_row(const source *s, int64_t sequence,
                                       int64_t head, int64_t key)
{
    int64_t block = s->from == PAGED
                        ? s->table[sequence * s->pitch + key / s->page]
                    : s->from == CONTINUOUS ? s->table[sequence]
                    : s->from == CONTIGUOUS ? sequence
                                            : 0;
    int64_t token = s->from == PAGED    ? key % s->page
                    : s->from == RAGGED ? s->table[sequence] + key
                                        : key;
    int64_t row =
        block * s->stride + (s->head_page ? head * s->tokens : 0) + token;

    if (row >= s->end)
        return NULL;
    return s->bytes + (row + s->ahead) * s->row_bytes +
           (s->head_page ? 0 : head * s->dim_bytes);
}

/* One slot of a block: keys [first, first + rows) of a sequence, placed `ahead`
 * rows into the slot. */
typedef struct slot {
    bool v;
    int64_t sequence, head, first, rows, ahead;
    int64_t cols, chunks_ahead, depth; /* bytes; spans; bytes */
} slot;

static int64_t length_of(const drive *d, int64_t sequence)
{
    return ((const uint32_t *)d->host[LENGTHS])[sequence];
}

/* Returns how many of the slot's keys are copied, in whole
 * pages. */
static int64_t copied(const drive *d, const slot *s)
{
    int64_t page = rows_constant(d, "page_size");
    int64_t box = page > 0 && page < s->rows ? page : s->rows;
    int64_t left = length_of(d, s->sequence) - s->first;

    if (!rows_constant(d, "partial"))
        return s->rows;
    left = left <= 0 ? 0 : (left + box - 1) / box * box;
    return left < s->rows ? left : s->rows;
}

static void fill_slot(const drive *d, const slot *s, unsigned char *image)
{
    int64_t span = rows_constant(d, "swizzle");
    int64_t chunk = rows_constant(d, "chunk");
    int64_t slot_cols = rows_constant(d, s->v ? "v_slot_cols" : "k_tile_cols");
    int64_t width = (slot_cols + chunk - 1) / chunk * span;
    int64_t slot_rows = rows_constant(d, s->v ? "v_slot_rows" : "k_slot_rows");
    int64_t inner = rows_constant(d, s->v ? "v_layout" : "k_layout");
    bool fill = rows_constant(d, s->v ? "v_fill" : "k_fill") != 0;
    int64_t rows = copied(d, s);
    source from = source_of(d, s->v);

    for (int64_t r = 0; r < s->rows; r++) {
        const unsigned char *row = NULL;

        if (r < rows)
            row = source_row(&from, s->sequence, s->head, s->first + r);
        else if (!fill)
            break;
        for (int64_t b = 0; b < s->cols; b++)
            image[place_of(inner, span, r + s->ahead,
                           s->chunks_ahead * span + b, slot_rows, width)] =
                row == NULL || s->depth + b >= from.dim_bytes
                    ? 0
                    : row[s->depth + b];
    }
}

/* Writes the expected slot of K, or of part `part` of V, of a block. */
static void expect_slot(const drive *d, bool v, int64_t part, int64_t tile,
                        int64_t rank, int64_t y, int blank,
                        unsigned char *image)
{
    int64_t pair = rows_constant(d, "pair");
    int64_t span = rows_constant(d, "swizzle");
    int64_t chunk = rows_constant(d, "chunk");
    int64_t cols = rows_constant(d, v ? "v_tile_cols" : "k_tile_cols");
    int64_t bytes = (cols + chunk - 1) / chunk * span;
    int64_t es = rows_constant(d, "elem_bytes");
    int64_t rows = rows_constant(d, v ? "v_tile_rows" : "k_tile_rows");

    memset(image, blank,
           (size_t)rows_constant(d, v ? "v_sub_bytes" : "k_slot_bytes"));
    for (int64_t by = 0; by < 2; by++) {
        slot s = {v,
                  y / rows_argument(d, "heads"),
                  y % rows_argument(d, "heads"),
                  rows_argument(d, "first_key") + tile * rows_constant(d, "BN"),
                  rows,
                  0,
                  bytes,
                  0,
                  0};

        if (pair == MULTICAST || by == rank) {
            s.first += v ? part * rows : by * rows * (pair != ALONE);
            s.ahead = !v && pair == MULTICAST ? by * rows : 0;
            s.chunks_ahead = v && pair == MULTICAST ? by * (bytes / span) : 0;
            s.depth = rows_argument(d, v ? "v_depth" : "k_depth") * es +
                      (v && pair != ALONE ? by * cols * es : 0);
            fill_slot(d, &s, image);
        }
    }
}

static void check_images(const drive *d)
{
    int64_t halves = rows_constant(d, "halves");
    int64_t k_bytes = rows_constant(d, "k_slot_bytes");
    int64_t v_bytes = rows_constant(d, "v_sub_bytes");
    unsigned char *image = malloc((size_t)(k_bytes + v_bytes));

    ck_assert_ptr_nonnull(image);
    for (int64_t x = 0; x < d->plan.grid[0]; x++)
        for (int64_t y = 0; y < d->plan.grid[1]; y++)
            for (int64_t part = -1; part < rows_constant(d, "v_sub_tiles");
                 part++) {
                const unsigned char *got =
                    (const unsigned char *)rows_words(d, x, y) +
                    (part < 0 ? 0 : k_bytes + part * v_bytes);
                size_t bytes = (size_t)(part < 0 ? k_bytes : v_bytes);

                expect_slot(d, part >= 0, part, x / halves, x % halves, y,
                            POISON, image);
                for (size_t b = 0; b < bytes; b++)
                    if (got[b] != image[b])
                        ck_abort_msg("%s: block %d,%d, part %d, byte %zu is "
                                     "%02x, %02x in closed form",
                                     groat_spec_text(d->spec), (int)x, (int)y,
                                     (int)part, b, got[b], image[b]);
            }
    free(image);
}

/* Checks that the XORs over a tile's slots cover every copied byte once, in
 * groups of 16, in any order.  Of two blocks that have the same tiles one is
 * enough. */
static void check_sums(const drive *d)
{
    const unsigned char *got = d->host[OUTPUT];
    int64_t both = rows_constant(d, "pair") == MULTICAST;
    int64_t block = (int64_t)d->plan.buffers[OUTPUT].bytes / d->plan.grid[0];
    unsigned char want[16] = {0};
    unsigned char sum[16] = {0};
    unsigned char *image = malloc((size_t)rows_constant(d, "slot_bytes"));

    ck_assert_ptr_nonnull(image);
    for (int64_t x = 0; x < d->plan.grid[0]; x += 1 + both)
        for (int64_t b = 0; b < block; b++)
            sum[b % 16] ^= got[x * block + b];
    for (int64_t t = 0; t < rows_argument(d, "tiles"); t++)
        for (int64_t y = 0;
             y < rows_argument(d, "batch") * rows_argument(d, "heads"); y++)
            for (int64_t part = -1; part < rows_constant(d, "v_sub_tiles");
                 part++)
                for (int64_t rank = 0;
                     rank < (both ? 1 : rows_constant(d, "halves")); rank++) {
                    int64_t bytes = rows_constant(d, part < 0 ? "k_slot_bytes"
                                                              : "v_sub_bytes");

                    expect_slot(d, part >= 0, part, t, rank, y, 0, image);
                    for (int64_t b = 0; b < bytes; b++)
                        want[b % 16] ^= image[b];
                }
    free(image);
    ck_assert_msg(memcmp(sum, want, 16) == 0, "%s: the sums differ",
                  groat_spec_text(d->spec));
}

void rows_check(const drive *d)
{
    if (rows_constant(d, "entry") == IMAGE)
        check_images(d);
    else if (rows_constant(d, "entry") == STREAM)
        check_sums(d);
}
