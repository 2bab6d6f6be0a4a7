// SPDX-License-Identifier: Apache-2.0
// The expressions of functions.h: for the host as plain functions, for the
// device twice, per lane and (uniform) for the scalar unit.
#pragma clang fp contract(off)
typedef unsigned char u8;
typedef unsigned short u16;
typedef short i16;
typedef unsigned u32;
typedef int i32;
typedef unsigned long long u64;
typedef long long i64;

#if defined(__HIP__)
#define ANYWHERE __attribute__((device)) __attribute__((always_inline)) inline
#else
#define ANYWHERE static inline
#endif

ANYWHERE u32 bits_of(float x)
{
    return __builtin_bit_cast(u32, x);
}

#include "functions.h"

#if defined(__HIP__)
#define ENTRY extern "C" __attribute__((global)) __attribute__( \
    (amdgpu_flat_work_group_size(64, 64)))
#define CONSTANT const __attribute__((address_space(4)))
#define DEFINE(kind, type, name, expression)                                   \
    ANYWHERE type kind##_##name##_value(type a, type b, type c)                \
    {                                                                          \
        (void)b;                                                               \
        (void)c;                                                               \
        return expression;                                                     \
    }                                                                          \
    ENTRY void kind##_##name(const type *in, type *out)                        \
    {                                                                          \
        u32 i = __builtin_amdgcn_workitem_id_x();                              \
        out[i] = kind##_##name##_value(in[3 * i], in[3 * i + 1],               \
                                       in[3 * i + 2]);                         \
    }                                                                          \
    ENTRY void uniform_##kind##_##name(const type *in, type *out)              \
    {                                                                          \
        CONSTANT type *p = (CONSTANT type *)(u64)in;                           \
        for (u32 i = 0; i < 64; i++, p += 3)                                   \
            out[i] = kind##_##name##_value(p[0], p[1], p[2]);                  \
    }
#else
#define DEFINE(kind, type, name, expression)                                   \
    extern "C" void kind##_##name(const type *in, type *out)                   \
    {                                                                          \
        for (u32 i = 0; i < 64; i++) {                                         \
            type a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];          \
            (void)b;                                                           \
            (void)c;                                                           \
            out[i] = expression;                                               \
        }                                                                      \
    }
#endif

#define WORD(name, expression) DEFINE(words, u32, name, (expression))
#define LONG(name, expression) DEFINE(longs, u64, name, (expression))
#define REAL(name, expression) DEFINE(reals, float, name, (expression))
GROAT_WORDS(WORD)
GROAT_LONGS(LONG)
GROAT_REALS(REAL)
