// SPDX-License-Identifier: Apache-2.0
// Names that a CUDA C++ kernel uses without including anything: groat judge
// puts this file in front of such a kernel.  Only for cpu targets.
#pragma once

// threadIdx.x is unsigned, and most kernels compare it with an int.
#pragma GCC diagnostic ignored "-Wsign-compare"
// The host's functions and other kernels' are not called here.
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"
// __forceinline__ without `inline`, which may stand beside it.
#pragma GCC diagnostic ignored "-Wattributes"

#define GROAT_CPU_CUDA 1
#include "vendor.h"

#define __global__ __attribute__((unused))
#define __device__ __attribute__((unused))
#define __host__
#define __constant__ __attribute__((unused))
// `used`: else a variable without stores would become a constant.  Without
// __constinit gcc would construct arrays of classes, once in each thread.
#ifdef __clang__
#define __shared__         __attribute__((used)) static thread_local
#else
#define __shared__         __attribute__((used)) __constinit static thread_local
#endif
#define __forceinline__    __attribute__((always_inline))
#define __noinline__
#define __restrict__       __restrict
#define __align__(n)       __attribute__((aligned(n)))
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __CUDACC__         1
#define __CUDA_ARCH__      900
#define CUDA_VERSION       12080
#define CUDART_VERSION     CUDA_VERSION
#define warpSize           32
#ifndef __clang__
#define __builtin_assume(x) ((void)0)
#endif
#define INT_MAX            __INT_MAX__
#define INT_MIN            (-__INT_MAX__ - 1)
#define UINT_MAX           (2u * __INT_MAX__ + 1)
#define FLT_MAX            __FLT_MAX__
#define FLT_MIN            __FLT_MIN__
#define FLT_EPSILON        __FLT_EPSILON__
#define NULL               __null
#define INFINITY           __builtin_inff()
#define NAN                __builtin_nanf("")
#define CUDART_INF_F       __builtin_inff()
#define assert(x) \
    ((x) ? (void)0 : groat::refuse("breaks its assertion: " #x))
#define __trap() groat::refuse("calls __trap()")
// The kernel's output goes to stderr: stdout has the tool's answer.
#define printf(...) GROAT_PRINT(__VA_ARGS__)
#define GROAT_LANES static __attribute__((always_inline, unused)) inline
#define GROAT_MEMBER __attribute__((always_inline))

extern "C" {
float sqrtf(float), cbrtf(float), expf(float), exp2f(float), expm1f(float);
float logf(float), log2f(float), log10f(float), log1pf(float), sinf(float);
float cosf(float), tanf(float), asinf(float), acosf(float), atanf(float);
float sinhf(float), coshf(float), tanhf(float), erff(float), erfcf(float);
float floorf(float), ceilf(float), truncf(float), roundf(float), rintf(float);
float fabsf(float), powf(float, float), fmodf(float, float);
float atan2f(float, float), fmaxf(float, float), fminf(float, float);
float copysignf(float, float), ldexpf(float, int), fmaf(float, float, float);
float hypotf(float, float), nearbyintf(float), log1pf(float);
float fdimf(float, float), remainderf(float, float), nextafterf(float, float);
float logbf(float), tgammaf(float), lgammaf(float), scalbnf(float, int);
long lroundf(float), lrintf(float);
double sqrt(double), exp(double), exp2(double), log(double), log2(double);
double log10(double), sin(double), cos(double), tan(double), tanh(double);
double erf(double), floor(double), ceil(double), round(double), fabs(double);
double pow(double, double), fmod(double, double), fmax(double, double);
double fmin(double, double), fma(double, double, double);
void *memcpy(void *, const void *, unsigned long);
void *memset(void *, int, unsigned long);
}

#define GROAT_OF_FLOAT(name) \
    GROAT_LANES float name(float x) \
    { \
        return name##f(x); \
    }
GROAT_OF_FLOAT(sqrt)
GROAT_OF_FLOAT(exp)
GROAT_OF_FLOAT(exp2)
GROAT_OF_FLOAT(log)
GROAT_OF_FLOAT(log2)
GROAT_OF_FLOAT(sin)
GROAT_OF_FLOAT(cos)
GROAT_OF_FLOAT(tanh)
GROAT_OF_FLOAT(floor)
GROAT_OF_FLOAT(ceil)
GROAT_OF_FLOAT(round)
GROAT_OF_FLOAT(fabs)

typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef unsigned long uintptr_t;
typedef long intptr_t;
typedef long intmax_t;
typedef unsigned long uintmax_t;
typedef long clock_t;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

namespace std {
typedef decltype(nullptr) nullptr_t;
}

// ---- vectors and coordinates

#define GROAT_VECTOR(type, name) \
    struct name##1 { \
        type x; \
    }; \
    struct alignas(2 * sizeof(type)) name##2 { \
        type x, y; \
    }; \
    struct name##3 { \
        type x, y, z; \
    }; \
    struct alignas(4 * sizeof(type) > 16 ? 16 : 4 * sizeof(type)) name##4 { \
        type x, y, z, w; \
    }; \
    GROAT_LANES name##2 make_##name##2(type x, type y) \
    { \
        return {x, y}; \
    } \
    GROAT_LANES name##3 make_##name##3(type x, type y, type z) \
    { \
        return {x, y, z}; \
    } \
    GROAT_LANES name##4 make_##name##4(type x, type y, type z, type w) \
    { \
        return {x, y, z, w}; \
    }

