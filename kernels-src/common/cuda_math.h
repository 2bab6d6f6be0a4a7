// SPDX-License-Identifier: Apache-2.0
// Rarer functions and constants of numbers in CUDA C++, for cuda_compat.h.
#pragma once

#define UINT8_MAX          255
#define UINT16_MAX         65535
#define UINT32_MAX         4294967295u
#define UINT64_MAX         18446744073709551615ul
#define INT8_MAX           127
#define INT16_MAX          32767
#define INT32_MAX          2147483647
#define INT32_MIN          (-2147483647 - 1)
#define INT64_MAX          9223372036854775807l
#define INT64_MIN          (-9223372036854775807l - 1)
#define SIZE_MAX           18446744073709551615ul
#define LONG_MAX           9223372036854775807l
#define LONG_MIN           (-9223372036854775807l - 1)
#define ULONG_MAX          18446744073709551615ul
#define LLONG_MAX          9223372036854775807ll
#define LLONG_MIN          (-9223372036854775807ll - 1)
#define ULLONG_MAX         18446744073709551615ull
#define CHAR_BIT           8
#define UCHAR_MAX          255
#define SHRT_MAX           32767
#define SHRT_MIN           (-32768)
#define USHRT_MAX          65535
#define FLT_DIG            __FLT_DIG__
#define FLT_MANT_DIG       __FLT_MANT_DIG__
#define DBL_MAX            __DBL_MAX__
#define DBL_MIN            __DBL_MIN__
#define DBL_EPSILON        __DBL_EPSILON__
#define HUGE_VAL           __builtin_huge_val()
#define HUGE_VALF          __builtin_huge_valf()
#define M_E                2.7182818284590452354
#define M_LOG2E            1.4426950408889634074
#define M_LN2              0.69314718055994530942
#define M_LN10             2.30258509299404568402
#define M_PI               3.14159265358979323846
#define M_PI_2             1.57079632679489661923
#define M_PI_4             0.78539816339744830962
#define M_1_PI             0.31830988618379067154
#define M_2_PI             0.63661977236758134308
#define M_2_SQRTPI         1.12837916709551257390
#define M_SQRT2            1.41421356237309504880
#define M_SQRT1_2          0.70710678118654752440
#define CUDART_INF         __builtin_inf()
#define CUDART_NAN_F       __builtin_nanf("")
#define CUDART_NAN         __builtin_nan("")
#define CUDART_PI_F        3.141592654f
#define CUDART_PIO2_F      1.570796327f
#define CUDART_PI          3.1415926535897931e+0
#define CUDART_L2E_F       1.442695041f
#define CUDART_LN2_F       0.693147181f
#define CUDART_SQRT_TWO_F  1.414213562f
#define CUDART_MIN_DENORM_F 1.401298464e-45f
#define CUDART_MAX_NORMAL_F 3.402823466e+38f

extern "C" {
float acoshf(float), asinhf(float), atanhf(float), j0f(float), j1f(float);
float y0f(float), y1f(float), jnf(int, float), ynf(int, float);
float scalblnf(float, long);
int ilogbf(float), ilogb(double);
long long llroundf(float), llrintf(float);
double acos(double), acosh(double), asin(double), asinh(double), atan(double);
double atanh(double), atan2(double, double), cosh(double), sinh(double);
double cbrt(double), trunc(double), rint(double), nearbyint(double);
double hypot(double, double), log1p(double), expm1(double), erfc(double);
double lgamma(double), tgamma(double), copysign(double, double), logb(double);
double nextafter(double, double), remainder(double, double);
double fdim(double, double), ldexp(double, int), scalbn(double, int);
double j0(double), j1(double), y0(double), y1(double);
long lround(double), lrint(double);
long long llround(double), llrint(double);
}

GROAT_LANES float atan2(float y, float x)
{
    return atan2f(y, x);
}

GROAT_LANES float hypot(float x, float y)
{
    return hypotf(x, y);
}

GROAT_OF_FLOAT(trunc)
GROAT_OF_FLOAT(rint)
GROAT_OF_FLOAT(atan)

