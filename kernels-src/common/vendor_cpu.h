// SPDX-License-Identifier: Apache-2.0
// Primitives of common/vendor.h for the host's C++ compiler: every access to
// shared or device memory and every wait is a call of the judge, which models
// the target's arch.  Shared-memory addresses start at 0.
#pragma once

#include "cpu_hooks.h"

// Always inlined, as on GPUs: the line table then maps the return address of a
// call into the judge to the whole chain of calls in the kernel.
#define GROAT_DEVICE inline __attribute__((always_inline))
#ifndef GROAT_CPU_SILENT
#define GROAT_CPU_SILENT 0
#endif
// Blocks print in their order.
#define GROAT_PRINT(...) groat::print(__VA_ARGS__)
#define GROAT_UNROLL
#define GROAT_ROLLED
extern "C" int vsnprintf(char *to, decltype(sizeof(0)) bytes, const char *format,
                         __builtin_va_list list);

// gcc reports no access by a call's argument or result that is a structure in
// memory, so that a kernel which reports its accesses has no calls.
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define GROAT_WHOLE __attribute__((flatten))
#else
#define GROAT_WHOLE
#endif

// The kernel exports its entry and groat_cpu_bind, which the judge calls once
// on the OS thread that runs a launch.
#define GROAT_KERNEL(args_type) \
    static_assert(sizeof(args_type) == GROAT_ARGS_BYTES, \
                  "args.h and 'launch args' of params.def disagree"); \
    GROAT_WHOLE static void groat_cpu_body(const args_type &args); \
    extern "C" GROAT_EXPORTED void GROAT_ENTRY( \
        const void *args) \
    { \
        groat_cpu_body(*static_cast<const args_type *>(args)); \
    } \
    static void groat_cpu_body(const args_type &args)

// A kernel compiled with -fsanitize=thread reports each access that it makes
// through a pointer.  The functions have the names of ThreadSanitizer's
// run-time, which is not linked.
#if defined(__SANITIZE_THREAD__)
#define GROAT_CPU_TOLD 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GROAT_CPU_TOLD 1
#endif
#endif

// CUDA and HIP have these without a header.  If one of two floats of one type is
// a NaN, the other is returned.
template <class A, class B>
GROAT_DEVICE auto min(A a, B b) -> decltype(true ? A() : B())
{
    return b < a ? b : a;
}

template <class A, class B>
GROAT_DEVICE auto max(A a, B b) -> decltype(true ? A() : B())
{
    return a < b ? b : a;
}

GROAT_DEVICE float min(float a, float b)
{
    return __builtin_fminf(a, b);
}

GROAT_DEVICE float max(float a, float b)
{
    return __builtin_fmaxf(a, b);
}

GROAT_DEVICE double min(double a, double b)
{
    return __builtin_fmin(a, b);
}

GROAT_DEVICE double max(double a, double b)
{
    return __builtin_fmax(a, b);
}

