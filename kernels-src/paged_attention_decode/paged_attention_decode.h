// SPDX-License-Identifier: Apache-2.0
// Decode attention over a paged KV cache in one launch.  The tiles of all
// sequences and KV heads stand in a row, which blocks share out evenly by
// lengths that they read themselves; a block that has but a part of a sequence
// leaves its sums in the workspace, and the last one to do so adds them up.
//
// A warp has every fourth (warps) 16 keys of its block's tiles, in a ring of
// its own that nobody else touches and that never runs dry between sequences:
// keys and values come by 16-byte copies, the queries are one operand of
// mma.m16n8k16, and scores go from one product into the next in registers.
#include "params.h"

#include "../common/atomics.h"
#include "../common/convert.h"
#include "../common/math.h"
#include "../common/mma_sync.h"
#include "../common/tma.h"
#include "args.h"

namespace groat
{
namespace paged_attention_decode
{

using namespace params;

typedef paged_attention_decode_args launch_args;

constexpr mma_number number = dtype == dtype_f16 ? mma_f16 : mma_bf16;
constexpr u32 threads = GROAT_BLOCK_THREADS;
constexpr u32 keys_of_slot = 16;
constexpr u32 pieces = row_bytes / 16; // of a row
constexpr u32 depth = head_dim / 16;   // steps of a product over a head
constexpr u32 copies = keys_of_slot * pieces / 32;
constexpr float log2e = 1.4426950408889634f;
constexpr float nothing = -1e30f; // a score that nothing comes of
constexpr bool one_page = page_size % static_cast<int>(keys_of_slot) == 0;

// What a row's pieces are XORed with, so that 8 rows lie on all banks.
GROAT_DEVICE u32 mixed(u32 row, u32 piece)
{
    if constexpr (pieces % 8 == 0)
        return piece ^ (row & 7u);
    return piece;
}

GROAT_DEVICE u32 divided_up(u32 a, u32 b)
{
    return (a + b - 1) / b;
}

GROAT_DEVICE u32 least_of(u32 a, u32 b)
{
    return a < b ? a : b;
}

GROAT_DEVICE u64 shuffled(u64 x, u32 lane)
{
    return static_cast<u64>(wave_shuffle(static_cast<u32>(x), lane)) |
           static_cast<u64>(wave_shuffle(static_cast<u32>(x >> 32), lane))
               << 32;
}

// ---- who does what

// Keys of a sequence, which are none behind the last one.
GROAT_DEVICE u32 length_of(const launch_args &args, u32 sequence)
{
    return sequence < args.sequences
               ? global_load4(args.lengths + sequence * 4ull)
               : 0;
}

// Tiles of a sequence and KV head; one without keys has one, that writes zeros.
GROAT_DEVICE u32 tiles_of(u32 length)
{
    return length == 0 ? 1u : divided_up(length, tile_keys);
}

// The sum of a lane's value and those of the lanes before.
GROAT_DEVICE u32 summed_up(u32 x)
{
    const u32 lane = lane_index();

    GROAT_UNROLL
    for (u32 by = 1; by < 32; by *= 2) {
        const u32 other = wave_shuffle_up(x, by);

        x += lane >= by ? other : 0;
    }
    return x;
}

// A sequence, and where its tiles begin.
struct place {
    u32 sequence;
    u32 length;
    u32 first; // tile of its KV head 0
};

// The tiles of 128 sequences from `from` on, four to a lane.
struct census {
    static constexpr u32 each = 4;
    u32 from;
    u32 length[each];
    u32 mine, up_to; // tiles of the lane's, and with those of lanes before

    GROAT_DEVICE census(const launch_args &args, u32 begin)
        : from(begin + lane_index() * each), mine(0)
    {
        GROAT_UNROLL
        for (u32 i = 0; i < each; i++)
            length[i] = length_of(args, from + i);
        GROAT_UNROLL
        for (u32 i = 0; i < each; i++)
            mine += tiles_at(args, i);
        up_to = summed_up(mine);
    }

