// SPDX-License-Identifier: Apache-2.0
// The floats of cuda_fp16.h, cuda_bf16.h and cuda_fp8.h: groat judge puts this
// file in front of a kernel whose file includes one of them.  An operation
// rounds its exact result once, to nearest even unless its name says otherwise;
// a NaN of 16 bits is 0x7fff, as on the device.
#pragma once

#include "convert.h"
#include "cuda_compat.h"

namespace groat {

// Returns x + lost as a float that rounds to fewer bits as the exact sum does:
// it is cut, and its last bit tells whether something was cut off.
GROAT_LANES float odd(double x, double lost)
{
    const float nearest = (float)x;
    const double rest = x - (double)nearest + lost;
    const unsigned bits = float_bits(nearest);

    if (x - x != 0 || rest == 0)
        return nearest;
    if (nearest == 0)
        return bits_float((rest < 0 ? 0x80000000u : 0u) | 1u);
    return bits_float((bits - ((rest < 0) != (nearest < 0))) | 1u);
}

template <mma_number type> GROAT_LANES bool is_nan(unsigned bits)
{
    return (bits & 0x7fffu) > (type == mma_f16 ? 0x7c00u : 0x7f80u);
}

template <mma_number type> GROAT_LANES float value16(unsigned bits)
{
    if (type == mma_bf16)
        return bf16_value(bits);
    return is_nan<type>(bits) ? bits_float(0x7fffffffu) : f16_value(bits);
}

// The types are in a namespace without functions but their operators: the
// compiler looks for a function there, besides the file's own of that name.
namespace floats {

// A float of 16 bits.
template <mma_number type> struct float16 {
    unsigned short bits;

    float16() = default;
    template <class T, class = decltype((double)T())>
    GROAT_MEMBER float16(T x) : float16((double)x, 0.0)
    {
    }
    // The number nearest to x + lost.
    GROAT_MEMBER float16(double x, double lost)
    {
        const float cut = odd(x, lost);

        bits = (unsigned short)(cut != cut ? 0x7fffu : round16<type>(cut));
    }
    GROAT_MEMBER operator float() const
    {
        return value16<type>(bits);
    }
};

template <mma_number type> struct alignas(4) float16x2 {
    float16<type> x, y;

    float16x2() = default;
    GROAT_MEMBER float16x2(float16<type> a, float16<type> b) : x(a), y(b)
    {
    }
};

// The 8 bits of a code of OCP; out of range is the largest number.
template <float8 type> struct fp8 {
    unsigned char __x;

    fp8() = default;
    template <class T, class = decltype((float)T())>
    GROAT_MEMBER explicit fp8(T x)
        : __x((double)x != (double)x
                  ? 0x7f // a device gives this for each NaN
                  : (unsigned char)float8_of<type>(
                        float_bits(odd((double)x, 0))))
    {
    }
    GROAT_MEMBER explicit operator float() const
    {
        const float x = float8_value<type>(__x);

        return x != x ? bits_float(0x7fffffffu) : x;
    }
};

} // namespace floats

using namespace floats;

template <mma_number type> GROAT_LANES float16<type> of_bits(unsigned bits)
{
    float16<type> x;

    x.bits = (unsigned short)bits;
    return x;
}

// A result with these bits: a NaN of f16 becomes the one that the device has.
template <mma_number type> GROAT_LANES float16<type> changed_bits(unsigned bits)
{
    return of_bits<type>(type == mma_f16 && is_nan<type>(bits) ? 0x7fffu : bits);
}

// The number next to x that is not above it, below it, or farther from 0, as
// `way` says: '-', '+' and '0'.
template <mma_number type> GROAT_LANES float16<type> directed(double x, char way)
{
    const float16<type> nearest = x;
    const double got = (float)nearest;
    const bool negative = nearest.bits >> 15;

    if (way == '0')
        way = negative ? '+' : '-';
    if (way == '-' && got > x)
        return of_bits<type>(nearest.bits + (negative ? 1u : -1u));
    if (way == '+' && got < x)
        return of_bits<type>(nearest.bits + (negative ? -1u : 1u));
    return nearest;
}

// Passes an --arg to a parameter of 16 bits.
template <mma_number type> struct convert<float16<type>> {
    template <class T> static float16<type> of(T x)
    {
        return x;
    }
};

} // namespace groat

