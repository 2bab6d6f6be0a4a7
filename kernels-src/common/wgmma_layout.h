// SPDX-License-Identifier: Apache-2.0
// The layout of wgmma's operands and results, the same for every compiler.
//
// A matrix descriptor names an operand in shared memory: the address of its
// first byte, two distances in bytes (leading and stride, "LBO" and "SBO") and
// the span in which 16-byte chunks are XORed.  PTX ISA: matrix descriptor.
//
// Number i of thread t (0..127) of a warpgroup lies in row wgmma_row(t, i) and
// column wgmma_col(t, i) of the 64 x n result.
#pragma once

namespace groat {

enum swizzle_span { span_16, span_32, span_64, span_128 };

GROAT_DEVICE constexpr u64 matrix_descriptor(u32 address, u32 lbo_bytes,
                                             u32 sbo_bytes, swizzle_span span)
{
    return static_cast<u64>((address & 0x3ffffu) >> 4) |
           static_cast<u64>((lbo_bytes & 0x3ffffu) >> 4) << 16 |
           static_cast<u64>((sbo_bytes & 0x3ffffu) >> 4) << 32 |
           static_cast<u64>(span == span_16    ? 0
                            : span == span_128 ? 1
                            : span == span_64  ? 2
                                               : 3)
               << 62;
}

GROAT_DEVICE constexpr u32 wgmma_row(u32 thread, u32 i)
{
    return 16 * (thread / 32) + thread % 32 / 4 + 8 * (i / 2 % 2);
}

GROAT_DEVICE constexpr u32 wgmma_col(u32 thread, u32 i)
{
    return 8 * (i / 4) + 2 * (thread % 4) + i % 2;
}

} // namespace groat