GROAT_VECTOR(char, char)
GROAT_VECTOR(unsigned char, uchar)
GROAT_VECTOR(short, short)
GROAT_VECTOR(unsigned short, ushort)
GROAT_VECTOR(int, int)
GROAT_VECTOR(unsigned, uint)
GROAT_VECTOR(long, long)
GROAT_VECTOR(unsigned long, ulong)
GROAT_VECTOR(long long, longlong)
GROAT_VECTOR(unsigned long long, ulonglong)
GROAT_VECTOR(float, float)
GROAT_VECTOR(double, double)

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1)
        : x(a), y(b), z(c)
    {
    }
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z)
    {
    }
    constexpr operator uint3() const
    {
        return {x, y, z};
    }
};

namespace groat {

GROAT_BEHIND static uint3 three(const unsigned *at)
{
    return {at[0], at[1], at[2]};
}

GROAT_BEHIND static uint3 thread_at()
{
    return three(cpu_env->thread);
}

GROAT_BEHIND static uint3 block_at()
{
    return three(cpu_env->block);
}

GROAT_BEHIND static uint3 blocks()
{
    return three(cpu_env->grid);
}

// Hides the size of an array from the compiler, which might otherwise exploit
// that an index out of bounds is undefined behaviour.
GROAT_UNTOLD static unsigned char *hide_size(unsigned char *array)
{
    asm volatile("" : "+r"(array));
    return array;
}

// Not inlined: the return address tells the line.
GROAT_UNTOLD static void refuse(const char *why)
{
    cpu_env->ops->refuse(cpu_env, why, __builtin_return_address(0));
}

GROAT_LANES void take_lanes(unsigned mask)
{
    if (mask != 0xffffffffu)
        cpu_env->ops->take_lanes(cpu_env, mask);
}

GROAT_LANES unsigned lane()
{
    const uint3 at = thread_at();

    return (at.x + GROAT_BLOCK_X * (at.y + GROAT_BLOCK_Y * at.z)) % 32;
}

// Number of lanes in this warp: a block's last warp may be short.
GROAT_LANES unsigned lanes_here()
{
    const uint3 at = thread_at();
    const unsigned thread =
        at.x + GROAT_BLOCK_X * (at.y + GROAT_BLOCK_Y * at.z);
    const unsigned left =
        GROAT_BLOCK_X * GROAT_BLOCK_Y * GROAT_BLOCK_Z - thread / 32 * 32;

    return left < 32 ? left : 32;
}

// Returns the value, of 1 to 8 bytes, of lane `from`; garbage if there is none.
template <class T>
GROAT_LANES T from_lane(unsigned mask, T value, unsigned from)
{
    const bool there = from < lanes_here();
    unsigned words[2] = {0, 0};

    static_assert(sizeof(T) <= 8, "a shuffle takes 1 to 8 bytes");
    __builtin_memcpy(words, &value, sizeof(T));
    for (unsigned i = 0; i < (sizeof(T) + 3) / 4; i++) {
        take_lanes(mask);
        words[i] = cpu_env->ops->shuffle(cpu_env, words[i],
                                         there ? from : lane());
        words[i] = there ? words[i] : 0x7fc5a5a5u;
    }
    __builtin_memcpy(&value, words, sizeof(T));
    return value;
}

GROAT_UNTOLD static unsigned shared_address(const void *address)
{
    return (unsigned)((const unsigned char *)address - cpu_env->shared);
}

template <class T, class F>
GROAT_UNTOLD static T change(T *address, const void *from, F changed)
{
    T old;

    touch(address, sizeof(T), GROAT_CPU_ATOMIC, from);
    __builtin_memcpy(&old, address, sizeof(T));
    const T next = changed(old);
    __builtin_memcpy(address, &next, sizeof(T));
    return old;
}

// A load that another block may answer, as of a volatile variable.
template <class T> GROAT_UNTOLD static T load_again(const T *address)
{
    T value;

    touch(address, sizeof(T), GROAT_CPU_VOLATILE_READ,
          __builtin_return_address(0));
    __builtin_memcpy(&value, address, sizeof(T));
    return value;
}

template <class T> struct same {
    typedef T type;
};

} // namespace groat