typedef groat::float16<groat::mma_f16> __half, half;
typedef groat::float16x2<groat::mma_f16> __half2, half2;
typedef groat::float16<groat::mma_bf16> __nv_bfloat16, nv_bfloat16;
typedef groat::float16x2<groat::mma_bf16> __nv_bfloat162, nv_bfloat162;
typedef groat::fp8<groat::e4m3> __nv_fp8_e4m3;
typedef groat::fp8<groat::e5m2> __nv_fp8_e5m2;

// ---- arithmetic, of one number and of two

#define GROAT_SMALL \
    template <groat::mma_number type> GROAT_LANES groat::float16<type>
#define GROAT_SMALL2 \
    template <groat::mma_number type> GROAT_LANES groat::float16x2<type>

GROAT_SMALL __hfma(groat::float16<type> a, groat::float16<type> b,
                   groat::float16<type> c)
{
    const double product = (double)(float)a * (double)(float)b; // exact
    const double third = (float)c;
    const double sum = product + third;
    const double part = sum - product;

    return {sum, sum - sum != 0 ? 0.0
                                : (product - (sum - part)) + (third - part)};
}

GROAT_SMALL __hfma_relu(groat::float16<type> a, groat::float16<type> b,
                        groat::float16<type> c)
{
    const groat::float16<type> x = __hfma(a, b, c);

    return (float)x < 0 ? groat::of_bits<type>(0) : x;
}

GROAT_SMALL __hneg(groat::float16<type> x)
{
    return groat::changed_bits<type>(x.bits ^ 0x8000u);
}

GROAT_SMALL __habs(groat::float16<type> x)
{
    return groat::changed_bits<type>(x.bits & 0x7fffu);
}

GROAT_SMALL __hadd(groat::float16<type> a, groat::float16<type> b)
{
    return __hfma(a, groat::float16<type>(1), b);
}

GROAT_SMALL __hsub(groat::float16<type> a, groat::float16<type> b)
{
    return __hfma(b, groat::float16<type>(-1), a);
}

GROAT_SMALL __hmul(groat::float16<type> a, groat::float16<type> b)
{
    return __hfma(a, b, groat::float16<type>(-0.0));
}

GROAT_SMALL __hdiv(groat::float16<type> a, groat::float16<type> b)
{
    return (double)(float)a / (double)(float)b;
}

// A NaN counts only if both are one; +0 is more than -0.
GROAT_SMALL __hmax(groat::float16<type> a, groat::float16<type> b)
{
    if ((float)a == (float)b)
        return groat::of_bits<type>(a.bits & b.bits);
    return (float)a != (float)a ? groat::float16<type>((float)b)
           : (float)a < (float)b ? b
                                 : a;
}

GROAT_SMALL __hmin(groat::float16<type> a, groat::float16<type> b)
{
    if ((float)a == (float)b)
        return groat::of_bits<type>(a.bits | b.bits);
    return (float)a != (float)a ? groat::float16<type>((float)b)
           : (float)b < (float)a ? b
                                 : a;
}

GROAT_SMALL __hmax_nan(groat::float16<type> a, groat::float16<type> b)
{
    return (float)b != (float)b ? groat::float16<type>((float)b)
           : (float)a != (float)a ? groat::float16<type>((float)a)
                                  : __hmax(a, b);
}

GROAT_SMALL __hmin_nan(groat::float16<type> a, groat::float16<type> b)
{
    return (float)b != (float)b ? groat::float16<type>((float)b)
           : (float)a != (float)a ? groat::float16<type>((float)a)
                                  : __hmin(a, b);
}

// A NaN becomes 0.
GROAT_SMALL groat_saturated(groat::float16<type> x)
{
    return (float)x > 0 ? (float)x < 1 ? x : groat::float16<type>(1)
                        : groat::of_bits<type>(0);
}

