// SPDX-License-Identifier: Apache-2.0
// Inline PTX, as common/cuda_ptx.h has the rest: matrices in shared memory and in
// a warp's registers, and their products.  (PTX ISA, ldmatrix and mma.)
#pragma once

#include "cuda_ptx.h"

namespace groat_ptx {

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
