/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

void reference(const struct run *run)
{
    const long long all = (run->tokens + rows - 1) / rows * rows;

    for (long long h = 0; h < run->heads; h++)
        for (long long t = 0; t < all; t++)
            for (long long c = 0; c < row_cols; c++)
                run->y[(h * all + t) * row_cols + c] =
                    t < run->tokens ? run->x[(t * run->heads + h) * 64 + c] : 0;
}
