// SPDX-License-Identifier: Apache-2.0
// subtile_loader_st_8x32: the cooperative loader of the V operand.
//
// All waves copy a tile of tile_keys x depth elements of a row-major matrix
// into a slot of shared memory, 1 KiB per wave and burst.  V stays key by key
// there, and transposing reads give the matrix instructions its columns.
//
// Placements (key, byte column cb -> byte of the slot):
//   default  subtiles of 8 keys x 64 bytes, those of 8 keys side by side:
//            (key/8 * subtiles_per_row + cb/64) * 512 + key % 8 * 64 + cb % 64
//   v227     16 cells of 8 rows of 128 bytes, 16 unused bytes after each; of
//            key bits k0..k6, k2 k1 k3 k6 choose the cell, k0 k4 k5 the row:
//            (k2 + 2 k1 + 4 k3 + 8 k6) * 1040 + (k0 + 2 k4 + 4 k5) * 128 + cb
// Both map disjoint bits of key and column to disjoint parts of the sum, so a
// place is the sum of the places of its parts.
//
// Burst i of wave w fills chunk i * num_warps + w (v227: w * iterations + i).
#include "params.h"

#include "../common/vendor.h"
#include "../common/burst.h"
#include "../common/image.h"
#include "../common/pv.h"
#include "../common/stream.h"
#include "../common/view.h"
#include "args.h"

namespace groat {
namespace subtile_loader_st_8x32 {

using namespace params;

typedef burst<16> tile_burst;

constexpr int copies = tile_burst::copies_per_chunk;
static_assert(copies == copies_per_chunk, "params.def and burst.h disagree");

constexpr u32 row_bytes = ld * elem_bytes; // of the matrix
constexpr u32 subtile_bytes = 512;
constexpr u32 cell_pitch = 1040;
constexpr u32 cell_gap = cell_pitch - tile_burst::chunk_bytes;

// ---- placements

template <int which> GROAT_DEVICE constexpr u32 place(u32 key, u32 col_byte)
{
    if (which == placement_v227) {
        u32 cell = (key >> 2 & 1) + 2 * (key >> 1 & 1) + 4 * (key >> 3 & 1) +
                   8 * (key >> 6);
        u32 row = (key & 1) + 2 * (key >> 4 & 1) + 4 * (key >> 5 & 1);

        return cell * cell_pitch + row * 128 + col_byte;
    }
    return (key / 8 * subtiles_per_row + col_byte / 64) * subtile_bytes +
           key % 8 * 64 + col_byte % 64;
}

// The inverse: source offset, from the tile's first byte, of vector `vector` of
// a chunk.  It is a sum of disjoint parts, too, so the lane's part is the same
// in every burst and the chunk's part is uniform in the wave.
template <int which> GROAT_DEVICE constexpr u32 source_of(u32 chunk, u32 vector)
{
    if (which == placement_v227) {
        u32 row = vector / 8;
        u32 key = 4 * (chunk & 1) + 2 * (chunk >> 1 & 1) + 8 * (chunk >> 2 & 1) +
                  64 * (chunk >> 3);

        key += (row & 1) + 16 * (row >> 1 & 1) + 32 * (row >> 2);
        return key * row_bytes + vector % 8 * 16;
    }
    u32 byte = chunk * tile_burst::chunk_bytes + vector * 16;
    u32 subtile = byte / subtile_bytes;
    u32 key = subtile / subtiles_per_row * 8 + byte % subtile_bytes / 64;

    return key * row_bytes + subtile % subtiles_per_row * 64 + byte % 64;
}

// ---- the loader

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
            offsets[q] =
                source_of<placement>(0, tile_burst::vector_of(lane, q));
    }

    // Enqueues the wave's bursts of one tile, which starts soffset bytes after
    // `source`, without waiting.
    GROAT_DEVICE void load(buffer source, u32 soffset, u32 slot) const
    {
        constexpr bool by_wave = placement == placement_v227;
        constexpr u32 pitch = by_wave ? cell_pitch : tile_burst::chunk_bytes;

        GROAT_UNROLL
        for (u32 i = 0; i < iterations; i++) {
            u32 chunk = by_wave ? wave * iterations + i : i * num_warps + wave;

            GROAT_UNROLL
            for (int q = 0; q < copies; q++)
                tile_burst::copy(source, slot + chunk * pitch, lane, q,
                                 offsets[q],
                                 soffset + source_of<placement>(chunk, 0));
        }
    }
};