#define GROAT_BY_TWO(one, two) \
    GROAT_SMALL2 two(groat::float16x2<type> a, groat::float16x2<type> b) \
    { \
        return {one(a.x, b.x), one(a.y, b.y)}; \
    }
#define GROAT_SATURATED(name) \
    GROAT_SMALL name##_sat(groat::float16<type> a, groat::float16<type> b) \
    { \
        return groat_saturated(name(a, b)); \
    } \
    GROAT_BY_TWO(name##_sat, name##2_sat)

GROAT_BY_TWO(__hadd, __hadd2)
GROAT_BY_TWO(__hsub, __hsub2)
GROAT_BY_TWO(__hmul, __hmul2)
GROAT_BY_TWO(__hdiv, __h2div)
GROAT_BY_TWO(__hmax, __hmax2)
GROAT_BY_TWO(__hmin, __hmin2)
GROAT_BY_TWO(__hmax_nan, __hmax2_nan)
GROAT_BY_TWO(__hmin_nan, __hmin2_nan)
GROAT_SATURATED(__hadd)
GROAT_SATURATED(__hsub)
GROAT_SATURATED(__hmul)
// The roundings say that a product and a sum stay two operations.
#define __hadd_rn(a, b)  __hadd(a, b)
#define __hsub_rn(a, b)  __hsub(a, b)
#define __hmul_rn(a, b)  __hmul(a, b)
#define __hadd2_rn(a, b) __hadd2(a, b)
#define __hsub2_rn(a, b) __hsub2(a, b)
#define __hmul2_rn(a, b) __hmul2(a, b)

GROAT_SMALL __hfma_sat(groat::float16<type> a, groat::float16<type> b,
                       groat::float16<type> c)
{
    return groat_saturated(__hfma(a, b, c));
}

GROAT_SMALL2 __hfma2(groat::float16x2<type> a, groat::float16x2<type> b,
                     groat::float16x2<type> c)
{
    return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}

GROAT_SMALL2 __hfma2_relu(groat::float16x2<type> a, groat::float16x2<type> b,
                          groat::float16x2<type> c)
{
    return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)};
}

#define GROAT_OF_ONE(one, two) \
    GROAT_SMALL2 two(groat::float16x2<type> x) \
    { \
        return {one(x.x), one(x.y)}; \
    }

GROAT_OF_ONE(__hneg, __hneg2)
GROAT_OF_ONE(__habs, __habs2)

