// SPDX-License-Identifier: Apache-2.0
// products copies A and B into shared memory and multiplies them.
#include "params.h"

#include "../common/mma_sync.h"
#include "args.h"

namespace groat
{
namespace products
{

using namespace params;

enum { A_BYTES = 16 * 32, B_BYTES = 8 * 32 };

constexpr mma_number chosen = number == number_bf16   ? mma_bf16
                              : number == number_f16  ? mma_f16
                              : number == number_e4m3 ? mma_fp8
                                                      : mma_bf8;

GROAT_DEVICE void copy(u64 from, u32 to, u32 bytes)
{
    for (u32 at = thread_index() * 16; at < bytes; at += 32 * 16)
        shared_store16(to + at, global_load16(from + at));
}

// Rows 0 to 7 and 8 to 15 of the first 16 bytes, then of the next.
GROAT_DEVICE vec4 load_a(u32 at)
{
    const u32 lane = thread_index();

    return matrix_load(at + lane % 16 * 32 + lane / 16 * 16);
}

// Two matrices; lanes 16 and up repeat the addresses of lanes 0 to 15.
GROAT_DEVICE vec2 load_b(u32 at)
{
    const u32 lane = thread_index() % 16;
    vec4 v;

    if constexpr (transposed)
        v = matrix_load_transposed(at + lane * 16);
    else
        v = matrix_load(at + lane % 8 * 32 + lane / 8 * 16);
    return vec2{v.x, v.y};
}

GROAT_DEVICE void run(const products_args &args)
{
    const u64 i = block_index();
    const u32 lane = thread_index();
    const u64 y = args.y + i * 512 + lane / 4 * 32 + lane % 4 * 8;
    float acc[4] = {0, 0, 0, 0};

    copy(args.a + i * A_BYTES, shared_base(), A_BYTES);
    copy(args.b + i * B_BYTES, shared_base() + A_BYTES, B_BYTES);
    block_barrier();
    mma_16x8<chosen>(acc, load_a(shared_base()),
                     load_b(shared_base() + A_BYTES));
    global_store8(y, vec2{float_bits(acc[0]), float_bits(acc[1])});
    global_store8(y + 256, vec2{float_bits(acc[2]), float_bits(acc[3])});
}

} // namespace products
} // namespace groat

GROAT_KERNEL(products_args)
{
    groat::products::run(args);
}
