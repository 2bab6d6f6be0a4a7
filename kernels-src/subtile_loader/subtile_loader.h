// SPDX-License-Identifier: Apache-2.0
// subtile_loader: the loader of an attention kernel's keys.
//
// All waves copy a BN x depth tile of a row-major matrix into shared memory, a
// 1 KiB burst per wave and iteration.  Burst (i, w) fills chunk i * num_warps +
// w.  A subtile is 32 rows of 64 bytes, two chunks; subtiles lie row by row:
//
//   byte b of the tile, subtile t = b / 2048, vector v = b % 2048 / 16,
//   s = chain(v)
//   row           t / subtiles_per_row * 32 + s / 4
//   column byte   t % subtiles_per_row * 64 + s % 4 * 16 + b % 16
//
// chain XORs bits of the row onto the two bits of the column, so a vector stays
// in its row and chain is its own inverse:
//   chained     (1, 0, 4) then (1, 1, 4): column ^= row / 4 % 4
//   hipkittens  (1, 1, 4) then (1, 0, 6): column ^= row / 8 % 2 * 2 + row / 16
//
// A fragment is the wave's part of an operand: lane l has row l % mma_m, and of
// that row's columns the l / mma_m-th part of fragment_bytes.
#include "params.h"

#include "../common/vendor.h"
#include "../common/swizzle.h"
#include "../common/burst.h"
#include "../common/image.h"
#include "../common/mma.h"
#include "../common/stream.h"
#include "../common/view.h"
#include "args.h"

namespace groat {
namespace subtile_loader {

using namespace params;

typedef burst<16> tile_burst;

constexpr u32 subtile_rows = 32;
constexpr u32 subtile_row_bytes = 64;
constexpr u32 subtile_bytes = subtile_rows * subtile_row_bytes;
constexpr u32 vectors_per_row = subtile_row_bytes / 16;
constexpr u32 chunk_vectors = tile_burst::chunk_bytes / 16;
constexpr u32 chunks_per_subtile = subtile_bytes / tile_burst::chunk_bytes;
constexpr u32 ld_bytes = ld * elem_bytes;
static_assert(tile_burst::copies_per_chunk == copies_per_chunk,
              "params.def and burst.h disagree");
static_assert(chunks % num_warps == 0, "all waves load the same");

// Index in its subtile of the vector that lands at place `vector`.
template <int kind> GROAT_DEVICE constexpr u32 chain(u32 vector)
{
    return kind == swizzle_chained
               ? groat::swizzle<1, 1, 4>(groat::swizzle<1, 0, 4>(vector))
               : groat::swizzle<1, 0, 6>(groat::swizzle<1, 1, 4>(vector));
}

// ---- the loader -----------------------------------------------------------

// Source offset in bytes, from the tile's first element, of a chunk's vector.
struct offset_in_tile {
    u32 chunk;

    GROAT_DEVICE constexpr u32 operator()(u32 vector) const
    {
        u32 subtile = chunk / chunks_per_subtile;
        u32 s = chain<params::swizzle>(
            chunk % chunks_per_subtile * chunk_vectors + vector);
        u32 row = subtile / subtiles_per_row * subtile_rows + s / vectors_per_row;

        return row * ld_bytes + subtile % subtiles_per_row * subtile_row_bytes +
               s % vectors_per_row * 16;
    }
};

struct loader {
    u32 lane;
    u32 wave;

    GROAT_DEVICE loader()
        : lane(thread_index() % wave_lanes),
          wave(wave_uniform(thread_index() / wave_lanes))
    {
    }

