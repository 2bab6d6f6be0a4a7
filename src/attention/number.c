/* SPDX-License-Identifier: Apache-2.0
 *
 * number.c loads and stores numbers of 16 and 8 bits by their definition.
 * It shares no code with the kernels.
 */
#include "attention/number.h"

#include <math.h>
#include <string.h>

/* The bits of a format's exponent and mantissa. */
typedef struct format {
    int exponent, mantissa;
} format;

static format format_of(groat_decode_dtype dtype)
{
    return dtype == GROAT_DECODE_E4M3  ? (format){4, 3}
           : dtype == GROAT_DECODE_F16 ? (format){5, 10}
                                       : (format){8, 7};
}

static double value_of(format f, unsigned bits)
{
    int bias = (1 << (f.exponent - 1)) - 1;
    int exponent = (int)(bits >> f.mantissa) & ((1 << f.exponent) - 1);
    unsigned mantissa = bits & ((1u << f.mantissa) - 1);
    double sign = bits >> (f.exponent + f.mantissa) & 1 ? -1 : 1;

    if (exponent == 0)
        return sign * ldexp(mantissa, 1 - bias - f.mantissa);
    if (exponent == (1 << f.exponent) - 1 && f.exponent > 4)
        return mantissa == 0 ? sign * INFINITY : (double)NAN;
    return sign *
           ldexp(mantissa + (1u << f.mantissa), exponent - bias - f.mantissa);
}

double groat__number_load(groat_decode_dtype dtype, uint64_t address,
                          uint64_t index)
{
    uint16_t bits;

    if (dtype == GROAT_DECODE_E4M3)
        return value_of(format_of(dtype),
                        ((const uint8_t *)groat__in_host(address))[index]);
    memcpy(&bits, (const char *)groat__in_host(address) + 2 * index,
           sizeof(bits));
    return value_of(format_of(dtype), bits);
}

/* The bits of the number nearest to a magnitude.  If rounding carries out of
 * the mantissa, the exponent grows by one. */
static unsigned nearest(format f, double size)
{
    int bias = (1 << (f.exponent - 1)) - 1;
    int exponent = size > 0 ? ilogb(size) : 1 - bias;
    unsigned units;

    if (exponent < 1 - bias)
        exponent = 1 - bias;
    units = (unsigned)nearbyint(ldexp(size, f.mantissa - exponent));
    if (units < 1u << f.mantissa)
        return units;
    return units - (1u << f.mantissa) +
           ((unsigned)(exponent + bias) << f.mantissa);
}

static unsigned bits_of(format f, double value)
{
    unsigned sign = signbit(value) ? 1u << (f.exponent + f.mantissa) : 0;
    unsigned infinite = ((1u << f.exponent) - 1) << f.mantissa;
    /* E4M3 has no infinity, and one NaN above the largest number. */
    unsigned most = f.exponent > 4 ? infinite : 0x7E;
    unsigned bits;

    if (isnan(value))
        return sign |
               (f.exponent > 4 ? infinite | 1u << (f.mantissa - 1) : 0x7F);
    bits = isinf(value) ? most : nearest(f, fabs(value));
    return sign | (bits > most ? most : bits);
}

void groat__number_store(groat_decode_dtype dtype, uint64_t address,
                         uint64_t index, float value)
{
    unsigned bits = bits_of(format_of(dtype), value);
    uint16_t wide = (uint16_t)bits;

    if (dtype == GROAT_DECODE_E4M3)
        ((uint8_t *)groat__in_host(address))[index] = (uint8_t)bits;
    else
        memcpy((char *)groat__in_host(address) + 2 * index, &wide,
               sizeof(wide));
}
