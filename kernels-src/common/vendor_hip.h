// SPDX-License-Identifier: Apache-2.0
// Primitives of common/vendor.h for hipRTC and clang, CDNA2 and later.  Copies
// and waits are assembly, so that no release of the compiler adds a wait of its
// own between them (with builtins some drain the whole queue).  ISA guide:
// buffer_load_dword{,x4} ... lds, s_waitcnt, s_barrier.  The compiler does not
// look for hazards inside assembly: one wait state stands between a write of
// M0 and the copy that uses it, and five between a vector instruction that
// writes a scalar register (v_readfirstlane) and the copy that reads it.
#pragma once

#define GROAT_DEVICE __attribute__((device)) __attribute__((always_inline)) inline
#define GROAT_UNROLL _Pragma("unroll")
#define GROAT_KERNEL(args_type)                                                \
    static_assert(sizeof(args_type) == GROAT_ARGS_BYTES,                       \
                  "args.h and 'launch args' of params.def disagree");          \
    extern "C" __attribute__((global))                                         \
    __attribute__((amdgpu_flat_work_group_size(GROAT_BLOCK_THREADS,            \
                                               GROAT_BLOCK_THREADS))) void     \
    GROAT_ENTRY(const args_type args)
#define GROAT_LDS __attribute__((address_space(3)))

namespace groat {

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
typedef u32 u32x4 __attribute__((ext_vector_type(4)));

struct alignas(16) vec4 {
    u32 x, y, z, w;
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

// The array is static, so that the compiler holds it against the arch's limit
// and the code object names its size.
GROAT_DEVICE u32 shared_base()
{
    static __attribute__((shared))
    __attribute__((aligned(1024))) u8 memory[GROAT_SHARED_BYTES];

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

template <int bytes>
GROAT_DEVICE void async_copy(buffer b, u32 shared_chunk, u32 lane, u32 voffset,
                             u32 soffset)
{
    u32 m0 = wave_uniform(shared_chunk);
    u32 so = wave_uniform(soffset);

    // The engine adds lane * bytes to M0 by itself.
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

GROAT_DEVICE void shared_fence()
{
    asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");
}

GROAT_DEVICE void block_barrier()
{
    asm volatile("s_barrier" ::: "memory");
}

} // namespace groat
