/* SPDX-License-Identifier: Apache-2.0
 *
 * st_8x32_oracle.h - an oracle of subtile_loader_st_8x32: loops over each
 * wave, iteration and lane of the loader with its M0 and offset, the bounds
 * dword by dword, and the readers' addresses with the exchange among lanes.
 * It shares nothing with the kernel and the closed forms of host.c.
 */
#ifndef GROAT_TESTS_ST_8X32_ORACLE_H
#define GROAT_TESTS_ST_8X32_ORACLE_H

#include "tests/kernels/known.h"
#include "tests/unit/suite.h"

enum { LANES = 64, POISON = 0xEE, CELL = 0x410, V227_BYTES = 16624 };
enum { IMAGE, FRAGMENTS, STREAM, OUTPUT, ENTRIES };
enum { BF16, F16, FP8, DTYPES };

static const char *const entries[] = {"image", "fragments", "stream", "output"};
static const char *const dtypes[] = {"bf16", "f16", "fp8"};
static const char *const placements[] = {"default", "v227"};

/* ---- a case -------------------------------------------------------------- */

/* A spec's constants, in the order in which the tests read them, and the
 * arguments of a launch. */
typedef struct st_case {
    int64_t entry, dtype, keys, depth, cols, ld, warps, v227, reader, stages;
    int64_t slot; /* 0: the default */
    int64_t valid, soffset, row_tiles, col_tiles, step, queries;
} st_case;

/* Two and a half tiles below each other, two heads side by side in rows that
 * are longer than both. */
static inline st_case base(int64_t entry, int64_t dtype, int64_t v227)
{
    st_case t = {0};

    t.entry = entry;
    t.dtype = dtype;
    t.keys = dtype == FP8 ? 128 : 64;
    t.depth = 128;
    t.cols = 2 * t.depth + 32;
    t.ld = t.cols + 16;
    t.warps = 4;
    t.v227 = t.reader = v227;
    t.stages = 1;
    t.valid = 2 * t.keys + t.keys / 2 + 1;
    t.row_tiles = 3;
    t.col_tiles = t.step = 2;
    t.queries = 33;
    return t;
}

static inline int64_t elem(const st_case *t)
{
    return t->dtype == FP8 ? 1 : 2;
}

static inline int64_t tile_bytes(const st_case *t)
{
    return t->keys * t->depth * elem(t);
}

static inline int64_t slot_bytes(const st_case *t)
{
    return t->slot != 0             ? t->slot
           : (t->v227 || t->reader) ? 16640
                                    : tile_bytes(t);
}

static inline void spec_of(const st_case *t, char *text, size_t room)
{
    (void)snprintf(text, room,
                   "subtile_loader_st_8x32:entry=%s,dtype=%s,tile_keys=%d,"
                   "depth=%d,src_cols=%d,ld=%d,num_warps=%d,placement=%s,"
                   "reader=%s,slot_bytes=%d,stages=%d",
                   entries[t->entry], dtypes[t->dtype], (int)t->keys,
                   (int)t->depth, (int)t->cols, (int)t->ld, (int)t->warps,
                   placements[t->v227], placements[t->reader],
                   (int)slot_bytes(t), (int)t->stages);
}

/* num_records of a view of all valid keys. */
static inline int64_t records(const st_case *t)
{
    return t->valid <= 0 ? 0 : ((t->valid - 1) * t->ld + t->cols) * elem(t);
}

static inline bool inside(const st_case *t, int64_t offset)
{
    return offset / 4 * 4 + 4 <= records(t);
}

/* Byte offset of tile (row, col) in the matrix. */
static inline int64_t tile_at(const st_case *t, int64_t row, int64_t col)
{
    return t->soffset + (row * t->keys * t->ld + col * t->depth) * elem(t);
}

/* ---- numbers ------------------------------------------------------------- */

