/* SPDX-License-Identifier: Apache-2.0
 *
 * judge_probe: a pipeline of asynchronous copies through two slots, in which
 * each wave reads what the other one copied; args.mutant selects the same
 * pipeline with one step removed or one fault.  Slot 2 stays unwritten.
 */
#include "params.h"

#include "../common/vendor.h"
#include "../common/burst.h"
#include "args.h"

namespace groat
{
namespace judge_probe
{

static_assert(sizeof(judge_probe_args) == GROAT_ARGS_BYTES, "args.h");

typedef burst<16> vectors;
constexpr u32 tile_bytes = params::tile_bytes;
constexpr u32 spare = params::slots * tile_bytes; /* a slot no thread writes */
constexpr u32 tiles = 5;
constexpr int copies = vectors::copies_per_chunk;

struct probe {
    u32 mutant;
    u32 thread;
    u32 lane;
    u32 wave;
    buffer source;
    vec4 sum;

    GROAT_DEVICE probe(const judge_probe_args &args)
        : mutant(args.mutant), thread(thread_index()), lane(thread % 64),
          wave(wave_uniform(thread / 64)),
          source(make_buffer(args.source, args.source_bytes)), sum{0, 0, 0, 0}
    {
    }

    GROAT_DEVICE bool is(u32 which) const
    {
        return mutant == which;
    }

    GROAT_DEVICE void add(vec4 v)
    {
        sum.x += v.x;
        sum.y += v.y;
        sum.z += v.z;
        sum.w += v.w;
    }

    GROAT_DEVICE void put(u32 address)
    {
        shared_store16(address, vec4{thread, mutant, address, 7});
    }

    /* Copies this wave's half of a tile. */
    GROAT_DEVICE void copy_tile(u32 tile, u32 shared) const
    {
        for (int q = 0; q < copies; q++)
            vectors::copy(source, shared + wave * vectors::chunk_bytes, lane, q,
                          wave * vectors::chunk_bytes +
                              16 * vectors::vector_of(lane, q),
                          tile * tile_bytes);
    }

    /* Copies four bytes per lane, the same way on every arch. */
    GROAT_DEVICE void copy4(buffer from, u32 shared, u32 voffset,
                            u32 soffset) const
    {
        async_copy<4>(from, shared + wave * 256, lane, voffset, soffset);
    }

    GROAT_DEVICE void land() const
    {
        async_commit();
        async_wait<0, 0>();
    }

    GROAT_DEVICE void commit() const
    {
        if (!is(PROBE_NO_COMMIT))
            async_commit();
    }

    GROAT_DEVICE void wait(bool last) const
    {
        if (last) {
            if (!is(PROBE_NO_LAST_WAIT))
                async_wait<0, 0>();
        } else if (is(PROBE_SHORT_WAIT)) {
            async_wait<copies + 1, 2>();
        } else if (!is(PROBE_NO_WAIT)) {
            async_wait<copies, 1>();
        }
    }

    GROAT_DEVICE void pipeline()
    {
        copy_tile(0, 0);
        commit();
        for (u32 t = 0; t < tiles; t++) {
            if (t + 1 < tiles) {
                copy_tile(t + 1, (t + 1) % 2 * tile_bytes);
                commit();
            }
            wait(t + 1 == tiles);
            if (!is(PROBE_NO_BARRIER))
                block_barrier();
            add(shared_load16(t % 2 * tile_bytes + (thread ^ 64) * 16));
            shared_fence();
            if (!is(PROBE_NO_WAR_BARRIER))
                block_barrier();
        }
    }

    GROAT_DEVICE void stray_shared()
    {
        switch (mutant) {
        case PROBE_SHARED_LOAD_PAST:
            return add(shared_load16(GROAT_SHARED_BYTES));
        case PROBE_SHARED_STORE_PAST:
            return put(GROAT_SHARED_BYTES);
        case PROBE_SHARED_STORE_STRADDLES:
            return put(GROAT_SHARED_BYTES - 8);
        case PROBE_SHARED_STORE_WRAPS:
            return put(0xfffffff0u);
        case PROBE_SHARED_LOAD_MISALIGNED:
            return add(shared_load16(spare + 8));
        case PROBE_SHARED_STORE_MISALIGNED:
            return put(spare + 4);
        case PROBE_LOAD_UNWRITTEN:
            return add(shared_load16(spare + 16 * thread));
        default: /* PROBE_LOAD_LEFTOVER */
            if (block_index() == 0)
                return put(spare + 16 * thread);
            return add(shared_load16(spare + 16 * thread));
        }
    }