    // Enqueues the wave's bursts of one tile, without waiting.  soffset is the
    // tile's distance from the start of `source` in bytes.
    GROAT_DEVICE void load(buffer source, u32 soffset, u32 shared) const
    {
        GROAT_UNROLL
        for (u32 i = 0; i < iterations; i++) {
            u32 chunk = i * num_warps + wave;

            tile_burst::issue(source, shared + chunk * tile_burst::chunk_bytes,
                              lane, soffset, offset_in_tile{chunk});
        }
    }
};

// A view of the matrix from row tile `row_tile` on, cut to what a tile can
// reach: its rows plus those that scalar_offset spans, rounded up.
GROAT_DEVICE buffer tile_source(const subtile_loader_args &args, u32 row_tile)
{
    i64 row = args.first_row + static_cast<i64>(row_tile) * BN;
    i64 left = args.valid_rows - row;

    if (left <= 0)
        row = 0;
    return view_rows<src_cols, ld, elem_bytes>(
        args.source + static_cast<u64>(row) * ld_bytes, left,
        BN + (args.scalar_offset + ld_bytes - 1) / ld_bytes);
}

GROAT_DEVICE u32 tile_offset(const subtile_loader_args &args)
{
    return args.scalar_offset +
           (args.first_col + block_index_y() * depth) * elem_bytes;
}

// The block's index in the output.
GROAT_DEVICE u64 output_index(const subtile_loader_args &args)
{
    return static_cast<u64>(block_index()) * args.heads + block_index_y();
}

// Loads a row tile into a slot of the ring.
struct load_row_tile {
    const subtile_loader_args &args;
    const loader &load;

    GROAT_DEVICE void operator()(u32 row_tile, u32 slot) const
    {
        load.load(tile_source(args, row_tile), tile_offset(args), slot);
    }
};

// Loads one tile for all threads to read, and waits for it.
GROAT_DEVICE void load_one(const subtile_loader_args &args, const loader &load,
                           u32 row_tile, u32 shared)
{
    load_row_tile{args, load}(row_tile, shared);
    async_commit();
    async_wait<0, 0>();
    block_barrier();
}

// ---- fragments ------------------------------------------------------------

constexpr u32 fragment_vectors = fragment_bytes / 16;

// Byte offset in the tile of vector `part` of a lane's fragment.
GROAT_DEVICE constexpr u32 fragment_address(u32 lane, u32 row_block, u32 k_step,
                                            u32 part)
{
    u32 row = row_block * mma_m + lane % mma_m;
    u32 vector = (k_step * (wave_lanes / mma_m) + lane / mma_m) *
                     fragment_vectors +
                 part;
    u32 subtile = row / subtile_rows * subtiles_per_row + vector / vectors_per_row;

    return subtile * subtile_bytes +
           chain<reader>(row % subtile_rows * vectors_per_row +
                         vector % vectors_per_row) *
               16;
}

// A lane's fragment: 16 bytes of 16-bit elements or 32 of 8-bit ones.
template <int bytes> struct fragment {
    vec4 v;

    // load(part) returns vector `part`.
    template <typename function>
    static GROAT_DEVICE fragment read(const function &load)
    {
        return fragment{load(0)};
    }

    GROAT_DEVICE void multiply(accumulator<mma_m> &acc, const fragment &b) const
    {
        mma16<dtype == dtype_f16 ? mma_f16 : mma_bf16, mma_m, operand_bytes>(
            acc, v, b.v);
    }
};

template <> struct fragment<32> {
    vec8 v;

    template <typename function>
    static GROAT_DEVICE fragment read(const function &load)
    {
        return fragment{{load(0), load(1)}};
    }

    template <int m>
    GROAT_DEVICE void multiply(accumulator<m> &acc, const fragment &b) const
    {
        mma8<m, operand_bytes>(acc, v, b.v);
    }
};

struct key_vectors {
    u32 shared;
    u32 lane;
    u32 row_block;
    u32 k_step;

    GROAT_DEVICE vec4 operator()(u32 part) const
    {
        return shared_load16(shared +
                             fragment_address(lane, row_block, k_step, part));
    }
};

// A row of queries as the instruction's other operand; rows past the last query
// are zeros.
struct query_vectors {
    buffer source;
    u32 lane;
    u32 row;
    u32 k_step;

