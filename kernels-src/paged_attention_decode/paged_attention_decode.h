// SPDX-License-Identifier: Apache-2.0
// Decode attention over a KV cache in one launch.  The units of keys of all
// sequences form one row, which sets of blocks, one block for each strip,
// divide evenly by lengths that they read themselves.  A block that has only a
// part of a strip leaves its sums in the workspace (split-KV); the last one to
// do so adds them up.
// With `split` all parts have one size, so any batch gives the same sums.  With
// `cluster` each strip has a cluster of blocks, which share out its units and
// add up their sums in each other's shared memory.
//
// The queries of a KV head are cut into bands of 8 or 16 rows, which is what a
// warp has.  A strip is the bands whose warps read the same keys; each strip
// reads them again.  With wide heads two warps have a band, and each a slice,
// half, of the columns of values.  The warps of a strip are a team.
//
// A team has every rings-th slot of keys of its block's tiles, in a ring of its
// own that is not drained between sequences.  Keys and values come by 16-byte
// copies, of which each warp of the team makes some.  Keys, and columns of
// values, are the rows of mma.m16n8k16 and queries its columns.  Scores go from
// one product into the next in registers.
#include "params.h"

#include "../common/atomics.h"
#include "../common/convert.h"
#include "../common/math.h"
#include "../common/mma_sync.h"
#include "../common/tma.h"
#include "args.h"
#include "ring.h"
#include "score.h"
#include "work.h"

namespace groat
{
namespace paged_attention_decode
{

constexpr bool narrow = kv_dtype == kv_dtype_e4m3;
constexpr mma_number number = dtype == dtype_f16 ? mma_f16 : mma_bf16;
// The type of products; e4m3 becomes f16 numbers, 256 times too small.
constexpr mma_number operand = narrow ? mma_f16 : number;
constexpr float too_small = narrow ? 256.0f : 1.0f;
// What scores are multiplied by in front of an expression, which multiplies by
// log2 e itself.
constexpr float score_unit = has_score != 0 ? 1.0f : log2e;
constexpr u32 threads = GROAT_BLOCK_THREADS;
constexpr u32 product_keys = 16; // rows of a product
constexpr u32 products = slot_keys / product_keys; // of a slot
constexpr u32 columns = kept_rows / 8; // of 8 queries each
constexpr u32 depth = head_dim / 16;   // steps of a product over a head
constexpr u32 wide = slice_dim / 16;   // products over a slice's columns
constexpr u32 slice_pieces = value_pieces / slices;

// ---- products

// Widens four e4m3 numbers to two pairs of f16 numbers, 256 times too small:
// the first and third, the second and fourth.  A NaN widens like 480.
GROAT_DEVICE vec2 widened(u32 x)
{
    return vec2{(x << 8 & 0x80008000u) | (x << 7 & 0x3f803f80u),
                (x & 0x80008000u) | (x >> 1 & 0x3f803f80u)};
}

// Converts two 16-bit numbers of the queries to the operand's type.
GROAT_DEVICE u32 as_operand(u32 low, u32 high)
{
    if constexpr (operand != number)
        return pack_operand<operand>(bf16_value(low), bf16_value(high));
    return low | high << 16;
}

// A warp's queries as the second operand, and the keys that they see.
struct queries {
    vec2 word[columns][depth];
    int first[columns][2], end[columns][2]; // keys that the lane's queries see
    u32 bits[columns][2];                   // of tree
    int own[columns][2]; // of tree: else `end` tells it, in fewer registers
    float slope[columns][2];                // of alibi, times score_unit
    int head[columns][2], sequence;         // for an expression
    float scale; // of scores; with a cap 2 log2 e / cap times that
    int all_first, all_end;                 // keys that all queries see

    // Row of a query in [sequences, q_len, heads].
    static GROAT_DEVICE u64 row_of(const launch_args &args, const segment &seg,
                                   u32 row)
    {
        return (static_cast<u64>(seg.sequence) * q_len + row / group) *
                   (args.kv_heads * group) +
               seg.head * group + row % group;
    }

    // Loads the words of a row for 16 numbers of the head.
    static GROAT_DEVICE vec2 words(u64 row, u32 k)
    {
        const u32 t = lane_index() % 4;

        if constexpr (narrow) {
            const vec2 x = global_load8(row + k * 32 + t * 8);

            return vec2{as_operand(x.x & 0xffffu, x.y & 0xffffu),
                        as_operand(x.x >> 16, x.y >> 16)};
        }
        return vec2{global_load4(row + k * 32 + t * 4),
                    global_load4(row + k * 32 + t * 4 + 16)};
    }

