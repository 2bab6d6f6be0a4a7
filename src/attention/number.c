/* SPDX-License-Identifier: Apache-2.0
 *
 * number.c reads numbers of 16 and 8 bits by their definition.  Nothing of it
 * is shared with the kernels.
 */
#include "attention/number.h"

#include <math.h>
#include <string.h>

/* Bits of a dtype. */
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