    GROAT_DEVICE void stray_global(const judge_probe_args &args)
    {
        u64 in = args.source;
        u64 out = args.output;

        switch (mutant) {
        case PROBE_GLOBAL_LOAD_PAST:
            return add(global_load16(in + args.source_bytes));
        case PROBE_GLOBAL_LOAD_STRADDLES:
            return add(global_load16(in + args.source_bytes - 8));
        case PROBE_GLOBAL_LOAD_BEFORE:
            return add(global_load16(in - 16));
        case PROBE_GLOBAL_LOAD_NULL:
            return add(global_load16(0));
        case PROBE_GLOBAL_LOAD_OFF_2:
            return add(global_load16(in + 2));
        case PROBE_GLOBAL_LOAD_OFF_8:
            return add(global_load16(in + 8));
        case PROBE_GLOBAL_STORE_PAST:
            return global_store16(out + args.output_bytes, sum);
        case PROBE_GLOBAL_STORE_BEFORE:
            return global_store16(out - 16, sum);
        default: /* PROBE_GLOBAL_STORE_OFF_2 */
            return global_store16(out + 2, sum);
        }
    }

    GROAT_DEVICE void stray_copy(const judge_probe_args &args)
    {
        buffer wider = make_buffer(args.source, args.source_bytes + 256);
        buffer earlier = make_buffer(args.source - 256, args.source_bytes);

        switch (mutant) {
        case PROBE_COPY_SOURCE_PAST:
            return copy4(wider, 0, 0, args.source_bytes);
        case PROBE_COPY_SOURCE_BEFORE:
            return copy4(earlier, 0, 4 * lane, 0);
        case PROBE_COPY_SOURCE_OFF_2:
            return copy4(source, 0, 4 * lane + 2, 0);
        case PROBE_COPY_SHARED_PAST:
            return copy4(source, GROAT_SHARED_BYTES, 4 * lane, 0);
        case PROBE_COPY_SHARED_OFF_2:
            return copy4(source, 2, 4 * lane, 0);
        case PROBE_COPY_OFFSET_WRAPS:
            return copy4(source, 0, 0xffffff00u, 0x200);
        case PROBE_COPY_TWO_BYTES:
            return async_copy<2>(source, wave * 512, lane, 8 * lane, 0);
        case PROBE_COPY_SIXTEEN_BYTES:
            async_copy<16>(source, wave * 1024, lane, 16 * lane, 0);
            return land();
        default: /* PROBE_COPY_WRONG_LANE */
            return async_copy<4>(source, wave * 256, lane ^ 1, 4 * lane, 0);
        }
    }

    GROAT_DEVICE void disagree(const judge_probe_args &args)
    {
        u32 odd = lane % 2; /* differs within a wave and within a warp */

        switch (mutant) {
        case PROBE_M0_VARIES:
            copy4(source, 1024 * odd, 4 * lane, 0);
            break;
        case PROBE_SOFFSET_VARIES:
            copy4(source, 0, 4 * lane, 4 * odd);
            break;
        case PROBE_BASE_VARIES:
            copy4(make_buffer(args.source + 4 * odd, 1024), 0, 4 * lane, 0);
            break;
        case PROBE_RECORDS_VARY:
            copy4(make_buffer(args.source, 1024 + odd), 0, 4 * lane, 0);
            break;
        case PROBE_UNIFORM_VARIES:
            sum.x += wave_uniform(odd);
            break;
        case PROBE_COPY_DIVERGES:
            if (odd == 0)
                copy4(source, 0, 4 * lane, 0);
            break;
        default: /* PROBE_END_DIVERGES */
            if (odd == 0)
                block_barrier();
            break;
        }
        land();
    }

    GROAT_DEVICE void miscount()
    {
        switch (mutant) {
        case PROBE_WAIT_64:
            return async_wait<64, 0>();
        case PROBE_WAIT_63:
            return async_wait<63, 0>();
        case PROBE_NO_FENCE:
            put(16 * thread);
            return block_barrier();
        case PROBE_ENDS_IN_FLIGHT:
            copy4(source, 0, 4 * lane, 0);
            return async_commit();
        default: /* PROBE_ENDS_UNCOMMITTED */
            copy4(source, 0, 4 * lane, 0);
            return async_wait<0, 0>();
        }
    }

