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
        cpu_env->ops->named_barrier(cpu_env, barrier, meeting(threads), 1);
}

GROAT_LANES void bar_arrive(unsigned barrier, unsigned threads)
{
    cpu_env->ops->named_barrier(cpu_env, barrier, meeting(threads), 0);
}

// Lanes of a warp may come to it from several places, as it is not aligned.
GROAT_LANES void barrier_sync(unsigned barrier, unsigned threads = 0)
{
    bar_sync(barrier, threads, 0);
}

#define GROAT_PTX_SAME(name, like) \
    template <class... T> GROAT_LANES void name(const T &...x) \
    { \
        like(x...); \
    }

GROAT_PTX_SAME(bar_cta_sync, bar_sync)
GROAT_PTX_SAME(barrier_sync_aligned, bar_sync)
GROAT_PTX_SAME(barrier_cta_sync, barrier_sync)
GROAT_PTX_SAME(barrier_cta_sync_aligned, bar_sync)
GROAT_PTX_SAME(bar_cta_arrive, bar_arrive)
GROAT_PTX_SAME(barrier_arrive, bar_arrive)
GROAT_PTX_SAME(barrier_arrive_aligned, bar_arrive)
GROAT_PTX_SAME(barrier_cta_arrive, bar_arrive)
GROAT_PTX_SAME(barrier_cta_arrive_aligned, bar_arrive)

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
GROAT_PTX_NOTHING(fence_acq_rel_gpu)
GROAT_PTX_NOTHING(fence_acq_rel_sys)
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

// ---- matrices

// One to four matrices: those whose addresses no lane has to give are the
// first ones again.
template <bool transposed>
GROAT_LANES vec4 load_matrices(unsigned own, unsigned matrices)
{
    const unsigned address =
        matrices == 4 ? own
                      : __shfl_sync(~0u, own, lane() % (8 * matrices));

    return transposed ? matrix_load_transposed(address) : matrix_load(address);
}

#define GROAT_PTX_LOAD_MATRICES(name, transposed, address) \
    template <class T> \
    GROAT_LANES void name(T &a, unsigned long long from) \
    { \
        put(a, load_matrices<transposed>(address(from), 1).x); \
    } \
    template <class T> \
    GROAT_LANES void name(T &a, T &b, unsigned long long from) \
    { \
        const vec4 all = load_matrices<transposed>(address(from), 2); \
        put(a, all.x); \
        put(b, all.y); \
    } \
    template <class T> \
    GROAT_LANES void name(T &a, T &b, T &c, T &d, unsigned long long from) \
    { \
        const vec4 all = load_matrices<transposed>(address(from), 4); \
        put(a, b, c, d, all.x, all.y, all.z, all.w); \
    }

#define GROAT_PTX_LDMATRIX(count, space, address) \
    GROAT_PTX_LOAD_MATRICES(ldmatrix_sync_aligned_m8n8_##count##space, false, \
                            address) \
    GROAT_PTX_LOAD_MATRICES(ldmatrix_sync_aligned_m8n8_##count##_trans##space, \
                            true, address) \
    GROAT_PTX_LOAD_MATRICES(ldmatrix_sync_aligned_##count##_m8n8##space, false, \
                            address) \
    GROAT_PTX_LOAD_MATRICES(ldmatrix_sync_aligned_##count##_trans_m8n8##space, \
                            true, address)

#define GROAT_PTX_LDMATRICES(count) \
    GROAT_PTX_LDMATRIX(count, _b16, in_shared) \
    GROAT_PTX_LDMATRIX(count, _shared_b16, of_shared) \
    GROAT_PTX_LDMATRIX(count, _shared_cta_b16, of_shared)

GROAT_PTX_LDMATRICES(x1)
GROAT_PTX_LDMATRICES(x2)
GROAT_PTX_LDMATRICES(x4)

