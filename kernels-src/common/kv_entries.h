// SPDX-License-Identifier: Apache-2.0
// The entries of a kv buffer family: what a kernel does with each tile that the
// buffer copies into shared memory.  A family defines `buffer_type`, with
//
//     template <typename consumer> void run(consumer &use, u32 count)
//
// which brings the consumer's tiles 0 .. count - 1 by its own protocol.  For
// each tile it calls use.fetch(n) before the tile may be read (for loads of the
// other operand), copies it from use.place(n), and calls use.take(n, shared)
// once all of it can be read.
//
// Constants are those of the family's params.def, with the same names.
#pragma once

#include "vendor.h"
#include "burst.h"
#include "image.h"
#include "kv_fragments.h"
#include "kv_slab.h"
#include "kv_tile.h"

namespace groat {
namespace kv {

using namespace params;

constexpr bool is_keys = role == role_K;
constexpr bool gathers = !is_keys && arch::tr_read == 0;
typedef kv_tile<tile_rows, tile_cols, tile_cols, ld, swizzle_bits,
                swizzle_base, swizzle_shift>
    tile;
static_assert(tile::bytes == tile_bytes, "params.def and kv_tile.h disagree");

constexpr mma_number number = dtype == dtype_f16 ? mma_f16 : mma_bf16;
constexpr u32 strip = strip_numbers<mma_n>;
static_assert(strip == mma_k * group, "params.def and kv_fragments.h disagree");

// The source of a tile.
struct tile_place {
    buffer source; // the head's rows of the tile's key block
    u32 soffset;   // byte offset of the tile's first number in it
};

GROAT_DEVICE tile_place place_tile(const kv_args &args, u32 key_block, u32 step,
                                   u32 first_col)
{
    return tile_place{key_block_rows<BN, depth, ld>(args.source, args.valid_rows,
                                                    args.first_row, key_block,
                                                    first_col),
                      is_keys ? step * (BK * 2) : step * (BK * ld * 2)};
}

// The block's index in the output.
GROAT_DEVICE u64 block_number(u32 blocks_y)
{
    return static_cast<u64>(block_index()) * blocks_y + block_index_y();
}

// A wave of the block: waves of a row share queries, columns split the tile.
struct wave_place {
    u32 lane, wave, column;

    GROAT_DEVICE wave_place()
        : lane(thread_index() % wave_lanes),
          wave(wave_uniform(thread_index() / wave_lanes)),
          column(wave % warps_n)
    {
    }

    // First query of the wave; a block has wave_rows * mma_n queries.
    GROAT_DEVICE u32 query() const
    {
        return (block_index() * wave_rows + wave / warps_n) * mma_n;
    }

    // Fragment i of strip k of the wave's part of the tile.
    GROAT_DEVICE vec4 fragment(u32 shared, u32 k, u32 i) const
    {
        u32 at = column * wave_size + i * mma_n;

        return is_keys
                   ? key_fragment<tile, mma_n>(shared, at, k * strip, lane)
                   : value_fragment<tile, mma_n>(shared, k * strip, at, lane);
    }
};

// ---- one tile per block

struct one_tile {
    const kv_args &args;

    GROAT_DEVICE tile_place place(u32) const
    {
        return place_tile(args, block_index(), args.first_tile + block_index_y(),
                          args.first_col);
    }

    GROAT_DEVICE void fetch(u32) const
    {
    }
};

struct image_of : one_tile {
    GROAT_DEVICE void take(u32, u32 shared) const
    {
        write_out(shared, tile_bytes,
                  args.output + block_number(args.tiles) * tile_bytes);
    }
};

struct fragments_of : one_tile {
    GROAT_DEVICE void take(u32, u32 shared) const
    {
        constexpr u32 wave_bytes = num_k_tiles * num_mmas * 1024;
        wave_place w;
        u64 to = args.output +
                 (block_number(args.tiles) * num_warps + w.wave) * wave_bytes;

        GROAT_UNROLL
        for (u32 k = 0; k < num_k_tiles; k++)
            GROAT_UNROLL
            for (u32 i = 0; i < num_mmas; i++)
                global_store16(to + (k * num_mmas + i) * 1024 + w.lane * 16,
                               w.fragment(shared, k, i));
    }
};

// ---- many tiles, XORed

struct sum_of {
    const kv_args &args;
    vec4 sum;

    GROAT_DEVICE tile_place place(u32 n) const
    {
        u32 t = block_index() + n * args.block_step;

        return place_tile(args, t / steps, t % steps,
                          args.first_col + block_index_y() * depth);
    }

    GROAT_DEVICE void fetch(u32) const
    {
    }