namespace groat {

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

struct alignas(8) vec2 {
    u32 x, y;
};

struct alignas(16) vec4 {
    u32 x, y, z, w;
};

struct alignas(16) vec8 {
    vec4 low, high;
};

// Aligned because ASan mistakes the 16 bytes before a TLS block that starts 16
// bytes into a page for a glibc header, and its leak check then reads anywhere.
#ifdef GROAT_CPU_TOLD
// The other thread-local variables are a block's shared memory.  This one has a
// section before theirs, which it fills to a multiple of its alignment.  So that
// memory begins at a multiple of 1,024 bytes, as patterns of swizzled tiles do:
// its addresses are aligned as those of pointers to it are.
struct alignas(1024) env_slot {
    groat_cpu_env *env;
};

__attribute__((used, section(".tdata"))) static thread_local env_slot own_slot;
#define cpu_env own_slot.env
#else
alignas(64) static thread_local groat_cpu_env *cpu_env;
#endif

GROAT_DEVICE u32 thread_index()
{
    return cpu_env->thread[0];
}

GROAT_DEVICE u32 block_index()
{
    return cpu_env->block[0];
}

GROAT_DEVICE u32 block_index_y()
{
    return cpu_env->block[1];
}

GROAT_DEVICE u32 wave_uniform(u32 x)
{
    return cpu_env->ops->wave_uniform(cpu_env, x);
}

GROAT_DEVICE u32 shared_base()
{
    return 0;
}

GROAT_DEVICE vec4 shared_load16(u32 address)
{
    vec4 v;

    cpu_env->ops->shared_load(cpu_env, address, &v, 16);
    return v;
}

GROAT_DEVICE void shared_store16(u32 address, vec4 v)
{
    cpu_env->ops->shared_store(cpu_env, address, &v, 16);
}

GROAT_DEVICE u32 shared_load1(u32 address)
{
    u8 x;

    cpu_env->ops->shared_load(cpu_env, address, &x, 1);
    return x;
}

GROAT_DEVICE u32 shared_load2(u32 address)
{
    unsigned short x;

    cpu_env->ops->shared_load(cpu_env, address, &x, 2);
    return x;
}

GROAT_DEVICE u32 shared_load4(u32 address)
{
    u32 x;

    cpu_env->ops->shared_load(cpu_env, address, &x, 4);
    return x;
}

GROAT_DEVICE vec2 shared_load8(u32 address)
{
    vec2 v;

    cpu_env->ops->shared_load(cpu_env, address, &v, 8);
    return v;
}

GROAT_DEVICE void shared_store1(u32 address, u32 x)
{
    cpu_env->ops->shared_store(cpu_env, address, &x, 1);
}

GROAT_DEVICE void shared_store2(u32 address, u32 x)
{
    cpu_env->ops->shared_store(cpu_env, address, &x, 2);
}

GROAT_DEVICE void shared_store4(u32 address, u32 x)
{
    cpu_env->ops->shared_store(cpu_env, address, &x, 4);
}

GROAT_DEVICE void shared_store8(u32 address, vec2 v)
{
    cpu_env->ops->shared_store(cpu_env, address, &v, 8);
}

template <int = 0> GROAT_DEVICE vec2 transpose_load8(u32 address)
{
    vec2 v;

    cpu_env->ops->transpose_load(cpu_env, address, &v, 1);
    return v;
}

template <int = 0> GROAT_DEVICE vec2 transpose_load16(u32 address)
{
    vec2 v;

    cpu_env->ops->transpose_load(cpu_env, address, &v, 2);
    return v;
}

GROAT_DEVICE vec4 global_load16(u64 address)
{
    vec4 v;

    cpu_env->ops->global_load(cpu_env, address, &v, 16);
    return v;
}

GROAT_DEVICE void global_store16(u64 address, vec4 v)
{
    cpu_env->ops->global_store(cpu_env, address, &v, 16);
}

GROAT_DEVICE u32 global_load1(u64 address)
{
    u8 x;

    cpu_env->ops->global_load(cpu_env, address, &x, 1);
    return x;
}

GROAT_DEVICE u32 global_load2(u64 address)
{
    unsigned short x;

    cpu_env->ops->global_load(cpu_env, address, &x, 2);
    return x;
}

GROAT_DEVICE void global_store1(u64 address, u32 x)
{
    cpu_env->ops->global_store(cpu_env, address, &x, 1);
}

GROAT_DEVICE void global_store2(u64 address, u32 x)
{
    cpu_env->ops->global_store(cpu_env, address, &x, 2);
}

GROAT_DEVICE u32 global_load4(u64 address)
{
    u32 x;

    cpu_env->ops->global_load(cpu_env, address, &x, 4);
    return x;
}

GROAT_DEVICE vec2 global_load8(u64 address)
{
    vec2 v;

    cpu_env->ops->global_load(cpu_env, address, &v, 8);
    return v;
}

GROAT_DEVICE void global_store4(u64 address, u32 x)
{
    cpu_env->ops->global_store(cpu_env, address, &x, 4);
}

GROAT_DEVICE void global_store8(u64 address, vec2 v)
{
    cpu_env->ops->global_store(cpu_env, address, &v, 8);
}

struct buffer {
    u64 base;
    u32 num_records; // bytes
};

GROAT_DEVICE buffer make_buffer(u64 base, u32 num_records)
{
    return buffer{base, num_records};
}

GROAT_DEVICE vec2 buffer_load8(buffer b, u32 voffset, u32 soffset)
{
    vec2 v;

    cpu_env->ops->buffer_load(cpu_env, b.base, b.num_records, voffset, soffset,
                              &v, 8);
    return v;
}

GROAT_DEVICE vec4 buffer_load16(buffer b, u32 voffset, u32 soffset)
{
    vec4 v;

    cpu_env->ops->buffer_load(cpu_env, b.base, b.num_records, voffset, soffset,
                              &v, 16);
    return v;
}

GROAT_DEVICE void settle(vec4 &)
{
}

GROAT_DEVICE u32 float_bits(float x)
{
    u32 bits;

    __builtin_memcpy(&bits, &x, sizeof(bits));
    return bits;
}

GROAT_DEVICE float bits_float(u32 bits)
{
    float x;

    __builtin_memcpy(&x, &bits, sizeof(x));
    return x;
}

// NVIDIA has it from sm_89 on; declared here but not defined.
constexpr bool converts_e4m3 = false;
template <int = 0> u32 e4m3_pair(float low, float high);

GROAT_DEVICE u32 dot4(u32 a, u32 b, u32 sum)
{
    for (int shift = 0; shift < 32; shift += 8)
        sum += static_cast<signed char>(a >> shift) *
               static_cast<signed char>(b >> shift);
    return sum;
}

GROAT_DEVICE u32 dot4_unsigned(u32 a, u32 b, u32 sum)
{
    for (int shift = 0; shift < 32; shift += 8)
        sum += (a >> shift & 255) * (b >> shift & 255);
    return sum;
}

GROAT_DEVICE u64 cycles()
{
    return cpu_env->cycles += 1024;
}

template <int bytes>
GROAT_DEVICE void async_copy(buffer b, u32 shared_chunk, u32 lane, u32 voffset,
                       u32 soffset)
{
    cpu_env->ops->async_copy(cpu_env, b.base, b.num_records, shared_chunk, lane,
                             voffset, soffset, bytes);
}

GROAT_DEVICE void async_commit()
{
    cpu_env->ops->async_commit(cpu_env);
}

template <int ops, int groups> GROAT_DEVICE void async_wait()
{
    cpu_env->ops->async_wait(cpu_env, ops, groups);
}

GROAT_DEVICE u32 computed_anew(u32 x)
{
    return x;
}

GROAT_DEVICE void compiler_fence()
{
}

GROAT_DEVICE void shared_fence()
{
    cpu_env->ops->shared_fence(cpu_env);
}

GROAT_DEVICE void launch_wait()
{
}

GROAT_DEVICE void launch_next()
{
}

GROAT_DEVICE void block_barrier(u32 line = __builtin_LINE())
{
    cpu_env->ops->block_barrier(cpu_env, line);
}

// All lanes of the wave must call both functions.
GROAT_DEVICE u32 wave_shuffle(u32 x, u32 lane)
{
    return cpu_env->ops->shuffle(cpu_env, x, lane);
}

GROAT_DEVICE u64 wave_ballot(bool x)
{
    return cpu_env->ops->ballot(cpu_env, x);
}

enum mma_number {
    mma_bf16 = GROAT_CPU_BF16,
    mma_f16 = GROAT_CPU_F16,
    mma_fp8 = GROAT_CPU_FP8,
    mma_bf8 = GROAT_CPU_BF8
};

template <int m> struct accumulator {
    float v[m * m / 64];

    float get(int i) const
    {
        return v[i];
    }
};

template <int m> GROAT_DEVICE accumulator<m> zero_accumulator()
{
    return accumulator<m>{};
}

template <mma_number type, int m, int k, typename operand>
GROAT_DEVICE void mfma(accumulator<m> &acc, operand a, operand b)
{
    static_assert(64 * sizeof(operand) ==
                      m * k * (type == mma_fp8 || type == mma_bf8 ? 1 : 2),
                  "mfma: an operand has k * m / 64 numbers per lane");
    cpu_env->ops->mfma(cpu_env, type, m, k, &a, &b, acc.v);
}

} // namespace groat

