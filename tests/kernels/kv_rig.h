/* SPDX-License-Identifier: Apache-2.0
 *
 * kv_rig.h - what the tests of the kv families share: an oracle of their own,
 * which walks over waves, squares, halves and lanes, forms M0, soffset and
 * voffset of each burst and applies the bounds of the buffer descriptor dword
 * by dword, then reads fragments out of what the walk left; cases and their
 * launches; and checks that each of the families has to pass.
 */
#ifndef GROAT_TESTS_KV_RIG_H
#define GROAT_TESTS_KV_RIG_H

#include "tests/kernels/drive.h"
#include "tests/kernels/known.h"
#include "groat_tools.h"

enum { LANES = 64, POISON = 0xEE, SQUARE = 2048, BURST = 1024 };

/* A spec and one tile of one launch.  WN is 0 for a family whose tiles have no
 * role; rows may be -1: as many as the driver likes. */
typedef struct kv_case {
    int64_t is_v, BN, BK, WN, depth, src_cols, ld, warps, mma_n, mma_bytes;
    int64_t bits, base, shift;
    int64_t rows, first_row, first_col, tile;
} kv_case;

/* One burst of 16 bytes per lane, as the walk issued it. */
typedef struct kv_burst {
    int64_t wave, m0, soffset, voffset[LANES];
} kv_burst;

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

/* ---- cases and launches */

/* What the program tests. */
extern const groat_driver *const kv_driver;

extern const char *const kv_targets[3];
/* Those with matrix instructions. */
extern const char *const kv_amd_targets[3];
bool kv_multiplies(const char *target);

/* The case with an instruction that the target has. */
kv_case kv_on(const kv_case *t, const char *target);

/* The spec of an entry, which further parameters may follow:
 * "scores,dtype=f16".
 */
void kv_spec(const char *entry, const kv_case *t, char *text, size_t room);

/* A launch with the rows and the column of the case; `said` as in
 * drive_values(). */
void kv_open(drive *d, groat_context *context, const char *entry,
             const kv_case *t, const char *target, const char *said, ...)
    GROAT_PRINTF(6, 7);

/* Runs `entry` over key_blocks x tiles blocks from the case's tile on known
 * bytes, into `out`. */
void kv_run(groat_context *context, const char *entry, const char *target,
            const kv_case *t, int64_t key_blocks, int64_t tiles,
            unsigned char *out, size_t bytes);

/* Launches what was opened and compares it with the driver's closed form. */
void kv_check(drive *d, uint64_t seed);
/* The same of products: exact, or with `real` numbers within a bound. */
void kv_check_product(drive *d, uint64_t seed, bool real);

/* Part n of what an entry wrote is what the walk makes. */
void kv_check_bytes(const char *entry, const kv_case *t, const char *target,
                    size_t n, const unsigned char *got,
                    const unsigned char *want, size_t bytes);

/* -3 .. 3 in 16 bits, without a conversion. */
int kv_whole(bool f16, uint16_t bits);

/* ---- what was seen */

/* Accesses of all waves, as they came. */
typedef struct kv_tape {
    unsigned kinds; /* 1 << GROAT_ACCESS_...: those that are kept */
    size_t count;
    struct {
        groat_access access;
        unsigned wave, bytes;
        uint64_t active;
        uint32_t shared[LANES];
        uint64_t source[LANES];
    } events[1200];
} kv_tape;

/* A context that records on a tape. */
groat_context *kv_record(kv_tape *tape, unsigned kinds);

/* ---- checks */

/* Every swizzle that the rules allow, and none that they should not: `check`
 * runs the case with each, on the targets in turn. */
void kv_every_swizzle(const kv_case *t,
                      void (*check)(const kv_case *t, const char *target));

/* A number that is off by more than the bound is seen, and no bound is as large
 * as `limit`. */
void kv_tight_bound(const char *entry, const kv_case *t, double limit);

/* What a plan refuses: arguments as in drive_values(), words of the error. */
typedef struct kv_refusal {
    const char *entry, *said, *words;
} kv_refusal;

void kv_check_refusals(const kv_refusal *bad, size_t count);

/* Draws cases until the rules have taken `count` of them, and checks each: of
 * an entry, on NVIDIA of the image.  What `check` wants to be random it takes
 * from the same numbers. */
void kv_random_specs(uint64_t seed, int count, const char *entry,
                     kv_case (*draw)(uint64_t *random),
                     void (*check)(const kv_case *t, const char *target,
                                   uint64_t *random));

/* A number below `below`. */
int64_t kv_pick(uint64_t *state, int64_t below);
/* A case that the rules may refuse: squares of key blocks and heads, and waves,
 * are these at most; no rows, role 0, WN 0. */
kv_case kv_random_case(uint64_t *state, int64_t squares, int64_t depths,
                       int64_t waves);

#endif
