// SPDX-License-Identifier: Apache-2.0
// Primitives of common/vendor.h for NVRTC and nvcc.  Shared-memory addresses
// are those of PTX's shared state space.  PTX ISA: ld/st.shared, cp.async.
#pragma once

#define GROAT_DEVICE __device__ __forceinline__
#define GROAT_PRINT(...) ((void)printf(__VA_ARGS__))
#define GROAT_UNROLL _Pragma("unroll")
#define GROAT_ROLLED _Pragma("unroll 1")
#define GROAT_KERNEL(args_type) \
    static_assert(sizeof(args_type) == GROAT_ARGS_BYTES, \
                  "args.h and 'launch args' of params.def disagree"); \
    extern "C" __global__ void __launch_bounds__(GROAT_BLOCK_THREADS) \
        GROAT_ENTRY(const __grid_constant__ args_type args)

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

extern __shared__ __align__(1024) u8 shared_memory[];

GROAT_DEVICE u32 thread_index()
{
    return threadIdx.x;
}

GROAT_DEVICE u32 block_index()
{
    return blockIdx.x;
}

GROAT_DEVICE u32 block_index_y()
{
    return blockIdx.y;
}

GROAT_DEVICE u32 wave_uniform(u32 x)
{
    return x;
}

GROAT_DEVICE u32 shared_base()
{
    return static_cast<u32>(__cvta_generic_to_shared(shared_memory));
}

GROAT_DEVICE vec4 shared_load16(u32 address)
{
    vec4 v;

    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(address)
                 : "memory");
    return v;
}

GROAT_DEVICE void shared_store16(u32 address, vec4 v)
{
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address),
                 "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

GROAT_DEVICE u32 shared_load1(u32 address)
{
    u32 x;

    asm volatile("ld.shared.u8 %0, [%1];" : "=r"(x) : "r"(address) : "memory");
    return x;
}

GROAT_DEVICE u32 shared_load2(u32 address)
{
    unsigned short x;

    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(x) : "r"(address) : "memory");
    return x;
}

GROAT_DEVICE u32 shared_load4(u32 address)
{
    u32 x;

    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(x) : "r"(address) : "memory");
    return x;
}

GROAT_DEVICE vec2 shared_load8(u32 address)
{
    vec2 v;

    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];"
                 : "=r"(v.x), "=r"(v.y)
                 : "r"(address)
                 : "memory");
    return v;
}

GROAT_DEVICE void shared_store1(u32 address, u32 x)
{
    asm volatile("st.shared.u8 [%0], %1;" ::"r"(address), "r"(x) : "memory");
}

GROAT_DEVICE void shared_store2(u32 address, u32 x)
{
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(address),
                 "h"(static_cast<unsigned short>(x))
                 : "memory");
}

GROAT_DEVICE void shared_store4(u32 address, u32 x)
{
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(x) : "memory");
}

GROAT_DEVICE void shared_store8(u32 address, vec2 v)
{
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(address), "r"(v.x),
                 "r"(v.y)
                 : "memory");
}

GROAT_DEVICE u32 global_load1(u64 address)
{
    return *reinterpret_cast<const u8 *>(address);
}

GROAT_DEVICE u32 global_load2(u64 address)
{
    return *reinterpret_cast<const unsigned short *>(address);
}

GROAT_DEVICE void global_store1(u64 address, u32 x)
{
    *reinterpret_cast<u8 *>(address) = static_cast<u8>(x);
}

GROAT_DEVICE void global_store2(u64 address, u32 x)
{
    *reinterpret_cast<unsigned short *>(address) =
        static_cast<unsigned short>(x);
}

GROAT_DEVICE vec4 global_load16(u64 address)
{
    return *reinterpret_cast<const vec4 *>(address);
}

GROAT_DEVICE void global_store16(u64 address, vec4 v)
{
    *reinterpret_cast<vec4 *>(address) = v;
}

GROAT_DEVICE u32 global_load4(u64 address)
{
    return *reinterpret_cast<const u32 *>(address);
}

GROAT_DEVICE vec2 global_load8(u64 address)
{
    return *reinterpret_cast<const vec2 *>(address);
}

GROAT_DEVICE void global_store4(u64 address, u32 x)
{
    *reinterpret_cast<u32 *>(address) = x;
}

GROAT_DEVICE void global_store8(u64 address, vec2 v)
{
    *reinterpret_cast<vec2 *>(address) = v;
}

struct alignas(16) vec8 {
    vec4 low, high;
};

struct buffer {
    u64 base;
    u32 num_records; // bytes
};

GROAT_DEVICE buffer make_buffer(u64 base, u32 num_records)
{
    return buffer{base, num_records};
}

