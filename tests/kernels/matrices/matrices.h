// SPDX-License-Identifier: Apache-2.0
// matrices multiplies with one instruction of a wave.
#include "params.h"

#include "../common/vendor.h"
#include "args.h"

namespace groat
{
namespace matrices
{

using namespace params;

constexpr mma_number chosen =
    number == number_bf16                                ? mma_bf16
    : number == number_f16                               ? mma_f16
    : number == number_e4m3 || number == number_e4m3fnuz ? mma_fp8
                                                         : mma_bf8;

// Lanes l and l + m hold the first and the second part of row l % m, and so on.
GROAT_DEVICE u64 operand(u64 matrix)
{
    const u32 lane = thread_index();

    return matrix + ((block_index() * m + lane % m) * k) * size +
           lane / m * bytes;
}

GROAT_DEVICE accumulator<m> multiply(u64 a, u64 b)
{
    accumulator<m> acc = zero_accumulator<m>();

    if constexpr (bytes == 8)
        mfma<chosen, m, k>(acc, global_load8(a), global_load8(b));
    else if constexpr (bytes == 16)
        mfma<chosen, m, k>(acc, global_load16(a), global_load16(b));
    else
        mfma<chosen, m, k>(acc, vec8{global_load16(a), global_load16(a + 16)},
                           vec8{global_load16(b), global_load16(b + 16)});
    return acc;
}

GROAT_DEVICE void run(const matrices_args &args)
{
    const u32 lane = thread_index();
    const accumulator<m> acc = multiply(operand(args.a), operand(args.b));

    for (u32 p = 0; p < m * m / 64; p++) {
        const u32 row = p / 4 * (256 / m) + lane / m * 4 + p % 4;

        global_store4(args.y + ((block_index() * m + row) * m + lane % m) * 4,
                      float_bits(acc.get(p)));
    }
}

} // namespace matrices
} // namespace groat

GROAT_KERNEL(matrices_args)
{
    groat::matrices::run(args);
}