    GROAT_DEVICE u32 tiles_at(const launch_args &args, u32 i) const
    {
        return from + i < args.sequences ? tiles_of(length[i]) * args.kv_heads
                                         : 0;
    }

    GROAT_DEVICE u32 all() const
    {
        return wave_shuffle(up_to, 31);
    }

    // The place of tile `wanted`, which is one of these.
    GROAT_DEVICE place find(const launch_args &args, u32 wanted) const
    {
        const u64 here = wave_ballot(wanted >= up_to);
        u32 lane = 0; // as many lanes' tiles lie before it
        u32 first = up_to - mine;
        place at = {from, length[0], first};

        GROAT_UNROLL
        for (u32 bit = 16; bit > 0; bit /= 2)
            if ((here >> (lane + bit - 1) & 1) != 0)
                lane += bit;
        GROAT_UNROLL
        for (u32 i = 1; i < each; i++) {
            first += tiles_at(args, i - 1);
            if (wanted >= first && from + i < args.sequences)
                at = place{from + i, length[i], first};
        }
        return place{wave_shuffle(at.sequence, lane),
                     wave_shuffle(at.length, lane),
                     wave_shuffle(at.first, lane)};
    }
};

constexpr u32 counted = 32 * census::each;

// All tiles of sequences from `from` on.
GROAT_DEVICE u32 count_from(const launch_args &args, u32 from)
{
    u32 tiles = 0;

    GROAT_ROLLED
    for (; from < args.sequences; from += counted)
        tiles += census(args, from).all();
    return tiles;
}

// The place of a tile.
GROAT_DEVICE place find(const launch_args &args, const census &first,
                        u32 wanted)
{
    u32 before = first.all();
    u32 from = counted;

    if (wanted < before)
        return first.find(args, wanted);
    GROAT_ROLLED
    for (;; from += counted) {
        const census next(args, from);

        if (wanted - before < next.all()) {
            place at = next.find(args, wanted - before);

            at.first += before;
            return at;
        }
        before += next.all();
    }
}

// Blocks to which whole sequences and heads fall where these are equally long,
// if that leaves few idle: parts cost more than some blocks do.
GROAT_DEVICE u32 even_blocks(u32 blocks, u32 heads)
{
    const u32 even = heads <= blocks ? blocks - blocks % heads
                                     : heads / divided_up(heads, blocks);

    return 16ull * even >= 15ull * blocks ? even : blocks;
}

// How tiles are shared out: the first `more` blocks have one more than `each`.
struct share {
    u32 each, more;

    GROAT_DEVICE share(u32 tiles, u32 blocks)
        : each(tiles / blocks), more(tiles % blocks)
    {
    }
    GROAT_DEVICE u32 begin(u32 block) const
    {
        return block * each + least_of(block, more);
    }
    GROAT_DEVICE u32 block_of(u32 tile) const
    {
        const u32 of_more = more * (each + 1);

        return tile < of_more ? tile / (each + 1)
                              : more + (tile - of_more) / each;
    }
};

// A block's part of one sequence and KV head.
struct segment {
    u32 sequence;
    u32 head;
    u32 length;            // keys of the sequence
    u32 first, keys;       // keys [first, keys) are the block's
    u32 begins, ends;      // the tiles of the sequence and head, [begins, ends)
    bool starts, finishes; // its first tile is the block's, its last one
};

// Goes through a block's segments.
struct walk {
    place at;
    u32 tile, end; // tiles [tile, end) are to come

    GROAT_DEVICE bool is_over() const
    {
        return tile >= end;
    }

