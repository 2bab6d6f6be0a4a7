// SPDX-License-Identifier: Apache-2.0
// A view of a row-major matrix for bursts: valid rows read as they are, rows
// past them as zeros.  The bound is one-dimensional: num_records = ((rows - 1)
// * ld + cols) * elem_bytes, so columns from `cols` on read as zeros in the
// last valid row, but as the bytes in memory in earlier rows.
#pragma once

#include "vendor.h"

namespace groat {

// `left` rows from `base` on are valid; the caller reads at most `most` rows.
template <u32 cols, u32 ld, u32 elem_bytes>
GROAT_DEVICE buffer view_rows(u64 base, i64 left, u32 most)
{
    u32 rows = left <= 0     ? 0u
               : left < most ? static_cast<u32>(left)
                             : most;

    return make_buffer(base, rows == 0 ? 0
                                       : ((rows - 1) * ld + cols) * elem_bytes);
}

} // namespace groat
