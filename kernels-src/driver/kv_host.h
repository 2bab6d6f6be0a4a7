/* SPDX-License-Identifier: Apache-2.0
 *
 * kv_host.h - shared by the drivers of the kv families: how `groat run` makes
 * and checks tiles of K and V and the products made of them.
 *
 * Expected images come from the closed form of the layout (which number of the
 * slab lies at byte b), expected fragments and products from the slab alone, so
 * they share no arithmetic with the kernels.
 */
#ifndef GROAT_KERNELS_KV_HOST_H
#define GROAT_KERNELS_KV_HOST_H

#include "shared.h"

/* Squares of 32 x 32 numbers, see kv_tile.h; the spec has the swizzle. */
typedef struct groat__kv_tile {
    int64_t rows, cols, panel, ld;
    int64_t bits, base, shift;
} groat__kv_tile;

/* Returns INVALID with the text "FAMILY: WHAT is SEEN; RULE". */
groat_status groat__kv_refuse(const groat_spec *spec, const char *what,
                              int64_t seen, const char *rule,
                              groat_error *error);

/* Writes the image in shared memory of the tile whose first number is
 * source[first] and of which `valid` rows are valid. */
void groat__kv_expect_tile(const groat__kv_tile *tile, const uint16_t *source,
                           int64_t first, int64_t valid, unsigned char *image);

/* Fills with 16-bit numbers: integers from -3 to 3, whose products and sums are
 * exact in every order, or real numbers of many magnitudes. */
void groat__kv_fill_numbers(uint64_t seed, bool f16, bool real, void *data,
                            size_t count);

/* The value of a 16-bit number; the number nearest to x, ties to even. */
double groat__kv_number(bool f16, uint16_t bits);
uint16_t groat__kv_round(bool f16, double x);

/* Bounds the error of a sum of `terms` products if each addition is off by up
 * to a unit in the last place; `total` is the sum of their absolute values. */
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
