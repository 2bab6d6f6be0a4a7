// SPDX-License-Identifier: Apache-2.0
// kv_buffer_pipelined: K and V of a key block in one of two stages of shared
// memory.  While one key block is multiplied, the next is copied into the other
// stage.  Waits count the copies that may stay in flight; before the last round
// none waits for all of them.  vm is vm_instrs_per_load.
//
//   wait            for all but the last vm copies: K is there, V may not be
//                   (in the last round for all)
//   barrier         K of all waves has landed; all have read the previous V
//   K fragments     S = K.Q^T
//   load            K and V of the next key block, into the other stage
//   P               S rounded to 16 bits; no softmax, so all stays exact
//   wait            for all but the last 2 vm copies: V is there
//   barrier         V of all waves has landed
//   V fragments     O += P.V
//
// The accumulators of S hold S^T: their rows are keys, in the order in which
// V's fragments hold keys, so they become P without a shuffle.
//
// Layout and readers: common/kv_tile.h, common/kv_fragments.h.
#include "params.h"

#include "../common/vendor.h"
#include "../common/burst.h"
#include "../common/convert.h"
#include "../common/image.h"
#include "../common/kv_fragments.h"
#include "../common/kv_slab.h"
#include "../common/kv_tile.h"
#include "args.h"

namespace groat {
namespace kv_buffer_pipelined {

using namespace params;

typedef kv_tile<BN, depth, BK, ld, swizzle_bits, swizzle_base, swizzle_shift>
    key_tile;
typedef kv_tile<BN, depth, depth, ld, swizzle_bits, swizzle_base, swizzle_shift>
    value_tile;

constexpr int vm = key_tile::copies<num_warps>;
static_assert(key_tile::bytes == slot_bytes && value_tile::bytes == slot_bytes,
              "params.def and kv_tile.h disagree");
static_assert(vm == vm_instrs_per_load, "params.def and kv_tile.h disagree");
static_assert(value_tile::copies<num_warps> == vm, "K and V have one shape");

constexpr mma_number number = dtype == dtype_f16 ? mma_f16 : mma_bf16;
constexpr u32 strip = strip_numbers<mma_n>;
static_assert(strip == mma_k * group, "params.def and kv_fragments.h disagree");

// The head's rows of one key block in both slabs.
struct block_place {
    buffer keys, values;
};

GROAT_DEVICE block_place place_block(const kv_buffer_pipelined_args &args,
                                     u32 key_block, u32 first_col)
{
    return block_place{
        key_block_rows<BN, depth, ld>(args.keys, args.valid_rows, args.first_row,
                                      key_block, first_col),
        key_block_rows<BN, depth, ld>(args.values, args.valid_rows, args.first_row,
                                      key_block, first_col)};
}

struct pipeline {
    u32 shared, lane, wave;

    GROAT_DEVICE explicit pipeline(u32 at)
        : shared(at), lane(thread_index() % wave_lanes),
          wave(wave_uniform(thread_index() / wave_lanes))
    {
    }

    GROAT_DEVICE u32 stage(u32 n) const
    {
        return shared + n % 2 * stage_bytes;
    }

    GROAT_DEVICE void load(const block_place &from, u32 to) const
    {
        key_tile::copy<num_warps>(from.keys, 0, wave, lane, to);
        async_commit();
        value_tile::copy<num_warps>(from.values, 0, wave, lane,
                                    to + slot_bytes);
        async_commit();
    }

    // Runs over key blocks 0 .. count - 1 of the consumer, found by place(n).
    template <typename consumer>
    GROAT_DEVICE void run(consumer &use, u32 count) const
    {
        if (count > 0)
            load(use.place(0), stage(0));
        for (u32 n = 0; n < count; n++) {
            bool more = n + 1 < count;

            if (more)
                async_wait<vm, 1>();
            else
                async_wait<0, 0>();
            block_barrier();
            use.take_keys(stage(n));
            if (more)
                load(use.place(n + 1), stage(n + 1));
            use.make_weights();
            async_wait<2 * vm, 2>();
            block_barrier();
            use.take_values(stage(n) + slot_bytes);
            shared_fence();
        }
    }
};

// ---- the final contents of shared memory

struct image_of {
    const kv_buffer_pipelined_args &args;

    GROAT_DEVICE block_place place(u32 n) const
    {
        return place_block(args, block_index() * args.tiles + n, args.first_col);
    }

    GROAT_DEVICE void take_keys(u32) const
    {
    }

    GROAT_DEVICE void make_weights() const
    {
    }

    GROAT_DEVICE void take_values(u32) const
    {
    }
};

// ---- all key blocks, XORed

struct sum_of {
    const kv_buffer_pipelined_args &args;
    vec4 sum;

    GROAT_DEVICE block_place place(u32 n) const
    {
        return place_block(args, block_index() + n * args.block_step,
                           args.first_col + block_index_y() * depth);
    }

    GROAT_DEVICE void take_keys(u32 at)
    {
        fold(at, slot_bytes, sum);
    }