    // Loads the mask and bias of the query of a row.
    GROAT_DEVICE void load_sight(const launch_args &args, const segment &seg,
                                 u32 n, u32 j)
    {
        const u32 row = first_row(seg) + 8 * n + 2 * (lane_index() % 4) + j;
        const sight seen(args, seg.length, row);

        first[n][j] = seen.first;
        end[n][j] = seen.end;
        bits[n][j] = 0;
        own[n][j] = seen.own;
        slope[n][j] = 0;
        head[n][j] = static_cast<int>(seg.head * group + row % group);
        if constexpr (tree)
            if (row < rows)
                bits[n][j] = global_load4(
                    args.tree + (seg.sequence * q_len + row / group) * 4ull);
        if constexpr (alibi)
            if (row < rows)
                slope[n][j] = bits_float(global_load4(
                                  args.slopes +
                                  (seg.head * group + row % group) * 4ull)) *
                              score_unit;
    }

    GROAT_DEVICE void load(const launch_args &args, const segment &seg)
    {
        const u32 last = least_of(first_row(seg) + warp_rows, rows) - 1;

        GROAT_UNROLL
        for (u32 n = 0; n < columns; n++) {
            const u32 row = first_row(seg) + lane_index() / 4 + 8 * n;
            const u64 from = args.q + row_of(args, seg, row) * q_bytes;

            GROAT_UNROLL
            for (u32 k = 0; k < depth; k++)
                word[n][k] = row < rows ? words(from, k) : vec2{0, 0};
            load_sight(args, seg, n, 0);
            load_sight(args, seg, n, 1);
        }
        all_first = sight(args, seg.length, last).first;
        all_end =
            sight(args, seg.length, first_row(seg)).end - (tree ? q_len : 0);
        sequence = static_cast<int>(seg.sequence);
        scale = args.scale;
        if constexpr (narrow && kv_scale == kv_scale_tensor)
            scale *= args.k_scale;
        if constexpr (kv_scale == kv_scale_head)
            scale *= bits_float(global_load4(args.k_scales + seg.head * 4ull));
        scale *= too_small;
        if constexpr (soft_cap)
            scale = scale / args.cap * (2 * log2e);
    }
};

// Scores of a slot's keys for a warp's queries: number p of a lane is of key
// lane / 4 + 8 (p / 2) of 16 and of query 2 (lane % 4) + p % 2 of 8.
typedef float scores[products][columns][4];

// A warp's sums over its keys.  Number p of a lane is of column lane / 4 + 8 (p
// / 2) of 16, for narrow values 2 (lane / 4) + p / 2, and of a query as above.
struct sums {
    float value[wide][columns][4];
    float most[columns][2]; // maximum of a query's scores, times log2 e
    float sum[columns][2];  // sum of this lane's weights