    GROAT_DEVICE segment next(const launch_args &args)
    {
        const u32 tiles = tiles_of(at.length);
        segment seg;

        seg.sequence = at.sequence;
        seg.length = at.length;
        seg.head = (tile - at.first) / tiles;
        seg.begins = at.first + seg.head * tiles;
        seg.ends = seg.begins + tiles;
        seg.starts = tile == seg.begins;
        seg.finishes = seg.ends <= end;
        seg.first = (tile - seg.begins) * tile_keys;
        tile = seg.finishes ? seg.ends : end;
        seg.keys = least_of((tile - seg.begins) * tile_keys, at.length);
        if (seg.head + 1 == args.kv_heads && seg.finishes)
            at = place{at.sequence + 1, length_of(args, at.sequence + 1),
                       seg.ends};
        return seg;
    }
};

// ---- a warp's keys and values

GROAT_DEVICE u32 first_key(const segment &seg)
{
    return seg.first + warp_index() * keys_of_slot;
}

// Steps of this warp in a segment.
GROAT_DEVICE u32 steps_of(const segment &seg)
{
    const u32 first = first_key(seg);

    return seg.keys > first ? divided_up(seg.keys - first, tile_keys) : 0;
}

// Copies what its warp reads, some steps ahead of it and from segment to
// segment.
struct producer {
    walk ahead;
    u32 step, steps; // of the segment, done and in all
    u32 key, end;    // to come, and of the segment
    u32 count;       // of steps that were copied
    u32 groups;      // of copies, those of nothing too
    u64 k, v;        // of the KV head in block 0
    u64 table;       // of the sequence
    u32 last;        // key of the sequence
    u32 entry;       // of the table, for the keys to come

    GROAT_DEVICE u32 slot(u32 step_of_ring) const
    {
        return shared_base() + warp_index() * stages * slot_bytes +
               step_of_ring % stages * slot_bytes;
    }

    // Asks for the entry of the lane's key to come, which may be past the end.
    GROAT_DEVICE void ask()
    {
        const u32 mine = one_page ? key : key + lane_index() % keys_of_slot;

        if (step < steps)
            entry =
                global_load4(table + least_of(mine, last) / page_size * 4ull);
    }

    // Goes to the next segment in which this warp has keys.
    GROAT_DEVICE void enter(const launch_args &args)
    {
        GROAT_ROLLED
        while (step == steps && !ahead.is_over()) {
            const segment seg = ahead.next(args);

            step = 0;
            steps = steps_of(seg);
            key = first_key(seg);
            end = seg.keys;
            last = seg.length - 1;
            k = args.k + seg.head * args.head_bytes;
            v = args.v + seg.head * args.head_bytes;
            table = args.page_table +
                    static_cast<u64>(seg.sequence) * args.pitch * 4;
        }
        ask();
    }

    GROAT_DEVICE producer(const launch_args &args, const walk &from)
        : ahead(from), step(0), steps(0), key(0), end(0), count(0), groups(0),
          k(0), v(0), table(0), last(0), entry(0)
    {
        enter(args);
    }

    // Copies 16 keys and values; of those past the end, zeros.
    GROAT_DEVICE void copy(const launch_args &args) const
    {
        const u32 lane = lane_index();
        const u32 to = slot(count);
        const u32 in_page =
            (one_page ? key : key + lane % keys_of_slot) % page_size;
        const u64 row = entry * args.block_bytes + in_page * args.token_bytes;

        GROAT_UNROLL
        for (u32 j = 0; j < copies; j++) {
            const u32 at = j * 32 + lane;
            const u32 mine = at / pieces;
            const u64 from = (one_page ? row + mine * args.token_bytes
                                       : shuffled(row, mine)) +
                             mixed(mine, at % pieces) * 16;
            const bool there = key + mine < end;

            async_copy<16>(make_buffer(there ? k + from : k, there ? 16 : 0),
                           to + j * 512, lane, 0, 0);
            async_copy<16>(make_buffer(there ? v + from : v, there ? 16 : 0),
                           to + slot_bytes / 2 + j * 512, lane, 0, 0);
        }
    }

    // One step, or none where there is none left; a group of copies either way.
    GROAT_DEVICE void produce(const launch_args &args)
    {
        if (step < steps) {
            copy(args);
            step++;
            count++;
            key += tile_keys;
            if (step == steps)
                enter(args);
            else
                ask();
        }
        async_commit();
        groups++;
    }
};

// ---- products

// The queries of a KV head as the first operand.
struct queries {
    vec4 word[depth];

