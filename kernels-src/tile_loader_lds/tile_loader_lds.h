// SPDX-License-Identifier: Apache-2.0
// tile_loader_lds: the cooperative tile loader.
//
// num_loading_warps waves of 64 lanes copy a tile_rows x tile_cols tile of a
// row-major matrix into shared memory, one burst of 64 * lane_bytes per wave
// and iteration.  Burst (i, w) fills chunk i * num_loading_warps + w.
//
// Layouts (byte b of the tile, chunk C = b / chunk_bytes, o = b % chunk_bytes):
//   interleaved  row C / warp_cols * thread_rows + s / (32 e),
//                column byte C % warp_cols * 32 e + s % (32 e), s = swizzle(o)
//   full width   row s / row_bytes, column byte s % row_bytes, s = swizzle(b)
//
// Surplus waves do nothing (a wave-uniform test), so a tile need not be a
// multiple of what all waves load at once.
#include "params.h"

#include "../common/vendor.h"
#include "../common/swizzle.h"
#include "../common/burst.h"
#include "../common/image.h"
#include "../common/stream.h"
#include "../common/view.h"
#include "args.h"

namespace groat {
namespace tile_loader_lds {

using namespace params;

typedef burst<lane_bytes> tile_burst;

constexpr bool swizzled = swizzle_bits > 0;
// An interleaved tile has the same pattern in every burst; the pattern of a
// full width tile may cross bursts.
constexpr bool invert_per_iteration = swizzled && full_width;
constexpr int copies = tile_burst::copies_per_chunk;
static_assert(copies == copies_per_chunk, "params.def and burst.h disagree");

GROAT_DEVICE constexpr u32 unswizzle(u32 byte)
{
    return swizzle<swizzle_bits, swizzle_base, swizzle_shift>(byte);
}

// Source offset in bytes, from the tile's first element, of vector `vector` of
// a chunk that wave `wave` loads; each iteration adds whole rows.
GROAT_DEVICE constexpr u32 offset_in_chunk(u32 wave, u32 vector)
{
    u32 v = unswizzle(vector * lane_bytes) / lane_bytes;
    u32 row = wave / warp_cols * thread_rows + v / threads_per_row;
    u32 col = wave % warp_cols * subtile_cols + v % threads_per_row * load_width;

    return (row * ld + col) * elem_bytes;
}

// The same for a swizzled full width tile; `begin` is the byte of the tile at
// which the chunk begins.
struct offset_in_tile {
    u32 begin;

    GROAT_DEVICE constexpr u32 operator()(u32 vector) const
    {
        u32 s = unswizzle(begin + vector * lane_bytes);

        return s / row_bytes * (ld * elem_bytes) + s % row_bytes;
    }
};

// Rows that all loading waves cover in one iteration.
constexpr u32 rows_per_iteration = num_loading_warps / warp_cols * thread_rows;

struct loader {
    u32 lane;
    u32 wave;
    u32 offsets[copies];

    GROAT_DEVICE loader()
        : lane(thread_index() % wave_lanes),
          wave(wave_uniform(thread_index() / wave_lanes))
    {
        GROAT_UNROLL
        for (int q = 0; q < copies; q++)
            offsets[q] = offset_in_chunk(wave, tile_burst::vector_of(lane, q));
    }

    // Enqueues the wave's bursts of one tile, without waiting.  `source` starts
    // at the tile's first row, `first_col` is in elements.
    GROAT_DEVICE void load(buffer source, u32 first_col, u32 shared) const
    {
        if (wave >= num_loading_warps)
            return;
        GROAT_UNROLL
        for (u32 i = 0; i < iterations; i++) {
            u32 chunk = i * num_loading_warps + wave;
            u32 soffset = first_col * elem_bytes;

            if (chunk >= chunks)
                break;
            if (!invert_per_iteration)
                soffset += i * rows_per_iteration * (ld * elem_bytes);
            load_chunk(source, chunk, soffset, shared);
        }
    }

  private:
    GROAT_DEVICE void load_chunk(buffer source, u32 chunk, u32 soffset,
                                 u32 shared) const
    {
        u32 to = shared + chunk * chunk_bytes;

        if constexpr (invert_per_iteration) {
            tile_burst::issue(source, to, lane, soffset,
                              offset_in_tile{chunk * chunk_bytes});
        } else {
            GROAT_UNROLL
            for (int q = 0; q < copies; q++)
                tile_burst::copy(source, to, lane, q, offsets[q], soffset);
        }
    }
};

// A view of the matrix from row tile `row_tile` on, cut to the valid rows that
// the tile can reach, if any.
GROAT_DEVICE buffer tile_source(const tile_loader_lds_args &args, u32 row_tile)
{
    i64 row = args.first_row + static_cast<i64>(row_tile) * tile_rows;
    i64 left = args.valid_rows - row;

    if (left <= 0)
        row = 0;
    return view_rows<src_cols, ld, elem_bytes>(
        args.source + static_cast<u64>(row) * (ld * elem_bytes), left,
        tile_rows);
}

GROAT_DEVICE u32 tile_first_col(const tile_loader_lds_args &args)
{
    return args.first_col + block_index_y() * tile_cols;
}

// The block's index in the output.
GROAT_DEVICE u64 output_index(const tile_loader_lds_args &args)
{
    return static_cast<u64>(block_index()) * args.col_tiles + block_index_y();
}

template <int> GROAT_DEVICE void image(const tile_loader_lds_args &args)
{
    u32 shared = shared_base();
    u64 output = args.output + output_index(args) * tile_bytes;
    loader load;

    poison(shared, tile_bytes);
    load.load(tile_source(args, block_index()), tile_first_col(args), shared);
    async_commit();
    async_wait<0, 0>();
    block_barrier();
    write_out(shared, tile_bytes, output);
}

struct load_row_tile {
    const tile_loader_lds_args &args;
    const loader &load;

    GROAT_DEVICE void operator()(u32 row_tile, u32 slot) const
    {
        load.load(tile_source(args, row_tile), tile_first_col(args), slot);
    }
};

// Streams every row_step-th tile of the block's column of tiles through a ring
// of `stages` slots.
template <int> GROAT_DEVICE void stream(const tile_loader_lds_args &args)
{
    loader load;
    vec4 sum = stream_tiles<stages, iterations * copies, tile_bytes, tile_bytes>(
        shared_base(), block_index(), args.row_tiles, args.row_step,
        load_row_tile{args, load});

    global_store16(args.output + (output_index(args) * GROAT_BLOCK_THREADS +
                                  thread_index()) *
                                     16,
                   sum);
}

// A template, so that the compiler never sees the body of the other entry.
template <int which> GROAT_DEVICE void run(const tile_loader_lds_args &args)
{
    if constexpr (which == entry_image)
        image<which>(args);
    else
        stream<which>(args);
}

} // namespace tile_loader_lds
} // namespace groat

GROAT_KERNEL(tile_loader_lds_args)
{
    groat::tile_loader_lds::run<groat::params::entry>(args);
}
