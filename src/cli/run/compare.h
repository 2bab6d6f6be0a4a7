/* SPDX-License-Identifier: Apache-2.0
 *
 * compare.h - what a kernel wrote against what was expected.
 */
#ifndef GROAT_CLI_COMPARE_H
#define GROAT_CLI_COMPARE_H

#include "kernels-src/driver/element.h"
#include "kernels-src/driver/driver.h"

/* What the comparison of all outputs of a launch came to.  Start from {0}. */
typedef struct groat__comparison {
    uint64_t bytes;      /* compared                                          */
    uint64_t mismatches; /* of them, wrong                                    */
    const groat_buffer *first; /* the buffer of the first wrong byte, or NULL */
    uint64_t first_offset;
    unsigned first_expected; /* that byte */
    unsigned first_got;
    char first_want[GROAT__ELEMENT_TEXT]; /* the element that it lies in,    */
    char first_have[GROAT__ELEMENT_TEXT]; /* where there are some            */
    long double norm_error; /* sums of squares over all floats of run.def, in */
    long double norm_want;  /* a type that holds the square of any double     */
    bool has_norm;
    uint64_t ulps; /* the largest distance, of outputs with that tolerance */
    bool has_ulps;
} groat__comparison;

/* Compares an output with what was expected: by the buffer's tolerance, or,
 * where allowed is not NULL, floats that may differ by so much. */
void groat__compare(groat__comparison *sum, const groat_buffer *buffer,
                    const float *allowed, const void *want, const void *got);

/* ||got - want|| / ||want||, of all floats. */
double groat__compare_norm(const groat__comparison *sum);

/* "y[3, 1020]", or "image[17]" of a buffer of bytes. */
void groat__compare_place(const groat_buffer *buffer, uint64_t offset,
                          char *out, size_t room);

#endif