    GROAT_DEVICE void clear()
    {
        GROAT_UNROLL
        for (u32 n = 0; n < columns; n++) {
            GROAT_UNROLL
            for (u32 j = 0; j < wide; j++)
                GROAT_UNROLL
            for (u32 p = 0; p < 4; p++)
                value[j][n][p] = 0;
            GROAT_UNROLL
            for (u32 j = 0; j < 2; j++) {
                most[n][j] = nothing;
                sum[n][j] = 0;
            }
        }
    }
};

// Reduces over the eight lanes that share a query.
template <typename op> GROAT_DEVICE float over_keys(float x)
{
    x = op::of(x, bits_float(wave_shuffle_xor(float_bits(x), 4)));
    x = op::of(x, bits_float(wave_shuffle_xor(float_bits(x), 8)));
    return op::of(x, bits_float(wave_shuffle_xor(float_bits(x), 16)));
}

// tanh(x), to some 2^-22, of 2 log2 e x: 1 - 2 / (e^2x + 1).
GROAT_DEVICE float capped(float x)
{
    return 1 - 2 * exp2(-log2(exp2(x) + 1));
}

// Scales and caps a score, and multiplies it by score_unit.
GROAT_DEVICE float bent(const launch_args &args, float score, float scale)
{
    if constexpr (soft_cap)
        return args.cap * score_unit * capped(score * scale);
    return score * (scale * score_unit);
}

GROAT_DEVICE bool sees(const queries &q, u32 length, u32 n, u32 j, u32 key)
{
    const int at = static_cast<int>(key);

    if (at < q.first[n][j] || at >= q.end[n][j] || key >= length)
        return false;
    if constexpr (tree)
        if (key + q_len >= length)
            return (q.bits[n][j] >> (key + q_len - length) & 1) != 0;
    return true;
}

// The scores of 16 keys, the slot's from `first` on.
GROAT_DEVICE void score(const queries &q, u32 slot, u32 first,
                        float (&s)[columns][4])
{
    const u32 lane = lane_index();
    const u32 key = first + lane % 16;

    GROAT_UNROLL
    for (u32 n = 0; n < columns; n++)
        GROAT_UNROLL
    for (u32 p = 0; p < 4; p++)
        s[n][p] = 0;
    GROAT_UNROLL
    for (u32 k = 0; k < pieces; k += 2) {
        const vec4 a = matrix_load(slot + key * row_bytes +
                                   16 * mixed<pieces>(key, k + lane / 16));

        GROAT_UNROLL
        for (u32 n = 0; n < columns; n++) {
            if constexpr (narrow) {
                const vec2 x = widened(a.x), y = widened(a.y);
                const vec2 z = widened(a.z), w = widened(a.w);

                mma_16x8<operand>(s[n], vec4{x.x, y.x, x.y, y.y}, q.word[n][k]);
                mma_16x8<operand>(s[n], vec4{z.x, w.x, z.y, w.y},
                                  q.word[n][k + 1]);
            } else {
                mma_16x8<operand>(s[n], a, q.word[n][k / 2]);
            }
        }
    }
}

// Multiplies a slot's scores, or weights, by the keys' scales at an address.
GROAT_DEVICE void scale_keys(u32 scales, float by, scores &s)
{
    GROAT_UNROLL
    for (u32 i = 0; i < 2 * products; i++) {
        const float x =
            bits_float(shared_load4(scales + (8 * i + lane_index() / 4) * 4)) *
            by;

        GROAT_UNROLL
        for (u32 n = 0; n < columns; n++)
            GROAT_UNROLL
        for (u32 j = 0; j < 2; j++)
            s[i / 2][n][i % 2 * 2 + j] *= x;
    }
}

// Turns scores into weights and rescales the sums so far to the new maximum.
// Keys that all queries see are not tested.
template <bool asked>
GROAT_DEVICE void weigh(const launch_args &args, const queries &q, u32 length,
                        u32 slot_key, scores &s, sums &o)
{
    constexpr bool may_be_nothing = asked || has_score != 0;
    float factor[columns][2];
    bool changed = false;

    GROAT_UNROLL
    for (u32 n = 0; n < columns; n++)
        GROAT_UNROLL
    for (u32 j = 0; j < 2; j++) {
        float most = o.most[n][j];

        GROAT_UNROLL
        for (u32 i = 0; i < 2 * products; i++) {
            const u32 key = slot_key + 8 * i + lane_index() / 4;
            float &x = s[i / 2][n][i % 2 * 2 + j];

            x = bent(args, x, q.scale);
            if constexpr (alibi)
                x += q.slope[n][j] * static_cast<float>(static_cast<int>(key) +
                                                        1 - q.end[n][j]);
            if constexpr (has_score != 0)
                x = expressed({args, x,
                               tree ? q.own[n][j] : q.end[n][j] - 1,
                               static_cast<int>(key), q.head[n][j],
                               q.sequence});
            if constexpr (asked)
                x = sees(q, length, n, j, key) ? x : nothing;
            most = fmax(most, x);
        }
        most = over_keys<max_numbers>(most);
        factor[n][j] = exp2(o.most[n][j] - most);
        changed = changed || factor[n][j] != 1;
        o.most[n][j] = most;
        o.sum[n][j] *= factor[n][j];
        GROAT_UNROLL
        for (u32 i = 0; i < 2 * products; i++) {
            float &x = s[i / 2][n][i % 2 * 2 + j];

            x = may_be_nothing && x == nothing ? 0 : exp2(x - most);
            o.sum[n][j] += x;
        }
    }
    if (wave_any(changed)) {
        GROAT_UNROLL
        for (u32 j = 0; j < wide; j++)
            GROAT_UNROLL
        for (u32 n = 0; n < columns; n++)
            GROAT_UNROLL
        for (u32 p = 0; p < 4; p++)
            o.value[j][n][p] *= factor[n][p % 2];
    }
}

// Packs the weights of 16 keys as the second operand.
GROAT_DEVICE vec2 as_columns(const float (&s)[4])
{
    return vec2{matrix_transpose(pack_operand<operand>(s[0], s[1])),
                matrix_transpose(pack_operand<operand>(s[2], s[3]))};
}

// Adds the values of 16 keys, the slot's from `first` on, with their weights.
GROAT_DEVICE void add_values(const float (&s)[columns][4], u32 slot, u32 first,
                             sums &o)
{
    const u32 lane = lane_index();
    const u32 key = first + lane / 16 * 8 + lane % 8;
    vec2 b[columns];

    GROAT_UNROLL
    for (u32 n = 0; n < columns; n++)
        b[n] = as_columns(s[n]);
    GROAT_UNROLL
    for (u32 j = 0; j < slice_pieces; j += 2) {
        const u32 piece = slice_index() * slice_pieces + j + lane / 8 % 2;
        const vec4 a = matrix_load_transposed(
            slot + values_at + key * value_bytes +
            16 * mixed<value_pieces>(key, piece));

        GROAT_UNROLL
        for (u32 n = 0; n < columns; n++) {
            if constexpr (narrow) {
                const vec2 x = widened(a.x), y = widened(a.y);
                const vec2 z = widened(a.z), w = widened(a.w);

                mma_16x8<operand>(o.value[j][n], vec4{x.x, x.y, z.x, z.y},
                                  b[n]);
                mma_16x8<operand>(o.value[j + 1][n], vec4{y.x, y.y, w.x, w.y},
                                  b[n]);
            } else {
                mma_16x8<operand>(o.value[j / 2][n], a, b[n]);
            }
        }
    }
}

// ---- sums of warps and of blocks

// Sums are stored as rows of floats, followed by a maximum and a sum of weights
// for each row.
constexpr u32 facts_at = kept_rows * sums_row_bytes;
constexpr u32 quads = value_dim / 4; // columns, four at a time

// The sums of a team: those of its warps, one after the other.
GROAT_DEVICE u32 sums_at(u32 ring)
{
    return shared_base() + ring_bytes + ring * part_bytes;
}

// The place of a strip's row and column in a team's sums, and that of the row's
// facts, which all slices have.
GROAT_DEVICE u32 value_of(u32 row, u32 column)
{
    return (row / warp_rows * slices + column / slice_dim) * sums_bytes +
           row % warp_rows * sums_row_bytes + column % slice_dim * 4;
}

GROAT_DEVICE u32 facts_of(u32 row)
{
    return row / warp_rows * slices * sums_bytes + facts_at +
           row % warp_rows * 8;
}

// The facts of a row that all teams of a block of a cluster have in common,
// where slots were.
GROAT_DEVICE u32 block_facts_of(u32 row)
{
    return shared_base() + row * 8;
}

// Stores columns 16 j and up of a query; i: the lane's first or second query.
GROAT_DEVICE void lay_down_columns(u32 to, u32 i, const float (&value)[4])
{
    const u32 g = lane_index() / 4;

    if constexpr (narrow) {
        shared_store8(to + 8 * g,
                      vec2{float_bits(value[i]), float_bits(value[2 + i])});
    } else {
        shared_store4(to + 4 * g, float_bits(value[i]));
        shared_store4(to + 32 + 4 * g, float_bits(value[2 + i]));
    }
}

GROAT_DEVICE void lay_down(const sums &o)
{
    const u32 to = sums_at(ring_index()) + member() * sums_bytes;

    GROAT_UNROLL
    for (u32 n = 0; n < columns; n++)
        GROAT_UNROLL
    for (u32 i = 0; i < 2; i++) {
        const u32 row = 8 * n + 2 * (lane_index() % 4) + i;
        const float sum = over_keys<add_numbers>(o.sum[n][i]);

        GROAT_UNROLL
        for (u32 j = 0; j < wide; j++)
            lay_down_columns(to + row * sums_row_bytes + 64 * j, i,
                             o.value[j][n]);
        if (lane_index() < 4)
            shared_store8(to + facts_at + row * 8,
                          vec2{float_bits(o.most[n][i]), float_bits(sum)});
    }
}

// The merged sums of several parts, for four columns of a row.
struct merged {
    float most, sum;
    float value[4];