    // Of [sequences, q_len, heads].
    static GROAT_DEVICE u64 row_of(const launch_args &args, const segment &seg,
                                   u32 row)
    {
        return (static_cast<u64>(seg.sequence) * q_len + row / group) *
                   (args.kv_heads * group) +
               seg.head * group + row % group;
    }

    GROAT_DEVICE void load(const launch_args &args, const segment &seg)
    {
        const u32 t = lane_index() % 4;
        u32 part[depth][2][2];

        GROAT_UNROLL
        for (u32 r = 0; r < 2; r++) {
            const u32 row = lane_index() / 4 + 8 * r;
            const u64 from =
                args.q + row_of(args, seg, row) * row_bytes + t * 4;

            GROAT_UNROLL
            for (u32 k = 0; k < depth; k++) {
                part[k][0][r] = row < rows ? global_load4(from + k * 32) : 0;
                part[k][1][r] =
                    row < rows ? global_load4(from + k * 32 + 16) : 0;
            }
        }
        GROAT_UNROLL
        for (u32 k = 0; k < depth; k++)
            word[k] = vec4{part[k][0][0], part[k][0][1], part[k][1][0],
                           part[k][1][1]};
    }
};

// A warp's sums over its keys.
struct sums {
    float value[2 * depth][4]; // columns 8 j and up of rows lane / 4 and + 8
    float most[2];             // of the rows' scores, times log2 e
    float sum[2];              // of this lane's weights

