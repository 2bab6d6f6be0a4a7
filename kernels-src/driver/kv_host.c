/* SPDX-License-Identifier: Apache-2.0
 *
 * kv_host.c is the part of the kv drivers that knows tiles and numbers: the
 * closed form of a tile's image, input that shows mistakes, 16-bit numbers and
 * the error bound of a sum of their products.  The driver of the families with
 * one slab is kv_driver.c.
 * Invariant: nothing here is shared with the kernels.  Locking: none, no state.
 */
#include "kv_host.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

groat_status groat__kv_refuse(const groat_spec *spec, const char *what,
                              int64_t seen, const char *rule,
                              groat_error *error)
{
    return groat__host_refuse(error, groat_spec_family(spec), what, seen, "%s",
                              rule);
}

/* ---- images ------------------------------------------------------------- */

/* Finds the number of the tile at which the 16 bytes at byte b begin. */
static void locate(const groat__kv_tile *t, int64_t b, int64_t *row,
                   int64_t *col)
{
    int64_t across = t->panel / 32;
    int64_t square = b / 2048;
    int64_t in_panel = square % (t->rows / 32 * across);
    int64_t vector =
        groat__host_swizzle(t->bits, t->base, t->shift, b % 2048 / 16);

    *row = in_panel / across * 32 + vector / 4;
    *col = square / (t->rows / 32 * across) * t->panel +
           in_panel % across * 32 + vector % 4 * 8;
}

void groat__kv_expect_tile(const groat__kv_tile *t, const uint16_t *source,
                           int64_t first, int64_t valid, unsigned char *image)
{
    for (int64_t b = 0; b < t->rows * t->cols * 2; b += 16) {
        int64_t row;
        int64_t col;

        locate(t, b, &row, &col);
        if (row < valid)
            memcpy(image + b, source + first + row * t->ld + col, 16);
        else
            memset(image + b, 0, 16);
    }
}

/* ---- input -------------------------------------------------------------- */

/* A random sign and mantissa, and one of six exponents below that of 1. */
static uint16_t real_number(uint64_t random, bool f16)
{
    unsigned low = (unsigned)(random & 0xffff);
    unsigned exponent = (unsigned)(random >> 32) % 6 + (f16 ? 9 : 121);

    return (uint16_t)(f16 ? (low & 0x83ff) | exponent << 10
                          : (low & 0x807f) | exponent << 7);
}

void groat__kv_fill_numbers(uint64_t seed, bool f16, bool real, void *data,
                            size_t count)
{
    uint16_t *to = data;
    uint64_t state = groat__host_mix(seed + 0x9E3779B97F4A7C15u);

    for (size_t i = 0; i < count; i++) {
        uint64_t random = groat__host_draw(&state);

        to[i] = real ? real_number(random, f16)
                     : groat__kv_round(f16, (double)((random >> 32) % 7) - 3);
    }
}

/* ---- numbers ------------------------------------------------------------ */

double groat__kv_number(bool f16, uint16_t bits)
{
    groat__host_format format = groat__host_format_of(f16, false);

    return groat__host_number(&format, bits);
}

/* Rounds |x| to a count of units in the last place. */
uint16_t groat__kv_round(bool f16, double x)
{
    int mantissa_bits = f16 ? 10 : 7;
    int exponent_max = f16 ? 31 : 255;
    int bias = f16 ? 15 : 127;
    unsigned sign = signbit(x) ? 0x8000 : 0;
    int64_t infinite = (int64_t)exponent_max << mantissa_bits;
    int exponent;
    int64_t bits;
    double units;

    if (isnan(x))
        return (uint16_t)(sign | infinite | 1 << (mantissa_bits - 1));
    if (isinf(x) || x == 0)
        return (uint16_t)(sign | (x == 0 ? 0 : infinite));
    (void)frexp(x, &exponent);
    exponent = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    units = ldexp(fabs(x), mantissa_bits - exponent);
    bits = (int64_t)units;
    units -= (double)bits;
    if (units > 0.5 || (units == 0.5 && bits % 2 != 0))
        bits++;
    /* A carry out of the mantissa correctly increments the exponent. */
    bits += (int64_t)(exponent + bias - 1) << mantissa_bits;
    return (uint16_t)(sign | (bits < infinite ? bits : infinite));
}

double groat__kv_slack(int64_t terms, double total)
{
    return ldexp((double)terms + 2, -23) * total;
}
