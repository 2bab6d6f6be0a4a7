/* SPDX-License-Identifier: Apache-2.0
 *
 * compare.c - compares outputs with the expected ones: byte by byte, or element
 * by element within a tolerance.
 */
#include "cli/run/compare.h"
#include "cli/family/reference.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Whether an expected element may be one that a reference has not written. */
static bool is_unset(const groat__element *element, const unsigned char *want)
{
    bool filled = true;

    if (element == NULL)
        return false;
    if (element->kind == GROAT__ELEMENT_FLOAT)
        return isnan(groat__element_load(element, want));
    for (int i = 0; i < element->bytes; i++)
        filled = filled && want[i] == GROAT__REFERENCE_FILL;
    return filled;
}

/* Whether both are NaNs of a dtype of 16 or 8 bits: a reference, which has
 * floats, cannot say with which bits. */
static bool are_nans(const groat__element *element, const unsigned char *want,
                     const unsigned char *got)
{
    return element != NULL && element->kind == GROAT__ELEMENT_FLOAT &&
           element->bytes <= 2 && isnan(groat__element_load(element, want)) &&
           isnan(groat__element_load(element, got));
}

static void note_first(groat__comparison *sum, const groat_buffer *buffer,
                       size_t offset, const unsigned char *want,
                       const unsigned char *got)
{
    size_t width = buffer->element ? (size_t)buffer->element->bytes : 1;
    size_t at = offset / width * width;

    sum->first = buffer;
    sum->first_offset = offset;
    sum->first_unwritten = !buffer->filled;
    for (size_t i = 0; i < width; i++)
        sum->first_unwritten &=
            got[at + i] == groat__element_poison(buffer->element, at + i);
    sum->first_unset = is_unset(buffer->element, want + at);
    if (buffer->element) {
        groat__element_text(buffer->element, want + at, sum->first_want);
        groat__element_text(buffer->element, got + at, sum->first_have);
    } else {
        (void)snprintf(sum->first_want, sizeof(sum->first_want), "0x%02x",
                       want[offset]);
        (void)snprintf(sum->first_have, sizeof(sum->first_have), "0x%02x",
                       got[offset]);
    }
}

static void compare_bytes(groat__comparison *sum, const groat_buffer *buffer,
                          const unsigned char *want, const unsigned char *got)
{
    size_t width = buffer->element ? (size_t)buffer->element->bytes : 1;

    if (buffer->bytes == 0 || memcmp(want, got, buffer->bytes) == 0)
        return;
    for (size_t i = 0; i < buffer->bytes; i++)
        if (want[i] != got[i] &&
            !are_nans(buffer->element, want + i / width * width,
                      got + i / width * width) &&
            !sum->mismatches++)
            note_first(sum, buffer, i, want, got);
}

static void compare_floats(groat__comparison *sum, const groat_buffer *buffer,
                           const float *allowed, const float *want,
                           const float *got)
{
    for (size_t i = 0; i < buffer->bytes / sizeof(*want); i++) {
        /* The comparison is false, hence a mismatch, if either is a NaN. */
        if (fabsf(want[i] - got[i]) <= allowed[i])
            continue;
        if (!sum->mismatches)
            note_first(sum, buffer, i * sizeof(*want),
                       (const unsigned char *)want, (const unsigned char *)got);
        sum->mismatches += sizeof(*want);
    }
}

/* Returns the root mean square of the finite elements. */
static double mean_size(const groat_buffer *buffer, const unsigned char *want)
{
    size_t width = (size_t)buffer->element->bytes;
    size_t count = 0;
    long double sum = 0;

    for (size_t at = 0; at < buffer->bytes; at += width) {
        long double value = groat__element_load(buffer->element, want + at);

        if (!isfinite((double)value))
            continue;
        sum += value * value;
        count++;
    }
    return count ? (double)sqrtl(sum / (long double)count) : 0;
}

static bool is_near(const groat_buffer *buffer, double size,
                    const unsigned char *want, const unsigned char *got)
{
    double expected = groat__element_load(buffer->element, want);
    double found = groat__element_load(buffer->element, got);
    double reach = fabs(expected) > size ? fabs(expected) : size;

    if (buffer->tolerance == GROAT_TOLERANCE_ULP)
        return (double)groat__element_ulps(buffer->element, want, got) <=
               buffer->allowed;
    if (!isfinite(expected))
        return isnan(expected) ? isnan(found) : found == expected;
    return fabs(found - expected) <= buffer->allowed * reach;
}