GROAT_LANES double exp10(double x)
{
    return pow(10.0, x);
}

GROAT_LANES double rcbrt(double x)
{
    return 1 / cbrt(x);
}

// The C library's own writes through pointers would not be judged.
GROAT_LANES float frexpf(float x, int *exponent)
{
    int found;
    const float fraction = __builtin_frexpf(x, &found);

    *exponent = found;
    return fraction;
}

GROAT_LANES float modff(float x, float *whole)
{
    *whole = truncf(x);
    return copysignf(__builtin_isinf(x) ? 0 : x - *whole, x);
}

GROAT_LANES float exp10f(float x)
{
    return powf(10, x);
}

GROAT_LANES float rcbrtf(float x)
{
    return 1 / cbrtf(x);
}

namespace groat {

// sin(pi * (|x| + quarters / 2)), exact where that is a multiple of pi / 2.
GROAT_LANES double sine_pi(double x, unsigned quarters)
{
    const double size = __builtin_fmod(__builtin_fabs(x), 2);
    unsigned nearest;
    double rest;

    if (!(size < 2))
        return __builtin_nan("");
    nearest = (unsigned)(2 * size + 0.5);
    rest = size - 0.5 * nearest;
    quarters = (quarters + nearest) % 4;
    if (rest == 0 && quarters % 2 == 0)
        return 0;
    rest *= 3.14159265358979323846;
    rest = quarters % 2 == 0 ? __builtin_sin(rest) : __builtin_cos(rest);
    return quarters >= 2 ? -rest : rest;
}

} // namespace groat

GROAT_LANES double sinpi(double x)
{
    const double sine = groat::sine_pi(x, 0);

    return __builtin_signbit(x) ? -sine : sine;
}

GROAT_LANES double cospi(double x)
{
    return groat::sine_pi(x, 1);
}

GROAT_LANES float sinpif(float x)
{
    return (float)sinpi((double)x);
}

GROAT_LANES float cospif(float x)
{
    return (float)cospi((double)x);
}

GROAT_LANES float remquof(float x, float y, int *quotient)
{
    int found;
    const float rest = __builtin_remquof(x, y, &found);

    *quotient = found;
    return rest;
}

GROAT_LANES void sincos(double x, double *sine, double *cosine)
{
    *sine = sin(x);
    *cosine = cos(x);
}

GROAT_LANES void sincospif(float x, float *sine, float *cosine)
{
    *sine = sinpif(x);
    *cosine = cospif(x);
}