// The C++ compiler's sanitizers tell these places and types; its run-time,
// which has functions of the same names, is not linked.
struct groat_cpu_type {
    unsigned short kind;
    unsigned short info;
    char name[1]; // quoted, as 'float [32]'
};

struct groat_cpu_place {
    const char *file;
    unsigned line;
    unsigned column;
    const groat_cpu_type *type;
    unsigned char unit; // of -fsanitize=alignment alone: its logarithm
};

// addr2line would name an inlined call by a function in front of it in a section,
// so the kernel's has none of these.
#define GROAT_OF_ITS_OWN __attribute__((section("groat_own")))
#define GROAT_EXPORTED GROAT_OF_ITS_OWN __attribute__((visibility("default")))

// -fsanitize=bounds calls this for an index outside of an array.
extern "C" GROAT_OF_ITS_OWN void __ubsan_handle_out_of_bounds(void *place, void *index)
{
    groat::cpu_env->ops->out_of_bounds(
        groat::cpu_env, static_cast<const groat_cpu_place *>(place)->type->name,
        reinterpret_cast<long long>(index), __builtin_return_address(0));
}

// The C library's functions of these names, which compilers know without a
// declaration, would end the program that launches the kernel.
extern "C" GROAT_EXPORTED __attribute__((noreturn)) void groat_cpu_exit(int)
{
    groat::cpu_env->ops->refuse(groat::cpu_env,
                                "ends the program, as exit() does, which no "
                                "kernel of a GPU can",
                                __builtin_return_address(0));
    __builtin_unreachable();
}