    GROAT_DEVICE void make_weights() const
    {
    }

    GROAT_DEVICE void take_values(u32 at)
    {
        fold(at, slot_bytes, sum);
    }
};

// ---- attention

template <int m> struct attention {
    static constexpr int registers = m * m / 64;

    const kv_buffer_pipelined_args &args;
    u32 lane;
    u32 first;                     // the wave's first query
    vec4 queries[depth / strip];   // Q, strip by strip of the head
    accumulator<m> scores[BN / m]; // S^T of this key block
    vec4 weights[BN / strip];      // P, strip by strip of the keys
    accumulator<m> out[depth / m]; // O^T

    GROAT_DEVICE attention(const kv_buffer_pipelined_args &a, const pipeline &p)
        : args(a), lane(p.lane), first((block_index() * num_warps + p.wave) * m)
    {
        buffer q = operand_rows<m>(args.queries, args.query_count, first,
                                   depth * 2);

        GROAT_UNROLL
        for (u32 k = 0; k < depth / strip; k++)
            queries[k] = query_fragment<m>(q, depth * 2, k * strip, lane);
        GROAT_UNROLL
        for (u32 k = 0; k < depth / strip; k++)
            settle(queries[k]);
        GROAT_UNROLL
        for (u32 j = 0; j < depth / m; j++)
            out[j] = zero_accumulator<m>();
    }

    GROAT_DEVICE block_place place(u32 n) const
    {
        return place_block(args, n, args.first_col);
    }

    GROAT_DEVICE void take_keys(u32 at)
    {
        GROAT_UNROLL
        for (u32 i = 0; i < BN / m; i++) {
            scores[i] = zero_accumulator<m>();
            GROAT_UNROLL
            for (u32 k = 0; k < depth / strip; k++)
                mma16<number, m, mma_bytes>(
                    scores[i],
                    key_fragment<key_tile, m>(at, i * m, k * strip, lane),
                    queries[k]);
        }
    }

    // Register n of all accumulators in sequence.
    GROAT_DEVICE float score(u32 n) const
    {
        return scores[n / registers].get(n % registers);
    }

    GROAT_DEVICE void make_weights()
    {
        GROAT_UNROLL
        for (u32 i = 0; i < BN / strip; i++)
            weights[i] = vec4{pack16<number>(score(8 * i), score(8 * i + 1)),
                              pack16<number>(score(8 * i + 2), score(8 * i + 3)),
                              pack16<number>(score(8 * i + 4), score(8 * i + 5)),
                              pack16<number>(score(8 * i + 6), score(8 * i + 7))};
    }

    GROAT_DEVICE void take_values(u32 at)
    {
        GROAT_UNROLL
        for (u32 i = 0; i < BN / strip; i++)
            GROAT_UNROLL
            for (u32 j = 0; j < depth / m; j++)
                mma16<number, m, mma_bytes>(
                    out[j],
                    value_fragment<value_tile, m>(at, i * strip, j * m, lane),
                    weights[i]);
    }

    GROAT_DEVICE void store() const
    {
        u32 query = first + lane % m;
        u64 to = args.output + static_cast<u64>(query) * (depth * 4);

        if (query >= args.query_count)
            return;
        GROAT_UNROLL
        for (u32 j = 0; j < depth / m; j++)
            store_accumulator(out[j], lane, to + j * (m * 4));
    }
};

// ---- the entries

GROAT_DEVICE void image(const pipeline &pipe,
                        const kv_buffer_pipelined_args &args)
{
    image_of use{args};

    poison(pipe.shared, 2 * stage_bytes);
    pipe.run(use, args.tiles);
    write_out(pipe.shared, 2 * stage_bytes,
              args.output + static_cast<u64>(block_index()) * (2 * stage_bytes));
}

GROAT_DEVICE void stream(const pipeline &pipe,
                         const kv_buffer_pipelined_args &args)
{
    u32 x = block_index();
    u64 block = static_cast<u64>(x) * args.heads + block_index_y();
    sum_of use{args, {0, 0, 0, 0}};

    pipe.run(use, every(x, args.key_blocks, args.block_step));
    global_store16(args.output +
                       (block * GROAT_BLOCK_THREADS + thread_index()) * 16,
                   use.sum);
}

template <int m>
GROAT_DEVICE void attend(const pipeline &pipe,
                         const kv_buffer_pipelined_args &args)
{
    attention<m> use(args, pipe);

    pipe.run(use, args.key_blocks);
    use.store();
}

template <int which, int m>
GROAT_DEVICE void run(const kv_buffer_pipelined_args &args)
{
    pipeline pipe(shared_base());

    if constexpr (which == entry_image)
        image(pipe, args);
    else if constexpr (which == entry_stream)
        stream(pipe, args);
    else
        attend<m>(pipe, args);
}

} // namespace kv_buffer_pipelined
} // namespace groat

GROAT_KERNEL(kv_buffer_pipelined_args)
{
    groat::kv_buffer_pipelined::run<groat::params::entry, groat::params::mma_n>(
        args);
}
