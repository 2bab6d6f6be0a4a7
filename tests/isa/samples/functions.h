/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions of three operands that the host's compiler and AMD's compile
 * alike; the machine must compute the host's results.  Word, Long and Real name
 * their operands' types.
 */
#define GROAT_WORDS(F)                                                         \
    F(add, a + b - c)                                                          \
    F(logic, (a & b) | (~a & c))                                               \
    F(xnor, ~(a ^ b) & c)                                                      \
    F(or3, a | b | c)                                                          \
    F(and_or, (a & b) | c)                                                     \
    F(xor_add, (a ^ b) + c)                                                    \
    F(xor3, a ^ b ^ c)                                                         \
    F(shift_left, (a << (b & 31)) + c)                                         \
    F(shift_right, a >> (b & 31))                                              \
    F(shift_signed, (u32)((i32)a >> (b & 31)))                                 \
    F(shift_constant, (a << 7) + (b >> 9) + ((c << 3) | b))                    \
    F(add_shift, (a + b) << (c & 31))                                          \
    F(multiply, a *b + c)                                                      \
    F(multiply_high, (u32)(((u64)a * b) >> 32))                                \
    F(multiply_signed, (u32)(((i64)(i32)a * (i32)b) >> 32))                    \
    F(multiply24, (a & 0xffffff) * (b & 0xffffff) + c)                         \
    F(multiply24_signed,                                                       \
      (u32)((i32)(a << 8) >> 8) * (u32)((i32)(b << 8) >> 8))                   \
    F(divide, a / (b | 1))                                                     \
    F(remainder, a % (b | 1))                                                  \
    F(divide_signed, (u32)((i32)a / (i32)(b >> 1 | 1)))                        \
    F(divide_constant, a / 7 + b / 10)                                         \
    F(least, a < b ? a : b)                                                    \
    F(most, a > b ? a : b)                                                     \
    F(least_signed, (i32)a < (i32)b ? a : b)                                   \
    F(most_signed, (i32)a > (i32)b ? a : b)                                    \
    F(least3, (a < b ? a : b) < c ? (a < b ? a : b) : c)                       \
    F(magnitude, (i32)a < 0 ? 0 - a : a)                                       \
    F(equal, a % 4 == b % 4 ? c : a)                                           \
    F(not_equal, a % 4 != b % 4 ? c : a)                                       \
    F(at_least, (i32)a >= (i32)b ? c + 1 : b)                                  \
    F(field, (a >> 5) & 0x3ff)                                                 \
    F(field_signed, (u32)((i32)(a << 6) >> 20))                                \
    F(field_any, (a >> (b & 31)) & ((1u << (c & 31)) - 1))                     \
    F(insert, (a & 0x00ffff00) | (b & 0xff0000ff))                             \
    F(rotate, (a << 13) | (a >> 19))                                           \
    F(funnel, (u32)((((u64)a << 32) | b) >> (c & 31)))                         \
    F(swap_bytes, __builtin_bswap32(a))                                        \
    F(bytes, (a & 0xff) | ((b & 0xff) << 8) | ((c & 0xff00) << 8))             \
    F(byte_signed, (u32)(i32)(signed char)a + (u32)(i32)(short)b)              \
    F(halves, (a >> 16) | (b << 16))                                           \
    F(ones, (u32)__builtin_popcount(a) + c)                                    \
    F(leading, a == 0 ? 32u : (u32)__builtin_clz(a))                           \
    F(trailing, b == 0 ? 32u : (u32)__builtin_ctz(b))                          \
    F(reverse, (u32)__builtin_bitreverse32(a))                                 \
    F(carry, (u32)((u64)a + b + c >= (1ull << 32)))                            \
    F(borrow, a - (b < c))                                                     \
    F(saturate, a + b < a ? 0xffffffffu : a + b)                               \
    F(difference, (a > b ? a - b : b - a) + c)                                 \
    F(shorts, (u32)(u16)((u32)(u16)a * (u16)b + (u16)c))                       \
    F(shorts_shift,                                                            \
      (u32)(u16)((u16)a << (b & 15)) + (u32)(u16)((i16)c >> (b & 15)))         \
    F(shorts_least, (u32)(u16)((i16)a < (i16)b ? (i16)a : (i16)b))             \
    F(from_unsigned, bits_of((float)a))                                        \
    F(from_signed, bits_of((float)(i32)b))                                     \
    F(from_byte, bits_of((float)((a >> 16) & 255)))

#define GROAT_LONGS(F)                                                         \
    F(add, a + b - c)                                                          \
    F(logic, (a & b) | (~a & c))                                               \
    F(xor_not, a ^ ~b)                                                         \
    F(shift_left, a << (b & 63))                                               \
    F(shift_right, a >> (b & 63))                                              \
    F(shift_signed, (u64)((i64)a >> (b & 63)))                                 \
    F(shift_constant, (a << 3) + b + (c >> 37))                                \
    F(multiply, a *b + c)                                                      \
    F(multiply_words, (u64)(u32)a *(u32)b + c)                                 \
    F(multiply_signed, (u64)((i64)(i32)a * (i32)b) + c)                        \
    F(least, a < b ? a : b)                                                    \
    F(most_signed, (i64)a > (i64)b ? a : b)                                    \
    F(equal, (a & 3) == (b & 3) ? b : c)                                       \
    F(negative, (i64)a < 0 ? 0 - a : a)                                        \
    F(ones, (u64)__builtin_popcountll(a) + c)                                  \
    F(leading, a == 0 ? 64u : (u64)__builtin_clzll(a))                         \
    F(trailing, b == 0 ? 64u : (u64)__builtin_ctzll(b))                        \
    F(reverse, (u64)__builtin_bitreverse64(a))                                 \
    F(field, (a >> 13) & 0xfffffffff)                                          \
    F(field_signed, (u64)((i64)(a << 9) >> 30))                                \
    F(choose, (a >> (b & 63)) & 1 ? c : ~c)                                    \
    F(divide, a / (b >> 20 | 1))

#define GROAT_REALS(F)                                                         \
    F(add, a + b - c)                                                          \
    F(multiply, a *b)                                                          \
    F(multiply_add, a *b + c)                                                  \
    F(fused, __builtin_fmaf(a, b, c))                                          \
    F(fused_negative, __builtin_fmaf(-a, b, -c))                               \
    F(magnitude, __builtin_fabsf(a) - __builtin_fabsf(b) * c)                  \
    F(divide, a / b)                                                           \
    F(least, a < b ? a : b)                                                    \
    F(most, a > b ? a : b)                                                     \
    F(most3, __builtin_fmaxf(__builtin_fmaxf(a, b), c))                        \
    F(unordered, !(a >= b) ? c : a)                                            \
    F(down, __builtin_floorf(a) + __builtin_ceilf(b) + __builtin_truncf(c))    \
    F(nearest, __builtin_rintf(a))                                             \
    F(root, __builtin_sqrtf(__builtin_fabsf(a)))                               \
    F(whole, (float)(i32)a + (float)(u32)__builtin_fabsf(b))                   \
    F(scale, __builtin_ldexpf(a, (i32)(c / 256)))                              \
    F(sign, __builtin_copysignf(a, b))                                         \
    F(special, __builtin_isnan(a) || __builtin_isinf(b) ? c : a)               \
    F(narrow, (float)(_Float16)a)                                              \
    F(square_sum, a *a + b * b + c * c)
