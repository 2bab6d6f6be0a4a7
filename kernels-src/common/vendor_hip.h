// SPDX-License-Identifier: Apache-2.0
// Primitives of common/vendor.h for hipRTC and clang, CDNA2 and later.  Copies
// and waits are assembly, so that no compiler release adds waits of its own
// between them (with builtins some releases drain the whole queue).  ISA guide:
// buffer_load_dword{,x4} ... lds, s_waitcnt, s_barrier.  The compiler does not
// resolve hazards inside assembly: one wait state is needed between a write of
// M0 and the copy that uses it, and five between a vector instruction that
// writes a scalar register (v_readfirstlane) and the copy that reads it.
#pragma once

#define GROAT_DEVICE __attribute__((device)) __attribute__((always_inline)) inline
#define GROAT_PRINT(...) ((void)0)
#define GROAT_UNROLL _Pragma("unroll")
#define GROAT_ROLLED _Pragma("unroll 1")
#define GROAT_KERNEL(args_type) \
    static_assert(sizeof(args_type) == GROAT_ARGS_BYTES, \
                  "args.h and 'launch args' of params.def disagree"); \
    extern "C" __attribute__((global)) \
    __attribute__((amdgpu_flat_work_group_size(GROAT_BLOCK_THREADS, \
                                               GROAT_BLOCK_THREADS))) void \
    GROAT_ENTRY(const args_type args)
#define GROAT_LDS __attribute__((address_space(3)))

namespace groat {

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));

struct alignas(8) vec2 {
    u32 x, y;
};

struct alignas(16) vec4 {
    u32 x, y, z, w;
};

struct alignas(16) vec8 {
    vec4 low, high;
};

GROAT_DEVICE u32 thread_index()
{
    return __builtin_amdgcn_workitem_id_x();
}

GROAT_DEVICE u32 block_index()
{
    return __builtin_amdgcn_workgroup_id_x();
}

GROAT_DEVICE u32 block_index_y()
{
    return __builtin_amdgcn_workgroup_id_y();
}

GROAT_DEVICE u32 wave_uniform(u32 x)
{
    return __builtin_amdgcn_readfirstlane(x);
}

// The array is static, so that the compiler checks it against the arch's limit
// and the code object records its size.  A kernel without shared memory
// compiles this too, and LLVM 22 rejects zero-length arrays.
GROAT_DEVICE u32 shared_base()
{
    static __attribute__((shared))
    __attribute__((aligned(1024))) u8 memory[GROAT_SHARED_BYTES > 0
                                                 ? GROAT_SHARED_BYTES
                                                 : 1];

    return static_cast<u32>(reinterpret_cast<u64>((GROAT_LDS u8 *)memory));
}

GROAT_DEVICE vec4 shared_load16(u32 address)
{
    u32x4 v = *(GROAT_LDS u32x4 *)address;

    return vec4{v.x, v.y, v.z, v.w};
}

GROAT_DEVICE void shared_store16(u32 address, vec4 v)
{
    *(GROAT_LDS u32x4 *)address = u32x4{v.x, v.y, v.z, v.w};
}

GROAT_DEVICE u32 shared_load1(u32 address)
{
    return *(GROAT_LDS u8 *)address;
}

GROAT_DEVICE u32 shared_load2(u32 address)
{
    return *(GROAT_LDS unsigned short *)address;
}

GROAT_DEVICE u32 shared_load4(u32 address)
{
    return *(GROAT_LDS u32 *)address;
}

GROAT_DEVICE vec2 shared_load8(u32 address)
{
    u32x2 v = *(GROAT_LDS u32x2 *)address;

    return vec2{v.x, v.y};
}

GROAT_DEVICE void shared_store1(u32 address, u32 x)
{
    *(GROAT_LDS u8 *)address = static_cast<u8>(x);
}

GROAT_DEVICE void shared_store2(u32 address, u32 x)
{
    *(GROAT_LDS unsigned short *)address = static_cast<unsigned short>(x);
}

GROAT_DEVICE void shared_store4(u32 address, u32 x)
{
    *(GROAT_LDS u32 *)address = x;
}

