/* SPDX-License-Identifier: Apache-2.0
 *
 * kv_rig.h - shared by the tests of the kv families: an oracle of their own,
 * which loops over waves, squares, halves and lanes, forms M0, soffset and
 * voffset of each burst and applies the bounds of the buffer descriptor dword
 * by dword, then reads fragments out of the resulting image; cases and their
 * launches; and checks that each of the families has to pass.
 */
#ifndef GROAT_TESTS_KV_RIG_H
#define GROAT_TESTS_KV_RIG_H

#include "tests/kernels/drive.h"
#include "tests/kernels/known.h"
#include "groat_tools.h"

enum { LANES = 64, POISON = 0xEE, SQUARE = 2048, BURST = 1024 };

/* A spec and one tile of one launch.  WN is 0 for a family whose tiles have no
 * role; rows may be -1: the driver chooses their number. */
typedef struct kv_case {
    int64_t is_v, BN, BK, WN, depth, src_cols, ld, warps, mma_n, mma_bytes;
    int64_t bits, base, shift;
    int64_t rows, first_row, first_col, tile;
} kv_case;

/* One burst of 16 bytes per lane, as the walk issues it. */
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

/* Writes the case's tile as the bursts place it; checks that every byte is hit
 * once.  bursts is NULL or has room for all; returns how many. */
size_t kv_walk(const kv_case *t, unsigned char *lds, kv_burst *bursts);

/* Returns the address of a lane's 16 bytes of fragment i of strip k (K), or of
 * the 8 bytes that it addresses for half `half` (V). */
int64_t kv_key_address(const kv_case *t, int64_t wave, int64_t k, int64_t i,
                       int64_t lane);
int64_t kv_value_address(const kv_case *t, int64_t wave, int64_t k, int64_t i,
                         int64_t half, int64_t lane);

/* Reads the fragments of all waves out of an image. */
void kv_read_fragments(const kv_case *t, const unsigned char *lds,
                       unsigned char *out);

/* ---- cases and launches */

/* The driver of the family under test. */
extern const groat_driver *const kv_driver;

extern const char *const kv_targets[3];
/* The targets with matrix instructions. */
extern const char *const kv_amd_targets[3];
bool kv_multiplies(const char *target);

/* The case, with an instruction that the target has. */
kv_case kv_on(const kv_case *t, const char *target);

/* Writes the spec of an entry, which further parameters may follow:
 * "scores,dtype=f16".
 */
void kv_spec(const char *entry, const kv_case *t, char *text, size_t room);

/* Opens a launch with the rows and the column of the case; `said` as in
 * drive_values(). */
void kv_open(drive *d, groat_context *context, const char *entry,
             const kv_case *t, const char *target, const char *said, ...)
    GROAT_PRINTF(6, 7);

/* Runs `entry` over key_blocks x tiles blocks from the case's tile on known
 * bytes; writes the output to `out`. */
void kv_run(groat_context *context, const char *entry, const char *target,
            const kv_case *t, int64_t key_blocks, int64_t tiles,
            unsigned char *out, size_t bytes);

/* Launches an opened case and compares it with the driver's closed form. */
void kv_check(drive *d, uint64_t seed);
/* The same for products: exact, or with `real` numbers within a bound. */
void kv_check_product(drive *d, uint64_t seed, bool real);

/* Checks that part n of an entry's output is what the walk makes. */
void kv_check_bytes(const char *entry, const kv_case *t, const char *target,
                    size_t n, const unsigned char *got,
                    const unsigned char *want, size_t bytes);

/* Converts 16 bits of a number from -3 to 3 without the format's arithmetic. */
int kv_whole(bool f16, uint16_t bits);

/* ---- recorded accesses */

/* Accesses of all waves, in the order of their trace events. */
typedef struct kv_tape {
    unsigned kinds; /* 1 << GROAT_ACCESS_... of the kinds to keep */
    size_t count;
    struct {
        groat_access access;
        unsigned wave, bytes;
        uint64_t active;
        uint32_t shared[LANES];
        uint64_t source[LANES];
    } events[1200];
} kv_tape;

/* Opens a context that records on a tape. */
groat_context *kv_record(kv_tape *tape, unsigned kinds);

/* ---- checks */

/* Runs `check` on the case with every legal swizzle, on the targets in turn;
 * checks that the rules allow exactly the legal ones. */
void kv_every_swizzle(const kv_case *t,
                      void (*check)(const kv_case *t, const char *target));

/* Checks that an error beyond the bound is detected, and that no bound is as
 * large as `limit`. */
void kv_tight_bound(const char *entry, const kv_case *t, double limit);

/* A refused plan: arguments as in drive_values(), words of the error. */
typedef struct kv_refusal {
    const char *entry, *said, *words;
} kv_refusal;

void kv_check_refusals(const kv_refusal *bad, size_t count);

/* Draws cases until the rules have accepted `count` of them, and checks each:
 * the specs of an entry, on NVIDIA those of the image.  `check` takes its
 * random numbers from the same state. */
void kv_random_specs(uint64_t seed, int count, const char *entry,
                     kv_case (*draw)(uint64_t *random),
                     void (*check)(const kv_case *t, const char *target,
                                   uint64_t *random));

/* Returns a random number below `below`. */
int64_t kv_pick(uint64_t *state, int64_t below);
/* Draws a case that the rules may refuse: squares of key blocks and heads, and
 * waves, are these at most; no rows, role 0, WN 0. */
kv_case kv_random_case(uint64_t *state, int64_t squares, int64_t depths,
                       int64_t waves);

#endif