/* -8..8, exact in every format; weights 0..3. */
static inline int small_integer(bool weight, int64_t row, int64_t col)
{
    uint32_t h = source_hash(row, col) >> 20;

    return weight ? (int)(h % 4) : (int)(h % 17) - 8;
}

static inline void encode(const st_case *t, bool fnuz, int x, unsigned char *to)
{
    int mantissa = t->dtype == BF16 ? 7 : t->dtype == F16 ? 10 : 3;
    int bias = t->dtype == BF16 ? 127 : t->dtype == F16 ? 15 : fnuz ? 8 : 7;
    int magnitude = abs(x);
    int log = 0;
    unsigned bits = 0;

    while (magnitude >> (log + 1) != 0)
        log++;
    if (magnitude != 0)
        bits =
            (unsigned)(log + bias) << mantissa |
            ((unsigned)magnitude << mantissa >> log & ((1u << mantissa) - 1));
    if (x < 0)
        bits |= t->dtype == FP8 ? 0x80 : 0x8000;
    to[0] = (unsigned char)bits;
    if (t->dtype != FP8)
        to[1] = (unsigned char)(bits >> 8);
}

static inline unsigned char *take(size_t bytes, int value)
{
    unsigned char *data = malloc(bytes + 1);

    ck_assert_ptr_nonnull(data);
    memset(data, value, bytes + 1);
    return data;
}

static inline bool has_fnuz(const char *target)
{
    return strstr(target, "gfx942") != NULL;
}

static inline unsigned char *make_source(const st_case *t, bool fnuz)
{
    unsigned char *source = take((size_t)records(t), 0);
    int64_t row_bytes = t->ld * elem(t);

    if (t->entry != OUTPUT)
        source_bytes(source, (size_t)records(t), row_bytes, 0);
    for (int64_t i = 0; i < records(t) && t->entry == OUTPUT; i += elem(t))
        encode(t, fnuz,
               small_integer(false, i / row_bytes, i % row_bytes / elem(t)),
               source + i);
    return source;
}

static inline unsigned char *make_weights(const st_case *t, bool fnuz,
                                          size_t *bytes)
{
    int64_t keys = t->row_tiles * t->keys;
    unsigned char *weights;

    *bytes = (size_t)(t->col_tiles * t->queries * keys * elem(t));
    weights = take(*bytes, 0);
    for (int64_t n = 0; n < t->col_tiles * t->queries * keys; n++)
        encode(t, fnuz, small_integer(true, n / keys, n % keys),
               weights + n * elem(t));
    return weights;
}

/* ---- the walk of the loader ---------------------------------------------- */

/* Offset from the tile's first source byte, and LDS byte, of a vector. */
static inline void burst_of(const st_case *t, int64_t wave, int64_t i,
                            int64_t lane, int64_t *voffset, int64_t *lds)
{
    int64_t per_iteration = 16 * LANES * t->warps;
    int64_t iterations = tile_bytes(t) / per_iteration;
    int64_t spr = t->depth * elem(t) / 64;
    int64_t o = (wave * LANES + lane) * 16 + i * per_iteration;
    int64_t key = o / 512 / spr * 8 + o % 512 / 64;
    int64_t col_byte = o / 512 % spr * 64 + o % 64;
    int64_t m0 = wave * 1024 + i * per_iteration;

    if (t->v227) {
        int64_t ci = wave * iterations + i;
        int64_t g = lane / 8;

        key = (ci >> 1 & 1) << 1 | (ci & 1) << 2 | (ci >> 2 & 1) << 3 |
              (ci >> 3 & 1) << 6;
        key += (g & 1) + (g >> 1 & 1) * 16 + (g >> 2 & 1) * 32;
        col_byte = lane % 8 * 16;
        m0 = ci * CELL;
    }
    *voffset = key * t->ld * elem(t) + col_byte;
    *lds = m0 + lane * 16;
}

/* Writes tile (row, col) to its slot as the waves place it; checks that every
 * byte of the tile is hit once and no other byte is. */
