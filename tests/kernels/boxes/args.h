// SPDX-License-Identifier: Apache-2.0
// The launch arguments of boxes.
#pragma once

#ifndef GROAT_TENSOR_MAP /* hosts include groat_tensor.h */
#include "../common/tensor_map.h"
#endif

struct boxes_args {
    unsigned long long y; /* [heads, boxes * rows, row_cols] of 16 bits */
    unsigned boxes;       /* per head */
    struct groat_tensor_map map; /* of x: [tokens, heads, cols] of 16 bits */
};