    GROAT_DEVICE void clear()
    {
        GROAT_UNROLL
        for (u32 j = 0; j < 2 * depth; j++)
            GROAT_UNROLL
        for (u32 i = 0; i < 4; i++)
            value[j][i] = 0;
        GROAT_UNROLL
        for (u32 i = 0; i < 2; i++) {
            most[i] = nothing;
            sum[i] = 0;
        }
    }
};

// Over the four lanes of a row.
template <typename op> GROAT_DEVICE float over_row(float x)
{
    x = op::of(x, bits_float(wave_shuffle_xor(float_bits(x), 1)));
    return op::of(x, bits_float(wave_shuffle_xor(float_bits(x), 2)));
}

GROAT_DEVICE float bent(const launch_args &args, float score)
{
    if constexpr (soft_cap)
        return args.cap * tanh(score * args.scale / args.cap) * log2e;
    return score * (args.scale * log2e);
}

// Whether the query of a row sees a key.
GROAT_DEVICE bool sees(const launch_args &args, u32 length, u32 row, u32 key)
{
    // Behind its last key; of a sequence of fewer keys than queries below 1.
    const i64 own = static_cast<i64>(length) + row / group + 1 - q_len;

    if constexpr (window)
        if (static_cast<i64>(key) + args.seen < own)
            return false;
    return key < own && key < length;
}

GROAT_DEVICE void score(const queries &q, u32 slot, float (&s)[2][4])
{
    const u32 lane = lane_index();
    const u32 key = lane / 16 * 8 + lane % 8;

    GROAT_UNROLL
    for (u32 n = 0; n < 2; n++)
        GROAT_UNROLL
    for (u32 i = 0; i < 4; i++)
        s[n][i] = 0;
    GROAT_UNROLL
    for (u32 k = 0; k < depth; k++) {
        const vec4 b = matrix_load(slot + key * row_bytes +
                                   16 * mixed(key, 2 * k + lane / 8 % 2));

        mma_16x8<number>(s[0], q.word[k], vec2{b.x, b.y});
        mma_16x8<number>(s[1], q.word[k], vec2{b.z, b.w});
    }
}

// Scores become weights; what was summed so far is scaled to the new maximum.
GROAT_DEVICE void weigh(const launch_args &args, u32 length, u32 first,
                        float (&s)[2][4], sums &o)
{
    const u32 t = lane_index() % 4;
    float factor[2];

    GROAT_UNROLL
    for (u32 i = 0; i < 2; i++) {
        const u32 row = lane_index() / 4 + 8 * i;
        float most = o.most[i];

        GROAT_UNROLL
        for (u32 n = 0; n < 2; n++)
            GROAT_UNROLL
        for (u32 c = 0; c < 2; c++) {
            float &x = s[n][2 * i + c];

            x = sees(args, length, row, first + 8 * n + 2 * t + c)
                    ? bent(args, x)
                    : nothing;
            most = fmax(most, x);
        }
        most = over_row<max_floats>(most);
        factor[i] = exp2(o.most[i] - most);
        o.most[i] = most;
        o.sum[i] *= factor[i];
        GROAT_UNROLL
        for (u32 n = 0; n < 2; n++)
            GROAT_UNROLL
        for (u32 c = 0; c < 2; c++) {
            float &x = s[n][2 * i + c];

            x = x == nothing ? 0 : exp2(x - most);
            o.sum[i] += x;
        }
    }
    if (wave_any(factor[0] != 1 || factor[1] != 1)) {
        GROAT_UNROLL
        for (u32 j = 0; j < 2 * depth; j++)
            GROAT_UNROLL
        for (u32 i = 0; i < 4; i++)
            o.value[j][i] *= factor[i / 2];
    }
}

GROAT_DEVICE void add_values(const float (&s)[2][4], u32 slot, sums &o)
{
    const u32 lane = lane_index();
    const u32 key = lane / 8 % 2 * 8 + lane % 8;
    const vec4 a = {pack_operand<number>(s[0][0], s[0][1]),
                    pack_operand<number>(s[0][2], s[0][3]),
                    pack_operand<number>(s[1][0], s[1][1]),
                    pack_operand<number>(s[1][2], s[1][3])};

    GROAT_UNROLL
    for (u32 j = 0; j < depth; j++) {
        const vec4 b =
            matrix_load_transposed(slot + slot_bytes / 2 + key * row_bytes +
                                   16 * mixed(key, 2 * j + lane / 16));

        mma_16x8<number>(o.value[2 * j], a, vec2{b.x, b.y});
        mma_16x8<number>(o.value[2 * j + 1], a, vec2{b.z, b.w});
    }
}

// ---- sums of warps and of blocks

// Sums lie as rows of head_dim floats, behind them a maximum and a sum of
// weights for each row.
constexpr u32 facts_at = kept_rows * head_dim * 4;
constexpr u32 quads = head_dim / 4; // columns, four at a time

GROAT_DEVICE u32 sums_at(u32 warp)
{
    return shared_base() + ring_bytes + warp * sums_bytes;
}

GROAT_DEVICE void lay_down(const sums &o)
{
    const u32 to = sums_at(warp_index());
    const u32 g = lane_index() / 4;
    const u32 t = lane_index() % 4;

    GROAT_UNROLL
    for (u32 i = 0; i < kept_rows / 8; i++) {
        const u32 row = g + 8 * i;
        const float sum = over_row<add_floats>(o.sum[i]);

        GROAT_UNROLL
        for (u32 j = 0; j < 2 * depth; j++)
            shared_store8(to + (row * head_dim + 8 * j + 2 * t) * 4,
                          vec2{float_bits(o.value[j][2 * i]),
                               float_bits(o.value[j][2 * i + 1])});
        if (t == 0)
            shared_store8(to + facts_at + row * 8,
                          vec2{float_bits(o.most[i]), float_bits(sum)});
    }
}

// What some parts come to, of four columns of a row.
struct merged {
    float most, sum;
    float value[4];

    GROAT_DEVICE merged() : most(nothing), sum(0), value{0, 0, 0, 0}
    {
    }

