// SPDX-License-Identifier: Apache-2.0
// Lane exchanges, transposed reads, conversions and shared memory: one kernel
// per thing, `in` and `out` as words.
#pragma clang fp contract(off)
typedef unsigned u32;
typedef unsigned char u8;
typedef unsigned short u16;
typedef int i32x2 __attribute__((ext_vector_type(2)));
typedef unsigned u32x2 __attribute__((ext_vector_type(2)));
typedef unsigned u32x4 __attribute__((ext_vector_type(4)));
typedef short s16x4 __attribute__((ext_vector_type(4)));
typedef float f32x2 __attribute__((ext_vector_type(2)));
typedef _Float16 f16x2 __attribute__((ext_vector_type(2)));
typedef __fp16 h16x2 __attribute__((ext_vector_type(2)));
#define LDS __attribute__((address_space(3)))
#define SHARED __attribute__((shared)) __attribute__((aligned(16)))

#define ENTRY(name)                                                            \
    extern "C" __attribute__((global)) __attribute__(                          \
        (amdgpu_flat_work_group_size(64, 64))) void                            \
    name(const u32 *in, u32 *out)
#define LANE __builtin_amdgcn_workitem_id_x()

// clang's __builtin_bit_cast of an element of a vector gives the first one:
// elements go through a parameter.
__attribute__((device)) static inline u32 bits_of(float x)
{
    return __builtin_bit_cast(u32, x);
}

ENTRY(read_lane)
{
    u32 l = LANE;
    out[l] = in[l] + __builtin_amdgcn_readlane(in[l], 17) * 3 +
             __builtin_amdgcn_readfirstlane(in[l]);
}

ENTRY(quad)
{
    u32 l = LANE;
    out[l] = __builtin_amdgcn_update_dpp(0, in[l], 0x1b, 15, 15, false);
}

ENTRY(row_shift)
{
    u32 l = LANE;
    // Lanes without a source keep the old value.
    out[l] = __builtin_amdgcn_update_dpp(in[64 + l], in[l], 0x113, 15, 15,
                                         false);
}

ENTRY(row_shift_zero)
{
    u32 l = LANE;
    out[l] = __builtin_amdgcn_update_dpp(in[64 + l], in[l], 0x103, 15, 15,
                                         true);
}

// A half of one operand or all of the other, into one byte.
ENTRY(select_part)
{
    u32 l = LANE, picked;

    asm volatile("v_cmp_lt_u32_e32 vcc, %1, %2\n\t"
                 "v_cndmask_b32_sdwa %0, %1, %2, vcc dst_sel:BYTE_3 "
                 "dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD"
                 : "=v"(picked)
                 : "v"(in[l]), "v"(in[64 + l])
                 : "vcc");
    out[l] = picked;
}

ENTRY(row_rotate)
{
    u32 l = LANE;
    out[l] = __builtin_amdgcn_update_dpp(0, in[l], 0x125, 15, 15, false);
}

ENTRY(mirror)
{
    u32 l = LANE;
    out[l] = __builtin_amdgcn_update_dpp(0, in[l], 0x140, 15, 15, false) +
             2 * __builtin_amdgcn_update_dpp(0, in[l], 0x141, 15, 15, false);
}

ENTRY(masked_rows)
{
    u32 l = LANE;
    out[l] = __builtin_amdgcn_update_dpp(in[64 + l], in[l], 0x1b, 10, 5,
                                         false);
}

ENTRY(pull)
{
    u32 l = LANE;
    out[l] = __builtin_amdgcn_ds_bpermute(4 * in[64 + l], in[l]);
}

ENTRY(push)
{
    u32 l = LANE;
    out[l] = __builtin_amdgcn_ds_permute(4 * ((l * 5 + 3) & 63), in[l]);
}

ENTRY(swizzle)
{
    u32 l = LANE;
    // Neighbours change places; then bit 4 of the lane is set.
    out[l] = __builtin_amdgcn_ds_swizzle(in[l], 0x1f | 1 << 10) +
             __builtin_amdgcn_ds_swizzle(in[l], 0x0f | 0x10 << 5);
}

ENTRY(below)
{
    u32 l = LANE;
    unsigned long long odd = __builtin_amdgcn_ballot_w64(in[l] & 1);
    out[l] = __builtin_amdgcn_mbcnt_hi(
        (u32)(odd >> 32), __builtin_amdgcn_mbcnt_lo((u32)odd, 0));
}

