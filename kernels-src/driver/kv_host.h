/* SPDX-License-Identifier: Apache-2.0
 *
 * kv_host.h - what the drivers of the kv families share: how `groat run` feeds
 * and checks tiles of K and V and the products made of them.
 *
 * Expected images come from the closed form of the layout (which number of the
 * slab lies at byte b), expected fragments and products from the slab alone, so
 * they share no arithmetic with the kernels.
 */
#ifndef GROAT_KERNELS_KV_HOST_H
#define GROAT_KERNELS_KV_HOST_H

#include "shared.h"

/* Squares of 32 x 32 numbers, see kv_tile.h; the swizzle is the spec's. */
typedef struct groat__kv_tile {
    int64_t rows, cols, panel, ld;
    int64_t bits, base, shift;
} groat__kv_tile;

/* INVALID: "FAMILY: WHAT is SEEN; RULE". */
groat_status groat__kv_refuse(const groat_spec *spec, const char *what,
                              int64_t seen, const char *rule,
                              groat_error *error);

/* The tile whose first number is source[first], `valid` rows of it, as it lies
 * in shared memory. */
void groat__kv_expect_tile(const groat__kv_tile *tile, const uint16_t *source,
                           int64_t first, int64_t valid, unsigned char *image);

/* 16-bit numbers: whole ones from -3 to 3, whose products and sums are exact in
 * every order, or real ones of many magnitudes. */
void groat__kv_fill_numbers(uint64_t seed, bool f16, bool real, void *data,
                            size_t count);

/* A 16-bit number, and the one nearest to x, ties to even. */
double groat__kv_number(bool f16, uint16_t bits);
uint16_t groat__kv_round(bool f16, double x);

/* How far a sum of `terms` products may be from the true one when each addition
 * loses up to a unit of its last place; `total` is the sum of their sizes. */
double groat__kv_slack(int64_t terms, double total);

/* The driver of the families with the arguments of kv_args.h. */
extern const groat_driver_arg groat__kv_arguments[];
groat_status groat__kv_plan(const groat_spec *spec, const int64_t *values,
                            groat_plan *plan, groat_error *error);
void groat__kv_fill(const groat_spec *spec, const groat_plan *plan,
                    size_t index, uint64_t seed, void *data);
groat_status groat__kv_bind(groat_context *context, const groat_spec *spec,
                            groat_plan *plan, const uint64_t *addresses,
                            groat_error *error);
groat_status groat__kv_expect(const groat_spec *spec, const groat_plan *plan,
                              const void *const *inputs, size_t index,
                              void *data, groat_error *error);
bool groat__kv_bound(const groat_spec *spec, const groat_plan *plan,
                     const void *const *inputs, size_t index, float *allowed);

#endif