static inline void walk(const st_case *t, const unsigned char *source,
                        int64_t row, int64_t col, unsigned char *slot)
{
    int64_t iterations = tile_bytes(t) / (1024 * t->warps);
    unsigned char *hits = take((size_t)slot_bytes(t), 0);
    int64_t hit = 0;
    bool once = true;

    memset(slot, POISON, (size_t)slot_bytes(t));
    for (int64_t n = 0; n < t->warps * iterations * LANES; n++) {
        int64_t voffset;
        int64_t lds;

        burst_of(t, n / LANES / iterations, n / LANES % iterations, n % LANES,
                 &voffset, &lds);
        voffset += tile_at(t, row, col);
        for (int64_t k = 0; k < 16; k++) {
            slot[lds + k] = inside(t, voffset + k) ? source[voffset + k] : 0;
            hits[lds + k]++;
        }
    }
    /* A single assertion: Check sends a message for each that holds. */
    for (int64_t b = 0; b < slot_bytes(t); b++) {
        bool hole = t->v227 && (b % CELL >= 1024 || b >= V227_BYTES);

        hit += hits[b];
        once = once && hits[b] <= !hole;
    }
    ck_assert(once);
    ck_assert_int_eq(hit, tile_bytes(t));
    free(hits);
}

/* ---- the walk of the readers --------------------------------------------- */

static inline int64_t parts(const st_case *t)
{
    return t->dtype == FP8 ? 4 : 2;
}

static inline int64_t strip_keys(const st_case *t)
{
    return t->dtype == FP8 ? 64 : 16;
}

/* LDS byte that a lane addresses in read `part` of fragment (i, j). */
static inline int64_t read_address(const st_case *t, int64_t i, int64_t j,
                                   int64_t part, int64_t l)
{
    int64_t spr = t->depth * elem(t) / 64;
    int64_t r = l % 16 / 2 % 4 + l % 16 / 8 * 8 + l / 32 * 4;
    int64_t d = 32 * j;

    if (t->dtype != FP8)
        return ((2 * i + part) * spr + j) * 512 +
               (4 * (l / 16 / 2) + l % 16 / 4) * 64 +
               (16 * (l / 16 % 2) + 4 * (l % 4)) * 2;
    if (t->reader)
        return (l >> 1 & 1) * 0x80 + (l >> 2 & 3) * 0x820 + (l & 1) * 8 +
               (l >> 4 & 1) * 16 + (l >> 5 & 1) * CELL + i * 0x2080 + j * 0x20 +
               part * 0x100;
    return r / 8 * spr * 512 + r % 8 * 64 + l / 16 % 2 * 16 + l % 2 * 8 +
           (64 * i + 16 * part) / 8 * spr * 512 + d / 64 * 512 + d % 64;
}

/* A lane's registers after read `part`, from the addresses of its 16 lanes. */
static inline void exchange(const st_case *t, const unsigned char *slot,
                            int64_t i, int64_t j, int64_t part, int64_t l,
                            unsigned char *to)
{
    int64_t of_row = 8 / elem(t); /* elements at one lane's address */
    int64_t first = l / 16 * 16 + l / of_row % (16 / of_row);

    for (int64_t n = 0; n < of_row; n++)
        memcpy(to + n * elem(t),
               slot + read_address(t, i, j, part, first + n * (16 / of_row)) +
                   l % of_row * elem(t),
               (size_t)elem(t));
}

/* All fragments of a slot, [strip][depth / 32][lane][parts * 8 bytes]. */
static inline void read_back(const st_case *t, const unsigned char *slot,
                             unsigned char *to)
{
    int64_t count = tile_bytes(t) / (8 * parts(t) * LANES);

    for (int64_t f = 0; f < count; f++)
        for (int64_t l = 0; l < LANES; l++)
            for (int64_t part = 0; part < parts(t); part++, to += 8)
                exchange(t, slot, f / (t->depth / 32), f % (t->depth / 32),
                         part, l, to);
}

