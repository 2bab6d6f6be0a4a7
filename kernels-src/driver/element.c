/* SPDX-License-Identifier: Apache-2.0
 *
 * element.c reads, rounds and compares the numbers of buffers.  Formats: IEEE
 * 754 for f64, f32, f16; bf16 is the upper half of an f32; e4m3 and e5m2 are
 * those of the OCP 8-bit floating point specification, the fnuz ones CDNA3's.
 */
#include "element.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shared.h"

static const groat__element elements[] = {
    {"f64", "<f8", "double", GROAT__ELEMENT_FLOAT, 8, 11, 52, 1023, true,
     false},
    {"f32", "<f4", "float", GROAT__ELEMENT_FLOAT, 4, 8, 23, 127, true, false},
    {"bf16", "<u2", "float", GROAT__ELEMENT_FLOAT, 2, 8, 7, 127, true, false},
    {"f16", "<f2", "float", GROAT__ELEMENT_FLOAT, 2, 5, 10, 15, true, false},
    {"e4m3", "|u1", "float", GROAT__ELEMENT_FLOAT, 1, 4, 3, 7, false, false},
    {"e5m2", "|u1", "float", GROAT__ELEMENT_FLOAT, 1, 5, 2, 15, true, false},
    {"e4m3fnuz", "|u1", "float", GROAT__ELEMENT_FLOAT, 1, 4, 3, 8, false, true},
    {"e5m2fnuz", "|u1", "float", GROAT__ELEMENT_FLOAT, 1, 5, 2, 16, false,
     true},
    {"i8", "|i1", "signed char", GROAT__ELEMENT_SIGNED, 1, 0, 0, 0, false,
     false},
    {"u8", "|u1", "unsigned char", GROAT__ELEMENT_UNSIGNED, 1, 0, 0, 0, false,
     false},
    {"i16", "<i2", "short", GROAT__ELEMENT_SIGNED, 2, 0, 0, 0, false, false},
    {"u16", "<u2", "unsigned short", GROAT__ELEMENT_UNSIGNED, 2, 0, 0, 0, false,
     false},
    {"i32", "<i4", "int", GROAT__ELEMENT_SIGNED, 4, 0, 0, 0, false, false},
    {"u32", "<u4", "unsigned", GROAT__ELEMENT_UNSIGNED, 4, 0, 0, 0, false,
     false},
    {"i64", "<i8", "long long", GROAT__ELEMENT_SIGNED, 8, 0, 0, 0, false,
     false},
    {"u64", "<u8", "unsigned long long", GROAT__ELEMENT_UNSIGNED, 8, 0, 0, 0,
     false, false},
};

const groat__element *groat__element_find(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); i++)
        if (strlen(elements[i].name) == len &&
            memcmp(elements[i].name, name, len) == 0)
            return &elements[i];
    return NULL;
}

static uint64_t bits_at(const groat__element *e, const void *at)
{
    uint64_t bits = 0;

    /* Hosts are little-endian.  Lengths that the compiler knows are fast. */
    switch (e->bytes) {
    case 1:
        memcpy(&bits, at, 1);
        break;
    case 2:
        memcpy(&bits, at, 2);
        break;
    case 4:
        memcpy(&bits, at, 4);
        break;
    default:
        memcpy(&bits, at, 8);
    }
    return bits;
}

static bool is_negative(const groat__element *e, uint64_t bits)
{
    return bits >> (8 * e->bytes - 1) & 1;
}

static uint64_t magnitude(const groat__element *e, uint64_t bits)
{
    return bits & (((uint64_t)1 << (8 * e->bytes - 1)) - 1);
}

/* The bits of the largest finite number. */
static uint64_t largest(const groat__element *e)
{
    uint64_t all = ((uint64_t)1 << (8 * e->bytes - 1)) - 1;

    if (e->infinite) /* below infinity */
        return (((uint64_t)1 << e->exponent) - 1) *
                   ((uint64_t)1 << e->mantissa) -
               1;
    return e->fnuz ? all : all - 1;
}

static bool is_nan(const groat__element *e, uint64_t bits)
{
    if (e->fnuz)
        return is_negative(e, bits) && magnitude(e, bits) == 0;
    return magnitude(e, bits) > largest(e) + (e->infinite ? 1 : 0);
}

enum { DOUBLE_MANTISSA = 52, DOUBLE_BIAS = 1023 };

static double float_of(const groat__element *e, uint64_t bits)
{
    uint64_t size = magnitude(e, bits);
    uint64_t exponent = size >> e->mantissa;
    bool is_top = exponent == ((uint64_t)1 << e->exponent) - 1;
    double x;

    if ((exponent == 0 || is_top) && is_nan(e, bits))
        return NAN;
    if (is_top && size > largest(e))
        x = INFINITY;
    else if (exponent == 0) /* zero, or subnormal */
        x = ldexp((double)size, 1 - e->bias - e->mantissa);
    else { /* the same exponent and mantissa in the places of a double */
        size = (size << (DOUBLE_MANTISSA - e->mantissa)) +
               ((uint64_t)(DOUBLE_BIAS - e->bias) << DOUBLE_MANTISSA);
        memcpy(&x, &size, sizeof(x));
    }
    return is_negative(e, bits) ? -x : x;
}

