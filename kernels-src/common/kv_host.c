/* SPDX-License-Identifier: Apache-2.0
 *
 * kv_host.c is the part of the kv drivers that knows tiles and numbers: the
 * closed form of a tile's image, input that shows mistakes, 16-bit numbers and
 * the error that a sum of their products may have.  The driver of the families
 * with one slab is kv_driver.c.
 * Invariant: nothing here is shared with the kernels.  Locking: none, no state.
 */
#include "kv_host.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int64_t groat__kv_value(const groat_spec *spec, const char *name)
{
    int64_t value = 0;

    (void)groat_spec_get(spec, name, &value, NULL);
    return value;
}

bool groat__kv_on_cpu(const groat_spec *spec)
{
    return strncmp(groat_spec_target(spec), "cpu:", 4) == 0;
}

groat_status groat__kv_refuse(const groat_spec *spec, const char *what,
                              int64_t seen, const char *rule,
                              groat_error *error)
{
    const char *text = groat_spec_text(spec);

    if (error != NULL) {
        error->status = GROAT_INVALID;
        (void)snprintf(error->text, sizeof(error->text), "%.*s: %s is %lld; %s",
                       (int)strcspn(text, ":"), text, what, (long long)seen,
                       rule);
    }
    return GROAT_INVALID;
}

/* ---- images ------------------------------------------------------------- */

static int64_t swizzle(const groat__kv_tile *t, int64_t x)
{
    int64_t field = ((int64_t)1 << t->bits) - 1;

    if (t->shift >= 0)
        return x ^ ((x >> t->shift) & (field << t->base));
    return x ^ ((x & (field << t->base)) << -t->shift);
}

/* Which number of the tile begins the 16 bytes at byte b. */
static void locate(const groat__kv_tile *t, int64_t b, int64_t *row,
                   int64_t *col)
{
    int64_t across = t->panel / 32;
    int64_t square = b / 2048;
    int64_t in_panel = square % (t->rows / 32 * across);
    int64_t vector = swizzle(t, b % 2048 / 16);

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

void groat__kv_fold(const unsigned char *image, int64_t bytes, int64_t threads,
                    unsigned char *sums)
{
    for (int64_t b = 0; b < bytes; b++)
        sums[b % (threads * 16)] ^= image[b];
}

/* ---- input -------------------------------------------------------------- */

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static uint64_t draw(uint64_t *state)
{
    return mix(*state += 0x9E3779B97F4A7C15u);
}

static bool has_zero_byte(uint64_t word)
{
    return ((word - 0x0101010101010101u) & ~word & 0x8080808080808080u) != 0;
}

void groat__kv_fill_bytes(uint64_t seed, void *data, size_t bytes)
{
    unsigned char *to = data;
    uint64_t state = mix(seed + 0x9E3779B97F4A7C15u);

    while (bytes > 0) {
        size_t count = bytes < 8 ? bytes : 8;
        uint64_t word;

        do
            word = draw(&state);
        while (has_zero_byte(word));
        memcpy(to, &word, count);
        to += count;
        bytes -= count;
    }
}

/* Sign, one of six exponents below that of 1, any mantissa. */
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
    uint64_t state = mix(seed + 0x9E3779B97F4A7C15u);

    for (size_t i = 0; i < count; i++) {
        uint64_t random = draw(&state);

        to[i] = real ? real_number(random, f16)
                     : groat__kv_round(f16, (double)((random >> 32) % 7) - 3);
    }
}

/* ---- numbers ------------------------------------------------------------ */

double groat__kv_number(bool f16, uint16_t bits)
{
    int mantissa_bits = f16 ? 10 : 7;
    int exponent_max = f16 ? 31 : 255;
    int bias = f16 ? 15 : 127;
    int exponent = bits >> mantissa_bits & exponent_max;
    int mantissa = bits & ((1 << mantissa_bits) - 1);
    double sign = bits & 0x8000 ? -1.0 : 1.0;

    if (exponent == exponent_max)
        return mantissa != 0 ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * ldexp(mantissa + (1 << mantissa_bits),
                        exponent - bias - mantissa_bits);
}

/* x as a count of units of its last place, rounded. */
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
    /* A carry out of the mantissa counts the exponent up, as it should. */
    bits += (int64_t)(exponent + bias - 1) << mantissa_bits;
    return (uint16_t)(sign | (bits < infinite ? bits : infinite));
}

double groat__kv_slack(int64_t terms, double total)
{
    return ldexp((double)terms + 2, -23) * total;
}