/* The same fragments from V itself, whatever the placement. */
static inline void fragments_of(const st_case *t, const unsigned char *source,
                                int64_t row, int64_t col, unsigned char *to)
{
    int64_t numbers = 8 * parts(t) / elem(t);

    for (int64_t n = 0; n < tile_bytes(t) / elem(t); n++) {
        int64_t f = n / numbers / LANES;
        int64_t l = n / numbers % LANES;
        int64_t e = n % numbers;
        int64_t i = f / (t->depth / 32);
        int64_t j = f % (t->depth / 32);
        int64_t key =
            t->dtype == FP8
                ? 64 * i + 16 * (e / 8) + e % 4 + 8 * (e / 4 % 2) + 4 * (l / 32)
                : 16 * i + 8 * (e / 4) + 4 * (l / 32) + e % 4;
        int64_t from =
            tile_at(t, row, col) + (key * t->ld + 32 * j + l % 32) * elem(t);

        for (int64_t k = 0; k < elem(t); k++)
            *to++ = inside(t, from) ? source[from + k] : 0;
    }
}

/* ---- expected output --------------------------------------------------- */

static inline size_t output_size(const st_case *t)
{
    int64_t tiles = t->row_tiles * t->col_tiles;

    switch (t->entry) {
    case IMAGE:
        return (size_t)(tiles * slot_bytes(t));
    case FRAGMENTS:
        return (size_t)(tiles * tile_bytes(t));
    case STREAM:
        return (size_t)(t->step * t->col_tiles * t->warps * LANES * 16);
    default:
        return (size_t)(t->col_tiles * t->queries * t->depth * 4);
    }
}

static inline void add_to_sums(const st_case *t, const unsigned char *slot,
                               unsigned char *sums)
{
    for (int64_t b = 0; b < tile_bytes(t); b++)
        sums[b % (t->warps * LANES * 16)] ^=
            slot[b + (t->v227 ? b / 1024 * 16 : 0)];
}

static inline void multiply(const st_case *t, float *out)
{
    int64_t keys = t->row_tiles * t->keys;
    int64_t row_bytes = t->ld * elem(t);

    for (int64_t n = 0; n < t->col_tiles * t->queries * t->depth; n++) {
        int64_t query = n / t->depth; /* over all heads */
        int64_t head = query / t->queries;
        int sum = 0;

        for (int64_t key = 0; key < keys; key++) {
            int64_t from =
                tile_at(t, 0, head) + (key * t->ld + n % t->depth) * elem(t);

            if (inside(t, from))
                sum += small_integer(true, query, key) *
                       small_integer(false, from / row_bytes,
                                     from % row_bytes / elem(t));
        }
        out[n] = (float)sum;
    }
}

/* Returns the expected output; the caller frees it. */
static inline unsigned char *expected(const st_case *t,
                                      const unsigned char *source)
{
    unsigned char *out = take(output_size(t), 0);
    unsigned char *slot = take((size_t)slot_bytes(t), 0);

    for (int64_t n = 0; n < t->row_tiles * t->col_tiles; n++) {
        int64_t row = n / t->col_tiles;
        int64_t col = n % t->col_tiles;
        int64_t block = row % t->step * t->col_tiles + col;

        if (t->entry == OUTPUT)
            break;
        walk(t, source, row, col, slot);
        if (t->entry == IMAGE)
            memcpy(out + n * slot_bytes(t), slot, (size_t)slot_bytes(t));
        else if (t->entry == FRAGMENTS)
            read_back(t, slot, out + n * tile_bytes(t));
        else
            add_to_sums(t, slot, out + block * t->warps * LANES * 16);
    }
    if (t->entry == OUTPUT)
        multiply(t, (float *)(void *)out);
    free(slot);
    return out;
}

#endif