template <class T, class F>
GROAT_LANES void movmatrix_sync_aligned_m8n8_trans_b16(T &to, const F &from)
{
    put(to, matrix_transpose_by(lane(), word(from)));
}

// The inverse of ldmatrix: matrix m's rows are where lanes 8 m and up say.
template <bool transposed>
GROAT_LANES void store_matrix(unsigned to, unsigned matrix, unsigned word)
{
    const unsigned line = lane() / 4, along = lane() % 4 * 2;

    for (unsigned i = 0; i < 2; i++) {
        const unsigned row = transposed ? along + i : line;
        const unsigned column = transposed ? line : along + i;
        const unsigned start = __shfl_sync(~0u, to, 8 * matrix + row);

        *(unsigned short *)place(start + 2 * column) =
            (unsigned short)(word >> 16 * i);
    }
}

#define GROAT_PTX_STORE_MATRICES(name, transposed) \
    template <class... T> \
    GROAT_LANES void name(unsigned long long to, const T &...words) \
    { \
        const unsigned all[] = {word(words)...}; \
        for (unsigned i = 0; i < sizeof...(words); i++) \
            store_matrix<transposed>(of_shared(to), i, all[i]); \
    }

#define GROAT_PTX_STMATRIX(count) \
    GROAT_PTX_STORE_MATRICES(stmatrix_sync_aligned_m8n8_##count##_shared_b16, \
                             false) \
    GROAT_PTX_STORE_MATRICES(stmatrix_sync_aligned_##count##_m8n8_shared_b16, \
                             false) \
    GROAT_PTX_STORE_MATRICES( \
        stmatrix_sync_aligned_m8n8_##count##_trans_shared_b16, true) \
    GROAT_PTX_STORE_MATRICES( \
        stmatrix_sync_aligned_##count##_trans_m8n8_shared_b16, true)

GROAT_PTX_STMATRIX(x1)
GROAT_PTX_STMATRIX(x2)
GROAT_PTX_STMATRIX(x4)

// d += A * B of 8-bit whole numbers, 16 deep: word 0 of A is of row lane / 4,
// word 1 of the row 8 below it.
GROAT_LANES void multiply_bytes(int (&d)[4], unsigned a0, unsigned a1, unsigned b)
{
    const unsigned line = lane() & ~3u, column = lane() % 4 * 8;

    for (unsigned i = 0; i < 4; i++) {
        const int rows[2] = {(int)__shfl_sync(~0u, a0, line + i),
                             (int)__shfl_sync(~0u, a1, line + i)};
        const int columns[2] = {(int)__shfl_sync(~0u, b, column + i),
                                (int)__shfl_sync(~0u, b, column + 4 + i)};

        for (int k = 0; k < 4; k++)
            d[k] = __dp4a(rows[k / 2], columns[k % 2], d[k]);
    }
}

template <class D, class A, class B, class C>
GROAT_LANES void mma_sync_aligned_m16n8k16_row_col_s32_s8_s8_s32(
    D &d0, D &d1, D &d2, D &d3, const A &a0, const A &a1, const B &b, const C &c0,
    const C &c1, const C &c2, const C &c3)
{
    int d[4] = {whole(c0), whole(c1), whole(c2), whole(c3)};

    multiply_bytes(d, word(a0), word(a1), word(b));
    put(d0, d1, d2, d3, d[0], d[1], d[2], d[3]);
}

template <class D, class A, class B, class C>
GROAT_LANES void mma_sync_aligned_m16n8k32_row_col_s32_s8_s8_s32(
    D &d0, D &d1, D &d2, D &d3, const A &a0, const A &a1, const A &a2,
    const A &a3, const B &b0, const B &b1, const C &c0, const C &c1, const C &c2,
    const C &c3)
{
    int d[4] = {whole(c0), whole(c1), whole(c2), whole(c3)};

    multiply_bytes(d, word(a0), word(a1), word(b0));
    multiply_bytes(d, word(a2), word(a3), word(b1));
    put(d0, d1, d2, d3, d[0], d[1], d[2], d[3]);
}

// D = A * B + C of floats, and of halves.
template <class A, class B>
GROAT_LANES void multiply_halves(A &d0, A &d1, vec4 a, vec2 b, const B &c0,
                                 const B &c1)
{
    const unsigned c[2] = {word(c0), word(c1)};
    unsigned d[2];
    float acc[4];

    for (int i = 0; i < 4; i++)
        acc[i] = f16_value(c[i / 2] >> 16 * (i % 2) & 0xffffu);
    mma_16x8<mma_f16>(acc, a, b);
    for (int i = 0; i < 2; i++)
        d[i] = pack16<mma_f16>(acc[2 * i], acc[2 * i + 1]);
    put(d0, d[0]);
    put(d1, d[1]);
}

#define GROAT_PTX_PRODUCT_16(name, type) \
    template <class D, class A, class B, class C> \
    GROAT_LANES void name(D &d0, D &d1, D &d2, D &d3, const A &a0, const A &a1, \
                          const A &a2, const A &a3, const B &b0, const B &b1, \
                          const C &c0, const C &c1, const C &c2, const C &c3) \
    { \
        float d[4] = {real(c0), real(c1), real(c2), real(c3)}; \
        mma_16x8<type>(d, vec4{word(a0), word(a1), word(a2), word(a3)}, \
                       vec2{word(b0), word(b1)}); \
        put(d0, d1, d2, d3, d[0], d[1], d[2], d[3]); \
    }

// Half as deep: the other half of the numbers are zeros.
#define GROAT_PTX_PRODUCT_8(name, type) \
    template <class D, class A, class B, class C> \
    GROAT_LANES void name(D &d0, D &d1, D &d2, D &d3, const A &a0, const A &a1, \
                          const B &b0, const C &c0, const C &c1, const C &c2, \
                          const C &c3) \
    { \
        float d[4] = {real(c0), real(c1), real(c2), real(c3)}; \
        mma_16x8<type>(d, vec4{word(a0), word(a1), 0, 0}, vec2{word(b0), 0}); \
        put(d0, d1, d2, d3, d[0], d[1], d[2], d[3]); \
    }

GROAT_PTX_PRODUCT_16(mma_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32, mma_f16)
GROAT_PTX_PRODUCT_16(mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32, mma_bf16)
GROAT_PTX_PRODUCT_16(mma_sync_aligned_m16n8k32_row_col_f32_e4m3_e4m3_f32, mma_fp8)
GROAT_PTX_PRODUCT_16(mma_sync_aligned_m16n8k32_row_col_f32_e5m2_e5m2_f32, mma_bf8)
GROAT_PTX_PRODUCT_8(mma_sync_aligned_m16n8k8_row_col_f32_f16_f16_f32, mma_f16)
GROAT_PTX_PRODUCT_8(mma_sync_aligned_m16n8k8_row_col_f32_bf16_bf16_f32, mma_bf16)

template <class D, class A, class B, class C>
GROAT_LANES void mma_sync_aligned_m16n8k16_row_col_f16_f16_f16_f16(
    D &d0, D &d1, const A &a0, const A &a1, const A &a2, const A &a3,
    const B &b0, const B &b1, const C &c0, const C &c1)
{
    multiply_halves(d0, d1, vec4{word(a0), word(a1), word(a2), word(a3)},
                    vec2{word(b0), word(b1)}, c0, c1);
}

template <class D, class A, class B, class C>
GROAT_LANES void mma_sync_aligned_m16n8k8_row_col_f16_f16_f16_f16(
    D &d0, D &d1, const A &a0, const A &a1, const B &b0, const C &c0,
    const C &c1)
{
    multiply_halves(d0, d1, vec4{word(a0), word(a1), 0, 0}, vec2{word(b0), 0},
                    c0, c1);
}

} // namespace groat_ptx