GROAT_DEVICE void shared_store8(u32 address, vec2 v)
{
    *(GROAT_LDS u32x2 *)address = u32x2{v.x, v.y};
}

// All lanes of the wave must take part.  Defined only if the arch has them.
template <int = 0> __attribute__((device)) vec2 transpose_load8(u32 address);
template <int = 0> __attribute__((device)) vec2 transpose_load16(u32 address);

#if defined(__gfx950__)
template <int> GROAT_DEVICE vec2 transpose_load8(u32 address)
{
    typedef int i32x2 __attribute__((ext_vector_type(2)));

    return __builtin_bit_cast(vec2, __builtin_amdgcn_ds_read_tr8_b64_v2i32(
                                        (GROAT_LDS i32x2 *)address));
}

template <int> GROAT_DEVICE vec2 transpose_load16(u32 address)
{
    typedef short i16x4 __attribute__((ext_vector_type(4)));

    return __builtin_bit_cast(vec2, __builtin_amdgcn_ds_read_tr16_b64_v4i16(
                                        (GROAT_LDS i16x4 *)address));
}
#endif

GROAT_DEVICE u32 global_load1(u64 address)
{
    return *(const __attribute__((address_space(1))) u8 *)address;
}

GROAT_DEVICE u32 global_load2(u64 address)
{
    return *(const __attribute__((address_space(1))) unsigned short *)address;
}

GROAT_DEVICE void global_store1(u64 address, u32 x)
{
    *(__attribute__((address_space(1))) u8 *)address = static_cast<u8>(x);
}

GROAT_DEVICE void global_store2(u64 address, u32 x)
{
    *(__attribute__((address_space(1))) unsigned short *)address =
        static_cast<unsigned short>(x);
}

GROAT_DEVICE vec4 global_load16(u64 address)
{
    u32x4 v = *(const __attribute__((address_space(1))) u32x4 *)address;

    return vec4{v.x, v.y, v.z, v.w};
}

GROAT_DEVICE void global_store16(u64 address, vec4 v)
{
    *(__attribute__((address_space(1))) u32x4 *)address =
        u32x4{v.x, v.y, v.z, v.w};
}

GROAT_DEVICE u32 global_load4(u64 address)
{
    return *(const __attribute__((address_space(1))) u32 *)address;
}

GROAT_DEVICE vec2 global_load8(u64 address)
{
    return vec2{global_load4(address), global_load4(address + 4)};
}

GROAT_DEVICE void global_store4(u64 address, u32 x)
{
    *(__attribute__((address_space(1))) u32 *)address = x;
}

GROAT_DEVICE void global_store8(u64 address, vec2 v)
{
    global_store4(address, v.x);
    global_store4(address + 4, v.y);
}

// A raw buffer descriptor: 48-bit base, stride 0, num_records in bytes, and
// the data-format word of the gfx9 family.
struct buffer {
    u32x4 words;
};

GROAT_DEVICE buffer make_buffer(u64 base, u32 num_records)
{
    return buffer{u32x4{wave_uniform(static_cast<u32>(base)),
                        wave_uniform(static_cast<u32>(base >> 32) & 0xffffu),
                        wave_uniform(num_records), 0x00020000u}};
}

// Calls the intrinsic by name, as its builtin is younger than the oldest
// hipRTC.  The compiler waits for the value before its first use.
extern __attribute__((device)) u32x2
llvm_buffer_load2(u32x4 words, u32 voffset, u32 soffset,
                  u32 aux) __asm("llvm.amdgcn.raw.buffer.load.v2i32");
extern __attribute__((device)) u32x4
llvm_buffer_load(u32x4 words, u32 voffset, u32 soffset,
                 u32 aux) __asm("llvm.amdgcn.raw.buffer.load.v4i32");

GROAT_DEVICE vec2 buffer_load8(buffer b, u32 voffset, u32 soffset)
{
    return __builtin_bit_cast(
        vec2, llvm_buffer_load2(b.words, voffset, wave_uniform(soffset), 0));
}