#include "cuda_call.h"

#define threadIdx groat::thread_at()
#define blockIdx  groat::block_at()
#define gridDim   groat::blocks()
#define blockDim  (uint3{GROAT_BLOCK_X, GROAT_BLOCK_Y, GROAT_BLOCK_Z})

// ---- barriers, warps

#define __syncthreads()                                                        \
    groat::cpu_env->ops->block_barrier(groat::cpu_env, __LINE__)
#define __threadfence()
#define __threadfence_block()
#define __threadfence_system()
#define __nanosleep(ns)
#define clock()       static_cast<clock_t>(groat::cycles())
#define clock64()     static_cast<long long>(groat::cycles())
#define __activemask() groat::cpu_env->ops->active_lanes(groat::cpu_env)

GROAT_LANES int __syncthreads_count(int predicate,
                                    unsigned line = __builtin_LINE())
{
    return (int)groat::cpu_env->ops->block_vote(groat::cpu_env, predicate != 0,
                                                line);
}

GROAT_LANES int __syncthreads_or(int predicate,
                                 unsigned line = __builtin_LINE())
{
    return __syncthreads_count(predicate, line) != 0;
}

GROAT_LANES int __syncthreads_and(int predicate,
                                  unsigned line = __builtin_LINE())
{
    return __syncthreads_count(predicate == 0, line) == 0;
}

GROAT_LANES void __syncwarp(unsigned mask = 0xffffffffu)
{
    groat::take_lanes(mask);
    groat::cpu_env->ops->warp_barrier(groat::cpu_env);
}

template <class T>
GROAT_LANES T __shfl_sync(unsigned mask, T value, int from, int width = 32)
{
    return groat::from_lane(mask, value, (groat::lane() & ~(width - 1u)) |
                                       (from & (width - 1u)));
}

template <class T>
GROAT_LANES T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32)
{
    const unsigned lane = groat::lane();
    const unsigned from = lane ^ with;

    return groat::from_lane(
        mask, value, (from & ~(width - 1u)) > (lane & ~(width - 1u)) ? lane : from);
}

template <class T>
GROAT_LANES T __shfl_up_sync(unsigned mask, T value, unsigned by,
                             int width = 32)
{
    const unsigned lane = groat::lane();

    return groat::from_lane(mask, value,
                            (lane & (width - 1u)) < by ? lane : lane - by);
}

template <class T>
GROAT_LANES T __shfl_down_sync(unsigned mask, T value, unsigned by,
                               int width = 32)
{
    const unsigned lane = groat::lane();

    return groat::from_lane(
        mask, value, (lane & (width - 1u)) + by >= (unsigned)width ? lane
                                                              : lane + by);
}

