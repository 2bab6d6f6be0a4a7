/* SPDX-License-Identifier: Apache-2.0
 *
 * compare.h - compares a kernel's outputs with the expected ones.
 */
#ifndef GROAT_CLI_COMPARE_H
#define GROAT_CLI_COMPARE_H

#include "kernels-src/driver/element.h"
#include "kernels-src/driver/driver.h"

/* The result of comparing all outputs of a launch.  Start from {0}. */
typedef struct groat__comparison {
    uint64_t bytes;      /* bytes compared                                    */
    uint64_t mismatches; /* wrong bytes among them                            */
    const groat_buffer *first; /* the buffer of the first wrong byte, or NULL */
    uint64_t first_offset;
    bool first_unwritten; /* the element is as it was filled before */
    bool first_unset;     /* what is expected may be what a reference found */
    char first_want[GROAT__ELEMENT_TEXT]; /* the element of that byte, or    */
    char first_have[GROAT__ELEMENT_TEXT]; /* the byte, if it has no type     */
    double norm; /* ||got - want|| / ||want|| of the worst buffer of floats */
    const groat_buffer *norm_of; /* that buffer, or NULL                    */
    uint64_t ulps; /* largest error of outputs with a tolerance in ulps */
    bool has_ulps;
} groat__comparison;

/* Compares an output with the expected one: by the buffer's tolerance, or, if
 * allowed is not NULL, as floats that may differ by allowed[i]. */
void groat__compare(groat__comparison *sum, const groat_buffer *buffer,
                    const float *allowed, const void *want, const void *got);

/* Writes "y[3, 1020]", or "image[17]" for a buffer of bytes. */
void groat__compare_place(const groat_buffer *buffer, uint64_t offset,
                          char *out, size_t room);

#endif