// A view of the matrix from row tile `row_tile` on, cut to the valid rows that
// the tile can reach, if any.
GROAT_DEVICE buffer tile_source(const subtile_loader_st_8x32_args &args,
                                u32 row_tile)
{
    i64 row = static_cast<i64>(row_tile) * tile_keys;
    i64 left = args.valid_rows - row;

    if (left <= 0)
        row = 0;
    return view_rows<src_cols, ld, elem_bytes>(
        args.source + static_cast<u64>(row) * row_bytes, left,
        tile_keys + args.soffset / row_bytes + 1);
}

GROAT_DEVICE u32 tile_soffset(const subtile_loader_st_8x32_args &args)
{
    return args.soffset + block_index_y() * (depth * elem_bytes);
}

// The block's index in the output.
GROAT_DEVICE u64 output_index(const subtile_loader_st_8x32_args &args)
{
    return static_cast<u64>(block_index()) * args.col_tiles + block_index_y();
}

// ---- image and stream

template <int> GROAT_DEVICE void image(const subtile_loader_st_8x32_args &args)
{
    u32 shared = shared_base();
    loader load;

    poison(shared, slot_bytes);
    load.load(tile_source(args, block_index()), tile_soffset(args), shared);
    async_commit();
    async_wait<0, 0>();
    block_barrier();
    write_out(shared, slot_bytes, args.output + output_index(args) * slot_bytes);
}

struct load_row_tile {
    const subtile_loader_st_8x32_args &args;
    const loader &load;

    GROAT_DEVICE void operator()(u32 row_tile, u32 slot) const
    {
        load.load(tile_source(args, row_tile), tile_soffset(args), slot);
    }
};

// Streams every row_step-th tile of the block's column of tiles through a ring
// of `stages` slots.
template <int> GROAT_DEVICE void stream(const subtile_loader_st_8x32_args &args)
{
    constexpr u32 gap = placement == placement_v227 ? cell_gap : 0;
    loader load;
    vec4 sum =
        stream_tiles<stages, iterations * copies, slot_bytes, tile_bytes, gap>(
            shared_base(), block_index(), args.row_tiles, args.row_step,
            load_row_tile{args, load});

    global_store16(args.output + (output_index(args) * GROAT_BLOCK_THREADS +
                                  thread_index()) *
                                     16,
                   sum);
}

// ---- fragments

// Where the reader finds strip i, depth tile j of the tile at `slot`.  The
// lane's part is a term of its own: it is the same in every read, and the
// others are added by the instruction.
struct fragment_place {
    u32 slot;
    u32 i;
    u32 j;

    GROAT_DEVICE u32 operator()(u32 first, u32 key, u32 col_byte) const
    {
        return slot + place<reader>(key, col_byte) +
               place<reader>(i * strip_keys, 0) +
               place<reader>(first, j * (32 * elem_bytes));
    }
};

// A reader of another placement also reads bytes that no copy wrote.
template <int> GROAT_DEVICE void poison_for_reader(u32 shared)
{
    if constexpr (reader != placement)
        poison(shared, slot_bytes);
}

template <int>
GROAT_DEVICE void store_fragment(u32 lane, const fragment_place &from, u64 to)
{
    if constexpr (elem_bytes == 2) {
        global_store16(to, pv_read16(lane, from));
    } else {
        vec8 v = pv_read8(lane, from);

        global_store16(to, v.low);
        global_store16(to + 16, v.high);
    }
}

