/* SPDX-License-Identifier: Apache-2.0
 *
 * shared.h - what the drivers of the families share: asking a spec, refusing
 * arguments, random input, numbers, and the arithmetic of expected outputs.
 * Nothing of it is shared with the kernels.
 */
#ifndef GROAT_KERNELS_SHARED_H
#define GROAT_KERNELS_SHARED_H

#include "driver.h"

/* A parameter or derived constant that the family has. */
int64_t groat__host_value(const groat_spec *spec, const char *name);

/* What `groat run` does by default differs where time is dear. */
bool groat__host_on_cpu(const groat_spec *spec);

/* INVALID: "FAMILY: WHAT is SEEN; RULE". */
groat_status groat__host_refuse(groat_error *error, const char *family,
                                const char *what, int64_t seen,
                                const char *rule, ...) GROAT_PRINTF(5, 6);

/* That the pages of a sequence of `keys` keys, `page` keys to a page, are among
 * the cache's blocks; row: its row of the page table.  Errors: INVALID. */
groat_status groat__host_check_pages(const uint32_t *row, int64_t keys,
                                     int64_t page, int64_t blocks,
                                     const char *family, groat_error *error);

/* NO_MEMORY: "FAMILY: no memory for WHAT". */
groat_status groat__host_starve(groat_error *error, const char *family,
                                const char *what);

/* Adds a buffer of plain bytes to a plan. */
void groat__host_add_buffer(groat_plan *plan, const char *name, int64_t bytes,
                            bool output);

/* A well mixed function of z. */
uint64_t groat__host_mix(uint64_t z);
/* The next of a sequence of random numbers. */
uint64_t groat__host_draw(uint64_t *state);
/* Random bytes, none of them 0, so that a zero fill always shows. */
void groat__host_fill(uint64_t seed, void *data, size_t bytes);

/* Swizzle(bits, base, shift): the field at base + max(shift, 0) XORed onto the
 * one at base + max(-shift, 0). */
int64_t groat__host_swizzle(int64_t bits, int64_t base, int64_t shift,
                            int64_t x);

/* XORs `bytes` onto the 16 bytes that each of `threads` threads keeps. */
void groat__host_fold(const unsigned char *image, int64_t bytes,
                      int64_t threads, unsigned char *sums);

/* A float of 1 + exponent + mantissa bits; those of 16 bits have infinities and
 * NaNs, of smaller ones only finite numbers may be asked for. */
typedef struct groat__host_format {
    int bytes, exponent, mantissa, bias;
} groat__host_format;

/* Of the dtypes bf16, f16, fp8, in the order in which every family has them;
 * fnuz: of the two encodings of fp8 that of CDNA3. */
groat__host_format groat__host_format_of(int64_t dtype, bool fnuz);

double groat__host_number(const groat__host_format *format, unsigned bits);
/* The same of the bytes at `at`, the least first. */
double groat__host_number_at(const groat__host_format *format,
                             const unsigned char *at);

#endif