static void compare_elements(groat__comparison *sum, const groat_buffer *buffer,
                             const unsigned char *want,
                             const unsigned char *got)
{
    size_t width = (size_t)buffer->element->bytes;
    double size = buffer->tolerance == GROAT_TOLERANCE_RELATIVE
                      ? mean_size(buffer, want)
                      : 0;

    for (size_t at = 0; at < buffer->bytes; at += width) {
        if (is_near(buffer, size, want + at, got + at))
            continue;
        if (!sum->mismatches)
            note_first(sum, buffer, at, want, got);
        sum->mismatches += width;
    }
}

/* Keeps the worst: an output of small numbers must not hide behind others. */
static void note_norm(groat__comparison *sum, const groat_buffer *buffer,
                      double norm)
{
    if (sum->norm_of && !isnan(norm) && !(norm > sum->norm))
        return;
    sum->norm = norm;
    sum->norm_of = buffer;
}

/* Sums squares: a long double holds the square of any double. */
static void add_norm(groat__comparison *sum, const groat_buffer *buffer,
                     const unsigned char *want, const unsigned char *got)
{
    size_t width = (size_t)buffer->element->bytes;
    long double error = 0;
    long double size = 0;

    sum->has_ulps = sum->has_ulps || buffer->tolerance == GROAT_TOLERANCE_ULP;
    for (size_t at = 0; at < buffer->bytes; at += width) {
        long double expected = groat__element_load(buffer->element, want + at);
        long double found = groat__element_load(buffer->element, got + at);

        if (buffer->tolerance == GROAT_TOLERANCE_ULP) {
            uint64_t ulps =
                groat__element_ulps(buffer->element, want + at, got + at);

            sum->ulps = ulps > sum->ulps ? ulps : sum->ulps;
        }
        if (memcmp(want + at, got + at, width) != 0 &&
            !(isnan((double)expected) && isnan((double)found)))
            error += (found - expected) * (found - expected);
        if (isfinite((double)expected))
            size += expected * expected;
    }
    note_norm(sum, buffer,
              size > 0                            ? (double)sqrtl(error / size)
              : error > 0 || isnan((double)error) ? (double)error * INFINITY
                                                  : 0);
}

void groat__compare(groat__comparison *sum, const groat_buffer *buffer,
                    const float *allowed, const void *want, const void *got)
{
    sum->bytes += buffer->bytes;
    if (buffer->element && buffer->element->kind == GROAT__ELEMENT_FLOAT)
        add_norm(sum, buffer, want, got);
    if (allowed)
        compare_floats(sum, buffer, allowed, want, got);
    else if (buffer->element && buffer->tolerance != GROAT_TOLERANCE_EXACT)
        compare_elements(sum, buffer, want, got);
    else
        compare_bytes(sum, buffer, want, got);
}

void groat__compare_place(const groat_buffer *buffer, uint64_t offset,
                          char *out, size_t room)
{
    uint64_t index = offset;
    uint64_t at[GROAT_RANK] = {0};
    size_t rank = buffer->element ? buffer->rank : 0;
    int len;

    if (buffer->element)
        index /= (uint64_t)buffer->element->bytes;
    len = snprintf(out, room, "%s[", buffer->name);
    for (size_t k = rank; k-- > 0 && buffer->shape[k] > 0;) {
        at[k] = k > 0 ? index % (uint64_t)buffer->shape[k] : index;
        index /= (uint64_t)buffer->shape[k];
    }
    for (size_t k = 0; k < rank && len > 0 && (size_t)len < room; k++)
        len += snprintf(out + len, room - (size_t)len, "%s%" PRIu64,
                        k > 0 ? ", " : "", at[k]);
    if (len < 0 || (size_t)len >= room)
        return;
    if (rank)
        (void)snprintf(out + len, room - (size_t)len, "]");
    else
        (void)snprintf(out + len, room - (size_t)len, "%" PRIu64 "]", index);
}
