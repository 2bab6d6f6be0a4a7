/* SPDX-License-Identifier: Apache-2.0
 *
 * ring_rig.h - shared by the tests of kv_producer_pipeline: a cache, a page
 * table and tensor maps of their own, launches, and an oracle of closed forms:
 * which tile is number t of the ring, where it lies, what its barriers are,
 * and which byte of the cache lies at byte b of a slot.  The driver of `groat
 * run` computes the other way, from boxes to bytes.
 */
#ifndef GROAT_TESTS_RING_RIG_H
#define GROAT_TESTS_RING_RIG_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "groat.h"
#include "kernels-src/kv_producer_pipeline/args.h"

enum { RING_SEQUENCES = 4, RING_RECORD = 32, RING_POISON = 0xEE };

/* In the order of params.def. */
enum { RING_IMAGE, RING_TRACE, RING_ISSUES, RING_STREAM, RING_SCORES };
enum { RING_OUTPUT = RING_SCORES + 1 };
enum { RING_SINGLE, RING_LOCAL, RING_MULTICAST, RING_SM100 };
enum { RING_IN_TURN, RING_AHEAD, RING_ONE_Q, RING_SPLIT };

/* A spec in the test's own figures, and one launch of it. */
typedef struct ring_case {
    int64_t entry, dtype, depth, page, head_page, mode, order, span, k_inner;
    int64_t v_inner, fold, BM, q_tiles, BN, pieces, slots, cells, count;
    int64_t consumers;
    /* Derived by the test. */
    int64_t elem, g, wide, ctas, halves, parts, m; /* m: pieces of a slot */
    int64_t k_rows, k_cols, v_rows, v_cols, slot, piece, q_rows;
    /* The launch. */
    int64_t lengths[RING_SEQUENCES];
    int64_t sequences, heads, group, queries, teams, layers, layer, spare;
    bool nan; /* values behind a sequence's last key are NaN */
} ring_case;

/* One tile of K or V, or one part of it, in the ring. */
typedef struct ring_tile {
    bool values;
    int64_t tile, part;
} ring_tile;

/* A tile of one head. */
typedef struct ring_spot {
    int64_t sequence, head, first;
} ring_spot;

/* The constants of a spec, computed from its parameters. */
ring_case ring_case_of(groat_spec *spec);

int64_t ring_divup(int64_t a, int64_t b);
int64_t ring_longest(const ring_case *c);
/* Tiles of K in a sequence of so many keys. */
int64_t ring_tiles(const ring_case *c, int64_t keys);

/* Tile t of the ring of a block that has `count` tiles of K. */
ring_tile ring_tile_at(const ring_case *c, int64_t count, int64_t t);
/* The number of tiles in the ring of such a block. */
int64_t ring_length(const ring_case *c, int64_t count);

/* Bytes that piece n expects when block `rank` waits for it. */
int64_t ring_expected(const ring_case *c, const ring_tile *t,
                      const ring_spot *at, int64_t n, int64_t rank);

/* ---- addresses ---------------------------------------------------------- */

bool ring_is_product(const ring_case *c);
/* Rows of S, P and O. */
int64_t ring_product_rows(const ring_case *c);
int64_t ring_pages_of(const ring_case *c);
/* The block of a sequence's page: arbitrary, but distinct. */
int64_t ring_block_of(const ring_case *c, int64_t sequence, int64_t page);
/* Rows of a view from one block to the next, bytes of a row and of the cache,
 * the address of row 0 of K or V, and the number of rows that may be read. */
int64_t ring_row_stride(const ring_case *c);
int64_t ring_row_bytes(const ring_case *c);
int64_t ring_cache_bytes(const ring_case *c);
int64_t ring_view_of(const ring_case *c, bool values);
int64_t ring_view_rows(const ring_case *c);
int64_t ring_row_of(const ring_case *c, int64_t sequence, int64_t head,
                    int64_t key);
/* Address of an element, -1 where zeros are read. */
int64_t ring_address_of(const ring_case *c, bool values, int64_t row,
                        int64_t head, int64_t col);
/* 1 .. 255, so that zeros show. */
unsigned char ring_byte_at(int64_t address);
/* A number from -2 to 2; `what` tells the buffers apart. */
int ring_number_at(uint64_t what, int64_t index);

/* How a block divides a piece into boxes. */
typedef struct ring_boxes {
    int64_t first; /* first key of the tile */
    int64_t keys;  /* keys of the part that the block copies */
    int64_t col, cols;
    int64_t pages, groups, chunks; /* which make up the box number */
    int64_t rows;                  /* of a box */
    int64_t down, right;           /* offset of its part of the slot */
    bool inner;
} ring_boxes;

ring_boxes ring_boxes_of(const ring_case *c, const ring_tile *t, int64_t n,
                         int64_t rank);

/* ---- launches ----------------------------------------------------------- */

void ring_grid_of(const ring_case *c, unsigned grid[3]);

/* Writes the expected output of the launch over the poison in `out`. */
size_t ring_output_bytes(const ring_case *c);
void ring_expect(const ring_case *c, unsigned char *out);

/* Launches the kernel over the same poison; returns the launch's status. */
groat_status ring_launch(groat_context *context, groat_kernel *kernel,
                         const char *target, const ring_case *c,
                         unsigned char *out, groat_error *error);

#endif
