// SPDX-License-Identifier: Apache-2.0
// The matrix products of mma.h (nvcuda::wmma) of 16-bit floats, 16 deep, of 16 or
// 32 rows: groat judge puts this file in front of a kernel whose file includes
// mma.h.  An element of a fragment lies in the lane and at the index that
// mma_sync.h defines for its block of 16 rows or 8 columns; CUDA does not say
// where.
#pragma once

#include "cuda_floats.h"
#include "mma_sync_cpu.h"

namespace nvcuda {
namespace wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;

enum layout_t { mem_row_major, mem_col_major };

template <class use, int m, int n> struct fragment_size;

template <int m, int n> struct fragment_size<matrix_a, m, n> {
    static constexpr int elements = m / 2;
};

template <int m, int n> struct fragment_size<matrix_b, m, n> {
    static constexpr int elements = n / 2;
};

template <int m, int n> struct fragment_size<accumulator, m, n> {
    static constexpr int elements = m * n / 32;
};

template <class use, int m, int n, int k, class T, class layout = void>
struct fragment {
    static_assert(k == 16 && m * n == 256 && m >= 16,
                  "groat judge has the fragments of 16 x 16 x 16 and 32 x 8 x 16");
    static constexpr int num_elements = fragment_size<use, m, n>::elements;
    T x[num_elements];
};

// Reports the line of the caller, into which the callers are inlined.
GROAT_UNTOLD static void check_tile(const void *at, unsigned long row_bytes)
{
    const char *why =
        (unsigned long)at % 32 != 0
            ? "gives wmma a tile whose address is no multiple of 32 bytes"
        : row_bytes % 16 != 0
            ? "gives wmma rows whose distance is no multiple of 16 bytes"
            : nullptr;

    if (why != nullptr)
        groat::cpu_env->ops->refuse(groat::cpu_env, why,
                                    __builtin_return_address(0));
}

// The place of element i of a lane: of matrix A row and depth, of B column and
// depth, of an accumulator row and column.
struct place {
    unsigned line, along;
};

GROAT_LANES place place_of(const matrix_a *, unsigned, unsigned i)
{
    const unsigned word = i / 2 % 4;

    return {groat::lane() / 4 + 8 * (word % 2) + 16 * (i / 8),
            2 * (groat::lane() % 4) + 8 * (word / 2) + i % 2};
}

GROAT_LANES place place_of(const matrix_b *, unsigned, unsigned i)
{
    return {groat::lane() / 4 + 8 * (i / 4),
            2 * (groat::lane() % 4) + 8 * (i / 2 % 2) + i % 2};
}

GROAT_LANES place place_of(const accumulator *, unsigned columns, unsigned i)
{
    const unsigned block = i / 4, across = columns / 8;

    return {groat::lane() / 4 + 8 * (i / 2 % 2) + 16 * (block / across),
            2 * (groat::lane() % 4) + i % 2 + 8 * (block % across)};
}

// Whether a line of the matrix, as above, is contiguous in memory.
template <class use, class layout> struct is_along;

template <> struct is_along<matrix_a, row_major> {
    static constexpr bool value = true;
};

template <> struct is_along<matrix_a, col_major> {
    static constexpr bool value = false;
};

template <> struct is_along<matrix_b, row_major> {
    static constexpr bool value = false;
};

template <> struct is_along<matrix_b, col_major> {
    static constexpr bool value = true;
};

template <class use, int m, int n, int k, class T, class layout>
GROAT_LANES void load_matrix_sync(fragment<use, m, n, k, T, layout> &to,
                                  const T *from, unsigned ld)
{
    check_tile(from, ld * sizeof(T));
    for (unsigned i = 0; i < to.num_elements; i++) {
        const place at = place_of(static_cast<const use *>(nullptr), n, i);

        to.x[i] = is_along<use, layout>::value ? from[at.line * ld + at.along]
                                               : from[at.along * ld + at.line];
    }
}

template <int m, int n, int k, class T>
GROAT_LANES void load_matrix_sync(fragment<accumulator, m, n, k, T> &to,
                                  const T *from, unsigned ld, layout_t layout)
{
    check_tile(from, ld * sizeof(T));
    for (unsigned i = 0; i < to.num_elements; i++) {
        const place at =
            place_of(static_cast<const accumulator *>(nullptr), n, i);

        to.x[i] = layout == mem_row_major ? from[at.line * ld + at.along]
                                          : from[at.along * ld + at.line];
    }
}

template <int m, int n, int k, class T>
GROAT_LANES void store_matrix_sync(T *to,
                                   const fragment<accumulator, m, n, k, T> &from,
                                   unsigned ld, layout_t layout)
{
    check_tile(to, ld * sizeof(T));
    for (unsigned i = 0; i < from.num_elements; i++) {
        const place at =
            place_of(static_cast<const accumulator *>(nullptr), n, i);

        if (layout == mem_row_major)
            to[at.line * ld + at.along] = from.x[i];
        else
            to[at.along * ld + at.line] = from.x[i];
    }
}

template <class use, int m, int n, int k, class T, class layout, class V>
GROAT_LANES void fill_fragment(fragment<use, m, n, k, T, layout> &to, V value)
{
    for (int i = 0; i < to.num_elements; i++)
        to.x[i] = (T)value;
}

template <int m, int n, groat::mma_number type, class la, class lb, class D,
          class C>
GROAT_LANES void
mma_sync(fragment<accumulator, m, n, 16, D> &d,
         const fragment<matrix_a, m, n, 16, groat::float16<type>, la> &a,
         const fragment<matrix_b, m, n, 16, groat::float16<type>, lb> &b,
         const fragment<accumulator, m, n, 16, C> &c)
{
    for (int block = 0; block < m / 16 * (n / 8); block++) {
        groat::vec4 rows;
        groat::vec2 columns;
        float acc[4];

        __builtin_memcpy(&rows, a.x + 8 * (block / (n / 8)), sizeof(rows));
        __builtin_memcpy(&columns, b.x + 4 * (block % (n / 8)), sizeof(columns));
        for (int i = 0; i < 4; i++)
            acc[i] = (float)c.x[4 * block + i];
        groat::mma_16x8<type>(acc, rows, columns);
        for (int i = 0; i < 4; i++)
            d.x[4 * block + i] = (D)acc[i];
    }
}

} // namespace wmma
} // namespace nvcuda