extern "C" GROAT_EXPORTED __attribute__((noreturn)) void abort()
{
    groat::cpu_env->ops->refuse(groat::cpu_env,
                                "ends the program by abort(), which no kernel "
                                "of a GPU can",
                                __builtin_return_address(0));
    __builtin_unreachable();
}

#define GROAT_EXIT(name) \
    extern "C" __attribute__((noreturn, alias("groat_cpu_exit"))) void name(int)
GROAT_EXIT(exit);
GROAT_EXIT(_exit);
GROAT_EXIT(_Exit);
GROAT_EXIT(quick_exit);
#undef GROAT_EXIT

extern "C" GROAT_EXPORTED unsigned
groat_cpu_bind(groat_cpu_env *env)
{
    groat::cpu_env = env;
#ifdef GROAT_CPU_CUDA
    if (env != nullptr)
        env->cuda = 1;
#endif
    return GROAT_CPU_HOOKS_VERSION;
}

// The kernel's compiler instruments none of these.
#if defined(__clang__) && __clang_major__ >= 13
#define GROAT_NO_COVERAGE no_sanitize("coverage")
#elif !defined(__clang__) && __GNUC__ >= 12
#define GROAT_NO_COVERAGE no_sanitize_coverage
#else
#define GROAT_NO_COVERAGE
#endif
#define GROAT_UNTOLD __attribute__((noinline, unused, no_sanitize("thread"), \
                                    GROAT_NO_COVERAGE))
// Functions that stand behind a kernel's line.
#define GROAT_BEHIND GROAT_UNTOLD __attribute__((section("groat_behind")))

