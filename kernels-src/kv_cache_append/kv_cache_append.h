// SPDX-License-Identifier: Apache-2.0
// kv_cache_append: `head_lanes` lanes store one KV head of a new token, each a
// chunk of its key and of its value, `lane_elements` elements.  The destination
// is found on the device: the sequence from `starts`, the key from `lengths`,
// the block from the page table.
//
// Arithmetic is in floats and rounds only where stated below, so that every
// target writes the same bytes:
//
//   halves  y[i] = fma(x[i], cos[i], -(x[i + h] * sin[i])), i < h = rotated / 2
//           y[i + h] = fma(x[i + h], cos[i], x[i] * sin[i])
//   pairs   the same of x[2i] and x[2i + 1]
//   scale   max |y| / the largest 8-bit number, at least 2^-126, of values in
//           e4m3 at most 255; 1 if all are 0
//   code    y * (1 / scale), rounded to nearest even and clamped to
//           the largest number
#include "params.h"

#include "../common/convert.h"
#include "../common/lanes.h"
#include "../common/math.h"
#include "args.h"

namespace groat {
namespace kv_cache_append {

using namespace params;

constexpr bool is_narrow = kv_dtype != kv_dtype_same;
constexpr float8 narrow = kv_dtype == kv_dtype_e4m3fnuz ? e4m3fnuz : e4m3;
constexpr mma_number wide = dtype == dtype_f16 ? mma_f16 : mma_bf16;
constexpr float largest_number =
    kv_dtype == kv_dtype_e4m3fnuz ? 240.0f : 448.0f;
constexpr float least_scale = 1.17549435e-38f; // whose reciprocal is finite
constexpr float largest_scale = 3.4e38f;
// paged_attention_decode multiplies weights with scales of values in f16.
constexpr float largest_value_scale =
    kv_dtype == kv_dtype_e4m3 ? 255.0f : largest_scale;
constexpr float least_value_scale =
    kv_dtype == kv_dtype_e4m3 ? 2.44140625e-4f : least_scale;
constexpr u32 chunk_elements = lane_elements;
constexpr bool alike = value_dim == head_dim; // values lie as keys do

// A lane's chunk, and its destination.
struct place {
    u32 token, head, chunk;
    bool is_read;  // the chunk belongs to a token's key
    bool is_there; // and is stored
    u32 key;       // index in its sequence
    u32 block;     // of the cache
    u32 in_block;  // index of the key in it
};

// A chunk as it is in memory, in 16 bits each, and its numbers.
struct codes {
    vec4 of[chunk_elements / 8];
};
struct numbers {
    float of[chunk_elements];
};

// ---- places ----------------------------------------------------------

// Returns the last sequence that starts at or before the token: its owner.
GROAT_DEVICE u32 find_sequence(const kv_cache_append_args &args, u32 token)
{
    u32 low = 0;
    u32 high = args.sequences;

    GROAT_ROLLED
    while (high - low > 1) {
        u32 middle = low + (high - low) / 2;

        if (global_load4(args.starts + static_cast<u64>(middle) * 4) <= token)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// Finds the key that a token becomes.  If `lengths` has fewer keys for the
// sequence than it has new tokens, the subtraction wraps to past `most`.
GROAT_DEVICE void find_key(const kv_cache_append_args &args, u32 sequence,
                           place &at)
{
    const u64 start = args.starts + static_cast<u64>(sequence) * 4;
    const u32 end =
        args.starts == 0 ? (sequence + 1) * args.each : global_load4(start + 4);

    at.is_there =
        at.token < end && (args.starts == 0 || global_load4(start) <= at.token);
    at.key = global_load4(args.lengths + static_cast<u64>(sequence) * 4) -
             (end - at.token);
    at.is_there = at.is_there && at.key < args.most;
}

GROAT_DEVICE void find_block(const kv_cache_append_args &args, u32 sequence,
                             place &at)
{
    constexpr u32 page = page_size > 0 ? page_size : 1;

    at.block = sequence;
    at.in_block = at.key;
    if (page_size > 0) {
        at.in_block = at.key % page;
        at.block = at.is_there
                       ? global_load4(args.page_table +
                                      (static_cast<u64>(sequence) * args.pitch +
                                       at.key / page) *
                                          4)
                       : 0u;
    }
    at.is_there = at.is_there && at.block < args.blocks;
}

GROAT_DEVICE place take_chunk(const kv_cache_append_args &args)
{
    const u32 item = block_index() * static_cast<u32>(block_heads) +
                     thread_index() / static_cast<u32>(head_lanes);
    place at = {};

    at.token = item / args.kv_heads;
    at.head = item % args.kv_heads;
    at.chunk = thread_index() % static_cast<u32>(head_lanes);
    at.is_read =
        at.token < args.tokens && at.chunk < static_cast<u32>(chunks);
    return at;
}

GROAT_DEVICE void find_place(const kv_cache_append_args &args, place &at)
{
    u32 sequence;

    if (!at.is_read || args.sequences == 0)
        return;
    sequence = args.starts != 0 ? find_sequence(args, at.token)
               : args.each > 0  ? at.token / args.each
                                : args.sequences;
    if (sequence >= args.sequences)
        return;
    find_key(args, sequence, at);
    find_block(args, sequence, at);
}

// ---- numbers ---------------------------------------------------------

GROAT_DEVICE float wide_value(u32 code)
{
    return wide == mma_f16 ? f16_value(code) : bf16_value(code);
}

GROAT_DEVICE numbers unpack(const codes &c)
{
    numbers x;

    GROAT_UNROLL
    for (u32 i = 0; i < chunk_elements; i++) {
        const vec4 v = c.of[i / 8];
        const u32 words[4] = {v.x, v.y, v.z, v.w};

        x.of[i] = wide_value(words[i % 8 / 2] >> i % 2 * 16 & 0xffffu);
    }
    return x;
}

GROAT_DEVICE codes pack(const numbers &x)
{
    codes c;

    GROAT_UNROLL
    for (u32 i = 0; i < chunk_elements / 8; i++) {
        const float *y = x.of + 8 * i;

        c.of[i] = {pack16<wide>(y[0], y[1]), pack16<wide>(y[2], y[3]),
                   pack16<wide>(y[4], y[5]), pack16<wide>(y[6], y[7])};
    }
    return c;
}

// Converts eight numbers times `by`, the reciprocal of a scale.
GROAT_DEVICE vec2 pack_narrow(const float *x, float by)
{
    return {pack8<narrow>(x[0] * by, x[1] * by, x[2] * by, x[3] * by),
            pack8<narrow>(x[4] * by, x[5] * by, x[6] * by, x[7] * by)};
}

// ---- rotation --------------------------------------------------------

// Loads `count` floats, a multiple of 4.
template <u32 count> GROAT_DEVICE void load_floats(u64 address, float *to)
{
    GROAT_UNROLL
    for (u32 i = 0; i < count / 4; i++) {
        vec4 v = global_load16(address + i * 16);

        to[4 * i] = bits_float(v.x);
        to[4 * i + 1] = bits_float(v.y);
        to[4 * i + 2] = bits_float(v.z);
        to[4 * i + 3] = bits_float(v.w);
    }
}

GROAT_DEVICE u64 rope_row(const kv_cache_append_args &args, const place &at)
{
    const u32 position =
        args.positions == 0
            ? at.key
            : global_load4(args.positions + static_cast<u64>(at.token) * 4);
    const u32 last = args.rope_rows - 1;

    return args.rope +
           static_cast<u64>(position < last ? position : last) * rotated * 4;
}

// Returns the chunk to rotate with; all lanes of the wave take part.
GROAT_DEVICE codes load_partner(const codes &c, u32 chunk)
{
    constexpr int half = rotated / 2 / chunk_elements; // 0 without rotation
    const int mine = static_cast<int>(chunk);
    const u32 lane = lane_index() + static_cast<u32>(mine < half       ? half
                                                     : mine < 2 * half ? -half
                                                                       : 0);
    codes partner;

    GROAT_UNROLL
    for (u32 i = 0; i < chunk_elements / 8; i++) {
        const vec4 v = c.of[i];

        partner.of[i] = {wave_shuffle(v.x, lane), wave_shuffle(v.y, lane),
                         wave_shuffle(v.z, lane), wave_shuffle(v.w, lane)};
    }
    return partner;
}

GROAT_DEVICE numbers rotate_halves(u64 row, u32 chunk, const numbers &x,
                                   const numbers &partner)
{
    constexpr u32 half = rotated / 2 / chunk_elements;
    const bool is_first = static_cast<int>(chunk) < static_cast<int>(half);
    const u64 from =
        row + (is_first ? chunk : chunk - half) * chunk_elements * 4;
    float cosines[chunk_elements], sines[chunk_elements];
    numbers y;

    load_floats<chunk_elements>(from, cosines);
    load_floats<chunk_elements>(from + rotated * 2, sines);
    GROAT_UNROLL
    for (u32 i = 0; i < chunk_elements; i++) {
        float product = partner.of[i] * sines[i];

        y.of[i] = fma(x.of[i], cosines[i], is_first ? -product : product);
    }
    return y;
}

GROAT_DEVICE numbers rotate_pairs(u64 row, u32 chunk, const numbers &x)
{
    constexpr u32 pairs = chunk_elements / 2;
    const u64 from = row + chunk * pairs * 4;
    float cosines[pairs], sines[pairs];
    numbers y;

    load_floats<pairs>(from, cosines);
    load_floats<pairs>(from + rotated * 2, sines);
    GROAT_UNROLL
    for (u32 i = 0; i < pairs; i++) {
        const float a = x.of[2 * i], b = x.of[2 * i + 1];

        y.of[2 * i] = fma(a, cosines[i], -(b * sines[i]));
        y.of[2 * i + 1] = fma(b, cosines[i], a * sines[i]);
    }
    return y;
}

// Returns a key's chunk, rotated; all lanes of the wave take part.
GROAT_DEVICE numbers rotate(const kv_cache_append_args &args, const place &at,
                            const codes &c)
{
    constexpr int rotated_chunks = rotated / chunk_elements;
    const codes partner = rope == rope_halves ? load_partner(c, at.chunk) : c;
    const numbers x = unpack(c);

    if (!at.is_there || static_cast<int>(at.chunk) >= rotated_chunks)
        return x;
    return rope == rope_halves
               ? rotate_halves(rope_row(args, at), at.chunk, x, unpack(partner))
               : rotate_pairs(rope_row(args, at), at.chunk, x);
}

// ---- the cache -------------------------------------------------------

// Returns the largest |x| over the lanes that share a head, to all of them.
GROAT_DEVICE float largest_of(const numbers &x)
{
    float most = 0;

    GROAT_UNROLL
    for (u32 i = 0; i < chunk_elements; i++)
        most = fmax(most, x.of[i] < 0 ? -x.of[i] : x.of[i]);
    GROAT_UNROLL
    for (u32 mask = head_lanes / 2; mask > 0; mask /= 2)
        most = fmax(most, bits_float(wave_shuffle_xor(float_bits(most), mask)));
    return most;
}

// Returns the scale of a chunk; all lanes of the wave take part.
GROAT_DEVICE float scale_of(const place &at, const numbers &x, float of_tensor,
                            u64 scales, u64 of_token, float least, float largest)
{
    if (kv_scale == kv_scale_tensor)
        return of_tensor;
    if (kv_scale == kv_scale_head)
        return at.is_there ? bits_float(global_load4(
                                 scales + static_cast<u64>(at.head) * 4))
                           : 1.0f;
    const float most = largest_of(x);
    const float wanted = fmax(most / largest_number, least);
    const float scale = most == 0 ? 1.0f : fmin(wanted, largest);

    if (at.is_there && at.chunk == 0)
        global_store4(scales + of_token * 4, float_bits(scale));
    return scale;
}

GROAT_DEVICE void store_narrow(u64 address, bool is_there, const numbers &x,
                               float scale)
{
    const float by = 1.0f / scale;

    if (!is_there)
        return;
    GROAT_UNROLL
    for (u32 i = 0; i < chunk_elements / 8; i++)
        global_store8(address + i * 8, pack_narrow(x.of + 8 * i, by));
}

GROAT_DEVICE void store_wide(u64 address, bool is_there, const codes &c)
{
    if (!is_there)
        return;
    GROAT_UNROLL
    for (u32 i = 0; i < chunk_elements / 8; i++)
        global_store16(address + i * 16, c.of[i]);
}

// Loads the chunk of a vector of `dim` elements; zeros where there is none.
template <u32 dim>
GROAT_DEVICE codes load_new(const place &at, u64 from, u64 token_bytes)
{
    const u64 address =
        from + at.token * token_bytes +
        (static_cast<u64>(at.head) * dim + at.chunk * chunk_elements) * 2;
    codes c = {};

    if (!at.is_read || at.chunk >= dim / chunk_elements)
        return c;
    GROAT_UNROLL
    for (u32 i = 0; i < chunk_elements / 8; i++)
        c.of[i] = global_load16(address + i * 16);
    return c;
}

// Returns the chunk's distance from the plane's start.
GROAT_DEVICE u64 distance(const place &at, u64 block_bytes, u64 token_bytes,
                          u64 head_bytes)
{
    return at.block * block_bytes + at.in_block * token_bytes +
           at.head * head_bytes +
           at.chunk * chunk_elements * (is_narrow ? 1 : 2);
}

GROAT_DEVICE void run(const kv_cache_append_args &args)
{
    place at = take_chunk(args);
    // Issued early: the loads are in flight while the place is looked up.
    const codes key = load_new<head_dim>(at, args.new_k, args.new_k_bytes);
    const codes value = load_new<value_dim>(at, args.new_v, args.new_v_bytes);

    find_place(args, at);

    const u64 to =
        distance(at, args.block_bytes, args.token_bytes, args.head_bytes);
    const u64 value_to =
        alike ? to
              : distance(at, args.value_block_bytes, args.value_token_bytes,
                         args.value_head_bytes);
    const bool has_value =
        at.is_there && at.chunk < static_cast<u32>(value_chunks);
    const u64 of_token = static_cast<u64>(at.block) * args.block_scales +
                         static_cast<u64>(at.in_block) * args.token_scales +
                         static_cast<u64>(at.head) * args.head_scales;

    if (!is_narrow) {
        store_wide(args.k + to, at.is_there,
                   rope == rope_none ? key : pack(rotate(args, at, key)));
        store_wide(args.v + value_to, has_value, value);
        return;
    }
    const numbers x = rope == rope_none ? unpack(key) : rotate(args, at, key);
    const numbers y = unpack(value);

    store_narrow(args.k + to, at.is_there, x,
                 scale_of(at, x, args.k_scale, args.k_scales, of_token,
                          least_scale, largest_scale));
    store_narrow(args.v + value_to, has_value, y,
                 scale_of(at, y, args.v_scale, args.v_scales, of_token,
                          least_value_scale, largest_value_scale));
}

} // namespace kv_cache_append
} // namespace groat

GROAT_KERNEL(kv_cache_append_args)
{
    groat::kv_cache_append::run(args);
}
