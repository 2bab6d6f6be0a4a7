/* SPDX-License-Identifier: Apache-2.0
 *
 * element.h - the numbers that buffers hold.
 */
#ifndef GROAT_KERNELS_ELEMENT_H
#define GROAT_KERNELS_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum groat__element_kind {
    GROAT__ELEMENT_FLOAT,
    GROAT__ELEMENT_SIGNED,
    GROAT__ELEMENT_UNSIGNED
} groat__element_kind;

/* A dtype.  Bits of a float: sign, exponent, mantissa, the least byte first. */
typedef struct groat__element {
    const char *name; /* as in run.def: "bf16"                               */
    const char *npy;  /* what numpy calls it; its own bits where it has none */
    const char *c;    /* the type that a reference gets                      */
    groat__element_kind kind;
    int bytes;
    int exponent; /* bits; of floats */
    int mantissa;
    int bias;
    bool infinite; /* the largest exponent is infinity and NaN             */
    bool fnuz;     /* its one NaN is the zero with a sign                  */
} groat__element;

/* Every dtype's name, for messages. */
#define GROAT__ELEMENT_NAMES                                                   \
    "f64, f32, bf16, f16, e4m3, e5m2, e4m3fnuz, e5m2fnuz, i8, u8, i16, u16, "  \
    "i32, u32, i64, u64"

/* NULL: there is none of that name. */
const groat__element *groat__element_find(const char *name, size_t len);

enum { GROAT__ELEMENT_TEXT = 48 };

/* How the number at `at` is shown: integers whole, a NaN with its bits. */
void groat__element_text(const groat__element *element, const void *at,
                         char out[GROAT__ELEMENT_TEXT]);

/* The number at `at`, of any alignment. */
double groat__element_load(const groat__element *element, const void *at);
/* Rounds to nearest, ties to even; what is too large becomes the infinity, or,
 * of a dtype without one, its largest number.  Integers are clamped. */
void groat__element_store(const groat__element *element, double value,
                          void *at);

/* Fills [count] of a float dtype with random numbers of -most to most. */
void groat__element_fill(const groat__element *element, uint64_t seed,
                         size_t count, double most, void *to);

/* The distance of two floats in units of the last place: how many numbers of
 * the dtype lie between them.  Two NaNs: 0; one: UINT64_MAX. */
uint64_t groat__element_ulps(const groat__element *element, const void *a,
                             const void *b);

#endif