GROAT_DEVICE vec4 buffer_load16(buffer b, u32 voffset, u32 soffset)
{
    return __builtin_bit_cast(
        vec4, llvm_buffer_load(b.words, voffset, wave_uniform(soffset), 0));
}

// The compiler inserts a wait before the first use of a loaded value; this is
// such a use.  It does not see the copies and waits in assembly, so a first use
// inside a loop would wait for everything in each iteration.
GROAT_DEVICE void settle(vec4 &v)
{
    asm volatile("" : "+v"(v.x), "+v"(v.y), "+v"(v.z), "+v"(v.w));
}

GROAT_DEVICE u32 float_bits(float x)
{
    return __builtin_bit_cast(u32, x);
}

GROAT_DEVICE float bits_float(u32 bits)
{
    return __builtin_bit_cast(float, bits);
}

// NVIDIA has it from sm_89 on; declared here but not defined.
constexpr bool converts_e4m3 = false;
template <int = 0> __attribute__((device)) u32 e4m3_pair(float low, float high);

GROAT_DEVICE u32 dot4(u32 a, u32 b, u32 sum)
{
    return static_cast<u32>(__builtin_amdgcn_sdot4(
        static_cast<int>(a), static_cast<int>(b), static_cast<int>(sum), false));
}

GROAT_DEVICE u32 dot4_unsigned(u32 a, u32 b, u32 sum)
{
    return __builtin_amdgcn_udot4(a, b, sum, false);
}

GROAT_DEVICE u64 cycles()
{
    return __builtin_amdgcn_s_memtime();
}

template <int bytes>
GROAT_DEVICE void async_copy(buffer b, u32 shared_chunk, u32 lane, u32 voffset,
                             u32 soffset)
{
    u32 m0 = wave_uniform(shared_chunk);
    u32 so = wave_uniform(soffset);

    // The hardware adds lane * bytes to M0 itself.
    (void)lane;
    if constexpr (bytes == 16)
        asm volatile("s_mov_b32 m0, %0\n\ts_nop 3\n\t"
                     "buffer_load_dwordx4 %1, %2, %3 offen lds" ::"s"(m0),
                     "v"(voffset), "s"(b.words), "s"(so)
                     : "memory");
    else
        asm volatile("s_mov_b32 m0, %0\n\ts_nop 3\n\t"
                     "buffer_load_dword %1, %2, %3 offen lds" ::"s"(m0),
                     "v"(voffset), "s"(b.words), "s"(so)
                     : "memory");
}

GROAT_DEVICE void async_commit()
{
}

template <int ops, int groups> GROAT_DEVICE void async_wait()
{
    asm volatile("s_waitcnt vmcnt(%0)" ::"n"(ops) : "memory");
}

GROAT_DEVICE u32 computed_anew(u32 x)
{
    asm volatile("" : "+v"(x));
    return x;
}

GROAT_DEVICE void compiler_fence()
{
    asm volatile("" ::: "memory");
}

GROAT_DEVICE void shared_fence()
{
    asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");
}

GROAT_DEVICE void launch_wait()
{
}

GROAT_DEVICE void launch_next()
{
}

GROAT_DEVICE void block_barrier()
{
    asm volatile("s_barrier" ::: "memory");
}

GROAT_DEVICE u32 wave_shuffle(u32 x, u32 lane)
{
    return static_cast<u32>(__builtin_amdgcn_ds_bpermute(
        static_cast<int>(lane * 4), static_cast<int>(x)));
}

GROAT_DEVICE u64 wave_ballot(bool x)
{
    return __builtin_amdgcn_uicmp(static_cast<u32>(x), 0u, 33); // not equal
}

enum mma_number { mma_bf16, mma_f16, mma_fp8, mma_bf8 };

template <int m> struct accumulator {
    typedef float floats __attribute__((ext_vector_type(m * m / 64)));
    floats v;

    GROAT_DEVICE float get(int i) const
    {
        return v[i];
    }
};

template <int m> GROAT_DEVICE accumulator<m> zero_accumulator()
{
    accumulator<m> acc;

    acc.v = 0.0f;
    return acc;
}