// Fragment (i, j) is number i * depth_tiles + j; the waves take turns.
template <int which>
GROAT_DEVICE void fragments(const subtile_loader_st_8x32_args &args)
{
    constexpr u32 count = strips * depth_tiles;
    u32 shared = shared_base();
    loader load;
    u64 output = args.output + load.lane * fragment_bytes;

    poison_for_reader<which>(shared);
    load.load(tile_source(args, block_index()), tile_soffset(args), shared);
    async_commit();
    async_wait<0, 0>();
    block_barrier();
    for (u32 f = load.wave; f < count; f += num_warps)
        store_fragment<which>(
            load.lane, fragment_place{shared, f / depth_tiles, f % depth_tiles},
            output + (output_index(args) * count + f) *
                         (wave_lanes * fragment_bytes));
}

// ---- output

constexpr mma_number number = dtype == dtype_f16 ? mma_f16 : mma_bf16;

// A wave's 32 queries x depth of O^T, and its rows of P.
struct product {
    accumulator<32> acc[depth_tiles];
    buffer weights;
    u32 lane;
    u32 query;
    u32 voffset;

    GROAT_DEVICE product(const subtile_loader_st_8x32_args &args,
                         const loader &load)
        : lane(load.lane),
          query((block_index() * num_warps + load.wave) * 32 + load.lane % 32)
    {
        u32 weight_row = args.row_tiles * (tile_keys * elem_bytes);
        u32 head_bytes = args.queries * weight_row;

        weights = make_buffer(
            args.weights + static_cast<u64>(block_index_y()) * head_bytes,
            head_bytes);
        // Rows past the last query read as zeros.
        voffset = (query < args.queries ? query : args.queries) * weight_row;
        GROAT_UNROLL
        for (int j = 0; j < depth_tiles; j++)
            acc[j] = zero_accumulator<32>();
    }

    // Adds strip i of the tile at `slot`, whose weights start at soffset.
    template <int> GROAT_DEVICE void add(u32 slot, u32 i, u32 soffset)
    {
        if constexpr (elem_bytes == 2) {
            vec4 p = pv_weights16(lane, weights, voffset, soffset);

            GROAT_UNROLL
            for (u32 j = 0; j < depth_tiles; j++)
                mma16<number, 32, arch::mfma_16bit_bytes>(
                    acc[j], pv_read16(lane, fragment_place{slot, i, j}), p);
        } else {
            vec8 p = pv_weights8(lane, weights, voffset, soffset);

            GROAT_UNROLL
            for (u32 j = 0; j < depth_tiles; j++)
                mma8<32, arch::mfma_8bit_bytes>(
                    acc[j], pv_read8(lane, fragment_place{slot, i, j}), p);
        }
    }

    GROAT_DEVICE void store(const subtile_loader_st_8x32_args &args) const
    {
        u64 row = args.output +
                  (static_cast<u64>(block_index_y()) * args.queries + query) *
                      (depth * sizeof(float));

        if (query >= args.queries)
            return;
        GROAT_UNROLL
        for (int j = 0; j < depth_tiles; j++)
            store_accumulator(acc[j], lane, row + j * 32 * sizeof(float));
    }
};

// One slot: every wave reads a tile before the next one is loaded.
template <int which>
GROAT_DEVICE void output(const subtile_loader_st_8x32_args &args)
{
    u32 shared = shared_base();
    loader load;
    product o(args, load);

    poison_for_reader<which>(shared);
    for (u32 tile = 0; tile < args.row_tiles; tile++) {
        load.load(tile_source(args, tile), tile_soffset(args), shared);
        async_commit();
        async_wait<0, 0>();
        block_barrier();
        for (u32 i = 0; i < strips; i++)
            o.template add<which>(shared, i,
                                  (tile * strips + i) *
                                      (strip_keys * elem_bytes));
        shared_fence();
        block_barrier();
    }
    o.store(args);
}

// A template, so that the compiler never sees the body of the other entries.
template <int which> GROAT_DEVICE void run(const subtile_loader_st_8x32_args &args)
{
    if constexpr (which == entry_image)
        image<which>(args);
    else if constexpr (which == entry_fragments)
        fragments<which>(args);
    else if constexpr (which == entry_stream)
        stream<which>(args);
    else
        output<which>(args);
}

} // namespace subtile_loader_st_8x32
} // namespace groat

GROAT_KERNEL(subtile_loader_st_8x32_args)
{
    groat::subtile_loader_st_8x32::run<groat::params::entry>(args);
}