ENTRY(diverge)
{
    u32 l = LANE, sum = 0;
    // Every lane its own number of rounds.
    for (u32 i = 0; i < in[l] % 7; i++)
        sum += in[64 + (l + i) % 64];
    if (l % 3 == 0)
        sum ^= 0x55555555;
    else if (l > 40)
        sum += 9;
    out[l] = sum;
}

ENTRY(perm)
{
    u32 l = LANE;
    out[l] = __builtin_amdgcn_perm(in[l], in[64 + l], in[128 + l]);
}

ENTRY(pack_half)
{
    u32 l = LANE;
    float a = __builtin_bit_cast(float, in[l]);
    float b = __builtin_bit_cast(float, in[64 + l]);
    out[l] = __builtin_bit_cast(u32, __builtin_amdgcn_cvt_pkrtz(a, b));
}

ENTRY(half_math)
{
    u32 l = LANE;
    f16x2 a = __builtin_bit_cast(f16x2, in[l]);
    f16x2 b = __builtin_bit_cast(f16x2, in[64 + l]);
    f16x2 c = __builtin_bit_cast(f16x2, in[128 + l]);
    out[l] = __builtin_bit_cast(u32, __builtin_elementwise_fma(a, b, c));
    out[64 + l] = __builtin_bit_cast(u32, a + b.yx);
    out[128 + l] = __builtin_bit_cast(u32, __builtin_elementwise_max(a, b) * c);
    _Float16 one = a.x * b.y + c.x;
    out[192 + l] = __builtin_bit_cast(u16, one);
}

ENTRY(pair_math)
{
    u32 l = LANE;
    f32x2 a = {__builtin_bit_cast(float, in[2 * l]),
               __builtin_bit_cast(float, in[2 * l + 1])};
    f32x2 b = {__builtin_bit_cast(float, in[128 + 2 * l]),
               __builtin_bit_cast(float, in[129 + 2 * l])};
    f32x2 d = __builtin_elementwise_fma(a, b, b.yx) + a * b.xx;
    out[2 * l] = bits_of(d.x);
    out[2 * l + 1] = bits_of(d.y);
}

// Shared memory: every width, written by one wave and read by it.
ENTRY(widths)
{
    SHARED static u8 memory[4096];
    u32 l = LANE;
    LDS u8 *m = (LDS u8 *)memory;

    *(LDS u32x4 *)(m + 16 * l) = *(const u32x4 *)(in + 4 * l);
    *(LDS u32x2 *)(m + 1024 + 8 * l) = *(const u32x2 *)(in + 2 * l);
    *(LDS u16 *)(m + 1536 + 2 * l) = (u16)in[l];
    *(LDS u8 *)(m + 1664 + l) = (u8)in[l];
    *(LDS u32 *)(m + 2048 + 4 * l) = in[l];
    *(LDS u16 *)(m + 2304 + 2 * l) = (u16)(in[l] >> 16);
    out[l] = *(LDS u32 *)(m + 4 * (63 - l));
    out[64 + l] = *(LDS u16 *)(m + 2 * l) +
                  (*(LDS u16 *)(m + 126 - 2 * l) << 16);
    out[128 + l] = *(LDS u8 *)(m + 1024 + l);
    out[192 + l] = (u32)(int)*(LDS signed char *)(m + 1087 - l);
    out[256 + l] = (u32)(int)*(LDS short *)(m + 1536 + 2 * (63 - l));
    out[320 + l] = *(LDS u8 *)(m + 1664 + (l ^ 21));
    out[384 + l] = *(LDS u32 *)(m + 2048 + 4 * l) ^
                   *(LDS u32 *)(m + 2048 + 4 * (l ^ 9));
    out[448 + l] = *(LDS u16 *)(m + 2304 + 2 * (l ^ 1));
}

// Two words at once, near and 64 words apart.
ENTRY(twins)
{
    SHARED static u32 memory[1024];
    u32 l = LANE;
    LDS volatile u32 *m = (LDS volatile u32 *)memory;

    ((LDS u32 *)memory)[3 * l] = in[l];
    ((LDS u32 *)memory)[3 * l + 1] = in[64 + l];
    ((LDS u32 *)memory)[3 * l + 2] = in[l] ^ in[64 + l];
    ((LDS u32 *)memory)[192 + l] = in[l];
    ((LDS u32 *)memory)[192 + 64 * 8 + l] = in[64 + l];
    (void)m;
    u32 k = 63 - l;
    out[l] = ((LDS u32 *)memory)[3 * k] - ((LDS u32 *)memory)[3 * k + 1];
    out[64 + l] = ((LDS u32 *)memory)[192 + k] +
                  ((LDS u32 *)memory)[192 + 64 * 8 + k] +
                  ((LDS u32 *)memory)[3 * k + 2];
}

