/* SPDX-License-Identifier: Apache-2.0
 *
 * number.c reads the numbers that matrix instructions multiply: bf16, f16, and
 * the 8-bit floats fp8 (e4m3) and bf8 (e5m2).
 *
 * Formulas: OCP 8-bit floating point specification, and the FNUZ variants of
 * CDNA3.
 */
#include "judge/number.h"

#include <math.h>
#include <string.h>

enum { MANTISSA = 23, BIAS = 127 }; /* of a float */

static float from_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* A small float: sign, `exponent` bits with this bias, `mantissa` bits; no
 * infinities or NaNs. */
static float small_float(uint32_t bits, int exponent, int mantissa, int bias)
{
    int e = (int)(bits >> mantissa) & ((1 << exponent) - 1);
    int m = (int)bits & ((1 << mantissa) - 1);
    uint32_t negative = bits >> (exponent + mantissa) & 1;

    if (e == 0)
        return (negative ? -1.0f : 1.0f) *
               ldexpf((float)m, 1 - bias - mantissa);
    return from_bits(negative << 31 | (uint32_t)(e - bias + BIAS) << MANTISSA |
                     (uint32_t)m << (MANTISSA - mantissa));
}

static float from_f16(uint32_t bits)
{
    if ((bits & 0x7c00) == 0x7c00)
        return from_bits((bits & 0x8000) << 16 | 0x7f800000 |
                         (bits & 0x3ff) << 13);
    return small_float(bits, 5, 10, 15);
}

static float from_fp8(uint32_t bits, bool fnuz)
{
    if (fnuz ? bits == 0x80 : (bits & 0x7f) == 0x7f)
        return NAN;
    return small_float(bits, 4, 3, fnuz ? 8 : 7);
}

static float from_bf8(uint32_t bits, bool fnuz)
{
    if (fnuz ? bits == 0x80 : (bits & 0x7f) > 0x7c)
        return NAN;
    if (!fnuz && (bits & 0x7f) == 0x7c)
        return bits & 0x80 ? -INFINITY : INFINITY;
    return small_float(bits, 5, 2, fnuz ? 16 : 15);
}

float groat__judge_number(unsigned number, bool fnuz,
                          const unsigned char *operand, unsigned index)
{
    uint16_t half;

    if (number == GROAT_CPU_FP8)
        return from_fp8(operand[index], fnuz);
    if (number == GROAT_CPU_BF8)
        return from_bf8(operand[index], fnuz);
    memcpy(&half, operand + 2 * index, sizeof(half));
    return number == GROAT_CPU_F16 ? from_f16(half)
                                   : from_bits((uint32_t)half << 16);
}