    GROAT_DEVICE void take(u32, u32 shared)
    {
        fold(shared, tile_bytes, sum);
    }
};

// ---- matrix products

template <int m> struct product {
    const kv_args &args;
    wave_place w;
    buffer operand;             // the wave's m rows of Q or P
    vec4 columns[num_k_tiles];  // its strips for the current tile
    accumulator<m> acc[num_mmas];

    GROAT_DEVICE explicit product(const kv_args &a) : args(a)
    {
        operand = operand_rows<m>(args.operand, args.queries, w.query(),
                                  operand_row_bytes());
        clear();
    }

    GROAT_DEVICE u32 keys() const
    {
        return args.key_blocks * BN;
    }

    GROAT_DEVICE u32 operand_row_bytes() const
    {
        return is_keys ? depth * 2 : keys() * 2;
    }

    GROAT_DEVICE void clear()
    {
        GROAT_UNROLL
        for (int i = 0; i < num_mmas; i++)
            acc[i] = zero_accumulator<m>();
    }

    GROAT_DEVICE u32 key_block(u32 n) const
    {
        return is_keys ? block_index_y() + n / steps * args.block_step : n / steps;
    }

    GROAT_DEVICE tile_place place(u32 n) const
    {
        return place_tile(args, key_block(n), n % steps, args.first_col);
    }

    GROAT_DEVICE void fetch(u32 n)
    {
        u32 first = is_keys ? n % steps * BK : n * BK;

        GROAT_UNROLL
        for (u32 k = 0; k < num_k_tiles; k++)
            columns[k] = is_keys ? query_fragment<m>(operand, operand_row_bytes(),
                                                     first + k * strip, w.lane)
                                 : weight_fragment<m>(operand,
                                                      operand_row_bytes(),
                                                      first + k * strip, w.lane);
    }

    // Returns where a lane reads a strip.  Gathered V takes two registers for
    // every four bytes and an address for every row of a fragment; a lane has
    // too few registers for many strips at once.
    GROAT_DEVICE wave_place reader() const
    {
        wave_place r = w;

        if (gathers)
            compiler_fence();
        if (gathers && (swizzle_bits != 0 || num_mmas * num_k_tiles > 8))
            r.lane = computed_anew(r.lane);
        return r;
    }

    GROAT_DEVICE void take(u32 n, u32 shared)
    {
        GROAT_UNROLL
        for (u32 k = 0; k < num_k_tiles; k++) {
            wave_place r = reader();

            GROAT_UNROLL
            for (u32 i = 0; i < num_mmas; i++)
                mma16<number, m, mma_bytes>(acc[i], r.fragment(shared, k, i),
                                            columns[k]);
        }
        if (is_keys && n % steps == steps - 1) {
            store(keys(), key_block(n) * BN);
            clear();
        }
    }

    // Stores the wave's rows of the result of a tile whose first row is
    // `first`; the result has `width` rows for each query.
    GROAT_DEVICE void store(u32 width, u32 first) const
    {
        u32 query = w.query() + w.lane % m;
        u64 to = args.output + (static_cast<u64>(query) * width + first +
                                w.column * wave_size) *
                                   4;

        if (query >= args.queries)
            return;
        GROAT_UNROLL
        for (u32 i = 0; i < num_mmas; i++)
            store_accumulator(acc[i], w.lane, to + i * (m * 4));
    }
};

// ---- the entries

template <typename buffer_type, int m>
GROAT_DEVICE void multiply(buffer_type &buffers, const kv_args &args)
{
    product<m> use(args);

    buffers.run(use, is_keys ? every(block_index_y(), args.key_blocks,
                                     args.block_step) *
                                   steps
                             : args.key_blocks * steps);
    if (!is_keys)
        use.store(depth, 0);
}

template <typename buffer_type, int which>
GROAT_DEVICE void run(const kv_args &args)
{
    u32 shared = shared_base();
    buffer_type buffers(shared);

    if constexpr (which == entry_image) {
        image_of use{{args}};

        poison(shared, tile_bytes);
        buffers.run(use, 1);
    } else if constexpr (which == entry_fragments) {
        fragments_of use{{args}};

        buffers.run(use, 1);
    } else if constexpr (which == entry_stream) {
        sum_of use{args, {0, 0, 0, 0}};

        buffers.run(use, every(block_index(), args.key_blocks * steps,
                               args.block_step));
        global_store16(args.output +
                           (block_number(args.heads) * GROAT_BLOCK_THREADS +
                            thread_index()) *
                               16,
                       use.sum);
    } else {
        multiply<buffer_type, mma_n>(buffers, args);
    }
}

} // namespace kv
} // namespace groat