double groat__element_load(const groat__element *e, const void *at)
{
    uint64_t bits = bits_at(e, at);
    int unused = 64 - 8 * e->bytes;

    if (e->kind == GROAT__ELEMENT_FLOAT)
        return float_of(e, bits);
    if (e->kind == GROAT__ELEMENT_UNSIGNED)
        return (double)bits;
    return (double)((int64_t)(bits << unused) >> unused);
}

void groat__element_text(const groat__element *e, const void *at,
                         char out[GROAT__ELEMENT_TEXT])
{
    uint64_t bits = bits_at(e, at);
    int unused = 64 - 8 * e->bytes;

    if (e->kind == GROAT__ELEMENT_UNSIGNED)
        (void)snprintf(out, GROAT__ELEMENT_TEXT, "%" PRIu64, bits);
    else if (e->kind == GROAT__ELEMENT_SIGNED)
        (void)snprintf(out, GROAT__ELEMENT_TEXT, "%" PRId64,
                       (int64_t)(bits << unused) >> unused);
    else if (is_nan(e, bits))
        (void)snprintf(out, GROAT__ELEMENT_TEXT, "nan (0x%" PRIx64 ")", bits);
    else
        (void)snprintf(out, GROAT__ELEMENT_TEXT, "%.*g", e->bytes == 8 ? 17 : 9,
                       float_of(e, bits));
}

/* Rounds a value that is neither NaN nor negative; returns its magnitude. */
static uint64_t round_size(const groat__element *e, double value)
{
    uint64_t most = largest(e);
    int exponent;
    double steps;
    uint64_t bits;

    if (value == 0)
        return 0;
    if (isinf(value))
        return e->infinite ? most + 1 : most;
    (void)frexp(value, &exponent);
    exponent += e->bias - 1; /* biased, as it is stored */
    if (exponent < 1)
        exponent = 1; /* subnormal: the step of the least exponent */
    /* rint() rounds ties to even; a carry goes into the exponent. */
    steps = rint(ldexp(value, e->mantissa - (exponent - e->bias)));
    bits = ((uint64_t)(exponent - 1) << e->mantissa) + (uint64_t)steps;
    return bits <= most ? bits : e->infinite ? most + 1 : most;
}

static uint64_t float_bits(const groat__element *e, double value)
{
    uint64_t sign = (uint64_t)1 << (8 * e->bytes - 1);
    uint64_t size;

    if (isnan(value))
        return e->fnuz ? sign : sign - 1;
    size = round_size(e, fabs(value));
    return signbit(value) && !(e->fnuz && size == 0) ? sign | size : size;
}

static uint64_t integer_bits(const groat__element *e, double value)
{
    bool is_signed = e->kind == GROAT__ELEMENT_SIGNED;
    int width = 8 * e->bytes - (is_signed ? 1 : 0);
    double top = ldexp(1, width);

    value = isnan(value) ? 0 : rint(value);
    if (value >= top)
        return ~(uint64_t)0 >> (64 - width);
    if (is_signed && value < -top)
        return (uint64_t)1 << width;
    if (value < 0)
        return is_signed ? (uint64_t)(int64_t)value : 0;
    return (uint64_t)value;
}

void groat__element_store(const groat__element *e, double value, void *at)
{
    uint64_t bits = e->kind == GROAT__ELEMENT_FLOAT ? float_bits(e, value)
                                                    : integer_bits(e, value);

    memcpy(at, &bits, (size_t)e->bytes);
}

void groat__element_fill(const groat__element *e, uint64_t seed, size_t count,
                         double most, void *to)
{
    uint64_t state = groat__host_mix(seed);

    for (size_t i = 0; i < count; i++)
        groat__element_store(
            e, most * ((double)(groat__host_draw(&state) >> 11) * 0x1p-52 - 1),
            (unsigned char *)to + i * (size_t)e->bytes);
}

uint64_t groat__element_ulps(const groat__element *e, const void *a,
                             const void *b)
{
    uint64_t one = bits_at(e, a);
    uint64_t other = bits_at(e, b);
    uint64_t first = magnitude(e, one);
    uint64_t second = magnitude(e, other);

    if (is_nan(e, one) || is_nan(e, other))
        return is_nan(e, one) && is_nan(e, other) ? 0 : UINT64_MAX;
    if (is_negative(e, one) != is_negative(e, other))
        return first + second;
    return first > second ? first - second : second - first;
}

unsigned char groat__element_poison(const groat__element *element, uint64_t at)
{
    if (element == NULL)
        return 0x7F;
    if (element->fnuz)
        return 0x80;
    if (element->kind == GROAT__ELEMENT_FLOAT || element->bytes > 1)
        return 0x7F;
    return (unsigned char)(at * 167 + at / 256 * 29 + 91);
}

void groat__element_spoil(const groat__element *element, uint64_t bytes,
                          void *data)
{
    unsigned char *to = data;
    bool changes = element != NULL && element->bytes == 1 &&
                   element->kind != GROAT__ELEMENT_FLOAT;

    if (!changes)
        memset(data, groat__element_poison(element, 0), bytes);
    for (uint64_t i = 0; changes && i < bytes; i++)
        to[i] = groat__element_poison(element, i);
}