    // Adds up to `some` parts at once; those of no weight may hold anything.
    template <u32 some>
    GROAT_DEVICE void add(const vec2 (&facts)[some], const vec4 (&values)[some])
    {
        float top = most;
        float mine;

        GROAT_UNROLL
        for (u32 p = 0; p < some; p++)
            top = fmax(top, bits_float(facts[p].x));
        mine = exp2(most - top);
        most = top;
        sum *= mine;
        GROAT_UNROLL
        for (u32 i = 0; i < 4; i++)
            value[i] *= mine;
        GROAT_UNROLL
        for (u32 p = 0; p < some; p++) {
            const float weight = bits_float(facts[p].y) == 0
                                     ? 0
                                     : exp2(bits_float(facts[p].x) - top);

            sum += weight * bits_float(facts[p].y);
            value[0] += weight == 0 ? 0 : weight * bits_float(values[p].x);
            value[1] += weight == 0 ? 0 : weight * bits_float(values[p].y);
            value[2] += weight == 0 ? 0 : weight * bits_float(values[p].z);
            value[3] += weight == 0 ? 0 : weight * bits_float(values[p].w);
        }
    }
};

// The final numbers of four columns of a row.
GROAT_DEVICE void write_out(const launch_args &args, const segment &seg,
                            u32 row, u32 column, merged m)
{
    const u64 at = queries::row_of(args, seg, row);

    if constexpr (sink) {
        const vec2 one[1] = {
            {float_bits(
                 bits_float(global_load4(
                     args.sinks + (seg.head * group + row % group) * 4ull)) *
                 log2e),
             float_bits(1)}};
        const vec4 none[1] = {{0, 0, 0, 0}};

        m.add(one, none);
    }
    const float share = m.sum > 0 ? rcp(m.sum) : 0;

    global_store8(args.output + at * row_bytes + column * 2,
                  vec2{pack16<number>(m.value[0] * share, m.value[1] * share),
                       pack16<number>(m.value[2] * share, m.value[3] * share)});
    if constexpr (lse)
        if (column == 0)
            global_store4(args.lse + at * 4,
                          m.sum > 0 ? float_bits(m.most + log2(m.sum))
                                    : 0xff800000u);
}

GROAT_DEVICE merged of_warps(u32 row, u32 column)
{
    vec2 facts[warps];
    vec4 values[warps];
    merged m;

    GROAT_UNROLL
    for (u32 w = 0; w < warps; w++) {
        facts[w] = shared_load8(sums_at(w) + facts_at + row * 8);
        values[w] = shared_load16(sums_at(w) + (row * head_dim + column) * 4);
    }
    m.add(facts, values);
    return m;
}

// Of a block: of the sequence that it begins with in the middle, or of that
// which it starts.
GROAT_DEVICE u64 part_at(const launch_args &args, u32 block, bool starts)
{
    return args.parts + (2ull * block + starts) * sums_bytes;
}

// Adds up what blocks [first, last] left of a sequence and head, in their
// order.
GROAT_DEVICE void combine(const launch_args &args, const segment &seg,
                          u32 first, u32 last)
{
    constexpr u32 some = 16;

    GROAT_ROLLED
    for (u32 i = thread_index(); i < rows * quads; i += threads) {
        const u32 row = i / quads;
        const u32 column = i % quads * 4;
        merged m;

        GROAT_ROLLED
        for (u32 block = first; block <= last; block += some) {
            vec2 facts[some];
            vec4 values[some];

            GROAT_UNROLL
            for (u32 p = 0; p < some; p++) {
                const u64 from = part_at(args, least_of(block + p, last),
                                         block + p == first);

                facts[p] = global_load8(from + facts_at + row * 8);
                values[p] = global_load16(from + (row * head_dim + column) * 4);
            }
            GROAT_UNROLL
            for (u32 p = 1; p < some; p++)
                if (block + p > last)
                    facts[p] = vec2{float_bits(nothing), 0};
            m.add(facts, values);
        }
        write_out(args, seg, row, column, m);
    }
}

// True in all threads of the block that is the last of `parts` to leave a part.
GROAT_DEVICE bool is_last(const launch_args &args, const segment &seg,
                          u32 parts)
{
    const u32 flag = shared_base() + used_bytes - 16;
    const u64 counter =
        args.counters +
        (static_cast<u64>(seg.sequence) * args.kv_heads + seg.head) * 4;

    block_barrier();
    if (thread_index() == 0) {
        device_fence();
        const u32 before = global_atomic<atomic_add>(counter, 1);

        if (before == parts - 1)
            global_store4(counter, 0);
        shared_store4(flag, before == parts - 1);
        device_fence();
    }
    block_barrier();
    return shared_load4(flag) != 0;
}

GROAT_DEVICE void end_segment(const launch_args &args, const segment &seg,
                              const share &shared)
{
    const bool whole = seg.starts && seg.finishes;
    const u64 to = part_at(args, block_index(), seg.starts);

    for (u32 i = thread_index(); i < rows * quads; i += threads) {
        const u32 row = i / quads;
        const u32 column = i % quads * 4;
        const merged m = of_warps(row, column);

        if (whole) {
            write_out(args, seg, row, column, m);
            continue;
        }
        global_store16(to + (row * head_dim + column) * 4,
                       vec4{float_bits(m.value[0]), float_bits(m.value[1]),
                            float_bits(m.value[2]), float_bits(m.value[3])});
        if (column == 0)
            global_store8(to + facts_at + row * 8,
                          vec2{float_bits(m.most), float_bits(m.sum)});
    }
    if (!whole) {
        const u32 first = shared.block_of(seg.begins);
        const u32 last = shared.block_of(seg.ends - 1);

        if (is_last(args, seg, last - first + 1))
            combine(args, seg, first, last);
    }
}

// ---- a block

// A warp's sums over its keys of a segment; count is of the steps that it read.
GROAT_DEVICE void read_segment(const launch_args &args, const segment &seg,
                               const queries &q, producer &copied, u32 &count,
                               sums &o)
{
    const u32 steps = steps_of(seg);
    u32 key = first_key(seg);

    o.clear();
    GROAT_ROLLED
    for (u32 n = 0; n < steps;) {
        const bool reads = copied.groups >= count + stages - 1;
        const u32 slot = copied.slot(count);
        float s[2][4];

        // The lanes' copies are there, and the last slot is read.
        if (reads) {
            async_wait<stages - 2, stages - 2>();
            warp_barrier();
        }
        copied.produce(args);
        // The first slots are filled before any is read.
        if (!reads)
            continue;
        score(q, slot, s);
        weigh(args, seg.length, key, s, o);
        add_values(s, slot, o);
        n++;
        count++;
        key += tile_keys;
    }
}

GROAT_DEVICE void run(const launch_args &args)
{
    if (args.sequences == 0)
        return;
    const census some(args, 0);
    const u32 tiles = some.all() + count_from(args, counted);
    const u32 blocks =
        least_of(divided_up(tiles, args.least),
                 even_blocks(args.blocks, args.sequences * args.kv_heads));

    if (block_index() >= blocks)
        return;
    const share shared(tiles, blocks);
    walk ahead;

    ahead.tile = shared.begin(block_index());
    ahead.end = shared.begin(block_index() + 1);
    ahead.at = find(args, some, ahead.tile);
    producer copied(args, ahead);
    queries q;
    segment seg = ahead.next(args);
    u32 count = 0;

    q.load(args, seg);
    GROAT_ROLLED
    for (;;) {
        const segment done = seg;
        const bool over = ahead.is_over();
        sums o;

        read_segment(args, done, q, copied, count, o);
        if (!over) {
            seg = ahead.next(args);
            q.load(args, seg);
        }
        block_barrier(); // the sums of the segment before are read
        lay_down(o);
        block_barrier();
        end_segment(args, done, shared);
        if (over)
            break;
    }
    async_wait<0, 0>();
}

} // namespace paged_attention_decode
} // namespace groat

GROAT_KERNEL(paged_attention_decode_args)
{
    groat::paged_attention_decode::run(args);
}