namespace groat {

__attribute__((format(printf, 1, 2))) GROAT_BEHIND static void
print(const char *format, ...)
{
    char text[256];
    char *all = text;
    __builtin_va_list list;
    __builtin_va_list again;
    int bytes;

    __builtin_va_start(list, format);
    __builtin_va_copy(again, list);
    bytes = vsnprintf(text, sizeof(text), format, list);
    __builtin_va_end(list);
    if (bytes >= static_cast<int>(sizeof(text))) {
        all = static_cast<char *>(__builtin_alloca(bytes + 1));
        vsnprintf(all, bytes + 1, format, again);
    }
    __builtin_va_end(again);
    cpu_env->ops->print(cpu_env, all,
                        GROAT_CPU_SILENT || bytes < 0 ? 0 : bytes);
}

} // namespace groat

// Memory that a kernel takes by itself is not judged.  `weak`: clang would drop
// what follows a call that never returns, and then the call.
#define GROAT_TAKES_MEMORY(declaration) \
    GROAT_EXPORTED GROAT_UNTOLD __attribute__((weak)) declaration \
    { \
        groat::cpu_env->ops->refuse(groat::cpu_env, \
                                    "takes or frees memory of its own, which " \
                                    "is not judged", \
                                    __builtin_return_address(0)); \
        __builtin_unreachable(); \
    }
extern "C" {
GROAT_TAKES_MEMORY(void *malloc(unsigned long))
GROAT_TAKES_MEMORY(void free(void *))
}
GROAT_TAKES_MEMORY(void *operator new(unsigned long))
GROAT_TAKES_MEMORY(void *operator new[](unsigned long))
GROAT_TAKES_MEMORY(void operator delete(void *) noexcept)
GROAT_TAKES_MEMORY(void operator delete[](void *) noexcept)
GROAT_TAKES_MEMORY(void operator delete(void *, unsigned long) noexcept)
GROAT_TAKES_MEMORY(void operator delete[](void *, unsigned long) noexcept)
#undef GROAT_TAKES_MEMORY

extern "C" const unsigned char __ehdr_start[]
    __attribute__((visibility("hidden")));
extern "C" const unsigned char etext[] __attribute__((visibility("hidden")));
extern "C" const unsigned char __start_groat_behind[]
    __attribute__((visibility("hidden")));
extern "C" const unsigned char __stop_groat_behind[]
    __attribute__((visibility("hidden")));

GROAT_UNTOLD static bool groat_cpu_is_behind(const void *at)
{
    return at >= __start_groat_behind && at < __stop_groat_behind;
}

// -fsanitize-coverage=trace-cmp calls these for each comparison.  They tell the
// judge when it looks for what unwritten memory is compared with.
#define GROAT_COMPARED(name, type, word) \
    extern "C" GROAT_BEHIND void __sanitizer_cov_trace_##name(type a, type b) \
    { \
        groat_cpu_env *env = groat::cpu_env; \
\
        if (env != nullptr && env->again == GROAT_CPU_AGAIN_COMPARING) \
            env->ops->compared(env, __builtin_bit_cast(word, a), \
                               __builtin_bit_cast(word, b), sizeof(type)); \
    }
GROAT_COMPARED(cmp1, unsigned char, unsigned char)
GROAT_COMPARED(cmp2, unsigned short, unsigned short)
GROAT_COMPARED(cmp4, unsigned, unsigned)
GROAT_COMPARED(cmp8, unsigned long, unsigned long)
GROAT_COMPARED(const_cmp1, unsigned char, unsigned char)
GROAT_COMPARED(const_cmp2, unsigned short, unsigned short)
GROAT_COMPARED(const_cmp4, unsigned, unsigned)
GROAT_COMPARED(const_cmp8, unsigned long, unsigned long)
GROAT_COMPARED(cmpf, float, unsigned)
GROAT_COMPARED(cmpd, double, unsigned long)

