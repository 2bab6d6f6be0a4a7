/* SPDX-License-Identifier: Apache-2.0
 *
 * shared.c has the helpers that every driver of `groat run` needs; what a
 * family's bytes mean is the business of its own host.c.
 * Invariant: nothing here is shared with the kernels.  Locking: none, no state.
 */
#include "shared.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int64_t groat__host_value(const groat_spec *spec, const char *name)
{
    int64_t value = 0;

    (void)groat_spec_get(spec, name, &value, NULL);
    return value;
}

bool groat__host_on_cpu(const groat_spec *spec)
{
    return strncmp(groat_spec_target(spec), "cpu:", 4) == 0;
}

groat_status groat__host_refuse(groat_error *error, const char *family,
                                const char *what, int64_t seen,
                                const char *rule, ...)
{
    char text[256];
    va_list args;

    if (error == NULL)
        return GROAT_INVALID;
    va_start(args, rule);
    (void)vsnprintf(text, sizeof(text), rule, args);
    va_end(args);
    error->status = GROAT_INVALID;
    (void)snprintf(error->text, sizeof(error->text), "%s: %s is %lld; %s",
                   family, what, (long long)seen, text);
    return GROAT_INVALID;
}

groat_status groat__host_check_pages(const uint32_t *row, int64_t keys,
                                     int64_t page, int64_t blocks,
                                     const char *family, groat_error *error)
{
    for (int64_t i = 0; i * page < keys; i++)
        if (row[i] >= blocks)
            return groat__host_refuse(
                error, family, "a block of the page table", row[i],
                "the cache has %lld blocks", (long long)blocks);
    return GROAT_OK;
}

groat_status groat__host_starve(groat_error *error, const char *family,
                                const char *what)
{
    if (error != NULL) {
        error->status = GROAT_NO_MEMORY;
        (void)snprintf(error->text, sizeof(error->text), "%s: no memory for %s",
                       family, what);
    }
    return GROAT_NO_MEMORY;
}

/* ---- random input -------------------------------------------------------- */

void groat__host_add_buffer(groat_plan *plan, const char *name, int64_t bytes,
                            bool output)
{
    groat_buffer *buffer = &plan->buffers[plan->buffer_count++];

    buffer->name = name;
    buffer->bytes = (size_t)bytes;
    buffer->output = output;
}

uint64_t groat__host_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

uint64_t groat__host_draw(uint64_t *state)
{
    return groat__host_mix(*state += 0x9E3779B97F4A7C15u);
}

static bool has_zero_byte(uint64_t word)
{
    return ((word - 0x0101010101010101u) & ~word & 0x8080808080808080u) != 0;
}

void groat__host_fill(uint64_t seed, void *data, size_t bytes)
{
    unsigned char *to = data;
    uint64_t state = groat__host_mix(seed + 0x9E3779B97F4A7C15u);

    while (bytes > 0) {
        size_t count = bytes < 8 ? bytes : 8;
        uint64_t word;

        do
            word = groat__host_draw(&state);
        while (has_zero_byte(word));
        memcpy(to, &word, count);
        to += count;
        bytes -= count;
    }
}

/* ---- expected output ----------------------------------------------------- */

int64_t groat__host_swizzle(int64_t bits, int64_t base, int64_t shift,
                            int64_t x)
{
    int64_t field = ((int64_t)1 << bits) - 1;

    if (shift >= 0)
        return x ^ ((x >> shift) & (field << base));
    return x ^ ((x & (field << base)) << -shift);
}

void groat__host_fold(const unsigned char *image, int64_t bytes,
                      int64_t threads, unsigned char *sums)
{
    for (int64_t b = 0; b < bytes; b++)
        sums[b % (threads * 16)] ^= image[b];
}

groat__host_format groat__host_format_of(int64_t dtype, bool fnuz)
{
    switch (dtype) {
    case 0:
        return (groat__host_format){2, 8, 7, 127};
    case 1:
        return (groat__host_format){2, 5, 10, 15};
    default:
        return (groat__host_format){1, 4, 3, fnuz ? 8 : 7};
    }
}

double groat__host_number(const groat__host_format *f, unsigned bits)
{
    int most = (1 << f->exponent) - 1;
    int exponent = (int)(bits >> f->mantissa) & most;
    int mantissa = (int)bits & ((1 << f->mantissa) - 1);
    double sign = bits >> (f->exponent + f->mantissa) & 1 ? -1.0 : 1.0;

    if (f->bytes == 2 && exponent == most)
        return mantissa != 0 ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(mantissa, 1 - f->bias - f->mantissa);
    return sign * ldexp(mantissa + (1 << f->mantissa),
                        exponent - f->bias - f->mantissa);
}

double groat__host_number_at(const groat__host_format *f,
                             const unsigned char *at)
{
    return groat__host_number(f, f->bytes == 2 ? at[0] | (unsigned)at[1] << 8
                                               : at[0]);
}