namespace groat {

// Votes of different kinds must not meet.
enum vote { BALLOT = 0, ANY = 2, ALL = 4 };

GROAT_LANES unsigned ballot(unsigned mask, vote kind, bool predicate)
{
    take_lanes(mask);
    return (unsigned)cpu_env->ops->ballot(cpu_env, (unsigned)kind | predicate);
}

} // namespace groat

GROAT_LANES unsigned __ballot_sync(unsigned mask, int predicate)
{
    return groat::ballot(mask, groat::BALLOT, predicate != 0);
}

GROAT_LANES int __any_sync(unsigned mask, int predicate)
{
    return groat::ballot(mask, groat::ANY, predicate != 0) != 0;
}

GROAT_LANES int __all_sync(unsigned mask, int predicate)
{
    return groat::ballot(mask, groat::ALL, predicate == 0) == 0;
}

// ---- atomic operations

// Not inlined: the return address tells the line.
#define GROAT_ATOMIC(name, expression) \
    template <class T> \
    GROAT_UNTOLD static T name(T *address, typename groat::same<T>::type value) \
    { \
        return groat::change(address, __builtin_return_address(0), \
                             [value](T old) GROAT_UNTOLD -> T { return expression; }); \
    }

GROAT_ATOMIC(atomicAdd, old + value)
GROAT_ATOMIC(atomicSub, old - value)
GROAT_ATOMIC(atomicMin, old < value ? old : value)
GROAT_ATOMIC(atomicMax, old > value ? old : value)
GROAT_ATOMIC(atomicExch, (void(old), value))
GROAT_ATOMIC(atomicAnd, old & value)
GROAT_ATOMIC(atomicOr, old | value)
GROAT_ATOMIC(atomicXor, old ^ value)
GROAT_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
GROAT_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)

template <class T>
GROAT_UNTOLD static T atomicCAS(T *address,
                                typename groat::same<T>::type expected,
                                typename groat::same<T>::type value)
{
    return groat::change(address, __builtin_return_address(0),
                         [expected, value](T old) GROAT_UNTOLD -> T {
                             return old == expected ? value : old;
                         });
}

// ---- asynchronous copies

// cp.async and its groups.
GROAT_LANES void __pipeline_memcpy_async(void *to, const void *from,
                                         size_t bytes, size_t zeros = 0)
{
    const unsigned lane = groat::lane();

    if (zeros > bytes)
        groat::refuse("more bytes of zeros than of the copy");
    groat::cpu_env->ops->async_copy(
        groat::cpu_env, (unsigned long long)from, (unsigned)(bytes - zeros),
        groat::shared_address(to) - lane * (unsigned)bytes, lane, 0, 0,
        (unsigned)bytes | GROAT_CPU_EXACT);
}

GROAT_LANES void __pipeline_commit()
{
    groat::cpu_env->ops->async_commit(groat::cpu_env);
}

GROAT_LANES void __pipeline_wait_prior(unsigned groups)
{
    groat::cpu_env->ops->async_wait(groat::cpu_env, 0, groups);
}

// ---- numbers

GROAT_LANES int abs(int x)
{
    return x < 0 ? -x : x;
}

GROAT_LANES long abs(long x)
{
    return x < 0 ? -x : x;
}

GROAT_LANES long long abs(long long x)
{
    return x < 0 ? -x : x;
}

GROAT_LANES float abs(float x)
{
    return __builtin_fabsf(x);
}

GROAT_LANES double abs(double x)
{
    return __builtin_fabs(x);
}

GROAT_LANES long long llabs(long long x)
{
    return abs(x);
}

template <class T> GROAT_LANES T __ldg(const T *address)
{
    return *address;
}

GROAT_LANES float rsqrtf(float x)
{
    return (float)(1.0 / __builtin_sqrt((double)x));
}

GROAT_LANES double rsqrt(double x)
{
    return 1.0 / __builtin_sqrt(x);
}