    GROAT_DEVICE merged() : most(nothing), sum(0), value{0, 0, 0, 0}
    {
    }

    // Adds up to `some` parts; values of parts of no weight may be garbage.
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

// Writes the final numbers of four columns of a row.
GROAT_DEVICE void write_out(const launch_args &args, const segment &seg,
                            u32 row, u32 column, merged m)
{
    const u64 at = queries::row_of(args, seg, row);
    float share;

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
    share = m.sum > 0 ? rcp(m.sum) : 0;
    if constexpr (narrow && kv_scale == kv_scale_tensor)
        share *= args.v_scale;
    if constexpr (kv_scale == kv_scale_head)
        share *= bits_float(global_load4(args.v_scales + seg.head * 4ull));
    GROAT_UNROLL
    for (u32 i = 0; i < 4; i++) // by parts: scales may be as large as floats
        m.value[i] *= share;
    if constexpr (kv_scale != kv_scale_token)
        GROAT_UNROLL
    for (u32 i = 0; i < 4; i++)
        m.value[i] *= too_small;
    global_store8(args.output + at * out_bytes + column * 2,
                  vec2{pack16<number>(m.value[0], m.value[1]),
                       pack16<number>(m.value[2], m.value[3])});
    if constexpr (lse)
        if (column == 0)
            global_store4(args.lse + at * 4,
                          m.sum != 0 ? float_bits(m.most + log2(m.sum))
                                    : 0xff800000u);
}

GROAT_DEVICE merged of_teams(u32 row, u32 column)
{
    vec2 facts[rings];
    vec4 values[rings];
    merged m;

    GROAT_UNROLL
    for (u32 i = 0; i < rings; i++) {
        facts[i] = shared_load8(sums_at(i) + facts_of(row));
        values[i] = shared_load16(sums_at(i) + value_of(row, column));
    }
    m.add(facts, values);
    return m;
}

// Four columns of a row of several parts; those that are not there count
// nothing.
template <u32 some> struct part_group {
    vec2 facts[some];
    vec4 values[some];

    // Loads those of a strip from `first` on out of the workspace.
    GROAT_DEVICE void load(const launch_args &args, const parts_of &parts,
                           u32 first, u32 row, u32 column)
    {
        GROAT_UNROLL
        for (u32 p = 0; p < some; p++) {
            const u64 from = parts.at(args, first + p);

            facts[p] = vec2{float_bits(nothing), 0};
            values[p] = vec4{0, 0, 0, 0};
            if (first + p < parts.count) {
                facts[p] = global_load8(from + facts_of(row));
                values[p] = global_load16(from + value_of(row, column));
            }
        }
    }

    // Loads those of the cluster's blocks from `first` on.
    GROAT_DEVICE void load_peers(u32 first, u32 row, u32 column)
    {
        GROAT_UNROLL
        for (u32 p = 0; p < some; p++) {
            facts[p] = vec2{float_bits(nothing), 0};
            values[p] = vec4{0, 0, 0, 0};
            if (first + p < cluster) {
                facts[p] = cluster_load8(block_facts_of(row), first + p);
                values[p] = cluster_load16(sums_at(0) + value_of(row, column),
                                           first + p);
            }
        }
    }
};

// Adds up the parts of a strip in order.  A block that has a multiprocessor for
// itself has registers for two groups on their way.
GROAT_DEVICE void combine(const launch_args &args, const segment &seg,
                          const parts_of &parts)
{
    constexpr u32 some = 8;
    constexpr bool two = 2 * used_bytes > arch::shared_bytes;

    GROAT_ROLLED
    for (u32 i = thread_index(); i < tile_rows * quads; i += threads) {
        const u32 row = i / quads;
        const u32 column = i % quads * 4;
        merged m;

        GROAT_ROLLED
        for (u32 part = 0; part < parts.count; part += two ? 2 * some : some) {
            const bool more = two && part + some < parts.count;
            part_group<some> now, next;

            now.load(args, parts, part, row, column);
            if (more)
                next.load(args, parts, part + some, row, column);
            m.add(now.facts, now.values);
            if (more)
                m.add(next.facts, next.values);
        }
        if (seg.row + row < rows)
            write_out(args, seg, seg.row + row, column, m);
    }
}

// Returns true in all threads of the last of `count` blocks to leave a part.
GROAT_DEVICE bool is_last(const launch_args &args, const segment &seg,
                          u32 count)
{
    const u32 flag = shared_base() + used_bytes - 16;
    const u64 counter =
        args.counters + (static_cast<u64>(seg.sequence) * strips_of(args) +
                         seg.head * strips + seg.row / strip_rows) *
                            4;

    block_barrier();
    if (thread_index() == 0) {
        device_fence();
        const u32 before = global_atomic<atomic_add>(counter, 1);

        if (before == count - 1)
            global_store4(counter, 0);
        shared_store4(flag, before == count - 1);
        device_fence();
    }
    block_barrier();
    return shared_load4(flag) != 0;
}

GROAT_DEVICE void end_segment(const launch_args &args, const segment &seg,
                              const parts_of &parts)
{
    const bool whole = seg.starts && seg.finishes;
    const u64 to = parts.at(args, parts.mine);

    for (u32 i = thread_index(); i < tile_rows * quads; i += threads) {
        const u32 row = i / quads;
        const u32 column = i % quads * 4;
        const merged m = of_teams(row, column);

        if (whole) {
            if (seg.row + row < rows)
                write_out(args, seg, seg.row + row, column, m);
            continue;
        }
        global_store16(to + value_of(row, column),
                       vec4{float_bits(m.value[0]), float_bits(m.value[1]),
                            float_bits(m.value[2]), float_bits(m.value[3])});
        if (column == 0)
            global_store8(to + facts_of(row),
                          vec2{float_bits(m.most), float_bits(m.sum)});
    }
    if (!whole && is_last(args, seg, parts.count))
        combine(args, seg, parts);
}

// ---- sums of a cluster

// Adds up the sums of a block's teams in the place of the first team's; their
// facts are still read by other threads.
GROAT_DEVICE void lay_down_block()
{
    for (u32 i = thread_index(); i < tile_rows * quads; i += threads) {
        const u32 row = i / quads;
        const u32 column = i % quads * 4;
        const merged m = of_teams(row, column);

        shared_store16(sums_at(0) + value_of(row, column),
                       vec4{float_bits(m.value[0]), float_bits(m.value[1]),
                            float_bits(m.value[2]), float_bits(m.value[3])});
        if (column == 0)
            shared_store8(block_facts_of(row),
                          vec2{float_bits(m.most), float_bits(m.sum)});
    }
}

// Adds up the sums of all blocks for this block's share of the columns.
GROAT_DEVICE void combine_cluster(const launch_args &args, const segment &seg)
{
    constexpr u32 some = cluster < 8 ? cluster : 8;
    constexpr u32 all = tile_rows * quads;
    constexpr u32 each = (all + cluster - 1) / cluster;
    const u32 from = cluster_rank() * each;
    const u32 end = least_of(from + each, all);

    GROAT_ROLLED
    for (u32 i = from + thread_index(); i < end; i += threads) {
        const u32 row = i / quads;
        const u32 column = i % quads * 4;
        merged m;

        GROAT_UNROLL
        for (u32 block = 0; block < cluster; block += some) {
            part_group<some> group;

            group.load_peers(block, row, column);
            m.add(group.facts, group.values);
        }
        if (seg.row + row < rows)
            write_out(args, seg, seg.row + row, column, m);
    }
}

// ---- a block

// Waits for the launch ahead, where it may still run.
GROAT_DEVICE void wait_for_launch()
{
    if constexpr (overlap)
        launch_wait();
}

// The same, with slots filled by then.
GROAT_DEVICE void wait_for_launch(const launch_args &args, producer &copied)
{
    if constexpr (overlap) {
        copied.produce_early(args);
        launch_wait();
    }
}

// Lets the next launch start.  A warp of each block has read its keys by then,
// so that the blocks of that launch spread over the device as these end.
GROAT_DEVICE void let_next_start()
{
    if constexpr (overlap)
        launch_next();
}

// Adds a slot's keys and values to a warp's sums.
GROAT_DEVICE void add_slot(const launch_args &args, const queries &q,
                           u32 length, u32 key, u32 slot, sums &o)
{
    scores s;

    GROAT_UNROLL
    for (u32 i = 0; i < products; i++)
        score(q, slot, i * product_keys, s[i]);
    if constexpr (has_scales != 0)
        scale_keys(slot + scales_at, 1, s);
    if (static_cast<int>(key) >= q.all_first &&
        static_cast<int>(key + slot_keys) <= q.all_end)
        weigh<false>(args, q, length, key, s, o);
    else
        weigh<true>(args, q, length, key, s, o);
    if constexpr (has_scales != 0)
        scale_keys(slot + scales_at + slot_keys * 4, too_small, s);
    GROAT_UNROLL
    for (u32 i = 0; i < products; i++)
        add_values(s[i], slot, i * product_keys, o);
}

// Computes a warp's sums over its keys of a segment; count: steps read so far.
GROAT_DEVICE void read_segment(const launch_args &args, const segment &seg,
                               const queries &q, producer &copied, u32 &count,
                               sums &o)
{
    const u32 steps = steps_of(seg);
    const bool idle = bands % strip_bands != 0 && first_row(seg) >= rows;
    u32 key = first_key(seg);

    o.clear();
    GROAT_ROLLED
    for (u32 n = 0; n < steps;) {
        const bool reads = copied.groups >= count + stages - 1;
        const u32 slot = copied.slot(count);

        // Waits until all lanes' copies have landed and the last slot is read.
        if (reads) {
            async_wait<stages - 2, stages - 2>();
            ring_barrier();
        }
        copied.produce(args);
        // The first slots are filled before any is read.
        if (!reads)
            continue;
        if (!idle)
            add_slot(args, q, seg.length, key, slot, o);
        n++;
        count++;
        key += tile_keys;
    }
}

// Each cluster has one strip of one sequence.
GROAT_DEVICE void run_strip(const launch_args &args)
{
    const u32 number = block_index() / cluster;
    const u32 sequence = number / strips_of(args);
    const u32 length = length_of(args, sequence);
    const u32 units = units_of(args, length);
    const share shared(units, cluster);
    const u32 from = shared.begin(cluster_rank());
    const u32 to = shared.begin(cluster_rank() + 1);
    const u32 first = number % strips_of(args) * units;
    walk ahead;
    queries q;
    u32 count = 0;
    sums o;

    // A block without a unit has sums, too.
    ahead.unit = first + (from < to ? from : 0);
    ahead.end = first + (from < to ? to : 0);
    ahead.at = place{sequence, length, 0};
    ahead.depth = strips_of(args);
    ahead.member = 0;
    producer copied(args, ahead);
    const segment seg = ahead.next(args);

    wait_for_launch(args, copied);
    if (sequence >= args.sequences)
        return;
    q.load(args, seg);
    read_segment(args, seg, q, copied, count, o);
    let_next_start();
    lay_down(o);
    block_barrier();
    lay_down_block();
    cluster_barrier();
    combine_cluster(args, seg);
    cluster_barrier(); // this block's sums are read
}

GROAT_DEVICE void run_share(const launch_args &args)
{
    if (args.sequences == 0) {
        wait_for_launch();
        return;
    }
    const block_sets sets(args);
    const census some(args, 0, sets.depth);
    const u32 units = some.all() + count_from(args, counted, sets.depth);
    const u32 count =
        least_of(divided_up(units, args.least),
                 even_sets(sets.count, args.sequences * sets.depth));

    if (sets.own >= count) {
        wait_for_launch();
        return;
    }
    const share shared(units, count);
    walk ahead;

    ahead.unit = shared.begin(sets.own);
    ahead.end = shared.begin(sets.own + 1);
    ahead.at = find(args, some, ahead.unit);
    ahead.depth = sets.depth;
    ahead.member = sets.member;
    producer copied(args, ahead);
    queries q;
    segment seg = ahead.next(args);
    u32 steps_done = 0;

    wait_for_launch(args, copied);
    q.load(args, seg);
    GROAT_ROLLED
    for (;;) {
        const segment done = seg;
        const bool over = ahead.is_over();
        // Divided while keys are awaited.
        const parts_of parts(done, shared, sets);
        sums o;

        read_segment(args, done, q, copied, steps_done, o);
        if (!over) {
            seg = ahead.next(args);
            q.load(args, seg);
        } else {
            let_next_start();
        }
        block_barrier(); // the previous segment's sums are read
        lay_down(o);
        block_barrier();
        end_segment(args, done, parts);
        if (over)
            break;
    }
    async_wait<0, 0>();
}

GROAT_DEVICE void run(const launch_args &args)
{
    if constexpr (cluster > 1)
        run_strip(args);
    else
        run_share(args);
}

} // namespace paged_attention_decode
} // namespace groat

GROAT_KERNEL(paged_attention_decode_args)
{
    groat::paged_attention_decode::run(args);
}
