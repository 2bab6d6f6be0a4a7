/* SPDX-License-Identifier: Apache-2.0
 *
 * bank_probe: reads and writes whose bank conflicts can be counted by hand, and
 * the two placements of an 8-bit tile and the one of a 16-bit tile, each with
 * its transpose reads.  For cpu targets only: it uses access widths of the
 * judge that common/vendor.h has no primitive for.
 */
#include "params.h"

#include "../common/vendor.h"
#include "../common/burst.h"
#include "../common/fragment.h"
#include "args.h"

namespace groat
{
namespace bank_probe
{

static_assert(sizeof(bank_probe_args) == GROAT_ARGS_BYTES, "args.h");

constexpr u32 tile_bytes = 16384;
constexpr u32 pitch = 0x410; /* v227: 1024 bytes and a hole of 16 */

/* Writes every byte that a strided access may touch. */
GROAT_DEVICE void fill()
{
    for (u32 o = thread_index() * 16; o < GROAT_SHARED_BYTES;
         o += GROAT_BLOCK_THREADS * 16)
        shared_store16(o, vec4{o, o, o, o});
    shared_fence();
    block_barrier();
}

GROAT_DEVICE void stride(const bank_probe_args &args)
{
    u32 at = thread_index() * args.stride;
    unsigned char value[16] = {};

    if (args.what == BANK_PROBE_READ_SWIZZLED)
        at ^= at >> 4 & 0x70;
    if (args.what == BANK_PROBE_WRITE)
        cpu_env->ops->shared_store(cpu_env, at, value, args.bytes);
    else
        cpu_env->ops->shared_load(cpu_env, at, value, args.bytes);
    shared_fence();
}

GROAT_DEVICE u32 bit(u32 x, u32 n)
{
    return x >> n & 1;
}

/* Subtiles of 8 rows by 64 bytes, stored consecutively. */
struct by_subtiles {
    u32 begin, per_row;

    GROAT_DEVICE u32 operator()(u32 vector) const
    {
        u32 o = begin + vector * 16;
        u32 tile = o / 512;
        u32 row = tile / per_row * 8 + o % 512 / 64;

        return row * per_row * 64 + tile % per_row * 64 + o % 64;
    }
};

/* Cells of eight complete rows of 128 bytes. */
struct by_cells {
    u32 cell;

    GROAT_DEVICE u32 operator()(u32 vector) const
    {
        u32 g = vector / 8;
        u32 key = bit(cell, 1) << 1 | bit(cell, 0) << 2 | bit(cell, 2) << 3 |
                  bit(cell, 3) << 6;

        key += bit(g, 0) + bit(g, 1) * 16 + bit(g, 2) * 32;
        return key * 128 + vector % 8 * 16;
    }
};

GROAT_DEVICE void load(const bank_probe_args &args, u32 lane, u32 wave)
{
    u32 per_row = args.what == BANK_PROBE_BF16 ? 4 : 2;
    buffer source = make_buffer(args.source, args.valid * per_row * 64);

    for (u32 i = 0; i < 2; i++) {
        u32 begin = wave * 1024 + i * 8192;

        if (args.what == BANK_PROBE_V227)
            burst<16>::issue(source, (wave * 2 + i) * pitch, lane, 0,
                             by_cells{wave * 2 + i});
        else
            burst<16>::issue(source, begin, lane, 0,
                             by_subtiles{begin, per_row});
    }
    async_commit();
    async_wait<0, 0>();
    block_barrier();
}

struct v227_address {
    u32 add;

    GROAT_DEVICE u32 operator()(u32 l) const
    {
        return bit(l, 1) * 0x80 + (l >> 2 & 3) * (2 * pitch) + bit(l, 0) * 8 +
               bit(l, 4) * 16 + bit(l, 5) * pitch + add;
    }
};

struct fp8_address {
    u32 add;

    GROAT_DEVICE u32 operator()(u32 l) const
    {
        u32 p = l % 16 / 2;
        u32 row = p % 4 + p / 4 * 8 + 4 * (l / 32);

        return row / 8 * 1024 + row % 8 * 64 + l / 16 % 2 * 16 + l % 2 * 8 +
               add;
    }
};

struct bf16_address {
    u32 add;

    GROAT_DEVICE u32 operator()(u32 l) const
    {
        u32 q = l / 16;
        u32 x = l % 16;

        return (4 * (q / 2) + x / 4) * 64 + (16 * (q % 2) + 4 * (x % 4)) * 2 +
               add;
    }
};

/* Wave w takes fragment (i, j) = (w / 4, w % 4) of two by four. */
GROAT_DEVICE void read(const bank_probe_args &args, u32 lane, u32 wave)
{
    u32 i = wave / 4;
    u32 j = wave % 4;

    if (args.what == BANK_PROBE_BF16) {
        for (u32 half = 0; half < 2; half++)
            transpose_read16(lane,
                             bf16_address{((2 * i + half) * 4 + j) * 512});
        return;
    }
    for (u32 r = 0; r < 4; r++)
        if (args.what == BANK_PROBE_V227)
            transpose_read8(lane,
                            v227_address{i * 8 * pitch + j * 32 + r * 256});
        else
            transpose_read8(lane, fp8_address{(64 * i + 16 * r) / 8 * 1024 +
                                              j / 2 * 512 + j % 2 * 32});
}

} // namespace bank_probe
} // namespace groat

GROAT_KERNEL(bank_probe_args)
{
    using namespace groat;
    u32 lane = thread_index() % 64;
    u32 wave = wave_uniform(thread_index() / 64);

    if (args.filled)
        bank_probe::fill();
    if (args.what <= BANK_PROBE_WRITE)
        return bank_probe::stride(args);
    bank_probe::load(args, lane, wave);
    bank_probe::read(args, lane, wave);
}