extern "C" GROAT_BEHIND void __sanitizer_cov_trace_pc()
{
}

// `cases` begins with their number and the bits of the value.
extern "C" GROAT_BEHIND void
__sanitizer_cov_trace_switch(unsigned long value, const unsigned long *cases)
{
    groat_cpu_env *env = groat::cpu_env;

    if (env != nullptr && env->again == GROAT_CPU_AGAIN_COMPARING)
        for (unsigned long i = 0; i < cases[0]; i++)
            env->ops->compared(env, value, cases[2 + i], cases[1] / 8);
}

// Where a thread was interrupted.  Touches nothing, as that may be anywhere.
extern "C" GROAT_EXPORTED GROAT_UNTOLD int
groat_cpu_where(const void *at)
{
    return groat_cpu_is_behind(at)            ? GROAT_CPU_BEHIND
           : at >= __ehdr_start && at < etext ? GROAT_CPU_LINE
                                              : GROAT_CPU_ELSEWHERE;
}

// What this thread was bound to; nullptr: nothing.
extern "C" GROAT_EXPORTED GROAT_UNTOLD groat_cpu_env *
groat_cpu_bound()
{
    return groat::cpu_env;
}

// The mark of a file's destructors, which else only a linker's start-up code has.
extern "C" {
__attribute__((visibility("hidden"), weak)) void *__dso_handle = nullptr;
}

#ifdef GROAT_CPU_TOLD
extern "C" const unsigned char _end[] __attribute__((visibility("hidden")));

namespace groat {

// Skips the primitives' own accesses to the environment, which are not the
// kernel's.  Before groat_cpu_bind() there is no environment.
GROAT_BEHIND static void touch(const void *address, unsigned long bytes,
                               unsigned kind, const void *from)
{
    groat_cpu_env *env = cpu_env;
    const u64 at = reinterpret_cast<u64>(address);

    if (env != nullptr && at - reinterpret_cast<u64>(env) >= sizeof(*env) &&
        at - reinterpret_cast<u64>(env->ops) >= sizeof(*env->ops) &&
        at - reinterpret_cast<u64>(&cpu_env) >= sizeof(cpu_env))
        env->ops->touch(env, address, bytes, kind, from);
}

// As memmove(), by bytes that no compiler makes a call of memmove() again.
GROAT_BEHIND static void *move_bytes(void *to, const void *from,
                                     unsigned long bytes, const void *caller)
{
    volatile unsigned char *out = static_cast<unsigned char *>(to);
    const volatile unsigned char *in = static_cast<const unsigned char *>(from);
    const bool up = out <= in;

    if (bytes > 0) {
        touch(from, bytes, GROAT_CPU_READ, caller);
        touch(to, bytes, GROAT_CPU_WRITE, caller);
    }
    for (unsigned long i = 0; i < bytes; i++)
        out[up ? i : bytes - 1 - i] = in[up ? i : bytes - 1 - i];
    return to;
}

GROAT_BEHIND static void *set_bytes(void *to, int value, unsigned long bytes,
                                    const void *caller)
{
    volatile unsigned char *out = static_cast<unsigned char *>(to);

    if (bytes > 0)
        touch(to, bytes, GROAT_CPU_WRITE, caller);
    for (unsigned long i = 0; i < bytes; i++)
        out[i] = static_cast<unsigned char>(value);
    return to;
}

} // namespace groat

// The sanitizer leaves these calls to its run-time library; clang names them
// __tsan_memcpy and so on.
#define GROAT_TOLD_MOVE(name) \
    extern "C" GROAT_BEHIND void *name(void *to, const void *from, \
                                       unsigned long bytes) \
    { \
        return groat::move_bytes(to, from, bytes, \
                                 __builtin_return_address(0)); \
    }
