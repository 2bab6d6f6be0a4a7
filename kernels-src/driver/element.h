/* SPDX-License-Identifier: Apache-2.0
 *
 * element.h - the element types of buffers.
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

/* A dtype.  A float's bits: sign, exponent, mantissa; stored little-endian. */
typedef struct groat__element {
    const char *name; /* as in run.def: "bf16"                               */
    const char *npy;  /* numpy's name, or that of an integer of the same size */
    const char *c;    /* its type in a reference function                    */
    groat__element_kind kind;
    int bytes;
    int exponent; /* bits; of floats */
    int mantissa;
    int bias;
    bool infinite; /* the largest exponent is infinity and NaN             */
    bool fnuz;     /* its only NaN is the code of -0                       */
} groat__element;

/* The names of all dtypes, for messages. */
#define GROAT__ELEMENT_NAMES                                                   \
    "f64, f32, bf16, f16, e4m3, e5m2, e4m3fnuz, e5m2fnuz, i8, u8, i16, u16, "  \
    "i32, u32, i64, u64"

/* Returns NULL if no dtype has that name. */
const groat__element *groat__element_find(const char *name, size_t len);

enum { GROAT__ELEMENT_TEXT = 48 };

/* Formats the number at `at`: integers in full, a NaN with its bits. */
void groat__element_text(const groat__element *element, const void *at,
                         char out[GROAT__ELEMENT_TEXT]);

/* Returns the number at `at`, of any alignment. */
double groat__element_load(const groat__element *element, const void *at);
/* Rounds to nearest, ties to even.  A value out of range becomes infinity, or
 * the largest number of a dtype without one.  Integers are clamped. */
void groat__element_store(const groat__element *element, double value,
                          void *at);

/* What an output holds at a byte before the launch, so that a kernel that
 * leaves it or adds to it is noticed: of floats a large number or, of f16 and
 * of 8 bits, a NaN; of integers of 8 bits, of which all numbers are usual,
 * another one for each element.  element: NULL for bytes. */
unsigned char groat__element_poison(const groat__element *element, uint64_t at);
void groat__element_spoil(const groat__element *element, uint64_t bytes,
                          void *data);

/* Fills `count` elements of a float dtype with random -most to most. */
void groat__element_fill(const groat__element *element, uint64_t seed,
                         size_t count, double most, void *to);

/* Returns the distance of two floats in units in the last place: how many steps
 * of the dtype lie between them.  Two NaNs: 0; one NaN: UINT64_MAX. */
uint64_t groat__element_ulps(const groat__element *element, const void *a,
                             const void *b);

#endif
