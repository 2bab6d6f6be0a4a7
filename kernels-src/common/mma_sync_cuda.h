// SPDX-License-Identifier: Apache-2.0
// common/mma_sync.h for NVRTC: ldmatrix and mma.sync.
#pragma once

#define GROAT_LDMATRIX(kind) \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" kind \
                 ".shared.b16 {%0, %1, %2, %3}, [%4];" \
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) \
                 : "r"(address) \
                 : "memory")
#define GROAT_MMA(shape, number) \
    asm volatile("mma.sync.aligned." shape ".row.col.f32." number "." number \
                 ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, " \
                 "{%0, %1, %2, %3};" \
                 : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3]) \
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y))

namespace groat {

GROAT_DEVICE vec4 matrix_load(u32 address)
{
    vec4 v;

    GROAT_LDMATRIX("");
    return v;
}

GROAT_DEVICE vec4 matrix_load_transposed(u32 address)
{
    vec4 v;

    GROAT_LDMATRIX(".trans");
    return v;
}

GROAT_DEVICE u32 matrix_transpose(u32 word)
{
    u32 y;

    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;"
                 : "=r"(y)
                 : "r"(word));
    return y;
}

template <mma_number type>
GROAT_DEVICE void mma_16x8(float (&acc)[4], vec4 a, vec2 b)
{
    if constexpr (type == mma_bf16)
        GROAT_MMA("m16n8k16", "bf16");
    else if constexpr (type == mma_f16)
        GROAT_MMA("m16n8k16", "f16");
    else if constexpr (type == mma_fp8)
        GROAT_MMA("m16n8k32", "e4m3");
    else
        GROAT_MMA("m16n8k32", "e5m2");
}

template <mma_number type> GROAT_DEVICE u32 pack_operand(float low, float high)
{
    u32 both;

    if constexpr (type == mma_f16)
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    else
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

} // namespace groat