#define GROAT_TOLD_SET(name) \
    extern "C" GROAT_BEHIND void *name(void *to, int value, \
                                       unsigned long bytes) \
    { \
        return groat::set_bytes(to, value, bytes, \
                                __builtin_return_address(0)); \
    }
GROAT_TOLD_MOVE(memcpy)
GROAT_TOLD_MOVE(memmove)
GROAT_TOLD_MOVE(__tsan_memcpy)
GROAT_TOLD_MOVE(__tsan_memmove)
GROAT_TOLD_SET(memset)
GROAT_TOLD_SET(__tsan_memset)

#define GROAT_TOLD(name, bytes, kind) \
    extern "C" GROAT_BEHIND void name(void *address) \
    { \
        groat::touch(address, bytes, kind, __builtin_return_address(0)); \
    }
#define GROAT_TOLD_RANGE(name, kind) \
    extern "C" GROAT_BEHIND void name(void *address, unsigned long bytes) \
    { \
        groat::touch(address, bytes, kind, __builtin_return_address(0)); \
    }
#define GROAT_TOLD_BYTES(bytes) \
    GROAT_TOLD(__tsan_read##bytes, bytes, GROAT_CPU_READ) \
    GROAT_TOLD(__tsan_write##bytes, bytes, GROAT_CPU_WRITE) \
    GROAT_TOLD(__tsan_unaligned_read##bytes, bytes, GROAT_CPU_READ) \
    GROAT_TOLD(__tsan_unaligned_write##bytes, bytes, GROAT_CPU_WRITE)

#define GROAT_TOLD_VOLATILE(bytes) \
    GROAT_TOLD(__tsan_volatile_read##bytes, bytes, GROAT_CPU_VOLATILE_READ) \
    GROAT_TOLD(__tsan_volatile_write##bytes, bytes, GROAT_CPU_VOLATILE_WRITE) \
    GROAT_TOLD(__tsan_unaligned_volatile_read##bytes, bytes, \
               GROAT_CPU_VOLATILE_READ) \
    GROAT_TOLD(__tsan_unaligned_volatile_write##bytes, bytes, \
               GROAT_CPU_VOLATILE_WRITE)

GROAT_TOLD_BYTES(1)
GROAT_TOLD_BYTES(2)
GROAT_TOLD_BYTES(4)
GROAT_TOLD_BYTES(8)
GROAT_TOLD_BYTES(16)
GROAT_TOLD_VOLATILE(1)
GROAT_TOLD_VOLATILE(2)
GROAT_TOLD_VOLATILE(4)
GROAT_TOLD_VOLATILE(8)
GROAT_TOLD_VOLATILE(16)
GROAT_TOLD_RANGE(__tsan_read_range, GROAT_CPU_READ)
GROAT_TOLD_RANGE(__tsan_write_range, GROAT_CPU_WRITE)

// -fsanitize=alignment calls this.
extern "C" GROAT_BEHIND void __ubsan_handle_type_mismatch_v1(void *place,
                                                             void *address)
{
    const groat_cpu_place *at = static_cast<const groat_cpu_place *>(place);
    groat_cpu_env *env = groat::cpu_env;

    env->ops->misaligned(env, address, 1u << at->unit, at->type->name,
                         __builtin_return_address(0));
}

// An object's table of virtual functions is set and read.
extern "C" GROAT_BEHIND void __tsan_vptr_update(void **, void *)
{
}

extern "C" GROAT_BEHIND void __tsan_vptr_read(void **)
{
}

extern "C" GROAT_BEHIND void __tsan_init()
{
}

extern "C" GROAT_BEHIND void __tsan_func_entry(void *)
{
}

extern "C" GROAT_BEHIND void __tsan_func_exit()
{
}

extern "C" __attribute__((visibility("default"))) GROAT_BEHIND void
groat_cpu_plain(struct groat_cpu_plain *out)
{
    out->image = __ehdr_start;
    out->image_bytes = _end - __ehdr_start;
}
#endif