    GROAT_DEVICE vec4 operator()(u32 part) const
    {
        u32 block = k_step * (wave_lanes / mma_m) + lane / mma_m;

        return buffer_load16(source,
                             row * row_bytes + block * fragment_bytes + part * 16,
                             0);
    }
};

// ---- entries --------------------------------------------------------------

template <int> GROAT_DEVICE void image(const subtile_loader_args &args)
{
    u32 shared = shared_base();
    loader load;

    poison(shared, tile_bytes);
    load_one(args, load, block_index(), shared);
    write_out(shared, tile_bytes, args.output + output_index(args) * tile_bytes);
}

// Fragment f = row block * k_steps + k step is 64 lanes of fragment_bytes; the
// waves take turns.
template <int> GROAT_DEVICE void read_fragments(const subtile_loader_args &args)
{
    u32 shared = shared_base();
    u64 output = args.output + output_index(args) * tile_bytes;
    loader load;

    load_one(args, load, block_index(), shared);
    for (u32 f = load.wave; f < tile_fragments; f += num_warps) {
        key_vectors keys{shared, load.lane, f / k_steps, f % k_steps};
        u64 to = output + (f * wave_lanes + load.lane) * fragment_bytes;

        GROAT_UNROLL
        for (u32 part = 0; part < fragment_vectors; part++)
            global_store16(to + part * 16, keys(part));
    }
}

// Streams every row_step-th of the head's tiles through a ring of slots.
template <int> GROAT_DEVICE void stream(const subtile_loader_args &args)
{
    loader load;
    vec4 sum = stream_tiles<stages, iterations * copies_per_chunk, tile_bytes,
                            tile_bytes>(shared_base(), block_index(),
                                        args.row_tiles, args.row_step,
                                        load_row_tile{args, load});

    global_store16(args.output + (output_index(args) * GROAT_BLOCK_THREADS +
                                  thread_index()) *
                                     16,
                   sum);
}

// A wave keeps mma_m queries in registers; all waves of a block go through the
// keys tile by tile, without overlap.  Keys are the rows of the product and a
// lane's query is its column, so keys are adjacent in a row of S.
template <int> GROAT_DEVICE void scores(const subtile_loader_args &args)
{
    typedef fragment<fragment_bytes> operand;
    u32 shared = shared_base();
    u64 head_queries = static_cast<u64>(block_index_y()) * args.queries;
    loader load;
    u32 query = (block_index() * num_warps + load.wave) * mma_m +
                load.lane % mma_m;
    u64 row = args.output +
              (head_queries + query) * (static_cast<u64>(args.row_tiles) * BN) * 4;
    buffer queries = make_buffer(args.query + head_queries * row_bytes,
                                 args.queries * row_bytes);
    operand q[k_steps];

    GROAT_UNROLL
    for (u32 k = 0; k < k_steps; k++)
        q[k] = operand::read(query_vectors{queries, load.lane, query, k});
    for (u32 tile = 0; tile < args.row_tiles; tile++) {
        load_one(args, load, tile, shared);
        for (u32 block = 0; block < BN / mma_m; block++) {
            accumulator<mma_m> acc = zero_accumulator<mma_m>();

            GROAT_UNROLL
            for (u32 k = 0; k < k_steps; k++)
                operand::read(key_vectors{shared, load.lane, block, k})
                    .multiply(acc, q[k]);
            if (query < args.queries)
                store_accumulator(acc, load.lane, row + block * mma_m * 4);
        }
        row += BN * 4;
        // Other waves may still read what the next tile overwrites.
        shared_fence();
        block_barrier();
    }
}

// A template, so that the compiler never sees the body of the other entries.
template <int which> GROAT_DEVICE void run(const subtile_loader_args &args)
{
    if constexpr (which == entry_image)
        image<which>(args);
    else if constexpr (which == entry_fragments)
        read_fragments<which>(args);
    else if constexpr (which == entry_stream)
        stream<which>(args);
    else
        scores<which>(args);
}

} // namespace subtile_loader
} // namespace groat

GROAT_KERNEL(subtile_loader_args)
{
    groat::subtile_loader::run<groat::params::entry>(args);
}