GROAT_LANES float __saturatef(float x)
{
    return x > 0 ? x < 1 ? x : 1 : 0;
}

namespace groat {

// The 32 low bits of a product of signed numbers of 24 bits.
GROAT_LANES int product24(unsigned x, unsigned y)
{
    return (int)((unsigned)((int)(x << 8) >> 8) * (unsigned)((int)(y << 8) >> 8));
}

// As the device converts: what does not fit becomes the nearest number that does;
// a NaN 0, but if either side has 64 bits the number with the highest bit alone.
template <class T, class F> GROAT_LANES T whole(F x)
{
    const bool has_sign = (T)~(T)0 < (T)1;
    const T top = (T)((T)1 << (8 * sizeof(T) - 1));
    const T least = has_sign ? top : 0;
    const T most = (T)~least;

    if (x != x)
        return sizeof(T) == 8 || sizeof(F) == 8 ? top : 0;
    return x >= (F)most ? most : x <= (F)least ? least : (T)x;
}

} // namespace groat

// Conversions of a float or double to whole numbers, with each rounding.
#define GROAT_TO_WHOLE(name, type, from, suffix) \
    GROAT_LANES type name##_rn(from x) \
    { \
        return groat::whole<type>(__builtin_rint##suffix(x)); \
    } \
    GROAT_LANES type name##_rz(from x) \
    { \
        return groat::whole<type>(__builtin_trunc##suffix(x)); \
    } \
    GROAT_LANES type name##_rd(from x) \
    { \
        return groat::whole<type>(__builtin_floor##suffix(x)); \
    } \
    GROAT_LANES type name##_ru(from x) \
    { \
        return groat::whole<type>(__builtin_ceil##suffix(x)); \
    }

GROAT_TO_WHOLE(__float2int, int, float, f)
GROAT_TO_WHOLE(__float2uint, unsigned, float, f)
GROAT_TO_WHOLE(__float2ll, long long, float, f)
GROAT_TO_WHOLE(__float2ull, unsigned long long, float, f)
GROAT_TO_WHOLE(__double2int, int, double, )
GROAT_TO_WHOLE(__double2uint, unsigned, double, )
GROAT_TO_WHOLE(__double2ll, long long, double, )
GROAT_TO_WHOLE(__double2ull, unsigned long long, double, )

GROAT_LANES long long __double_as_longlong(double x)
{
    long long bits;

    __builtin_memcpy(&bits, &x, sizeof(bits));
    return bits;
}

GROAT_LANES double __longlong_as_double(long long bits)
{
    double x;

    __builtin_memcpy(&x, &bits, sizeof(x));
    return x;
}

GROAT_LANES int __double2hiint(double x)
{
    return (int)(__double_as_longlong(x) >> 32);
}

GROAT_LANES int __double2loint(double x)
{
    return (int)__double_as_longlong(x);
}

GROAT_LANES double __hiloint2double(int high, int low)
{
    return __longlong_as_double(
        (long long)((unsigned long long)(unsigned)high << 32 | (unsigned)low));
}

GROAT_LANES float __fdividef(float x, float y)
{
    return x / y;
}

GROAT_LANES float __frcp_rn(float x)
{
    return 1 / x;
}

GROAT_LANES float __fadd_rn(float x, float y)
{
    return x + y;
}

GROAT_LANES float __fsub_rn(float x, float y)
{
    return x - y;
}

GROAT_LANES float __fdiv_rn(float x, float y)
{
    return x / y;
}

GROAT_LANES float __fmul_rn(float x, float y)
{
    return x * y;
}

#define __expf(x)          expf(x)
#define __exp10f(x)        powf(10.0f, x)
#define __logf(x)          logf(x)
#define __log2f(x)         log2f(x)
#define __sinf(x)          sinf(x)
#define __cosf(x)          cosf(x)
#define __powf(x, y)       powf(x, y)
#define __fsqrt_rn(x)      sqrtf(x)
#define __frsqrt_rn(x)     rsqrtf(x)
#define __fmaf_rn(x, y, z) fmaf(x, y, z)
#define __mul24(x, y)      groat::product24(x, y)
#define __umul24(x, y)     (((unsigned)(x) & 0xffffffu) * ((unsigned)(y) & 0xffffffu))
#define __popc(x)          __builtin_popcount(x)
#define __popcll(x)        __builtin_popcountll(x)
#define __ffs(x)           __builtin_ffs(x)
#define __ffsll(x)         __builtin_ffsll(x)
#define __int2float_rn(x)  ((float)(int)(x))
#define __uint2float_rn(x) ((float)(unsigned)(x))
#define __ll2float_rn(x)   ((float)(long long)(x))
#define __ull2float_rn(x)  ((float)(unsigned long long)(x))
#define __int2double_rn(x) ((double)(int)(x))
#define __uint2double_rn(x) ((double)(unsigned)(x))
#define __ll2double_rn(x)  ((double)(long long)(x))
#define __ull2double_rn(x) ((double)(unsigned long long)(x))
#define __double2float_rn(x) ((float)(double)(x))
#define __ldcg(p)          __ldg(p)
#define __ldca(p)          __ldg(p)
#define __ldcs(p)          __ldg(p)
#define __ldcv(p)          groat::load_again(p)
#define __ldlu(p)          __ldg(p)
#define __stcg(p, x)       (void)(*(p) = (x))
#define __stcs(p, x)       (void)(*(p) = (x))
#define __stwb(p, x)       (void)(*(p) = (x))
#define __stwt(p, x)       (void)(*(p) = (x))
#define __float_as_uint(x) groat::float_bits(x)
#define __float_as_int(x)  ((int)groat::float_bits(x))
#define __uint_as_float(x) groat::bits_float(x)
#define __int_as_float(x)  groat::bits_float((unsigned)(x))

GROAT_LANES int __clz(unsigned x)
{
    return x ? __builtin_clz(x) : 32;
}

GROAT_LANES int __clzll(unsigned long long x)
{
    return x ? __builtin_clzll(x) : 64;
}

GROAT_LANES unsigned __brev(unsigned x)
{
    unsigned y = 0;

    for (int i = 0; i < 32; i++)
        y |= (x >> i & 1u) << (31 - i);
    return y;
}

GROAT_LANES unsigned long long __brevll(unsigned long long x)
{
    return (unsigned long long)__brev((unsigned)x) << 32 |
           __brev((unsigned)(x >> 32));
}

GROAT_LANES unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((unsigned long long)a * b >> 32);
}

GROAT_LANES int __mulhi(int a, int b)
{
    return (int)((long long)a * b >> 32);
}

GROAT_LANES unsigned long long __umul64hi(unsigned long long a,
                                          unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}

GROAT_LANES long long __mul64hi(long long a, long long b)
{
    return (long long)((__int128)a * b >> 64);
}

// The sum of z and the distance from x to y.
GROAT_LANES unsigned __sad(int x, int y, unsigned z)
{
    return (x < y ? (unsigned)y - (unsigned)x : (unsigned)x - (unsigned)y) + z;
}

GROAT_LANES unsigned __usad(unsigned x, unsigned y, unsigned z)
{
    return (x < y ? y - x : x - y) + z;
}

// Averages, rounded down, and up where the name has an r.
GROAT_LANES int __hadd(int x, int y)
{
    return (int)(((long long)x + y) >> 1);
}

GROAT_LANES int __rhadd(int x, int y)
{
    return (int)(((long long)x + y + 1) >> 1);
}

GROAT_LANES unsigned __uhadd(unsigned x, unsigned y)
{
    return (unsigned)(((unsigned long long)x + y) >> 1);
}

GROAT_LANES unsigned __urhadd(unsigned x, unsigned y)
{
    return (unsigned)(((unsigned long long)x + y + 1) >> 1);
}

// Shifts of the 64 bits of a high and a low word, by 31 at most, and by 32 at
// most where the name has a c (clamped).
GROAT_LANES unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned by)
{
    const unsigned long long both = (unsigned long long)high << 32 | low;

    return (unsigned)(both << (by < 32 ? by : 32) >> 32);
}

GROAT_LANES unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned by)
{
    const unsigned long long both = (unsigned long long)high << 32 | low;

    return (unsigned)(both >> (by < 32 ? by : 32));
}

GROAT_LANES unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by)
{
    return __funnelshift_lc(low, high, by & 31);
}