#define GROAT_FUNCTION(name, expression) \
    GROAT_SMALL h##name(groat::float16<type> given) \
    { \
        const double x = (float)given; \
 \
        return expression; \
    } \
    GROAT_OF_ONE(h##name, h2##name)

GROAT_FUNCTION(sqrt, __builtin_sqrt(x))
GROAT_FUNCTION(rsqrt, 1 / __builtin_sqrt(x))
GROAT_FUNCTION(rcp, 1 / x)
GROAT_FUNCTION(exp, exp(x))
GROAT_FUNCTION(exp2, exp2(x))
GROAT_FUNCTION(exp10, pow(10.0, x))
GROAT_FUNCTION(log, log(x))
GROAT_FUNCTION(log2, log2(x))
GROAT_FUNCTION(log10, log10(x))
GROAT_FUNCTION(sin, sin(x))
GROAT_FUNCTION(cos, cos(x))
GROAT_FUNCTION(tanh, tanh(x))
GROAT_FUNCTION(floor, floor(x))
GROAT_FUNCTION(ceil, ceil(x))
GROAT_FUNCTION(trunc, __builtin_truncf((float)x))
GROAT_FUNCTION(rint, __builtin_rintf((float)x))

// ---- comparisons: false where one is a NaN, true where the name ends in u

#define GROAT_COMPARISON(name, sign) \
    template <groat::mma_number type> \
    GROAT_LANES bool __h##name(groat::float16<type> a, groat::float16<type> b) \
    { \
        return !__builtin_isunordered((float)a, (float)b) && \
               (float)a sign (float)b; \
    } \
    template <groat::mma_number type> \
    GROAT_LANES bool __h##name##u(groat::float16<type> a, \
                                  groat::float16<type> b) \
    { \
        return __builtin_isunordered((float)a, (float)b) || \
               (float)a sign (float)b; \
    } \
    template <groat::mma_number type> \
    GROAT_LANES bool __hb##name##2(groat::float16x2<type> a, \
                                   groat::float16x2<type> b) \
    { \
        return __h##name(a.x, b.x) && __h##name(a.y, b.y); \
    } \
    GROAT_SMALL2 __h##name##2(groat::float16x2<type> a, \
                              groat::float16x2<type> b) \
    { \
        return {__h##name(a.x, b.x), __h##name(a.y, b.y)}; \
    }

GROAT_COMPARISON(eq, ==)
GROAT_COMPARISON(ne, !=)
GROAT_COMPARISON(lt, <)
GROAT_COMPARISON(le, <=)
GROAT_COMPARISON(gt, >)
GROAT_COMPARISON(ge, >=)

template <groat::mma_number type>
GROAT_LANES bool __hisnan(groat::float16<type> x)
{
    return (float)x != (float)x;
}

template <groat::mma_number type>
GROAT_LANES int __hisinf(groat::float16<type> x)
{
    return !__builtin_isinf((float)x) ? 0 : (float)x < 0 ? -1 : 1;
}

// ---- operators, where the compiler looks for those of these types

namespace groat {
namespace floats {

#define GROAT_OPERATOR(sign, one, two) \
    GROAT_SMALL operator sign(float16<type> a, float16<type> b) \
    { \
        return one(a, b); \
    } \
    GROAT_SMALL &operator sign##=(float16<type> &a, \
                                  typename same<float16<type>>::type b) \
    { \
        return a = one(a, b); \
    } \
    GROAT_SMALL2 operator sign(float16x2<type> a, float16x2<type> b) \
    { \
        return two(a, b); \
    } \
    GROAT_SMALL2 &operator sign##=(float16x2<type> &a, float16x2<type> b) \
    { \
        return a = two(a, b); \
    }
#define GROAT_COMPARE(sign) \
    template <mma_number type> \
    GROAT_LANES bool operator sign(float16<type> a, float16<type> b) \
    { \
        return (float)a sign (float)b; \
    }

GROAT_OPERATOR(+, __hadd, __hadd2)
GROAT_OPERATOR(-, __hsub, __hsub2)
GROAT_OPERATOR(*, __hmul, __hmul2)
GROAT_OPERATOR(/, __hdiv, __h2div)
GROAT_COMPARE(==)
GROAT_COMPARE(!=)
GROAT_COMPARE(<)
GROAT_COMPARE(<=)
GROAT_COMPARE(>)
GROAT_COMPARE(>=)

GROAT_SMALL operator-(float16<type> x)
{
    return __hneg(x);
}

GROAT_SMALL2 operator-(float16x2<type> x)
{
    return __hneg2(x);
}

} // namespace floats
} // namespace groat

// ---- conversions

template <groat::mma_number type>
GROAT_LANES float __low2float(groat::float16x2<type> x)
{
    return x.x;
}

template <groat::mma_number type>
GROAT_LANES float __high2float(groat::float16x2<type> x)
{
    return x.y;
}

#define GROAT_SMALL_TO_WHOLE(name, short_name, type) \
    GROAT_LANES type __##name##2##short_name##_rn(groat_##name x) \
    { \
        return groat::whole<type>(__builtin_rintf(x)); \
    } \
    GROAT_LANES type __##name##2##short_name##_rz(groat_##name x) \
    { \
        return groat::whole<type>(__builtin_truncf(x)); \
    } \
    GROAT_LANES type __##name##2##short_name##_rd(groat_##name x) \
    { \
        return groat::whole<type>(__builtin_floorf(x)); \
    } \
    GROAT_LANES type __##name##2##short_name##_ru(groat_##name x) \
    { \
        return groat::whole<type>(__builtin_ceilf(x)); \
    } \
    GROAT_LANES groat_##name __##short_name##2##name##_rn(type x) \
    { \
        return x; \
    }