    GROAT_DEVICE void fill()
    {
        put(16 * thread);
        shared_fence();
        block_barrier();
    }

    /* Both waves may read the filled bytes; one of them also breaks a rule. */
    GROAT_DEVICE void race_filled()
    {
        fill();
        switch (mutant) {
        case PROBE_FILLED_STORE_LOAD:
            if (wave == 0)
                put(16 * lane);
            else
                add(shared_load16(16 * lane));
            break;
        case PROBE_FILLED_LOAD_STORE:
            if (wave == 1)
                put(16 * lane);
            else
                add(shared_load16(16 * lane));
            break;
        case PROBE_FILLED_COPY_LOAD:
            if (wave == 0)
                copy4(source, 0, 4 * lane, 0);
            land();
            if (wave == 1)
                add(shared_load16(lane / 4 * 16));
            break;
        case PROBE_FILLED_LOAD_COPY:
            if (wave == 1)
                copy4(source, 0, 4 * lane, 0);
            else
                add(shared_load16(256 + lane / 4 * 16));
            land();
            break;
        default: /* PROBE_FILLED_LOADS_STORE */
            add(shared_load16(16 * lane));
            if (wave == 1)
                put(16 * lane);
            break;
        }
        shared_fence();
    }

    GROAT_DEVICE void race()
    {
        u32 own = 16 * thread;
        u32 other = 16 * (thread ^ 64);

        switch (mutant) {
        case PROBE_STORE_STORE:
            put(16 * lane);
            break;
        case PROBE_STORE_LOAD:
            put(own);
            shared_fence();
            add(shared_load16(other));
            break;
        case PROBE_LOAD_STORE:
            fill();
            add(shared_load16(other));
            put(own);
            break;
        case PROBE_STORE_COPY:
            put(own);
            shared_fence();
            copy4(source, 1024 - 512 * wave, 4 * lane, 0);
            land();
            break;
        default: /* PROBE_COPY_LOAD */
            copy4(source, 0, 4 * lane, 0);
            land();
            add(shared_load16((thread ^ 64) / 4 * 16));
            break;
        }
        shared_fence();
    }

    GROAT_DEVICE void share()
    {
        switch (mutant) {
        case PROBE_OWN_COPY_LOAD:
            copy_tile(0, 0);
            add(shared_load16(16 * thread));
            return;
        case PROBE_OWN_COPY_STORE:
            copy_tile(0, 0);
            return put(16 * thread);
        case PROBE_OWN_COPY_COPY:
            copy_tile(0, 0);
            return copy_tile(1, 0);
        case PROBE_LANES_STORE_LOAD:
            fill();
            put(16 * (thread ^ 5));
            shared_fence();
            return add(shared_load16(16 * thread));
        default: /* PROBE_LANES_COPY_LOAD */
            fill();
            copy_tile(0, 0);
            land();
            return add(shared_load16(16 * (thread ^ 5)));
        }
    }

    /* Indexes a row of four out of bounds by a value no compiler knows. */
    GROAT_DEVICE void stray_array()
    {
        u32 row[4] = {1, 2, 3, 4};

        if (is(PROBE_ARRAY_LOAD_PAST))
            sum.x += row[thread + 4];
        else
            row[static_cast<int>(thread) - 1] = mutant;
        sum.y += row[lane % 4];
    }

    GROAT_DEVICE void run(const judge_probe_args &args)
    {
        if (mutant <= PROBE_NO_COMMIT)
            pipeline();
        else if (mutant <= PROBE_LOAD_LEFTOVER)
            stray_shared();
        else if (mutant <= PROBE_GLOBAL_STORE_OFF_2)
            stray_global(args);
        else if (mutant <= PROBE_COPY_WRONG_LANE)
            stray_copy(args);
        else if (mutant <= PROBE_END_DIVERGES)
            disagree(args);
        else if (mutant <= PROBE_ENDS_UNCOMMITTED)
            miscount();
        else if (mutant <= PROBE_COPY_LOAD)
            race();
        else if (mutant <= PROBE_FILLED_LOADS_STORE)
            race_filled();
        else if (mutant <= PROBE_LANES_COPY_LOAD)
            share();
        else
            stray_array();
        shared_fence();
        global_store16(args.output + 16ull * (block_index() * 128 + thread),
                       sum);
    }
};

} // namespace judge_probe
} // namespace groat

GROAT_KERNEL(judge_probe_args)
{
    groat::judge_probe::probe p(args);

    p.run(args);
}
