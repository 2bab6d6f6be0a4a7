/* SPDX-License-Identifier: Apache-2.0
 *
 * partners.c finds values for unwritten bytes that may turn a comparison.
 */
#include "judge/partners.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "judge/fiber.h"

/* What the bytes hold in the passes.  The bytes and halves of the first are
 * unlike what a kernel computes; the others are floats near 1. */
static const uint32_t marks[GROAT__PARTNER_PASSES] = {0x5A93C6E1, 0x3F9D70A4,
                                                      0x40133333};

uint64_t groat__judge_repeat(uint64_t number, unsigned bytes)
{
    static const uint64_t ones[] = {[1] = 0x0101010101010101u,
                                    [2] = 0x0001000100010001u,
                                    [4] = 0x0000000100000001u,
                                    [8] = 1};

    return (number & ~(uint64_t)0 >> (64 - 8 * bytes)) * ones[bytes];
}

/* The signed number in the low `bytes` bytes. */
static int64_t extend(uint64_t number, unsigned bytes)
{
    unsigned above = 64 - 8 * bytes;

    return (int64_t)(number << above) >> above;
}

static void add_partner(groat__judge_unwritten *u, uint64_t value)
{
    for (size_t i = 0; i < u->partner_count; i++)
        if (u->partners[i] == value)
            return;
    if (u->partner_count < GROAT__JUDGE_PARTNERS)
        u->partners[u->partner_count++] = value;
}

/* Adds values around `other` if x, a number of `size` bytes, is the mark's
 * `bytes` bytes from `at`, signed or not, plus an offset of up to `most`. */
static void match(groat__judge_unwritten *u, uint64_t x, uint64_t other,
                  unsigned size, unsigned bytes, unsigned at, int64_t most)
{
    uint64_t part = groat__judge_repeat((uint64_t)marks[0], 4) >> 8 * at;
    uint64_t plain = part & ~(uint64_t)0 >> (64 - 8 * bytes);
    int64_t offset = extend(x - (uint64_t)extend(part, bytes), size);

    if (offset < -most || offset > most)
        offset = extend(x - plain, size);
    if (offset < -most || offset > most)
        return;
    for (uint64_t near = 0; near < 3; near++)
        add_partner(
            u, groat__judge_repeat(other - (uint64_t)offset + 1 - near, bytes));
}

/* ---- what depends on it ------------------------------------------------ */

static float float_of(uint32_t bits)
{
    float number;

    memcpy(&number, &bits, sizeof(number));
    return number;
}

static uint32_t bits_of(float number)
{
    uint32_t bits;

    memcpy(&bits, &number, sizeof(bits));
    return bits;
}

/* The number that a comparison of `bytes` bytes had, as a float of its size. */
static double number_of(uint64_t bits, unsigned bytes)
{
    double number;

    if (bytes == sizeof(float))
        return (double)float_of((uint32_t)bits);
    memcpy(&number, &bits, sizeof(number));
    return number;
}

/* Adds floats around the one for which x, which was first and then second with
 * the marks' numbers, is `other`, if it is a line. */
static void solve_float(groat__judge_unwritten *u, uint64_t first,
                        uint64_t second, uint64_t other, unsigned bytes)
{
    double m = (double)float_of(marks[1]);
    double step = (double)float_of(marks[2]) - m;
    double x = number_of(first, bytes);
    double slope = (number_of(second, bytes) - x) / step;
    double found = m + (number_of(other, bytes) - x) / slope;
    float at;

    if (!(fabs(found) <= (double)FLT_MAX))
        return;
    at = (float)found;
    add_partner(u, groat__judge_repeat(bits_of(at), 4));
    add_partner(u, groat__judge_repeat(bits_of(nextafterf(at, INFINITY)), 4));
    add_partner(u, groat__judge_repeat(bits_of(nextafterf(at, -INFINITY)), 4));
}

/* As above, of whole numbers. */
static void solve_int(groat__judge_unwritten *u, uint64_t first,
                      uint64_t second, uint64_t other, unsigned bytes)
{
    int64_t step = (int64_t)marks[2] - (int64_t)marks[1];
    int64_t rise = extend(second - first, bytes);
    int64_t lack = extend(other - first, bytes);
    int64_t slope = rise / step;

    if (slope == 0 || rise % step != 0 || lack == INT64_MIN)
        return;
    for (uint64_t near = 0; near < 3; near++)
        add_partner(u, groat__judge_repeat(
                           marks[1] + (uint64_t)(lack / slope) + near - 1, 4));
}

/* A comparison that one side of which depends on unwritten bytes: tries the
 * other side itself, which passes masks, and what a line gives. */
static void solve(groat__judge_unwritten *u, uint64_t first, uint64_t second,
                  uint64_t other, unsigned bytes)
{
    add_partner(u, groat__judge_repeat(other, bytes));
    if (bytes < sizeof(float))
        return;
    solve_int(u, first, second, other, bytes);
    solve_float(u, first, second, other, bytes);
}

static void keep(groat__judge *j, uint64_t a, uint64_t b, unsigned bytes)
{
    enum { MOST = 1 << 16 };
    groat__judge_unwritten *u = &j->unwritten;

    if (u->compared_count == MOST)
        return;
    u->compared = groat__judge_grow(j, u->compared, u->compared_count,
                                    &u->compared_cap, sizeof(*u->compared));
    u->compared[u->compared_count++] = (groat__judge_comparison){a, b, bytes};
}

/* Compares a comparison with the one of the pass before. */
static void look_back(groat__judge_unwritten *u, uint64_t a, uint64_t b,
                      unsigned bytes)
{
    const groat__judge_comparison *before;

    if (u->compared_at == u->compared_count)
        return;
    before = &u->compared[u->compared_at++];
    if (before->bytes != bytes)
        u->compared_count = u->compared_at; /* another way was taken */
    else if (before->a != a && before->b == b)
        solve(u, before->a, a, b, bytes);
    else if (before->a == a && before->b != b)
        solve(u, before->b, b, a, bytes);
}

/* ---- the passes -------------------------------------------------------- */

void groat__judge_partners_forget(groat__judge *j)
{
    j->unwritten.partner_count = 0;
    j->unwritten.compared_count = 0;
}

uint64_t groat__judge_partner_pass(groat__judge *j, int pass)
{
    j->unwritten.pass = pass;
    j->unwritten.compared_at = 0;
    return groat__judge_repeat(marks[pass], 4);
}

static void recognize(groat__judge_unwritten *u, uint64_t a, uint64_t b,
                      unsigned bytes)
{
    enum { NEAR = 1 << 16 };

    for (int turn = 0; turn < 2; turn++) {
        uint64_t x = turn == 0 ? a : b;
        uint64_t other = turn == 0 ? b : a;

        for (unsigned size = 1; size <= bytes; size *= 2)
            for (unsigned at = 0; at < (size < 4 ? 4 : 1); at += size)
                match(u, x, other, bytes, size, at, size < 4 ? 0 : NEAR);
    }
}

void groat__judge_compared(struct groat_cpu_env *env, unsigned long long a,
                           unsigned long long b, unsigned bytes)
{
    groat__judge *j = groat__judge_of(env);

    if (j->unwritten.pass == 0)
        recognize(&j->unwritten, a, b, bytes);
    else if (j->unwritten.pass == 1)
        keep(j, a, b, bytes);
    else
        look_back(&j->unwritten, a, b, bytes);
}
