/* SPDX-License-Identifier: Apache-2.0
 *
 * kv_rig.h - what the tests of the kv families share: an oracle of their own,
 * which walks over waves, squares, halves and lanes, forms M0, soffset and
 * voffset of each burst and applies the bounds of the buffer descriptor dword
 * by dword, then reads fragments out of what the walk left; and launches.
 */
#ifndef GROAT_TESTS_KV_RIG_H
#define GROAT_TESTS_KV_RIG_H

#include "kernels-src/common/kv_args.h"
#include "tests/kernels/drive.h"

enum { LANES = 64, POISON = 0xEE, SQUARE = 2048, BURST = 1024 };

#ifndef COUNT
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#endif

/* A spec of kv_buffer_lds or kv_buffer_reg, and one tile of one launch. */
typedef struct kv_case {
    int64_t is_v, BN, BK, WN, depth, src_cols, ld, warps, mma_n, mma_bytes;
    int64_t bits, base, shift;
    int64_t rows, first_row, first_col, tile;
} kv_case;

/* One burst of 16 bytes per lane, as the walk issued it. */
typedef struct kv_burst {
    int64_t wave, m0, soffset, voffset[LANES];
} kv_burst;

/* 1..255, never 0: a zero fill always shows. */
unsigned char kv_source_byte(int64_t row, int64_t col_byte);
int64_t kv_swizzle(const kv_case *t, int64_t x);
int64_t kv_tile_rows(const kv_case *t);
int64_t kv_tile_cols(const kv_case *t);
int64_t kv_tile_bytes(const kv_case *t);
int64_t kv_steps(const kv_case *t);
int64_t kv_strips(const kv_case *t);
int64_t kv_mmas(const kv_case *t);
int64_t kv_fragment_bytes(const kv_case *t); /* of all waves, one tile */

/* What the bursts leave of the case's tile in shared memory; every byte is hit
 * once.  bursts may be NULL, else it has room for all; returns how many. */
size_t kv_walk(const kv_case *t, unsigned char *lds, kv_burst *bursts);

/* Where lane's 16 bytes of fragment i of strip k lie (K), or the 8 bytes that
 * it addresses for half `half` (V). */
int64_t kv_key_address(const kv_case *t, int64_t wave, int64_t k, int64_t i,
                       int64_t lane);
int64_t kv_value_address(const kv_case *t, int64_t wave, int64_t k, int64_t i,
                         int64_t half, int64_t lane);

/* The fragments that all waves read out of an image. */
void kv_read_fragments(const kv_case *t, const unsigned char *lds,
                       unsigned char *out);

uint32_t kv_crc32(const unsigned char *data, size_t bytes);
uint64_t kv_fnv1a(const unsigned char *data, size_t bytes);

/* ---- launches */

groat_context *kv_open(groat_trace_fn *trace, void *user);

void kv_spec(const char *family, const char *entry, const kv_case *t,
             char *text, size_t room);

/* The source of a case: rows valid rows; free it. */
unsigned char *kv_make_source(const kv_case *t, size_t *bytes);

/* Runs `entry` over key_blocks x tiles blocks from the case's tile on, into
 * `out`. */
void kv_run(groat_context *context, const char *spec, const char *target,
            const kv_case *t, int64_t key_blocks, int64_t tiles,
            unsigned char *out, size_t bytes);

/* The first float of the output that is not as it must be, or SIZE_MAX. */
size_t kv_wrong_float(const driven *d);

#endif