// Global memory: narrow loads and stores, and halves of a register.
ENTRY(narrow)
{
    u32 l = LANE;
    const u8 *bytes = (const u8 *)in;
    const u16 *shorts = (const u16 *)in;
    u32 a = bytes[3 * l], b = (u32)(int)(signed char)bytes[5 * l + 1];
    u32 c = shorts[2 * l + 1], d = (u32)(int)(short)shorts[3 * l];
    out[l] = a + 3 * b;
    out[64 + l] = c - 5 * d;
    ((u8 *)(out + 128))[l] = (u8)(a ^ c);
    ((u16 *)(out + 144))[l] = (u16)(b + c);
    f16x2 h = {__builtin_bit_cast(_Float16, shorts[l]),
               __builtin_bit_cast(_Float16, shorts[64 + l])};
    out[176 + l] = __builtin_bit_cast(u32, h);
}

#if defined(__gfx942__) || defined(__gfx950__)
ENTRY(to_fp8)
{
    u32 l = LANE;
    float a = __builtin_bit_cast(float, in[l]);
    float b = __builtin_bit_cast(float, in[64 + l]);
    int low = __builtin_amdgcn_cvt_pk_fp8_f32(a, b, 0x11223344, false);
    int both = __builtin_amdgcn_cvt_pk_bf8_f32(a, b, low, true);
    out[l] = both;
}

ENTRY(from_fp8)
{
    u32 l = LANE;
    int x = in[l];
    out[l] = bits_of(__builtin_amdgcn_cvt_f32_fp8(x, 0));
    out[64 + l] = bits_of(__builtin_amdgcn_cvt_f32_fp8(x, 1));
    out[128 + l] = bits_of(__builtin_amdgcn_cvt_f32_bf8(x, 2));
    out[192 + l] = bits_of(__builtin_amdgcn_cvt_f32_fp8(x, 3));
    f32x2 p = __builtin_amdgcn_cvt_pk_f32_fp8(x, false);
    f32x2 q = __builtin_amdgcn_cvt_pk_f32_bf8(x, true);
    out[256 + l] = bits_of(p.x);
    out[320 + l] = bits_of(p.y);
    out[384 + l] = bits_of(q.x);
    out[448 + l] = bits_of(q.y);
}
#endif

// To bf16, as the arch does it: an instruction on gfx950.
ENTRY(to_bf16)
{
    u32 l = LANE;
    __bf16 a = (__bf16)__builtin_bit_cast(float, in[l]);
    __bf16 b = (__bf16)__builtin_bit_cast(float, in[64 + l]);
    out[l] = __builtin_bit_cast(u16, a) |
             (u32)__builtin_bit_cast(u16, b) << 16;
}

#if defined(__gfx950__)
ENTRY(swap32)
{
    u32 l = LANE;
    u32x2 r = __builtin_amdgcn_permlane32_swap(in[l], in[64 + l], false, false);
    out[l] = r.x;
    out[64 + l] = r.y;
}

ENTRY(swap16)
{
    u32 l = LANE;
    u32x2 r = __builtin_amdgcn_permlane16_swap(in[l], in[64 + l], false, false);
    out[l] = r.x;
    out[64 + l] = r.y;
}

#define TRANSPOSED(name, type, builtin)                                        \
    ENTRY(name)                                                                \
    {                                                                          \
        SHARED static u32 memory[1024];                                        \
        u32 l = LANE;                                                          \
        for (u32 i = 0; i < 16; i++)                                           \
            ((LDS u32 *)memory)[64 * i + l] = in[64 * i + l];                  \
        type r = builtin((LDS type *)((LDS u8 *)memory + in[1024 + l]));       \
        *(type *)(out + 2 * l) = r;                                            \
    }
TRANSPOSED(transposed16, s16x4, __builtin_amdgcn_ds_read_tr16_b64_v4i16)
TRANSPOSED(transposed8, i32x2, __builtin_amdgcn_ds_read_tr8_b64_v2i32)
TRANSPOSED(transposed4, i32x2, __builtin_amdgcn_ds_read_tr4_b64_v2i32)
#endif