GROAT_LANES double normcdf(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

GROAT_LANES float normcdff(float x)
{
    return (float)normcdf(x);
}

// erfc(x) exp(x^2), for large x by its series.
GROAT_LANES double erfcx(double x)
{
    return x < 25 ? exp(x * x) * erfc(x)
                  : 0.56418958354775628695 / x * (1 - 0.5 / (x * x));
}

GROAT_LANES float erfcxf(float x)
{
    return (float)erfcx(x);
}

// By Newton's steps on erf, from a closed approximation.
GROAT_LANES double erfinv(double y)
{
    const double size = fabs(y);
    const double l = log((1 - size) * (1 + size));
    const double part = 2 / (M_PI * 0.147) + l / 2;
    double x = sqrt(sqrt(part * part - l / 0.147) - part);

    if (!(size < 1))
        return size == 1 ? copysign(HUGE_VAL, y) : CUDART_NAN;
    for (int i = 0; i < 4; i++)
        x += (erfc(x) - (1 - size)) * 0.88622692545275801365 * exp(x * x);
    return copysign(x, y);
}

GROAT_LANES float erfinvf(float y)
{
    return (float)erfinv(y);
}

// By Newton's steps on the logarithm of erfc where 1 - y has lost digits.
GROAT_LANES double erfcinv(double y)
{
    const double wanted = log(y);
    double x = sqrt(-wanted);

    if (y > 1)
        return -erfcinv(2 - y);
    if (!(y > 0 && y < 0.1))
        return erfinv(1 - y);
    for (int i = 0; i < 8; i++) {
        const double found = erfc(x);

        x += (log(found) - wanted) * found * 0.88622692545275801365 *
             exp(x * x);
    }
    return x;
}

GROAT_LANES float erfcinvf(float y)
{
    return (float)erfcinv(y);
}

GROAT_LANES double normcdfinv(double y)
{
    return -M_SQRT2 * erfcinv(2 * y);
}

GROAT_LANES float normcdfinvf(float y)
{
    return (float)normcdfinv(y);
}

GROAT_LANES double norm3d(double x, double y, double z)
{
    return hypot(hypot(x, y), z);
}

GROAT_LANES float norm3df(float x, float y, float z)
{
    return (float)norm3d(x, y, z);
}

GROAT_LANES float norm4df(float x, float y, float z, float w)
{
    return (float)hypot(norm3d(x, y, z), (double)w);
}

GROAT_LANES float rnorm3df(float x, float y, float z)
{
    return (float)(1 / norm3d(x, y, z));
}

GROAT_LANES float rhypotf(float x, float y)
{
    return (float)(1 / hypot((double)x, (double)y));
}

GROAT_LANES float fdividef(float x, float y)
{
    return x / y;
}

GROAT_LANES double rnorm3d(double x, double y, double z)
{
    return 1 / norm3d(x, y, z);
}

GROAT_LANES double rhypot(double x, double y)
{
    return 1 / hypot(x, y);
}

GROAT_LANES float2 atomicAdd(float2 *at, float2 value)
{
    return {atomicAdd(&at->x, value.x), atomicAdd(&at->y, value.y)};
}

GROAT_LANES float4 atomicAdd(float4 *at, float4 value)
{
    return {atomicAdd(&at->x, value.x), atomicAdd(&at->y, value.y),
            atomicAdd(&at->z, value.z), atomicAdd(&at->w, value.w)};
}

#define atomicAdd_block     atomicAdd
#define atomicAdd_system    atomicAdd
#define atomicMin_block     atomicMin
#define atomicMax_block     atomicMax
#define atomicMin_system    atomicMin
#define atomicMax_system    atomicMax
#define atomicExch_block    atomicExch
#define atomicExch_system   atomicExch
#define atomicCAS_block     atomicCAS
#define atomicCAS_system    atomicCAS
#define nanf(text)          __builtin_nanf(text)
#define nan(text)           __builtin_nan(text)
#define __tanf(x)           tanf(x)
#define __log10f(x)         log10f(x)
#define __tanhf(x)          tanhf(x)
#define __dadd_rn(x, y)     ((double)(x) + (double)(y))
#define __dsub_rn(x, y)     ((double)(x) - (double)(y))
#define __dmul_rn(x, y)     ((double)(x) * (double)(y))
#define __ddiv_rn(x, y)     ((double)(x) / (double)(y))
#define __drcp_rn(x)        (1.0 / (double)(x))
#define __dsqrt_rn(x)       sqrt((double)(x))
#define __fma_rn(x, y, z)   fma(x, y, z)
#define umin(x, y)          min((unsigned)(x), (unsigned)(y))
#define umax(x, y)          max((unsigned)(x), (unsigned)(y))

// ---- other roundings

namespace groat {

// x + lost, rounded down ('-'), up ('+') or to 0 ('0').
GROAT_LANES float directed_float(double x, double lost, char way)
{
    const float nearest = (float)x;
    const double rest = x - (double)nearest + lost;
    const bool up = way == '+' || (way == '0' && x < 0);
    const bool down = way == '-' || (way == '0' && x > 0);

    if (x != x)
        return bits_float(0x7fffffffu); // the device's NaN
    if (x - x != 0)
        return nearest;
    if (__builtin_isinf(nearest))
        return nearest > 0 ? (down ? __FLT_MAX__ : nearest)
                           : (up ? -__FLT_MAX__ : nearest);
    if (rest < 0 && down)
        return nextafterf(nearest, -__builtin_inff());
    if (rest > 0 && up)
        return nextafterf(nearest, __builtin_inff());
    return nearest;
}

GROAT_LANES float directed_sum(double x, double y, char way)
{
    const double sum = x + y;
    const double part = sum - x;
    const double lost = (x - (sum - part)) + (y - part);

    // Two zeros of +0 alone give +0.
    if (sum == 0 && way == '-')
        return x == 0 && !__builtin_signbit(x) && !__builtin_signbit(y) ? 0.0f
                                                                        : -0.0f;
    return directed_float(sum, sum - sum != 0 ? 0 : lost, way);
}

GROAT_LANES float directed_quotient(double x, double y, char way)
{
    const double quotient = x / y;
    const double left = fma(-quotient, y, x);

    return directed_float(quotient, left == left && y != 0 ? left / y : 0, way);
}

GROAT_LANES float directed_root(double x, char way)
{
    const double root = __builtin_sqrt(x);

    return directed_float(root, root > 0 ? fma(-root, root, x) / root : 0, way);
}

} // namespace groat

#define GROAT_DIRECTED(suffix, way) \
    GROAT_LANES float __fadd##suffix(float x, float y) \
    { \
        return groat::directed_sum(x, y, way); \
    } \
    GROAT_LANES float __fsub##suffix(float x, float y) \
    { \
        return groat::directed_sum(x, -y, way); \
    } \
    GROAT_LANES float __fmul##suffix(float x, float y) \
    { \
        return groat::directed_float((double)x * (double)y, 0, way); \
    } \
    GROAT_LANES float __fmaf##suffix(float x, float y, float z) \
    { \
        return groat::directed_sum((double)x * (double)y, z, way); \
    } \
    GROAT_LANES float __fdiv##suffix(float x, float y) \
    { \
        return groat::directed_quotient(x, y, way); \
    } \
    GROAT_LANES float __frcp##suffix(float x) \
    { \
        return groat::directed_quotient(1, x, way); \
    } \
    GROAT_LANES float __fsqrt##suffix(float x) \
    { \
        return groat::directed_root(x, way); \
    } \
    GROAT_LANES float __int2float##suffix(int x) \
    { \
        return groat::directed_float(x, 0, way); \
    } \
    GROAT_LANES float __uint2float##suffix(unsigned x) \
    { \
        return groat::directed_float(x, 0, way); \
    } \
    GROAT_LANES float __double2float##suffix(double x) \
    { \
        return x != x ? (float)x : groat::directed_float(x, 0, way); \
    }

GROAT_DIRECTED(_rd, '-')
GROAT_DIRECTED(_ru, '+')
GROAT_DIRECTED(_rz, '0')

// ---- parts of a word: two of 16 bits, or four of 8

namespace groat {

template <class T, class F>
GROAT_LANES unsigned by_part(unsigned x, unsigned y, F f)
{
    const unsigned bits = 8 * sizeof(T);
    const unsigned mask = 0xffffffffu >> (32 - bits);
    unsigned all = 0;

    for (unsigned at = 0; at < 32; at += bits)
        all |= ((unsigned)f((T)(x >> at), (T)(y >> at)) & mask) << at;
    return all;
}

// The number of the type that is nearest.
template <class T> GROAT_LANES int fitted(int x)
{
    const int most = (T)-1 < 0 ? (1 << (8 * sizeof(T) - 1)) - 1 : (T)-1;
    const int least = (T)-1 < 0 ? -most - 1 : 0;

    return x > most ? most : x < least ? least : x;
}

} // namespace groat

#define GROAT_PART(name, type, expression) \
    GROAT_LANES unsigned name(unsigned x, unsigned y) \
    { \
        return groat::by_part<type>( \
            x, y, [](int a, int b) -> int { return expression; }); \
    }
#define GROAT_PARTS(n, si, un) \
    GROAT_PART(__vadd##n, un, a + b) \
    GROAT_PART(__vsub##n, un, a - b) \
    GROAT_PART(__vmaxs##n, si, a > b ? a : b) \
    GROAT_PART(__vmaxu##n, un, a > b ? a : b) \
    GROAT_PART(__vmins##n, si, a < b ? a : b) \
    GROAT_PART(__vminu##n, un, a < b ? a : b) \
    GROAT_PART(__vabsdiffs##n, si, a > b ? a - b : b - a) \
    GROAT_PART(__vabsdiffu##n, un, a > b ? a - b : b - a) \
    GROAT_PART(__vavgs##n, si, (a + b + (a + b >= 0)) >> 1) \
    GROAT_PART(__vavgu##n, un, (a + b + 1) >> 1) \
    GROAT_PART(__vhaddu##n, un, (a + b) >> 1) \
    GROAT_PART(__vcmpeq##n, un, -(a == b)) \
    GROAT_PART(__vcmpne##n, un, -(a != b)) \
    GROAT_PART(__vcmpgts##n, si, -(a > b)) \
    GROAT_PART(__vcmpgtu##n, un, -(a > b)) \
    GROAT_PART(__vcmpges##n, si, -(a >= b)) \
    GROAT_PART(__vcmpgeu##n, un, -(a >= b)) \
    GROAT_PART(__vcmplts##n, si, -(a < b)) \
    GROAT_PART(__vcmpltu##n, un, -(a < b)) \
    GROAT_PART(__vcmples##n, si, -(a <= b)) \
    GROAT_PART(__vcmpleu##n, un, -(a <= b)) \
    GROAT_PART(__vseteq##n, un, a == b) \
    GROAT_PART(__vsetne##n, un, a != b) \
    GROAT_PART(__vsetgts##n, si, a > b) \
    GROAT_PART(__vsetgtu##n, un, a > b) \
    GROAT_PART(__vaddss##n, si, groat::fitted<si>(a + b)) \
    GROAT_PART(__vaddus##n, un, groat::fitted<un>(a + b)) \
    GROAT_PART(__vsubss##n, si, groat::fitted<si>(a - b)) \
    GROAT_PART(__vsubus##n, un, groat::fitted<un>(a - b)) \
    GROAT_LANES unsigned __vabs##n(unsigned x) \
    { \
        return __vabsdiffs##n(x, 0); \
    } \
    GROAT_LANES unsigned __vneg##n(unsigned x) \
    { \
        return __vsub##n(0, x); \
    }

GROAT_PARTS(2, short, unsigned short)
GROAT_PARTS(4, signed char, unsigned char)

// ---- what C++'s own headers put in std

namespace std {

using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::ptrdiff_t;
using ::size_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using ::uintptr_t;

// For a friend of a class that writes it: never called here.
class ostream;
template <class T> ostream &operator<<(ostream &out, const T &x);

template <class T> struct numeric_limits {
    static constexpr bool is_signed = (T)-1 < (T)1;
    static constexpr T max()
    {
        return (T)(is_signed ? ((T)1 << (8 * sizeof(T) - 2)) - 1 +
                                   ((T)1 << (8 * sizeof(T) - 2))
                             : (T)-1);
    }
    static constexpr T min()
    {
        return is_signed ? (T)(-max() - 1) : (T)0;
    }
    static constexpr T lowest()
    {
        return min();
    }
};

#define GROAT_LIMITS(type, name, inf, nan) \
    template <> struct numeric_limits<type> { \
        static constexpr bool is_signed = true; \
        static constexpr type max() \
        { \
            return __##name##_MAX__; \
        } \
        static constexpr type min() \
        { \
            return __##name##_MIN__; \
        } \
        static constexpr type lowest() \
        { \
            return -__##name##_MAX__; \
        } \
        static constexpr type epsilon() \
        { \
            return __##name##_EPSILON__; \
        } \
        static constexpr type infinity() \
        { \
            return inf; \
        } \
        static constexpr type quiet_NaN() \
        { \
            return nan; \
        } \
    };

GROAT_LIMITS(float, FLT, __builtin_inff(), __builtin_nanf(""))
GROAT_LIMITS(double, DBL, __builtin_inf(), __builtin_nan(""))

template <class T> struct remove_reference {
    typedef T type;
};

template <class T> struct remove_reference<T &> {
    typedef T type;
};

template <class T> struct remove_reference<T &&> {
    typedef T type;
};

template <class T>
GROAT_LANES constexpr typename remove_reference<T>::type &&move(T &&x)
{
    return static_cast<typename remove_reference<T>::type &&>(x);
}

template <class T>
GROAT_LANES constexpr T &&forward(typename remove_reference<T>::type &x)
{
    return static_cast<T &&>(x);
}

template <class T> GROAT_LANES void swap(T &x, T &y)
{
    const T old = x;

    x = y;
    y = old;
}

template <class A, class B> struct is_same {
    static constexpr bool value = groat::are_same<A, B>;
};

template <class A, class B> constexpr bool is_same_v = is_same<A, B>::value;

template <bool, class A, class> struct conditional {
    typedef A type;
};

template <class A, class B> struct conditional<false, A, B> {
    typedef B type;
};

template <bool b, class A, class B>
using conditional_t = typename conditional<b, A, B>::type;

template <bool, class T = void> struct enable_if {
};

template <class T> struct enable_if<true, T> {
    typedef T type;
};

template <bool b, class T = void> using enable_if_t = typename enable_if<b, T>::type;

} // namespace std

// ---- what a class may do on the host: here a call is a finding of its line

#define GROAT_REFUSED(what) \
    groat::cpu_env->ops->refuse(groat::cpu_env, what, \
                                __builtin_return_address(0)); \
    __builtin_unreachable()

typedef int cudaError_t;
typedef void *cudaStream_t;
typedef void *cudaEvent_t;
enum {
    cudaSuccess,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyHostToHost,
    cudaMemcpyDefault
};

#define GROAT_OF_HOST(name) \
    template <class... A> GROAT_UNTOLD static cudaError_t name(A...) \
    { \
        GROAT_REFUSED("calls " #name "(), a function of the host"); \
    }

GROAT_OF_HOST(cudaMalloc)
GROAT_OF_HOST(cudaMallocHost)
GROAT_OF_HOST(cudaMallocManaged)
GROAT_OF_HOST(cudaFree)
GROAT_OF_HOST(cudaFreeHost)
GROAT_OF_HOST(cudaMemcpy)
GROAT_OF_HOST(cudaMemcpyAsync)
GROAT_OF_HOST(cudaMemset)
GROAT_OF_HOST(cudaMemsetAsync)
GROAT_OF_HOST(cudaDeviceSynchronize)
GROAT_OF_HOST(cudaStreamCreate)
GROAT_OF_HOST(cudaStreamDestroy)
GROAT_OF_HOST(cudaStreamSynchronize)
GROAT_OF_HOST(cudaGetLastError)

// ---- functions of whole numbers

namespace groat {

template <class T> struct of_whole;
template <> struct of_whole<int> { typedef double type; };
template <> struct of_whole<unsigned> { typedef double type; };
template <> struct of_whole<long> { typedef double type; };
template <> struct of_whole<unsigned long> { typedef double type; };
template <> struct of_whole<long long> { typedef double type; };
template <> struct of_whole<unsigned long long> { typedef double type; };

} // namespace groat

#define GROAT_OF_WHOLE(name) \
    template <class T> \
    GROAT_LANES typename groat::of_whole<T>::type name(T x) \
    { \
        return name(static_cast<double>(x)); \
    }
GROAT_OF_WHOLE(sqrt)
GROAT_OF_WHOLE(exp)
GROAT_OF_WHOLE(exp2)
GROAT_OF_WHOLE(log)
GROAT_OF_WHOLE(log2)
GROAT_OF_WHOLE(log10)
GROAT_OF_WHOLE(sin)
GROAT_OF_WHOLE(cos)
GROAT_OF_WHOLE(tan)
GROAT_OF_WHOLE(floor)
GROAT_OF_WHOLE(ceil)

// A launch that waits for the one in front of it: alone it never does.
GROAT_LANES void cudaGridDependencySynchronize()
{
}

GROAT_LANES void cudaTriggerProgrammaticLaunchCompletion()
{
}
