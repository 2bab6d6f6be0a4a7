/* SPDX-License-Identifier: Apache-2.0
 *
 * kv_layout.h - where the bytes of a K or V tile lie in shared memory, and the
 * matrix descriptor that describes it.  C and C++, host and device.
 *
 * A tile has `rows` keys of `width` bytes; width is a multiple of the swizzle
 * span (16, which is no swizzle, 32, 64 or 128 bytes).  A chunk is one span of
 * the depth; an atom is 8 rows x one span.  Offsets are relative to a base
 * aligned to 8 spans (128 bytes without a swizzle), as the copy engine swizzles
 * address bits.
 */
#pragma once

#ifdef __cplusplus
#include "vendor.h"
#define GROAT_LAYOUT GROAT_DEVICE constexpr
namespace groat {
#else
#define GROAT_LAYOUT static inline
#endif

enum kv_layout {
    chunk_outer, /* all rows of chunk 0, then all rows of chunk 1 ...      */
    chunk_inner  /* atoms, row group by row group, those of a group side by
                  * side, so that 8 rows are contiguous                    */
};

/* Size of the whole chunks that hold `bytes` of a row. */
GROAT_LAYOUT unsigned kv_width(unsigned bytes, unsigned span)
{
    return (bytes + span - 1) / span * span;
}

/* Maps a logical byte to its physical place; its own inverse. */
GROAT_LAYOUT unsigned kv_swizzle(unsigned byte, unsigned span)
{
    return byte ^ (((byte >> 7) & (span / 16 - 1)) << 4);
}

/* The offset of byte `col` of row `row` before the swizzle.  A k-major operand
 * starts at contraction byte b if its address moves by the offset of (0, b), an
 * mn-major one at key k, a multiple of 8, if it moves by that of (k, 0). */
GROAT_LAYOUT unsigned kv_plain_offset(int layout, unsigned row, unsigned col,
                                      unsigned rows, unsigned width,
                                      unsigned span)
{
    return layout == chunk_outer
               ? col / span * rows * span + row * span + col % span
               : row / 8 * 8 * width + col / span * 8 * span + row % 8 * span +
                     col % span;
}

GROAT_LAYOUT unsigned kv_offset(int layout, unsigned row, unsigned col,
                                unsigned rows, unsigned width, unsigned span)
{
    return kv_swizzle(kv_plain_offset(layout, row, col, rows, width, span),
                      span);
}

/* ---- matrix descriptors ------------------------------------------------- */

/* The two strides of a matrix descriptor, in bytes. */
struct kv_strides {
    unsigned lbo, sbo;
};

/* The tile as an operand whose contraction runs along the depth (K, Q). */
GROAT_LAYOUT struct kv_strides kv_strides_k_major(int layout, unsigned rows,
                                                  unsigned width, unsigned span)
{
    struct kv_strides s = {16, 8 * span};

    if (layout == chunk_inner)
        s.sbo = 8 * width;
    if (span == 16)
        s.lbo = layout == chunk_inner ? 128 : rows * 16;
    return s;
}

/* The tile as an operand whose contraction runs along the keys (V).  Without a
 * swizzle the two strides swap roles. */
GROAT_LAYOUT struct kv_strides
kv_strides_mn_major(int layout, unsigned rows, unsigned width, unsigned span)
{
    unsigned chunk = layout == chunk_inner ? 8 * span : rows * span;
    unsigned group = layout == chunk_inner ? 8 * width : 8 * span;
    struct kv_strides s = {span == 16 ? group : chunk,
                           span == 16 ? chunk : group};

    return s;
}

/* The descriptor's word without the swizzle code. */
GROAT_LAYOUT unsigned long long kv_matrix_fields(unsigned address,
                                                 struct kv_strides s)
{
    return (unsigned long long)((address & 0x3ffff) >> 4) |
           (unsigned long long)((s.lbo & 0x3ffff) >> 4) << 16 |
           (unsigned long long)((s.sbo & 0x3ffff) >> 4) << 32;
}

/* For wgmma (sm_90) and tcgen05 (sm_100, where its shape was never run). */
GROAT_LAYOUT unsigned long long
kv_matrix_word_90(unsigned address, struct kv_strides s, unsigned span)
{
    unsigned long long code = span == 16    ? 0
                              : span == 128 ? 1
                              : span == 64  ? 2
                                            : 3;

    return kv_matrix_fields(address, s) | code << 62;
}

GROAT_LAYOUT unsigned long long
kv_matrix_word_100(unsigned address, struct kv_strides s, unsigned span)
{
    unsigned long long code = span == 16    ? 0
                              : span == 128 ? 2
                              : span == 64  ? 4
                                            : 6;

    return kv_matrix_fields(address, s) | 1ull << 46 | code << 61;
}

#ifdef __cplusplus
} // namespace groat
#endif