// One specialisation per instruction; A and B have the types that it takes.
template <mma_number type, int m, int k> struct mfma_of;

#define GROAT_MFMA(type, m, k, words, vector, call) \
    template <> struct mfma_of<type, m, k> { \
        typedef words operand; \
        template <typename floats> \
        static GROAT_DEVICE void apply(floats &c, operand x, operand y) \
        { \
            auto a = __builtin_bit_cast(vector, x); \
            auto b = __builtin_bit_cast(vector, y); \
            c = call; \
        } \
    };

typedef short i16x4 __attribute__((ext_vector_type(4)));
typedef _Float16 f16x4 __attribute__((ext_vector_type(4)));
GROAT_MFMA(mma_bf16, 32, 8, vec2, i16x4,
           __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a, b, c, 0, 0, 0))
GROAT_MFMA(mma_bf16, 16, 16, vec2, i16x4,
           __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, 0, 0, 0))
GROAT_MFMA(mma_f16, 32, 8, vec2, f16x4,
           __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, c, 0, 0, 0))
GROAT_MFMA(mma_f16, 16, 16, vec2, f16x4,
           __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, 0, 0, 0))

#if defined(__gfx942__) || defined(__gfx950__)
GROAT_MFMA(mma_fp8, 32, 16, vec2, long,
           __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(a, b, c, 0, 0, 0))
GROAT_MFMA(mma_fp8, 16, 32, vec2, long,
           __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a, b, c, 0, 0, 0))
GROAT_MFMA(mma_bf8, 32, 16, vec2, long,
           __builtin_amdgcn_mfma_f32_32x32x16_bf8_bf8(a, b, c, 0, 0, 0))
GROAT_MFMA(mma_bf8, 16, 32, vec2, long,
           __builtin_amdgcn_mfma_f32_16x16x32_bf8_bf8(a, b, c, 0, 0, 0))
#endif

#if defined(__gfx950__)
typedef __bf16 bf16x8 __attribute__((ext_vector_type(8)));
typedef _Float16 f16x8 __attribute__((ext_vector_type(8)));
typedef int i32x8 __attribute__((ext_vector_type(8)));
GROAT_MFMA(mma_bf16, 32, 16, vec4, bf16x8,
           __builtin_amdgcn_mfma_f32_32x32x16_bf16(a, b, c, 0, 0, 0))
GROAT_MFMA(mma_bf16, 16, 32, vec4, bf16x8,
           __builtin_amdgcn_mfma_f32_16x16x32_bf16(a, b, c, 0, 0, 0))
GROAT_MFMA(mma_f16, 32, 16, vec4, f16x8,
           __builtin_amdgcn_mfma_f32_32x32x16_f16(a, b, c, 0, 0, 0))
GROAT_MFMA(mma_f16, 16, 32, vec4, f16x8,
           __builtin_amdgcn_mfma_f32_16x16x32_f16(a, b, c, 0, 0, 0))
// Both operands e4m3 (0) or e5m2 (1), both block scales 2^0 (0x7f).
GROAT_MFMA(mma_fp8, 32, 64, vec8, i32x8,
           __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(a, b, c, 0, 0, 0,
                                                           0x7f, 0, 0x7f))
GROAT_MFMA(mma_fp8, 16, 128, vec8, i32x8,
           __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a, b, c, 0, 0, 0,
                                                            0x7f, 0, 0x7f))
GROAT_MFMA(mma_bf8, 32, 64, vec8, i32x8,
           __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(a, b, c, 1, 1, 0,
                                                           0x7f, 0, 0x7f))
GROAT_MFMA(mma_bf8, 16, 128, vec8, i32x8,
           __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a, b, c, 1, 1, 0,
                                                            0x7f, 0, 0x7f))
#endif
#undef GROAT_MFMA

template <mma_number type, int m, int k, typename operand>
GROAT_DEVICE void mfma(accumulator<m> &acc, operand a, operand b)
{
    mfma_of<type, m, k>::apply(acc.v, a, b);
}

} // namespace groat
