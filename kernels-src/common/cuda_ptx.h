// SPDX-License-Identifier: Apache-2.0
// Inline PTX: groat judge makes each instruction of an asm statement a call of
// the function here that has its name, with "_" for dots and colons.  Operands
// come in PTX's order without braces; an address is that of a variable, or, of
// shared memory, the number of bytes in front of it.  Fences and hints do
// nothing, since the judge runs blocks as if stores were seen in order.
// (PTX ISA, the instruction set.)
#pragma once

#include "cuda_floats.h"
#include "mma_sync_cpu.h"

// What shared memory's addresses are to PTX.
GROAT_LANES size_t __cvta_generic_to_shared(const void *address)
{
    return groat::shared_address(address);
}

GROAT_LANES void *__cvta_shared_to_generic(size_t address)
{
    return groat::cpu_env->shared + address;
}

GROAT_LANES size_t __cvta_generic_to_global(const void *address)
{
    return (size_t)address;
}

// A name that no macro has: calls are made of words that a file may define.
namespace groat_ptx {

using namespace groat;

typedef bool reg_pred;
typedef unsigned short reg_b16, reg_u16;
typedef short reg_s16;
typedef unsigned reg_b32, reg_u32;
typedef int reg_s32;
typedef unsigned long long reg_b64, reg_u64;
typedef long long reg_s64;
typedef float reg_f32;
typedef double reg_f64;

GROAT_LANES float operand_bits(unsigned word)
{
    return bits_float(word);
}

// An input of an asm: a number of less than 4 bytes is in a register of 4.
template <class T> GROAT_LANES T operand(T x)
{
    return x;
}

#define GROAT_PTX_SMALL(type) \
    GROAT_LANES int operand(type x) \
    { \
        return x; \
    }

GROAT_PTX_SMALL(bool)
GROAT_PTX_SMALL(char)
GROAT_PTX_SMALL(signed char)
GROAT_PTX_SMALL(unsigned char)
GROAT_PTX_SMALL(short)
GROAT_PTX_SMALL(unsigned short)

GROAT_LANES unsigned long long operand_at(unsigned long long address)
{
    return address;
}

GROAT_LANES unsigned long long operand_at(const volatile void *address)
{
    return (unsigned long long)address;
}

// An address of shared memory, however it is given.
GROAT_LANES unsigned in_shared(unsigned long long address)
{
    return address >> 32 != 0 ? shared_address((const void *)address)
                              : (unsigned)address;
}

// Where an address of shared memory is, for an instruction that takes no other.
GROAT_LANES void *place(unsigned long long address)
{
    if (address >> 32 != 0)
        refuse("has an address of a variable where PTX takes one of shared memory: "
               "convert it, as by __cvta_generic_to_shared()");
    return cpu_env->shared + address;
}

GROAT_LANES unsigned of_shared(unsigned long long address)
{
    return shared_address(place(address));
}

// What a register of 4 bytes holds, whatever its type, and as a number.
template <class T> GROAT_LANES unsigned word(const T &from)
{
    unsigned bits;

    static_assert(sizeof(T) == 4, "this operand of the PTX has 4 bytes");
    __builtin_memcpy(&bits, &from, 4);
    return bits;
}

template <class T> GROAT_LANES int whole(const T &from)
{
    return (int)word(from);
}

template <class T> GROAT_LANES float real(const T &from)
{
    return bits_float(word(from));
}

GROAT_LANES float real(double constant)
{
    return (float)constant;
}

template <class T> GROAT_LANES void put(T &to, unsigned bits)
{
    static_assert(sizeof(T) == 4, "this operand of the PTX has 4 bytes");
    __builtin_memcpy(&to, &bits, 4);
}

template <class T> GROAT_LANES void put(T &to, float x)
{
    put(to, float_bits(x));
}

template <class T> GROAT_LANES void put(T &to, int x)
{
    put(to, (unsigned)x);
}

template <class T, class X>
GROAT_LANES void put(T &a, T &b, T &c, T &d, X w, X x, X y, X z)
{
    put(a, w);
    put(b, x);
    put(c, y);
    put(d, z);
}

// ---- moves, predicates, special registers

// Bits; a constant has 4 bytes.
#define GROAT_PTX_MOVE(name) \
    template <class T, class F> GROAT_LANES void name(T &to, const F &from) \
    { \
        if constexpr (sizeof(T) == sizeof(F)) \
            __builtin_memcpy(&to, &from, sizeof(T)); \
        else \
            to = (T)from; \
    }

GROAT_PTX_MOVE(mov_b32)
GROAT_PTX_MOVE(mov_u32)
GROAT_PTX_MOVE(mov_s32)
GROAT_PTX_MOVE(mov_f32)
GROAT_PTX_MOVE(mov_b64)
GROAT_PTX_MOVE(mov_u64)

// Two words of 4 bytes become one of 8, or one becomes two; the lower is first.
template <class T, class A, class B>
GROAT_LANES void mov_b64(T &to, A &&low, B &&high)
{
    if constexpr (sizeof(T) == 8) {
        to = (T)(word(low) | (unsigned long long)word(high) << 32);
    } else {
        put(to, (unsigned)(unsigned long long)high);
        put(low, (unsigned)((unsigned long long)high >> 32));
    }
}

template <class T, class F> GROAT_LANES void cvt_u32_u64(T &to, const F &from)
{
    put(to, (unsigned)from);
}

template <class T, class F> GROAT_LANES void cvt_u64_u32(T &to, const F &from)
{
    to = (T)word(from);
}

template <class T, class F>
GROAT_LANES void cvta_to_shared_u64(T &to, const F &from)
{
    to = (T)in_shared(operand_at(from));
}

// Of floats each comparison with a NaN is false.
#define GROAT_PTX_COMPARE(name, read, op) \
    template <class A, class B> \
    GROAT_LANES void setp_##name(bool &to, const A &a, const B &b) \
    { \
        const auto x = read(a), y = read(b); \
        to = x op y && x == x && y == y; \
    }

#define GROAT_PTX_COMPARES(name, op) \
    GROAT_PTX_COMPARE(name##_b32, word, op) \
    GROAT_PTX_COMPARE(name##_u32, word, op) \
    GROAT_PTX_COMPARE(name##_s32, whole, op) \
    GROAT_PTX_COMPARE(name##_f32, real, op)

GROAT_PTX_COMPARES(eq, ==)
GROAT_PTX_COMPARES(ne, !=)
GROAT_PTX_COMPARES(lt, <)
GROAT_PTX_COMPARES(le, <=)
GROAT_PTX_COMPARES(gt, >)
GROAT_PTX_COMPARES(ge, >=)

#define GROAT_PTX_SELECT(type) \
    template <class T, class A, class B> \
    GROAT_LANES void selp_##type(T &to, const A &a, const B &b, bool first) \
    { \
        if (first) \
            mov_##type(to, a); \
        else \
            mov_##type(to, b); \
    }

GROAT_PTX_SELECT(b32)
GROAT_PTX_SELECT(u32)
GROAT_PTX_SELECT(s32)
GROAT_PTX_SELECT(f32)
GROAT_PTX_SELECT(b64)
GROAT_PTX_SELECT(u64)

GROAT_LANES unsigned special_laneid()
{
    return lane();
}

#define GROAT_PTX_COORDINATES(name, of) \
    GROAT_LANES unsigned special_##name##_x() \
    { \
        return of.x; \
    } \
    GROAT_LANES unsigned special_##name##_y() \
    { \
        return of.y; \
    } \
    GROAT_LANES unsigned special_##name##_z() \
    { \
        return of.z; \
    }

GROAT_PTX_COORDINATES(tid, threadIdx)
GROAT_PTX_COORDINATES(ntid, blockDim)
GROAT_PTX_COORDINATES(ctaid, blockIdx)
GROAT_PTX_COORDINATES(nctaid, gridDim)

GROAT_LANES unsigned special_warpid()
{
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) /
           32;
}

GROAT_LANES unsigned special_lanemask_lt()
{
    return (1u << lane()) - 1;
}

// Clusters of one block.
GROAT_LANES unsigned special_cluster_ctarank()
{
    return 0;
}

GROAT_LANES unsigned special_cluster_nctarank()
{
    return 1;
}

GROAT_LANES unsigned long long special_clock64()
{
    return (unsigned long long)clock64();
}

GROAT_LANES unsigned special_smid()
{
    return 0;
}

GROAT_LANES unsigned special_clock()
{
    return (unsigned)clock64();
}

GROAT_LANES unsigned long long special_globaltimer()
{
    return (unsigned long long)clock64();
}

template <class T, class A, class B, class C>
GROAT_LANES void lop3_b32(T &to, const A &a, const B &b, const C &c, int table)
{
    const unsigned x = word(a), y = word(b), z = word(c);
    unsigned all = 0;

    for (unsigned i = 0; i < 8; i++)
        if (table >> i & 1)
            all |= (i & 4 ? x : ~x) & (i & 2 ? y : ~y) & (i & 1 ? z : ~z);
    put(to, all);
}

// ---- functions of floats

// Flushes what is too small for a normal float, as .ftz says.
GROAT_LANES float flush(float x)
{
    return fabsf(x) < 1.17549435e-38f ? copysignf(0, x) : x;
}

#define GROAT_PTX_FUNCTION(name, value) \
    template <class T, class F> \
    GROAT_LANES void name##_approx_f32(T &to, const F &from) \
    { \
        const float x = real(from); \
        put(to, (float)(value)); \
    } \
    template <class T, class F> \
    GROAT_LANES void name##_approx_ftz_f32(T &to, const F &from) \
    { \
        const float x = flush(real(from)); \
        put(to, flush((float)(value))); \
    }

GROAT_PTX_FUNCTION(ex2, exp2f(x))
GROAT_PTX_FUNCTION(lg2, log2f(x))
GROAT_PTX_FUNCTION(rcp, 1 / x)
GROAT_PTX_FUNCTION(rsqrt, rsqrtf(x))
GROAT_PTX_FUNCTION(sqrt, sqrtf(x))
GROAT_PTX_FUNCTION(sin, sinf(x))
GROAT_PTX_FUNCTION(cos, cosf(x))

template <class T, class F> GROAT_LANES void tanh_approx_f32(T &to, const F &x)
{
    put(to, tanhf(real(x)));
}

#define GROAT_PTX_SUM(name, read, op) \
    template <class T, class A, class B> \
    GROAT_LANES void name(T &to, const A &a, const B &b) \
    { \
        put(to, read(a) op read(b)); \
    }

GROAT_PTX_SUM(add_u32, word, +)
GROAT_PTX_SUM(add_s32, word, +)
GROAT_PTX_SUM(add_f32, real, +)
GROAT_PTX_SUM(sub_u32, word, -)
GROAT_PTX_SUM(sub_s32, word, -)
GROAT_PTX_SUM(sub_f32, real, -)
GROAT_PTX_SUM(mul_f32, real, *)
GROAT_PTX_SUM(add_rn_f32, real, +)
GROAT_PTX_SUM(sub_rn_f32, real, -)
GROAT_PTX_SUM(mul_rn_f32, real, *)
GROAT_PTX_SUM(mul_lo_u32, word, *)
GROAT_PTX_SUM(mul_lo_s32, word, *)
GROAT_PTX_SUM(and_b32, word, &)
GROAT_PTX_SUM(or_b32, word, |)
GROAT_PTX_SUM(xor_b32, word, ^)

template <class T, class A, class B>
GROAT_LANES void shl_b32(T &to, const A &a, const B &by)
{
    put(to, (unsigned)by < 32 ? word(a) << (unsigned)by : 0u);
}

template <class T, class A, class B>
GROAT_LANES void shr_u32(T &to, const A &a, const B &by)
{
    put(to, (unsigned)by < 32 ? word(a) >> (unsigned)by : 0u);
}

template <class T, class A, class B>
GROAT_LANES void max_f32(T &to, const A &a, const B &b)
{
    put(to, fmaxf(real(a), real(b)));
}

template <class T, class A, class B>
GROAT_LANES void min_f32(T &to, const A &a, const B &b)
{
    put(to, fminf(real(a), real(b)));
}

template <class T, class A, class B, class C>
GROAT_LANES void mad_lo_u32(T &to, const A &a, const B &b, const C &c)
{
    put(to, word(a) * word(b) + word(c));
}

template <class T, class A, class B, class C>
GROAT_LANES void mad_lo_s32(T &to, const A &a, const B &b, const C &c)
{
    put(to, word(a) * word(b) + word(c));
}

// Two floats, the upper half first.
template <class T, class A, class B>
GROAT_LANES void cvt_rn_bf16x2_f32(T &to, const A &high, const B &low)
{
    put(to, pack16<mma_bf16>(real(low), real(high)));
}

template <class T, class A, class B>
GROAT_LANES void cvt_rn_f16x2_f32(T &to, const A &high, const B &low)
{
    put(to, pack16<mma_f16>(real(low), real(high)));
}

template <class T, class A, class B>
GROAT_LANES void add_u64(T &to, const A &a, const B &b)
{
    to = (T)((unsigned long long)a + (unsigned long long)b);
}

template <class T, class A, class B, class C>
GROAT_LANES void fma_rn_f32(T &to, const A &a, const B &b, const C &c)
{
    put(to, fmaf(real(a), real(b), real(c)));
}

// Saturates: a NaN becomes 0.
template <class T, class F>
GROAT_LANES void cvt_rni_sat_s8_f32(T &to, const F &from)
{
    const float x = real(from);

    to = (T)(x != x ? 0 : (int)rintf(fminf(fmaxf(x, -128.f), 127.f)));
}

#define GROAT_PTX_HALVES(name, function) \
    template <class T, class... F> GROAT_LANES void name(T &to, const F &...x) \
    { \
        put(to, word(function(halves(x)...))); \
    }

template <class T> GROAT_LANES __half2 halves(const T &x)
{
    const unsigned both = word(x);
    __half2 pair;

    __builtin_memcpy(&pair, &both, 4);
    return pair;
}

GROAT_PTX_HALVES(add_f16x2, __hadd2)
GROAT_PTX_HALVES(sub_f16x2, __hsub2)
GROAT_PTX_HALVES(mul_f16x2, __hmul2)
GROAT_PTX_HALVES(fma_rn_f16x2, __hfma2)

// A shuffle of the whole warp: `whole` says so.
#define GROAT_PTX_SHUFFLE(name, function, whole) \
    template <class T, class F> \
    GROAT_LANES void shfl_sync_##name##_b32(T &to, const F &from, unsigned by, \
                                            unsigned bound, unsigned mask) \
    { \
        if (bound != whole) \
            refuse("shuffles in a part of the warp (shfl.sync), which is not " \
                   "judged"); \
        put(to, function(mask, word(from), by)); \
    }

GROAT_PTX_SHUFFLE(idx, __shfl_sync, 31)
GROAT_PTX_SHUFFLE(bfly, __shfl_xor_sync, 31)
GROAT_PTX_SHUFFLE(up, __shfl_up_sync, 0)
GROAT_PTX_SHUFFLE(down, __shfl_down_sync, 31)

// ---- loads and stores

#define GROAT_PTX_MEMORY_OF(load, store, where, type) \
    template <class T> \
    GROAT_LANES void load##_##type(T &to, unsigned long long from) \
    { \
        put(to, *(const unsigned *)where(from)); \
    } \
    template <class T> \
    GROAT_LANES void load##_v2_##type(T &a, T &b, unsigned long long from) \
    { \
        const uint2 both = *(const uint2 *)where(from); \
        put(a, both.x); \
        put(b, both.y); \
    } \
    template <class T> \
    GROAT_LANES void load##_v4_##type(T &a, T &b, T &c, T &d, \
                                      unsigned long long from) \
    { \
        const uint4 all = *(const uint4 *)where(from); \
        put(a, b, c, d, all.x, all.y, all.z, all.w); \
    } \
    template <class T> \
    GROAT_LANES void store##_##type(unsigned long long to, T from) \
    { \
        *(unsigned *)where(to) = word(from); \
    } \
    template <class T> \
    GROAT_LANES void store##_v2_##type(unsigned long long to, T a, T b) \
    { \
        *(uint2 *)where(to) = uint2{word(a), word(b)}; \
    } \
    template <class T> \
    GROAT_LANES void store##_v4_##type(unsigned long long to, T a, T b, T c, \
                                       T d) \
    { \
        *(uint4 *)where(to) = uint4{word(a), word(b), word(c), word(d)}; \
    }

#define GROAT_PTX_MEMORY_8(load, store, where, type) \
    template <class T> \
    GROAT_LANES void load##_##type(T &to, unsigned long long from) \
    { \
        static_assert(sizeof(T) == 8, "this operand of the PTX has 8 bytes"); \
        const unsigned long long x = *(const unsigned long long *)where(from); \
        __builtin_memcpy(&to, &x, 8); \
    } \
    template <class T> \
    GROAT_LANES void store##_##type(unsigned long long to, T from) \
    { \
        static_assert(sizeof(T) == 8, "this operand of the PTX has 8 bytes"); \
        unsigned long long x; \
        __builtin_memcpy(&x, &from, 8); \
        *(unsigned long long *)where(to) = x; \
    }

#define GROAT_PTX_MEMORY(load, store, where) \
    GROAT_PTX_MEMORY_8(load, store, where, b64) \
    GROAT_PTX_MEMORY_8(load, store, where, u64) \
    GROAT_PTX_MEMORY_OF(load, store, where, b32) \
    GROAT_PTX_MEMORY_OF(load, store, where, u32) \
    GROAT_PTX_MEMORY_OF(load, store, where, s32) \
    GROAT_PTX_MEMORY_OF(load, store, where, f32)

GROAT_PTX_MEMORY(ld_shared, st_shared, place)
GROAT_PTX_MEMORY(ld_shared_cta, st_shared_cta, place)
GROAT_PTX_MEMORY(ld_global, st_global, operand_at)
GROAT_PTX_MEMORY(ld_global_nc, st_global_wb, operand_at)
GROAT_PTX_MEMORY(ld_global_ca, st_global_cs, operand_at)
GROAT_PTX_MEMORY(ld_global_cg, st_global_cg, operand_at)
GROAT_PTX_MEMORY(ld_global_cs, st_global_wt, operand_at)
GROAT_PTX_MEMORY(ld_global_nc_L1_no_allocate, st_global_L1_no_allocate,
                 operand_at)
GROAT_PTX_MEMORY(ld_global_nc_L2_128B, st_global_L2_128B, operand_at)

#define GROAT_PTX_FLAG_OF(load, store, type) \
    template <class T> \
    GROAT_LANES void load##_##type(T &to, unsigned long long from) \
    { \
        put(to, load_again((const unsigned *)from)); \
    } \
    template <class T> \
    GROAT_LANES void store##_##type(unsigned long long to, T from) \
    { \
        *(volatile unsigned *)to = word(from); \
    }

#define GROAT_PTX_FLAGS(load, store) \
    GROAT_PTX_FLAG_OF(load, store, b32) \
    GROAT_PTX_FLAG_OF(load, store, u32) \
    GROAT_PTX_FLAG_OF(load, store, s32)

GROAT_PTX_FLAGS(ld_volatile_global, st_volatile_global)
GROAT_PTX_FLAGS(ld_global_acquire_gpu, st_global_release_gpu)
GROAT_PTX_FLAGS(ld_acquire_gpu_global, st_release_gpu_global)
GROAT_PTX_FLAGS(ld_acquire_gpu, st_release_gpu)

#define GROAT_PTX_ADD(name, type, read) \
    template <class T> \
    GROAT_LANES void red_##name(unsigned long long to, const T &by) \
    { \
        atomicAdd((type *)to, read(by)); \
    } \
    template <class O, class T> \
    GROAT_LANES void atom_##name(O &old, unsigned long long to, const T &by) \
    { \
        const type was = atomicAdd((type *)to, read(by)); \
        put(old, word(was)); \
    }

#define GROAT_PTX_ADDS(type, c_type, read) \
    GROAT_PTX_ADD(global_add_##type, c_type, read) \
    GROAT_PTX_ADD(add_release_gpu_##type, c_type, read) \
    GROAT_PTX_ADD(release_gpu_global_add_##type, c_type, read) \
    GROAT_PTX_ADD(acq_rel_gpu_global_add_##type, c_type, read)

GROAT_PTX_ADDS(u32, unsigned, word)
GROAT_PTX_ADDS(s32, int, whole)
GROAT_PTX_ADDS(f32, float, real)

// ---- barriers, fences, hints

// Whole warps meet: a last one with fewer lanes counts as those it has.
GROAT_LANES unsigned meeting(unsigned threads)
{
    const unsigned all = GROAT_BLOCK_X * GROAT_BLOCK_Y * GROAT_BLOCK_Z;

    return threads == 0 || threads == (all + 31) / 32 * 32 ? all : threads;
}

GROAT_LANES void bar_sync(unsigned barrier, unsigned threads = 0,
                          unsigned line = __builtin_LINE())
{
    if (barrier == 0 && meeting(threads) == meeting(0))
        cpu_env->ops->block_barrier(cpu_env, line);
    else
        cpu_env->ops->named_barrier(
            cpu_env, barrier, meeting(threads),
            GROAT_CPU_BARRIER_WAIT |
                (line != 0 ? GROAT_CPU_BARRIER_ALIGNED |
                                 line * GROAT_CPU_BARRIER_LINE
                           : 0));
}

GROAT_LANES void bar_arrive(unsigned barrier, unsigned threads,
                            unsigned line = __builtin_LINE())
{
    cpu_env->ops->named_barrier(
        cpu_env, barrier, meeting(threads),
        GROAT_CPU_BARRIER_ALIGNED | line * GROAT_CPU_BARRIER_LINE);
}

// Lanes of a warp may come to it from several places, as it is not aligned.
GROAT_LANES void barrier_sync(unsigned barrier, unsigned threads = 0)
{
    bar_sync(barrier, threads, 0);
}

GROAT_LANES void barrier_arrive(unsigned barrier, unsigned threads)
{
    cpu_env->ops->named_barrier(cpu_env, barrier, meeting(threads), 0);
}

#define GROAT_PTX_SAME(name, like, fewest) \
    GROAT_LANES void name(unsigned barrier, unsigned threads fewest, \
                          unsigned line = __builtin_LINE()) \
    { \
        like(barrier, threads, line); \
    }

GROAT_PTX_SAME(bar_cta_sync, bar_sync, = 0)
GROAT_PTX_SAME(barrier_sync_aligned, bar_sync, = 0)
GROAT_PTX_SAME(barrier_cta_sync_aligned, bar_sync, = 0)
GROAT_PTX_SAME(bar_cta_arrive, bar_arrive, )
GROAT_PTX_SAME(barrier_arrive_aligned, bar_arrive, )
GROAT_PTX_SAME(barrier_cta_arrive_aligned, bar_arrive, )

GROAT_LANES void barrier_cta_sync(unsigned barrier, unsigned threads = 0)
{
    barrier_sync(barrier, threads);
}

GROAT_LANES void barrier_cta_arrive(unsigned barrier, unsigned threads)
{
    barrier_arrive(barrier, threads);
}

GROAT_LANES void trap()
{
    refuse("executes trap");
}

GROAT_LANES void bar_warp_sync(unsigned mask)
{
    __syncwarp(mask);
}

#define GROAT_PTX_NOTHING(name) \
    template <class... T> GROAT_LANES void name(T...) \
    { \
    }

GROAT_PTX_NOTHING(membar_cta)
GROAT_PTX_NOTHING(membar_gl)
GROAT_PTX_NOTHING(membar_sys)
GROAT_PTX_NOTHING(fence_acq_rel_cta)
GROAT_PTX_NOTHING(fence_acq_rel_cluster)
GROAT_PTX_NOTHING(fence_acq_rel_gpu)
GROAT_PTX_NOTHING(fence_acq_rel_sys)
GROAT_PTX_NOTHING(fence_sc_cta)
GROAT_PTX_NOTHING(fence_sc_cluster)
GROAT_PTX_NOTHING(fence_sc_gpu)
GROAT_PTX_NOTHING(fence_sc_sys)
GROAT_PTX_NOTHING(nanosleep_u32)
GROAT_PTX_NOTHING(prefetch_global_L1)
GROAT_PTX_NOTHING(prefetch_global_L2)
GROAT_PTX_NOTHING(griddepcontrol_wait)
GROAT_PTX_NOTHING(griddepcontrol_launch_dependents)
GROAT_PTX_NOTHING(setmaxnreg_inc_sync_aligned_u32)
GROAT_PTX_NOTHING(setmaxnreg_dec_sync_aligned_u32)
GROAT_PTX_NOTHING(cp_async_bulk_prefetch_L2_global)

// ---- asynchronous copies

// The bytes that are read, as a number says, or none if a predicate says so.
template <class R> GROAT_LANES unsigned bytes_read(unsigned, const R &read)
{
    return (unsigned)read;
}

GROAT_LANES unsigned bytes_read(unsigned bytes, const bool &ignored)
{
    return ignored ? 0 : bytes;
}

// The other bytes become zeros; cp.async.cg copies 16.
#define GROAT_PTX_COPY(name, least) \
    template <class R> \
    GROAT_LANES void name(unsigned long long to, unsigned long long from, \
                          unsigned bytes, const R &source) \
    { \
        const unsigned read = bytes_read(bytes, source); \
        if (bytes < least || read > bytes) \
            refuse(bytes < least \
                       ? "copies less than 16 bytes by cp.async.cg" \
                       : "reads more bytes than those of the copy (cp.async)"); \
        __pipeline_memcpy_async(place(to), (const void *)from, bytes, \
                                bytes - read); \
    } \
    GROAT_LANES void name(unsigned long long to, unsigned long long from, \
                          unsigned bytes) \
    { \
        name(to, from, bytes, bytes); \
    }

#define GROAT_PTX_COPIES(name, least) \
    GROAT_PTX_COPY(name, least) \
    GROAT_PTX_COPY(name##_L2_64B, least) \
    GROAT_PTX_COPY(name##_L2_128B, least) \
    GROAT_PTX_COPY(name##_L2_256B, least)

GROAT_PTX_COPIES(cp_async_ca_shared_global, 0)
GROAT_PTX_COPIES(cp_async_cg_shared_global, 16)
GROAT_PTX_COPIES(cp_async_ca_shared_cta_global, 0)
GROAT_PTX_COPIES(cp_async_cg_shared_cta_global, 16)

GROAT_LANES void cp_async_commit_group()
{
    __pipeline_commit();
}

GROAT_LANES void cp_async_wait_group(unsigned groups)
{
    __pipeline_wait_prior(groups);
}

GROAT_LANES void cp_async_wait_all()
{
    __pipeline_commit();
    __pipeline_wait_prior(0);
}

} // namespace groat_ptx