GROAT_LANES unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by)
{
    return __funnelshift_rc(low, high, by & 31);
}

GROAT_LANES unsigned __byte_perm(unsigned a, unsigned b, unsigned places)
{
    const unsigned long long both = (unsigned long long)b << 32 | a;
    unsigned y = 0;

    for (int i = 0; i < 4; i++)
        y |= (unsigned)(both >> (places >> 4 * i & 7u) * 8 & 255u) << 8 * i;
    return y;
}

GROAT_LANES int __dp4a(int a, int b, int sum)
{
    return (int)groat::dot4((unsigned)a, (unsigned)b, (unsigned)sum);
}

GROAT_LANES unsigned __dp4a(unsigned a, unsigned b, unsigned sum)
{
    return groat::dot4_unsigned(a, b, sum);
}

// The lanes of the mask whose value has the same bits.
template <class T> GROAT_LANES unsigned __match_any_sync(unsigned mask, T value)
{
    unsigned same = 0;

    for (unsigned rest = mask & (0xffffffffu >> (32 - groat::lanes_here()));
         rest != 0; rest &= rest - 1) {
        const T other =
            groat::from_lane(mask, value, (unsigned)__builtin_ctz(rest));

        if (__builtin_memcmp(&other, &value, sizeof(T)) == 0)
            same |= rest & -rest;
    }
    return same;
}