#define GROAT_CONVERSIONS(name, pair) \
    GROAT_LANES float __##name##2float(groat_##name x) \
    { \
        return x; \
    } \
    GROAT_LANES groat_##name __float2##name(float x) \
    { \
        return x; \
    } \
    GROAT_LANES groat_##name __float2##name##_rn(float x) \
    { \
        return x; \
    } \
    GROAT_LANES groat_##name __float2##name##_rz(float x) \
    { \
        return groat::directed<groat::number_##name>(x, '0'); \
    } \
    GROAT_LANES groat_##name __float2##name##_rd(float x) \
    { \
        return groat::directed<groat::number_##name>(x, '-'); \
    } \
    GROAT_LANES groat_##name __float2##name##_ru(float x) \
    { \
        return groat::directed<groat::number_##name>(x, '+'); \
    } \
    GROAT_LANES groat_##name __double2##name(double x) \
    { \
        return x; \
    } \
    GROAT_SMALL_TO_WHOLE(name, int, int) \
    GROAT_SMALL_TO_WHOLE(name, uint, unsigned) \
    GROAT_SMALL_TO_WHOLE(name, short, short) \
    GROAT_SMALL_TO_WHOLE(name, ushort, unsigned short) \
    GROAT_SMALL_TO_WHOLE(name, ll, long long) \
    GROAT_SMALL_TO_WHOLE(name, ull, unsigned long long) \
    GROAT_LANES unsigned short __##name##_as_ushort(groat_##name x) \
    { \
        return x.bits; \
    } \
    GROAT_LANES short __##name##_as_short(groat_##name x) \
    { \
        return (short)x.bits; \
    } \
    GROAT_LANES groat_##name __ushort_as_##name(unsigned short bits) \
    { \
        return groat::of_bits<groat::number_##name>(bits); \
    } \
    GROAT_LANES groat_##name __short_as_##name(short bits) \
    { \
        return groat::of_bits<groat::number_##name>((unsigned short)bits); \
    } \
    GROAT_LANES groat_##pair make_##pair(groat_##name x, groat_##name y) \
    { \
        return {x, y}; \
    } \
    GROAT_LANES groat_##pair __halves2##pair(groat_##name x, groat_##name y) \
    { \
        return {x, y}; \
    } \
    GROAT_LANES groat_##pair __floats2##pair##_rn(float x, float y) \
    { \
        return {x, y}; \
    } \
    GROAT_LANES groat_##pair __float2##pair##_rn(float x) \
    { \
        return {x, x}; \
    } \
    GROAT_LANES groat_##pair __float22##pair##_rn(float2 x) \
    { \
        return {x.x, x.y}; \
    } \
    GROAT_LANES float2 __##pair##2float2(groat_##pair x) \
    { \
        return {x.x, x.y}; \
    } \
    GROAT_LANES groat_##pair __##name##2##pair(groat_##name x) \
    { \
        return {x, x}; \
    } \
    GROAT_LANES groat_##name __low2##name(groat_##pair x) \
    { \
        return x.x; \
    } \
    GROAT_LANES groat_##name __high2##name(groat_##pair x) \
    { \
        return x.y; \
    } \
    GROAT_LANES groat_##pair __low2##pair(groat_##pair x) \
    { \
        return {x.x, x.x}; \
    } \
    GROAT_LANES groat_##pair __high2##pair(groat_##pair x) \
    { \
        return {x.y, x.y}; \
    } \
    GROAT_LANES groat_##pair __lows2##pair(groat_##pair x, groat_##pair y) \
    { \
        return {x.x, y.x}; \
    } \
    GROAT_LANES groat_##pair __highs2##pair(groat_##pair x, groat_##pair y) \
    { \
        return {x.y, y.y}; \
    } \
    GROAT_LANES groat_##pair __lowhigh2highlow(groat_##pair x) \
    { \
        return {x.y, x.x}; \
    }

typedef __half groat_half;
typedef __half2 groat_half2;
typedef __nv_bfloat16 groat_bfloat16;
typedef __nv_bfloat162 groat_bfloat162;

namespace groat {

constexpr mma_number number_half = mma_f16;
constexpr mma_number number_bfloat16 = mma_bf16;

} // namespace groat

GROAT_CONVERSIONS(half, half2)
GROAT_CONVERSIONS(bfloat16, bfloat162)
