/* SPDX-License-Identifier: Apache-2.0
 *
 * shared.h - shared by the families' drivers: queries of a spec, errors, random
 * input, numbers, and the arithmetic of expected outputs.
 * Nothing here is shared with the kernels.
 */
#ifndef GROAT_KERNELS_SHARED_H
#define GROAT_KERNELS_SHARED_H

#include "driver.h"

/* Returns a parameter or derived constant, which the family must have. */
int64_t groat__host_value(const groat_spec *spec, const char *name);

/* Whether the target is the judge: `groat run` then has smaller defaults. */
bool groat__host_on_cpu(const groat_spec *spec);

/* Returns INVALID with the text "FAMILY: WHAT is SEEN; RULE". */
groat_status groat__host_refuse(groat_error *error, const char *family,
                                const char *what, int64_t seen,
                                const char *rule, ...) GROAT_PRINTF(5, 6);

/* Checks that the pages of a sequence of `keys` keys, `page` keys per page, are
 * blocks of the cache; row: its row of the page table.  Errors: INVALID. */
groat_status groat__host_check_pages(const uint32_t *row, int64_t keys,
                                     int64_t page, int64_t blocks,
                                     const char *family, groat_error *error);

/* Returns NO_MEMORY with the text "FAMILY: no memory for WHAT". */
groat_status groat__host_starve(groat_error *error, const char *family,
                                const char *what);

/* Adds a buffer of plain bytes to a plan. */
void groat__host_add_buffer(groat_plan *plan, const char *name, int64_t bytes,
                            bool output);

/* Returns a well-mixed hash of z. */
uint64_t groat__host_mix(uint64_t z);
/* Returns the next of a sequence of random numbers. */
uint64_t groat__host_draw(uint64_t *state);
/* Fills with random bytes other than 0, so that a zero fill always shows. */
void groat__host_fill(uint64_t seed, void *data, size_t bytes);

/* Swizzle(bits, base, shift): the field at base + max(shift, 0) XORed onto the
 * one at base + max(-shift, 0). */
int64_t groat__host_swizzle(int64_t bits, int64_t base, int64_t shift,
                            int64_t x);

/* XORs `bytes` onto the 16 bytes that each of `threads` threads keeps. */
void groat__host_fold(const unsigned char *image, int64_t bytes,
                      int64_t threads, unsigned char *sums);

/* A float of 1 + exponent + mantissa bits.  16-bit formats have infinities and
 * NaNs; of smaller ones only finite numbers may be converted. */
typedef struct groat__host_format {
    int bytes, exponent, mantissa, bias;
} groat__host_format;

/* The format of dtype bf16, f16 or fp8, numbered as in every family; fnuz:
 * CDNA3's encoding of fp8 instead of OCP's. */
groat__host_format groat__host_format_of(int64_t dtype, bool fnuz);

double groat__host_number(const groat__host_format *format, unsigned bits);
/* The same for the bytes at `at`, little-endian. */
double groat__host_number_at(const groat__host_format *format,
                             const unsigned char *at);

#endif
