// SPDX-License-Identifier: Apache-2.0
// A tile of K or V in shared memory: 16-bit numbers in consecutive squares of
// 32 x 32, 2 KiB each.  A square is 128 vectors of 8 numbers, four to a row;
// vector v of the source lies at place swizzle(v) of its square.  Both writers
// and readers count vectors from the square's first one.
//
// Squares are numbered along the rows of a panel of `panel` columns, panel
// after panel.  With panel == cols that is row-major; with panel < cols the
// tile is cols / panel consecutive tiles of rows x panel.
#pragma once

#include "vendor.h"
#include "burst.h"
#include "swizzle.h"

namespace groat {

// `ld` is the row stride of the source in numbers; the swizzle permutes
// vectors.
template <int rows, int cols, int panel, int ld, int bits, int base, int shift>
struct kv_tile {
    static_assert(rows % 32 == 0 && cols % panel == 0 && panel % 32 == 0,
                  "kv_tile: squares of 32 x 32");

    typedef burst<16> vectors;
    static constexpr u32 across = panel / 32; // squares side by side in a panel
    static constexpr u32 in_panel = rows / 32 * across;
    static constexpr int squares = rows / 32 * (cols / 32);
    static constexpr u32 square_bytes = 2048;
    static constexpr u32 bytes = squares * square_bytes;

    static GROAT_DEVICE constexpr u32 permute(u32 vector)
    {
        return swizzle<bits, base, shift>(vector);
    }

    // Byte offset of a number in shared memory, from the tile's first byte.
    static GROAT_DEVICE constexpr u32 address(u32 row, u32 col)
    {
        u32 square = col / panel * in_panel + row / 32 * across + col % panel / 32;

        return square * square_bytes +
               permute(row % 32 * 4 + col % 32 / 8) * 16 + col % 8 * 2;
    }

    // Byte offset of a square in the source, from the tile's first number.
    static GROAT_DEVICE constexpr u32 square_source(u32 square)
    {
        u32 row = square % in_panel / across * 32;
        u32 col = square / in_panel * panel + square % across * 32;

        return (row * ld + col) * 2;
    }

    // Byte offset of a vector in the source, from its square or half square.
    static GROAT_DEVICE constexpr u32 vector_source(u32 vector)
    {
        return (vector / 4 * ld + vector % 4 * 8) * 2;
    }

    // ---- by asynchronous copies: two bursts per square

    template <int waves>
    static constexpr int copies = 2 * (squares / waves) *
                                  vectors::copies_per_chunk;

    // Maps a place in a half square to the vector that lands there.  The
    // swizzle stays inside the half, so soffset skips the rows above it.
    struct half_source {
        u32 half;

        GROAT_DEVICE constexpr u32 operator()(u32 place) const
        {
            return vector_source(permute(64 * half + place) % 64);
        }
    };

    // Enqueues this wave's part of the tile; all `waves` waves must call it.
    // soffset is the byte offset of the tile's first number in the view.
    template <int waves>
    static GROAT_DEVICE void copy(buffer source, u32 soffset, u32 wave,
                                  u32 lane, u32 shared)
    {
        static_assert(squares % waves == 0,
                      "kv_tile: every wave copies the same number of squares");
        GROAT_UNROLL
        for (u32 t = 0; t < squares / waves; t++) {
            u32 square = t * waves + wave;
            u32 from = soffset + square_source(square);
            u32 to = shared + square * square_bytes;

            GROAT_UNROLL
            for (u32 half = 0; half < 2; half++)
                vectors::issue(source, to + half * vectors::chunk_bytes, lane,
                               from + half * (16 * ld * 2), half_source{half});
        }
    }

    // ---- through registers: vector n of the tile is vector n % 128 of square
    // n / 128, thread t of `threads` moves vectors t, t + threads ...

    template <int threads> static constexpr int held = squares * 128 / threads;

    template <int threads>
    static GROAT_DEVICE void load(buffer source, u32 soffset, u32 thread,
                                  vec4 (&into)[held<threads>])
    {
        static_assert(squares * 128 % threads == 0,
                      "kv_tile: every thread moves the same number of vectors");
        GROAT_UNROLL
        for (u32 i = 0; i < held<threads>; i++) {
            u32 n = i * threads + thread;

            into[i] = buffer_load16(
                source, square_source(n / 128) + vector_source(n % 128),
                soffset);
        }
    }

    template <int threads>
    static GROAT_DEVICE void store(u32 shared, u32 thread,
                                   const vec4 (&from)[held<threads>])
    {
        GROAT_UNROLL
        for (u32 i = 0; i < held<threads>; i++) {
            u32 n = i * threads + thread;

            shared_store16(shared + n / 128 * square_bytes +
                               permute(n % 128) * 16,
                           from[i]);
        }
    }
};

} // namespace groat