// Number of bytes of an access at `offset` that lie inside the buffer, in whole
// dwords: what an AMD buffer descriptor lets through.
GROAT_DEVICE u32 bytes_inside(buffer b, u32 offset, u32 bytes)
{
    u32 left = offset < b.num_records ? b.num_records - offset : 0;

    return (left < bytes ? left : bytes) & ~3u;
}

GROAT_DEVICE vec2 buffer_load8(buffer b, u32 voffset, u32 soffset)
{
    u32 offset = voffset + soffset;
    u32 inside = bytes_inside(b, offset, 8);
    const u32 *from = reinterpret_cast<const u32 *>(b.base + offset);
    vec2 v = {0, 0};

    if (inside > 0)
        v.x = from[0];
    if (inside > 4)
        v.y = from[1];
    return v;
}

GROAT_DEVICE vec4 buffer_load16(buffer b, u32 voffset, u32 soffset)
{
    u32 offset = voffset + soffset;
    u32 inside = bytes_inside(b, offset, 16);
    vec4 v = {0, 0, 0, 0};

    if (inside == 16)
        return global_load16(b.base + offset);
    const u32 *from = reinterpret_cast<const u32 *>(b.base + offset);
    if (inside > 0)
        v.x = from[0];
    if (inside > 4)
        v.y = from[1];
    if (inside > 8)
        v.z = from[2];
    return v;
}

GROAT_DEVICE void settle(vec4 &)
{
}

GROAT_DEVICE u32 float_bits(float x)
{
    return __float_as_uint(x);
}

GROAT_DEVICE float bits_float(u32 bits)
{
    return __uint_as_float(bits);
}

GROAT_DEVICE u32 dot4(u32 a, u32 b, u32 sum)
{
    u32 x;

    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(x) : "r"(a), "r"(b), "r"(sum));
    return x;
}

GROAT_DEVICE u32 dot4_unsigned(u32 a, u32 b, u32 sum)
{
    u32 x;

    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(x) : "r"(a), "r"(b), "r"(sum));
    return x;
}

GROAT_DEVICE u64 cycles()
{
    u64 x;

    asm volatile("mov.u64 %0, %%clock64;" : "=l"(x));
    return x;
}

template <int bytes>
GROAT_DEVICE void async_copy(buffer b, u32 shared_chunk, u32 lane, u32 voffset,
                             u32 soffset)
{
    u32 offset = voffset + soffset;
    u32 inside = bytes_inside(b, offset, bytes);
    u32 to = shared_chunk + lane * bytes;
    // A lane with no byte inside reads nothing, but its address must be valid.
    u64 from = b.base + (inside != 0 ? offset : 0);

    if constexpr (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to),
                     "l"(from), "r"(inside)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to),
                     "l"(from), "r"(inside)
                     : "memory");
}

GROAT_DEVICE void async_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int ops, int groups> GROAT_DEVICE void async_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
}

GROAT_DEVICE u32 computed_anew(u32 x)
{
    return x;
}

GROAT_DEVICE void compiler_fence()
{
    asm volatile("" ::: "memory");
}

GROAT_DEVICE void shared_fence()
{
}

GROAT_DEVICE void launch_wait()
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

GROAT_DEVICE void launch_next()
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

GROAT_DEVICE void block_barrier()
{
    asm volatile("bar.sync 0;" ::: "memory");
}

GROAT_DEVICE u32 wave_shuffle(u32 x, u32 lane)
{
    return __shfl_sync(0xffffffffu, x, static_cast<int>(lane));
}

GROAT_DEVICE u64 wave_ballot(bool x)
{
    return __ballot_sync(0xffffffffu, x);
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 890
constexpr bool converts_e4m3 = true;
GROAT_DEVICE u32 e4m3_pair(float low, float high)
{
    unsigned short codes;

    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;"
        : "=h"(codes)
        : "f"(high), "f"(low));
    return codes;
}
#else
constexpr bool converts_e4m3 = false;
template <int = 0> __device__ u32 e4m3_pair(float low, float high);
#endif

// CDNA features that NVIDIA has in other forms: declared, so that a kernel can
// name them behind a check of arch::, but never defined.
template <int = 0> __device__ vec2 transpose_load8(u32 address);
template <int = 0> __device__ vec2 transpose_load16(u32 address);

enum mma_number { mma_bf16, mma_f16, mma_fp8, mma_bf8 };

template <int m> struct accumulator {
    float v[m * m / 64];

    GROAT_DEVICE float get(int i) const
    {
        return v[i];
    }
};

template <int m> __device__ accumulator<m> zero_accumulator();

template <mma_number type, int m, int k, typename operand>
__device__ void mfma(accumulator<m> &acc, operand a, operand b);

} // namespace groat
