// SPDX-License-Identifier: Apache-2.0
// A block's shared memory as an output: poisoned before the copies, written out
// or summed up after them.  Loops that run once per launch stay rolled:
// unrolled they would be a good part of the compile time.
#pragma once

#include "vendor.h"

namespace groat {

// Fills `bytes` from `shared` on with one byte value, to show bytes that no
// copy wrote; `bytes` is a multiple of 16.  Called by all threads of the block.
template <u32 byte = 0xEE> GROAT_DEVICE void poison(u32 shared, u32 bytes)
{
    constexpr u32 word = byte * 0x01010101u;
    const vec4 pattern = {word, word, word, word};

    GROAT_ROLLED
    for (u32 o = thread_index() * 16; o < bytes; o += GROAT_BLOCK_THREADS * 16)
        shared_store16(shared + o, pattern);
    shared_fence();
    block_barrier();
}

GROAT_DEVICE void write_out(u32 shared, u32 bytes, u64 output)
{
    GROAT_ROLLED
    for (u32 o = thread_index() * 16; o < bytes; o += GROAT_BLOCK_THREADS * 16)
        global_store16(output + o, shared_load16(shared + o));
}

GROAT_DEVICE void add(vec4 &sum, vec4 v)
{
    sum.x ^= v.x;
    sum.y ^= v.y;
    sum.z ^= v.z;
    sum.w ^= v.w;
}

// XORs `bytes` of the slot onto the 16 bytes that the thread keeps; after each
// KiB of the tile it skips `gap` bytes of padding.
template <u32 gap = 0> GROAT_DEVICE void fold(u32 shared, u32 bytes, vec4 &sum)
{
    for (u32 o = thread_index() * 16; o < bytes; o += GROAT_BLOCK_THREADS * 16)
        add(sum, shared_load16(shared + o + o / 1024 * gap));
}

} // namespace groat
