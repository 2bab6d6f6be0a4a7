// SPDX-License-Identifier: Apache-2.0
// Views of device memory: the key blocks of one head in a slab of a KV cache,
// and a wave's rows of Q or P.
#pragma once

#include "vendor.h"
#include "view.h"

namespace groat {

// A view of a key block: its BN rows, `depth` columns from first_col on.  Rows
// below `rows` are valid.  Numbers are 16-bit, rows are `ld` apart.
template <u32 BN, u32 depth, u32 ld>
GROAT_DEVICE buffer key_block_rows(u64 slab, i64 rows, i64 first_row,
                                   u32 key_block, u32 first_col)
{
    i64 row = first_row + static_cast<i64>(key_block) * BN;
    i64 left = rows - row;

    if (left <= 0)
        row = 0;
    return view_rows<depth, ld, 2>(
        slab + (static_cast<u64>(row) * ld + first_col) * 2, left, BN);
}

// A view of m rows of `row_bytes` from row `first` on, of which those below
// `rows` exist.
template <u32 m>
GROAT_DEVICE buffer operand_rows(u64 matrix, u32 rows, u32 first, u32 row_bytes)
{
    u32 left = first < rows ? rows - first : 0;

    return make_buffer(matrix + static_cast<u64>(left == 0 ? 0 : first) *
                                    row_bytes,
                       (left < m ? left : m) * row_bytes);
}

// Returns how many of first, first + step ... are below n.
GROAT_DEVICE u32 every(u32 first, u32 n, u32 step)
{
    return first < n ? (n - first + step - 1) / step : 0;
}

} // namespace groat