// The mask where all its lanes have the same bits, else 0.
template <class T>
GROAT_LANES unsigned __match_all_sync(unsigned mask, T value, int *all_same)
{
    const unsigned here = mask & (0xffffffffu >> (32 - groat::lanes_here()));

    *all_same = __match_any_sync(mask, value) == here;
    return *all_same ? here : 0;
}

#define GROAT_REDUCE(name, expression) \
    template <class T> GROAT_LANES T name(unsigned mask, T value) \
    { \
        T all = value; \
        bool first = true; \
 \
        for (unsigned rest = mask & (0xffffffffu >> (32 - groat::lanes_here())); \
             rest != 0; rest &= rest - 1) { \
            const T other = groat::from_lane(mask, value, \
                                             (unsigned)__builtin_ctz(rest)); \
 \
            all = first ? other : (expression); \
            first = false; \
        } \
        return all; \
    }

GROAT_REDUCE(__reduce_add_sync, all + other)
GROAT_REDUCE(__reduce_min_sync, other < all ? other : all)
GROAT_REDUCE(__reduce_max_sync, other > all ? other : all)
GROAT_REDUCE(__reduce_and_sync, all & other)
GROAT_REDUCE(__reduce_or_sync, all | other)
GROAT_REDUCE(__reduce_xor_sync, all ^ other)

template <class T> GROAT_LANES bool isnan(T x)
{
    return __builtin_isnan(x);
}

template <class T> GROAT_LANES bool isinf(T x)
{
    return __builtin_isinf(x);
}

template <class T> GROAT_LANES bool isfinite(T x)
{
    return __builtin_isfinite(x);
}

template <class T> GROAT_LANES bool signbit(T x)
{
    return __builtin_signbit(x);
}

GROAT_LANES void sincosf(float x, float *sine, float *cosine)
{
    *sine = sinf(x);
    *cosine = cosf(x);
}

GROAT_LANES void __sincosf(float x, float *sine, float *cosine)
{
    sincosf(x, sine, cosine);
}

#include "cuda_math.h"

// Names that <cmath> and <algorithm> put in std.
namespace std {

using ::ceil;
using ::cos;
using ::exp;
using ::abs;
using ::fabs;
using ::floor;
using ::fmax;
using ::fmin;
using ::isfinite;
using ::isinf;
using ::isnan;
using ::log;
using ::max;
using ::min;
using ::pow;
using ::round;
using ::sin;
using ::sqrt;
using ::tanh;

} // namespace std
