// SPDX-License-Identifier: Apache-2.0
// One kernel per matrix instruction: operands come and go as each lane's raw
// registers.
typedef unsigned u32;
typedef short s16x4 __attribute__((ext_vector_type(4)));
typedef _Float16 f16x4 __attribute__((ext_vector_type(4)));
typedef _Float16 f16x8 __attribute__((ext_vector_type(8)));
typedef __bf16 bf16x8 __attribute__((ext_vector_type(8)));
typedef int i32x4 __attribute__((ext_vector_type(4)));
typedef int i32x8 __attribute__((ext_vector_type(8)));
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef int i32x16 __attribute__((ext_vector_type(16)));

#define ENTRY extern "C" __attribute__((global)) __attribute__( \
    (amdgpu_flat_work_group_size(64, 64))) void
#define LANE __builtin_amdgcn_workitem_id_x()

#define KERNEL(name, in_type, out_type, call)                                  \
    ENTRY name(const in_type *pa, const in_type *pb, const out_type *pc,       \
               const u32 *ps, out_type *pd)                                    \
    {                                                                          \
        u32 l = LANE;                                                          \
        in_type a = pa[l], b = pb[l];                                          \
        out_type c = pc[l];                                                    \
        (void)ps;                                                              \
        pd[l] = call;                                                          \
    }

KERNEL(bf16_32x8, s16x4, f32x16,
       __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a, b, c, 0, 0, 0))
KERNEL(bf16_16x16, s16x4, f32x4,
       __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, 0, 0, 0))
KERNEL(f16_32x8, f16x4, f32x16,
       __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, c, 0, 0, 0))
KERNEL(f16_16x16, f16x4, f32x4,
       __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, 0, 0, 0))
KERNEL(f32_32x2, float, f32x16,
       __builtin_amdgcn_mfma_f32_32x32x2f32(a, b, c, 0, 0, 0))
KERNEL(f32_16x4, float, f32x4,
       __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, c, 0, 0, 0))
// From nothing, so that the accumulator is a constant operand.
KERNEL(zero_bf16_32x8, s16x4, f32x16,
       __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a, b, f32x16(0.0f), 0, 0, 0))

#if defined(__gfx942__) || defined(__gfx950__)
KERNEL(fp8_32x16, long, f32x16,
       __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(a, b, c, 0, 0, 0))
KERNEL(fp8_16x32, long, f32x4,
       __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a, b, c, 0, 0, 0))
KERNEL(bf8_32x16, long, f32x16,
       __builtin_amdgcn_mfma_f32_32x32x16_bf8_bf8(a, b, c, 0, 0, 0))
KERNEL(fp8bf8_16x32, long, f32x4,
       __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8(a, b, c, 0, 0, 0))
KERNEL(i8_32x16, long, i32x16,
       __builtin_amdgcn_mfma_i32_32x32x16_i8(a, b, c, 0, 0, 0))
#endif

#if defined(__gfx950__)
KERNEL(bf16_32x16, bf16x8, f32x16,
       __builtin_amdgcn_mfma_f32_32x32x16_bf16(a, b, c, 0, 0, 0))
KERNEL(bf16_16x32, bf16x8, f32x4,
       __builtin_amdgcn_mfma_f32_16x16x32_bf16(a, b, c, 0, 0, 0))
KERNEL(f16_32x16, f16x8, f32x16,
       __builtin_amdgcn_mfma_f32_32x32x16_f16(a, b, c, 0, 0, 0))
KERNEL(f16_16x32, f16x8, f32x4,
       __builtin_amdgcn_mfma_f32_16x16x32_f16(a, b, c, 0, 0, 0))
// Scales of one, which the compiler drops, and scales from registers: bytes 1
// and 2 of theirs.
KERNEL(fp8_32x64, i32x8, f32x16,
       __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(a, b, c, 0, 0, 0, 0, 0,
                                                       0))
KERNEL(fp8_16x128, i32x8, f32x4,
       __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a, b, c, 0, 0, 0, 0, 0,
                                                        0))
KERNEL(one_fp8_32x64, i32x8, f32x16,
       __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(a, b, c, 0, 0, 0, 127,
                                                       0, 127))
KERNEL(scaled_fp8_32x64, i32x8, f32x16,
       __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(
           a, b, c, 0, 0, 1, (int)ps[l], 2, (int)ps[64 + l]))
KERNEL(scaled_bf8_16x128, i32x8, f32x4,
       __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(
           a, b, c, 1, 1, 3, (int)ps[l], 0, (int)ps[64 + l]))
KERNEL(fp4_32x64, i32x4, f32x16,
       __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(
           __builtin_shufflevector(a, a, 0, 1, 2, 3, 0, 1, 2, 3),
           __builtin_shufflevector(b, b, 0, 1, 2, 3, 0, 1, 2, 3), c, 4, 4, 0,
           0, 0, 0))
#endif

// A sum that is held in accumulation registers between two products, and one
// word of it that goes there and back.
ENTRY held_bf16_32x8(const s16x4 *pa, const s16x4 *pb, const f32x16 *pc,
                     const u32 *ps, f32x16 *pd)
{
    u32 l = LANE;
    f32x16 sum = pc[l];

    (void)ps;
    sum = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(pa[l], pb[l], sum, 0, 0, 0);
    asm volatile("" : "+a"(sum));
    sum = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(pa[l], pb[l],
                                                   sum, 0, 0, 0);
    asm volatile("" : "+a"(sum));
    float first = sum[0] + 1.0f;
    asm volatile("" : "+a"(first));
    sum[0] = first - 1.0f;
    pd[l] = sum;
}
